/* SPDX-License-Identifier: MIT */
/*
 * A pass that makes non-temporal stores in vectorised loops (W = 1).
 *
 * The kernels of array operations are such loops: each block works on a piece of the arrays.  When
 * all other passes have run, the loop is copied, and all stores of the copy are non-temporal.  A
 * test in front of the loop selects one of the two.  It asks how much memory the loop accesses,
 * whether the first store begins a line of the cache, and whether all stores are aligned in the
 * first two iterations.
 *
 * Such a loop is one block, counts from 0, stores only vectors, and does not read the memory that
 * it writes.  Where LLVM could not tell two pointers apart, it compares them before the loop.
 */
#include "base/common.h"

#include "cpu/codegen/passes/ir_passes.h"
#include "cpu/codegen/passes/ir_values.h"
#include "cpu/runtime/rt.h"

#include <string.h>

enum { LINE = 64, LEAST_STORE = 16, MOST_INSTS = 200, MOST_STORES = 8, MOST_DEPTH = 12 };

/* Instructions of the loop and what became of them. */
struct map {
	LLVMValueRef from[MOST_INSTS];
	LLVMValueRef to[MOST_INSTS];
	unsigned count;
};

struct loop {
	LLVMBuilderRef builder;
	LLVMContextRef context;
	LLVMTypeRef i32, i64;
	LLVMTargetDataRef layout;
	LLVMBasicBlockRef before, body, after;
	LLVMValueRef length; /* of what counts from 0 */
	uint64_t step;       /* of that, in a round, */
	uint64_t bytes;      /* and what is loaded and stored */
	LLVMValueRef stores[MOST_STORES];
	unsigned store_count;
	struct map begin; /* what it is in the first round, in front of the loop; */
	struct map next;  /* and in the second one */
};

static LLVMValueRef bypass_loop_look_up(const struct map *map, LLVMValueRef from)
{
	for (unsigned i = 0; i < map->count; i++) {
		if (map->from[i] == from) {
			return map->to[i];
		}
	}
	return NULL;
}

static LLVMValueRef note(struct map *map, LLVMValueRef from, LLVMValueRef to)
{
	if (map->count < MOST_INSTS) {
		map->from[map->count] = from;
		map->to[map->count++] = to;
	}
	return to;
}

static bool bypass_loop_has(const struct loop *l, LLVMValueRef value)
{
	return LLVMIsAInstruction(value) && LLVMGetInstructionParent(value) == l->body;
}

/* What a phi of the loop is when it comes from a block. */
static LLVMValueRef coming_from(LLVMValueRef phi, LLVMBasicBlockRef from)
{
	for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
		if (LLVMGetIncomingBlock(phi, i) == from) {
			return LLVMGetIncomingValue(phi, i);
		}
	}
	return NULL;
}

/* --- Whether it is such a loop --- */

static bool bypass_loop_is_vector(LLVMTypeRef type)
{
	return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

/* The pointer that an address is counted from. */
static LLVMValueRef bypass_loop_root_of(LLVMValueRef pointer)
{
	while (LLVMIsAGetElementPtrInst(pointer) || LLVMIsABitCastInst(pointer)) {
		pointer = LLVMGetOperand(pointer, 0);
	}
	return pointer;
}

static bool note_access(struct loop *l, LLVMValueRef inst)
{
	bool stores = ir_is(inst, LLVMStore);
	LLVMTypeRef type = stores ? LLVMTypeOf(LLVMGetOperand(inst, 0)) : LLVMTypeOf(inst);
	uint64_t size = LLVMStoreSizeOfType(l->layout, type);
	if (bypass_loop_is_vector(type)) {
		l->bytes += size;
	}
	if (!stores) {
		return true;
	}
	if (!bypass_loop_is_vector(type) || size < LEAST_STORE || (size & (size - 1)) != 0
		|| l->store_count == MOST_STORES) {
		return false;
	}
	l->stores[l->store_count++] = inst;
	return true;
}

static bool is_used_behind(const struct loop *l, LLVMValueRef inst)
{
	bool used = false;
	for (LLVMUseRef use = LLVMGetFirstUse(inst); use && !used; use = LLVMGetNextUse(use)) {
		used = !bypass_loop_has(l, LLVMGetUser(use));
	}
	return used;
}

static bool find_accesses(struct loop *l)
{
	bool good = true;
	unsigned count = 0;
	LLVMValueRef inst = LLVMGetFirstInstruction(l->body);
	for (; inst && good; inst = LLVMGetNextInstruction(inst)) {
		if (ir_is(inst, LLVMStore) || ir_is(inst, LLVMLoad)) {
			good = note_access(l, inst);
		}
		good = good && ++count < MOST_INSTS && !is_used_behind(l, inst);
	}
	return good && l->store_count > 0;
}

static bool reads_what_it_stores(const struct loop *l)
{
	bool same = false;
	LLVMValueRef inst = LLVMGetFirstInstruction(l->body);
	for (; inst && !same; inst = LLVMGetNextInstruction(inst)) {
		for (unsigned i = 0; i < l->store_count && ir_is(inst, LLVMLoad); i++) {
			same |= bypass_loop_root_of(LLVMGetOperand(inst, 0))
				== bypass_loop_root_of(LLVMGetOperand(l->stores[i], 1));
		}
	}
	return same;
}

/* The loop ends when i + step, i being 0 at first, is something that was known before it. */
static bool find_length(struct loop *l, LLVMValueRef condition)
{
	if (!ir_is(condition, LLVMICmp) || LLVMGetICmpPredicate(condition) != LLVMIntEQ) {
		return false;
	}
	LLVMValueRef next = LLVMGetOperand(condition, 0);
	l->length = LLVMGetOperand(condition, 1);
	if (!ir_is(next, LLVMAdd) || bypass_loop_has(l, l->length) || LLVMTypeOf(next) != l->i64
		|| !LLVMIsAConstantInt(LLVMGetOperand(next, 1))) {
		return false;
	}
	LLVMValueRef index = LLVMGetOperand(next, 0);
	l->step = LLVMConstIntGetZExtValue(LLVMGetOperand(next, 1));
	return bypass_loop_has(l, index) && LLVMIsAPHINode(index) && l->step > 0
		&& coming_from(index, l->body) == next && LLVMIsNull(coming_from(index, l->before));
}

static bool find_loop(struct loop *l, LLVMBasicBlockRef body)
{
	LLVMValueRef phi = LLVMGetFirstInstruction(body), end = LLVMGetBasicBlockTerminator(body);
	if (!phi || !LLVMIsAPHINode(phi) || LLVMCountIncoming(phi) != 2 || !ir_is(end, LLVMBr)
		|| !LLVMIsConditional(end) || LLVMGetSuccessor(end, 1) != body) {
		return false;
	}
	l->body = body;
	l->after = LLVMGetSuccessor(end, 0);
	l->before = LLVMGetIncomingBlock(phi, LLVMGetIncomingBlock(phi, 0) == body);
	LLVMValueRef into = LLVMGetBasicBlockTerminator(l->before);
	return l->after != body && l->before != body
		&& !ir_is(LLVMGetFirstInstruction(l->after), LLVMPHI) && ir_is(into, LLVMBr)
		&& !LLVMIsConditional(into) && find_length(l, LLVMGetCondition(end))
		&& find_accesses(l) && !reads_what_it_stores(l);
}

/* --- In front of it --- */

static LLVMValueRef in_front(struct loop *l, LLVMValueRef value, bool second, unsigned depth);

/* A copy of an instruction that only computes. */
static LLVMValueRef copy_in_front(struct loop *l, LLVMValueRef inst, bool second, unsigned depth)
{
	LLVMValueRef operands[4];
	unsigned count = (unsigned)LLVMGetNumOperands(inst);
	bool known = count <= countof(operands);
	for (unsigned i = 0; i < count && known; i++) {
		operands[i] = in_front(l, LLVMGetOperand(inst, i), second, depth - 1);
		known = operands[i];
	}
	if (!known) {
		return NULL;
	}
	LLVMValueRef copy = LLVMInstructionClone(inst);
	for (unsigned i = 0; i < count; i++) {
		LLVMSetOperand(copy, i, operands[i]);
	}
	LLVMInsertIntoBuilder(l->builder, copy);
	return copy;
}

/* Whether the same is added to a phi in each round. */
static bool counts_evenly(const struct loop *l, LLVMValueRef phi)
{
	LLVMValueRef next = coming_from(phi, l->body);
	bool adds = (ir_is(next, LLVMAdd) || ir_is(next, LLVMGetElementPtr))
		&& LLVMGetOperand(next, 0) == phi && LLVMGetNumOperands(next) == 2;
	return adds && !bypass_loop_has(l, LLVMGetOperand(next, 1));
}

/* What a value is in the first round or in the second one, if it grows evenly; NULL: nobody knows.
 */
static LLVMValueRef in_front(struct loop *l, LLVMValueRef value, bool second, unsigned depth)
{
	struct map *map = second ? &l->next : &l->begin;
	LLVMValueRef known = bypass_loop_has(l, value) ? bypass_loop_look_up(map, value) : value;
	if (known || depth == 0) {
		return known;
	}
	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMPHI:
		if (!counts_evenly(l, value)) {
			return NULL;
		}
		known = second ? in_front(l, coming_from(value, l->body), false, depth - 1)
			       : coming_from(value, l->before);
		break;
	case LLVMMul:
	case LLVMShl:
		if (bypass_loop_has(l, LLVMGetOperand(value, 1))) {
			return NULL;
		}
		known = copy_in_front(l, value, second, depth);
		break;
	case LLVMGetElementPtr:
	case LLVMAdd:
	case LLVMExtractElement: /* LLVM 19 counts in a vector, and takes the first of it */
	case LLVMSExt:
	case LLVMZExt:
	case LLVMBitCast:
	case LLVMIntToPtr:
		known = copy_in_front(l, value, second, depth);
		break;
	default:
		break;
	}
	return known ? note(map, value, known) : NULL;
}

/* The bits that addresses of stores must not have, in the first two rounds, and so in all: the
 * first begins a line, and each is a multiple of what it stores. */
static LLVMValueRef address_bits(struct loop *l)
{
	LLVMValueRef bits = NULL;
	for (unsigned i = 0; i < 2 * l->store_count; i++) {
		LLVMValueRef store = l->stores[i / 2];
		LLVMValueRef place = in_front(l, LLVMGetOperand(store, 1), i % 2 == 1, MOST_DEPTH);
		if (!place) {
			return NULL;
		}
		LLVMValueRef one = LLVMBuildPtrToInt(l->builder, place, l->i64, "");
		uint64_t size =
			LLVMStoreSizeOfType(l->layout, LLVMTypeOf(LLVMGetOperand(store, 0)));
		uint64_t mask = (size < LINE ? size : LINE) - 1;
		one = LLVMBuildAnd(
			l->builder, one, LLVMConstInt(l->i64, i == 0 ? LINE - 1 : mask, false), "");
		bits = bits ? LLVMBuildOr(l->builder, bits, one, "") : one;
	}
	return bits;
}

static LLVMValueRef load_field(struct loop *l, LLVMTypeRef type, LLVMValueRef base, size_t offset)
{
	LLVMTypeRef byte = LLVMInt8TypeInContext(l->context);
	LLVMValueRef index = LLVMConstInt(l->i64, offset, false);
	LLVMValueRef place = LLVMBuildGEP2(l->builder, byte, base, &index, 1, "");
	place = LLVMBuildBitCast(l->builder, place, LLVMPointerType(type, 0), "");
	return LLVMBuildLoad2(l->builder, type, place, "");
}

/* Whether the loop moves more than the cache holds. */
static LLVMValueRef is_much(struct loop *l, LLVMValueRef fn)
{
	LLVMTypeRef pointer = LLVMPointerType(LLVMInt8TypeInContext(l->context), 0);
	LLVMValueRef launch =
		load_field(l, pointer, LLVMGetParam(fn, 0), offsetof(struct rt_warp, launch));
	LLVMValueRef most = load_field(l, l->i32, launch, offsetof(struct rt_launch, cached_bytes));
	most = LLVMBuildZExt(l->builder, most, l->i64, "");
	LLVMValueRef bytes = LLVMBuildMul(
		l->builder, l->length, LLVMConstInt(l->i64, l->bytes / l->step, false), "");
	return LLVMBuildICmp(l->builder, LLVMIntUGT, bytes, most, "");
}

/* --- The copy --- */

static void set_operands(const struct map *map, LLVMValueRef copy)
{
	for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(copy); i++) {
		LLVMValueRef operand = LLVMGetOperand(copy, i);
		LLVMValueRef other = bypass_loop_look_up(map, operand);
		if (other) {
			LLVMSetOperand(copy, i, other);
		}
	}
}

static void go_past(struct loop *l, LLVMValueRef store)
{
	static const char name[] = "nontemporal";
	LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(l->i32, 1, false));
	uint64_t size = LLVMStoreSizeOfType(l->layout, LLVMTypeOf(LLVMGetOperand(store, 0)));
	LLVMSetAlignment(store, size < LINE ? (unsigned)size : LINE);
	LLVMSetMetadata(store, LLVMGetMDKindIDInContext(l->context, name, sizeof(name) - 1),
		LLVMMetadataAsValue(l->context, LLVMMDNodeInContext2(l->context, &one, 1)));
}

static LLVMValueRef bypass_loop_copy_inst(
	struct loop *l, const struct map *map, LLVMValueRef inst, LLVMBasicBlockRef body)
{
	if (ir_is(inst, LLVMPHI)) {
		LLVMValueRef phi = LLVMBuildPhi(l->builder, LLVMTypeOf(inst), "");
		LLVMValueRef first = coming_from(inst, l->before);
		LLVMAddIncoming(phi, &first, &l->before, 1);
		return phi;
	}
	if (ir_is(inst, LLVMBr)) {
		return LLVMBuildCondBr(
			l->builder, bypass_loop_look_up(map, LLVMGetCondition(inst)), l->after,
			body);
	}
	LLVMValueRef copy = LLVMInstructionClone(inst);
	set_operands(map, copy);
	LLVMInsertIntoBuilder(l->builder, copy);
	if (ir_is(copy, LLVMStore)) {
		go_past(l, copy);
	}
	return copy;
}

static LLVMBasicBlockRef bypass_loop_copy_body(struct loop *l)
{
	struct map map = {.count = 0};
	LLVMBasicBlockRef body = LLVMInsertBasicBlockInContext(l->context, l->body, "past");
	LLVMPositionBuilderAtEnd(l->builder, body);
	LLVMValueRef inst = LLVMGetFirstInstruction(l->body);
	for (; inst; inst = LLVMGetNextInstruction(inst)) {
		note(&map, inst, bypass_loop_copy_inst(l, &map, inst, body));
	}
	inst = LLVMGetFirstInstruction(l->body);
	for (; LLVMIsAPHINode(inst); inst = LLVMGetNextInstruction(inst)) {
		LLVMValueRef again = coming_from(inst, l->body);
		LLVMValueRef copy = bypass_loop_look_up(&map, again);
		again = copy ? copy : again;
		LLVMAddIncoming(bypass_loop_look_up(&map, inst), &again, &body, 1);
	}
	return body;
}

static void split_loop(struct loop *l, LLVMValueRef fn)
{
	LLVMValueRef end = LLVMGetBasicBlockTerminator(l->before);
	LLVMPositionBuilderBefore(l->builder, end);
	LLVMValueRef bits = address_bits(l);
	if (!bits || l->bytes % l->step != 0) {
		return; /* what was computed is never used: LLVM leaves it out */
	}
	LLVMValueRef past = LLVMBuildICmp(l->builder, LLVMIntEQ, bits, LLVMConstNull(l->i64), "");
	past = LLVMBuildAnd(l->builder, past, is_much(l, fn), "");
	LLVMBasicBlockRef body = bypass_loop_copy_body(l);
	LLVMInstructionEraseFromParent(end);
	LLVMPositionBuilderAtEnd(l->builder, l->before);
	LLVMBuildCondBr(l->builder, past, body, l->body);
}

/* --- All of them --- */

/* Whether somebody else could learn of a store before the launch has ended. */
static bool may_tell(LLVMValueRef inst)
{
	static const char intrinsic[] = "llvm.";
	const char *name = "";
	size_t size = 0;
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMFence:
	case LLVMAtomicRMW:
	case LLVMAtomicCmpXchg:
		return true;
	case LLVMLoad:
	case LLVMStore:
		return LLVMGetVolatile(inst)
			|| LLVMGetOrdering(inst) != LLVMAtomicOrderingNotAtomic;
	case LLVMCall:
		name = LLVMGetValueName2(LLVMGetCalledValue(inst), &size);
		return strncmp(name, intrinsic, sizeof(intrinsic) - 1) != 0;
	default:
		return false;
	}
}

static bool bypass_loop_is_quiet(LLVMValueRef fn)
{
	bool quiet = true;
	LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
	for (; block && quiet; block = LLVMGetNextBasicBlock(block)) {
		LLVMValueRef inst = LLVMGetFirstInstruction(block);
		for (; inst && quiet; inst = LLVMGetNextInstruction(inst)) {
			quiet = !may_tell(inst);
		}
	}
	return quiet;
}

void pass_nontemporal_loops(LLVMValueRef fn, LLVMTargetDataRef layout)
{
	LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(fn));
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
	LLVMBasicBlockRef block = bypass_loop_is_quiet(fn) ? LLVMGetFirstBasicBlock(fn) : NULL;
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		struct loop l = {.builder = builder,
			.context = context,
			.layout = layout,
			.i32 = LLVMInt32TypeInContext(context),
			.i64 = LLVMInt64TypeInContext(context)};
		if (find_loop(&l, block)) {
			split_loop(&l, fn);
		}
	}
	LLVMDisposeBuilder(builder);
}

/* SPDX-License-Identifier: MIT */
/*
 * A pass that makes non-temporal stores in vectorised loops (W = 1).
 *
 * The kernels of array operations are loops of this kind: each block works on a piece of the
 * arrays.  When all other passes have run, a loop gets its stores twice, and a test in front of it
 * selects: how much memory the loop accesses, whether the first store begins a line of the cache,
 * and whether all stores are aligned in the first two iterations.  LLVM's loop unswitching makes
 * two loops of it, if the loop is small.
 *
 * Such a loop is one block, counts from 0, stores only vectors of one size, after all its loads,
 * and does not read the memory that it writes.  Where LLVM could not tell two pointers apart, it
 * compares them before the loop.
 */
#include "base/common.h"

#include "cpu/codegen/passes/ir_passes.h"
#include "cpu/codegen/passes/ir_values.h"
#include "cpu/runtime/rt.h"

enum { LINE = 64, LEAST_STORE = 16, MOST_STORES = 8, MOST_DEPTH = 12 };

struct loop {
	LLVMBuilderRef builder;
	LLVMContextRef context;
	LLVMTypeRef i32, i64;
	LLVMTargetDataRef layout;
	LLVMBasicBlockRef before, body;
	LLVMValueRef length; /* of what counts from 0 */
	uint64_t step;       /* of that, in a round, */
	uint64_t bytes;      /* and what is loaded and stored */
	LLVMValueRef stores[MOST_STORES];
	unsigned store_count;
	uint64_t store_size;
};

static bool loop_has(const struct loop *l, LLVMValueRef value)
{
	return LLVMIsAInstruction(value) && LLVMGetInstructionParent(value) == l->body;
}

/* The value of a phi of the loop in the first round, or in the next one. */
static LLVMValueRef loop_incoming(LLVMValueRef phi, LLVMBasicBlockRef from)
{
	return LLVMGetIncomingValue(phi, LLVMGetIncomingBlock(phi, 0) != from);
}

/* --- Whether a loop is of that kind --- */

/* The pointer that an address is counted from. */
static LLVMValueRef loop_root(LLVMValueRef pointer)
{
	while (LLVMIsAGetElementPtrInst(pointer) || LLVMIsABitCastInst(pointer)) {
		pointer = LLVMGetOperand(pointer, 0);
	}
	return pointer;
}

static bool loop_find_accesses(struct loop *l)
{
	bool good = true;
	LLVMValueRef inst = LLVMGetFirstInstruction(l->body);
	for (; inst && good; inst = LLVMGetNextInstruction(inst)) {
		bool stores = ir_is(inst, LLVMStore), loads = ir_is(inst, LLVMLoad);
		if (!stores && !loads) {
			good = !ir_is(inst, LLVMCall) || l->store_count == 0;
			continue;
		}
		LLVMTypeRef type = LLVMTypeOf(stores ? LLVMGetOperand(inst, 0) : inst);
		bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
		uint64_t size = LLVMStoreSizeOfType(l->layout, type);
		l->bytes += is_vector ? size : 0;
		if (loads) {
			good = l->store_count == 0;
			continue;
		}
		good = is_vector && size >= LEAST_STORE && (size & (size - 1)) == 0
			&& l->store_count < MOST_STORES
			&& (l->store_count == 0 || size == l->store_size);
		if (good) {
			l->store_size = size;
			l->stores[l->store_count++] = inst;
		}
	}
	return good && l->store_count > 0;
}

static bool loop_reads_what_it_stores(const struct loop *l)
{
	bool same = false;
	LLVMValueRef inst = LLVMGetFirstInstruction(l->body);
	for (; inst && !same; inst = LLVMGetNextInstruction(inst)) {
		for (unsigned i = 0; i < l->store_count && ir_is(inst, LLVMLoad); i++) {
			same |= loop_root(LLVMGetOperand(inst, 0))
				== loop_root(LLVMGetOperand(l->stores[i], 1));
		}
	}
	return same;
}

/* The loop ends when i + step, i being 0 at first, is something that was known before it. */
static bool loop_find_length(struct loop *l, LLVMValueRef condition)
{
	if (!ir_is(condition, LLVMICmp) || LLVMGetICmpPredicate(condition) != LLVMIntEQ) {
		return false;
	}
	LLVMValueRef next = LLVMGetOperand(condition, 0);
	l->length = LLVMGetOperand(condition, 1);
	if (!ir_is(next, LLVMAdd) || loop_has(l, l->length) || LLVMTypeOf(next) != l->i64
		|| !LLVMIsAConstantInt(LLVMGetOperand(next, 1))) {
		return false;
	}
	LLVMValueRef index = LLVMGetOperand(next, 0);
	l->step = LLVMConstIntGetZExtValue(LLVMGetOperand(next, 1));
	return loop_has(l, index) && LLVMIsAPHINode(index) && l->step > 0
		&& loop_incoming(index, l->body) == next
		&& LLVMIsNull(loop_incoming(index, l->before));
}

static bool loop_find(struct loop *l, LLVMBasicBlockRef body)
{
	LLVMValueRef phi = LLVMGetFirstInstruction(body), end = LLVMGetBasicBlockTerminator(body);
	if (!phi || !LLVMIsAPHINode(phi) || LLVMCountIncoming(phi) != 2 || !ir_is(end, LLVMBr)
		|| !LLVMIsConditional(end) || LLVMGetSuccessor(end, 1) != body) {
		return false;
	}
	LLVMBasicBlockRef after = LLVMGetSuccessor(end, 0);
	l->body = body;
	l->before = LLVMGetIncomingBlock(phi, LLVMGetIncomingBlock(phi, 0) == body);
	return after != body && l->before != body && !ir_is(LLVMGetFirstInstruction(after), LLVMPHI)
		&& loop_find_length(l, LLVMGetCondition(end)) && loop_find_accesses(l)
		&& l->bytes % l->step == 0 && !loop_reads_what_it_stores(l);
}

/* --- In front of it --- */

static LLVMValueRef loop_in_front(struct loop *l, LLVMValueRef value, bool second, unsigned depth);

/* A copy of an instruction that only computes. */
static LLVMValueRef loop_copy_in_front(struct loop *l, LLVMValueRef inst, bool second,
	unsigned depth)
{
	LLVMValueRef operands[4];
	unsigned count = (unsigned)LLVMGetNumOperands(inst);
	bool known = count <= countof(operands);
	for (unsigned i = 0; i < count && known; i++) {
		operands[i] = loop_in_front(l, LLVMGetOperand(inst, i), second, depth - 1);
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
static bool loop_counts_evenly(const struct loop *l, LLVMValueRef phi)
{
	LLVMValueRef next = loop_incoming(phi, l->body);
	bool adds = (ir_is(next, LLVMAdd) || ir_is(next, LLVMGetElementPtr))
		&& LLVMGetOperand(next, 0) == phi && LLVMGetNumOperands(next) == 2;
	return adds && !loop_has(l, LLVMGetOperand(next, 1));
}

/* A value in the first round or in the second one, if it grows evenly; NULL if it is not known. */
static LLVMValueRef loop_in_front(struct loop *l, LLVMValueRef value, bool second, unsigned depth)
{
	if (!loop_has(l, value) || depth == 0) {
		return depth == 0 ? NULL : value;
	}
	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMPHI:
		return !loop_counts_evenly(l, value) ? NULL
			: second ? loop_in_front(l, loop_incoming(value, l->body), false, depth - 1)
			: loop_incoming(value, l->before);
	case LLVMMul:
	case LLVMShl:
		return loop_has(l, LLVMGetOperand(value, 1)) ? NULL
			: loop_copy_in_front(l, value, second, depth);
	case LLVMGetElementPtr:
	case LLVMAdd:
	case LLVMExtractElement: /* LLVM 19 counts in a vector, and takes the first of it */
	case LLVMSExt:
	case LLVMZExt:
	case LLVMBitCast:
	case LLVMIntToPtr:
		return loop_copy_in_front(l, value, second, depth);
	default:
		return NULL;
	}
}

/* The bits that addresses of stores must not have, in the first two rounds, and so in all: the
 * first begins a line, and each is a multiple of what it stores. */
static LLVMValueRef loop_address_bits(struct loop *l)
{
	LLVMValueRef bits = NULL;
	const uint64_t mask = (l->store_size < LINE ? l->store_size : LINE) - 1;
	for (unsigned i = 0; i < 2 * l->store_count; i++) {
		LLVMValueRef place = loop_in_front(
			l, LLVMGetOperand(l->stores[i / 2], 1), i % 2 == 1, MOST_DEPTH);
		if (!place) {
			return NULL;
		}
		LLVMValueRef one = LLVMBuildPtrToInt(l->builder, place, l->i64, "");
		one = LLVMBuildAnd(
			l->builder, one, LLVMConstInt(l->i64, i == 0 ? LINE - 1 : mask, false), "");
		bits = bits ? LLVMBuildOr(l->builder, bits, one, "") : one;
	}
	return bits;
}

static LLVMValueRef loop_load_field(struct loop *l, LLVMTypeRef type, LLVMValueRef base,
	size_t offset)
{
	LLVMTypeRef byte = LLVMInt8TypeInContext(l->context);
	LLVMValueRef index = LLVMConstInt(l->i64, offset, false);
	LLVMValueRef place = LLVMBuildGEP2(l->builder, byte, base, &index, 1, "");
	place = LLVMBuildBitCast(l->builder, place, LLVMPointerType(type, 0), "");
	return LLVMBuildLoad2(l->builder, type, place, "");
}

/* Whether the loop moves more than the cache holds. */
static LLVMValueRef loop_moves_much(struct loop *l, LLVMValueRef fn)
{
	LLVMTypeRef pointer = LLVMPointerType(LLVMInt8TypeInContext(l->context), 0);
	LLVMValueRef launch =
		loop_load_field(l, pointer, LLVMGetParam(fn, 0), offsetof(struct rt_warp, launch));
	LLVMValueRef most = loop_load_field(l, l->i32, launch,
		offsetof(struct rt_launch, cached_bytes));
	most = LLVMBuildZExt(l->builder, most, l->i64, "");
	LLVMValueRef bytes = LLVMBuildMul(
		l->builder, l->length, LLVMConstInt(l->i64, l->bytes / l->step, false), "");
	return LLVMBuildICmp(l->builder, LLVMIntUGT, bytes, most, "");
}

/* --- Its stores --- */

static void loop_mark_nontemporal(struct loop *l, LLVMValueRef store)
{
	static const char name[] = "nontemporal";
	LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(l->i32, 1, false));
	LLVMSetAlignment(store, l->store_size < LINE ? (unsigned)l->store_size : LINE);
	LLVMSetMetadata(store, LLVMGetMDKindIDInContext(l->context, name, sizeof(name) - 1),
		LLVMMetadataAsValue(l->context, LLVMMDNodeInContext2(l->context, &one, 1)));
}

/* The next round comes from another block now. */
static void loop_replace_phis(struct loop *l, LLVMBasicBlockRef next)
{
	LLVMValueRef phi = LLVMGetFirstInstruction(l->body);
	while (LLVMIsAPHINode(phi)) {
		LLVMValueRef values[] = {loop_incoming(phi, l->before),
			loop_incoming(phi, l->body)};
		LLVMBasicBlockRef blocks[] = {l->before, next};
		LLVMValueRef old = phi;
		LLVMPositionBuilderBefore(l->builder, old);
		LLVMValueRef made = LLVMBuildPhi(l->builder, LLVMTypeOf(old), "");
		LLVMAddIncoming(made, values, blocks, countof(blocks));
		phi = LLVMGetNextInstruction(old);
		LLVMReplaceAllUsesWith(old, made);
		LLVMInstructionEraseFromParent(old);
	}
}

static void loop_select_stores(struct loop *l, LLVMValueRef fn, LLVMValueRef goes_past)
{
	LLVMBasicBlockRef past = LLVMAppendBasicBlockInContext(l->context, fn, "past");
	LLVMBasicBlockRef plain = LLVMAppendBasicBlockInContext(l->context, fn, "plain");
	LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(l->context, fn, "next");
	for (unsigned i = 0; i < l->store_count; i++) {
		LLVMValueRef copy = LLVMInstructionClone(l->stores[i]);
		loop_mark_nontemporal(l, copy);
		LLVMPositionBuilderAtEnd(l->builder, past);
		LLVMInsertIntoBuilder(l->builder, copy);
		LLVMInstructionRemoveFromParent(l->stores[i]);
		LLVMPositionBuilderAtEnd(l->builder, plain);
		LLVMInsertIntoBuilder(l->builder, l->stores[i]);
	}
	LLVMBuildBr(l->builder, next);
	LLVMPositionBuilderAtEnd(l->builder, past);
	LLVMBuildBr(l->builder, next);

	LLVMValueRef end = LLVMGetBasicBlockTerminator(l->body);
	LLVMInstructionRemoveFromParent(end);
	LLVMPositionBuilderAtEnd(l->builder, next);
	LLVMInsertIntoBuilder(l->builder, end);
	LLVMPositionBuilderAtEnd(l->builder, l->body);
	LLVMBuildCondBr(l->builder, goes_past, past, plain);
	loop_replace_phis(l, next);
}

bool pass_nontemporal_loops(LLVMValueRef fn, LLVMTargetDataRef layout)
{
	LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(fn));
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
	LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
	bool changed = false;
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		struct loop l = {.builder = builder,
			.context = context,
			.layout = layout,
			.i32 = LLVMInt32TypeInContext(context),
			.i64 = LLVMInt64TypeInContext(context)};
		if (!loop_find(&l, block)) {
			continue;
		}
		LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(l.before));
		LLVMValueRef bits = loop_address_bits(&l);
		if (bits) { /* else what was computed is never used: LLVM leaves it out */
			bits = LLVMBuildICmp(builder, LLVMIntEQ, bits, LLVMConstNull(l.i64), "");
			loop_select_stores(&l, fn,
				LLVMBuildAnd(builder, bits, loop_moves_much(&l, fn), ""));
			changed = true;
		}
	}
	LLVMDisposeBuilder(builder);
	return changed;
}

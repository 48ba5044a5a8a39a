/* SPDX-License-Identifier: MIT */
/*
 * A pass that reorders the sums of a team to use fewer registers (W = 32).
 *
 * A team makes each instruction for all its warps before the next one.  Sums of doubles, or several
 * sums in each thread, then need more registers than the processor has, and each addition loads and
 * stores its sum.  So where much is computed between two stores, the instructions get another
 * order: first all that some of the results need, as many as fit in registers, then all that the
 * next ones need.  Values that several bunches read are loaded again for each.
 *
 * No result changes, and nothing moves across a store.  A fence within a thread, which is no
 * instruction of the processor, keeps LLVM from mixing two bunches.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/codegen/passes/ir_passes.h"

#include <stdlib.h>
#include <string.h>

/* Bunches are for so many terms of a sum, at least. */
enum { LEAST_TERMS = 4 };

struct item {
	LLVMValueRef inst;
	LLVMValueRef now; /* the instruction, or the bunch's copy of it */
	unsigned bunch;   /* that it is a result of; 0: it is none of these sums */
	bool is_wanted;   /* by this bunch */
	bool is_placed;   /* by one before */
};

struct buncher {
	LLVMBuilderRef builder;
	unsigned room;        /* bits of sums that stay in registers */
	struct item *items;   /* without a write between them, in order, */
	struct item **sorted; /* and by address */
	size_t count, size;
	unsigned bunches;
};

/* --- What can be moved --- */

static bool bunch_is_load(LLVMValueRef inst)
{
	return LLVMIsALoadInst(inst) && !LLVMGetVolatile(inst)
		&& LLVMGetOrdering(inst) == LLVMAtomicOrderingNotAtomic;
}

static bool is_fma(LLVMValueRef inst)
{
	static const char prefix[] = "llvm.fma.";
	size_t len;
	LLVMValueRef callee = LLVMIsACallInst(inst) ? LLVMGetCalledValue(inst) : NULL;
	return callee && LLVMIsAFunction(callee)
		&& strncmp(LLVMGetValueName2(callee, &len), prefix, sizeof(prefix) - 1) == 0;
}

static bool is_term(LLVMValueRef inst)
{
	LLVMOpcode op = LLVMGetInstructionOpcode(inst);
	return op == LLVMFAdd || op == LLVMFSub || op == LLVMFMul || is_fma(inst);
}

/* Cheaper than a register: made again for each bunch. */
static bool is_cheap(LLVMValueRef inst)
{
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMGetElementPtr:
	case LLVMBitCast:
	case LLVMIntToPtr:
	case LLVMShuffleVector:
	case LLVMInsertElement:
		return true;
	default:
		return bunch_is_load(inst);
	}
}

static bool is_movable(LLVMValueRef inst)
{
	return is_cheap(inst) || is_term(inst) || LLVMIsABinaryOperator(inst)
		|| LLVMIsACastInst(inst) || LLVMIsAExtractElementInst(inst) || LLVMIsAICmpInst(inst)
		|| LLVMIsASelectInst(inst);
}

/* --- Items --- */

static int compare_items(const void *a, const void *b)
{
	uintptr_t one = (uintptr_t)(*(struct item *const *)a)->inst;
	uintptr_t other = (uintptr_t)(*(struct item *const *)b)->inst;
	return (one > other) - (one < other);
}

static struct item *find_item(const struct buncher *b, LLVMValueRef value)
{
	struct item item = {.inst = value}, *key = &item;
	struct item **found = bsearch(&key, b->sorted, b->count, sizeof(key), compare_items);
	return found ? *found : NULL;
}

/* Those from an instruction on; what comes behind them. */
static LLVMValueRef bunch_collect(struct buncher *b, LLVMValueRef inst)
{
	b->count = 0;
	for (; is_movable(inst) && b->count < b->size; inst = LLVMGetNextInstruction(inst)) {
		b->items[b->count] = (struct item){.inst = inst};
		b->sorted[b->count] = &b->items[b->count];
		b->count++;
	}
	qsort(b->sorted, b->count, sizeof(*b->sorted), compare_items);
	return inst;
}

/* --- Bunches --- */

/* Of a vector of floats, else 0. */
static unsigned bunch_float_bits(LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) {
		return 0;
	}
	LLVMTypeKind kind = LLVMGetTypeKind(LLVMGetElementType(type));
	unsigned size = kind == LLVMDoubleTypeKind ? 64 : kind == LLVMFloatTypeKind ? 32 : 0;
	return LLVMGetVectorSize(type) * size;
}

/* Whether others use it, or nobody does. */
static bool is_result(const struct buncher *b, const struct item *item)
{
	LLVMUseRef use = LLVMGetFirstUse(item->inst);
	bool is_inner = use;
	for (; use && is_inner; use = LLVMGetNextUse(use)) {
		is_inner = find_item(b, LLVMGetUser(use));
	}
	return !is_inner;
}

/* False: they fit as they are, or there are few terms. */
static bool plan(struct buncher *b)
{
	unsigned all = 0, full = 0;
	size_t terms = 0, sums = 0;
	b->bunches = 1;
	for (size_t i = 0; i < b->count; i++) {
		struct item *item = &b->items[i];
		unsigned bits = bunch_float_bits(item->inst);
		terms += is_term(item->inst) && bits > 0;
		if (bits == 0 || !is_term(item->inst) || !is_result(b, item)) {
			continue;
		}
		sums++;
		all += bits;
		if (full > 0 && full + bits > b->room) {
			b->bunches++;
			full = 0;
		}
		full += bits;
		item->bunch = b->bunches;
	}
	return all > b->room + b->room / 2 && terms >= LEAST_TERMS * sums;
}

/* What a bunch needs; the first one all that is not for a sum, too. */
static void bunch_mark(struct buncher *b, unsigned bunch)
{
	for (size_t i = b->count; i-- > 0;) {
		struct item *item = &b->items[i];
		item->is_wanted |= item->bunch == bunch
			|| (bunch == 1 && item->bunch == 0 && is_result(b, item));
		for (int k = 0; item->is_wanted && k < LLVMGetNumOperands(item->inst); k++) {
			struct item *operand =
				find_item(b, LLVMGetOperand(item->inst, (unsigned)k));
			if (operand) {
				operand->is_wanted = true;
			}
		}
	}
}

static void bunch_place(struct buncher *b, struct item *item)
{
	bool copies = item->is_placed && is_cheap(item->inst);
	if (copies) {
		item->now = LLVMInstructionClone(item->inst);
	} else if (!item->is_placed) {
		LLVMInstructionRemoveFromParent(item->inst);
	}
	if (copies || !item->is_placed) {
		LLVMInsertIntoBuilder(b->builder, item->now);
		for (int k = 0; k < LLVMGetNumOperands(item->now); k++) {
			struct item *operand = find_item(b, LLVMGetOperand(item->now, (unsigned)k));
			if (operand) {
				LLVMSetOperand(item->now, (unsigned)k, operand->now);
			}
		}
	}
	item->is_placed = true;
}

static void put_in_bunches(struct buncher *b, LLVMValueRef behind)
{
	LLVMPositionBuilderBefore(b->builder, behind);
	for (unsigned bunch = 1; bunch <= b->bunches; bunch++) {
		for (size_t i = 0; i < b->count; i++) {
			b->items[i].now = b->items[i].inst;
			b->items[i].is_wanted = false;
		}
		if (bunch > 1) {
			LLVMBuildFence(b->builder, LLVMAtomicOrderingAcquireRelease, true, "");
		}
		bunch_mark(b, bunch);
		for (size_t i = 0; i < b->count; i++) {
			if (b->items[i].is_wanted) {
				bunch_place(b, &b->items[i]);
			}
		}
	}
}

static void order_block(struct buncher *b, LLVMBasicBlockRef block)
{
	LLVMValueRef inst = LLVMGetFirstInstruction(block);
	while (inst) {
		LLVMValueRef behind = bunch_collect(b, inst);
		if (b->count > 0 && plan(b)) {
			put_in_bunches(b, behind);
		}
		inst = b->count > 0 ? behind : LLVMGetNextInstruction(inst);
	}
}

bool pass_sum_bunches(LLVMValueRef fn, unsigned room)
{
	struct buncher b = {.room = room};
	LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		size_t size = 0;
		LLVMValueRef inst = LLVMGetFirstInstruction(block);
		for (; inst; inst = LLVMGetNextInstruction(inst)) {
			size++;
		}
		b.size = size > b.size ? size : b.size;
	}
	b.items = mem_zalloc(b.size, sizeof(*b.items));
	b.sorted = mem_zalloc(b.size, sizeof(*b.sorted));
	b.builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(fn)));
	block = b.items && b.sorted ? LLVMGetFirstBasicBlock(fn) : NULL;
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		order_block(&b, block);
	}
	LLVMDisposeBuilder(b.builder);
	bool ok = b.items && b.sorted;
	mem_free(b.items);
	mem_free(b.sorted);
	return ok;
}

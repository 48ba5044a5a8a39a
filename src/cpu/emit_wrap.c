/* SPDX-License-Identifier: MIT */

/*
 * Addresses that are in a row unless an index wraps around (W = 32).
 *
 * The lanes' `row * n + column` is a number and 0, 1, 2 and so on, as 32 bits.  As 64 bits it may be
 * two rows: nothing says that the sum does not wrap, and PTX defines what it is if it does.  So shapes
 * (shape.h) end there, and emit_wide.c asks whether the addresses are neighbours.  That question of
 * 32 sums has an answer of two scalar comparisons, whether the first index and the last one wrap:
 * if neither does, it is known now if the lanes are neighbours, and where the first one is.  If one
 * does, the answer may always be no, for then each lane has an access of its own.
 *
 * This works on LLVM's code, once registers are values.  The vector that is asked is taken apart into
 * a scalar and the lanes' distances from it, as far as sums, products and extensions go.
 */
#include "../base/common.h"

#include "emit.h"

/* How far to look into sums. */
enum { MOST_STEPS = 12 };

struct wraps {
	LLVMBuilderRef builder;
	LLVMTypeRef i1, i32;
};

/* Lane i has base + offsets[i], modulo 2^bits, if `valid` is true; NULL: always. */
struct row {
	LLVMValueRef base;
	LLVMValueRef valid;
	int64_t offsets[RT_MAX_WIDTH];
};

static unsigned bits_of(LLVMValueRef vector)
{
	LLVMTypeRef type = LLVMTypeOf(vector);
	bool suits = LLVMGetTypeKind(type) == LLVMVectorTypeKind
		&& LLVMGetVectorSize(type) == RT_MAX_WIDTH
		&& LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMIntegerTypeKind;
	unsigned bits = suits ? LLVMGetIntTypeWidth(LLVMGetElementType(type)) : 0;
	return bits == 32 || bits == 64 ? bits : 0;
}

static int64_t wrap(uint64_t value, unsigned bits)
{
	return bits == 32 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static LLVMValueRef number_of(LLVMTypeRef type, uint64_t value)
{
	return LLVMConstInt(type, LLVMGetIntTypeWidth(type) == 32 ? (uint32_t)value : value, false);
}

/* --- Taking apart --- */

static bool take_constant(struct wraps *w, struct row *out, LLVMValueRef vector)
{
	for (unsigned i = 0; i < RT_MAX_WIDTH; i++) {
		LLVMValueRef one = LLVMConstExtractElement(vector, LLVMConstInt(w->i32, i, false));
		if (!LLVMIsAConstantInt(one)) {
			return false;
		}
		out->offsets[i] = LLVMConstIntGetSExtValue(one);
	}
	out->base = LLVMConstNull(LLVMGetElementType(LLVMTypeOf(vector)));
	return true;
}

static LLVMValueRef both(struct wraps *w, LLVMValueRef a, LLVMValueRef b)
{
	return a && b ? LLVMBuildAnd(w->builder, a, b, "") : a ? a : b;
}

/* The number that is in all lanes, if it is known; all distances are 0 then. */
static bool is_number(const struct row *row, uint64_t *out)
{
	bool alike = LLVMIsAConstantInt(row->base) != NULL;
	for (unsigned i = 1; i < RT_MAX_WIDTH; i++) {
		alike &= row->offsets[i] == row->offsets[0];
	}
	*out = alike ? LLVMConstIntGetZExtValue(row->base) + (uint64_t)row->offsets[0] : 0;
	return alike;
}

static void multiply(struct wraps *w, struct row *row, uint64_t by, unsigned bits)
{
	row->base = LLVMBuildMul(w->builder, row->base, number_of(LLVMTypeOf(row->base), by), "");
	for (unsigned i = 0; i < RT_MAX_WIDTH; i++) {
		row->offsets[i] = wrap((uint64_t)row->offsets[i] * by, bits);
	}
}

static bool combine(struct wraps *w, struct row *a, const struct row *b, LLVMOpcode op,
	unsigned bits)
{
	uint64_t number;
	switch (op) {
	case LLVMAdd:
		a->base = LLVMBuildAdd(w->builder, a->base, b->base, "");
		for (unsigned i = 0; i < RT_MAX_WIDTH; i++) {
			a->offsets[i] = wrap((uint64_t)a->offsets[i] + (uint64_t)b->offsets[i], bits);
		}
		break;
	case LLVMMul:
		if (!is_number(b, &number)) {
			return false;
		}
		multiply(w, a, number, bits);
		break;
	default:
		if (!is_number(b, &number) || number >= bits) {
			return false;
		}
		multiply(w, a, UINT64_C(1) << number, bits);
		break;
	}
	a->valid = both(w, a->valid, b->valid);
	return true;
}

/* From 32 bits to 64: the sums of before must not wrap, neither the least nor the greatest. */
static void extend(struct wraps *w, struct row *row, bool sign, LLVMTypeRef type)
{
	int64_t least = 0, most = 0;
	for (unsigned i = 0; i < RT_MAX_WIDTH; i++) {
		least = row->offsets[i] < least ? row->offsets[i] : least;
		most = row->offsets[i] > most ? row->offsets[i] : most;
	}
	int64_t low = (sign ? INT32_MIN : 0) - least, high = (sign ? INT32_MAX : UINT32_MAX) - most;
	LLVMTypeRef narrow = LLVMTypeOf(row->base);
	if (least < 0) {
		row->valid = both(w, row->valid, LLVMBuildICmp(w->builder, sign ? LLVMIntSGE : LLVMIntUGE,
			row->base, number_of(narrow, (uint64_t)low), ""));
	}
	if (most > 0) {
		row->valid = both(w, row->valid, LLVMBuildICmp(w->builder, sign ? LLVMIntSLE : LLVMIntULE,
			row->base, number_of(narrow, (uint64_t)high), ""));
	}
	row->base = sign ? LLVMBuildSExt(w->builder, row->base, type, "")
		: LLVMBuildZExt(w->builder, row->base, type, "");
}

static bool take_apart(struct wraps *w, struct row *out, LLVMValueRef vector, unsigned steps)
{
	struct row other;
	unsigned bits = bits_of(vector);
	*out = (struct row){.base = NULL};
	if (bits == 0 || steps == 0) {
		return false;
	}
	if (LLVMIsConstant(vector)) {
		return take_constant(w, out, vector);
	}
	if (!LLVMIsAInstruction(vector)) {
		return false;
	}
	LLVMOpcode op = LLVMGetInstructionOpcode(vector);
	switch (op) {
	case LLVMShuffleVector:
		return (out->base = ir_splat_scalar(vector)) != NULL;
	case LLVMAdd:
	case LLVMMul:
	case LLVMShl:
		return take_apart(w, out, LLVMGetOperand(vector, 0), steps - 1)
			&& take_apart(w, &other, LLVMGetOperand(vector, 1), steps - 1)
			&& combine(w, out, &other, op, bits);
	case LLVMSExt:
	case LLVMZExt:
		if (!take_apart(w, out, LLVMGetOperand(vector, 0), steps - 1)) {
			return false;
		}
		extend(w, out, op == LLVMSExt, LLVMGetElementType(LLVMTypeOf(vector)));
		return true;
	default:
		return false;
	}
}

/* --- The question --- */

/* Of emit_wide.c: x != (x, some lanes of it) + numbers.  Gives x. */
static LLVMValueRef asked_of(LLVMValueRef compare)
{
	LLVMValueRef value = LLVMGetOperand(compare, 0), want = LLVMGetOperand(compare, 1);
	bool asks = LLVMGetICmpPredicate(compare) == LLVMIntNE && bits_of(value) == 64
		&& ir_is(want, LLVMAdd) && LLVMIsConstant(LLVMGetOperand(want, 1));
	LLVMValueRef lanes = asks ? LLVMGetOperand(want, 0) : NULL;
	return ir_is(lanes, LLVMShuffleVector) && LLVMGetOperand(lanes, 0) == value ? value : NULL;
}

/* Whether it is so wherever no index wraps. */
static bool are_in_rows(struct wraps *w, const struct row *row, LLVMValueRef want)
{
	struct row numbers;
	LLVMValueRef lanes = LLVMGetOperand(want, 0);
	bool are = take_constant(w, &numbers, LLVMGetOperand(want, 1));
	for (unsigned i = 0; i < RT_MAX_WIDTH && are; i++) {
		int first = LLVMGetMaskValue(lanes, i);
		are = first >= 0 && first < RT_MAX_WIDTH
			&& row->offsets[i] == row->offsets[first] + numbers.offsets[i];
	}
	return are;
}

static LLVMValueRef only_user(LLVMValueRef value, LLVMOpcode op)
{
	LLVMUseRef use = value ? LLVMGetFirstUse(value) : NULL;
	LLVMValueRef user = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
	return ir_is(user, op) ? user : NULL;
}

/* The answer that branches ask for: all lanes as bits, which must be 0. */
static LLVMValueRef answer_of(LLVMValueRef compare)
{
	LLVMValueRef is_none = only_user(only_user(compare, LLVMBitCast), LLVMICmp);
	bool asks = is_none && LLVMGetICmpPredicate(is_none) == LLVMIntEQ
		&& LLVMIsNull(LLVMGetOperand(is_none, 1));
	return asks ? is_none : NULL;
}

/* What is taken from the vector where the answer was yes. */
static void replace_elements(struct wraps *w, const struct row *row, LLVMValueRef vector,
	LLVMBasicBlockRef where)
{
	LLVMValueRef next;
	for (LLVMValueRef inst = LLVMGetFirstInstruction(where); inst; inst = next) {
		next = LLVMGetNextInstruction(inst);
		bool takes = ir_is(inst, LLVMExtractElement) && LLVMGetOperand(inst, 0) == vector
			&& LLVMIsAConstantInt(LLVMGetOperand(inst, 1));
		uint64_t lane = takes ? LLVMConstIntGetZExtValue(LLVMGetOperand(inst, 1)) : RT_MAX_WIDTH;
		if (lane < RT_MAX_WIDTH) {
			LLVMPositionBuilderBefore(w->builder, inst);
			LLVMValueRef offset = number_of(LLVMTypeOf(inst), (uint64_t)row->offsets[lane]);
			LLVMReplaceAllUsesWith(inst, LLVMBuildAdd(w->builder, row->base, offset, ""));
			LLVMInstructionEraseFromParent(inst);
		}
	}
}

/* The branch that an answer is for: a team asks for all its warps at once. */
static LLVMValueRef branch_of(LLVMValueRef user)
{
	while (ir_is(user, LLVMAnd) && LLVMGetFirstUse(user)) {
		LLVMUseRef use = LLVMGetFirstUse(user);
		user = LLVMGetNextUse(use) ? NULL : LLVMGetUser(use);
	}
	return ir_is(user, LLVMBr) ? user : NULL;
}

static void answer(struct wraps *w, LLVMValueRef compare)
{
	struct row row;
	LLVMValueRef vector = asked_of(compare);
	LLVMValueRef is_none = vector ? answer_of(compare) : NULL;
	if (!is_none) {
		return;
	}
	LLVMPositionBuilderBefore(w->builder, compare);
	if (!take_apart(w, &row, vector, MOST_STEPS)
	    || !are_in_rows(w, &row, LLVMGetOperand(compare, 1))) {
		return;
	}
	for (LLVMUseRef use = LLVMGetFirstUse(is_none); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef branch = branch_of(LLVMGetUser(use));
		if (branch) {
			replace_elements(w, &row, vector, LLVMGetSuccessor(branch, 0));
		}
	}
	LLVMReplaceAllUsesWith(is_none, row.valid ? row.valid : LLVMConstInt(w->i1, 1, false));
}

void emit_answer_wraps(LLVMValueRef fn)
{
	LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(fn));
	struct wraps w = {LLVMCreateBuilderInContext(context), LLVMInt1TypeInContext(context),
		LLVMInt32TypeInContext(context)};
	LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		LLVMValueRef inst = LLVMGetFirstInstruction(block);
		for (; inst; inst = LLVMGetNextInstruction(inst)) {
			if (ir_is(inst, LLVMICmp)) {
				answer(&w, inst);
			}
		}
	}
	LLVMDisposeBuilder(w.builder);
}

/* SPDX-License-Identifier: MIT */
/*
 * A pass for addresses that are in rows unless an index wraps around (W = 32).
 *
 * The `row * n + column` of the lanes is a base and 0, 1, 2 and so on, in 32 bits.  As 64 bits it
 * may be two rows, for PTX defines what happens if the sum wraps.  So uniformity analysis gives up
 * there, and emit_vector.c tests whether the addresses are neighbours, row by row.  This pass
 * answers the test by two scalar comparisons: does the first index of a row wrap, or its last one?
 * If neither wraps, it is known at compile time whether the lanes are neighbours and where the
 * first one is.  If one does, the answer is no, for then each lane may have its own access.
 *
 * A branch asks whether a guard holds for all lanes or for none, as of `i < n`.  Where the index of
 * the first lane and that of the last one do not wrap, these two decide.
 *
 * The pass works on LLVM's values.  It passes the distances that the test requires down to the
 * parts of sums, products and extensions, until scalars and constants fulfil them or not.  One part
 * may be any other value of 32 bits, as `y * n` of lanes that are in several rows.  The test
 * remains for that part, at half the cost, and in loops it often moves out (passes/induction.c).
 */
#include "base/common.h"

#include "cpu/codegen/passes/ir_passes.h"
#include "cpu/codegen/passes/ir_values.h"
#include "cpu/runtime/rt.h"

#include <string.h>

/* How far to look into sums; rows of 8 lanes. */
enum { MOST_STEPS = 12, MOST_ROWS = RT_MAX_WIDTH / 8 };

struct wraps {
	LLVMBuilderRef builder;
	LLVMTypeRef i1, i32, set;      /* a bit for each lane */
	unsigned lanes;
	/* of the question */
	unsigned rows;
	unsigned first[MOST_ROWS];     /* lane of each row */
	unsigned row_of[RT_MAX_WIDTH]; /* of each lane */
	bool has_asked;                /* of a part */
};

/* Row r has bases[r] plus distances that are known, modulo 2^bits, if `valid` is true; NULL:
 * always. */
struct taken {
	LLVMValueRef bases[MOST_ROWS];
	LLVMValueRef valid;
};

static unsigned wrap_bits_of(const struct wraps *w, LLVMValueRef vector)
{
	LLVMTypeRef type = LLVMTypeOf(vector);
	bool suits = LLVMGetTypeKind(type) == LLVMVectorTypeKind
		&& LLVMGetVectorSize(type) == w->lanes
		&& LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMIntegerTypeKind;
	unsigned bits = suits ? LLVMGetIntTypeWidth(LLVMGetElementType(type)) : 0;
	return bits == 32 || bits == 64 ? bits : 0;
}

static int64_t wrap_to_bits(uint64_t value, unsigned bits)
{
	return bits == 32 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static LLVMValueRef wrap_number(LLVMTypeRef type, uint64_t value)
{
	return LLVMConstInt(type, LLVMGetIntTypeWidth(type) == 32 ? (uint32_t)value : value, false);
}

static LLVMValueRef wrap_both(struct wraps *w, LLVMValueRef a, LLVMValueRef b)
{
	return a && b ? LLVMBuildAnd(w->builder, a, b, "") : a ? a : b;
}

/* --- What is known --- */

static bool wrap_read_numbers(struct wraps *w, int64_t *out, LLVMValueRef vector)
{
	bool are = LLVMIsConstant(vector);
	for (unsigned i = 0; i < w->lanes && are; i++) {
		LLVMValueRef one = LLVMConstExtractElement(vector, LLVMConstInt(w->i32, i, false));
		are = LLVMIsAConstantInt(one);
		out[i] = are ? LLVMConstIntGetSExtValue(one) : 0;
	}
	return are;
}

static bool wrap_are_all(const struct wraps *w, const int64_t *numbers, int64_t number)
{
	bool all = true;
	for (unsigned i = 0; i < w->lanes; i++) {
		all &= numbers[i] == number;
	}
	return all;
}

/* What all lanes of a vector have, as a scalar; NULL: it is not known. */
static LLVMValueRef wrap_scalar_of(struct wraps *w, LLVMValueRef vector)
{
	int64_t numbers[RT_MAX_WIDTH] = {0};
	if (!LLVMIsConstant(vector)) {
		return ir_splat_scalar(vector);
	}
	return wrap_bits_of(w, vector) > 0 && wrap_read_numbers(w, numbers, vector)
		&& wrap_are_all(w, numbers, numbers[0])
		? LLVMConstExtractElement(vector, LLVMConstInt(w->i32, 0, false)) : NULL;
}

/* The factor of a product or of a shift to the left; 0: it is not known, or negative. */
static int64_t wrap_factor(struct wraps *w, LLVMValueRef product)
{
	int64_t numbers[RT_MAX_WIDTH];
	LLVMValueRef by = LLVMGetOperand(product, 1);
	int64_t most = wrap_bits_of(w, product) - 1;
	if (!wrap_read_numbers(w, numbers, by) || !wrap_are_all(w, numbers, numbers[0])
		|| numbers[0] < 0) {
		return 0;
	}
	bool shifts = ir_is(product, LLVMShl);
	return !shifts ? numbers[0] : numbers[0] < most ? INT64_C(1) << numbers[0] : 0;
}

/* Distances of lanes from the first one of their row. */
static bool wrap_find_distances(struct wraps *w, int64_t *out, LLVMValueRef vector, unsigned steps)
{
	int64_t other[RT_MAX_WIDTH], numbers[RT_MAX_WIDTH], factor = 1;
	unsigned bits = wrap_bits_of(w, vector);
	bool known = bits > 0 && steps > 0;
	if (known && wrap_read_numbers(w, numbers, vector)) {
		for (unsigned i = 0; i < w->lanes; i++) {
			int64_t first = numbers[w->first[w->row_of[i]]];
			out[i] = wrap_to_bits((uint64_t)numbers[i] - (uint64_t)first, bits);
		}
		return true;
	}
	memset(out, 0, RT_MAX_WIDTH * sizeof(*out));
	memset(other, 0, sizeof(other));
	if (!known || !LLVMIsAInstruction(vector) || ir_splat_scalar(vector)) {
		return known && ir_splat_scalar(vector);
	}
	switch (LLVMGetInstructionOpcode(vector)) {
	case LLVMAdd:
		known = wrap_find_distances(w, other, LLVMGetOperand(vector, 1), steps - 1);
		break;
	case LLVMMul:
	case LLVMShl:
		factor = wrap_factor(w, vector);
		known = factor > 0;
		break;
	case LLVMSExt:
	case LLVMZExt:
	case LLVMTrunc:
		break;
	default:
		known = false;
	}
	known = known && wrap_find_distances(w, out, LLVMGetOperand(vector, 0), steps - 1);
	for (unsigned i = 0; i < w->lanes && known; i++) {
		out[i] = wrap_to_bits((uint64_t)out[i] * (uint64_t)factor + (uint64_t)other[i],
			bits);
	}
	return known;
}

/* --- Taking apart --- */

static bool wrap_take(struct wraps *w, struct taken *out, LLVMValueRef vector, const int64_t *want,
	unsigned steps);

static bool wrap_take_known(struct wraps *w, struct taken *out, LLVMValueRef vector,
	const int64_t *want)
{
	int64_t have[RT_MAX_WIDTH];
	LLVMValueRef scalar = ir_splat_scalar(vector);
	if (!wrap_find_distances(w, have, vector, 1)
	    || memcmp(have, want, w->lanes * sizeof(*have)) != 0) {
		return false;
	}
	for (unsigned r = 0; r < w->rows; r++) {
		out->bases[r] = scalar ? scalar
			: LLVMConstExtractElement(vector, LLVMConstInt(w->i32, w->first[r], false));
	}
	return true;
}

/* The distances of one of the two must be known; the other one has the rest. */
static bool wrap_take_sum(struct wraps *w, struct taken *out, LLVMValueRef sum, const int64_t *want,
	unsigned steps)
{
	int64_t have[RT_MAX_WIDTH], rest[RT_MAX_WIDTH];
	struct taken other;
	unsigned known = 1;
	if (!wrap_find_distances(w, have, LLVMGetOperand(sum, 1), steps)) {
		known = 0;
		if (!wrap_find_distances(w, have, LLVMGetOperand(sum, 0), steps)) {
			return false;
		}
	}
	for (unsigned i = 0; i < w->lanes; i++) {
		rest[i] = wrap_to_bits((uint64_t)want[i] - (uint64_t)have[i], wrap_bits_of(w, sum));
	}
	if (!wrap_take(w, &other, LLVMGetOperand(sum, known), have, steps)
	    || !wrap_take(w, out, LLVMGetOperand(sum, 1 - known), rest, steps)) {
		return false;
	}
	for (unsigned r = 0; r < w->rows; r++) {
		out->bases[r] = LLVMBuildAdd(w->builder, out->bases[r], other.bases[r], "");
	}
	out->valid = wrap_both(w, out->valid, other.valid);
	return true;
}

static bool wrap_take_multiple(struct wraps *w, struct taken *out, LLVMValueRef product,
	const int64_t *want, unsigned steps)
{
	int64_t rest[RT_MAX_WIDTH], factor = wrap_factor(w, product);
	for (unsigned i = 0; i < w->lanes; i++) {
		if (factor == 0 || want[i] % factor != 0) {
			return false;
		}
		rest[i] = want[i] / factor;
	}
	if (!wrap_take(w, out, LLVMGetOperand(product, 0), rest, steps)) {
		return false;
	}
	for (unsigned r = 0; r < w->rows; r++) {
		out->bases[r] = LLVMBuildMul(w->builder, out->bases[r],
			wrap_number(LLVMTypeOf(out->bases[r]), (uint64_t)factor), "");
	}
	return true;
}

/* A product with any factor: the lanes of a row have the same value if both factors are the same in
 * all of them. */
static bool wrap_take_product(struct wraps *w, struct taken *out, LLVMValueRef product,
	const int64_t *want, unsigned steps)
{
	struct taken other;
	if (!wrap_are_all(w, want, 0)
	    || !wrap_take(w, &other, LLVMGetOperand(product, 1), want, steps)
	    || !wrap_take(w, out, LLVMGetOperand(product, 0), want, steps)) {
		return false;
	}
	for (unsigned r = 0; r < w->rows; r++) {
		out->bases[r] = LLVMBuildMul(w->builder, out->bases[r], other.bases[r], "");
	}
	out->valid = wrap_both(w, out->valid, other.valid);
	return true;
}

/* From 32 bits to 64: neither the least nor the greatest of the 32-bit sums may wrap. */
static bool wrap_take_extended(struct wraps *w, struct taken *out, LLVMValueRef extension,
	const int64_t *want, unsigned steps)
{
	bool sign = ir_is(extension, LLVMSExt);
	LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(extension));
	int64_t least = 0, most = 0;
	for (unsigned i = 0; i < w->lanes; i++) {
		least = want[i] < least ? want[i] : least;
		most = want[i] > most ? want[i] : most;
	}
	if (least < INT32_MIN || most > INT32_MAX
	    || !wrap_take(w, out, LLVMGetOperand(extension, 0), want, steps)) {
		return false;
	}
	int64_t low = (sign ? INT32_MIN : 0) - least, high = (sign ? INT32_MAX : UINT32_MAX) - most;
	for (unsigned r = 0; r < w->rows; r++) {
		LLVMValueRef base = out->bases[r];
		if (least < 0) {
			out->valid = wrap_both(w, out->valid, LLVMBuildICmp(w->builder,
				sign ? LLVMIntSGE : LLVMIntUGE, base,
				wrap_number(w->i32, (uint64_t)low), ""));
		}
		if (most > 0) {
			out->valid = wrap_both(w, out->valid, LLVMBuildICmp(w->builder,
				sign ? LLVMIntSLE : LLVMIntULE, base,
				wrap_number(w->i32, (uint64_t)high), ""));
		}
		out->bases[r] = sign ? LLVMBuildSExt(w->builder, base, type, "")
			: LLVMBuildZExt(w->builder, base, type, "");
	}
	return true;
}

/* From 64 bits to 32: what holds of the whole sum holds of its lower half. */
static bool wrap_take_truncated(struct wraps *w, struct taken *out, LLVMValueRef truncation,
	const int64_t *want, unsigned steps)
{
	if (!wrap_take(w, out, LLVMGetOperand(truncation, 0), want, steps)) {
		return false;
	}
	for (unsigned r = 0; r < w->rows; r++) {
		out->bases[r] = LLVMBuildTrunc(w->builder, out->bases[r], w->i32, "");
	}
	return true;
}

/* For any other value, test the vector, as emit_vector.c does. */
static bool wrap_take_asked(struct wraps *w, struct taken *out, LLVMValueRef vector,
	const int64_t *want)
{
	LLVMValueRef firsts[RT_MAX_WIDTH], distances[RT_MAX_WIDTH];
	if (w->has_asked || wrap_bits_of(w, vector) != 32) {
		return false;
	}
	w->has_asked = true;
	for (unsigned i = 0; i < w->lanes; i++) {
		firsts[i] = LLVMConstInt(w->i32, w->first[w->row_of[i]], false);
		distances[i] = wrap_number(w->i32, (uint64_t)want[i]);
	}
	LLVMValueRef all = LLVMBuildShuffleVector(w->builder, vector,
		LLVMGetUndef(LLVMTypeOf(vector)), LLVMConstVector(firsts, w->lanes), "");
	all = LLVMBuildAdd(w->builder, all, LLVMConstVector(distances, w->lanes), "");
	all = LLVMBuildICmp(w->builder, LLVMIntNE, vector, all, "");
	out->valid = LLVMBuildICmp(w->builder, LLVMIntEQ,
		LLVMBuildBitCast(w->builder, all, w->set, ""), LLVMConstNull(w->set), "");
	for (unsigned r = 0; r < w->rows; r++) {
		out->bases[r] = LLVMBuildExtractElement(w->builder, vector,
			LLVMConstInt(w->i32, w->first[r], false), "");
	}
	return true;
}

static bool wrap_take_parts(struct wraps *w, struct taken *out, LLVMValueRef vector,
	const int64_t *want, unsigned steps)
{
	switch (LLVMGetInstructionOpcode(vector)) {
	case LLVMAdd:
		return wrap_take_sum(w, out, vector, want, steps);
	case LLVMMul:
		return wrap_factor(w, vector) > 0 ? wrap_take_multiple(w, out, vector, want, steps)
			: wrap_take_product(w, out, vector, want, steps);
	case LLVMShl:
		return wrap_take_multiple(w, out, vector, want, steps);
	case LLVMSExt:
	case LLVMZExt:
		return wrap_take_extended(w, out, vector, want, steps);
	case LLVMTrunc:
		return wrap_take_truncated(w, out, vector, want, steps);
	default:
		return false;
	}
}

/* What was made for a part that would not do is never used: LLVM removes it. */
static bool wrap_take(struct wraps *w, struct taken *out, LLVMValueRef vector, const int64_t *want,
	unsigned steps)
{
	bool had_asked = w->has_asked;
	*out = (struct taken){.valid = NULL};
	if (wrap_bits_of(w, vector) == 0) {
		return false;
	}
	if (LLVMIsConstant(vector) || ir_splat_scalar(vector)) {
		return wrap_take_known(w, out, vector, want);
	}
	if (steps > 0 && LLVMIsAInstruction(vector)
	    && wrap_take_parts(w, out, vector, want, steps - 1)) {
		return true;
	}
	w->has_asked = had_asked;
	*out = (struct taken){.valid = NULL};
	return wrap_take_asked(w, out, vector, want);
}

/* --- The question --- */

/* Read the question of emit_vector.c; false if the pass cannot answer it. */
static bool wrap_read_question(struct wraps *w, int64_t *want, LLVMValueRef order,
	LLVMValueRef offsets)
{
	memset(want, 0, RT_MAX_WIDTH * sizeof(*want));
	bool is_good = !offsets || wrap_read_numbers(w, want, offsets);
	w->rows = 0;
	w->has_asked = false;
	for (unsigned i = 0; i < w->lanes && is_good; i++) {
		int first = LLVMGetMaskValue(order, i);
		unsigned r = 0;
		while (r < w->rows && (int)w->first[r] != first) {
			r++;
		}
		is_good = r < MOST_ROWS && first >= 0 && first < (int)w->lanes
			&& LLVMGetMaskValue(order, (unsigned)first) == first;
		if (is_good && r == w->rows) {
			w->first[w->rows++] = (unsigned)first;
		}
		w->row_of[i] = r;
	}
	return is_good;
}

static LLVMValueRef wrap_only_user(LLVMValueRef value, LLVMOpcode op)
{
	LLVMUseRef use = value ? LLVMGetFirstUse(value) : NULL;
	LLVMValueRef user = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
	return ir_is(user, op) ? user : NULL;
}

/* The answer that branches ask for: all lanes as bits, which must be 0. */
static LLVMValueRef wrap_find_answer(LLVMValueRef compare)
{
	LLVMValueRef is_none = wrap_only_user(wrap_only_user(compare, LLVMBitCast), LLVMICmp);
	bool asks = is_none && LLVMGetICmpPredicate(is_none) == LLVMIntEQ
		&& LLVMIsNull(LLVMGetOperand(is_none, 1));
	return asks ? is_none : NULL;
}

/* Replace the elements that are taken from the vector where the answer was yes. */
static void wrap_replace_elements(struct wraps *w, const struct taken *taken, const int64_t *want,
	LLVMValueRef vector, LLVMBasicBlockRef where)
{
	LLVMValueRef next;
	for (LLVMValueRef inst = LLVMGetFirstInstruction(where); inst; inst = next) {
		next = LLVMGetNextInstruction(inst);
		bool takes = ir_is(inst, LLVMExtractElement) && LLVMGetOperand(inst, 0) == vector
			&& LLVMIsAConstantInt(LLVMGetOperand(inst, 1));
		uint64_t lane = takes ? LLVMConstIntGetZExtValue(LLVMGetOperand(inst, 1))
			: w->lanes;
		if (lane < w->lanes) {
			LLVMPositionBuilderBefore(w->builder, inst);
			LLVMValueRef distance = wrap_number(LLVMTypeOf(inst), (uint64_t)want[lane]);
			LLVMReplaceAllUsesWith(inst, LLVMBuildAdd(w->builder,
				taken->bases[w->row_of[lane]], distance, ""));
			LLVMInstructionEraseFromParent(inst);
		}
	}
}

/* The branch that an answer is for: a team asks for all its warps at once. */
static LLVMValueRef wrap_find_branch(LLVMValueRef user)
{
	while (ir_is(user, LLVMAnd) && LLVMGetFirstUse(user)) {
		LLVMUseRef use = LLVMGetFirstUse(user);
		user = LLVMGetNextUse(use) ? NULL : LLVMGetUser(use);
	}
	return ir_is(user, LLVMBr) ? user : NULL;
}

static void wrap_answer(struct wraps *w, LLVMValueRef compare)
{
	struct taken taken;
	int64_t want[RT_MAX_WIDTH];
	LLVMValueRef order, offsets, vector = ir_neighbour_test(&order, &offsets, compare);
	LLVMValueRef is_none = vector && wrap_bits_of(w, vector) == 64 ? wrap_find_answer(compare)
		: NULL;
	if (!is_none || !wrap_read_question(w, want, order, offsets)) {
		return;
	}
	LLVMPositionBuilderBefore(w->builder, compare);
	if (!wrap_take(w, &taken, vector, want, MOST_STEPS)) {
		return;
	}
	for (LLVMUseRef use = LLVMGetFirstUse(is_none); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef branch = wrap_find_branch(LLVMGetUser(use));
		if (branch) {
			wrap_replace_elements(w, &taken, want, vector, LLVMGetSuccessor(branch, 0));
		}
	}
	LLVMReplaceAllUsesWith(is_none, taken.valid ? taken.valid : LLVMConstInt(w->i1, 1, false));
}

/* --- Do all lanes branch alike? --- */

/* A comparison of lanes that are a base and constants with a number that all have. */
struct order {
	LLVMIntPredicate is;
	LLVMValueRef base, number;
	int64_t least, most;
	bool is_signed;
};

static bool wrap_read_order(struct wraps *w, struct order *o, LLVMValueRef compare)
{
	int64_t offsets[RT_MAX_WIDTH] = {0};
	LLVMValueRef sum = ir_is(compare, LLVMICmp) ? LLVMGetOperand(compare, 0) : NULL;
	if (!ir_is(sum, LLVMAdd) || wrap_bits_of(w, sum) == 0
	    || !wrap_read_numbers(w, offsets, LLVMGetOperand(sum, 1))) {
		return false;
	}
	*o = (struct order){.is = LLVMGetICmpPredicate(compare),
		.base = ir_splat_scalar(LLVMGetOperand(sum, 0)),
		.number = wrap_scalar_of(w, LLVMGetOperand(compare, 1)),
		.least = offsets[0], .most = offsets[0]};
	for (unsigned i = 1; i < w->lanes; i++) {
		o->least = offsets[i] < o->least ? offsets[i] : o->least;
		o->most = offsets[i] > o->most ? offsets[i] : o->most;
	}
	o->is_signed = o->is >= LLVMIntSGT;
	return o->base && o->number && o->is >= LLVMIntUGT && o->least >= 0 && o->most <= INT32_MAX;
}

/* Whether it holds of the lane that has the greatest number, or of the one that has the least. */
static LLVMValueRef wrap_compare_one(struct wraps *w, const struct order *o, bool greatest)
{
	LLVMValueRef offset = wrap_number(LLVMTypeOf(o->base),
		(uint64_t)(greatest ? o->most : o->least));
	return LLVMBuildICmp(w->builder, o->is, LLVMBuildAdd(w->builder, o->base, offset, ""),
		o->number, "");
}

static LLVMValueRef wrap_is_in_order(struct wraps *w, const struct order *o)
{
	LLVMTypeRef type = LLVMTypeOf(o->base);
	uint64_t limit = UINT64_MAX >> (64 - LLVMGetIntTypeWidth(type)) >> o->is_signed;
	return LLVMBuildICmp(w->builder, o->is_signed ? LLVMIntSLE : LLVMIntULE, o->base,
		LLVMConstInt(type, limit - (uint64_t)o->most, false), "");
}

/* Whether nothing but branches asks, which take the way of lanes that part if neither all lanes nor
 * none are said to branch. */
static bool wrap_is_for_branches(LLVMValueRef answer, unsigned steps)
{
	LLVMUseRef use = LLVMGetFirstUse(answer);
	bool only = use;
	for (; use && only; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);
		only = ir_is(user, LLVMBr) || (steps > 0 && ir_is(user, LLVMOr)
			&& wrap_is_for_branches(user, steps - 1));
	}
	return only;
}

/* The lanes of a guard are compared with all or with none.  If base + offset does not wrap the
 * lanes with the least and the greatest offset decide. */
static void wrap_answer_branch(struct wraps *w, LLVMValueRef compare)
{
	struct order o;
	LLVMValueRef bits = LLVMGetOperand(compare, 0), want = LLVMGetOperand(compare, 1);
	LLVMValueRef guard = ir_is(bits, LLVMBitCast) ? LLVMGetOperand(bits, 0) : NULL;
	bool all = LLVMIsConstant(want) && want == LLVMConstAllOnes(w->set);
	if (LLVMGetICmpPredicate(compare) != LLVMIntEQ || LLVMTypeOf(bits) != w->set
	    || !(all || LLVMIsNull(want)) || !wrap_read_order(w, &o, guard)
	    || !wrap_is_for_branches(compare, 1)) {
		return;
	}
	LLVMPositionBuilderBefore(w->builder, compare);
	bool is_less = o.is == LLVMIntULT || o.is == LLVMIntULE || o.is == LLVMIntSLT
		|| o.is == LLVMIntSLE;
	LLVMValueRef one = wrap_compare_one(w, &o, is_less == all);
	one = all ? one : LLVMBuildNot(w->builder, one, "");
	LLVMReplaceAllUsesWith(compare, LLVMBuildAnd(w->builder, one, wrap_is_in_order(w, &o), ""));
}

void pass_no_wrap(LLVMValueRef fn, unsigned lanes)
{
	LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(fn));
	struct wraps w = {.builder = LLVMCreateBuilderInContext(context),
		.i1 = LLVMInt1TypeInContext(context), .i32 = LLVMInt32TypeInContext(context),
		.set = LLVMIntTypeInContext(context, lanes), .lanes = lanes};
	LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		LLVMValueRef inst = LLVMGetFirstInstruction(block);
		for (; inst; inst = LLVMGetNextInstruction(inst)) {
			if (ir_is(inst, LLVMICmp)) {
				wrap_answer(&w, inst);
				wrap_answer_branch(&w, inst);
			}
		}
	}
	LLVMDisposeBuilder(w.builder);
}

/* SPDX-License-Identifier: MIT */
/*
 * A pass that splits induction variables of vectors (W = 32).
 *
 * A loop over an array often has a pointer to which it adds the same number in all lanes.  As a
 * vector of addresses the pointer takes four registers and four additions.  Worse, each access
 * tests again whether the lanes are neighbours and where their rows begin, although the addition
 * changes neither.  So once registers are values, such a vector is split:
 *
 *	p = phi [start, ...], [p + splat u, loop]      p = start + splat d
 *	                                               d = phi [0, ...], [d + u, loop]
 *
 * Comparisons of p with a permutation of itself become those of `start`, and element i of p becomes
 * that of `start` plus d.  LLVM then moves the comparisons out of the loop.  This holds for all
 * integers modulo 2^n, whatever the vectors are for, whatever the control flow, and whichever lanes
 * run.
 *
 * The root of a vector is the vector without what has been added to all lanes.  If all values that
 * enter a phi have one root, it is the root of the phi.  If not, the phi is a root itself, and it
 * is split if a value that enters is the phi plus something.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/codegen/passes/ir_passes.h"
#include "cpu/codegen/passes/ir_values.h"

#include <stdlib.h>

/* How far to look into sums; how often to go over all phis until nothing changes. */
enum { MOST_STEPS = 10, MOST_ROUNDS = 40 };

struct induction_phi {
	LLVMValueRef phi;
	LLVMValueRef root;    /* NULL: not known yet */
	bool is_wanted;
	bool advances;        /* from the root */
	LLVMValueRef part;    /* the root, or what takes its place */
	LLVMValueRef offset;  /* a scalar, which is a phi, too; */
	bool owns_offset;     /* else it is another one's */
};

struct induction {
	LLVMValueRef fn;
	LLVMBuilderRef builder;
	LLVMTypeRef i32;
	struct induction_phi *phis;
	struct induction_phi **sorted; /* the same by address, so that they can be found */
	size_t count;
	/* the vector taken apart last */
	LLVMValueRef peeled, part, sum;
};

/* --- Vectors with the same number in all lanes --- */

static bool induction_is_vector_type(LLVMTypeRef type)
{
	return LLVMGetTypeKind(type) == LLVMVectorTypeKind
		&& LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMIntegerTypeKind
		&& LLVMGetIntTypeWidth(LLVMGetElementType(type)) >= 32;
}

static LLVMValueRef induction_constant_splat(struct induction *d, LLVMValueRef vector)
{
	LLVMValueRef first = LLVMConstExtractElement(vector, LLVMConstInt(d->i32, 0, false));
	unsigned count = LLVMGetVectorSize(LLVMTypeOf(vector));
	for (unsigned i = 1; i < count && LLVMIsAConstantInt(first); i++) {
		if (LLVMConstExtractElement(vector, LLVMConstInt(d->i32, i, false)) != first) {
			return NULL;
		}
	}
	return LLVMIsAConstantInt(first) ? first : NULL;
}

/* The number as a scalar; NULL if the vector is not a splat. */
static LLVMValueRef induction_splat_scalar(struct induction *d, LLVMValueRef vector)
{
	if (LLVMIsConstant(vector)) {
		return induction_constant_splat(d, vector);
	}
	return ir_splat_scalar(vector);
}

static LLVMValueRef induction_make_splat(struct induction *d, LLVMValueRef scalar, LLVMTypeRef type)
{
	LLVMValueRef none = LLVMGetUndef(type);
	LLVMValueRef first = LLVMBuildInsertElement(d->builder, none, scalar,
		LLVMConstInt(d->i32, 0, false), "");
	LLVMTypeRef order = LLVMVectorType(d->i32, LLVMGetVectorSize(type));
	return LLVMBuildShuffleVector(d->builder, first, none, LLVMConstNull(order), "");
}

/* For a sum of a vector and a splat: the vector, and the scalar of the splat; NULL for anything
 * else. */
static LLVMValueRef induction_without_splat(struct induction *d, LLVMValueRef value,
	LLVMValueRef *scalar)
{
	if (!ir_is(value, LLVMAdd)) {
		return NULL;
	}
	for (unsigned i = 0; i < 2; i++) {
		*scalar = induction_splat_scalar(d, LLVMGetOperand(value, 1 - i));
		if (*scalar) {
			return LLVMGetOperand(value, i);
		}
	}
	return NULL;
}

/* --- Roots --- */

static int induction_compare_phis(const void *a, const void *b)
{
	uintptr_t one = (uintptr_t)(*(struct induction_phi *const *)a)->phi;
	uintptr_t other = (uintptr_t)(*(struct induction_phi *const *)b)->phi;
	return (one > other) - (one < other);
}

static struct induction_phi *induction_find_phi(const struct induction *d, LLVMValueRef value)
{
	struct induction_phi phi = {.phi = value}, *key = &phi;
	struct induction_phi **found = ir_is(value, LLVMPHI)
		? bsearch(&key, d->sorted, d->count, sizeof(key), induction_compare_phis) : NULL;
	return found ? *found : NULL;
}

/* A value without the numbers that are added to all lanes; *moved: whether there was one. */
static LLVMValueRef induction_strip(struct induction *d, LLVMValueRef value, bool *moved)
{
	for (unsigned i = 0; i < MOST_STEPS; i++) {
		LLVMValueRef scalar, next = induction_without_splat(d, value, &scalar);
		if (!next) {
			break;
		}
		value = next;
		*moved = true;
	}
	return value;
}

static LLVMValueRef induction_root_of(struct induction *d, LLVMValueRef value, bool *moved)
{
	value = induction_strip(d, value, moved);
	const struct induction_phi *inner = induction_find_phi(d, value);
	return inner ? inner->root : value;
}

/* If all incoming values have one root, it is the root of the phi; else the phi is its own root. */
static bool induction_find_roots(struct induction *d)
{
	bool changed = true;
	for (unsigned round = 0; changed && round < MOST_ROUNDS; round++) {
		changed = false;
		for (size_t i = 0; i < d->count; i++) {
			struct induction_phi *p = &d->phis[i];
			LLVMValueRef root = p->root == p->phi ? p->phi : NULL;
			for (unsigned k = 0; k < LLVMCountIncoming(p->phi) && root != p->phi; k++) {
				bool moved = false;
				LLVMValueRef one = induction_root_of(d,
					LLVMGetIncomingValue(p->phi, k), &moved);
				root = root && one && one != root ? p->phi : one ? one : root;
			}
			changed |= root != p->root;
			p->root = root;
		}
	}
	return !changed;
}

/* Whether an incoming value is the root plus something, maybe by way of another phi. */
static bool induction_is_moved(struct induction *d, const struct induction_phi *p)
{
	bool any = false;
	for (unsigned i = 0; i < LLVMCountIncoming(p->phi) && !any; i++) {
		bool moved = false;
		LLVMValueRef value = induction_strip(d, LLVMGetIncomingValue(p->phi, i), &moved);
		const struct induction_phi *inner = induction_find_phi(d, value);
		any = (inner ? inner->root : value) == p->root
			&& (moved || (inner && inner != p && inner->advances));
	}
	return any;
}

static void induction_find_advancing(struct induction *d)
{
	bool changed = true;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < d->count; i++) {
			struct induction_phi *p = &d->phis[i];
			if (p->is_wanted && !p->advances && induction_is_moved(d, p)) {
				p->advances = true;
				changed = true;
			}
		}
	}
}

/* --- Which are worth it --- */

static bool induction_is_constant_index(LLVMValueRef extract)
{
	return LLVMIsAConstantInt(LLVMGetOperand(extract, 1));
}

/* Whether an instruction takes an element of a vector, or of a sum with it. */
static bool induction_is_asked(LLVMValueRef value, unsigned steps)
{
	bool asked = false;
	LLVMUseRef use = LLVMGetFirstUse(value);
	for (; use && !asked; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);
		asked = ir_is(user, LLVMExtractElement) ? induction_is_constant_index(user)
			: steps > 0 && ir_is(user, LLVMAdd) && induction_is_asked(user, steps - 1);
	}
	return asked;
}

/* Split all phis with one root, or none of them. */
static void induction_find_wanted(struct induction *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct induction_phi *p = &d->phis[i];
		if (!p->root || p->is_wanted || !induction_is_asked(p->phi, 2)) {
			continue;
		}
		for (size_t k = 0; k < d->count; k++) {
			d->phis[k].is_wanted |= d->phis[k].root == p->root;
		}
	}
}

/* --- Phis of parts --- */

/* Whether two phis, from the same block, are as far from their roots. */
static bool induction_alike(struct induction *d, const struct induction_phi *p,
	const struct induction_phi *q, unsigned incoming)
{
	LLVMValueRef a = LLVMGetIncomingValue(p->phi, incoming), next_a, one;
	LLVMValueRef b = LLVMGetIncomingValue(q->phi, incoming), next_b, other;
	bool moved = false;
	bool from_root = induction_root_of(d, a, &moved) == p->root;
	if (from_root != (induction_root_of(d, b, &moved) == q->root)) {
		return false;
	}
	for (unsigned i = 0; from_root && i < MOST_STEPS; i++) {
		next_a = induction_without_splat(d, a, &one);
		next_b = induction_without_splat(d, b, &other);
		if (!next_a || !next_b || one != other) {
			break;
		}
		a = next_a;
		b = next_b;
	}
	const struct induction_phi *inner_a = induction_find_phi(d, a);
	const struct induction_phi *inner_b = induction_find_phi(d, b);
	return !from_root || (inner_a == p && inner_b == q)
		|| (!next_a && !next_b && !(inner_a && inner_a->advances)
			&& !(inner_b && inner_b->advances));
}

/* The offset of another phi that takes the same steps, or NULL. */
static LLVMValueRef induction_find_offset(struct induction *d, const struct induction_phi *p)
{
	unsigned count = LLVMCountIncoming(p->phi);
	for (const struct induction_phi *q = d->phis; q < p; q++) {
		bool same = q->owns_offset && LLVMTypeOf(q->phi) == LLVMTypeOf(p->phi)
			&& LLVMGetInstructionParent(q->phi) == LLVMGetInstructionParent(p->phi);
		for (unsigned i = 0; i < count && same; i++) {
			same = LLVMGetIncomingBlock(p->phi, i) == LLVMGetIncomingBlock(q->phi, i)
				&& induction_alike(d, p, q, i);
		}
		if (same) {
			return q->offset;
		}
	}
	return NULL;
}

static void induction_make_phis(struct induction *d, struct induction_phi *p)
{
	LLVMTypeRef type = LLVMTypeOf(p->phi);
	LLVMPositionBuilderBefore(d->builder, p->phi);
	p->offset = induction_find_offset(d, p);
	p->owns_offset = !p->offset;
	if (p->owns_offset) {
		p->offset = LLVMBuildPhi(d->builder, LLVMGetElementType(type), "");
	}
	if (p->root == p->phi) {
		p->part = LLVMBuildPhi(d->builder, type, "");
	}
}

/* When all phis are made: a root that advances itself is left by its part. */
static void induction_find_part(struct induction *d, struct induction_phi *p)
{
	const struct induction_phi *root = induction_find_phi(d, p->root);
	p->part = root && root->advances ? root->part : p->root;
}

/* How far a value, which comes from a block, is from what takes the root's place. */
static LLVMValueRef induction_offset(struct induction *d, LLVMValueRef value,
	LLVMBasicBlockRef from)
{
	LLVMValueRef sum = LLVMConstNull(LLVMGetElementType(LLVMTypeOf(value)));
	LLVMPositionBuilderBefore(d->builder, LLVMGetBasicBlockTerminator(from));
	for (unsigned i = 0; i < MOST_STEPS; i++) {
		LLVMValueRef scalar, next = induction_without_splat(d, value, &scalar);
		if (!next) {
			break;
		}
		sum = LLVMBuildAdd(d->builder, sum, scalar, "");
		value = next;
	}
	const struct induction_phi *inner = induction_find_phi(d, value);
	return inner && inner->advances ? LLVMBuildAdd(d->builder, sum, inner->offset, "") : sum;
}

/* The same value for each time that a block is named. */
static LLVMValueRef induction_known_offset(const struct induction_phi *p, LLVMBasicBlockRef from)
{
	for (unsigned i = 0; i < LLVMCountIncoming(p->offset); i++) {
		if (LLVMGetIncomingBlock(p->offset, i) == from) {
			return LLVMGetIncomingValue(p->offset, i);
		}
	}
	return NULL;
}

static void induction_fill_phis(struct induction *d, struct induction_phi *p)
{
	LLVMValueRef none = LLVMConstNull(LLVMTypeOf(p->offset));
	for (unsigned i = 0; i < LLVMCountIncoming(p->phi); i++) {
		LLVMBasicBlockRef from = LLVMGetIncomingBlock(p->phi, i);
		LLVMValueRef value = LLVMGetIncomingValue(p->phi, i);
		bool moved = false, same = induction_root_of(d, value, &moved) == p->root;
		if (p->owns_offset) {
			LLVMValueRef offset = induction_known_offset(p, from);
			offset = offset ? offset : same ? induction_offset(d, value, from) : none;
			LLVMAddIncoming(p->offset, &offset, &from, 1);
		}
		if (p->root == p->phi) {
			LLVMAddIncoming(p->part, same ? &p->part : &value, &from, 1);
		}
	}
}

static void induction_go_behind_phis(struct induction *d, LLVMValueRef phi)
{
	while (LLVMIsAPHINode(phi)) {
		phi = LLVMGetNextInstruction(phi);
	}
	LLVMPositionBuilderBefore(d->builder, phi);
}

static void induction_replace_phi(struct induction *d, struct induction_phi *p)
{
	induction_go_behind_phis(d, p->phi);
	LLVMValueRef all = induction_make_splat(d, p->offset, LLVMTypeOf(p->phi));
	LLVMValueRef sum = LLVMBuildAdd(d->builder, p->part, all, "");
	LLVMReplaceAllUsesWith(p->phi, sum);
	LLVMInstructionEraseFromParent(p->phi);
	p->phi = sum;
}

/* --- All phis --- */

/* Only count the phis if there is no room for them yet. */
static size_t induction_collect_phis(struct induction *d)
{
	size_t count = 0;
	LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(d->fn);
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		LLVMValueRef phi = LLVMGetFirstInstruction(block);
		for (; LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
			if (induction_is_vector_type(LLVMTypeOf(phi)) && d->phis) {
				d->phis[count] = (struct induction_phi){.phi = phi};
			}
			count += induction_is_vector_type(LLVMTypeOf(phi));
		}
	}
	return count;
}

typedef void phi_fn(struct induction *d, struct induction_phi *p);

static void induction_for_advancing(struct induction *d, phi_fn *fn)
{
	for (size_t i = 0; i < d->count; i++) {
		if (d->phis[i].advances) {
			fn(d, &d->phis[i]);
		}
	}
}

/* False: no memory. */
static bool induction_split_phis(struct induction *d)
{
	size_t count = induction_collect_phis(d);
	if (count == 0) {
		return true;
	}
	d->phis = mem_zalloc(count, sizeof(*d->phis));
	d->sorted = mem_zalloc(count, sizeof(*d->sorted));
	if (!d->phis || !d->sorted) {
		return false;
	}
	d->count = induction_collect_phis(d);
	for (size_t i = 0; i < count; i++) {
		d->sorted[i] = &d->phis[i];
	}
	qsort(d->sorted, count, sizeof(*d->sorted), induction_compare_phis);
	if (induction_find_roots(d)) {
		induction_find_wanted(d);
		induction_find_advancing(d);
		induction_for_advancing(d, induction_make_phis);
		induction_for_advancing(d, induction_find_part);
		induction_for_advancing(d, induction_fill_phis);
		induction_for_advancing(d, induction_replace_phi);
	}
	return true;
}

/* --- Questions --- */

static LLVMValueRef induction_add_scalars(struct induction *d, LLVMValueRef a, LLVMValueRef b)
{
	return a && b ? LLVMBuildAdd(d->builder, a, b, "") : a ? a : b;
}

/* The part of a vector, and the scalar that was added to it, or NULL. */
static LLVMValueRef induction_part_of(struct induction *d, LLVMValueRef value, unsigned steps,
	LLVMValueRef *sum)
{
	LLVMValueRef scalars[2] = {NULL, NULL}, parts[2] = {NULL, NULL};
	*sum = NULL;
	if (steps == 0 || !ir_is(value, LLVMAdd)) {
		return value;
	}
	for (unsigned i = 0; i < 2; i++) {
		LLVMValueRef operand = LLVMGetOperand(value, i);
		scalars[i] = induction_splat_scalar(d, operand);
		parts[i] = scalars[i] ? NULL
			: induction_part_of(d, operand, steps - 1, &scalars[i]);
	}
	if ((!scalars[0] && !scalars[1]) || (!parts[0] && !parts[1])) {
		return value;
	}
	LLVMPositionBuilderBefore(d->builder, value);
	*sum = induction_add_scalars(d, scalars[0], scalars[1]);
	return parts[0] && parts[1] ? LLVMBuildAdd(d->builder, parts[0], parts[1], "")
		: parts[0] ? parts[0] : parts[1];
}

/* Keep the last answer, because the same vector comes several times. */
static LLVMValueRef induction_peel(struct induction *d, LLVMValueRef value, LLVMValueRef *sum)
{
	if (d->peeled != value) {
		d->part = induction_part_of(d, value, MOST_STEPS, &d->sum);
		d->peeled = value;
	}
	*sum = d->sum;
	return d->part;
}

static void induction_ask_for_element(struct induction *d, LLVMValueRef extract)
{
	LLVMValueRef sum, part = induction_peel(d, LLVMGetOperand(extract, 0), &sum);
	if (!sum || !induction_is_constant_index(extract)) {
		return;
	}
	LLVMPositionBuilderBefore(d->builder, extract);
	LLVMValueRef element = LLVMBuildExtractElement(d->builder, part, LLVMGetOperand(extract, 1),
		"");
	LLVMReplaceAllUsesWith(extract, LLVMBuildAdd(d->builder, element, sum, ""));
	LLVMInstructionEraseFromParent(extract);
}

/* The scalar that induction_ask_for_element adds to an element that is put into a vector, or
 * NULL. */
static LLVMValueRef induction_added_to(LLVMValueRef insert)
{
	LLVMValueRef element = LLVMGetOperand(insert, 1);
	return ir_is(element, LLVMAdd) ? LLVMGetOperand(element, 1) : NULL;
}

static bool induction_is_same_sum(LLVMValueRef a, LLVMValueRef b)
{
	return a == b || (ir_is(a, LLVMAdd) && ir_is(b, LLVMAdd)
		&& LLVMGetOperand(a, 0) == LLVMGetOperand(b, 0)
		&& LLVMGetOperand(a, 1) == LLVMGetOperand(b, 1));
}

static LLVMValueRef induction_without_sums(struct induction *d, LLVMValueRef vector)
{
	if (!ir_is(vector, LLVMInsertElement)) {
		return vector;
	}
	return LLVMBuildInsertElement(d->builder,
		induction_without_sums(d, LLVMGetOperand(vector, 0)),
		LLVMGetOperand(LLVMGetOperand(vector, 1), 0), LLVMGetOperand(vector, 2), "");
}

/* Where rows begin (emit_vector.c), as a vector.  If the same is added to all, add it to that;
 * `last` is the last one put into it. */
static void induction_ask_for_rows(struct induction *d, LLVMValueRef last)
{
	LLVMUseRef use = LLVMGetFirstUse(last);
	LLVMValueRef insert = last, sum = induction_added_to(last);
	bool alike = sum && use && !ir_is(LLVMGetUser(use), LLVMInsertElement)
		&& ir_is(LLVMGetOperand(last, 0), LLVMInsertElement)
		&& induction_is_vector_type(LLVMTypeOf(last));
	for (; alike && ir_is(insert, LLVMInsertElement); insert = LLVMGetOperand(insert, 0)) {
		LLVMValueRef other = induction_added_to(insert);
		alike = other && induction_is_same_sum(sum, other);
	}
	if (alike && LLVMIsUndef(insert)) {
		LLVMPositionBuilderBefore(d->builder, last);
		LLVMValueRef all = induction_make_splat(d, sum, LLVMTypeOf(last));
		LLVMValueRef rows = LLVMBuildAdd(d->builder, induction_without_sums(d, last), all,
			"");
		LLVMReplaceAllUsesWith(last, rows);
		LLVMInstructionEraseFromParent(last);
	}
}

/* The comparison of emit_vector.c has the same result for the part of the vector. */
static void induction_ask_for_order(struct induction *d, LLVMValueRef compare)
{
	LLVMValueRef order, offsets, sum = NULL,
		value = ir_neighbour_test(&order, &offsets, compare);
	LLVMValueRef part = value && induction_is_vector_type(LLVMTypeOf(value))
		? induction_peel(d, value, &sum) : NULL;
	if (sum) {
		LLVMPositionBuilderBefore(d->builder, compare);
		LLVMValueRef want = LLVMInstructionClone(order);
		LLVMSetOperand(want, 0, part);
		LLVMInsertIntoBuilder(d->builder, want);
		want = offsets ? LLVMBuildAdd(d->builder, want, offsets, "") : want;
		LLVMReplaceAllUsesWith(compare,
			LLVMBuildICmp(d->builder, LLVMIntNE, part, want, ""));
		LLVMInstructionEraseFromParent(compare);
	}
}

static void induction_ask_parts(struct induction *d)
{
	LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(d->fn);
	for (; block; block = LLVMGetNextBasicBlock(block)) {
		LLVMValueRef next;
		for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst; inst = next) {
			next = LLVMGetNextInstruction(inst);
			if (ir_is(inst, LLVMExtractElement)) {
				induction_ask_for_element(d, inst);
			} else if (ir_is(inst, LLVMICmp)) {
				induction_ask_for_order(d, inst);
			} else if (ir_is(inst, LLVMInsertElement)) {
				induction_ask_for_rows(d, inst);
			}
		}
	}
}

/* --- Where a whole vector is needed still --- */

/* For an operand of a phi the block that it comes from; NULL if the phi names that twice. */
static LLVMBasicBlockRef induction_place_of(LLVMValueRef user, unsigned index)
{
	if (!LLVMIsAPHINode(user)) {
		return LLVMGetInstructionParent(user);
	}
	LLVMBasicBlockRef from = LLVMGetIncomingBlock(user, index);
	for (unsigned i = 0; i < LLVMCountIncoming(user); i++) {
		if (i != index && LLVMGetIncomingBlock(user, i) == from) {
			return NULL;
		}
	}
	return from;
}

static unsigned induction_operand_index(LLVMValueRef user, LLVMValueRef value)
{
	unsigned index = 0;
	while (LLVMGetOperand(user, index) != value) {
		index++;
	}
	return index;
}

/* Make a sum once more for each use in another block: mostly that is code that hardly ever runs. */
static void induction_sink(struct induction *d, LLVMValueRef sum)
{
	LLVMUseRef next;
	LLVMValueRef scalar, part = induction_without_splat(d, sum, &scalar);
	for (LLVMUseRef use = part ? LLVMGetFirstUse(sum) : NULL; use; use = next) {
		next = LLVMGetNextUse(use);
		LLVMValueRef user = LLVMGetUser(use);
		unsigned index = induction_operand_index(user, sum);
		LLVMBasicBlockRef to = induction_place_of(user, index);
		if (!to || to == LLVMGetInstructionParent(sum)) {
			continue;
		}
		LLVMPositionBuilderBefore(d->builder,
			LLVMIsAPHINode(user) ? LLVMGetBasicBlockTerminator(to) : user);
		LLVMValueRef all = induction_make_splat(d, scalar, LLVMTypeOf(sum));
		LLVMSetOperand(user, index, LLVMBuildAdd(d->builder, part, all, ""));
	}
}

/* First sink the sums that use the phi: their copies are then uses of it. */
static void induction_sink_phi(struct induction *d, struct induction_phi *p)
{
	LLVMUseRef use = LLVMGetFirstUse(p->phi);
	for (; use; use = LLVMGetNextUse(use)) {
		if (ir_is(LLVMGetUser(use), LLVMAdd)) {
			induction_sink(d, LLVMGetUser(use));
		}
	}
	induction_sink(d, p->phi);
}

bool pass_induction(LLVMValueRef fn)
{
	LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(fn));
	struct induction d = {.fn = fn, .builder = LLVMCreateBuilderInContext(context),
		.i32 = LLVMInt32TypeInContext(context)};
	bool ok = induction_split_phis(&d);
	if (ok) {
		induction_ask_parts(&d);
		induction_for_advancing(&d, induction_sink_phi);
	}
	LLVMDisposeBuilder(d.builder);
	mem_free(d.phis);
	mem_free(d.sorted);
	return ok;
}

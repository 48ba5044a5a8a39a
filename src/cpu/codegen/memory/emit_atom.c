/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations.  All workers share global memory: an operation that LLVM knows becomes one
 * atomicrmw, any other one a loop of compare-and-swap.  Only one worker accesses the shared memory
 * of a block, and it leaves a thread only at a yield, so a plain load, operation and store are
 * atomic there.
 *
 * If all lanes of a warp (W = 32) have one address, an integer operation is done once, with the
 * combined values of the lanes, and each lane gets the value that the lanes before it leave.  If
 * the addresses differ, the lanes follow each other in shared memory.  Elsewhere, and for sums of
 * floats, whose order matters, a C function goes from lane to lane (rt_atom.c).  The few operations
 * that it does not know are made for each lane.
 */
#include "base/common.h"

#include "cpu/runtime/rt_atom.h"
#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/ops/emit_float.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

#include <string.h>

enum { NO_RMW = -1 };

static const struct atom {
	enum ptx_mod mod;
	int u, s, f; /* LLVM's operation on unsigned or untyped, signed, and float values */
} atoms[] = {
	{PTX_MOD_ADD, LLVMAtomicRMWBinOpAdd, LLVMAtomicRMWBinOpAdd, LLVMAtomicRMWBinOpFAdd},
	{PTX_MOD_AND, LLVMAtomicRMWBinOpAnd, LLVMAtomicRMWBinOpAnd, NO_RMW},
	{PTX_MOD_OR, LLVMAtomicRMWBinOpOr, LLVMAtomicRMWBinOpOr, NO_RMW},
	{PTX_MOD_XOR, LLVMAtomicRMWBinOpXor, LLVMAtomicRMWBinOpXor, NO_RMW},
	{PTX_MOD_MIN, LLVMAtomicRMWBinOpUMin, LLVMAtomicRMWBinOpMin, NO_RMW},
	{PTX_MOD_MAX, LLVMAtomicRMWBinOpUMax, LLVMAtomicRMWBinOpMax, NO_RMW},
	{PTX_MOD_EXCH, LLVMAtomicRMWBinOpXchg, LLVMAtomicRMWBinOpXchg, NO_RMW},
	{PTX_MOD_INC, NO_RMW, NO_RMW, NO_RMW},
	{PTX_MOD_DEC, NO_RMW, NO_RMW, NO_RMW},
};

/* One access: what, to which space, on which type. */
struct access {
	enum ptx_mod mod;
	enum ptx_type type;
	enum ptx_space space;
	int rmw;
	LLVMTypeRef as;
	LLVMValueRef place;
	LLVMAtomicOrdering order;
};

/* The operation, and its order. */
static void atom_note(struct access *access, const struct ptx_inst *inst)
{
	access->order = emit_order(inst);
	if (access->order == LLVMAtomicOrderingNotAtomic) {
		access->order = LLVMAtomicOrderingMonotonic;
	}
	char class = ptx_type_class(access->type);
	for (size_t i = 0; i < countof(atoms); i++) {
		if (ptx_has(&inst->mods, atoms[i].mod)) {
			access->mod = atoms[i].mod;
			access->rmw = class == 'f' ? atoms[i].f
				: class == 's' ? atoms[i].s : atoms[i].u;
		}
	}
}

static struct access atom_access(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *address, LLVMTypeRef as)
{
	struct access access = {.type = inst->types[0], .space = inst->space, .rmw = NO_RMW,
		.as = as};
	atom_note(&access, inst);
	access.place = emit_address(e, address, &access.space, as);
	return access;
}

/* f32 sums in global memory flush subnormals, those in shared memory do not. */
static LLVMValueRef atom_add_real(struct emit *e, const struct access *access, LLVMValueRef old,
	LLVMValueRef value)
{
	LLVMValueRef sum = ir_fadd(e, old, value);
	if (access->type != PTX_F32 || access->space == PTX_SHARED) {
		return sum;
	}
	LLVMValueRef flushed =
		emit_flush(e, ir_fadd(e, emit_flush(e, old), emit_flush(e, value)));
	if (access->space == PTX_GLOBAL) {
		return flushed;
	}
	LLVMValueRef address = LLVMBuildPtrToInt(e->builder, access->place, e->s.i64, "");
	return ir_select(e, emit_is_shared(e, address), sum, flushed);
}

/* add, min or max of halves; subnormals count (.noftz). */
static LLVMValueRef atom_half_result(struct emit *e, enum ptx_mod mod, enum ptx_type type,
	LLVMValueRef old, LLVMValueRef value)
{
	if (mod != PTX_MOD_ADD) {
		return emit_half_min(e, type, mod == PTX_MOD_MIN, false, old, value);
	}
	LLVMValueRef sum = ir_fadd(e, emit_from_half(e, old, type),
		emit_from_half(e, value, type));
	return emit_to_half(e, sum, type, EMIT_NEAREST);
}

static LLVMValueRef atom_apply_halves(struct emit *e, const struct access *access, LLVMValueRef old,
	LLVMValueRef value)
{
	enum ptx_type type = emit_half_type(access->type);
	LLVMValueRef halves[2];
	if (type == access->type) {
		return atom_half_result(e, access->mod, type, old, value);
	}
	for (unsigned part = 0; part < 2; part++) {
		halves[part] = atom_half_result(e, access->mod, type, emit_half_part(e, old, part),
			emit_half_part(e, value, part));
	}
	return emit_pair(e, halves[0], halves[1]);
}

/* What an operation leaves in memory. */
static LLVMValueRef atom_apply(struct emit *e, const struct access *access, LLVMValueRef old,
	LLVMValueRef value)
{
	bool sign = emit_is_signed(access->type);
	LLVMTypeRef type = LLVMTypeOf(old);
	LLVMValueRef one, wraps;

	if (emit_is_half(emit_half_type(access->type))) {
		return atom_apply_halves(e, access, old, value);
	}
	switch (access->mod) {
	case PTX_MOD_ADD:
		return ptx_type_class(access->type) == 'f' ? atom_add_real(e, access, old, value)
			: ir_add(e, old, value);
	case PTX_MOD_AND:
		return ir_and(e, old, value);
	case PTX_MOD_OR:
		return ir_or(e, old, value);
	case PTX_MOD_XOR:
		return ir_xor(e, old, value);
	case PTX_MOD_MIN:
		return ir_call2(e, sign ? "llvm.smin" : "llvm.umin", old, value);
	case PTX_MOD_MAX:
		return ir_call2(e, sign ? "llvm.smax" : "llvm.umax", old, value);
	case PTX_MOD_INC:
		one = emit_const(e, type, 1);
		wraps = ir_icmp(e, LLVMIntUGE, old, value);
		return ir_select(e, wraps, LLVMConstNull(type), ir_add(e, old, one));
	case PTX_MOD_DEC:
		one = emit_const(e, type, 1);
		wraps = ir_or(e, ir_icmp(e, LLVMIntEQ, old, LLVMConstNull(type)),
			ir_icmp(e, LLVMIntUGT, old, value));
		return ir_select(e, wraps, value, ir_sub(e, old, one));
	default:
		return value;
	}
}

static LLVMValueRef atom_update_plain(struct emit *e, const struct access *access,
	LLVMValueRef value)
{
	LLVMValueRef old = LLVMBuildLoad2(e->builder, access->as, access->place, "");
	LLVMSetAlignment(old, 1);
	LLVMSetAlignment(LLVMBuildStore(e->builder, atom_apply(e, access, old, value),
		access->place), 1);
	return old;
}

static LLVMValueRef atom_swap_plain(struct emit *e, const struct access *access,
	LLVMValueRef expected, LLVMValueRef value)
{
	LLVMValueRef old = LLVMBuildLoad2(e->builder, access->as, access->place, "");
	LLVMSetAlignment(old, 1);
	value = ir_select(e, ir_icmp(e, LLVMIntEQ, old, expected), value, old);
	LLVMSetAlignment(LLVMBuildStore(e->builder, value, access->place), 1);
	return old;
}

/* Compare and swap; returns the old value.  A failure needs no release. */
static LLVMValueRef atom_compare_exchange(struct emit *e, LLVMValueRef place, LLVMValueRef expected,
	LLVMValueRef value, LLVMAtomicOrdering order, LLVMValueRef *done)
{
	LLVMAtomicOrdering failed = order == LLVMAtomicOrderingRelease ? LLVMAtomicOrderingMonotonic
		: order == LLVMAtomicOrderingAcquireRelease ? LLVMAtomicOrderingAcquire : order;
	LLVMValueRef both = LLVMBuildAtomicCmpXchg(e->builder, place, expected, value, order,
		failed, false);
	*done = LLVMBuildExtractValue(e->builder, both, 1, "");
	return LLVMBuildExtractValue(e->builder, both, 0, "");
}

static LLVMValueRef atom_swap_loop(struct emit *e, const struct access *access, LLVMValueRef value)
{
	LLVMTypeRef bits = emit_int_type(e, ptx_type_bits(access->type));
	LLVMValueRef place = ir_bitcast(e, access->place, LLVMPointerType(bits, 0));
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
	LLVMBasicBlockRef again = emit_block(e, "again");
	LLVMBasicBlockRef after = emit_block(e, "done");
	LLVMValueRef first = LLVMBuildLoad2(e->builder, bits, place, "");
	LLVMSetOrdering(first, LLVMAtomicOrderingMonotonic);
	LLVMSetAlignment(first, ptx_type_size(access->type));
	LLVMBuildBr(e->builder, again);

	emit_enter(e, again);
	LLVMValueRef expected = LLVMBuildPhi(e->builder, bits, "");
	LLVMValueRef next = atom_apply(e, access, emit_cast(e, expected, access->as), value);
	LLVMValueRef done;
	LLVMValueRef found = atom_compare_exchange(e, place, expected, emit_bits(e, next),
		access->order, &done);
	LLVMAddIncoming(expected, &first, &before, 1);
	LLVMAddIncoming(expected, &found, &again, 1);
	LLVMBuildCondBr(e->builder, done, after, again);

	emit_enter(e, after);
	return emit_cast(e, found, access->as);
}

/* The old value. */
static LLVMValueRef atom_update(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *address, const struct ptx_operand *operand)
{
	struct access access = atom_access(e, inst, address, emit_type(e, inst->types[0]));
	LLVMValueRef value = emit_use(e, operand, inst->types[0]);
	if (access.space == PTX_SHARED) {
		return atom_update_plain(e, &access, value);
	}
	bool real = access.type != PTX_F64 && strchr("fh", ptx_type_class(access.type));
	if (access.rmw == NO_RMW || real) {
		return atom_swap_loop(e, &access, value);
	}
	LLVMValueRef old = LLVMBuildAtomicRMW(e->builder, (LLVMAtomicRMWBinOp)access.rmw,
		access.place, value, access.order, false);
	/* LLVM turns an exchange whose result is not used into a store, and has no atomic store of
	 * 16 bytes. */
	LLVMSetVolatile(old, ptx_type_size(access.type) == 16);
	return old;
}

static void atom_lane(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef old = atom_update(e, inst, &inst->operands[1], &inst->operands[2]);
	emit_def(e, &inst->operands[0], inst->types[0], old);
}

static void atom_red_lane(struct emit *e, const struct ptx_inst *inst)
{
	atom_update(e, inst, &inst->operands[0], &inst->operands[1]);
}

/* .v2 .v4 .v8: one atomic operation after the other; `to` is NULL for red. */
static void atom_update_vector(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *to, const struct ptx_operand *address,
	const struct ptx_operand *values)
{
	enum ptx_type type = inst->types[0];
	for (size_t i = 0; i < values->count; i++) {
		struct ptx_operand place = *address;
		place.value += (int64_t)(i * ptx_type_size(type));
		LLVMValueRef old = atom_update(e, inst, &place, &values->elements[i]);
		if (to) {
			emit_def(e, &to->elements[i], type, old);
		}
	}
}

static void atom_vector_lane(struct emit *e, const struct ptx_inst *inst)
{
	atom_update_vector(e, inst, &inst->operands[0], &inst->operands[1], &inst->operands[2]);
}

static void atom_red_vector_lane(struct emit *e, const struct ptx_inst *inst)
{
	atom_update_vector(e, inst, NULL, &inst->operands[0], &inst->operands[1]);
}

static void atom_cas_lane(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	struct access access = atom_access(e, inst, &inst->operands[1], emit_type(e, type));
	LLVMValueRef expected = emit_use(e, &inst->operands[2], type);
	LLVMValueRef value = emit_use(e, &inst->operands[3], type);
	LLVMValueRef old;

	if (access.space == PTX_SHARED) {
		old = atom_swap_plain(e, &access, expected, value);
	} else {
		LLVMValueRef done;
		old = atom_compare_exchange(e, access.place, expected, value, access.order, &done);
	}
	emit_def(e, &inst->operands[0], type, old);
}

/* --- A warp --- */

enum { UNKNOWN = -1 };

/* enum rt_atom, or UNKNOWN. */
static int atom_warp_op(const struct ptx_inst *inst)
{
	static const struct {
		enum ptx_mod mod;
		int u, s;
	} ops[] = {
		{PTX_MOD_ADD, RT_ATOM_ADD, RT_ATOM_ADD}, {PTX_MOD_AND, RT_ATOM_AND, RT_ATOM_AND},
		{PTX_MOD_OR, RT_ATOM_OR, RT_ATOM_OR}, {PTX_MOD_XOR, RT_ATOM_XOR, RT_ATOM_XOR},
		{PTX_MOD_MIN, RT_ATOM_UMIN, RT_ATOM_SMIN},
		{PTX_MOD_MAX, RT_ATOM_UMAX, RT_ATOM_SMAX},
		{PTX_MOD_EXCH, RT_ATOM_EXCH, RT_ATOM_EXCH}, {PTX_MOD_INC, RT_ATOM_INC, RT_ATOM_INC},
		{PTX_MOD_DEC, RT_ATOM_DEC, RT_ATOM_DEC}, {PTX_MOD_CAS, RT_ATOM_CAS, RT_ATOM_CAS},
	};
	enum ptx_type type = inst->types[0];
	unsigned size = ptx_type_size(type);
	char class = ptx_type_class(type);
	if ((size != 4 && size != 8) || emit_is_half(emit_half_type(type))) {
		return UNKNOWN;
	}
	for (size_t i = 0; i < countof(ops); i++) {
		if (ptx_has(&inst->mods, ops[i].mod)) {
			bool is_sum = class == 'f' && ops[i].mod == PTX_MOD_ADD;
			return is_sum ? RT_ATOM_FADD : class == 's' ? ops[i].s : ops[i].u;
		}
	}
	return UNKNOWN;
}

/* The neutral value of an operation; false if it cannot be done once for all lanes. */
static bool atom_neutral(int op, unsigned bits, uint64_t *out)
{
	uint64_t all = UINT64_MAX >> (64 - bits);
	switch (op) {
	case RT_ATOM_ADD:
	case RT_ATOM_OR:
	case RT_ATOM_XOR:
	case RT_ATOM_UMAX:
		*out = 0;
		return true;
	case RT_ATOM_AND:
	case RT_ATOM_UMIN:
		*out = all;
		return true;
	case RT_ATOM_SMIN:
		*out = all >> 1;
		return true;
	case RT_ATOM_SMAX:
		*out = ~(all >> 1) & all;
		return true;
	default:
		return false;
	}
}

/* A warp's operation. */
struct together {
	const struct ptx_inst *inst;
	int op;
	bool has_result;
	LLVMValueRef at;         /* addresses, i64 of lanes */
	LLVMValueRef words[2];   /* operands, as integers of lanes */
	unsigned count;
	LLVMValueRef first;      /* the first lane that runs, a scalar */
};

/* What each lane finds: what `old` is after the lanes before it. */
static LLVMValueRef atom_found(struct emit *e, const struct access *access, LLVMValueRef old,
	LLVMValueRef values, LLVMValueRef nothing)
{
	LLVMValueRef order[RT_MAX_WIDTH];
	for (unsigned step = 0; step < e->width; step = step ? 2 * step : 1) {
		/* lane i takes in what lane i - step has; first of all everything moves on by
		 * one */
		unsigned by = step ? step : 1;
		for (unsigned i = 0; i < e->width; i++) {
			order[i] = emit_scalar(e, 32, i >= by ? i - by : e->width);
		}
		LLVMValueRef moved = LLVMBuildShuffleVector(e->builder, values, nothing,
			LLVMConstVector(order, e->width), "");
		values = step ? atom_apply(e, access, moved, values) : moved;
	}
	return atom_apply(e, access, emit_splat(e, old), values);
}

static LLVMValueRef atom_reduce(struct emit *e, int op, LLVMValueRef values)
{
	static const char *const names[] = {[RT_ATOM_ADD] = "llvm.vector.reduce.add",
		[RT_ATOM_AND] = "llvm.vector.reduce.and", [RT_ATOM_OR] = "llvm.vector.reduce.or",
		[RT_ATOM_XOR] = "llvm.vector.reduce.xor",
		[RT_ATOM_UMIN] = "llvm.vector.reduce.umin",
		[RT_ATOM_UMAX] = "llvm.vector.reduce.umax",
		[RT_ATOM_SMIN] = "llvm.vector.reduce.smin",
		[RT_ATOM_SMAX] = "llvm.vector.reduce.smax"};
	return ir_call1(e, names[op], values);
}

/* All lanes have one address. */
static LLVMValueRef atom_update_once(struct emit *e, const struct together *t, uint64_t nothing)
{
	unsigned bits = ptx_type_bits(t->inst->types[0]);
	struct access access = {.type = t->inst->types[0], .as = emit_int_type(e, bits)};
	LLVMTypeRef one = LLVMGetElementType(access.as);
	LLVMValueRef none = emit_int(e, bits, nothing);
	LLVMValueRef values = t->words[0];
	values = e->mask_lanes ? ir_select(e, e->mask_lanes, values, none) : values;
	LLVMValueRef all = atom_reduce(e, t->op, values);
	LLVMValueRef at = LLVMBuildExtractElement(e->builder, t->at, t->first, "");
	emit_note_lane(e, t->first);
	atom_note(&access, t->inst);
	access.place = LLVMBuildIntToPtr(e->builder, at, LLVMPointerType(one, 0), "");
	access.as = one;
	LLVMValueRef old = t->inst->space == PTX_SHARED ? atom_update_plain(e, &access, all)
		: LLVMBuildAtomicRMW(e->builder, (LLVMAtomicRMWBinOp)access.rmw, access.place, all,
			access.order, false);
	emit_note_lane(e, emit_u32(e, RT_GROUP));
	return t->has_result ? atom_found(e, &access, old, values, none) : NULL;
}

/* In shared memory, which no other thread accesses meanwhile. */
static LLVMValueRef atom_update_lanes(struct emit *e, const struct together *t)
{
	unsigned bits = ptx_type_bits(t->inst->types[0]);
	struct access access = {.type = t->inst->types[0], .space = PTX_SHARED,
		.as = t->op != RT_ATOM_FADD ? LLVMIntTypeInContext(e->context, bits)
			: bits == 32 ? e->s.f32 : e->s.f64};
	LLVMValueRef places[RT_MAX_WIDTH];
	LLVMValueRef found = LLVMGetUndef(LLVMVectorType(access.as, e->width));
	atom_note(&access, t->inst);
	emit_lane_places(e, places, t->at);
	for (unsigned i = 0; i < e->width; i++) {
		LLVMValueRef lane = emit_u32(e, i), words[2] = {NULL};
		for (unsigned k = 0; k < t->count; k++) {
			words[k] = LLVMBuildExtractElement(e->builder, t->words[k], lane, "");
			words[k] = emit_cast(e, words[k], access.as);
		}
		access.place = ir_bitcast(e, places[i], LLVMPointerType(access.as, 0));
		LLVMValueRef old = t->op == RT_ATOM_CAS
			? atom_swap_plain(e, &access, words[0], words[1])
			: atom_update_plain(e, &access, words[0]);
		if (t->has_result) {
			found = LLVMBuildInsertElement(e->builder, found, old, lane, "");
		}
	}
	e->lane_accesses += e->width / 4;
	return t->has_result ? found : NULL;
}

static LLVMValueRef atom_update_each(struct emit *e, const struct together *t)
{
	unsigned size = ptx_type_size(t->inst->types[0]);
	emit_put_lanes(e, t->at, t->words, t->count);
	emit_call_lanes(e, offsetof(struct rt_calls, atom_lanes), size, (unsigned)t->op, false);
	return t->has_result ? emit_take_lanes(e, emit_int_type(e, size * 8), 0) : NULL;
}

/* Whether all lanes that run have one address; a scalar. */
static LLVMValueRef atom_is_one_place(struct emit *e, const struct together *t)
{
	LLVMValueRef at = LLVMBuildExtractElement(e->builder, t->at, t->first, "");
	LLVMValueRef apart = ir_icmp(e, LLVMIntNE, t->at, emit_splat(e, at));
	apart = ir_and(e, emit_lane_bits(e, apart), emit_active(e));
	LLVMValueRef none = emit_scalar(e, 32, 0);
	LLVMValueRef one = ir_icmp(e, LLVMIntEQ, apart, none);
	return e->mask ? ir_and(e, one, ir_icmp(e, LLVMIntNE, e->mask, none)) : one;
}

static LLVMValueRef atom_update_together(struct emit *e, const struct together *t)
{
	uint64_t nothing;
	bool has_lanes = t->inst->space == PTX_SHARED && emit_is_small(e);
	if (!atom_neutral(t->op, ptx_type_bits(t->inst->types[0]), &nothing)) {
		return has_lanes ? atom_update_lanes(e, t) : atom_update_each(e, t);
	}
	LLVMBasicBlockRef one = emit_block(e, "one_place");
	LLVMBasicBlockRef many = emit_block(e, "many_places");
	LLVMBasicBlockRef after = emit_block(e, "updated");
	LLVMBuildCondBr(e->builder, atom_is_one_place(e, t), one, many);
	emit_enter(e, one);
	LLVMValueRef once = atom_update_once(e, t, nothing);
	LLVMBuildBr(e->builder, after);
	emit_enter(e, many);
	LLVMValueRef each = has_lanes ? atom_update_lanes(e, t) : atom_update_each(e, t);
	LLVMBuildBr(e->builder, after);
	emit_enter(e, after);
	if (!t->has_result) {
		return NULL;
	}
	LLVMValueRef old = LLVMBuildPhi(e->builder, LLVMTypeOf(once), "");
	LLVMAddIncoming(old, &once, &one, 1);
	LLVMAddIncoming(old, &each, &many, 1);
	return old;
}

/* Do the operation for the whole warp; false if it has to be done lane by lane. */
static bool atom_update_warp(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *to, const struct ptx_operand *address, size_t values)
{
	struct together t = {.inst = inst, .op = atom_warp_op(inst), .has_result = to};
	enum ptx_type type = inst->types[0];
	if (!emit_is_vector(e) || t.op == UNKNOWN) {
		return false;
	}
	t.at = emit_lane_addresses(e, inst, address);
	t.count = t.op == RT_ATOM_CAS ? 2 : 1;
	for (unsigned i = 0; i < t.count; i++) {
		t.words[i] = emit_bits(e, emit_use(e, &inst->operands[values + i], type));
	}
	t.first = emit_first_lane(e);
	LLVMValueRef old = atom_update_together(e, &t);
	if (to) {
		emit_def(e, to, type, emit_cast(e, old, emit_type(e, type)));
	}
	return true;
}

void emit_atom(struct emit *e, const struct ptx_inst *inst)
{
	if (!atom_update_warp(e, inst, &inst->operands[0], &inst->operands[1], 2)) {
		emit_each_lane(e, inst, atom_lane);
	}
}

void emit_red(struct emit *e, const struct ptx_inst *inst)
{
	if (!atom_update_warp(e, inst, NULL, &inst->operands[0], 1)) {
		emit_each_lane(e, inst, atom_red_lane);
	}
}

void emit_atom_vector(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, atom_vector_lane);
}

void emit_red_vector(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, atom_red_vector_lane);
}

void emit_atom_cas(struct emit *e, const struct ptx_inst *inst)
{
	if (!atom_update_warp(e, inst, &inst->operands[0], &inst->operands[1], 2)) {
		emit_each_lane(e, inst, atom_cas_lane);
	}
}

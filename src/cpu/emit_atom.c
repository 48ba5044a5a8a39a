/* SPDX-License-Identifier: MIT */

/*
 * Atomic operations.  Global memory is shared by all workers: an operation that LLVM knows becomes
 * one atomicrmw, any other a loop of compare-and-swap.  The shared memory of a block belongs to
 * the one worker that runs it, and a thread is only ever left at a yield: there, reading, computing
 * and writing is atomic already.
 */
#include "../base/common.h"

#include "emit.h"

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

static struct access access_of(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *address, LLVMTypeRef as)
{
	struct access access = {.type = inst->types[0], .space = inst->space, .rmw = NO_RMW,
		.as = as, .order = emit_order(inst)};
	if (access.order == LLVMAtomicOrderingNotAtomic) {
		access.order = LLVMAtomicOrderingMonotonic;
	}
	char class = ptx_type_class(access.type);
	for (size_t i = 0; i < countof(atoms); i++) {
		if (ptx_has(&inst->mods, atoms[i].mod)) {
			access.mod = atoms[i].mod;
			access.rmw = class == 'f' ? atoms[i].f
				: class == 's' ? atoms[i].s : atoms[i].u;
		}
	}
	access.place = emit_address(e, address, &access.space, as);
	return access;
}

/* f32 sums in global memory flush subnormals, those in shared memory do not. */
static LLVMValueRef add_real(struct emit *e, const struct access *access, LLVMValueRef old,
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
static LLVMValueRef half_result(struct emit *e, enum ptx_mod mod, enum ptx_type type,
	LLVMValueRef old, LLVMValueRef value)
{
	if (mod != PTX_MOD_ADD) {
		return emit_half_min(e, type, mod == PTX_MOD_MIN, false, old, value);
	}
	LLVMValueRef sum = ir_fadd(e, emit_from_half(e, old, type),
		emit_from_half(e, value, type));
	return emit_to_half(e, sum, type, EMIT_NEAREST);
}

static LLVMValueRef apply_halves(struct emit *e, const struct access *access, LLVMValueRef old,
	LLVMValueRef value)
{
	enum ptx_type type = emit_half_type(access->type);
	LLVMValueRef halves[2];
	if (type == access->type) {
		return half_result(e, access->mod, type, old, value);
	}
	for (unsigned part = 0; part < 2; part++) {
		halves[part] = half_result(e, access->mod, type, emit_half_part(e, old, part),
			emit_half_part(e, value, part));
	}
	return emit_pair(e, halves[0], halves[1]);
}

/* What an operation leaves in memory. */
static LLVMValueRef apply(struct emit *e, const struct access *access, LLVMValueRef old,
	LLVMValueRef value)
{
	bool sign = emit_is_signed(access->type);
	LLVMTypeRef type = LLVMTypeOf(old);
	LLVMValueRef one, wraps;

	if (emit_is_half(emit_half_type(access->type))) {
		return apply_halves(e, access, old, value);
	}
	switch (access->mod) {
	case PTX_MOD_ADD:
		return ptx_type_class(access->type) == 'f' ? add_real(e, access, old, value)
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

static LLVMValueRef plain_update(struct emit *e, const struct access *access, LLVMValueRef value)
{
	LLVMValueRef old = LLVMBuildLoad2(e->builder, access->as, access->place, "");
	LLVMSetAlignment(old, 1);
	LLVMSetAlignment(LLVMBuildStore(e->builder, apply(e, access, old, value), access->place),
		1);
	return old;
}

/* Compare-and-swap; the old value.  A failure needs no release. */
static LLVMValueRef swap(struct emit *e, LLVMValueRef place, LLVMValueRef expected,
	LLVMValueRef value, LLVMAtomicOrdering order, LLVMValueRef *done)
{
	LLVMAtomicOrdering failed = order == LLVMAtomicOrderingRelease ? LLVMAtomicOrderingMonotonic
		: order == LLVMAtomicOrderingAcquireRelease ? LLVMAtomicOrderingAcquire : order;
	LLVMValueRef both = LLVMBuildAtomicCmpXchg(e->builder, place, expected, value, order,
		failed, false);
	*done = LLVMBuildExtractValue(e->builder, both, 1, "");
	return LLVMBuildExtractValue(e->builder, both, 0, "");
}

static LLVMValueRef swap_loop(struct emit *e, const struct access *access, LLVMValueRef value)
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
	LLVMValueRef next = apply(e, access, emit_cast(e, expected, access->as), value);
	LLVMValueRef done;
	LLVMValueRef found = swap(e, place, expected, emit_bits(e, next), access->order, &done);
	LLVMAddIncoming(expected, &first, &before, 1);
	LLVMAddIncoming(expected, &found, &again, 1);
	LLVMBuildCondBr(e->builder, done, after, again);

	emit_enter(e, after);
	return emit_cast(e, found, access->as);
}

/* The old value. */
static LLVMValueRef update(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *address, const struct ptx_operand *operand)
{
	struct access access = access_of(e, inst, address, emit_type(e, inst->types[0]));
	LLVMValueRef value = emit_use(e, operand, inst->types[0]);
	if (access.space == PTX_SHARED) {
		return plain_update(e, &access, value);
	}
	bool real = access.type != PTX_F64 && strchr("fh", ptx_type_class(access.type));
	if (access.rmw == NO_RMW || real) {
		return swap_loop(e, &access, value);
	}
	return LLVMBuildAtomicRMW(e->builder, (LLVMAtomicRMWBinOp)access.rmw, access.place, value,
		access.order, false);
}

static void atom_lane(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef old = update(e, inst, &inst->operands[1], &inst->operands[2]);
	emit_def(e, &inst->operands[0], inst->types[0], old);
}

static void red_lane(struct emit *e, const struct ptx_inst *inst)
{
	update(e, inst, &inst->operands[0], &inst->operands[1]);
}

/* .v2 .v4 .v8: one atomic operation after the other; `to` is NULL for red. */
static void update_vector(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *to, const struct ptx_operand *address,
	const struct ptx_operand *values)
{
	enum ptx_type type = inst->types[0];
	for (size_t i = 0; i < values->count; i++) {
		struct ptx_operand place = *address;
		place.value += (int64_t)(i * ptx_type_size(type));
		LLVMValueRef old = update(e, inst, &place, &values->elements[i]);
		if (to) {
			emit_def(e, &to->elements[i], type, old);
		}
	}
}

static void atom_vector_lane(struct emit *e, const struct ptx_inst *inst)
{
	update_vector(e, inst, &inst->operands[0], &inst->operands[1], &inst->operands[2]);
}

static void red_vector_lane(struct emit *e, const struct ptx_inst *inst)
{
	update_vector(e, inst, NULL, &inst->operands[0], &inst->operands[1]);
}

static void atom_cas_lane(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	struct access access = access_of(e, inst, &inst->operands[1], emit_type(e, type));
	LLVMValueRef expected = emit_use(e, &inst->operands[2], type);
	LLVMValueRef value = emit_use(e, &inst->operands[3], type);
	LLVMValueRef old;

	if (access.space == PTX_SHARED) {
		old = LLVMBuildLoad2(e->builder, access.as, access.place, "");
		LLVMSetAlignment(old, 1);
		LLVMValueRef same = ir_icmp(e, LLVMIntEQ, old, expected);
		value = ir_select(e, same, value, old);
		LLVMSetAlignment(LLVMBuildStore(e->builder, value, access.place), 1);
	} else {
		LLVMValueRef done;
		old = swap(e, access.place, expected, value, access.order, &done);
	}
	emit_def(e, &inst->operands[0], type, old);
}

void emit_atom(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, atom_lane);
}

void emit_red(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, red_lane);
}

void emit_atom_vector(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, atom_vector_lane);
}

void emit_red_vector(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, red_vector_lane);
}

void emit_atom_cas(struct emit *e, const struct ptx_inst *inst)
{
	emit_each_lane(e, inst, atom_cas_lane);
}

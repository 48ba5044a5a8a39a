/* SPDX-License-Identifier: MIT */

/*
 * Memory: addresses, loads and stores, and the special registers, which are loads too.
 *
 * Generic, .global, .const and .param addresses are host addresses; so are .local ones, in the
 * thread's own part of warp->local, but where that is split (emit_local.c).  A .shared address is an offset from warp->shared, 32 bits of
 * it; cvta adds or subtracts the base.  Both it and the displacement are taken as signed, which is
 * the sum modulo 4 GiB for every address that exists, and cannot leave the guards of launch.c.
 *
 * Nothing is said to LLVM about the alignment of what is not atomic: a kernel's address may be any.
 */
#include "base/common.h"

#include "cpu/codegen/emit.h"

#include <string.h>

/* The local memory of a lane that is a scalar. */
static LLVMValueRef own_local(struct emit *e)
{
	return e->lane ? emit_at(e, emit_local_base(e), emit_local_offset(e), e->s.i8) : emit_local_base(e);
}

/* Where a variable begins: a base pointer, and the offset from it.  Lanes are scalars. */
static LLVMValueRef var_base(struct emit *e, const struct ptx_var *var, uint64_t *offset)
{
	*offset = var->space == PTX_GLOBAL || var->space == PTX_CONST ? 0 : var->offset;
	switch (var->space) {
	case PTX_SHARED:
		return emit_shared_base(e);
	case PTX_LOCAL:
		return own_local(e);
	case PTX_PARAM:
		return emit_params_base(e);
	default:
		return emit_global_base(e, var);
	}
}

LLVMValueRef emit_var(struct emit *e, const struct ptx_var *var)
{
	if (var->space == PTX_SHARED) {
		return emit_int(e, 64, var->offset);
	}
	if (var->space == PTX_LOCAL && e->splits) {
		return emit_int(e, 64, var->offset);
	}
	if (var->space == PTX_LOCAL && emit_is_vector(e)) {
		LLVMValueRef base = emit_splat(e, emit_pointer_bits(e, emit_local_base(e)));
		return ir_add(e, ir_add(e, base, emit_local_offset(e)), emit_int(e, 64, var->offset));
	}

	uint64_t offset;
	LLVMValueRef base = var_base(e, var, &offset);
	base = emit_at(e, base, emit_scalar(e, 64, offset), e->s.i8);
	return emit_splat(e, emit_pointer_bits(e, base));
}

LLVMValueRef emit_address(struct emit *e, const struct ptx_operand *operand,
	enum ptx_space *space, LLVMTypeRef type)
{
	uint64_t offset = 0;
	LLVMValueRef base = NULL;
	LLVMValueRef place;

	if (operand->var) {
		*space = operand->var->space;
		base = var_base(e, operand->var, &offset);
	} else if (*space == PTX_SHARED) {
		base = emit_shared_base(e);
	}
	offset += (uint64_t)operand->value;
	if (*space == PTX_SHARED) {
		offset = (uint64_t)(int32_t)offset;
	}

	if (operand->has_base) {
		LLVMValueRef reg = *space == PTX_SHARED
			? ir_sext(e, emit_use_reg(e, operand->reg, PTX_U32), e->i64)
			: emit_use_reg(e, operand->reg, PTX_U64);
		base = base ? emit_at(e, base, reg, e->i8)
			: LLVMBuildIntToPtr(e->builder, reg, e->ptr, "");
	}
	if (!base) {
		place = emit_int(e, 64, offset);
		return LLVMBuildIntToPtr(e->builder, place, LLVMPointerType(type, 0), "");
	}
	return emit_at(e, base, emit_int(e, 64, offset), type);
}

/* Memory is read and written as integers, but for plain floats: atomic accesses must be.  There
 * is no atomic access to 16 bytes on every processor, so a strong one is only volatile. */
static LLVMTypeRef access_type(struct emit *e, const struct ptx_inst *inst, enum ptx_type type)
{
	LLVMTypeRef as = emit_type(e, type);
	if (emit_order(inst) == LLVMAtomicOrderingNotAtomic) {
		return as;
	}
	return emit_int_type(e, ptx_type_bits(type));
}

static void set_access(const struct ptx_inst *inst, LLVMValueRef access, enum ptx_type type)
{
	LLVMAtomicOrdering order = emit_order(inst);
	unsigned size = ptx_type_size(type);
	bool is_atomic = order != LLVMAtomicOrderingNotAtomic && size <= 8;
	LLVMSetAlignment(access, is_atomic ? size : 1);
	if (is_atomic) {
		LLVMSetOrdering(access, order);
	}
	LLVMSetVolatile(access, ptx_has(&inst->mods, PTX_MOD_VOLATILE)
		|| ptx_has(&inst->mods, PTX_MOD_MMIO)
		|| (order != LLVMAtomicOrderingNotAtomic && size > 8));
}

/* Parameters of a kernel stay as they are, whatever else it writes: NVRTC loads them in loops. */
static void note_constant(struct emit *e, const struct ptx_inst *inst, LLVMValueRef load)
{
	if (inst->space == PTX_PARAM) {
		emit_set_metadata(e, load, "invariant.load", LLVMMDNodeInContext2(e->context, NULL, 0));
	}
}

/* The operands of a vector access, or the one of a plain access. */
static size_t vector_parts(const struct ptx_operand *operand, const struct ptx_operand **parts)
{
	bool vector = operand->kind == PTX_VECTOR;
	*parts = vector ? operand->elements : operand;
	return vector ? operand->count : 1;
}

/* Of all elements of an access. */
static size_t size_of(const struct ptx_inst *inst, const struct ptx_operand *elements)
{
	const struct ptx_operand *parts;
	return vector_parts(elements, &parts) * ptx_type_size(inst->types[0]);
}

static struct ptx_operand shifted(const struct ptx_operand *address, size_t bytes)
{
	struct ptx_operand moved = *address;
	moved.value += (int64_t)bytes;
	return moved;
}

/* One access for all lanes that run, of `size` bytes, is the first one's. */
static void note_first(struct emit *e, const struct ptx_inst *inst, const struct ptx_operand *address,
	size_t size)
{
	enum ptx_space space = inst->space;
	if (space == PTX_PARAM || !emit_notes_access(e)) {
		return;
	}
	struct emit_mode mode = emit_begin_once(e);
	LLVMValueRef base = emit_pointer_bits(e, emit_address(e, address, &space, e->i8));
	LLVMValueRef args[] = {e->mask, LLVMConstInt(e->s.i1, 1, false)};
	if (e->mask) {
		LLVMValueRef first = ir_intrinsic(e, "llvm.cttz", &e->s.i32, 1, args, 2);
		LLVMValueRef before = ir_mul(e, ir_zext(e, first, e->s.i64),
			emit_scalar(e, 64, size));
		base = ir_sub(e, base, before);
	}
	emit_note_access(e, base, (unsigned)size);
	emit_set_mode(e, mode);
}

/* All elements are loaded before the first register is written: it may hold the address. */
static void ld_lane(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	LLVMTypeRef as = access_type(e, inst, type);
	const struct ptx_operand *parts;
	size_t count = vector_parts(&inst->operands[0], &parts);
	LLVMValueRef values[8];

	assert(count <= countof(values));
	for (size_t i = 0; i < count; i++) {
		enum ptx_space space = inst->space;
		struct ptx_operand address = shifted(&inst->operands[1], i * ptx_type_size(type));
		LLVMValueRef place = emit_address(e, &address, &space, as);
		values[i] = LLVMBuildLoad2(e->builder, as, place, "");
		set_access(inst, values[i], type);
		note_constant(e, inst, values[i]);
		emit_note_space(e, space, values[i]);
	}
	for (size_t i = 0; i < count; i++) {
		emit_def(e, &parts[i], type, values[i]);
	}
}

/* Whether a warp can do it by ld_warp or st_warp.  Frames of calls hold predicates, too, each in a
 * byte, which vectors of bits are not. */
static bool is_plain(const struct ptx_inst *inst)
{
	return emit_order(inst) == LLVMAtomicOrderingNotAtomic && inst->types[0] != PTX_PRED
		&& ptx_type_size(inst->types[0]) <= 8;
}

/* The lanes' host addresses: what emit_address does, for vectors. */
LLVMValueRef emit_lane_addresses(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *operand)
{
	enum ptx_space space = operand->var ? operand->var->space : inst->space;
	LLVMValueRef at = emit_int(e, 64, space == PTX_SHARED
		? (uint64_t)(int32_t)operand->value : (uint64_t)operand->value);
	if (operand->var) {
		at = ir_add(e, at, emit_var(e, operand->var));
	}
	if (operand->has_base) {
		at = ir_add(e, at, space == PTX_SHARED
			? ir_sext(e, emit_use_reg(e, operand->reg, PTX_U32), e->i64)
			: emit_use_reg(e, operand->reg, PTX_U64));
	}
	if (space == PTX_SHARED) {
		at = ir_add(e, at, emit_splat(e, emit_pointer_bits(e, emit_shared_base(e))));
	}
	return at;
}

/* A place in a variable that all lanes have in common. */
static bool is_common(const struct ptx_operand *operand, size_t size)
{
	const struct ptx_var *var = operand->var;
	return var && var->space != PTX_LOCAL && !operand->has_base && operand->value >= 0
		&& (uint64_t)operand->value + size <= var->size;
}

static void load_common(struct emit *e, const struct ptx_inst *inst, LLVMValueRef *values,
	size_t count)
{
	const struct ptx_operand *operand = &inst->operands[1];
	enum ptx_type type = inst->types[0];
	uint64_t offset;
	LLVMValueRef base = var_base(e, operand->var, &offset);
	LLVMTypeRef one = LLVMGetElementType(emit_type(e, type));
	for (size_t i = 0; i < count; i++) {
		uint64_t at = offset + (uint64_t)operand->value + i * ptx_type_size(type);
		LLVMValueRef place = emit_at(e, base, emit_scalar(e, 64, at), one);
		LLVMValueRef value = LLVMBuildLoad2(e->builder, one, place, "");
		LLVMSetAlignment(value, 1);
		note_constant(e, inst, value);
		values[i] = emit_splat(e, value);
	}
}

void emit_begin_wide(struct emit *e, const struct ptx_inst *inst, struct emit_wide *out)
{
	bool is_store = inst->op == PTX_OP_ST;
	const struct ptx_operand *parts;
	out->type = inst->types[0];
	out->count = (unsigned)vector_parts(&inst->operands[is_store], &parts);
	assert(out->count <= countof(out->values));
	for (size_t i = 0; is_store && i < out->count; i++) {
		out->values[i] = emit_use(e, &parts[i], out->type);
	}
	out->at = emit_lane_addresses(e, inst, &inst->operands[!is_store]);
}

void emit_end_wide(struct emit *e, const struct ptx_inst *inst, const struct emit_wide *wide)
{
	const struct ptx_operand *parts;
	size_t count = inst->op == PTX_OP_ST ? 0 : vector_parts(&inst->operands[0], &parts);
	for (size_t i = 0; i < count; i++) {
		emit_def(e, &parts[i], wide->type, wide->values[i]);
	}
}

static void ld_warp(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	const struct ptx_operand *address = &inst->operands[1];
	const struct ptx_operand *parts;
	size_t count = vector_parts(&inst->operands[0], &parts);
	struct emit_wide wide = {.member = e->member, .type = type};

	assert(count <= countof(wide.values));
	if (is_common(address, count * ptx_type_size(type))) {
		load_common(e, inst, wide.values, count);
	} else if (!emit_shaped_load(e, inst, wide.values, (unsigned)count)) {
		emit_begin_wide(e, inst, &wide);
		emit_wide_load(e, &wide, 1);
	}
	emit_end_wide(e, inst, &wide);
}

void emit_ld(struct emit *e, const struct ptx_inst *inst)
{
	if (emit_is_local(e, inst, &inst->operands[1])) {
		emit_local_load(e, inst);
	} else if (e->once) {
		note_first(e, inst, &inst->operands[1], size_of(inst, &inst->operands[0]));
		ld_lane(e, inst);
	} else if (emit_is_vector(e) && is_plain(inst)) {
		ld_warp(e, inst);
	} else if (emit_is_strong(e, inst)) {
		emit_strong_load(e, inst);
	} else {
		emit_each_lane(e, inst, ld_lane);
	}
}

static void st_lane(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	LLVMTypeRef as = access_type(e, inst, type);
	const struct ptx_operand *parts;
	size_t count = vector_parts(&inst->operands[1], &parts);

	for (size_t i = 0; i < count; i++) {
		enum ptx_space space = inst->space;
		struct ptx_operand address = shifted(&inst->operands[0], i * ptx_type_size(type));
		LLVMValueRef value = emit_cast(e, emit_use(e, &parts[i], type), as);
		LLVMValueRef place = emit_address(e, &address, &space, as);
		LLVMValueRef store = LLVMBuildStore(e->builder, value, place);
		set_access(inst, store, type);
		emit_note_space(e, space, store);
	}
}

static void st_warp(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type type = inst->types[0];
	const struct ptx_operand *parts;
	size_t count = vector_parts(&inst->operands[1], &parts);
	struct emit_wide wide = {.member = e->member};

	if (emit_is_shaped(e, inst, (unsigned)count, false)) {
		for (size_t i = 0; i < count; i++) {
			wide.values[i] = emit_use(e, &parts[i], type);
		}
		emit_shaped_store(e, inst, wide.values, (unsigned)count);
	} else {
		emit_begin_wide(e, inst, &wide);
		emit_wide_store(e, &wide, 1);
	}
}

/* Whether all lanes store to one address, of which the last one's value stays; and there is a lane. */
static bool is_one_place(struct emit *e, const struct ptx_inst *inst)
{
	if (!emit_is_vector(e) || (inst->has_guard && !emit_is_same(e, inst->guard))) {
		return false;
	}
	struct shape at = shapes_address(&e->shapes, inst, &inst->operands[0]);
	return shape_is_uniform(&at);
}

/* The last lane that runs. */
static LLVMValueRef last_lane(struct emit *e)
{
	LLVMValueRef args[] = {e->mask, LLVMConstInt(e->s.i1, 1, false)};
	return e->mask ? ir_sub(e, emit_scalar(e, 32, 31),
		ir_intrinsic(e, "llvm.ctlz", &e->s.i32, 1, args, 2)) : emit_scalar(e, 32, 31);
}

static void st_last(struct emit *e, const struct ptx_inst *inst)
{
	note_first(e, inst, &inst->operands[0], size_of(inst, &inst->operands[1]));
	struct emit_mode mode = emit_set_mode(e, (struct emit_mode){last_lane(e), false});
	st_lane(e, inst);
	emit_set_mode(e, mode);
}

bool emit_is_wide(struct emit *e, const struct ptx_inst *inst)
{
	bool is_store = inst->op == PTX_OP_ST;
	struct shape made = shapes_result(&e->shapes, inst);
	if (!(is_store || inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU) || inst->has_guard
	    || !made.is_vector || !is_plain(inst)) {
		return false;
	}
	const struct ptx_operand *address = &inst->operands[!is_store], *parts;
	size_t count = vector_parts(&inst->operands[is_store], &parts);
	bool otherwise = emit_is_local(e, inst, address)
		|| (is_store ? is_one_place(e, inst)
			: is_common(address, count * ptx_type_size(inst->types[0])));
	return !otherwise && !emit_is_shaped(e, inst, (unsigned)count, !is_store);
}

void emit_st(struct emit *e, const struct ptx_inst *inst)
{
	if (emit_is_local(e, inst, &inst->operands[0])) {
		emit_local_store(e, inst);
	} else if (is_one_place(e, inst)) {
		st_last(e, inst);
	} else if (emit_is_vector(e) && is_plain(inst)) {
		st_warp(e, inst);
	} else if (emit_is_strong(e, inst)) {
		emit_strong_store(e, inst);
	} else {
		emit_each_lane(e, inst, st_lane);
	}
}

void emit_cvta(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef address = emit_use(e, &inst->operands[1], PTX_U64);
	if (inst->space == PTX_SHARED) {
		LLVMValueRef base = emit_splat(e, emit_pointer_bits(e, emit_shared_base(e)));
		address = ptx_has(&inst->mods, PTX_MOD_TO) ? ir_sub(e, address, base)
			: ir_add(e, address, base);
	}
	emit_def(e, &inst->operands[0], PTX_U64, address);
}

/* Does an address lie in the `size` bytes from `base`?  All are of lanes. */
static LLVMValueRef is_within(struct emit *e, LLVMValueRef address, LLVMValueRef base,
	LLVMValueRef size)
{
	return ir_icmp(e, LLVMIntULT, ir_sub(e, address, base), size);
}

static LLVMValueRef all_bits(struct emit *e, LLVMValueRef pointer)
{
	return emit_splat(e, emit_pointer_bits(e, pointer));
}

LLVMValueRef emit_is_shared(struct emit *e, LLVMValueRef address)
{
	return is_within(e, address, all_bits(e, emit_shared_base(e)),
		emit_int(e, 64, RT_SHARED_WINDOW));
}

static LLVMValueRef is_local(struct emit *e, LLVMValueRef address)
{
	LLVMValueRef base = ir_add(e, all_bits(e, emit_local_base(e)), emit_local_offset(e));
	return is_within(e, address, base, emit_splat(e, emit_local_stride(e)));
}

static LLVMValueRef is_param(struct emit *e, LLVMValueRef address)
{
	return is_within(e, address, all_bits(e, emit_params_base(e)),
		emit_int(e, 64, e->func->param_size));
}

static LLVMValueRef is_const(struct emit *e, LLVMValueRef address)
{
	LLVMValueRef any = emit_int(e, 1, 0);
	for (size_t i = 0; i < e->module->var_count; i++) {
		const struct ptx_var *var = e->module->vars[i];
		if (var->space == PTX_CONST) {
			LLVMValueRef size = emit_int(e, 64, var->size);
			any = ir_or(e, any, is_within(e, address,
				all_bits(e, emit_global_base(e, var)), size));
		}
	}
	return any;
}

void emit_isspacep(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef address = emit_use(e, &inst->operands[1], PTX_U64);
	LLVMValueRef is;
	switch (inst->space) {
	case PTX_SHARED:
		is = emit_is_shared(e, address);
		break;
	case PTX_LOCAL:
		is = is_local(e, address);
		break;
	case PTX_PARAM:
		is = is_param(e, address);
		break;
	case PTX_CONST:
		is = is_const(e, address);
		break;
	default:
		is = ir_not(e, ir_or(e, ir_or(e, emit_is_shared(e, address), is_local(e, address)),
			ir_or(e, is_param(e, address), is_const(e, address))));
		break;
	}
	emit_def(e, &inst->operands[0], PTX_PRED, is);
}

/* Modules with variables that are textures, samplers or surfaces are refused, so that no address is
 * that of one. */
void emit_istypep(struct emit *e, const struct ptx_inst *inst)
{
	emit_def(e, &inst->operands[0], PTX_PRED, emit_int(e, 1, 0));
}

/* Special registers that are a field of the launch or of the warp. */
static const struct {
	bool launch;
	uint16_t offset;
} sreg_fields[PTX_SREG_COUNT] = {
#define LAUNCH(sreg, field) [PTX_SREG_##sreg] = {true, offsetof(struct rt_launch, field)},
#define WARP(sreg, field) [PTX_SREG_##sreg] = {false, offsetof(struct rt_warp, field)},
	LAUNCH(NTID_X, ntid[0]) LAUNCH(NTID_Y, ntid[1]) LAUNCH(NTID_Z, ntid[2])
	LAUNCH(NCTAID_X, nctaid[0]) LAUNCH(NCTAID_Y, nctaid[1]) LAUNCH(NCTAID_Z, nctaid[2])
	LAUNCH(GRIDID, grid_id) LAUNCH(NSMID, sm_count)
	LAUNCH(STACK_SIZE, stack_size) LAUNCH(DYNAMIC_SMEM_SIZE, dynamic_shared) LAUNCH(TOTAL_SMEM_SIZE, total_shared)
	WARP(CTAID_X, ctaid[0]) WARP(CTAID_Y, ctaid[1]) WARP(CTAID_Z, ctaid[2])
	WARP(SMID, sm)
	LAUNCH(ENVREG2, grid_sync[0]) LAUNCH(ENVREG1, grid_sync[1])
	LAUNCH(NCLUSTERID_X, nctaid[0]) LAUNCH(NCLUSTERID_Y, nctaid[1])
	LAUNCH(NCLUSTERID_Z, nctaid[2]) LAUNCH(AGGR_SMEM_SIZE, total_shared)
	WARP(CLUSTERID_X, ctaid[0]) WARP(CLUSTERID_Y, ctaid[1]) WARP(CLUSTERID_Z, ctaid[2])
#undef LAUNCH
#undef WARP
};

/* The value of those that are not. */
static const uint8_t sreg_values[PTX_SREG_COUNT] = {
	[PTX_SREG_CLUSTER_NCTAID_X] = 1, [PTX_SREG_CLUSTER_NCTAID_Y] = 1,
	[PTX_SREG_CLUSTER_NCTAID_Z] = 1, [PTX_SREG_CLUSTER_NCTARANK] = 1,
};

static const enum ptx_type sreg_types[PTX_SREG_COUNT] = {
#define X(name, spelling, type) PTX_##type,
	PTX_SREGS(X)
#undef X
};

/* The number of lane 0 in the block. */
static LLVMValueRef first_thread(struct emit *e)
{
	return e->member ? e->member->first
		: LLVMBuildLoad2(e->builder, e->s.i32, e->first, "");
}

/* Thread index: launch->tid[axis][warp->first], and those behind it. */
static LLVMValueRef load_tid(struct emit *e, unsigned axis)
{
	size_t slot = offsetof(struct rt_launch, tid) + axis * sizeof(uint32_t *);
	LLVMBasicBlockRef back = emit_call_visit(e);
	LLVMValueRef table = emit_field(e, emit_launch_base(e), slot, e->ptr);
	emit_entry_leave(e, back);
	LLVMValueRef first = first_thread(e);
	LLVMValueRef offset = ir_shl_by(e, ir_zext(e, first, e->s.i64), 2);
	LLVMValueRef place = emit_at(e, table, offset, e->i32);
	LLVMValueRef all = LLVMBuildLoad2(e->builder, e->i32, place, "");
	LLVMSetAlignment(all, sizeof(uint32_t));
	return all;
}

/* The linear index of a thread in its block. */
static LLVMValueRef load_thread(struct emit *e)
{
	LLVMValueRef first = first_thread(e);
	return ir_add(e, emit_splat(e, first), emit_lane_number(e));
}

/* The number of a thread in its group of 32, which is %laneid, whatever W is. */
static LLVMValueRef load_lane(struct emit *e)
{
	return ir_mask(e, load_thread(e), 31);
}

static LLVMValueRef load_lanemask(struct emit *e, enum ptx_sreg sreg)
{
	LLVMValueRef eq = ir_shl(e, emit_int(e, 32, 1), load_lane(e));
	LLVMValueRef lt = ir_sub(e, eq, emit_int(e, 32, 1));
	switch (sreg) {
	case PTX_SREG_LANEMASK_EQ:
		return eq;
	case PTX_SREG_LANEMASK_LT:
		return lt;
	case PTX_SREG_LANEMASK_LE:
		return ir_or(e, lt, eq);
	case PTX_SREG_LANEMASK_GE:
		return ir_not(e, lt);
	default:
		return ir_not(e, ir_or(e, lt, eq));
	}
}

/* A field that all lanes share. */
static LLVMValueRef load_shared_sreg(struct emit *e, enum ptx_sreg sreg)
{
	unsigned bits = ptx_type_bits(sreg_types[sreg]);
	if (!sreg_fields[sreg].launch && sreg_fields[sreg].offset == 0) {
		return emit_int(e, bits, sreg_values[sreg]);
	}
	LLVMTypeRef type = LLVMIntTypeInContext(e->context, bits);
	LLVMValueRef base = sreg_fields[sreg].launch ? emit_launch_base(e) : LLVMGetParam(e->fn, 0);
	return emit_splat(e, emit_field(e, base, sreg_fields[sreg].offset, type));
}

static LLVMValueRef load_sreg(struct emit *e, enum ptx_sreg sreg)
{
	LLVMValueRef value;
	switch (sreg) {
	case PTX_SREG_TID_X:
	case PTX_SREG_TID_Y:
	case PTX_SREG_TID_Z:
		return load_tid(e, sreg - PTX_SREG_TID_X);
	case PTX_SREG_LANEID:
		return load_lane(e);
	case PTX_SREG_WARPID:
		return ir_lshr_by(e, load_thread(e), 5);
	case PTX_SREG_NWARPID:
		value = emit_field(e, emit_launch_base(e), offsetof(struct rt_launch, threads),
			e->s.i32);
		value = ir_add(e, value, emit_scalar(e, 32, 31));
		return emit_splat(e, ir_lshr_by(e, value, 5));
	case PTX_SREG_LANEMASK_EQ:
	case PTX_SREG_LANEMASK_LE:
	case PTX_SREG_LANEMASK_LT:
	case PTX_SREG_LANEMASK_GE:
	case PTX_SREG_LANEMASK_GT:
		return load_lanemask(e, sreg);
	default:
		return load_shared_sreg(e, sreg);
	}
}

static LLVMValueRef read_clock(struct emit *e, enum ptx_sreg sreg)
{
	LLVMValueRef now = emit_rt_call(e, offsetof(struct rt_calls, clock), e->i64, NULL, 0);
	switch (sreg) {
	case PTX_SREG_CLOCK_HI:
	case PTX_SREG_GLOBALTIMER_HI:
		return ir_trunc(e, ir_lshr_by(e, now, 32), e->i32);
	case PTX_SREG_CLOCK:
	case PTX_SREG_GLOBALTIMER_LO:
		return ir_trunc(e, now, e->i32);
	default:
		return now;
	}
}

bool emit_is_of_warp(enum ptx_sreg sreg)
{
	switch (sreg) {
	case PTX_SREG_TID_X:
	case PTX_SREG_TID_Y:
	case PTX_SREG_TID_Z:
	case PTX_SREG_LANEID:
	case PTX_SREG_WARPID:
	case PTX_SREG_LANEMASK_EQ:
	case PTX_SREG_LANEMASK_LE:
	case PTX_SREG_LANEMASK_LT:
	case PTX_SREG_LANEMASK_GE:
	case PTX_SREG_LANEMASK_GT:
		return true;
	default:
		return false;
	}
}

/* Whether blocks that one call may run have different values. */
static bool is_of_block(enum ptx_sreg sreg)
{
	return sreg == PTX_SREG_CTAID_X || sreg == PTX_SREG_CLUSTERID_X;
}

/* Loaded in the entry, for all lanes. */
static LLVMValueRef entry_sreg(struct emit *e, enum ptx_sreg sreg)
{
	LLVMBasicBlockRef back = emit_is_of_warp(sreg) ? emit_entry_visit(e)
		: is_of_block(sreg) ? emit_block_visit(e) : emit_call_visit(e);
	struct emit_mode mode = emit_set_mode(e, (struct emit_mode){NULL, e->once});
	LLVMValueRef value = load_sreg(e, sreg);
	emit_set_mode(e, mode);
	emit_entry_leave(e, back);
	return value;
}

LLVMValueRef emit_sreg(struct emit *e, enum ptx_sreg sreg)
{
	switch (sreg) {
	case PTX_SREG_CLOCK:
	case PTX_SREG_CLOCK_HI:
	case PTX_SREG_CLOCK64:
	case PTX_SREG_GLOBALTIMER:
	case PTX_SREG_GLOBALTIMER_LO:
	case PTX_SREG_GLOBALTIMER_HI:
		return read_clock(e, sreg);
	default:
		break;
	}

	struct emit_member *member = emit_is_of_warp(sreg) ? e->member : NULL;
	LLVMValueRef *cached = e->once ? &e->bases[sreg] : &e->sregs[sreg];
	if (member) {
		cached = e->once ? &member->bases[sreg] : &member->sregs[sreg];
	}
	if (!*cached) {
		*cached = entry_sreg(e, sreg);
	}
	LLVMValueRef value = *cached;
	return e->lane ? LLVMBuildExtractElement(e->builder, value, e->lane, "") : value;
}

void emit_fence(struct emit *e, const struct ptx_inst *inst)
{
	bool weak = ptx_has(&inst->mods, PTX_MOD_CTA) || ptx_has(&inst->mods, PTX_MOD_ACQ_REL);
	LLVMBuildFence(e->builder, weak ? LLVMAtomicOrderingAcquireRelease
		: LLVMAtomicOrderingSequentiallyConsistent, false, "");
}

/* Policies are hints to a cache that nobody asks here: any number will do. */
void emit_policy(struct emit *e, const struct ptx_inst *inst)
{
	emit_result(e, inst, emit_int(e, 64, 0));
}

/* A warp's would be 32 instructions, of which most are for the same line. */
void emit_prefetch(struct emit *e, const struct ptx_inst *inst)
{
	if (e->width > 1) {
		return;
	}
	enum ptx_space space = inst->space;
	LLVMValueRef place = emit_address(e, &inst->operands[0], &space, e->s.i8);
	LLVMTypeRef type = LLVMTypeOf(place);
	uint64_t level = ptx_has(&inst->mods, PTX_MOD_L1) ? 3 : 2;
	LLVMValueRef args[] = {place, emit_scalar(e, 32, 0), emit_scalar(e, 32, level),
		emit_scalar(e, 32, 1)};
	ir_intrinsic(e, "llvm.prefetch", &type, 1, args, countof(args));
}

/* Hints for caches, profilers and debuggers. */
void emit_nothing(struct emit *e, const struct ptx_inst *inst)
{
	(void)e;
	(void)inst;
}

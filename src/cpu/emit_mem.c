/* SPDX-License-Identifier: MIT */

/*
 * Memory: addresses, loads and stores, and the special registers, which are loads too.
 *
 * Generic, .global, .const and .param addresses are host addresses; so are .local ones, in the
 * thread's own part of warp->local.  A .shared address is an offset from warp->shared, 32 bits of
 * it; cvta adds or subtracts the base.  Both it and the displacement are taken as signed, which is
 * the sum modulo 4 GiB for every address that exists, and cannot leave the guards of launch.c.
 *
 * Nothing is said to LLVM about the alignment of what is not atomic: a kernel's address may be any.
 */
#include "../base/common.h"

#include "emit.h"

LLVMValueRef emit_at(struct emit *e, LLVMValueRef base, LLVMValueRef offset, LLVMTypeRef type)
{
	LLVMValueRef place = LLVMBuildGEP2(e->builder, e->i8, base, &offset, 1, "");
	return ir_bitcast(e, place, LLVMPointerType(type, 0));
}

LLVMValueRef emit_field(struct emit *e, LLVMValueRef base, size_t offset, LLVMTypeRef type)
{
	LLVMValueRef place = emit_at(e, base, emit_int(e, 64, offset), type);
	return LLVMBuildLoad2(e->builder, type, place, "");
}

void emit_set_field(struct emit *e, LLVMValueRef base, size_t offset, LLVMValueRef value)
{
	LLVMValueRef place = emit_at(e, base, emit_int(e, 64, offset), LLVMTypeOf(value));
	LLVMBuildStore(e->builder, value, place);
}

/* A pointer that never changes in a call, loaded in the entry and kept in *slot. */
static LLVMValueRef entry_pointer(struct emit *e, LLVMValueRef *slot, LLVMValueRef base,
	size_t offset)
{
	if (!*slot) {
		LLVMBasicBlockRef back = emit_entry_visit(e);
		*slot = emit_field(e, base, offset, e->ptr);
		emit_entry_leave(e, back);
	}
	return *slot;
}

static LLVMValueRef launch_base(struct emit *e)
{
	return entry_pointer(e, &e->launch, e->warp, offsetof(struct rt_warp, launch));
}

static LLVMValueRef params_base(struct emit *e)
{
	return entry_pointer(e, &e->params, launch_base(e), offsetof(struct rt_launch, params));
}

static LLVMValueRef shared_base(struct emit *e)
{
	return entry_pointer(e, &e->shared, e->warp, offsetof(struct rt_warp, shared));
}

static LLVMValueRef local_base(struct emit *e)
{
	return entry_pointer(e, &e->local, e->warp, offsetof(struct rt_warp, local));
}

/* A variable of the module: loaded in the entry each time, early-cse keeps one. */
static LLVMValueRef global_base(struct emit *e, const struct ptx_var *var)
{
	LLVMValueRef table = entry_pointer(e, &e->globals, launch_base(e),
		offsetof(struct rt_launch, globals));
	LLVMBasicBlockRef back = emit_entry_visit(e);
	LLVMValueRef base = emit_field(e, table, var->index * sizeof(uint8_t *), e->ptr);
	emit_entry_leave(e, back);
	return base;
}

static LLVMValueRef pointer_bits(struct emit *e, LLVMValueRef pointer)
{
	return LLVMBuildPtrToInt(e->builder, pointer, e->i64, "");
}

/* Where a variable begins: a base pointer, and the offset from it. */
static LLVMValueRef var_base(struct emit *e, const struct ptx_var *var, uint64_t *offset)
{
	*offset = var->space == PTX_GLOBAL || var->space == PTX_CONST ? 0 : var->offset;
	switch (var->space) {
	case PTX_SHARED:
		return shared_base(e);
	case PTX_LOCAL:
		return local_base(e);
	case PTX_PARAM:
		return params_base(e);
	default:
		return global_base(e, var);
	}
}

LLVMValueRef emit_var(struct emit *e, const struct ptx_var *var)
{
	if (var->space == PTX_SHARED) {
		return emit_int(e, 64, var->offset);
	}

	uint64_t offset;
	LLVMValueRef base = var_base(e, var, &offset);
	return pointer_bits(e, emit_at(e, base, emit_int(e, 64, offset), e->i8));
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
		base = shared_base(e);
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

LLVMValueRef emit_rt_call(struct emit *e, size_t slot, LLVMTypeRef result, LLVMValueRef *args,
	unsigned count)
{
	LLVMValueRef all[8] = {e->warp};
	LLVMTypeRef types[8] = {e->ptr};
	assert(count < countof(all));
	for (unsigned i = 0; i < count; i++) {
		all[i + 1] = args[i];
		types[i + 1] = LLVMTypeOf(args[i]);
	}

	LLVMTypeRef type = LLVMFunctionType(result, types, count + 1, false);
	size_t calls = offsetof(struct rt_launch, calls);
	LLVMValueRef table = emit_field(e, launch_base(e), calls, e->ptr);
	LLVMValueRef fn = emit_field(e, table, slot, LLVMPointerType(type, 0));
	return LLVMBuildCall2(e->builder, type, fn, all, count + 1, "");
}

LLVMAtomicOrdering emit_order(const struct ptx_inst *inst)
{
	static const struct {
		enum ptx_mod mod;
		LLVMAtomicOrdering order;
	} orders[] = {
		{PTX_MOD_ACQUIRE, LLVMAtomicOrderingAcquire},
		{PTX_MOD_RELEASE, LLVMAtomicOrderingRelease},
		{PTX_MOD_ACQ_REL, LLVMAtomicOrderingAcquireRelease},
		{PTX_MOD_SC, LLVMAtomicOrderingSequentiallyConsistent},
		{PTX_MOD_RELAXED, LLVMAtomicOrderingMonotonic},
		{PTX_MOD_VOLATILE, LLVMAtomicOrderingMonotonic},
		{PTX_MOD_MMIO, LLVMAtomicOrderingMonotonic},
	};
	for (size_t i = 0; i < countof(orders); i++) {
		if (ptx_has(&inst->mods, orders[i].mod)) {
			return orders[i].order;
		}
	}
	return LLVMAtomicOrderingNotAtomic;
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

/* The operands of a vector access, or the one of a plain access. */
static size_t vector_parts(const struct ptx_operand *operand, const struct ptx_operand **parts)
{
	bool vector = operand->kind == PTX_VECTOR;
	*parts = vector ? operand->elements : operand;
	return vector ? operand->count : 1;
}

static struct ptx_operand shifted(const struct ptx_operand *address, size_t bytes)
{
	struct ptx_operand moved = *address;
	moved.value += (int64_t)bytes;
	return moved;
}

/* All elements are loaded before the first register is written: it may hold the address. */
void emit_ld(struct emit *e, const struct ptx_inst *inst)
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
	}
	for (size_t i = 0; i < count; i++) {
		emit_def(e, &parts[i], type, values[i]);
	}
}

void emit_st(struct emit *e, const struct ptx_inst *inst)
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
		set_access(inst, LLVMBuildStore(e->builder, value, place), type);
	}
}

void emit_cvta(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef address = emit_use(e, &inst->operands[1], PTX_U64);
	if (inst->space == PTX_SHARED) {
		LLVMValueRef base = pointer_bits(e, shared_base(e));
		address = ptx_has(&inst->mods, PTX_MOD_TO) ? ir_sub(e, address, base)
			: ir_add(e, address, base);
	}
	emit_def(e, &inst->operands[0], PTX_U64, address);
}

/* Does an address lie in the `size` bytes from `base`? */
static LLVMValueRef is_within(struct emit *e, LLVMValueRef address, LLVMValueRef base,
	LLVMValueRef size)
{
	LLVMValueRef offset = ir_sub(e, address, pointer_bits(e, base));
	return ir_icmp(e, LLVMIntULT, offset, size);
}

static LLVMValueRef is_shared(struct emit *e, LLVMValueRef address)
{
	return is_within(e, address, shared_base(e), emit_int(e, 64, RT_SHARED_WINDOW));
}

static LLVMValueRef is_local(struct emit *e, LLVMValueRef address)
{
	LLVMValueRef size = emit_field(e, e->warp, offsetof(struct rt_warp, local_stride), e->i64);
	return is_within(e, address, local_base(e), size);
}

static LLVMValueRef is_param(struct emit *e, LLVMValueRef address)
{
	return is_within(e, address, params_base(e), emit_int(e, 64, e->func->param_size));
}

static LLVMValueRef is_const(struct emit *e, LLVMValueRef address)
{
	LLVMValueRef any = emit_int(e, 1, 0);
	for (size_t i = 0; i < e->module->var_count; i++) {
		const struct ptx_var *var = e->module->vars[i];
		if (var->space == PTX_CONST) {
			LLVMValueRef size = emit_int(e, 64, var->size);
			any = ir_or(e, any, is_within(e, address, global_base(e, var), size));
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
		is = is_shared(e, address);
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
		is = ir_not(e, ir_or(e, ir_or(e, is_shared(e, address), is_local(e, address)),
			ir_or(e, is_param(e, address), is_const(e, address))));
		break;
	}
	emit_def(e, &inst->operands[0], PTX_PRED, is);
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
	LAUNCH(DYNAMIC_SMEM_SIZE, dynamic_shared) LAUNCH(TOTAL_SMEM_SIZE, total_shared)
	WARP(CTAID_X, ctaid[0]) WARP(CTAID_Y, ctaid[1]) WARP(CTAID_Z, ctaid[2])
	WARP(SMID, sm)
#undef LAUNCH
#undef WARP
};

static const enum ptx_type sreg_types[PTX_SREG_COUNT] = {
#define X(name, spelling, type) PTX_##type,
	PTX_SREGS(X)
#undef X
};

/* Thread index: launch->tid[axis][warp->first]. */
static LLVMValueRef load_tid(struct emit *e, unsigned axis)
{
	size_t slot = offsetof(struct rt_launch, tid) + axis * sizeof(uint32_t *);
	LLVMValueRef table = emit_field(e, launch_base(e), slot, e->ptr);
	LLVMValueRef first = emit_field(e, e->warp, offsetof(struct rt_warp, first), e->i32);
	LLVMValueRef offset = ir_shl_by(e, ir_zext(e, first, e->i64), 2);
	return LLVMBuildLoad2(e->builder, e->i32, emit_at(e, table, offset, e->i32), "");
}

/* The number of this thread in its group of 32, which is %laneid, whatever W is. */
static LLVMValueRef load_lane(struct emit *e)
{
	LLVMValueRef first = emit_field(e, e->warp, offsetof(struct rt_warp, first), e->i32);
	return ir_mask(e, first, 31);
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
		value = emit_field(e, e->warp, offsetof(struct rt_warp, first), e->i32);
		return ir_lshr_by(e, value, 5);
	case PTX_SREG_NWARPID:
		value = emit_field(e, launch_base(e), offsetof(struct rt_launch, threads), e->i32);
		value = ir_add(e, value, emit_int(e, 32, 31));
		return ir_lshr_by(e, value, 5);
	case PTX_SREG_LANEMASK_EQ:
	case PTX_SREG_LANEMASK_LE:
	case PTX_SREG_LANEMASK_LT:
	case PTX_SREG_LANEMASK_GE:
	case PTX_SREG_LANEMASK_GT:
		return load_lanemask(e, sreg);
	case PTX_SREG_ENVREG1:
	case PTX_SREG_ENVREG2:
		return emit_int(e, 32, 0);
	default:
		return emit_field(e, sreg_fields[sreg].launch ? launch_base(e) : e->warp,
			sreg_fields[sreg].offset, emit_type(e, sreg_types[sreg]));
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

	if (!e->sregs[sreg]) {
		LLVMBasicBlockRef back = emit_entry_visit(e);
		e->sregs[sreg] = load_sreg(e, sreg);
		emit_entry_leave(e, back);
	}
	return e->sregs[sreg];
}

void emit_fence(struct emit *e, const struct ptx_inst *inst)
{
	bool weak = ptx_has(&inst->mods, PTX_MOD_CTA) || ptx_has(&inst->mods, PTX_MOD_ACQ_REL);
	LLVMBuildFence(e->builder, weak ? LLVMAtomicOrderingAcquireRelease
		: LLVMAtomicOrderingSequentiallyConsistent, false, "");
}

/* Hints for caches, profilers and debuggers. */
void emit_nothing(struct emit *e, const struct ptx_inst *inst)
{
	(void)e;
	(void)inst;
}

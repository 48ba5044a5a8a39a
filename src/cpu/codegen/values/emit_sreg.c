/* SPDX-License-Identifier: MIT */
/*
 * Special registers: fields of the launch or of the warp, or values computed from the number of the
 * thread.  Each is loaded once, in that part of the entry that runs once a call, once for a block
 * of the grid, or once for a warp, as its value requires.  Only clocks are read each time.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

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
	LAUNCH(STACK_SIZE, stack_size) LAUNCH(DYNAMIC_SMEM_SIZE, dynamic_shared)
	LAUNCH(TOTAL_SMEM_SIZE, total_shared)
	WARP(CTAID_X, ctaid[0]) WARP(CTAID_Y, ctaid[1]) WARP(CTAID_Z, ctaid[2])
	WARP(SMID, sm)
	LAUNCH(ENVREG2, grid_sync[0]) LAUNCH(ENVREG1, grid_sync[1])
	LAUNCH(NCLUSTERID_X, nctaid[0]) LAUNCH(NCLUSTERID_Y, nctaid[1])
	LAUNCH(NCLUSTERID_Z, nctaid[2]) LAUNCH(AGGR_SMEM_SIZE, aggr_shared)
	LAUNCH(RESERVED_SMEM_OFFSET_BEGIN, reserved_start)
	LAUNCH(RESERVED_SMEM_OFFSET_END, reserved_end)
	LAUNCH(RESERVED_SMEM_OFFSET_CAP, reserved_cap)
	LAUNCH(RESERVED_SMEM_OFFSET_0, reserved_start)
	LAUNCH(RESERVED_SMEM_OFFSET_1, reserved_start)
	WARP(CLUSTERID_X, ctaid[0]) WARP(CLUSTERID_Y, ctaid[1]) WARP(CLUSTERID_Z, ctaid[2])
#undef LAUNCH
#undef WARP
};

/* The values of the other special registers. */
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
static LLVMValueRef sreg_first_thread(struct emit *e)
{
	return e->member ? e->member->first
		: LLVMBuildLoad2(e->builder, e->s.i32, e->first, "");
}

/* Thread index: launch->tid[axis][warp->first], and those after it. */
static LLVMValueRef sreg_load_tid(struct emit *e, unsigned axis)
{
	size_t slot = offsetof(struct rt_launch, tid) + axis * sizeof(uint32_t *);
	LLVMBasicBlockRef back = emit_call_visit(e);
	LLVMValueRef table = emit_field(e, emit_launch_base(e), slot, e->ptr);
	emit_entry_leave(e, back);
	LLVMValueRef first = sreg_first_thread(e);
	LLVMValueRef offset = ir_shl_by(e, ir_zext(e, first, e->s.i64), 2);
	LLVMValueRef place = emit_at(e, table, offset, e->i32);
	LLVMValueRef all = LLVMBuildLoad2(e->builder, e->i32, place, "");
	LLVMSetAlignment(all, sizeof(uint32_t));
	return all;
}

/* The linear index of a thread in its block. */
static LLVMValueRef sreg_load_thread(struct emit *e)
{
	LLVMValueRef first = sreg_first_thread(e);
	return ir_add(e, emit_splat(e, first), emit_lane_number(e));
}

/* The number of a thread in its group of 32, which is %laneid, whatever W is. */
static LLVMValueRef sreg_load_lane(struct emit *e)
{
	return ir_mask(e, sreg_load_thread(e), 31);
}

static LLVMValueRef sreg_load_lanemask(struct emit *e, enum ptx_sreg sreg)
{
	LLVMValueRef eq = ir_shl(e, emit_int(e, 32, 1), sreg_load_lane(e));
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
		return sreg_load_tid(e, sreg - PTX_SREG_TID_X);
	case PTX_SREG_LANEID:
		return sreg_load_lane(e);
	case PTX_SREG_WARPID:
		return ir_lshr_by(e, sreg_load_thread(e), 5);
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
		return sreg_load_lanemask(e, sreg);
	default:
		return load_shared_sreg(e, sreg);
	}
}

static LLVMValueRef sreg_read_clock(struct emit *e, enum ptx_sreg sreg)
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
static bool sreg_is_of_block(enum ptx_sreg sreg)
{
	return sreg == PTX_SREG_CTAID_X || sreg == PTX_SREG_CLUSTERID_X;
}

/* Loaded in the entry, for all lanes. */
static LLVMValueRef entry_sreg(struct emit *e, enum ptx_sreg sreg)
{
	LLVMBasicBlockRef back = emit_is_of_warp(sreg) ? emit_entry_visit(e)
		: sreg_is_of_block(sreg) ? emit_block_visit(e) : emit_call_visit(e);
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
		return sreg_read_clock(e, sreg);
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

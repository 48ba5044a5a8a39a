/* SPDX-License-Identifier: MIT */
/*
 * The parts of every access to memory: places, fields, what LLVM is told of an access, and what the
 * message of a fault is told.
 *
 * Compiled code reaches everything through struct rt_warp and the launch that it points to (rt.h).
 * So nearly all values begin with a field of one of the two.  A base pointer that does not change
 * during a call is loaded once, in the entry, and kept in struct emit.
 *
 * Before an access of a whole warp, the warp notes where the element of lane 0 is and how far apart
 * the elements are.  A fault is reported with the lane and the address that follow from this.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_value.h"

#include <string.h>

/* --- Fields --- */

LLVMValueRef emit_at(struct emit *e, LLVMValueRef base, LLVMValueRef offset, LLVMTypeRef type)
{
	LLVMValueRef place = LLVMBuildGEP2(e->builder, e->s.i8, base, &offset, 1, "");
	return ir_bitcast(e, place, LLVMPointerType(type, 0));
}

LLVMValueRef emit_field(struct emit *e, LLVMValueRef base, size_t offset, LLVMTypeRef type)
{
	LLVMValueRef place = emit_at(e, base, emit_scalar(e, 64, offset), type);
	return LLVMBuildLoad2(e->builder, type, place, "");
}

LLVMValueRef emit_set_field(struct emit *e, LLVMValueRef base, size_t offset, LLVMValueRef value)
{
	LLVMValueRef place = emit_at(e, base, emit_scalar(e, 64, offset), LLVMTypeOf(value));
	return LLVMBuildStore(e->builder, value, place);
}

/* A pointer that never changes in a call, loaded in the entry and kept in *slot. */
static LLVMValueRef access_entry_pointer(struct emit *e, LLVMValueRef *slot, LLVMValueRef base,
	size_t offset)
{
	if (!*slot) {
		LLVMBasicBlockRef back = emit_call_visit(e);
		*slot = emit_field(e, base, offset, e->ptr);
		emit_entry_leave(e, back);
	}
	return *slot;
}

LLVMValueRef emit_launch_base(struct emit *e)
{
	return access_entry_pointer(e, &e->launch, e->warp, offsetof(struct rt_warp, launch));
}

LLVMValueRef emit_params_base(struct emit *e)
{
	return access_entry_pointer(e, &e->params, emit_launch_base(e),
		offsetof(struct rt_launch, params));
}

LLVMValueRef emit_shared_base(struct emit *e)
{
	return access_entry_pointer(e, &e->shared, e->warp, offsetof(struct rt_warp, shared));
}

LLVMValueRef emit_local_base(struct emit *e)
{
	return access_entry_pointer(e, &e->local, e->warp, offsetof(struct rt_warp, local));
}

LLVMValueRef emit_exchange_base(struct emit *e)
{
	return access_entry_pointer(e, &e->exchange, e->warp, offsetof(struct rt_warp, exchange));
}

LLVMValueRef emit_calls_base(struct emit *e)
{
	return emit_field(e, emit_launch_base(e), offsetof(struct rt_launch, calls), e->ptr);
}

LLVMValueRef emit_param(struct emit *e, size_t offset, LLVMTypeRef type)
{
	LLVMValueRef value = emit_field(e, emit_params_base(e), offset, type);
	LLVMSetAlignment(value, 1);
	emit_set_metadata(e, value, "invariant.load", LLVMMDNodeInContext2(e->context, NULL, 0));
	return value;
}

LLVMValueRef emit_cached_bytes(struct emit *e)
{
	return emit_field(e, emit_launch_base(e), offsetof(struct rt_launch, cached_bytes),
		e->s.i32);
}

LLVMValueRef emit_local_stride(struct emit *e)
{
	return emit_field(e, e->warp, offsetof(struct rt_warp, local_stride), e->s.i64);
}

LLVMValueRef emit_local_offset(struct emit *e)
{
	LLVMValueRef lane = ir_zext(e, emit_lane_number(e), e->i64);
	return ir_mul(e, lane, emit_splat(e, emit_local_stride(e)));
}

LLVMValueRef emit_global_base(struct emit *e, const struct ptx_var *var)
{
	LLVMValueRef table = access_entry_pointer(e, &e->globals, emit_launch_base(e),
		offsetof(struct rt_launch, globals));
	LLVMBasicBlockRef back = emit_call_visit(e);
	LLVMValueRef base = emit_field(e, table, var->index * sizeof(uint8_t *), e->ptr);
	emit_entry_leave(e, back);
	return base;
}

LLVMValueRef emit_pointer_bits(struct emit *e, LLVMValueRef pointer)
{
	return LLVMBuildPtrToInt(e->builder, pointer, e->s.i64, "");
}

/* --- What LLVM is told of an access --- */

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

void emit_set_metadata(struct emit *e, LLVMValueRef access, const char *kind, LLVMMetadataRef node)
{
	LLVMSetMetadata(access, LLVMGetMDKindIDInContext(e->context, kind, (unsigned)strlen(kind)),
		LLVMMetadataAsValue(e->context, node));
}

void emit_expect_first(struct emit *e, LLVMValueRef branch)
{
	enum { OFTEN = 1000 };
	static const char name[] = "branch_weights";
	LLVMMetadataRef parts[] = {
		LLVMMDStringInContext2(e->context, name, sizeof(name) - 1),
		LLVMValueAsMetadata(emit_scalar(e, 32, OFTEN)),
		LLVMValueAsMetadata(emit_scalar(e, 32, 1)),
	};
	emit_set_metadata(e, branch, "prof",
		LLVMMDNodeInContext2(e->context, parts, countof(parts)));
}

/* Local and global memory never overlap: with an array of each in a loop LLVM need not test that,
 * or give up because there are too many. */
void emit_note_space(struct emit *e, enum ptx_space space, LLVMValueRef access)
{
	static const char name[] = "local";
	if (space != PTX_LOCAL && space != PTX_GLOBAL) {
		return;
	}
	LLVMMetadataRef string = LLVMMDStringInContext2(e->context, name, sizeof(name) - 1);
	LLVMMetadataRef domain = LLVMMDNodeInContext2(e->context, &string, 1);
	LLVMMetadataRef parts[] = {string, domain};
	LLVMMetadataRef scope = LLVMMDNodeInContext2(e->context, parts, countof(parts));
	LLVMMetadataRef list = LLVMMDNodeInContext2(e->context, &scope, 1);
	emit_set_metadata(e, access, space == PTX_LOCAL ? "alias.scope" : "noalias", list);
}

/* --- Whose access it is, for the message of a fault --- */

/* Both of these in one store. */
static_assert(offsetof(struct rt_warp, lane) % 8 == 0
	&& offsetof(struct rt_warp, step) == offsetof(struct rt_warp, lane) + 4, "one word");

void emit_note_lane(struct emit *e, LLVMValueRef lane)
{
	emit_set_field(e, e->warp, offsetof(struct rt_warp, lane), lane);
	e->noted_in = NULL;
}

/* Not in shared memory: that is what inner loops read, each time with two stores more. */
bool emit_notes_access(const struct emit *e)
{
	return e->inst->space != PTX_SHARED;
}

void emit_note_access(struct emit *e, LLVMValueRef base, unsigned step)
{
	uint64_t both = (uint64_t)step << 32 | RT_GROUP;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
	if (!emit_notes_access(e)) {
		return;
	}
	if (e->noted_in != here || e->noted != both) {
		emit_note_lane(e, emit_scalar(e, 64, both));
		e->noted_in = here;
		e->noted = both;
	}
	emit_set_field(e, e->warp, offsetof(struct rt_warp, base), base);
}

/* --- Whose memory it is, where there is a team --- */

void emit_use_member(struct emit *e, struct emit_member *member)
{
	const struct emit_member *m = member ? member : &e->team->outside;
	if (e->member) {
		e->member->local = e->local;
		e->member->exchange = e->exchange;
	} else {
		e->team->outside = (struct emit_member){.warp = e->warp, .frame = e->frame,
			.local = e->local, .exchange = e->exchange, .values = e->values};
	}
	e->warp = m->warp;
	e->frame = m->frame;
	e->local = m->local;
	e->exchange = m->exchange;
	e->values = m->values;
	e->member = member;
	e->noted_in = NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * Code for one lane after another.
 *
 * An instruction that has no vector form is made for one lane, in a loop over the lanes that run.
 * Types, constants and operands are scalars there, and registers are read and written at the place
 * of the lane.  Or a C function does the work for all lanes, from arrays.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

LLVMValueRef emit_active(struct emit *e)
{
	return e->mask ? e->mask : emit_all_lanes(e);
}

/* By a bitcast LLVM moves bit after bit where the processor has no registers for masks, unless the
 * vector is used at once. */
LLVMValueRef emit_lanes_of(struct emit *e, LLVMValueRef set)
{
	LLVMValueRef bits[RT_MAX_WIDTH];
	if (e->has_avx512) {
		return emit_lanes_of_bits(e, set);
	}
	for (unsigned i = 0; i < e->width; i++) {
		bits[i] = emit_u32(e, UINT32_C(1) << i);
	}
	LLVMValueRef mine = ir_and(e, emit_splat(e, set), LLVMConstVector(bits, e->width));
	return ir_icmp(e, LLVMIntNE, mine, LLVMConstNull(e->v.i32));
}

LLVMValueRef emit_first_lane(struct emit *e)
{
	if (!e->mask) {
		return emit_u32(e, 0);
	}
	LLVMValueRef args[] = {e->mask, LLVMConstInt(e->s.i1, 0, false)};
	LLVMValueRef first = ir_intrinsic(e, "llvm.cttz", &e->s.i32, 1, args, 2);
	return ir_mask(e, first, RT_MAX_WIDTH - 1);
}

void emit_lanes_begin(struct emit *e, struct emit_lanes *l)
{
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
	LLVMValueRef all = emit_active(e);
	*l = (struct emit_lanes){emit_block(e, "lane"), emit_block(e, "lanes_done"), NULL, e->mask,
		e->mask_lanes};
	e->before_lanes = before;
	e->after_lanes = l->after;
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntNE, all, emit_u32(e, 0)), l->head, l->after);
	emit_enter(e, l->head);
	l->left = LLVMBuildPhi(e->builder, e->s.i32, "");
	LLVMAddIncoming(l->left, &all, &before, 1);

	LLVMValueRef args[] = {l->left, LLVMConstInt(e->s.i1, 1, false)};
	e->mask = NULL;
	e->mask_lanes = NULL;
	emit_set_mode(e, (struct emit_mode){ir_intrinsic(e, "llvm.cttz", &e->s.i32, 1, args, 2),
		false});
	emit_note_lane(e, e->lane);
}

void emit_lanes_end(struct emit *e, const struct emit_lanes *l)
{
	LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
	LLVMValueRef rest = ir_and(e, l->left, ir_sub(e, l->left, emit_u32(e, 1)));
	LLVMAddIncoming(l->left, &rest, &latch, 1);
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntNE, rest, emit_u32(e, 0)), l->head, l->after);
	emit_enter(e, l->after);
	emit_note_lane(e, emit_u32(e, RT_GROUP));
	emit_set_mode(e, (struct emit_mode){NULL, false});
	e->mask = l->mask;
	e->mask_lanes = l->mask_lanes;
}

void emit_each_lane(struct emit *e, const struct ptx_inst *inst, emit_fn *lane)
{
	if (!emit_is_vector(e)) {
		lane(e, inst);
		return;
	}
	struct emit_lanes loop;
	emit_lanes_begin(e, &loop);
	lane(e, inst);
	emit_lanes_end(e, &loop);
}

LLVMValueRef emit_call_once(struct emit *e, size_t slot, LLVMTypeRef result, LLVMValueRef *args,
	unsigned count)
{
	LLVMValueRef all[EMIT_MAX_ARGS + 1] = {e->warp};
	LLVMTypeRef types[EMIT_MAX_ARGS + 1] = {e->ptr};
	for (unsigned i = 0; i < count; i++) {
		all[i + 1] = args[i];
		types[i + 1] = LLVMTypeOf(args[i]);
	}

	LLVMTypeRef type = LLVMFunctionType(result, types, count + 1, false);
	LLVMValueRef table = emit_calls_base(e);
	LLVMValueRef fn = emit_field(e, table, slot, LLVMPointerType(type, 0));
	e->noted_in = NULL; // it may set them, too
	return LLVMBuildCall2(e->builder, type, fn, all, count + 1, "");
}

static bool lanes_is_vector(LLVMValueRef value)
{
	return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
}

static bool lanes_any_vector(LLVMValueRef *args, unsigned count)
{
	bool any = false;
	for (unsigned i = 0; i < count; i++) {
		any |= lanes_is_vector(args[i]);
	}
	return any;
}

LLVMValueRef emit_rt_call(struct emit *e, size_t slot, LLVMTypeRef result, LLVMValueRef *args,
	unsigned count)
{
	assert(count <= EMIT_MAX_ARGS);
	if (!emit_is_vector(e)) {
		return emit_call_once(e, slot, result, args, count);
	}
	bool is_void = LLVMGetTypeKind(result) == LLVMVoidTypeKind;
	LLVMTypeRef one = is_void ? result : LLVMGetElementType(result);
	if (!lanes_any_vector(args, count)) {
		LLVMValueRef value = emit_call_once(e, slot, one, args, count);
		return is_void ? NULL : emit_splat(e, value);
	}

	LLVMValueRef all = is_void ? NULL : emit_room(e, result, "results");
	LLVMValueRef mine[EMIT_MAX_ARGS];
	struct emit_lanes loop;
	emit_lanes_begin(e, &loop);
	for (unsigned i = 0; i < count; i++) {
		mine[i] = lanes_is_vector(args[i])
			? LLVMBuildExtractElement(e->builder, args[i], e->lane, "") : args[i];
	}
	LLVMValueRef value = emit_call_once(e, slot, one, mine, count);
	if (!is_void) {
		LLVMValueRef old = LLVMBuildLoad2(e->builder, result, all, "");
		value = LLVMBuildInsertElement(e->builder, old, value, e->lane, "");
		LLVMBuildStore(e->builder, value, all);
	}
	emit_lanes_end(e, &loop);
	return is_void ? NULL : LLVMBuildLoad2(e->builder, result, all, "");
}

bool emit_can_gather(struct emit *e)
{
	return !e->mask || e->has_avx512 || (e->has_avx2 && emit_does(e, PASS_GATHERS));
}

bool emit_can_scatter(struct emit *e)
{
	return e->has_avx512;
}

LLVMValueRef emit_gather(struct emit *e, LLVMTypeRef type, LLVMValueRef places)
{
	LLVMTypeRef types[] = {type, LLVMTypeOf(places)};
	LLVMValueRef lanes = e->mask_lanes ? e->mask_lanes : emit_int(e, 1, 1);
	LLVMValueRef args[] = {places, emit_u32(e, 1), lanes, LLVMConstNull(type)};
	e->lane_accesses++;
	return ir_intrinsic(e, "llvm.masked.gather", types, countof(types), args, countof(args));
}

void emit_scatter(struct emit *e, LLVMValueRef value, LLVMValueRef places)
{
	LLVMTypeRef types[] = {LLVMTypeOf(value), LLVMTypeOf(places)};
	LLVMValueRef lanes = e->mask_lanes ? e->mask_lanes : emit_int(e, 1, 1);
	LLVMValueRef args[] = {value, places, emit_u32(e, 1), lanes};
	e->lane_accesses++;
	ir_intrinsic(e, "llvm.masked.scatter", types, countof(types), args, countof(args));
}

/* --- Lane after lane, without a loop --- */

/* So much more than a gather costs LLVM an access that is made for each lane, see begin_anew. */
enum { LANES_WEIGH = 4 };

static LLVMValueRef lanes_part_place(struct emit *e, LLVMValueRef place, unsigned offset,
	LLVMTypeRef one)
{
	return emit_at(e, place, emit_scalar(e, 64, offset), one);
}

void emit_load_lanes(struct emit *e, LLVMValueRef *values, const LLVMValueRef *places,
	LLVMTypeRef one, unsigned size, unsigned count)
{
	e->lane_accesses += LANES_WEIGH * count;
	for (unsigned k = 0; k < count; k++) {
		values[k] = LLVMGetUndef(LLVMVectorType(one, e->width));
		for (unsigned i = 0; i < e->width; i++) {
			LLVMValueRef element = LLVMBuildLoad2(e->builder, one,
				lanes_part_place(e, places[i], k * size, one), "");
			LLVMSetAlignment(element, 1);
			values[k] = LLVMBuildInsertElement(e->builder, values[k], element,
				emit_u32(e, i), "");
		}
	}
}

void emit_store_lanes(struct emit *e, const LLVMValueRef *values, const LLVMValueRef *places,
	unsigned size, unsigned count)
{
	e->lane_accesses += LANES_WEIGH * count;
	for (unsigned i = 0; i < e->width; i++) {
		for (unsigned k = 0; k < count; k++) {
			LLVMValueRef one = LLVMBuildExtractElement(e->builder, values[k],
				emit_u32(e, i), "");
			LLVMValueRef place = lanes_part_place(e, places[i], k * size,
				LLVMTypeOf(one));
			LLVMSetAlignment(LLVMBuildStore(e->builder, one, place), 1);
		}
	}
}

/* --- In a function of C, whose arguments are arrays in memory: LLVM would write a whole vector to
 * memory and back for each element that is taken or put by number --- */

/* The struct rt_lanes of a kernel. */
static LLVMValueRef lanes_arrays(struct emit *e)
{
	if (!e->arrays) {
		const unsigned words = sizeof(struct rt_lanes) / sizeof(uint64_t);
		LLVMValueRef room = emit_room(e, LLVMArrayType(e->s.i64, words), "lanes");
		LLVMBasicBlockRef back = emit_call_visit(e);
		e->arrays = ir_bitcast(e, room, e->ptr);
		emit_entry_leave(e, back);
	}
	return e->arrays;
}

static LLVMValueRef lanes_array(struct emit *e, size_t offset, LLVMTypeRef type)
{
	return emit_at(e, lanes_arrays(e), emit_scalar(e, 64, offset), type);
}

static void lanes_put_array(struct emit *e, size_t offset, LLVMValueRef value)
{
	LLVMValueRef place = lanes_array(e, offset, LLVMTypeOf(value));
	LLVMSetAlignment(LLVMBuildStore(e->builder, value, place), sizeof(uint64_t));
}

static size_t lanes_values_of(unsigned part)
{
	return offsetof(struct rt_lanes, values)
		+ part * sizeof(((struct rt_lanes *)NULL)->values[0]);
}

void emit_put_lanes(struct emit *e, LLVMValueRef at, const LLVMValueRef *values, unsigned count)
{
	lanes_put_array(e, offsetof(struct rt_lanes, at), at);
	for (unsigned i = 0; i < count; i++) {
		lanes_put_array(e, lanes_values_of(i), values[i]);
	}
}

void emit_call_lanes(struct emit *e, size_t slot, unsigned size, unsigned count, bool store)
{
	LLVMValueRef args[] = {lanes_arrays(e), emit_active(e), emit_scalar(e, 32, size),
		emit_scalar(e, 32, count), emit_scalar(e, 32, store)};
	emit_rt_call(e, slot, LLVMVoidTypeInContext(e->context), args, countof(args));
}

static LLVMValueRef lanes_element(struct emit *e, size_t offset, LLVMTypeRef type)
{
	LLVMValueRef array = lanes_array(e, offset, type);
	LLVMValueRef lane = LLVMBuildZExt(e->builder, e->lane, e->s.i64, "");
	return LLVMBuildGEP2(e->builder, type, array, &lane, 1, "");
}

void emit_move_lanes(struct emit *e, LLVMTypeRef type, unsigned size, unsigned count, bool store)
{
	struct emit_lanes loop;
	emit_lanes_begin(e, &loop);
	LLVMValueRef at = LLVMBuildLoad2(e->builder, e->s.i64,
		lanes_element(e, offsetof(struct rt_lanes, at), e->s.i64), "");
	LLVMValueRef memory = LLVMBuildIntToPtr(e->builder, at, e->ptr, "");
	for (unsigned i = 0; i < count; i++) {
		LLVMValueRef outside = lanes_part_place(e, memory, i * size, type);
		LLVMValueRef inside = lanes_element(e, lanes_values_of(i), type);
		LLVMValueRef one = LLVMBuildLoad2(e->builder, type, store ? inside : outside, "");
		LLVMSetAlignment(one, 1);
		LLVMSetAlignment(LLVMBuildStore(e->builder, one, store ? outside : inside), 1);
	}
	emit_lanes_end(e, &loop);
}

LLVMValueRef emit_take_lanes(struct emit *e, LLVMTypeRef type, unsigned part)
{
	LLVMValueRef value = LLVMBuildLoad2(e->builder, type,
		lanes_array(e, lanes_values_of(part), type), "");
	LLVMSetAlignment(value, sizeof(uint64_t));
	return value;
}

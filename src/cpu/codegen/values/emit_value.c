/* SPDX-License-Identifier: MIT */
/*
 * Values and places: types, constants, vectors of lanes, blocks of LLVM, and short forms of the
 * builder.
 *
 * All other files of the generator use this one, and it uses nothing but struct emit.  Its idea is
 * the mode (struct emit_mode): a value is a vector of all lanes, or a scalar of one lane or of the
 * whole warp.  Code that makes instructions gets the types and constants of the mode in which it
 * runs.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_value.h"

#include <string.h>

/* --- Types and the mode --- */

LLVMTypeRef emit_int_type(struct emit *e, unsigned bits)
{
	LLVMTypeRef one = LLVMIntTypeInContext(e->context, bits);
	return emit_is_vector(e) ? LLVMVectorType(one, e->width) : one;
}

LLVMTypeRef emit_type(struct emit *e, enum ptx_type type)
{
	switch (type) {
	case PTX_F32:
		return e->f32;
	case PTX_F64:
		return e->f64;
	default:
		return emit_int_type(e, ptx_type_bits(type));
	}
}

struct emit_mode emit_set_mode(struct emit *e, struct emit_mode mode)
{
	struct emit_mode old = {e->lane, e->once};
	e->lane = mode.lane;
	e->once = mode.once;
	emit_set_types(e, emit_is_vector(e) ? &e->v : &e->s);
	return old;
}

void emit_set_types(struct emit *e, const struct emit_types *types)
{
	e->i1 = types->i1;
	e->i8 = types->i8;
	e->i16 = types->i16;
	e->i32 = types->i32;
	e->i64 = types->i64;
	e->i128 = types->i128;
	e->f32 = types->f32;
	e->f64 = types->f64;
}

/* --- Values --- */

LLVMValueRef emit_repeat(struct emit *e, LLVMValueRef constant)
{
	LLVMValueRef all[RT_MAX_WIDTH];
	for (unsigned i = 0; i < e->width; i++) {
		all[i] = constant;
	}
	return LLVMConstVector(all, e->width);
}

LLVMValueRef emit_const(struct emit *e, LLVMTypeRef type, uint64_t value)
{
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) {
		return LLVMConstInt(type, value, false);
	}
	return emit_repeat(e, LLVMConstInt(LLVMGetElementType(type), value, false));
}

LLVMValueRef emit_scalar(struct emit *e, unsigned bits, uint64_t value)
{
	return LLVMConstInt(LLVMIntTypeInContext(e->context, bits), value, false);
}

LLVMValueRef emit_splat(struct emit *e, LLVMValueRef scalar)
{
	if (!emit_is_vector(e)) {
		return scalar;
	}
	LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), e->width);
	LLVMValueRef none = LLVMGetUndef(type);
	LLVMValueRef first = LLVMBuildInsertElement(e->builder, none, scalar,
		emit_scalar(e, 32, 0), "");
	return LLVMBuildShuffleVector(e->builder, first, none, LLVMConstNull(e->v.i32), "");
}

LLVMValueRef emit_spread(struct emit *e, LLVMValueRef base, const int64_t *offsets)
{
	LLVMValueRef all[RT_MAX_WIDTH];
	LLVMTypeRef type = LLVMTypeOf(base);
	LLVMValueRef same = emit_splat(e, base);
	if (!offsets) {
		return same;
	}
	for (unsigned i = 0; i < e->width; i++) {
		all[i] = LLVMConstInt(type, (uint64_t)offsets[i], true);
	}
	return ir_add(e, same, LLVMConstVector(all, e->width));
}

LLVMValueRef emit_int(struct emit *e, unsigned bits, uint64_t value)
{
	return emit_const(e, emit_int_type(e, bits), value);
}

LLVMValueRef emit_real(struct emit *e, LLVMTypeRef type, double value)
{
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) {
		return LLVMConstReal(type, value);
	}
	return emit_repeat(e, LLVMConstReal(LLVMGetElementType(type), value));
}

LLVMValueRef emit_lane_number(struct emit *e)
{
	if (!emit_is_vector(e)) {
		return e->lane ? e->lane : emit_scalar(e, 32, 0);
	}
	LLVMValueRef all[RT_MAX_WIDTH];
	for (unsigned i = 0; i < e->width; i++) {
		all[i] = emit_scalar(e, 32, i);
	}
	return LLVMConstVector(all, e->width);
}

LLVMValueRef emit_bits(struct emit *e, LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	if (type == e->f32) {
		return ir_bitcast(e, value, e->i32);
	}
	return type == e->f64 ? ir_bitcast(e, value, e->i64) : value;
}

LLVMValueRef emit_cast(struct emit *e, LLVMValueRef value, LLVMTypeRef type)
{
	return LLVMTypeOf(value) == type ? value : ir_bitcast(e, value, type);
}

LLVMValueRef emit_resize(struct emit *e, LLVMValueRef value, LLVMTypeRef type, bool sign)
{
	if (LLVMTypeOf(value) == type) {
		return value;
	}

	LLVMTypeRef whole = type == e->f32 ? e->i32 : type == e->f64 ? e->i64 : type;
	return emit_cast(e, ir_resize(e, emit_bits(e, value), whole, sign), type);
}

LLVMValueRef emit_shuffle(struct emit *e, LLVMValueRef a, LLVMValueRef b, const unsigned *order,
	unsigned count)
{
	LLVMValueRef all[RT_MAX_WIDTH * 4];
	for (unsigned i = 0; i < count; i++) {
		all[i] = emit_u32(e, order[i]);
	}
	return LLVMBuildShuffleVector(e->builder, a, b, LLVMConstVector(all, count), "");
}

LLVMValueRef emit_join(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
	unsigned order[RT_MAX_WIDTH * 4];
	unsigned count = 2 * LLVMGetVectorSize(LLVMTypeOf(a));
	for (unsigned i = 0; i < count; i++) {
		order[i] = i;
	}
	return emit_shuffle(e, a, b, order, count);
}

LLVMValueRef emit_some_lanes(struct emit *e, LLVMValueRef a, unsigned first, unsigned count)
{
	unsigned order[RT_MAX_WIDTH];
	for (unsigned i = 0; i < count; i++) {
		order[i] = first + i;
	}
	return emit_shuffle(e, a, LLVMGetUndef(LLVMTypeOf(a)), order, count);
}

/* Eight are done twice, at once. */
LLVMValueRef emit_by_16(struct emit *e, LLVMValueRef a, emit_some_fn *fn, unsigned how)
{
	switch (e->width) {
	case 8:
		return emit_some_lanes(e, fn(e, emit_join(e, a, a), how), 0, 8);
	case 16:
		return fn(e, a, how);
	default:
		return emit_join(e, fn(e, emit_some_lanes(e, a, 0, 16), how),
			fn(e, emit_some_lanes(e, a, 16, 16), how));
	}
}

/* --- Places --- */

LLVMValueRef emit_room(struct emit *e, LLVMTypeRef type, const char *name)
{
	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	LLVMPositionBuilderBefore(e->builder,
		LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(e->fn)));
	LLVMValueRef room = LLVMBuildAlloca(e->builder, type, name);
	LLVMPositionBuilderAtEnd(e->builder, back);
	return room;
}

LLVMBasicBlockRef emit_block(struct emit *e, const char *name)
{
	return LLVMAppendBasicBlockInContext(e->context, e->fn, name);
}

void emit_enter(struct emit *e, LLVMBasicBlockRef block)
{
	LLVMBasicBlockRef from = LLVMGetInsertBlock(e->builder);
	if (e->debug && from && !LLVMGetFirstInstruction(block)) {
		/* code of one function in one piece: see emit_make_blocks_in_order */
		LLVMMoveBasicBlockAfter(block, from);
	}
	LLVMPositionBuilderAtEnd(e->builder, block);
}

bool emit_is_open(struct emit *e)
{
	return !LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder));
}

LLVMBasicBlockRef emit_entry_visit(struct emit *e)
{
	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	LLVMPositionBuilderBefore(e->builder, e->entry_end);
	return back;
}

LLVMBasicBlockRef emit_block_visit(struct emit *e)
{
	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	LLVMPositionBuilderBefore(e->builder, e->block_end);
	return back;
}

LLVMBasicBlockRef emit_call_visit(struct emit *e)
{
	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	LLVMPositionBuilderBefore(e->builder, e->call_end);
	return back;
}

void emit_entry_leave(struct emit *e, LLVMBasicBlockRef back)
{
	/* a visit within a visit? */
	LLVMValueRef const ends[] = {e->entry_end, e->block_end, e->call_end};
	for (size_t i = 0; i < countof(ends); i++) {
		if (back == LLVMGetInstructionParent(ends[i])) {
			LLVMPositionBuilderBefore(e->builder, ends[i]);
			return;
		}
	}
	LLVMPositionBuilderAtEnd(e->builder, back);
	LLVMSetCurrentDebugLocation2(e->builder, e->here);
}

void emit_fail(struct emit *e, const char *why)
{
	if (!e->failed) {
		e->failed = true;
		ptx_unsupported(e->diag, e->inst->line, e->inst->column, "instruction '%s' %s",
			ptx_rows[e->inst->op].spelling, why);
	}
}

/* --- LLVM's own functions, and what an instruction is --- */

LLVMValueRef ir_intrinsic(struct emit *e, const char *name, LLVMTypeRef *types,
	unsigned type_count, LLVMValueRef *args, unsigned count)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->ir, id, types, type_count);
	LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, types, type_count);
	return LLVMBuildCall2(e->builder, type, fn, args, count, "");
}

LLVMValueRef ir_call1(struct emit *e, const char *name, LLVMValueRef a)
{
	LLVMTypeRef type = LLVMTypeOf(a);
	return ir_intrinsic(e, name, &type, 1, &a, 1);
}

LLVMValueRef ir_call2(struct emit *e, const char *name, LLVMValueRef a, LLVMValueRef b)
{
	LLVMTypeRef type = LLVMTypeOf(a);
	LLVMValueRef args[] = {a, b};
	return ir_intrinsic(e, name, &type, 1, args, 2);
}

LLVMValueRef ir_call3(struct emit *e, const char *name, LLVMValueRef a, LLVMValueRef b,
	LLVMValueRef c)
{
	LLVMTypeRef type = LLVMTypeOf(a);
	LLVMValueRef args[] = {a, b, c};
	return ir_intrinsic(e, name, &type, 1, args, 3);
}

/* SPDX-License-Identifier: MIT */

/*
 * The frame of the generator: one LLVM function per kernel, PTX registers, operands, guards.
 *
 * The function is the coroutine of rt.h.  Its entry block holds the register slots and what never
 * changes in a call (special registers, base addresses), and ends with the switch over resume
 * points; emit_flow.c adds a case for every place where the kernel yields.  Then the basic blocks
 * of cfg.c follow one to one, and each instruction goes to the function that its row of ptx.def
 * names.  A guarded instruction becomes a branch around it: LLVM makes a select of that where it
 * pays.
 */
#include "../base/common.h"

#include "../base/alloc.h"
#include "emit.h"

#include <string.h>

static emit_fn *const emitters[PTX_OP_COUNT] = {
#define X(op, spelling, operands, types, mods, emit, note) [PTX_OP_##op] = emit,
#include "ptx.def"
#undef X
};

LLVMTypeRef emit_int_type(struct emit *e, unsigned bits)
{
	return LLVMIntTypeInContext(e->context, bits);
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

LLVMValueRef emit_int(struct emit *e, unsigned bits, uint64_t value)
{
	return LLVMConstInt(emit_int_type(e, bits), value, false);
}

LLVMValueRef emit_real(struct emit *e, LLVMTypeRef type, double value)
{
	(void)e;
	return LLVMConstReal(type, value);
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

void emit_fail(struct emit *e, const char *why)
{
	if (!e->failed) {
		e->failed = true;
		ptx_unsupported(e->diag, e->inst->line, e->inst->column, "instruction '%s' %s",
			ptx_rows[e->inst->op].spelling, why);
	}
}

/* A value of one size to a type of another: what a wider or narrower register does. */
static LLVMValueRef resize_value(struct emit *e, LLVMValueRef value, LLVMTypeRef type, bool sign)
{
	if (LLVMTypeOf(value) == type) {
		return value;
	}

	LLVMTypeRef whole = type == e->f32 ? e->i32 : type == e->f64 ? e->i64 : type;
	return emit_cast(e, ir_resize(e, emit_bits(e, value), whole, sign), type);
}

LLVMValueRef emit_use_reg(struct emit *e, unsigned reg, enum ptx_type type)
{
	LLVMTypeRef stored = emit_type(e, e->func->regs[reg].type);
	LLVMValueRef value = LLVMBuildLoad2(e->builder, stored, e->regs[reg], "");
	return resize_value(e, value, emit_type(e, type), false);
}

void emit_def_reg(struct emit *e, unsigned reg, enum ptx_type type, LLVMValueRef value)
{
	LLVMTypeRef stored = emit_type(e, e->func->regs[reg].type);
	bool sign = emit_is_signed(type);
	LLVMBuildStore(e->builder, resize_value(e, value, stored, sign), e->regs[reg]);
}

void emit_def(struct emit *e, const struct ptx_operand *operand, enum ptx_type type,
	LLVMValueRef value)
{
	if (operand->kind == PTX_REG) {
		emit_def_reg(e, operand->reg, type, value);
	}
}

/* A float constant keeps its bits when its size is that of the type, else its value. */
static LLVMValueRef use_real(struct emit *e, const struct ptx_operand *operand,
	enum ptx_type type)
{
	unsigned bits = ptx_type_bits(type);
	if (operand->real_width == bits) {
		return emit_cast(e, emit_int(e, bits, operand->real_bits), emit_type(e, type));
	}

	LLVMTypeRef real = bits == 64 ? e->f64 : e->f32;
	return resize_value(e, emit_real(e, real, operand->real), emit_type(e, type), false);
}

/* mov's {a, b, ...}: the first element is the lowest. */
static LLVMValueRef use_vector(struct emit *e, const struct ptx_operand *operand,
	enum ptx_type type)
{
	static const enum ptx_type parts[] = {PTX_B8, PTX_B16, PTX_B32, PTX_B64};
	unsigned bits = ptx_type_bits(type);
	unsigned part_bits = bits / (unsigned)operand->count;
	LLVMTypeRef whole = emit_int_type(e, bits);
	LLVMValueRef all = emit_int(e, bits, 0);

	for (size_t i = 0; i < operand->count; i++) {
		enum ptx_type part = parts[__builtin_ctz(part_bits) - 3];
		LLVMValueRef value = ir_zext(e, emit_use(e, &operand->elements[i], part), whole);
		LLVMValueRef shift = ir_zext(e, emit_int(e, 32, i * part_bits), whole);
		all = ir_or(e, all, ir_shl(e, value, shift));
	}
	return emit_cast(e, all, emit_type(e, type));
}

LLVMValueRef emit_use(struct emit *e, const struct ptx_operand *operand, enum ptx_type type)
{
	LLVMTypeRef as = emit_type(e, type);
	LLVMValueRef value;

	switch (operand->kind) {
	case PTX_REG:
		value = emit_use_reg(e, operand->reg, type);
		return operand->negated ? ir_not(e, value) : value;
	case PTX_INT:
		if (type == PTX_PRED) {
			return emit_int(e, 1, operand->value != 0);
		}
		value = LLVMConstInt(emit_int_type(e, ptx_type_bits(type)),
			(uint64_t)operand->value, true);
		return emit_cast(e, value, as);
	case PTX_FLOAT:
		return use_real(e, operand, type);
	case PTX_SREG:
		return resize_value(e, emit_sreg(e, operand->sreg), as, false);
	case PTX_ADDRESS:
		value = operand->var ? emit_var(e, operand->var) : emit_int(e, 64, 0);
		value = ir_add(e, value, emit_int(e, 64, (uint64_t)operand->value));
		return resize_value(e, value, as, false);
	case PTX_VECTOR:
		return use_vector(e, operand, type);
	default:
		emit_fail(e, "has an operand that is not supported");
		return LLVMGetUndef(as);
	}
}

LLVMBasicBlockRef emit_block(struct emit *e, const char *name)
{
	return LLVMAppendBasicBlockInContext(e->context, e->fn, name);
}

void emit_enter(struct emit *e, LLVMBasicBlockRef block)
{
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

void emit_entry_leave(struct emit *e, LLVMBasicBlockRef back)
{
	if (back == LLVMGetInstructionParent(e->entry_end)) {
		return; /* a visit within a visit */
	}
	LLVMPositionBuilderAtEnd(e->builder, back);
}

static void translate_inst(struct emit *e, const struct ptx_inst *inst)
{
	LLVMBasicBlockRef after = NULL;
	e->inst = inst;
	if (inst->has_guard) {
		LLVMBasicBlockRef then = emit_block(e, "then");
		after = emit_block(e, "after");
		LLVMValueRef guard = emit_use_reg(e, inst->guard, PTX_PRED);
		LLVMBuildCondBr(e->builder, guard, inst->guard_negated ? after : then,
			inst->guard_negated ? then : after);
		emit_enter(e, then);
	}

	if (emitters[inst->op]) {
		emitters[inst->op](e, inst);
	} else {
		emit_fail(e, "is not supported by the CPU device");
	}

	if (after) {
		if (emit_is_open(e)) {
			LLVMBuildBr(e->builder, after);
		}
		emit_enter(e, after);
	}
}

static void translate_block(struct emit *e, size_t index)
{
	const struct ptx_block *block = &e->func->blocks[index];
	e->block = index;
	emit_enter(e, e->blocks[index]);
	for (size_t i = block->first; i < block->end && !e->failed && emit_is_open(e); i++) {
		translate_inst(e, &e->func->insts[i]);
	}

	if (!emit_is_open(e)) {
		return;
	}
	if (block->succ_count > 0) {
		emit_goto(e, block->succ[0]);
	} else {
		LLVMBuildRet(e->builder, LLVMConstInt(e->i32, RT_DONE, false));
	}
}

static bool uses_carry(const struct ptx_func *func)
{
	for (size_t i = 0; i < func->inst_count; i++) {
		const struct ptx_inst *inst = &func->insts[i];
		if (ptx_has(&inst->mods, PTX_MOD_CC) || inst->op == PTX_OP_ADDC
			|| inst->op == PTX_OP_SUBC || inst->op == PTX_OP_MADC) {
			return true;
		}
	}
	return false;
}

/* Slots for the registers.  One that may be read before it is written starts as zero: PTX leaves
 * that open, but LLVM's undefined values may differ from one reading to the next. */
static void make_slots(struct emit *e)
{
	const struct ptx_func *func = e->func;
	const uint64_t *live = func->block_count ? func->blocks[0].live_in : NULL;
	for (size_t i = 0; i < func->reg_count; i++) {
		LLVMTypeRef type = emit_type(e, func->regs[i].type);
		e->regs[i] = LLVMBuildAlloca(e->builder, type, "");
		if (live && live[i / 64] >> (i % 64) & 1) {
			LLVMBuildStore(e->builder, LLVMConstNull(type), e->regs[i]);
		}
	}

	if (uses_carry(func)) {
		e->carry = LLVMBuildAlloca(e->builder, e->i1, "carry");
		LLVMBuildStore(e->builder, emit_int(e, 1, 0), e->carry);
	}
}

static void make_function(struct emit *e, const char *symbol)
{
	LLVMTypeRef params[] = {e->ptr, e->ptr, e->i32};
	LLVMTypeRef type = LLVMFunctionType(e->i32, params, countof(params), false);
	e->fn = LLVMAddFunction(e->ir, symbol, type);
	e->warp = LLVMGetParam(e->fn, 0);
	e->frame = LLVMGetParam(e->fn, 1);

	static const char nounwind[] = "nounwind";
	unsigned kind = LLVMGetEnumAttributeKindForName(nounwind, sizeof(nounwind) - 1);
	LLVMAddAttributeAtIndex(e->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
		LLVMCreateEnumAttribute(e->context, kind, 0));

	emit_enter(e, emit_block(e, "entry"));
	make_slots(e);
	for (size_t i = 0; i < e->func->block_count; i++) {
		if (e->func->blocks[i].rpo != SIZE_MAX) {
			e->blocks[i] = emit_block(e, "bb");
		}
	}
	LLVMBasicBlockRef first = e->func->block_count ? e->blocks[0] : emit_block(e, "empty");
	e->entry_end = LLVMBuildSwitch(e->builder, LLVMGetParam(e->fn, 2), first, 4);
	emit_enter(e, first);
}

static void translate(struct emit *e, const char *symbol)
{
	make_function(e, symbol);
	if (e->func->block_count == 0) {
		LLVMBuildRet(e->builder, LLVMConstInt(e->i32, RT_DONE, false));
	}
	for (size_t i = 0; i < e->func->block_count && !e->failed; i++) {
		if (e->blocks[i]) {
			translate_block(e, i);
		}
	}
}

static bool emit_init(struct emit *e)
{
	e->context = LLVMGetModuleContext(e->ir);
	e->i1 = emit_int_type(e, 1);
	e->i8 = emit_int_type(e, 8);
	e->i16 = emit_int_type(e, 16);
	e->i32 = emit_int_type(e, 32);
	e->i64 = emit_int_type(e, 64);
	e->i128 = emit_int_type(e, 128);
	e->f32 = LLVMFloatTypeInContext(e->context);
	e->f64 = LLVMDoubleTypeInContext(e->context);
	e->ptr = LLVMPointerType(e->i8, 0);
	e->builder = LLVMCreateBuilderInContext(e->context);

	const struct ptx_func *func = e->func;
	e->regs = mem_zalloc(func->reg_count + 1, sizeof(*e->regs));
	e->blocks = mem_zalloc(func->block_count + 1, sizeof(*e->blocks));
	e->spins = mem_zalloc(func->block_count + 1, sizeof(*e->spins));
	e->live = mem_zalloc(func->reg_count / 64 + 1, sizeof(*e->live));
	return (e->regs && e->blocks && e->spins && e->live && emit_find_spins(e))
		|| ptx_no_memory(e->diag);
}

bool emit_kernel(size_t *frame_size, LLVMModuleRef ir, const char *symbol, unsigned width,
	const struct ptx_module *module, const struct ptx_func *func, struct ptx_diag *diag)
{
	assert(width == 1);
	(void)width;
	struct emit e = {.ir = ir, .module = module, .func = func, .diag = diag};
	bool ok = emit_init(&e);
	if (ok) {
		translate(&e, symbol);
		ok = !e.failed;
	}

	*frame_size = e.frame_size;
	mem_free(e.regs);
	mem_free(e.blocks);
	mem_free(e.spins);
	mem_free(e.live);
	LLVMDisposeBuilder(e.builder);
	return ok;
}

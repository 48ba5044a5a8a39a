/* SPDX-License-Identifier: MIT */

/* Comparing and choosing: setp, set, selp, slct, testp. */
#include "base/common.h"

#include "cpu/codegen/ops/emit_float.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"

/* Which comparison an instruction asks for, in the four meanings that its word can have. */
static const struct compare {
	enum ptx_mod mod;
	LLVMIntPredicate is_signed;
	LLVMIntPredicate is_unsigned;
	LLVMRealPredicate is_real;
} compares[] = {
	{PTX_MOD_EQ, LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ},
	{PTX_MOD_NE, LLVMIntNE, LLVMIntNE, LLVMRealONE},
	{PTX_MOD_LT, LLVMIntSLT, LLVMIntULT, LLVMRealOLT},
	{PTX_MOD_LE, LLVMIntSLE, LLVMIntULE, LLVMRealOLE},
	{PTX_MOD_GT, LLVMIntSGT, LLVMIntUGT, LLVMRealOGT},
	{PTX_MOD_GE, LLVMIntSGE, LLVMIntUGE, LLVMRealOGE},
	{PTX_MOD_LO, LLVMIntULT, LLVMIntULT, LLVMRealPredicateFalse},
	{PTX_MOD_LS, LLVMIntULE, LLVMIntULE, LLVMRealPredicateFalse},
	{PTX_MOD_HI, LLVMIntUGT, LLVMIntUGT, LLVMRealPredicateFalse},
	{PTX_MOD_HS, LLVMIntUGE, LLVMIntUGE, LLVMRealPredicateFalse},
	{PTX_MOD_EQU, LLVMIntEQ, LLVMIntEQ, LLVMRealUEQ},
	{PTX_MOD_NEU, LLVMIntNE, LLVMIntNE, LLVMRealUNE},
	{PTX_MOD_LTU, LLVMIntSLT, LLVMIntULT, LLVMRealULT},
	{PTX_MOD_LEU, LLVMIntSLE, LLVMIntULE, LLVMRealULE},
	{PTX_MOD_GTU, LLVMIntSGT, LLVMIntUGT, LLVMRealUGT},
	{PTX_MOD_GEU, LLVMIntSGE, LLVMIntUGE, LLVMRealUGE},
	{PTX_MOD_NUM, LLVMIntEQ, LLVMIntEQ, LLVMRealORD},
	{PTX_MOD_ISNAN, LLVMIntEQ, LLVMIntEQ, LLVMRealUNO},
};

static const struct compare *cmp_compare_of(const struct ptx_inst *inst)
{
	for (size_t i = 0; i < countof(compares); i++) {
		if (ptx_has(&inst->mods, compares[i].mod)) {
			return &compares[i];
		}
	}
	return &compares[0];
}

/* Operand i as what can be compared; of a pair of halves the one that `part` says. */
static LLVMValueRef cmp_source(struct emit *e, const struct ptx_inst *inst, size_t i,
	enum ptx_type type, unsigned part)
{
	bool flush = ptx_has(&inst->mods, PTX_MOD_FTZ);
	enum ptx_type half = emit_half_type(type);
	LLVMValueRef value = emit_use(e, &inst->operands[i], type);
	if (half != type) {
		value = emit_half_part(e, value, part);
	}
	if (emit_is_half(half)) {
		value = flush ? emit_flush_half(e, value, half) : value;
		return emit_from_half(e, value, half);
	}
	return flush && type == PTX_F32 ? emit_flush(e, value) : value;
}

/* Compare operands 1 and 2, which are of the given type. */
static LLVMValueRef cmp_compare(struct emit *e, const struct ptx_inst *inst, enum ptx_type type,
	unsigned part)
{
	const struct compare *how = cmp_compare_of(inst);
	LLVMValueRef a = cmp_source(e, inst, 1, type, part);
	LLVMValueRef b = cmp_source(e, inst, 2, type, part);
	char class = ptx_type_class(emit_half_type(type));
	if (class == 'f') {
		return ir_fcmp(e, how->is_real, a, b);
	}
	return ir_icmp(e, class == 's' ? how->is_signed : how->is_unsigned, a, b);
}

/* The comparison combined with the predicate that operand 3 may be. */
static LLVMValueRef cmp_combine(struct emit *e, const struct ptx_inst *inst, LLVMValueRef is)
{
	if (inst->operand_count < 4) {
		return is;
	}
	LLVMValueRef with = emit_use(e, &inst->operands[3], PTX_PRED);
	if (ptx_has(&inst->mods, PTX_MOD_AND)) {
		return ir_and(e, is, with);
	}
	return ptx_has(&inst->mods, PTX_MOD_OR) ? ir_or(e, is, with) : ir_xor(e, is, with);
}

/* p|q: the second predicate gets the comparison negated, then combined; for a pair of halves it
 * gets the comparison of the upper ones. */
void emit_setp(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_operand *to = &inst->operands[0];
	enum ptx_type type = inst->types[0];
	LLVMValueRef is = cmp_compare(e, inst, type, 0);
	LLVMValueRef p = cmp_combine(e, inst, is);
	if (to->kind != PTX_PAIR) {
		emit_def(e, to, PTX_PRED, p);
		return;
	}
	LLVMValueRef second = emit_half_type(type) == type ? ir_not(e, is)
		: cmp_compare(e, inst, type, 1);
	LLVMValueRef q = cmp_combine(e, inst, second);
	emit_def_reg(e, emit_reg_of(to), PTX_PRED, p);
	emit_def_reg(e, emit_second_reg(to), PTX_PRED, q);
}

void emit_fsetp(struct emit *e, const struct ptx_inst *inst)
{
	emit_setp(e, inst);
}

/* What true is: 1.0 in a float, else all bits set. */
static LLVMValueRef cmp_truth(struct emit *e, enum ptx_type type)
{
	switch (type) {
	case PTX_F32:
		return emit_real(e, e->f32, 1);
	case PTX_F16:
	case PTX_F16X2:
		return emit_int(e, 16, 0x3c00);
	case PTX_BF16:
	case PTX_BF16X2:
		return emit_int(e, 16, 0x3f80);
	default:
		return LLVMConstAllOnes(emit_type(e, type));
	}
}

/* Two comparisons into the halves of the result. */
static void cmp_set_pair(struct emit *e, const struct ptx_inst *inst)
{
	enum ptx_type to = inst->types[0];
	LLVMValueRef yes = ptx_type_class(to) == 'h' ? cmp_truth(e, to) : LLVMConstAllOnes(e->i16);
	LLVMValueRef halves[2];
	for (unsigned part = 0; part < 2; part++) {
		LLVMValueRef is = cmp_combine(e, inst, cmp_compare(e, inst, inst->types[1], part));
		halves[part] = ir_select(e, is, yes, LLVMConstNull(e->i16));
	}
	emit_result(e, inst, emit_pair(e, halves[0], halves[1]));
}

void emit_set(struct emit *e, const struct ptx_inst *inst)
{
	if (emit_half_type(inst->types[1]) != inst->types[1]) {
		cmp_set_pair(e, inst);
		return;
	}
	LLVMTypeRef type = emit_type(e, inst->types[0]);
	LLVMValueRef is = cmp_combine(e, inst, cmp_compare(e, inst, inst->types[1], 0));
	LLVMValueRef value = ir_select(e, is, cmp_truth(e, inst->types[0]), LLVMConstNull(type));
	emit_result(e, inst, value);
}

void emit_fset(struct emit *e, const struct ptx_inst *inst)
{
	emit_set(e, inst);
}

void emit_selp(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_use(e, &inst->operands[1], inst->types[0]);
	LLVMValueRef b = emit_use(e, &inst->operands[2], inst->types[0]);
	LLVMValueRef which = emit_use(e, &inst->operands[3], PTX_PRED);
	emit_def(e, &inst->operands[0], inst->types[0], ir_select(e, which, a, b));
}

/* a if c >= 0, else b; b when c is not a number. */
void emit_slct(struct emit *e, const struct ptx_inst *inst)
{
	LLVMValueRef a = emit_use(e, &inst->operands[1], inst->types[0]);
	LLVMValueRef b = emit_use(e, &inst->operands[2], inst->types[0]);
	LLVMValueRef c = emit_use(e, &inst->operands[3], inst->types[1]);
	LLVMValueRef which;
	if (inst->types[1] == PTX_F32) {
		c = ptx_has(&inst->mods, PTX_MOD_FTZ) ? emit_flush(e, c) : c;
		which = ir_fcmp(e, LLVMRealOGE, c, emit_real(e, e->f32, 0));
	} else {
		which = ir_icmp(e, LLVMIntSGE, c, emit_int(e, 32, 0));
	}
	emit_def(e, &inst->operands[0], inst->types[0], ir_select(e, which, a, b));
}

/* The magnitude's bits tell the class: subnormals below the smallest normal, then normals, then
 * infinity, then NaNs.  PTX ISA 9.7.3.2: zeros are normal. */
void emit_testp(struct emit *e, const struct ptx_inst *inst)
{
	bool is_double = inst->types[0] == PTX_F64;
	unsigned width = is_double ? 64 : 32;
	uint64_t one = is_double ? UINT64_C(1) << 52 : UINT64_C(1) << 23;
	LLVMValueRef infinity = emit_int(e, width, is_double ? one * 0x7ff : one * 0xff);
	LLVMValueRef normal = emit_int(e, width, one);
	LLVMValueRef bits = emit_bits(e, emit_use(e, &inst->operands[1], inst->types[0]));
	LLVMValueRef size = ir_and(e, bits, emit_int(e, width, (UINT64_C(1) << (width - 1)) - 1));
	LLVMValueRef finite = ir_icmp(e, LLVMIntULT, size, infinity);
	LLVMValueRef zero = ir_icmp(e, LLVMIntEQ, size, emit_int(e, width, 0));
	LLVMValueRef is;

	if (ptx_has(&inst->mods, PTX_MOD_FINITE)) {
		is = finite;
	} else if (ptx_has(&inst->mods, PTX_MOD_INFINITE)) {
		is = ir_icmp(e, LLVMIntEQ, size, infinity);
	} else if (ptx_has(&inst->mods, PTX_MOD_NUMBER)) {
		is = ir_icmp(e, LLVMIntULE, size, infinity);
	} else if (ptx_has(&inst->mods, PTX_MOD_NOTANUMBER)) {
		is = ir_icmp(e, LLVMIntUGT, size, infinity);
	} else if (ptx_has(&inst->mods, PTX_MOD_NORMAL)) {
		is = ir_and(e, finite,
			ir_or(e, zero, ir_icmp(e, LLVMIntUGE, size, normal)));
	} else {
		is = ir_and(e, ir_icmp(e, LLVMIntULT, size, normal), ir_not(e, zero));
	}
	emit_def(e, &inst->operands[0], PTX_PRED, is);
}

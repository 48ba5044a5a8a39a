/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_VALUES_EMIT_VALUE_H
#define CPU_CODEGEN_VALUES_EMIT_VALUE_H

/* Values: types, constants, registers, operands; and short forms of the builder. */
#include "cpu/codegen/values/emit.h"

/* emit_value.c: values */
LLVMTypeRef emit_type(struct emit *e, enum ptx_type type);
LLVMTypeRef emit_int_type(struct emit *e, unsigned bits);
LLVMValueRef emit_int(struct emit *e, unsigned bits, uint64_t value);
LLVMValueRef emit_real(struct emit *e, LLVMTypeRef type, double value);
LLVMValueRef emit_repeat(struct emit *e, LLVMValueRef constant); /* in every lane: a vector */
/* The same integer in every lane of a type; the same scalar. */
LLVMValueRef emit_const(struct emit *e, LLVMTypeRef type, uint64_t value);
LLVMValueRef emit_splat(struct emit *e, LLVMValueRef scalar);
LLVMValueRef emit_scalar(struct emit *e, unsigned bits, uint64_t value); /* not of lanes */
static inline LLVMValueRef emit_u32(struct emit *e, uint64_t value)
{
	return emit_scalar(e, 32, value);
}
/* Room for a scalar or more, in the entry. */
LLVMValueRef emit_room(struct emit *e, LLVMTypeRef type, const char *name);
/* The number of the lane: 0 at W = 1, a vector at W = 32. */
LLVMValueRef emit_lane_number(struct emit *e);
static inline bool emit_is_vector(const struct emit *e)
{
	return e->width > 1 && !e->lane && !e->once;
}
/* What values are: vectors, of one lane, or the warp's.  Gives the mode from before. */
struct emit_mode {
	LLVMValueRef lane;
	bool once;
};
struct emit_mode emit_set_mode(struct emit *e, struct emit_mode mode);
static inline struct emit_mode emit_begin_once(struct emit *e)
{
	return emit_set_mode(e, (struct emit_mode){NULL, true});
}
/* Scalars to lanes: the same for all, but for offsets; NULL: none. */
LLVMValueRef emit_spread(struct emit *e, LLVMValueRef base, const int64_t *offsets);
void emit_set_types(struct emit *e, const struct emit_types *types);

/* A value of one size to a type of another: what a wider or narrower register does. */
LLVMValueRef emit_resize(struct emit *e, LLVMValueRef value, LLVMTypeRef type, bool sign);
/* Reinterpret: as an integer; as any type of the same size. */
LLVMValueRef emit_bits(struct emit *e, LLVMValueRef value);
LLVMValueRef emit_cast(struct emit *e, LLVMValueRef value, LLVMTypeRef type);

/* A vector of some elements of two others, by number. */
LLVMValueRef emit_shuffle(struct emit *e, LLVMValueRef a, LLVMValueRef b, const unsigned *order,
	unsigned count);
/* Concatenate two vectors of one type. */
LLVMValueRef emit_join(struct emit *e, LLVMValueRef a, LLVMValueRef b);
/* Lanes of a vector, from one on. */
LLVMValueRef emit_some_lanes(struct emit *e, LLVMValueRef a, unsigned first, unsigned count);
/* Of a vector of all lanes, what a function makes of 16 of them at a time. */
typedef LLVMValueRef emit_some_fn(struct emit *e, LLVMValueRef some, unsigned how);
LLVMValueRef emit_by_16(struct emit *e, LLVMValueRef a, emit_some_fn *fn, unsigned how);

/* emit_value.c: places */
LLVMBasicBlockRef emit_block(struct emit *e, const char *name); /* a new one, not entered */
void emit_enter(struct emit *e, LLVMBasicBlockRef block);
bool emit_is_open(struct emit *e);                  /* the current block has no terminator yet */
/* Build in the entry, which dominates everything, until emit_entry_leave: what is so for all warps
 * that a call runs, what is one block's, or what is one warp's. */
LLVMBasicBlockRef emit_call_visit(struct emit *e);
LLVMBasicBlockRef emit_block_visit(struct emit *e);
LLVMBasicBlockRef emit_entry_visit(struct emit *e);
void emit_entry_leave(struct emit *e, LLVMBasicBlockRef back);
void emit_fail(struct emit *e, const char *why); /* "instruction 'ld' <why>"; first one wins */

/* emit_slots.c: registers */
void emit_note_kept(struct emit *e); /* find out which are; where control comes from elsewhere */
void emit_note_entries(struct emit *e);
bool emit_note_framed(struct emit *e); /* which have their slot in the frame; false: no memory */
void emit_make_slots(struct emit *e);
/* Of the converged version, or of a team's member: make the phis of all blocks; note what they get
 * from the block that is being made, or from the start; join what an instruction has made under a
 * guard, after it, with what there was. */
void emit_make_phis(struct emit *e, const LLVMBasicBlockRef *blocks);
void emit_fill_phis(struct emit *e, size_t block, bool is_start);
void emit_merge_values(struct emit *e, LLVMBasicBlockRef then, LLVMBasicBlockRef before);
/* A register that may be read before it is written starts as zero: PTX leaves that open, but LLVM's
 * undefined values may differ from one reading to the next. */
void emit_clear_slots(struct emit *e);
/* The register of an operand, and the number of the value that is read or written (ssa.h). */
static inline struct ptx_held emit_reg_of(const struct ptx_operand *operand)
{
	return (struct ptx_held){operand->reg, operand->value_of};
}
static inline struct ptx_held emit_second_reg(const struct ptx_operand *operand)
{
	return (struct ptx_held){operand->reg2, operand->value_of2};
}
/* What a register has at the end of the block that is being made, which has several successors; at
 * the start, zero. */
struct ptx_held emit_reg_at_end(const struct emit *e, unsigned reg);
LLVMValueRef emit_use_reg(struct emit *e, struct ptx_held from, enum ptx_type type);
void emit_def_reg(struct emit *e, struct ptx_held to, enum ptx_type type, LLVMValueRef value);
/* Go to the mode of what is in a register's slot; gives the one from before. */
struct emit_mode emit_slot_mode(struct emit *e, unsigned reg);
/* W = 32: do all lanes have it alike? */
static inline bool emit_is_same(const struct emit *e, unsigned reg)
{
	return !e->strategy->is_scalar && uniformity_is_uniform(&e->uniformity.regs[reg]);
}
/* An instruction's guard, a scalar if all lanes have it alike. */
LLVMValueRef emit_use_guard(struct emit *e, const struct ptx_inst *inst);
/* Write a slot, in the lanes that run. */
void emit_store_slot(struct emit *e, LLVMValueRef value, LLVMValueRef slot);

/* emit_sreg.c */
LLVMValueRef emit_sreg(struct emit *e, enum ptx_sreg sreg);
/* Whether warps of a block have different values. */
bool emit_is_of_warp(enum ptx_sreg sreg);

/* emit_operand.c: what an operand is as a value of a type; write a result. */
LLVMValueRef emit_use(struct emit *e, const struct ptx_operand *operand, enum ptx_type type);
/* W = 32: whether an operand is an integer that is known, the same in all lanes. */
bool emit_is_known(const struct emit *e, const struct ptx_operand *operand, uint64_t *value);
/* A value shorter than the register is extended, by its sign if the type has one. */
void emit_def(struct emit *e, const struct ptx_operand *operand, enum ptx_type type,
	LLVMValueRef value);

static inline bool emit_is_signed(enum ptx_type type)
{
	return ptx_type_class(type) == 's';
}

/* Operand i of an instruction, and its result, as the instruction's first type. */
static inline LLVMValueRef emit_arg(struct emit *e, const struct ptx_inst *inst, size_t i)
{
	return emit_use(e, &inst->operands[i], inst->types[0]);
}

static inline void emit_result(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	emit_def(e, &inst->operands[0], inst->types[0], value);
}

/* Short forms of the builder, used everywhere. */
#define IR_BINARY(X) \
	X(add, LLVMBuildAdd) X(sub, LLVMBuildSub) X(mul, LLVMBuildMul) \
	X(sdiv, LLVMBuildSDiv) X(udiv, LLVMBuildUDiv) \
	X(srem, LLVMBuildSRem) X(urem, LLVMBuildURem) \
	X(and, LLVMBuildAnd) X(or, LLVMBuildOr) X(xor, LLVMBuildXor) \
	X(shl, LLVMBuildShl) X(lshr, LLVMBuildLShr) X(ashr, LLVMBuildAShr) \
	X(fadd, LLVMBuildFAdd) X(fsub, LLVMBuildFSub) X(fmul, LLVMBuildFMul) X(fdiv, LLVMBuildFDiv)
#define X(name, build) \
	static inline LLVMValueRef ir_##name(struct emit *e, LLVMValueRef a, LLVMValueRef b) \
	{ \
		return build(e->builder, a, b, ""); \
	}
IR_BINARY(X)
#undef X

#define IR_CAST(X) \
	X(zext, LLVMBuildZExtOrBitCast) X(sext, LLVMBuildSExtOrBitCast) \
	X(trunc, LLVMBuildTruncOrBitCast) X(bitcast, LLVMBuildBitCast) \
	X(fpext, LLVMBuildFPExt) X(fptrunc, LLVMBuildFPTrunc) \
	X(sitofp, LLVMBuildSIToFP) X(uitofp, LLVMBuildUIToFP)
#define X(name, build) \
	static inline LLVMValueRef ir_##name(struct emit *e, LLVMValueRef a, LLVMTypeRef type) \
	{ \
		return build(e->builder, a, type, ""); \
	}
IR_CAST(X)
#undef X

static inline LLVMValueRef ir_icmp(struct emit *e, LLVMIntPredicate is, LLVMValueRef a,
	LLVMValueRef b)
{
	return LLVMBuildICmp(e->builder, is, a, b, "");
}

static inline LLVMValueRef ir_fcmp(struct emit *e, LLVMRealPredicate is, LLVMValueRef a,
	LLVMValueRef b)
{
	return LLVMBuildFCmp(e->builder, is, a, b, "");
}

static inline LLVMValueRef ir_select(struct emit *e, LLVMValueRef which, LLVMValueRef yes,
	LLVMValueRef no)
{
	return LLVMBuildSelect(e->builder, which, yes, no, "");
}

static inline LLVMValueRef ir_not(struct emit *e, LLVMValueRef a)
{
	return LLVMBuildNot(e->builder, a, "");
}

static inline LLVMValueRef ir_neg(struct emit *e, LLVMValueRef a)
{
	return LLVMBuildNeg(e->builder, a, "");
}

static inline LLVMValueRef ir_fneg(struct emit *e, LLVMValueRef a)
{
	return LLVMBuildFNeg(e->builder, a, "");
}

/* With constants. */

static inline LLVMValueRef ir_shl_by(struct emit *e, LLVMValueRef a, uint64_t count)
{
	return ir_shl(e, a, emit_const(e, LLVMTypeOf(a), count));
}

static inline LLVMValueRef ir_lshr_by(struct emit *e, LLVMValueRef a, uint64_t count)
{
	return ir_lshr(e, a, emit_const(e, LLVMTypeOf(a), count));
}

static inline LLVMValueRef ir_mask(struct emit *e, LLVMValueRef a, uint64_t bits)
{
	return ir_and(e, a, emit_const(e, LLVMTypeOf(a), bits));
}

/* Bits of an integer, or of each in a vector. */
static inline unsigned ir_width(LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
	return LLVMGetIntTypeWidth(vector ? LLVMGetElementType(type) : type);
}

static inline bool ir_is_f32(struct emit *e, LLVMValueRef value)
{
	return LLVMTypeOf(value) == e->f32;
}

/* To a wider or narrower integer. */
static inline LLVMValueRef ir_resize(struct emit *e, LLVMValueRef a, LLVMTypeRef type, bool sign)
{
	return LLVMBuildIntCast2(e->builder, a, type, sign, "");
}

/* A bit for each lane. */
static inline LLVMTypeRef emit_set_type(struct emit *e)
{
	return LLVMIntTypeInContext(e->context, e->width);
}

/* A set of all lanes, a bit for each. */
static inline LLVMValueRef emit_all_lanes(struct emit *e)
{
	return emit_u32(e, UINT32_MAX >> (RT_MAX_WIDTH - e->width));
}

/* A set as a vector of i1, and the other way. */
static inline LLVMValueRef emit_lanes_of_bits(struct emit *e, LLVMValueRef set)
{
	return ir_bitcast(e, ir_resize(e, set, emit_set_type(e), false), e->v.i1);
}
static inline LLVMValueRef emit_lane_bits(struct emit *e, LLVMValueRef lanes)
{
	return ir_resize(e, ir_bitcast(e, lanes, emit_set_type(e)), e->s.i32, false);
}

/* Calls of LLVM's intrinsics. ir_call1 to ir_call3 call intrinsics that are overloaded on the type
 * of their first argument. */
LLVMValueRef ir_intrinsic(struct emit *e, const char *name, LLVMTypeRef *types,
	unsigned type_count, LLVMValueRef *args, unsigned count);
LLVMValueRef ir_call1(struct emit *e, const char *name, LLVMValueRef a);
LLVMValueRef ir_call2(struct emit *e, const char *name, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef ir_call3(struct emit *e, const char *name, LLVMValueRef a, LLVMValueRef b,
	LLVMValueRef c);

#endif

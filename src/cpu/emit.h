/* SPDX-License-Identifier: MIT */
#ifndef CPU_EMIT_H
#define CPU_EMIT_H

/*
 * From a checked PTX kernel to LLVM IR: what emit.c and the families of emit_*.c share.
 *
 * Every PTX register is a stack slot (alloca) of its own type; LLVM's sroa makes values of them.
 * An instruction reads operands with emit_use, as values of the instruction's type, and writes its
 * result with emit_def.  Integers and untyped values are iN, f32 is float, f64 is double; f16 and
 * bf16 are i16 and their pairs i32, converted where they are used.
 *
 * W, the lanes that one call runs, is 1: a value of a lane is a plain scalar.  Only a few places
 * know that: emit_type, emit_int and emit_real, which make all types and constants of lanes;
 * emit_mem.c and emit_atom.c, which reach memory; and emit_flow.c, where control leaves a block.
 *
 * A failure is kept in emit.diag; building goes on with undefined values until the instruction
 * ends, so that no builder function needs a check.
 */
#include "ptx.h"
#include "rt.h"

#include <llvm-c/Core.h>

struct emit {
	const struct ptx_module *module;
	const struct ptx_func *func;
	struct ptx_diag *diag;
	bool failed;

	LLVMContextRef context;
	LLVMModuleRef ir;
	LLVMBuilderRef builder;
	LLVMTypeRef i1, i8, i16, i32, i64, i128, f32, f64;
	LLVMTypeRef ptr;                /* to i8; to anything from LLVM 15 on */
	LLVMValueRef fn, warp, frame;

	LLVMValueRef *regs;             /* slot of each PTX register */
	LLVMValueRef carry;             /* slot of the CC register; NULL if nothing uses it */
	LLVMBasicBlockRef *blocks;      /* by ptx_block; NULL if unreachable */
	bool *spins;                    /* by ptx_block: holds what threads wait with */
	uint64_t *live;                 /* bit per register, scratch */
	LLVMValueRef entry_end;         /* the switch over resume points */
	LLVMValueRef sregs[PTX_SREG_COUNT]; /* loaded in the entry when first used, */
	LLVMValueRef launch, params, globals, shared, local; /* and so are these pointers */
	uint32_t resume_count;
	size_t frame_size;

	size_t block;                   /* being translated */
	const struct ptx_inst *inst;    /* and within it */
};

/* Add the function `symbol`, which runs `width` lanes per call (1, so far), to the LLVM module;
 * *frame_size is what it keeps between calls. */
bool emit_kernel(size_t *frame_size, LLVMModuleRef ir, const char *symbol, unsigned width,
	const struct ptx_module *module, const struct ptx_func *func, struct ptx_diag *diag);

/* emit.c: values */
LLVMTypeRef emit_type(struct emit *e, enum ptx_type type);
LLVMTypeRef emit_int_type(struct emit *e, unsigned bits);
LLVMValueRef emit_int(struct emit *e, unsigned bits, uint64_t value);
LLVMValueRef emit_real(struct emit *e, LLVMTypeRef type, double value);
LLVMValueRef emit_use(struct emit *e, const struct ptx_operand *operand, enum ptx_type type);
LLVMValueRef emit_use_reg(struct emit *e, unsigned reg, enum ptx_type type);
/* A value shorter than the register is extended, by its sign if the type has one. */
void emit_def(struct emit *e, const struct ptx_operand *operand, enum ptx_type type,
	LLVMValueRef value);
void emit_def_reg(struct emit *e, unsigned reg, enum ptx_type type, LLVMValueRef value);
/* Reinterpret: as an integer; as any type of the same size. */
LLVMValueRef emit_bits(struct emit *e, LLVMValueRef value);
LLVMValueRef emit_cast(struct emit *e, LLVMValueRef value, LLVMTypeRef type);

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

/* emit.c: places */
LLVMBasicBlockRef emit_block(struct emit *e, const char *name); /* a new one, not entered */
void emit_enter(struct emit *e, LLVMBasicBlockRef block);
bool emit_is_open(struct emit *e);                  /* the current block has no terminator yet */
/* Build in the entry, which dominates everything, until emit_entry_leave. */
LLVMBasicBlockRef emit_entry_visit(struct emit *e);
void emit_entry_leave(struct emit *e, LLVMBasicBlockRef back);
void emit_fail(struct emit *e, const char *why); /* "instruction 'ld' <why>"; first one wins */

/* emit_mem.c: `base` points to i8 */
LLVMValueRef emit_field(struct emit *e, LLVMValueRef base, size_t offset, LLVMTypeRef type);
void emit_set_field(struct emit *e, LLVMValueRef base, size_t offset, LLVMValueRef value);
LLVMValueRef emit_at(struct emit *e, LLVMValueRef base, LLVMValueRef offset, LLVMTypeRef type);
LLVMValueRef emit_var(struct emit *e, const struct ptx_var *var); /* its PTX address, i64 */
LLVMValueRef emit_sreg(struct emit *e, enum ptx_sreg sreg);
/* A memory operand as a host pointer to `type`, and the space that it really is in. */
LLVMValueRef emit_address(struct emit *e, const struct ptx_operand *operand,
	enum ptx_space *space, LLVMTypeRef type);
/* Call a function of struct rt_calls, at offset `slot`; the warp is added in front. */
LLVMValueRef emit_rt_call(struct emit *e, size_t slot, LLVMTypeRef result, LLVMValueRef *args,
	unsigned count);

/* The memory model's words, as LLVM says them; NotAtomic if there are none. */
LLVMAtomicOrdering emit_order(const struct ptx_inst *inst);

/* emit_float.c: what conversions, approximations and atomics need, too */
/* As emit_arg and emit_result, with .ftz and .sat. */
LLVMValueRef emit_float_arg(struct emit *e, const struct ptx_inst *inst, size_t i);
void emit_float_result(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value);
LLVMValueRef emit_flush(struct emit *e, LLVMValueRef value);     /* f32 subnormals to zero */
LLVMValueRef emit_saturate(struct emit *e, LLVMValueRef value);  /* to [0, 1], NaN to 0 */
enum emit_round { EMIT_NEAREST, EMIT_DOWN, EMIT_UP, EMIT_ZERO, EMIT_ODD };
enum emit_round emit_round_of(const struct ptx_inst *inst);
/* The f32 nearest in a direction to the exact sum of two f64, where |err| is at most half a unit
 * in the last place of `sum`. */
LLVMValueRef emit_round_f32(struct emit *e, LLVMValueRef sum, LLVMValueRef err,
	enum emit_round round);
LLVMValueRef emit_round_f64(struct emit *e, enum rt_op op, enum emit_round round, LLVMValueRef a,
	LLVMValueRef b, LLVMValueRef c);

/* emit_flow.c */
void emit_goto(struct emit *e, size_t block);
bool emit_find_spins(struct emit *e);

/* What the rows of ptx.def name. */
typedef void emit_fn(struct emit *e, const struct ptx_inst *inst);
emit_fn emit_add, emit_addc, emit_sub, emit_subc, emit_mul, emit_mul24, emit_mad, emit_madc,
	emit_mad24, emit_div, emit_rem, emit_sad, emit_abs, emit_neg, emit_minmax, emit_dp4a,
	emit_dp2a, emit_vabsdiff4;
emit_fn emit_logic, emit_not, emit_cnot, emit_shift, emit_shf, emit_popc, emit_clz, emit_bfind,
	emit_brev, emit_bfe, emit_bfi, emit_bmsk, emit_szext, emit_lop3, emit_prmt;
emit_fn emit_setp, emit_fsetp, emit_set, emit_fset, emit_selp, emit_slct, emit_testp;
emit_fn emit_fadd, emit_fsub, emit_fmul, emit_fma, emit_fdiv, emit_rcp, emit_sqrt, emit_rsqrt,
	emit_fabs, emit_fneg, emit_fminmax, emit_copysign;
emit_fn emit_ex2, emit_lg2, emit_sin, emit_cos, emit_tanh;
emit_fn emit_mov, emit_cvt, emit_cvt_pair, emit_cvta, emit_isspacep;
emit_fn emit_ld, emit_st, emit_atom, emit_atom_cas, emit_red, emit_fence, emit_nothing;
emit_fn emit_bar_sync, emit_bar_arrive, emit_bar_red, emit_bar_warp_sync, emit_bra, emit_brx,
	emit_exit, emit_trap, emit_nanosleep;

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
	return ir_shl(e, a, LLVMConstInt(LLVMTypeOf(a), count, false));
}

static inline LLVMValueRef ir_lshr_by(struct emit *e, LLVMValueRef a, uint64_t count)
{
	return ir_lshr(e, a, LLVMConstInt(LLVMTypeOf(a), count, false));
}

static inline LLVMValueRef ir_mask(struct emit *e, LLVMValueRef a, uint64_t bits)
{
	return ir_and(e, a, LLVMConstInt(LLVMTypeOf(a), bits, false));
}

static inline unsigned ir_width(LLVMValueRef value)
{
	return LLVMGetIntTypeWidth(LLVMTypeOf(value));
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

/* LLVM intrinsics that are overloaded on the type of their first argument. */
LLVMValueRef ir_intrinsic(struct emit *e, const char *name, LLVMTypeRef *types,
	unsigned type_count, LLVMValueRef *args, unsigned count);
LLVMValueRef ir_call1(struct emit *e, const char *name, LLVMValueRef a);
LLVMValueRef ir_call2(struct emit *e, const char *name, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef ir_call3(struct emit *e, const char *name, LLVMValueRef a, LLVMValueRef b,
	LLVMValueRef c);

#endif

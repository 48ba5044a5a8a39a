/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_OPS_EMIT_FLOAT_H
#define CPU_CODEGEN_OPS_EMIT_FLOAT_H

/* Floating-point numbers: rounding, small ones, halves. */
#include "cpu/codegen/values/emit.h"

/* emit_round.c: what arithmetic, conversions, approximations and atomics need */
/* As emit_arg and emit_result, with .ftz and .sat. */
LLVMValueRef emit_float_arg(struct emit *e, const struct ptx_inst *inst, size_t i);
void emit_float_result(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value);
/* A result with both; `larger` is NULL for results that are exact where they are small, such as
 * sums, and for approximations. */
LLVMValueRef emit_float_finish(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value,
	LLVMValueRef larger);
/* Whether a value of an instruction is to be flushed. */
bool emit_is_flushed(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value);
LLVMValueRef emit_is_negative(struct emit *e, LLVMValueRef real); /* -0 and NaNs, too */
LLVMValueRef emit_flush(struct emit *e, LLVMValueRef value);     /* f32 subnormals to zero */
/* A result that may have been rounded up to 2^-126: the result of enlarged operands decides. */
LLVMValueRef emit_enlarge(struct emit *e, LLVMValueRef value);
LLVMValueRef emit_flush_rounded(struct emit *e, LLVMValueRef value, LLVMValueRef larger);
LLVMValueRef emit_saturate(struct emit *e, LLVMValueRef value);  /* to [0, 1], NaN to 0 */
enum emit_round { EMIT_NEAREST, EMIT_DOWN, EMIT_UP, EMIT_ZERO, EMIT_ODD };
enum emit_round emit_round_of(const struct ptx_inst *inst);
/* The f32 nearest in a direction to the exact sum of two f64, where |err| is at most half a unit
 * in the last place of `sum`. */
LLVMValueRef emit_round_f32(struct emit *e, LLVMValueRef sum, LLVMValueRef err,
	enum emit_round round);
/* The f32 sum of two f64 that are exact. */
LLVMValueRef emit_sum_f32(struct emit *e, LLVMValueRef a, LLVMValueRef b, enum emit_round round);
/* Directed f64 arithmetic: a sum, a product, and by a C function the rest. */
LLVMValueRef emit_sum_f64(struct emit *e, LLVMValueRef a, LLVMValueRef b, enum emit_round round);
LLVMValueRef emit_product_f64(struct emit *e, LLVMValueRef a, LLVMValueRef b,
	enum emit_round round);
LLVMValueRef emit_round_f64(struct emit *e, enum rt_op op, enum emit_round round, LLVMValueRef a,
	LLVMValueRef b, LLVMValueRef c);

/* emit_half.c: f16 and bf16 as f32, which holds both exactly, and back, rounded once */
bool emit_is_half(enum ptx_type type);
LLVMValueRef emit_from_half(struct emit *e, LLVMValueRef half, enum ptx_type type);
LLVMValueRef emit_to_half(struct emit *e, LLVMValueRef value, enum ptx_type type,
	enum emit_round round);
/* Of a pair its type of one, half 0 (the lower) or 1, and both together. */
enum ptx_type emit_half_type(enum ptx_type type);
LLVMValueRef emit_half_part(struct emit *e, LLVMValueRef pair, unsigned part);
LLVMValueRef emit_pair(struct emit *e, LLVMValueRef low, LLVMValueRef high);
/* For what treats all halves alike: one of two shares of them, which are of whatever lanes; both
 * shares to pairs again. */
LLVMValueRef emit_half_share(struct emit *e, LLVMValueRef pair, unsigned share);
LLVMValueRef emit_half_shares(struct emit *e, const LLVMValueRef shares[2]);
/* The smaller or larger of two halves, -0 being below +0; of a number and a NaN the number, or,
 * with keep_nan, a NaN. */
LLVMValueRef emit_half_min(struct emit *e, enum ptx_type type, bool min, bool keep_nan,
	LLVMValueRef a_bits, LLVMValueRef b_bits);
/* .relu of a float: nothing below zero, not even -0. */
LLVMValueRef emit_relu(struct emit *e, LLVMValueRef value);
/* An f16 or bf16 with subnormals as zeros. */
LLVMValueRef emit_flush_half(struct emit *e, LLVMValueRef half, enum ptx_type type);

/* emit_fp8.c: .satfinite of an f32: magnitudes above `most` become that, infinity too */
LLVMValueRef emit_satfinite(struct emit *e, LLVMValueRef value, double most);

/* emit_math.c: for f32 */
LLVMValueRef emit_exp2_of(struct emit *e, LLVMValueRef x);
LLVMValueRef emit_tanh_of(struct emit *e, LLVMValueRef x);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A pass for processors that widen 8 halves at a time (F16C).
 *
 * emit_half.c widens 16 of them by an intrinsic of AVX-512, which LLVM's passes leave alone: of
 * LLVM's own conversion they would make comparisons of halves, which no processor without
 * AVX512-FP16 has.  After those passes the intrinsic becomes two conversions of 8.
 */
#include "base/common.h"

#include "cpu/codegen/passes/ir_passes.h"

enum { LANES = 16, LANES_AT_ONCE = 8 };

static LLVMValueRef halves_widen(LLVMBuilderRef builder, LLVMValueRef halves, unsigned first)
{
	LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(halves));
	LLVMTypeRef half = LLVMVectorType(LLVMHalfTypeInContext(context), LANES_AT_ONCE);
	LLVMTypeRef wide = LLVMVectorType(LLVMFloatTypeInContext(context), LANES_AT_ONCE);
	LLVMValueRef order[LANES_AT_ONCE];
	for (unsigned i = 0; i < LANES_AT_ONCE; i++) {
		order[i] = LLVMConstInt(LLVMInt32TypeInContext(context), first + i, false);
	}
	LLVMValueRef some = LLVMBuildShuffleVector(builder, halves,
		LLVMGetUndef(LLVMTypeOf(halves)), LLVMConstVector(order, LANES_AT_ONCE), "");
	return LLVMBuildFPExt(builder, LLVMBuildBitCast(builder, some, half, ""), wide, "");
}

static void halves_replace(LLVMBuilderRef builder, LLVMValueRef call)
{
	LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(call));
	LLVMValueRef halves = LLVMGetOperand(call, 0), order[LANES];
	LLVMPositionBuilderBefore(builder, call);
	for (unsigned i = 0; i < LANES; i++) {
		order[i] = LLVMConstInt(LLVMInt32TypeInContext(context), i, false);
	}
	LLVMValueRef low = halves_widen(builder, halves, 0);
	LLVMValueRef high = halves_widen(builder, halves, LANES_AT_ONCE);
	LLVMReplaceAllUsesWith(call, LLVMBuildShuffleVector(builder, low, high,
		LLVMConstVector(order, LANES), ""));
	LLVMInstructionEraseFromParent(call);
}

void pass_halves(LLVMModuleRef ir)
{
	LLVMValueRef fn = LLVMGetNamedFunction(ir, PASS_HALVES_WIDEN);
	if (!fn) {
		return;
	}
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(ir));
	LLVMUseRef next;
	for (LLVMUseRef use = LLVMGetFirstUse(fn); use; use = next) {
		next = LLVMGetNextUse(use);
		halves_replace(builder, LLVMGetUser(use));
	}
	LLVMDeleteFunction(fn);
	LLVMDisposeBuilder(builder);
}

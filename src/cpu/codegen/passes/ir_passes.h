/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_PASSES_IR_PASSES_H
#define CPU_CODEGEN_PASSES_IR_PASSES_H

/* Our passes over LLVM IR, once registers are values. */
#include "base/common.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

/* passes/base_addresses.c: give addresses a base pointer that loops do not change. */
void pass_base_addresses(LLVMValueRef fn);

/* passes/no_wrap.c: test by scalars whether lanes are neighbours, where indexes do not wrap
 * around. */
void pass_no_wrap(LLVMValueRef fn, unsigned lanes);

/* passes/nontemporal_loops.c: non-temporal stores in vectorised loops; whether it made any. */
bool pass_nontemporal_loops(LLVMValueRef fn, LLVMTargetDataRef layout);

/* passes/induction.c: split induction variables of vectors.  False: no memory. */
bool pass_induction(LLVMValueRef fn);

/* passes/halves.c: calls of this intrinsic become what processors with F16C have. */
#define PASS_HALVES_WIDEN "llvm.x86.avx512.mask.vcvtph2ps.512"
void pass_halves(LLVMModuleRef ir);

/* passes/gathers.c: gathers and scatters by the instructions of x86 processors. */
enum gather_level { GATHER_NONE, GATHER_AVX2, GATHER_AVX512 };
/* Metadata of a store of addresses to rt_warp.at, behind the store to rt_warp.lane. */
#define PASS_GATHERS_NOTE "kudzu.places"
/* `notes`: those, too. */
void pass_gathers(LLVMModuleRef ir, LLVMValueRef fn, enum gather_level level, unsigned lanes,
	bool notes);

#endif

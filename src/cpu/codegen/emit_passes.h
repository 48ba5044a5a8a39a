/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_EMIT_PASSES_H
#define CPU_CODEGEN_EMIT_PASSES_H

/* Our passes over LLVM IR, once registers are values. */
#include "base/common.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

/* emit_base.c: give addresses a base pointer that loops do not change. */
void emit_base_addresses(LLVMValueRef fn);

/* emit_wrap.c: test by scalars whether lanes are neighbours, where indexes do not wrap around. */
void emit_answer_wraps(LLVMValueRef fn);

/* emit_bypass_loop.c: non-temporal stores in vectorised loops. */
void emit_bypass_loops(LLVMValueRef fn, LLVMTargetDataRef layout);

/* emit_drift.c: split induction variables of vectors.  False: no memory. */
bool emit_part_drifts(LLVMValueRef fn);
/* emit_bunch.c, last: reorder sums of more than `room` bits.  False: no memory. */
bool emit_bunch_sums(LLVMValueRef fn, unsigned room);

#endif

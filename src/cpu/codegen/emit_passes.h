/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_EMIT_PASSES_H
#define CPU_CODEGEN_EMIT_PASSES_H

/* Passes over what the generator has made, once registers are values of LLVM. */
#include "base/common.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

/* emit_base.c: count addresses from pointers that loops do not change. */
void emit_base_addresses(LLVMValueRef fn);

/* emit_wrap.c: answer by scalars whether lanes are neighbours, where their indexes do not wrap. */
void emit_answer_wraps(LLVMValueRef fn);

/* emit_bypass_loop.c: loops that became vectors may store past the cache. */
void emit_bypass_loops(LLVMValueRef fn, LLVMTargetDataRef layout);

/* emit_drift.c: take vectors apart to which loops add the same in all lanes.  False: no memory. */
bool emit_part_drifts(LLVMValueRef fn);
/* emit_bunch.c, last: sums of more than `room` bits come in bunches.  False: no memory. */
bool emit_bunch_sums(LLVMValueRef fn, unsigned room);

#endif

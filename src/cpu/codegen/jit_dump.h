/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_JIT_DUMP_H
#define CPU_CODEGEN_JIT_DUMP_H

/* What becomes of a kernel, as text, in files: for `kudzu dump`, and for whoever works on
 * emit.c. */
#include "cpu/ptx/ptx.h"

#include <llvm-c/TargetMachine.h>

/*
 * Write KERNEL.ll and KERNEL.s, the IR as it goes to the code generator and what that makes of it,
 * into settings_dump_folder(); files of that name are replaced.  The module stays as it is.  False,
 * with the reason in diag, when they cannot be made or written.
 */
bool jit_dump(LLVMTargetMachineRef machine, LLVMModuleRef ir, const struct ptx_func *func,
	struct ptx_diag *diag);

#endif

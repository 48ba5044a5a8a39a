/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_JIT_DUMP_H
#define CPU_CODEGEN_JIT_DUMP_H

/* The IR and the assembly of a kernel, in files: for `kudzu dump`, and for work on the
 * generator. */
#include "cpu/ptx/ptx.h"

#include <llvm-c/TargetMachine.h>

/*
 * Write KERNEL.ll, the IR that LLVM's code generator gets, and KERNEL.s, what it makes of that,
 * into settings_dump_folder().  Existing files are replaced, and the module does not change.
 * False, with the reason in diag, on failure.
 */
bool jit_dump(LLVMTargetMachineRef machine, LLVMModuleRef ir, const struct ptx_func *func,
	struct ptx_diag *diag);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_RUN_PASSES_H
#define CPU_CODEGEN_RUN_PASSES_H

/* From a kernel's LLVM IR to the IR that code is generated for. */
#include "cpu/codegen/jit_llvm.h"
#include "cpu/codegen/passes/ir_passes.h"

#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>

struct compile {
	LLVMModuleRef ir;
	const struct jit_order *order;
	LLVMTargetMachineRef machine;
	LLVMTargetDataRef layout;
	enum gather_level gathers;    /* the processor's */
	LLVMErrorRef error;           /* of LLVM; NULL: there is none */
	LLVMValueRef fn;              /* the kernel */
};

/* Run all passes.  False: no memory, or `error` is set, which is the caller's then. */
bool compile_run_passes(struct compile *c);

#endif

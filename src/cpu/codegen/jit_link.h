/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_JIT_LINK_H
#define CPU_CODEGEN_JIT_LINK_H

/* LLVM's linker, for objects that code.c does not load. */
#include "cpu/codegen/jit_llvm.h"

#include <llvm-c/Error.h>

struct jit_linker;

/* Add an object file, which may call `callees`, and find its function `symbol`, a name that no
 * other object has.  If *linker is NULL it is made first. */
bool jit_linker_add(uintptr_t *out, struct jit_linker **linker, const struct jit_callee *callees,
	const void *object, size_t size, const char *symbol, struct ptx_diag *diag);
void jit_linker_release(struct jit_linker *linker); /* NULL is fine; its code is gone */

/* "LLVM cannot <what>: ..."; takes the error.  Always false. */
bool jit_linker_fail(struct ptx_diag *diag, int line, const char *what, LLVMErrorRef error);

#endif

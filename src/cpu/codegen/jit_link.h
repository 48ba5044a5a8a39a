/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_JIT_LINK_H
#define CPU_CODEGEN_JIT_LINK_H

/* LLVM's linker, for objects that code.c does not load. */
#include "cpu/codegen/jit_llvm.h"

#include <llvm-c/Error.h>

struct jit_linker;

/* Objects may call `callees`, JIT_CALLEE_COUNT of them. */
bool jit_linker_create(struct jit_linker **out, const struct jit_callee *callees,
	struct ptx_diag *diag);
/* Add an object file, and find its function `symbol`, a name that no other object has. */
bool jit_linker_add(uintptr_t *out, struct jit_linker *linker, const void *object, size_t size,
	const char *symbol, struct ptx_diag *diag);
void jit_linker_release(struct jit_linker *linker); /* NULL is fine; its code is gone */

/* "LLVM cannot <what>: ..."; takes the error.  Always false. */
bool jit_linker_fail(struct ptx_diag *diag, int line, const char *what, LLVMErrorRef error);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_JIT_CODE_H
#define CPU_JIT_CODE_H

/* Object files of kernels, in memory, to code that can run. */
#include "cpu/codegen/jit_llvm.h"

/* All that compiled code may call by name. */
extern const struct jit_callee code_callees[JIT_CALLEE_COUNT];

struct code {
	void *memory;       /* a mapping of its own */
	size_t size;
	size_t text_size;   /* bytes of machine code in it */
	uintptr_t entry;    /* the function that was asked for */
	struct debugger_code *debugger; /* what debuggers know of it; NULL: nothing */
	bool no_memory;     /* to tell them, so that it was not loaded */
};

/*
 * Load an object file and find the function `symbol` in it.  False if it is damaged or not as our
 * code generator makes them on x86-64: then LLVM's linker may know more.  Nothing in the object is
 * trusted but the code itself.
 */
bool code_load(struct code *out, const void *object, size_t size, const char *symbol);
void code_unload(struct code *code); /* an empty one is fine */

/* Tests: refuse everything, as on other processors. */
void code_refuse(bool all);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_JIT_DEBUGGER_H
#define CPU_JIT_DEBUGGER_H

/* Shows the code of kernels to debuggers. */
#include "base/common.h"

struct debugger_code;

/* Tell debuggers of an object file whose sections have the addresses at which they are loaded.
 * Takes the object, which mem_alloc has made.  NULL: no memory, and the object is freed. */
struct debugger_code *debugger_add(void *object, size_t size);
/* The code is about to be unloaded.  NULL is fine. */
void debugger_remove(struct debugger_code *code);

#endif

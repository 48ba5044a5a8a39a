/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_FLATTEN_H
#define CPU_IR_FLATTEN_H

/*
 * cpu/ir changes and analyses a function of PTX before code is made of it: it flattens calls,
 * lowers instructions, cuts basic blocks, and finds what is uniform.  Each file is one step.
 *
 * This header: flattening.  A kernel and all functions that it may call become one list of
 * instructions.
 */
#include "cpu/ptx/ptx.h"

/* Bytes of our stack for each byte of CU_LIMIT_STACK_SIZE.  Recursive functions keep values in
 * memory, aligned to 16, that a GPU keeps in registers. */
#define FLATTEN_STACK_FACTOR 8

/* Whether flattening would change a function; if not, the function depends on no other. */
bool flatten_is_needed(const struct ptx_func *func);

/* Flatten a checked module, and give its functions addresses.  False, with the reason in diag, if a
 * kernel calls a function that does not exist or is not supported, or if memory runs out. */
bool flatten_module(struct ptx_module *module, struct ptx_diag *diag);
/* The same of a kernel that was parsed later, in a module where no function's address is taken. */
bool flatten_function(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

#endif

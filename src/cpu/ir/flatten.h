/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_FLATTEN_H
#define CPU_IR_FLATTEN_H

/* Every kernel becomes one list of instructions, with all functions that it may call in it. */
#include "cpu/ptx/ptx.h"

/* Bytes of our stack for each byte of CU_LIMIT_STACK_SIZE: recursive functions keep in memory what
 * a GPU's keep in registers, and aligned to 16. */
#define FLATTEN_STACK_FACTOR 8

/* Whether a function has anything that flattening changes; where not, it depends on no other
 * one. */
bool flatten_is_needed(const struct ptx_func *func);

/* The module is a checked one.  False, with the reason in diag, if a kernel calls what does not
 * exist or is not supported, or memory runs out.  Functions get their addresses, too. */
bool flatten_module(struct ptx_module *module, struct ptx_diag *diag);
/* The same of a kernel that was parsed later, in a module where no function's address is taken. */
bool flatten_function(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_BLAME_H
#define CPU_IR_BLAME_H

/* Which instruction is to blame for a value that went wrong: the checks `nan` and `int`. */
#include "cpu/ptx/ptx.h"

/* Follow the blame of all values (base/checks.h) of a function that is lowered and has no blocks
 * yet.  A function that has it already does not change.  False: no memory. */
bool blame_func(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);

#endif

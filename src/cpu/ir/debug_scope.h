/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_DEBUG_SCOPE_H
#define CPU_IR_DEBUG_SCOPE_H

/* For debuggers: in which function, inlined or not, an instruction is, and where the variables of
 * the source are. */
#include "cpu/ptx/ptx.h"

/* Fill in the scopes of a parsed function, and of its instructions, to which it adds notes.  False:
 * no memory. */
bool debug_describe(struct ptx_module *module, struct ptx_func *func);

#endif

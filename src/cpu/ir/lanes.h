/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_LANES_H
#define CPU_IR_LANES_H

/* How many lanes of a warp run together; see lanes.c. */
#include "cpu/ptx/ptx.h"

/* For blocks of a class (block_class.h): 8, 16 or 32.  `wanted` is what the user asks for, or 0 for
 * what is best. */
unsigned lanes_for(const struct ptx_func *func, unsigned class, unsigned wanted);

#endif

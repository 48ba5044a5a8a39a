/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_USES_H
#define CPU_IR_USES_H

/* Which registers decide something, and are not only copied. */
#include "cpu/ptx/ptx.h"

/* Which halves of a 64-bit register decide something.  A smaller register has only the lower. */
enum { USES_LOW = 1, USES_HIGH = 2 };

/* The halves of each register.  Freed with mem_free; NULL: no memory. */
uint8_t *uses_analyze(const struct ptx_func *func);
/* Whether some of what a load writes decides something. */
bool uses_of_load(const uint8_t *uses, const struct ptx_inst *load);
/* Whether an atomic operation only exchanges: it loads a value and stores another one. */
bool uses_exchanges(const struct ptx_inst *inst);
/* Whether what an instruction loads surely decides something before the end of its block: a branch,
 * whether there is a store, an address, or a result that is stored. */
bool uses_surely(const struct ptx_func *func, const struct ptx_block *block,
	const struct ptx_inst *load);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_YIELD_H
#define CPU_IR_YIELD_H

/* Loops in which threads may wait for what others do. */
#include "cpu/ptx/ptx.h"

/* False: nothing that it does looks as if threads waited for others. */
bool spin_is_possible(const struct ptx_func *func);

/* Set spins[block] for their headers.  False: no memory. */
bool spin_find(const struct ptx_func *func, bool *spins);

#endif

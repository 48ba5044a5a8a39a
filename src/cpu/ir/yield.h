/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_YIELD_H
#define CPU_IR_YIELD_H

/* Loops in which threads may wait for what others do. */
#include "cpu/ptx/ptx.h"

/* False: nothing that it does looks as if threads waited for others. */
bool yield_is_needed(const struct ptx_func *func);

/* Set yield_points[block] for their headers.  False: no memory. */
bool yield_find_points(const struct ptx_func *func, bool *yield_points);

#endif

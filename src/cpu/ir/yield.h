/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_YIELD_H
#define CPU_IR_YIELD_H

/* Yield points: headers of loops in which threads may wait for others; see yield.c. */
#include "cpu/ptx/ptx.h"

/* False: no instruction of the function lets one thread wait for another. */
bool yield_is_needed(const struct ptx_func *func);

/* Set yield_points[block] for the headers.  False: no memory. */
bool yield_find_points(const struct ptx_func *func, bool *yield_points);

#endif

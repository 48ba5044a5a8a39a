/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_SPLIT_H
#define CPU_IR_SPLIT_H

/* Whether the .local memory of a warp can be split into words; see split.c. */
#include "cpu/ptx/ptx.h"

bool split_is_possible(const struct ptx_func *func);

#endif

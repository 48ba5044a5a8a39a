/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_LOCAL_INTERLEAVE_H
#define CPU_IR_LOCAL_INTERLEAVE_H

/* Whether the .local memory of a warp can be interleaved word by word; see local_interleave.c. */
#include "cpu/ptx/ptx.h"

bool local_interleave_is_possible(const struct ptx_func *func);

#endif

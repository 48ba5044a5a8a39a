/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_TEAM_H
#define CPU_IR_TEAM_H

/* Whether the warps of a block can run as a team, interleaved in one call; see team.c. */
#include "cpu/ptx/ptx.h"

enum { TEAM_MOST = 8 };

bool team_is_possible(const struct ptx_func *func);
/* What to compile a kernel for, of which that is true, to run blocks of this size: a class of
 * block_class.h, with a team if there can be one. */
unsigned team_class_of(const uint32_t block[3]);

#endif

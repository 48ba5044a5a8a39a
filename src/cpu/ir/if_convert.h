/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_IF_CONVERT_H
#define CPU_IR_IF_CONVERT_H

/*
 * If-conversion: which branches are small enough that a warp whose lanes part goes through all
 * blocks up to where its ways meet again, in their order, each under a mask.  This is the control
 * flow linearization of Allen et al. (1983).
 */
#include "cpu/ptx/ptx.h"

enum { IF_CONVERT_BLOCKS = 16, IF_CONVERT_PHIS = 64 };

/* The blocks between a branch and its immediate post-dominator, in reverse post-order. */
struct if_region {
	size_t from, join;
	size_t blocks[IF_CONVERT_BLOCKS];
	size_t count;
};

/* False: a block does not end in a branch that is followed by few instructions, which never wait,
 * are in no loop, and are reached by that branch alone. */
bool if_convert_find(struct if_region *out, const struct ptx_func *func, size_t block);
bool if_convert_suits(const struct ptx_func *func, size_t block);

#endif

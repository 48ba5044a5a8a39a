/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_IF_CONVERT_H
#define CPU_IR_IF_CONVERT_H

/*
 * If-conversion: which branches are small enough that a warp whose lanes part does both sides, one
 * after the other, each under a mask.
 */
#include "cpu/ptx/ptx.h"

/* Whether a block ends in an `if`, with or without an `else`, of few instructions that never wait.
 * The sides meet in its immediate post-dominator. */
bool if_convert_suits(const struct ptx_func *func, size_t block);

#endif

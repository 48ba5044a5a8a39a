/* SPDX-License-Identifier: MIT */
#ifndef GRID_H
#define GRID_H

/*
 * Compile one PTX kernel and run a block or a grid of it, by the launcher, with warps of any width.
 * Kernels are made of a body: %rd0 points to grid.memory, %rd9 to the GRID_WORDS words there of the
 * thread, whose number is %r0.
 */
#include "../src/cpu/launch.h"

#define GRID_WORDS 64

struct grid {
	_Alignas(64) uint32_t memory[BLOCK_MAX_THREADS][GRID_WORDS];
	struct launch_failure failure;
	uint32_t size[3];    /* in blocks; grid_setup makes it one */
	uint32_t row;        /* threads side by side in a block; grid_setup makes it 0: all */
};

extern struct grid grid;

/* Call in a checked fixture. */
void grid_setup(void);
void grid_teardown(void);
/* Run `threads` threads of the body at a width of 1 or 32; what the launch returns. */
CUresult grid_run(uint32_t width, uint32_t threads, const char *declarations, const char *body);
/* The same, which must succeed. */
void grid_ok(uint32_t width, uint32_t threads, const char *declarations, const char *body);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_LAUNCH_H
#define CPU_LAUNCH_H

/* Run a grid of a compiled kernel on the workers of a pool.  Any thread; one grid at a time. */
#include "../drv/cuda_abi.h"
#include "block.h"
#include "pool.h"

/* What the device allows. */
#define LAUNCH_MAX_THREADS BLOCK_MAX_THREADS
#define LAUNCH_MAX_SHARED (99 * 1024)
#define LAUNCH_DEFAULT_SHARED (48 * 1024)
#define LAUNCH_MAX_PARAMS 32764

struct launcher;

struct launch_request {
	const char *name;
	rt_kernel *run;
	uint32_t width;         /* W: 1 to RT_MAX_WIDTH, a power of two */
	size_t frame_size;
	size_t local_size;      /* of one thread */
	const uint8_t *params;
	uint8_t *const *globals;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t static_shared;
	uint32_t dynamic_shared;
};

/* How a kernel ended that did not end well. */
struct launch_failure {
	bool has_address;       /* it has accessed: */
	uint64_t address;
	char what[96];          /* "access to address 0x10", "trap (PTX line 12)" */
	char where[96];         /* "block (0,0,0), thread (3,0,0)" */
};

/* The pool must outlive the launcher. */
bool launcher_create(struct launcher **out, struct pool *pool);
void launcher_release(struct launcher *launcher); /* NULL is fine */

/*
 * Run the grid to its end.  The sizes are known to be within the limits.  OUT_OF_MEMORY and
 * LAUNCH_OUT_OF_RESOURCES: nothing has run.  ILLEGAL_ADDRESS, ILLEGAL_INSTRUCTION and
 * LAUNCH_FAILED: the kernel has run and failed, as *out says; its memory is in an unknown state.
 */
CUresult launch_run(struct launcher *launcher, const struct launch_request *request,
	struct launch_failure *out);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_LAUNCH_H
#define CPU_EXEC_LAUNCH_H

/* Run a grid of a compiled kernel on the workers of a pool.  Any thread; each launcher has one grid
 * at a time, and several of them share the pool: the one that does not get it runs alone. */
#include "base/cuda_abi.h"
#include "cpu/check/check_kernel.h"
#include "cpu/exec/block.h"
#include "cpu/jit/jit.h"
#include "cpu/mem/device_memory.h"
#include "cpu/exec/worker_pool.h"

/* What the device allows. */
#define LAUNCH_MAX_THREADS BLOCK_MAX_THREADS
#define LAUNCH_MAX_SHARED (99 * 1024)
#define LAUNCH_SM_BLOCKS 24 /* on a multiprocessor */
#define LAUNCH_DEFAULT_SHARED (48 * 1024)
#define LAUNCH_RESERVED_SHARED ((int)RT_RESERVED_SHARED) /* in each block, as on a GPU */
#define LAUNCH_MAX_PARAMS 32764

/*
 * What a launch has to do is estimated before it runs: bytes of machine code, for each warp.  A
 * processor runs about 100 of them in a nanosecond.  It is not known how often a loop goes round,
 * so a kernel that has one counts as this much, and one whose loops may wait for others as
 * UINT64_MAX.
 */
#define LAUNCH_LOOP_WORK (1u << 19)
/* Up to this much is for the thread that launches alone: to share it would take longer. */
#define LAUNCH_ALONE_WORK (1u << 19)
/* Up to this much may run within the call that launches it. */
#define LAUNCH_CALL_WORK (1u << 24)
/* From so much on, the first launch of a kernel is worth its best code. */
#define LAUNCH_IMPROVE_WORK (1u << 30)
/* The stack that a thread needs to do a share of a launch: JIT_MOST_STACK, and room for what calls
 * the code and for what that calls. */
#define LAUNCH_STACK ((size_t)5 << 18)

struct launcher;

struct launch_request {
	const char *name;
	const struct jit_code *code; /* blocks that begin after it has changed run by what it has
	                                then */
	size_t local_size;      /* of one thread */
	size_t stack_size;      /* of one thread, after that */
	struct rt_host *host;   /* NULL: no kernel that calls malloc or has textures */
	const uint8_t *params;
	uint8_t *const *globals;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t static_shared;
	uint32_t dynamic_shared;
	bool uses_reserved_shared; /* see struct rt_launch */
	const struct check_kernel *check; /* of a kernel that asks before its accesses; else NULL */
	uint64_t work;          /* see LAUNCH_LOOP_WORK */
	bool in_order;          /* no block begins before those with lower numbers */
	bool cooperative;       /* all blocks are resident at once; grid.sync() works */
	bool may_leave;         /* launch_run returns when a block takes long, see there */
};

/* How a kernel ended that did not end well. */
struct launch_failure {
	bool has_address;       /* it has accessed: */
	uint64_t address;
	uint32_t line;          /* of PTX, 0: unknown */
	char what[200];         /* "access to address 0x10", "trap (PTX line 12)" */
	char where[96];         /* "block (0,0,0), thread (3,0,0)" */
	uint32_t block[3];      /* and as numbers; of several threads the first */
	uint32_t thread[3];
};

/* The shared memory that a block gets, with the reserved memory if the kernel uses that. */
static inline size_t launch_shared_size(size_t own_size, bool uses_reserved)
{
	return uses_reserved ? round_up(own_size, RT_SHARED_UNIT) + RT_RESERVED_SHARED : own_size;
}

/* The pool must outlive the launcher. */
bool launcher_create(struct launcher **out, struct pool *pool);
void launcher_release(struct launcher *launcher); /* NULL is fine */

/* The memory that all blocks of a cooperative launch take; SIZE_MAX: more than there can be. */
size_t launch_resident_size(const struct jit_kernel *kernel, uint32_t threads, size_t local_size,
	size_t shared_size, uint64_t blocks);

/*
 * Run the grid to its end.  The sizes are known to be within the limits.  OUT_OF_MEMORY,
 * LAUNCH_OUT_OF_RESOURCES and COOPERATIVE_LAUNCH_TOO_LARGE: nothing has run.  Any other error: the
 * kernel has run and failed, as *out says; its memory is in an unknown state.  NOT_READY if it may
 * leave: a block has come to many barriers, perhaps in an endless loop, and launch_go_on, on any
 * thread, runs the rest of the grid.
 */
CUresult launch_run(struct launcher *launcher, const struct launch_request *request,
	struct launch_failure *out);
CUresult launch_go_on(struct launcher *launcher);

/*
 * Stop the grid that runs, if there is one: it fails with `code`, unless it has
 * failed already.  From any thread, but until this returns the launcher must not be used anew, nor
 * its *out be read.  A worker that begins just then may miss it: until the launch returns, this is
 * to be called again now and then.
 */
void launch_cancel(struct launcher *launcher, CUresult code, const char *why);

/* The number of the grid that the launcher has, if no block of it has ended yet; else 0.  From any
 * thread. */
uint64_t launch_standing(const struct launcher *launcher);

/* How many of the blocks that are left of a share the next worker gets: never more than half, so
 * that workers that began at different times end together. */
static inline uint64_t launch_piece(uint64_t left, uint64_t most)
{
	uint64_t half = (left + 1) / 2;
	return half < most ? half : most;
}

#endif

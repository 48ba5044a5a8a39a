/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_COUNTERS_H
#define CPU_IR_COUNTERS_H

/*
 * What a kernel counts while it is profiled: a table of 64-bit numbers, the same for all code that
 * is made of the kernel.  Each basic block has COUNTERS_OF_BLOCK of them, in the order of the
 * blocks, and after these each access to memory has COUNTERS_OF_ACCESS.  How often an instruction
 * ran follows from its block.
 */
#include "cpu/ptx/ptx.h"

enum {
	COUNTERS_WARPS,       /* warps that ran the block, */
	COUNTERS_LANES,       /* and their lanes that did */
	COUNTERS_OF_BLOCK
};

enum {
	COUNTERS_REQUESTS,    /* warps that made the access, */
	COUNTERS_THREADS,     /* and their lanes that did; */
	COUNTERS_LINES,       /* the cache lines that the lanes of a warp touched; */
	COUNTERS_CONTENDED,   /* the lanes that share their address with another of the warp */
	COUNTERS_OF_ACCESS
};

/* For the checks `coalesce` and `bank` an access has more of them, which a function of C fills in
 * (runtime/rt_cost.c). */
enum {
	COUNTERS_MOVED = COUNTERS_OF_ACCESS, /* sectors of global memory that the lanes of a warp
	                         touched, or turns of the banks of shared memory, */
	COUNTERS_LEAST,       /* and how many would have been enough; */
	COUNTERS_SHARED,      /* how many accesses were to shared memory; */
	COUNTERS_WORST,       /* how many more than enough the worst access took, */
	COUNTERS_WORST_BLOCK, /* its block: x, and y and z, 16 bits each, on top, */
	COUNTERS_WORST_FIRST, /* and the first thread of its warp */
	COUNTERS_OF_COST
};

/* The table has a multiple of so many: a vector of the processor. */
enum { COUNTERS_ROW = 8 };

struct counters {
	uint32_t *accesses;   /* by instruction: its first counter; 0: it has none */
	size_t count;
	bool has_costs;       /* there are COUNTERS_OF_COST for each access */
};

/* Of a function that has basic blocks.  False: no memory. */
bool counters_plan(struct counters *out, const struct ptx_func *func, bool has_costs);
void counters_free(struct counters *counters);

static inline size_t counters_of_block(size_t block)
{
	return block * COUNTERS_OF_BLOCK;
}

/* An access to global, shared, local or constant memory by an instruction. */
struct counters_access {
	const struct ptx_operand *place;
	enum ptx_space space;
	uint32_t size;        /* bytes for each lane */
	bool is_atomic;
};

/* False: the instruction makes none. */
bool counters_find_access(struct counters_access *out, const struct ptx_inst *inst);

/* Whether the lines of an access are counted: it may be to global memory. */
static inline bool counters_has_lines(const struct counters_access *access)
{
	return access->space == PTX_GLOBAL || access->space == PTX_GENERIC;
}

#endif

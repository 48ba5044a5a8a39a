/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_UNIFORMITY_H
#define CPU_IR_UNIFORMITY_H

/*
 * What the lanes of a warp have in common, register by register: the analysis behind fast code for
 * 32 lanes.  A register that all lanes have alike, or whose lanes differ by numbers that are known
 * when the kernel is compiled, is a scalar, the base, and these numbers, the offsets: lane i has base
 * + offsets[i], modulo the register's width.  Any other register is a vector.
 */
#include "cpu/ptx/ptx.h"

/*
 * How the threads of a block lie in its warps, of which the shapes of %tid depend.  One compiled
 * kernel serves all blocks of a class: any at all (0); a line of threads along x; rows whose length
 * is a multiple of a warp; or bricks, where each warp is a brick of x * y * z threads, all powers of
 * two and x shorter than a warp, and x the length of a row of the block.
 */
enum {
	BLOCK_CLASS_ANY, BLOCK_CLASS_LINE, BLOCK_CLASS_ROWS, BLOCK_CLASS_BRICK,
	BLOCK_CLASS_COUNT = BLOCK_CLASS_BRICK + 36,
	BLOCK_CLASS_PLATE = BLOCK_CLASS_BRICK + 5, /* a brick of 32 along x */
	BLOCK_CLASS_TEAM = 256 /* a class + BLOCK_CLASS_TEAM * n: for blocks of n warps that are a team (team.h) */
};
static_assert(BLOCK_CLASS_COUNT <= BLOCK_CLASS_TEAM, "the class is what remains");

/* Of a warp. */
enum { WARP_LANES = 32 };

unsigned block_class_of(const uint32_t block[3]);
/* The sizes of a warp, of BLOCK_CLASS_BRICK and above. */
void block_class_brick(unsigned class, uint32_t size[3]);

struct uniformity {
	bool is_known;          /* else nothing writes it */
	bool is_vector;
	bool has_value;         /* the base is always `value` */
	uint8_t align;          /* the base is a multiple of 1 << align */
	uint64_t value;
	const int64_t *offsets; /* WARP_LANES of them; NULL: all are 0 */
};

struct uniformity_pool;

struct uniformity_info {
	const struct ptx_func *func;
	unsigned class;
	bool interleaves_local;            /* local addresses are offsets: see local_interleave.c */
	struct uniformity *regs;
	struct uniformity_pool *pool;
};

/* For a function that cfg.c has cut into blocks, with what yield_find_points says.  False: no memory. */
bool uniformity_analyze(struct uniformity_info *out, const struct ptx_func *func, unsigned class,
	const bool *yield_points);
void uniformity_free(struct uniformity_info *info);

/* What an instruction computes; a vector, too, if it is one that each lane has to do by itself. */
struct uniformity uniformity_of_result(const struct uniformity_info *info,
	const struct ptx_inst *inst);
/* What an instruction reads. */
struct uniformity uniformity_of_operand(const struct uniformity_info *info,
	const struct ptx_operand *operand);
/* The address of a memory operand, but for what the state space adds to it. */
struct uniformity uniformity_of_address(const struct uniformity_info *info,
	const struct ptx_inst *inst, const struct ptx_operand *operand);

static inline bool uniformity_is_uniform(const struct uniformity *lanes)
{
	return !lanes->is_vector && !lanes->offsets;
}

/* uniformity_pool.c: offsets, each only once, so that equal ones have equal addresses. */
struct uniformity_pool *uniformity_pool_create(void);
void uniformity_pool_free(struct uniformity_pool *pool);
/* Whether there was memory for all of them; if not, what is made of the shapes is of no use. */
bool uniformity_pool_had_memory(const struct uniformity_pool *pool);
/* All zero: NULL.  False: there are too many, or there is no memory. */
bool uniformity_pool_get(struct uniformity_pool *pool, const int64_t **out, const int64_t *offsets);

#endif

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
	SHAPE_ANY, SHAPE_LINE, SHAPE_ROWS, SHAPE_BRICK, SHAPE_CLASSES = SHAPE_BRICK + 36,
	SHAPE_PLATE = SHAPE_BRICK + 5, /* a brick of 32 along x */
	SHAPE_TEAM = 256 /* a class + SHAPE_TEAM * n: for blocks of n warps that are a team (team.h) */
};
static_assert(SHAPE_CLASSES <= SHAPE_TEAM, "the class is what remains");

/* Of a warp. */
enum { SHAPE_LANES = 32 };

unsigned shape_class_of(const uint32_t block[3]);
/* The sizes of a warp, of SHAPE_BRICK and above. */
void shape_brick(unsigned class, uint32_t size[3]);

struct shape {
	bool is_known;          /* else nothing writes it */
	bool is_vector;
	bool has_value;         /* the base is always `value` */
	uint8_t align;          /* the base is a multiple of 1 << align */
	uint64_t value;
	const int64_t *offsets; /* SHAPE_LANES of them; NULL: all are 0 */
};

struct shape_pool;

struct shapes {
	const struct ptx_func *func;
	unsigned class;
	bool splits;            /* local addresses are offsets: see local_interleave.c */
	struct shape *regs;
	struct shape_pool *pool;
};

/* For a function that cfg.c has cut into blocks, with what spin_find says.  False: no memory. */
bool shapes_find(struct shapes *out, const struct ptx_func *func, unsigned class, const bool *spins);
void shapes_free(struct shapes *shapes);

/* What an instruction computes; a vector, too, if it is one that each lane has to do by itself. */
struct shape shapes_result(const struct shapes *shapes, const struct ptx_inst *inst);
/* What an instruction reads. */
struct shape shapes_operand(const struct shapes *shapes, const struct ptx_operand *operand);
/* The address of a memory operand, but for what the state space adds to it. */
struct shape shapes_address(const struct shapes *shapes, const struct ptx_inst *inst,
	const struct ptx_operand *operand);

static inline bool shape_is_uniform(const struct shape *shape)
{
	return !shape->is_vector && !shape->offsets;
}

/* uniformity_pool.c: offsets, each only once, so that equal ones have equal addresses. */
struct shape_pool *shape_pool_create(void);
void shape_pool_free(struct shape_pool *pool);
/* Whether there was memory for all of them; if not, what is made of the shapes is of no use. */
bool shape_pool_had_memory(const struct shape_pool *pool);
/* All zero: NULL.  False: there are too many, or there is no memory. */
bool shape_pool_get(struct shape_pool *pool, const int64_t **out, const int64_t *offsets);

#endif

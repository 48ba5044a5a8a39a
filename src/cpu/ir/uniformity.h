/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_UNIFORMITY_H
#define CPU_IR_UNIFORMITY_H

/*
 * Uniformity analysis: what the lanes of a warp have in common, register by register.  It is what
 * makes code for 32 lanes fast, for a value that is not a vector is computed once for the warp.
 *
 * A register is uniform if all lanes have the same value.  It is a base with offsets if lanes
 * differ by numbers that are known when the kernel is compiled: lane i has base + offsets[i],
 * modulo the register's width.  Any other register is a vector.
 */
#include "cpu/ir/block_class.h"
#include "cpu/ptx/ptx.h"

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
	unsigned lanes;         /* that run together: the others of a list of offsets are 0 */
	struct uniformity *regs;
	struct uniformity_pool *pool;
};

/* Of a function with basic blocks (cfg.c), whose yield points are known.  False: no memory. */
bool uniformity_analyze(struct uniformity_info *out, const struct ptx_func *func, unsigned class,
	unsigned lanes, const bool *yield_points);
void uniformity_free(struct uniformity_info *info);

/* The result of an instruction; a vector if each lane has to execute the instruction itself. */
struct uniformity uniformity_of_result(const struct uniformity_info *info,
	const struct ptx_inst *inst);
/* An operand that an instruction reads. */
struct uniformity uniformity_of_operand(const struct uniformity_info *info,
	const struct ptx_operand *operand);
/* The address of a memory operand, without the start of its state space. */
struct uniformity uniformity_of_address(const struct uniformity_info *info,
	const struct ptx_inst *inst, const struct ptx_operand *operand);

static inline bool uniformity_is_uniform(const struct uniformity *lanes)
{
	return !lanes->is_vector && !lanes->offsets;
}

/* Lists of offsets.  Equal lists have equal addresses. */
struct uniformity_pool *uniformity_pool_create(void);
void uniformity_pool_free(struct uniformity_pool *pool);
/* False: memory ran out meanwhile, and no result of the analysis may be used. */
bool uniformity_pool_had_memory(const struct uniformity_pool *pool);

#endif

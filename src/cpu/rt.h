/* SPDX-License-Identifier: MIT */
#ifndef CPU_RT_H
#define CPU_RT_H

/*
 * What compiled kernels and the C code around them agree on.  One warp of W lanes is a coroutine:
 *
 *	next = kernel(warp, frame, resume)
 *
 * starts at resume 0, returns RT_DONE when every lane has exited, else the number to resume at,
 * with the reason in warp->yield.  Between the two calls everything that must survive lies in
 * `frame`.  Compiled code reaches the world only through struct rt_warp: no symbol, no address is
 * burned in, so that its object code can be kept.
 */
#include "../base/common.h"

#define RT_DONE 0u

/* Lanes of the widest warp that the generator makes. */
#define RT_MAX_WIDTH 32

/* Generic addresses of .shared memory lie in [warp->shared, warp->shared + RT_SHARED_WINDOW);
 * nothing else that a kernel can address may lie there. */
#define RT_SHARED_WINDOW 0x1000000u

/* Why a warp came back. */
enum rt_yield {
	RT_YIELD_NONE,
	RT_YIELD_BARRIER, /* wait at barrier[bar_id] for bar_count threads; 0: the whole block */
	RT_YIELD_ARRIVE,  /* count as arrived, do not wait */
	RT_YIELD_SPIN,    /* nothing to do until another warp or block moves */
	RT_YIELD_TRAP,    /* trap, or a failed assert */
	RT_YIELD_WARP     /* bar.warp.sync: wait until every thread of bar_value has come here, too.
	                   * bar_value is the member mask over the 32 threads around `first`
	                   * (bit i: thread first / 32 * 32 + i); threads that have exited or do not
	                   * exist count as arrived.  bar_id and bar_count mean nothing. */
};

/* Reductions that barrier.red computes over all threads that arrive. */
enum rt_barrier_red { RT_RED_NONE, RT_RED_AND, RT_RED_OR, RT_RED_POPC };

/* One per launch, read-only while it runs. */
struct rt_launch {
	const uint8_t *params;         /* the parameter block, laid out as the kernel declares */
	uint8_t *const *globals;       /* address of ptx_module.vars[i] */
	const uint32_t *tid[3];        /* tid[axis][linear thread index], padded to a full warp */
	uint32_t ntid[3];
	uint32_t nctaid[3];
	uint32_t threads;              /* ntid[0] * ntid[1] * ntid[2] */
	uint32_t dynamic_shared;       /* bytes */
	uint32_t total_shared;         /* static and dynamic bytes */
	uint64_t grid_id;
	const struct rt_calls *calls;
	uint32_t sm_count;             /* %nsmid */
};

/* One per warp of a block that is running. */
struct rt_warp {
	const struct rt_launch *launch;
	uint8_t *shared;               /* .shared address 0 of this block */
	uint8_t *local;                /* .local memory of lane 0; lanes follow at local_stride */
	uint64_t local_stride;
	uint32_t ctaid[3];
	uint32_t first;                /* linear thread index of lane 0 */
	uint32_t alive;                /* lanes that exist; bit 0 is lane 0 */
	uint32_t sm;                   /* the worker, as %smid */
	uint32_t yield;                /* out: enum rt_yield */
	uint32_t bar_id;               /* out: 0 to 15 */
	uint32_t bar_count;            /* out: threads expected, 0 for the whole block */
	uint32_t bar_red;              /* out: enum rt_barrier_red */
	uint32_t bar_value;            /* out: predicate, one bit per lane; in: the result */
	uint32_t line;                 /* PTX line of the last yield or trap, for messages */
};

typedef uint32_t rt_kernel(struct rt_warp *warp, void *frame, uint32_t resume);

/* What round_f64 computes. */
enum rt_op { RT_ADD, RT_MUL, RT_FMA, RT_DIV, RT_SQRT };

/* Directions of rounding other than to nearest even. */
enum rt_round { RT_ROUND_DOWN, RT_ROUND_UP, RT_ROUND_ZERO };

/* What compiled code may call, in an order that never changes: objects may be kept.  Every
 * function takes the warp first. */
struct rt_calls {
	uint64_t (*clock)(struct rt_warp *warp); /* nanoseconds, steady: %clock64, %globaltimer */
	/* One f64 operation with directed rounding: enum rt_op, enum rt_round, operands. */
	double (*round_f64)(struct rt_warp *warp, uint32_t op, uint32_t round, double a, double b,
		double c);
};

/* The table that every launch points to. */
extern const struct rt_calls rt_calls;

#endif

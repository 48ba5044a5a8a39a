/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_RT_COLLECT_H
#define CPU_RUNTIME_RT_COLLECT_H

/*
 * What the threads of a CUDA warp compute together, in C: see struct rt_exchange.  A thread's
 * `what` is an operation and, above COLLECT_SHIFT, details that only that operation knows.
 * Operands and results are words of the exchange, in order; of 64 bits, the lower half first.
 */
#include "cpu/runtime/rt.h"

enum collect {
	COLLECT_SYNC,   /* bar.warp.sync: no operands, no results */
	COLLECT_WHO,    /* activemask: who has come */
	COLLECT_SHFL,   /* enum collect_shfl; value, b, c; result: value, whether in range */
	COLLECT_BALLOT, /* predicate; result: whose is true */
	COLLECT_VOTE,   /* enum collect_vote; predicate; result: predicate */
	COLLECT_MATCH,  /* two words; result: who has the same, whether all have */
	COLLECT_REDUX,  /* enum collect_redux; value; result: value */
	COLLECT_ELECT,  /* result: the one elected, whether that is me */
	COLLECT_MMA,    /* matrices: see rt_mma.h */
	COLLECT_LOAD_A,
	COLLECT_LOAD_B,
	COLLECT_LOAD_C,
	COLLECT_STORE_D,
	COLLECT_LDMATRIX,
	COLLECT_STMATRIX,
	COLLECT_MOVMATRIX
};

#define COLLECT_SHIFT 7

/* Nobody knows who will come: `members` is the place in the program, and it is over when nobody else
 * of the warp can come. */
#define COLLECT_OPEN (1u << 31)

enum collect_shfl { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum collect_vote { VOTE_ALL, VOTE_ANY, VOTE_UNI };
/* Of f32: _NAN if a NaN makes the result one, REDUX_ABS added for absolute values. */
enum collect_redux {
	REDUX_ADD, REDUX_AND, REDUX_OR, REDUX_XOR, REDUX_UMIN, REDUX_UMAX, REDUX_SMIN, REDUX_SMAX,
	REDUX_FMIN, REDUX_FMAX, REDUX_FMIN_NAN, REDUX_FMAX_NAN, REDUX_ABS = 16
};

/* The operation and the details. */
static inline uint32_t collect_what(enum collect op, uint32_t details)
{
	return (uint32_t)op | details << COLLECT_SHIFT;
}

/* PTX ISA 9.7.9.6: the thread that `lane` reads from; in range or not. */
static inline uint32_t collect_shfl_source(enum collect_shfl mode, uint32_t lane, uint32_t b,
	uint32_t c, bool *in_range)
{
	uint32_t offset = b & 31;
	uint32_t mask = c >> 8 & 31;
	uint32_t least = lane & mask;
	uint32_t most = least | (c & 31 & ~mask);
	uint32_t from = lane;
	switch (mode) {
	case SHFL_UP:
		from = lane - offset;
		*in_range = (int32_t)from >= (int32_t)most;
		break;
	case SHFL_DOWN:
		from = lane + offset;
		*in_range = from <= most;
		break;
	case SHFL_BFLY:
		from = lane ^ offset;
		*in_range = from <= most;
		break;
	case SHFL_IDX:
		from = least | (offset & ~mask);
		*in_range = from <= most;
		break;
	}
	return *in_range ? from : lane;
}

/* rt_calls.collect. */
uint32_t collect_arrive(struct rt_warp *warp, uint32_t lanes);
/* Threads have exited: release those who waited for nobody else. */
void collect_recheck(struct rt_warp *warp);
/* Release the threads of one COLLECT_OPEN, if there are any. */
bool collect_release_open(struct rt_warp *warp);
/* Make the results of the threads in `set`, who have all come. */
void collect_compute(struct rt_exchange *x, struct rt_warp *warp, uint32_t what, uint32_t set);

#endif

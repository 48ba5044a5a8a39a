/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_RT_COLLECT_H
#define CPU_RUNTIME_RT_COLLECT_H

/*
 * Collectives: what the threads of a CUDA warp compute together; see struct rt_exchange.  The
 * `what` of a thread is an operation and, above COLLECT_SHIFT, details that only that operation
 * knows.  Operands and results are words of the exchange, in order.  A value of 64 bits has its
 * lower half first.
 */
#include "cpu/runtime/rt.h"

enum collect {
	COLLECT_SYNC,   /* bar.warp.sync: no operands, no results */
	COLLECT_WHO,    /* activemask: which threads have come */
	COLLECT_SHFL,   /* enum collect_shfl; value, b, c; result: value, whether in range */
	COLLECT_BALLOT, /* predicate; result: whose is true */
	COLLECT_VOTE,   /* enum collect_vote; predicate; result: predicate */
	COLLECT_MATCH,  /* two words; result: threads with the same value, and if all have it */
	COLLECT_REDUX,  /* enum collect_redux; value; result: value */
	COLLECT_ELECT,  /* result: the one elected, whether that is me */
	COLLECT_MMA,    /* matrices: see rt_mma.h */
	COLLECT_LOAD_A,
	COLLECT_LOAD_B,
	COLLECT_LOAD_C,
	COLLECT_STORE_D,
	COLLECT_LDMATRIX,
	COLLECT_STMATRIX,
	COLLECT_MOVMATRIX,
	COLLECT_COUNT
};

#define COLLECT_SHIFT 7
static_assert(COLLECT_COUNT <= 1 << COLLECT_SHIFT, "an operation fits below its details");

/* The members are not known.  `members` is the place in the program, in reverse post-order, and the
 * collective is over when no other thread of the warp can come. */
#define COLLECT_OPEN (1u << 31)

enum collect_shfl { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum collect_vote { VOTE_ALL, VOTE_ANY, VOTE_UNI };
/* For f32: _NAN if a NaN makes the result one, and REDUX_ABS is added for absolute values. */
enum collect_redux {
	REDUX_ADD, REDUX_AND, REDUX_OR, REDUX_XOR, REDUX_UMIN, REDUX_UMAX, REDUX_SMIN, REDUX_SMAX,
	REDUX_FMIN, REDUX_FMAX, REDUX_FMIN_NAN, REDUX_FMAX_NAN, REDUX_ABS = 16
};
static_assert(REDUX_FMAX_NAN < REDUX_ABS, "REDUX_ABS is a bit above the operations");

/* The operation and the details. */
static inline uint32_t collect_what(enum collect op, uint32_t details)
{
	return (uint32_t)op | details << COLLECT_SHIFT;
}

/* PTX ISA 9.7.9.6: the thread that `lane` reads from, and whether it is in range. */
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
/* Threads have exited: release the threads that waited for them alone. */
void collect_recheck(struct rt_warp *warp);
/* Release the threads of one COLLECT_OPEN. False if no thread waits there. */
bool collect_release_open(struct rt_warp *warp);

#endif

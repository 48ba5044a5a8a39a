/* SPDX-License-Identifier: MIT */
/*
 * What the threads of a warp do together: shuffles, votes, matches, reductions.  Each function makes
 * the results of the threads in `set`.  A thread that is not there has no value: a shuffle from it
 * gives the reader's own, which PTX leaves open.
 */
#include "base/common.h"

#include "cpu/runtime/rt_collect.h"
#include "cpu/runtime/rt_mma.h"

#include <string.h>

static bool rt_warp_has(uint32_t set, uint32_t thread)
{
	return set >> thread & 1;
}

/* Give all threads of a set the same. */
static void give(struct rt_exchange *x, uint32_t set, unsigned word, uint32_t value)
{
	for (uint32_t i = 0; i < RT_GROUP; i++) {
		x->words[word][i] = rt_warp_has(set, i) ? value : x->words[word][i];
	}
}

static void rt_warp_shuffle(struct rt_exchange *x, uint32_t set, uint32_t details)
{
	uint32_t values[RT_GROUP];
	memcpy(values, x->words[0], sizeof(values));
	for (uint32_t i = 0; i < RT_GROUP; i++) {
		if (!rt_warp_has(set, i)) {
			continue;
		}
		bool in_range = false;
		uint32_t from = collect_shfl_source((enum collect_shfl)details, i, x->words[1][i],
			x->words[2][i], &in_range);
		x->words[0][i] = values[from < RT_GROUP && rt_warp_has(set, from) ? from : i];
		x->words[1][i] = in_range;
	}
}

/* The threads of a set whose word 0 is not zero. */
static uint32_t ballot(const struct rt_exchange *x, uint32_t set)
{
	uint32_t bits = 0;
	for (uint32_t i = 0; i < RT_GROUP; i++) {
		bits |= (uint32_t)(rt_warp_has(set, i) && x->words[0][i] != 0) << i;
	}
	return bits;
}

static void rt_warp_vote(struct rt_exchange *x, uint32_t set, enum collect_vote kind)
{
	uint32_t bits = ballot(x, set);
	bool all = bits == set;
	bool any = bits != 0;
	give(x, set, 0, kind == VOTE_ALL ? all : kind == VOTE_ANY ? any : all || !any);
}

static void rt_warp_match(struct rt_exchange *x, uint32_t set)
{
	uint32_t same[RT_GROUP] = {0};
	for (uint32_t i = 0; i < RT_GROUP; i++) {
		for (uint32_t j = 0; j < RT_GROUP && rt_warp_has(set, i); j++) {
			bool equal = rt_warp_has(set, j) && x->words[0][i] == x->words[0][j]
				&& x->words[1][i] == x->words[1][j];
			same[i] |= (uint32_t)equal << j;
		}
	}
	for (uint32_t i = 0; i < RT_GROUP; i++) {
		if (rt_warp_has(set, i)) {
			x->words[0][i] = same[i];
			x->words[1][i] = same[i] == set;
		}
	}
}

static bool is_nan(uint32_t bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

/* Order the bits of f32 as integers: -0 comes before +0. */
static int32_t real_key(uint32_t bits)
{
	return bits >> 31 ? (int32_t)(bits ^ 0x7fffffff) : (int32_t)bits;
}

static uint32_t reduce_real(enum collect_redux op, uint32_t a, uint32_t b)
{
	bool keep_nan = op == REDUX_FMIN_NAN || op == REDUX_FMAX_NAN;
	bool min = op == REDUX_FMIN || op == REDUX_FMIN_NAN;
	if (is_nan(a) || is_nan(b)) {
		return keep_nan || (is_nan(a) && is_nan(b)) ? 0x7fffffff : is_nan(a) ? b : a;
	}
	return (real_key(a) < real_key(b)) == min ? a : b;
}

static uint32_t reduce_two(enum collect_redux op, uint32_t a, uint32_t b)
{
	switch (op) {
	case REDUX_ADD:
		return a + b;
	case REDUX_AND:
		return a & b;
	case REDUX_OR:
		return a | b;
	case REDUX_XOR:
		return a ^ b;
	case REDUX_UMIN:
		return a < b ? a : b;
	case REDUX_UMAX:
		return a > b ? a : b;
	case REDUX_SMIN:
		return (int32_t)a < (int32_t)b ? a : b;
	case REDUX_SMAX:
		return (int32_t)a > (int32_t)b ? a : b;
	default:
		return reduce_real(op, a, b);
	}
}

static void rt_warp_reduce(struct rt_exchange *x, uint32_t set, uint32_t details)
{
	enum collect_redux op = (enum collect_redux)(details & (REDUX_ABS - 1u));
	uint32_t sign = details & REDUX_ABS ? 0x7fffffff : UINT32_MAX;
	uint32_t first = (uint32_t)__builtin_ctz(set);
	uint32_t result = x->words[0][first] & sign;
	for (uint32_t left = set & (set - 1); left != 0; left &= left - 1) {
		result = reduce_two(op, result, x->words[0][__builtin_ctz(left)] & sign);
	}
	if (op >= REDUX_FMIN && is_nan(result)) {
		result = 0x7fffffff;
	}
	give(x, set, 0, result);
}

static void rt_warp_elect(struct rt_exchange *x, uint32_t set)
{
	uint32_t leader = (uint32_t)__builtin_ctz(set);
	give(x, set, 0, leader);
	give(x, set, 1, 0);
	x->words[1][leader] = 1;
}

static void compute_matrix(struct rt_exchange *x, enum collect op, uint32_t details, uint32_t set)
{
	switch (op) {
	case COLLECT_MMA:
		mma_compute(x, details, set);
		break;
	case COLLECT_LOAD_A:
	case COLLECT_LOAD_B:
	case COLLECT_LOAD_C:
		mma_load(x, details, (uint32_t)op - COLLECT_LOAD_A, set);
		break;
	case COLLECT_STORE_D:
		mma_store(x, details, set);
		break;
	case COLLECT_LDMATRIX:
		matrix_load(x, details, set);
		break;
	case COLLECT_STMATRIX:
		matrix_store(x, details, set);
		break;
	default:
		matrix_transpose(x, set);
		break;
	}
}

void collect_compute(struct rt_exchange *x, struct rt_warp *warp, uint32_t what, uint32_t set)
{
	(void)warp;
	uint32_t details = what >> COLLECT_SHIFT;
	enum collect op = (enum collect)(what & ((1u << COLLECT_SHIFT) - 1));
	switch (op) {
	case COLLECT_SYNC:
		break;
	case COLLECT_WHO:
		give(x, set, 0, set);
		break;
	case COLLECT_SHFL:
		rt_warp_shuffle(x, set, details);
		break;
	case COLLECT_BALLOT:
		give(x, set, 0, ballot(x, set));
		break;
	case COLLECT_VOTE:
		rt_warp_vote(x, set, (enum collect_vote)details);
		break;
	case COLLECT_MATCH:
		rt_warp_match(x, set);
		break;
	case COLLECT_REDUX:
		rt_warp_reduce(x, set, details);
		break;
	case COLLECT_ELECT:
		rt_warp_elect(x, set);
		break;
	default:
		compute_matrix(x, op, details, set);
		break;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Collectives: what the threads of a CUDA warp compute together.
 *
 * A thread that comes to a collective puts down its operation, its members and its operands in the
 * exchange.  Threads with the same operation and the same members wait for each other.  When all
 * members have come, or have exited, their results are computed and they go on.
 *
 * A thread that is not there has no value.  PTX leaves open what a shuffle from it gives; here it
 * gives the value of the reader.
 */
#include "base/common.h"

#include "cpu/runtime/rt_collect.h"
#include "cpu/runtime/rt_mma.h"

#include <string.h>

static bool collect_has(uint32_t set, uint32_t thread)
{
	return set >> thread & 1;
}

/* Give all threads of a set the same value. */
static void collect_give(struct rt_exchange *x, uint32_t set, unsigned word, uint32_t value)
{
	for (uint32_t i = 0; i < RT_GROUP; i++) {
		x->words[word][i] = collect_has(set, i) ? value : x->words[word][i];
	}
}

static void collect_shuffle(struct rt_exchange *x, uint32_t set, uint32_t details)
{
	uint32_t values[RT_GROUP];
	memcpy(values, x->words[0], sizeof(values));
	for (uint32_t i = 0; i < RT_GROUP; i++) {
		if (!collect_has(set, i)) {
			continue;
		}
		bool in_range = false;
		uint32_t from = collect_shfl_source((enum collect_shfl)details, i, x->words[1][i],
			x->words[2][i], &in_range);
		x->words[0][i] = values[from < RT_GROUP && collect_has(set, from) ? from : i];
		x->words[1][i] = in_range;
	}
}

/* The threads of a set whose word 0 is not zero. */
static uint32_t collect_ballot(const struct rt_exchange *x, uint32_t set)
{
	uint32_t bits = 0;
	for (uint32_t i = 0; i < RT_GROUP; i++) {
		bits |= (uint32_t)(collect_has(set, i) && x->words[0][i] != 0) << i;
	}
	return bits;
}

static void collect_vote(struct rt_exchange *x, uint32_t set, enum collect_vote kind)
{
	uint32_t bits = collect_ballot(x, set);
	bool all = bits == set;
	bool any = bits != 0;
	collect_give(x, set, 0, kind == VOTE_ALL ? all : kind == VOTE_ANY ? any : all || !any);
}

static void collect_match(struct rt_exchange *x, uint32_t set)
{
	uint32_t same[RT_GROUP] = {0};
	for (uint32_t i = 0; i < RT_GROUP; i++) {
		for (uint32_t j = 0; j < RT_GROUP && collect_has(set, i); j++) {
			bool equal = collect_has(set, j) && x->words[0][i] == x->words[0][j]
				&& x->words[1][i] == x->words[1][j];
			same[i] |= (uint32_t)equal << j;
		}
	}
	for (uint32_t i = 0; i < RT_GROUP; i++) {
		if (collect_has(set, i)) {
			x->words[0][i] = same[i];
			x->words[1][i] = same[i] == set;
		}
	}
}

static bool collect_is_nan(uint32_t bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

/* Order the bits of f32 as integers: -0 comes before +0. */
static int32_t collect_real_key(uint32_t bits)
{
	return bits >> 31 ? (int32_t)(bits ^ 0x7fffffff) : (int32_t)bits;
}

static uint32_t collect_reduce_real(enum collect_redux op, uint32_t a, uint32_t b)
{
	bool keep_nan = op == REDUX_FMIN_NAN || op == REDUX_FMAX_NAN;
	bool min = op == REDUX_FMIN || op == REDUX_FMIN_NAN;
	if (collect_is_nan(a) || collect_is_nan(b)) {
		return keep_nan || (collect_is_nan(a) && collect_is_nan(b)) ? 0x7fffffff
			: collect_is_nan(a) ? b : a;
	}
	return (collect_real_key(a) < collect_real_key(b)) == min ? a : b;
}

static uint32_t collect_reduce_two(enum collect_redux op, uint32_t a, uint32_t b)
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
		return collect_reduce_real(op, a, b);
	}
}

static void collect_reduce(struct rt_exchange *x, uint32_t set, uint32_t details)
{
	enum collect_redux op = (enum collect_redux)(details & (REDUX_ABS - 1u));
	uint32_t sign = details & REDUX_ABS ? 0x7fffffff : UINT32_MAX;
	uint32_t first = (uint32_t)__builtin_ctz(set);
	uint32_t result = x->words[0][first] & sign;
	for (uint32_t left = set & (set - 1); left != 0; left &= left - 1) {
		result = collect_reduce_two(op, result, x->words[0][__builtin_ctz(left)] & sign);
	}
	if (op >= REDUX_FMIN && collect_is_nan(result)) {
		result = 0x7fffffff;
	}
	collect_give(x, set, 0, result);
}

static void collect_elect(struct rt_exchange *x, uint32_t set)
{
	uint32_t leader = (uint32_t)__builtin_ctz(set);
	collect_give(x, set, 0, leader);
	collect_give(x, set, 1, 0);
	x->words[1][leader] = 1;
}

/* Make the results of the threads in `set`. */
static void collect_compute(struct rt_exchange *x, uint32_t what, uint32_t set)
{
	uint32_t details = what >> COLLECT_SHIFT;
	enum collect op = (enum collect)(what & ((1u << COLLECT_SHIFT) - 1));
	switch (op) {
	case COLLECT_SYNC:
		break;
	case COLLECT_WHO:
		collect_give(x, set, 0, set);
		break;
	case COLLECT_SHFL:
		collect_shuffle(x, set, details);
		break;
	case COLLECT_BALLOT:
		collect_give(x, set, 0, collect_ballot(x, set));
		break;
	case COLLECT_VOTE:
		collect_vote(x, set, (enum collect_vote)details);
		break;
	case COLLECT_MATCH:
		collect_match(x, set);
		break;
	case COLLECT_REDUX:
		collect_reduce(x, set, details);
		break;
	case COLLECT_ELECT:
		collect_elect(x, set);
		break;
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

/* --- Threads that wait for each other --- */

/* The threads that wait at the same operation with the same members as this one. */
static uint32_t collect_peers_of(const struct rt_exchange *x, uint32_t thread)
{
	uint32_t peers = 0;
	for (uint32_t left = x->here; left != 0; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);
		if (x->what[i] == x->what[thread] && x->members[i] == x->members[thread]) {
			peers |= 1u << i;
		}
	}
	return peers;
}

static void collect_release(struct rt_warp *warp, uint32_t what, uint32_t set)
{
	struct rt_exchange *x = warp->exchange;
	if (unlikely(warp->race)) {
		warp->launch->host->meet(warp, what, set);
	}
	collect_compute(x, what & ~COLLECT_OPEN, set);
	x->here &= ~set;
	x->released |= set;
}

/* Release the groups of threads among `some` whose members have all come. */
static void collect_check(struct rt_warp *warp, uint32_t some, uint32_t absent)
{
	struct rt_exchange *x = warp->exchange;
	while (some != 0) {
		uint32_t first = (uint32_t)__builtin_ctz(some);
		uint32_t set = collect_peers_of(x, first);
		some &= ~set;
		if (!(x->what[first] & COLLECT_OPEN)
		    && (x->members[first] & ~(set | absent)) == 0) {
			collect_release(warp, x->what[first], set);
		}
	}
}

uint32_t collect_arrive(struct rt_warp *warp, uint32_t lanes)
{
	struct rt_exchange *x = warp->exchange;
	uint32_t shift = warp->first % RT_GROUP;
	uint32_t mine = lanes << shift;
	x->here |= mine;
	for (uint32_t left = warp->race ? mine : 0; left != 0; left &= left - 1) {
		x->lines[__builtin_ctz(left)] = warp->line;
	}
	collect_check(warp, mine, x->absent | warp->exited << shift);
	// A GPU resumes all threads of a collective together.  The last ones to come do not run
	// ahead.
	if (x->released != mine) {
		return 0;
	}
	x->released = 0;
	return 1;
}

void collect_recheck(struct rt_warp *warp)
{
	collect_check(warp, warp->exchange->here, warp->exchange->absent);
}

/* A warp of 32 lanes that have diverged sweeps through its blocks in their order.  So do threads
 * that run one by one: those at the next place after the last one go on, and past the last place,
 * those at the first.  Both sides of a branch come to where they meet before either leaves it, and
 * threads that go round in a loop do not keep others waiting. */
bool collect_release_open(struct rt_warp *warp)
{
	struct rt_exchange *x = warp->exchange;
	uint32_t next = RT_GROUP, least = UINT32_MAX;
	for (uint32_t left = x->here; left != 0; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);
		const uint32_t distance = x->members[i] - x->swept; // wraps around
		if (x->what[i] & COLLECT_OPEN && (next == RT_GROUP || distance < least)) {
			next = i;
			least = distance;
		}
	}
	if (next == RT_GROUP) {
		return false;
	}
	x->swept = x->members[next] + 1;
	collect_release(warp, x->what[next], collect_peers_of(x, next));
	return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * Threads of a CUDA warp meet.  Those who wait for each other have put down the same operation and
 * the same members; when all members have come, or will never come, their results are computed and
 * they may go on.
 */
#include "base/common.h"

#include "cpu/runtime/rt_collect.h"

/* The threads that wait with this one. */
static uint32_t peers_of(const struct rt_exchange *x, uint32_t thread)
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

static void collect_release(struct rt_exchange *x, struct rt_warp *warp, uint32_t what,
	uint32_t set)
{
	collect_compute(x, warp, what & ~COLLECT_OPEN, set);
	x->here &= ~set;
	x->released |= set;
}

/* Release what is complete among the threads in `some`. */
static void check(struct rt_exchange *x, struct rt_warp *warp, uint32_t some, uint32_t absent)
{
	while (some != 0) {
		uint32_t first = (uint32_t)__builtin_ctz(some);
		uint32_t set = peers_of(x, first);
		some &= ~set;
		if (!(x->what[first] & COLLECT_OPEN)
		    && (x->members[first] & ~(set | absent)) == 0) {
			collect_release(x, warp, x->what[first], set);
		}
	}
}

uint32_t collect_arrive(struct rt_warp *warp, uint32_t lanes)
{
	struct rt_exchange *x = warp->exchange;
	uint32_t shift = warp->first % RT_GROUP;
	uint32_t mine = lanes << shift;
	x->here |= mine;
	check(x, warp, mine, x->absent | warp->exited << shift);
	if ((x->released & mine) != mine) {
		return 0;
	}
	x->released &= ~mine;
	return 1;
}

void collect_recheck(struct rt_warp *warp)
{
	check(warp->exchange, warp, warp->exchange->here, warp->exchange->absent);
}

bool collect_release_open(struct rt_warp *warp)
{
	struct rt_exchange *x = warp->exchange;
	for (uint32_t left = x->here; left != 0; left &= left - 1) {
		uint32_t first = (uint32_t)__builtin_ctz(left);
		if (x->what[first] & COLLECT_OPEN) {
			collect_release(x, warp, x->what[first], peers_of(x, first));
			return true;
		}
	}
	return false;
}

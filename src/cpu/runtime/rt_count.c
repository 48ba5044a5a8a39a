/* SPDX-License-Identifier: MIT */
/*
 * Counts for a profile, for lanes of a warp whose addresses may be anything: how many cache lines
 * they touch.
 *
 * A hash table has the numbers of the lines.  Compiled code calls this only where it has not found
 * an order in the addresses (emit_count.c).
 */
#include "base/common.h"

#include "cpu/runtime/rt.h"

enum { COUNT_SLOT_BITS = 6, COUNT_SLOTS = 1 << COUNT_SLOT_BITS };

void rt_count_lines(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
	uint32_t counter, uint32_t unused, uint32_t unused_too)
{
	uint64_t lines[COUNT_SLOTS];
	bool is_used[COUNT_SLOTS] = {false};
	(void)unused;
	(void)unused_too;
	for (; lanes != 0; lanes &= lanes - 1) {
		const uint64_t line = arrays->at[__builtin_ctz(lanes)] >> RT_LINE_SHIFT;
		uint64_t slot = line * UINT64_C(0x9E3779B97F4A7C15) >> (64 - COUNT_SLOT_BITS);
		while (is_used[slot] && lines[slot] != line) {
			slot = (slot + 1) % COUNT_SLOTS;
		}
		warp->counters[counter] += !is_used[slot];
		lines[slot] = line;
		is_used[slot] = true;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Counts for a profile, for lanes of a warp whose addresses may be anything: how many cache lines
 * they touch, and how many lanes share an address.
 *
 * A hash table has the numbers of the lines, or the addresses.  Compiled code calls this only where
 * it has not found an order in the addresses (emit_count.c).
 */
#include "base/common.h"

#include "cpu/runtime/rt.h"

#include <string.h>

enum { COUNT_SLOT_BITS = 6, COUNT_SLOTS = 1 << COUNT_SLOT_BITS };

struct count_result {
	uint32_t distinct; /* numbers */
	uint32_t sharing;  /* lanes whose number another one has, too */
};

static struct count_result count_numbers(const struct rt_lanes *arrays, uint32_t lanes,
	unsigned shift)
{
	uint64_t numbers[COUNT_SLOTS];
	uint8_t times[COUNT_SLOTS]; /* that a number was met; 0: the slot is empty */
	struct count_result result = {.distinct = 0};
	memset(times, 0, sizeof(times));
	for (; lanes != 0; lanes &= lanes - 1) {
		const uint64_t number = arrays->at[__builtin_ctz(lanes)] >> shift;
		uint64_t slot = number * UINT64_C(0x9E3779B97F4A7C15) >> (64 - COUNT_SLOT_BITS);
		while (times[slot] != 0 && numbers[slot] != number) {
			slot = (slot + 1) % COUNT_SLOTS;
		}
		numbers[slot] = number;
		times[slot]++;
		result.distinct += times[slot] == 1;
		result.sharing += times[slot] == 1 ? 0 : times[slot] == 2 ? 2 : 1;
	}
	return result;
}

void rt_count_lines(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
	uint32_t counter, uint32_t has_lines, uint32_t is_atomic)
{
	if (has_lines) {
		warp->counters[counter] += count_numbers(arrays, lanes, RT_LINE_SHIFT).distinct;
	}
	if (is_atomic) {
		warp->counters[counter + 1] += count_numbers(arrays, lanes, 0).sharing;
	}
}

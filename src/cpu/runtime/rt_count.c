/* SPDX-License-Identifier: MIT */
/*
 * Counts for a profile, for lanes of a warp whose addresses may be anything: how many cache lines
 * they touch.
 *
 * Each lane writes its number into the slot of its line, and so each line has one lane that finds
 * its own number there.  Only if two lines have one slot are lanes compared with each other.
 * Compiled code calls this only where it has not found an order in the addresses (emit_count.c).
 */
#include "base/common.h"

#include "cpu/runtime/rt.h"

enum { COUNT_SLOT_BITS = 13 };

/* The lanes whose line no lane below them has. */
static uint32_t count_by_pairs(const uint64_t lines[RT_MAX_WIDTH], uint32_t lanes)
{
	uint32_t first = lanes;
	for (uint32_t left = lanes; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		for (uint32_t below = lanes & ((1u << lane) - 1); below != 0; below &= below - 1) {
			if (lines[__builtin_ctz(below)] == lines[lane]) {
				first &= ~(1u << lane);
				break;
			}
		}
	}
	return first;
}

void rt_count_lines(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
	uint32_t counter, uint32_t unused, uint32_t unused_too)
{
	uint8_t owners[1 << COUNT_SLOT_BITS]; // read only where it was written
	uint64_t lines[RT_MAX_WIDTH];
	uint16_t slots[RT_MAX_WIDTH];
	uint32_t first = 0;
	bool is_clear = true;
	(void)unused;
	(void)unused_too;
	for (uint32_t left = lanes; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		lines[lane] = arrays->at[lane] >> RT_LINE_SHIFT;
		slots[lane] = (uint16_t)(lines[lane] * UINT64_C(0x9E3779B97F4A7C15)
			>> (64 - COUNT_SLOT_BITS));
		owners[slots[lane]] = (uint8_t)lane;
	}
	for (uint32_t left = lanes; left != 0; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		const uint32_t owner = owners[slots[lane]];
		is_clear &= lines[owner] == lines[lane];
		first |= (uint32_t)(owner == lane) << lane;
	}
	first = is_clear ? first : count_by_pairs(lines, lanes);
	warp->counters[counter] += (uint32_t)__builtin_popcount(first);
}

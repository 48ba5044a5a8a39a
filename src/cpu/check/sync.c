/* SPDX-License-Identifier: MIT */
/*
 * Checks the masks of collectives.  Each thread has to name itself, and a shuffle may only read
 * from a thread that takes part.  If a thread that is named does not come, the others wait: that is
 * a deadlock, which exec/launch_failure.c reports.
 */
#include "base/common.h"

#include "cpu/check/sync.h"

#include "cpu/mem/fault.h"
#include "cpu/runtime/rt_collect.h"

#include <stdarg.h>
#include <stdio.h>

void sync_report(const struct rt_warp *warp, struct sync_place place,
	const struct sync_place *other, const char *other_what, const char *format, ...)
{
	struct report report = {.check = CHECK_SYNC, .kernel = warp->launch->check,
		.side_count = other ? 2 : 1};
	va_list args;
	fault_hold();
	va_start(args, format);
	vsnprintf(report.sides[0].what, sizeof(report.sides[0].what), format, args);
	va_end(args);
	report_set_side(&report.sides[0], warp->launch, warp->ctaid, place.thread, place.line);
	if (other) {
		snprintf(report.sides[1].what, sizeof(report.sides[1].what), "%s", other_what);
		report_set_side(&report.sides[1], warp->launch, warp->ctaid, other->thread,
			other->line);
	}
	report_add(&report);
	fault_release();
}

/* The lane from which lane i of a shuffle reads, if that exists and does not take part; else i. */
static uint32_t sync_missing_source(const struct rt_exchange *x, uint32_t details, uint32_t set,
	uint32_t i)
{
	bool in_range = false;
	const uint32_t from = collect_shfl_source((enum collect_shfl)details, i, x->words[1][i],
		x->words[2][i], &in_range);
	return in_range && from < RT_GROUP && !((set | x->absent) >> from & 1) ? from : i;
}

void sync_check_collective(const struct rt_warp *warp, uint32_t what, uint32_t set)
{
	const struct rt_exchange *x = warp->exchange;
	const uint32_t first = warp->first / RT_GROUP * RT_GROUP;
	const uint32_t details = what >> COLLECT_SHIFT;
	for (uint32_t left = set; left != 0; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);
		const struct sync_place place = {first + i, x->lines[i]};
		const uint32_t from = (what & ((1u << COLLECT_SHIFT) - 1)) == COLLECT_SHFL
			? sync_missing_source(x, details, set, i) : i;
		if (!(x->members[i] >> i & 1)) {
			sync_report(warp, place, NULL, NULL, "the mask 0x%x does not name lane %u, "
				"which uses it", x->members[i], i);
			return;
		}
		if (from != i) {
			sync_report(warp, place, NULL, NULL, "lane %u reads the value of lane %u, "
				"which does not take part: the mask is 0x%x", i, from,
				x->members[i]);
			return;
		}
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * The checks `coalesce` and `bank`: what a launch's accesses to memory would cost a GPU.
 *
 * Kernels count that as they count for a profile (ir/counters.h).  At the end of a launch, those of
 * its accesses that take much more than they need are added for each line of the source, and the
 * lines are reported, the worst one first.
 */
#include "base/common.h"

#include "cpu/exec/launch_job.h"

#include "base/alloc.h"
#include "cpu/check/report.h"
#include "cpu/ir/counters.h"

#include <stdio.h>
#include <stdlib.h>

/* What a line costs. */
struct line_cost {
	uint32_t place;          /* in the source, by number */
	enum check check;
	uint32_t ptx_line;       /* of the access that costs a warp the most: */
	uint64_t worst;
	uint64_t block;          /* as COUNTERS_WORST_BLOCK */
	uint32_t first;          /* thread of that warp */
	uint64_t accesses;       /* of warps */
	uint64_t moved, least, lines;
};

struct cost_list {
	struct line_cost *items;
	size_t count, cap;
};

static struct line_cost *cost_find(struct cost_list *list, uint32_t place, enum check check)
{
	size_t i = list->count;
	while (i > 0 && (list->items[i - 1].place != place || list->items[i - 1].check != check)) {
		i--;
	}
	if (i > 0) {
		return &list->items[i - 1];
	}
	struct line_cost *items = mem_grow(list->items, list->count, &list->cap, sizeof(*items));
	if (!items) {
		return NULL; // and the line has no report
	}
	list->items = items;
	list->items[list->count] = (struct line_cost){.place = place, .check = check};
	return &list->items[list->count++];
}

/* Add what the accesses of warps have cost, and note the worst one. */
static void cost_add(struct line_cost *to, const struct line_cost *cost)
{
	to->accesses += cost->accesses;
	to->moved += cost->moved;
	to->least += cost->least;
	to->lines += cost->lines;
	if (cost->worst > to->worst) {
		to->worst = cost->worst;
		to->block = cost->block;
		to->first = cost->first;
		to->ptx_line = cost->ptx_line;
	}
}

/* Of an access, by all workers.  One of a generic address may be to either memory; what most of
 * them are to decides. */
static struct line_cost cost_of_access(const struct launch_job *job,
	const struct profile_access *access)
{
	struct line_cost all = {.place = access->place};
	uint64_t in_shared = 0;
	for (unsigned i = 0; i < job->want; i++) {
		const uint64_t *counters = &job->launcher->workers[i].counters[access->first];
		cost_add(&all, &(struct line_cost){.ptx_line = access->ptx_line,
			.worst = counters[COUNTERS_WORST],
			.block = counters[COUNTERS_WORST_BLOCK],
			.first = (uint32_t)counters[COUNTERS_WORST_FIRST],
			.accesses = counters[COUNTERS_REQUESTS],
			.moved = counters[COUNTERS_MOVED], .least = counters[COUNTERS_LEAST],
			.lines = counters[COUNTERS_LINES]});
		in_shared += counters[COUNTERS_SHARED];
	}
	all.check = 2 * in_shared > all.accesses ? CHECK_BANK : CHECK_COALESCE;
	return all;
}

/* Whether an access takes so much more than it needs that it is worth a report.  Global memory:
 * twice as much, and three sectors more for each access.  Shared memory: half as much again. */
static bool cost_is_high(const struct line_cost *cost)
{
	const uint64_t more = cost->moved - cost->least;
	return more > 0 && (cost->check == CHECK_COALESCE
		? more >= cost->least && more >= 3 * cost->accesses : 2 * more >= cost->least);
}

static int cost_compare(const void *a, const void *b)
{
	const struct line_cost *x = a, *y = b;
	const uint64_t more_x = x->moved - x->least, more_y = y->moved - y->least;
	return (more_x < more_y) - (more_x > more_y);
}

static void cost_report(const struct launch_job *job, const struct line_cost *cost)
{
	struct report report = {.check = cost->check, .kernel = job->request->check,
		.count = cost->accesses, .side_count = 1};
	struct report_side *side = &report.sides[0];
	const double each = 1.0 / (double)cost->accesses;
	const double moved = (double)cost->moved * each, least = (double)cost->least * each;
	if (cost->check == CHECK_COALESCE) {
		snprintf(side->what, sizeof(side->what), "an access of a warp to global memory "
			"takes %.3g sectors of 32 bytes here, in %.3g lines of 128 bytes; %.3g "
			"sectors have all that it needs", moved, (double)cost->lines * each,
			least);
	} else {
		snprintf(side->what, sizeof(side->what), "an access of a warp to shared memory "
			"takes %.3g turns here instead of %.3g: threads want different words of "
			"the same bank", moved, least);
	}
	const uint32_t block[3] = {(uint32_t)cost->block, (uint32_t)(cost->block >> 32 & 0xffff),
		(uint32_t)(cost->block >> 48)};
	report_set_side(side, &job->launch, block, cost->first, cost->ptx_line);
	report_add(&report);
}

/* Only code of whole warps shows how they make an access. */
static void cost_report_narrow(const struct launch_job *job)
{
	const struct check_kernel *kernel = job->request->check;
	struct report report = {.kernel = kernel, .side_count = 1,
		.check = kernel->checks & check_bit(CHECK_COALESCE) ? CHECK_COALESCE : CHECK_BANK};
	struct report_side *side = &report.sides[0];
	side->line = (uint32_t)kernel->func->line;
	snprintf(side->what, sizeof(side->what), "the accesses of this kernel are not counted, as "
		"its threads do not run as warps: it is very long, or a debugger or a schedule is "
		"on");
	report_add(&report);
}

void launch_cost_end(const struct launch_job *job)
{
	const struct profile_code *code = job->kernel->profile;
	const struct check_kernel *check = job->request->check;
	struct cost_list list = {.count = 0};
	struct profile_access access;
	if (!code || job->counter_count == 0 || !check || !(check->checks & CHECK_OF_COSTS)) {
		return;
	}
	if (job->kernel->width < RT_GROUP && job->launch.threads > 1) {
		cost_report_narrow(job);
		return;
	}
	for (size_t next = 0; profile_next_access(code, &next, &access);) {
		const struct line_cost cost = cost_of_access(job, &access);
		struct line_cost *line = check->checks & check_bit(cost.check)
			&& cost_is_high(&cost) ? cost_find(&list, cost.place, cost.check) : NULL;
		if (line) {
			cost_add(line, &cost);
		}
	}
	if (list.count > 0) {
		qsort(list.items, list.count, sizeof(*list.items), cost_compare);
	}
	for (size_t i = 0; i < list.count; i++) {
		cost_report(job, &list.items[i]);
	}
	mem_free(list.items);
}

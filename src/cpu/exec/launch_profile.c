/* SPDX-License-Identifier: MIT */
/*
 * What a launch does for a profile: each worker counts in its own table, and measures the time that
 * it works.  At the end of the launch both are added to the kernel's sums.
 *
 * The table has one layout for all code of a kernel, so a worker that switches to better code keeps
 * its table.
 */
#include "base/common.h"

#include "cpu/exec/launch_job.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

void launch_profile_begin(struct launch_job *job)
{
	const struct profile_code *code = job->kernel->profile;
	job->counter_count = profile_count(code);
	job->start_ns = code ? clock_now_ns() : 0;
}

bool launch_profile_set_up(const struct launch_job *job, struct worker *w)
{
	const size_t count = job->counter_count;
	w->busy_ns = 0;
	if (count > w->counter_cap) {
		mem_free(w->counters);
		w->counters = mem_alloc(count * sizeof(*w->counters));
		w->counter_cap = w->counters ? count : 0;
	}
	if (count > w->counter_cap) {
		return false;
	}
	if (count > 0) {
		memset(w->counters, 0, count * sizeof(*w->counters));
	}
	return true;
}

void launch_profile_bind(const struct launch_job *job, const struct worker *w,
	struct block *block)
{
	for (uint32_t i = 0; job->counter_count > 0 && i < block->slot_count; i++) {
		block->slots[i].warp.counters = w->counters;
	}
}

void launch_profile_end(struct launch_job *job)
{
	struct profile_code *code = job->kernel->profile;
	if (!code) {
		return;
	}
	struct profile_launch launch = {.name = job->request->name, .blocks = job->blocks,
		.threads = job->launch.threads,
		.wall_ns = clock_now_ns() - job->start_ns};
	for (unsigned i = 0; i < job->want; i++) {
		const struct worker *w = &job->launcher->workers[i];
		launch.busy_ns += w->busy_ns;
		if (job->counter_count > 0) {
			profile_add_counters(code, w->counters);
		}
	}
	profile_add_launch(code, &launch);
	launch_cost_end(job);
}

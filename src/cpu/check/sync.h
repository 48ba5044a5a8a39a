/* SPDX-License-Identifier: MIT */
#ifndef CPU_CHECK_SYNC_H
#define CPU_CHECK_SYNC_H

/* The check `sync`: reports about barriers, masks, asynchronous copies and deadlocks. */
#include "cpu/check/report.h"

/* A thread of a block, at a line of PTX. */
struct sync_place {
	uint32_t thread;
	uint32_t line;
};

/* Whether the launch of a warp has this check on. */
static inline bool sync_is_on(const struct rt_warp *warp)
{
	const struct check_kernel *kernel = warp->launch->check;
	return kernel && kernel->checks & check_bit(CHECK_SYNC);
}

/* Report what a thread of the warp's block does wrong; `other`, unless it is NULL, does what
 * `other_what` says. */
void sync_report(const struct rt_warp *warp, struct sync_place place,
	const struct sync_place *other, const char *other_what, const char *format, ...)
	printf_like(5, 6);
/* Threads of a warp, `set`, have met at a collective. */
void sync_check_collective(const struct rt_warp *warp, uint32_t what, uint32_t set);

#endif

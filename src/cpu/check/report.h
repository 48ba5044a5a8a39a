/* SPDX-License-Identifier: MIT */
#ifndef CPU_CHECK_REPORT_H
#define CPU_CHECK_REPORT_H

/*
 * What the checks of this process have found.  Any thread may call these functions, also a worker
 * within a kernel (fault_hold).
 */
#include "cpu/check/check_kernel.h"

/* One of the accesses, or of the waits, that a report is about. */
struct report_side {
	char what[320];      /* "read of 4 bytes at address 0x10, which is in no allocation" */
	uint32_t line;       /* of PTX */
	uint32_t block[3];
	uint32_t thread[3];
};

struct report {
	enum check check;
	const struct check_kernel *kernel;
	uint64_t count;      /* how often that was found now; 0: once */
	size_t side_count;   /* at least 1, at most KUDZU_REPORT_SIDES */
	struct report_side sides[KUDZU_REPORT_SIDES];
};

/* Say that a thread of a block was at a line of PTX: all of a side but its `what`. */
void report_set_side(struct report_side *side, const struct rt_launch *launch,
	const uint32_t block[3], uint32_t thread, uint32_t line);
/* Add a report, unless it is suppressed.  One of the same check, kernel and places is counted. */
void report_add(const struct report *report);
/* Write the file of KUDZU_CHECK_REPORT, if there is one: when a check becomes active, and when the
 * counts are final. */
void report_save(void);
/* Copy the first `most` reports; how many there are.  The texts live as long as the driver. */
size_t report_list(struct kudzu_report *out, size_t most);

#endif

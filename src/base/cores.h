/* SPDX-License-Identifier: MIT */
#ifndef BASE_CORES_H
#define BASE_CORES_H

#include "common.h"

#include <sched.h>

/* Cores that this process may use. */
static inline unsigned cores_available(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	return count > 0 ? (unsigned)count : 1;
}

#endif

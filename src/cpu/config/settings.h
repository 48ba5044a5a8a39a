/* SPDX-License-Identifier: MIT */
#ifndef CPU_CONFIG_SETTINGS_H
#define CPU_CONFIG_SETTINGS_H

/* What the user may set, by environment variables. */
#include "base/common.h"

enum setting {
	SETTING_MEMORY,  /* bytes */
	SETTING_THREADS,
	SETTING_TIMEOUT, /* nanoseconds */
	SETTING_WIDTH,   /* lanes */
	SETTING_FEATURES, /* enum features_level */
	SETTING_GUARD,   /* enum settings_guard */
};

#define SETTINGS_MAX_THREADS 1024
#define SETTINGS_MAX_WIDTH 32 /* a whole warp */

/* Where allocations lie in their pages, so that what is beside them traps at the first byte. */
enum settings_guard { GUARD_NONE, GUARD_END, GUARD_START };

/* What the variable says now; `otherwise` if it is not set, or empty, or makes no sense. */
uint64_t settings_get(enum setting which, uint64_t otherwise);

/* KUDZU_CPU_DUMP, NULL if it is not set: where to write what becomes of kernels.  Then nothing may
 * come from the cache, whose entries have no IR. */
const char *settings_dump_folder(void);

/* Whether all of them make sense; if not, why not, in a line.  cuInit asks. */
bool settings_check(char *why, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_CONFIG_SETTINGS_H
#define CPU_CONFIG_SETTINGS_H

/*
 * cpu/config is what the CPU device is told from outside: settings.h has the environment variables,
 * features.h what the processor can do.
 */
#include "base/common.h"

enum setting {
	SETTING_MEMORY,  /* bytes */
	SETTING_THREADS,
	SETTING_TIMEOUT, /* nanoseconds */
	SETTING_WIDTH,   /* lanes */
	SETTING_FEATURES, /* enum features_level */
	SETTING_GUARD,   /* enum settings_guard */
	SETTING_TIER,    /* enum jit_tier, or SETTINGS_TIER_ONCE */
	SETTING_PASSES,  /* a set: see passes.h */
	SETTING_LIMITS,  /* enum settings_limits */
	SETTING_DEVICES,
	SETTING_SCHEDULE, /* a seed; 0: none */
	SETTING_COUNT
};

#define SETTINGS_MAX_THREADS 1024
#define SETTINGS_MAX_DEVICES 16
#define SETTINGS_MAX_WIDTH 32 /* a whole warp */
#define SETTINGS_MAX_SEED 999999999
#define SETTINGS_TIER_ONCE 3  /* the tier that a kernel starts with, forever */

/* At which end of its pages an allocation lies, so that an access beyond that end traps at once;
 * with GUARD_INIT at their end, and a kernel that reads what nothing has written traps, too. */
enum settings_guard { GUARD_NONE, GUARD_END, GUARD_START, GUARD_INIT };

/* Whether the device refuses what every GPU refuses, though it could do it. */
enum settings_limits { LIMITS_OFF = 1, LIMITS_ON };

/* What the variable says now; `otherwise` if it is not set, or empty, or makes no sense. */
uint64_t settings_get(enum setting which, uint64_t otherwise);
/* From now on a setting has this value, whatever its variable says; 0: the variable's again. */
void settings_put(enum setting which, uint64_t value);
/* Whether the limits of GPUs hold. */
bool settings_limited(void);
/* Whether kernels tell of their accesses (codegen/memory/emit_trace.c): for a guard, or because
 * there is memory of several devices. */
bool settings_traced(void);

/* KUDZU_CPU_DUMP, the folder for the IR and the assembly of kernels; NULL if it is not set.  If
 * it is, kernels may not come from the cache, whose entries have no IR. */
const char *settings_dump_folder(void);

/* Whether all settings make sense; if not, the reason as one line.  cuInit calls it. */
bool settings_check(char *why, size_t size);

#endif

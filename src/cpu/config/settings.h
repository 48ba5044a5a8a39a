/* SPDX-License-Identifier: MIT */
#ifndef CPU_CONFIG_SETTINGS_H
#define CPU_CONFIG_SETTINGS_H

/*
 * cpu/config is what the CPU device is told from outside: settings.h has the environment variables,
 * features.h what the processor can do.
 */
#include "base/checks.h"
#include "base/common.h"

enum setting {
	SETTING_MEMORY,  /* bytes */
	SETTING_THREADS,
	SETTING_TIMEOUT, /* nanoseconds */
	SETTING_WIDTH,   /* lanes */
	SETTING_FEATURES, /* enum features_level */
	SETTING_CHECK,   /* a set of checks: see base/checks.h */
	SETTING_TIER,    /* enum jit_tier, or SETTINGS_TIER_ONCE */
	SETTING_PASSES,  /* a set: see passes.h */
	SETTING_LIMITS,  /* enum settings_limits */
	SETTING_DEVICES,
	SETTING_SCHEDULE, /* a seed; 0: none */
	SETTING_DEBUG,   /* enum settings_debug */
	SETTING_PROFILE_ONLY, /* one of enum settings_profile */
	SETTING_COUNT
};

#define SETTINGS_MAX_THREADS 1024
#define SETTINGS_MAX_DEVICES 16
#define SETTINGS_MAX_WIDTH 32 /* a whole warp */
#define SETTINGS_MAX_SEED 999999999
#define SETTINGS_TIER_ONCE 3  /* the tier that a kernel starts with, forever */

/* Whether the device refuses what every GPU refuses, though it could do it. */
enum settings_limits { LIMITS_OFF = 1, LIMITS_ON };

/* Whether a debugger shall see kernels. */
enum settings_debug { DEBUG_OFF = 1, DEBUG_ON };

/* What a profile has: what kernels count, where they spend their time; and a file for perf. */
enum settings_profile { PROFILE_COUNTS = 1, PROFILE_TIME = 2, PROFILE_JITDUMP = 4 };

/* What the variable says now; `otherwise` if it is not set, or empty, or makes no sense. */
uint64_t settings_get(enum setting which, uint64_t otherwise);
/* From now on a setting has this value, whatever its variable says; 0: the variable's again. */
void settings_put(enum setting which, uint64_t value);
/* Whether the limits of GPUs hold. */
bool settings_limited(void);
/* Whether kernels are compiled for a debugger: their lines and variables are described, and they
 * run thread after thread in one worker. */
bool settings_debugged(void);
/* KUDZU_CHECK, a set of checks. */
unsigned settings_checks(void);
static inline bool settings_has_check(enum check check)
{
	return (settings_checks() & check_bit(check)) != 0;
}
/* Whether what checks find goes to standard error: the user has asked for checks, and not for
 * KUDZU_CHECK_PRINT=0. */
bool settings_prints_reports(void);
/* KUDZU_CHECK_TALLY, in which `kudzu cpu --check` counts reports (check/report.c); NULL: none. */
const char *settings_tally_file(void);
/* KUDZU_CHECK_REPORT, the file for what checks find; NULL: none. */
const char *settings_report_file(void);
/* Whether kernels ask before each access (codegen/memory/emit_check.c): for a check of accesses, or
 * because there is memory of several devices. */
bool settings_asks(void);

/* KUDZU_CPU_DUMP, the folder for the IR and the assembly of kernels; NULL if it is not set.  If
 * it is, kernels may not come from the cache, whose entries have no IR. */
const char *settings_dump_folder(void);

/* KUDZU_PROFILE, the file of the profile; NULL if it is not set. */
const char *settings_profile_file(void);
/* KUDZU_CPU_JITDUMP, the folder of the file for perf; NULL if it is not set. */
const char *settings_jitdump_folder(void);
/* A set of enum settings_profile; 0: there is no profile. */
unsigned settings_profile(void);

/* Whether all settings make sense; if not, the reason as one line.  cuInit calls it. */
bool settings_check(char *why, size_t size);

#endif

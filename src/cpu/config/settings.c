/* SPDX-License-Identifier: MIT */
/*
 * The environment variables of the CPU device, a table with a row for each.  A setting is read
 * where it is used.  When the driver starts it checks all of them, and those of the cache, so that
 * a slip of the pen is an error and not the default.
 */
#include "base/common.h"

#include "cpu/config/settings.h"

#include "base/env.h"
#include "base/store.h"
#include "base/str.h"
#include "cpu/config/features.h"
#include "cpu/config/passes.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static bool settings_parse_size(const char *text, uint64_t *out)
{
	int64_t size;
	if (!str_size(&size, text)) {
		return false;
	}
	*out = (uint64_t)size;
	return true;
}

/* The whole text is a number. */
static bool settings_parse_number(const char *text, double *out)
{
	const char *end;
	return str_plain_number(out, text, &end) && !*end;
}

static bool settings_parse_count(const char *text, double most, uint64_t *out)
{
	double number;
	if (!settings_parse_number(text, &number) || number != floor(number)
	    || !(number >= 1 && number <= most)) {
		return false;
	}
	*out = (uint64_t)number;
	return true;
}

static bool settings_parse_threads(const char *text, uint64_t *out)
{
	return settings_parse_count(text, SETTINGS_MAX_THREADS, out);
}

static bool settings_parse_devices(const char *text, uint64_t *out)
{
	return settings_parse_count(text, SETTINGS_MAX_DEVICES, out);
}

static bool settings_parse_seed(const char *text, uint64_t *out)
{
	return settings_parse_count(text, SETTINGS_MAX_SEED, out);
}

static bool settings_parse_seconds(const char *text, uint64_t *out)
{
	double number;
	if (!settings_parse_number(text, &number) || !(number > 0 && number <= 1e9)) {
		return false;
	}
	*out = (uint64_t)(number * 1e9) + 1;
	return true;
}

static const char *const settings_passes[] = {
#define X(symbol, name, file) name,
#include "cpu/config/passes.def"
#undef X
};

/* "-prefetch,-no-wrap" */
static bool settings_parse_passes(const char *text, uint64_t *out)
{
	*out = 0;
	for (const char *next = text;; next++) {
		size_t len = strcspn(next, ","), pass = 0;
		while (pass < PASS_COUNT
		    && (*next != '-' || len != strlen(settings_passes[pass]) + 1
			|| strncmp(next + 1, settings_passes[pass], len - 1) != 0)) {
			pass++;
		}
		if (pass == PASS_COUNT) {
			return false;
		}
		*out |= UINT64_C(1) << pass;
		next += len;
		if (*next == '\0') {
			return true;
		}
	}
}

static bool settings_parse_width(const char *text, uint64_t *out)
{
	*out = strcmp(text, "1") == 0 ? 1 : strcmp(text, "8") == 0 ? 8
		: strcmp(text, "16") == 0 ? 16 : SETTINGS_MAX_WIDTH;
	return *out < SETTINGS_MAX_WIDTH || strcmp(text, "32") == 0;
}

static bool settings_parse_tier(const char *text, uint64_t *out)
{
	*out = strcmp(text, "1") == 0 ? 1 : strcmp(text, "2") == 0 ? 2 : SETTINGS_TIER_ONCE;
	return *out != SETTINGS_TIER_ONCE || strcmp(text, "once") == 0;
}

/* "memory,init" */
static bool settings_parse_checks(const char *text, uint64_t *out)
{
	*out = 0;
	for (const char *next = text;; next++) {
		const size_t len = strcspn(next, ",");
		uint64_t named = len == 3 && strncmp(next, "all", len) == 0 ? CHECK_ALL : 0;
		for (int i = 0; i < CHECK_COUNT; i++) {
			const char *name = check_name((enum check)i);
			named |= len == strlen(name) && strncmp(next, name, len) == 0
				? check_bit((enum check)i) : 0;
		}
		if (named == 0) {
			return false;
		}
		*out |= named;
		next += len;
		if (*next == '\0') {
			return true;
		}
	}
}

static bool settings_parse_profile(const char *text, uint64_t *out)
{
	*out = strcmp(text, "counts") == 0 ? PROFILE_COUNTS : PROFILE_TIME;
	return *out == PROFILE_COUNTS || strcmp(text, "time") == 0;
}

static bool settings_parse_limits(const char *text, uint64_t *out)
{
	*out = strcmp(text, "off") == 0 ? LIMITS_OFF : LIMITS_ON;
	return *out == LIMITS_OFF || strcmp(text, "on") == 0;
}

static bool settings_parse_debug(const char *text, uint64_t *out)
{
	*out = strcmp(text, "1") == 0 ? DEBUG_ON : DEBUG_OFF;
	return *out == DEBUG_ON || strcmp(text, "0") == 0;
}

static const struct {
	const char *name;
	bool (*parse)(const char *text, uint64_t *out);
	const char *expected;
} settings[] = {
	[SETTING_MEMORY] = {"KUDZU_CPU_MEMORY", settings_parse_size, "bytes, such as 512M or 1.5G"},
	[SETTING_THREADS] = {"KUDZU_CPU_THREADS", settings_parse_threads,
		"a number from 1 to 1024"},
	[SETTING_TIMEOUT] = {"KUDZU_CPU_TIMEOUT", settings_parse_seconds,
		"seconds, such as 2 or 0.5"},
	[SETTING_WIDTH] = {"KUDZU_CPU_WIDTH", settings_parse_width, "1, 8, 16 or 32"},
	[SETTING_FEATURES] = {"KUDZU_CPU_FEATURES", features_parse,
		"sse2, sse4, avx, avx2, avx512 or native"},
	[SETTING_CHECK] = {"KUDZU_CHECK", settings_parse_checks, "a list of "
#define X(symbol, name) name ", "
		CHECKS(X)
#undef X
		"or all"},
	[SETTING_TIER] = {"KUDZU_CPU_TIER", settings_parse_tier, "1, 2 or once"},
	[SETTING_PASSES] = {"KUDZU_CPU_PASSES", settings_parse_passes,
		"passes to leave out, such as -prefetch,-no-wrap"},
	[SETTING_LIMITS] = {"KUDZU_CPU_LIMITS", settings_parse_limits, "on or off"},
	[SETTING_DEVICES] = {"KUDZU_CPU_DEVICES", settings_parse_devices, "a number from 1 to 16"},
	[SETTING_SCHEDULE] = {"KUDZU_CPU_SCHEDULE", settings_parse_seed,
		"a seed from 1 to 999999999"},
	[SETTING_DEBUG] = {"KUDZU_DEBUG", settings_parse_debug, "0 or 1"},
	[SETTING_PROFILE_ONLY] = {"KUDZU_PROFILE_ONLY", settings_parse_profile, "counts or time"},
};

static atomic_uint_least64_t settings_given[SETTING_COUNT]; /* by settings_put */

uint64_t settings_get(enum setting which, uint64_t otherwise)
{
	uint64_t value = atomic_load(&settings_given[which]);
	if (value != 0) {
		return value;
	}
	const char *text = env_get(settings[which].name);
	return text && settings[which].parse(text, &value) ? value : otherwise;
}

void settings_put(enum setting which, uint64_t value)
{
	atomic_store(&settings_given[which], value);
}

bool settings_limited(void)
{
	return settings_get(SETTING_LIMITS, LIMITS_ON) == LIMITS_ON;
}

bool settings_debugged(void)
{
	return settings_get(SETTING_DEBUG, DEBUG_OFF) == DEBUG_ON;
}

unsigned settings_checks(void)
{
	return (unsigned)settings_get(SETTING_CHECK, 0);
}

bool settings_prints_reports(void)
{
	const char *checks = env_get("KUDZU_CHECK"), *print = env_get("KUDZU_CHECK_PRINT");
	return checks && *checks && !(print && strcmp(print, "0") == 0);
}

/* A variable that names a file or a folder; NULL if it is not set, or empty. */
static const char *settings_text(const char *name)
{
	const char *value = env_get(name);
	return value && *value ? value : NULL;
}

const char *settings_report_file(void)
{
	return settings_text("KUDZU_CHECK_REPORT");
}

const char *settings_tally_file(void)
{
	return settings_text("KUDZU_CHECK_TALLY");
}

bool settings_asks(void)
{
	return settings_checks() & CHECK_ALL || settings_get(SETTING_DEVICES, 1) > 1;
}

const char *settings_dump_folder(void)
{
	return settings_text("KUDZU_CPU_DUMP");
}

const char *settings_profile_file(void)
{
	return settings_text("KUDZU_PROFILE");
}

const char *settings_jitdump_folder(void)
{
	return settings_text("KUDZU_CPU_JITDUMP");
}

unsigned settings_profile(void)
{
	return (settings_profile_file() ? (unsigned)settings_get(SETTING_PROFILE_ONLY,
		PROFILE_COUNTS | PROFILE_TIME) : 0)
		| (settings_checks() & CHECK_OF_COSTS ? PROFILE_COUNTS : 0)
		| (settings_jitdump_folder() ? PROFILE_JITDUMP : 0);
}

bool settings_check(char *why, size_t size)
{
	for (size_t i = 0; i < countof(settings); i++) {
		uint64_t value;
		const char *text = env_get(settings[i].name);
		if (text && *text && !settings[i].parse(text, &value)) {
			snprintf(why, size, "%s is '%s': expected %s", settings[i].name, text,
				settings[i].expected);
			return false;
		}
	}
	return store_check_variables(why, size);
}

/* SPDX-License-Identifier: MIT */
/*
 * The environment variables.  Each is read where it counts, and all of them when the driver starts,
 * so that a slip of the pen is an error and not a default.
 */
#include "base/common.h"

#include "cpu/config/settings.h"

#include "base/env.h"
#include "cpu/config/features.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decimal number in the C locale, whatever the program's is; false if that is not how the text
 * begins. */
static bool parse_number(const char *text, double *out, const char **rest)
{
	char *end = NULL;
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
	if (c == (locale_t)0 || (!isdigit((unsigned char)*text) && *text != '.')) {
		return false;
	}
	*out = strtod_l(text, &end, c);
	freelocale(c);
	*rest = end;
	return end != text;
}

static bool parse_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	double number;
	const char *end;
	if (!parse_number(text, &number, &end)) {
		return false;
	}
	const char *unit = *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		number = ldexp(number, 10 * (int)(unit - units + 1));
		end++;
	}
	if (*end != '\0' || !(number >= 1 && number < 0x1p62)) {
		return false;
	}
	*out = (uint64_t)number;
	return true;
}

static bool parse_threads(const char *text, uint64_t *out)
{
	double number;
	const char *end;
	if (!parse_number(text, &number, &end) || *end != '\0' || number != floor(number)
	    || !(number >= 1 && number <= SETTINGS_MAX_THREADS)) {
		return false;
	}
	*out = (uint64_t)number;
	return true;
}

static bool parse_seconds(const char *text, uint64_t *out)
{
	double number;
	const char *end;
	if (!parse_number(text, &number, &end) || *end != '\0' || !(number > 0 && number <= 1e9)) {
		return false;
	}
	*out = (uint64_t)(number * 1e9) + 1;
	return true;
}

static bool parse_width(const char *text, uint64_t *out)
{
	*out = strcmp(text, "1") == 0 ? 1 : SETTINGS_MAX_WIDTH;
	return *out == 1 || strcmp(text, "32") == 0;
}

static bool parse_guard(const char *text, uint64_t *out)
{
	*out = strcmp(text, "start") == 0 ? GUARD_START
		: strcmp(text, "0") == 0 ? GUARD_NONE : GUARD_END;
	return *out != GUARD_END || strcmp(text, "end") == 0 || strcmp(text, "1") == 0;
}

static const struct {
	const char *name;
	bool (*parse)(const char *text, uint64_t *out);
	const char *expected;
} settings[] = {
	[SETTING_MEMORY] = {"KUDZU_CPU_MEMORY", parse_size, "bytes, such as 512M or 1.5G"},
	[SETTING_THREADS] = {"KUDZU_CPU_THREADS", parse_threads, "a number from 1 to 1024"},
	[SETTING_TIMEOUT] = {"KUDZU_CPU_TIMEOUT", parse_seconds, "seconds, such as 2 or 0.5"},
	[SETTING_WIDTH] = {"KUDZU_CPU_WIDTH", parse_width, "1 or 32"},
	[SETTING_FEATURES] = {"KUDZU_CPU_FEATURES", features_parse,
		"sse2, sse4, avx, avx2, avx512 or native"},
	[SETTING_GUARD] = {"KUDZU_CPU_GUARD", parse_guard, "end, start or 0"},
};

uint64_t settings_get(enum setting which, uint64_t otherwise)
{
	uint64_t value;
	const char *text = env_get(settings[which].name);
	return text && settings[which].parse(text, &value) ? value : otherwise;
}

const char *settings_dump_folder(void)
{
	const char *value = env_get("KUDZU_CPU_DUMP");
	return value && *value ? value : NULL;
}

bool settings_check(char *why, size_t size)
{
	for (size_t i = 0; i < countof(settings); i++) {
		uint64_t value;
		const char *text = env_get(settings[i].name);
		if (text && *text != '\0' && !settings[i].parse(text, &value)) {
			snprintf(why, size, "%s is '%s': expected %s", settings[i].name, text,
				settings[i].expected);
			return false;
		}
	}
	return true;
}

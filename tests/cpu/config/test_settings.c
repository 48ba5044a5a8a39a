/* SPDX-License-Identifier: MIT */
#include "base/common.h"

#include "cpu/support/api.h"

#include "cpu/config/features.h"
#include "cpu/config/passes.h"
#include "cpu/config/settings.h"
#include "support/suite.h"

#include <stdlib.h>

static const struct {
	const char *name;
	enum setting which;
	const char *text;
	uint64_t value; /* 0: makes no sense */
} cases[] = {
#define MEMORY(text, value) {"KUDZU_CPU_MEMORY", SETTING_MEMORY, text, value}
	MEMORY("1", 1), MEMORY("4096", 4096), MEMORY("3K", 3072), MEMORY("2m", 2 << 20),
	MEMORY("1.5G", UINT64_C(3) << 29), MEMORY(".5k", 512), MEMORY("1T", UINT64_C(1) << 40),
	MEMORY("0", 0), MEMORY("-1", 0), MEMORY(" 1", 0), MEMORY("1 ", 0), MEMORY("1KB", 0),
	MEMORY("K", 0), MEMORY("1e99", 0), MEMORY("nan", 0), MEMORY("9999999T", 0),
	MEMORY("1X", 0), MEMORY("lots", 0),
#define THREADS(text, value) {"KUDZU_CPU_THREADS", SETTING_THREADS, text, value}
	THREADS("1", 1), THREADS("7", 7), THREADS("1024", 1024), THREADS("1025", 0),
	THREADS("0", 0), THREADS("-1", 0), THREADS("2x", 0), THREADS("1.5", 0),
#define TIMEOUT(text, value) {"KUDZU_CPU_TIMEOUT", SETTING_TIMEOUT, text, value}
	TIMEOUT("2", 2000000001), TIMEOUT("0.5", 500000001), TIMEOUT("1e9", 1000000000000000001),
	TIMEOUT("0", 0), TIMEOUT("-2", 0), TIMEOUT("2s", 0), TIMEOUT("inf", 0), TIMEOUT("2e9", 0),
#define WIDTH(text, value) {"KUDZU_CPU_WIDTH", SETTING_WIDTH, text, value}
#define FEATURES(text, value) {"KUDZU_CPU_FEATURES", SETTING_FEATURES, text, value}
	FEATURES("native", FEATURES_NATIVE), FEATURES("avx9", 0), FEATURES("AVX2", 0),
	FEATURES("avx2 ", 0), FEATURES("avx2,fma", 0),
#ifdef __x86_64__
	FEATURES("sse2", FEATURES_SSE2), FEATURES("avx2", FEATURES_AVX2),
#endif
#define CHECK(text, value) {"KUDZU_CHECK", SETTING_CHECK, text, value}
	CHECK("memory", 1), CHECK("init", 2), CHECK("init,memory", 3), CHECK("all", CHECK_ALL),
	CHECK("memory,all", CHECK_ALL), CHECK("Memory", 0), CHECK("memory,", 0), CHECK(",init", 0),
	CHECK("memory init", 0), CHECK("mem", 0), CHECK("memorys", 0), CHECK("1", 0),
#define PASSES(text, value) {"KUDZU_CPU_PASSES", SETTING_PASSES, text, value}
	PASSES("-if-conversion", 1 << PASS_IF_CONVERSION),
	PASSES("-no-wrap,-prefetch", 1 << PASS_NO_WRAP | 1 << PASS_PREFETCH),
	PASSES("prefetch", 0), PASSES("-prefetch,", 0), PASSES("-pre", 0), PASSES("-prefetches", 0),
	PASSES("-", 0), PASSES(",-prefetch", 0), PASSES("-prefetch -no-wrap", 0),
#define LIMITS(text, value) {"KUDZU_CPU_LIMITS", SETTING_LIMITS, text, value}
	LIMITS("off", LIMITS_OFF), LIMITS("on", LIMITS_ON), LIMITS("0", 0), LIMITS("no", 0),
#define PROFILE(text, value) {"KUDZU_PROFILE_ONLY", SETTING_PROFILE_ONLY, text, value}
	PROFILE("counts", PROFILE_COUNTS), PROFILE("time", PROFILE_TIME), PROFILE("both", 0),
#define TIER(text, value) {"KUDZU_CPU_TIER", SETTING_TIER, text, value}
	TIER("1", 1), TIER("2", 2), TIER("0", 0), TIER("once", SETTINGS_TIER_ONCE), TIER("3", 0),
	TIER("best", 0), TIER("onces", 0),
#define SCHEDULE(text, value) {"KUDZU_CPU_SCHEDULE", SETTING_SCHEDULE, text, value}
	SCHEDULE("1", 1), SCHEDULE("999999999", 999999999), SCHEDULE("0", 0), SCHEDULE("1e9", 0),
	SCHEDULE("1.5", 0), SCHEDULE("seed", 0),
	WIDTH("1", 1), WIDTH("8", 8), WIDTH("16", 16), WIDTH("32", 32), WIDTH("7", 0),
	WIDTH("032", 0), WIDTH("1 ", 0),
};

START_TEST(settings_are_read_or_refused)
{
	char why[160] = "";
	bool is_sensible = cases[_i].value != 0;
	setenv(cases[_i].name, cases[_i].text, 1);
	ck_assert_uint_eq(settings_get(cases[_i].which, 99), is_sensible ? cases[_i].value : 99);
	ck_assert_int_eq(settings_check(why, sizeof(why)), is_sensible);
	ck_assert_int_eq(strncmp(why, cases[_i].name, strlen(cases[_i].name)) == 0, !is_sensible);
}
END_TEST

START_TEST(settings_that_are_empty_are_not_set)
{
	char why[160];
	for (size_t i = 0; i < countof(cases); i++) {
		setenv(cases[i].name, "", 1);
		ck_assert_uint_eq(settings_get(cases[i].which, 99), 99);
	}
	ck_assert(settings_check(why, sizeof(why)));
}
END_TEST

START_TEST(a_setting_that_makes_no_sense_stops_cuInit)
{
	int count;
	setenv("KUDZU_CPU_WIDTH", "7", 1);
	FAILS(INVALID_VALUE, cuInit(0));
	check_log("KUDZU_CPU_WIDTH is '7': expected 1, 8, 16 or 32");
	FAILS(NOT_INITIALIZED, cuDeviceGetCount(&count));
	setenv("KUDZU_CPU_WIDTH", "32", 1);
	OK(cuInit(0));
}
END_TEST

SUITE(settings)
{
	Suite *suite = suite_create("settings");
	TCase *tc = tcase_create("settings");
	tcase_add_loop_test(tc, settings_are_read_or_refused, 0, countof(cases));
	tcase_add_test(tc, settings_that_are_empty_are_not_set);
	tcase_add_test(tc, a_setting_that_makes_no_sense_stops_cuInit);
	suite_add_tcase(suite, tc);
	return suite;
}

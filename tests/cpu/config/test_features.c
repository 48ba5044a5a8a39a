/* SPDX-License-Identifier: MIT */
/* Levels of features: what code may use, and that other processors have other keys. */
#include "base/common.h"

#include "cpu/config/features.h"
#include "cpu/support/machine.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	enum features_level level;
	const char *host;
	const char *limited;
} cases[] = {
	{FEATURES_NATIVE, "+sse2,-fma4,+avx512f,+new", "+sse2,-fma4,+avx512f,+new"},
	{FEATURES_NATIVE, "+avx512fp16,+avx512f,+avx512fp", "-avx512fp16,+avx512f,+avx512fp"},
	{FEATURES_AVX512, "+sse2,-fma4,+avx512f,+new", "+sse2,-fma4,+avx512f,-new"},
	{FEATURES_AVX2, "+avx512f,+avx2,+fma,+avx512vl", "-avx512f,+avx2,+fma,-avx512vl"},
	{FEATURES_AVX, "+avx2,+fma,+avx,+sse4.2,+f16c", "-avx2,-fma,+avx,+sse4.2,-f16c"},
	{FEATURES_SSE4, "+avx,+sse4.1,+sse4a,+sse", "-avx,+sse4.1,-sse4a,+sse"},
	{FEATURES_SSE2, "+sse4.1,+sse3,+sse2,+64bit,+cx16", "-sse4.1,-sse3,+sse2,+64bit,+cx16"},
	{FEATURES_SSE2, "-sse2,+ss,+sse", "-sse2,-ss,+sse"},
	{FEATURES_AVX2, "", ""},
	{FEATURES_AVX2, ",+avx,", "+avx"},
};

START_TEST(features_above_the_level_are_turned_off)
{
	struct str out = STR_INIT;
	features_limit(&out, cases[_i].host, cases[_i].level);
	ck_assert(!out.failed);
	ck_assert_str_eq(out.data ? out.data : "", cases[_i].limited);
	str_free(&out);
}
END_TEST

START_TEST(levels_have_different_keys)
{
	struct str keys[FEATURES_COUNT] = {STR_INIT};
	for (unsigned i = FEATURES_SSE2; i < FEATURES_COUNT; i++) {
		struct str again = STR_INIT;
		features_describe(&keys[i], i);
		features_describe(&again, i);
		ck_assert_uint_eq(keys[i].len, again.len);
		ck_assert_mem_eq(keys[i].data, again.data, again.len);
		str_free(&again);
		for (unsigned k = FEATURES_SSE2; k < i; k++) {
			ck_assert(keys[k].len != keys[i].len
				|| memcmp(keys[k].data, keys[i].data, keys[i].len) != 0);
		}
	}
	for (unsigned i = FEATURES_SSE2; i < FEATURES_COUNT; i++) {
		str_free(&keys[i]);
	}
}
END_TEST

/* One rounding, not two, whether the processor can do that or libm has to. */
START_TEST(fma_rounds_once_at_every_level)
{
	static const char *const names[] = {"sse2", "sse4", "avx", "avx2", "avx512", "native"};
	setenv("KUDZU_CPU_FEATURES", names[_i / 2], 1);
	setenv("KUDZU_CPU_WIDTH", _i % 2 == 0 ? "1" : "32", 1);
	/* (1 + 2^-12)^2 - 1: the last bit of the product is beyond those of an f32. */
	machine_body("", "mov.b32 %f1, 0f3F800800; mov.b32 %f2, 0fBF800000;\n"
		"fma.rn.f32 %f3, %f1, %f1, %f2; st.f32 [%rd0], %f3;");
	machine.warp.alive = machine.warp.ready = 1;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[0], 0x3A000400);
	machine_close();
}
END_TEST

SUITE(features)
{
	Suite *suite = suite_create("features");
	TCase *tc = tcase_create("features");
	tcase_add_loop_test(tc, features_above_the_level_are_turned_off, 0, countof(cases));
	tcase_add_test(tc, levels_have_different_keys);
#ifdef __x86_64__
	tcase_add_loop_test(tc, fma_rounds_once_at_every_level, 0, 12);
#endif
	suite_add_tcase(suite, tc);
	return suite;
}

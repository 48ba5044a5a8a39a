/* SPDX-License-Identifier: MIT */
/* What ptxas gave kernels: the cubin's own figures against those of ptxas's log. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/rtc/resources.h"
#include "support/compile_test.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Registers, barriers, shared memory, stack and spills to tell apart. */
static const char source[] =
	"extern \"C\" __global__ void plain(float *a) { a[threadIdx.x] = 1; }\n"
	"extern \"C\" __global__ void stack(float *a, int n)\n{\n"
	"\tfloat b[64];\n\tfor (int i = 0; i < 64; i++) { b[i] = a[i]; }\n"
	"\tfor (int i = 0; i < 64; i++) { a[i] = b[i * n & 63]; }\n"
	"\tasm volatile(\"bar.sync 3;\");\n}\n"
	"extern \"C\" __global__ void shared(float *a)\n{\n"
	"\t__shared__ float s[100];\n\ts[threadIdx.x] = *a;\n\t__syncthreads();\n"
	"\ta[threadIdx.x] = s[99 - threadIdx.x];\n}\n"
	"template <int N> __global__ void spill(float *a, int n)\n{\n\tfloat v[N];\n"
	"\t#pragma unroll\n\tfor (int i = 0; i < N; i++) { v[i] = a[i * n]; }\n"
	"\t#pragma unroll\n\tfor (int i = 0; i < N; i++) { v[i] += v[(i * 7 + 3) % N]; }\n"
	"\t#pragma unroll\n\tfor (int i = 0; i < N; i++) { a[i * n + 1] = v[i]; }\n}\n";

static const char *const archs[] = {"sm_75", "sm_89", "sm_90", "sm_100", "sm_120"};

static kz_error err;

static void compile(struct rtc_image *image, const char *arch, bool with_log)
{
	static const char *const options[] = {"-maxrregcount=24", "-Xptxas=-v"};
	struct rtc_request request = {
		.source = source,
		.arch = arch,
		.instances = (const char *const[]){"spill<40>"},
		.instance_count = 1,
		.options = options,
		.option_count = with_log ? 2 : 1,
	};
	ck_assert_msg(!support_compile(image, &request, &err), "%s", err.message);
}

/* The number before some words in what ptxas says about a kernel; 0 where it does not have them. */
static long long said(const char *log, const char *symbol, const char *words)
{
	char head[80];
	snprintf(head, sizeof(head), "Function properties for %s\n", symbol);
	const char *at = strstr(log, head);
	ck_assert_msg(at != NULL, "%s is not in %s", symbol, log);
	const char *end = strstr(at, "Compile time");
	const char *found = strstr(at, words);
	if (!found || found > end) {
		return 0;
	}
	while (found[-1] == ' ') {
		found--;
	}
	while (found[-1] >= '0' && found[-1] <= '9') {
		found--;
	}
	return atoll(found);
}

START_TEST(the_figures_of_a_cubin_are_those_of_ptxas)
{
	struct rtc_image image;
	compile(&image, archs[_i], true);
	ck_assert_uint_eq(image.kernel_count, 4);
	for (size_t i = 0; i < image.kernel_count; i++) {
		const char *symbol = image.kernels[i].lowered;
		struct rtc_resources r;
		ck_assert_int_eq(rtc_image_resources(&r, &image, &image.kernels[i], &err), KZ_OK);
		ck_assert_int_eq(r.registers, said(image.log, symbol, "registers"));
		ck_assert_int_eq(r.barriers, said(image.log, symbol, "barriers"));
		ck_assert_int_eq(r.stack_size,
			said(image.log, symbol, "bytes cumulative stack size"));
		ck_assert_int_eq(r.shared_size, said(image.log, symbol, "bytes smem"));
		ck_assert_int_eq(r.spill_stores, said(image.log, symbol, "bytes spill stores"));
		ck_assert_int_eq(r.spill_loads, said(image.log, symbol, "bytes spill loads"));
		ck_assert(r.stack_size > 0 || r.spill_stores + r.spill_loads == 0);
		long long constants = said(image.log, symbol, "bytes cmem[0]");
		ck_assert(constants == 0 || constants == r.constant_size);
		ck_assert_int_gt(r.code_size, 100);
	}
	rtc_image_free(&image);
}
END_TEST

START_TEST(kernels_differ_as_they_should)
{
	struct rtc_image image;
	struct rtc_resources r;
	compile(&image, "sm_90", true);
	ck_assert(!rtc_image_resources(&r, &image, rtc_image_kernel(&image, "stack"), &err));
	ck_assert_int_eq(r.stack_size, 256);
	ck_assert_int_eq(r.barriers, 4);
	ck_assert(!rtc_image_resources(&r, &image, rtc_image_kernel(&image, "shared"), &err));
	ck_assert_int_eq(r.shared_size, 400);
	ck_assert(!rtc_image_resources(&r, &image, rtc_image_kernel(&image, "spill<40>"), &err));
	ck_assert_int_gt(r.spill_stores, 0);
	ck_assert(!rtc_image_resources(&r, &image, rtc_image_kernel(&image, "plain"), &err));
	ck_assert_int_eq(r.spill_stores, 0);
	ck_assert_int_eq(r.stack_size, 0);
	rtc_image_free(&image);
}
END_TEST

/* What has no stack spills nothing. */
START_TEST(without_the_log_all_but_the_spills_of_a_stack_are_known)
{
	struct rtc_image image;
	struct rtc_resources r;
	compile(&image, "sm_90", false);
	ck_assert(!rtc_image_resources(&r, &image, rtc_image_kernel(&image, "stack"), &err));
	ck_assert_int_eq(r.spill_stores, -1);
	ck_assert_int_eq(r.spill_loads, -1);
	ck_assert_int_eq(r.stack_size, 256);
	ck_assert_int_eq(r.registers, 24);
	ck_assert(!rtc_image_resources(&r, &image, rtc_image_kernel(&image, "spill<40>"), &err));
	ck_assert_int_eq(r.spill_stores, -1);
	ck_assert(!rtc_image_resources(&r, &image, rtc_image_kernel(&image, "plain"), &err));
	ck_assert_int_eq(r.spill_stores, 0);
	ck_assert_int_eq(r.spill_loads, 0);
	rtc_image_free(&image);
}
END_TEST

/* Three bits at a time, half of them in the header. */
START_TEST(a_damaged_cubin_does_no_harm)
{
	struct rtc_image image;
	struct rtc_resources r;
	uint32_t seed = 4711;
	compile(&image, "sm_90", false);
	char *whole = mem_alloc(image.size);
	memcpy(whole, image.data, image.size);
	for (int i = 0; i < 3000; i++) {
		for (int k = 0; k < 3; k++) {
			seed = seed * 1664525 + 1013904223;
			size_t at = (seed >> 8) % (i % 2 ? image.size : 64);
			image.data[at] ^= (char)(1 << (seed >> 5 & 7));
		}
		kz_status status = rtc_image_resources(&r, &image, &image.kernels[i % 4], NULL);
		if (status != KZ_OK && status != KZ_BAD_IMAGE) {
			ck_abort_msg("status %d", (int)status);
		}
		memcpy(image.data, whole, image.size);
	}
	mem_free(whole);
	rtc_image_free(&image);
}
END_TEST

START_TEST(what_is_no_log_of_ptxas_gives_no_figures)
{
	static const char *const logs[] = {"", "Function properties for",
		"Function properties for k",
		"Function properties for k\n", "Function properties for k\n 3 bytes",
		"Function properties for kk\n 1 bytes stack frame, 2 bytes spill stores, 3 bytes "
		"spill"};
	struct rtc_resources r = {.spill_stores = -1};
	for (size_t i = 0; i < countof(logs); i++) {
		ck_assert(!resources_read_log(&r, logs[i], "k"));
		ck_assert_int_eq(r.spill_stores, -1);
	}
}
END_TEST

SUITE(resources)
{
	Suite *suite = suite_create("resources");
	TCase *tc = suite_add_case(suite, "resources");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, the_figures_of_a_cubin_are_those_of_ptxas, 0, (int)countof(archs));
	tcase_add_tests(tc, 1, kernels_differ_as_they_should,
		without_the_log_all_but_the_spills_of_a_stack_are_known,
		a_damaged_cubin_does_no_harm, what_is_no_log_of_ptxas_gives_no_figures);
	return suite;
}

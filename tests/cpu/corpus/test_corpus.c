/* SPDX-License-Identifier: MIT */
/* The CUDA sources of tests/data/cuda on the CPU driver; the cases are in corpus_*.c, see
 * corpus.h. */
#include "base/common.h"

#include "corpus.h"
#include "cpu/support/driver.h"
#include "support/count.h"
#include "support/suite.h"

#include <check.h>

static const struct corpus_case *const tables[] = {
	corpus_basic, corpus_stencil, corpus_int, corpus_half, corpus_atomics, corpus_warp,
	corpus_calls, corpus_math, corpus_memory, corpus_random, corpus_cg, corpus_texture,
};

static int case_count(void)
{
	int count = 0;
	for (size_t t = 0; t < countof(tables); t++) {
		for (const struct corpus_case *c = tables[t]; c->source; c++) {
			count++;
		}
	}
	return count;
}

static const struct corpus_case *find_case(int index)
{
	for (size_t t = 0; t < countof(tables); t++) {
		for (const struct corpus_case *c = tables[t]; c->source; c++) {
			if (index-- == 0) {
				return c;
			}
		}
	}
	return NULL;
}

START_TEST(kernel_computes_what_c_computes)
{
	const int cases = case_count();
	if (!support_is_tried(_i / CORPUS_ARCHS, cases, cases / 2, cases / 4)) {
		return;
	}
	corpus_run(find_case(_i / CORPUS_ARCHS), _i % CORPUS_ARCHS);
}
END_TEST

/* What the device does not have is named with its line when the module is loaded. */
static const struct {
	const char *source;
	int arch;
	const char *text;
} refusals[] = {
	{"24_cluster", 90, "explicitcluster"},
	{"24_cluster", 100, "explicitcluster"},
	{"29_cdp", 75, "the address of kernel '_Z5childPi'"},
	{"29_cdp", 80, "the address of kernel '_Z5childPi'"},
	{"29_cdp", 90, "the address of kernel '_Z5childPi'"},
	{"29_cdp", 100, "the address of kernel '_Z5childPi'"},
};

START_TEST(clusters_and_launches_by_kernels_are_refused)
{
	if (driver_lacks("it runs them")) {
		return;
	}
	corpus_refused(refusals[_i].source, refusals[_i].arch, refusals[_i].text);
}
END_TEST

SUITE(corpus)
{
	Suite *s = suite_create("corpus");
	TCase *tc = tcase_create("kernels");
	tcase_set_timeout(tc, 240);
	tcase_add_loop_test(tc, kernel_computes_what_c_computes, 0, case_count() * CORPUS_ARCHS);
	tcase_add_loop_test(tc, clusters_and_launches_by_kernels_are_refused, 0,
		countof(refusals));
	suite_add_tcase(s, tc);
	return s;
}

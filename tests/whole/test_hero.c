/* SPDX-License-Identifier: MIT */
/* The program of the README, with its releases on every way out, while memory runs out. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/module/image_cache.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/kudzu.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char source[] =
	"extern \"C\" __global__ void doublify(float *a)\n"
	"{\n"
	"	int i = threadIdx.x + threadIdx.y * 4;\n"
	"	a[i] *= 2;\n"
	"}\n";

static int hero_main(void)
{
	float host[4][4];
	for (int i = 0; i < 16; i++) {
		host[i / 4][i % 4] = (float)i;
	}
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_array *a = NULL;
	kz_kernel *doublify = NULL;
	if (kz_device_open(&dev, NULL, &err)
	    || kz_module_compile(&mod, dev, source, NULL, &err)
	    || kz_module_kernel(&doublify, mod, "doublify", &err)
	    || kz_array_from(&a, dev, KZ_FROM(host), &err)
	    || kz_launch(doublify, KZ_DIM(1), KZ_DIM(4, 4), NULL, &err, KZ_ARGS(a))
	    || kz_array_get(a, host, sizeof(host), &err)) {
		kz_error_print(&err, stderr);
	} else {
		printf("%g %g ... %g\n", host[0][0], host[0][1], host[3][3]);
	}
	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	kz_release_all(a, mod, dev);
	return failed;
}

/* Run the program with its output in a file; return its exit status and what it said. */
static int run_hero(char *said, size_t size)
{
	fflush(NULL);
	FILE *file = tmpfile();
	ck_assert_ptr_nonnull(file);
	int out = dup(STDOUT_FILENO), error = dup(STDERR_FILENO);
	dup2(fileno(file), STDOUT_FILENO);
	dup2(fileno(file), STDERR_FILENO);
	int status = hero_main();
	fflush(NULL);
	dup2(out, STDOUT_FILENO);
	dup2(error, STDERR_FILENO);
	close(out);
	close(error);
	rewind(file);
	said[fread(said, 1, size - 1, file)] = '\0';
	fclose(file);
	return status;
}

START_TEST(hero_prints_the_doubled_numbers)
{
	char said[1024];
	support_select(_i);
	ck_assert_int_eq(run_hero(said, sizeof(said)), 0);
	ck_assert_str_eq(said, "0 2 ... 30\n");
}
END_TEST

START_TEST(hero_survives_every_failing_allocation)
{
	char said[4096];
	int status = 1;
	long n;
	support_select(_i);
	for (n = 0; n < 5000; n++) {
		image_cache_clear();
		mem_fail_after(n);
		status = run_hero(said, sizeof(said));
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		if (!failed) {
			break;
		}
		/* Either the program could do without, or it says what it lacked. */
		const char *want = status ? "memory" : "0 2 ... 30\n";
		ck_assert_msg(strstr(said, want) != NULL, "request %ld: '%s'", n, said);
	}
	ck_assert_int_gt(n, 20);
	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(said, "0 2 ... 30\n");
}
END_TEST

SUITE(hero)
{
	Suite *s = suite_create("hero");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 240);
	tcase_add_tests(tc, support_device_count(), hero_prints_the_doubled_numbers,
		hero_survives_every_failing_allocation);
	return s;
}

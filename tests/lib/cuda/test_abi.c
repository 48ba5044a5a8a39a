/* SPDX-License-Identifier: MIT */
/* src/base/cuda_abi.h and what it includes against cuda.h, where that is installed: every number,
 * size and offset. */
#include "base/common.h"

#include "abi.h"

#include "base/alloc.h"
#include "base/cuda_abi.h"
#include "base/file.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

START_TEST(every_constant_and_layout_is_that_of_cuda_h)
{
	if (abi_real_count == 0) {
		fprintf(stderr, "skipped: no <cuda.h> of CUDA 13 to compare cuda_abi.h with\n");
		return;
	}
	size_t missing = 0;
	for (size_t i = 0; i < abi_ours_count; i++) {
		const struct abi_row *ours = &abi_ours[i];
		const struct abi_row *real = &abi_real[i - missing];
		if (i - missing >= abi_real_count || strcmp(ours->name, real->name) != 0) {
			missing++;
		} else {
			ck_assert_msg(ours->value == real->value, "%s is %lld, cuda.h has %lld",
				ours->name, ours->value, real->value);
		}
	}
	ck_assert_uint_eq(abi_real_count + missing, abi_ours_count);
	ck_assert_msg(missing == 0 || abi_real_version < CUDA_VERSION,
		"%zu constants are not in cuda.h", missing);
}
END_TEST

static bool is_listed(const char *name, size_t len)
{
	for (size_t i = 0; i < abi_ours_count; i++) {
		const char *row = abi_ours[i].name;
		if (strlen(row) == len && memcmp(row, name, len) == 0) {
			return true;
		}
	}
	return false;
}

static const char *const headers[] = {"device", "memory", "launch"};

/* A constant that is added to a header but not to abi.def would never be compared. */
START_TEST(every_constant_of_a_header_is_compared)
{
	char path[400];
	char *text;
	size_t size;
	snprintf(path, sizeof(path), KZ_TEST_DIR "/../src/base/cuda_abi_%s.h", headers[_i]);
	if (access(path, R_OK) != 0) {
		printf("%s: not here, its constants are not looked up\n", path);
		return; /* the tests were carried to another machine */
	}
	ck_assert_int_eq(file_read(&text, &size, path, NULL), KZ_OK);
	int seen = 0;
	for (const char *at = text; (at = strstr(at, "\n\tCU")) != NULL; at++) {
		size_t len = strcspn(at + 2, " ,\n");
		bool is_constant = strncmp(at + 2 + len, " = ", 3) == 0;
		ck_assert_msg(!is_constant || is_listed(at + 2, len), "abi.def lacks %.*s",
			(int)len, at + 2);
		seen += is_constant;
	}
	ck_assert_int_gt(seen, 50);
	mem_free(text);
}
END_TEST

SUITE(abi)
{
	Suite *suite = suite_create("abi");
	TCase *tc = suite_add_case(suite, "layout");
	tcase_add_test(tc, every_constant_and_layout_is_that_of_cuda_h);
	tcase_add_loop_test(tc, every_constant_of_a_header_is_compared, 0, countof(headers));
	return suite;
}

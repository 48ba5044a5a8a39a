/* SPDX-License-Identifier: MIT */
/* The size of the device's memory: KUDZU_CPU_MEMORY, and the limits of control groups. */
#include "cpu/support/api.h"

#include "cpu/mem/capacity.h"
#include "support/put_file.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <unistd.h>

START_TEST(the_lowest_limit_of_a_group_and_those_above_holds)
{
	char root[] = "/tmp/kudzu-XXXXXX";
	char outer[64];
	char inner[64];
	ck_assert_ptr_nonnull(mkdtemp(root));
	snprintf(outer, sizeof(outer), "%s/a", root);
	snprintf(inner, sizeof(inner), "%s/a/b", root);
	ck_assert_int_eq(mkdir(outer, 0700), 0);
	ck_assert_int_eq(mkdir(inner, 0700), 0);
	ck_assert_uint_eq(capacity_of_group(root, "/a/b", "max"), SIZE_MAX);
	put_file(inner, "max", "max\n");
	put_file(outer, "max", "5000\n");
	put_file(root, "max", "9223372036854771712\n");
	ck_assert_uint_eq(capacity_of_group(root, "/a/b", "max"), 5000);
	ck_assert_uint_eq(capacity_of_group(root, "/a", "max"), 5000);
	ck_assert_uint_eq(capacity_of_group(root, "/", "max"), 9223372036854771712u);
	put_file(inner, "max", "400\n");
	ck_assert_uint_eq(capacity_of_group(root, "/a/b", "max"), 400);
	put_file(root, "max", "3\n");
	ck_assert_uint_eq(capacity_of_group(root, "/a/b", "max"), 3);
	const char *const folders[] = {inner, outer, root};
	for (size_t i = 0; i < countof(folders); i++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/max", folders[i]);
		unlink(path);
		rmdir(folders[i]);
	}
}
END_TEST

START_TEST(a_limit_is_the_devices_memory)
{
	size_t size;
	size_t free_size;
	CUdeviceptr a;
	CUdeviceptr b;
	OK(setenv("KUDZU_CPU_MEMORY", "1M", 1));
	setup();
	OK(cuDeviceTotalMem_v2(&size, 0));
	ck_assert_uint_eq(size, 1 << 20);
	OK(cuMemGetInfo_v2(&free_size, &size));
	ck_assert_uint_eq(size, 1 << 20);
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&a, (1 << 20) + 1));
	a = alloc(1 << 19);
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&b, (1 << 19) + 1));
	check_log("no room for 524289 bytes");
	OK(cuMemFree_v2(a));
	alloc(1 << 20);
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&b, 1));
	FAILS(OUT_OF_MEMORY, cuModuleLoadData(&(CUmodule){NULL}, api_ptx));
	teardown();
}
END_TEST

START_TEST(a_limit_that_comes_later_does_not_count)
{
	size_t size, free_size, total = 0;
	struct rlimit limit;
	setup();
	OK(cuMemGetInfo_v2(&free_size, &size));
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, limit.rlim_max}), 0);
	CUresult result = cuDeviceTotalMem_v2(&total, 0);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	OK(result);
	ck_assert_uint_eq(total, size);
	teardown();
}
END_TEST

SUITE(capacity)
{
	Suite *suite = suite_create("capacity");
	TCase *tc = suite_add_case(suite, "capacity");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, 1, the_lowest_limit_of_a_group_and_those_above_holds,
		a_limit_is_the_devices_memory, a_limit_that_comes_later_does_not_count);
	return suite;
}

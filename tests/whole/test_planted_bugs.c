/* SPDX-License-Identifier: MIT */
/*
 * The checks `race` and `sync` on the kernels of tests/data/checks, which have one bug each: every
 * report is about the lines that name the kernel, and there is none when the bug is mended.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "support/suite.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 4096

static const struct planted {
	const char *check, *kernel;
	int blocks, width, height;
} planted[] = {
	{"race", "missing_barrier", 1, 64, 1}, {"race", "missing_syncwarp", 1, 32, 1},
	{"race", "tree", 1, 128, 1}, {"race", "tile_reused", 1, 64, 1},
	{"race", "lost_update", 4, 1, 1}, {"race", "block_reads_block", 8, 64, 1},
	{"race", "shared_histogram", 2, 64, 1}, {"race", "block_atomic", 3, 32, 1},
	{"race", "no_fence", 20, 64, 1}, {"race", "block_fence", 20, 64, 1},
	{"race", "plain_flag", 1, 64, 1}, {"race", "late_zero", 1, 64, 1},
	{"race", "early_result", 1, 64, 1}, {"race", "store_and_atomic", 1, 32, 1},
	{"race", "half_barrier", 1, 128, 1}, {"race", "transpose", 1, 16, 16},
	{"race", "scan_in_place", 1, 64, 1}, {"race", "stencil_in_place", 4, 64, 1},
	{"race", "one_too_many", 4, 64, 1}, {"race", "careless_lock", 4, 64, 1},
	{"sync", "early_return", 1, 64, 1}, {"sync", "barrier_in_branch", 1, 64, 1},
	{"sync", "two_barriers", 1, 64, 1}, {"sync", "barrier_in_loop", 1, 64, 1},
	{"sync", "break_before_barrier", 1, 64, 1}, {"sync", "barriers_in_switch", 1, 64, 1},
	{"sync", "shuffle_without_self", 1, 32, 1}, {"sync", "ballot_without_self", 1, 32, 1},
	{"sync", "vote_without_self", 1, 32, 1}, {"sync", "syncwarp_without_self", 1, 32, 1},
	{"sync", "missing_source", 1, 32, 1}, {"sync", "down_from_missing", 1, 32, 1},
	{"sync", "shuffle_in_branch", 1, 32, 1}, {"sync", "vote_in_branch", 1, 32, 1},
	{"sync", "too_many_expected", 1, 64, 1}, {"sync", "copy_not_waited_for", 1, 32, 1},
	{"sync", "last_copy_not_waited_for", 1, 32, 1}, {"sync", "barrier_is_no_wait", 1, 64, 1},
	{"sync", "mbarrier_not_made", 1, 32, 1}, {"sync", "in_step", 1, 64, 1},
};

static kz_error err;
static kz_device *dev;
static kz_module *mod;
static char *source;

static void planted_open(const char *check, bool fixed)
{
	static const char *const defines[] = {"FIXED", NULL};
	char path[64];
	size_t size;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	snprintf(path, sizeof(path), "tests/data/checks/%s.cu", check);
	err = (kz_error)KZ_ERROR_INIT;
	ok(file_read(&source, &size, path, &err));
	options.name = path;
	options.defines = fixed ? defines : NULL;
	ok(kz_device_open(&dev, "cpu", &err));
	ok(kz_module_compile(&mod, dev, source, &options, &err));
}

static void planted_close(void)
{
	kz_module_release(mod);
	kz_device_close(dev);
	kz_error_clear(&err);
	mem_free(source);
}

/* A deadlock ends the device, and is reported like the others. */
static void planted_run(const struct planted *p)
{
	kz_kernel *kernel;
	kz_array *array;
	ok(kz_array_zeros(&array, dev, KZ_I32, KZ_SHAPE(COUNT), &err));
	ok(kz_module_kernel(&kernel, mod, p->kernel, &err));
	ok(kz_launch(kernel, kz_dim(p->blocks, 1, 1), kz_dim(p->width, p->height, 1), NULL, &err,
		KZ_ARGS(array)));
	if (kz_device_synchronize(dev, &err)) {
		ck_assert_msg(strstr(err.log, "deadlock") != NULL, "%s: %s", p->kernel, err.log);
	}
	kz_array_release(array);
}

/* Whether a line of the source names a kernel, in a comment at its end. */
static bool planted_is_at(int line, const char *kernel)
{
	const char *at = source;
	while (at && --line > 0) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	const size_t length = at ? strcspn(at, "\n") : 0, size = strlen(kernel);
	return length > size + 4 && strncmp(at + length - size, kernel, size) == 0
		&& strncmp(at + length - size - 3, "// ", 3) == 0;
}

struct seen {
	const struct planted *planted;
	int count;
};

static void planted_see(void *user, const kz_report *report)
{
	struct seen *seen = user;
	if (strcmp(report->kernel, seen->planted->kernel) != 0) {
		return;
	}
	seen->count++;
	ck_assert_str_eq(report->check, seen->planted->check);
	for (int i = 0; i < report->side_count; i++) {
		ck_assert_msg(planted_is_at(report->sides[i].line, report->kernel), "%s",
			report->text);
	}
}

static void planted_try(int index, bool fixed)
{
	const struct planted *p = &planted[index];
	setenv("KUDZU_CHECK", p->check, 1);
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	planted_open(p->check, fixed);
	planted_run(p);
	struct seen seen = {p, 0};
	ok(kz_device_reports(dev, planted_see, &seen, &err));
	ck_assert_msg((seen.count == 0) == fixed, "%s, %s: %d reports", p->kernel,
		fixed ? "mended" : "with its bug", seen.count);
	planted_close();
}

START_TEST(every_planted_bug_is_reported_at_its_line)
{
	planted_try(_i, false);
}
END_TEST

START_TEST(mended_kernels_have_no_report)
{
	planted_try(_i, true);
}
END_TEST

SUITE(planted_bugs)
{
	Suite *s = suite_create("planted_bugs");
	TCase *tc = suite_add_case(s, "bugs");
	tcase_add_loop_test(tc, every_planted_bug_is_reported_at_its_line, 0,
		(int)countof(planted));
	tcase_add_loop_test(tc, mended_kernels_have_no_report, 0, (int)countof(planted));
	return s;
}

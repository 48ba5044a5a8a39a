/* SPDX-License-Identifier: MIT */
/*
 * The list of what checks have found: it has an end, takes reports of several threads at once, and
 * is written to a file that keeps the reports of other processes of the same run.
 */
#include "base/common.h"

#include "cpu/check/report.h"
#include "cpu/check/report_file.h"
#include "cpu/mem/fault.h"

#include "base/alloc.h"
#include "base/file.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MOST = 1000 };

static void add(uint32_t line)
{
	static const struct check_kernel kernel = {.name = "k"};
	struct report report = {.check = CHECK_INIT, .kernel = &kernel, .side_count = 1,
		.sides = {{.what = "a bug", .line = line}}};
	report_add(&report);
}

/* Where a file in the folder of the test is. */
static const char *path_of(const char *name)
{
	static char path[512];
	snprintf(path, sizeof(path), "%s/%s", store_outside, name);
	return path;
}

static char *read_file(const char *path)
{
	char *text;
	size_t size;
	kz_error err = KZ_ERROR_INIT;
	ck_assert_int_eq(file_read(&text, &size, path, &err), KZ_OK);
	return text;
}

static void open_folder(void)
{
	store_folder_create();
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	setenv("KUDZU_CHECK", "init", 1);
}

static void close_folder(void)
{
	store_folder_remove();
}

START_TEST(reports_beyond_the_last_are_counted)
{
	static struct kudzu_report all[MOST + 2];
	for (uint32_t line = 1; line <= MOST + 7; line++) {
		add(line);
	}
	add(MOST); // is in the list
	setenv("KUDZU_CHECK_REPORT", path_of("all.json"), 1);
	report_save();
	ck_assert_uint_eq(report_list(all, countof(all)), MOST + 1);
	ck_assert_str_eq(all[MOST - 1].sides[0].what, "a bug");
	ck_assert_uint_eq(all[MOST - 1].count, 2);
	ck_assert_ptr_nonnull(strstr(all[MOST].text, "too many bugs were found"));
	ck_assert_uint_eq(all[MOST].count, 7);
	char *text = read_file(path_of("all.json"));
	ck_assert_ptr_nonnull(strstr(text, "\"dropped\": 7, \"reports\": ["));
	mem_free(text);
}
END_TEST

static void *add_many(void *arg)
{
	for (uint32_t i = 0; i < 300; i++) {
		add(1 + (i + *(uint32_t *)arg) % 100);
	}
	return NULL;
}

START_TEST(threads_add_reports_at_once)
{
	static struct kudzu_report all[101];
	uint32_t first[4] = {0, 25, 50, 75};
	pthread_t threads[countof(first)];
	for (size_t i = 0; i < countof(first); i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, add_many, &first[i]), 0);
	}
	for (size_t i = 0; i < countof(first); i++) {
		pthread_join(threads[i], NULL);
	}
	ck_assert_uint_eq(report_list(all, countof(all)), 100);
	for (size_t i = 0; i < 100; i++) {
		ck_assert_uint_eq(all[i].count, 3 * countof(first));
	}
}
END_TEST

START_TEST(a_report_that_memory_runs_out_for_is_counted)
{
	struct kudzu_report all[2];
	char marks[8] = "";
	setenv("KUDZU_CHECK_TALLY", path_of("tally"), 1);
	for (long n = 0; n < 4; n++) {
		ck_assert(file_put(path_of("tally"), "", 0));
		mem_fail_after(n);
		add(1 + (uint32_t)n);
		ck_assert(mem_has_failed());
		mem_fail_after(-1);
		char *text = read_file(path_of("tally"));
		snprintf(marks, sizeof(marks), "%s", text);
		mem_free(text);
		ck_assert_str_eq(marks, "!");
	}
	add(99);
	ck_assert_uint_eq(report_list(all, 2), 1);
}
END_TEST

static void *add_one_until_interrupted(void *arg)
{
	struct fault_catch *target = arg;
	fault_init(target);
	if (sigsetjmp(target->env, 0) == 0) {
		fault_arm(target);
		add(MOST);
		ck_abort_msg("the thread was not interrupted");
	}
	fault_disarm(target);
	return NULL;
}

/* Another worker's fault ends the launch.  More is written than a pipe holds, so the thread is
 * still writing when the first byte arrives.  An interrupt is given up if the thread does not run
 * for a while. */
START_TEST(a_fault_elsewhere_waits_until_a_report_is_written)
{
	static struct fault_catch target;
	static struct kudzu_report all[MOST + 1];
	pthread_t thread;
	for (uint32_t line = 1; line < MOST; line++) {
		add(line);
	}
	setenv("KUDZU_CHECK_REPORT", path_of("pipe"), 1);
	ck_assert_int_eq(mkfifo(path_of("pipe"), 0600), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, add_one_until_interrupted, &target), 0);
	FILE *pipe = fopen(path_of("pipe"), "r");
	ck_assert_ptr_nonnull(pipe);
	char last[8] = {(char)fgetc(pipe)};
	while (!atomic_load(&target.is_late)) {
		fault_interrupt(&target);
	}
	for (int c; (c = fgetc(pipe)) != EOF;) {
		memmove(last, last + 1, 3);
		last[3] = (char)c;
	}
	fclose(pipe);
	pthread_join(thread, NULL);
	ck_assert_int_eq(target.signal, FAULT_INTERRUPT);
	ck_assert_str_eq(last, "}]}\n");
	ck_assert_uint_eq(report_list(all, countof(all)), MOST);
}
END_TEST

/* What a process with this number writes: a report, or as many as have lines. */
static void write_as(const char *name, const char *run, pid_t process, const char *what)
{
	const struct kudzu_report report = {.check = "init", .kernel = "f<int, 3>", .count = 1,
		.text = "k.cu:1: error: <&\"\n", .side_count = 1,
		.sides = {{.what = what, .file = "k.cu", .line = 1}}};
	const struct report_file file = {path_of(name), run, process,
		check_bit(CHECK_INIT) | check_bit(CHECK_RACE), &report, what ? 1 : 0};
	ck_assert(report_file_write(&file));
}

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, word)); at++) {
		count++;
	}
	return count;
}

START_TEST(a_file_keeps_the_reports_of_other_processes_of_its_run)
{
	static const char *const names[] = {"r.json", "r.xml"};
	for (size_t i = 0; i < countof(names); i++) {
		write_as(names[i], "run \"1\"", 1, "old");
		write_as(names[i], "run \"2\"", 1, "one");
		write_as(names[i], "run \"2\"", 23, "]}");
		write_as(names[i], "run \"2\"", 4, NULL);
		write_as(names[i], "run \"2\"", 1, "again");
		char *text = read_file(path_of(names[i]));
		ck_assert_uint_eq(count_of(text, "old") + count_of(text, "one"), 0);
		ck_assert_uint_eq(count_of(text, "\"]}"), 1);
		ck_assert_uint_eq(count_of(text, "\"again"), 1);
		ck_assert_uint_eq(count_of(text, i == 0 ? "]}\n" : "</testsuite>\n"), 1);
		ck_assert_uint_eq(count_of(text, i == 0 ? ",\n" : "</testcase>\n"), 2 - (i == 0));
		ck_assert(i == 0 || strstr(text, "tests=\"3\" failures=\"2\""));
		mem_free(text);
	}
}
END_TEST

SUITE(report_list)
{
	Suite *suite = suite_create("report_list");
	TCase *tc = tcase_create("reports");
	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, open_folder, close_folder);
	tcase_add_test(tc, reports_beyond_the_last_are_counted);
	tcase_add_test(tc, threads_add_reports_at_once);
	tcase_add_test(tc, a_report_that_memory_runs_out_for_is_counted);
	tcase_add_test(tc, a_fault_elsewhere_waits_until_a_report_is_written);
	tcase_add_test(tc, a_file_keeps_the_reports_of_other_processes_of_its_run);
	return suite;
}

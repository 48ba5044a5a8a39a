/* SPDX-License-Identifier: MIT */
/*
 * src/base/store*.c when system calls fail, do half of it, or are the last ones of a process.
 * Whatever happens, the store's user sees a hit with the right value or no hit; and afterwards the
 * folder works as before.
 */
#include "base/common.h"

#include "calls.h"
#include "support/store_folder.h"
#include "support/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 5000, LARGE = 70000, KEYS = 2 };

static void set_up(void)
{
	store_folder_create();
	store_lock_wait_ms = 20;
}

/* What users of a store do; whether they saw something that is wrong. */
static bool use_store(void)
{
	struct store *store;
	bool wrong = !store_open(&store, &(struct store_options){store_path, 0});
	for (unsigned i = 0; i < KEYS; i++) {
		size_t size = i == KEYS - 1 ? LARGE : SIZE;
		wrong |= get_number(store, i, size) == STORE_RESULT_COUNT;
		struct store_lock *lock = store_lock(store, "a", 1);
		put_number(store, i, size);
		store_unlock(lock);
		wrong |= get_number(store, i, size) == STORE_RESULT_COUNT;
	}
	store_close(store);
	return wrong;
}

static int count_descriptors(void)
{
	int count = 0;
	DIR *list = opendir("/proc/self/fd");
	while (readdir(list)) {
		count++;
	}
	closedir(list);
	return count;
}

/* Whether a folder with such a past works: what is in it is right, and it takes more. */
static bool is_sound(void)
{
	struct store *store = store_create(0);
	bool sound = true;
	for (unsigned i = 0; i < KEYS; i++) {
		enum store_result result = get_number(store, i, i == KEYS - 1 ? LARGE : SIZE);
		sound = sound && (result == STORE_HIT || result == STORE_ABSENT);
		sound = sound && put_number(store, i, SIZE + 1)
			&& get_number(store, i, SIZE + 1) == STORE_HIT;
	}
	store_close(store);
	return sound;
}

/* Let each call in turn fail, in a new folder or one that is in use. */
static void fail_each(enum calls_action action, int error, bool for_ever, bool in_use)
{
	bool more = true;
	for (long at = 0; more; at++) {
		remove_all(store_path);
		if (in_use) {
			ck_assert(!use_store());
		}
		int before = count_descriptors();
		calls_begin(action, error, at, for_ever);
		bool wrong = use_store();
		more = calls_end() > at;
		/* Who cannot remove anything cannot clean up. */
		int litter = for_ever || action == CALLS_FAIL_LATE ? 0 : count_temporary();
		if (wrong || litter || count_descriptors() != before || !is_sound()) {
			ck_abort_msg("call %ld (%s) with error %d: wrong %d, litter %d, descriptors"
				" %d to %d", at, calls_victim(), error, wrong, litter, before,
				count_descriptors());
		}
	}
}

static const int errors[] = {
	ENOSPC, EIO, EROFS, EACCES, EDQUOT, ESTALE, EBUSY, EINTR, ENOENT, EMFILE};

START_TEST(no_failed_call_is_seen)
{
	if (!support_is_tried(_i, countof(errors), 4, 2)) {
		return;
	}
	alarm(50);
	fail_each(CALLS_FAIL, errors[_i], false, _i % 2);
}
END_TEST

START_TEST(no_call_that_fails_from_then_on_is_seen)
{
	if (!support_is_tried(_i, countof(errors), 4, 2)) {
		return;
	}
	alarm(50);
	fail_each(CALLS_FAIL, errors[_i], true, false);
}
END_TEST

/* As on NFS: the server did it, the answer was lost. */
START_TEST(no_call_is_seen_that_works_and_says_it_did_not)
{
	static const int late[] = {EIO, ESTALE, ENOSPC, ENOENT};
	alarm(50);
	fail_each(CALLS_FAIL_LATE, late[_i], false, false);
}
END_TEST

START_TEST(no_read_or_write_is_seen_that_did_half)
{
	fail_each(CALLS_HALF, 0, false, false);
}
END_TEST

/* The process ends at each call in turn, before it or after, and after half a write. */
START_TEST(a_process_may_end_at_every_call)
{
	enum calls_action action = _i ? CALLS_EXIT_LATE : CALLS_EXIT;
	int status = 1, most = 0;
	for (long at = 0; status; at++) {
		remove_all(store_path);
		pid_t child = fork();
		if (child == 0) {
			calls_begin(action, 0, at, false);
			_exit(use_store() ? 1 : 0);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != 1);
		int left = count_temporary();
		most = left > most ? left : most;
		ck_assert_msg(left <= 1 && is_sound(), "ended at call %ld", at);
	}
	ck_assert_int_eq(most, 1);
}
END_TEST

START_TEST(what_a_killed_process_left_goes_with_the_next_count)
{
	char path[160];
	struct store *store = store_create(0);
	ck_assert(put_number(store, 1, SIZE));
	store_close(store);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/tmp-000000000000000%d", store_path, i);
		close(open(path, O_CREAT | O_WRONLY, 0600));
		time_t when = time(NULL) - (i == 0 ? 60 : 3700);
		struct timespec times[2] = {{when, 0}, {when, 0}};
		ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	}
	snprintf(path, sizeof(path), "%s/lock", store_path);
	ck_assert_int_eq(unlink(path), 0); /* else that is within a day */
	store = store_create(0);
	ck_assert(put_number(store, 2, SIZE));
	ck_assert_int_eq(count_temporary(), 1);
	store_close(store);
}
END_TEST

/* While entries go, are listed and removed: only some of the many calls, and errors. */
START_TEST(no_call_that_fails_while_entries_go_is_seen)
{
	static const int some[] = {EIO, ENOENT, EACCES};
	enum { LIMIT = 24 * 4096 };
	bool more = true;
	for (long at = _i; more; at += 13) {
		remove_all(store_path);
		bool wrong = false;
		struct store *store = store_create(LIMIT);
		int64_t count;
		calls_begin(CALLS_FAIL, some[_i], at, false);
		for (unsigned i = KEYS; i < 14; i++) {
			put_number(store, i, SIZE);
			wrong |= get_number(store, i, SIZE) == STORE_RESULT_COUNT;
		}
		int64_t bytes = count_bytes();
		store_clear(store, &count);
		more = calls_end() > at;
		store_close(store);
		ck_assert_msg(!wrong && count_temporary() == 0 && bytes <= LIMIT && is_sound(),
			"call %ld (%s): wrong %d, %ld bytes", at, calls_victim(), wrong,
			(long)bytes);
	}
}
END_TEST

/* At random moments, by a signal */

static void put_without_end(unsigned seed)
{
	struct store *store = store_create(0);
	for (;;) {
		unsigned number = (unsigned)rand_r(&seed) % KEYS;
		put_number(store, number, number == KEYS - 1 ? LARGE : SIZE);
	}
}

START_TEST(a_process_may_be_killed_at_any_time)
{
	long kills = test_count("KUDZU_TEST_KILLS", support_how_many(200, 40, 20));
	unsigned seed = (unsigned)test_count("KUDZU_TEST_SEED", 1);
	printf("store_calls: %ld kills, KUDZU_TEST_SEED=%u\n", kills, seed);
	store_close(store_create(0));
	for (long i = 0; i < kills; i++) {
		unsigned pause_us = (unsigned)rand_r(&seed) % 4000;
		pid_t child = fork();
		if (child == 0) {
			put_without_end(seed + (unsigned)i);
		}
		usleep(pause_us);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		struct store *store = store_create(0);
		for (unsigned k = 0; k < KEYS; k++) {
			enum store_result result = get_number(store, k,
				k == KEYS - 1 ? LARGE : SIZE);
			ck_assert_msg(result == STORE_HIT || result == STORE_ABSENT, "kill %ld: %d",
				i, (int)result);
		}
		store_close(store);
	}
	ck_assert(is_sound());
}
END_TEST

/* A file system that is full */

static int use_full_folder(void)
{
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
		|| mkdir(store_path, 0700) != 0
		|| mount("none", store_path, "tmpfs", 0, "size=64k,mode=700") != 0) {
		return 77;
	}
	struct store *store = store_create(0);
	int stored = 0, wrong = 0;
	for (unsigned i = 0; i < 20; i++) {
		stored += put_number(store, i, SIZE);
	}
	for (unsigned i = 0; i < 20; i++) {
		enum store_result result = get_number(store, i, SIZE);
		wrong += result != STORE_HIT && result != STORE_ABSENT;
		stored -= result == STORE_HIT;
	}
	int left = count_temporary();
	store_close(store);
	umount(store_path);
	return wrong || stored || left;
}

START_TEST(a_full_disk_is_no_trouble)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		_exit(use_full_folder());
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		puts("store_calls: no file systems can be mounted here");
	} else {
		ck_assert_int_eq(WEXITSTATUS(status), 0);
	}
}
END_TEST

SUITE(store_calls)
{
	Suite *suite = suite_create("store_calls");
	TCase *tc = tcase_create("calls");
	tcase_add_checked_fixture(tc, set_up, store_folder_remove);
	tcase_add_loop_test(tc, no_failed_call_is_seen, 0, countof(errors));
	tcase_add_loop_test(tc, no_call_that_fails_from_then_on_is_seen, 0, countof(errors));
	tcase_add_loop_test(tc, no_call_is_seen_that_works_and_says_it_did_not, 0, 4);
	tcase_add_test(tc, no_read_or_write_is_seen_that_did_half);
	tcase_add_loop_test(tc, a_process_may_end_at_every_call, 0, 2);
	tcase_add_test(tc, what_a_killed_process_left_goes_with_the_next_count);
	tcase_add_loop_test(tc, no_call_that_fails_while_entries_go_is_seen, 0, 3);
	tcase_add_test(tc, a_process_may_be_killed_at_any_time);
	tcase_add_test(tc, a_full_disk_is_no_trouble);
	suite_add_tcase(suite, tc);
	return suite;
}

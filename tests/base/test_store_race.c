/* SPDX-License-Identifier: MIT */
/* src/base/store*.c: many processes and threads at once, on the same keys. */
#include "base/common.h"

#include "support/store_folder.h"
#include "support/suite.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 16, KEYS = 200, SMALL = 8192, LARGE_KEYS = 4, LARGE = 8 << 20 };

/* What the processes of a test have seen, in memory that they share. */
static struct counts {
	atomic_int made;
	atomic_int hits;
	atomic_int wrong;
	atomic_int failed; /* a get or a put that should have worked */
	atomic_int done;
} *counts;

static void set_up(void)
{
	store_folder_create();
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	ck_assert(counts != MAP_FAILED);
}

/* Run it in so many processes at once; all end well. */
static void run_processes(int count, void (*work)(int index))
{
	pid_t children[PROCESSES];
	int bad = 0;
	for (int i = 0; i < count; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			work(i);
			_exit(0);
		}
	}
	for (int i = 0; i < count; i++) {
		int status;
		bad += waitpid(children[i], &status, 0) != children[i] || status != 0;
	}
	ck_assert_int_eq(bad, 0);
}

static void count_get(enum store_result result)
{
	counts->hits += result == STORE_HIT;
	counts->wrong += result == STORE_RESULT_COUNT || result == STORE_DAMAGED
		|| result == STORE_OTHER_KEY;
	counts->failed += result == STORE_FAILED || result == STORE_FOREIGN;
}

/* As a cache is used: look, lock, look again, make, put. */
static void get_or_make(struct store *store, unsigned number, size_t size, bool locked)
{
	enum store_result result = get_number(store, number, size);
	count_get(result);
	if (result == STORE_HIT) {
		return;
	}
	char key[32];
	size_t key_size = number_key(key, number);
	struct store_lock *lock = locked ? store_lock(store, key, key_size) : NULL;
	counts->failed += locked && !lock;
	result = locked ? get_number(store, number, size) : STORE_ABSENT;
	count_get(result);
	if (result != STORE_HIT) {
		counts->made++;
		counts->failed += !put_number(store, number, size);
		count_get(get_number(store, number, size));
	}
	store_unlock(lock);
}

static int loop;

static void use_keys(int index)
{
	struct store *store = store_create(0);
	bool locked = loop % 2, large = loop >= 2;
	unsigned keys = large ? LARGE_KEYS : KEYS;
	for (unsigned i = 0; i < keys; i++) {
		/* Half of them in the same order, half each in its own. */
		unsigned number = index % 2 ? i : (i * 7 + (unsigned)index * 13) % keys;
		get_or_make(store, number, large ? LARGE : SMALL, locked);
	}
	store_close(store);
}

START_TEST(no_process_sees_a_wrong_value)
{
	loop = _i;
	run_processes(_i >= 2 ? 8 : PROCESSES, use_keys);
	ck_assert_int_eq(counts->wrong, 0);
	ck_assert_int_eq(counts->failed, 0);
	int keys = _i >= 2 ? LARGE_KEYS : KEYS;
	if (_i % 2) {
		ck_assert_int_eq(counts->made, keys); /* each once */
	} else {
		ck_assert_int_ge(counts->made, keys);
	}
	ck_assert_int_eq(count_temporary(), 0);
}
END_TEST

/* The limit */

enum { WRITERS = 8, LIMIT = 4 << 20 };

static void write_many(int index)
{
	struct store *store = store_create(LIMIT);
	long stores = test_count("KUDZU_TEST_STORES", support_how_many(10000, 1500, 1500))
		/ WRITERS;
	unsigned seed = (unsigned)index + 1;
	for (long i = 0; i < stores; i++) {
		unsigned number = (unsigned)rand_r(&seed) % 5000;
		counts->made += put_number(store, number, 3000 + number % 16000);
		number = (unsigned)rand_r(&seed) % 5000;
		count_get(get_number(store, number, 3000 + number % 16000));
	}
	store_close(store);
	counts->done++;
}

/* One process more looks how much there is. */
static void write_many_or_watch(int index)
{
	if (index < WRITERS) {
		write_many(index);
		return;
	}
	while (counts->done < WRITERS) {
		counts->failed += count_bytes() > LIMIT + LIMIT / 10;
		usleep(10000);
	}
}

START_TEST(the_limit_holds_while_many_write)
{
	long stores = test_count("KUDZU_TEST_STORES", support_how_many(10000, 1500, 1500)) / WRITERS
		* WRITERS;
	run_processes(WRITERS + 1, write_many_or_watch);
	ck_assert_int_eq(counts->wrong, 0);
	ck_assert_int_eq(counts->failed, 0);
	ck_assert_int_gt(counts->hits, 0);
	ck_assert_int_ge(counts->made, stores * 95 / 100);
	int64_t bytes = count_bytes();
	printf("store_race: %ld stores, %d done, %ld bytes of %d left\n", stores, counts->made,
		(long)bytes, LIMIT);
	ck_assert_int_le(bytes, LIMIT);
	ck_assert_int_ge(bytes, LIMIT * 3 / 4);
	ck_assert_int_eq(count_temporary(), 0);
}
END_TEST

static void clear_and_write(int index)
{
	struct store *store = store_create(LIMIT);
	for (unsigned i = 0; i < 300; i++) {
		int64_t count;
		if (index == 0 && i % 10 == 0) {
			store_clear(store, &count);
		}
		get_or_make(store, i % 20, 2000, index % 2);
	}
	store_close(store);
}

/* What is removed between two steps is no error, and no wrong value. */
START_TEST(a_store_may_be_cleared_while_others_use_it)
{
	run_processes(6, clear_and_write);
	ck_assert_int_eq(counts->wrong, 0);
	ck_assert_int_eq(count_temporary(), 0);
}
END_TEST

/* Locks */

START_TEST(a_process_that_was_killed_has_unlocked)
{
	struct store *store = store_create(0);
	int ready[2];
	char byte;
	ck_assert_int_eq(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		struct store_lock *lock = store_lock(store, "a", 1);
		ck_assert_int_eq(write(ready[1], lock ? "y" : "n", 1), 1);
		pause();
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_int_eq(byte, 'y');
	store_lock_wait_ms = 50;
	ck_assert_ptr_null(store_lock(store, "a", 1)); /* it waits, and gives up */
	struct store_lock *other = store_lock(store, "b", 1);
	ck_assert_ptr_nonnull(other);
	store_unlock(other);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	struct store_lock *lock = store_lock(store, "a", 1);
	ck_assert_ptr_nonnull(lock);
	store_unlock(lock);
	store_close(store);
}
END_TEST

/* A child that was made meanwhile has a copy of the descriptor. */
START_TEST(unlocking_does_not_wait_for_children)
{
	struct store *store = store_create(0);
	struct store_lock *lock = store_lock(store, "a", 1);
	pid_t child = fork();
	if (child == 0) {
		pause();
	}
	store_unlock(lock);
	store_lock_wait_ms = 0;
	lock = store_lock(store, "a", 1);
	ck_assert_ptr_nonnull(lock);
	store_unlock(lock);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	store_close(store);
}
END_TEST

static struct store *shared;

static void *use_shared(void *arg)
{
	for (unsigned i = 0; i < 60; i++) {
		get_or_make(shared, (i + *(unsigned *)arg) % 50, 2000, true);
		if (i % 20 == 10 && *(unsigned *)arg == 0) {
			remove_all(store_path);
		}
	}
	return NULL;
}

START_TEST(threads_share_a_store)
{
	pthread_t threads[8];
	unsigned numbers[8];
	shared = store_create(0);
	for (unsigned i = 0; i < 8; i++) {
		numbers[i] = i + (_i == 0); /* from 0 on: one removes the folder */
		pthread_create(&threads[i], NULL, use_shared, &numbers[i]);
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
	}
	ck_assert_int_eq(counts->wrong, 0);
	if (_i == 0) {
		ck_assert_int_eq(counts->failed, 0);
		ck_assert_int_eq(counts->made, 50);
	}
	store_close(shared);
}
END_TEST

SUITE(store_race)
{
	Suite *suite = suite_create("store_race");
	TCase *tc = tcase_create("races");
	tcase_add_checked_fixture(tc, set_up, store_folder_remove);
	tcase_add_loop_test(tc, no_process_sees_a_wrong_value, 0, 4);
	tcase_add_test(tc, the_limit_holds_while_many_write);
	tcase_add_test(tc, a_store_may_be_cleared_while_others_use_it);
	tcase_add_test(tc, a_process_that_was_killed_has_unlocked);
	tcase_add_test(tc, unlocking_does_not_wait_for_children);
	tcase_add_loop_test(tc, threads_share_a_store, 0, 2);
	suite_add_tcase(suite, tc);
	return suite;
}

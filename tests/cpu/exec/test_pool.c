/* SPDX-License-Identifier: MIT */
/* The worker threads. */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/exec/worker_pool.h"
#include "support/suite.h"

#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct count {
	atomic_uint next;
	unsigned total;
	atomic_uint done;
	atomic_uint calls[8];
};

/* Take numbers from a counter until there are none left. */
static void count_up(void *arg, unsigned worker)
{
	struct count *count = arg;
	atomic_fetch_add(&count->calls[worker], 1);
	while (atomic_fetch_add(&count->next, 1) < count->total) {
		atomic_fetch_add(&count->done, 1);
	}
}

static void run(struct pool *pool, pool_job *job, void *arg, unsigned want)
{
	bool mine = want > 1 && pool_post(pool, job, arg, want - 1, UINT64_MAX);
	job(arg, 0);
	if (mine) {
		pool_close(pool);
	}
}

static void run_jobs(struct pool *pool, int jobs)
{
	for (int i = 0; i < jobs; i++) {
		struct count count = {.total = 1000};
		run(pool, count_up, &count, 1 + (unsigned)i % 6);
		ck_assert_uint_eq(atomic_load(&count.done), 1000);
		ck_assert_uint_eq(atomic_load(&count.calls[0]), 1);
		unsigned calls = 1;
		for (int w = 1; w < 8; w++) {
			ck_assert_uint_le(atomic_load(&count.calls[w]), 1);
			calls += atomic_load(&count.calls[w]);
		}
		ck_assert_uint_le(calls, 1 + (unsigned)i % 6);
	}
}

START_TEST(pool_does_all_the_work_once)
{
	struct pool *pool;
	ck_assert(pool_create(&pool, 1 + (unsigned)_i));
	ck_assert_uint_eq(pool_size(pool), 1 + (unsigned)_i);
	run_jobs(pool, 200);
	pool_release(pool);
}
END_TEST

struct meeting {
	pthread_barrier_t all_here;
	atomic_uint workers;
};

static void meet(void *arg, unsigned worker)
{
	struct meeting *meeting = arg;
	atomic_fetch_or(&meeting->workers, 1u << worker);
	pthread_barrier_wait(&meeting->all_here);
}

START_TEST(pool_runs_workers_at_the_same_time)
{
	struct pool *pool;
	struct meeting meeting = {.workers = 0};
	ck_assert(pool_create(&pool, 4));
	pthread_barrier_init(&meeting.all_here, NULL, 3);
	run(pool, meet, &meeting, 3);
	unsigned workers = atomic_load(&meeting.workers);
	ck_assert_int_eq(__builtin_popcount(workers), 3);
	ck_assert_uint_eq(workers & 1, 1);
	pthread_barrier_destroy(&meeting.all_here);
	pool_release(pool);
}
END_TEST

START_TEST(pool_counts_workers_from_0_for_few_as_for_many)
{
	struct pool *pool;
	ck_assert(pool_create(&pool, 8));
	for (unsigned i = 0; i < 100; i++) {
		unsigned want = i ? 2 + i % 3 : 8;
		struct meeting meeting = {.workers = 0};
		pthread_barrier_init(&meeting.all_here, NULL, want);
		run(pool, meet, &meeting, want);
		ck_assert_uint_eq(atomic_load(&meeting.workers), (1u << want) - 1);
		pthread_barrier_destroy(&meeting.all_here);
	}
	pool_release(pool);
}
END_TEST

struct handover {
	atomic_bool joined;
	atomic_bool done;
};

/* The caller leaves as soon as the other worker has joined. */
static void hand_over(void *arg, unsigned worker)
{
	struct handover *handover = arg;
	if (worker > 0) {
		atomic_store(&handover->joined, true);
		for (int i = 0; i < 1000; i++) {
			sched_yield();
		}
		atomic_store(&handover->done, true);
	}
	while (!atomic_load(&handover->joined)) {
		sched_yield();
	}
}

START_TEST(pool_waits_for_those_who_have_joined)
{
	struct pool *pool;
	ck_assert(pool_create(&pool, 2));
	for (int i = 0; i < 20; i++) {
		struct handover handover = {false, false};
		run(pool, hand_over, &handover, 2);
		ck_assert(atomic_load(&handover.done));
	}
	pool_release(pool);
}
END_TEST

struct company {
	atomic_uint workers;
	int patience;
};

/* Give the other worker time to come. */
static void await_company(void *arg, unsigned worker)
{
	struct company *company = arg;
	atomic_fetch_or(&company->workers, 1u << worker);
	for (int i = 0; i < company->patience && atomic_load(&company->workers) != 3; i++) {
		usleep(100);
	}
}

/* Whether all threads but this one sleep. */
static bool is_quiet(void)
{
	bool quiet = true;
	char own[32], name[300], line[128];
	snprintf(own, sizeof(own), "%d", (int)getpid());
	DIR *folder = opendir("/proc/self/task");
	ck_assert_ptr_nonnull(folder);
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		snprintf(name, sizeof(name), "/proc/self/task/%s/stat", entry->d_name);
		FILE *file = entry->d_name[0] != '.' && strcmp(entry->d_name, own) != 0
			? fopen(name, "r") : NULL;
		if (file != NULL) {
			quiet &= fgets(line, sizeof(line), file) && strstr(line, ") S ");
			fclose(file);
		}
	}
	closedir(folder);
	return quiet;
}

/* Whether another worker, which sleeps, comes to a job of so much work. */
static bool wakes(struct pool *pool, uint64_t work, int patience)
{
	struct company company = {0, patience};
	do {
		usleep(1000);
	} while (!is_quiet());
	ck_assert(pool_post(pool, await_company, &company, 1, work));
	await_company(&company, 0);
	pool_close(pool);
	return atomic_load(&company.workers) == 3;
}

START_TEST(pool_wakes_nobody_for_a_short_job_but_for_several)
{
	struct pool *pool;
	ck_assert(pool_create(&pool, 2));
	const int long_enough = 100000;
	const uint64_t little = 900000;
	ck_assert(wakes(pool, UINT64_MAX, long_enough));
	ck_assert(!wakes(pool, little, 20));
	ck_assert(!wakes(pool, little, 20));
	ck_assert(wakes(pool, little, long_enough));
	ck_assert(!wakes(pool, little, 20));
	ck_assert(wakes(pool, 10 * little, long_enough));
	pool_release(pool);
}
END_TEST

static void *run_from_thread(void *arg)
{
	run_jobs(arg, 100);
	return NULL;
}

struct resident_place {
	int core;
	atomic_int may_run_there; /* a worker that came; -1: none did */
};

static void look_at_cores(void *arg, unsigned worker)
{
	struct resident_place *place = arg;
	cpu_set_t cores;
	ck_assert_int_eq(sched_getaffinity(0, sizeof(cores), &cores), 0);
	if (worker > 0) {
		atomic_store(&place->may_run_there, CPU_ISSET((size_t)place->core, &cores));
	}
	while (atomic_load(&place->may_run_there) < 0) {
		usleep(100);
	}
}

/* Of those that sleep; with this thread on one core after the other. */
START_TEST(pool_wakes_threads_for_other_cores_than_the_callers)
{
	struct pool *pool;
	cpu_set_t all;
	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) < 2) {
		return;
	}
	ck_assert(pool_create(&pool, 2));
	run_jobs(pool, 10);
	for (int core = 0, found = 0; found < 2; core++) {
		struct resident_place place = {core, -1};
		cpu_set_t mine;
		CPU_ZERO(&mine);
		CPU_SET((size_t)core, &mine);
		if (!CPU_ISSET((size_t)core, &all)) {
			continue;
		}
		found++;
		ck_assert_int_eq(sched_setaffinity(0, sizeof(mine), &mine), 0);
		do {
			usleep(1000);
		} while (!is_quiet());
		run(pool, look_at_cores, &place, 2);
		ck_assert_int_eq(atomic_load(&place.may_run_there), 0);
	}
	pool_release(pool);
}
END_TEST

START_TEST(pool_takes_jobs_from_several_threads)
{
	struct pool *pool;
	pthread_t threads[3];
	ck_assert(pool_create(&pool, 3));
	for (size_t i = 0; i < countof(threads); i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_from_thread, pool), 0);
	}
	for (size_t i = 0; i < countof(threads); i++) {
		pthread_join(threads[i], NULL);
	}
	pool_release(pool);
}
END_TEST

START_TEST(pool_takes_its_size_from_the_environment)
{
	unsetenv("KUDZU_CPU_THREADS");
	ck_assert_uint_ge(pool_cores(), 1);
	setenv("KUDZU_CPU_THREADS", "7", 1);
	ck_assert_uint_eq(pool_cores(), 7);
}
END_TEST

START_TEST(pool_survives_every_failing_malloc)
{
	struct pool *pool = NULL;
	for (long n = 0; pool == NULL; n++) {
		mem_fail_after(n);
		ck_assert(pool_create(&pool, 2) || mem_has_failed());
		mem_fail_after(-1);
	}
	pool_release(pool);
	pool_release(NULL);
}
END_TEST

SUITE(pool)
{
	Suite *suite = suite_create("pool");
	TCase *tc = tcase_create("pool");
	tcase_add_loop_test(tc, pool_does_all_the_work_once, 0, 4);
	tcase_add_test(tc, pool_runs_workers_at_the_same_time);
	tcase_add_test(tc, pool_counts_workers_from_0_for_few_as_for_many);
	tcase_add_test(tc, pool_waits_for_those_who_have_joined);
	tcase_add_test(tc, pool_wakes_nobody_for_a_short_job_but_for_several);
	tcase_add_test(tc, pool_wakes_threads_for_other_cores_than_the_callers);
	tcase_add_test(tc, pool_takes_jobs_from_several_threads);
	tcase_add_test(tc, pool_takes_its_size_from_the_environment);
	tcase_add_test(tc, pool_survives_every_failing_malloc);
	suite_add_tcase(suite, tc);
	return suite;
}

/* SPDX-License-Identifier: MIT */
/*
 * Launches that do not end by themselves, or not soon: cancelled, cooperative, several at a time.
 * The kernels are written in C, as in test_launch.c.
 */
#include "base/common.h"

#include "cpu/mem/fault.h"
#include "cpu/exec/launch.h"
#include "support/suite.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

static struct pool *pool;
static struct launcher *launchers[2];
static struct launch_failure failures[2];
static struct jit_kernel made[2];
static struct jit_code codes[2];
static struct launch_request requests[2];
static uint64_t params[2];

static void setup(void)
{
	ck_assert(fault_install());
	ck_assert(pool_create(&pool, 3));
	for (size_t i = 0; i < 2; i++) {
		ck_assert(launcher_create(&launchers[i], pool));
	}
}

static void teardown(void)
{
	pool_release(pool);
	for (size_t i = 0; i < 2; i++) {
		launcher_release(launchers[i]);
	}
	fault_remove();
}

/* Launch with one pointer for a parameter; `which` launcher. */
static CUresult start(size_t which, rt_kernel *kernel, uint32_t blocks, void *arg)
{
	params[which] = (uintptr_t)arg;
	requests[which].name = "k";
	made[which] = (struct jit_kernel){.run = kernel, .width = 1, .frame_size = 16};
	jit_code_set(&codes[which], &made[which]);
	requests[which].code = &codes[which];
	requests[which].work = UINT64_MAX;
	requests[which].params = (const uint8_t *)&params[which];
	for (size_t axis = 0; axis < 3; axis++) {
		requests[which].grid[axis] = axis ? 1 : blocks;
		requests[which].block[axis] = 1;
	}
	return launch_run(launchers[which], &requests[which], &failures[which]);
}

static void *param(const struct rt_warp *warp)
{
	uint64_t address;
	memcpy(&address, warp->launch->params, sizeof(address));
	return (void *)(uintptr_t)address;
}

struct flags {
	atomic_uint go;
	atomic_uint count;
};

/* Every block but the first waits until it may go on. */
static uint32_t wait_for_go(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	(void)resume;
	struct flags *flags = param(warp);
	if (warp->ctaid[0] > 0 && atomic_load(&flags->go) == 0) {
		warp->yield = RT_YIELD_SPIN;
		return 1;
	}
	atomic_fetch_add(&flags->count, 1);
	return RT_DONE;
}

struct long_run {
	struct flags flags;
	CUresult result;
};

static void *run_long(void *arg)
{
	struct long_run *run = arg;
	run->result = start(0, wait_for_go, 7, &run->flags);
	return NULL;
}

/* While the workers have the other one. */
START_TEST(launches_do_not_wait_for_each_other)
{
	struct long_run run = {.flags = {0, 0}};
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, run_long, &run), 0);
	while (atomic_load(&run.flags.count) == 0) {
		sched_yield();
	}
	struct flags other = {1, 0};
	ck_assert_int_eq(start(1, wait_for_go, 50, &other), CUDA_SUCCESS);
	ck_assert_uint_eq(atomic_load(&other.count), 50);
	atomic_store(&run.flags.go, 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(run.result, CUDA_SUCCESS);
	ck_assert_uint_eq(atomic_load(&run.flags.count), 7);
}
END_TEST

/* Loops that nothing ends: one yields, one does not, one is within C code that must not be left. */
static uint32_t spin(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	(void)resume;
	atomic_store(&((struct flags *)param(warp))->go, 1);
	warp->yield = RT_YIELD_SPIN;
	return 1;
}

static uint32_t loop(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	(void)resume;
	struct flags *flags = param(warp);
	while (atomic_load(&flags->go) < 2) {
		atomic_store(&flags->go, 1);
	}
	return RT_DONE;
}

static uint32_t hold(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	(void)resume;
	struct flags *flags = param(warp);
	while (atomic_load(&flags->go) < 2) {
		fault_hold();
		atomic_fetch_add(&flags->count, 1);
		atomic_store(&flags->go, 1);
		atomic_fetch_sub(&flags->count, 1);
		fault_release();
	}
	return RT_DONE;
}

static rt_kernel *const endless[] = {spin, loop, hold};

struct endless_run {
	rt_kernel *kernel;
	struct flags flags;
	atomic_bool ended;
	CUresult result;
};

static void *run_endless(void *arg)
{
	struct endless_run *run = arg;
	run->result = start(0, run->kernel, 5, &run->flags);
	atomic_store(&run->ended, true);
	return NULL;
}

START_TEST(launch_can_be_cancelled)
{
	struct endless_run run = {.kernel = endless[_i]};
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, run_endless, &run), 0);
	while (atomic_load(&run.flags.go) == 0) {
		sched_yield();
	}
	while (!atomic_load(&run.ended)) {
		launch_cancel(launchers[0], CUDA_ERROR_LAUNCH_TIMEOUT, "it took too long");
	}
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(run.result, CUDA_ERROR_LAUNCH_TIMEOUT);
	ck_assert_str_eq(failures[0].what, "it took too long");
	ck_assert_uint_eq(atomic_load(&run.flags.count), 0);

	struct flags flags = {1, 0};
	ck_assert_int_eq(start(0, wait_for_go, 9, &flags), CUDA_SUCCESS);
	ck_assert_uint_eq(atomic_load(&flags.count), 9);
}
END_TEST

/* Grids of which no block has ended are told apart; one whose blocks end is not among them. */
START_TEST(launch_that_stands_has_a_number)
{
	struct endless_run run = {.kernel = endless[0]};
	struct flags flags = {1, 0};
	uint64_t seen[2];
	for (size_t i = 0; i < 2; i++) {
		pthread_t thread;
		ck_assert_int_eq(start(0, wait_for_go, 9, &flags), CUDA_SUCCESS);
		ck_assert_uint_eq(launch_standing(launchers[0]), 0);
		atomic_store(&run.flags.go, 0);
		atomic_store(&run.ended, false);
		ck_assert_int_eq(pthread_create(&thread, NULL, run_endless, &run), 0);
		while (atomic_load(&run.flags.go) == 0) {
			sched_yield();
		}
		seen[i] = launch_standing(launchers[0]);
		ck_assert_uint_ne(seen[i], 0);
		ck_assert_uint_eq(launch_standing(launchers[0]), seen[i]);
		while (!atomic_load(&run.ended)) {
			launch_cancel(launchers[0], CUDA_ERROR_LAUNCH_TIMEOUT, "it took too long");
		}
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	ck_assert_uint_ne(seen[0], seen[1]);
}
END_TEST

/* Three times: count, then wait for all blocks of the grid, as grid.sync() does. */
static uint32_t sync_grid(struct rt_warp *warp, void *frame, uint32_t resume)
{
	uint32_t *round = frame;
	struct flags *flags = param(warp);
	uint32_t blocks = warp->launch->nctaid[0];
	if (resume == 0) {
		*round = 1;
		atomic_fetch_add(&flags->count, 1);
	}
	while (atomic_load(&flags->count) >= *round * blocks) {
		if (++*round == 4) {
			return RT_DONE;
		}
		atomic_fetch_add(&flags->count, 1);
	}
	warp->yield = RT_YIELD_SPIN;
	return 1;
}

START_TEST(cooperative_launch_runs_all_blocks_at_once)
{
	requests[0].cooperative = true;
	for (uint32_t blocks = 1; blocks < 100; blocks += 24) {
		struct flags flags = {0, 0};
		ck_assert_int_eq(start(0, sync_grid, blocks, &flags), CUDA_SUCCESS);
		ck_assert_uint_eq(atomic_load(&flags.count), 3 * blocks);
	}
	requests[0].cooperative = false;
}
END_TEST

SUITE(launch_long)
{
	Suite *suite = suite_create("launch_long");
	TCase *tc = tcase_create("launch_long");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, launches_do_not_wait_for_each_other);
	tcase_add_loop_test(tc, launch_can_be_cancelled, 0, (int)countof(endless));
	tcase_add_test(tc, launch_that_stands_has_a_number);
	tcase_add_test(tc, cooperative_launch_runs_all_blocks_at_once);
	suite_add_tcase(suite, tc);
	return suite;
}

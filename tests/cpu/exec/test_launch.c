/* SPDX-License-Identifier: MIT */
/*
 * The scheduler, with kernels written in C as the generator would make them: coroutines that
 * return where to resume.  Every kernel works for any width.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/mem/fault.h"
#include "cpu/exec/launch.h"
#include "cpu/runtime/rt_collect.h"
#include "support/suite.h"

#include <check.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const uint32_t widths[] = {1, 8, 32};

static struct pool *pool;
static struct launcher *launcher;
static struct launch_failure failure;
static bool in_order;

static void setup(void)
{
	ck_assert(fault_install());
	ck_assert(pool_create(&pool, 3));
	ck_assert(launcher_create(&launcher, pool));
}

static void teardown(void)
{
	pool_release(pool);
	launcher_release(launcher);
	fault_remove();
}

struct shape {
	uint32_t grid[3];
	uint32_t block[3];
};

/* A kernel's parameter is one pointer. */
static CUresult run_shape(rt_kernel *kernel, uint32_t width, const struct shape *shape, void *out)
{
	uint64_t params[1] = {(uintptr_t)out};
	const struct jit_kernel made = {.run = kernel, .width = width, .frame_size = 16};
	struct jit_code code = {.kernel = &made};
	struct launch_request request = {
		.name = "k", .code = &code, .local_size = 8,
		.params = (const uint8_t *)params, .static_shared = 8192, .work = UINT64_MAX,
		.in_order = in_order
	};
	memcpy(request.grid, shape->grid, sizeof(request.grid));
	memcpy(request.block, shape->block, sizeof(request.block));
	return launch_run(launcher, &request, &failure);
}

static CUresult run(rt_kernel *kernel, uint32_t width, uint32_t blocks, uint32_t threads,
	void *out)
{
	struct shape shape = {{blocks, 1, 1}, {threads, 1, 1}};
	return run_shape(kernel, width, &shape, out);
}

static void *param(const struct rt_warp *warp)
{
	uint64_t address;
	memcpy(&address, warp->launch->params, sizeof(address));
	return (void *)(uintptr_t)address;
}

static uint32_t wait_at(struct rt_warp *warp, uint32_t id, uint32_t count, uint32_t resume)
{
	warp->yield = RT_YIELD_BARRIER;
	warp->bar_id = id;
	warp->bar_count = count;
	warp->bar_red = RT_RED_NONE;
	warp->line = 40 + resume;
	return resume;
}

/* Meet the threads of a warp in `members` at a bar.warp.sync. */
static uint32_t meet(struct rt_warp *warp, uint32_t members, uint32_t resume)
{
	uint32_t lane = warp->first % RT_GROUP;
	warp->exchange->what[lane] = COLLECT_SYNC;
	warp->exchange->members[lane] = members;
	warp->yield = rt_calls.collect(warp, 1) ? RT_YIELD_NONE : RT_YIELD_WARP;
	return resume;
}

static uint32_t last_of(const struct rt_warp *warp)
{
	return warp->first + (uint32_t)__builtin_popcount(warp->alive);
}

/* Every thread adds one to its own cell and remembers where it was. */
static uint32_t mark(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	(void)resume;
	const struct rt_launch *l = warp->launch;
	uint32_t *cells = param(warp);
	uint64_t block = ((uint64_t)warp->ctaid[2] * l->nctaid[1] + warp->ctaid[1]) * l->nctaid[0]
		+ warp->ctaid[0];
	for (uint32_t t = warp->first; t < last_of(warp); t++) {
		uint32_t thread = (l->tid[2][t] * l->ntid[1] + l->tid[1][t]) * l->ntid[0]
			+ l->tid[0][t];
		cells[block * l->threads + thread]++;
	}
	return RT_DONE;
}

START_TEST(launch_runs_every_thread_of_every_block_once)
{
	static const struct shape shapes[] = {
		{{1, 1, 1}, {1, 1, 1}}, {{3, 1, 1}, {33, 1, 1}}, {{5, 4, 3}, {4, 3, 2}},
		{{1, 1, 7}, {1, 1, 64}}, {{2, 1, 1}, {1024, 1, 1}}, {{4001, 1, 1}, {2, 1, 1}},
		{{11, 7, 5}, {3, 2, 1}},
	};
	static uint32_t cells[1 << 14];
	const struct shape *s = &shapes[(size_t)_i / countof(widths)];
	uint32_t total = s->grid[0] * s->grid[1] * s->grid[2]
		* s->block[0] * s->block[1] * s->block[2];
	ck_assert_int_eq(run_shape(mark, widths[(size_t)_i % countof(widths)], s, cells), 0);
	for (uint32_t i = 0; i < countof(cells); i++) {
		ck_assert_uint_eq(cells[i], i < total);
	}
}
END_TEST

/* A sum over the block in shared memory, halving: a barrier in a loop. */
static uint32_t sum(struct rt_warp *warp, void *frame, uint32_t resume)
{
	uint32_t *shared = (uint32_t *)warp->shared;
	uint32_t *step = frame;
	uint32_t threads = warp->launch->threads;
	if (resume == 0) {
		for (uint32_t t = warp->first; t < last_of(warp); t++) {
			shared[t] = t + warp->ctaid[0];
		}
		*step = threads / 2;
		return wait_at(warp, 0, 0, 1);
	}
	for (uint32_t t = warp->first; t < last_of(warp) && t < *step; t++) {
		shared[t] += shared[t + *step];
	}
	*step /= 2;
	if (*step > 0) {
		return wait_at(warp, 0, 0, 1);
	}
	if (warp->first == 0) {
		((uint32_t *)param(warp))[warp->ctaid[0]] = shared[0];
	}
	return RT_DONE;
}

START_TEST(launch_waits_at_barriers_in_a_loop)
{
	uint32_t sums[40];
	ck_assert_int_eq(run(sum, widths[_i], 40, 512, sums), 0);
	for (uint32_t i = 0; i < 40; i++) {
		ck_assert_uint_eq(sums[i], 512 * 511 / 2 + 512 * i);
	}
}
END_TEST

/* Threads of the upper half exit early; the others wait for the whole block twice. */
static uint32_t exit_early(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	if (warp->first >= 64 || resume == 2) {
		if (resume == 2) {
			atomic_fetch_add((atomic_uint *)param(warp), 1);
		}
		return RT_DONE;
	}
	return wait_at(warp, 0, 0, resume + 1);
}

START_TEST(launch_counts_exited_threads_as_arrived)
{
	atomic_uint count = 0;
	uint32_t width = widths[_i];
	ck_assert_int_eq(run(exit_early, width, 3, 100, &count), 0);
	ck_assert_uint_eq(atomic_load(&count), 3 * 64 / width);
}
END_TEST

/* Producers arrive at barrier 1 and go on; consumers wait there.  64 threads of 20 + 44: the
 * count is in whole CUDA warps. */
static uint32_t produce(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	uint32_t *shared = (uint32_t *)warp->shared;
	bool producer = warp->first >= 32;
	if (resume == 0 && producer) {
		for (uint32_t t = warp->first; t < last_of(warp); t++) {
			shared[t - 32] = t;
		}
		wait_at(warp, 1, 64, 1);
		warp->yield = RT_YIELD_ARRIVE;
		return 1;
	}
	if (resume == 0) {
		return wait_at(warp, 1, 64, 1);
	}
	for (uint32_t t = warp->first; !producer && t < last_of(warp) && t < 20; t++) {
		((uint32_t *)param(warp))[t] = shared[t];
	}
	return RT_DONE;
}

START_TEST(launch_lets_producers_arrive_without_waiting)
{
	uint32_t out[32] = {0};
	ck_assert_int_eq(run(produce, widths[_i], 1, 52, out), 0);
	for (uint32_t i = 0; i < 32; i++) {
		ck_assert_uint_eq(out[i], i < 20 ? i + 32 : 0);
	}
}
END_TEST

/* Reduce "thread number is below the limit" at a barrier, in the three ways. */
static uint32_t limit;

static uint32_t reduce(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	uint32_t *out = param(warp);
	if (resume > 0) {
		for (uint32_t t = warp->first; t < last_of(warp); t++) {
			out[t * 3 + resume - 1] = warp->exchange->words[0][t % RT_GROUP];
		}
	}
	if (resume == 3) {
		return RT_DONE;
	}
	uint32_t mask = 0;
	for (uint32_t t = warp->first; t < last_of(warp); t++) {
		mask |= (uint32_t)(t < limit) << (t - warp->first);
	}
	wait_at(warp, 2, 0, resume + 1);
	warp->bar_value = mask;
	warp->bar_red = RT_RED_AND + resume;
	return resume + 1;
}

START_TEST(launch_reduces_predicates_at_a_barrier)
{
	uint32_t out[100][3];
	static const uint32_t limits[] = {0, 40, 100};
	for (size_t i = 0; i < countof(limits); i++) {
		limit = limits[i];
		ck_assert_int_eq(run(reduce, widths[_i], 1, 100, out), 0);
		for (size_t t = 0; t < 100; t++) {
			ck_assert_int_eq(out[t][0] != 0, limit == 100);
			ck_assert_int_eq(out[t][1] != 0, limit > 0);
			ck_assert_uint_eq(out[t][2], limit);
		}
	}
}
END_TEST

/* Two halves of the block use barriers of their own, one of them more often. */
static uint32_t halves(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	uint32_t half = warp->first >= 64;
	if (resume == (half ? 5 : 2)) {
		atomic_fetch_add((atomic_uint *)param(warp), last_of(warp) - warp->first);
		return RT_DONE;
	}
	return wait_at(warp, 3 + half, 64, resume + 1);
}

START_TEST(launch_keeps_named_barriers_apart)
{
	atomic_uint count = 0;
	ck_assert_int_eq(run(halves, widths[_i], 2, 128, &count), 0);
	ck_assert_uint_eq(atomic_load(&count), 256);
}
END_TEST

/* Twice bar.warp.sync among the even threads of each CUDA warp; thread 6 has exited, thread 10 is
 * late for the second one. */
static uint32_t sync_even(struct rt_warp *warp, void *frame, uint32_t resume)
{
	bool *was_late = frame;
	uint32_t *shared = (uint32_t *)warp->shared;
	uint32_t t = warp->first;
	if (t % 2 == 1 || t == 6) {
		return RT_DONE;
	}
	if (resume > 0) {
		uint32_t *out = param(warp);
		const uint32_t *written = shared + 64 * (resume - 1);
		out[2 * t + resume - 1] = written[t % 32 == 30 ? t - 30 : t + 2];
	}
	if (resume == 2) {
		return RT_DONE;
	}
	if (t == 10 && resume == 1 && !*was_late) {
		*was_late = true;
		warp->yield = RT_YIELD_SPIN;
		return 1;
	}
	*was_late = false;
	shared[64 * resume + t] = t + 1000 * resume;
	return meet(warp, 0x55555555, resume + 1);
}

START_TEST(launch_syncs_the_members_of_a_warp)
{
	uint32_t out[64][2] = {{0}};
	ck_assert_int_eq(run(sync_even, 1, 1, 64, out), 0);
	ck_assert_uint_eq(out[8][0], 10);
	ck_assert_uint_eq(out[8][1], 1010);
	ck_assert_uint_eq(out[62][0], 32);
	ck_assert_uint_eq(out[62][1], 1032);
}
END_TEST

/* The first block spins until the second has run, on another worker. */
static uint32_t wait_for_next_block(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	(void)resume;
	atomic_uint *flags = param(warp);
	if (warp->ctaid[0] == 0 && atomic_load(&flags[1]) == 0) {
		warp->yield = RT_YIELD_SPIN;
		return 1;
	}
	atomic_store(&flags[warp->ctaid[0]], 1);
	return RT_DONE;
}

START_TEST(launch_lets_blocks_wait_for_each_other)
{
	atomic_uint flags[2] = {0, 0};
	usleep(1000); // long enough for the worker to sleep, if there is one
	ck_assert_int_eq(run(wait_for_next_block, 32, 2, 64, flags), 0);
	ck_assert_uint_eq(atomic_load(&flags[0]), 1);
}
END_TEST

enum { QUEUE = 60 };

struct queue {
	atomic_bool begun[QUEUE];
	atomic_uint count;
	atomic_uint early; /* blocks that began before more than the other two workers' had */
};

/* Block 0 waits for company. */
static uint32_t look_at_queue(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	struct queue *queue = param(warp);
	uint32_t missing = 0;
	if (resume == 0) {
		for (uint32_t i = 0; i < warp->ctaid[0]; i++) {
			missing += !atomic_load(&queue->begun[i]);
		}
		atomic_store(&queue->begun[warp->ctaid[0]], true);
		atomic_fetch_add(&queue->count, 1);
		atomic_fetch_add(&queue->early, missing > 2);
	}
	if (warp->ctaid[0] == 0 && atomic_load(&queue->count) < 2) {
		warp->yield = RT_YIELD_SPIN;
		return 1;
	}
	return RT_DONE;
}

START_TEST(launch_begins_blocks_in_order_where_they_may_wait)
{
	struct queue queue = {.count = 0};
	in_order = true;
	ck_assert_int_eq(run(look_at_queue, 32, QUEUE, 32, &queue), 0);
	ck_assert_uint_eq(atomic_load(&queue.count), QUEUE);
	ck_assert_uint_eq(atomic_load(&queue.early), 0);
}
END_TEST

START_TEST(launch_gives_each_worker_a_share)
{
	struct queue queue = {.count = 0};
	ck_assert_int_eq(run(look_at_queue, 32, QUEUE, 32, &queue), 0);
	ck_assert_uint_eq(atomic_load(&queue.count), QUEUE);
	ck_assert_uint_gt(atomic_load(&queue.early), 0);
}
END_TEST

struct pair {
	atomic_bool second;
	atomic_uint threads;
};

/* Block 0 waits for block 1, which another worker must do. */
static uint32_t count_in_two_blocks(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	struct pair *pair = param(warp);
	if (resume == 0) {
		atomic_fetch_add(&pair->threads, last_of(warp) - warp->first);
	}
	if (warp->ctaid[0] == 1) {
		atomic_store(&pair->second, true);
	}
	if (warp->ctaid[0] == 0 && !atomic_load(&pair->second)) {
		warp->yield = RT_YIELD_SPIN;
		return 1;
	}
	return RT_DONE;
}

/* Seven threads have rooms for small blocks; one of them then gets a big one. */
START_TEST(launch_of_few_blocks_comes_after_one_of_many)
{
	teardown();
	ck_assert(fault_install());
	ck_assert(pool_create(&pool, 8));
	ck_assert(launcher_create(&launcher, pool));
	for (int i = 0; i < 50; i++) {
		struct queue queue = {.count = 0};
		struct pair pair = {.threads = 0};
		ck_assert_int_eq(run(look_at_queue, 32, QUEUE, 32, &queue), 0);
		ck_assert_int_eq(run(count_in_two_blocks, 32, 2, 1024, &pair), 0);
		ck_assert_uint_eq(atomic_load(&pair.threads), 2048);
	}
}
END_TEST

/* Warps of all blocks take turns: each spins until it is its turn. */
static uint32_t take_turns(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	(void)resume;
	atomic_uint *turn = param(warp);
	uint32_t mine = warp->ctaid[0] * warp->launch->threads + warp->first;
	if (atomic_load(turn) != mine) {
		warp->yield = RT_YIELD_SPIN;
		return 1;
	}
	atomic_store(turn, mine + last_of(warp) - warp->first);
	return RT_DONE;
}

START_TEST(launch_makes_progress_while_warps_spin)
{
	atomic_uint turn = 0;
	ck_assert_int_eq(run(take_turns, widths[_i], 6, 96, &turn), 0);
	ck_assert_uint_eq(atomic_load(&turn), 6 * 96);
}
END_TEST

/* The first warp of block 1 traps while all others wait at barriers forever. */
static uint32_t trap_beside_loops(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	atomic_uint *running = param(warp);
	if (resume == 0 && warp->first == 0) {
		atomic_fetch_add(running, 1);
	}
	if (warp->ctaid[0] == 1 && warp->first == 0 && atomic_load(running) == 2) {
		warp->yield = RT_YIELD_TRAP;
		return 1;
	}
	wait_at(warp, 0, 0, 1);
	warp->bar_red = limit == 0 ? RT_RED_NONE : RT_RED_OR;
	return 1;
}

START_TEST(launch_stops_all_blocks_when_one_has_failed)
{
	atomic_uint running = 0;
	limit = (uint32_t)_i;
	ck_assert_int_eq(run(trap_beside_loops, 32, 2, 64, &running), CUDA_ERROR_LAUNCH_FAILED);
	ck_assert_str_eq(failure.where, "block (1,0,0), threads (0,0,0) to (31,0,0)");
}
END_TEST

static uint32_t wait_at_barrier_16(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	return resume == 1 ? RT_DONE : wait_at(warp, 16, 0, 1);
}

/* The first warp waits at a barrier, the others at another. */
static uint32_t part_ways(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	return resume == 1 ? RT_DONE : wait_at(warp, warp->first == 0 ? 1 : 2, 128, 1);
}

static uint32_t wait_for_nobody(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	if (resume == 1 || warp->first != 0) {
		return RT_DONE;
	}
	warp->line = 41;
	return meet(warp, UINT32_MAX, 1);
}

static uint32_t trap(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	(void)resume;
	if (warp->ctaid[0] != 5) {
		return RT_DONE;
	}
	warp->yield = RT_YIELD_TRAP;
	warp->line = 41;
	return 1;
}

START_TEST(launch_reports_deadlocks_and_traps)
{
	ck_assert_int_eq(run(part_ways, widths[_i], 1, 128, NULL), CUDA_ERROR_LAUNCH_FAILED);
	ck_assert_str_eq(failure.what,
		"deadlock: waits at a barrier for threads that never come (PTX line 41)");
	ck_assert_ptr_nonnull(strstr(failure.where, "block (0,0,0), thread"));
	ck_assert_int_eq(run(trap, widths[_i], 9, 1, NULL), CUDA_ERROR_LAUNCH_FAILED);
	ck_assert_str_eq(failure.what, "trap (PTX line 41)");
	ck_assert_str_eq(failure.where, "block (5,0,0), thread (0,0,0)");
	ck_assert_int_eq(run(wait_at_barrier_16, widths[_i], 1, 64, NULL),
		CUDA_ERROR_LAUNCH_FAILED);
	ck_assert_str_eq(failure.what, "barrier above 15 (PTX line 41)");
}
END_TEST

START_TEST(launch_does_not_wait_for_exited_members_of_a_warp)
{
	ck_assert_int_eq(run(wait_for_nobody, 1, 1, 32, NULL), 0);
}
END_TEST

enum crime {
	READ_NULL, READ_NOWHERE, PAST_SHARED, FAR_PAST_SHARED, BEFORE_SHARED, FAR_BEFORE_SHARED,
	PAST_LOCAL, BEFORE_LOCAL, BAD_CODE
};

static uint32_t commit(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)frame;
	(void)resume;
	volatile const uint8_t *bytes = NULL;
	switch (*(enum crime *)param(warp)) {
	case READ_NULL:
		bytes = (const uint8_t *)16;
		break;
	case READ_NOWHERE:
		bytes = (const uint8_t *)0x1234567890abcdef;
		break;
	case PAST_SHARED:
		bytes = warp->shared + 8192;
		break;
	case FAR_PAST_SHARED:
		bytes = warp->shared + UINT32_MAX;
		break;
	case BEFORE_SHARED:
		bytes = warp->shared - 4;
		break;
	case FAR_BEFORE_SHARED:
		bytes = warp->shared - ((uint64_t)1 << 32);
		break;
	case BEFORE_LOCAL:
		bytes = warp->local - 60000;
		break;
	case PAST_LOCAL:
		bytes = warp->local + 4096;
		break;
	case BAD_CODE:
		__builtin_trap();
	}
	if (bytes != NULL) {
		(void)*bytes;
	}
	return RT_DONE;
}

START_TEST(launch_turns_faults_into_errors)
{
	static const struct {
		enum crime crime;
		CUresult code;
		const char *what;
	} cases[] = {
		{READ_NULL, CUDA_ERROR_ILLEGAL_ADDRESS, "access to address 0x10"},
		{READ_NOWHERE, CUDA_ERROR_ILLEGAL_ADDRESS,
			"access to an address that is not canonical"},
		{PAST_SHARED, CUDA_ERROR_ILLEGAL_ADDRESS,
			"access to offset 8192 of 8192 bytes of shared memory"},
		{FAR_PAST_SHARED, CUDA_ERROR_ILLEGAL_ADDRESS,
			"access to offset 4294967295 of 8192 bytes of shared memory"},
		{BEFORE_SHARED, CUDA_ERROR_ILLEGAL_ADDRESS,
			"access to offset -4 of 8192 bytes of shared memory"},
		{FAR_BEFORE_SHARED, CUDA_ERROR_ILLEGAL_ADDRESS,
			"access to offset -4294967296 of 8192 bytes of shared memory"},
		{PAST_LOCAL, CUDA_ERROR_ILLEGAL_ADDRESS,
			", which is outside of the 8 bytes of local memory of each thread"},
		{BEFORE_LOCAL, CUDA_ERROR_ILLEGAL_ADDRESS,
			", which is outside of the 8 bytes of local memory of each thread"},
		{BAD_CODE, CUDA_ERROR_ILLEGAL_INSTRUCTION, "illegal instruction"},
	};
	enum crime crime = cases[_i].crime;
	uint32_t count = 0;
	for (int again = 0; again < 3; again++) {
		ck_assert_int_eq(run(commit, 32, 20, 32, &crime), cases[_i].code);
		ck_assert_ptr_nonnull(strstr(failure.what, cases[_i].what));
		ck_assert_ptr_nonnull(strstr(failure.where, ",0,0), threads (0,0,0) to (31,0,0)"));
		ck_assert_int_eq(failure.has_address, crime == READ_NULL);
	}
	ck_assert_int_eq(run(mark, 32, 1, 1, &count), 0);
	ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(launch_turns_faults_into_errors_where_signals_are_blocked)
{
	enum crime crime = READ_NULL;
	sigset_t all;
	sigset_t now;
	sigfillset(&all);
	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
	ck_assert_int_eq(run(commit, 1, 1, 1, &crime), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	ck_assert_int_eq(sigismember(&now, SIGSEGV), 1);
	ck_assert_int_eq(sigismember(&now, SIGUSR1), 1);
}
END_TEST

/* --- Better code, while blocks run --- */

static struct jit_code switched;
static struct jit_kernel better;

/* Another width has other warps, and frames of another size. */
static uint32_t mark_better(struct rt_warp *warp, void *frame, uint32_t resume)
{
	ck_assert_uint_gt(warp->ctaid[0], 3);
	memset(frame, 1, better.frame_size);
	return mark(warp, frame, resume);
}

static uint32_t mark_and_switch(struct rt_warp *warp, void *frame, uint32_t resume)
{
	if (warp->ctaid[0] == 3) {
		jit_code_set(&switched, &better);
	}
	ck_assert(warp->ctaid[0] <= 3 || better.frame_size == SIZE_MAX / 2);
	return mark(warp, frame, resume);
}

static const struct {
	uint32_t from, to;
	size_t frame_size;
} switches[] = {{1, 32, 4096}, {32, 1, 4096}, {1, 32, SIZE_MAX / 2}};

START_TEST(blocks_that_begin_after_better_code_is_there_run_by_it)
{
	static uint32_t cells[10 * 100];
	uint64_t params[1] = {(uintptr_t)cells};
	const struct jit_kernel first = {.run = mark_and_switch, .width = switches[_i].from};
	better = (struct jit_kernel){.run = mark_better, .width = switches[_i].to,
		.frame_size = switches[_i].frame_size};
	jit_code_set(&switched, &first);
	struct launch_request request = {
		.name = "k", .code = &switched, .local_size = 8, .params = (const uint8_t *)params,
		.grid = {10, 1, 1}, .block = {100, 1, 1}
	};
	ck_assert_int_eq(launch_run(launcher, &request, &failure), CUDA_SUCCESS);
	for (size_t i = 0; i < countof(cells); i++) {
		ck_assert_uint_eq(cells[i], 1);
	}
	ck_assert_ptr_eq(jit_code_get(&switched), &better);
}
END_TEST

START_TEST(launch_survives_every_failing_malloc)
{
	bool failed = true;
	for (long n = 0; failed; n++) {
		struct launcher *other;
		uint32_t count = 0;
		uint64_t params[1] = {(uintptr_t)&count};
		const struct jit_kernel made = {.run = mark, .width = 1};
		struct jit_code code = {.kernel = &made};
		struct launch_request request = {
			.name = "k", .code = &code, .params = (const uint8_t *)params,
			.grid = {1, 1, 1}, .block = {1, 1, 1}
		};
		mem_fail_after(n);
		if (launcher_create(&other, pool)) {
			CUresult result = launch_run(other, &request, &failure);
			ck_assert_int_eq(result,
				mem_has_failed() ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
			ck_assert_uint_eq(count, result == CUDA_SUCCESS);
		}
		failed = mem_has_failed();
		mem_fail_after(-1);
		launcher_release(other);
	}
}
END_TEST

/* What worker 0 needs must be there; without what the others need there are fewer of them. */
START_TEST(launch_goes_on_with_fewer_workers_where_memory_runs_out)
{
	static uint32_t cells[1000];
	const struct jit_kernel made = {.run = mark, .width = 1};
	struct jit_code code = {.kernel = &made};
	uint64_t params[1] = {(uintptr_t)cells};
	const struct launch_request request = {
		.name = "k", .code = &code, .params = (const uint8_t *)params,
		.grid = {countof(cells), 1, 1}, .block = {1, 1, 1}, .work = UINT64_MAX
	};
	uint32_t runs = 0, with_few = 0;
	bool failed = true;
	for (long n = 0; failed; n++) {
		struct launcher *other;
		ck_assert(launcher_create(&other, pool));
		mem_fail_after(n);
		CUresult result = launch_run(other, &request, &failure);
		failed = mem_has_failed();
		mem_fail_after(-1);
		runs += result == CUDA_SUCCESS;
		with_few += result == CUDA_SUCCESS && failed;
		ck_assert(result == CUDA_SUCCESS || (failed && result == CUDA_ERROR_OUT_OF_MEMORY));
		for (size_t i = 0; i < countof(cells); i += 111) {
			ck_assert_uint_eq(cells[i], runs);
		}
		launcher_release(other);
	}
	ck_assert_uint_ge(with_few, 2);
}
END_TEST

START_TEST(launch_refuses_local_memory_beyond_all_sizes)
{
	const struct jit_kernel made = {.run = mark, .width = 32};
	struct jit_code code = {.kernel = &made};
	struct launch_request request = {
		.name = "k", .code = &code, .local_size = SIZE_MAX / 64,
		.grid = {1, 1, 1}, .block = {1024, 1, 1}
	};
	ck_assert_int_eq(launch_run(launcher, &request, &failure),
		CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	request.local_size = SIZE_MAX - 8;
	ck_assert_int_eq(launch_run(launcher, &request, &failure),
		CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	request.local_size = (size_t)1 << 40;
	ck_assert_int_eq(launch_run(launcher, &request, &failure), CUDA_ERROR_OUT_OF_MEMORY);
}
END_TEST

static volatile sig_atomic_t seen;

static void note_signal(int number)
{
	seen = number;
}

static uint32_t send_signal(struct rt_warp *warp, void *frame, uint32_t resume)
{
	(void)warp;
	(void)frame;
	(void)resume;
	raise(SIGFPE);
	return RT_DONE;
}

START_TEST(fault_leaves_foreign_faults_to_the_handler_before)
{
	fault_remove();
	signal(SIGFPE, note_signal);
	ck_assert(fault_install());
	raise(SIGFPE);
	ck_assert_int_eq(seen, SIGFPE);
	seen = 0;
	ck_assert_int_eq(run(send_signal, 1, 1, 1, NULL), 0);
	ck_assert_int_eq(seen, SIGFPE);
	seen = 0;
	fault_remove();
	raise(SIGFPE);
	ck_assert_int_eq(seen, SIGFPE);
	ck_assert(fault_install());
}
END_TEST

static struct sigaction below;
static volatile sig_atomic_t above_count;

static void pass_below(int number, siginfo_t *info, void *data)
{
	above_count++;
	below.sa_sigaction(number, info, data);
}

START_TEST(fault_passes_on_to_handlers_below_and_above)
{
	fault_remove();
	signal(SIGFPE, note_signal);
	ck_assert(fault_install());
	struct sigaction above = {.sa_flags = SA_SIGINFO};
	above.sa_sigaction = pass_below;
	ck_assert_int_eq(sigaction(SIGFPE, &above, &below), 0);
	for (int i = 1; i <= 3; i++) {
		seen = 0;
		raise(SIGFPE);
		ck_assert_int_eq(seen, SIGFPE);
		ck_assert_int_eq(above_count, i);
		fault_remove();
		ck_assert(fault_install());
	}
}
END_TEST

START_TEST(pieces_of_a_share_get_smaller_to_its_end)
{
	uint64_t left = 1000, most = 32, last = most;
	while (left > 0) {
		uint64_t piece = launch_piece(left, most);
		ck_assert_uint_ge(piece, 1);
		ck_assert_uint_le(piece, last);
		ck_assert(left == 1 || piece <= (left + 1) / 2);
		left -= piece;
		last = piece;
	}
	ck_assert_uint_eq(launch_piece(64, most), most);
	ck_assert_uint_eq(last, 1);
}
END_TEST

SUITE(launch)
{
	Suite *suite = suite_create("launch");
	TCase *tc = tcase_create("launch");
	const int n = countof(widths);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, launch_runs_every_thread_of_every_block_once, 0, 7 * n);
	tcase_add_loop_test(tc, launch_waits_at_barriers_in_a_loop, 0, n);
	tcase_add_loop_test(tc, launch_counts_exited_threads_as_arrived, 0, n);
	tcase_add_loop_test(tc, launch_lets_producers_arrive_without_waiting, 0, n);
	tcase_add_loop_test(tc, launch_reduces_predicates_at_a_barrier, 0, n);
	tcase_add_loop_test(tc, launch_keeps_named_barriers_apart, 0, n);
	tcase_add_test(tc, launch_syncs_the_members_of_a_warp);
	tcase_add_loop_test(tc, launch_makes_progress_while_warps_spin, 0, n);
	tcase_add_test(tc, launch_lets_blocks_wait_for_each_other);
	tcase_add_test(tc, launch_begins_blocks_in_order_where_they_may_wait);
	tcase_add_test(tc, launch_gives_each_worker_a_share);
	tcase_add_test(tc, launch_of_few_blocks_comes_after_one_of_many);
	tcase_add_loop_test(tc, launch_reports_deadlocks_and_traps, 0, n);
	tcase_add_test(tc, launch_does_not_wait_for_exited_members_of_a_warp);
	tcase_add_loop_test(tc, launch_stops_all_blocks_when_one_has_failed, 0, 2);
	tcase_add_loop_test(tc, launch_turns_faults_into_errors, 0, 9);
	tcase_add_test(tc, launch_turns_faults_into_errors_where_signals_are_blocked);
	tcase_add_test(tc, launch_survives_every_failing_malloc);
	tcase_add_test(tc, launch_goes_on_with_fewer_workers_where_memory_runs_out);
	tcase_add_loop_test(tc, blocks_that_begin_after_better_code_is_there_run_by_it, 0,
		countof(switches));
	tcase_add_test(tc, launch_refuses_local_memory_beyond_all_sizes);
	tcase_add_test(tc, fault_leaves_foreign_faults_to_the_handler_before);
	tcase_add_test(tc, fault_passes_on_to_handlers_below_and_above);
	tcase_add_test(tc, pieces_of_a_share_get_smaller_to_its_end);
	suite_add_tcase(suite, tc);
	return suite;
}

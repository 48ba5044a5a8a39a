/* SPDX-License-Identifier: MIT */
/*
 * A launch: its grid's blocks, handed out to workers.  Worker 0 is the thread that launches; a
 * small launch is its alone.  Each worker begins with a share of the blocks and takes some at a
 * time (launch_plan_shares, launch_piece).  A worker whose share is done takes from the shares of
 * others.  When better code is there it runs the blocks that begin from then on.
 *
 * A kernel whose blocks may wait for others has a single share, in order, so that no block waits
 * for an earlier one that has not begun (a look-back scan).  On a GPU it may wait for later ones,
 * too, as far as they fit on the multiprocessors at once.  So a worker whose block has waited for a
 * while begins the next one in a place of its own, and from then on the workers step the blocks in
 * places in turn, beside their own.  The blocks of a cooperative launch all begin in places.
 *
 * Under a schedule (seeded_schedule.h) all blocks begin in places, and worker 0 runs a thread at a
 * time.
 */
#include "base/common.h"

#include "cpu/exec/launch.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cpu/config/settings.h"
#include "cpu/exec/launch_float.h"
#include "cpu/exec/launch_job.h"
#include "cpu/exec/nontemporal.h"
#include "cpu/mem/unwritten.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SIGNAL_STACK ((size_t)1 << 16)
#define CHUNK 64            /* blocks that a worker takes at a time, and more if they are small: */
#define CHUNK_WORK (1u << 23)
#define SCHEDULE_STEPS (1u << 16) /* of threads, before worker 0 lets another thread go on */
#define SCHEDULE_IDLE 64    /* steps for each block that waits before more begin than usual */
#define PATIENCE 16         /* steps of a block that waits before the next one begins beside it */

bool launcher_create(struct launcher **out, struct pool *pool)
{
	struct launcher *launcher = mem_zalloc(1, sizeof(*launcher));
	*out = NULL;
	if (!launcher) {
		return false;
	}
	launcher->pool = pool;
	launcher->worker_count = pool_size(pool);
	launcher->job.launcher = launcher;
	launcher->job.launch.sm_count = launcher->worker_count;
	launcher->job.launch.calls = &rt_calls;
	launcher->schedule.seed = settings_get(SETTING_SCHEDULE, 0);
	for (int axis = 0; axis < 3; axis++) {
		launcher->job.launch.tid[axis] = launcher->tid[axis];
	}
	launcher->workers = mem_zalloc(launcher->worker_count, sizeof(*launcher->workers));
	if (!launcher->workers) {
		mem_free(launcher);
		return false;
	}
	*out = launcher;
	return true;
}

void launcher_release(struct launcher *launcher)
{
	if (!launcher) {
		return;
	}
	for (unsigned i = 0; i < launcher->worker_count; i++) {
		block_frame_free(&launcher->workers[i].own);
		mem_free(launcher->workers[i].signal_stack);
		mem_free(launcher->workers[i].counters);
	}
	resident_free(&launcher->resident);
	race_release(launcher->race);
	mem_free(launcher->workers);
	mem_free(launcher);
}

/* Only the extents along x and y decide where a thread is, and a row of threads is the beginning of
 * any longer one: kernels that take turns seldom need other indices.  The indices of lanes without
 * a thread do not matter. */
static void launch_fill_tid(struct launcher *launcher, const uint32_t block[3])
{
	const bool is_row = block[1] == 1 && block[2] == 1;
	const uint32_t extents[2] = {is_row ? UINT32_MAX : block[0], block[1]};
	const uint32_t count = block[0] * block[1] * block[2];
	if (launcher->tid_extents[0] == extents[0] && launcher->tid_extents[1] == extents[1]
	    && count <= launcher->tid_count) {
		return;
	}
	launcher->tid_extents[0] = extents[0];
	launcher->tid_extents[1] = extents[1];
	launcher->tid_count = (uint32_t)round_up(count, RT_GROUP);
	uint32_t x = 0;
	uint32_t y = 0;
	uint32_t z = 0;
	for (uint32_t i = 0; i < launcher->tid_count; i++) {
		launcher->tid[0][i] = x;
		launcher->tid[1][i] = y;
		launcher->tid[2][i] = z;
		if (++x == extents[0]) {
			x = 0;
			if (++y == extents[1]) {
				y = 0;
				z++;
			}
		}
	}
}

static bool launch_has_failed(struct launch_job *job)
{
	return atomic_load_explicit(&job->failure, memory_order_relaxed) != CUDA_SUCCESS;
}

/* --- Blocks --- */

static void launch_work_on(void *arg, unsigned index);

/* For worker 0, whose block waits for what others could do: the pool may have been busy before. */
static void launch_get_help(struct launch_job *job, const struct worker *w)
{
	if (w == job->launcher->workers && !job->has_helpers && job->want > 1) {
		fault_hold(); // it takes locks, may start threads, and what it says must be kept
		job->has_helpers = pool_post(job->launcher->pool, launch_work_on, job,
			job->want - 1, UINT64_MAX);
		fault_release();
	}
}

static void launch_locate(const struct launch_job *job, uint64_t block, uint32_t ctaid[3])
{
	const uint32_t *grid = job->launch.nctaid;
	ctaid[0] = (uint32_t)(block % grid[0]);
	ctaid[1] = (uint32_t)(block / grid[0] % grid[1]);
	ctaid[2] = (uint32_t)(block / grid[0] / grid[1]);
}

/* Take some of the worker's own share, or else of another worker's. */
static bool launch_take_blocks(struct launch_job *job, struct worker *w)
{
	struct worker *workers = job->launcher->workers;
	struct worker *end = workers + job->shares;
	struct worker *owner = w < end ? w : workers;
	for (unsigned i = 0; i < job->shares; i++, owner = owner + 1 < end ? owner + 1 : workers) {
		uint64_t at = atomic_load_explicit(&owner->next, memory_order_relaxed);
		if (at >= owner->end) {
			continue;
		}
		uint64_t count = job->chunk;
		if (job->want == 1) { // there is nobody else
			atomic_store_explicit(&owner->next, at + count, memory_order_relaxed);
		} else {
			count = launch_piece(owner->end - at, count);
			at = atomic_fetch_add_explicit(&owner->next, count, memory_order_relaxed);
			if (at >= owner->end) {
				continue;
			}
		}
		if (at != w->at) { // else it goes on where it is, and needs no divisions
			w->at = at;
			launch_locate(job, at, w->ctaid);
		}
		w->to = owner->end - at > count ? at + count : owner->end;
		return true;
	}
	return false;
}

static bool launch_plan_layout(struct block_frame_layout *out, const struct launch_job *job,
	const struct jit_kernel *kernel)
{
	size_t local_size;
	return size_add(&local_size, job->request->local_size, job->request->stack_size)
		&& block_frame_plan(out, kernel->width, job->launch.threads, kernel->frame_size,
			local_size);
}

/* The blocks of a frame tell of what they do, if races are looked for. */
static bool launch_watch_frame(struct launch_job *job, struct block_frame *frame)
{
	struct block *block = &frame->block;
	if (likely(!job->is_watched && !block->race)) {
		return true;
	}
	block->race = job->is_watched ? &frame->race : NULL;
	for (uint32_t i = 0; i < block->slot_count; i++) {
		block->slots[i].warp.race = block->race;
	}
	return !job->is_watched
		|| race_prepare_block(&frame->race, job->launcher->race, job->shared_size);
}

/* The worker's own frame. */
static bool launch_set_up_frame(struct launch_job *job, struct worker *w,
	const struct block_frame_layout *layout, const struct jit_kernel *kernel)
{
	const uint32_t sm = (uint32_t)(w - job->launcher->workers);
	if (!block_frame_set_up(&w->own, layout, job->shared_size, &job->launch, sm)) {
		return false;
	}
	w->own.block.run = kernel->run;
	w->own.block.stop = &job->failure;
	launch_profile_bind(job, w, &w->own.block);
	return launch_watch_frame(job, &w->own);
}

/* Better code is there.  Without memory for its frames the worker goes on with what it has. */
static void launch_switch_code(struct launch_job *job, struct worker *w,
	const struct jit_kernel *kernel)
{
	struct block_frame_layout layout = {.width = 0};
	w->kernel = kernel;
	fault_hold();
	if (!launch_plan_layout(&layout, job, kernel)
	    || !launch_set_up_frame(job, w, &layout, kernel)) {
		bool ok = launch_set_up_frame(job, w, &job->layout, job->kernel);
		assert(ok); // frames only grow
		(void)ok;
	} else {
		profile_run(kernel->profile, w->stack);
	}
	fault_release();
}

/* Whether what a block has not written is to be known. */
static bool launch_checks_init(const struct launch_job *job)
{
	return unlikely(job->request->check)
		&& job->request->check->checks & check_bit(CHECK_INIT);
}

/* The memory of a block that is about to begin. */
static void launch_clear_frame(const struct launch_job *job, const struct block_frame *frame)
{
	if (launch_checks_init(job)) {
		unwritten_fill((uintptr_t)frame->shared.data, job->own_shared);
		if (frame->local.data) {
			unwritten_fill((uintptr_t)frame->local.data, frame->layout.locals_size);
		}
	}
}

/* On to what follows so many blocks of a row. */
static void launch_pass_blocks(struct launch_job *job, struct worker *w, uint32_t count)
{
	const uint32_t *grid = job->launch.nctaid;
	w->at += count;
	w->ctaid[0] += count;
	if (w->ctaid[0] == grid[0]) {
		w->ctaid[0] = 0;
		if (++w->ctaid[1] == grid[1]) {
			w->ctaid[1] = 0;
			w->ctaid[2]++;
		}
	}
}

static bool launch_has_next_block(struct launch_job *job, struct worker *w)
{
	return w->at != w->to || launch_take_blocks(job, w);
}

/* --- Blocks in places --- */

/* Step the block in a place that this worker has taken. */
static void launch_step_place(struct launch_job *job, struct worker *w,
	struct resident_place *place)
{
	w->frame = &place->frame;
	launch_profile_bind(job, w, &place->frame.block);
	enum block_end end = block_step(&w->frame->block);
	if (end == BLOCK_DONE) {
		atomic_store_explicit(&w->ended_in, job->launch.grid_id, memory_order_relaxed);
	} else if (end != BLOCK_SPINS) {
		launch_fail_block(job, &w->frame->block, end);
	}
	w->frame = &w->own;
	atomic_store_explicit(&place->state, end == BLOCK_SPINS ? PLACE_FREE : PLACE_EMPTY,
		memory_order_release);
}

static bool launch_take_place(struct resident_place *place, enum place_state from)
{
	unsigned state = from;
	return atomic_compare_exchange_strong_explicit(&place->state, &state, PLACE_TAKEN,
		memory_order_acquire, memory_order_relaxed);
}

/* Step each block in a place that no other worker has; returns how many places are not empty.
 * Workers begin apart, so that each mostly has blocks that are in its core's cache. */
static size_t launch_go_round(struct launch_job *job, struct worker *w)
{
	const size_t count = atomic_load_explicit(&job->places_in_use, memory_order_acquire);
	const size_t first = count * (size_t)(w - job->launcher->workers) / job->want;
	size_t left = 0;
	for (size_t i = 0; i < count && !launch_has_failed(job); i++) {
		size_t at = (first + i) % count;
		struct resident_place *place = resident_place(&job->launcher->resident, at);
		if (launch_take_place(place, PLACE_FREE)) {
			launch_step_place(job, w, place);
		}
		left += atomic_load_explicit(&place->state, memory_order_relaxed) != PLACE_EMPTY;
	}
	return left;
}

/* Whether there are places for blocks that run beside others.  The first worker that asks gets
 * them: as many as multiprocessors have at once, or what there is memory for. */
static bool launch_has_places(struct launch_job *job, const struct worker *w)
{
	unsigned none = PLACES_NONE;
	if (atomic_compare_exchange_strong(&job->places, &none, PLACES_BUSY)) {
		struct launcher *launcher = job->launcher;
		const uint64_t most = (uint64_t)launcher->worker_count * LAUNCH_SM_BLOCKS;
		size_t count = (size_t)(job->blocks < most ? job->blocks : most);
		bool ok = true;
		fault_hold();
		while (count > 0 && !resident_set_up(&launcher->resident, &w->own.layout,
				job->shared_size, count, &job->launch)) {
			count /= 2;
		}
		for (size_t i = 0; i < count; i++) {
			struct resident_place *place = resident_place(&launcher->resident, i);
			block_frame_begin(&place->frame, &job->launch);
			place->frame.block.run = w->own.block.run;
			place->frame.block.stop = &job->failure;
			ok &= launch_watch_frame(job, &place->frame);
			atomic_store(&place->state, PLACE_EMPTY);
		}
		job->most_places = count;
		atomic_store(&job->places, ok && count > 0 ? PLACES_READY : PLACES_FAILED);
		fault_release();
	}
	return atomic_load(&job->places) == PLACES_READY;
}

/* Begin the worker's next block in a place, if one is empty. */
static void launch_begin_beside(struct launch_job *job, struct worker *w)
{
	if (!w->has_passed) {
		w->has_passed = true;
		launch_pass_blocks(job, w, 1);
	}
	if (!launch_has_next_block(job, w) || !launch_has_places(job, w)) {
		return;
	}
	for (size_t i = 0; i < job->most_places; i++) {
		struct resident_place *place = resident_place(&job->launcher->resident, i);
		if (launch_take_place(place, PLACE_EMPTY)) {
			launch_clear_frame(job, &place->frame);
			block_start(&place->frame.block, w->ctaid, 1);
			launch_pass_blocks(job, w, 1);
			size_t in_use = atomic_load(&job->places_in_use);
			while (in_use < i + 1 && !atomic_compare_exchange_weak(
					&job->places_in_use, &in_use, i + 1)) {
			}
			launch_step_place(job, w, place);
			return;
		}
	}
}

/* The block of a worker waits, for another block perhaps, whose worker may need this core. */
static void launch_wait(struct launch_job *job, struct worker *w)
{
	launch_get_help(job, w);
	launch_go_round(job, w);
	if (job->request->in_order && ++w->waits == PATIENCE) {
		w->waits = 0;
		launch_begin_beside(job, w);
	}
	if (unlikely(job->is_watched)) {
		launch_check_stall(job);
	}
	sched_yield();
}

/* Until all blocks in places are done. */
static void launch_run_places(struct launch_job *job, struct worker *w)
{
	while (atomic_load_explicit(&job->places_in_use, memory_order_relaxed) > 0
	       && launch_go_round(job, w) > 0 && !launch_has_failed(job)) {
		launch_get_help(job, w);
		if (unlikely(job->is_watched)) {
			launch_check_stall(job);
		}
		sched_yield();
	}
}

static void launch_run_blocks(struct launch_job *job, struct worker *w)
{
	while (!launch_has_failed(job)) {
		if (!w->in_block) {
			if (!launch_has_next_block(job, w)) {
				return;
			}
			const struct jit_kernel *kernel = jit_code_get(job->request->code);
			if (unlikely(kernel != w->kernel)) {
				launch_switch_code(job, w, kernel);
			}
			/* one call may run several blocks of a row of the grid */
			uint64_t most = job->launch.nctaid[0] - w->ctaid[0];
			most = w->to - w->at < most ? w->to - w->at : most;
			most = launch_checks_init(job) || job->is_watched ? 1 : most;
			launch_clear_frame(job, w->frame);
			block_start(&w->frame->block, w->ctaid, (uint32_t)most);
			w->in_block = true;
			w->has_passed = false;
			w->waits = 0;
		}
		enum block_end end = block_step(&w->frame->block);
		if (end == BLOCK_DONE) {
			atomic_store_explicit(&w->ended_in, job->launch.grid_id,
				memory_order_relaxed);
			w->in_block = false;
			if (!w->has_passed) {
				launch_pass_blocks(job, w, block_count(&w->frame->block));
			}
		} else if (end != BLOCK_SPINS) {
			launch_fail_block(job, &w->frame->block, end);
			return;
		} else if (w == job->launcher->workers && job->may_leave) {
			/* it is time for worker 0 to let another thread go on */
			job->may_leave = false;
			job->has_left = true;
			return;
		} else {
			launch_wait(job, w);
		}
	}
}

/* --- Under a schedule --- */

/* How many blocks may be in places: as many as a multiprocessor has, so that the order does not
 * depend on the number of workers; or all that may, where those wait for blocks that have not
 * begun. */
static size_t launch_scheduled_most(const struct launch_job *job,
	const struct seeded_schedule *schedule, size_t live)
{
	const bool waits = schedule->idle > (uint64_t)SCHEDULE_IDLE * live;
	const size_t most = job->most_places;
	return waits || most < LAUNCH_SM_BLOCKS ? most : LAUNCH_SM_BLOCKS;
}

static struct resident_place *launch_find_place(struct launch_job *job, enum place_state state,
	uint64_t n)
{
	for (size_t i = 0;; i++) {
		struct resident_place *place = resident_place(&job->launcher->resident, i);
		if (atomic_load(&place->state) == state && n-- == 0) {
			return place;
		}
	}
}

/* Which block runs next: one that has begun, or the next one.  NULL: all are done. */
static struct resident_place *launch_choose_block(struct launch_job *job)
{
	struct seeded_schedule *schedule = &job->launcher->schedule;
	size_t live = 0;
	for (size_t i = 0; i < job->most_places; i++) {
		live += atomic_load(&resident_place(&job->launcher->resident, i)->state)
			!= PLACE_EMPTY;
	}
	const bool more = schedule->begun < schedule->blocks
		&& live < launch_scheduled_most(job, schedule, live);
	const uint64_t n = live + more > 0 ? seeded_choose(schedule, live + more) : 0;
	if (n < live) {
		return launch_find_place(job, PLACE_FREE, n);
	}
	if (!more) {
		return NULL;
	}
	struct resident_place *place = launch_find_place(job, PLACE_EMPTY, 0);
	uint32_t ctaid[3];
	launch_locate(job, seeded_take_block(schedule), ctaid);
	launch_clear_frame(job, &place->frame);
	block_start_threads(&place->frame.block, ctaid);
	launch_profile_bind(job, job->launcher->workers, &place->frame.block);
	atomic_store(&place->state, PLACE_FREE);
	return place;
}

/* A thread of a block has run up to where it comes back.  False: the launch has failed. */
static bool launch_step_thread(struct launch_job *job, struct worker *w, enum block_end *end)
{
	struct seeded_schedule *schedule = &job->launcher->schedule;
	struct resident_place *place = schedule->place;
	w->frame = &place->frame;
	*end = seeded_step(schedule, &w->frame->block);
	if (*end == BLOCK_DONE) {
		atomic_store_explicit(&w->ended_in, job->launch.grid_id, memory_order_relaxed);
		atomic_store(&place->state, PLACE_EMPTY);
		schedule->idle = 0;
	} else if (*end != BLOCK_MOVES && *end != BLOCK_SPINS) {
		launch_fail_block(job, &w->frame->block, *end);
		return false;
	}
	if (*end != BLOCK_MOVES || seeded_leaves_block(schedule)) {
		schedule->place = NULL;
		schedule->thread = UINT32_MAX;
	}
	w->frame = &w->own;
	return true;
}

static void launch_run_schedule(struct launch_job *job, struct worker *w)
{
	struct seeded_schedule *schedule = &job->launcher->schedule;
	enum block_end end = BLOCK_MOVES;
	for (unsigned steps = 1; !launch_has_failed(job); steps++) {
		if (!schedule->place && !(schedule->place = launch_choose_block(job))) {
			return;
		}
		if (!launch_step_thread(job, w, &end)) {
			return;
		}
		if (job->may_leave && (end == BLOCK_SPINS || steps % SCHEDULE_STEPS == 0)) {
			job->may_leave = false;
			job->has_left = true;
			return;
		}
		if (schedule->idle % SCHEDULE_STEPS == SCHEDULE_STEPS - 1) {
			sched_yield();
		}
	}
}

/* --- Workers --- */

/* A worker thread's faults are handled on a stack of their own, so that even one that has used up
 * its stack gets an answer.  Worker 0 is a thread of the program and keeps its stack, as does a
 * thread that got one from a sanitizer. */
static void launch_use_signal_stack(struct worker *w, unsigned index)
{
	static _Thread_local const uint8_t *mine;
	stack_t stack;
	if (index == 0 || mine == w->signal_stack || sigaltstack(NULL, &stack) != 0) {
		return;
	}
	if ((stack.ss_flags & SS_DISABLE) || stack.ss_sp == mine) {
		stack = (stack_t){.ss_sp = w->signal_stack, .ss_size = SIGNAL_STACK};
		sigaltstack(&stack, NULL);
		mine = w->signal_stack;
	}
}

static void launch_work_on(void *arg, unsigned index)
{
	struct launch_job *job = arg;
	struct worker *w = &job->launcher->workers[index];
	const float_state caller = float_state_reset();
	sigset_t mask;
	const bool was_blocked = index == 0 && fault_unblock(&mask);
	launch_use_signal_stack(w, index);
	const bool is_profiled = job->kernel->profile;
	const uint64_t start_ns = is_profiled ? clock_now_ns() : 0;
	if (is_profiled) {
		w->stack = &mask;
		profile_run(w->kernel->profile, w->stack);
	}
	if (sigsetjmp(w->fault.env, 0) == 0) {
		fault_arm(&w->fault);
		if (job->is_scheduled) {
			launch_run_schedule(job, w);
		} else {
			if (!job->request->cooperative) {
				launch_run_blocks(job, w);
			}
			launch_run_places(job, w);
		}
	} else {
		launch_fail_fault(job, w);
	}
	fault_disarm(&w->fault);
	if (is_profiled) {
		profile_run(NULL, NULL);
		w->busy_ns += clock_now_ns() - start_ns;
	}
	if (job->launch.cached_bytes < NONTEMPORAL_NEVER) {
		nontemporal_drain();
	}
	if (was_blocked) {
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
	}
	float_state_restore(caller);
}

/* --- Launches --- */

static void launch_init_job(struct launch_job *job, struct launcher *launcher,
	const struct launch_request *request, struct launch_failure *out)
{
	struct rt_launch *launch = &job->launch;
	const uint32_t *grid = request->grid;
	job->request = request;
	job->kernel = jit_code_get(request->code);
	job->out = out;
	job->blocks = (uint64_t)grid[0] * grid[1] * grid[2];
	atomic_store_explicit(&job->failure, CUDA_SUCCESS, memory_order_relaxed);
	job->is_watched = request->check && request->check->checks
		& (check_bit(CHECK_RACE) | check_bit(CHECK_SYNC));
	job->is_scheduled = launcher->schedule.seed != 0 && job->kernel->is_scheduled;
	job->has_helpers = false;
	job->may_leave = request->may_leave;
	atomic_store_explicit(&job->places, PLACES_NONE, memory_order_relaxed);
	atomic_store_explicit(&job->places_in_use, 0, memory_order_relaxed);
	launch->params = request->params;
	launch->globals = request->globals;
	launch->dynamic_shared = request->dynamic_shared;
	job->own_shared = request->static_shared + request->dynamic_shared;
	job->shared_size = launch_shared_size(job->own_shared, request->uses_reserved_shared);
	launch->total_shared = (uint32_t)round_up(job->own_shared, RT_SHARED_UNIT);
	launch->aggr_shared = job->own_shared + RT_RESERVED_SHARED;
	launch->reserved_start = launch->total_shared;
	launch->reserved_end = launch->reserved_start + RT_RESERVED_USED;
	launch->reserved_cap = launch->reserved_start + RT_RESERVED_SHARED;
	launch->threads = request->block[0] * request->block[1] * request->block[2];
	launch->grid_id = atomic_load_explicit(&launcher->grid_id, memory_order_relaxed) + 1;
	atomic_store_explicit(&launcher->grid_id, launch->grid_id, memory_order_relaxed);
	launch->grid_sync[0] = 0;
	launch->grid_sync[1] = 0;
	launch->stack_size = request->stack_size;
	launch->host = request->host;
	launch->check = request->check;
	for (int axis = 0; axis < 3; axis++) {
		launch->ntid[axis] = request->block[axis];
		launch->nctaid[axis] = grid[axis];
	}
}

/* Each worker has a share of the blocks, and takes from it some at a time.  Shares of an array's
 * length stay the same from launch to launch, and so does what is in each core's cache.  Blocks
 * that may wait for others have one share for all.  The result, job->want, is how many workers have
 * something to do. */
static void launch_plan_shares(struct launch_job *job, unsigned workers)
{
	workers = job->request->work > LAUNCH_ALONE_WORK ? workers : 1;
	/* A worker takes many blocks at a time, because between two calls some time is lost where
	 * blocks come from memory; but never so many that others who are done find nothing left. */
	const uint64_t many = workers > 1 ? job->blocks / ((uint64_t)workers * 16) : job->blocks;
	const uint64_t small = many > CHUNK ? CHUNK_WORK / (job->request->work / job->blocks + 1)
		: 0;
	const uint64_t most = small > CHUNK ? small : CHUNK;
	job->chunk = many < 1 ? 1 : many < most ? many : most;
	const uint64_t chunks = workers > 1 ? (job->blocks + job->chunk - 1) / job->chunk : 1;
	job->want = chunks < workers ? (unsigned)chunks : workers;
	job->shares = job->request->in_order ? 1 : job->want;
	job->share = job->shares > 1 ? job->blocks / job->shares : job->blocks;
	job->rest = job->blocks - job->share * job->shares;
}

/* The first block of a share. */
static uint64_t launch_share_start(const struct launch_job *job, unsigned index)
{
	return job->share * index + (index < job->rest ? index : job->rest);
}

static bool launch_set_up_worker(struct launch_job *job, unsigned index)
{
	struct worker *w = &job->launcher->workers[index];
	w->frame = &w->own;
	w->kernel = job->kernel;
	w->at = 0;
	w->to = 0;
	memset(w->ctaid, 0, sizeof(w->ctaid));
	if (index < job->shares) {
		atomic_store_explicit(&w->next, launch_share_start(job, index),
			memory_order_relaxed);
		w->end = launch_share_start(job, index + 1);
	}
	w->in_block = false;
	if (!w->signal_stack && !(w->signal_stack = mem_alloc(SIGNAL_STACK))) {
		return false;
	}
	return launch_profile_set_up(job, w) && (job->request->cooperative
		|| launch_set_up_frame(job, w, &job->layout, job->kernel));
}

/* If there is not memory or not addresses enough for all workers, fewer do the job. */
static bool launch_set_up_workers(struct launch_job *job, unsigned workers)
{
	unsigned ready;
	do {
		launch_plan_shares(job, workers);
		for (ready = 0; ready < job->want && launch_set_up_worker(job, ready); ready++) {
		}
		workers = ready;
	} while (ready > 0 && ready < job->want);
	return ready > 0;
}

/* All blocks begin. */
static bool launch_set_up_places(struct launch_job *job)
{
	struct launcher *launcher = job->launcher;
	uint64_t address = (uintptr_t)launcher->grid_sync;
	memset(launcher->grid_sync, 0, sizeof(launcher->grid_sync));
	job->launch.grid_sync[0] = (uint32_t)address;
	job->launch.grid_sync[1] = (uint32_t)(address >> 32);
	if (!resident_set_up(&launcher->resident, &job->layout, job->shared_size, job->blocks,
			&job->launch)) {
		return false;
	}
	for (size_t i = 0; i < job->blocks; i++) {
		struct resident_place *place = resident_place(&launcher->resident, i);
		uint32_t ctaid[3];
		block_frame_begin(&place->frame, &job->launch);
		place->frame.block.run = job->kernel->run;
		place->frame.block.stop = &job->failure;
		if (!launch_watch_frame(job, &place->frame)) {
			return false;
		}
		launch_locate(job, i, ctaid);
		launch_clear_frame(job, &place->frame);
		block_start(&place->frame.block, ctaid, 1);
		atomic_store(&place->state, PLACE_FREE);
	}
	atomic_store(&job->places_in_use, job->blocks);
	return true;
}

/* Of a cooperative launch all blocks have begun.  They lie in their order, which the schedule does
 * not keep. */
static bool launch_set_up_schedule(struct launch_job *job)
{
	struct launcher *launcher = job->launcher;
	struct seeded_schedule *schedule = &launcher->schedule;
	seeded_begin(schedule, job->launch.grid_id, job->blocks, job->request->in_order);
	if (!job->request->cooperative) {
		return launch_has_places(job, launcher->workers);
	}
	job->most_places = job->blocks;
	for (size_t i = 0; i < job->blocks; i++) {
		uint32_t ctaid[3];
		launch_locate(job, i, ctaid);
		struct block_frame *frame = &resident_place(&launcher->resident, i)->frame;
		launch_clear_frame(job, frame);
		block_start_threads(&frame->block, ctaid);
	}
	schedule->begun = job->blocks;
	return true;
}

size_t launch_resident_size(const struct jit_kernel *kernel, uint32_t threads, size_t local_size,
	size_t shared_size, uint64_t blocks)
{
	struct block_frame_layout layout = {.width = 0};
	return block_frame_plan(&layout, kernel->width, threads, kernel->frame_size, local_size)
		? resident_size(&layout, shared_size, blocks) : SIZE_MAX;
}

/* One worker runs a launch in which races are looked for. */
static bool launch_begin_watch(struct launch_job *job)
{
	struct launcher *launcher = job->launcher;
	if (likely(!job->is_watched)) {
		return true;
	}
	launcher->race = launcher->race ? launcher->race : race_create();
	if (launcher->race) {
		race_begin(launcher->race, &job->launch);
		memset(&job->stall, 0, sizeof(job->stall));
	}
	return launcher->race;
}

CUresult launch_run(struct launcher *launcher, const struct launch_request *request,
	struct launch_failure *out)
{
	struct launch_job *job = &launcher->job;
	launch_init_job(job, launcher, request, out);
	launch_fill_tid(launcher, request->block);
	launch_profile_begin(job);
	if (!launch_plan_layout(&job->layout, job, job->kernel)) {
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	}
	if (!launch_begin_watch(job)
	    || !launch_set_up_workers(job, job->is_scheduled || job->is_watched ? 1
		    : launcher->worker_count)) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	// Workers hand blocks in places to each other.
	job->launch.cached_bytes = request->cooperative || request->in_order || job->is_scheduled
		? NONTEMPORAL_NEVER
		: nontemporal_cached_bytes(job->blocks * job->launch.threads, job->kernel->width,
			job->want);
	if (request->cooperative && !launch_set_up_places(job)) {
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	}
	if (job->is_scheduled && !launch_set_up_schedule(job)) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	atomic_store_explicit(&launcher->is_running, true, memory_order_release);
	if (job->want > 1) {
		job->has_helpers = pool_post(launcher->pool, launch_work_on, job, job->want - 1,
			request->work);
	}
	return launch_go_on(launcher);
}

CUresult launch_go_on(struct launcher *launcher)
{
	struct launch_job *job = &launcher->job;
	job->has_left = false;
	launch_work_on(job, 0);
	if (job->has_left) {
		return CUDA_ERROR_NOT_READY;
	}
	if (job->has_helpers) {
		pool_close(launcher->pool);
	}
	launch_profile_end(job);
	atomic_store_explicit(&launcher->is_running, false, memory_order_release);
	if (launcher->resident.count > (size_t)launcher->worker_count * LAUNCH_SM_BLOCKS) {
		resident_free(&launcher->resident);
	}
	return (CUresult)atomic_load(&job->failure);
}

void launch_cancel(struct launcher *launcher, CUresult code, const char *why)
{
	struct launch_job *job = &launcher->job;
	unsigned none = CUDA_SUCCESS;
	if (!atomic_load(&launcher->is_running)) {
		return;
	}
	if (atomic_compare_exchange_strong(&job->failure, &none, (unsigned)code)) {
		memset(job->out, 0, sizeof(*job->out));
		snprintf(job->out->what, sizeof(job->out->what), "%s", why);
		snprintf(job->out->where, sizeof(job->out->where), "all blocks");
	}
	for (unsigned i = 0; i < launcher->worker_count; i++) {
		fault_interrupt(&launcher->workers[i].fault);
	}
}

uint64_t launch_standing(const struct launcher *launcher)
{
	const uint64_t grid = atomic_load_explicit(&launcher->grid_id, memory_order_relaxed);
	for (unsigned i = 0; i < launcher->worker_count; i++) {
		if (atomic_load_explicit(&launcher->workers[i].ended_in, memory_order_relaxed)
		    == grid) {
			return 0;
		}
	}
	return grid;
}

/* SPDX-License-Identifier: MIT */
/*
 * A grid becomes blocks, which the workers take from one counter, in order, some at a time: a
 * block that waits for an earlier one (a look-back scan) never waits for one that has not begun.
 *
 * Each worker has memory of its own for one block: shared memory, with 4 GiB without access on
 * either side, so that no 32-bit address and displacement reach anything else, and two areas, for
 * the frames and for the local memory of its warps, between guards without access.
 */
#include "../base/common.h"

#include "launch.h"

#include "../base/alloc.h"
#include "block.h"
#include "fault.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHARED_REACH ((size_t)1 << 32) /* of a signed 32-bit address and a displacement */
#define SHARED_RESERVED (2 * SHARED_REACH + GUARD)
#define GUARD ((size_t)1 << 16) /* bytes without access around an area */
#define SIGNAL_STACK ((size_t)1 << 16)
#define FRAME_ALIGN 64
#define LOCAL_ALIGN 16 /* at least: local_size is a multiple of what the kernel declares */
#define MAX_SCRATCH (SIZE_MAX / 4) /* so that a bit more still fits */

/* What decides where a warp's memory lies. */
struct layout {
	uint32_t width;
	uint32_t threads;
	size_t frame_stride;
	size_t local_stride;
	size_t frames_size; /* of all warps */
	size_t local_size;  /* of all threads */
};

/* Memory between guards. */
struct area {
	uint8_t *data;
	size_t size;
};

struct worker {
	struct fault_catch fault;
	struct block block;
	uint32_t slot_cap;
	uint8_t *shared;          /* with SHARED_REACH reserved before and behind it */
	size_t shared_size;       /* bytes that can be accessed */
	struct area frames;
	struct area local;
	struct layout layout;     /* that the slots are set up for */
	uint8_t *signal_stack;
};

struct launcher {
	struct pool *pool;
	struct worker *workers;
	unsigned worker_count;
	size_t page;
	uint32_t block[3];        /* that tid is filled in for */
	uint32_t tid[3][LAUNCH_MAX_THREADS + BLOCK_GROUP];
	uint64_t grid_id;
};

struct job {
	struct launcher *launcher;
	const struct launch_request *request;
	struct rt_launch launch;
	struct layout layout;
	uint64_t blocks;
	uint64_t chunk;
	atomic_ullong next;
	atomic_uint failure;      /* CUresult of the first one that fails */
	struct launch_failure *out;
};

static void *map_none(size_t size)
{
	void *map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return map == MAP_FAILED ? NULL : map;
}

static bool grow_slots(struct worker *w, uint32_t count)
{
	if (count > w->slot_cap) {
		struct slot *slots = mem_zalloc(count, sizeof(*slots));
		if (slots == NULL) {
			return false;
		}
		mem_free(w->block.slots);
		w->block.slots = slots;
		w->slot_cap = count;
		w->layout.width = 0;
	}
	w->block.slot_count = count;
	return true;
}

/* Give access to exactly the pages that the block's shared memory takes. */
static bool resize_shared(struct worker *w, size_t size, size_t page)
{
	size = round_up(size, page);
	if (w->shared == NULL) {
		uint8_t *map = map_none(SHARED_RESERVED);
		if (map == NULL) {
			return false;
		}
		w->shared = map + SHARED_REACH;
	}
	if (size > w->shared_size
	    && mprotect(w->shared, size, PROT_READ | PROT_WRITE) != 0) {
		return false;
	}
	if (size < w->shared_size
	    && mprotect(w->shared + size, w->shared_size - size, PROT_NONE) != 0) {
		return false;
	}
	w->shared_size = size;
	return true;
}

static void free_area(struct area *area)
{
	if (area->data != NULL) {
		munmap(area->data - GUARD, area->size + 2 * GUARD);
	}
}

static bool grow_area(struct area *area, size_t size, size_t page)
{
	size = round_up(size > 0 ? size : 1, page);
	if (size <= area->size) {
		return true;
	}
	uint8_t *map = map_none(size + 2 * GUARD);
	if (map == NULL) {
		return false;
	}
	if (mprotect(map + GUARD, size, PROT_READ | PROT_WRITE) != 0) {
		munmap(map, size + 2 * GUARD);
		return false;
	}
	free_area(area);
	*area = (struct area){map + GUARD, size};
	return true;
}

static bool grow_scratch(struct worker *w, const struct layout *layout, size_t page)
{
	const uint8_t *frames = w->frames.data;
	const uint8_t *local = w->local.data;
	bool ok = grow_area(&w->frames, layout->frames_size, page)
		&& grow_area(&w->local, layout->local_size, page);
	if (w->frames.data != frames || w->local.data != local) {
		w->layout.width = 0;
	}
	return ok;
}

static bool prepare_worker(struct worker *w, const struct job *job)
{
	size_t page = job->launcher->page;
	uint32_t warps = (job->layout.threads + job->layout.width - 1) / job->layout.width;
	if (w->signal_stack == NULL && (w->signal_stack = mem_alloc(SIGNAL_STACK)) == NULL) {
		return false;
	}
	return grow_slots(w, warps) && resize_shared(w, job->launch.total_shared, page)
		&& grow_scratch(w, &job->layout, page);
}

static void free_worker(struct worker *w)
{
	if (w->shared != NULL) {
		munmap(w->shared - SHARED_REACH, SHARED_RESERVED);
	}
	free_area(&w->frames);
	free_area(&w->local);
	mem_free(w->block.slots);
	mem_free(w->signal_stack);
}

bool launcher_create(struct launcher **out, struct pool *pool)
{
	struct launcher *launcher = mem_zalloc(1, sizeof(*launcher));
	*out = NULL;
	if (launcher == NULL) {
		return false;
	}
	launcher->pool = pool;
	launcher->page = (size_t)sysconf(_SC_PAGESIZE);
	launcher->worker_count = pool_size(pool);
	launcher->workers = mem_zalloc(launcher->worker_count, sizeof(*launcher->workers));
	if (launcher->workers == NULL) {
		mem_free(launcher);
		return false;
	}
	*out = launcher;
	return true;
}

void launcher_release(struct launcher *launcher)
{
	if (launcher == NULL) {
		return;
	}
	for (unsigned i = 0; i < launcher->worker_count; i++) {
		free_worker(&launcher->workers[i]);
	}
	mem_free(launcher->workers);
	mem_free(launcher);
}

static void fill_tid(struct launcher *launcher, const uint32_t block[3])
{
	if (memcmp(launcher->block, block, sizeof(launcher->block)) == 0) {
		return;
	}
	memcpy(launcher->block, block, sizeof(launcher->block));
	uint32_t x = 0;
	uint32_t y = 0;
	uint32_t z = 0;
	uint32_t padded = (uint32_t)round_up((size_t)block[0] * block[1] * block[2], BLOCK_GROUP);
	for (uint32_t i = 0; i < padded; i++) {
		launcher->tid[0][i] = x;
		launcher->tid[1][i] = y;
		launcher->tid[2][i] = z;
		if (++x == block[0]) {
			x = 0;
			if (++y == block[1]) {
				y = 0;
				z++;
			}
		}
	}
}

static bool plan_layout(struct layout *out, const struct launch_request *request,
	uint32_t threads)
{
	size_t warps = (threads + request->width - 1) / request->width;
	if (request->frame_size > MAX_SCRATCH || request->local_size > MAX_SCRATCH) {
		return false;
	}
	memset(out, 0, sizeof(*out));
	out->width = request->width;
	out->threads = threads;
	out->frame_stride = round_up(request->frame_size, FRAME_ALIGN);
	out->local_stride = round_up(request->local_size, LOCAL_ALIGN);
	return size_mul(&out->frames_size, out->frame_stride, warps)
		&& size_mul(&out->local_size, out->local_stride, warps * request->width)
		&& out->frames_size <= MAX_SCRATCH && out->local_size <= MAX_SCRATCH;
}

static void bind_slot(struct worker *w, uint32_t i, unsigned index)
{
	const struct layout *layout = &w->layout;
	struct slot *slot = &w->block.slots[i];
	uint32_t first = i * layout->width;
	uint32_t left = layout->threads - first;
	uint32_t lanes = left < layout->width ? left : layout->width;
	uint32_t padding = (uint32_t)round_up(layout->threads, BLOCK_GROUP) - layout->threads;
	slot->warp.shared = w->shared;
	slot->warp.local = w->local.data + first * layout->local_stride;
	slot->warp.local_stride = layout->local_stride;
	slot->warp.first = first;
	slot->warp.alive = UINT32_MAX >> (32 - lanes);
	slot->warp.sm = index;
	slot->frame = w->frames.data + i * layout->frame_stride;
	slot->weight = lanes + (i + 1 == w->block.slot_count ? padding : 0);
}

/* Fill in what stays the same for all blocks; most of it, for all launches of one shape. */
static void bind_slots(struct worker *w, struct job *job, unsigned index)
{
	struct block *block = &w->block;
	bool same = memcmp(&w->layout, &job->layout, sizeof(w->layout)) == 0;
	w->layout = job->layout;
	block->run = job->request->run;
	block->width = job->layout.width;
	block->threads = job->layout.threads;
	block->stop = &job->failure;
	for (uint32_t i = 0; i < block->slot_count; i++) {
		block->slots[i].warp.launch = &job->launch;
		if (!same) {
			bind_slot(w, i, index);
		}
	}
}

static void describe_thread(const struct job *job, const struct slot *slot, char *text,
	size_t size)
{
	const struct rt_launch *launch = &job->launch;
	uint32_t first = slot->warp.first;
	uint32_t last = first + (uint32_t)__builtin_popcount(slot->warp.alive) - 1;
	int len = snprintf(text, size, "thread%s (%u,%u,%u)", last > first ? "s" : "",
		launch->tid[0][first], launch->tid[1][first], launch->tid[2][first]);
	if (last > first && len > 0 && (size_t)len < size) {
		snprintf(text + len, size - (size_t)len, " to (%u,%u,%u)", launch->tid[0][last],
			launch->tid[1][last], launch->tid[2][last]);
	}
}

/* The first failure of a launch is the one that counts; the others stop quietly. */
static bool claim_failure(struct job *job, CUresult code, const struct slot *slot)
{
	unsigned none = CUDA_SUCCESS;
	if (!atomic_compare_exchange_strong(&job->failure, &none, (unsigned)code)) {
		return false;
	}
	char thread[64];
	const uint32_t *block = slot->warp.ctaid;
	describe_thread(job, slot, thread, sizeof(thread));
	memset(job->out, 0, sizeof(*job->out));
	snprintf(job->out->where, sizeof(job->out->where), "block (%u,%u,%u), %s", block[0],
		block[1], block[2], thread);
	return true;
}

static void fail_fault(struct job *job, const struct worker *w)
{
	static const struct {
		int signal;
		CUresult code;
		const char *what;
	} faults[] = {
		{SIGSEGV, CUDA_ERROR_ILLEGAL_ADDRESS, "access to an address that cannot exist"},
		{SIGBUS, CUDA_ERROR_ILLEGAL_ADDRESS, "access to memory that cannot be had"},
		{SIGFPE, CUDA_ERROR_LAUNCH_FAILED, "arithmetic fault"},
		{SIGILL, CUDA_ERROR_ILLEGAL_INSTRUCTION, "illegal instruction"},
	};
	size_t i = 0;
	while (i + 1 < countof(faults) && faults[i].signal != w->fault.signal) {
		i++;
	}
	if (!claim_failure(job, faults[i].code, w->block.current)) {
		return;
	}
	struct launch_failure *out = job->out;
	int64_t offset = (int64_t)(w->fault.address - (uintptr_t)w->shared);
	const int64_t reach = (int64_t)SHARED_REACH;
	if (!w->fault.has_address) {
		snprintf(out->what, sizeof(out->what), "%s", faults[i].what);
	} else if (offset >= -reach && offset < reach) {
		snprintf(out->what, sizeof(out->what),
			"access to offset %" PRId64 " of %u bytes of shared memory", offset,
			job->launch.total_shared);
	} else {
		out->has_address = true;
		out->address = w->fault.address;
		snprintf(out->what, sizeof(out->what), "access to address 0x%" PRIx64,
			out->address);
	}
}

static void fail_block(struct job *job, const struct slot *slot, enum block_end end)
{
	if (end == BLOCK_STOPPED) {
		return;
	}
	const char *what = end == BLOCK_TRAPPED ? "trap or failed assert"
		: end == BLOCK_BAD_BARRIER ? "barrier above 15"
		: slot->state == SLOT_WARP
		? "deadlock: waits at bar.warp.sync for threads that never come"
		: "deadlock: waits at a barrier for threads that never come";
	if (claim_failure(job, CUDA_ERROR_LAUNCH_FAILED, slot)) {
		snprintf(job->out->what, sizeof(job->out->what), "%s (PTX line %u)", what,
			slot->warp.line);
	}
}

static bool has_failed(struct job *job)
{
	return atomic_load_explicit(&job->failure, memory_order_relaxed) != CUDA_SUCCESS;
}

static bool run_chunk(struct job *job, struct worker *w, uint64_t from, uint64_t to)
{
	const uint32_t *grid = job->launch.nctaid;
	uint32_t ctaid[3] = {
		(uint32_t)(from % grid[0]), (uint32_t)(from / grid[0] % grid[1]),
		(uint32_t)(from / grid[0] / grid[1])
	};
	for (; from < to; from++) {
		enum block_end end = block_run(&w->block, ctaid);
		if (end != BLOCK_DONE) {
			fail_block(job, w->block.current, end);
			return false;
		}
		if (++ctaid[0] == grid[0]) {
			ctaid[0] = 0;
			if (++ctaid[1] == grid[1]) {
				ctaid[1] = 0;
				ctaid[2]++;
			}
		}
	}
	return true;
}

static void run_chunks(struct job *job, struct worker *w)
{
	while (!has_failed(job)) {
		uint64_t from = atomic_fetch_add_explicit(&job->next, job->chunk,
			memory_order_relaxed);
		if (from >= job->blocks) {
			return;
		}
		uint64_t to = job->blocks - from > job->chunk ? from + job->chunk : job->blocks;
		if (!run_chunk(job, w, from, to)) {
			return;
		}
	}
}

/* A worker thread's faults are handled on a stack of their own, so that even one that has used up
 * its stack gets an answer.  Worker 0 is somebody else's thread and keeps what it has, as does a
 * thread that a sanitizer gave a stack. */
static void use_signal_stack(struct worker *w, unsigned index)
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

/* Compiled code expects the floating-point state that a program starts with; the caller's thread may
 * have another (rounding, flush to zero). */
#if defined(__SSE__)
typedef unsigned float_state;

static float_state float_state_reset(void)
{
	float_state old = _mm_getcsr();
	_mm_setcsr(0x1f80); /* to nearest, no flushing, no traps */
	return old;
}

static void float_state_restore(float_state old)
{
	_mm_setcsr(old);
}
#else
typedef fenv_t float_state;

static float_state float_state_reset(void)
{
	float_state old;
	fegetenv(&old);
	fesetenv(FE_DFL_ENV);
	return old;
}

static void float_state_restore(float_state old)
{
	fesetenv(&old);
}
#endif

static void work(void *arg, unsigned index)
{
	struct job *job = arg;
	struct worker *w = &job->launcher->workers[index];
	const float_state caller = float_state_reset();
	sigset_t mask;
	const bool was_blocked = index == 0 && fault_unblock(&mask);
	use_signal_stack(w, index);
	bind_slots(w, job, index);
	if (sigsetjmp(w->fault.env, 0) == 0) {
		fault_arm(&w->fault);
		run_chunks(job, w);
	} else {
		fail_fault(job, w);
	}
	fault_disarm();
	if (was_blocked) {
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
	}
	float_state_restore(caller);
}

static void init_job(struct job *job, struct launcher *launcher,
	const struct launch_request *request, struct launch_failure *out)
{
	struct rt_launch *launch = &job->launch;
	memset(job, 0, sizeof(*job));
	job->launcher = launcher;
	job->request = request;
	job->out = out;
	launch->params = request->params;
	launch->globals = request->globals;
	launch->dynamic_shared = request->dynamic_shared;
	launch->total_shared = request->static_shared + request->dynamic_shared;
	launch->threads = request->block[0] * request->block[1] * request->block[2];
	launch->grid_id = ++launcher->grid_id;
	launch->sm_count = launcher->worker_count;
	launch->calls = &rt_calls;
	for (int axis = 0; axis < 3; axis++) {
		launch->ntid[axis] = request->block[axis];
		launch->nctaid[axis] = request->grid[axis];
		launch->tid[axis] = launcher->tid[axis];
	}
}

/* Blocks are handed out some at a time, but never so many that workers run out of them early. */
static void plan_chunks(struct job *job, unsigned workers)
{
	const uint32_t *grid = job->request->grid;
	job->blocks = (uint64_t)grid[0] * grid[1] * grid[2];
	uint64_t share = job->blocks / ((uint64_t)workers * 16);
	job->chunk = share < 1 ? 1 : share > 64 ? 64 : share;
}

static CUresult run_locked(struct launcher *launcher, const struct launch_request *request,
	struct launch_failure *out)
{
	struct job job;
	init_job(&job, launcher, request, out);
	plan_chunks(&job, launcher->worker_count);
	fill_tid(launcher, request->block);
	if (!plan_layout(&job.layout, request, job.launch.threads)) {
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	}
	uint64_t want = (job.blocks + job.chunk - 1) / job.chunk;
	for (unsigned i = 0; i < launcher->worker_count && i < want; i++) {
		if (!prepare_worker(&launcher->workers[i], &job)) {
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	pool_run(launcher->pool, work, &job, want);
	return (CUresult)atomic_load(&job.failure);
}

CUresult launch_run(struct launcher *launcher, const struct launch_request *request,
	struct launch_failure *out)
{
	pool_begin(launcher->pool);
	CUresult result = run_locked(launcher, request, out);
	pool_end(launcher->pool);
	return result;
}

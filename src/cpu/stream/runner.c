/* SPDX-License-Identifier: MIT */
/*
 * Kernels of streams.  A runner is a launcher, with room for the parameters and for the reason of a
 * failure, all of which must stay where they are until the kernel has ended.  Runners are kept, so
 * that there are as many as kernels were ever running at a time; those that run one are in a list,
 * where others find what to cancel.
 *
 * A kernel is begun with a budget of time.  One that does not end within it is left, to go on in
 * another thread.  That works only where a kernel looks at the clock, which it does not within a
 * loop that just computes; so a kernel with a loop is launched by the program's thread only after
 * it has once been quick.  Of a launch of other blocks that tells how many would be
 * (function->short_blocks): one kernel may work on small arrays and on large ones.
 */
#include "base/common.h"

#include "cpu/stream/runner.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cpu/exec/launch.h"
#include "cpu/exec/pool.h"
#include "cpu/ir/flatten.h"
#include "cpu/ptx/line.h"
#include "cpu/stream/queue.h"
#include "cpu/config/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a kernel may hold up the call that launches it. */
#define BUDGET_NS 200000u
/* One of so many times fewer blocks than it has time for ends within it, whatever data it has. */
#define SURELY 8
/* Of those that do, one of so many is timed all the same. */
#define TIMED_EVERY 8
#define NS_PER_SECOND UINT64_C(1000000000)

struct runner {
	struct runner *next;      /* in the list of those with a kernel, or of the others */
	struct runner **link;
	struct context *context;
	struct function *function;
	uint64_t begun;           /* when, in nanoseconds, for the watchdog */
	bool is_timed;
	uint64_t start;           /* the same for the budget */
	struct launcher *launcher;
	struct launch_request request;
	struct launch_failure failure;
	_Alignas(16) uint8_t params[LAUNCH_MAX_PARAMS]; /* as the heap is */
};

static void push(struct runner **list, struct runner *runner)
{
	runner->next = *list;
	runner->link = list;
	if (runner->next != NULL) {
		runner->next->link = &runner->next;
	}
	*list = runner;
}

static void take_out(struct runner *runner)
{
	*runner->link = runner->next;
	if (runner->next != NULL) {
		runner->next->link = runner->link;
	}
}

static struct runner *runner_create(struct device *device)
{
	struct runner *runner = mem_alloc(sizeof(*runner));
	if (runner != NULL && !launcher_create(&runner->launcher, device->pool)) {
		mem_free(runner);
		runner = NULL;
	}
	return runner;
}

struct runner *runner_take(struct context *context)
{
	struct device *device = context->device;
	struct runner *runner = device->runners;
	if (runner != NULL) {
		take_out(runner);
	} else {
		runner = runner_create(device);
	}
	if (runner != NULL) {
		runner->context = context;
		runner->begun = device->has_watchdog ? queue_time() : 0;
		push(&device->active, runner);
	}
	return runner;
}

void runner_give(struct runner *runner)
{
	if (runner == NULL) {
		return;
	}
	take_out(runner);
	push(&runner->context->device->runners, runner);
}

/* What recursive functions have, for each thread; SIZE_MAX if it is more than there can be. */
static size_t stack_size(const struct context *context, const struct ptx_func *func)
{
	size_t size = SIZE_MAX;
	if (!func->uses_stack) {
		return 0;
	}
	size_mul(&size, context->limits[CU_LIMIT_STACK_SIZE], FLATTEN_STACK_FACTOR);
	return size;
}

/* What a kernel takes, to judge by the last time; 0: nobody knows, or asks, of one block that ends
 * soon. */
static uint64_t expected_ns(const struct kernel_work *kernel)
{
	const struct function *function = kernel->function;
	const uint64_t mine = work_blocks(kernel);
	uint64_t blocks = atomic_load_explicit(&function->short_blocks, memory_order_relaxed);
	if (blocks == 0 || blocks == UINT64_MAX || (mine == 1 && function->kernel.is_straight)) {
		return 0;
	}
	return (uint64_t)((double)mine * (double)BUDGET_NS / (double)blocks) + 1;
}

static void init_request(struct runner *runner, const struct kernel_work *kernel)
{
	const struct function *function = kernel->function;
	if (kernel->param_size > 0) {
		memcpy(runner->params, kernel->params, kernel->param_size);
	}
	runner->function = kernel->function;
	runner->request = (struct launch_request){
		.name = function->name,
		.run = kernel->code->run,
		.width = kernel->code->width,
		.frame_size = kernel->code->frame_size,
		.local_size = function->ptx->local_size,
		.stack_size = stack_size(runner->context, function->ptx),
		.host = &runner->context->host,
		.params = runner->params,
		.globals = function->module->globals,
		.grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
		.block = {kernel->block[0], kernel->block[1], kernel->block[2]},
		.static_shared = (uint32_t)function->ptx->shared_size,
		.dynamic_shared = kernel->dynamic_shared,
		.memory = kernel->code->is_traced ? runner->context->device->memory : NULL,
		.expected_ns = expected_ns(kernel),
		.budget_ns = function->kernel.is_straight ? 0 : BUDGET_NS,
		.in_order = kernel->code->in_order,
		.cooperative = kernel->is_cooperative
	};
}

static bool has_not_run(CUresult result)
{
	return result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

/* Of a kernel that is traced: what it did, and in which line, as far as that is known. */
static void describe_line(const struct runner *runner, char *what, char *place, size_t size)
{
	static const char access[] = "access to ";
	const struct launch_failure *failure = &runner->failure;
	const char *text = runner->function->module->text;
	struct line line;
	if (failure->line == 0 || text == NULL || !line_look_up(&line, text, failure->line)) {
		return;
	}
	const char *rest = strstr(failure->what, access);
	if (rest != NULL && *line.what != '\0') {
		snprintf(what, size, "%s at %s", line.what, rest + strlen(access));
	}
	if (line.file != NULL && line.number > 0) {
		snprintf(place, size, "; %.*s:%d", (int)(line.file_size < size / 2 ? line.file_size
			: size / 2), line.file, line.number);
	} else {
		snprintf(place, size, "; PTX line %u", failure->line);
	}
}

/* Poison the context with what became of a kernel. */
static void keep_failure(struct runner *runner, CUresult result)
{
	struct context *context = runner->context;
	const struct launch_failure *failure = &runner->failure;
	char where[128] = "", what[256], place[256] = "";
	// Whoever has cancelled it has then said why.
	queue_lock();
	queue_unlock();
	if (failure->has_address) {
		memory_describe(context->device->memory, failure->address, where, sizeof(where));
	}
	snprintf(what, sizeof(what), "%s", failure->what);
	describe_line(runner, what, place, sizeof(place));
	context_poison(context, result, "kernel '%s': %s%s%s; %s%s", runner->request.name, what,
		*where != '\0' ? ", which is " : "", where, failure->where, place);
}

/* What has far fewer blocks than were quick once needs no clock: two readings are a tenth of the
 * shortest launch.  With other data a loop may take longer: some launches of kernels with loops are
 * timed, to notice. */
static bool needs_clock(const struct kernel_work *kernel)
{
	struct function *function = kernel->function;
	uint64_t blocks = atomic_load_explicit(&function->short_blocks, memory_order_relaxed);
	if (blocks == UINT64_MAX || work_blocks(kernel) > blocks / SURELY) {
		return true;
	}
	if (function->kernel.is_straight) {
		return false;
	}
	unsigned launches = atomic_load_explicit(&function->launches, memory_order_relaxed) + 1;
	atomic_store_explicit(&function->launches, launches, memory_order_relaxed);
	return launches % TIMED_EVERY == 0;
}

/* How many blocks would have ended within the budget, had each taken as long as these. */
static uint64_t short_blocks(const struct runner *runner)
{
	const uint32_t *grid = runner->request.grid;
	double spent = (double)(queue_time() - runner->start) + 1;
	double blocks = (double)grid[0] * grid[1] * grid[2] * ((double)BUDGET_NS / spent);
	return blocks < 0x1p63 ? (uint64_t)blocks : UINT64_MAX - 1;
}

/* What always has as many instructions is as quick as it was once: what took longer was not its. */
static void keep_time(const struct runner *runner)
{
	atomic_ullong *place = &runner->function->short_blocks;
	uint64_t blocks = short_blocks(runner);
	uint64_t known = atomic_load_explicit(place, memory_order_relaxed);
	if (!runner->function->kernel.is_straight || known == UINT64_MAX || blocks > known) {
		atomic_store_explicit(place, blocks, memory_order_relaxed);
	}
}

static void end(struct runner *runner, CUresult result)
{
	if (runner->is_timed) {
		keep_time(runner);
	}
	if (result != CUDA_SUCCESS) {
		keep_failure(runner, result);
	}
}

bool runner_start(struct runner *runner, const struct work *work, CUresult *out)
{
	if (work->kernel.function->ptx->uses_heap && !context_open_heap(runner->context)) {
		*out = CUDA_ERROR_OUT_OF_MEMORY;
		return true;
	}
	if (work->kernel.function->ptx->uses_print) {
		atomic_store_explicit(&runner->context->has_printed, true, memory_order_relaxed);
	}
	init_request(runner, &work->kernel);
	runner->is_timed = needs_clock(&work->kernel);
	runner->start = runner->is_timed ? queue_time() : 0;
	CUresult result = launch_run(runner->launcher, &runner->request,
		runner->is_timed ? runner->start + BUDGET_NS : 0, &runner->failure);
	*out = CUDA_SUCCESS;
	if (result == LAUNCH_UNFINISHED) {
		return false;
	}
	if (has_not_run(result)) {
		*out = result;
	} else {
		end(runner, result);
	}
	return true;
}

void runner_finish(struct runner *runner)
{
	end(runner, launch_continue(runner->launcher));
}

/* --- Ending them --- */

void runners_cancel(const struct context *context)
{
	const struct device *device = context->device;
	for (struct runner *runner = device->active; runner != NULL; runner = runner->next) {
		if (runner->context == context) {
			launch_cancel(runner->launcher, CUDA_ERROR_CONTEXT_IS_DESTROYED,
				"cancelled, as its context was to be destroyed");
		}
	}
}

static void cancel_late(const struct device *device)
{
	uint64_t time = queue_time();
	char why[96];
	str_format(why, sizeof(why), "ran longer than the %g seconds of KUDZU_CPU_TIMEOUT",
		(double)device->timeout / (double)NS_PER_SECOND);
	queue_lock();
	for (struct runner *runner = device->active; runner != NULL; runner = runner->next) {
		if (time - runner->begun > device->timeout) {
			launch_cancel(runner->launcher, CUDA_ERROR_LAUNCH_TIMEOUT, why);
		}
	}
	queue_unlock();
}

static void *watch(void *arg)
{
	const uint64_t longest = NS_PER_SECOND / 10;
	struct device *device = arg;
	uint64_t step = device->timeout / 8 < longest ? device->timeout / 8 + 1 : longest;
	pthread_mutex_lock(&device->lock);
	while (!device->is_closing) {
		uint64_t next = queue_time() + step;
		const struct timespec when = {(time_t)(next / NS_PER_SECOND),
			(long)(next % NS_PER_SECOND)};
		pthread_cond_timedwait(&device->closing, &device->lock, &when);
		cancel_late(device);
	}
	pthread_mutex_unlock(&device->lock);
	return NULL;
}

void runners_open(struct device *device)
{
	pthread_condattr_t attr;
	pthread_mutex_init(&device->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&device->closing, &attr);
	pthread_condattr_destroy(&attr);
	device->timeout = settings_get(SETTING_TIMEOUT, 0);
	device->has_watchdog = device->timeout > 0
		&& pool_start_thread(&device->watchdog, watch, device);
}

void runners_close(struct device *device)
{
	pthread_mutex_lock(&device->lock);
	device->is_closing = true;
	pthread_cond_signal(&device->closing);
	pthread_mutex_unlock(&device->lock);
	if (device->has_watchdog) {
		pthread_join(device->watchdog, NULL);
	}
	while (device->runners != NULL) {
		struct runner *runner = device->runners;
		take_out(runner);
		launcher_release(runner->launcher);
		mem_free(runner);
	}
	pthread_cond_destroy(&device->closing);
	pthread_mutex_destroy(&device->lock);
}

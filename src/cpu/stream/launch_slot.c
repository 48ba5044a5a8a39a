/* SPDX-License-Identifier: MIT */
/*
 * Kernels of streams.  A launch slot has a launcher, and room for the parameters and for the reason
 * of a failure, which must stay where they are until the kernel has ended.  Slots are kept, so that
 * there are as many as kernels were ever running at a time.  Those that run one are in a list,
 * which tells others what to cancel.
 *
 * launch_slot_work estimates what a launch has to do, from facts that are known before it runs.
 */
#include "base/common.h"

#include "cpu/stream/launch_slot.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/str.h"
#include "cpu/check/report.h"
#include "cpu/exec/launch.h"
#include "cpu/exec/worker_pool.h"
#include "cpu/mem/gap.h"
#include "cpu/ir/flatten.h"
#include "cpu/ptx/line.h"
#include "cpu/stream/queue.h"
#include "cpu/config/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND UINT64_C(1000000000)

struct launch_slot {
	struct launch_slot *next;      /* in the list of those with a kernel, or of the others */
	struct launch_slot **link;
	struct context *context;
	struct function *function;
	uint64_t begun;           /* when, in nanoseconds, if it has a limit */
	uint64_t limit;           /* how long it may run; 0: forever */
	bool has_own_limit;       /* which is that of the launch, and not the device's */
	struct launcher *launcher;
	struct launch_request request;
	struct check_kernel check;     /* of a kernel that is checked */
	struct launch_failure failure;
	struct gap_area params;        /* kernels index arrays in them, too */
};

static void launch_slot_push(struct launch_slot **list, struct launch_slot *slot)
{
	slot->next = *list;
	slot->link = list;
	if (slot->next) {
		slot->next->link = &slot->next;
	}
	*list = slot;
}

static void launch_slot_take_out(struct launch_slot *slot)
{
	*slot->link = slot->next;
	if (slot->next) {
		slot->next->link = slot->link;
	}
}

static void launch_slot_free(struct launch_slot *slot)
{
	if (slot) {
		launcher_release(slot->launcher);
		gap_release(&slot->params);
		mem_free(slot);
	}
}

static struct launch_slot *launch_slot_create(struct device *device)
{
	struct launch_slot *slot = mem_zalloc(1, sizeof(*slot));
	if (slot && gap_alloc(&slot->params, LAUNCH_MAX_PARAMS, GAP_WIDE)
	    && launcher_create(&slot->launcher, device->pool)) {
		return slot;
	}
	launch_slot_free(slot);
	return NULL;
}

static bool launch_slots_watch(struct device *device);

/* Of the limits of the launch and of the device the lower one counts. */
static void launch_slot_begin(struct launch_slot *slot, const struct device *device, uint64_t own)
{
	const uint64_t general = atomic_load_explicit(&device->timeout, memory_order_relaxed);
	slot->has_own_limit = own > 0 && (general == 0 || own < general);
	slot->limit = slot->has_own_limit ? own : general;
	slot->begun = slot->limit > 0 ? clock_now_ns() : 0;
}

struct launch_slot *launch_slot_take(struct context *context, const struct kernel_work *kernel)
{
	struct device *device = context->device;
	struct launch_slot *slot = device->slots;
	if (slot) {
		launch_slot_take_out(slot);
	} else {
		slot = launch_slot_create(device);
	}
	if (slot) {
		slot->context = context;
		launch_slot_begin(slot, device, kernel->timeout);
		launch_slot_push(&device->active, slot);
	}
	return slot;
}

void launch_slot_give(struct launch_slot *slot)
{
	if (!slot) {
		return;
	}
	launch_slot_take_out(slot);
	launch_slot_push(&slot->context->device->slots, slot);
}

/* What recursive functions have, for each thread; SIZE_MAX if it is more than there can be. */
static size_t launch_slot_stack_size(const struct context *context, const struct ptx_func *func)
{
	size_t size = SIZE_MAX;
	if (!func->uses_stack) {
		return 0;
	}
	size_mul(&size, context->limits[CU_LIMIT_STACK_SIZE], FLATTEN_STACK_FACTOR);
	return size;
}

size_t launch_slot_resident_size(const struct context *context, const struct kernel_work *kernel)
{
	const struct function *function = kernel->function;
	const uint32_t threads = kernel->block[0] * kernel->block[1] * kernel->block[2];
	const size_t shared_size =
		launch_shared_size(function->ptx->shared_size + kernel->dynamic_shared,
		function->ptx->uses_reserved_shared);
	size_t local_size;
	return size_add(&local_size, function->ptx->local_size,
			launch_slot_stack_size(context, function->ptx))
		? launch_resident_size(jit_code_get(kernel->code), threads, local_size,
			shared_size, work_blocks(kernel))
		: SIZE_MAX;
}

uint64_t launch_slot_work(const struct kernel_work *kernel)
{
	const struct jit_kernel *code = jit_code_get(kernel->code);
	const uint32_t threads = kernel->block[0] * kernel->block[1] * kernel->block[2];
	const bool is_known = code->is_straight && code->code_size > 0;
	size_t warps, work;
	if (!code->is_straight && code->in_order) {
		return UINT64_MAX;
	}
	return size_mul(&warps, work_blocks(kernel), (threads + code->width - 1) / code->width)
		&& size_mul(&work, warps, is_known ? code->code_size : LAUNCH_LOOP_WORK)
		? work : UINT64_MAX;
}

/* A kernel that is launched once, for little work, is done before other code would be there. */
static bool launch_slot_gains(const struct launch_slot *slot)
{
	return atomic_load_explicit(&slot->function->has_ended, memory_order_relaxed)
		|| slot->request.work >= LAUNCH_IMPROVE_WORK;
}

static void launch_slot_improve(const struct launch_slot *slot)
{
	if (launch_slot_gains(slot)) {
		function_ask_better(slot->function, slot->request.code);
	}
}

/* Where there are several devices: take code that does not ask about each access, if the launch may
 * access all memory that there is now.  What other devices allocate while it runs, it does not
 * know of. */
static __attribute__((noinline)) void launch_slot_leave_checks(struct launch_slot *slot)
{
	const struct jit_code *code = context_may_access_all(slot->context)
		? function_unchecked(slot->function, slot->request.code, launch_slot_gains(slot))
		: NULL;
	if (code) {
		slot->request.code = code;
		slot->request.check = NULL;
	}
}

static void launch_slot_init_request(struct launch_slot *slot, const struct kernel_work *kernel)
{
	const struct function *function = kernel->function;
	const struct jit_kernel *code = jit_code_get(kernel->code);
	if (kernel->param_size > 0) {
		memcpy(slot->params.data, kernel->params, kernel->param_size);
	}
	slot->function = kernel->function;
	slot->request = (struct launch_request){
		.name = function->name,
		.code = kernel->code,
		.local_size = function->ptx->local_size,
		.stack_size = launch_slot_stack_size(slot->context, function->ptx),
		.host = &slot->context->host,
		.params = slot->params.data,
		.globals = function->module->globals,
		.grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
		.block = {kernel->block[0], kernel->block[1], kernel->block[2]},
		.static_shared = (uint32_t)function->ptx->shared_size,
		.dynamic_shared = kernel->dynamic_shared,
		.uses_reserved_shared = function->ptx->uses_reserved_shared,
		.check = code->is_checked ? &slot->check : NULL,
		.work = launch_slot_work(kernel),
		.in_order = code->in_order,
		.cooperative = kernel->is_cooperative
	};
	if (unlikely(code->is_checked)) {
		slot->check = (struct check_kernel){.name = function->name,
			.text = function->module->text, .module = &function->module->ptx,
			.func = function->ptx, .memory = slot->context->device->memory,
			.checks = settings_checks()};
	}
}

static bool launch_slot_has_not_run(CUresult result)
{
	return result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
		|| result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

/* Of a kernel that is traced: what it did, and in which line, as far as that is known. */
static void launch_slot_describe_line(const struct launch_slot *slot, char *what, char *place,
	size_t size)
{
	static const char access[] = "access to ";
	const struct launch_failure *failure = &slot->failure;
	const char *text = slot->function->module->text;
	struct line line;
	if (failure->line == 0 || !text || !line_look_up(&line, text, failure->line)) {
		return;
	}
	const char *rest = strstr(failure->what, access);
	if (rest && *line.what != '\0') {
		snprintf(what, size, "%s at %s", line.what, rest + strlen(access));
	}
	const struct line_place *at = &line.places[0];
	if (line.place_count > 0 && at->file && at->number > 0) {
		snprintf(place, size, "; %.*s:%d", (int)(at->file_size < size / 2 ? at->file_size
			: size / 2), at->file, at->number);
	} else {
		snprintf(place, size, "; PTX line %u", failure->line);
	}
}

/* A wrong access is what KUDZU_CHECK=memory looks for. */
static void launch_slot_report(const struct launch_slot *slot, CUresult result, const char *what,
	const char *where)
{
	const struct launch_failure *failure = &slot->failure;
	struct report report = {.check = CHECK_MEMORY, .kernel = slot->request.check,
		.side_count = 1};
	struct report_side *side = &report.sides[0];
	if (!report.kernel || !(report.kernel->checks & check_bit(CHECK_MEMORY))
	    || (result != CUDA_ERROR_ILLEGAL_ADDRESS && result != CUDA_ERROR_MISALIGNED_ADDRESS)) {
		return;
	}
	snprintf(side->what, sizeof(side->what), "%.120s%s%.180s", what,
		*where != '\0' ? ", which is " : "", where);
	side->line = failure->line;
	memcpy(side->block, failure->block, sizeof(side->block));
	memcpy(side->thread, failure->thread, sizeof(side->thread));
	report_add(&report);
}

/* Poison the context with what became of a kernel. */
static void launch_slot_keep_failure(struct launch_slot *slot, CUresult result)
{
	struct context *context = slot->context;
	const struct launch_failure *failure = &slot->failure;
	char where[256] = "", what[256], place[256] = "";
	// A thread that has cancelled the launch holds the lock until it has said why.
	queue_lock();
	queue_unlock();
	if (failure->has_address) {
		memory_describe(context->device->memory, failure->address, where, sizeof(where));
	}
	snprintf(what, sizeof(what), "%s", failure->what);
	launch_slot_describe_line(slot, what, place, sizeof(place));
	launch_slot_report(slot, result, what, where);
	context_poison(context, result, "kernel '%s': %s%s%s; %s%s", slot->request.name, what,
		*where != '\0' ? ", which is " : "", where, failure->where, place);
}

/* What the kernel printed is lost.  The log says so; so does the library, which asks the
 * context. */
static void launch_slot_report_loss(struct context *context, const char *name)
{
	const int error = atomic_exchange(&context->host.output_error, 0);
	const char *text = strerrordesc_np(error);
	atomic_store(&context->lost_output, error);
	api_log("kernel '%s': text that it printed is lost: %s", name,
		text ? text : "unknown error");
}

/* It failed, waits for others, or what it printed is lost. */
static __attribute__((noinline)) CUresult launch_slot_end_badly(struct launch_slot *slot,
	CUresult result)
{
	if (result == CUDA_ERROR_NOT_READY || launch_slot_has_not_run(result)) {
		return result;
	}
	if (atomic_load_explicit(&slot->context->host.output_error, memory_order_relaxed)) {
		launch_slot_report_loss(slot->context, slot->function->name);
	}
	if (result != CUDA_SUCCESS) {
		launch_slot_keep_failure(slot, result);
	}
	return CUDA_SUCCESS;
}

/* What launch_run or launch_go_on has given. */
static inline CUresult launch_slot_end(struct launch_slot *slot, CUresult result)
{
	atomic_bool *has_ended = &slot->function->has_ended;
	if (result == CUDA_SUCCESS && !atomic_load_explicit(has_ended, memory_order_relaxed)) {
		atomic_store_explicit(has_ended, true, memory_order_relaxed);
	}
	return likely(result == CUDA_SUCCESS && !atomic_load_explicit(
			&slot->context->host.output_error, memory_order_relaxed))
		? CUDA_SUCCESS : launch_slot_end_badly(slot, result);
}

CUresult launch_slot_run(struct launch_slot *slot, const struct work *work, bool may_leave)
{
	struct function *function = work->kernel.function;
	if (unlikely(slot->has_own_limit) && !launch_slots_watch(slot->context->device)) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (function->ptx->uses_heap && !context_open_heap(slot->context)) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (function->ptx->uses_print) {
		atomic_store_explicit(&slot->context->has_printed, true, memory_order_relaxed);
		atomic_store_explicit(&context_has_output, true, memory_order_relaxed);
	}
	launch_slot_init_request(slot, &work->kernel);
	slot->request.may_leave = may_leave;
	if (unlikely(slot->context->host.may_access)) {
		launch_slot_leave_checks(slot);
	}
	if (unlikely(jit_code_get(slot->request.code)->tier == JIT_TIER_FIRST)) {
		launch_slot_improve(slot);
	}
	return launch_slot_end(slot, launch_run(slot->launcher, &slot->request, &slot->failure));
}

CUresult launch_slot_go_on(struct launch_slot *slot)
{
	return launch_slot_end(slot, launch_go_on(slot->launcher));
}

/* --- Ending them --- */

uint64_t launch_slots_standing(const struct context *context)
{
	uint64_t sum = 0;
	for (struct launch_slot *slot = context->device->active; slot; slot = slot->next) {
		const uint64_t grid = slot->context == context ? launch_standing(slot->launcher)
			: 0;
		if (slot->context == context && grid == 0) {
			return 0;
		}
		sum += grid;
	}
	return sum;
}

void launch_slots_cancel(const struct context *context)
{
	const struct device *device = context->device;
	for (struct launch_slot *slot = device->active; slot; slot = slot->next) {
		if (slot->context == context) {
			launch_cancel(slot->launcher, CUDA_ERROR_CONTEXT_IS_DESTROYED,
				"cancelled, as its context was to be destroyed");
		}
	}
}

const char *launch_slots_limit_name(const struct device *device)
{
	return atomic_load(&device->timeout_is_set) ? "its device's limit" : "KUDZU_CPU_TIMEOUT";
}

static void launch_slot_cancel_late(const struct launch_slot *slot, const struct device *device)
{
	char why[96];
	str_format(why, sizeof(why), "ran longer than the %g seconds of %s",
		(double)slot->limit / (double)NS_PER_SECOND,
		slot->has_own_limit ? "its launch" : launch_slots_limit_name(device));
	launch_cancel(slot->launcher, CUDA_ERROR_LAUNCH_TIMEOUT, why);
}

unsigned launch_slots_cancel_late(const struct device *device, uint64_t *wait)
{
	/* Nobody tells the watchdog of launches with the device's limit, so it looks now and then;
	 * and soon again for those that it has cancelled, see launch_cancel. */
	const uint64_t longest = NS_PER_SECOND / 10, soon = NS_PER_SECOND / 1000;
	const uint64_t hour = 3600 * NS_PER_SECOND; // a time that is always in the future
	const uint64_t general = atomic_load(&device->timeout);
	unsigned count = 0;
	*wait = general == 0 ? UINT64_MAX : general / 8 < longest ? general / 8 + 1 : longest;
	queue_lock();
	const uint64_t time = clock_now_ns(); // with the lock, so that no kernel has begun since
	for (struct launch_slot *slot = device->active; slot; slot = slot->next) {
		const uint64_t ran = time - slot->begun;
		const uint64_t left = slot->limit - ran < hour ? slot->limit - ran + 1 : hour;
		uint64_t next = slot->limit > 0 ? left : UINT64_MAX;
		if (slot->limit > 0 && ran > slot->limit) {
			launch_slot_cancel_late(slot, device);
			next = soon;
			count++;
		}
		*wait = next < *wait ? next : *wait;
	}
	queue_unlock();
	return count;
}

static void *launch_slot_watch(void *arg)
{
	struct device *device = arg;
	uint64_t wait;
	pthread_mutex_lock(&device->lock);
	while (!device->is_closing) {
		(void)launch_slots_cancel_late(device, &wait);
		if (wait == UINT64_MAX) {
			pthread_cond_wait(&device->changed, &device->lock);
			continue;
		}
		const uint64_t next = clock_now_ns() + wait;
		const struct timespec when = {(time_t)(next / NS_PER_SECOND),
			(long)(next % NS_PER_SECOND)};
		pthread_cond_timedwait(&device->changed, &device->lock, &when);
	}
	pthread_mutex_unlock(&device->lock);
	return NULL;
}

/* See to it that the watchdog knows of a limit: the first one starts its thread. */
static bool launch_slots_watch(struct device *device)
{
	pthread_mutex_lock(&device->lock);
	device->has_watchdog = device->has_watchdog
		|| pool_start_thread(&device->watchdog, launch_slot_watch, device);
	const bool ok = device->has_watchdog;
	pthread_cond_signal(&device->changed);
	pthread_mutex_unlock(&device->lock);
	return ok;
}

bool launch_slots_set_timeout(struct device *device, uint64_t timeout)
{
	if (timeout > 0 && !launch_slots_watch(device)) {
		return false;
	}
	atomic_store(&device->timeout_is_set, true);
	atomic_store(&device->timeout, timeout);
	return timeout == 0 || launch_slots_watch(device);
}

void launch_slots_open(struct device *device)
{
	const uint64_t timeout = settings_get(SETTING_TIMEOUT, 0);
	pthread_mutex_init(&device->lock, NULL);
	clock_init_cond(&device->changed);
	atomic_init(&device->timeout, timeout);
	if (timeout > 0 && !launch_slots_watch(device)) {
		atomic_init(&device->timeout, 0);
	}
}

void launch_slots_close(struct device *device)
{
	pthread_mutex_lock(&device->lock);
	device->is_closing = true;
	pthread_cond_signal(&device->changed);
	pthread_mutex_unlock(&device->lock);
	if (device->has_watchdog) {
		pthread_join(device->watchdog, NULL);
	}
	while (device->slots) {
		struct launch_slot *slot = device->slots;
		launch_slot_take_out(slot);
		launch_slot_free(slot);
	}
	pthread_cond_destroy(&device->changed);
	pthread_mutex_destroy(&device->lock);
}

/* SPDX-License-Identifier: MIT */
/*
 * What streams and graphs do: copies, fills, kernels, host functions.  An operation is any work but
 * the launch of a graph, which is a list of operations (work_run.c does either).  All checks were
 * made by the call that made the work; what may have changed since is only that memory has gone, or
 * goes while it is used, which is an illegal access as it would be in a kernel.  Kernels are in
 * launch_slot.c.
 */
#include "base/common.h"

#include "cpu/stream/operation.h"

#include "cpu/exec/nontemporal.h"
#include "cpu/exec/worker_pool.h"
#include "cpu/mem/fault.h"
#include "cpu/stream/graph_memory.h"
#include "cpu/stream/queue.h"
#include "cpu/stream/launch_slot.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* --- Copies, fills, values --- */

void operation_copy_box(void *arg)
{
	const struct box *box = arg;
	for (size_t z = 0; z < box->depth; z++) {
		uint8_t *to = (uint8_t *)(uintptr_t)box->to.address + z * box->to.slice;
		const uint8_t *from = (const uint8_t *)(uintptr_t)box->from.address
			+ z * box->from.slice;
		for (size_t y = 0; y < box->height; y++) {
			/* Both ends were checked.  NOLINTNEXTLINE(clang-analyzer-core.*) */
			memmove(to + y * box->to.pitch, from + y * box->from.pitch, box->width);
		}
	}
}

static void operation_fail_access(struct context *context, uint64_t address)
{
	char where[128];
	memory_describe(context->device->memory, address, where, sizeof(where));
	context_poison(context, CUDA_ERROR_ILLEGAL_ADDRESS,
		"an operation in a stream: access to address 0x%llx, which is %s",
		(unsigned long long)address, where);
}

/* Whether one end of a copy still is what it was when the call checked it. */
static bool operation_is_live(struct context *context, uint64_t address, size_t size,
	bool for_writing)
{
	struct device_memory *memory = context->device->memory;
	if (!memory_covers(memory, address)
	    || memory_holds(memory, address, size, for_writing, NULL)) {
		return true;
	}
	operation_fail_access(context, address);
	return false;
}

/* Use memory that another context's thread may free meanwhile.  What faults elsewhere is memory of
 * the program's, and the fault is to be as if we had not been there. */
static void operation_touch(struct context *context, void (*function)(void *arg), void *arg)
{
	struct fault_catch fault;
	fault_init(&fault);
	if (sigsetjmp(fault.env, 0) == 0) {
		fault_arm(&fault);
		function(arg);
		fault_disarm(&fault);
		return;
	}
	fault_disarm(&fault);
	if (fault.has_address && memory_covers(context->device->memory, fault.address)) {
		operation_fail_access(context, fault.address);
	} else {
		function(arg);
	}
}

/* From so many bytes on, workers share a copy. */
#define SHARED_COPY ((size_t)1 << 17)
#define COPY_WORK 10 /* that a byte is; see launch.h */

enum { MOST_PARTS = 64 };

struct shared_copy {
	struct context *context;
	const struct box *box;
	unsigned parts;
	bool is_much;   /* for the cache */
	atomic_bool taken[MOST_PARTS];
};

static void operation_copy_past(void *arg)
{
	const struct box *box = arg;
	nontemporal_copy((void *)(uintptr_t)box->to.address,
		(const void *)(uintptr_t)box->from.address, box->width);
}

static void operation_copy_part(struct shared_copy *copy, unsigned index)
{
	const size_t width = copy->box->width;
	const size_t part = round_up(width / copy->parts, 64);
	const size_t start = part * index < width ? part * index : width;
	struct box box = *copy->box;
	box.from.address += start;
	box.to.address += start;
	box.width = index + 1 < copy->parts && width - start > part ? part : width - start;
	operation_touch(copy->context, copy->is_much ? operation_copy_past : operation_copy_box,
		&box);
}

/* Worker i's part is part i, so that each core has in its cache what it may get again. */
static void operation_copy_parts(void *arg, unsigned worker)
{
	struct shared_copy *copy = arg;
	for (unsigned i = 0; i < copy->parts; i++) {
		unsigned index = (worker + i) % copy->parts;
		if (!atomic_exchange_explicit(&copy->taken[index], true, memory_order_relaxed)) {
			operation_copy_part(copy, index);
		}
	}
}

static bool operation_is_shared(const struct box *box)
{
	const uint64_t to = box->to.address;
	const uint64_t from = box->from.address;
	const uint64_t apart = to > from ? to - from : from - to;
	return box->height == 1 && box->depth == 1 && box->width >= SHARED_COPY
		&& apart >= box->width;
}

static void operation_share_copy(struct context *context, const struct box *box)
{
	struct pool *pool = context->device->pool;
	const unsigned size = pool_size(pool);
	struct shared_copy copy = {
		.context = context, .box = box, .parts = size < MOST_PARTS ? size : MOST_PARTS
	};
	copy.is_much = 2 * (uint64_t)box->width > nontemporal_room(copy.parts);
	bool has_helpers = copy.parts > 1
		&& pool_post(pool, operation_copy_parts, &copy, copy.parts - 1,
			COPY_WORK * (uint64_t)box->width);
	operation_copy_parts(&copy, 0);
	if (has_helpers) {
		pool_close(pool);
	}
}

static void operation_run_copy(struct context *context, const struct box *wanted)
{
	struct box copy = *wanted;
	const struct box *box = &copy;
	size_t to;
	size_t from;
	if (work_span(box, &box->to, &to) && work_span(box, &box->from, &from)
	    && operation_is_live(context, box->to.address, to, true)
	    && operation_is_live(context, box->from.address, from, false)) {
		if (operation_is_shared(box)) {
			operation_share_copy(context, box);
		} else {
			operation_touch(context, operation_copy_box, &copy);
		}
	}
}

static void operation_fill_box(void *arg)
{
	const struct fill *fill = arg;
	for (size_t y = 0; y < fill->height; y++) {
		uint8_t *row = (uint8_t *)(uintptr_t)fill->to + y * fill->pitch;
		if (fill->size == 1) {
			memset(row, (int)fill->value, fill->width);
			continue;
		}
		for (size_t x = 0; x < fill->width; x++) {
			memcpy(row + x * fill->size, &fill->value, fill->size);
		}
	}
}

static void operation_run_fill(struct context *context, const struct fill *wanted)
{
	struct fill fill = *wanted;
	if (operation_is_live(context, fill.to,
			(fill.height - 1) * fill.pitch + fill.width * fill.size, true)) {
		operation_touch(context, operation_fill_box, &fill);
	}
}

/* Whether the value in memory is what a wait is for. */
static bool operation_has_come(const CUstreamBatchMemOpParams *op)
{
	const bool is_64 = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
	const uint64_t mask = is_64 ? UINT64_MAX : UINT32_MAX;
	const uint64_t sign = (mask >> 1) + 1;
	const void *place = (const void *)(uintptr_t)op->waitValue.address;
	uint64_t wanted = op->waitValue.value64 & mask;
	uint64_t found = is_64 ? __atomic_load_n((const uint64_t *)place, __ATOMIC_ACQUIRE)
		: __atomic_load_n((const uint32_t *)place, __ATOMIC_ACQUIRE);
	switch (op->waitValue.flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return ((found - wanted) & sign) == 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return found == wanted;
	case CU_STREAM_WAIT_VALUE_AND:
		return (found & wanted) != 0;
	default:
		return (~(found | wanted) & mask) != 0;
	}
}

bool operation_must_stop(struct context *context)
{
	return atomic_load(&context->is_dying) || atomic_load(&context->fault) != CUDA_SUCCESS;
}

struct value {
	const CUstreamBatchMemOpParams *op;
	bool has_come;
};

static void operation_look_at_value(void *arg)
{
	struct value *value = arg;
	value->has_come = operation_has_come(value->op);
}

static void operation_write_value(void *arg)
{
	const CUstreamBatchMemOpParams *op = ((const struct value *)arg)->op;
	void *place = (void *)(uintptr_t)op->writeValue.address;
	if (op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32) {
		__atomic_store_n((uint32_t *)place, op->writeValue.value, __ATOMIC_SEQ_CST);
	} else {
		__atomic_store_n((uint64_t *)place, op->writeValue.value64, __ATOMIC_SEQ_CST);
	}
}

#define REDUCE(type, place, how, value) \
	((how) == CU_STREAM_ATOMIC_REDUCTION_OP_ADD \
		? __atomic_fetch_add((type *)(place), (type)(value), __ATOMIC_SEQ_CST) \
	: (how) == CU_STREAM_ATOMIC_REDUCTION_OP_AND \
		? __atomic_fetch_and((type *)(place), (type)(value), __ATOMIC_SEQ_CST) \
		: __atomic_fetch_or((type *)(place), (type)(value), __ATOMIC_SEQ_CST))

static void operation_reduce(void *arg)
{
	const CUstreamBatchMemOpParams *op = ((const struct value *)arg)->op;
	void *place = (void *)(uintptr_t)op->atomicReduction.address;
	if (op->atomicReduction.dataType == CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32) {
		REDUCE(uint32_t, place, op->atomicReduction.reductionOp, op->atomicReduction.value);
	} else {
		REDUCE(uint64_t, place, op->atomicReduction.reductionOp, op->atomicReduction.value);
	}
}

/* The host or a kernel writes the value without a notice, so the only way is to look again and
 * again, at longer and longer intervals. */
static void operation_wait_for_value(struct context *context, const CUstreamBatchMemOpParams *op,
	size_t size)
{
	const long longest = 100000;
	struct timespec pause = {0};
	struct value value = {op, false};
	while (!operation_must_stop(context)
	       && operation_is_live(context, op->waitValue.address, size, false)) {
		operation_touch(context, operation_look_at_value, &value);
		if (value.has_come) {
			return;
		}
		pause.tv_nsec = pause.tv_nsec < longest ? pause.tv_nsec * 2 + 1000 : longest;
		nanosleep(&pause, NULL);
	}
}

static void operation_run_value(struct context *context, const CUstreamBatchMemOpParams *op)
{
	const bool is_64 = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64
		|| op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
	const size_t size = is_64 ? 8 : 4;
	struct value value = {op, false};
	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		operation_wait_for_value(context, op, size);
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		if (operation_is_live(context, op->writeValue.address, size, true)) {
			operation_touch(context, operation_write_value, &value);
		}
		break;
	case CU_STREAM_MEM_OP_ATOMIC_REDUCTION:
		if (operation_is_live(context, op->atomicReduction.address,
				op->atomicReduction.dataType
					== CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32 ? 4 : 8, true)) {
			operation_touch(context, operation_reduce, &value);
		}
		break;
	default:
		// A barrier: all that came before is done, and was seen to be through locks.
		break;
	}
}

uint64_t operation_work(const struct work *work)
{
	if (work->kind == WORK_KERNEL) {
		const struct kernel_work *kernel = &work->kernel;
		bool ends = jit_code_get(kernel->code)->is_straight
			|| atomic_load_explicit(&kernel->function->has_ended, memory_order_relaxed);
		return ends ? launch_slot_work(kernel) : UINT64_MAX;
	}
	if (work->kind == WORK_VALUES) {
		for (size_t i = 0; i < work->values.count; i++) {
			CUstreamBatchMemOpType type = work->values.list[i].operation;
			if (type == CU_STREAM_MEM_OP_WAIT_VALUE_32
			    || type == CU_STREAM_MEM_OP_WAIT_VALUE_64) {
				return UINT64_MAX;
			}
		}
	}
	return work->kind != WORK_HOST && work->kind != WORK_CALLBACK
		&& work->kind != WORK_CONDITION ? 0 : UINT64_MAX;
}

/* --- All of it --- */

static void operation_run_kernel(struct context *context, const struct work *work)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	queue_lock();
	struct launch_slot *slot = launch_slot_take(context, &work->kernel);
	queue_unlock();
	if (slot) {
		result = launch_slot_run(slot, work, false);
	}
	if (result != CUDA_SUCCESS) {
		context_poison(context, result, "no memory for the blocks of kernel '%s'",
			work->kernel.function->name);
	}
	queue_lock();
	launch_slot_give(slot);
	queue_unlock();
}

static void operation_run_host(const struct work *work, CUresult status)
{
	fault_stay_open(false);
	api_set_in_callback(true);
	if (work->kind == WORK_CALLBACK) {
		work->callback.function(work->callback.stream, status, work->callback.data);
	} else if (status == CUDA_SUCCESS) {
		work->host.function(work->host.data);
	}
	api_set_in_callback(false);
}

static void operation_run_healthy(struct context *context, const struct work *work)
{
	switch (work->kind) {
	case WORK_KERNEL:
		operation_run_kernel(context, work);
		break;
	case WORK_COPY:
		operation_run_copy(context, &work->copy);
		break;
	case WORK_COPIES:
		for (size_t i = 0; i < work->copies.count && !operation_must_stop(context); i++) {
			operation_run_copy(context, &work->copies.list[i]);
		}
		break;
	case WORK_FILL:
		operation_run_fill(context, &work->fill);
		break;
	case WORK_VALUES:
		for (size_t i = 0; i < work->values.count && !operation_must_stop(context); i++) {
			operation_run_value(context, &work->values.list[i]);
		}
		break;
	default:
		break;
	}
}

void operation_run(struct context *context, const struct work *work)
{
	if (work->kind == WORK_FREE) {
		if (!graph_memory_drop(work->address)) {
			memory_free_ordered(context->device->memory, work->address);
		}
	} else if (work->kind == WORK_HOST || work->kind == WORK_CALLBACK) {
		CUresult fault = (CUresult)atomic_load_explicit(&context->fault,
			memory_order_acquire);
		operation_run_host(work, fault == CUDA_SUCCESS && atomic_load(&context->is_dying)
			? CUDA_ERROR_CONTEXT_IS_DESTROYED : fault);
	} else if (!operation_must_stop(context)) {
		operation_run_healthy(context, work);
	}
}

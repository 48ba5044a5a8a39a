/* SPDX-License-Identifier: MIT */
/*
 * Collectives by our own kernels, which access the memory of all members.
 *
 * Each collective is some *tasks*.  A task runs on one member and combines elements of one or more
 * arrays, in the order of the members, into elements of one or more others (kernels/comm.cuh): an
 * all-reduce of large arrays is a task for each member, which has a part of the elements, reads
 * them from all members and writes the result to all.  That is a reduce-scatter and an all-gather
 * in one pass, with as few bytes as any algorithm moves.  A copy is a task with one operand.
 *
 * The tasks of small arrays run on one member, so an all-reduce is one launch.  The order of the
 * operands, and so the result, is the same whichever member does a task.
 */
#include "base/common.h"

#include "lib/comm/comm.h"
#include "lib/ops/device_code.h"
#include "lib/ops/generate.h"
#include "lib/ops/kernels.h"

#include <kudzu/ops.h>

/* An array is cut into parts of so many bytes or more, since each part is a launch. */
enum { COMM_PART = 1 << 20, COMM_TILE = 4096 };

/* What a kernel is made for; without padding. */
struct comm_class {
	uint32_t inputs, outputs;
	uint32_t op;                /* a kz_reduce_op; 0: a copy */
	uint32_t dtype;             /* of a reduction; of a copy the bytes that it moves at once */
};

struct comm_task {
	int member;                 /* on which it runs: an index of comm->members */
	struct comm_class class;
	int64_t size;               /* bytes of each array */
	CUdeviceptr at[2 * COMM_MOST]; /* the operands, and the results after them */
};

/* Kernels */

static const char *comm_op_text(const struct comm_class *class)
{
	static const int ops[] = {[KZ_REDUCE_SUM] = KZ_OP_ADD, [KZ_REDUCE_PROD] = KZ_OP_MULTIPLY,
		[KZ_REDUCE_MIN] = KZ_OP_MINIMUM, [KZ_REDUCE_MAX] = KZ_OP_MAXIMUM,
		[KZ_REDUCE_MEAN] = KZ_OP_ADD};
	return expr_op_text(expr_op(ops[class->op]), class->dtype);
}

static void comm_write(struct str *source, const void *context)
{
	static const char *const units[17] = {[1] = "unsigned char", [2] = "unsigned short",
		[4] = "unsigned", [8] = "unsigned long long", [16] = "ulonglong2"};
	const struct comm_class *class = context;
	const char *finish = "a";
	if (class->op) {
		generate_element(source, class->dtype);
		str_addf(source, "static __device__ inline kz_value kz_op(kz_value a, kz_value b) "
			"{ return (kz_value)(%s); }\n", comm_op_text(class));
	} else {
		str_addf(source, "typedef %s kz_stored;\ntypedef kz_stored kz_value;\n"
			"#define kz_load(a) (a)\n#define kz_save(a) (a)\n#define kz_op(a, b) (a)\n",
			units[class->dtype]);
	}
	if (class->op == KZ_REDUCE_MEAN) {
		finish = dtype_is_complex(class->dtype)
			? "kz_make(a.re / KZ_INPUTS, a.im / KZ_INPUTS)" : "a / KZ_INPUTS";
	}
	str_addf(source, "#define KZ_INPUTS %u\n#define KZ_OUTPUTS %u\n"
		"static __device__ inline kz_value kz_finish(kz_value a) { return %s; }\n%s%s",
		class->inputs, class->outputs, finish, device_chunks, device_comm);
}

/* A block of the CPU device is a warp, whose lanes it computes together: to a thread that walks
 * over the elements all arrays might be the same memory, and it would take them one by one. */
static const struct kernel_family comm_family = {
	"collective", comm_write,
	{[SCHEDULE_MANY] = {256, 2048}, [SCHEDULE_ONE] = {32, COMM_TILE}},
};

/* The most bytes that a copy can move at once: a power of two that divides all addresses. */
static uint32_t comm_unit(const struct comm_task *task)
{
	uint64_t bits = 16 | (uint64_t)task->size;
	for (uint32_t i = 0; i < task->class.inputs + task->class.outputs; i++) {
		bits |= task->at[i];
	}
	return (uint32_t)(bits & -bits);
}

static kz_status comm_launch(struct kz_comm *comm, const struct comm_call *call,
	struct comm_task *task, kz_error *err)
{
	if (task->size == 0 || task->class.outputs == 0) {
		return KZ_OK;
	}
	struct kz_device *dev = comm->members[task->member].device;
	if (!task->class.op) {
		task->class.dtype = comm_unit(task);
	}
	int64_t count = task->size
		/ (task->class.op ? dtype_size(task->class.dtype) : task->class.dtype);
	void *params[] = {task->at, &count};
	const int tile = schedule_of(comm_family.schedules, dev)->tile;
	const struct kernels_run run = {
		.want = {&comm_family, &task->class, sizeof(task->class)},
		.stream = call->ends[task->member].stream, .params = params,
		.grid = kz_dim(divide_up(count, tile), 1, 1),
	};
	kz_error cause = KZ_ERROR_INIT;
	kz_status st = kernels_run(&run, &cause);
	if (st) {
		comm_name_member(&cause, comm, task->member);
		(void)error_copy(err, &cause);
		kz_error_clear(&cause);
	}
	return st;
}

/* Tasks */

/* The operands come first. */
static void comm_add_input(struct comm_task *task, CUdeviceptr address)
{
	task->at[task->class.inputs++] = address;
}

static void comm_add_output(struct comm_task *task, CUdeviceptr address)
{
	if (task->class.op || address != task->at[0]) { /* in place, there is nothing to copy */
		task->at[task->class.inputs + task->class.outputs++] = address;
	}
}

/* The elements from `offset` on, in bytes, of the operands that a call has: of all members, or the
 * only one. */
static void comm_add_operands(struct comm_task *task, const struct kz_comm *comm,
	const struct comm_call *call, int64_t offset)
{
	for (int i = 0; i < comm->local_count; i++) {
		if (call->ends[i].from.memory) {
			comm_add_input(task, call->ends[i].from.address + (CUdeviceptr)offset);
		}
	}
}

static void comm_add_results(struct comm_task *task, const struct kz_comm *comm,
	const struct comm_call *call, int64_t offset)
{
	for (int i = 0; i < comm->local_count; i++) {
		if (call->ends[i].into.memory) {
			comm_add_output(task, call->ends[i].into.address + (CUdeviceptr)offset);
		}
	}
}

static struct comm_task comm_task_begin(const struct comm_call *call, int member, int64_t size)
{
	return (struct comm_task){.member = member, .size = size,
		.class = {.op = call->op, .dtype = call->op ? call->dtype : 0}};
}

/* How many members work: the hub alone for a message, and for few bytes, since each launch takes
 * time. */
static int comm_worker_count(const struct kz_comm *comm, const struct comm_call *call)
{
	const bool has_parts = call->kind == COMM_REDUCE_SCATTER || call->kind == COMM_ALL_GATHER
		|| call->kind == COMM_ALL_TO_ALL;
	const int64_t size = call->count * kz_dtype_size(call->dtype);
	const int64_t most = divide_up(has_parts ? size * comm->local_count : size, COMM_PART);
	return call->kind == COMM_SEND || most <= 1 ? 1
		: most < comm->local_count ? (int)most : comm->local_count;
}

/* The member that does task k of a call. */
static int comm_worker(const struct kz_comm *comm, const struct comm_call *call, int workers,
	int64_t k)
{
	return (call->hub + (int)(k % workers)) % comm->local_count;
}

/* All-reduce, reduce and broadcast: each element of the operands becomes one of the results, and
 * the workers share them. */
static kz_status comm_run_parts(struct kz_comm *comm, const struct comm_call *call, int workers,
	kz_error *err)
{
	const int64_t element = kz_dtype_size(call->dtype), size = call->count * element;
	const int64_t part = 64 * element * divide_up(divide_up(call->count, workers), 64);
	kz_status st = KZ_OK;
	for (int64_t k = 0; k < workers && k * part < size && !st; k++) {
		const int64_t left = size - k * part;
		struct comm_task task = comm_task_begin(call, comm_worker(comm, call, workers, k),
			part < left ? part : left);
		comm_add_operands(&task, comm, call, k * part);
		comm_add_results(&task, comm, call, k * part);
		st = comm_launch(comm, call, &task, err);
	}
	return st;
}

/* The others, by the bytes of a part: a task for each member, or for each pair of them. */
static kz_status comm_run_member(struct kz_comm *comm, const struct comm_call *call, int member,
	int workers, kz_error *err)
{
	const struct comm_end *end = &call->ends[member];
	const int64_t size = call->count * kz_dtype_size(call->dtype);
	const int worker = comm_worker(comm, call, workers, member);
	struct comm_task task = comm_task_begin(call, worker, size);
	kz_status st = KZ_OK;
	switch (call->kind) {
	case COMM_REDUCE_SCATTER:
		comm_add_operands(&task, comm, call, member * size);
		comm_add_output(&task, end->into.address);
		return comm_launch(comm, call, &task, err);
	case COMM_ALL_GATHER:
		comm_add_input(&task, end->from.address);
		comm_add_results(&task, comm, call, member * size);
		return comm_launch(comm, call, &task, err);
	default: /* COMM_ALL_TO_ALL */
		for (int i = 0; i < comm->local_count && !st; i++) {
			task = comm_task_begin(call, worker, size);
			comm_add_input(&task, end->from.address + (CUdeviceptr)(i * size));
			comm_add_output(&task, call->ends[i].into.address
				+ (CUdeviceptr)(member * size));
			st = comm_launch(comm, call, &task, err);
		}
		return st;
	}
}

static kz_status comm_run_work(struct kz_comm *comm, const struct comm_call *call, int workers,
	kz_error *err)
{
	kz_status st = KZ_OK;
	switch (call->kind) {
	case COMM_ALL_REDUCE:
	case COMM_REDUCE:
	case COMM_BROADCAST:
		return comm_run_parts(comm, call, workers, err);
	case COMM_SEND: {
		struct comm_task task = comm_task_begin(call, call->hub,
			call->count * kz_dtype_size(call->dtype));
		comm_add_input(&task, call->ends[call->member].from.address);
		comm_add_output(&task, call->ends[call->root].into.address);
		return comm_launch(comm, call, &task, err);
	}
	default:
		for (int i = 0; i < comm->local_count && !st; i++) {
			st = comm_run_member(comm, call, i, workers, err);
		}
		return st;
	}
}

static kz_status comm_own_do(struct kz_comm *comm, struct comm_call *call, kz_error *err)
{
	const int workers = comm_worker_count(comm, call);
	kz_status st = comm_begin(comm, call, err);
	if (st) {
		return st;
	}
	struct kz_device *dev = comm->members[call->hub].device;
	struct device_scope scope;
	comm->hub = call->hub;
	if ((st = device_enter(dev, &scope, err))) {
		return st;
	}
	if (!(st = comm_meet(comm, call, COMM_BEFORE, workers == 1, err))) {
		st = comm_run_work(comm, call, workers, err);
		/* Later work waits also if only some of the work could be started. */
		const kz_status met = comm_meet(comm, call, COMM_AFTER, workers == 1, err);
		const kz_status ended = comm_end(comm, call, err);
		st = st ? st : met ? met : ended;
	}
	device_leave(dev, &scope);
	return st;
}

kz_status comm_own_run(struct kz_comm *comm, struct comm_call *calls, kz_error *err)
{
	kz_status st = KZ_OK;
	for (struct comm_call *call = calls; call && !st; call = call->next) {
		st = comm_is_part(call) ? KZ_OK : comm_own_do(comm, call, err);
	}
	return st;
}

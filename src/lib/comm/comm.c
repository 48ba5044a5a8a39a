/* SPDX-License-Identifier: MIT */
/*
 * Communicators: how they begin, wait and end.
 *
 * What is wrong with a member is found by the driver's calls for that member's device, so a failure
 * is looked for on all devices before anything is reported.  It stays with the communicator, since
 * the results of every call that was under way are lost.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "lib/comm/comm.h"
#include "lib/comm/comm_nccl.h"
#include "lib/core/capture.h"

#include <sched.h>

enum { COMM_TIMEOUT_MS = 600000, COMM_YIELD_NS = 200000, COMM_LONGEST_PAUSE_NS = 1000000 };

/* Failures */

kz_status comm_break(struct kz_comm *comm, int member, kz_error *cause, kz_error *err)
{
	comm_name_member(cause, comm, member);
	(void)error_copy(&comm->cause, cause);
	kz_error_clear(cause);
	return error_copy(err, &comm->cause);
}

kz_status comm_check_usable(struct kz_comm *comm, kz_error *err)
{
	kz_error cause = KZ_ERROR_INIT;
	if (unlikely(comm->cause.status)) {
		return error_copy(err, &comm->cause);
	}
	for (int i = 0; i < comm->local_count; i++) {
		if (unlikely(device_check_loss(comm->members[i].device, &cause))) {
			return comm_break(comm, i, &cause, err);
		}
	}
	return KZ_OK;
}

/* Creating */

static kz_status comm_check_devices(kz_device *const *devices, int count, kz_error *err)
{
	kz_status st;
	if (count < 1 || count > COMM_MOST || !devices) {
		return error_set(err, KZ_INVALID, "expected 1 to %d devices, got %d", COMM_MOST,
			devices ? count : 0);
	}
	for (int i = 0; i < count; i++) {
		if ((st = object_check_as(devices[i], OBJECT_DEVICE, "devices", err))) {
			return st;
		}
		if (devices[i]->drv != devices[0]->drv) {
			return error_set(err, KZ_INVALID, "%s and %s have different drivers",
				devices[0]->name, devices[i]->name);
		}
		int k = 0;
		while (devices[k] != devices[i]) {
			k++;
		}
		if (k < i) {
			return error_set(err, KZ_INVALID, "expected different devices, got %s as "
				"members %d and %d%s", devices[i]->name, k, i,
				devices[i]->on_host ? " (KUDZU_CPU_DEVICES makes more)" : "");
		}
	}
	return KZ_OK;
}

static kz_status comm_check_options(const kz_comm_options *options, int local_count, kz_error *err)
{
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_comm_options", options->size, sizeof(*options), err);
	}
	if (options->engine < KZ_COMM_AUTO || options->engine > KZ_COMM_OWN) {
		return error_set(err, KZ_INVALID, "expected an engine from 0 to 2, got %d",
			(int)options->engine);
	}
	if (options->id && (options->first < 0 || options->count < local_count
		|| options->first > options->count - local_count)) {
		return error_set(err, KZ_INVALID, "members %lld to %lld are not among %d",
			(long long)options->first, (long long)options->first + local_count - 1,
			(int)options->count);
	}
	return KZ_OK;
}

/* Each device accesses the memory of each other one. */
static kz_status comm_enable_access(const struct kz_comm *comm, kz_error *err)
{
	kz_status st = KZ_OK;
	for (int i = 0; i < comm->local_count && !st; i++) {
		for (int k = 0; k < comm->local_count && !st; k++) {
			struct kz_device *dev = comm->members[i].device;
			struct kz_device *peer = comm->members[k].device;
			int can = 0;
			if (i == k || device_has_access(dev, peer)) {
				continue;
			}
			st = kz_device_can_access_peer(&can, dev, peer, err);
			st = st ? st : can ? kz_device_enable_peer_access(dev, peer, err)
				: error_set(err, KZ_UNSUPPORTED, "%s cannot use the memory of %s: "
					"NCCL is needed, the package nvidia-nccl-cu12 or "
					"nvidia-nccl-cu13 of PyPI", dev->name, peer->name);
		}
	}
	return st;
}

static kz_status comm_make_events(struct kz_comm *comm, kz_error *err)
{
	kz_status st = KZ_OK;
	for (int i = 0; i < comm->local_count && !st; i++) {
		struct kz_device *dev = comm->members[i].device;
		struct device_scope scope;
		if (!(st = device_enter(dev, &scope, err))) {
			for (int k = 0; k < COMM_MARKS && !st; k++) {
				st = device_ok(dev, dev->drv->EventCreate(
					&comm->members[i].marks[k], CU_EVENT_DISABLE_TIMING),
					"cuEventCreate", err);
			}
			device_leave(dev, &scope);
		}
	}
	return st;
}

static kz_status comm_start(struct kz_comm *comm, const kz_comm_options *options, kz_error *err)
{
	kz_status st = comm_make_events(comm, err);
	if (st) {
		return st;
	}
	if (options->engine != KZ_COMM_OWN) {
		st = comm_nccl_start(comm, options, err);
	}
	if (st || comm->nccl) {
		return st;
	}
	if (comm->count > comm->local_count) {
		return error_set(err, KZ_UNSUPPORTED, "members in several processes need NCCL");
	}
	return comm_enable_access(comm, err);
}

kz_status kz_comm_create(kz_comm **out, kz_device *const *devices, int count,
	const kz_comm_options *options, kz_error *err)
{
	error_scope(err);
	static const kz_comm_options defaults = KZ_COMM_OPTIONS_INIT;
	kz_status st;
	options = options ? options : &defaults;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = comm_check_devices(devices, count, err))
	    || (st = comm_check_options(options, count, err))) {
		return st;
	}
	struct kz_comm *comm = mem_zalloc(1,
		sizeof(*comm) + (size_t)count * sizeof(*comm->members));
	if (!comm) {
		return error_no_memory(err);
	}
	comm->tag = OBJECT_COMM;
	comm->count = options->id ? options->count : count;
	comm->first = options->id ? options->first : 0;
	comm->local_count = count;
	comm->hub = -1;
	comm->timeout_ms = options->timeout_ms ? options->timeout_ms : COMM_TIMEOUT_MS;
	comm->cause = (kz_error)KZ_ERROR_INIT;
	comm->last_call = &comm->calls;
	for (int i = 0; i < count; i++) {
		comm->members[i].device = device_retain(devices[i]);
	}
	if ((st = comm_start(comm, options, err))) {
		kz_comm_release(comm);
		return st;
	}
	object_give(comm, devices[0]);
	*out = comm;
	return KZ_OK;
}

/* Ending */

void comm_call_free(struct kz_comm *comm, struct comm_call *call)
{
	for (int i = 0; i < comm->local_count; i++) {
		struct comm_end *end = &call->ends[i];
		if (end->stream) {
			stream_release(end->stream);
		}
		if (end->into.memory) {
			memory_release(end->into.memory);
		}
		if (end->from.memory) {
			memory_release(end->from.memory);
		}
	}
	mem_free(call);
}

void comm_calls_free(struct kz_comm *comm)
{
	while (comm->calls) {
		struct comm_call *call = comm->calls;
		comm->calls = call->next;
		comm_call_free(comm, call);
	}
	comm->last_call = &comm->calls;
}

static void comm_member_finish(struct comm_member *member)
{
	struct kz_device *dev = member->device;
	struct device_scope scope;
	if (member->stream) {
		stream_release(member->stream);
	}
	if (device_enter_quietly(dev, &scope)) {
		for (int k = 0; k < COMM_MARKS && member->marks[k]; k++) {
			device_released(dev, dev->drv->EventDestroy(member->marks[k]),
				"cuEventDestroy");
		}
		device_leave(dev, &scope);
	}
	device_release(dev);
}

void kz_comm_release(kz_comm *comm)
{
	if (!object_is(comm, OBJECT_COMM)) {
		return;
	}
	comm_calls_free(comm);
	if (comm->nccl) {
		comm_nccl_end(comm);
	}
	for (int i = 0; i < comm->local_count; i++) {
		comm_member_finish(&comm->members[i]);
	}
	kz_error_clear(&comm->cause);
	object_end(&comm->tag);
	object_free(comm);
}

/* Questions */

int kz_comm_count(const kz_comm *comm)
{
	return object_is(comm, OBJECT_COMM) ? comm->count : 0;
}

int kz_comm_local_count(const kz_comm *comm)
{
	return object_is(comm, OBJECT_COMM) ? comm->local_count : 0;
}

int kz_comm_first(const kz_comm *comm)
{
	return object_is(comm, OBJECT_COMM) ? comm->first : 0;
}

int kz_comm_uses_nccl(const kz_comm *comm)
{
	return object_is(comm, OBJECT_COMM) && comm->nccl;
}

/* Waiting */

/* Record an event at the end of the member's stream. */
static kz_status comm_mark_done(struct comm_member *member, kz_error *err)
{
	struct kz_device *dev = member->device;
	struct device_scope scope;
	kz_status st = device_enter(dev, &scope, err);
	if (!st) {
		const CUresult code = dev->drv->EventRecord(member->marks[COMM_AFTER],
			member->stream->handle);
		st = device_ok(dev, code, "cuEventRecord", err);
		device_leave(dev, &scope);
	}
	return st;
}

/* Whether the stream has come to the event of a mark. */
static kz_status comm_ask_mark(bool *done, struct comm_member *member, enum comm_mark mark,
	kz_error *err)
{
	struct kz_device *dev = member->device;
	struct device_scope scope;
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	const CUresult code = dev->drv->EventQuery(member->marks[mark]);
	*done = code == CUDA_SUCCESS;
	st = device_ok(dev, code == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : code, "cuEventQuery",
		err);
	device_leave(dev, &scope);
	return st;
}

/* Ask each unfinished member once; *waiting is the first that has not finished. */
static kz_status comm_look(int *waiting, struct kz_comm *comm, uint64_t *left, kz_error *err)
{
	kz_error cause = KZ_ERROR_INIT;
	*waiting = -1;
	for (int i = 0; i < comm->local_count; i++) {
		bool done = true;
		if (*left >> i & 1
		    && comm_ask_mark(&done, &comm->members[i], COMM_AFTER, &cause)) {
			return comm_break(comm, i, &cause, err);
		}
		*left &= done ? ~(UINT64_C(1) << i) : UINT64_MAX;
		*waiting = !done && *waiting < 0 ? i : *waiting;
	}
	int member;
	return comm->nccl && comm_nccl_check(&member, comm, &cause)
		? comm_break(comm, member, &cause, err) : KZ_OK;
}

/* Let others run: for a short time the processor is only offered to them, later this thread sleeps
 * for a sixteenth of the time that it has waited. */
static void comm_pause(uint64_t waited_ns)
{
	const uint64_t pause_ns = waited_ns / 16 < COMM_LONGEST_PAUSE_NS ? waited_ns / 16
		: COMM_LONGEST_PAUSE_NS;
	const struct timespec pause = {.tv_nsec = (long)pause_ns};
	if (waited_ns < COMM_YIELD_NS) {
		sched_yield();
	} else {
		nanosleep(&pause, NULL);
	}
}

/* The member for which the others wait: one whose stream has not come to the last call; else the
 * hub, for which all others wait; else the first one that is not done. */
static int comm_find_late(struct kz_comm *comm, int waiting)
{
	bool done = true;
	for (int i = 0; i < comm->local_count; i++) {
		if (i != comm->hub
		    && !comm_ask_mark(&done, &comm->members[i], COMM_BEFORE, NULL) && !done) {
			return i;
		}
	}
	return comm->hub >= 0
		&& !comm_ask_mark(&done, &comm->members[comm->hub], COMM_AFTER, NULL) && !done
		? comm->hub : waiting;
}

static kz_status comm_wait_for(struct kz_comm *comm, uint64_t left, kz_error *err)
{
	const uint64_t begin = clock_now_ns();
	for (;;) {
		int waiting;
		kz_status st = comm_look(&waiting, comm, &left, err);
		if (st || waiting < 0) {
			return st;
		}
		const uint64_t waited_ns = clock_now_ns() - begin;
		if (comm->timeout_ms >= 0 && waited_ns > (uint64_t)comm->timeout_ms * 1000000) {
			comm->is_late = true;
			waiting = comm_find_late(comm, waiting);
			return error_set(err, KZ_TIMEOUT, "member %d (%s) was not done within %lld "
				"ms", comm->first + waiting, comm->members[waiting].device->name,
				(long long)comm->timeout_ms);
		}
		comm_pause(waited_ns);
	}
}

kz_status kz_comm_synchronize(kz_comm *comm, kz_error *err)
{
	error_scope(err);
	kz_error cause = KZ_ERROR_INIT;
	uint64_t left = 0;
	kz_status st;
	if ((st = object_check(comm, OBJECT_COMM, err)) || (st = comm_check_usable(comm, err))) {
		return st;
	}
	if (comm->is_group) {
		return error_set(err, KZ_STATE, "the group has not ended");
	}
	for (int i = 0; i < comm->local_count; i++) {
		struct comm_member *member = &comm->members[i];
		if (member->stream && (st = stream_check_free(member->stream, err))) {
			return st;
		}
		if (member->stream && comm_mark_done(member, &cause)) {
			return comm_break(comm, i, &cause, err);
		}
		left |= member->stream ? UINT64_C(1) << i : 0;
	}
	return comm_wait_for(comm, left, err);
}

/* SPDX-License-Identifier: MIT */
/*
 * The streams of a collective call.
 *
 * One of them is the hub: before the work it waits for the others, and after the work they wait for
 * it.  So it may use the memory of each member in between, and the member's own stream stands for
 * all uses, as memory.h wants it.  If other members work, too, they wait for the hub before that,
 * and it for them after that.
 */
#include "base/common.h"

#include "lib/comm/comm.h"
#include "lib/core/capture.h"

#include <stdio.h>
#include <string.h>

void comm_name_member(kz_error *err, const struct kz_comm *comm, int member)
{
	char message[sizeof(err->message)];
	int length = snprintf(message, sizeof(message), "member %d (%s): ", comm->first + member,
		comm->members[member].device->name);
	snprintf(message + length, sizeof(message) - (size_t)length, "%s", err->message);
	memcpy(err->message, message, sizeof(message));
}

/* Make a member's stream wait for an event, which joins it to a capture that the event's stream is
 * part of.  The context of either is current. */
static kz_status comm_wait(const struct kz_comm *comm, const struct comm_call *call, int member,
	CUevent mark, struct capture *capture, kz_error *err)
{
	struct kz_stream *stream = call->ends[member].stream;
	kz_status st = KZ_OK;
	if (unlikely(capture && !stream_capture(stream))) {
		st = capture_join(capture, stream, err);
	}
	st = st ? st : device_ok(stream->device,
		stream->device->drv->StreamWaitEvent(stream->handle, mark, 0),
		"cuStreamWaitEvent", err);
	if (unlikely(st)) {
		comm_name_member(err, comm, member);
	}
	return st;
}

static kz_status comm_set_mark(const struct kz_comm *comm, const struct comm_call *call, int member,
	enum comm_mark mark, kz_error *err)
{
	const struct kz_stream *stream = call->ends[member].stream;
	kz_status st = device_ok(stream->device, stream->device->drv->EventRecord(
			comm->members[member].marks[mark], stream->handle), "cuEventRecord", err);
	if (unlikely(st)) {
		comm_name_member(err, comm, member);
	}
	return st;
}

/* The member whose stream the others wait for: one that is captured, else the first. */
static int comm_find_hub(const struct kz_comm *comm, const struct comm_call *call)
{
	int hub = -1;
	for (int i = comm->local_count; i-- > 0;) {
		if (call->ends[i].stream
		    && (hub < 0 || !stream_capture(call->ends[hub].stream)
			|| stream_capture(call->ends[i].stream))) {
			hub = i;
		}
	}
	return hub;
}

/* The hub waits for all others.  Its context is current. */
static kz_status comm_fan_in(struct kz_comm *comm, const struct comm_call *call,
	enum comm_mark mark, kz_error *err)
{
	kz_status st = KZ_OK;
	for (int i = 0; i < comm->local_count && !st; i++) {
		if (i != call->hub && call->ends[i].stream
		    && !(st = comm_set_mark(comm, call, i, mark, err))) {
			st = comm_wait(comm, call, call->hub, comm->members[i].marks[mark], NULL,
				err);
		}
	}
	return st;
}

/* All others wait for the hub.  Its context is current. */
static kz_status comm_fan_out(struct kz_comm *comm, const struct comm_call *call,
	enum comm_mark mark, kz_error *err)
{
	const CUevent event = comm->members[call->hub].marks[mark];
	struct capture *capture = stream_capture(call->ends[call->hub].stream);
	kz_status st = comm_set_mark(comm, call, call->hub, mark, err);
	for (int i = 0; i < comm->local_count && !st; i++) {
		if (i != call->hub && call->ends[i].stream) {
			st = comm_wait(comm, call, i, event, capture, err);
		}
	}
	return st;
}

/* Streams that are not captured join the capture of the hub. */
static kz_status comm_join_capture(struct kz_comm *comm, const struct comm_call *call,
	kz_error *err)
{
	const struct capture *capture = stream_capture(call->ends[call->hub].stream);
	struct device_scope scope;
	if (likely(!capture)) {
		return KZ_OK;
	}
	for (int i = 0; i < comm->local_count; i++) {
		const struct capture *other = call->ends[i].stream
			? stream_capture(call->ends[i].stream) : NULL;
		if (other && other != capture) {
			return error_set(err, KZ_STATE, "the streams of members %d and %d are "
				"captured into two graphs", comm->first + call->hub,
				comm->first + i);
		}
	}
	struct kz_device *dev = comm->members[call->hub].device;
	kz_status st = device_enter(dev, &scope, err);
	if (!st) {
		st = comm_fan_out(comm, call, COMM_BEFORE, err);
		device_leave(dev, &scope);
	}
	return st;
}

/* The memory of a member's array is used in its stream, and its context becomes current if that has
 * to be ordered. */
static kz_status comm_order(struct kz_device *dev, struct memory *memory, struct kz_stream *stream,
	bool is_after, kz_error *err)
{
	struct device_scope scope;
	if (!memory || (memory_is_last(memory, stream) && !stream_capture(stream))) {
		return KZ_OK;
	}
	kz_status st = device_enter(dev, &scope, err);
	if (!st) {
		st = (is_after ? memory_used : memory_use)(memory, stream, err);
		device_leave(dev, &scope);
	}
	return st;
}

static kz_status comm_order_all(struct kz_comm *comm, const struct comm_call *call, bool is_after,
	kz_error *err)
{
	kz_status st = KZ_OK;
	for (int i = 0; i < comm->local_count && !st; i++) {
		const struct comm_end *end = &call->ends[i];
		struct kz_device *dev = comm->members[i].device;
		if (end->stream
		    && ((st = comm_order(dev, end->from.memory, end->stream, is_after, err))
			|| (st = comm_order(dev, end->into.memory, end->stream, is_after, err)))) {
			comm_name_member(err, comm, i);
		}
	}
	return st;
}

kz_status comm_begin(struct kz_comm *comm, struct comm_call *call, kz_error *err)
{
	call->hub = comm_find_hub(comm, call);
	kz_status st = comm_join_capture(comm, call, err);
	return st ? st : comm_order_all(comm, call, false, err);
}

kz_status comm_meet(struct kz_comm *comm, const struct comm_call *call, enum comm_mark mark,
	bool is_alone, kz_error *err)
{
	kz_status st = KZ_OK;
	if (mark == COMM_BEFORE || !is_alone) {
		st = comm_fan_in(comm, call, mark, err);
	}
	if (!st && (mark == COMM_AFTER || !is_alone)) {
		st = comm_fan_out(comm, call, mark, err);
	}
	return st;
}

kz_status comm_end(struct kz_comm *comm, const struct comm_call *call, kz_error *err)
{
	kz_status st = comm_order_all(comm, call, true, err);
	for (int i = 0; i < comm->local_count; i++) {
		struct comm_member *member = &comm->members[i];
		if (call->ends[i].stream && member->stream != call->ends[i].stream) {
			if (member->stream) {
				stream_release(member->stream);
			}
			member->stream = stream_retain(call->ends[i].stream);
		}
	}
	return st;
}

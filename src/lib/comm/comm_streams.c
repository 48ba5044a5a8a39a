/* SPDX-License-Identifier: MIT */
/*
 * The streams of a collective call.
 *
 * They meet before the work and after it: one of them, the hub, waits for the others, and they for
 * it.  So the memory of each member may be used in any of the streams in between, and the member's
 * own stream stands for all uses, as memory.h wants it.
 */
#include "base/common.h"

#include "lib/comm/comm.h"
#include "lib/core/capture.h"

/* Make a stream wait for an event, which joins it to a capture that the event's stream is part of.
 * The context of either is current. */
static kz_status comm_wait(struct kz_stream *stream, CUevent mark, struct capture *capture,
	kz_error *err)
{
	kz_status st = KZ_OK;
	if (unlikely(capture && !stream_capture(stream))) {
		st = capture_join(capture, stream, err);
	}
	return st ? st : device_ok(stream->device,
		stream->device->drv->StreamWaitEvent(stream->handle, mark, 0),
		"cuStreamWaitEvent", err);
}

static kz_status comm_set_mark(CUevent mark, struct kz_stream *stream, kz_error *err)
{
	return device_ok(stream->device, stream->device->drv->EventRecord(mark, stream->handle),
		"cuEventRecord", err);
}

/* The member whose stream the others wait for: one that is captured, else the first; -1: none. */
static int comm_hub(const struct kz_comm *comm, const struct comm_call *call)
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

/* All others wait for the hub. */
static kz_status comm_fan_out(struct kz_comm *comm, const struct comm_call *call, int hub,
	enum comm_mark mark, kz_error *err)
{
	struct kz_stream *stream = call->ends[hub].stream;
	const CUevent event = comm->members[hub].marks[mark];
	kz_status st = comm_set_mark(event, stream, err);
	for (int i = 0; i < comm->local_count && !st; i++) {
		if (i != hub && call->ends[i].stream) {
			st = comm_wait(call->ends[i].stream, event, stream_capture(stream), err);
		}
	}
	return st;
}

kz_status comm_meet(struct kz_comm *comm, const struct comm_call *call, enum comm_mark mark,
	kz_error *err)
{
	const int hub = comm_hub(comm, call);
	struct device_scope scope;
	kz_status st = device_enter(comm->members[hub].device, &scope, err);
	if (st) {
		return st;
	}
	for (int i = 0; i < comm->local_count && !st; i++) {
		const CUevent event = comm->members[i].marks[mark];
		if (i != hub && call->ends[i].stream
		    && !(st = comm_set_mark(event, call->ends[i].stream, err))) {
			st = comm_wait(call->ends[hub].stream, event, NULL, err);
		}
	}
	st = st ? st : comm_fan_out(comm, call, hub, mark, err);
	comm->hub = hub;
	device_leave(comm->members[hub].device, &scope);
	return st;
}

/* Streams that are not captured join the capture of the hub. */
static kz_status comm_join_capture(struct kz_comm *comm, const struct comm_call *call,
	kz_error *err)
{
	const int hub = comm_hub(comm, call);
	struct capture *capture = stream_capture(call->ends[hub].stream);
	struct device_scope scope;
	if (likely(!capture)) {
		return KZ_OK;
	}
	for (int i = 0; i < comm->local_count; i++) {
		struct capture *other = call->ends[i].stream ? stream_capture(call->ends[i].stream)
			: NULL;
		if (other && other != capture) {
			return error_set(err, KZ_STATE, "the streams of members %d and %d are "
				"captured into two graphs", comm->first + hub, comm->first + i);
		}
	}
	kz_status st = device_enter(comm->members[hub].device, &scope, err);
	if (!st) {
		st = comm_fan_out(comm, call, hub, COMM_BEFORE, err);
		device_leave(comm->members[hub].device, &scope);
	}
	return st;
}

typedef kz_status comm_order(struct memory *memory, struct kz_stream *stream, kz_error *err);

static kz_status comm_each_memory(struct kz_comm *comm, const struct comm_call *call,
	comm_order *order, kz_error *err)
{
	kz_status st = KZ_OK;
	for (int i = 0; i < comm->local_count && !st; i++) {
		const struct comm_end *end = &call->ends[i];
		struct device_scope scope;
		if (!end->stream || (st = device_enter(comm->members[i].device, &scope, err))) {
			continue;
		}
		if (end->from.memory) {
			st = order(end->from.memory, end->stream, err);
		}
		if (!st && end->into.memory) {
			st = order(end->into.memory, end->stream, err);
		}
		device_leave(comm->members[i].device, &scope);
	}
	return st;
}

kz_status comm_begin(struct kz_comm *comm, const struct comm_call *call, kz_error *err)
{
	kz_status st = comm_join_capture(comm, call, err);
	return st ? st : comm_each_memory(comm, call, memory_use, err);
}

kz_status comm_end(struct kz_comm *comm, const struct comm_call *call, kz_error *err)
{
	kz_status st = comm_each_memory(comm, call, memory_used, err);
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

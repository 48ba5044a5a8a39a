/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_TRACE_H
#define LIB_CORE_TRACE_H

/*
 * The trace of the process: what is launched, copied, compiled and allocated, as events of Chrome's
 * trace format, and as ranges of a tool that listens (nvtx.h).  While both are off, a place that
 * reports reads one flag.
 *
 *	if (unlikely(trace_is_on())) {
 *		struct trace_op op;
 *		trace_op_begin(&op, stream, "htod");
 *		st = ...;                         // the driver's call
 *		trace_op_end(&op, st, "copy", "\"bytes\":%lld", size);
 *	}
 */
#include "lib/core/device.h"

#include <kudzu/leaks.h>

#include <stdatomic.h>

extern atomic_bool trace_on;

static inline bool trace_is_on(void)
{
	return atomic_load_explicit(&trace_on, memory_order_relaxed);
}

/* An operation of a stream, which has a beginning and an end on the device. */
struct trace_op {
	struct kz_stream *stream;
	const char *name;
	struct trace_record *record; /* NULL: no memory, or the trace has ended */
	uint64_t session;            /* the trace in which it began */
	uint64_t start_ns;
	bool is_pushed;              /* as a range of a tool */
};

/* Around the driver's call, with the context current; stream and name stay until the end.  `args`
 * are members of a JSON object. */
void trace_op_begin(struct trace_op *op, struct kz_stream *stream, const char *name);
void trace_op_end(struct trace_op *op, kz_status st, const char *category, const char *args, ...)
	printf_like(4, 5);

/* Of a launch: its stream's number, the three extents of grid and block, bytes of shared memory. */
#define TRACE_LAUNCH_ARGS "\"stream\":%lld,\"grid\":[%lld,%lld,%lld],\"block\":[%lld,%lld,%lld]," \
	"\"shared\":%lld"

/* What a thread has done since start_ns (clock.h). */
void trace_host(uint64_t start_ns, const char *category, const char *name, const char *args, ...)
	printf_like(4, 5);

/* A point in the calling thread: 'B' and 'E' begin and end a range, 'b' and 'e' one that has an id
 * and belongs to no thread, 'i' is a mark. */
void trace_point(char phase, uint64_t id, const char *category, const char *name);

/* A call replaced the handle of an object that is live: a mark in its thread, when it did. */
void trace_loss(const struct kz_leak *leak, uint64_t ns, int thread);
/* Call this at the beginning of kz_trace_end. */
void trace_before_end(void (*tell)(void));

/* Where an event was recorded: the stream, and how many operations the trace had seen there and on
 * the device.  Zeros where no trace was on. */
struct trace_mark {
	uint64_t session;
	int64_t stream;
	uint64_t in_stream;
	uint64_t on_device;
};

/* The mark of an event that is recorded in a stream now. */
struct trace_mark trace_mark_make(const struct kz_stream *stream);
/* The time between two events is asked for: a mark in the trace if all the work between them went
 * to other streams, which they do not measure. */
void trace_mark_compare(const struct trace_mark *start, const struct trace_mark *stop);

/* Some work of the device has passed: write what has ended.  The context is current. */
void trace_passed(struct kz_device *dev);

/* Begin the trace that KUDZU_TRACE asks for, and load the tool of NVTX, once in a process. */
kz_status trace_begin_asked(kz_error *err);
/* The device ends, its context is there still: wait for what is traced, and write it. */
void trace_end_device(struct kz_device *dev);

#endif

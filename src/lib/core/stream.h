/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_STREAM_H
#define LIB_CORE_STREAM_H

/* Streams and events: how they are made, and order between them. */
#include "lib/core/device.h"
#include "lib/core/trace.h"

#include <kudzu/timing.h>

struct kz_event {
	uint32_t tag;
	atomic_int refs;
	struct kz_device *device;
	CUevent handle;
	unsigned flags;             /* CUevent_flags */
	atomic_bool recorded;
	struct trace_mark mark;     /* where it was recorded, for a trace; under the lock */
	pthread_mutex_t lock;       /* of the next one, but for whether it is NULL */
	_Atomic(struct capture *) capture; /* that it marks a point of, counted; else NULL */
};

/* stream.c */

/* Undo stream_retain; unlike kz_stream_release it counts the default stream too. */
void stream_release(struct kz_stream *stream);
/* The same for each of a list of streams that have left a capture. */
void stream_release_captured(struct kz_stream *streams);
/* Create what a stream is made of; the context is current.  Without options it has its handle
 * already.  stream_finish undoes it. */
kz_status stream_init(struct kz_stream *stream, struct kz_device *dev,
	const kz_stream_options *options, kz_error *err);
void stream_finish(struct kz_stream *stream);
/* Wait for the work in all streams of a device; captures go on.  The context is current. */
CUresult stream_wait_all(struct kz_device *dev);

/* timing.c */

/* Sort times, of which there is one or more, and describe them. */
kz_spread timing_spread(double *times, int64_t count);

/* capture.c */

/* Fail because a stream is captured, which `call` cannot be. */
kz_status capture_refuse_stream(const struct kz_stream *stream, kz_error *err);

/* Fail if it is. */
static inline kz_status stream_check_free(const struct kz_stream *stream,
	kz_error *err)
{
	return likely(!stream_capture(stream)) ? KZ_OK : capture_refuse_stream(stream, err);
}

/* stream_order.c */

/* Let `later`, which is not captured, wait for all that is in `earlier` now.  What a captured
 * stream is to do when its graph is launched does not count.  The context of either is current. */
kz_status stream_order(struct kz_stream *later, struct kz_stream *earlier, kz_error *err);
/* The stream of options or the default; fails if it is of another device. */
kz_status stream_pick(struct kz_stream **out, struct kz_device *dev, struct kz_stream *stream,
	kz_error *err);

/* Wait for the work in a stream; for one that is captured, for what it had before.  The context is
 * current. */
CUresult stream_wait(struct kz_stream *stream);

/* Whether all work in a stream has passed; false if that cannot be said.  The context of it is
 * current, as for stream_find_capturing. */
bool stream_is_done(struct kz_stream *stream);
/* Whether all work in all streams of a device has passed.  Not under the lock of a pool. */
bool stream_are_all_done(struct kz_device *dev);
/* Whether a stream is being captured; *out is true, too, if that cannot be said. */
kz_status stream_find_capturing(bool *out, struct kz_stream *stream, kz_error *err);
bool stream_is_capturing(struct kz_stream *stream);
/* Whether a stream has a count, which may fall to 0 at any time; and raise the count if it has. */
bool stream_is_living(struct kz_stream *stream);
bool stream_retain_living(struct kz_stream *stream);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CORE_STREAM_H
#define CORE_STREAM_H

/* Streams and events: how they are made, and order between them. */
#include "core/device.h"

struct kz_event {
	atomic_int refs;
	struct kz_device *device;
	CUevent handle;
	unsigned flags;             /* CUevent_flags */
	atomic_bool recorded;
};

/* stream.c */

/* Undo stream_retain; unlike kz_stream_release it counts the default stream too. */
void stream_release(struct kz_stream *stream);
/* Create what a stream is made of; the context is current.  stream_finish undoes it. */
kz_status stream_init(struct kz_stream *stream, struct kz_device *dev,
	const kz_stream_options *options, kz_error *err);
void stream_finish(struct kz_stream *stream);

/* stream_order.c */

/* Let `later` wait for all that is in `earlier` now; the context of either is current. */
kz_status stream_order(struct kz_stream *later, struct kz_stream *earlier, kz_error *err);
/* The stream of options or the default; fails if it is of another device. */
kz_status stream_pick(struct kz_stream **out, struct kz_device *dev, struct kz_stream *stream,
	kz_error *err);

/* Whether all work in a stream has passed; false if that cannot be said.  The context of it is
 * current, as for stream_is_capturing. */
bool stream_is_done(struct kz_stream *stream);
bool stream_is_capturing(struct kz_stream *stream);
/* Whether a stream has a count, which may fall to 0 at any time; and raise the count if it has. */
bool stream_is_living(struct kz_stream *stream);
bool stream_retain_living(struct kz_stream *stream);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_STREAM_H
#define KUDZU_STREAM_H

/*
 * Streams and events.  A stream is a queue of work on a device; an event marks a point in it.
 *
 *	kz_event_record(start, stream, &err);
 *	kz_launch(kernel, grid, block, &options, &err, KZ_ARGS(a));
 *	kz_event_record(stop, stream, &err);
 *	kz_event_synchronize(stop, &err);
 *	kz_event_elapsed_ms(&ms, start, stop, &err);
 *
 * Order between streams: everything that touches one buffer or array happens in the order of the
 * calls, whichever streams they name.  The library makes the later stream wait for the earlier one
 * by an event.  Work that shares no buffer may overlap.
 *
 * The same holds on the CPU device: streams are queues, and threads of the driver do their work
 * beside the program.  If nothing is queued and the work is short, a call may do it before it
 * returns.
 */
#include <kudzu/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An event; opaque and counted. */
typedef struct kz_event kz_event;

/**
 * Create a stream.
 *
 * @param priority 0 is the default; lower numbers are more urgent.  Clamped to the device's range.
 * Ownership: release it with kz_stream_release.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_create(kz_stream **out, kz_device *dev, int priority,
	kz_error *err);

/**
 * Release a stream.  Work in flight goes on.  Nothing happens for the default stream and NULL.
 */
KZ_API void kz_stream_release(kz_stream *stream);

/** Return the device of a stream.  Borrowed. */
KZ_API kz_device *kz_stream_device(const kz_stream *stream);

/** Return the driver's CUstream, for other libraries.  Borrowed; lives as long as the stream. */
KZ_API void *kz_stream_handle(const kz_stream *stream);

/**
 * Wait until all work in the stream is done.
 *
 * @return KZ_OK; the failure of work that ran before.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_synchronize(kz_stream *stream, kz_error *err);

/** Return KZ_OK if all work in the stream is done, KZ_NOT_READY (err untouched) if not. */
KZ_API KZ_NODISCARD kz_status kz_stream_query(kz_stream *stream, kz_error *err);

/**
 * Make all later work in a stream wait for an event.
 *
 * @param event of any device of the same driver.  One that was never recorded causes no wait.
 * Async: returns at once.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_wait(kz_stream *stream, kz_event *event, kz_error *err);

/**
 * Create an event that measures time.
 *
 * Ownership: release it with kz_event_release.
 */
KZ_API KZ_NODISCARD kz_status kz_event_create(kz_event **out, kz_device *dev, kz_error *err);

/** Release an event.  NULL is fine. */
KZ_API void kz_event_release(kz_event *event);

/**
 * Mark this point of a stream.
 *
 * @param stream of the event's device; NULL for its default stream.
 * Async: returns at once.
 */
KZ_API KZ_NODISCARD kz_status kz_event_record(kz_event *event, kz_stream *stream, kz_error *err);

/** Wait until the work before the event is done. */
KZ_API KZ_NODISCARD kz_status kz_event_synchronize(kz_event *event, kz_error *err);

/** Return KZ_OK if the work before the event is done, KZ_NOT_READY (err untouched) if not. */
KZ_API KZ_NODISCARD kz_status kz_event_query(kz_event *event, kz_error *err);

/**
 * Measure the time between two events.
 *
 * @param out milliseconds.
 * @return KZ_OK; KZ_NOT_READY while either is still in flight; KZ_INVALID if one was never recorded
 *         or they belong to two devices.
 */
KZ_API KZ_NODISCARD kz_status kz_event_elapsed_ms(double *out, kz_event *start, kz_event *stop,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif

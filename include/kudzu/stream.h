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
 * by an event.  Work that shares no buffer may overlap.  Two streams that use one buffer take
 * turns, even if both only read it.  The library does not see a use by an address, KZ_DEVPTR of
 * kz_buffer_address: then the order is the program's task, up to the release.
 *
 * The device's default stream, which calls without a stream use, is a stream like any other: it
 * does not wait for the others, nor they for it, as CUDA's legacy default stream would.
 *
 * The same holds on the CPU device: streams are queues, and threads of the driver do their work
 * while the program goes on.  If nothing is queued and the work is short, a call may do it before
 * it returns.
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

/** How to create a stream.  Initialize with KZ_STREAM_OPTIONS_INIT. */
typedef struct kz_stream_options {
	size_t size;      /**< sizeof(kz_stream_options) */
	int32_t priority; /**< 0 is the default; lower numbers are more urgent.  Clamped to the
	                       device's range, see kz_stream_priorities */
	int32_t blocking; /**< nonzero: its work and that of CUDA's legacy default stream (NULL),
	                       which other code of the program may use, wait for each other.  0:
	                       they do not (CU_STREAM_NON_BLOCKING) */
	void *reserved[4];
} kz_stream_options;

#ifdef __cplusplus
#define KZ_STREAM_OPTIONS_INIT kz_sized_init<kz_stream_options>()
#else
#define KZ_STREAM_OPTIONS_INIT {.size = sizeof(kz_stream_options)}
#endif

/**
 * Create a stream with options.
 *
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID; KZ_NO_MEMORY; KZ_UNSUPPORTED for a priority if the driver knows none;
 *         the driver's failures.
 * Ownership: release it with kz_stream_release.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_create_with(kz_stream **out, kz_device *dev,
	const kz_stream_options *options, kz_error *err);

/**
 * Ask which priorities streams of a device can have.
 *
 * @param least set to the number of the least urgent priority; may be NULL.
 * @param greatest set to the number of the most urgent priority, which is at most `least`; may be
 *        NULL.  Both are 0 on a device that has no priorities, and on failure.
 * @return KZ_OK; KZ_INVALID; KZ_UNSUPPORTED; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_priorities(int *least, int *greatest, kz_device *dev,
	kz_error *err);

/**
 * Use a stream that another library or the program itself has created.
 *
 * @param handle a CUstream (cudaStream_t) of the device's primary context.  NULL is the legacy
 *        default stream.  CU_STREAM_PER_THREAD is refused, since it is another stream in each
 *        thread.
 * @return KZ_OK; KZ_INVALID for a stream of another context; KZ_NO_MEMORY; the driver's failures.
 * Ownership: release it with kz_stream_release.  The handle is borrowed until then; the call does
 *        not
 *         destroy it.  What was last used in the stream is from then on ordered by the device's
 *         default stream, which waits for the work.  Do not use such arrays and buffers in another
 *         thread during the release.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_wrap(kz_stream **out, kz_device *dev, void *handle,
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
 * @return KZ_OK; the failure of work that ran before; KZ_IO if text that kernels printed is lost
 *         (output.h).
 */
KZ_API KZ_NODISCARD kz_status kz_stream_synchronize(kz_stream *stream, kz_error *err);

/** Return KZ_OK if all work in the stream is done, KZ_NOT_READY (err untouched) if not. */
KZ_API KZ_NODISCARD kz_status kz_stream_query(kz_stream *stream, kz_error *err);

/** What is known of a stream.  Initialize with KZ_STREAM_INFO_INIT. */
typedef struct kz_stream_info {
	size_t size;       /**< sizeof(kz_stream_info) */
	int32_t priority;  /**< lower numbers are more urgent; 0 if the driver cannot tell */
	int32_t blocking;  /**< 1: as kz_stream_options has it; 0 if the driver cannot tell */
	int32_t capturing; /**< 1: work goes into a graph and does not run yet */
	int32_t reserved;
} kz_stream_info;

#ifdef __cplusplus
#define KZ_STREAM_INFO_INIT kz_sized_init<kz_stream_info>()
#else
#define KZ_STREAM_INFO_INIT {.size = sizeof(kz_stream_info)}
#endif

/**
 * Describe a stream; `info->size` as for kz_device_describe.
 *
 * @return KZ_OK; KZ_INVALID; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_describe(kz_stream *stream, kz_stream_info *info,
	kz_error *err);

/**
 * Call a function of the program when the stream comes to it.  Later work in the stream waits until
 * it returns.
 *
 * The driver calls it in a thread of its own.  It must not call CUDA or Kudzu, except for functions
 * on kz_error values, and must not wait for work of any stream.  It is not called if work before it
 * failed.  In a capture it becomes a part of the graph, and each launch of the graph calls it.
 *
 * @param function with C linkage; it must not throw or jump out.
 * @param user passed on; it must stay valid until the stream has passed the call.
 * @return KZ_OK; KZ_INVALID; KZ_UNSUPPORTED; the driver's failures.
 * Async: returns at once.
 */
KZ_API KZ_NODISCARD kz_status kz_stream_host(kz_stream *stream, void (*function)(void *user),
	void *user, kz_error *err);

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

/** How to create an event.  Initialize with KZ_EVENT_OPTIONS_INIT. */
typedef struct kz_event_options {
	size_t size;            /**< sizeof(kz_event_options) */
	int32_t disable_timing; /**< nonzero: it measures no time, and costs less */
	int32_t blocking_sync;  /**< nonzero: a thread that waits for it sleeps, and does not
	                             spin */
	int32_t interprocess;   /**< nonzero: kz_event_export can share it; needs disable_timing */
	int32_t reserved_int;
	void *reserved[4];
} kz_event_options;

#ifdef __cplusplus
#define KZ_EVENT_OPTIONS_INIT kz_sized_init<kz_event_options>()
#else
#define KZ_EVENT_OPTIONS_INIT {.size = sizeof(kz_event_options)}
#endif

/**
 * Create an event with options.
 *
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID, also for an event that is to be shared and to measure time;
 *         KZ_NO_MEMORY; the driver's failures.
 * Ownership: release it with kz_event_release.
 */
KZ_API KZ_NODISCARD kz_status kz_event_create_with(kz_event **out, kz_device *dev,
	const kz_event_options *options, kz_error *err);

/**
 * A name of an object that processes on one machine share.  Send its bytes to the other
 * process.
 */
typedef struct kz_ipc_handle {
	unsigned char bytes[64]; /**< as the driver made them */
} kz_ipc_handle;

/**
 * Make a handle with which another process can use an event.
 *
 * @param out set to the handle; zeros on failure.
 * @param event created with the option `interprocess`.
 * @return KZ_OK; KZ_INVALID for another event; KZ_UNSUPPORTED; the driver's failures.
 * Ownership: the handle is good until the event is released.
 */
KZ_API KZ_NODISCARD kz_status kz_event_export(kz_ipc_handle *out, kz_event *event, kz_error *err);

/**
 * Open the event that another process has exported.
 *
 * @param dev the same device as in the other process.
 * @return KZ_OK; KZ_INVALID; KZ_NO_MEMORY; KZ_UNSUPPORTED; KZ_PERMISSION on the CPU device for a
 *         process of another user; the driver's failures, also for a handle that this process has
 *         made.
 * Ownership: release it with kz_event_release.
 */
KZ_API KZ_NODISCARD kz_status kz_event_import(kz_event **out, kz_device *dev,
	const kz_ipc_handle *handle, kz_error *err);

/** Release an event.  NULL is fine. */
KZ_API void kz_event_release(kz_event *event);

/**
 * Mark this point of a stream.
 *
 * It marks that stream alone.  The default stream does not wait for other streams, and they do not
 * wait for it: two events in the default stream do not measure work in another one.  Record both in
 * the stream that does the work.
 *
 * @param stream of the event's device; NULL for its default stream.
 * Async: returns at once.
 */
KZ_API KZ_NODISCARD kz_status kz_event_record(kz_event *event, kz_stream *stream, kz_error *err);

/** Wait until the work before the event is done.  Returns as kz_stream_synchronize. */
KZ_API KZ_NODISCARD kz_status kz_event_synchronize(kz_event *event, kz_error *err);

/** Return KZ_OK if the work before the event is done, KZ_NOT_READY (err untouched) if not. */
KZ_API KZ_NODISCARD kz_status kz_event_query(kz_event *event, kz_error *err);

/**
 * Measure the time between two events.  kz_time (timing.h) measures a call that is repeated.
 *
 * @param out milliseconds.
 * @return KZ_OK; KZ_NOT_READY while either is still in flight; KZ_INVALID if one was never
 *         recorded, measures no time, or they belong to two devices.
 */
KZ_API KZ_NODISCARD kz_status kz_event_elapsed_ms(double *out, kz_event *start, kz_event *stop,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif

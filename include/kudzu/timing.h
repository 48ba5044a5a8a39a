/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_TIMING_H
#define KUDZU_TIMING_H

/*
 * How long a call takes, on the device and on the host.
 *
 *	kz_timing t = KZ_TIMING_INIT;
 *	if (kz_time(&t, stream, 20, kz_launch_1d(saxpy, n, KZ_WITH(kz_launch_options,
 *		    .stream = stream), &err, KZ_ARGS(y, x, a, n)), &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	printf("%.3f ms (%.3f to %.3f), with the host %.3f ms\n", t.device.median_ms,
 *		t.device.q1_ms, t.device.q3_ms, t.host.median_ms);
 *
 * The call is made some times before it is measured: once, and once for every ten of `repeat`.  It
 * compiles what it needs, fills caches and wakes the device.  After each call, measured or not,
 * kz_time waits for all work of the device.
 *
 * The time on the device is that between two events in the stream, one before and one after the
 * call.  Work in other streams does not count, unless the stream waits for it.  The time on the
 * host is that from the call until all work of the device is done.
 *
 * A call that makes an array makes one each time, which nobody releases.  Let it write into an
 * array that is there: kz_add_into(c, a, b, &err), or `into` in its options.
 */
#include <kudzu/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * How times are spread, in milliseconds.  A quartile between two measured times is interpolated, as
 * numpy's percentile does.
 */
typedef struct kz_spread {
	double min_ms;    /**< the shortest */
	double q1_ms;     /**< the first quartile */
	double median_ms; /**< the second quartile */
	double q3_ms;     /**< the third quartile; q3_ms - q1_ms is the interquartile range */
	double max_ms;    /**< the longest */
} kz_spread;

/** The times of a call.  Initialize with KZ_TIMING_INIT. */
typedef struct kz_timing {
	size_t size;       /**< sizeof(kz_timing) */
	int64_t count;     /**< how many calls were measured */
	int64_t remaining; /**< how many calls are still to be made, see kz_timing_begin */
	kz_spread device;  /**< between events around the call in the stream */
	kz_spread host;    /**< from the call until all work of the device is done */
	void *state;       /**< the library's, while calls remain */
	void *reserved[4];
} kz_timing;

#ifdef __cplusplus
#define KZ_TIMING_INIT kz_sized_init<kz_timing>()
#else
#define KZ_TIMING_INIT {.size = sizeof(kz_timing)}
#endif

/**
 * Begin to measure a call; for languages without kz_time, which does the same.
 *
 *	kz_status st = kz_timing_begin(&t, stream, 20, &err);
 *	while (!st && t.remaining > 0) {
 *		st = kz_timing_next(&t, call(), &err);
 *	}
 *
 * @param out `remaining` is set to the number of calls, the times to 0.
 * @param stream in which the call works; kz_device_stream(dev) for calls that name none.  Borrowed
 *        until no call remains.
 * @param repeat how many calls are measured, from 1.
 * @return KZ_OK; KZ_INVALID, also for a repeat below 1; KZ_STATE for a stream that is captured, and
 *         if work of the device is; KZ_NO_MEMORY; the failures of work that ran before, and the
 *         driver's.
 * Ownership: what it takes is freed by the kz_timing_next of the last call, or of one that failed.
 *         Do not copy `out`, or begin it again, while calls remain.
 */
KZ_API KZ_NODISCARD kz_status kz_timing_begin(kz_timing *out, kz_stream *stream, int64_t repeat,
	kz_error *err);

/**
 * End the measurement of one call and begin that of the next one; after the last one set the times.
 *
 * @param timing as kz_timing_begin has set it.
 * @param call what the call has returned.  Another status than KZ_OK ends the measurement.
 * @return KZ_OK; `call`, with err untouched; KZ_STATE if no call remains; the failures of the
 *         call's work and the driver's.  On failure no call remains and the times are 0.
 */
KZ_API KZ_NODISCARD kz_status kz_timing_next(kz_timing *timing, kz_status call, kz_error *err);

#ifdef __cplusplus
}
#endif

/**
 * Measure a call: its status is KZ_OK, or that of the first call that failed.
 *
 * It is kz_timing_begin and the loop in its comment.  `call` is an expression with a kz_status; it
 * must not leave the expression by longjmp or an exception.  For gcc and clang.
 */
#ifdef __GNUC__
#define kz_time(out, stream, repeat, call, err) \
	(__extension__({ \
		kz_timing *const kz_pp_timing_ = (out); \
		kz_status kz_pp_status_ = kz_timing_begin(kz_pp_timing_, (stream), (repeat), \
			(err)); \
		while (!kz_pp_status_ && kz_pp_timing_->remaining > 0) { \
			kz_pp_status_ = kz_timing_next(kz_pp_timing_, (call), (err)); \
		} \
		kz_pp_status_; \
	}))
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The time of a call: events around it in a stream, and the host's clock until the device is idle.
 *
 * The state of a measurement lives from kz_timing_begin to the kz_timing_next that ends it.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "lib/core/stream.h"

#include <stdlib.h>

enum { TIMING_HOST, TIMING_DEVICE, TIMING_KINDS };

struct timing_state {
	kz_stream *stream;
	kz_event *before, *behind;
	int64_t repeat;
	uint64_t begin_ns;            /* of the call, on the host */
	double *times[TIMING_KINDS];  /* in ms, of the calls that are measured */
};

static void timing_free(struct timing_state *state)
{
	if (state) {
		kz_event_release(state->before);
		kz_event_release(state->behind);
		mem_free(state->times[TIMING_HOST]);
		mem_free(state->times[TIMING_DEVICE]);
		mem_free(state);
	}
}

/* End it, after a failure. */
static kz_status timing_abandon(kz_timing *timing, kz_status st)
{
	timing_free(timing->state);
	*timing = (kz_timing)KZ_TIMING_INIT;
	return st;
}

static kz_status timing_create(struct timing_state **out, kz_stream *stream, int64_t repeat,
	kz_error *err)
{
	struct kz_device *dev = stream->device;
	struct timing_state *state = mem_zalloc(1, sizeof(*state));
	kz_status st;
	if (!state) {
		return error_no_memory(err);
	}
	state->stream = stream;
	state->repeat = repeat;
	for (int kind = 0; kind < TIMING_KINDS; kind++) {
		state->times[kind] = mem_zalloc((size_t)repeat, sizeof(double));
	}
	if (!state->times[TIMING_HOST] || !state->times[TIMING_DEVICE]) {
		st = error_no_memory(err);
	} else if (!(st = kz_event_create(&state->before, dev, err))) {
		st = kz_event_create(&state->behind, dev, err);
	}
	if (st) {
		timing_free(state);
		return st;
	}
	*out = state;
	return KZ_OK;
}

/* The call comes next. */
static kz_status timing_start(struct timing_state *state, kz_error *err)
{
	state->begin_ns = clock_now_ns();
	return kz_event_record(state->before, state->stream, err);
}

/* The call was made: keep its times, if `index` is not below 0. */
static kz_status timing_stop(struct timing_state *state, int64_t index, kz_error *err)
{
	double device_ms = 0;
	kz_status st;
	if ((st = kz_event_record(state->behind, state->stream, err))
	    || (st = kz_device_synchronize(state->stream->device, err))) {
		return st;
	}
	const uint64_t end_ns = clock_now_ns();
	if (index < 0) {
		return KZ_OK;
	}
	st = kz_event_elapsed_ms(&device_ms, state->before, state->behind, err);
	state->times[TIMING_HOST][index] = 1e-6 * (double)(end_ns - state->begin_ns);
	state->times[TIMING_DEVICE][index] = device_ms;
	return st;
}

static int timing_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The number below which this share of sorted numbers is. */
static double timing_quantile(const double *sorted, int64_t count, double share)
{
	const double place = share * (double)(count - 1);
	const int64_t index = (int64_t)place;
	const double low = sorted[index], high = sorted[index + (index + 1 < count)];
	return low + (place - (double)index) * (high - low);
}

kz_spread timing_spread(double *times, int64_t count)
{
	qsort(times, (size_t)count, sizeof(*times), timing_compare);
	return (kz_spread){times[0], timing_quantile(times, count, .25),
		timing_quantile(times, count, .5), timing_quantile(times, count, .75),
		times[count - 1]};
}

static kz_status timing_check(const kz_timing *timing, kz_error *err)
{
	kz_status st = pointer_check(timing, "a kz_timing", err);
	return st || timing->size == sizeof(*timing) ? st
		: struct_refuse("kz_timing", timing->size, sizeof(*timing), err);
}

kz_status kz_timing_begin(kz_timing *out, kz_stream *stream, int64_t repeat, kz_error *err)
{
	error_scope(err);
	struct timing_state *state = NULL;
	kz_status st = timing_check(out, err);
	if (st) {
		return st;
	}
	*out = (kz_timing)KZ_TIMING_INIT;
	if ((st = object_check(stream, OBJECT_STREAM, err))) {
		return st;
	}
	if (repeat < 1) {
		return error_set(err, KZ_INVALID, "expected a repeat of 1 or more, got %lld",
			(long long)repeat);
	}
	if ((st = stream_check_free(stream, err))
	    || (st = timing_create(&state, stream, repeat, err))) {
		return st;
	}
	out->state = state;
	out->remaining = 1 + repeat / 10 + repeat;
	if ((st = kz_device_synchronize(stream->device, err)) || (st = timing_start(state, err))) {
		return timing_abandon(out, st);
	}
	return KZ_OK;
}

kz_status kz_timing_next(kz_timing *timing, kz_status call, kz_error *err)
{
	error_scope(err);
	kz_status st = timing_check(timing, err);
	struct timing_state *state = st ? NULL : timing->state;
	if (st) {
		return st;
	}
	if (!state) {
		return error_set(err, KZ_STATE, "expected a kz_timing with calls that remain");
	}
	if (call) {
		return timing_abandon(timing, call);
	}
	timing->remaining--;
	if ((st = timing_stop(state, state->repeat - timing->remaining - 1, err))) {
		return timing_abandon(timing, st);
	}
	if (timing->remaining > 0) {
		st = timing_start(state, err);
		return st ? timing_abandon(timing, st) : KZ_OK;
	}
	timing->count = state->repeat;
	timing->host = timing_spread(state->times[TIMING_HOST], state->repeat);
	timing->device = timing_spread(state->times[TIMING_DEVICE], state->repeat);
	timing->state = NULL;
	timing_free(state);
	return KZ_OK;
}

/* SPDX-License-Identifier: MIT */
/* kz_time: how often it calls, what it says of the times, and failures.  No test measures time. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/stream.h"
#include "support/device_test.h"

/* A call that counts, and fails the `wrong`-th time. */
static int calls, wrong;

static kz_status count_call(kz_error *error)
{
	calls++;
	return calls == wrong ? error_set(error, KZ_NUMERIC, "call %d", calls) : KZ_OK;
}

static void expect_zeros(const kz_timing *t)
{
	const kz_timing zero = KZ_TIMING_INIT;
	ck_assert_mem_eq(t, &zero, sizeof(zero));
}

static void expect_order(const kz_spread *s)
{
	ck_assert(0 <= s->min_ms && s->min_ms <= s->q1_ms && s->q1_ms <= s->median_ms
		&& s->median_ms <= s->q3_ms && s->q3_ms <= s->max_ms);
}

DEVICE_TEST(a_call_is_repeated_after_calls_that_are_not_measured)
{
	static const int repeats[][2] = {{1, 2}, {9, 10}, {10, 12}, {25, 28}};
	for (size_t i = 0; i < countof(repeats); i++) {
		kz_timing t = KZ_TIMING_INIT;
		calls = wrong = 0;
		ok(kz_time(&t, kz_device_stream(dev), repeats[i][0], count_call(&err), &err));
		ck_assert_int_eq(calls, repeats[i][1]);
		ck_assert_int_eq(t.count, repeats[i][0]);
		ck_assert_int_eq(t.remaining, 0);
		ck_assert_ptr_null(t.state);
		expect_order(&t.device);
		expect_order(&t.host);
	}
}

/* The host waits for what the call has put into any stream, so its time is that of all of it. */
DEVICE_TEST(work_of_each_call_is_done_before_the_next_one)
{
	enum { COUNT = 1 << 16 };
	kz_timing t = KZ_TIMING_INIT;
	kz_stream *stream, *other;
	kz_buffer *buffer;
	const char seven = 7;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_stream_create(&other, dev, 0, &err));
	ok(kz_buffer_create(&buffer, dev, COUNT, &err));
	ok(kz_timing_begin(&t, stream, 3, &err));
	while (t.remaining > 0) {
		ok(kz_fill(buffer, 0, COUNT, &seven, 1, other, &err));
		ok(kz_timing_next(&t, KZ_OK, &err));
		ok(kz_stream_query(other, &err));
	}
	ck_assert_int_eq(t.count, 3);
	kz_buffer_release(buffer);
	kz_stream_release(other);
	kz_stream_release(stream);
}

DEVICE_TEST(a_call_that_fails_ends_it)
{
	for (int at = 1; at <= 5; at++) {
		kz_timing t = KZ_TIMING_INIT;
		calls = 0;
		wrong = at;
		fails(kz_time(&t, kz_device_stream(dev), 4, count_call(&err), &err), KZ_NUMERIC,
			"call");
		ck_assert_int_eq(calls, at);
		expect_zeros(&t);
	}
}

DEVICE_TEST(what_cannot_be_measured_is_refused_and_not_called)
{
	kz_timing t = KZ_TIMING_INIT, empty = {0};
	kz_stream *stream = kz_device_stream(dev);
	calls = wrong = 0;
	for (int repeat = -1; repeat < 1; repeat++) {
		fails(kz_time(&t, stream, repeat, count_call(&err), &err), KZ_INVALID,
			repeat ? "expected a repeat of 1 or more, got -1" : "got 0");
	}
	fails(kz_time(&t, NULL, 1, count_call(&err), &err), KZ_INVALID, "expected a stream");
	fails(kz_time(NULL, stream, 1, KZ_OK, &err), KZ_INVALID, "expected a kz_timing, got NULL");
	fails(kz_time(&empty, stream, 1, count_call(&err), &err), KZ_INVALID, "kz_timing");
	fails(kz_time(&t, stream, INT64_MAX, count_call(&err), &err), KZ_NO_MEMORY, "");
	fails(kz_timing_next(&t, KZ_OK, &err), KZ_STATE, "calls that remain");
	ck_assert_int_eq(calls, 0);
	expect_zeros(&t);
}

/* The driver fails in the midst of it. */
START_TEST(failures_of_the_driver_end_it)
{
	static const char *const scripts[] = {"fail=cuEventCreate:999@2",
		"fail=cuEventRecord:999@1", "fail=cuEventRecord:999@4",
		"fail=cuCtxSynchronize:999@3", "fail=cuEventElapsedTime:999@2"};
	kz_timing t = KZ_TIMING_INIT;
	calls = wrong = 0;
	open_stub(scripts[_i]);
	ck_assert_int_ne(kz_time(&t, kz_device_stream(dev), 5, count_call(&err), &err), KZ_OK);
	ck_assert_int_lt(calls, 6);
	expect_zeros(&t);
	kz_error_clear(&err);
	close_stub();
}
END_TEST

START_TEST(a_failing_allocation_leaves_nothing_behind)
{
	int failed = 0;
	open_stub("");
	for (bool done = false; !done; failed += !done) {
		kz_timing t = KZ_TIMING_INIT;
		mem_fail_after(failed);
		kz_status st = kz_time(&t, kz_device_stream(dev), 2, KZ_OK, &err);
		mem_fail_after(-1);
		done = st == KZ_OK;
		ck_assert(done || st == KZ_NO_MEMORY);
		kz_error_clear(&err);
	}
	ck_assert_int_ge(failed, 3);
	close_stub();
}
END_TEST

/* numpy.percentile(times, [0, 25, 50, 75, 100]) */
START_TEST(the_spread_is_numpys_percentiles)
{
	double one[] = {3}, two[] = {5, 1}, five[] = {9, 1, 4, 16, 25}, six[] = {6, 5, 4, 3, 2, 10};
	const struct {
		double *times;
		int64_t count;
		kz_spread want;
	} rows[] = {
		{one, 1, {3, 3, 3, 3, 3}}, {two, 2, {1, 2, 3, 4, 5}},
		{five, 5, {1, 4, 9, 16, 25}}, {six, 6, {2, 3.25, 4.5, 5.75, 10}},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		const kz_spread got = timing_spread(rows[i].times, rows[i].count);
		ck_assert_mem_eq(&got, &rows[i].want, sizeof(got));
	}
}
END_TEST

SUITE(timing)
{
	Suite *suite = suite_create("timing");
	TCase *tcase = suite_add_case(suite, "time");
	tcase_add_tests(tcase, support_device_count() + 1,
		a_call_is_repeated_after_calls_that_are_not_measured,
		work_of_each_call_is_done_before_the_next_one, a_call_that_fails_ends_it,
		what_cannot_be_measured_is_refused_and_not_called);
	tcase_add_loop_test(tcase, failures_of_the_driver_end_it, 0, 5);
	tcase_add_test(tcase, a_failing_allocation_leaves_nothing_behind);
	tcase_add_test(tcase, the_spread_is_numpys_percentiles);
	return suite;
}

/* SPDX-License-Identifier: MIT */
/* Streams and events: on the stub their errors and lifetimes, on every device found their order. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/stream.h"
#include "support/device_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

START_TEST(a_stream_lives_as_long_as_something_holds_it)
{
	kz_stream *stream, *urgent;
	open_stub("");
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_stream_create(&urgent, dev, -5, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamCreateWithPriority"), 1);
	ck_assert_int_eq(support_stub_live(STUB_STREAM), 3);
	ck_assert_ptr_eq(kz_stream_device(stream), dev);
	ck_assert_ptr_nonnull(kz_stream_handle(stream));
	ck_assert_ptr_ne(kz_stream_handle(stream), kz_stream_handle(kz_device_stream(dev)));
	kz_device_close(dev);
	ok(kz_stream_synchronize(stream, &err));
	kz_stream_release(stream);
	kz_stream_release(urgent);
	kz_stream_release(NULL);
	support_check_stub();
}
END_TEST

STUB_TEST(releasing_the_default_stream_leaves_it_alone, "")
{
	kz_stream *stream = kz_device_stream(dev);
	kz_stream_release(stream);
	kz_stream_release(stream);
	ok(kz_stream_synchronize(stream, &err));
	ck_assert_ptr_eq(kz_stream_device(stream), dev);
}

START_TEST(work_that_is_not_done_is_an_answer_not_an_error)
{
	kz_event *event;
	open_stub("fail=cuStreamQuery:600@1;fail=cuEventQuery:600@1");
	ck_assert_int_eq(kz_stream_query(kz_device_stream(dev), &err), KZ_NOT_READY);
	ck_assert_int_eq(err.status, KZ_OK);
	ok(kz_stream_query(kz_device_stream(dev), &err));
	ok(kz_event_create(&event, dev, &err));
	ck_assert_int_eq(kz_event_query(event, &err), KZ_NOT_READY);
	ck_assert_int_eq(err.status, KZ_OK);
	ok(kz_event_query(event, &err));
	kz_event_release(event);
	kz_device_close(dev);
}
END_TEST

START_TEST(nothing_in_place_of_an_object_is_refused)
{
	kz_stream *stream = (kz_stream *)&err;
	kz_event *event = (kz_event *)&err;
	double ms;
	open_stub("");
	fails(kz_stream_create(&stream, NULL, 0, &err), KZ_INVALID, "expected a device, got NULL");
	ck_assert_ptr_null(stream);
	fails(kz_event_create(&event, NULL, &err), KZ_INVALID, "expected a device, got NULL");
	ck_assert_ptr_null(event);
	fails(kz_stream_synchronize(NULL, &err), KZ_INVALID, "expected a stream, got NULL");
	fails(kz_stream_query(NULL, &err), KZ_INVALID, "expected a stream, got NULL");
	fails(kz_stream_wait(NULL, NULL, &err), KZ_INVALID, "expected a stream, got NULL");
	fails(kz_stream_wait(kz_device_stream(dev), NULL, &err), KZ_INVALID, "expected an event");
	fails(kz_event_record(NULL, NULL, &err), KZ_INVALID, "expected an event, got NULL");
	fails(kz_event_synchronize(NULL, &err), KZ_INVALID, "expected an event, got NULL");
	fails(kz_event_query(NULL, &err), KZ_INVALID, "expected an event, got NULL");
	fails(kz_event_elapsed_ms(&ms, NULL, NULL, &err), KZ_INVALID, "expected a start event");
	fails(kz_stream_create(NULL, dev, 0, &err), KZ_INVALID, "kz_stream_create: out is NULL");
	fails(kz_event_create(NULL, dev, &err), KZ_INVALID, "kz_event_create: out is NULL");
	fails(kz_event_elapsed_ms(NULL, NULL, NULL, &err), KZ_INVALID,
		"kz_event_elapsed_ms: out is NULL");
	ck_assert_ptr_null(kz_stream_device(NULL));
	ck_assert_ptr_null(kz_stream_handle(NULL));
	kz_device_close(dev);
}
END_TEST

STUB_TEST(events_of_two_devices_do_not_mix, "devices=2")
{
	kz_device *other;
	kz_event *start, *stop;
	double ms = 7;
	ok(kz_device_open(&other, "cuda:1", &err));
	ok(kz_event_create(&start, dev, &err));
	ok(kz_event_create(&stop, other, &err));
	fails(kz_event_record(start, kz_device_stream(other), &err), KZ_INVALID,
		"expected a stream of cuda:0, got one of cuda:1");
	fails(kz_event_elapsed_ms(&ms, start, stop, &err), KZ_INVALID,
		"the start event is of cuda:0, the stop event of cuda:1");
	ck_assert(ms == 0);
	ok(kz_stream_wait(kz_device_stream(other), start, &err));
	kz_event_release(start);
	kz_event_release(stop);
	kz_device_close(other);
}

STUB_TEST(an_event_that_was_never_recorded_measures_nothing, "")
{
	kz_event *start, *stop;
	double ms;
	ok(kz_event_create(&start, dev, &err));
	ok(kz_event_create(&stop, dev, &err));
	fails(kz_event_elapsed_ms(&ms, start, stop, &err), KZ_INVALID,
		"the start event was never recorded");
	ok(kz_event_record(start, NULL, &err));
	fails(kz_event_elapsed_ms(&ms, start, stop, &err), KZ_INVALID,
		"the stop event was never recorded");
	fails(kz_event_elapsed_ms(&ms, stop, start, &err), KZ_INVALID,
		"the start event was never recorded");
	ok(kz_event_record(stop, NULL, &err));
	ok(kz_event_elapsed_ms(&ms, start, stop, &err));
	ck_assert(ms >= 0);
	kz_event_release(start);
	kz_event_release(stop);
	kz_event_release(NULL);
}

/* The calls that one driver function stands behind, on a stream and an event that work. */

static kz_status create_stream(kz_stream *stream, kz_event *event)
{
	(void)event;
	kz_status st = kz_stream_create(&stream, dev, 0, &err);
	kz_stream_release(stream);
	return st;
}

static kz_status create_urgent(kz_stream *stream, kz_event *event)
{
	(void)event;
	kz_status st = kz_stream_create(&stream, dev, -1, &err);
	kz_stream_release(stream);
	return st;
}

static kz_status create_event(kz_stream *stream, kz_event *event)
{
	(void)stream;
	kz_status st = kz_event_create(&event, dev, &err);
	kz_event_release(event);
	return st;
}

static kz_status synchronize_stream(kz_stream *stream, kz_event *event)
{
	(void)event;
	return kz_stream_synchronize(stream, &err);
}

static kz_status query_stream(kz_stream *stream, kz_event *event)
{
	(void)event;
	return kz_stream_query(stream, &err);
}

static kz_status wait_for_event(kz_stream *stream, kz_event *event)
{
	return kz_stream_wait(stream, event, &err);
}

static kz_status record_event(kz_stream *stream, kz_event *event)
{
	return kz_event_record(event, stream, &err);
}

static kz_status synchronize_event(kz_stream *stream, kz_event *event)
{
	(void)stream;
	return kz_event_synchronize(event, &err);
}

static kz_status query_event(kz_stream *stream, kz_event *event)
{
	(void)stream;
	return kz_event_query(event, &err);
}

static kz_status measure(kz_stream *stream, kz_event *event)
{
	double ms;
	(void)stream;
	return kz_event_elapsed_ms(&ms, event, event, &err);
}

static const struct {
	const char *call;
	kz_status (*run)(kz_stream *stream, kz_event *event);
} calls[] = {
	{"cuStreamCreate", create_stream}, {"cuStreamCreateWithPriority", create_urgent},
	{"cuEventCreate", create_stream}, {"cuEventCreate", create_event},
	{"cuStreamSynchronize", synchronize_stream}, {"cuStreamQuery", query_stream},
	{"cuStreamWaitEvent", wait_for_event}, {"cuEventRecord", record_event},
	{"cuEventSynchronize", synchronize_event}, {"cuEventQuery", query_event},
	{"cuEventElapsedTime", measure}, {"cuCtxSetCurrent", synchronize_stream},
	{"cuCtxGetCurrent", synchronize_stream},
};

START_TEST(every_failing_call_reaches_the_user)
{
	static const int codes[] = {1, 2, 46, 201, 400, 600, 700, 719, 901, 999, 998};
	for (size_t i = 0; i < countof(codes); i++) {
		char script[64];
		kz_stream *stream;
		kz_event *event;
		open_stub("");
		ok(kz_stream_create(&stream, dev, 0, &err));
		ok(kz_event_create(&event, dev, &err));
		ok(kz_event_record(event, stream, &err));
		snprintf(script, sizeof(script), "fail=%s:%d@1", calls[_i].call, codes[i]);
		support_stub(script);
		bool query = codes[i] == 600 && strstr(calls[_i].call, "Query");
		kz_status st = calls[_i].run(stream, event);
		ck_assert_int_ne(st, KZ_OK);
		ck_assert_int_eq(err.code, query ? 0 : codes[i]);
		ck_assert_int_eq(err.status, query ? KZ_OK : st);
		kz_error_clear(&err);
		kz_event_release(event);
		kz_stream_release(stream);
		kz_device_close(dev);
		ck_assert_int_eq(support_stub_live(STUB_CONTEXT), 0);
	}
}
END_TEST

START_TEST(a_missing_function_names_the_driver_that_has_it)
{
	kz_stream *stream;
	support_stub("version=11000;missing=cuStreamCreateWithPriority,cuStreamQuery");
	ok(kz_device_open(&dev, "cuda:0", &err));
	fails(kz_stream_create(&stream, dev, -1, &err), KZ_UNSUPPORTED,
		"does not have cuStreamCreateWithPriority");
	ck_assert_ptr_null(stream);
	fails(kz_stream_query(kz_device_stream(dev), &err), KZ_UNSUPPORTED, "cuStreamQuery");
	close_stub();
}
END_TEST

STUB_TEST(creating_without_memory_leaves_nothing, "")
{
	kz_stream *stream;
	kz_event *event;
	mem_fail_after(0);
	ck_assert_int_eq(kz_stream_create(&stream, dev, 0, &err), KZ_NO_MEMORY);
	kz_error_clear(&err);
	mem_fail_after(0);
	ck_assert_int_eq(kz_event_create(&event, dev, &err), KZ_NO_MEMORY);
	kz_error_clear(&err);
	mem_fail_after(-1);
	ck_assert(!stream && !event);
}

/* Streams, events, buffers and arrays of its own in each thread; the device is shared. */
static void *use_everything(void *unused)
{
	for (int i = 0; i < 50; i++) {
		kz_stream *stream;
		kz_event *event;
		kz_buffer *buffer;
		kz_array *array;
		char byte = (char)i, back = 0;
		if (kz_stream_create(&stream, dev, 0, NULL) || kz_event_create(&event, dev, NULL)
		    || kz_buffer_create(&buffer, dev, 64, NULL)
		    || kz_fill(buffer, 0, 64, &byte, 1, stream, NULL)
		    || kz_event_record(event, stream, NULL) || kz_event_synchronize(event, NULL)
		    || kz_array_zeros(&array, dev, KZ_F64, KZ_SHAPE(3, 3), NULL)
		    || kz_copy_dtod_on(kz_array_buffer(array), 8, buffer, 8, 8, stream, NULL)
		    || kz_copy_dtoh(&back, 1, kz_array_buffer(array), 9, NULL) || back != byte) {
			return unused;
		}
		kz_stream_release(stream);
		kz_event_release(event);
		kz_buffer_release(buffer);
		kz_array_release(array);
	}
	return NULL;
}

enum { THREADS = 4 };

static void run_threads(void *(*run)(void *), void *argument)
{
	pthread_t threads[THREADS];
	for (size_t i = 0; i < countof(threads); i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run, argument), 0);
	}
	for (size_t i = 0; i < countof(threads); i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
}

STUB_TEST(threads_create_use_and_release_their_own_objects, "")
{
	kz_memory_stats stats;
	run_threads(use_everything, &err);
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_eq(stats.live_count, 0);
	ck_assert_int_eq(stats.live_size, 0);
	ck_assert_int_eq(stats.total_count, THREADS * 50 * 2);
}

/* Each thread has its own part of one memory, used in a stream that goes away at once. */
static void *use_view(void *whole)
{
	static atomic_int turn;
	int64_t offset = 64 * (atomic_fetch_add(&turn, 1) % THREADS);
	for (int i = 0; i < 100; i++) {
		kz_stream *stream;
		kz_buffer *view;
		int32_t value = i, back;
		if (kz_buffer_view(&view, whole, offset, 64, NULL)
		    || kz_stream_create(&stream, dev, 0, NULL)
		    || kz_fill(view, 0, 64, &value, 4, stream, NULL)
		    || kz_copy_dtoh(&back, 4, view, 0, NULL) || back != value) {
			return whole;
		}
		kz_stream_release(stream);
		kz_buffer_release(view);
	}
	return NULL;
}

STUB_TEST(threads_use_views_of_one_memory_in_their_own_streams, "")
{
	kz_buffer *whole;
	ok(kz_buffer_create(&whole, dev, 64 * THREADS, &err));
	run_threads(use_view, whole);
	kz_buffer_release(whole);
}

/* Every device found, and the stub */

DEVICE_TEST(events_measure_time_and_order_streams)
{
	enum { SIZE = 1 << 20 };
	kz_stream *first, *second;
	kz_event *start, *stop;
	kz_buffer *buffer;
	static char host[SIZE];
	double ms = -1;
	ok(kz_stream_create(&first, dev, 0, &err));
	ok(kz_stream_create(&second, dev, -1, &err));
	ok(kz_event_create(&start, dev, &err));
	ok(kz_event_create(&stop, dev, &err));
	ok(kz_buffer_create(&buffer, dev, SIZE, &err));
	ok(kz_event_record(start, first, &err));
	for (int i = 1; i <= 20; i++) {
		char byte = (char)i;
		ok(kz_fill(buffer, 0, SIZE, &byte, 1, i % 2 ? first : second, &err));
	}
	ok(kz_stream_wait(first, start, &err));
	ok(kz_copy_dtoh_async(host, SIZE, buffer, 0, first, &err));
	ok(kz_event_record(stop, first, &err));
	ok(kz_event_synchronize(stop, &err));
	ok(kz_event_query(stop, &err));
	ok(kz_event_elapsed_ms(&ms, start, stop, &err));
	ck_assert(ms >= 0);
	ck_assert(host[0] == 20 && host[SIZE - 1] == 20);
	kz_stream_release(first);
	kz_stream_release(second);
	kz_event_release(start);
	kz_event_release(stop);
	kz_buffer_release(buffer);
}

START_TEST(a_stream_that_was_waited_for_is_done)
{
	kz_stream *stream;
	dev = support_open_any(_i);
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_stream_synchronize(stream, &err));
	ok(kz_stream_query(stream, &err));
	kz_device_close(dev);
	ok(kz_stream_query(stream, &err));
	kz_stream_release(stream);
}
END_TEST

DEVICE_TEST(threads_share_a_real_device)
{
	kz_buffer *whole;
	run_threads(use_everything, &err);
	ok(kz_buffer_create(&whole, dev, 64 * THREADS, &err));
	run_threads(use_view, whole);
	kz_buffer_release(whole);
}

SUITE(stream)
{
	Suite *s = suite_create("stream");
	TCase *scripted = suite_add_case(s, "stub");
	TCase *each = suite_add_case(s, "each device");
	int count = support_device_count() + 1;
	tcase_add_tests(scripted, 1, a_stream_lives_as_long_as_something_holds_it,
		releasing_the_default_stream_leaves_it_alone,
		work_that_is_not_done_is_an_answer_not_an_error,
		nothing_in_place_of_an_object_is_refused, events_of_two_devices_do_not_mix,
		an_event_that_was_never_recorded_measures_nothing);
	tcase_add_loop_test(scripted, every_failing_call_reaches_the_user, 0, countof(calls));
	tcase_add_tests(scripted, 1, a_missing_function_names_the_driver_that_has_it,
		creating_without_memory_leaves_nothing,
		threads_create_use_and_release_their_own_objects,
		threads_use_views_of_one_memory_in_their_own_streams);
	tcase_set_timeout(each, 60);
	tcase_add_tests(each, count, events_measure_time_and_order_streams,
		a_stream_that_was_waited_for_is_done, threads_share_a_real_device);
	return s;
}

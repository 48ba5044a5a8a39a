/* SPDX-License-Identifier: MIT */
/* src/lib/core/stream.c: options of streams and events, foreign streams, host functions, shared
 * events. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/stream.h"
#include "support/device_test.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Options */

DEVICE_TEST(a_stream_has_the_priority_that_it_was_given)
{
	kz_stream_options options = KZ_STREAM_OPTIONS_INIT;
	kz_stream_info info = KZ_STREAM_INFO_INIT;
	kz_stream *stream = NULL, *plain = NULL;
	int least = 7, greatest = 7;
	ok(kz_stream_priorities(&least, &greatest, dev, &err));
	ck_assert_int_le(greatest, least);
	ok(kz_stream_priorities(NULL, NULL, dev, &err));
	options.priority = greatest;
	options.blocking = 1;
	ok(kz_stream_create_with(&stream, dev, &options, &err));
	ok(kz_stream_describe(stream, &info, &err));
	ck_assert_int_eq(info.priority, greatest);
	ck_assert_int_eq(info.blocking, 1);
	ck_assert_int_eq(info.capturing, 0);
	ok(kz_stream_create_with(&plain, dev, NULL, &err));
	ok(kz_stream_describe(plain, &info, &err));
	ck_assert(info.priority == 0 && info.blocking == 0);
	kz_stream_release(stream);
	kz_stream_release(plain);
}

STUB_TEST(options_reach_the_driver, "")
{
	kz_stream_options options = KZ_STREAM_OPTIONS_INIT;
	kz_stream_info info = KZ_STREAM_INFO_INIT;
	kz_stream *stream = NULL;
	int least = 7, greatest = 7;
	ok(kz_stream_priorities(&least, &greatest, dev, &err));
	ck_assert(least == 0 && greatest == -5);
	options.priority = -100;
	ok(kz_stream_create_with(&stream, dev, &options, &err));
	ok(kz_stream_describe(stream, &info, &err));
	ck_assert(info.priority == -5 && info.blocking == 0);
	kz_stream_release(stream);
}

STUB_TEST(bad_options_are_refused, "")
{
	kz_stream_options options = KZ_STREAM_OPTIONS_INIT;
	kz_event_options event_options = KZ_EVENT_OPTIONS_INIT;
	kz_stream_info info = {.size = 1};
	kz_stream *stream = (kz_stream *)&err;
	kz_event *event = (kz_event *)&err;
	kz_ipc_handle handle;
	options.size--;
	fails(kz_stream_create_with(&stream, dev, &options, &err), KZ_INVALID,
		"initialize it with KZ_STREAM_OPTIONS_INIT");
	ck_assert_ptr_null(stream);
	fails(kz_stream_create_with(NULL, dev, NULL, &err), KZ_INVALID, "out is NULL");
	fails(kz_stream_create_with(&stream, NULL, NULL, &err), KZ_INVALID, "expected a device");
	fails(kz_stream_priorities(NULL, NULL, NULL, &err), KZ_INVALID, "expected a device");
	fails(kz_stream_describe(kz_device_stream(dev), &info, &err), KZ_INVALID,
		"initialize it with KZ_STREAM_INFO_INIT");
	fails(kz_stream_describe(kz_device_stream(dev), NULL, &err), KZ_INVALID, "got NULL");
	fails(kz_stream_describe(NULL, &info, &err), KZ_INVALID, "expected a stream");
	event_options.size = 0;
	fails(kz_event_create_with(&event, dev, &event_options, &err), KZ_INVALID,
		"initialize it with KZ_EVENT_OPTIONS_INIT");
	ck_assert_ptr_null(event);
	event_options.size = sizeof(event_options);
	event_options.interprocess = 1;
	fails(kz_event_create_with(&event, dev, &event_options, &err), KZ_INVALID,
		"expected disable_timing with interprocess");
	fails(kz_event_create_with(&event, NULL, NULL, &err), KZ_INVALID, "expected a device");
	fails(kz_event_create_with(NULL, dev, NULL, &err), KZ_INVALID, "out is NULL");
	ok(kz_event_create_with(&event, dev, NULL, &err));
	fails(kz_event_export(&handle, event, &err), KZ_INVALID, "with the option interprocess");
	fails(kz_event_export(&handle, NULL, &err), KZ_INVALID, "expected an event");
	fails(kz_event_export(NULL, event, &err), KZ_INVALID, "out is NULL");
	kz_event_release(event);
	fails(kz_event_import(&event, dev, NULL, &err), KZ_INVALID, "expected a handle");
	fails(kz_event_import(&event, NULL, &handle, &err), KZ_INVALID, "expected a device");
	fails(kz_event_import(NULL, dev, &handle, &err), KZ_INVALID, "out is NULL");
}

START_TEST(a_missing_function_is_named)
{
	kz_event_options options = KZ_EVENT_OPTIONS_INIT;
	kz_stream_info info = KZ_STREAM_INFO_INIT;
	kz_ipc_handle handle = {{1}};
	kz_event *event = NULL;
	int least = 7, greatest = 7;
	support_stub("missing=cuCtxGetStreamPriorityRange,cuLaunchHostFunc,cuIpcGetEventHandle,"
		"cuIpcOpenEventHandle,cuStreamGetPriority,cuStreamGetFlags");
	ok(kz_device_open(&dev, "cuda:0", &err));
	kz_stream *stream = kz_device_stream(dev);
	fails(kz_stream_priorities(&least, &greatest, dev, &err), KZ_UNSUPPORTED,
		"does not have cuCtxGetStreamPriorityRange");
	ck_assert(least == 0 && greatest == 0);
	fails(kz_stream_host(stream, free, NULL, &err), KZ_UNSUPPORTED,
		"does not have cuLaunchHostFunc");
	options.disable_timing = options.interprocess = 1;
	ok(kz_event_create_with(&event, dev, &options, &err));
	fails(kz_event_export(&handle, event, &err), KZ_UNSUPPORTED,
		"does not have cuIpcGetEventHandle");
	kz_event_release(event);
	fails(kz_event_import(&event, dev, &handle, &err), KZ_UNSUPPORTED,
		"does not have cuIpcOpenEventHandle");
	ck_assert_ptr_null(event);
	ok(kz_stream_describe(stream, &info, &err));
	ck_assert(info.priority == 0 && info.blocking == 0);
	close_stub();
}
END_TEST

/* Foreign streams */

static CUstream create_handle(void)
{
	struct device_scope scope;
	CUstream handle = NULL;
	ok(device_enter(dev, &scope, &err));
	ck_assert_int_eq(dev->drv->StreamCreate(&handle, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	device_leave(dev, &scope);
	return handle;
}

static void destroy_handle(CUstream handle)
{
	struct device_scope scope;
	ok(device_enter(dev, &scope, &err));
	ck_assert_int_eq(dev->drv->StreamDestroy(handle), CUDA_SUCCESS);
	device_leave(dev, &scope);
}

DEVICE_TEST(a_foreign_stream_can_be_used_and_then_destroyed)
{
	enum { SIZE = 1 << 20 };
	static char host[SIZE];
	CUstream handle = create_handle();
	kz_stream *stream = NULL;
	kz_buffer *buffer = create_buffer(SIZE);
	ok(kz_fill(buffer, 0, SIZE, "\1", 1, NULL, &err));
	ok(kz_stream_wrap(&stream, dev, handle, &err));
	ck_assert_ptr_eq(kz_stream_handle(stream), handle);
	for (char byte = 2; byte < 10; byte++) {
		ok(kz_fill(buffer, 0, SIZE, &byte, 1, stream, &err));
	}
	kz_stream_release(stream);
	destroy_handle(handle);
	ok(kz_fill(buffer, 0, 1, "\12", 1, NULL, &err));
	ok(kz_copy_dtoh(host, SIZE, buffer, 0, &err));
	ck_assert(host[0] == 10 && host[1] == 9 && host[SIZE - 1] == 9);
	kz_buffer_release(buffer);
	buffer = create_buffer(SIZE); /* the pool does not remember the handle */
	ok(kz_fill(buffer, 0, SIZE, "\13", 1, NULL, &err));
	kz_buffer_release(buffer);
}

STUB_TEST(work_goes_into_the_handle_and_no_longer_after_the_release, "streams=1")
{
	char host[8];
	CUstream handle = create_handle();
	kz_stream *stream = NULL;
	kz_buffer *buffer = create_buffer(8);
	ok(kz_stream_wrap(&stream, dev, handle, &err));
	ok(kz_fill(buffer, 0, 8, "\1", 1, stream, &err));
	ok(kz_copy_dtoh(host, 8, buffer, 0, &err)); /* in the stream of the last use */
	long work = support_stub_work(NULL, handle);
	ck_assert_int_ge(work, 1);
	kz_stream_release(stream);
	ck_assert_int_eq(support_stub_live(STUB_STREAM), 2);
	ok(kz_copy_dtoh(host, 8, buffer, 0, &err));
	ok(kz_fill(buffer, 0, 8, "\1", 1, NULL, &err));
	ck_assert_int_eq(support_stub_work(NULL, handle), work);
	kz_buffer_release(buffer);
	destroy_handle(handle);
}

DEVICE_TEST(null_is_the_legacy_stream)
{
	kz_stream_info info = KZ_STREAM_INFO_INIT;
	kz_stream *stream = NULL;
	char byte = 0;
	kz_buffer *buffer = create_buffer(64);
	ok(kz_stream_wrap(&stream, dev, NULL, &err));
	ok(kz_fill(buffer, 0, 64, "\5", 1, stream, &err));
	ok(kz_stream_describe(stream, &info, &err));
	ck_assert_int_eq(info.blocking, 1);
	ok(kz_stream_synchronize(stream, &err));
	ok(kz_stream_query(stream, &err));
	ok(kz_copy_dtoh(&byte, 1, buffer, 63, &err));
	ck_assert_int_eq(byte, 5);
	kz_stream_release(stream);
	kz_buffer_release(buffer);
}

STUB_TEST(a_stream_of_another_context_is_refused, "devices=2")
{
	kz_device *other = NULL;
	kz_stream *stream = (kz_stream *)&err;
	ok(kz_device_open(&other, "cuda:1", &err));
	fails(kz_stream_wrap(&stream, dev, kz_stream_handle(kz_device_stream(other)), &err),
		KZ_INVALID, "expected a stream of the primary context of cuda:0");
	ck_assert_ptr_null(stream);
	fails(kz_stream_wrap(&stream, dev, CU_STREAM_PER_THREAD, &err), KZ_INVALID,
		"CU_STREAM_PER_THREAD, which is another stream in each");
	fails(kz_stream_wrap(&stream, NULL, NULL, &err), KZ_INVALID, "expected a device");
	fails(kz_stream_wrap(NULL, dev, NULL, &err), KZ_INVALID, "out is NULL");
	mem_fail_after(0);
	ck_assert_int_eq(kz_stream_wrap(&stream, dev, NULL, &err), KZ_NO_MEMORY);
	mem_fail_after(-1);
	kz_error_clear(&err);
	kz_device_close(other);
}

/* Host functions */

struct seen {
	int value;  /* the device writes it */
	int copies[4];
	int count;
};

static void see(void *user)
{
	struct seen *seen = user;
	seen->copies[seen->count++] = seen->value;
}

DEVICE_TEST(a_host_function_runs_where_it_stands_in_the_stream)
{
	struct seen seen = {.count = 0};
	kz_stream *stream = NULL;
	kz_buffer *buffer = create_buffer(4);
	ok(kz_stream_create(&stream, dev, 0, &err));
	for (int i = 0; i < 4; i++) {
		int value = 10 * i;
		ok(kz_fill(buffer, 0, 4, &value, 4, stream, &err));
		ok(kz_copy_dtoh_async(&seen.value, 4, buffer, 0, stream, &err));
		ok(kz_stream_host(stream, see, &seen, &err));
	}
	ok(kz_stream_synchronize(stream, &err));
	ck_assert_int_eq(seen.count, 4);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(seen.copies[i], 10 * i);
	}
	kz_stream_release(stream);
	kz_buffer_release(buffer);
}

STUB_TEST(a_host_function_is_one_call_in_its_stream, "streams=1;fail=cuLaunchHostFunc:801@2")
{
	struct seen seen = {.count = 0};
	kz_stream *stream = kz_device_stream(dev);
	ok(kz_stream_host(stream, see, &seen, &err));
	ck_assert_int_eq(support_stub_work("cuLaunchHostFunc", kz_stream_handle(stream)), 1);
	fails(kz_stream_host(stream, see, &seen, &err), KZ_UNSUPPORTED, "cuLaunchHostFunc");
	fails(kz_stream_host(stream, NULL, &seen, &err), KZ_INVALID, "the function is NULL");
	fails(kz_stream_host(NULL, see, &seen, &err), KZ_INVALID, "expected a stream");
	ck_assert_int_eq(seen.count, 1);
}

/* Events */

DEVICE_TEST(an_event_without_timing_measures_nothing)
{
	kz_event_options options = KZ_EVENT_OPTIONS_INIT;
	kz_event *timed = NULL, *plain = NULL;
	double ms = 1;
	options.disable_timing = 1;
	options.blocking_sync = 1;
	ok(kz_event_create(&timed, dev, &err));
	ok(kz_event_create_with(&plain, dev, &options, &err));
	ok(kz_event_record(timed, NULL, &err));
	ok(kz_event_record(plain, NULL, &err));
	ok(kz_event_synchronize(plain, &err));
	ok(kz_event_query(plain, &err));
	fails(kz_event_elapsed_ms(&ms, timed, plain, &err), KZ_INVALID,
		"the stop event cannot measure time: it was created with disable_timing");
	ck_assert(ms == 0);
	fails(kz_event_elapsed_ms(&ms, plain, timed, &err), KZ_INVALID,
		"the start event cannot measure time");
	kz_event_release(timed);
	kz_event_release(plain);
}

STUB_TEST(a_shared_event_cannot_measure, "")
{
	kz_event_options options = KZ_EVENT_OPTIONS_INIT;
	kz_event *mine = NULL, *theirs = NULL;
	kz_ipc_handle handle, none = {{0}};
	double ms;
	options.disable_timing = options.interprocess = 1;
	ok(kz_event_create_with(&mine, dev, &options, &err));
	ok(kz_event_export(&handle, mine, &err));
	ok(kz_event_import(&theirs, dev, &handle, &err));
	ok(kz_event_record(theirs, NULL, &err));
	fails(kz_event_elapsed_ms(&ms, theirs, theirs, &err), KZ_INVALID, "or by another process");
	kz_event_release(theirs);
	fails(kz_event_import(&theirs, dev, &none, &err), KZ_INVALID, "cuIpcOpenEventHandle");
	ck_assert_ptr_null(theirs);
	kz_event_release(mine);
}

/* The child shares an event that is after a wait, says so, and writes the value when it is told
 * to. */
static _Noreturn void run_child(int index, int from, int to)
{
	kz_event_options options = KZ_EVENT_OPTIONS_INIT;
	kz_event *event = NULL;
	kz_stream *stream = NULL;
	kz_buffer *flag = NULL;
	kz_ipc_handle handle;
	char byte;
	options.disable_timing = options.interprocess = 1;
	dev = support_open(index);
	bool good = !kz_event_create_with(&event, dev, &options, &err)
		&& !kz_stream_create(&stream, dev, 0, &err)
		&& !kz_buffer_create(&flag, dev, 4, &err) && !kz_fill(flag, 0, 4, "", 1, NULL, &err)
		&& !kz_stream_wait_value32(stream, flag, 0, 1, KZ_WAIT_EQ, &err)
		&& !kz_event_record(event, stream, &err) && !kz_event_export(&handle, event, &err)
		&& write(to, &handle, sizeof(handle)) == sizeof(handle) && read(from, &byte, 1) == 1
		&& !kz_stream_write_value32(NULL, flag, 0, 1, &err)
		&& read(from, &byte, 1) == 1; /* until then the handle has to be good */
	kz_buffer_release(flag);
	kz_stream_release(stream);
	kz_event_release(event);
	kz_device_close(dev);
	_exit(good ? 0 : 1);
}

START_TEST(an_event_tells_another_process)
{
	int to_child[2], to_parent[2], status;
	kz_ipc_handle handle;
	kz_event *event = NULL;
	kz_stream *stream = NULL;
	ck_assert(!pipe(to_child) && !pipe(to_parent));
	pid_t child = fork();
	if (child == 0) {
		run_child(_i, to_child[0], to_parent[1]);
	}
	close(to_parent[1]); /* a child that fails ends the read below */
	setup(_i);
	ck_assert_int_eq(read(to_parent[0], &handle, sizeof(handle)), sizeof(handle));
	ok(kz_event_import(&event, dev, &handle, &err));
	ck_assert_int_eq(kz_event_query(event, &err), KZ_NOT_READY);
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_stream_wait(stream, event, &err));
	ck_assert_int_eq(write(to_child[1], "", 1), 1);
	ok(kz_event_synchronize(event, &err));
	ok(kz_event_query(event, &err));
	ok(kz_stream_synchronize(stream, &err));
	kz_stream_release(stream);
	kz_event_release(event);
	ck_assert_int_eq(write(to_child[1], "", 1), 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	teardown();
}
END_TEST

SUITE(stream_options)
{
	Suite *s = suite_create("stream_options");
	TCase *tc = suite_add_case(s, "stub");
	tcase_add_tests(tc, 1, options_reach_the_driver, bad_options_are_refused,
		a_missing_function_is_named,
		work_goes_into_the_handle_and_no_longer_after_the_release,
		a_stream_of_another_context_is_refused, a_host_function_is_one_call_in_its_stream,
		a_shared_event_cannot_measure);
	tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count() + 1,
		a_stream_has_the_priority_that_it_was_given,
		a_foreign_stream_can_be_used_and_then_destroyed, null_is_the_legacy_stream,
		a_host_function_runs_where_it_stands_in_the_stream,
		an_event_without_timing_measures_nothing);
	tc = suite_add_case(s, "processes");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, an_event_tells_another_process, 0, support_device_count());
	return s;
}

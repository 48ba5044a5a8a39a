/* SPDX-License-Identifier: MIT */
/*
 * src/lib/core/trace.c: what is in a trace, and that it is whole after each wait.
 * tests/lib/core/check_trace reads traces with a JSON parser.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/core/memory.h"
#include "base/calls.h"
#include "support/device_test.h"

#include <kudzu/leaks.h>

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[128];
static char *text; /* of the file, when it was last read */

/* The file of a trace, empty. */
static void make_file(void)
{
	snprintf(path, sizeof(path), "/tmp/kudzu-trace-XXXXXX");
	int file = mkstemp(path);
	ck_assert_int_ge(file, 0);
	close(file);
}

static void begin(void)
{
	make_file();
	ok(kz_trace_begin(path, &err));
}

/* Read what is written by now: a whole array. */
static const char *read_trace(void)
{
	size_t size;
	mem_free(text);
	ok(file_read(&text, &size, path, &err));
	ck_assert_int_eq(strncmp(text, "[\n{", 3), 0);
	ck_assert_msg(size > 8 && strcmp(text + size - 4, "}\n]\n") == 0, "%s", text);
	return text;
}

static void end(void)
{
	ok(kz_trace_end(&err));
	read_trace();
	unlink(path);
}

static int count(const char *what)
{
	int found = 0;
	for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
		found++;
	}
	return found;
}

static void copy_to(kz_buffer *buffer)
{
	ok(kz_copy_htod(buffer, 0, "0123456789abcdef", 16, &err));
}

DEVICE_TEST(copies_fills_and_memory_are_there_after_a_wait)
{
	begin();
	kz_buffer *buffer = create_buffer(16), *other = create_buffer(16);
	copy_to(buffer); /* waits */
	read_trace();
	ck_assert_int_eq(count("\"name\":\"allocate\""), 2);
	ck_assert_int_eq(count("\"name\":\"copy to "
		"device\",\"cat\":\"copy\",\"args\":{\"stream\":0,"
		"\"bytes\":16}"), 2); /* the call, and the device */
	ok(kz_copy_dtod(other, 0, buffer, 0, 8, &err));
	ok(kz_fill(other, 8, 8, "ab", 2, NULL, &err));
	ok(kz_device_synchronize(dev, &err));
	read_trace();
	ck_assert_int_eq(count("\"name\":\"copy on device\""), 2);
	ck_assert_int_eq(
		count("\"name\":\"fill\",\"cat\":\"fill\",\"args\":{\"stream\":0,\"bytes\":8}"), 2);
	release_buffers(buffer, other);
	end();
	ck_assert_int_eq(count("\"name\":\"free\""), 2);
	copy_to(buffer = create_buffer(16));
	kz_buffer_release(buffer);
	ck_assert_int_eq(count("\"name\":\"process_name\""), 2);
}

KERNEL_TEST(launches_have_their_stream_grid_and_block)
{
	kz_module *mod = NULL;
	kz_kernel *kernel;
	kz_stream *stream = NULL;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	begin();
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_module_compile(&mod, dev, "__global__ void nothing(int) { __shared__ volatile int "
		"s[8]; s[threadIdx.x] = 1; }", NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "nothing", &err));
	options.stream = stream;
	options.shared_size = 100;
	ok(kz_launch(kernel, kz_dim(2, 3, 4), kz_dim(5, 1, 1), &options, &err, KZ_ARGS(1)));
	ok(kz_stream_synchronize(stream, &err));
	read_trace();
	ck_assert_int_eq(
		count("\"name\":\"nothing\",\"cat\":\"launch\",\"args\":{\"stream\":1,\"grid\":"
		"[2,3,4],\"block\":[5,1,1],\"shared\":132}"), 2);
	ck_assert_int_eq(count("\"name\":\"stream 1\""), 1);
	ck_assert_int_eq(
		count("\"cat\":\"compile\",\"args\":{\"status\":\"KZ_OK\",\"source_bytes\":82}"),
		1);
	ck_assert_int_eq(count("\"name\":\"load module\""), 1);
	ck_assert_int_eq(count("\"name\":\"nothing\",\"cat\":\"load\""), 1);
	end();
	kz_stream_release(stream);
	kz_module_release(mod);
}

KERNEL_TEST(operations_on_arrays_are_launches)
{
	kz_array *a = support_counted(dev, KZ_SHAPE(8)), *b = NULL;
	begin();
	ok(kz_add(&b, a, a, &err));
	end();
	ck_assert_int_eq(count("\"cat\":\"launch\""), 2);
	release_arrays(a, b);
}

#line 51 "folder/\"main\".c"
static void lose(kz_array **a) { ok(kz_add(a, *a, 1, &err)); }
#line 135 "tests/lib/core/test_trace.c"

/* Fill a buffer in a stream between two events: of that stream if `there`, else of the default
 * one. */
static void time_a_fill(kz_buffer *buffer, kz_stream *stream, bool there)
{
	kz_event *start = NULL, *stop = NULL;
	kz_stream *of_events = there ? stream : NULL;
	double ms;
	ok(kz_event_create(&start, dev, &err));
	ok(kz_event_create(&stop, dev, &err));
	ok(kz_event_record(start, of_events, &err));
	ok(kz_fill(buffer, 0, 16, "ab", 2, stream, &err));
	ok(kz_event_record(stop, of_events, &err));
	ok(kz_device_synchronize(dev, &err));
	ok(kz_event_elapsed_ms(&ms, start, stop, &err));
	kz_event_release(start);
	kz_event_release(stop);
}

DEVICE_TEST(events_that_measure_no_work_have_a_mark)
{
	kz_stream *stream = NULL;
	kz_buffer *buffer = create_buffer(16);
	ok(kz_stream_create(&stream, dev, 0, &err));
	begin();
	time_a_fill(buffer, stream, true);
	time_a_fill(buffer, NULL, false);
	end();
	ck_assert_int_eq(count("\"cat\":\"warning\""), 0);
	begin();
	time_a_fill(buffer, stream, false);
	end();
	ck_assert_int_eq(count("\"cat\":\"warning\",\"args\":{\"stream\":0,\"others\":1}"), 1);
	kz_buffer_release(buffer);
	kz_stream_release(stream);
}

/* The mark is where the call was, once, and only if the old array was not released after all. */
KERNEL_TEST(a_call_that_loses_an_array_has_a_mark)
{
	kz_array *a = NULL, *b = NULL, *old_a, *old_b;
	char want[300];
	begin();
	const int line = __LINE__ + 1;
	ok(kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(3), &err));
	snprintf(want, sizeof(want), "\"name\":\"kz_add replaced the handle of a live "
		"object\",\"cat\":\"leak\","
		"\"args\":{\"object\":\"array\",\"bytes\":12,\"created\":\"%s:%d\",\"replaced\":"
		"\"folder/\\\"main\\\".c:51\"}}", __FILE__, line);
	ok(kz_array_zeros(&b, dev, KZ_F32, KZ_SHAPE(3), &err));
	old_a = a;
	old_b = b;
	lose(&a);
	ok(kz_multiply(&b, b, 2, &err));
	kz_array_release(old_b);
	end();
	ck_assert_int_eq(count("\"cat\":\"leak\""), 1);
	ck_assert_int_eq(count(want), 1);
	begin();
	end();
	ck_assert_int_eq(count("\"cat\":\"leak\""), 0);
	release_arrays(a, b, old_a);
}

/* One record for each copy would be too many: they are used again. */
STUB_TEST(events_are_used_again_and_given_back, "")
{
	begin();
	kz_buffer *buffer = create_buffer(16);
	for (int i = 0; i < 10; i++) {
		copy_to(buffer);
	}
	/* The device's own, that of its default stream, and the base. */
	ck_assert_int_eq(support_stub_live(STUB_EVENT), 1 + 1 + 2);
	end();
	ck_assert_int_eq(support_stub_live(STUB_EVENT), 1);
	ck_assert_int_eq(count("copy to device"), 20);
	kz_buffer_release(buffer);
}

STUB_TEST(a_call_that_fails_is_there_and_a_captured_one_has_no_time, "")
{
	kz_buffer *buffer = create_buffer(16);
	struct device_scope scope;
	CUgraph graph;
	begin();
	support_stub("fail=cuMemcpyHtoDAsync:1@1");
	fails(kz_copy_htod(buffer, 0, "0123456789abcdef", 16, &err), KZ_INVALID, "");
	ok(device_enter(dev, &scope, &err));
	ck_assert_int_eq(dev->drv->StreamBeginCapture(dev->stream.handle,
		CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
	ok(kz_fill(buffer, 0, 16, "", 1, NULL, &err));
	ck_assert_int_eq(support_stub_calls("cuEventRecord"), 3); /* the base, before and after a
	                                                             copy */
	ck_assert_int_eq(dev->drv->StreamEndCapture(dev->stream.handle, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(dev->drv->GraphDestroy(graph), CUDA_SUCCESS);
	device_leave(dev, &scope);
	end();
	ck_assert_int_eq(count("copy to device"), 1);
	ck_assert_int_eq(count("\"name\":\"fill\""), 1);
	kz_buffer_release(buffer);
}

/* Begin and end */

STUB_TEST(one_trace_at_a_time_and_none_to_end, "")
{
	fails(kz_trace_end(&err), KZ_STATE, "no trace is running");
	begin();
	fails(kz_trace_begin("/tmp/kudzu-other", &err), KZ_STATE, "a trace is already running");
	end();
	fails(kz_trace_end(&err), KZ_STATE, "no trace is running");
	begin();
	end();
	ck_assert_int_eq(count("\"ph\":\"X\""), 0);
}

STUB_TEST(a_file_that_cannot_be_written_is_refused, "")
{
	fails(kz_trace_begin(NULL, &err), KZ_INVALID, "expected the path of a file");
	fails(kz_trace_begin("/nowhere/trace.json", &err), KZ_NOT_FOUND,
		"cannot write the trace to '/nowhere/trace.json'");
	fails(kz_trace_begin("/dev/full", &err), KZ_IO, "No space left");
	fails(kz_trace_begin("/tmp", &err), KZ_IO, "directory");
	make_file();
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	fails(kz_trace_begin(path, &err), KZ_IO, "cannot write the trace");
	unlink(path);
	fails(kz_trace_end(&err), KZ_STATE, "no trace is running");
}

START_TEST(a_variable_begins_it_when_a_device_is_opened)
{
	kz_device *again = NULL;
	support_stub("");
	setenv("KUDZU_CUDA_DRIVER", KZ_TEST_BUILD "/libcuda-stub.so", 1);
	setenv("KUDZU_TRACE", "/nowhere/trace.json", 1);
	fails(kz_device_open(&dev, "cuda", &err), KZ_NOT_FOUND,
		"KUDZU_TRACE: cannot write the trace");
	make_file();
	setenv("KUDZU_TRACE", path, 1);
	ok(kz_device_open(&dev, "cuda", &err));
	kz_buffer *buffer = create_buffer(16);
	copy_to(buffer);
	kz_buffer_release(buffer);
	kz_device_close(dev);
	read_trace();
	ck_assert_int_eq(count("\"name\":\"free\""), 1);
	ok(kz_device_open(&again, "cuda", &err)); /* goes on */
	kz_device_close(again);
	end();
	ck_assert_int_eq(count("copy to device"), 2);
	ok(kz_device_open(&again, "cuda", &err)); /* not once more */
	fails(kz_trace_end(&err), KZ_STATE, "no trace is running");
	kz_device_close(again);
	unsetenv("KUDZU_TRACE");
	support_check_stub();
}
END_TEST

/* Two processes */

/* A byte of a pipe, or 0 at its end; a signal may come meanwhile. */
static ssize_t trace_wait_byte(int fd)
{
	char byte;
	ssize_t count;
	do {
		count = read(fd, &byte, 1);
	} while (count < 0 && errno == EINTR);
	return count;
}

static int trace_wait_child(pid_t child)
{
	int status;
	pid_t ended;
	do {
		ended = waitpid(child, &status, 0);
	} while (ended < 0 && errno == EINTR);
	return ended == child ? status : -1;
}

/* Open the stub under KUDZU_TRACE in a child, which has the file until it is told to end. */
static pid_t start_other(int *to_child)
{
	int to[2], from[2];
	ck_assert(pipe(to) == 0 && pipe(from) == 0);
	pid_t child = fork();
	if (child == 0) {
		bool opened = kz_device_open(&dev, "cuda", NULL) == KZ_OK;
		bool good = opened && write(from[1], "o", 1) == 1
			&& trace_wait_byte(to[0]) == 1;
		kz_device_close(dev);
		_exit(good ? 0 : 1);
	}
	ck_assert_int_eq(trace_wait_byte(from[0]), 1);
	*to_child = to[1];
	return child;
}

START_TEST(each_process_has_a_trace_of_its_own)
{
	char theirs[128], mine[sizeof(theirs) + 8];
	int to_child;
	support_stub("");
	setenv("KUDZU_CUDA_DRIVER", KZ_TEST_BUILD "/libcuda-stub.so", 1);
	make_file();
	strcpy(theirs, path);
	snprintf(mine, sizeof(mine), "%s%s", theirs, _i ? ".%p" : "");
	setenv("KUDZU_TRACE", mine, 1);
	pid_t child = start_other(&to_child);
	snprintf(mine, sizeof(mine), "%s.%ld", theirs, (long)getpid());
	if (_i) {
		unlink(theirs);
		snprintf(theirs, sizeof(theirs), "%.60s.%ld", path, (long)child);
	}
	fails(kz_trace_begin(theirs, &err), KZ_STATE, "another process writes its trace to");
	ok(kz_device_open(&dev, "cuda", &err));
	ok(kz_device_synchronize(dev, &err));
	kz_device_close(dev);
	ck_assert_int_eq(write(to_child, "", 1), 1);
	ck_assert_int_eq(trace_wait_child(child), 0);
	strcpy(path, theirs);
	read_trace();
	unlink(path);
	strcpy(path, mine);
	end();
	unsetenv("KUDZU_TRACE");
	support_check_stub();
}
END_TEST

/* A forked child has the descriptor, and no lock on the file. */
STUB_TEST(a_child_does_not_keep_the_file, "")
{
	int to[2];
	begin();
	ck_assert_int_eq(pipe(to), 0);
	pid_t child = fork();
	if (child == 0) {
		close(to[1]);
		_exit(trace_wait_byte(to[0]) == 0 ? 0 : 1);
	}
	ok(kz_trace_end(&err));
	ok(kz_trace_begin(path, &err));
	end();
	close(to[1]);
	ck_assert_int_eq(trace_wait_child(child), 0);
}

/* Trouble */

/* A disk is full after a part of a write: at its first byte, in the middle, in the closing
 * bracket. */
STUB_TEST(a_full_disk_leaves_a_whole_trace, "")
{
	static const long more[] = {0, 1, 3, 4, 100};
	for (size_t i = 0; i < countof(more); i++) {
		begin();
		kz_buffer *buffer = create_buffer(16);
		copy_to(buffer);
		ok(kz_device_synchronize(dev, &err));
		size_t before = strlen(read_trace());
		calls_begin(CALLS_FULL, ENOSPC, (long)before + more[i], true);
		copy_to(buffer);
		ok(kz_device_synchronize(dev, &err));
		calls_end();
		ck_assert_uint_eq(strlen(read_trace()), before);
		copy_to(buffer);
		kz_buffer_release(buffer);
		fails(kz_trace_end(&err), KZ_IO, "the trace could not be written: No space left");
		ck_assert_uint_eq(strlen(read_trace()), before);
		unlink(path);
	}
}

KERNEL_TEST(a_kernel_that_faults_is_in_the_trace)
{
	kz_module *mod = NULL;
	kz_kernel *kernel;
	begin();
	ok(kz_module_compile(&mod, dev, "__global__ void wild() { *(int *)16 = 1; }", NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "wild", &err));
	kz_status st = kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err, KZ_ARGS());
	st = st ? st : kz_device_synchronize(dev, &err);
	ck_assert_int_ne(st, KZ_OK);
	kz_error_clear(&err);
	end();
	ck_assert_int_ge(count("\"name\":\"wild\",\"cat\":\"launch\""), 1);
	kz_module_release(mod);
}

STUB_TEST(memory_that_runs_out_is_reported_and_changes_nothing, "")
{
	bool is_whole = false;
	kz_buffer *buffer = create_buffer(16);
	make_file();
	for (long n = 0; !is_whole; n++) {
		mem_fail_after(n);
		kz_status st = kz_trace_begin(path, &err);
		bool has_begun = st == KZ_OK;
		if (has_begun) {
			ok(kz_copy_htod(buffer, 0, "0123456789abcdef", 16, &err));
			st = kz_trace_end(&err);
		}
		is_whole = st == KZ_OK;
		ck_assert_int_eq(is_whole, !mem_has_failed());
		ck_assert(is_whole || st == KZ_NO_MEMORY);
		mem_fail_after(-1);
		kz_error_clear(&err);
		ck_assert_int_eq(support_stub_live(STUB_EVENT), 1);
	}
	read_trace();
	ck_assert_int_eq(count("copy to device"), 2);
	unlink(path);
	kz_buffer_release(buffer);
}

static void *copy_often(void *buffer)
{
	kz_error mine = KZ_ERROR_INIT;
	for (int i = 0; i < 300; i++) {
		ck_assert_int_eq(kz_copy_htod(buffer, 0, "0123456789abcdef", 16, &mine), KZ_OK);
	}
	return NULL;
}

DEVICE_TEST(traces_begin_and_end_while_threads_work)
{
	pthread_t threads[2];
	kz_buffer *buffers[2], *own = create_buffer(16);
	make_file();
	for (int i = 0; i < 2; i++) {
		buffers[i] = create_buffer(16);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, copy_often, buffers[i]), 0);
	}
	for (int i = 0; i < 20; i++) {
		ok(kz_trace_begin(path, &err));
		copy_to(own);
		ok(kz_trace_end(&err));
		read_trace();
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		kz_buffer_release(buffers[i]);
	}
	kz_buffer_release(own);
	unlink(path);
}

SUITE(trace)
{
	Suite *s = suite_create("trace");
	TCase *tc = suite_add_case(s, "events");
	tcase_add_tests(tc, support_device_count() + 1,
		copies_fills_and_memory_are_there_after_a_wait);
	tcase_add_tests(tc, support_device_count(), events_that_measure_no_work_have_a_mark);
	tcase_add_tests(tc, support_device_count(), launches_have_their_stream_grid_and_block,
		operations_on_arrays_are_launches, a_call_that_loses_an_array_has_a_mark);
	tcase_add_test(tc, events_are_used_again_and_given_back);
	tcase_add_test(tc, a_call_that_fails_is_there_and_a_captured_one_has_no_time);
	tc = suite_add_case(s, "begin");
	tcase_add_test(tc, one_trace_at_a_time_and_none_to_end);
	tcase_add_test(tc, a_file_that_cannot_be_written_is_refused);
	tcase_add_test(tc, a_variable_begins_it_when_a_device_is_opened);
	tcase_add_loop_test(tc, each_process_has_a_trace_of_its_own, 0, 2);
	tcase_add_test(tc, a_child_does_not_keep_the_file);
	tc = suite_add_case(s, "trouble");
	tcase_add_test(tc, a_full_disk_leaves_a_whole_trace);
	tcase_add_tests(tc, support_device_count(), a_kernel_that_faults_is_in_the_trace);
	tcase_add_test(tc, memory_that_runs_out_is_reported_and_changes_nothing);
	tcase_add_tests(tc, support_device_count() + 1, traces_begin_and_end_while_threads_work);
	return s;
}

/* SPDX-License-Identifier: MIT */
/*
 * Where memory comes from beside the pool: allocators of the user's, wrapped memory; the lists of
 * what is live; and many threads at once.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/memory.h"
#include "support/device_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An allocator that cuts a large buffer into pieces, and never reuses any. */
struct source {
	uint64_t next;
	int64_t asked;
	int64_t given_back;
	kz_stream *stream; /* of the last call */
	kz_status answer;
	uint64_t shift;    /* of addresses */
};

static kz_status give(void *user, uint64_t *address, int64_t bytes, kz_stream *stream, kz_error *e)
{
	struct source *source = user;
	source->asked += bytes;
	source->stream = stream;
	if (source->answer) {
		return e && source->answer == KZ_IO
			? error_set(e, KZ_IO, "the shelf is on fire") : source->answer;
	}
	*address = source->next ? source->next + source->shift : 0;
	source->next += (uint64_t)(bytes + 255) / 256 * 256;
	return KZ_OK;
}

static void take_back(void *user, uint64_t address, int64_t bytes, kz_stream *stream)
{
	struct source *source = user;
	(void)address;
	source->given_back += bytes;
	source->stream = stream;
}

static kz_allocator allocator_of(struct source *source)
{
	kz_allocator allocator = KZ_ALLOCATOR_INIT;
	allocator.alloc = give;
	allocator.free = take_back;
	allocator.user = source;
	return allocator;
}

DEVICE_TEST(buffers_and_arrays_come_from_the_allocator_that_was_set)
{
	float back[100];
	kz_buffer *large;
	kz_array *array;
	ok(kz_buffer_create(&large, dev, 1 << 16, &err));
	struct source source = {.next = kz_buffer_address(large)}, second = source;
	kz_allocator allocator = allocator_of(&source);
	ok(kz_device_set_allocator(dev, &allocator, &err));
	ok(kz_array_zeros(&array, dev, KZ_F32, KZ_SHAPE(100), &err));
	ck_assert_uint_eq(kz_array_address(array), kz_buffer_address(large));
	ck_assert_ptr_eq(source.stream, kz_device_stream(dev));
	ok(kz_array_get(array, back, sizeof(back), &err));
	ck_assert(back[0] == 0 && back[99] == 0);
	ck_assert_int_eq(memory_stats().live_size, (1 << 16) + 512);
	allocator = allocator_of(&second);
	ok(kz_device_set_allocator(dev, &allocator, &err));
	kz_array_release(array);
	ck_assert_int_eq(source.asked, 400);
	ck_assert_int_eq(source.given_back, 400);
	ck_assert_int_eq(second.given_back, 0);
	ok(kz_device_set_allocator(dev, NULL, &err));
	ok(kz_array_zeros(&array, dev, KZ_F32, KZ_SHAPE(100), &err));
	ck_assert_int_eq(second.asked, 0);
	kz_array_release(array);
	kz_buffer_release(large);
	ck_assert_int_eq(memory_stats().live_size, 0);
}

STUB_TEST(memory_goes_back_with_the_stream_that_used_it_last, "")
{
	kz_buffer *large, *buffer;
	kz_stream *stream;
	ok(kz_buffer_create(&large, dev, 4096, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	struct source source = {.next = kz_buffer_address(large)};
	kz_allocator allocator = allocator_of(&source);
	ok(kz_device_set_allocator(dev, &allocator, &err));
	ok(kz_buffer_create_on(&buffer, dev, 8, stream, &err));
	ck_assert_ptr_eq(source.stream, stream);
	ok(kz_fill(buffer, 0, 8, "x", 1, NULL, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 1);
	kz_buffer_release(buffer);
	ck_assert_ptr_eq(source.stream, kz_device_stream(dev));
	kz_stream_release(stream);
	kz_buffer_release(large);
}

STUB_TEST(what_an_allocator_says_reaches_the_user, "")
{
	kz_buffer *buffer;
	struct source source = {.next = 0x10000, .answer = KZ_IO};
	kz_allocator allocator = allocator_of(&source);
	ok(kz_device_set_allocator(dev, &allocator, &err));
	ck_assert_int_eq(kz_buffer_create(&buffer, dev, 8, &err), KZ_IO);
	ck_assert_str_eq(err.message, "the shelf is on fire");
	kz_error_clear(&err);
	ck_assert_int_eq(kz_buffer_create(&buffer, dev, 8, NULL), KZ_IO);
	source.answer = KZ_PERMISSION;
	fails(kz_buffer_create(&buffer, dev, 8, &err), KZ_PERMISSION,
		"the allocator of cuda:0 could not give 8 bytes: status 21");
	source.answer = KZ_OK;
	source.shift = 16;
	fails(kz_buffer_create(&buffer, dev, 8, &err), KZ_INVALID,
		"expected a multiple of 256 from the allocator of cuda:0, got 0x10010");
	ck_assert_int_eq(source.given_back, 8);
	source.next = 0;
	fails(kz_buffer_create(&buffer, dev, 8, &err), KZ_INVALID, "got 0x0");
	ck_assert_int_eq(source.given_back, 8);
	ck_assert_int_eq(memory_stats().live_size + memory_stats().live_count, 0);
	ck_assert_int_eq(memory_stats().reserved_size, 0);
}

STUB_TEST(an_allocator_that_lacks_something_is_refused, "")
{
	struct source source = {0};
	kz_allocator allocator = allocator_of(&source);
	allocator.free = NULL;
	fails(kz_device_set_allocator(dev, &allocator, &err), KZ_INVALID, "got no free");
	allocator.alloc = NULL;
	fails(kz_device_set_allocator(dev, &allocator, &err), KZ_INVALID, "got no alloc");
	allocator.size = 8;
	fails(kz_device_set_allocator(dev, &allocator, &err), KZ_INVALID,
		"kz_allocator has size 8, expected 32");
	fails(kz_device_set_allocator(NULL, NULL, &err), KZ_INVALID, "expected a device, got NULL");
	allocator = allocator_of(&source);
	mem_fail_after(0);
	ck_assert_int_eq(kz_device_set_allocator(dev, &allocator, &err), KZ_NO_MEMORY);
	mem_fail_after(-1);
	kz_error_clear(&err);
}

/* Wrapped memory */

static void count(void *user)
{
	++*(int *)user;
}

DEVICE_TEST(wrapped_memory_is_used_as_any_and_its_owner_told_when_it_is_free)
{
	char host[8] = "abcdefg", back[8];
	kz_buffer *owned, *wrapped, *view;
	int released = 0;
	ok(kz_buffer_create(&owned, dev, 64, &err));
	int64_t live = memory_stats().live_size;
	ok(kz_buffer_wrap(&wrapped, dev, kz_buffer_address(owned) + 8, 32, count, &released, &err));
	ck_assert_uint_eq(kz_buffer_address(wrapped), kz_buffer_address(owned) + 8);
	ck_assert_int_eq(kz_buffer_size(wrapped), 32);
	ck_assert_int_eq(memory_stats().live_size, live);
	ok(kz_copy_htod(wrapped, 8, host, 8, &err));
	ok(kz_buffer_view(&view, wrapped, 8, 8, &err));
	kz_buffer_release(wrapped);
	ck_assert_int_eq(released, 0);
	ok(kz_copy_dtoh(back, 8, view, 0, &err));
	ck_assert_mem_eq(back, host, 8);
	kz_buffer_release(view);
	ck_assert_int_eq(released, 1);
	ok(kz_copy_dtoh(back, 8, owned, 16, &err));
	ck_assert_mem_eq(back, host, 8);
	kz_buffer_release(owned);
}

STUB_TEST(only_who_wants_to_be_told_is_waited_for, "")
{
	kz_buffer *owned, *wrapped;
	int released = 0;
	ok(kz_buffer_create(&owned, dev, 64, &err));
	for (int told = 0; told < 2; told++) {
		ok(kz_buffer_wrap(&wrapped, dev, kz_buffer_address(owned), 64,
			told ? count : NULL, &released, &err));
		ok(kz_fill(wrapped, 0, 64, "x", 1, NULL, &err));
		kz_buffer_release(wrapped);
		ck_assert_int_eq(support_stub_calls("cuStreamSynchronize"), told);
		ck_assert_int_eq(released, told);
	}
	ok(kz_buffer_wrap(&wrapped, dev, 0, 0, count, &released, &err));
	ck_assert_uint_eq(kz_buffer_address(wrapped), 0);
	kz_buffer_release(wrapped);
	ck_assert_int_eq(released, 2);
	kz_buffer_release(owned);
}

STUB_TEST(memory_that_is_not_the_devices_is_not_wrapped, "devices=2")
{
	kz_device *other;
	kz_buffer *there, *none = (kz_buffer *)&err;
	int released = 0;
	ok(kz_device_open(&other, "cuda:1", &err));
	ok(kz_buffer_create(&there, other, 64, &err));
	fails(kz_buffer_wrap(&none, dev, kz_buffer_address(there), 64, count, &released, &err),
		KZ_INVALID, "expected memory of cuda:0 to wrap");
	ck_assert_ptr_null(none);
	fails(kz_buffer_wrap(&none, dev, 0x1000, 64, count, &released, &err), KZ_INVALID,
		"got 0x1000");
	fails(kz_buffer_wrap(&none, dev, 0, 64, count, &released, &err), KZ_INVALID,
		"got 64 bytes at 0x0");
	fails(kz_buffer_wrap(&none, dev, 0x1000, -1, count, &released, &err), KZ_INVALID, "got -1");
	fails(kz_buffer_wrap(&none, dev, UINT64_MAX - 5, 8, count, &released, &err), KZ_RANGE,
		"extend past the last address");
	fails(kz_buffer_wrap(&none, NULL, 0x1000, 8, count, &released, &err), KZ_INVALID,
		"expected a device");
	fails(kz_buffer_wrap(NULL, dev, 0x1000, 8, count, &released, &err), KZ_INVALID, "out is");
	ck_assert_int_eq(released, 0);
	kz_buffer_release(there);
	kz_device_close(other);
}

/* What is live */

static void leave_some(kz_buffer **buffer, kz_array **array, kz_pinned **pinned)
{
	kz_buffer *gone;
	ok(kz_buffer_create(&gone, dev, 100, &err));
	ok(kz_buffer_create(buffer, dev, 1000, &err));
	kz_buffer_release(gone);
	ok(kz_array_zeros(array, dev, KZ_F32, KZ_SHAPE(3, 7), &err));
	ok(kz_pinned_create(pinned, dev, 1, &err));
}

STUB_TEST(leaks_are_printed_with_what_they_are, "")
{
	kz_buffer *buffer, *wrapped;
	kz_array *array;
	kz_pinned *pinned;
	char *text = NULL, want[512];
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	ok(kz_device_print_leaks(dev, file, &err));
	ck_assert_int_eq(ftell(file), 0);
	leave_some(&buffer, &array, &pinned);
	ok(kz_device_print_leaks(dev, file, &err));
	fclose(file);
	snprintf(want, sizeof(want),
		"cuda:0: 84 bytes live at 0x%llx: an array of 21 float32, number 3\n"
		"cuda:0: 1000 bytes live at 0x%llx: a buffer, number 2\n"
		"cuda:0: 1 byte live at 0x%llx: a pinned buffer, number 1\n"
		"cuda:0: 3 live, of 1085 bytes\n", (unsigned long long)kz_array_address(array),
		(unsigned long long)kz_buffer_address(buffer),
		(unsigned long long)(uintptr_t)kz_pinned_pointer(pinned));
	ck_assert_str_eq(text, want);
	free(text);
	ok(kz_buffer_wrap(&wrapped, dev, kz_buffer_address(buffer), 8, NULL, NULL, &err));
	file = open_memstream(&text, &size);
	ok(kz_device_print_leaks(dev, file, &err));
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, ": wrapped memory\n"));
	free(text);
	fails(kz_device_print_leaks(dev, NULL, &err), KZ_INVALID, "expected a stream of stdio");
	fails(kz_device_print_leaks(NULL, stderr, &err), KZ_INVALID, "expected a device");
	release_buffers(wrapped, buffer);
	kz_array_release(array);
	kz_pinned_release(pinned);
}

/* What a device that closes calls; it prints into a stream of memory. */
static void report(void *file, kz_device *closing)
{
	ok(kz_device_print_leaks(closing, file, &err));
	fputs("closed\n", file);
}

STUB_TEST(the_last_handle_that_is_closed_reports_what_is_live, "")
{
	kz_device *again = NULL;
	kz_stream *stream = NULL;
	kz_event *events[2] = {NULL, NULL};
	kz_module *mod = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	ok(kz_device_on_close(dev, report, file, &err));
	ok(kz_device_open(&again, "cuda", &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_event_create(&events[0], dev, &err));
	ok(kz_event_create(&events[1], dev, &err));
	ok(kz_module_compile(&mod, dev, "__global__ void k() {}", NULL, &err));
	kz_device_close(again);
	ck_assert_int_eq(ftell(file), 0);
	kz_device_close(dev);
	fflush(file);
	ck_assert_str_eq(text, "cuda:0: 1 stream live\ncuda:0: 2 events live\n"
		"cuda:0: 1 module live\nclosed\n");
	ok(kz_device_open(&dev, "cuda", &err)); /* the same one, which was alive */
	kz_stream_release(stream);
	kz_event_release(events[0]);
	kz_event_release(events[1]);
	kz_module_release(mod);
	kz_device_close(dev);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, "module live\nclosed\nclosed\n"));
	free(text);
	ok(kz_device_open(&dev, "cuda", &err)); /* a new one, without that function */
}

static int close_calls;

static void open_again(void *user, kz_device *closing)
{
	kz_device *again = NULL;
	close_calls++;
	*(kz_status *)user = close_calls < 9 ? kz_device_open(&again, kz_device_name(closing), NULL)
		: KZ_OK;
	kz_device_close(again);
}

STUB_TEST(a_function_that_is_told_of_the_close_opens_no_device, "")
{
	kz_status st = KZ_OK;
	ok(kz_device_on_close(dev, open_again, &st, &err));
	kz_device_close(dev);
	ck_assert_int_eq(close_calls, 1);
	ck_assert_int_eq(st, KZ_PERMISSION);
	ok(kz_device_open(&dev, "cuda", &err));
}

DEVICE_TEST(live_objects_are_counted)
{
	kz_live_counts live = {1, 1, 1, 1};
	kz_stream *stream = NULL;
	kz_event *event = NULL;
	kz_buffer *buffer = create_buffer(8);
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_event_create(&event, dev, &err));
	ok(kz_device_count_live(dev, &live, &err));
	ck_assert_int_eq(live.memory, 1);
	ck_assert_int_eq(live.streams, 1);
	ck_assert_int_eq(live.events, 1);
	ck_assert_int_eq(live.modules, 0);
	kz_buffer_release(buffer);
	kz_stream_release(stream);
	kz_event_release(event);
	ok(kz_device_count_live(dev, &live, &err));
	ck_assert_int_eq(live.memory + live.streams + live.events + live.modules, 0);
	fails(kz_device_count_live(NULL, &live, &err), KZ_INVALID, "expected a device");
	fails(kz_device_count_live(dev, NULL, &err), KZ_INVALID, "expected a kz_live_counts");
	fails(kz_device_on_close(NULL, NULL, NULL, &err), KZ_INVALID, "expected a device");
}

static void add_size(void *user, const kz_live_memory *memory)
{
	*(int64_t *)user += memory->size;
}

DEVICE_TEST(the_list_holds_all_that_is_live)
{
	enum { COUNT = 300 };
	kz_buffer *buffers[COUNT];
	int64_t sum = 0, want = 0;
	for (int i = 0; i < COUNT; i++) {
		ok(kz_buffer_create(&buffers[i], dev, i * 100, &err));
	}
	for (int i = 0; i < COUNT; i += 3) {
		kz_buffer_release(buffers[i]);
		buffers[i] = NULL;
	}
	for (int i = 0; i < COUNT; i++) {
		want += buffers[i] ? i * 100 : 0;
	}
	mem_fail_after(0);
	ck_assert_int_eq(kz_device_list_memory(dev, add_size, &sum, &err), KZ_NO_MEMORY);
	mem_fail_after(-1);
	kz_error_clear(&err);
	ck_assert_int_eq(sum, 0);
	ok(kz_device_list_memory(dev, add_size, &sum, &err));
	ck_assert_int_eq(sum, want);
	fails(kz_device_list_memory(dev, NULL, NULL, &err), KZ_INVALID, "expected a function");
	for (int i = 0; i < COUNT; i++) {
		kz_buffer_release(buffers[i]);
	}
}

/* Threads */

enum { THREADS = 8, ROUNDS = 300, HELD = 10 };

static bool round_of(kz_stream *stream, kz_buffer **held, unsigned *random, char byte)
{
	*random = *random * 1664525u + 1013904223u;
	int place = (int)(*random >> 8) % HELD;
	int64_t size = 1 + (*random >> 16) % 5000;
	kz_pinned *pinned;
	char back = 0;
	kz_buffer_release(held[place]);
	held[place] = NULL;
	if (kz_buffer_create_on(&held[place], dev, size, stream, NULL)
	    || kz_fill(held[place], 0, size, &byte, 1, stream, NULL)
	    || kz_pinned_create(&pinned, dev, size, NULL)) {
		return false;
	}
	char *host = kz_pinned_pointer(pinned);
	bool good = !kz_copy_dtoh_async(host, size, held[place], 0, stream, NULL)
		&& !kz_copy_dtoh(&back, 1, held[place], size - 1, NULL) && back == byte
		&& !kz_stream_synchronize(stream, NULL) && host[size / 2] == byte;
	kz_pinned_release(pinned);
	return good;
}

static void *run_thread(void *argument)
{
	kz_buffer *held[HELD] = {NULL};
	kz_stream *stream;
	unsigned random = (unsigned)(uintptr_t)argument;
	char *failed = "something";
	if (kz_stream_create(&stream, dev, 0, NULL)) {
		return failed;
	}
	for (int i = 0; i < ROUNDS && failed; i++) {
		if (!round_of(stream, held, &random, (char)random)) {
			return failed;
		}
		if (i % 100 == 50 && kz_device_trim(dev, 0, NULL)) {
			return failed;
		}
	}
	for (int i = 0; i < HELD; i++) {
		kz_buffer_release(held[i]);
	}
	kz_stream_release(stream);
	return NULL;
}

DEVICE_TEST(threads_share_the_pools)
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_thread, (void *)(i + 1)), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
	ck_assert_int_eq(memory_stats().live_size + memory_stats().live_count, 0);
	ck_assert_int_eq(memory_stats().total_count, THREADS * ROUNDS);
	ok(kz_device_trim(dev, 0, &err));
	ck_assert_int_eq(memory_stats().reserved_size, 0);
}

static TCase *source_case(void)
{
	TCase *tc = tcase_create("sources");
	int count = support_device_count() + 1;
	tcase_add_loop_test(tc, buffers_and_arrays_come_from_the_allocator_that_was_set, 0, count);
	tcase_add_tests(tc, 1, memory_goes_back_with_the_stream_that_used_it_last,
		what_an_allocator_says_reaches_the_user,
		an_allocator_that_lacks_something_is_refused);
	tcase_add_loop_test(tc, wrapped_memory_is_used_as_any_and_its_owner_told_when_it_is_free, 0,
		count);
	tcase_add_tests(tc, 1, only_who_wants_to_be_told_is_waited_for,
		memory_that_is_not_the_devices_is_not_wrapped);
	return tc;
}

static TCase *live_case(void)
{
	TCase *tc = tcase_create("what is live");
	int count = support_device_count() + 1;
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, leaks_are_printed_with_what_they_are);
	tcase_add_test(tc, the_last_handle_that_is_closed_reports_what_is_live);
	tcase_add_test(tc, a_function_that_is_told_of_the_close_opens_no_device);
	tcase_add_tests(tc, support_device_count() + 1, live_objects_are_counted);
	tcase_add_tests(tc, count, the_list_holds_all_that_is_live, threads_share_the_pools);
	return tc;
}

SUITE(allocator)
{
	Suite *s = suite_create("allocator");
	suite_add_tcase(s, source_case());
	suite_add_tcase(s, live_case());
	return s;
}

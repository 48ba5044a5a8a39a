/* SPDX-License-Identifier: MIT */
/*
 * Pinned host memory: contents on every device; when it is reused, and what copies know of it, on
 * the stub.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/memory.h"
#include "support/device_test.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 100000 };

static kz_pinned *create(int64_t size)
{
	kz_pinned *pinned = NULL;
	ok(kz_pinned_create(&pinned, dev, size, &err));
	return pinned;
}

static kz_memory_stats stats(void)
{
	kz_memory_stats stats;
	kz_device_pinned_stats(dev, &stats);
	return stats;
}

DEVICE_TEST(asynchronous_copies_come_and_go_by_pinned_memory)
{
	kz_buffer *buffer;
	kz_stream *stream;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_buffer_create(&buffer, dev, SIZE, &err));
	for (int round = 0; round < 20; round++) {
		kz_pinned *from = create(SIZE), *to = create(SIZE);
		memset(kz_pinned_pointer(from), round, SIZE);
		memset(kz_pinned_pointer(to), 0xff, SIZE);
		ok(kz_copy_htod_async(buffer, 0, kz_pinned_pointer(from), SIZE, stream, &err));
		kz_pinned_release(from);
		ok(kz_copy_dtoh_async(kz_pinned_pointer(to), SIZE, buffer, 0, stream, &err));
		ok(kz_stream_synchronize(stream, &err));
		const char *back = kz_pinned_pointer(to);
		ck_assert(back[0] == round && memcmp(back, back + 1, SIZE - 1) == 0);
		kz_pinned_release(to);
	}
	ck_assert_int_eq(stats().live_size, 0);
	ck_assert_int_eq(stats().total_count, 40);
	ck_assert_int_eq(stats().segment_count, 1);
	kz_buffer_release(buffer);
	kz_stream_release(stream);
}

STUB_TEST(memory_of_a_copy_in_flight_is_not_reused, "")
{
	kz_buffer *buffer;
	ok(kz_buffer_create(&buffer, dev, SIZE, &err));
	kz_pinned *pinned = create(SIZE);
	char *pointer = kz_pinned_pointer(pinned);
	ok(kz_copy_htod_async(buffer, 10, pointer + 10, SIZE - 10, kz_device_stream(dev), &err));
	support_stub("fail=cuStreamQuery:600");
	kz_pinned_release(pinned);
	pinned = create(SIZE);
	ck_assert_ptr_ne(kz_pinned_pointer(pinned), pointer);
	support_stub("");
	kz_pinned_release(pinned);
	ok(kz_device_trim(dev, 0, &err));
	ck_assert_int_eq(stats().reserved_size, 0);
	kz_buffer_release(buffer);
}

STUB_TEST(a_full_host_waits_for_copies_before_it_gives_up, "")
{
	kz_buffer *buffer;
	ok(kz_buffer_create(&buffer, dev, SIZE, &err));
	kz_pinned *pinned = create(2 << 20), *more;
	ok(kz_copy_htod_async(buffer, 0, kz_pinned_pointer(pinned), SIZE, kz_device_stream(dev),
		&err));
	kz_pinned_release(pinned);
	support_stub("fail=cuStreamQuery:600;fail=cuMemHostAlloc:2@1");
	pinned = create(2 << 20);
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), 1);
	ck_assert_int_eq(support_stub_calls("cuMemFreeHost"), 1);
	support_stub("fail=cuMemHostAlloc:2");
	fails(kz_pinned_create(&more, dev, 3 << 20, &err), KZ_NO_MEMORY,
		"no memory on the host for a pinned buffer: 3145728 bytes requested, 2097152 live, "
		"2097152 reserved");
	ck_assert_ptr_null(more);
	kz_pinned_release(pinned);
	kz_buffer_release(buffer);
}

STUB_TEST(copies_of_two_streams_by_one_memory_are_in_order, "")
{
	kz_buffer *one, *two;
	kz_stream *stream;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_buffer_create(&one, dev, SIZE, &err));
	ok(kz_buffer_create(&two, dev, SIZE, &err));
	kz_pinned *pinned = create(SIZE);
	char *last = (char *)kz_pinned_pointer(pinned) + SIZE - 1;
	ok(kz_copy_dtoh_async(last, 1, one, 0, kz_device_stream(dev), &err));
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 0);
	ok(kz_copy_htod_async(two, 0, last, 1, stream, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 1);
	ok(kz_copy_htod_async(two, 0, "x", 1, stream, &err));
	ok(kz_copy_htod_async(two, 0, last, 1, stream, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 1);
	kz_pinned_release(pinned);
	release_buffers(one, two);
	kz_stream_release(stream);
}

/* Nothing keeps it, as on a device with checks.  To give it back, the driver waits for all streams,
 * and one of them waits for what the program does next. */
KERNEL_TEST(a_release_does_not_wait_for_a_stream_that_waits_for_the_program)
{
	kz_stream *stream = NULL;
	kz_buffer *flag = NULL, *buffer = NULL;
	char got[8] = "";
	ok(kz_device_use_pool(dev, 0, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_buffer_create(&flag, dev, 4, &err));
	ok(kz_buffer_create(&buffer, dev, sizeof(got), &err));
	ok(kz_fill(flag, 0, 4, "", 1, NULL, &err));
	kz_pinned *idle = create(SIZE), *used = create(SIZE);
	strcpy(kz_pinned_pointer(used), "kudzu");
	ok(kz_stream_wait_value32(stream, flag, 0, 1, KZ_WAIT_EQ, &err));
	ok(kz_copy_htod_async(buffer, 0, kz_pinned_pointer(used), sizeof(got), stream, &err));
	kz_pinned_release(idle);
	kz_pinned_release(used);
	ck_assert_int_eq(stats().live_size, 0);
	ck_assert_int_eq(stats().segment_count, 2);
	ok(kz_stream_write_value32(NULL, flag, 0, 1, &err));
	ok(kz_copy_dtoh(got, sizeof(got), buffer, 0, &err));
	ck_assert_str_eq(got, "kudzu");
	ok(kz_stream_synchronize(stream, &err));
	kz_pinned_release(create(SIZE));
	ck_assert_int_eq(stats().segment_count, 0);
	release_buffers(flag, buffer);
	kz_stream_release(stream);
}

/* PyCUDA's register_host_memory. */
START_TEST(memory_of_the_program_is_pinned)
{
	char *bytes = malloc(2 * SIZE);
	kz_pinned *pinned = NULL, *again = NULL;
	kz_buffer *buffer;
	kz_stream *stream;
	ck_assert_ptr_nonnull(bytes);
	dev = support_open_any(_i);
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_buffer_create(&buffer, dev, SIZE, &err));
	ok(kz_pinned_wrap(&pinned, dev, bytes, 2 * SIZE, &err));
	ck_assert_ptr_eq(kz_pinned_pointer(pinned), bytes);
	ck_assert_int_eq(kz_pinned_size(pinned), 2 * SIZE);
	memset(bytes, 7, SIZE);
	ok(kz_copy_htod_async(buffer, 0, bytes, SIZE, kz_device_stream(dev), &err));
	ok(kz_copy_dtoh_async(bytes + SIZE, SIZE, buffer, 0, stream, &err));
	kz_pinned_release(pinned);
	ck_assert(bytes[SIZE] == 7 && memcmp(bytes, bytes + SIZE, SIZE) == 0);
	ok(kz_pinned_wrap(&again, dev, bytes, SIZE, &err));
	kz_pinned_release(again);
	ck_assert_int_eq(stats().live_size, 0);
	kz_buffer_release(buffer);
	kz_stream_release(stream);
	kz_device_close(dev);
	free(bytes);
}
END_TEST

STUB_TEST(memory_that_cannot_be_pinned_is_left_alone, "fail=cuMemHostRegister:712")
{
	char bytes[64];
	kz_pinned *pinned = (kz_pinned *)&err;
	fails(kz_pinned_wrap(&pinned, dev, bytes, 64, &err), KZ_STATE, "cuMemHostRegister");
	ck_assert_ptr_null(pinned);
	fails(kz_pinned_wrap(&pinned, dev, NULL, 64, &err), KZ_INVALID, "64 bytes");
	fails(kz_pinned_wrap(&pinned, dev, bytes, -1, &err), KZ_INVALID, "-1 bytes");
	fails(kz_pinned_wrap(&pinned, dev, bytes, INT64_MAX, &err), KZ_STATE, "cuMemHostRegister");
	fails(kz_pinned_wrap(&pinned, NULL, bytes, 64, &err), KZ_INVALID, "expected a device");
	fails(kz_pinned_wrap(NULL, dev, bytes, 64, &err), KZ_INVALID, "out is NULL");
	ok(kz_pinned_wrap(&pinned, dev, NULL, 0, &err));
	kz_pinned_release(pinned);
	ck_assert_int_eq(support_stub_calls("cuMemHostUnregister"), 0);
}

STUB_TEST(a_pointer_finds_the_memory_that_it_lies_in, "")
{
	enum { COUNT = 100 };
	kz_pinned *all[COUNT];
	for (int i = 0; i < COUNT; i++) {
		all[i] = create(1 + i * 37 % COUNT * 10);
	}
	for (int i = 0; i < COUNT; i += 2) {
		kz_pinned_release(all[i]);
	}
	for (int i = 1; i < COUNT; i += 2) {
		char *first = kz_pinned_pointer(all[i]);
		struct memory *memory = pinned_find(dev, first + kz_pinned_size(all[i]) - 1);
		ck_assert_ptr_nonnull(memory);
		ck_assert_uint_eq(memory->address, (uintptr_t)first);
		memory_release(memory);
		ck_assert_ptr_null(pinned_find(dev, first + kz_pinned_size(all[i])));
		kz_pinned_release(all[i]);
	}
	ck_assert_ptr_null(pinned_find(dev, all));
}

STUB_TEST(bad_wishes_for_pinned_memory_are_refused, "missing=cuMemHostAlloc")
{
	kz_pinned *pinned = (kz_pinned *)&err;
	fails(kz_pinned_create(&pinned, dev, -1, &err), KZ_INVALID, "of at least 0, got -1");
	ck_assert_ptr_null(pinned);
	fails(kz_pinned_create(&pinned, NULL, 1, &err), KZ_INVALID, "expected a device");
	fails(kz_pinned_create(NULL, dev, 1, &err), KZ_INVALID, "out is NULL");
	fails(kz_pinned_create(&pinned, dev, 1, &err), KZ_UNSUPPORTED, "cuMemHostAlloc");
	pinned = create(0);
	ck_assert_ptr_null(kz_pinned_pointer(pinned));
	ck_assert_int_eq(kz_pinned_size(pinned), 0);
	ck_assert_ptr_null(kz_pinned_pointer(NULL));
	ck_assert_int_eq(kz_pinned_size(NULL), 0);
	kz_pinned_release(pinned);
	kz_pinned_release(NULL);
}

STUB_TEST(creating_without_host_memory_leaves_nothing, "")
{
	kz_status st = KZ_NO_MEMORY;
	char memory[64];
	kz_pinned *pinned = NULL;
	long n;
	for (n = 0; st == KZ_NO_MEMORY; n++) {
		mem_fail_after(n);
		st = _i ? kz_pinned_wrap(&pinned, dev, memory, 64, &err)
			: kz_pinned_create(&pinned, dev, 64, &err);
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		ck_assert_int_eq(stats().live_count, st == KZ_OK && _i == 0);
		kz_error_clear(&err);
	}
	ok(st);
	ck_assert_int_gt(n, 4);
	kz_pinned_release(pinned);
}

/* Some bytes to the device and back, and what the host has then. */
static void bring_back(char *host, int64_t size)
{
	kz_buffer *buffer;
	ok(kz_buffer_create(&buffer, dev, size, &err));
	for (int64_t i = 0; i < size; i++) {
		host[i] = (char)(i + size);
	}
	ok(kz_copy_htod(buffer, 0, host, size, &err));
	memset(host, 0, (size_t)size);
	ok(kz_copy_dtoh(host, size, buffer, 0, &err));
	for (int64_t i = 0; i < size; i++) {
		ck_assert_int_eq(host[i], (char)(i + size));
	}
	kz_buffer_release(buffer);
}

STUB_TEST(few_bytes_come_to_the_host_by_a_slot, "")
{
	static char host[4096];
	static const int64_t sizes[] = {1, 8, 511, 512, 513, 4096};
	bring_back(host, 4096);
	ck_assert_int_eq(support_stub_calls("cuMemHostAlloc"), 0);
	for (size_t i = 0; i < countof(sizes); i++) {
		bring_back(host, sizes[i]);
		ck_assert_int_eq(support_stub_calls("cuMemHostAlloc"), 1);
	}
	ck_assert_int_eq(support_stub_live(STUB_HOST), 1);
	ck_assert_int_eq(stats().reserved_size, 0); /* it is none of the pool's */
}

STUB_TEST(few_bytes_come_without_a_slot, "fail=cuMemHostAlloc:2")
{
	char host[8];
	bring_back(host, 8);
	bring_back(host, 8);
	ck_assert_int_eq(support_stub_calls("cuMemHostAlloc"), 1);
}

STUB_TEST(pinned_memory_has_few_bytes_itself, "")
{
	kz_pinned *pinned = create(8);
	bring_back(kz_pinned_pointer(pinned), 8);
	ck_assert_int_eq(support_stub_calls("cuMemHostAlloc"), 1);
	kz_pinned_release(pinned);
}

SUITE(pinned)
{
	Suite *s = suite_create("pinned");
	TCase *tc = suite_add_case(s, "pinned");
	tcase_add_loop_test(tc, asynchronous_copies_come_and_go_by_pinned_memory, 0,
		support_device_count() + 1);
	tcase_add_tests(tc, 1, memory_of_a_copy_in_flight_is_not_reused,
		a_full_host_waits_for_copies_before_it_gives_up,
		copies_of_two_streams_by_one_memory_are_in_order,
		few_bytes_come_to_the_host_by_a_slot, few_bytes_come_without_a_slot,
		pinned_memory_has_few_bytes_itself, a_pointer_finds_the_memory_that_it_lies_in,
		bad_wishes_for_pinned_memory_are_refused);
	tcase_add_loop_test(tc, a_release_does_not_wait_for_a_stream_that_waits_for_the_program, 0,
		support_device_count());
	tcase_add_loop_test(tc, memory_of_the_program_is_pinned, 0, support_device_count() + 1);
	tcase_add_test(tc, memory_that_cannot_be_pinned_is_left_alone);
	tcase_add_loop_test(tc, creating_without_host_memory_leaves_nothing, 0, 2);
	return s;
}

/* SPDX-License-Identifier: MIT */
/*
 * The memory pool as users see it: figures, reuse, limits, shortage, allocators, wrapped memory,
 * lists of what is live.  What the driver is asked for is counted on the stub; see
 * test_mempool_model.c for the rest.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/memory.h"
#include "support/device_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, NOT_READY = 600 };

static kz_buffer *create_on(int64_t size, kz_stream *stream)
{
	kz_buffer *buffer = NULL;
	ok(kz_buffer_create_on(&buffer, dev, size, stream, &err));
	return buffer;
}

static kz_stream *open_stream(void)
{
	kz_stream *stream = NULL;
	ok(kz_stream_create(&stream, dev, 0, &err));
	return stream;
}

/* Use a buffer in a stream, NULL for the default one. */
static void use(kz_buffer *buffer, kz_stream *stream)
{
	ok(kz_fill(buffer, 0, 1, "x", 1, stream, &err));
}

/* Figures */

DEVICE_TEST(two_floats_take_512_bytes_and_none_when_they_are_released)
{
	static const float values[2] = {1, 2};
	kz_array *array;
	ck_assert_int_eq(memory_stats().live_size + memory_stats().reserved_size, 0);
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(2), values, sizeof(values), &err));
	ck_assert_int_eq(memory_stats().live_size, 512);
	ck_assert_int_eq(memory_stats().reserved_size, 2 * MIB);
	ck_assert_int_eq(memory_stats().segment_count, 1);
	kz_array_release(array);
	ck_assert_int_eq(memory_stats().live_size, 0);
	ck_assert_int_eq(memory_stats().peak_size, 512);
	ck_assert_int_eq(memory_stats().reserved_size, 2 * MIB);
	kz_device_reset_peaks(dev);
	ck_assert_int_eq(memory_stats().peak_size, 0);
	ok(kz_device_trim(dev, 0, &err));
	ck_assert_int_eq(memory_stats().reserved_size + memory_stats().segment_count, 0);
	ck_assert_int_eq(memory_stats().peak_reserved_size, 2 * MIB);
	ck_assert_int_eq(memory_stats().total_count, 1);
}

STUB_TEST(segments_are_of_the_sizes_that_are_promised, "")
{
	kz_buffer *small = create_buffer(MIB), *large = create_buffer(MIB + 1);
	kz_buffer *odd = create_buffer(5 * MIB);
	ck_assert_int_eq(memory_stats().reserved_size, (2 + 2 + 6) * MIB);
	kz_buffer *second = create_buffer(MIB), *third = create_buffer(1);
	ck_assert_int_eq(memory_stats().reserved_size, (2 + 2 + 6 + 2) * MIB);
	ck_assert_int_eq(memory_stats().live_size, MIB + MIB + 512 + 5 * MIB + MIB + 512);
	release_buffers(small, large, odd);
	ok(kz_device_trim(dev, 6 * MIB, &err));
	ck_assert_int_le(memory_stats().reserved_size, 6 * MIB);
	release_buffers(second, third);
}

/* Reuse */

STUB_TEST(a_stream_has_its_memory_back_at_once_and_asks_the_driver_for_nothing,
	"fail=cuStreamQuery:600")
{
	kz_buffer *buffer = create_buffer(1000);
	uint64_t address = kz_buffer_address(buffer);
	use(buffer, NULL);
	kz_buffer_release(buffer);
	for (int i = 0; i < 10; i++) {
		buffer = create_buffer(1000);
		ck_assert_uint_eq(kz_buffer_address(buffer), address);
		use(buffer, NULL);
		kz_buffer_release(buffer);
	}
	ck_assert_int_eq(support_stub_calls("cuMemAlloc"), 1);
	ck_assert_int_eq(support_stub_calls("cuMemFree"), 0);
	ck_assert_int_eq(support_stub_calls("cuEventRecord"), 0);
	ck_assert_int_eq(support_stub_calls("cuStreamQuery"), 0);
}

STUB_TEST(a_stream_gets_other_memory_than_what_another_is_busy_with, "fail=cuStreamQuery:600")
{
	kz_stream *stream = open_stream();
	kz_buffer *first = create_buffer(MIB), *half = create_buffer(MIB);
	uint64_t address = kz_buffer_address(first);
	use(first, NULL);
	use(half, NULL);
	kz_buffer_release(first);
	kz_buffer *second = create_on(MIB, stream);
	ck_assert_uint_ne(kz_buffer_address(second), address);
	use(second, stream);
	ck_assert_int_eq(support_stub_calls("cuMemAlloc"), 2);
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 0);
	kz_buffer *other = create_on(MIB, stream);
	support_stub("");
	kz_buffer *third = create_on(MIB, stream);
	ck_assert_uint_eq(kz_buffer_address(third), address);
	use(third, stream);
	ck_assert_int_eq(support_stub_calls("cuMemAlloc"), 0);
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 0);
	kz_buffer *all[] = {half, second, other, third};
	for (size_t i = 0; i < countof(all); i++) {
		kz_buffer_release(all[i]);
	}
	kz_stream_release(stream);
}

/* Where the stream is not known, and where there is no more: after an event, with no wait here. */
static const char *const memories[] = {"", "memory=2097152;"};

START_TEST(memory_of_a_busy_stream_is_reused_behind_it)
{
	char script[64];
	snprintf(script, sizeof(script), "%sfail=cuStreamQuery:600", memories[_i]);
	open_stub(script);
	kz_stream *one = open_stream(), *two = open_stream();
	kz_buffer *first = create_on(MIB, one), *second = create_on(MIB, one);
	uint64_t address = kz_buffer_address(second);
	use(second, one);
	kz_buffer_release(second);
	kz_buffer *third = _i ? create_on(MIB, two) : create_buffer(MIB);
	ck_assert_uint_eq(kz_buffer_address(third), address);
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 0);
	use(third, two);
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 1);
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), 0);
	release_buffers(first, third);
	kz_stream_release(one);
	kz_stream_release(two);
	close_stub();
}
END_TEST

STUB_TEST(small_blocks_become_large_ones_again, "")
{
	enum { COUNT = 2048 };
	static kz_buffer *buffers[COUNT];
	for (int i = 0; i < COUNT; i++) {
		buffers[i] = create_buffer(1024);
		use(buffers[i], NULL);
	}
	ck_assert_int_eq(memory_stats().reserved_size, 2 * MIB);
	for (int i = 0; i < COUNT; i++) {
		kz_buffer_release(buffers[i * 77 % COUNT]);
	}
	buffers[0] = create_buffer(MIB);
	buffers[1] = create_buffer(MIB);
	ck_assert_int_eq(memory_stats().reserved_size, 2 * MIB);
	release_buffers(buffers[0], buffers[1]);
}

STUB_TEST(a_stream_that_goes_leaves_its_memory_to_the_default_stream, "fail=cuStreamQuery:600")
{
	kz_stream *stream = open_stream();
	kz_buffer *buffer = create_on(100, stream);
	uint64_t address = kz_buffer_address(buffer);
	use(buffer, stream);
	kz_buffer_release(buffer);
	kz_stream_release(stream);
	ck_assert_int_eq(support_stub_live(STUB_STREAM), 1);
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 1);
	buffer = create_buffer(100);
	ck_assert_uint_eq(kz_buffer_address(buffer), address);
	use(buffer, NULL);
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 1);
	kz_buffer_release(buffer);
}

STUB_TEST(a_stream_that_is_captured_is_not_asked_whether_it_is_done, "")
{
	kz_stream *stream = open_stream();
	kz_buffer *buffer = create_on(MIB, stream), *other = create_on(MIB, stream);
	CUgraph graph;
	use(buffer, stream);
	kz_buffer_release(buffer);
	struct device_scope scope;
	ok(device_enter(dev, &scope, &err));
	ck_assert_int_eq(dev->drv->StreamBeginCapture(stream->handle,
		CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
	buffer = create_on(MIB, &dev->stream);
	ck_assert_int_eq(support_stub_calls("cuStreamQuery"), 0);
	ck_assert_int_eq(support_stub_calls("cuMemAlloc"), 2);
	ck_assert_int_eq(support_stub_calls("cuThreadExchangeStreamCaptureMode"), 4);
	ck_assert_int_eq(dev->drv->StreamEndCapture(stream->handle, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(dev->drv->GraphDestroy(graph), CUDA_SUCCESS);
	device_leave(dev, &scope);
	release_buffers(buffer, other);
	kz_stream_release(stream);
}

/* Shortage */

STUB_TEST(a_full_device_gives_unused_segments_back_and_tries_once_more, "memory=8388608")
{
	kz_buffer *small = create_buffer(100), *large = create_buffer(6 * MIB), *larger = NULL;
	use(large, NULL);
	kz_buffer_release(large);
	ok(kz_buffer_create(&large, dev, 5 * MIB + 1, &err));
	kz_buffer_release(large);
	ck_assert_int_eq(kz_buffer_create(&larger, dev, 7 * MIB, &err), KZ_DEVICE_MEMORY);
	ck_assert_str_eq(err.message, "no memory on cuda:0 for a buffer: 7340032 bytes requested, "
		"512 live, 2097152 reserved, 6291456 free of 8388608");
	kz_error_clear(&err);
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), 1);
	kz_buffer_release(small);
	ok(kz_buffer_create(&larger, dev, 7 * MIB, &err));
	ck_assert_int_eq(memory_stats().reserved_size, 8 * MIB);
	kz_buffer_release(larger);
}

STUB_TEST(a_nearly_full_device_gives_single_blocks, "memory=4096")
{
	kz_buffer *buffers[8], *none;
	for (size_t i = 0; i < countof(buffers); i++) {
		buffers[i] = create_buffer(500);
	}
	ck_assert_int_eq(memory_stats().reserved_size, 4096);
	fails(kz_buffer_create(&none, dev, 1, &err), KZ_DEVICE_MEMORY,
		"1 bytes requested, 4096 live, 4096 reserved, 0 free of 4096");
	for (size_t i = 0; i < countof(buffers); i++) {
		kz_buffer_release(buffers[i]);
	}
}

STUB_TEST(an_array_that_does_not_fit_is_named, "memory=4096")
{
	kz_array *array;
	fails(kz_array_zeros(&array, dev, KZ_F64, KZ_SHAPE(30, 50), &err), KZ_DEVICE_MEMORY,
		"no memory on cuda:0 for an array of 1500 float64: 12000 bytes requested");
}

STUB_TEST(the_limit_holds, "")
{
	kz_buffer *buffer, *second = create_buffer(100);
	ok(kz_device_limit_memory(dev, 5 * MIB, &err));
	ok(kz_buffer_create(&buffer, dev, 3 * MIB, &err));
	kz_buffer_release(buffer);
	fails(kz_buffer_create(&buffer, dev, 4 * MIB, &err), KZ_DEVICE_MEMORY, "4194304 bytes "
		"requested, 512 live, 2097152 reserved, of at most 5242880 by "
		"kz_device_limit_memory");
	ok(kz_device_limit_memory(dev, 0, &err));
	ok(kz_buffer_create(&buffer, dev, 4 * MIB, &err));
	fails(kz_device_limit_memory(dev, -1, &err), KZ_INVALID, "of at least 0, got -1");
	fails(kz_device_limit_memory(NULL, 0, &err), KZ_INVALID, "expected a device");
	fails(kz_device_trim(dev, -1, &err), KZ_INVALID, "of at least 0, got -1");
	fails(kz_device_trim(NULL, 0, &err), KZ_INVALID, "expected a device");
	fails(kz_device_use_pool(NULL, 0, &err), KZ_INVALID, "expected a device");
	kz_device_reset_peaks(NULL);
	release_buffers(buffer, second);
}

/* Four buffers of several sorts, and a stream; the status is that of the first that failed. */
static kz_status do_a_lot(void)
{
	kz_stream *stream = open_stream();
	kz_buffer *a = NULL, *b = NULL, *c = NULL, *d = NULL;
	kz_status st = kz_buffer_create(&a, dev, 100, &err);
	st = st ? st : kz_buffer_create(&b, dev, 3 * MIB, &err);
	st = st ? st : kz_buffer_create_on(&c, dev, MIB, stream, &err);
	kz_buffer_release(b);
	b = NULL;
	st = st ? st : kz_buffer_create_on(&b, dev, 2 * MIB, stream, &err);
	st = st ? st : kz_buffer_create(&d, dev, 9 * MIB, &err);
	release_buffers(a, b, c, d);
	kz_stream_release(stream);
	return st;
}

/* Out of memory once or from some call on; or a failure that has nothing to do with memory. */
static const char *const failures[] = {":2@%d", ":2@%d+", ":999@%d"};

START_TEST(every_device_allocation_that_fails_leaves_the_pool_as_it_was)
{
	for (int n = 1; n < 12; n++) {
		char script[64];
		size_t len = (size_t)snprintf(script, sizeof(script), "fail=cuMemAlloc");
		snprintf(script + len, sizeof(script) - len, failures[_i], n);
		open_stub(script);
		kz_status st = do_a_lot();
		ck_assert_int_eq(st, err.status);
		ck_assert(_i == 0 ? st == KZ_OK : st == KZ_OK || st == KZ_UNKNOWN
			|| st == KZ_DEVICE_MEMORY);
		kz_error_clear(&err);
		support_stub("");
		ck_assert_int_eq(memory_stats().live_size + memory_stats().live_count, 0);
		ck_assert_int_eq(support_stub_live(STUB_MEMORY), memory_stats().segment_count);
		ok(do_a_lot());
		close_stub();
	}
}
END_TEST

STUB_TEST(every_host_allocation_that_fails_leaves_nothing, "")
{
	kz_status st = KZ_NO_MEMORY;
	kz_stream *stream = open_stream();
	for (long n = 0; st == KZ_NO_MEMORY; n++) {
		kz_buffer *a = NULL, *b = NULL, *c = NULL;
		mem_fail_after(n);
		st = kz_buffer_create(&a, dev, 100, &err);
		st = st ? st : kz_buffer_create(&b, dev, 0, &err);
		st = st ? st : kz_buffer_wrap(&c, dev, kz_buffer_address(a), 100, NULL, NULL, &err);
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
		release_buffers(a, b, c);
		ck_assert_int_eq(memory_stats().live_size + memory_stats().live_count, 0);
	}
	ok(st);
	kz_stream_release(stream);
}

START_TEST(a_lost_device_forgets_its_pool)
{
	open_stub("");
	kz_buffer *buffer = create_buffer(100), *other = create_buffer(3 * MIB), *none;
	use(buffer, NULL);
	kz_buffer_release(other);
	support_stub("fail=cuMemsetD8Async:700");
	fails(kz_fill(buffer, 0, 1, "x", 1, NULL, &err), KZ_FAULT, "cuMemsetD8Async");
	fails(kz_buffer_create(&none, dev, 100, &err), KZ_FAULT, "was lost");
	fails(kz_device_trim(dev, 0, &err), KZ_FAULT, "was lost");
	support_stub("");
	kz_device_close(dev);
	kz_buffer_release(buffer);
	ck_assert_int_eq(support_stub_calls("cuMemFree"), 0);
	ck_assert_int_eq(support_stub_calls("cuStreamQuery"), 0);
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), 0);
	ck_assert_int_eq(support_stub_live(STUB_CONTEXT), 0);
}
END_TEST

/* Without the pool */

START_TEST(without_the_pool_memory_comes_from_the_driver_and_goes_back)
{
	setenv("KUDZU_POOL", "0", 1);
	open_stub("");
	kz_buffer *a = create_buffer(100), *b = create_buffer(700);
	ck_assert_int_eq(memory_stats().reserved_size, 512 + 1024);
	kz_buffer_release(a);
	ck_assert_int_eq(support_stub_calls("cuMemFreeAsync"), 1);
	ck_assert_int_eq(memory_stats().reserved_size, 1024);
	ok(kz_device_use_pool(dev, 1, &err));
	kz_buffer_release(b);
	ck_assert_int_eq(memory_stats().reserved_size, 0);
	a = create_buffer(100);
	ok(kz_device_use_pool(dev, 0, &err));
	kz_buffer_release(a);
	ck_assert_int_eq(memory_stats().reserved_size, 2 * MIB);
	ok(kz_device_trim(dev, 0, &err));
	ck_assert_int_eq(memory_stats().reserved_size, 0);
	close_stub();
}
END_TEST

START_TEST(a_strange_choice_of_pool_is_refused)
{
	setenv("KUDZU_POOL", "yes", 1);
	support_stub("");
	fails(kz_device_open(&dev, "cuda:0", &err), KZ_INVALID,
		"KUDZU_POOL: expected 0 or 1, got 'yes'");
	setenv("KUDZU_POOL", "", 1);
	open_stub("");
	close_stub();
}
END_TEST

static TCase *reuse_case(void)
{
	TCase *tc = tcase_create("reuse");
	tcase_add_loop_test(tc, two_floats_take_512_bytes_and_none_when_they_are_released, 0,
		support_device_count() + 1);
	tcase_add_tests(tc, 1, segments_are_of_the_sizes_that_are_promised,
		a_stream_has_its_memory_back_at_once_and_asks_the_driver_for_nothing,
		a_stream_gets_other_memory_than_what_another_is_busy_with);
	tcase_add_loop_test(tc, memory_of_a_busy_stream_is_reused_behind_it, 0, countof(memories));
	tcase_add_tests(tc, 1, small_blocks_become_large_ones_again,
		a_stream_that_goes_leaves_its_memory_to_the_default_stream,
		a_stream_that_is_captured_is_not_asked_whether_it_is_done,
		without_the_pool_memory_comes_from_the_driver_and_goes_back,
		a_strange_choice_of_pool_is_refused);
	return tc;
}

static TCase *shortage_case(void)
{
	TCase *tc = tcase_create("shortage");
	tcase_add_tests(tc, 1, a_full_device_gives_unused_segments_back_and_tries_once_more,
		a_nearly_full_device_gives_single_blocks, an_array_that_does_not_fit_is_named,
		the_limit_holds);
	tcase_add_loop_test(tc, every_device_allocation_that_fails_leaves_the_pool_as_it_was, 0,
		countof(failures));
	tcase_add_tests(tc, 1, every_host_allocation_that_fails_leaves_nothing,
		a_lost_device_forgets_its_pool);
	return tc;
}

SUITE(mempool)
{
	Suite *s = suite_create("mempool");
	suite_add_tcase(s, reuse_case());
	suite_add_tcase(s, shortage_case());
	return s;
}

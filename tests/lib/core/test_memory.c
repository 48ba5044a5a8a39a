/* SPDX-License-Identifier: MIT */
/*
 * Buffers, copies and fills: results on every device, against the same on host memory; errors,
 * order between streams and what the driver is asked for on the stub.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/memory.h"
#include "support/device_test.h"

#include <stdlib.h>
#include <string.h>

/* Allocation */

STUB_TEST(memory_is_counted_in_units_of_512_bytes, "")
{
	kz_memory_stats stats;
	kz_buffer *small = create_buffer(8), *large = create_buffer(513), *none = create_buffer(0);
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_eq(stats.live_size, 512 + 1024);
	ck_assert_int_eq(stats.live_count, 3);
	release_buffers(large, none);
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_eq(stats.live_size, 512);
	ck_assert_int_eq(stats.peak_size, 512 + 1024);
	ck_assert_int_eq(stats.live_count, 1);
	ck_assert_int_eq(stats.total_count, 3);
	release_buffers(small, NULL);
}

STUB_TEST(nothing_in_place_of_a_buffer_or_a_result_is_no_crash, "")
{
	kz_memory_stats stats;
	memset(&stats, 1, sizeof(stats));
	kz_buffer *buffer = create_buffer(8);
	fails(kz_buffer_create(NULL, dev, 8, &err), KZ_INVALID, "kz_buffer_create: out is NULL");
	fails(kz_buffer_view(NULL, buffer, 0, 8, &err), KZ_INVALID, "kz_buffer_view: out is NULL");
	kz_buffer_release(buffer);
	ck_assert_int_eq(kz_buffer_size(NULL), 0);
	ck_assert_uint_eq(kz_buffer_address(NULL), 0);
	ck_assert_ptr_null(kz_buffer_device(NULL));
	kz_device_memory_stats(dev, NULL);
	kz_device_memory_stats(NULL, &stats);
	ck_assert_int_eq(stats.live_size + stats.peak_size, 0);
	ck_assert_int_eq(stats.live_count + stats.total_count, 0);
	ck_assert_int_eq(stats.reserved_size + stats.peak_reserved_size + stats.segment_count, 0);
}

STUB_TEST(a_buffer_of_no_bytes_asks_the_driver_for_nothing, "")
{
	kz_buffer *buffer = create_buffer(0);
	ck_assert_int_eq(kz_buffer_size(buffer), 0);
	ck_assert_uint_eq(kz_buffer_address(buffer), 0);
	ck_assert_ptr_eq(kz_buffer_device(buffer), dev);
	ok(kz_copy_htod(buffer, 0, NULL, 0, &err));
	ok(kz_copy_dtoh(NULL, 0, buffer, 0, &err));
	ok(kz_fill(buffer, 0, 0, "", 1, NULL, &err));
	fails(kz_copy_htod(buffer, 0, "x", 1, &err), KZ_RANGE, "do not lie in a buffer of 0 bytes");
	ck_assert_int_eq(support_stub_calls("cuMemAlloc"), 0);
	kz_buffer_release(buffer);
	ck_assert_int_eq(support_stub_calls("cuMemFree"), 0);
}

STUB_TEST(a_negative_size_and_no_device_are_refused, "")
{
	kz_buffer *buffer = (kz_buffer *)&err;
	fails(kz_buffer_create(&buffer, dev, -1, &err), KZ_INVALID, "got -1");
	ck_assert_ptr_null(buffer);
	fails(kz_buffer_create(&buffer, NULL, 8, &err), KZ_INVALID, "expected a device, got NULL");
}

/* The pool, and both of the driver's allocators without it. */
static const struct {
	const char *pool;
	const char *script;
	const char *call;
} allocators[] = {
	{"1", "", "cuMemAlloc"}, {"0", "", "cuMemAllocAsync"},
	{"0", "missing=cuMemAllocAsync", "cuMemAlloc"},
};

static void open_with(int allocator, const char *script)
{
	char text[128];
	setenv("KUDZU_POOL", allocators[allocator].pool, 1);
	snprintf(text, sizeof(text), "%s%s%s", allocators[allocator].script,
		allocators[allocator].script[0] ? ";" : "", script);
	open_stub(text);
}

START_TEST(a_full_device_says_what_was_requested_live_reserved_and_free)
{
	open_with(_i, "memory=4096");
	kz_buffer *first = create_buffer(1024), *second;
	ck_assert_int_eq(kz_buffer_create(&second, dev, 1 << 20, &err), KZ_DEVICE_MEMORY);
	ck_assert_ptr_null(second);
	ck_assert_str_eq(err.message,
		"no memory on cuda:0 for a buffer: 1048576 bytes requested, 1024 live, "
		"1024 reserved, 3072 free of 4096");
	ck_assert_int_eq(err.code, CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_str_eq(err.name, "CUDA_ERROR_OUT_OF_MEMORY");
	kz_error_clear(&err);
	fails(kz_buffer_create(&second, dev, INT64_MAX, &err), KZ_DEVICE_MEMORY,
		"9223372036854775807 bytes requested, 1024 live, 1024 reserved, 3072 free");
	second = create_buffer(1024);
	release_buffers(second, first);
	close_stub();
}
END_TEST

STUB_TEST(a_full_device_without_memory_info_still_says_what_was_requested,
	"memory=4096;missing=cuMemGetInfo_v2")
{
	kz_buffer *buffer;
	ck_assert_int_eq(kz_buffer_create(&buffer, dev, 1 << 20, &err), KZ_DEVICE_MEMORY);
	ck_assert_str_eq(err.message,
		"no memory on cuda:0 for a buffer: 1048576 bytes requested, 0 live, "
		"0 reserved");
	kz_error_clear(&err);
}

START_TEST(an_allocation_is_tried_again_when_all_streams_are_done)
{
	open_with(1, "fail=cuMemAllocAsync:2@1");
	kz_buffer_release(create_buffer(64));
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), 1);
	ck_assert_int_eq(support_stub_calls("cuMemAllocAsync"), 2);
	close_stub();
}
END_TEST

START_TEST(a_fault_found_while_trying_again_is_not_hidden)
{
	kz_buffer *buffer;
	open_with(1, "fail=cuMemAllocAsync:2@1;fail=cuCtxSynchronize:700");
	fails(kz_buffer_create(&buffer, dev, 64, &err), KZ_FAULT, "cuCtxSynchronize: ");
	fails(kz_device_check(dev, &err), KZ_FAULT, "was lost by an earlier failure");
	kz_device_close(dev);
}
END_TEST

/* Every result of an allocation, from everywhere, as the user sees it. */
START_TEST(every_result_of_an_allocation_reaches_the_user)
{
	for (int code = 1; code < 1000; code++) {
		char script[64];
		kz_buffer *buffer;
		const struct native_code *known = codes_find(KZ_DOMAIN_DRIVER, code);
		const char *call = allocators[_i].call;
		snprintf(script, sizeof(script), "fail=%s:%d", call, code);
		open_with(_i, script);
		kz_status st = kz_buffer_create(&buffer, dev, 64, &err);
		ck_assert_int_eq(st, known ? known->status : KZ_UNKNOWN);
		ck_assert_int_eq(err.status, st);
		ck_assert_int_eq(err.code, code);
		ck_assert_str_eq(err.call, call);
		ck_assert_uint_eq(err.flags, known ? known->flags : 0);
		kz_error_clear(&err);
		ck_assert_int_eq(kz_device_check(dev, NULL),
			known && known->flags & KZ_ERROR_STICKY ? st : KZ_OK);
		kz_device_close(dev);
		ck_assert_int_eq(support_stub_live(STUB_MEMORY), 0);
	}
}
END_TEST

STUB_TEST(creating_without_host_memory_leaves_nothing, "")
{
	kz_status st = KZ_NO_MEMORY;
	kz_buffer *buffer = NULL, *view = NULL;
	long n;
	for (n = 0; st == KZ_NO_MEMORY; n++) {
		mem_fail_after(n);
		st = kz_buffer_create(&buffer, dev, 64, &err);
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
	}
	ok(st);
	ck_assert_int_eq(n, 4); /* the pool keeps what one failed attempt found */
	mem_fail_after(0);
	ck_assert_int_eq(kz_buffer_view(&view, buffer, 0, 8, &err), KZ_NO_MEMORY);
	mem_fail_after(-1);
	kz_error_clear(&err);
	kz_buffer_release(buffer);
}

/* Lifetimes and order */

START_TEST(memory_goes_with_its_last_view)
{
	kz_buffer *view, *inner;
	open_stub("");
	kz_buffer *buffer = create_buffer(1024);
	uint64_t address = kz_buffer_address(buffer);
	ok(kz_buffer_view(&view, buffer, 100, 50, &err));
	ok(kz_buffer_view(&inner, view, 10, 40, &err));
	ck_assert_uint_eq(kz_buffer_address(inner), address + 110);
	ck_assert_int_eq(kz_buffer_size(inner), 40);
	release_buffers(buffer, view);
	kz_device_close(dev);
	ck_assert_int_eq(support_stub_live(STUB_MEMORY), 1);
	ok(kz_copy_htod(inner, 0, "abc", 3, &err));
	kz_buffer_release(inner);
	ck_assert_int_eq(support_stub_live(STUB_MEMORY), 0);
	ck_assert_int_eq(support_stub_live(STUB_CONTEXT), 0);
}
END_TEST

STUB_TEST(a_view_outside_its_buffer_is_refused, "")
{
	static const int64_t bad[][2] = {{-1, 1}, {0, 65}, {64, 1}, {65, 0}, {1, INT64_MAX},
		{INT64_MAX, 1}, {0, -1}, {INT64_MIN, INT64_MIN}};
	kz_buffer *view = (kz_buffer *)&err;
	kz_buffer *buffer = create_buffer(64);
	for (size_t i = 0; i < countof(bad); i++) {
		fails(kz_buffer_view(&view, buffer, bad[i][0], bad[i][1], &err), KZ_RANGE,
			"do not lie in a buffer of 64 bytes");
		ck_assert_ptr_null(view);
	}
	fails(kz_buffer_view(&view, NULL, 0, 0, &err), KZ_INVALID, "expected a buffer, got NULL");
	ok(kz_buffer_view(&view, buffer, 64, 0, &err));
	ck_assert_uint_eq(kz_buffer_address(view), 0);
	release_buffers(view, buffer);
}

STUB_TEST(a_stream_waits_for_the_one_that_used_the_memory_before, "")
{
	kz_stream *stream;
	kz_buffer *buffer = create_buffer(64);
	ok(kz_stream_create(&stream, dev, 0, &err));
	for (int i = 0; i < 3; i++) {
		ok(kz_fill(buffer, 0, 64, "", 1, stream, &err));
	}
	/* Nobody has used it before, and its own work is in order as it is. */
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 0);
	ok(kz_fill(buffer, 0, 64, "", 1, NULL, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 1);
	ck_assert_int_eq(support_stub_calls("cuEventRecord"), 1);
	/* A copy to the host goes where the memory is, and waits for that stream alone. */
	char host;
	ok(kz_fill(buffer, 0, 64, "", 1, stream, &err));
	ok(kz_copy_dtoh(&host, 1, buffer, 0, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), 2);
	ck_assert_int_eq(support_stub_calls("cuStreamSynchronize"), 1);
	kz_stream_release(stream);
	ck_assert_int_eq(support_stub_live(STUB_STREAM), 2);
	kz_buffer_release(buffer);
	ck_assert_int_eq(support_stub_live(STUB_STREAM), 1);
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), 0);
}

START_TEST(without_any_pool_a_release_waits_for_the_last_user_alone)
{
	kz_stream *stream;
	open_with(2, "");
	kz_buffer *unused = create_buffer(64), *used = create_buffer(64);
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_fill(used, 0, 64, "", 1, stream, &err));
	kz_buffer_release(unused);
	ck_assert_int_eq(support_stub_calls("cuStreamSynchronize"), 0);
	kz_buffer_release(used);
	ck_assert_int_eq(support_stub_calls("cuStreamSynchronize"), 1);
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), 0);
	ck_assert_int_eq(support_stub_calls("cuMemFree"), 2);
	kz_stream_release(stream);
	close_stub();
}
END_TEST

/* Copies */

STUB_TEST(bad_copies_are_refused, "")
{
	char host[64];
	kz_stream *stream = kz_device_stream(dev);
	kz_buffer *a = create_buffer(64);
	fails(kz_copy_htod(a, 1, host, 64, &err), KZ_RANGE,
		"64 bytes from offset 1 do not lie in a buffer of 64 bytes");
	fails(kz_copy_dtoh(host, 64, a, 1, &err), KZ_RANGE, "do not lie in a buffer of 64 bytes");
	fails(kz_copy_htod(a, -1, host, 8, &err), KZ_RANGE, "offset -1");
	fails(kz_copy_dtoh(host, -8, a, 0, &err), KZ_RANGE, "-8 bytes");
	fails(kz_copy_htod(a, INT64_MAX, host, INT64_MAX, &err), KZ_RANGE, "do not lie");
	fails(kz_copy_htod(a, 0, NULL, 8, &err), KZ_INVALID,
		"expected 8 bytes of host memory, got NULL");
	fails(kz_copy_dtoh(NULL, 8, a, 0, &err), KZ_INVALID,
		"expected 8 bytes of host memory, got NULL");
	fails(kz_copy_htod(NULL, 0, host, 8, &err), KZ_INVALID, "expected a buffer, got NULL");
	fails(kz_copy_htod_async(a, 0, host, 8, NULL, &err), KZ_INVALID,
		"expected a stream, got NULL");
	fails(kz_copy_dtoh_async(host, 8, a, 60, stream, &err), KZ_RANGE, "8 bytes from offset 60");
	fails(kz_copy_dtod(a, 0, a, 4, 8, &err), KZ_INVALID, "overlap");
	fails(kz_copy_dtod(a, 4, a, 0, 8, &err), KZ_INVALID, "overlap");
	fails(kz_copy_dtod(a, 0, NULL, 0, 8, &err), KZ_INVALID, "expected a buffer, got NULL");
	fails(kz_copy_dtod(a, 60, a, 0, 8, &err), KZ_RANGE, "8 bytes from offset 60");
	fails(kz_copy_dtod_on(a, 8, a, 0, 8, NULL, &err), KZ_INVALID,
		"expected a stream, got NULL");
	kz_buffer_release(a);
}

STUB_TEST(objects_of_two_devices_do_not_mix, "devices=2")
{
	kz_device *other;
	kz_buffer *there;
	char host[8] = {0};
	kz_buffer *here = create_buffer(64);
	ok(kz_device_open(&other, "cuda:1", &err));
	ok(kz_buffer_create(&there, other, 64, &err));
	fails(kz_copy_htod_async(here, 0, host, 8, kz_device_stream(other), &err), KZ_INVALID,
		"expected a stream of cuda:0, got one of cuda:1");
	fails(kz_fill(here, 0, 8, host, 1, kz_device_stream(other), &err), KZ_INVALID,
		"expected a stream of cuda:0, got one of cuda:1");
	release_buffers(here, there);
	kz_device_close(other);
}

STUB_TEST(bytes_arrive_on_another_device, "devices=2;streams=1")
{
	kz_device *other;
	kz_stream *stream = NULL;
	kz_buffer *here = create_buffer(64), *there = NULL;
	char host[64];
	ok(kz_device_open(&other, "cuda:1", &err));
	ok(kz_buffer_create(&there, other, 64, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_copy_htod(there, 0, "0123456789abcdef", 16, &err));
	ok(kz_copy_dtod(here, 8, there, 2, 8, &err));
	ok(kz_copy_dtod_on(here, 16, there, 0, 8, stream, &err));
	ck_assert_int_eq(support_stub_work("cuMemcpyPeerAsync", kz_stream_handle(stream)), 1);
	ok(kz_copy_dtoh(host, 16, here, 8, &err));
	ck_assert_mem_eq(host, "23456789" "01234567", 16);
	/* The stream of this device waits for the other's, and the other way round. */
	long waits = support_stub_calls("cuStreamWaitEvent");
	ok(kz_copy_dtod_on(here, 16, there, 0, 8, stream, &err));
	ck_assert_int_ge(support_stub_calls("cuStreamWaitEvent") - waits, 2);
	fails(kz_copy_dtod_on(here, 16, there, 0, 8, kz_device_stream(other), &err), KZ_INVALID,
		"expected a stream of cuda:0, got one of cuda:1");
	fails(kz_copy_dtod(here, 0, there, 60, 8, &err), KZ_RANGE, "8 bytes from offset 60");
	release_buffers(here, there);
	kz_stream_release(stream);
	kz_device_close(other);
}

STUB_TEST(bad_fills_are_refused, "")
{
	kz_buffer *a = create_buffer(64);
	fails(kz_fill(a, 0, 8, NULL, 1, NULL, &err), KZ_INVALID, "expected a pattern, got NULL");
	fails(kz_fill(a, 0, 12, "abc", 3, NULL, &err), KZ_INVALID, "1, 2, 4 or 8 bytes, got 3");
	fails(kz_fill(a, 0, 16, "", 16, NULL, &err), KZ_INVALID, "got 16");
	fails(kz_fill(a, 0, 16, "", 0, NULL, &err), KZ_INVALID, "got 0");
	fails(kz_fill(a, 2, 8, "abcd", 4, NULL, &err), KZ_INVALID, "got offset 2, size 8");
	fails(kz_fill(a, 4, 6, "abcd", 4, NULL, &err), KZ_INVALID, "got offset 4, size 6");
	fails(kz_fill(a, 60, 8, "abcd", 4, NULL, &err), KZ_RANGE, "do not lie");
	fails(kz_fill(NULL, 0, 8, "abcd", 4, NULL, &err), KZ_INVALID, "expected a buffer");
	kz_buffer_release(a);
}

/* The copies and fills that one driver function is behind. */
static const struct {
	const char *call;
	const char *pattern; /* of a fill; NULL: a copy */
	int size;
} works[] = {
	{"cuMemcpyHtoDAsync", NULL, 0}, {"cuMemcpyDtoHAsync", NULL, 1},
	{"cuStreamSynchronize", NULL, 1}, {"cuMemcpyDtoDAsync", NULL, 2},
	{"cuMemsetD8Async", "aaaaaaaa", 8}, {"cuMemsetD16Async", "abababab", 8},
	{"cuMemsetD32Async", "abcdabcd", 8}, {"cuMemsetD2D32Async", "abcdefgh", 8},
	{"cuEventRecord", "a", 1}, {"cuStreamWaitEvent", "a", 1}, {"cuCtxSetCurrent", "a", 1},
};

START_TEST(every_failing_copy_or_fill_reaches_the_user)
{
	static const int codes[] = {1, 2, 201, 400, 700, 716, 999, 998};
	for (size_t i = 0; i < countof(codes); i++) {
		char script[64], host[8] = "1234567";
		kz_stream *stream;
		open_stub("");
		kz_buffer *a = create_buffer(64), *b = create_buffer(64);
		ok(kz_stream_create(&stream, dev, 0, &err));
		ok(kz_fill(a, 0, 64, "", 1, NULL, &err));
		snprintf(script, sizeof(script), "fail=%s:%d@1", works[_i].call, codes[i]);
		support_stub(script);
		kz_status st = works[_i].pattern
			? kz_fill(a, 0, 64, works[_i].pattern, works[_i].size, stream, &err)
			: works[_i].size == 0 ? kz_copy_htod(a, 0, host, 8, &err)
			: works[_i].size == 1 ? kz_copy_dtoh(host, 8, a, 0, &err)
			: kz_copy_dtod(b, 0, a, 0, 8, &err);
		ck_assert_int_ne(st, KZ_OK);
		ck_assert_int_eq(err.code, codes[i]);
		ck_assert_int_eq(err.status, st);
		kz_error_clear(&err);
		kz_stream_release(stream);
		release_buffers(a, b);
		kz_device_close(dev);
		ck_assert_int_eq(support_stub_live(STUB_CONTEXT), 0);
	}
}
END_TEST

/* Every device found, and the stub */

DEVICE_TEST(bytes_come_back_as_they_went)
{
	enum { N = 1000 };
	char host[N], back[N], want[N];
	for (int i = 0; i < N; i++) {
		host[i] = (char)(i * 7);
		want[i] = (char)(i >= 500 && i < 700 ? (i - 500 + 10) * 7 : i * 7);
	}
	kz_stream *stream = kz_device_stream(dev);
	kz_buffer *a = create_buffer(N), *b = create_buffer(N);
	ok(kz_copy_htod(a, 0, host, N, &err));
	ok(kz_copy_dtod(b, 0, a, 0, N, &err));
	ok(kz_copy_dtod_on(b, 500, a, 10, 200, stream, &err));
	ok(kz_copy_dtoh(back, N, b, 0, &err));
	ck_assert_mem_eq(back, want, N);
	ok(kz_copy_htod_async(b, 100, host, 50, stream, &err));
	memcpy(want + 100, host, 50);
	ok(kz_copy_dtoh_async(back, 300, b, 50, stream, &err));
	ok(kz_stream_synchronize(stream, &err));
	ck_assert_mem_eq(back, want + 50, 300);
	release_buffers(a, b);
}

/* Each pattern at an even and an odd place, against the same on the host. */
static const char *const patterns[] = {"aaaaaaaa", "abababab", "abcdabcd", "abcdefgh", "aaaaaaab"};

DEVICE_TEST(fills_repeat_their_pattern)
{
	enum { N = 400 };
	char want[N], back[N];
	kz_buffer *view;
	kz_buffer *buffer = create_buffer(N);
	for (size_t p = 0; p < countof(patterns); p++) {
		for (int size = 1; size <= 8; size *= 2) {
			for (int shift = 0; shift < 4; shift++) {
				memset(want, 'z', N);
				for (int i = 0; i < 160; i++) {
					want[shift + 16 + i] = patterns[p][i % size];
				}
				ok(kz_fill(buffer, 0, N, "z", 1, NULL, &err));
				ok(kz_buffer_view(&view, buffer, shift, 300, &err));
				ok(kz_fill(view, 16, 160, patterns[p], size, NULL, &err));
				kz_buffer_release(view);
				ok(kz_copy_dtoh(back, N, buffer, 0, &err));
				ck_assert_mem_eq(back, want, N);
			}
		}
	}
	kz_buffer_release(buffer);
}

DEVICE_TEST(work_of_two_streams_on_one_buffer_is_in_order)
{
	enum { N = 1 << 18 };
	static char back[N];
	kz_stream *streams[2];
	kz_buffer *a = create_buffer(N), *b = create_buffer(N);
	ok(kz_stream_create(&streams[0], dev, 0, &err));
	ok(kz_stream_create(&streams[1], dev, 0, &err));
	for (int i = 1; i <= 30; i++) {
		char byte = (char)i;
		ok(kz_fill(a, 0, N, &byte, 1, streams[i % 2], &err));
		ok(kz_copy_dtod_on(b, 0, a, 0, N, streams[!(i % 2)], &err));
	}
	kz_stream_release(streams[0]);
	kz_stream_release(streams[1]);
	kz_buffer_release(a);
	ok(kz_copy_dtoh(back, N, b, 0, &err));
	ck_assert(back[0] == 30 && back[N / 2] == 30 && back[N - 1] == 30);
	kz_buffer_release(b);
}

DEVICE_TEST(more_than_there_is_is_an_error_and_the_device_goes_on)
{
	kz_buffer *buffer;
	ck_assert_int_eq(kz_buffer_create(&buffer, dev, (int64_t)1 << 46, &err), KZ_DEVICE_MEMORY);
	ck_assert_ptr_nonnull(strstr(err.message, "70368744177664 bytes requested"));
	kz_error_clear(&err);
	buffer = create_buffer(1 << 20);
	ok(kz_fill(buffer, 0, 1 << 20, "", 1, NULL, &err));
	ok(kz_device_synchronize(dev, &err));
	kz_buffer_release(buffer);
}

static TCase *allocation_case(void)
{
	TCase *tc = tcase_create("allocation");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, 1, memory_is_counted_in_units_of_512_bytes,
		a_buffer_of_no_bytes_asks_the_driver_for_nothing,
		nothing_in_place_of_a_buffer_or_a_result_is_no_crash,
		a_negative_size_and_no_device_are_refused);
	tcase_add_loop_test(tc, a_full_device_says_what_was_requested_live_reserved_and_free, 0,
		countof(allocators));
	tcase_add_tests(tc, 1, a_full_device_without_memory_info_still_says_what_was_requested,
		an_allocation_is_tried_again_when_all_streams_are_done,
		a_fault_found_while_trying_again_is_not_hidden);
	tcase_add_loop_test(tc, every_result_of_an_allocation_reaches_the_user, 0,
		countof(allocators));
	tcase_add_tests(tc, 1, creating_without_host_memory_leaves_nothing,
		memory_goes_with_its_last_view, a_view_outside_its_buffer_is_refused);
	return tc;
}

static TCase *work_case(void)
{
	TCase *tc = tcase_create("copies and fills");
	tcase_add_tests(tc, 1, a_stream_waits_for_the_one_that_used_the_memory_before,
		without_any_pool_a_release_waits_for_the_last_user_alone, bad_copies_are_refused,
		objects_of_two_devices_do_not_mix, bytes_arrive_on_another_device,
		bad_fills_are_refused);
	tcase_add_loop_test(tc, every_failing_copy_or_fill_reaches_the_user, 0, countof(works));
	return tc;
}

static TCase *device_case(void)
{
	TCase *tc = tcase_create("each device");
	int count = support_device_count() + 1;
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, count, bytes_come_back_as_they_went, fills_repeat_their_pattern,
		work_of_two_streams_on_one_buffer_is_in_order,
		more_than_there_is_is_an_error_and_the_device_goes_on);
	return tc;
}

SUITE(memory)
{
	Suite *s = suite_create("memory");
	suite_add_tcase(s, allocation_case());
	suite_add_tcase(s, work_case());
	suite_add_tcase(s, device_case());
	return s;
}

/* SPDX-License-Identifier: MIT */
/* src/lib/core/growable.c: buffers that grow and shrink in place. */
#include "base/common.h"

#include "base/alloc.h"
#include "support/device_test.h"

#include <kudzu/host_memory.h>

enum { MIB = 1 << 20, STUB_CHUNK = 1 << 16 };

static const char source[] =
	"extern \"C\" __global__ void count(int *a, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) { a[i] = i; }\n"
	"}\n"
	"extern \"C\" __global__ void spin(int *a, int n)\n"
	"{\n"
	"	unsigned x = 1;\n"
	"	for (int i = 0; i < n; i++) { x = x * 1664525u + 1013904223u; }\n"
	"	a[0] = (int)x | 1;\n"
	"}\n";

static kz_module *mod;
static kz_kernel *count, *spin;

static void compile(void)
{
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ok(kz_module_kernel(&count, mod, "count", &err));
	ok(kz_module_kernel(&spin, mod, "spin", &err));
}

static kz_buffer *create_growable(int64_t size, int64_t capacity)
{
	kz_buffer *buffer = NULL;
	ok(kz_buffer_create_growable(&buffer, dev, size, capacity, &err));
	return buffer;
}

/* What the device has, in bytes; 0 of a GPU, whose memory others may use at the same time. */
static int64_t free_memory(void)
{
	int64_t size = 0;
	if (strcmp(kz_device_name(dev), "cuda:0") == 0 && !getenv("KUDZU_CUDA_DRIVER")) {
		return 0;
	}
	ok(kz_device_memory(dev, &size, NULL, &err));
	return size;
}

static void expect_counted(kz_buffer *buffer, int64_t from, int64_t elements)
{
	static int32_t host[1 << 12];
	for (int64_t at = from; at < elements; at += countof(host)) {
		int64_t some = elements - at < (int64_t)countof(host) ? elements - at
			: (int64_t)countof(host);
		ok(kz_copy_dtoh(host, 4 * some, buffer, 4 * at, &err));
		for (int64_t i = 0; i < some; i++) {
			ck_assert_int_eq(host[i], at + i);
		}
	}
}

KERNEL_TEST(kernels_use_what_has_grown_at_the_same_address)
{
	compile();
	kz_buffer *buffer = create_growable(100, 64 * MIB);
	uint64_t address = kz_buffer_address(buffer);
	static const int sizes[] = {1 << 10, 3 * MIB, 5 * MIB + 4, 40 * MIB};
	ck_assert_int_eq(kz_buffer_capacity(buffer), 64 * MIB);
	for (size_t i = 0; i < countof(sizes); i++) {
		int n = sizes[i] / 4;
		ok(kz_buffer_resize(buffer, sizes[i], &err));
		ck_assert_int_eq(kz_buffer_size(buffer), sizes[i]);
		ck_assert_uint_eq(kz_buffer_address(buffer), address);
		expect_counted(buffer, 0, i ? sizes[i - 1] / 4 : 0);
		ok(kz_launch(count, kz_dim(n / 256 + 1, 1, 1), kz_dim(256, 1, 1), NULL, &err,
			KZ_ARGS(buffer, n)));
		expect_counted(buffer, 0, n);
	}
	kz_buffer_release(buffer);
	kz_module_release(mod);
}

KERNEL_TEST(a_buffer_grows_while_a_kernel_uses_it_and_shrinks_behind_it)
{
	compile();
	int32_t first = 0;
	kz_buffer *buffer = create_growable(4, 16 * MIB);
	ok(kz_launch(spin, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(buffer, 1 << 22)));
	ok(kz_buffer_resize(buffer, 16 * MIB, &err));
	ok(kz_launch(spin, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(buffer, 1 << 22)));
	ok(kz_buffer_resize(buffer, 0, &err));
	ok(kz_device_synchronize(dev, &err)); /* no fault: the kernel came first */
	ok(kz_buffer_resize(buffer, 4, &err));
	ok(kz_launch(spin, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(buffer, 1 << 22)));
	ok(kz_buffer_resize(buffer, 4 * MIB, &err));
	ok(kz_copy_dtoh(&first, 4, buffer, 0, &err));
	ck_assert_int_eq(first & 1, 1);
	kz_buffer_release(buffer);
	kz_module_release(mod);
}

KERNEL_TEST(a_kernel_behind_the_end_faults)
{
	compile();
	kz_buffer *buffer = create_growable(4, 64 * MIB);
	ok(kz_launch(count, kz_dim(16 << 10, 1, 1), kz_dim(256, 1, 1), NULL, &err,
		KZ_ARGS(buffer, 16 << 20)));
	ck_assert_int_eq(kz_device_synchronize(dev, &err), KZ_FAULT);
	kz_error_clear(&err);
	kz_buffer_release(buffer); /* the addresses go back, though the device is lost */
	kz_module_release(mod);
}

DEVICE_TEST(shrinking_gives_memory_back)
{
	int64_t before = free_memory();
	kz_buffer *buffer = create_growable(0, 256 * MIB);
	ck_assert_int_eq(free_memory(), before);
	ck_assert_int_eq(memory_stats().reserved_size, 0);
	ok(kz_buffer_resize(buffer, 100 * MIB, &err));
	kz_memory_stats stats = memory_stats();
	ck_assert_int_eq(stats.live_size, 100 * MIB);
	ck_assert(!before || stats.reserved_size == before - free_memory());
	ck_assert_int_ge(stats.reserved_size, 100 * MIB);
	ck_assert_int_le(stats.reserved_size, 113 * MIB);
	ck_assert_int_eq(stats.segment_count, 1);
	ok(kz_buffer_resize(buffer, MIB, &err));
	ck_assert_int_le(before - free_memory(), 2 * MIB);
	ck_assert(!before || memory_stats().reserved_size == before - free_memory());
	ok(kz_buffer_resize(buffer, 0, &err));
	ck_assert_int_eq(free_memory(), before);
	ck_assert_uint_eq(kz_buffer_address(buffer), 0);
	stats = memory_stats();
	ck_assert_int_eq(stats.live_size, 0);
	ck_assert_int_eq(stats.live_count, 1);
	ck_assert_int_eq(stats.peak_size, 100 * MIB);
	ck_assert_int_eq(stats.segment_count, 0);
	ok(kz_buffer_resize(buffer, 256 * MIB, &err));
	kz_buffer_release(buffer);
	ck_assert_int_eq(free_memory(), before);
	ck_assert_int_eq(memory_stats().reserved_size, 0);
}

/* Sizes up and down, in steps that end anywhere; what stays keeps its bytes. */
DEVICE_TEST(any_sequence_of_sizes_keeps_what_stays)
{
	enum { CAPACITY = 24 * MIB + 12345 };
	static uint8_t host[CAPACITY], back[CAPACITY];
	uint32_t random = 7;
	kz_buffer *buffer = create_growable(0, CAPACITY);
	for (size_t i = 0; i < sizeof(host); i++) {
		host[i] = (uint8_t)(i * 31 >> 3);
	}
	int64_t size = 0;
	for (int i = 0; i < support_how_many(1000, 60, 20); i++) {
		random = random * 1664525u + 1013904223u;
		int64_t next = i % 10 == 9 ? CAPACITY : (random >> 4) % CAPACITY;
		ok(kz_buffer_resize(buffer, next, &err));
		if (next > size) {
			ok(kz_copy_htod(buffer, size, host + size, next - size, &err));
		}
		size = next;
		memset(back, 0, (size_t)size);
		ok(kz_copy_dtoh(back, size, buffer, 0, &err));
		ck_assert_mem_eq(back, host, (size_t)size);
	}
	kz_buffer_release(buffer);
}

DEVICE_TEST(nothing_shrinks_under_a_view)
{
	kz_buffer *buffer = create_growable(1000, 10 * MIB), *view = NULL;
	ok(kz_buffer_view(&view, buffer, 0, 10, &err));
	fails(kz_buffer_resize(buffer, 999, &err), KZ_STATE, "1 other refers to");
	ck_assert_int_eq(kz_buffer_size(buffer), 1000);
	ok(kz_buffer_resize(buffer, 1000, &err));
	ok(kz_buffer_resize(buffer, 5 * MIB, &err));
	ck_assert_int_eq(kz_buffer_size(view), 10);
	ck_assert_uint_eq(kz_buffer_address(view), kz_buffer_address(buffer));
	fails(kz_buffer_resize(view, 5, &err), KZ_INVALID, "no view");
	ck_assert_int_eq(kz_buffer_capacity(view), 10);
	kz_buffer_release(view);
	ok(kz_buffer_resize(buffer, 999, &err));
	kz_buffer_release(buffer);
}

DEVICE_TEST(a_view_keeps_the_memory)
{
	int32_t values[2] = {3, 4}, back[2] = {0, 0};
	kz_buffer *buffer = create_growable(2 * MIB, 2 * MIB), *view = NULL;
	ok(kz_buffer_view(&view, buffer, MIB, 8, &err));
	kz_buffer_release(buffer);
	ok(kz_copy_htod(view, 0, values, 8, &err));
	ok(kz_copy_dtoh(back, 8, view, 0, &err));
	ck_assert_mem_eq(back, values, 8);
	kz_buffer_release(view);
}

DEVICE_TEST(a_capture_goes_on_while_memory_grows)
{
	kz_buffer *buffer = create_growable(16, 10 * MIB), *other = create_growable(16, 10 * MIB);
	kz_graph *graph = NULL;
	ok(kz_graph_begin(kz_device_stream(dev), NULL, &err));
	ok(kz_fill(buffer, 0, 16, "\7", 1, NULL, &err));
	ok(kz_buffer_resize(buffer, 10 * MIB, &err));
	fails(kz_buffer_resize(buffer, 16, &err), KZ_STATE, "kz_buffer_resize");
	fails(kz_buffer_resize(other, 0, &err), KZ_STATE, "kz_buffer_resize");
	ok(kz_graph_end(&graph, kz_device_stream(dev), &err));
	fails(kz_buffer_resize(buffer, 16, &err), KZ_STATE, "1 other refers to");
	ok(kz_buffer_resize(other, 0, &err));
	kz_graph_release(graph);
	ok(kz_buffer_resize(buffer, 16, &err));
	release_buffers(buffer, other);
}

DEVICE_TEST(wrong_arguments_are_told)
{
	kz_buffer *plain = create_buffer(64), *buffer = (kz_buffer *)1;
	fails(kz_buffer_create_growable(&buffer, dev, 2, 1, &err), KZ_RANGE, "at most 1 byte,");
	ck_assert_ptr_null(buffer);
	fails(kz_buffer_create_growable(&buffer, dev, -1, 1, &err), KZ_INVALID,
		"of at least 0, got -1 and 1");
	fails(kz_buffer_create_growable(&buffer, dev, 0, -5, &err), KZ_INVALID, "got 0 and -5");
	fails(kz_buffer_create_growable(&buffer, NULL, 0, 5, &err), KZ_INVALID, "a device");
	fails(kz_buffer_create_growable(NULL, dev, 0, 5, &err), KZ_INVALID, "out is NULL");
	fails(kz_buffer_create_growable(&buffer, dev, 0, INT64_MAX, &err), KZ_DEVICE_MEMORY,
		"cannot reserve addresses on");
	ck_assert_ptr_null(buffer);
	fails(kz_buffer_resize(NULL, 1, &err), KZ_INVALID, "expected a buffer");
	fails(kz_buffer_resize(plain, 1, &err), KZ_INVALID, "kz_buffer_create_growable");
	ck_assert_int_eq(kz_buffer_capacity(plain), 64);
	ck_assert_int_eq(kz_buffer_capacity(NULL), 0);
	buffer = create_growable(1, 8);
	fails(kz_buffer_resize(buffer, 9, &err), KZ_RANGE, "at most 8 bytes, the capacity, got 9");
	fails(kz_buffer_resize(buffer, -1, &err), KZ_INVALID, "got -1");
	fails(kz_buffer_resize(buffer, INT64_MIN, &err), KZ_INVALID, "of at least 0");
	ck_assert_int_eq(kz_buffer_size(buffer), 1);
	kz_buffer_release(buffer);
	fails(kz_buffer_resize(buffer, 1, &err), KZ_INVALID, "a buffer that was released");
	kz_buffer_release(plain);
}

DEVICE_TEST(a_capacity_of_nothing_is_one)
{
	kz_buffer *buffer = create_growable(0, 0);
	ok(kz_buffer_resize(buffer, 0, &err));
	fails(kz_buffer_resize(buffer, 1, &err), KZ_RANGE, "at most 0 bytes");
	kz_buffer_release(buffer);
}

DEVICE_TEST(the_limit_of_the_pool_holds)
{
	kz_buffer *buffer = create_growable(0, 64 * MIB);
	kz_buffer *kept = create_buffer(3 * MIB);
	kz_buffer_release(kept); /* unused memory of the pool gives way */
	ok(kz_device_limit_memory(dev, 16 * MIB, &err));
	ok(kz_buffer_resize(buffer, 15 * MIB, &err));
	fails(kz_buffer_resize(buffer, 33 * MIB, &err), KZ_DEVICE_MEMORY,
		"34603008 bytes requested");
	ck_assert_int_eq(kz_buffer_size(buffer), 15 * MIB);
	ok(kz_device_limit_memory(dev, 0, &err));
	ok(kz_buffer_resize(buffer, 33 * MIB, &err));
	kz_buffer_release(buffer);
}

/* Faults of the driver */

STUB_TEST(memory_that_runs_out_leaves_the_buffer_as_it_is, "memory=8388608")
{
	kz_buffer *buffer = create_growable(MIB, 64 * MIB), *plain = create_buffer(3 * MIB);
	int64_t before = free_memory();
	fails(kz_buffer_resize(buffer, 6 * MIB, &err), KZ_DEVICE_MEMORY, "6291456 bytes requested");
	ck_assert_int_eq(kz_buffer_size(buffer), MIB);
	ck_assert_int_eq(free_memory(), before);
	ok(kz_fill(buffer, 0, MIB, "\1", 1, NULL, &err));
	kz_buffer_release(plain); /* the pool has it yet, and gives it back */
	ok(kz_buffer_resize(buffer, 6 * MIB, &err));
	ok(kz_fill(buffer, 0, 6 * MIB, "\1", 1, NULL, &err));
	kz_buffer_release(buffer);
}

STUB_TEST(shrinking_waits_for_the_stream_that_used_the_memory, "streams=1")
{
	kz_buffer *buffer = create_growable(MIB, MIB);
	kz_stream *stream = NULL;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_buffer_resize(buffer, MIB / 2, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamSynchronize"), 0);
	ok(kz_fill(buffer, 0, 16, "\1", 1, stream, &err));
	ok(kz_buffer_resize(buffer, MIB, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamSynchronize"), 0);
	ok(kz_buffer_resize(buffer, 0, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamSynchronize"), 1);
	ok(kz_buffer_resize(buffer, 8, &err));
	ok(kz_stream_write_value32(stream, buffer, 0, 1, &err));
	ok(kz_buffer_resize(buffer, 0, &err));
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), 1);
	kz_stream_release(stream);
	kz_buffer_release(buffer);
}

static const struct {
	const char *script;
	kz_status create;
	kz_status grow;
	kz_status shrink;
} faults[] = {
	{"fail=cuMemAddressReserve:2", KZ_DEVICE_MEMORY, KZ_OK, KZ_OK},
	{"fail=cuMemAddressReserve:801", KZ_UNSUPPORTED, KZ_OK, KZ_OK},
	{"fail=cuMemGetAllocationGranularity:801", KZ_UNSUPPORTED, KZ_OK, KZ_OK},
	{"fail=cuDeviceGetAttribute:1", KZ_UNSUPPORTED, KZ_OK, KZ_OK},
	{"fail=cuDeviceGetAttribute:304", KZ_IO, KZ_OK, KZ_OK},
	{"fail=cuMemCreate:2", KZ_DEVICE_MEMORY, KZ_DEVICE_MEMORY, KZ_OK},
	{"fail=cuMemCreate:2@1", KZ_OK, KZ_OK, KZ_OK}, /* tried again */
	{"fail=cuMemCreate:304@3", KZ_OK, KZ_IO, KZ_OK},
	{"fail=cuMemMap:304", KZ_IO, KZ_IO, KZ_OK},
	{"fail=cuMemMap:304@3", KZ_OK, KZ_IO, KZ_OK},
	{"fail=cuMemSetAccess:304", KZ_IO, KZ_IO, KZ_OK},
	{"fail=cuMemSetAccess:304@2", KZ_OK, KZ_IO, KZ_OK},
	{"fail=cuMemUnmap:304@1", KZ_OK, KZ_OK, KZ_IO},
};

START_TEST(each_fault_of_the_driver_is_told)
{
	kz_buffer *buffer = NULL;
	dev = support_open_stub("");
	int64_t free_size = free_memory();
	support_stub(faults[_i].script);
	ck_assert_int_eq(kz_buffer_create_growable(&buffer, dev, 1, MIB, &err), faults[_i].create);
	if (faults[_i].create) {
		ck_assert_ptr_null(buffer);
		kz_error_clear(&err);
	} else {
		int64_t before = free_memory();
		ck_assert_int_eq(kz_buffer_resize(buffer, 3 * STUB_CHUNK, &err), faults[_i].grow);
		kz_error_clear(&err);
		if (faults[_i].grow) {
			ck_assert_int_eq(kz_buffer_size(buffer), 1);
			ck_assert_int_eq(free_memory(), before);
			ok(kz_buffer_resize(buffer, 3 * STUB_CHUNK, &err));
		}
		ok(kz_fill(buffer, 0, 3 * STUB_CHUNK, "\1", 1, NULL, &err));
		ck_assert_int_eq(kz_buffer_resize(buffer, 1, &err), faults[_i].shrink);
		kz_error_clear(&err);
		ck_assert_int_eq(kz_buffer_size(buffer), 1);
		ok(kz_buffer_resize(buffer, 3 * STUB_CHUNK, &err));
		ok(kz_fill(buffer, 0, 3 * STUB_CHUNK, "\1", 1, NULL, &err));
		kz_buffer_release(buffer);
	}
	support_stub("");
	ck_assert_int_eq(free_memory(), free_size);
	support_close_stub(dev);
}
END_TEST

START_TEST(a_driver_without_virtual_memory_is_told)
{
	kz_buffer *buffer = NULL;
	dev = support_open_stub("missing=cuMemAddressReserve");
	fails(kz_buffer_create_growable(&buffer, dev, 0, 8, &err), KZ_UNSUPPORTED,
		"no virtual memory management");
	support_close_stub(dev);
}
END_TEST

DEVICE_TEST(each_failing_allocation_leaves_nothing)
{
	bool done = false;
	int64_t before = free_memory();
	for (long n = 0; !done; n++) {
		kz_buffer *buffer = NULL;
		mem_fail_after(n);
		kz_status st = kz_buffer_create_growable(&buffer, dev, 10, 8 * MIB, &err);
		st = st ? st : kz_buffer_resize(buffer, 8 * MIB, &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		done = st == KZ_OK;
		ck_assert_int_eq(done, !failed);
		kz_error_clear(&err);
		kz_buffer_release(buffer);
		ck_assert_int_eq(free_memory(), before);
		ck_assert_int_eq(memory_stats().live_count, 0);
	}
}

SUITE(growable)
{
	Suite *s = suite_create("growable");
	int count_real = support_device_count();
	TCase *tc = suite_add_case(s, "growing");
	tcase_add_tests(tc, count_real, kernels_use_what_has_grown_at_the_same_address,
		a_buffer_grows_while_a_kernel_uses_it_and_shrinks_behind_it,
		a_kernel_behind_the_end_faults);
	tcase_add_tests(tc, count_real + 1, shrinking_gives_memory_back,
		any_sequence_of_sizes_keeps_what_stays, nothing_shrinks_under_a_view,
		a_view_keeps_the_memory, a_capture_goes_on_while_memory_grows,
		a_capacity_of_nothing_is_one, the_limit_of_the_pool_holds);
	tc = suite_add_case(s, "failures");
	tcase_add_tests(tc, count_real + 1, wrong_arguments_are_told,
		each_failing_allocation_leaves_nothing);
	tcase_add_loop_test(tc, each_fault_of_the_driver_is_told, 0, countof(faults));
	tcase_add_test(tc, memory_that_runs_out_leaves_the_buffer_as_it_is);
	tcase_add_test(tc, shrinking_waits_for_the_stream_that_used_the_memory);
	tcase_add_test(tc, a_driver_without_virtual_memory_is_told);
	return s;
}

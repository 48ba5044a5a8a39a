/* SPDX-License-Identifier: MIT */
/* Array elements to and from the host, at any strides of either side, and to other devices. */
#include "base/common.h"

#include "lib/array/array.h"
#include "base/alloc.h"
#include "support/support.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static kz_error err;
static kz_device *dev;

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_any(index);
}

static int64_t live_count(const kz_device *device)
{
	kz_memory_stats stats;
	kz_device_memory_stats(device, &stats);
	return stats.live_count;
}

static void teardown(void)
{
	ck_assert_int_eq(live_count(dev), 0);
	kz_device_close(dev);
}

/* 0, 1, 2, ... of 2 bytes each */
static kz_array *counted(kz_device *device, kz_shape shape)
{
	static uint16_t host[4096];
	kz_array *array = NULL;
	int64_t count = 1;
	for (int64_t i = 0; i < shape.ndim; i++) {
		count *= shape.dims[i];
	}
	for (uint16_t i = 0; i < count; i++) {
		host[i] = i;
	}
	ok(kz_array_from(&array, device, KZ_U16, shape, host, 2 * count, &err));
	return array;
}

/* Random strides against a model that visits each element by its index */

enum { MEMORY = 1 << 14, ITEM = 2 };

struct places {
	int64_t strides[KZ_MAX_DIMS];
	int64_t offset;
	int64_t size; /* bytes that hold all elements */
};

static int below(int end)
{
	return rand() % end; /* NOLINT: any numbers will do */
}

/* Axes in random order, each stepping over the ones before, some backwards, with gaps. */
static struct places random_places(const kz_shape *shape)
{
	struct places p = {.offset = 2 * below(3), .size = 0};
	int64_t order[KZ_MAX_DIMS], step = ITEM;
	for (int64_t i = 0; i < shape->ndim; i++) {
		int64_t at = below((int)i + 1);
		order[i] = order[at];
		order[at] = i;
	}
	for (int64_t i = 0; i < shape->ndim; i++) {
		int64_t axis = order[i], reach;
		step += ITEM * (below(3) ? 0 : below(4));
		reach = step * (shape->dims[axis] > 0 ? shape->dims[axis] - 1 : 0);
		bool back = below(3) == 0;
		p.strides[axis] = back ? -step : step;
		p.offset += back ? reach : 0;
		p.size += reach;
		step *= shape->dims[axis] ? shape->dims[axis] : 1;
	}
	p.size += ITEM + p.offset + 2 * below(3);
	return p;
}

static kz_shape random_shape(void)
{
	kz_shape shape = {.ndim = below(5)};
	for (int64_t i = 0; i < shape.ndim; i++) {
		shape.dims[i] = below(12) ? 1 + below(5) : 0;
	}
	return shape;
}

static int64_t place(const kz_shape *shape, const struct places *p, int64_t element)
{
	int64_t at = p->offset;
	for (int64_t i = shape->ndim; i-- > 0; element /= shape->dims[i]) {
		at += element % shape->dims[i] * p->strides[i];
	}
	return at;
}

static void fill(unsigned char *memory, int first)
{
	for (int i = 0; i < MEMORY; i++) {
		memory[i] = (unsigned char)(first + i * 7 + i / 256);
	}
}

static void model(const kz_shape *shape, unsigned char *to, const struct places *at,
	const unsigned char *from, const struct places *source)
{
	int64_t count = support_count(shape);
	for (int64_t k = 0; k < count; k++) {
		memcpy(to + place(shape, at, k), from + place(shape, source, k), ITEM);
	}
}

/* Host at one layout -> device at another -> host at a third. */
static bool round_trip_matches(void)
{
	static unsigned char a[MEMORY], b[MEMORY], want_b[MEMORY], c[MEMORY], want_c[MEMORY];
	kz_shape shape = random_shape();
	struct places on_a = random_places(&shape), on_b = random_places(&shape);
	struct places on_c = random_places(&shape);
	kz_array *bytes, *memory, *view;
	fill(a, 1);
	fill(b, 2);
	fill(c, 3);
	memcpy(want_b, b, MEMORY);
	memcpy(want_c, c, MEMORY);
	model(&shape, want_b, &on_b, a, &on_a);
	model(&shape, want_c, &on_c, a, &on_a);
	ok(kz_array_from(&bytes, dev, KZ_U8, KZ_SHAPE(MEMORY), b, MEMORY, &err));
	ok(kz_array_wrap(&memory, kz_array_buffer(bytes), KZ_U16, KZ_SHAPE(MEMORY / 2), NULL, 0,
		&err));
	ok(kz_array_view(&view, memory, shape, on_b.strides, on_b.offset, &err));
	ok(kz_array_set_strided(view, a, on_a.size, on_a.strides, on_a.offset, &err));
	ok(kz_array_get(bytes, b, MEMORY, &err));
	ok(kz_array_get_strided(view, c, on_c.size, on_c.strides, on_c.offset, &err));
	release_arrays(view, memory, bytes);
	return memcmp(b, want_b, MEMORY) == 0 && memcmp(c, want_c, MEMORY) == 0;
}

START_TEST(elements_travel_between_any_strides)
{
	unsigned seed = (unsigned)time(NULL);
	int bad = 0;
	setup(_i);
	srand(seed);
	for (int i = 0; i < 500; i++) {
		bad += !round_trip_matches();
	}
	ck_assert_msg(bad == 0, "%d of 500 differ, seed %u", bad, seed);
	teardown();
}
END_TEST

DEVICE_TEST(an_array_from_strided_memory_is_row_major)
{
	static const int16_t host[] = {1, 2, 3, 4, 5, 6};
	static const int64_t column[] = {2, 6}, back[] = {-6, 2};
	int16_t got[6];
	kz_array *array;
	ok(kz_array_from_strided(&array, dev, KZ_I16, KZ_SHAPE(3, 2), host, 12, column, 0, &err));
	ck_assert_int_eq(kz_array_is_contiguous(array), 1);
	ok(kz_array_get(array, got, 12, &err));
	ck_assert_mem_eq(got, ((int16_t[]){1, 4, 2, 5, 3, 6}), 12);
	kz_array_release(array);
	ok(kz_array_from_strided(&array, dev, KZ_I16, KZ_SHAPE(2, 2), host, 12, back, 8, &err));
	ok(kz_array_get(array, got, 8, &err));
	ck_assert_mem_eq(got, ((int16_t[]){5, 6, 2, 3}), 8);
	kz_array_release(array);
	ok(kz_array_from_strided(&array, dev, KZ_I16, KZ_SHAPE(2), host, 12, NULL, 6, &err));
	ok(kz_array_get(array, got, 4, &err));
	ck_assert_mem_eq(got, ((int16_t[]){4, 5}), 4);
	kz_array_release(array);
}

/* Larger than the tiles in which it goes. */
DEVICE_TEST(a_transpose_arrives_in_order)
{
	enum { ROWS = 71, COLUMNS = 45 };
	static const int64_t transposed[] = {2, 2 * COLUMNS};
	static uint16_t got[ROWS * COLUMNS];
	int bad = 0;
	kz_array *view;
	kz_array *array = counted(dev, KZ_SHAPE(ROWS, COLUMNS));
	ok(kz_array_view(&view, array, KZ_SHAPE(COLUMNS, ROWS), transposed, 0, &err));
	ok(kz_array_get(view, got, sizeof(got), &err));
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		bad += got[i] != i % ROWS * COLUMNS + i / ROWS;
	}
	ck_assert_int_eq(bad, 0);
	ok(kz_array_set_strided(array, got, sizeof(got), ((int64_t[]){2, 2 * ROWS}), 0, &err));
	ok(kz_array_get(array, got, sizeof(got), &err));
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		bad += got[i] != i;
	}
	ck_assert_int_eq(bad, 0);
	release_arrays(view, array);
}

DEVICE_TEST(elements_outside_the_host_memory_are_refused)
{
	static const struct {
		int64_t count;
		int64_t stride;
		int64_t offset;
	} bad[] = {{7, 2, 0}, {1, 2, 11}, {1, 2, -1}, {2, -2, 0}, {3, 6, 0}, {6, 2, 1},
		{3, INT64_MAX, 0}, {3, INT64_MIN, 0}, {1, 2, INT64_MAX}, {1, 2, INT64_MIN}};
	int16_t host[6] = {0};
	kz_array *array = (kz_array *)&err;
	for (size_t k = 0; k < countof(bad); k++) {
		fails(kz_array_from_strided(&array, dev, KZ_I16, KZ_SHAPE(bad[k].count), host, 12,
			&bad[k].stride, bad[k].offset, &err), KZ_RANGE,
			"expected elements within bytes 0 to 12 of host memory, got shape (");
		ck_assert_ptr_null(array);
	}
	fails(kz_array_from_strided(&array, dev, KZ_I16, KZ_SHAPE(6), host, -1, NULL, 0, &err),
		KZ_INVALID, "of at least 0, got -1");
	fails(kz_array_from_strided(&array, dev, KZ_I16, KZ_SHAPE(6), NULL, 12, NULL, 0, &err),
		KZ_INVALID, "expected 12 bytes of host memory, got NULL");
	fails(kz_array_set_strided(NULL, host, 12, NULL, 0, &err), KZ_INVALID, "expected an array");
	ok(kz_array_from_strided(&array, dev, KZ_I16, KZ_SHAPE(0), NULL, 0, NULL, 0, &err));
	ok(kz_array_get_strided(array, NULL, 0, NULL, 0, &err));
	kz_array_release(array);
}

DEVICE_TEST(host_memory_shared_by_elements_is_read_but_not_written)
{
	static const int64_t same[] = {0, 2};
	int16_t host[] = {7, 8, 9}, got[6];
	kz_array *array;
	ok(kz_array_from_strided(&array, dev, KZ_I16, KZ_SHAPE(2, 3), host, 6, same, 0, &err));
	ok(kz_array_get(array, got, 12, &err));
	ck_assert_mem_eq(got, ((int16_t[]){7, 8, 9, 7, 8, 9}), 12);
	fails(kz_array_get_strided(array, host, 6, same, 0, &err), KZ_INVALID,
		"cannot set host memory whose elements may share memory: stride 0 is 0");
	kz_array_release(array);
}

/* Far apart and many */

DEVICE_TEST(elements_far_apart_are_moved_without_what_is_between)
{
	enum { COUNT = 10, APART = 1 << 20 };
	static const int64_t stride = -APART;
	uint16_t got[COUNT], ones[COUNT];
	kz_array *array, *view;
	memset(ones, 1, sizeof(ones));
	ok(kz_array_zeros(&array, dev, KZ_U16, KZ_SHAPE(COUNT * APART / 2), &err));
	ok(kz_array_view(&view, array, KZ_SHAPE(COUNT), &stride, (COUNT - 1) * APART, &err));
	mem_fail_beyond(1000);
	ok(kz_array_set(view, ones, sizeof(ones), &err));
	ok(kz_array_get(view, got, sizeof(got), &err));
	mem_fail_beyond(-1);
	ck_assert_mem_eq(got, ones, sizeof(ones));
	release_arrays(view, array);
}

DEVICE_TEST(a_long_view_is_moved_part_by_part)
{
	enum { COUNT = 20 << 20, STEP = 3 };
	static const int64_t stride = STEP;
	kz_array *array, *view;
	unsigned char *host = malloc(COUNT), *got = malloc(COUNT);
	ck_assert(host && got);
	for (int i = 0; i < COUNT; i++) {
		host[i] = (unsigned char)(i ^ i >> 8);
	}
	ok(kz_array_create(&array, dev, KZ_U8, KZ_SHAPE(COUNT * STEP), &err));
	ok(kz_array_view(&view, array, KZ_SHAPE(COUNT), &stride, 0, &err));
	ok(kz_array_set(view, host, COUNT, &err));
	ok(kz_array_get(view, got, COUNT, &err));
	ck_assert(memcmp(host, got, COUNT) == 0);
	free(host);
	free(got);
	release_arrays(view, array);
}

/* In a stream */

DEVICE_TEST(an_asynchronous_copy_is_done_when_its_stream_is)
{
	uint16_t host[64], got[64] = {0};
	kz_stream *stream;
	kz_array *array;
	for (int i = 0; i < 64; i++) {
		host[i] = (uint16_t)(i * i);
	}
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_array_zeros(&array, dev, KZ_U16, KZ_SHAPE(8, 8), &err));
	ok(kz_array_set_async(array, host, sizeof(host), stream, &err));
	ok(kz_array_get_async(array, got, sizeof(got), stream, &err));
	ok(kz_stream_synchronize(stream, &err));
	ck_assert_mem_eq(got, host, sizeof(host));
	fails(kz_array_get_async(array, got, 12, stream, &err), KZ_RANGE, "expected 128 bytes");
	fails(kz_array_get_async(array, got, 128, NULL, &err), KZ_INVALID, "expected a stream");
	fails(kz_array_set_async(NULL, got, 128, stream, &err), KZ_INVALID, "expected an array");
	kz_array_release(array);
	ok(kz_array_create(&array, dev, KZ_U16, KZ_SHAPE(0), &err));
	ok(kz_array_set_async(array, NULL, 0, stream, &err));
	kz_array_release(array);
	kz_stream_release(stream);
}

DEVICE_TEST(a_view_with_gaps_is_packed_in_the_stream)
{
	static const int64_t strides[] = {-16, 4};
	uint16_t host[8], got[8] = {0}, all[32];
	kz_stream *stream;
	kz_array *view;
	kz_array *array = counted(dev, KZ_SHAPE(4, 8));
	for (int i = 0; i < 8; i++) {
		host[i] = (uint16_t)(100 + i);
	}
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_array_view(&view, array, KZ_SHAPE(4, 2), strides, 50, &err));
	ok(kz_array_get_async(view, got, sizeof(got), stream, &err));
	ok(kz_array_set_async(view, host, sizeof(host), stream, &err));
	ok(kz_stream_synchronize(stream, &err));
	ck_assert_mem_eq(got, ((uint16_t[]){25, 27, 17, 19, 9, 11, 1, 3}), 16);
	ok(kz_array_get(array, all, sizeof(all), &err));
	for (int i = 0; i < 32; i++) {
		int row = 3 - i / 8, column = i % 8;
		bool set = column == 1 || column == 3;
		ck_assert_int_eq(all[i], set ? 100 + 2 * row + (column == 3) : i);
	}
	kz_array_release(view);
	ok(kz_array_view(&view, array, KZ_SHAPE(2, 2), ((int64_t[]){0, 2}), 0, &err));
	fails(kz_array_set_async(view, host, 8, stream, &err), KZ_INVALID, "may share memory");
	release_arrays(view, array);
	kz_stream_release(stream);
}

/* Other devices */

DEVICE_TEST(the_same_device_gives_the_same_handle)
{
	kz_array *same;
	kz_array *array = counted(dev, KZ_SHAPE(2, 3));
	ok(kz_array_to(&same, array, dev, &err));
	ck_assert_ptr_eq(same, array);
	kz_array_release(array);
	ck_assert_int_eq(kz_array_count(same), 6);
	kz_array_release(same);
	ck_assert_ptr_null(kz_array_retain(NULL));
	fails(kz_array_to(&same, NULL, dev, &err), KZ_INVALID, "expected an array");
	array = counted(dev, KZ_SHAPE(1));
	fails(kz_array_to(&same, array, NULL, &err), KZ_INVALID, "expected a device");
	ck_assert_ptr_null(same);
	fails(kz_array_to(NULL, array, dev, &err), KZ_INVALID, "kz_array_to: out is NULL");
	kz_array_release(array);
}

/* The copy of an array, and of its transpose, on another device. */
static void copies_arrive(kz_device *from, kz_device *to)
{
	static const int64_t transposed[] = {2, 6};
	uint16_t got[6];
	kz_array *array = counted(from, KZ_SHAPE(2, 3)), *view, *copy;
	ok(kz_array_to(&copy, array, to, &err));
	ck_assert_ptr_eq(kz_array_device(copy), to);
	ck_assert_ptr_eq(kz_array_device(array), from);
	ok(kz_array_get(copy, got, 12, &err));
	ck_assert_mem_eq(got, ((uint16_t[]){0, 1, 2, 3, 4, 5}), 12);
	kz_array_release(copy);
	ok(kz_array_view(&view, array, KZ_SHAPE(3, 2), transposed, 0, &err));
	ok(kz_array_to(&copy, view, to, &err));
	ck_assert_int_eq(kz_array_is_contiguous(copy), 1);
	ok(kz_array_get(copy, got, 12, &err));
	ck_assert_mem_eq(got, ((uint16_t[]){0, 3, 1, 4, 2, 5}), 12);
	release_arrays(copy, view, array);
	array = counted(from, KZ_SHAPE(2, 0));
	ok(kz_array_to(&copy, array, to, &err));
	ck_assert_int_eq(kz_array_shape(copy).dims[1], 0);
	release_arrays(copy, array);
}

/* All pairs of two devices of the stub and the one under test, if it is no GPU. */
static void all_copies_arrive(int index, const char *script)
{
	kz_device *devices[3] = {NULL};
	int count = 2;
	err = (kz_error)KZ_ERROR_INIT;
	support_stub(script);
	ok(kz_device_open(&devices[0], "cuda:0", &err));
	ok(kz_device_open(&devices[1], "cuda:1", &err));
	if (index < support_device_count() && strcmp(support_device_name(index), "cpu") == 0) {
		devices[count++] = support_open(index);
	}
	for (int i = 0; i < count; i++) {
		for (int k = 0; k < count; k++) {
			if (i != k) {
				copies_arrive(devices[i], devices[k]);
			}
		}
	}
	for (int i = 0; i < count; i++) {
		ck_assert_int_eq(live_count(devices[i]), 0);
		kz_device_close(devices[i]);
	}
}

START_TEST(a_copy_on_another_device_has_the_elements)
{
	all_copies_arrive(_i, "devices=2");
	ck_assert_int_eq(support_stub_calls("cuMemcpyPeerAsync"), 2);
}
END_TEST

START_TEST(without_peer_copies_the_host_helps)
{
	all_copies_arrive(_i, "devices=2;missing=cuMemcpyPeerAsync");
	ck_assert_int_eq(support_stub_calls("cuMemcpyPeerAsync"), 0);
}
END_TEST

/* All work on the target is in the stream that is named, whichever way the elements go. */
static void copies_go_into_the_stream(const char *script, kz_device *cpu)
{
	static const int64_t transposed[] = {2, 6};
	kz_device *devices[3] = {NULL};
	kz_stream *stream = NULL;
	uint16_t got[6];
	support_stub(script);
	ok(kz_device_open(&devices[0], "cuda:0", &err));
	ok(kz_device_open(&devices[1], "cuda:1", &err));
	devices[2] = cpu;
	ok(kz_stream_create(&stream, devices[0], 0, &err));
	for (int i = 1; i < (cpu ? 3 : 2); i++) {
		kz_array *array = counted(devices[i], KZ_SHAPE(2, 3)), *view, *copy;
		ok(kz_array_view(&view, array, KZ_SHAPE(3, 2), transposed, 0, &err));
		for (int k = 0; k < 2; k++) {
			long before = support_stub_work(NULL, kz_device_stream(devices[0]));
			long work = support_stub_work(NULL, kz_stream_handle(stream));
			ok(kz_array_to_on(&copy, k ? view : array, devices[0], stream, &err));
			ck_assert_int_eq(support_stub_work(NULL, kz_stream_handle(stream)) - work,
				1);
			ck_assert_int_eq(support_stub_work(NULL, kz_device_stream(devices[0])),
				before);
			ok(kz_array_get(copy, got, 12, &err));
			ck_assert_mem_eq(got, k ? ((uint16_t[]){0, 3, 1, 4, 2, 5})
				: ((uint16_t[]){0, 1, 2, 3, 4, 5}), 12);
			kz_array_release(copy);
		}
		release_arrays(view, array);
	}
	kz_stream_release(stream);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(live_count(devices[i]), 0);
		kz_device_close(devices[i]);
	}
}

START_TEST(a_copy_on_another_device_is_in_the_stream_that_is_named)
{
	kz_device *cpu = NULL;
	err = (kz_error)KZ_ERROR_INIT;
	if (_i < support_device_count() && strcmp(support_device_name(_i), "cpu") == 0) {
		cpu = support_open(_i);
	}
	copies_go_into_the_stream("devices=2;streams=1", cpu);
	copies_go_into_the_stream("devices=2;streams=1;missing=cuMemcpyPeerAsync", cpu);
	kz_device_close(cpu);
}
END_TEST

START_TEST(what_cannot_be_copied_in_a_stream_is_refused)
{
	kz_device *first, *second;
	kz_array *copy = NULL;
	kz_graph *graph = NULL;
	kz_stream *stream = NULL;
	err = (kz_error)KZ_ERROR_INIT;
	support_stub("devices=2;missing=cuMemcpyPeerAsync");
	ok(kz_device_open(&first, "cuda:0", &err));
	ok(kz_device_open(&second, "cuda:1", &err));
	kz_array *array = counted(first, KZ_SHAPE(6));
	ok(kz_array_to_on(&copy, array, first, NULL, &err));
	ck_assert_ptr_eq(copy, array);
	kz_array_release(copy);
	fails(kz_array_to_on(&copy, array, second, kz_device_stream(first), &err), KZ_INVALID,
		"expected a stream of cuda:1, got one of cuda:0");
	ck_assert_ptr_null(copy);
	fails(kz_array_to_on(NULL, array, second, NULL, &err), KZ_INVALID,
		"kz_array_to_on: out is NULL");
	fails(kz_array_to_on(&copy, NULL, second, NULL, &err), KZ_INVALID, "expected an array");
	fails(kz_array_to_on(&copy, array, NULL, NULL, &err), KZ_INVALID, "expected a device");
	ok(kz_stream_create(&stream, second, 0, &err));
	ok(kz_graph_begin(stream, NULL, &err));
	fails(kz_array_to_on(&copy, array, second, stream, &err), KZ_STATE,
		"kz_array_to_on: a stream of cuda:1 captures a graph");
	ok(kz_graph_end(&graph, stream, &err));
	ok(kz_array_to_on(&copy, array, second, stream, &err));
	kz_graph_release(graph);
	kz_stream_release(stream);
	release_arrays(copy, array);
	kz_device_close(first);
	kz_device_close(second);
}
END_TEST

START_TEST(operands_of_two_devices_are_refused_as_the_seed_has_it)
{
	kz_device *first, *second;
	err = (kz_error)KZ_ERROR_INIT;
	support_stub("devices=2");
	ok(kz_device_open(&first, "cuda:0", &err));
	ok(kz_device_open(&second, "cuda:1", &err));
	kz_array *x = counted(first, KZ_SHAPE(3)), *y = counted(second, KZ_SHAPE(3));
	ok(array_same_device("add", x, x, &err));
	fails(array_same_device("add", x, y, &err), KZ_INVALID,
		"Tensor in cuda:0 cannot add with tensor in cuda:1");
	release_arrays(x, y);
	kz_device_close(first);
	kz_device_close(second);
}
END_TEST

DEVICE_TEST(memory_of_the_cpu_device_is_host_memory)
{
	static const int64_t back = -2;
	uint16_t got[6];
	void *memory;
	kz_array *view;
	kz_array *array = counted(dev, KZ_SHAPE(6));
	ok(kz_array_view(&view, array, KZ_SHAPE(3), &back, 10, &err));
	if (strcmp(kz_device_name(dev), "cpu") == 0) {
		ok(kz_array_host(&memory, view, &err));
		uint16_t *last = memory;
		ck_assert_int_eq(*last, 5);
		ck_assert_int_eq(last[-1], 4);
		*last = 77;
		ok(kz_array_get(array, got, 12, &err));
		ck_assert_int_eq(got[5], 77);
	} else {
		ck_assert_int_eq(kz_array_host(&memory, view, &err), KZ_INVALID);
		ck_assert_ptr_nonnull(strstr(err.hint, "copies the elements to host memory"));
		fails(err.status, KZ_INVALID,
			"of an array on cuda:0 as host memory: copy it to host memory first");
		ck_assert_ptr_null(memory);
	}
	release_arrays(view, array);
}

/* A transpose in place, both ways, at the address that kz_array_host tells. */
DEVICE_TEST(host_memory_may_be_that_of_the_array)
{
	const uint16_t turned[6] = {0, 3, 1, 4, 2, 5};
	const int64_t columns[2] = {2, 4};
	uint16_t got[6];
	kz_array *array = counted(dev, KZ_SHAPE(2, 3)), *view = NULL;
	void *host = NULL;
	if (kz_array_host(&host, array, &err) == KZ_OK) {
		ok(kz_array_transpose(&view, array, KZ_AXES(), &err));
		ok(kz_array_get(view, host, sizeof(got), &err));
		ck_assert_mem_eq(host, turned, sizeof(turned));
		ok(kz_array_set_strided(array, host, sizeof(got), columns, 0, &err));
		ok(kz_array_get(array, got, sizeof(got), &err));
		for (uint16_t i = 0; i < 6; i++) {
			ck_assert_int_eq(got[i], i);
		}
	}
	kz_error_clear(&err);
	release_arrays(view, array);
}
END_TEST

DEVICE_TEST(moving_without_memory_leaves_nothing)
{
	static const int64_t back[] = {-4, 2};
	uint16_t got[4];
	kz_status st = KZ_NO_MEMORY;
	long n;
	for (n = 0; st == KZ_NO_MEMORY && n < 60; n++) {
		kz_array *array = NULL, *view = NULL;
		mem_fail_after(n);
		if (!(st = kz_array_from_strided(&array, dev, KZ_U16, KZ_SHAPE(2, 2), "abcdefgh", 8,
			back, 4, &err))
		    && !(st = kz_array_view(&view, array, KZ_SHAPE(2, 2), back, 4, &err))
		    && !(st = kz_array_set(view, "abcdefgh", 8, &err))) {
			st = kz_array_get_strided(view, got, 8, back, 4, &err);
		}
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
		release_arrays(view, array);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 5);
}

DEVICE_TEST(packing_in_a_stream_without_memory_leaves_nothing)
{
	static const int64_t gaps = 4;
	uint16_t host[4] = {1, 2, 3, 4};
	kz_status st = KZ_NO_MEMORY;
	kz_array *view;
	long n;
	kz_stream *stream = kz_device_stream(dev);
	kz_array *array = counted(dev, KZ_SHAPE(8));
	ok(kz_array_view(&view, array, KZ_SHAPE(4), &gaps, 0, &err));
	ok(kz_array_set_async(view, host, 8, stream, &err)); /* compiles */
	ok(kz_array_get_async(view, host, 8, stream, &err));
	for (n = 0; st == KZ_NO_MEMORY && n < 40; n++) {
		mem_fail_after(n);
		if (!(st = kz_array_set_async(view, host, 8, stream, &err))) {
			st = kz_array_get_async(view, host, 8, stream, &err);
		}
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 2);
	ok(kz_stream_synchronize(stream, &err));
	ck_assert_int_eq(host[3], 4);
	release_arrays(view, array);
}

START_TEST(copying_to_a_device_without_memory_leaves_nothing)
{
	kz_device *first, *second;
	kz_status st = KZ_NO_MEMORY;
	kz_array *copy;
	err = (kz_error)KZ_ERROR_INIT;
	support_stub("devices=2;missing=cuMemcpyPeerAsync");
	ok(kz_device_open(&first, "cuda:0", &err));
	ok(kz_device_open(&second, "cuda:1", &err));
	kz_array *array = counted(first, KZ_SHAPE(6));
	for (long n = 0; st == KZ_NO_MEMORY && n < 20; n++) {
		mem_fail_after(n);
		st = kz_array_to(&copy, array, second, &err);
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		ck_assert_int_eq(live_count(second), st == KZ_OK);
		kz_error_clear(&err);
	}
	ck_assert_int_eq(st, KZ_OK);
	release_arrays(copy, array);
	kz_device_close(first);
	kz_device_close(second);
	ck_assert_int_eq(support_stub_live(STUB_MEMORY), 0);
}
END_TEST

SUITE(transfer)
{
	Suite *s = suite_create("transfer");
	TCase *tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count() + 1, elements_travel_between_any_strides,
		an_array_from_strided_memory_is_row_major, a_transpose_arrives_in_order,
		elements_outside_the_host_memory_are_refused,
		host_memory_shared_by_elements_is_read_but_not_written,
		elements_far_apart_are_moved_without_what_is_between,
		a_long_view_is_moved_part_by_part, an_asynchronous_copy_is_done_when_its_stream_is,
		the_same_device_gives_the_same_handle, a_copy_on_another_device_has_the_elements,
		without_peer_copies_the_host_helps,
		a_copy_on_another_device_is_in_the_stream_that_is_named,
		memory_of_the_cpu_device_is_host_memory, host_memory_may_be_that_of_the_array,
		moving_without_memory_leaves_nothing);
	tcase_add_tests(tc, support_device_count(), a_view_with_gaps_is_packed_in_the_stream,
		packing_in_a_stream_without_memory_leaves_nothing);
	tcase_add_tests(tc, 1, operands_of_two_devices_are_refused_as_the_seed_has_it,
		what_cannot_be_copied_in_a_stream_is_refused,
		copying_to_a_device_without_memory_leaves_nothing);
	return s;
}

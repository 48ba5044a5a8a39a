/* SPDX-License-Identifier: MIT */
/* Sorts on every device and by all kernels, against the C library's qsort over host memory. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "lib/order/ordered.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

/* sort, argsort and sort_by_key of rows of one array are what the reference says. */
static void check_rows(kz_dtype dtype, int64_t rows, int64_t n, enum content content,
	int descending)
{
	const int64_t size = kz_dtype_size(dtype), count = rows * n;
	unsigned char *host = malloc((size_t)(count * size) + 1);
	unsigned char *got = malloc((size_t)(count * size) + 1);
	int64_t *order = malloc((size_t)count * 8 + 1);
	int16_t *labels = malloc((size_t)count * 2 + 1);
	int16_t *got_labels = malloc((size_t)count * 2 + 1);
	struct item *items = malloc((size_t)n * sizeof(*items) + 1);
	kz_sort_options options = KZ_SORT_OPTIONS_INIT;
	kz_array *array, *sorted, *indexes, *values, *keys, *moved;
	int64_t wrong = 0;
	options.descending = descending;
	sign_of_order = descending ? -1 : 1;
	fill(host, dtype, count, content);
	for (int64_t i = 0; i < count; i++) {
		labels[i] = (int16_t)(i * 31);
	}
	ok(kz_array_from(&array, dev, dtype, KZ_SHAPE(rows, n), host, count * size, &err));
	ok(kz_array_from(&values, dev, KZ_I16, KZ_SHAPE(rows, n), labels, 2 * count, &err));
	ok(kz_sort(&sorted, array, -1, &options, &err));
	ok(kz_argsort(&indexes, array, -1, &options, &err));
	ok(kz_sort_by_key(&keys, &moved, array, values, 1, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(sorted), dtype);
	ck_assert_uint_eq(kz_array_dtype(indexes), KZ_I64);
	ok(kz_array_get(indexes, order, 8 * count, &err));
	ok(kz_array_get(moved, got_labels, 2 * count, &err));
	for (int k = 0; k < 2; k++) {
		ok(kz_array_get(k ? keys : sorted, got, count * size, &err));
		for (int64_t row = 0; row < rows; row++) {
			for (int64_t i = 0; i < n; i++) {
				items[i] = item_of(host + row * n * size, dtype, i);
			}
			qsort(items, (size_t)n, sizeof(*items), compare_items);
			for (int64_t i = 0; i < n; i++) {
				const int64_t to = row * n + i, from = row * n + items[i].place;
				wrong += memcmp(got + to * size, host + from * size, (size_t)size)
					!= 0
					|| order[to] != items[i].place
					|| got_labels[to] != labels[from];
			}
		}
	}
	ck_assert_msg(wrong == 0,
		"%s, %lld rows of %lld, content %d, descending %d: %lld are wrong",
		kz_dtype_name(dtype), (long long)rows, (long long)n, content, descending,
		(long long)wrong);
	release_arrays(array, sorted, indexes, values, keys, moved);
	free(host);
	free(got);
	free(order);
	free(labels);
	free(got_labels);
	free(items);
}

/* Each type and each long row is a test of its own: it compiles some kernels. */
enum { TYPES = KZ_C128 };

TEST_BETWEEN(setup(_i / TYPES), teardown(), every_type_is_sorted)
{
	const kz_dtype dtype = (kz_dtype)(_i % TYPES + 1);
	if (!support_is_tried(_i, both_shapes_count() * TYPES, 2, 1)) {
		return;
	}
	check_rows(dtype, 1, 1000, RANDOM, 0);
	check_rows(dtype, 3, 333, FEW, 1);
	check_rows(dtype, 2, 33, RANDOM, 1);
}

DEVICE_TEST(every_content_is_sorted)
{
	static const kz_dtype types[] = {KZ_I32, KZ_C64};
	for (size_t k = 0; k < countof(types); k++) {
		if (!both_shapes_try(k, countof(types), 1, 1)) {
			continue;
		}
		for (enum content content = RANDOM; content < CONTENTS; content++) {
			check_rows(types[k], 1, 0, content, 0);
			check_rows(types[k], 5, 1, content, 1);
			check_rows(types[k], 1, 33, content, 1);
			check_rows(types[k], 2, 1000, content, 0);
		}
	}
}

/* From two tiles on passes are launches; from 262144 on a serial device moves keys to buckets
 * first, where clusters that its sample cannot tell apart are the hard case.  To other kernels
 * these are only more tiles, which take the CPU device long, so a usual run shortens them there. */
static const struct {
	kz_dtype dtype;
	int64_t rows, n;
	enum content content;
	int descending;
} long_rows[] = {
	{KZ_U32, 1, 100000, RANDOM, 0}, {KZ_U32, 2, 65537, FEW, 1}, {KZ_U32, 1, 70001, EQUAL, 0},
	{KZ_I16, 1, 66000, SORTED, 1}, {KZ_C64, 1, 66000, SMALL, 0}, {KZ_F64, 1, 300001, RANDOM, 0},
	{KZ_F64, 1, 300000, CLUSTERS, 1}, {KZ_F64, 2, 262144, FEW, 0},
	{KZ_I32, 2, 262144, RANDOM, 1},
	{KZ_I32, 1, 300000, EQUAL, 0}, {KZ_F32, 1, 300001, RANDOM, 1},
	{KZ_U64, 2, 262145, SMALL, 1},
	{KZ_I64, 1, 600001, CLUSTERS, 0},
};
enum { LONG_ROWS = countof(long_rows) };

TEST_BETWEEN(setup(_i / LONG_ROWS), teardown(), long_rows_are_sorted)
{
	const int i = _i % LONG_ROWS;
	if (!support_is_tried(_i, both_shapes_count() * LONG_ROWS, 2, 1)) {
		return;
	}
	int64_t n = long_rows[i].n;
	if (!dev->serial) {
		n = support_how_many((int)n, 20001, 20001);
	}
	check_rows(long_rows[i].dtype, long_rows[i].rows, n, long_rows[i].content,
		long_rows[i].descending);
}

/* In the form for GPUs a block sorts a row that fits in a tile, and a longer row is swept.  The
 * tiles of a GPU have another size with a payload than without. */
enum { CPU_TILE = 2560 };
static const int64_t gpu_tiles[] = {8192, 10240};

TEST_BETWEEN(setup(1), teardown(), rows_around_a_tile_are_sorted)
{
	static const kz_dtype types[] = {KZ_U32, KZ_F64, KZ_C64};
	const kz_dtype dtype = types[_i];
	if (!support_is_tried(_i, countof(types), 1, 1)) {
		return;
	}
	for (int t = dev->ptx_only ? 1 : 0; t < 2; t++) {
		const int64_t tile = dev->ptx_only ? CPU_TILE
			: dtype == KZ_U32 ? gpu_tiles[t] : 5120;
		const int64_t lengths[] = {1, 511, 513, tile - 1, tile, tile + 1, 2 * tile,
			3 * tile + 7};
		for (size_t k = 0; k < countof(lengths); k++) {
			check_rows(dtype, lengths[k] < tile ? 3 : 1, lengths[k],
				k % 2 ? RANDOM : FEW, k % 3 == 0);
		}
		check_rows(dtype, 2, 2 * tile + 1, EQUAL, 1);
	}
}

TEST_BETWEEN(setup_race(_i), teardown_race(), threads_of_a_sort_do_not_race)
{
	if (support_is_tried(_i, 3, 1, 1)) {
		check_rows(KZ_U32, 3, CPU_TILE / 5, RANDOM, 0);
		check_rows(KZ_U32, 1, 2 * CPU_TILE + 1, SMALL, 0);
	}
}

DEVICE_TEST(many_short_rows_are_sorted)
{
	check_rows(KZ_I32, support_how_many(5000, 70, 70), 7, RANDOM, 0);
	check_rows(KZ_F64, support_how_many(300, 20, 20), 100, RANDOM, 1);
	check_rows(KZ_U8, support_how_many(20000, 150, 150), 2, RANDOM, 0);
}

DEVICE_TEST(every_axis_of_every_view_is_sorted)
{
	enum { A = 3, B = 5, C = 37, N = A * B * C };
	static double host[N], want[N], got[N];
	const int64_t dims[3] = {A, B, C};
	for (int64_t axis = -3; axis < 3; axis++) {
		if (!both_shapes_try((size_t)(axis + 3), 6, 6, 2)) {
			continue;
		}
		const int64_t along = axis < 0 ? axis + 3 : axis, n = dims[along];
		const int64_t step = along == 0 ? B * C : along == 1 ? C : 1;
		const int64_t strides[3] = {-8 * B * C, 8 * C, 8};
		kz_array *array, *view, *sorted, *order, *taken;
		for (int64_t i = 0; i < N; i++) {
			host[i] = (double)(i * i % 1001);
			want[(A - 1 - i / (B * C)) * B * C + i % (B * C)] = host[i];
		}
		for (int64_t i = 0; i < N; i++) {
			int64_t k = i / step % n; /* insertion of an element after those before
			                             it */
			double value = want[i];
			int64_t at = i;
			for (; k > 0 && want[at - step] > value; k--, at -= step) {
				want[at] = want[at - step];
			}
			want[at] = value;
		}
		ok(kz_array_from(&array, dev, KZ_F64, KZ_SHAPE(A, B, C), host, sizeof(host), &err));
		ok(kz_array_view(&view, array, KZ_SHAPE(A, B, C), strides, 8 * (A - 1) * B * C,
			&err));
		ok(kz_sort(&sorted, view, axis, NULL, &err));
		ok(kz_argsort(&order, view, axis, NULL, &err));
		ok(kz_array_take_along_axis(&taken, view, order, axis, KZ_INDEX_CHECK, &err));
		ok(kz_array_get(sorted, got, sizeof(got), &err));
		ck_assert_mem_eq(got, want, sizeof(got));
		ok(kz_array_get(taken, got, sizeof(got), &err));
		ck_assert_mem_eq(got, want, sizeof(got));
		release_arrays(array, view, sorted, order, taken);
	}
}

/* A broadcast array, and one that does not change. */
DEVICE_TEST(the_caller_keeps_the_array)
{
	const int32_t host[4] = {3, -1, 2, -1}, want[8] = {-1, -1, 2, 3, -1, -1, 2, 3};
	int32_t got[8];
	kz_array *array, *wide, *sorted;
	ok(kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(4), host, sizeof(host), &err));
	ok(kz_array_broadcast_to(&wide, array, KZ_SHAPE(2, 4), &err));
	ok(kz_sort(&sorted, wide, 1, NULL, &err));
	ok(kz_array_get(sorted, got, sizeof(got), &err));
	ck_assert_mem_eq(got, want, sizeof(got));
	kz_array_release(sorted);
	ok(kz_sort(&sorted, wide, 0, NULL, &err));
	ok(kz_array_get(sorted, got, sizeof(got), &err));
	ck_assert(memcmp(got, host, 16) == 0 && memcmp(got + 4, host, 16) == 0);
	ok(kz_array_get(array, got, 16, &err));
	ck_assert_mem_eq(got, host, 16);
	release_arrays(array, wide, sorted);
}

DEVICE_TEST(values_of_every_size_follow_their_keys)
{
	enum { N = 500 };
	static const int64_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 24, 32};
	static int32_t keys[N];
	static unsigned char host[N * 32], got[N * 32];
	for (int i = 0; i < N; i++) {
		keys[i] = i * 271 % N - N / 2; /* each once */
	}
	for (size_t k = 0; k < countof(sizes); k++) {
		const int64_t size = sizes[k];
		if (!both_shapes_try(k, countof(sizes), 3, 1)) {
			continue;
		}
		char name[32];
		kz_dtype dtype;
		kz_array *a, *values, *sorted;
		snprintf(name, sizeof(name), "struct bytes%lld", (long long)size);
		ok(kz_dtype_register(&dtype, name, size, &err));
		for (int i = 0; i < N * size; i++) {
			host[i] = (unsigned char)(i * 7);
		}
		ok(kz_array_from(&a, dev, KZ_I32, KZ_SHAPE(N), keys, sizeof(keys), &err));
		ok(kz_array_from(&values, dev, dtype, KZ_SHAPE(N), host, N * size, &err));
		ok(kz_sort_by_key(NULL, &sorted, a, values, 0, NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(sorted), dtype);
		ok(kz_array_get(sorted, got, N * size, &err));
		for (int i = 0; i < N; i++) {
			ck_assert_mem_eq(got + (keys[i] + N / 2) * size, host + i * size,
				(size_t)size);
		}
		release_arrays(a, values, sorted);
	}
}

DEVICE_TEST(empty_and_0d_arrays_are_sorted)
{
	kz_array *empty, *scalar, *sorted, *keys, *values;
	int8_t got = 0;
	int64_t index = 7;
	ok(kz_array_zeros(&empty, dev, KZ_F32, KZ_SHAPE(3, 0, 2), &err));
	for (int64_t axis = 0; axis < 3; axis++) {
		ok(kz_sort(&sorted, empty, axis, NULL, &err));
		ck_assert(kz_array_count(sorted) == 0 && kz_array_shape(sorted).dims[2] == 2);
		kz_array_release(sorted);
	}
	ok(kz_array_ones(&scalar, dev, KZ_I8, KZ_SHAPE(), &err));
	ok(kz_sort(&sorted, scalar, -1, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(sorted), 0);
	ok(kz_array_get(sorted, &got, 1, &err));
	ck_assert_int_eq(got, 1);
	kz_array_release(sorted);
	ok(kz_argsort(&sorted, scalar, 0, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(sorted), 0);
	ok(kz_array_get(sorted, &index, 8, &err));
	ck_assert_int_eq(index, 0);
	ok(kz_sort_by_key(&keys, &values, scalar, scalar, 0, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(values), 0);
	release_arrays(sorted, empty, scalar, keys, values);
}

DEVICE_TEST(a_bad_sort_is_refused)
{
	kz_sort_options options = KZ_SORT_OPTIONS_INIT;
	kz_dtype point;
	kz_array *array, *points, *other, *out = NULL;
	ok(kz_dtype_register(&point, "struct point", 12, &err));
	ok(kz_array_ones(&array, dev, KZ_F32, KZ_SHAPE(5), &err));
	ok(kz_array_ones(&other, dev, KZ_F32, KZ_SHAPE(5, 1), &err));
	ok(kz_array_zeros(&points, dev, point, KZ_SHAPE(5), &err));
	fails(kz_sort(&out, array, 1, NULL, &err), KZ_RANGE,
		"axis 1 is out of range for shape (5,)");
	fails(kz_argsort(&out, array, -2, NULL, &err), KZ_RANGE, "axis -2 is out of range");
	fails(kz_sort(&out, points, 0, NULL, &err), KZ_INVALID,
		"kz_sort: struct point has no order");
	fails(kz_argsort(&out, NULL, 0, NULL, &err), KZ_INVALID, "expected an array");
	fails(kz_sort(NULL, array, 0, NULL, &err), KZ_INVALID, "kz_sort: out is NULL");
	fails(kz_sort_by_key(NULL, NULL, array, array, 0, NULL, &err), KZ_INVALID, "out is NULL");
	fails(kz_sort_by_key(NULL, &out, array, NULL, 0, NULL, &err), KZ_INVALID,
		"expected an array");
	fails(kz_sort_by_key(NULL, &out, array, other, 0, NULL, &err), KZ_INVALID,
		"sort_by_key: expected values of shape (5,), got (5, 1)");
	ck_assert_ptr_null(out);
	options.size = 3;
	fails(kz_sort(&out, array, 0, &options, &err), KZ_INVALID, "has size 3");
	release_arrays(array, points, other);
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	kz_array *array;
	int failed = 0;
	ok(kz_array_ones(&array, dev, KZ_I16, KZ_SHAPE(70000, 2), &err));
	for (long n = 0;; n++) {
		kz_array *keys = NULL, *values = NULL;
		mem_fail_after(n);
		kz_status st = kz_sort_by_key(&keys, &values, array, array, 0, NULL, &err);
		bool done = !mem_has_failed();
		mem_fail_after(-1);
		failed += st != KZ_OK;
		ck_assert(!st || (!keys && !values));
		kz_error_clear(&err);
		release_arrays(keys, values);
		if (done) {
			break;
		}
	}
	ck_assert_int_gt(failed, 3);
	kz_array_release(array);
}

/* A graph sorts what is in the array when it runs. */
DEVICE_TEST(a_sort_is_captured)
{
	enum { N = 70000 };
	static uint16_t host[N], got[N];
	kz_sort_options options = KZ_SORT_OPTIONS_INIT;
	kz_graph *graph = NULL;
	kz_exec *exec = NULL;
	kz_stream *stream = NULL;
	kz_array *array, *sorted, *warm;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_array_zeros(&array, dev, KZ_U16, KZ_SHAPE(N), &err));
	options.stream = stream;
	ok(kz_sort(&warm, array, 0, &options, &err));
	ok(kz_stream_synchronize(stream, &err));
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_sort(&sorted, array, 0, &options, &err));
	ok(kz_graph_end(&graph, stream, &err));
	for (int i = 0; i < N; i++) {
		host[i] = (uint16_t)(N - i);
	}
	ok(kz_array_set(array, host, sizeof(host), &err));
	ok(kz_graph_instantiate(&exec, graph, &err));
	ok(kz_exec_launch(exec, stream, &err));
	ok(kz_stream_synchronize(stream, &err));
	ok(kz_array_get(sorted, got, sizeof(got), &err));
	for (int i = 1; i < N; i++) {
		ck_assert(got[i - 1] <= got[i]);
	}
	ck_assert_uint_eq(got[N - 1], 65535);
	release_arrays(array, sorted, warm);
	kz_exec_release(exec);
	kz_graph_release(graph);
	kz_stream_release(stream);
}

/* Comparisons */

struct point {
	int32_t x, label;
	float weight;
};

static const char point_text[] = "struct point { int x, label; float weight; };";

/* Points of `n` in rows; stable, so labels rise where x is the same. */
static void check_points(int64_t rows, int64_t n, int descending)
{
	const int64_t count = rows * n, size = sizeof(struct point);
	struct point *host = malloc((size_t)(count * size) + 1),
		*got = malloc((size_t)(count * size) + 1);
	int64_t *order = malloc((size_t)count * 8 + 1);
	kz_sort_options options = KZ_SORT_OPTIONS_INIT;
	kz_array *array, *sorted, *indexes;
	kz_dtype dtype;
	uint64_t state = (uint64_t)count;
	int64_t wrong = 0;
	for (int64_t i = 0; i < count; i++) {
		host[i] = (struct point){(int32_t)(next_bits(&state) % 50) - 25, (int32_t)(i % n),
			0.5f};
	}
	options.preamble = point_text;
	options.descending = descending;
	ok(kz_dtype_register(&dtype, "struct point", size, &err));
	ok(kz_array_from(&array, dev, dtype, KZ_SHAPE(rows, n), host, count * size, &err));
	ok(kz_sort_compare(&sorted, array, "a.x < b.x", 1, &options, &err));
	ok(kz_argsort_compare(&indexes, array, "a.x < b.x", 1, &options, &err));
	ok(kz_array_get(sorted, got, count * size, &err));
	ok(kz_array_get(indexes, order, 8 * count, &err));
	for (int64_t i = 0; i < count; i++) {
		const struct point *before = got + i - 1, *p = got + i;
		wrong += i % n && (descending ? before->x < p->x : before->x > p->x);
		wrong += i % n && before->x == p->x && before->label >= p->label;
		wrong += memcmp(p, host + i / n * n + p->label, (size_t)size) != 0;
		wrong += order[i] != p->label;
	}
	ck_assert_int_eq(wrong, 0);
	release_arrays(array, sorted, indexes);
	free(host);
	free(got);
	free(order);
}

DEVICE_TEST(structs_are_sorted_by_a_comparison)
{
	static const int64_t sizes[] = {0, 1, 2, 31, 32, 33, 64, 65, 1000, 20000};
	for (size_t k = 0; k < countof(sizes); k++) {
		if (both_shapes_try(k, countof(sizes), countof(sizes), 4)) {
			check_points(1, sizes[k], k % 2);
		}
	}
	check_points(37, 129, 0);
}

DEVICE_TEST(every_type_is_compared)
{
	static const char *const less[16] = {[KZ_C64] = "real(a) < real(b)",
		[KZ_C128] = "real(a) < real(b)"};
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		if (!both_shapes_try(dtype - 1, TYPES, 3, 1)) {
			continue;
		}
		kz_array *floats, *array, *want, *got, *same, *all;
		uint8_t equal = 0;
		float host[100];
		for (int i = 0; i < 100; i++) {
			host[i] = (float)(i * 37 % 100);
		}
		ok(kz_array_from(&floats, dev, KZ_F32, KZ_SHAPE(10, 10), host, sizeof(host), &err));
		ok(kz_array_astype(&array, floats, dtype, &err));
		ok(kz_sort(&want, array, 0, NULL, &err));
		ok(kz_sort_compare(&got, array, less[dtype] ? less[dtype] : "a < b // as usual", 0,
			NULL, &err));
		ok(kz_equal(&same, want, got, &err));
		ok(kz_all(&all, same, KZ_ALL_AXES, &err));
		ok(kz_array_get(all, &equal, 1, &err));
		ck_assert_int_eq(equal, 1);
		release_arrays(floats, array, want, got, same, all);
	}
}

DEVICE_TEST(a_bad_comparison_is_refused)
{
	kz_sort_options options = KZ_SORT_OPTIONS_INIT;
	kz_array *array, *points, *out = NULL;
	kz_dtype dtype;
	ok(kz_dtype_register(&dtype, "struct point", 12, &err));
	ok(kz_array_ones(&array, dev, KZ_F32, KZ_SHAPE(5), &err));
	ok(kz_array_zeros(&points, dev, dtype, KZ_SHAPE(5), &err));
	fails(kz_sort_compare(&out, array, "a <\n c", 0, NULL, &err), KZ_COMPILE,
		"\"c\" is undefined");
	fails(kz_sort_compare(&out, array, "a < b", 1, NULL, &err), KZ_RANGE,
		"axis 1 is out of range");
	fails(kz_sort_compare(&out, array, NULL, 0, NULL, &err), KZ_INVALID,
		"expected a comparison");
	fails(kz_sort_compare(NULL, array, "a < b", 0, NULL, &err), KZ_INVALID, "out is NULL");
	fails(kz_argsort_compare(&out, NULL, "a < b", 0, NULL, &err), KZ_INVALID,
		"expected an array");
	options.preamble = "struct point { int x; };";
	fails(kz_sort_compare(&out, points, "a.x < b.x", 0, &options, &err), KZ_COMPILE,
		"registered with 12 bytes");
	options.preamble = "struct point { int y; }";
	fails(kz_sort_compare(&out, points, "a.x < b.x", 0, &options, &err), KZ_COMPILE, "");
	ck_assert_ptr_null(out);
	ck_assert_int_eq(kz_sort_compare(&out, array, "a <\n c", 0, NULL, &err), KZ_COMPILE);
	ck_assert_str_eq(err.file, "sort: comparison");
	ck_assert_int_eq(err.line, 2);
	kz_error_clear(&err);
	fails(kz_sort_compare(&out, array, "a < b; }", 0, NULL, &err), KZ_COMPILE,
		"this '}' has no");
	release_arrays(array, points);
}

SUITE(sort)
{
	Suite *suite = suite_create("sort");
	const int times = both_shapes_count();
	tcase_add_tests(suite_add_case(suite, "types"), times * TYPES, every_type_is_sorted);
	tcase_add_tests(suite_add_case(suite, "order"), times, every_content_is_sorted,
		many_short_rows_are_sorted);
	tcase_add_tests(suite_add_case(suite, "long"), times * LONG_ROWS, long_rows_are_sorted);
	TCase *tiles = suite_add_case(suite, "tiles");
	tcase_add_tests(tiles, 3, rows_around_a_tile_are_sorted, threads_of_a_sort_do_not_race);
	tcase_add_tests(suite_add_case(suite, "arrays"), times, every_axis_of_every_view_is_sorted,
		the_caller_keeps_the_array, values_of_every_size_follow_their_keys,
		empty_and_0d_arrays_are_sorted);
	tcase_add_tests(suite_add_case(suite, "errors"), times, a_bad_sort_is_refused,
		a_failing_allocation_leaves_nothing_behind, a_sort_is_captured);
	tcase_add_tests(suite_add_case(suite, "compare"), times, structs_are_sorted_by_a_comparison,
		every_type_is_compared, a_bad_comparison_is_refused);
	return suite;
}

/* SPDX-License-Identifier: MIT */
/* Partitions, greatest elements and quantiles of long rows, on every device and by both kernels,
 * against the C library's qsort over host memory. */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "lib/order/ordered.h"
#include "support/suite.h"

enum { LONG = 16384 }; /* rows from here on are not sorted */

/* A row of an array on the host, and its order. */
struct row {
	kz_dtype dtype;
	int64_t size, n;
	const unsigned char *host;
	const struct item *items;
};

/* Whether element `i` of a row comes at rank `rank` as far as values say. */
static bool has_rank(const struct row *row, int64_t i, int64_t rank)
{
	struct item a = item_of(row->host, row->dtype, i), b = row->items[rank];
	a.place = b.place = 0;
	return compare_items(&a, &b) == 0;
}

/* Elements and indexes of a row that was split: the same elements, each once, each on its side. */
static int64_t partition_mistakes(const struct row *row, const unsigned char *values,
	const int64_t *indexes, const int64_t *kth, int64_t count)
{
	int64_t wrong = 0;
	unsigned char *seen = calloc((size_t)row->n + 1, 1);
	for (int64_t i = 0; i < row->n; i++) {
		if (indexes[i] < 0 || indexes[i] >= row->n || seen[indexes[i]]++) {
			free(seen);
			return row->n;
		}
		wrong += memcmp(values + i * row->size, row->host + indexes[i] * row->size,
			(size_t)row->size) != 0;
	}
	free(seen);
	for (int64_t k = 0; k < count; k++) {
		const int64_t place = kth[k] < 0 ? kth[k] + row->n : kth[k];
		struct item pivot = row->items[place];
		pivot.place = 0;
		wrong += !has_rank(row, indexes[place], place);
		for (int64_t i = 0; i < row->n; i++) {
			struct item item = item_of(row->host, row->dtype, indexes[i]);
			item.place = 0;
			const int order = compare_items(&item, &pivot);
			wrong += i < place ? order > 0 : order < 0;
		}
	}
	return wrong;
}

struct rows {
	kz_dtype dtype;
	int64_t rows, n;
	int descending;
	const unsigned char *host;
	struct item *items; /* of all rows */
	kz_array *array;
};

static struct row row_of(const struct rows *rows, int64_t row)
{
	const int64_t size = kz_dtype_size(rows->dtype);
	return (struct row){rows->dtype, size, rows->n, rows->host + row * rows->n * size,
		rows->items + row * rows->n};
}

static void check_partition(const struct rows *rows, const int64_t *kth, int64_t count)
{
	const int64_t size = kz_dtype_size(rows->dtype), total = rows->rows * rows->n;
	unsigned char *values = malloc((size_t)(total * size) + 1);
	int64_t *indexes = malloc((size_t)total * 8 + 1), wrong = 0;
	kz_sort_options options = KZ_SORT_OPTIONS_INIT;
	kz_array *split, *order;
	options.descending = rows->descending;
	ok(kz_partition(&split, rows->array, kth, count, -1, &options, &err));
	ok(kz_argpartition(&order, rows->array, kth, count, 1, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(split), rows->dtype);
	ok(kz_array_get(split, values, total * size, &err));
	ok(kz_array_get(order, indexes, total * 8, &err));
	for (int64_t r = 0; r < rows->rows; r++) {
		const struct row row = row_of(rows, r);
		wrong += partition_mistakes(&row, values + r * rows->n * size,
			indexes + r * rows->n, kth, count);
	}
	ck_assert_msg(wrong == 0, "%s, %lld of %lld, %lld places from %lld on: %lld are wrong",
		kz_dtype_name(rows->dtype), (long long)rows->rows, (long long)rows->n,
		(long long)count, (long long)(count ? kth[0] : 0), (long long)wrong);
	release_arrays(split, order);
	free(values);
	free(indexes);
}

/* The first of the sorted row, and of equal ones those that come first. */
static void check_topk(const struct rows *rows, int64_t count)
{
	const int64_t size = kz_dtype_size(rows->dtype), total = rows->rows * count;
	unsigned char *values = malloc((size_t)(total * size) + 1);
	int64_t *indexes = malloc((size_t)total * 8 + 1), wrong = 0;
	kz_array *greatest, *order;
	ok(kz_topk(&greatest, &order, rows->array, count, 1, rows->descending, NULL, &err));
	ok(kz_array_get(greatest, values, total * size, &err));
	ok(kz_array_get(order, indexes, total * 8, &err));
	for (int64_t i = 0; i < total; i++) {
		const struct row row = row_of(rows, i / count);
		const int64_t place = row.items[i % count].place;
		wrong += indexes[i] != place
			|| memcmp(values + i * size, row.host + place * size, (size_t)size) != 0;
	}
	ck_assert_msg(wrong == 0, "%s, %lld of %lld, descending %d, the first %lld: %lld are wrong",
		kz_dtype_name(rows->dtype), (long long)rows->rows, (long long)rows->n,
		rows->descending, (long long)count, (long long)wrong);
	release_arrays(greatest, order);
	free(values);
	free(indexes);
}

/* The elements at q (n - 1), exactly, as a method names them. */
static void check_quantile(const struct rows *rows, double q, kz_quantile_method method)
{
	const double at = q * (double)(rows->n - 1);
	const int64_t place = (int64_t)(method == KZ_QUANTILE_HIGHER ? ceil(at) : floor(at));
	double got[16];
	kz_array *out, *doubles;
	ok(kz_quantile(&out, rows->array, q, KZ_AXES(1), method, NULL, &err));
	ok(kz_array_astype(&doubles, out, KZ_F64, &err));
	ok(kz_array_get(doubles, got, rows->rows * 8, &err));
	for (int64_t r = 0; r < rows->rows; r++) {
		const struct row row = row_of(rows, r);
		const double want = row.items[row.n - 1].class ? NAN : (double)row.items[place].re;
		ck_assert_msg(isnan(want) ? isnan(got[r]) : got[r] == want,
			"%s, row %lld of %lld, q %g: got %.17g, expected %.17g",
			kz_dtype_name(row.dtype), (long long)r, (long long)row.n, q, got[r], want);
	}
	release_arrays(out, doubles);
}

static void check_all(const struct rows *rows)
{
	const int64_t n = rows->n, many[] = {n / 2, n / 7, -1, (n + 1) / 2 - 1, 0};
	const int64_t tops[] = {1, 100, n / 2, n / 2 + 1};
	check_partition(rows, (int64_t[]){n / 3}, 1);
	check_partition(rows, (int64_t[]){-n}, 1);
	check_partition(rows, many, 3);
	check_partition(rows, many, 5);
	check_partition(rows, (int64_t[]){n / 9, -1, n / 9, -1}, 4);
	for (size_t k = 0; k < countof(tops); k++) {
		check_topk(rows, min64(tops[k], n));
	}
	if (kz_dtype_size(rows->dtype) < 16 && rows->dtype != KZ_C64 && !rows->descending) {
		check_quantile(rows, 0.5, KZ_QUANTILE_LOWER);
		check_quantile(rows, 0.5, KZ_QUANTILE_HIGHER);
		check_quantile(rows, 1, KZ_QUANTILE_LINEAR);
		check_quantile(rows, 0.999, KZ_QUANTILE_HIGHER);
	}
}

/* The content of which a sample says nothing: each 32nd element, from the first on, is of another
 * kind. */
enum { MISLEADING = CONTENTS };

static void check_rows(kz_dtype dtype, int64_t row_count, int64_t n, int content, int descending)
{
	const int64_t size = kz_dtype_size(dtype), total = row_count * n;
	unsigned char *host = malloc((size_t)(total * size) + 1);
	struct rows rows = {dtype, row_count, n, descending, host,
		malloc((size_t)total * sizeof(struct item) + 1), NULL};
	sign_of_order = descending ? -1 : 1;
	fill(host, dtype, total, content == MISLEADING ? SMALL : (enum content)content);
	for (int64_t i = 0; i < total && content == MISLEADING; i += 32) {
		memset(host + i * size, (int)(i / 32 % 5) + 60, (size_t)size);
	}
	for (int64_t r = 0; r < row_count; r++) {
		struct item *items = rows.items + r * n;
		for (int64_t i = 0; i < n; i++) {
			items[i] = item_of(host + r * n * size, dtype, i);
		}
		qsort(items, (size_t)n, sizeof(*items), compare_items);
	}
	ok(kz_array_from(&rows.array, dev, dtype, KZ_SHAPE(row_count, n), host, total * size,
		&err));
	check_all(&rows);
	kz_array_release(rows.array);
	free(rows.items);
	free(host);
}

/* Each type and each content is a test of its own: it compiles some kernels. */
enum { TYPES = KZ_C128 };

TEST_BETWEEN(setup(_i / TYPES), teardown(), every_type_is_selected)
{
	const kz_dtype dtype = (kz_dtype)(_i % TYPES + 1);
	if (!support_is_tried(_i, both_shapes_count() * TYPES, 2, 1)) {
		return;
	}
	if (support_is_way_tried(kz_dtype_name(dtype), 0)) {
		check_rows(dtype, 2, LONG, RANDOM, 0);
	}
	if (support_is_way_tried(kz_dtype_name(dtype), 1)) {
		check_rows(dtype, 1, LONG + 77, FEW, 1);
	}
}

/* Rows of one tile and of some; contents that a sample tells of, and those that it does not. */
static const struct {
	kz_dtype dtype;
	int64_t rows, n;
	int content, descending;
} contents[] = {
	{KZ_F32, 1, 140000, RANDOM, 0}, {KZ_I32, 2, 40000, SORTED, 0},
	{KZ_I32, 1, 40000, REVERSED, 1},
	{KZ_I32, 3, LONG, EQUAL, 0}, {KZ_F32, 2, 40000, FEW, 0}, {KZ_I32, 1, 150000, SMALL, 1},
	{KZ_F64, 1, 140000, CLUSTERS, 0}, {KZ_U64, 2, 20000, CLUSTERS, 1},
	{KZ_F32, 1, 140000, MISLEADING, 0}, {KZ_I64, 2, LONG, MISLEADING, 1},
	{KZ_U64, 1, LONG, MISLEADING, 0}, {KZ_I16, 1, 140000, MISLEADING, 0},
};
enum { CASES = countof(contents) };

TEST_BETWEEN(setup(_i / CASES), teardown(), every_content_is_selected)
{
	const int i = _i % CASES;
	if (!support_is_tried(_i, both_shapes_count() * CASES, 2, 1)) {
		return;
	}
	check_rows(contents[i].dtype, contents[i].rows, contents[i].n, contents[i].content,
		contents[i].descending);
}

TEST_BETWEEN(setup_race(_i), teardown_race(), threads_of_a_split_do_not_race)
{
	static int32_t host[LONG];
	static int64_t got[LONG];
	const int64_t kth[] = {-1, LONG / 3};
	kz_array *array, *order;
	if (!support_is_tried(_i, 3, 1, 1)) {
		return;
	}
	for (int32_t i = 0; i < LONG; i++) {
		host[i] = i * 7919 % LONG; /* each once */
	}
	ok(kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(LONG), host, sizeof(host), &err));
	ok(kz_argpartition(&order, array, kth, 2, 0, NULL, &err));
	ok(kz_array_get(order, got, sizeof(got), &err));
	ck_assert(host[got[LONG - 1]] == LONG - 1 && host[got[LONG / 3]] == LONG / 3);
	for (int i = 1; i < LONG; i++) {
		ck_assert((host[got[i]] < LONG / 3) == (i < LONG / 3));
		ck_assert(i == LONG / 3 || i == LONG / 3 + 1 || i == LONG - 1
			|| got[i - 1] < got[i]);
	}
	release_arrays(array, order);
}

DEVICE_TEST(short_rows_are_sorted)
{
	check_rows(KZ_I32, 1, 1, RANDOM, 0);
	check_rows(KZ_F32, 3, 33, RANDOM, 1);
	check_rows(KZ_F32, 2, LONG - 1, FEW, 0);
}

/* Along the long axis of a view that goes backwards. */
DEVICE_TEST(every_axis_of_a_view_is_split)
{
	enum { A = 2, N = LONG + 5, C = 3 };
	static int32_t host[A * N * C], got[A * N * C];
	const int64_t strides[3] = {4 * N * C, -4 * C, 4}, kth = 1000;
	kz_array *array, *view, *split, *first, *order, *taken;
	for (int32_t i = 0; i < A * N * C; i++) {
		host[i] = i / C % N; /* the same in each column */
	}
	ok(kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(A, N, C), host, sizeof(host), &err));
	ok(kz_array_view(&view, array, KZ_SHAPE(A, N, C), strides, 4 * (N - 1) * C, &err));
	ok(kz_partition(&split, view, &kth, 1, 1, NULL, &err));
	ok(kz_array_get(split, got, sizeof(got), &err));
	for (int i = 0; i < A * N * C; i++) {
		const int place = i / C % N;
		ck_assert_int_eq(got[i] > kth ? 1 : got[i] < kth ? -1 : 0, place > kth ? 1
			: place < kth ? -1 : 0);
	}
	ok(kz_topk(&first, &order, view, 2, -2, 1, NULL, &err));
	ck_assert_int_eq(kz_array_shape(first).dims[1], 2);
	ok(kz_array_take_along_axis(&taken, view, order, 1, KZ_INDEX_CHECK, &err));
	for (int k = 0; k < 2; k++) {
		ok(kz_array_get(k ? taken : first, got, A * 2 * C * 4, &err));
		for (int i = 0; i < A * 2 * C; i++) {
			ck_assert_int_eq(got[i], N - 1 - i / C % 2);
		}
	}
	release_arrays(array, view, split, first, order, taken);
}

/* The difference of the two elements overflows. */
DEVICE_TEST(quantiles_of_numbers_far_apart_are_finite)
{
	const double values[2] = {-1.7e308, 1.5e308};
	static const double shares[] = {0.25, 0.5, 0.75};
	for (int i = 0; i < 6; i++) {
		kz_dtype dtype = i < 3 ? KZ_F64 : KZ_F32;
		double scale = i < 3 ? 1 : 1e-270, q = shares[i % 3], got;
		const double scaled[2] = {values[0] * scale, values[1] * scale};
		double want = scaled[0] * (1 - q) + scaled[1] * q;
		kz_array *array = support_array_of(dev, dtype, scaled, 2), *out, *wide;
		ok(kz_quantile(&out, array, q, KZ_AXES(0), KZ_QUANTILE_LINEAR, NULL, &err));
		ok(kz_array_astype(&wide, out, KZ_F64, &err));
		ok(kz_array_get(wide, &got, sizeof(got), &err));
		ck_assert(fabs(got - want) <= 1e-6 * fabs(want));
		release_arrays(array, out, wide);
	}
}

DEVICE_TEST(quantiles_of_long_rows_lie_between)
{
	enum { N = LONG + 1 };
	static float host[2][N];
	float got[2];
	double all;
	kz_array *array, *small, *out;
	for (int i = 0; i < N; i++) {
		host[0][i] = (float)(i * 7919LL % N) - 100; /* each of -100 to N - 101 */
		host[1][i] = i == 5000 ? NAN : -0.0F;
	}
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(2, N), host, sizeof(host), &err));
	ok(kz_quantile(&out, array, 0.75 / (N - 1), KZ_AXES(1), KZ_QUANTILE_LINEAR, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(out), KZ_F32);
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert(fabsf(got[0] + 99.25F) < 1e-4F && isnan(got[1]));
	kz_array_release(out);
	ok(kz_array_astype(&small, array, KZ_I32, &err));
	ok(kz_median(&out, small, KZ_ALL_AXES, &err));
	ck_assert_int_eq(kz_array_ndim(out), 0);
	ck_assert_uint_eq(kz_array_dtype(out), KZ_F64);
	ok(kz_array_get(out, &all, sizeof(all), &err));
	ck_assert(all == 0);
	release_arrays(array, small, out);
}

DEVICE_TEST(empty_and_0d_arrays_are_split)
{
	const int64_t kth[] = {0, -1};
	kz_array *empty, *scalar, *split;
	int8_t got = 0;
	ok(kz_array_zeros(&empty, dev, KZ_F32, KZ_SHAPE(0, 3 * LONG), &err));
	ok(kz_partition(&split, empty, kth, 2, 1, NULL, &err));
	ck_assert(kz_array_count(split) == 0 && kz_array_shape(split).dims[1] == 3 * LONG);
	kz_array_release(split);
	ok(kz_topk(&split, NULL, empty, 3, 1, 1, NULL, &err));
	ck_assert(kz_array_count(split) == 0 && kz_array_shape(split).dims[1] == 3);
	kz_array_release(split);
	ok(kz_median(&split, empty, KZ_AXES(1), &err));
	ck_assert(kz_array_count(split) == 0 && kz_array_ndim(split) == 1);
	kz_array_release(split);
	fails(kz_partition(&split, empty, kth, 1, 0, NULL, &err), KZ_RANGE,
		"place 0 is out of range");
	ok(kz_array_ones(&scalar, dev, KZ_I8, KZ_SHAPE(), &err));
	ok(kz_partition(&split, scalar, kth, 2, -1, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(split), 0);
	ok(kz_array_get(split, &got, 1, &err));
	ck_assert_int_eq(got, 1);
	kz_array_release(split);
	ok(kz_argpartition(&split, scalar, NULL, 0, 0, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(split), 0);
	release_arrays(empty, scalar, split);
}

DEVICE_TEST(a_bad_partition_is_refused)
{
	const int64_t kth[] = {4, 5, -6};
	kz_sort_options options = KZ_SORT_OPTIONS_INIT;
	kz_dtype point;
	kz_array *array, *points, *out = NULL;
	ok(kz_dtype_register(&point, "struct point", 12, &err));
	ok(kz_array_ones(&array, dev, KZ_F32, KZ_SHAPE(2, 5), &err));
	ok(kz_array_zeros(&points, dev, point, KZ_SHAPE(5), &err));
	fails(kz_partition(&out, array, kth, 2, 1, NULL, &err), KZ_RANGE,
		"kz_partition: place 5 is out of range for axis 1 of 5 elements");
	fails(kz_argpartition(&out, array, kth + 2, 1, -1, NULL, &err), KZ_RANGE,
		"kz_argpartition: place -6 is out of range");
	fails(kz_partition(&out, array, kth, 1, 2, NULL, &err), KZ_RANGE, "axis 2 is out of range");
	fails(kz_partition(&out, array, kth, -1, 0, NULL, &err), KZ_INVALID,
		"expected a list of places, got -1");
	fails(kz_partition(&out, array, NULL, 1, 0, NULL, &err), KZ_INVALID, "at NULL");
	fails(kz_partition(&out, points, kth, 1, 0, NULL, &err), KZ_INVALID,
		"kz_partition: struct point has no order");
	fails(kz_partition(NULL, array, kth, 1, 1, NULL, &err), KZ_INVALID,
		"kz_partition: out is NULL");
	fails(kz_argpartition(&out, NULL, kth, 1, 0, NULL, &err), KZ_INVALID, "expected an array");
	ck_assert_ptr_null(out);
	options.size = 3;
	fails(kz_partition(&out, array, kth, 1, 1, &options, &err), KZ_INVALID, "has size 3");
	release_arrays(array, points);
}

static kz_status call_each(int which, kz_array **outs, kz_array *array)
{
	const int64_t kth[] = {3, 5000};
	switch (which) {
	case 0: return kz_partition(&outs[0], array, kth, 2, 0, NULL, &err);
	case 1: return kz_argpartition(&outs[0], array, kth, 2, 0, NULL, &err);
	case 2: return kz_topk(&outs[0], &outs[1], array, 5, 0, 1, NULL, &err);
	default: return kz_median(&outs[0], array, KZ_AXES(0), &err);
	}
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	kz_array *array;
	ok(kz_array_ones(&array, dev, KZ_I16, KZ_SHAPE(LONG, 2), &err));
	for (int which = 0; which < 4; which++) {
		int failed = 0;
		bool done = false;
		for (long n = 0; !done; n++) {
			kz_array *outs[2] = {NULL, NULL};
			mem_fail_after(n);
			kz_status st = call_each(which, outs, array);
			done = !mem_has_failed();
			mem_fail_after(-1);
			failed += st != KZ_OK;
			ck_assert(!st || (!outs[0] && !outs[1]));
			kz_error_clear(&err);
			release_arrays(outs[0], outs[1]);
		}
		ck_assert_int_gt(failed, 3);
	}
	kz_array_release(array);
}

/* A graph selects from what is in the array when it runs. */
DEVICE_TEST(a_selection_is_captured)
{
	enum { N = 40000 };
	static uint32_t host[N];
	uint32_t got[2];
	int64_t at[2];
	kz_sort_options options = KZ_SORT_OPTIONS_INIT;
	kz_graph *graph = NULL;
	kz_exec *exec = NULL;
	kz_stream *stream = NULL;
	kz_array *array, *values, *indexes, *warm;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_array_zeros(&array, dev, KZ_U32, KZ_SHAPE(N), &err));
	options.stream = stream;
	ok(kz_topk(&warm, NULL, array, 2, 0, 1, &options, &err));
	ok(kz_stream_synchronize(stream, &err));
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_topk(&values, &indexes, array, 2, 0, 1, &options, &err));
	ok(kz_graph_end(&graph, stream, &err));
	for (uint32_t i = 0; i < N; i++) {
		host[i] = i * 7919u % N;
	}
	ok(kz_array_set(array, host, sizeof(host), &err));
	ok(kz_graph_instantiate(&exec, graph, &err));
	for (int round = 0; round < 2; round++) {
		ok(kz_exec_launch(exec, stream, &err));
		ok(kz_stream_synchronize(stream, &err));
		ok(kz_array_get(values, got, sizeof(got), &err));
		ok(kz_array_get(indexes, at, sizeof(at), &err));
		ck_assert(got[0] == N - 1 && got[1] == N - 2 && host[at[0]] == N - 1
			&& host[at[1]] == N - 2);
	}
	release_arrays(array, values, indexes, warm);
	kz_exec_release(exec);
	kz_graph_release(graph);
	kz_stream_release(stream);
}

SUITE(select)
{
	Suite *suite = suite_create("select");
	const int times = both_shapes_count();
	tcase_add_tests(suite_add_case(suite, "types"), times * TYPES, every_type_is_selected);
	tcase_add_tests(suite_add_case(suite, "contents"), times * CASES,
		every_content_is_selected);
	tcase_add_tests(suite_add_case(suite, "races"), 3, threads_of_a_split_do_not_race);
	tcase_add_tests(suite_add_case(suite, "arrays"), times, short_rows_are_sorted,
		every_axis_of_a_view_is_split, quantiles_of_long_rows_lie_between,
		quantiles_of_numbers_far_apart_are_finite,
		empty_and_0d_arrays_are_split);
	tcase_add_tests(suite_add_case(suite, "errors"), times, a_bad_partition_is_refused,
		a_failing_allocation_leaves_nothing_behind, a_selection_is_captured);
	return suite;
}

/* SPDX-License-Identifier: MIT */
/* Scans on every device, against a loop over host memory. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_longs(kz_array *array, const int64_t *want, int64_t count)
{
	int64_t *got = malloc((size_t)(8 * count) + 1);
	ck_assert_int_eq(kz_array_count(array), count);
	ok(kz_array_get(array, got, 8 * count, &err));
	ck_assert_mem_eq(got, want, (size_t)(8 * count));
	free(got);
}

/* Around the ends of segments, chunks, and chunks of chunks' totals. */
DEVICE_TEST(sums_run_over_segments_and_chunks)
{
	static const int64_t sizes[] = {1, 2, 15, 16, 17, 31, 4095, 4096, 4097, 8192, 70001};
	static int32_t host[70001];
	static int64_t want[70001];
	for (size_t k = 0; k < countof(sizes); k++) {
		int64_t sum = 0;
		kz_array *array, *sums;
		for (int64_t i = 0; i < sizes[k]; i++) {
			host[i] = (int32_t)(i * 7919 % 1000003) - 400000;
			want[i] = sum += host[i];
		}
		ok(kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(sizes[k]), host, 4 * sizes[k],
			&err));
		ok(kz_cumsum(&sums, array, 0, &err));
		ck_assert_uint_eq(kz_array_dtype(sums), KZ_I64);
		check_longs(sums, want, sizes[k]);
		release_arrays(array, sums);
	}
}

START_TEST(chunks_of_chunks_are_scanned_too)
{
	enum { N = 4096 * 4096 + 5 };
	int8_t *host = malloc(N);
	int8_t *got = malloc(N);
	int8_t sum = 0;
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	kz_array *array, *sums;
	setup(_i);
	for (int64_t i = 0; i < N; i++) {
		host[i] = (int8_t)(i * i >> 3);
	}
	ok(kz_array_from(&array, dev, KZ_I8, KZ_SHAPE(N), host, N, &err));
	ok(kz_scan(&sums, array, "a + b", "0", &options, &err));
	ok(kz_array_get(sums, got, N, &err));
	int64_t wrong = 0;
	for (int64_t i = 0; i < N; i++) {
		sum = (int8_t)(sum + host[i]);
		wrong += got[i] != sum;
	}
	ck_assert_int_eq(wrong, 0);
	release_arrays(array, sums);
	free(host);
	free(got);
	teardown();
}
END_TEST

DEVICE_TEST(every_axis_of_every_view_is_scanned)
{
	enum { A = 3, B = 5, C = 37 };
	static int64_t host[A * B * C], want[A * B * C];
	const int64_t dims[3] = {A, B, C};
	for (int64_t axis = -3; axis < 3; axis++) {
		int64_t along = axis < 0 ? axis + 3 : axis;
		const int64_t strides[3] = {-8 * B * C, 8 * C, 8};
		kz_array *array, *view, *sums;
		for (int64_t i = 0; i < A * B * C; i++) {
			host[i] = i * i % 1001;
		}
		ok(kz_array_from(&array, dev, KZ_I64, KZ_SHAPE(A, B, C), host, sizeof(host), &err));
		ok(kz_array_view(&view, array, KZ_SHAPE(A, B, C), strides, 8 * (A - 1) * B * C,
			&err));
		ok(kz_cumsum(&sums, view, axis, &err));
		int64_t step = along == 0 ? B * C : along == 1 ? C : 1;
		for (int64_t i = 0; i < A * B * C; i++) {
			int64_t from = (A - 1 - i / (B * C)) * B * C + i % (B * C);
			want[i] = host[from] + (i / step % dims[along] ? want[i - step] : 0);
		}
		check_longs(sums, want, A * B * C);
		release_arrays(array, view, sums);
	}
}

DEVICE_TEST(an_exclusive_scan_begins_with_the_neutral_element)
{
	enum { N = 5000 };
	static double host[N], got[N];
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	kz_array *array, *highest;
	double most = -INFINITY;
	int64_t wrong = 0;
	for (int i = 0; i < N; i++) {
		host[i] = i * 7919 % 5003 * (i % 3 - 1.0);
	}
	options.exclusive = 1;
	ok(kz_array_from(&array, dev, KZ_F64, KZ_SHAPE(N), host, sizeof(host), &err));
	ok(kz_scan(&highest, array, "a > b ? a : b", "-INFINITY", &options, &err));
	ok(kz_array_get(highest, got, sizeof(got), &err));
	for (int i = 0; i < N; i++) {
		wrong += got[i] != most;
		most = host[i] > most ? host[i] : most;
	}
	ck_assert_int_eq(wrong, 0);
	release_arrays(array, highest);
}

/* The order in the header, step by step: both kernels round alike. */
DEVICE_TEST(floats_are_added_in_the_order_that_is_promised)
{
	enum { N = 10000 };
	static float host[N], got[N];
	kz_array *array, *sums;
	volatile float prefix = 0;
	int64_t wrong = 0;
	for (int i = 0; i < N; i++) {
		host[i] = (float)(i * 7919 % 10007) / 97 - 50;
	}
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(N), host, sizeof(host), &err));
	ok(kz_cumsum(&sums, array, 0, &err));
	ok(kz_array_get(sums, got, sizeof(got), &err));
	for (int chunk = 0; chunk < N; chunk += 4096) {
		volatile float group = 0, segment = 0;
		for (int begin = chunk; begin < N && begin < chunk + 4096; begin += 16) {
			volatile float local = 0, within = group + segment;
			within = prefix + within;
			for (int i = begin; i < N && i < begin + 16; i++) {
				local = i == begin ? host[i] : local + host[i];
				wrong += got[i] != within + local;
			}
			segment += local;
			if (begin % 256 == 240 || begin + 16 >= N) {
				group += segment;
				segment = 0;
			}
		}
		prefix += group;
	}
	ck_assert_int_eq(wrong, 0);
	release_arrays(array, sums);
}

DEVICE_TEST(types_are_numpys)
{
	static const kz_dtype want[16] = {
		[KZ_BOOL] = KZ_I64, [KZ_I8] = KZ_I64, [KZ_I16] = KZ_I64, [KZ_I32] = KZ_I64,
		[KZ_I64] = KZ_I64, [KZ_U8] = KZ_U64, [KZ_U16] = KZ_U64, [KZ_U32] = KZ_U64,
		[KZ_U64] = KZ_U64, [KZ_F16] = KZ_F16, [KZ_BF16] = KZ_BF16, [KZ_F32] = KZ_F32,
		[KZ_F64] = KZ_F64, [KZ_C64] = KZ_C64, [KZ_C128] = KZ_C128,
	};
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		if (!both_shapes_try(dtype - 1, KZ_C128, 3, 1)) {
			continue;
		}
		kz_array *array, *sums, *products, *doubles;
		double got[5];
		ok(kz_array_ones(&array, dev, dtype, KZ_SHAPE(5), &err));
		ok(kz_cumsum(&sums, array, -1, &err));
		ck_assert_uint_eq(kz_array_dtype(sums), want[dtype]);
		ok(kz_cumprod(&products, sums, -1, &err));
		ok(kz_array_astype(&doubles, products, KZ_F64, &err));
		ok(kz_array_get(doubles, got, sizeof(got), &err));
		ck_assert(got[0] == 1 && got[3] == 24 && got[4] == 120);
		release_arrays(array, sums, products, doubles);
	}
}

DEVICE_TEST(empty_and_0d_arrays_are_scanned)
{
	kz_array *empty, *scalar, *sums;
	int64_t got = 0;
	ok(kz_array_zeros(&empty, dev, KZ_F32, KZ_SHAPE(3, 0, 2), &err));
	for (int64_t axis = 0; axis < 3; axis++) {
		ok(kz_cumsum(&sums, empty, axis, &err));
		ck_assert(kz_array_count(sums) == 0 && kz_array_shape(sums).dims[2] == 2);
		kz_array_release(sums);
	}
	ok(kz_array_ones(&scalar, dev, KZ_I8, KZ_SHAPE(), &err));
	ok(kz_cumsum(&sums, scalar, 0, &err));
	ck_assert_int_eq(kz_array_ndim(sums), 0);
	ok(kz_array_get(sums, &got, sizeof(got), &err));
	ck_assert_int_eq(got, 1);
	release_arrays(sums, empty, scalar);
}

/* Sums that begin anew at each flag: over segments and chunks, and rows of a view. */
DEVICE_TEST(structs_are_scanned_by_functions_of_a_preamble)
{
	enum { COUNT = 5000 };
	static struct { int flag, sum; } in[COUNT], out[COUNT];
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	kz_dtype dtype;
	kz_array *array, *sums = NULL;
	ok(kz_dtype_register(&dtype, "segmented", sizeof(in[0]), &err));
	for (int i = 0; i < COUNT; i++) {
		in[i].flag = i % 777 == 5;
		in[i].sum = i % 13 - 4;
	}
	ok(kz_array_from(&array, dev, dtype, KZ_SHAPE(COUNT), in, sizeof(in), &err));
	options.preamble = "struct segmented { int flag, sum; };\n"
		"__device__ inline segmented join(segmented a, segmented b)\n"
		"{ return segmented{a.flag | b.flag, b.flag ? b.sum : a.sum + b.sum}; }";
	for (int exclusive = 0; exclusive < 2; exclusive++) {
		int flag = 0, sum = 0;
		options.exclusive = exclusive;
		ok(kz_scan(&sums, array, "join(a, b)", "segmented{0, 0}", &options, &err));
		ok(kz_array_get(sums, out, sizeof(out), &err));
		for (int i = 0; i < COUNT; i++) {
			const int before = sum;
			sum = in[i].flag ? in[i].sum : sum + in[i].sum;
			ck_assert_int_eq(out[i].sum, exclusive ? before : sum);
			ck_assert_int_eq(out[i].flag, exclusive ? flag : flag | in[i].flag);
			flag |= in[i].flag;
		}
		kz_array_release(sums);
	}
	options.preamble = "struct segmented { int flag; };";
	fails(kz_scan(&sums, array, "a", "a", &options, &err), KZ_COMPILE,
		"segmented was registered with 8 bytes");
	kz_array_release(array);
}

/* The same operation with another preamble is another kernel. */
DEVICE_TEST(a_preamble_is_part_of_the_operation)
{
	static const char *const preambles[] = {
		"__device__ inline float step(float a, float b) { return a + b; }",
		"__device__ inline float step(float a, float b) { return a > b ? a : b; }",
	};
	static const float in[] = {1, 3, 2}, want[2][3] = {{1, 4, 6}, {1, 3, 3}};
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	float got[3];
	kz_array *array, *out;
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(3), in, sizeof(in), &err));
	for (int k = 0; k < 2; k++) {
		options.preamble = preambles[k];
		ok(kz_scan(&out, array, "step(a, b)", "0", &options, &err));
		ok(kz_array_get(out, got, sizeof(got), &err));
		ck_assert(memcmp(got, want[k], sizeof(got)) == 0);
		kz_array_release(out);
	}
	options.preamble = "inline float step() { return nothing; }";
	ck_assert_int_eq(kz_scan(&out, array, "a", "0", &options, &err), KZ_COMPILE);
	ck_assert_str_eq(err.file, "scan: preamble");
	kz_error_clear(&err);
	kz_array_release(array);
}

DEVICE_TEST(a_bad_scan_is_refused)
{
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	kz_dtype point;
	kz_array *array, *points, *sums = NULL;
	ok(kz_dtype_register(&point, "struct point", 12, &err));
	ok(kz_array_ones(&array, dev, KZ_F32, KZ_SHAPE(5), &err));
	ok(kz_array_zeros(&points, dev, point, KZ_SHAPE(5), &err));
	fails(kz_cumsum(&sums, array, 1, &err), KZ_RANGE, "axis 1 is out of range for shape (5,)");
	fails(kz_scan(&sums, array, "a + c", "0", NULL, &err), KZ_COMPILE, "\"c\" is undefined");
	ck_assert_ptr_null(sums);
	fails(kz_scan(&sums, points, "a", "a", NULL, &err), KZ_INVALID,
		"scan does not take struct point");
	fails(kz_scan(&sums, array, NULL, "0", NULL, &err), KZ_INVALID, "expected an operation");
	fails(kz_scan(&sums, NULL, "a", "0", NULL, &err), KZ_INVALID, "expected an array");
	fails(kz_scan(NULL, array, "a", "0", NULL, &err), KZ_INVALID, "out is NULL");
	options.size = 3;
	fails(kz_scan(&sums, array, "a", "0", &options, &err), KZ_INVALID, "has size 3");
	release_arrays(array, points);
}

DEVICE_TEST(an_error_points_into_the_expression)
{
	const struct {
		const char *operation, *neutral, *file;
		int line, column;
	} rows[] = {
		{"a + c", "0", "scan: operation", 1, 5},
		{"c + a", "0", "scan: operation", 1, 1},
		{"a +\n b + c", "0", "scan: operation", 2, 6},
		{"a + ", "0", "scan: operation", 1, 5},
		{"a + b", "none", "scan: neutral element", 1, 1},
		{"a + b; }", "0", "scan: operation", 1, 8},
	};
	kz_array *array = NULL, *sums = NULL;
	ok(kz_array_ones(&array, dev, KZ_F32, KZ_SHAPE(5), &err));
	for (size_t i = 0; i < countof(rows); i++) {
		ck_assert_int_eq(kz_scan(&sums, array, rows[i].operation, rows[i].neutral, NULL,
			&err), KZ_COMPILE);
		ck_assert_str_eq(err.file, rows[i].file);
		ck_assert_int_eq(err.line, rows[i].line);
		ck_assert_int_eq(err.column, rows[i].column);
		kz_error_clear(&err);
	}
	ok(kz_scan(&sums, array, "a + b // sums", "0 // zero", NULL, &err));
	release_arrays(array, sums);
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	kz_array *array;
	int failed = 0;
	ok(kz_array_ones(&array, dev, KZ_F16, KZ_SHAPE(9000, 2), &err));
	for (long n = 0;; n++) {
		kz_array *sums = NULL;
		mem_fail_after(n);
		kz_status st = kz_cumsum(&sums, array, 0, &err);
		bool done = !mem_has_failed();
		mem_fail_after(-1);
		failed += st != KZ_OK;
		kz_error_clear(&err);
		kz_array_release(sums);
		if (done) {
			break;
		}
	}
	ck_assert_int_gt(failed, 3); /* a cache does without memory */
	kz_array_release(array);
}

/* Into arrays of all kinds; the sums are those of int32 elements along the last axis. */

DEVICE_TEST(a_result_goes_into_an_array)
{
	enum { ROWS = 3, COLUMNS = 5000 };
	static int32_t host[ROWS * COLUMNS], sums[ROWS * COLUMNS], got[ROWS * COLUMNS];
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	kz_array *array = NULL, *wide = NULL, *turned = NULL, *view = NULL, *out = NULL;
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		host[i] = i * 31 % 1009 - 500;
		sums[i] = host[i] + (i % COLUMNS ? sums[i - 1] : 0);
	}
	const kz_shape shape = KZ_SHAPE(ROWS, COLUMNS);
	ok(kz_array_from(&array, dev, KZ_I32, shape, host, sizeof(host), &err));
	ok(kz_array_create(&options.into, dev, KZ_I32, shape, &err)); /* as the kernel writes it */
	ok(kz_scan(&out, array, "a + b", "0", &options, &err));
	ck_assert_ptr_eq(out, options.into);
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert_mem_eq(got, sums, sizeof(got));
	release_arrays(out, options.into);
	ok(kz_array_create(&turned, dev, KZ_I64, KZ_SHAPE(COLUMNS, ROWS), &err));
	ok(kz_array_transpose(&view, turned, KZ_AXES(), &err)); /* gaps, and another type */
	options.into = view;
	ok(kz_scan(NULL, array, "a + b", "0", &options, &err));
	ok(kz_array_astype(&wide, view, KZ_I32, &err));
	ok(kz_array_get(wide, got, sizeof(got), &err));
	ck_assert_mem_eq(got, sums, sizeof(got));
	release_arrays(wide, turned, view);
	ok(kz_array_create(&options.into, dev, KZ_I64, shape, &err)); /* only another type */
	ok(kz_scan(NULL, array, "a + b", "0", &options, &err));
	ok(kz_array_astype(&wide, options.into, KZ_I32, &err));
	ok(kz_array_get(wide, got, sizeof(got), &err));
	ck_assert_mem_eq(got, sums, sizeof(got));
	release_arrays(wide, options.into);
	options.into = array; /* itself */
	ok(kz_scan(NULL, array, "a + b", "0", &options, &err));
	ok(kz_array_get(array, got, sizeof(got), &err));
	ck_assert_mem_eq(got, sums, sizeof(got));
	kz_array_release(array);
}

/* Backwards over its own memory, along the other axis. */
DEVICE_TEST(a_result_may_overlap_what_is_scanned)
{
	enum { N = 600 };
	int32_t host[N], want[N], got[N];
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	kz_array *array = NULL, *flipped = NULL;
	for (int i = 0; i < N; i++) {
		host[i] = i * 31 % 101;
	}
	for (int i = 0; i < N; i++) { /* row i / 20 of 30, and the same from the end */
		want[N - 1 - i] = host[i] + (i < 20 ? 0 : want[N - 1 - i + 20]);
	}
	ok(kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(30, 20), host, sizeof(host), &err));
	ok(kz_array_flip(&flipped, array, KZ_ALL_AXES, &err));
	options.axis = 0;
	options.into = flipped;
	ok(kz_scan(NULL, array, "a + b", "0", &options, &err));
	ok(kz_array_get(array, got, sizeof(got), &err));
	ck_assert_mem_eq(got, want, sizeof(got));
	release_arrays(array, flipped);
}

DEVICE_TEST(a_0d_and_an_empty_result_go_into_arrays)
{
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	kz_array *number = NULL, *empty = NULL, *out = NULL;
	int32_t seven = 7, got = 0;
	ok(kz_array_from(&number, dev, KZ_I32, KZ_SHAPE(), &seven, 4, &err));
	ok(kz_array_zeros(&options.into, dev, KZ_I32, KZ_SHAPE(), &err));
	ok(kz_scan(&out, number, "a + b", "0", &options, &err));
	ck_assert_ptr_eq(out, options.into);
	ck_assert_int_eq(kz_array_ndim(out), 0);
	ok(kz_array_get(out, &got, 4, &err));
	ck_assert_int_eq(got, 7);
	release_arrays(out, options.into, number);
	ok(kz_array_zeros(&empty, dev, KZ_I32, KZ_SHAPE(3, 0), &err));
	options.into = empty;
	ok(kz_scan(NULL, empty, "a + b", "0", &options, &err));
	kz_array_release(empty);
}

DEVICE_TEST(an_array_that_does_not_fit_the_result_is_refused)
{
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	kz_array *array = support_counted(dev, KZ_SHAPE(4)), *out = (kz_array *)&err;
	kz_array *one = NULL, *real = NULL;
	fails(kz_scan(NULL, array, "a + b", "0", &options, &err), KZ_INVALID,
		"kz_scan: out is NULL");
	ok(kz_array_create(&options.into, dev, KZ_I32, KZ_SHAPE(4, 1), &err));
	fails(kz_scan(&out, array, "a + b", "0", &options, &err), KZ_INVALID,
		"expected an array of shape (4,) for the result, got (4, 1)");
	ck_assert_ptr_null(out);
	kz_array_release(options.into);
	ok(kz_array_astype(&real, array, KZ_F32, &err));
	options.into = array;
	fails(kz_scan(&out, real, "a + b", "0", &options, &err), KZ_INVALID,
		"float32 does not fit into int32");
	ok(kz_array_zeros(&one, dev, KZ_F32, KZ_SHAPE(1), &err));
	ok(kz_array_broadcast_to(&options.into, one, KZ_SHAPE(4), &err));
	fails(kz_scan(&out, real, "a + b", "0", &options, &err), KZ_INVALID, "share");
	release_arrays(options.into, array, one, real);
}

SUITE(scan)
{
	Suite *suite = suite_create("scan");
	TCase *tcase = suite_add_case(suite, "scan");
	int devices = both_shapes_count();
	tcase_add_tests(tcase, devices, sums_run_over_segments_and_chunks,
		chunks_of_chunks_are_scanned_too, every_axis_of_every_view_is_scanned,
		an_exclusive_scan_begins_with_the_neutral_element,
		floats_are_added_in_the_order_that_is_promised, types_are_numpys,
		empty_and_0d_arrays_are_scanned,
		structs_are_scanned_by_functions_of_a_preamble,
		a_preamble_is_part_of_the_operation, a_bad_scan_is_refused,
		an_error_points_into_the_expression,
		a_failing_allocation_leaves_nothing_behind, a_result_goes_into_an_array,
		a_result_may_overlap_what_is_scanned, a_0d_and_an_empty_result_go_into_arrays,
		an_array_that_does_not_fit_the_result_is_refused);
	return suite;
}

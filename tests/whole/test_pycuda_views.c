/* SPDX-License-Identifier: MIT */
/*
 * More of PyCUDA's tests by their names, see test_pycuda.c: making arrays, views, indexes,
 * reductions and scans.
 */
#include "base/common.h"

#include "pycuda.h"
#include "support/suite.h"

/* Creating */

DEVICE_TEST(arange)
{
	kz_array *out;
	for (int i = 0; i < 12; i++) {
		want[i] = (float)i;
	}
	ok(kz_array_arange(&out, dev, KZ_F32, KZ_ARG(0), KZ_ARG(12), KZ_ARG(1), &err));
	check(out, want, 12, 0);
}

DEVICE_TEST(ones_zeros_like_etc)
{
	kz_array *x, *out;
	for (int i = 0; i < 10; i++) {
		want[i] = 1;
	}
	ok(kz_array_ones(&x, dev, KZ_F32, KZ_SHAPE(2, 5), &err));
	ok(kz_array_ones_like(&out, x, 0, &err));
	ck_assert_int_eq(kz_array_ndim(out), 2);
	check(out, want, 10, 0);
	ok(kz_array_zeros_like(&out, x, 0, &err));
	memset(want, 0, 40);
	check(out, want, 10, 0);
	ok(kz_array_zeros(&out, dev, KZ_C64, KZ_SHAPE(3), &err)); /* create_complex_zeros */
	check_bytes(out, KZ_C64, (const float[6]){0}, 24);
	kz_array_release(x);
}

/* vector_fill, default_zero, setitem_scalar */
DEVICE_TEST(fills)
{
	struct { float x, y, z; } point = {1, 2, 3}, got[100];
	kz_dtype float3;
	kz_array *points, *x, *row;
	ok(kz_dtype_register(&float3, "float3", 12, &err));
	ok(kz_array_create(&points, dev, float3, KZ_SHAPE(100), &err));
	ok(kz_array_fill(points, KZ_VALUE(point), &err));
	ok(kz_array_get(points, got, sizeof(got), &err));
	ck_assert(got[0].x == 1 && got[99].z == 3);
	kz_array_release(points);
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(3, 4), &err));
	ok(kz_array_slice(&row, x, KZ_AT(1), &err));
	ok(kz_array_fill(row, KZ_ARG(2.5), &err));
	memset(want, 0, 48);
	want[4] = want[5] = want[6] = want[7] = 2.5f;
	check(x, want, 12, 0);
	kz_array_release(row);
}

/* stack, concatenate */
DEVICE_TEST(joins)
{
	kz_array *x, *y, *out;
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(2, 3), a, 24, &err));
	ok(kz_array_from(&y, dev, KZ_F32, KZ_SHAPE(2, 3), b, 24, &err));
	ok(kz_array_concatenate(&out, KZ_ARRAYS(x, y), 0, NULL, &err));
	memcpy(want, a, 24);
	memcpy(want + 6, b, 24);
	check(out, want, 12, 0);
	ok(kz_array_concatenate(&out, KZ_ARRAYS(x, y), 1, NULL, &err));
	ck_assert_int_eq(kz_array_shape(out).dims[1], 6);
	ck_assert_int_eq(kz_array_ndim(out), 2);
	for (int i = 0; i < 12; i++) {
		want[i] = (i % 6 < 3 ? a : b)[i / 6 * 3 + i % 3];
	}
	check(out, want, 12, 0);
	ok(kz_array_stack(&out, KZ_ARRAYS(x, y), -1, NULL, &err));
	ck_assert_int_eq(kz_array_shape(out).dims[2], 2);
	for (int i = 0; i < 12; i++) {
		want[i] = (i % 2 ? b : a)[i / 2];
	}
	check(out, want, 12, 0);
	release(x, y);
}

/* Indexes and views */

DEVICE_TEST(take)
{
	static const uint32_t places[4] = {3, 0, 2, 3};
	kz_array *indexes, *out;
	kz_array *x = floats(a, 20);
	ok(kz_array_from(&indexes, dev, KZ_U32, KZ_SHAPE(4), places, sizeof(places), &err));
	ok(kz_array_take(&out, x, indexes, 0, KZ_INDEX_CHECK, &err));
	check(out, (const float[]){a[3], a[0], a[2], a[3]}, 4, 0);
	release(x, indexes);
}

DEVICE_TEST(take_put)
{
	static const int32_t to[4] = {32, 33, 34, 35}, from[4] = {7, 6, 5, 4};
	kz_array *target, *places, *sources, *values;
	kz_array *x = floats(a, 8);
	ok(kz_array_zeros(&target, dev, KZ_F32, KZ_SHAPE(96), &err));
	ok(kz_array_from(&places, dev, KZ_I32, KZ_SHAPE(4), to, sizeof(to), &err));
	ok(kz_array_from(&sources, dev, KZ_I32, KZ_SHAPE(4), from, sizeof(from), &err));
	ok(kz_array_take(&values, x, sources, 0, KZ_INDEX_CHECK, &err));
	ok(kz_array_put(target, places, values, KZ_INDEX_CHECK, &err));
	memset(want, 0, 96 * 4);
	for (int i = 0; i < 4; i++) {
		want[32 + i] = a[7 - i];
	}
	check(target, want, 96, 0);
	release(places, sources);
	release(values, x);
}

DEVICE_TEST(reverse)
{
	kz_array *out;
	kz_array *x = floats(a, 10);
	ok(kz_array_slice(&out, x, KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, -1)), &err));
	for (int i = 0; i < 10; i++) {
		want[i] = a[9 - i];
	}
	check(out, want, 10, 0);
	kz_array_release(x);
}

/* slice, 2d_slice_c, 2d_slice_f */
DEVICE_TEST(slices)
{
	enum { N = 1000, M = 200 };
	kz_array *x, *turned, *rows, *columns;
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(N, M), a, 4 * N * M, &err));
	ok(kz_array_transpose(&turned, x, KZ_AXES(), &err));
	for (int k = 0; k < 20; k++) {
		int64_t start = (int64_t)(b[2 * k] * N);
		int64_t stop = start + (int64_t)(b[2 * k + 1] * (float)(N - start));
		ok(kz_array_slice(&rows, x, KZ_AT(KZ_SLICE(start, stop)), &err));
		check(rows, a + start * M, (stop - start) * M, 0);
		ok(kz_array_slice(&columns, turned, KZ_AT(KZ_ALL, KZ_SLICE(start, stop)), &err));
		for (int64_t i = 0; i < M; i++) {
			for (int64_t j = start; j < stop; j++) {
				want[i * (stop - start) + j - start] = a[j * M + i];
			}
		}
		check(columns, want, (stop - start) * M, 0);
	}
	release(x, turned);
}

DEVICE_TEST(reshape)
{
	kz_array *x, *out;
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(8, 16), a, 512, &err));
	ok(kz_array_reshape(&out, x, KZ_SHAPE(8, -1, 4), &err));
	ck_assert_int_eq(kz_array_shape(out).dims[1], 4);
	check(out, a, 128, 0);
	ok(kz_array_reshape(&out, x, KZ_SHAPE(-1, 32), &err));
	ck_assert_int_eq(kz_array_shape(out).dims[0], 4);
	kz_array_release(out);
	ck_assert(kz_array_reshape(&out, x, KZ_SHAPE(-1, -1, 4), &err) == KZ_INVALID);
	kz_error_clear(&err);
	kz_array_release(x);
}

DEVICE_TEST(view)
{
	kz_array *x, *out;
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(8, 16), a, 512, &err));
	ok(kz_array_view_as(&out, x, KZ_C64, &err));
	ck_assert(kz_array_shape(out).dims[0] == 8 && kz_array_shape(out).dims[1] == 8);
	check_bytes(out, KZ_C64, a, 512);
	ok(kz_array_view_as(&out, x, KZ_I16, &err));
	ck_assert(kz_array_shape(out).dims[0] == 8 && kz_array_shape(out).dims[1] == 32);
	check_bytes(out, KZ_I16, a, 512);
	kz_array_release(x);
}

DEVICE_TEST(squeeze)
{
	kz_array *x, *part, *out;
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(40, 2, 5, 100), a, 4 * 40000, &err));
	ok(kz_array_slice(&part, x, KZ_AT(KZ_SLICE(0, 1), KZ_SLICE(1, 2)), &err));
	ok(kz_array_squeeze(&out, part, KZ_ALL_AXES, &err));
	ck_assert_int_eq(kz_array_ndim(out), 2);
	ck_assert_int_eq(kz_array_is_contiguous(out), 1);
	check(out, a + 500, 500, 0);
	kz_array_release(part);
	ok(kz_array_slice(&part, x, KZ_AT(KZ_ALL, KZ_ALL, KZ_SLICE(2, 3)), &err));
	ok(kz_array_squeeze(&out, part, KZ_AXES(2), &err));
	ck_assert_int_eq(kz_array_ndim(out), 3);
	ck_assert_int_eq(kz_array_is_contiguous(out), 0);
	for (int i = 0; i < 8000; i++) {
		want[i] = a[i / 100 * 500 + 200 + i % 100];
	}
	check(out, want, 8000, 0);
	release(x, part);
}

DEVICE_TEST(newaxis)
{
	kz_array *x, *out;
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(10, 20, 30), a, 24000, &err));
	ok(kz_array_slice(&out, x, KZ_AT(KZ_ALL, KZ_NEWAXIS), &err));
	ck_assert_int_eq(kz_array_ndim(out), 4);
	ck_assert(kz_array_shape(out).dims[1] == 1 && kz_array_shape(out).dims[2] == 20);
	ck_assert_int_eq(kz_array_strides(out)[0], 2400);
	check(out, a, 6000, 0);
	kz_array_release(x);
}

/* transpose, noncontig_transpose, stride_preservation, copy_strides */
DEVICE_TEST(transposes)
{
	kz_array *x, *every, *turned, *copy;
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(10, 20, 30), a, 24000, &err));
	ok(kz_array_slice(&every, x, KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, 2), KZ_ELLIPSIS,
		KZ_SLICE(KZ_OMIT, KZ_OMIT, 3)), &err));
	ok(kz_array_transpose(&turned, every, KZ_AXES(), &err));
	ok(kz_array_copy(&copy, turned, &err));
	ck_assert_int_eq(kz_array_strides(copy)[0], 4); /* the order of axes is kept */
	for (int i = 0; i < 10; i++) {
		for (int j = 0; j < 20; j++) {
			for (int k = 0; k < 5; k++) {
				want[(i * 20 + j) * 5 + k] = a[(2 * k * 20 + j) * 30 + 3 * i];
			}
		}
	}
	check(copy, want, 1000, 0);
	check(turned, want, 1000, 0);
	release(x, every);
}

/* copy, get_set, view_and_strides */
DEVICE_TEST(copies)
{
	kz_array *x, *part, *out;
	ok(kz_array_from(&x, dev, KZ_F32, KZ_SHAPE(5, 10), a, 200, &err));
	ok(kz_array_slice(&part, x, KZ_AT(KZ_SLICE(0, 3), KZ_SLICE(0, 5)), &err));
	ok(kz_array_copy(&out, part, &err));
	for (int i = 0; i < 15; i++) {
		want[i] = a[i / 5 * 10 + i % 5];
	}
	check(out, want, 15, 0);
	ok(kz_array_set(part, b, 60, &err));
	for (int i = 0; i < 50; i++) {
		want[i] = i / 10 < 3 && i % 10 < 5 ? b[i / 10 * 5 + i % 10] : a[i];
	}
	check(x, want, 50, 0);
	kz_array_release(part);
}

DEVICE_TEST(astype)
{
	static double wide[2000];
	kz_array *y, *out;
	kz_array *x = floats(a, 2000);
	for (int i = 0; i < 2000; i++) {
		wide[i] = (double)a[i];
	}
	ok(kz_array_astype(&y, x, KZ_F64, &err));
	ok(kz_array_astype(&out, y, KZ_F32, &err));
	check_bytes(y, KZ_F64, wide, sizeof(wide));
	check(out, a, 2000, 0);
	kz_array_release(x);
}

DEVICE_TEST(complex_bits)
{
	enum { N = 20 };
	kz_array *z, *out;
	ok(kz_array_from(&z, dev, KZ_C64, KZ_SHAPE(N), a, 8 * N, &err));
	ok(kz_real(&out, z, &err));
	for (int i = 0; i < N; i++) {
		want[i] = a[2 * i];
	}
	check(out, want, N, 0);
	ok(kz_array_imag(&out, z, &err));
	for (int i = 0; i < N; i++) {
		want[i] = a[2 * i + 1];
	}
	check(out, want, N, 0);
	ok(kz_apply_into(z, KZ_OP_CONJUGATE, &err, KZ_ARGS(z)));
	for (int i = 0; i < 2 * N; i++) {
		want[i] = i % 2 ? -a[i] : a[i];
	}
	check_bytes(z, KZ_C64, want, 8 * N);
}

/* Reductions */

DEVICE_TEST(sum)
{
	double exact = 0;
	float got;
	kz_array *out;
	kz_array *x = floats(a, MANY);
	for (int i = 0; i < MANY; i++) {
		exact += (double)a[i];
	}
	ok(kz_sum(&out, x, KZ_ALL_AXES, &err));
	ok(kz_array_get(out, &got, sizeof(got), &err));
	ck_assert(fabs((double)got - exact) <= 1e-6 * exact);
	release(x, out);
}

DEVICE_TEST(any_all)
{
	static const kz_dtype dtypes[4] = {KZ_I32, KZ_BOOL, KZ_F32, KZ_F64};
	for (int k = 0; k < 4 * 8; k++) {
		const uint8_t bits[3] = {k >> 2 & 1, k >> 3 & 1, k >> 4 & 1};
		const uint8_t any = bits[0] | bits[1] | bits[2], all = bits[0] & bits[1] & bits[2];
		kz_array *mask, *x, *out;
		ok(kz_array_from(&mask, dev, KZ_BOOL, KZ_SHAPE(3), bits, 3, &err));
		ok(kz_array_astype(&x, mask, dtypes[k % 4], &err));
		ok(kz_any(&out, x, KZ_ALL_AXES, &err));
		check_bytes(out, KZ_BOOL, &any, 1);
		ok(kz_all(&out, x, KZ_ALL_AXES, &err));
		check_bytes(out, KZ_BOOL, &all, 1);
		release(mask, x);
	}
}

/* minmax, subset_minmax, subset_sum: a subset is what take gives. */
DEVICE_TEST(minmax_of_all_and_of_a_subset)
{
	enum { N = 2000, KEPT = 1600 };
	static int32_t places[KEPT];
	float low[2] = {2, 2}, high[2] = {-1, -1};
	double total = 0;
	float got;
	kz_array *indexes, *some, *out;
	kz_array *x = floats(a, N);
	for (int i = 0, n = 0; i < N; i++) {
		low[0] = fminf(low[0], a[i]);
		high[0] = fmaxf(high[0], a[i]);
		if (i % 5 != 4) {
			places[n++] = i;
			low[1] = fminf(low[1], a[i]);
			high[1] = fmaxf(high[1], a[i]);
			total += (double)a[i];
		}
	}
	ok(kz_array_from(&indexes, dev, KZ_I32, KZ_SHAPE(KEPT), places, sizeof(places), &err));
	ok(kz_array_take(&some, x, indexes, 0, KZ_INDEX_CHECK, &err));
	ok(kz_min(&out, x, KZ_ALL_AXES, &err));
	check(out, &low[0], 1, 0);
	ok(kz_max(&out, x, KZ_ALL_AXES, &err));
	check(out, &high[0], 1, 0);
	ok(kz_min(&out, some, KZ_ALL_AXES, &err));
	check(out, &low[1], 1, 0);
	ok(kz_max(&out, some, KZ_ALL_AXES, &err));
	check(out, &high[1], 1, 0);
	ok(kz_sum(&out, some, KZ_ALL_AXES, &err));
	got = (float)total;
	check(out, &got, 1, 1e-6);
	release(x, indexes);
	kz_array_release(some);
}

DEVICE_TEST(dot)
{
	static const int sizes[] = {2, 3, 4, 5, 6, 7, 31, 32, 33, 127, 128, 129, 255, 256, 257,
		16384 - 993, 20000};
	for (size_t k = 0; k < countof(sizes); k++) {
		kz_array *x = floats(a, sizes[k]), *y = floats(b, sizes[k]), *out;
		double exact = 0;
		for (int i = 0; i < sizes[k]; i++) {
			exact += (double)a[i] * (double)b[i];
		}
		want[0] = (float)exact;
		ok(kz_dot(&out, x, y, NULL, &err));
		check(out, want, 1, 1e-6);
		release(x, y);
	}
}

DEVICE_TEST(scan)
{
	static const int64_t sizes[] = {10, 1019, 1024, 786432, 786437, 1048581};
	static int32_t host[1048581], sums[1048581], before[1048581];
	for (size_t k = 0; k < countof(sizes); k++) {
		kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
		int64_t n = sizes[k];
		int32_t total = 0;
		kz_array *x, *out;
		for (int64_t i = 0; i < n; i++) {
			host[i] = (int32_t)(i * 7919 % 10);
			before[i] = total;
			sums[i] = total += host[i];
		}
		ok(kz_array_from(&x, dev, KZ_I32, KZ_SHAPE(n), host, 4 * n, &err));
		ok(kz_scan(&out, x, "a+b", "0", &options, &err));
		check_bytes(out, KZ_I32, sums, 4 * n);
		options.exclusive = 1;
		ok(kz_scan(&out, x, "a+b", "0", &options, &err));
		check_bytes(out, KZ_I32, before, 4 * n);
		kz_array_release(x);
	}
}

/* big_array_elementwise, big_array_reduction, big_array_scan: beyond 2^31 in `make check-large`. */
DEVICE_TEST(truth_value)
{
	uint8_t truth = 0;
	kz_array *out;
	kz_array *x = floats(a + 1, 1);
	ok(kz_any(&out, x, KZ_ALL_AXES, &err));
	ok(kz_array_get(out, &truth, 1, &err));
	ck_assert_int_eq(truth, 1);
	release(x, out);
}

/* sum_allocator, dot_allocator: results come from the pool of the device. */
DEVICE_TEST(results_come_from_the_pool)
{
	kz_memory_stats before, after;
	kz_array *out;
	kz_array *x = floats(a, 1000);
	kz_device_memory_stats(dev, &before);
	ok(kz_sum(&out, x, KZ_ALL_AXES, &err));
	kz_device_memory_stats(dev, &after);
	ck_assert_int_eq(after.live_size - before.live_size, 512);
	release(x, out);
}

SUITE(pycuda_views)
{
	const TTest *const tests[] = {
		arange, ones_zeros_like_etc, fills, joins, take, take_put, reverse, slices,
		reshape, view, squeeze, newaxis, transposes, copies, astype, complex_bits, sum,
		any_all, minmax_of_all_and_of_a_subset, dot, scan, truth_value,
		results_come_from_the_pool,
	};
	Suite *suite = suite_create("pycuda_views");
	TCase *tcase = suite_add_case(suite, "pycuda_views");
	for (size_t i = 0; i < countof(tests); i++) {
		tcase_add_loop_test(tcase, tests[i], 0, support_device_count());
	}
	return suite;
}

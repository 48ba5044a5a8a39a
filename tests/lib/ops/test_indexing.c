/* SPDX-License-Identifier: MIT */
/* Elements by their indexes, on every device, against loops over host memory. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <string.h>

static kz_array *from(kz_dtype dtype, kz_shape shape, const void *host, int64_t size)
{
	kz_array *array = NULL;
	ok(kz_array_from(&array, dev, dtype, shape, host, size, &err));
	return array;
}

static void check_ints(kz_array *array, const int32_t *want, int64_t count)
{
	static int32_t got[1 << 16];
	ck_assert_int_eq(kz_array_count(array), count);
	ok(kz_array_get(array, got, 4 * count, &err));
	ck_assert_mem_eq(got, want, (size_t)(4 * count));
}

DEVICE_TEST(take_puts_the_indexes_in_place_of_an_axis)
{
	static const int64_t places[4] = {2, -1, 0, 2};
	for (int64_t axis = -3; axis < 3; axis++) {
		int64_t real = axis < 0 ? axis + 3 : axis, n = 0;
		kz_array *array = support_counted(dev, KZ_SHAPE(4, 3, 5)), *taken;
		kz_array *indexes = from(KZ_I64, KZ_SHAPE(2, 2), places, sizeof(places));
		int32_t want[240];
		int64_t dims[3] = {4, 3, 5};
		ok(kz_array_take(&taken, array, indexes, axis, KZ_INDEX_CHECK, &err));
		ck_assert_int_eq(kz_array_ndim(taken), 4);
		ck_assert_int_eq(kz_array_shape(taken).dims[real], 2);
		for (int64_t i = 0; i < 4; i++) {
			for (int64_t j = 0; j < (real == 1 ? 4 : 3); j++) {
				for (int64_t k = 0; k < (real == 2 ? 4 : 5); k++) {
					int64_t at[3] = {i, j, k};
					int64_t p = places[at[real]];
					at[real] = p < 0 ? p + dims[real] : p;
					want[n++] = (int32_t)((at[0] * 3 + at[1]) * 5 + at[2]);
				}
			}
		}
		check_ints(taken, want, n);
		release_arrays(array, indexes, taken);
	}
}

/* Rows that end within a chunk, and that begin at other places than multiples of words. */
DEVICE_TEST(take_follows_rows_across_chunks)
{
	enum { OUTER = 3, EXTENT = 61, MOST = 140, COUNT = 130 };
	static const int64_t inners[] = {1, 2, 3, 32, 47, 64, MOST};
	static int16_t host[OUTER * EXTENT * MOST], want[OUTER * COUNT * MOST],
		got[OUTER * COUNT * MOST];
	static int64_t places[COUNT];
	for (size_t k = 0; k < countof(inners); k++) {
		const int64_t inner = inners[k], taken_size = OUTER * COUNT * inner * 2;
		for (int64_t i = 0; i < OUTER * EXTENT * inner; i++) {
			host[i] = (int16_t)(i * 7);
		}
		for (int64_t i = 0; i < COUNT; i++) {
			places[i] = i * i % (2 * EXTENT) - EXTENT;
		}
		for (int64_t i = 0; i < OUTER * COUNT * inner; i++) {
			int64_t outer = i / inner / COUNT,
				index = (places[i / inner % COUNT] + EXTENT) % EXTENT;
			want[i] = host[(outer * EXTENT + index) * inner + i % inner];
		}
		kz_array *array = from(KZ_I16, KZ_SHAPE(OUTER, EXTENT, inner), host,
			OUTER * EXTENT * inner * 2);
		kz_array *indexes = from(KZ_I64, KZ_SHAPE(COUNT), places, sizeof(places));
		kz_array *column, *both, *taken, *along;
		for (kz_index_mode mode = KZ_INDEX_CHECK; mode <= KZ_INDEX_WRAP; mode++) {
			ok(kz_array_take(&taken, array, indexes, 1, mode, &err));
			ok(kz_array_get(taken, got, taken_size, &err));
			ck_assert_mem_eq(got, want, (size_t)taken_size);
			kz_array_release(taken);
		}
		ok(kz_array_reshape(&column, indexes, KZ_SHAPE(1, COUNT, 1), &err));
		ok(kz_array_broadcast_to(&both, column, KZ_SHAPE(OUTER, COUNT, inner), &err));
		ok(kz_array_take_along_axis(&along, array, both, 1, KZ_INDEX_CHECK, &err));
		ok(kz_array_get(along, got, taken_size, &err));
		ck_assert_mem_eq(got, want, (size_t)taken_size);
		release_arrays(array, indexes, column, both, along);
	}
}

/* Fewer values than indexes are taken in turn, also where a chunk ends. */
DEVICE_TEST(put_repeats_its_values)
{
	enum { N = 20000, VALUES = 37 };
	static int64_t places[N];
	static int32_t want[N];
	for (int64_t i = 0; i < N; i++) {
		places[i] = i * 7919 % N;
		want[places[i]] = (int32_t)(i % VALUES);
	}
	kz_array *array = support_counted(dev, KZ_SHAPE(N)),
		*values = support_counted(dev, KZ_SHAPE(VALUES));
	kz_array *indexes = from(KZ_I64, KZ_SHAPE(N), places, sizeof(places));
	ok(kz_array_put(array, indexes, values, KZ_INDEX_CHECK, &err));
	check_ints(array, want, N);
	release_arrays(array, values, indexes);
}

/* out[i, j, k] = array[i, indexes[i, j, k], k] and so on. */
DEVICE_TEST(take_along_axis_has_an_index_for_each_element)
{
	static const int64_t inner[3] = {15, 5, 1}, dims[3] = {4, 3, 5};
	static const int64_t backwards[3] = {-60, 20, 4};
	for (int64_t axis = -3; axis < 3; axis++) {
		int64_t at = axis < 0 ? axis + 3 : axis, places[120], n;
		int32_t want[120];
		kz_shape shape = {3, {4, 3, 5}};
		kz_array *array = support_counted(dev, shape), *view, *indexes, *taken;
		ok(kz_array_view(&view, array, shape, backwards, 180, &err));
		shape.dims[at] = 2;
		n = support_count(&shape);
		for (int64_t i = 0; i < n; i++) {
			places[i] = i * i % (2 * dims[at]) - dims[at];
		}
		for (int64_t i = 0; i < n; i++) {
			int64_t outer = i / inner[at] / 2,
				index = (places[i] + dims[at]) % dims[at];
			int64_t place = (outer * dims[at] + index) * inner[at] + i % inner[at];
			want[i] = (int32_t)((3 - place / 15) * 15 + place % 15);
		}
		indexes = from(KZ_I64, shape, places, 8 * n);
		ok(kz_array_take_along_axis(&taken, view, indexes, axis, KZ_INDEX_CHECK, &err));
		ck_assert_int_eq(kz_array_shape(taken).dims[at], 2);
		check_ints(taken, want, n);
		release_arrays(array, view, indexes, taken);
	}
}

DEVICE_TEST(take_along_axis_broadcasts_and_refuses)
{
	static const uint8_t places[2] = {2, 1};
	static const int32_t want[4] = {2, 1, 5, 4}, first[4] = {2, 2, 5, 5};
	kz_array *array = support_counted(dev, KZ_SHAPE(2, 3)), *taken = NULL;
	kz_array *indexes = from(KZ_U8, KZ_SHAPE(1, 2), places, 2), *flat, *none, *far;
	ok(kz_array_take_along_axis(&taken, array, indexes, 1, KZ_INDEX_CHECK, &err));
	check_ints(taken, want, 4);
	kz_array_release(taken);
	ok(kz_add(&far, indexes, 100, &err));
	ok(kz_array_take_along_axis(&taken, array, far, 1, KZ_INDEX_CLIP, &err));
	check_ints(taken, first, 4);
	kz_array_release(taken);
	fails(kz_array_take_along_axis(&taken, array, far, 1, KZ_INDEX_CHECK, &err), KZ_RANGE,
		"index 102, at place 0 of the indexes, is out of range for axis 1, which has an "
		"extent of 3");
	ok(kz_array_ravel(&flat, indexes, &err));
	fails(kz_array_take_along_axis(&taken, array, flat, 1, KZ_INDEX_CHECK, &err), KZ_INVALID,
		"as many extents as the array, got shapes (2, 3) and (2,)");
	fails(kz_array_take_along_axis(&taken, array, array, 2, KZ_INDEX_CHECK, &err), KZ_RANGE,
		"axis 2");
	ok(kz_array_zeros(&none, dev, KZ_I32, KZ_SHAPE(5, 0), &err));
	fails(kz_array_take_along_axis(&taken, array, none, 1, KZ_INDEX_CHECK, &err), KZ_INVALID,
		"shapes (2, 3) and (5, 0) do not fit beside axis 1");
	ck_assert_ptr_null(taken);
	kz_array_release(none);
	ok(kz_array_zeros(&none, dev, KZ_I32, KZ_SHAPE(2, 0), &err));
	ok(kz_array_take_along_axis(&taken, array, none, 1, KZ_INDEX_CHECK, &err));
	ck_assert_int_eq(kz_array_count(taken), 0);
	release_arrays(array, indexes, flat, none, far, taken);
}

DEVICE_TEST(indexes_can_be_of_any_integer_type_and_elements_of_any_size)
{
	static const int64_t sizes[] = {1, 2, 3, 8, 16, 20};
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_INTEGER));) {
		for (size_t k = 0; k < countof(sizes); k++) {
			if (!both_shapes_try((dtype - KZ_I8) * countof(sizes) + k,
				8 * countof(sizes), 7, 2)) {
				continue;
			}
			int64_t size = sizes[k];
			kz_dtype element;
			char name[16], host[24 * 5], got[24 * 3];
			const uint64_t one = 1;
			kz_array *ones, *taken;
			snprintf(name, sizeof(name), "blob%d", (int)size);
			ok(kz_dtype_register(&element, name, size, &err));
			for (size_t i = 0; i < sizeof(host); i++) {
				host[i] = (char)(7 * i);
			}
			kz_array *array = from(element, KZ_SHAPE(5), host, 5 * size);
			ok(kz_array_full(&ones, dev, dtype, KZ_SHAPE(3), &one,
				kz_dtype_size(dtype), &err));
			ok(kz_array_take(&taken, array, ones, 0, KZ_INDEX_CHECK, &err));
			ok(kz_array_get(taken, got, 3 * size, &err));
			ck_assert_mem_eq(got, host + size, (size_t)size);
			ck_assert_mem_eq(got + 2 * size, host + size, (size_t)size);
			release_arrays(array, ones, taken);
		}
	}
}

DEVICE_TEST(bad_indexes_are_refused_wrapped_or_clipped)
{
	static const int64_t bad[4] = {1, 12, -11, -1};
	static const uint64_t huge[1] = {UINT64_MAX};
	static const int32_t wrapped[4] = {1, 2, 9, 9}, clipped[4] = {1, 9, 0, 0};
	kz_array *taken = (kz_array *)&err;
	kz_array *array = support_counted(dev, KZ_SHAPE(10));
	kz_array *indexes = from(KZ_I64, KZ_SHAPE(4), bad, sizeof(bad));
	kz_array *beyond = from(KZ_U64, KZ_SHAPE(1), huge, sizeof(huge));
	fails(kz_array_take(&taken, array, indexes, 0, KZ_INDEX_CHECK, &err), KZ_RANGE,
		"index 12, at place 1 of the indexes, is out of range for axis 0, which has an "
		"extent of 10");
	ck_assert_ptr_null(taken);
	fails(kz_array_take(&taken, array, beyond, 0, KZ_INDEX_CHECK, &err), KZ_RANGE,
		"index 9223");
	ok(kz_array_take(&taken, array, indexes, 0, KZ_INDEX_WRAP, &err));
	check_ints(taken, wrapped, 4);
	kz_array_release(taken);
	ok(kz_array_take(&taken, array, indexes, 0, KZ_INDEX_CLIP, &err));
	check_ints(taken, clipped, 4);
	kz_array_release(taken);
	ok(kz_array_take(&taken, array, beyond, 0, KZ_INDEX_WRAP, &err));
	check_ints(taken, (const int32_t[]){5}, 1); /* 2^64 - 1 = 10 * 1844674407370955161 + 5 */
	release_arrays(taken, array, indexes, beyond);
}

DEVICE_TEST(what_cannot_be_taken_is_refused)
{
	kz_array *taken = NULL;
	kz_array *array = support_counted(dev, KZ_SHAPE(10));
	kz_array *empty = support_counted(dev, KZ_SHAPE(0));
	kz_array *indexes = support_counted(dev, KZ_SHAPE(3));
	kz_array *floats;
	ok(kz_array_zeros(&floats, dev, KZ_F32, KZ_SHAPE(3), &err));
	fails(kz_array_take(&taken, array, floats, 0, KZ_INDEX_CHECK, &err), KZ_INVALID,
		"take: expected integers as indexes, got float32");
	fails(kz_array_take(&taken, array, indexes, 1, KZ_INDEX_CHECK, &err), KZ_RANGE,
		"axis 1 is out of range for shape (10,)");
	fails(kz_array_take(&taken, array, indexes, 0, (kz_index_mode)7, &err), KZ_INVALID,
		"7 is not a kz_index_mode");
	fails(kz_array_take(&taken, empty, indexes, 0, KZ_INDEX_CLIP, &err), KZ_RANGE,
		"indexes into axis 0, which has an extent of 0");
	fails(kz_array_take(&taken, NULL, indexes, 0, KZ_INDEX_CHECK, &err), KZ_INVALID,
		"expected an array, got NULL");
	fails(kz_array_take(NULL, array, indexes, 0, KZ_INDEX_CHECK, &err), KZ_INVALID,
		"out is NULL");
	ok(kz_array_take(&taken, empty, empty, 0, KZ_INDEX_CHECK, &err));
	ck_assert_int_eq(kz_array_count(taken), 0);
	release_arrays(taken, array, empty, indexes, floats);
}

DEVICE_TEST(put_writes_what_take_reads)
{
	static const int32_t places[3] = {5, -1, 0};
	static const float values[2] = {0.5f, 1.5f};
	static const double want[6] = {0.5, 0, 0, 0, 1.5, 0};
	const int64_t turned[2] = {8, 16};
	double got[6];
	kz_array *array, *view;
	ok(kz_array_zeros(&array, dev, KZ_F64, KZ_SHAPE(3, 2), &err));
	ok(kz_array_view(&view, array, KZ_SHAPE(2, 3), turned, 0, &err));
	kz_array *indexes = from(KZ_I32, KZ_SHAPE(3), places, sizeof(places));
	kz_array *some = from(KZ_F32, KZ_SHAPE(2), values, sizeof(values));
	/* Row-major in the view: 5 is its last one, -1 the same, 0 the first. */
	ok(kz_array_put(view, indexes, some, KZ_INDEX_WRAP, &err));
	ok(kz_array_get(array, got, sizeof(got), &err));
	ck_assert(got[0] == 0.5 && (got[5] == 0.5 || got[5] == 1.5));
	ck_assert(got[1] == 0 && got[2] == 0 && got[3] == 0 && got[4] == 0);
	ok(kz_array_fill(array, KZ_ARG(0), &err));
	kz_array *two = from(KZ_I32, KZ_SHAPE(2), (const int32_t[]){0, 2}, 8);
	ok(kz_array_put(view, two, some, KZ_INDEX_CHECK, &err));
	ok(kz_array_get(array, got, sizeof(got), &err));
	ck_assert_mem_eq(got, want, sizeof(got));
	release_arrays(array, view, indexes, some, two);
}

/* Each element moves up by one; then an array has its own indexes, and values that are none. */
DEVICE_TEST(put_reads_all_before_it_writes)
{
	enum { N = 20000 };
	static int64_t places[N], turned[N], values[N], got[N];
	kz_array *array, *low, *high, *indexes, *other;
	for (int64_t i = 0; i < N; i++) {
		places[i] = i;
		turned[i] = i * 7919 % N;
		values[i] = INT64_C(1) << 40 | i;
	}
	array = from(KZ_I64, KZ_SHAPE(N), places, sizeof(places));
	indexes = from(KZ_I64, KZ_SHAPE(N), places, sizeof(places));
	ok(kz_array_slice(&low, array, KZ_AT(KZ_SLICE(0, -1)), &err));
	ok(kz_array_slice(&high, indexes, KZ_AT(KZ_SLICE(1, KZ_OMIT)), &err));
	ok(kz_array_put(array, high, low, KZ_INDEX_CHECK, &err));
	ok(kz_array_get(array, got, sizeof(got), &err));
	for (int64_t i = 0; i < N; i++) {
		ck_assert_int_eq(got[i], i ? i - 1 : 0);
	}
	ok(kz_array_set(array, turned, sizeof(turned), &err));
	other = from(KZ_I64, KZ_SHAPE(N), values, sizeof(values));
	ok(kz_array_put(array, array, other, KZ_INDEX_CHECK, &err));
	ok(kz_array_get(array, got, sizeof(got), &err));
	for (int64_t i = 0; i < N; i++) {
		ck_assert_int_eq(got[turned[i]], values[i]);
	}
	release_arrays(array, low, high, indexes, other);
}

DEVICE_TEST(a_bad_put_writes_nothing)
{
	const int64_t same[1] = {0};
	static const int32_t want[4] = {0, 1, 2, 3};
	kz_array *array = support_counted(dev, KZ_SHAPE(4)), *view, *none;
	kz_array *bad = from(KZ_I32, KZ_SHAPE(2), (const int32_t[]){1, 4}, 8);
	kz_array *values = from(KZ_F32, KZ_SHAPE(1), (const float[]){9}, 4);
	fails(kz_array_put(array, bad, values, KZ_INDEX_CHECK, &err), KZ_INVALID,
		"put: float32 does not fit into int32");
	fails(kz_array_put(array, bad, bad, KZ_INDEX_CHECK, &err), KZ_RANGE,
		"index 4, at place 1 of the indexes, is out of range for an array of 4");
	check_ints(array, want, 4);
	ok(kz_array_view(&view, array, KZ_SHAPE(4), same, 0, &err));
	fails(kz_array_put(view, bad, bad, KZ_INDEX_CHECK, &err), KZ_INVALID,
		"elements may share memory");
	none = support_counted(dev, KZ_SHAPE(0));
	fails(kz_array_put(array, bad, none, KZ_INDEX_CHECK, &err), KZ_INVALID,
		"put: 2 indexes, but no values");
	ok(kz_array_put(array, none, none, KZ_INDEX_CHECK, &err));
	release_arrays(array, bad, values, view, none);
}

/* Masks over several chunks, dense, sparse, empty, and around the ends of chunks. */
DEVICE_TEST(nonzero_and_compress_find_what_a_loop_finds)
{
	enum { ROWS = 3, COLUMNS = 9000, N = ROWS * COLUMNS };
	static uint8_t mask[N];
	static int64_t want[2 * N], got[2 * N];
	static int32_t kept[N];
	for (unsigned every = 1; every < 20000; every = every * 5 + 2) {
		int64_t n = 0;
		kz_array *places, *some, *array = support_counted(dev, KZ_SHAPE(ROWS, COLUMNS));
		for (unsigned i = 0; i < N; i++) {
			mask[i] = every == 1 || i * 2654435761u % every == 0;
			kept[n] = (int32_t)i;
			n += mask[i];
		}
		for (int64_t i = 0; i < n; i++) {
			want[i] = kept[i] / COLUMNS;
			want[n + i] = kept[i] % COLUMNS;
		}
		kz_array *bits = from(KZ_BOOL, KZ_SHAPE(ROWS, COLUMNS), mask, N);
		ok(kz_array_nonzero(&places, bits, &err));
		ck_assert_int_eq(kz_array_shape(places).dims[0], 2);
		ck_assert_int_eq(kz_array_shape(places).dims[1], n);
		ok(kz_array_get(places, got, 16 * n, &err));
		ck_assert_mem_eq(got, want, (size_t)(16 * n));
		ok(kz_array_compress(&some, array, bits, &err));
		check_ints(some, kept, n);
		release_arrays(array, bits, places, some);
	}
}

DEVICE_TEST(nonzero_knows_every_type_and_small_arrays)
{
	static const double values[4] = {0, -0.0, 2.5, -1};
	int64_t places[2];
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		if (!both_shapes_try(dtype - 1, KZ_C128, 3, 1)) {
			continue;
		}
		kz_array *doubles = from(KZ_F64, KZ_SHAPE(4), values, sizeof(values));
		kz_array *array, *found;
		ok(kz_array_astype(&array, doubles, dtype, &err));
		ok(kz_array_nonzero(&found, array, &err));
		ck_assert_int_ge(kz_array_count(found), 1);
		if (kz_array_count(found) == 2) {
			ok(kz_array_get(found, places, sizeof(places), &err));
			ck_assert(places[0] == 2 && places[1] == 3);
		}
		release_arrays(doubles, array, found);
	}
	kz_array *scalar = from(KZ_I32, KZ_SHAPE(), &(const int32_t){7}, 4), *found;
	ok(kz_array_nonzero(&found, scalar, &err));
	ck_assert(kz_array_ndim(found) == 2 && kz_array_count(found) == 1);
	release_arrays(found, scalar);
	kz_array *empty = support_counted(dev, KZ_SHAPE(2, 0));
	kz_array *wrong = support_counted(dev, KZ_SHAPE(2, 1));
	ok(kz_array_nonzero(&found, empty, &err));
	ck_assert(kz_array_shape(found).dims[0] == 2 && kz_array_shape(found).dims[1] == 0);
	kz_array_release(found);
	fails(kz_array_compress(&found, wrong, empty, &err), KZ_INVALID,
		"expected a mask of shape (2, 1), got (2, 0)");
	release_arrays(empty, wrong);
}

/* Everything that the calls allocate fails once. */
DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	kz_array *array = support_counted(dev, KZ_SHAPE(4, 5)), *turned, *mask;
	const int64_t strides[2] = {4, 20};
	ok(kz_array_view(&turned, array, KZ_SHAPE(5, 4), strides, 0, &err));
	ok(kz_greater(&mask, turned, 3, &err));
	kz_array *indexes = from(KZ_U64, KZ_SHAPE(2), (const uint64_t[]){1, 2}, 16);
	int failed = 0;
	for (long n = 0;; n++) {
		kz_array *taken = NULL, *some = NULL, *places = NULL;
		mem_fail_after(n);
		kz_status st = kz_array_take(&taken, turned, indexes, 0, KZ_INDEX_CHECK, &err);
		st = st ? st : kz_array_compress(&some, turned, mask, &err);
		st = st ? st : kz_array_nonzero(&places, turned, &err);
		st = st ? st : kz_array_put(turned, indexes, indexes, KZ_INDEX_CHECK, &err);
		bool done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(done || st == KZ_NO_MEMORY || st == KZ_OK || st == KZ_INVALID);
		failed += st != KZ_OK;
		kz_error_clear(&err);
		release_arrays(taken, some, places);
		if (done) {
			break;
		}
	}
	ck_assert_int_gt(failed, 3); /* a cache does without memory */
	release_arrays(array, turned, mask, indexes);
}

SUITE(indexing)
{
	Suite *suite = suite_create("indexing");
	TCase *tcase = suite_add_case(suite, "indexing");
	int devices = both_shapes_count();
	tcase_add_tests(tcase, devices, take_puts_the_indexes_in_place_of_an_axis,
		take_follows_rows_across_chunks, put_repeats_its_values,
		take_along_axis_has_an_index_for_each_element,
		take_along_axis_broadcasts_and_refuses,
		indexes_can_be_of_any_integer_type_and_elements_of_any_size,
		bad_indexes_are_refused_wrapped_or_clipped, what_cannot_be_taken_is_refused,
		put_writes_what_take_reads, put_reads_all_before_it_writes,
		a_bad_put_writes_nothing, nonzero_and_compress_find_what_a_loop_finds,
		nonzero_knows_every_type_and_small_arrays,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}

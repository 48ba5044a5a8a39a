/* SPDX-License-Identifier: MIT */
/* Copies that turn matrices around, on every device, against a loop over host memory. */
#include "base/common.h"

#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <string.h>

/* Shapes of three extents; the copy has their axes in the order of the second list. */
static const struct {
	int64_t dims[3];
	int64_t order[3];
} cases[] = {
	{{1, 8, 8}, {0, 2, 1}}, {{1, 31, 33}, {0, 2, 1}}, {{1, 64, 32}, {0, 2, 1}},
	{{1, 7, 100}, {0, 2, 1}}, {{3, 40, 50}, {0, 2, 1}}, {{9, 10, 65}, {2, 1, 0}},
	{{33, 3, 34}, {2, 1, 0}}, {{12, 35, 9}, {2, 0, 1}}, {{12, 35, 9}, {1, 2, 0}},
	{{65, 9, 2}, {1, 0, 2}}, {{1, 260, 136}, {0, 2, 1}}, {{2, 129, 261}, {0, 2, 1}},
	{{264, 2, 128}, {2, 1, 0}},
};
enum { LARGEST = 2 * 129 * 264 };

/* Element (i, j, k) of the turned array, row-major, as bytes. */
static void turn(char *to, const char *from, const int64_t *dims, const int64_t *order,
	int64_t size)
{
	const int64_t strides[3] = {dims[1] * dims[2], dims[2], 1};
	for (int64_t i = 0; i < dims[order[0]]; i++) {
		for (int64_t j = 0; j < dims[order[1]]; j++) {
			for (int64_t k = 0; k < dims[order[2]]; k++, to += size) {
				memcpy(to, from + size * (i * strides[order[0]]
					+ j * strides[order[1]] + k * strides[order[2]]),
					(size_t)size);
			}
		}
	}
}

DEVICE_TEST(elements_of_every_size_arrive)
{
	static const kz_dtype dtypes[5] = {KZ_U8, KZ_F16, KZ_F32, KZ_C64, KZ_C128};
	static char host[16 * LARGEST], want[16 * LARGEST], got[16 * LARGEST];
	for (size_t i = 0; i < sizeof(host); i++) {
		host[i] = (char)(i * 2654435761u >> 13);
	}
	for (size_t c = 0; c < 5 * countof(cases); c++) {
		kz_dtype dtype = dtypes[c % 5];
		const int64_t *dims = cases[c / 5].dims;
		int64_t size = kz_dtype_size(dtype), bytes = size * dims[0] * dims[1] * dims[2];
		kz_array *array, *turned, *copy;
		ok(kz_array_from(&array, dev, dtype, kz_shape_from(dims, 3), host, bytes, &err));
		ok(kz_array_transpose(&turned, array, kz_axes_from(cases[c / 5].order, 3), &err));
		ok(kz_array_contiguous(&copy, turned, &err));
		turn(want, host, dims, cases[c / 5].order, size);
		ok(kz_array_get(copy, got, bytes, &err));
		ck_assert_msg(memcmp(got, want, (size_t)bytes) == 0, "case %d", (int)c);
		release_arrays(array, turned, copy);
	}
}

DEVICE_TEST(one_kernel_serves_all_shapes)
{
	kz_kernel_stats stats;
	for (size_t c = 0; c < countof(cases); c++) {
		kz_array *array, *turned, *copy;
		ok(kz_array_ones(&array, dev, KZ_I16, kz_shape_from(cases[c].dims, 3), &err));
		ok(kz_array_transpose(&turned, array, kz_axes_from(cases[c].order, 3), &err));
		ok(kz_array_contiguous(&copy, turned, &err));
		release_arrays(array, turned, copy);
	}
	kz_device_kernel_stats(dev, &stats);
	/* This one; with extents below 8, strided ones of two and three extents. */
	ck_assert_int_le(stats.compiled_count, 3);
}

DEVICE_TEST(gaps_and_negative_strides_are_kept)
{
	enum { N = 50 };
	static int32_t host[N * N], got[N * N / 2];
	kz_array *array, *part, *to, *left;
	int64_t wrong = 0;
	for (int i = 0; i < N * N; i++) {
		host[i] = i;
	}
	ok(kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(N, N), host, sizeof(host), &err));
	ok(kz_array_slice(&part, array, KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, -2)), &err));
	ok(kz_array_transpose(&left, part, KZ_AXES(), &err));
	ok(kz_array_zeros(&to, dev, KZ_I32, KZ_SHAPE(N, N / 2), &err));
	ok(kz_array_assign(to, left, &err));
	ok(kz_array_get(to, got, sizeof(got), &err));
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < N / 2; j++) {
			wrong += got[i * N / 2 + j] != host[(N - 1 - 2 * j) * N + i];
		}
	}
	ck_assert_int_eq(wrong, 0);
	release_arrays(array, part, left, to);
}

/* Whole tiles of bytes are moved by words, unless some row does not begin at one. */
DEVICE_TEST(bytes_at_any_place_arrive)
{
	enum { SIDE = 128, WIDE = SIDE + 8 };
	static uint8_t host[SIDE * WIDE], got[SIDE * SIDE];
	for (size_t i = 0; i < sizeof(host); i++) {
		host[i] = (uint8_t)(i * 2654435761u >> 13);
	}
	for (int64_t from = 0; from < 8; from++) {
		kz_array *array, *part, *turned, *copy;
		int wrong = 0;
		ok(kz_array_from(&array, dev, KZ_U8, KZ_SHAPE(SIDE, WIDE), host, sizeof(host),
			&err));
		ok(kz_array_slice(&part, array, KZ_AT(KZ_ALL, KZ_SLICE(from, from + SIDE, 1)),
			&err));
		ok(kz_array_transpose(&turned, part, KZ_AXES(), &err));
		ok(kz_array_contiguous(&copy, turned, &err));
		ok(kz_array_get(copy, got, sizeof(got), &err));
		for (int64_t i = 0; i < SIDE * SIDE; i++) {
			wrong += got[i] != host[i % SIDE * WIDE + from + i / SIDE];
		}
		ck_assert_int_eq(wrong, 0);
		release_arrays(array, part, turned, copy);
	}
}

SUITE(transpose)
{
	Suite *suite = suite_create("transpose");
	TCase *tcase = suite_add_case(suite, "transpose");
	int devices = both_shapes_count();
	tcase_add_tests(tcase, devices, elements_of_every_size_arrive, one_kernel_serves_all_shapes,
		bytes_at_any_place_arrive, gaps_and_negative_strides_are_kept);
	return suite;
}

/* SPDX-License-Identifier: MIT */
/* Elementwise kernels of users over shapes and strides, against loops on the host; see custom.h. */
#include "base/common.h"

#include "custom.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

DEVICE_TEST(arrays_broadcast_to_one_shape)
{
	int32_t x[3] = {1, 2, 3}, y[2] = {10, 20}, z[6], s = 100;
	kz_elementwise *kernel = make("const int *x, const int *y, const int *s, int *z",
		"z[i] = x[i] + y[i] + s[i]");
	kz_array *dx = from(KZ_I32, KZ_SHAPE(3), x), *dy = from(KZ_I32, KZ_SHAPE(2, 1), y);
	kz_array *ds = from(KZ_I32, KZ_SHAPE(), &s), *dz = from(KZ_I32, KZ_SHAPE(2, 3), z), *narrow;
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(dx, dy, ds, dz)));
	ok(kz_array_get(dz, z, sizeof(z), &err));
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(z[i], x[i % 3] + y[i / 3] + 100);
	}
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(dz, dy, ds, dx)), KZ_INVALID,
		"'elementwise': the array for 'int *z' has shape (3,), the others (2, 3); only "
		"const "
		"ones are broadcast");
	ok(kz_array_slice(&narrow, dz, KZ_AT(KZ_ALL, KZ_SLICE(0, 2)), &err));
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(dx, dy, narrow, dz)), KZ_INVALID,
		"'elementwise': the array for 'const int *s' has shape (2, 2), which does not "
		"broadcast "
		"with shape (2, 3) of the arrays before it");
	release_arrays(narrow, dx, dy, ds, dz);
	kz_elementwise_release(kernel);
}

static uint64_t state;

static int64_t below(int64_t count)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((state >> 33) % (uint64_t)count);
}

/* A random view of this shape over an array of its own, filled with random numbers. */
static kz_array *any_view(const kz_shape *shape)
{
	static int32_t numbers[20000];
	kz_shape base = *shape, moved = *shape;
	kz_slice cut[KZ_MAX_DIMS];
	kz_axes order = {shape->ndim, {0}};
	kz_array *array, *sliced, *view;
	for (int64_t i = 0; i < shape->ndim; i++) {
		int64_t other = below(i + 1);
		order.items[i] = order.items[other];
		order.items[other] = i;
	}
	for (int64_t i = 0; i < shape->ndim; i++) {
		int64_t gap = below(2), extent = shape->dims[order.items[i]];
		moved.dims[order.items[i]] = i; /* where axis order[i] is now */
		base.dims[i] = extent * (1 + gap);
		cut[i] = below(2) ? KZ_SLICE(KZ_OMIT, KZ_OMIT, 1 + gap)
			: KZ_SLICE(KZ_OMIT, KZ_OMIT, -1 - gap);
	}
	for (int i = 0; i < 20000; i++) {
		numbers[i] = (int32_t)below(1000000);
	}
	array = from(KZ_I32, base, numbers);
	ok(kz_array_slice(&sliced, array, ((kz_slices){cut, shape->ndim}), &err));
	ok(kz_array_transpose(&view, sliced, kz_axes_from(moved.dims, shape->ndim), &err));
	release_arrays(array, sliced);
	return view;
}

static int32_t *fetch(kz_array *array)
{
	int32_t *host = malloc((size_t)kz_array_size(array) + 1);
	ok(kz_array_get(array, host, kz_array_size(array), &err));
	return host;
}

/* The element of an array of `own` shape that is at row-major index i of `shape`. */
static int64_t element_at(int64_t i, const kz_shape *own, const kz_shape *shape)
{
	int64_t at = 0, step = 1;
	for (int64_t d = 0; d < own->ndim; d++) {
		int64_t extent = own->dims[own->ndim - 1 - d],
			all = shape->dims[shape->ndim - 1 - d];
		at += (extent == 1 ? 0 : i % all) * step;
		step *= extent;
		i /= all;
	}
	return at;
}

/* One round: random shapes and strides, some broadcast, some through a slice of the indexes. */
static void random_round(kz_elementwise *kernel, uint64_t seed)
{
	kz_shape shape = {below(5), {0}}, own[2];
	kz_elementwise_call call = KZ_ELEMENTWISE_CALL_INIT;
	kz_slice back = KZ_SLICE(KZ_OMIT, KZ_OMIT, -1);
	for (int64_t i = 0; i < shape.ndim; i++) {
		shape.dims[i] = below(15) ? 1 + below(6) : 0;
	}
	kz_array *z = any_view(&shape), *x[2];
	for (int k = 0; k < 2; k++) {
		int64_t missing = below(4) ? 0 : below(shape.ndim + 1);
		own[k].ndim = shape.ndim - missing;
		for (int64_t i = 0; i < own[k].ndim; i++) {
			own[k].dims[i] = below(4) ? shape.dims[i + missing] : 1;
		}
		x[k] = any_view(&own[k]);
	}
	call.slice = below(3) ? NULL : &back;
	int32_t *before = fetch(z), *a = fetch(x[0]), *b = fetch(x[1]), wrong = 0;
	ok(kz_elementwise_run(kernel, &call, &err, KZ_ARGS(x[0], x[1], z, 7)));
	int32_t *after = fetch(z);
	int64_t n = kz_array_count(z);
	for (int64_t i = 0; i < n; i++) {
		int32_t want = before[i] - 7 * a[element_at(i, &own[0], &shape)]
			+ b[element_at(i, &own[1], &shape)]
			+ b[element_at(n - 1 - i, &own[1], &shape)] + (int32_t)i;
		wrong += after[i] != want;
	}
	ck_assert_msg(wrong == 0, "%d of %lld elements, KUDZU_TEST_SEED=%llu", wrong, (long long)n,
		(unsigned long long)seed);
	release_arrays(z, x[0], x[1]);
	free(before);
	free(after);
	free(a);
	free(b);
}

START_TEST(random_strides_and_shapes_give_what_loops_give)
{
	const int rounds = support_how_many(2000, 100, 40);
	const char *text = getenv("KUDZU_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
	setup(_i);
	printf("%d calls from KUDZU_TEST_SEED=%llu\n", rounds, (unsigned long long)seed);
	kz_elementwise *kernel = make("const int *x, const int *y, int *z, int a",
		"z[i] += y[i] - a * x[i] + y[n - 1 - i] + (int)i");
	for (uint64_t round = seed; round < seed + (uint64_t)rounds; round++) {
		state = round * 0x9e3779b97f4a7c15u;
		random_round(kernel, round);
	}
	kz_elementwise_release(kernel);
	teardown();
}
END_TEST

START_TEST(large_views_are_walked_by_all_blocks)
{
	enum { ROWS = 301, COLUMNS = 257 };
	int32_t *host = malloc(4 * ROWS * COLUMNS), wrong = 0;
	setup(_i);
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		host[i] = i;
	}
	kz_elementwise *kernel = make("const int *x, int *z", "z[i] = x[i] + 1");
	kz_array *x = from(KZ_I32, KZ_SHAPE(ROWS, COLUMNS), host), *t, *z;
	ok(kz_array_transpose(&t, x, KZ_AXES(), &err));
	ok(kz_array_create(&z, dev, KZ_I32, KZ_SHAPE(COLUMNS, ROWS), &err));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(t, z)));
	ok(kz_array_get(z, host, 4 * ROWS * COLUMNS, &err));
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		wrong += host[i] != i % ROWS * COLUMNS + i / ROWS + 1;
	}
	ck_assert_int_eq(wrong, 0);
	release_arrays(x, t, z);
	kz_elementwise_release(kernel);
	free(host);
	teardown();
}
END_TEST

DEVICE_TEST(memory_that_is_written_must_not_be_shared)
{
	float host[12] = {0};
	kz_elementwise *kernel = make("const float *x, float *y", "y[i] = x[i] + 1");
	kz_array *a = from(KZ_F32, KZ_SHAPE(12), host), *low, *high, *even, *odd, *wide, *back;
	ok(kz_array_slice(&low, a, KZ_AT(KZ_SLICE(0, 6)), &err));
	ok(kz_array_slice(&high, a, KZ_AT(KZ_SLICE(1, 7)), &err));
	ok(kz_array_slice(&even, a, KZ_AT(KZ_SLICE(0, 12, 2)), &err));
	ok(kz_array_slice(&odd, a, KZ_AT(KZ_SLICE(1, 12, 2)), &err));
	ok(kz_array_slice(&back, low, KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, -1)), &err));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(even, odd)));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(low, low)));
	ck_assert_int_eq(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(low, high)), KZ_INVALID);
	ck_assert_str_eq(err.message,
		"kz_elementwise_run: 'elementwise': the arrays for 'float *y' and 'const float *x' "
		"share memory, but not element by element");
	ck_assert_str_eq(err.hint, "an array that is only read is declared const");
	kz_error_clear(&err);
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(low, back)), KZ_INVALID,
		"share memory");
	kz_array *one = from(KZ_F32, KZ_SHAPE(), host);
	ok(kz_array_broadcast_to(&wide, low, KZ_SHAPE(2, 6), &err));
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(one, wide)), KZ_INVALID,
		"cannot set an array that is not const, whose");
	release_arrays(one, a, low, high, even, odd, wide, back);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(elements_at_odd_addresses_are_refused)
{
	float host[4] = {0};
	const int64_t stride = 6;
	kz_elementwise *kernel = make("float *x", "x[i] = 1");
	kz_array *a = from(KZ_F32, KZ_SHAPE(4), host), *odd;
	ok(kz_array_wrap(&odd, kz_array_buffer(a), KZ_F32, KZ_SHAPE(3), NULL, 2, &err));
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(odd)), KZ_ARGUMENT,
		"argument 1 of "
		"'elementwise': the elements of a view of float32 do not lie at multiples of 4 "
		"bytes");
	kz_array_release(odd);
	ok(kz_array_wrap(&odd, kz_array_buffer(a), KZ_F32, KZ_SHAPE(2), &stride, 0, &err));
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(odd)), KZ_ARGUMENT, "multiples of 4");
	kz_array_release(odd);
	ok(kz_array_wrap(&odd, kz_array_buffer(a), KZ_F32, KZ_SHAPE(1), &stride, 4, &err));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(odd)));
	ok(kz_array_get(a, host, sizeof(host), &err));
	ck_assert(host[0] == 0 && host[1] == 1 && host[2] == 0);
	release_arrays(odd, a);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(raw_arrays_are_pointers_of_any_shape)
{
	int32_t table[5] = {10, 11, 12, 13, 14}, x[4] = {4, 0, 3, 3}, z[4];
	kz_elementwise *kernel = make("raw const int *table, const int *x, int *z",
		"const int *last = table + 4; z[i] = table[x[i]] + *last");
	kz_array *t = from(KZ_I32, KZ_SHAPE(5), table), *dx = from(KZ_I32, KZ_SHAPE(2, 2), x), *dz,
		 *v, *gaps;
	ok(kz_array_like(&dz, dx, &err));
	ok(kz_array_transpose(&v, dx, KZ_AXES(), &err));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(t, v, dz)));
	ok(kz_array_get(dz, z, sizeof(z), &err));
	ck_assert(z[0] == 28 && z[1] == 27 && z[2] == 24 && z[3] == 27);
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(kz_array_buffer(t), dx, dz)));
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(KZ_DEVPTR(kz_array_address(t)), dx, dz)));
	ok(kz_array_get(dz, z, sizeof(z), &err));
	ck_assert(z[0] == 28 && z[1] == 24 && z[2] == 27 && z[3] == 27);
	ok(kz_array_slice(&gaps, dx, KZ_AT(KZ_ALL, 1), &err));
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(gaps, dx, dz)), KZ_ARGUMENT,
		"argument 1 of 'elementwise': expected a contiguous array, got one with a stride "
		"of 8");
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(KZ_STRIDED(t), dx, dz)));
	fails(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(KZ_IN(table, 20), dx, dz)),
		KZ_ARGUMENT, "expected an array for");
	release_arrays(t, v, dx, dz, gaps);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(pointer_arithmetic_needs_arrays_without_gaps)
{
	int32_t x[4] = {1, 2, 3, 4};
	kz_elementwise *kernel = make("int *x", "*(x + i) += 1");
	kz_array *dx = from(KZ_I32, KZ_SHAPE(4), x), *even;
	ok(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(dx)));
	ok(kz_array_slice(&even, dx, KZ_AT(KZ_SLICE(0, 4, 2)), &err));
	ck_assert_int_eq(kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(even)), KZ_COMPILE);
	ck_assert_str_eq(err.file, "elementwise: operation");
	ck_assert_ptr_nonnull(strstr(err.hint, "these arrays have gaps"));
	kz_error_clear(&err);
	release_arrays(dx, even);
	kz_elementwise_release(kernel);
}

/* Run it and compare the numbers; the kernel writes its array `y` only. */
static void check_index(kz_elementwise *kernel, const kz_elementwise_call *call, kz_array *x,
	kz_array *y, const int32_t *want)
{
	ok(kz_elementwise_run(kernel, call, &err, KZ_ARGS(x, y)));
	int32_t *host = fetch(y);
	for (int64_t i = 0; i < kz_array_count(y); i++) {
		ck_assert_msg(host[i] == want[i], "%lld: %d, not %d", (long long)i, host[i],
			want[i]);
	}
	free(host);
}

DEVICE_TEST(the_index_along_each_axis_is_that_of_the_shape)
{
	static const int32_t want[6] = {600, 601, 602, 610, 611, 612};
	static const int32_t odd[6] = {0, 601, 0, 610, 0, 612};
	int32_t host[6] = {0};
	kz_slice step = KZ_SLICE(1, KZ_OMIT, 2);
	kz_elementwise_call call = KZ_ELEMENTWISE_CALL_INIT;
	kz_elementwise *kernel = make("const T *x, int *y",
		"y[i] = x[i] + 100 * _ind.size() + 10 * _ind.get()[0] + _ind.get()[1]");
	kz_array *x = from(KZ_I32, KZ_SHAPE(2, 3), host), *t, *turned, *row, *y;
	ok(kz_array_zeros_like(&y, x, 0, &err));
	check_index(kernel, NULL, x, y, want);
	ok(kz_array_zeros(&row, dev, KZ_F64, KZ_SHAPE(3), &err));
	check_index(kernel, NULL, row, y, want);
	ok(kz_array_zeros(&t, dev, KZ_I32, KZ_SHAPE(3, 2), &err));
	ok(kz_array_transpose(&turned, t, KZ_AXES(), &err));
	check_index(kernel, NULL, turned, y, want);
	ok(kz_array_fill(y, KZ_ARG(0), &err));
	call.slice = &step;
	check_index(kernel, &call, x, y, odd);
	release_arrays(x, t, turned, row, y);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(arrays_of_any_number_of_axes_have_an_index)
{
	int32_t want[1000], host[1000] = {0};
	kz_elementwise *kernel = make("const int *x, int *y", "int at = 7;\n"
		"for (int d = 0; d < _ind.ndim; d++) {\n"
		"at = at * _ind.shape()[d] + _ind.get()[d];\n}\ny[i] = at + x[i]");
	for (int i = 0; i < 1000; i++) {
		want[i] = 7000 + i;
	}
	const kz_shape shapes[] = {KZ_SHAPE(1000), KZ_SHAPE(10, 1, 100), KZ_SHAPE(2, 5, 10, 10)};
	for (size_t k = 0; k < countof(shapes); k++) {
		kz_array *x = from(KZ_I32, shapes[k], host);
		check_index(kernel, NULL, x, x, want);
		kz_array_release(x);
	}
	kz_array *x = from(KZ_I32, KZ_SHAPE(), host), *none;
	want[0] = 7;
	check_index(kernel, NULL, x, x, want);
	ok(kz_array_zeros(&none, dev, KZ_I32, KZ_SHAPE(2, 0), &err));
	check_index(kernel, NULL, none, none, want);
	release_arrays(x, none);
	kz_elementwise_release(kernel);
}

DEVICE_TEST(an_index_needs_an_array_and_its_word)
{
	kz_elementwise *kernel = NULL;
	fails(kz_elementwise_create(&kernel, dev, "raw int *x", "x[i] = _ind.size()", NULL, &err),
		KZ_INVALID, "elementwise: _ind needs an array that is not raw among the "
		"arguments 'raw int *x'");
	ck_assert_int_eq(kz_elementwise_create(&kernel, dev, "int *x", "x[i] = _ind.size(}", NULL,
		&err), KZ_COMPILE);
	ck_assert_str_eq(err.file, "elementwise: operation");
	kz_error_clear(&err);
	/* Of this one x stays a pointer. */
	kernel = make("int *x", "int x_ind = 1, _indigo = 2; *(x + i) = x_ind + _indigo");
	kz_elementwise_release(kernel);
}

SUITE(custom_shape)
{
	Suite *suite = suite_create("custom_shape");
	const TTest *const tests[] = {arrays_broadcast_to_one_shape,
		random_strides_and_shapes_give_what_loops_give,
		large_views_are_walked_by_all_blocks, memory_that_is_written_must_not_be_shared,
		elements_at_odd_addresses_are_refused, raw_arrays_are_pointers_of_any_shape,
		pointer_arithmetic_needs_arrays_without_gaps, NULL};
	const TTest *const index[] = {the_index_along_each_axis_is_that_of_the_shape,
		arrays_of_any_number_of_axes_have_an_index, an_index_needs_an_array_and_its_word,
		NULL};
	add_tests(suite, "shapes", tests);
	add_tests(suite, "index", index);
	return suite;
}

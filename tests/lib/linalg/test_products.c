/* SPDX-License-Identifier: MIT */
/* numpy's products on every device, against loops over host memory and values that numpy gives. */
#include "base/common.h"

#include "base/alloc.h"
#include "operand.h"

static kz_op_options options;

/* Shapes of a few axes; those of a list are given, the others drawn. */
static kz_shape draw_shape(int64_t ndim)
{
	kz_shape shape = {.ndim = ndim};
	for (int64_t i = 0; i < ndim; i++) {
		shape.dims[i] = draw(12) == 0 ? 0 : 1 + draw(5);
	}
	return shape;
}

static kz_array *from_doubles(kz_dtype dtype, kz_shape shape, const double *host)
{
	kz_array *doubles, *array;
	ok(kz_array_from(&doubles, dev, KZ_F64, shape, host, 8 * support_count(&shape), &err));
	ok(kz_array_astype(&array, doubles, dtype, &err));
	kz_array_release(doubles);
	return array;
}

static void expect_doubles(kz_array *array, kz_dtype dtype, kz_shape shape, const double *want)
{
	double complex numbers[64];
	for (int64_t i = 0; i < support_count(&shape); i++) {
		numbers[i] = want[i];
	}
	operand_expect(array, dtype, &shape, numbers, "values");
	kz_array_release(array);
}

/* Sums along axes: a loop over the elements of the result and those of the summed axes. */

struct summed {
	kz_axes of_a, of_b;
};

static bool is_in(const kz_axes *axes, int64_t axis)
{
	for (int64_t i = 0; i < axes->count; i++) {
		if (axes->items[i] == axis) {
			return true;
		}
	}
	return false;
}

/* Take the next index of the axes that are (or are not) in a list; false after the last one. */
static bool advance(int64_t *index, const kz_shape *shape, const kz_axes *axes, bool in)
{
	for (int64_t i = shape->ndim; i-- > 0;) {
		if (is_in(axes, i) == in) {
			if (++index[i] < shape->dims[i]) {
				return true;
			}
			index[i] = 0;
		}
	}
	return false;
}

static int64_t flat(const int64_t *index, const kz_shape *shape)
{
	int64_t at = 0;
	for (int64_t i = 0; i < shape->ndim; i++) {
		at = at * shape->dims[i] + index[i];
	}
	return at;
}

static double complex sum_at(const struct operand *a, const struct operand *b, int64_t *i,
	int64_t *j, const struct summed *s)
{
	double complex sum = 0;
	for (int64_t k = 0; k < s->of_a.count; k++) {
		if (a->shape.dims[s->of_a.items[k]] == 0) {
			return 0;
		}
		i[s->of_a.items[k]] = 0;
	}
	do {
		for (int64_t k = 0; k < s->of_a.count; k++) {
			j[s->of_b.items[k]] = i[s->of_a.items[k]];
		}
		sum += a->host[flat(i, &a->shape)] * b->host[flat(j, &b->shape)];
	} while (advance(i, &a->shape, &s->of_a, true));
	return sum;
}

static void expect_sums(kz_array *got, kz_dtype dtype, const struct operand *a,
	const struct operand *b, const struct summed *s, const char *what)
{
	int64_t i[KZ_MAX_DIMS] = {0}, j[KZ_MAX_DIMS] = {0};
	kz_shape shape = {.ndim = 0};
	for (int64_t k = 0; k < a->shape.ndim; k++) {
		if (!is_in(&s->of_a, k)) {
			shape.dims[shape.ndim++] = a->shape.dims[k];
		}
	}
	for (int64_t k = 0; k < b->shape.ndim; k++) {
		if (!is_in(&s->of_b, k)) {
			shape.dims[shape.ndim++] = b->shape.dims[k];
		}
	}
	int64_t count = support_count(&shape);
	double complex *want = malloc(sizeof(*want) * (size_t)count + 1);
	for (int64_t n = 0; n < count; n++) {
		want[n] = sum_at(a, b, i, j, s);
		if (!advance(j, &b->shape, &s->of_b, false)) {
			(void)advance(i, &a->shape, &s->of_a, false);
		}
	}
	operand_expect(got, dtype, &shape, want, what);
	kz_array_release(got);
	free(want);
}

/* Axes of a with axes of b, whose extents become the same. */
static struct summed draw_axes(const kz_shape *a, kz_shape *b)
{
	struct summed s = {{0}, {0}};
	int64_t most = a->ndim < b->ndim ? a->ndim : b->ndim;
	int64_t count = draw((int32_t)most + 1);
	while (s.of_a.count < count) {
		int64_t x = draw((int32_t)a->ndim), y = draw((int32_t)b->ndim);
		if (!is_in(&s.of_a, x) && !is_in(&s.of_b, y)) {
			s.of_a.items[s.of_a.count++] = x;
			s.of_b.items[s.of_b.count++] = y;
			b->dims[y] = a->dims[x];
		}
	}
	return s;
}

DEVICE_TEST(tensordot_sums_along_any_axes_of_any_types_and_layouts)
{
	int rounds = support_how_many(1000, 10, 4);
	state = 1;
	for (int round = 0; round < rounds; round++) {
		kz_dtype types[2] = {KZ_BOOL + (kz_dtype)draw(15), KZ_BOOL + (kz_dtype)draw(15)};
		types[1] = draw(3) ? types[0] : types[1];
		kz_shape shapes[2] = {draw_shape(draw(5)), draw_shape(draw(5))};
		struct summed s = draw_axes(&shapes[0], &shapes[1]);
		struct operand a = operand_make(types[0], shapes[0],
			(enum layout_kind)draw(LAYOUTS));
		struct operand b = operand_make(types[1], shapes[1],
			(enum layout_kind)draw(LAYOUTS));
		kz_array *got;
		char what[40];
		snprintf(what, sizeof(what), "round %d", round);
		ok(kz_tensordot_axes(&got, a.array, b.array, s.of_a, s.of_b, NULL, &err));
		expect_sums(got, kz_dtype_promote(types[0], types[1]), &a, &b, &s, what);
		operand_free(&a);
		operand_free(&b);
	}
}

DEVICE_TEST(tensordot_takes_a_number_of_axes)
{
	state = 2;
	for (int64_t count = 0; count <= 2; count++) {
		struct operand a = operand_make(KZ_F32, KZ_SHAPE(4, 2, 3), PLAIN);
		struct operand b = operand_make(KZ_F32, count == 1 ? KZ_SHAPE(3, 2, 5)
			: KZ_SHAPE(2, 3, 5), PLAIN);
		struct summed s = {.of_a = {count, {1, 2}}, .of_b = {count, {0, 1}}};
		s.of_a.items[0] = 3 - count;
		kz_array *got;
		ok(kz_tensordot(&got, a.array, b.array, count, NULL, &err));
		expect_sums(got, KZ_F32, &a, &b, &s, "tensordot");
		operand_free(&a);
		operand_free(&b);
	}
}

/* Every pair of ranks from 0 to 3. */
DEVICE_TEST(dot_and_inner_take_any_ranks)
{
	state = 3;
	for (int round = 0; round < 16 * 4; round++) {
		if (!both_shapes_try((size_t)round, 16 * 4, 12, 4)) {
			continue;
		}
		kz_shape x = draw_shape(round & 3), y = draw_shape(round >> 2 & 3);
		for (int is_inner = 0; is_inner < 2; is_inner++) {
			struct summed s = {.of_a = {x.ndim && y.ndim, {x.ndim - 1}}, .of_b = {
				x.ndim && y.ndim, {y.ndim - (is_inner || y.ndim < 2 ? 1 : 2)}}};
			kz_array *got;
			if (s.of_a.count) {
				y.dims[s.of_b.items[0]] = x.dims[x.ndim - 1];
			}
			struct operand a = operand_make(KZ_C64, x, (enum layout_kind)draw(LAYOUTS));
			struct operand b = operand_make(KZ_F64, y, (enum layout_kind)draw(LAYOUTS));
			ok((is_inner ? kz_inner : kz_dot)(&got, a.array, b.array, NULL, &err));
			expect_sums(got, KZ_C128, &a, &b, &s, is_inner ? "inner" : "dot");
			operand_free(&a);
			operand_free(&b);
		}
	}
}

DEVICE_TEST(vdot_conjugates_and_takes_elements_in_row_major_order)
{
	state = 4;
	for (int round = 0; round < 20; round++) {
		if (!both_shapes_try((size_t)round, 20, 4, 2)) {
			continue;
		}
		struct operand a = operand_make(KZ_C64, KZ_SHAPE(3, 4),
			(enum layout_kind)draw(LAYOUTS));
		struct operand b = operand_make(KZ_C128, round % 2 ? KZ_SHAPE(3, 4)
			: KZ_SHAPE(2, 1, 6), (enum layout_kind)draw(LAYOUTS));
		const kz_shape none = {0};
		double complex want = 0;
		kz_array *got;
		for (int i = 0; i < 12; i++) {
			want += conj(a.host[i]) * b.host[i];
		}
		ok(kz_vdot(&got, a.array, b.array, NULL, &err));
		operand_expect(got, KZ_C128, &none, &want, "vdot");
		kz_array_release(got);
		operand_free(&a);
		operand_free(&b);
	}
}

DEVICE_TEST(outer_takes_all_elements_of_both)
{
	state = 5;
	for (int round = 0; round < 20; round++) {
		if (!both_shapes_try((size_t)round, 20, 4, 2)) {
			continue;
		}
		struct operand a = operand_make(KZ_I16, KZ_SHAPE(2, 3),
			(enum layout_kind)draw(LAYOUTS));
		struct operand b = operand_make(KZ_F32, round % 2 ? KZ_SHAPE(5) : KZ_SHAPE(),
			round % 2 ? (enum layout_kind)draw(LAYOUTS) : PLAIN);
		kz_shape shape = KZ_SHAPE(6, round % 2 ? 5 : 1);
		double complex want[30];
		kz_array *got;
		for (int i = 0; i < 6 * shape.dims[1]; i++) {
			want[i] = a.host[i / shape.dims[1]] * b.host[i % shape.dims[1]];
		}
		ok(kz_outer(&got, a.array, b.array, NULL, &err));
		operand_expect(got, KZ_F32, &shape, want, "outer");
		kz_array_release(got);
		operand_free(&a);
		operand_free(&b);
	}
}

/* kron */

/* Element (i * the extent of b + j) along each axis is a[i] * b[j]. */
static void expect_kron(kz_array *got, kz_dtype dtype, const struct operand *a,
	const struct operand *b)
{
	int64_t index[KZ_MAX_DIMS] = {0};
	kz_shape shape = a->shape.ndim > b->shape.ndim ? a->shape : b->shape;
	kz_shape x = shape, y = shape;
	for (int64_t i = 0; i < shape.ndim; i++) {
		int64_t at = i - (shape.ndim - a->shape.ndim),
			bt = i - (shape.ndim - b->shape.ndim);
		x.dims[i] = at < 0 ? 1 : a->shape.dims[at];
		y.dims[i] = bt < 0 ? 1 : b->shape.dims[bt];
		shape.dims[i] = x.dims[i] * y.dims[i];
	}
	int64_t count = support_count(&shape);
	double complex *want = malloc(sizeof(*want) * (size_t)count + 1);
	for (int64_t n = 0; n < count; n++) {
		int64_t of_a = 0, of_b = 0;
		for (int64_t i = 0; i < shape.ndim; i++) {
			of_a = of_a * x.dims[i] + index[i] / y.dims[i];
			of_b = of_b * y.dims[i] + index[i] % y.dims[i];
		}
		want[n] = a->host[of_a] * b->host[of_b];
		(void)advance(index, &shape, &(kz_axes){0, {0}}, false);
	}
	operand_expect(got, dtype, &shape, want, "kron");
	kz_array_release(got);
	free(want);
}

DEVICE_TEST(kron_takes_any_ranks)
{
	state = 6;
	for (int round = 0; round < 60; round++) {
		if (!both_shapes_try((size_t)round, 60, 10, 4)) {
			continue;
		}
		struct operand a = operand_make(KZ_F32, draw_shape(round % 4),
			(enum layout_kind)draw(LAYOUTS));
		struct operand b = operand_make(KZ_I32, draw_shape(round / 4 % 4),
			(enum layout_kind)draw(LAYOUTS));
		kz_array *got;
		ok(kz_kron(&got, a.array, b.array, NULL, &err));
		expect_kron(got, KZ_F64, &a, &b);
		operand_free(&a);
		operand_free(&b);
	}
}

/* Ten axes with two axes each in the product are more than an array can have. */
DEVICE_TEST(kron_of_many_axes_is_a_loop)
{
	kz_array *got;
	kz_shape x = {.ndim = 10}, y = {.ndim = 10};
	for (int i = 0; i < 10; i++) {
		x.dims[i] = 1 + (i != 4);
		y.dims[i] = 1 + (i != 7);
	}
	state = 7;
	struct operand a = operand_make(KZ_F32, x, TURNED);
	struct operand b = operand_make(KZ_F32, y, BACKWARDS);
	ok(kz_kron(&got, a.array, b.array, NULL, &err));
	expect_kron(got, KZ_F32, &a, &b);
	operand_free(&a);
	operand_free(&b);
}

/* Types */

/* numpy 2.4: np.dot(a, a) for a = np.array([100, 100], np.int8) is 32, and a bool for bools. */
DEVICE_TEST(integers_wrap_and_bools_stay_bool)
{
	kz_array *a = from_doubles(KZ_I8, KZ_SHAPE(2), (const double[]){100, 100}), *got;
	kz_array *b = from_doubles(KZ_BOOL, KZ_SHAPE(2), (const double[]){1, 1});
	kz_array *row, *column;
	options = (kz_op_options)KZ_OP_OPTIONS_INIT;
	ok(kz_dot(&got, a, a, NULL, &err));
	expect_doubles(got, KZ_I8, KZ_SHAPE(), (const double[]){32});
	ok(kz_vdot(&got, a, a, NULL, &err));
	expect_doubles(got, KZ_I8, KZ_SHAPE(), (const double[]){32});
	ok(kz_dot(&got, b, b, NULL, &err));
	expect_doubles(got, KZ_BOOL, KZ_SHAPE(), (const double[]){1});
	ok(kz_outer(&got, b, b, NULL, &err));
	expect_doubles(got, KZ_BOOL, KZ_SHAPE(2, 2), (const double[]){1, 1, 1, 1});
	options.dtype = KZ_I64;
	ok(kz_dot(&got, a, a, &options, &err));
	expect_doubles(got, KZ_I64, KZ_SHAPE(), (const double[]){20000});
	ok(kz_array_reshape(&row, a, KZ_SHAPE(1, 2), &err));
	ok(kz_array_reshape(&column, a, KZ_SHAPE(2, 1), &err));
	ok(kz_dot(&got, row, column, &options, &err));
	expect_doubles(got, KZ_I64, KZ_SHAPE(1, 1), (const double[]){20000});
	release_arrays(a, b, row, column);
}

DEVICE_TEST(halves_are_rounded_once)
{
	/* 2048 + 1 + 1 in float16 steps stays 2048. */
	kz_array *a = from_doubles(KZ_F16, KZ_SHAPE(1, 3), (const double[]){2048, 1, 1}), *got;
	kz_array *ones = from_doubles(KZ_F16, KZ_SHAPE(3, 1), (const double[]){1, 1, 1});
	kz_array *one = from_doubles(KZ_F16, KZ_SHAPE(1, 1), (const double[]){1});
	ok(kz_dot(&got, a, ones, NULL, &err));
	expect_doubles(got, KZ_F16, KZ_SHAPE(1, 1), (const double[]){2050});
	ok(kz_tensordot_axes(&got, a, ones, KZ_AXES(0, 1), KZ_AXES(1, 0), NULL, &err));
	expect_doubles(got, KZ_F16, KZ_SHAPE(), (const double[]){2050});
	ok(kz_mdot(&got, KZ_ARRAYS(a, ones, one), NULL, &err));
	expect_doubles(got, KZ_F16, KZ_SHAPE(1, 1), (const double[]){2050});
	release_arrays(a, ones, one);
}

/* Chains and powers */

/* The product of two matrices on the host; 1-d ones are rows or columns. */
static double complex *times(const double complex *a, const double complex *b, int64_t m, int64_t k,
	int64_t n)
{
	double complex *c = calloc((size_t)(m * n) + 1, sizeof(*c));
	for (int64_t i = 0; i < m * n; i++) {
		for (int64_t l = 0; l < k; l++) {
			c[i] += a[i / n * k + l] * b[l * n + i % n];
		}
	}
	return c;
}

DEVICE_TEST(mdot_multiplies_a_chain)
{
	state = 8;
	for (int round = 0; round < support_how_many(40, 10, 4); round++) {
		int64_t count = 2 + draw(5), extents[8];
		bool row = draw(3) == 0, column = draw(3) == 0;
		struct operand operands[8];
		kz_array *arrays[8], *got;
		for (int64_t i = 0; i <= count; i++) {
			extents[i] = draw(15) == 0 ? 0 : 1 + draw(6);
		}
		extents[0] = row ? 1 : extents[0];
		extents[count] = column ? 1 : extents[count];
		double complex *want = NULL;
		for (int64_t i = 0; i < count; i++) {
			kz_shape shape = row && i == 0 ? KZ_SHAPE(extents[1])
				: column && i == count - 1 ? KZ_SHAPE(extents[i])
				: KZ_SHAPE(extents[i], extents[i + 1]);
			operands[i] = operand_make(i % 2 ? KZ_F32 : KZ_I8, shape,
				(enum layout_kind)draw(LAYOUTS));
			arrays[i] = operands[i].array;
			double complex *next = i == 0 ? NULL : times(want, operands[i].host,
				extents[0], extents[i], extents[i + 1]);
			free(i > 1 ? want : NULL);
			want = i == 0 ? operands[0].host : next;
		}
		kz_shape shape = {.ndim = 0};
		if (!row) {
			shape.dims[shape.ndim++] = extents[0];
		}
		if (!column) {
			shape.dims[shape.ndim++] = extents[count];
		}
		ok(kz_mdot(&got, (kz_arrays){arrays, count}, NULL, &err));
		operand_expect(got, KZ_F32, &shape, want, "mdot");
		kz_array_release(got);
		free(want);
		for (int64_t i = 0; i < count; i++) {
			operand_free(&operands[i]);
		}
	}
}

/* 1e4 by 1 by 1e4 by 1: from the left it would need an array of 1e8 elements. */
DEVICE_TEST(mdot_takes_the_order_of_the_fewest_operations)
{
	kz_array *column, *row, *got;
	kz_memory_stats stats;
	ok(kz_array_ones(&column, dev, KZ_F32, KZ_SHAPE(10000, 1), &err));
	ok(kz_array_ones(&row, dev, KZ_F32, KZ_SHAPE(1, 10000), &err));
	ok(kz_mdot(&got, KZ_ARRAYS(column, row, column), NULL, &err));
	ck_assert_int_eq(kz_array_count(got), 10000);
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_lt(stats.peak_size, 10000000);
	release_arrays(column, row, got);
}

DEVICE_TEST(matrix_power_multiplies_a_matrix_by_itself)
{
	state = 9;
	for (int64_t power = 0; power < 8; power++) {
		struct operand a = operand_make(KZ_C128, KZ_SHAPE(2, 3, 3),
			(enum layout_kind)draw(LAYOUTS));
		double complex want[18];
		kz_array *got;
		for (int which = 0; which < 2; which++) {
			double complex *now = calloc(9, sizeof(*now));
			now[0] = now[4] = now[8] = 1;
			for (int64_t i = 0; i < power; i++) {
				double complex *next = times(now, a.host + 9 * which, 3, 3, 3);
				free(now);
				now = next;
			}
			memcpy(want + 9 * which, now, 9 * sizeof(*now));
			free(now);
		}
		ok(kz_matrix_power(&got, a.array, power, NULL, &err));
		operand_expect(got, KZ_C128, &a.shape, want, "matrix_power");
		ck_assert_ptr_ne(got, a.array);
		ck_assert_ptr_ne(kz_array_buffer(got), kz_array_buffer(a.array));
		kz_array_release(got);
		operand_free(&a);
	}
}

/* numpy 2.4: np.linalg.matrix_power(np.array([[2, 0], [0, 4]]), -3), in float64. */
DEVICE_TEST(a_negative_power_is_one_of_the_inverse)
{
	kz_array *a = from_doubles(KZ_I32, KZ_SHAPE(2, 2), (const double[]){2, 0, 0, 4}), *got;
	ok(kz_matrix_power(&got, a, -3, NULL, &err));
	expect_doubles(got, KZ_F64, KZ_SHAPE(2, 2), (const double[]){0.125, 0, 0, 0.015625});
	fails(kz_matrix_power(&got, a, INT64_MIN, NULL, &err), KZ_RANGE, "out of range");
	kz_array_release(a);
}

/* numpy 2.4: np.linalg.matrix_power(np.array([[1, 1], [1, 0]], np.uint8), 20), which wraps. */
DEVICE_TEST(matrix_power_of_integers_wraps)
{
	kz_array *a = from_doubles(KZ_U8, KZ_SHAPE(2, 2), (const double[]){1, 1, 1, 0}), *got;
	ok(kz_matrix_power(&got, a, 20, NULL, &err));
	expect_doubles(got, KZ_U8, KZ_SHAPE(2, 2), (const double[]){194, 109, 109, 85});
	kz_array_release(a);
}

DEVICE_TEST(add_dot_adds_a_product_to_an_array)
{
	kz_array *a = from_doubles(KZ_F64, KZ_SHAPE(1, 2), (const double[]){1, 2});
	kz_array *b = from_doubles(KZ_F64, KZ_SHAPE(2, 2), (const double[]){3, 4, 5, 6});
	kz_array *c = from_doubles(KZ_F64, KZ_SHAPE(1, 2), (const double[]){100, 200});
	ok(kz_add_dot(c, KZ_ARG(2), a, b, KZ_ARG(0.5), &err));
	expect_doubles(c, KZ_F64, KZ_SHAPE(1, 2), (const double[]){76, 132});
	fails(kz_add_dot(a, KZ_ARG(1), b, b, KZ_ARG(1), &err), KZ_INVALID, "(2, 2)");
	release_arrays(a, b);
}

/* Into arrays */

DEVICE_TEST(results_go_into_arrays_that_may_be_operands)
{
	const double two[4] = {1, 2, 3, 4}, square[4] = {7, 10, 15, 22},
		turned[4] = {7, 15, 10, 22};
	kz_array *a = from_doubles(KZ_F32, KZ_SHAPE(2, 2), two), *wide, *t, *got;
	options = (kz_op_options)KZ_OP_OPTIONS_INIT;
	/* Another type, and axes in another order in memory. */
	ok(kz_array_zeros(&wide, dev, KZ_F64, KZ_SHAPE(2, 2), &err));
	options.into = wide;
	ok(kz_dot(&got, a, a, &options, &err));
	ck_assert_ptr_eq(got, wide);
	expect_doubles(got, KZ_F64, KZ_SHAPE(2, 2), square);
	ok(kz_array_transpose(&t, wide, KZ_AXES(), &err));
	options.into = t;
	ok(kz_mdot(NULL, KZ_ARRAYS(a, a), &options, &err));
	expect_doubles(kz_array_retain(wide), KZ_F64, KZ_SHAPE(2, 2), turned);
	release_arrays(wide, t);
	options.into = a;
	ok(kz_matrix_power(NULL, a, 2, &options, &err));
	expect_doubles(kz_array_retain(a), KZ_F32, KZ_SHAPE(2, 2), square);
	ok(kz_array_transpose(&t, a, KZ_AXES(), &err));
	ok(kz_tensordot(NULL, t, a, 1, &options, &err));
	expect_doubles(kz_array_retain(a), KZ_F32, KZ_SHAPE(2, 2),
		(const double[]){7 * 7 + 15 * 15, 7 * 10 + 15 * 22, 7 * 10 + 15 * 22,
			100 + 22 * 22});
	release_arrays(a, t);
	/* Each product into one of its operands' own memory. */
	kz_array *x = from_doubles(KZ_I64, KZ_SHAPE(4), two), *row, *corner, *copy;
	kz_array *from_scalar = from_doubles(KZ_I64, KZ_SHAPE(), two + 2);
	ok(kz_array_copy(&copy, x, &err));
	ok(kz_array_reshape(&row, x, KZ_SHAPE(2, 2), &err));
	ok(kz_array_slice(&corner, x, KZ_AT(KZ_SLICE(0, 2)), &err));
	options.into = row;
	ok(kz_outer(NULL, corner, corner, &options, &err));
	expect_doubles(kz_array_retain(x), KZ_I64, KZ_SHAPE(4), (const double[]){1, 2, 2, 4});
	options.into = x;
	ok(kz_kron(NULL, corner, corner, &options, &err));
	expect_doubles(kz_array_retain(x), KZ_I64, KZ_SHAPE(4), (const double[]){1, 2, 2, 4});
	options.into = copy;
	ok(kz_dot(NULL, x, from_scalar, &options, &err));
	expect_doubles(kz_array_retain(copy), KZ_I64, KZ_SHAPE(4), (const double[]){3, 6, 6, 12});
	kz_array_release(from_scalar);
	release_arrays(x, row, corner, copy);
}

DEVICE_TEST(a_view_with_gaps_receives_a_result)
{
	const double two[4] = {1, 2, 3, 4};
	kz_array *a = from_doubles(KZ_F32, KZ_SHAPE(2, 2), two), *big, *view;
	options = (kz_op_options)KZ_OP_OPTIONS_INIT;
	ok(kz_array_zeros(&big, dev, KZ_F32, KZ_SHAPE(2, 4), &err));
	ok(kz_array_slice(&view, big, KZ_AT(KZ_ALL, KZ_SLICE(KZ_OMIT, KZ_OMIT, 2)), &err));
	options.into = view;
	ok(kz_dot(NULL, a, a, &options, &err));
	expect_doubles(kz_array_retain(big), KZ_F32, KZ_SHAPE(2, 4),
		(const double[]){7, 0, 10, 0, 15, 0, 22, 0});
	release_arrays(a, big, view);
}

/* Mistakes */

DEVICE_TEST(operands_that_do_not_fit_are_refused)
{
	kz_array *x, *y, *z = NULL, *many, *structs;
	kz_dtype point;
	ok(kz_dtype_register(&point, "struct products_point", 8, &err));
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(4, 5), &err));
	ok(kz_array_zeros(&structs, dev, point, KZ_SHAPE(2), &err));
	ok(kz_array_zeros(&many, dev, KZ_F32, KZ_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1), &err));
	fails(kz_dot(&z, x, y, NULL, &err), KZ_INVALID, "dot: shapes (2, 3) and (4, 5) do not fit: "
		"3 elements along axis 1 against 4 along axis 0");
	fails(kz_inner(&z, x, y, NULL, &err), KZ_INVALID, "inner: shapes (2, 3) and (4, 5) do not "
		"fit");
	fails(kz_vdot(&z, x, y, NULL, &err), KZ_INVALID,
		"vdot: expected arrays of one number of elements, got shapes (2, 3) and (4, 5)");
	fails(kz_tensordot(&z, x, y, 3, NULL, &err), KZ_INVALID,
		"tensordot: cannot sum 3 axes of shapes (2, 3) and (4, 5)");
	fails(kz_tensordot(&z, x, y, -1, NULL, &err), KZ_INVALID, "cannot sum -1 axes");
	fails(kz_tensordot_axes(&z, x, y, KZ_AXES(0), KZ_AXES(0, 1), NULL, &err), KZ_INVALID,
		"tensordot: cannot sum 1 axes of shape (2, 3) with 2 axes of shape (4, 5)");
	fails(kz_tensordot_axes(&z, x, y, KZ_AXES(2), KZ_AXES(0), NULL, &err), KZ_RANGE, "axis 2");
	fails(kz_tensordot_axes(&z, x, x, KZ_AXES(0, 0), KZ_AXES(0, 1), NULL, &err), KZ_INVALID,
		"named twice");
	fails(kz_tensordot(&z, many, many, 0, NULL, &err), KZ_INVALID, "give 18 extents");
	fails(kz_mdot(&z, KZ_ARRAYS(x), NULL, &err), KZ_INVALID,
		"mdot: expected two matrices or more, got 1");
	fails(kz_mdot(&z, KZ_ARRAYS(x, y), NULL, &err), KZ_INVALID,
		"mdot: shapes (2, 3) and (4, 5) of operands 0 and 1 do not fit");
	fails(kz_mdot(&z, KZ_ARRAYS(x, many, y), NULL, &err), KZ_INVALID,
		"mdot: expected a matrix, got shape");
	fails(kz_matrix_power(&z, x, 2, NULL, &err), KZ_INVALID,
		"matrix_power: expected square matrices (..., n, n), got shape (2, 3)");
	fails(kz_dot(&z, structs, x, NULL, &err), KZ_INVALID, "dot does not take struct");
	fails(kz_dot(&z, NULL, x, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_outer(&z, x, NULL, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_kron(NULL, x, y, NULL, &err), KZ_INVALID, "kz_kron: out is NULL");
	ck_assert_ptr_null(z);
	release_arrays(x, y, many, structs);
}

DEVICE_TEST(targets_and_options_that_do_not_fit_are_refused)
{
	kz_array *x, *bools, *wrong, *z = NULL, *repeated;
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(2, 2), &err));
	ok(kz_array_zeros(&bools, dev, KZ_BOOL, KZ_SHAPE(2, 2), &err));
	ok(kz_array_zeros(&wrong, dev, KZ_F32, KZ_SHAPE(2, 1), &err));
	ok(kz_array_broadcast_to(&repeated, wrong, KZ_SHAPE(2, 2), &err));
	options = (kz_op_options)KZ_OP_OPTIONS_INIT;
	options.into = wrong;
	fails(kz_dot(&z, x, x, &options, &err), KZ_INVALID,
		"dot gives shape (2, 2), which does not fit into (2, 1)");
	options.into = bools;
	fails(kz_kron(&z, wrong, wrong, &options, &err), KZ_INVALID,
		"kron gives shape (4, 1), which does not fit into (2, 2)");
	fails(kz_tensordot(&z, x, x, 1, &options, &err), KZ_INVALID,
		"tensordot gives float32, which does not fit into bool");
	options.into = repeated;
	fails(kz_matrix_power(&z, x, 2, &options, &err), KZ_INVALID, "may share memory");
	options.into = NULL;
	options.dtype = 99;
	fails(kz_outer(&z, x, x, &options, &err), KZ_INVALID, "99 is not a dtype");
	options.size = 3;
	fails(kz_mdot(&z, KZ_ARRAYS(x, x), &options, &err), KZ_INVALID, "has size 3");
	ck_assert_ptr_null(z);
	release_arrays(x, bools, wrong, repeated);
}

/* A call with every kind of step, for failing allocations: a copy that casts, a product, a view. */
static kz_status all_steps(kz_array **out, kz_array *const *arrays, int which)
{
	switch (which) {
	case 0:
		return kz_tensordot_axes(out, arrays[0], arrays[1], KZ_AXES(0, 2), KZ_AXES(2, 1),
			NULL, &err);
	case 1:
		return kz_kron(out, arrays[0], arrays[1], NULL, &err);
	case 2:
		return kz_mdot(out, KZ_ARRAYS(arrays[2], arrays[2], arrays[2]), NULL, &err);
	case 3:
		return kz_matrix_power(out, arrays[2], 5, NULL, &err);
	case 4:
		return kz_outer(out, arrays[0], arrays[1], NULL, &err);
	default:
		return kz_matrix_power(out, arrays[2], 0, NULL, &err);
	}
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	state = 10;
	struct operand a = operand_make(KZ_F16, KZ_SHAPE(3, 4, 2), TURNED);
	struct operand b = operand_make(KZ_F32, KZ_SHAPE(5, 2, 3), GAPS);
	struct operand c = operand_make(KZ_F16, KZ_SHAPE(4, 4), TURNED);
	kz_array *const arrays[3] = {a.array, b.array, c.array};
	for (int which = 0; which < 6; which++) {
		int failed = 0;
		for (long n = 0;; n++) {
			kz_array *z = NULL;
			mem_fail_after(n);
			kz_status st = all_steps(&z, arrays, which);
			bool done = !mem_has_failed();
			mem_fail_after(-1);
			ck_assert(done ? st == KZ_OK : st != KZ_OK || z);
			ck_assert(!st == !!z);
			failed += st != KZ_OK;
			kz_error_clear(&err);
			kz_array_release(z);
			if (done) {
				break;
			}
		}
		ck_assert_int_gt(failed, 2);
	}
	operand_free(&a);
	operand_free(&b);
	operand_free(&c);
}

SUITE(products)
{
	Suite *suite = suite_create("products");
	TCase *tcase = suite_add_case(suite, "products");
	int devices = both_shapes_count();
	tcase_add_tests(tcase, devices, tensordot_sums_along_any_axes_of_any_types_and_layouts,
		tensordot_takes_a_number_of_axes, dot_and_inner_take_any_ranks,
		vdot_conjugates_and_takes_elements_in_row_major_order,
		outer_takes_all_elements_of_both, kron_takes_any_ranks,
		kron_of_many_axes_is_a_loop, integers_wrap_and_bools_stay_bool,
		halves_are_rounded_once, mdot_multiplies_a_chain,
		mdot_takes_the_order_of_the_fewest_operations,
		matrix_power_multiplies_a_matrix_by_itself, matrix_power_of_integers_wraps,
		a_negative_power_is_one_of_the_inverse,
		add_dot_adds_a_product_to_an_array, results_go_into_arrays_that_may_be_operands,
		a_view_with_gaps_receives_a_result,
		operands_that_do_not_fit_are_refused,
		targets_and_options_that_do_not_fit_are_refused,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}

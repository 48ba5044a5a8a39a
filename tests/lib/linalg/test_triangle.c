/* SPDX-License-Identifier: MIT */
/*
 * symm, hemm, syrk, herk and trmm against sums on the host.  Elements are small integers, so all
 * sums are exact.  The triangle that nobody may read is NaN, and the one that nobody may write
 * keeps its NaN.
 */
#include "base/common.h"

#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <kudzu/linalg.h>
#include <kudzu/view.h>

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 600, BATCH = 2 };

static const kz_dtype dtypes[] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128};
static uint32_t state;

/* A batch of matrices on the host, and the same on the device as a view of a larger array. */
struct matrices {
	int rows, columns, batch;
	double complex *at;
	kz_array *whole, *array;
};

static double complex *item(const struct matrices *m, int z, int i, int j)
{
	return &m->at[((z % m->batch) * m->rows + i) * m->columns + j];
}

static double small(void)
{
	state = state * 1664525u + 1013904223u;
	return (double)((state >> 8) % 5) - 2;
}

static bool is_complex(kz_dtype dtype)
{
	return dtype == KZ_C64 || dtype == KZ_C128;
}

static struct matrices draw(int batch, int rows, int columns, kz_dtype dtype)
{
	struct matrices m = {rows, columns, batch, NULL, NULL, NULL};
	const int count = batch * rows * columns;
	m.at = calloc((size_t)count + 1, sizeof(*m.at));
	for (int i = 0; i < count; i++) {
		const double re = small();
		m.at[i] = CMPLX(re, is_complex(dtype) ? small() : 0);
	}
	return m;
}

/* NaN outside of a triangle, and on the diagonal if that is not read. */
static void spoil(struct matrices *m, kz_triangle triangle, bool also_diagonal)
{
	for (int k = 0; k < m->batch * m->rows * m->columns; k++) {
		const int i = k / m->columns % m->rows, j = k % m->columns;
		if (triangle == KZ_LOWER ? j > i : j < i) {
			m->at[k] = CMPLX(NAN, NAN);
		} else if (also_diagonal && i == j) {
			m->at[k] = CMPLX(NAN, NAN);
		}
	}
}

static void put(struct matrices *m, kz_dtype dtype)
{
	kz_array *wide, *part;
	ok(kz_array_from(&wide, dev, KZ_C128, KZ_SHAPE(m->batch, m->rows, m->columns), m->at,
		16 * (int64_t)m->batch * m->rows * m->columns, &err));
	ok(kz_array_zeros(&m->whole, dev, dtype, KZ_SHAPE(m->batch, m->rows + 1, m->columns + 3),
		&err));
	ok(kz_array_slice(&part, m->whole, KZ_AT(KZ_ALL, KZ_SLICE(1, m->rows + 1),
		KZ_SLICE(2, m->columns + 2)), &err));
	m->array = part;
	ok(kz_array_astype(&part, wide, dtype, &err));
	ok(kz_array_assign(m->array, part, &err));
	release_arrays(wide, part);
}

static void drop(struct matrices *m)
{
	release_arrays(m->whole, m->array);
	free(m->at);
}

static bool is_same(double x, double y)
{
	return x == y || (isnan(x) && isnan(y));
}

/* The array has the elements of the host. */
static void check(const struct matrices *m, const char *what)
{
	const int count = m->batch * m->rows * m->columns;
	double complex *got = calloc((size_t)count + 1, sizeof(*got));
	const bool has_parts = is_complex(kz_array_dtype(m->array));
	kz_array *wide;
	ok(kz_array_astype(&wide, m->array, KZ_C128, &err));
	ok(kz_array_get(wide, got, 16 * (int64_t)count, &err));
	for (int i = 0; i < count; i++) {
		ck_assert_msg(is_same(creal(got[i]), creal(m->at[i]))
			&& (!has_parts || is_same(cimag(got[i]), cimag(m->at[i]))),
			"%s: element %d: got %g%+gi, expected %g%+gi", what, i, creal(got[i]),
			cimag(got[i]), creal(m->at[i]), cimag(m->at[i]));
	}
	kz_array_release(wide);
	free(got);
}

static bool is_in(kz_triangle triangle, int i, int j)
{
	return triangle == KZ_LOWER ? j <= i : j >= i;
}

static double complex turned(double complex x, bool conjugate)
{
	return conjugate ? conj(x) : x;
}

/* symm and hemm */

static void try_symmetric(kz_dtype dtype, kz_triangle triangle, kz_side side, bool hermitian,
	int m, int n)
{
	const int order = side == KZ_LEFT ? m : n;
	struct matrices a = draw(1, order, order, dtype), b = draw(BATCH, m, n, dtype);
	struct matrices c = draw(BATCH, m, n, dtype);
	const double complex alpha = is_complex(dtype) ? CMPLX(2, -1) : 2;
	spoil(&a, triangle, false);
	put(&a, dtype);
	put(&b, dtype);
	put(&c, dtype);
	ok((hermitian ? kz_hemm : kz_symm)(c.array,
		is_complex(dtype) ? kz_arg_complex(2, -1) : KZ_ARG(2), a.array, triangle, side,
		b.array, KZ_ARG(-3), NULL, &err));
	for (int z = 0; z < BATCH; z++) {
		for (int k = 0; k < m * n; k++) {
			const int i = k / n, j = k % n;
			double complex sum = 0;
			for (int l = 0; l < order; l++) {
				const int r = side == KZ_LEFT ? i : l, s = side == KZ_LEFT ? l : j;
				double complex x = is_in(triangle, r, s) ? *item(&a, 0, r, s)
					: turned(*item(&a, 0, s, r), hermitian);
				x = hermitian && r == s ? creal(x) : x;
				sum += x * (side == KZ_LEFT ? *item(&b, z, l, j)
					: *item(&b, z, i, l));
			}
			*item(&c, z, i, j) = alpha * sum - 3 * *item(&c, z, i, j);
		}
	}
	check(&c, hermitian ? "hemm" : "symm");
	drop(&a);
	drop(&b);
	drop(&c);
}

DEVICE_TEST(symmetric_matrices_multiply)
{
	for (int k = 0; k < 32; k++) {
		try_symmetric(dtypes[k % 4], (kz_triangle)(k / 4 % 2), (kz_side)(k / 8 % 2),
			k / 16, 5, 7);
	}
	try_symmetric(KZ_F32, KZ_LOWER, KZ_LEFT, false, 70, 65);
	try_symmetric(KZ_C128, KZ_UPPER, KZ_RIGHT, true, 1, 90);
	try_symmetric(KZ_F64, KZ_UPPER, KZ_RIGHT, true, 0, 4);
}

/* syrk and herk */

static void try_square(kz_dtype dtype, kz_triangle triangle, bool is_turned, bool hermitian,
	int n, int k)
{
	struct matrices a = draw(BATCH, is_turned ? k : n, is_turned ? n : k, dtype);
	struct matrices c = draw(BATCH, n, n, dtype);
	const kz_matrix_op op = !is_turned ? KZ_MATRIX_AS_IS : hermitian ? KZ_MATRIX_ADJOINT
		: KZ_MATRIX_TRANSPOSED;
	spoil(&c, triangle, false);
	for (int i = 0; hermitian && is_complex(dtype) && i < n; i++) {
		*item(&c, 1, i, i) = CMPLX(creal(*item(&c, 1, i, i)), NAN);
	}
	put(&a, dtype);
	put(&c, dtype);
	ok((hermitian ? kz_herk : kz_syrk)(c.array, triangle, KZ_ARG(2), a.array, op, KZ_ARG(-3),
		NULL, &err));
	for (int z = 0; z < BATCH; z++) {
		for (int at = 0; at < n * n; at++) {
			const int i = at / n, j = at % n;
			double complex sum = 0, *to = item(&c, z, i, j);
			for (int l = 0; is_in(triangle, i, j) && l < k; l++) {
				double complex x = is_turned ? *item(&a, z, l, i)
					: *item(&a, z, i, l);
				double complex y = is_turned ? *item(&a, z, l, j)
					: *item(&a, z, j, l);
				sum += turned(x, hermitian && is_turned)
					* turned(y, hermitian && !is_turned);
			}
			if (is_in(triangle, i, j)) {
				*to = hermitian && i == j ? creal(*to) : *to;
				*to = 2 * sum - 3 * *to;
			}
		}
	}
	check(&c, hermitian ? "herk" : "syrk");
	drop(&a);
	drop(&c);
}

DEVICE_TEST(matrices_multiply_themselves)
{
	for (int k = 0; k < 32; k++) {
		try_square(dtypes[k % 4], (kz_triangle)(k / 4 % 2), k / 8 % 2, k / 16, 6, 3);
	}
	try_square(KZ_F32, KZ_LOWER, false, false, MOST, 5);
	try_square(KZ_C64, KZ_UPPER, true, true, 300, 4);
	try_square(KZ_F64, KZ_UPPER, false, false, 4, 0);
	try_square(KZ_F64, KZ_LOWER, false, true, 0, 3);
}

/* Without beta the result does not depend on what c holds. */
DEVICE_TEST(a_triangle_may_hold_nan_before)
{
	struct matrices a = draw(1, 3, 2, KZ_F32), c = draw(1, 3, 3, KZ_F32);
	for (int i = 0; i < 9; i++) {
		c.at[i] = CMPLX(NAN, 0);
	}
	put(&a, KZ_F32);
	put(&c, KZ_F32);
	ok(kz_syrk(c.array, KZ_UPPER, KZ_ARG(1), a.array, KZ_MATRIX_AS_IS, KZ_ARG(0), NULL, &err));
	for (int at = 0; at < 9; at++) {
		const int i = at / 3, j = at % 3;
		if (j >= i) {
			c.at[at] = a.at[2 * i] * a.at[2 * j] + a.at[2 * i + 1] * a.at[2 * j + 1];
		}
	}
	check(&c, "syrk");
	drop(&a);
	drop(&c);
}

/* trmm */

static void try_triangular(kz_dtype dtype, kz_triangle triangle, kz_matrix_op op, bool is_unit,
	kz_side side, const int shape[2])
{
	const int m = shape[0], n = shape[1], order = side == KZ_LEFT ? m : n;
	struct matrices a = draw(1, order, order, dtype), b = draw(BATCH, m, n, dtype);
	double complex *line = calloc((size_t)order + 1, sizeof(*line));
	spoil(&a, triangle, is_unit);
	put(&a, dtype);
	put(&b, dtype);
	ok(kz_trmm(b.array, KZ_ARG(-2), a.array, triangle, op, is_unit, side, NULL, &err));
	for (int z = 0; z < BATCH; z++) {
		for (int k = 0; k < (side == KZ_LEFT ? n : m); k++) {
			for (int i = 0; i < order; i++) {
				line[i] = side == KZ_LEFT ? *item(&b, z, i, k) : *item(&b, z, k, i);
			}
			for (int i = 0; i < order; i++) {
				double complex sum = 0;
				for (int l = 0; l < order; l++) {
					int r = side == KZ_LEFT ? i : l, s = i + l - r;
					if (op != KZ_MATRIX_AS_IS) {
						r = s;
						s = i + l - r;
					}
					if (is_in(triangle, r, s)) {
						sum += line[l] * (is_unit && r == s ? 1
							: turned(*item(&a, 0, r, s),
							op == KZ_MATRIX_ADJOINT));
					}
				}
				*(side == KZ_LEFT ? item(&b, z, i, k) : item(&b, z, k, i))
					= -2 * sum;
			}
		}
	}
	check(&b, "trmm");
	free(line);
	drop(&a);
	drop(&b);
}

DEVICE_TEST(triangular_matrices_multiply_in_place)
{
	static const int shapes[][2] = {{4, 6}, {MOST, 2}, {3, MOST}, {0, 3}, {3, 1}};
	for (int k = 0; k < 96; k++) {
		try_triangular(dtypes[k % 4], (kz_triangle)(k / 4 % 2), (kz_matrix_op)(k / 8 % 3),
			k / 24 % 2, (kz_side)(k / 48), shapes[0]);
	}
	try_triangular(KZ_F32, KZ_LOWER, KZ_MATRIX_AS_IS, false, KZ_LEFT, shapes[1]);
	try_triangular(KZ_F64, KZ_LOWER, KZ_MATRIX_TRANSPOSED, true, KZ_LEFT, shapes[1]);
	try_triangular(KZ_C64, KZ_UPPER, KZ_MATRIX_ADJOINT, false, KZ_RIGHT, shapes[2]);
	try_triangular(KZ_F64, KZ_UPPER, KZ_MATRIX_AS_IS, false, KZ_RIGHT, shapes[2]);
	try_triangular(KZ_F64, KZ_UPPER, KZ_MATRIX_AS_IS, false, KZ_LEFT, shapes[3]);
	try_triangular(KZ_F64, KZ_UPPER, KZ_MATRIX_AS_IS, false, KZ_RIGHT, shapes[4]);
}

/* The operand and the result are one array. */
DEVICE_TEST(a_matrix_multiplies_itself_in_place)
{
	const float values[4] = {1, 2, 3, 4};
	float got[4];
	kz_array *a;
	ok(kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(2, 2), values, 16, &err));
	ok(kz_trmm(a, KZ_ARG(1), a, KZ_LOWER, KZ_MATRIX_AS_IS, 0, KZ_LEFT, NULL, &err));
	ok(kz_array_get(a, got, 16, &err));
	ck_assert(got[0] == 1 && got[1] == 2 && got[2] == 15 && got[3] == 22);
	ok(kz_array_set(a, values, 16, &err));
	ok(kz_syrk(a, KZ_LOWER, KZ_ARG(1), a, KZ_MATRIX_AS_IS, KZ_ARG(1), NULL, &err));
	ok(kz_array_get(a, got, 16, &err));
	ck_assert(got[0] == 6 && got[1] == 2 && got[2] == 14 && got[3] == 29);
	ok(kz_array_set(a, values, 16, &err));
	ok(kz_symm(a, KZ_ARG(1), a, KZ_UPPER, KZ_RIGHT, a, KZ_ARG(0), NULL, &err));
	ok(kz_array_get(a, got, 16, &err));
	ck_assert(got[0] == 5 && got[1] == 10 && got[2] == 11 && got[3] == 22);
	kz_array_release(a);
}

DEVICE_TEST(what_does_not_fit_is_refused)
{
	kz_array *a, *b, *line, *z;
	const kz_arg one = KZ_ARG(1);
	ok(kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(3, 3), &err));
	ok(kz_array_zeros(&b, dev, KZ_F32, KZ_SHAPE(4, 2), &err));
	ok(kz_array_zeros(&z, dev, KZ_C64, KZ_SHAPE(3, 3), &err));
	ok(kz_array_zeros(&line, dev, KZ_F32, KZ_SHAPE(3), &err));
	fails(kz_symm(b, one, b, KZ_LOWER, KZ_LEFT, b, one, NULL, &err), KZ_INVALID,
		"symm: expected square matrices as a, got shape (4, 2)");
	fails(kz_symm(b, one, a, KZ_LOWER, KZ_LEFT, b, one, NULL, &err), KZ_INVALID, "(3, 3)");
	fails(kz_hemm(a, one, a, (kz_triangle)2, KZ_LEFT, a, one, NULL, &err), KZ_INVALID,
		"hemm: unknown kz_triangle 2");
	fails(kz_hemm(a, one, a, KZ_LOWER, (kz_side)-1, a, one, NULL, &err), KZ_INVALID,
		"hemm: unknown kz_side -1");
	fails(kz_symm(a, one, line, KZ_LOWER, KZ_LEFT, a, one, NULL, &err), KZ_INVALID, "(3,)");
	fails(kz_syrk(a, KZ_LOWER, one, b, KZ_MATRIX_AS_IS, one, NULL, &err), KZ_INVALID,
		"syrk: shapes (3, 3) of c and (4, 2) of a do not fit");
	fails(kz_syrk(z, KZ_LOWER, one, z, KZ_MATRIX_ADJOINT, one, NULL, &err), KZ_INVALID,
		"syrk: expected a complex matrix as it is, or transposed");
	fails(kz_herk(z, KZ_LOWER, one, z, KZ_MATRIX_TRANSPOSED, one, NULL, &err), KZ_INVALID,
		"herk: expected a complex matrix as it is, or its adjoint");
	fails(kz_herk(z, KZ_LOWER, kz_arg_complex(1, 1), z, KZ_MATRIX_AS_IS, one, NULL, &err),
		KZ_INVALID, "herk: expected real factors");
	fails(kz_syrk(a, KZ_LOWER, one, z, KZ_MATRIX_AS_IS, one, NULL, &err), KZ_INVALID,
		"complex");
	fails(kz_trmm(b, one, a, KZ_LOWER, KZ_MATRIX_AS_IS, 0, KZ_LEFT, NULL, &err), KZ_INVALID,
		"trmm: shapes (4, 2) of b and (3, 3) of a do not fit");
	fails(kz_trmm(b, one, a, KZ_LOWER, (kz_matrix_op)3, 0, KZ_LEFT, NULL, &err), KZ_INVALID,
		"trmm: unknown kz_matrix_op 3");
	fails(kz_trmm(a, one, NULL, KZ_LOWER, KZ_MATRIX_AS_IS, 0, KZ_LEFT, NULL, &err), KZ_INVALID,
		"NULL");
	release_arrays(a, b, z, line);
}

SUITE(triangle)
{
	Suite *s = suite_create("triangle");
	TCase *tc = suite_add_case(s, "products");
	tcase_add_tests(tc, both_shapes_count(), symmetric_matrices_multiply,
		matrices_multiply_themselves, a_triangle_may_hold_nan_before,
		triangular_matrices_multiply_in_place, a_matrix_multiplies_itself_in_place,
		what_does_not_fit_is_refused);
	return s;
}

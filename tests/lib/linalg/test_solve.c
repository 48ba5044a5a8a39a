/* SPDX-License-Identifier: MIT */
/* Linear equations, against Gauss in long double on the host. */
#include "lib/linalg/linear.h"

enum { MOST = 24, ROOM = 70 * 70 };

static number a[ROOM], b[ROOM], x[ROOM], want[ROOM];

/* The type, the size, and how the operands lie, from the number of a round. */
static kz_dtype choose(int round, int64_t *n)
{
	linear_state = (uint32_t)round + 1;
	*n = 1 + linear_integer(MOST);
	return linear_dtypes[round % 4];
}

LINEAR_TEST(solve_gives_what_gauss_gives)
{
	for (int round = 0; round < 48; round++) {
		int64_t n, k = round % 3 + 1;
		kz_dtype dtype = choose(round, &n);
		linear_draw_regular(a, 1, n, dtype);
		linear_draw(b, n * k, dtype);
		kz_array *left = linear_upload(a, dtype, KZ_SHAPE(n, n),
			round / 4 % LINEAR_LAYOUTS);
		kz_array *right = linear_upload(b, dtype, k == 1 ? KZ_SHAPE(n) : KZ_SHAPE(n, k),
			round / 2 % LINEAR_LAYOUTS), *out;
		ok(kz_solve(&out, left, right, NULL, &err));
		ck_assert_int_eq(kz_array_ndim(out), k == 1 ? 1 : 2);
		linear_take(x, out, dtype, n * k);
		linear_gauss(want, a, b, n, k);
		linear_check("x", x, want, n * k, 20 * (double)n * linear_eps(dtype));
		release_arrays(left, right);
	}
}

/* (2, 1, n, n) and (3, n, k): each pair of a batch.  (n, n) and (3, n, k): one factorization. */
LINEAR_TEST(batches_of_equations_broadcast)
{
	enum { N = 5, K = 2 };
	for (int alone = 0; alone < 2; alone++) {
		int outer = alone ? 1 : 2;
		linear_draw_regular(a, outer, N, KZ_F64);
		linear_draw(b, 3 * N * K, KZ_F64);
		kz_array *left = linear_upload(a, KZ_F64, alone ? KZ_SHAPE(N, N)
			: KZ_SHAPE(2, 1, N, N), alone);
		kz_array *right = linear_upload(b, KZ_F64, KZ_SHAPE(3, N, K), LINEAR_GAPS), *out;
		for (int i = 0; i < outer * 3; i++) {
			linear_gauss(want + i * N * K, a + i / 3 * N * N, b + i % 3 * N * K, N, K);
		}
		ok(kz_solve(&out, left, right, NULL, &err));
		ck_assert_int_eq(kz_array_ndim(out), alone ? 3 : 4);
		linear_take(x, out, KZ_F64, outer * 3 * N * K);
		linear_check("x", x, want, outer * 3 * N * K, 1e-13);
		release_arrays(left, right);
	}
}

/* a inv(a) = 1 within n eps |a| |inv(a)|, and det as Gauss has it, in batches of 3. */
LINEAR_TEST(inverses_and_determinants_are_those_of_gauss)
{
	number identity[MOST * MOST];
	for (int round = 0; round < 32; round++) {
		int64_t n;
		kz_dtype dtype = choose(round, &n);
		double allowed = 20 * (double)n * linear_eps(dtype);
		kz_array *out, *sign, *logarithm;
		linear_draw_regular(a, 3, n, dtype);
		for (int64_t i = 0; i < 3 * n * n; i++) {
			a[i] /= (double)n * 0x1p-1; /* products neither over- nor underflow */
			a[i] = linear_number((float)creal(a[i]), (float)cimag(a[i]));
		}
		kz_array *array = linear_upload(a, dtype, KZ_SHAPE(3, n, n),
			round / 4 % LINEAR_LAYOUTS);
		ok(kz_inv(&out, array, NULL, &err));
		linear_take(x, out, dtype, 3 * n * n);
		number det[3], dets[3], signs[3], logs[3];
		linear_identity(identity, n, n);
		for (int i = 0; i < 3; i++) {
			det[i] = (number)linear_gauss(want + i * n * n, a + i * n * n, identity, n,
				n);
		}
		linear_check("inv", x, want, 3 * n * n, allowed);
		ok(kz_det(&out, array, NULL, &err));
		linear_take(dets, out, dtype, 3);
		ok(kz_slogdet(&sign, &logarithm, array, NULL, &err));
		linear_take(signs, sign, dtype, 3);
		linear_take(logs, logarithm, linear_real(dtype), 3);
		for (int i = 0; i < 3; i++) {
			number again = signs[i] * exp(creal(logs[i]));
			linear_check("det", &dets[i], &det[i], 1, allowed * cabs(det[i]));
			linear_check("slogdet", &again, &det[i], 1, allowed * 4 * cabs(det[i]));
		}
		kz_array_release(array);
	}
}

/* Only one triangle is read: the other has NaN. */
LINEAR_TEST(triangular_equations_read_one_triangle)
{
	for (int round = 0; round < 48; round++) {
		int64_t n, k = 3;
		kz_dtype dtype = choose(round, &n);
		int triangle = round / 4 % 2, op = round / 8 % 3, is_unit = round / 24;
		linear_draw_regular(a, 1, n, dtype);
		linear_draw(b, n * k, dtype);
		number full[MOST * MOST], turned[MOST * MOST];
		for (int64_t i = 0; i < n * n; i++) {
			bool is_read = triangle == KZ_LOWER ? i / n > i % n : i / n < i % n;
			bool is_diagonal = i / n == i % n;
			a[i] = is_diagonal || !is_unit ? a[i] : a[i] / 32;
			full[i] = is_read || (is_diagonal && !is_unit) ? a[i] : is_diagonal;
			a[i] = is_read || (is_diagonal && !is_unit) ? a[i] : NAN;
		}
		for (int64_t i = 0; i < n * n; i++) {
			number from = full[op ? i % n * n + i / n : i];
			turned[i] = op == KZ_MATRIX_ADJOINT ? conj(from) : from;
		}
		kz_array *left = linear_upload(a, dtype, KZ_SHAPE(n, n), round % LINEAR_LAYOUTS);
		kz_array *right = linear_upload(b, dtype, KZ_SHAPE(n, k), round % 3), *out;
		ok(kz_solve_triangular(&out, left, right, (kz_triangle)triangle, (kz_matrix_op)op,
			is_unit, NULL, &err));
		linear_take(x, out, dtype, n * k);
		linear_gauss(want, turned, b, n, k);
		linear_check("x", x, want, n * k, 20 * (double)n * linear_eps(dtype));
		release_arrays(left, right);
	}
}

LINEAR_TEST(other_types_are_converted)
{
	const number values[4] = {2, 0, 0, 4}, inverse[4] = {0.5, 0, 0, 0.25};
	static const struct {
		kz_dtype from, to;
	} rows[] = {{KZ_I32, KZ_F64}, {KZ_BOOL, KZ_F64}, {KZ_U8, KZ_F64}, {KZ_F16, KZ_F32},
		{KZ_BF16, KZ_F32}};
	const number truth[4] = {1, 0, 0, 1};
	for (size_t i = 0; i < countof(rows); i++) {
		kz_array *array = linear_upload(values, rows[i].from, KZ_SHAPE(2, 2), 0), *out;
		ok(kz_inv(&out, array, NULL, &err));
		linear_take(x, out, rows[i].to, 4);
		linear_check("inv", x, rows[i].from == KZ_BOOL ? truth : inverse, 4, 0);
		kz_array_release(array);
	}
	kz_array *left = linear_upload(values, KZ_F32, KZ_SHAPE(2, 2), 0), *out;
	kz_array *right = linear_upload(truth, KZ_U8, KZ_SHAPE(2, 2), 0);
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	ok(kz_solve(&out, left, right, NULL, &err)); // uint8 counts as float64
	linear_take(x, out, KZ_F64, 4);
	linear_check("x", x, inverse, 4, 0);
	options.dtype = KZ_C64;
	ok(kz_inv(&out, left, &options, &err));
	linear_take(x, out, KZ_C64, 4);
	options.dtype = 0;
	options.into = left;
	ok(kz_inv(NULL, left, &options, &err));
	linear_take(x, kz_array_retain(left), KZ_F32, 4);
	linear_check("inv", x, inverse, 4, 0);
	release_arrays(left, right);
}

LINEAR_TEST(singular_matrices_name_their_pivot)
{
	number cells[3 * 9] = {1, 2, 3, 4, 5, 7, 7, 8, 10};
	kz_array *array, *vector, *out = NULL, *logarithm;
	linear_identity(cells + 9, 3, 3);
	cells[9 + 8] = 0;
	linear_identity(cells + 18, 3, 3);
	array = linear_upload(cells + 9, KZ_F64, KZ_SHAPE(3, 3), 0);
	vector = linear_upload(cells, KZ_F64, KZ_SHAPE(3), 0);
	kz_status st = kz_solve(&out, array, vector, NULL, &err);
	ck_assert_int_eq(err.domain, KZ_DOMAIN_LAPACK);
	ck_assert_int_eq(err.code, 3);
	fails(st, KZ_NUMERIC, "solve: the matrix is singular: pivot 3 is 0");
	fails(kz_inv(&out, array, NULL, &err), KZ_NUMERIC,
		"inv: the matrix is singular: pivot 3 is 0");
	fails(kz_solve_triangular(&out, array, vector, KZ_LOWER, 0, 0, NULL, &err), KZ_NUMERIC,
		"solve_triangular: the matrix is singular: pivot 3 is 0");
	ck_assert_ptr_null(out);
	ok(kz_det(&out, array, NULL, &err));
	linear_take(x, out, KZ_F64, 1);
	ck_assert(x[0] == 0);
	ok(kz_slogdet(&out, &logarithm, array, NULL, &err));
	linear_take(x, out, KZ_F64, 1);
	linear_take(x + 1, logarithm, KZ_F64, 1);
	ck_assert(x[0] == 0 && creal(x[1]) == (double)-INFINITY);
	kz_array_release(array);
	array = linear_upload(cells, KZ_F64, KZ_SHAPE(1, 3, 3, 3), 0);
	fails(kz_inv(&out, array, NULL, &err), KZ_NUMERIC,
		"inv: matrix (0, 1) is singular: pivot 3");
	fails(kz_solve_triangular(&out, array, vector, KZ_UPPER, 0, 0, NULL, &err), KZ_NUMERIC,
		"solve_triangular: matrix (0, 1) is singular: pivot 3 is 0");
	ok(kz_det(&out, array, NULL, &err));
	linear_take(x, out, KZ_F64, 3);
	ck_assert(x[1] == 0 && x[2] == 1);
	release_arrays(array, vector);
}

/* Only a result that is too large for its type overflows. */
LINEAR_TEST(determinants_do_not_overflow_on_the_way)
{
	number cells[16] = {0};
	kz_array *array, *out;
	for (int i = 0; i < 4; i++) {
		cells[i * 5] = i < 2 ? 0x1p100 : 0x1p-99;
	}
	array = linear_upload(cells, KZ_F32, KZ_SHAPE(4, 4), 0);
	ok(kz_det(&out, array, NULL, &err));
	linear_take(x, out, KZ_F32, 1);
	ck_assert(x[0] == 4);
	kz_array_release(array);
	/* The size of a complex number may be beyond its parts' type. */
	const number wide[4] = {linear_number(1.5e308, 1.5e308), 0, 0,
		linear_number(1e-308, -1e-308)};
	kz_array *logarithm;
	array = linear_upload(wide, KZ_C128, KZ_SHAPE(2, 2), 0);
	ok(kz_slogdet(&out, &logarithm, array, NULL, &err));
	linear_take(x, out, KZ_C128, 1);
	linear_take(x + 1, logarithm, KZ_F64, 1);
	ck_assert(cabs(x[0] - 1) < 1e-14 && fabs(creal(x[1]) - log(3)) < 1e-12);
	kz_array_release(array);
}

LINEAR_TEST(empty_matrices_are_as_in_numpy)
{
	kz_array *none, *many, *out, *logarithm, *columns;
	ok(kz_array_zeros(&none, dev, KZ_F32, KZ_SHAPE(2, 0, 0), &err));
	ok(kz_array_zeros(&many, dev, KZ_F32, KZ_SHAPE(0, 3, 3), &err));
	ok(kz_array_zeros(&columns, dev, KZ_F32, KZ_SHAPE(0, 4), &err));
	ok(kz_det(&out, none, NULL, &err));
	linear_take(x, out, KZ_F32, 2);
	ck_assert(x[0] == 1 && x[1] == 1);
	ok(kz_slogdet(&out, &logarithm, none, NULL, &err));
	linear_take(x, out, KZ_F32, 2);
	linear_take(x + 2, logarithm, KZ_F32, 2);
	ck_assert(x[0] == 1 && x[2] == 0);
	ok(kz_inv(&out, none, NULL, &err));
	linear_take(x, out, KZ_F32, 0);
	ok(kz_det(&out, many, NULL, &err));
	linear_take(x, out, KZ_F32, 0);
	ok(kz_inv(&out, many, NULL, &err));
	ck_assert_int_eq(kz_array_shape(out).dims[2], 3);
	linear_take(x, out, KZ_F32, 0);
	ok(kz_solve(&out, none, columns, NULL, &err));
	ck_assert_int_eq(kz_array_ndim(out), 3);
	linear_take(x, out, KZ_F32, 0);
	ok(kz_solve_triangular(&out, none, columns, KZ_LOWER, 0, 0, NULL, &err));
	linear_take(x, out, KZ_F32, 0);
	release_arrays(none, many, columns);
}

/* They end, with an error or with NaN. */
LINEAR_TEST(nan_and_infinity_do_not_hang)
{
	for (int round = 0; round < 8; round++) {
		kz_array *array, *vector, *out = NULL;
		kz_dtype dtype = linear_dtypes[round / 2];
		linear_draw_regular(a, 1, MOST, dtype);
		a[MOST + 2] = round % 2 ? (double)INFINITY : (double)NAN;
		array = linear_upload(a, dtype, KZ_SHAPE(MOST, MOST), 0);
		vector = linear_upload(a, dtype, KZ_SHAPE(MOST), 0);
		if (!kz_solve(&out, array, vector, NULL, &err)) {
			linear_take(x, out, dtype, MOST);
		}
		kz_error_clear(&err);
		if (!kz_inv(&out, array, NULL, &err)) {
			linear_take(x, out, dtype, MOST * MOST);
		}
		kz_error_clear(&err);
		ok(kz_det(&out, array, NULL, &err));
		linear_take(x, out, dtype, 1);
		ck_assert(round % 2 || isnan(creal(x[0])));
		release_arrays(array, vector);
	}
}

/* A NaN anywhere in the second of three matrices: nothing else is spoilt, and nothing hides it. */
LINEAR_TEST(a_nan_makes_its_determinant_nan)
{
	enum { N = 4, ALL = 3 * N * N };
	number det[3], sign[3], logarithm[3], dets[3];
	for (int round = 0; round < 4 * N * N; round++) {
		kz_dtype dtype = linear_dtypes[round % 4];
		kz_array *array, *out = NULL, *logs, *factors[3], *vector;
		linear_draw_regular(a, 3, N, dtype);
		array = linear_upload(a, dtype, KZ_SHAPE(3, N, N), 0);
		ok(kz_det(&out, array, NULL, &err));
		linear_take(dets, out, dtype, 3);
		kz_array_release(array);
		if (round % 3 == 0) { // the first pivot is 0
			memset(a + N * N, 0, N * N * sizeof(*a));
		}
		a[N * N + round / 4] = (double)NAN;
		array = linear_upload(a, dtype, KZ_SHAPE(3, N, N), round % 4);
		ok(kz_det(&out, array, NULL, &err));
		linear_take(det, out, dtype, 3);
		ok(kz_slogdet(&out, &logs, array, NULL, &err));
		linear_take(sign, out, dtype, 3);
		linear_take(logarithm, logs, linear_real(dtype), 3);
		ck_assert(isnan(creal(det[1])) && isnan(creal(sign[1]))
			&& isnan(creal(logarithm[1])));
		for (int i = 0; i < 3; i += 2) {
			linear_check("det", &det[i], &dets[i], 1,
				1000 * linear_eps(dtype) * cabs(dets[i]));
			ck_assert(isfinite(creal(sign[i])) && isfinite(creal(logarithm[i])));
		}
		ok(kz_lu(&factors[0], &factors[1], &factors[2], array, NULL, &err));
		linear_take(x, factors[1], dtype, ALL);
		linear_take(x + ALL, factors[2], dtype, ALL);
		bool has_nan = false;
		for (int i = 0; i < 2 * ALL; i++) {
			has_nan |= isnan(creal(x[i]));
		}
		ck_assert(has_nan);
		vector = linear_upload(a, dtype, KZ_SHAPE(N), 0);
		if (kz_solve(&out, array, vector, NULL, &err) == KZ_OK) {
			linear_take(x, out, dtype, 3 * N);
			for (int i = 0; i < N; i++) {
				has_nan &= isfinite(creal(x[i])) && isfinite(creal(x[2 * N + i]));
			}
			ck_assert(has_nan);
		} else {
			ck_assert_int_eq(err.status, KZ_NUMERIC);
			kz_error_clear(&err);
		}
		release_arrays(array, vector, factors[0]);
	}
}

/* Matrices of integers times a power of two that has no reciprocal, and an ordinary one before
 * them. */
LINEAR_TEST(pivots_may_be_too_small_for_a_reciprocal)
{
	static const double cells[9] = {2, 1, -1, 4, -3, 5, -6, 2, 7}, solution[3] = {3, -1, 2};
	for (int t = 0; t < 4; t++) {
		kz_dtype dtype = linear_dtypes[t];
		bool is_single = linear_is_single(dtype);
		double tiny = is_single ? 0x1p-130 : 0x1p-1030, bound = is_single ? 1e-3 : 1e-10;
		number right[6] = {0}, unit = t < 2 ? 1 : linear_number(.6, .8), got[18];
		kz_array *array, *vectors, *out, *logs, *p, *l, *u;
		for (int i = 0; i < 18; i++) {
			a[i] = cells[i % 9] * (i < 9 ? 1 : tiny) * unit;
			right[i / 3] += a[i] * solution[i % 3];
		}
		array = linear_upload(a, dtype, KZ_SHAPE(2, 3, 3), t);
		vectors = linear_upload(right, dtype, KZ_SHAPE(2, 3, 1), 0);
		ok(kz_solve(&out, array, vectors, NULL, &err));
		linear_take(got, out, dtype, 6);
		for (int i = 0; i < 6; i++) {
			ck_assert_msg(cabs(got[i] - solution[i % 3]) < bound, "%s: x[%d] is %g",
				kz_dtype_name(dtype), i, creal(got[i]));
		}
		ok(kz_slogdet(&out, &logs, array, NULL, &err));
		linear_take(got, logs, linear_real(dtype), 2);
		ck_assert(fabs(creal(got[1]) - creal(got[0]) - 3 * log(tiny)) < bound);
		linear_take(got, out, dtype, 2);
		ck_assert(cabs(got[1] - got[0]) < bound);
		ok(kz_lu(&p, &l, &u, array, NULL, &err));
		linear_take(got, p, linear_real(dtype), 18);
		linear_take(b, l, dtype, 18);
		linear_take(x, u, dtype, 18);
		for (int i = 0; i < 18; i += 9) {
			number product[9], back[9];
			linear_multiply(product, b + i, false, x + i, 3, 3, 3);
			linear_multiply(back, got + i, false, product, 3, 3, 3);
			linear_check("p l u", back, a + i, 9, bound * (i ? tiny : 1));
		}
		release_arrays(array, vectors);
	}
}

/* diag(tiny, large), in both orders, and triangles of them. */
LINEAR_TEST(diagonals_may_have_any_numbers)
{
	for (int round = 0; round < 8; round++) {
		kz_dtype dtype = linear_dtypes[round / 2];
		bool is_single = linear_is_single(dtype), is_second = round % 2;
		double tiny = is_single ? 0x1p-140 : 1e-309, large = is_single ? 0x1p127 : 1e308;
		number got[4], diagonal[2] = {is_second ? large : tiny, is_second ? tiny : large};
		kz_array *array, *vector, *out, *logs;
		a[0] = diagonal[0];
		a[1] = a[2] = 0;
		a[3] = diagonal[1];
		array = linear_upload(a, dtype, KZ_SHAPE(2, 2), 0);
		vector = linear_upload(diagonal, dtype, KZ_SHAPE(2), 0);
		ok(kz_det(&out, array, NULL, &err));
		linear_take(got, out, dtype, 1);
		ck_assert(cabs(got[0] / (tiny * large) - 1) < 1e-6);
		ok(kz_slogdet(&out, &logs, array, NULL, &err));
		linear_take(got, logs, linear_real(dtype), 1);
		ck_assert(fabs(creal(got[0]) - log(tiny) - log(large)) < 1e-4);
		kz_array_release(out);
		for (int way = 0; way < 3; way++) {
			ok(way == 0 ? kz_solve(&out, array, vector, NULL, &err)
				: kz_solve_triangular(&out, array, vector,
					way == 1 ? KZ_LOWER : KZ_UPPER,
					KZ_MATRIX_AS_IS, 0, NULL, &err));
			linear_take(got, out, dtype, 2);
			ck_assert(got[0] == 1 && got[1] == 1);
		}
		kz_array_release(array);
		a[0] = (double)INFINITY; // a finite number divided by it is 0
		diagonal[0] = 1;
		array = linear_upload(a, dtype, KZ_SHAPE(2, 2), 0);
		kz_array_release(vector);
		vector = linear_upload(diagonal, dtype, KZ_SHAPE(2), 0);
		ok(kz_solve_triangular(&out, array, vector, KZ_LOWER, KZ_MATRIX_AS_IS, 0, NULL,
			&err));
		linear_take(got, out, dtype, 2);
		ck_assert(creal(got[0]) == 0 && got[1] == 1);
		release_arrays(array, vector);
		a[0] = is_single ? 0x1p-127 : 0x1p-1023; // which has an inverse
		a[3] = large;
		array = linear_upload(a, dtype, KZ_SHAPE(2, 2), 0);
		ok(kz_inv(&out, array, NULL, &err));
		linear_take(got, out, dtype, 4);
		ck_assert(got[0] == 1 / a[0] && got[1] == 0 && got[2] == 0);
		kz_array_release(array);
	}
}

LINEAR_TEST(shapes_that_do_not_fit_are_printed)
{
	kz_array *square, *row, *out = NULL, *sign = NULL, *scalar;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	ok(kz_array_ones(&square, dev, KZ_F32, KZ_SHAPE(2, 3, 3), &err));
	ok(kz_array_ones(&row, dev, KZ_F32, KZ_SHAPE(4, 3, 1), &err));
	ok(kz_array_ones(&scalar, dev, KZ_F32, KZ_SHAPE(), &err));
	fails(kz_solve(&out, square, row, NULL, &err), KZ_INVALID,
		"solve: shapes (2, 3, 3) and (4, 3, 1) do not fit");
	fails(kz_solve(&out, square, scalar, NULL, &err), KZ_INVALID, "got shape ()");
	fails(kz_inv(&out, row, NULL, &err), KZ_INVALID,
		"inv: expected a square matrix, got shape (4, 3, 1)");
	fails(kz_det(&out, scalar, NULL, &err), KZ_INVALID, "det: expected a matrix, got shape ()");
	fails(kz_inv(&out, NULL, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_solve(&out, square, NULL, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_inv(NULL, square, NULL, &err), KZ_INVALID, "inv: out is NULL");
	fails(kz_slogdet(&sign, NULL, square, NULL, &err), KZ_INVALID, "slogdet: out is NULL");
	ck_assert_int_eq(kz_slogdet(NULL, NULL, square, NULL, &err), KZ_INVALID);
	ck_assert_uint_eq(err.reserved[0], 0); /* one failure, which nothing came after */
	kz_error_clear(&err);
	fails(kz_solve_triangular(&out, square, row, 2, 0, 0, NULL, &err), KZ_INVALID,
		"shapes (2, 3, 3) and (4, 3, 1)");
	options.into = row;
	fails(kz_slogdet(&sign, &out, square, &options, &err), KZ_INVALID, "without `into`");
	options.into = scalar;
	kz_array *identity;
	ok(kz_array_eye(&identity, dev, KZ_F32, 3, 3, 0, &err));
	fails(kz_inv(&out, identity, &options, &err), KZ_INVALID,
		"(3, 3), which does not fit into ()");
	ck_assert_ptr_null(out);
	fails(kz_solve_triangular(&out, identity, identity, 2, 0, 0, NULL, &err), KZ_INVALID,
		"unknown kz_triangle 2");
	release_arrays(square, row, scalar, identity);
}

LINEAR_TEST(a_capture_is_refused)
{
	kz_array *square, *out = NULL;
	kz_stream *stream;
	CUgraph graph;
	struct device_scope scope;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	ok(kz_array_ones(&square, dev, KZ_F32, KZ_SHAPE(3, 3), &err));
	ok(device_enter(dev, &scope, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	options.stream = stream;
	CUstream handle = kz_stream_handle(stream);
	ck_assert_int_eq(dev->drv->StreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	fails(kz_inv(&out, square, &options, &err), KZ_STATE, "inv waits for what LAPACK reports");
	ck_assert_int_eq(dev->drv->StreamEndCapture(handle, &graph), 0);
	ck_assert_int_eq(dev->drv->GraphDestroy(graph), 0);
	device_leave(dev, &scope);
	kz_stream_release(stream);
	kz_array_release(square);
}

LINEAR_TEST(a_failing_allocation_leaves_nothing_behind)
{
	linear_draw_regular(a, 2, 4, KZ_C64);
	kz_array *array = linear_upload(a, KZ_C64, KZ_SHAPE(2, 4, 4), LINEAR_GAPS);
	for (int function = 0; function < 4; function++) {
		int failed = 0;
		for (long n = 0;; n++) {
			kz_array *out = NULL, *sign = NULL;
			mem_fail_after(n);
			kz_status st = function == 0 ? kz_inv(&out, array, NULL, &err)
				: function == 1 ? kz_slogdet(&sign, &out, array, NULL, &err)
				: function == 2 ? kz_solve(&out, array, array, NULL, &err)
				: kz_solve_triangular(&out, array, array, 0, 0, 0, NULL, &err);
			bool done = !mem_has_failed();
			mem_fail_after(-1);
			ck_assert(done ? st == KZ_OK : st == KZ_OK || (!out && !sign));
			failed += st != KZ_OK;
			kz_error_clear(&err);
			release_arrays(out, sign);
			if (done) {
				break;
			}
		}
		ck_assert_int_gt(failed, 4);
	}
	kz_array_release(array);
}

/* A library of two functions: others are done by our own kernels, or refused by name. */
START_TEST(a_library_may_lack_functions)
{
	kz_array *array, *out = NULL, *single;
	number two = 2;
	err = (kz_error)KZ_ERROR_INIT;
	setenv("KUDZU_BLAS", KZ_TEST_BUILD "/tests/dropin/libfew_blas.so", 1);
	dev = support_open(_i);
	linear_draw_regular(a, 1, 70, KZ_F64);
	array = linear_upload(a, KZ_F64, KZ_SHAPE(2, 2), 0);
	ok(kz_det(&out, array, NULL, &err));
	linear_take(x, out, KZ_F64, 1);
	want[0] = (number)linear_gauss(b, a, &two, 2, 0);
	linear_check("det", x, want, 1, 1e-14 * cabs(want[0]));
	ok(kz_inv(&out, array, NULL, &err)); // our kernels, after dgetrf or without it
	linear_take(x, out, KZ_F64, 4);
	linear_identity(b, 2, 2);
	linear_gauss(want, a, b, 2, 2);
	linear_check("inv", x, want, 4, 1e-14);
	kz_array_release(array);
	array = linear_upload(a, KZ_F64, KZ_SHAPE(70, 70), 0);
	ok(kz_array_astype(&single, array, KZ_F32, &err));
	ok(kz_matmul(&out, array, array, NULL, &err)); // dgemm
	linear_take(x, out, KZ_F64, 4900);
	linear_multiply(want, a, false, a, 70, 70, 70);
	linear_check("product", x, want, 4900, 1e-9);
	ok(kz_matmul(&out, single, single, NULL, &err)); // our kernel
	linear_take(x, out, KZ_F32, 4900);
	linear_check("product", x, want, 4900, 0.1);
	kz_status st = kz_eigvals(&out, array, NULL, &err); // on a GPU another library may have it
	if (st) {
		fails(st, KZ_UNSUPPORTED, "eigvals: eigenvalues needs LAPACK");
	}
	kz_array_release(st ? NULL : out);
	release_arrays(array, single);
	support_close(dev);
}
END_TEST

/* numpy: np.linalg.matrix_power(np.array([[2, 1], [1, 1]]), -3) */
LINEAR_TEST(a_negative_power_is_that_of_the_inverse)
{
	const number cells[4] = {2, 1, 1, 1}, cube[4] = {5, -8, -8, 13};
	kz_array *array = linear_upload(cells, KZ_I32, KZ_SHAPE(2, 2), 0), *out = NULL;
	ok(kz_matrix_power(&out, array, -3, NULL, &err));
	linear_take(x, out, KZ_F64, 4);
	linear_check("power", x, cube, 4, 1e-13);
	fails(kz_matrix_power(&out, array, INT64_MIN, NULL, &err), KZ_RANGE, "out of range");
	ok(kz_array_fill(array, KZ_ARG(1), &err));
	fails(kz_matrix_power(&out, array, -1, NULL, &err), KZ_NUMERIC, "pivot 2 is 0");
	kz_array_release(array);
}

SUITE(solve)
{
	Suite *suite = suite_create("solve");
	TCase *tcase = suite_add_case(suite, "solve");
	tcase_set_timeout(tcase, 60);
	tcase_add_tests(tcase, linear_all_ways(), solve_gives_what_gauss_gives,
		batches_of_equations_broadcast, inverses_and_determinants_are_those_of_gauss,
		triangular_equations_read_one_triangle, other_types_are_converted,
		singular_matrices_name_their_pivot, determinants_do_not_overflow_on_the_way,
		empty_matrices_are_as_in_numpy, nan_and_infinity_do_not_hang,
		a_nan_makes_its_determinant_nan, pivots_may_be_too_small_for_a_reciprocal,
		diagonals_may_have_any_numbers,
		a_negative_power_is_that_of_the_inverse,
		shapes_that_do_not_fit_are_printed, a_capture_is_refused,
		a_failing_allocation_leaves_nothing_behind);
	tcase_add_tests(tcase, support_device_count(), a_library_may_lack_functions);
	return suite;
}

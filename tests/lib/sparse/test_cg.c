/* SPDX-License-Identifier: MIT */
/* Conjugate gradients with operators of the caller's.  Solutions are put into the equations on the
 * host. */
#include "base/common.h"

#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <kudzu/linalg.h>
#include <kudzu/sparse.h>

#include <complex.h>
#include <math.h>
#include <string.h>

enum { N = 60 };

/* A Hermitian matrix with three diagonals, positive definite by its main one, which grows. */
static double complex element(int i, int j)
{
	return i == j ? 3 + i * i : i == j + 1 ? CMPLX(-1, 0.5) : j == i + 1 ? CMPLX(-1, -0.5) : 0;
}

/* An operator that multiplies by an array, and fails in a call. */
struct product {
	kz_array *matrix;
	kz_dtype dtype;  /* that it saw */
	int calls, fails_in;
	bool is_silent;
};

static kz_status multiply(void *data, kz_array *to, kz_array *from, kz_stream *stream,
	kz_error *error)
{
	struct product *product = data;
	const kz_op_options options = {.size = sizeof(options), .into = to, .stream = stream};
	product->dtype = kz_array_dtype(from);
	if (++product->calls == product->fails_in) {
		return product->is_silent ? KZ_IO : kz_array_get(from, NULL, -1, error);
	}
	return kz_matmul(NULL, product->matrix, from, &options, error);
}

/* `element` as it is, or the inverse of its diagonal. */
static struct product make_product(kz_dtype dtype, bool is_inverse)
{
	static double complex m[N][N];
	struct product out = {.fails_in = 0};
	kz_array *wide;
	bool is_real = dtype == KZ_F32 || dtype == KZ_F64;
	for (int k = 0; k < N * N; k++) {
		const int i = k / N, j = k % N;
		const double complex value = is_inverse ? (i == j) / element(i, i) : element(i, j);
		m[i][j] = is_real ? creal(value) : value;
	}
	ok(kz_array_from(&wide, dev, KZ_C128, KZ_SHAPE(N, N), m, sizeof(m), &err));
	ok(kz_array_astype(&out.matrix, wide, dtype, &err));
	kz_array_release(wide);
	return out;
}

/* The norm of b - a x over that of b. */
static double residual_of(kz_array *x, kz_array *b, bool is_real)
{
	double complex host[2][N];
	double sums[2] = {0, 0};
	for (int k = 0; k < 2; k++) {
		kz_array *wide;
		ok(kz_array_astype(&wide, k ? b : x, KZ_C128, &err));
		ok(kz_array_get(wide, host[k], sizeof(host[k]), &err));
		kz_array_release(wide);
	}
	for (int i = 0; i < N; i++) {
		double complex left = host[1][i];
		for (int j = 0; j < N; j++) {
			const double complex value = element(i, j);
			left -= (is_real ? creal(value) : value) * host[0][j];
		}
		sums[0] += creal(left * conj(left));
		sums[1] += creal(host[1][i] * conj(host[1][i]));
	}
	return sqrt(sums[0] / sums[1]);
}

static kz_array *make_b(kz_dtype dtype)
{
	double complex host[N];
	kz_array *wide, *b;
	for (int i = 0; i < N; i++) {
		host[i] = CMPLX(sin(i + 1), dtype == KZ_C64 || dtype == KZ_C128 ? cos(3 * i) : 0);
	}
	ok(kz_array_from(&wide, dev, KZ_C128, KZ_SHAPE(N), host, sizeof(host), &err));
	ok(kz_array_astype(&b, wide, dtype, &err));
	kz_array_release(wide);
	return b;
}

static const kz_dtype dtypes[] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128};

DEVICE_TEST(operators_solve_and_preconditioners_spare_iterations)
{
	for (size_t t = 0; t < countof(dtypes); t++) {
		const bool is_fine = t % 2;
		struct product a = make_product(dtypes[t], false);
		struct product inverse = make_product(dtypes[t], true);
		kz_operator with = KZ_OPERATOR_INIT, near = KZ_OPERATOR_INIT;
		kz_sparse_cg_options how = KZ_SPARSE_CG_OPTIONS_INIT;
		kz_sparse_cg_result result[2] = {KZ_SPARSE_CG_RESULT_INIT,
			KZ_SPARSE_CG_RESULT_INIT};
		kz_array *b = make_b(dtypes[t]), *x, *y;
		with.apply = near.apply = multiply;
		with.data = &a;
		near.data = &inverse;
		how.rtol = is_fine ? 1e-11 : 1e-5;
		ok(kz_cg(&x, &with, b, &how, &result[0], &err));
		ck_assert_int_eq(a.calls, result[0].iterations);
		how.custom = &near;
		ok(kz_cg(&y, &with, b, &how, &result[1], &err));
		ck_assert_int_eq(inverse.calls, result[1].iterations);
		for (int k = 0; k < 2; k++) {
			ck_assert_int_eq(result[k].converged, 1);
			ck_assert(residual_of(k ? y : x, b, t < 2) < (is_fine ? 1e-10 : 1e-4));
		}
		ck_assert_int_lt(3 * result[1].iterations, result[0].iterations);
		ck_assert(a.dtype == dtypes[t] && inverse.dtype == dtypes[t]);
		ck_assert_uint_eq(kz_array_dtype(x), dtypes[t]);
		release_arrays(a.matrix, inverse.matrix, b, x, y);
	}
}

/* A matrix with Jacobi's preconditioner, and with the same one by the caller. */
DEVICE_TEST(a_sparse_matrix_takes_a_preconditioner_of_the_caller)
{
	struct product a = make_product(KZ_F64, false), inverse = make_product(KZ_F64, true);
	kz_operator near = KZ_OPERATOR_INIT;
	kz_sparse_cg_options how = KZ_SPARSE_CG_OPTIONS_INIT;
	kz_sparse_cg_result result[2] = {KZ_SPARSE_CG_RESULT_INIT, KZ_SPARSE_CG_RESULT_INIT};
	kz_array *b = make_b(KZ_F64), *x, *y;
	kz_sparse *sparse;
	near.apply = multiply;
	near.data = &inverse;
	ok(kz_sparse_from_dense(&sparse, a.matrix, KZ_SPARSE_CSR, NULL, &err));
	how.preconditioner = KZ_PRECONDITIONER_JACOBI;
	ok(kz_sparse_cg(&x, sparse, b, &how, &result[0], &err));
	how.custom = &near;
	fails(kz_sparse_cg(&y, sparse, b, &how, &result[1], &err), KZ_INVALID,
		"one preconditioner");
	how.preconditioner = KZ_PRECONDITIONER_NONE;
	ok(kz_sparse_cg(&y, sparse, b, &how, &result[1], &err));
	ck_assert_int_eq(result[0].iterations, result[1].iterations);
	ck_assert_int_eq(inverse.calls, result[1].iterations);
	ck_assert(residual_of(y, b, true) < 1e-4);
	kz_array_release(y);
	inverse.fails_in = inverse.calls + 2;
	fails(kz_sparse_cg(&y, sparse, b, &how, &result[1], &err), KZ_RANGE,
		"bytes of host memory");
	release_arrays(a.matrix, inverse.matrix, b, x);
	kz_sparse_release(sparse);
}

/* The status and the words of an operator, whichever of the two it is, in any call. */
DEVICE_TEST(what_an_operator_says_passes_through)
{
	struct product a = make_product(KZ_F32, false), inverse = make_product(KZ_F32, true);
	kz_operator with = KZ_OPERATOR_INIT, near = KZ_OPERATOR_INIT;
	kz_sparse_cg_options how = KZ_SPARSE_CG_OPTIONS_INIT;
	kz_array *b = make_b(KZ_F32), *x;
	with.apply = near.apply = multiply;
	with.data = &a;
	near.data = &inverse;
	how.custom = &near;
	how.initial = b; // so that the operator is called before the first iteration
	for (int k = 0; k < 8; k++) {
		struct product *bad = k % 2 ? &a : &inverse;
		a.calls = inverse.calls = a.fails_in = inverse.fails_in = 0;
		bad->fails_in = 1 + k / 4;
		bad->is_silent = k / 2 % 2;
		fails(kz_cg(&x, &with, b, &how, NULL, &err), bad->is_silent ? KZ_IO : KZ_RANGE,
			!bad->is_silent ? "bytes of host memory" : bad == &a
			? "cg: the operator failed"
			: "cg: the preconditioner failed");
		ck_assert_ptr_null(x);
		ck_assert_int_eq(kz_cg(&x, &with, b, &how, NULL, NULL), KZ_OK);
		kz_array_release(x);
	}
	a.calls = 0;
	a.fails_in = 1;
	ck_assert_int_eq(kz_cg(&x, &with, b, &how, NULL, NULL), a.is_silent ? KZ_IO : KZ_RANGE);
	release_arrays(a.matrix, inverse.matrix, b);
}

static kz_status negate(void *data, kz_array *to, kz_array *from, kz_stream *stream,
	kz_error *error)
{
	const kz_op_options options = {.size = sizeof(options), .into = to, .stream = stream};
	return kz_apply(NULL, KZ_OP_MULTIPLY, &options, error, KZ_ARGS(from, data ? -1 : 1));
}

DEVICE_TEST(operators_that_cannot_serve_are_refused)
{
	kz_operator plus = KZ_OPERATOR_INIT, minus = KZ_OPERATOR_INIT, none = KZ_OPERATOR_INIT;
	kz_sparse_cg_options how = KZ_SPARSE_CG_OPTIONS_INIT;
	kz_sparse_cg_result result = KZ_SPARSE_CG_RESULT_INIT;
	kz_array *b, *x, *matrix;
	plus.apply = minus.apply = negate;
	minus.data = dev;
	ok(kz_arange(&b, dev, KZ_I32, 0, 5, 1, &err));
	ok(kz_array_zeros(&matrix, dev, KZ_F32, KZ_SHAPE(2, 2), &err));
	ok(kz_cg(&x, &plus, b, NULL, &result, &err)); /* x = b, in a float type that holds it */
	ck_assert_int_eq(result.iterations, 1);
	ck_assert_uint_eq(kz_array_dtype(x), KZ_F64);
	kz_array_release(x);
	fails(kz_cg(&x, &minus, b, NULL, NULL, &err), KZ_NUMERIC, "p^H a p = -30");
	how.custom = &minus;
	fails(kz_cg(&x, &plus, b, &how, NULL, &err), KZ_NUMERIC,
		"the preconditioner is not positive definite: after 0 iterations r^H z = -30");
	how.custom = &none;
	fails(kz_cg(&x, &plus, b, &how, NULL, &err), KZ_INVALID, "`apply` of the preconditioner");
	none.size = 1;
	fails(kz_cg(&x, &plus, b, &how, NULL, &err), KZ_INVALID, "kz_operator");
	fails(kz_cg(&x, NULL, b, NULL, NULL, &err), KZ_INVALID, "expected an operator, got NULL");
	fails(kz_cg(&x, &none, b, NULL, NULL, &err), KZ_INVALID, "kz_operator");
	fails(kz_cg(&x, &plus, matrix, NULL, NULL, &err), KZ_INVALID, "expected b of shape (4,)");
	how.custom = NULL;
	how.preconditioner = KZ_PRECONDITIONER_JACOBI;
	fails(kz_cg(&x, &plus, b, &how, NULL, &err), KZ_INVALID, "no diagonal");
	release_arrays(b, matrix);
}

SUITE(cg)
{
	Suite *s = suite_create("cg");
	TCase *tc = suite_add_case(s, "operators");
	tcase_add_tests(tc, both_shapes_count(),
		operators_solve_and_preconditioners_spare_iterations,
		a_sparse_matrix_takes_a_preconditioner_of_the_caller,
		what_an_operator_says_passes_through, operators_that_cannot_serve_are_refused);
	return s;
}

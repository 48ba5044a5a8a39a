/* SPDX-License-Identifier: MIT */
/*
 * Linear equations: solve, inv, det, slogdet, and triangular ones.
 *
 * LAPACK sees the transpose of a row-major matrix, which serves as well: the inverse of a transpose
 * is the transposed inverse, the determinant is the same, and a x = b is solved by the factors of
 * a' as transposed ones.  Only a right-hand side of several columns is turned.
 */
#include "base/common.h"

#include "lib/linalg/lapack.h"

#include "base/alloc.h"

#include <kudzu/indexing.h>
#include <kudzu/solve.h>
#include <kudzu/view.h>

#include <complex.h>
#include <math.h>
#include <string.h>

/* solve */

/* The shapes of a and b fit; their batches broadcast to that of the call. */
static kz_status solve_check(struct lapack *call, const kz_array *a, const kz_array *b,
	kz_error *err)
{
	kz_shape batches[2], both;
	kz_status st = lapack_take_batch(call, a, true, err);
	if (st) {
		return st;
	}
	if (b->shape.ndim == 0) {
		return error_set(err, KZ_INVALID, "%s: expected a vector or a matrix on the "
			"right-hand side, got shape ()", call->name);
	}
	bool is_vector = b->shape.ndim == 1;
	int64_t n = a->shape.dims[a->shape.ndim - 1];
	int64_t rows = b->shape.dims[b->shape.ndim - (is_vector ? 1 : 2)];
	batches[0] = call->batch;
	batches[1] = b->shape;
	batches[1].ndim = is_vector ? 0 : b->shape.ndim - 2;
	if (rows != n || shape_broadcast(&both, batches[0], batches[1], NULL)) {
		return error_set(err, KZ_INVALID, "%s: shapes %s and %s do not fit", call->name,
			shape_text(&a->shape).text, shape_text(&b->shape).text);
	}
	lapack_set_batch(call, &both);
	return KZ_OK;
}

/* A right-hand side as matrices: a 1-d one is a column. */
static kz_status solve_columns(kz_array **out, kz_array *b, kz_error *err)
{
	if (b->shape.ndim == 1) {
		return kz_array_expand(out, b, KZ_AXES(1), err);
	}
	*out = kz_array_retain(b);
	return KZ_OK;
}

/* What solves for a column becomes a vector again.  Owns `result`. */
static kz_status solve_finish(kz_array **out, const struct lapack *call, kz_array *result,
	const kz_array *b, kz_error *err)
{
	if (b->shape.ndim == 1) {
		kz_array *vectors = NULL;
		kz_status st = kz_array_squeeze(&vectors, result, KZ_AXES(-1), err);
		kz_array_release(result);
		if (st) {
			return st;
		}
		result = vectors;
	}
	return lapack_finish(out, call, result, err);
}

/* The factors of a, by which every right-hand side is divided.  One matrix for all batches is
 * factored once. */
static kz_status solve_by_factors(struct lapack *call, kz_array *a, kz_array *turned, kz_error *err)
{
	struct lapack one = *call;
	struct lapack_factors factors;
	int64_t n = a->shape.dims[a->shape.ndim - 1];
	kz_shape own = a->shape;
	own.ndim -= 2;
	lapack_set_batch(&one, &own);
	bool is_shared = one.count == 1;
	if (!is_shared) {
		one = *call;
	}
	kz_status st = lapack_factor(&factors, &one, a, 0, err);
	if (!st) {
		call->is_own = one.is_own;
		struct linalg_task task = {
			.op = LINALG_GETRS, .op_a = 'T', .n = n,
			.k = turned->shape.dims[turned->shape.ndim - 2],
			.a = lapack_matrix(factors.lu),
			.b = lapack_vector(factors.pivots), .c = lapack_matrix(turned),
		};
		task.a.next = is_shared ? 0 : task.a.next;
		task.b.next = is_shared ? 0 : task.b.next;
		st = lapack_run(call, &task, NULL, err);
	}
	lapack_release_factors(&factors);
	return st;
}

kz_status kz_solve(kz_array **out, kz_array *a, kz_array *b, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct lapack call;
	kz_array *columns = NULL, *turned = NULL, *result = NULL;
	kz_status st;
	if ((st = lapack_clear(out, "solve", options, err))
	    || (st = lapack_begin(&call, "solve", (kz_array *[]){a, b}, 2, options, err))
	    || (st = solve_check(&call, a, b, err)) || (st = solve_columns(&columns, b, err))
	    || (st = lapack_copy(&turned, &call, columns, true, err))) {
		goto out;
	}
	const int64_t *ends = turned->shape.dims + turned->shape.ndim - 2;
	kz_shape shape = lapack_matrices(&call, ends[1], ends[0]);
	st = turned->count ? solve_by_factors(&call, a, turned, err) : KZ_OK;
	if (!st && ends[0] != 1) {
		st = lapack_copy(&result, &call, turned, true, err);
	} else if (!st) { // one column lies in both as it is
		st = kz_array_reshape_view(&result, turned, shape, err);
	}
	st = st ? st : solve_finish(out, &call, result, b, err);
out:
	kz_array_release(columns);
	kz_array_release(turned);
	return st;
}

/* inv */

/* Divide the identity by the factors, or let getri do it. */
static kz_status solve_invert_factors(kz_array **out, struct lapack *call, kz_array *lu,
	kz_array *pivots, kz_array **info, kz_error *err)
{
	struct linalg_device *math;
	int64_t n = lu->shape.dims[lu->shape.ndim - 1];
	struct linalg_task task = {.n = n, .k = n, .op_a = 'N', .op = LINALG_GETRI,
		.a = lapack_matrix(lu), .b = lapack_vector(pivots)};
	kz_status st = linalg_device_get(&math, call->device, err);
	if (st) {
		return st;
	}
	bool has_getri = linalg_has(math, LINALG_GETRI, call->type);
	if (has_getri && math->inverts_in_place && !call->is_own) {
		*out = kz_array_retain(lu);
	} else if ((st = lapack_create(out, call, call->dtype, &lu->shape, err))) {
		return st;
	}
	if (!has_getri) {
		task.op = LINALG_GETRS;
		st = lapack_fill_identity(call, *out, err);
	}
	task.c = lapack_matrix(*out);
	kz_array *again = NULL; // what getri finds is what getrf has found
	st = st ? st : lapack_run(call, &task, info ? &again : NULL, err);
	kz_array_release(again);
	return st;
}

kz_status solve_invert(kz_array **out, struct lapack *call, kz_array *array, kz_array **info,
	kz_error *err)
{
	struct lapack_factors factors;
	kz_array *inverse = NULL;
	kz_status st = lapack_factor(&factors, call, array, info ? LAPACK_SINGULAR : 0, err);
	if (!st && factors.lu->count == 0) {
		inverse = kz_array_retain(factors.lu);
	} else if (!st) {
		st = solve_invert_factors(&inverse, call, factors.lu, factors.pivots, info, err);
	}
	if (info) {
		*info = factors.info;
		factors.info = NULL;
	}
	lapack_release_factors(&factors);
	return array_finish(out, inverse, st);
}

kz_status kz_inv(kz_array **out, kz_array *array, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	kz_array *result = NULL;
	kz_status st;
	if ((st = lapack_clear(out, "inv", options, err))
	    || (st = lapack_begin(&call, "inv", &array, 1, options, err))
	    || (st = lapack_take_batch(&call, array, true, err))
	    || (st = solve_invert(&result, &call, array, NULL, err))) {
		return st;
	}
	return lapack_finish(out, &call, result, err);
}

/* Determinants */

/* CMPLX, which not all compilers have. */
static double complex solve_number(double re, double im)
{
	const double parts[2] = {re, im};
	double complex out;
	memcpy(&out, parts, sizeof(out));
	return out;
}

/* What LU factorizations say of the determinants, on the host. */
struct solve_factors {
	int64_t n;
	double complex *diagonals;
	int32_t *pivots;
	int32_t *info;
	uint8_t *nans;           /* whether a matrix has one; looked for where one is singular */
	double complex *results; /* room for two for each matrix */
};

static void solve_factors_free(struct solve_factors *factors)
{
	mem_free(factors->diagonals);
	mem_free(factors->pivots);
	mem_free(factors->info);
	mem_free(factors->nans);
	mem_free(factors->results);
}

/* Copy the diagonals of U to the host, as complex128. */
static kz_status solve_get_diagonals(struct solve_factors *factors, kz_array *lu,
	struct kz_stream *stream, kz_error *err)
{
	kz_array *diagonal = NULL, *wide = NULL;
	kz_status st = kz_array_diagonal(&diagonal, lu, 0, -2, -1, err);
	if (!st && !(st = elementwise_contiguous(&wide, diagonal, KZ_C128, stream, err))) {
		st = kz_array_get(wide, factors->diagonals, kz_array_size(wide), err);
	}
	kz_array_release(diagonal);
	kz_array_release(wide);
	return st;
}

/* Which matrices have a NaN: where a pivot is 0 the diagonal may have none. */
static kz_status solve_get_nans(struct solve_factors *factors, const struct lapack *call,
	kz_array *array, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = call->stream};
	const kz_reduce_options any = {.size = sizeof(any), .stream = call->stream};
	kz_array *each = NULL, *all = NULL;
	kz_status st = kz_apply(&each, KZ_OP_ISNAN, &options, err, KZ_ARGS(array));
	if (!st && !(st = kz_reduce(&all, KZ_REDUCE_ANY, each, KZ_AXES(-2, -1), &any, err))) {
		st = kz_array_get(all, factors->nans, kz_array_size(all), err);
	}
	kz_array_release(each);
	kz_array_release(all);
	return st;
}

static kz_status solve_factors_alloc(struct solve_factors *factors, size_t count, kz_error *err)
{
	size_t cells;
	if (!size_mul(&cells, count, (size_t)factors->n)
	    || !(factors->diagonals = mem_zalloc(cells + 1, sizeof(*factors->diagonals)))
	    || !(factors->pivots = mem_zalloc(cells + 1, sizeof(*factors->pivots)))
	    || !(factors->info = mem_zalloc(count + 1, sizeof(*factors->info)))
	    || !(factors->nans = mem_zalloc(count + 1, sizeof(*factors->nans)))
	    || !(factors->results = mem_zalloc(2 * count + 1, sizeof(*factors->results)))) {
		return error_no_memory(err);
	}
	return KZ_OK;
}

/* The device factors first: what does not fit into its memory takes none of the host's. */
static kz_status solve_get_factors(struct solve_factors *factors, struct lapack *call,
	kz_array *array, kz_error *err)
{
	struct lapack_factors made;
	size_t count = (size_t)call->count;
	*factors = (struct solve_factors){.n = array->shape.dims[array->shape.ndim - 1]};
	if (count == 0 || factors->n == 0) {
		return solve_factors_alloc(factors, count, err);
	}
	kz_status st;
	if (!(st = lapack_factor(&made, call, array, LAPACK_SINGULAR, err))
	    && !(st = solve_factors_alloc(factors, count, err))
	    && !(st = solve_get_diagonals(factors, made.lu, call->stream, err))
	    && !(st = kz_array_get(made.pivots, factors->pivots, kz_array_size(made.pivots), err))
	    && !(st = kz_array_get(made.info, factors->info, kz_array_size(made.info), err))) {
		bool has_singular = false;
		for (size_t i = 0; i < count; i++) {
			has_singular |= factors->info[i] != 0;
		}
		st = has_singular ? solve_get_nans(factors, call, array, err) : KZ_OK;
	}
	lapack_release_factors(&made);
	return st;
}

/* -1 if the rows were exchanged an odd number of times. */
static double solve_parity(const struct solve_factors *factors, int64_t i)
{
	double sign = 1;
	for (int64_t k = 0; k < factors->n; k++) {
		sign = factors->pivots[i * factors->n + k] != k + 1 ? -sign : sign;
	}
	return sign;
}

/* The product of a diagonal.  The exponent is kept apart, so that only the result over- or
 * underflows. */
static double complex solve_product(const struct solve_factors *factors, int64_t i)
{
	double complex product = solve_parity(factors, i);
	long exponent = 0;
	for (int64_t k = 0; k < factors->n; k++) {
		double complex factor = factors->diagonals[i * factors->n + k];
		double sizes[2] = {fmax(fabs(creal(factor)), fabs(cimag(factor))), 0};
		int moved[2] = {0, 0};
		if (isfinite(sizes[0]) && sizes[0] > 0) {
			(void)frexp(sizes[0], &moved[0]);
			factor = solve_number(ldexp(creal(factor), -moved[0]),
				ldexp(cimag(factor), -moved[0]));
		}
		product = cimag(factor) == 0 && cimag(product) == 0 ? creal(product) * creal(factor)
			: product * factor;
		sizes[1] = fmax(fabs(creal(product)), fabs(cimag(product)));
		if (isfinite(sizes[1]) && sizes[1] > 0) {
			(void)frexp(sizes[1], &moved[1]);
			product = solve_number(ldexp(creal(product), -moved[1]),
				ldexp(cimag(product), -moved[1]));
		}
		exponent += moved[0] + moved[1];
	}
	int scale = exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : (int)exponent;
	return solve_number(ldexp(creal(product), scale), ldexp(cimag(product), scale));
}

/* Host numbers as an array of the call's batch. */
static kz_status solve_put(kz_array **out, const struct lapack *call, kz_dtype dtype,
	const double complex *host, kz_error *err)
{
	kz_array *wide = NULL;
	kz_status st = kz_array_from(&wide, call->device, KZ_C128, call->batch, host,
		call->count * (int64_t)sizeof(*host), err);
	st = st ? st : kz_array_astype_on(out, wide, dtype, call->stream, err);
	kz_array_release(wide);
	return st;
}

kz_status kz_det(kz_array **out, kz_array *array, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	struct solve_factors factors;
	kz_array *result = NULL;
	kz_status st;
	if ((st = lapack_clear(out, "det", options, err))
	    || (st = lapack_begin(&call, "det", &array, 1, options, err))
	    || (st = lapack_take_batch(&call, array, true, err))) {
		return st;
	}
	st = solve_get_factors(&factors, &call, array, err);
	for (int64_t i = 0; !st && i < call.count; i++) {
		factors.results[i] = factors.nans[i] ? solve_number((double)NAN, (double)NAN)
			: factors.info[i] ? 0 : solve_product(&factors, i);
	}
	st = st ? st : solve_put(&result, &call, call.dtype, factors.results, err);
	solve_factors_free(&factors);
	return st ? st : lapack_finish(out, &call, result, err);
}

/* The sign of a determinant, a number of size 1 or 0, and the logarithm of its size. */
static void solve_logarithm(double complex out[2], const struct solve_factors *factors, int64_t i)
{
	double complex sign = solve_parity(factors, i);
	double sum = 0;
	for (int64_t k = 0; k < factors->n; k++) {
		double complex factor = factors->diagonals[i * factors->n + k];
		double size = cabs(factor), more = 0;
		if (isinf(size) && isfinite(creal(factor)) && isfinite(cimag(factor))) {
			factor = solve_number(creal(factor) / 2, cimag(factor) / 2);
			size = cabs(factor);
			more = log(2);
		}
		sign = cimag(factor) == 0 && cimag(sign) == 0 ? creal(sign) * (creal(factor) / size)
			: sign * solve_number(creal(factor) / size, cimag(factor) / size);
		sum += log(size) + more;
	}
	bool is_singular = factors->info[i] != 0;
	bool has_nan = factors->nans[i];
	out[0] = has_nan ? solve_number((double)NAN, (double)NAN) : is_singular ? 0 : sign;
	out[1] = has_nan ? (double)NAN : is_singular ? -INFINITY : sum;
}

kz_status kz_slogdet(kz_array **sign, kz_array **logabsdet, kz_array *array,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	struct solve_factors factors;
	kz_array *made = NULL;
	kz_status st = out_check(sign, sizeof(*sign), "slogdet", err);
	kz_status st_log = out_check(logabsdet, sizeof(*logabsdet), "slogdet",
		st ? NULL : err);
	if (st || (st = st_log)
	    || (st = lapack_begin_several(&call, "slogdet", array, options, err))
	    || (st = lapack_take_batch(&call, array, true, err))) {
		return st;
	}
	st = solve_get_factors(&factors, &call, array, err);
	double complex *const signs = factors.results;
	double complex *const logs = signs ? signs + call.count : NULL;
	for (int64_t i = 0; !st && i < call.count; i++) {
		double complex both[2];
		solve_logarithm(both, &factors, i);
		signs[i] = both[0];
		logs[i] = both[1];
	}
	if (!st && !(st = solve_put(&made, &call, call.dtype, signs, err))
	    && (st = solve_put(logabsdet, &call, call.real, logs, err))) {
		kz_array_release(made);
		made = NULL;
	}
	*sign = made;
	solve_factors_free(&factors);
	return st;
}

/* Triangular equations */

/* Whether libraries may divide by all of a diagonal. */
static kz_status solve_check_range(bool *is_good, const struct lapack *call, kz_array *diagonal,
	kz_error *err)
{
	struct linalg_device *math;
	struct expr expr;
	kz_array *bad = NULL;
	uint8_t any = 0;
	kz_status st = linalg_device_get(&math, call->device, err);
	if (st) {
		return st;
	}
	expr_init(&expr);
	int size = expr_array(&expr, diagonal, err);
	size = size < 0 ? -1 : expr_cast(&expr, size, call->dtype, err);
	size = lapack_apply(&expr, KZ_OP_ABSOLUTE, size, 0, 0, err);
	int small = lapack_apply(&expr, KZ_OP_LESS, size,
		expr_float(&expr, math->pivots[call->type].least, err), 0, err);
	int large = lapack_apply(&expr, KZ_OP_GREATER, size,
		expr_float(&expr, math->pivots[call->type].most, err), 0, err);
	int node = lapack_apply(&expr, KZ_OP_LOGICAL_OR, small, large, 0, err);
	st = node < 0 ? KZ_INVALID
		: lapack_evaluate(&bad, call, &expr, KZ_BOOL, &diagonal->shape, err);
	st = st ? st : kz_reduce_get_as(&any, KZ_BOOL, KZ_REDUCE_ANY, bad, NULL, err);
	*is_good = !any;
	kz_array_release(bad);
	return st;
}

/* The diagonal has no 0.  If it has what libraries cannot divide by, our own kernels do. */
static kz_status solve_check_diagonal(struct lapack *call, kz_array *a, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = call->stream};
	kz_array *diagonal = NULL, *zeros = NULL, *where = NULL, *first = NULL;
	struct kz_stream *stream = call->stream;
	int64_t at[KZ_MAX_DIMS] = {0};
	bool is_good = true;
	kz_status st;
	if ((st = kz_array_diagonal(&diagonal, a, 0, -2, -1, err))
	    || (st = solve_check_range(&is_good, call, diagonal, err)) || is_good) {
		goto out;
	}
	call->is_own = true;
	if ((st = kz_apply(&zeros, KZ_OP_EQUAL, &options, err, KZ_ARGS(diagonal, 0)))
	    || (st = kz_array_nonzero_on(&where, zeros, stream, err)) || where->count == 0
	    || (st = kz_array_slice(&first, where, KZ_AT(KZ_ALL, 0), err))
	    || (st = kz_array_get(first, at, kz_array_size(first), err))) {
		goto out;
	}
	kz_shape batch = {first->count - 1, {0}};
	for (int64_t i = 0; i < batch.ndim; i++) {
		batch.dims[i] = at[i];
	}
	long long pivot = at[batch.ndim] + 1;
	st = batch.ndim ? error_set(err, KZ_NUMERIC, "solve_triangular: matrix %s is singular: "
		"pivot %lld is 0", shape_text(&batch).text, pivot)
		: error_set(err, KZ_NUMERIC, "solve_triangular: the matrix is singular: pivot %lld "
			"is 0", pivot);
out:
	kz_array_release(diagonal);
	kz_array_release(zeros);
	kz_array_release(where);
	kz_array_release(first);
	return st;
}

/* The triangular matrices as a task takes them: as they lie, if they can, else copied.  One for all
 * batches stays one. */
static kz_status solve_prepare_triangle(kz_array **out, struct lapack *call, kz_array *a,
	kz_error *err)
{
	struct lapack own = *call;
	kz_shape batch = a->shape;
	batch.ndim -= 2;
	lapack_set_batch(&own, &batch);
	bool is_aligned = array_address(a) % (uint64_t)dtype_size(a->dtype) == 0;
	if (a->dtype == call->dtype && array_is_contiguous(a) && is_aligned
	    && (own.count == 1 || own.count == call->count)) {
		*out = kz_array_retain(a);
		return KZ_OK;
	}
	return lapack_copy(out, own.count == 1 ? &own : call, a, false, err);
}

kz_status kz_solve_triangular(kz_array **out, kz_array *a, kz_array *b, kz_triangle triangle,
	kz_matrix_op op, int is_unit, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct lapack call;
	kz_array *columns = NULL, *result = NULL, *factor = NULL;
	kz_status st;
	if ((st = lapack_clear(out, "solve_triangular", options, err))
	    || (st = lapack_begin(&call, "solve_triangular", (kz_array *[]){a, b}, 2, options, err))
	    || (st = solve_check(&call, a, b, err))) {
		return st;
	}
	if ((unsigned)triangle > KZ_UPPER || (unsigned)op > KZ_MATRIX_ADJOINT) {
		return error_set(err, KZ_INVALID, (unsigned)triangle > KZ_UPPER
			? "solve_triangular: unknown kz_triangle %d"
			: "solve_triangular: unknown kz_matrix_op %d",
			(unsigned)triangle > KZ_UPPER ? (int)triangle : (int)op);
	}
	if ((st = solve_columns(&columns, b, err))
	    || (st = lapack_copy(&result, &call, columns, false, err))) {
		goto out;
	}
	if (result->count && (is_unit || !(st = solve_check_diagonal(&call, a, err)))
	    && !(st = solve_prepare_triangle(&factor, &call, a, err))) {
		/* The transposed equation, x' op(a)' = b', which has a on the right. */
		const int64_t *ends = result->shape.dims + result->shape.ndim - 2;
		struct linalg_task task = {
			.op = LINALG_TRSM, .type = call.type, .side = 'R',
			.uplo = triangle == KZ_LOWER ? 'U' : 'L', .op_a = "NTC"[op],
			.diag = is_unit ? 'U' : 'N', .m = ends[1], .n = ends[0],
			.count = call.count, .is_own = call.is_own, .alpha = {1, 0},
			.a = lapack_matrix(factor), .b = lapack_matrix(result),
		};
		task.a.next = factor->count == ends[0] * ends[0] ? 0 : task.a.next;
		st = linalg_run(call.device, &task, call.stream, call.name, err);
	}
	st = st ? st : solve_finish(out, &call, kz_array_retain(result), b, err);
out:
	kz_array_release(columns);
	kz_array_release(factor);
	kz_array_release(result);
	return st;
}

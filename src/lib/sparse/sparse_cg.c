/* SPDX-License-Identifier: MIT */
/*
 * Conjugate gradients: Hestenes and Stiefel (1952), preconditioned as in Golub and Van Loan,
 * "Matrix Computations", 11.5; the stopping rule is scipy's.
 *
 * Vectors stay on the device.  Each iteration is one product with the matrix, three updates, and
 * two sums of products, or three with a preconditioner, which the host waits for.  The matrix and
 * the preconditioner are operators: the caller's, or those of a sparse matrix.
 */
#include "base/common.h"

#include "lib/sparse/sparse.h"

#include "base/alloc.h"
#include "lib/ops/reduce.h"

#include <math.h>

/* One solution.  The arrays have n elements of `dtype` each. */
struct cg {
	kz_operator a;
	kz_operator precondition;  /* apply is NULL: there is no preconditioner, and z is r */
	int64_t n;
	struct kz_device *device;
	struct kz_stream *stream;
	kz_dtype dtype;
	struct kz_array *x, *r, *p, *q;
	struct kz_array *z;
	double target;             /* for the norm of r */
	int64_t most;
	int64_t iterations;        /* that were done */
	double residual;
};

/* Vectors */

static kz_status cg_run(const struct cg *cg, struct kz_array *into, struct expr *expr, int node,
	kz_error *err)
{
	const struct elementwise how = {.into = into, .stream = cg->stream};
	return node < 0 ? KZ_INVALID : elementwise_run(NULL, expr, &how, err);
}

static kz_status cg_copy(const struct cg *cg, struct kz_array *into, struct kz_array *from,
	kz_error *err)
{
	struct expr expr;
	expr_init(&expr);
	int node = expr_array(&expr, from, err);
	return cg_run(cg, into, &expr, node < 0 ? -1 : expr_cast(&expr, node, cg->dtype, err), err);
}

/* into = a + factor b */
static kz_status cg_combine(const struct cg *cg, struct kz_array *into, struct kz_array *a,
	double factor, struct kz_array *b, kz_error *err)
{
	struct expr expr;
	expr_init(&expr);
	int first = expr_array(&expr, a, err);
	int second = first < 0 ? -1 : expr_array(&expr, b, err);
	int product = expr_apply_two(&expr, KZ_OP_MULTIPLY, second, second < 0 ? -1
		: expr_float(&expr, factor, err), err);
	return cg_run(cg, into, &expr, expr_apply_two(&expr, KZ_OP_ADD, first, product, err), err);
}

/* to = the product of an operator and from.  An operator that fails without a word gets one. */
static kz_status cg_apply(const struct cg *cg, const kz_operator *with, struct kz_array *to,
	struct kz_array *from, const char *what, kz_error *err)
{
	kz_status st = with->apply(with->data, to, from, cg->stream, err);
	if (st && error_is_clean(err)) {
		error_set(err, st, "cg: the %s failed after %lld iteration%s", what,
			(long long)cg->iterations, plural(cg->iterations));
	}
	return st;
}

/* The real part of a^H b.  Waits. */
static kz_status cg_dot(double *out, const struct cg *cg, struct kz_array *a, struct kz_array *b,
	kz_error *err)
{
	const struct reduce_products sum = {
		.name = "cg", .a = a, .b = b, .conjugate = true, .axes = KZ_ALL_AXES,
		.dtype = cg->dtype,
		.stream = cg->stream,
	};
	struct kz_array *result = NULL;
	union {
		float single;
		double real;
		double parts[2];
	} value = {.parts = {0, 0}};
	kz_status st = reduce_products(&result, &sum, err);
	st = st ? st : kz_array_get(result, &value, dtype_size(cg->dtype), err);
	*out = dtype_part(cg->dtype) == KZ_F32 ? value.single : value.real;
	kz_array_release(result);
	return st;
}

/* Preparation */

static kz_status cg_create_arrays(struct cg *cg, kz_error *err)
{
	const kz_shape shape = KZ_SHAPE(cg->n);
	struct kz_array **const places[5] = {&cg->x, &cg->r, &cg->p, &cg->q, &cg->z};
	int count = cg->precondition.apply ? 5 : 4;
	for (int i = 0; i < count; i++) {
		kz_status st = array_create_on(places[i], cg->device, cg->dtype, &shape, cg->stream,
			err);
		if (st) {
			return st;
		}
	}
	cg->z = cg->z ? cg->z : kz_array_retain(cg->r);
	return KZ_OK;
}

/* x, r = b - a x, and the norm that r is to have. */
static kz_status cg_start(struct cg *cg, struct kz_array *b, const kz_sparse_cg_options *how,
	kz_error *err)
{
	double norm = 0;
	kz_status st;
	if ((st = cg_create_arrays(cg, err)) || (st = cg_copy(cg, cg->r, b, err))
	    || (st = cg_dot(&norm, cg, cg->r, cg->r, err))) {
		return st;
	}
	norm = sqrt(norm);
	cg->target = fmax(how->atol, how->rtol * norm);
	if (!isfinite(norm)) {
		return error_set(err, KZ_NUMERIC, "cg: the norm of b is %g", norm);
	}
	if (!how->initial || norm == 0) { /* of zeros x is zero, whatever it begins with */
		return buffer_fill(cg->x->buffer, kz_array_size(cg->x), PATTERN_ZERO, cg->stream,
			err);
	}
	if ((st = cg_copy(cg, cg->x, how->initial, err))
	    || (st = cg_apply(cg, &cg->a, cg->q, cg->x, "operator", err))) {
		return st;
	}
	return cg_combine(cg, cg->r, cg->r, -1, cg->q, err);
}

/* Iterations */

static kz_status cg_check_number(const struct cg *cg, double number, const char *what,
	kz_error *err)
{
	return isfinite(number) ? KZ_OK
		: error_set(err, KZ_NUMERIC, "cg: %s is %g after %lld iteration%s",
		what, number, (long long)cg->iterations, plural(cg->iterations));
}

/* The products of r with itself and with z. */
static kz_status cg_measure(double *rho, struct cg *cg, kz_error *err)
{
	double square;
	kz_status st;
	if ((st = cg_dot(&square, cg, cg->r, cg->r, err))
	    || (st = cg_check_number(cg, square, "the square of the residual", err))) {
		return st;
	}
	cg->residual = sqrt(square);
	*rho = square;
	if (!cg->precondition.apply || cg->residual <= cg->target) {
		return KZ_OK;
	}
	if ((st = cg_apply(cg, &cg->precondition, cg->z, cg->r, "preconditioner", err))
	    || (st = cg_dot(rho, cg, cg->r, cg->z, err))
	    || (st = cg_check_number(cg, *rho, "the product of residuals", err))) {
		return st;
	}
	return *rho > 0 ? KZ_OK : error_set(err, KZ_NUMERIC, "cg: the preconditioner is not "
		"positive definite: after %lld iteration%s r^H z = %g", (long long)cg->iterations,
		plural(cg->iterations), *rho);
}

/* Go along p, by as much as makes the error least. */
static kz_status cg_step(struct cg *cg, double rho, kz_error *err)
{
	double curvature;
	kz_status st;
	if ((st = cg_apply(cg, &cg->a, cg->q, cg->p, "operator", err))
	    || (st = cg_dot(&curvature, cg, cg->p, cg->q, err))) {
		return st;
	}
	if (!(curvature > 0) || !isfinite(curvature)) {
		return error_set(err, KZ_NUMERIC, "cg: the matrix is not positive definite: in "
			"iteration %lld a direction p has p^H a p = %g",
			(long long)cg->iterations + 1, curvature);
	}
	double alpha = rho / curvature;
	st = cg_combine(cg, cg->x, cg->x, alpha, cg->p, err);
	return st ? st : cg_combine(cg, cg->r, cg->r, -alpha, cg->q, err);
}

static kz_status cg_iterate(struct cg *cg, kz_error *err)
{
	double rho, last = 0;
	kz_status st = cg_measure(&rho, cg, err);
	while (!st && cg->residual > cg->target && cg->iterations < cg->most) {
		st = cg->iterations == 0 ? cg_copy(cg, cg->p, cg->z, err)
			: cg_combine(cg, cg->p, cg->z, rho / last, cg->p, err);
		last = rho;
		if (!st && !(st = cg_step(cg, rho, err))) {
			cg->iterations++;
			st = cg_measure(&rho, cg, err);
		}
	}
	return st;
}

/* Checks */

static kz_status cg_check_operator(const kz_operator *operator, const char *what, kz_error *err)
{
	if (operator->size != sizeof(*operator)) {
		return struct_refuse("kz_operator", operator->size, sizeof(*operator), err);
	}
	return operator->apply ? KZ_OK : error_set(err, KZ_INVALID,
		"cg: `apply` of the %s is NULL", what);
}

static kz_status cg_check_options(const kz_sparse_cg_options *how,
	const kz_sparse_cg_result *result, kz_error *err)
{
	if (how->size != sizeof(*how)) {
		return struct_refuse("kz_sparse_cg_options", how->size, sizeof(*how), err);
	}
	if (result && result->size != sizeof(*result)) {
		return struct_refuse("kz_sparse_cg_result", result->size, sizeof(*result), err);
	}
	if (!(how->rtol >= 0) || !(how->atol >= 0) || how->iterations < 0) {
		return error_set(err, KZ_INVALID, "cg: expected tolerances and a number of "
			"iterations of at least 0, got rtol %g, atol %g, %lld", how->rtol,
			how->atol, (long long)how->iterations);
	}
	if (how->preconditioner != KZ_PRECONDITIONER_NONE
	    && how->preconditioner != KZ_PRECONDITIONER_JACOBI) {
		return error_set(err, KZ_INVALID, "%d is not a kz_preconditioner",
			(int)how->preconditioner);
	}
	if (how->custom && how->preconditioner) {
		return error_set(err, KZ_INVALID, "cg: expected one preconditioner, got Jacobi's "
			"and a custom one");
	}
	return how->custom ? cg_check_operator(how->custom, "preconditioner", err) : KZ_OK;
}

/* A vector of n elements on the right device, whose numbers go into the result. */
static kz_status cg_check_vector(const struct cg *cg, const struct kz_array *vector,
	const char *what, kz_error *err)
{
	kz_status st = object_check_as(vector, OBJECT_ARRAY, what, err);
	if (st) {
		return st;
	}
	if (array_device(vector) != cg->device) {
		return error_set(err, KZ_INVALID, "cg: expected %s on %s, got it on %s", what,
			cg->device->name, array_device(vector)->name);
	}
	if (vector->shape.ndim != 1 || vector->count != cg->n) {
		return error_set(err, KZ_INVALID, "cg: expected %s of shape (%lld,), got %s", what,
			(long long)cg->n, shape_text(&vector->shape).text);
	}
	return dtype_is_number(vector->dtype) ? KZ_OK : error_set(err, KZ_INVALID,
		"cg: expected numbers as %s, got %s", what, dtype_refused(vector->dtype));
}

static kz_status cg_check_initial(const struct cg *cg, const struct kz_array *initial,
	kz_error *err)
{
	kz_status st = initial ? cg_check_vector(cg, initial, "initial x", err) : KZ_OK;
	if (!st && initial && !kz_dtype_can_cast(initial->dtype, cg->dtype)) {
		return error_set(err, KZ_INVALID, "cg: an initial x of %s does not fit into %s",
			dtype_refused(initial->dtype), dtype_refused(cg->dtype));
	}
	return st;
}

/* The call */

/* Solve, and hand out x and how it went.  Releases the arrays. */
static kz_status cg_solve(kz_array **out, struct cg *cg, struct kz_array *b,
	const kz_sparse_cg_options *how, kz_sparse_cg_result *result, kz_error *err)
{
	cg->precondition = how->custom ? *how->custom : cg->precondition;
	cg->most = how->iterations ? how->iterations : 10 * min64(cg->n, INT64_MAX / 10);
	kz_status st = cg_start(cg, b, how, err);
	st = st ? st : cg_iterate(cg, err);
	bool converged = !st && cg->residual <= cg->target;
	if (!st && !converged && !result) {
		st = error_set(err, KZ_NUMERIC, "cg: no convergence after %lld iteration%s: the "
			"residual is %g, above %g", (long long)cg->iterations,
			plural(cg->iterations), cg->residual, cg->target);
	}
	if (!st) {
		*out = kz_array_retain(cg->x);
		if (result) {
			*result = (kz_sparse_cg_result){.size = sizeof(*result),
				.iterations = cg->iterations, .residual = cg->residual,
				.converged = converged};
		}
	}
	struct kz_array *const made[] = {cg->x, cg->r, cg->p, cg->q, cg->z};
	for (size_t i = 0; i < countof(made); i++) {
		kz_array_release(made[i]);
	}
	return st;
}

static kz_status cg_pick_stream(struct cg *cg, const struct kz_array *b,
	const kz_sparse_cg_options *how, kz_error *err)
{
	kz_status st;
	if ((st = stream_pick(&cg->stream, cg->device, how->stream, err))
	    || (st = stream_check_free(cg->stream, err))) {
		return st;
	}
	return array_check_capture(b, err);
}

kz_status kz_cg(kz_array **out, const kz_operator *a, kz_array *b,
	const kz_sparse_cg_options *options, kz_sparse_cg_result *result, kz_error *err)
{
	error_scope(err);
	const kz_sparse_cg_options defaults = KZ_SPARSE_CG_OPTIONS_INIT;
	const kz_sparse_cg_options *how = options ? options : &defaults;
	struct cg cg = {.n = 0};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(b, OBJECT_ARRAY, err))
	    || (st = cg_check_options(how, result, err))) {
		return st;
	}
	if (!a || how->preconditioner) {
		return error_set(err, KZ_INVALID, a ? "cg: an operator has no diagonal for Jacobi's"
			" preconditioner" : "cg: expected an operator, got NULL");
	}
	cg = (struct cg){.a = *a, .device = array_device(b), .n = b->count,
		.dtype = dtype_wide(kz_dtype_promote(b->dtype, KZ_F32))};
	if ((st = cg_check_operator(a, "operator", err))
	    || (st = cg_check_vector(&cg, b, "b", err))
	    || (st = cg_check_initial(&cg, how->initial, err))
	    || (st = cg_pick_stream(&cg, b, how, err))) {
		return st;
	}
	return cg_solve(out, &cg, b, how, result, err);
}

/* A sparse matrix */

static kz_status cg_apply_matrix(void *data, kz_array *to, kz_array *from, kz_stream *stream,
	kz_error *err)
{
	return sparse_multiply(to, data, from, 1, stream, err);
}

/* to = from / diagonal */
static kz_status cg_apply_jacobi(void *data, kz_array *to, kz_array *from, kz_stream *stream,
	kz_error *err)
{
	const struct elementwise how = {.into = to, .stream = stream};
	struct expr expr;
	expr_init(&expr);
	int first = expr_array(&expr, from, err);
	int second = first < 0 ? -1 : expr_array(&expr, data, err);
	int node = expr_apply_two(&expr, KZ_OP_DIVIDE, first, second, err);
	return node < 0 ? KZ_INVALID : elementwise_run(NULL, &expr, &how, err);
}

/* Fail unless all of the diagonal is above 0, as it is if the matrix is positive definite. */
static kz_status cg_check_diagonal(struct kz_array *diagonal, kz_error *err)
{
	struct kz_array *wide = NULL;
	int64_t count = diagonal->count;
	double (*host)[2] = mem_alloc((size_t)count * sizeof(*host) + 1);
	if (!host) {
		return error_no_memory(err);
	}
	kz_status st = elementwise_contiguous(&wide, diagonal, KZ_C128, NULL, err);
	st = st ? st : kz_array_get(wide, host, count * (int64_t)sizeof(*host), err);
	for (int64_t i = 0; !st && i < count; i++) {
		if (!(host[i][0] > 0)) {
			st = error_set(err, KZ_NUMERIC, "cg: element %lld of the diagonal is %g, "
				"expected one above 0", (long long)i, host[i][0]);
		}
	}
	kz_array_release(wide);
	mem_free(host);
	return st;
}

/* What the operators of a matrix work with. */
static kz_status cg_prepare_matrix(struct cg *cg, struct kz_sparse **csr,
	struct kz_array **diagonal, struct kz_sparse *a, const kz_sparse_cg_options *how,
	kz_error *err)
{
	struct kz_sparse *cast = NULL;
	kz_status st;
	if (!(st = sparse_cast(&cast, a, cg->dtype, cg->stream, err))
	    && !(st = sparse_as_csr(csr, cast, KZ_MATRIX_AS_IS, cg->stream, err))) {
		cg->a = (kz_operator){.apply = cg_apply_matrix, .data = *csr};
		if (how->preconditioner == KZ_PRECONDITIONER_JACOBI
		    && !(st = sparse_read_diagonal(diagonal, *csr, cg->stream, err))) {
			st = cg_check_diagonal(*diagonal, err);
			cg->precondition = (kz_operator){.apply = cg_apply_jacobi,
				.data = *diagonal};
		}
	}
	kz_sparse_release(cast);
	return st;
}

kz_status kz_sparse_cg(kz_array **out, kz_sparse *a, kz_array *b,
	const kz_sparse_cg_options *options, kz_sparse_cg_result *result, kz_error *err)
{
	error_scope(err);
	const kz_sparse_cg_options defaults = KZ_SPARSE_CG_OPTIONS_INIT;
	const kz_sparse_cg_options *how = options ? options : &defaults;
	struct kz_sparse *csr = NULL;
	struct kz_array *diagonal = NULL;
	struct cg cg = {.n = 0};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(a, OBJECT_SPARSE, err))
	    || (st = cg_check_options(how, result, err))) {
		return st;
	}
	if (a->rows != a->columns) {
		return error_set(err, KZ_INVALID, "cg: expected a square matrix, got shape (%lld, "
			"%lld)", (long long)a->rows, (long long)a->columns);
	}
	cg.n = a->rows;
	cg.device = sparse_device(a);
	if ((st = cg_check_vector(&cg, b, "b", err))) {
		return st;
	}
	cg.dtype = dtype_wide(kz_dtype_promote(a->dtype, b->dtype));
	if ((st = cg_check_initial(&cg, how->initial, err))
	    || (st = cg_pick_stream(&cg, b, how, err))) {
		return st;
	}
	if (!(st = cg_prepare_matrix(&cg, &csr, &diagonal, a, how, err))) {
		st = cg_solve(out, &cg, b, how, result, err);
	}
	kz_array_release(diagonal);
	kz_sparse_release(csr);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * Covariances and correlations, numpy's cov and corrcoef: X X^H over the observations, for X
 * without its means.
 *
 * The mean is subtracted twice (the corrected two-pass algorithm of Chan, Golub and LeVeque,
 * "Algorithms for computing the sample variance", 1983).  The first difference is small, so its own
 * mean has the rounding error of the first mean.  This matters for float32 and large means, and it
 * makes a variable that never changes exactly 0.
 *
 * One triangle of the product is computed.  The other one is its conjugate, so results are exactly
 * symmetric, whatever a library rounds.
 */
#include "base/common.h"

#include "lib/array/shape.h"
#include "lib/ops/elementwise.h"

#include <kudzu/join.h>
#include <kudzu/linalg.h>
#include <kudzu/reduce.h>
#include <kudzu/view.h>

#include <math.h>

/* One call. */
struct cov {
	const char *name;       /* for errors */
	struct elementwise how; /* how the last step runs */
	kz_dtype dtype;         /* of the result */
	kz_dtype wide;          /* of the computation */
	bool in_columns;        /* variables are columns */
	kz_op_options options;  /* of the other steps: the stream */
	int64_t variables;
};

/* The options, and the dtypes; *y is the second set of variables, or NULL. */
static kz_status cov_begin(struct cov *cov, kz_array **y, kz_array *x,
	const kz_cov_options *options, kz_error *err)
{
	kz_op_options common = KZ_OP_OPTIONS_INIT;
	kz_dtype wanted = 0;
	kz_status st;
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_cov_options", options->size, sizeof(*options), err);
	}
	if (options) {
		common.into = options->into;
		common.stream = options->stream;
		common.dtype = options->dtype;
	}
	*y = options ? options->y : NULL;
	if ((st = elementwise_options(&cov->how, &wanted, &common, err))
	    || (st = object_check_as(x, OBJECT_ARRAY, "x", err))
	    || (*y && ((st = object_check_as(*y, OBJECT_ARRAY, "y", err))
		    || (st = array_same_device(cov->name, x, *y, err))))) {
		return st;
	}
	const kz_dtype found = *y ? kz_dtype_promote(x->dtype, (*y)->dtype) : x->dtype;
	if (!dtype_is_number(found)) {
		return error_set(err, KZ_INVALID, "%s does not take %s", cov->name,
			dtype_refused(*y && dtype_is_number(x->dtype) ? (*y)->dtype : x->dtype));
	}
	cov->dtype = wanted ? wanted : kz_dtype_promote(found, KZ_F64);
	if (!dtype_is_float(cov->dtype) && !dtype_is_complex(cov->dtype)) {
		return error_set(err, KZ_INVALID, "%s: expected a dtype of floats or complex "
			"numbers, got %s", cov->name, dtype_refused(cov->dtype));
	}
	if (dtype_is_complex(found) && !dtype_is_complex(cov->dtype)) {
		return error_set(err, KZ_INVALID, "%s: %s cannot hold what %s gives", cov->name,
			kz_dtype_name(cov->dtype), kz_dtype_name(found));
	}
	cov->wide = dtype_wide(cov->dtype);
	cov->in_columns = options && options->columns;
	st = stream_pick(&cov->how.stream, array_device(x), cov->how.stream, err);
	cov->options.stream = cov->how.stream;
	return st;
}

/* An array as rows of variables: a view. */
static kz_status cov_rows(kz_array **out, const struct cov *cov, kz_array *array, kz_error *err)
{
	switch (array->shape.ndim) {
	case 0:
		return kz_array_expand(out, array, KZ_AXES(0, 1), err);
	case 1:
		return kz_array_expand(out, array, KZ_AXES(0), err);
	case 2:
		if (cov->in_columns) {
			return kz_array_swapaxes(out, array, 0, 1, err);
		}
		*out = kz_array_retain(array);
		return KZ_OK;
	default:
		return error_set(err, KZ_INVALID, "%s: expected at most two extents, got shape %s",
			cov->name, shape_text(&array->shape).text);
	}
}

/* All variables, those of y after those of x. */
static kz_status cov_join(kz_array **out, const struct cov *cov, kz_array *x, kz_array *y,
	kz_error *err)
{
	kz_array *rows[2] = {NULL, NULL};
	kz_status st = cov_rows(&rows[0], cov, x, err);
	if (st || !y) {
		*out = rows[0];
		return st;
	}
	if (!(st = cov_rows(&rows[1], cov, y, err))) {
		const int64_t found[2] = {rows[0]->shape.dims[1], rows[1]->shape.dims[1]};
		st = found[0] == found[1]
			? kz_array_concatenate(out, KZ_ARRAYS(rows[0], rows[1]), 0, &cov->options,
				err)
			: error_set(err, KZ_INVALID, "%s: x of shape %s has %lld observations, y "
				"of shape %s has %lld", cov->name, shape_text(&x->shape).text,
				(long long)found[0], shape_text(&y->shape).text,
				(long long)found[1]);
	}
	kz_array_release(rows[0]);
	kz_array_release(rows[1]);
	return st;
}

/* Subtract the mean of each row; *out may be the array itself. */
static kz_status cov_subtract_mean(kz_array **out, const struct cov *cov, kz_array *rows,
	kz_array *into, kz_error *err)
{
	const kz_reduce_options how = {.size = sizeof(how), .stream = cov->options.stream,
		.keepdims = 1};
	kz_op_options options = cov->options;
	kz_array *mean = NULL;
	options.into = into;
	kz_status st = kz_reduce(&mean, KZ_REDUCE_MEAN, rows, KZ_AXES(-1), &how, err);
	st = st ? st : kz_apply(out, KZ_OP_SUBTRACT, &options, err, KZ_ARGS(rows, mean));
	kz_array_release(mean);
	return st;
}

/* The lower triangle of X X^H, zeros above it. */
static kz_status cov_product(kz_array **out, const struct cov *cov, kz_array *rows, kz_error *err)
{
	kz_stream *const stream = cov->options.stream;
	kz_array *wide = NULL, *centred = NULL, *product = NULL;
	kz_status st;
	if (!(st = kz_array_astype_on(&wide, rows, cov->wide, stream, err))
	    && !(st = cov_subtract_mean(&centred, cov, wide, NULL, err))
	    && !(st = cov_subtract_mean(NULL, cov, centred, centred, err))
	    && !(st = kz_array_zeros_on(&product, kz_array_device(rows), cov->wide,
		KZ_SHAPE(cov->variables, cov->variables), stream, err))) {
		st = kz_herk(product, KZ_LOWER, KZ_ARG(1), centred, KZ_MATRIX_AS_IS, KZ_ARG(0),
			stream, err);
	}
	kz_array_release(wide);
	kz_array_release(centred);
	return array_finish(out, product, st);
}

/* The node of a matrix whose lower triangle and whose transposed part below the diagonal are
 * these. */
static int cov_whole(struct expr *expr, const struct kz_array *lower,
	const struct kz_array *mirror, kz_error *err)
{
	int other = expr_array(expr, mirror, err);
	if (other >= 0 && dtype_is_complex(mirror->dtype)) {
		other = expr_apply(expr, KZ_OP_CONJUGATE, &other, err);
	}
	return expr_apply_two(expr, KZ_OP_ADD, expr_array(expr, lower, err), other, err);
}

/* A real number, between -1 and 1. */
static int cov_clip(struct expr *expr, int node, kz_error *err)
{
	const int args[3] = {node, expr_int(expr, -1, err), expr_int(expr, 1, err)};
	return node < 0 || args[1] < 0 || args[2] < 0 ? -1
		: expr_apply(expr, KZ_OP_CLIP, args, err);
}

/* Correlations: c[i, j] / (sqrt(c[i, i]) sqrt(c[j, j])), each part between -1 and 1. */
static int cov_normalize(struct expr *expr, int node, const kz_array *const diagonals[2],
	kz_error *err)
{
	const bool is_complex = dtype_is_complex(diagonals[0]->dtype);
	int sizes[2];
	for (int i = 0; i < 2; i++) {
		int size = expr_array(expr, diagonals[i], err);
		size = size >= 0 && is_complex ? expr_apply(expr, KZ_OP_REAL, &size, err) : size;
		sizes[i] = size >= 0 ? expr_apply(expr, KZ_OP_SQRT, &size, err) : -1;
	}
	node = expr_apply_two(expr, KZ_OP_DIVIDE, node, expr_apply_two(expr, KZ_OP_MULTIPLY,
		sizes[0], sizes[1], err), err);
	if (node < 0 || !is_complex) {
		return cov_clip(expr, node, err);
	}
	const int real = cov_clip(expr, expr_apply(expr, KZ_OP_REAL, &node, err), err);
	const int imaginary = cov_clip(expr, expr_apply(expr, KZ_OP_IMAG, &node, err), err);
	return expr_apply_two(expr, KZ_OP_COMPLEX, real, imaginary, err);
}

/* The end: the expression's last node. */
static kz_status cov_end(const struct cov *cov, struct expr *expr, int node, kz_error *err)
{
	node = node < 0 ? -1 : expr_cast(expr, node, cov->dtype, err);
	return node < 0 ? KZ_INVALID : elementwise_run(NULL, expr, &cov->how, err);
}

/* Covariances are products times a factor.  Correlations have no factor (NULL). */
static kz_status cov_finish(const struct cov *cov, kz_array *lower, const double *factor,
	kz_error *err)
{
	kz_array *strict = NULL, *mirror = NULL, *row = NULL, *column = NULL;
	struct expr expr;
	expr_init(&expr);
	kz_status st;
	if (!(st = kz_tril(&strict, lower, -1, &cov->options, err))
	    && !(st = kz_array_swapaxes(&mirror, strict, 0, 1, err))
	    && !(st = kz_array_diagonal(&row, lower, 0, 0, 1, err))
	    && !(st = kz_array_expand(&column, row, KZ_AXES(1), err))) {
		const kz_array *const diagonals[2] = {column, row};
		int node = cov_whole(&expr, lower, mirror, err);
		node = factor ? expr_apply_two(&expr, KZ_OP_MULTIPLY, node,
			expr_float(&expr, *factor, err), err)
			: cov_normalize(&expr, node, diagonals, err);
		st = cov_end(cov, &expr, node, err);
	}
	kz_array_release(strict);
	kz_array_release(mirror);
	kz_array_release(row);
	kz_array_release(column);
	return st;
}

/* The same for a single variable, whose result is 0-d: its correlation is 1, or NaN. */
static kz_status cov_finish_one(const struct cov *cov, kz_array *product, const double *factor,
	kz_error *err)
{
	kz_array *number = NULL;
	struct expr expr;
	expr_init(&expr);
	kz_status st = kz_array_squeeze(&number, product, KZ_ALL_AXES, err);
	if (!st) {
		const int node = expr_array(&expr, number, err);
		st = cov_end(cov, &expr, expr_apply_two(&expr, factor ? KZ_OP_MULTIPLY
			: KZ_OP_DIVIDE, node, factor ? expr_float(&expr, *factor, err) : node,
			err), err);
	}
	kz_array_release(number);
	return st;
}

/* Have room for the result before anything is computed; a new array is row-major. */
static kz_status cov_reserve(kz_array **made, struct cov *cov, kz_array *rows, kz_error *err)
{
	const int64_t k = cov->variables;
	const struct elementwise_result result = {k == 1 ? KZ_SHAPE() : KZ_SHAPE(k, k),
		cov->dtype, rows};
	if (cov->how.into) {
		return elementwise_reserve(made, &cov->how, cov->name, &result, err);
	}
	kz_status st = array_create_on(made, array_device(rows), result.dtype, &result.shape,
		cov->how.stream, err);
	cov->how.into = *made;
	return st;
}

static kz_status cov_compute(kz_array **out, const char *name, bool is_normal, kz_array *x,
	const kz_cov_options *options, kz_error *err)
{
	struct cov cov = {.name = name, .options = KZ_OP_OPTIONS_INIT};
	kz_array *y = NULL, *rows = NULL, *made = NULL, *product = NULL;
	kz_status st;
	if ((st = cov_begin(&cov, &y, x, options, err))
	    || (st = cov_join(&rows, &cov, x, y, err))) {
		return st;
	}
	cov.variables = rows->shape.dims[0];
	const double divisor = (double)rows->shape.dims[1] - (options ? options->ddof : 1);
	const double factor = divisor > 0 ? 1 / divisor : INFINITY;
	if (!out && !cov.how.into) {
		st = error_set(err, KZ_INVALID, "out is NULL");
	} else if (!(st = cov_reserve(&made, &cov, rows, err))
	    && !(st = cov_product(&product, &cov, rows, err))) {
		st = (cov.variables == 1 ? cov_finish_one : cov_finish)(&cov, product,
			is_normal ? NULL : &factor, err);
	}
	if (!st && out) {
		*out = kz_array_retain(cov.how.into);
	}
	kz_array_release(rows);
	kz_array_release(made);
	kz_array_release(product);
	return st;
}

kz_status kz_cov(kz_array **out, kz_array *x, const kz_cov_options *options, kz_error *err)
{
	error_scope(err);
	out_clear(out, sizeof(*out), __func__);
	return cov_compute(out, "cov", false, x, options, err);
}

kz_status kz_corrcoef(kz_array **out, kz_array *x, const kz_cov_options *options, kz_error *err)
{
	error_scope(err);
	out_clear(out, sizeof(*out), __func__);
	return cov_compute(out, "corrcoef", true, x, options, err);
}

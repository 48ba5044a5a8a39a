/* SPDX-License-Identifier: MIT */
/*
 * A decomposition of low rank by chance: Halko, Martinsson and Tropp, "Finding Structure with
 * Randomness: Probabilistic Algorithms for Constructing Approximate Matrix Decompositions", 2011,
 * algorithms 4.4 and 5.1.
 *
 * A product with random columns has nearly the range of the matrix.  Products with the matrix and
 * its adjoint turn that range towards the largest singular values; each is made orthonormal, or the
 * small ones would be lost in rounding.  In the range, the matrix is small.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/core/object.h"
#include "lib/ops/elementwise.h"

#include <kudzu/random.h>
#include <kudzu/solve.h>
#include <kudzu/view.h>

/* What the steps share. */
struct rsvd {
	kz_array *a, *adjoint;   /* in the type of the computation */
	kz_op_options options;   /* the stream */
	int64_t columns;         /* of the range */
};

static kz_status rsvd_adjoint(kz_array **out, const struct rsvd *call, kz_array *array,
	kz_error *err)
{
	kz_array *view = NULL;
	kz_status st = kz_array_swapaxes(&view, array, -2, -1, err);
	st = st ? st : kz_apply(out, KZ_OP_CONJUGATE, &call->options, err, KZ_ARGS(view));
	kz_array_release(view);
	return st;
}

/* *range becomes an orthonormal basis of that of a *range. */
static kz_status rsvd_multiply(kz_array **range, const struct rsvd *call, kz_array *a,
	kz_error *err)
{
	kz_array *product = NULL, *r = NULL, *old = *range;
	kz_status st = kz_matmul(&product, a, old, &call->options, err);
	*range = NULL;
	st = st ? st : kz_qr(range, &r, product, KZ_QR_REDUCED, &call->options, err);
	kz_array_release(old);
	kz_array_release(product);
	kz_array_release(r);
	return st;
}

/* An orthonormal basis (..., m, columns). */
static kz_status rsvd_find_range(kz_array **out, const struct rsvd *call,
	const kz_rsvd_options *how, kz_error *err)
{
	const kz_shape shape = KZ_SHAPE(call->a->shape.dims[call->a->shape.ndim - 1],
		call->columns);
	kz_random *rng = NULL;
	kz_array *range = NULL;
	kz_status st = kz_random_create(&rng, array_device(call->a), how->seed, 0, err);
	st = st ? st : kz_random_draw(&range, rng, KZ_RANDOM_NORMAL, call->a->dtype, shape, 0, 1,
		&call->options, err);
	st = st ? st : rsvd_multiply(&range, call, call->a, err);
	for (int64_t i = 0; !st && i < how->iterations; i++) {
		st = rsvd_multiply(&range, call, call->adjoint, err);
		st = st ? st : rsvd_multiply(&range, call, call->a, err);
	}
	kz_random_release(rng);
	return array_finish(out, range, st);
}

/* The decomposition of range^H a, turned back; made: u, s, vh. */
static kz_status rsvd_decompose(kz_array *made[3], const struct rsvd *call, kz_array *range,
	int64_t rank, kz_error *err)
{
	kz_array *turned = NULL, *small = NULL, *u = NULL, *s = NULL, *vh = NULL, *part = NULL;
	kz_status st;
	if (!(st = rsvd_adjoint(&turned, call, range, err))
	    && !(st = kz_matmul(&small, turned, call->a, &call->options, err))
	    && !(st = kz_svd(&u, &s, &vh, small, 0, &call->options, err))
	    && !(st = kz_array_slice(&part, u, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(0, rank)), err))
	    && !(st = kz_matmul(&made[0], range, part, &call->options, err))
	    && !(st = kz_array_slice(&made[1], s, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(0, rank)), err))) {
		st = kz_array_slice(&made[2], vh, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(0, rank), KZ_ALL),
			err);
	}
	kz_array_release(turned);
	kz_array_release(small);
	kz_array_release(u);
	kz_array_release(s);
	kz_array_release(vh);
	kz_array_release(part);
	return st;
}

static kz_status rsvd_check(const kz_array *array, int64_t rank, const kz_rsvd_options *how,
	kz_error *err)
{
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	if (st) {
		return st;
	}
	if (how->size != sizeof(*how)) {
		return struct_refuse("kz_rsvd_options", how->size, sizeof(*how), err);
	}
	if (how->oversampling < 0 || how->iterations < 0) {
		return error_set(err, KZ_INVALID, "rsvd: expected numbers of at least 0, got "
			"oversampling %lld and %lld iterations", (long long)how->oversampling,
			(long long)how->iterations);
	}
	const int64_t ndim = array->shape.ndim, *ends = array->shape.dims + ndim - 2;
	if (ndim < 2 || rank < 1 || rank > min64(ends[0], ends[1])) {
		return error_set(err, KZ_INVALID, ndim < 2 ? "rsvd: expected a matrix, got shape %s"
			: "rsvd: shape %s has no rank %lld: expected 1 to the smaller extent",
			shape_text(&array->shape).text, (long long)rank);
	}
	return dtype_is_number(array->dtype) ? KZ_OK : error_set(err, KZ_INVALID,
		"rsvd does not take %s", dtype_refused(array->dtype));
}

kz_status kz_rsvd(kz_array **u, kz_array **s, kz_array **vh, kz_array *array, int64_t rank,
	const kz_rsvd_options *options, kz_error *err)
{
	error_scope(err);
	const kz_rsvd_options defaults = KZ_RSVD_OPTIONS_INIT;
	const kz_rsvd_options *how = options ? options : &defaults;
	struct rsvd call = {.options = KZ_OP_OPTIONS_INIT};
	kz_array *range = NULL, *made[3] = {NULL, NULL, NULL};
	kz_array **const outs[3] = {u, s, vh};
	kz_status st = KZ_OK;
	for (int i = 0; i < 3; i++) {
		kz_status one = out_check(outs[i], sizeof(*outs[i]), __func__, st ? NULL : err);
		st = st ? st : one;
	}
	if (st || (st = rsvd_check(array, rank, how, err))) {
		return st;
	}
	const int64_t *ends = array->shape.dims + array->shape.ndim - 2;
	const int64_t most = min64(ends[0], ends[1]);
	const kz_dtype dtype = dtype_is_exact(array->dtype) ? KZ_F64 : dtype_wide(array->dtype);
	call.columns = how->oversampling < most - rank ? rank + how->oversampling : most;
	call.options.stream = how->stream;
	if (!(st = kz_array_astype_on(&call.a, array, dtype, how->stream, err))
	    && (!how->iterations || !(st = rsvd_adjoint(&call.adjoint, &call, call.a, err)))
	    && !(st = rsvd_find_range(&range, &call, how, err))) {
		st = rsvd_decompose(made, &call, range, rank, err);
	}
	for (int i = 0; i < 3; i++) {
		if (st) {
			kz_array_release(made[i]);
		} else {
			*outs[i] = made[i];
		}
	}
	kz_array_release(call.a);
	kz_array_release(call.adjoint);
	kz_array_release(range);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * Principal components, by the singular values of the centred observations (Jolliffe, "Principal
 * Component Analysis", 2002, section 3.5): x - mean = u diag(s) vh.  The loadings are vh, the
 * scores u diag(s), the variances the squares of s over m - 1 for m observations.
 *
 * Singular vectors are defined up to a factor of magnitude 1.  The factor that makes the largest
 * loading of each component real and positive makes them unique.
 */
#include "base/common.h"

#include "lib/linalg/lapack.h"

#include <kudzu/indexing.h>
#include <kudzu/ops.h>
#include <kudzu/reduce.h>
#include <kudzu/solve.h>
#include <kudzu/view.h>

/* One call, with what it makes. */
struct pca {
	struct lapack call;
	kz_op_options options; /* the stream */
	int64_t components;
	kz_array *mean, *scores, *loadings, *variances;
};

/* The observations without their mean, in the type of the computation. */
static kz_status pca_centre(kz_array **out, struct pca *pca, kz_array *array, kz_error *err)
{
	kz_reduce_options how = KZ_REDUCE_OPTIONS_INIT;
	kz_array *wide = NULL, *row = NULL;
	kz_status st;
	how.stream = pca->call.stream;
	if (!(st = kz_array_astype_on(&wide, array, pca->call.dtype, pca->call.stream, err))
	    && !(st = kz_reduce(&pca->mean, KZ_REDUCE_MEAN, wide, KZ_AXES(-2), &how, err))
	    && !(st = kz_array_expand(&row, pca->mean, KZ_AXES(-2), err))) {
		st = kz_apply(out, KZ_OP_SUBTRACT, &pca->options, err, KZ_ARGS(wide, row));
	}
	kz_array_release(wide);
	kz_array_release(row);
	return st;
}

/* v / |v| of the largest loading v of each component, (..., k, 1). */
static kz_status pca_phase(kz_array **out, const struct pca *pca, kz_array *loadings,
	kz_error *err)
{
	kz_reduce_options how = KZ_REDUCE_OPTIONS_INIT;
	kz_array *sizes = NULL, *index = NULL, *value = NULL, *size = NULL;
	kz_status st;
	how.stream = pca->call.stream;
	how.keepdims = 1;
	if (!(st = kz_apply(&sizes, KZ_OP_ABSOLUTE, &pca->options, err, KZ_ARGS(loadings)))
	    && !(st = kz_reduce(&index, KZ_REDUCE_ARGMAX, sizes, KZ_AXES(-1), &how, err))
	    && !(st = kz_array_take_along_axis_on(&value, loadings, index, -1, KZ_INDEX_WRAP,
		pca->call.stream, err))
	    && !(st = kz_apply(&size, KZ_OP_ABSOLUTE, &pca->options, err, KZ_ARGS(value)))) {
		st = kz_apply(out, KZ_OP_DIVIDE, &pca->options, err, KZ_ARGS(value, size));
	}
	kz_array_release(sizes);
	kz_array_release(index);
	kz_array_release(value);
	kz_array_release(size);
	return st;
}

/* The first components of u, s and vh, with their factors. */
static kz_status pca_choose(struct pca *pca, const struct svd *svd, double count, kz_error *err)
{
	const kz_op_options *options = &pca->options;
	kz_array *u = NULL, *s = NULL, *vh = NULL, *row = NULL, *phase = NULL, *turned = NULL;
	kz_array *scaled = NULL, *inverse = NULL, *square = NULL;
	const int64_t k = pca->components;
	kz_status st;
	if ((st = kz_array_slice(&u, svd->u, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(0, k)), err))
	    || (st = kz_array_slice(&s, svd->s, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(0, k)), err))
	    || (st = kz_array_slice(&vh, svd->vh, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(0, k), KZ_ALL),
		err))
	    || (st = pca_phase(&phase, pca, vh, err))
	    || (st = kz_array_swapaxes(&turned, phase, -2, -1, err))
	    || (st = kz_array_expand(&row, s, KZ_AXES(-2), err))
	    || (st = kz_apply(&scaled, KZ_OP_MULTIPLY, options, err, KZ_ARGS(u, row)))
	    || (st = kz_apply(&pca->scores, KZ_OP_MULTIPLY, options, err,
		KZ_ARGS(scaled, turned)))
	    || (st = kz_apply(&inverse, KZ_OP_CONJUGATE, options, err, KZ_ARGS(phase)))
	    || (st = kz_apply(&pca->loadings, KZ_OP_MULTIPLY, options, err, KZ_ARGS(vh, inverse)))
	    || (st = kz_apply(&square, KZ_OP_SQUARE, options, err, KZ_ARGS(s)))) {
		goto out;
	}
	st = kz_apply(&pca->variances, KZ_OP_DIVIDE, options, err, KZ_ARGS(square, count - 1));
out:
	kz_array_release(u);
	kz_array_release(s);
	kz_array_release(vh);
	kz_array_release(row);
	kz_array_release(phase);
	kz_array_release(turned);
	kz_array_release(scaled);
	kz_array_release(inverse);
	kz_array_release(square);
	return st;
}

static kz_status pca_check(struct pca *pca, const kz_array *array, kz_error *err)
{
	const int64_t *ends = array->shape.dims + array->shape.ndim - 2;
	const int64_t most = min64(ends[0], ends[1]);
	if (ends[0] < 2 || ends[1] < 1) {
		return error_set(err, KZ_INVALID, "pca: expected two rows or more of one column or "
			"more, got shape %s", shape_text(&array->shape).text);
	}
	if (pca->components < 0 || pca->components > most) {
		return error_set(err, KZ_INVALID, "pca: expected 1 to %lld components of shape %s, "
			"or 0 for all, got %lld", (long long)most, shape_text(&array->shape).text,
			(long long)pca->components);
	}
	pca->components = pca->components ? pca->components : most;
	return KZ_OK;
}

kz_status kz_pca(kz_array **scores, kz_array **loadings, kz_array **variances, kz_array **mean,
	kz_array *array, int64_t components, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct pca pca = {.options = KZ_OP_OPTIONS_INIT, .components = components};
	kz_array **const outs[4] = {scores, loadings, variances, mean};
	kz_array *centred = NULL;
	struct svd svd = {NULL, NULL, NULL};
	kz_status st = out_check(scores, sizeof(*scores), __func__, err);
	for (int i = 1; i < 4; i++) {
		if (outs[i]) {
			*outs[i] = NULL;
		}
	}
	if (st || (st = lapack_begin_several(&pca.call, "pca", array, options, err))
	    || (st = lapack_take_batch(&pca.call, array, false, err))
	    || (st = pca_check(&pca, array, err))) {
		return st;
	}
	pca.options.stream = pca.call.stream;
	if (!(st = pca_centre(&centred, &pca, array, err))
	    && !(st = svd_compute(&svd, &pca.call, centred, SVD_REDUCED, err))) {
		st = pca_choose(&pca, &svd, (double)array->shape.dims[array->shape.ndim - 2], err);
	}
	kz_array *const made[4] = {pca.scores, pca.loadings, pca.variances, pca.mean};
	for (int i = 0; i < 4; i++) {
		if (st || !outs[i]) {
			kz_array_release(made[i]);
		} else {
			*outs[i] = made[i];
		}
	}
	kz_array_release(centred);
	svd_release(&svd);
	return st;
}

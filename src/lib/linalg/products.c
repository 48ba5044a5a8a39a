/* SPDX-License-Identifier: MIT */
/*
 * numpy's products of two arrays, chains of matrices, and powers of matrices.
 *
 * dot, inner and tensordot say which axes are summed, by giving axes labels, and leave the rest to
 * contract.c.  outer and kron are multiplications of views in which the operands broadcast.
 */
#include "base/common.h"

#include "lib/array/view.h"
#include "base/alloc.h"
#include "lib/linalg/contract.h"
#include "lib/ops/reduce.h"

#include <kudzu/create.h>
#include <kudzu/solve.h>
#include <kudzu/view.h>

#include <math.h>

/* Two operands, what the options say, and views that live as long as the call. */
struct products {
	struct contract_how how;
	struct kz_array *a, *b;
};

static kz_status products_begin(struct products *p, const char *name, kz_array **out,
	const kz_op_options *options, kz_error *err)
{
	kz_array *const operands[2] = {p->a, p->b};
	return contract_begin(&p->how, name, out, (kz_arrays){operands, 2}, options, err);
}

static kz_status products_misfit(const struct products *p, const char *what, kz_error *err)
{
	return error_set(err, KZ_INVALID, "%s: expected %s, got shapes %s and %s", p->how.name,
		what, shape_text(&p->a->shape).text, shape_text(&p->b->shape).text);
}

/* One operand is 0-d, so that the result has the shape of the other. */
static kz_status products_scale(kz_array **out, const struct products *p, kz_error *err)
{
	kz_status st = contract_check_into(&p->how,
		&(p->a->shape.ndim ? p->a : p->b)->shape, err);
	return st ? st : contract_multiply(out, p->a, p->b, &p->how, err);
}

/* The sum of all products of two arrays of one shape. */
static kz_status products_reduce(kz_array **out, const struct products *p, bool conjugate,
	kz_error *err)
{
	const struct reduce_products sum = {
		.name = p->how.name, .a = p->a, .b = p->b, .conjugate = conjugate,
		.axes = KZ_ALL_AXES, .dtype = p->how.dtype, .into = p->how.into,
		.stream = p->how.stream,
	};
	return reduce_products(out, &sum, err);
}

/* Sums along some axes.  The axes of a have the labels 0, 1, ...; those of b the labels that
 * follow, unless they are summed with an axis of a. */
static kz_status products_contract(kz_array **out, const struct products *p, const kz_axes *of_a,
	const kz_axes *of_b, kz_error *err)
{
	struct contract_term a = {.array = p->a}, b = {.array = p->b};
	struct contract_labels labels = {.count = 0};
	kz_shape shape = {.ndim = 0};
	uint32_t summed = 0;
	for (int64_t i = 0; i < of_a->count; i++) {
		if (p->a->shape.dims[of_a->items[i]] != p->b->shape.dims[of_b->items[i]]) {
			return error_set(err, KZ_INVALID, "%s: shapes %s and %s do not fit: %lld "
				"elements along axis %lld against %lld along axis %lld",
				p->how.name, shape_text(&p->a->shape).text,
				shape_text(&p->b->shape).text,
				(long long)p->a->shape.dims[of_a->items[i]],
				(long long)of_a->items[i],
				(long long)p->b->shape.dims[of_b->items[i]],
				(long long)of_b->items[i]);
		}
		summed |= UINT32_C(1) << of_a->items[i];
	}
	int64_t ndim = p->a->shape.ndim + p->b->shape.ndim - 2 * of_a->count;
	if (ndim > KZ_MAX_DIMS) {
		return error_set(err, KZ_INVALID, "%s: shapes %s and %s give %lld extents, at most "
			"%d are possible", p->how.name, shape_text(&p->a->shape).text,
			shape_text(&p->b->shape).text, (long long)ndim, KZ_MAX_DIMS);
	}
	for (int64_t i = 0; i < p->a->shape.ndim; i++) {
		a.labels[i] = (uint8_t)i;
		if (!(summed >> i & 1)) {
			labels.items[labels.count++] = (uint8_t)i;
			shape.dims[shape.ndim++] = p->a->shape.dims[i];
		}
	}
	summed = 0;
	for (int64_t i = 0; i < of_b->count; i++) {
		b.labels[of_b->items[i]] = (uint8_t)of_a->items[i];
		summed |= UINT32_C(1) << of_b->items[i];
	}
	for (int64_t i = 0; i < p->b->shape.ndim; i++) {
		if (!(summed >> i & 1)) {
			b.labels[i] = (uint8_t)(KZ_MAX_DIMS + i);
			labels.items[labels.count++] = b.labels[i];
			shape.dims[shape.ndim++] = p->b->shape.dims[i];
		}
	}
	kz_status st = contract_check_into(&p->how, &shape, err);
	return st ? st : contract_pair(out, &a, &b, &labels, &p->how, err);
}

/* dot, inner, vdot, tensordot */

/* dot and inner sum along the last axis of a, and along this one of b, from its end. */
static kz_status products_sum_last(kz_array **out, const struct products *p, int64_t from_end,
	kz_error *err)
{
	const kz_axes of_a = KZ_AXES(p->a->shape.ndim - 1);
	const kz_axes of_b = KZ_AXES(p->b->shape.ndim - from_end);
	if (p->a->shape.ndim == 0 || p->b->shape.ndim == 0) {
		return products_scale(out, p, err);
	}
	if (p->a->shape.ndim == 1 && shape_equal(&p->a->shape, &p->b->shape)) {
		return products_reduce(out, p, false, err);
	}
	return products_contract(out, p, &of_a, &of_b, err);
}

kz_status kz_dot(kz_array **out, kz_array *a, kz_array *b, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct products p = {.a = a, .b = b};
	kz_status st = products_begin(&p, "dot", out, options, err);
	return st ? st : products_sum_last(out, &p, b->shape.ndim > 1 ? 2 : 1, err);
}

kz_status kz_inner(kz_array **out, kz_array *a, kz_array *b, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct products p = {.a = a, .b = b};
	kz_status st = products_begin(&p, "inner", out, options, err);
	return st ? st : products_sum_last(out, &p, 1, err);
}

/* An operand as a 1-d array. */
static kz_status products_ravel_one(kz_array **out, kz_array *array, const struct contract_how *how,
	kz_error *err)
{
	const struct contract_how copy = {.dtype = array->dtype, .stream = how->stream};
	struct kz_array *whole = NULL;
	kz_status st = KZ_OK;
	if (array->shape.ndim == 1) {
		*out = kz_array_retain(array);
		return KZ_OK;
	}
	if (!array_is_contiguous(array)) {
		st = contract_copy(&whole, array, &copy, err);
	}
	st = st ? st : kz_array_ravel_on(out, whole ? whole : array, how->stream, err);
	kz_array_release(whole);
	return st;
}

/* Replace both operands by 1-d ones; release them afterwards. */
static kz_status products_ravel(struct products *p, kz_error *err)
{
	kz_array *a = p->a, *b = p->b;
	p->a = p->b = NULL;
	kz_status st = products_ravel_one(&p->a, a, &p->how, err);
	return st ? st : products_ravel_one(&p->b, b, &p->how, err);
}

kz_status kz_vdot(kz_array **out, kz_array *a, kz_array *b, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct products p = {.a = a, .b = b};
	kz_status st = products_begin(&p, "vdot", out, options, err);
	if (st) {
		return st;
	}
	if (shape_equal(&a->shape, &b->shape)) {
		return products_reduce(out, &p, true, err);
	}
	if (a->count != b->count) {
		return products_misfit(&p, "arrays of one number of elements", err);
	}
	st = products_ravel(&p, err);
	st = st ? st : products_reduce(out, &p, true, err);
	kz_array_release(p.a);
	kz_array_release(p.b);
	return st;
}

kz_status kz_tensordot(kz_array **out, kz_array *a, kz_array *b, int64_t count,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct products p = {.a = a, .b = b};
	kz_axes of_a, of_b;
	kz_status st = products_begin(&p, "tensordot", out, options, err);
	if (st) {
		return st;
	}
	if (count < 0 || count > a->shape.ndim || count > b->shape.ndim) {
		return error_set(err, KZ_INVALID, "tensordot: cannot sum %lld axes of shapes %s "
			"and %s", (long long)count, shape_text(&a->shape).text,
			shape_text(&b->shape).text);
	}
	of_a.count = of_b.count = count;
	for (int64_t i = 0; i < count; i++) {
		of_a.items[i] = a->shape.ndim - count + i;
		of_b.items[i] = i;
	}
	return products_contract(out, &p, &of_a, &of_b, err);
}

kz_status kz_tensordot_axes(kz_array **out, kz_array *a, kz_array *b, kz_axes a_axes,
	kz_axes b_axes, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct products p = {.a = a, .b = b};
	kz_status st;
	if ((st = products_begin(&p, "tensordot", out, options, err))
	    || (st = axes_resolve(&a_axes, NULL, &a->shape, err))
	    || (st = axes_resolve(&b_axes, NULL, &b->shape, err))) {
		return st;
	}
	if (a_axes.count != b_axes.count) {
		return error_set(err, KZ_INVALID, "tensordot: cannot sum %lld axes of shape %s "
			"with %lld axes of shape %s", (long long)a_axes.count,
			shape_text(&a->shape).text, (long long)b_axes.count,
			shape_text(&b->shape).text);
	}
	return products_contract(out, &p, &a_axes, &b_axes, err);
}

/* outer, kron */

kz_status kz_outer(kz_array **out, kz_array *a, kz_array *b, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct products p = {.a = a, .b = b};
	const kz_axes none = {.count = 0};
	kz_status st = products_begin(&p, "outer", out, options, err);
	if (st) {
		return st;
	}
	st = products_ravel(&p, err);
	st = st ? st : products_contract(out, &p, &none, &none, err);
	kz_array_release(p.a);
	kz_array_release(p.b);
	return st;
}

/* An axis of the views that kron multiplies: one of a, along which b is repeated, or one of b. */
struct kron_axis {
	int64_t extent;
	int64_t strides[3]; /* of a, b and the result */
};

struct kron {
	const struct contract_how *how;
	struct kz_array *arrays[3];
	struct kron_axis axes[2 * KZ_MAX_DIMS];
	int64_t ndim;
};

/* Multiply the views that have the axes from `first` on and begin at these bytes.  Arrays have only
 * KZ_MAX_DIMS axes; the outer ones of more are loops. */
static kz_status product_kron_multiply(const struct kron *k, int64_t first,
	const int64_t offsets[3], kz_error *err)
{
	struct kz_array *views[3] = {NULL, NULL, NULL};
	struct contract_how how = *k->how;
	kz_status st = KZ_OK;
	if (k->ndim - first > KZ_MAX_DIMS) {
		const struct kron_axis *axis = &k->axes[first];
		int64_t at[3] = {offsets[0], offsets[1], offsets[2]};
		for (int64_t i = 0; !st && i < axis->extent; i++) {
			st = product_kron_multiply(k, first + 1, at, err);
			for (int which = 0; which < 3; which++) {
				at[which] += axis->strides[which];
			}
		}
		return st;
	}
	for (int which = 0; !st && which < 3; which++) {
		struct kz_array view;
		view_draft(&view, k->arrays[which]);
		view.offset += offsets[which];
		view.shape.ndim = k->ndim - first;
		for (int64_t i = first; i < k->ndim; i++) {
			view.shape.dims[i - first] = k->axes[i].extent;
			view.strides[i - first] = k->axes[i].strides[which];
		}
		st = view_end(&views[which], &view, k->arrays[which], err);
	}
	if (!st) {
		how.into = views[2];
		st = contract_multiply(NULL, views[0], views[1], &how, err);
	}
	for (int which = 0; which < 3; which++) {
		kz_array_release(views[which]);
	}
	return st;
}

/* Lay out the axes of the product: each axis of the result is one of a around one of b. */
static void product_kron_layout(struct kron *k)
{
	const struct kz_array *a = k->arrays[0], *b = k->arrays[1], *to = k->arrays[2];
	for (int64_t i = 0; i < to->shape.ndim; i++) {
		int64_t in_a = i - (to->shape.ndim - a->shape.ndim);
		int64_t in_b = i - (to->shape.ndim - b->shape.ndim);
		int64_t outer = in_a < 0 ? 1 : a->shape.dims[in_a];
		int64_t inner = in_b < 0 ? 1 : b->shape.dims[in_b];
		if (outer != 1) {
			k->axes[k->ndim++] = (struct kron_axis){outer,
				{a->strides[in_a], 0, wrap_mul(to->strides[i], inner)}};
		}
		if (inner != 1) {
			k->axes[k->ndim++] = (struct kron_axis){inner,
				{0, b->strides[in_b], to->strides[i]}};
		}
	}
}

static kz_status product_kron_shape(kz_shape *shape, const struct products *p, kz_error *err)
{
	const kz_shape *a = &p->a->shape, *b = &p->b->shape;
	shape->ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
	for (int64_t i = 1; i <= shape->ndim; i++) {
		int64_t outer = i <= a->ndim ? a->dims[a->ndim - i] : 1;
		int64_t inner = i <= b->ndim ? b->dims[b->ndim - i] : 1;
		if (!size64_mul(&shape->dims[shape->ndim - i], outer, inner)) {
			return error_set(err, KZ_RANGE, "kron: the size of the product of shapes "
				"%s and %s overflows", shape_text(a).text, shape_text(b).text);
		}
	}
	return KZ_OK;
}

kz_status kz_kron(kz_array **out, kz_array *a, kz_array *b, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct products p = {.a = a, .b = b};
	struct kron k = {.how = &p.how, .arrays = {a, b, NULL}};
	const int64_t start[3] = {0, 0, 0};
	struct kz_array *result = NULL;
	kz_shape shape;
	kz_status st;
	if ((st = products_begin(&p, "kron", out, options, err))
	    || (st = product_kron_shape(&shape, &p, err))
	    || (st = contract_check_into(&p.how, &shape, err))
	    || (st = array_create_on(&result, array_device(a), p.how.dtype, &shape, p.how.stream,
			err))) {
		return st;
	}
	k.arrays[2] = result;
	product_kron_layout(&k);
	if (result->count) {
		st = product_kron_multiply(&k, 0, start, err);
	}
	if (!st && p.how.into) {
		st = contract_copy(out, result, &p.how, err);
	} else if (!st) {
		*out = kz_array_retain(result);
	}
	kz_array_release(result);
	return st;
}

/* Chains of matrices */

kz_status kz_add_dot(kz_array *c, kz_arg alpha, kz_array *a, kz_array *b, kz_arg beta,
	kz_error *err)
{
	error_scope(err);
	return kz_gemm(c, alpha, a, KZ_MATRIX_AS_IS, b, KZ_MATRIX_AS_IS, beta, NULL, err);
}

/* How to multiply matrices from..to: those from..split, those after it, and both results. */
struct chain {
	const struct contract_how *how;
	kz_arrays arrays;
	double *costs;    /* [from * count + to], in multiplications */
	int64_t *splits;
};

/* The extent before matrix i, or after the last one. */
static int64_t product_chain_extent(const kz_arrays *arrays, int64_t i)
{
	const kz_shape *shape = &arrays->items[i < arrays->count ? i : i - 1]->shape;
	bool is_edge = i == 0 || i == arrays->count;
	return is_edge && shape->ndim == 1 ? 1
		: shape->dims[i < arrays->count ? 0 : shape->ndim - 1];
}

/* The best order, by the dynamic programme of Cormen, Leiserson, Rivest, Stein: Introduction to
 * Algorithms, "Matrix-chain multiplication". */
static void product_chain_find_splits(struct chain *chain)
{
	const int64_t n = chain->arrays.count;
	for (int64_t length = 2; length <= n; length++) {
		for (int64_t from = 0; from + length <= n; from++) {
			int64_t to = from + length - 1;
			double *best = &chain->costs[from * n + to];
			double ends = (double)product_chain_extent(&chain->arrays, from)
				* (double)product_chain_extent(&chain->arrays, to + 1);
			*best = INFINITY;
			for (int64_t split = from; split < to; split++) {
				double cost = chain->costs[from * n + split]
					+ chain->costs[(split + 1) * n + to]
					+ ends * (double)product_chain_extent(&chain->arrays, split
					+ 1);
				if (cost < *best || split == from) {
					*best = cost;
					chain->splits[from * n + to] = split;
				}
			}
		}
	}
}

/* Multiply matrices from..to.  Their rows have label 0, their columns 2; a 1-d one lacks one. */
static kz_status product_chain_multiply(kz_array **out, const struct chain *chain, int64_t from,
	int64_t to, const struct contract_how *how, kz_error *err)
{
	struct contract_term a = {.array = NULL, .labels = {0, 1}}, b = {.labels = {1, 2}};
	struct contract_how inner = *chain->how;
	struct contract_labels labels = {.count = 0};
	kz_status st;
	if (from == to) {
		*out = kz_array_retain(chain->arrays.items[from]);
		return KZ_OK;
	}
	inner.into = NULL;
	inner.dtype = dtype_wide(inner.dtype);
	int64_t split = chain->splits[from * chain->arrays.count + to];
	st = product_chain_multiply(&a.array, chain, from, split, &inner, err);
	st = st ? st : product_chain_multiply(&b.array, chain, split + 1, to, &inner, err);
	if (!st) {
		bool has_rows = a.array->shape.ndim == 2, has_columns = b.array->shape.ndim == 2;
		a.labels[0] = has_rows ? 0 : 1;
		if (has_rows) {
			labels.items[labels.count++] = 0;
		}
		if (has_columns) {
			labels.items[labels.count++] = 2;
		}
		st = contract_pair(out, &a, &b, &labels, how, err);
	}
	kz_array_release(a.array);
	kz_array_release(b.array);
	return st;
}

static kz_status product_chain_check(const kz_arrays *arrays, kz_error *err)
{
	for (int64_t i = 0; i < arrays->count; i++) {
		const kz_shape *shape = &arrays->items[i]->shape;
		bool is_edge = i == 0 || i + 1 == arrays->count;
		if (shape->ndim != 2 && !(is_edge && shape->ndim == 1)) {
			return error_set(err, KZ_INVALID, "mdot: expected a matrix%s, got shape %s "
				"for operand %lld", is_edge ? " or a 1-d array" : "",
				shape_text(shape).text, (long long)i);
		}
		const kz_shape *before = i ? &arrays->items[i - 1]->shape : shape;
		if (i && before->dims[before->ndim - 1] != shape->dims[0]) {
			return error_set(err, KZ_INVALID, "mdot: shapes %s and %s of operands %lld "
				"and %lld do not fit", shape_text(before).text,
				shape_text(shape).text, (long long)i - 1, (long long)i);
		}
	}
	return KZ_OK;
}

kz_status kz_mdot(kz_array **out, kz_arrays arrays, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct contract_how how;
	struct chain chain = {.how = &how, .arrays = arrays};
	kz_shape shape = {.ndim = 0};
	size_t places;
	kz_status st;
	if (arrays.count < 2 || !arrays.items) {
		out_clear(out, sizeof(*out), __func__);
		return error_set(err, KZ_INVALID, "mdot: expected two matrices or more, got %lld",
			(long long)arrays.count);
	}
	if ((st = contract_begin(&how, "mdot", out, arrays, options, err))
	    || (st = product_chain_check(&arrays, err))) {
		return st;
	}
	if (arrays.items[0]->shape.ndim == 2) {
		shape.dims[shape.ndim++] = product_chain_extent(&arrays, 0);
	}
	if (arrays.items[arrays.count - 1]->shape.ndim == 2) {
		shape.dims[shape.ndim++] = product_chain_extent(&arrays, arrays.count);
	}
	if ((st = contract_check_into(&how, &shape, err))) {
		return st;
	}
	if (size_mul(&places, (size_t)arrays.count, (size_t)arrays.count)) {
		chain.costs = mem_zalloc(places, sizeof(*chain.costs));
		chain.splits = mem_zalloc(places, sizeof(*chain.splits));
	}
	if (chain.costs && chain.splits) {
		product_chain_find_splits(&chain);
		st = product_chain_multiply(out, &chain, 0, arrays.count - 1, &how, err);
	} else {
		st = error_no_memory(err);
	}
	mem_free(chain.costs);
	mem_free(chain.splits);
	return st;
}

/* Powers of matrices */

/* Identity matrices in the place of other matrices. */
static kz_status product_power_identity(kz_array **out, const struct kz_array *like,
	const struct contract_how *how, kz_error *err)
{
	struct kz_array *one = NULL, *all = NULL;
	int64_t n = like->shape.dims[like->shape.ndim - 1];
	kz_status st = kz_array_eye(&one, array_device(like), how->dtype, n, n, 0, err);
	st = st ? st : kz_array_broadcast_to(&all, one, like->shape, err);
	st = st ? st : contract_copy(out, all, how, err);
	kz_array_release(one);
	kz_array_release(all);
	return st;
}

/* Replace an array by its product with another one. */
static kz_status product_power_multiply(kz_array **array, kz_array *by,
	const kz_op_options *options, kz_error *err)
{
	struct kz_array *product = NULL;
	kz_status st = kz_matmul(&product, *array, by, options, err);
	if (!st) {
		kz_array_release(*array);
		*array = product;
	}
	return st;
}

/* The power of the inverses. */
static kz_status product_power_negative(kz_array **out, kz_array *array, int64_t power,
	const kz_op_options *options, const struct contract_how *how, kz_error *err)
{
	kz_op_options inverting = KZ_OP_OPTIONS_INIT;
	struct kz_array *inverse = NULL;
	if (power == INT64_MIN) {
		return error_set(err, KZ_RANGE, "matrix_power: power %lld is out of range",
			(long long)power);
	}
	inverting.stream = how->stream;
	kz_status st = kz_inv(&inverse, array, &inverting, err);
	st = st ? st : kz_matrix_power(out, inverse, -power, options, err);
	kz_array_release(inverse);
	return st;
}

kz_status kz_matrix_power(kz_array **out, kz_array *array, int64_t power,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct contract_how how, wide;
	kz_op_options product = KZ_OP_OPTIONS_INIT;
	struct kz_array *square = NULL, *result = NULL;
	kz_array *const operands[1] = {array};
	kz_status st = contract_begin(&how, "matrix_power", out, (kz_arrays){operands, 1}, options,
		err);
	if (st) {
		return st;
	}
	int64_t ndim = array->shape.ndim;
	if (ndim < 2 || array->shape.dims[ndim - 1] != array->shape.dims[ndim - 2]) {
		return error_set(err, KZ_INVALID, "matrix_power: expected square matrices "
			"(..., n, n), got shape %s", shape_text(&array->shape).text);
	}
	if (power < 0) {
		return product_power_negative(out, array, power, options, &how, err);
	}
	if ((st = contract_check_into(&how, &array->shape, err)) || power == 0) {
		return st ? st : product_power_identity(out, array, &how, err);
	}
	wide = (struct contract_how){.dtype = dtype_wide(how.dtype), .stream = how.stream};
	product.stream = how.stream;
	if (array->dtype == wide.dtype) {
		square = kz_array_retain(array);
	} else {
		st = contract_copy(&square, array, &wide, err);
	}
	for (; !st && power; power >>= 1) {
		if (power & 1 && !result) {
			result = kz_array_retain(square);
		} else if (power & 1) {
			st = product_power_multiply(&result, square, &product, err);
		}
		if (!st && power > 1) {
			st = product_power_multiply(&square, square, &product, err);
		}
	}
	if (!st && (how.into || result == array || how.dtype != wide.dtype)) {
		st = contract_copy(out, result, &how, err);
	} else if (!st) {
		*out = kz_array_retain(result);
	}
	kz_array_release(square);
	kz_array_release(result);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * A contraction of two arrays by one of three kernels.
 *
 * The labels of the operands fall into four groups.  Both operands and the result have a batch
 * label; only a has a row; only b has a column; an inner label is of both, but not of the result.
 *
 *  - Nothing is summed without inner labels: a multiplication, in which the operands broadcast.
 *  - With neither rows nor columns each element is used once.  Then a reduction adds the products,
 *    as fast as it reads memory.
 *  - All else is a product of matrices.  The rows of each operand become one axis, and so do its
 *    columns: as a view if the strides allow it, else in a copy.
 */
#include "base/common.h"

#include "lib/array/view.h"
#include "lib/linalg/contract.h"
#include "lib/ops/reduce.h"

#include <kudzu/linalg.h>
#include <kudzu/view.h>

#include <stdlib.h>
#include <string.h>

/* Options */

kz_status contract_begin(struct contract_how *how, const char *name, kz_array **out,
	kz_arrays operands, const kz_op_options *options, kz_error *err)
{
	struct elementwise read = {.into = NULL};
	struct kz_array *const *items = operands.items;
	kz_status st;
	*how = (struct contract_how){.name = name};
	out_clear(out, sizeof(*out), name);
	if ((st = elementwise_options(&read, &how->dtype, options, err))) {
		return st;
	}
	how->into = read.into;
	if (!out && !how->into) {
		return error_set(err, KZ_INVALID, "kz_%s: out is NULL", name);
	}
	kz_dtype common = 0;
	for (int64_t i = 0; i < operands.count; i++) {
		if ((st = object_check_as(items[i], OBJECT_ARRAY, i ? "b" : "a", err))
		    || (st = array_same_device(name, items[0], items[i], err))) {
			return st;
		}
		kz_dtype before = i ? common : items[i]->dtype;
		common = kz_dtype_promote(before, items[i]->dtype);
		if (!dtype_is_number(common)) {
			return error_set(err, KZ_INVALID, "%s does not take %s and %s", name,
				dtype_refused(before), dtype_refused(items[i]->dtype));
		}
	}
	how->dtype = how->dtype ? how->dtype : common;
	if (!dtype_is_number(how->dtype)) {
		return error_set(err, KZ_INVALID, "%s does not give %s", name,
			dtype_refused(how->dtype));
	}
	if (how->into && (st = array_same_device(name, items[0], how->into, err))) {
		return st;
	}
	return stream_pick(&how->stream, array_device(items[0]), read.stream, err);
}

kz_status contract_check_into(const struct contract_how *how, const kz_shape *shape,
	kz_error *err)
{
	const struct kz_array *into = how->into;
	if (!into) {
		return KZ_OK;
	}
	if (!shape_equal(shape, &into->shape)) {
		return error_set(err, KZ_INVALID, "%s gives shape %s, which does not fit into %s",
			how->name, shape_text(shape).text, shape_text(&into->shape).text);
	}
	if (!kz_dtype_can_cast(how->dtype, into->dtype)) {
		return error_set(err, KZ_INVALID, "%s gives %s, which does not fit into %s",
			how->name, dtype_refused(how->dtype), dtype_refused(into->dtype));
	}
	const struct strided elements = array_elements(into);
	return array_is_contiguous(into) ? KZ_OK : strided_distinct(&elements, "an array", err);
}

/* Labels */

static uint64_t contract_mask(const uint8_t *labels, int64_t count)
{
	uint64_t mask = 0;
	for (int64_t i = 0; i < count; i++) {
		mask |= UINT64_C(1) << labels[i];
	}
	return mask;
}

/* Those of a list that are in a set, in the order of the list. */
static struct contract_labels contract_choose(const uint8_t *labels, int64_t count, uint64_t set)
{
	struct contract_labels out = {0, {0}};
	for (int64_t i = 0; i < count; i++) {
		if (set >> labels[i] & 1) {
			out.items[out.count++] = labels[i];
		}
	}
	return out;
}

static void contract_append(struct contract_labels *to, const struct contract_labels *from)
{
	for (int64_t i = 0; i < from->count; i++) {
		to->items[to->count++] = from->items[i];
	}
}

/* The axis of a label that the term has. */
static int64_t contract_axis(const struct contract_term *term, uint8_t label)
{
	int64_t axis = 0;
	while (term->labels[axis] != label) {
		axis++;
	}
	return axis;
}

/* Those of a term's labels that are in a set, the largest stride first: if these axes can become
 * one, it is in this order. */
static struct contract_labels contract_sort(const struct contract_term *term, uint64_t set)
{
	const struct kz_array *array = term->array;
	struct contract_labels out = contract_choose(term->labels, array->shape.ndim, set);
	for (int64_t i = 1; i < out.count; i++) {
		uint8_t label = out.items[i];
		int64_t stride = llabs(array->strides[contract_axis(term, label)]), to = i;
		while (to > 0 && llabs(array->strides[contract_axis(term, out.items[to - 1])])
				< stride) {
			out.items[to] = out.items[to - 1];
			to--;
		}
		out.items[to] = label;
	}
	return out;
}

/* Whether a view has these axes as one. */
static bool contract_merges(const struct contract_term *term, const struct contract_labels *labels)
{
	const struct kz_array *array = term->array;
	int64_t next = 0;
	bool known = false;
	for (int64_t i = labels->count; array->count && i-- > 0;) {
		int64_t axis = contract_axis(term, labels->items[i]);
		if (array->shape.dims[axis] == 1) {
			continue;
		}
		if (known && array->strides[axis] != next) {
			return false;
		}
		next = wrap_mul(array->strides[axis], array->shape.dims[axis]);
		known = true;
	}
	return true;
}

/* Arrays */

kz_status contract_arrange(kz_array **out, const struct contract_term *term,
	const uint8_t *labels, int64_t ndim, kz_error *err)
{
	struct kz_array view;
	view_draft(&view, term->array);
	view.shape.ndim = ndim;
	uint64_t own = contract_mask(term->labels, term->array->shape.ndim);
	for (int64_t i = 0; i < ndim; i++) {
		bool has = own >> labels[i] & 1;
		int64_t axis = has ? contract_axis(term, labels[i]) : 0;
		view.shape.dims[i] = has ? term->array->shape.dims[axis] : 1;
		view.strides[i] = has ? term->array->strides[axis] : 0;
	}
	return view_end(out, &view, term->array, err);
}

/* Run an expression of the dtype `from` into how->into, or a new row-major array of this shape. */
static kz_status contract_run(kz_array **out, struct expr *expr, const kz_shape *shape,
	const struct contract_how *how, kz_error *err)
{
	struct elementwise run = {.into = how->into, .stream = how->stream, .unsafe = true};
	struct kz_array *made = NULL;
	kz_status st;
	if (!how->into && (st = array_create_on(&made, array_device(expr->arrays[0]), how->dtype,
			shape, how->stream, err))) {
		return st;
	}
	run.into = made ? made : how->into;
	st = elementwise_run(out, expr, &run, err);
	kz_array_release(made);
	return st;
}

kz_status contract_copy(kz_array **out, const struct kz_array *array,
	const struct contract_how *how, kz_error *err)
{
	struct expr expr;
	expr_init(&expr);
	int node = expr_array(&expr, array, err);
	if (node < 0 || expr_cast(&expr, node, how->dtype, err) < 0) {
		return KZ_INVALID;
	}
	return contract_run(out, &expr, &array->shape, how, err);
}

kz_status contract_multiply(kz_array **out, const struct kz_array *a, const struct kz_array *b,
	const struct contract_how *how, kz_error *err)
{
	struct expr expr;
	kz_shape shape;
	kz_dtype computed = dtype_wide(how->dtype);
	int nodes[2];
	kz_status st = shape_broadcast(&shape, a->shape, b->shape, err);
	if (st) {
		return st;
	}
	expr_init(&expr);
	nodes[0] = expr_array(&expr, a, err);
	nodes[0] = nodes[0] < 0 ? -1 : expr_cast(&expr, nodes[0], computed, err);
	nodes[1] = nodes[0] < 0 ? -1 : expr_array(&expr, b, err);
	nodes[1] = nodes[1] < 0 ? -1 : expr_cast(&expr, nodes[1], computed, err);
	int product = nodes[1] < 0 ? -1 : expr_apply(&expr, KZ_OP_MULTIPLY, nodes, err);
	if (product < 0 || expr_cast(&expr, product, how->dtype, err) < 0) {
		return KZ_INVALID;
	}
	return contract_run(out, &expr, &shape, how, err);
}

/* Contractions */

/* One, with its labels in groups. */
struct contract {
	const struct contract_how *how;
	const struct contract_term *a, *b;
	struct contract_labels result;
	struct contract_labels batch, rows, columns, inner;
};

static kz_status contract_broadcast(kz_array **out, const struct contract *c, kz_error *err)
{
	struct kz_array *a = NULL, *b = NULL;
	kz_status st;
	if (!(st = contract_arrange(&a, c->a, c->result.items, c->result.count, err))
	    && !(st = contract_arrange(&b, c->b, c->result.items, c->result.count, err))) {
		st = contract_multiply(out, a, b, c->how, err);
	}
	kz_array_release(a);
	kz_array_release(b);
	return st;
}

/* Both operands have all labels, so there is room for them. */
static kz_status contract_reduce(kz_array **out, const struct contract *c, kz_error *err)
{
	struct contract_labels all = c->result;
	struct reduce_products products = {
		.name = c->how->name, .dtype = c->how->dtype, .into = c->how->into,
		.stream = c->how->stream, .axes = {.count = c->inner.count},
	};
	contract_append(&all, &c->inner);
	for (int64_t i = 0; i < c->inner.count; i++) {
		products.axes.items[i] = c->result.count + i;
	}
	kz_status st;
	if (!(st = contract_arrange(&products.a, c->a, all.items, all.count, err))
	    && !(st = contract_arrange(&products.b, c->b, all.items, all.count, err))) {
		st = reduce_products(out, &products, err);
	}
	kz_array_release(products.a);
	kz_array_release(products.b);
	return st;
}

/* Products of matrices */

/* The product of the extents of a term's labels. */
static int64_t contract_extent(const struct contract_term *term,
	const struct contract_labels *labels)
{
	int64_t extent = 1;
	for (int64_t i = 0; i < labels->count; i++) {
		extent *= term->array->shape.dims[contract_axis(term, labels->items[i])];
	}
	return extent;
}

/* A term with its batch as it is, and each of two groups as one axis. */
static kz_status contract_as_matrices(kz_array **out, const struct contract *c,
	const struct contract_term *term, const struct contract_labels *rows,
	const struct contract_labels *columns, kz_error *err)
{
	struct kz_array *turned = NULL, *copy = NULL;
	struct contract_how how = {.dtype = term->array->dtype, .stream = c->how->stream};
	struct contract_labels all = c->batch;
	kz_shape shape = {.ndim = c->batch.count + 2};
	contract_append(&all, rows);
	contract_append(&all, columns);
	bool fits = contract_merges(term, rows) && contract_merges(term, columns);
	if (dtype_wide(how.dtype) != dtype_wide(c->how->dtype)) {
		how.dtype = c->how->dtype;
		fits = false;
	}
	kz_status st = contract_arrange(&turned, term, all.items, all.count, err);
	st = st || fits ? st : contract_copy(&copy, turned, &how, err);
	if (!st) {
		memcpy(shape.dims, turned->shape.dims, sizeof(shape.dims));
		shape.dims[shape.ndim - 2] = contract_extent(term, rows);
		shape.dims[shape.ndim - 1] = contract_extent(term, columns);
		st = kz_array_reshape_view(out, copy ? copy : turned, shape, err);
	}
	kz_array_release(turned);
	kz_array_release(copy);
	return st;
}

/* The inner labels in the order that spares more copying. */
static struct contract_labels contract_sort_inner(const struct contract *c, uint64_t inner)
{
	struct contract_labels best = {0, {0}};
	int64_t least = INT64_MAX;
	for (int i = 0; i < 2; i++) {
		struct contract_labels order = contract_sort(i ? c->b : c->a, inner);
		int64_t copied = contract_merges(c->a, &order) ? 0 : c->a->array->count;
		copied += contract_merges(c->b, &order) ? 0 : c->b->array->count;
		if (copied < least) {
			least = copied;
			best = order;
		}
	}
	return best;
}

/* The options' array as the product writes it; *out stays NULL if it has no such view. */
static kz_status contract_open_into(kz_array **out, const struct contract *c, const kz_shape *shape,
	const struct contract_labels *order, kz_error *err)
{
	struct contract_term into = {.array = c->how->into};
	struct kz_array *turned = NULL;
	if (!into.array || into.array->dtype != c->how->dtype) {
		return KZ_OK;
	}
	memcpy(into.labels, c->result.items, sizeof(into.labels));
	if (!contract_merges(&into, &c->rows) || !contract_merges(&into, &c->columns)) {
		return KZ_OK;
	}
	kz_status st = contract_arrange(&turned, &into, order->items, order->count, err);
	st = st ? st : kz_array_reshape_view(out, turned, *shape, err);
	kz_array_release(turned);
	return st;
}

/* A product in the order of its groups becomes the result. */
static kz_status contract_close(kz_array **out, const struct contract *c, kz_array *product,
	const kz_shape *shape, const struct contract_labels *order, kz_error *err)
{
	struct contract_term term = {.array = NULL};
	struct kz_array *turned = NULL;
	memcpy(term.labels, order->items, sizeof(term.labels));
	kz_status st = kz_array_reshape_on(&term.array, product, *shape, c->how->stream, err);
	st = st ? st : contract_arrange(&turned, &term, c->result.items, c->result.count, err);
	kz_array_release(term.array);
	if (!st && c->how->into) {
		st = contract_copy(out, turned, c->how, err);
	} else if (!st) {
		*out = kz_array_retain(turned);
	}
	kz_array_release(turned);
	return st;
}

static kz_status contract_matrices(kz_array **out, const struct contract *c, kz_error *err)
{
	const struct contract_how *how = c->how;
	struct kz_array *a = NULL, *b = NULL, *product = NULL;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	struct contract_labels order = c->batch;
	kz_shape matrices = {.ndim = c->batch.count + 2}, shape;
	kz_status st;
	contract_append(&order, &c->rows);
	contract_append(&order, &c->columns);
	shape.ndim = order.count;
	for (int64_t i = 0; i < order.count; i++) {
		const struct contract_term *of = i < c->batch.count + c->rows.count ? c->a : c->b;
		shape.dims[i] = of->array->shape.dims[contract_axis(of, order.items[i])];
	}
	memcpy(matrices.dims, shape.dims, (size_t)c->batch.count * sizeof(shape.dims[0]));
	matrices.dims[matrices.ndim - 2] = contract_extent(c->a, &c->rows);
	matrices.dims[matrices.ndim - 1] = contract_extent(c->b, &c->columns);
	options.stream = how->stream;
	options.dtype = how->dtype;
	if (!(st = contract_as_matrices(&a, c, c->a, &c->rows, &c->inner, err))
	    && !(st = contract_as_matrices(&b, c, c->b, &c->inner, &c->columns, err))
	    && !(st = contract_open_into(&options.into, c, &matrices, &order, err))) {
		st = kz_matmul(&product, a, b, &options, err);
	}
	if (!st && !options.into) {
		st = contract_close(out, c, product, &shape, &order, err);
	} else if (!st && out) {
		*out = kz_array_retain(how->into);
	}
	kz_array_release(a);
	kz_array_release(b);
	kz_array_release(product);
	kz_array_release(options.into);
	return st;
}

/* Whether the product is better computed as that of b and a: the innermost axis of the result is
 * then innermost in memory. */
static bool contract_is_swapped(const uint8_t *labels, int64_t ndim, uint64_t of_a, uint64_t of_b)
{
	while (ndim > 0 && of_a >> labels[ndim - 1] & of_b >> labels[ndim - 1] & 1) {
		ndim--;
	}
	return ndim > 0 && of_a >> labels[ndim - 1] & 1;
}

kz_status contract_pair(kz_array **out, const struct contract_term *a,
	const struct contract_term *b, const struct contract_labels *result,
	const struct contract_how *how, kz_error *err)
{
	const uint8_t *labels = result->items;
	const int64_t ndim = result->count;
	uint64_t of_a = contract_mask(a->labels, a->array->shape.ndim);
	uint64_t of_b = contract_mask(b->labels, b->array->shape.ndim);
	uint64_t kept = contract_mask(labels, ndim);
	uint64_t inner = of_a & of_b & ~kept;
	bool swapped = contract_is_swapped(labels, ndim, of_a, of_b);
	struct contract c = {
		.how = how, .a = swapped ? b : a, .b = swapped ? a : b, .result = *result,
	};
	uint64_t rows = swapped ? of_b & ~of_a : of_a & ~of_b;
	uint64_t columns = swapped ? of_a & ~of_b : of_b & ~of_a;
	if (!inner) {
		return contract_broadcast(out, &c, err);
	}
	c.inner = contract_sort_inner(&c, inner);
	if (!rows && !columns) {
		return contract_reduce(out, &c, err);
	}
	c.batch = contract_choose(labels, ndim, of_a & of_b);
	c.rows = contract_sort(c.a, rows);
	c.columns = contract_sort(c.b, columns);
	return contract_matrices(out, &c, err);
}

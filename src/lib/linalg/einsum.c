/* SPDX-License-Identifier: MIT */
/*
 * einsum: a sum of products in which each axis has a label.
 *
 * The subscripts become labels (einsum_parse.c), and an order of contractions is found
 * (einsum_path.c).  Before its first contraction an operand becomes a view in which no label occurs
 * twice: a repeated label is a diagonal, and an axis of extent 1 goes if the label has extent 1
 * everywhere, or a larger one in another operand.  Then it is summed along the labels that it has
 * alone.  contract.c does the rest.
 *
 * So all labels of extent 1 are gone while operands are contracted; the result gets them back.
 */
#include "base/common.h"

#include "lib/array/view.h"
#include "lib/linalg/einsum.h"

#include <kudzu/linalg.h>
#include <kudzu/reduce.h>

#include <string.h>

static kz_status einsum_check(const char *subscripts, const kz_arrays *arrays, kz_error *err)
{
	if (!subscripts) {
		return error_set(err, KZ_INVALID, "einsum: expected subscripts, got NULL");
	}
	if (arrays->count < 1 || arrays->count > EINSUM_OPERANDS || !arrays->items) {
		return error_set(err, KZ_INVALID, "einsum: expected 1 to %d operands, got %lld",
			EINSUM_OPERANDS, (long long)arrays->count);
	}
	return KZ_OK;
}

/* Terms */

/* The distinct labels of an operand, as a view. */
static kz_status einsum_view(struct contract_term *term, const struct einsum *e, int operand,
	struct kz_array *array, kz_error *err)
{
	struct kz_array view;
	int8_t axes[CONTRACT_LABELS];
	memset(axes, -1, sizeof(axes));
	view_draft(&view, array);
	view.shape.ndim = 0;
	for (int64_t i = 0; i < array->shape.ndim; i++) {
		uint8_t label = e->operands[operand].labels[i];
		int64_t axis = axes[label];
		if (!(e->masks[operand] >> label & 1)) {
			continue;
		}
		if (axis < 0) {
			axis = view.shape.ndim++;
			axes[label] = (int8_t)axis;
			term->labels[axis] = label;
			view.shape.dims[axis] = array->shape.dims[i];
			view.strides[axis] = array->strides[i];
		} else {
			view.strides[axis] = wrap_add(view.strides[axis], array->strides[i]);
		}
	}
	return view_end(&term->array, &view, array, err);
}

/* Sum a term along the labels that are not in a set. */
static kz_status einsum_sum(struct contract_term *term, uint64_t kept,
	const struct contract_how *how, kz_error *err)
{
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	struct kz_array *sum = NULL;
	kz_axes axes = {.count = 0};
	int64_t left = 0;
	for (int64_t i = 0; i < term->array->shape.ndim; i++) {
		if (kept >> term->labels[i] & 1) {
			term->labels[left++] = term->labels[i];
		} else {
			axes.items[axes.count++] = i;
		}
	}
	if (axes.count == 0) {
		return KZ_OK;
	}
	options.dtype = how->dtype;
	options.stream = how->stream;
	kz_status st = kz_reduce(&sum, KZ_REDUCE_SUM, term->array, axes, &options, err);
	if (!st) {
		kz_array_release(term->array);
		term->array = sum;
	}
	return st;
}

/* The labels of the output but for those of extent 1, and the options' array as a view. */
static kz_status einsum_open_output(struct contract_term *output, int64_t *ndim,
	const struct einsum *e, struct kz_array *into, kz_error *err)
{
	struct contract_term whole = {.array = into};
	*ndim = 0;
	for (int64_t i = 0; i < e->output.ndim; i++) {
		whole.labels[i] = e->output.labels[i];
		if (e->extents[whole.labels[i]] != 1) {
			output->labels[(*ndim)++] = whole.labels[i];
		}
	}
	return into ? contract_arrange(&output->array, &whole, output->labels, *ndim, err) : KZ_OK;
}

/* Contractions */

/* One call.  Terms are operands and, after them, results; those without an array are used up. */
struct einsum_run {
	const struct einsum *e;
	const struct einsum_path *path;
	kz_arrays arrays;
	struct contract_how last;    /* for the last step */
	struct contract_how between; /* for the others: halves stay floats */
	struct contract_term output;
	int64_t output_ndim;
	struct contract_term terms[EINSUM_RESULTS];
};

/* Make an operand ready to be contracted; results are. */
static kz_status einsum_prepare(struct einsum_run *run, int number, kz_error *err)
{
	struct contract_term *term = &run->terms[number];
	if (number >= run->e->operand_count) {
		return KZ_OK;
	}
	kz_status st = einsum_view(term, run->e, number, run->arrays.items[number], err);
	return st ? st : einsum_sum(term, run->path->masks[number], &run->between, err);
}

static kz_status einsum_run_step(struct einsum_run *run, int i, kz_error *err)
{
	const struct einsum_step *step = &run->path->steps[i];
	int number = (int)run->e->operand_count + i;
	bool is_last = i + 1 == run->path->count;
	struct contract_term *a = &run->terms[step->a], *b = &run->terms[step->b];
	struct contract_term *result = &run->terms[number];
	struct contract_labels labels = {.count = 0};
	uint64_t left = run->path->masks[number];
	kz_status st;
	if ((st = einsum_prepare(run, step->a, err)) || (st = einsum_prepare(run, step->b, err))) {
		return st;
	}
	if (is_last) {
		labels.count = run->output_ndim;
		memcpy(labels.items, run->output.labels, sizeof(labels.items));
	}
	for (int k = 0; !is_last && k < 2; k++) {
		const struct contract_term *term = k ? b : a;
		for (int64_t axis = 0; axis < term->array->shape.ndim; axis++) {
			if (left >> term->labels[axis] & 1) {
				labels.items[labels.count++] = term->labels[axis];
				left &= ~(UINT64_C(1) << term->labels[axis]);
			}
		}
	}
	memcpy(result->labels, labels.items, sizeof(result->labels));
	st = contract_pair(&result->array, a, b, &labels, is_last ? &run->last : &run->between,
		err);
	kz_array_release(a->array);
	kz_array_release(b->array);
	a->array = b->array = NULL;
	return st;
}

/* One operand: an order of its axes, copied unless it is a new sum that stays as it is. */
static kz_status einsum_run_alone(struct einsum_run *run, struct contract_term *result,
	kz_error *err)
{
	struct contract_term *term = &run->terms[0];
	struct kz_array *turned = NULL;
	kz_status st = einsum_prepare(run, 0, err);
	st = st ? st : contract_arrange(&turned, term, run->output.labels, run->output_ndim, err);
	if (!st && !run->last.into && turned->dtype == run->last.dtype
	    && turned->buffer != run->arrays.items[0]->buffer) {
		result->array = kz_array_retain(turned);
	} else if (!st) {
		st = contract_copy(&result->array, turned, &run->last, err);
	}
	memcpy(result->labels, run->output.labels, sizeof(result->labels));
	kz_array_release(turned);
	return st;
}

static kz_status einsum_run(kz_array **out, struct einsum_run *run, kz_error *err)
{
	const struct einsum *e = run->e;
	struct contract_term alone = {.array = NULL}, *result = &alone;
	kz_status st = KZ_OK;
	for (int i = 0; !st && i < run->path->count; i++) {
		st = einsum_run_step(run, i, err);
		result = &run->terms[e->operand_count + i];
	}
	if (e->operand_count == 1) {
		st = einsum_run_alone(run, &alone, err);
	}
	if (!st && !run->last.into) {
		st = contract_arrange(out, result, e->output.labels, e->output.ndim, err);
	}
	kz_array_release(alone.array);
	for (int64_t i = 0; i < 2 * e->operand_count; i++) {
		kz_array_release(run->terms[i].array);
	}
	return st;
}

kz_status kz_einsum(kz_array **out, const char *subscripts, kz_arrays arrays,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct einsum e;
	struct einsum_path path;
	struct einsum_run run = {.e = &e, .path = &path, .arrays = arrays};
	kz_shape shape = {.ndim = 0};
	kz_status st;
	out_clear(out, sizeof(*out), "einsum");
	if ((st = einsum_check(subscripts, &arrays, err))
	    || (st = contract_begin(&run.last, "einsum", out, arrays, options, err))
	    || (st = einsum_parse(&e, subscripts, arrays, err))) {
		return st;
	}
	for (int64_t i = 0; i < e.output.ndim; i++) {
		shape.dims[shape.ndim++] = e.extents[e.output.labels[i]];
	}
	struct kz_array *into = run.last.into;
	if ((st = contract_check_into(&run.last, &shape, err))
	    || (st = einsum_find_path(&path, &e, err))
	    || (st = einsum_open_output(&run.output, &run.output_ndim, &e, into, err))) {
		return st;
	}
	run.last.into = run.output.array;
	run.between = (struct contract_how){.name = run.last.name,
		.dtype = dtype_wide(run.last.dtype), .stream = run.last.stream};
	st = einsum_run(out, &run, err);
	kz_array_release(run.output.array);
	if (!st && into && out) {
		*out = kz_array_retain(into);
	}
	return st;
}

kz_status kz_einsum_path(char *buffer, int64_t size, int64_t *length, const char *subscripts,
	kz_arrays arrays, kz_error *err)
{
	error_scope(err);
	struct contract_how how;
	struct einsum e;
	struct einsum_path path;
	struct kz_array *none = NULL;
	struct str text = STR_INIT;
	size_t room = buffer && size > 0 ? (size_t)size : 0;
	kz_status st;
	if (room > 0) {
		buffer[0] = '\0';
	}
	if (!(st = einsum_check(subscripts, &arrays, err))
	    && !(st = contract_begin(&how, "einsum", &none, arrays, NULL, err))
	    && !(st = einsum_parse(&e, subscripts, arrays, err))
	    && !(st = einsum_find_path(&path, &e, err))) {
		einsum_write_path(&text, &e, &path);
		st = text.failed ? error_no_memory(err) : KZ_OK;
	}
	if (!st && room > 0) {
		size_t len = text.len < room ? text.len : room - 1;
		memcpy(buffer, text.data, len);
		buffer[len] = '\0';
	}
	if (length) {
		*length = st ? 0 : (int64_t)text.len;
	}
	str_free(&text);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * Functions for networks: softmax, its logarithm, cross entropy and one-hot rows.
 *
 * All are expressions of the elements x, and of what each line of them has once: its maximum, and
 * the sum of exp(x - maximum).  Two reductions find these; a third kernel has the result.  Which
 * class is right is a comparison of the classes, as a column, with 0, 1, 2 ... as a row: nobody
 * stores the matrix of ones and zeros.
 */
#include "base/common.h"

#include "lib/array/view.h"
#include "lib/core/stream.h"
#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/indexing.h"
#include "lib/ops/reduce.h"

#include <kudzu/network.h>
#include <kudzu/reduce.h>

#include <math.h>

/* Elements in lines along an axis, and what each line has once: the axis has an extent of 1
 * there. */
struct lines {
	const char *name;        /* of the function, for errors */
	struct kz_array *x;
	int64_t axis;
	kz_dtype computed;       /* a float type, no half */
	kz_dtype result;
	struct kz_stream *stream;
	struct kz_array *most;   /* of each line */
	struct kz_array *sums;   /* of exp(x - most) */
};

static void network_lines_release(struct lines *lines)
{
	kz_array_release(lines->most);
	kz_array_release(lines->sums);
}

static kz_status network_find_dtypes(struct lines *lines, kz_dtype wanted, kz_error *err)
{
	kz_dtype dtype = lines->x->dtype;
	if (!dtype_is_real(dtype) || (wanted && !dtype_is_float(wanted))) {
		return error_set(err, KZ_INVALID, !dtype_is_real(dtype) ? "%s does not take %s"
			: "%s cannot have dtype %s", lines->name,
			dtype_refused(!dtype_is_real(dtype) ? dtype : wanted));
	}
	lines->result = wanted ? wanted : dtype_is_exact(dtype) ? KZ_F64 : dtype;
	lines->computed = dtype_wide(lines->result);
	return KZ_OK;
}

/* An array as the type that is computed in; -1 after a failure, as all that add nodes. */
static int network_lines_read(const struct lines *lines, struct expr *expr,
	const struct kz_array *array, kz_error *err)
{
	int node = expr_array(expr, array, err);
	return node < 0 ? -1 : expr_cast(expr, node, lines->computed, err);
}

/* x - most */
static int network_lines_add_less(const struct lines *lines, struct expr *expr, kz_error *err)
{
	int x = network_lines_read(lines, expr, lines->x, err);
	return expr_apply_two(expr, KZ_OP_SUBTRACT, x, network_lines_read(lines, expr, lines->most,
		err), err);
}

/* Find the maxima and the sums; there are elements. */
static kz_status network_lines_sum(struct lines *lines, kz_error *err)
{
	struct expr expr;
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	const struct reduce_end end = {.keepdims = true};
	const struct reduce reduce = {
		.name = lines->name, .expr = &expr, .axes = 1u << lines->axis,
		.stream = lines->stream,
		.rule = {KZ_OP_ADD, REDUCE_AS_IS, false, lines->computed},
	};
	options.stream = lines->stream;
	options.keepdims = 1;
	kz_status st = kz_reduce(&lines->most, KZ_REDUCE_MAX, lines->x, KZ_AXES(lines->axis),
		&options, err);
	if (st) {
		return st;
	}
	expr_init(&expr);
	int less = network_lines_add_less(lines, &expr, err);
	return expr_apply_two(&expr, KZ_OP_EXP, less, 0, err) < 0 ? KZ_INVALID
		: reduce_sum_to(&lines->sums, &reduce, &lines->x->shape, &end, err);
}

/* Softmax */

/* exp(x - most) / sums, or its logarithm (x - most) - log(sums). */
static int network_add_softmax(const struct lines *lines, struct expr *expr, bool logarithm,
	kz_error *err)
{
	int less = network_lines_add_less(lines, expr, err);
	int sums = network_lines_read(lines, expr, lines->sums, err);
	return logarithm ? expr_apply_two(expr, KZ_OP_SUBTRACT, less,
			expr_apply_two(expr, KZ_OP_LOG, sums, 0, err), err)
		: expr_apply_two(expr, KZ_OP_DIVIDE, expr_apply_two(expr, KZ_OP_EXP, less, 0, err),
			sums, err);
}

static kz_status network_softmax(kz_array **out, struct lines *lines, bool logarithm,
	const kz_op_options *options, kz_error *err)
{
	struct elementwise how = {.into = NULL};
	struct kz_array *made = NULL;
	struct expr expr;
	kz_dtype wanted = 0;
	int node = -1;
	kz_status st;
	out_clear(out, sizeof(*out), lines->name);
	if ((st = elementwise_options(&how, &wanted, options, err))
	    || (st = object_check_as(lines->x, OBJECT_ARRAY, "x", err))
	    || (st = axis_resolve(&lines->axis, &lines->x->shape, err))
	    || (st = network_find_dtypes(lines, wanted, err))
	    || (st = stream_pick(&lines->stream, array_device(lines->x), how.stream, err))) {
		return st;
	}
	if (!out && !how.into) {
		return error_set(err, KZ_INVALID, "kz_%s: out is NULL", lines->name);
	}
	const struct elementwise_result result = {lines->x->shape, lines->result, lines->x};
	how.stream = lines->stream;
	expr_init(&expr);
	if ((st = elementwise_reserve(&made, &how, lines->name, &result, err))) {
		return st;
	}
	if (lines->x->count == 0) {
		node = network_lines_read(lines, &expr, lines->x, err);
	} else if (!(st = network_lines_sum(lines, err))) {
		node = network_add_softmax(lines, &expr, logarithm, err);
	}
	st = st ? st : node < 0 || expr_cast(&expr, node, lines->result, err) < 0 ? KZ_INVALID
		: elementwise_run(out, &expr, &how, err);
	network_lines_release(lines);
	kz_array_release(made);
	return st;
}

kz_status kz_softmax(kz_array **out, kz_array *x, int64_t axis, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct lines lines = {.name = "softmax", .x = x, .axis = axis};
	return network_softmax(out, &lines, false, options, err);
}

kz_status kz_log_softmax(kz_array **out, kz_array *x, int64_t axis, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct lines lines = {.name = "log_softmax", .x = x, .axis = axis};
	return network_softmax(out, &lines, true, options, err);
}

/* Classes */

/* The class of each line, and 0, 1, 2 ... to compare it with. */
struct classes {
	struct kz_array column; /* a draft of the caller's array with a last extent of 1 */
	struct kz_array *all;   /* int64, 1-d */
};

static kz_status network_check_ndim(const struct kz_array *array, kz_error *err)
{
	return array->shape.ndim < KZ_MAX_DIMS ? KZ_OK : error_set(err, KZ_INVALID,
		"expected classes of fewer than %d extents", KZ_MAX_DIMS);
}

/* All are from 0 to before `count`. */
static kz_status network_check_classes(struct kz_array *array, int64_t count,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *numbers = NULL;
	const struct index_range range = {0, count, "a number of classes", KZ_INDEX_CHECK};
	kz_status st = indexing_prepare(&numbers, array, &range, stream, err);
	kz_array_release(numbers);
	return st;
}

static kz_status network_prepare_classes(struct classes *classes, struct kz_array *array,
	int64_t count, bool checked, struct kz_stream *stream, kz_error *err)
{
	struct expr expr;
	const kz_shape shape = KZ_SHAPE(count);
	const struct elementwise how = {
		.device = array_device(array), .shape = &shape, .stream = stream};
	const int64_t ndim = array->shape.ndim;
	kz_status st = checked ? network_check_classes(array, count, stream, err) : KZ_OK;
	if (st) {
		return st;
	}
	view_draft(&classes->column, array);
	classes->column.shape.dims[ndim] = 1;
	classes->column.strides[ndim] = 0;
	classes->column.shape.ndim++;
	expr_init(&expr);
	return expr_index(&expr, err) < 0 ? KZ_INVALID
		: elementwise_run(&classes->all, &expr, &how, err);
}

/* Whether an element is that of the class of its line. */
static int network_add_hit(const struct classes *classes, struct expr *expr, kz_error *err)
{
	int column = expr_array(expr, &classes->column, err);
	return expr_apply_two(expr, KZ_OP_EQUAL, column, expr_array(expr, classes->all, err), err);
}

/* `hit` at the class of each line, 0 elsewhere, NaN in a line whose class there is not. */
static int network_add_choice(const struct classes *classes, struct expr *expr, int hit,
	kz_error *err)
{
	int column = expr_array(expr, &classes->column, err);
	int from = expr_apply_two(expr, KZ_OP_GREATER_EQUAL, column, expr_int(expr, 0, err), err);
	int to = expr_apply_two(expr, KZ_OP_LESS, column,
		expr_int(expr, classes->all->count, err), err);
	int good[3] = {expr_apply_two(expr, KZ_OP_LOGICAL_AND, from, to, err),
		expr_int(expr, 0, err), expr_float(expr, NAN, err)};
	int choice[3] = {network_add_hit(classes, expr, err), hit, -1};
	if (good[0] < 0 || good[2] < 0 || choice[0] < 0 || hit < 0) {
		return -1;
	}
	choice[2] = expr_apply(expr, KZ_OP_WHERE, good, err);
	return choice[2] < 0 ? -1 : expr_apply(expr, KZ_OP_WHERE, choice, err);
}

kz_status kz_one_hot(kz_array **out, kz_array *array, int64_t count, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct elementwise how = {.into = NULL};
	struct classes classes = {.all = NULL};
	struct kz_array *made = NULL;
	struct expr expr;
	kz_dtype wanted = 0;
	kz_status st;
	out_clear(out, sizeof(*out), __func__);
	if ((st = elementwise_options(&how, &wanted, options, err))
	    || (st = indexing_check(array, array, "one_hot", err))
	    || (st = network_check_ndim(array, err))
	    || (st = stream_pick(&how.stream, array_device(array), how.stream, err))) {
		return st;
	}
	if ((!out && !how.into) || count < 0) {
		return count < 0 ? error_set(err, KZ_INVALID, "one_hot: expected a count of at "
			"least 0, got %lld",
			(long long)count) : error_set(err, KZ_INVALID, "%s: out is NULL", __func__);
	}
	wanted = wanted ? wanted : how.into ? how.into->dtype : KZ_F32;
	struct elementwise_result result = {array->shape, wanted, array};
	result.shape.dims[result.shape.ndim++] = count;
	if (!(st = indexing_check_wait(array, how.stream, err))
	    && !(st = elementwise_reserve(&made, &how, "one_hot", &result, err))
	    && !(st = network_prepare_classes(&classes, array, count, true, how.stream, err))) {
		expr_init(&expr);
		int node = network_add_hit(&classes, &expr, err);
		st = node < 0 || expr_cast(&expr, node, wanted, err) < 0 ? KZ_INVALID
			: elementwise_run(out, &expr, &how, err);
	}
	kz_array_release(classes.all);
	kz_array_release(made);
	return st;
}

/* Cross entropy */

struct entropy {
	struct lines lines;
	struct classes classes;
	int64_t count;            /* of lines */
	struct kz_array *loss_into, *gradient_into;
};

/* The sum of (log(sums) - (x - most)) / count at the class of each line. */
static kz_status network_entropy_loss(kz_array **out, const struct entropy *e, kz_error *err)
{
	const struct lines *lines = &e->lines;
	struct kz_array *logs = NULL;
	struct expr expr;
	const struct elementwise how = {.stream = lines->stream};
	const struct reduce_end end = {.into = e->loss_into};
	const struct reduce reduce = {
		.name = lines->name, .expr = &expr, .axes = (1u << lines->x->shape.ndim) - 1,
		.number = (double)e->count, .stream = lines->stream,
		.rule = {KZ_OP_ADD, REDUCE_QUOTIENT, false, lines->result},
	};
	expr_init(&expr);
	int node = expr_apply_two(&expr, KZ_OP_LOG, expr_array(&expr, lines->sums, err), 0, err);
	kz_status st = node < 0 ? KZ_INVALID : elementwise_run(&logs, &expr, &how, err);
	if (st) {
		return st;
	}
	expr_init(&expr);
	node = expr_apply_two(&expr, KZ_OP_SUBTRACT, expr_array(&expr, logs, err),
		network_lines_add_less(lines, &expr, err), err);
	st = network_add_choice(&e->classes, &expr, node, err) < 0 ? KZ_INVALID
		: reduce_sum_to(out, &reduce, &lines->x->shape, &end, err);
	kz_array_release(logs);
	return st;
}

/* (softmax - one hot) / count */
static kz_status network_entropy_gradient(kz_array **out, const struct entropy *e,
	const struct elementwise *how, kz_error *err)
{
	const struct lines *lines = &e->lines;
	struct expr expr;
	expr_init(&expr);
	int node = network_add_softmax(lines, &expr, false, err);
	int hot = network_add_choice(&e->classes, &expr, expr_int(&expr, 1, err), err);
	hot = hot < 0 ? -1 : expr_cast(&expr, hot, lines->computed, err);
	node = expr_apply_two(&expr, KZ_OP_DIVIDE,
		expr_apply_two(&expr, KZ_OP_SUBTRACT, node, hot, err),
		expr_float(&expr, (double)e->count, err), err);
	return node < 0 || expr_cast(&expr, node, lines->result, err) < 0 ? KZ_INVALID
		: elementwise_run(out, &expr, how, err);
}

/* Of no samples. */
static kz_status network_entropy_of_nothing(kz_array **loss, kz_array **gradient,
	const struct entropy *e, kz_error *err)
{
	struct kz_array *x = e->lines.x;
	static const kz_shape scalar = {0};
	struct expr expr;
	struct elementwise how = {.device = array_device(x), .shape = &scalar,
		.into = e->loss_into, .stream = e->lines.stream};
	kz_status st = KZ_OK;
	expr_init(&expr);
	if (loss || e->loss_into) {
		int node = expr_float(&expr, NAN, err);
		st = node < 0 || expr_cast(&expr, node, e->lines.result, err) < 0 ? KZ_INVALID
			: elementwise_run(loss, &expr, &how, err);
	}
	if (!st && (gradient || e->gradient_into)) {
		how.shape = &x->shape;
		how.into = e->gradient_into;
		expr_init(&expr);
		int node = expr_array(&expr, x, err);
		st = node < 0 || expr_cast(&expr, node, e->lines.result, err) < 0 ? KZ_INVALID
			: elementwise_run(gradient, &expr, &how, err);
	}
	return st;
}

static kz_status network_find_entropy(kz_array **loss, kz_array **gradient, struct entropy *e,
	bool checked, struct kz_array *classes, kz_error *err)
{
	struct lines *lines = &e->lines;
	kz_status st;
	if (lines->x->count == 0 && classes->count == 0) {
		return network_entropy_of_nothing(loss, gradient, e, err);
	}
	const bool wants_gradient = gradient || e->gradient_into;
	const struct elementwise_result result = {lines->x->shape, lines->result, lines->x};
	struct elementwise how = {.into = e->gradient_into, .stream = lines->stream};
	struct kz_array *made = NULL;
	if ((wants_gradient
		&& (st = elementwise_reserve(&made, &how, lines->name, &result, err)))
	    || (st = network_prepare_classes(&e->classes, classes,
		lines->x->shape.dims[lines->axis], checked,
			lines->stream, err))
	    || (st = network_lines_sum(lines, err))) {
		goto done;
	}
	if (loss || e->loss_into) {
		st = network_entropy_loss(loss, e, err);
	}
	if (!st && wants_gradient) { /* last, since it may go into the scores */
		st = network_entropy_gradient(gradient, e, &how, err);
	}
done:
	kz_array_release(made);
	return st;
}

static kz_status network_read_options(struct entropy *e, const kz_cross_entropy_options *options,
	kz_error *err)
{
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_cross_entropy_options", options->size, sizeof(*options),
			err);
	}
	e->loss_into = options ? options->loss_into : NULL;
	e->gradient_into = options ? options->gradient_into : NULL;
	e->lines.stream = options ? options->stream : NULL;
	return KZ_OK;
}

/* One class for each line along the last axis, which is set. */
static kz_status network_check_shapes(struct entropy *e, const struct kz_array *classes,
	kz_error *err)
{
	const kz_shape *shape = &e->lines.x->shape;
	kz_shape lines = *shape;
	lines.ndim = lines.ndim > 0 ? lines.ndim - 1 : 0;
	if (shape->ndim == 0 || !shape_equal(&lines, &classes->shape)) {
		return error_set(err, KZ_INVALID, "cross_entropy: expected scores of one extent "
			"more than the classes, got shapes %s and %s", shape_text(shape).text,
			shape_text(&classes->shape).text);
	}
	e->lines.axis = lines.ndim;
	e->count = classes->count;
	return KZ_OK;
}

kz_status kz_cross_entropy(kz_array **loss, kz_array **gradient, kz_array *scores,
	kz_array *classes, const kz_cross_entropy_options *options, kz_error *err)
{
	error_scope(err);
	struct entropy e = {.lines = {.name = "cross_entropy", .x = scores}};
	kz_status st;
	out_clear(loss, sizeof(*loss), __func__);
	out_clear(gradient, sizeof(*gradient), __func__);
	if ((st = network_read_options(&e, options, err))
	    || (st = indexing_check(scores, classes, "cross_entropy", err))
	    || (st = network_find_dtypes(&e.lines, 0, err))
	    || (st = network_check_shapes(&e, classes, err))
	    || (e.loss_into && (st = array_same_device("cross_entropy", scores, e.loss_into, err)))
	    || (st = stream_pick(&e.lines.stream, array_device(scores), e.lines.stream, err))) {
		return st;
	}
	if (!loss && !gradient && !e.loss_into && !e.gradient_into) {
		return error_set(err, KZ_INVALID, "%s: loss and gradient are NULL", __func__);
	}
	const bool checked = !options || !options->unchecked;
	if (checked && (st = indexing_check_wait(classes, e.lines.stream, err))) {
		return st;
	}
	st = network_find_entropy(loss, gradient, &e, checked, classes, err);
	network_lines_release(&e.lines);
	kz_array_release(e.classes.all);
	if (st && loss) {
		kz_array_release(*loss);
		*loss = NULL;
	}
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * Integration of samples: the trapezoidal rule and Simpson's.
 *
 * A rule is a sum over intervals, or over pairs of them, of a few samples each.  So the samples are
 * read through two or three views of their array, each moved by one, and an expression of the views
 * goes through the kernels of reductions: there are no weights.  The distance of the samples is a
 * factor of the sum, a number that the kernel is given.  Sample points are read through views, too.
 *
 * Two axes are integrated one after the other, since a reduction of two axes takes two passes as
 * well.  Where Simpson's rule leaves an interval over, a second kernel adds the trapezoid to the
 * sum.
 */
#include "base/common.h"

#include "lib/array/view.h"
#include "lib/core/pinned.h"
#include "lib/core/stream.h"
#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/reduce.h"

#include <kudzu/integrate.h>
#include <kudzu/scan.h>

enum { INTEGRATE_VIEWS = 8 };

/* One integral along one axis.  Its arrays are drafts (lib/array/view.h), which need no memory. */
struct integral {
	const char *name;      /* of the function, for errors */
	struct kz_array y;
	struct kz_array x;     /* of as many extents as y after the axis, or as y */
	bool has_x;
	int64_t x_axis;
	int64_t axis;
	int64_t count;         /* samples along the axis */
	double dx;
	kz_simps_even even;
	kz_dtype computed;     /* no half */
	kz_dtype result;
	struct kz_stream *stream;
	struct reduce_end end;
	bool lacks_axis;       /* views have one sample, and the axis is gone */
	int view_count;
	struct kz_array views[INTEGRATE_VIEWS];
};

/* Which samples: some of them, every step-th. */
struct samples {
	int64_t first, step, count;
};

typedef kz_status integrate_rule(kz_array **out, struct integral *in, kz_error *err);

/* Expressions.  Each step returns a node, or -1 after a failure. */

/* Samples, or their points. */
static int integrate_read(struct integral *in, struct expr *expr, bool of_x, struct samples which,
	kz_error *err)
{
	struct kz_array *view = &in->views[in->view_count++];
	const struct kz_array *from = of_x ? &in->x : &in->y;
	int64_t axis = of_x ? in->x_axis : in->axis;
	assert(in->view_count <= INTEGRATE_VIEWS);
	view_draft(view, from);
	view->count = view->count / view->shape.dims[axis] * which.count;
	view_keep(view, axis, which.first, which.step, which.count);
	if (in->lacks_axis) {
		view_drop(view, axis);
	}
	int node = expr_array(expr, view, err);
	return node < 0 ? -1 : expr_cast(expr, node, in->computed, err);
}

/* (y[i] + y[i + 1]) (x[i + 1] - x[i]), the latter if there are points. */
static int integrate_add_trapezoids(struct integral *in, struct expr *expr, struct samples which,
	kz_error *err)
{
	const struct samples next = {which.first + 1, which.step, which.count};
	int low = integrate_read(in, expr, false, which, err);
	int sum = expr_apply_two(expr, KZ_OP_ADD, integrate_read(in, expr, false, next, err), low,
		err);
	if (!in->has_x) {
		return sum;
	}
	int from = integrate_read(in, expr, true, which, err);
	int to = integrate_read(in, expr, true, next, err);
	return expr_apply_two(expr, KZ_OP_MULTIPLY,
		expr_apply_two(expr, KZ_OP_SUBTRACT, to, from, err), sum, err);
}

/* a / b, or 0 where b is 0, as scipy has it: points may coincide. */
static int integrate_add_quotient(struct expr *expr, int a, int b, kz_error *err)
{
	int zero = expr_int(expr, 0, err);
	int quotient = expr_apply_two(expr, KZ_OP_DIVIDE, a, b, err);
	int test = expr_apply_two(expr, KZ_OP_NOT_EQUAL, b, zero, err);
	const int choice[3] = {test, quotient, zero};
	return test < 0 || quotient < 0 ? -1 : expr_apply(expr, KZ_OP_WHERE, choice, err);
}

/* 2 - a */
static int integrate_add_two_less(struct expr *expr, int a, kz_error *err)
{
	return expr_apply_two(expr, KZ_OP_SUBTRACT, expr_int(expr, 2, err), a, err);
}

/* Six times the integrals of the parabolas through three points each; `y` are the samples there. */
static int integrate_add_parabolas(struct integral *in, struct expr *expr,
	const struct samples which[3], const int y[3], kz_error *err)
{
	int x[3];
	for (int i = 0; i < 3; i++) {
		x[i] = integrate_read(in, expr, true, which[i], err);
	}
	int first = expr_apply_two(expr, KZ_OP_SUBTRACT, x[1], x[0], err);
	int second = expr_apply_two(expr, KZ_OP_SUBTRACT, x[2], x[1], err);
	int both = expr_apply_two(expr, KZ_OP_ADD, first, second, err);
	int product = expr_apply_two(expr, KZ_OP_MULTIPLY, first, second, err);
	int ratio = integrate_add_quotient(expr, first, second, err);
	int inverse = integrate_add_quotient(expr, expr_int(expr, 1, err), ratio, err);
	int middle = expr_apply_two(expr, KZ_OP_MULTIPLY, both,
		integrate_add_quotient(expr, both, product, err), err);
	const int weights[3] = {integrate_add_two_less(expr, inverse, err), middle,
		integrate_add_two_less(expr, ratio, err)};
	int sum = expr_apply_two(expr, KZ_OP_MULTIPLY, y[0], weights[0], err);
	for (int i = 1; i < 3; i++) {
		sum = expr_apply_two(expr, KZ_OP_ADD, sum,
			expr_apply_two(expr, KZ_OP_MULTIPLY, y[i], weights[i], err), err);
	}
	return expr_apply_two(expr, KZ_OP_MULTIPLY, both, sum, err);
}

/* y[i] + 4 y[i + 1] + y[i + 2], or with points what integrate_add_parabolas has. */
static int integrate_add_pairs(struct integral *in, struct expr *expr, struct samples pairs,
	kz_error *err)
{
	struct samples which[3];
	int y[3];
	for (int i = 0; i < 3; i++) {
		which[i] = (struct samples){pairs.first + i, pairs.step, pairs.count};
		y[i] = integrate_read(in, expr, false, which[i], err);
	}
	if (in->has_x) {
		return integrate_add_parabolas(in, expr, which, y, err);
	}
	int ends = expr_apply_two(expr, KZ_OP_ADD, y[0], y[2], err);
	int middle = expr_apply_two(expr, KZ_OP_MULTIPLY, expr_int(expr, 4, err), y[1], err);
	return expr_apply_two(expr, KZ_OP_ADD, ends, middle, err);
}

/* Rules */

/* The sum of an expression's last node over `count` places of the axis, times a number. */
static kz_status integrate_sum(kz_array **out, const struct integral *in, struct expr *expr,
	int64_t count, double number, kz_error *err)
{
	kz_shape shape = in->y.shape;
	const struct reduce reduce = {
		.name = in->name, .expr = expr, .axes = 1u << in->axis, .number = number,
		.stream = in->stream, .rule = {KZ_OP_ADD, REDUCE_PRODUCT, false, in->result},
	};
	shape.dims[in->axis] = count;
	return reduce_sum_to(out, &reduce, &shape, &in->end, err);
}

/* Of fewer than two samples: zeros. */
static kz_status integrate_nothing(kz_array **out, struct integral *in, kz_error *err)
{
	struct expr expr;
	expr_init(&expr);
	return expr_array(&expr, &in->y, err) < 0 ? KZ_INVALID
		: integrate_sum(out, in, &expr, 0, 0, err);
}

static kz_status integrate_trapezoidal(kz_array **out, struct integral *in, kz_error *err)
{
	struct expr expr;
	const struct samples all = {0, 1, in->count - 1};
	expr_init(&expr);
	if (in->count < 2) {
		return integrate_nothing(out, in, err);
	}
	return integrate_add_trapezoids(in, &expr, all, err) < 0 ? KZ_INVALID
		: integrate_sum(out, in, &expr, all.count, in->has_x ? 0.5 : in->dx / 2, err);
}

/* One trapezoid, that of the samples i and i + 1, times a number. */
static int integrate_add_one(struct integral *in, struct expr *expr, int64_t i, double number,
	kz_error *err)
{
	in->lacks_axis = true;
	int node = integrate_add_trapezoids(in, expr, (struct samples){i, 1, 1}, err);
	return expr_apply_two(expr, KZ_OP_MULTIPLY, node, expr_float(expr, number, err), err);
}

/* After the sum over pairs, `sums`: an even number of samples leaves the last interval over, or
 * the first, or half of each. */
static kz_status integrate_add_ends(kz_array **out, struct integral *in, struct kz_array *sums,
	kz_error *err)
{
	struct expr expr;
	const struct elementwise how = {.into = in->end.into, .stream = in->stream};
	double number = (in->has_x ? 0.5 : in->dx / 2) / (in->even == KZ_SIMPS_AVG ? 2 : 1);
	int node;
	in->view_count = 0;
	expr_init(&expr);
	node = expr_array(&expr, sums, err);
	if (in->even != KZ_SIMPS_LAST) {
		node = expr_apply_two(&expr, KZ_OP_ADD, node,
			integrate_add_one(in, &expr, in->count - 2, number, err), err);
	}
	if (in->even != KZ_SIMPS_FIRST) {
		node = expr_apply_two(&expr, KZ_OP_ADD, node,
			integrate_add_one(in, &expr, 0, number, err), err);
	}
	return node < 0 || expr_cast(&expr, node, in->result, err) < 0 ? KZ_INVALID
		: elementwise_run(out, &expr, &how, err);
}

/* The mean over both ways to leave one interval over has all pairs, each half. */
static kz_status integrate_simpson_even(kz_array **out, struct integral *in, double number,
	kz_error *err)
{
	struct integral pairs = *in;
	struct expr expr;
	struct kz_array *sums = NULL;
	bool both = in->even == KZ_SIMPS_AVG;
	const struct samples which = {in->even == KZ_SIMPS_LAST, both ? 1 : 2,
		both ? in->count - 2 : (in->count - 2) / 2};
	pairs.end = (struct reduce_end){.into = NULL};
	pairs.result = in->computed;
	in->end.slot = NULL;
	expr_init(&expr);
	if (integrate_add_pairs(&pairs, &expr, which, err) < 0) {
		return KZ_INVALID;
	}
	kz_status st = integrate_sum(&sums, &pairs, &expr, which.count, both ? number / 2 : number,
		err);
	st = st ? st : integrate_add_ends(out, in, sums, err);
	kz_array_release(sums);
	return st;
}

static kz_status integrate_simpson(kz_array **out, struct integral *in, kz_error *err)
{
	struct expr expr;
	const struct samples all = {0, 2, in->count / 2};
	double number = in->has_x ? 1.0 / 6 : in->dx / 3;
	if (in->count < 3) {
		return integrate_trapezoidal(out, in, err);
	}
	if (in->count % 2 == 0) {
		return integrate_simpson_even(out, in, number, err);
	}
	expr_init(&expr);
	return integrate_add_pairs(in, &expr, all, err) < 0 ? KZ_INVALID
		: integrate_sum(out, in, &expr, all.count, number, err);
}

/* Along the last axis, then what is left along its last one. */
static kz_status integrate_twice(kz_array **out, struct integral *in, double dy,
	integrate_rule *rule, kz_error *err)
{
	struct integral rows = *in;
	struct kz_array *sums = NULL;
	rows.end = (struct reduce_end){.into = NULL};
	rows.result = in->computed;
	kz_status st = rule(&sums, &rows, err);
	if (!st) {
		view_draft(&in->y, sums);
		in->axis--;
		in->count = in->y.shape.dims[in->axis];
		in->dx = dy;
		st = rule(out, in, err);
	}
	kz_array_release(sums);
	return st;
}

/* Options and arrays */

static kz_status integrate_find_dtypes(struct integral *in, kz_dtype wanted, kz_error *err)
{
	kz_dtype common = in->has_x ? kz_dtype_promote(in->y.dtype, in->x.dtype) : in->y.dtype;
	if (!dtype_is_number(common)) {
		return error_set(err, KZ_INVALID, in->has_x ? "%s does not take %s at points of %s"
			: "%s does not take %s", in->name, dtype_refused(in->y.dtype),
			dtype_refused(in->x.dtype));
	}
	common = dtype_is_exact(common) ? KZ_F64 : common;
	if (wanted && !kz_dtype_size(wanted)) {
		return error_set(err, KZ_INVALID, "%u is not a dtype", (unsigned)wanted);
	}
	if (wanted && (!dtype_is_inexact(wanted) || !kz_dtype_can_cast(common, wanted))) {
		return error_set(err, KZ_INVALID, "%s of %s cannot have dtype %s", in->name,
			dtype_refused(in->y.dtype), dtype_refused(wanted));
	}
	in->result = wanted ? wanted : common;
	in->computed = dtype_wide(in->result);
	return KZ_OK;
}

/* Points of one extent become a draft whose other extents are 1. */
static kz_status integrate_read_points(struct integral *in, const struct kz_array *x, kz_error *err)
{
	kz_status st = array_same_device(in->name, &in->y, x, err);
	if (st) {
		return st;
	}
	view_draft(&in->x, x);
	in->has_x = true;
	in->x_axis = in->axis;
	if (x->shape.ndim == 1 && x->shape.dims[0] == in->count) {
		in->x_axis = 0;
		in->x.shape.ndim = in->y.shape.ndim - in->axis;
		for (int64_t i = 1; i < in->x.shape.ndim; i++) {
			in->x.shape.dims[i] = 1;
			in->x.strides[i] = 0;
		}
	} else if (!shape_equal(&x->shape, &in->y.shape)) {
		return error_set(err, KZ_INVALID, "%s: points of shape %s do not fit samples of "
			"shape %s along axis %lld", in->name, shape_text(&x->shape).text,
			shape_text(&in->y.shape).text, (long long)in->axis);
	}
	return KZ_OK;
}

static kz_status integrate_start(struct integral *in, const char *name, struct kz_array *y,
	const kz_integrate_options *options, kz_error *err)
{
	kz_status st;
	if (options->size != sizeof(*options)) {
		struct_refuse("kz_integrate_options", options->size, sizeof(*options), err);
		return KZ_INVALID;
	}
	if (options->even < KZ_SIMPS_AVG || options->even > KZ_SIMPS_LAST) {
		error_set(err, KZ_INVALID, "%d is not a kz_simps_even", (int)options->even);
		return KZ_INVALID;
	}
	if (object_check(y, OBJECT_ARRAY, err)) {
		return KZ_INVALID;
	}
	in->name = name;
	in->axis = options->axis;
	in->dx = options->dx;
	in->even = (kz_simps_even)options->even;
	in->has_x = false;
	in->lacks_axis = false;
	in->view_count = 0;
	in->end = (struct reduce_end){.into = options->into};
	view_draft(&in->y, y);
	if ((st = axis_resolve(&in->axis, &y->shape, err))
	    || (in->end.into && (st = array_same_device(name, y, in->end.into, err)))
	    || (st = stream_pick(&in->stream, array_device(y), options->stream, err))) {
		return st;
	}
	in->count = y->shape.dims[in->axis];
	if (options->x && (st = integrate_read_points(in, options->x, err))) {
		return st;
	}
	return integrate_find_dtypes(in, options->dtype, err);
}

static kz_status integrate_check_matrix(const struct integral *in, const struct kz_array *z,
	kz_error *err)
{
	if (z->shape.ndim < 2) {
		return error_set(err, KZ_INVALID, "%s: expected two extents or more, got shape %s",
			in->name, shape_text(&z->shape).text);
	}
	if (in->has_x || in->axis != z->shape.ndim - 1) {
		return error_set(err, KZ_INVALID, "%s takes dx and dy along the last two axes, not "
			"%s", in->name, in->has_x ? "points" : "an axis");
	}
	return KZ_OK;
}

/* Public functions */

/* A rule, and whether it is for two axes. */
struct integrate_kind {
	const char *name;
	integrate_rule *rule;
	bool twice;
};

static const struct integrate_kind integrate_trapz = {"trapz", integrate_trapezoidal, false};
static const struct integrate_kind integrate_simps = {"simps", integrate_simpson, false};
static const struct integrate_kind integrate_trapz2d = {"trapz2d", integrate_trapezoidal, true};
static const struct integrate_kind integrate_simps2d = {"simps2d", integrate_simpson, true};

static const kz_integrate_options integrate_defaults = KZ_INTEGRATE_OPTIONS_INIT;

static kz_status integrate_run(kz_array **out, const struct integrate_kind *kind, kz_array *y,
	const kz_integrate_options *options, kz_error *err)
{
	struct integral in;
	kz_status st;
	options = options ? options : &integrate_defaults;
	out_clear(out, sizeof(*out), kind->name);
	if ((st = integrate_start(&in, kind->name, y, options, err))
	    || (kind->twice && (st = integrate_check_matrix(&in, y, err)))) {
		return st;
	}
	if (!out && !options->into) {
		return error_set(err, KZ_INVALID, "kz_%s: out is NULL", kind->name);
	}
	return kind->twice ? integrate_twice(out, &in, options->dy, kind->rule, err)
		: kind->rule(out, &in, err);
}

kz_status kz_trapz(kz_array **out, kz_array *y, const kz_integrate_options *options, kz_error *err)
{
	error_scope(err);
	return integrate_run(out, &integrate_trapz, y, options, err);
}

kz_status kz_simps(kz_array **out, kz_array *y, const kz_integrate_options *options, kz_error *err)
{
	error_scope(err);
	return integrate_run(out, &integrate_simps, y, options, err);
}

kz_status kz_trapz2d(kz_array **out, kz_array *z, const kz_integrate_options *options,
	kz_error *err)
{
	error_scope(err);
	return integrate_run(out, &integrate_trapz2d, z, options, err);
}

kz_status kz_simps2d(kz_array **out, kz_array *z, const kz_integrate_options *options,
	kz_error *err)
{
	error_scope(err);
	return integrate_run(out, &integrate_simps2d, z, options, err);
}

/* To the host */

/* One integral: all extents but those of the axes are 1. */
static kz_status integrate_check_single(const struct integral *in,
	const struct integrate_kind *kind, kz_error *err)
{
	const kz_shape *shape = &in->y.shape;
	bool single = true;
	for (int64_t i = 0; i < shape->ndim && single; i++) {
		single = i == in->axis || (kind->twice && i == in->axis - 1) || shape->dims[i] == 1;
	}
	return single ? KZ_OK : error_set(err, KZ_INVALID, "%s: expected samples of one integral, "
		"got shape %s", in->name, shape_text(shape).text);
}

static kz_status integrate_get(void *out, kz_dtype dtype, const struct integrate_kind *kind,
	kz_array *y, const kz_integrate_options *options, kz_error *err)
{
	struct integral in;
	struct kz_array *result = NULL;
	uint64_t raw[2] = {0};
	kz_status st = pointer_check(out, "host memory", err);
	options = options ? options : &integrate_defaults;
	if (st || (st = integrate_start(&in, kind->name, y, options, err))
	    || (kind->twice && (st = integrate_check_matrix(&in, y, err)))
	    || (st = integrate_check_single(&in, kind, err))) {
		return st;
	}
	if (options->into) {
		return error_set(err, KZ_INVALID, "the result goes to the host, not into an array");
	}
	if ((st = stream_check_free(in.stream, err))
	    || (st = array_check_capture(y, err))) {
		return st;
	}
	in.result = dtype_is_complex(in.computed) ? KZ_C128 : KZ_F64;
	const int64_t size = kz_dtype_size(in.result);
	struct kz_device *dev = array_device(y);
	void *slot = pinned_take_slot(dev, raw, size);
	in.end.slot = slot;
	st = kind->twice ? integrate_twice(&result, &in, options->dy, kind->rule, err)
		: kind->rule(&result, &in, err);
	if (!st && result) {
		st = reduce_take(raw, size, result, in.end.slot, err);
	}
	if (slot) {
		pinned_put_slot(dev, slot);
	}
	kz_array_release(result);
	return st ? st : array_take_number(out, dtype, raw, in.result, err);
}

kz_status kz_trapz_get_as(void *out, kz_dtype dtype, kz_array *y,
	const kz_integrate_options *options, kz_error *err)
{
	error_scope(err);
	return integrate_get(out, dtype, &integrate_trapz, y, options, err);
}

kz_status kz_simps_get_as(void *out, kz_dtype dtype, kz_array *y,
	const kz_integrate_options *options, kz_error *err)
{
	error_scope(err);
	return integrate_get(out, dtype, &integrate_simps, y, options, err);
}

kz_status kz_trapz2d_get_as(void *out, kz_dtype dtype, kz_array *z,
	const kz_integrate_options *options, kz_error *err)
{
	error_scope(err);
	return integrate_get(out, dtype, &integrate_trapz2d, z, options, err);
}

kz_status kz_simps2d_get_as(void *out, kz_dtype dtype, kz_array *z,
	const kz_integrate_options *options, kz_error *err)
{
	error_scope(err);
	return integrate_get(out, dtype, &integrate_simps2d, z, options, err);
}

/* Running integrals */

/* One number at the first place of the axis of an array. */
static kz_status integrate_set_first(struct kz_array *array, int64_t axis, double value,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array first;
	struct expr expr;
	const struct elementwise how = {.into = &first, .stream = stream};
	view_draft(&first, array);
	first.count /= first.shape.dims[axis];
	view_keep(&first, axis, 0, 1, 1);
	expr_init(&expr);
	return expr_float(&expr, value, err) < 0 ? KZ_INVALID
		: elementwise_run(NULL, &expr, &how, err);
}

/* The terms, from place `first` of the axis on. */
static kz_status integrate_write_terms(struct kz_array *terms, struct integral *in, int64_t first,
	kz_error *err)
{
	struct kz_array to;
	struct expr expr;
	const struct elementwise how = {.into = &to, .stream = in->stream};
	if (in->count < 2) {
		return KZ_OK;
	}
	view_draft(&to, terms);
	to.count = to.count / to.shape.dims[in->axis] * (in->count - 1);
	view_keep(&to, in->axis, first, 1, in->count - 1);
	expr_init(&expr);
	int node = integrate_add_trapezoids(in, &expr, (struct samples){0, 1, in->count - 1}, err);
	node = expr_apply_two(&expr, KZ_OP_MULTIPLY, node,
		expr_float(&expr, in->has_x ? 0.5 : in->dx / 2, err), err);
	return node < 0 ? KZ_INVALID : elementwise_run(NULL, &expr, &how, err);
}

/* Of `terms`; after a first element of 0 if there is to be an initial value. */
static kz_status integrate_accumulate(kz_array **out, const struct integral *in,
	struct kz_array *terms, const kz_integrate_options *options, kz_error *err)
{
	kz_scan_options scan = KZ_SCAN_OPTIONS_INIT;
	struct kz_array *sums = NULL;
	struct expr expr;
	const struct elementwise how = {.into = in->end.into, .stream = in->stream};
	scan.axis = in->axis;
	scan.dtype = in->result;
	scan.stream = in->stream;
	kz_status st = kz_scan(&sums, terms, "a + b", "kz_element()", &scan, err);
	if (!st && options->with_initial && options->initial != 0 && sums->count) {
		st = integrate_set_first(sums, in->axis, options->initial, in->stream, err);
	}
	if (!st && !how.into) {
		assert(out);
		*out = sums;
		return KZ_OK;
	}
	if (!st) {
		expr_init(&expr);
		st = expr_array(&expr, sums, err) < 0 ? KZ_INVALID
			: elementwise_run(out, &expr, &how, err);
	}
	kz_array_release(sums);
	return st;
}

kz_status kz_cumulative_trapezoid(kz_array **out, kz_array *y, const kz_integrate_options *options,
	kz_error *err)
{
	error_scope(err);
	struct integral in;
	struct kz_array *terms = NULL;
	kz_status st;
	options = options ? options : &integrate_defaults;
	out_clear(out, sizeof(*out), __func__);
	if ((st = integrate_start(&in, "cumulative_trapezoid", y, options, err))) {
		return st;
	}
	if (!out && !options->into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", __func__);
	}
	if (in.count == 0) {
		return error_set(err, KZ_INVALID,
			"cumulative_trapezoid needs at least one sample, got shape %s",
			shape_text(&y->shape).text);
	}
	const bool with_first = options->with_initial;
	kz_shape shape = y->shape;
	shape.dims[in.axis] -= !with_first;
	if ((st = array_create_on(&terms, array_device(y), in.computed, &shape, in.stream, err))) {
		return st;
	}
	if (with_first && terms->count) {
		st = integrate_set_first(terms, in.axis, 0, in.stream, err);
	}
	if (!st && !(st = integrate_write_terms(terms, &in, with_first, err))) {
		st = integrate_accumulate(out, &in, terms, options, err);
	}
	kz_array_release(terms);
	return st;
}

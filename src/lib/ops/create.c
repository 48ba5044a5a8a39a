/* SPDX-License-Identifier: MIT */
/*
 * Arrays of computed numbers: each is an expression of the element's index, which elementwise.c
 * runs.
 *
 * Start, step and stop are arguments of that expression, so one kernel serves them all.  Integers
 * are computed in 128 bits here, so that no difference of two of them overflows.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/ops/elementwise.h"

#include <kudzu/create.h>
#include <kudzu/view.h>

#include <float.h>
#include <math.h>

__extension__ typedef __int128 wide;

/* A C number: `integer` if it is one, `real` in any case. */
struct number {
	wide integer;
	double real;
	bool is_integer;
};

static kz_status create_read_number(struct number *out, const kz_arg *arg, const char *what,
	kz_error *err)
{
	*out = (struct number){.is_integer = true};
	switch (arg->kind) {
	case KZ_ARG_BOOL:
	case KZ_ARG_UINT:
		out->integer = arg->value.u;
		out->real = (double)arg->value.u;
		return KZ_OK;
	case KZ_ARG_INT:
		out->integer = arg->value.i;
		out->real = (double)arg->value.i;
		return KZ_OK;
	case KZ_ARG_F32:
		out->is_integer = false;
		out->real = (double)arg->value.f;
		break;
	case KZ_ARG_F64:
		out->is_integer = false;
		out->real = arg->value.d;
		break;
	default:
		return error_set(err, KZ_INVALID,
			"expected a real number as %s, got something else", what);
	}
	return isfinite(out->real) ? KZ_OK : error_set(err, KZ_INVALID,
		"expected a finite number as %s, got %g", what, out->real);
}

static kz_status create_check_dtype(kz_dtype dtype, const char *what, kz_error *err)
{
	if (dtype_is_number(dtype) && dtype != KZ_BOOL) {
		return KZ_OK;
	}
	return error_set(err, KZ_INVALID, "%s: expected a numeric dtype, got %s", what,
		kz_dtype_size(dtype) ? dtype_refused(dtype) : "none");
}

/* Check that an integer type can hold a number. */
static kz_status create_check_fit(wide value, kz_dtype dtype, kz_error *err)
{
	int bits = 8 * (int)kz_dtype_size(dtype);
	bool is_signed = dtype_is_signed(dtype);
	wide end = (wide)1 << (bits - is_signed); /* one beyond the highest */
	if (value < end && value >= (is_signed ? -end : 0)) {
		return KZ_OK;
	}
	return error_set(err, KZ_RANGE, "%.0f is out of range for %s", (double)value,
		dtype_refused(dtype));
}

/* Far beyond all types is far enough. */
static wide create_floor(double value)
{
	return (wide)floor(fmax(-0x1p100, fmin(0x1p100, value)));
}

/* Where the elements are made. */
struct place {
	struct kz_device *device;
	struct kz_stream *stream; /* may be NULL */
};

static kz_status create_run(kz_array **out, const struct place *at, struct expr *expr,
	kz_dtype dtype, int64_t count, kz_error *err)
{
	const kz_shape shape = KZ_SHAPE(count);
	const struct elementwise how = {.device = at->device, .shape = &shape,
		.stream = at->stream};
	if (expr_cast(expr, expr->node_count - 1, dtype, err) < 0) {
		return KZ_INVALID; /* not one of those that come here */
	}
	return elementwise_run(out, expr, &how, err);
}

static kz_status create_fail_step(kz_error *err)
{
	return error_set(err, KZ_INVALID, "expected a step other than 0");
}

/* start + i * step, in integers.  The kernel computes modulo 2^64, in the type that holds both
 * ends. */
static kz_status create_range_of_integers(kz_array **out, const struct place *at, kz_dtype dtype,
	const wide numbers[3], kz_error *err)
{
	wide start = numbers[0], step = numbers[2];
	if (step == 0) {
		return create_fail_step(err);
	}
	wide distance = numbers[1] - start;
	wide count = (distance < 0) == (step < 0) && distance != 0
		? (distance + step + (step < 0 ? 1 : -1)) / step : 0;
	wide last = start + (count > 0 ? count - 1 : 0) * step;
	kz_dtype type = start > INT64_MAX || last > INT64_MAX ? KZ_U64 : KZ_I64;
	kz_status st;
	if (count > INT64_MAX) {
		return error_set(err, KZ_RANGE, "a range of %.0f elements is too long",
			(double)count);
	}
	if (count > 0 && ((st = create_check_fit(start, dtype_is_integer(dtype) ? dtype : type,
		err))
		|| (st = create_check_fit(last, dtype_is_integer(dtype) ? dtype : type, err)))) {
		return st;
	}
	struct expr expr;
	kz_arg from = {.kind = KZ_ARG_UINT, .value.u = (uint64_t)start};
	kz_arg by = {.kind = KZ_ARG_UINT, .value.u = (uint64_t)(step < 0 ? -step : step)};
	by.value.u = count > 1 ? by.value.u : 0;
	from.kind = start < 0 ? KZ_ARG_INT : KZ_ARG_UINT;
	expr_init(&expr);
	int index = expr_cast(&expr, expr_index(&expr, err), type, err);
	int product[2] = {index, expr_arg(&expr, &by, 1, err)};
	int sum[2] = {expr_arg(&expr, &from, 1, err),
		expr_apply(&expr, KZ_OP_MULTIPLY, product, err)};
	if (sum[1] < 0 || expr_apply(&expr, step < 0 ? KZ_OP_SUBTRACT : KZ_OP_ADD, sum, err) < 0) {
		return KZ_RANGE;
	}
	return create_run(out, at, &expr, dtype, (int64_t)count, err);
}

/* start + i * step in float64; -1 and an error if there is no room for it. */
static int create_real_line(struct expr *expr, double start, double step, kz_error *err)
{
	int index = expr_cast(expr, expr_index(expr, err), KZ_F64, err);
	int product[2] = {index, expr_float(expr, step, err)};
	int sum[2] = {expr_float(expr, start, err), expr_apply(expr, KZ_OP_MULTIPLY, product, err)};
	return sum[1] < 0 ? -1 : expr_apply(expr, KZ_OP_ADD, sum, err);
}

/* The line from a half of the start by half a step, times two.  It has the same bits, and no
 * product overflows where the distance of the ends does. */
static int create_halved_line(struct expr *expr, double half, double half_step, kz_error *err)
{
	int product[2] = {create_real_line(expr, half, half_step, err), expr_float(expr, 2, err)};
	return product[0] < 0 || product[1] < 0 ? -1
		: expr_apply(expr, KZ_OP_MULTIPLY, product, err);
}

static kz_status create_range_of_reals(kz_array **out, const struct place *at, kz_dtype dtype,
	const struct number numbers[3], kz_error *err)
{
	struct expr expr;
	double start = numbers[0].real, step = numbers[2].real;
	bool is_halved = isinf(numbers[1].real - start);
	double count = ceil(is_halved ? (numbers[1].real / 2 - start / 2) / (step / 2)
		: (numbers[1].real - start) / step);
	if (step == 0) {
		return create_fail_step(err);
	}
	if (dtype_is_integer(dtype)) {
		return error_set(err, KZ_INVALID, "expected integers for a range of %s, got others",
			dtype_refused(dtype));
	}
	if (!(count < 0x1p62)) {
		return error_set(err, KZ_RANGE, "a range of %g elements is too long", count);
	}
	expr_init(&expr);
	int line = is_halved ? create_halved_line(&expr, start / 2, step / 2, err)
		: create_real_line(&expr, start, step, err);
	if (line < 0) {
		return KZ_INVALID;
	}
	return create_run(out, at, &expr, dtype, count > 0 ? (int64_t)count : 0, err);
}

kz_status kz_array_arange(kz_array **out, kz_device *dev, kz_dtype dtype, kz_arg start,
	kz_arg stop, kz_arg step, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(dev, OBJECT_DEVICE, err);
	return st ? st : kz_array_arange_on(out, dev, dtype, start, stop, step, NULL, err);
}

kz_status kz_array_arange_on(kz_array **out, kz_device *dev, kz_dtype dtype, kz_arg start,
	kz_arg stop, kz_arg step, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct place at = {dev, stream};
	struct number numbers[3];
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = create_read_number(&numbers[0], &start, "start", err))
	    || (st = create_read_number(&numbers[1], &stop, "stop", err))
	    || (st = create_read_number(&numbers[2], &step, "step", err))) {
		return st;
	}
	bool integers = numbers[0].is_integer && numbers[1].is_integer && numbers[2].is_integer;
	dtype = dtype ? dtype : integers ? KZ_I64 : KZ_F64;
	if ((st = create_check_dtype(dtype, "arange", err))) {
		return st;
	}
	if (!integers) {
		return create_range_of_reals(out, &at, dtype, numbers, err);
	}
	const wide values[3] = {numbers[0].integer, numbers[1].integer, numbers[2].integer};
	return create_range_of_integers(out, &at, dtype, values, err);
}

/* start + i / parts * distance in float64; a step of its own would lose digits below the least
 * normal number. */
static int create_fraction_line(struct expr *expr, double start, double distance, int64_t parts,
	kz_error *err)
{
	int index = expr_cast(expr, expr_index(expr, err), KZ_F64, err);
	int quotient[2] = {index, expr_float(expr, (double)parts, err)};
	int product[2] = {expr_apply(expr, KZ_OP_DIVIDE, quotient, err),
		expr_float(expr, distance, err)};
	int sum[2] = {expr_float(expr, start, err), expr_apply(expr, KZ_OP_MULTIPLY, product, err)};
	return sum[1] < 0 ? -1 : expr_apply(expr, KZ_OP_ADD, sum, err);
}

/* The last element is `stop` itself. */
static int create_end_with(struct expr *expr, int line, int64_t count, double stop, kz_error *err)
{
	int same[2] = {expr_index(expr, err), expr_int(expr, count - 1, err)};
	int choice[3] = {expr_apply(expr, KZ_OP_EQUAL, same, err), expr_float(expr, stop, err),
		line};
	return choice[0] < 0 || choice[1] < 0 ? -1 : expr_apply(expr, KZ_OP_WHERE, choice, err);
}

kz_status kz_array_linspace(kz_array **out, kz_device *dev, kz_dtype dtype, kz_arg start,
	kz_arg stop, int64_t count, int endpoint, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(dev, OBJECT_DEVICE, err);
	return st ? st : kz_array_linspace_on(out, dev, dtype, start, stop, count, endpoint, NULL,
		err);
}

kz_status kz_array_linspace_on(kz_array **out, kz_device *dev, kz_dtype dtype, kz_arg start,
	kz_arg stop, int64_t count, int endpoint, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct place at = {dev, stream};
	struct number from, to;
	struct expr expr;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = create_read_number(&from, &start, "start", err))
	    || (st = create_read_number(&to, &stop, "stop", err))
	    || (st = create_check_dtype(dtype ? dtype : KZ_F64, "linspace", err))) {
		return st;
	}
	if (count < 0) {
		return error_set(err, KZ_INVALID, "expected a count of at least 0, got %lld",
			(long long)count);
	}
	if (dtype_is_integer(dtype) && count > 0
	    && ((st = create_check_fit(create_floor(from.real), dtype, err))
		|| (st = create_check_fit(create_floor(to.real), dtype, err)))) {
		return st;
	}
	int64_t parts = endpoint ? count - 1 : count;
	expr_init(&expr);
	bool is_halved = isinf(to.real - from.real);
	double distance = is_halved ? to.real / 2 - from.real / 2 : to.real - from.real;
	double step = parts > 0 ? distance / (double)parts : 0;
	int node = is_halved ? create_halved_line(&expr, from.real / 2, step, err)
		: fabs(step) < DBL_MIN && parts > 0
		? create_fraction_line(&expr, from.real, distance, parts, err)
		: create_real_line(&expr, from.real, step, err);
	if (node >= 0 && endpoint && count > 1) {
		node = create_end_with(&expr, node, count, to.real, err);
	}
	if (node >= 0 && dtype_is_integer(dtype)) {
		node = expr_apply(&expr, KZ_OP_FLOOR, &node, err);
	}
	return node < 0 ? KZ_INVALID
		: create_run(out, &at, &expr, dtype ? dtype : KZ_F64, count, err);
}

/* Write ones to a diagonal of a matrix of zeros. */
static kz_status create_fill_diagonal(struct kz_array *matrix, int64_t diagonal,
	struct kz_stream *stream, kz_error *err)
{
	int64_t rows = matrix->shape.dims[0], columns = matrix->shape.dims[1];
	int64_t row = diagonal < 0 ? -diagonal : 0, column = diagonal > 0 ? diagonal : 0;
	if (row >= rows || column >= columns) {
		return KZ_OK;
	}
	int64_t length = rows - row < columns - column ? rows - row : columns - column;
	int64_t stride = matrix->strides[0] + matrix->strides[1];
	struct kz_array *line = NULL;
	kz_status st = kz_array_view(&line, matrix, KZ_SHAPE(length), &stride,
		row * matrix->strides[0] + column * matrix->strides[1], err);
	if (!st) {
		st = kz_array_fill_on(line, KZ_ARG(1), stream, err);
		kz_array_release(line);
	}
	return st;
}

kz_status kz_array_eye(kz_array **out, kz_device *dev, kz_dtype dtype, int64_t rows,
	int64_t columns, int64_t diagonal, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : object_check(dev, OBJECT_DEVICE, err);
	return st ? st : kz_array_eye_on(out, dev, dtype, rows, columns, diagonal, NULL, err);
}

kz_status kz_array_eye_on(kz_array **out, kz_device *dev, kz_dtype dtype, int64_t rows,
	int64_t columns, int64_t diagonal, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct kz_array *matrix = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = dtype == KZ_BOOL ? KZ_OK : create_check_dtype(dtype, "eye", err))
	    || (st = kz_array_zeros_on(&matrix, dev, dtype, KZ_SHAPE(rows, columns),
			stream, err))) {
		return st;
	}
	if (diagonal != INT64_MIN) {
		st = create_fill_diagonal(matrix, diagonal, stream, err);
	}
	return array_finish(out, matrix, st);
}

/* SPDX-License-Identifier: MIT */
/*
 * Discrete Fourier transforms of arrays: what callers ask for becomes a list of transforms along
 * single axes (fft_plan.h).  The first one reads the array, whatever its strides; the others work on the
 * result.
 */
#include "base/common.h"

#include "array/array.h"
#include "array/shape.h"
#include "core/object.h"
#include "math/fft_plan.h"
#include "ops/elementwise.h"

#include <kudzu/fft.h>

#include <math.h>

/* A call, its arguments checked. */
struct fft_call {
	const char *name;
	bool is_inverse;
	struct kz_array *array;
	struct kz_stream *stream;
	struct kz_array *into;
	kz_axes axes;
	kz_shape shape;     /* of the result */
	kz_dtype dtype;     /* complex */
	double scale;
};

/* Arguments */

static kz_status fft_check_options(const kz_fft_options *options, kz_error *err)
{
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_fft_options", options->size, sizeof(*options), err);
	}
	if (options->norm < KZ_FFT_BACKWARD || options->norm > KZ_FFT_FORWARD) {
		return error_set(err, KZ_INVALID, "norm %d is none", (int)options->norm);
	}
	return KZ_OK;
}

static kz_status fft_check_lengths(struct fft_call *call, const kz_shape *lengths, kz_error *err)
{
	if (lengths->ndim != 0 && lengths->ndim != call->axes.count) {
		return error_set(err, KZ_INVALID, "%s: expected %lld lengths, got %lld", call->name,
			(long long)call->axes.count, (long long)lengths->ndim);
	}
	for (int64_t i = 0; i < call->axes.count; i++) {
		int64_t *extent = &call->shape.dims[call->axes.items[i]];
		*extent = lengths->ndim ? lengths->dims[i] : *extent;
		if (*extent < 1) {
			return error_set(err, KZ_INVALID, "%s: expected a length of at least 1 along "
				"axis %lld, got %lld", call->name, (long long)call->axes.items[i],
				(long long)*extent);
		}
	}
	return shape_check(&call->shape, err);
}

static kz_status fft_check_into(const struct fft_call *call, kz_error *err)
{
	const struct kz_array *into = call->into;
	if (!into) {
		return KZ_OK;
	}
	if (!object_is(into, OBJECT_ARRAY)) {
		return object_refuse(into, OBJECT_ARRAY, err);
	}
	if (array_device(into) != array_device(call->array)) {
		return error_set(err, KZ_INVALID, "%s: the array is on %s, into on %s", call->name,
			array_device(call->array)->name, array_device(into)->name);
	}
	if (!shape_equal(&into->shape, &call->shape)) {
		return error_set(err, KZ_INVALID, "%s: shape %s does not go into %s", call->name,
			shape_text(&call->shape).text, shape_text(&into->shape).text);
	}
	if (!dtype_is_complex(into->dtype)) {
		return error_set(err, KZ_INVALID, "%s: expected a complex dtype of into, got %s",
			call->name, kz_dtype_name(into->dtype));
	}
	return KZ_OK;
}

/* The type of the result; 0 for a struct. */
static kz_dtype fft_dtype(kz_dtype dtype)
{
	return dtype >= DTYPE_BUILTIN ? 0 : dtype == KZ_F32 || dtype == KZ_C64 || dtype_is_half(dtype)
		? KZ_C64 : KZ_C128;
}

/* What all forward transforms divide by, or multiply with. */
static double fft_scale(const struct fft_call *call, int norm)
{
	double count = 1;
	for (int64_t i = 0; i < call->axes.count; i++) {
		count *= (double)call->shape.dims[call->axes.items[i]];
	}
	return norm == KZ_FFT_ORTHO ? 1 / sqrt(count)
		: (norm == KZ_FFT_FORWARD) != call->is_inverse ? 1 / count : 1;
}

static kz_status fft_call_init(struct fft_call *call, kz_array *array, kz_axes axes,
	const kz_fft_options *given, kz_error *err)
{
	static const kz_fft_options defaults = KZ_FFT_OPTIONS_INIT;
	const kz_fft_options *options = given ? given : &defaults;
	kz_status st;
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = fft_check_options(options, err))
	    || (st = axes_resolve(&axes, NULL, &array->shape, err))
	    || (st = stream_pick(&call->stream, array_device(array), options->stream, err))) {
		return st;
	}
	call->array = array;
	call->into = options->into;
	call->axes = axes;
	call->shape = array->shape;
	call->dtype = fft_dtype(array->dtype);
	if (axes.count == 0) {
		return error_set(err, KZ_INVALID, "%s: expected at least one axis", call->name);
	}
	if (!call->dtype) {
		return error_set(err, KZ_INVALID, "%s: expected numbers, got %s", call->name,
			kz_dtype_name(array->dtype));
	}
	if ((st = fft_check_lengths(call, &options->lengths, err))
	    || (st = fft_check_into(call, err))) {
		return st;
	}
	call->scale = fft_scale(call, options->norm);
	return KZ_OK;
}

/* Operands */

/* A view of the beginning of an array, whose extents it has along all axes. */
static kz_status fft_begin_of(struct kz_array **out, struct kz_array *array, const kz_shape *extents,
	kz_error *err)
{
	kz_slice items[KZ_MAX_DIMS];
	for (int64_t i = 0; i < extents->ndim; i++) {
		items[i] = kz_slice_range(0, extents->dims[i], 1);
	}
	return kz_array_slice(out, array, (kz_slices){items, extents->ndim}, err);
}

/* The operand as complex numbers of the result's extents: itself, a view of it, or a copy. */
static kz_status fft_operand(struct kz_array **out, const struct fft_call *call, kz_error *err)
{
	struct kz_array *cut = NULL, *made = NULL, *part = NULL;
	kz_shape common = call->shape;
	bool is_longer = false;
	kz_status st;
	for (int64_t i = 0; i < common.ndim; i++) {
		common.dims[i] = min64(common.dims[i], call->array->shape.dims[i]);
		is_longer = is_longer || common.dims[i] < call->shape.dims[i];
	}
	if ((st = fft_begin_of(&cut, call->array, &common, err))) {
		return st;
	}
	if (!is_longer && cut->dtype == call->dtype) {
		*out = cut;
		return KZ_OK;
	}
	if (!is_longer) {
		st = elementwise_contiguous(&made, cut, call->dtype, call->stream, err);
	} else if (!(st = kz_array_zeros_on(&made, array_device(cut), call->dtype, call->shape,
			call->stream, err))
	    && !(st = fft_begin_of(&part, made, &common, err))) {
		st = ops_copy(part, cut, call->stream, err);
	}
	kz_array_release(part);
	kz_array_release(cut);
	return array_finish(out, made, st);
}

static void fft_side_init(struct fft_side *side, const struct kz_array *array, int64_t axis)
{
	int count = 0;
	side->memory = array->buffer->memory;
	side->address = array_address(array);
	side->step = array->strides[axis];
	for (int64_t i = 0; i < array->shape.ndim; i++) {
		if (i != axis) {
			side->strides[count++] = array->strides[i];
		}
	}
}

/* Transform `from` to `to`, which may be the same. */
static kz_status fft_along(const struct fft_call *call, struct kz_array *to,
	const struct kz_array *from, int64_t axis, double scale, kz_error *err)
{
	struct fft_job job = {
		.device = array_device(to), .stream = call->stream, .dtype = call->dtype,
		.length = to->shape.dims[axis], .is_inverse = call->is_inverse, .scale = scale,
	};
	fft_side_init(&job.in, from, axis);
	fft_side_init(&job.out, to, axis);
	for (int64_t i = 0; i < to->shape.ndim; i++) {
		if (i != axis) {
			job.dims[job.ndim++] = to->shape.dims[i];
		}
	}
	return to->count ? fft_run(&job, err) : KZ_OK;
}

static kz_status fft_call_run(kz_array **out, const struct fft_call *call, kz_error *err)
{
	struct kz_array *operand = NULL, *result = NULL;
	kz_status st = fft_operand(&operand, call, err);
	if (st) {
		return st;
	}
	/* An array of other arrays' memory may be the operand itself, or a part of it. */
	bool is_direct = call->into && call->into->dtype == call->dtype
		&& array_is_contiguous(call->into)
		&& call->into->buffer->memory != operand->buffer->memory;
	if (is_direct) {
		result = kz_array_retain(call->into);
	} else {
		st = array_create_on(&result, array_device(operand), call->dtype, &call->shape,
			call->stream, err);
	}
	for (int64_t i = call->axes.count; !st && i-- > 0;) {
		st = fft_along(call, result, i == call->axes.count - 1 ? operand : result,
			call->axes.items[i], i == 0 ? call->scale : 1, err);
	}
	if (!st && call->into && !is_direct) {
		st = ops_copy(call->into, result, call->stream, err);
	}
	kz_array_release(operand);
	if (!st && out) {
		*out = call->into ? kz_array_retain(call->into) : kz_array_retain(result);
	}
	kz_array_release(result);
	return st;
}

static kz_status fft_do(kz_array **out, const char *name, bool is_inverse, kz_array *array,
	kz_axes axes, const kz_fft_options *options, kz_error *err)
{
	struct fft_call call = {.name = name, .is_inverse = is_inverse};
	if (out) {
		*out = NULL;
	}
	kz_status st = fft_call_init(&call, array, axes, options, err);
	if (st) {
		return st;
	}
	if (!out && !call.into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", name);
	}
	return fft_call_run(out, &call, err);
}

kz_status kz_fft(kz_array **out, kz_array *array, kz_axes axes, const kz_fft_options *options,
	kz_error *err)
{
	return fft_do(out, "fft", false, array, axes, options, err);
}

kz_status kz_ifft(kz_array **out, kz_array *array, kz_axes axes, const kz_fft_options *options,
	kz_error *err)
{
	return fft_do(out, "ifft", true, array, axes, options, err);
}

/* SPDX-License-Identifier: MIT */
/*
 * Discrete Fourier transforms of arrays: what callers ask for becomes a list of transforms along
 * single axes (fft_plan.h).  The first one reads the array, whatever its strides; the others work
 * on the result.  Where cuFFT is found and can do all axes at once, it does (cufft.h).
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/overlap.h"
#include "lib/array/shape.h"
#include "lib/core/object.h"
#include "lib/fft/cufft.h"
#include "lib/fft/fft_plan.h"
#include "lib/ops/elementwise.h"

#include <kudzu/fft.h>
#include <kudzu/view.h>

#include <math.h>

struct fft_function {
	const char *name;
	enum fft_domain domain;
	bool is_inverse;
	int type;           /* of FFT_COSINE */
};

/* A call, its arguments checked. */
struct fft_call {
	const char *name;
	enum fft_domain domain;
	bool is_inverse;
	int type;           /* of the cosine transform as the caller has it */
	bool is_ortho;
	struct kz_array *array;
	struct kz_stream *stream;
	struct kz_array *into;
	kz_axes axes;
	int64_t last;       /* the axis of real numbers is the last of the list */
	kz_shape lengths;   /* of the transforms, and of the other axes */
	kz_shape from;      /* of the operand, cut off or continued */
	kz_shape shape;     /* of the result */
	kz_dtype dtype;     /* complex; what is real has its parts' */
	double scale;
};

/* Arguments */

/* Whether the operand, or the result, is of real numbers. */
static bool fft_is_of_reals(const struct fft_call *call)
{
	return call->domain == FFT_TO_HALF || call->domain == FFT_COSINE;
}

static bool fft_is_to_reals(const struct fft_call *call)
{
	return call->domain == FFT_FROM_HALF || call->domain == FFT_COSINE;
}

static kz_status fft_check_options(const kz_fft_options *options, kz_error *err)
{
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_fft_options", options->size, sizeof(*options), err);
	}
	if (options->norm < KZ_FFT_BACKWARD || options->norm > KZ_FFT_FORWARD) {
		return error_set(err, KZ_INVALID, "%d is not a kz_fft_norm", (int)options->norm);
	}
	return KZ_OK;
}

static kz_status fft_check_lengths(struct fft_call *call, const kz_shape *lengths, kz_error *err)
{
	if (lengths->ndim != 0 && lengths->ndim != call->axes.count) {
		return error_set(err, KZ_INVALID, "%s: expected %lld lengths, got %lld", call->name,
			(long long)call->axes.count, (long long)lengths->ndim);
	}
	int least = call->domain == FFT_COSINE && call->type == 1 ? 2 : 1;
	call->lengths = call->array->shape;
	for (int64_t i = 0; i < call->axes.count; i++) {
		int64_t axis = call->axes.items[i], *extent = &call->lengths.dims[axis];
		bool is_half = call->domain == FFT_FROM_HALF && axis == call->last;
		*extent = lengths->ndim ? lengths->dims[i] : is_half ? 2 * (*extent - 1) : *extent;
		if (*extent < least) {
			return error_set(err, KZ_INVALID, "%s: expected a length of at least %d "
				"along axis %lld, got %lld", call->name, least, (long long)axis,
				(long long)*extent);
		}
	}
	call->from = call->shape = call->lengths;
	int64_t half = call->lengths.dims[call->last] / 2 + 1;
	if (call->domain == FFT_TO_HALF) {
		call->shape.dims[call->last] = half;
	} else if (call->domain == FFT_FROM_HALF) {
		call->from.dims[call->last] = half;
	}
	return KZ_OK;
}

static kz_status fft_check_into(const struct fft_call *call, kz_error *err)
{
	const struct kz_array *into = call->into;
	if (!into) {
		return KZ_OK;
	}
	if (!object_is(into, OBJECT_ARRAY)) {
		return object_refuse(into, OBJECT_ARRAY, "into", err);
	}
	if (array_device(into) != array_device(call->array)) {
		return error_set(err, KZ_INVALID, "%s: the array is on %s, into on %s", call->name,
			array_device(call->array)->name, array_device(into)->name);
	}
	if (!shape_equal(&into->shape, &call->shape)) {
		return error_set(err, KZ_INVALID, "%s: shape %s does not fit into %s", call->name,
			shape_text(&call->shape).text, shape_text(&into->shape).text);
	}
	if (fft_is_to_reals(call) ? !dtype_is_float(into->dtype)
			: !dtype_is_complex(into->dtype)) {
		return error_set(err, KZ_INVALID, "%s: expected a %s dtype of into, got %s",
			call->name, fft_is_to_reals(call) ? "float" : "complex",
			dtype_refused(into->dtype));
	}
	return KZ_OK;
}

/* The type of the result; 0 for a struct. */
static kz_dtype fft_dtype(kz_dtype dtype)
{
	return !dtype_is_number(dtype) ? 0 : dtype == KZ_F32 || dtype == KZ_C64
		|| dtype_is_half(dtype)
		? KZ_C64 : KZ_C128;
}

/* What all forward transforms divide by, or multiply with. */
static double fft_scale(const struct fft_call *call, int norm)
{
	double count = 1;
	for (int64_t i = 0; i < call->axes.count; i++) {
		double length = (double)call->lengths.dims[call->axes.items[i]];
		count *= call->domain != FFT_COSINE ? length : call->type == 1 ? 2 * (length - 1)
			: 2 * length;
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
	call->dtype = fft_dtype(array->dtype);
	if (axes.count == 0) {
		return error_set(err, KZ_INVALID, "%s: expected at least one axis", call->name);
	}
	call->last = axes.items[axes.count - 1];
	call->is_ortho = options->norm == KZ_FFT_ORTHO;
	if (!call->dtype || (fft_is_of_reals(call) && dtype_is_complex(array->dtype))) {
		return error_set(err, KZ_INVALID, "%s: expected %snumbers, got %s", call->name,
			fft_is_of_reals(call) ? "real " : "", dtype_refused(array->dtype));
	}
	if (call->domain == FFT_COSINE && (call->type < 1 || call->type > 4)) {
		return error_set(err, KZ_INVALID, "%s: expected a type from 1 to 4, got %d",
			call->name, call->type);
	}
	if ((st = fft_check_lengths(call, &options->lengths, err))
	    || (st = fft_check_into(call, err))) {
		return st;
	}
	call->scale = fft_scale(call, options->norm);
	return KZ_OK;
}

/* The operand */

/* A view of the beginning of an array, whose extents it has along all axes. */
static kz_status fft_begin_of(struct kz_array **out, struct kz_array *array,
	const kz_shape *extents, kz_error *err)
{
	kz_slice items[KZ_MAX_DIMS];
	for (int64_t i = 0; i < extents->ndim; i++) {
		items[i] = kz_slice_range(0, extents->dims[i], 1);
	}
	return kz_array_slice(out, array, (kz_slices){items, extents->ndim}, err);
}

/* The operand in call->from, as numbers that transforms read: a view of it, or a copy. */
static kz_status fft_operand(struct kz_array **out, const struct fft_call *call, kz_error *err)
{
	struct kz_array *cut = NULL, *made = NULL, *part = NULL;
	kz_dtype real = dtype_part(call->dtype);
	kz_dtype dtype = call->array->dtype == real || fft_is_of_reals(call) ? real : call->dtype;
	kz_shape common = call->from;
	bool is_longer = false;
	kz_status st;
	for (int64_t i = 0; i < common.ndim; i++) {
		common.dims[i] = min64(common.dims[i], call->array->shape.dims[i]);
		is_longer = is_longer || common.dims[i] < call->from.dims[i];
	}
	if (call->domain == FFT_FROM_HALF) {
		dtype = call->dtype;
	}
	if ((st = fft_begin_of(&cut, call->array, &common, err))) {
		return st;
	}
	if (!is_longer && cut->dtype == dtype) {
		*out = cut;
		return KZ_OK;
	}
	if (!is_longer) {
		st = elementwise_contiguous(&made, cut, dtype, call->stream, err);
	} else if (!(st = kz_array_zeros_on(&made, array_device(cut), dtype, call->from,
		call->stream,
			err))
	    && !(st = fft_begin_of(&part, made, &common, err))) {
		st = ops_copy(part, cut, call->stream, err);
	}
	kz_array_release(part);
	kz_array_release(cut);
	return array_finish(out, made, st);
}

/* Axes */

static void fft_side_init(struct fft_side *side, const struct kz_array *array, int64_t axis)
{
	int count = 0;
	side->memory = array->buffer->memory;
	side->address = array_address(array);
	side->form = dtype_is_complex(array->dtype) ? FFT_POINTS : FFT_REALS;
	side->part = 0;
	side->step = array->strides[axis];
	for (int64_t i = 0; i < array->shape.ndim; i++) {
		if (i != axis) {
			side->strides[count++] = array->strides[i];
		}
	}
}

/* The inverse of type 2 is type 3, and the other way round. */
static int fft_cosine_type(const struct fft_call *call)
{
	return call->is_inverse && (call->type == 2 || call->type == 3) ? 5 - call->type
		: call->type;
}

typedef kz_status fft_runner(const struct fft_job *job, kz_error *err);

/* The transform of one axis. */
struct fft_step {
	fft_runner *run;
	int64_t axis;
	double scale;
};

/* Transform `from` to `to`, which may be the same. */
static kz_status fft_along(const struct fft_call *call, const struct fft_step *step,
	struct kz_array *to, const struct kz_array *from, kz_error *err)
{
	const int64_t axis = step->axis;
	struct fft_job job = {
		.device = array_device(to), .stream = call->stream, .dtype = call->dtype,
		.length = call->lengths.dims[axis], .is_inverse = call->is_inverse,
		.scale = step->scale,
		.cosine_type = fft_cosine_type(call), .is_ortho = call->is_ortho,
	};
	fft_side_init(&job.in, from, axis);
	fft_side_init(&job.out, to, axis);
	for (int64_t i = 0; i < to->shape.ndim; i++) {
		if (i != axis) {
			job.dims[job.ndim++] = to->shape.dims[i];
		}
	}
	return to->count ? step->run(&job, err) : KZ_OK;
}

/* All axes, the last one first: it is the real one of real numbers. */
static kz_status fft_forward(const struct fft_call *call, struct kz_array *result,
	const struct kz_array *operand, kz_error *err)
{
	kz_status st = KZ_OK;
	for (int64_t i = call->axes.count; !st && i-- > 0;) {
		bool is_first = i == call->axes.count - 1;
		const struct fft_step step = {
			.run = call->domain == FFT_COSINE ? dct_run
				: is_first && call->domain == FFT_TO_HALF ? fft_run_real : fft_run,
			.axis = call->axes.items[i], .scale = i == 0 ? call->scale : 1,
		};
		st = fft_along(call, &step, result, is_first ? operand : result, err);
	}
	return st;
}

/* The other way round: complex transforms, then the last axis. */
static kz_status fft_to_real(const struct fft_call *call, struct kz_array *result,
	const struct kz_array *operand, kz_error *err)
{
	struct kz_array *spectrum = NULL;
	kz_status st = KZ_OK;
	int64_t last = call->axes.count - 1;
	if (last > 0) {
		st = array_create_on(&spectrum, array_device(operand), call->dtype, &call->from,
			call->stream, err);
	}
	for (int64_t i = 0; !st && i < last; i++) {
		const struct fft_step step = {fft_run, call->axes.items[i], 1};
		st = fft_along(call, &step, spectrum, i == 0 ? operand : spectrum, err);
	}
	if (!st) {
		const struct fft_step step = {fft_run_to_real, call->last, call->scale};
		st = fft_along(call, &step, result, spectrum ? spectrum : operand, err);
	}
	kz_array_release(spectrum);
	return st;
}

/* Calls */

static kz_status fft_transform(const struct fft_call *call, struct kz_array *result,
	struct kz_array *operand, kz_error *err)
{
	const struct cufft_job job = {.stream = call->stream, .domain = call->domain,
		.is_inverse = call->is_inverse, .dtype = call->dtype, .scale = call->scale,
		.axes = call->axes, .in = operand, .out = result};
	bool is_done = result->count == 0;
	kz_status st = is_done || call->domain == FFT_COSINE ? KZ_OK
		: cufft_run(&is_done, &job, err);
	return st || is_done ? st
		: (call->domain == FFT_FROM_HALF ? fft_to_real : fft_forward)(call,
		result, operand, err);
}

static kz_status fft_call_run(kz_array **out, const struct fft_call *call, kz_error *err)
{
	struct kz_array *operand = NULL, *result = NULL;
	kz_dtype dtype = fft_is_to_reals(call) ? dtype_part(call->dtype) : call->dtype;
	kz_status st = fft_operand(&operand, call, err);
	if (st) {
		return st;
	}
	/* An array of the operand's memory may be the operand itself, or a part of it.  A
	 * contiguous one that has the operand's bytes by kz_buffer_wrap is such an array, too. */
	bool is_direct = call->into && call->into->dtype == dtype && array_is_contiguous(call->into)
		&& !overlap_memory(call->into, operand);
	if (is_direct) {
		result = kz_array_retain(call->into);
	} else {
		st = array_create_on(&result, array_device(operand), dtype, &call->shape,
			call->stream, err);
	}
	st = st ? st : fft_transform(call, result, operand, err);
	if (!st && call->into && !is_direct) {
		st = ops_copy(call->into, result, call->stream, err);
	}
	kz_array_release(operand);
	if (!st && out) {
		*out = kz_array_retain(call->into ? call->into : result);
	}
	kz_array_release(result);
	return st;
}

static kz_status fft_do(kz_array **out, const struct fft_function *function, kz_array *array,
	kz_axes axes, const kz_fft_options *options, kz_error *err)
{
	struct fft_call call = {.name = function->name, .domain = function->domain,
		.is_inverse = function->is_inverse, .type = function->type};
	out_clear(out, sizeof(*out), function->name);
	kz_status st = fft_call_init(&call, array, axes, options, err);
	if (st) {
		return st;
	}
	if (!out && !call.into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", call.name);
	}
	return fft_call_run(out, &call, err);
}

kz_status kz_fft(kz_array **out, kz_array *array, kz_axes axes, const kz_fft_options *options,
	kz_error *err)
{
	error_scope(err);
	return fft_do(out, &(struct fft_function){"fft", FFT_FULL, false, 0}, array, axes, options,
		err);
}

kz_status kz_ifft(kz_array **out, kz_array *array, kz_axes axes, const kz_fft_options *options,
	kz_error *err)
{
	error_scope(err);
	return fft_do(out, &(struct fft_function){"ifft", FFT_FULL, true, 0}, array, axes, options,
		err);
}

kz_status kz_rfft(kz_array **out, kz_array *array, kz_axes axes, const kz_fft_options *options,
	kz_error *err)
{
	error_scope(err);
	return fft_do(out, &(struct fft_function){"rfft", FFT_TO_HALF, false, 0}, array, axes,
		options, err);
}

kz_status kz_irfft(kz_array **out, kz_array *array, kz_axes axes, const kz_fft_options *options,
	kz_error *err)
{
	error_scope(err);
	return fft_do(out, &(struct fft_function){"irfft", FFT_FROM_HALF, true, 0}, array, axes,
		options, err);
}

kz_status kz_dct(kz_array **out, kz_array *array, int type, kz_axes axes,
	const kz_fft_options *options, kz_error *err)
{
	error_scope(err);
	return fft_do(out, &(struct fft_function){"dct", FFT_COSINE, false, type}, array, axes,
		options, err);
}

kz_status kz_idct(kz_array **out, kz_array *array, int type, kz_axes axes,
	const kz_fft_options *options, kz_error *err)
{
	error_scope(err);
	return fft_do(out, &(struct fft_function){"idct", FFT_COSINE, true, type}, array, axes,
		options, err);
}

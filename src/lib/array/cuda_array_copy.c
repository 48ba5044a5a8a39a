/* SPDX-License-Identifier: MIT */
/* Copies between arrays and CUDA arrays: boxes of whole levels. */
#include "base/common.h"

#include <kudzu/copy.h>

#include "lib/array/cuda_array.h"

#include "lib/array/array.h"
#include "lib/array/shape.h"

static kz_status cuda_array_check_copy(const struct kz_cuda_array *texels, int64_t level,
	const struct kz_array *array, kz_error *err)
{
	kz_shape shape = cuda_array_shape(texels, level);
	if (array_device(array) != texels->memory->device) {
		return error_set(err, KZ_INVALID, "the array is on %s, the CUDA array on %s",
			kz_device_name(array_device(array)),
			kz_device_name(texels->memory->device));
	}
	if (array->dtype != texels->dtype) {
		return error_set(err, KZ_INVALID, "expected an array of %s, got one of %s",
			kz_dtype_name(texels->dtype), kz_dtype_name(array->dtype));
	}
	if (!shape_equal(&array->shape, &shape)) {
		return error_set(err, KZ_INVALID, "expected an array of shape %s, got %s",
			shape_text(&shape).text, shape_text(&array->shape).text);
	}
	return array_is_contiguous(array) ? KZ_OK
		: error_set(err, KZ_INVALID,
			"expected a contiguous array; kz_array_copy makes one");
}

/* Check a copy between a whole level and an array, and describe the one to the array. */
static kz_status cuda_array_plan_get(kz_copy_3d_options *out, const struct kz_cuda_array *texels,
	int64_t level, const struct kz_array *array, kz_error *err)
{
	struct cuda_array_extent extent;
	kz_status st;
	if ((st = object_check(texels, OBJECT_CUDA_ARRAY, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = cuda_array_check_level(texels, level, err))
	    || (st = cuda_array_check_copy(texels, level, array, err))) {
		return st;
	}
	cuda_array_measure(&extent, texels, level);
	*out = (kz_copy_3d_options)KZ_COPY_3D_OPTIONS_INIT;
	out->to = (kz_copy_side){.buffer = array->buffer, .offset = array->offset};
	out->from = (kz_copy_side){.texels = (struct kz_cuda_array *)texels, .level = level};
	out->width = extent.width;
	out->height = extent.height;
	out->depth = extent.depth;
	return KZ_OK;
}

/* The same in the other direction. */
static kz_status cuda_array_plan_set(kz_copy_3d_options *out, const struct kz_cuda_array *texels,
	int64_t level, const struct kz_array *array, kz_error *err)
{
	kz_status st = cuda_array_plan_get(out, texels, level, array, err);
	const kz_copy_side to = out->to;
	out->to = out->from;
	out->from = to;
	return st;
}

kz_status kz_cuda_array_set(kz_cuda_array *to, int64_t level, const kz_array *from, kz_error *err)
{
	error_scope(err);
	kz_copy_3d_options copy = KZ_COPY_3D_OPTIONS_INIT;
	kz_status st = cuda_array_plan_set(&copy, to, level, from, err);
	return st ? st : kz_copy_3d(&copy, err);
}

kz_status kz_cuda_array_get(kz_array *to, const kz_cuda_array *from, int64_t level, kz_error *err)
{
	error_scope(err);
	kz_copy_3d_options copy;
	kz_status st = cuda_array_plan_get(&copy, from, level, to, err);
	return st ? st : kz_copy_3d(&copy, err);
}

kz_status kz_cuda_array_set_on(kz_cuda_array *to, int64_t level, const kz_array *from,
	kz_stream *stream, kz_error *err)
{
	error_scope(err);
	kz_copy_3d_options copy = KZ_COPY_3D_OPTIONS_INIT;
	kz_status st = cuda_array_plan_set(&copy, to, level, from, err);
	return st ? st : kz_copy_3d_on(&copy, stream, err);
}

kz_status kz_cuda_array_get_on(kz_array *to, const kz_cuda_array *from, int64_t level,
	kz_stream *stream, kz_error *err)
{
	error_scope(err);
	kz_copy_3d_options copy;
	kz_status st = cuda_array_plan_get(&copy, from, level, to, err);
	return st ? st : kz_copy_3d_on(&copy, stream, err);
}

kz_status kz_cuda_array_from(kz_cuda_array **out, const kz_array *from,
	const kz_cuda_array_options *options, kz_error *err)
{
	error_scope(err);
	struct kz_cuda_array_options how;
	struct kz_cuda_array *array;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(from, OBJECT_ARRAY, err))
	    || (st = cuda_array_check_options(&how, options, err))) {
		return st;
	}
	kz_shape shape = from->shape;
	shape.ndim -= how.channels > 1 && shape.ndim > 0;
	if (!(st = kz_cuda_array_create(&array, array_device(from), from->dtype, shape, &how,
		err))) {
		st = kz_cuda_array_set(array, 0, from, err);
		if (st) {
			kz_cuda_array_release(array);
		} else {
			*out = array;
		}
	}
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * CUDA arrays: texels in an order of the device's choice, for textures and surfaces.
 *
 * The driver takes width, height and depth of each kind of array in its own way: a plain one has 0
 * for the axes that it lacks, and layers are in place of the depth.
 */
#include "base/common.h"

#include "lib/array/cuda_array.h"

#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "base/alloc.h"

/* --- What there can be --- */

kz_status cuda_array_format(CUarray_format *out, kz_dtype dtype, int64_t channels, kz_error *err)
{
	static const CUarray_format formats[] = {
		[KZ_I8] = CU_AD_FORMAT_SIGNED_INT8, [KZ_I16] = CU_AD_FORMAT_SIGNED_INT16,
		[KZ_I32] = CU_AD_FORMAT_SIGNED_INT32, [KZ_U8] = CU_AD_FORMAT_UNSIGNED_INT8,
		[KZ_U16] = CU_AD_FORMAT_UNSIGNED_INT16, [KZ_U32] = CU_AD_FORMAT_UNSIGNED_INT32,
		[KZ_F16] = CU_AD_FORMAT_HALF, [KZ_F32] = CU_AD_FORMAT_FLOAT,
	};
	*out = dtype < countof(formats) ? formats[dtype] : 0;
	if (*out == 0) {
		const char *name = kz_dtype_name(dtype);
		return error_set(err, KZ_INVALID, "expected texels of 8, 16 or 32 bits, of "
			"integers or floats, got %s", name ? name : "a number that is not a dtype");
	}
	return channels == 1 || channels == 2 || channels == 4 ? KZ_OK
		: error_set(err, KZ_INVALID, "expected 1, 2 or 4 channels, got %lld",
			(long long)channels);
}

kz_status cuda_array_check_options(struct kz_cuda_array_options *out,
	const struct kz_cuda_array_options *in, kz_error *err)
{
	*out = in ? *in : (struct kz_cuda_array_options)KZ_CUDA_ARRAY_OPTIONS_INIT;
	if (out->size != sizeof(*out)) {
		return struct_refuse("kz_cuda_array_options", out->size, sizeof(*out), err);
	}
	if (out->kind < KZ_CUDA_ARRAY_PLAIN || out->kind > KZ_CUDA_ARRAY_CUBE_LAYERED) {
		return error_set(err, KZ_INVALID, "expected a kz_cuda_array_kind, got %d",
			(int)out->kind);
	}
	if (out->levels < 0) {
		return error_set(err, KZ_INVALID, "expected 0 or more levels, got %d",
			(int)out->levels);
	}
	out->channels = out->channels == 0 ? 1 : out->channels;
	out->levels = out->levels == 0 ? 1 : out->levels;
	return KZ_OK;
}

static kz_status cuda_array_check_shape(const kz_shape *shape, int32_t kind, kz_error *err)
{
	static const struct {
		const char *axes;
		int64_t least, most;
	} kinds[] = {
		[KZ_CUDA_ARRAY_PLAIN] = {"(width), (height, width) or (depth, height, width)", 1,
			3},
		[KZ_CUDA_ARRAY_LAYERED] = {"(layers, width) or (layers, height, width)", 2, 3},
		[KZ_CUDA_ARRAY_CUBE] = {"(6, width, width)", 3, 3},
		[KZ_CUDA_ARRAY_CUBE_LAYERED] = {"(6 * layers, width, width)", 3, 3},
	};
	const int64_t *dims = shape->dims;
	bool ok = shape->ndim >= kinds[kind].least && shape->ndim <= kinds[kind].most;
	for (int64_t i = 0; i < shape->ndim && ok; i++) {
		ok = dims[i] >= 1 && dims[i] <= INT32_MAX;
	}
	if (ok && cuda_array_is_cube(kind)) {
		ok = dims[1] == dims[2]
			&& (kind == KZ_CUDA_ARRAY_CUBE ? dims[0] == 6 : dims[0] % 6 == 0);
	}
	return ok ? KZ_OK : error_set(err, KZ_INVALID, "expected a shape %s, got %s",
		kinds[kind].axes,
		shape->ndim >= 0 && shape->ndim <= KZ_MAX_DIMS ? shape_text(shape).text : "none");
}

CUDA_ARRAY3D_DESCRIPTOR cuda_array_describe(const struct kz_cuda_array *array,
	CUarray_format format)
{
	static const unsigned flags[] = {
		[KZ_CUDA_ARRAY_LAYERED] = CUDA_ARRAY3D_LAYERED,
		[KZ_CUDA_ARRAY_CUBE] = CUDA_ARRAY3D_CUBEMAP,
		[KZ_CUDA_ARRAY_CUBE_LAYERED] = CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED,
	};
	int64_t ndim = array->shape.ndim;
	const int64_t *dims = array->shape.dims;
	bool has_layers = array->how.kind != KZ_CUDA_ARRAY_PLAIN;
	int64_t in_layer = has_layers ? ndim - 1 : ndim;
	return (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = (size_t)dims[ndim - 1],
		.Height = in_layer > 1 ? (size_t)dims[ndim - 2] : 0,
		.Depth = has_layers || in_layer > 2 ? (size_t)dims[0] : 0,
		.Format = format, .NumChannels = (unsigned)array->how.channels,
		.Flags = flags[array->how.kind]
		| (array->how.surface ? CUDA_ARRAY3D_SURFACE_LDST : 0)
			| (array->how.gather ? CUDA_ARRAY3D_TEXTURE_GATHER : 0),
	};
}

/* --- Creating --- */

static void cuda_array_end(void *user)
{
	struct kz_cuda_array *array = user;
	struct kz_device *dev = array->memory->device;
	struct device_scope scope;
	if (device_enter_quietly(dev, &scope)) {
		if (array->plain) {
			device_released(dev, dev->drv->ArrayDestroy(array->plain),
				"cuArrayDestroy");
		}
		if (array->mipmap) {
			device_released(dev, dev->drv->MipmappedArrayDestroy(array->mipmap),
				"cuMipmappedArrayDestroy");
		}
		device_leave(dev, &scope);
	}
	object_free(array);
}

static kz_status cuda_array_allocate(struct kz_cuda_array *array, CUarray_format format,
	kz_error *err)
{
	struct kz_device *dev = array->memory->device;
	struct device_scope scope;
	CUDA_ARRAY3D_DESCRIPTOR descriptor = cuda_array_describe(array, format);
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	if (array->how.levels > 1) {
		st = device_ok(dev, dev->drv->MipmappedArrayCreate(&array->mipmap, &descriptor,
			(unsigned)array->how.levels), "cuMipmappedArrayCreate", err);
	} else {
		st = device_ok(dev, dev->drv->Array3DCreate(&array->plain, &descriptor),
			"cuArray3DCreate", err);
	}
	device_leave(dev, &scope);
	return st;
}

kz_status kz_cuda_array_create(kz_cuda_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	const kz_cuda_array_options *options, kz_error *err)
{
	error_scope(err);
	struct kz_cuda_array_options how;
	CUarray_format format;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = cuda_array_check_options(&how, options, err))
	    || (st = cuda_array_format(&format, dtype, how.channels, err))
	    || (st = cuda_array_check_shape(&shape, how.kind, err))) {
		return st;
	}
	if (how.gather && (how.kind != KZ_CUDA_ARRAY_PLAIN || shape.ndim != 2)) {
		return error_set(err, KZ_INVALID, "tex2Dgather reads plain CUDA arrays (height, "
			"width), got a shape %s", shape_text(&shape).text);
	}
	struct kz_cuda_array *array = mem_zalloc(1, sizeof(*array));
	if (!array) {
		return error_no_memory(err);
	}
	*array = (struct kz_cuda_array){.tag = OBJECT_CUDA_ARRAY, .dtype = dtype, .shape = shape,
		.how = how};
	if ((st = memory_borrow(&array->memory, dev, 0, 0,
		     &(struct memory_owner){cuda_array_end, array}, err))) {
		mem_free(array);
		return st;
	}
	if ((st = cuda_array_allocate(array, format, err))) {
		kz_cuda_array_release(array);
		return st;
	}
	object_give(array, dev);
	*out = array;
	return KZ_OK;
}

void kz_cuda_array_release(kz_cuda_array *array)
{
	if (object_is(array, OBJECT_CUDA_ARRAY)) {
		object_end(&array->tag);
		memory_release(array->memory);
	}
}

/* --- Levels --- */

kz_shape cuda_array_shape(const struct kz_cuda_array *array, int64_t level)
{
	kz_shape shape = array->shape;
	for (int64_t i = 0; i < shape.ndim; i++) {
		if (i > 0 || array->how.kind == KZ_CUDA_ARRAY_PLAIN) {
			shape.dims[i] = shape.dims[i] >> level > 0 ? shape.dims[i] >> level : 1;
		}
	}
	if (array->how.channels > 1) {
		shape.dims[shape.ndim++] = array->how.channels;
	}
	return shape;
}

kz_status cuda_array_check_level(const struct kz_cuda_array *array, int64_t level, kz_error *err)
{
	return level >= 0 && level < array->how.levels ? KZ_OK
		: error_set(err, KZ_RANGE, "level %lld of a CUDA array of %d level%s",
			(long long)level, (int)array->how.levels, plural(array->how.levels));
}

kz_status cuda_array_level(CUarray *out, const struct kz_cuda_array *array, int64_t level,
	kz_error *err)
{
	struct kz_device *dev = array->memory->device;
	kz_status st = cuda_array_check_level(array, level, err);
	*out = array->plain;
	return st || array->plain ? st : device_ok(dev, dev->drv->MipmappedArrayGetLevel(out,
		array->mipmap, (unsigned)level), "cuMipmappedArrayGetLevel", err);
}

void cuda_array_measure(struct cuda_array_extent *out, const struct kz_cuda_array *array,
	int64_t level)
{
	kz_shape shape = cuda_array_shape(array, level);
	int64_t ndim = array->shape.ndim;
	/* layers of one axis are in place of the depth */
	bool has_height = ndim > (array->how.kind == KZ_CUDA_ARRAY_PLAIN ? 1 : 2);
	bool has_depth = ndim > (array->how.kind == KZ_CUDA_ARRAY_PLAIN ? 2 : 1);
	out->texel = array->how.channels * kz_dtype_size(array->dtype);
	out->width = shape.dims[ndim - 1] * out->texel;
	out->height = has_height ? shape.dims[ndim - 2] : 1;
	out->depth = has_depth ? shape.dims[0] : 1;
}

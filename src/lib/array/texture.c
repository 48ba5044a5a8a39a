/* SPDX-License-Identifier: MIT */
/*
 * Textures and surfaces: descriptors of what kernels read, made by the driver.
 *
 * A texture counts the memory of its texels, a CUDA array's or an array's.  The driver may free a
 * descriptor while a kernel still reads it, so that the end of a texture waits for the last use of
 * this memory.
 */
#include "base/common.h"

#include "lib/array/texture.h"

#include "base/alloc.h"
#include "lib/array/array.h"
#include "lib/array/cuda_array.h"
#include "lib/array/shape.h"

/* --- How to read --- */

static kz_status texture_check_options(struct kz_texture_options *out,
	const struct kz_texture_options *in, kz_error *err)
{
	*out = in ? *in : (struct kz_texture_options)KZ_TEXTURE_OPTIONS_INIT;
	if (out->size != sizeof(*out)) {
		return struct_refuse("kz_texture_options", out->size, sizeof(*out), err);
	}
	for (size_t i = 0; i < countof(out->address); i++) {
		if (out->address[i] < KZ_TEXTURE_CLAMP || out->address[i] > KZ_TEXTURE_MIRROR) {
			return error_set(err, KZ_INVALID, "expected a kz_texture_address, got %d",
				(int)out->address[i]);
		}
		bool repeats = out->address[i] == KZ_TEXTURE_WRAP
			|| out->address[i] == KZ_TEXTURE_MIRROR;
		if (repeats && !out->normalized) {
			return error_set(err, KZ_INVALID,
				"KZ_TEXTURE_WRAP and KZ_TEXTURE_MIRROR need normalized "
				"coordinates");
		}
	}
	if ((unsigned)out->filter > KZ_TEXTURE_LINEAR
	    || (unsigned)out->mipmap_filter > KZ_TEXTURE_LINEAR) {
		return error_set(err, KZ_INVALID, "expected a kz_texture_filter, got %d",
			(int)((unsigned)out->filter > KZ_TEXTURE_LINEAR ? out->filter
				: out->mipmap_filter));
	}
	return (unsigned)out->anisotropy <= 16 ? KZ_OK
		: error_set(err, KZ_INVALID, "expected an anisotropy up to 16, got %d",
			(int)out->anisotropy);
}

static bool texture_gives_floats(const struct kz_texture_options *how, kz_dtype dtype)
{
	return dtype == KZ_F16 || dtype == KZ_F32 || how->as_float || how->srgb;
}

/* A driver takes the bits of the border: of floats, or of integers of 32 bits. */
static kz_status texture_read_border(float out[4], const struct kz_texture_options *how,
	kz_dtype dtype, kz_error *err)
{
	for (int i = 0; i < 4; i++) {
		const float value = how->border[i];
		out[i] = value;
		if (texture_gives_floats(how, dtype)) {
			continue;
		}
		if (!(value >= -0x1p31f && value < 0x1p32f && value == (float)(int64_t)value)) {
			return error_set(err, KZ_INVALID, "expected an integer border for texels "
				"that are read as integers, got %g", (double)value);
		}
		const uint32_t bits = (uint32_t)(int64_t)value;
		memcpy(&out[i], &bits, sizeof(bits));
	}
	return KZ_OK;
}

/* Whether a texel of this type can be read as the options say. */
static kz_status texture_check_type(const struct kz_texture_options *how, kz_dtype dtype,
	kz_error *err)
{
	int64_t size = kz_dtype_size(dtype);
	bool is_float = dtype == KZ_F16 || dtype == KZ_F32;
	if (how->srgb && dtype != KZ_U8) {
		return error_set(err, KZ_INVALID, "sRGB texels are uint8, got %s",
			kz_dtype_name(dtype));
	}
	if (how->as_float && (is_float || size > 2)) {
		return error_set(err, KZ_INVALID, "expected integers of 8 or 16 bits to read as "
			"floats, got %s", kz_dtype_name(dtype));
	}
	return texture_gives_floats(how, dtype) || how->filter != KZ_TEXTURE_LINEAR ? KZ_OK
		: error_set(err, KZ_INVALID, "KZ_TEXTURE_LINEAR filters floats, got %s; as_float "
			"reads integers as floats", kz_dtype_name(dtype));
}

static kz_status texture_describe_sampling(CUDA_TEXTURE_DESC *out,
	const struct kz_texture_options *how, kz_dtype dtype, kz_error *err)
{
	static const CUaddress_mode modes[] = {
		[KZ_TEXTURE_CLAMP] = CU_TR_ADDRESS_MODE_CLAMP,
		[KZ_TEXTURE_BORDER] = CU_TR_ADDRESS_MODE_BORDER,
		[KZ_TEXTURE_WRAP] = CU_TR_ADDRESS_MODE_WRAP,
		[KZ_TEXTURE_MIRROR] = CU_TR_ADDRESS_MODE_MIRROR,
	};
	*out = (CUDA_TEXTURE_DESC){
		.addressMode = {modes[how->address[0]], modes[how->address[1]],
			modes[how->address[2]]},
		.filterMode = (CUfilter_mode)how->filter,
		.flags = (texture_gives_floats(how, dtype) ? 0 : CU_TRSF_READ_AS_INTEGER)
			| (how->normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0)
			| (how->srgb ? CU_TRSF_SRGB : 0)
			| (how->seamless ? CU_TRSF_SEAMLESS_CUBEMAP : 0),
		.mipmapFilterMode = (CUfilter_mode)how->mipmap_filter,
		.mipmapLevelBias = how->level_bias,
		.minMipmapLevelClamp = how->min_level,
		.maxMipmapLevelClamp = how->max_level,
		.maxAnisotropy = how->anisotropy > 1 ? (unsigned)how->anisotropy : 0,
	};
	return texture_read_border(out->borderColor, how, dtype, err);
}

/* --- Parts of CUDA arrays, and other types of their texels --- */

static bool texture_has_view(const struct kz_texture_options *how)
{
	return how->dtype || how->first_level || how->level_count || how->first_layer
		|| how->layer_count;
}

/* The last of `count` things from `first`, which are among `all`. */
static kz_status texture_check_part(unsigned *last, const char *what, int64_t first, int64_t count,
	int64_t all, kz_error *err)
{
	count = count == 0 ? all - first : count;
	if (first < 0 || count < 1 || first + count > all) {
		return error_set(err, KZ_RANGE, "%lld %s%s from %lld of a CUDA array that has %lld",
			(long long)count, what, plural(count), (long long)first, (long long)all);
	}
	*last = (unsigned)(first + count - 1);
	return KZ_OK;
}

static kz_status texture_view_format(CUresourceViewFormat *out, const struct kz_cuda_array *array,
	const struct kz_texture_options *how, kz_error *err)
{
	static const CUresourceViewFormat formats[] = { /* of one channel; 2 and 4 follow */
		[KZ_I8] = CU_RES_VIEW_FORMAT_SINT_1X8, [KZ_I16] = CU_RES_VIEW_FORMAT_SINT_1X16,
		[KZ_I32] = CU_RES_VIEW_FORMAT_SINT_1X32, [KZ_U8] = CU_RES_VIEW_FORMAT_UINT_1X8,
		[KZ_U16] = CU_RES_VIEW_FORMAT_UINT_1X16, [KZ_U32] = CU_RES_VIEW_FORMAT_UINT_1X32,
		[KZ_F16] = CU_RES_VIEW_FORMAT_FLOAT_1X16, [KZ_F32] = CU_RES_VIEW_FORMAT_FLOAT_1X32,
	};
	/* Also that of the array itself: drivers refuse views of levels and layers without a
	 * format. */
	const kz_dtype dtype = how->dtype ? how->dtype : array->dtype;
	const int64_t channels = !how->dtype ? array->how.channels
		: how->channels == 0 ? 1 : how->channels;
	const int64_t own = array->how.channels * kz_dtype_size(array->dtype);
	CUarray_format format;
	kz_status st = cuda_array_format(&format, dtype, channels, err);
	if (st) {
		return st;
	}
	if (channels * kz_dtype_size(dtype) != own) {
		return error_set(err, KZ_INVALID, "expected texels of %lld bytes, as the CUDA "
			"array has, got %lld of %s", (long long)own, (long long)channels,
			kz_dtype_name(dtype));
	}
	*out = formats[dtype] + (channels == 4 ? 2 : (unsigned)channels - 1);
	return KZ_OK;
}

static kz_status texture_describe_view(CUDA_RESOURCE_VIEW_DESC *out,
	const struct kz_cuda_array *array, const struct kz_texture_options *how, kz_error *err)
{
	const CUDA_ARRAY3D_DESCRIPTOR whole = cuda_array_describe(array, 0);
	const bool is_layered = array->how.kind == KZ_CUDA_ARRAY_LAYERED;
	kz_status st;
	*out = (CUDA_RESOURCE_VIEW_DESC){
		.width = whole.Width, .height = whole.Height, .depth = whole.Depth,
		.firstMipmapLevel = (unsigned)how->first_level,
		.firstLayer = (unsigned)how->first_layer,
	};
	if (!is_layered && (how->first_layer || how->layer_count)) {
		return error_set(err, KZ_INVALID, "only a CUDA array of kind KZ_CUDA_ARRAY_LAYERED "
			"has layers to choose");
	}
	if ((st = texture_check_part(&out->lastMipmapLevel, "level", how->first_level,
		how->level_count, array->how.levels, err))
	    || (st = texture_check_part(&out->lastLayer, "layer", how->first_layer,
		how->layer_count, is_layered ? array->shape.dims[0] : 1, err))) {
		return st;
	}
	return texture_view_format(&out->format, array, how, err);
}

/* --- Creating and releasing --- */

static kz_status texture_make(kz_texture **out, struct memory *memory,
	const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *sampling,
	const CUDA_RESOURCE_VIEW_DESC *view, kz_error *err)
{
	struct kz_device *dev = memory->device;
	struct kz_texture *texture = mem_zalloc(1, sizeof(*texture));
	struct device_scope scope;
	if (!texture) {
		return error_no_memory(err);
	}
	kz_status st = device_enter(dev, &scope, err);
	if (!st) {
		st = device_ok(dev, dev->drv->TexObjectCreate(&texture->object.handle, resource,
			sampling, view), "cuTexObjectCreate", err);
		device_leave(dev, &scope);
	}
	if (st) {
		mem_free(texture);
		return st;
	}
	texture->object.tag = OBJECT_TEXTURE;
	texture->object.memory = memory_retain(memory);
	object_give(texture, memory->device);
	*out = texture;
	return KZ_OK;
}

/* The object is the first member of the texture or surface. */
static void texture_end(struct texture_object *object)
{
	struct kz_device *dev = object->memory->device;
	struct kz_stream *last = memory_stream(object->memory);
	struct device_scope scope;
	if (device_enter_quietly(dev, &scope)) {
		(void)dev->drv->StreamSynchronize(last->handle);
		if (object->tag == OBJECT_TEXTURE) {
			device_released(dev, dev->drv->TexObjectDestroy(object->handle),
				"cuTexObjectDestroy");
		} else {
			device_released(dev, dev->drv->SurfObjectDestroy(object->handle),
				"cuSurfObjectDestroy");
		}
		device_leave(dev, &scope);
	}
	stream_release(last);
	memory_release(object->memory);
	object_end(&object->tag);
	object_free(object);
}

void kz_texture_release(kz_texture *texture)
{
	if (object_is(texture, OBJECT_TEXTURE)) {
		texture_end(&texture->object);
	}
}

void kz_surface_release(kz_surface *surface)
{
	if (object_is(surface, OBJECT_SURFACE)) {
		texture_end(&surface->object);
	}
}

/* --- Of CUDA arrays --- */

kz_status kz_texture_create(kz_texture **out, kz_cuda_array *array,
	const kz_texture_options *options, kz_error *err)
{
	error_scope(err);
	struct kz_texture_options how;
	CUDA_RESOURCE_VIEW_DESC view;
	CUDA_TEXTURE_DESC sampling;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_CUDA_ARRAY, err))
	    || (st = texture_check_options(&how, options, err))
	    || (st = texture_describe_view(&view, array, &how, err))
	    || (st = texture_check_type(&how, how.dtype ? how.dtype : array->dtype, err))) {
		return st;
	}
	if (array->mipmap && !how.normalized) {
		return error_set(err, KZ_INVALID, "a mipmap needs normalized coordinates");
	}
	if (how.seamless && !cuda_array_is_cube(array->how.kind)) {
		return error_set(err, KZ_INVALID, "seamless filtering needs a cube");
	}
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
	if (array->mipmap) {
		resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
		resource.res.mipmap.hMipmappedArray = array->mipmap;
		if (how.min_level == 0 && how.max_level == 0) {
			how.max_level = (float)(view.lastMipmapLevel - view.firstMipmapLevel);
		}
	} else {
		resource.res.array.hArray = array->plain;
	}
	st = texture_describe_sampling(&sampling, &how, how.dtype ? how.dtype : array->dtype, err);
	return st ? st : texture_make(out, array->memory, &resource, &sampling,
		texture_has_view(&how) ? &view : NULL, err);
}

kz_status kz_surface_create(kz_surface **out, kz_cuda_array *array, int64_t level, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_CUDA_ARRAY, err))) {
		return st;
	}
	if (!array->how.surface) {
		return error_set(err, KZ_INVALID,
			"expected a CUDA array that was created with the option surface");
	}
	struct kz_device *dev = array->memory->device;
	struct kz_surface *surface = mem_zalloc(1, sizeof(*surface));
	if (!surface) {
		return error_no_memory(err);
	}
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
	if (!(st = device_enter(dev, &scope, err))) {
		st = cuda_array_level(&resource.res.array.hArray, array, level, err);
		st = st ? st : device_ok(dev, dev->drv->SurfObjectCreate(&surface->object.handle,
			&resource), "cuSurfObjectCreate", err);
		device_leave(dev, &scope);
	}
	if (st) {
		mem_free(surface);
		return st;
	}
	surface->object.tag = OBJECT_SURFACE;
	surface->object.memory = memory_retain(array->memory);
	object_give(surface, array->memory->device);
	*out = surface;
	return KZ_OK;
}

/* --- Of arrays --- */

/* Ask the device what it needs, and check that `value` is a multiple of that. */
static kz_status texture_check_alignment(struct kz_device *dev, CUdevice_attribute attribute,
	const char *what, uint64_t value, kz_error *err)
{
	int align = 1;
	kz_status st = device_ok(dev, dev->drv->DeviceGetAttribute(&align, attribute, dev->handle),
		"cuDeviceGetAttribute", err);
	if (st || align < 1 || value % (unsigned)align == 0) {
		return st;
	}
	bool mine = error_is_clean(err);
	error_set(err, KZ_INVALID, "the %s of the array is %llu, expected a multiple of %d", what,
		(unsigned long long)value, align);
	if (mine) {
		error_add_hint(err,
			"kz_cuda_array_from copies the texels, whatever their alignment");
	}
	return KZ_INVALID;
}

/* The axes of texels; channels lie side by side. */
static kz_status texture_check_texels(int64_t *ndim, const struct kz_array *array, int64_t channels,
	kz_error *err)
{
	int64_t inner = kz_dtype_size(array->dtype);
	int64_t all = array->shape.ndim;
	const int64_t *dims = array->shape.dims;
	bool ok = array->count > 0;
	*ndim = channels > 1 ? all - 1 : all;
	if (ok && channels > 1) {
		ok = all > 0 && dims[all - 1] == channels && array->strides[all - 1] == inner;
	}
	ok = ok && (*ndim == 1 || *ndim == 2)
		&& (dims[*ndim - 1] == 1 || array->strides[*ndim - 1] == inner * channels);
	return ok ? KZ_OK : error_set(err, KZ_INVALID, "expected texels (width) or (height, width) "
		"of %lld channel%s, side by side in their row, got an array of shape %s",
		(long long)channels, plural(channels), shape_text(&array->shape).text);
}

static kz_status texture_describe_memory(CUDA_RESOURCE_DESC *out, const struct kz_array *array,
	int64_t ndim, CUarray_format format, unsigned channels, kz_error *err)
{
	struct kz_device *dev = array_device(array);
	size_t texel = channels * (size_t)kz_dtype_size(array->dtype);
	size_t width = (size_t)array->shape.dims[ndim - 1];
	kz_status st = texture_check_alignment(dev, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT,
		"address", array_address(array), err);
	if (st || ndim == 1) {
		*out = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR, .res.linear = {
			.devPtr = array_address(array), .format = format, .numChannels = channels,
			.sizeInBytes = width * texel}};
		return st;
	}
	int64_t pitch = array->shape.dims[0] > 1 ? array->strides[0]
		: (int64_t)round_up(width * texel, 512);
	if (pitch < (int64_t)(width * texel)) {
		return error_set(err, KZ_INVALID, "the rows of the array are %lld bytes apart, "
			"expected at least %zu", (long long)pitch, width * texel);
	}
	*out = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D, .res.pitch2D = {
		.devPtr = array_address(array), .format = format, .numChannels = channels,
		.width = width, .height = (size_t)array->shape.dims[0],
		.pitchInBytes = (size_t)pitch}};
	return texture_check_alignment(dev, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT,
		"row pitch",
		(uint64_t)pitch, err);
}

kz_status kz_texture_from(kz_texture **out, const kz_array *array,
	const kz_texture_options *options, kz_error *err)
{
	error_scope(err);
	struct kz_texture_options how;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC sampling;
	CUarray_format format;
	int64_t ndim;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = texture_check_options(&how, options, err))) {
		return st;
	}
	how.channels = how.channels == 0 ? 1 : how.channels;
	if ((st = cuda_array_format(&format, array->dtype, how.channels, err))
	    || (st = texture_check_type(&how, array->dtype, err))
	    || (st = texture_check_texels(&ndim, array, how.channels, err))) {
		return st;
	}
	if (ndim == 1 && (how.filter == KZ_TEXTURE_LINEAR || how.normalized)) {
		return error_set(err, KZ_INVALID, "a texture of a 1-d array's memory cannot have a "
			"filter or normalized coordinates; a texture of a kz_cuda_array can");
	}
	if (how.seamless || how.mipmap_filter) {
		return error_set(err, KZ_INVALID,
			"the memory of an array cannot be a cube or a mipmap");
	}
	if (texture_has_view(&how)) {
		return error_set(err, KZ_INVALID, "only a texture of a CUDA array can choose "
			"levels, layers or another dtype: take a view of the array");
	}
	if ((st = texture_describe_memory(&resource, array, ndim, format, (unsigned)how.channels,
		err))
	    || (st = texture_describe_sampling(&sampling, &how, array->dtype, err))) {
		return st;
	}
	return texture_make(out, array->buffer->memory, &resource, &sampling, NULL, err);
}

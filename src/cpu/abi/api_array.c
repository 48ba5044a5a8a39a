/* SPDX-License-Identifier: MIT */
/*
 * CUDA arrays: rows and slices in device memory that programs reach only by copies, textures and
 * surfaces.  A mipmapped array is one allocation that holds all its levels.  A level is an array
 * that lives as long as the mipmapped one.
 */
#include "base/common.h"

#include "cpu/abi/api_array.h"

#include "base/alloc.h"

#include <string.h>

enum {
	ROW_ALIGN = 16,     /* so that every texel is aligned to its size */
	LEVEL_ALIGN = 256
};

static const unsigned known_flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST
	| CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_COLOR_ATTACHMENT;
static const unsigned refused_flags = CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_SPARSE
	| CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

/* --- Formats --- */

/* Channels are 0 where the format leaves them open. */
static const struct format_row {
	CUarray_format format;
	struct texel_format is;
} formats[] = {
	{CU_AD_FORMAT_UNSIGNED_INT8, {TEXEL_UINT, 8, 0, false}},
	{CU_AD_FORMAT_UNSIGNED_INT16, {TEXEL_UINT, 16, 0, false}},
	{CU_AD_FORMAT_UNSIGNED_INT32, {TEXEL_UINT, 32, 0, false}},
	{CU_AD_FORMAT_SIGNED_INT8, {TEXEL_SINT, 8, 0, false}},
	{CU_AD_FORMAT_SIGNED_INT16, {TEXEL_SINT, 16, 0, false}},
	{CU_AD_FORMAT_SIGNED_INT32, {TEXEL_SINT, 32, 0, false}},
	{CU_AD_FORMAT_HALF, {TEXEL_FLOAT, 16, 0, false}},
	{CU_AD_FORMAT_FLOAT, {TEXEL_FLOAT, 32, 0, false}},
	{CU_AD_FORMAT_UNORM_INT8X1, {TEXEL_UINT, 8, 1, true}},
	{CU_AD_FORMAT_UNORM_INT8X2, {TEXEL_UINT, 8, 2, true}},
	{CU_AD_FORMAT_UNORM_INT8X4, {TEXEL_UINT, 8, 4, true}},
	{CU_AD_FORMAT_UNORM_INT16X1, {TEXEL_UINT, 16, 1, true}},
	{CU_AD_FORMAT_UNORM_INT16X2, {TEXEL_UINT, 16, 2, true}},
	{CU_AD_FORMAT_UNORM_INT16X4, {TEXEL_UINT, 16, 4, true}},
	{CU_AD_FORMAT_SNORM_INT8X1, {TEXEL_SINT, 8, 1, true}},
	{CU_AD_FORMAT_SNORM_INT8X2, {TEXEL_SINT, 8, 2, true}},
	{CU_AD_FORMAT_SNORM_INT8X4, {TEXEL_SINT, 8, 4, true}},
	{CU_AD_FORMAT_SNORM_INT16X1, {TEXEL_SINT, 16, 1, true}},
	{CU_AD_FORMAT_SNORM_INT16X2, {TEXEL_SINT, 16, 2, true}},
	{CU_AD_FORMAT_SNORM_INT16X4, {TEXEL_SINT, 16, 4, true}},
};

/* Compressed formats, video formats and packed ones have these numbers. */
static bool array_is_foreign_format(CUarray_format format)
{
	return format == 0x50 || ((int)format >= 0x91 && (int)format <= 0xb5);
}

CUresult array_format(const char *call, CUarray_format format, unsigned channels,
	struct texel_format *out)
{
	size_t i = 0;
	while (i < countof(formats) && formats[i].format != format) {
		i++;
	}
	if (i == countof(formats)) {
		return array_is_foreign_format(format) ? api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: format 0x%x: the CPU device has no compressed or video formats", call,
			(unsigned)format) : api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: unknown format 0x%x", call, (unsigned)format);
	}
	*out = formats[i].is;
	if ((channels != 1 && channels != 2 && channels != 4)
	    || (out->channels != 0 && out->channels != channels)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %u channels for format 0x%x", call,
			channels, (unsigned)format);
	}
	out->channels = (uint8_t)channels;
	return CUDA_SUCCESS;
}

/* --- Extents --- */

/* The largest width, height and depth of a kind of array, as attributes; 0: extent 0. */
struct limits {
	CUdevice_attribute axes[3];
};

#define L(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_##name
enum { KINDS = 7 };

static const struct limits texture_limits[KINDS] = {
	[GEOMETRY_1D] = {{L(TEXTURE1D_WIDTH)}},
	[GEOMETRY_2D] = {{L(TEXTURE2D_WIDTH), L(TEXTURE2D_HEIGHT)}},
	[GEOMETRY_3D] = {{L(TEXTURE3D_WIDTH), L(TEXTURE3D_HEIGHT), L(TEXTURE3D_DEPTH)}},
	[GEOMETRY_1D_LAYERED] = {{L(TEXTURE1D_LAYERED_WIDTH), 0, L(TEXTURE1D_LAYERED_LAYERS)}},
	[GEOMETRY_2D_LAYERED] = {{L(TEXTURE2D_LAYERED_WIDTH), L(TEXTURE2D_LAYERED_HEIGHT),
		L(TEXTURE2D_LAYERED_LAYERS)}},
	[GEOMETRY_CUBE] = {{L(TEXTURECUBEMAP_WIDTH), L(TEXTURECUBEMAP_WIDTH),
		L(TEXTURE2D_LAYERED_LAYERS)}},
	[GEOMETRY_CUBE_LAYERED] = {{L(TEXTURECUBEMAP_LAYERED_WIDTH),
		L(TEXTURECUBEMAP_LAYERED_WIDTH), L(TEXTURECUBEMAP_LAYERED_LAYERS)}},
};
static const struct limits deep_limits = {{L(TEXTURE3D_WIDTH_ALTERNATE),
	L(TEXTURE3D_HEIGHT_ALTERNATE), L(TEXTURE3D_DEPTH_ALTERNATE)}};
static const struct limits gather_limits = {{L(TEXTURE2D_GATHER_WIDTH),
	L(TEXTURE2D_GATHER_HEIGHT)}};
static const struct limits mipmap_1d_limits = {{L(TEXTURE1D_MIPMAPPED_WIDTH)}};
static const struct limits mipmap_2d_limits = {{L(TEXTURE2D_MIPMAPPED_WIDTH),
	L(TEXTURE2D_MIPMAPPED_HEIGHT)}};
static const struct limits surface_limits[KINDS] = {
	[GEOMETRY_1D] = {{L(SURFACE1D_WIDTH)}},
	[GEOMETRY_2D] = {{L(SURFACE2D_WIDTH), L(SURFACE2D_HEIGHT)}},
	[GEOMETRY_3D] = {{L(SURFACE3D_WIDTH), L(SURFACE3D_HEIGHT), L(SURFACE3D_DEPTH)}},
	[GEOMETRY_1D_LAYERED] = {{L(SURFACE1D_LAYERED_WIDTH), 0, L(SURFACE1D_LAYERED_LAYERS)}},
	[GEOMETRY_2D_LAYERED] = {{L(SURFACE2D_LAYERED_WIDTH), L(SURFACE2D_LAYERED_HEIGHT),
		L(SURFACE2D_LAYERED_LAYERS)}},
	[GEOMETRY_CUBE] = {{L(SURFACECUBEMAP_WIDTH), L(SURFACECUBEMAP_WIDTH),
		L(SURFACE2D_LAYERED_LAYERS)}},
	[GEOMETRY_CUBE_LAYERED] = {{L(SURFACECUBEMAP_LAYERED_WIDTH),
		L(SURFACECUBEMAP_LAYERED_WIDTH), L(SURFACECUBEMAP_LAYERED_LAYERS)}},
};
#undef L

static enum geometry array_geometry_of(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	bool is_layered = (d->Flags & CUDA_ARRAY3D_LAYERED) != 0;
	if (d->Flags & CUDA_ARRAY3D_CUBEMAP) {
		return is_layered ? GEOMETRY_CUBE_LAYERED : GEOMETRY_CUBE;
	}
	if (is_layered) {
		return d->Height == 0 ? GEOMETRY_1D_LAYERED : GEOMETRY_2D_LAYERED;
	}
	return d->Depth != 0 ? GEOMETRY_3D : d->Height != 0 ? GEOMETRY_2D : GEOMETRY_1D;
}

static bool array_is_within(const CUDA_ARRAY3D_DESCRIPTOR *d, const struct limits *limits)
{
	const size_t extents[] = {d->Width, d->Height, d->Depth};
	for (size_t i = 0; i < countof(extents); i++) {
		size_t most = limits->axes[i] != 0 ? (size_t)device_attribute(limits->axes[i]) : 0;
		if (extents[i] > most || (extents[i] == 0) != (most == 0)) {
			return false;
		}
	}
	return true;
}

static bool array_fits(const CUDA_ARRAY3D_DESCRIPTOR *d, bool is_mipmap)
{
	enum geometry kind = array_geometry_of(d);
	const struct limits *limits = &texture_limits[kind];
	if (is_mipmap && kind == GEOMETRY_1D) {
		limits = &mipmap_1d_limits;
	} else if (is_mipmap && kind == GEOMETRY_2D) {
		limits = &mipmap_2d_limits;
	}
	return (array_is_within(d, limits)
			|| (kind == GEOMETRY_3D && array_is_within(d, &deep_limits)))
		&& (!(d->Flags & CUDA_ARRAY3D_SURFACE_LDST)
			|| array_is_within(d, &surface_limits[kind]))
		&& (!(d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER)
			|| array_is_within(d, &gather_limits));
}

static CUresult array_check_descriptor(const char *call, const CUDA_ARRAY3D_DESCRIPTOR *d,
	bool is_mipmap, struct texel_format *format)
{
	CUresult result = array_format(call, d->Format, d->NumChannels, format);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (d->Flags & ~(known_flags | refused_flags)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", call, d->Flags);
	}
	if (d->Flags & refused_flags) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: the CPU device has no sparse, "
			"deferred, depth or video arrays (flags 0x%x)", call, d->Flags);
	}
	bool is_cube = (d->Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
	if (is_cube && (d->Width != d->Height || d->Depth % 6 != 0
			|| (d->Depth != 6 && !(d->Flags & CUDA_ARRAY3D_LAYERED)))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a cubemap of %zu by %zu with %zu "
			"faces", call, d->Width, d->Height, d->Depth);
	}
	return array_fits(d, is_mipmap) ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: %zu by %zu by %zu elements, flags 0x%x: beyond what the device has", call,
		d->Width, d->Height, d->Depth, d->Flags);
}

static size_t array_at_least_1(size_t extent)
{
	return extent > 0 ? extent : 1;
}

/* Lay out an image and return its size in bytes.  The limits of extents rule out an overflow. */
static size_t array_plan_image(struct image *image, const CUDA_ARRAY3D_DESCRIPTOR *d,
	const struct texel_format *format)
{
	*image = (struct image){.width = (uint32_t)d->Width,
		.height = (uint32_t)array_at_least_1(d->Height),
		.slices = (uint32_t)array_at_least_1(d->Depth)};
	image->pitch = round_up(d->Width * texel_size(format), ROW_ALIGN);
	image->slice_size = image->pitch * image->height;
	return round_up(image->slice_size * image->slices, LEVEL_ALIGN);
}

static CUresult array_reserve(const char *call, struct context *context, size_t size, uint64_t *out)
{
	const struct memory_range wish = {.size = size, .kind = MEMORY_ARRAY, .owner = context,
		.device = context->device->ordinal};
	*out = memory_alloc(context->device->memory, &wish);
	return *out != 0 ? CUDA_SUCCESS : api_fail(CUDA_ERROR_OUT_OF_MEMORY,
		"%s: no room for %zu bytes", call, size);
}

/* --- Arrays --- */

static void array_free(struct object *object)
{
	struct array *array = (struct array *)object;
	memory_free(object->context->device->memory, array->memory, MEMORY_ARRAY);
	object_remove(object);
	mem_free(array);
}

static CUresult create_array(const char *call, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct context *context;
	struct texel_format format;
	CUresult result = api_need(api_enter(call, &context), call, out);
	if (result == CUDA_SUCCESS && !d) {
		return api_null(call, "the descriptor");
	}
	if (result == CUDA_SUCCESS) {
		*out = NULL;
		result = array_check_descriptor(call, d, false, &format);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct array *array = mem_zalloc(1, sizeof(*array));
	if (!array) {
		return api_no_memory(call);
	}
	array->descriptor = *d;
	array->format = format;
	result = array_reserve(call, context, array_plan_image(&array->image, d, &format),
		&array->memory);
	if (result != CUDA_SUCCESS) {
		mem_free(array);
		return result;
	}
	array->image.data = (uint8_t *)(uintptr_t)array->memory;
	if (!object_add(&array->object, context, API_ARRAY, array_free)) {
		memory_free(context->device->memory, array->memory, MEMORY_ARRAY);
		mem_free(array);
		return api_no_memory(call);
	}
	*out = array->object.handle;
	return CUDA_SUCCESS;
}

API(cuArray3DCreate_v2, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	return create_array(__func__, out, descriptor);
}

API(cuArrayCreate_v2, CUarray *out, const CUDA_ARRAY_DESCRIPTOR *descriptor)
{
	if (!descriptor) {
		return create_array(__func__, out, NULL);
	}
	const CUDA_ARRAY3D_DESCRIPTOR d = {.Width = descriptor->Width,
		.Height = descriptor->Height, .Format = descriptor->Format,
		.NumChannels = descriptor->NumChannels};
	return create_array(__func__, out, &d);
}

static CUresult array_find(const char *call, CUarray handle, struct array **out)
{
	*out = handle_get(handle, API_ARRAY);
	return *out ? CUDA_SUCCESS : api_bad_handle(call, "array");
}

static CUresult enter_array(const char *call, CUarray handle, const void *out,
	struct array **array)
{
	struct context *context;
	CUresult result = api_need(api_enter(call, &context), call, out);
	return result != CUDA_SUCCESS ? result : array_find(call, handle, array);
}

API(cuArray3DGetDescriptor_v2, CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle)
{
	struct array *array;
	CUresult result = enter_array(__func__, handle, out, &array);
	if (result == CUDA_SUCCESS) {
		*out = array->descriptor;
	}
	return result;
}

API(cuArrayGetDescriptor_v2, CUDA_ARRAY_DESCRIPTOR *out, CUarray handle)
{
	struct array *array;
	CUresult result = enter_array(__func__, handle, out, &array);
	if (result == CUDA_SUCCESS) {
		const CUDA_ARRAY3D_DESCRIPTOR *d = &array->descriptor;
		*out = (CUDA_ARRAY_DESCRIPTOR){d->Width, d->Height, d->Format, d->NumChannels};
	}
	return result;
}

API(cuArrayDestroy, CUarray handle)
{
	bool is_level;
	struct context *context;
	CUresult result = api_enter_release(__func__, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct object *object = object_claim(handle, API_ARRAY, &is_level);
	if (!object) {
		return is_level ? api_fail(CUDA_ERROR_INVALID_HANDLE,
			"%s: the array is a level of a mipmapped array", __func__)
			: api_bad_handle(__func__, "array");
	}
	result = context_wait(object->context);
	array_free(object);
	return result;
}

API(cuArrayGetPlane, CUarray *out, CUarray handle, unsigned int plane)
{
	struct array *array;
	CUresult result = enter_array(__func__, handle, out, &array);
	return result != CUDA_SUCCESS ? result : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: there is no plane %u: the format of the array has no planes", __func__, plane);
}

API(cuArrayGetMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray handle,
	CUdevice device)
{
	struct array *array;
	CUresult result = enter_array(__func__, handle, out, &array);
	if (result == CUDA_SUCCESS) {
		result = api_check_device(__func__, device);
	}
	return result != CUDA_SUCCESS ? result : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: the array has its memory; its mapping was not deferred", __func__);
}

API(cuArrayGetSparseProperties, CUDA_ARRAY_SPARSE_PROPERTIES *out, CUarray handle)
{
	struct array *array;
	CUresult result = enter_array(__func__, handle, out, &array);
	return result != CUDA_SUCCESS ? result : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: the array is not sparse", __func__);
}

/* --- Mipmapped arrays --- */

static size_t array_halve(size_t extent, uint32_t level)
{
	return extent > 0 ? array_at_least_1(extent >> level) : 0;
}

static void array_plan_level(struct mipmap *mipmap, uint32_t level, size_t *offset)
{
	struct array *array = &mipmap->levels[level];
	CUDA_ARRAY3D_DESCRIPTOR *d = &array->descriptor;
	*d = mipmap->descriptor;
	d->Width = array_halve(d->Width, level);
	d->Height = array_halve(d->Height, level);
	if (array_geometry_of(&mipmap->descriptor) == GEOMETRY_3D) {
		d->Depth = array_halve(d->Depth, level);
	}
	array->format = mipmap->format;
	array->object.is_part = true;
	size_t size = array_plan_image(&array->image, d, &array->format);
	array->image.data = (uint8_t *)(uintptr_t)*offset;
	*offset += size;
}

/* The documented range: 1 to 1 + floor(log2 of the largest extent). */
static uint32_t array_clamp_levels(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned wanted)
{
	size_t largest = d->Width > d->Height ? d->Width : d->Height;
	if (array_geometry_of(d) == GEOMETRY_3D && d->Depth > largest) {
		largest = d->Depth;
	}
	uint32_t most = 1;
	while (largest >>= 1) {
		most++;
	}
	return wanted < 1 ? 1 : wanted > most ? most : wanted;
}

static void array_remove_levels(struct mipmap *mipmap)
{
	for (uint32_t i = 0; i < mipmap->level_count; i++) {
		if (mipmap->levels[i].object.handle) {
			object_remove(&mipmap->levels[i].object);
		}
	}
}

static void array_empty_mipmap(struct mipmap *mipmap, struct context *context)
{
	array_remove_levels(mipmap);
	memory_free(context->device->memory, mipmap->memory, MEMORY_ARRAY);
}

static void array_mipmap_free(struct object *object)
{
	array_empty_mipmap((struct mipmap *)object, object->context);
	object_remove(object);
	mem_free(object);
}

static CUresult array_fill_mipmap(const char *call, struct context *context, struct mipmap *mipmap)
{
	size_t size = 0;
	for (uint32_t i = 0; i < mipmap->level_count; i++) {
		array_plan_level(mipmap, i, &size);
	}
	CUresult result = array_reserve(call, context, size, &mipmap->memory);
	for (uint32_t i = 0; i < mipmap->level_count && result == CUDA_SUCCESS; i++) {
		struct array *level = &mipmap->levels[i];
		level->image.data = (uint8_t *)(uintptr_t)mipmap->memory
			+ (uintptr_t)level->image.data;
		if (!object_add(&level->object, context, API_ARRAY, array_free)) {
			result = api_no_memory(call);
		}
	}
	if (result == CUDA_SUCCESS
	    && !object_add(&mipmap->object, context, API_MIPMAP, array_mipmap_free)) {
		result = api_no_memory(call);
	}
	return result;
}

API(cuMipmappedArrayCreate, CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d,
	unsigned int levels)
{
	struct context *context;
	struct texel_format format;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS && !d) {
		return api_null(__func__, "the descriptor");
	}
	if (result == CUDA_SUCCESS) {
		*out = NULL;
		result = array_check_descriptor(__func__, d, true, &format);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct mipmap *mipmap = mem_zalloc(1, sizeof(*mipmap));
	if (!mipmap) {
		return api_no_memory(__func__);
	}
	mipmap->descriptor = *d;
	mipmap->format = format;
	mipmap->level_count = array_clamp_levels(d, levels);
	result = array_fill_mipmap(__func__, context, mipmap);
	if (result != CUDA_SUCCESS) {
		array_empty_mipmap(mipmap, context);
		mem_free(mipmap);
		return result;
	}
	*out = mipmap->object.handle;
	return CUDA_SUCCESS;
}

static CUresult array_find_mipmap(const char *call, CUmipmappedArray handle, struct mipmap **out)
{
	*out = handle_get(handle, API_MIPMAP);
	return *out ? CUDA_SUCCESS : api_bad_handle(call, "mipmapped array");
}

API(cuMipmappedArrayGetLevel, CUarray *out, CUmipmappedArray handle, unsigned int level)
{
	struct context *context;
	struct mipmap *mipmap;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = NULL;
		result = array_find_mipmap(__func__, handle, &mipmap);
	}
	if (result == CUDA_SUCCESS && level >= mipmap->level_count) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: level %u of %u", __func__, level,
			mipmap->level_count);
	}
	if (result == CUDA_SUCCESS) {
		*out = mipmap->levels[level].object.handle;
	}
	return result;
}

API(cuMipmappedArrayDestroy, CUmipmappedArray handle)
{
	struct context *context;
	CUresult result = api_enter_release(__func__, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct object *object = handle_claim(handle, API_MIPMAP);
	if (!object) {
		return api_bad_handle(__func__, "mipmapped array");
	}
	result = context_wait(object->context);
	array_mipmap_free(object);
	return result;
}

API(cuMipmappedArrayGetMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS *out,
	CUmipmappedArray handle, CUdevice device)
{
	struct context *context;
	struct mipmap *mipmap;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = array_find_mipmap(__func__, handle, &mipmap);
	}
	if (result == CUDA_SUCCESS) {
		result = api_check_device(__func__, device);
	}
	return result != CUDA_SUCCESS ? result : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: the array has its memory; its mapping was not deferred", __func__);
}

API(cuMipmappedArrayGetSparseProperties, CUDA_ARRAY_SPARSE_PROPERTIES *out,
	CUmipmappedArray handle)
{
	struct context *context;
	struct mipmap *mipmap;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = array_find_mipmap(__func__, handle, &mipmap);
	}
	return result != CUDA_SUCCESS ? result : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: the array is not sparse", __func__);
}

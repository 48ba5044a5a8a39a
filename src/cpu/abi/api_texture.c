/* SPDX-License-Identifier: MIT */
/*
 * Texture and surface objects.  Kernels pass their handles in registers.  An object copies the
 * addresses of its array, not the texels.  A kernel that reads a texture whose array has been
 * destroyed faults, as it would at any other freed address.
 */
#include "base/common.h"

#include "cpu/abi/api_array.h"

#include "base/alloc.h"
#include "cpu/config/settings.h"

#include <string.h>

/* NVIDIA's drivers ignore 4 and 8. */
static const unsigned known_flags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | 4 | 8
	| CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;

/* --- Resources --- */

static uint32_t texture_layers_of(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) ? (uint32_t)d->Depth : 0;
}

/* Check that [address, address + size) is device memory that can be a texture. */
static CUresult texture_check_memory(const char *call, const struct context *context,
	CUdeviceptr address, size_t size)
{
	char where[128];
	if (address % (unsigned)device_attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: address 0x%llx is not aligned as "
			"CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT says", call, address);
	}
	if (memory_holds(context->device->memory, address, size, false, NULL)) {
		return CUDA_SUCCESS;
	}
	memory_describe(context->device->memory, address, where, sizeof(where));
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at 0x%llx, which is %s", call,
		size, address, where);
}

static CUresult texture_use_linear(const char *call, const struct context *context,
	struct cu_texture *t)
{
	struct texture *texture = &t->texture;
	const __typeof__(t->resource.res.linear) *in = &t->resource.res.linear;
	CUresult result = array_format(call, in->format, in->numChannels, &texture->format);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	size_t most = (size_t)device_attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
	size_t width = in->sizeInBytes / texel_size(&texture->format);
	if (width == 0 || width > most) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu elements; 1 to %zu are possible",
			call, width, most);
	}
	texture->levels[0] = (struct image){.data = (uint8_t *)(uintptr_t)in->devPtr,
		.width = (uint32_t)width, .height = 1, .slices = 1};
	return texture_check_memory(call, context, in->devPtr, in->sizeInBytes);
}

static CUresult texture_use_pitch(const char *call, const struct context *context,
	struct cu_texture *t)
{
	struct texture *texture = &t->texture;
	const __typeof__(t->resource.res.pitch2D) *in = &t->resource.res.pitch2D;
	CUresult result = array_format(call, in->format, in->numChannels, &texture->format);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	size_t width = (size_t)device_attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH);
	size_t height =
		(size_t)device_attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT);
	size_t pitch = (size_t)device_attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH);
	size_t align = (size_t)device_attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
	if (in->width == 0 || in->width > width || in->height == 0 || in->height > height) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu by %zu elements; %zu by %zu are "
			"possible", call, in->width, in->height, width, height);
	}
	size_t row = in->width * texel_size(&texture->format);
	if (in->pitchInBytes % align != 0 || in->pitchInBytes < row || in->pitchInBytes > pitch) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a pitch of %zu bytes for rows of "
			"%zu; it must be a multiple of %zu and at most %zu", call, in->pitchInBytes,
			row, align, pitch);
	}
	texture->levels[0] = (struct image){.data = (uint8_t *)(uintptr_t)in->devPtr,
		.width = (uint32_t)in->width, .height = (uint32_t)in->height, .slices = 1,
		.pitch = in->pitchInBytes};
	return texture_check_memory(call, context, in->devPtr, in->pitchInBytes * (in->height - 1)
		+ row);
}

/* Get the images of an array or a mipmapped array, and the descriptor that it was made with. */
static CUresult texture_use_arrays(const char *call, struct cu_texture *t,
	const CUDA_ARRAY3D_DESCRIPTOR **descriptor)
{
	const struct array *array = NULL;
	const struct mipmap *mipmap = NULL;
	if (t->resource.resType == CU_RESOURCE_TYPE_ARRAY) {
		array = handle_get(t->resource.res.array.hArray, API_ARRAY);
	} else {
		mipmap = handle_get(t->resource.res.mipmap.hMipmappedArray, API_MIPMAP);
		array = mipmap ? mipmap->levels : NULL;
	}
	if (!array) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not the handle of a live array",
			call);
	}
	t->texture.level_count = mipmap ? mipmap->level_count : 1;
	for (uint32_t i = 0; i < t->texture.level_count; i++) {
		t->texture.levels[i] = array[i].image;
	}
	t->texture.format = array->format;
	t->texture.layers = texture_layers_of(&array->descriptor);
	*descriptor = &array->descriptor;
	return CUDA_SUCCESS;
}

/* --- Views --- */

static CUresult texture_read_view(const char *call, CUresourceViewFormat format,
	struct texel_format *out)
{
	static const struct texel_format kinds[] = {{TEXEL_UINT, 8, 0, false},
		{TEXEL_SINT, 8, 0, false}, {TEXEL_UINT, 16, 0, false}, {TEXEL_SINT, 16, 0, false},
		{TEXEL_UINT, 32, 0, false}, {TEXEL_SINT, 32, 0, false}, {TEXEL_FLOAT, 16, 0, false},
		{TEXEL_FLOAT, 32, 0, false}};
	if (format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1
	    && format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: the CPU device has no block-compressed textures", call);
	}
	// Channels 1, 2 and 4 of each kind follow each other.  GPUs refuse a view without a format,
	// too.
	size_t index = (size_t)format - 1;
	if (index >= 3 * countof(kinds)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown view format %d", call,
			(int)format);
	}
	struct texel_format view = kinds[index / 3];
	view.channels = (uint8_t)(1u << index % 3);
	if (texel_size(&view) != texel_size(out)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the view has %u bytes per element, "
			"the array %u", call, texel_size(&view), texel_size(out));
	}
	*out = view;
	return CUDA_SUCCESS;
}

static CUresult texture_apply_view(const char *call, struct cu_texture *t,
	const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	const CUDA_RESOURCE_VIEW_DESC *v = &t->view;
	struct texture *texture = &t->texture;
	if (v->width != d->Width || v->height != d->Height || v->depth != d->Depth) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a view of %zu by %zu by %zu of an "
			"array of %zu by %zu by %zu", call, v->width, v->height, v->depth, d->Width,
			d->Height, d->Depth);
	}
	if (v->firstMipmapLevel > v->lastMipmapLevel || v->lastMipmapLevel >= texture->level_count
	    || v->firstLayer > v->lastLayer
	    || v->lastLayer >= (texture->layers > 0 ? texture->layers : 1)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a view of levels %u to %u and "
			"layers %u to %u of %u and %u", call, v->firstMipmapLevel,
			v->lastMipmapLevel, v->firstLayer, v->lastLayer, texture->level_count,
			texture->layers);
	}
	texture->level_count = v->lastMipmapLevel - v->firstMipmapLevel + 1;
	memmove(texture->levels, texture->levels + v->firstMipmapLevel,
		texture->level_count * sizeof(texture->levels[0]));
	for (uint32_t i = 0; i < texture->level_count && texture->layers > 0; i++) {
		struct image *level = &texture->levels[i];
		level->data += v->firstLayer * level->slice_size;
		level->slices = v->lastLayer - v->firstLayer + 1;
	}
	texture->layers = texture->layers > 0 ? v->lastLayer - v->firstLayer + 1 : 0;
	return texture_read_view(call, v->format, &texture->format);
}

/* --- Samplers --- */

/* The modes of axes that the resource does not have do not matter. */
static CUresult texture_check_sampling(const char *call, const CUDA_TEXTURE_DESC *d, unsigned axes)
{
	for (size_t i = 0; i < axes && i < countof(d->addressMode); i++) {
		if ((unsigned)d->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER) {
			return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown address mode %d",
				call, (int)d->addressMode[i]);
		}
	}
	if ((unsigned)d->filterMode > CU_TR_FILTER_MODE_LINEAR
	    || (unsigned)d->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown filter mode", call);
	}
	return (d->flags & ~known_flags) == 0 ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", call, d->flags);
}

static CUresult texture_make_sampler(const char *call, struct cu_texture *t, bool is_cube)
{
	const CUDA_TEXTURE_DESC *d = &t->sampling;
	struct sampler *s = &t->texture.sampler;
	const struct texel_format *format = &t->texture.format;
	s->is_linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR;
	s->is_normalized = (d->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
	s->reads_integers = (d->flags & CU_TRSF_READ_AS_INTEGER) != 0;
	s->is_srgb = (d->flags & CU_TRSF_SRGB) != 0 && format->bits == 8;
	s->is_seamless = (d->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
	s->is_mip_linear = d->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
	s->has_steep_levels = d->maxAnisotropy > 1
		&& !(d->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
	s->bias = d->mipmapLevelBias;
	s->min_level = d->minMipmapLevelClamp;
	s->max_level = d->maxMipmapLevelClamp;
	memcpy(s->border, d->borderColor, sizeof(s->border));
	for (size_t i = 0; i < countof(s->address); i++) {
		s->address[i] = (enum address_mode)d->addressMode[i];
	}
	if (t->resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && !s->is_normalized) {
		// NVIDIA's drivers take it.  Coordinates are normalized all the same, but never
		// repeat.
		s->is_normalized = true;
		for (size_t i = 0; i < countof(s->address); i++) {
			s->address[i] = s->address[i] == ADDRESS_BORDER ? ADDRESS_BORDER
				: ADDRESS_CLAMP;
		}
	}
	if (t->resource.resType == CU_RESOURCE_TYPE_LINEAR) {
		*s = (struct sampler){.reads_integers = s->reads_integers, .is_srgb = s->is_srgb,
			.address = {ADDRESS_BORDER, ADDRESS_BORDER, ADDRESS_BORDER}};
	}
	return !s->is_seamless || is_cube ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: CU_TRSF_SEAMLESS_CUBEMAP for an array that is not a cubemap", call);
}

/* --- Texture objects --- */

/* How many coordinates a read takes, without layers and faces. */
static unsigned texture_axes(const struct cu_texture *t, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	if (!d) {
		return t->resource.resType == CU_RESOURCE_TYPE_LINEAR ? 1 : 2;
	}
	return d->Height == 0 ? 1 : d->Depth == 0 || texture_layers_of(d) > 0 ? 2 : 3;
}

static CUresult make_texture(const char *call, const struct context *context,
	struct cu_texture *t)
{
	const CUDA_ARRAY3D_DESCRIPTOR *descriptor = NULL;
	CUresult result;
	t->texture.level_count = 1;
	switch (t->resource.resType) {
	case CU_RESOURCE_TYPE_LINEAR:
		result = texture_use_linear(call, context, t);
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		result = texture_use_pitch(call, context, t);
		break;
	case CU_RESOURCE_TYPE_ARRAY:
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		result = texture_use_arrays(call, t, &descriptor);
		break;
	default:
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown resource type %d", call,
			(int)t->resource.resType);
	}
	if (result == CUDA_SUCCESS && t->has_view) {
		result = descriptor ? texture_apply_view(call, t, descriptor)
			: api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: expected an array for the view of a resource", call);
	}
	bool is_cube = descriptor && (descriptor->Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
	if (result == CUDA_SUCCESS) {
		result = texture_check_sampling(call, &t->sampling, texture_axes(t, descriptor));
	}
	return result == CUDA_SUCCESS ? texture_make_sampler(call, t, is_cube) : result;
}

static void texture_free(struct object *object)
{
	object_remove(object);
	mem_free(object);
}

static CUresult add_texture(const char *call, struct context *context, CUtexObject *out,
	const struct cu_texture *model)
{
	struct cu_texture *t = mem_zalloc(1, sizeof(*t));
	if (!t) {
		return api_no_memory(call);
	}
	*t = *model;
	if (!object_add(&t->object, context, API_TEXTURE, texture_free)) {
		mem_free(t);
		return api_no_memory(call);
	}
	*out = (uintptr_t)t->object.handle;
	return CUDA_SUCCESS;
}

API(cuTexObjectCreate, CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
	const CUDA_TEXTURE_DESC *sampling, const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS && (!resource || !sampling)) {
		return api_null(__func__, "a descriptor");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = 0;
	struct cu_texture t = {.resource = *resource, .sampling = *sampling,
		.has_view = view};
	if (view) {
		t.view = *view;
	}
	if (resource->flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: resource flags 0x%x, must be 0",
			__func__, resource->flags);
	}
	result = make_texture(__func__, context, &t);
	return result == CUDA_SUCCESS ? add_texture(__func__, context, out, &t) : result;
}

/* The documented error for a handle that no live object has. */
static CUresult texture_bad_object(const char *call, uint64_t handle, enum api_kind kind)
{
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: 0x%llx is not a live %s object", call,
		(unsigned long long)handle, kind == API_TEXTURE ? "texture" : "surface");
}

static CUresult texture_enter_object(const char *call, uint64_t handle, enum api_kind kind,
	const void *out, void *object)
{
	struct context *context;
	CUresult result = api_need(api_enter(call, &context), call, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	void *found = handle_get((const void *)(uintptr_t)handle, kind);
	memcpy(object, &found, sizeof(found));
	return found ? CUDA_SUCCESS : texture_bad_object(call, handle, kind);
}

const struct texture *texture_find(uint64_t handle)
{
	const struct cu_texture *t = handle_get((const void *)(uintptr_t)handle, API_TEXTURE);
	return t ? &t->texture : NULL;
}

const struct surface *surface_find(uint64_t handle)
{
	const struct surface_object *s = handle_get((const void *)(uintptr_t)handle, API_SURFACE);
	return s ? &s->surface : NULL;
}

static CUresult texture_destroy(const char *call, uint64_t handle, enum api_kind kind)
{
	struct context *context;
	CUresult result = api_enter_release(call, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct object *object = handle_claim((const void *)(uintptr_t)handle, kind);
	if (!object) {
		return texture_bad_object(call, handle, kind);
	}
	// A kernel may be using it.
	result = context_wait(object->context);
	texture_free(object);
	return result;
}

API(cuTexObjectDestroy, CUtexObject handle)
{
	return texture_destroy(__func__, handle, API_TEXTURE);
}

API(cuTexObjectGetResourceDesc, CUDA_RESOURCE_DESC *out, CUtexObject handle)
{
	struct cu_texture *t;
	CUresult result = texture_enter_object(__func__, handle, API_TEXTURE, out, &t);
	if (result == CUDA_SUCCESS) {
		*out = t->resource;
	}
	return result;
}

API(cuTexObjectGetTextureDesc, CUDA_TEXTURE_DESC *out, CUtexObject handle)
{
	struct cu_texture *t;
	CUresult result = texture_enter_object(__func__, handle, API_TEXTURE, out, &t);
	if (result == CUDA_SUCCESS) {
		*out = t->sampling;
	}
	return result;
}

API(cuTexObjectGetResourceViewDesc, CUDA_RESOURCE_VIEW_DESC *out, CUtexObject handle)
{
	struct cu_texture *t;
	CUresult result = texture_enter_object(__func__, handle, API_TEXTURE, out, &t);
	if (result == CUDA_SUCCESS) {
		*out = t->view; // all 0 if it has none
	}
	return result;
}

/* --- Surface objects --- */

static CUresult texture_make_surface(const char *call, const CUDA_RESOURCE_DESC *resource,
	struct surface_object *s)
{
	if (resource->resType != CU_RESOURCE_TYPE_ARRAY || resource->flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: resource type %d with flags 0x%x; a "
			"surface needs an array and no flags", call, (int)resource->resType,
			resource->flags);
	}
	const struct array *array = handle_get(resource->res.array.hArray, API_ARRAY);
	if (!array || !(array->descriptor.Flags & CUDA_ARRAY3D_SURFACE_LDST)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %s", call, !array
			? "not the handle of a live array"
			: "the array was created without CUDA_ARRAY3D_SURFACE_LDST");
	}
	s->surface = (struct surface){array->format, array->image,
		texture_layers_of(&array->descriptor)};
	s->resource = *resource;
	return CUDA_SUCCESS;
}

API(cuSurfObjectCreate, CUsurfObject *out, const CUDA_RESOURCE_DESC *resource)
{
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS && !resource) {
		return api_null(__func__, "the descriptor");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = 0;
	struct surface_object *s = mem_zalloc(1, sizeof(*s));
	if (!s) {
		return api_no_memory(__func__);
	}
	result = texture_make_surface(__func__, resource, s);
	if (result == CUDA_SUCCESS && !object_add(&s->object, context, API_SURFACE, texture_free)) {
		result = api_no_memory(__func__);
	}
	if (result != CUDA_SUCCESS) {
		mem_free(s);
		return result;
	}
	*out = (uintptr_t)s->object.handle;
	return CUDA_SUCCESS;
}

API(cuSurfObjectDestroy, CUsurfObject handle)
{
	return texture_destroy(__func__, handle, API_SURFACE);
}

API(cuSurfObjectGetResourceDesc, CUDA_RESOURCE_DESC *out, CUsurfObject handle)
{
	struct surface_object *s;
	CUresult result = texture_enter_object(__func__, handle, API_SURFACE, out, &s);
	if (result == CUDA_SUCCESS) {
		*out = s->resource;
	}
	return result;
}

API(cuDeviceGetTexture1DLinearMaxWidth, size_t *out, CUarray_format format, unsigned channels,
	CUdevice device)
{
	struct texel_format ignored;
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = array_format(__func__, format, channels, &ignored);
	}
	if (result == CUDA_SUCCESS) {
		*out = (size_t)device_attribute(
			CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
	}
	return result;
}

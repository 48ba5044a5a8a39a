/* SPDX-License-Identifier: MIT */
#ifndef CPU_ABI_API_ARRAY_H
#define CPU_ABI_API_ARRAY_H

/* CUDA arrays, and texture and surface objects, for the functions that copy, read or write them. */
#include "cpu/abi/api.h"
#include "cpu/object/cu_array.h"

struct mipmap {
	struct object object;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	struct texel_format format;
	uint64_t memory;
	uint32_t level_count;
	struct array levels[TEXTURE_MAX_LEVELS];
};

/* Translate a format to a format of the device.  Fails if the device has no such format. */
CUresult array_format(const char *call, CUarray_format format, unsigned channels,
	struct texel_format *out);

/* Texture and surface objects: the images, and the descriptions that they were made from. */
struct cu_texture {
	struct object object;
	struct texture texture;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC sampling;
	CUDA_RESOURCE_VIEW_DESC view;
	bool has_view;
};

struct surface_object {
	struct object object;
	struct surface surface;
	CUDA_RESOURCE_DESC resource;
};

/* Compiled code calls these through struct rt_host.  NULL: not the handle of a live object. */
const struct texture *texture_find(uint64_t handle);
const struct surface *surface_find(uint64_t handle);

#endif

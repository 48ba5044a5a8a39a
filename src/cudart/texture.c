/* SPDX-License-Identifier: MIT */
/* Texture and surface objects: the descriptions that the runtime has are made into the driver's. */
#include "base/common.h"

#include "cudart/array.h"

#include <string.h>

static cudaError_t texture_resource(CUDA_RESOURCE_DESC *out, const struct cudaResourceDesc *desc)
{
	memset(out, 0, sizeof(*out));
	out->resType = (CUresourcetype)desc->resType;
	switch (desc->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		out->res.array.hArray = desc->res.array.array;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		out->res.mipmap.hMipmappedArray = desc->res.mipmap.mipmap;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_LINEAR:
		out->res.linear.devPtr = (CUdeviceptr)(uintptr_t)desc->res.linear.devPtr;
		out->res.linear.sizeInBytes = desc->res.linear.sizeInBytes;
		return array_format(&out->res.linear.format, &out->res.linear.numChannels,
			&desc->res.linear.desc);
	case CU_RESOURCE_TYPE_PITCH2D:
		out->res.pitch2D.devPtr = (CUdeviceptr)(uintptr_t)desc->res.pitch2D.devPtr;
		out->res.pitch2D.width = desc->res.pitch2D.width;
		out->res.pitch2D.height = desc->res.pitch2D.height;
		out->res.pitch2D.pitchInBytes = desc->res.pitch2D.pitchInBytes;
		return array_format(&out->res.pitch2D.format, &out->res.pitch2D.numChannels,
			&desc->res.pitch2D.desc);
	default:
		return cudaErrorInvalidValue;
	}
}

static void texture_give_resource(struct cudaResourceDesc *out, const CUDA_RESOURCE_DESC *is)
{
	memset(out, 0, sizeof(*out));
	out->resType = (int)is->resType;
	switch (is->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		out->res.array.array = is->res.array.hArray;
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		out->res.mipmap.mipmap = is->res.mipmap.hMipmappedArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		out->res.linear.devPtr = (void *)(uintptr_t)is->res.linear.devPtr;
		out->res.linear.desc = array_describe(is->res.linear.format,
			is->res.linear.numChannels);
		out->res.linear.sizeInBytes = is->res.linear.sizeInBytes;
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		out->res.pitch2D.devPtr = (void *)(uintptr_t)is->res.pitch2D.devPtr;
		out->res.pitch2D.desc = array_describe(is->res.pitch2D.format,
			is->res.pitch2D.numChannels);
		out->res.pitch2D.width = is->res.pitch2D.width;
		out->res.pitch2D.height = is->res.pitch2D.height;
		out->res.pitch2D.pitchInBytes = is->res.pitch2D.pitchInBytes;
		break;
	}
}

static void texture_sampling(CUDA_TEXTURE_DESC *out, const struct cudaTextureDesc *desc)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < countof(out->addressMode); i++) {
		out->addressMode[i] = (CUaddress_mode)desc->addressMode[i];
	}
	out->filterMode = (CUfilter_mode)desc->filterMode;
	out->flags = (desc->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u)
		| (desc->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0u)
		| (desc->sRGB ? CU_TRSF_SRGB : 0u)
		| (desc->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0u)
		| (desc->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0u);
	out->maxAnisotropy = desc->maxAnisotropy;
	out->mipmapFilterMode = (CUfilter_mode)desc->mipmapFilterMode;
	out->mipmapLevelBias = desc->mipmapLevelBias;
	out->minMipmapLevelClamp = desc->minMipmapLevelClamp;
	out->maxMipmapLevelClamp = desc->maxMipmapLevelClamp;
	memcpy(out->borderColor, desc->borderColor, sizeof(out->borderColor));
}

static void texture_give_sampling(struct cudaTextureDesc *out, const CUDA_TEXTURE_DESC *is)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < countof(out->addressMode); i++) {
		out->addressMode[i] = (int)is->addressMode[i];
	}
	out->filterMode = (int)is->filterMode;
	out->readMode = is->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
		: cudaReadModeNormalizedFloat;
	out->normalizedCoords = (is->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
	out->sRGB = (is->flags & CU_TRSF_SRGB) != 0;
	out->disableTrilinearOptimization =
		(is->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
	out->seamlessCubemap = (is->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
	out->maxAnisotropy = is->maxAnisotropy;
	out->mipmapFilterMode = (int)is->mipmapFilterMode;
	out->mipmapLevelBias = is->mipmapLevelBias;
	out->minMipmapLevelClamp = is->minMipmapLevelClamp;
	out->maxMipmapLevelClamp = is->maxMipmapLevelClamp;
	memcpy(out->borderColor, is->borderColor, sizeof(out->borderColor));
}

static void texture_view(CUDA_RESOURCE_VIEW_DESC *out, const struct cudaResourceViewDesc *desc)
{
	*out = (CUDA_RESOURCE_VIEW_DESC){
		.format = (CUresourceViewFormat)desc->format,
		.width = desc->width,
		.height = desc->height,
		.depth = desc->depth,
		.firstMipmapLevel = desc->firstMipmapLevel,
		.lastMipmapLevel = desc->lastMipmapLevel,
		.firstLayer = desc->firstLayer,
		.lastLayer = desc->lastLayer,
	};
}

static void texture_give_view(struct cudaResourceViewDesc *out, const CUDA_RESOURCE_VIEW_DESC *is)
{
	*out = (struct cudaResourceViewDesc){
		.format = (int)is->format,
		.width = is->width,
		.height = is->height,
		.depth = is->depth,
		.firstMipmapLevel = is->firstMipmapLevel,
		.lastMipmapLevel = is->lastMipmapLevel,
		.firstLayer = is->firstLayer,
		.lastLayer = is->lastLayer,
	};
}

API(cudaCreateTextureObject, CUtexObject *out, const struct cudaResourceDesc *resource,
	const struct cudaTextureDesc *sampling, const struct cudaResourceViewDesc *view)
{
	CUDA_RESOURCE_DESC from;
	CUDA_TEXTURE_DESC how;
	CUDA_RESOURCE_VIEW_DESC seen;
	cudaError_t code = !out || !resource || !sampling ? cudaErrorInvalidValue : state_enter();
	code = code ? code : texture_resource(&from, resource);
	if (!code) {
		texture_sampling(&how, sampling);
		if (view) {
			texture_view(&seen, view);
		}
		code = driver_error(driver.cuTexObjectCreate(out, &from, &how,
			view ? &seen : NULL));
	}
	return state_leave(code);
}

API(cudaCreateSurfaceObject, CUsurfObject *out, const struct cudaResourceDesc *resource)
{
	CUDA_RESOURCE_DESC from;
	cudaError_t code = !out || !resource ? cudaErrorInvalidValue : state_enter();
	code = code ? code : texture_resource(&from, resource);
	return state_leave(code ? code : driver_error(driver.cuSurfObjectCreate(out, &from)));
}

/* The description that an object was made from, converted from the driver's to the runtime's. */
#define TEXTURE_GET(name, type, driver_type, cu, give)                                             \
	API(name, struct type *out, unsigned long long object)                                     \
	{                                                                                          \
		driver_type is;                                                                    \
		cudaError_t code = !out ? cudaErrorInvalidValue : state_enter();                   \
		code = code ? code : driver_error(driver.cu(&is, object));                         \
		if (!code) {                                                                       \
			give(out, &is);                                                            \
		}                                                                                  \
		return state_leave(code);                                                          \
	}

TEXTURE_GET(cudaGetTextureObjectResourceDesc, cudaResourceDesc, CUDA_RESOURCE_DESC,
	cuTexObjectGetResourceDesc, texture_give_resource)
TEXTURE_GET(cudaGetTextureObjectTextureDesc, cudaTextureDesc, CUDA_TEXTURE_DESC,
	cuTexObjectGetTextureDesc, texture_give_sampling)
TEXTURE_GET(cudaGetTextureObjectResourceViewDesc, cudaResourceViewDesc, CUDA_RESOURCE_VIEW_DESC,
	cuTexObjectGetResourceViewDesc, texture_give_view)
TEXTURE_GET(cudaGetSurfaceObjectResourceDesc, cudaResourceDesc, CUDA_RESOURCE_DESC,
	cuSurfObjectGetResourceDesc, texture_give_resource)

/* SPDX-License-Identifier: MIT */
/* The stub's CUDA arrays, textures and surfaces: handles that are counted, without texels. */
#include "base/common.h"

#include "stub.h"

#include <string.h>

static CUresult texture_create(void *out, enum drv_symbol symbol)
{
	CUresult code = stub_enter_context(symbol);
	void *handle = code ? NULL : stub_create(STUB_TEXTURE, 1);
	memcpy(out, &handle, sizeof(handle));
	return code || handle ? code : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult texture_destroy(void *handle, enum drv_symbol symbol)
{
	CUresult code = stub_enter_context(symbol);
	return code ? code : stub_release(STUB_TEXTURE, handle);
}

CUresult do_Array3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	(void)descriptor;
	return texture_create(array, DRV_cuArray3DCreate);
}

CUresult do_ArrayDestroy(CUarray array)
{
	return texture_destroy(array, DRV_cuArrayDestroy);
}

CUresult do_MipmappedArrayCreate(
	CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int levels)
{
	(void)descriptor, (void)levels;
	return texture_create(array, DRV_cuMipmappedArrayCreate);
}

CUresult do_MipmappedArrayDestroy(CUmipmappedArray array)
{
	return texture_destroy(array, DRV_cuMipmappedArrayDestroy);
}

CUresult do_TexObjectCreate(CUtexObject *texture, const CUDA_RESOURCE_DESC *resource,
	const CUDA_TEXTURE_DESC *sampling, const CUDA_RESOURCE_VIEW_DESC *view)
{
	(void)resource, (void)sampling, (void)view;
	return texture_create(texture, DRV_cuTexObjectCreate);
}

CUresult do_TexObjectDestroy(CUtexObject texture)
{
	return texture_destroy((void *)(uintptr_t)texture, DRV_cuTexObjectDestroy);
}

CUresult do_SurfObjectCreate(CUsurfObject *surface, const CUDA_RESOURCE_DESC *resource)
{
	(void)resource;
	return texture_create(surface, DRV_cuSurfObjectCreate);
}

CUresult do_SurfObjectDestroy(CUsurfObject surface)
{
	return texture_destroy((void *)(uintptr_t)surface, DRV_cuSurfObjectDestroy);
}

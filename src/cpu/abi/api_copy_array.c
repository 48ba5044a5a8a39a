/* SPDX-License-Identifier: MIT */
/*
 * Copies to and from CUDA arrays that have functions of their own, and the functions of CUDA 2 and
 * 3.  All of them fill in the description of a present function and call it.
 */
#include "base/common.h"

#include "cpu/abi/api_array.h"

API(cuMemcpy3D_v2, const CUDA_MEMCPY3D *description);
API(cuMemcpy3DAsync_v2, const CUDA_MEMCPY3D *description, CUstream stream);

/* Functions that take an offset and a size in bytes are for arrays of one row. */
static CUresult copy_check_row(const char *call, CUarray handle)
{
	struct context *context;
	CUresult result = api_enter(call, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const struct array *array = handle_get(handle, API_ARRAY);
	if (!array) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not the handle of a live array",
			call);
	}
	return array->image.height == 1 && array->image.slices == 1 ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: an array of %u by %u rows; this call is "
			"for one-dimensional arrays", call, array->image.slices,
			array->image.height);
}

static void copy_set_size(CUDA_MEMCPY3D *copy, size_t size)
{
	copy->WidthInBytes = size;
	copy->Height = 1;
	copy->Depth = 1;
}

static CUresult from_array(const char *call, CUDA_MEMCPY3D *copy, CUarray array, size_t offset)
{
	copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
	copy->srcArray = array;
	copy->srcXInBytes = offset;
	return copy_check_row(call, array);
}

static CUresult to_array(const char *call, CUDA_MEMCPY3D *copy, CUarray array, size_t offset)
{
	copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
	copy->dstArray = array;
	copy->dstXInBytes = offset;
	return copy_check_row(call, array);
}

API(cuMemcpyAtoH_v2, void *to, CUarray from, size_t offset, size_t size)
{
	CUDA_MEMCPY3D copy = {.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = to};
	copy_set_size(&copy, size);
	CUresult result = from_array(__func__, &copy, from, offset);
	return result == CUDA_SUCCESS ? cuMemcpy3D_v2(&copy) : result;
}
API_PER_THREAD(cuMemcpyAtoH_v2_ptds, cuMemcpyAtoH_v2,
	(void *to, CUarray from, size_t offset, size_t size), (to, from, offset, size));

API(cuMemcpyAtoHAsync_v2, void *to, CUarray from, size_t offset, size_t size, CUstream stream)
{
	CUDA_MEMCPY3D copy = {.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = to};
	copy_set_size(&copy, size);
	CUresult result = from_array(__func__, &copy, from, offset);
	return result == CUDA_SUCCESS ? cuMemcpy3DAsync_v2(&copy, stream) : result;
}
API_PER_THREAD(cuMemcpyAtoHAsync_v2_ptsz, cuMemcpyAtoHAsync_v2,
	(void *to, CUarray from, size_t offset, size_t size, CUstream stream),
	(to, from, offset, size, stream));

API(cuMemcpyHtoA_v2, CUarray to, size_t offset, const void *from, size_t size)
{
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = from};
	copy_set_size(&copy, size);
	CUresult result = to_array(__func__, &copy, to, offset);
	return result == CUDA_SUCCESS ? cuMemcpy3D_v2(&copy) : result;
}
API_PER_THREAD(cuMemcpyHtoA_v2_ptds, cuMemcpyHtoA_v2,
	(CUarray to, size_t offset, const void *from, size_t size), (to, offset, from, size));

API(cuMemcpyHtoAAsync_v2, CUarray to, size_t offset, const void *from, size_t size,
	CUstream stream)
{
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = from};
	copy_set_size(&copy, size);
	CUresult result = to_array(__func__, &copy, to, offset);
	return result == CUDA_SUCCESS ? cuMemcpy3DAsync_v2(&copy, stream) : result;
}
API_PER_THREAD(cuMemcpyHtoAAsync_v2_ptsz, cuMemcpyHtoAAsync_v2,
	(CUarray to, size_t offset, const void *from, size_t size, CUstream stream),
	(to, offset, from, size, stream));

API(cuMemcpyAtoD_v2, CUdeviceptr to, CUarray from, size_t offset, size_t size)
{
	CUDA_MEMCPY3D copy = {.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = to};
	copy_set_size(&copy, size);
	CUresult result = from_array(__func__, &copy, from, offset);
	return result == CUDA_SUCCESS ? cuMemcpy3D_v2(&copy) : result;
}
API_PER_THREAD(cuMemcpyAtoD_v2_ptds, cuMemcpyAtoD_v2,
	(CUdeviceptr to, CUarray from, size_t offset, size_t size), (to, from, offset, size));

API(cuMemcpyDtoA_v2, CUarray to, size_t offset, CUdeviceptr from, size_t size)
{
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from};
	copy_set_size(&copy, size);
	CUresult result = to_array(__func__, &copy, to, offset);
	return result == CUDA_SUCCESS ? cuMemcpy3D_v2(&copy) : result;
}
API_PER_THREAD(cuMemcpyDtoA_v2_ptds, cuMemcpyDtoA_v2,
	(CUarray to, size_t offset, CUdeviceptr from, size_t size), (to, offset, from, size));

API(cuMemcpyAtoA_v2, CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t size)
{
	CUDA_MEMCPY3D copy = {.srcXInBytes = 0};
	copy_set_size(&copy, size);
	CUresult result = from_array(__func__, &copy, from, from_offset);
	if (result == CUDA_SUCCESS) {
		result = to_array(__func__, &copy, to, to_offset);
	}
	return result == CUDA_SUCCESS ? cuMemcpy3D_v2(&copy) : result;
}
API_PER_THREAD(cuMemcpyAtoA_v2_ptds, cuMemcpyAtoA_v2,
	(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t size),
	(to, to_offset, from, from_offset, size));

/* --- Descriptors of CUDA 2 and 3, whose sizes have 32 bits --- */

struct old_descriptor {
	unsigned width;
	unsigned height;
	CUarray_format format;
	unsigned channels;
};

struct old_descriptor_3d {
	unsigned width;
	unsigned height;
	unsigned depth;
	CUarray_format format;
	unsigned channels;
	unsigned flags;
};

API(cuArray3DCreate_v2, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
API(cuArray3DGetDescriptor_v2, CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle);

API(cuArray3DCreate, CUarray *out, const struct old_descriptor_3d *d)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS || !d) {
		return result != CUDA_SUCCESS ? result : api_null(__func__, "the descriptor");
	}
	const CUDA_ARRAY3D_DESCRIPTOR now = {d->width, d->height, d->depth, d->format, d->channels,
		d->flags};
	return cuArray3DCreate_v2(out, &now);
}

API(cuArrayCreate, CUarray *out, const struct old_descriptor *d)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS || !d) {
		return result != CUDA_SUCCESS ? result : api_null(__func__, "the descriptor");
	}
	const CUDA_ARRAY3D_DESCRIPTOR now = {.Width = d->width, .Height = d->height,
		.Format = d->format, .NumChannels = d->channels};
	return cuArray3DCreate_v2(out, &now);
}

API(cuArray3DGetDescriptor, struct old_descriptor_3d *out, CUarray handle)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult result = api_need(cuArray3DGetDescriptor_v2(&d, handle), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = (struct old_descriptor_3d){(unsigned)d.Width, (unsigned)d.Height,
			(unsigned)d.Depth, d.Format, d.NumChannels, d.Flags};
	}
	return result;
}

API(cuArrayGetDescriptor, struct old_descriptor *out, CUarray handle)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult result = api_need(cuArray3DGetDescriptor_v2(&d, handle), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = (struct old_descriptor){(unsigned)d.Width, (unsigned)d.Height, d.Format,
			d.NumChannels};
	}
	return result;
}

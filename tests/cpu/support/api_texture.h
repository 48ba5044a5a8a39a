/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_TEXTURE_H
#define TESTS_API_TEXTURE_H

/* Arrays, textures and surfaces through the CPU driver's exported functions, for the tests. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *descriptor);
CUresult cuArrayCreate(CUarray *out, const void *descriptor);
CUresult cuArrayGetDescriptor(void *out, CUarray handle);
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle);
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out, CUarray handle);
CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray handle,
	CUdevice device);
CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *out, CUarray handle);
CUresult cuArrayGetPlane(CUarray *out, CUarray handle, unsigned int plane);
CUresult cuArrayDestroy(CUarray handle);
CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d,
	unsigned int levels);
CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray handle, unsigned int level);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle);
CUresult cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t size);
CUresult cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t size, CUstream stream);
CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t size);
CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t size,
	CUstream stream);
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t size);
CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t size);
CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset,
	size_t size);
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy);
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy);
CUresult cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
	const CUDA_TEXTURE_DESC *sampling, const CUDA_RESOURCE_VIEW_DESC *view);
CUresult cuTexObjectDestroy(CUtexObject handle);
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject handle);
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, CUtexObject handle);
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out, CUtexObject handle);
CUresult cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *resource);
CUresult cuSurfObjectDestroy(CUsurfObject handle);
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject handle);
CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *out, CUarray_format format,
	unsigned channels, CUdevice device);
CUresult cuTexRefCreate(void **out);

static inline CUarray array_create(size_t width, size_t height, size_t depth,
	CUarray_format format, unsigned channels, unsigned flags)
{
	const CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, format, channels, flags};
	CUarray array = NULL;
	OK(cuArray3DCreate_v2(&array, &d));
	return array;
}

/* Fill an array, all of it, from rows without gaps. */
static inline void array_fill(CUarray array, const void *data, size_t texel)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	OK(cuArray3DGetDescriptor_v2(&d, array));
	const CUDA_MEMCPY3D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = data, .srcPitch = d.Width * texel,
		.srcHeight = d.Height ? d.Height : 1, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = array, .WidthInBytes = d.Width * texel,
		.Height = d.Height ? d.Height : 1, .Depth = d.Depth ? d.Depth : 1
	};
	OK(cuMemcpy3D_v2(&copy));
}

static inline void array_read(CUarray array, void *data, size_t texel)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	OK(cuArray3DGetDescriptor_v2(&d, array));
	const CUDA_MEMCPY3D copy = {
		.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = data, .dstPitch = d.Width * texel,
		.dstHeight = d.Height ? d.Height : 1, .srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcArray = array, .WidthInBytes = d.Width * texel,
		.Height = d.Height ? d.Height : 1, .Depth = d.Depth ? d.Depth : 1
	};
	OK(cuMemcpy3D_v2(&copy));
}

static inline CUDA_RESOURCE_DESC of_array(CUarray array)
{
	return (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY,
		.res.array.hArray = array};
}

static inline CUtexObject texture_of(CUarray array, CUaddress_mode address, CUfilter_mode filter,
	unsigned flags)
{
	const CUDA_RESOURCE_DESC resource = of_array(array);
	const CUDA_TEXTURE_DESC sampling = {.addressMode = {address, address, address},
		.filterMode = filter, .flags = flags, .borderColor = {9, 8, 7, 6}};
	CUtexObject texture = 0;
	OK(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
	return texture;
}

static inline CUsurfObject surface_of(CUarray array)
{
	const CUDA_RESOURCE_DESC resource = of_array(array);
	CUsurfObject surface = 0;
	OK(cuSurfObjectCreate(&surface, &resource));
	return surface;
}

/* What a thread gives to an instruction, as %f1... or %r1..., and gets back in %r11 to %r14. */
struct lane_in {
	union {
		float f[8];
		int32_t i[8];
	};
};

struct lane_out {
	union {
		float f[4];
		int32_t i[4];
		uint32_t u[4];
	};
};

/* A kernel that runs one instruction on the object in %rd1. */
static inline CUfunction instruction_kernel(const char *instruction)
{
	char text[4096];
	CUmodule module = NULL;
	int len = snprintf(text, sizeof(text), ".version 8.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k(.param .u64 t, .param .u64 in, .param .u64 out)\n{\n"
		".reg .pred %%p<5>; .reg .b16 %%h<5>; .reg .b32 %%r<20>; .reg .f32 %%f<9>;\n"
		".reg .b64 %%rd<9>;\n"
		"ld.param.u64 %%rd1, [t];\nld.param.u64 %%rd2, [in];\nld.param.u64 %%rd3, [out];\n"
		"mov.u32 %%r0, %%tid.x;\nmul.wide.u32 %%rd4, %%r0, 32;\n"
		"add.u64 %%rd2, %%rd2, %%rd4;\n"
		"mul.wide.u32 %%rd4, %%r0, 16;\nadd.u64 %%rd3, %%rd3, %%rd4;\n"
		"mov.u32 %%r11, 0;\nmov.u32 %%r12, 0;\nmov.u32 %%r13, 0;\nmov.u32 %%r14, 0;\n");
	for (int i = 0; i < 8; i++) {
		len += snprintf(text + len, sizeof(text) - (size_t)len,
			"ld.global.u32 %%r%d, [%%rd2+%d];\nmov.b32 %%f%d, %%r%d;\n", i + 1, i * 4,
			i + 1, i + 1);
	}
	snprintf(text + len, sizeof(text) - (size_t)len,
		"%s\nst.global.v4.u32 [%%rd3], {%%r11, %%r12, %%r13, %%r14};\nret;\n}\n",
		instruction);
	OK(cuModuleLoadData(&module, text));
	return kernel(module, "k");
}

/* Run it in `count` threads of one block. */
static inline CUresult run_instruction(CUfunction function, uint64_t object,
	const struct lane_in *in, struct lane_out *out, unsigned count)
{
	CUdeviceptr from = alloc(count * sizeof(*in));
	CUdeviceptr to = alloc(count * sizeof(*out));
	void *values[] = {&object, &from, &to};
	OK(cuMemcpyHtoD_v2(from, in, count * sizeof(*in)));
	CUresult result = cuLaunchKernel(function, 1, 1, 1, count, 1, 1, 0, NULL, values, NULL);
	if (result == CUDA_SUCCESS) {
		result = cuMemcpyDtoH_v2(out, to, count * sizeof(*out));
	}
	if (result == CUDA_SUCCESS) {
		OK(cuMemFree_v2(from));
		OK(cuMemFree_v2(to));
	}
	return result;
}

/* Tests of instructions run for both widths: loop from 0 to 2. */
static inline void use_width(int index)
{
	setenv("KUDZU_CPU_WIDTH", index == 0 ? "1" : "32", 1);
}

#endif

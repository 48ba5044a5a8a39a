/* SPDX-License-Identifier: MIT */
#ifndef DROPIN_DRIVER_H
#define DROPIN_DRIVER_H

/* cuda.h, or on a machine without CUDA what Kudzu knows of it, under the names that programs
 * use. */
#if __has_include(<cuda.h>)
#include <cuda.h>
#else
#include "base/cuda_abi.h"
#define X(name, symbol, since, need, parameters) CUresult symbol parameters;
#include "lib/cuda/cuda.def"
#undef X
CUresult cuCtxCreate_v4(CUcontext *out, void *parameters, unsigned int flags, CUdevice device);
#define cuCtxCreate cuCtxCreate_v4
CUresult cuCtxDestroy_v2(CUcontext context);
#define cuCtxDestroy cuCtxDestroy_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuEventElapsedTime cuEventElapsedTime_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuLinkAddData cuLinkAddData_v2
#define cuLinkCreate cuLinkCreate_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuModuleGetGlobal cuModuleGetGlobal_v2
#define cuStreamDestroy cuStreamDestroy_v2
#endif

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every call succeeds, or the program ends with the call and the code. */
static inline void check_at(CUresult result, const char *call, int line)
{
	if (result != CUDA_SUCCESS) {
		const char *name = "?";
		cuGetErrorName(result, &name);
		fprintf(stderr, "line %d: %s: %s\n", line, call, name);
		exit(1);
	}
}

/* CUDA 13 has one parameter more. */
static inline CUresult create_context(CUcontext *context, unsigned flags, CUdevice device)
{
#if CUDA_VERSION >= 13000
	return cuCtxCreate(context, NULL, flags, device);
#else
	return cuCtxCreate(context, flags, device);
#endif
}

#define check(call) check_at(call, #call, __LINE__)

/* A file's bytes with a zero after them. */
static inline char *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
		perror(path);
		exit(1);
	}
	long size = ftell(file);
	char *data = calloc(1, (size_t)size + 1);
	rewind(file);
	if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(file);
	return data;
}

#endif

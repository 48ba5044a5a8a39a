/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CUDART_PROGRAM_H
#define TESTS_CUDART_PROGRAM_H

/*
 * A program of the CUDA runtime as nvcc would make it, but by hand: a fat binary with PTX, host
 * functions that stand for kernels, and the calls that register them.  So no test here needs nvcc,
 * and each runs with both runtimes, KZ_CUDART 12 and 13.
 */
#include "cudart/api.h"

#include <check.h>
#include <stdint.h>

enum { PROGRAM_MAX = 16 << 10 };

struct program {
	struct {
		int magic;
		int version;
		const void *data;
		const void *const *parts;
	} wrapper;
	_Alignas(8) char image[PROGRAM_MAX]; /* the fat binary */
	size_t size;
	void **handle;
};

/* Its kernels, by the functions that stand for them:
 *	add(const float *a, const float *b, float *sum, int n): sum = scale * (a + b)
 *	wait(unsigned *flag): until *flag is not 0
 *	wild(void): writes to where nothing is
 *	count(void): counter and shared_value grow by 1 */
void program_add(void);
void program_wait(void);
void program_wild(void);
void program_count(void);
/* ... and its variables. */
extern float program_scale;
extern unsigned program_counter;
extern unsigned *program_shared; /* a managed one */

/* Put an entry into the fat binary: kind 1 is PTX, 2 a cubin. */
void program_put(struct program *program, int kind, int arch, const void *data, size_t size);
/* Make it with the PTX of all this, and register the binary, not what it has. */
void program_open(struct program *program);
void program_register(struct program *program); /* ... and what it has */
void program_start(struct program *program);    /* both */

#define program_ok(call) \
	do { \
		const cudaError_t program_code = (call); \
		ck_assert_msg(program_code == cudaSuccess, "%s: %s", #call, \
			cudaGetErrorName(program_code)); \
	} while (0)
#define program_fails(call, code) ck_assert_str_eq(cudaGetErrorName(call), #code)

/* As cuda_runtime_api.h and crt/host_runtime.h declare them. */
void **__cudaRegisterFatBinary(void *data);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
	int thread_limit, void *thread, void *block, void *block_size, void *grid_size,
	int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern,
	size_t size, int is_constant, int is_global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
	int is_extern, size_t size, int is_constant, int is_global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(CUkernel *out, const void *symbol);
cudaError_t __cudaLaunchKernel(CUkernel kernel, dim3 grid, dim3 block, void **values, size_t shared,
	cudaStream_t stream);
cudaError_t cudaLaunchKernel(const void *symbol, dim3 grid, dim3 block, void **values,
	size_t shared, cudaStream_t stream);
cudaError_t cudaLaunchKernel_ptsz(const void *symbol, dim3 grid, dim3 block, void **values,
	size_t shared, cudaStream_t stream);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *symbol,
	void **values);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *symbol);
cudaError_t cudaFuncSetAttribute(const void *symbol, int attribute, int value);
cudaError_t cudaFuncGetName(const char **out, const void *symbol);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *out, const void *symbol,
	int block_size, size_t shared);
cudaError_t cudaGetKernel(CUkernel *out, const void *symbol);
cudaError_t cudaGetFuncBySymbol(CUfunction *out, const void *symbol);
const char *cudaGetErrorName(cudaError_t code);
const char *cudaGetErrorString(cudaError_t code);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaGetDeviceFlags(unsigned *flags);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device);
cudaError_t cudaDeviceGetLimit(size_t *value, int limit);
cudaError_t cudaDeviceSetLimit(int limit, size_t value);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaDriverGetVersion(int *version);
#if KZ_CUDART == 12
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *out, int device);
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#else
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device);
#endif
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted);
cudaError_t cudaMalloc(void **out, size_t size);
cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMallocManaged(void **out, size_t size, unsigned flags);
cudaError_t cudaMallocHost(void **out, size_t size);
cudaError_t cudaFree(void *memory);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *memory);
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, int kind);
cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t size, int kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, cudaStream_t stream);
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
	int kind);
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset,
	int kind);
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size,
	size_t offset, int kind, cudaStream_t stream);
cudaError_t cudaGetSymbolAddress(void **out, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *out, const void *symbol);
cudaError_t cudaMemset(void *memory, int value, size_t size);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream);
cudaError_t cudaStreamCreate(cudaStream_t *out);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
	unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaEventCreate(cudaEvent_t *out);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **out, unsigned long long flags,
	int *status);

#endif

// SPDX-License-Identifier: MIT
// A library with a kernel, a managed variable, and a static object that frees memory of the device.
#include <cuda_runtime.h>

static __managed__ int total = 100;

template <typename T> __global__ void raise_total(T by)
{
	atomicAdd(&total, by);
}

struct Memory {
	void *data = nullptr;
	~Memory()
	{
		cudaFree(data);
	}
};
static Memory memory;

// What the total is; -1: a call has failed.
extern "C" int plugin_raise(int by)
{
	if (!memory.data && cudaMalloc(&memory.data, 100) != cudaSuccess) {
		return -1;
	}
	raise_total<<<1, 1>>>(by);
	return cudaDeviceSynchronize() == cudaSuccess ? total : -1;
}

// SPDX-License-Identifier: MIT
// With nvcc -rdc=true: it calls a function of linked_part.cu on the device.
#include <cstdio>

extern __device__ int twice(int x);
extern __constant__ int base;

__global__ void fill(int *out)
{
	out[threadIdx.x] = twice(threadIdx.x) + base;
}

int main()
{
	int *out, host[32];
	cudaMalloc(&out, sizeof(host));
	fill<<<1, 32>>>(out);
	cudaError_t code = cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
	bool ok = code == cudaSuccess && host[5] == 13;
	puts(ok ? "PASSED" : cudaGetErrorName(code));
	return !ok;
}

// SPDX-License-Identifier: MIT
// A program as others write it: kernels, a constant, a counter, a managed variable, an error.
#include <cstdio>
#include <cuda_runtime.h>

__constant__ float factor;
__device__ int counter;
__managed__ int shared_value = 5;

__global__ void scale(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		out[i] = factor * in[i];
		atomicAdd(&counter, 1);
	}
	if (i == 0) {
		shared_value++;
	}
}

static void check(cudaError_t code, int line)
{
	if (code != cudaSuccess) {
		printf("line %d: %s: %s\n", line, cudaGetErrorName(code), cudaGetErrorString(code));
		exit(1);
	}
}
#define CHECK(call) check(call, __LINE__)

int main()
{
	const int n = 1000;
	float host[n], two = 2, *in, *out;
	int count, blocks;
	for (int i = 0; i < n; i++) {
		host[i] = i;
	}
	CHECK(cudaMalloc(&in, sizeof(host)));
	CHECK(cudaMalloc(&out, sizeof(host)));
	CHECK(cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpyToSymbol(factor, &two, sizeof(two)));
	scale<<<4, 256>>>(in, out, n);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof(count)));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
	bool ok = count == n && shared_value == 6 && blocks > 0;
	for (int i = 0; i < n; i++) {
		ok = ok && host[i] == 2 * i;
	}
	scale<<<4, 4096>>>(in, out, n);
	ok = ok && cudaGetLastError() == cudaErrorInvalidConfiguration;
	puts(ok ? "PASSED" : "FAILED");
	return !ok;
}

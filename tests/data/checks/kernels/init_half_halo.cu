// SPDX-License-Identifier: MIT
// run: --grid 2 --block 64 f16[128]=1 f16[128] i32:128 i32:3
#include <cuda_fp16.h>
#define BLOCK 64
#define RMAX 4

/* A moving average of 2 radius + 1 elements of type half. */
__global__ void average(const __half *in, __half *out, int n, int radius)
{
	__shared__ __half line[BLOCK + 2 * RMAX];
	int i = blockIdx.x * BLOCK + threadIdx.x;
	int at = threadIdx.x + RMAX;
	line[at] = i < n ? in[i] : __float2half(0.0f);
	if ((int)threadIdx.x < radius) {
		int left = i - radius, right = i + BLOCK;
#ifdef FIXED
		line[at - radius] = left >= 0 ? in[left] : __float2half(0.0f);
		line[at + BLOCK] = right < n ? in[right] : __float2half(0.0f);
#else
		if (left >= 0) {
			line[at - radius] = in[left];
		}
		if (right < n) {
			line[at + BLOCK] = in[right];
		}
#endif
	}
	__syncthreads();
	float sum = 0.0f;
	for (int d = -radius; d <= radius; d++) {
		sum += __half2float(line[at + d]); // BUG
	}
	if (i < n) {
		out[i] = __float2half(sum / (float)(2 * radius + 1));
	}
}

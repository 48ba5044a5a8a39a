// SPDX-License-Identifier: MIT
// run: --grid 1 --block 96 f32[9]=0,0.125,0.5,0.99,0.75,1,0.3,0.25,0.01 u32[16] i32:9 i32:16 f32:0 f32:1
/* Counts how many values fall into each of 'bins' equal parts of [low, high]. */
__device__ int bin_of(float v, float low, float high, int bins)
{
	int b = (int)((v - low) / (high - low) * (float)bins);
#ifdef FIXED
	return b >= bins ? bins - 1 : b; /* high itself belongs to the last bin */
#else
	return b;
#endif
}

__global__ void histogram(const float *values, unsigned *counts, int n, int bins, float low, float high)
{
	int stride = gridDim.x * blockDim.x;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
		float v = values[i];
		if (v >= low && v <= high) {
			atomicAdd(&counts[bin_of(v, low, high, bins)], 1u); // BUG
		}
	}
}

// SPDX-License-Identifier: MIT
// run: --grid 2 --block 96 f64[192]=arange f64[2]
#define FULL 0xffffffffu

__device__ double warp_sum(double v)
{
	for (int d = 16; d > 0; d >>= 1) {
		v += __shfl_down_sync(FULL, v, d);
	}
	return v;
}

__device__ double block_sum(double v)
{
	__shared__ double sums[32];
	int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
	v = warp_sum(v);
	if (lane == 0) {
		sums[warp] = v;
	}
	__syncthreads();
	if (warp == 0) {
#ifdef FIXED
		v = lane < blockDim.x / 32 ? sums[lane] : 0.0;
#else
		v = sums[lane]; // BUG
#endif
		v = warp_sum(v);
	}
	return v;
}

__global__ void mean(const double *x, double *out)
{
	double s = block_sum(x[blockIdx.x * blockDim.x + threadIdx.x]);
	if (threadIdx.x == 0) {
		out[blockIdx.x] = s / blockDim.x;
	}
}

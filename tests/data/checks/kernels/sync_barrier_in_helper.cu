// SPDX-License-Identifier: MIT
// run: --grid 2 --block 16,8 f32[256]=random f32[16]
/* Row sums of a tile. The barrier is three calls deep, under a condition on the thread. */
__device__ __forceinline__ void settle()
{
	__syncthreads(); // BUG
}

__device__ __forceinline__ void store_row(float *sums, float v)
{
	sums[threadIdx.y] = v;
	settle();
}

__device__ __forceinline__ void reduce_row(const float *row, float *sums)
{
	float v = 0.0f;
	for (int j = 0; j < 16; j++) {
		v += row[j];
	}
	store_row(sums, v);
}

__global__ void row_sums(const float *in, float *out)
{
	__shared__ float tile[8][17];
	__shared__ float sums[8];
	int tx = threadIdx.x, ty = threadIdx.y;
	tile[ty][tx] = in[(blockIdx.x * 8 + ty) * 16 + tx];
	__syncthreads();
#ifdef FIXED
	if (tx == 0) {
		float v = 0.0f;
		for (int j = 0; j < 16; j++) {
			v += tile[ty][j];
		}
		sums[ty] = v;
	}
	__syncthreads();
#else
	if (tx == 0) {
		reduce_row(tile[ty], sums);
	}
#endif
	if (ty == 0 && tx < 8) {
		out[blockIdx.x * 8 + tx] = sums[tx];
	}
}

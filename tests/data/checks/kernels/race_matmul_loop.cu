// SPDX-License-Identifier: MIT
// run: --grid 2,2 --block 16,16 f32[32x48]=random f32[48x32]=random f32[32x32] i32:48
#define T 16

/* C (32, 32) = A (32, k) x B (k, 32), k a multiple of the tile. */
__global__ void matmul(const float *a, const float *b, float *c, int k)
{
	__shared__ float ta[T][T], tb[T][T + 1];
	int tx = threadIdx.x, ty = threadIdx.y, n = gridDim.x * T;
	int col = blockIdx.x * T + tx, row = blockIdx.y * T + ty;
	float sum = 0.0f;
	for (int p = 0; p < k; p += T) {
		ta[ty][tx] = a[row * k + p + tx]; // BUG
		tb[ty][tx] = b[(p + ty) * n + col]; // BUG
		__syncthreads();
		for (int j = 0; j < T; j++) {
			sum += ta[ty][j] * tb[j][tx];
		}
#ifdef FIXED
		__syncthreads();
#endif
	}
	c[row * n + col] = sum;
}

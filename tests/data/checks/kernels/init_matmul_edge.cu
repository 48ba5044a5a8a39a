// SPDX-License-Identifier: MIT
// run: --grid 3,2 --block 16,16 f32[20x24]=random f32[24x40]=random f32[20x40] i32:20 i32:40 i32:24
#define T 16

/* C (m, n) = A (m, k) x B (k, n); no size has to be a multiple of the tile. */
__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
	__shared__ float ta[T][T], tb[T][T];
	int tx = threadIdx.x, ty = threadIdx.y;
	int col = blockIdx.x * T + tx, row = blockIdx.y * T + ty;
	float sum = 0.0f;
	for (int p = 0; p < k; p += T) {
		ta[ty][tx] = row < m && p + tx < k ? a[row * k + p + tx] : 0.0f;
#ifdef FIXED
		tb[ty][tx] = p + ty < k && col < n ? b[(p + ty) * n + col] : 0.0f;
#else
		if (p + ty < k && col < n) {
			tb[ty][tx] = b[(p + ty) * n + col];
		}
#endif
		__syncthreads();
		for (int j = 0; j < T; j++) {
			sum += ta[ty][j] * tb[j][tx]; // BUG
		}
		__syncthreads();
	}
	if (row < m && col < n) {
		c[row * n + col] = sum;
	}
}

// SPDX-License-Identifier: MIT
// run: --grid 1 --block 64 f16[16x64]=1 f16[64x32]=1 f32[16x32] i32:64
#include <mma.h>
using namespace nvcuda;

#define N 32

/* C (16, N) = A (16, k) x B (k, N), row-major.  Two warps share the tile of A; each has 16 columns
 * of B and C. */
__global__ void gemm_two_warps(const __half *a, const __half *b, float *c, int k)
{
	__shared__ __align__(32) __half tile[16 * 16];
	const int warp = threadIdx.x / 32;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
	wmma::fill_fragment(acc, 0.0f);
	for (int p = 0; p < k; p += 16) {
		for (int i = threadIdx.x; i < 256; i += blockDim.x) {
			tile[i] = a[i / 16 * k + p + i % 16]; // BUG
		}
		__syncthreads();
		wmma::load_matrix_sync(fa, tile, 16); // BUG
		wmma::load_matrix_sync(fb, b + p * N + warp * 16, N);
		wmma::mma_sync(acc, fa, fb, acc);
#ifdef FIXED
		__syncthreads();
#endif
	}
	wmma::store_matrix_sync(c + warp * 16, acc, N, wmma::mem_row_major);
}

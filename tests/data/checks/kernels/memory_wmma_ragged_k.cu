// SPDX-License-Identifier: MIT
// run: --grid 1 --block 32 f16[16x40]=1 f16[40x16]=1 f32[16x16] i32:40
#include <mma.h>
using namespace nvcuda;

/* C = A x B with A (16, k) and B (k, 16), both row-major, by one warp. */
__global__ void gemm16(const __half *a, const __half *b, float *c, int k)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
	wmma::fill_fragment(acc, 0.0f);
#ifdef FIXED
	int whole = k / 16 * 16;
#else
	int whole = k;
#endif
	for (int p = 0; p < whole; p += 16) {
		wmma::load_matrix_sync(fb, b + p * 16, 16); // BUG
		wmma::load_matrix_sync(fa, a + p, k);
		wmma::mma_sync(acc, fa, fb, acc);
	}
	wmma::store_matrix_sync(c, acc, 16, wmma::mem_row_major);
}

// SPDX-License-Identifier: MIT
// run: --grid 1 --block 32 f16[12x16]=1 f16[16x16]=1 f32[16x16] i32:12
#include <mma.h>
using namespace nvcuda;

/* C (16, 16) = A (rows, 16) x B (16, 16), where A has up to 16 rows. */
__global__ void gemm_rows(const __half *a, const __half *b, float *c, int rows)
{
	__shared__ __align__(32) __half tile[16 * 16];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
	for (int i = threadIdx.x; i < 256; i += 32) {
		if (i / 16 < rows) {
			tile[i] = a[i];
		}
#ifdef FIXED
		else {
			tile[i] = __float2half(0.0f);
		}
#endif
	}
	__syncwarp();
	wmma::fill_fragment(acc, 0.0f);
	wmma::load_matrix_sync(fa, tile, 16); // BUG
	wmma::load_matrix_sync(fb, b, 16);
	wmma::mma_sync(acc, fa, fb, acc);
	wmma::store_matrix_sync(c, acc, 16, wmma::mem_row_major);
}

// SPDX-License-Identifier: MIT
// run: --grid 2,2 --block 16,16 f32[32x32]=random f32[32x32] i32:32 i32:32
#define TILE 16

/* Averages the four neighbours. The tile has a halo of one element on each side. */
__global__ void blur4(const float *in, float *out, int width, int height)
{
#ifdef FIXED
	__shared__ float tile[TILE + 2][TILE + 2];
#else
	__shared__ float tile[TILE][TILE + 2];
#endif
	__shared__ int edge;
	int tx = threadIdx.x, ty = threadIdx.y;
	int x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
	if (tx == 0 && ty == 0) {
		edge = (blockIdx.x == 0 || blockIdx.y == 0);
	}
	tile[ty + 1][tx + 1] = in[y * width + x]; // BUG
	if (ty == 0) {
		tile[0][tx + 1] = y > 0 ? in[(y - 1) * width + x] : 0.0f;
	}
	if (ty == TILE - 1) {
		tile[TILE + 1][tx + 1] = y + 1 < height ? in[(y + 1) * width + x] : 0.0f;
	}
	if (tx == 0) {
		tile[ty + 1][0] = x > 0 ? in[y * width + x - 1] : 0.0f;
	}
	if (tx == TILE - 1) {
		tile[ty + 1][TILE + 1] = x + 1 < width ? in[y * width + x + 1] : 0.0f;
	}
	__syncthreads();
	float sum = tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 2];
	out[y * width + x] = sum / (edge ? 4.0f : 4.0001f);
}

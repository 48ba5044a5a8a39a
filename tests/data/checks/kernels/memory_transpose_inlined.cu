// SPDX-License-Identifier: MIT
// run: --grid 2,4 --block 32,8 f64[30x100]=arange f64[100x30] i32:30 i32:100
struct view {
	double *data;
	int rows, cols;
};

__device__ __forceinline__ int offset_of(const view &v, int r, int c)
{
	return r * v.cols + c;
}

__device__ __forceinline__ double &at(const view &v, int r, int c)
{
	return v.data[offset_of(v, r, c)];
}

__device__ __forceinline__ void put(const view &v, int r, int c, double x)
{
	at(v, r, c) = x; // BUG
}

/* Writes the transpose of a (rows, cols) matrix; a block does 32x32 elements in four steps. */
__global__ void transpose(double *in, double *out, int rows, int cols)
{
	__shared__ double tile[32][33];
	view a = {in, rows, cols}, b = {out, cols, rows};
	int c = blockIdx.y * 32 + threadIdx.x, r0 = blockIdx.x * 32;
	for (int j = threadIdx.y; j < 32; j += 8) {
		if (r0 + j < rows && c < cols) {
			tile[j][threadIdx.x] = at(a, r0 + j, c);
		}
	}
	__syncthreads();
	int r = blockIdx.x * 32 + threadIdx.x, c0 = blockIdx.y * 32;
	for (int j = threadIdx.y; j < 32; j += 8) {
#ifdef FIXED
		if (c0 + j < cols && r < rows) {
#else
		if (c0 + j < cols) {
#endif
			put(b, c0 + j, r, tile[threadIdx.x][j]);
		}
	}
}

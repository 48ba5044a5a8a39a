// SPDX-License-Identifier: MIT
// run: --grid 2 --block 8,8,4 f64[512]=random f64[512]
/* Divides each element by the largest of its block. */
__global__ void normalize(const double *x, double *y)
{
	__shared__ double m[256];
	__shared__ double scale;
	int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	int i = blockIdx.x * 256 + t;
	m[t] = x[i];
	__syncthreads();
	if (t == 0) {
		double top = m[0];
		for (int j = 1; j < 256; j++) {
			top = m[j] > top ? m[j] : top;
		}
		scale = 1.0 / top; // BUG
	}
#ifdef FIXED
	__syncthreads();
#endif
	y[i] = x[i] * scale; // BUG
}

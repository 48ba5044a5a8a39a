// SPDX-License-Identifier: MIT
// run: --grid 4 --block 64 f32[256]=random f32[256]
/* One step of heat flow. A block may read an element of its neighbour before or after that changed. */
__global__ void heat(float *u, float *next)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
	float left = i > 0 ? u[i - 1] : 0.0f; // BUG
	float right = i + 1 < n ? u[i + 1] : 0.0f; // BUG
	float here = u[i];
#ifdef FIXED
	next[i] = here + 0.25f * (left - 2.0f * here + right);
#else
	__syncthreads();
	u[i] = here + 0.25f * (left - 2.0f * here + right); // BUG
	next[i] = here;
#endif
}

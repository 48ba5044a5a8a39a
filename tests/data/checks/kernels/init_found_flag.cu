// SPDX-License-Identifier: MIT
// run: --grid 3 --block 32 i32[96]=arange i32[96]=-1 i32:40
/* In blocks that have the value 'wanted', all elements become their distance from it. */
__global__ void find(const int *in, int *out, int wanted)
{
	__shared__ int found;
	int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
	if (threadIdx.x == 0) {
		found = -1;
	}
	__syncthreads();
#endif
	if (in[i] == wanted) {
		found = i;
	}
	__syncthreads();
	if (found >= 0) { // BUG
		out[i] = i - found;
	}
}

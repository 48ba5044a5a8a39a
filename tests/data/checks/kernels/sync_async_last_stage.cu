// SPDX-License-Identifier: MIT
// run: --grid 2 --block 32 f32[512]=arange f32[64] i32:8
/* Sums rows of 32 elements with one asynchronous copy ahead. */
__device__ __forceinline__ void copy4(float *to, const float *from)
{
	unsigned a = (unsigned)__cvta_generic_to_shared(to);
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a), "l"(from) : "memory");
	asm volatile("cp.async.commit_group;" ::: "memory");
}

__global__ void column_sums(const float *in, float *out, int rows)
{
	__shared__ float stage[2][32];
	int t = threadIdx.x;
	const float *mine = in + blockIdx.x * rows * 32 + t;
	float sum = 0.0f;
	copy4(&stage[0][t], mine);
	for (int r = 0; r < rows; r++) {
		if (r + 1 < rows) {
			copy4(&stage[(r + 1) & 1][t], mine + (r + 1) * 32);
		}
#ifdef FIXED
		if (r + 1 == rows) {
			asm volatile("cp.async.wait_all;" ::: "memory");
		}
#endif
		asm volatile("cp.async.wait_group 1;" ::: "memory");
		sum += stage[r & 1][t]; // BUG
	}
	out[blockIdx.x * 32 + t] = sum;
}

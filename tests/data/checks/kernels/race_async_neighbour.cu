// SPDX-License-Identifier: MIT
// run: --grid 2 --block 128 f32[1024]=arange f32[1024] i32:4
/* Reverses each run of 128 elements, through two buffers that are filled asynchronously. */
__device__ __forceinline__ void copy4(float *to, const float *from)
{
	unsigned a = (unsigned)__cvta_generic_to_shared(to);
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a), "l"(from) : "memory"); // BUG
}

__global__ void reverse(const float *in, float *out, int tiles)
{
	__shared__ float buffer[2][128];
	int t = threadIdx.x;
	const float *from = in + blockIdx.x * tiles * 128;
	float *to = out + blockIdx.x * tiles * 128;
	copy4(&buffer[0][t], from + t);
	asm volatile("cp.async.commit_group;" ::: "memory");
	for (int j = 0; j < tiles; j++) {
		if (j + 1 < tiles) {
			copy4(&buffer[(j + 1) & 1][t], from + (j + 1) * 128 + t);
		}
		asm volatile("cp.async.commit_group;" ::: "memory");
		asm volatile("cp.async.wait_group 1;" ::: "memory");
#ifdef FIXED
		__syncthreads();
#endif
		to[j * 128 + t] = buffer[j & 1][127 - t]; // BUG
		__syncthreads();
	}
}

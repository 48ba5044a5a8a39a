// SPDX-License-Identifier: MIT
// run: --grid 3 --block 64 f32[700]=arange f32[700] i32:700
/* Each block copies 256 floats into shared memory by 16-byte asynchronous copies, then scales them. */
__device__ __forceinline__ void copy16(void *dst, const void *src)
{
	unsigned to = (unsigned)__cvta_generic_to_shared(dst);
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(src) : "memory"); // BUG
}

__global__ void scale_tiles(const float *in, float *out, int n)
{
	__shared__ __align__(16) float tile[256];
	int first = blockIdx.x * 256 + threadIdx.x * 4;
#ifdef FIXED
	if (first + 4 <= n) {
		copy16(&tile[threadIdx.x * 4], in + first);
	}
#else
	copy16(&tile[threadIdx.x * 4], in + first);
#endif
	asm volatile("cp.async.commit_group;" ::: "memory");
	asm volatile("cp.async.wait_group 0;" ::: "memory");
	__syncthreads();
	for (int j = 0; j < 4; j++) {
		if (first + j < n) {
			out[first + j] = 2.0f * tile[threadIdx.x * 4 + j];
		}
	}
}

// SPDX-License-Identifier: MIT
// run: --grid 1 --block 32 f32[160]=1 f32[32] i32:5
#define STAGES 3

__device__ __forceinline__ void copy4(float *to, const float *from)
{
	unsigned a = (unsigned)__cvta_generic_to_shared(to);
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a), "l"(from) : "memory");
}

/* Sums 'tiles' rows of 32 elements through a ring of stages in shared memory. */
__global__ void ring_sum(const float *in, float *out, int tiles)
{
	__shared__ float ring[STAGES][32];
	int t = threadIdx.x;
#ifdef FIXED
	const int ahead = STAGES - 1;
#else
	const int ahead = STAGES - 2; /* the loop below expects STAGES - 1 tiles under way */
#endif
	for (int j = 0; j < ahead && j < tiles; j++) {
		copy4(&ring[j][t], in + j * 32 + t);
		asm volatile("cp.async.commit_group;" ::: "memory");
	}
	float sum = 0.0f;
	for (int j = 0; j < tiles; j++) {
		int next = j + STAGES - 1;
		if (next < tiles) {
			copy4(&ring[next % STAGES][t], in + next * 32 + t);
		}
		asm volatile("cp.async.commit_group;" ::: "memory");
		asm volatile("cp.async.wait_all;" ::: "memory");
		__syncwarp();
		sum += ring[j % STAGES][t] * (float)(j + 1); // BUG
		__syncwarp();
	}
	out[t] = sum;
}

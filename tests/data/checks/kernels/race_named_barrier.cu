// SPDX-License-Identifier: MIT
// run: --grid 2 --block 128 f32[256]=random f32[256]
/* The warps 0 and 1 load, the warps 2 and 3 compute; the buffer of 64 elements is used twice. */
__device__ void bar_sync(int id, int threads)
{
	asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ void bar_arrive(int id, int threads)
{
	asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__global__ void produce_consume(const float *in, float *out)
{
	__shared__ float buffer[64];
	int t = threadIdx.x & 63, base = blockIdx.x * 128;
	bool producer = threadIdx.x < 64;
	for (int round = 0; round < 2; round++) {
		if (producer) {
#ifdef FIXED
			if (round > 0) {
				bar_sync(2, 128); /* the buffer is empty */
			}
#endif
			buffer[t] = in[base + round * 64 + t]; // BUG
			bar_sync(1, 128); /* the buffer is full */
		} else {
			bar_sync(1, 128);
			out[base + round * 64 + t] = buffer[63 - t] + 1.0f; // BUG
#ifdef FIXED
			if (round == 0) {
				bar_arrive(2, 128);
			}
#endif
		}
	}
}

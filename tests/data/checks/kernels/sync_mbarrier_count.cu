// SPDX-License-Identifier: MIT
// run: --grid 1 --block 64 f32[50]=arange f32[64] i32:50
/* The threads that load an element arrive at an mbarrier, and all wait for it. */
__device__ unsigned address(void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

__device__ void mbarrier_init(unsigned long long *b, unsigned count)
{
	asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(b)), "r"(count) : "memory");
}

__device__ void mbarrier_arrive(unsigned long long *b)
{
	asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(address(b)) : "memory");
}

__device__ bool mbarrier_test(unsigned long long *b, unsigned parity)
{
	unsigned done;
	asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
		     : "=r"(done) : "r"(address(b)), "r"(parity) : "memory"); // BUG
	return done;
}

__global__ void reverse(const float *in, float *out, int n)
{
	__shared__ float s[64];
	__shared__ unsigned long long full;
	int t = threadIdx.x;
	if (t == 0) {
#ifdef FIXED
		mbarrier_init(&full, n);
#else
		mbarrier_init(&full, blockDim.x);
#endif
	}
	__syncthreads();
	if (t < n) {
		s[t] = in[t];
		mbarrier_arrive(&full);
	}
	while (!mbarrier_test(&full, 0)) { // BUG
	}
	out[t] = t < n ? s[n - 1 - t] : 0.0f;
}

// SPDX-License-Identifier: MIT
// run: --grid 2 --block 64 f32[128] f32[128]=random

__device__ unsigned shared_address(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

__device__ void wait_for(const void *barrier, int parity)
{
	asm volatile("{\n"
		".reg .pred done;\n"
		"again:\n"
		"mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
		"@!done bra again;\n"
		"}" :: "r"(shared_address(barrier)), "r"(parity) : "memory");
}

/* Reverse the elements, of which each block has a part that is copied into shared memory. */
__global__ void reverse(float *out, const float *in)
{
	__shared__ __align__(128) float part[64];
	__shared__ long long full;
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(shared_address(&full)));
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;"
			:: "r"(shared_address(&full)) : "memory");
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes " // BUG
			"[%0], [%1], 256, [%2];" :: "r"(shared_address(part)), // BUG
			"l"(in + blockIdx.x * 64), "r"(shared_address(&full)) : "memory"); // BUG
	}
#ifdef FIXED
	wait_for(&full, 0);
#endif
	out[(gridDim.x - 1 - blockIdx.x) * 64 + threadIdx.x] = part[63 - threadIdx.x]; // BUG
}

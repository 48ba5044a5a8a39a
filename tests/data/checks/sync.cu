// SPDX-License-Identifier: MIT
// Kernels that use barriers, masks or copies wrongly, one each; see race.cu.
#include "planted.h"

#define ALL 0xffffffffu

#define COPY(to, from) \
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" \
		:: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory")
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")

extern "C" __global__ void early_return(int *a)
{
	BUG(if (threadIdx.x >= 50) { return; })
	__syncthreads(); // early_return
	a[threadIdx.x] = 1;
}

extern "C" __global__ void early_return_of_two(int *a)
{
	BUG(if (threadIdx.x == 7) { return; })
	__syncthreads(); // early_return_of_two
	BUG(if (threadIdx.x == 9) { return; })
	__syncthreads(); // early_return_of_two
	a[threadIdx.x] = 1;
	__syncthreads(); // early_return_of_two
	a[threadIdx.x + 64] = 1;
	__syncthreads(); // early_return_of_two
	a[threadIdx.x + 128] = 1;
}

extern "C" __global__ void barrier_in_branch(int *a)
{
	if (threadIdx.x < 32 FIX(+ 32)) {
		a[threadIdx.x] = 1;
		__syncthreads(); // barrier_in_branch
	}
}

extern "C" __global__ void two_barriers(int *a)
{
	if (threadIdx.x < 32 FIX(+ 32)) {
		a[threadIdx.x] = 1;
		__syncthreads(); // two_barriers
	} else {
		a[threadIdx.x] = 2;
		__syncthreads(); // two_barriers
		a[threadIdx.x]++;
	}
}

extern "C" __global__ void barrier_in_loop(int *a)
{
	for (int i = 0; i < 2 BUG(+ threadIdx.x / 32); i++) {
		a[threadIdx.x] += i;
		__syncthreads(); // barrier_in_loop
	}
}

extern "C" __global__ void break_before_barrier(int *a)
{
	for (int i = 0; i < 4; i++) {
		BUG(if (i == 2 && threadIdx.x % 2 == 0) { break; })
		a[threadIdx.x] += i;
		__syncthreads(); // break_before_barrier
	}
}

extern "C" __global__ void barriers_in_switch(int *a)
{
	switch (threadIdx.x / 32 FIX(* 0)) {
	case 0:
		a[threadIdx.x] = 1;
		__syncthreads(); // barriers_in_switch
		break;
	default:
		a[threadIdx.x + 64] = 1;
		__syncthreads(); // barriers_in_switch
		a[threadIdx.x + 128] = 1;
	}
}

extern "C" __global__ void shuffle_without_self(int *a)
{
	a[threadIdx.x] = __shfl_sync(FIX(ALL) BUG(a[100] + 1), a[threadIdx.x], 0); // shuffle_without_self
}

extern "C" __global__ void ballot_without_self(int *a)
{
	unsigned mask = FIX(ALL) BUG(0xfff0fff0u);
	a[threadIdx.x] = __ballot_sync(mask, a[threadIdx.x] == 0); // ballot_without_self
}

extern "C" __global__ void vote_without_self(int *a)
{
	unsigned mask = FIX(ALL) BUG(~(2u << threadIdx.x / 16));
	a[threadIdx.x] = __all_sync(mask, a[threadIdx.x] == 0); // vote_without_self
}

extern "C" __global__ void syncwarp_without_self(int *a)
{
	a[threadIdx.x] = 1;
	__syncwarp(FIX(ALL) BUG(0xffffu)); // syncwarp_without_self
	a[threadIdx.x ^ 1]++;
}

extern "C" __global__ void missing_source(int *a)
{
	if (threadIdx.x < 16) {
		a[threadIdx.x] = __shfl_sync(0xffffu, a[threadIdx.x], threadIdx.x FIX(% 16) BUG(+ 16), 32); // missing_source
	}
	__syncwarp();
}

extern "C" __global__ void down_from_missing(int *a)
{
	if (threadIdx.x < 24) {
		int from = __shfl_down_sync(0xffffffu, a[threadIdx.x], FIX(0) BUG(8)); // down_from_missing
		a[threadIdx.x] = from;
	}
	__syncwarp();
}

extern "C" __global__ void shuffle_in_branch(int *a)
{
	if (threadIdx.x < 16 FIX(+ 16)) {
		a[threadIdx.x] = __shfl_sync(ALL, a[threadIdx.x], 0); // shuffle_in_branch
	}
	__syncthreads(); // shuffle_in_branch
}

extern "C" __global__ void vote_in_branch(int *a)
{
	if (threadIdx.x % 4 == 0 FIX(|| true)) {
		a[threadIdx.x] = __any_sync(ALL, a[threadIdx.x]); // vote_in_branch
	}
	__syncthreads(); // vote_in_branch
}

extern "C" __global__ void too_many_expected(int *a)
{
	a[threadIdx.x] = 1;
	asm volatile("bar.sync 1, %0;" :: "n"(64 BUG(+ 32)) : "memory"); // too_many_expected
}

extern "C" __global__ void flag_that_nobody_sets(int *a)
{
	volatile int *flag = a;
	if (threadIdx.x == 0) {
		while (*flag == 0) { // flag_that_nobody_sets
		}
	} else if (threadIdx.x == 40) {
		a[0 BUG(+ 1)] = 1;
	}
}

extern "C" __global__ void too_few_arrivals(int *a)
{
	__shared__ unsigned long long bar;
	unsigned at = (unsigned)__cvta_generic_to_shared(&bar), done;
	unsigned long long state;
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(32 BUG(+ 1)) : "memory");
	}
	__syncwarp();
	asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
	do {
		asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at), "l"(state) : "memory"); // too_few_arrivals
	} while (!done); // too_few_arrivals
	a[threadIdx.x] = 1;
}

extern "C" __global__ void copy_not_waited_for(int *a)
{
	__shared__ int s[32];
	COPY(&s[threadIdx.x], &a[threadIdx.x]); // copy_not_waited_for
	FIX(asm volatile("cp.async.wait_all;" ::: "memory");)
	a[32 + threadIdx.x] = s[threadIdx.x]; // copy_not_waited_for
}

extern "C" __global__ void last_copy_not_waited_for(int *a)
{
	__shared__ int s[2][32];
	COPY(&s[0][threadIdx.x], &a[threadIdx.x]); // last_copy_not_waited_for
	COMMIT;
	COPY(&s[1][threadIdx.x], &a[threadIdx.x]); // last_copy_not_waited_for
	COMMIT;
	asm volatile("cp.async.wait_group %0;" :: "n"(0 BUG(+ 1)) : "memory");
	a[32 + threadIdx.x] = s[0][threadIdx.x];
	a[64 + threadIdx.x] = s[1][threadIdx.x]; // last_copy_not_waited_for
}

extern "C" __global__ void barrier_is_no_wait(int *a)
{
	__shared__ int s[64];
	COPY(&s[threadIdx.x], &a[threadIdx.x]); // barrier_is_no_wait
	COMMIT;
	FIX(asm volatile("cp.async.wait_group 0;" ::: "memory");)
	__syncthreads();
	a[64 + threadIdx.x] = s[63 - threadIdx.x]; // barrier_is_no_wait
}

extern "C" __global__ void good_waits(int *a)
{
	__shared__ int s[2][32];
	COPY(&s[0][threadIdx.x], &a[threadIdx.x]);
	COMMIT;
	COPY(&s[1][threadIdx.x], &a[threadIdx.x]);
	COMMIT;
	asm volatile("cp.async.wait_group 0;" ::: "memory");
	asm volatile("cp.async.wait_group 1;" ::: "memory");
	a[32 + threadIdx.x] = s[0][threadIdx.x] + s[1][threadIdx.x];
}

extern "C" __global__ void mbarrier_made_twice(int *a)
{
	__shared__ unsigned long long barrier;
	unsigned at = __cvta_generic_to_shared(&barrier);
	for (int i = 0; i < 2 && threadIdx.x == 0; i++) {
		asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(at) : "memory"); // mbarrier_made_twice
		FIX(asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at) : "memory");)
		a[i] = i;
	}
}

extern "C" __global__ void mbarrier_ended(int *a)
{
	__shared__ unsigned long long barrier;
	unsigned at = __cvta_generic_to_shared(&barrier);
	unsigned long long state;
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at) : "memory");
		BUG(asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at) : "memory");) // mbarrier_ended
		asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory"); // mbarrier_ended
		a[0] = (int)state;
	}
}

extern "C" __global__ void mbarrier_too_many(int *a)
{
	__shared__ unsigned long long barrier;
	unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
	unsigned long long state;
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(32 BUG(- 16)) : "memory");
	}
	__syncthreads();
	asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory"); // mbarrier_too_many
	a[threadIdx.x] = (int)state;
}

extern "C" __global__ void mbarrier_arrives_for_two(int *a)
{
	__shared__ unsigned long long barrier;
	unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
	unsigned long long state;
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(64 BUG(- 1)) : "memory");
	}
	__syncthreads();
	asm volatile("mbarrier.arrive.shared.b64 %0, [%1], 2;" : "=l"(state) : "r"(at) : "memory"); // mbarrier_arrives_for_two
	a[threadIdx.x] = (int)state;
}

extern "C" __global__ void mbarrier_ended_early(int *a)
{
	__shared__ unsigned long long barrier;
	unsigned at = (unsigned)__cvta_generic_to_shared(&barrier), done = 0;
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 31;" :: "r"(at) : "memory");
	}
	__syncthreads();
	if (threadIdx.x > 0) {
		asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
		asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory"); // mbarrier_ended_early
	}
	while (threadIdx.x == 0 && !done) {
		asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory"); // mbarrier_ended_early
	}
	FIX(__syncwarp();)
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at) : "memory"); // mbarrier_ended_early
	}
	a[threadIdx.x] = (int)done;
}

/* A warp fills two buffers in turn, and another one empties them. */
extern "C" __global__ void good_pipeline(int *a)
{
	__shared__ unsigned long long barriers[4];
	__shared__ int s[2][32];
	unsigned at = (unsigned)__cvta_generic_to_shared(barriers), lane = threadIdx.x % 32;
	if (threadIdx.x < 4) {
		asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(at + threadIdx.x * 8) : "memory");
	}
	__syncthreads();
	for (unsigned i = 0; i < 6; i++) {
		unsigned full = at + i % 2 * 8, empty = full + 16, done = threadIdx.x < 32 && i < 2;
		unsigned wait = threadIdx.x < 32 ? empty : full, parity = (i / 2 + (threadIdx.x < 32)) % 2;
		while (!done) {
			asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(wait), "r"(parity) : "memory");
		}
		if (threadIdx.x < 32) {
			s[i % 2][lane] = (int)(i * lane);
		} else {
			a[i * 32 + lane] = s[i % 2][31 - lane];
		}
		asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(threadIdx.x < 32 ? full : empty) : "memory");
	}
}

extern "C" __global__ void mbarrier_not_made(int *a)
{
	__shared__ unsigned long long bar;
	unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
	FIX(if (threadIdx.x == 0) { asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(at) : "memory"); } __syncthreads();)
	unsigned long long state;
	asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory"); // mbarrier_not_made
	a[threadIdx.x] = (int)state;
}

extern "C" __global__ void in_step(int *a)
{
	__shared__ volatile int s[64];
	s[threadIdx.x] = a[threadIdx.x];
	__syncthreads();
	for (int d = 16; threadIdx.x < 32 && d > 0; d /= 2) {
		int right = s[threadIdx.x + d]; // in_step
		FIX(__syncwarp();)
		s[threadIdx.x] = s[threadIdx.x] + right; // in_step
		FIX(__syncwarp();)
	}
	a[64 + threadIdx.x] = s[threadIdx.x];
}

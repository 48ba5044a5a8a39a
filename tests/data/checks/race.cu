// SPDX-License-Identifier: MIT
// Kernels with one race each.  A comment names the kernel in each line that takes part in its race.
#include "planted.h"

extern "C" __global__ void missing_barrier(int *a)
{
	__shared__ int s[64];
	s[threadIdx.x] = a[threadIdx.x]; // missing_barrier
	FIX(__syncthreads();)
	a[64 + threadIdx.x] = s[63 - threadIdx.x]; // missing_barrier
}

extern "C" __global__ void missing_syncwarp(int *a)
{
	__shared__ int s[32];
	s[threadIdx.x] = a[threadIdx.x]; // missing_syncwarp
	FIX(__syncwarp();)
	a[32 + threadIdx.x] = s[threadIdx.x ^ 1]; // missing_syncwarp
}

extern "C" __global__ void tree(int *a)
{
	__shared__ int s[128];
	s[threadIdx.x] = a[threadIdx.x];
	__syncthreads();
	for (int d = 64; d > 0; d /= 2) {
		if (threadIdx.x < d) {
			s[threadIdx.x] += s[threadIdx.x + d]; // tree
		}
		FIX(__syncthreads();)
	}
	if (threadIdx.x == 0) {
		a[128] = s[0];
	}
}

extern "C" __global__ void tile_reused(int *a)
{
	__shared__ int s[64];
	int sum = 0;
	for (int i = 0; i < 4; i++) {
		s[threadIdx.x] = a[threadIdx.x] + i; // tile_reused
		__syncthreads();
		sum += s[(threadIdx.x + 32) % 64]; // tile_reused
		FIX(__syncthreads();)
	}
	a[64 + threadIdx.x] = sum;
}

extern "C" __global__ void lost_update(int *a)
{
	BUG(a[0] = a[0] + 1;) // lost_update
	FIX(atomicAdd(a, 1);)
}

extern "C" __global__ void block_reads_block(int *a)
{
	int other = BUG((blockIdx.x + 1) % gridDim.x) FIX(blockIdx.x);
	if (threadIdx.x == 0) {
		a[blockIdx.x] = 1; // block_reads_block
		a[64 + blockIdx.x] = a[other]; // block_reads_block
	}
}

extern "C" __global__ void shared_histogram(int *a)
{
	__shared__ int s[4];
	if (threadIdx.x < 4) {
		s[threadIdx.x] = 0;
	}
	__syncthreads();
	BUG(s[threadIdx.x % 4]++;) // shared_histogram
	FIX(atomicAdd(&s[threadIdx.x % 4], 1);)
	__syncthreads();
	if (threadIdx.x < 4) {
		atomicAdd(&a[threadIdx.x], s[threadIdx.x]);
	}
}

extern "C" __global__ void block_atomic(int *a)
{
	BUG(atomicAdd_block(a, 1);) // block_atomic
	FIX(atomicAdd(a, 1);)
}

extern "C" __global__ void no_fence(int *a)
{
	__shared__ bool last;
	if (threadIdx.x == 0) {
		a[1 + blockIdx.x] = blockIdx.x; // no_fence
		FIX(__threadfence();)
		last = atomicAdd(a, 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x < gridDim.x) {
		a[100 + threadIdx.x] = a[1 + threadIdx.x]; // no_fence
	}
}

extern "C" __global__ void block_fence(int *a)
{
	__shared__ bool last;
	if (threadIdx.x == 0) {
		a[1 + blockIdx.x] = blockIdx.x; // block_fence
		BUG(__threadfence_block();)
		FIX(__threadfence();)
		last = atomicAdd(a, 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x < gridDim.x) {
		a[100 + threadIdx.x] = a[1 + threadIdx.x]; // block_fence
	}
}

extern "C" __global__ void plain_flag(int *a)
{
	__shared__ int flag;
	if (threadIdx.x == 0) {
		flag = a[1] + 7; // plain_flag
	}
	FIX(__syncthreads();)
	if (threadIdx.x == 32) {
		a[0] = flag; // plain_flag
	}
}

extern "C" __global__ void late_zero(int *a)
{
	__shared__ int sum;
	if (threadIdx.x == 0) {
		sum = 0; // late_zero
	}
	FIX(__syncthreads();)
	atomicAdd(&sum, 1); // late_zero
	__syncthreads();
	a[threadIdx.x] = sum;
}

extern "C" __global__ void early_result(int *a)
{
	__shared__ int sum;
	if (threadIdx.x == 0) {
		sum = 0;
	}
	__syncthreads();
	atomicAdd(&sum, 1); // early_result
	FIX(__syncthreads();)
	if (threadIdx.x == 63) {
		a[0] = sum; // early_result
	}
}

extern "C" __global__ void store_and_atomic(int *a)
{
	if (threadIdx.x == 1) {
		BUG(a[0] = 100;) // store_and_atomic
		FIX(atomicExch(a, 100);)
	} else {
		atomicMax(a, threadIdx.x); // store_and_atomic
	}
}

extern "C" __global__ void half_barrier(int *a)
{
	__shared__ int s[128];
	s[threadIdx.x] = a[threadIdx.x]; // half_barrier
	BUG(asm volatile("bar.sync %0, 64;" :: "r"(1 + threadIdx.x / 64) : "memory");)
	FIX(__syncthreads();)
	a[128 + threadIdx.x] = s[127 - threadIdx.x]; // half_barrier
}

extern "C" __global__ void transpose(int *a)
{
	__shared__ int s[16][17];
	s[threadIdx.y][threadIdx.x] = a[threadIdx.y * 16 + threadIdx.x]; // transpose
	FIX(__syncthreads();)
	a[256 + threadIdx.y * 16 + threadIdx.x] = s[threadIdx.x][threadIdx.y]; // transpose
}

/* A block reads bytes from the middle of a line to beyond its first half. */
extern "C" __global__ void bytes(int *a)
{
	const unsigned char *c = (const unsigned char *)a + 16;
	if (blockIdx.x == 0) {
		a[1024 + threadIdx.x] = c[threadIdx.x]; // bytes
	} else if (threadIdx.x < 4) {
		a[(BUG(8) FIX(12)) + threadIdx.x] = 1; // bytes
	}
}

/* A block reads the second half of a line, of which another one writes the first. */
extern "C" __global__ void good_bytes(int *a)
{
	const unsigned char *c = (const unsigned char *)a + 32;
	if (blockIdx.x == 0) {
		a[1024 + threadIdx.x] = c[threadIdx.x];
	} else if (threadIdx.x < 8) {
		a[threadIdx.x] = 1;
	}
}

extern "C" __global__ void scan_in_place(int *a)
{
	__shared__ int s[64];
	s[threadIdx.x] = 1;
	__syncthreads();
	for (int d = 1; d < 64; d *= 2) {
		int left = threadIdx.x >= d ? s[threadIdx.x - d] : 0; // scan_in_place
		FIX(__syncthreads();)
		s[threadIdx.x] += left; // scan_in_place
		__syncthreads();
	}
	a[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void stencil_in_place(int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
	int sum = a[i - 1] + a[i + 1]; // stencil_in_place
	a[i FIX(+ 1024)] = sum; // stencil_in_place
}

extern "C" __global__ void one_too_many(int *a)
{
	int first = blockIdx.x * blockDim.x;
	for (int i = threadIdx.x; i < blockDim.x BUG(+ 1); i += blockDim.x) {
		a[first + i] = blockIdx.x; // one_too_many
	}
}

extern "C" __global__ void careless_lock(int *a)
{
	if (threadIdx.x == 0) {
		while (atomicCAS(a, 0, 1) != 0) {
		}
		__threadfence();
		a[1] += blockIdx.x; // careless_lock
		FIX(__threadfence();)
		atomicExch(a, 0);
	}
}

extern "C" __global__ void good_heap(int *a)
{
	int *own = (int *)malloc(8);
	own[a[100]] = threadIdx.x;
	a[threadIdx.x] = own[0];
	free(own);
}

/* A barrier of the program's own, as libcu++ has them: the last thread to come turns the phase. */
extern "C" __global__ void turned_barrier(int *a)
{
	__shared__ int s[64];
	__shared__ unsigned long long arrived;
	if (threadIdx.x == 0) {
		arrived = 1ull << 32;
	}
	__syncthreads();
#pragma unroll 1
	for (unsigned long long round = 1; round <= 8; round++) {
		unsigned long long now;
		s[threadIdx.x] = a[threadIdx.x] + round; // turned_barrier
#pragma unroll 1
		for (int i = 0; i < 2; i++) {
			asm volatile("atom.add." BUG("relaxed") FIX("acq_rel") ".cta.u64 %0, [%1], 1;"
				: "=l"(now) : "l"(&arrived) : "memory");
			now = (now & 0xffffffff) / 64 + 1;
			unsigned long long seen;
			do {
				asm volatile("ld.acquire.cta.u64 %0, [%1];"
					: "=l"(seen) : "l"(&arrived) : "memory");
			} while ((seen & 0xffffffff) < 64 * now);
			if (i == 0) {
				a[1024 + threadIdx.x] = s[63 - threadIdx.x]; // turned_barrier
			}
		}
	}
}

/* A line reads the higher word first, from where the compiler does not know. */
extern "C" __global__ void higher_word_first(int *a)
{
	__shared__ int s[64];
	const int *at = s + 8 * (a[threadIdx.x] & 7);
	if (threadIdx.x < 32) {
		a[64 + threadIdx.x] = at[1] * 3 + at[0]; // higher_word_first
	} else if (threadIdx.x == 32) {
		s[BUG(0) FIX(2)] = 1; // higher_word_first
	}
}

extern "C" __global__ void read_by_all(int *a)
{
	int sum = 0;
	for (int i = 0; i < 64; i++) {
		sum += a[(i + threadIdx.x * 5) % 64]; // read_by_all
	}
	a[64 + blockIdx.x * blockDim.x + threadIdx.x] = sum;
	BUG(if (blockIdx.x == 3) a[threadIdx.x] = sum;) // read_by_all
}

// The last block to come writes what all have read, and sets the counter back.
extern "C" __global__ void good_last_block(int *a)
{
	__shared__ bool last;
	int sum = 0;
	for (int i = 0; i < 64; i++) {
		sum += a[(i + threadIdx.x * 5) % 64];
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		last = atomicAdd(a + 4000, 1) == gridDim.x - 1;
		__threadfence();
	}
	__syncthreads();
	if (last) {
		a[threadIdx.x] = sum;
	}
}

// All blocks read, wait for each other, and write.
extern "C" __global__ void good_grid_barrier(int *a)
{
	int sum = 0;
	for (int i = 0; i < 64; i++) {
		sum += a[i];
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicAdd(a + 64, 1);
		while (*(volatile int *)(a + 64) < gridDim.x) {
		}
		__threadfence();
	}
	__syncthreads();
	a[(blockIdx.x * blockDim.x + threadIdx.x) % 64] = sum;
}

// A block says that it has read, and reads once more.
extern "C" __global__ void read_too_late(int *a)
{
	__shared__ bool last;
	int sum = 0;
	for (int i = 0; i < 64; i++) {
		sum += a[(i + threadIdx.x * 5) % 64]; // read_too_late
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		last = atomicAdd(a + 4000, 1) == gridDim.x - 1;
		__threadfence();
	}
	__syncthreads();
	BUG(sum += last ? 0 : a[threadIdx.x];) // read_too_late
	if (last) {
		a[(threadIdx.x + 1) % 64] = sum; // read_too_late
	} else if (sum == 12345) {
		a[64] = sum;
	}
}

// The last warp to come writes what all have read.
extern "C" __global__ void good_last_warp(int *a)
{
	__shared__ int s, count;
	int old = 0;
	if (threadIdx.x == 0) {
		s = a[0];
		count = 0;
	}
	__syncthreads();
	int sum = s + 1;
	__syncwarp();
	if (threadIdx.x % 32 == 0) {
		__threadfence_block();
		old = atomicAdd_block(&count, 1);
		__threadfence_block();
	}
	if (old == blockDim.x / 32 - 1) {
		s = sum;
	}
	__syncthreads();
	a[64 + threadIdx.x] = s;
}

// A warp says that it has read, and reads once more.
extern "C" __global__ void warp_too_late(int *a)
{
	__shared__ int s, count;
	int old = 0;
	if (threadIdx.x == 0) {
		s = a[0];
		count = 0;
	}
	__syncthreads();
	int sum = s + 1; // warp_too_late
	__syncwarp();
	if (threadIdx.x % 32 == 0) {
		__threadfence_block();
		old = atomicAdd_block(&count, 1);
		__threadfence_block();
	}
	BUG(sum += s;) // warp_too_late
	__syncwarp();
	if (old == blockDim.x / 32 - 1) {
		s = sum; // warp_too_late
	}
	__syncthreads();
	a[64 + threadIdx.x] = s + sum;
}

// A warp arrives after the other one, but does not wait for the end of the phase.
extern "C" __global__ void arrival_is_no_wait(int *a)
{
	__shared__ unsigned long long barrier;
	__shared__ int s[32];
	unsigned at = (unsigned)__cvta_generic_to_shared(&barrier), done = 0;
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(at) : "memory");
	}
	__syncthreads();
	if (threadIdx.x < 32) {
		s[threadIdx.x] = a[threadIdx.x]; // arrival_is_no_wait
	}
	asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
	while (FIX(!done) BUG(done)) {
		asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
	}
	if (threadIdx.x >= 32) {
		a[64 + threadIdx.x] = s[63 - threadIdx.x]; // arrival_is_no_wait
	}
}

// Each thread reads and writes an element of its own, of which a word has several.
extern "C" __global__ void good_in_place(int *a)
{
	__shared__ unsigned char c[64];
	__shared__ short h[64];
	unsigned char *bytes = (unsigned char *)a + blockIdx.x * blockDim.x;
	short *halves = (short *)(a + 1024) + blockIdx.x * blockDim.x;
	c[threadIdx.x] = bytes[threadIdx.x];
	h[threadIdx.x] = halves[threadIdx.x];
	bytes[threadIdx.x] = 255 - bytes[threadIdx.x];
	halves[threadIdx.x] += 1;
	c[threadIdx.x] += bytes[threadIdx.x];
	h[threadIdx.x] += c[threadIdx.x];
	halves[threadIdx.x] += h[threadIdx.x];
}

// Each warp has a byte of its own.
extern "C" __global__ void good_flags(int *a)
{
	__shared__ volatile bool flags[32];
	const unsigned warp = threadIdx.x / 32;
	for (int i = 0; i < 3; i++) {
		if (threadIdx.x % 32 == 0) {
			flags[warp] = a[i] < 3;
		}
		__syncwarp();
		a[64 + threadIdx.x] += flags[warp];
		__syncwarp();
	}
}

// Threads read the bytes of others before these write them.
extern "C" __global__ void neighbour_bytes(int *a)
{
	__shared__ unsigned char c[65];
	c[threadIdx.x] = a[threadIdx.x];
	__syncthreads();
	int sum = c[threadIdx.x + 1]; // neighbour_bytes
	FIX(__syncthreads();)
	c[threadIdx.x] = sum; // neighbour_bytes
}

// A block that is not longer than the vectors that it runs as.
extern "C" __global__ void good_short_block(int *a)
{
	__shared__ int s[16];
	s[threadIdx.x] = a[threadIdx.x];
	__syncthreads();
	a[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
	__syncthreads();
	s[threadIdx.x] = a[blockDim.x - 1 - threadIdx.x];
}

// Two blocks write the same bytes.
extern "C" __global__ void bytes_of_all(int *a)
{
	unsigned char *bytes = (unsigned char *)a + FIX(blockIdx.x * blockDim.x) BUG(0);
	bytes[threadIdx.x] = blockIdx.x; // bytes_of_all
}

// A thread reads a word, of which it and its neighbour write a half each.
extern "C" __global__ void word_and_halves(int *a)
{
	__shared__ int words[32];
	short *halves = (short *)words;
	int sum = 0;
	halves[threadIdx.x] = a[threadIdx.x];
	__syncthreads();
	if (threadIdx.x % 2 == 0) {
		sum = words[threadIdx.x / 2]; // word_and_halves
	}
	FIX(__syncthreads();)
	halves[threadIdx.x] = sum ^ sum >> 16; // word_and_halves
}

/* SPDX-License-Identifier: MIT */
/*
 * What the machine can do, for bench_cpu to say how far from it a kernel is: the triad of the
 * STREAM benchmark, and as many multiplications and additions as the vector units take.
 */
#include "cpu_jobs.h"

enum { CHAINS = 12, STEPS = LIMIT_LANES / CHAINS / 16 }; /* chains: to hide an FMA's latency */
#ifdef __AVX512F__
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif
typedef float vector __attribute__((vector_size(4 * LANES)));

void limit_triad(float *restrict a, const float *restrict b, const float *restrict c, int count,
	int calls)
{
	for (int call = 0; call < calls; call++) {
		for (int i = 0; i < count; i++) {
			a[i] = b[i] + 0.5f * c[i];
		}
		__asm__ volatile("" ::: "memory");
	}
}

void limit_lanes(int calls)
{
	vector x[CHAINS], factor = (vector){0} + 1;
	for (int i = 0; i < CHAINS; i++) {
		x[i] = (vector){0} + (float)i;
	}
	for (int step = 0; step < STEPS * (16 / LANES) * calls; step++) {
#pragma GCC unroll 12
		for (int i = 0; i < CHAINS; i++) {
			x[i] = x[i] * factor + factor;
		}
		__asm__ volatile("" : "+x"(factor));
	}
	for (int i = 0; i < CHAINS; i++) {
		__asm__ volatile("" ::"x"(x[i]));
	}
}

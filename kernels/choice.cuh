/* SPDX-License-Identifier: MIT */
/*
 * Kernel of src/lib/random/choice.c: for each of `count` numbers of [0, 1), the index of the weight
 * that it falls on.  `sums` are the running sums of n weights.  The last index with a weight serves
 * a number that rounding puts after all of them.
 */
typedef long long kz_i64;

extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_i64 *indexes,
	const double *numbers, kz_i64 count, const double *sums, kz_i64 n)
{
	const kz_i64 first = ((kz_i64)blockIdx.x * KZ_THREADS + threadIdx.x) * KZ_PER_THREAD;
	const kz_i64 end = first + KZ_PER_THREAD < count ? first + KZ_PER_THREAD : count;
	for (kz_i64 i = first; i < end; i++) {
		const double all = sums[n - 1], number = numbers[i] * all;
		kz_i64 low = 0, high = n - 1;
		while (low < high) {
			const kz_i64 half = low + (high - low) / 2;
			if (sums[half] > number || sums[half] == all) {
				high = half;
			} else {
				low = half + 1;
			}
		}
		indexes[i] = low;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Sums of products of two sequences: sum k of all adds a[k - j] b[j], where there are both, in the
 * order of j.  b is the shorter one.
 *
 * A thread has KZ_SUMS of them, a block's width of KZ_THREADS apart, so that each element of b that
 * it reads serves as many products.  A block has its sums' products in three parts: where some sums
 * lack an element of a, where none does, which is checked once for all, and where some do again.
 *
 * KZ_MADD(c, a, b) is c + a * b of kz_element.
 */
typedef long long kz_i64;
struct kz_sequences {
	kz_i64 n, m;         /* elements of a and b */
	kz_i64 first, count; /* of the sums */
};

#ifdef __CUDACC_RTC__
static __device__ inline kz_i64 kz_min(kz_i64 a, kz_i64 b) { return a < b ? a : b; }
static __device__ inline kz_i64 kz_max(kz_i64 a, kz_i64 b) { return a > b ? a : b; }

template <bool is_checked> static __device__ __forceinline__ void kz_add_products(
	kz_element (&sum)[KZ_SUMS], const kz_element *a, const kz_element *b, kz_i64 n, kz_i64 k,
	kz_i64 from, kz_i64 to)
{
#pragma unroll 1
	for (kz_i64 j = from; j < to; j++) {
		const kz_element factor = b[j];
#pragma unroll
		for (int s = 0; s < KZ_SUMS; s++) {
			const kz_i64 i = k - j + s * KZ_THREADS;
			if (!is_checked || (unsigned long long)i < (unsigned long long)n) {
				sum[s] = KZ_MADD(sum[s], a[i], factor);
			}
		}
	}
}

extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_element *out,
	const kz_element *a, const kz_element *b, const kz_sequences of)
{
	const kz_i64 begin = (kz_i64)blockIdx.x * (KZ_SUMS * KZ_THREADS);
	const kz_i64 top = of.first + begin, last = top + KZ_SUMS * KZ_THREADS - 1;
	const kz_i64 from = kz_max(0, top - of.n + 1), to = kz_min(of.m, last + 1);
	const kz_i64 whole = kz_min(kz_max(from, last - of.n + 1), to);
	const kz_i64 rest = kz_max(whole, kz_min(to, top + 1));
	kz_element sum[KZ_SUMS];
#pragma unroll
	for (int s = 0; s < KZ_SUMS; s++) {
		sum[s] = KZ_ZERO;
	}
	kz_add_products<true>(sum, a, b, of.n, top + threadIdx.x, from, whole);
	kz_add_products<false>(sum, a, b, of.n, top + threadIdx.x, whole, rest);
	kz_add_products<true>(sum, a, b, of.n, top + threadIdx.x, rest, to);
#pragma unroll
	for (int s = 0; s < KZ_SUMS; s++) {
		const kz_i64 at = begin + threadIdx.x + s * KZ_THREADS;
		if (at < of.count) {
			out[at] = sum[s];
		}
	}
}
#endif

/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/lib/order/search.c: the places of values among sorted elements, by bisection.
 * Every thread takes the same number of steps and chooses without a branch, so that threads side by
 * side read what they need at once.
 *
 * Before this text come kz_stored, an element in memory; kz_value, what is compared; kz_value
 * kz_load(kz_stored); kz_index, which can count the sorted elements; and kz_place, a result.  One
 * of these says which kernel is wanted:
 *
 *	KZ_ORDER   find where neighbours rise and where they fall
 *	KZ_LEFT    count the sorted elements before a value
 *	KZ_RIGHT   count those that are not after it
 *	KZ_BINS    number the bin between two sorted edges; the last bin has both of its edges
 */
typedef long long kz_i64;

/* numpy's order: numbers, then NaN.  Complex numbers go by the real part first, and those of which
 * no part is NaN come before those of which the imaginary one is, the real one is, and both are. */
template <class T> static __device__ inline bool kz_less(T a, T b)
{
	return a < b || (a == a && b != b);
}
#ifdef KZ_COMPLEX
template <class T> static __device__ inline bool kz_less(kz_complex<T> a, kz_complex<T> b)
{
	const int rank = 2 * (a.re != a.re) + (a.im != a.im);
	const int other = 2 * (b.re != b.re) + (b.im != b.im);
	return rank != other ? rank < other : a.re < b.re || (!(b.re < a.re) && a.im < b.im);
}
#endif

#define KZ_FOR(i, count) \
	const kz_i64 begin = (kz_i64)blockIdx.x * KZ_TILE_SIZE, rest = count - begin; \
	const int size = rest < KZ_TILE_SIZE ? (int)rest : KZ_TILE_SIZE; \
	for (int i = threadIdx.x; i < size; i += blockDim.x)

#ifdef KZ_ORDER
/* found[0] and found[1]: ~i of the first elements before a higher and before a lower one; at first
 * 0. */
extern "C" __global__ void kz_kernel(unsigned long long *found, const kz_stored *sorted,
	kz_i64 pairs)
{
	KZ_FOR(i, pairs) {
		const kz_value a = kz_load(sorted[begin + i]), b = kz_load(sorted[begin + i + 1]);
		if (kz_less(a, b)) {
			atomicMax(found, ~(unsigned long long)(begin + i));
		} else if (kz_less(b, a)) {
			atomicMax(found + 1, ~(unsigned long long)(begin + i));
		}
	}
}
#else
static __device__ inline bool kz_passes(kz_value element, kz_value value)
{
#ifdef KZ_LEFT
	return kz_less(element, value);
#else
	return !kz_less(value, element);
#endif
}

/* places[i] = origin + sign * (how many elements a value passes) */
extern "C" __global__ void kz_kernel(kz_place *places, const kz_stored *values,
	const kz_stored *sorted, kz_i64 count, kz_i64 length, kz_i64 origin, kz_i64 sign)
{
	KZ_FOR(i, count) {
		const kz_value value = kz_load(values[begin + i]);
		kz_index at = 0;
		for (kz_index left = (kz_index)length; left > 0;) {
			const kz_index half = left - left / 2;
			at = kz_passes(kz_load(sorted[at + half - 1]), value) ? at + half : at;
			left -= half;
		}
#ifdef KZ_BINS
		/* What no bin has goes to one after the last. */
		const bool is_last = at == length
			&& !kz_less(kz_load(sorted[length - 1]), value);
		places[begin + i] = (kz_place)(at == 0 ? length - 1 : is_last ? length - 2
			: at - 1);
#else
		places[begin + i] = (kz_place)(origin + sign * (kz_i64)at);
#endif
	}
}
#endif

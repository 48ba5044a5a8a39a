/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/lib/order/sort_compare.c: a stable merge sort of rows of n elements without gaps,
 * with the caller's comparison.  KZ_RUNS: each thread makes a run of `size` elements, by insertion.
 * KZ_MERGE: each thread makes `size` elements, at most 2 run, of the merge of two runs, which it
 * finds by a binary search of the diagonal (Green, McColl, Bader, "GPU Merge Path", 2012).  Indexes
 * move with their elements if KZ_INDEXES is 1.
 *
 * Before this text: kz_element, kz_less(a, b), KZ_INDEXES.
 */
typedef long long kz_i64;

struct kz_items {
	KZ_POINTER(kz_element) elements;
	KZ_POINTER(kz_i64) indexes;
};

#ifdef __CUDACC_RTC__
static __device__ inline void kz_copy(const kz_items &to, kz_i64 i, const kz_items &from, kz_i64 k)
{
	to.elements[i] = from.elements[k];
#if KZ_INDEXES
	to.indexes[i] = from.indexes[k];
#endif
}

/* The part of a row that a thread makes: `parts` to a row. */
#define KZ_PART \
	const kz_i64 at = (kz_i64)blockIdx.x * KZ_THREADS + threadIdx.x; \
	const kz_i64 row = at / parts, begin = at % parts * size; \
	const kz_i64 end = begin + size < n ? begin + size : n; \
	if (row >= rows) { \
		return; \
	}

#ifdef KZ_RUNS
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(const kz_element *elements,
	kz_items to, kz_i64 n, kz_i64 rows, kz_i64 parts, kz_i64 size)
{
	KZ_PART
	const kz_element *from = elements + row * n;
	to.elements += row * n;
	to.indexes += KZ_INDEXES ? row * n : 0;
	for (kz_i64 i = begin; i < end; i++) {
		const kz_element element = from[i];
		kz_i64 k = i;
		for (; k > begin && kz_less(element, to.elements[k - 1]); k--) {
			kz_copy(to, k, to, k - 1);
		}
		to.elements[k] = element;
#if KZ_INDEXES
		to.indexes[k] = i;
#endif
	}
}
#endif

#ifdef KZ_MERGE
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_items from, kz_items to,
	kz_i64 n, kz_i64 rows, kz_i64 parts, kz_i64 size, kz_i64 run)
{
	KZ_PART
	const kz_i64 pair = begin / (2 * run) * (2 * run);
	const kz_i64 middle = pair + run < n ? pair + run : n;
	const kz_i64 last = pair + 2 * run < n ? pair + 2 * run : n;
	const kz_i64 before = begin - pair; /* elements of the merge that others make */
	from.elements += row * n;
	to.elements += row * n;
	from.indexes += KZ_INDEXES ? row * n : 0;
	to.indexes += KZ_INDEXES ? row * n : 0;
	/* How many of those are of the first run: the fewest for which the next one of it is not
	 * among them. */
	kz_i64 low = before > last - middle ? before - (last - middle) : 0;
	kz_i64 high = before < middle - pair ? before : middle - pair;
	while (low < high) {
		const kz_i64 half = low + (high - low) / 2;
		if (kz_less(from.elements[middle + before - half - 1],
			from.elements[pair + half])) {
			high = half;
		} else {
			low = half + 1;
		}
	}
	kz_i64 a = pair + low, b = middle + before - low;
	for (kz_i64 i = begin; i < end; i++) {
		const bool second = a == middle
			|| (b < last && kz_less(from.elements[b], from.elements[a]));
		kz_copy(to, i, from, second ? b : a);
		a += !second;
		b += second;
	}
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/lib/ops/scatter.c, after indexing.cuh: elements (outer, extent, inner) are
 * combined with values (outer, count, inner), of which value j of the middle belongs to the element
 * at indexes[j].
 *
 * Before this text come kz_stored, an element in memory; kz_value, what is combined; kz_value
 * kz_load(kz_stored), kz_stored kz_save(kz_value) and kz_value kz_op(kz_value, kz_value).  One of
 * these says which kernel is wanted:
 *
 *	KZ_IN_ORDER   a thread has some columns of `inner`, and goes through the values in order
 *	KZ_ATOMIC     a thread for each value; kz_atomic(kz_stored *, kz_value) combines
 *	KZ_TALLY      count how often each index occurs
 *	KZ_LIST       list the values of each index, in any order; `ends` is first where lists begin
 *	KZ_SORT       put each list in order
 *	KZ_WALK       a thread for each element goes through its list
 */
#define KZ_COLUMNS 1024 /* of a thread, with KZ_IN_ORDER */

#ifdef __CUDACC_RTC__
#ifdef KZ_IN_ORDER
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_stored *to, const kz_stored *from,
	const kz_i64 *indexes, kz_i64 count, kz_i64 extent, kz_i64 inner, int mode)
{
	const kz_i64 parts = (inner + KZ_COLUMNS - 1) / KZ_COLUMNS, outer = blockIdx.x / parts;
	const kz_i64 first = blockIdx.x % parts * KZ_COLUMNS;
	const kz_i64 size = inner - first < KZ_COLUMNS ? inner - first : KZ_COLUMNS;
	to += outer * extent * inner + first;
	from += outer * count * inner + first;
	for (kz_i64 j = 0; j < count; j++) {
		kz_stored *row = to + kz_index(indexes[j], extent, mode) * inner;
		for (kz_i64 k = 0; k < size; k++) {
			row[k] = kz_save(kz_op(kz_load(row[k]), kz_load(from[j * inner + k])));
		}
	}
}
#endif

#ifdef KZ_ATOMIC
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_stored *to, const kz_stored *from,
	const kz_i64 *indexes, kz_i64 total, kz_i64 count, kz_i64 extent, kz_i64 inner, int mode)
{
	KZ_CHUNK(total);
	KZ_FOR(i, begin, end) {
		const kz_i64 row = i / inner, outer = row / count;
		const kz_i64 index = kz_index(indexes[row - outer * count], extent, mode);
		kz_atomic(to + (outer * extent + index) * inner + (i - row * inner),
			kz_load(from[i]));
	}
}
#endif

#ifdef KZ_TALLY
extern "C" __global__ void KZ_BOUNDS kz_kernel(unsigned long long *counts, const kz_i64 *indexes,
	kz_i64 count, kz_i64 extent, int mode)
{
	KZ_CHUNK(count);
	KZ_FOR(j, begin, end) {
		atomicAdd(counts + kz_index(indexes[j], extent, mode), 1ull);
	}
}
#endif

#ifdef KZ_LIST
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_i64 *list, unsigned long long *ends,
	const kz_i64 *indexes, kz_i64 count, kz_i64 extent, int mode)
{
	KZ_CHUNK(count);
	KZ_FOR(j, begin, end) {
		list[atomicAdd(ends + kz_index(indexes[j], extent, mode), 1ull)] = j;
	}
}
#endif

#ifdef KZ_SORT
/* Let an element sink into the heap below it. */
static __device__ inline void kz_sink(kz_i64 *heap, kz_i64 at, kz_i64 size)
{
	const kz_i64 value = heap[at];
	for (kz_i64 child = 2 * at + 1; child < size; child = 2 * at + 1) {
		child += child + 1 < size && heap[child + 1] > heap[child];
		if (heap[child] <= value) {
			break;
		}
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = value;
}

/* Heapsort (J. W. J. Williams, CACM 7, 1964), whose time does not depend on the order. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_i64 *list, const kz_i64 *ends,
	const kz_i64 *counts, kz_i64 extent)
{
	KZ_CHUNK(extent);
	KZ_FOR(i, begin, end) {
		const kz_i64 size = counts[i];
		kz_i64 *heap = list + ends[i] - size;
		for (kz_i64 at = size / 2 - 1; at >= 0; at--) {
			kz_sink(heap, at, size);
		}
		for (kz_i64 left = size - 1; left > 0; left--) {
			const kz_i64 greatest = heap[0];
			heap[0] = heap[left];
			heap[left] = greatest;
			kz_sink(heap, 0, left);
		}
	}
}
#endif

#ifdef KZ_WALK
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_stored *to, const kz_stored *from,
	const kz_i64 *list,
	const kz_i64 *ends, const kz_i64 *counts, kz_i64 total, kz_i64 count, kz_i64 extent,
	kz_i64 inner)
{
	KZ_CHUNK(total);
	KZ_FOR(i, begin, end) {
		const kz_i64 row = i / inner, column = i - row * inner, outer = row / extent;
		const kz_i64 index = row - outer * extent;
		kz_stored element = to[i];
		for (kz_i64 at = ends[index] - counts[index]; at < ends[index]; at++) {
			const kz_stored value = from[(outer * count + list[at]) * inner + column];
			element = kz_save(kz_op(kz_load(element), kz_load(value)));
		}
		to[i] = element;
	}
}
#endif
#endif

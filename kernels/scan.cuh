/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/scan.c, over `rows` of n elements without gaps.  A chunk is 256 segments of 16
 * elements; each block has one.  KZ_SERIAL: one thread does the segments one after the other; else
 * each of 256 threads has one, and the first thread runs over their totals.  Both combine in the same
 * order:
 *
 *	element = prefix of the chunk  op  (prefix of the segment  op  element within the segment)
 *
 * kz_op(a, b), kz_neutral() and kz_element come before this text.
 */
typedef long long kz_i64;
#define SEGMENT 16
#define SEGMENTS 256
#define CHUNK (SEGMENT * SEGMENTS)
#ifdef KZ_SERIAL
#define KZ_BOUNDS __launch_bounds__(1)
#else
#define KZ_BOUNDS __launch_bounds__(SEGMENTS)
#endif

/* What a segment amounts to; an empty one is neutral. */
static __device__ inline kz_element kz_total(const kz_element *from, kz_i64 begin, kz_i64 end)
{
	if (begin >= end) {
		return kz_neutral();
	}
	kz_element total = from[begin];
	for (kz_i64 i = begin + 1; i < end; i++) {
		total = kz_op(total, from[i]);
	}
	return total;
}

/* Scan a segment, after what comes before it in the chunk, and before that. */
static __device__ inline kz_element kz_write(kz_element *to, const kz_element *from, kz_i64 begin,
	kz_i64 end, kz_element chunk, kz_element segment, int exclusive)
{
	kz_element local = kz_neutral();
	for (kz_i64 i = begin; i < end; i++) {
		const kz_element next = i == begin ? from[i] : kz_op(local, from[i]);
		const kz_element before = i == begin ? segment : kz_op(segment, local);
		to[i] = kz_op(chunk, exclusive ? before : kz_op(segment, next));
		local = next;
	}
	return local;
}

#define KZ_PLACE \
	const kz_i64 row = blockIdx.x / chunks, chunk = blockIdx.x % chunks; \
	const kz_i64 first = row * n + chunk * CHUNK; \
	const kz_i64 end = (chunk + 1) * CHUNK < n ? first + CHUNK : (row + 1) * n

#define KZ_SEGMENT_END(begin) ((begin) + SEGMENT < end ? (begin) + SEGMENT : end)

/* The total of each chunk. */
#ifdef KZ_TOTALS
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *totals, const kz_element *from, kz_i64 n,
	kz_i64 chunks)
{
	KZ_PLACE;
#ifdef KZ_SERIAL
	kz_element total = kz_neutral();
	for (kz_i64 begin = first; begin < end; begin += SEGMENT) {
		total = kz_op(total, kz_total(from, begin, KZ_SEGMENT_END(begin)));
	}
	totals[blockIdx.x] = total;
#else
	__shared__ __align__(16) unsigned char room[SEGMENTS * sizeof(kz_element)];
	kz_element *parts = (kz_element *)room;
	const kz_i64 begin = first + threadIdx.x * SEGMENT;
	parts[threadIdx.x] = kz_total(from, begin, KZ_SEGMENT_END(begin));
	__syncthreads();
	if (threadIdx.x == 0) {
		kz_element total = kz_neutral();
		for (int i = 0; i < SEGMENTS && first + i * SEGMENT < end; i++) {
			total = kz_op(total, parts[i]);
		}
		totals[blockIdx.x] = total;
	}
#endif
}
#endif

/* The scan, after the prefix of each chunk. */
#ifdef KZ_SCAN
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *from,
	const kz_element *prefixes, kz_i64 n, kz_i64 chunks, int exclusive)
{
	KZ_PLACE;
	const kz_element before = prefixes ? prefixes[blockIdx.x] : kz_neutral();
#ifdef KZ_SERIAL
	kz_element segment = kz_neutral();
	for (kz_i64 begin = first; begin < end; begin += SEGMENT) {
		segment = kz_op(segment, kz_write(to, from, begin, KZ_SEGMENT_END(begin), before,
			segment, exclusive));
	}
#else
	__shared__ __align__(16) unsigned char room[SEGMENTS * sizeof(kz_element)];
	kz_element *parts = (kz_element *)room;
	const kz_i64 begin = first + threadIdx.x * SEGMENT;
	parts[threadIdx.x] = kz_total(from, begin, KZ_SEGMENT_END(begin));
	__syncthreads();
	if (threadIdx.x == 0) {
		kz_element sum = kz_neutral();
		for (int i = 0; i < SEGMENTS && first + i * SEGMENT < end; i++) {
			const kz_element part = parts[i];
			parts[i] = sum;
			sum = kz_op(sum, part);
		}
	}
	__syncthreads();
	if (begin < end) {
		kz_write(to, from, begin, KZ_SEGMENT_END(begin), before, parts[threadIdx.x],
			exclusive);
	}
#endif
}
#endif

/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/lib/ops/indexing.c, after chunks.cuh.  Elements are kz_element, an opaque type of
 * their size; indexes are int64.  One of KZ_CHECK, KZ_TAKE, ... says which kernel is wanted.
 *
 * A serial thread goes along rows: a loop over one row has neither divisions nor branches, and
 * becomes vectors.
 */
#define PART 512 /* elements that a serial thread has in memory of its own */

#ifdef KZ_CHECK
/* The first place whose index is out of range; *bad begins as the largest number.  Mostly there is
 * none, so a first loop only asks whether there is one. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_i64 *indexes, kz_i64 count, kz_i64 low,
	kz_i64 extent, unsigned long long *bad)
{
	typedef unsigned long long u64;
	KZ_CHUNK(count);
	const u64 range = (u64)extent - (u64)low;
	int any = 0;
	KZ_FOR(i, begin, end) {
		any |= (u64)indexes[i] - (u64)low >= range;
	}
	if (any) {
		KZ_FOR(i, begin, end) {
			if ((u64)indexes[i] - (u64)low >= range) {
				atomicMin(bad, (u64)i);
			}
		}
	}
}

#endif

/* 0: checked before, 1: wrap, 2: clip */
static __device__ inline kz_i64 kz_index(kz_i64 index, kz_i64 extent, int mode)
{
	if (mode == 1) {
		index %= extent;
	} else if (mode == 2) {
		return index < 0 ? 0 : index < extent ? index : extent - 1;
	}
	return index < 0 ? index + extent : index;
}

#if defined(KZ_SERIAL) && (defined(KZ_TAKE) || defined(KZ_TAKE_ALONG))
/* to[i] = from[index i * step + i * move].  This stays a loop over elements: a gather instruction
 * takes longer than as many loads on many processors. */
static __device__ __forceinline__ void kz_gather_by(kz_element *to, const kz_element *from,
	const kz_i64 *indexes, kz_i64 count, kz_i64 extent, kz_i64 step, kz_i64 move, int mode)
{
	_Pragma("unroll 4") for (kz_i64 i = 0; i < count; i++) {
		to[i] = from[kz_index(indexes[i], extent, mode) * step + i * move];
	}
}
static __device__ __forceinline__ void kz_gather(kz_element *to, const kz_element *from,
	const kz_i64 *indexes, kz_i64 count, kz_i64 extent, kz_i64 step, kz_i64 move, int mode)
{
	if (mode == 0) {
		kz_gather_by(to, from, indexes, count, extent, step, move, 0);
	} else {
		kz_gather_by(to, from, indexes, count, extent, step, move, mode);
	}
}
#endif

#ifdef KZ_TAKE
/* to(outer, count, inner) = from(outer, extent, inner) */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *from,
	const kz_i64 *indexes, kz_i64 total, kz_i64 count, kz_i64 extent, kz_i64 inner, int mode)
{
	KZ_CHUNK(total);
#ifdef KZ_SERIAL
	const kz_i64 row = begin / inner, outer = row / count;
	kz_i64 j = row - outer * count, skip = begin - row * inner, length;
	from += outer * extent * inner;
	for (kz_i64 at = begin; at < end; at += length) {
		if (inner == 1) {
			length = kz_min(count - j, end - at);
			kz_gather(to + at, from, indexes + j, length, extent, 1, 0, mode);
			j += length;
		} else {
			const kz_element *row = from + kz_index(indexes[j++], extent, mode) * inner
				+ skip;
			length = kz_min(inner - skip, end - at);
			_Pragma("unroll 1") for (kz_i64 i = 0; i < length; i++) {
				to[at + i] = row[i];
			}
			skip = 0;
		}
		if (j == count) {
			j = 0;
			from += extent * inner;
		}
	}
#else
	KZ_FOR(i, begin, end) {
		const kz_i64 row = inner == 1 ? i : kz_divide(i, inner),
			outer = kz_divide(row, count);
		const kz_i64 index = kz_index(indexes[row - outer * count], extent, mode);
		to[i] = from[(outer * extent + index) * inner + (i - row * inner)];
	}
#endif
}

#endif

#ifdef KZ_TAKE_ALONG
/* to(outer, count, inner) = from(outer, extent, inner), with an index for each element */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *from,
	const kz_i64 *indexes, kz_i64 total, kz_i64 count, kz_i64 extent, kz_i64 inner, int mode)
{
	KZ_CHUNK(total);
#ifdef KZ_SERIAL
	const kz_i64 line = inner == 1 ? count : inner, lines = inner == 1 ? 1 : count;
	const kz_i64 row = begin / line, outer = row / lines;
	kz_i64 j = row - outer * lines, skip = begin - row * line, length;
	from += outer * extent * inner;
	for (kz_i64 at = begin; at < end; at += length) {
		length = kz_min(line - skip, end - at);
		if (inner == 1) {
			kz_gather(to + at, from, indexes + at, length, extent, 1, 0, mode);
		} else {
			kz_gather(to + at, from + skip, indexes + at, length, extent, inner, 1,
				mode);
		}
		skip = 0;
		if (++j == lines) {
			j = 0;
			from += extent * inner;
		}
	}
#else
	KZ_FOR(i, begin, end) {
		const kz_i64 row = kz_divide(i, inner), index = kz_index(indexes[i], extent, mode);
		to[i] = from[(kz_divide(row, count) * extent + index) * inner + (i - row * inner)];
	}
#endif
}

#endif

#ifdef KZ_PUT
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *values,
	const kz_i64 *indexes, kz_i64 count, kz_i64 value_count, kz_i64 extent, int mode)
{
	KZ_CHUNK(count);
#ifdef KZ_SERIAL
	kz_i64 from = begin % value_count;
	KZ_FOR(i, begin, end) {
		to[kz_index(indexes[i], extent, mode)] = values[from];
		from = from + 1 == value_count ? 0 : from + 1;
	}
#else
	KZ_FOR(i, begin, end) {
		to[kz_index(indexes[i], extent, mode)]
			= values[i - kz_divide(i, value_count) * value_count];
	}
#endif
}

#endif

#ifdef KZ_COUNT
/* How many bytes of each chunk are not 0. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_i64 *counts, const unsigned char *mask,
	kz_i64 count)
{
	KZ_CHUNK(count);
#ifdef KZ_SERIAL
	int found = 0;
	KZ_FOR(i, begin, end) {
		found += mask[i] != 0;
	}
	counts[blockIdx.x] = found;
#else
	__shared__ int found;
	if (threadIdx.x == 0) {
		found = 0;
	}
	__syncthreads();
	int mine = 0;
	KZ_FOR(i, begin, end) {
		mine += mask[i] != 0;
	}
	atomicAdd(&found, mine);
	__syncthreads();
	if (threadIdx.x == 0) {
		counts[blockIdx.x] = found;
	}
#endif
}

#endif

#ifdef KZ_PLACES
/* Where they are; chunk b's go to places[offsets[b]] and on. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_i64 *places, const unsigned char *mask,
	const kz_i64 *offsets, kz_i64 count)
{
	KZ_CHUNK(count);
	kz_i64 at = offsets[blockIdx.x];
#ifdef KZ_SERIAL
	/* A branch would often go the other way than foreseen: each place is written, and those
	 * that do not count are overwritten, in memory that is this thread's. */
	unsigned short part[PART];
	_Pragma("unroll 1") for (kz_i64 first = begin; first < end; first += PART) {
		const unsigned char *from = mask + first;
		const int left = (int)kz_min(end - first, PART);
		int found = 0;
		_Pragma("unroll 16") for (int i = 0; i < left; i++) {
			part[found] = (unsigned short)i;
			found += from[i] != 0;
		}
		_Pragma("unroll 1") for (int i = 0; i < found; i++) {
			places[at + i] = first + part[i];
		}
		at += found;
	}
#else
	/* A block's width at a time: those of lower lanes and warps come first. */
	__shared__ int warps[KZ_THREADS / 32];
	const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	for (kz_i64 base = begin; base < end; base += KZ_THREADS) {
		const kz_i64 i = base + threadIdx.x;
		const bool set = i < end && mask[i];
		const unsigned votes = __ballot_sync(~0u, set);
		if (lane == 0) {
			warps[warp] = __popc(votes);
		}
		__syncthreads();
		int before = __popc(votes & ((1u << lane) - 1)), all = 0;
		for (int k = 0; k < KZ_THREADS / 32; k++) {
			before += k < warp ? warps[k] : 0;
			all += warps[k];
		}
		if (set) {
			places[at + before] = i;
		}
		at += all;
		__syncthreads();
	}
#endif
}
#endif

#ifdef KZ_SPLIT
/* The places, which rise, along the last of some axes: rest[i] is where they are along it,
 * places[i] becomes where they are along the others. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_i64 *rest, kz_i64 *places, kz_i64 count,
	kz_i64 extent)
{
	KZ_CHUNK(count);
	kz_i64 row = 0, first = 0, last = 0; /* of a thread's last place: its row, and where that
	                                        is */
	KZ_FOR(i, begin, end) {
		const kz_i64 place = places[i];
		if (place >= last) {
			row = kz_divide(place, extent);
			first = row * extent;
			last = first + extent;
		}
		rest[i] = place - first;
		places[i] = row;
	}
}

#endif

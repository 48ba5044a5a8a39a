/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/ops/indexing.c.  Elements are kz_element, an opaque type of their size; indexes are
 * int64.  One of KZ_CHECK, KZ_TAKE, ... says which kernel is wanted.  KZ_SERIAL: one thread per
 * block; else blocks of 256.  Every block has CHUNK elements.
 */
typedef long long kz_i64;
#define CHUNK 8192
#ifdef KZ_SERIAL
#define KZ_BOUNDS __launch_bounds__(1)
#define KZ_FOR(i, first, end) for (kz_i64 i = first; i < end; i++)
#else
#define KZ_BOUNDS __launch_bounds__(256)
#define KZ_FOR(i, first, end) for (kz_i64 i = first + threadIdx.x; i < end; i += blockDim.x)
#endif
#define KZ_CHUNK(count) \
	const kz_i64 begin = (kz_i64)blockIdx.x * CHUNK; \
	const kz_i64 end = begin + CHUNK < count ? begin + CHUNK : count

#ifdef KZ_CHECK
/* The first place whose index is out of range; *bad begins as the largest number. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_i64 *indexes, kz_i64 count, kz_i64 low,
	kz_i64 extent, unsigned long long *bad)
{
	KZ_CHUNK(count);
	KZ_FOR(i, begin, end) {
		if (indexes[i] < low || indexes[i] >= extent) {
			atomicMin(bad, (unsigned long long)i);
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

#ifdef KZ_TAKE
/* to(outer, count, inner) = from(outer, extent, inner) */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *from,
	const kz_i64 *indexes, kz_i64 total, kz_i64 count, kz_i64 extent, kz_i64 inner, int mode)
{
	KZ_CHUNK(total);
	KZ_FOR(i, begin, end) {
		const kz_i64 row = i / inner, outer = row / count;
		const kz_i64 index = kz_index(indexes[row - outer * count], extent, mode);
		to[i] = from[(outer * extent + index) * inner + (i - row * inner)];
	}
}

#endif

#ifdef KZ_TAKE_ALONG
/* to(outer, count, inner) = from(outer, extent, inner), with an index for each element */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *from,
	const kz_i64 *indexes, kz_i64 total, kz_i64 count, kz_i64 extent, kz_i64 inner, int mode)
{
	KZ_CHUNK(total);
	KZ_FOR(i, begin, end) {
		const kz_i64 row = i / inner, index = kz_index(indexes[i], extent, mode);
		to[i] = from[(row / count * extent + index) * inner + (i - row * inner)];
	}
}

#endif

#ifdef KZ_PUT
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *values,
	const kz_i64 *indexes, kz_i64 count, kz_i64 value_count, kz_i64 extent, int mode)
{
	KZ_CHUNK(count);
	KZ_FOR(i, begin, end) {
		to[kz_index(indexes[i], extent, mode)] = values[i % value_count];
	}
}

#endif

#ifdef KZ_COUNT
/* How many bytes of each chunk are not 0. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_i64 *counts, const unsigned char *mask, kz_i64 count)
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
	KZ_FOR(i, begin, end) {
		if (mask[i]) {
			places[at++] = i;
		}
	}
#else
	/* 256 at a time: those of lower lanes and warps come first. */
	__shared__ int warps[8];
	const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	for (kz_i64 base = begin; base < end; base += 256) {
		const kz_i64 i = base + threadIdx.x;
		const bool set = i < end && mask[i];
		const unsigned votes = __ballot_sync(~0u, set);
		if (lane == 0) {
			warps[warp] = __popc(votes);
		}
		__syncthreads();
		int before = __popc(votes & ((1u << lane) - 1)), all = 0;
		for (int k = 0; k < 8; k++) {
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

/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/lib/ops/scan.c, over `rows` of n elements without gaps.  Sixteen elements are a
 * segment, sixteen segments a group, sixteen groups a chunk; each block has a chunk.  At each level
 * totals are combined one after the other, and
 *
 *	element = (prefix of the chunk  op  (of the group in it  op  of the segment in that))
 *		op  element within the segment
 *
 * KZ_SERIAL: one thread does the segments one after the other.  Else each of 256 threads has one,
 * and elements go through shared memory, so that threads side by side read and write side by side.
 *
 * kz_op(a, b), kz_neutral() and kz_element come before this text.
 */
typedef long long kz_i64;
#define FEW 16
#define GROUP (FEW * FEW)
#define SEGMENTS GROUP
static_assert(KZ_TILE_SIZE == FEW * GROUP, "a chunk is sixteen groups");

/* Which chunk of a row a block has.  Threads begin with the last one, which was read last
 * before. */
#ifdef KZ_SERIAL
#define KZ_AT blockIdx.x
#else
#define KZ_AT (gridDim.x - 1 - blockIdx.x)
#endif
#define KZ_PLACE \
	const kz_i64 at = KZ_AT, row = at / chunks, chunk = at % chunks; \
	const kz_i64 first = row * n + chunk * KZ_TILE_SIZE; \
	const int count = (chunk + 1) * KZ_TILE_SIZE < n ? KZ_TILE_SIZE \
	: (int)(n - chunk * KZ_TILE_SIZE)

#define KZ_BOUNDS __launch_bounds__(KZ_THREADS)
#ifdef KZ_SERIAL

static __device__ inline kz_element kz_total(const kz_element *from, int count)
{
	kz_element total = from[0];
	for (int i = 1; i < count; i++) {
		total = kz_op(total, from[i]);
	}
	return total;
}

/* Scan a segment after its prefix; its total. */
static __device__ inline kz_element kz_write(kz_element *to, const kz_element *from, int count,
	kz_element prefix, int exclusive)
{
	kz_element local = from[0];
	to[0] = exclusive ? prefix : kz_op(prefix, local);
	for (int i = 1; i < count; i++) {
		const kz_element next = kz_op(local, from[i]);
		to[i] = kz_op(prefix, exclusive ? local : next);
		local = next;
	}
	return local;
}

/* body(at, count, prefix) for each segment, of which it gives the total; the total of all. */
template <class Body> static __device__ __forceinline__ kz_element kz_each(int count, Body body)
{
	kz_element groups = kz_neutral();
	for (int group = 0; group < count; group += GROUP) {
		const int end = group + GROUP < count ? group + GROUP : count;
		kz_element segments = kz_neutral();
		for (int i = group; i < end; i += FEW) {
			segments = kz_op(segments, body(i, end - i < FEW ? end - i : FEW,
				groups, segments));
		}
		groups = kz_op(groups, segments);
	}
	return groups;
}

#ifdef KZ_TOTALS
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *totals, const kz_element *from, kz_i64 n,
	kz_i64 chunks)
{
	KZ_PLACE;
	totals[at] = kz_each(count, [&](int i, int size, kz_element, kz_element) {
		return kz_total(from + first + i, size);
	});
}
#else
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *from,
	const kz_element *prefixes, kz_i64 n, kz_i64 chunks, int exclusive)
{
	KZ_PLACE;
	const kz_element before = prefixes ? prefixes[at] : kz_neutral();
	kz_each(count, [&](int i, int size, kz_element groups, kz_element segments) {
		return kz_write(to + first + i, from + first + i, size,
			kz_op(before, kz_op(groups, segments)), exclusive);
	});
}
#endif

#else /* KZ_SERIAL */
/* Between segments, so that threads at the same place in each find it in different banks. */
#define KZ_PAD(i) ((i) + (i) / FEW)

/* The shared memory of a block.  Wide elements have no room there, and fill what is read at
 * once. */
#define KZ_STAGED (sizeof(kz_element) <= 8)
struct kz_room {
	kz_element all[KZ_STAGED ? KZ_PAD(KZ_TILE_SIZE) : 1];
	kz_element segments[SEGMENTS], groups[FEW];
};

/* Scan this thread's segment, which has `left` of the `count` elements; its total is in `room`,
 * too. */
static __device__ inline void kz_scan(kz_element *local, kz_room &room, const kz_element *from,
	int count, int left)
{
	const int t = threadIdx.x;
	const kz_element *mine = KZ_STAGED ? room.all + t * (FEW + 1) : from + t * FEW;
	kz_element total = kz_neutral();
	_Pragma("unroll") for (int k = 0; KZ_STAGED && k < FEW; k++) {
		const int i = k * SEGMENTS + t;
		if (i < count) {
			room.all[KZ_PAD(i)] = from[i];
		}
	}
	__syncthreads();
	_Pragma("unroll") for (int i = 0; i < FEW; i++) {
		if (i < left) {
			total = i ? kz_op(total, mine[i]) : mine[i];
		}
		local[i] = total;
	}
	room.segments[t] = total;
	__syncthreads();
}

/* Write it after its prefix. */
static __device__ inline void kz_write(kz_element *to, const kz_element *local, kz_room &room,
	int count, int left, kz_element prefix, int exclusive)
{
	const int t = threadIdx.x;
	kz_element *mine = KZ_STAGED ? room.all + t * (FEW + 1) : to + t * FEW;
	_Pragma("unroll") for (int i = 0; i < FEW; i++) {
		if (i < left) {
			mine[i] = !exclusive ? kz_op(prefix, local[i])
				: i ? kz_op(prefix, local[i ? i - 1 : 0]) : prefix;
		}
	}
	__syncthreads();
	_Pragma("unroll") for (int k = 0; KZ_STAGED && k < FEW; k++) {
		const int i = k * SEGMENTS + t;
		if (i < count) {
			to[i] = room.all[KZ_PAD(i)];
		}
	}
}

/* What `count` values amount to. */
static __device__ inline kz_element kz_fold(const kz_element *values, int count)
{
	kz_element all = kz_neutral();
	_Pragma("unroll") for (int i = 0; i < FEW; i++) {
		if (i < count) {
			all = kz_op(all, values[i]);
		}
	}
	return all;
}

/* How many of `count` elements, in parts of `size`, there are from part `at` on: of parts, at most
 * 16. */
static __device__ inline int kz_parts(int count, int at, int size)
{
	const int parts = (count + size - 1) / size - at;
	return parts < 0 ? 0 : parts < FEW ? parts : FEW;
}

#ifdef KZ_TOTALS
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *totals, const kz_element *from, kz_i64 n,
	kz_i64 chunks)
{
	KZ_PLACE;
	__shared__ __align__(16) unsigned char bytes[sizeof(kz_room)];
	kz_room &room = *(kz_room *)bytes;
	const int t = threadIdx.x;
	kz_element local[FEW];
	kz_scan(local, room, from + first, count, count - t * FEW);
	if (t < FEW) {
		room.groups[t] = kz_fold(room.segments + t * FEW, kz_parts(count, t * FEW, FEW));
	}
	__syncthreads();
	if (t == 0) {
		totals[at] = kz_fold(room.groups, kz_parts(count, 0, GROUP));
	}
}
#else
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *from,
	const kz_element *prefixes, kz_i64 n, kz_i64 chunks, int exclusive)
{
	KZ_PLACE;
	__shared__ __align__(16) unsigned char bytes[sizeof(kz_room)];
	kz_room &room = *(kz_room *)bytes;
	const int t = threadIdx.x, group = t / FEW, left = count - t * FEW;
	const kz_element before = prefixes ? prefixes[at] : kz_neutral();
	kz_element local[FEW];
	kz_scan(local, room, from + first, count, left);
	const kz_element segments = kz_fold(room.segments + group * FEW, t % FEW);
	if (t % FEW == FEW - 1 && left > 0) {
		room.groups[group] = kz_op(segments, room.segments[t]);
	}
	__syncthreads();
	const kz_element prefix = kz_op(before, kz_op(kz_fold(room.groups, group), segments));
	kz_write(to + first, local, room, count, left, prefix, exclusive);
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/*
 * Loops over the elements of a block, which has KZ_TILE_SIZE of them.  KZ_SERIAL: one thread has
 * all.
 */
typedef long long kz_i64;
#define KZ_BOUNDS __launch_bounds__(KZ_THREADS)
#ifdef KZ_SERIAL
#define KZ_FOR(i, first, end) _Pragma("unroll 1") for (kz_i64 i = first; i < end; i++)
#else
#define KZ_FOR(i, first, end) for (kz_i64 i = first + threadIdx.x; i < end; i += blockDim.x)
#endif
#define KZ_CHUNK(count) \
	const kz_i64 begin = (kz_i64)blockIdx.x * KZ_TILE_SIZE; \
	const kz_i64 end = begin + KZ_TILE_SIZE < count ? begin + KZ_TILE_SIZE : count

static __device__ inline kz_i64 kz_min(kz_i64 a, kz_i64 b) { return a < b ? a : b; }

/* a / b of numbers that are not negative.  Most are small, and their division is several times as
 * fast. */
static __device__ inline kz_i64 kz_divide(kz_i64 a, kz_i64 b)
{
	return (a | b) >> 32 == 0 ? (kz_i64)((unsigned)a / (unsigned)b) : a / b;
}

/* SPDX-License-Identifier: MIT */
/*
 * Complex numbers in memory, as transforms read and write them.  A form says how they lie: as points,
 * as two real numbers that are `part` bytes apart, or as real numbers alone.
 */
typedef long long kz_i64;
struct __align__(2 * sizeof(kz_real)) kz_point {
	kz_real re, im;
};
enum { KZ_POINTS, KZ_PAIRS, KZ_REALS };

template <int form> static __device__ __forceinline__ kz_point kz_read(const char *at, kz_i64 part)
{
	if (form == KZ_POINTS) {
		return *(const kz_point *)at;
	}
	return kz_point{*(const kz_real *)at, form == KZ_PAIRS ? *(const kz_real *)(at + part) : 0};
}

template <int form> static __device__ __forceinline__ void kz_write(char *at, kz_i64 part, kz_point x)
{
	if (form == KZ_POINTS) {
		*(kz_point *)at = x;
		return;
	}
	*(kz_real *)at = x.re;
	if (form == KZ_PAIRS) {
		*(kz_real *)(at + part) = x.im;
	}
}

/* The thread's place along the axis, of `length` places; out and in move to the beginning of its row. */
template <int threads, class Shape> static __device__ __forceinline__ kz_i64 kz_find_place(const Shape &shape,
	kz_i64 length, char *&out, const char *&in)
{
	const unsigned chunks = (unsigned)((length + threads - 1) / threads);
	kz_i64 other = blockIdx.x / chunks;
	for (int d = (int)shape.ndim - 1; d >= 0; d--) {
		const kz_i64 rest = other / shape.dims[d], at = other - rest * shape.dims[d];
		other = rest;
		out += at * shape.out_strides[d];
		in += at * shape.in_strides[d];
	}
	return (kz_i64)(blockIdx.x % chunks) * threads + threadIdx.x;
}

/* SPDX-License-Identifier: MIT */
/*
 * Complex numbers in memory, as transforms read and write them.  A form says how they lie: as
 * points, as two real numbers that are `part` bytes apart, or as real numbers alone.
 */
typedef long long kz_i64;
enum fft_form { FFT_POINTS, FFT_PAIRS, FFT_REALS };

/*
 * The places of threads, of which a block has `threads` side by side (src/lib/fft/fft_kernel.c).
 * They lie along the axis (KZ_ALONG), or along another one, so that all threads of a block have the
 * same place of the axis.
 */
struct kz_places {
	kz_i64 in_step, out_step;     /* of the axis, in bytes as all strides */
	kz_i64 in_lane, out_lane;     /* from thread to thread, unless they lie along the axis */
	kz_i64 lanes, lane;           /* the threads in all along their direction, and which of
	                                 those below it is */
	kz_i64 axis;
	kz_i64 ndim;                  /* of blocks; the strides of the axis are 0 */
	kz_i64 dims[KZ_DIMS], in_strides[KZ_DIMS], out_strides[KZ_DIMS];
};

#ifdef __CUDACC_RTC__
struct __align__(2 * sizeof(kz_real)) kz_point {
	kz_real re, im;
};

template <int form> static __device__ __forceinline__ kz_point kz_read(const char *at, kz_i64 part)
{
	if (form == FFT_POINTS) {
		return *(const kz_point *)at;
	}
	return kz_point{*(const kz_real *)at,
		form == FFT_PAIRS ? *(const kz_real *)(at + part) : 0};
}

template <int form> static __device__ __forceinline__ void kz_write(char *at, kz_i64 part,
	kz_point x)
{
	if (form == FFT_POINTS) {
		*(kz_point *)at = x;
		return;
	}
	*(kz_real *)at = x.re;
	if (form == FFT_PAIRS) {
		*(kz_real *)(at + part) = x.im;
	}
}

/* Whether the thread has a place, which is k along the axis; out and in move to the beginning of
 * its row. */
template <int threads> static __device__ __forceinline__ bool kz_find_place(kz_i64 &k,
	const kz_places &places, char *&out, const char *&in)
{
	unsigned other = blockIdx.x, chunk = 0;
	int d = (int)places.ndim - 1;
#ifdef KZ_ALONG /* then the axis is the last direction */
	const unsigned chunks = (unsigned)places.dims[d--];
	chunk = other % chunks;
	other /= chunks;
#endif
	for (; d >= 0; d--) {
		const unsigned extent = (unsigned)places.dims[d], at = other % extent;
		other /= extent;
		out += at * places.out_strides[d];
		in += at * places.in_strides[d];
#ifndef KZ_ALONG
		chunk = d == places.lane ? at : chunk;
		k = d == places.axis ? at : k;
#endif
	}
	const kz_i64 lane = (kz_i64)chunk * threads + threadIdx.x;
#ifdef KZ_ALONG
	k = lane;
#else
	out += threadIdx.x * places.out_lane;
	in += threadIdx.x * places.in_lane;
#endif
	return lane < places.lanes;
}
#endif

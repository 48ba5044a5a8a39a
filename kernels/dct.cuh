/* SPDX-License-Identifier: MIT */
/*
 * Cosine transforms: what comes before and after the Fourier transform (src/lib/fft/dct.c).
 *
 * The thread of k reads from `in` and writes to `out`, a row of each.  With e(t) = exp(-2 pi i t),
 * y the result, and n its length:
 *
 *	type 1: a row and its mirror image, whose spectrum is real.
 *	type 2: v is the even elements, then the odd ones backwards, V its spectrum;
 *	        y[k] = 2 Re(e(k / 4n) V[k]).
 *	type 3: type 2 backwards.  V[k] = e(-k / 4n) (x[k] - i x[n - k]), x[n] = 0.
 *	type 4, even n: z[k] = (x[2k] + i x[n - 1 - 2k]) e((4k + 1) / 8n), Z its spectrum of n / 2;
 *		y[2k] - i y[n - 1 - 2k] = 2 e(4k / 8n) Z[k].
 *	type 4, odd n: z[k] = x[k] e(2k / 8n), Z its spectrum of 2n;
 *	        y[k] = 2 Re(e((2k + 1) / 8n) Z[k]).
 *
 * KZ_TYPE is the type, 5 for the last one.  KZ_AFTER: what comes after.  KZ_ORTHO: the first
 * element of type 2, and the first and last one of type 1, are divided by the root of 2; before
 * types 1 and 3 they are multiplied.  roots[k] is e(k / 4n), of type 4 e(k / 8n).
 */
struct kz_dct {
	struct kz_places places;
	kz_i64 length; /* n */
	double scale;
};

#ifdef __CUDACC_RTC__
/* One row. */
struct kz_row {
	char *out;
	const char *in;
	kz_i64 in_step, out_step;
	__device__ __forceinline__ kz_real get(kz_i64 k) const { return *(const kz_real *)(in
		+ k * in_step); }
	__device__ __forceinline__ kz_point get_point(kz_i64 k) const
	{
		return *(const kz_point *)(in + k * in_step);
	}
	__device__ __forceinline__ void put(kz_i64 k,
		kz_real x) const { *(kz_real *)(out + k * out_step) = x; }
	__device__ __forceinline__ void put_point(kz_i64 k, kz_real re, kz_real im) const
	{
		*(kz_point *)(out + k * out_step) = kz_point{re, im};
	}
};

static __device__ __forceinline__ kz_point kz_times(kz_real re, kz_real im, kz_point w)
{
	return kz_point{fma(re, w.re, -(im * w.im)), fma(re, w.im, im * w.re)};
}

static __device__ __forceinline__ kz_real kz_ends(kz_real x, bool is_end, double factor)
{
#ifdef KZ_ORTHO
	return is_end ? x * (kz_real)factor : x;
#else
	return x;
#endif
}

static __device__ __forceinline__ void kz_before(const kz_row &row, kz_i64 k, kz_i64 n,
	const kz_point *roots)
{
	const double root = 1.4142135623730950488016887242097;
#if KZ_TYPE == 1
	const kz_i64 from = k < n ? k : 2 * (n - 1) - k;
	row.put(k, kz_ends(row.get(from), from == 0 || from == n - 1, root));
#elif KZ_TYPE == 2
	row.put(k, row.get(2 * k < n ? 2 * k : 2 * (n - 1 - k) + 1));
#elif KZ_TYPE == 3
	const kz_point w = roots[k];
	const kz_point x = kz_times(kz_ends(row.get(k), k == 0, root), k ? -row.get(n - k) : 0,
		kz_point{w.re, -w.im});
	row.put_point(k, x.re, x.im);
#elif KZ_TYPE == 4
	const kz_point x = kz_times(row.get(2 * k), row.get(n - 1 - 2 * k), roots[4 * k + 1]);
	row.put_point(k, x.re, x.im);
#else
	const kz_real x = k < n ? row.get(k) : 0;
	const kz_point w = roots[k < n ? 2 * k : 0];
	row.put_point(k, x * w.re, x * w.im);
#endif
}

static __device__ __forceinline__ void kz_after(const kz_row &row, kz_i64 k, kz_i64 n,
	kz_real scale, const kz_point *roots)
{
	const double root = 0.70710678118654752440084436210485;
#if KZ_TYPE == 1
	row.put(k, kz_ends(scale * row.get_point(k).re, k == 0 || k == n - 1, root));
#elif KZ_TYPE == 3
	row.put(k, row.get(k % 2 ? n - 1 - k / 2 : k / 2));
#else
	const kz_point a = row.get_point(k);
	const kz_point x = kz_times(2 * a.re, 2 * a.im,
		roots[KZ_TYPE == 2 ? k : KZ_TYPE == 4 ? 4 * k : 2 * k + 1]);
	const kz_i64 mirror = KZ_TYPE == 2 ? n - k : n - 1 - 2 * k;
	row.put(KZ_TYPE == 4 ? 2 * k : k, kz_ends(scale * x.re, KZ_TYPE == 2 && k == 0, root));
	if (KZ_TYPE == 4 || (KZ_TYPE == 2 && k > 0 && mirror > k)) {
		row.put(mirror, -scale * x.im);
	}
#endif
}

extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(char *out, const char *in,
	const kz_point *__restrict__ roots, const __grid_constant__ kz_dct shape)
{
	kz_i64 k = 0;
	if (!kz_find_place<KZ_THREADS>(k, shape.places, out, in)) {
		return;
	}
	const kz_row row = {out, in, shape.places.in_step, shape.places.out_step};
#ifdef KZ_AFTER
	kz_after(row, k, shape.length, (kz_real)shape.scale, roots);
#else
	kz_before(row, k, shape.length, roots);
#endif
}
#endif

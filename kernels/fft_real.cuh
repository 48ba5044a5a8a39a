/* SPDX-License-Identifier: MIT */
/*
 * Between the transform X of n real numbers and the transform Z of n / 2 complex ones, the even
 * numbers plus i times the odd ones.  With M = n / 2, w = exp(-2 pi i / n) and k from 0 to M:
 *
 *	2 X[k] = Z[k] + conj(Z[M - k]) - i w^k (Z[k] - conj(Z[M - k]))
 *	2 Z[k] = X[k] + conj(X[M - k]) + i w^-k (X[k] - conj(X[M - k]))
 *
 * KZ_JOB 0: Z in `out` becomes X, scaled already.  1: X of `in` becomes 2 Z in `out`.  Each thread
 * has k and M - k.  For odd n there is no Z.  2: `out` gets the first elements of `in`.  3: all n
 * elements, of which `in` has the first half.
 */
struct kz_half {
	struct kz_places places;
	kz_i64 length; /* M, or n */
};

#ifdef __CUDACC_RTC__
/* a + conj(b) + w (a - conj(b)) */
static __device__ __forceinline__ kz_point kz_mix(kz_point a, kz_point b, kz_point w)
{
	const kz_real sum_re = a.re + b.re, sum_im = a.im - b.im;
	const kz_real re = a.re - b.re, im = a.im + b.im;
	return kz_point{sum_re + fma(re, w.re, -(im * w.im)), sum_im + fma(re, w.im, im * w.re)};
}

extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(char *out, const char *in,
	const kz_point *__restrict__ roots, const __grid_constant__ kz_half shape)
{
	kz_i64 k = 0;
	if (!kz_find_place<KZ_THREADS>(k, shape.places, out, in)) {
		return;
	}
#if KZ_JOB < 2
	const kz_i64 mirror = shape.length - k;
	kz_point w = roots[k];
#if KZ_JOB == 0
	char *from = out;
	const kz_i64 step = shape.places.out_step;
	w = kz_point{w.im, -w.re}; /* -i w */
	const kz_point a = *(kz_point *)(from + k * step);
	const kz_point b = *(kz_point *)(from + (k ? mirror : 0) * step);
	const kz_real half = (kz_real)0.5;
#else
	const char *from = in;
	const kz_i64 step = shape.places.in_step;
	w = kz_point{w.im, w.re}; /* i / w */
	kz_point a = *(const kz_point *)(from + k * step),
		b = *(const kz_point *)(from + mirror * step);
	const kz_real half = 1;
	if (k == 0) { /* real, whatever the caller says */
		a.im = 0;
		b.im = 0;
	}
#endif
	/* For M - k a and b change places, and the factor is conjugated. */
	kz_point x = kz_mix(a, b, w), y = kz_mix(b, a, kz_point{w.re, -w.im});
	x.re *= half, x.im *= half;
	y.re *= half, y.im *= half;
	*(kz_point *)(out + k * shape.places.out_step) = x;
	if (KZ_JOB == 0 || k > 0) {
		*(kz_point *)(out + mirror * shape.places.out_step) = y;
	}
#elif KZ_JOB == 2
	*(kz_point *)(out + k * shape.places.out_step) =
		*(const kz_point *)(in + k * shape.places.in_step);
#else
	kz_point x = *(const kz_point *)(in + (2 * k > shape.length ? shape.length - k : k)
		* shape.places.in_step);
	if (2 * k > shape.length) {
		x.im = -x.im;
	} else if (k == 0) {
		x.im = 0;
	}
	*(kz_point *)(out + k * shape.places.out_step) = x;
#endif
}
#endif

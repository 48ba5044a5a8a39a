/* SPDX-License-Identifier: MIT */
/*
 * Bluestein's algorithm: products with chirps around a convolution.
 *
 * KZ_STEP 0: out[j] = in[j] chirp[j], and 0 from `inner` on.  1: out[j] *= chirp[j].  2: out[j] =
 * in[j] chirp[j] scale.  KZ_INVERSE exchanges real and imaginary parts of what steps 0 reads and 2
 * writes.
 */
struct kz_chirp {
	struct kz_places places;
	kz_i64 inner;                 /* elements of a row of `in` */
	kz_i64 in_part, out_part;
	double scale;
};

#ifdef __CUDACC_RTC__
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(char *out, const char *in,
	const kz_point *__restrict__ chirp, const __grid_constant__ kz_chirp shape)
{
	kz_i64 j = 0;
	if (!kz_find_place<KZ_THREADS>(j, shape.places, out, in)) {
		return;
	}
	kz_point x = {0, 0};
	if (j < shape.inner) {
		const kz_point a = kz_read<KZ_IN_FORM>(in + j * shape.places.in_step,
			shape.in_part), w = chirp[j];
#if KZ_STEP == 0 && defined(KZ_INVERSE)
		const kz_real re = a.im, im = a.re;
#else
		const kz_real re = a.re, im = a.im;
#endif
		x.re = fma(re, w.re, -(im * w.im));
		x.im = fma(re, w.im, im * w.re);
	}
#if KZ_STEP == 2
	x.re *= (kz_real)shape.scale;
	x.im *= (kz_real)shape.scale;
#endif
#if KZ_STEP == 2 && defined(KZ_INVERSE)
	x = kz_point{x.im, x.re};
#endif
	kz_write<KZ_OUT_FORM>(out + j * shape.places.out_step, shape.out_part, x);
}
#endif

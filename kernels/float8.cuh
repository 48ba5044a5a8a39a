/* SPDX-License-Identifier: MIT */
/*
 * The 8-bit floats of generated kernels: bytes that are moved and converted, never computed with.
 * Conversions are those of CUDA's cuda_fp8.h with __NV_SATFINITE: to the nearest, halves to even;
 * what is too large becomes the largest number, and a NaN 0x7f.
 */
struct kz_e4m3 { unsigned char bits; };
struct kz_e5m2 { unsigned char bits; };
__device__ inline float kz_float(kz_e4m3 a)
{
	const int exponent = a.bits >> 3 & 15, fraction = a.bits & 7;
	const float scale = __int_as_float((exponent + !exponent + 117) << 23);
	const float size = (a.bits & 127) == 127 ? __int_as_float(0x7fffffff)
		: (float)(exponent ? fraction + 8 : fraction) * scale;
	return a.bits & 128 ? -size : size;
}
/* It is the upper half of a float16. */
__device__ inline float kz_float(kz_e5m2 a)
{
	const kz_f16 half = {(unsigned short)(a.bits << 8)};
	return kz_float(half);
}
/* A float as an exponent and a few bits of fraction.  `bias` is how much smaller the exponents are
 * than those of floats, and `last` is the largest number. */
template <int fraction, int bias, int last> __device__ inline unsigned char kz_byte(float a)
{
	const int shift = 23 - fraction;
	const unsigned int bits = (unsigned int)__float_as_int(a), size = bits & 0x7fffffff;
	const unsigned char sign = (unsigned char)(bits >> 24 & 128);
	unsigned int code;
	if (a != a) {
		return 0x7f;
	}
	if (size < (unsigned int)(bias + 1) << 23) { // subnormal: a multiple of the least number
		const float unit = __int_as_float((127 + 126 + fraction - bias) << 23);
		code = (unsigned int)__float2int_rn(__int_as_float((int)size) * unit);
	} else {
		code = (size + (1u << (shift - 1)) - 1 + (size >> shift & 1)) >> shift;
		code -= (unsigned int)bias << fraction;
	}
	return sign | (unsigned char)(code < (unsigned int)last ? code : last);
}
/* kz_odd: a double or an integer is rounded once. */
template <class T> __device__ kz_e4m3 kz_to_e4m3(T a)
{
	const kz_e4m3 out = {kz_byte<3, 120, 0x7e>(kz_odd(a))};
	return out;
}
template <class T> __device__ kz_e5m2 kz_to_e5m2(T a)
{
	const kz_e5m2 out = {kz_byte<2, 112, 0x7b>(kz_odd(a))};
	return out;
}

/* SPDX-License-Identifier: MIT */
/* Numbers of any real type in generated kernels; what differs for floats and doubles. */
#ifndef KZ_REAL_CUH
#define KZ_REAL_CUH
template <class T> __device__ T kz_zero(T) { return (T)0; }
template <class T> __device__ T kz_maximum(T a, T b) { return a >= b || a != a ? a : b; }
template <class T> __device__ T kz_minimum(T a, T b) { return a <= b || a != a ? a : b; }
template <class T> __device__ T kz_sign(T a) { return a != a ? a : (T)((a > 0) - (a < 0)); }
__device__ inline bool kz_is_finite(float a) { return (__float_as_int(a) & 0x7f800000)
	!= 0x7f800000; }
__device__ inline bool kz_is_finite(double a)
{
	return (__double2hiint(a) & 0x7ff00000) != 0x7ff00000;
}
template <class T> __device__ bool kz_is_infinite(T a) { return a == a && !kz_is_finite(a); }
__device__ inline bool kz_signbit(float a) { return __float_as_int(a) < 0; }
__device__ inline bool kz_signbit(double a) { return __double2hiint(a) < 0; }
/* fmod, which is exact.  So is this where the quotient is small: rounded, it is at most 1 too large
 * as an integer, and what is left of a is a multiple of b's last digit and below b. */
template <class T> __device__ T kz_fmod_real(T a, T b)
{
	const T x = fabs(a), y = fabs(b), quotient = x / y;
	if (quotient < (T)(sizeof(T) == 4 ? 0x1p22 : 0x1p51)) {
		const T whole = trunc(quotient); /* 0 also where y is infinite */
		const T rest = whole == 0 ? x : fma(-whole, y, x);
		return copysign(rest < 0 ? rest + y : rest, a);
	}
	return fmod(a, b);
}
/* Python's: the remainder has the divisor's sign, also where it is 0. */
template <class T> __device__ T kz_remainder(T a, T b)
{
	T rest = kz_fmod_real(a, b);
	if (b == 0 || rest != rest) {
		return rest;
	}
	return rest == 0 ? copysign((T)0, b) : (rest < 0) != (b < 0) ? rest + b : rest;
}
template <class T> __device__ T kz_floor_divide(T a, T b)
{
	if (b == 0) {
		return a / b;
	}
	T rest = kz_fmod_real(a, b);
	T quotient = (a - rest) / b;
	if (rest != 0 && (rest < 0) != (b < 0)) {
		quotient -= 1;
	}
	if (quotient == 0) {
		return copysign((T)0, a / b);
	}
	T whole = floor(quotient);
	return quotient - whole > (T)0.5 ? whole + 1 : whole;
}
template <class T> __device__ T kz_ldexp(T a, long long b)
{
	return ldexp(a, (int)(b > 10000 ? 10000 : b < -10000 ? -10000 : b));
}
template <class T> __device__ T kz_ldexp(T a, unsigned long long b)
{
	return ldexp(a, (int)(b > 10000 ? 10000 : b));
}
template <class T> __device__ T kz_frexp_fraction(T a) { int e; return frexp(a, &e); }
template <class T> __device__ int kz_frexp_exponent(T a)
{
	int e = 0;
	if (kz_is_finite(a)) {
		frexp(a, &e);
	}
	return e;
}
template <class T> __device__ T kz_modf_fraction(T a)
{
	return kz_is_infinite(a) ? copysign((T)0, a) : copysign(a - trunc(a), a);
}
template <class T> __device__ T kz_degrees(T a) { return a * (T)(180 / 3.14159265358979323846); }
template <class T> __device__ T kz_radians(T a) { return a * (T)(3.14159265358979323846 / 180); }
template <class T> __device__ T kz_angle(T a)
{
	return a != a ? a : kz_signbit(a) ? (T)3.14159265358979323846 : (T)0;
}
/* The cube root of a, within 0.51 units in the last place.  CUDA's own goes by the logarithm, which
 * a CPU has not.  r comes near x^(-1/3) by a third of the exponent, and nearer by two or three
 * steps of the series of (1 - h)^(-1/3), h = 1 - x r^3.  Then y = x r^2 takes one step of Newton's
 * method, for which y y is known in two parts.  No step divides.  Small numbers are scaled, so that
 * no part is lost. */
__device__ inline float kz_root_seed(float x)
{
	return __int_as_float(0x54a2fa8c - (int)((float)__float_as_int(x) * (1 / 3.0f)));
}
__device__ inline double kz_root_seed(double x)
{
	return __hiloint2double(0x553f0000 - (int)(__double2hiint(x) * (1 / 3.0)), 0);
}
template <class T> __device__ T kz_cbrt(T a)
{
	const bool is_float = sizeof(T) == 4;
	const T size = fabs(a), small = (T)(is_float ? 0x1p-90 : 0x1p-900);
	const T x = size < small ? size * (T)(is_float ? 0x1p48 : 0x1p144) : size;
	T r = kz_root_seed(x);
	_Pragma("unroll") for (int i = 0; i < (is_float ? 2 : 3); i++) {
		const T h = fma(-(x * r), r * r, (T)1);
		r = fma(r * h, fma(h, (T)(2 / 9.0), (T)(1 / 3.0)), r);
	}
	T y = x * (r * r);
	const T square = y * y, rest = fma(-square, y, x) - fma(y, y, -square) * y;
	y = fma(rest * (r * r), (T)(1 / 3.0), y);
	y *= size < small ? (T)(is_float ? 0x1p-16 : 0x1p-48) : (T)1;
	return a == 0 || !kz_is_finite(a) ? a : copysign(y, a);
}
template <class T> __device__ T kz_heaviside(T a, T b)
{
	return a != a ? a : a == 0 ? b : a < 0 ? (T)0 : (T)1;
}
#endif

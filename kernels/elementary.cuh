/* SPDX-License-Identifier: MIT */
/*
 * Exponentials and logarithms of floats and doubles, without branches, so that a CPU computes many
 * at a time.  CUDA's own begin with instructions of a GPU that a CPU has not (approximate
 * reciprocals, rounding downwards), or choose between ways.
 *
 * An exponential takes a = n ln 2 + r, |r| <= ln 2 / 2, and a polynomial of r.  A logarithm takes
 * x = 2^k (1 + f), 1 + f from sqrt(1/2) to sqrt(2), and log(1 + f) = 2 atanh(s), s = f / (2 + f).
 * The coefficients are minimax, by Remez' algorithm.  Bounds are in units in the last place.
 */
#ifndef KZ_ELEMENTARY_CUH
#define KZ_ELEMENTARY_CUH
template <class T> struct kz_format;
template <> struct kz_format<float> {
	typedef unsigned int word;
	enum { digits = 23, bias = 127 };
};
template <> struct kz_format<double> {
	typedef unsigned long long word;
	enum { digits = 52, bias = 1023 };
};
__device__ inline unsigned int kz_word(float a) { return (unsigned int)__float_as_int(a); }
__device__ inline unsigned long long kz_word(double a)
{
	return (unsigned long long)__double_as_longlong(a);
}
__device__ inline float kz_number(unsigned int bits) { return __int_as_float((int)bits); }
__device__ inline double kz_number(unsigned long long bits)
{
	return __longlong_as_double((long long)bits);
}
/* 2^n; only the last bits of n count. */
__device__ inline float kz_exponent(unsigned int n) { return kz_number((n + 127) << 23); }
__device__ inline double kz_exponent(unsigned long long n) { return kz_number((n + 1023) << 52); }

/* 2^n 2^f, |f| <= 0.5, of shifted = n + 1.5 2^23, whose last bits are n.  2^n has two halves, since
 * n may leave the range of one float. */
__device__ inline float kz_exp2_sum(float shifted, float f)
{
	float p = 0x1.41d334p-13f;
	p = fmaf(p, f, 0x1.5f456ap-10f);
	p = fmaf(p, f, 0x1.3b2dbcp-7f);
	p = fmaf(p, f, 0x1.c6aed4p-5f);
	p = fmaf(p, f, 0x1.ebfbdap-3f);
	p = fmaf(p, f, 0x1.62e430p-1f);
	p = fmaf(p, f, 1.0f);
	const int whole = __float_as_int(shifted) - 0x4b400000, half = whole >> 1;
	return p * __int_as_float((half + 127) << 23) * __int_as_float((whole - half + 127) << 23);
}
/* e^a = 2^n 2^f to 1.2 units in the last place.  To add 1.5 2^23 rounds to integers; f comes from
 * log2(e) in two parts. */
__device__ inline float kz_exp(float a)
{
	const float x = a > 89.0f ? 89.0f : a < -104.0f ? -104.0f : a;
	const float shifted = fmaf(x, 0x1.715476p+0f, 0x1.8p+23f), n = shifted - 0x1.8p+23f;
	const float f = fmaf(x, 0x1.4ae0c0p-26f, fmaf(x, 0x1.715476p+0f, -n));
	return kz_exp2_sum(shifted, f);
}
/* (e^r - 1 - r) / r^2 */
__device__ inline float kz_exp_series(float r)
{
	float p = 0x1.6d75eep-10f;
	p = fmaf(p, r, 0x1.120be6p-7f);
	p = fmaf(p, r, 0x1.5554b8p-5f);
	p = fmaf(p, r, 0x1.5554dcp-3f);
	return fmaf(p, r, 0.5f);
}
__device__ inline double kz_exp_series(double r)
{
	double p = 0x1.af63a06ec766ep-26;
	p = fma(p, r, 0x1.2891d676885b5p-22);
	p = fma(p, r, 0x1.71ddf6757d7e1p-19);
	p = fma(p, r, 0x1.a019b8c8be1fbp-16);
	p = fma(p, r, 0x1.a01a01b02246cp-13);
	p = fma(p, r, 0x1.6c16c1789d8a0p-10);
	p = fma(p, r, 0x1.111111110f7d5p-7);
	p = fma(p, r, 0x1.5555555553d35p-5);
	p = fma(p, r, 0x1.5555555555558p-3);
	return fma(p, r, 0x1.0000000000001p-1);
}
/* a = n ln 2 + high + low, n in the last bits of `shifted`.  high has no error: its part of ln 2
 * has so few digits that n times it is a number. */
template <class T> struct kz_reduced {
	T shifted, high, low;
	__device__ kz_reduced(T a)
	{
		const bool is_float = sizeof(T) == 4;
		const T magic = (T)(is_float ? 0x1.8p+23 : 0x1.8p+52);
		shifted = fma(a, (T)0x1.71547652b82fep+0, magic);
		const T n = shifted - magic;
		high = fma(n, (T)(is_float ? -0x1.62e4p-1 : -0x1.62e42fefa3800p-1), a);
		low = n * (T)(is_float ? -0x1.7f7d1cp-20 : -0x1.ef35793c76730p-45);
	}
};
/* 1.1; 2^n in two halves, as above. */
__device__ inline double kz_exp(double a)
{
	const kz_reduced<double> x(a > 710.0 ? 710.0 : a < -746.0 ? -746.0 : a);
	const double r = x.high + x.low, p = fma(r * r, kz_exp_series(r), r) + 1;
	const unsigned long long whole = kz_word(x.shifted);
	const unsigned long long half = kz_word(fma(x.shifted - 0x1.8p+52, 0.5, 0x1.8p+52));
	return p * kz_exponent(half) * kz_exponent(whole - half);
}
/* (e^a - 1) / 2^shift in two parts, for a that fits. */
template <int shift, class T> __device__ T kz_expm1_part(T a, T *low)
{
	const kz_reduced<T> x(a);
	const T r = x.high + x.low, size = kz_exponent(kz_word(x.shifted) - shift);
	const T tail = fma(r * r, kz_exp_series(r), x.low),
		most = fma(size, x.high, size - (T)1 / (1 << shift));
	const T sum = fma(size, tail, most);
	*low = fma(size, tail, most - sum);
	return sum;
}
/* 1.4; small numbers, whose half may lose a digit, are themselves the result. */
template <class T> __device__ T kz_expm1(T a)
{
	const T high = (T)(sizeof(T) == 4 ? 89 : 710), low = (T)(sizeof(T) == 4 ? -20 : -40);
	T rest;
	const T value = 2 * kz_expm1_part<1>(a > high ? high : a < low ? low : a, &rest);
	return fabs(a) < (T)0x1p-60 ? a : copysign(value, a);
}
/* 2 (q + q / (4 q + 1)) by q = (e^a - 1) / 4: 1.8 */
template <class T> __device__ T kz_sinh(T a)
{
	const T most = (T)(sizeof(T) == 4 ? 89.5 : 710.6), size = fabs(a);
	T rest;
	const T q = kz_expm1_part<2>(size > most ? most : size, &rest);
	const T value = 2 * (q + (q / fma((T)4, q, (T)1) + 2 * rest));
	return size < (T)0x1p-60 ? a : copysign(value, a);
}
/* e / (e + 1) by e = (e^2a - 1) / 2, with the rests of both and of the quotient: 1.1. */
template <class T> __device__ T kz_tanh(T a)
{
	const T most = (T)(sizeof(T) == 4 ? 10 : 20), size = fabs(a);
	T rest;
	const T e = kz_expm1_part<1>(2 * (size > most ? most : size), &rest), divisor = e + 1;
	const T part = divisor - e, lost = (e - (divisor - part)) + (1 - part) + rest;
	const T inverse = 1 / divisor, quotient = e * inverse;
	rest = fma(-quotient, divisor, e) + fma(-quotient, lost, rest);
	return copysign(fma(rest, inverse, quotient), a);
}
/* (2 atanh(s) / s - 2) / s^2 by the square of s */
__device__ inline float kz_log_series(float z)
{
	return fmaf(fmaf(0x1.2ef106p-2f, z, 0x1.997be8p-2f), z, 0x1.55555cp-1f);
}
__device__ inline double kz_log_series(double z)
{
	double p = 0x1.2b6d593de3b4fp-3;
	p = fma(p, z, 0x1.39fc9ed7c7088p-3);
	p = fma(p, z, 0x1.7462c2acfed0dp-3);
	p = fma(p, z, 0x1.c71c62b239b43p-3);
	p = fma(p, z, 0x1.2492492e1b7d3p-2);
	p = fma(p, z, 0x1.999999999514ep-2);
	return fma(p, z, 0x1.5555555555558p-1);
}
/* k ln 2 + log(1 + f) */
template <class T> __device__ T kz_log_sum(T k, T f)
{
	const bool is_float = sizeof(T) == 4;
	const T high = (T)(is_float ? 0x1.62e4p-1 : 0x1.62e42fefa3800p-1);
	const T low = (T)(is_float ? 0x1.7f7d1cp-20 : 0x1.ef35793c76730p-45);
	const T s = f / (2 + f), z = s * s, square = (T)0.5 * f * f;
	const T rest = fma(s, fma(z, kz_log_series(z), square), k * low);
	return fma(k, high, f - (square - rest));
}
/* The bits of x, higher by what puts sqrt(1/2) at a power of two. */
template <class T> __device__ typename kz_format<T>::word kz_log_bits(T x)
{
	return kz_word(x) + (kz_word((T)1) - kz_word((T)0x1.6a09e667f3bcdp-1));
}
/* The exponent in those bits, plus `add`, which is whole. */
template <class T> __device__ T kz_log_exponent(typename kz_format<T>::word bits, T add)
{
	const T base = (T)(sizeof(T) == 4 ? 0x1p+23 : 0x1p+52);
	return kz_number(bits >> kz_format<T>::digits | kz_word(base)) - (base - add);
}
/* The logarithm of x, which is `value` for positive numbers. */
template <class T> __device__ T kz_log_end(T x, T value)
{
	return x > 0 ? kz_is_finite(x) ? value : x : x == 0 ? (T)-__int_as_float(0x7f800000)
		: x < 0 ? (T)__int_as_float(0x7fc00000) : x;
}
/* Of floats CUDA's own are faster. */
__device__ inline float kz_log(float a) { return log(a); }
__device__ inline float kz_log2(float a) { return log2(a); }
__device__ inline float kz_log10(float a) { return log10(a); }
/* x = 2^k (1 + f), for positive x */
__device__ inline double kz_log_split(double x, double *f)
{
	const bool is_small = x < 0x1p-1022;
	const unsigned long long bits = kz_log_bits(is_small ? x * 0x1p+54 : x);
	*f = kz_number((bits & 0xfffffffffffffull) + kz_word(0x1.6a09e667f3bcdp-1)) - 1;
	return kz_log_exponent(bits, is_small ? -1077.0 : -1023.0);
}
/* 0.9 */
__device__ inline double kz_log(double a)
{
	double f;
	const double k = kz_log_split(a, &f);
	return kz_log_end(a, kz_log_sum(k, f));
}
/* log(1 + f) in two parts */
__device__ inline double kz_log_near(double f, double *low)
{
	const double s = f / (2 + f), z = s * s, square = 0.5 * f * f;
	const double tail = square - s * fma(z, kz_log_series(z), square), sum = f - tail;
	*low = (f - sum) - tail;
	return sum;
}
/* 1; 1 / ln 2 and 1 / ln 10 are in two parts, too. */
__device__ inline double kz_log2(double a)
{
	const double high = 0x1.71547652b82fep+0, low = 0x1.777d0ffda0d24p-56;
	double f, rest;
	const double k = kz_log_split(a, &f), y = kz_log_near(f, &rest);
	return kz_log_end(a, fma(y, high, fma(y, low, rest * high)) + k);
}
__device__ inline double kz_log10(double a)
{
	const double high = 0x1.bcb7b1526e50ep-2, low = 0x1.95355baaafad3p-57;
	const double two = 0x1.34413509f7000p-2, two_low = 0x1.3fde623e2566bp-43;
	double f, rest;
	const double k = kz_log_split(a, &f), y = kz_log_near(f, &rest);
	return kz_log_end(a, fma(k, two, fma(y, high, fma(y, low, fma(rest, high, k * two_low)))));
}
/* 1.4; f = (1 + a) 2^-k - 1 from a itself, with one rounding. */
template <class T> __device__ T kz_log1p(T a)
{
	typedef typename kz_format<T>::word word;
	const word bias = kz_format<T>::bias;
	const bool is_large = a > (T)0x1p+60;
	const T x = is_large ? a * (T)0x1p-64 : a;
	const word bits = kz_log_bits(is_large ? x : x + 1);
	const T k = kz_log_exponent(bits, is_large ? (T)64 - bias : -(T)bias);
	const T size = kz_exponent(bias - (bits >> kz_format<T>::digits));
	const T f = fma(x, size, is_large ? (T)-1 : size - 1);
	return kz_log_end(a + 1, copysign(kz_log_sum(k, f), a));
}
/* log1p(x + x^2 / (1 + sqrt(1 + x^2))), or log(2 x) of large x: 2 */
template <class T> __device__ T kz_arcsinh(T a)
{
	const T size = fabs(a), square = size * size;
	const bool is_large = size > (T)(sizeof(T) == 4 ? 0x1p+30 : 0x1p+60);
	const T sum = size + square / (1 + sqrt(1 + square));
	const T value = kz_log1p(is_large ? size : sum);
	return copysign(value + (T)(is_large ? 0.693147180559945309417 : 0), a);
}
/* (arcsin(s) / s - 1) / s^2 by the square of s */
__device__ inline float kz_arcsin_series(float z)
{
	float p = 0x1.3a0fb2p-5f;
	p = fmaf(p, z, 0x1.b1046ep-6f);
	p = fmaf(p, z, 0x1.70cf64p-5f);
	p = fmaf(p, z, 0x1.332630p-4f);
	return fmaf(p, z, 0x1.55555ep-3f);
}
__device__ inline double kz_arcsin_series(double z)
{
	double p = 0x1.d1a74c5842a99p-6;
	p = fma(p, z, -0x1.6b871e8d38eedp-7);
	p = fma(p, z, 0x1.0a10c641a2502p-6);
	p = fma(p, z, 0x1.fae9fc76cb539p-8);
	p = fma(p, z, 0x1.859930d8eda82p-7);
	p = fma(p, z, 0x1.c862a619adc87p-7);
	p = fma(p, z, 0x1.1c59e8bb27677p-6);
	p = fma(p, z, 0x1.6e8b220f1b046p-6);
	p = fma(p, z, 0x1.f1c71fde0c2b5p-6);
	p = fma(p, z, 0x1.6db6db67b6ef9p-5);
	p = fma(p, z, 0x1.3333333337503p-4);
	return fma(p, z, 0x1.555555555554ep-3);
}
/* log1p(t + sqrt(2 t + t^2)), t = x - 1, or log(2 x) of large x: 2 */
template <class T> __device__ T kz_arccosh(T a)
{
	const bool is_large = a > (T)(sizeof(T) == 4 ? 0x1p+30 : 0x1p+60);
	const T t = a < 1 ? (T)__int_as_float(0x7fc00000) : a - 1, sum = t + sqrt(fma(t, t, 2 * t));
	return kz_log1p(is_large ? a : sum) + (T)(is_large ? 0.693147180559945309417 : 0);
}
/* log1p(2 x / (1 - x)) / 2: 2 */
template <class T> __device__ T kz_arctanh(T a)
{
	const T size = fabs(a) > 1 ? (T)__int_as_float(0x7fc00000) : fabs(a), twice = 2 * size;
	return copysign((T)0.5 * kz_log1p(twice + twice * size / (1 - size)), a);
}
/* s = |a| or, where that is above 1/2, sqrt((1 - |a|) / 2), since then arcsin(|a|) = pi / 2 - 2
 * arcsin(s); and what is to be added to s for arcsin(s). */
template <class T> __device__ T kz_arcsin_half(T size, bool is_large, T *rest)
{
	const T z = is_large ? (1 - size) / 2 : size * size, root = sqrt(z), s = is_large ? root
		: size;
	*rest = s * z * kz_arcsin_series(z);
	return s;
}
/* 2.1 */
template <class T> __device__ T kz_arcsin(T a)
{
	const T high = (T)0x1.921fb54442d18p+0;
	const T low = (T)(sizeof(T) == 4 ? -0x1.777a5cf72cecep-25 : 0x1.1a62633145c07p-54);
	const T size = fabs(a);
	const bool is_large = size > (T)0.5;
	T rest;
	const T s = kz_arcsin_half(size, is_large, &rest);
	return copysign(is_large ? (high - 2 * s) - (2 * rest - low) : s + rest, a);
}
/* 1.4 */
template <class T> __device__ T kz_arccos(T a)
{
	const T high = (T)0x1.921fb54442d18p+0;
	const T low = (T)(sizeof(T) == 4 ? -0x1.777a5cf72cecep-25 : 0x1.1a62633145c07p-54);
	const T size = fabs(a);
	const bool is_large = size > (T)0.5;
	T rest;
	const T s = kz_arcsin_half(size, is_large, &rest), part = s + rest;
	const T below = 2 * high - (2 * part - 2 * low), near = high - (copysign(part, a) - low);
	return is_large ? a < 0 ? below : 2 * part : near;
}
/* k + log2(1 + f) in two parts: s (C + z (c + ...)) of s = f / (2 + f) and z = s^2.  A number with
 * `_low` is a sum of two floats. */
__device__ inline float kz_log2_parts(float k, float f, float *low)
{
	const float divisor = 2 + f, inverse = 1 / divisor, s = f * inverse;
	const float s_low = fmaf(-s, f - (divisor - 2), fmaf(-s, divisor, f)) * inverse;
	const float z = s * s, z_low = fmaf(s, s, -z) + 2 * s * s_low;
	const float c = 0x1.ec70e6p-1f, t = z * fmaf(0x1.ba26dap-2f, z, 0x1.2746d8p-1f);
	const float u = c + t, u_low = (c - u) + t + 0x1.5b0cp-26f;
	const float v = z * u, v_low = fmaf(z, u, -v) + fmaf(z, u_low, z_low * u);
	const float first = 0x1.715476p+1f, w = first + v;
	const float w_low = (first - w) + v + (0x1.399162p-25f + v_low);
	const float part = s * w, part_low = fmaf(s, w, -part) + fmaf(s, w_low, s_low * w);
	const float sum = k + part;
	*low = (k - sum) + part + part_low;
	return sum;
}
/* a^b as 2^(b log2(a)), whose logarithm is two floats: 0.8.  What is special becomes so in the
 * exponent of a, or in y, where a choice is of two constants. */
__device__ inline float kz_power(float a, float b)
{
	const float size = fabsf(a), most = 0x1.fffffep+127f, half = 0.5f * b;
	const bool is_finite = size <= most, is_whole = truncf(b) == b, is_small = size < 0x1p-126f;
	const bool is_one = (b == 0) | (a == 1) | ((size == 1) & (fabsf(b) > most));
	const unsigned int bits = kz_log_bits(is_small ? size * 0x1p+24f : size);
	float base = is_small ? -151.0f : -127.0f, low;
	base = size == 0 ? -__int_as_float(0x7f800000) : is_finite ? base : size;
	base = (a < 0) & !is_whole & is_finite ? __int_as_float(0x7fc00000) : base;
	const float k = kz_log_exponent(bits, base);
	const float f = kz_number((bits & 0x7fffff) + kz_word(0x1.6a09e6p-1f)) - 1;
	const float log = kz_log2_parts(k, f, &low);
	float y = log * b, rest = fmaf(log, b, -y) + low * b;
	rest = (fabsf(y) <= 160) & !is_one ? rest : 0;
	y = is_one ? 0 : y;
	y = y > 160 ? 160 : y;
	y = y < -160 ? -160 : y;
	const float shifted = y + 0x1.8p+23f;
	const float value = kz_exp2_sum(shifted, (y - (shifted - 0x1.8p+23f)) + rest);
	return is_whole & (truncf(half) != half) ? copysignf(value, a) : value;
}
__device__ inline double kz_power(double a, double b) { return pow(a, b); }
template <class T> __device__ T kz_logaddexp(T a, T b)
{
	const T apart = a == b ? (T)0 : a - b; /* infinite numbers, too */
	return (a > b ? a : b) + kz_log1p(kz_exp(-fabs(apart)));
}
/* exp of a negative number alone, so that nothing overflows. */
template <class T> __device__ T kz_sigmoid(T a)
{
	T small = kz_exp(-fabs(a));
	return (a >= 0 ? 1 : small) / (1 + small);
}
#endif

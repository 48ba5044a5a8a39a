/* SPDX-License-Identifier: MIT */
/*
 * Complex numbers of float and double: one set of functions for arrays, custom kernels and
 * <complex>.  Infinities, NaN and zeros give what Annex G of C says.
 *
 * No step overflows or underflows unless the result does: parts are scaled by powers of two, and an
 * exponential meets its factor before it gets its exponent.  The inverse functions are those of W.
 * Kahan, "Branch Cuts for Complex Elementary Functions" (1987); all their terms are positive, so
 * none cancels.  Near the unit circle the logarithm takes exact products, as T. E. Hull, T. F.
 * Fairgrieve and P. T. P. Tang ask for in "Implementing Complex Elementary Functions Using
 * Exception Handling" (ACM TOMS 20, 1994).
 */
#ifndef KZ_COMPLEX_CUH
#define KZ_COMPLEX_CUH
#ifndef KZ_COMPLEX_GIVEN
template <class T> struct __align__(2 * sizeof(T)) kz_complex {
	T re, im;
};
#endif
template <class T> __device__ kz_complex<T> kz_make(T re, T im)
{
	kz_complex<T> out;
	out.re = re;
	out.im = im;
	return out;
}
#define KZ_C(...) template <class T> __device__ kz_complex<T> __VA_ARGS__
/* Not fused with a sum that takes it, so that the rest which fma finds is the product's. */
__device__ inline float kz_rounded_product(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double kz_rounded_product(double a, double b) { return __dmul_rn(a, b); }
template <class T> __device__ T kz_infinity() { return (T)__int_as_float(0x7f800000); }
template <class T> __device__ T kz_nan() { return (T)__int_as_float(0x7fc00000); }
/* h, a power of two, for which the square of h^2 size neither overflows nor loses digits; and 1 /
 * h. */
template <class T> __device__ T kz_half_scale(T size, T *inverse)
{
	const bool is_float = sizeof(T) == 4;
	const bool is_large = size > (T)(is_float ? 0x1p+60 : 0x1p+500);
	const bool is_small = size < (T)(is_float ? 0x1p-50 : 0x1p-500);
	*inverse = is_large ? (T)(is_float ? 0x1p+35 : 0x1p+300) : is_small
		? (T)(is_float ? 0x1p-50 : 0x1p-300) : (T)1;
	return is_large ? (T)(is_float ? 0x1p-35 : 0x1p-300) : is_small
		? (T)(is_float ? 0x1p+50 : 0x1p+300) : (T)1;
}
template <class T> __device__ T kz_larger_part(kz_complex<T> a)
{
	return fabs(a.re) > fabs(a.im) ? fabs(a.re) : fabs(a.im);
}
template <class T> __device__ bool kz_is_finite(kz_complex<T> a)
{
	return kz_is_finite(a.re) && kz_is_finite(a.im);
}
template <class T> __device__ bool kz_is_infinite(kz_complex<T> a)
{
	return kz_is_infinite(a.re) || kz_is_infinite(a.im);
}
/* Products and quotients */
KZ_C(operator+(kz_complex<T> a, kz_complex<T> b)) { return kz_make(a.re + b.re, a.im + b.im); }
KZ_C(operator-(kz_complex<T> a, kz_complex<T> b)) { return kz_make(a.re - b.re, a.im - b.im); }
KZ_C(operator-(kz_complex<T> a)) { return kz_make(-a.re, -a.im); }
template <class T> __device__ bool operator==(kz_complex<T> a, kz_complex<T> b)
{
	return a.re == b.re && a.im == b.im;
}
KZ_C(kz_plain_product(kz_complex<T> a, kz_complex<T> b))
{
	return kz_make(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
/* The direction of an infinite number: parts of 1, or 0 where they are finite. */
KZ_C(kz_direction(kz_complex<T> a))
{
	return kz_make(copysign((T)kz_is_infinite(a.re), a.re),
		copysign((T)kz_is_infinite(a.im), a.im));
}
KZ_C(kz_without_nan(kz_complex<T> a))
{
	return kz_make(a.re != a.re ? copysign((T)0, a.re) : a.re,
		a.im != a.im ? copysign((T)0, a.im) : a.im);
}
/* A product of which the plain formula knows neither part: infinite if an operand is. */
KZ_C(kz_rare_product(kz_complex<T> a, kz_complex<T> b))
{
	const kz_complex<T> product = kz_plain_product(kz_is_infinite(a) ? kz_direction(a)
		: kz_without_nan(a), kz_is_infinite(b) ? kz_direction(b) : kz_without_nan(b));
	const T size = kz_is_infinite(a) || kz_is_infinite(b) ? kz_infinity<T>() : kz_nan<T>();
	return kz_make(size * product.re, size * product.im);
}
KZ_C(operator*(kz_complex<T> a, kz_complex<T> b))
{
	const kz_complex<T> plain = kz_plain_product(a, b);
	return plain.re != plain.re && plain.im != plain.im ? kz_rare_product(a, b) : plain;
}
/* a b + c d, each part with its rest: W. Kahan's way, to 1.5 units in the last place. */
template <class T> __device__ T kz_sum_of_products(T a, T b, T c, T d)
{
	const T product = kz_rounded_product(c, d);
	return fma(a, b, product) + fma(c, d, -product);
}
/* A quotient that is NaN, although b is 0, or one of both is infinite. */
KZ_C(kz_rare_quotient(kz_complex<T> a, kz_complex<T> b))
{
	if (b.re == 0 && b.im == 0) {
		const T size = copysign(kz_infinity<T>(), b.re);
		return kz_make(size * a.re, size * a.im);
	}
	const bool is_zero = kz_is_infinite(b) && kz_is_finite(a);
	const bool is_infinite = kz_is_infinite(a) && kz_is_finite(b);
	const T size = is_zero ? (T)0 : is_infinite ? kz_infinity<T>() : kz_nan<T>();
	const kz_complex<T> x = is_infinite ? kz_direction(a) : a, y = is_zero ? kz_direction(b)
		: b;
	return kz_make(size * (x.re * y.re + x.im * y.im), size * (x.im * y.re - x.re * y.im));
}
KZ_C(operator/(kz_complex<T> a, kz_complex<T> b))
{
	T ga, gb;
	const T ha = kz_half_scale(kz_larger_part(a), &ga),
		hb = kz_half_scale(kz_larger_part(b), &gb);
	const kz_complex<T> x = kz_make(a.re * ha * ha, a.im * ha * ha);
	const kz_complex<T> y = kz_make(b.re * hb * hb, b.im * hb * hb);
	const T size = fma(y.re, y.re, y.im * y.im), g = ga * hb;
	const kz_complex<T> out = kz_make(kz_sum_of_products(x.re, y.re, x.im, y.im) / size * g * g,
		kz_sum_of_products(x.im, y.re, -x.re, y.im) / size * g * g);
	return out.re != out.re && out.im != out.im ? kz_rare_quotient(a, b) : out;
}
/* Parts */
/* Compilers merge what both have in common; for a CPU they make vectors of two functions, not of
 * sincos. */
template <class T> __device__ void kz_sin_cos(T a, T *s, T *c)
{
	*s = sin(a);
	*c = cos(a);
}
template <class T> __device__ T kz_absolute(kz_complex<T> a)
{
	T g;
	const T h = kz_half_scale(kz_larger_part(a), &g), x = a.re * h * h, y = a.im * h * h;
	return kz_is_infinite(a) ? kz_infinity<T>() : sqrt(fma(x, x, y * y)) * g * g;
}
/* Of floats CUDA's own is faster. */
__device__ inline float kz_absolute(kz_complex<float> a) { return hypotf(a.re, a.im); }
template <class T> __device__ T kz_angle(kz_complex<T> a) { return atan2(a.im, a.re); }
/* The square of the magnitude. */
template <class T> __device__ T kz_norm(kz_complex<T> a)
{
	return kz_is_infinite(a) ? kz_infinity<T>() : a.re * a.re + a.im * a.im;
}
/* Infinity, or a itself. */
KZ_C(kz_project(kz_complex<T> a))
{
	return kz_is_infinite(a) ? kz_make(kz_infinity<T>(), copysign((T)0, a.im)) : a;
}
KZ_C(kz_polar(T size, T angle))
{
	T s, c;
	kz_sin_cos(angle, &s, &c);
	return kz_make(size * c, angle == 0 ? angle : size * s);
}
KZ_C(kz_one(kz_complex<T>)) { return kz_make((T)1, (T)0); }
template <class T> __device__ T kz_one(T) { return (T)1; }
KZ_C(kz_conjugate(kz_complex<T> a)) { return kz_make(a.re, -a.im); }
/* As numpy has it, of an infinite part the sign alone, and of two NaN. */
KZ_C(kz_sign(kz_complex<T> a))
{
	T g;
	const T h = kz_half_scale(kz_larger_part(a), &g), x = a.re * h, y = a.im * h;
	const T size = sqrt(fma(x * h, x * h, y * h * (y * h))) * g;
	return kz_is_infinite(a) ? kz_is_infinite(a.re) && kz_is_infinite(a.im)
		? kz_make(kz_nan<T>(), kz_nan<T>()) : kz_direction(a)
		: size == 0 ? a : kz_make(x / size, y / size);
}
/* Roots, exponentials and logarithms */
KZ_C(kz_sqrt(kz_complex<T> a))
{
	T g;
	const T h = kz_half_scale(kz_larger_part(a), &g), x = fabs(a.re * h * h), y = a.im * h * h;
	const T root = sqrt((x + sqrt(fma(x, x, y * y))) / 2) * g;
	const T large = kz_is_infinite(a) ? kz_infinity<T>() : root;
	const T small = large == 0 ? (T)0 : fabs(a.im) / (2 * large);
	const kz_complex<T> out = a.re < 0 ? kz_make(small, copysign(large, a.im))
		: kz_make(large, copysign(small, a.im));
	return kz_is_infinite(a.im) ? kz_make(kz_infinity<T>(), a.im) : out;
}
/* Up to this size of a, e^a and e^-a are normal numbers. */
template <class T> __device__ T kz_exp_limit() { return (T)(sizeof(T) == 4 ? 87 : 708); }
/* c e^a 2^-shift for |c| <= 1, of an a that is beyond that size, or negative.  A positive a is made
 * smaller, which has no error, and c takes the exponential of the rest. */
template <int shift, class T> __device__ T kz_exp_times(T a, T c)
{
	typedef typename kz_format<T>::word word;
	const bool is_float = sizeof(T) == 4;
	const T high = (T)(is_float ? 160 : 1000), low = (T)(is_float ? -110 : -760);
	const T magic = (T)(is_float ? 0x1.8p+23 : 0x1.8p+52);
	const T rest = a > 0 ? a - (T)(is_float ? 64 : 512) : a;
	const T factor = a > 0 ? c * (T)(is_float ? 0x1.425982p+92 : 0x1.9476504ba852ep+738) : c;
	const kz_reduced<T> x(rest > high ? high : rest < low ? low : rest);
	const T r = x.high + x.low, p = fma(r * r, kz_exp_series(r), r) + 1;
	const word whole = kz_word(x.shifted),
		half = kz_word(fma(x.shifted - magic, (T)0.5, magic));
	return factor * p * kz_exponent(half) * kz_exponent(whole - half - shift);
}
KZ_C(kz_exp(kz_complex<T> a))
{
	T s, c;
	kz_sin_cos(a.im, &s, &c);
	if (fabs(a.re) <= kz_exp_limit<T>()) {
		const T size = kz_exp(a.re);
		return kz_make(size * c, a.im == 0 ? a.im : size * s);
	}
	if (kz_is_infinite(a.re) && !kz_is_finite(a.im)) {
		return a.re < 0 ? kz_make((T)0, (T)0) : kz_make(a.re, kz_nan<T>());
	}
	return kz_make(kz_exp_times<0>(a.re, c), a.im == 0 ? a.im : kz_exp_times<0>(a.re, s));
}
/* x^2 + y^2 - 1 of x^2 and y^2 in two parts each, from 1/2 to 2; where it cancels, each sum has its
 * rest. */
template <class T> __device__ T kz_from_circle(T x, T y)
{
	const T p = kz_rounded_product(x, x), q = kz_rounded_product(y, y);
	const T p_rest = fma(x, x, -p), q_rest = fma(y, y, -q);
	const T above = p - 1, above_rest = p - (above + 1);
	const T most = (above + q) + above_rest, rests = p_rest + q_rest;
	const T part = rests - p_rest, lost = (p_rest - (rests - part)) + (q_rest - part);
	const T sum = most + rests, added = sum - most;
	return sum + (((most - (sum - added)) + (rests - added)) + lost);
}
/* log(x + one) of positive numbers, one being 0 or 1. */
template <class T> __device__ T kz_log_beside(T x, T one)
{
	typedef typename kz_format<T>::word word;
	const word bias = kz_format<T>::bias, bits = kz_log_bits(x + one);
	const T k = kz_log_exponent(bits, -(T)bias);
	const T size = kz_exponent(bias - (bits >> kz_format<T>::digits));
	return kz_log_sum(k, fma(x, size, fma(one, size, (T)-1)));
}
/* The logarithm of the magnitude, by half that of its square. */
template <class T> __device__ T kz_log_size(kz_complex<T> a)
{
	T g;
	const bool is_float = sizeof(T) == 4;
	const T x = fabs(a.re), y = fabs(a.im), large = x > y ? x : y, small = x > y ? y : x;
	const T h = kz_half_scale(large, &g), u = large * h * h, v = small * h * h;
	const T square = fma(u, u, v * v),
		scale = (T)(h < 1 ? is_float ? 70 : 600 : h > 1 ? is_float
		? -100 : -600 : 0);
	const bool is_near = h == 1 && square > (T)0.5 && square < 2;
	const T value = kz_log_beside(is_near ? kz_from_circle(u, v) : square, (T)is_near) / 2;
	return kz_is_infinite(a) ? kz_infinity<T>()
		: kz_log_end(square, fma(scale, (T)0.693147180559945309417, value));
}
KZ_C(kz_log(kz_complex<T> a)) { return kz_make(kz_log_size(a), kz_angle(a)); }
KZ_C(kz_log10(kz_complex<T> a))
{
	const T scale = (T)0.434294481903251827651128918917;
	return kz_make(scale * kz_log_size(a), scale * kz_angle(a));
}
KZ_C(kz_power(kz_complex<T> a, kz_complex<T> b))
{
	if (b.re == 0 && b.im == 0) {
		return kz_make((T)1, (T)0);
	}
	if (a.re == 0 && a.im == 0) {
		return b.re > 0 ? kz_make((T)0, (T)0)
			: kz_make(b.re < 0 ? kz_infinity<T>() : kz_nan<T>(), kz_nan<T>());
	}
	const kz_complex<T> log = kz_log(a);
	return kz_exp(b.im == 0 ? kz_make(b.re * log.re, b.re * log.im) : b * log);
}
/* Hyperbolic and circular functions */
/* sinh(a) u and cosh(a) v, by (e^a - 1) / 4; of a large a by e^a / 2. */
template <class T> __device__ T kz_sinh_times(T a, T u, T v, T *cosh)
{
	const T size = fabs(a);
	if (size <= kz_exp_limit<T>()) {
		T rest;
		const T q = kz_expm1_part<2>(size, &rest), e = fma((T)4, q, (T)1);
		const T sinh = 2 * (q + (q / e + 2 * rest));
		*cosh = 2 * (q + (rest + ((T)0.25 + (T)0.25 / e))) * v;
		return (size < (T)0x1p-60 ? a : copysign(sinh, a)) * u;
	}
	*cosh = kz_exp_times<1>(size, v);
	return kz_exp_times<1>(size, a < 0 ? -u : u);
}
KZ_C(kz_sinh(kz_complex<T> a))
{
	T s, c, im;
	kz_sin_cos(a.im, &s, &c);
	const T re = kz_sinh_times(a.re, c, s, &im);
	const bool is_kept = a.re == 0 || (kz_is_infinite(a.re) && !kz_is_finite(a.im));
	return kz_make(is_kept && !kz_is_finite(a.im) ? a.re : re, a.im == 0 ? a.im : im);
}
KZ_C(kz_cosh(kz_complex<T> a))
{
	T s, c, re;
	kz_sin_cos(a.im, &s, &c);
	const T im = kz_sinh_times(a.re, s, c, &re),
		zero = copysign((T)0, a.re) * copysign((T)1, s);
	return kz_make(kz_is_infinite(a.re) && !kz_is_finite(a.im) ? kz_infinity<T>() : re,
		a.re == 0 || a.im == 0 ? zero : im);
}
/* (h (h + 1) + i (2 h + 1) sin y cos y) / (h^2 + (2 h + 1) cos^2 y), h = (e^2x - 1) / 2. */
KZ_C(kz_tanh(kz_complex<T> a))
{
	T s, c, rest;
	const T size = fabs(a.re);
	kz_sin_cos(a.im, &s, &c);
	if (size > 20) {
		const T im = kz_exp_times<-2>(-2 * size, s * c);
		return kz_is_infinite(a.re) ? kz_make(copysign((T)1, a.re), copysign((T)0, s * c))
			: kz_make(im == im ? copysign((T)1, a.re) : im, a.im == 0 ? a.im : im);
	}
	const T part = kz_expm1_part<1>(2 * size, &rest), h = size < (T)0x1p-60 ? size : part;
	const T power = fma((T)2, rest, fma((T)2, h, (T)1)), divisor = fma(power, c * c, h * h);
	const T re = (h + fma(h, h, rest)) / divisor, im = power * (s * c) / divisor;
	return kz_make(a.re == 0 ? a.re : copysign(re, a.re), a.im == 0 ? a.im : im);
}
KZ_C(kz_sin(kz_complex<T> a))
{
	const kz_complex<T> w = kz_sinh(kz_make(-a.im, a.re));
	return kz_make(w.im, -w.re);
}
KZ_C(kz_cos(kz_complex<T> a)) { return kz_cosh(kz_make(-a.im, a.re)); }
KZ_C(kz_tan(kz_complex<T> a))
{
	const kz_complex<T> w = kz_tanh(kz_make(-a.im, a.re));
	return kz_make(w.im, -w.re);
}
/* sin(pi a) / (pi a).  pi im is in two parts, since an exponential has the error of its argument.
 * What is large meets its divisor before it gets its exponent. */
KZ_C(kz_sinc(kz_complex<T> a))
{
	const bool is_float = sizeof(T) == 4;
	const T pi = (T)3.14159265358979323846264338328;
	const T pi_rest = (T)(is_float ? -0x1.777a5cp-24 : 0x1.1a62633145c07p-53);
	const T x = a.im * pi, rest = fma(a.im, pi_rest, fma(a.im, pi, -x));
	const T s = sinpi(a.re), c = cospi(a.re);
	if (kz_larger_part(a) < (T)0x1p-30) {
		return kz_make((T)1, (T)0);
	}
	const kz_complex<T> divisor = kz_make(a.re * pi, x);
	if (fabs(x) > kz_exp_limit<T>()) {
		const kz_complex<T> part = kz_make(s, x < 0 ? -c : c) / divisor;
		const T more = 1 + (x < 0 ? -rest : rest);
		return kz_make(kz_exp_times<1>(fabs(x), part.re) * more,
			kz_exp_times<1>(fabs(x), part.im) * more);
	}
	T cosh;
	const T sinh = kz_sinh_times(x, (T)1, (T)1, &cosh);
	return kz_make(fma(rest, sinh, cosh) * s, fma(rest, cosh, sinh) * c) / divisor;
}
/* Inverse functions.  From here on the next term of the series of 1 / a is less than a rounding. */
template <class T> __device__ bool kz_is_far(kz_complex<T> a)
{
	const T far = (T)(sizeof(T) == 4 ? 0x1p+30 : 0x1p+60);
	return fabs(a.re) > far || fabs(a.im) > far;
}
/* Of x + i |y| by the roots of 1 - a and 1 + a: the imaginary part, which both have but for its
 * sign. */
template <class T> __device__ T kz_arc_parts(kz_complex<T> a, T *arcsin, T *arccos)
{
	const T x = a.re, y = fabs(a.im);
	if (kz_is_far(a)) {
		*arcsin = atan2(x, y);
		*arccos = atan2(y, x);
		return kz_log_size(a) + (T)0.693147180559945309417;
	}
	const kz_complex<T> r = kz_sqrt(kz_make(1 - x, -y)), s = kz_sqrt(kz_make(1 + x, y));
	*arcsin = x == 0 ? x : atan2(x, fma(r.re, s.re, -(r.im * s.im)));
	*arccos = x == 0 ? (T)1.57079632679489661923 : 2 * atan2(r.re, s.re);
	return kz_arcsinh(fma(r.re, s.im, -(r.im * s.re)));
}
KZ_C(kz_arcsin(kz_complex<T> a))
{
	T arcsin, arccos;
	const T im = kz_arc_parts(a, &arcsin, &arccos);
	return kz_make(arcsin, copysign(im, a.im));
}
KZ_C(kz_arccos(kz_complex<T> a))
{
	T arcsin, arccos;
	const T im = kz_arc_parts(a, &arcsin, &arccos);
	return kz_make(arccos, copysign(im, -a.im));
}
KZ_C(kz_arcsinh(kz_complex<T> a))
{
	const kz_complex<T> w = kz_arcsin(kz_make(-a.im, a.re));
	return kz_make(w.im, -w.re);
}
KZ_C(kz_arccosh(kz_complex<T> a))
{
	T arcsin, arccos;
	const T re = kz_arc_parts(a, &arcsin, &arccos);
	return kz_make(re, copysign(arccos, a.im));
}
/* By log1p(4 x / ((1 - x)^2 + y^2)) / 4 and the angle of (1 - x) (1 + x) - y^2 + 2 i y. */
KZ_C(kz_arctanh(kz_complex<T> a))
{
	const T x = fabs(a.re), y = fabs(a.im), right = (T)1.57079632679489661923;
	if (kz_is_far(a)) {
		const T re = kz_is_infinite(a) ? (T)0 : (kz_one(a) / kz_make(x, y)).re;
		const bool is_known = y == y && (x == x || kz_is_infinite(y));
		return kz_make(copysign(re, a.re), is_known ? copysign(right, a.im) : kz_nan<T>());
	}
	const T size = fma(1 - x, 1 - x, y * y), small = (T)0x1p-60;
	const T near = (T)0.693147180559945309417 - kz_log_size(kz_make(y, (T)0));
	const T re = x == 1 && y < small ? near / 2 : kz_log1p(4 * x / size) / 4;
	const T im = atan2(2 * y, fma(-y, y, (1 - x) * (1 + x))) / 2;
	return kz_make(x == 0 ? a.re : copysign(re, a.re), copysign(im, a.im));
}
KZ_C(kz_arctan(kz_complex<T> a))
{
	const kz_complex<T> w = kz_arctanh(kz_make(-a.im, a.re));
	return kz_make(w.im, -w.re);
}
#undef KZ_C
#endif

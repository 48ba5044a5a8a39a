/* SPDX-License-Identifier: MIT */
/*
 * Complex numbers of generated kernels.  Formulas: C11 annex G for what is infinite or no number in
 * products is not followed (nor by numpy); quotients by R. L. Smith (CACM 5, 1962); square roots and
 * logarithms by hypot, which does not overflow on the way.
 */
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
KZ_C(operator+(kz_complex<T> a, kz_complex<T> b)) { return kz_make(a.re + b.re, a.im + b.im); }
KZ_C(operator-(kz_complex<T> a, kz_complex<T> b)) { return kz_make(a.re - b.re, a.im - b.im); }
KZ_C(operator-(kz_complex<T> a)) { return kz_make(-a.re, -a.im); }
KZ_C(operator*(kz_complex<T> a, kz_complex<T> b))
{
	return kz_make(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
KZ_C(operator/(kz_complex<T> a, kz_complex<T> b))
{
	if (fabs(b.re) >= fabs(b.im)) {
		if (b.re == 0 && b.im == 0) {
			return kz_make(a.re / fabs(b.re), a.im / fabs(b.re));
		}
		T ratio = b.im / b.re, size = b.re + b.im * ratio;
		return kz_make((a.re + a.im * ratio) / size, (a.im - a.re * ratio) / size);
	}
	T ratio = b.re / b.im, size = b.im + b.re * ratio;
	return kz_make((a.re * ratio + a.im) / size, (a.im * ratio - a.re) / size);
}
template <class T> __device__ bool operator==(kz_complex<T> a, kz_complex<T> b)
{
	return a.re == b.re && a.im == b.im;
}
template <class T> __device__ T kz_absolute(kz_complex<T> a) { return hypot(a.re, a.im); }
KZ_C(kz_one(kz_complex<T>)) { return kz_make((T)1, (T)0); }
template <class T> __device__ T kz_one(T) { return (T)1; }
KZ_C(kz_conjugate(kz_complex<T> a)) { return kz_make(a.re, -a.im); }
template <class T> __device__ bool kz_is_finite(kz_complex<T> a)
{
	return kz_is_finite(a.re) && kz_is_finite(a.im);
}
template <class T> __device__ bool kz_is_infinite(kz_complex<T> a)
{
	return kz_is_infinite(a.re) || kz_is_infinite(a.im);
}
KZ_C(kz_sign(kz_complex<T> a))
{
	T size = kz_absolute(a);
	return size == 0 ? a : kz_make(a.re / size, a.im / size);
}
KZ_C(kz_sqrt(kz_complex<T> a))
{
	T size = kz_absolute(a);
	if (size == 0) {
		return kz_make((T)0, a.im);
	}
	T root = sqrt((size + fabs(a.re)) / 2);
	T other = fabs(a.im) / (2 * root);
	return a.re >= 0 ? kz_make(root, copysign(other, a.im)) : kz_make(other, copysign(root, a.im));
}
KZ_C(kz_exp(kz_complex<T> a))
{
	T size = exp(a.re);
	return a.im == 0 ? kz_make(size, a.im) : kz_make(size * cos(a.im), size * sin(a.im));
}
/* Near the unit circle the logarithm of the magnitude is small, and hypot too coarse for it. */
template <class T> __device__ T kz_log_size(kz_complex<T> a)
{
	T x = fabs(a.re), y = fabs(a.im), large = x > y ? x : y, small = x > y ? y : x;
	return large > (T)0.5 && large < 2 ? log1p((large - 1) * (large + 1) + small * small) / 2
		: log(hypot(x, y));
}
KZ_C(kz_log(kz_complex<T> a)) { return kz_make(kz_log_size(a), atan2(a.im, a.re)); }
KZ_C(kz_log10(kz_complex<T> a))
{
	const T scale = (T)0.434294481903251827651128918917;
	return kz_make(scale * kz_log_size(a), scale * atan2(a.im, a.re));
}
KZ_C(kz_sinh(kz_complex<T> a))
{
	return kz_make(sinh(a.re) * cos(a.im), cosh(a.re) * sin(a.im));
}
KZ_C(kz_cosh(kz_complex<T> a))
{
	return kz_make(cosh(a.re) * cos(a.im), sinh(a.re) * sin(a.im));
}
KZ_C(kz_tanh(kz_complex<T> a))
{
	if (fabs(a.re) > 20) {
		return kz_make(copysign((T)1, a.re), 4 * sin(a.im) * cos(a.im) * exp(-2 * fabs(a.re)));
	}
	T t = tan(a.im), s = sinh(a.re), c = sqrt(1 + s * s), d = 1 + t * t;
	return kz_make(d * c * s / (1 + d * s * s), t / (1 + d * s * s));
}
KZ_C(kz_sin(kz_complex<T> a))
{
	return kz_make(sin(a.re) * cosh(a.im), cos(a.re) * sinh(a.im));
}
KZ_C(kz_cos(kz_complex<T> a))
{
	return kz_make(cos(a.re) * cosh(a.im), -sin(a.re) * sinh(a.im));
}
KZ_C(kz_tan(kz_complex<T> a))
{
	kz_complex<T> t = kz_tanh(kz_make(-a.im, a.re));
	return kz_make(t.im, -t.re);
}
KZ_C(kz_power(kz_complex<T> a, kz_complex<T> b))
{
	if (b.re == 0 && b.im == 0) {
		return kz_make((T)1, (T)0);
	}
	if (a.re == 0 && a.im == 0) {
		return b.re > 0 && b.im == 0 ? a : kz_make((T)nan(""), (T)nan(""));
	}
	return kz_exp(b * kz_log(a));
}
#undef KZ_C

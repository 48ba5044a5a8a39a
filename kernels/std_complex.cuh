/* SPDX-License-Identifier: MIT */
/*
 * <complex> in kernels: of float and double.  Products and quotients do not recover infinities, as Annex
 * G of C does.  A quotient is scaled, so that it does not overflow early.
 */
#ifndef KUDZU_STD_COMPLEX
#define KUDZU_STD_COMPLEX 1

#include <kudzu/std_math.h>

#define KUDZU_HD __host__ __device__

namespace std {

template <class T> struct kudzu_same { using type = T; };
template <class T> using kudzu_same_t = typename kudzu_same<T>::type;

template <class T> class complex {
	T x, y;

public:
	using value_type = T;
	KUDZU_HD constexpr complex(T real = T(), T imag = T()) : x(real), y(imag) {}
	template <class U>
	KUDZU_HD constexpr complex(const complex<U> &z) : x(T(z.real())), y(T(z.imag())) {}
	KUDZU_HD constexpr T real() const { return x; }
	KUDZU_HD constexpr T imag() const { return y; }
	KUDZU_HD constexpr void real(T value) { x = value; }
	KUDZU_HD constexpr void imag(T value) { y = value; }
	KUDZU_HD constexpr complex &operator=(T value)
	{
		x = value;
		y = T();
		return *this;
	}
	KUDZU_HD constexpr complex &operator+=(T value) { x += value; return *this; }
	KUDZU_HD constexpr complex &operator-=(T value) { x -= value; return *this; }
	KUDZU_HD constexpr complex &operator*=(T value) { x *= value; y *= value; return *this; }
	KUDZU_HD constexpr complex &operator/=(T value) { x /= value; y /= value; return *this; }
	template <class U> KUDZU_HD constexpr complex &operator+=(const complex<U> &z)
	{
		x += z.real();
		y += z.imag();
		return *this;
	}
	template <class U> KUDZU_HD constexpr complex &operator-=(const complex<U> &z)
	{
		x -= z.real();
		y -= z.imag();
		return *this;
	}
	template <class U> KUDZU_HD constexpr complex &operator*=(const complex<U> &z)
	{
		const T a = x, b = y, c = T(z.real()), d = T(z.imag());
		x = a * c - b * d;
		y = a * d + b * c;
		return *this;
	}
	/* R. L. Smith, Algorithm 116, Communications of the ACM 5 (1962). */
	template <class U> KUDZU_HD constexpr complex &operator/=(const complex<U> &z)
	{
		const T a = x, b = y, c = T(z.real()), d = T(z.imag());
		if ((c < 0 ? -c : c) >= (d < 0 ? -d : d)) {
			const T r = d / c, s = c + d * r;
			x = (a + b * r) / s;
			y = (b - a * r) / s;
		} else {
			const T r = c / d, s = c * r + d;
			x = (a * r + b) / s;
			y = (b * r - a) / s;
		}
		return *this;
	}
};

#define KUDZU_OPERATOR(op) \
	template <class T> \
	KUDZU_HD constexpr complex<T> operator op(complex<T> a, const complex<T> &b) \
	{ return a op##= b; } \
	template <class T> \
	KUDZU_HD constexpr complex<T> operator op(complex<T> a, const kudzu_same_t<T> &b) \
	{ return a op##= b; } \
	template <class T> \
	KUDZU_HD constexpr complex<T> operator op(kudzu_same_t<T> a, const complex<T> &z) \
	{ return complex<T>(a) op##= z; }
KUDZU_OPERATOR(+)
KUDZU_OPERATOR(-)
KUDZU_OPERATOR(*)
KUDZU_OPERATOR(/)
#undef KUDZU_OPERATOR

template <class T> KUDZU_HD constexpr complex<T> operator+(const complex<T> &z) { return z; }
template <class T>
KUDZU_HD constexpr complex<T> operator-(const complex<T> &z)
{
	return complex<T>(-z.real(), -z.imag());
}
template <class T> KUDZU_HD constexpr bool operator==(const complex<T> &a, const complex<T> &b)
{
	return a.real() == b.real() && a.imag() == b.imag();
}

template <class T>
KUDZU_HD constexpr bool operator==(const complex<T> &a, const kudzu_same_t<T> &b)
{
	return a.real() == b && a.imag() == T();
}

template <class T>
KUDZU_HD constexpr bool operator!=(const complex<T> &a, const complex<T> &b) { return !(a == b); }
template <class T>
KUDZU_HD constexpr bool operator!=(const complex<T> &a, const kudzu_same_t<T> &b)
{
	return !(a == b);
}

template <class T> KUDZU_HD constexpr T real(const complex<T> &z) { return z.real(); }
template <class T> KUDZU_HD constexpr T imag(const complex<T> &z) { return z.imag(); }
template <class T>
KUDZU_HD constexpr complex<T> conj(const complex<T> &z) { return complex<T>(z.real(), -z.imag()); }
template <class T>
KUDZU_HD constexpr T norm(const complex<T> &z) { return z.real() * z.real() + z.imag() * z.imag(); }
template <class T> KUDZU_HD T abs(const complex<T> &z) { return ::hypot(z.real(), z.imag()); }
template <class T> KUDZU_HD T arg(const complex<T> &z) { return ::atan2(z.imag(), z.real()); }
template <class T> KUDZU_HD complex<T> polar(const T &r, const T &phi = T())
{
	return complex<T>(r * ::cos(phi), r * ::sin(phi));
}

template <class T>
KUDZU_HD complex<T> exp(const complex<T> &z) { return std::polar(::exp(z.real()), z.imag()); }
template <class T>
KUDZU_HD complex<T> log(const complex<T> &z) { return complex<T>(::log(std::abs(z)), std::arg(z)); }
template <class T>
KUDZU_HD complex<T> log10(const complex<T> &z) { return std::log(z) / ::log(T(10)); }

/* The half of the plane with the positive real axis; the sign of the imaginary part is kept. */
template <class T> KUDZU_HD complex<T> sqrt(const complex<T> &z)
{
	const T size = std::abs(z);
	if (size == T()) {
		return complex<T>(T(), z.imag());
	}
	const T big = ::sqrt((size + ::fabs(z.real())) / 2), small = ::fabs(z.imag()) / (2 * big);
	return z.real() >= T() ? complex<T>(big, ::copysign(small, z.imag()))
		: complex<T>(small, ::copysign(big, z.imag()));
}

template <class T> KUDZU_HD complex<T> sin(const complex<T> &z)
{
	return complex<T>(::sin(z.real()) * ::cosh(z.imag()), ::cos(z.real()) * ::sinh(z.imag()));
}

template <class T> KUDZU_HD complex<T> cos(const complex<T> &z)
{
	return complex<T>(::cos(z.real()) * ::cosh(z.imag()),
		-(::sin(z.real()) * ::sinh(z.imag())));
}

template <class T>
KUDZU_HD complex<T> tan(const complex<T> &z) { return std::sin(z) / std::cos(z); }

template <class T> KUDZU_HD complex<T> sinh(const complex<T> &z)
{
	return complex<T>(::sinh(z.real()) * ::cos(z.imag()), ::cosh(z.real()) * ::sin(z.imag()));
}

template <class T> KUDZU_HD complex<T> cosh(const complex<T> &z)
{
	return complex<T>(::cosh(z.real()) * ::cos(z.imag()), ::sinh(z.real()) * ::sin(z.imag()));
}

template <class T>
KUDZU_HD complex<T> tanh(const complex<T> &z) { return std::sinh(z) / std::cosh(z); }

/* The inverse functions, by logarithms (DLMF 4.23 and 4.37). */
template <class T> KUDZU_HD complex<T> asinh(const complex<T> &z)
{
	return std::log(z + std::sqrt(z * z + T(1)));
}

template <class T> KUDZU_HD complex<T> acosh(const complex<T> &z)
{
	return std::log(z + std::sqrt(z + T(1)) * std::sqrt(z - T(1)));
}

template <class T> KUDZU_HD complex<T> atanh(const complex<T> &z)
{
	return (std::log(T(1) + z) - std::log(T(1) - z)) / T(2);
}

template <class T> KUDZU_HD complex<T> asin(const complex<T> &z)
{
	const complex<T> w = std::asinh(complex<T>(-z.imag(), z.real()));
	return complex<T>(w.imag(), -w.real());
}

template <class T>
KUDZU_HD complex<T> acos(const complex<T> &z) { return T(1.57079632679489661923) - std::asin(z); }

template <class T> KUDZU_HD complex<T> atan(const complex<T> &z)
{
	const complex<T> w = std::atanh(complex<T>(-z.imag(), z.real()));
	return complex<T>(w.imag(), -w.real());
}

template <class T> KUDZU_HD complex<T> proj(const complex<T> &z)
{
	return ::isinf(z.real()) || ::isinf(z.imag())
		? complex<T>(T(INFINITY), ::copysign(T(), z.imag())) : z;
}

template <class T> KUDZU_HD complex<T> pow(const complex<T> &a, const complex<T> &b)
{
	return a == T() ? complex<T>(b == T() ? T(1) : T()) : std::exp(b * std::log(a));
}

template <class T> KUDZU_HD complex<T> pow(const complex<T> &a, const kudzu_same_t<T> &b)
{
	return std::pow(a, complex<T>(b));
}

template <class T> KUDZU_HD complex<T> pow(const kudzu_same_t<T> &a, const complex<T> &b)
{
	return std::pow(complex<T>(a), b);
}

/* Numbers are complex numbers, too. */
template <class T> KUDZU_HD constexpr kudzu_real<T> real(T x) { return x; }
template <class T> KUDZU_HD constexpr kudzu_real<T> imag(T) { return 0; }
template <class T> KUDZU_HD constexpr kudzu_real<T> norm(T x) { return kudzu_real<T>(x) * x; }
template <class T>
KUDZU_HD constexpr complex<kudzu_real<T>> conj(T x) { return complex<kudzu_real<T>>(x); }
template <class T> KUDZU_HD kudzu_real<T> arg(T x) { return ::atan2(kudzu_real<T>(), kudzu_real<T>(x)); }

inline namespace literals {
inline namespace complex_literals {
KUDZU_HD constexpr complex<double> operator""i(long double x) { return {0, double(x)}; }
KUDZU_HD constexpr complex<double> operator""i(unsigned long long x) { return {0, double(x)}; }
KUDZU_HD constexpr complex<float> operator""if(long double x) { return {0, float(x)}; }
KUDZU_HD constexpr complex<float> operator""if(unsigned long long x) { return {0, float(x)}; }
}
}

}

#undef KUDZU_HD
#endif

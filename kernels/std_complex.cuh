/* SPDX-License-Identifier: MIT */
/*
 * <complex> in kernels: the class and the names of the standard for the arrays' functions, which
 * are in complex.cuh and say what is special and how accurate they are.
 */
#ifndef KUDZU_STD_COMPLEX
#define KUDZU_STD_COMPLEX 1

#include <kudzu/complex.h>
#include <kudzu/std_math.h>

#define KUDZU_HD __host__ __device__

namespace std {

template <class T> struct kudzu_same { using type = T; };
template <class T> using kudzu_same_t = typename kudzu_same<T>::type;

template <class T> constexpr bool kudzu_is_real = is_same<T, float>::value || is_same<T,
	double>::value;

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
		if constexpr (kudzu_is_real<T>) {
			if (x != x && y != y) {
				*this = complex(kz_rare_product(kz_make(a, b), kz_make(c, d)));
			}
		}
		return *this;
	}
	template <class U> KUDZU_HD constexpr complex &operator/=(const complex<U> &z)
	{
		const T a = x, b = y, c = T(z.real()), d = T(z.imag());
		if constexpr (kudzu_is_real<T>) {
			if (!__builtin_is_constant_evaluated()) {
				return *this = complex(kz_make(a, b) / kz_make(c, d));
			}
		}
		const T size = c * c + d * d;
		x = (a * c + b * d) / size;
		y = (b * c - a * d) / size;
		return *this;
	}
	/* To and from what complex.cuh has. */
	KUDZU_HD explicit constexpr complex(const kz_complex<T> &z) : x(z.re), y(z.im) {}
	KUDZU_HD kz_complex<T> kudzu_parts() const { return kz_make(x, y); }
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
#define KUDZU_PART(name, other) \
	template <class T> KUDZU_HD T name(const complex<T> &z) { return other(z.kudzu_parts()); }
KUDZU_PART(norm, kz_norm)
KUDZU_PART(abs, kz_absolute)
KUDZU_PART(arg, kz_angle)
#undef KUDZU_PART

template <class T> KUDZU_HD complex<T> polar(const T &r, const T &phi = T())
{
	return complex<T>(kz_polar(r, phi));
}

#define KUDZU_FUNCTION(name, other) \
	template <class T> KUDZU_HD complex<T> name(const complex<T> &z) \
	{ return complex<T>(other(z.kudzu_parts())); }
KUDZU_FUNCTION(proj, kz_project)
KUDZU_FUNCTION(sqrt, kz_sqrt)
KUDZU_FUNCTION(exp, kz_exp)
KUDZU_FUNCTION(log, kz_log)
KUDZU_FUNCTION(log10, kz_log10)
KUDZU_FUNCTION(sin, kz_sin)
KUDZU_FUNCTION(cos, kz_cos)
KUDZU_FUNCTION(tan, kz_tan)
KUDZU_FUNCTION(sinh, kz_sinh)
KUDZU_FUNCTION(cosh, kz_cosh)
KUDZU_FUNCTION(tanh, kz_tanh)
KUDZU_FUNCTION(asin, kz_arcsin)
KUDZU_FUNCTION(acos, kz_arccos)
KUDZU_FUNCTION(atan, kz_arctan)
KUDZU_FUNCTION(asinh, kz_arcsinh)
KUDZU_FUNCTION(acosh, kz_arccosh)
KUDZU_FUNCTION(atanh, kz_arctanh)
#undef KUDZU_FUNCTION

template <class T> KUDZU_HD complex<T> pow(const complex<T> &a, const complex<T> &b)
{
	return complex<T>(kz_power(a.kudzu_parts(), b.kudzu_parts()));
}

/* Of two types, what both become. */
template <class T, class U, class P = kudzu_promote<T, U>>
KUDZU_HD complex<P> pow(const complex<T> &a, const complex<U> &b)
{
	return std::pow(complex<P>(a), complex<P>(b));
}

template <class T, class U, class P = kudzu_promote<T, U>>
KUDZU_HD complex<P> pow(const complex<T> &a, const U &b)
{
	return std::pow(complex<P>(a), complex<P>(P(b)));
}

template <class T, class U, class P = kudzu_promote<T, U>>
KUDZU_HD complex<P> pow(const T &a, const complex<U> &b)
{
	return std::pow(complex<P>(P(a)), complex<P>(b));
}

/* Numbers are complex numbers, too. */
template <class T> KUDZU_HD constexpr kudzu_real<T> real(T x) { return x; }
template <class T> KUDZU_HD constexpr kudzu_real<T> imag(T) { return 0; }
template <class T> KUDZU_HD constexpr kudzu_real<T> norm(T x) { return kudzu_real<T>(x) * x; }
template <class T>
KUDZU_HD constexpr complex<kudzu_real<T>> conj(T x) { return complex<kudzu_real<T>>(x); }
template <class T> KUDZU_HD complex<kudzu_real<T>> proj(T x)
{
	return std::proj(complex<kudzu_real<T>>(x));
}
template <class T> KUDZU_HD kudzu_real<T> arg(T x) { return ::atan2(kudzu_real<T>(),
	kudzu_real<T>(x)); }

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

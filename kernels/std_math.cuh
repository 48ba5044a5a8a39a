/* SPDX-License-Identifier: MIT */
/*
 * <cmath> in kernels: CUDA's functions, with the overloads of C++17 for integers and for arguments
 * of several types, which are computed as double.  A float to the power of an int stays a float, as
 * CUDA has it.
 *
 * The traits are those of libcu++ if it is installed, else of std.cuh.  The functions are never
 * libcu++'s: after `using namespace std`, a call of sqrt(float) would find CUDA's and libcu++'s,
 * and be ambiguous.
 */
#ifndef KUDZU_STD_MATH
#define KUDZU_STD_MATH 1

#define KUDZU_HD __host__ __device__

namespace std {

using float_t = float;
using double_t = double;

/* float, or double for another type of numbers; not there for others, as complex numbers. */
template <class T> using kudzu_real = conditional_t<is_same<T, float>::value, float,
	enable_if_t<is_arithmetic<T>::value, double>>;
template <class T, class U, class V = float>
using kudzu_promote = decltype(kudzu_real<T>() + kudzu_real<U>() + kudzu_real<V>());

#define KUDZU_OF_1(f) using ::f; \
	template <class T> KUDZU_HD enable_if_t<is_integral<T>::value, decltype(::f(0.0))> f(T x) \
	{ return ::f(double(x)); }
#define KUDZU_OF_2(f) using ::f; \
	template <class T, class U> KUDZU_HD kudzu_promote<T, U> f(T x, U y) \
	{ using P = kudzu_promote<T, U>; return ::f(P(x), P(y)); }
#define KUDZU_OF_3(f) using ::f; \
	template <class T, class U, class V> KUDZU_HD kudzu_promote<T, U, V> f(T x, U y, V z) \
	{ using P = kudzu_promote<T, U, V>; return ::f(P(x), P(y), P(z)); }

KUDZU_OF_1(acos) KUDZU_OF_1(acosh) KUDZU_OF_1(asin) KUDZU_OF_1(asinh) KUDZU_OF_1(atan)
KUDZU_OF_1(atanh) KUDZU_OF_1(cbrt) KUDZU_OF_1(ceil) KUDZU_OF_1(cos) KUDZU_OF_1(cosh)
KUDZU_OF_1(erf) KUDZU_OF_1(erfc) KUDZU_OF_1(exp) KUDZU_OF_1(exp2) KUDZU_OF_1(expm1)
KUDZU_OF_1(fabs) KUDZU_OF_1(floor) KUDZU_OF_1(ilogb) KUDZU_OF_1(isfinite) KUDZU_OF_1(isinf)
KUDZU_OF_1(isnan) KUDZU_OF_1(lgamma) KUDZU_OF_1(llrint) KUDZU_OF_1(llround) KUDZU_OF_1(log)
KUDZU_OF_1(log10) KUDZU_OF_1(log1p) KUDZU_OF_1(log2) KUDZU_OF_1(logb) KUDZU_OF_1(lrint)
KUDZU_OF_1(lround) KUDZU_OF_1(nearbyint) KUDZU_OF_1(rint) KUDZU_OF_1(round) KUDZU_OF_1(signbit)
KUDZU_OF_1(sin) KUDZU_OF_1(sinh) KUDZU_OF_1(sqrt) KUDZU_OF_1(tan) KUDZU_OF_1(tanh)
KUDZU_OF_1(tgamma) KUDZU_OF_1(trunc)
KUDZU_OF_2(atan2) KUDZU_OF_2(copysign) KUDZU_OF_2(fdim) KUDZU_OF_2(fmax) KUDZU_OF_2(fmin)
KUDZU_OF_2(fmod) KUDZU_OF_2(hypot) KUDZU_OF_2(nextafter) KUDZU_OF_2(pow) KUDZU_OF_2(remainder)
KUDZU_OF_3(fma)
using ::abs;
using ::frexp;
using ::ldexp;
using ::modf;
using ::nan;
using ::nanf;
using ::remquo;
using ::scalbln;
using ::scalbn;

KUDZU_HD inline float hypot(float x, float y, float z) { return ::norm3df(x, y, z); }
template <class T, class U, class V> KUDZU_HD kudzu_promote<T, U, V> hypot(T x, U y, V z)
{
	return ::norm3d(x, y, z);
}

#define FP_NAN 0
#define FP_INFINITE 1
#define FP_ZERO 2
#define FP_SUBNORMAL 3
#define FP_NORMAL 4

template <class T> KUDZU_HD int fpclassify(T x)
{
	using R = kudzu_real<T>;
	const R size = ::fabs(R(x));
	return ::isnan(size) ? FP_NAN : ::isinf(size) ? FP_INFINITE : size == 0 ? FP_ZERO
		: size < R(sizeof(R) == 4 ? 0x1p-126 : 0x1p-1022) ? FP_SUBNORMAL : FP_NORMAL;
}

template <class T> KUDZU_HD bool isnormal(T x) { return std::fpclassify(x) == FP_NORMAL; }

#define KUDZU_COMPARE(name, is) template <class T, class U> KUDZU_HD bool name(T a, U b) \
	{ using P = kudzu_promote<T, U>; const P x = P(a), y = P(b); return is; }
KUDZU_COMPARE(isgreater, x > y)
KUDZU_COMPARE(isgreaterequal, x >= y)
KUDZU_COMPARE(isless, x < y)
KUDZU_COMPARE(islessequal, x <= y)
KUDZU_COMPARE(islessgreater, x < y || x > y)
KUDZU_COMPARE(isunordered, ::isnan(x) || ::isnan(y))
#undef KUDZU_COMPARE
#undef KUDZU_OF_1
#undef KUDZU_OF_2
#undef KUDZU_OF_3

}

#undef KUDZU_HD
#endif

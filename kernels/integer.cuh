/* SPDX-License-Identifier: MIT */
/* Integers of generated kernels: they wrap, and dividing by zero gives 0. */
typedef unsigned long long kz_u64;
template <class T> __device__ T kz_add(T a, T b) { return (T)((kz_u64)a + (kz_u64)b); }
template <> __device__ bool kz_add(bool a, bool b) { return a || b; }
template <class T> __device__ T kz_subtract(T a, T b) { return (T)((kz_u64)a - (kz_u64)b); }
template <class T> __device__ T kz_multiply(T a, T b) { return (T)((kz_u64)a * (kz_u64)b); }
template <> __device__ bool kz_multiply(bool a, bool b) { return a && b; }
template <class T> __device__ T kz_negative(T a) { return (T)(0 - (kz_u64)a); }
template <class T> __device__ T kz_absolute(T a) { return a < 0 ? kz_negative(a) : a; }
template <> __device__ bool kz_absolute(bool a) { return a; }
template <class T> __device__ T kz_invert(T a) { return (T)~a; }
template <> __device__ bool kz_invert(bool a) { return !a; }
template <class T> __device__ T kz_sign_integer(T a) { return (T)((a > 0) - (a < 0)); }
/* C's quotient and remainder; the smallest number by -1 wraps. */
template <class T> __device__ T kz_quotient(T a, T b)
{
	return b == 0 ? (T)0 : (T)-1 < (T)0 && b == (T)-1 ? kz_negative(a) : (T)(a / b);
}
/* From the quotient: one division gives both. */
template <class T> __device__ T kz_rest(T a, T b, T quotient)
{
	return b == 0 ? (T)0 : (T)((kz_u64)a - (kz_u64)quotient * (kz_u64)b);
}
template <class T> __device__ T kz_fmod(T a, T b) { return kz_rest(a, b, kz_quotient(a, b)); }
template <class T> __device__ T kz_floor_divide_integer(T a, T b)
{
	const T quotient = kz_quotient(a, b);
	return (T)(quotient - (kz_rest(a, b, quotient) != 0 && (a < 0) != (b < 0)));
}
template <class T> __device__ T kz_remainder_integer(T a, T b)
{
	T rest = kz_fmod(a, b);
	return rest != 0 && (rest < 0) != (b < 0) ? (T)(rest + b) : rest;
}
template <class T> __device__ T kz_power_integer(T a, T b)
{
	kz_u64 result = 1, base = (kz_u64)a;
	if (b < 0) {
		return a == 1 ? (T)1 : a == (T)-1 ? (b & 1 ? a : (T)1) : (T)0;
	}
	for (kz_u64 left = (kz_u64)b; left; left >>= 1) {
		result *= left & 1 ? base : 1;
		base *= base;
	}
	return (T)result;
}
template <class T> __device__ T kz_gcd(T a, T b)
{
	while (b != 0) {
		T rest = kz_fmod(a, b);
		a = b;
		b = rest;
	}
	return kz_absolute(a);
}
template <class T> __device__ kz_u64 kz_magnitude(T a) { return a < 0 ? 0 - (kz_u64)a : (kz_u64)a; }
template <class T> __device__ T kz_lcm(T a, T b)
{
	T divisor = kz_gcd(a, b);
	return divisor == 0 ? divisor
		: (T)(kz_magnitude(a) / kz_magnitude(divisor) * kz_magnitude(b));
}
template <class T> __device__ T kz_left_shift(T a, T b)
{
	return (kz_u64)b < 8 * sizeof(T) ? (T)((kz_u64)a << b) : (T)0;
}
template <class T> __device__ T kz_right_shift(T a, T b)
{
	return (kz_u64)b < 8 * sizeof(T) ? (T)(a >> b) : a < 0 ? (T)-1 : (T)0;
}
/* Of the magnitude, as numpy: one of -1. */
template <class T> __device__ int kz_bitwise_count(T a)
{
	return sizeof(T) < 8 ? __popc((unsigned)kz_magnitude(a)) : __popcll(kz_magnitude(a));
}
/* Of two types, which may have no integer type in common, by value. */
template <class T> __device__ bool kz_less(T a, T b) { return a < b; }
template <class A, class B> __device__ bool kz_less(A a, B b)
{
	bool below = a < 0, other_below = b < 0;
	return below != other_below ? below
		: below ? (long long)a < (long long)b : (kz_u64)a < (kz_u64)b;
}
template <class T> __device__ bool kz_equal(T a, T b) { return a == b; }
template <class A, class B> __device__ bool kz_equal(A a, B b)
{
	return (a < 0) == (b < 0) && (kz_u64)a == (kz_u64)b;
}

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
/*
 * A divisor that stays for many elements: a / |b| = (a factor + more) >> shift for numbers of as
 * many bits as a word has (A. D. Robison, "N-Bit Unsigned Division Via N-Bit Multiply-Add", 2005).
 * `factor` is 2^shift / |b|, rounded up if that is near enough; else down, and `more` makes up for
 * it.  What a quotient by zero is, is in the constants: 0, and nothing is below `limit`.
 */
template <int size> struct kz_word_of { typedef unsigned short type; typedef unsigned int twice; };
template <> struct kz_word_of<4> { typedef unsigned int type; typedef kz_u64 twice; };
template <> struct kz_word_of<8> { typedef kz_u64 type, twice; };
template <class T> struct kz_divisor {
	typedef typename kz_word_of<sizeof(T)>::type word;
	T value, limit;
	word factor, more;
	int shift;
	__device__ kz_divisor(T b)
	{
		const bool negative = b < 0, none = b == 0;
		const int bits = 8 * (int)sizeof(word);
		const word divisor = none ? (word)1 : (word)(negative ? 0 - b : b);
		const int log = 63 - __clzll((long long)divisor);
		word rest = (word)1 << log;
		factor = divisor == rest;
		rest = factor ? 0 : rest;
		_Pragma("unroll 1") for (int i = 0; i < bits; i++) {
			const bool less = rest < divisor - rest;
			rest = less ? 2 * rest : rest - (divisor - rest);
			factor = 2 * factor + !less;
		}
		const bool exact = rest == 0, up = !exact && divisor - rest <= (word)1 << log;
		factor = none ? 0 : exact ? ~(word)0 : factor + up;
		more = none || up ? 0 : factor;
		shift = log;
		value = b;
		limit = none ? (T)((T)1 << (8 * sizeof(T) - 1)) : negative ? (T)-1 : (T)0;
	}
	/* a, or 0 where the divisor is 0: else the highest bit of `factor` is set. */
	__device__ word keep(word a) const
	{
		return a & (0 - (factor >> (8 * sizeof(word) - 1)));
	}
	__device__ word divide(word a) const
	{
		typedef typename kz_word_of<sizeof(T)>::twice twice;
		const twice sum = (twice)a * factor + more;
		if constexpr (sizeof(word) == 8) {
			return (__umul64hi(a, factor) + (sum < more)) >> shift;
		} else {
			return (word)(sum >> 8 * (int)sizeof(word) >> shift);
		}
	}
};
/* The quotient of magnitudes; of other signs it is that of |a| - 1, with all bits turned over. */
template <class T> __device__ T kz_floor_divide_integer(T a, const kz_divisor<T> &b)
{
	typedef typename kz_divisor<T>::word word;
	if ((T)-1 > (T)0) {
		return (T)b.divide((word)a);
	}
	const word apart = 0 - (word)((T)(a ^ b.limit) < b.limit);
	const word size = a < 0 ? 0 - (word)a : (word)a;
	return (T)(b.divide((word)(size + apart)) ^ apart);
}
template <class T> __device__ T kz_remainder_integer(T a, const kz_divisor<T> &b)
{
	typedef typename kz_divisor<T>::word word;
	return (T)(b.keep((word)a) - (word)kz_floor_divide_integer(a, b) * (word)b.value);
}
template <class T> __device__ T kz_fmod(T a, const kz_divisor<T> &b)
{
	typedef typename kz_divisor<T>::word word;
	const word sign = 0 - (word)(a < 0), size = ((word)a ^ sign) - sign;
	const word by = b.value < 0 ? 0 - (word)b.value : (word)b.value;
	return (T)(((b.keep(size) - b.divide(size) * by) ^ sign) - sign);
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

/* SPDX-License-Identifier: MIT */
/*
 * Elements as numbers; see number.h.
 *
 * The formats of floats are known here by their digits and exponents alone: no conversion of the
 * compiler or the library is used, so that theirs can be compared with these.
 */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "number.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct format {
	int digits;   /* of the significand, with the first one */
	int smallest; /* exponent of a normal number */
} formats[16] = {
	[KZ_F16] = {11, -14}, [KZ_BF16] = {8, -126}, [KZ_F32] = {24, -126}, [KZ_F64] = {53, -1022},
};

enum number_kind number_kind(kz_dtype dtype)
{
	return dtype == KZ_BOOL ? NUMBER_BOOL : dtype_is_exact(dtype) ? NUMBER_INTEGER
		: dtype_is_float(dtype) ? NUMBER_REAL : NUMBER_COMPLEX;
}

kz_dtype number_part(kz_dtype dtype)
{
	return dtype == KZ_C64 ? KZ_F32 : dtype == KZ_C128 ? KZ_F64 : dtype;
}

int number_digits(kz_dtype dtype)
{
	return formats[dtype].digits;
}

bool number_is_signed(kz_dtype dtype)
{
	return dtype_is_signed(dtype);
}

int number_bits(kz_dtype dtype)
{
	static const unsigned char bits[16] = {0, 8, 8, 16, 32, 64, 8, 16, 32, 64, 16, 16, 32, 64,
		64, 128};
	return bits[dtype];
}

static int exponent_of(kz_dtype real, long double value)
{
	int exponent = value == 0 ? -20000 : ilogbl(value);
	return exponent < formats[real].smallest ? formats[real].smallest : exponent;
}

long double number_ulp(kz_dtype real, long double value)
{
	if (isinf(value)) {
		value = number_largest(real);
	}
	return ldexpl(1, exponent_of(real, value) - formats[real].digits + 1);
}

long double number_largest(kz_dtype real)
{
	const struct format *format = &formats[real];
	int exponent = 1 - format->smallest;
	return ldexpl(2 - ldexpl(1, 1 - format->digits), exponent);
}

long double number_round(kz_dtype real, long double value)
{
	if (value == 0 || isnan(value) || isinf(value)) {
		return value;
	}
	long double unit = number_ulp(real, value);
	long double rounded = rintl(value / unit) * unit;
	return fabsl(rounded) > number_largest(real) ? copysignl(INFINITY, value)
		: copysignl(rounded, value);
}

/* Bits */

static long double real_of_bits(kz_dtype real, uint64_t bits)
{
	const struct format *format = &formats[real];
	int fraction = format->digits - 1;
	uint64_t significand = bits & ((UINT64_C(1) << fraction) - 1);
	int exponent = (int)(bits >> fraction
		& ((UINT64_C(1) << (number_bits(real) - 1 - fraction)) - 1));
	bool negative = bits >> (number_bits(real) - 1) & 1;
	long double value;
	if (exponent == 2 - 2 * format->smallest + 1) {
		value = significand ? NAN : INFINITY;
	} else {
		value =
			ldexpl((long double)(significand
				| (exponent ? UINT64_C(1) << fraction : 0)),
			(exponent ? exponent - 1 : 0) + format->smallest - fraction);
	}
	return negative && !isnan(value) ? -value : value; /* the sign of no number says nothing */
}

static uint64_t bits_of_real(kz_dtype real, long double value)
{
	const struct format *format = &formats[real];
	int fraction = format->digits - 1;
	uint64_t sign = (uint64_t)(signbit(value) != 0) << (number_bits(real) - 1);
	uint64_t infinite = (uint64_t)(3 - 2 * format->smallest) << fraction;
	if (isnan(value)) {
		return infinite | UINT64_C(1) << (fraction - 1);
	}
	if (isinf(value)) {
		return sign | infinite;
	}
	int exponent = exponent_of(real, value);
	uint64_t significand = (uint64_t)ldexpl(fabsl(value), fraction - exponent);
	return sign | (((uint64_t)(exponent - format->smallest) << fraction) + significand);
}

static uint64_t read_bits(const void *element, int bits)
{
	uint64_t out = 0;
	memcpy(&out, element, (size_t)bits / 8);
	return out;
}

struct number number_of_whole(whole value)
{
	return (struct number){value, (long double)value, 0};
}

struct number number_of_real(long double value)
{
	return (struct number){0, value, 0};
}

struct number number_load(kz_dtype dtype, const void *element)
{
	int bits = number_bits(dtype);
	if (number_kind(dtype) == NUMBER_COMPLEX) {
		kz_dtype part = number_part(dtype);
		return (struct number){0, real_of_bits(part, read_bits(element, bits / 2)),
			real_of_bits(part, read_bits((const char *)element + bits / 16, bits / 2))};
	}
	uint64_t read = read_bits(element, bits);
	if (number_kind(dtype) == NUMBER_REAL) {
		return number_of_real(real_of_bits(dtype, read));
	}
	whole value = (whole)read;
	if (number_is_signed(dtype) && read >> (bits - 1)) {
		value -= (whole)1 << bits;
	}
	return number_of_whole(value);
}

void number_store(kz_dtype dtype, void *element, struct number value)
{
	int bits = number_bits(dtype);
	uint64_t out[2] = {(uint64_t)value.i, 0};
	if (number_kind(dtype) == NUMBER_COMPLEX) {
		kz_dtype part = number_part(dtype);
		out[0] = bits_of_real(part, value.re);
		out[1] = bits_of_real(part, value.im);
		memcpy((char *)element + bits / 16, &out[1], (size_t)bits / 16);
		bits /= 2;
	} else if (number_kind(dtype) == NUMBER_REAL) {
		out[0] = bits_of_real(dtype, value.re);
	}
	memcpy(element, out, (size_t)bits / 8);
}

/* Conversions */

static whole wrap(kz_dtype dtype, whole value)
{
	int bits = number_bits(dtype);
	value &= ((whole)1 << bits) - 1;
	return number_is_signed(dtype) && value >> (bits - 1) ? value - ((whole)1 << bits) : value;
}

bool number_convert(struct number *value, kz_dtype from, kz_dtype to)
{
	bool was_whole = number_kind(from) <= NUMBER_INTEGER;
	long double im = number_kind(from) == NUMBER_COMPLEX ? value->im : 0;
	switch (number_kind(to)) {
	case NUMBER_BOOL:
		*value = number_of_whole(was_whole ? value->i != 0 : value->re != 0 || im != 0);
		return true;
	case NUMBER_INTEGER:
		if (!was_whole && !(fabsl(value->re) < 0x1p100L)) {
			return false;
		}
		whole exact = was_whole ? value->i : (whole)value->re;
		*value = number_of_whole(wrap(to, exact));
		return was_whole || value->i == exact;
	case NUMBER_REAL:
		*value = number_of_real(number_round(to, value->re));
		return true;
	case NUMBER_COMPLEX:
		*value = (struct number){0, number_round(number_part(to), value->re),
			number_round(number_part(to), im)};
		return true;
	}
	return false;
}

/* Operands */

/* splitmix64 */
uint64_t number_random(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static const long double reals[] = {
	0, -0.0L, 1, -1, 0.5L, -0.5L, 1.5L, -1.5L, 2.5L, 2, -2, 3, -3, 0.1L, 7, -10.25L, 100, 1e4L,
	65504, -3.5e4L, 88.5L, -710, 1e10L, -1e30L, 0x1p-20L, -0x1p-130L, 0x1p-149L, 0x1p-1074L,
	0x1p-24L, 1e38L, 1e308L, INFINITY, -INFINITY, NAN, 3.14159265358979323846L, 0.99999L,
	-1.00001L, 16777217, 2147483648.0L,
};

static const int wholes[] = {
	0, 1, -1, 2, -2, 3, -3, 5, 7, 8, 15, 16, 31, 32, 63, 64, 65, 100, -100, 127, 128, 255, 256,
	1000, 46341, -46341, 65537,
};

static bool remarkable_whole(struct number *out, kz_dtype dtype, int index)
{
	whole low = number_is_signed(dtype) ? -((whole)1 << (number_bits(dtype) - 1)) : 0;
	whole high = low + (((whole)1 << number_bits(dtype)) - 1);
	const whole ends[] = {low, low + 1, high, high - 1, high / 2, high / 3};
	int count = (int)countof(wholes);
	if (index >= count + (int)countof(ends)) {
		return false;
	}
	*out = number_of_whole(wrap(dtype, index < count ? wholes[index] : ends[index - count]));
	return true;
}

static bool remarkable_real(struct number *out, kz_dtype real, int index)
{
	long double ends[] = {number_largest(real), -number_largest(real),
		ldexpl(1, formats[real].smallest), number_ulp(real, 0), -number_ulp(real, 0),
		1 + number_ulp(real, 1)};
	int count = (int)countof(reals);
	if (index >= count + (int)countof(ends)) {
		return false;
	}
	*out = number_of_real(number_round(real, index < count ? reals[index]
		: ends[index - count]));
	return true;
}

bool number_remarkable(struct number *out, kz_dtype dtype, int index)
{
	static const long double parts[] = {0, -0.0L, 1, -1, 0.5L, -2, 3.25L, 10, -0.001L, 0x1p-20L,
		-1e30L, INFINITY, NAN};
	int count = (int)countof(parts);
	switch (number_kind(dtype)) {
	case NUMBER_BOOL:
		*out = number_of_whole(index);
		return index < 2;
	case NUMBER_INTEGER:
		return remarkable_whole(out, dtype, index);
	case NUMBER_REAL:
		return remarkable_real(out, dtype, index);
	case NUMBER_COMPLEX:
		*out = (struct number){0, number_round(number_part(dtype), parts[index % count]),
			number_round(number_part(dtype), parts[index / count % count])};
		return index < count * count;
	}
	return false;
}

/* Of any exponent, or near 1; complex parts are moderate and finite. */
static long double any_real(kz_dtype real, uint64_t *seed, bool moderate)
{
	uint64_t bits = number_random(seed);
	if (!moderate && bits % 4 == 0) {
		return real_of_bits(real, number_random(seed));
	}
	long double near = ldexpl((long double)(int64_t)number_random(seed), -63);
	return number_round(real, ldexpl(near, (int)(bits >> 8 & 7) - (moderate ? 3 : 1)));
}

struct number number_any(kz_dtype dtype, uint64_t *seed)
{
	struct number value;
	uint64_t bits = number_random(seed);
	switch (number_kind(dtype)) {
	case NUMBER_COMPLEX:
		value = number_of_real(any_real(number_part(dtype), seed, true));
		value.im = any_real(number_part(dtype), seed, true);
		return value;
	case NUMBER_REAL:
		return number_of_real(any_real(dtype, seed, false));
	default:
		/* Of any size: shifted by a random number of bits. */
		value = number_of_whole((whole)(int64_t)bits >> (number_random(seed) & 63));
		(void)number_convert(&value, KZ_I64, dtype);
		return value;
	}
}

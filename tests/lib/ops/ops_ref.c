/* SPDX-License-Identifier: MIT */
/*
 * The reference of the elementwise operations; see ops_ref.h.
 *
 * Integers are computed with 128 bits and wrapped; real functions are those of the C library for
 * long double, whose error is 2^-11 of a double's last place; + - * / and square roots of doubles,
 * which must be right in every bit, are the machine's own, since rounding them twice is not.
 */
#include "base/common.h"

#include "ops_ref.h"
#include "special_ref.h"

#include <math.h>
#include <string.h>

#define WHOLE(name, ...) \
	static whole whole_##name(whole a, whole b, whole c, kz_dtype t) \
	{ \
		(void)a, (void)b, (void)c, (void)t; \
		return __VA_ARGS__; \
	}
#define REAL(name, ...) \
	static long double real_##name(long double a, long double b, long double c, kz_dtype t) \
	{ \
		(void)a, (void)b, (void)c, (void)t; \
		return __VA_ARGS__; \
	}
#define COMPLEX(name, ...) \
	static long double complex complex_##name(long double complex a, long double complex b) \
	{ \
		(void)a, (void)b; \
		return __VA_ARGS__; \
	}

/* Integers */

static whole c_remainder(whole a, whole b)
{
	return b ? a % b : 0;
}

static whole floor_remainder(whole a, whole b)
{
	whole rest = c_remainder(a, b);
	return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

static whole magnitude(whole a)
{
	return a < 0 ? -a : a;
}

static whole divisor(whole a, whole b)
{
	return b ? divisor(b, a % b) : magnitude(a);
}

static whole multiple(whole a, whole b)
{
	return a && b ? magnitude(a) / divisor(a, b) * magnitude(b) : 0;
}

static whole power(whole a, whole b)
{
	unsigned __int128 result = 1, base = (unsigned __int128)a;
	if (b < 0) {
		return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
	}
	for (; b; b /= 2, base *= base) {
		result *= b % 2 ? base : 1;
	}
	return (whole)result;
}

static whole shift(whole a, whole b, int bits, bool left)
{
	if (b < 0 || b >= bits) {
		return left || a >= 0 ? 0 : -1;
	}
	whole unit = (whole)1 << b;
	return left ? (whole)((unsigned __int128)a * (unsigned __int128)unit)
		: (a - (a % unit + unit) % unit) / unit;
}

static int ones(whole a)
{
	int count = 0;
	for (whole left = magnitude(a); left; left /= 2) {
		count += left % 2 != 0;
	}
	return count;
}

WHOLE(add, a + b)
WHOLE(subtract, a - b)
WHOLE(multiply, (whole)((unsigned __int128)a * (unsigned __int128)b))
WHOLE(floor_divide, b ? (a - floor_remainder(a, b)) / b : 0)
WHOLE(remainder, floor_remainder(a, b))
WHOLE(fmod, c_remainder(a, b))
WHOLE(power, power(a, b))
WHOLE(negative, -a)
WHOLE(same, a)
WHOLE(absolute, magnitude(a))
WHOLE(sign, a > 0 ? 1 : a < 0 ? -1 : 0)
WHOLE(square, (whole)((unsigned __int128)a * (unsigned __int128)a))
WHOLE(gcd, divisor(a, b))
WHOLE(lcm, multiple(a, b))
WHOLE(zero, 0)
WHOLE(one, 1)
WHOLE(relu, a > 0 ? a : 0)
WHOLE(maximum, a > b ? a : b)
WHOLE(minimum, a < b ? a : b)
WHOLE(clip, (a < b ? b : a) > c ? c : a < b ? b : a)
WHOLE(choose, a ? b : c)
WHOLE(if_positive, a > 0 ? b : c)
WHOLE(equal, a == b)
WHOLE(not_equal, a != b)
WHOLE(less, a < b)
WHOLE(less_equal, a <= b)
WHOLE(greater, a > b)
WHOLE(greater_equal, a >= b)
WHOLE(and, a && b)
WHOLE(or, a || b)
WHOLE(xor, !a != !b)
WHOLE(not, !a)
WHOLE(bit_and, a & b)
WHOLE(bit_or, a | b)
WHOLE(bit_xor, a ^ b)
WHOLE(invert, t == KZ_BOOL ? !a : ~a)
WHOLE(left_shift, shift(a, b, number_bits(t), true))
WHOLE(right_shift, shift(a, b, number_bits(t), false))
WHOLE(bitwise_count, ones(a))

/* Reals */

static const long double pi = 3.14159265358979323846264338327950288L;

static long double remainder_of(long double a, long double b, kz_dtype t)
{
	long double rest = fmodl(a, b);
	if (isnan(rest) || b == 0) {
		return NAN;
	}
	if (rest == 0) {
		return copysignl(0, b);
	}
	return signbit(rest) == signbit(b) ? rest
		: t == KZ_F64 ? (double)rest + (double)b : rest + b;
}

/* The whole number below the quotient: exact, but for the last division. */
static long double floor_quotient(long double a, long double b)
{
	long double rest = fmodl(a, b);
	if (b == 0) {
		return a / b;
	}
	if (isnan(rest)) {
		return NAN;
	}
	if (rest != 0 && signbit(rest) != signbit(b)) {
		return isinf(b) ? -1 : roundl((a - rest) / b) - 1;
	}
	return isinf(b) ? copysignl(0, a / b) : copysignl(roundl((a - rest) / b), a / b);
}

static long double greater_of(long double a, long double b)
{
	return isnan(a) || a >= b ? a : b;
}

static long double smaller_of(long double a, long double b)
{
	return isnan(a) || a <= b ? a : b;
}

static long double next(long double a, long double b, kz_dtype t)
{
	return t == KZ_F64 ? nextafter((double)a, (double)b) : nextafterf((float)a, (float)b);
}

static long double log_of_sum(long double a, long double b)
{
	long double high = fmaxl(a, b), low = fminl(a, b);
	return isnan(a) || isnan(b) ? NAN : high == low ? high + logl(2)
		: high + log1pl(expl(low - high));
}

static long double fraction_of(long double a)
{
	int exponent;
	return frexpl(a, &exponent);
}

static int exponent_of(long double a)
{
	int exponent = 0;
	if (isfinite(a)) {
		(void)frexpl(a, &exponent);
	}
	return exponent;
}

static long double scale(long double a, long double b)
{
	return ldexpl(a, b > 30000 ? 30000 : b < -30000 ? -30000 : (int)b);
}

/* Step by step in the type itself, as numpy computes it. */
static bool is_close(long double a, long double b, kz_dtype t)
{
	const long double apart = fabsl(number_round(t, a - b));
	const long double share = number_round(t, number_round(t, 1e-5L) * fabsl(b));
	return a == b || (isfinite(b)
		&& apart <= number_round(t, number_round(t, 1e-8L) + share));
}

#define EXACTLY(op) (t == KZ_F64 ? (double)a op (double)b : a op b)
REAL(add, EXACTLY(+))
REAL(subtract, EXACTLY(-))
REAL(multiply, EXACTLY(*))
REAL(divide, EXACTLY(/))
REAL(floor_divide, floor_quotient(a, b))
REAL(remainder, remainder_of(a, b, t))
REAL(fmod, fmodl(a, b))
REAL(power, powl(a, b))
REAL(negative, -a)
REAL(same, a)
REAL(absolute, fabsl(a))
REAL(sign, isnan(a) ? a : a > 0 ? 1 : a < 0 ? -1 : 0)
REAL(square, t == KZ_F64 ? (double)a * (double)a : a * a)
REAL(reciprocal, t == KZ_F64 ? 1 / (double)a : 1 / a)
REAL(sqrt, t == KZ_F64 ? sqrt((double)a) : sqrtl(a))
REAL(rsqrt, 1 / sqrtl(a))
REAL(cbrt, cbrtl(a))
REAL(exp, expl(a))
REAL(exp2, exp2l(a))
REAL(expm1, expm1l(a))
REAL(log, logl(a))
REAL(log2, log2l(a))
REAL(log10, log10l(a))
REAL(log1p, log1pl(a))
REAL(logaddexp, log_of_sum(a, b))
REAL(sin, sinl(a))
REAL(cos, cosl(a))
REAL(tan, tanl(a))
REAL(arcsin, asinl(a))
REAL(arccos, acosl(a))
REAL(arctan, atanl(a))
REAL(arctan2, atan2l(a, b))
REAL(sinh, sinhl(a))
REAL(cosh, coshl(a))
REAL(tanh, tanhl(a))
REAL(arcsinh, asinhl(a))
REAL(arccosh, acoshl(a))
REAL(arctanh, atanhl(a))
REAL(hypot, hypotl(a, b))
REAL(degrees, a * (180 / pi))
REAL(radians, a * (pi / 180))
REAL(floor, floorl(a))
REAL(ceil, ceill(a))
REAL(trunc, truncl(a))
REAL(rint, rintl(a))
REAL(copysign, copysignl(a, b))
REAL(nextafter, next(a, b, t))
REAL(ldexp, scale(a, b))
REAL(frexp_fraction, fraction_of(a))
REAL(frexp_exponent, exponent_of(a))
REAL(modf_fraction, copysignl(isinf(a) ? 0 : a - truncl(a), a))
REAL(isnan, isnan(a))
REAL(isinf, isinf(a) != 0)
REAL(isfinite, isfinite(a))
REAL(signbit, signbit(a) != 0)
REAL(zero, 0)
REAL(angle, isnan(a) ? a : signbit(a) ? pi : 0)
REAL(erf, erfl(a))
REAL(erfc, erfcl(a))
REAL(lgamma, lgammal(a))
REAL(tgamma, tgammal(a))
REAL(sigmoid, 1 / (1 + expl(-a)))
REAL(relu, isnan(a) || a > 0 ? a : a == 0 ? a : 0)
REAL(heaviside, isnan(a) ? a : a == 0 ? b : a > 0)
REAL(maximum, greater_of(a, b))
REAL(minimum, smaller_of(a, b))
REAL(fmax, a == b ? (signbit(a) ? b : a) : fmaxl(a, b))
REAL(fmin, a == b ? (signbit(a) ? a : b) : fminl(a, b))
REAL(clip, smaller_of(greater_of(a, b), c))
REAL(if_positive, a > 0 ? b : c)
REAL(equal, a == b)
REAL(not_equal, a != b)
REAL(less, a < b)
REAL(less_equal, a <= b)
REAL(greater, a > b)
REAL(greater_equal, a >= b)

REAL(sinc, special_sinc(a))
REAL(erfinv, special_erfinv(a))
REAL(ndtr, special_ndtr(a))
REAL(digamma, special_digamma(a))
REAL(j0, isinf(a) ? (long double)NAN : j0l(a))
REAL(i0, special_i0(a))
REAL(exp1, special_exp1(a))
REAL(expi, special_expi(a))
REAL(sici_sine, special_si(a))
REAL(sici_cosine, special_ci(a))
REAL(isclose, is_close(a, b, t))
REAL(nan_to_num, isnan(a) ? 0 : isinf(a) ? copysignl(number_largest(t), a) : a)

/* Complex numbers */

/* CMPLXL, which glibc keeps from clang. */
static long double complex both(long double real, long double imaginary)
{
	union { long double parts[2]; long double complex value; } out = {{real, imaginary}};
	return out.value;
}

#define BOTH(f) both(f(creall(a)), f(cimagl(a)))
/* By zero as Annex G of C: infinite by the sign of the real part. */
static long double complex quotient_of(long double complex a, long double complex b)
{
	const long double size = copysignl(INFINITY, creall(b));
	return b == 0 ? both(size * creall(a), size * cimagl(a)) : a / b;
}

/* In double: a sum of doubles that is rounded to long double first can end one place off, and a
 * sum of floats has the same bits either way. */
#define PARTS(op) both((double)creall(a) op (double)creall(b), \
	(double)cimagl(a) op (double)cimagl(b))
COMPLEX(add, PARTS(+))
COMPLEX(subtract, PARTS(-))
COMPLEX(multiply, a * b)
COMPLEX(divide, quotient_of(a, b))
/* Of 0: 0 where the real part is positive, as numpy has it; where it is negative infinite, as in
 * C. */
COMPLEX(power, b == 0 ? 1 : a != 0 ? cexpl(b * clogl(a)) : creall(b) > 0 ? 0
	: both(creall(b) < 0 ? INFINITY : NAN, NAN))
COMPLEX(negative, both(-creall(a), -cimagl(a)))
COMPLEX(same, a)
COMPLEX(absolute, cabsl(a))
COMPLEX(sign, a == 0 ? 0 : a / cabsl(a))
COMPLEX(square, a * a)
COMPLEX(reciprocal, quotient_of(1, a))
COMPLEX(sqrt, csqrtl(a))
COMPLEX(rsqrt, quotient_of(1, csqrtl(a)))
COMPLEX(exp, cexpl(a))
COMPLEX(log, clogl(a))
COMPLEX(log10, clogl(a) / logl(10))
COMPLEX(sin, csinl(a))
COMPLEX(cos, ccosl(a))
COMPLEX(tan, ctanl(a))
COMPLEX(sinh, csinhl(a))
COMPLEX(cosh, ccoshl(a))
COMPLEX(tanh, ctanhl(a))
COMPLEX(arcsin, casinl(a))
COMPLEX(arccos, cacosl(a))
COMPLEX(arctan, catanl(a))
COMPLEX(arcsinh, casinhl(a))
COMPLEX(arccosh, cacoshl(a))
COMPLEX(arctanh, catanhl(a))
COMPLEX(isnan, isnan(creall(a)) || isnan(cimagl(a)))
COMPLEX(isinf, isinf(creall(a)) || isinf(cimagl(a)))
COMPLEX(isfinite, isfinite(creall(a)) && isfinite(cimagl(a)))
COMPLEX(real, creall(a))
COMPLEX(imag, cimagl(a))
COMPLEX(conjugate, conjl(a))
COMPLEX(angle, cargl(a))
COMPLEX(sinc, special_complex_sinc(a))
COMPLEX(isclose, cabsl(a - b) <= 1e-8L + 1e-5L * cabsl(b))
COMPLEX(equal, creall(a) == creall(b) && cimagl(a) == cimagl(b))
COMPLEX(not_equal, creall(a) != creall(b) || cimagl(a) != cimagl(b))

/* The table */

#define ALL "?bhilBHILeEfdFD"
#define ALL_REAL "?bhilBHILeEfd.."
#define NOT_BOOL ".bhilBHILeEfdFD"
#define NUMBER "bbhilBHILeEfdFD"
#define NUMBER_REALS "bbhilBHILeEfd.."
#define WHOLES "?bhilBHIL......"
#define NUMBER_WHOLES "bbhilBHIL......"
#define DIVIDED "dddddddddeEfdFD"
#define FLOAT "eefddefddeEfdFD"
#define FLOAT_REAL "eefddefddeEfd.."
#define FLOAT_32 "fffddffddfffd.."
#define PART "?bhilBHILeEfdfd"
#define FLOAT_PART "eefddefddeEfdfd"
#define INT32 "iiiiiiiiiiiiiii"
#define UINT8 "BBBBBBBBBBBBBBB"
#define BOOLS "???????????????"
#define COMPLEX_64 "FFFDDFFDDFFFD.."

#define ROW(op, computed, result, whole, real, planar, f32, f64) \
	[KZ_OP_##op] = {REF_PLAIN, computed, result, whole, real, planar, {f32, f64}}
#define W(name) whole_##name
#define R(name) real_##name
#define C(name) complex_##name
#define FUNCTION(OP, name, f32, f64) ROW(OP, FLOAT_REAL, FLOAT_REAL, 0, R(name), 0, f32, f64)
#define COMPLEX_FUNCTION(OP, name, f32, f64) \
	ROW(OP, FLOAT, FLOAT, 0, R(name), C(name), f32, f64)
#define ROUND(OP, name) ROW(OP, ALL_REAL, ALL_REAL, W(same), R(name), 0, 0, 0)
#define LOGICAL(OP, name) ROW(OP, BOOLS, BOOLS, W(name), 0, 0, 0, 0)
#define BITS(OP, name) ROW(OP, WHOLES, WHOLES, W(name), 0, 0, 0, 0)
#define COMPARE(op, computed, name, planar) \
	[KZ_OP_##op] = {REF_COMPARE, computed, BOOLS, W(name), R(name), planar, {0, 0}}

const struct ref ref_ops[REF_OPS] = {
	ROW(ADD, ALL, ALL, W(add), R(add), C(add), 0, 0),
	ROW(SUBTRACT, NOT_BOOL, NOT_BOOL, W(subtract), R(subtract), C(subtract), 0, 0),
	ROW(MULTIPLY, ALL, ALL, W(multiply), R(multiply), C(multiply), 0, 0),
	ROW(DIVIDE, DIVIDED, DIVIDED, 0, R(divide), C(divide), 0, 0),
	ROW(FLOOR_DIVIDE, NUMBER_REALS, NUMBER_REALS, W(floor_divide), R(floor_divide), 0, 2, 2),
	ROW(REMAINDER, NUMBER_REALS, NUMBER_REALS, W(remainder), R(remainder), 0, 0, 0),
	ROW(FMOD, NUMBER_REALS, NUMBER_REALS, W(fmod), R(fmod), 0, 0, 0),
	ROW(POWER, NUMBER, NUMBER, W(power), R(power), C(power), 1, 2),
	ROW(NEGATIVE, NOT_BOOL, NOT_BOOL, W(negative), R(negative), C(negative), 0, 0),
	ROW(POSITIVE, NOT_BOOL, NOT_BOOL, W(same), R(same), C(same), 0, 0),
	ROW(ABSOLUTE, ALL, PART, W(absolute), R(absolute), C(absolute), 0, 0),
	ROW(SIGN, NUMBER, NUMBER, W(sign), R(sign), C(sign), 0, 0),
	ROW(SQUARE, NUMBER, NUMBER, W(square), R(square), C(square), 0, 0),
	ROW(RECIPROCAL, FLOAT, FLOAT, 0, R(reciprocal), C(reciprocal), 0, 0),
	ROW(SQRT, FLOAT, FLOAT, 0, R(sqrt), C(sqrt), 0, 0),
	COMPLEX_FUNCTION(RSQRT, rsqrt, 1, 1),
	FUNCTION(CBRT, cbrt, 1, 1),
	ROW(GCD, NUMBER_WHOLES, NUMBER_WHOLES, W(gcd), 0, 0, 0, 0),
	ROW(LCM, NUMBER_WHOLES, NUMBER_WHOLES, W(lcm), 0, 0, 0, 0),
	COMPLEX_FUNCTION(EXP, exp, 2, 1),
	FUNCTION(EXP2, exp2, 2, 1),
	FUNCTION(EXPM1, expm1, 1, 1),
	COMPLEX_FUNCTION(LOG, log, 1, 1),
	FUNCTION(LOG2, log2, 1, 1),
	COMPLEX_FUNCTION(LOG10, log10, 2, 1),
	FUNCTION(LOG1P, log1p, 1, 1),
	FUNCTION(LOGADDEXP, logaddexp, 3, 3),
	COMPLEX_FUNCTION(SIN, sin, 2, 2),
	COMPLEX_FUNCTION(COS, cos, 2, 2),
	COMPLEX_FUNCTION(TAN, tan, 4, 2),
	COMPLEX_FUNCTION(ARCSIN, arcsin, 2, 2),
	COMPLEX_FUNCTION(ARCCOS, arccos, 2, 2),
	COMPLEX_FUNCTION(ARCTAN, arctan, 2, 2),
	FUNCTION(ARCTAN2, arctan2, 3, 2),
	COMPLEX_FUNCTION(SINH, sinh, 2, 2),
	COMPLEX_FUNCTION(COSH, cosh, 2, 1),
	COMPLEX_FUNCTION(TANH, tanh, 1, 1),
	COMPLEX_FUNCTION(ARCSINH, arcsinh, 2, 2),
	COMPLEX_FUNCTION(ARCCOSH, arccosh, 2, 2),
	COMPLEX_FUNCTION(ARCTANH, arctanh, 2, 2),
	FUNCTION(HYPOT, hypot, 3, 2),
	FUNCTION(DEGREES, degrees, 1, 1),
	FUNCTION(RADIANS, radians, 1, 1),
	ROUND(FLOOR, floor),
	ROUND(CEIL, ceil),
	ROUND(TRUNC, trunc),
	ROUND(RINT, rint),
	FUNCTION(COPYSIGN, copysign, 0, 0),
	ROW(NEXTAFTER, FLOAT_32, FLOAT_32, 0, R(nextafter), 0, 0, 0),
	[KZ_OP_LDEXP] = {REF_LDEXP, FLOAT_REAL, FLOAT_REAL, 0, R(ldexp), 0, {0, 0}},
	FUNCTION(FREXP_FRACTION, frexp_fraction, 0, 0),
	ROW(FREXP_EXPONENT, FLOAT_REAL, INT32, 0, R(frexp_exponent), 0, 0, 0),
	FUNCTION(MODF_FRACTION, modf_fraction, 0, 0),
	FUNCTION(MODF_WHOLE, trunc, 0, 0),
	ROW(ISNAN, ALL, BOOLS, W(zero), R(isnan), C(isnan), 0, 0),
	ROW(ISINF, ALL, BOOLS, W(zero), R(isinf), C(isinf), 0, 0),
	ROW(ISFINITE, ALL, BOOLS, W(one), R(isfinite), C(isfinite), 0, 0),
	ROW(SIGNBIT, ALL_REAL, BOOLS, W(less), R(signbit), 0, 0, 0),
	ROW(REAL, ALL, PART, W(same), R(same), C(real), 0, 0),
	ROW(IMAG, ALL, PART, W(zero), R(zero), C(imag), 0, 0),
	ROW(CONJUGATE, NUMBER, NUMBER, W(same), R(same), C(conjugate), 0, 0),
	ROW(ANGLE, FLOAT, FLOAT_PART, 0, R(angle), C(angle), 0, 0),
	FUNCTION(ERF, erf, 2, 2),
	FUNCTION(ERFC, erfc, 4, 5),
	FUNCTION(LGAMMA, lgamma, 6, 4),
	FUNCTION(TGAMMA, tgamma, 5, 10),
	FUNCTION(SIGMOID, sigmoid, 2, 2),
	ROW(RELU, NUMBER_REALS, NUMBER_REALS, W(relu), R(relu), 0, 0, 0),
	FUNCTION(HEAVISIDE, heaviside, 0, 0),
	ROW(MAXIMUM, ALL_REAL, ALL_REAL, W(maximum), R(maximum), 0, 0, 0),
	ROW(MINIMUM, ALL_REAL, ALL_REAL, W(minimum), R(minimum), 0, 0, 0),
	ROW(FMAX, ALL_REAL, ALL_REAL, W(maximum), R(fmax), 0, 0, 0),
	ROW(FMIN, ALL_REAL, ALL_REAL, W(minimum), R(fmin), 0, 0, 0),
	ROW(CLIP, ALL_REAL, ALL_REAL, W(clip), R(clip), 0, 0, 0),
	[KZ_OP_WHERE] = {REF_WHERE, ALL, ALL, W(choose), 0, 0, {0, 0}},
	[KZ_OP_IF_POSITIVE] = {REF_CHOOSE, ALL, ALL, W(if_positive), R(if_positive), 0, {0, 0}},
	COMPARE(EQUAL, ALL, equal, C(equal)),
	COMPARE(NOT_EQUAL, ALL, not_equal, C(not_equal)),
	COMPARE(LESS, ALL_REAL, less, 0),
	COMPARE(LESS_EQUAL, ALL_REAL, less_equal, 0),
	COMPARE(GREATER, ALL_REAL, greater, 0),
	COMPARE(GREATER_EQUAL, ALL_REAL, greater_equal, 0),
	LOGICAL(LOGICAL_AND, and),
	LOGICAL(LOGICAL_OR, or),
	LOGICAL(LOGICAL_XOR, xor),
	LOGICAL(LOGICAL_NOT, not),
	BITS(BITWISE_AND, bit_and),
	BITS(BITWISE_OR, bit_or),
	BITS(BITWISE_XOR, bit_xor),
	BITS(INVERT, invert),
	ROW(LEFT_SHIFT, NUMBER_WHOLES, NUMBER_WHOLES, W(left_shift), 0, 0, 0, 0),
	ROW(RIGHT_SHIFT, NUMBER_WHOLES, NUMBER_WHOLES, W(right_shift), 0, 0, 0, 0),
	ROW(BITWISE_COUNT, WHOLES, UINT8, W(bitwise_count), 0, 0, 0, 0),
	COMPLEX_FUNCTION(SINC, sinc, 4, 4),
	FUNCTION(ERFINV, erfinv, 3, 5),
	FUNCTION(NDTR, ndtr, 5, 5),
	FUNCTION(DIGAMMA, digamma, 1, 4),
	FUNCTION(J0, j0, 1, 4),
	FUNCTION(I0, i0, 6, 6),
	FUNCTION(EXP1, exp1, 1, 4),
	FUNCTION(EXPI, expi, 1, 4),
	FUNCTION(SICI_SINE, sici_sine, 1, 2),
	FUNCTION(SICI_COSINE, sici_cosine, 1, 8),
	ROW(COMPLEX, FLOAT_32, COMPLEX_64, 0, R(same), 0, 0, 0),
	ROW(ISCLOSE, DIVIDED, BOOLS, 0, R(isclose), C(isclose), 0, 0),
	ROW(NAN_TO_NUM, ALL, ALL, W(same), R(nan_to_num), C(same), 0, 0),
};

/* Using it */

static kz_dtype by_letter(const char *row, kz_dtype common)
{
	static const char letters[] = ALL;
	const char *at = common ? strchr(letters, row[common - 1]) : NULL;
	return at ? (kz_dtype)(at - letters + 1) : 0;
}

bool ref_types(kz_op op, const kz_dtype *operands, kz_dtype *computed, kz_dtype *result)
{
	const struct ref *ref = &ref_ops[op];
	bool chooses = ref->form == REF_WHERE || ref->form == REF_CHOOSE;
	int count = ref->form == REF_LDEXP ? 1 : kz_op_arity(op);
	kz_dtype common = operands[chooses];
	for (int i = chooses + 1; i < count; i++) {
		common = kz_dtype_promote(common, operands[i]);
	}
	for (int i = 0; i < 3; i++) {
		computed[i] = by_letter(ref->computed, common);
	}
	*result = by_letter(ref->result, common);
	if (ref->form == REF_COMPARE && number_kind(operands[0]) <= NUMBER_INTEGER
	    && number_kind(operands[1]) <= NUMBER_INTEGER) {
		computed[0] = operands[0];
		computed[1] = operands[1];
	}
	if (ref->form == REF_WHERE) {
		computed[0] = KZ_BOOL;
	}
	if (ref->form == REF_CHOOSE) {
		computed[0] = operands[0];
		return *result && number_kind(operands[0]) != NUMBER_COMPLEX;
	}
	if (ref->form == REF_LDEXP) {
		computed[1] = operands[1];
		return *result && number_kind(operands[1]) <= NUMBER_INTEGER;
	}
	return computed[0] && *result;
}

struct number ref_apply(kz_op op, const kz_dtype *computed, const struct number *x)
{
	const struct ref *ref = &ref_ops[op];
	enum number_kind kind = number_kind(computed[0]);
	if (ref->form == REF_WHERE || ref->form == REF_CHOOSE) {
		bool first = kind == NUMBER_REAL ? x[0].re > 0
			: ref->whole(x[0].i, 1, 0, KZ_I8) != 0;
		return x[first ? 1 : 2];
	}
	if (kind <= NUMBER_INTEGER) {
		return number_of_whole(ref->whole(x[0].i, x[1].i, x[2].i, computed[0]));
	}
	if (op == KZ_OP_COMPLEX) {
		return (struct number){0, x[0].re, x[1].re};
	}
	if (kind == NUMBER_REAL) {
		struct number out = number_of_real(ref->real(x[0].re, x[1].re, x[2].re,
			computed[0]));
		bool small = fabsl(out.re) < 0x1p62L;
		out.i = small ? (whole)out.re : 0;
		return out;
	}
	long double complex value = ref->planar(both(x[0].re, x[0].im), both(x[1].re, x[1].im));
	return (struct number){creall(value) == 1, creall(value), cimagl(value)};
}

/* Errors */

/* The same number, also in the sign of a zero. */
static bool same(long double a, long double b)
{
	return (isnan(a) && isnan(b)) || (a == b && (a != 0 || !signbit(a) == !signbit(b)));
}

/* As a finite number: what overflows is one beyond the largest. */
static long double bounded(kz_dtype real, long double value)
{
	long double beyond = number_largest(real) + number_ulp(real, number_largest(real));
	return value > beyond ? beyond : value < -beyond ? -beyond : value;
}

/* What errors are counted in: the last place of the result, or of what it is the difference of. */
static long double unit_of(kz_op op, kz_dtype part, long double size, const struct number *x)
{
	if (op == KZ_OP_LOGADDEXP && isfinite(x[0].re) && isfinite(x[1].re)) {
		size = fmaxl(size, fmaxl(fabsl(x[0].re), fabsl(x[1].re)));
	}
	/* CUDA's bound is for arguments outside of (-10.001, -2.264) and (-23.0001, -2.2637). */
	if (op == KZ_OP_LGAMMA && x[0].re < -2.2L) {
		size = fmaxl(size, 8);
	}
	/* Where these cross 0 their parts cancel: the amplitude of the wave, or the larger term. */
	const long double a = fabsl(x[0].re);
	if (op == KZ_OP_J0 && a > 1) {
		size = fmaxl(size, sqrtl(2 / (pi * a)));
	}
	if (op == KZ_OP_SICI_COSINE && a > 0.5L && isfinite(a)) {
		size = fmaxl(size, 1 / a);
	}
	if (op == KZ_OP_DIGAMMA && isfinite(a)) {
		/* The reference is not good enough near the root. */
		size = fmaxl(size, x[0].re < 0 ? special_digamma(1 + a) : 0x1p-10L);
	}
	return number_ulp(part, size);
}

/* exp(b log(a)) is as far off as b log(a), an absolute error. */
static double power_ulps(const struct number *x)
{
	long double size = cabsl(both(x[1].re, x[1].im) * clogl(both(x[0].re, x[0].im)));
	return isfinite(size) ? 6 + 4 * (double)size : 6;
}

static double complex_ulps(kz_op op, const struct number *x)
{
	switch (op) {
	case KZ_OP_ADD:
	case KZ_OP_SUBTRACT:
	case KZ_OP_NEGATIVE:
	case KZ_OP_POSITIVE:
	case KZ_OP_REAL:
	case KZ_OP_IMAG:
	case KZ_OP_CONJUGATE:
	case KZ_OP_NAN_TO_NUM:
		return 0;
	case KZ_OP_POWER:
		return power_ulps(x);
	default:
		return 6;
	}
}

double ref_error(kz_op op, kz_dtype computed, kz_dtype result, struct number want,
	struct number got, const struct number *x)
{
	enum number_kind kind = number_kind(result);
	kz_dtype part = number_part(result);
	bool is_complex = number_kind(computed) == NUMBER_COMPLEX;
	double ulps = is_complex ? complex_ulps(op, x) : ref_ops[op].ulps[part == KZ_F64];
	if (kind <= NUMBER_INTEGER) {
		(void)number_convert(&want, KZ_I64, result);
		return want.i == got.i ? 0 : INFINITY;
	}
	if (ulps == 0 && op != KZ_OP_ANGLE) {
		return same(number_round(part, want.re), got.re)
			&& same(number_round(part, want.im), got.im) ? 0 : INFINITY;
	}
	bool overflows = isinf(number_round(part, want.re)) || isinf(number_round(part, want.im));
	if (is_complex && overflows) {
		return isfinite(got.re) && isfinite(got.im) ? INFINITY : 0;
	}
	if (isnan(want.re) || isnan(want.im) || isnan(got.re) || isnan(got.im)) {
		return isnan(want.re) == isnan(got.re) && isnan(want.im) == isnan(got.im) ? 0
			: INFINITY;
	}
	if (kind == NUMBER_REAL && want.re == 0 && !same(want.re, got.re)) {
		return INFINITY;
	}
	long double size = is_complex ? hypotl(want.re, want.im) : fabsl(want.re);
	long double error = hypotl(bounded(part, want.re) - bounded(part, got.re),
		bounded(part, want.im) - bounded(part, got.im)) / unit_of(op, part, size, x);
	/* Halves are rounded floats. */
	double allowed = number_digits(part) >= 24 ? ulps + 0.5
		: 0.5 + ldexp(ulps + 0.5, number_digits(part) - 24);
	return (double)error / allowed;
}

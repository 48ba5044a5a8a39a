/* SPDX-License-Identifier: MIT */
/*
 * References of the special functions; see special_ref.h.
 *
 * Series are summed where their terms have one sign, or are small.  Elsewhere the exponential
 * integrals take Lentz' continued fraction, and Ei its asymptotic series.  The inverse of erf is
 * found by Halley's method on erfc.
 */
#include "base/common.h"

#include "special_ref.h"

#include <math.h>
#include <stdbool.h>

static const long double pi = 3.14159265358979323846264338327950288L;
static const long double euler = 0.57721566490153286060651209008240243L;

/* CMPLXL, which glibc keeps from clang. */
static long double complex special_complex(long double real, long double imaginary)
{
	union { long double parts[2]; long double complex value; } out = {{real, imaginary}};
	return out.value;
}

/* sin(pi (x + i y)), by what x lacks to the next whole number. */
static long double complex sine_of_pi(long double x, long double y)
{
	const long double near = rintl(x), rest = x - near;
	const long double complex sine = csinl(special_complex(pi * rest, pi * y));
	return fmodl(near, 2) == 0 ? sine : -sine;
}

long double special_sinc(long double x)
{
	const long double sine = creall(sine_of_pi(x, 0));
	return isinf(x) ? (long double)NAN : x == 0 ? 1 : sine == 0 ? 0 : sine / (pi * x);
}

long double complex special_complex_sinc(long double complex z)
{
	return z == 0 ? 1 : sine_of_pi(creall(z), cimagl(z)) / (pi * z);
}

long double special_erfinv(long double x)
{
	if (!(fabsl(x) < 1)) {
		return fabsl(x) == 1 ? copysignl(INFINITY, x) : (long double)NAN;
	}
	if (fabsl(x) < 1e-9L) {
		return x * (sqrtl(pi) / 2);
	}
	/* S. Winitzki's formula is the first guess. */
	const long double log = log1pl(-x * x), half = 2 / (pi * 0.147L) + log / 2;
	long double y = sqrtl(sqrtl(half * half - log / 0.147L) - half);
	for (int i = 0; i < 8; i++) {
		const long double off = fabsl(x) < 0.5L ? erfl(y) - fabsl(x)
			: (1 - fabsl(x)) - erfcl(y);
		const long double step = off / (2 / sqrtl(pi) * expl(-y * y));
		y -= step / (1 + y * step);
	}
	return copysignl(y, x);
}

/* erfc, corrected by what the argument lost when it was divided. */
long double special_ndtr(long double x)
{
	const long double root = 1.41421356237309504880168872420969808L;
	const long double u = -x / root, rest = isinf(x) ? 0 : fmal(-u, root, -x) / root;
	return (erfcl(u) - 2 / sqrtl(pi) * expl(-u * u) * rest) / 2;
}

long double special_digamma(long double x)
{
	long double sum = 0;
	if (x < 0 || (x == 0 && signbit(x))) {
		const long double rest = x - rintl(x);
		return x == 0 ? (long double)INFINITY : rest == 0 || isinf(x) ? (long double)NAN
			: special_digamma(1 - x) - pi / tanl(pi * rest);
	}
	if (x == 0) {
		return -INFINITY;
	}
	while (x < 24) {
		sum -= 1 / x;
		x += 1;
	}
	const long double z = 1 / (x * x);
	return logl(x) - 1 / (2 * x) + sum - z * (1 / 12.0L - z * (1 / 120.0L - z * (1 / 252.0L
		- z * (1 / 240.0L - z * (1 / 132.0L - z * (691 / 32760.0L - z / 12))))));
}

long double special_i0(long double x)
{
	long double term = 1, sum = 1;
	if (isnan(x)) {
		return x;
	}
	if (fabsl(x) > 2000) {
		return INFINITY;
	}
	for (int k = 1; term > sum * 1e-22L; k++) {
		term *= x / (2.0L * k) * (x / (2.0L * k));
		sum += term;
	}
	return sum;
}

/* The part of E1 and Ei that is a power series: of x^k / (k k!). */
static long double power_sum(long double x)
{
	long double term = 1, sum = 0;
	for (int k = 1; k < 400; k++) {
		term *= x / k;
		sum += term / k;
	}
	return sum;
}

/* E1(z) e^z for |z| >= 1 by Lentz' continued fraction. */
static long double complex exp1_fraction(long double complex z)
{
	long double complex b = z + 1, c = 1e300L, d = 1 / b, h = d;
	for (int i = 1; i < 2000; i++) {
		const long double a = -(long double)i * i;
		b += 2;
		d = 1 / (a * d + b);
		c = b + a / c;
		h *= c * d;
	}
	return h;
}

long double special_exp1(long double x)
{
	if (isnan(x) || x < 0) {
		return NAN;
	}
	return x == 0 ? (long double)INFINITY : x > 12000 ? 0
		: x <= 1 ? -euler - logl(x) - power_sum(-x)
		: creall(exp1_fraction(x)) * expl(-x);
}

long double special_expi(long double x)
{
	long double term = 1, sum = 0;
	if (isnan(x) || x == 0) {
		return isnan(x) ? x : (long double)-INFINITY;
	}
	if (x < 0) {
		return -special_exp1(-x);
	}
	if (x < 50) {
		return euler + logl(x) + power_sum(x);
	}
	if (x > 12000) {
		return INFINITY;
	}
	for (int k = 1; k < (int)fminl(x, 200); k++) {
		sum += term;
		term *= k / x;
	}
	return expl(x) / x * sum;
}

/* The power series of Si or of Ci, which cancel little up to 2. */
static long double sici_sum(long double x, bool sine)
{
	long double term = sine ? x : 1, sum = sine ? x : 0;
	for (int k = sine ? 3 : 2; k < 60; k += 2) {
		term *= -x * x / ((long double)k * (k - 1));
		sum += term / k;
	}
	return sum;
}

/* E1(i x): Ci(x) = -re, Si(x) = pi / 2 + im. */
static long double complex exp1_of_imaginary(long double x)
{
	return exp1_fraction(special_complex(0, x)) * special_complex(cosl(x), -sinl(x));
}

long double special_si(long double x)
{
	const long double size = fabsl(x);
	return isnan(x) || x == 0 ? x : isinf(x) ? copysignl(pi / 2, x)
		: size <= 2 ? sici_sum(x, true)
		: copysignl(pi / 2 + (size > 1e30L ? 0 : cimagl(exp1_of_imaginary(size))), x);
}

long double special_ci(long double x)
{
	const long double size = fabsl(x);
	return isnan(x) ? x : isinf(x) ? (x > 0 ? 0 : (long double)NAN)
		: x == 0 ? (long double)-INFINITY
		: size <= 2 ? euler + logl(size) + sici_sum(size, false)
		: size > 1e18L ? sinl(size) / size : -creall(exp1_of_imaginary(size));
}

/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CPU_PTX_FLOAT_H
#define TESTS_CPU_PTX_FLOAT_H

/* What PTX says of floats, in C: a reference that shares nothing with the code generator. */
#include <math.h>

/* .ftz of an fma.  It is flushed if it is too small for 24 bits: of a subnormal's fewer bits it may
 * have been rounded up to a normal number. */
static inline float flushed_fma(float a, float b, float c)
{
	float value = fmaf(a, b, c);
	double exact = (double)a * (double)b + (double)c; /* good enough to tell */
	return fabs(exact) < 0x1p-126 - 0x1p-151 ? copysignf(0, value) : value;
}

/* .sat */
static inline float saturated(float value)
{
	return value > 0 ? value < 1 ? value : 1 : 0;
}

/* min: -0 is less than 0; a number is preferred to a NaN. */
static inline double lesser(double a, double b)
{
	if (isnan(a) || isnan(b)) {
		return isnan(a) ? b : a;
	}
	return a < b || (a == b && signbit(a)) ? a : b;
}

#endif

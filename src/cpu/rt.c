/* SPDX-License-Identifier: MIT */

/*
 * The C functions that compiled kernels call, gathered in the table that every launch points to.
 *
 * f64 arithmetic with directed rounding changes the rounding mode of the processor for one
 * operation.  The operands are volatile, so that the compiler neither computes the result before
 * nor after.
 */
#include "../base/common.h"

#include "rt.h"

#include <fenv.h>
#include <math.h>
#include <time.h>

static uint64_t rt_clock(struct rt_warp *warp)
{
	struct timespec ts;
	(void)warp;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

static double compute(uint32_t op, volatile double a, volatile double b, volatile double c)
{
	volatile double result = 0;
	switch ((enum rt_op)op) {
	case RT_ADD:
		result = a + b;
		break;
	case RT_MUL:
		result = a * b;
		break;
	case RT_FMA:
		result = fma(a, b, c);
		break;
	case RT_DIV:
		result = a / b;
		break;
	case RT_SQRT:
		result = sqrt(a);
		break;
	}
	return result;
}

static double rt_round_f64(struct rt_warp *warp, uint32_t op, uint32_t round, double a, double b,
	double c)
{
	static const int modes[] = {
		[RT_ROUND_DOWN] = FE_DOWNWARD,
		[RT_ROUND_UP] = FE_UPWARD,
		[RT_ROUND_ZERO] = FE_TOWARDZERO,
	};
	int old = fegetround();

	(void)warp;
	fesetround(modes[round]);
	double result = compute(op, a, b, c);
	fesetround(old);
	return result;
}

const struct rt_calls rt_calls = {
	.clock = rt_clock,
	.round_f64 = rt_round_f64,
};

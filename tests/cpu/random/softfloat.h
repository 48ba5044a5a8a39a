/* SPDX-License-Identifier: MIT */
#ifndef SOFTFLOAT_H
#define SOFTFLOAT_H

/*
 * Floating-point arithmetic in integers, as a reference: any format up to f64, rounded once.  A
 * number is decoded to digits * 2^exponent, sums and products of these are exact (or keep a digit
 * that stands for all that was lost, far below what any format holds), and encoding rounds.
 */
#include <stdbool.h>
#include <stdint.h>

struct soft {
	bool nan;
	bool inf;
	bool negative;
	unsigned __int128 digits;
	int exponent;
};

enum soft_round { SOFT_NEAREST, SOFT_ZERO, SOFT_DOWN, SOFT_UP, SOFT_AWAY /* nearest, ties too */ };

struct soft_format {
	unsigned fraction; /* bits of it that are stored */
	unsigned exponent; /* bits */
	int bias;
	/* What the largest exponent holds: infinity and NaN, one NaN among numbers, or numbers. */
	enum { SOFT_IEEE, SOFT_ONE_NAN, SOFT_FINITE } top;
};

extern const struct soft_format soft_f16, soft_bf16, soft_tf32, soft_f32, soft_f64;
extern const struct soft_format soft_e4m3, soft_e5m2, soft_e2m3, soft_e3m2, soft_e2m1;

struct soft soft_decode(const struct soft_format *format, uint64_t bits);
/* A NaN becomes all ones without a sign.  `finite`: what is too large becomes the largest number,
 * and so does anything that the format has no bits for. */
uint64_t soft_encode(const struct soft_format *format, struct soft value, enum soft_round round,
	bool finite);
/* The sign of a zero that two terms cancel to is that of rounding to nearest. */
struct soft soft_add(struct soft a, struct soft b);
struct soft soft_mul(struct soft a, struct soft b);
struct soft soft_neg(struct soft a);
/* Exact for formats smaller than f64. */
double soft_double(struct soft a);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BITS_H
#define TESTS_BITS_H

/* Floats as the bits of registers, of which an f32 has the low ones. */
#include <stdint.h>
#include <string.h>

static inline float f32_of(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;
	memcpy(&value, &low, sizeof(value));
	return value;
}

static inline double f64_of(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint64_t bits_of_f32(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline uint64_t bits_of_f64(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

#endif

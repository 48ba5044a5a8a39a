/* SPDX-License-Identifier: MIT */
#ifndef INTS_H
#define INTS_H

/* What tests/data/cuda/13_int.cu computes, in C: for its tests through the library and the
 * driver. */
#include "base/common.h"

/* What one thread of 13_int's kernel has in its arrays. */
struct ints {
	int32_t x[3];
	uint32_t u[2];
	int64_t l[3];
	uint64_t ul[4];
	int16_t h[2];
	uint8_t c[3];
};

/* Operands for which C says what the kernel computes: divisors are not 0, 32-bit shift counts are
 * below 32. */
struct ints ints_random(uint32_t (*random)(void));
void ints_compute(struct ints *v);

#endif

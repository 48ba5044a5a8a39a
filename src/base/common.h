/* SPDX-License-Identifier: MIT */
#ifndef BASE_COMMON_H
#define BASE_COMMON_H

/*
 * base is what every other folder stands on, and needs the C library only: errors, memory, text,
 * tables, files, hashes, variables, shared objects and the store on disk.
 *
 * Every source file includes this header first: attributes, countof, overflow-checked sizes.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define countof(array) (sizeof(array) / sizeof((array)[0]))
#define printf_like(text, first) __attribute__((__format__(__printf__, text, first)))
#define always_inline inline __attribute__((always_inline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Each returns false, and leaves *out alone, when the result does not fit. */

static inline bool size_add(size_t *out, size_t a, size_t b)
{
	size_t sum;
	if (__builtin_add_overflow(a, b, &sum)) {
		return false;
	}
	*out = sum;
	return true;
}

static inline bool size_mul(size_t *out, size_t a, size_t b)
{
	size_t product;
	if (__builtin_mul_overflow(a, b, &product)) {
		return false;
	}
	*out = product;
	return true;
}

/* Non-negative int64_t sizes, as the public interface has them. */
static inline bool size64_mul(int64_t *out, int64_t a, int64_t b)
{
	int64_t product;
	if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) {
		return false;
	}
	*out = product;
	return true;
}

static inline bool size64_add(int64_t *out, int64_t a, int64_t b)
{
	int64_t sum;
	if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum)) {
		return false;
	}
	*out = sum;
	return true;
}

static inline int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* How many pieces of `b`, above 0, it takes for `a`, from 0. */
static inline int64_t divide_up(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

/* Round up to a multiple of a power of two; the caller knows that it fits. */
static inline size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) & ~(unit - 1);
}

#endif

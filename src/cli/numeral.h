/* SPDX-License-Identifier: MIT */
#ifndef CLI_NUMERAL_H
#define CLI_NUMERAL_H

/* Numbers in texts, and as the elements of arrays. */
#include <kudzu/dtype.h>

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the largest element. */
#define NUMERAL_MAX_SIZE 16

/*
 * Read a number from the beginning of a text as an element of a type; *length is how many bytes of
 * the text it takes.  False if it is not a number or does not fit the type: then *length is the
 * part of the text that the reason is about.
 */
bool numeral_read(void *out, kz_dtype dtype, const char *text, size_t *length, char *why,
	size_t why_size);

/* Store an integer, which fits, as an element. */
void numeral_store(void *out, kz_dtype dtype, uint64_t value);
/* Store a number from 0 to 1, of which the upper bits of `bits` are the fraction. */
void numeral_store_fraction(void *out, kz_dtype dtype, uint64_t bits);

bool numeral_is_integer(kz_dtype dtype);
bool numeral_is_signed(kz_dtype dtype);
/* The largest n for which a type holds all integers from 0 to n; at most UINT64_MAX. */
uint64_t numeral_max(kz_dtype dtype);

#endif

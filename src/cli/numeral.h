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
 * Read a number from the beginning of a text as an element of that type; *length is how much of the
 * text it takes.  False, with the reason, which ends in no period, for what is no number, or does not
 * fit the type.  *length is then what the reason is about.
 */
bool numeral_read(void *out, kz_dtype dtype, const char *text, size_t *length, char *why,
	size_t why_size);

/* Store an integer, which fits, as an element. */
void numeral_store(void *out, kz_dtype dtype, uint64_t value);
/* Store a number from 0 to 1, of which the upper bits of `bits` are the fraction. */
void numeral_store_fraction(void *out, kz_dtype dtype, uint64_t bits);

bool numeral_is_integer(kz_dtype dtype);
/* The largest integer that the type holds, as do all below it down to 0; beyond UINT64_MAX that. */
uint64_t numeral_max(kz_dtype dtype);

#endif

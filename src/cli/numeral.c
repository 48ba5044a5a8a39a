/* SPDX-License-Identifier: MIT */
/*
 * Numbers in texts, and as the elements of arrays.
 *
 * Integers are read as a sign and 64 bits, so that all of int64 and uint64 are exact.  One function
 * rounds a double to the floats that C has no type for, which differ in the bits of the mantissa
 * and in the bias of the exponent.
 */
#include "cli/numeral.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The range of an integer type. */
static const struct {
	int64_t min;
	uint64_t max;
} limits[] = {
	[KZ_BOOL] = {0, 1},
	[KZ_I8] = {INT8_MIN, INT8_MAX},
	[KZ_I16] = {INT16_MIN, INT16_MAX},
	[KZ_I32] = {INT32_MIN, INT32_MAX},
	[KZ_I64] = {INT64_MIN, INT64_MAX},
	[KZ_U8] = {0, UINT8_MAX},
	[KZ_U16] = {0, UINT16_MAX},
	[KZ_U32] = {0, UINT32_MAX},
	[KZ_U64] = {0, UINT64_MAX},
};

bool numeral_is_integer(kz_dtype dtype)
{
	return kz_dtype_can_cast(dtype, KZ_I64);
}

bool numeral_is_signed(kz_dtype dtype)
{
	return numeral_is_integer(dtype) && limits[dtype].min < 0;
}

uint64_t numeral_max(kz_dtype dtype)
{
	return numeral_is_integer(dtype) ? limits[dtype].max : dtype == KZ_F16 ? 65504
		: dtype == KZ_F8_E4M3 ? 448 : dtype == KZ_F8_E5M2 ? 57344 : UINT64_MAX;
}

/* Floats */

/* Floats that C has no type for.  What is beyond the largest one becomes `top`: infinite, or the
 * largest. */
struct narrow {
	kz_dtype dtype;
	int mantissa, bias;
	uint16_t top, nan;
	double beyond; /* from here on */
};

static const struct narrow narrows[] = {
	{KZ_F16, 10, 15, 0x7c00, 0x7e00, 65520},
	{KZ_BF16, 7, 127, 0x7f80, 0x7fc0, 0x1.ffp127},
	{KZ_F8_E4M3, 3, 7, 0x7e, 0x7f, 0x1.d000000000001p8},
	{KZ_F8_E5M2, 2, 15, 0x7b, 0x7f, 61440},
};

static const struct narrow *numeral_find_narrow(kz_dtype dtype)
{
	for (size_t i = 0; i < sizeof(narrows) / sizeof(*narrows); i++) {
		if (narrows[i].dtype == dtype) {
			return &narrows[i];
		}
	}
	return NULL;
}

/* The bits of a double as such a float. */
static uint16_t numeral_narrow(double value, const struct narrow *to)
{
	int exponent;
	uint16_t sign = signbit(value) ? (uint16_t)(1u << (8 * kz_dtype_size(to->dtype) - 1)) : 0;
	uint32_t bits = to->top;
	if (isnan(value)) {
		return sign | to->nan;
	}
	value = fabs(value);
	(void)frexp(value, &exponent);
	if (value == 0 || exponent < 2 - to->bias) {
		bits = (uint32_t)nearbyint(ldexp(value, to->bias - 1 + to->mantissa));
	} else if (value < to->beyond) {
		/* A mantissa that is rounded up to the next power of two carries into the
		 * exponent. */
		bits = (uint32_t)(exponent + to->bias - 2) << to->mantissa;
		bits += (uint32_t)nearbyint(ldexp(value, to->mantissa + 1 - exponent));
	}
	return (uint16_t)(sign | bits);
}

/* One float, or one half of a complex number. */
static size_t numeral_store_float(void *out, kz_dtype dtype, double value, float single)
{
	const struct narrow *narrow = numeral_find_narrow(dtype);
	if (narrow) {
		uint16_t bits = numeral_narrow(value, narrow);
		memcpy(out, &bits, (size_t)kz_dtype_size(dtype));
		return (size_t)kz_dtype_size(dtype);
	}
	switch (dtype) {
	case KZ_F64:
	case KZ_C128:
		memcpy(out, &value, sizeof(value));
		return sizeof(value);
	default:
		memcpy(out, &single, sizeof(single));
		return sizeof(single);
	}
}

static void numeral_store_real(void *out, kz_dtype dtype, double value, float single)
{
	memset(out, 0, (size_t)kz_dtype_size(dtype));
	numeral_store_float(out, dtype, value, single);
}

/* Whether a finite number is too large for an element. */
static bool numeral_is_beyond(kz_dtype dtype, double value, float single)
{
	const struct narrow *narrow = numeral_find_narrow(dtype);
	return isfinite(value) && (narrow ? fabs(value) >= narrow->beyond
		: (dtype == KZ_F32 || dtype == KZ_C64) && isinf(single));
}

/* The length of what looks like a number, for messages. */
static size_t numeral_word_length(const char *text)
{
	size_t length = strcspn(text, ",");
	return length ? length : *text != '\0';
}

static bool numeral_refuse(char *why, size_t why_size, const char *expected, const char *text,
	size_t *length)
{
	*length = numeral_word_length(text);
	if (*length == 0 || *text == ',') {
		snprintf(why, why_size, "expected %s", expected);
	} else {
		snprintf(why, why_size, "expected %s, got '%.*s'", expected,
			(int)(*length < 60 ? *length : 60), text);
	}
	return false;
}

static bool numeral_does_not_fit(
	char *why, size_t why_size, kz_dtype dtype, const char *text, size_t length)
{
	int shown = (int)(length < 60 ? length : 60);
	if (numeral_is_integer(dtype)) {
		snprintf(why, why_size, "%.*s does not fit %s, which goes from %" PRId64
			" to %" PRIu64,
			shown, text, kz_dtype_name(dtype), limits[dtype].min, limits[dtype].max);
	} else {
		snprintf(why, why_size, "%.*s does not fit %s", shown, text, kz_dtype_name(dtype));
	}
	return false;
}

/* The text must begin with a number: strtod would skip blanks. */
static bool numeral_read_real(double *value, float *single, const char *text, const char **end)
{
	char *stop = NULL;
	if (isspace((unsigned char)*text)) {
		return false;
	}
	*value = strtod(text, &stop);
	*single = strtof(text, NULL); /* rounded once */
	*end = stop;
	return stop != text;
}

/* The imaginary part after the real one: +2j; none is 0. */
static bool numeral_read_imaginary(double *value, float *single, const char **end)
{
	const char *stop;
	*value = 0;
	*single = 0;
	if (**end != '+' && **end != '-') {
		return true;
	}
	if (!numeral_read_real(value, single, *end, &stop) || *stop != 'j') {
		return false;
	}
	*end = stop + 1;
	return true;
}

static bool numeral_read_float(
	void *out, kz_dtype dtype, const char *text, size_t *length, char *why, size_t why_size)
{
	bool complex = dtype == KZ_C64 || dtype == KZ_C128;
	const char *expected = complex ? "a number such as 2.5 or 1+2j" : "a number";
	double value[2] = {0, 0};
	float single[2] = {0, 0};
	const char *end;
	if (!numeral_read_real(&value[0], &single[0], text, &end)
	    || (complex && !numeral_read_imaginary(&value[1], &single[1], &end))) {
		return numeral_refuse(why, why_size, expected, text, length);
	}
	*length = (size_t)(end - text);
	if (numeral_is_beyond(dtype, value[0], single[0])
		|| numeral_is_beyond(dtype, value[1], single[1])
		|| (isinf(value[0]) && isdigit((unsigned char)end[-1]))) {
		return numeral_does_not_fit(why, why_size, dtype, text, *length);
	}
	size_t size = numeral_store_float(out, dtype, value[0], single[0]);
	if (complex) {
		numeral_store_float((char *)out + size, dtype, value[1], single[1]);
	}
	return true;
}

/* Integers */

static bool numeral_read_integer(
	void *out, kz_dtype dtype, const char *text, size_t *length, char *why, size_t why_size)
{
	const char *digits = text + (*text == '-' || *text == '+');
	bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')
		&& isxdigit((unsigned char)digits[2]);
	char *end = NULL;
	if (!isdigit((unsigned char)*digits)) {
		return numeral_refuse(why, why_size, "an integer", text, length);
	}
	errno = 0;
	unsigned long long size = strtoull(digits, &end, hex ? 16 : 10);
	if (*end == '.' || *end == 'e' || *end == 'E') {
		return numeral_refuse(why, why_size, "an integer", text, length);
	}
	*length = (size_t)(end - text);
	bool fits = errno == 0 && (*text == '-'
		? size <= 0 - (unsigned long long)limits[dtype].min : size <= limits[dtype].max);
	if (!fits) {
		return numeral_does_not_fit(why, why_size, dtype, text, *length);
	}
	numeral_store(out, dtype, *text == '-' ? 0 - (uint64_t)size : size);
	return true;
}

static bool numeral_read_bool(
	void *out, const char *text, size_t *length, char *why, size_t why_size)
{
	static const char *const words[] = {"0", "1", "false", "true"};
	*length = numeral_word_length(text);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strlen(words[i]) == *length && strncmp(text, words[i], *length) == 0) {
			numeral_store(out, KZ_BOOL, i % 2);
			return true;
		}
	}
	return numeral_refuse(why, why_size, "0, 1, false or true", text, length);
}

bool numeral_read(void *out, kz_dtype dtype, const char *text, size_t *length, char *why,
	size_t why_size)
{
	if (dtype == KZ_BOOL) {
		return numeral_read_bool(out, text, length, why, why_size);
	}
	return numeral_is_integer(dtype)
		? numeral_read_integer(out, dtype, text, length, why, why_size)
		: numeral_read_float(out, dtype, text, length, why, why_size);
}

void numeral_store(void *out, kz_dtype dtype, uint64_t value)
{
	uint32_t word = (uint32_t)value;
	uint16_t half = (uint16_t)value;
	uint8_t byte = (uint8_t)value;
	if (!numeral_is_integer(dtype)) {
		numeral_store_real(out, dtype, (double)value, (float)value);
		return;
	}
	switch (kz_dtype_size(dtype)) {
	case 8:
		memcpy(out, &value, 8);
		break;
	case 4:
		memcpy(out, &word, 4);
		break;
	case 2:
		memcpy(out, &half, 2);
		break;
	default:
		memcpy(out, &byte, 1);
	}
}

void numeral_store_fraction(void *out, kz_dtype dtype, uint64_t bits)
{
	/* As many bits as the mantissa has, so that nothing is rounded up to 1. */
	const struct narrow *narrow = numeral_find_narrow(dtype);
	int kept = narrow ? narrow->mantissa + 1 : dtype == KZ_F32 || dtype == KZ_C64 ? 24 : 53;
	double value = ldexp((double)(bits >> (64 - kept)), -kept);
	numeral_store_real(out, dtype, value, (float)value);
}

/* SPDX-License-Identifier: MIT */
/*
 * Numbers in text, whatever the locale is, rounded correctly.
 *
 * Most numbers have few digits: an integer up to 2^53, times or over a power of ten up to 10^22,
 * both of which float64 holds, so that one operation rounds once (Clinger, "How to read floating
 * point numbers accurately", 1990).  strtod_l reads the others.
 */
#include "base/common.h"

#include "base/error.h"
#include "lib/array/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { EXACT_POWER = 22, DIGITS_MOST = 19 };

static const double csv_powers[EXACT_POWER + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8,
	1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

kz_status csv_numbers_init(struct csv_numbers *numbers, kz_error *err)
{
	*numbers = (struct csv_numbers){newlocale(LC_ALL_MASK, "C", (locale_t)0), STR_INIT};
	return numbers->c_locale ? KZ_OK : error_no_memory(err);
}

void csv_numbers_free(struct csv_numbers *numbers)
{
	if (numbers->c_locale) {
		freelocale(numbers->c_locale);
	}
	str_free(&numbers->copy);
}

static bool csv_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool csv_is_word(const char *text, int64_t len, const char *word)
{
	return len == (int64_t)strlen(word) && strncasecmp(text, word, (size_t)len) == 0;
}

/* An integer or a float as its digits say it: +-digits 10^power. */
struct csv_decimal {
	bool is_negative;
	bool is_integer;    /* it has neither a point nor an exponent */
	uint64_t digits;
	int64_t count;      /* of digits, without zeros in front */
	int64_t power;
};

static const char *csv_scan_digits(struct csv_decimal *out, const char *at, const char *end)
{
	for (; at < end && csv_is_digit(*at); at++) {
		out->count += out->count > 0 || *at != '0';
		out->digits = 10 * out->digits + (uint64_t)(*at - '0'); // wraps: see count
	}
	return at;
}

/* False if it is not a number. */
static bool csv_scan(struct csv_decimal *out, const char *text, int64_t len)
{
	const char *at = text, *const end = text + len;
	*out = (struct csv_decimal){.is_integer = true};
	if (at < end && (*at == '-' || *at == '+')) {
		out->is_negative = *at++ == '-';
	}
	const char *digits = at;
	at = csv_scan_digits(out, at, end);
	int64_t seen = at - digits;
	if (at < end && *at == '.') {
		digits = ++at;
		at = csv_scan_digits(out, at, end);
		seen += at - digits;
		out->power = digits - at;
		out->is_integer = false;
	}
	if (seen > 0 && at < end && (*at == 'e' || *at == 'E')) {
		struct csv_decimal exponent = {.is_negative = false};
		at++;
		if (at < end && (*at == '-' || *at == '+')) {
			exponent.is_negative = *at++ == '-';
		}
		digits = at;
		at = csv_scan_digits(&exponent, at, end);
		seen = at - digits;
		const int64_t size = exponent.count > 9 ? 1000000000 : (int64_t)exponent.digits;
		out->power += exponent.is_negative ? -size : size;
		out->is_integer = false;
	}
	return seen > 0 && at == end;
}

/* Elements */

static void csv_store_integer(void *element, kz_dtype dtype, uint64_t bits)
{
	switch (dtype_size(dtype)) {
	case 1:
		*(uint8_t *)element = (uint8_t)bits;
		break;
	case 2:
		*(uint16_t *)element = (uint16_t)bits;
		break;
	case 4:
		*(uint32_t *)element = (uint32_t)bits;
		break;
	default:
		*(uint64_t *)element = bits;
	}
}

static void csv_store_float(void *element, kz_dtype dtype, double number)
{
	if (dtype == KZ_F32) {
		*(float *)element = (float)number;
	} else {
		*(double *)element = number;
	}
}

/* The largest magnitude that an integer type has on either side of 0. */
static uint64_t csv_most(kz_dtype dtype, bool is_negative)
{
	const int bits = 8 * (int)dtype_size(dtype);
	if (dtype_is_unsigned(dtype)) {
		return is_negative ? 0 : UINT64_MAX >> (64 - bits);
	}
	return (UINT64_C(1) << (bits - 1)) - !is_negative;
}

static enum csv_number csv_read_integer(void *element, kz_dtype dtype, const char *text,
	int64_t len)
{
	struct csv_decimal decimal;
	if (!csv_scan(&decimal, text, len) || !decimal.is_integer) {
		return CSV_NOT;
	}
	/* 20 digits above 2^64 have become less than 10^19. */
	if (decimal.count > DIGITS_MOST + 1
	    || (decimal.count == DIGITS_MOST + 1
		&& (decimal.digits < UINT64_C(10000000000000000000) || text[len - 20] > '1'))
	    || decimal.digits > csv_most(dtype, decimal.is_negative)) {
		return CSV_NOT;
	}
	csv_store_integer(element, dtype, decimal.is_negative ? -decimal.digits : decimal.digits);
	return CSV_NUMBER;
}

static enum csv_number csv_read_bool(void *element, const char *text, int64_t len)
{
	const bool is_true = csv_is_word(text, len, "1") || csv_is_word(text, len, "true");
	if (!is_true && !csv_is_word(text, len, "0") && !csv_is_word(text, len, "false")) {
		return CSV_NOT;
	}
	*(uint8_t *)element = is_true;
	return CSV_NUMBER;
}

/* inf, infinity, nan, with or without a sign; 0 for any other text. */
static double csv_special(const char *text, int64_t len)
{
	const int sign = len > 0 && (*text == '-' || *text == '+');
	text += sign;
	len -= sign;
	const bool is_infinite = csv_is_word(text, len, "inf")
		|| csv_is_word(text, len, "infinity");
	const double number = is_infinite ? INFINITY : csv_is_word(text, len, "nan") ? NAN : 0;
	return sign && text[-1] == '-' ? -number : number;
}

static enum csv_number csv_read_float(struct csv_numbers *numbers, void *element, kz_dtype dtype,
	const char *text, int64_t len)
{
	struct csv_decimal decimal;
	double number;
	if (!csv_scan(&decimal, text, len)) {
		number = csv_special(text, len);
		if (number == 0) {
			return CSV_NOT;
		}
	} else if (decimal.count <= DIGITS_MOST && decimal.digits <= UINT64_C(1) << 53
	    && decimal.power >= -EXACT_POWER && decimal.power <= EXACT_POWER) {
		number = (double)decimal.digits;
		number = decimal.power < 0 ? number / csv_powers[-decimal.power]
			: number * csv_powers[decimal.power];
		number = decimal.is_negative ? -number : number;
	} else {
		str_clear(&numbers->copy);
		str_addn(&numbers->copy, text, (size_t)len);
		if (numbers->copy.failed) {
			return CSV_NO_MEMORY;
		}
		number = strtod_l(numbers->copy.data, NULL, numbers->c_locale);
	}
	csv_store_float(element, dtype, number);
	return CSV_NUMBER;
}

enum csv_number csv_number_read(struct csv_numbers *numbers, void *element, kz_dtype dtype,
	const char *text, int64_t len)
{
	return dtype == KZ_BOOL ? csv_read_bool(element, text, len)
		: dtype_is_integer(dtype) ? csv_read_integer(element, dtype, text, len)
		: csv_read_float(numbers, element, dtype, text, len);
}

bool csv_number_put(void *element, kz_dtype dtype, double number)
{
	if (dtype == KZ_F32 || dtype == KZ_F64) {
		csv_store_float(element, dtype, number);
		return true;
	}
	if (dtype == KZ_BOOL) {
		*(uint8_t *)element = number == 1;
		return number == 0 || number == 1;
	}
	const double size = fabs(number);
	if (!(size < 0x1p64) || floor(size) != size
	    || (uint64_t)size > csv_most(dtype, number < 0)) {
		return false;
	}
	csv_store_integer(element, dtype, number < 0 ? -(uint64_t)size : (uint64_t)size);
	return true;
}

const char *csv_number_kind(kz_dtype dtype)
{
	switch (dtype) {
	case KZ_BOOL:
		return "0, 1, true or false";
	case KZ_I8:
		return "an integer from -128 to 127";
	case KZ_U8:
		return "an integer from 0 to 255";
	case KZ_I16:
		return "an integer from -32768 to 32767";
	case KZ_U16:
		return "an integer from 0 to 65535";
	case KZ_I32:
		return "an integer of 32 bits";
	case KZ_U32:
		return "an integer from 0 to 4294967295";
	case KZ_I64:
		return "an integer of 64 bits";
	case KZ_U64:
		return "an integer of 64 bits, from 0,";
	default:
		return "a number";
	}
}

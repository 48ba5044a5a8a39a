/* SPDX-License-Identifier: MIT */
/*
 * Array elements -> text, laid out as numpy does: columns are aligned over the whole array, lines
 * have at most 75 characters, and a float has the fewest digits that tell it from its neighbours,
 * at most 8 after the point.
 *
 * The elements are read three times: for their magnitudes, which decide on exponents; for the
 * widths of their parts; and to print.  Only digits are taken from snprintf, never the decimal
 * point, so that the locale does not matter.
 */
#include "base/common.h"

#include "lib/array/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_WIDTH = 75, PRECISION = 8, CELL_MAX = 128 };

/* How the numbers of a dtype are stored and printed.  They are integers, or floats with so many
 * bits of precision; the exponent, as frexp has it, of the smallest normal float; and the magnitude
 * from which on they are printed with exponents, since digits would mean nothing. */
struct storage {
	enum { OPAQUE, BOOL, SIGNED, UNSIGNED, REAL } class;
	int size; /* of one part */
	int parts;
	int bits;
	int min_exponent;
	double whole_end;
};

static struct storage format_storage(kz_dtype dtype)
{
	static const struct storage rows[] = {
		[KZ_BOOL] = {BOOL, 1, 1, 0, 0, 0},
		[KZ_I8] = {SIGNED, 1, 1, 0, 0, 0},
		[KZ_I16] = {SIGNED, 2, 1, 0, 0, 0},
		[KZ_I32] = {SIGNED, 4, 1, 0, 0, 0},
		[KZ_I64] = {SIGNED, 8, 1, 0, 0, 0},
		[KZ_U8] = {UNSIGNED, 1, 1, 0, 0, 0},
		[KZ_U16] = {UNSIGNED, 2, 1, 0, 0, 0},
		[KZ_U32] = {UNSIGNED, 4, 1, 0, 0, 0},
		[KZ_U64] = {UNSIGNED, 8, 1, 0, 0, 0},
		[KZ_F16] = {REAL, 2, 1, 11, -13, 1e3},
		[KZ_BF16] = {REAL, 2, 1, 8, -125, 1e3},
		[KZ_F32] = {REAL, 4, 1, 24, -125, 1e6},
		[KZ_F64] = {REAL, 8, 1, 53, -1021, 1e16},
		[KZ_C64] = {REAL, 4, 2, 24, -125, 1e6},
		[KZ_C128] = {REAL, 8, 2, 53, -1021, 1e16},
		[KZ_F8_E4M3] = {REAL, 1, 1, 4, -5, 1e3},
		[KZ_F8_E5M2] = {REAL, 1, 1, 3, -13, 1e3},
	};
	return dtype < countof(rows) ? rows[dtype] : (struct storage){OPAQUE, 0, 0, 0, 0, 0};
}

/* Reading */

static double format_half_value(uint16_t half)
{
	int exponent = half >> 10 & 31;
	int fraction = half & 1023;
	double magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
		: exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
	return half >> 15 ? -magnitude : magnitude;
}

static double format_e4m3_value(uint8_t byte)
{
	int exponent = byte >> 3 & 15;
	int fraction = byte & 7;
	double magnitude = (byte & 127) == 127 ? NAN
		: exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);
	return byte >> 7 ? -magnitude : magnitude;
}

static double format_bfloat_value(uint16_t bfloat)
{
	uint32_t bits = (uint32_t)bfloat << 16;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static double format_read_real(const char *from, const struct storage *storage)
{
	uint16_t two;
	float four;
	double eight;
	switch (storage->size) {
	case 1: /* e5m2 is the upper half of a float16 */
		return storage->bits == 4 ? format_e4m3_value((uint8_t)*from)
			: format_half_value((uint16_t)((uint8_t)*from << 8));
	case 2:
		memcpy(&two, from, sizeof(two));
		return storage->bits == 11 ? format_half_value(two) : format_bfloat_value(two);
	case 4:
		memcpy(&four, from, sizeof(four));
		return four;
	default:
		memcpy(&eight, from, sizeof(eight));
		return eight;
	}
}

static uint64_t format_read_unsigned(const char *from, int size)
{
	uint64_t value = 0;
	for (int i = size - 1; i >= 0; i--) {
		value = value << 8 | (unsigned char)from[i];
	}
	return value;
}

static int64_t format_read_signed(const char *from, int size)
{
	int unused = 64 - 8 * size;
	return (int64_t)(format_read_unsigned(from, size) << unused) >> unused;
}

void format_widen(void *out, kz_dtype dtype, const void *number, kz_dtype found)
{
	const struct storage from = format_storage(found), to = format_storage(dtype);
	for (int i = 0; i < from.parts; i++) {
		const char *part = (const char *)number + i * from.size;
		char *wide = (char *)out + i * to.size;
		if (from.class == REAL) {
			double real = format_read_real(part, &from);
			float narrow = (float)real;
			memcpy(wide, to.size == 8 ? (void *)&real : (void *)&narrow,
				(size_t)to.size);
		} else { /* the low bytes are first */
			int64_t whole = from.class == SIGNED ? format_read_signed(part, from.size)
				: (int64_t)format_read_unsigned(part, from.size);
			memcpy(wide, &whole, (size_t)to.size);
		}
	}
}

/* Floating-point numbers in decimal */

/* digits[0].digits[1]digits[2]... * 10^exponent, without zeros at the end. */
struct decimal {
	bool negative;
	int exponent;
	int count;
	char digits[40];
};

static void format_decimal_from_text(struct decimal *out, const char *text)
{
	out->count = 0;
	for (; *text && *text != 'e'; text++) {
		if (*text >= '0' && *text <= '9') {
			out->digits[out->count++] = *text;
		}
	}
	out->exponent = *text ? atoi(text + 1) : 0;
	while (out->count > 1 && out->digits[out->count - 1] == '0') {
		out->count--;
	}
}

/* The nearest number that the storage has; ties to even. */
static double format_round(double value, const struct storage *storage)
{
	int exponent;
	frexp(value, &exponent);
	if (exponent < storage->min_exponent) {
		exponent = storage->min_exponent;
	}
	int shift = exponent - storage->bits;
	return ldexp(nearbyint(ldexp(value, -shift)), shift);
}

/* The fewest digits that the storage reads back as the same number, cut to `fraction` digits after
 * the point of the number, or of d.ddd with an exponent.  A negative `fraction` cuts nothing. */
static void format_decimal(struct decimal *out, double value, const struct storage *storage,
	bool exponent, int fraction)
{
	char text[64];
	double magnitude = fabs(value);
	out->negative = signbit(value);
	for (int digits = 0; digits < 17; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits, magnitude);
		if (format_round(strtod(text, NULL), storage) == magnitude) {
			break;
		}
	}
	format_decimal_from_text(out, text);
	int behind = out->count - 1 - (exponent ? 0 : out->exponent);
	if (fraction < 0 || behind <= fraction) {
		return;
	}
	int digits = fraction + (exponent ? 0 : out->exponent);
	assert(digits >= 0); /* so small a number makes its column one of exponents */
	snprintf(text, sizeof(text), "%.*e", digits, magnitude);
	format_decimal_from_text(out, text);
}

/* Columns of numbers */

/* How one part of every element is printed. */
struct column {
	struct storage storage;
	bool exponent;    /* 1.5e+00 */
	bool plus;        /* positive numbers have a sign */
	int left;         /* width before the point, sign included */
	int right;        /* width after it */
	int exponent_len; /* digits of the exponent */
};

/* The parts of a number's text, appended to `out`; the lengths before and after the point. */
static int format_write_left(char *out, const struct decimal *number, const struct column *column)
{
	int len = 0;
	if (number->negative || column->plus) {
		out[len++] = number->negative ? '-' : '+';
	}
	int whole = column->exponent ? 1 : number->exponent + 1;
	for (int i = 0; i < whole; i++) {
		out[len++] = i < number->count ? number->digits[i] : '0';
	}
	if (whole < 1) {
		out[len++] = '0';
	}
	return len;
}

static int format_write_right(char *out, const struct decimal *number, const struct column *column)
{
	int len = 0;
	int whole = column->exponent ? 1 : number->exponent + 1;
	for (int i = whole; i < 0; i++) {
		out[len++] = '0';
	}
	for (int i = whole > 0 ? whole : 0; i < number->count; i++) {
		out[len++] = number->digits[i];
	}
	/* A zero has no place after the point that counts. */
	return number->count == 1 && number->digits[0] == '0' ? 0 : len;
}

static int format_max(int a, int b)
{
	return a > b ? a : b;
}

static double format_part_value(const struct elements *elements, const struct storage *storage,
	int part, int64_t i)
{
	int64_t index = i * storage->parts + part;
	return format_read_real(elements->data + index * storage->size, storage);
}

/* Exponents where numbers are very large or small, or too far apart for one column. */
static bool format_needs_exponent(const struct elements *elements, const struct storage *storage,
	int part)
{
	double largest = 0, smallest = INFINITY;
	for (int64_t i = 0; i < elements->count; i++) {
		double value = fabs(format_part_value(elements, storage, part, i));
		if (isfinite(value) && value > 0) {
			largest = fmax(largest, value);
			smallest = fmin(smallest, value);
		}
	}
	return largest > 0 && (largest >= fmin(1e8, storage->whole_end)
		|| smallest < format_round(1e-4, storage)
		|| format_round(largest / smallest, storage) > 1000);
}

static struct column format_measure_real(const struct elements *elements, int part)
{
	struct column column = {.storage = format_storage(elements->dtype), .plus = part == 1};
	int special = 0;
	column.exponent = format_needs_exponent(elements, &column.storage, part);
	for (int64_t i = 0; i < elements->count; i++) {
		char text[CELL_MAX];
		struct decimal number;
		double value = format_part_value(elements, &column.storage, part, i);
		if (!isfinite(value)) {
			int sign = column.plus || (isinf(value) && value < 0);
			special = format_max(special, 3 + sign);
			continue;
		}
		format_decimal(&number, value, &column.storage, column.exponent, PRECISION);
		column.left = format_max(column.left, format_write_left(text, &number, &column));
		column.right = format_max(column.right, format_write_right(text, &number, &column));
		if (column.exponent) {
			int len = snprintf(text, sizeof(text), "%02d", abs(number.exponent));
			column.exponent_len = format_max(column.exponent_len, len);
		}
	}
	int tail = column.right + 1 + (column.exponent ? 2 + column.exponent_len : 0);
	column.left = format_max(column.left, special - tail);
	return column;
}

/* Words that stand for numbers are set to the right. */
static int format_write_special(char *out, double value, const struct column *column)
{
	int width = column->left + 1 + column->right
		+ (column->exponent ? 2 + column->exponent_len : 0);
	const char *sign = isinf(value) && value < 0 ? "-" : column->plus ? "+" : "";
	char word[8];
	snprintf(word, sizeof(word), "%s%s", sign, isnan(value) ? "nan" : "inf");
	return snprintf(out, CELL_MAX, "%*s", width, word);
}

static int format_write_real(char *out, double value, const struct column *column)
{
	struct decimal number;
	char left[CELL_MAX];
	if (!isfinite(value)) {
		return format_write_special(out, value, column);
	}
	if (column->exponent) {
		/* As many digits as the longest number needs; they are the value's, not zeros. */
		char text[64];
		snprintf(text, sizeof(text), "%.*e", column->right, fabs(value));
		number.negative = signbit(value);
		format_decimal_from_text(&number, text);
	} else {
		format_decimal(&number, value, &column->storage, false, PRECISION);
	}
	int left_len = format_write_left(left, &number, column);
	int len = column->left - left_len;
	memset(out, ' ', (size_t)len);
	memcpy(out + len, left, (size_t)left_len);
	len += left_len;
	out[len++] = '.';
	int right_len = format_write_right(out + len, &number, column);
	memset(out + len + right_len, column->exponent ? '0' : ' ',
		(size_t)(column->right - right_len));
	len += column->right;
	if (column->exponent) {
		len += snprintf(out + len, (size_t)(CELL_MAX - len), "e%c%0*d",
			number.exponent < 0 ? '-' : '+', column->exponent_len,
			abs(number.exponent));
	}
	return len;
}

/* Elements */

struct format {
	const struct elements *elements;
	struct storage storage;
	struct column parts[2]; /* of REAL */
	int width;              /* of the others */
};

static int format_write_integer(char *out, const struct format *format, int64_t i, int width)
{
	int size = format->storage.size;
	const char *from = format->elements->data + i * size;
	return format->storage.class == SIGNED
		? snprintf(out, CELL_MAX, "%*lld", width, (long long)format_read_signed(from, size))
		: snprintf(out, CELL_MAX, "%*llu", width,
			(unsigned long long)format_read_unsigned(from, size));
}

static void format_measure(struct format *format, const struct elements *elements)
{
	char text[CELL_MAX];
	*format = (struct format){.elements = elements, .storage = format_storage(elements->dtype)};
	switch (format->storage.class) {
	case OPAQUE:
		break;
	case BOOL:
		format->width = (int)strlen("False");
		break;
	case SIGNED:
	case UNSIGNED:
		for (int64_t i = 0; i < elements->count; i++) {
			format->width = format_max(format->width, format_write_integer(text, format,
				i, 0));
		}
		break;
	case REAL:
		for (int part = 0; part < format->storage.parts; part++) {
			format->parts[part] = format_measure_real(elements, part);
		}
		break;
	}
}

/* The j of a complex number goes after its digits, before the blanks that fill the column. */
static int format_add_j(char *out, int len)
{
	int end = len;
	while (end > 0 && out[end - 1] == ' ') {
		end--;
	}
	memmove(out + end + 1, out + end, (size_t)(len - end));
	out[end] = 'j';
	return len + 1;
}

static int format_write_cell(char *out, const struct format *format, int64_t i)
{
	const struct elements *elements = format->elements;
	int len;
	switch (format->storage.class) {
	case BOOL:
		return snprintf(out, CELL_MAX, "%*s", format->width,
			elements->data[i] ? "True" : "False");
	case SIGNED:
	case UNSIGNED:
		return format_write_integer(out, format, i, format->width);
	case REAL:
		len = format_write_real(out, format_part_value(elements, &format->storage, 0, i),
			&format->parts[0]);
		if (format->storage.parts == 2) {
			len += format_add_j(out + len, format_write_real(out + len,
				format_part_value(elements, &format->storage, 1, i),
				&format->parts[1]));
		}
		return len;
	default:
		return snprintf(out, CELL_MAX, "<%lld bytes>",
			(long long)kz_dtype_size(elements->dtype));
	}
}

/* One number that stands alone: 1.5, 2.0, 1e-05; all its digits. */
static int format_write_alone(char *out, double value, const struct storage *storage, bool plus,
	bool point)
{
	struct column column = {.storage = *storage, .plus = plus};
	struct decimal number;
	if (!isfinite(value)) {
		return format_write_special(out, value, &column);
	}
	double magnitude = fabs(value);
	column.exponent = magnitude >= storage->whole_end || (magnitude > 0 && magnitude < 1e-4);
	format_decimal(&number, value, storage, column.exponent, -1);
	int len = format_write_left(out, &number, &column);
	int right = format_write_right(out + len + 1, &number, &column);
	if (right > 0) {
		out[len] = '.';
		len += 1 + right;
	} else if (point && !column.exponent) {
		out[len++] = '.';
		out[len++] = '0';
	}
	if (column.exponent) {
		len += snprintf(out + len, (size_t)(CELL_MAX - len), "e%+03d", number.exponent);
	}
	return len;
}

static void format_scalar(struct str *out, struct format *format)
{
	const struct storage *storage = &format->storage;
	char text[CELL_MAX];
	int len;
	if (storage->class != REAL) {
		format->width = 0;
		len = format_write_cell(text, format, 0);
	} else if (storage->parts == 1) {
		len = format_write_alone(text, format_part_value(format->elements, storage, 0, 0),
			storage, false, true);
	} else {
		double real = format_part_value(format->elements, storage, 0, 0);
		double imaginary = format_part_value(format->elements, storage, 1, 0);
		bool pure = real == 0 && !signbit(real); /* 2j, as Python has it */
		len = 0;
		if (!pure) {
			text[len++] = '(';
			len += format_write_alone(text + len, real, storage, false, false);
		}
		len += format_write_alone(text + len, imaginary, storage, !pure, false);
		text[len++] = 'j';
		if (!pure) {
			text[len++] = ')';
		}
	}
	str_addn(out, text, (size_t)len);
}

/* Brackets and lines */

static void format_break_lines(struct str *out, int count, int indent)
{
	while (out->len > 0 && out->data[out->len - 1] == ' ') {
		out->len--;
	}
	for (int i = 0; i < count; i++) {
		str_addc(out, '\n');
	}
	str_addf(out, "%*s", indent, "");
}

/* The innermost extent: words with a blank between, in lines that leave room for the brackets. */
static void format_row(struct str *out, const struct format *format, int axis, int64_t *next)
{
	const struct elements *elements = format->elements;
	int64_t shown = elements->shown[axis];
	int64_t gap = shown < elements->dims[axis] ? shown / 2 : -1;
	int indent = axis + 1;
	int column = indent;
	int room = LINE_WIDTH - axis - 1;
	for (int64_t k = 0; k < shown;) {
		char text[CELL_MAX] = "...";
		bool dots = k == gap;
		gap = dots ? -1 : gap;
		int len = dots ? (int)strlen(text) : format_write_cell(text, format, (*next)++);
		k += !dots;
		if (column + len > room && column > indent) {
			format_break_lines(out, 1, indent);
			column = indent;
		}
		str_addn(out, text, (size_t)len);
		column += len + 1;
		if (k < shown) {
			str_addc(out, ' ');
		}
	}
}

static void format_axis(struct str *out, const struct format *format, int axis, int64_t *next)
{
	const struct elements *elements = format->elements;
	int64_t shown = elements->shown[axis];
	int below = elements->ndim - axis - 1;
	str_addc(out, '[');
	if (below == 0) {
		format_row(out, format, axis, next);
	}
	for (int64_t k = 0; below > 0 && k < shown; k++) {
		if (k > 0) {
			format_break_lines(out, below, axis + 1);
		}
		if (shown < elements->dims[axis] && k == shown / 2) {
			str_add(out, "...");
			format_break_lines(out, below, axis + 1);
		}
		format_axis(out, format, axis + 1, next);
	}
	str_addc(out, ']');
}

void format_elements(struct str *out, const struct elements *elements)
{
	struct format format;
	int64_t next = 0;
	if (elements->count == 0) {
		str_add(out, "[]");
		return;
	}
	format_measure(&format, elements);
	if (elements->ndim == 0) {
		format_scalar(out, &format);
	} else {
		format_axis(out, &format, 0, &next);
	}
}

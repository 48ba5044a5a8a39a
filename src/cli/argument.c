/* SPDX-License-Identifier: MIT */
/*
 * Arguments of kernels as words of the shell:
 *
 *	5  2.5  null                      a number of the parameter's own type; no array
 *	i32:5  f32:1,2,3,4                a number; a small vector, float4
 *	f32[16]  f64[8x8]=FILL            an array: zeros unless FILL says otherwise
 *	@file.npy                         an array from a file
 *
 *	FILL: arange, random, random:SEED, eye, empty, a number, or as many numbers as there are
 *	      elements
 *
 * Parsing allocates nothing.  It checks the numbers and leaves them as text, which is read again
 * when the array is filled.  A mistake is reported with its place, for a caret.
 */
#include "cli/argument.h"

#include "cli/numeral.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	kz_dtype dtype;
} types[] = {
	{"bool", KZ_BOOL}, {"i8", KZ_I8}, {"i16", KZ_I16}, {"i32", KZ_I32}, {"i64", KZ_I64},
	{"u8", KZ_U8}, {"u16", KZ_U16}, {"u32", KZ_U32}, {"u64", KZ_U64}, {"f16", KZ_F16},
	{"bf16", KZ_BF16}, {"f32", KZ_F32}, {"f64", KZ_F64}, {"c64", KZ_C64}, {"c128", KZ_C128},
	{"e4m3", KZ_F8_E4M3}, {"e5m2", KZ_F8_E5M2},
};

/* Names that other languages and libraries have for types. */
static const struct {
	const char *name;
	const char *ours;
} aliases[] = {
	{"char", "i8"}, {"short", "i16"}, {"int", "i32"}, {"long", "i64"}, {"unsigned", "u32"},
	{"half", "f16"}, {"__half", "f16"}, {"float", "f32"}, {"double", "f64"}, {"size_t", "u64"},
	{"int8", "i8"}, {"int16", "i16"}, {"int32", "i32"}, {"int64", "i64"}, {"uint8", "u8"},
	{"uint16", "u16"}, {"uint32", "u32"}, {"uint64", "u64"}, {"float16", "f16"},
	{"bfloat16", "bf16"}, {"float32", "f32"}, {"float64", "f64"}, {"complex64", "c64"},
	{"complex128", "c128"}, {"float8_e4m3fn", "e4m3"}, {"float8_e5m2", "e5m2"},
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* The text that is read, and where a mistake is reported. */
struct reader {
	const char *text;
	struct argument_fault *fault;
};

__attribute__((format(printf, 4, 5)))
static bool argument_fail(struct reader *reader, const char *at, size_t length,
	const char *format, ...)
{
	va_list args;
	va_start(args, format);
	reader->fault->offset = (size_t)(at - reader->text);
	reader->fault->length = length;
	vsnprintf(reader->fault->message, sizeof(reader->fault->message), format, args);
	va_end(args);
	return false;
}

static int argument_shown(size_t length)
{
	return (int)(length < 60 ? length : 60);
}

kz_dtype argument_dtype(const char *name, size_t length)
{
	for (size_t i = 0; i < COUNT(types); i++) {
		if (strlen(types[i].name) == length && strncmp(types[i].name, name, length) == 0) {
			return types[i].dtype;
		}
	}
	return 0;
}

const char *argument_dtype_name(kz_dtype dtype)
{
	for (size_t i = 0; i < COUNT(types); i++) {
		if (types[i].dtype == dtype) {
			return types[i].name;
		}
	}
	return NULL;
}

static bool argument_read_type(struct argument *out, struct reader *reader, size_t length)
{
	const char *text = reader->text;
	out->dtype = argument_dtype(text, length);
	if (out->dtype) {
		return true;
	}
	for (size_t i = 0; i < COUNT(aliases); i++) {
		if (strlen(aliases[i].name) == length
		    && strncmp(aliases[i].name, text, length) == 0) {
			return argument_fail(reader, text, length, "'%s' is called %s here",
				aliases[i].name, aliases[i].ours);
		}
	}
	return argument_fail(reader, text, length, "expected a type such as i32 or f32, got '%.*s'",
		argument_shown(length), text);
}

/* Check numbers with commas between them, and count them. */
static bool argument_read_list(
	struct argument *out, struct reader *reader, const char *at, int64_t *count)
{
	char element[NUMERAL_MAX_SIZE], why[160];
	size_t length;
	out->values = at;
	for (*count = 1;; ++*count) {
		if (!numeral_read(element, out->dtype, at, &length, why, sizeof(why))) {
			return argument_fail(reader, at, length, "%s", why);
		}
		at += length;
		if (*at == '\0') {
			return true;
		}
		if (*at != ',') {
			return argument_fail(reader, at, strcspn(at, ","),
				"expected a comma, got '%.*s'", argument_shown(strcspn(at, ",")),
				at);
		}
		at++;
	}
}

/* "4x4]" */
static bool argument_read_shape(struct argument *out, struct reader *reader, const char **at)
{
	out->count = 1;
	out->shape.ndim = 0;
	for (;; ++*at) {
		char *end = NULL;
		const char *number = *at;
		errno = 0;
		long long extent = isdigit((unsigned char)*number) ? strtoll(number, &end, 10) : -1;
		if (extent < 0) {
			return argument_fail(reader, number, *number != '\0',
				"expected an extent, as in f32[16] and f32[4x4]");
		}
		*at = end;
		if (out->shape.ndim == KZ_MAX_DIMS) {
			return argument_fail(reader, number, (size_t)(end - number),
				"more than %d extents", KZ_MAX_DIMS);
		}
		out->shape.dims[out->shape.ndim++] = extent;
		if (errno || __builtin_mul_overflow(out->count, extent, &out->count)
		    || out->count > INT64_MAX / NUMERAL_MAX_SIZE) {
			return argument_fail(
				reader, number, (size_t)(end - number), "the array is too large");
		}
		if (*end == ']') {
			++*at;
			return true;
		}
		if (*end != 'x') {
			return argument_fail(reader, end, *end != '\0', "expected 'x' or ']'");
		}
	}
}

static bool argument_read_random(struct argument *out, struct reader *reader, const char *at)
{
	char *end = NULL;
	out->fill = FILL_RANDOM;
	if (*at == '\0') {
		return true;
	}
	errno = 0;
	out->seed = isdigit((unsigned char)at[1]) ? strtoull(at + 1, &end, 10) : 0;
	if (!end || *end != '\0' || errno) {
		return argument_fail(
			reader, at + 1, strlen(at + 1),
				"expected a seed, an integer of at least 0");
	}
	return true;
}

static bool argument_read_arange(struct argument *out, struct reader *reader, const char *at)
{
	out->fill = FILL_ARANGE;
	if (out->count > 0 && (uint64_t)(out->count - 1) > numeral_max(out->dtype)) {
		return argument_fail(reader, at, strlen(at), "%lld does not fit %s",
			(long long)(out->count - 1), argument_dtype_name(out->dtype));
	}
	return true;
}

static bool argument_read_numbers(struct argument *out, struct reader *reader, const char *at)
{
	int64_t count;
	if (!argument_read_list(out, reader, at, &count)) {
		if (isalpha((unsigned char)*at) && !strchr(at, ',')) {
			return argument_fail(reader, at, strlen(at),
				"expected arange, random, eye, empty or numbers, "
				"got '%.*s'",
				argument_shown(strlen(at)), at);
		}
		return false;
	}
	out->fill = count == 1 ? FILL_VALUE : FILL_LIST;
	if (count > 1 && count != out->count) {
		return argument_fail(reader, at, strlen(at),
			"expected %lld value%s, or one for all, got %lld", (long long)out->count,
			out->count == 1 ? "" : "s", (long long)count);
	}
	return true;
}

/* What comes after "f32[4x4]". */
static bool argument_read_fill(struct argument *out, struct reader *reader, const char *at)
{
	if (*at == '\0') {
		out->fill = FILL_ZEROS;
		return true;
	}
	if (*at != '=') {
		return argument_fail(reader, at, strlen(at), "expected '=' or the end");
	}
	at++;
	if (strcmp(at, "arange") == 0) {
		return argument_read_arange(out, reader, at);
	}
	if (strncmp(at, "random", 6) == 0 && (at[6] == '\0' || at[6] == ':')) {
		return argument_read_random(out, reader, at + 6);
	}
	if (strcmp(at, "empty") == 0) {
		out->fill = FILL_NONE;
		return true;
	}
	if (strcmp(at, "eye") == 0) {
		out->fill = FILL_EYE;
		return out->shape.ndim == 2 || argument_fail(reader, at, 3,
			"eye is a matrix, as in f64[8x8]");
	}
	return argument_read_numbers(out, reader, at);
}

static bool argument_read_file(struct argument *out, struct reader *reader)
{
	out->kind = ARGUMENT_FILE;
	out->values = reader->text + 1;
	return *out->values != '\0'
		|| argument_fail(reader, out->values, 0, "expected a file after '@'");
}

/* A number without a type. */
static bool argument_read_number(struct argument *out, struct reader *reader)
{
	const char *text = reader->text;
	out->kind = ARGUMENT_NUMBER;
	out->dtype = KZ_F64;
	if (isdigit((unsigned char)*text) || *text == '-' || *text == '+' || *text == '.'
	    || strncmp(text, "inf", 3) == 0 || strncmp(text, "nan", 3) == 0) {
		return argument_read_list(out, reader, text, &out->count)
			&& (out->count == 1 || argument_fail(reader, text, strlen(text),
				"several numbers need a type, as in f32:1,2,3,4"));
	}
	return argument_fail(reader, text, strlen(text),
		"expected an argument such as i32:5, f32[16]=arange, "
		"@file.npy or null");
}

bool argument_parse(struct argument *out, const char *text, struct argument_fault *fault)
{
	struct reader reader = {text, fault};
	size_t word = strcspn(text, ":[=");
	const char *at = text + word + 1;
	memset(out, 0, sizeof(*out));
	if (*text == '@') {
		return argument_read_file(out, &reader);
	}
	if (strcmp(text, "null") == 0) {
		out->kind = ARGUMENT_NULL;
		return true;
	}
	if (text[word] == ':') {
		out->kind = ARGUMENT_SCALAR;
		return argument_read_type(out, &reader, word)
			&& argument_read_list(out, &reader, at, &out->count);
	}
	if (text[word] == '[') {
		out->kind = ARGUMENT_ARRAY;
		return argument_read_type(out, &reader, word)
			&& argument_read_shape(out, &reader, &at)
			&& argument_read_fill(out, &reader, at);
	}
	return argument_read_number(out, &reader);
}

/* splitmix64, which is in the public domain: it gives the same numbers everywhere. */
static uint64_t argument_next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void argument_fill_random(const struct argument *argument, char *out, size_t size)
{
	uint64_t state = argument->seed;
	for (int64_t i = 0; i < argument->count; i++, out += size) {
		uint64_t bits = argument_next_random(&state);
		if (numeral_is_integer(argument->dtype)) {
			numeral_store(out, argument->dtype,
				bits % (argument->dtype == KZ_BOOL ? 2 : 100));
		} else {
			numeral_store_fraction(out, argument->dtype, bits);
		}
	}
}

static void argument_fill_list(const struct argument *argument, char *out, size_t size)
{
	const char *at = argument->values;
	size_t length;
	for (int64_t i = 0; i < argument->count; i++, out += size) {
		/* The parser has checked it. */
		(void)numeral_read(out, argument->dtype, at, &length, NULL, 0);
		at += length + (at[length] == ',');
	}
}

void argument_fill(const struct argument *argument, void *out)
{
	size_t size = (size_t)kz_dtype_size(argument->dtype);
	char value[NUMERAL_MAX_SIZE] = {0}, *at = out;
	size_t length;
	if (argument->kind == ARGUMENT_SCALAR || argument->fill == FILL_LIST) {
		argument_fill_list(argument, out, size);
		return;
	}
	if (argument->fill == FILL_NONE) {
		return;
	}
	if (argument->fill == FILL_RANDOM) {
		argument_fill_random(argument, out, size);
		return;
	}
	if (argument->fill == FILL_VALUE) {
		(void)numeral_read(value, argument->dtype, argument->values, &length, NULL, 0);
	}
	for (int64_t i = 0; i < argument->count; i++, at += size) {
		if (argument->fill == FILL_ARANGE) {
			numeral_store(value, argument->dtype, (uint64_t)i);
		} else if (argument->fill == FILL_EYE) {
			int64_t columns = argument->shape.dims[1];
			numeral_store(value, argument->dtype, i / columns == i % columns);
		}
		memcpy(at, value, size);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Argument lists of users' kernels: the C declarations that PyCUDA's kernels take.
 *
 *	list:         declaration { "," declaration }
 *	declaration:  [ "raw" ] type [ "*" ] name
 *	type:         C's words for numbers, a name of stdint.h, a class of CUDA's, a registered
 *	              struct, a capital letter; with const, volatile, restrict and struct where C
 *	              allows them
 *
 * The kernel gets the list as it was written, so that the compiler's columns are the user's.  This
 * file reads which arrays and numbers fit.  A letter stands for a type that the arrays of a call
 * give; declare_bind puts it in.
 */
#include "base/common.h"

#include "lib/ops/declare.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/rtc/diag.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct reader {
	struct arena *arena;
	const char *list;
	const char *label;   /* of the list, in errors */
	const char *at;      /* the token */
	size_t len;          /* its bytes; 0 at the end */
	const char *type_at; /* where the last type's name began */
	const char *letters_at[DECLARE_LETTERS]; /* where each letter came first */
	kz_error *err;
};

static bool declare_is_word(const struct reader *reader)
{
	return str_is_word(*reader->at) && !isdigit((unsigned char)*reader->at);
}

/* Find the token at or after `from`: a word, "::", or one character. */
static void declare_scan(struct reader *reader, const char *from)
{
	from += strspn(from, " \t\r\n");
	reader->at = from;
	reader->len = *from != '\0';
	if (declare_is_word(reader)) {
		while (str_is_word(*from)) {
			from++;
		}
		reader->len = (size_t)(from - reader->at);
	} else if (from[0] == ':' && from[1] == ':') {
		reader->len = 2;
	}
}

static void declare_next(struct reader *reader)
{
	declare_scan(reader, reader->at + reader->len);
}

static bool declare_is(const struct reader *reader, const char *token)
{
	return reader->len == strlen(token) && memcmp(reader->at, token, reader->len) == 0;
}

static bool declare_take(struct reader *reader, const char *token)
{
	bool there = declare_is(reader, token);
	if (there) {
		declare_next(reader);
	}
	return there;
}

/* Fail at a place in the list. */
static printf_like(3, 4) kz_status declare_refuse(const struct reader *reader, const char *at,
	const char *format, ...)
{
	struct str text = STR_INIT, log = STR_INIT;
	bool mine = error_is_clean(reader->err);
	const char *line = reader->list;
	int number = 1;
	va_list args;
	va_start(args, format);
	str_addv(&text, format, args);
	va_end(args);
	for (const char *c = line; c < at; c++) {
		if (*c == '\n') {
			line = c + 1;
			number++;
		}
	}
	int column = (int)(at - line) + 1;
	kz_status st = text.failed ? error_no_memory(reader->err)
		: error_set(reader->err, KZ_INVALID, "%s", text.data);
	if (mine && st == KZ_INVALID) {
		str_addf(&log, "%s:%d:%d: error: %s\n", reader->label, number, column, text.data);
		diag_excerpt(&log, line, strcspn(line, "\r\n"), (size_t)column - 1);
		error_add_place(reader->err, reader->label, number, column);
		error_take_log(reader->err, log.failed ? NULL : str_take(&log));
	}
	str_free(&text);
	str_free(&log);
	return st;
}

/* The token as it is quoted. */
static const char *declare_found(const struct reader *reader, char buffer[48])
{
	snprintf(buffer, 48, reader->len ? "'%.*s'" : "the end of the list",
		reader->len < 40 ? (int)reader->len : 40, reader->at);
	return buffer;
}

/* Types */

#define BIT(dtype) ((uint32_t)1 << (dtype))

/* C's words for numbers: which were there, and how often. */
enum {
	SIGNED = 1, UNSIGNED = 2, CHAR = 4, SHORT = 8, INT = 16, LONG = 32, LONG_LONG = 64,
	FLOAT = 128, DOUBLE = 256, BOOL = 512, TOO_MANY = 1024
};

static int declare_number_word(const struct reader *reader)
{
	static const struct {
		const char *word;
		int bit;
	} words[] = {
		{"signed", SIGNED}, {"unsigned", UNSIGNED}, {"char", CHAR}, {"short", SHORT},
		{"int", INT}, {"long", LONG}, {"float", FLOAT}, {"double", DOUBLE},
		{"bool", BOOL}, {"_Bool", BOOL},
	};
	for (size_t i = 0; i < countof(words); i++) {
		if (declare_is(reader, words[i].word)) {
			return words[i].bit;
		}
	}
	return 0;
}

static int declare_add_word(int words, int word)
{
	if (word == LONG && words & LONG) {
		return words & LONG_LONG ? TOO_MANY : words | LONG_LONG;
	}
	return words & word ? TOO_MANY : words | word;
}

/* A type that the list can name. */
struct type {
	const char *name;
	enum param_kind kind;
	int size;
	uint32_t dtypes;
};

/* The type that C's words for a number mean together; false if they mean none. */
static bool declare_number_type(struct type *type, int words)
{
	bool is_unsigned = words & UNSIGNED;
	enum param_kind kind = is_unsigned ? PARAM_UINT : PARAM_INT;
	if (words & TOO_MANY || (words & SIGNED && is_unsigned)) {
		return false;
	}
	switch (words & ~(SIGNED | UNSIGNED | INT)) {
	case 0:
		*type = (struct type){NULL, kind, 4, BIT(is_unsigned ? KZ_U32 : KZ_I32)};
		return words != 0;
	case CHAR:
		*type = (struct type){NULL, kind, 1, is_unsigned ? BIT(KZ_U8) | BIT(KZ_BOOL)
			: words & SIGNED ? BIT(KZ_I8) : BIT(KZ_I8) | BIT(KZ_U8)};
		return !(words & INT);
	case SHORT:
		*type = (struct type){NULL, kind, 2, BIT(is_unsigned ? KZ_U16 : KZ_I16)};
		return true;
	case LONG:
	case LONG | LONG_LONG:
		*type = (struct type){NULL, kind, 8, BIT(is_unsigned ? KZ_U64 : KZ_I64)};
		return true;
	case FLOAT:
		*type = (struct type){NULL, PARAM_FLOAT, 4, BIT(KZ_F32)};
		return words == FLOAT;
	case DOUBLE:
		*type = (struct type){NULL, PARAM_FLOAT, 8, BIT(KZ_F64)};
		return words == DOUBLE;
	case BOOL:
		*type = (struct type){NULL, PARAM_BOOL, 1, BIT(KZ_BOOL)};
		return words == BOOL;
	default:
		return false;
	}
}

static const struct type named_types[] = {
	{"int8_t", PARAM_INT, 1, BIT(KZ_I8)}, {"uint8_t", PARAM_UINT, 1, BIT(KZ_U8) | BIT(KZ_BOOL)},
	{"int16_t", PARAM_INT, 2, BIT(KZ_I16)}, {"uint16_t", PARAM_UINT, 2, BIT(KZ_U16)},
	{"int32_t", PARAM_INT, 4, BIT(KZ_I32)}, {"uint32_t", PARAM_UINT, 4, BIT(KZ_U32)},
	{"int64_t", PARAM_INT, 8, BIT(KZ_I64)}, {"uint64_t", PARAM_UINT, 8, BIT(KZ_U64)},
	{"intptr_t", PARAM_INT, 8, BIT(KZ_I64)}, {"uintptr_t", PARAM_UINT, 8, BIT(KZ_U64)},
	{"ptrdiff_t", PARAM_INT, 8, BIT(KZ_I64)}, {"size_t", PARAM_UINT, 8, BIT(KZ_U64)},
	{"__half", PARAM_FLOAT, 2, BIT(KZ_F16)}, {"half", PARAM_FLOAT, 2, BIT(KZ_F16)},
	{"__nv_bfloat16", PARAM_FLOAT, 2, BIT(KZ_BF16)},
	{"nv_bfloat16", PARAM_FLOAT, 2, BIT(KZ_BF16)},
	{"__nv_fp8_e4m3", PARAM_STRUCT, 1, BIT(KZ_F8_E4M3)},
	{"__nv_fp8_e5m2", PARAM_STRUCT, 1, BIT(KZ_F8_E5M2)},
	{"kz_complex<float>", PARAM_STRUCT, 8, BIT(KZ_C64)},
	{"kz_complex<double>", PARAM_STRUCT, 16, BIT(KZ_C128)},
	{"pycuda::complex<float>", PARAM_STRUCT, 8, BIT(KZ_C64)},
	{"pycuda::complex<double>", PARAM_STRUCT, 16, BIT(KZ_C128)},
};

/* CUDA's vectors: float4, uchar2 ...  Arrays of those of two floats are complex numbers, too. */
static bool declare_vector_type(struct type *type, const char *name)
{
	static const struct {
		const char *name;
		int size;
	} bases[] = {
		{"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"int", 4}, {"uint", 4},
		{"long", 8}, {"ulong", 8}, {"longlong", 8}, {"ulonglong", 8}, {"float", 4},
		{"double", 8},
	};
	for (size_t i = 0; i < countof(bases); i++) {
		size_t len = strlen(bases[i].name);
		int lanes = name[strnlen(name, len)] - '0';
		if (strncmp(name, bases[i].name, len) == 0 && lanes >= 1 && lanes <= 4
		    && !name[len + 1]) {
			*type = (struct type){NULL, PARAM_STRUCT, lanes * bases[i].size,
				strcmp(name, "float2") == 0 ? BIT(KZ_C64)
				: strcmp(name, "double2") == 0 ? BIT(KZ_C128) : 0};
			return true;
		}
	}
	return false;
}

static bool declare_named_type(struct type *type, const char *name)
{
	for (size_t i = 0; i < countof(named_types); i++) {
		if (strcmp(name, named_types[i].name) == 0) {
			*type = named_types[i];
			return true;
		}
	}
	return declare_vector_type(type, name);
}

/* Declarations */

static bool declare_take_qualifier(struct reader *reader, bool *is_const)
{
	static const char *const words[] = {
		"volatile", "restrict", "__restrict__", "__restrict", "struct", "class",
	};
	if (declare_take(reader, "const")) {
		*is_const = true;
		return true;
	}
	for (size_t i = 0; i < countof(words); i++) {
		if (declare_take(reader, words[i])) {
			return true;
		}
	}
	return false;
}

/* <...> of a template's instance, appended to its name without blanks. */
static kz_status declare_read_instance(struct reader *reader, struct str *name)
{
	const char *start = reader->at;
	int depth = 0;
	do {
		if (!reader->len || declare_is(reader, ";")) {
			return declare_refuse(reader, start, "expected a '>' for this '<'");
		}
		depth += declare_is(reader, "<") - declare_is(reader, ">");
		str_addn(name, reader->at, reader->len);
		declare_next(reader);
	} while (depth > 0);
	return KZ_OK;
}

/* A name of a type: ns::point<float>. */
static kz_status declare_read_name(struct reader *reader, struct str *name)
{
	kz_status st = KZ_OK;
	char text[48];
	do {
		if (declare_take(reader, "::")) {
			str_add(name, "::");
		}
		if (!declare_is_word(reader)) {
			return declare_refuse(reader, reader->at,
				"expected the name of a type, got %s", declare_found(reader, text));
		}
		str_addn(name, reader->at, reader->len);
		declare_next(reader);
		if (declare_is(reader, "<")) {
			st = declare_read_instance(reader, name);
		}
	} while (!st && declare_is(reader, "::"));
	return st;
}

/* The type before the star: its name, and for a number its words. */
static kz_status declare_read_words(struct reader *reader, struct declaration *out, int *words,
	struct str *name)
{
	for (;;) {
		int word = declare_number_word(reader);
		if (declare_take_qualifier(reader, &out->is_const)) {
			continue;
		}
		if (!name->len) {
			reader->type_at = reader->at;
		}
		if (word && (*words || !name->len)) {
			*words = declare_add_word(*words, word);
			str_add(name, name->len ? " " : "");
			str_addn(name, reader->at, reader->len);
			declare_next(reader);
		} else if ((declare_is_word(reader) || declare_is(reader, "::")) && !name->len) {
			kz_status st = declare_read_name(reader, name);
			if (st) {
				return st;
			}
		} else {
			return KZ_OK;
		}
	}
}

static kz_status declare_fail_type(const struct reader *reader, const char *name)
{
	static const char hint[] = "a struct is registered by kz_dtype_register, under the name "
		"that the preamble gives it";
	bool mine = error_is_clean(reader->err);
	kz_status st = declare_refuse(reader, reader->type_at, "unknown type '%.100s'", name);
	if (mine && st == KZ_INVALID) {
		error_add_hint(reader->err, hint);
	}
	return st;
}

static kz_status declare_read_type(struct reader *reader, struct declaration *out)
{
	struct str name = STR_INIT;
	struct type type;
	char text[48];
	int words = 0;
	kz_status st = declare_read_words(reader, out, &words, &name);
	if (!st && name.failed) {
		st = error_no_memory(reader->err);
	} else if (!st && !name.len) {
		st = declare_refuse(reader, reader->at, "expected a type, got %s",
			declare_found(reader, text));
	} else if (!st && !(out->type = arena_strndup(reader->arena, name.data, name.len))) {
		st = error_no_memory(reader->err);
	}
	str_free(&name);
	if (st) {
		return st;
	}
	out->dtype = words ? 0 : dtype_struct(out->type);
	if (words ? declare_number_type(&type, words) : declare_named_type(&type, out->type)) {
		out->kind = type.kind;
		out->size = type.size;
		out->dtypes = type.dtypes;
	} else if (out->dtype) {
		out->kind = PARAM_STRUCT;
		out->size = kz_dtype_size(out->dtype);
	} else if (!words && out->type[0] >= 'A' && out->type[0] <= 'Z' && !out->type[1]) {
		out->letter = out->type[0];
	} else {
		st = declare_fail_type(reader, out->type);
	}
	return st;
}

/* Check that the kernel does not have the name already. */
static kz_status declare_check_name(const struct reader *reader, const struct declarations *list)
{
	static const char *const own[] = {"i", "n", "_ind", "tid", "total_threads"};
	for (size_t k = 0; k < countof(own); k++) {
		if (declare_is(reader, own[k])) {
			return declare_refuse(reader, reader->at,
				"'%s' is reserved for the kernel", own[k]);
		}
	}
	if (reader->len >= 3 && strncmp(reader->at, "kz_", 3) == 0) {
		return declare_refuse(reader, reader->at,
			"names that begin with 'kz_' are reserved for the kernel");
	}
	for (size_t k = 0; k < list->count; k++) {
		if (declare_is(reader, list->items[k].name)) {
			return declare_refuse(reader, reader->at,
				"'%s' is already the name of argument %zu", list->items[k].name,
				k + 1);
		}
	}
	return KZ_OK;
}

static uint32_t declare_letter_bit(const struct declaration *declared)
{
	return UINT32_C(1) << (declared->letter - 'A');
}

/* Check that a call gives a type for each letter: there is an array that has it. */
static kz_status declare_check_letters(const struct reader *reader, const struct declarations *list)
{
	uint32_t missing = list->letters;
	for (size_t k = 0; k < list->count; k++) {
		if (list->items[k].letter && list->items[k].is_pointer) {
			missing &= ~declare_letter_bit(&list->items[k]);
		}
	}
	if (!missing) {
		return KZ_OK;
	}
	int letter = __builtin_ctz(missing);
	return declare_refuse(reader, reader->letters_at[letter],
		"no array has the type '%c', so a call cannot give it", 'A' + letter);
}

static kz_status declare_read_one(struct reader *reader, struct declarations *list)
{
	struct declaration *out = &list->items[list->count];
	const char *raw = reader->at;
	char text[48];
	kz_status st;
	if (declare_is(reader, "raw")) {
		memset(list->list + (raw - reader->list), ' ', 3);
		out->is_raw = true;
		declare_next(reader);
	}
	const char *start = reader->at;
	if ((st = declare_read_type(reader, out))) {
		return st;
	}
	if (declare_take(reader, "*")) {
		bool ignored;
		out->is_pointer = true;
		while (declare_take_qualifier(reader, &ignored)) {
		}
	}
	if (!declare_is_word(reader)) {
		return declare_refuse(reader, reader->at, "expected a name after '%s%s', got %s",
			out->type, out->is_pointer ? " *" : "", declare_found(reader, text));
	}
	if (out->is_raw && !out->is_pointer) {
		return declare_refuse(reader, raw, "expected an array after 'raw', got a number");
	}
	if ((st = declare_check_name(reader, list))) {
		return st;
	}
	if (out->letter) {
		const char **letter_at = &reader->letters_at[out->letter - 'A'];
		*letter_at = *letter_at ? *letter_at : reader->type_at;
		list->letters |= declare_letter_bit(out);
	}
	out->name = arena_strndup(reader->arena, reader->at, reader->len);
	out->text = arena_strndup(reader->arena, start, (size_t)(reader->at + reader->len - start));
	list->dtypes |= out->dtypes;
	list->count++;
	declare_next(reader);
	return out->name && out->text ? KZ_OK : error_no_memory(reader->err);
}

static kz_status declare_read_list(struct reader *reader, struct declarations *out)
{
	char text[48];
	do {
		if (out->count == DECLARE_MAX) {
			return declare_refuse(reader, reader->at, "expected at most %d arguments",
				DECLARE_MAX);
		}
		kz_status st = declare_read_one(reader, out);
		if (st) {
			return st;
		}
		if (reader->len && !declare_is(reader, ",")) {
			return declare_refuse(reader, reader->at,
				"expected a comma after '%s', got %s",
				out->items[out->count - 1].name, declare_found(reader, text));
		}
	} while (declare_take(reader, ","));
	return KZ_OK;
}

kz_status declare_read(struct declarations *out, struct arena *arena, const char *list,
	const char *name, kz_error *err)
{
	struct reader reader = {.arena = arena, .list = list, .err = err};
	*out = (struct declarations){0};
	reader.label = arena_printf(arena, "%s: arguments", name);
	out->items = arena_alloc(arena, DECLARE_MAX, sizeof(*out->items));
	out->list = arena_strndup(arena, list, strlen(list));
	if (!reader.label || !out->items || !out->list) {
		return error_no_memory(err);
	}
	declare_scan(&reader, list);
	kz_status st = declare_read_list(&reader, out);
	return st ? st : declare_check_letters(&reader, out);
}

/* Types for letters */

const char *declare_spelling(kz_dtype dtype)
{
	return dtype == KZ_C64 ? "kz_complex<float>" : dtype == KZ_C128 ? "kz_complex<double>"
		: kz_dtype_ctype(dtype);
}

static enum param_kind declare_kind(kz_dtype dtype)
{
	switch (dtype_kind(dtype)) {
	case DTYPE_BOOL:
		return PARAM_BOOL;
	case DTYPE_UNSIGNED:
		return PARAM_UINT;
	case DTYPE_SIGNED:
		return PARAM_INT;
	case DTYPE_FLOAT:
		return PARAM_FLOAT;
	default:
		return PARAM_STRUCT;
	}
}

kz_status declare_bind(struct declarations *out, struct arena *arena,
	const struct declarations *list, const kz_dtype *types, kz_error *err)
{
	*out = *list;
	out->letters = 0;
	out->items = arena_alloc(arena, list->count, sizeof(*out->items));
	if (!out->items) {
		return error_no_memory(err);
	}
	for (size_t i = 0; i < list->count; i++) {
		struct declaration *item = &out->items[i];
		*item = list->items[i];
		if (item->letter) {
			kz_dtype dtype = types[item->letter - 'A'];
			bool is_struct = dtype_is_struct(dtype);
			item->type = declare_spelling(dtype);
			item->kind = declare_kind(dtype);
			item->size = kz_dtype_size(dtype);
			item->dtypes = is_struct ? 0 : dtype_bit(dtype);
			item->dtype = is_struct ? dtype : 0;
			out->dtypes |= item->dtypes;
		}
	}
	return KZ_OK;
}

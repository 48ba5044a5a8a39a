/* SPDX-License-Identifier: MIT */
/*
 * The names of kernels and functions as the source has them: "ns::scale<float>" for
 * "_ZN2ns5scaleIfEEvPT_".  Kernels are functions at namespace scope, so a little of the C++ ABI is
 * enough.
 */
#include "base/common.h"

#include "cpu/ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Add the next part of a mangled name, <length><text>.  Returns what follows it, NULL if it is not
 * one. */
static const char *name_add_part(char *out, size_t size, const char *part)
{
	const char *digits = part + (*part == 'L'); /* static */
	char *text;
	size_t len = strlen(out);
	unsigned long count = strtoul(digits, &text, 10);
	if (*digits < '1' || *digits > '9' || count > strlen(text) || count + len + 32 > size) {
		return NULL;
	}
	bool unnamed = strncmp(text, "_GLOBAL__N_", 11) == 0;
	snprintf(out + len, size - len, "%s%.*s", len > 0 ? "::" : "",
		unnamed ? 21 : (int)count, unnamed ? "(anonymous namespace)" : text);
	return text + count;
}

static const char *name_add_arguments(char *out, size_t size, const char *text);

static void name_append(char *out, size_t size, const char *text)
{
	const size_t len = strlen(out);
	snprintf(out + len, size - len, "%s", text);
}

/* "ns::scale" of the parts from `text` to what is not a part, which it returns. */
static const char *name_add_parts(char *out, size_t size, const char *text)
{
	while (text && *text != 'E' && *text != 'I') {
		text = name_add_part(out, size, text);
	}
	return text;
}

/* Add a type: builtin, a pointer to one, or with a name.  Returns as name_add_part. */
static const char *name_add_type(char *out, size_t size, const char *text)
{
	static const struct {
		char code;
		const char *text;
	} builtins[] = {
		{'b', "bool"}, {'c', "char"}, {'a', "signed char"}, {'h', "unsigned char"},
		{'s', "short"}, {'t', "unsigned short"}, {'i', "int"}, {'j', "unsigned int"},
		{'l', "long"}, {'m', "unsigned long"}, {'x', "long long"},
		{'y', "unsigned long long"}, {'f', "float"}, {'d', "double"}, {'v', "void"},
	};
	const size_t len = strlen(out);
	if (len + 32 > size) {
		return NULL;
	}
	if (*text == 'P') {
		text = text[1] != 'P' ? name_add_type(out, size, text + 1) : NULL;
		name_append(out, size, " *");
		return text;
	}
	if (*text == 'K') {
		name_append(out, size, "const ");
		return name_add_type(out, size, text + 1);
	}
	for (size_t i = 0; i < countof(builtins); i++) {
		if (*text == builtins[i].code) {
			name_append(out, size, builtins[i].text);
			return text + 1;
		}
	}
	const bool nested = *text == 'N';
	text = nested ? name_add_parts(out + len, size - len, text + 1)
		: name_add_part(out + len, size - len, text);
	if (text && *text == 'I') {
		text = name_add_arguments(out, size, text);
	}
	return text && nested ? *text == 'E' ? text + 1 : NULL : text;
}

/* Add a number or a truth value: "Li4E", "Lin4E", "Lb1E". */
static const char *name_add_literal(char *out, size_t size, const char *text)
{
	const size_t len = strlen(out);
	const char type = text[1];
	const char *digits = text + 2;
	const bool negative = type != '\0' && *digits == 'n';
	digits += negative;
	const size_t count = type != '\0' && strchr("bcahstijlmxy", type)
		? strspn(digits, "0123456789") : 0;
	if (count == 0 || digits[count] != 'E' || len + count + 8 > size) {
		return NULL;
	}
	if (type == 'b') {
		name_append(out, size, *digits == '0' ? "false" : "true");
	} else {
		snprintf(out + len, size - len, "%s%.*s", negative ? "-" : "", (int)count, digits);
	}
	return digits + count + 1;
}

/* Add "<float, 4>" for "IfLi4EE".  Substitutions, expressions,
 * packs and pointers to pointers are not read. */
static const char *name_add_arguments(char *out, size_t size, const char *text)
{
	const char *next = text + 1;
	while (next && *next != 'E') {
		if (strlen(out) + 32 > size) {
			return NULL;
		}
		name_append(out, size, next == text + 1 ? "<" : ", ");
		next = *next == 'L' ? name_add_literal(out, size, next)
			: name_add_type(out, size, next);
	}
	if (next == text + 1) {
		return NULL;
	}
	name_append(out, size, ">");
	return next ? next + 1 : NULL;
}

void ptx_write_name(char *out, size_t size, const char *symbol)
{
	const char *next = strncmp(symbol, "_Z", 2) == 0 ? symbol + 2 : NULL;
	const bool nested = next && *next == 'N';
	out[0] = '\0';
	if (next) {
		next = name_add_part(out, size, next + nested);
	}
	next = nested ? name_add_parts(out, size, next) : next;
	if (!next) {
		snprintf(out, size, "%s", symbol);
	} else if (*next == 'I') {
		const size_t len = strlen(out);
		next = name_add_arguments(out, size, next);
		if (!next || (nested && *next != 'E') || strlen(out) + 1 == size) {
			snprintf(out + len, size - len, "<...>");
		}
	}
}

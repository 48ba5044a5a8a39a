/* SPDX-License-Identifier: MIT */
/*
 * The names of functions and variables as the source has them: "ns::scale<float>" for
 * "_ZN2ns5scaleIfEEvPT_", and only "tile" for a variable of a kernel, "_ZZ6kernelPfE4tile".
 * Parameters are not written, so a little of the C++ ABI is enough.
 */
#include "base/common.h"

#include "cpu/ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void name_append(char *out, size_t size, const char *text)
{
	const size_t len = strlen(out);
	snprintf(out + len, size - len, "%s", text);
}

/* Add the name of an operator, "pl".  Returns as name_add_part. */
static const char *name_add_operator(char *out, size_t size, const char *part)
{
	static const char *const operators[][2] = {
		{"aS", "="}, {"aa", "&&"}, {"ad", "&"}, {"an", "&"}, {"cl", "()"}, {"co", "~"},
		{"dV", "/="}, {"de", "*"}, {"dv", "/"}, {"eo", "^"}, {"eq", "=="}, {"ge", ">="},
		{"gt", ">"}, {"ix", "[]"}, {"le", "<="}, {"ls", "<<"}, {"lt", "<"}, {"mI", "-="},
		{"mL", "*="}, {"mi", "-"}, {"ml", "*"}, {"mm", "--"}, {"ne", "!="}, {"ng", "-"},
		{"nt", "!"}, {"oo", "||"}, {"or", "|"}, {"pL", "+="}, {"pl", "+"}, {"pp", "++"},
		{"ps", "+"}, {"pt", "->"}, {"rm", "%"}, {"rs", ">>"},
	};
	for (size_t i = 0; i < countof(operators) && strlen(out) + 32 <= size; i++) {
		if (strncmp(part, operators[i][0], 2) == 0) {
			name_append(out, size, out[0] != '\0' ? "::operator" : "operator");
			name_append(out, size, operators[i][1]);
			return part + 2;
		}
	}
	return NULL;
}

/* Add the next part of a mangled name, <length><text> or an operator.  Returns what follows it,
 * NULL if it is not one. */
static const char *name_add_part(char *out, size_t size, const char *part)
{
	if (*part >= 'a' && *part <= 'z') {
		return name_add_operator(out, size, part);
	}
	const char *digits = part + (*part == 'L'); /* static */
	char *text;
	size_t len = strlen(out);
	unsigned long count = strtoul(digits, &text, 10);
	if (*digits < '1' || *digits > '9' || count > strlen(text) || count + len + 32 > size) {
		return NULL;
	}
	if (strncmp(text, "_INTERNAL_", 10) == 0) { // what nvcc puts around what one file can see
		return text + count;
	}
	bool unnamed = strncmp(text, "_GLOBAL__N_", 11) == 0;
	snprintf(out + len, size - len, "%s%.*s", len > 0 ? "::" : "",
		unnamed ? 21 : (int)count, unnamed ? "(anonymous namespace)" : text);
	return text + count;
}

static const char *name_add_arguments(char *out, size_t size, const char *text);

/* Add "ns::pair<float>::pair" for the parts of a name.  Returns the "E" after them, the "I" of
 * arguments that are not read, or NULL if a part is not read. */
static const char *name_add_parts(char *out, size_t size, const char *text)
{
	const char *last = text; /* the class, whose name a constructor has */
	do {
		const size_t len = strlen(out);
		const char *part = text;
		if (*part == 'C' && part > last) {
			text = part[1] != '\0' && name_add_part(out, size, last) ? part + 2 : NULL;
		} else if (*part == 'I' && part > last) {
			text = name_add_arguments(out, size, part);
			if (!text) {
				out[len] = '\0';
				return part;
			}
		} else {
			text = name_add_part(out, size, part);
			last = part;
		}
	} while (text && *text != 'E');
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
	if (nested) {
		return text && *text == 'E' ? text + 1 : NULL;
	}
	return text && *text == 'I' ? name_add_arguments(out, size, text) : text;
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

/* The name of a function's variable, and perhaps its number, which end the symbol: "4tile_1" of
 * "_ZZ6kernelPfE4tile_1".  NULL if it is not one. */
static const char *name_find_local(const char *symbol)
{
	for (const char *at = strchr(symbol, 'E'); at; at = strchr(at + 1, 'E')) {
		char *name;
		const unsigned long count = strtoul(at + 1, &name, 10);
		if (at[1] >= '1' && at[1] <= '9' && count <= strlen(name)
		    && name[count + strspn(name + count, "_0123456789")] == '\0') {
			return at + 1;
		}
	}
	return NULL;
}

void ptx_write_name(char *out, size_t size, const char *symbol)
{
	const char *next = strncmp(symbol, "_Z", 2) == 0 ? symbol + 2 : NULL;
	out[0] = '\0';
	if (next && *next == 'N') {
		next++;
		next = name_add_parts(out, size, next + strspn(next, "VKRO")); /* const */
	} else if (next) {
		next = *next == 'Z' ? name_find_local(next) : next;
		next = next ? name_add_part(out, size, next) : NULL;
	}
	if (!next) {
		snprintf(out, size, "%s", symbol);
	} else if (*next == 'I') {
		const size_t len = strlen(out);
		next = name_add_arguments(out, size, next);
		if (!next || strlen(out) + 1 == size) {
			snprintf(out + len, size - len, "<...>");
		}
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Hints: an error of the compiler -> what to do about it.
 *
 * hints.def is a list of rules, and the first that fits gives the hint.  A hint must be right or
 * absent: a rule that could fit another error is worse than none.
 */
#include "base/common.h"

#include "lib/rtc/hints.h"

#include "base/str.h"
#include "lib/rtc/cuda_headers.h"

#include <ctype.h>
#include <string.h>

struct rule {
	const char *message;
	const char *file;
	const char *word;
	const char *at;
	const char *before;
	/* The hint for what it finds: `hint` or its own; NULL: the rule does not fit. */
	const char *(*find)(const struct hint_error *error, const char *hint);
	const char *hint;
};

static bool hints_has(const char *text, size_t len, const char *part)
{
	return !part || (len > 0 && memmem(text, len, part, strlen(part)));
}

/* Whether a text has a part, which is not part of a longer word. */
static bool hints_has_word(const char *text, size_t len, const char *word)
{
	size_t word_len = word ? strlen(word) : 0;
	if (!word || !str_is_word(word[0])) {
		return hints_has(text, len, word);
	}
	for (size_t i = 0; i + word_len <= len; i++) {
		if (memcmp(text + i, word, word_len) == 0 && (i == 0 || !str_is_word(text[i - 1]))
		    && (i + word_len == len || !str_is_word(text[i + word_len]))) {
			return true;
		}
	}
	return false;
}

/* The first word in quotes of a message, else the one at the caret. */
static const char *hints_named_word(const struct hint_error *error, size_t *len)
{
	const char *quote = memchr(error->message, '"', error->message_len);
	const char *word = quote ? quote + 1 : error->line ? error->line + error->caret : "";
	size_t left = quote ? error->message_len - (size_t)(word - error->message)
		: error->caret < error->line_len ? error->line_len - error->caret : 0;
	*len = 0;
	while (*len < left && str_is_word(word[*len])) {
		(*len)++;
	}
	return word;
}

static bool hints_in_list(const char *const *list, size_t count, const char *word, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(list[i]) == len && memcmp(list[i], word, len) == 0) {
			return true;
		}
	}
	return false;
}

/* Headers of the C++ library that people include. */
static const char *hints_find_standard_header(const struct hint_error *error, const char *hint)
{
	static const char *const names[] = {
		"algorithm", "any", "array", "atomic", "bit", "bitset", "cassert", "cctype",
		"cerrno", "cfloat", "chrono", "cinttypes", "climits", "cmath", "complex",
		"concepts", "cstdarg", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring",
		"ctime", "deque", "exception", "fstream", "functional", "initializer_list",
		"iomanip", "ios", "iostream", "iterator", "limits", "list", "map", "memory",
		"mutex", "new", "numbers", "numeric", "optional", "ostream", "queue", "random",
		"ratio", "set", "span", "sstream", "stack", "stdexcept", "string", "string_view",
		"thread", "tuple", "type_traits", "typeinfo", "unordered_map", "unordered_set",
		"utility", "variant", "vector",
	};
	size_t len;
	const char *name = hints_named_word(error, &len);
	return hints_in_list(names, countof(names), name, len) ? hint : NULL;
}

/* A header that CUDA's folders should have. */
static const char *hints_find_cuda_header(const struct hint_error *error, const char *hint)
{
	const char *quote = memchr(error->message, '"', error->message_len);
	const char *name = quote ? quote + 1 : "";
	size_t left = quote ? error->message_len - (size_t)(name - error->message) : 0;
	const char *end = memchr(name, '"', left);
	enum cuda_part part = cuda_part_of(name, end ? (size_t)(end - name) : left);
	if (part == CUDA_PART_COUNT && (left < 2 || memcmp(name, "cu", 2) != 0)) {
		return NULL;
	}
	if (part < CUDA_PART_COUNT && !(error->cuda_parts >> part & 1)) {
		return cuda_parts[part].hint;
	}
	return error->cuda_parts ? "CUDA's headers were found, but not this file: check its name; "
		"it may belong to another version of CUDA" : hint;
}

/* A word of CUDA that has a letter too many, too few or in the wrong case. */
static const char *hints_find_spelling(const struct hint_error *error, const char *hint)
{
#define WORD(word) {word, "did you mean '" word "'?"}
	static const struct {
		const char *word;
		const char *hint;
	} words[] = {
		WORD("threadIdx"), WORD("blockIdx"), WORD("blockDim"), WORD("gridDim"),
		WORD("warpSize"), WORD("__global__"), WORD("__device__"), WORD("__constant__"),
		WORD("__shared__"), WORD("__managed__"), WORD("__restrict__"),
		WORD("__launch_bounds__"), WORD("__syncthreads"), WORD("__syncwarp"),
		WORD("__threadfence"), WORD("__shfl_sync"), WORD("__shfl_down_sync"),
		WORD("__shfl_up_sync"), WORD("__shfl_xor_sync"), WORD("__ballot_sync"),
		WORD("__activemask"), WORD("atomicAdd"), WORD("atomicSub"), WORD("atomicMin"),
		WORD("atomicMax"), WORD("atomicCAS"), WORD("atomicExch"),
	};
#undef WORD
	size_t len;
	const char *name = hints_named_word(error, &len);
	size_t best = 3;
	for (size_t i = 0; i < countof(words) && len >= 6; i++) {
		size_t word_len = strlen(words[i].word);
		bool same = word_len == len && strncasecmp(words[i].word, name, len) == 0;
		size_t distance = same ? 0 : str_distance(name, len, words[i].word, word_len);
		if (distance < best) {
			best = distance;
			hint = words[i].hint;
		}
	}
	return hint;
}

/* A keyword of C++ that C has not, at the caret or right before it. */
static const char *hints_find_keyword(const struct hint_error *error, const char *hint)
{
	static const char *const words[] = {
		"and", "catch", "class", "delete", "explicit", "export", "friend", "mutable",
		"namespace", "new", "not", "operator", "or", "private", "protected", "public",
		"template", "this", "throw", "try", "typename", "using", "virtual", "xor",
	};
	size_t start = error->caret < error->line_len ? error->caret : error->line_len;
	size_t end = start;
	while (end < error->line_len && str_is_word(error->line[end])) {
		end++;
	}
	if (end == start) {
		while (end > 0 && isspace((unsigned char)error->line[end - 1])) {
			end--;
		}
		start = end;
	}
	while (start > 0 && str_is_word(error->line[start - 1])) {
		start--;
	}
	return end > start && hints_in_list(words, countof(words), error->line + start, end - start)
		? hint : NULL;
}

/* float4 among the types of the operands. */
static const char *hints_find_vector_type(const struct hint_error *error, const char *hint)
{
	static const char *const names[] = {"char", "short", "int", "long", "longlong", "float",
		"double"};
	for (size_t i = 0; i < countof(names); i++) {
		for (int width = '2'; width <= '4'; width++) {
			char type[16];
			size_t len = strlen(names[i]);
			memcpy(type, names[i], len);
			type[len] = (char)width;
			type[len + 1] = '\0';
			if (hints_has_word(error->message, error->message_len, type)) {
				return hint;
			}
		}
	}
	return NULL;
}

/* A name as macros have: in capitals. */
static const char *hints_find_macro(const struct hint_error *error, const char *hint)
{
	size_t len, capitals = 0;
	const char *name = hints_named_word(error, &len);
	for (size_t i = 0; i < len; i++) {
		if (islower((unsigned char)name[i])) {
			return NULL;
		}
		capitals += isupper((unsigned char)name[i]) != 0;
	}
	return capitals > 0 ? hint : NULL;
}

/* threadIdx without .x in the line. */
static const char *hints_find_whole_index(const struct hint_error *error, const char *hint)
{
	static const char *const names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
	for (size_t k = 0; k < countof(names); k++) {
		size_t len = strlen(names[k]);
		for (size_t i = 0; i + len <= error->line_len; i++) {
			char after = i + len < error->line_len ? error->line[i + len] : ';';
			if (memcmp(error->line + i, names[k], len) == 0 && !str_is_word(after)
			    && after != '.' && (i == 0 || !str_is_word(error->line[i - 1]))) {
				return hint;
			}
		}
	}
	return NULL;
}

/* What is at the caret is not ASCII. */
static const char *hints_find_foreign(const struct hint_error *error, const char *hint)
{
	return error->caret < error->line_len && (unsigned char)error->line[error->caret] >= 0x80
		? hint : NULL;
}

/* The error is at the beginning of a line, or after words such as __global__. */
static const char *hints_find_start(const struct hint_error *error, const char *hint)
{
	size_t i = 0;
	while (i < error->caret && i < error->line_len) {
		if (isspace((unsigned char)error->line[i])) {
			i++;
		} else if (error->line_len - i > 2 && memcmp(error->line + i, "__", 2) == 0) {
			while (i < error->line_len && str_is_word(error->line[i])) {
				i++;
			}
		} else {
			return NULL;
		}
	}
	return error->line_len > 0 ? hint : NULL;
}

static const struct rule rules[] = {
#include "lib/rtc/hints.def"
};

/* Whether what is at the caret, and before it, is what a rule asks for. */
static bool hints_fits_caret(const struct rule *rule, const struct hint_error *error)
{
	size_t at = error->caret;
	if (rule->at) {
		size_t len = strlen(rule->at);
		if (at >= error->line_len || error->line_len - at < len
		    || memcmp(error->line + at, rule->at, len) != 0) {
			return false;
		}
	}
	if (!rule->before) {
		return true;
	}
	while (at > 0 && at <= error->line_len && isspace((unsigned char)error->line[at - 1])) {
		at--;
	}
	return at > 0 && at <= error->line_len && strchr(rule->before, error->line[at - 1]);
}

const char *hints_find(const struct hint_error *error)
{
	for (size_t i = 0; i < countof(rules); i++) {
		const struct rule *rule = &rules[i];
		if (!hints_has(error->message, error->message_len, rule->message)
		    || !hints_has(error->file, error->file_len, rule->file)
		    || !hints_has_word(error->line, error->line_len, rule->word)
		    || !hints_fits_caret(rule, error)) {
			continue;
		}
		const char *hint = rule->find ? rule->find(error, rule->hint) : rule->hint;
		if (hint) {
			return hint;
		}
	}
	return NULL;
}

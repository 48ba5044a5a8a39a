/* SPDX-License-Identifier: MIT */
#ifndef BASE_STR_H
#define BASE_STR_H

/*
 * A growing string, zero-terminated once something was added.  When memory runs out it sets
 * `failed` and ignores what follows, so callers add as often as they like and look at `failed`
 * once.
 */
#include "base/common.h"

#include <stdarg.h>

struct str {
	char *data;
	size_t len;
	size_t cap;
	bool failed;
};

#define STR_INIT                                                                                   \
	{                                                                                          \
		NULL, 0, 0, false                                                                  \
	}

void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t len);
void str_addc(struct str *s, char c);
void str_addi(struct str *s, int64_t number); /* in decimal, faster than str_addf */
void str_addf(struct str *s, const char *format, ...) printf_like(2, 3);
void str_addv(struct str *s, const char *format, va_list args) printf_like(2, 0);
void str_add_json(struct str *s, const char *text); /* as a string of JSON, in quotes */
/* snprintf, with numbers as in the C locale, whatever the program's is. */
int str_format(char *out, size_t size, const char *format, ...) printf_like(3, 4);
int str_formatv(char *out, size_t size, const char *format, va_list args) printf_like(3, 0);
/* strtod, likewise. */
double str_number(const char *text, char **end);
/* The same for what users write: false unless the text begins with a digit or a point, for
 * strtod takes blanks, signs and names. */
bool str_plain_number(double *out, const char *text, const char **end);
/* A number of bytes as users write it, "512" or "1.5G": K, M, G and T, of either case, are
 * powers of 1024.  False for other text, and for less than 1 or more than 2^62. */
bool str_size(int64_t *out, const char *text);
/* Copy what fits into `size` bytes, which end with a zero; "" if memory ran out.  0: nothing. */
void str_copy(char *out, size_t size, const struct str *s);
void str_clear(struct str *s); /* empties it, keeps the memory */
void str_free(struct str *s);

/* Whether an identifier can have this character after its first one: ASCII letters, digits and the
 * underscore, in every locale.  NVRTC takes no others. */
static inline bool str_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
		|| c == '_';
}

/* Hand the text to the caller, who frees it with mem_free; NULL when memory ran out.  An empty
 * string gives "".  Afterwards the string is as new. */
char *str_take(struct str *s);

/* The fewest letters to add, drop or change to make one word of another (Levenshtein). */
size_t str_distance(const char *a, size_t a_len, const char *b, size_t b_len);

#endif

/* SPDX-License-Identifier: MIT */
/* A growing string.  One byte beyond len is always kept for the terminating zero. */
#include "base/str.h"

#include "base/alloc.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Double the memory, or take an eighth more than a long text needs, whichever is more.  It is
 * not inlined, because most text fits. */
__attribute__((noinline)) static bool str_grow(struct str *s, size_t need)
{
	size_t cap, twice;
	if (!size_add(&cap, need, need / 8) || !size_mul(&twice, s->cap, 2)) {
		cap = twice = need;
	}
	cap = twice > cap ? twice : cap;
	cap = cap > 64 ? cap : 64;
	char *data = mem_realloc(s->data, cap);
	if (!data) {
		s->failed = true;
		return false;
	}
	s->data = data;
	s->cap = cap;
	mem_expect(data + s->len, need - s->len);
	return true;
}

/* Make room for `more` bytes and the zero. */
static bool str_reserve(struct str *s, size_t more)
{
	size_t need;
	if (s->failed || !size_add(&need, s->len, more) || !size_add(&need, need, 1)) {
		s->failed = true;
		return false;
	}
	return need <= s->cap || str_grow(s, need);
}

void str_addn(struct str *s, const char *text, size_t len)
{
	if (str_reserve(s, len)) {
		if (len > 0) {
			memcpy(s->data + s->len, text, len);
		}
		s->len += len;
		s->data[s->len] = '\0';
	}
}

void str_add(struct str *s, const char *text)
{
	str_addn(s, text, strlen(text));
}

void str_addc(struct str *s, char c)
{
	str_addn(s, &c, 1);
}

void str_addf(struct str *s, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	str_addv(s, format, args);
	va_end(args);
}

/* Format into the memory that there is, and once more if the text did not fit. */
void str_addv(struct str *s, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	size_t room = s->failed ? 0 : s->cap - s->len;
	int len = str_formatv(room > 0 ? s->data + s->len : NULL, room, format, args);
	bool fits = len >= 0 && (size_t)len < room;
	if (len < 0) {
		s->failed = true;
	} else if (!fits && str_reserve(s, (size_t)len)) {
		str_formatv(s->data + s->len, (size_t)len + 1, format, again);
		fits = true;
	}
	if (fits) {
		s->len += (size_t)len;
	} else if (room > 0) {
		s->data[s->len] = '\0';
	}
	va_end(again);
}

void str_addi(struct str *s, int64_t number)
{
	char digits[24];
	char *at = digits + sizeof(digits);
	uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
	do {
		*--at = (char)('0' + left % 10);
		left /= 10;
	} while (left > 0);
	if (number < 0) {
		*--at = '-';
	}
	str_addn(s, at, (size_t)(digits + sizeof(digits) - at));
}

/* In glibc newlocale never fails for "C".  Where it does, the program's locale stays. */
struct locales {
	locale_t c;
	locale_t before;
};

static struct locales str_enter_locale(void)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	return (struct locales){c, c ? uselocale(c) : (locale_t)0};
}

static void str_leave_locale(struct locales locales)
{
	if (locales.c) {
		uselocale(locales.before);
		freelocale(locales.c);
	}
}

int str_formatv(char *out, size_t size, const char *format, va_list args)
{
	struct locales locales = str_enter_locale();
	int len = vsnprintf(out, size, format, args);
	str_leave_locale(locales);
	return len;
}

void str_add_json(struct str *s, const char *text)
{
	str_addc(s, '"');
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\') {
			str_addc(s, '\\');
			str_addc(s, *text);
		} else if (c < ' ') {
			str_addf(s, "\\u%04x", c);
		} else {
			str_addc(s, *text);
		}
	}
	str_addc(s, '"');
}

int str_format(char *out, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = str_formatv(out, size, format, args);
	va_end(args);
	return len;
}

double str_number(const char *text, char **end)
{
	struct locales locales = str_enter_locale();
	double number = strtod(text, end);
	str_leave_locale(locales);
	return number;
}

bool str_plain_number(double *out, const char *text, const char **end)
{
	char *rest;
	if (!isdigit((unsigned char)*text) && *text != '.') {
		return false;
	}
	*out = str_number(text, &rest);
	*end = rest;
	return rest != text;
}

bool str_size(int64_t *out, const char *text)
{
	static const char units[] = "KMGT";
	double number;
	const char *end;
	if (!str_plain_number(&number, text, &end)) {
		return false;
	}
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		number = ldexp(number, 10 * (int)(unit - units + 1));
		end++;
	}
	if (*end || !(number >= 1 && number < 0x1p62)) {
		return false;
	}
	*out = (int64_t)number;
	return true;
}

void str_copy(char *out, size_t size, const struct str *s)
{
	size_t len = s->failed ? 0 : s->len;
	if (size > 0) {
		len = len < size ? len : size - 1;
		memcpy(out, s->data ? s->data : "", len);
		out[len] = '\0';
	}
}

void str_clear(struct str *s)
{
	s->len = 0;
	s->failed = false;
	if (s->data) {
		s->data[0] = '\0';
	}
}

void str_free(struct str *s)
{
	mem_free(s->data);
	*s = (struct str)STR_INIT;
}

char *str_take(struct str *s)
{
	str_addn(s, "", 0);
	char *text = s->data;
	if (s->failed) {
		mem_free(text);
		text = NULL;
	}
	*s = (struct str)STR_INIT;
	return text;
}

#define NEAR_MAX 128 /* longer words are compared by their beginning */

/* The table of the algorithm of Wagner and Fischer, of which one row is kept. */
size_t str_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[NEAR_MAX + 1];
	a_len = a_len < NEAR_MAX ? a_len : NEAR_MAX;
	b_len = b_len < NEAR_MAX ? b_len : NEAR_MAX;
	for (size_t k = 0; k <= b_len; k++) {
		row[k] = k;
	}
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t k = 1; k <= b_len; k++) {
			size_t best = diagonal + (a[i - 1] != b[k - 1]);
			size_t step = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
			diagonal = row[k];
			row[k] = best < step ? best : step;
		}
	}
	return row[b_len];
}

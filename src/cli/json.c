/* SPDX-License-Identifier: MIT */
/*
 * Reads JSON into a tree by recursive descent, and decodes strings in place.  Our own files have
 * only whole numbers that are not negative; of other numbers the whole part is taken.
 */
#include "cli/json.h"

#include <stdlib.h>
#include <string.h>

enum { JSON_DEEPEST = 64 };

struct json_reader {
	char *at;
	unsigned depth;
	bool failed;
};

static void json_skip_blanks(struct json_reader *r)
{
	r->at += strspn(r->at, " \t\r\n");
}

static bool json_take(struct json_reader *r, const char *word)
{
	const size_t len = strlen(word);
	json_skip_blanks(r);
	if (strncmp(r->at, word, len) != 0) {
		return false;
	}
	r->at += len;
	return true;
}

/* \u0041, of which our files have those below U+0080 only; others become a question mark. */
static char json_take_code(struct json_reader *r)
{
	char digits[5] = {0};
	memcpy(digits, r->at, strnlen(r->at, 4));
	r->at += strlen(digits);
	const unsigned long code = strtoul(digits, NULL, 16);
	return code > 0 && code < 0x80 ? (char)code : '?';
}

static char json_take_escape(struct json_reader *r)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	const char c = *r->at;
	if (c == '\0') {
		r->failed = true;
		return '?';
	}
	r->at++;
	const char *known = strchr(from, c);
	return c == 'u' ? json_take_code(r) : known ? to[known - from] : c;
}

/* After the quotation mark. */
static char *json_take_text(struct json_reader *r)
{
	char *text = r->at, *end = r->at;
	while (*r->at && *r->at != '"') {
		const char c = *r->at++;
		*end++ = c == '\\' ? json_take_escape(r) : c;
	}
	r->failed |= *r->at != '"';
	r->at += *r->at == '"';
	*end = '\0';
	return text;
}

static struct json *json_take_value(struct json_reader *r);

/* After the bracket. */
static void json_take_list(struct json_reader *r, struct json *list, const char *close)
{
	struct json **link = &list->first;
	if (json_take(r, close)) {
		return;
	}
	do {
		char *name = NULL;
		if (list->kind == JSON_OBJECT) {
			r->failed |= !json_take(r, "\"");
			name = r->failed ? NULL : json_take_text(r);
			r->failed |= !json_take(r, ":");
		}
		*link = r->failed ? NULL : json_take_value(r);
		if (!*link) {
			r->failed = true;
			return;
		}
		(*link)->name = name;
		link = &(*link)->next;
		list->count++;
	} while (json_take(r, ","));
	r->failed |= !json_take(r, close);
}

static struct json *json_take_value(struct json_reader *r)
{
	struct json *value = calloc(1, sizeof(*value));
	r->failed |= !value || ++r->depth > JSON_DEEPEST;
	if (r->failed) {
		free(value);
		return NULL;
	}
	if (json_take(r, "{")) {
		value->kind = JSON_OBJECT;
		json_take_list(r, value, "}");
	} else if (json_take(r, "[")) {
		value->kind = JSON_ARRAY;
		json_take_list(r, value, "]");
	} else if (json_take(r, "\"")) {
		value->kind = JSON_STRING;
		value->text = json_take_text(r);
	} else if (json_take(r, "true") || json_take(r, "false")) {
		value->kind = JSON_BOOL;
		value->number = r->at[-2] == 'u';
	} else if (!json_take(r, "null")) {
		const size_t len = strspn(r->at, "+-.0123456789eE");
		value->kind = JSON_NUMBER;
		value->number = strtoull(r->at, NULL, 10);
		r->failed |= len == 0;
		r->at += len;
	}
	r->depth--;
	return value;
}

struct json *json_parse(char *text)
{
	struct json_reader r = {.at = text};
	struct json *value = json_take_value(&r);
	json_skip_blanks(&r);
	if (r.failed || *r.at) {
		json_free(value);
		value = NULL;
	}
	return value;
}

void json_free(struct json *value)
{
	while (value) {
		struct json *next = value->next;
		json_free(value->first);
		free(value);
		value = next;
	}
}

const struct json *json_member(const struct json *object, const char *name, enum json_kind kind)
{
	const struct json *at = object->kind == JSON_OBJECT ? object->first : NULL;
	while (at && (at->kind != kind || strcmp(at->name, name) != 0)) {
		at = at->next;
	}
	return at;
}

uint64_t json_number(const struct json *object, const char *name)
{
	const struct json *found = json_member(object, name, JSON_NUMBER);
	return found ? found->number : 0;
}

const char *json_text(const struct json *object, const char *name)
{
	const struct json *found = json_member(object, name, JSON_STRING);
	return found ? found->text : "";
}

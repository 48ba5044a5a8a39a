/* SPDX-License-Identifier: MIT */
#ifndef CLI_JSON_H
#define CLI_JSON_H

/* Reads JSON into a tree. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_kind kind;
	char *name;           /* of a member, else NULL */
	char *text;           /* of a string */
	uint64_t number;      /* a number that is whole and not negative; 1: true */
	struct json *first;   /* elements or members */
	struct json *next;
	size_t count;
};

/* NULL: it is not JSON, or memory ran out.  The text is changed, and holds the strings. */
struct json *json_parse(char *text);
void json_free(struct json *value);
/* A member of an object; NULL: the object has no member of this name and kind. */
const struct json *json_member(const struct json *object, const char *name, enum json_kind kind);
/* A number of an object, and a string; 0 and "" if the object does not have it. */
uint64_t json_number(const struct json *object, const char *name);
const char *json_text(const struct json *object, const char *name);

#endif

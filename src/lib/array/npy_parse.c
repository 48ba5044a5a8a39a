/* SPDX-License-Identifier: MIT */
/*
 * The header of a .npy file.
 *
 * After a magic number, a version and a length comes the text of a Python dict with three keys:
 *
 *	{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *
 * A descr that is a list describes a struct, field by field.  The parser is a recursive descent
 * over bytes that anyone may have written: it checks every number for overflow, and accepts no
 * extent that the file's size does not allow.
 */
#include "base/common.h"

#include "lib/array/npy.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 16, EXTENTS_SEEN = 1000 };

struct npy_parser {
	const char *begin;
	const char *at;
	const char *end;
	const char *name; /* of the file */
	int depth;
	kz_error *err;
};

/* An element type. */
struct type {
	char kind;
	int64_t size;
	bool swapped;
};

static kz_status npy_damaged(const struct npy_parser *p, const char *expected)
{
	return error_set(p->err, KZ_INVALID, "%s: damaged header: expected %s at its byte %lld",
		p->name, expected, (long long)(p->at - p->begin));
}

static void npy_skip_space(struct npy_parser *p)
{
	while (p->at < p->end && strchr(" \t\r\n", *p->at) && *p->at) {
		p->at++;
	}
}

/* The next character but space, 0 at the end. */
static char npy_peek(struct npy_parser *p)
{
	npy_skip_space(p);
	return p->at < p->end ? *p->at : '\0';
}

static bool npy_accept(struct npy_parser *p, char c)
{
	if (npy_peek(p) != c || c == '\0') {
		return false;
	}
	p->at++;
	return true;
}

static kz_status npy_expect(struct npy_parser *p, char c)
{
	const char text[] = {'\'', c, '\'', '\0'};
	return npy_accept(p, c) ? KZ_OK : npy_damaged(p, text);
}

static kz_status parse_string(struct npy_parser *p, const char **text, size_t *len)
{
	char quote = npy_peek(p);
	*text = NULL;
	*len = 0;
	if (quote != '\'' && quote != '"') {
		return npy_damaged(p, "a string");
	}
	*text = ++p->at;
	while (p->at < p->end && *p->at != quote) {
		p->at += *p->at == '\\' && p->end - p->at > 1 ? 2 : 1;
	}
	if (p->at >= p->end) {
		return npy_damaged(p, "the end of a string");
	}
	*len = (size_t)(p->at++ - *text);
	return KZ_OK;
}

static bool npy_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static kz_status npy_parse_number(struct npy_parser *p, int64_t *out)
{
	*out = 0;
	if (!npy_is_digit(npy_peek(p))) {
		return npy_damaged(p, "a number from 0");
	}
	for (; p->at < p->end && npy_is_digit(*p->at); p->at++) {
		if (!size64_mul(out, *out, 10) || !size64_add(out, *out, *p->at - '0')) {
			return npy_damaged(p, "a number that fits in 64 bits");
		}
	}
	if (p->at < p->end && *p->at == 'L') { /* Python 2 */
		p->at++;
	}
	return KZ_OK;
}

/* (2, 3) or, in a field, a number alone.  ndim counts extents that there is no room for, too. */
static kz_status parse_shape(struct npy_parser *p, kz_shape *shape)
{
	kz_status st;
	*shape = (kz_shape){0, {0}};
	if (npy_is_digit(npy_peek(p))) {
		shape->ndim = 1;
		return npy_parse_number(p, &shape->dims[0]);
	}
	if ((st = npy_expect(p, '('))) {
		return st;
	}
	while (!npy_accept(p, ')')) {
		int64_t extent;
		if ((st = npy_parse_number(p, &extent))) {
			return st;
		}
		if (shape->ndim < KZ_MAX_DIMS) {
			shape->dims[shape->ndim] = extent;
		}
		if (++shape->ndim > EXTENTS_SEEN) {
			return npy_damaged(p, "the end of a shape");
		}
		if (!npy_accept(p, ',')) {
			return npy_expect(p, ')');
		}
	}
	return KZ_OK;
}

/* '<f4', '|b1', '>i8', '|V12', 'f8'; anything else is of kind '?'. */
static struct type npy_parse_type(const char *text, size_t len)
{
	struct type type = {'?', 0, false};
	size_t at = len > 0 && strchr("<>|=", text[0]) && text[0] ? 1 : 0;
	bool big = at && text[0] == '>';
	if (len < at + 2 || len > at + 10) {
		return type;
	}
	for (size_t i = at + 1; i < len; i++) {
		if (!npy_is_digit(text[i])) {
			return (struct type){'?', 0, false};
		}
		type.size = type.size * 10 + (text[i] - '0');
	}
	type.kind = strchr("biufcV", text[at]) && text[at] ? text[at] : '?';
	type.swapped = big && type.size > 1 && type.kind != 'V';
	return type;
}

static kz_status parse_type(struct npy_parser *p, struct type *out);

/* ('x', '<f4') or ('x', '<f4', (2, 2)); the name may be a pair, of a title and a name. */
static kz_status parse_field(struct npy_parser *p, struct type *out)
{
	kz_shape shape = {0, {0}};
	const char *text;
	size_t len;
	kz_status st = npy_expect(p, '(');
	if (st) {
		return st;
	}
	bool pair = npy_accept(p, '(');
	if ((st = parse_string(p, &text, &len))
	    || (pair && ((st = npy_expect(p, ',')) || (st = parse_string(p, &text, &len))
		    || (st = npy_expect(p, ')'))))
	    || (st = npy_expect(p, ',')) || (st = parse_type(p, out))) {
		return st;
	}
	if (npy_accept(p, ',') && npy_peek(p) != ')' && (st = parse_shape(p, &shape))) {
		return st;
	}
	(void)npy_accept(p, ',');
	for (int64_t i = 0; i < shape.ndim; i++) {
		if (i >= KZ_MAX_DIMS || !size64_mul(&out->size, out->size, shape.dims[i])) {
			return npy_damaged(p, "a field of less than 2^63 bytes");
		}
	}
	return npy_expect(p, ')');
}

/* A list of fields.  What has a part of an unknown kind is unknown, too. */
static kz_status parse_struct(struct npy_parser *p, struct type *out)
{
	kz_status st = npy_expect(p, '[');
	*out = (struct type){'V', 0, false};
	while (!st && !npy_accept(p, ']')) {
		struct type field;
		if ((st = parse_field(p, &field))) {
			return st;
		}
		if (!size64_add(&out->size, out->size, field.size)) {
			return npy_damaged(p, "a struct of less than 2^63 bytes");
		}
		out->kind = field.kind == '?' ? '?' : out->kind;
		out->swapped |= field.swapped;
		if (!npy_accept(p, ',')) {
			return npy_expect(p, ']');
		}
	}
	return st;
}

static kz_status parse_type(struct npy_parser *p, struct type *out)
{
	const char *text;
	size_t len;
	kz_status st;
	*out = (struct type){'?', 0, false};
	if (npy_peek(p) != '[') {
		if (!(st = parse_string(p, &text, &len))) {
			*out = npy_parse_type(text, len);
		}
		return st;
	}
	if (++p->depth > DEPTH_MAX) {
		return npy_damaged(p, "structs that are nested less deeply");
	}
	st = parse_struct(p, out);
	p->depth--;
	return st;
}

static kz_status parse_bool(struct npy_parser *p, bool *out)
{
	size_t left = (npy_peek(p), (size_t)(p->end - p->at));
	*out = left >= 4 && memcmp(p->at, "True", 4) == 0;
	if (!*out && (left < 5 || memcmp(p->at, "False", 5) != 0)) {
		return npy_damaged(p, "True or False");
	}
	p->at += *out ? 4 : 5;
	return KZ_OK;
}

/* The text of a type, for messages. */
static void npy_quote_type(struct npy *npy, const char *from, const char *to)
{
	size_t len = (size_t)(to - from), room = sizeof(npy->type) - 1;
	memcpy(npy->type, from, len < room ? len : room);
	npy->type[len < room ? len : room] = '\0';
	if (len > room) {
		strcpy(npy->type + room - 3, "...");
	}
	for (char *c = npy->type; *c; c++) {
		*c = *c >= ' ' && *c <= '~' ? *c : '?'; /* a message is one line of UTF-8 */
	}
}

enum { KEY_TYPE = 1, KEY_ORDER = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

static int npy_parse_key(const char *text, size_t len)
{
	static const char *const keys[] = {"descr", "fortran_order", "shape"};
	for (int i = 0; i < 3; i++) {
		if (len == strlen(keys[i]) && memcmp(text, keys[i], len) == 0) {
			return 1 << i;
		}
	}
	return 0;
}

static kz_status parse_entry(struct npy_parser *p, struct npy *npy, int *seen)
{
	const char *text;
	size_t len;
	struct type type;
	kz_status st = parse_string(p, &text, &len);
	if (st) {
		return st;
	}
	int key = npy_parse_key(text, len);
	if (!key || (*seen & key)) {
		return npy_damaged(p, "the keys 'descr', 'fortran_order' and 'shape', once each");
	}
	*seen |= key;
	if ((st = npy_expect(p, ':'))) {
		return st;
	}
	if (key == KEY_ORDER) {
		return parse_bool(p, &npy->fortran);
	}
	if (key == KEY_SHAPE) {
		return npy_peek(p) == '(' ? parse_shape(p, &npy->shape) : npy_damaged(p, "'('");
	}
	(void)npy_peek(p);
	const char *from = p->at;
	if (!(st = parse_type(p, &type))) {
		npy_quote_type(npy, from, p->at);
		npy->kind = type.kind;
		npy->size = type.size;
		npy->swapped = type.swapped;
	}
	return st;
}

static kz_status parse_dict(struct npy_parser *p, struct npy *npy)
{
	int seen = 0;
	kz_status st = npy_expect(p, '{');
	while (!st && !npy_accept(p, '}')) {
		if (!(st = parse_entry(p, npy, &seen)) && !npy_accept(p, ',')) {
			st = npy_expect(p, '}');
			break;
		}
	}
	if (!st && npy_peek(p) != '\0') {
		st = npy_damaged(p, "nothing after the dict");
	}
	if (!st && seen != KEY_ALL) {
		st = npy_damaged(p, "the keys 'descr', 'fortran_order' and 'shape', once each");
	}
	return st;
}

/* Find the text of the header; false if the data has none, or is too short. */
static bool npy_find_text(const char *data, int64_t size, int64_t *begin, int64_t *end,
	int *version)
{
	const unsigned char *bytes = (const unsigned char *)data;
	if (size < NPY_HEAD || memcmp(data, "\x93NUMPY", 6) != 0) {
		return false;
	}
	*version = bytes[6];
	*begin = *version == 1 ? 10 : 12;
	*end = bytes[8] | bytes[9] << 8;
	if (*version != 1) {
		*end |= (int64_t)bytes[10] << 16 | (int64_t)bytes[11] << 24;
	}
	*end += *begin;
	return true;
}

int64_t npy_header_size(const char *head)
{
	int64_t begin, end;
	int version;
	return npy_find_text(head, NPY_HEAD, &begin, &end, &version) ? end : 0;
}

kz_status npy_parse(struct npy *out, const char *data, int64_t size, const char *name,
	kz_error *err)
{
	int64_t begin = 0, end = 0;
	int version = 0;
	*out = (struct npy){.name = name};
	if (!npy_find_text(data, size, &begin, &end, &version)) {
		return error_set(err, KZ_INVALID, "%s: expected a .npy file, got %lld bytes of "
			"something else", name, (long long)size);
	}
	if (version < 1 || version > 3) {
		return error_set(err, KZ_UNSUPPORTED,
			"%s: expected version 1, 2 or 3 of the .npy format, got %d", name, version);
	}
	if (end > size) {
		return error_set(err, KZ_INVALID, "%s: expected a header of %lld bytes, got %lld",
			name, (long long)(end - begin), (long long)(size - begin));
	}
	struct npy_parser p = {data + begin, data + begin, data + end, name, 0, err};
	kz_status st = parse_dict(&p, out);
	out->data = end;
	return st;
}

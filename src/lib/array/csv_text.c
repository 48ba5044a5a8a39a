/* SPDX-License-Identifier: MIT */
/*
 * CSV text as rows of fields (RFC 4180, and what programs write beside it).
 *
 * A row is read from a part of the text in one pass.  Where the part ends in the midst of it, the
 * reader goes back to its beginning and asks for more, so no state outlives a row.  Fields point
 * into the part.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/error.h"
#include "lib/array/csv.h"

#include <string.h>

enum { SHOWN = 40 }; /* bytes of a field in a message */

void csv_text_init(struct csv_text *text, const char *name, char delimiter, char comment)
{
	*text = (struct csv_text){.name = name, .delimiter = delimiter, .comment = comment,
		.line = 1};
	text->ends['\n'] = text->ends['\r'] = text->ends['\0'] = 1;
	text->ends[(unsigned char)delimiter] = 1;
	text->ends[(unsigned char)comment] = 1; // without comments it is 0 anyway
	text->ends['\t'] |= delimiter == ' ';
}

void csv_text_free(struct csv_text *text)
{
	mem_free(text->fields);
}

void csv_text_set(struct csv_text *text, const char *part, int64_t size, bool is_last)
{
	text->at = text->line_at = part;
	text->end = part + size;
	text->is_last = is_last;
}

/* Errors */

/* The beginning of a field; a message has no control characters, and is UTF-8. */
static void csv_show(char shown[SHOWN + 4], const char *text, int64_t len)
{
	int64_t end = len < SHOWN ? len : SHOWN;
	for (int64_t i = 0; i < end; i++) {
		shown[i] = text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?';
	}
	strcpy(shown + end, len > SHOWN ? "..." : "");
}

static int csv_number_of(const struct csv_text *text, const struct csv_field *field)
{
	return (int)(field - text->fields) + 1;
}

kz_status csv_refuse(const struct csv_text *text, const struct csv_field *field,
	const char *expected, kz_error *err)
{
	char shown[SHOWN + 4];
	const bool mine = error_is_clean(err);
	csv_show(shown, field->text, field->len);
	kz_status st = error_set(err, KZ_INVALID, "%s, line %lld: expected %s in column %d, got "
		"'%s'", text->name, (long long)field->line, expected, csv_number_of(text, field),
		shown);
	if (mine) {
		error_add_place(err, text->name, (int)field->line, (int)field->column);
	}
	return st;
}

/* Fail at a byte. */
static enum csv_result csv_fail(const struct csv_text *text, const char *at, const char *message,
	kz_error *err)
{
	const bool mine = error_is_clean(err);
	const int64_t column = at - text->line_at + 1;
	error_set(err, KZ_INVALID, "%s, line %lld: %s", text->name, (long long)text->line, message);
	if (mine) {
		error_add_place(err, text->name, (int)text->line, (int)column);
	}
	return CSV_FAILED;
}

/* Lines */

static bool csv_is_blank(const struct csv_text *text, char c)
{
	return c == ' ' || (c == '\t' && text->delimiter != '\t');
}

static void csv_skip_blanks(struct csv_text *text)
{
	while (text->at < text->end && csv_is_blank(text, *text->at)) {
		text->at++;
	}
}

/* Go on past the end of a line, at which the reader is. */
static enum csv_result csv_end_line(struct csv_text *text)
{
	if (text->at < text->end && *text->at == '\r') {
		text->at++;
		if (text->at == text->end && !text->is_last) {
			return CSV_MORE; // LF may follow
		}
	}
	if (text->at < text->end && *text->at == '\n') {
		text->at++;
	}
	text->line++;
	text->line_at = text->at;
	return CSV_ROW;
}

enum csv_result csv_skip_line(struct csv_text *text)
{
	const char *begin = text->at;
	while (text->at < text->end && *text->at != '\n' && *text->at != '\r') {
		text->at++;
	}
	if (text->at == text->end) {
		if (!text->is_last) {
			text->at = begin;
		}
		return text->is_last ? CSV_END : CSV_MORE;
	}
	if (csv_end_line(text) == CSV_MORE) {
		text->at = begin;
		return CSV_MORE;
	}
	return CSV_NONE;
}

/* Fields */

/* The last character of a quoted field is after its quote. */
static enum csv_result csv_read_quoted(struct csv_text *text, struct csv_field *field,
	kz_error *err)
{
	const char *at = text->at + 1;
	const char *const quote = text->at;
	int64_t lines = 0;
	const char *line_at = text->line_at;
	field->text = at;
	field->is_quoted = true;
	for (;; at++) {
		const char *next = at < text->end ? at + 1 : at;
		if (next == at || (*at == '"' && next == text->end && !text->is_last)) {
			return !text->is_last ? CSV_MORE : csv_fail(text, quote,
				"the quote that begins here does not end", err);
		}
		if (*at == '"' && (next == text->end || *next != '"')) {
			break;
		}
		if (*at == '\0') {
			return csv_fail(text, quote, "a field contains a zero byte", err);
		}
		if (*at == '"') {
			at++;
		} else if (*at == '\n' || (*at == '\r' && next < text->end && *next != '\n')) {
			lines++;
			line_at = next;
		}
	}
	field->len = at - field->text;
	text->at = at + 1;
	text->line += lines;
	text->line_at = line_at;
	return CSV_ROW;
}

static void csv_read_plain(struct csv_text *text, struct csv_field *field)
{
	const char *at = text->at;
	while (at < text->end && !text->ends[(unsigned char)*at]) {
		at++;
	}
	text->at = at;
	while (at > field->text && csv_is_blank(text, at[-1])) {
		at--;
	}
	field->len = at - field->text;
}

/* What follows a field: CSV_NONE if it is another one, CSV_ROW if it is the end of the row. */
static enum csv_result csv_end_field(struct csv_text *text, const struct csv_field *field,
	kz_error *err)
{
	csv_skip_blanks(text);
	if (text->at < text->end && text->comment && *text->at == text->comment) {
		while (text->at < text->end && *text->at != '\n' && *text->at != '\r') {
			text->at++;
		}
	}
	if (text->at == text->end) {
		return text->is_last ? CSV_ROW : CSV_MORE;
	}
	const char c = *text->at;
	if (c == '\n' || c == '\r') {
		return csv_end_line(text);
	}
	if (text->delimiter == ' ' && text->at > field->text + field->len + field->is_quoted) {
		return CSV_NONE;
	}
	if (c == text->delimiter) {
		text->at++;
		return CSV_NONE;
	}
	return csv_fail(text, text->at, c == '\0' ? "a field contains a zero byte"
		: "expected a delimiter after the quote that ends here", err);
}

static bool csv_make_room(struct csv_text *text)
{
	if (text->count < text->room) {
		return true;
	}
	const int64_t room = text->room ? 2 * text->room : 16;
	struct csv_field *fields = mem_realloc(text->fields, (size_t)room * sizeof(*fields));
	if (!fields) {
		return false;
	}
	text->fields = fields;
	text->room = room;
	return true;
}

static enum csv_result csv_read_row(struct csv_text *text, kz_error *err)
{
	enum csv_result result = CSV_NONE;
	while (result == CSV_NONE) {
		if (!csv_make_room(text)) {
			return CSV_NO_ROOM;
		}
		struct csv_field *field = &text->fields[text->count++];
		csv_skip_blanks(text);
		*field = (struct csv_field){text->at, 0, text->line, text->at - text->line_at + 1,
			false};
		if (text->at < text->end && *text->at == '"') {
			result = csv_read_quoted(text, field, err);
		} else {
			csv_read_plain(text, field);
			result = CSV_ROW;
		}
		result = result == CSV_ROW ? csv_end_field(text, field, err) : result;
	}
	return result;
}

enum csv_result csv_next_row(struct csv_text *text, kz_error *err)
{
	const char *const begin = text->at;
	text->count = 0;
	text->begin_line = text->line;
	if (text->at == text->end && text->is_last) {
		return CSV_END;
	}
	enum csv_result result = csv_read_row(text, err);
	if (result == CSV_MORE) {
		text->at = text->line_at = begin;
		text->line = text->begin_line;
	}
	const bool is_empty = text->count == 1 && text->fields[0].len == 0
		&& !text->fields[0].is_quoted;
	return result == CSV_ROW && is_empty ? CSV_NONE : result;
}

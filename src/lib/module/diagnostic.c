/* SPDX-License-Identifier: MIT */
/*
 * A rendered log -> a list of diagnostics.
 *
 * This reads what lib/rtc/diag.c writes, which looks as gcc's does.  So errors, images and the
 * cache have to keep the log only.  A line that is not indented begins a diagnostic:
 *
 *	k.cu:4:5: error: no instance of function template "f" matches the argument list [#304-D]
 *	            argument types are: (int, int)
 *	      f(1, 2);
 *	      ^
 *
 * The line above a caret, less two blanks, is the excerpt.  All other lines are details.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "lib/core/object.h"
#include "lib/rtc/hints.h"

#include <kudzu/diagnose.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct kz_diagnostics {
	uint32_t tag;       /* OBJECT_DIAGNOSTICS */
	struct arena arena; /* holds the texts */
	kz_diagnostic *items;
	size_t count;
	size_t room;
};

struct slice {
	const char *text;
	size_t len;
};

static bool diagnostic_next_line(const char **at, struct slice *out)
{
	if (!**at) {
		return false;
	}
	*out = (struct slice){*at, strcspn(*at, "\n")};
	*at += out->len + ((*at)[out->len] == '\n');
	return true;
}

static struct slice diagnostic_trim(struct slice slice)
{
	while (slice.len > 0 && isspace((unsigned char)slice.text[0])) {
		slice = (struct slice){slice.text + 1, slice.len - 1};
	}
	while (slice.len > 0 && isspace((unsigned char)slice.text[slice.len - 1])) {
		slice.len--;
	}
	return slice;
}

static bool diagnostic_is_indented(struct slice line)
{
	return line.len == 0 || line.text[0] == ' ' || line.text[0] == '\t';
}

/* Nothing but a caret. */
static bool diagnostic_is_caret(struct slice line)
{
	line = diagnostic_trim(line);
	return line.len == 1 && line.text[0] == '^';
}

static const char *diagnostic_copy(struct kz_diagnostics *list, struct slice slice, bool *ok)
{
	char *text = slice.len > 0 ? arena_strndup(&list->arena, slice.text, slice.len) : NULL;
	*ok = *ok && (text || slice.len == 0);
	return text;
}

/* Cut ":12" off the end of a place; 0 if there is no number. */
static int32_t diagnostic_take_number(struct slice *place)
{
	size_t digits = place->len;
	while (digits > 0 && isdigit((unsigned char)place->text[digits - 1])) {
		digits--;
	}
	if (digits < 2 || digits == place->len || place->text[digits - 1] != ':'
	    || place->len - digits > 9) {
		return 0;
	}
	int32_t number = atoi(place->text + digits);
	place->len = digits - 1;
	return number;
}

/* " [#177-D]" at the end of a message. */
static struct slice diagnostic_take_code(struct slice *message)
{
	if (message->len < 4 || message->text[message->len - 1] != ']') {
		return (struct slice){NULL, 0};
	}
	for (size_t i = message->len - 1; i-- > 0 && message->text[i] != ' ';) {
		if (message->text[i] == '[' && message->text[i + 1] == '#') {
			struct slice code = {message->text + i + 2, message->len - i - 3};
			*message = diagnostic_trim((struct slice){message->text, i});
			return code;
		}
	}
	return (struct slice){NULL, 0};
}

/* "k.cu:4:5: error: message [#1-D]"; a line of another kind is a note. */
static void diagnostic_read_head(kz_diagnostic *out, struct slice *file, struct slice *message,
	struct slice *code)
{
	static const struct {
		const char *word;
		kz_severity severity;
	} words[] = {
		{": error: ", KZ_SEVERITY_ERROR},
		{": warning: ", KZ_SEVERITY_WARNING},
		{": note: ", KZ_SEVERITY_NOTE},
	};
	struct slice line = *message;
	const char *first = NULL;
	out->severity = KZ_SEVERITY_NOTE;
	*file = *code = (struct slice){NULL, 0};
	for (size_t i = 0; i < countof(words); i++) {
		size_t len = strlen(words[i].word);
		const char *at = memmem(line.text, line.len, words[i].word, len);
		if (at && (!first || at < first)) {
			first = at;
			out->severity = words[i].severity;
			*file = (struct slice){line.text, (size_t)(at - line.text)};
			*message = (struct slice){at + len, line.len - file->len - len};
		}
	}
	if (first) {
		int32_t number = diagnostic_take_number(file);
		int32_t before = number ? diagnostic_take_number(file) : 0;
		out->line = before ? before : number;
		out->column = before ? number : 0;
		*code = diagnostic_take_code(message);
	}
	*message = diagnostic_trim(*message);
}

/* The lines that follow a head, up to `end`. */
static void diagnostic_read_body(struct str *details, struct slice *excerpt, const char *at,
	const char *end)
{
	struct slice line;
	while (at < end && diagnostic_next_line(&at, &line)) {
		const char *peek = at;
		struct slice next;
		if (!excerpt->text && line.len >= 2 && peek < end
		    && diagnostic_next_line(&peek, &next) && diagnostic_is_caret(next)) {
			*excerpt = (struct slice){line.text + 2, line.len - 2};
			at = peek;
			continue;
		}
		line = diagnostic_trim(line);
		if (line.len > 0) {
			str_add(details, details->len ? "\n" : "");
			str_addn(details, line.text, line.len);
		}
	}
}

static kz_diagnostic *diagnostic_add(struct kz_diagnostics *list)
{
	kz_diagnostic *items = mem_grow(list->items, list->count, &list->room, sizeof(*items));
	if (!items) {
		return NULL;
	}
	list->items = items;
	kz_diagnostic *item = &list->items[list->count++];
	memset(item, 0, sizeof(*item));
	return item;
}

/* A head, and what is indented under it up to `end`; false when memory runs out. */
static bool diagnostic_read_item(struct kz_diagnostics *list, struct slice head, const char *body,
	const char *end)
{
	kz_diagnostic *item = diagnostic_add(list);
	struct str details = STR_INIT;
	struct slice excerpt = {NULL, 0};
	struct slice file;
	struct slice code;
	struct slice message = head;
	bool ok = item;
	if (!ok) {
		return false;
	}
	diagnostic_read_head(item, &file, &message, &code);
	diagnostic_read_body(&details, &excerpt, body, end);
	item->file = diagnostic_copy(list, file, &ok);
	item->code = diagnostic_copy(list, code, &ok);
	item->message = message.len > 0 ? diagnostic_copy(list, message, &ok) : "";
	item->details = diagnostic_copy(list, (struct slice){details.data, details.len}, &ok);
	item->excerpt = diagnostic_copy(list, excerpt, &ok);
	if (item->severity == KZ_SEVERITY_ERROR) {
		/* The hints look at the lines of the message too. */
		size_t whole = excerpt.text ? (size_t)(excerpt.text - message.text) : message.len;
		size_t line_len = item->excerpt ? strlen(item->excerpt) : 0;
		size_t column = item->column > 0 ? (size_t)item->column - 1 : 0;
		item->hint = hints_find(&(struct hint_error){
			.message = message.text,
			.message_len = whole,
			.file = item->file,
			.file_len = item->file ? strlen(item->file) : 0,
			.line = item->excerpt,
			.line_len = line_len,
			.caret = column < line_len ? column : line_len,
		});
	}
	ok = ok && !details.failed;
	str_free(&details);
	return ok;
}

static bool diagnostic_read_log(struct kz_diagnostics *list, const char *log)
{
	struct slice line;
	bool ok = true;
	while (ok && diagnostic_next_line(&log, &line)) {
		const char *body = log;
		struct slice next;
		if (diagnostic_trim(line).len == 0) {
			continue;
		}
		for (const char *at = log; diagnostic_next_line(&at, &next)
			&& diagnostic_is_indented(next);) {
			log = at;
		}
		ok = diagnostic_read_item(list, line, body, log);
	}
	return ok;
}

kz_status kz_diagnostics_create(kz_diagnostics **out, const char *log, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	if (st) {
		return st;
	}
	struct kz_diagnostics *list = mem_zalloc(1, sizeof(*list));
	if (list) {
		list->tag = OBJECT_DIAGNOSTICS;
	}
	if (!list || !diagnostic_read_log(list, log ? log : "")) {
		kz_diagnostics_release(list);
		return error_no_memory(err);
	}
	object_give(list, NULL);
	*out = list;
	return KZ_OK;
}

int64_t kz_diagnostics_count(const kz_diagnostics *list)
{
	return object_is(list, OBJECT_DIAGNOSTICS) ? (int64_t)list->count : 0;
}

const kz_diagnostic *kz_diagnostics_get(const kz_diagnostics *list, int64_t index)
{
	return index >= 0 && index < kz_diagnostics_count(list) ? &list->items[index] : NULL;
}

void kz_diagnostics_release(kz_diagnostics *list)
{
	if (object_is(list, OBJECT_DIAGNOSTICS)) {
		object_end(&list->tag);
		arena_free(&list->arena);
		mem_free(list->items);
		object_free(list);
	}
}

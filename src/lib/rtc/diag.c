/* SPDX-License-Identifier: MIT */
/*
 * NVRTC's log, read and written again as gcc writes diagnostics.
 *
 * The log is a sequence of blocks.  A block begins with a head line.  It may go on with lines of
 * message (indented far), a line of source (indented by two), a line with nothing but a caret, and
 * lines on how the compiler got there:
 *
 *	k.cu(4): error: no instance of function template "f" matches the argument list
 *	            argument types are: (int, int)
 *	    f(1, 2);
 *	    ^
 *
 * The column is not printed.  It is the caret's, less the two, and counts bytes.  Each block is
 * written again with the column in its head, and the caret at the column that a person sees.  Two
 * sorts of blocks are left out: about names that we added, and about macros of the prelude that the
 * source defines again.  NVRTC up to CUDA 12.0 shows neither line nor caret, so the line is taken
 * from the source, and there is no column.
 */
#include "base/common.h"

#include "lib/rtc/diag.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/str.h"
#include "lib/rtc/headers.h"
#include "lib/rtc/hints.h"
#include "lib/rtc/ptx_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct slice {
	const char *text;
	size_t len;
};

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE };

static const char *const severity_names[] = {"error", "warning", "note"};

/* How NVRTC spells them after "): ". */
static const struct {
	const char *word;
	enum severity severity;
} severity_words[] = {
	{"catastrophic error", SEVERITY_ERROR},
	{"internal error", SEVERITY_ERROR},
	{"error", SEVERITY_ERROR},
	{"fatal", SEVERITY_ERROR},
	{"warning", SEVERITY_WARNING},
	{"note", SEVERITY_NOTE},
	{"Note", SEVERITY_NOTE},
	{"remark", SEVERITY_NOTE},
};

struct head {
	enum severity severity;
	struct slice file;    /* who speaks, where there is no line; empty: the source */
	int line;             /* 0: no place */
	struct slice number;  /* "#177-D", empty if none */
	struct slice message;
	bool at_end;          /* "At end of source" */
	int ptx_line;         /* of the PTX, for what the assembler says; else 0 */
};

static bool diag_slice_has(struct slice slice, const char *text)
{
	return !*text || (slice.len > 0 && memmem(slice.text, slice.len, text, strlen(text)));
}

static bool diag_slice_starts(struct slice slice, const char *text)
{
	return slice.len >= strlen(text) && strncmp(slice.text, text, strlen(text)) == 0;
}

static struct slice diag_slice_skip(struct slice slice, size_t n)
{
	return (struct slice){slice.text + n, slice.len - n};
}

static struct slice diag_trim(struct slice slice)
{
	while (slice.len > 0 && strchr(" :", slice.text[0])) {
		slice = diag_slice_skip(slice, 1);
	}
	while (slice.len > 0 && isspace((unsigned char)slice.text[slice.len - 1])) {
		slice.len--;
	}
	return slice;
}

/* The next line of a log, without its end; false when there is none. */
static bool diag_next_line(const char **log, struct slice *out)
{
	if (!**log) {
		return false;
	}
	*out = (struct slice){*log, strcspn(*log, "\n")};
	*log += out->len + ((*log)[out->len] == '\n');
	return true;
}

/* "FILE(LINE)", "At end of source", "nvrtc". */
static void diag_read_place(struct head *out, struct slice place)
{
	size_t digits = place.len;
	out->at_end = diag_slice_starts(place, "At end of source");
	out->file = out->at_end ? out->file : place;
	if (place.len == 0 || place.text[place.len - 1] != ')') {
		return;
	}
	while (digits > 1 && isdigit((unsigned char)place.text[digits - 2])) {
		digits--;
	}
	if (digits > 2 && digits < place.len && place.text[digits - 2] == '(') {
		out->file = (struct slice){place.text, digits - 2};
		out->line = atoi(place.text + digits - 1);
	}
}

/* What follows the place: "error: message", "warning #177-D: message", "error   : message". */
static bool diag_read_message(struct head *out, struct slice rest)
{
	size_t word = 0;
	while (word < countof(severity_words) && !diag_slice_starts(rest,
		severity_words[word].word)) {
		word++;
	}
	if (word == countof(severity_words)) {
		return false;
	}
	rest = diag_slice_skip(rest, strlen(severity_words[word].word));
	const char *colon = memchr(rest.text, ':', rest.len);
	struct slice number = diag_trim((struct slice){rest.text, colon
		? (size_t)(colon - rest.text) : 0});
	if (!colon || (number.len > 0 && number.text[0] != '#')) {
		return false;
	}
	out->severity = severity_words[word].severity;
	out->number = number;
	out->message = diag_trim(diag_slice_skip(rest, (size_t)(colon - rest.text)));
	return true;
}

/* Whether a line is the head of a block. */
static bool diag_read_head(struct head *out, struct slice line)
{
	*out = (struct head){0};
	if (diag_slice_starts(line, " ") || diag_slice_starts(line, "\t")) {
		return false;
	}
	if (diag_slice_starts(line, "ptxas")) {
		const char *semicolon = memchr(line.text, ';', line.len);
		const char *number = semicolon ? memmem(line.text, (size_t)(semicolon - line.text),
			" line ", 6) : NULL;
		int ptx_line = number ? atoi(number + 6) : 0;
		size_t skip = semicolon ? (size_t)(semicolon - line.text) + 1 : 5;
		line = diag_slice_skip(line, skip);
		out->ptx_line = ptx_line;
		return diag_read_message(out, diag_trim(line));
	}
	if (diag_slice_starts(line, "Note #")) {
		return diag_read_message(out, line);
	}
	for (size_t i = 0; i + 2 < line.len; i++) {
		if (line.text[i] == ':' && line.text[i + 1] == ' '
		    && diag_read_message(out, diag_slice_skip(line, i + 2))) {
			diag_read_place(out, (struct slice){line.text, i});
			return true;
		}
	}
	return false;
}

/* Lines that say nothing once the rest has been rendered. */
static bool diag_is_noise(struct slice line)
{
	return line.len == 0 || diag_slice_starts(line, "Remark: The warnings can be suppressed")
	       || diag_slice_starts(line, "Compilation terminated.")
	       || diag_slice_starts(line, "ptxas fatal   : Ptx assembly aborted")
	       || diag_slice_has(line, "detected in the compilation of \"");
}

/* The byte of the caret in a line that has nothing else; -1 for any other line. */
static int diag_caret_at(struct slice line)
{
	size_t i = 0;
	while (i < line.len && (line.text[i] == ' ' || line.text[i] == '\t')) {
		i++;
	}
	return i >= 2 && i + 1 == line.len && line.text[i] == '^' ? (int)i : -1;
}

/* The columns that a character takes; its bytes in *len.  Bytes that are no UTF-8 take one. */
static int diag_char_columns(const char *text, size_t left, size_t *len)
{
	static const uint32_t wide[][2] = {
		{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
		{0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff},
		{0x20000, 0x3fffd},
	};
	unsigned char first = (unsigned char)text[0];
	uint32_t code = first;
	*len = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
	if (*len > left) {
		*len = 1;
	}
	if (*len > 1) {
		code = first & (0x7fu >> *len);
	}
	for (size_t i = 1; i < *len; i++) {
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (code >= 0x300 && code <= 0x36f) {
		return 0;
	}
	for (size_t i = 0; i < countof(wide); i++) {
		if (code >= wide[i][0] && code <= wide[i][1]) {
			return 2;
		}
	}
	return 1;
}

/* Back to the beginning of a character. */
static size_t diag_char_start(struct slice line, size_t at)
{
	while (at > 0 && at < line.len && ((unsigned char)line.text[at] & 0xc0) == 0x80) {
		at--;
	}
	return at;
}

#define EXCERPT_MAX 120
#define EXCERPT_BEFORE 80 /* bytes kept before the caret where a line is cut */

/* A line of source and a caret under one of its bytes.  Tabs stay, so that both lines agree. */
static void diag_render_excerpt(struct str *out, struct slice line, size_t caret)
{
	size_t start = 0;
	size_t end = line.len;
	if (line.len > EXCERPT_MAX) {
		start = caret > EXCERPT_BEFORE ? diag_char_start(line, caret - EXCERPT_BEFORE) : 0;
		end = start + EXCERPT_MAX < line.len ? diag_char_start(line, start + EXCERPT_MAX)
						     : line.len;
	}
	str_addf(out, "  %s%.*s%s\n  %s", start > 0 ? "..." : "", (int)(end - start),
		line.text + start, end < line.len ? "..." : "", start > 0 ? "   " : "");
	size_t len = 1;
	for (size_t i = start; i < caret && i < line.len; i += len) {
		int columns = diag_char_columns(line.text + i, line.len - i, &len);
		str_addn(out, line.text[i] == '\t' ? "\t" : "  ",
			line.text[i] == '\t' ? 1 : (size_t)columns);
	}
	str_add(out, "^\n");
}

void diag_excerpt(struct str *out, const char *line, size_t len, size_t caret)
{
	diag_render_excerpt(out, (struct slice){line, len}, caret);
}

/* The last line of the source that has something in it. */
static struct slice diag_source_end(const char *source, int *line)
{
	struct slice last = {source, 0};
	struct slice here;
	*line = 1;
	for (int number = 1; diag_next_line(&source, &here); number++) {
		if (diag_trim(here).len > 0) {
			last = here;
			*line = number;
		}
	}
	while (last.len > 0 && isspace((unsigned char)last.text[last.len - 1])) {
		last.len--;
	}
	return last;
}

static char *diag_slice_copy(struct slice slice)
{
	return mem_strndup(slice.text ? slice.text : "", slice.len);
}

struct diag_block {
	struct head head;
	struct slice more;    /* the log's lines after the head, up to its excerpt */
	struct slice excerpt; /* of the log or of the source; text NULL if there is none */
	bool has_caret;
	size_t caret;         /* its byte in the excerpt */
	struct slice after;   /* the log's lines after the caret */
};

/* Read a block whose head has been read; *log is after the head. */
static void diag_read_block(struct diag_block *block, const char **log)
{
	struct slice line;
	struct slice previous = {NULL, 0};
	struct head next;
	const char *after = NULL;
	block->more.text = *log;
	for (const char *at = *log; diag_next_line(&at, &line) && !diag_read_head(&next, line);
		*log = at) {
		if (line.len == 0 && after) {
			break;
		}
		int caret = diag_caret_at(line);
		if (caret >= 2 && previous.len >= 2 && !after) {
			block->excerpt = diag_slice_skip(previous, 2);
			block->caret = (size_t)caret - 2;
			block->has_caret = true;
			block->more.len = (size_t)(previous.text - block->more.text);
			after = at;
		}
		previous = line;
	}
	if (after) {
		block->after = (struct slice){after, (size_t)(*log - after)};
	} else {
		block->more.len = (size_t)(*log - block->more.text);
	}
}

static void diag_render_lines(struct str *out, struct slice lines)
{
	struct slice line;
	const char *at = lines.text, *end = at + lines.len;
	while (at < end && diag_next_line(&at, &line)) {
		if (!diag_is_noise(line)) {
			str_addn(out, line.text, line.len);
			str_addc(out, '\n');
		}
	}
}

static void diag_render_block(struct str *out, const struct diag_block *block, const char *name)
{
	const struct head *head = &block->head;
	struct slice file = head->file.len > 0 ? head->file
					       : (struct slice){name, strlen(name)};
	str_addn(out, file.text, file.len);
	if (head->line > 0) {
		str_addf(out, ":%d", head->line);
	}
	if (head->line > 0 && block->has_caret) {
		str_addf(out, ":%zu", block->caret + 1);
	}
	str_addf(out, ": %s: ", severity_names[head->severity]);
	str_addn(out, head->message.text, head->message.len);
	if (head->number.len > 0) {
		str_addf(out, " [%.*s]", (int)head->number.len, head->number.text);
	}
	str_addc(out, '\n');
	diag_render_lines(out, block->more);
	if (block->has_caret) {
		diag_render_excerpt(out, block->excerpt, block->caret);
	} else if (block->excerpt.text) {
		str_addf(out, "  %.*s\n", (int)block->excerpt.len, block->excerpt.text);
	}
	diag_render_lines(out, block->after);
}

/* Whether a line is CCCL's `#pragma push_macro("restrict")`, or pop_macro, of a macro of the
 * prelude.  NVRTC does not know these pragmas, and says so only where there is such a macro. */
static bool diag_saves_our_macro(struct slice line)
{
	static const char macro[] = "_macro(\"";
	const char *at = line.text ? memmem(line.text, line.len, macro, sizeof(macro) - 1) : NULL;
	size_t left = at ? line.len - (size_t)(at - line.text) - (sizeof(macro) - 1) : 0;
	const char *name = at ? at + sizeof(macro) - 1 : NULL;
	const char *end = name ? memchr(name, '"', left) : NULL;
	return end && headers_has_macro(name, (size_t)(end - name));
}

/* The prelude is named in the message, or in a line after it: "kudzu/prelude.h(10): here". */
static bool diag_names_prelude(const struct diag_block *block)
{
	return diag_slice_has(block->head.message, HEADERS_PRELUDE)
		|| diag_slice_has(block->more, HEADERS_PRELUDE);
}

/* Errors about what we added, warnings that it was defined again, saved, or not precompiled. */
static bool diag_is_ours(const struct diag_block *block)
{
	const struct head *head = &block->head;
	bool of_pch = head->severity == SEVERITY_WARNING
		      && (diag_slice_has(head->message, "precompiled header")
		|| diag_slice_has(head->message, "PCH "));
	bool of_name = head->file.len == strlen(DIAG_NAME_FILE) && diag_slice_starts(head->file,
		DIAG_NAME_FILE);
	return of_name || of_pch || (diag_slice_starts(head->number, "#47-D")
			   && diag_names_prelude(block))
		|| (diag_slice_starts(head->number, "#161-D")
			&& diag_saves_our_macro(block->excerpt));
}

static const char *diag_find_hint(const struct diag_block *block, unsigned cuda_parts)
{
	const struct head *head = &block->head;
	const struct slice *more = &block->more; /* the message goes on there */
	return hints_find(&(struct hint_error){
		.message = head->message.text,
		.message_len = more->text ? (size_t)(more->text + more->len - head->message.text)
			: head->message.len,
		.file = head->file.text,
		.file_len = head->file.len,
		.line = block->excerpt.text,
		.line_len = block->excerpt.len,
		.caret = block->caret,
		.cuda_parts = cuda_parts,
	});
}

/* Keep the first error; false when memory runs out. */
static bool diag_take_error(struct diag *out, const struct diag_block *block,
	const struct diag_context *context)
{
	const struct head *head = &block->head;
	if (head->severity != SEVERITY_ERROR || out->errors++ > 0) {
		return true;
	}
	out->message = diag_slice_copy(head->message);
	out->excerpt = block->excerpt.text ? diag_slice_copy(block->excerpt) : NULL;
	out->names_prelude = diag_names_prelude(block);
	out->hint = diag_find_hint(block, context->cuda_parts);
	if (head->line > 0) {
		out->line = head->line;
		out->column = block->has_caret ? (int)block->caret + 1 : 0;
		out->file = head->file.len > 0 ? diag_slice_copy(head->file)
			: mem_strdup(context->name);
	}
	return out->message && (out->file || head->line == 0)
	       && (out->excerpt || !block->excerpt.text);
}

/* Folders in which a missing header was looked for. */
static void diag_render_searched(struct str *out, const struct head *head,
	const struct diag_context *context)
{
	if (!diag_slice_has(head->message, "open source file")) {
		return;
	}
	str_addf(out, "%s: note: searched%s", context->name,
		context->include_count ? "" : " no folder: none was given and no CUDA headers "
					      "were found");
	for (size_t i = 0; i < context->include_count; i++) {
		str_addf(out, "%s%s", i > 0 ? ", " : ": ", context->include_dirs[i]);
	}
	const char *named = env_get("KUDZU_CUDA_INCLUDE");
	if (named && named[0]) {
		str_addf(out, "; KUDZU_CUDA_INCLUDE is '%s'", named);
	}
	if (context->cuda_note) {
		str_addf(out, "; %s", context->cuda_note);
	}
	str_addc(out, '\n');
}

/* An error at the end of the source gets its last line as the place. */
static void diag_place_at_end(struct diag_block *block, const struct diag_context *context)
{
	block->more = block->after = (struct slice){NULL, 0};
	block->excerpt = diag_source_end(context->source, &block->head.line);
	block->caret = block->excerpt.len;
	block->has_caret = block->excerpt.text;
}

/* Whether a path is the source's name, made absolute or not. */
static bool diag_is_source(struct slice path, const char *name)
{
	size_t len = strlen(name);
	return path.len >= len && memcmp(path.text + path.len - len, name, len) == 0
	       && (path.len == len || path.text[path.len - len - 1] == '/');
}

/* Line `number` of the source, if numbers are those of its own lines; text NULL if not. */
static struct slice diag_source_line(const char *source, int number)
{
	struct slice line = {NULL, 0};
	if (strstr(source, "#line")) {
		return line;
	}
	for (int i = 0; i < number; i++) {
		if (!diag_next_line(&source, &line)) {
			return (struct slice){NULL, 0};
		}
	}
	return line;
}

/* An error of the assembler gets the line of source that its line of PTX comes from. */
static void diag_place_by_ptx(struct diag_block *block, const struct diag_context *context,
	struct ptx_line *line)
{
	block->more = block->after = (struct slice){NULL, 0};
	if (!ptx_find_line(line, context->ptx, block->head.ptx_line) || line->file_len == 0) {
		return;
	}
	block->head.file = (struct slice){line->file, line->file_len};
	block->head.line = line->line;
	if (diag_is_source(block->head.file, context->name)) {
		block->head.file = (struct slice){NULL, 0};
		block->excerpt = diag_source_line(context->source, line->line);
		block->caret = line->column > 0 ? (size_t)line->column - 1 : 0;
		block->has_caret = block->excerpt.text;
	}
	if (block->caret > block->excerpt.len) {
		block->caret = block->excerpt.len;
	}
}

bool diag_read(struct diag *out, const char *log, const struct diag_context *context)
{
	struct str text = STR_INIT;
	struct slice line;
	bool ok = true;
	*out = (struct diag){0};
	while (ok && diag_next_line(&log, &line)) {
		struct diag_block block = {0};
		if (diag_is_noise(line)) {
			continue;
		}
		if (!diag_read_head(&block.head, line)) {
			str_addn(&text, line.text, line.len);
			str_addc(&text, '\n');
			continue;
		}
		diag_read_block(&block, &log);
		if (diag_is_ours(&block)) {
			continue;
		}
		struct ptx_line ptx_line = {0};
		if (block.head.at_end) {
			diag_place_at_end(&block, context);
		} else if (block.head.ptx_line > 0 && context->ptx) {
			diag_place_by_ptx(&block, context, &ptx_line);
		} else if (!block.excerpt.text && diag_is_source(block.head.file, context->name)) {
			block.excerpt = diag_source_line(context->source, block.head.line);
		}
		ok = diag_take_error(out, &block, context);
		diag_render_block(&text, &block, context->name);
		if (ptx_line.text_len > 0) {
			str_addf(&text, "%s: note: line %d of the PTX: %.*s\n", context->name,
				block.head.ptx_line, (int)ptx_line.text_len, ptx_line.text);
		}
		diag_render_searched(&text, &block.head, context);
	}
	out->text = str_take(&text);
	if (!ok || !out->text) {
		diag_free(out);
		return false;
	}
	return true;
}

void diag_free(struct diag *diag)
{
	mem_free(diag->text);
	mem_free(diag->message);
	mem_free(diag->excerpt);
	mem_free(diag->file);
	*diag = (struct diag){0};
}

/* The error that the log has for a name expression that NVRTC does not take; NULL if it took it. */
static const char *diag_rejected_name(const char *log, const char *expression)
{
	size_t len = strlen(expression);
	for (const char *at = log; (at = strstr(at, DIAG_NAME_LINE));) {
		at += strlen(DIAG_NAME_LINE);
		if (strncmp(at, expression, len) == 0 && (at[len] == '\n' || at[len] == '\0')) {
			return at;
		}
	}
	return NULL;
}

bool diag_rejects_name(const char *log, const char *expression)
{
	return diag_rejected_name(log, expression);
}

static const char *diag_line_start(const char *text, const char *at)
{
	while (at > text && at[-1] != '\n') {
		at--;
	}
	return at;
}

bool diag_name_is_ambiguous(const char *log, const char *expression)
{
	static const char reason[] = "which instance of overloaded function";
	const char *quoted = diag_rejected_name(log, expression);
	const char *end = quoted ? diag_line_start(log, quoted) : log;
	const char *message = end > log ? diag_line_start(log, end - 1) : log;
	return memmem(message, (size_t)(end - message), reason, sizeof(reason) - 1);
}

const char *diag_name_reason(size_t *len, const char *log, const char *expression)
{
	static const char error[] = "error: ", same_again[] = "Error in parsing name";
	for (const char *at = log; (at = strstr(at, DIAG_NAME_LINE));
	     at += strlen(DIAG_NAME_LINE)) {
		const char *end = strchrnul(at, '\n');
		const char *line = diag_line_start(log, at);
		const char *before = line > log ? diag_line_start(log, line - 1) : line;
		const char *message = memmem(before, (size_t)(line - before), error,
			sizeof(error) - 1);
		if (message && memmem(at, (size_t)(end - at), expression, strlen(expression))) {
			message += sizeof(error) - 1;
			if (strncmp(message, same_again, sizeof(same_again) - 1) != 0) {
				*len = strcspn(message, "\n");
				return message;
			}
		}
	}
	return NULL;
}

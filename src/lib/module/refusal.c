/* SPDX-License-Identifier: MIT */
/*
 * Explain why a driver refuses an image: in its own words, with the line of PTX and the line of
 * source that this comes from.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/module/module.h"
#include "lib/rtc/hints.h"
#include "lib/rtc/ptx_text.h"
#include "lib/rtc/signature.h"

#include <stdlib.h>
#include <string.h>

/* The longest instruction that an error quotes. */
#define QUOTE_MAX 400

/* "ptxas application ptx input, line 12; error   : text": the place and the words of the first
 * line of a log that reads so. */
static bool refusal_find_ptx_error(const char *log, int *line, const char **text, size_t *text_len)
{
	for (; *log; log += strcspn(log, "\n"), log += *log == '\n') {
		size_t len = strcspn(log, "\r\n");
		const char *mark = memmem(log, len, "line ", 5);
		const char *error = mark ? memmem(mark, len - (size_t)(mark - log), "error", 5)
			: NULL;
		const char *colon = error ? memchr(error, ':', len - (size_t)(error - log)) : NULL;
		if (colon) {
			*line = (int)strtol(mark + 5, NULL, 10);
			*text = colon + 1 + strspn(colon + 1, " ");
			*text_len = strcspn(*text, "\r\n");
			return *line > 0;
		}
	}
	return false;
}

/* Add what a driver says, with the symbols that it quotes as the source has them. */
static void refusal_add_words(struct str *out, const char *words, size_t len)
{
	const char *end = words + len;
	for (const char *quote; (quote = memmem(words, len, "'_Z", 3));
		len = (size_t)(end - words)) {
		const char *close = memchr(quote + 1, '\'', (size_t)(end - quote - 1));
		if (!close) {
			break;
		}
		str_addn(out, words, (size_t)(quote + 1 - words));
		signature_say(out, quote + 1, (size_t)(close - quote - 1));
		words = close;
	}
	str_addn(out, words, len);
}

/* Add where a refused line of PTX is, and what is there: in the source, if the PTX has line
 * information. */
static void refusal_add_ptx_place(struct str *text, kz_error *err, const char *ptx, int line,
	const char *said)
{
	struct ptx_line from;
	char *file = ptx_find_line(&from, ptx, line) && from.file_len > 0
		? mem_strndup(from.file, from.file_len) : NULL;
	error_add_place(err, file ? file : "ptx", file ? from.line : line, file ? from.column : 0);
	if (file) {
		str_addf(text, "%s:%d:%d: error: %s\nptx:%d: note: ", file, from.line,
			from.column, said, line);
	} else {
		str_addf(text, "ptx:%d: error: %s\n", line, said);
	}
	mem_free(file);
	/* The line, if there is one.  NVRTC writes some instructions, such as calls, on several
	 * lines; then all of them. */
	const char *at = ptx;
	for (; line > 1 && at; line--) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	const size_t first = at ? strcspn(at, "\r\n") : 0, end = at ? strcspn(at, ";{}") : 0;
	if (end < first || end > QUOTE_MAX || (at && at[end] != ';')) {
		str_addn(text, at, first);
	} else if (at) {
		for (const char *c = at; c <= at + end;) {
			size_t gap = strspn(c, " \t\r\n");
			str_addc(text, gap ? ' ' : *c);
			c += gap ? gap : 1;
		}
	}
	str_addc(text, '\n');
}

void refusal_explain(kz_error *err, const struct rtc_image *image, const char *log)
{
	struct str text = STR_INIT;
	const char *words = NULL;
	size_t words_len = 0;
	int line = 0;
	if (image->is_ptx && refusal_find_ptx_error(log, &line, &words, &words_len)) {
		struct str said = STR_INIT;
		refusal_add_words(&said, words, words_len);
		if (!said.failed) {
			snprintf(err->message, sizeof(err->message), "%.256s", said.data);
			refusal_add_ptx_place(&text, err, image->data, line, said.data);
			const char *hint = hints_find(&(struct hint_error){.message = words,
				.message_len = words_len});
			if (hint) {
				error_add_hint(err, hint);
			}
		}
		str_free(&said);
	} else if (*log) {
		str_add(&text, log);
	}
	if (text.len) {
		error_take_log(err, str_take(&text));
	}
	str_free(&text);
}

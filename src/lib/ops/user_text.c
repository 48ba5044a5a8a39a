/* SPDX-License-Identifier: MIT */
/*
 * Texts of users in generated sources; see user_text.h.
 *
 * A text stands between two #line directives.  The first one names it, "scan: operation", and the
 * second one names the generated code, "scan".  So the texts of a source that was refused are found
 * in the source itself.
 */
#include "base/common.h"

#include "lib/ops/user_text.h"

#include "base/alloc.h"
#include "base/error.h"
#include "lib/rtc/diag.h"
#include "lib/rtc/source_scan.h"

#include <string.h>

#define MARK "\n#line 1 \""

void user_text_add(struct str *source, const char *name, const char *what, const char *text,
	const char *end)
{
	const char *last = strrchr(text, '\n');
	bool has_comment = strstr(last ? last : text, "//");
	str_addf(source, MARK "%s: %s\"\n%s%s%s" MARK "%s\"\n", name, what, text,
		has_comment ? "\n" : "", end, name);
}

/* Whether this is the name of a user's text. */
static bool user_text_is_file(const char *file, const char *name)
{
	size_t len = strlen(name);
	return strncmp(file, name, len) == 0 && strncmp(file + len, ": ", 2) == 0;
}

/* Whether the compiler reports anything in generated code, too. */
static bool user_text_is_left(const char *log, const char *name)
{
	for (const char *line = log; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (*line && *line != ' ' && !user_text_is_file(line, name)) {
			return true;
		}
	}
	return false;
}

/* Make a brace of a text the error. */
static void user_text_report(kz_error *err, const char *file, const char *text,
	const struct source_facts *facts)
{
	const kz_error old = *err;
	struct str log = STR_INIT;
	const char *line = text;
	int number = 1;
	const char *brace = text + facts->brace_at;
	for (const char *end; (end = memchr(line, '\n', (size_t)(brace - line))); number++) {
		line = end + 1;
	}
	int column = (int)(brace - line) + 1;
	kz_error_clear(err);
	error_retell(err, &old, "%s", facts->brace == SOURCE_BRACE_OPENS
		? "this '{' has no matching '}'" : "this '}' has no matching '{'");
	str_addf(&log, "%s:%d:%d: error: %s\n", file, number, column, err->message);
	diag_excerpt(&log, line, strcspn(line, "\r\n"), (size_t)column - 1);
	error_add_place(err, file, number, column);
	error_take_log(err, log.failed ? NULL : str_take(&log));
	str_free(&log);
}

void user_text_explain(kz_error *err, const char *name, const char *source)
{
	bool done = !err || !err->log || !user_text_is_left(err->log, name);
	for (const char *at = source; !done && (at = strstr(at, MARK));) {
		const char *file = at + strlen(MARK), *quote = strchr(file, '"');
		const char *text = quote + 2;
		at = strstr(text, MARK);
		if (!at || !user_text_is_file(file, name)) {
			at = text;
			continue;
		}
		char *file_copy = mem_strndup(file, (size_t)(quote - file));
		char *text_copy = mem_strndup(text, (size_t)(at - text));
		struct source_facts facts;
		done = !file_copy || !text_copy || !source_scan(&facts, text_copy);
		if (!done) {
			done = facts.brace != SOURCE_BRACES_MATCH;
			if (done) {
				user_text_report(err, file_copy, text_copy, &facts);
			}
			source_free(&facts);
		}
		mem_free(file_copy);
		mem_free(text_copy);
	}
}

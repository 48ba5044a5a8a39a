/* SPDX-License-Identifier: MIT */
/*
 * A line of PTX -> the line of source.
 *
 * PTX with line information says so before the instructions of each line: `.loc 1 101 3`, file,
 * line and column.  The last one in the same function counts.  The names of the files are behind
 * the functions: `.file 1 "/home/me/k.cu"`.
 */
#include "base/common.h"

#include "rtc/blame.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A directive at the beginning of a line, and what follows it; NULL if the line has another. */
static const char *directive(const char *line, const char *name)
{
	line += strspn(line, " \t");
	size_t len = strlen(name);
	return strncmp(line, name, len) == 0 && isspace((unsigned char)line[len]) ? line + len : NULL;
}

static const char *blame_next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : NULL;
}

/* The name of file `number`. */
static void find_file(struct blame *out, const char *ptx, long number)
{
	for (const char *line = ptx; line; line = blame_next_line(line)) {
		const char *rest = directive(line, ".file");
		char *end;
		if (!rest || strtol(rest, &end, 10) != number) {
			continue;
		}
		const char *quote = end + strspn(end, " \t");
		if (*quote == '"') {
			out->file = quote + 1;
			out->file_len = strcspn(out->file, "\"\n");
		}
		return;
	}
}

bool blame_line(struct blame *out, const char *ptx, int line)
{
	const char *at = ptx;
	const char *loc = NULL;
	*out = (struct blame){0};
	for (int number = 1; at && number < line; number++, at = blame_next_line(at)) {
		const char *rest = directive(at, ".loc");
		loc = *at == '}' ? NULL : rest ? rest : loc;
	}
	if (!at || line < 1) {
		return false;
	}
	out->text = at + strspn(at, " \t");
	out->text_len = strcspn(out->text, "\r\n");
	if (loc) {
		char *end;
		long file = strtol(loc, &end, 10);
		out->line = (int)strtol(end, &end, 10);
		out->column = (int)strtol(end, &end, 10);
		find_file(out, ptx, file);
	}
	return true;
}

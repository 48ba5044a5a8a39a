/* SPDX-License-Identifier: MIT */
/*
 * Describes a line of PTX for a message.  It reads the text again, because a message is needed when
 * a kernel has failed: by then the parsed module may be gone, or the kernel came from the cache.
 *
 * The source line is in `.loc 1 5 12` (file, line, column), which holds until the next .loc or the
 * end of the function, and in `.file 1 "k.cu"`.  In an inlined function it is the line of that
 * function.
 */
#include "base/common.h"

#include "cpu/ptx/line.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *line_skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

/* What follows a directive that a line begins with; NULL if it does not. */
static const char *line_behind(const char *line, const char *directive)
{
	size_t size = strlen(directive);
	line = line_skip_blanks(line);
	return strncmp(line, directive, size) == 0 && isspace((unsigned char)line[size])
		? line + size : NULL;
}

static const char *line_next(const char *line)
{
	line = strchr(line, '\n');
	return line ? line + 1 : NULL;
}

static void line_find_file(struct line *out, const char *text, long index)
{
	for (const char *at = text; at; at = line_next(at)) {
		const char *rest = line_behind(at, ".file");
		char *end;
		if (rest && strtol(rest, &end, 10) == index
		    && *(rest = line_skip_blanks(end)) == '"') {
			out->file = rest + 1;
			out->file_size = strcspn(out->file, "\"\n");
			return;
		}
	}
}

/* Bytes of an access by its opcode, "ld.global.v2.f32": the last type counts. */
static unsigned line_access_bytes(const char *opcode, size_t size)
{
	unsigned bits = 0, count = 1;
	for (const char *part = opcode; part && part < opcode + size;
	     part = memchr(part, '.', (size_t)(opcode + size - part))) {
		part += *part == '.';
		unsigned value = (unsigned)atoi(part + strcspn(part, "0123456789."));
		bool is_vector = *part == 'v' && isdigit((unsigned char)part[1]);
		bool is_type = strchr("bsuf", *part) && value >= 8;
		count = is_vector ? value : count;
		bits = is_type ? value : bits;
		bits = is_type && strncmp(part, "f16x2", 5) == 0 ? 32 : bits;
	}
	return bits / 8 * count;
}

static void line_describe(struct line *out, const char *line)
{
	static const struct {
		const char *opcode;
		const char *what;
	} rows[] = {{"ld.", "read"}, {"ldu.", "read"}, {"st.", "write"},
		{"atom.", "atomic operation on"}, {"red.", "atomic operation on"}};
	const char *opcode = line_skip_blanks(line);
	if (*opcode == '@') {
		opcode = line_skip_blanks(opcode + strcspn(opcode, " \t\n"));
	}
	size_t size = strcspn(opcode, " \t\n;");
	for (size_t i = 0; i < countof(rows); i++) {
		unsigned bytes = line_access_bytes(opcode, size);
		if (strncmp(opcode, rows[i].opcode, strlen(rows[i].opcode)) == 0 && bytes > 0) {
			snprintf(out->what, sizeof(out->what), "%s%s %u byte%s", rows[i].what,
				rows[i].what[0] == 'a' ? "" : " of", bytes, bytes == 1 ? "" : "s");
		}
	}
}

bool line_look_up(struct line *out, const char *text, unsigned number)
{
	const char *at = text, *place = NULL;
	*out = (struct line){.file = NULL};
	for (unsigned i = 1; at && i < number; i++, at = line_next(at)) {
		const char *rest = line_behind(at, ".loc");
		place = *at == '}' ? NULL : rest ? rest : place;
	}
	if (!at || number == 0) {
		return false;
	}
	line_describe(out, at);
	if (place) {
		char *end;
		long file = strtol(place, &end, 10);
		out->number = (int)strtol(end, &end, 10);
		line_find_file(out, text, file);
	}
	return true;
}

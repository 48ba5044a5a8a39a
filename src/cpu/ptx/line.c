/* SPDX-License-Identifier: MIT */
/*
 * Describes a line of PTX for a message.  It reads the text again, because a message is needed when
 * a kernel has failed: by then the parsed module may be gone, or the kernel came from the cache.
 *
 * The source line is in `.loc 1 5 12` (file, line, column), which holds until the next .loc or the
 * end of the function, and in `.file 1 "k.cu"`.  In an inlined function it is the line of that
 * function.  `.loc 1 5 12, function_name $L__info_string0, inlined_at 1 8 2` also says where the
 * function was called.  If that place is in an inlined function, an earlier .loc says the same of
 * it.
 */
#define _GNU_SOURCE
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

static void line_find_file(struct line_place *out, const char *text, long index)
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

/* What a .loc says. */
struct loc {
	long file, number, column;
	const char *function;  /* of an inlined one: its label, and what follows; else NULL */
};

/* Read "1 5 12", and what it says of a call.  Returns what follows the numbers. */
static const char *line_read_loc(struct loc *out, const char *text)
{
	char *end;
	out->file = strtol(text, &end, 10);
	out->number = strtol(end, &end, 10);
	out->column = strtol(end, &end, 10);
	const size_t size = strcspn(end, "\n");
	const char *function = memmem(end, size, "function_name", strlen("function_name"));
	out->function = function ? line_skip_blanks(function + strlen("function_name")) : NULL;
	return end;
}

/* The bytes that a label stands before: `.b8 95,90,0`. */
static void line_read_name(char *out, size_t size, const char *text, const char *label)
{
	const size_t length = strcspn(label, ", \t\n");
	const char *at = text;
	size_t count = 0;
	*out = '\0';
	while (at && !(strncmp(at, label, length) == 0 && at[length] == ':')) {
		at = line_next(at);
	}
	bool is_open = true; // a long name has several lines
	while (is_open && at && (at = line_next(at)) && (label = line_behind(at, ".b8"))) {
		for (char *end; is_open && label && count + 1 < size;
		     label = *end == ',' ? end + 1 : NULL) {
			out[count] = (char)strtol(label, &end, 10);
			is_open = out[count] != '\0';
			count += is_open;
		}
	}
	out[count] = '\0';
}

/* The last .loc before `end` that is about the same place and says where it was inlined. */
static const char *line_find_call(const char *text, const char *end, const struct loc *place)
{
	const char *found = NULL;
	struct loc loc;
	for (const char *at = text; at && at < end; at = line_next(at)) {
		const char *rest = line_behind(at, ".loc");
		if (rest) {
			line_read_loc(&loc, rest);
			found = loc.function && loc.file == place->file
				&& loc.number == place->number && loc.column == place->column
				? rest : found;
		}
	}
	return found;
}

/* The places of a .loc, from the inside to the outside. */
static void line_find_places(struct line *out, const char *text, const char *rest)
{
	struct loc loc;
	for (const char *end = rest; rest && out->place_count < LINE_MOST_PLACES;) {
		struct line_place *place = &out->places[out->place_count++];
		line_read_loc(&loc, rest);
		*place = (struct line_place){.number = (int)loc.number, .column = (int)loc.column};
		line_find_file(place, text, loc.file);
		if (!loc.function) {
			return;
		}
		line_read_name(place->function, sizeof(place->function), text, loc.function);
		const char *call = strstr(loc.function, "inlined_at");
		if (!call || call > loc.function + strcspn(loc.function, "\n")) {
			return;
		}
		rest = call + strlen("inlined_at");
		struct loc outside;
		line_read_loc(&outside, rest);
		const char *known = line_find_call(text, end, &outside);
		rest = known ? known : rest;
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
	*out = (struct line){.place_count = 0};
	for (unsigned i = 1; at && i < number; i++, at = line_next(at)) {
		const char *rest = line_behind(at, ".loc");
		place = *at == '}' ? NULL : rest ? rest : place;
	}
	if (!at || number == 0) {
		return false;
	}
	line_describe(out, at);
	line_find_places(out, text, place);
	return true;
}

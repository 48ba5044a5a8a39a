/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_INCLUDES_H
#define LIB_RTC_INCLUDES_H

/* What source texts ask the preprocessor for, without preprocessing them. */
#include "base/str.h"

struct includes {
	/* The files, each followed by a zero: '"' or '<', then the name. */
	struct str names;
	bool has_macro; /* #include of what only the preprocessor knows, or a trigraph */
	bool has_time;  /* __DATE__, __TIME__ */
	bool has_place; /* __FILE__, assert: the name of a file may get into the output */
};

/*
 * Find them, and add them to what *out has.  What #if leaves out is found too, and what is in
 * comments and strings: this is for knowing all that a compile may read, never less.  False when
 * memory runs out.
 */
bool includes_scan(struct includes *out, const char *text, size_t size);
void includes_free(struct includes *includes);

/* Add the names of another text that was scanned. */
void includes_add(struct includes *out, const struct includes *from);

/* Why nobody can know what a compile of these texts reads, or gives; static.  NULL: it can be
 * known. */
const char *includes_why_not(const struct includes *includes);

/*
 * For a caller that goes through a text itself: look at a part of it, from `from` to `to`.  A part
 * cuts no word in two, the text has no continued lines, and the caller looks at out->names.failed
 * at the end.
 */
struct includes_text {
	struct includes *out;
	const char *begin;
	const char *end;
};
void includes_scan_part(const struct includes_text *text, const char *from, const char *to);

/* Join the lines that a backslash continues, as a compiler does before all else.  *joined is a
 * zero-terminated copy of the text, freed with mem_free; NULL if there is no such line.  False when
 * memory runs out. */
bool includes_join_lines(char **joined, size_t *joined_size, const char *text, size_t size);
/* The place in the text of a place in its joined copy. */
size_t includes_place_before_joining(const char *text, size_t size, size_t joined_place);

#endif

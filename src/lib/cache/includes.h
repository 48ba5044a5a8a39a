/* SPDX-License-Identifier: MIT */
#ifndef LIB_CACHE_INCLUDES_H
#define LIB_CACHE_INCLUDES_H

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
 * Find them, and add them to what *out has.  What #if leaves out is found too, and what is in comments
 * and strings: this is for knowing all that a compile may read, never less.  False when memory runs out.
 */
bool includes_scan(struct includes *out, const char *text, size_t size);
void includes_free(struct includes *includes);

/* Why nobody can know what a compile of these texts reads, or gives; static.  NULL: it can be known. */
const char *includes_why_not(const struct includes *includes);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CACHE_INCLUDES_H
#define CACHE_INCLUDES_H

/* What a source text asks the preprocessor for, without preprocessing it. */
#include "base/str.h"

struct includes {
	/* The files, each followed by a zero: '"' or '<', then the name. */
	struct str names;
	bool has_macro; /* #include of what only the preprocessor knows */
	bool has_time;  /* __DATE__, __TIME__ */
	bool has_place; /* __FILE__, assert: the name of a file may get into the output */
};

/*
 * Find them.  What #if leaves out is found too, and what is in comments and strings: this is for
 * knowing all that a compile may read, never less.  False when memory runs out; then nothing is left
 * in *out.
 */
bool includes_scan(struct includes *out, const char *text, size_t size);
void includes_free(struct includes *includes);

#endif

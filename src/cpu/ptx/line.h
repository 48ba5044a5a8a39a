/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_LINE_H
#define CPU_PTX_LINE_H

/* What a line of PTX does, and which line of source it was made from: for messages. */
#include <stdbool.h>
#include <stddef.h>

#define LINE_MOST_PLACES 8

struct line_place {
	const char *file;      /* in the text, not terminated; NULL: it does not say */
	size_t file_size;
	int number;            /* in that file, from 1 */
	int column;
	char function[192];     /* whose code this is, mangled; empty: the kernel's, or unknown */
};

struct line {
	char what[48];         /* "read of 4 bytes"; empty if it accesses nothing */
	/* Where the code is from, and, if it is an inlined function's, where that is called, and so
	 * on up to the kernel. */
	struct line_place places[LINE_MOST_PLACES];
	size_t place_count;    /* 0: it does not say */
};

/* Line `number` of a text, from 1; false if it has fewer. */
bool line_look_up(struct line *out, const char *text, unsigned number);

#endif

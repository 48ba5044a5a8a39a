/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_LINE_H
#define CPU_PTX_LINE_H

/* What a line of PTX does, and which line of source it was made from: for messages. */
#include <stdbool.h>
#include <stddef.h>

struct line {
	char what[48];         /* "read of 4 bytes"; empty if it accesses nothing */
	const char *file;      /* in the text, not terminated; NULL: it does not say */
	size_t file_size;
	int number;            /* in that file, from 1 */
};

/* Line `number` of a text, from 1; false if it has fewer. */
bool line_look_up(struct line *out, const char *text, unsigned number);

#endif

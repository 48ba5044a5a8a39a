/* SPDX-License-Identifier: MIT */
#ifndef RTC_BLAME_H
#define RTC_BLAME_H

/* Which line of source a line of PTX comes from. */
#include "base/common.h"

struct blame {
	const char *text; /* the line of PTX, blanks around it aside */
	size_t text_len;
	const char *file; /* as the compiler was told it, in an absolute path */
	size_t file_len;  /* 0: the PTX does not say */
	int line;
	int column;
};

/* Of line `line`, from 1; false if there is no such line.  The texts are in `ptx`. */
bool blame_line(struct blame *out, const char *ptx, int line);

#endif

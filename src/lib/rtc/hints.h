/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_HINTS_H
#define LIB_RTC_HINTS_H

/* What to do about an error of NVRTC. */
#include "base/common.h"

/* Texts of given lengths; the pointers may be NULL where the length is 0. */
struct hint_error {
	const char *message; /* with the lines that follow it */
	size_t message_len;
	const char *file;
	size_t file_len;
	const char *line;    /* of source */
	size_t line_len;
	size_t caret;        /* the byte of that line */
	unsigned cuda_parts; /* the parts of CUDA's headers that were found, as bits */
};

/* Static text; NULL where there is nothing to say. */
const char *hints_find(const struct hint_error *error);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef ARRAY_INFLATE_H
#define ARRAY_INFLATE_H

/* Inflate raw deflate data with zlib, found at run time. */
#include "base/error.h"

/* The result must have exactly `size` bytes; `name` is for messages. */
kz_status inflate_all(char *to, int64_t size, const char *from, int64_t from_size,
	const char *name, kz_error *err);

#endif

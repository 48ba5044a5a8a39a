/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_INFLATE_H
#define LIB_ARRAY_INFLATE_H

/* Inflate raw deflate data with zlib, found at run time. */
#include "base/error.h"

struct inflate;

enum inflate_state { INFLATE_MORE, INFLATE_END, INFLATE_DAMAGED, INFLATE_NO_MEMORY };

/* Begin; `name` is for messages.  KZ_UNSUPPORTED without zlib. */
kz_status inflate_create(struct inflate **out, const char *name, kz_error *err);
void inflate_free(struct inflate *inflate);

/* Inflate a piece, and move the four on.  INFLATE_MORE: call it again, with more input where that
 * is used up.  A call that can do nothing says INFLATE_DAMAGED. */
enum inflate_state inflate_some(struct inflate *inflate, const char **from, int64_t *from_size,
	char **to, int64_t *to_size);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_SURVEY_H
#define CPU_OBJECT_SURVEY_H

/* Whether a big text that nobody has seen is good, without holding its kernels. */
#include "cpu/jit/outline.h"

/* Where its kernels are, to be released; NULL: it must be read as a whole. */
struct outline *survey_find(const char *text, size_t size, struct hash hash);
/* Whether they are good, each by itself.  The module is what the text has besides, by parse_outline,
 * checked and flattened; it is left as it was. */
bool survey_check(struct ptx_module *module, const char *text, const struct outline *outline);

#endif

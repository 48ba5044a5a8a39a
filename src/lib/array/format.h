/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_FORMAT_H
#define LIB_ARRAY_FORMAT_H

/* Array elements -> text, laid out as numpy does; and numbers -> wider ones. */
#include "base/str.h"

#include <kudzu/dtype.h>
#include <kudzu/shape.h>

/* Elements on the host, row-major.  If an extent is shown in part, one half of what is shown comes
 * from either end, with "..." between. */
struct elements {
	kz_dtype dtype;
	int ndim;
	const int64_t *dims;         /* the extents of the array */
	int64_t shown[KZ_MAX_DIMS];  /* those of data */
	int64_t count;               /* elements in data */
	const char *data;
};

void format_elements(struct str *out, const struct elements *elements);

/* Convert a number to a wider type of its kind. */
void format_widen(void *out, kz_dtype dtype, const void *number, kz_dtype found);

#endif

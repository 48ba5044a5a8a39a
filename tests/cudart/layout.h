/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CUDART_LAYOUT_H
#define TESTS_CUDART_LAYOUT_H

/*
 * The same facts seen through two headers that cannot be included together: layout_ours.c includes
 * src/cudart/api.h, layout_real.c cuda_runtime_api.h, and each makes a table of layout.def.
 */
#include <stddef.h>

struct layout_row {
	const char *name;
	long long value;
};

extern const struct layout_row layout_ours[];
extern const size_t layout_ours_count;
/* Empty where the header is absent, or is that of another runtime than KZ_CUDART. */
extern const struct layout_row layout_real[];
extern const size_t layout_real_count;

#endif

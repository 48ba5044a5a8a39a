/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_OVERLAP_H
#define LIB_ARRAY_OVERLAP_H

/* Whether two arrays have bytes in common. */
#include "lib/array/array.h"

/* Exact for what slicing makes of one array; true, too, where finding out would take long. */
bool overlap_arrays(const struct kz_array *a, const struct kz_array *b);

/* Whether the whole memory of one array and of the other have bytes in common.  Takes no time; true
 * for all views of one array.  The same bytes may be in two memories, by kz_buffer_wrap. */
bool overlap_memory(const struct kz_array *a, const struct kz_array *b);

/* The same for elements at two addresses; each has at least one. */
bool overlap_elements(const struct strided *a, int64_t a_address, const struct strided *b,
	int64_t b_address);

/* Whether all that two arrays share is each element with the one at the same place. */
bool overlap_is_same(const struct kz_array *a, const struct kz_array *b);

#endif

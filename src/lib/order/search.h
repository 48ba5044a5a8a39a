/* SPDX-License-Identifier: MIT */
#ifndef LIB_ORDER_SEARCH_H
#define LIB_ORDER_SEARCH_H

/* Places among sorted elements, for functions that count by them. */
#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/ops/elementwise.h"

/* What a search finds for a value; the head of kernels/search.cuh says what each is. */
enum search_kind { SEARCH_ORDER, SEARCH_LEFT, SEARCH_RIGHT, SEARCH_BINS };

/* How neighbours follow each other. */
struct search_order {
	uint64_t rise, fall; /* the first element before a higher and before a lower one */
};
#define SEARCH_NONE UINT64_MAX /* there is none */

/* The order of 1-d elements; waits for them. */
kz_status search_find_order(struct search_order *order, kz_array *sorted, struct kz_stream *stream,
	kz_error *err);

/* Where values are searched, and how. */
struct search {
	struct kz_array *sorted; /* 1-d, without structs */
	enum search_kind kind;
	bool down;               /* places are counted from the end */
	struct kz_stream *stream;
};

/* Places of the values' shape.  They are int64, except for SEARCH_BINS, whose numbers have the
 * smallest type that holds them.  Both arrays become their common type first; neither has
 * structs. */
kz_status search_run(kz_array **out, const struct search *search, kz_array *values, kz_error *err);
/* Check two arrays of one device, without structs, the first of which is 1-d. */
kz_status search_check(const kz_array *sorted, const kz_array *values, const char *call,
	kz_error *err);

#endif

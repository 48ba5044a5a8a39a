/* SPDX-License-Identifier: MIT */
#ifndef LIB_ORDER_SELECT_H
#define LIB_ORDER_SELECT_H

/* The elements at given places of rows in the order of a sort, without sorting the rows. */
#include "lib/array/array.h"

enum { SELECT_RANKS = 4 }; /* more elements of a row are worth a sort */

struct select {
	struct kz_device *device;
	struct kz_stream *stream;
	struct kz_array *rows; /* (rows, n) without gaps; owned */
	int descending;
	int ranks;             /* how many were found */
	struct kz_array *kept, *sizes, *counts, *states;
};

/* Whether to select elements at so many ranks of rows of n, or to sort the rows. */
bool select_is_worth(kz_dtype dtype, int64_t n, int64_t ranks);
/* Find the elements at `count` ranks of each row, in rising order and inside of the row.  Rows,
 * stream and order are set. */
kz_status select_run(struct select *select, const int64_t *ranks, int count, kz_error *err);
/* Of each row the first element found, whose rank is given, the one after it and the last one:
 * arrays of (rows), which the caller releases.  Of floats a zero is positive, and NaN has one
 * form. */
kz_status select_give(struct kz_array *out[3], struct select *select, int64_t rank, kz_error *err);
/* The first `most` elements of each row, or their indexes, split by the elements found: those
 * before one, equal to it, after it, each in the order of the row.  Either may be NULL. */
kz_status select_split(struct kz_array **values, struct kz_array **indexes, struct select *select,
	int64_t most, kz_error *err);
void select_finish(struct select *select);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Elements at strides.
 *
 * Nothing here knows of arrays or devices: a shape, strides in bytes and the size of an element say
 * where elements lie, relative to the first one.  Strides come from callers: they may be negative,
 * 0 or absurd.  Extents have been checked.
 */
#include "base/common.h"

#include "lib/array/shape.h"
#include "lib/array/strided.h"

#include <stdlib.h>
#include <string.h>

enum { TILE = 32 }; /* elements: lines of 32 rows fit the first cache */

void strided_row_major(int64_t strides[KZ_MAX_DIMS], const kz_shape *shape, int64_t size)
{
	for (int64_t i = shape->ndim; i-- > 0;) {
		strides[i] = size;
		/* Nothing is at a stride beyond 64 bits: the array is empty, or its size is
		 * refused. */
		if (__builtin_mul_overflow(size, shape->dims[i] ? shape->dims[i] : 1, &size)) {
			size = INT64_MAX;
		}
	}
}

static bool strided_is_empty(const kz_shape *shape)
{
	for (int64_t i = 0; i < shape->ndim; i++) {
		if (shape->dims[i] == 0) {
			return true;
		}
	}
	return false;
}

bool strided_span(int64_t *low, int64_t *high, const struct strided *elements)
{
	const kz_shape *shape = &elements->shape;
	bool empty = strided_is_empty(shape);
	*low = 0;
	*high = empty ? 0 : elements->size;
	for (int64_t i = 0; !empty && i < shape->ndim; i++) {
		int64_t reach;
		int64_t *end = elements->strides[i] < 0 ? low : high;
		if (__builtin_mul_overflow(shape->dims[i] - 1, elements->strides[i], &reach)
		    || __builtin_add_overflow(*end, reach, end)) {
			return false;
		}
	}
	return true;
}

kz_status strided_check(const struct strided *elements, int64_t offset,
	const struct strided_bounds *bounds, kz_error *err)
{
	int64_t low, high;
	if (strided_span(&low, &high, elements) && !__builtin_add_overflow(low, offset, &low)
	    && !__builtin_add_overflow(high, offset, &high) && low >= 0 && high <= bounds->end) {
		return KZ_OK;
	}
	return error_set(err, KZ_RANGE,
		"expected %s within bytes %lld to %lld of %s, got shape %s from byte %lld",
		bounds->what, -(long long)bounds->base, (long long)(bounds->end - bounds->base),
		bounds->of, shape_text(&elements->shape).text, (long long)(offset - bounds->base));
}

int64_t strided_run(const struct strided *elements, int64_t *outer)
{
	const kz_shape *shape = &elements->shape;
	int64_t run = elements->size;
	*outer = shape->ndim;
	while (*outer > 0
	       && (elements->strides[*outer - 1] == run || shape->dims[*outer - 1] == 1)) {
		run *= shape->dims[--*outer];
	}
	return run;
}

/* By ascending stride, each must step over all that the smaller ones cover.  This refuses some
 * extents that interleave without overlap, but never accepts an overlap.  The span of the elements
 * fits in 64 bits, so no sum here overflows. */
kz_status strided_distinct(const struct strided *elements, const char *what, kz_error *err)
{
	const kz_shape *shape = &elements->shape;
	const int64_t *strides = elements->strides;
	int64_t covered = elements->size;
	bool done[KZ_MAX_DIMS] = {false};
	if (strided_is_empty(shape)) {
		return KZ_OK;
	}
	for (;;) {
		int64_t next = -1;
		for (int64_t i = 0; i < shape->ndim; i++) {
			if (!done[i] && shape->dims[i] > 1
			    && (next < 0 || llabs(strides[i]) < llabs(strides[next]))) {
				next = i;
			}
		}
		if (next < 0) {
			return KZ_OK;
		}
		int64_t stride = llabs(strides[next]);
		if (stride < covered) {
			return error_set(err, KZ_INVALID,
				"cannot set %s whose elements may share memory: stride %lld is "
				"%lld, within %lld bytes that are covered already", what,
				(long long)next, (long long)strides[next], (long long)covered);
		}
		covered += stride * (shape->dims[next] - 1);
		done[next] = true;
	}
}

/* One extent.  A constant size makes each memcpy a load and a store. */
static void strided_copy_row(char *to, int64_t to_stride, const char *from, int64_t from_stride,
	int64_t count, int64_t size)
{
#define ROW(bytes)                                                                                 \
	case bytes:                                                                                \
		for (int64_t i = 0; i < count; i++) {                                              \
			memcpy(to + i * to_stride, from + i * from_stride, bytes);                 \
		}                                                                                  \
		break
	switch (size) {
		ROW(1);
		ROW(2);
		ROW(4);
		ROW(8);
		ROW(16);
	default:
		for (int64_t i = 0; i < count; i++) {
			memcpy(to + i * to_stride, from + i * from_stride, (size_t)size);
		}
	}
#undef ROW
}

/* Two extents, the second of which is the last that does not lie in one run. */
struct plane {
	int64_t rows;
	int64_t columns;
	int64_t tile; /* of how many rows and columns at once */
	int64_t to_row;
	int64_t to_column;
	int64_t from_row;
	int64_t from_column;
	int64_t size;
};

static void strided_copy_plane(const struct plane *p, char *to, const char *from)
{
	for (int64_t top = 0; top < p->rows; top += p->tile) {
		int64_t bottom = min64(p->rows, top + p->tile);
		for (int64_t left = 0; left < p->columns; left += p->tile) {
			int64_t count = min64(p->columns - left, p->tile);
			for (int64_t row = top; row < bottom; row++) {
				strided_copy_row(to + row * p->to_row + left * p->to_column,
					p->to_column,
					from + row * p->from_row + left * p->from_column,
					p->from_column, count, p->size);
			}
		}
	}
}

/* The extent to go through together with `last`: one of smaller strides on either side, as in a
 * transpose; -1 if there is none. */
static int64_t strided_find_rows(const kz_shape *shape, const int64_t *to, const int64_t *from,
	int64_t last)
{
	int64_t found = -1;
	for (int64_t i = 0; i < last; i++) {
		bool smaller = llabs(from[i]) < llabs(from[last]) || llabs(to[i]) < llabs(to[last]);
		if (shape->dims[i] > 1 && smaller
		    && (found < 0 || llabs(from[i]) + llabs(to[i])
				< llabs(from[found]) + llabs(to[found]))) {
			found = i;
		}
	}
	return found;
}

void strided_copy(const struct strided *elements, char *to, const int64_t *to_strides,
	const char *from)
{
	const struct strided target = {elements->shape, to_strides, elements->size};
	const int64_t *from_strides = elements->strides;
	const int64_t *dims = elements->shape.dims;
	int64_t index[KZ_MAX_DIMS] = {0};
	int64_t outer, target_outer;
	if (strided_is_empty(&elements->shape)) {
		return;
	}
	int64_t run = strided_run(elements, &outer);
	run = min64(run, strided_run(&target, &target_outer));
	outer = target_outer > outer ? target_outer : outer;
	struct plane plane = {.rows = 1, .columns = 1, .tile = INT64_MAX, .size = run};
	int64_t last = outer - 1, rows = -1;
	if (last >= 0) {
		plane.columns = dims[last];
		plane.to_column = to_strides[last];
		plane.from_column = from_strides[last];
		rows = strided_find_rows(&elements->shape, to_strides, from_strides, last);
	}
	if (rows >= 0) {
		plane.rows = dims[rows];
		plane.to_row = to_strides[rows];
		plane.from_row = from_strides[rows];
		plane.tile = TILE;
	}
	for (int64_t i = 0; i >= 0;) {
		strided_copy_plane(&plane, to, from);
		for (i = last - 1; i >= 0 && (i == rows || ++index[i] == dims[i]); i--) {
			to -= i == rows ? 0 : to_strides[i] * (dims[i] - 1);
			from -= i == rows ? 0 : from_strides[i] * (dims[i] - 1);
			index[i] = 0;
		}
		if (i >= 0) {
			to += to_strides[i];
			from += from_strides[i];
		}
	}
}

static void strided_put_axis(const struct strided_axes *axes, int to, int from, int64_t extent)
{
	axes->dims[to] = extent;
	for (int k = 0; k < axes->operands; k++) {
		axes->strides[k][to] = axes->strides[k][from];
	}
	if (axes->kinds) {
		axes->kinds[to] = axes->kinds[from];
	}
}

static bool strided_can_merge(const struct strided_axes *axes, int outer, int inner)
{
	for (int k = 0; k < axes->operands; k++) {
		if (axes->strides[k][outer] != axes->strides[k][inner] * axes->dims[inner]) {
			return false;
		}
	}
	return !axes->kinds || axes->kinds[outer] == axes->kinds[inner];
}

int strided_merge(const struct strided_axes *axes, int ndim)
{
	int left = 0;
	for (int i = 0; i < ndim; i++) {
		int64_t extent = axes->dims[i];
		if (extent == 1) {
			continue;
		}
		if (left && strided_can_merge(axes, left - 1, i)) {
			extent *= axes->dims[--left];
		}
		if (left < i) {
			strided_put_axis(axes, left, i, extent);
		}
		left++;
	}
	return left;
}

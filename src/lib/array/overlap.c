/* SPDX-License-Identifier: MIT */
/*
 * Whether two arrays have bytes in common.
 *
 * The addresses of an array are its lowest one plus a sum of k * stride, 0 <= k < extent, over all
 * axes.  Two elements meet if the difference of two such sums is small enough.  Counting the second
 * array from its other end turns that difference into a sum.  So the question is whether a sum of
 * bounded multiples can fall into a window.
 *
 * The search takes the largest stride first: few of its multiples leave a rest that the smaller
 * strides can reach.  A stride that occurs twice, as in slices of one array, counts as one with
 * more multiples.  That keeps the search short.
 */
#include "base/common.h"

#include "lib/array/overlap.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 2000 };

/* 0 to `most` times `stride`. */
struct term {
	int64_t stride;
	int64_t most;
};

struct search {
	struct term terms[2 * KZ_MAX_DIMS];
	int64_t rest[2 * KZ_MAX_DIMS + 1]; /* what the terms from here on can add up to */
	int count;
	int steps;
};

/* Add the axes of elements, and their lowest and their highest address. */
static void overlap_add_axes(struct search *search, const struct strided *elements, int64_t address,
	int64_t *low, int64_t *high)
{
	*low = *high = address;
	for (int64_t i = 0; i < elements->shape.ndim; i++) {
		int64_t stride = elements->strides[i];
		int64_t most = elements->shape.dims[i] - 1;
		int64_t reach = most > 0 ? stride * most : 0;
		int k = 0;
		*(reach < 0 ? low : high) += reach;
		while (k < search->count && search->terms[k].stride != llabs(stride)) {
			k++;
		}
		if (reach && k == search->count) {
			search->terms[search->count++] = (struct term){llabs(stride), most};
		} else if (reach) {
			search->terms[k].most += most;
		}
	}
}

static int overlap_by_stride(const void *a, const void *b)
{
	int64_t left = ((const struct term *)a)->stride, right = ((const struct term *)b)->stride;
	return left < right ? 1 : left > right ? -1 : 0;
}

/* Whether the terms from `first` on can add up to a number from low to high. */
static bool overlap_can_reach(struct search *search, int first, int64_t low, int64_t high)
{
	if (++search->steps > STEPS) {
		return true;
	}
	if (high < 0 || low > search->rest[first]) {
		return false;
	}
	if (first == search->count) {
		return true;
	}
	int64_t stride = search->terms[first].stride;
	int64_t need = low - search->rest[first + 1];
	int64_t least = need > 0 ? (need - 1) / stride + 1 : 0;
	int64_t most = high / stride;
	most = most < search->terms[first].most ? most : search->terms[first].most;
	for (int64_t k = most; k >= least; k--) {
		if (overlap_can_reach(search, first + 1, low - k * stride, high - k * stride)) {
			return true;
		}
	}
	return false;
}

bool overlap_is_same(const struct kz_array *a, const struct kz_array *b)
{
	if (array_address(a) != array_address(b) || a->shape.ndim != b->shape.ndim
	    || kz_dtype_size(a->dtype) != kz_dtype_size(b->dtype)) {
		return false;
	}
	for (int64_t i = 0; i < a->shape.ndim; i++) {
		if (a->shape.dims[i] != b->shape.dims[i]
		    || (a->shape.dims[i] > 1 && a->strides[i] != b->strides[i])) {
			return false;
		}
	}
	return true;
}

bool overlap_elements(const struct strided *a, int64_t a_address, const struct strided *b,
	int64_t b_address)
{
	struct search search = {.count = 0};
	int64_t low[2], high[2];
	overlap_add_axes(&search, a, a_address, &low[0], &high[0]);
	overlap_add_axes(&search, b, b_address, &low[1], &high[1]);
	qsort(search.terms, (size_t)search.count, sizeof(search.terms[0]), overlap_by_stride);
	search.rest[search.count] = 0;
	for (int k = search.count; k-- > 0;) {
		search.rest[k] = search.rest[k + 1] + search.terms[k].stride * search.terms[k].most;
	}
	int64_t apart = high[1] - low[0];
	return overlap_can_reach(&search, 0, apart - a->size + 1, apart + b->size - 1);
}

bool overlap_memory(const struct kz_array *a, const struct kz_array *b)
{
	const struct memory *left = a->buffer->memory, *right = b->buffer->memory;
	return right->address + (CUdeviceptr)right->size > left->address
		&& left->address + (CUdeviceptr)left->size > right->address;
}

bool overlap_arrays(const struct kz_array *a, const struct kz_array *b)
{
	if (!a->count || !b->count || !overlap_memory(a, b)) {
		return false;
	}
	const struct strided elements[2] = {array_elements(a), array_elements(b)};
	return overlap_elements(&elements[0], (int64_t)array_address(a), &elements[1],
		(int64_t)array_address(b));
}

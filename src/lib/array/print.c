/* SPDX-License-Identifier: MIT */
/*
 * Arrays as text: which elements are shown, and fetching them; format.c writes them.
 *
 * Of a large array only the edges are shown, as numpy does it: the first and the last few elements
 * along each axis.  Only these are fetched from the device.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "lib/array/format.h"

#include <stdio.h>

enum { SUMMARY = 1000, EDGE = 3, SHOWN_MAX = 100000 }; /* numpy's threshold and edge items */

/* How many elements of each extent are shown: all, or as many from either end as keep the text
 * short.  Returns the product. */
static int64_t print_choose_shown(int64_t shown[KZ_MAX_DIMS], const struct kz_array *array)
{
	int64_t count = array->count;
	for (int edge = EDGE; edge > 0; edge--) {
		count = 1;
		for (int64_t i = 0; i < array->shape.ndim; i++) {
			int64_t extent = array->shape.dims[i];
			shown[i] = array->count > SUMMARY && extent > 2 * edge ? 2 * edge : extent;
			count *= shown[i];
		}
		if (count <= SHOWN_MAX) {
			break;
		}
	}
	return count;
}

/* Fetch the shown elements: those of both ends along extent `axis` of each slice. */
static kz_status print_fetch(const struct kz_array *slice, int64_t axis, const int64_t *shown,
	char **to, kz_error *err)
{
	struct kz_array part = *slice;
	if (axis == slice->shape.ndim) {
		kz_status st = kz_array_get(&part, *to, kz_array_size(&part), err);
		*to += kz_array_size(&part);
		return st;
	}
	int64_t extent = slice->shape.dims[axis];
	bool last = axis == slice->shape.ndim - 1;
	int64_t step = last ? (shown[axis] < extent ? shown[axis] / 2 : extent) : 1;
	kz_status st = KZ_OK;
	for (int64_t k = 0; !st && k < shown[axis]; k += step) {
		int64_t index = shown[axis] < extent && k >= shown[axis] / 2
			? extent - shown[axis] + k : k;
		part.offset = slice->offset + index * slice->strides[axis];
		part.shape.dims[axis] = step;
		part.count = slice->count / extent * step;
		st = print_fetch(&part, axis + 1, shown, to, err);
	}
	return st;
}

static kz_status print_to_text(struct str *text, kz_array *array, kz_error *err)
{
	struct elements elements = {
		.dtype = array->dtype, .ndim = (int)array->shape.ndim, .dims = array->shape.dims,
	};
	elements.count = print_choose_shown(elements.shown, array);
	char *data = mem_alloc((size_t)(elements.count * kz_dtype_size(array->dtype)) + 1);
	if (!data) {
		return error_no_memory(err);
	}
	char *end = data;
	kz_status st = elements.count == array->count
		? kz_array_get(array, data, kz_array_size(array), err)
		: print_fetch(array, 0, elements.shown, &end, err);
	if (!st) {
		elements.data = data;
		format_elements(text, &elements);
		str_addc(text, '\n');
		st = text->failed ? error_no_memory(err) : KZ_OK;
	}
	mem_free(data);
	return st;
}

kz_status kz_array_print(kz_array *array, FILE *stream, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = pointer_check(stream, "a FILE", err))
	    || (st = array_check_capture(array, err))) {
		return st;
	}
	struct str text = STR_INIT;
	st = print_to_text(&text, array, err);
	st = st ? st : file_show(stream, &text, "an array", err);
	str_free(&text);
	return st;
}

kz_status kz_array_format(kz_array *array, char *buffer, int64_t size, int64_t *length,
	kz_error *err)
{
	error_scope(err);
	kz_status st;
	size_t room = buffer && size > 0 ? (size_t)size : 0;
	struct str text = STR_INIT;
	if (room > 0) {
		buffer[0] = '\0';
	}
	if (!(st = object_check(array, OBJECT_ARRAY, err))
	    && !(st = array_check_capture(array, err))) {
		st = print_to_text(&text, array, err);
	}
	if (!st) {
		str_copy(buffer, room, &text);
	}
	if (length) {
		*length = st ? 0 : (int64_t)text.len;
	}
	str_free(&text);
	return st;
}

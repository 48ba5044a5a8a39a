/* SPDX-License-Identifier: MIT */
/*
 * What reports say of an address: the allocation or the mapping that it is in, else the nearest
 * allocation, which a wild access most likely missed, unless that is far away; and the element,
 * where an array of the library is there.
 */
#include "base/common.h"

#include "cpu/mem/memory_text.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cpu/mem/memory_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NEAR = 1 << 20 }; /* bytes: an access further away has not missed that allocation */

/* How far an address is past a live range, or before it; UINT64_MAX if no range is live. */
static uint64_t memory_text_distance(const struct memory_range *range, uint64_t address)
{
	if (!range || range->is_dead) {
		return UINT64_MAX;
	}
	return address < range->address ? range->address - address
		: address - range->address - range->size;
}

/* Append which element of a range's array an address is in or would be in, where the first axis
 * goes on: ", element [4, 0] of an array (4, 8) of float32". */
static void memory_text_add_element(const struct memory_range *range, uint64_t address, char *text,
	size_t size)
{
	const struct kudzu_array *array = range->array;
	int64_t index[countof(array->dims)], count = 1;
	for (int32_t axis = 0; array && axis < array->ndim; axis++) {
		count *= array->dims[axis];
	}
	if (!array || array->ndim == 0 || count == 0) {
		return;
	}
	const int64_t offset = (int64_t)(address - range->address), each = array->element_size;
	int64_t rest = offset >= 0 ? offset / each : -((each - 1 - offset) / each);
	for (int32_t axis = array->ndim - 1; axis > 0; axis--) {
		const int64_t dim = array->dims[axis], at = rest % dim;
		index[axis] = at < 0 ? at + dim : at;
		rest = (rest - index[axis]) / dim;
	}
	index[0] = rest;
	struct str add = STR_INIT;
	for (int32_t axis = 0; axis < array->ndim; axis++) {
		str_addf(&add, "%s%" PRId64, axis > 0 ? ", " : ", element [", index[axis]);
	}
	for (int32_t axis = 0; axis < array->ndim; axis++) {
		str_addf(&add, "%s%" PRId64, axis > 0 ? ", " : "] of an array (",
			array->dims[axis]);
	}
	str_addf(&add, ") of %s", array->dtype);
	const size_t length = strlen(text);
	if (!add.failed && length + add.len < size) {
		memcpy(text + length, add.data, add.len + 1);
	}
	str_free(&add);
}

void memory_text_write(char *text, size_t size, const struct memory_near *near, uint64_t address)
{
	const struct memory_range *before = near->before, *after = near->after, *area = near->area;
	const uint64_t past = memory_text_distance(before, address);
	const uint64_t left = memory_text_distance(after, address);
	if (area && area->kind == MEMORY_RESERVED) {
		const struct mapping *mapping = mapping_at(area->maps, address);
		snprintf(text, size, "inside the %zu bytes that are reserved at 0x%" PRIx64 ", %s",
			area->size, area->address, !mapping ? "where nothing is mapped"
			: mapping->range.access.flags == 0 ? "where no access was granted"
			: "where access to more is needed than was granted");
	} else if (before && address - before->address < before->size) {
		snprintf(text, size, "inside the %zu-byte allocation at 0x%" PRIx64 "%s",
			before->size, before->address, before->is_dead ? ", which was freed" : "");
		memory_text_add_element(before, address, text, size);
	} else if (past < NEAR && past < left) {
		snprintf(text, size, "%" PRIu64 " bytes past the end of the %zu-byte allocation at "
			"0x%" PRIx64, past, before->size, before->address);
		memory_text_add_element(before, address, text, size);
	} else if (left < NEAR) {
		snprintf(text, size, "%" PRIu64 " bytes before the %zu-byte allocation at 0x%"
			PRIx64, left, after->size, after->address);
		memory_text_add_element(after, address, text, size);
	} else {
		snprintf(text, size, "in no allocation");
	}
}

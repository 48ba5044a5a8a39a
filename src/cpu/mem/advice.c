/* SPDX-License-Identifier: MIT */
/*
 * Advice about parts of an allocation.  A part is split where advice begins or ends.  Parts are
 * never joined again, for programs advise the same few ranges over and over.
 */
#include "base/common.h"

#include "cpu/mem/advice.h"

#include "base/alloc.h"

#define PAGE 4096 /* CUDA rounds to the host's pages; a part of one has no advice of its own */

static struct advice_part *advice_add(struct advice_part *next, uint64_t start)
{
	struct advice_part *part = mem_zalloc(1, sizeof(*part));
	if (part) {
		part->next = next;
		part->start = start;
	}
	return part;
}

/* Make a part start at an address. */
static bool advice_split(struct advice_part *list, uint64_t at)
{
	while (list->next && list->next->start <= at) {
		list = list->next;
	}
	if (list->start == at) {
		return true;
	}
	struct advice_part *part = advice_add(list->next, at);
	if (part) {
		part->advice = list->advice;
		list->next = part;
	}
	return part;
}

static void advice_apply(struct memory_advice *advice, const struct advice_change *change)
{
	switch (change->what) {
	case ADVICE_READ_MOSTLY:
		advice->read_mostly = change->on;
		break;
	case ADVICE_BY_DEVICE:
		advice->accessed_by = change->on ? advice->accessed_by | 1u << change->place.id
			: advice->accessed_by & ~(1u << change->place.id);
		break;
	case ADVICE_BY_HOST:
		advice->accessed_by_host = change->on;
		break;
	case ADVICE_PREFERRED:
		advice->preferred = change->place;
		break;
	case ADVICE_PREFETCHED:
		advice->prefetched = change->place;
		break;
	}
}

bool advice_change(struct advice_part **list, uint64_t start, uint64_t end,
	const struct advice_change *change)
{
	start -= start % PAGE;
	end = round_up(end, PAGE);
	if (!*list) {
		*list = advice_add(NULL, 0);
	}
	if (!*list || !advice_split(*list, start) || !advice_split(*list, end)) {
		return false;
	}
	for (struct advice_part *part = *list; part && part->start < end;
	     part = part->next) {
		if (part->start >= start) {
			advice_apply(&part->advice, change);
		}
	}
	return true;
}

static void advice_keep_same(struct memory_place *place, struct memory_place other)
{
	if (place->type != other.type || place->id != other.id) {
		*place = (struct memory_place){0};
	}
}

struct memory_advice advice_of(const struct advice_part *list, uint64_t start, uint64_t end)
{
	struct memory_advice all = {0};
	if (!list) {
		return all;
	}
	while (list->next && list->next->start <= start) {
		list = list->next;
	}
	all = list->advice;
	for (list = list->next; list && list->start < end; list = list->next) {
		const struct memory_advice *part = &list->advice;
		all.read_mostly &= part->read_mostly;
		all.accessed_by &= part->accessed_by;
		all.accessed_by_host &= part->accessed_by_host;
		advice_keep_same(&all.preferred, part->preferred);
		advice_keep_same(&all.prefetched, part->prefetched);
	}
	return all;
}

void advice_free(struct advice_part *list)
{
	while (list) {
		struct advice_part *next = list->next;
		mem_free(list);
		list = next;
	}
}

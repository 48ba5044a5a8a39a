/* SPDX-License-Identifier: MIT */
/*
 * Mappings in a reserved range.  The host and all devices see the same addresses, so a page has one
 * protection: what one of them may do, the others can do, too.
 */
#include "base/common.h"

#include "cpu/mem/memory_map.h"

#include "base/alloc.h"
#include "cpu/mem/system_refusal.h"

#include <sys/mman.h>

static uint64_t memory_map_end_of(const struct mapping *mapping)
{
	return mapping->range.address + mapping->range.size;
}

struct mapping *mapping_at(struct mapping *list, uint64_t address)
{
	while (list && memory_map_end_of(list) <= address) {
		list = list->next;
	}
	return list && list->range.address <= address ? list : NULL;
}

bool mapping_overlaps(const struct mapping *list, uint64_t address, size_t size)
{
	while (list && memory_map_end_of(list) <= address) {
		list = list->next;
	}
	return list && list->range.address < address + size;
}

bool mapping_are_whole(const struct mapping *list, uint64_t address, size_t size)
{
	while (list && list->range.address < address) {
		list = list->next;
	}
	while (list && list->range.address == address && list->range.size < size) {
		address += list->range.size;
		size -= list->range.size;
		list = list->next;
	}
	return list && list->range.address == address && list->range.size == size;
}

bool mapping_allows(const struct mapping *list, uint64_t address, size_t size, bool for_writing)
{
	const unsigned need = for_writing ? 2 : 1;
	while (list && memory_map_end_of(list) <= address) {
		list = list->next;
	}
	for (; list && list->range.address <= address; list = list->next) {
		size_t here = memory_map_end_of(list) - address;
		if (!(memory_access_any(list->range.access) & need)) {
			return false;
		}
		if (size <= here) {
			return true;
		}
		address += here;
		size -= here;
	}
	return false;
}

bool mapping_add(struct mapping **list, const struct memory_range *range, int file,
	uint64_t offset)
{
	struct mapping *mapping = mem_alloc(sizeof(*mapping));
	if (!mapping) {
		return false;
	}
	if (mmap((void *)(uintptr_t)range->address, range->size, PROT_NONE,
			MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, (off_t)offset)
			== MAP_FAILED) {
		refusal_note("mmap");
		mem_free(mapping);
		return false;
	}
	while (*list && (*list)->range.address < range->address) {
		list = &(*list)->next;
	}
	mapping->range = *range;
	mapping->next = *list;
	*list = mapping;
	return true;
}

struct mapping *mapping_remove(struct mapping **list, uint64_t address, size_t size)
{
	while ((*list)->range.address < address) {
		list = &(*list)->next;
	}
	struct mapping *first = *list;
	struct mapping **link = list;
	while (*link && (*link)->range.address < address + size) {
		link = &(*link)->next;
	}
	*list = *link;
	*link = NULL;
	return first;
}

static bool memory_map_protect(struct mapping *mapping, struct memory_access access,
	struct memory_access whose)
{
	struct memory_access *now = &mapping->range.access;
	const struct memory_access next =
		{(now->flags & ~whose.flags) | (access.flags & whose.flags)};
	const unsigned any = memory_access_any(next);
	int protection = (any & 1 ? PROT_READ : 0) | (any & 2 ? PROT_WRITE : 0);
	if (mprotect((void *)(uintptr_t)mapping->range.address, mapping->range.size, protection)
			!= 0) {
		refusal_note("mprotect");
		return false;
	}
	*now = next;
	return true;
}

bool mapping_protect(struct mapping *list, uint64_t address, size_t size,
	struct memory_access access, struct memory_access whose)
{
	bool ok = true;
	for (; ok && list && list->range.address < address + size; list = list->next) {
		ok = list->range.address < address || memory_map_protect(list, access, whose);
	}
	return ok;
}

void mapping_free(struct mapping *list)
{
	while (list) {
		struct mapping *next = list->next;
		mem_free(list);
		list = next;
	}
}

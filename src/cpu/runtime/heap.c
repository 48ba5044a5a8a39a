/* SPDX-License-Identifier: MIT */
/*
 * A heap with free lists by size class and boundary tags.
 *
 * The range is cut into blocks of whole units.  The first unit of a block knows the length of the
 * block and whether it is in use.  The last unit of a free block knows the length, too, so that a
 * block that becomes free finds free neighbours on both sides and merges with them.  A size class
 * is a power of two of units.
 */
#include "base/common.h"

#include "cpu/runtime/heap.h"

#include "base/alloc.h"
#include "cpu/mem/fault.h"
#include "cpu/mem/unwritten.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

enum { BINS = 32, TRIES = 8 };

#define NONE UINT32_MAX

/* The bookkeeping of one unit. */
struct unit {
	uint32_t length;  /* of the block that begins here, 0: none does; also at its end if free */
	uint32_t next;    /* free blocks: the neighbours in the list; each unit of a block that is
	                     or was in use, with HEAP_FINDS: where the block begins */
	uint32_t previous;
	uint16_t spare;   /* bytes at the end of a block in use that nobody has asked for */
	bool is_used;
};

struct heap {
	pthread_mutex_t lock;
	uint64_t base;
	uint32_t count;
	uint32_t gap;     /* bytes after each allocation */
	bool is_unwritten;
	bool finds;
	uint32_t bins[BINS];
	struct unit *units;
};

static unsigned heap_bin(uint32_t length)
{
	return 31 - (unsigned)__builtin_clz(length);
}

static void heap_insert(struct heap *heap, uint32_t at, uint32_t length)
{
	uint32_t *head = &heap->bins[heap_bin(length)];
	struct unit *unit = &heap->units[at];
	heap->units[at + length - 1].length = length;
	*unit = (struct unit){.length = length, .next = *head, .previous = NONE};
	if (*head != NONE) {
		heap->units[*head].previous = at;
	}
	*head = at;
}

/* Remove a free block from its list.  Afterwards no block begins or ends there. */
static void heap_take(struct heap *heap, uint32_t at)
{
	struct unit *unit = &heap->units[at];
	uint32_t length = unit->length;
	if (unit->previous != NONE) {
		heap->units[unit->previous].next = unit->next;
	} else {
		heap->bins[heap_bin(length)] = unit->next;
	}
	if (unit->next != NONE) {
		heap->units[unit->next].previous = unit->previous;
	}
	heap->units[at + length - 1].length = 0;
	unit->length = 0;
}

/* Find a free block of at least this length: one of the first in the list of its size class, else
 * the first of a larger class, else any block that is long enough. */
static uint32_t heap_find(const struct heap *heap, uint32_t length)
{
	unsigned bin = heap_bin(length);
	uint32_t at = heap->bins[bin];
	for (int i = 0; i < TRIES && at != NONE; i++) {
		if (heap->units[at].length >= length) {
			return at;
		}
		at = heap->units[at].next;
	}
	for (unsigned longer = bin + 1; longer < BINS; longer++) {
		if (heap->bins[longer] != NONE) {
			return heap->bins[longer];
		}
	}
	while (at != NONE && heap->units[at].length < length) {
		at = heap->units[at].next;
	}
	return at;
}

struct heap *heap_create(uint64_t base, size_t size, unsigned flags)
{
	size_t count = size / HEAP_ALIGN;
	struct heap *heap = mem_zalloc(1, sizeof(*heap));
	if (!heap || count >= NONE) {
		mem_free(heap);
		return NULL;
	}
	heap->base = base;
	heap->gap = flags & HEAP_GAPS ? HEAP_ALIGN : 0;
	heap->is_unwritten = flags & HEAP_UNWRITTEN;
	heap->finds = flags & HEAP_FINDS;
	heap->count = (uint32_t)count;
	heap->units = mem_zalloc(count + 1, sizeof(*heap->units));
	if (!heap->units) {
		mem_free(heap);
		return NULL;
	}
	for (int i = 0; i < BINS; i++) {
		heap->bins[i] = NONE;
	}
	if (count > 0) {
		heap_insert(heap, 0, heap->count);
	}
	pthread_mutex_init(&heap->lock, NULL);
	return heap;
}

void heap_release(struct heap *heap)
{
	if (heap) {
		pthread_mutex_destroy(&heap->lock);
		mem_free(heap->units);
		mem_free(heap);
	}
}

static uint32_t heap_alloc_units(struct heap *heap, uint32_t length)
{
	uint32_t at = heap_find(heap, length);
	if (at != NONE) {
		uint32_t whole = heap->units[at].length;
		heap_take(heap, at);
		heap->units[at] = (struct unit){.length = length, .is_used = true};
		if (whole > length) {
			heap_insert(heap, at + length, whole - length);
		}
		for (uint32_t i = 0; heap->finds && i < length; i++) {
			heap->units[at + i].next = at;
		}
	}
	return at;
}

static bool heap_free_units(struct heap *heap, uint32_t at)
{
	struct unit *units = heap->units;
	if (!units[at].is_used) {
		return false;
	}
	uint32_t end = at + units[at].length;
	units[at] = (struct unit){.length = 0};
	if (end < heap->count && !units[end].is_used) {
		uint32_t length = units[end].length;
		heap_take(heap, end);
		end += length;
	}
	/* The unit before is the last one of a free block, or belongs to a block in use.  Then its
	 * length is 0, unless that block has one unit. */
	if (at > 0 && units[at - 1].length > 0 && !units[at - 1].is_used) {
		at -= units[at - 1].length;
		heap_take(heap, at);
	}
	heap_insert(heap, at, end - at);
	return true;
}

/* A kernel that is interrupted must not jump away while it holds the lock. */
static void heap_lock(struct heap *heap)
{
	fault_hold();
	pthread_mutex_lock(&heap->lock);
}

static void heap_unlock(struct heap *heap)
{
	pthread_mutex_unlock(&heap->lock);
	fault_release();
}

uint64_t heap_alloc(struct heap *heap, uint64_t size)
{
	if (size == 0 || size > (uint64_t)heap->count * HEAP_ALIGN) {
		return 0;
	}
	heap_lock(heap);
	const uint64_t whole = round_up(size + heap->gap, HEAP_ALIGN);
	const uint32_t at = heap_alloc_units(heap, (uint32_t)(whole / HEAP_ALIGN));
	if (at != NONE) {
		heap->units[at].spare = (uint16_t)(whole - size);
	}
	heap_unlock(heap);
	const uint64_t address = at == NONE ? 0 : heap->base + (uint64_t)at * HEAP_ALIGN;
	if (address != 0 && heap->is_unwritten) {
		unwritten_fill(address, size);
	}
	return address;
}

bool heap_free(struct heap *heap, uint64_t address)
{
	uint64_t offset = address - heap->base;
	if (offset % HEAP_ALIGN != 0 || offset / HEAP_ALIGN >= heap->count) {
		return false;
	}
	heap_lock(heap);
	bool ok = heap_free_units(heap, (uint32_t)(offset / HEAP_ALIGN));
	heap_unlock(heap);
	return ok;
}

bool heap_covers(const struct heap *heap, uint64_t address)
{
	return address - heap->base < (uint64_t)heap->count * HEAP_ALIGN;
}

/* The first unit of the block in use that has an address of the range; NULL if no block has it. */
static const struct unit *heap_unit_of(const struct heap *heap, uint64_t address)
{
	const uint64_t at = (address - heap->base) / HEAP_ALIGN, begin = heap->units[at].next;
	const struct unit *unit = &heap->units[begin <= at ? begin : at];
	assert(heap->finds);
	return unit->is_used && at - begin < unit->length ? unit : NULL;
}

static uint64_t heap_begin_of(const struct heap *heap, const struct unit *unit)
{
	return heap->base + (uint64_t)(unit - heap->units) * HEAP_ALIGN;
}

static uint64_t heap_size_of(const struct unit *unit)
{
	return (uint64_t)unit->length * HEAP_ALIGN - unit->spare;
}

bool heap_holds(struct heap *heap, uint64_t address, size_t size)
{
	heap_lock(heap);
	const struct unit *unit = heap_unit_of(heap, address);
	const uint64_t most = unit ? heap_size_of(unit) : 0;
	const bool holds = unit && size <= most
		&& address - heap_begin_of(heap, unit) <= most - size;
	heap_unlock(heap);
	return holds;
}

void heap_describe(struct heap *heap, uint64_t address, char *text, size_t size)
{
	heap_lock(heap);
	const struct unit *unit = heap_unit_of(heap, address);
	const uint64_t begin = unit ? heap_begin_of(heap, unit) : 0;
	const uint64_t most = unit ? heap_size_of(unit) : 0;
	if (!unit) {
		snprintf(text, size, "in memory of the heap that is not allocated, or that was "
			"freed");
	} else if (address - begin < most) {
		snprintf(text, size, "inside the %" PRIu64 " byte%s that malloc has returned at 0x%"
			PRIx64, most, most == 1 ? "" : "s", begin);
	} else {
		snprintf(text, size, "%" PRIu64 " bytes past the end of the %" PRIu64
			" byte%s that malloc has returned at 0x%" PRIx64, address - begin - most,
			most, most == 1 ? "" : "s", begin);
	}
	heap_unlock(heap);
}

/* SPDX-License-Identifier: MIT */
/*
 * Memory that is in use, as errors and lists name it.
 *
 * When a kernel on the CPU device accesses memory that is not there, the driver logs the address
 * and the allocation beside it:
 *
 *	kernel 'f': access to address 0x7f0000200010, which is 16 bytes past the end of the
 *	2097152-byte allocation at 0x7f0000000000; block (0,0,0), thread (4,0,0)
 *
 * To the driver a segment of the pool is one allocation.  The pool knows what is in it, so the
 * words between "which is" and the semicolon are written anew, for the nearest piece that is in
 * use:
 *
 *	2096672 bytes past the end of the 400-byte allocation at 0x7f0000000000, an array of
 *	100 float32
 *
 * or "the buffer of argument 2", which the library has made for the host memory of KZ_IN, KZ_OUT or
 * KZ_INOUT.
 *
 * What the driver says of other allocations stays, such as a module's variables.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/core/live.h"
#include "lib/core/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far an index of 32 bits leads, in elements of 16 bytes. */
#define LIVE_FAR ((uint64_t)64 << 30)

kz_live_memory live_entry(const struct mempool *pool, const struct free_block *block)
{
	const struct memory *memory = block->memory;
	return (kz_live_memory){
		.number = block->number, .address = memory->address, .size = memory->size,
		.dtype = memory->dtype, .count = memory->count,
		.pinned = pool->kind == MEMPOOL_PINNED,
	};
}

const char *live_describe(char *text, size_t size, const kz_live_memory *memory)
{
	if (memory->dtype) {
		snprintf(text, size, "an array of %" PRId64 " %s", memory->count,
			kz_dtype_name(memory->dtype));
	} else {
		snprintf(text, size, "%s", memory->pinned ? "a pinned buffer"
			: memory->number ? "a buffer" : "wrapped memory");
	}
	return text;
}

/* A wild access. */
struct miss {
	uint64_t address;
	uint64_t allocation; /* that the driver names; 0: none */
	bool is_ours;        /* this is a segment of a pool */
	bool is_before;      /* the address is before the nearest piece, not after it */
	uint64_t distance;   /* to that, LIVE_FAR or more: there is none */
	kz_live_memory nearest;
	int32_t argument;    /* for whose host memory that is; or 0 */
};

/* Find the piece of a pool's memory that is nearest. */
static void live_look(struct miss *miss, struct mempool *pool)
{
	pthread_mutex_lock(&pool->lock);
	for (struct segment *segment = pool->segments; segment; segment = segment->next) {
		miss->is_ours |= segment->first.address == miss->allocation;
		for (struct free_block *block = &segment->first; block; block = block->behind) {
			if (!live_is(segment, block)) {
				continue;
			}
			const struct memory *memory = block->memory;
			const uint64_t end = memory->address + (uint64_t)memory->size;
			const bool is_before = miss->address < memory->address;
			const uint64_t distance = is_before ? memory->address - miss->address
				: miss->address - end;
			if ((is_before || miss->address >= end) && distance < miss->distance) {
				miss->distance = distance;
				miss->is_before = is_before;
				miss->nearest = live_entry(pool, block);
				miss->argument = memory->argument;
			}
		}
	}
	pthread_mutex_unlock(&pool->lock);
}

/* Read what the driver says between `where` and `end`; false if it names what was accessed, and not
 * what lies beside it. */
static bool live_read(struct miss *miss, const char *log, const char *where, const char *end)
{
	static const char address[] = "address 0x", allocation[] = "allocation at 0x";
	const char *at = strstr(log, address);
	const char *named = strstr(where, allocation);
	if (!at || at > where || strncmp(where, "inside", strlen("inside")) == 0) {
		return false;
	}
	*miss = (struct miss){.distance = LIVE_FAR};
	miss->address = strtoull(at + strlen(address), NULL, 16);
	if (named && named < end) {
		miss->allocation = strtoull(named + strlen(allocation), NULL, 16);
	}
	return true;
}

void live_name_missed(struct kz_device *dev, kz_error *err)
{
	static const char which[] = ", which is ";
	const char *where = err->status == KZ_FAULT && err->log ? strstr(err->log, which) : NULL;
	const char *end = where ? strchr(where, ';') : NULL;
	struct miss miss;
	char name[128];
	if (!end || !live_read(&miss, err->log, where += strlen(which), end)) {
		return;
	}
	for (int kind = 0; kind < MEMPOOL_KINDS; kind++) {
		live_look(&miss, &dev->pools[kind]);
	}
	if (miss.distance >= LIVE_FAR || (miss.allocation != 0 && !miss.is_ours)) {
		return;
	}
	if (miss.argument > 0) {
		snprintf(name, sizeof(name), "the buffer of argument %d", (int)miss.argument);
	} else {
		live_describe(name, sizeof(name), &miss.nearest);
	}
	struct str text = STR_INIT;
	str_addn(&text, err->log, (size_t)(where - err->log));
	str_addf(&text, "%" PRIu64 " bytes %s the %" PRId64 "-byte allocation at 0x%" PRIx64
		", %s%s",
		miss.distance, miss.is_before ? "before" : "past the end of", miss.nearest.size,
		miss.nearest.address, name, end);
	if (text.failed) {
		str_free(&text);
	} else {
		error_take_log(err, text.data);
	}
}

/* SPDX-License-Identifier: MIT */
/* See room.h. */
#include "base/common.h"

#include "cpu/exec/room.h"

#include "base/alloc.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHARED_REACH ((size_t)ROOM_SHARED_REACH)
#define SHARED_RESERVED (2 * SHARED_REACH + GUARD)
#define GUARD ((size_t)1 << 16) /* bytes without access around an area */
#define FRAME_ALIGN 64
#define LOCAL_ALIGN 16 /* at least: local_size is a multiple of what the kernel declares */
#define MAX_SCRATCH (SIZE_MAX / 4) /* so that a bit more still fits */

static void *room_map_none(size_t size)
{
	void *map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return map == MAP_FAILED ? NULL : map;
}

static size_t room_to_pages(size_t size)
{
	return round_up(size, (size_t)sysconf(_SC_PAGESIZE));
}

static bool room_grow_slots(struct room *room, uint32_t count)
{
	if (count > room->slot_cap) {
		struct slot *slots = mem_zalloc(count, sizeof(*slots));
		if (!slots) {
			return false;
		}
		mem_free(room->block.slots);
		room->block.slots = slots;
		room->slot_cap = count;
	}
	room->block.slot_count = count;
	return true;
}

/* Give access to exactly the pages that the block's shared memory takes. */
static bool room_resize_shared(struct room *room, size_t size)
{
	size = room_to_pages(size);
	if (!room->shared) {
		uint8_t *map = room_map_none(SHARED_RESERVED);
		if (!map) {
			return false;
		}
		room->shared = map + SHARED_REACH;
	}
	if (size > room->shared_size
	    && mprotect(room->shared, size, PROT_READ | PROT_WRITE) != 0) {
		return false;
	}
	if (size < room->shared_size
	    && mprotect(room->shared + size, room->shared_size - size, PROT_NONE) != 0) {
		return false;
	}
	room->shared_size = size;
	return true;
}

static void room_free_area(struct room_area *area)
{
	if (area->data) {
		munmap(area->data - GUARD, area->size + 2 * GUARD);
	}
}

static bool room_grow_area(struct room_area *area, size_t size)
{
	if (area->data && size <= area->size) {
		return true;
	}
	size = room_to_pages(size > 0 ? size : 1);
	uint8_t *map = room_map_none(size + 2 * GUARD);
	if (!map) {
		return false;
	}
	if (mprotect(map + GUARD, size, PROT_READ | PROT_WRITE) != 0) {
		munmap(map, size + 2 * GUARD);
		return false;
	}
	room_free_area(area);
	*area = (struct room_area){map + GUARD, size};
	return true;
}

static bool room_get_exchanges(struct room *room)
{
	struct block *block = &room->block;
	if (!block->exchanges) {
		block->exchanges = mem_zalloc(BLOCK_MAX_GROUPS, sizeof(*block->exchanges));
	}
	return block->exchanges;
}

bool room_plan(struct room_layout *out, uint32_t width, uint32_t threads, size_t frame_size,
	size_t local_size)
{
	if (out->width == width && out->threads == threads && out->frame_size == frame_size
	    && out->local_size == local_size) {
		return true;
	}
	const size_t warps = (threads + width - 1) / width;
	out->width = 0;
	if (frame_size > MAX_SCRATCH || local_size > MAX_SCRATCH) {
		return false;
	}
	out->frame_stride = round_up(frame_size, FRAME_ALIGN);
	out->local_stride = round_up(local_size, LOCAL_ALIGN);
	if (!size_mul(&out->frames_size, out->frame_stride, warps)
	    || !size_mul(&out->locals_size, out->local_stride, warps * width)
	    || out->frames_size > MAX_SCRATCH || out->locals_size > MAX_SCRATCH) {
		return false;
	}
	out->width = width;
	out->threads = threads;
	out->frame_size = frame_size;
	out->local_size = local_size;
	return true;
}

static void room_bind_slot(struct room *room, uint32_t i)
{
	const struct room_layout *layout = &room->layout;
	struct slot *slot = &room->block.slots[i];
	slot->warp.launch = room->launch;
	slot->warp.sm = room->sm;
	uint32_t first = i * layout->width;
	uint32_t left = layout->threads - first;
	uint32_t lanes = left < layout->width ? left : layout->width;
	slot->warp.shared = room->shared;
	slot->warp.local = room->local.data + first * layout->local_stride;
	slot->warp.local_stride = layout->local_stride;
	slot->warp.first = first;
	slot->warp.alive = UINT32_MAX >> (32 - lanes);
	slot->warp.exchange = &room->block.exchanges[first / RT_GROUP];
	slot->warp.fail = &room->fail;
	slot->frame = room->frames.data + i * layout->frame_stride;
}

/* Whether two layouts, which have the same sizes then, too, put everything at the same places. */
static bool room_is_same(const struct room_layout *a, const struct room_layout *b)
{
	return a->width == b->width && a->threads == b->threads
		&& a->frame_stride == b->frame_stride && a->local_stride == b->local_stride;
}

bool room_set_up(struct room *room, const struct room_layout *layout, size_t shared_size,
	const struct rt_launch *launch, uint32_t sm)
{
	struct block *block = &room->block;
	room->fail.code = 0;
	if (room_is_same(&room->layout, layout) && room->launch == launch
	    && room->asked_shared == shared_size && room->sm == sm) {
		return true;
	}
	const uint32_t warps = (layout->threads + layout->width - 1) / layout->width;
	room->layout.width = 0;
	if (!room_get_exchanges(room) || !room_grow_slots(room, warps)
	    || !room_resize_shared(room, shared_size)
	    || !room_grow_area(&room->frames, layout->frames_size)
	    || !room_grow_area(&room->local, layout->locals_size)) {
		return false;
	}
	room->layout = *layout;
	room->asked_shared = shared_size;
	room->launch = launch;
	room->sm = sm;
	block->width = layout->width;
	block->threads = layout->threads;
	for (uint32_t i = 0; i < block->slot_count; i++) {
		room_bind_slot(room, i);
	}
	return true;
}

void room_free(struct room *room)
{
	if (room->shared) {
		munmap(room->shared - SHARED_REACH, SHARED_RESERVED);
	}
	room_free_area(&room->frames);
	room_free_area(&room->local);
	mem_free(room->block.slots);
	mem_free(room->block.exchanges);
}

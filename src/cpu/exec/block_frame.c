/* SPDX-License-Identifier: MIT */
/* See block_frame.h. */
#include "base/common.h"

#include "cpu/exec/block_frame.h"

#include "base/alloc.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAME_ALIGN 64
#define LOCAL_ALIGN 16 /* at least: local_size is a multiple of what the kernel declares */
#define MAX_SCRATCH (SIZE_MAX / 4) /* so that a bit more still fits */

static bool block_frame_grow_slots(struct block_frame *frame, uint32_t count)
{
	if (count > frame->slot_cap) {
		struct slot *slots = mem_zalloc(count, sizeof(*slots));
		if (!slots) {
			return false;
		}
		mem_free(frame->block.slots);
		frame->block.slots = slots;
		frame->slot_cap = count;
	}
	return true;
}

/* Give access to exactly the pages that the block's shared memory takes. */
static bool block_frame_resize_shared(struct block_frame *frame, size_t size)
{
	size = gap_to_pages(size);
	if (!frame->shared.data && !gap_reserve(&frame->shared, RT_SHARED_WINDOW, GAP_WIDE)) {
		return false;
	}
	uint8_t *shared = frame->shared.data;
	if (size > frame->shared_size && mprotect(shared, size, PROT_READ | PROT_WRITE) != 0) {
		return false;
	}
	if (size < frame->shared_size
	    && mprotect(shared + size, frame->shared_size - size, PROT_NONE) != 0) {
		return false;
	}
	frame->shared_size = size;
	return true;
}

static bool block_frame_grow_area(struct gap_area *area, size_t size, size_t gap)
{
	struct gap_area larger;
	if (size <= area->size) {
		return true;
	}
	if (!gap_alloc(&larger, size, gap)) {
		return false;
	}
	gap_release(area);
	*area = larger;
	return true;
}

uint32_t block_frame_groups(const struct block_frame_layout *layout)
{
	return (layout->threads + RT_GROUP - 1) / RT_GROUP;
}

uint32_t block_frame_warps(const struct block_frame_layout *layout)
{
	return (layout->threads + layout->width - 1) / layout->width;
}

static bool block_frame_grow_exchanges(struct block_frame *frame, uint32_t count)
{
	if (count > frame->exchange_cap) {
		struct rt_exchange *exchanges = mem_zalloc(count, sizeof(*exchanges));
		if (!exchanges) {
			return false;
		}
		mem_free(frame->block.exchanges);
		frame->block.exchanges = exchanges;
		frame->exchange_cap = count;
	}
	return true;
}

bool block_frame_plan(struct block_frame_layout *out, uint32_t width, uint32_t threads,
	size_t frame_size, size_t local_size)
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

bool block_frame_is_same(const struct block_frame_layout *a,
	const struct block_frame_layout *b)
{
	return a->width == b->width && a->threads == b->threads
		&& a->frame_stride == b->frame_stride && a->local_stride == b->local_stride;
}

void block_frame_bind(struct block_frame *frame, const struct block_frame_layout *layout,
	size_t shared_size, const struct rt_launch *launch, uint32_t sm)
{
	struct block *block = &frame->block;
	frame->layout = *layout;
	frame->asked_shared = shared_size;
	frame->launch = launch;
	frame->sm = sm;
	block->width = layout->width;
	block->threads = layout->threads;
	block->slot_count = block_frame_warps(layout);
	for (uint32_t i = 0; i < block->slot_count; i++) {
		struct slot *slot = &block->slots[i];
		const uint32_t first = i * layout->width;
		const uint32_t left = layout->threads - first;
		const uint32_t lanes = left < layout->width ? left : layout->width;
		slot->warp.launch = launch;
		slot->warp.sm = sm;
		slot->warp.shared = frame->shared.data;
		slot->warp.local = frame->local.data + first * layout->local_stride;
		slot->warp.local_stride = layout->local_stride;
		slot->warp.first = first;
		slot->warp.alive = UINT32_MAX >> (32 - lanes);
		slot->warp.exchange = &block->exchanges[first / RT_GROUP];
		slot->warp.fail = &frame->fail;
		slot->warp.ranges = frame->ranges;
		slot->frame = frame->frames.data + i * layout->frame_stride;
	}
}

void block_frame_begin(struct block_frame *frame, const struct rt_launch *launch)
{
	frame->fail.code = 0;
	if (unlikely(launch->check)) { /* no other kernel reads them */
		memset(frame->ranges, 0, sizeof(frame->ranges));
	}
}

bool block_frame_set_up(struct block_frame *frame, const struct block_frame_layout *layout,
	size_t shared_size, const struct rt_launch *launch, uint32_t sm)
{
	block_frame_begin(frame, launch);
	if (block_frame_is_same(&frame->layout, layout) && frame->launch == launch
	    && frame->asked_shared == shared_size && frame->sm == sm) {
		return true;
	}
	frame->layout.width = 0;
	if (!block_frame_grow_exchanges(frame, block_frame_groups(layout))
	    || !block_frame_grow_slots(frame, block_frame_warps(layout))
	    || !block_frame_resize_shared(frame, shared_size)
	    || !block_frame_grow_area(&frame->frames, layout->frames_size, GAP_LEAST)
	    || !block_frame_grow_area(&frame->local, layout->locals_size, GAP_WIDE)) {
		return false;
	}
	block_frame_bind(frame, layout, shared_size, launch, sm);
	return true;
}

void block_frame_free(struct block_frame *frame)
{
	race_free_block(&frame->race);
	gap_release(&frame->shared);
	gap_release(&frame->frames);
	gap_release(&frame->local);
	mem_free(frame->block.slots);
	mem_free(frame->block.exchanges);
}

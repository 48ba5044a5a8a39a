/* SPDX-License-Identifier: MIT */
/* See resident.h. */
#include "base/common.h"

#include "cpu/exec/resident.h"

#include "cpu/mem/capacity.h"

#include <string.h>
#include <sys/mman.h>

#define ALIGN 64
/* Between two windows: more than a signed address of 32 bits and a displacement reach.  Beyond the
 * gap is the shared memory of another block. */
#define WINDOW_GAP (((size_t)4 << 30) + GAP_LEAST)
#define WINDOWS_MOST ((size_t)1 << 46) /* bytes: half of the addresses of a process */

/* A place: the struct, then the slots, exchanges and frames of its warps. */
static size_t resident_slots_at(void)
{
	return round_up(sizeof(struct resident_place), ALIGN);
}

static size_t resident_exchanges_at(const struct block_frame_layout *layout)
{
	return resident_slots_at()
		+ round_up(block_frame_warps(layout) * sizeof(struct slot), ALIGN);
}

static size_t resident_frames_at(const struct block_frame_layout *layout)
{
	return resident_exchanges_at(layout)
		+ round_up(block_frame_groups(layout) * sizeof(struct rt_exchange), ALIGN);
}

static size_t resident_place_stride(const struct block_frame_layout *layout)
{
	return resident_frames_at(layout) + round_up(layout->frames_size, ALIGN);
}

/* Blocks without shared memory have one window together. */
static uint64_t resident_window_count(size_t shared_size, uint64_t count)
{
	return shared_size > 0 ? count : 1;
}

size_t resident_size(const struct block_frame_layout *layout, size_t shared_size, uint64_t count)
{
	size_t size = resident_place_stride(layout);
	const size_t windows = WINDOWS_MOST / (gap_to_pages(shared_size) + WINDOW_GAP);
	return resident_window_count(shared_size, count) <= windows
		&& size_add(&size, size, gap_to_pages(shared_size))
		&& size_add(&size, size, gap_to_pages(layout->locals_size))
		&& size_mul(&size, size, count) ? size : SIZE_MAX;
}

/* Where addresses are scarce, windows are closer together. */
static bool resident_reserve_windows(struct resident *resident, size_t size, size_t windows)
{
	const size_t limit = capacity_addresses() / 4;
	size_t gap = WINDOW_GAP;
	for (;;) {
		resident->window_stride = size + gap;
		if ((resident->window_stride * windows <= limit || gap == GAP_LEAST)
		    && gap_reserve(&resident->windows, windows * resident->window_stride - gap,
			    GAP_WIDE)) {
			return true;
		}
		if (gap == GAP_LEAST) {
			return false;
		}
		gap = gap / 2 > GAP_LEAST ? gap_to_pages(gap / 2) : GAP_LEAST;
	}
}

static void resident_bind(struct resident *resident, size_t index, const struct rt_launch *launch)
{
	const struct block_frame_layout *layout = &resident->layout;
	struct resident_place *place = resident_place(resident, index);
	struct block_frame *frame = &place->frame;
	uint8_t *base = (uint8_t *)place;
	frame->block.slots = (struct slot *)(base + resident_slots_at());
	frame->block.exchanges = (struct rt_exchange *)(base + resident_exchanges_at(layout));
	frame->frames.data = base + resident_frames_at(layout);
	frame->local = resident->locals;
	frame->local.data += frame->local.data ? index * gap_to_pages(layout->locals_size) : 0;
	frame->local.size = layout->locals_size;
	frame->shared = resident->windows;
	frame->shared.data += resident->shared_size > 0 ? index * resident->window_stride : 0;
	frame->shared.size = gap_to_pages(resident->shared_size);
	block_frame_bind(frame, layout, resident->shared_size, launch,
		(uint32_t)(index % launch->sm_count));
}

/* The sizes are known to be possible. */
static bool resident_get_memory(struct resident *resident, const struct block_frame_layout *layout,
	size_t shared_size, uint64_t count)
{
	const size_t locals = gap_to_pages(layout->locals_size);
	const size_t size = gap_to_pages(shared_size > 0 ? shared_size : 1);
	const size_t windows = resident_window_count(shared_size, count);
	resident->place_stride = resident_place_stride(layout);
	bool ok = gap_alloc(&resident->places, count * resident->place_stride, GAP_LEAST)
		&& (locals == 0 || gap_alloc(&resident->locals, count * locals, GAP_WIDE))
		&& resident_reserve_windows(resident, size, windows);
	for (size_t i = 0; shared_size > 0 && i < windows && ok; i++) {
		ok = mprotect(resident->windows.data + i * resident->window_stride, size,
			PROT_READ | PROT_WRITE) == 0;
	}
	return ok;
}

bool resident_set_up(struct resident *resident, const struct block_frame_layout *layout,
	size_t shared_size, uint64_t count, const struct rt_launch *launch)
{
	if (count <= resident->count && resident->shared_size == shared_size
	    && block_frame_is_same(&resident->layout, layout)) {
		return true;
	}
	resident_free(resident);
	if (resident_size(layout, shared_size, count) == SIZE_MAX
	    || !resident_get_memory(resident, layout, shared_size, count)) {
		resident_free(resident);
		return false;
	}
	resident->layout = *layout;
	resident->shared_size = shared_size;
	resident->count = count;
	for (size_t i = 0; i < count; i++) {
		resident_bind(resident, i, launch);
	}
	return true;
}

void resident_free(struct resident *resident)
{
	for (size_t i = 0; i < resident->count; i++) {
		race_free_block(&resident_place(resident, i)->frame.race);
	}
	gap_release(&resident->places);
	gap_release(&resident->locals);
	gap_release(&resident->windows);
	memset(resident, 0, sizeof(*resident));
}

/* SPDX-License-Identifier: MIT */
/*
 * Loops that wait for what no thread of the launch will do: a flag that nobody sets, a barrier of
 * the grid that a block has not come to, an mbarrier that expects too many arrivals.
 *
 * In a launch that is watched one worker steps all blocks, round after round.  All that a thread
 * keeps between two steps lies in its frame, in its local memory and in shared memory.  If that is
 * the same after some rounds, in which no memory has changed either, it will be the same for ever.
 * Which rounds are compared is Brent's way of finding a cycle.
 *
 * Others could write what the loop reads: the host, another stream.  So a loop that reads memory of
 * the host or managed memory may go on, as may one that reads a clock.  For all others nothing is
 * compared before STALL_PATIENCE_NS have passed.
 */
#include "base/common.h"

#include "base/clock.h"
#include "cpu/exec/launch_job.h"

#include <string.h>

#define STALL_PATIENCE_NS UINT64_C(250000000)

static uint64_t stall_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t stall_mix_bytes(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *at = data;
	for (; size >= sizeof(hash); size -= sizeof(hash), at += sizeof(hash)) {
		uint64_t word;
		memcpy(&word, at, sizeof(word));
		hash = stall_mix(hash, word);
	}
	for (; size > 0; size--, at++) {
		hash = stall_mix(hash, *at);
	}
	return hash;
}

/* All that decides what the threads of a block do next. */
static uint64_t stall_mix_block(uint64_t hash, const struct launch_job *job,
	const struct block_frame *frame)
{
	const struct block *block = &frame->block;
	hash = stall_mix_bytes(hash, block->ctaid, sizeof(block->ctaid));
	for (uint32_t i = 0; i < block->slot_count; i++) {
		hash = stall_mix(hash, block->slots[i].resume);
	}
	if (block->is_mixed) {
		hash = stall_mix_bytes(hash, block->scheduler.ready,
			sizeof(block->scheduler.ready));
	}
	hash = stall_mix_bytes(hash, frame->frames.data, frame->layout.frames_size);
	hash = stall_mix_bytes(hash, frame->shared.data, job->shared_size);
	if (frame->local.data) {
		hash = stall_mix_bytes(hash, frame->local.data, frame->layout.locals_size);
	}
	return hash;
}

/* The n-th block that has begun: the worker's own, or one in a place; NULL: there are fewer. */
static struct block_frame *stall_frame(struct launch_job *job, size_t n)
{
	struct worker *w = &job->launcher->workers[0];
	if (w->in_block && n-- == 0) {
		return &w->own;
	}
	const size_t count = atomic_load_explicit(&job->places_in_use, memory_order_relaxed);
	for (size_t i = 0; i < count; i++) {
		struct resident_place *place = resident_place(&job->launcher->resident, i);
		if (atomic_load_explicit(&place->state, memory_order_relaxed) != PLACE_EMPTY
		    && n-- == 0) {
			return &place->frame;
		}
	}
	return NULL;
}

static uint64_t stall_hash(struct launch_job *job)
{
	const struct worker *w = &job->launcher->workers[0];
	uint64_t hash = stall_mix(w->at, w->waits); // after some waits the next block begins
	const struct block_frame *frame;
	for (size_t i = 0; (frame = stall_frame(job, i)); i++) {
		hash = stall_mix_block(hash, job, frame);
	}
	return hash;
}

/* Blame a warp that has threads in a loop. */
static void stall_fail(struct launch_job *job)
{
	struct block_frame *frame;
	for (size_t i = 0; (frame = stall_frame(job, i)); i++) {
		if (block_find_waiting(&frame->block)) {
			launch_fail_block(job, &frame->block, BLOCK_DEADLOCKED);
			return;
		}
	}
}

void launch_check_stall(struct launch_job *job)
{
	struct launch_stall *stall = &job->stall;
	struct race *race = job->launcher->race;
	if (stall->since_ns == 0) {
		stall->since_ns = clock_now_ns();
	}
	if (clock_now_ns() - stall->since_ns < STALL_PATIENCE_NS) {
		return;
	}
	if (!race_is_still(race)) {
		stall->steps = stall->power = 0;
		return;
	}
	const uint64_t hash = stall_hash(job);
	if (stall->power > 0 && hash == stall->hash) {
		stall_fail(job);
	} else if (stall->steps++ == stall->power) {
		stall->power = stall->power > 0 ? 2 * stall->power : 1;
		stall->steps = 0;
		stall->hash = hash;
	}
}

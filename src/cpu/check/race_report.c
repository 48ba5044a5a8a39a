/* SPDX-License-Identifier: MIT */
/* The reports of races, and of what the check `sync` finds in accesses. */
#include "base/common.h"

#include "cpu/check/race.h"

#include "cpu/check/report.h"
#include "cpu/check/sync.h"
#include "cpu/mem/fault.h"
#include "cpu/runtime/heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool race_is_reported(struct race *race, uint64_t pair)
{
	size_t at = (size_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> 32) % RACE_PAIRS;
	while (race->pairs[at] != 0 && race->pairs[at] != pair) {
		at = (at + 1) % RACE_PAIRS;
	}
	if (race->pairs[at] == pair || race->pair_count == RACE_PAIRS - 1) {
		return true;
	}
	race->pairs[at] = pair;
	race->pair_count++;
	return false;
}

static void race_report_set_side(struct report_side *side, const struct race *race,
	const struct race_mark *mark, uint32_t thread)
{
	const uint32_t *grid = race->launch->nctaid;
	const uint32_t block[3] = {mark->block % grid[0], mark->block / grid[0] % grid[1],
		mark->block / grid[0] / grid[1]};
	report_set_side(side, race->launch, block, thread, mark->line);
}

static const char *race_report_verb(const struct race_mark *mark, bool is_write)
{
	return mark->is_atomic ? "atomic operation" : mark->is_async
		? "asynchronous copy" : is_write ? "write" : "read";
}

/* "byte 12 of shared memory, byte 4 of 's'". */
static void race_report_shared(char *out, size_t size, const struct ptx_func *func, uint64_t offset)
{
	const int length = snprintf(out, size, "byte %" PRIu64 " of shared memory", offset);
	for (size_t i = 0; i < func->var_count; i++) {
		const struct ptx_var *var = func->vars[i];
		char name[64];
		if (var->space == PTX_SHARED && offset - var->offset < var->size) {
			ptx_write_name(name, sizeof(name), var->name);
			snprintf(out + length, size - (size_t)length, ", byte %" PRIu64 " of '%s'",
				offset - var->offset, name);
			return;
		}
	}
}

/* Where an address is: "byte 16 of the 64-byte allocation at 0x10, element [4] of an array (16) of
 * int32". */
static void race_report_where(char *out, size_t size, const struct rt_warp *warp, uint64_t at)
{
	const struct check_kernel *kernel = warp->race->race->launch->check;
	struct memory_range range;
	struct heap *heap = warp->launch->host->heap;
	const uint64_t offset = at - (uintptr_t)warp->shared;
	char where[256];
	if (offset < RT_SHARED_WINDOW) {
		race_report_shared(out, size, kernel->func, offset);
	} else if (heap && heap_covers(heap, at)) {
		heap_describe(heap, at, where, sizeof(where));
		snprintf(out, size, "address 0x%" PRIx64 ", %.160s", at, where);
	} else if (memory_find(kernel->memory, at, &range)) {
		memory_describe(kernel->memory, at, where, sizeof(where));
		const char *element = strstr(where, ", element [");
		snprintf(out, size, "byte %" PRIu64 " of the %zu-byte allocation at 0x%" PRIx64
			"%.120s", at - range.address, (size_t)range.size, range.address,
			element ? element : "");
	} else {
		snprintf(out, size, "address 0x%" PRIx64, at);
	}
}

/* What orders the threads that it is about. */
static const char *race_report_missing(const struct race_mark *old, const struct race_mark *new,
	const struct race_block *block, uint32_t thread)
{
	if (old->block != block->number || old->level == RACE_GRID) {
		return old->is_strong && new->is_strong ? "by another block, beyond its scope"
			: "by another block";
	}
	const bool is_warp = old->level <= RACE_WARP && old->thread / 32 == thread / 32;
	return is_warp ? "by another thread of its warp" : "by another thread of its block";
}

/* A thread that made the old access, and if there were several not the one that makes the new. */
static uint32_t race_report_other_thread(const struct race_mark *old, const struct race_mark *new)
{
	if (old->level == RACE_WARP) {
		const uint32_t others = old->members & ~(1u << new->thread % 32);
		return old->thread / 32 * 32 + (uint32_t)__builtin_ctz(others);
	}
	if (old->level == RACE_BLOCK) {
		const uint32_t others = old->members & ~(1u << new->thread / 32);
		return 32 * (uint32_t)__builtin_ctz(others);
	}
	return old->thread;
}

void race_report(struct rt_warp *warp, const struct race_mark *old, bool old_writes,
	const struct race_mark *new, bool new_writes, uint64_t at)
{
	struct race_block *block = warp->race;
	struct race *race = block->race;
	struct report report = {.check = CHECK_RACE, .kernel = race->launch->check,
		.side_count = 2};
	const uint64_t pair = (uint64_t)old->line << 32 | (uint64_t)new->line << 4
		| (uint64_t)old_writes << 1 | (uint64_t)new_writes << 2 | 1;
	char where[240];
	if (!(race->launch->check->checks & check_bit(CHECK_RACE))
	    || race_is_reported(race, pair)) {
		return;
	}
	fault_hold();
	race_report_where(where, sizeof(where), warp, at);
	snprintf(report.sides[0].what, sizeof(report.sides[0].what),
		"nothing orders this %s and a%s %s %s: %.220s", race_report_verb(new, new_writes),
		old->is_atomic || old->is_async ? "n" : "", race_report_verb(old, old_writes),
		race_report_missing(old, new, block, new->thread), where);
	snprintf(report.sides[1].what, sizeof(report.sides[1].what), "the %s is here",
		race_report_verb(old, old_writes));
	race_report_set_side(&report.sides[0], race, new, new->thread);
	race_report_set_side(&report.sides[1], race, old, race_report_other_thread(old, new));
	report_add(&report);
	fault_release();
}

void race_report_full(struct rt_warp *warp, const struct race_mark *new, uint64_t at)
{
	struct race *race = warp->race->race;
	struct report report = {.check = CHECK_RACE, .kernel = race->launch->check,
		.side_count = 1};
	if (race->is_full || at - (uintptr_t)warp->shared < RT_SHARED_WINDOW) {
		return;
	}
	race->is_full = true;
	fault_hold();
	snprintf(report.sides[0].what, sizeof(report.sides[0].what),
		"memory ran out: from here on not all accesses are checked");
	race_report_set_side(&report.sides[0], race, new, new->thread);
	report_add(&report);
	fault_release();
}

void race_report_sync(struct rt_warp *warp, const struct race_mark *old,
	const struct race_mark *new, bool is_race, uint64_t at)
{
	const struct race_block *block = warp->race;
	const struct sync_place place = {new->thread, new->line}, other = {old->thread, old->line};
	const uint64_t pair = (uint64_t)old->line << 32 | (uint64_t)new->line << 4 | 8 | 1;
	const bool is_own = old->is_there && old->block == new->block;
	const bool is_early = is_own && old->is_async && !new->is_async
		&& old->level == RACE_THREAD && block->of[old->thread].copies < old->time;
	const bool in_step = is_own && is_race && old->is_volatile && new->is_volatile
		&& old->level <= RACE_WARP && old->thread / 32 == new->thread / 32
		&& at - (uintptr_t)warp->shared < RT_SHARED_WINDOW;
	if ((!is_early && !in_step) || race_is_reported(block->race, pair)) {
		return;
	}
	if (is_early) {
		sync_report(warp, place, &other, "the copy is here",
			"the asynchronous copy to these bytes has not been waited for");
	} else {
		sync_report(warp, place, &other, "the other access is here",
			"threads of a warp do not run in step: __syncwarp() has to order this "
			"access and one of another lane");
	}
}

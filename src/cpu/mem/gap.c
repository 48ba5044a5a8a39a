/* SPDX-License-Identifier: MIT */
/*
 * Gaps.  All of them together take at most a quarter of the addresses that the process may have
 * (ulimit -v), or without a limit half of what a process has on x86-64.  A new area gets a part of
 * what is left of that.  The part depends on the cores, since each worker has areas of its own.  So
 * the areas of the first kernel share about half, and those of kernels that run beside it share the
 * rest.  Without a limit the first part is wider than anybody wishes.
 */
#include "base/common.h"

#include "cpu/mem/gap.h"

#include "base/cores.h"
#include "cpu/mem/capacity.h"
#include "cpu/mem/system_refusal.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST ((size_t)1 << 46) /* half of 47 bits */
#define MOST_CORES 126 /* MOST / (8 * (MOST_CORES + 1)) is more than GAP_WIDEST */

static atomic_size_t gap_total; /* of all areas */

static size_t gap_round(size_t gap, size_t wish)
{
	gap = gap < wish ? gap : wish;
	return gap > GAP_LEAST ? gap & ~(GAP_LEAST - 1) : GAP_LEAST;
}

size_t gap_to_pages(size_t size)
{
	return round_up(size, (size_t)sysconf(_SC_PAGESIZE));
}

size_t gap_next(size_t wish)
{
	const size_t limit = capacity_addresses();
	const size_t most = limit < MOST ? limit : MOST;
	const size_t used = atomic_load(&gap_total);
	const size_t cores = cores_available();
	const size_t parts = 8 * ((cores < MOST_CORES ? cores : MOST_CORES) + 1);
	return gap_round(used < most ? (most - used) / parts : 0, wish);
}

bool gap_reserve(struct gap_area *out, size_t size, size_t wish)
{
	size_t total;
	*out = (struct gap_area){0};
	if (size > SIZE_MAX / 2) {
		return false;
	}
	size = gap_to_pages(size > 0 ? size : 1);
	for (size_t gap = gap_next(wish);; gap = gap_round(gap / 2, wish)) {
		void *map = size_add(&total, size, 2 * gap) ? mmap(NULL, total, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
		if (map != MAP_FAILED) {
			atomic_fetch_add(&gap_total, 2 * gap);
			*out = (struct gap_area){(uint8_t *)map + gap, size, gap};
			return true;
		}
		if (gap == GAP_LEAST) {
			refusal_note("mmap");
			return false;
		}
	}
}

bool gap_alloc(struct gap_area *out, size_t size, size_t wish)
{
	if (!gap_reserve(out, size, wish)) {
		return false;
	}
	if (mprotect(out->data, out->size, PROT_READ | PROT_WRITE) != 0) {
		refusal_note("mprotect");
		gap_release(out);
		return false;
	}
	return true;
}

void gap_release(struct gap_area *area)
{
	if (area->data) {
		munmap(area->data - area->gap, area->size + 2 * area->gap);
		atomic_fetch_sub(&gap_total, 2 * area->gap);
	}
	*area = (struct gap_area){0};
}

/* SPDX-License-Identifier: MIT */
#include "bypass.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* Fewer threads never move so much; at W = 1 each may be a long loop. */
#define FEWEST_THREADS (UINT64_C(1) << 16)
#define FEWEST_LOOPS 256
/* Where nobody says how large the cache is. */
#define USUAL_CACHE (UINT64_C(32) << 20)

static atomic_ullong fake_cache = UINT64_MAX;

/* The last one before memory. */
static uint64_t cache_size;
static unsigned cache_cores; /* that share one */

/* "0-7,64-71" */
static unsigned count_list(FILE *file)
{
	unsigned first, last, count = 0;
	while (fscanf(file, "%u", &first) == 1) {
		last = first;
		if (fscanf(file, "-%u", &last) == EOF) {
			last = first;
		}
		count += last >= first ? last - first + 1 : 1;
		if (fgetc(file) != ',') {
			break;
		}
	}
	return count;
}

/* As Linux tells it.  sysconf asks the processor and counts cores, which in a virtual machine are
 * not those that share the cache. */
static bool read_cache(int level)
{
	char path[80];
	unsigned long long size = 0; /* "32768K" */
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", level);
	FILE *file = fopen(path, "re");
	bool known = file != NULL && fscanf(file, "%lluK", &size) == 1 && size > 0;
	if (file != NULL) {
		fclose(file);
	}
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/shared_cpu_list",
		level);
	file = known ? fopen(path, "re") : NULL;
	if (file != NULL) {
		cache_cores = count_list(file);
		fclose(file);
	}
	cache_size = size << 10;
	return known;
}

static void find_cache(void)
{
	enum { SHARED = 3, OWN = 2 };
	if (!read_cache(SHARED) && !read_cache(OWN)) {
		cache_size = USUAL_CACHE;
	}
	cache_cores = cache_cores > 0 ? cache_cores : 1;
}

/* Some of the cache is always somebody else's. */
static uint64_t room_of(unsigned workers)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_cache);
	return cache_size / 4 * 3 * ((workers + cache_cores - 1) / cache_cores);
}

uint32_t bypass_cached_bytes(uint64_t threads, uint32_t width, unsigned workers)
{
	uint64_t room = atomic_load_explicit(&fake_cache, memory_order_relaxed);
	if (room == UINT64_MAX) {
		if (threads < (width == 1 ? FEWEST_LOOPS : FEWEST_THREADS)) {
			return BYPASS_NEVER;
		}
		room = room_of(workers);
	}
	uint64_t bytes = room / threads;
	return bytes < BYPASS_NEVER ? (uint32_t)bytes : BYPASS_NEVER;
}

void bypass_fake_cache(uint64_t bytes)
{
	atomic_store(&fake_cache, bytes);
}

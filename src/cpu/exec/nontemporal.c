/* SPDX-License-Identifier: MIT */
#include "cpu/exec/nontemporal.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 64, PAGE = 4096, PAGES = 4 };

/* The size of the cache where the system does not tell it. */
#define USUAL_CACHE (UINT64_C(32) << 20)

atomic_ullong nontemporal_fake_room = UINT64_MAX;

/* The last one before memory. */
static uint64_t cache_size;
static unsigned cache_cores; /* that share one */

/* "0-7,64-71" */
static unsigned nontemporal_count_list(FILE *file)
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
 * not the cores that share the cache. */
static bool nontemporal_read_cache(int level)
{
	char path[80];
	unsigned long long size = 0; /* "32768K" */
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", level);
	FILE *file = fopen(path, "re");
	bool known = file && fscanf(file, "%lluK", &size) == 1 && size > 0;
	if (file) {
		fclose(file);
	}
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/shared_cpu_list",
		level);
	file = known ? fopen(path, "re") : NULL;
	if (file) {
		cache_cores = nontemporal_count_list(file);
		fclose(file);
	}
	cache_size = size << 10;
	return known;
}

static void nontemporal_find_cache(void)
{
	enum { SHARED = 3, OWN = 2 };
	if (!nontemporal_read_cache(SHARED) && !nontemporal_read_cache(OWN)) {
		cache_size = USUAL_CACHE;
	}
	cache_cores = cache_cores > 0 ? cache_cores : 1;
}

/* Other programs always use some of the cache. */
uint64_t nontemporal_room(unsigned workers)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (nontemporal_is_fake()) {
		return atomic_load(&nontemporal_fake_room);
	}
	pthread_once(&once, nontemporal_find_cache);
	return cache_size / 4 * 3 * ((workers + cache_cores - 1) / cache_cores);
}

#if defined(__SSE2__)
static void nontemporal_copy_line(uint8_t *to, const uint8_t *from)
{
	__m128i parts[4];
	for (int i = 0; i < 4; i++) {
		parts[i] = _mm_loadu_si128((const __m128i *)from + i);
	}
	for (int i = 0; i < 4; i++) {
		_mm_stream_si128((__m128i *)to + i, parts[i]);
	}
}
#else
static void nontemporal_copy_line(uint8_t *to, const uint8_t *from)
{
	memcpy(to, from, LINE);
}
#endif

/* Line by line of several pages in turn.  A single sequence of lines waits for memory: the
 * processor prefetches within a page, and so for each of these. */
static void nontemporal_copy_pages(uint8_t *to, const uint8_t *from)
{
	for (size_t line = 0; line < PAGE; line += LINE) {
		for (size_t page = 0; page < PAGES * PAGE; page += PAGE) {
			nontemporal_copy_line(to + page + line, from + page + line);
		}
	}
}

/* memcpy does the same from a size on that it has from the processor, too (see above). */
void nontemporal_copy(void *to, const void *from, size_t size)
{
	uint8_t *out = to;
	const uint8_t *in = from;
	size_t head = -(uintptr_t)to % LINE;
	head = head < size ? head : size;
	memcpy(out, in, head);
	size_t at = head;
	for (; size - at >= PAGES * PAGE; at += PAGES * PAGE) {
		nontemporal_copy_pages(out + at, in + at);
	}
	for (; size - at >= LINE; at += LINE) {
		nontemporal_copy_line(out + at, in + at);
	}
	memcpy(out + at, in + at, size - at);
	nontemporal_drain();
}

/* SPDX-License-Identifier: MIT */
/*
 * The heap, with two hooks by which tests let requests fail.  While `passes` is not negative, each
 * request counts it down; the one that finds zero fails and disarms it.  `room` is how many bytes
 * requests may still take.
 */
#include "base/alloc.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older ones refuse it, which does no harm */
#endif

enum { PAGE = 4096, MANY_PAGES = 1 << 14 };

static atomic_long passes = -1;
static atomic_long room = LONG_MAX;
static atomic_bool failed;

void mem_fail_after(long n)
{
	atomic_store(&failed, false);
	atomic_store(&passes, n < 0 ? -1 : n);
}

void mem_fail_beyond(long bytes)
{
	atomic_store(&failed, false);
	atomic_store(&room, bytes < 0 ? LONG_MAX : bytes);
}

bool mem_has_failed(void)
{
	return atomic_load(&failed);
}

static bool alloc_exceeds_room(size_t size)
{
	if (likely(atomic_load_explicit(&room, memory_order_relaxed) == LONG_MAX)) {
		return false;
	}
	long left = atomic_load(&room);
	while (left >= 0 && size <= (size_t)left
	    && !atomic_compare_exchange_weak(&room, &left, left - (long)size)) {
	}
	bool beyond = left < 0 || size > (size_t)left;
	if (beyond) {
		atomic_store(&failed, true);
	}
	return beyond;
}

static bool alloc_must_fail(size_t size)
{
	if (unlikely(alloc_exceeds_room(size))) {
		return true;
	}
	long left = atomic_load_explicit(&passes, memory_order_relaxed);
	if (likely(left < 0)) {
		return false;
	}
	while (left >= 0 && !atomic_compare_exchange_weak(&passes, &left, left - 1)) {
	}
	if (left != 0) {
		return false;
	}
	atomic_store(&failed, true);
	return true;
}

void *mem_alloc(size_t size)
{
	return alloc_must_fail(size) ? NULL : malloc(size ? size : 1);
}

void mem_expect(void *memory, size_t size)
{
	if (size >= MANY_PAGES) {
		char *begin = (char *)memory + PAGE - (uintptr_t)memory % PAGE;
		size_t rest = size - (size_t)(begin - (char *)memory);
		int saved = errno;
		(void)madvise(begin, rest - rest % PAGE, MADV_POPULATE_WRITE);
		errno = saved;
	}
}

void *mem_zalloc(size_t count, size_t size)
{
	size_t total;
	if (!size_mul(&total, count, size) || alloc_must_fail(total)) {
		return NULL;
	}
	return calloc(1, total ? total : 1);
}

void *mem_realloc(void *old, size_t size)
{
	return alloc_must_fail(size) ? NULL : realloc(old, size ? size : 1);
}

void *mem_grow(void *old, size_t count, size_t *cap, size_t size)
{
	size_t more, bytes;
	if (count < *cap) {
		return old;
	}
	if (!size_mul(&more, *cap > 0 ? *cap : 4, 2) || !size_mul(&bytes, more, size)) {
		return NULL;
	}
	void *grown = mem_realloc(old, bytes);
	*cap = grown ? more : *cap;
	return grown;
}

char *mem_strdup(const char *text)
{
	return mem_strndup(text, strlen(text));
}

char *mem_strndup(const char *text, size_t len)
{
	len = strnlen(text, len);
	char *copy = len < SIZE_MAX ? mem_alloc(len + 1) : NULL;
	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

void mem_free(void *memory)
{
	free(memory);
}

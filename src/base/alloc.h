/* SPDX-License-Identifier: MIT */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

/*
 * All memory that Kudzu itself takes from the heap comes from here, so that tests can make the
 * n-th request fail.  Every function returns NULL when memory runs out; mem_free takes NULL.
 */
#include "base/common.h"

void *mem_alloc(size_t size);                /* not cleared */
void *mem_zalloc(size_t count, size_t size); /* cleared, count * size checked */
void *mem_realloc(void *old, size_t size);
/* An array with room for one element more than `count`: the old one, or a larger one, whose room
 * is *cap then.  NULL: the old one stays.  Neither is cleared. */
void *mem_grow(void *old, size_t count, size_t *cap, size_t size);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t len);
void mem_free(void *memory);

/* Say that all of this memory is written next.  The kernel then maps many new pages in one call,
 * which is faster than a page fault for each. */
void mem_expect(void *memory, size_t size);

/* Tests: let n requests pass, fail the one after them, then pass again; negative: never fail. */
void mem_fail_after(long n);
/* Tests: let requests of so many bytes in all pass and fail what goes beyond; memory that is freed
 * does not count back.  Negative: no bound. */
void mem_fail_beyond(long bytes);
/* Tests: whether a request has failed since the last call of either. */
bool mem_has_failed(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_HEAP_H
#define CPU_RUNTIME_HEAP_H

/*
 * The heap of kernels, for their malloc and free: a fixed range of device memory.  The bookkeeping
 * lies outside of the range, so that no kernel can damage it.  Any thread may call.
 */
#include "base/common.h"

#define HEAP_ALIGN 16

struct heap;

/* For checks. */
enum {
	HEAP_GAPS = 1,      /* after each allocation, so that an access there is found */
	HEAP_UNWRITTEN = 2, /* memory begins as cpu/mem/unwritten.h has it */
	HEAP_FINDS = 4      /* heap_holds and heap_describe can be called */
};

/* Manage `size` bytes from a multiple of HEAP_ALIGN on; NULL when host memory runs out. */
struct heap *heap_create(uint64_t base, size_t size, unsigned flags);
void heap_release(struct heap *heap); /* NULL is fine; the heap does not own the range */

/* The address, a multiple of HEAP_ALIGN.  0 if no free block is large enough, and for 0 bytes. */
uint64_t heap_alloc(struct heap *heap, uint64_t size);
/* False if no allocation begins at the address. */
bool heap_free(struct heap *heap, uint64_t address);

/* Whether an address is in the managed range, whether or not it is allocated. */
bool heap_covers(const struct heap *heap, uint64_t address);
/* Whether all of [address, address + size) lies in one allocation, to the byte. */
bool heap_holds(struct heap *heap, uint64_t address, size_t size);
/* Describe where an address of the range lies: "4 bytes past the end of the 20 bytes that malloc
 * has returned at 0x7f0000000000". */
void heap_describe(struct heap *heap, uint64_t address, char *text, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/* Values of words that tell whether these were written: see unwritten.h. */
#include "base/common.h"

#include "cpu/mem/unwritten.h"

enum { WORD = sizeof(uint32_t) };

/* A quiet NaN, of which the lower bits are a hash of the address. */
static uint32_t unwritten_word(uint64_t address)
{
	uint64_t hash = (address / WORD + 1) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return UINT32_C(0x7ff80000) | (uint32_t)(hash >> 45);
}

void unwritten_fill(uint64_t address, size_t size)
{
	const uint64_t end = address + size;
	for (uint64_t at = round_up(address, WORD); at + WORD <= end; at += WORD) {
		*(uint32_t *)(uintptr_t)at = unwritten_word(at);
	}
}

uint64_t unwritten_find(uint64_t address, size_t size, uint64_t begin, uint64_t end)
{
	for (uint64_t at = address - address % WORD; at < address + size; at += WORD) {
		if (at >= begin && at + WORD <= end
		    && __atomic_load_n((const uint32_t *)(uintptr_t)at, __ATOMIC_RELAXED)
		    == unwritten_word(at)) {
			return at > address ? at : address;
		}
	}
	return 0;
}

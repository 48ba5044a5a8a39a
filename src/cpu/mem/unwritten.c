/* SPDX-License-Identifier: MIT */
/* Words that tell whether they were written: see unwritten.h. */
#include "base/common.h"

#include "cpu/mem/unwritten.h"

#include "base/checks.h"

enum { WORD = sizeof(uint32_t) };

void unwritten_fill(uint64_t address, size_t size)
{
	const uint64_t end = address + size;
	for (uint64_t at = round_up(address, WORD); at + WORD <= end; at += WORD) {
		*(uint32_t *)(uintptr_t)at = CHECK_UNWRITTEN;
	}
}

uint64_t unwritten_find(uint64_t address, size_t size)
{
	for (uint64_t at = address - address % WORD; at < address + size; at += WORD) {
		if (__atomic_load_n((const uint32_t *)(uintptr_t)at, __ATOMIC_RELAXED)
		    == CHECK_UNWRITTEN) {
			return at > address ? at : address;
		}
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_MEMORY_TEXT_H
#define CPU_MEM_MEMORY_TEXT_H

/* What reports say of an address. */
#include "cpu/mem/device_memory.h"

/* The neighbours of an address: the last range that begins at or before it, the next range, and the
 * reserved addresses that contain it.  Each may be NULL. */
struct memory_near {
	const struct memory_range *before;
	const struct memory_range *after;
	const struct memory_range *area;
};

/* "8 bytes past the end of the 32-byte allocation at 0x7f00, element [8] of an array (8) of
 * float32". */
void memory_text_write(char *text, size_t size, const struct memory_near *near, uint64_t address);

#endif

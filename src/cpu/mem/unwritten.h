/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_UNWRITTEN_H
#define CPU_MEM_UNWRITTEN_H

/*
 * Memory that nothing has written yet.
 *
 * With KUDZU_CHECK=init each aligned word of new memory gets a value that programs hardly ever
 * write, CHECK_UNWRITTEN.  A word that still has it was not written: no table has to follow what
 * kernels, copies and the program itself write, and a copy of such memory, by whatever code, is
 * known to be unwritten, too.  A word that was written in part counts as written.  A program that
 * writes random bits meets the value once in 2^32 words.
 */
#include "base/common.h"

/* Make all words of some bytes unwritten. */
void unwritten_fill(uint64_t address, size_t size);
/* The first of some bytes that belongs to an unwritten word; 0: all were written. */
uint64_t unwritten_find(uint64_t address, size_t size);

#endif

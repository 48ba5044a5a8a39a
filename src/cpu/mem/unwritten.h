/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_UNWRITTEN_H
#define CPU_MEM_UNWRITTEN_H

/*
 * Memory that nothing has written yet.
 *
 * With KUDZU_CHECK=init each aligned word of a new allocation gets a value of its own, made
 * from its address.  A word that still has it was not written: no table has to follow what kernels,
 * copies and the program itself write.  The values are NaNs as float, and in the upper word of a
 * double.  A program that writes random bits meets such a value once in 2^32 words.
 */
#include "base/common.h"

/* Give all words of some bytes their values. */
void unwritten_fill(uint64_t address, size_t size);

/* The first of some bytes that belongs to an unwritten word; 0: all were written.  The allocation
 * reaches from `begin` to `end`, and has all these bytes. */
uint64_t unwritten_find(uint64_t address, size_t size, uint64_t begin, uint64_t end);

#endif

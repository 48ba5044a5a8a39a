/* SPDX-License-Identifier: MIT */
/* Free blocks by size; see bins.h. */
#include "core/bins.h"

/* Up to 8 units a bin for each size, then eight for each power of two. */
static size_t bin_of(size_t units)
{
	if (units < 8) {
		return units;
	}
	size_t top = 63 - (size_t)__builtin_clzll(units);
	return 8 * (top - 2) + (units >> (top - 3) & 7);
}

static bool comes_before(const struct block *a, const struct block *b)
{
	return a->units != b->units ? a->units < b->units : a->address < b->address;
}

void bins_put(struct bins *bins, struct block *block)
{
	size_t bin = bin_of(block->units);
	struct block *less = NULL, *more = bins->first[bin];
	while (more && comes_before(more, block)) {
		less = more;
		more = more->more;
	}
	block->less = less;
	block->more = more;
	if (more) {
		more->less = block;
	}
	if (less) {
		less->more = block;
	} else {
		bins->first[bin] = block;
		bins->filled[bin / 64] |= (uint64_t)1 << bin % 64;
	}
}

void bins_remove(struct bins *bins, struct block *block)
{
	if (block->more) {
		block->more->less = block->less;
	}
	if (block->less) {
		block->less->more = block->more;
		return;
	}
	size_t bin = bin_of(block->units);
	bins->first[bin] = block->more;
	if (!block->more) {
		bins->filled[bin / 64] &= ~((uint64_t)1 << bin % 64);
	}
}

struct block *bins_find(const struct bins *bins, size_t units)
{
	size_t bin = bin_of(units);
	struct block *block = bins->first[bin];
	while (block && block->units < units) {
		block = block->more;
	}
	if (block || ++bin == BINS_COUNT) {
		return block;
	}
	/* All blocks of a later bin are large enough, and its first one is the smallest. */
	size_t word = bin / 64;
	uint64_t filled = bins->filled[word] & ~(uint64_t)0 << bin % 64;
	while (!filled && ++word < BINS_WORDS) {
		filled = bins->filled[word];
	}
	return filled ? bins->first[64 * word + (size_t)__builtin_ctzll(filled)] : NULL;
}

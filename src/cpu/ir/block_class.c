/* SPDX-License-Identifier: MIT */
/* The number of a class of tiles has the logarithms of the first two sizes as its digits. */
#include "base/common.h"

#include "cpu/ir/block_class.h"

static unsigned block_class_log2(uint32_t power)
{
	return (unsigned)__builtin_ctz(power);
}

static bool block_class_is_power(uint32_t value)
{
	return value > 0 && (value & (value - 1)) == 0;
}

enum { LOGS = 6 }; /* x is a power of two from 1 to 32 */

static unsigned block_class_of_tile(uint32_t x, uint32_t y)
{
	return BLOCK_CLASS_TILE + block_class_log2(x) + LOGS * block_class_log2(y);
}

static unsigned block_class_of_large(const uint32_t block[3])
{
	uint32_t x = block[0], y = block[1], z = block[2];
	if (x % WARP_LANES == 0) {
		return BLOCK_CLASS_ROWS;
	}
	if (y == 1 && z == 1) {
		return BLOCK_CLASS_LINE;
	}
	if (!block_class_is_power(x) || x > WARP_LANES) {
		return BLOCK_CLASS_ANY;
	}
	uint32_t rows = WARP_LANES / x;
	if (y % rows == 0 || z == 1) {
		return block_class_of_tile(x, rows);
	}
	return block_class_is_power(y) && y < rows ? block_class_of_tile(x, y) : BLOCK_CLASS_ANY;
}

unsigned block_class_of(const uint32_t block[3])
{
	const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
	if (threads > WARP_LANES / 2) {
		return block_class_of_large(block);
	}
	const unsigned small = BLOCK_CLASS_SMALL * (threads > WARP_LANES / 4 ? 1 : 2);
	if (threads == WARP_LANES / 2 || threads == WARP_LANES / 4) {
		return small + BLOCK_CLASS_EXACT + block_class_of_tile(block[0], block[1]);
	}
	return small + block_class_of_large(block);
}

void block_class_tile(unsigned class, uint32_t size[3])
{
	size[0] = 1u << (class - BLOCK_CLASS_TILE) % LOGS;
	size[1] = 1u << (class - BLOCK_CLASS_TILE) / LOGS;
	size[2] = WARP_LANES / (size[0] * size[1]);
}

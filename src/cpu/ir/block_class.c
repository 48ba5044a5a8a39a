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

unsigned block_class_of(const uint32_t block[3])
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
		return BLOCK_CLASS_TILE + block_class_log2(x) + LOGS * block_class_log2(rows);
	}
	return block_class_is_power(y) && y < rows
		? BLOCK_CLASS_TILE + block_class_log2(x) + LOGS * block_class_log2(y)
		: BLOCK_CLASS_ANY;
}

void block_class_tile(unsigned class, uint32_t size[3])
{
	size[0] = 1u << (class - BLOCK_CLASS_TILE) % LOGS;
	size[1] = 1u << (class - BLOCK_CLASS_TILE) / LOGS;
	size[2] = WARP_LANES / (size[0] * size[1]);
}

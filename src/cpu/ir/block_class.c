/* SPDX-License-Identifier: MIT */
/* Classes of blocks, as numbers: a brick by the logarithms of its first two sizes. */
#include "base/common.h"

#include "cpu/ir/uniformity.h"

static unsigned log2_of(uint32_t power)
{
	return (unsigned)__builtin_ctz(power);
}

static bool is_power(uint32_t value)
{
	return value > 0 && (value & (value - 1)) == 0;
}

enum { LOGS = 6 }; /* of x, which is 1 to 32 */

unsigned shape_class_of(const uint32_t block[3])
{
	uint32_t x = block[0], y = block[1], z = block[2];
	if (x % SHAPE_LANES == 0) {
		return SHAPE_ROWS;
	}
	if (y == 1 && z == 1) {
		return SHAPE_LINE;
	}
	if (!is_power(x) || x > SHAPE_LANES) {
		return SHAPE_ANY;
	}
	uint32_t rows = SHAPE_LANES / x;
	if (y % rows == 0 || z == 1) {
		return SHAPE_BRICK + log2_of(x) + LOGS * log2_of(rows);
	}
	return is_power(y) && y < rows ? SHAPE_BRICK + log2_of(x) + LOGS * log2_of(y) : SHAPE_ANY;
}

void shape_brick(unsigned class, uint32_t size[3])
{
	size[0] = 1u << (class - SHAPE_BRICK) % LOGS;
	size[1] = 1u << (class - SHAPE_BRICK) / LOGS;
	size[2] = SHAPE_LANES / (size[0] * size[1]);
}

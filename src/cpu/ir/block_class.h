/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_BLOCK_CLASS_H
#define CPU_IR_BLOCK_CLASS_H

/*
 * Classes of blocks.  The extent of a block decides how its threads lie in its warps, and so which
 * lanes have the same %tid.  One compiled kernel serves all blocks of one class:
 *
 *	ANY    all blocks; nothing is known of %tid
 *	LINE   blocks along x alone
 *	ROWS   blocks whose x is a multiple of a warp
 *	TILE   each warp is a tile of x * y * z threads, all powers of two, x less than a warp and
 *	       as long as the block; one class for each tile
 */
#include "base/common.h"

enum { WARP_LANES = 32 };

enum {
	BLOCK_CLASS_ANY, BLOCK_CLASS_LINE, BLOCK_CLASS_ROWS, BLOCK_CLASS_TILE,
	BLOCK_CLASS_COUNT = BLOCK_CLASS_TILE + 36,
	BLOCK_CLASS_TILE_32 = BLOCK_CLASS_TILE + 5, /* a tile of 32 along x */
	BLOCK_CLASS_TEAM = 256 /* added n times: blocks of n warps that run as a team (team.h) */
};
static_assert(BLOCK_CLASS_COUNT <= BLOCK_CLASS_TEAM, "the class is what remains");

unsigned block_class_of(const uint32_t block[3]);
/* The extent of a warp in a class of tiles. */
void block_class_tile(unsigned class, uint32_t size[3]);

#endif

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
 *
 * Blocks of at most 16 threads have classes of their own, for fewer lanes run together there
 * (lanes.c).  The other threads of their warp do not exist.
 */
#include "base/common.h"

enum { WARP_LANES = 32 };

enum {
	BLOCK_CLASS_ANY, BLOCK_CLASS_LINE, BLOCK_CLASS_ROWS, BLOCK_CLASS_TILE,
	BLOCK_CLASS_COUNT = BLOCK_CLASS_TILE + 36,
	BLOCK_CLASS_TILE_32 = BLOCK_CLASS_TILE + 5, /* a tile of 32 along x */
	BLOCK_CLASS_TEAM = 256, /* added n times: blocks of n warps that run as a team (team.h) */
	BLOCK_CLASS_SMALL = 4096, /* added for blocks of at most 16 threads, twice for at most 8 */
	BLOCK_CLASS_EXACT = 16384 /* and for those of exactly 16 or 8 */
};
static_assert(BLOCK_CLASS_COUNT <= BLOCK_CLASS_TEAM, "the class is what remains");

unsigned block_class_of(const uint32_t block[3]);
/* Without a team and SMALL. */
static inline unsigned block_class_base(unsigned class)
{
	return class % BLOCK_CLASS_TEAM;
}
/* Warps of a team; 0: the warps run by themselves. */
static inline unsigned block_class_team(unsigned class)
{
	return class % BLOCK_CLASS_SMALL / BLOCK_CLASS_TEAM;
}
/* The lanes that do for a warp: 32, or 16 or 8 if blocks have no more threads. */
static inline unsigned block_class_lanes(unsigned class)
{
	return (unsigned)WARP_LANES >> class % BLOCK_CLASS_EXACT / BLOCK_CLASS_SMALL;
}
/* Whether blocks have exactly so many threads. */
static inline bool block_class_is_exact(unsigned class)
{
	return class >= BLOCK_CLASS_EXACT;
}
/* The extent of a warp in a class of tiles. */
void block_class_tile(unsigned class, uint32_t size[3]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * How many lanes of a warp run together.
 *
 * Usually a warp runs as one vector of 32 lanes.  A kernel whose threads exchange nothing within a
 * warp can run 16 or 8 lanes at a time instead.  Then a warp is several of the scheduler's, which
 * only barriers of the whole block join.
 *
 * A block of at most 16 threads would leave half of the lanes empty, and a warp that is not whole
 * never converges.  With fewer lanes it is whole, and its code is half as long.
 */
#include "base/common.h"

#include "cpu/ir/block_class.h"
#include "cpu/ir/lanes.h"

/* What a thread does by itself, or with all threads of its block. */
static bool lanes_are_apart_at(const struct ptx_inst *inst)
{
	return ptx_computes(inst->op) || ptx_rows[inst->op].kind == PTX_KIND_OTHER
		|| ptx_is_for_all(inst);
}

static bool lanes_are_apart(const struct ptx_func *func)
{
	bool apart = !func->uses_stack;
	for (size_t i = 0; i < func->inst_count && apart; i++) {
		apart = lanes_are_apart_at(&func->insts[i]);
	}
	return apart;
}

unsigned lanes_for(const struct ptx_func *func, unsigned class, unsigned wanted)
{
	const unsigned lanes = wanted > 0 ? wanted : block_class_lanes(class);
	return lanes == WARP_LANES || !lanes_are_apart(func) ? WARP_LANES : lanes;
}

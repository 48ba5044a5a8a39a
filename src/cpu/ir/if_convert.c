/* SPDX-License-Identifier: MIT */
#include "base/common.h"

#include "cpu/ir/if_convert.h"

/* Instructions of all blocks. */
enum { MOST_INSTS = 48 };

static size_t if_convert_rpo(const struct ptx_func *func, size_t block)
{
	return func->blocks[block].rpo;
}

static bool if_convert_has(const struct if_region *region, size_t block)
{
	bool found = false;
	for (size_t i = 0; i < region->count && !found; i++) {
		found = region->blocks[i] == block;
	}
	return found;
}

/* A block to which another one of the region goes; false: there are too many, or it goes back. */
static bool if_convert_add(struct if_region *region, const struct ptx_func *func, size_t from,
	size_t to)
{
	const size_t rpo = if_convert_rpo(func, to);
	if (rpo <= if_convert_rpo(func, from)) {
		return false;
	}
	if (to == region->join || if_convert_has(region, to)) {
		return true;
	}
	if (region->count == IF_CONVERT_BLOCKS) {
		return false;
	}
	size_t at = region->count++;
	for (; at > 0 && if_convert_rpo(func, region->blocks[at - 1]) > rpo; at--) {
		region->blocks[at] = region->blocks[at - 1];
	}
	region->blocks[at] = to;
	return true;
}

/* Only the branch and the region lead into a block, and it neither ends nor waits. */
static bool if_convert_is_inner(const struct if_region *region, const struct ptx_func *func,
	size_t index)
{
	const struct ptx_block *block = &func->blocks[index];
	for (size_t i = 0; i < block->pred_count; i++) {
		if (block->pred[i] != region->from && !if_convert_has(region, block->pred[i])) {
			return false;
		}
	}
	for (size_t i = block->first; i < block->end; i++) {
		const struct ptx_inst *inst = &func->insts[i];
		bool is_end = i + 1 == block->end && inst->op == PTX_OP_BRA;
		bool is_flow = inst->op == PTX_OP_BRA || inst->op == PTX_OP_BRX
			|| inst->op == PTX_OP_RET || inst->op == PTX_OP_EXIT
			|| inst->op == PTX_OP_TRAP || inst->op == PTX_OP_BRKPT
			|| ptx_waits(inst->op);
		if (is_flow && !is_end) {
			return false;
		}
	}
	return true;
}

bool if_convert_find(struct if_region *out, const struct ptx_func *func, size_t block)
{
	const struct ptx_block *from = &func->blocks[block];
	const struct ptx_inst *last = &func->insts[from->end - 1];
	*out = (struct if_region){.from = block, .join = from->ipdom};
	if (last->op != PTX_OP_BRA || !last->has_guard || from->succ_count != 2
	    || out->join == SIZE_MAX || if_convert_rpo(func, out->join) <= from->rpo) {
		return false;
	}
	bool ok = if_convert_add(out, func, block, from->succ[0])
		&& if_convert_add(out, func, block, from->succ[1]);
	size_t count = 0, phis = 0;
	for (size_t i = 0; i < out->count && ok; i++) {
		const struct ptx_block *inner = &func->blocks[out->blocks[i]];
		count += inner->end - inner->first;
		phis += inner->phi_count;
		ok = count <= MOST_INSTS && phis <= IF_CONVERT_PHIS;
		for (size_t k = 0; k < inner->succ_count && ok; k++) {
			ok = if_convert_add(out, func, out->blocks[i], inner->succ[k]);
		}
	}
	for (size_t i = 0; i < out->count && ok; i++) {
		ok = if_convert_is_inner(out, func, out->blocks[i]);
	}
	return ok;
}

bool if_convert_suits(const struct ptx_func *func, size_t block)
{
	struct if_region region;
	return if_convert_find(&region, func, block);
}

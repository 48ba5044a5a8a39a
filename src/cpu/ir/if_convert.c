/* SPDX-License-Identifier: MIT */
#include "base/common.h"

#include "cpu/ir/if_convert.h"

/* Instructions of both sides. */
enum { MOST_INSTS = 48 };

/* A side of its own: entered by the branch alone, it goes where both sides meet. */
static bool if_convert_is_side(const struct ptx_func *func, size_t side, size_t join)
{
	const struct ptx_block *block = &func->blocks[side];
	if (block->pred_count != 1 || block->succ_count != 1 || block->succ[0] != join) {
		return false;
	}
	for (size_t i = block->first; i < block->end; i++) {
		const struct ptx_inst *inst = &func->insts[i];
		bool is_end = i + 1 == block->end && inst->op == PTX_OP_BRA && !inst->has_guard;
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

bool if_convert_suits(const struct ptx_func *func, size_t block)
{
	const struct ptx_block *from = &func->blocks[block];
	const struct ptx_inst *last = &func->insts[from->end - 1];
	size_t join = from->ipdom, count = 0;
	if (last->op != PTX_OP_BRA || !last->has_guard || from->succ_count != 2
	    || join == SIZE_MAX || func->blocks[join].rpo <= from->rpo) {
		return false;
	}
	for (size_t i = 0; i < 2; i++) {
		size_t side = from->succ[i];
		if (side != join && !if_convert_is_side(func, side, join)) {
			return false;
		}
		count += side != join ? func->blocks[side].end - func->blocks[side].first : 0;
	}
	return count <= MOST_INSTS;
}

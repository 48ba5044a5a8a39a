/* SPDX-License-Identifier: MIT */
/*
 * Whether the .local memory of the lanes of a warp can be interleaved, word by word.
 *
 * Mostly all lanes read the same element of their arrays.  If the words of 32 lanes lie side by
 * side that is one vector access.  But only ld.local and st.local can address memory that lies like
 * this, so no address of local memory may become a generic one: addresses are offsets from the
 * start of each thread's memory, as those of shared memory are.  A kernel with a stack keeps its
 * memory in one piece, for it aligns and restores host addresses.
 */
#include "base/common.h"

#include "cpu/ir/local_interleave.h"

enum { WIDEST = 8 };

static bool local_interleave_is_access(const struct ptx_inst *inst,
	const struct ptx_operand *operand)
{
	return operand->kind == PTX_ADDRESS && operand->bracketed
		&& (operand->var ? operand->var->space : inst->space) == PTX_LOCAL;
}

static bool local_interleave_suits(const struct ptx_inst *inst)
{
	bool moves = inst->op == PTX_OP_LD || inst->op == PTX_OP_ST;
	if (inst->space == PTX_LOCAL && !moves) {
		return false;
	}
	for (size_t i = 0; i < inst->operand_count; i++) {
		const struct ptx_operand *operand = &inst->operands[i];
		bool is_place = local_interleave_is_access(inst, operand);
		if (is_place && (!moves || ptx_type_size(inst->types[0]) > WIDEST)) {
			return false;
		}
		if (operand->kind == PTX_SREG && operand->sreg == PTX_SREG_STACK_SIZE) {
			return false;
		}
	}
	return true;
}

bool local_interleave_is_possible(const struct ptx_func *func)
{
	for (size_t i = 0; i < func->inst_count; i++) {
		if (!local_interleave_suits(&func->insts[i])) {
			return false;
		}
	}
	return true;
}

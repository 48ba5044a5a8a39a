/* SPDX-License-Identifier: MIT */
/*
 * The layout of a profiled kernel's counters; see counters.h.
 *
 * cp.async reads global memory and writes shared memory; its access to global memory is counted.
 * Textures, surfaces, bulk copies and fragments of matrices have no counters of their own: which
 * bytes they touch is not in the instruction.
 */
#include "base/common.h"

#include "cpu/ir/counters.h"

#include "base/alloc.h"

#include <string.h>

static bool counters_is_atomic(enum ptx_op op)
{
	const char *spelling = ptx_rows[op].spelling;
	return strcmp(spelling, "atom") == 0 || strcmp(spelling, "red") == 0;
}

bool counters_find_access(struct counters_access *out, const struct ptx_inst *inst)
{
	const bool is_copy = inst->op == PTX_OP_CP_ASYNC;
	*out = (struct counters_access){.is_atomic = counters_is_atomic(inst->op)};
	if (inst->op != PTX_OP_LD && inst->op != PTX_OP_LDU && inst->op != PTX_OP_ST
	    && !out->is_atomic && !is_copy) {
		return false;
	}
	for (size_t i = 0; i < inst->operand_count; i++) {
		const struct ptx_operand *operand = &inst->operands[i];
		if (operand->kind == PTX_ADDRESS && operand->bracketed) {
			out->place = operand;
		}
	}
	if (!out->place) {
		return false;
	}
	out->space = is_copy ? PTX_GLOBAL : out->place->var ? out->place->var->space : inst->space;
	out->size = is_copy ? (uint32_t)inst->operands[2].value : ptx_access_size(inst);
	return out->size > 0 && out->space != PTX_PARAM;
}

bool counters_plan(struct counters *out, const struct ptx_func *func, bool has_costs)
{
	size_t next = counters_of_block(func->block_count);
	*out = (struct counters){.has_costs = has_costs,
		.accesses = mem_zalloc(func->inst_count + 1, sizeof(*out->accesses))};
	if (!out->accesses) {
		return false;
	}
	for (size_t i = 0; i < func->inst_count; i++) {
		struct counters_access access;
		if (counters_find_access(&access, &func->insts[i])) {
			out->accesses[i] = (uint32_t)next;
			next += has_costs ? COUNTERS_OF_COST : COUNTERS_OF_ACCESS;
		}
	}
	out->count = round_up(next, COUNTERS_ROW);
	return true;
}

void counters_free(struct counters *counters)
{
	mem_free(counters->accesses);
	*counters = (struct counters){.count = 0};
}

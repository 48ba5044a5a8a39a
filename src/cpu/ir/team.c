/* SPDX-License-Identifier: MIT */
/*
 * Whether the warps of a block can run as a team: interleaved in one call, instruction by
 * instruction, so that a barrier costs nothing (emit_interleave.c).
 *
 * Results must not depend on whether warps run as a team, although PTX leaves the order of warps
 * between two barriers open.  So a kernel that suits has no atomic operations, and a warp cannot
 * wait for another one but at a barrier of the whole block.  Without a barrier a team would gain
 * little.
 *
 * A team loses what it gains where its warps diverge in every block.  They do if a branch depends
 * on the position of the thread in its block alone or on data that threads have loaded.  A branch
 * that depends on the position of the block, too, is mostly a test for the end of an array, which
 * few blocks reach.
 *
 * It loses in a loop that carries many values from one iteration to the next, too.  The team
 * carries those of all its warps, and they do not fit into registers.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/ir/cfg.h"
#include "cpu/ir/block_class.h"
#include "cpu/ir/team.h"

#include <string.h>

/* LLVM takes so long for a team of 8 that more instructions are not worth it. */
enum { MOST_INSTS = 300 };
/* With TEAM_MOST warps, these take 32 vector registers. */
enum { MOST_CARRIED = 4 };

static bool team_is_barrier(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_BAR_SYNC || inst->op == PTX_OP_BARRIER_SYNC;
}

static bool team_suits(const struct ptx_inst *inst)
{
	switch (inst->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU:
	case PTX_OP_ST:
		return inst->space != PTX_LOCAL && !ptx_is_strong(inst);
	case PTX_OP_BAR_SYNC:
	case PTX_OP_BARRIER_SYNC:
		return ptx_is_for_all(inst);
	case PTX_OP_BRA:
	case PTX_OP_RET:
	case PTX_OP_EXIT:
		return true;
	default:
		return ptx_computes(inst->op) && !ptx_uses_carry(inst);
	}
}

/* --- What branches depend on, by forward data flow --- */

enum { OF_THREAD = 1, OF_BLOCK = 2, OF_DATA = 4 };

static unsigned team_sreg_source(enum ptx_sreg sreg)
{
	switch (sreg) {
	case PTX_SREG_NTID_X:
	case PTX_SREG_NTID_Y:
	case PTX_SREG_NTID_Z:
	case PTX_SREG_NCTAID_X:
	case PTX_SREG_NCTAID_Y:
	case PTX_SREG_NCTAID_Z:
		return 0;
	case PTX_SREG_CTAID_X:
	case PTX_SREG_CTAID_Y:
	case PTX_SREG_CTAID_Z:
		return OF_BLOCK;
	default:
		return OF_THREAD;
	}
}

static unsigned team_operand_source(const uint8_t *regs, const struct ptx_operand *operand)
{
	unsigned source = 0;
	switch (operand->kind) {
	case PTX_REG:
		return regs[operand->reg];
	case PTX_SREG:
		return team_sreg_source(operand->sreg);
	case PTX_ADDRESS:
		return operand->has_base ? regs[operand->reg] : 0;
	case PTX_VECTOR:
		for (size_t i = 0; i < operand->count; i++) {
			source |= team_operand_source(regs, &operand->elements[i]);
		}
		return source;
	default:
		return 0;
	}
}

/* The result is the first operand. */
static unsigned team_source_of(const uint8_t *regs, const struct ptx_inst *inst)
{
	unsigned source = inst->has_guard ? regs[inst->guard] : 0;
	for (size_t i = 1; i < inst->operand_count; i++) {
		source |= team_operand_source(regs, &inst->operands[i]);
	}
	bool loads = inst->op == PTX_OP_LD || inst->op == PTX_OP_LDU;
	return loads && (source & OF_THREAD) ? source | OF_DATA : source;
}

/* Add what the results of an instruction depend on.  True if that is new. */
static bool team_note_source(uint8_t *regs, const struct ptx_func *func,
	const struct ptx_inst *inst, uint64_t *written)
{
	bool changed = false;
	unsigned source = team_source_of(regs, inst);
	size_t words = func->reg_count / 64 + 1;
	memset(written, 0, words * sizeof(*written));
	cfg_written(written, inst);
	for (size_t w = 0; w < words; w++) {
		for (uint64_t left = written[w]; left != 0; left &= left - 1) {
			uint8_t *reg = &regs[w * 64 + (unsigned)__builtin_ctzll(left)];
			changed |= (*reg | source) != *reg;
			*reg |= (uint8_t)source;
		}
	}
	return changed;
}

static bool team_stays_together(const uint8_t *regs, const struct ptx_func *func)
{
	bool together = true;
	for (size_t i = 0; i < func->inst_count && together; i++) {
		const struct ptx_inst *inst = &func->insts[i];
		if (inst->op == PTX_OP_BRA && inst->has_guard) {
			unsigned source = regs[inst->guard];
			together = !(source & OF_THREAD)
				|| ((source & OF_BLOCK) && !(source & OF_DATA));
		}
	}
	return together;
}

/* The registers that a loop of instructions `first` to `last` reads before it writes them, if they
 * depend on what the threads have read.  `live` is room for a set of registers. */
static unsigned team_count_carried(const uint8_t *regs, const struct ptx_func *func, size_t first,
	size_t last, uint64_t *live)
{
	unsigned count = 0;
	memset(live, 0, (func->reg_count / 64 + 1) * sizeof(*live));
	for (size_t i = last + 1; i-- > first;) {
		cfg_live_before(live, &func->insts[i]);
	}
	for (size_t r = 0; r < func->reg_count; r++) {
		count += ptx_has_bit(live, r) && (regs[r] & OF_DATA);
	}
	return count;
}

static bool team_has_small_loops(const uint8_t *regs, const struct ptx_func *func, uint64_t *live)
{
	for (size_t i = 0; i < func->inst_count; i++) {
		const struct ptx_inst *inst = &func->insts[i];
		size_t target = inst->op == PTX_OP_BRA ? func->labels[inst->operands[0].reg].inst
			: i + 1;
		if (target <= i && team_count_carried(regs, func, target, i, live) > MOST_CARRIED) {
			return false;
		}
	}
	return true;
}

static bool team_has_good_branches(const struct ptx_func *func)
{
	uint8_t *regs = mem_zalloc(func->reg_count + 1, sizeof(*regs));
	uint64_t *written = mem_zalloc(func->reg_count / 64 + 1, sizeof(*written));
	bool changed = regs && written;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < func->inst_count; i++) {
			changed |= team_note_source(regs, func, &func->insts[i], written);
		}
	}
	bool good = regs && written && team_stays_together(regs, func)
		&& team_has_small_loops(regs, func, written);
	mem_free(regs);
	mem_free(written);
	return good;
}

bool team_is_possible(const struct ptx_func *func)
{
	bool waits = false;
	bool ok = func->inst_count <= MOST_INSTS && func->local_size == 0 && !func->uses_stack;
	for (size_t i = 0; i < func->inst_count && ok; i++) {
		ok = team_suits(&func->insts[i]);
		waits |= team_is_barrier(&func->insts[i]);
	}
	return ok && waits && team_has_good_branches(func);
}

unsigned team_class_of(const uint32_t block[3])
{
	unsigned class = block_class_of(block);
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
	uint64_t warps = threads / WARP_LANES;
	bool fits = threads % WARP_LANES == 0 && warps > 1 && warps <= TEAM_MOST;
	if (fits && block[0] == WARP_LANES) {
		class = BLOCK_CLASS_TILE_32;
	}
	return fits ? class + BLOCK_CLASS_TEAM * (unsigned)warps : class;
}

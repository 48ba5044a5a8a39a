/* SPDX-License-Identifier: MIT */
/*
 * Yield points: the headers of loops in which a thread may wait for another one.
 *
 * One worker runs all threads of a block in turn, so a thread that spins on memory would never let
 * the others run.  A branch back to a yield point therefore returns to the worker.  A natural loop
 * has a yield point if it
 *
 *	- uses the result of an atomic operation,
 *	- has a load that sees the stores of other threads (volatile, relaxed, acquire, .cv),
 *	- has any other load, and a fence or nanosleep, or
 *	- tests a barrier in shared memory.
 *
 * Loads of shared memory wait for threads of the block only.  Those run while the thread waits at a
 * barrier of the whole block: a loop that has one in every iteration needs no yield point for them.
 */
#include "base/common.h"

#include "cpu/ir/yield.h"

#include "base/alloc.h"
#include "cpu/ir/cfg.h"

#include <string.h>

/* Working memory for one function. */
struct yield_finder {
	const struct ptx_func *func;
	bool *yield_points;
	uint64_t *live;
	size_t *stack;
	bool *seen;
};

/* Signs that a loop waits for other threads. */
struct yield_signs {
	bool waits;
	bool waits_for_block;
	bool loads;
	bool fences;
};

/* `live`: the registers that are read after the instruction; NULL: all of them. */
static void yield_note_inst(struct yield_signs *signs, const struct ptx_inst *inst,
	const uint64_t *live)
{
	const struct ptx_operand *result = inst->operands;
	switch (inst->op) {
	case PTX_OP_ATOM:
	case PTX_OP_ATOM_CAS:
	case PTX_OP_ATOM_WIDE:
	case PTX_OP_ATOM_CAS_WIDE:
		signs->waits |= result->kind == PTX_REG
			&& (!live || ptx_has_bit(live, result->reg));
		break;
	case PTX_OP_LD:
		signs->waits |= ptx_is_strong(inst) && inst->space != PTX_SHARED;
		signs->waits_for_block |= ptx_is_strong(inst) && inst->space == PTX_SHARED;
		signs->loads |= inst->space == PTX_GENERIC || inst->space == PTX_GLOBAL
			|| inst->space == PTX_SHARED;
		break;
	case PTX_OP_MBARRIER_WAIT:
	case PTX_OP_MBARRIER_PARITY:
		signs->waits = true;
		break;
	case PTX_OP_MEMBAR:
	case PTX_OP_FENCE:
		signs->fences = true;
		break;
	case PTX_OP_NANOSLEEP:
		signs->fences |= inst->operand_count > 0;
		break;
	default:
		break;
	}
}

static bool yield_may_wait(const struct yield_signs *signs)
{
	return signs->waits || (signs->loads && signs->fences);
}

static void yield_note_block(struct yield_finder *f, struct yield_signs *signs, size_t index)
{
	const struct ptx_block *block = &f->func->blocks[index];
	memset(f->live, 0, cfg_live_words(f->func) * sizeof(*f->live));
	cfg_add_live_out(f->live, f->func, index);
	for (size_t i = block->end; i-- > block->first;) {
		yield_note_inst(signs, &f->func->insts[i], f->live);
		cfg_live_before(f->live, &f->func->insts[i]);
	}
}

/* Whether an iteration of the loop may pass no barrier of the whole block. */
static bool yield_misses_barrier(struct yield_finder *f, size_t latch, size_t header)
{
	const struct ptx_block *blocks = f->func->blocks;
	size_t depth = 0;
	memset(f->seen, 0, f->func->block_count * sizeof(*f->seen));
	f->seen[latch] = true;
	f->stack[depth++] = latch;
	while (depth > 0) {
		const size_t at = f->stack[--depth];
		const struct ptx_block *block = &blocks[at];
		if (ptx_is_for_all(&f->func->insts[block->end - 1])) {
			continue;
		}
		if (at == header) {
			return true;
		}
		for (size_t i = 0; i < block->pred_count; i++) {
			if (!f->seen[block->pred[i]]) {
				f->seen[block->pred[i]] = true;
				f->stack[depth++] = block->pred[i];
			}
		}
	}
	return false;
}

/* May the natural loop of the edge from `latch` back to `header` wait? */
static bool yield_loop_waits(struct yield_finder *f, size_t latch, size_t header)
{
	size_t *stack = f->stack;
	bool *seen = f->seen;
	const struct ptx_block *blocks = f->func->blocks;
	struct yield_signs signs = {.waits = false};
	size_t depth = 0;
	memset(seen, 0, f->func->block_count * sizeof(*seen));
	seen[header] = true;
	yield_note_block(f, &signs, header);
	if (!seen[latch]) {
		seen[latch] = true;
		stack[depth++] = latch;
	}

	while (depth > 0 && !yield_may_wait(&signs)) {
		const struct ptx_block *block = &blocks[stack[--depth]];
		yield_note_block(f, &signs, stack[depth]);
		for (size_t i = 0; i < block->pred_count; i++) {
			if (!seen[block->pred[i]]) {
				seen[block->pred[i]] = true;
				stack[depth++] = block->pred[i];
			}
		}
	}
	return yield_may_wait(&signs)
		|| (signs.waits_for_block && yield_misses_barrier(f, latch, header));
}

static void yield_find_in_block(struct yield_finder *f, size_t index)
{
	const struct ptx_block *block = &f->func->blocks[index];
	for (size_t k = 0; k < block->succ_count && block->rpo != SIZE_MAX; k++) {
		size_t to = block->succ[k];
		if (f->func->blocks[to].rpo <= block->rpo && !f->yield_points[to]) {
			f->yield_points[to] = yield_loop_waits(f, index, to);
		}
	}
}

bool yield_is_needed(const struct ptx_func *func)
{
	struct yield_signs signs = {.waits = false};
	for (size_t i = 0; i < func->inst_count; i++) {
		yield_note_inst(&signs, &func->insts[i], NULL);
	}
	return yield_may_wait(&signs) || signs.waits_for_block;
}

bool yield_find_points(const struct ptx_func *func, bool *yield_points)
{
	if (!yield_is_needed(func)) {
		return true;
	}

	struct yield_finder f = {.func = func, .yield_points = yield_points};
	f.live = mem_zalloc(cfg_live_words(func), sizeof(*f.live));
	f.stack = mem_zalloc(func->block_count, sizeof(*f.stack));
	f.seen = mem_zalloc(func->block_count, sizeof(*f.seen));
	bool ok = f.live && f.stack && f.seen;
	for (size_t i = 0; i < func->block_count && ok; i++) {
		yield_find_in_block(&f, i);
	}
	mem_free(f.live);
	mem_free(f.stack);
	mem_free(f.seen);
	return ok;
}

/* SPDX-License-Identifier: MIT */
/*
 * Uniformity analysis, as a fixpoint.  A register gets the join of what all instructions that write
 * it make (uniformity_transfer.c) until nothing changes.  Where these differ it is a vector.
 *
 * Divergence makes more registers vectors.  After a divergent branch some lanes run while others
 * are pending for another block.  A scalar has only one value at a time, so a register that the
 * running lanes write and the pending lanes still read must be a vector.  The second half of this
 * file therefore finds the pairs of blocks that lanes can be in at the same time.
 *
 * The pairs follow from how diverged code runs (emit_flow.c).  Of all blocks that lanes are pending
 * for, the first in reverse post-order runs: the lanes of a loop run until all have left it, and
 * those after the loop do not see what it writes.  Only where lanes wait in front of a block may
 * any other block run meanwhile.
 */
#include "base/common.h"

#include "cpu/ir/uniformity.h"

#include "base/alloc.h"
#include "cpu/ir/cfg.h"

#include <string.h>

/* The number of pairs is quadratic.  With more blocks every register is a vector. */
enum { MOST_BLOCKS = 512 };

struct uniformity_finder {
	struct uniformity_info *info;
	const struct ptx_func *func;
	size_t words;         /* of a set of registers */
	size_t count;         /* of blocks */
	uint64_t *forced;     /* registers that must be vectors */
	uint64_t *live;       /* scratch: a set of registers */
	bool *diverges;       /* blocks that end in a divergent branch */
	bool *waits;          /* blocks in front of which lanes may wait for others */
	bool *concurrent;     /* count * count: lanes may be in both blocks at once */
	uint32_t *todo;       /* pairs whose successors are not yet added */
	size_t todo_count;
	bool changed;
};

static bool uniformity_is_reachable(const struct ptx_block *block)
{
	return block->rpo != SIZE_MAX;
}

/* --- Registers --- */

static const struct uniformity vector = {.is_known = true, .is_vector = true};

static struct uniformity uniformity_join(const struct uniformity *a, const struct uniformity *b)
{
	struct uniformity both = *a;
	if (!a->is_known || !b->is_known) {
		return a->is_known ? *a : *b;
	}
	if (a->is_vector || b->is_vector || a->offsets != b->offsets) {
		return vector;
	}
	both.has_value = a->has_value && b->has_value && a->value == b->value;
	both.value = both.has_value ? a->value : 0;
	both.align = a->align < b->align ? a->align : b->align;
	return both;
}

static void uniformity_write_reg(struct uniformity_finder *f, unsigned reg,
	const struct uniformity *made)
{
	struct uniformity *old = &f->info->regs[reg];
	struct uniformity now = uniformity_join(old, ptx_has_bit(f->forced, reg) ? &vector : made);
	f->changed |= now.is_known != old->is_known || now.is_vector != old->is_vector
		|| now.has_value != old->has_value || now.align != old->align
		|| now.offsets != old->offsets;
	*old = now;
}

static void uniformity_write_operand(struct uniformity_finder *f, const struct ptx_operand *to,
	const struct uniformity *made)
{
	if (to->kind == PTX_REG || to->kind == PTX_PAIR) {
		uniformity_write_reg(f, to->reg, made);
	}
	if (to->kind == PTX_PAIR) {
		uniformity_write_reg(f, to->reg2, made);
	}
	for (size_t i = 0; to->kind == PTX_VECTOR && i < to->count; i++) {
		if (to->elements[i].kind == PTX_REG) {
			uniformity_write_reg(f, to->elements[i].reg, made);
		}
	}
}

/* What an instruction leaves in its results.  Under a guard some lanes may keep their old value. */
static struct uniformity uniformity_of_write(const struct uniformity_finder *f,
	const struct ptx_inst *inst)
{
	struct uniformity made = uniformity_of_result(f->info, inst);
	struct uniformity guard = {.is_known = true};
	if (inst->has_guard) {
		guard = f->info->regs[inst->guard];
	}
	return guard.is_vector || !guard.is_known ? guard : made;
}

static void uniformity_note_inst(struct uniformity_finder *f, const struct ptx_inst *inst)
{
	size_t index = inst->op == PTX_OP_CALL;
	const char *letter = ptx_rows[inst->op].operands;
	letter += strspn(letter, "!?") + index;
	if (index < inst->operand_count && *letter != '\0' && strchr(PTX_WRITTEN, *letter)) {
		struct uniformity made = uniformity_of_write(f, inst);
		uniformity_write_operand(f, &inst->operands[index], &made);
	}
	if (inst->has_carry && ptx_writes_carry(inst)) {
		uniformity_write_reg(f, inst->carry_out, &vector);
	}
}

static void uniformity_iterate(struct uniformity_finder *f)
{
	const struct ptx_func *func = f->func;
	do {
		f->changed = false;
		for (size_t i = 0; i < f->count; i++) {
			const struct ptx_block *block = &func->blocks[i];
			bool reachable = uniformity_is_reachable(block);
			for (size_t k = block->first; k < block->end && reachable; k++) {
				uniformity_note_inst(f, &func->insts[k]);
			}
		}
	} while (f->changed);
}

/* --- Divergence: which blocks lanes are in at the same time --- */

static void uniformity_add_pair(struct uniformity_finder *f, size_t a, size_t b)
{
	if (!f->concurrent[a * f->count + b]) {
		f->concurrent[a * f->count + b] = true;
		f->concurrent[b * f->count + a] = true;
		f->todo[f->todo_count++] = (uint32_t)(a * f->count + b);
	}
}

/* Lanes in block `a` go on while others are pending for `b`. */
static void uniformity_move_on(struct uniformity_finder *f, size_t a, size_t b)
{
	const struct ptx_block *blocks = f->func->blocks;
	if (a != b && blocks[a].rpo > blocks[b].rpo && !f->waits[b]) {
		return;
	}
	for (size_t i = 0; i < blocks[a].succ_count; i++) {
		if (blocks[a].succ[i] != b) {
			uniformity_add_pair(f, blocks[a].succ[i], b);
		}
	}
}

static void uniformity_close_pairs(struct uniformity_finder *f)
{
	while (f->todo_count > 0) {
		uint32_t pair = f->todo[--f->todo_count];
		uniformity_move_on(f, pair / f->count, pair % f->count);
		uniformity_move_on(f, pair % f->count, pair / f->count);
	}
}

static const struct ptx_inst *uniformity_last_inst(const struct uniformity_finder *f, size_t block)
{
	return &f->func->insts[f->func->blocks[block].end - 1];
}

static bool uniformity_diverges_at(const struct uniformity_finder *f, size_t block)
{
	const struct ptx_inst *last = uniformity_last_inst(f, block);
	if (last->op == PTX_OP_BRA) {
		return last->has_guard && f->info->regs[last->guard].is_vector;
	}
	if (last->op != PTX_OP_BRX) {
		return false;
	}
	struct uniformity index = uniformity_of_operand(f->info, &last->operands[0]);
	return !uniformity_is_uniform(&index);
}

static void uniformity_find_branches(struct uniformity_finder *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct ptx_block *block = &f->func->blocks[i];
		if (!uniformity_is_reachable(block) || f->diverges[i]
			|| !uniformity_diverges_at(f, i)) {
			continue;
		}
		f->diverges[i] = true;
		for (size_t a = 0; a < block->succ_count; a++) {
			for (size_t b = 0; b < a; b++) {
				uniformity_add_pair(f, block->succ[a], block->succ[b]);
			}
		}
	}
}

/* --- Lanes that wait for each other --- */

/* Whether the numbers of the barrier and of its threads are constants. */
static bool uniformity_is_same_barrier(const struct ptx_inst *inst)
{
	bool reduces = inst->op == PTX_OP_BAR_RED_PRED || inst->op == PTX_OP_BAR_RED_POPC
		|| inst->op == PTX_OP_BARRIER_RED_PRED || inst->op == PTX_OP_BARRIER_RED_POPC;
	bool same = true;
	for (size_t i = reduces; i + reduces < inst->operand_count; i++) {
		same &= inst->operands[i].kind == PTX_INT;
	}
	return same;
}

/* Whether all lanes that wait here go on at the same time.  They do at a barrier that is the same
 * for all lanes, and at a collective that names all lanes. */
static bool uniformity_ends_together(const struct uniformity_finder *f, const struct ptx_inst *inst)
{
	const struct ptx_operand *last = &inst->operands[inst->operand_count - 1];
	struct uniformity who;
	switch (inst->op) {
	case PTX_OP_BAR_WARP_SYNC:
	case PTX_OP_SHFL_SYNC:
	case PTX_OP_VOTE_SYNC:
	case PTX_OP_BALLOT_SYNC:
	case PTX_OP_MATCH_ANY:
	case PTX_OP_MATCH_ALL:
	case PTX_OP_REDUX_INT:
	case PTX_OP_REDUX_BITS:
	case PTX_OP_REDUX_REAL:
	case PTX_OP_ELECT:
		who = uniformity_of_operand(f->info, last);
		return who.has_value && (uint32_t)who.value == UINT32_MAX;
	default:
		return !ptx_is_barrier(inst->op) || uniformity_is_same_barrier(inst);
	}
}

static void uniformity_find_waits(struct uniformity_finder *f, const bool *yield_points)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct ptx_block *block = &f->func->blocks[i];
		const struct ptx_inst *last = uniformity_last_inst(f, i);
		f->waits[i] |= yield_points[i];
		if (uniformity_is_reachable(block) && ptx_waits(last->op) && !last->is_second
		    && last->op != PTX_OP_ACTIVEMASK) {
			f->waits[block->succ[0]] = true;
		}
	}
}

/* Lanes that wait in front of one block may enter it one after the other. */
static void uniformity_find_exits(struct uniformity_finder *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct ptx_block *block = &f->func->blocks[i];
		const struct ptx_inst *last = uniformity_last_inst(f, i);
		if (uniformity_is_reachable(block) && ptx_waits(last->op) && !last->is_second
		    && last->op != PTX_OP_ACTIVEMASK && !uniformity_ends_together(f, last)) {
			uniformity_add_pair(f, block->succ[0], block->succ[0]);
		}
	}
}

/* --- Registers that divergence makes vectors --- */

static void uniformity_force_block(struct uniformity_finder *f, size_t x)
{
	const struct ptx_block *blocks = f->func->blocks;
	bool any = false;
	memset(f->live, 0, f->words * sizeof(*f->live));
	for (size_t y = 0; y < f->count; y++) {
		if (f->concurrent[x * f->count + y]
			&& (blocks[y].rpo > blocks[x].rpo || f->waits[y])) {
			any = true;
			cfg_add_live_in(f->live, f->func, y);
		}
	}
	for (size_t i = blocks[x].first; any && i < blocks[x].end; i++) {
		uint64_t *written = f->live + f->words;
		memset(written, 0, f->words * sizeof(*written));
		cfg_written(written, &f->func->insts[i]);
		for (size_t w = 0; w < f->words; w++) {
			f->changed |= (written[w] & f->live[w] & ~f->forced[w]) != 0;
			f->forced[w] |= written[w] & f->live[w];
		}
	}
}

static void uniformity_force_vectors(struct uniformity_finder *f)
{
	f->changed = false;
	for (size_t i = 0; i < f->count; i++) {
		if (uniformity_is_reachable(&f->func->blocks[i])) {
			uniformity_force_block(f, i);
		}
	}
}

/* --- The analysis --- */

/* A register that is read before it is written is 0. */
static void uniformity_note_start(struct uniformity_finder *f)
{
	const struct uniformity zero = {.is_known = true};
	for (unsigned r = 0; r < f->func->reg_count; r++) {
		if (cfg_is_live(&f->func->blocks[0], r)) {
			uniformity_write_reg(f, r, &zero);
		}
	}
}

static void uniformity_solve(struct uniformity_finder *f, const bool *yield_points)
{
	uniformity_find_waits(f, yield_points);
	uniformity_note_start(f);
	do {
		uniformity_iterate(f);
		uniformity_find_branches(f);
		uniformity_find_exits(f);
		uniformity_close_pairs(f);
		uniformity_force_vectors(f);
	} while (f->changed);
}

static bool uniformity_allocate(struct uniformity_finder *f)
{
	f->forced = mem_zalloc(f->words, sizeof(*f->forced));
	f->live = mem_zalloc(2 * f->words, sizeof(*f->live));
	f->diverges = mem_zalloc(f->count, sizeof(*f->diverges));
	f->waits = mem_zalloc(f->count, sizeof(*f->waits));
	f->concurrent = mem_zalloc(f->count * f->count, sizeof(*f->concurrent));
	f->todo = mem_zalloc(f->count * (f->count + 1), sizeof(*f->todo));
	return f->forced && f->live && f->diverges && f->waits && f->concurrent && f->todo;
}

static void uniformity_make_vectors(struct uniformity_info *info, bool all)
{
	for (size_t i = 0; i < info->func->reg_count; i++) {
		if (all || !info->regs[i].is_known) {
			info->regs[i] = (struct uniformity){.is_known = true, .is_vector = true};
		}
	}
}

bool uniformity_analyze(struct uniformity_info *out, const struct ptx_func *func, unsigned class,
	unsigned lanes, const bool *yield_points)
{
	struct uniformity_finder f = {.info = out, .func = func, .words = cfg_live_words(func),
		.count = func->block_count};
	*out = (struct uniformity_info){.func = func, .class = class, .lanes = lanes};
	out->regs = mem_zalloc(func->reg_count + 1, sizeof(*out->regs));
	out->pool = uniformity_pool_create();
	bool ok = out->regs && out->pool;
	bool small = f.count <= MOST_BLOCKS;
	if (ok && small) {
		ok = uniformity_allocate(&f);
	}
	if (ok && small) {
		uniformity_solve(&f, yield_points);
		ok = uniformity_pool_had_memory(out->pool);
	}
	if (ok) {
		uniformity_make_vectors(out, !small);
	}
	mem_free(f.forced);
	mem_free(f.live);
	mem_free(f.diverges);
	mem_free(f.waits);
	mem_free(f.concurrent);
	mem_free(f.todo);
	return ok;
}

void uniformity_free(struct uniformity_info *info)
{
	uniformity_pool_free(info->pool);
	mem_free(info->regs);
}

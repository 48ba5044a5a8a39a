/* SPDX-License-Identifier: MIT */
/*
 * Shapes of registers, to a fixpoint: each register gets what all instructions that write it make,
 * put together (uniformity_transfer.c says what that is), until nothing changes.  Where they differ it is a
 * vector.
 *
 * A scalar that stands for all lanes has one value at a time.  While lanes have parted some of them
 * run and others stand still, pending for some block; if those that run write a register that the
 * others still read, then it must be a vector, too.  So the second half of this file finds the pairs
 * of blocks that lanes can be in at the same time.  It follows how diverged code runs (emit_flow.c):
 * of all blocks that lanes are pending for the first in reverse post-order runs, so that the lanes of
 * a loop run until all have left it, and what they count in it is nobody else's.  Only where lanes
 * wait, in front of a block, any others may run meanwhile.
 */
#include "base/common.h"

#include "cpu/ir/uniformity.h"

#include "base/alloc.h"
#include "cpu/ir/cfg.h"
#include "cpu/ir/local_interleave.h"

#include <string.h>

/* Pairs of blocks are the square of them; of more every register is a vector. */
enum { MOST_BLOCKS = 512 };

struct finder {
	struct shapes *shapes;
	const struct ptx_func *func;
	size_t words;         /* of a set of registers */
	size_t count;         /* of blocks */
	uint64_t *forced;     /* registers that must be vectors */
	uint64_t *live;       /* scratch: a set of registers */
	bool *parted;         /* blocks at whose end lanes part */
	bool *waits;          /* blocks in front of which lanes may wait for others */
	bool *together;       /* count * count: lanes may be in both at once */
	uint32_t *todo;       /* pairs whose consequences are to be drawn */
	size_t todo_count;
	bool changed;
};

static bool is_reachable(const struct ptx_block *block)
{
	return block->rpo != SIZE_MAX;
}

/* --- Registers --- */

static struct shape joined(const struct shape *a, const struct shape *b)
{
	struct shape both = *a;
	if (!a->is_known || !b->is_known) {
		return a->is_known ? *a : *b;
	}
	if (a->is_vector || b->is_vector || a->offsets != b->offsets) {
		return (struct shape){.is_known = true, .is_vector = true};
	}
	both.has_value = a->has_value && b->has_value && a->value == b->value;
	both.value = both.has_value ? a->value : 0;
	both.align = a->align < b->align ? a->align : b->align;
	return both;
}

static void write_reg(struct finder *f, unsigned reg, const struct shape *made)
{
	static const struct shape vector = {.is_known = true, .is_vector = true};
	struct shape *old = &f->shapes->regs[reg];
	struct shape now = joined(old, ptx_has_bit(f->forced, reg) ? &vector : made);
	f->changed |= now.is_known != old->is_known || now.is_vector != old->is_vector
		|| now.has_value != old->has_value || now.align != old->align
		|| now.offsets != old->offsets;
	*old = now;
}

static void write_operand(struct finder *f, const struct ptx_operand *to, const struct shape *made)
{
	if (to->kind == PTX_REG || to->kind == PTX_PAIR) {
		write_reg(f, to->reg, made);
	}
	if (to->kind == PTX_PAIR) {
		write_reg(f, to->reg2, made);
	}
	for (size_t i = 0; to->kind == PTX_VECTOR && i < to->count; i++) {
		if (to->elements[i].kind == PTX_REG) {
			write_reg(f, to->elements[i].reg, made);
		}
	}
}

/* What an instruction leaves in its results: under a guard some lanes may keep what they have. */
static struct shape made_by(const struct finder *f, const struct ptx_inst *inst)
{
	struct shape made = shapes_result(f->shapes, inst);
	struct shape guard = {.is_known = true};
	if (inst->has_guard) {
		guard = f->shapes->regs[inst->guard];
	}
	return guard.is_vector || !guard.is_known ? guard : made;
}

static void note_inst(struct finder *f, const struct ptx_inst *inst)
{
	size_t index = inst->op == PTX_OP_CALL;
	const char *letter = ptx_rows[inst->op].operands;
	letter += strspn(letter, "!?") + index;
	if (index < inst->operand_count && *letter != '\0' && strchr(PTX_WRITTEN, *letter)) {
		struct shape made = made_by(f, inst);
		write_operand(f, &inst->operands[index], &made);
	}
}

static void find_shapes(struct finder *f)
{
	const struct ptx_func *func = f->func;
	do {
		f->changed = false;
		for (size_t i = 0; i < f->count; i++) {
			const struct ptx_block *block = &func->blocks[i];
			for (size_t k = block->first; k < block->end && is_reachable(block); k++) {
				note_inst(f, &func->insts[k]);
			}
		}
	} while (f->changed);
}

/* --- Lanes that part --- */

static void add_pair(struct finder *f, size_t a, size_t b)
{
	if (!f->together[a * f->count + b]) {
		f->together[a * f->count + b] = true;
		f->together[b * f->count + a] = true;
		f->todo[f->todo_count++] = (uint32_t)(a * f->count + b);
	}
}

/* Lanes in block `a` go on while others are pending for `b`. */
static void move_on(struct finder *f, size_t a, size_t b)
{
	const struct ptx_block *blocks = f->func->blocks;
	if (a != b && blocks[a].rpo > blocks[b].rpo && !f->waits[b]) {
		return;
	}
	for (size_t i = 0; i < blocks[a].succ_count; i++) {
		if (blocks[a].succ[i] != b) {
			add_pair(f, blocks[a].succ[i], b);
		}
	}
}

static void draw_consequences(struct finder *f)
{
	while (f->todo_count > 0) {
		uint32_t pair = f->todo[--f->todo_count];
		move_on(f, pair / f->count, pair % f->count);
		move_on(f, pair % f->count, pair / f->count);
	}
}

static const struct ptx_inst *last_of(const struct finder *f, size_t block)
{
	return &f->func->insts[f->func->blocks[block].end - 1];
}

static bool lanes_part(const struct finder *f, size_t block)
{
	const struct ptx_inst *last = last_of(f, block);
	if (last->op == PTX_OP_BRA) {
		return last->has_guard && f->shapes->regs[last->guard].is_vector;
	}
	if (last->op != PTX_OP_BRX) {
		return false;
	}
	struct shape index = shapes_operand(f->shapes, &last->operands[0]);
	return !shape_is_uniform(&index);
}

static void find_partings(struct finder *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct ptx_block *block = &f->func->blocks[i];
		if (!is_reachable(block) || f->parted[i] || !lanes_part(f, i)) {
			continue;
		}
		f->parted[i] = true;
		for (size_t a = 0; a < block->succ_count; a++) {
			for (size_t b = 0; b < a; b++) {
				add_pair(f, block->succ[a], block->succ[b]);
			}
		}
	}
}

/* --- Lanes that wait --- */

static bool is_barrier(enum ptx_op op)
{
	return op >= PTX_OP_BAR_SYNC && op <= PTX_OP_BARRIER_RED_POPC && op != PTX_OP_BAR_WARP_SYNC;
}

/* The number of a barrier and of the threads are constants. */
static bool is_same_barrier(const struct ptx_inst *inst)
{
	bool reduces = inst->op == PTX_OP_BAR_RED_PRED || inst->op == PTX_OP_BAR_RED_POPC
		|| inst->op == PTX_OP_BARRIER_RED_PRED || inst->op == PTX_OP_BARRIER_RED_POPC;
	bool same = true;
	for (size_t i = reduces; i + reduces < inst->operand_count; i++) {
		same &= inst->operands[i].kind == PTX_INT;
	}
	return same;
}

/* Whether all lanes that wait here go on together: at a barrier that is the same for all, and where
 * each waits for all others. */
static bool go_on_together(const struct finder *f, const struct ptx_inst *inst)
{
	const struct ptx_operand *last = &inst->operands[inst->operand_count - 1];
	struct shape who;
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
		who = shapes_operand(f->shapes, last);
		return who.has_value && (uint32_t)who.value == UINT32_MAX;
	default:
		return !is_barrier(inst->op) || is_same_barrier(inst);
	}
}

static void find_waits(struct finder *f, const bool *spins)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct ptx_block *block = &f->func->blocks[i];
		const struct ptx_inst *last = last_of(f, i);
		f->waits[i] |= spins[i];
		if (is_reachable(block) && ptx_waits(last->op) && !last->is_second
		    && last->op != PTX_OP_ACTIVEMASK) {
			f->waits[block->succ[0]] = true;
		}
	}
}

/* Where lanes that wait in front of one block may go on one after the other. */
static void find_leavings(struct finder *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct ptx_block *block = &f->func->blocks[i];
		const struct ptx_inst *last = last_of(f, i);
		if (is_reachable(block) && ptx_waits(last->op) && !last->is_second
		    && last->op != PTX_OP_ACTIVEMASK && !go_on_together(f, last)) {
			add_pair(f, block->succ[0], block->succ[0]);
		}
	}
}

/* --- What that does to registers --- */

static void force_block(struct finder *f, size_t x)
{
	const struct ptx_block *blocks = f->func->blocks;
	bool any = false;
	memset(f->live, 0, f->words * sizeof(*f->live));
	for (size_t y = 0; y < f->count; y++) {
		if (f->together[x * f->count + y] && (blocks[y].rpo > blocks[x].rpo || f->waits[y])) {
			any = true;
			for (size_t w = 0; w < f->words; w++) {
				f->live[w] |= blocks[y].live_in[w];
			}
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

static void force_vectors(struct finder *f)
{
	f->changed = false;
	for (size_t i = 0; i < f->count; i++) {
		if (is_reachable(&f->func->blocks[i])) {
			force_block(f, i);
		}
	}
}

/* --- All --- */

/* What is read before it is written is 0. */
static void note_start(struct finder *f)
{
	const struct shape zero = {.is_known = true};
	for (unsigned r = 0; r < f->func->reg_count; r++) {
		if (ptx_has_bit(f->func->blocks[0].live_in, r)) {
			write_reg(f, r, &zero);
		}
	}
}

static void find_all(struct finder *f, const bool *spins)
{
	find_waits(f, spins);
	note_start(f);
	do {
		find_shapes(f);
		find_partings(f);
		find_leavings(f);
		draw_consequences(f);
		force_vectors(f);
	} while (f->changed);
}

static bool allocate(struct finder *f)
{
	f->forced = mem_zalloc(f->words, sizeof(*f->forced));
	f->live = mem_zalloc(2 * f->words, sizeof(*f->live));
	f->parted = mem_zalloc(f->count, sizeof(*f->parted));
	f->waits = mem_zalloc(f->count, sizeof(*f->waits));
	f->together = mem_zalloc(f->count * f->count, sizeof(*f->together));
	f->todo = mem_zalloc(f->count * (f->count + 1), sizeof(*f->todo));
	return f->forced && f->live && f->parted && f->waits && f->together && f->todo;
}

static void make_vectors(struct shapes *shapes, bool all)
{
	for (size_t i = 0; i < shapes->func->reg_count; i++) {
		if (all || !shapes->regs[i].is_known) {
			shapes->regs[i] = (struct shape){.is_known = true, .is_vector = true};
		}
	}
}

bool shapes_find(struct shapes *out, const struct ptx_func *func, unsigned class, const bool *spins)
{
	struct finder f = {.shapes = out, .func = func, .words = func->reg_count / 64 + 1,
		.count = func->block_count};
	*out = (struct shapes){.func = func, .class = class, .splits = split_is_possible(func)};
	out->regs = mem_zalloc(func->reg_count + 1, sizeof(*out->regs));
	out->pool = shape_pool_create();
	bool ok = out->regs && out->pool;
	bool small = f.count <= MOST_BLOCKS;
	if (ok && small) {
		ok = allocate(&f);
	}
	if (ok && small) {
		find_all(&f, spins);
		ok = shape_pool_had_memory(out->pool);
	}
	if (ok) {
		make_vectors(out, !small);
	}
	mem_free(f.forced);
	mem_free(f.live);
	mem_free(f.parted);
	mem_free(f.waits);
	mem_free(f.together);
	mem_free(f.todo);
	return ok;
}

void shapes_free(struct shapes *shapes)
{
	shape_pool_free(shapes->pool);
	mem_free(shapes->regs);
}

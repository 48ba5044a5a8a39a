/* SPDX-License-Identifier: MIT */
/*
 * SSA form, after Cytron et al., "Efficiently Computing Static Single Assignment Form and the
 * Control Dependence Graph" (1991).  A register that is written more than once gets a phi in the
 * iterated dominance frontier of its writes, but only where it is live.  A walk over the dominator
 * tree then numbers the values.  Dominators are found as cfg.c finds post-dominators (Cooper,
 * Harvey, Kennedy).
 *
 * Dominance frontiers can take the square of the size of a kernel, so they are not kept.  The
 * iterated frontier of each register is found on the dominator tree, after Sreedhar and Gao, "A
 * Linear Time Algorithm for Placing phi-Nodes" (1995).
 *
 * The one-pass construction of Braun et al. would have to take back phis that turn out to be
 * trivial.  Liveness is known here, so that none is made.
 *
 * Nothing here recurses.
 */
#include "base/common.h"

#include "cpu/ir/ssa.h"

#include "base/alloc.h"
#include "cpu/ir/blame.h"
#include "cpu/ir/cfg.h"
#include "cpu/ir/lower.h"

#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX

struct ssa_list {
	size_t *data;
	size_t count, cap;
};

struct ssa {
	struct ptx_module *module;
	struct ptx_func *func;
	bool failed;            /* no memory */
	bool is_huge;           /* its lanes run one at a time */
	size_t *order;          /* reachable blocks in reverse post-order */
	size_t order_count;
	size_t *idom;           /* by block; NONE: the first block, and blocks that nothing
	                           reaches */
	size_t *level;          /* by block: its depth in the dominator tree */
	struct ssa_list *children; /* by block: those that it dominates immediately */
	struct ssa_list *defs;  /* by register: blocks that write it */
	struct ssa_list work;   /* a heap of blocks: the deepest in the dominator tree is on top */
	struct ssa_list walk;   /* blocks of a subtree that are still to be visited */
	size_t *on_work;        /* by block: the last register that had it on the heap, plus 1, */
	size_t *visited;        /* for which it was visited, */
	size_t *seen;           /* and that put a phi there */
	uint64_t *crossing;     /* registers that are live into some block */
	struct ssa_list *phi_regs; /* by block: registers that have phis there */
	unsigned *current;      /* by register: its value, PTX_NO_VALUE: none yet */
	struct ssa_list undo;   /* register and old value, by turns */
	struct ptx_value *values;
	size_t value_count, value_cap;
	uint64_t *live;         /* scratch: a set of registers */
	unsigned *web;          /* by value: union-find, then the register */
};

static void ssa_add(struct ssa *s, struct ssa_list *list, size_t item)
{
	size_t *data = mem_grow(list->data, list->count, &list->cap, sizeof(*data));
	if (!data) {
		s->failed = true;
		return;
	}
	list->data = data;
	list->data[list->count++] = item;
}

static void ssa_free_lists(struct ssa_list *lists, size_t count)
{
	for (size_t i = 0; lists && i < count; i++) {
		mem_free(lists[i].data);
	}
	mem_free(lists);
}

static bool ssa_is_reachable(const struct ptx_func *func, size_t block)
{
	return func->blocks[block].rpo != SIZE_MAX;
}

/* --- Dominators --- */

static size_t ssa_common(const struct ssa *s, size_t a, size_t b)
{
	const struct ptx_block *blocks = s->func->blocks;
	while (a != b) {
		if (blocks[a].rpo > blocks[b].rpo) {
			a = s->idom[a];
		} else {
			b = s->idom[b];
		}
	}
	return a;
}

static void ssa_find_dominators(struct ssa *s)
{
	for (size_t i = 0; i < s->func->block_count; i++) {
		s->idom[i] = NONE;
	}
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 1; i < s->order_count; i++) {
			const struct ptx_block *block = &s->func->blocks[s->order[i]];
			size_t now = NONE;
			for (size_t k = 0; k < block->pred_count; k++) {
				size_t from = block->pred[k];
				bool known = from == 0 || s->idom[from] != NONE;
				now = !known ? now : now == NONE ? from : ssa_common(s, now, from);
			}
			changed |= s->idom[s->order[i]] != now;
			s->idom[s->order[i]] = now;
		}
	}
	for (size_t i = 1; i < s->order_count; i++) {
		size_t above = s->idom[s->order[i]];
		s->level[s->order[i]] = s->level[above] + 1;
		ssa_add(s, &s->children[above], s->order[i]);
	}
}

/* --- Phis --- */

static void ssa_note_defs(struct ssa *s)
{
	const size_t words = cfg_live_words(s->func);
	uint64_t *written = s->live;
	for (size_t i = 0; i < s->order_count; i++) {
		const struct ptx_block *block = &s->func->blocks[s->order[i]];
		memset(written, 0, words * sizeof(*written));
		for (size_t k = block->first; k < block->end; k++) {
			cfg_written(written, &s->func->insts[k]);
		}
		for (size_t w = 0; w < words; w++) {
			for (uint64_t bits = written[w]; bits; bits &= bits - 1) {
				ssa_add(s, &s->defs[w * 64 + (size_t)__builtin_ctzll(bits)],
					s->order[i]);
			}
		}
	}
}

static void ssa_put_work(struct ssa *s, size_t block, size_t reg)
{
	if (s->on_work[block] == reg + 1) {
		return;
	}
	s->on_work[block] = reg + 1;
	ssa_add(s, &s->work, block);
	size_t *heap = s->work.data;
	for (size_t i = s->work.count - 1; !s->failed && i > 0;) {
		size_t above = (i - 1) / 2;
		if (s->level[heap[above]] >= s->level[block]) {
			break;
		}
		heap[i] = heap[above];
		heap[above] = block;
		i = above;
	}
}

static size_t ssa_take_work(struct ssa *s)
{
	size_t *heap = s->work.data;
	size_t top = heap[0], count = --s->work.count, last = heap[count];
	for (size_t i = 0; count > 0;) {
		size_t below = 2 * i + 1;
		below += below + 1 < count && s->level[heap[below + 1]] > s->level[heap[below]];
		if (below >= count || s->level[heap[below]] <= s->level[last]) {
			heap[i] = last;
			break;
		}
		heap[i] = heap[below];
		i = below;
	}
	return top;
}

/* Put phis where edges leave what `root` dominates, for blocks that are no deeper than it.  The
 * blocks that a deeper root dominates were visited before, and no such edge leaves them any
 * more. */
static void ssa_visit_subtree(struct ssa *s, size_t root, size_t reg)
{
	const struct ptx_block *blocks = s->func->blocks;
	s->visited[root] = reg + 1;
	s->walk.count = 0;
	ssa_add(s, &s->walk, root);
	while (s->walk.count > 0 && !s->failed) {
		size_t from = s->walk.data[--s->walk.count];
		for (size_t i = 0; i < blocks[from].succ_count; i++) {
			size_t to = blocks[from].succ[i];
			if (s->idom[to] != from && s->level[to] <= s->level[root]
			    && s->seen[to] != reg + 1 && cfg_is_live(&blocks[to], reg)) {
				s->seen[to] = reg + 1;
				ssa_add(s, &s->phi_regs[to], reg);
				ssa_put_work(s, to, reg);
			}
		}
		for (size_t i = 0; i < s->children[from].count; i++) {
			size_t below = s->children[from].data[i];
			if (s->visited[below] != reg + 1) {
				s->visited[below] = reg + 1;
				ssa_add(s, &s->walk, below);
			}
		}
	}
}

/* Most registers need no phi: they live within blocks (Briggs et al., 1998), or one write dominates
 * all that reads them. */
static void ssa_place_phis(struct ssa *s, size_t reg)
{
	const struct ssa_list *defs = &s->defs[reg];
	if (!ptx_has_bit(s->crossing, reg)
	    || (defs->count == 1 && !cfg_is_live(&s->func->blocks[0], reg))) {
		return;
	}
	s->work.count = 0;
	for (size_t i = 0; i < defs->count; i++) {
		ssa_put_work(s, defs->data[i], reg);
	}
	while (s->work.count > 0 && !s->failed) {
		ssa_visit_subtree(s, ssa_take_work(s), reg);
	}
}

static bool ssa_make_phis(struct ssa *s)
{
	for (size_t i = 0; i < s->order_count; i++) {
		struct ptx_block *block = &s->func->blocks[s->order[i]];
		size_t count = s->phi_regs[s->order[i]].count;
		size_t args = block->pred_count + (s->order[i] == 0);
		block->phis = arena_alloc(&s->module->arena, count, sizeof(*block->phis));
		unsigned *all = arena_alloc(&s->module->arena, count * args, sizeof(*all));
		if (!block->phis || !all) {
			return false;
		}
		block->phi_count = count;
		for (size_t k = 0; k < count; k++) {
			block->phis[k].args = all + k * args;
		}
	}
	return true;
}

/* --- Numbers --- */

static unsigned ssa_value(struct ssa *s, size_t reg, unsigned old, bool is_zero)
{
	struct ptx_value *values = mem_grow(s->values, s->value_count, &s->value_cap,
		sizeof(*values));
	if (!values) {
		s->failed = true;
		return 0;
	}
	s->values = values;
	s->values[s->value_count] = (struct ptx_value){(unsigned)reg, old, is_zero};
	return (unsigned)s->value_count++;
}

/* What a register has here: 0 before it is written. */
static unsigned ssa_current(struct ssa *s, size_t reg)
{
	if (s->current[reg] == PTX_NO_VALUE) {
		s->current[reg] = ssa_value(s, reg, PTX_NO_VALUE, true);
	}
	return s->current[reg];
}

static void ssa_set(struct ssa *s, size_t reg, unsigned value)
{
	ssa_add(s, &s->undo, reg);
	ssa_add(s, &s->undo, s->current[reg]);
	s->current[reg] = value;
}

struct ssa_visit {
	struct ssa *s;
	const struct ptx_inst *inst;
};

static void ssa_read(void *data, unsigned *reg, unsigned *value)
{
	struct ssa_visit *visit = data;
	*value = ssa_current(visit->s, *reg);
}

static void ssa_write(void *data, unsigned *reg, unsigned *value)
{
	struct ssa_visit *visit = data;
	struct ssa *s = visit->s;
	unsigned old = visit->inst->has_guard ? ssa_current(s, *reg) : PTX_NO_VALUE;
	*value = ssa_value(s, *reg, old, false);
	ssa_set(s, *reg, *value);
}

static void ssa_number_block(struct ssa *s, size_t index)
{
	struct ptx_block *block = &s->func->blocks[index];
	for (size_t i = 0; i < block->phi_count; i++) {
		size_t reg = s->phi_regs[index].data[i];
		block->phis[i].value = ssa_value(s, reg, PTX_NO_VALUE, false);
		if (index == 0) {
			block->phis[i].args[block->pred_count] = ssa_current(s, reg);
		}
		ssa_set(s, reg, block->phis[i].value);
	}
	for (size_t i = block->first; i < block->end && !s->failed; i++) {
		struct ptx_inst *inst = &s->func->insts[i];
		struct ssa_visit visit = {s, inst};
		cfg_visit(inst, false, ssa_read, &visit);
		cfg_visit(inst, true, ssa_write, &visit);
	}
}

static void ssa_fill_phis(struct ssa *s, size_t index)
{
	const struct ptx_block *block = &s->func->blocks[index];
	for (size_t i = 0; i < block->succ_count; i++) {
		size_t to = block->succ[i];
		struct ptx_block *next = &s->func->blocks[to];
		size_t place = next->phi_count > 0 ? cfg_place_of_pred(next, index) : 0;
		for (size_t k = 0; k < next->phi_count; k++) {
			next->phis[k].args[place] = ssa_current(s, s->phi_regs[to].data[k]);
		}
	}
}

static void ssa_undo(struct ssa *s, size_t mark)
{
	while (s->undo.count > mark) {
		s->undo.count -= 2;
		s->current[s->undo.data[s->undo.count]] = (unsigned)s->undo.data[s->undo.count + 1];
	}
}

/* Lanes may part at its end, unless they run one at a time. */
static void ssa_note_held(struct ssa *s, size_t index)
{
	struct ptx_block *block = &s->func->blocks[index];
	const size_t words = cfg_live_words(s->func);
	size_t count = 0;
	if (block->succ_count < 2 || s->is_huge) {
		return;
	}
	memset(s->live, 0, words * sizeof(*s->live));
	cfg_add_live_out(s->live, s->func, index);
	for (size_t w = 0; w < words; w++) {
		count += (size_t)__builtin_popcountll(s->live[w]);
	}
	block->held = arena_alloc(&s->module->arena, count, sizeof(*block->held));
	if (!block->held) {
		s->failed = true;
		return;
	}
	for (size_t w = 0; w < words; w++) {
		for (uint64_t bits = s->live[w]; bits; bits &= bits - 1) {
			size_t reg = w * 64 + (size_t)__builtin_ctzll(bits);
			block->held[block->held_count++].value = ssa_current(s, reg);
		}
	}
}

/* In preorder of the dominator tree.  The stack has, for each block of the path, the block, its
 * next child, and how much there was to undo before it. */
static void ssa_number(struct ssa *s)
{
	struct ssa_list path = {NULL, 0, 0};
	size_t next = 0;
	bool enters = true;
	while (!s->failed) {
		if (enters) {
			size_t mark = s->undo.count;
			ssa_number_block(s, next);
			ssa_fill_phis(s, next);
			ssa_note_held(s, next);
			ssa_add(s, &path, next);
			ssa_add(s, &path, 0);
			ssa_add(s, &path, mark);
		}
		if (s->failed || path.count == 0) {
			break;
		}
		size_t *top = &path.data[path.count - 3];
		enters = top[1] < s->children[top[0]].count;
		if (enters) {
			next = s->children[top[0]].data[top[1]++];
		} else {
			ssa_undo(s, top[2]);
			path.count -= 3;
		}
	}
	mem_free(path.data);
	for (size_t i = 0; i < s->func->block_count && !s->failed; i++) {
		if (!ssa_is_reachable(s->func, i)) {
			ssa_number_block(s, i);
			ssa_undo(s, 0);
		}
	}
}

/* --- Webs --- */

static unsigned ssa_find_web(unsigned *web, unsigned value)
{
	while (web[value] != value) {
		web[value] = web[web[value]];
		value = web[value];
	}
	return value;
}

static void ssa_join(unsigned *web, unsigned a, unsigned b)
{
	a = ssa_find_web(web, a);
	b = ssa_find_web(web, b);
	web[a > b ? a : b] = a < b ? a : b;
}

static void ssa_join_phis(struct ssa *s)
{
	for (size_t i = 0; i < s->order_count; i++) {
		const struct ptx_block *block = &s->func->blocks[s->order[i]];
		for (size_t k = 0; k < block->phi_count; k++) {
			for (size_t p = 0; p < block->pred_count; p++) {
				if (ssa_is_reachable(s->func, block->pred[p])) {
					ssa_join(s->web, block->phis[k].value,
						block->phis[k].args[p]);
				}
			}
			if (s->order[i] == 0) {
				ssa_join(s->web, block->phis[k].value,
					block->phis[k].args[block->pred_count]);
			}
		}
	}
}

static void ssa_rename(void *data, unsigned *reg, unsigned *value)
{
	const struct ssa *s = data;
	*reg = s->values[*value].reg;
}

static int ssa_compare_held(const void *a, const void *b)
{
	const struct ptx_held *x = a, *y = b;
	return (x->reg > y->reg) - (x->reg < y->reg);
}

static void ssa_rename_held(struct ssa *s)
{
	for (size_t i = 0; i < s->order_count; i++) {
		struct ptx_block *block = &s->func->blocks[s->order[i]];
		for (size_t k = 0; k < block->held_count; k++) {
			block->held[k].reg = s->values[block->held[k].value].reg;
		}
		if (block->held_count > 0) {
			qsort(block->held, block->held_count, sizeof(*block->held),
				ssa_compare_held);
		}
	}
}

/* Make webs the registers. */
static bool ssa_make_webs(struct ssa *s)
{
	struct ptx_func *func = s->func;
	size_t count = 0;
	s->web = mem_alloc((s->value_count + 1) * sizeof(*s->web));
	struct ptx_reg *regs = arena_alloc(&s->module->arena, s->value_count, sizeof(*regs));
	func->values = arena_alloc(&s->module->arena, s->value_count, sizeof(*func->values));
	if (!s->web || !regs || !func->values) {
		return false;
	}
	for (unsigned i = 0; i < s->value_count; i++) {
		s->web[i] = i;
	}
	for (unsigned i = 0; i < s->value_count; i++) {
		if (s->values[i].old != PTX_NO_VALUE) {
			ssa_join(s->web, i, s->values[i].old);
		}
	}
	ssa_join_phis(s);
	for (unsigned i = 0; i < s->value_count; i++) {
		unsigned first = ssa_find_web(s->web, i);
		if (first == i) {
			regs[count] = func->regs[s->values[i].reg];
			s->values[i].reg = (unsigned)count++;
		} else {
			s->values[i].reg = s->values[first].reg;
		}
	}
	for (size_t i = 0; i < func->inst_count; i++) {
		cfg_visit(&func->insts[i], false, ssa_rename, s);
		cfg_visit(&func->insts[i], true, ssa_rename, s);
	}
	ssa_rename_held(s);
	if (s->value_count > 0) {
		memcpy(func->values, s->values, s->value_count * sizeof(*s->values));
	}
	func->value_count = s->value_count;
	func->regs = regs;
	func->reg_count = count;
	return true;
}

/* --- All of it --- */

static bool ssa_allocate(struct ssa *s)
{
	size_t blocks = s->func->block_count, regs = s->func->reg_count + 1;
	s->order = mem_zalloc(blocks, sizeof(*s->order));
	s->idom = mem_zalloc(blocks, sizeof(*s->idom));
	s->level = mem_zalloc(blocks, sizeof(*s->level));
	s->children = mem_zalloc(blocks, sizeof(*s->children));
	s->phi_regs = mem_zalloc(blocks, sizeof(*s->phi_regs));
	s->seen = mem_zalloc(blocks, sizeof(*s->seen));
	s->on_work = mem_zalloc(blocks, sizeof(*s->on_work));
	s->defs = mem_zalloc(regs, sizeof(*s->defs));
	s->current = mem_alloc(regs * sizeof(*s->current));
	s->visited = mem_zalloc(blocks, sizeof(*s->visited));
	s->live = mem_zalloc(cfg_live_words(s->func), sizeof(*s->live));
	s->crossing = mem_zalloc(cfg_live_words(s->func), sizeof(*s->crossing));
	return s->order && s->idom && s->level && s->children && s->phi_regs && s->seen
		&& s->on_work && s->visited && s->defs && s->current
		&& s->live && s->crossing;
}

static void ssa_finish(struct ssa *s, size_t regs)
{
	size_t blocks = s->func->block_count;
	mem_free(s->order);
	mem_free(s->idom);
	mem_free(s->level);
	ssa_free_lists(s->children, blocks);
	ssa_free_lists(s->phi_regs, blocks);
	ssa_free_lists(s->defs, regs);
	mem_free(s->seen);
	mem_free(s->on_work);
	mem_free(s->visited);
	mem_free(s->walk.data);
	mem_free(s->crossing);
	mem_free(s->current);
	mem_free(s->work.data);
	mem_free(s->undo.data);
	mem_free(s->values);
	mem_free(s->web);
	mem_free(s->live);
}

static bool ssa_run(struct ssa *s)
{
	struct ptx_func *func = s->func;
	if (!ssa_allocate(s)) {
		return false;
	}
	for (size_t i = 0; i < func->block_count; i++) {
		if (ssa_is_reachable(func, i)) {
			s->order[func->blocks[i].rpo] = i;
			s->order_count++;
		}
	}
	ssa_find_dominators(s);
	ssa_note_defs(s);
	for (size_t i = 0; i < s->order_count; i++) {
		cfg_add_live_in(s->crossing, func, s->order[i]);
	}
	for (size_t i = 0; i < func->reg_count && !s->failed; i++) {
		s->current[i] = PTX_NO_VALUE;
		ssa_place_phis(s, i);
	}
	if (s->failed || !ssa_make_phis(s)) {
		return false;
	}
	ssa_number(s);
	return !s->failed && ssa_make_webs(s);
}

bool ssa_build(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag)
{
	struct ssa s = {.module = module, .func = func, .is_huge = cfg_is_huge(func)};
	size_t regs = func->reg_count + 1;
	if (func->block_count == 0) {
		return true;
	}
	struct arena early = ARENA_INIT; /* the live sets of the registers that there are before */
	bool ok = cfg_find_live(&early, func, diag);
	if (ok) {
		ok = ssa_run(&s);
		ssa_finish(&s, regs);
		ok = ok ? cfg_find_live(&module->arena, func, diag) : ptx_no_memory(diag);
	}
	arena_free(&early);
	if (!ok) {
		func->blocks = NULL; // what is half done is done again
		func->block_count = 0;
	}
	return ok;
}

bool ssa_prepare(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag)
{
	return func->blocks || (lower_func(module, func, diag) && blame_func(module, func, diag)
		&& cfg_build(module, func, diag) && ssa_build(module, func, diag));
}

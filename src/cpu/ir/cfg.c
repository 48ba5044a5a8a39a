/* SPDX-License-Identifier: MIT */
/*
 * The control-flow graph of a kernel: basic blocks, their order, loops, post-dominators and
 * liveness.  A block ends at a branch, at the end of the thread, where threads wait for others, and
 * in front of each label that a branch names.
 *
 * Post-dominators are the dominators of the reversed graph (Cooper, Harvey, Kennedy: A Simple, Fast
 * Dominance Algorithm).  Its root is an exit after all blocks that can end the thread.  A loop
 * without end does not reach the exit, so one of its blocks counts as if it could.  Nothing here
 * recurses, for a hostile text could make recursion as deep as it likes.
 */
#include "base/common.h"

#include "cpu/ir/cfg.h"

#include "base/alloc.h"

#include <string.h>

enum { HUGE_KERNEL = 10000, MANY_EDGES = 4000 };

/* Bytes of live sets, which a hostile text of a few megabytes can make as large as it likes. */
#define MAX_LIVE ((size_t)512 << 20)

#define LIVE_PART_SIZE (CFG_PART_WORDS * sizeof(uint64_t))

/* Working memory, freed at the end.  Blocks are numbered in the order of the text. */
struct cfg {
	struct ptx_module *module;
	struct ptx_func *func;
	struct ptx_block *blocks;
	size_t count;
	size_t *block_at;    /* instruction -> block that starts there or holds it */
	size_t *order;       /* blocks in some order */
	size_t *number;      /* place of a block in post-order, SIZE_MAX: not reached */
	size_t *stack;       /* block, next edge to follow: two per level */
	bool *is_exit;       /* the block can end the thread */
};

static bool cfg_is_branch(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_BRA || inst->op == PTX_OP_BRX;
}

static bool cfg_is_end(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_RET || inst->op == PTX_OP_EXIT || inst->op == PTX_OP_TRAP
		|| inst->op == PTX_OP_BRKPT;
}

/* The second half of a wait begins the next block. */
static bool cfg_is_wait(const struct ptx_inst *inst)
{
	return ptx_waits(inst->op) && !inst->is_second;
}

/* The labels that an instruction may branch to. */
static struct ptx_operand *cfg_targets(const struct ptx_inst *inst, size_t *count)
{
	if (inst->op == PTX_OP_BRA && inst->operand_count == 1) {
		*count = 1;
		return &inst->operands[0];
	}
	if (inst->op == PTX_OP_BRX && inst->operand_count == 2) {
		*count = inst->operands[1].count;
		return inst->operands[1].elements;
	}
	*count = 0;
	return NULL;
}

/* Give every instruction the number of its block. */
static void cfg_number_blocks(struct cfg *cfg)
{
	const struct ptx_func *func = cfg->func;
	for (size_t i = 0; i < func->inst_count; i++) {
		size_t count;
		const struct ptx_operand *targets = cfg_targets(&func->insts[i], &count);
		for (size_t j = 0; j < count; j++) {
			cfg->block_at[func->labels[targets[j].reg].inst] = 1;
		}
		if (i + 1 < func->inst_count
		    && (cfg_is_branch(&func->insts[i]) || cfg_is_end(&func->insts[i])
			|| cfg_is_wait(&func->insts[i]))) {
			cfg->block_at[i + 1] = 1;
		}
	}
	cfg->block_at[0] = 0;
	for (size_t i = 1; i < func->inst_count; i++) {
		cfg->block_at[i] += cfg->block_at[i - 1];
	}
	cfg->count = cfg->block_at[func->inst_count - 1] + 1;
}

static void *cfg_alloc(struct cfg *cfg, size_t count, size_t size)
{
	return arena_alloc(&cfg->module->arena, count, size);
}

/* Each successor is listed once.  number[] holds the last block that has listed it, plus one. */
static void cfg_add_successor(struct cfg *cfg, size_t from, size_t to)
{
	struct ptx_block *block = &cfg->blocks[from];
	if (cfg->number[to] != from + 1) {
		cfg->number[to] = from + 1;
		block->succ[block->succ_count++] = to;
	}
}

static bool cfg_add_successors(struct cfg *cfg, size_t number)
{
	struct ptx_block *block = &cfg->blocks[number];
	const struct ptx_inst *last = &cfg->func->insts[block->end - 1];
	size_t count;
	struct ptx_operand *targets = cfg_targets(last, &count);
	bool goes_on = last->has_guard || !(cfg_is_branch(last) || cfg_is_end(last));
	block->succ = cfg_alloc(cfg, count + 1, sizeof(*block->succ));
	if (!block->succ) {
		return false;
	}
	cfg->is_exit[number] = cfg_is_end(last);
	if (goes_on) {
		cfg_add_successor(cfg, number, number + 1);
	}
	for (size_t i = 0; i < count; i++) {
		size_t to = cfg->block_at[cfg->func->labels[targets[i].reg].inst];
		targets[i].value = (int64_t)to;
		cfg_add_successor(cfg, number, to);
	}
	return true;
}

static bool cfg_add_predecessors(struct cfg *cfg)
{
	for (size_t i = 0; i < cfg->count; i++) {
		for (size_t j = 0; j < cfg->blocks[i].succ_count; j++) {
			cfg->blocks[cfg->blocks[i].succ[j]].pred_count++;
		}
	}
	for (size_t i = 0; i < cfg->count; i++) {
		struct ptx_block *block = &cfg->blocks[i];
		block->pred = cfg_alloc(cfg, block->pred_count, sizeof(*block->pred));
		block->pred_count = 0;
		if (!block->pred) {
			return false;
		}
	}
	for (size_t i = 0; i < cfg->count; i++) {
		for (size_t j = 0; j < cfg->blocks[i].succ_count; j++) {
			struct ptx_block *to = &cfg->blocks[cfg->blocks[i].succ[j]];
			to->pred[to->pred_count++] = i;
		}
	}
	return true;
}

static bool cfg_cut_blocks(struct cfg *cfg)
{
	cfg->blocks = cfg_alloc(cfg, cfg->count, sizeof(*cfg->blocks));
	if (!cfg->blocks) {
		return false;
	}
	for (size_t i = 0; i < cfg->func->inst_count; i++) {
		struct ptx_block *block = &cfg->blocks[cfg->block_at[i]];
		block->first = block->end ? block->first : i;
		block->end = i + 1;
	}
	for (size_t i = 0; i < cfg->count; i++) {
		cfg->blocks[i].rpo = SIZE_MAX;
		cfg->blocks[i].ipdom = SIZE_MAX;
		if (!cfg_add_successors(cfg, i)) {
			return false;
		}
	}
	return cfg_add_predecessors(cfg);
}

/* Number the blocks that `root` reaches in post-order, along the edges or against them.  Edges are
 * followed last to first, so that in reverse post-order a fall-through comes right after its
 * block. */
static size_t cfg_post_order(struct cfg *cfg, size_t root, bool backward, size_t next)
{
	size_t depth = 0;
	const size_t open = SIZE_MAX - 1; /* reached, not numbered */
	cfg->number[root] = open;
	cfg->stack[depth++] = root;
	cfg->stack[depth++] = 0;
	while (depth > 0) {
		const struct ptx_block *block = &cfg->blocks[cfg->stack[depth - 2]];
		size_t count = backward ? block->pred_count : block->succ_count;
		size_t edge = cfg->stack[depth - 1]++;
		if (edge == count) {
			cfg->order[next] = cfg->stack[depth - 2];
			cfg->number[cfg->stack[depth - 2]] = next++;
			depth -= 2;
			continue;
		}
		size_t to = (backward ? block->pred : block->succ)[count - 1 - edge];
		if (cfg->number[to] == SIZE_MAX) {
			cfg->number[to] = open;
			cfg->stack[depth++] = to;
			cfg->stack[depth++] = 0;
		}
	}
	return next;
}

static void cfg_clear_numbers(struct cfg *cfg)
{
	for (size_t i = 0; i < cfg->count; i++) {
		cfg->number[i] = SIZE_MAX;
	}
}

static void cfg_find_order(struct cfg *cfg)
{
	cfg_clear_numbers(cfg);
	size_t reached = cfg_post_order(cfg, 0, false, 0);
	for (size_t i = 0; i < reached; i++) {
		cfg->blocks[cfg->order[i]].rpo = reached - 1 - i;
	}
}

static bool cfg_follows_itself(const struct cfg *cfg, size_t block)
{
	for (size_t i = 0; i < cfg->blocks[block].succ_count; i++) {
		if (cfg->blocks[block].succ[i] == block) {
			return true;
		}
	}
	return false;
}

/* A block is in a loop if it can reach itself, that is if its strongly connected component has an
 * edge.  Walk backwards from each block in reverse post-order; the blocks that a walk finds first
 * are one component (Sharir, 1981). */
static bool cfg_find_loops(struct cfg *cfg)
{
	size_t *at = mem_alloc(cfg->count * sizeof(*at)); /* block by place */
	if (!at) {
		return false;
	}
	size_t reached = 0;
	cfg->func->has_loop = false;
	for (size_t i = 0; i < cfg->count; i++) {
		bool is_reached = cfg->blocks[i].rpo != SIZE_MAX;
		cfg->number[i] = is_reached ? SIZE_MAX : 0;
		reached += is_reached;
		if (is_reached) {
			at[cfg->blocks[i].rpo] = i;
		}
	}
	for (size_t i = 0, first = 0; i < reached; i++) {
		if (cfg->number[at[i]] != SIZE_MAX) {
			continue;
		}
		size_t end = cfg_post_order(cfg, at[i], true, first);
		bool is_loop = end - first > 1 || cfg_follows_itself(cfg, at[i]);
		for (; first < end; first++) {
			cfg->blocks[cfg->order[first]].in_loop = is_loop;
		}
		cfg->func->has_loop |= is_loop;
	}
	mem_free(at);
	return true;
}

/* The nearest common post-dominator; cfg->count stands for the exit. */
static size_t cfg_common(const struct cfg *cfg, const size_t *up, size_t a, size_t b)
{
	while (a != b) {
		if (a == cfg->count || b == cfg->count) {
			return cfg->count;
		}
		if (cfg->number[a] < cfg->number[b]) {
			a = up[a];
		} else {
			b = up[b];
		}
	}
	return a;
}

/* Post-order of the reversed graph; afterwards every block has a number. */
static void cfg_order_backward(struct cfg *cfg)
{
	size_t next = 0;
	cfg_clear_numbers(cfg);
	for (size_t i = 0; i < cfg->count; i++) {
		if (cfg->is_exit[i] && cfg->number[i] == SIZE_MAX) {
			next = cfg_post_order(cfg, i, true, next);
		}
	}
	for (size_t i = cfg->count; i-- > 0;) {
		if (cfg->number[i] == SIZE_MAX) {
			cfg->is_exit[i] = true;
			next = cfg_post_order(cfg, i, true, next);
		}
	}
}

static bool cfg_find_postdominators(struct cfg *cfg)
{
	size_t *up = mem_alloc(cfg->count * sizeof(*up));
	if (!up) {
		return false;
	}
	cfg_order_backward(cfg);
	for (size_t i = 0; i < cfg->count; i++) {
		up[i] = SIZE_MAX;
	}
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = cfg->count; i-- > 0;) {
			size_t number = cfg->order[i];
			size_t now = cfg->is_exit[number] ? cfg->count : SIZE_MAX;
			const struct ptx_block *block = &cfg->blocks[number];
			for (size_t j = 0; j < block->succ_count; j++) {
				size_t to = block->succ[j];
				if (up[to] != SIZE_MAX) {
					now = now == SIZE_MAX ? to : cfg_common(cfg, up, now, to);
				}
			}
			changed |= up[number] != now;
			up[number] = now;
		}
	}
	for (size_t i = 0; i < cfg->count; i++) {
		cfg->blocks[i].ipdom = up[i] == cfg->count ? SIZE_MAX : up[i];
	}
	mem_free(up);
	return true;
}

static void cfg_set_bit(uint64_t *set, unsigned reg, bool on)
{
	uint64_t bit = (uint64_t)1 << (reg % 64);
	set[reg / 64] = on ? set[reg / 64] | bit : set[reg / 64] & ~bit;
}

/* Remove the registers that an operand writes from the set, or add those that it reads. */
static void cfg_mark_operand(uint64_t *live, const struct ptx_operand *o, bool read)
{
	if (o->kind == PTX_REG || o->kind == PTX_PAIR) {
		cfg_set_bit(live, o->reg, read);
	}
	if (o->kind == PTX_PAIR) {
		cfg_set_bit(live, o->reg2, read);
	}
	if (o->kind == PTX_ADDRESS && o->has_base && read) {
		cfg_set_bit(live, o->reg, true);
	}
	for (size_t i = 0; o->kind == PTX_VECTOR && i < o->count; i++) {
		if (o->elements[i].kind == PTX_REG) {
			cfg_set_bit(live, o->elements[i].reg, read);
		}
	}
}

/* Whether the operand of the next letter of a row is written. */
static bool cfg_next_is_written(const char **letter)
{
	*letter += strspn(*letter, "!?012wULFv>");
	bool written = **letter && strchr(PTX_WRITTEN, **letter);
	*letter += **letter != '\0';
	return written;
}

/* Give the registers of the operands that are read, or of those that are written, a value. */
static void cfg_mark_operands(uint64_t *live, const struct ptx_inst *inst, bool read, bool value)
{
	const char *letter = ptx_rows[inst->op].operands;
	for (size_t i = 0; i < inst->operand_count; i++) {
		if (cfg_next_is_written(&letter) != read) {
			cfg_mark_operand(live, &inst->operands[i], value);
		}
	}
	if (inst->has_carry && (read ? ptx_reads_carry(inst) : ptx_writes_carry(inst))) {
		cfg_set_bit(live, read ? inst->carry_in : inst->carry_out, value);
	}
}

size_t cfg_place_of_pred(const struct ptx_block *block, size_t pred)
{
	size_t place = 0;
	while (block->pred[place] != pred) {
		place++;
	}
	return place;
}

void cfg_live_before(uint64_t *live, const struct ptx_inst *inst)
{
	if (!cfg_is_wait(inst)) { /* under a guard the old value may stay, which is read */
		cfg_mark_operands(live, inst, false, inst->has_guard);
	}
	if (!inst->is_second) {
		cfg_mark_operands(live, inst, true, true);
	}
	if (inst->has_guard) {
		cfg_set_bit(live, inst->guard, true);
	}
}

void cfg_written(uint64_t *set, const struct ptx_inst *inst)
{
	if (!cfg_is_wait(inst)) {
		cfg_mark_operands(set, inst, false, true);
	}
}

static void cfg_visit_operand(struct ptx_operand *o, bool written, cfg_visit_fn *visit, void *data)
{
	bool is_reg = o->kind == PTX_REG || o->kind == PTX_PAIR;
	if (is_reg || (o->kind == PTX_ADDRESS && o->has_base && !written)) {
		visit(data, &o->reg, &o->value_of);
	}
	if (o->kind == PTX_PAIR) {
		visit(data, &o->reg2, &o->value_of2);
	}
	for (size_t i = 0; o->kind == PTX_VECTOR && i < o->count; i++) {
		if (o->elements[i].kind == PTX_REG) {
			visit(data, &o->elements[i].reg, &o->elements[i].value_of);
		}
	}
}

void cfg_visit(struct ptx_inst *inst, bool written, cfg_visit_fn *visit, void *data)
{
	const char *letter = ptx_rows[inst->op].operands;
	bool skips = written ? cfg_is_wait(inst) : inst->is_second;
	for (size_t i = 0; i < inst->operand_count && !skips; i++) {
		if (cfg_next_is_written(&letter) == written) {
			cfg_visit_operand(&inst->operands[i], written, visit, data);
		}
	}
	if (inst->has_guard && !written) {
		visit(data, &inst->guard, &inst->guard_value);
	}
	if (inst->has_carry && written && ptx_writes_carry(inst)) {
		visit(data, &inst->carry_out, &inst->carry_out_value);
	}
	if (inst->has_carry && !written && ptx_reads_carry(inst)) {
		visit(data, &inst->carry_in, &inst->carry_in_value);
	}
}

/* --- Size --- */

/* Edges of brx.idx count twice. */
bool cfg_is_tangled(const struct ptx_func *func)
{
	size_t edges = 0;
	for (size_t i = 0; i < func->block_count; i++) {
		size_t count = func->blocks[i].succ_count;
		edges += count > 2 ? 2 * count : count;
	}
	return edges >= MANY_EDGES;
}

bool cfg_is_huge(const struct ptx_func *func)
{
	return func->inst_count >= HUGE_KERNEL || cfg_is_tangled(func);
}

/* --- Liveness --- */

/* Working memory of the analysis. */
struct live_finder {
	struct arena *arena;
	struct ptx_func *func;
	size_t parts;        /* of a set */
	size_t size;         /* bytes of all parts */
	uint64_t *live;      /* the set of the block that is looked at */
	bool *dirty;         /* by block: a successor has changed */
	size_t *order;       /* reachable blocks in reverse post-order, then the others */
};

static size_t cfg_live_parts(const struct ptx_func *func)
{
	return func->reg_count / CFG_PART_REGS + 1;
}

size_t cfg_live_words(const struct ptx_func *func)
{
	return cfg_live_parts(func) * CFG_PART_WORDS;
}

void cfg_add_live_in(uint64_t *live, const struct ptx_func *func, size_t block)
{
	for (size_t p = 0; p < cfg_live_parts(func); p++) {
		const uint64_t *part = func->blocks[block].live_in[p];
		for (size_t w = 0; part && w < CFG_PART_WORDS; w++) {
			live[p * CFG_PART_WORDS + w] |= part[w];
		}
	}
}

void cfg_add_live_out(uint64_t *live, const struct ptx_func *func, size_t block)
{
	for (size_t i = 0; i < func->blocks[block].succ_count; i++) {
		cfg_add_live_in(live, func, func->blocks[block].succ[i]);
	}
}

/* A part that is never written again: one of a successor where it is the same.  NULL: no memory. */
static const uint64_t *cfg_live_keep(struct live_finder *f, const struct ptx_block *block, size_t p)
{
	const uint64_t *now = f->live + p * CFG_PART_WORDS;
	for (size_t i = 0; i < block->succ_count; i++) {
		const uint64_t *part = f->func->blocks[block->succ[i]].live_in[p];
		if (part && memcmp(part, now, LIVE_PART_SIZE) == 0) {
			return part;
		}
	}
	uint64_t *part = f->size < MAX_LIVE ? arena_alloc(f->arena, 1, LIVE_PART_SIZE) : NULL;
	if (part) {
		memcpy(part, now, LIVE_PART_SIZE);
		f->size += LIVE_PART_SIZE;
	}
	return part;
}

/* Compute the set of one block from its successors'.  *grew: it has registers that it did not have
 * before.  False: no memory. */
static bool cfg_live_update(struct live_finder *f, size_t index, bool *grew)
{
	static const uint64_t empty[CFG_PART_WORDS];
	const struct ptx_block *block = &f->func->blocks[index];
	*grew = false;
	memset(f->live, 0, f->parts * LIVE_PART_SIZE);
	cfg_add_live_out(f->live, f->func, index);
	for (size_t i = block->end; i-- > block->first;) {
		cfg_live_before(f->live, &f->func->insts[i]);
	}
	for (size_t p = 0; p < f->parts; p++) {
		const uint64_t *old = block->live_in[p] ? block->live_in[p] : empty;
		if (memcmp(old, f->live + p * CFG_PART_WORDS, LIVE_PART_SIZE) != 0) {
			*grew = true;
			block->live_in[p] = cfg_live_keep(f, block, p);
			if (!block->live_in[p]) {
				return false;
			}
		}
	}
	return true;
}

/* Backward data-flow analysis.  A block is visited again only when a successor has changed. */
static bool cfg_live_solve(struct live_finder *f)
{
	const struct ptx_func *func = f->func;
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = func->block_count; i-- > 0;) {
			size_t block = f->order[i];
			bool grew;
			if (!f->dirty[block]) {
				continue;
			}
			f->dirty[block] = false;
			if (!cfg_live_update(f, block, &grew)) {
				return false;
			}
			for (size_t j = 0; grew && j < func->blocks[block].pred_count; j++) {
				f->dirty[func->blocks[block].pred[j]] = true;
			}
			changed |= grew;
		}
	}
	return true;
}

bool cfg_find_live(struct arena *arena, struct ptx_func *func, struct ptx_diag *diag)
{
	const size_t count = func->block_count;
	struct live_finder f = {.arena = arena, .func = func, .parts = cfg_live_parts(func)};
	const size_t table = f.parts * sizeof(*func->blocks->live_in);
	bool fits = count <= MAX_LIVE / table;
	f.size = fits ? count * table : 0;
	f.live = fits ? mem_zalloc(f.parts, LIVE_PART_SIZE) : NULL;
	f.dirty = mem_zalloc(count, sizeof(*f.dirty));
	f.order = mem_zalloc(count, sizeof(*f.order));
	bool ok = f.live && f.dirty && f.order;
	size_t next = count;
	for (size_t i = 0; i < count && ok; i++) {
		struct ptx_block *block = &func->blocks[i];
		block->live_in = arena_alloc(arena, f.parts, sizeof(*block->live_in));
		ok = block->live_in;
		f.dirty[i] = true;
		f.order[block->rpo != SIZE_MAX ? block->rpo : --next] = i;
	}
	ok = ok && cfg_live_solve(&f);
	mem_free(f.live);
	mem_free(f.dirty);
	mem_free(f.order);
	if (!fits || f.size >= MAX_LIVE) {
		return ptx_unsupported(diag, func->line, 1, "'%.80s' is too big: %zu blocks with"
			" %zu registers", func->name, count, func->reg_count);
	}
	return ok || ptx_no_memory(diag);
}

bool cfg_build(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag)
{
	struct cfg cfg = {.module = module, .func = func};
	if (func->inst_count == 0) {
		return true;
	}
	cfg.block_at = mem_zalloc(func->inst_count, sizeof(*cfg.block_at));
	bool ok = cfg.block_at;
	if (ok) {
		cfg_number_blocks(&cfg);
		cfg.order = mem_zalloc(cfg.count, sizeof(*cfg.order));
		cfg.number = mem_zalloc(cfg.count, sizeof(*cfg.number));
		cfg.stack = mem_zalloc(cfg.count, 2 * sizeof(*cfg.stack));
		cfg.is_exit = mem_zalloc(cfg.count, sizeof(*cfg.is_exit));
		ok = cfg.order && cfg.number && cfg.stack && cfg.is_exit && cfg_cut_blocks(&cfg);
	}
	if (ok) {
		cfg_find_order(&cfg);
		ok = cfg_find_loops(&cfg) && cfg_find_postdominators(&cfg);
	}
	func->blocks = ok ? cfg.blocks : NULL;
	func->block_count = ok ? cfg.count : 0;
	mem_free(cfg.block_at);
	mem_free(cfg.order);
	mem_free(cfg.number);
	mem_free(cfg.stack);
	mem_free(cfg.is_exit);
	return ok || ptx_no_memory(diag);
}

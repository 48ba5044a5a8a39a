/* SPDX-License-Identifier: MIT */
/*
 * Random programs: control flow, made of labels and jumps.
 *
 * Who is where is known in three ways.  In a uniform scope all threads of the block are together
 * and may meet at barriers.  In a scope with a mask, the threads that the mask register names are
 * together and may do warp operations; where they part, a ballot makes the masks of both sides, and
 * a loop makes a new mask in each round.  Elsewhere anything goes, goto too, but nobody waits.
 * Threads may end anywhere: then nobody waits for them any more.
 */
#include "gen_build.h"

static const struct gen_arg none = {.kind = GEN_NONE};

void gen_span(struct gen *g, size_t from)
{
	struct gen_program *p = g->program;
	if (!g->in_func && p->span_count < countof(p->spans) && g->func->count > from) {
		p->spans[p->span_count].from = from;
		p->spans[p->span_count++].to = g->func->count;
	}
}

/* A predicate to branch on, which nobody changes. */
static struct gen_arg add_condition(struct gen *g, bool uniform)
{
	struct gen_arg cond = gen_fresh(g, GEN_P);
	if (uniform) {
		static const char *const tests[] = {"setp.lo.u32", "setp.lt.s32", "setp.ne.b32"};
		gen_op(g, tests[gen_below(g, 3)], cond, gen_pick(g, GEN_R, true),
			gen_chance(g, 50) ? gen_imm(GEN_R, gen_below(g, 64))
					  : gen_pick(g, GEN_R, true));
	} else if (gen_chance(g, 40)) {
		struct gen_arg part = gen_fresh(g, GEN_R);
		gen_op(g, "and.b32", part, gen_special(GEN_TID),
			gen_imm(GEN_R, 1 + gen_below(g, 40)));
		gen_op(g, "setp.ne.b32", cond, part, gen_imm(GEN_R, gen_below(g, 3)));
	} else {
		struct gen_arg pred = gen_pick(g, GEN_P, false);
		gen_op(g, "xor.pred", cond, pred, gen_pick(g, GEN_P, false));
	}
	return cond;
}

/* Whether the scope's threads stay together at a branch, all going one way. */
static bool pick_uniform(struct gen *g, const struct gen_scope *scope)
{
	return scope->uniform && gen_chance(g, 60);
}

static struct gen_scope inner(const struct gen_scope *scope, bool together)
{
	struct gen_scope in = *scope;
	in.depth++;
	if (!together) {
		in.uniform = false;
		in.mask = -1;
		if (scope->uniform || scope->mask >= 0) {
			in.leave = -1;
			in.again = -1;
		}
	}
	return in;
}

/* Masks of both sides of a branch, if this scope has one and the sides are to have one. */
static void split_mask(struct gen *g, const struct gen_scope *scope, struct gen_arg cond,
	struct gen_scope *yes, struct gen_scope *no)
{
	if (scope->mask < 0 || yes->mask >= 0 || gen_chance(g, 30)) {
		return;
	}
	struct gen_arg mask = gen_reg(GEN_R, (unsigned)scope->mask);
	struct gen_arg yes_mask = gen_fresh(g, GEN_R);
	struct gen_arg no_mask = gen_fresh(g, GEN_R);
	gen_ballot(g, yes_mask, mask, cond);
	gen_op(g, "not.b32", no_mask, yes_mask, none);
	gen_op(g, "and.b32", no_mask, no_mask, mask);
	yes->mask = yes_mask.reg;
	no->mask = no_mask.reg;
}

/* Both sides wait at a barrier, each at its own. */
static void add_split_barrier(struct gen *g, const struct gen_scope *scope, bool wanted)
{
	if (wanted) {
		struct gen_scope all = *scope;
		struct gen_inst *inst = gen_add(g, GEN_BAR);
		inst->keep = true;
		inst->op = GEN_BAR_SYNC;
		inst->type = GEN_BAR_UNALIGNED;
		gen_statements(g, &all);
	}
}

static void add_if(struct gen *g, const struct gen_scope *scope)
{
	bool together = pick_uniform(g, scope);
	struct gen_arg cond = add_condition(g, together);
	struct gen_scope yes = inner(scope, together);
	struct gen_scope no = yes;
	bool barriers = scope->uniform && !together && gen_chance(g, 15)
		&& !(g->program->features & GEN_HAS_CUDA);
	int other = gen_label(g);
	int end = gen_label(g);
	split_mask(g, scope, cond, &yes, &no);
	bool when = yes.mask == scope->mask ? gen_chance(g, 50) : false;
	gen_jump(g, other, cond, when);
	add_split_barrier(g, &yes, barriers);
	gen_statements(g, &yes);
	if (barriers || gen_chance(g, 60)) {
		gen_jump(g, end, none, true);
		gen_put_label(g, other);
		add_split_barrier(g, &no, barriers);
		gen_statements(g, &no);
	} else {
		gen_put_label(g, other);
	}
	gen_put_label(g, end);
}

/* How often a loop runs: the number is uniform, or depends on the thread. */
static struct gen_arg add_limit(struct gen *g, const struct gen_scope *scope, bool together)
{
	struct gen_arg limit = gen_fresh(g, GEN_R);
	uint64_t most = scope->depth == 0 ? 7 : 3;
	gen_op(g, "and.b32", limit, gen_pick(g, GEN_R, together), gen_imm(GEN_R, most));
	return limit;
}

/* Leave the loop whose threads `mask` names, in the middle. */
static void add_masked_leave(struct gen *g, struct gen_arg mask, int leave)
{
	struct gen_arg cond = add_condition(g, false);
	struct gen_arg stay = gen_fresh(g, GEN_P);
	gen_op(g, "not.pred", stay, cond, none);
	gen_ballot(g, mask, mask, stay);
	gen_jump(g, leave, cond, true);
}

/* for (count = 0; count < limit; count++), tested above or below; with a mask that says who is
 * still there if the scope has one. */
static void add_loop(struct gen *g, const struct gen_scope *scope)
{
	bool together = pick_uniform(g, scope);
	struct gen_scope body = inner(scope, together);
	struct gen_arg count = gen_fresh(g, GEN_R);
	struct gen_arg more = gen_fresh(g, GEN_P);
	struct gen_arg limit = add_limit(g, scope, together);
	bool masked = !together && scope->mask >= 0 && gen_chance(g, 70);
	bool below = !masked && gen_chance(g, 50);
	int head = gen_label(g);
	body.leave = gen_label(g);
	body.again = gen_label(g);
	gen_op(g, "mov.u32", count, gen_imm(GEN_R, 0), none);
	struct gen_arg mask = none;
	if (masked) {
		mask = gen_fresh(g, GEN_R);
		gen_op(g, "mov.u32", mask, gen_reg(GEN_R, (unsigned)scope->mask), none);
		body.mask = mask.reg;
	}
	gen_put_label(g, head);
	gen_op(g, "setp.lo.u32", more, count, limit);
	if (masked) {
		gen_ballot(g, mask, mask, more);
	}
	if (!below) {
		gen_jump(g, body.leave, more, false);
	}
	int leave = body.leave;
	int again = body.again;
	if (masked) {
		body.leave = -1;
		body.again = -1;
	}
	gen_statements(g, &body);
	if (masked && gen_chance(g, 50)) {
		add_masked_leave(g, mask, leave);
		gen_statements(g, &body);
	}
	gen_put_label(g, again);
	gen_op(g, "add.u32", count, count, gen_imm(GEN_R, 1));
	gen_jump(g, head, below ? more : none, true);
	gen_put_label(g, leave);
}

/* Break or continue. */
static void add_leave(struct gen *g, const struct gen_scope *scope)
{
	struct gen_arg cond = add_condition(g, scope->uniform);
	gen_jump(g, gen_chance(g, 50) ? scope->leave : scope->again, cond, gen_chance(g, 50));
}

static void add_switch(struct gen *g, const struct gen_scope *scope)
{
	bool together = pick_uniform(g, scope);
	struct gen_scope in = inner(scope, together);
	unsigned count = 2 + (unsigned)gen_below(g, 7);
	int end = gen_label(g);
	int labels[8];
	struct gen_arg which = gen_pick(g, GEN_R, together);
	struct gen_arg guard = gen_chance(g, 25) ? add_condition(g, together) : none;
	struct gen_inst *inst = gen_add(g, GEN_SWITCH);
	inst->keep = true;
	inst->src[0] = which;
	inst->count = (uint8_t)count;
	if (guard.kind == GEN_REG) {
		inst->has_guard = true;
		inst->guard = guard.reg;
		inst->form |= 1;
	}
	for (unsigned i = 0; i < count; i++) {
		labels[i] = i > 0 && gen_chance(g, 20) ? labels[i - 1]
			: gen_chance(g, 10) ? end : gen_label(g);
		inst->targets[i] = (uint16_t)labels[i];
	}
	for (unsigned i = 0; i < count; i++) {
		if (labels[i] == end || (i > 0 && labels[i] == labels[i - 1])) {
			continue;
		}
		gen_put_label(g, labels[i]);
		gen_statements(g, &in);
		if (gen_chance(g, 75)) {
			gen_jump(g, end, none, true);
		}
	}
	gen_put_label(g, end);
}

/* Blocks with jumps among them, forward and back.  What goes back burns fuel. */
static void add_gotos(struct gen *g, const struct gen_scope *scope)
{
	bool together = scope->uniform && gen_chance(g, 40);
	struct gen_scope in = inner(scope, together);
	unsigned count = 3 + (unsigned)gen_below(g, 4);
	int labels[7];
	int end = gen_label(g);
	struct gen_arg fuel = gen_fresh(g, GEN_R);
	struct gen_arg empty = gen_fresh(g, GEN_P);
	gen_op(g, "mov.u32", fuel, gen_imm(GEN_R, 3 + gen_below(g, 8)), none);
	in.leave = -1;
	in.again = -1;
	for (unsigned i = 0; i < count; i++) {
		labels[i] = gen_label(g);
	}
	for (unsigned i = 0; i < count; i++) {
		gen_put_label(g, labels[i]);
		gen_simple(g, &in);
		gen_simple(g, &in);
		for (unsigned jumps = (unsigned)gen_below(g, 3); jumps > 0; jumps--) {
			unsigned to = (unsigned)gen_below(g, count + 1);
			struct gen_arg cond = add_condition(g, together);
			if (to <= i) {
				gen_op(g, "sub.s32", fuel, fuel, gen_imm(GEN_R, 1));
				gen_op(g, "setp.lt.s32", empty, fuel, gen_imm(GEN_R, 0));
				gen_jump(g, end, empty, true);
			}
			gen_jump(g, to < count ? labels[to] : end, cond, gen_chance(g, 50));
		}
	}
	gen_put_label(g, end);
}

static void add_exit(struct gen *g)
{
	struct gen_arg cond = add_condition(g, false);
	struct gen_arg rare = gen_fresh(g, GEN_R);
	struct gen_arg now = gen_fresh(g, GEN_P);
	gen_op(g, "and.b32", rare, gen_special(GEN_TID), gen_imm(GEN_R, 7));
	gen_op(g, "setp.eq.s32", now, rare, gen_imm(GEN_R, gen_below(g, 8)));
	gen_op(g, "and.pred", now, now, cond);
	struct gen_inst *inst = gen_add(g, GEN_EXIT);
	inst->keep = true;
	inst->has_guard = true;
	inst->guard = now.reg;
}

static void add_statement(struct gen *g, const struct gen_scope *scope)
{
	uint64_t pick = gen_below(g, 100);
	bool deep = scope->depth >= 4;
	if (pick < 13 && !deep) {
		add_if(g, scope);
	} else if (pick < 22 && !deep) {
		add_loop(g, scope);
	} else if (pick < 26 && !deep) {
		add_switch(g, scope);
	} else if (pick < 29 && !deep) {
		add_gotos(g, scope);
	} else if (pick < 32 && scope->leave >= 0) {
		add_leave(g, scope);
	} else if (pick < 34 && g->may_exit && !g->in_func) {
		add_exit(g);
	} else {
		gen_simple(g, scope);
	}
}

void gen_statements(struct gen *g, const struct gen_scope *scope)
{
	for (uint64_t count = 1 + gen_below(g, 5); count > 0 && g->left > 0; count--) {
		size_t from = g->func->count;
		g->left--;
		add_statement(g, scope);
		gen_span(g, from);
	}
}

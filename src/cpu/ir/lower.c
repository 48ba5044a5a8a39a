/* SPDX-License-Identifier: MIT */
/*
 * Lowering: after it only branches decide where a thread goes on.
 *
 *	@%p bar.red.popc.u32 %r, 0, %q;
 * becomes
 *	@!%p bra after;
 *	bar.red.popc.u32 %r, 0, %q;      first half: says what it waits for, ends the block
 *	bar.red.popc.u32 %r, 0, %q;      second half, when the wait is over: writes %r
 *	after:
 *
 * The condition code, which add.cc writes and addc reads, becomes a register.
 *
 * An instruction without results has no second half.  The list ends with an instruction that ends
 * the thread, so that each wait has a block after it.
 *
 * Programs from before Volta let the threads of a warp read from shared memory what other threads
 * of the warp have just written, with volatile but without __syncwarp().  On GPUs that still works,
 * for threads that have not diverged go on together.  So the threads meet in front of every such
 * access, at the first half of an activemask.
 *
 * Under a schedule (exec/seeded_schedule.h) threads yield in front of every access to memory that
 * others may access, at a nanosleep without an operand, and do not meet there.
 */
#include "base/common.h"

#include "cpu/ir/lower.h"

#include <string.h>

struct lowering {
	struct ptx_module *module;
	struct ptx_func *func;
	struct ptx_inst *insts;
	size_t count;
	struct ptx_label *labels;
	size_t label_count;
};

static bool lower_ends_thread(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_RET || inst->op == PTX_OP_EXIT || inst->op == PTX_OP_TRAP
		|| inst->op == PTX_OP_BRKPT;
}

static bool lower_needs_branch(const struct ptx_inst *inst)
{
	return inst->has_guard && inst->op != PTX_OP_BRA
		&& (ptx_waits(inst->op) || lower_ends_thread(inst) || inst->op == PTX_OP_BRX);
}

static bool lower_has_second(const struct ptx_inst *inst)
{
	return ptx_waits(inst->op) && strpbrk(ptx_rows[inst->op].operands, PTX_WRITTEN);
}

/* Only what names the state space: a generic volatile access is mostly a flag in global memory. */
static bool lower_meets(const struct ptx_inst *inst)
{
	return (inst->op == PTX_OP_LD || inst->op == PTX_OP_ST) && inst->space == PTX_SHARED
		&& ptx_has(&inst->mods, PTX_MOD_VOLATILE);
}

/* It accesses memory that other threads may access. */
static bool lower_may_share(const struct ptx_inst *inst)
{
	const bool may = inst->space == PTX_GENERIC || inst->space == PTX_GLOBAL
		|| inst->space == PTX_SHARED;
	return may && strpbrk(ptx_rows[inst->op].operands, "mS");
}

/* An instruction that goes in front of one; PTX_OP_COUNT: none does. */
static enum ptx_op lower_op_before(const struct ptx_module *module, const struct ptx_inst *inst)
{
	if (module->is_scheduled) {
		return lower_may_share(inst) ? PTX_OP_NANOSLEEP : PTX_OP_COUNT;
	}
	return lower_meets(inst) ? PTX_OP_ACTIVEMASK : PTX_OP_COUNT;
}

/* The number of instructions that one becomes. */
static size_t lower_parts_of(const struct ptx_module *module, const struct ptx_inst *inst)
{
	return 1 + (size_t)lower_needs_branch(inst) + (size_t)lower_has_second(inst)
		+ (size_t)(lower_op_before(module, inst) != PTX_OP_COUNT);
}

/* @!guard bra label */
static bool lower_add_branch(struct lowering *l, const struct ptx_inst *inst, size_t label)
{
	struct ptx_operand *target = arena_alloc(&l->module->arena, 1, sizeof(*target));
	if (!target) {
		return false;
	}
	*target = (struct ptx_operand){.kind = PTX_LABEL, .reg = (unsigned)label, .label = ""};
	l->insts[l->count++] = (struct ptx_inst){.op = PTX_OP_BRA, .text = "bra",
		.has_guard = true, .guard = inst->guard, .guard_negated = !inst->guard_negated,
		.operands = target, .operand_count = 1, .line = inst->line, .column = inst->column,
		.loc = inst->loc, .scope = inst->scope};
	return true;
}

static bool lower_inst(struct lowering *l, const struct ptx_inst *inst)
{
	bool guarded = lower_needs_branch(inst);
	const enum ptx_op before = lower_op_before(l->module, inst);
	if (before != PTX_OP_COUNT) {
		l->insts[l->count++] = (struct ptx_inst){.op = before,
			.text = ptx_rows[before].spelling,
			.line = inst->line, .column = inst->column, .loc = inst->loc,
			.scope = inst->scope};
	}
	if (guarded && !lower_add_branch(l, inst, l->label_count)) {
		return false;
	}

	struct ptx_inst *first = &l->insts[l->count++];
	*first = *inst;
	if (guarded) {
		first->has_guard = false;
	}
	if (lower_has_second(inst)) {
		l->insts[l->count] = *first;
		l->insts[l->count++].is_second = true;
	}
	if (guarded) {
		l->labels[l->label_count++] = (struct ptx_label){"", l->count};
	}
	return true;
}

static void lower_add_exit(struct lowering *l, int line)
{
	if (l->count == 0 || !lower_ends_thread(&l->insts[l->count - 1])
	    || l->insts[l->count - 1].has_guard) {
		l->insts[l->count++] = (struct ptx_inst){.op = PTX_OP_EXIT, .text = "exit",
			.line = line, .column = 1};
	}
}

/* Give the condition code a register, if an instruction uses it. */
static bool lower_carry(struct ptx_module *module, struct ptx_func *func)
{
	bool used = false;
	for (size_t i = 0; i < func->inst_count; i++) {
		struct ptx_inst *inst = &func->insts[i];
		inst->has_carry = ptx_uses_carry(inst);
		inst->carry_in = inst->carry_out = (unsigned)func->reg_count;
		used |= inst->has_carry;
	}
	if (!used) {
		return true;
	}
	struct ptx_reg *regs = arena_alloc(&module->arena, func->reg_count + 1, sizeof(*regs));
	if (!regs) {
		return false;
	}
	if (func->reg_count > 0) {
		memcpy(regs, func->regs, func->reg_count * sizeof(*regs));
	}
	regs[func->reg_count++] = (struct ptx_reg){"%cc", PTX_PRED};
	func->regs = regs;
	return true;
}

bool lower_func(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag)
{
	if (func->is_lowered) {
		return true;
	}
	size_t count = 1; /* the last one */
	size_t branches = 0;
	for (size_t i = 0; i < func->inst_count; i++) {
		count += lower_parts_of(module, &func->insts[i]);
		branches += lower_needs_branch(&func->insts[i]);
	}

	struct lowering l = {.module = module, .func = func, .label_count = func->label_count};
	l.insts = arena_alloc(&module->arena, count, sizeof(*l.insts));
	l.labels = arena_alloc(&module->arena, func->label_count + branches, sizeof(*l.labels));
	size_t *places = arena_alloc(&module->arena, func->inst_count + 1, sizeof(*places));
	bool ok = l.insts && l.labels && places && lower_carry(module, func);
	for (size_t i = 0; ok && i < func->inst_count; i++) {
		places[i] = l.count;
		ok = lower_inst(&l, &func->insts[i]);
	}
	if (!ok) {
		return ptx_no_memory(diag);
	}

	places[func->inst_count] = l.count;
	lower_add_exit(&l, func->line);
	for (size_t i = 0; i < func->label_count; i++) {
		l.labels[i] = (struct ptx_label){func->labels[i].name,
			places[func->labels[i].inst]};
	}
	func->insts = l.insts;
	func->inst_count = l.count;
	func->labels = l.labels;
	func->label_count = l.label_count;
	func->is_lowered = true;
	return true;
}

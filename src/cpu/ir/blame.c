/* SPDX-License-Identifier: MIT */
/*
 * Follows values that went wrong from the instruction that made them to where they matter: for the
 * checks `nan` and `int`.
 *
 *	div.rn.f32 %f3, %f1, %f2;
 *	st.global.f32 [%rd1], %f3;
 * becomes
 *	div.rn.f32 %f3, %f1, %f2;
 *	...                             %b3 is 0 where %f3 is finite; the line of the division
 *	                                where %f1 and %f2 were; else the blame of %f1 or %f2
 *	@%made #made 0, %f3, %f1, %f2;  keeps the operands, for the report
 *	@%bad #blame %b3;               %bad is %b3 != 0
 *	st.global.f32 [%rd1], %f3;
 *
 * A register whose value may be wrong has a second one with its blame.  That is computed by
 * instructions of PTX, so all that comes after this pass treats it as any other value.  Moves,
 * selections and arithmetic pass blame on.  What leaves the thread's registers is reported: what is
 * stored, exchanged or an address, and for `int` what decides a branch.
 *
 * So a division by zero whose result a selection throws away is not reported.  Compilers make such
 * selections of branches, and many functions of the math library compute more than they need.
 */
#include "base/common.h"

#include "cpu/ir/blame_rewrite.h"

#include "base/alloc.h"
#include "base/checks.h"
#include "cpu/ir/cfg.h"

#include <string.h>

/* The predicate under which the instruction itself runs, and this one, too. */
static struct ptx_operand blame_guarded(struct blame *b, struct ptx_operand pred)
{
	struct ptx_operand guard = blame_reg(b->inst->guard);
	guard.negated = b->inst->guard_negated;
	return b->inst->has_guard ? blame_binary(b, PTX_OP_AND, PTX_PRED, pred, guard) : pred;
}

static void blame_guard(struct ptx_inst *inst, struct ptx_operand pred)
{
	inst->has_guard = pred.kind == PTX_REG;
	inst->guard = pred.reg;
}

/* --- Which registers may have blame --- */

/* Comparisons and conversions to integers hide that a float is wrong. */
static bool blame_hides_nan(const struct ptx_inst *inst)
{
	const char class = ptx_type_class(inst->types[0]);
	const bool is_cvt = strcmp(ptx_rows[inst->op].spelling, "cvt") == 0;
	return strcmp(ptx_rows[inst->op].spelling, "set") == 0
		|| strcmp(ptx_rows[inst->op].spelling, "setp") == 0 || inst->op == PTX_OP_TESTP
		|| (is_cvt && (class == 'u' || class == 's'));
}

struct blame_visit {
	struct blame *b;
	unsigned kinds;             /* of what is read */
	bool changed;
	struct ptx_operand merged;  /* blame of what is read, as it is when the code runs */
};

static void blame_see_read(void *data, unsigned *reg, unsigned *value)
{
	struct blame_visit *v = data;
	(void)value;
	v->kinds |= v->b->kinds_of[*reg];
}

static void blame_see_write(void *data, unsigned *reg, unsigned *value)
{
	struct blame_visit *v = data;
	(void)value;
	v->changed |= (v->kinds & ~v->b->kinds_of[*reg]) != 0;
	v->b->kinds_of[*reg] |= (uint8_t)v->kinds;
}

/* Without its guard. */
static void blame_visit(struct blame_visit *v, const struct ptx_inst *inst, bool written,
	cfg_visit_fn *visit)
{
	struct ptx_inst bare = *inst;
	bare.has_guard = inst->has_guard && inst->op == PTX_OP_BRA && !written;
	cfg_visit(&bare, written, visit, v);
}

static void blame_count_write(void *data, unsigned *reg, unsigned *value)
{
	struct blame *b = data;
	(void)value;
	b->writes[*reg].count++;
	b->writes[*reg].inst = b->inst;
}

static void blame_find_writes(struct blame *b)
{
	for (size_t i = 0; i < b->func->inst_count; i++) {
		b->inst = &b->func->insts[i];
		cfg_visit(&b->func->insts[i], true, blame_count_write, b);
	}
}

static bool blame_find_kinds(struct blame *b)
{
	struct blame_visit v = {.b = b};
	do {
		v.changed = false;
		for (size_t i = 0; i < b->func->inst_count; i++) {
			const struct ptx_inst *inst = &b->func->insts[i];
			v.kinds = 0;
			if (!ptx_computes(inst->op)) {
				continue;
			}
			blame_visit(&v, inst, false, blame_see_read);
			v.kinds &= blame_hides_nan(inst) ? BLAME_OF_INT : UINT32_MAX;
			v.kinds |= blame_makes(b, inst);
			blame_visit(&v, inst, true, blame_see_write);
		}
	} while (v.changed);
	bool any = false;
	for (size_t i = 0; i < b->func->reg_count; i++) {
		any |= b->kinds_of[i] != 0;
	}
	return any;
}

static void blame_make_regs(struct blame *b)
{
	for (size_t i = 0; i < b->func->reg_count; i++) {
		b->blames[i] = b->kinds_of[i] ? blame_temp(b, PTX_U32) : 0;
	}
}

/* --- What an instruction passes on --- */

static struct ptx_operand blame_merge(struct blame *b, struct ptx_operand x, struct ptx_operand y)
{
	return blame_is_number(&x, 0) ? y : blame_is_number(&y, 0) ? x
		: blame_binary(b, PTX_OP_MAX, PTX_U32, x, y);
}

static struct ptx_operand blame_of(const struct blame *b, const struct ptx_operand *operand)
{
	return operand->kind == PTX_REG && b->blames[operand->reg]
		? blame_reg(b->blames[operand->reg]) : blame_number(0);
}

static void blame_merge_read(void *data, unsigned *reg, unsigned *value)
{
	struct blame_visit *v = data;
	(void)value;
	v->kinds |= v->b->kinds_of[*reg];
	if (v->b->blames[*reg]) {
		v->merged = blame_merge(v->b, v->merged, blame_reg(v->b->blames[*reg]));
	}
}

/* Only the blame of integers, which has the sign. */
static struct ptx_operand blame_of_int(struct blame *b, struct ptx_operand blame, unsigned kinds)
{
	return !(kinds & BLAME_OF_NAN) || blame_is_number(&blame, 0) ? blame
		: !(kinds & BLAME_OF_INT) ? blame_number(0)
		: blame_binary(b, PTX_OP_MIN, PTX_S32, blame, blame_number(0));
}

/* A predicate's operand does not matter where the other one decides. */
static struct ptx_operand blame_of_logic(struct blame *b, const struct ptx_inst *inst)
{
	const struct ptx_operand *x = &inst->operands[1], *y = &inst->operands[2];
	const struct ptx_operand none = blame_number(0);
	struct ptx_operand of[2] = {blame_of(b, x), blame_of(b, y)};
	for (int i = 0; i < 2; i++) {
		const struct ptx_operand other = i == 0 ? *y : *x;
		if (!blame_is_number(&of[i], 0)) {
			of[i] = inst->op == PTX_OP_AND ? blame_select(b, of[i], none, other)
				: blame_select(b, none, of[i], other);
		}
	}
	return blame_merge(b, of[0], of[1]);
}

/* The blame of the result, as far as it comes from operands.  In front of the instruction. */
static struct ptx_operand blame_pass(struct blame *b, const struct ptx_inst *inst)
{
	struct blame_visit v = {.b = b, .merged = blame_number(0)};
	if (inst->op == PTX_OP_SELP) {
		const struct ptx_operand yes = blame_of(b, &inst->operands[1]);
		const struct ptx_operand no = blame_of(b, &inst->operands[2]);
		const struct ptx_operand which = blame_of(b, &inst->operands[3]);
		const bool none = blame_is_number(&yes, 0) && blame_is_number(&no, 0);
		return blame_merge(b, which, none ? yes
			: blame_select(b, yes, no, inst->operands[3]));
	}
	if ((inst->op == PTX_OP_AND || inst->op == PTX_OP_OR) && inst->types[0] == PTX_PRED) {
		return blame_of_logic(b, inst);
	}
	blame_visit(&v, inst, false, blame_merge_read);
	return blame_hides_nan(inst) ? blame_of_int(b, v.merged, v.kinds) : v.merged;
}

static void blame_set_reg(void *data, unsigned *reg, unsigned *value)
{
	struct blame_visit *v = data;
	struct blame *b = v->b;
	(void)value;
	if (b->blames[*reg]) {
		struct ptx_inst *mov = blame_put(b, PTX_OP_MOV, PTX_U32,
			(struct ptx_operand[]){blame_reg(b->blames[*reg]), v->merged}, 2);
		mov->has_guard = b->inst->has_guard;
		mov->guard = b->inst->guard;
		mov->guard_negated = b->inst->guard_negated;
	}
}

/* #made: the operands of what has made something wrong, where a predicate holds. */
static void blame_keep(struct blame *b, const struct blame_made *made, struct ptx_operand pred)
{
	const struct ptx_inst *inst = b->inst;
	struct ptx_operand operands[5] = {blame_number(inst->op), inst->operands[0]};
	memcpy(&operands[2], made->args, made->arg_count * sizeof(*operands));
	struct ptx_inst *keep = blame_put(b, PTX_OP_MADE, made->types[0], operands,
		2 + made->arg_count);
	memcpy(keep->types, made->types, sizeof(keep->types));
	blame_guard(keep, pred);
}

/* An instruction that computes. */
static void blame_do_compute(struct blame *b)
{
	const struct ptx_inst *inst = b->inst;
	const unsigned makes = blame_makes(b, inst);
	const bool is_real = b->kinds & BLAME_OF_NAN && blame_is_real(inst);
	struct blame_visit v = {.b = b};
	blame_visit(&v, inst, true, blame_see_read);
	if (v.kinds == 0) { // of the result
		blame_add(b, *inst);
		return;
	}
	struct blame_made made = {.arg_count = 0};
	struct ptx_operand is_made = blame_number(0), is_bad = blame_number(0);
	v.merged = blame_pass(b, inst);
	v.kinds = 0;
	blame_visit(&v, inst, false, blame_see_read);
	if (makes || is_real) {
		blame_begin(b, &made);
	}
	blame_add(b, *inst);
	if (makes || is_real) {
		blame_end(b, &made, &is_made, &is_bad);
	}
	if (is_real && !blame_is_number(&v.merged, 0)) {
		v.merged = blame_select(b, v.merged, blame_of_int(b, v.merged, v.kinds), is_bad);
	}
	if (!blame_is_number(&is_made, 0)) {
		const uint32_t line = (uint32_t)inst->line;
		blame_keep(b, &made, blame_guarded(b, is_made));
		v.merged = blame_select(b, blame_number((int64_t)(makes & BLAME_OF_INT
			? line | CHECK_BLAME_INT : line)), v.merged, is_made);
	}
	blame_visit(&v, inst, true, blame_set_reg);
}

/* #blame, if there is some, where a predicate holds; with guarded, where the instruction runs. */
static void blame_report(struct blame *b, struct ptx_operand blame, bool guarded)
{
	if (!blame_is_number(&blame, 0)) {
		struct ptx_operand is = blame_compare(b, PTX_MOD_NE, PTX_U32, blame,
			blame_number(0));
		is = guarded ? blame_guarded(b, is) : is;
		blame_guard(blame_put(b, PTX_OP_BLAME, PTX_U32, &blame, 1), is);
	}
}

static void blame_do_inst(struct blame *b)
{
	const struct ptx_inst *inst = b->inst;
	if (inst->has_guard && inst->op != PTX_OP_BRA && !inst->is_second
	    && b->blames[inst->guard]) {
		blame_report(b, blame_reg(b->blames[inst->guard]), false);
	}
	if (ptx_computes(inst->op)) {
		blame_do_compute(b);
		return;
	}
	struct blame_visit v = {.b = b, .merged = blame_number(0)};
	blame_visit(&v, inst, false, blame_merge_read);
	blame_report(b, v.merged, inst->op != PTX_OP_BRA);
	blame_add(b, *inst);
	v.merged = blame_number(0);
	blame_visit(&v, inst, true, blame_set_reg);
}

/* --- The function --- */

static bool blame_rewrite(struct blame *b)
{
	const struct ptx_func *func = b->func;
	struct ptx_label *labels = arena_alloc(&b->module->arena, func->label_count + 1,
		sizeof(*labels));
	size_t *places = mem_alloc((func->inst_count + 1) * sizeof(*places));
	b->failed |= !labels || !places;
	blame_make_regs(b);
	for (size_t i = 0; i < func->inst_count && !b->failed; i++) {
		places[i] = b->count;
		b->inst = &func->insts[i];
		blame_do_inst(b);
	}
	for (size_t i = 0; i < func->label_count && !b->failed; i++) {
		const size_t at = func->labels[i].inst;
		labels[i] = (struct ptx_label){func->labels[i].name,
			at < func->inst_count ? places[at] : b->count};
	}
	mem_free(places);
	struct ptx_inst *insts = b->failed ? NULL
		: arena_alloc(&b->module->arena, b->count, sizeof(*insts));
	struct ptx_reg *regs = b->failed ? NULL
		: arena_alloc(&b->module->arena, b->reg_count, sizeof(*regs));
	if (!insts || !regs) {
		return false;
	}
	memcpy(insts, b->insts, b->count * sizeof(*insts));
	memcpy(regs, b->regs, b->reg_count * sizeof(*regs));
	b->func->insts = insts;
	b->func->inst_count = b->count;
	b->func->labels = labels;
	b->func->regs = regs;
	b->func->reg_count = b->reg_count;
	return true;
}

bool blame_func(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag)
{
	const size_t count = func->reg_count;
	if (module->blamed == 0 || func->is_blamed || count == 0) {
		return true;
	}
	struct blame b = {.module = module, .func = func,
		.kinds = (module->blamed & check_bit(CHECK_NAN) ? BLAME_OF_NAN : 0)
			| (module->blamed & check_bit(CHECK_INT) ? BLAME_OF_INT : 0),
		.kinds_of = mem_zalloc(count, sizeof(*b.kinds_of)),
		.blames = mem_zalloc(count, sizeof(*b.blames)),
		.writes = mem_zalloc(count, sizeof(*b.writes)),
		.regs = mem_alloc(count * sizeof(*b.regs)), .reg_count = count, .reg_cap = count};
	bool ok = b.kinds_of && b.blames && b.writes && b.regs && blame_find_signed(&b);
	if (ok) {
		memcpy(b.regs, func->regs, count * sizeof(*b.regs));
		blame_find_writes(&b);
		ok = !blame_find_kinds(&b) || blame_rewrite(&b);
	}
	func->is_blamed = ok;
	mem_free(b.kinds_of);
	mem_free(b.uses);
	mem_free(b.blames);
	mem_free(b.writes);
	mem_free(b.regs);
	mem_free(b.insts);
	return ok || ptx_no_memory(diag);
}

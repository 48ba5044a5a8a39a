/* SPDX-License-Identifier: MIT */
/*
 * Checks instructions one by one.  check_operand.c compares the operands with the opcode table.
 * This file refuses what the device does not run, and has the rules that do not fit in a row of the
 * table, such as cvt's rounding and setp's third source.
 */
#include "base/common.h"

#include "cpu/ptx/checker.h"

#include <stdio.h>
#include <string.h>

static bool check_is_float(enum ptx_type type)
{
	return ptx_type_class(type) == 'f';
}

/* PTX ISA 9.7.9.21: which rounding each pair of types needs. */
static bool check_cvt(struct checker *c)
{
	static const enum ptx_mod float_mods[] = {PTX_MOD_RN, PTX_MOD_RZ, PTX_MOD_RM, PTX_MOD_RP};
	static const enum ptx_mod int_mods[] = {PTX_MOD_RNI, PTX_MOD_RZI, PTX_MOD_RMI, PTX_MOD_RPI};
	const struct ptx_inst *inst = c->inst;
	enum ptx_type to = inst->types[0], from = inst->types[1];
	unsigned to_bits = ptx_type_bits(to), from_bits = ptx_type_bits(from);
	bool has_float = false, has_int = false;
	for (size_t i = 0; i < countof(float_mods); i++) {
		has_float |= ptx_has(&inst->mods, float_mods[i]);
		has_int |= ptx_has(&inst->mods, int_mods[i]);
	}
	bool needs_float = check_is_float(to) && (!check_is_float(from) || to_bits < from_bits
		|| (to_bits == from_bits && to != from));
	bool needs_int = !check_is_float(to) && check_is_float(from);
	bool may_int = needs_int || (check_is_float(to) && to == from);
	if (needs_float && !has_float) {
		return check_fail(c, "'%.60s' needs .rn or .rz or .rm or .rp", inst->text);
	}
	if (needs_int && !has_int) {
		return check_fail(c, "'%.60s' needs .rni or .rzi or .rmi or .rpi", inst->text);
	}
	if ((has_float && !needs_float) || (has_int && !may_int)) {
		return check_fail(c, "'%.60s' cannot have this rounding", inst->text);
	}
	if (ptx_has(&inst->mods, PTX_MOD_FTZ) && to != PTX_F32 && from != PTX_F32) {
		return check_fail(c, "'%.60s' cannot have '.ftz' without f32", inst->text);
	}
	if (ptx_has(&inst->mods, PTX_MOD_SAT) && (to == PTX_BF16 || from == PTX_BF16)) {
		return check_fail(c, "'%.60s' cannot have '.sat' with bf16", inst->text);
	}
	return true;
}

/* setp and set take a third source if, and only if, they combine it. */
static bool check_combine(struct checker *c, size_t sources)
{
	const struct ptx_mods *mods = &c->inst->mods;
	bool combines = ptx_has(mods, PTX_MOD_AND) || ptx_has(mods, PTX_MOD_OR)
		|| ptx_has(mods, PTX_MOD_XOR);
	return c->inst->operand_count == sources + combines
		|| check_fail(c, "'%.60s' takes %zu operands, got %zu", c->inst->text,
			sources + combines, c->inst->operand_count);
}

/* setp and set of two halves: into two predicates; into two halves of the same type, or bits. */
static bool check_pairs(struct checker *c)
{
	const struct ptx_inst *inst = c->inst;
	if (inst->op == PTX_OP_HSETP_X2 && inst->operands[0].kind != PTX_PAIR) {
		return check_fail(c, "'%.60s' needs two predicates p|q", inst->text);
	}
	if (inst->op == PTX_OP_HSET_X2 && inst->types[0] != inst->types[1]
	    && ptx_type_class(inst->types[0]) == 'h') {
		return check_fail(c, "'%.60s' cannot have both types", inst->text);
	}
	return check_combine(c, 3);
}

/* PTX ISA 8.4: an access with an order names its scope, and only such a one. */
static bool check_access(struct checker *c)
{
	const struct ptx_mods *mods = &c->inst->mods;
	bool ordered = ptx_has(mods, PTX_MOD_RELAXED) || ptx_has(mods, PTX_MOD_ACQUIRE)
		|| ptx_has(mods, PTX_MOD_RELEASE);
	bool scoped = ptx_has(mods, PTX_MOD_CTA) || ptx_has(mods, PTX_MOD_CLUSTER)
		|| ptx_has(mods, PTX_MOD_GPU) || ptx_has(mods, PTX_MOD_SYS);
	if (ptx_has(mods, PTX_MOD_NC) && c->inst->space != PTX_GLOBAL) {
		return check_fail(c, "'%.60s' needs .global for .nc", c->inst->text);
	}
	return ordered == scoped || check_fail(c, "'%.60s' needs %s", c->inst->text, ordered
		? "a scope: .cta or .gpu or .sys" : "an order such as .relaxed for its scope");
}

/* PTX ISA 8.8: f32 has forms with three sources, which take .abs alone. */
static bool check_minmax(struct checker *c)
{
	const struct ptx_inst *inst = c->inst;
	bool xorsign = ptx_has(&inst->mods, PTX_MOD_XORSIGN);
	bool abs = ptx_has(&inst->mods, PTX_MOD_ABS);
	if (inst->operand_count == 4) {
		return (inst->types[0] == PTX_F32 && !xorsign)
			|| check_fail(c, "'%.60s' takes 3 operands, got 4", inst->text);
	}
	return xorsign == abs
		|| check_fail(c, "'%.60s' needs .xorsign and .abs together", inst->text);
}

static bool check_barrier_operands(struct checker *c, size_t index)
{
	const struct ptx_operand *id = &c->inst->operands[index];
	const struct ptx_operand *threads = id + 1;
	if (id->kind == PTX_INT && (id->value < 0 || id->value > 15)) {
		return check_fail(c, "barrier %lld: expected 0 to 15", (long long)id->value);
	}
	if (index + 1 < c->inst->operand_count && threads->kind == PTX_INT
	    && (threads->value <= 0 || threads->value % 32 != 0)) {
		return check_fail(c, "barrier for %lld threads: expected a multiple of 32",
			(long long)threads->value);
	}
	return true;
}

/* Selectors that fit, after the first operands. */
static bool check_selects(struct checker *c, unsigned parts)
{
	const struct ptx_inst *inst = c->inst;
	for (size_t i = 0; i < 3; i++) {
		const char *select = inst->operands[i].select;
		if (!ptx_select_fits(select, parts, i == 0)) {
			return check_fail(c, "'%.60s' cannot have '.%s' after operand %zu",
				inst->text, select, i + 1);
		}
	}
	return true;
}

/* PTX ISA 9.7.19: a third source if there is something to do with it, and selectors that fit. */
static bool check_video(struct checker *c)
{
	const struct ptx_inst *inst = c->inst;
	const char *spelling = ptx_rows[inst->op].spelling;
	const char *digit = strpbrk(spelling, "24");
	bool combines = ptx_has(&inst->mods, PTX_MOD_ADD) || ptx_has(&inst->mods, PTX_MOD_MIN)
		|| ptx_has(&inst->mods, PTX_MOD_MAX);
	bool merges = inst->operands[0].select[0];
	if (!check_selects(c, digit ? (unsigned)(*digit - '0') : 1)) {
		return false;
	}
	if (!digit && combines && merges) {
		return check_fail(c, "'%.60s' cannot both combine and merge", inst->text);
	}
	size_t want = digit || combines || merges ? 4 : 3;
	return inst->operand_count == want || check_fail(c, "'%.60s' takes %zu operands, got %zu",
		inst->text, want, inst->operand_count);
}

/* PTX ISA 9.7.9.13: zeros, eight bytes at a time. */
static bool check_st_bulk(struct checker *c)
{
	const struct ptx_inst *inst = c->inst;
	const struct ptx_operand *size = &inst->operands[1];
	if (size->kind == PTX_INT && size->value % 8 != 0) {
		return check_fail(c, "'%.60s' of %lld bytes: expected a multiple of 8", inst->text,
			(long long)size->value);
	}
	return inst->operands[2].value == 0
		|| check_fail(c, "'%.60s' can only store 0", inst->text);
}

/* PTX ISA 9.7.19: the sign of the product, or of the addend. */
static bool check_vmad(struct checker *c)
{
	const struct ptx_inst *inst = c->inst;
	const struct ptx_operand *o = inst->operands;
	bool any = o[1].minus || o[2].minus || o[3].minus;
	if (!check_selects(c, 1)) {
		return false;
	}
	if (any && ptx_has(&inst->mods, PTX_MOD_PO)) {
		return check_fail(c, "'%.60s' cannot have both '.po' and '-'", inst->text);
	}
	return o[1].minus == o[2].minus || !o[3].minus
		|| check_fail(c, "'%.60s' cannot negate both the product and operand 4",
			inst->text);
}

/* PTX ISA 9.7.9.25.3: 4, 8 or 16 bytes, past the first cache 16. */
static bool check_copy(struct checker *c)
{
	const struct ptx_operand *size = &c->inst->operands[2];
	bool only_16 = ptx_has(&c->inst->mods, PTX_MOD_CG);
	return size->value == 16 || (!only_16 && (size->value == 4 || size->value == 8))
		|| check_fail(c, "'%.60s' of %lld bytes: expected %s", c->inst->text,
			(long long)size->value, only_16 ? "16" : "4, 8 or 16");
}

/* PTX ISA 9.7.9.25.4: from one space to the other, in pieces of 16 bytes. */
static bool check_bulk(struct checker *c)
{
	const struct ptx_inst *inst = c->inst;
	size_t index = inst->op == PTX_OP_CP_BULK_PREFETCH ? 1 : 2;
	const struct ptx_operand *size = &inst->operands[index];
	const char *global = strstr(inst->text, ".global"), *shared = strstr(inst->text, ".shared");
	if (global && shared && (shared < global) != (inst->op == PTX_OP_CP_BULK_IN)) {
		return check_fail(c, "'%.80s' cannot copy in this direction", inst->text);
	}
	return size->kind != PTX_INT || size->value % 16 == 0
		|| check_fail(c, "'%.80s' of %lld bytes: expected a multiple of 16", inst->text,
			(long long)size->value);
}

/* PTX ISA 9.7.3.1: a power of 2. */
static bool check_alloca(struct checker *c)
{
	const struct ptx_inst *inst = c->inst;
	int64_t align = inst->operand_count > 2 ? inst->operands[2].value : 1;
	return (align > 0 && align <= 1 << 23 && (align & (align - 1)) == 0)
		|| check_fail(c, "'%.60s' with alignment %lld: expected 1, 2, 4, ... %d",
			inst->text, (long long)align, 1 << 23);
}

static bool check_rules(struct checker *c)
{
	const struct ptx_inst *inst = c->inst;
	if (ptx_is_video(inst->op)) {
		return check_video(c);
	}
	switch (inst->op) {
	case PTX_OP_ST_BULK:
		return check_st_bulk(c);
	case PTX_OP_VMAD:
		return check_vmad(c);
	case PTX_OP_CVT:
		return check_cvt(c);
	case PTX_OP_SETP:
	case PTX_OP_FSETP:
	case PTX_OP_SET:
	case PTX_OP_FSET:
	case PTX_OP_HSETP:
	case PTX_OP_SET_HALF:
	case PTX_OP_HSET:
	case PTX_OP_HSET_INT:
		return check_combine(c, 3);
	case PTX_OP_HSETP_X2:
	case PTX_OP_HSET_X2:
		return check_pairs(c);
	case PTX_OP_BAR_SYNC:
	case PTX_OP_BAR_ARRIVE:
	case PTX_OP_BARRIER_SYNC:
	case PTX_OP_BARRIER_ARRIVE:
		return check_barrier_operands(c, 0);
	case PTX_OP_BAR_RED_PRED:
	case PTX_OP_BAR_RED_POPC:
	case PTX_OP_BARRIER_RED_PRED:
	case PTX_OP_BARRIER_RED_POPC:
		return check_barrier_operands(c, 1);
	case PTX_OP_ALLOCA:
		return check_alloca(c);
	case PTX_OP_CP_ASYNC:
		return check_copy(c);
	case PTX_OP_CP_BULK_IN:
	case PTX_OP_CP_BULK_SHARED:
	case PTX_OP_CP_BULK_OUT:
	case PTX_OP_CP_BULK_PREFETCH:
		return check_bulk(c);
	case PTX_OP_LD:
	case PTX_OP_ST:
		return check_access(c);
	case PTX_OP_CALL:
		return check_call(c->func, inst, c->diag);
	case PTX_OP_FMIN:
	case PTX_OP_FMAX:
	case PTX_OP_HMIN:
	case PTX_OP_HMAX:
		return check_minmax(c);
	case PTX_OP_MOV:
		return inst->operands[0].kind != PTX_VECTOR || inst->operands[1].kind != PTX_VECTOR
			|| check_fail(c, "'%.60s' cannot both unpack and pack", inst->text);
	default:
		return true;
	}
}

/* An instruction that we do not run, with what the user knows it by: "(k.cu:7)". */
static bool check_refuse(const struct ptx_module *module, const struct ptx_inst *inst,
	struct ptx_diag *diag)
{
	char source[96] = "";
	const struct ptx_loc *loc = inst->loc;
	size_t file = loc ? (size_t)loc->file : SIZE_MAX;
	const char *path = file < module->file_count ? module->files[file] : NULL;
	if (path && loc->line > 0) {
		const char *slash = strrchr(path, '/');
		snprintf(source, sizeof(source), " (%.80s:%d)", slash ? slash + 1 : path,
			loc->line);
	}
	return ptx_unsupported(diag, inst->line, inst->column,
		"instruction '%.60s'%s is not supported by the CPU device%s", inst->text, source,
		ptx_rows[inst->op].reason);
}

static bool check_inst(const struct ptx_module *module, const struct ptx_func *func,
	const struct ptx_inst *inst, struct ptx_diag *diag)
{
	struct checker c = {func, inst, diag};
	if (ptx_rows[inst->op].unsupported) {
		return check_refuse(module, inst, diag);
	}
	return check_operands(&c) && check_rules(&c);
}

/* Keep the first thing that is not supported in a function. */
static bool check_keep_refusal(
	struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag)
{
	if (!func->refusal) {
		func->refusal = arena_alloc(&module->arena, 1, sizeof(*func->refusal));
		if (!func->refusal) {
			return ptx_no_memory(diag);
		}
		*func->refusal = *diag;
	}
	*diag = (struct ptx_diag){.line = 0};
	return true;
}

bool check_function(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag)
{
	for (size_t i = 0; i < func->inst_count; i++) {
		if (check_inst(module, func, &func->insts[i], diag)) {
			continue;
		}
		if (func->is_entry || !diag->unsupported
			|| !check_keep_refusal(module, func, diag)) {
			return false;
		}
	}
	return true;
}

bool check_module(struct ptx_module *module, struct ptx_diag *diag)
{
	bool ok = true;
	for (size_t i = 0; ok && i < module->func_count; i++) {
		ok = check_function(module, module->funcs[i], diag);
	}
	return ok;
}

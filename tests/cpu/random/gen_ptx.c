/* SPDX-License-Identifier: MIT */
/*
 * Prints a generated program as PTX.  Registers: bank letter and number, %x.. for scratch (see
 * gen_ops.def), %b<space> for where a thread's part of a memory starts, %q<space> the same as a
 * generic address, %s<space> as a 32-bit one.
 */
#include "gen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char bank_letters[] = "phrdfg";

struct print {
	struct str *out;
	const struct gen_program *program;
	struct gen_layout layout;
	unsigned func;
	size_t at;     /* instruction, for labels of its own */
};

static void print_arg(struct str *out, const struct gen_arg *arg)
{
	if (arg->kind == GEN_REG) {
		str_addf(out, "%%%c%u", bank_letters[arg->bank], arg->reg);
	} else if (arg->bank == GEN_F) {
		str_addf(out, "0f%08" PRIX64, arg->value);
	} else if (arg->bank == GEN_G) {
		str_addf(out, "0d%016" PRIX64, arg->value);
	} else {
		str_addf(out, "%" PRId64, (int64_t)arg->value);
	}
}

static void print_guard(struct print *p, const struct gen_inst *inst)
{
	str_add(p->out, "\t");
	if (inst->has_guard) {
		str_addf(p->out, "@%s%%p%u ", inst->guard_negated ? "!" : "", inst->guard);
	}
}

/* Text in which $d $a $b $c stand for operands; every instruction of it gets the guard. */
static void print_template(struct print *p, const struct gen_inst *inst, const char *text)
{
	print_guard(p, inst);
	for (const char *c = text; *c; c++) {
		if (*c == '$') {
			c++;
			print_arg(p->out, *c == 'd' ? &inst->dst[0] : &inst->src[*c - 'a']);
		} else if (*c == ';' && c[1]) {
			str_add(p->out, ";\n");
			print_guard(p, inst);
		} else {
			str_addc(p->out, *c);
		}
	}
	str_add(p->out, "\n");
}

static void print_op(struct print *p, const struct gen_inst *inst)
{
	const struct gen_op *op = &gen_ops[inst->op];
	if (strchr(op->ptx, '$')) {
		print_template(p, inst, op->ptx);
		return;
	}
	print_guard(p, inst);
	str_addf(p->out, "%s ", op->ptx);
	print_arg(p->out, &inst->dst[0]);
	for (size_t i = 0; op->banks[1 + i]; i++) {
		str_add(p->out, ", ");
		print_arg(p->out, &inst->src[i]);
	}
	str_add(p->out, ";\n");
}

/* Memory. */

static const struct {
	const char *name;
	const char *symbol; /* of the array in shared memory, to use without a register */
	unsigned words;     /* 0: the index is within bounds */
} spaces[GEN_SPACES] = {
	[GEN_OWN] = {".global", NULL, GEN_OWN_BYTES / 8},
	[GEN_STRIPED] = {".global", NULL, GEN_OWN_BYTES / 8},
	[GEN_LOCAL] = {".local", NULL, GEN_OWN_BYTES / 8},
	[GEN_SHARED] = {".shared", NULL, GEN_SHARED_BYTES / 8},
	[GEN_EXCHANGE] = {".shared", "exchange", 0},
	[GEN_INPUT] = {".global", NULL, GEN_INPUTS},
	[GEN_CONST] = {".const", NULL, GEN_CONSTANTS},
	[GEN_GLOBAL_CELL] = {".global", NULL, 0},
	[GEN_SHARED_CELL] = {".shared", "cells", 0},
};

static bool is_shared(const struct gen_place *place)
{
	return strcmp(spaces[place->space].name, ".shared") == 0;
}

/* What computes the address, if that takes instructions; the address itself into `text`. */
static void print_place(struct print *p, const struct gen_place *place, char text[64])
{
	size_t scale = place->space == GEN_STRIPED ? 8 * p->layout.threads : 8;
	char base = place->generic ? 'q' : 'b';
	bool narrow = !place->generic && is_shared(place) && place->form & 1;
	unsigned words = spaces[place->space].words;
	if (place->index.kind == GEN_IMM) {
		size_t index = words ? place->index.value % words : place->index.value;
		size_t offset = scale * index + place->offset;
		if (!place->generic && spaces[place->space].symbol && place->form & 2) {
			snprintf(text, 64, "[%s+%zu]", spaces[place->space].symbol, offset);
		} else {
			snprintf(text, 64, "[%%%c%u+%zu]", narrow ? 's' : base, place->space,
				offset);
		}
		return;
	}
	unsigned reg = place->index.reg;
	if (words) {
		str_addf(p->out, "\tand.b32 %%xr0, %%r%u, %u;\n", reg, words - 1);
	} else {
		str_addf(p->out, "\tmov.u32 %%xr0, %%r%u;\n", reg);
	}
	if (narrow) {
		str_addf(p->out, "\tmad.lo.u32 %%xr0, %%xr0, 8, %%s%u;\n", place->space);
		snprintf(text, 64, "[%%xr0+%u]", place->offset);
	} else if (place->form & 4) {
		str_addf(p->out, "\tmad.wide.u32 %%xd0, %%xr0, %zu, %%%c%u;\n", scale, base,
			place->space);
		snprintf(text, 64, "[%%xd0+%u]", place->offset);
	} else {
		str_addf(p->out, "\tcvt.u64.u32 %%xd0, %%xr0;\n\tmul.lo.u64 %%xd0, %%xd0, %zu;\n"
			"\tadd.s64 %%xd0, %%%c%u, %%xd0;\n", scale, base, place->space);
		snprintf(text, 64, "[%%xd0+%u]", place->offset);
	}
}

static const char *type_name(const struct gen_inst *inst, enum gen_bank bank)
{
	static const char *const names[] = {"u8", "s8", "u16", "s16", "b32", "s32", "b64", "f32",
		"f64"};
	return inst->type == GEN_B32 && bank == GEN_D ? "u32" : names[inst->type];
}

/* Into the scratch register of this number. */
static void print_canon(struct print *p, const struct gen_arg *arg, unsigned to)
{
	bool single = arg->bank == GEN_F;
	str_addf(p->out, "\tsetp.nan.%s %%xp0, ", single ? "f32" : "f64");
	print_arg(p->out, arg);
	str_add(p->out, ", ");
	print_arg(p->out, arg);
	str_addf(p->out, ";\n\tselp.%s %%x%c%u, %s, ", single ? "f32" : "f64",
		bank_letters[arg->bank], to, single ? "0f7FFFFFFF" : "0d7FF8000000000000");
	print_arg(p->out, arg);
	str_add(p->out, ", %xp0;\n");
}

static bool is_float(const struct gen_arg *arg)
{
	return arg->bank == GEN_F || arg->bank == GEN_G;
}

static void print_values(struct print *p, const struct gen_inst *inst, bool store)
{
	str_add(p->out, inst->count > 1 ? "{" : "");
	for (unsigned i = 0; i < inst->count; i++) {
		str_add(p->out, i > 0 ? ", " : "");
		if (store && is_float(&inst->src[i])) {
			str_addf(p->out, "%%x%c%u", bank_letters[inst->src[i].bank], i);
		} else {
			print_arg(p->out, store ? &inst->src[i] : &inst->dst[i]);
		}
	}
	str_add(p->out, inst->count > 1 ? "}" : "");
}

static void print_access(struct print *p, const struct gen_inst *inst)
{
	const struct gen_place *place = &inst->place;
	const struct gen_arg *arg = inst->kind == GEN_LD ? &inst->dst[0] : &inst->src[0];
	const char *space = spaces[place->space].name;
	bool own = place->space == GEN_OWN || is_shared(place);
	char at[64];
	for (unsigned i = 0; i < inst->count && inst->kind == GEN_ST; i++) {
		if (is_float(&inst->src[i])) {
			print_canon(p, &inst->src[i], i);
		}
	}
	print_place(p, place, at);
	print_guard(p, inst);
	bool constant = place->space == GEN_INPUT && !place->generic && place->form & 8;
	bool uniform = constant && place->form & 16;
	str_addf(p->out, "%s%s%s%s%s.%s ", inst->kind == GEN_ST ? "st" : uniform ? "ldu" : "ld",
		own && place->form % 7 == 0 ? ".volatile" : own && place->form % 7 == 1
			? ".relaxed.gpu" : "", place->generic ? "" : space,
		constant && !uniform ? ".nc" : "",
		inst->count == 1 ? "" : inst->count == 2 ? ".v2" : ".v4",
		type_name(inst, (enum gen_bank)arg->bank));
	if (inst->kind == GEN_LD) {
		print_values(p, inst, false);
		str_addf(p->out, ", %s;\n", at);
	} else {
		str_addf(p->out, "%s, ", at);
		print_values(p, inst, true);
		str_add(p->out, ";\n");
	}
}

static void print_atomic(struct print *p, const struct gen_inst *inst)
{
	static const char *const ops[] = {"add", "min", "max", "and", "or", "xor", "exch", "inc",
		"dec", "cas"};
	static const char *const orders[] = {"", "", ".relaxed.gpu", ".acq_rel.cta"};
	bool bits = (inst->op >= GEN_AND && inst->op <= GEN_EXCH) || inst->op == GEN_CAS;
	bool result = inst->op == GEN_EXCH || inst->op == GEN_CAS || inst->dst[0].kind == GEN_REG
		|| inst->form & 4;
	const char *type = inst->type == GEN_B64 ? bits ? "b64" : "u64" : bits ? "b32"
		: inst->type == GEN_S32 && inst->op <= GEN_MAX ? "s32" : "u32";
	char at[64];
	print_place(p, &inst->place, at);
	print_guard(p, inst);
	str_addf(p->out, "%s%s%s.%s.%s ", result ? "atom" : "red",
		result ? orders[inst->form & 3] : "",
		inst->place.generic ? "" : spaces[inst->place.space].name, ops[inst->op], type);
	if (result && inst->dst[0].kind == GEN_REG) {
		print_arg(p->out, &inst->dst[0]);
		str_add(p->out, ", ");
	} else if (result) {
		str_add(p->out, "_, ");
	}
	str_addf(p->out, "%s, ", at);
	print_arg(p->out, &inst->src[0]);
	if (inst->op == GEN_CAS) {
		str_add(p->out, ", ");
		print_arg(p->out, &inst->src[1]);
	}
	str_add(p->out, ";\n");
}

/* A register of the bank of floats made canonical in the same register. */
static void print_canon_scratch(struct print *p, bool wide, unsigned reg)
{
	const char *type = wide ? "f64" : "f32";
	char bank = wide ? 'g' : 'f';
	str_addf(p->out, "\tsetp.nan.%s %%xp0, %%x%c%u, %%x%c%u;\n\tselp.%s %%x%c%u, %s, %%x%c%u, "
		"%%xp0;\n", type, bank, reg, bank, reg, type, bank, reg,
		wide ? "0d7FF8000000000000" : "0f7FFFFFFF", bank, reg);
}

static void print_float_atomic(struct print *p, const struct gen_inst *inst)
{
	bool wide = inst->type == GEN_F64;
	const char *type = wide ? "f64" : "f32";
	const char *space = inst->place.generic ? "" : spaces[inst->place.space].name;
	char bank = wide ? 'g' : 'f';
	char at[64];
	print_canon(p, &inst->src[0], 1);
	print_place(p, &inst->place, at);
	print_guard(p, inst);
	str_addf(p->out, "st%s.%s %s, %%x%c1;\n", space, type, at, bank);
	print_guard(p, inst);
	str_addf(p->out, "atom%s.add.%s %%x%c1, %s, ", space, type, bank, at);
	print_arg(p->out, &inst->src[1]);
	str_add(p->out, ";\n");
	print_guard(p, inst);
	str_addf(p->out, "ld%s.%s %%x%c2, %s;\n", space, type, bank, at);
	print_canon_scratch(p, wide, 2);
	print_guard(p, inst);
	str_addf(p->out, "st%s.%s %s, %%x%c2;\n", space, type, at, bank);
	print_guard(p, inst);
	str_addf(p->out, "mov.%s ", type);
	print_arg(p->out, &inst->dst[0]);
	str_addf(p->out, ", %%x%c1;\n", bank);
}

static void print_swap(struct print *p, const struct gen_inst *inst)
{
	const char *space = inst->place.generic ? "" : spaces[inst->place.space].name;
	char at[64];
	print_place(p, &inst->place, at);
	str_addf(p->out, "\tmov.b128 %%y0, {%%d%u, %%d%u};\n", inst->src[0].reg, inst->src[1].reg);
	if (inst->op) {
		str_addf(p->out, "\tmov.b128 %%y1, {%%d%u, %%d%u};\n", inst->src[2].reg,
			inst->src[3].reg);
	}
	print_guard(p, inst);
	str_addf(p->out, inst->op ? "atom%s.cas.b128 %%y2, %s, %%y1, %%y0;\n"
		: "atom%s.exch.b128 %%y2, %s, %%y0;\n", space, at);
	print_guard(p, inst);
	str_addf(p->out, "mov.b128 {%%d%u, %%d%u}, %%y2;\n", inst->dst[0].reg, inst->dst[1].reg);
}

static void print_copy(struct print *p, const struct gen_inst *inst)
{
	char to[64], from[64];
	print_place(p, &inst->place, to);
	print_place(p, &inst->from, from);
	print_guard(p, inst);
	str_addf(p->out, "cp.async.%s.shared.global %s, %s, %u",
		inst->count == 16 && inst->form & 1 ? "cg" : "ca", to, from, inst->count);
	if (inst->op < inst->count) {
		str_addf(p->out, ", %u", inst->op);
	}
	str_add(p->out, inst->form & 2 ? ";\n\tcp.async.wait_all;\n"
		: ";\n\tcp.async.commit_group;\n\tcp.async.wait_group 0;\n");
}

static void print_space_test(struct print *p, const struct gen_inst *inst)
{
	print_guard(p, inst);
	str_addf(p->out, "isspacep%s ", spaces[inst->op].name);
	print_arg(p->out, &inst->dst[0]);
	str_addf(p->out, ", %%q%u;\n", inst->place.space);
}

static void print_lock(struct print *p, const struct gen_inst *inst)
{
	str_addf(p->out, "SPIN%zu:\n\tatom.acquire.gpu.global.cas.b32 %%xr0, [%%lock], 0, 1;\n"
		"\tsetp.ne.b32 %%xp0, %%xr0, 0;\n\t@%%xp0 bra SPIN%zu;\n"
		"\tld.volatile.global.u64 %%xd0, [%%lock+8];\n\tcvt.u64.u32 %%xd1, %%r%u;\n"
		"\tadd.u64 %%xd0, %%xd0, %%xd1;\n\tst.volatile.global.u64 [%%lock+8], %%xd0;\n"
		"\tatom.release.gpu.global.exch.b32 %%xr0, [%%lock], 0;\n", p->at, p->at,
		inst->src[0].reg);
}

/* Control. */

static void print_switch(struct print *p, const struct gen_inst *inst)
{
	print_guard(p, inst);
	str_addf(p->out, "rem.u32 %%xr0, %%r%u, %u;\n", inst->src[0].reg, inst->count);
	if (inst->form & 1) {
		str_addf(p->out, "TARGETS%u_%zu: .branchtargets", p->func, p->at);
		for (unsigned i = 0; i < inst->count; i++) {
			str_addf(p->out, "%s L%u_%u", i ? "," : "", p->func, inst->targets[i]);
		}
		str_add(p->out, ";\n");
		print_guard(p, inst);
		str_addf(p->out, "brx.idx %%xr0, TARGETS%u_%zu;\n", p->func, p->at);
		return;
	}
	for (unsigned i = 0; i + 1 < inst->count; i++) {
		str_addf(p->out, "\tsetp.eq.u32 %%xp0, %%xr0, %u;\n\t@%%xp0 bra L%u_%u;\n", i,
			p->func, inst->targets[i]);
	}
	str_addf(p->out, "\tbra L%u_%u;\n", p->func, inst->targets[inst->count - 1]);
}

/* All arrive, and ask until all have. */
static void print_mbarrier(struct print *p, const struct gen_inst *inst)
{
	unsigned tid = gen_visible[GEN_R] + GEN_TID;
	str_addf(p->out, "\tsetp.ne.u32 %%xp1, %%r%u, 0;\n\t@%%xp1 bra COUNTED%zu;\n"
		"\tmbarrier.init.shared.b64 [mbar], %zu;\nCOUNTED%zu:\n\tbar.sync 0;\n"
		"\tmbarrier.arrive%s.b64 %%xd0, [mbar];\nASK%zu:\n\t", tid, p->at,
		p->layout.block, p->at, inst->form & 1 ? ".release.cta.shared::cta" : ".shared",
		p->at);
	str_addf(p->out, inst->form & 2 ? "mbarrier.test_wait.shared.b64 %%xp0, [mbar], %%xd0;\n"
		: "mbarrier.try_wait.parity.shared.b64 %%xp0, [mbar], 0;\n");
	str_addf(p->out, "\t@!%%xp0 bra ASK%zu;\n\tbar.sync 0;\n"
		"\t@!%%xp1 mbarrier.inval.shared.b64 [mbar];\n", p->at);
}

/* Every other warp only arrives, and meets the others at the next barrier. */
static void print_split_barrier(struct print *p, const struct gen_inst *inst)
{
	unsigned tid = gen_visible[GEN_R] + GEN_TID;
	const char *kind = inst->type == GEN_BAR_ALIGNED ? "bar" : "barrier";
	size_t count = round_up(p->layout.block, 32);
	str_addf(p->out, "\tand.b32 %%xr0, %%r%u, 32;\n\tsetp.%s.u32 %%xp0, %%xr0, 0;\n", tid,
		inst->form & 1 ? "eq" : "ne");
	if (inst->form & 2) {
		str_addf(p->out, "\t@%%xp0 %s.arrive %u, %zu;\n\t@!%%xp0 %s.sync %u, %zu;\n",
			kind, inst->label, count, kind, inst->label, count);
	} else {
		str_addf(p->out, "\t@%%xp0 bra ARRIVE%zu;\n\t%s.sync %u, %zu;\n\tbra ALL%zu;\n"
			"ARRIVE%zu:\n\t%s.arrive %u, %zu;\nALL%zu:\n", p->at, kind,
			inst->label, count, p->at, p->at, kind, inst->label, count, p->at);
	}
	str_addf(p->out, "\t%s.sync %u;\n", kind, (inst->label + 1) % 15);
}

static void print_barrier(struct print *p, const struct gen_inst *inst)
{
	static const char *const ops[] = {"sync", "red.popc.u32", "red.and.pred", "red.or.pred"};
	size_t count = round_up(p->layout.block, 32);
	if (inst->op > GEN_BAR_OR) {
		(inst->op == GEN_BAR_MBARRIER ? print_mbarrier : print_split_barrier)(p, inst);
		return;
	}
	print_guard(p, inst);
	str_addf(p->out, "%s.%s ", inst->type == GEN_BAR_ALIGNED ? "bar" : "barrier",
		ops[inst->op]);
	if (inst->op != GEN_BAR_SYNC) {
		print_arg(p->out, &inst->dst[0]);
		str_add(p->out, ", ");
	}
	str_addf(p->out, "%u", inst->label);
	if (inst->count) {
		str_addf(p->out, ", %zu", count);
	}
	if (inst->op != GEN_BAR_SYNC) {
		str_add(p->out, ", ");
		print_arg(p->out, &inst->src[0]);
	}
	str_add(p->out, ";\n");
}

/* A shuffle gives 0 where it reads a thread that is not in the mask. */
static void print_shuffle(struct print *p, const struct gen_inst *inst)
{
	static const char *const from[] = {
		"sub.s32 %xr1, %xr3, %xr1", "add.s32 %xr1, %xr3, %xr1", "xor.b32 %xr1, %xr3, %xr1",
		"or.b32 %xr1, %xr1, %xr2"
	};
	static const char *const modes[] = {"up", "down", "bfly", "idx"};
	unsigned mode = inst->op - GEN_SHFL_UP;
	unsigned segment = (unsigned)inst->src[3].value >> 8;
	struct gen_arg lane = {.kind = GEN_REG, .bank = GEN_R,
		.reg = (uint8_t)(gen_visible[GEN_R] + GEN_LANE)};
	print_guard(p, inst);
	str_addf(p->out, "shfl.sync.%s.b32 %%xr0|%%xp0, %%r%u, ", modes[mode], inst->src[1].reg);
	print_arg(p->out, &inst->src[2]);
	str_addf(p->out, ", %u, %%r%u;\n\tmov.u32 %%xr3, %%r%u;\n\tmov.u32 %%xr1, ",
		(unsigned)inst->src[3].value, inst->src[0].reg, lane.reg);
	print_arg(p->out, &inst->src[2]);
	str_addf(p->out, ";\n\tand.b32 %%xr1, %%xr1, %u;\n\tand.b32 %%xr2, %%xr3, %u;\n\t%s;\n"
		"\tselp.b32 %%xr1, %%xr1, %%xr3, %%xp0;\n\tshr.u32 %%xr1, %%r%u, %%xr1;\n"
		"\tand.b32 %%xr1, %%xr1, 1;\n\tsetp.ne.b32 %%xp1, %%xr1, 0;\n"
		"\tselp.b32 %%xr0, %%xr0, 0, %%xp1;\n",
		mode == 3 ? 31 & ~segment : 31, segment, from[mode], inst->src[0].reg);
	print_guard(p, inst);
	str_addf(p->out, "mov.b32 %%r%u, %%xr0;\n", inst->dst[0].reg);
	print_guard(p, inst);
	str_addf(p->out, "mov.pred %%p%u, %%xp0;\n", inst->dst[1].reg);
}

static void print_elect(struct print *p, const struct gen_inst *inst)
{
	unsigned mask = inst->src[0].reg;
	str_addf(p->out, "elect.sync _|%%xp0, %%r%u;\n", mask);
	print_guard(p, inst);
	str_addf(p->out, "vote.sync.ballot.b32 %%xr0, %%xp0, %%r%u;\n", mask);
	print_guard(p, inst);
	str_addf(p->out, "popc.b32 %%r%u, %%xr0;\n", inst->dst[0].reg);
}

static void print_warp(struct print *p, const struct gen_inst *inst)
{
	static const char *const ops[GEN_WARPS] = {"vote.sync.ballot.b32", "vote.sync.all.pred",
		"vote.sync.any.pred", "vote.sync.uni.pred", NULL, NULL, NULL, NULL,
		"match.any.sync", "match.all.sync", "redux.sync.add.s32", "redux.sync.min.s32",
		"redux.sync.max.s32", "redux.sync.min.u32", "redux.sync.max.u32",
		"redux.sync.and.b32", "redux.sync.or.b32", "redux.sync.xor.b32",
		NULL, NULL, NULL, "bar.warp.sync"};
	unsigned mask = inst->src[0].reg;
	if (inst->op >= GEN_SHFL_UP && inst->op <= GEN_SHFL_IDX) {
		print_shuffle(p, inst);
		return;
	}
	print_guard(p, inst);
	if (inst->op == GEN_WARPSYNC) {
		str_addf(p->out, "bar.warp.sync %%r%u;\n", mask);
		return;
	}
	if (inst->op == GEN_ELECT) {
		print_elect(p, inst);
		return;
	}
	bool match = inst->op == GEN_MATCH_ANY || inst->op == GEN_MATCH_ALL;
	if (inst->op == GEN_REDUX_FMIN || inst->op == GEN_REDUX_FMAX) {
		str_addf(p->out, "redux.sync.%s%s.f32 ", inst->op == GEN_REDUX_FMIN ? "min" : "max",
			inst->form & 1 ? ".NaN" : "");
	} else {
		str_addf(p->out, "%s%s ", ops[inst->op],
			!match ? "" : inst->src[1].bank == GEN_D ? ".b64" : ".b32");
	}
	print_arg(p->out, &inst->dst[0]);
	if (inst->op == GEN_MATCH_ALL) {
		str_addf(p->out, "|%%p%u", inst->dst[1].reg);
	}
	str_add(p->out, ", ");
	print_arg(p->out, &inst->src[1]);
	str_addf(p->out, ", %%r%u;\n", mask);
}

static void print_call(struct print *p, const struct gen_inst *inst)
{
	bool wide = p->program->funcs[inst->op].wide;
	const char *type = wide ? "b64" : "b32";
	/* Not named like the function's own parameters: ptxas takes them for those. */
	str_addf(p->out, "\t{\n\t.param .b32 x;\n\t.param .b64 y;\n\t.param .%s z;\n"
		"\tst.param.b32 [x], %%r%u;\n\tst.param.b64 [y], %%d%u;\n", type,
		inst->src[0].reg, inst->src[1].reg);
	if (inst->src[2].kind == GEN_REG) {
		str_addf(p->out, "\tmov.b64 %%xd0, f%u;\n\tmov.b64 %%xd1, f%u;\n"
			"\tselp.b64 %%xd0, %%xd0, %%xd1, %%p%u;\n"
			"\tproto: .callprototype (.param .%s _) _ (.param .b32 _, "
			".param .b64 _);\n",
			inst->op, inst->label, inst->src[2].reg, type);
	}
	print_guard(p, inst);
	if (inst->src[2].kind == GEN_REG) {
		str_add(p->out, "call (z), %xd0, (x, y), proto;\n");
	} else {
		str_addf(p->out, "call (z), f%u, (x, y);\n", inst->op);
	}
	/* ptxas wants that without a guard. */
	str_addf(p->out, "\tld.param.%s %s, [z];\n\t}\n", type, wide ? "%xd0" : "%xr0");
	print_guard(p, inst);
	str_addf(p->out, "mov.%s ", type);
	print_arg(p->out, &inst->dst[0]);
	str_addf(p->out, ", %s;\n", wide ? "%xd0" : "%xr0");
}

static void print_inst(struct print *p, const struct gen_inst *inst)
{
	switch ((enum gen_kind)inst->kind) {
	case GEN_NOP:
		break;
	case GEN_OP:
		print_op(p, inst);
		break;
	case GEN_LD:
	case GEN_ST:
		print_access(p, inst);
		break;
	case GEN_ATOM:
		print_atomic(p, inst);
		break;
	case GEN_LOCK:
		print_lock(p, inst);
		break;
	case GEN_FLOAT_ATOM:
		print_float_atomic(p, inst);
		break;
	case GEN_SWAP:
		print_swap(p, inst);
		break;
	case GEN_COPY:
		print_copy(p, inst);
		break;
	case GEN_IN_SPACE:
		print_space_test(p, inst);
		break;
	case GEN_IDLE:
		print_guard(p, inst);
		str_addf(p->out, "%s\n", gen_idle[inst->op][0]);
		break;
	case GEN_LABEL:
		str_addf(p->out, "L%u_%u:\n", p->func, inst->label);
		break;
	case GEN_BRA:
		print_guard(p, inst);
		str_addf(p->out, "bra L%u_%u;\n", p->func, inst->label);
		break;
	case GEN_SWITCH:
		print_switch(p, inst);
		break;
	case GEN_EXIT:
		print_guard(p, inst);
		str_add(p->out, inst->form & 1 ? "exit;\n" : "ret;\n");
		break;
	case GEN_BAR:
		print_barrier(p, inst);
		break;
	case GEN_WARP:
		print_warp(p, inst);
		break;
	case GEN_CALL:
		print_call(p, inst);
		break;
	}
}

/* Whole functions. */

static void print_registers(struct print *p, const struct gen_func *func)
{
	static const char *const types[] = {"pred", "b16", "b32", "b64", "f32", "f64"};
	str_addf(p->out, "\t.reg .b64 %%b<9>;\n\t.reg .b64 %%q<9>;\n\t.reg .b32 %%s<9>;\n"
		"\t.reg .b128 %%y<3>;\n\t.local .align 16 .b8 loc[%u];\n", GEN_OWN_BYTES);
	for (unsigned bank = 0; bank < GEN_BANKS; bank++) {
		str_addf(p->out, "\t.reg .%s %%%c<%u>;\n\t.reg .%s %%x%c<4>;\n", types[bank],
			bank_letters[bank], func->used[bank], types[bank], bank_letters[bank]);
	}
}

static void print_body(struct print *p, const struct gen_func *func)
{
	for (size_t i = 0; i < func->count; i++) {
		p->at = i;
		print_inst(p, &func->insts[i]);
	}
}

static void print_head(struct print *p, unsigned index)
{
	str_addf(p->out, ".func (.param .%s c) f%u(.param .b32 a, .param .b64 b)",
		p->program->funcs[index].wide ? "b64" : "b32", index);
}

/* In a function that is called. */
static void print_local_base(struct print *p, enum gen_space space, const char *name)
{
	str_addf(p->out, "\tmov.u64 %%b%u, %s;\n\tcvta%s.u64 %%q%u, %%b%u;\n", space, name,
		spaces[space].name, space, space);
}

static void print_initial_local(struct print *p, unsigned factor)
{
	for (unsigned i = 0; i < GEN_OWN_BYTES / 8; i += 2) {
		str_addf(p->out,
			"\tmul.wide.u32 %%xd0, %%r%u, %u;\n\tmul.wide.u32 %%xd1, %%r%u, %u;\n"
			"\tst.local.v2.u64 [loc+%u], {%%xd0, %%xd1};\n",
			factor, i + 1, factor, i + 2, 8 * i);
	}
}

static void print_func(struct print *p, unsigned index)
{
	const struct gen_func *func = &p->program->funcs[index];
	const char *type = func->wide ? "b64" : "b32";
	p->func = index;
	print_head(p, index);
	str_add(p->out, "\n{\n");
	print_registers(p, func);
	str_add(p->out, "\tld.param.b32 %r0, [a];\n\tld.param.b64 %d0, [b];\n");
	for (unsigned i = 0; i < GEN_SPECIALS; i++) {
		str_addf(p->out, "\tadd.u32 %%r%u, %%r0, %u;\n", gen_visible[GEN_R] + i, i);
	}
	print_local_base(p, GEN_CONST, "constants");
	print_local_base(p, GEN_LOCAL, "loc");
	print_initial_local(p, 0);
	print_body(p, func);
	str_addf(p->out, "\tst.param.%s [c], %s;\n\tret;\n}\n", type, func->wide ? "%d0" : "%r0");
}

static void print_special(struct print *p)
{
	unsigned first = gen_visible[GEN_R];
	str_addf(p->out, "\tmov.u32 %%xr0, %%tid.z;\n\tmov.u32 %%xr1, %%ntid.y;\n"
		"\tmov.u32 %%xr2, %%tid.y;\n\tmad.lo.u32 %%xr0, %%xr0, %%xr1, %%xr2;\n"
		"\tmov.u32 %%xr1, %%ntid.x;\n\tmov.u32 %%xr2, %%tid.x;\n"
		"\tmad.lo.u32 %%r%u, %%xr0, %%xr1, %%xr2;\n", first + GEN_TID);
	str_addf(p->out, "\tmov.u32 %%xr0, %%ctaid.y;\n\tmov.u32 %%xr1, %%nctaid.x;\n"
		"\tmov.u32 %%xr2, %%ctaid.x;\n\tmad.lo.u32 %%r%u, %%xr0, %%xr1, %%xr2;\n"
		"\tmov.u32 %%xr0, %%ntid.y;\n\tmov.u32 %%xr1, %%ntid.z;\n"
		"\tmov.u32 %%xr2, %%ntid.x;\n\tmul.lo.u32 %%xr0, %%xr0, %%xr1;\n"
		"\tmul.lo.u32 %%r%u, %%xr0, %%xr2;\n", first + GEN_CTA, first + GEN_NTHREADS);
	str_addf(p->out, "\tmad.lo.u32 %%r%u, %%r%u, %%r%u, %%r%u;\n\tmov.u32 %%r%u, %%laneid;\n"
		"\tld.param.u32 %%r%u, [param];\n", first + GEN_GTID, first + GEN_CTA,
		first + GEN_NTHREADS, first + GEN_TID, first + GEN_LANE, first + GEN_PARAM);
	/* Threads from the first one of the warp on. */
	str_addf(p->out, "\tand.b32 %%xr0, %%r%u, -32;\n\tsub.s32 %%xr0, %%r%u, %%xr0;\n"
		"\tmov.u32 %%xr1, 0;\n\tbmsk.clamp.b32 %%r%u, %%xr1, %%xr0;\n", first + GEN_TID,
		first + GEN_NTHREADS, first + GEN_EXIST);
}

static void print_bases(struct print *p)
{
	const struct gen_layout *l = &p->layout;
	unsigned first = gen_visible[GEN_R];
	str_addf(p->out, "\tld.param.u64 %%xd0, [out];\n\tcvta.to.global.u64 %%xd0, %%xd0;\n"
		"\tadd.u64 %%xd1, %%xd0, %zu;\n\tmad.wide.u32 %%b%u, %%r%u, %u, %%xd1;\n"
		"\tadd.u64 %%xd1, %%xd0, %zu;\n\tmad.wide.u32 %%b%u, %%r%u, 8, %%xd1;\n"
		"\tadd.u64 %%b%u, %%xd0, %zu;\n\tadd.u64 %%lock, %%xd0, %zu;\n", l->own, GEN_OWN,
		first + GEN_GTID, GEN_OWN_BYTES, l->striped, GEN_STRIPED, first + GEN_GTID,
		GEN_GLOBAL_CELL, l->cells, l->lock);
	str_addf(p->out, "\tadd.u64 %%xd1, %%xd0, %zu;\n\tmad.wide.u32 %%dump, %%r%u, %u, %%xd1;\n"
		"\tadd.u64 %%xd1, %%xd0, %zu;\n\tmad.wide.u32 %%dumpcells, %%r%u, %u, %%xd1;\n"
		"\tld.param.u64 %%b%u, [in];\n\tmov.u64 %%b%u, constants;\n"
		"\tmov.u64 %%b%u, exchange;\n\tmov.u64 %%b%u, cells;\n\tmov.u64 %%b%u, loc;\n"
		"\tmov.u64 %%xd1, sh;\n\tmad.wide.u32 %%b%u, %%r%u, %u, %%xd1;\n", l->registers,
		first + GEN_GTID, 8 * GEN_BANKS, l->shared_cells, first + GEN_CTA, 8 * GEN_CELLS,
		GEN_INPUT, GEN_CONST, GEN_EXCHANGE, GEN_SHARED_CELL, GEN_LOCAL, GEN_SHARED,
		first + GEN_TID, GEN_SHARED_BYTES);
	for (unsigned i = 0; i < GEN_SPACES; i++) {
		str_addf(p->out, "\tcvta%s.u64 %%q%u, %%b%u;\n\tcvt.u32.u64 %%s%u, %%b%u;\n",
			spaces[i].name, i, i, i, i);
	}
}

static void print_initial_memory(struct print *p)
{
	unsigned gtid = gen_visible[GEN_R] + GEN_GTID;
	unsigned tid = gen_visible[GEN_R] + GEN_TID;
	print_initial_local(p, gtid);
	str_addf(p->out, "\tcvt.u64.u32 %%xd0, %%r%u;\n\tadd.u64 %%xd1, %%xd0, 1;\n"
		"\tst.shared.v2.u64 [%%b%u], {%%xd0, %%xd1};\n\tadd.u64 %%xd0, %%xd0, 3;\n"
		"\tmad.wide.u32 %%xd1, %%r%u, 8, %%b%u;\n\tst.shared.u64 [%%xd1], %%xd0;\n"
		"\tsetp.ne.u32 %%xp0, %%r%u, 0;\n\t@%%xp0 bra START;\n"
		"\tst.shared.u64 [exchange+%zu], 99;\n", gtid, GEN_SHARED, tid, GEN_EXCHANGE, tid,
		8 * p->layout.block);
	for (unsigned i = 0; i < GEN_CELLS; i += 2) {
		str_addf(p->out, "\tst.shared.v2.u64 [cells+%u], {%" PRIu64 ", %" PRIu64 "};\n",
			8 * i, gen_cells[i].start, gen_cells[i + 1].start);
	}
	str_add(p->out, "START:\n\tbar.sync 0;\n");
}

static void print_dump(struct print *p)
{
	static const char *const widen[] = {"selp.u64 %xd0, 1, 0, ", "cvt.u64.u16 %xd0, ",
		"cvt.u64.u32 %xd0, ", "mov.u64 %xd0, "};
	str_add(p->out, "\tbarrier.sync 15;\n");
	for (unsigned bank = 0; bank < GEN_BANKS; bank++) {
		str_add(p->out, "\tmov.u64 %xd1, 0;\n");
		for (unsigned i = 0; i < gen_visible[bank]; i++) {
			struct gen_arg arg = {
				.kind = GEN_REG, .bank = (uint8_t)bank, .reg = (uint8_t)i};
			if (is_float(&arg)) {
				print_canon(p, &arg, 0);
				str_add(p->out, bank == GEN_F ? "\tmov.b32 %xr0, %xf0;\n"
					"\tcvt.u64.u32 %xd0, %xr0;\n" : "\tmov.b64 %xd0, %xg0;\n");
			} else {
				str_addf(p->out, "\t%s%%%c%u;\n", widen[bank], bank_letters[bank],
					i);
			}
			str_addf(p->out, "\tmad.lo.u64 %%xd1, %%xd1, %#" PRIx64 ", %%xd0;\n",
				(uint64_t)GEN_HASH);
		}
		str_addf(p->out, "\tst.global.u64 [%%dump+%u], %%xd1;\n", 8 * bank);
	}
	str_addf(p->out, "\tsetp.ne.u32 %%xp0, %%r%u, 0;\n\t@%%xp0 ret;\n",
		gen_visible[GEN_R] + GEN_TID);
	for (unsigned i = 0; i < GEN_CELLS; i += 2) {
		str_addf(p->out, "\tld.shared.v2.u64 {%%xd0, %%xd1}, [cells+%u];\n"
			"\tst.global.u64 [%%dumpcells+%u], %%xd0;\n"
			"\tst.global.u64 [%%dumpcells+%u], %%xd1;\n", 8 * i, 8 * i, 8 * i + 8);
	}
	str_add(p->out, "\tret;\n}\n");
}

void gen_print_ptx(struct str *out, const struct gen_program *program)
{
	struct print p = {.out = out, .program = program};
	gen_layout(&p.layout, program);
	str_add(out, ".version 8.0\n.target sm_89\n.address_size 64\n"
		".const .align 16 .b64 constants[16] = {");
	for (unsigned i = 0; i < GEN_CONSTANTS; i++) {
		str_addf(out, "%s0x%" PRIx64, i ? ", " : "", program->constants[i]);
	}
	str_add(out, "};\n");
	for (unsigned i = 1; i < program->func_count; i++) {
		print_head(&p, i);
		str_add(out, ";\n");
	}
	for (unsigned i = 1; i < program->func_count; i++) {
		print_func(&p, i);
	}
	p.func = 0;
	str_add(out, ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 param)\n{\n");
	print_registers(&p, &program->funcs[0]);
	str_addf(out, "\t.reg .b64 %%lock, %%dump, %%dumpcells;\n\t.shared .align 8 .b64 mbar;\n"
		"\t.shared .align 16 .b8 sh[%zu];\n\t.shared .align 8 .b64 exchange[%zu];\n"
		"\t.shared .align 16 .b64 cells[%u];\n",
		GEN_SHARED_BYTES * p.layout.block, p.layout.block + 1, GEN_CELLS);
	print_special(&p);
	print_bases(&p);
	print_initial_memory(&p);
	print_body(&p, &program->funcs[0]);
	print_dump(&p);
}

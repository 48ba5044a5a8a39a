/* SPDX-License-Identifier: MIT */
/*
 * Prints a generated program as CUDA C: a variable for each register, named by bank and number, and
 * goto for jumps, which NVRTC makes into whatever it likes.  Memory is accessed in 64-bit words.
 */
#include "gen.h"

#include <inttypes.h>

static const char bank_letters[] = "phrdfg";
static const char *const bank_types[] = {"bool", "unsigned short", "unsigned",
	"unsigned long long", "float", "double"};

static void print_arg(struct str *out, const struct gen_arg *arg)
{
	static const struct {
		const char *before, *after;
	} forms[] = {{"", ""}, {"(unsigned short)", "u"}, {"", "u"}, {"", "ull"},
		{"__uint_as_float(", "u)"}, {"__longlong_as_double((long long)", "ull)"}};
	if (arg->kind == GEN_REG) {
		str_addf(out, "%c%u", bank_letters[arg->bank], arg->reg);
	} else {
		str_addf(out, "%s%" PRIu64 "%s", forms[arg->bank].before, arg->value,
			forms[arg->bank].after);
	}
}

/* Text in which $a $b $c stand for operands. */
static void print_expression(struct str *out, const struct gen_inst *inst, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == '$') {
			c++;
			print_arg(out, &inst->src[*c - 'a']);
		} else {
			str_addc(out, *c);
		}
	}
}

static void print_assign(struct str *out, const struct gen_arg *dst)
{
	if (dst->kind == GEN_REG) {
		print_arg(out, dst);
		str_add(out, " = ");
	}
}

static void print_place(struct str *out, const struct gen_place *place)
{
	static const struct {
		const char *name, *mask, *after;
	} forms[GEN_SPACES] = {[GEN_OWN] = {"own[", " & 3", "]"},
		[GEN_STRIPED] = {"striped[(", " & 3", ") * all]"},
		[GEN_LOCAL] = {"loc[", " & 3", "]"},
		[GEN_SHARED] = {"sh[2 * tid + (", " & 1", ")]"},
		[GEN_EXCHANGE] = {"exchange[", "", "]"},
		[GEN_INPUT] = {"in[", " & 255", "]"},
		[GEN_CONST] = {"constants[", " & 15", "]"},
		[GEN_GLOBAL_CELL] = {"gcells[", "", "]"},
		[GEN_SHARED_CELL] = {"cells[", "", "]"}};
	str_add(out, forms[place->space].name);
	print_arg(out, &place->index);
	str_addf(out, "%s%s", forms[place->space].mask, forms[place->space].after);
}

static void print_atomic(struct str *out, const struct gen_inst *inst)
{
	static const char *const ops[] = {"Add", "Min", "Max", "And", "Or", "Xor", "Exch", "Inc",
		"Dec", "CAS"};
	const char *type = inst->type == GEN_B64 ? "unsigned long long"
		: inst->type == GEN_S32 && inst->op <= GEN_MAX ? "int" : "unsigned";
	print_assign(out, &inst->dst[0]);
	str_addf(out, "atomic%s((%s *)&", ops[inst->op], type);
	print_place(out, &inst->place);
	str_addf(out, ", (%s)", type);
	print_arg(out, &inst->src[0]);
	if (inst->op == GEN_CAS) {
		str_addf(out, ", (%s)", type);
		print_arg(out, &inst->src[1]);
	}
	str_add(out, ");\n");
}

static void print_lock(struct str *out, const struct gen_inst *inst)
{
	str_add(out, "{ while (atomicCAS(lock, 0, 1)) { } __threadfence(); locked[0] += ");
	print_arg(out, &inst->src[0]);
	str_add(out, "; __threadfence(); atomicExch(lock, 0); }\n");
}

/* Only atomics touch the place as what it is not: others may be moved past each other then. */
static void print_float_atomic(struct str *out, const struct gen_inst *inst)
{
	bool wide = inst->type == GEN_F64;
	const char *to = wide ? "(unsigned long long)__double_as_longlong" : "__float_as_uint";
	const char *from = wide ? "__longlong_as_double((long long)" : "__uint_as_float(";
	const char *nan = wide ? "0x7ff8000000000000ull" : "0x7fffffffu";
	const char *type = wide ? "double" : "float";
	const char *bits = wide ? "unsigned long long" : "unsigned";
	str_addf(out, "{ void *at = &");
	print_place(out, &inst->place);
	str_addf(out, "; %s old = ", type);
	print_arg(out, &inst->src[0]);
	str_addf(out, ", now; old = old != old ? %s%s) : old;\n\tatomicExch((%s *)at, %s(old)); "
		"atomicAdd((%s *)at, ", from, nan, bits, to, type);
	print_arg(out, &inst->src[1]);
	str_addf(out, "); now = %satomicOr((%s *)at, 0));\n\t"
		"atomicExch((%s *)at, now != now ? %s : %s(now)); ", from, bits, bits, nan, to);
	print_assign(out, &inst->dst[0]);
	str_add(out, "old; }\n");
}

static void print_space_test(struct str *out, const struct gen_inst *inst)
{
	static const char *const tests[GEN_SPACES] = {[GEN_OWN] = "Global", [GEN_LOCAL] = "Local",
		[GEN_SHARED] = "Shared", [GEN_CONST] = "Constant"};
	static const char *const names[GEN_SPACES] = {"own", "striped", "loc", "sh", "exchange",
		"in", "constants", "gcells", "cells"};
	print_assign(out, &inst->dst[0]);
	str_addf(out, "__is%s(%s);\n", tests[inst->op], names[inst->place.space]);
}

static void print_switch(struct str *out, const struct gen_inst *inst)
{
	str_add(out, "switch (");
	print_arg(out, &inst->src[0]);
	str_addf(out, " %% %u) {", inst->count);
	for (unsigned i = 0; i + 1 < inst->count; i++) {
		str_addf(out, " case %u: goto L%u;", i, inst->targets[i]);
	}
	str_addf(out, " default: goto L%u; }\n", inst->targets[inst->count - 1]);
}

static void print_barrier(struct str *out, const struct gen_inst *inst)
{
	static const char *const ops[] = {"", "_count", "_and", "_or"};
	assert(inst->op <= GEN_BAR_OR);
	if (inst->op != GEN_BAR_SYNC) {
		print_assign(out, &inst->dst[0]);
	}
	str_addf(out, "__syncthreads%s(", ops[inst->op]);
	if (inst->op != GEN_BAR_SYNC) {
		print_arg(out, &inst->src[0]);
	}
	str_add(out, ");\n");
}

/* Gives 0 where it reads a thread that is not in the mask. */
static void print_shuffle(struct str *out, const struct gen_inst *inst)
{
	static const char *const names[] = {"_up", "_down", "_xor", ""};
	static const char *const from[] = {"lane - by", "lane + by", "lane ^ by",
		"(lane & segment) | (by & ~segment)"};
	unsigned mode = inst->op - GEN_SHFL_UP;
	unsigned segment = (unsigned)inst->src[3].value >> 8;
	str_add(out, "{ int by = (int)(");
	print_arg(out, &inst->src[2]);
	str_addf(out, " & 31), segment = %u, lane = (int)(tid & 31);\n"
		"\tint last = (lane & segment) | (%s & ~segment), from = %s;\n"
		"\tbool good = from %s last; from = good ? from : lane;\n"
		"\tunsigned got = __shfl%s_sync(", segment, mode == 0 ? "0" : "31", from[mode],
		mode == 0 ? ">=" : "<=", names[mode]);
	print_arg(out, &inst->src[0]);
	str_add(out, ", ");
	print_arg(out, &inst->src[1]);
	str_addf(out, ", by, %u);\n\tgot = ", 32 - segment);
	print_arg(out, &inst->src[0]);
	str_add(out, " >> from & 1 ? got : 0;\n\t");
	print_assign(out, &inst->dst[0]);
	str_add(out, "got; ");
	print_assign(out, &inst->dst[1]);
	str_add(out, "good; }\n");
}

static void print_warp(struct str *out, const struct gen_inst *inst)
{
	static const char *const names[GEN_WARPS] = {"ballot", "all", "any", "uni", "", "", "", "",
		"match_any", "match_all", "reduce_add", "reduce_min", "reduce_max", "reduce_min",
		"reduce_max", "reduce_and", "reduce_or", "reduce_xor", "", "", "", "warp"};
	if (inst->op >= GEN_SHFL_UP && inst->op <= GEN_SHFL_IDX) {
		print_shuffle(out, inst);
		return;
	}
	if (inst->op == GEN_WARPSYNC) {
		str_add(out, "__syncwarp(");
		print_arg(out, &inst->src[0]);
		str_add(out, ");\n");
		return;
	}
	bool all = inst->op == GEN_MATCH_ALL;
	str_add(out, all ? "{ int same; " : "");
	print_assign(out, &inst->dst[0]);
	str_addf(out, "__%s_sync(", names[inst->op]);
	print_arg(out, &inst->src[0]);
	str_add(out, inst->op == GEN_REDUX_MIN || inst->op == GEN_REDUX_MAX ? ", (int)" : ", ");
	print_arg(out, &inst->src[1]);
	str_add(out, all ? ", &same); " : ");\n");
	if (all) {
		print_assign(out, &inst->dst[1]);
		str_add(out, "same; }\n");
	}
}

static void print_call(struct str *out, const struct gen_inst *inst)
{
	print_assign(out, &inst->dst[0]);
	if (inst->src[2].kind == GEN_REG) {
		str_addf(out, "(p%u ? func%u : func%u)(", inst->src[2].reg, inst->op, inst->label);
	} else {
		str_addf(out, "func%u(", inst->op);
	}
	print_arg(out, &inst->src[0]);
	str_add(out, ", ");
	print_arg(out, &inst->src[1]);
	str_add(out, ");\n");
}

static void print_inst(struct str *out, const struct gen_inst *inst)
{
	if (inst->kind == GEN_NOP) {
		return;
	}
	if (inst->kind == GEN_LABEL) {
		str_addf(out, "L%u:;\n", inst->label);
		return;
	}
	str_add(out, "\t");
	if (inst->has_guard) {
		str_addf(out, "if (%sp%u) ", inst->guard_negated ? "!" : "", inst->guard);
	}
	switch ((enum gen_kind)inst->kind) {
	case GEN_OP:
		print_assign(out, &inst->dst[0]);
		print_expression(out, inst, gen_ops[inst->op].cuda);
		str_add(out, ";\n");
		break;
	case GEN_LD:
		print_assign(out, &inst->dst[0]);
		print_place(out, &inst->place);
		str_add(out, ";\n");
		break;
	case GEN_ST:
		print_place(out, &inst->place);
		str_add(out, " = ");
		print_arg(out, &inst->src[0]);
		str_add(out, ";\n");
		break;
	case GEN_ATOM:
		print_atomic(out, inst);
		break;
	case GEN_LOCK:
		print_lock(out, inst);
		break;
	case GEN_FLOAT_ATOM:
		print_float_atomic(out, inst);
		break;
	case GEN_IN_SPACE:
		print_space_test(out, inst);
		break;
	case GEN_IDLE:
		str_addf(out, "%s\n", gen_idle[inst->op][1]);
		break;
	case GEN_BRA:
		str_addf(out, "goto L%u;\n", inst->label);
		break;
	case GEN_SWITCH:
		print_switch(out, inst);
		break;
	case GEN_EXIT:
		str_add(out, "return;\n");
		break;
	case GEN_BAR:
		print_barrier(out, inst);
		break;
	case GEN_WARP:
		print_warp(out, inst);
		break;
	case GEN_CALL:
		print_call(out, inst);
		break;
	case GEN_NOP:
	case GEN_LABEL:
	case GEN_SWAP: /* PTX only */
	case GEN_COPY:
		break;
	}
}

static void print_variables(struct str *out, const struct gen_func *func)
{
	for (unsigned bank = 0; bank < GEN_BANKS; bank++) {
		for (unsigned i = 0; i < func->used[bank]; i++) {
			str_addf(out, "\t%s %c%u;\n", bank_types[bank], bank_letters[bank], i);
		}
	}
}

static void print_body(struct str *out, const struct gen_func *func)
{
	for (size_t i = 0; i < func->count; i++) {
		print_inst(out, &func->insts[i]);
	}
}

static void print_head(struct str *out, const struct gen_func *func, unsigned index)
{
	str_addf(out, "__device__ __noinline__ %s func%u(unsigned a, unsigned long long b)",
		func->wide ? "unsigned long long" : "unsigned", index);
}

static void print_func(struct str *out, const struct gen_func *func, unsigned index)
{
	print_head(out, func, index);
	str_add(out, "\n{\n");
	print_variables(out, func);
	str_add(out, "\tunsigned long long loc[4];\n\tr0 = a;\n\td0 = b;\n"
		"\tfor (int i = 0; i < 4; i++) {\n\t\tloc[i] = (i + 1ull) * a;\n\t}\n");
	for (unsigned i = 0; i < GEN_SPECIALS; i++) {
		str_addf(out, "\tr%u = r0 + %u;\n", gen_visible[GEN_R] + i, i);
	}
	print_body(out, func);
	str_addf(out, "\treturn %s;\n}\n", func->wide ? "d0" : "r0");
}

static void print_start(struct str *out, const struct gen_layout *l)
{
	static const char *const specials[GEN_SPECIALS] = {"gtid", "tid", "tid & 31", "cta",
		"count", "param",
		"count - (tid & ~31u) < 32 ? (1u << (count & 31)) - 1 : 0xffffffffu"};
	str_addf(out,
		"\t__shared__ unsigned long long sh[%zu], exchange[%zu], cells[%u];\n"
		"\tunsigned tid = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + "
		"threadIdx.x;\n"
		"\tunsigned cta = blockIdx.y * gridDim.x + blockIdx.x;\n"
		"\tunsigned count = blockDim.x * blockDim.y * blockDim.z;\n"
		"\tunsigned gtid = cta * count + tid, all = %zu;\n\tunsigned long long loc[4];\n",
		2 * l->block, l->block + 1, GEN_CELLS, l->threads);
	str_addf(out,
		"\tunsigned long long *own = out + %zu + 4 * gtid, *striped = out + %zu + gtid,\n"
		"\t\t*hash = out + %zu + %u * gtid, *gcells = out + %zu, *dump = out + %zu + %u * "
		"cta;\n"
		"\tunsigned *lock = (unsigned *)(out + %zu);\n"
		"\tvolatile unsigned long long *locked = out + %zu;\n",
		l->own / 8, l->striped / 8, l->registers / 8, GEN_BANKS, l->cells / 8,
		l->shared_cells / 8, GEN_CELLS, l->lock / 8, l->lock / 8 + 1);
	for (unsigned i = 0; i < GEN_SPECIALS; i++) {
		str_addf(out, "\tr%u = %s;\n", gen_visible[GEN_R] + i, specials[i]);
	}
	str_addf(out, "\tfor (unsigned i = 0; i < 4; i++) {\n"
		"\t\tloc[i] = (unsigned long long)gtid * (i + 1);\n\t}\n"
		"\tsh[2 * tid] = gtid;\n\tsh[2 * tid + 1] = (unsigned long long)gtid + 1;\n"
		"\texchange[tid] = (unsigned long long)gtid + 3;\n\tif (tid == 0) {\n"
		"\t\texchange[%zu] = 99;\n", l->block);
	for (unsigned i = 0; i < GEN_CELLS; i++) {
		str_addf(out, "\t\tcells[%u] = %" PRIu64 "ull;\n", i, gen_cells[i].start);
	}
	str_add(out, "\t}\n\t__syncthreads();\n");
}

static void print_end(struct str *out)
{
	str_add(out, "\t__syncthreads();\n\tunsigned long long h;\n");
	for (unsigned bank = 0; bank < GEN_BANKS; bank++) {
		const char *value[] = {"p%u", "h%u", "r%u", "d%u", "(f%u != f%u ? 0x7fffffffu"
			" : __float_as_uint(f%u))", "(g%u != g%u ? 0x7ff8000000000000ull"
			" : (unsigned long long)__double_as_longlong(g%u))"};
		str_add(out, "\th = 0;\n");
		for (unsigned i = 0; i < gen_visible[bank]; i++) {
			str_addf(out, "\th = h * %lluull + ", (unsigned long long)GEN_HASH);
			for (const char *c = value[bank]; *c; c++) {
				if (*c == '%') {
					str_addf(out, "%u", i);
					c++;
				} else {
					str_addc(out, *c);
				}
			}
			str_add(out, ";\n");
		}
		str_addf(out, "\thash[%u] = h;\n", bank);
	}
	str_addf(out, "\tif (tid == 0) {\n\t\tfor (int i = 0; i < %u; i++) {\n"
		"\t\t\tdump[i] = cells[i];\n\t\t}\n\t}\n}\n", GEN_CELLS);
}

void gen_print_cuda(struct str *out, const struct gen_program *program)
{
	struct gen_layout layout;
	gen_layout(&layout, program);
	str_addf(out, "__constant__ unsigned long long constants[%u] = {", GEN_CONSTANTS);
	for (unsigned i = 0; i < GEN_CONSTANTS; i++) {
		str_addf(out, "%s%" PRIu64 "ull", i ? ", " : "", program->constants[i]);
	}
	str_add(out, "};\n");
	for (unsigned i = 1; i < program->func_count; i++) {
		print_head(out, &program->funcs[i], i);
		str_add(out, ";\n");
	}
	for (unsigned i = 1; i < program->func_count; i++) {
		print_func(out, &program->funcs[i], i);
	}
	str_add(out, "extern \"C\" __global__ void k(unsigned long long *out,\n"
		"\tconst unsigned long long *in, unsigned param)\n{\n");
	print_variables(out, &program->funcs[0]);
	print_start(out, &layout);
	print_body(out, &program->funcs[0]);
	print_end(out);
}

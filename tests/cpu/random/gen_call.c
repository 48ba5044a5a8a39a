/* SPDX-License-Identifier: MIT */
/*
 * Random programs: calls, of functions by their names, and of one of two through a pointer.
 */
#include "gen_build.h"

#define LEVELS 3 /* calls within calls; one less than a power of two */

static struct gen_inst *add_call(struct gen *g)
{
	struct gen_program *program = g->program;
	struct gen_inst *inst = gen_add(g, GEN_CALL);
	inst->op = (uint16_t)(1 + gen_below(g, program->func_count - 1));
	inst->label = (uint16_t)(1 + gen_below(g, program->func_count - 1));
	bool wide = program->funcs[inst->op].wide;
	inst->dst[0] = gen_result(g, wide ? GEN_D : GEN_R);
	inst->src[0] = gen_pick(g, GEN_R, false);
	inst->src[1] = gen_pick(g, GEN_D, false);
	if (wide == program->funcs[inst->label].wide && gen_chance(g, 50)) {
		inst->src[2] = gen_pick(g, GEN_P, false);
	}
	return inst;
}

void gen_call(struct gen *g)
{
	gen_guard(g, add_call(g), 20);
}

void gen_recursion(struct gen *g)
{
	struct gen_arg level = gen_fresh(g, GEN_R);
	struct gen_arg more = gen_fresh(g, GEN_P);
	int end = gen_label(g);
	gen_op(g, "and.b32", level, gen_special(GEN_GTID), gen_imm(GEN_R, LEVELS));
	gen_op(g, "setp.ne.b32", more, level, gen_imm(GEN_R, 0));
	gen_jump(g, end, more, false);
	gen_op(g, "sub.s32", level, gen_special(GEN_GTID), gen_imm(GEN_R, 1));
	add_call(g)->src[0] = level;
	gen_put_label(g, end);
}

/* SPDX-License-Identifier: MIT */
#ifndef GEN_BUILD_H
#define GEN_BUILD_H

/* What gen.c and gen_flow.c share while they build a program. */
#include "gen.h"

struct gen {
	struct gen_program *program;
	struct gen_func *func;           /* being built */
	const struct gen_options *options;
	uint64_t random;
	unsigned left;                   /* statements that may still be made */
	bool may_exit;                   /* threads may end early */
	bool in_func;                    /* not in the kernel */
	bool failed;                     /* out of memory */
};

/* A place in the program: who gets there together. */
struct gen_scope {
	unsigned depth;
	bool uniform;      /* all threads of the block that have not ended */
	int mask;          /* the threads of a warp that this register names; -1: anyone */
	int leave, again;  /* labels of break and continue, -1 if they must not be used */
};

static inline uint64_t gen_below(struct gen *g, uint64_t n)
{
	return gen_random(&g->random) % n;
}

static inline bool gen_chance(struct gen *g, unsigned percent)
{
	return gen_below(g, 100) < percent;
}

static inline struct gen_arg gen_reg(enum gen_bank bank, unsigned reg)
{
	return (struct gen_arg){.kind = GEN_REG, .bank = (uint8_t)bank, .reg = (uint8_t)reg};
}

static inline struct gen_arg gen_imm(enum gen_bank bank, uint64_t value)
{
	return (struct gen_arg){.kind = GEN_IMM, .bank = (uint8_t)bank, .value = value};
}

static inline struct gen_arg gen_special(enum gen_special which)
{
	return gen_reg(GEN_R, gen_visible[GEN_R] + which);
}

/* Valid until the next one is added. */
struct gen_inst *gen_add(struct gen *g, enum gen_kind kind);
struct gen_arg gen_fresh(struct gen *g, enum gen_bank bank);
int gen_label(struct gen *g);
void gen_put_label(struct gen *g, int label);
/* A computation that the program needs. */
void gen_op(struct gen *g, const char *ptx, struct gen_arg dst, struct gen_arg a,
	struct gen_arg b);
/* A jump: always, if `guard` is NONE, else where that predicate is `when`. */
void gen_jump(struct gen *g, int label, struct gen_arg guard, bool when);
void gen_ballot(struct gen *g, struct gen_arg dst, struct gen_arg mask, struct gen_arg pred);
/* The instructions from `from` to here can go together. */
void gen_span(struct gen *g, size_t from);
/* A random register of the visible ones; in the same state in all threads if `uniform`. */
struct gen_arg gen_pick(struct gen *g, enum gen_bank bank, bool uniform);

/* A visible register that a thread may write on its own. */
struct gen_arg gen_result(struct gen *g, enum gen_bank bank);
void gen_guard(struct gen *g, struct gen_inst *inst, unsigned percent);
/* A random call; in a function, one of any function, itself too, that happens only so often:
 * gen_call.c. */
void gen_call(struct gen *g);
void gen_recursion(struct gen *g);

/* A random computation, access, meeting of threads, that keeps within the scope's rules. */
void gen_simple(struct gen *g, const struct gen_scope *scope);
/* A few statements of any kind; gen_flow.c. */
void gen_statements(struct gen *g, const struct gen_scope *scope);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_BLAME_REWRITE_H
#define CPU_IR_BLAME_REWRITE_H

/* What the files that follow blame share: the function that is being made, an instruction at a
 * time, and short forms for what goes around each. */
#include "cpu/ir/blame.h"

/* Kinds of blame, as sets. */
enum { BLAME_OF_NAN = 1, BLAME_OF_INT = 2 };

/* What writes a register. */
struct blame_write {
	const struct ptx_inst *inst;  /* the last one that does */
	unsigned count;
};

struct blame {
	struct ptx_module *module;
	struct ptx_func *func;        /* as it was */
	unsigned kinds;               /* that are asked for */
	uint8_t *kinds_of;            /* by register: that its value may have */
	uint8_t *uses;                /* by register: see blame_signed.c */
	struct blame_write *writes;   /* by register */
	unsigned *blames;             /* by register: the one with its blame; 0: it has none */
	struct ptx_inst *insts;       /* what it becomes */
	size_t count, cap;
	struct ptx_reg *regs;
	size_t reg_count, reg_cap;
	const struct ptx_inst *inst;  /* that is being done */
	struct ptx_inst nowhere;      /* what is built after memory ran out */
	bool failed;
};

/* blame_build.c: operands; a new register; add an instruction, or one for inst with `count`
 * operands. */
struct ptx_operand blame_reg(unsigned reg);
struct ptx_operand blame_number(int64_t value);
unsigned blame_temp(struct blame *b, enum ptx_type type);
struct ptx_inst *blame_add(struct blame *b, struct ptx_inst inst);
struct ptx_inst *blame_put(struct blame *b, enum ptx_op op, enum ptx_type type,
	const struct ptx_operand *operands, size_t count);
void blame_set_mod(struct ptx_inst *inst, enum ptx_mod mod);
/* A new register with the result of an instruction of two operands. */
struct ptx_operand blame_binary(struct blame *b, enum ptx_op op, enum ptx_type type,
	struct ptx_operand x, struct ptx_operand y);
struct ptx_operand blame_compare(struct blame *b, enum ptx_mod how, enum ptx_type type,
	struct ptx_operand x, struct ptx_operand y);
struct ptx_operand blame_select(struct blame *b, struct ptx_operand yes, struct ptx_operand no,
	struct ptx_operand which);
/* An operand that is known to be false, or true. */
static inline bool blame_is_number(const struct ptx_operand *operand, int64_t value)
{
	return operand->kind == PTX_INT && operand->value == value;
}

/*
 * blame_made.c: blame_makes says what an instruction may make, as a set.  blame_begin is called in
 * front of the instruction, and finds out what its operands say; blame_end is called after it, and
 * gives the predicates.
 */
struct blame_made {
	struct ptx_operand parts[2];  /* predicates; of a pair one for each element: an operand is
	                                 not finite.  For what the result does not show, parts[0]:
	                                 the instruction makes something wrong */
	struct ptx_operand args[3];   /* as they were before, for the report */
	enum ptx_type types[4];       /* of the result, and of these */
	unsigned arg_count;
};
unsigned blame_makes(const struct blame *b, const struct ptx_inst *inst);
/* Whether the result is a float of which it can be seen that nothing is wrong with it. */
bool blame_is_real(const struct ptx_inst *inst);
void blame_begin(struct blame *b, struct blame_made *out);
/* *made: what this instruction has made wrong.  *is_bad: its result is not finite. */
void blame_end(struct blame *b, const struct blame_made *made, struct ptx_operand *is_made,
	struct ptx_operand *is_bad);

/* blame_signed.c: fill in uses; false: no memory. */
bool blame_find_signed(struct blame *b);
/* Whether a shift by so much may be a part of one of 128 bits, of which compilers make shifts by
 * n, 64 - n and n - 64: those may be by 64 and more. */
bool blame_is_of_128(const struct blame *b, const struct ptx_operand *by);
/* Whether a sum or a product must not leave the range of signed numbers. */
bool blame_may_overflow(const struct blame *b, const struct ptx_inst *inst);
/* The predicate that it does.  In front of the instruction. */
struct ptx_operand blame_overflows(struct blame *b);

#endif

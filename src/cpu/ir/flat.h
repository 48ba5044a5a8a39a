/* SPDX-License-Identifier: MIT */
#ifndef CPU_IR_FLAT_H
#define CPU_IR_FLAT_H

/*
 * What flatten.c and flat_*.c share: a kernel on its way to one list of instructions.
 *
 * A failure is kept in f->failed.  Building goes on, with a spare element in place of each that
 * could not be allocated.  So only loops, and code that follows a pointer, need to test f->failed.
 */
#include "base/map.h"
#include "cpu/ir/flatten.h"

/* A kind: the functions whose address is taken and that are called in the same way.  Its key has
 * the sizes of results and parameters, as in "4,(8,8,".  Addresses are consecutive multiples of
 * FLAT_STEP. */
#define FLAT_STEP 16

struct flat_kind {
	uint64_t first;            /* address */
	size_t count;
	struct ptx_func **funcs;
	struct flat_kind *next;
};

/* The place of an argument or a result: a register, a number, or a bracketed address in .local. */
struct flat_place {
	struct ptx_operand operand;
	enum ptx_type type;        /* for a register: one of its size */
	size_t size;
};

/*
 * A calling convention.  The caller writes the arguments and the number of the place to return to,
 * and jumps.  The callee writes the results, and jumps back by that number.
 *
 * For most functions the places of a link are their parameters.  Functions that may be called
 * through a register share the link of their kind, and a call must not overwrite the parameters of
 * a recursive function.  These functions copy their parameters and results from and to the places
 * of the link (`is_exchange`).
 */
struct flat_link {
	bool is_exchange;
	struct flat_place *params;
	struct flat_place *returns;
	unsigned number;           /* register: which of `points` to return to */
	struct ptx_operand *points; /* labels, in the module's memory */
	size_t point_count;
	size_t point_cap;
};

/* The groups of a function's variables. */
enum flat_group { FLAT_VARS, FLAT_PARAMS, FLAT_RETURNS, FLAT_GROUPS };

/* A function within the kernel, a node of the call graph.  With func NULL, the node of all calls
 * through a register to functions of one kind. */
struct flat_body {
	struct ptx_func *func;
	struct flat_kind *kind;    /* NULL if no function is of it */
	const struct ptx_func *proto; /* a prototype like those of all functions of the kind */
	size_t index;              /* in flat.bodies */
	struct flat_body *caller;  /* the first one, and its instruction there: */
	const struct ptx_inst *call;
	struct flat_body **called; /* by instruction: what a call enters; NULL: see by_func */
	const struct ptx_scope **scopes; /* by index: its scopes in the kernel, as far as known */
	size_t debug_place;        /* of its part of the debug area */
	size_t seen_by;            /* scratch: the last caller that was looked at, from 1 */
	size_t *callees;           /* bodies */
	size_t callee_count;
	size_t callee_cap;
	size_t group;              /* bodies of one group call each other in circles; from 1 */
	bool is_recursive;
	struct flat_link *link;    /* NULL for the kernel */
	size_t entry;              /* label */
	struct ptx_operand *entries; /* of a kind: labels of its functions */
	unsigned first_reg;
	size_t first_label;
	size_t start;              /* of its part of the kernel's .local area; of a recursive
	                            * function, 0: it lies on the stack, where `frame` points to */
	size_t size;
	size_t *at[FLAT_GROUPS];   /* offset of each variable in memory, from `start` */
	struct ptx_var **shared;   /* func->vars in the kernel, NULL for those that are not
	                              .shared */
	bool has_alloca;           /* or another instruction of the stack */
	unsigned frame;            /* register; see flat_stack.c */
	unsigned number;           /* register: the link's, or its own copy if is_exchange */
	size_t *saved_at;          /* by register: where it is saved during a call, or 0 */
	size_t reserve;            /* the instruction that takes its part of the stack */
};

/* The frame of a recursive function begins with the caller's `frame` and its own `number`. */
enum { FLAT_SAVED_FRAME = 0, FLAT_SAVED_NUMBER = 8, FLAT_SAVED_END = 16 };

struct flat_list {
	void *data;
	size_t count;
	size_t cap;
};

/* A return, to be filled in when all places to return to are known. */
struct flat_return {
	size_t inst;
	const struct flat_link *link;
	unsigned number;
};

struct flat {
	struct ptx_module *module;
	struct ptx_func *kernel;
	struct map *kinds;         /* key -> struct flat_kind */
	struct ptx_diag *diag;
	bool failed;
	struct arena scratch;
	struct flat_list bodies;   /* struct flat_body *; the kernel is the first */
	struct flat_body **by_func;
	struct map by_kind;        /* key -> struct flat_body */
	size_t *order;             /* of bodies: callers before callees, but for circles */
	struct flat_list insts;
	struct flat_list labels;
	struct flat_list regs;
	struct flat_list vars;
	struct flat_list returns;
	struct ptx_var **shared;   /* by ptx_module.shared: the kernel's copy */
	struct ptx_var *area;      /* the kernel's .local area */
	size_t exchange_size;      /* bytes of it that arguments pass through */
	size_t static_size;        /* of all but the stack */
	size_t debug_size;         /* of the debug area */
	size_t copied;             /* instructions in copies of functions */
	size_t align;              /* of everything in it */
	bool uses_stack;
	unsigned stack;            /* registers: where the free part of the stack begins and ends */
	unsigned stack_end;
	unsigned temps[PTX_TYPE_COUNT]; /* registers for an instruction or two, from 1; 0: none
	                                   yet */
	struct flat_body *body;    /* being copied */
	const struct ptx_inst *at; /* the instruction that what is added stands for */
	uint64_t *live;
	union {
		max_align_t align;
		char bytes[256];
	} spare;
};

/* flat_inst.c: memory and lists, registers, labels */
void flat_no_memory(struct flat *f);
/* Cleared memory, until flattening ends, and of the module.  NULL: f->failed. */
void *flat_alloc(struct flat *f, size_t count, size_t size);
void *flat_keep(struct flat *f, size_t count, size_t size);
void *flat_add(struct flat *f, struct flat_list *list, size_t size); /* a cleared element */
unsigned flat_reg(struct flat *f, enum ptx_type type);
size_t flat_label(struct flat *f);
void flat_label_here(struct flat *f, size_t label);
static inline struct flat_body *flat_body_at(const struct flat *f, size_t i)
{
	return ((struct flat_body **)f->bodies.data)[i];
}

/* flat_kind.c: how functions are called */
char *flat_key(struct ptx_module *module, const struct ptx_func *func);
bool flat_find_kinds(struct ptx_module *module, struct map *kinds, struct ptx_diag *diag);

/* flat_args.c: put arguments and results of one, two, four or eight bytes in registers. */
enum ptx_type flat_type(size_t size); /* PTX_NONE for other sizes */
bool flat_promote(struct ptx_module *module, struct ptx_func *func);

/* flat_graph.c: find all bodies, their groups and order. */
void flat_find_bodies(struct flat *f);
struct flat_body *flat_body_of_kind(struct flat *f, const struct ptx_func *proto);

/* What a call enters, an instruction of f->body. */
struct flat_body *flat_callee(const struct flat *f, const struct ptx_inst *call);

/* flat_frame.c: lay out variables and links. */
void flat_lay_out(struct flat *f);
struct flat_place flat_place(struct flat *f, const struct ptx_var *var);
/* An operand of f->body, as one of the kernel. */
struct ptx_operand flat_operand(struct flat *f, const struct ptx_operand *from);

/* flat_body.c: copy the instructions of all bodies. */
void flat_copy_bodies(struct flat *f);

/* flat_stack.c: the stack of a thread, by f->body */
void flat_start_stack(struct flat *f);
void flat_enter(struct flat *f);
void flat_leave(struct flat *f);
void flat_epilogue(struct flat *f); /* the function has been copied */
void flat_stack(struct flat *f, const struct ptx_inst *inst); /* alloca and its like */

/* flat_call.c: instructions in place of calls and returns; of f->body */
void flat_prologue(struct flat *f);
void flat_call(struct flat *f, const struct ptx_inst *inst, size_t index);
void flat_ret(struct flat *f, const struct ptx_inst *inst);
void flat_finish_returns(struct flat *f);

/* flat_inst.c: what a scope of f->body is in the kernel */
const struct ptx_scope *flat_scope(struct flat *f, const struct ptx_scope *scope);

/* flat_inst.c: single instructions, for f->body */
bool flat_is_stack(const struct ptx_inst *inst); /* alloca and its like */
/* Begin the instructions that a guarded one becomes.  The caller puts the label after them. */
size_t flat_begin_guard(struct flat *f, const struct ptx_inst *inst);
struct ptx_operand flat_reg_operand(unsigned reg);
struct ptx_operand flat_int_operand(int64_t value);
struct ptx_operand flat_label_operand(size_t label);
struct ptx_inst *flat_inst(struct flat *f, enum ptx_op op, enum ptx_type type,
	const struct ptx_operand *operands, size_t count);
void flat_mov(struct flat *f, enum ptx_type type, unsigned to, struct ptx_operand from);
struct ptx_inst *flat_bra(struct flat *f, size_t label);
void flat_set(struct ptx_inst *inst, enum ptx_mod mod);
/* End the launch: always, or if a u32 register is 0. */
void flat_fail(struct flat *f, int code);
void flat_stop_unless(struct flat *f, struct ptx_operand ok);
void flat_move(struct flat *f, const struct flat_place *to, const struct flat_place *from);
unsigned flat_temp(struct flat *f, enum ptx_type type);
/* ld or st of a register in .local memory at reg + offset */
void flat_frame_move(struct flat *f, bool is_load, unsigned reg, enum ptx_type type,
	unsigned base, size_t offset);

#endif

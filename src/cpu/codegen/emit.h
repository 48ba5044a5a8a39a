/* SPDX-License-Identifier: MIT */
#ifndef CPU_EMIT_H
#define CPU_EMIT_H

/*
 * From a checked PTX kernel to LLVM IR: what emit.c and the families of emit_*.c share.
 *
 * Every PTX register is a stack slot (alloca) of its own type; LLVM's sroa makes values of them.
 * An instruction reads operands with emit_use, as values of the instruction's type, and writes its
 * result with emit_def.  Integers and untyped values are iN, f32 is float, f64 is double; f16 and
 * bf16 are i16 and their pairs i32, converted where they are used.
 *
 * A value of a lane is a scalar when one call runs one lane (W = 1), and a vector of 32 when it runs
 * a warp (W = 32).  The types in struct emit are those of lanes; `s` has the scalars, for addresses
 * and whatever else a warp has once.  Within emit_each_lane lanes are scalars, too.
 *
 * What all lanes have alike (shape.h) is one scalar at W = 32, too: such a register has a scalar for a
 * slot, and an instruction that makes it is done once for the warp.  The functions that make
 * instructions need not know: in a mode of its own, as within emit_each_lane, lanes are scalars.
 *
 * At W = 32 every basic block is made twice.  The converged version is what W = 1 has: all lanes are
 * there, branches are branches.  A branch on which lanes part writes down, per block, the lanes that
 * are to run it, and goes to the diverged versions.  These follow each other in reverse post-order;
 * each takes the lanes that are pending for it, runs with that mask, and adds them to the pending
 * lanes of its successors.  When one finds all 32 lanes again it goes back to its converged twin.
 * Small kernels of a certain kind do without: see emit_alone.c.
 *
 * A failure is kept in emit.diag; building goes on with undefined values until the instruction
 * ends, so that no builder function needs a check.
 */
#include "cpu/ptx/ptx.h"
#include "cpu/runtime/rt.h"
#include "cpu/ir/shape.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

struct emit_types {
	LLVMTypeRef i1, i8, i16, i32, i64, i128, f32, f64;
};

/* Of a predicate at W = 32, as scalars: true, or false, in all lanes for certain; NULL: nobody knows. */
struct emit_certain {
	size_t body;                    /* in which that is known */
	unsigned reg;
	LLVMValueRef all, none;
};

struct emit {
	const struct ptx_module *module;
	const struct ptx_func *func;
	struct ptx_diag *diag;
	bool failed;
	unsigned width;                 /* 1 or 32 */
	bool is_traced;                 /* see emit_ask_traces */
	struct shapes shapes;           /* W = 32 */

	LLVMContextRef context;
	LLVMModuleRef ir;
	LLVMBuilderRef builder;
	LLVMTypeRef i1, i8, i16, i32, i64, i128, f32, f64; /* of lanes */
	struct emit_types s;            /* of scalars */
	struct emit_types v;            /* of 32 lanes */
	LLVMTypeRef ptr;                /* to i8; to anything from LLVM 15 on */
	LLVMValueRef fn, warp, frame;

	LLVMValueRef *regs;             /* slot of each PTX register */
	LLVMValueRef carry;             /* slot of the CC register; NULL if nothing uses it */
	LLVMBasicBlockRef *blocks;      /* converged, by ptx_block; NULL if unreachable */
	LLVMBasicBlockRef *diverged;    /* W = 32: the same with pending masks */
	LLVMBasicBlockRef *resumes;     /* where the warp goes on when it waited before a block */
	size_t *order;                  /* reachable blocks in reverse post-order */
	size_t order_count;
	LLVMBasicBlockRef sweep_end;    /* W = 32: behind the last diverged block */
	LLVMBasicBlockRef leave;        /* W = 32: return with RT_SWEEP */
	bool *spins;                    /* by ptx_block: holds what threads wait with */
	uint64_t *kept;                 /* registers that live from one block to another */
	size_t *written;                /* by register: the last body that writes it */
	bool in_frame;                  /* these have their slots in the frame */
	bool yields;                    /* the kernel may, so far */
	LLVMValueRef call_end;          /* of the entry, the jump to the next: */
	LLVMValueRef block_end;         /* of what is loaded for a block of the grid; to the next: */
	LLVMValueRef entry_end;         /* the switch over resume points */
	LLVMValueRef first;             /* slot of warp->first */
	LLVMBasicBlockRef done;         /* where a warp ends */
	LLVMValueRef sregs[PTX_SREG_COUNT]; /* loaded in the entry when first used, */
	LLVMValueRef bases[PTX_SREG_COUNT]; /* W = 32: of one lane, */
	LLVMValueRef launch, params, globals, shared, local, exchange; /* and so are these */
	LLVMValueRef request;           /* see emit_tex.c; NULL until there is one */
	LLVMValueRef arrays;            /* see emit_wide.c; NULL until there are some */
	bool splits;                    /* W = 32: .local memory lies word by word, see split.c */
	struct emit_team *team;         /* W = 32: see emit_team.c; NULL: there is none */
	struct emit_member *member;     /* of it, whose code is being made, else NULL */
	struct emit_bypass *bypass;     /* W = 32: see emit_bypass.c; NULL: no store is such */
	struct emit_alone *alone;       /* W = 32: instead of diverged versions, see emit_alone.c */
	LLVMValueRef results[2];        /* see emit_meet.c, likewise */
	LLVMValueRef ready;             /* W = 32: lanes that may run, in this call */
	size_t frame_size;

	size_t block;                   /* being translated */
	size_t body;                    /* counts the translations of blocks, from 1 */
	const struct ptx_inst *inst;    /* and within it */
	LLVMValueRef mask;              /* W = 32: i32, the lanes that run; NULL: all */
	LLVMValueRef mask_lanes;        /* the same as a vector of i1 */
	bool is_diverged;               /* the version being made */
	bool is_alone;                  /* that is being made */
	bool once;                      /* W = 32: values are of the warp, done for all lanes */
	unsigned certain_next;          /* see emit_guard.c: how many there were; */
	LLVMValueRef lane;              /* the one within emit_each_lane, else NULL */
	const int64_t *offsets;         /* of lanes, from what is made once */
	LLVMBasicBlockRef before_lanes; /* what goes to that loop */
	struct emit_certain certain[4]; /* the last ones */
	unsigned lane_accesses;         /* in the block of LLVM, by gathers and scatters */
	LLVMBasicBlockRef noted_in;     /* warp->lane and warp->step are known in it, */
	uint64_t noted;                 /* and these */
};

/* Add the function `symbol`, which runs `width` lanes per call (1 or 32), to the LLVM module, for
 * blocks of a class (see shape.h); *frame_size is what it keeps between calls. */
bool emit_kernel(size_t *frame_size, LLVMModuleRef ir, const char *symbol, unsigned width,
	unsigned class, const struct ptx_module *module, const struct ptx_func *func,
	struct ptx_diag *diag);

/* emit_lanes.c, before emit_kernel: the processor has AVX-512F, with which it can gather and scatter
 * by masks, and has seeds of inverse roots. */
void emit_allow_avx512(LLVMModuleRef ir);
bool emit_has_avx512(struct emit *e);

/* Whether the block that is being made is in a loop. */
static inline bool emit_is_in_loop(const struct emit *e)
{
	return e->func->blocks[e->block].in_loop;
}
/* emit_fetch.c: load a vector of `size` bytes, of lanes side by side. */
LLVMValueRef emit_load_row(struct emit *e, LLVMTypeRef type, LLVMValueRef place, unsigned size);

/* emit_trace.c, before emit_kernel: tell of each access, for messages.  And then, before one. */
void emit_ask_traces(LLVMModuleRef ir);
bool emit_is_traced(LLVMModuleRef ir);
void emit_trace(struct emit *e, const struct ptx_inst *inst);

/* emit_base.c: count addresses from pointers that loops do not change. */
void emit_base_addresses(LLVMValueRef fn);

/* emit_wrap.c: answer by scalars whether lanes are neighbours, where their indexes do not wrap. */
void emit_answer_wraps(LLVMValueRef fn);

/* emit_bypass_loop.c: loops that became vectors may store past the cache. */
void emit_bypass_loops(LLVMValueRef fn, LLVMTargetDataRef layout);

/* emit_drift.c: take vectors apart to which loops add the same in all lanes.  False: no memory. */
bool emit_part_drifts(LLVMValueRef fn);
/* emit_bunch.c, last: sums of more than `room` bits come in bunches.  False: no memory. */
bool emit_bunch_sums(LLVMValueRef fn, unsigned room);

/* emit_value.c: values */
LLVMTypeRef emit_type(struct emit *e, enum ptx_type type);
LLVMTypeRef emit_int_type(struct emit *e, unsigned bits);
LLVMValueRef emit_int(struct emit *e, unsigned bits, uint64_t value);
LLVMValueRef emit_real(struct emit *e, LLVMTypeRef type, double value);
LLVMValueRef emit_repeat(struct emit *e, LLVMValueRef constant); /* in every lane: a vector */
/* The same integer in every lane of a type; the same scalar. */
LLVMValueRef emit_const(struct emit *e, LLVMTypeRef type, uint64_t value);
LLVMValueRef emit_splat(struct emit *e, LLVMValueRef scalar);
LLVMValueRef emit_scalar(struct emit *e, unsigned bits, uint64_t value); /* not of lanes */
static inline LLVMValueRef emit_u32(struct emit *e, uint64_t value)
{
	return emit_scalar(e, 32, value);
}
/* Room for a scalar or more, in the entry. */
LLVMValueRef emit_room(struct emit *e, LLVMTypeRef type, const char *name);
/* W = 32: the lanes that run, as a scalar. */
LLVMValueRef emit_active(struct emit *e);
/* The first of them; 0 if there is none. */
LLVMValueRef emit_first_lane(struct emit *e);
/* The number of the lane: 0 at W = 1, a vector at W = 32. */
LLVMValueRef emit_lane_number(struct emit *e);
static inline bool emit_is_vector(const struct emit *e)
{
	return e->width > 1 && !e->lane && !e->once;
}
/* What values are: vectors, of one lane, or the warp's.  Gives the mode from before. */
struct emit_mode {
	LLVMValueRef lane;
	bool once;
};
struct emit_mode emit_set_mode(struct emit *e, struct emit_mode mode);
static inline struct emit_mode emit_begin_once(struct emit *e)
{
	return emit_set_mode(e, (struct emit_mode){NULL, true});
}
/* Scalars to lanes: the same for all, but for offsets; NULL: none. */
LLVMValueRef emit_spread(struct emit *e, LLVMValueRef base, const int64_t *offsets);
LLVMValueRef emit_use(struct emit *e, const struct ptx_operand *operand, enum ptx_type type);
/* A value shorter than the register is extended, by its sign if the type has one. */
void emit_def(struct emit *e, const struct ptx_operand *operand, enum ptx_type type,
	LLVMValueRef value);
/* A value of one size to a type of another: what a wider or narrower register does. */
LLVMValueRef emit_resize(struct emit *e, LLVMValueRef value, LLVMTypeRef type, bool sign);
/* Reinterpret: as an integer; as any type of the same size. */
LLVMValueRef emit_bits(struct emit *e, LLVMValueRef value);
LLVMValueRef emit_cast(struct emit *e, LLVMValueRef value, LLVMTypeRef type);

static inline bool emit_is_signed(enum ptx_type type)
{
	return ptx_type_class(type) == 's';
}

/* Operand i of an instruction, and its result, as the instruction's first type. */
static inline LLVMValueRef emit_arg(struct emit *e, const struct ptx_inst *inst, size_t i)
{
	return emit_use(e, &inst->operands[i], inst->types[0]);
}

static inline void emit_result(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value)
{
	emit_def(e, &inst->operands[0], inst->types[0], value);
}

/* emit_slots.c: registers */
void emit_note_kept(struct emit *e); /* find out which are */
void emit_make_slots(struct emit *e);
/* A register that may be read before it is written starts as zero: PTX leaves that open, but LLVM's
 * undefined values may differ from one reading to the next. */
void emit_clear_slots(struct emit *e);
LLVMValueRef emit_new_slot(struct emit *e, unsigned reg); /* another one, in the entry */
LLVMValueRef emit_use_reg(struct emit *e, unsigned reg, enum ptx_type type);
void emit_def_reg(struct emit *e, unsigned reg, enum ptx_type type, LLVMValueRef value);
/* Go to the mode of what is in a register's slot; gives the one from before. */
struct emit_mode emit_slot_mode(struct emit *e, unsigned reg);
/* W = 32: do all lanes have it alike? */
static inline bool emit_is_same(const struct emit *e, unsigned reg)
{
	return e->width > 1 && !e->is_alone && shape_is_uniform(&e->shapes.regs[reg]);
}
/* An instruction's guard, a scalar if all lanes have it alike. */
LLVMValueRef emit_use_guard(struct emit *e, const struct ptx_inst *inst);
/* Write a slot, in the lanes that run. */
void emit_store_slot(struct emit *e, LLVMValueRef value, LLVMValueRef slot);
/* In the frame: the lanes pending for a block; bytes of all of these, in front of the registers. */
LLVMValueRef emit_pending_place(struct emit *e, size_t block);
size_t emit_pending_size(const struct emit *e);
/* Save the registers of a set in the frame, or load them from there. */
void emit_move_regs(struct emit *e, const uint64_t *set, bool save);
/* Of a warp of a team, which goes on by itself with RT_SWEEP: those lanes in `yes`, the others in
 * `no`.  Its registers go to its frame. */
void emit_put_apart(struct emit *e, size_t yes, size_t no, LLVMValueRef lanes);

/* emit_value.c: places */
LLVMBasicBlockRef emit_block(struct emit *e, const char *name); /* a new one, not entered */
void emit_enter(struct emit *e, LLVMBasicBlockRef block);
bool emit_is_open(struct emit *e);                  /* the current block has no terminator yet */
/* Build in the entry, which dominates everything, until emit_entry_leave: what is so for all warps
 * that a call runs, what is one block's, or what is one warp's. */
LLVMBasicBlockRef emit_call_visit(struct emit *e);
LLVMBasicBlockRef emit_block_visit(struct emit *e);
LLVMBasicBlockRef emit_entry_visit(struct emit *e);
void emit_entry_leave(struct emit *e, LLVMBasicBlockRef back);
void emit_fail(struct emit *e, const char *why); /* "instruction 'ld' <why>"; first one wins */

/* emit_inst.c: make an instruction, under its guard. */
void emit_inst(struct emit *e, const struct ptx_inst *inst);
/* Make the instructions of a block, in the version that is being made. */
void emit_body(struct emit *e, size_t block);
void emit_set_types(struct emit *e, const struct emit_types *types);

/* emit_warps.c: all is made but what follows the end of a warp. */
void emit_end_warps(struct emit *e, LLVMValueRef clear);

/* emit_access.c: `base` points to i8; fields and offsets are scalars */
LLVMValueRef emit_field(struct emit *e, LLVMValueRef base, size_t offset, LLVMTypeRef type);
void emit_set_field(struct emit *e, LLVMValueRef base, size_t offset, LLVMValueRef value);
LLVMValueRef emit_at(struct emit *e, LLVMValueRef base, LLVMValueRef offset, LLVMTypeRef type);
LLVMValueRef emit_pointer_bits(struct emit *e, LLVMValueRef pointer); /* a scalar, i64 */
/* Where things begin, loaded once in a call. */
LLVMValueRef emit_launch_base(struct emit *e);   /* struct rt_launch */
LLVMValueRef emit_params_base(struct emit *e);
LLVMValueRef emit_shared_base(struct emit *e);
LLVMValueRef emit_local_base(struct emit *e);    /* of lane 0 */
LLVMValueRef emit_exchange_base(struct emit *e); /* struct rt_exchange */
LLVMValueRef emit_calls_base(struct emit *e);    /* struct rt_calls */
LLVMValueRef emit_local_stride(struct emit *e);  /* bytes from lane to lane, a scalar */
LLVMValueRef emit_local_offset(struct emit *e);  /* from lane 0's to each lane's */
/* A variable of the module: loaded in the entry each time, early-cse keeps one. */
LLVMValueRef emit_global_base(struct emit *e, const struct ptx_var *var);
LLVMValueRef emit_cached_bytes(struct emit *e);  /* rt_launch.cached_bytes */
LLVMValueRef emit_param(struct emit *e, size_t offset, LLVMTypeRef type); /* of the kernel */
/* What LLVM is told of an access. */
/* The memory model's words, as LLVM says them; NotAtomic if there are none. */
LLVMAtomicOrdering emit_order(const struct ptx_inst *inst);
void emit_set_metadata(struct emit *e, LLVMValueRef access, const char *kind, LLVMMetadataRef node);
void emit_note_space(struct emit *e, enum ptx_space space, LLVMValueRef access);
void emit_note_local(struct emit *e, LLVMValueRef access);
/* The first way of a branch is the usual one: what does not fit in registers is moved to the other. */
void emit_expect_first(struct emit *e, LLVMValueRef branch);
/* What the message of a fault is told. */
/* Set warp->lane, or with 64 bits warp->step, too. */
void emit_note_lane(struct emit *e, LLVMValueRef lane);
/* Which access a fault is of: of all lanes, lane 0's at `base`.  Whether that is worth it. */
void emit_note_access(struct emit *e, LLVMValueRef base, unsigned step);
bool emit_notes_access(const struct emit *e);
/* Whose memory and registers are meant from now on: a member of the team; NULL: those of the warp. */
void emit_use_member(struct emit *e, struct emit_member *member);

/* emit_operand.c: addresses */
LLVMValueRef emit_var(struct emit *e, const struct ptx_var *var); /* its PTX address, i64 */
/* Where a variable begins: a base pointer, and the offset from it.  Lanes are scalars. */
LLVMValueRef emit_var_base(struct emit *e, const struct ptx_var *var, uint64_t *offset);
LLVMValueRef emit_is_shared(struct emit *e, LLVMValueRef address); /* is a generic one */
/* Does an address lie in the `size` bytes from `base`?  All are of lanes. */
LLVMValueRef emit_is_within(struct emit *e, LLVMValueRef address, LLVMValueRef base,
	LLVMValueRef size);
LLVMValueRef emit_all_bits(struct emit *e, LLVMValueRef pointer); /* the same for all lanes */
/* A memory operand as a host pointer to `type`, and the space that it really is in. */
LLVMValueRef emit_address(struct emit *e, const struct ptx_operand *operand,
	enum ptx_space *space, LLVMTypeRef type);
/* The same as numbers, for all lanes. */
LLVMValueRef emit_lane_addresses(struct emit *e, const struct ptx_inst *inst,
	const struct ptx_operand *operand);

/* emit_sreg.c */
LLVMValueRef emit_sreg(struct emit *e, enum ptx_sreg sreg);
/* Whether warps of a block have different values. */
bool emit_is_of_warp(enum ptx_sreg sreg);

/* emit_lanes.c: call a function of struct rt_calls, at offset `slot`, with the warp in front: once
 * for each lane if an argument is a vector.  The result has a type of lanes, or is void (NULL). */
#define EMIT_MAX_ARGS 8
/* One call, with scalars for arguments. */
LLVMValueRef emit_call_once(struct emit *e, size_t slot, LLVMTypeRef result, LLVMValueRef *args,
	unsigned count);
LLVMValueRef emit_rt_call(struct emit *e, size_t slot, LLVMTypeRef result, LLVMValueRef *args,
	unsigned count);

/* emit_round.c: what arithmetic, conversions, approximations and atomics need */
/* As emit_arg and emit_result, with .ftz and .sat. */
LLVMValueRef emit_float_arg(struct emit *e, const struct ptx_inst *inst, size_t i);
void emit_float_result(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value);
/* A result with both; `larger` is NULL for what is exact where it is small, as sums are, and for
 * approximations. */
LLVMValueRef emit_float_finish(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value,
	LLVMValueRef larger);
/* Whether a value of an instruction is to be flushed. */
bool emit_is_flushed(struct emit *e, const struct ptx_inst *inst, LLVMValueRef value);
LLVMValueRef emit_is_negative(struct emit *e, LLVMValueRef real); /* -0 and NaNs, too */
LLVMValueRef emit_flush(struct emit *e, LLVMValueRef value);     /* f32 subnormals to zero */
/* A result that may have been rounded up to 2^-126, by what it is of operands that are enlarged. */
LLVMValueRef emit_enlarge(struct emit *e, LLVMValueRef value);
LLVMValueRef emit_flush_rounded(struct emit *e, LLVMValueRef value, LLVMValueRef larger);
LLVMValueRef emit_saturate(struct emit *e, LLVMValueRef value);  /* to [0, 1], NaN to 0 */
enum emit_round { EMIT_NEAREST, EMIT_DOWN, EMIT_UP, EMIT_ZERO, EMIT_ODD };
enum emit_round emit_round_of(const struct ptx_inst *inst);
/* The f32 nearest in a direction to the exact sum of two f64, where |err| is at most half a unit
 * in the last place of `sum`. */
LLVMValueRef emit_round_f32(struct emit *e, LLVMValueRef sum, LLVMValueRef err,
	enum emit_round round);
/* The f32 sum of two f64 that are exact. */
LLVMValueRef emit_sum_f32(struct emit *e, LLVMValueRef a, LLVMValueRef b, enum emit_round round);
LLVMValueRef emit_round_f64(struct emit *e, enum rt_op op, enum emit_round round, LLVMValueRef a,
	LLVMValueRef b, LLVMValueRef c);

/* emit_half.c: f16 and bf16 as f32, which holds both exactly, and back, rounded once */
bool emit_is_half(enum ptx_type type);
LLVMValueRef emit_from_half(struct emit *e, LLVMValueRef half, enum ptx_type type);
LLVMValueRef emit_to_half(struct emit *e, LLVMValueRef value, enum ptx_type type,
	enum emit_round round);
/* Of a pair its type of one, half 0 (the lower) or 1, and both together. */
enum ptx_type emit_half_type(enum ptx_type type);
LLVMValueRef emit_half_part(struct emit *e, LLVMValueRef pair, unsigned part);
LLVMValueRef emit_pair(struct emit *e, LLVMValueRef low, LLVMValueRef high);
/* The smaller or larger of two halves, -0 being below +0; of a number and a NaN the number, or,
 * with keep_nan, a NaN. */
LLVMValueRef emit_half_min(struct emit *e, enum ptx_type type, bool min, bool keep_nan,
	LLVMValueRef a_bits, LLVMValueRef b_bits);
/* .relu of a float: nothing below zero, not even -0. */
LLVMValueRef emit_relu(struct emit *e, LLVMValueRef value);
/* An f16 or bf16 with subnormals as zeros. */
LLVMValueRef emit_flush_half(struct emit *e, LLVMValueRef half, enum ptx_type type);

/* emit_fp8.c: .satfinite of an f32: magnitudes above `most` become that, infinity too */
LLVMValueRef emit_satfinite(struct emit *e, LLVMValueRef value, double most);

/* emit_math.c: for f32 */
LLVMValueRef emit_exp2_of(struct emit *e, LLVMValueRef x);
LLVMValueRef emit_tanh_of(struct emit *e, LLVMValueRef x);

/* emit_alone.c: lanes that part go on one after the other. */
struct emit_alone {
	LLVMBasicBlockRef *blocks;
	LLVMValueRef *regs;     /* the slots of a lane */
	LLVMValueRef *rooms;    /* what all lanes had where they parted; NULL until there is one */
	/* Slots: who runs, who will, who takes the branch, and where they parted. */
	LLVMValueRef lane, left, taken, from;
	LLVMBasicBlockRef next; /* on with the next lane */
	LLVMValueRef heads;     /* the switch in it */
	unsigned head_count;
};
/* False: no memory. */
bool emit_alone_init(struct emit *e);
void emit_alone_finish(struct emit *e);
void emit_alone_begin(struct emit *e);
/* Of `lanes` those in `taken` go to `yes`, the others to `no`. */
void emit_part_alone(struct emit *e, LLVMValueRef lanes, LLVMValueRef taken, size_t yes, size_t no);
void emit_goto_alone(struct emit *e, size_t block);
void emit_exit_alone(struct emit *e);

/* emit_team.c: all warps of a block in step.  Member i of the team; NULL: one warp alone. */
struct emit_member {
	LLVMValueRef warp, frame, local, exchange;
	LLVMValueRef *regs;
	size_t *written;
	LLVMValueRef first;                   /* its first thread's number */
	LLVMValueRef sregs[PTX_SREG_COUNT];   /* those that warps have of their own */
	LLVMValueRef bases[PTX_SREG_COUNT];
};
struct emit_team {
	unsigned count;
	struct emit_member *members;
	struct emit_member outside;     /* what `e` has while no member's code is made */
	uint64_t *same;                 /* registers that all warps have alike */
	uint64_t *written;              /* scratch: a set of registers */
	LLVMBasicBlockRef *blocks;
	LLVMBasicBlockRef start;
};
/* For so many warps; 0 or 1: none.  False: no memory. */
bool emit_team_init(struct emit *e, unsigned count);
void emit_team_finish(struct emit *e);
/* Where a warp begins: all of them may. */
void emit_team_start(struct emit *e);
void emit_make_team(struct emit *e);

/* emit_flow.c: what ends a block; of diverged lanes, the block that comes next, and the lanes that
 * are to run a block when it comes. */
LLVMBasicBlockRef emit_next_diverged(const struct emit *e);
void emit_add_pending(struct emit *e, size_t block, LLVMValueRef lanes);
void emit_goto(struct emit *e, size_t block);
void emit_branch(struct emit *e, LLVMValueRef condition, size_t yes, size_t no);
/* Each lane goes to blocks[value], or to `other` if there is no such one; SIZE_MAX: there always
 * is. */
void emit_switch(struct emit *e, LLVMValueRef value, const size_t *blocks, size_t count,
	size_t other);
/* emit_guard.c: after the result of a comparison of integers, or of logic. */
void emit_certain_order(struct emit *e, const struct ptx_inst *inst, LLVMIntPredicate is);
void emit_certain_logic(struct emit *e, const struct ptx_inst *inst);
/* What is known of a predicate, in the body that is being made; NULL: nothing. */
const struct emit_certain *emit_find_certain(const struct emit *e, unsigned reg);
/* Yield; go on in the next block when the wait is over. */
void emit_wait(struct emit *e, enum rt_yield why);
/* That from a diverged version, because of the lanes that run; from a converged one.  They go on in
 * `block`. */
void emit_park(struct emit *e, enum rt_yield why, size_t block);
void emit_yield_before(struct emit *e, enum rt_yield why, size_t block);
size_t emit_block_after(const struct emit *e); /* the only one */
/* Fail the launch if a scalar i1 is true.  Also within emit_each_lane. */
void emit_trap_if(struct emit *e, LLVMValueRef condition);
/* emit_blocks.c: converged blocks, diverged ones, and what goes between. */
void emit_blocks(struct emit *e);

/*
 * emit_collect.c: collectives, in two halves (see lower.c and struct rt_exchange).  The first puts down `what`, the
 * threads to wait for and the operands, all i32 of lanes, and ends the block; the second takes the
 * results.
 */
void emit_collect(struct emit *e, uint32_t what, LLVMValueRef members, LLVMValueRef *words,
	unsigned count);
LLVMValueRef emit_collected(struct emit *e, unsigned word);
/* Put down one word for the scheduler. */
void emit_put_word(struct emit *e, unsigned word, LLVMValueRef value);
/* Results of a whole warp: whether an instruction has slots for them, one of them, and whether a block
 * begins by taking them. */
bool emit_has_slots(const struct ptx_inst *inst);
void emit_put_result(struct emit *e, unsigned word, LLVMValueRef value);
bool emit_has_results(struct emit *e, size_t block);

/* emit_meet.c: what a whole warp does together.  Instead of emit_collect, if that is true; `members`
 * may be NULL. */
bool emit_meet(struct emit *e, uint32_t what, const struct ptx_operand *members,
	LLVMValueRef *words);

/* What the rows of ptx.def name. */
typedef void emit_fn(struct emit *e, const struct ptx_inst *inst);
/* Make the code of an instruction for one lane, with scalars for types, constants and operands, and
 * run it for each lane that is active. */
void emit_each_lane(struct emit *e, const struct ptx_inst *inst, emit_fn *lane);
/* The same, for what comes between the two. */
struct emit_lanes {
	LLVMBasicBlockRef head, after;
	LLVMValueRef left;              /* lanes to do, the present one among them */
	LLVMValueRef mask, mask_lanes;
};
void emit_lanes_begin(struct emit *e, struct emit_lanes *l);
void emit_lanes_end(struct emit *e, const struct emit_lanes *l);

/* Elements from a vector of places, in the lanes that run; zeros in the others.  Where not all run,
 * a processor that has no such instruction would need a branch for each lane: ask before. */
bool emit_can_gather(struct emit *e);
LLVMValueRef emit_gather(struct emit *e, LLVMTypeRef type, LLVMValueRef places);
/* To them, in the order of the lanes; only if the processor has an instruction for that. */
bool emit_can_scatter(struct emit *e);
void emit_scatter(struct emit *e, LLVMValueRef value, LLVMValueRef places);

/* A vector of some elements of two others, by number; emit_value.c. */
LLVMValueRef emit_shuffle(struct emit *e, LLVMValueRef a, LLVMValueRef b, const unsigned *order,
	unsigned count);
/* Two vectors of one type behind each other; likewise. */
LLVMValueRef emit_join(struct emit *e, LLVMValueRef a, LLVMValueRef b);
/* emit_wide.c: a warp reads or writes `count` elements in each lane, one behind the other from the
 * addresses `at` (i64 of lanes) on. */
struct emit_wide {
	struct emit_member *member;     /* whose access it is, if there is a team */
	enum ptx_type type;
	unsigned count;
	LLVMValueRef at;
	LLVMValueRef values[8];
};
/* Those of several warps are done together if they can: with one test for all. */
void emit_wide_load(struct emit *e, struct emit_wide *all, unsigned warps);
void emit_wide_store(struct emit *e, struct emit_wide *all, unsigned warps);
/* Of a comparison that asks whether lanes are neighbours, or alike, the vector of addresses, which is
 * compared with (its lanes in another order) + offsets, constants or NULL; NULL: it asks something else. */
LLVMValueRef emit_asked(LLVMValueRef *order, LLVMValueRef *offsets, LLVMValueRef compare);
/* emit_mem.c: whether a load or store, of all lanes, is such; what it accesses; what comes of it. */
bool emit_is_wide(struct emit *e, const struct ptx_inst *inst);
void emit_begin_wide(struct emit *e, const struct ptx_inst *inst, struct emit_wide *out);
void emit_end_wide(struct emit *e, const struct ptx_inst *inst, const struct emit_wide *wide);
/* emit_shaped.c: the same where the distances of the addresses are known; false: it is nothing for
 * these. */
bool emit_is_shaped(struct emit *e, const struct ptx_inst *inst, unsigned count, bool loads);
bool emit_shaped_load(struct emit *e, const struct ptx_inst *inst, LLVMValueRef *values,
	unsigned count);
bool emit_shaped_store(struct emit *e, const struct ptx_inst *inst, const LLVMValueRef *values,
	unsigned count);
/* emit_lanes.c: `count` elements of `size` bytes in each of 32 lanes, one behind the other from the
 * lane's place (a pointer to i8) on, by an access for each; in the order of the lanes, if stored. */
void emit_load_lanes(struct emit *e, LLVMValueRef *values, const LLVMValueRef *places,
	LLVMTypeRef one, unsigned size, unsigned count);
void emit_store_lanes(struct emit *e, const LLVMValueRef *values, const LLVMValueRef *places,
	unsigned size, unsigned count);
/* What each lane does by itself, in a function of C: put down where and `count` values, call the
 * function of struct rt_calls at `slot`, take results. */
void emit_put_lanes(struct emit *e, LLVMValueRef at, const LLVMValueRef *values, unsigned count);
void emit_call_lanes(struct emit *e, size_t slot, unsigned size, unsigned count, bool store);
LLVMValueRef emit_take_lanes(struct emit *e, LLVMTypeRef type, unsigned part);

/* emit_bypass.c: store a vector of so many bytes, of all lanes, anywhere; past the cache where that is
 * good.  init, false: no memory. */
bool emit_bypass_init(struct emit *e);
void emit_bypass_finish(struct emit *e);
void emit_store_row(struct emit *e, LLVMValueRef value, LLVMValueRef place, unsigned size);

/* emit_local.c: ld and st with such an address, of a warp. */
bool emit_is_local(struct emit *e, const struct ptx_inst *inst, const struct ptx_operand *operand);
void emit_local_load(struct emit *e, const struct ptx_inst *inst);
void emit_local_store(struct emit *e, const struct ptx_inst *inst);

/* emit_strong.c: ld and st with an order or volatile, of a warp. */
bool emit_is_strong(struct emit *e, const struct ptx_inst *inst);
emit_fn emit_strong_load, emit_strong_store;
emit_fn emit_add, emit_addc, emit_sub, emit_subc, emit_mul, emit_mul24, emit_mad, emit_madc,
	emit_mad24, emit_div, emit_rem, emit_sad, emit_abs, emit_neg, emit_minmax, emit_dp4a,
	emit_dp2a, emit_video, emit_video_parts, emit_vmad;
emit_fn emit_logic, emit_not, emit_cnot, emit_shift, emit_shf, emit_popc, emit_clz, emit_bfind,
	emit_brev, emit_bfe, emit_bfi, emit_bmsk, emit_szext, emit_lop3, emit_prmt;
emit_fn emit_setp, emit_fsetp, emit_set, emit_fset, emit_selp, emit_slct, emit_testp;
emit_fn emit_fadd, emit_fsub, emit_fmul, emit_fma, emit_fdiv, emit_rcp, emit_sqrt, emit_rsqrt,
	emit_fabs, emit_fneg, emit_fminmax, emit_copysign;
emit_fn emit_hbinary, emit_hfma, emit_hneg, emit_habs, emit_hminmax, emit_hex2,
	emit_htanh;
emit_fn emit_ex2, emit_lg2, emit_sin, emit_cos, emit_tanh;
emit_fn emit_add_x2, emit_minmax_x2, emit_lop3_pred, emit_fns, emit_policy, emit_atom_vector,
	emit_red_vector;
emit_fn emit_cvt_half, emit_cvt_pack, emit_cvt_tf32, emit_cvt_small, emit_cvt_from_small,
	emit_cvt_ue8m0, emit_cvt_from_ue8m0;
emit_fn emit_mov, emit_cvt, emit_cvt_pair, emit_cvta, emit_isspacep, emit_istypep;
emit_fn emit_tex, emit_surface, emit_query;
emit_fn emit_ld, emit_st, emit_atom, emit_atom_cas, emit_red, emit_fence, emit_prefetch, emit_nothing;
emit_fn emit_call, emit_fail_launch;
emit_fn emit_bar_sync, emit_bar_arrive, emit_bar_red, emit_bar_warp_sync, emit_bra, emit_brx,
	emit_exit, emit_trap, emit_nanosleep, emit_activemask;
emit_fn emit_mma, emit_wmma_load, emit_wmma_store, emit_ldmatrix, emit_stmatrix, emit_movmatrix;
emit_fn emit_cp_async, emit_cp_bulk, emit_st_bulk, emit_cp_arrive, emit_mbarrier, emit_mbarrier_pending;
emit_fn emit_shfl, emit_vote, emit_match, emit_redux, emit_elect;

/* Short forms of the builder, used everywhere. */
#define IR_BINARY(X) \
	X(add, LLVMBuildAdd) X(sub, LLVMBuildSub) X(mul, LLVMBuildMul) \
	X(sdiv, LLVMBuildSDiv) X(udiv, LLVMBuildUDiv) \
	X(srem, LLVMBuildSRem) X(urem, LLVMBuildURem) \
	X(and, LLVMBuildAnd) X(or, LLVMBuildOr) X(xor, LLVMBuildXor) \
	X(shl, LLVMBuildShl) X(lshr, LLVMBuildLShr) X(ashr, LLVMBuildAShr) \
	X(fadd, LLVMBuildFAdd) X(fsub, LLVMBuildFSub) X(fmul, LLVMBuildFMul) X(fdiv, LLVMBuildFDiv)
#define X(name, build) \
	static inline LLVMValueRef ir_##name(struct emit *e, LLVMValueRef a, LLVMValueRef b) \
	{ \
		return build(e->builder, a, b, ""); \
	}
IR_BINARY(X)
#undef X

#define IR_CAST(X) \
	X(zext, LLVMBuildZExtOrBitCast) X(sext, LLVMBuildSExtOrBitCast) \
	X(trunc, LLVMBuildTruncOrBitCast) X(bitcast, LLVMBuildBitCast) \
	X(fpext, LLVMBuildFPExt) X(fptrunc, LLVMBuildFPTrunc) \
	X(sitofp, LLVMBuildSIToFP) X(uitofp, LLVMBuildUIToFP)
#define X(name, build) \
	static inline LLVMValueRef ir_##name(struct emit *e, LLVMValueRef a, LLVMTypeRef type) \
	{ \
		return build(e->builder, a, type, ""); \
	}
IR_CAST(X)
#undef X

/* Of a vector of i1, a bit for each lane. */
static inline LLVMValueRef emit_lane_bits(struct emit *e, LLVMValueRef lanes)
{
	return ir_bitcast(e, lanes, e->s.i32);
}

static inline LLVMValueRef ir_icmp(struct emit *e, LLVMIntPredicate is, LLVMValueRef a,
	LLVMValueRef b)
{
	return LLVMBuildICmp(e->builder, is, a, b, "");
}

static inline LLVMValueRef ir_fcmp(struct emit *e, LLVMRealPredicate is, LLVMValueRef a,
	LLVMValueRef b)
{
	return LLVMBuildFCmp(e->builder, is, a, b, "");
}

static inline LLVMValueRef ir_select(struct emit *e, LLVMValueRef which, LLVMValueRef yes,
	LLVMValueRef no)
{
	return LLVMBuildSelect(e->builder, which, yes, no, "");
}

static inline LLVMValueRef ir_not(struct emit *e, LLVMValueRef a)
{
	return LLVMBuildNot(e->builder, a, "");
}

static inline LLVMValueRef ir_neg(struct emit *e, LLVMValueRef a)
{
	return LLVMBuildNeg(e->builder, a, "");
}

static inline LLVMValueRef ir_fneg(struct emit *e, LLVMValueRef a)
{
	return LLVMBuildFNeg(e->builder, a, "");
}

/* With constants. */

static inline LLVMValueRef ir_shl_by(struct emit *e, LLVMValueRef a, uint64_t count)
{
	return ir_shl(e, a, emit_const(e, LLVMTypeOf(a), count));
}

static inline LLVMValueRef ir_lshr_by(struct emit *e, LLVMValueRef a, uint64_t count)
{
	return ir_lshr(e, a, emit_const(e, LLVMTypeOf(a), count));
}

static inline LLVMValueRef ir_mask(struct emit *e, LLVMValueRef a, uint64_t bits)
{
	return ir_and(e, a, emit_const(e, LLVMTypeOf(a), bits));
}

/* Bits of an integer, or of each in a vector. */
static inline unsigned ir_width(LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
	return LLVMGetIntTypeWidth(vector ? LLVMGetElementType(type) : type);
}

static inline bool ir_is_f32(struct emit *e, LLVMValueRef value)
{
	return LLVMTypeOf(value) == e->f32;
}

/* To a wider or narrower integer. */
static inline LLVMValueRef ir_resize(struct emit *e, LLVMValueRef a, LLVMTypeRef type, bool sign)
{
	return LLVMBuildIntCast2(e->builder, a, type, sign, "");
}

/* LLVM intrinsics that are overloaded on the type of their first argument. */
/* Whether a value is an instruction of a kind; NULL is none. */
bool ir_is(LLVMValueRef value, LLVMOpcode op);
/* Of a vector that is no constant: the scalar that all lanes have; NULL: not by its instructions. */
LLVMValueRef ir_splat_scalar(LLVMValueRef vector);
LLVMValueRef ir_intrinsic(struct emit *e, const char *name, LLVMTypeRef *types,
	unsigned type_count, LLVMValueRef *args, unsigned count);
LLVMValueRef ir_call1(struct emit *e, const char *name, LLVMValueRef a);
LLVMValueRef ir_call2(struct emit *e, const char *name, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef ir_call3(struct emit *e, const char *name, LLVMValueRef a, LLVMValueRef b,
	LLVMValueRef c);

#endif

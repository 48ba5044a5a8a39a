/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_EMIT_FLOW_H
#define CPU_CODEGEN_EMIT_FLOW_H

/* Control flow: what ends a block, and the versions of blocks. */
#include "cpu/runtime/rt.h"
#include "cpu/codegen/emit.h"
#include "cpu/ir/if_convert.h"

/* Whether a warp whose lanes part at the end of a block stays converged: see emit_if.c. */
static inline bool emit_converts_if(const struct emit *e, size_t block)
{
	return emit_does(e, PASS_IF_CONVERSION) && !e->serial && if_convert_suits(e->func, block);
}

/* emit_flow.c: what ends a block; of diverged lanes, the block that comes next, and the lanes that
 * are to run a block when it comes. */
LLVMBasicBlockRef emit_next_diverged(const struct emit *e);
void emit_add_pending(struct emit *e, size_t block, LLVMValueRef lanes);
void emit_goto(struct emit *e, size_t block);
/* Parts of strategies. */
void emit_go_converged(struct emit *e, size_t block);
void emit_exit_converged(struct emit *e);
void emit_branch_one(struct emit *e, const struct ptx_inst *inst, size_t yes, size_t no);
/* At the end of a converged block: if all lanes branch alike they do.  On with those that do not;
 * false: the guard is a scalar, so that there are none. */
bool emit_branch_alike(struct emit *e, LLVMValueRef guard, size_t yes, size_t no);
/* Yield; go on in the next block when the wait is over. */
void emit_wait(struct emit *e, enum rt_yield why);
/* That from a diverged version, because of the lanes that run; from a converged one.  They go on in
 * `block`. */
void emit_park(struct emit *e, enum rt_yield why, size_t block);
void emit_yield_before(struct emit *e, enum rt_yield why, size_t block);
size_t emit_block_after(const struct emit *e); /* the only one */
/* Fail the launch if a scalar i1 is true.  Also within emit_each_lane. */
void emit_trap_if(struct emit *e, LLVMValueRef condition);

/* emit_slots.c: what survives a yield */
/* In the frame: the lanes pending for a block; bytes of all of these, in front of the registers. */
LLVMValueRef emit_pending_place(struct emit *e, size_t block);
size_t emit_pending_size(const struct emit *e);
/* Save the registers of a set in the frame, or load them from there. */
void emit_move_regs(struct emit *e, const uint64_t *set, bool save);
/* In a converged version: all lanes go to diverged blocks, which have their registers in slots. */
void emit_put_slots(struct emit *e);
/* Of a warp of a team, which goes on by itself with RT_SWEEP: those lanes in `yes`, the others in
 * `no`.  Its registers go to its frame. */
void emit_put_apart(struct emit *e, size_t yes, size_t no, LLVMValueRef lanes);

/* emit_serial.c: lanes that part go on one after the other. */
struct emit_serial {
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
bool emit_serial_init(struct emit *e);
void emit_serial_finish(struct emit *e);
void emit_serial_begin(struct emit *e);
/* Of `lanes` those in `taken` go to `yes`, the others to `no`. */
void emit_part_serial(struct emit *e, LLVMValueRef lanes, LLVMValueRef taken, size_t yes, size_t no);

/* emit_interleave.c: all warps of a block in step. */
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
bool emit_interleave_init(struct emit *e, unsigned count);
void emit_interleave_finish(struct emit *e);
/* Where a warp begins: all of them may.  And how they do. */
void emit_interleave_start(struct emit *e);
void emit_interleave_begin(struct emit *e);

/* emit_blocks.c: converged blocks, diverged ones, and what goes between. */
void emit_blocks(struct emit *e);

/* emit_warps.c: all is made but what follows the end of a warp. */
void emit_end_warps(struct emit *e, LLVMValueRef clear);

#endif

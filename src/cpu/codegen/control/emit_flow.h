/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_CONTROL_EMIT_FLOW_H
#define CPU_CODEGEN_CONTROL_EMIT_FLOW_H

/* Control flow: what ends a block, and the versions of blocks. */
#include "cpu/runtime/rt.h"
#include "cpu/codegen/values/emit.h"

/* emit_flow.c: what ends a block; of diverged lanes, the block that comes next, and the lanes that
 * are to run a block when it comes. */
LLVMBasicBlockRef emit_next_diverged(const struct emit *e);
void emit_add_pending(struct emit *e, size_t block, LLVMValueRef lanes);
void emit_goto(struct emit *e, size_t block);
/* For one lane: whether control comes only from the end of the block before, by a jump.  The two
 * are one block of LLVM then, as the functions that flatten.c has put one after the other. */
bool emit_goes_on(const struct emit *e, size_t block);
/* Parts of strategies. */
void emit_go_converged(struct emit *e, size_t block);
void emit_exit_converged(struct emit *e);
void emit_branch_one(struct emit *e, const struct ptx_inst *inst, size_t yes, size_t no);
/* At the end of a converged block: if all lanes branch alike they do.  Go on with the lanes that do
 * not branch; false: the guard is a scalar, so no lanes part. */
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

/* emit_serial.c: lanes that part go on one after the other. */
struct emit_serial {
	LLVMBasicBlockRef *blocks;
	LLVMValueRef *regs;     /* the slots of a lane */
	LLVMValueRef *rooms;    /* what all lanes had where they parted; NULL until there is one */
	/* Slots: the lanes that run, the lanes that will, the lanes that take the branch, and where
	 * they parted. */
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
void emit_part_serial(struct emit *e, LLVMValueRef lanes, LLVMValueRef taken, size_t yes,
	size_t no);

/* emit_warps.c: all is made but what follows the end of a warp. */
void emit_end_warps(struct emit *e, LLVMValueRef clear);

#endif

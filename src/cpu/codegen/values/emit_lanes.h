/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_VALUES_EMIT_LANES_H
#define CPU_CODEGEN_VALUES_EMIT_LANES_H

/* The lanes of a warp: which of them run, one after the other, together. */
#include "cpu/codegen/values/emit.h"

/* emit_lanes.c */
/* W = 32: the lanes that run, as a scalar. */
LLVMValueRef emit_active(struct emit *e);
/* The lanes of a set of 32 bits, as a vector of i1. */
LLVMValueRef emit_lanes_of(struct emit *e, LLVMValueRef set);
/* The first of the lanes that run; 0 if no lane runs. */
LLVMValueRef emit_first_lane(struct emit *e);
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

#define EMIT_MAX_ARGS 8
/* Call a function of struct rt_calls, at offset `slot`, with the warp in front: once for each lane
 * if an argument is a vector.  The result has a type of lanes, or is void (NULL). */
LLVMValueRef emit_rt_call(struct emit *e, size_t slot, LLVMTypeRef result, LLVMValueRef *args,
	unsigned count);
/* One call, with scalars for arguments. */
LLVMValueRef emit_call_once(struct emit *e, size_t slot, LLVMTypeRef result, LLVMValueRef *args,
	unsigned count);

/* `count` elements of `size` bytes in each of 32 lanes, one after the other from the lane's place
 * (a pointer to i8) on, by an access for each; in the order of the lanes, if stored. */
void emit_load_lanes(struct emit *e, LLVMValueRef *values, const LLVMValueRef *places,
	LLVMTypeRef one, unsigned size, unsigned count);
void emit_store_lanes(struct emit *e, const LLVMValueRef *values, const LLVMValueRef *places,
	unsigned size, unsigned count);
/* What each lane does by itself, in a function of C: put down where and `count` values, call the
 * function of struct rt_calls at `slot`, take results. */
void emit_put_lanes(struct emit *e, LLVMValueRef at, const LLVMValueRef *values, unsigned count);
void emit_call_lanes(struct emit *e, size_t slot, unsigned size, unsigned count, bool store);
LLVMValueRef emit_take_lanes(struct emit *e, LLVMTypeRef type, unsigned part);
/* Instead of a call, a loop over the lanes that run: each moves `count` elements of `type` from
 * what was put down to its place, or back if it loads. */
void emit_move_lanes(struct emit *e, LLVMTypeRef type, unsigned size, unsigned count, bool store);


#endif

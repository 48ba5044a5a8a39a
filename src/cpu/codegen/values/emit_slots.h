/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_VALUES_EMIT_SLOTS_H
#define CPU_CODEGEN_VALUES_EMIT_SLOTS_H

/* Registers in slots: what survives a yield, or is live where control comes from elsewhere. */
#include "cpu/codegen/values/emit.h"
#include "cpu/ir/if_convert.h"

/* Whether a warp whose lanes part at the end of a block stays converged: see emit_if.c. */
static inline bool emit_converts_if(const struct emit *e, size_t block, struct if_region *region)
{
	return emit_does(e, PASS_IF_CONVERSION) && !e->serial
		&& if_convert_find(region, e->func, block);
}

/* emit_slots.c: what survives a yield */
/* In the frame: the lanes pending for a block; bytes of all of these, in front of the registers. */
LLVMValueRef emit_pending_place(struct emit *e, size_t block);
size_t emit_pending_size(const struct emit *e);
/* Save the registers of a set in the frame, or load them from there. */
void emit_move_regs(struct emit *e, const uint64_t *set, bool save);
/* The same for the registers that are live at the start of a block. */
void emit_move_live(struct emit *e, size_t block, bool save);
/* In a converged version: all lanes go to diverged blocks, which have their registers in slots. */
void emit_put_slots(struct emit *e);
/* Of a warp of a team, which goes on by itself with RT_SWEEP: those lanes in `yes`, the others in
 * `no`.  Its registers go to its frame. */
void emit_put_apart(struct emit *e, size_t yes, size_t no, LLVMValueRef lanes);

/* A way from block to block where lanes part, and the lanes that go there. */
struct emit_way {
	size_t from, to;
	LLVMValueRef lanes;
};
/* Where several ways lead into a block: its phis have there what each lane has where it comes from.
 * They are values for as long as the block is made under a mask, and `old` is what was there, for
 * emit_give_phis; or they are those of the converged block. */
void emit_take_phis(struct emit *e, size_t block, const struct emit_way *ways, size_t count,
	LLVMValueRef *old);
void emit_give_phis(struct emit *e, size_t block, const LLVMValueRef *old);
void emit_select_phis(struct emit *e, size_t block, const struct emit_way *ways, size_t count);
/* A block that has been made may be skipped, from `before` to `after`, which follows: then all that
 * it makes, and the ways out of it, are zero. */
void emit_merge_skipped(struct emit *e, size_t block, LLVMBasicBlockRef before,
	LLVMBasicBlockRef after, struct emit_way *ways, size_t count);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_CONTROL_EMIT_COLLECT_H
#define CPU_CODEGEN_CONTROL_EMIT_COLLECT_H

/* What the threads of a block do together: collectives. */
#include "cpu/codegen/values/emit.h"

/*
 * emit_collect.c: collectives, in two halves (see lower.c and struct rt_exchange).  The first puts
 * down `what`, the threads to wait for and the operands, all i32 of lanes, and ends the block; the
 * second takes the results.
 */
void emit_collect(struct emit *e, uint32_t what, LLVMValueRef members, LLVMValueRef *words,
	unsigned count);
LLVMValueRef emit_collected(struct emit *e, unsigned word);
/* Put down one word for the scheduler. */
void emit_put_word(struct emit *e, unsigned word, LLVMValueRef value);
/* Results of a whole warp: whether an instruction has slots for them, one of them, and whether a
 * block begins by taking them. */
bool emit_has_slots(const struct ptx_inst *inst);
void emit_put_result(struct emit *e, unsigned word, LLVMValueRef value);
bool emit_has_results(struct emit *e, size_t block);

/* emit_collective.c: what a whole warp does together.  Instead of emit_collect, if that is true;
 * `members` may be NULL. */
bool emit_collective(struct emit *e, uint32_t what, const struct ptx_operand *members,
	LLVMValueRef *words);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The two halves of a collective (lower.c), and the exchange in which lanes meet.
 *
 * The first half writes the operation, its members and its operands to struct rt_exchange and ends
 * the block.  If all members have come it goes on at once, else it yields.  The second half reads
 * the results.  A collective that a whole warp computes by itself (emit_collective.c) does not use
 * the exchange: it leaves its results in two slots, and the second half looks there first.
 */
#include "base/common.h"

#include "cpu/codegen/control/emit_collect.h"
#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

/* --- The exchange --- */

/* The lanes' places in an array of struct rt_exchange. */
static LLVMValueRef collect_exchange_place(struct emit *e, size_t offset)
{
	LLVMValueRef base = emit_exchange_base(e);
	LLVMValueRef place = emit_at(e, base, emit_scalar(e, 64, offset), e->s.i8);
	if (emit_is_vector(e)) {
		return ir_bitcast(e, place, LLVMPointerType(e->i32, 0));
	}
	LLVMValueRef lane = ir_zext(e, emit_sreg(e, PTX_SREG_LANEID), e->s.i64);
	return emit_at(e, place, ir_shl_by(e, lane, 2), e->s.i32);
}

static void collect_put_exchange(struct emit *e, size_t offset, LLVMValueRef value)
{
	LLVMValueRef place = collect_exchange_place(e, offset);
	if (e->mask_lanes) {
		LLVMValueRef old = LLVMBuildLoad2(e->builder, e->i32, place, "");
		LLVMSetAlignment(old, 4);
		value = ir_select(e, e->mask_lanes, value, old);
	}
	LLVMSetAlignment(LLVMBuildStore(e->builder, value, place), 4);
}

static size_t collect_word_offset(unsigned word)
{
	return offsetof(struct rt_exchange, words) + word * RT_GROUP * sizeof(uint32_t);
}

void emit_put_word(struct emit *e, unsigned word, LLVMValueRef value)
{
	assert(word < RT_WORDS);
	collect_put_exchange(e, collect_word_offset(word), value);
}

static LLVMValueRef collect_exchanged(struct emit *e, unsigned word)
{
	assert(word < RT_WORDS);
	LLVMValueRef place = collect_exchange_place(e, collect_word_offset(word));
	LLVMValueRef value = LLVMBuildLoad2(e->builder, e->i32, place, "");
	LLVMSetAlignment(value, 4);
	return value;
}

/* --- Results of a whole warp --- */

bool emit_has_slots(const struct ptx_inst *inst)
{
	switch (inst->op) {
	case PTX_OP_SHFL_SYNC:
	case PTX_OP_SHFL:
	case PTX_OP_VOTE_SYNC:
	case PTX_OP_VOTE:
	case PTX_OP_BALLOT_SYNC:
	case PTX_OP_BALLOT:
	case PTX_OP_MATCH_ANY:
	case PTX_OP_MATCH_ALL:
	case PTX_OP_REDUX_INT:
	case PTX_OP_REDUX_BITS:
	case PTX_OP_ELECT:
		return true;
	default:
		return false;
	}
}

void emit_put_result(struct emit *e, unsigned word, LLVMValueRef value)
{
	assert(word < countof(e->results));
	if (!e->results[word]) {
		e->results[word] = emit_room(e, e->v.i32, "result");
	}
	LLVMBuildStore(e->builder, value, e->results[word]);
}

static LLVMValueRef collect_result_met(struct emit *e, unsigned word)
{
	bool is_met = e->width > 1 && !emit_is_diverged(e) && emit_has_slots(e->inst);
	return is_met && e->results[word]
		? LLVMBuildLoad2(e->builder, e->v.i32, e->results[word], "") : NULL;
}

bool emit_has_results(struct emit *e, size_t block)
{
	const struct ptx_inst *inst = &e->func->insts[e->func->blocks[block].first];
	return e->width > 1 && inst->is_second && emit_has_slots(inst);
}

/* --- The halves --- */

LLVMValueRef emit_collected(struct emit *e, unsigned word)
{
	LLVMValueRef met = collect_result_met(e, word);
	return met ? met : collect_exchanged(e, word);
}

void emit_collect(struct emit *e, uint32_t what, LLVMValueRef members, LLVMValueRef *words,
	unsigned count)
{
	collect_put_exchange(e, offsetof(struct rt_exchange, what), emit_int(e, 32, what));
	collect_put_exchange(e, offsetof(struct rt_exchange, members), members);
	for (unsigned i = 0; i < count; i++) {
		emit_put_word(e, i, words[i]);
	}
	LLVMValueRef lanes = e->width > 1 ? emit_active(e) : emit_u32(e, 1);
	LLVMValueRef done = emit_call_once(e, offsetof(struct rt_calls, collect), e->s.i32, &lanes,
		1);
	LLVMBasicBlockRef on = emit_block(e, "complete"), wait = emit_block(e, "wait");
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntNE, done, emit_u32(e, 0)), on, wait);
	emit_enter(e, on);
	if (!emit_is_diverged(e) && emit_has_results(e, emit_block_after(e))) {
		for (unsigned i = 0; i < countof(e->results); i++) {
			emit_put_result(e, i, collect_exchanged(e, i));
		}
	}
	emit_goto(e, emit_block_after(e));
	emit_enter(e, wait);
	if (e->width > 1) {
		emit_park(e, RT_YIELD_WARP, emit_block_after(e));
	} else {
		emit_yield_before(e, RT_YIELD_WARP, emit_block_after(e));
	}
}

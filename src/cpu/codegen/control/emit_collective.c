/* SPDX-License-Identifier: MIT */
/*
 * Convergent collectives: the operations of a whole warp (W = 32).
 *
 * In converged code all 32 threads are there, so none has to wait and nothing goes through the
 * exchange.  A shuffle moves the elements of a vector, a vote is the bits of one.  The results go
 * to the second half of the instruction in two slots.  Diverged code meets in the exchange
 * (emit_collect.c), and its second half is diverged, too.
 *
 * Threads that name the same members meet.  If the threads of a warp name different members, as
 * tiles of a warp do, the exchange finds the groups, and the results come from there.
 */
#include "base/common.h"

#include "cpu/runtime/rt_collect.h"
#include "cpu/codegen/control/emit_collect.h"
#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"

#include <stdio.h>

/* --- What each operation computes, from the operands of all lanes --- */

static LLVMValueRef collective_is_set(struct emit *e, LLVMValueRef word)
{
	return emit_lane_bits(e, ir_icmp(e, LLVMIntNE, word, emit_int(e, 32, 0)));
}

/* A shuffle that is known here is one of LLVM's. */
static void collective_shuffle_known(struct emit *e, enum collect_shfl mode, LLVMValueRef value,
	uint32_t b, uint32_t c)
{
	LLVMValueRef order[RT_MAX_WIDTH], in_range[RT_MAX_WIDTH];
	for (uint32_t i = 0; i < RT_MAX_WIDTH; i++) {
		bool is_in_range = false;
		order[i] = emit_u32(e, collect_shfl_source(mode, i, b, c, &is_in_range));
		in_range[i] = emit_u32(e, is_in_range);
	}
	emit_put_result(e, 0, LLVMBuildShuffleVector(e->builder, value, LLVMGetUndef(e->v.i32),
		LLVMConstVector(order, RT_MAX_WIDTH), ""));
	emit_put_result(e, 1, LLVMConstVector(in_range, RT_MAX_WIDTH));
}

/* By an instruction that picks from 32 elements. */
static LLVMValueRef collective_permute_16(struct emit *e, LLVMValueRef value, LLVMValueRef from,
	unsigned first)
{
	LLVMValueRef args[] = {emit_some_lanes(e, value, 0, 16),
		emit_some_lanes(e, from, first, 16), emit_some_lanes(e, value, 16, 16)};
	return ir_intrinsic(e, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0, args, countof(args));
}

/* By one that picks from 8, lanes `first` and so on of the vector. */
static LLVMValueRef collective_pick_8(struct emit *e, LLVMValueRef value, LLVMValueRef from,
	unsigned first)
{
	LLVMValueRef picked[4];
	for (unsigned i = 0; i < countof(picked); i++) {
		LLVMValueRef args[] = {emit_some_lanes(e, value, first, 8),
			emit_some_lanes(e, from, 8 * i, 8)};
		picked[i] = ir_intrinsic(e, "llvm.x86.avx2.permd", NULL, 0, args, countof(args));
	}
	return emit_join(e, emit_join(e, picked[0], picked[1]),
		emit_join(e, picked[2], picked[3]));
}

/* Bits 3 and 4 say which 8 it is. */
static LLVMValueRef collective_permute_8(struct emit *e, LLVMValueRef value, LLVMValueRef from)
{
	LLVMValueRef picked[4], zero = emit_int(e, 32, 0);
	for (unsigned i = 0; i < countof(picked); i++) {
		picked[i] = collective_pick_8(e, value, from, 8 * i);
	}
	LLVMValueRef is_odd = ir_icmp(e, LLVMIntSLT, ir_shl_by(e, from, 28), zero);
	LLVMValueRef is_upper = ir_icmp(e, LLVMIntSLT, ir_shl_by(e, from, 27), zero);
	return ir_select(e, is_upper, ir_select(e, is_odd, picked[3], picked[2]),
		ir_select(e, is_odd, picked[1], picked[0]));
}

/* Element `from` of a vector, for each lane. */
static LLVMValueRef collective_permute(struct emit *e, LLVMValueRef value, LLVMValueRef from)
{
	if (e->has_avx512) {
		return emit_join(e, collective_permute_16(e, value, from, 0),
			collective_permute_16(e, value, from, 16));
	}
	if (e->has_avx2) {
		return collective_permute_8(e, value, from);
	}
	LLVMValueRef room = emit_room(e, e->v.i32, "shuffled");
	LLVMBuildStore(e->builder, value, room);
	LLVMValueRef base = ir_bitcast(e, room, LLVMPointerType(e->s.i32, 0));
	LLVMValueRef places = LLVMBuildGEP2(e->builder, e->s.i32, base, &from, 1, "");
	return emit_gather(e, e->v.i32, places);
}

/* What collect_shfl_source does, for all lanes. */
static LLVMValueRef collective_source_of(struct emit *e, enum collect_shfl mode, LLVMValueRef b,
	LLVMValueRef c, LLVMValueRef *in_range)
{
	LLVMValueRef lane = emit_lane_number(e);
	LLVMValueRef offset = ir_mask(e, b, 31);
	LLVMValueRef mask = ir_mask(e, ir_lshr_by(e, c, 8), 31);
	LLVMValueRef least = ir_and(e, lane, mask);
	LLVMValueRef rest = ir_not(e, mask);
	LLVMValueRef most = ir_or(e, least, ir_and(e, ir_mask(e, c, 31), rest));
	LLVMValueRef from = mode == SHFL_UP ? ir_sub(e, lane, offset)
		: mode == SHFL_DOWN ? ir_add(e, lane, offset)
		: mode == SHFL_BFLY ? ir_xor(e, lane, offset)
		: ir_or(e, least, ir_and(e, offset, rest));
	*in_range = ir_icmp(e, mode == SHFL_UP ? LLVMIntSGE : LLVMIntULE, from, most);
	return ir_select(e, *in_range, from, lane);
}

static void collective_shuffle(struct emit *e, enum collect_shfl mode, LLVMValueRef *words)
{
	uint64_t b, c;
	if (emit_is_known(e, &e->inst->operands[2], &b)
	    && emit_is_known(e, &e->inst->operands[3], &c)) {
		collective_shuffle_known(e, mode, words[0], (uint32_t)b, (uint32_t)c);
		return;
	}
	LLVMValueRef in_range;
	LLVMValueRef from = collective_source_of(e, mode, words[1], words[2], &in_range);
	emit_put_result(e, 0, collective_permute(e, words[0], from));
	emit_put_result(e, 1, ir_zext(e, in_range, e->i32));
}

static void collective_vote(struct emit *e, enum collect_vote kind, LLVMValueRef word)
{
	LLVMValueRef bits = collective_is_set(e, word);
	LLVMValueRef any = ir_icmp(e, LLVMIntNE, bits, emit_u32(e, 0));
	LLVMValueRef all = ir_icmp(e, LLVMIntEQ, bits, emit_u32(e, UINT32_MAX));
	LLVMValueRef result = kind == VOTE_ALL ? all : kind == VOTE_ANY ? any
		: ir_or(e, all, ir_not(e, any));
	emit_put_result(e, 0, emit_splat(e, ir_zext(e, result, e->s.i32)));
}

/* For each lane which lanes have the same value, one lane after the other. */
static LLVMValueRef collective_matches(struct emit *e, LLVMValueRef value)
{
	LLVMTypeRef all = LLVMTypeOf(value);
	LLVMTypeRef one = LLVMGetElementType(all);
	LLVMValueRef room = emit_room(e, all, "matched");
	LLVMValueRef out = emit_room(e, e->v.i32, "matches");
	LLVMBuildStore(e->builder, value, room);
	room = ir_bitcast(e, room, e->ptr);
	out = ir_bitcast(e, out, e->ptr);
	for (unsigned i = 0; i < RT_MAX_WIDTH; i++) {
		LLVMValueRef mine = emit_field(e, room, i * ir_width(value) / 8, one);
		LLVMValueRef same = ir_icmp(e, LLVMIntEQ, value, emit_splat(e, mine));
		emit_set_field(e, out, i * sizeof(uint32_t), emit_lane_bits(e, same));
	}
	return emit_field(e, out, 0, e->v.i32);
}

static void collective_match(struct emit *e, LLVMValueRef *words)
{
	LLVMValueRef value = words[0];
	if (ptx_type_size(e->inst->types[0]) > sizeof(uint32_t)) {
		LLVMValueRef high = ir_shl_by(e, ir_zext(e, words[1], e->i64), 32);
		value = ir_or(e, ir_zext(e, value, e->i64), high);
	}
	LLVMValueRef same = collective_matches(e, value);
	LLVMValueRef all = ir_icmp(e, LLVMIntEQ, same, emit_int(e, 32, UINT32_MAX));
	emit_put_result(e, 0, same);
	emit_put_result(e, 1, ir_zext(e, all, e->i32));
}

static void collective_reduce(struct emit *e, enum collect_redux op, LLVMValueRef word)
{
	static const char *const names[] = {[REDUX_ADD] = "add", [REDUX_AND] = "and",
		[REDUX_OR] = "or", [REDUX_XOR] = "xor", [REDUX_UMIN] = "umin",
		[REDUX_UMAX] = "umax", [REDUX_SMIN] = "smin", [REDUX_SMAX] = "smax"};
	char name[32];
	snprintf(name, sizeof(name), "llvm.vector.reduce.%s", names[op]);
	emit_put_result(e, 0, emit_splat(e, ir_call1(e, name, word)));
}

static void collective_elect(struct emit *e)
{
	LLVMValueRef zero = emit_int(e, 32, 0);
	emit_put_result(e, 0, zero);
	emit_put_result(e, 1, ir_zext(e, ir_icmp(e, LLVMIntEQ, emit_lane_number(e), zero), e->i32));
}

static void collective_compute(struct emit *e, uint32_t what, LLVMValueRef *words)
{
	uint32_t details = what >> COLLECT_SHIFT;
	switch ((enum collect)(what & ((1u << COLLECT_SHIFT) - 1))) {
	case COLLECT_SHFL:
		collective_shuffle(e, (enum collect_shfl)details, words);
		break;
	case COLLECT_BALLOT:
		emit_put_result(e, 0, emit_splat(e, collective_is_set(e, words[0])));
		break;
	case COLLECT_VOTE:
		collective_vote(e, (enum collect_vote)details, words[0]);
		break;
	case COLLECT_MATCH:
		collective_match(e, words);
		break;
	case COLLECT_REDUX:
		collective_reduce(e, (enum collect_redux)details, words[0]);
		break;
	case COLLECT_ELECT:
		collective_elect(e);
		break;
	default: /* nothing to compute */
		break;
	}
}

bool emit_collective(struct emit *e, uint32_t what, const struct ptx_operand *members,
	LLVMValueRef *words)
{
	bool is_sync = e->inst->op == PTX_OP_BAR_WARP_SYNC;
	if (e->width == 1 || e->watches || emit_is_diverged(e)
	    || !(is_sync || emit_has_slots(e->inst))) {
		return false;
	}
	size_t next = e->func->blocks[e->block].succ[0];
	uint64_t set;
	if (!is_sync && members && !emit_is_known(e, members, &set)) {
		LLVMBasicBlockRef one = emit_block(e, "one_set");
		LLVMBasicBlockRef many = emit_block(e, "many_sets");
		LLVMValueRef sets = emit_use(e, members, PTX_U32);
		LLVMValueRef first = LLVMBuildExtractElement(e->builder, sets, emit_u32(e, 0), "");
		LLVMValueRef apart = emit_lane_bits(e,
			ir_icmp(e, LLVMIntNE, sets, emit_splat(e, first)));
		LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntEQ, apart, emit_u32(e, 0)), one,
			many);
		emit_enter(e, one);
		collective_compute(e, what, words);
		emit_goto(e, next);
		emit_enter(e, many);
		return false;
	}
	collective_compute(e, what, words);
	emit_goto(e, next);
	return true;
}

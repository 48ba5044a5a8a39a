/* SPDX-License-Identifier: MIT */
/*
 * The counters of a profiled kernel.
 *
 * A kernel counts in its own array on the stack, and adds that to the worker's table where it
 * returns.  No pointer to the array leaves the function, so LLVM knows that the kernel's accesses
 * cannot reach it, and keeps the counters of a loop in registers.  A kernel whose threads wait
 * returns too often for that, and the array of a huge kernel would take too much stack; these count
 * directly in the table.
 *
 * The lines that a warp touches are computed from the ends of its rows where its lanes lie in rows,
 * from a comparison of neighbours where the addresses ascend, and by a function of C otherwise.
 * Lanes that share an address are found by comparing each with each.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_count.h"

#include "base/alloc.h"
#include "base/checks.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_lanes.h"
#include "cpu/codegen/values/emit_value.h"
#include "cpu/ir/counters.h"

#include <stdlib.h>
#include <string.h>

/* Counters that a kernel may have on its stack. */
enum { MOST_ON_STACK = 2048 };

struct emit_counts {
	struct counters plan;
	LLVMValueRef counters;  /* where the kernel counts, */
	LLVMValueRef table;     /* and the worker's table, if that is elsewhere; else NULL */
	unsigned warps;         /* that an instruction stands for */
	/* Of the access that is being made: */
	size_t first;           /* its counters; 0: there is none */
	struct counters_access access;
	LLVMValueRef at;        /* where lanes access that may lie anywhere; else NULL */
	bool is_counted;        /* they have been found, and counted */
};

bool emit_count_init(struct emit *e, bool counts)
{
	if (!counts) {
		return true;
	}
	e->counts = mem_zalloc(1, sizeof(*e->counts));
	if (e->counts) {
		e->counts->warps = 1;
	}
	return e->counts && counters_plan(&e->counts->plan, e->func,
		e->checks & CHECK_OF_COSTS);
}

void emit_count_free(struct emit *e)
{
	if (e->counts) {
		counters_free(&e->counts->plan);
		mem_free(e->counts);
	}
}

/* Whether the kernel returns now and then, because its threads wait. */
static bool count_waits(const struct emit *e)
{
	bool waits = false;
	for (size_t i = 0; i < e->func->inst_count && !waits; i++) {
		waits = ptx_waits(e->func->insts[i].op);
	}
	return waits;
}

void emit_count_begin(struct emit *e)
{
	struct emit_counts *c = e->counts;
	if (!c) {
		return;
	}
	const size_t count = c->plan.count;
	const bool is_short = count_waits(e) && !e->team;
	LLVMBasicBlockRef back = emit_call_visit(e);
	c->counters = emit_field(e, e->warp, offsetof(struct rt_warp, counters), e->ptr);
	emit_entry_leave(e, back);
	if (count > MOST_ON_STACK || is_short) {
		return;
	}
	c->table = c->counters;
	LLVMValueRef room = emit_room(e, LLVMArrayType(e->s.i64, (unsigned)count), "counters");
	back = emit_call_visit(e);
	c->counters = ir_bitcast(e, room, e->ptr);
	LLVMBuildMemSet(e->builder, c->counters, LLVMConstNull(e->s.i8),
		emit_scalar(e, 64, count * sizeof(uint64_t)), sizeof(uint64_t));
	emit_entry_leave(e, back);
}

void emit_count_for(struct emit *e, unsigned warps)
{
	if (e->counts) {
		e->counts->warps = warps;
	}
}

/* --- Counting --- */

static LLVMValueRef count_place(struct emit *e, LLVMValueRef table, LLVMValueRef at,
	LLVMTypeRef type)
{
	return emit_at(e, table, ir_shl_by(e, at, 3), type);
}

/* Add a scalar of 32 bits, for each of the warps. */
static void count_add(struct emit *e, size_t counter, LLVMValueRef number)
{
	LLVMValueRef place = count_place(e, e->counts->counters, emit_scalar(e, 64, counter),
		e->s.i64);
	LLVMValueRef old = LLVMBuildLoad2(e->builder, e->s.i64, place, "");
	LLVMValueRef more = ir_mul(e, ir_zext(e, number, e->s.i64),
		emit_scalar(e, 64, e->counts->warps));
	LLVMBuildStore(e->builder, ir_add(e, old, more), place);
}

/* How many lanes run, */
static LLVMValueRef count_lanes(struct emit *e)
{
	if (!emit_is_vector(e)) {
		return emit_u32(e, 1);
	}
	return e->mask ? ir_intrinsic(e, "llvm.ctpop", &e->s.i32, 1, &e->mask, 1)
		: emit_u32(e, e->width);
}

/* and 1, or under a guard 0 if none does. */
static LLVMValueRef count_any(struct emit *e)
{
	LLVMValueRef one = emit_u32(e, 1), none = emit_u32(e, 0);
	return !emit_is_vector(e) || !e->mask ? one
		: ir_select(e, ir_icmp(e, LLVMIntNE, e->mask, none), one, none);
}

void emit_count_block(struct emit *e, size_t block, unsigned warps)
{
	if (e->counts) {
		const size_t first = counters_of_block(block);
		emit_count_for(e, warps);
		count_add(e, first + COUNTERS_WARPS, emit_u32(e, 1));
		count_add(e, first + COUNTERS_LANES, count_lanes(e));
		emit_count_for(e, 1);
	}
}

/* --- Lines --- */

static LLVMValueRef count_line_of(struct emit *e, LLVMValueRef at, unsigned lane)
{
	LLVMValueRef address = LLVMBuildExtractElement(e->builder, at, emit_u32(e, lane), "");
	return ir_lshr_by(e, address, RT_LINE_SHIFT);
}

static LLVMValueRef count_most(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
	return ir_select(e, ir_icmp(e, LLVMIntUGT, a, b), a, b);
}

/* Of rows whose lanes ascend and that begin in ascending order: the lines of each row, but for
 * those that the rows before it have.  *falls: they do not. */
static LLVMValueRef count_row_lines(struct emit *e, LLVMValueRef at, unsigned row,
	LLVMValueRef *falls)
{
	LLVMValueRef one = emit_scalar(e, 64, 1), lines = NULL, begin = NULL, end = NULL;
	*falls = NULL;
	for (unsigned lane = 0; lane < e->width; lane += row) {
		LLVMValueRef first = count_line_of(e, at, lane), from = first;
		LLVMValueRef last = count_line_of(e, at, lane + row - 1);
		if (lines) {
			LLVMValueRef fall = ir_icmp(e, LLVMIntULT, first, begin);
			*falls = *falls ? ir_or(e, *falls, fall) : fall;
			from = count_most(e, first, end);
		}
		LLVMValueRef next = ir_add(e, last, one);
		LLVMValueRef here = ir_sub(e, count_most(e, next, from), from);
		lines = lines ? ir_add(e, lines, here) : here;
		begin = first;
		end = end ? count_most(e, next, end) : next;
	}
	return ir_trunc(e, lines, e->s.i32);
}

/* Of lanes at any addresses: where one is in another line than the one before.  *falls: the lanes
 * that run are not side by side, or their addresses do not ascend. */
static LLVMValueRef count_steps(struct emit *e, LLVMValueRef at, LLVMValueRef *falls)
{
	unsigned before[RT_MAX_WIDTH] = {0};
	for (unsigned i = 1; i < e->width; i++) {
		before[i] = i - 1;
	}
	LLVMValueRef none = emit_u32(e, 0), one = emit_u32(e, 1), lanes = emit_active(e);
	LLVMValueRef last = emit_shuffle(e, at, LLVMGetUndef(LLVMTypeOf(at)), before,
		e->width);
	LLVMValueRef apart = ir_lshr_by(e, LLVMBuildXor(e->builder, at, last, ""), RT_LINE_SHIFT);
	LLVMValueRef steps = emit_lane_bits(e, ir_icmp(e, LLVMIntNE, apart,
		LLVMConstNull(LLVMTypeOf(at))));
	LLVMValueRef fall = emit_lane_bits(e, ir_icmp(e, LLVMIntSLT, at, last));
	LLVMValueRef pairs = ir_and(e, lanes, ir_shl(e, lanes, one));
	/* a gap is a lane that runs above one that does not, but for the first of all */
	LLVMValueRef begins = ir_and(e, lanes, ir_not(e, ir_shl(e, lanes, one)));
	LLVMValueRef gaps = ir_and(e, begins, ir_sub(e, begins, one));
	*falls = ir_icmp(e, LLVMIntNE, ir_or(e, ir_and(e, fall, pairs), gaps), none);
	steps = ir_and(e, steps, pairs);
	return ir_add(e, ir_intrinsic(e, "llvm.ctpop", &e->s.i32, 1, &steps, 1), count_any(e));
}

/* By a function of C, which counts in the worker's table. */
static void count_by_call(struct emit *e, LLVMValueRef at)
{
	const struct emit_counts *c = e->counts;
	emit_put_lanes(e, at, NULL, 0);
	for (unsigned i = 0; i < c->warps; i++) {
		emit_call_lanes(e, offsetof(struct rt_calls, count_lines),
			(unsigned)(c->first + COUNTERS_LINES), 0, 0);
	}
}

/* The lines, unless a scalar i1 is true: then by a call. */
static void count_lines_unless(struct emit *e, LLVMValueRef falls, LLVMValueRef lines,
	LLVMValueRef at)
{
	if (!falls) {
		count_add(e, e->counts->first + COUNTERS_LINES, lines);
		return;
	}
	LLVMBasicBlockRef rise = emit_block(e, "rise"), fall = emit_block(e, "fall");
	LLVMBasicBlockRef after = emit_block(e, "counted");
	emit_expect_first(e, LLVMBuildCondBr(e->builder, ir_not(e, falls), rise, fall));
	emit_enter(e, rise);
	count_add(e, e->counts->first + COUNTERS_LINES, lines);
	LLVMBuildBr(e->builder, after);
	emit_enter(e, fall);
	count_by_call(e, at);
	LLVMBuildBr(e->builder, after);
	emit_enter(e, after);
}

static void count_shape(struct emit *e, LLVMValueRef at, enum count_shape shape, unsigned row,
	unsigned step)
{
	LLVMValueRef falls = NULL, lines, line = emit_scalar(e, 64, 1 << RT_LINE_SHIFT);
	if (shape == COUNT_AT_STEPS && step <= 1 << RT_LINE_SHIFT) {
		lines = count_row_lines(e, at, row, &falls);
		count_lines_unless(e, falls, lines, at);
	} else if (shape == COUNT_STRIDED) {
		LLVMValueRef stride = ir_sub(e,
			LLVMBuildExtractElement(e->builder, at, emit_u32(e, 1), ""),
			LLVMBuildExtractElement(e->builder, at, emit_u32(e, 0), ""));
		lines = ir_select(e, ir_icmp(e, LLVMIntULT, stride, line),
			count_row_lines(e, at, e->width, &falls), emit_u32(e, e->width));
		count_lines_unless(e, NULL, lines, at);
	} else {
		lines = count_steps(e, at, &falls);
		count_lines_unless(e, falls, lines, at);
	}
}

void emit_count_lanes(struct emit *e, LLVMValueRef at, enum count_shape shape, unsigned row,
	unsigned step)
{
	struct emit_counts *c = e->counts;
	if (c && c->at && counters_has_lines(&c->access)) {
		count_shape(e, at, shape, row, step);
		c->is_counted = true;
	}
}

/* --- Accesses --- */

/* A bit of a lane goes so many lanes up, from the top to the bottom. */
static LLVMValueRef count_turn(struct emit *e, LLVMValueRef bits, unsigned lanes)
{
	return ir_or(e, ir_shl_by(e, bits, lanes), ir_lshr_by(e, bits, e->width - lanes));
}

/* Lanes at one address: a line, and if there are several they share it. */
static void count_one_place(struct emit *e)
{
	const struct emit_counts *c = e->counts;
	LLVMValueRef lanes = count_lanes(e);
	if (counters_has_lines(&c->access)) {
		count_add(e, c->first + COUNTERS_LINES, count_any(e));
	}
	if (c->access.is_atomic) {
		LLVMValueRef share = ir_icmp(e, LLVMIntUGT, lanes, emit_u32(e, 1));
		count_add(e, c->first + COUNTERS_CONTENDED,
			ir_select(e, share, lanes, emit_u32(e, 0)));
	}
}

/* How many of the lanes that run have the address of another one.  Each lane is compared with the
 * one that is 1, 2, ... and half a warp above it, so that each pair is compared once.  32 bits of
 * the addresses are enough: the lanes of an access are not 4 GiB apart. */
static LLVMValueRef count_sharing(struct emit *e, LLVMValueRef at)
{
	LLVMTypeRef row = LLVMVectorType(e->s.i32, e->width);
	LLVMValueRef address = LLVMBuildTrunc(e->builder, at, row, "");
	LLVMValueRef lanes = emit_active(e), share = emit_u32(e, 0);
	const uint32_t all = e->width < 32 ? (1u << e->width) - 1 : UINT32_MAX;
	for (unsigned step = 1; step <= e->width / 2; step++) {
		unsigned above[RT_MAX_WIDTH];
		for (unsigned i = 0; i < e->width; i++) {
			above[i] = (i + step) % e->width;
		}
		LLVMValueRef other = emit_shuffle(e, address, LLVMGetUndef(row), above, e->width);
		LLVMValueRef same = emit_lane_bits(e, ir_icmp(e, LLVMIntEQ, address, other));
		same = ir_and(e, same, ir_and(e, lanes, count_turn(e, lanes, e->width - step)));
		share = ir_or(e, share, ir_or(e, same, count_turn(e, same, step)));
	}
	share = ir_mask(e, share, all);
	return ir_intrinsic(e, "llvm.ctpop", &e->s.i32, 1, &share, 1);
}

static int count_compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* How many lanes have an offset that another one has, too. */
static unsigned count_alike(const int64_t *sorted, unsigned lanes)
{
	unsigned alike = 0;
	for (unsigned i = 0; i < lanes; i++) {
		alike += (i > 0 && sorted[i] == sorted[i - 1])
			|| (i + 1 < lanes && sorted[i] == sorted[i + 1]);
	}
	return alike;
}

/*
 * All lanes, at distances that are known.  In order, two that are more than a line apart are in
 * different lines.  Between two such gaps there is a lane in each line from the first to the last.
 */
static void count_known(struct emit *e, const int64_t *offsets, LLVMValueRef at)
{
	const struct emit_counts *c = e->counts;
	LLVMValueRef lines = emit_u32(e, 0);
	int64_t sorted[RT_MAX_WIDTH];
	memcpy(sorted, offsets, e->width * sizeof(*sorted));
	qsort(sorted, e->width, sizeof(*sorted), count_compare);
	LLVMValueRef base = ir_sub(e, LLVMBuildExtractElement(e->builder, at, emit_u32(e, 0), ""),
		emit_scalar(e, 64, (uint64_t)offsets[0]));
	for (unsigned i = 0, first = 0; i < e->width; i++) {
		if (i + 1 < e->width && sorted[i + 1] - sorted[i] <= 1 << RT_LINE_SHIFT) {
			continue;
		}
		LLVMValueRef begin = ir_add(e, base, emit_scalar(e, 64, (uint64_t)sorted[first]));
		LLVMValueRef end = ir_add(e, base, emit_scalar(e, 64, (uint64_t)sorted[i]));
		LLVMValueRef span = ir_sub(e, ir_lshr_by(e, end, RT_LINE_SHIFT),
			ir_lshr_by(e, begin, RT_LINE_SHIFT));
		lines = ir_add(e, lines, ir_add(e, ir_trunc(e, span, e->s.i32), emit_u32(e, 1)));
		first = i + 1;
	}
	if (counters_has_lines(&c->access)) {
		count_add(e, c->first + COUNTERS_LINES, lines);
	}
	if (c->access.is_atomic) {
		count_add(e, c->first + COUNTERS_CONTENDED,
			emit_u32(e, count_alike(sorted, e->width)));
	}
}

/* For the checks `coalesce` and `bank`.  Only whole warps show how an access is made. */
static void count_cost(struct emit *e, const struct ptx_inst *inst)
{
	const struct emit_counts *c = e->counts;
	const enum ptx_space space = c->access.space;
	if (c->plan.has_costs && e->width == RT_GROUP && emit_is_vector(e)
	    && (counters_has_lines(&c->access) || space == PTX_SHARED)) {
		emit_put_lanes(e, emit_lane_addresses(e, inst, c->access.place), NULL, 0);
		emit_call_lanes(e, offsetof(struct rt_calls, count_cost),
			(unsigned)(c->first + COUNTERS_OF_ACCESS), c->access.size,
			space == PTX_SHARED);
	}
}

void emit_count_access(struct emit *e, const struct ptx_inst *inst)
{
	struct emit_counts *c = e->counts;
	if (!c) {
		return;
	}
	c->first = c->plan.accesses[inst - e->func->insts];
	c->at = NULL;
	c->is_counted = false;
	if (c->first == 0 || !counters_find_access(&c->access, inst)) {
		return;
	}
	count_add(e, c->first + COUNTERS_REQUESTS, count_any(e));
	count_add(e, c->first + COUNTERS_THREADS, count_lanes(e));
	count_cost(e, inst);
	if (!emit_is_vector(e) || !(counters_has_lines(&c->access) || c->access.is_atomic)) {
		return;
	}
	const struct uniformity lanes = uniformity_of_address(&e->uniformity, inst,
		c->access.place);
	if (uniformity_is_uniform(&lanes)) {
		count_one_place(e);
		return;
	}
	LLVMValueRef at = emit_lane_addresses(e, inst, c->access.place);
	if (lanes.is_vector || e->mask) {
		c->at = at;
	} else {
		count_known(e, lanes.offsets, at);
	}
}

void emit_count_rest(struct emit *e)
{
	struct emit_counts *c = e->counts;
	if (!c || !c->at || !emit_is_open(e)) {
		return;
	}
	if (c->access.is_atomic) {
		count_add(e, c->first + COUNTERS_CONTENDED, count_sharing(e, c->at));
	}
	if (counters_has_lines(&c->access) && !c->is_counted) {
		count_shape(e, c->at, COUNT_ANYWHERE, 0, 0);
	}
	c->at = NULL;
}

/* --- The end --- */

/* Add the array to the table, a row at a time, and return. */
static void count_build_flush(struct emit *e, LLVMBasicBlockRef begin, LLVMBasicBlockRef loop)
{
	const struct emit_counts *c = e->counts;
	LLVMTypeRef row = LLVMVectorType(e->s.i64, COUNTERS_ROW);
	LLVMBasicBlockRef end = emit_block(e, "counted");
	LLVMValueRef zero = emit_scalar(e, 64, 0);
	emit_enter(e, loop);
	LLVMValueRef at = LLVMBuildPhi(e->builder, e->s.i64, "");
	LLVMValueRef from = count_place(e, c->counters, at, row);
	LLVMValueRef to = count_place(e, c->table, at, row);
	LLVMValueRef mine = LLVMBuildLoad2(e->builder, row, from, "");
	LLVMValueRef sum = LLVMBuildLoad2(e->builder, row, to, "");
	LLVMSetAlignment(mine, sizeof(uint64_t));
	LLVMSetAlignment(sum, sizeof(uint64_t));
	LLVMSetAlignment(LLVMBuildStore(e->builder, ir_add(e, sum, mine), to), sizeof(uint64_t));
	LLVMValueRef next = ir_add(e, at, emit_scalar(e, 64, COUNTERS_ROW));
	LLVMAddIncoming(at, (LLVMValueRef[]){zero, next}, (LLVMBasicBlockRef[]){begin, loop}, 2);
	LLVMBuildCondBr(e->builder, ir_icmp(e, LLVMIntULT, next,
		emit_scalar(e, 64, c->plan.count)), loop, end);
	emit_enter(e, end);
}

/* All returns go to one place. */
void emit_count_end(struct emit *e)
{
	if (!e->counts || !e->counts->table) {
		return;
	}
	LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(e->fn);
	LLVMBasicBlockRef flush = emit_block(e, "flush"), loop = emit_block(e, "counting");
	emit_enter(e, flush);
	LLVMValueRef result = LLVMBuildPhi(e->builder, e->s.i32, "");
	LLVMBuildBr(e->builder, loop);
	for (; block != flush; block = LLVMGetNextBasicBlock(block)) {
		LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
		if (!last || LLVMGetInstructionOpcode(last) != LLVMRet) {
			continue;
		}
		LLVMValueRef value = LLVMGetOperand(last, 0);
		LLVMInstructionEraseFromParent(last);
		emit_enter(e, block);
		LLVMBuildBr(e->builder, flush);
		LLVMAddIncoming(result, &value, &block, 1);
	}
	count_build_flush(e, flush, loop);
	LLVMBuildRet(e->builder, result);
}

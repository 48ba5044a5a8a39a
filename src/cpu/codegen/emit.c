/* SPDX-License-Identifier: MIT */
/*
 * Makes the LLVM function of a kernel, the coroutine of rt.h.
 *
 * Its entry block holds the register slots and all that does not change during a call: most special
 * registers and base addresses.  The next block has what belongs to one block of the grid, and the
 * one after it what belongs to one warp.  That one ends with a switch over the resume points, to
 * which emit_flow.c adds a case for each place where the kernel yields.  The basic blocks of cfg.c
 * follow, in one or more versions (emit_blocks.c), with their instructions (emit_inst.c).
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/checks.h"
#include "cpu/codegen/control/emit_flow.h"
#include "cpu/codegen/emit_blocks.h"
#include "cpu/codegen/values/emit_count.h"
#include "cpu/codegen/emit_lines.h"
#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_debug.h"
#include "cpu/codegen/values/emit_value.h"
#include "cpu/ir/cfg.h"
#include "cpu/ir/origin.h"
#include "cpu/ir/uses.h"
#include "cpu/ir/yield.h"

#include <string.h>

static_assert(WARP_LANES == RT_MAX_WIDTH, "the widest warp is a whole one");

/* For a debugger in the order of the list, which has a function in one piece: gdb takes the start
 * of each piece of an inlined function for a call. */
static void emit_make_blocks_in_order(struct emit *e)
{
	for (size_t i = 0; i < e->func->block_count; i++) {
		if (e->func->blocks[i].rpo != SIZE_MAX) {
			e->blocks[i] = emit_block(e, "bb");
		}
	}
}

static LLVMBasicBlockRef *emit_make_blocks(struct emit *e, LLVMBasicBlockRef *blocks)
{
	for (size_t i = 0; i < e->order_count; i++) {
		const bool goes_on = emit_goes_on(e, e->order[i]);
		blocks[e->order[i]] = goes_on ? NULL : emit_block(e, "bb");
	}
	return blocks;
}

static void emit_add_attribute(struct emit *e, const char *name, LLVMAttributeIndex at)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	LLVMAddAttributeAtIndex(e->fn, at, LLVMCreateEnumAttribute(e->context, kind, 0));
}

static void emit_make_function(struct emit *e, const char *symbol, bool has_lines)
{
	enum { FRAME_PARAM = 2 }; /* from 1 on */
	LLVMTypeRef params[] = {e->ptr, e->ptr, e->s.i32};
	LLVMTypeRef type = LLVMFunctionType(e->s.i32, params, countof(params), false);
	e->fn = LLVMAddFunction(e->ir, symbol, type);
	emit_lines_begin(e, has_lines);
	e->warp = LLVMGetParam(e->fn, 0);
	e->frame = LLVMGetParam(e->fn, 1);

	emit_add_attribute(e, "nounwind", (LLVMAttributeIndex)LLVMAttributeFunctionIndex);
	if (!e->team) { /* its warps find their frames in memory */
		emit_add_attribute(e, "noalias", FRAME_PARAM);
	}

	if (e->is_debugged && !emit_debug_init(e)) {
		e->failed = true;
		return;
	}
	emit_enter(e, emit_block(e, "entry"));
	emit_debug_enter(e);
	emit_make_slots(e);
	if (e->width > 1) {
		e->ready = emit_field(e, e->warp, offsetof(struct rt_warp, ready), e->s.i32);
	}
	if (e->debug) {
		emit_make_blocks_in_order(e);
	} else {
		emit_make_blocks(e, e->blocks);
	}
	if (e->width > 1 && !e->serial) {
		emit_make_blocks(e, e->diverged);
	}
	e->first = LLVMBuildAlloca(e->builder, e->s.i32, "first");
	LLVMBuildStore(e->builder,
		emit_field(e, e->warp, offsetof(struct rt_warp, first), e->s.i32), e->first);
	LLVMBasicBlockRef block = emit_block(e, "block");
	LLVMBasicBlockRef warp = emit_block(e, "warp");
	e->call_end = LLVMBuildBr(e->builder, block);
	emit_enter(e, block);
	e->block_end = LLVMBuildBr(e->builder, warp);
	emit_enter(e, warp);
	e->entry_end = LLVMBuildSwitch(e->builder, LLVMGetParam(e->fn, 2),
		emit_block(e, "start"), 4);
	emit_count_begin(e);
	emit_blocks(e);
	emit_count_end(e);
	emit_lines_end(e);
	emit_debug_end(e);
}

static void emit_make_types(struct emit *e)
{
	e->context = LLVMGetModuleContext(e->ir);
	LLVMTypeRef *const ints[] = {&e->s.i1, &e->s.i8, &e->s.i16, &e->s.i32, &e->s.i64,
		&e->s.i128};
	static const unsigned bits[] = {1, 8, 16, 32, 64, 128};
	for (size_t i = 0; i < countof(ints); i++) {
		*ints[i] = LLVMIntTypeInContext(e->context, bits[i]);
	}
	e->s.f32 = LLVMFloatTypeInContext(e->context);
	e->s.f64 = LLVMDoubleTypeInContext(e->context);
	e->ptr = LLVMPointerType(e->s.i8, 0);

	const struct emit_types *s = &e->s;
	unsigned w = e->width;
	e->v = (struct emit_types){LLVMVectorType(s->i1, w), LLVMVectorType(s->i8, w),
		LLVMVectorType(s->i16, w), LLVMVectorType(s->i32, w), LLVMVectorType(s->i64, w),
		LLVMVectorType(s->i128, w), LLVMVectorType(s->f32, w), LLVMVectorType(s->f64, w)};
	emit_set_types(e, w > 1 ? &e->v : &e->s);
}

static bool emit_init(struct emit *e, unsigned class)
{
	emit_make_types(e);
	e->builder = LLVMCreateBuilderInContext(e->context);

	const struct ptx_func *func = e->func;
	e->is_alone = block_class_is_exact(class) && e->width == block_class_lanes(class);
	e->regs = mem_zalloc(func->reg_count + 1, sizeof(*e->regs));
	e->blocks = mem_zalloc(func->block_count, sizeof(*e->blocks));
	e->diverged = mem_zalloc(func->block_count, sizeof(*e->diverged));
	e->resumes = mem_zalloc(func->block_count, sizeof(*e->resumes));
	e->order = mem_zalloc(func->block_count, sizeof(*e->order));
	e->yield_points = mem_zalloc(func->block_count, sizeof(*e->yield_points));
	e->kept = mem_zalloc(cfg_live_words(func), sizeof(*e->kept));
	e->framed = mem_zalloc(cfg_live_words(func), sizeof(*e->framed));
	e->entering = mem_zalloc(cfg_live_words(func), sizeof(*e->entering));
	e->live = mem_zalloc(cfg_live_words(func), sizeof(*e->live));
	e->entries = mem_zalloc(func->block_count, sizeof(*e->entries));
	e->written = mem_zalloc(func->reg_count + 1, sizeof(*e->written));
	e->values = mem_zalloc(func->value_count + 1, sizeof(*e->values));
	e->origins = e->asks ? origin_find(func) : NULL;
	e->uses = e->asks ? uses_analyze(func) : NULL;
	e->is_idle = !(e->checks & check_bit(CHECK_RACE)) && !emit_check_follows(func);
	bool ok = e->regs && e->blocks && e->diverged && e->resumes && e->order && e->yield_points
		&& e->kept && e->framed && e->entering && e->live && e->entries && e->written
		&& e->values
		&& ((e->origins && e->uses) || !e->asks) && yield_find_points(func, e->yield_points)
		&& (e->width == 1 || uniformity_analyze(&e->uniformity, func,
			block_class_base(class), e->width, e->yield_points));
	if (!ok) {
		return ptx_no_memory(e->diag);
	}
	for (size_t i = 0; i < func->block_count; i++) {
		if (func->blocks[i].rpo != SIZE_MAX) {
			e->order[func->blocks[i].rpo] = i;
			e->order_count++;
		}
	}
	emit_note_kept(e);
	ok = emit_serial_init(e) && emit_interleave_init(e, block_class_team(class))
		&& emit_nontemporal_init(e) && emit_note_framed(e);
	/* of the first version */
	e->strategy = e->width == 1 ? &emit_one_lane : e->serial ? &emit_before_serial
		: &emit_converged;
	if (!ok) {
		return ptx_no_memory(e->diag);
	}
	emit_note_entries(e);
	return true;
}

bool emit_kernel(size_t *frame_size, LLVMModuleRef ir, const struct jit_order *order,
	const char *features, struct ptx_diag *diag)
{
	const unsigned width = order->width;
	assert(width == 1 || (width >= 8 && width <= RT_MAX_WIDTH && (width & (width - 1)) == 0));
	struct emit e = {.ir = ir, .module = order->module, .func = order->func, .diag = diag,
		.width = width, .asks = order->asks, .checks = order->checks,
		.is_debugged = order->is_debugged,
		.questions = order->asks && ((order->checks & CHECK_ALL) == 0 || order->checks
			& (check_bit(CHECK_MEMORY) | check_bit(CHECK_INIT))),
		.watches = order->checks & (check_bit(CHECK_RACE) | check_bit(CHECK_SYNC)),
		.has_avx512 = strstr(features, "+avx512f"), .has_avx2 = strstr(features, "+avx2"),
		.has_f16c = strstr(features, "+f16c"),
		.left_out = order->left_out};
	bool ok = (emit_count_init(&e, order->counts) || ptx_no_memory(diag))
		&& emit_init(&e, order->class);
	if (ok) {
		emit_make_function(&e, order->symbol, order->has_lines);
		ok = !e.failed && (width == 1 || uniformity_pool_had_memory(e.uniformity.pool)
			|| ptx_no_memory(diag));
	}

	*frame_size = e.frame_size;
	mem_free(e.regs);
	mem_free(e.blocks);
	mem_free(e.diverged);
	mem_free(e.resumes);
	mem_free(e.order);
	mem_free(e.yield_points);
	mem_free(e.kept);
	mem_free(e.framed);
	mem_free(e.entering);
	mem_free(e.live);
	mem_free(e.entries);
	mem_free(e.values);
	mem_free(e.origins);
	mem_free(e.uses);
	mem_free(e.written);
	emit_debug_finish(&e);
	emit_count_free(&e);
	emit_serial_finish(&e);
	emit_interleave_finish(&e);
	emit_nontemporal_finish(&e);
	uniformity_free(&e.uniformity);
	LLVMDisposeBuilder(e.builder);
	return ok;
}

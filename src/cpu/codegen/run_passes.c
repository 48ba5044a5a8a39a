/* SPDX-License-Identifier: MIT */
/*
 * All passes over LLVM IR, in order.
 *
 * The IR is low-level already, so a short list gives code as fast as -O2 in less time: registers
 * become values (sroa), repeated address arithmetic goes away (early-cse), and invariants leave
 * loops (licm).  Our own passes run as soon as registers are values.
 */
#include "base/common.h"

#include "cpu/codegen/run_passes.h"

#include "base/str.h"
#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/passes/ir_passes.h"
#include "cpu/config/passes.h"
#include "cpu/ir/block_class.h"

#include <llvm-c/Transforms/PassBuilder.h>

/* From LLVM 18 on a plain "instcombine" ends the process when one round was not enough. */
#if LLVM_VERSION_MAJOR >= 18
#define INSTCOMBINE "instcombine<no-verify-fixpoint>"
#else
#define INSTCOMBINE "instcombine"
#endif

/* Each kernel is of one kind; a pass is for some. */
enum kernel_kind {
	TANGLED = 1,  /* no pass may look at all edges */
	LONE = 2,     /* blocks of one thread, whose loops become vectors */
	STRAIGHT = 4, /* no loop */
	LOOPS = 8,
	TEAM_LOOPS = 16, /* of interleaved warps */
	QUICK = 32,   /* code soon: a pass must save the code generator more time than it takes */
	HAS_LOOPS = LOOPS | TEAM_LOOPS,
	USUAL = STRAIGHT | HAS_LOOPS,
};

enum { ALWAYS = PASS_COUNT };

/* All at once, for each run of LLVM's costs a tenth of a millisecond. */
static void compile_run_llvm(struct compile *c, struct str *passes)
{
	if (passes->len == 0 || passes->failed) {
		return;
	}
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	str_addc(passes, ')');
	c->error = passes->failed ? NULL : LLVMRunPasses(c->ir, passes->data, c->machine, options);
	passes->len = 0;
	LLVMDisposePassBuilderOptions(options);
}

static bool passes_make_gathers(struct compile *c)
{
	/* emit_check.c writes to the same place as notes do. */
	if (c->order->width > 1 && c->gathers != GATHER_NONE) {
		pass_gathers(c->ir, c->fn, c->gathers, c->order->width,
			!c->order->asks);
	}
	return true;
}

static bool passes_widen_halves(struct compile *c)
{
	if (c->gathers != GATHER_AVX512) {
		pass_halves(c->ir);
	}
	return true;
}

static bool passes_split_addresses(struct compile *c)
{
	pass_base_addresses(c->fn);
	return true;
}

static bool passes_answer_wraps(struct compile *c)
{
	if (c->order->width > 1) {
		pass_no_wrap(c->fn, c->order->width);
	}
	return true;
}

static bool passes_split_induction(struct compile *c)
{
	return c->order->width == 1 || pass_induction(c->fn);
}

/* Loops whose stores are selected by what does not change become two, if they are small. */
static bool passes_bypass_loops(struct compile *c)
{
	struct str passes = STR_INIT;
	if (emit_nontemporal_is_quiet(c->order->func) && pass_nontemporal_loops(c->fn, c->layout)) {
		str_add(&passes, "function(loop(simple-loop-unswitch<nontrivial>)");
		compile_run_llvm(c, &passes);
	}
	bool ok = !passes.failed;
	str_free(&passes);
	return ok;
}

/* Branches of lone threads are tidied before instcombine, which moves code into those that only
 * lead back; and those of teams: a barrier ends a block, though it is nothing in a team, and
 * instcombine would move sums after it, all terms of a warp's after those of another one, where
 * each term waits for the one before it.  A loop that became one vector goes round once:
 * loop-deletion takes the way back out. */
static const struct {
	unsigned kinds;
	unsigned pass;                   /* its switch */
	const char *llvm;                /* passes of LLVM; NULL: */
	bool (*run)(struct compile *c);  /* one of ours; false: no memory */
} compile_steps[] = {
	{TANGLED, ALWAYS, "sroa", NULL},
	{QUICK, ALWAYS, "sroa,early-cse,loop-mssa(licm),simplifycfg", NULL},
	{USUAL | LONE, ALWAYS, "sroa,early-cse", NULL},
	{LONE, ALWAYS, "simplifycfg," INSTCOMBINE
		",simplifycfg,loop-mssa(licm),early-cse,simplifycfg", NULL},
	{LONE, PASS_BASE_ADDRESSES, NULL, passes_split_addresses},
	{LONE, ALWAYS, "early-cse,loop-vectorize,loop(loop-deletion),slp-vectorizer," INSTCOMBINE
		",simplifycfg", NULL},
	{LONE, PASS_NONTEMPORAL_LOOPS, NULL, passes_bypass_loops},
	{USUAL, PASS_NO_WRAP, NULL, passes_answer_wraps},
	{HAS_LOOPS, PASS_INDUCTION, NULL, passes_split_induction},
	{TEAM_LOOPS, ALWAYS, "simplifycfg", NULL},
	{USUAL, ALWAYS, INSTCOMBINE ",simplifycfg", NULL},
	{HAS_LOOPS, ALWAYS, "loop-mssa(licm),early-cse,simplifycfg", NULL},
	{TANGLED | USUAL, PASS_GATHERS, NULL, passes_make_gathers},
	{TANGLED | QUICK | USUAL, ALWAYS, NULL, passes_widen_halves},
};

static enum kernel_kind passes_kind(const struct jit_order *order)
{
	if (order->is_tangled || order->is_quick || order->is_vector) {
		return order->is_tangled ? TANGLED : order->is_quick ? QUICK : LONE;
	}
	bool is_team = order->width > 1 && block_class_team(order->class) > 0;
	return !order->has_loop ? STRAIGHT : is_team ? TEAM_LOOPS : LOOPS;
}

bool compile_run_passes(struct compile *c)
{
	const unsigned kind = passes_kind(c->order);
	struct str passes = STR_INIT;
	bool ok = true;
	c->error = NULL;
	if (c->order->is_debugged) {
		return true; /* variables stay where the debugger looks for them */
	}
	c->fn = LLVMGetNamedFunction(c->ir, c->order->symbol);
	for (size_t i = 0; i < countof(compile_steps) && ok && !c->error; i++) {
		const unsigned pass = compile_steps[i].pass;
		bool is_off = pass != ALWAYS && (c->order->left_out >> pass & 1);
		if ((compile_steps[i].kinds & kind) == 0 || is_off) {
			continue;
		}
		if (compile_steps[i].llvm) {
			str_addf(&passes, "%s%s", passes.len > 0 ? "," : "function(",
				compile_steps[i].llvm);
			continue;
		}
		compile_run_llvm(c, &passes);
		ok = !c->error && !passes.failed && compile_steps[i].run(c);
	}
	if (ok) {
		compile_run_llvm(c, &passes);
	}
	ok = ok && !passes.failed;
	str_free(&passes);
	return ok && !c->error;
}

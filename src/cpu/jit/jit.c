/* SPDX-License-Identifier: MIT */

/*
 * Kernels to machine code: from the kernel cache, or compiled by LLVM.
 *
 * This file decides how a kernel is compiled.  jit_llvm.c, in a library of its own, compiles it to
 * an object file.  code.c loads the object file, or LLVM's own linker where code.c cannot.
 *
 * The width, in lanes per call, is a property of each kernel.  A huge kernel runs one lane per
 * call, so that compiling takes about linear time.  A kernel for blocks of one thread also runs one
 * lane per call; LLVM vectorizes its loops instead.  All others run a warp per call, unless the
 * user says otherwise.
 *
 * A kernel has code of two tiers (jit.h) if its best code would take long.  What predicts LLVM's
 * time is the size of the IR that it gets, in registers of the processor, and IR takes a hundredth
 * of that time to make.  So the IR of the best code is made and weighed, and compiled if it is
 * small.  Otherwise the first code is for one lane and comes from LLVM's quickest generator, unless
 * its IR is much larger.  The same weight limits the best code.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/exit_gate.h"
#include "base/stack.h"
#include "cpu/mem/capacity.h"
#include "cpu/jit/code.h"
#include "cpu/config/features.h"
#include "cpu/jit/jit.h"
#include "cpu/jit/jit_open.h"
#include "cpu/jit/kernel_cache.h"
#include "cpu/profile/profile.h"
#include "cpu/ir/cfg.h"
#include "cpu/ir/lanes.h"
#include "cpu/ir/ssa.h"
#include "cpu/config/passes.h"
#include "cpu/config/settings.h"
#include "cpu/ir/yield.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* The most that the IR may weigh (jit_llvm.h): of best code that a kernel starts with; the same
 * where no kernel is compiled twice, so that nothing better follows; and of any code for a warp. */
enum { START_WEIGHT = 100, ONCE_WEIGHT = 1000, WIDE_WEIGHT = 250000 };
/* The IR of so many instructions of PTX need not be weighed to know that it weighs more. */
enum { LONG_KERNEL = 800 };
/* Unless one in so many of them is a collective: code for one lane saves and restores all that is
 * live at each, so that it may weigh more than code for a warp. */
enum { COLLECTIVE_WEIGHS = 32 };
/* In hundredths of what the best code weighs: the first code saves no time if it weighs more. */
enum { FIRST_SHARE = 150 };
/* Operations that are a call for each lane: so many take LLVM more than a second, for it looks for
 * what each value meets on its way. */
enum { MANY_CALLS = 100 };

/* Bytes that LLVM takes for an instruction of PTX at most, by measurement (bench_jit): of huge
 * kernels, and of kernels for 32 lanes.  Up to FEW_BYTES the number is not asked. */
enum { HUGE_BYTES = 4 << 10, WIDE_BYTES = 32 << 10, FEW_BYTES = 64 << 20 };

/* LLVM's passes call themselves for the operands of operands. */
#define LLVM_STACK ((size_t)4 << 20)

/* Of what a kernel is called in its object file. */
#define SYMBOL_SIZE 48

static_assert(SETTINGS_MAX_WIDTH == RT_MAX_WIDTH, "the widest warp is a whole one");

/* The code of one kernel. */
struct loaded {
	struct code code;           /* with no memory if LLVM's linker holds it */
	struct profile_code *profile;
	struct loaded *next;
};

struct jit {
	struct ptx_module *module;
	const struct jit_llvm_calls *calls; /* NULL until there is something to compile, as llvm */
	struct jit_llvm *llvm;
	struct loaded *loaded;
	uint32_t width;             /* that the user chooses, or 0 */
	unsigned checks;            /* that kernels make: see emit_check.c */
	bool asks;                  /* before each access, for these or for other devices */
	bool is_debugged;           /* a debugger sees kernels */
	unsigned profile;           /* what a profile has of kernels: a set of settings_profile */
	bool is_linked;             /* by LLVM's linker, so that LLVM holds code */
	/* Of the call that is running: */
	unsigned class;             /* of blocks: see block_class.h */
	enum jit_tier tier;         /* that was asked for */
	const struct str *keys;     /* by tier: where to keep the code */
};

static const char *faked_features;
static atomic_ulong made_count;

void jit_fake_features(const char *features)
{
	faked_features = features;
}

unsigned long jit_made_count(void)
{
	return made_count;
}

const char *jit_llvm_version(struct ptx_diag *diag)
{
	const struct jit_llvm_calls *calls = jit_open(diag);
	return calls ? calls->version : NULL;
}

static enum features_level jit_features_level(void)
{
	return (enum features_level)settings_get(SETTING_FEATURES, FEATURES_NATIVE);
}

/* When the first kernel is compiled: a module whose kernels are in the cache needs none of it. */
static bool jit_start_llvm(struct jit *jit, struct ptx_diag *diag)
{
	struct str features = STR_INIT;
	if (jit->llvm) {
		return true;
	}
	jit->calls = jit_open(diag);
	if (!jit->calls) {
		return false;
	}
	if (faked_features) {
		str_add(&features, faked_features);
	} else {
		features_limit(&features, jit->calls->host_features(), jit_features_level());
	}
	bool ok = features.failed ? ptx_no_memory(diag)
		: jit->calls->create(&jit->llvm, features.data ? features.data : "", code_callees,
			diag);
	str_free(&features);
	return ok;
}

/* A call of LLVM's part. */
struct jit_call {
	struct jit_kernel *out;
	struct jit *jit;
	struct ptx_func *func;
	struct ptx_diag *diag;
	bool ok;
};

/* On the calling thread, or on another where that has too little stack. */
static void jit_call_llvm(void *(*work)(void *call), struct jit_call *call)
{
	int code = 0;
	if (stack_has_room(LLVM_STACK)) {
		work(call);
	} else if ((code = stack_run(work, call)) != 0) {
		call->ok = ptx_fail(call->diag, 0, 0, "cannot start a thread to compile on: %s",
			strerror(code));
	}
}

static void *jit_call_start(void *arg)
{
	struct jit_call *call = arg;
	struct jit jit = {.llvm = NULL};
	call->ok = jit_start_llvm(&jit, call->diag) && jit.calls->start(jit.llvm, call->diag);
	if (jit.llvm) {
		jit.calls->release(jit.llvm);
	}
	return NULL;
}

bool jit_start(struct ptx_diag *diag)
{
	struct jit_call call = {.diag = diag, .ok = true};
	const struct jit_llvm_calls *calls = jit_open(diag);
	if (!calls) {
		return false;
	}
	if (!calls->stays()) {
		jit_call_llvm(jit_call_start, &call);
	}
	return call.ok;
}

bool jit_create(struct jit **out, struct ptx_module *module, struct ptx_diag *diag)
{
	*out = mem_zalloc(1, sizeof(**out));
	if (!*out) {
		return ptx_no_memory(diag);
	}
	(*out)->module = module;
	(*out)->is_debugged = settings_debugged();
	module->is_scheduled = settings_get(SETTING_SCHEDULE, 0) != 0;
	(*out)->width = module->is_scheduled || (*out)->is_debugged ? 1
		: (uint32_t)settings_get(SETTING_WIDTH, 0);
	(*out)->checks = settings_checks();
	module->blamed = (*out)->checks & CHECK_OF_VALUES;
	if ((*out)->checks & CHECK_OF_COSTS && !module->is_scheduled && !(*out)->is_debugged) {
		(*out)->width = WARP_LANES; // only a whole warp shows how it makes an access
	}
	(*out)->asks = settings_asks();
	(*out)->profile = settings_profile();
	return true;
}

void jit_release(struct jit *jit)
{
	if (!jit) {
		return;
	}

	while (jit->loaded) {
		struct loaded *next = jit->loaded->next;
		profile_code_release(jit->loaded->profile);
		code_unload(&jit->loaded->code);
		mem_free(jit->loaded);
		jit->loaded = next;
	}
	if (jit->llvm) {
		jit->calls->release(jit->llvm);
	}
	mem_free(jit);
}

/* Whether a kernel ends by itself after so many instructions as it has. */
static bool jit_is_straight(const struct ptx_module *module, const struct ptx_func *func)
{
	if (func->has_loop) {
		return false;
	}
	for (size_t i = 0; i < module->func_count; i++) {
		if (!module->funcs[i]->is_entry) {
			return false;
		}
	}
	return true;
}

/* Processors of before 2013 have no fused multiply-add. */
static bool jit_has_many_calls(const struct ptx_func *func)
{
	size_t calls = 0;
	for (size_t i = 0; i < func->inst_count; i++) {
		enum ptx_op op = func->insts[i].op;
		calls += op == PTX_OP_FMA || op == PTX_OP_FMAD || op == PTX_OP_FMA_MIXED;
		calls += op == PTX_OP_FMA_X2 ? 2 : 0;
	}
	return calls >= MANY_CALLS && !features_fuse(jit_features_level());
}

/* Whether a kernel is for blocks of one thread, as it says itself. */
static bool jit_is_for_one_thread(const struct ptx_func *func)
{
	const uint32_t block[] = {1, 1, 1};
	return memcmp(func->max_ntid, block, sizeof(block)) == 0
		|| memcmp(func->req_ntid, block, sizeof(block)) == 0;
}

/* Of the best code. */
static uint32_t jit_width_for(const struct jit *jit, const struct ptx_func *func)
{
	return cfg_is_huge(func) || jit_is_for_one_thread(func) || jit_has_many_calls(func)
		|| jit->width == 1 ? 1 : lanes_for(func, jit->class, jit->width);
}

/* A prefix of ours: a kernel called `memcpy` must not become everybody's memcpy. */
static void jit_write_symbol(char symbol[SYMBOL_SIZE], const struct ptx_func *func)
{
	snprintf(symbol, SYMBOL_SIZE, "kudzu_kernel_%zu", func->index);
}

/* NULL: no memory. */
static struct profile_code *jit_profile(struct jit *jit, const struct loaded *loaded,
	const struct jit_kernel *kernel, const struct profile_object *object)
{
	struct profile_object code = *object;
	code.module = jit->module;
	code.width = kernel->width;
	code.entry = loaded->code.entry;
	code.text_size = loaded->code.text_size;
	return profile_code_create(&code);
}

static bool jit_load_object(struct jit_kernel *out, struct jit *jit, const void *object,
	size_t size, const struct ptx_func *func, struct ptx_diag *diag)
{
	uintptr_t address;
	char symbol[SYMBOL_SIZE];
	jit_write_symbol(symbol, func);
	struct loaded *loaded = mem_zalloc(1, sizeof(*loaded));
	if (!loaded) {
		return ptx_no_memory(diag);
	}
	bool ok = code_load(&loaded->code, object, size, symbol);
	if (ok) {
		address = loaded->code.entry;
		out->code_size = loaded->code.text_size;
	} else if (loaded->code.no_memory) {
		ptx_no_memory(diag);
	} else {
		ok = jit_start_llvm(jit, diag)
			&& jit->calls->link(&address, jit->llvm, object, size, symbol, diag);
		jit->is_linked |= ok;
	}
	if (ok && jit->profile) {
		loaded->profile = jit_profile(jit, loaded, out,
			&(struct profile_object){.func = func, .object = object,
				.size = jit->is_debugged ? 0 : size}); // its lines are others
		ok = loaded->profile || ptx_no_memory(diag);
	}
	out->profile = loaded->profile;
	out->run = ok ? (rt_kernel *)address : NULL;
	loaded->next = jit->loaded;
	jit->loaded = loaded;
	return ok;
}

/* Load the object that LLVM has made, and keep it.  Takes it. */
static bool jit_take_object(struct jit_kernel *out, struct jit *jit, struct jit_object *object,
	const struct ptx_func *func, struct ptx_diag *diag)
{
	const struct kernel_cache_entry entry = {.width = out->width,
		.is_straight = out->is_straight, .in_order = out->in_order,
		.tier = out->tier, .frame_size = out->frame_size, .object = object->data,
		.size = object->size, .maker = jit->calls->address};
	made_count++;
	bool ok = jit_load_object(out, jit, entry.object, entry.size, func, diag);
	if (ok) {
		kernel_cache_put(&jit->keys[jit->tier == JIT_TIER_START ? out->tier : jit->tier],
			&entry);
	}
	jit->calls->free_object(object);
	return ok;
}

/* What code to make of a kernel. */
struct jit_plan {
	uint32_t width;
	enum jit_tier tier;
	size_t limit;      /* the most that the IR may weigh; 0: anything */
	size_t weight;     /* out: what the IR weighs */
};

static enum jit_outcome jit_compile_plan(struct jit_kernel *out, struct jit *jit,
	const struct ptx_func *func, struct jit_plan *plan, struct ptx_diag *diag)
{
	char symbol[SYMBOL_SIZE];
	jit_write_symbol(symbol, func);
	struct jit_object object;
	struct jit_order order = {.module = jit->module,
		.func = func,
		.symbol = symbol,
		.width = plan->width,
		.limit = plan->limit,
		.class = jit->class,
		.has_loop = func->has_loop,
		.is_quick = jit->is_debugged || plan->tier == JIT_TIER_FIRST,
		.is_tangled = cfg_is_tangled(func),
		.checks = jit->checks,
		.asks = jit->asks,
		.is_debugged = jit->is_debugged,
		.counts = jit->profile & PROFILE_COUNTS,
		.has_lines = (jit->profile & (PROFILE_TIME | PROFILE_JITDUMP))
			&& !jit->is_debugged,
		.left_out = settings_get(SETTING_PASSES, 0) | (jit->checks & CHECK_OF_COSTS
			? UINT64_C(1) << PASS_LANE_SERIALISATION : 0)};
	order.is_vector = order.has_loop && !jit->is_debugged && !cfg_is_huge(func)
		&& jit_is_for_one_thread(func)
		&& !(order.left_out >> PASS_LOOP_VECTORS & 1);
	enum jit_outcome outcome = jit->calls->make(&object, jit->llvm, &order, diag);
	*out = (struct jit_kernel){.width = plan->width,
		.tier = plan->tier,
		.is_straight = jit_is_straight(jit->module, func),
		.in_order = yield_is_needed(func),
		.frame_size = object.frame_size,
		.emit_ms = object.emit_ms,
		.compile_ms = object.compile_ms};
	plan->weight = object.weight;
	return outcome != JIT_MADE ? outcome
		: jit_take_object(out, jit, &object, func, diag) ? JIT_MADE : JIT_FAILED;
}

/* Whether there is memory enough to compile a kernel: half of what the device may have. */
static bool jit_fits_memory(const struct ptx_func *func, uint32_t width, struct ptx_diag *diag)
{
	size_t each = width > 1 ? WIDE_BYTES : HUGE_BYTES;
	size_t need = func->inst_count < SIZE_MAX / each ? func->inst_count * each : SIZE_MAX;
	if (need <= FEW_BYTES || need <= capacity_bytes() / 2) {
		return true;
	}
	ptx_fail(diag, func->line, 0, "to compile '%s', of %zu instructions, may take %zu MiB of"
		" memory; half of what there is is %zu", func->name, func->inst_count, need >> 20,
		capacity_bytes() >> 21);
	diag->no_memory = true;
	return false;
}

static enum jit_outcome jit_compile_best(struct jit_kernel *out, struct jit *jit,
	const struct ptx_func *func, struct ptx_diag *diag)
{
	struct jit_plan wide = {jit_width_for(jit, func), JIT_TIER_BEST, WIDE_WEIGHT, 0};
	struct jit_plan narrow = {1, JIT_TIER_BEST, 0, 0};
	enum jit_outcome outcome = wide.width == 1 ? JIT_TOO_BIG
		: jit_compile_plan(out, jit, func, &wide, diag);
	return outcome != JIT_TOO_BIG && outcome != JIT_TOO_DEEP ? outcome
		: jit_compile_plan(out, jit, func, &narrow, diag);
}

/* For one lane, soon: `limit` is the most that it may weigh, or 0.  Each value has a place on the
 * stack there, so that the best code may need less. */
static enum jit_outcome jit_compile_first(struct jit_kernel *out, struct jit *jit,
	const struct ptx_func *func, size_t limit, struct ptx_diag *diag)
{
	struct jit_plan plan = {1, JIT_TIER_FIRST, limit, 0};
	enum jit_outcome outcome = jit_compile_plan(out, jit, func, &plan, diag);
	return outcome == JIT_TOO_BIG || outcome == JIT_TOO_DEEP
		? jit_compile_best(out, jit, func, diag) : outcome;
}

static bool jit_has_many_collectives(const struct ptx_func *func)
{
	size_t count = 0;
	for (size_t i = 0; i < func->inst_count; i++) {
		count += ptx_is_collective(func->insts[i].op);
	}
	return count * COLLECTIVE_WEIGHS >= func->inst_count;
}

/* Whether the best code is out of question for a start. */
static bool jit_starts_narrow(const struct ptx_func *func)
{
	return cfg_is_huge(func) || (!jit_is_for_one_thread(func) && (jit_has_many_calls(func)
		|| (func->inst_count >= LONG_KERNEL && !jit_has_many_collectives(func))));
}

/* The tier that the user fixes, or SETTINGS_TIER_ONCE; 0 if the user chooses nothing. */
static uint64_t jit_chosen_tier(void)
{
	bool has_width = settings_get(SETTING_WIDTH, 0) != 0
		|| settings_get(SETTING_SCHEDULE, 0) != 0 || settings_debugged();
	return settings_checks() & CHECK_OF_COSTS ? JIT_TIER_BEST
		: settings_get(SETTING_TIER, has_width ? JIT_TIER_BEST : 0);
}

/* Where one thread does all the work of a block there are few blocks, and each is long: code that
 * is replaced between two blocks would be replaced too late. */
static enum jit_outcome jit_compile_start(struct jit_kernel *out, struct jit *jit,
	const struct ptx_func *func, struct ptx_diag *diag)
{
	const size_t most = jit_is_for_one_thread(func) ? 0
		: jit_chosen_tier() == SETTINGS_TIER_ONCE ? ONCE_WEIGHT : START_WEIGHT;
	struct jit_plan best = {jit_width_for(jit, func), JIT_TIER_BEST, most, 0};
	enum jit_outcome outcome = jit_compile_plan(out, jit, func, &best, diag);
	return outcome != JIT_TOO_BIG && outcome != JIT_TOO_DEEP ? outcome
		: jit_compile_first(out, jit, func, best.weight * FIRST_SHARE / 100, diag);
}

static bool jit_compile_kernel(struct jit_kernel *out, struct jit *jit, struct ptx_func *func,
	struct ptx_diag *diag)
{
	if (!jit_start_llvm(jit, diag) || !ssa_prepare(jit->module, func, diag)) {
		return false;
	}
	bool is_narrow = jit->tier == JIT_TIER_FIRST
		|| (jit->tier == JIT_TIER_START && jit_starts_narrow(func));
	if (!jit_fits_memory(func, is_narrow ? 1 : jit_width_for(jit, func), diag)) {
		return false;
	}
	enum jit_outcome outcome = is_narrow ? jit_compile_first(out, jit, func, 0, diag)
		: jit->tier == JIT_TIER_START ? jit_compile_start(out, jit, func, diag)
		: jit_compile_best(out, jit, func, diag);
	if (outcome == JIT_TOO_DEEP) {
		ptx_fail(diag, func->line, 0, "the code of '%s' needs more than " JIT_MOST_STACK
			" bytes of stack", func->name);
	}
	return outcome == JIT_MADE;
}

static void *jit_call_compile(void *arg)
{
	struct jit_call *call = arg;
	call->ok = jit_compile_kernel(call->out, call->jit, call->func, call->diag);
	return NULL;
}

static bool jit_compile_gated(struct jit_kernel *out, struct jit *jit, struct ptx_func *func,
	struct ptx_diag *diag)
{
	if (!exit_gate_enter()) {
		return ptx_fail(diag, func->line, 0, "'%s' is not compiled, as the process is "
			"ending", func->name);
	}
	struct jit_call call = {.out = out, .jit = jit, .func = func, .diag = diag};
	jit_call_llvm(jit_call_compile, &call);
	exit_gate_leave();
	return call.ok;
}

/* The properties of the code generator that decide on the code, as far as they are known without
 * loading it: its build id, and the features of the processor.  The build id of LLVM is in the
 * entry. */
static void jit_describe_generator(struct str *out)
{
	uint8_t id[DL_BUILD_ID_SIZE];
	size_t size = jit_open_id(id);
	str_addn(out, (const char *)id, size);
	if (faked_features) {
		str_add(out, faked_features);
	} else {
		features_describe(out, jit_features_level());
	}
}

static bool jit_find_cached(struct jit_kernel *out, struct jit *jit, const struct str *key,
	const struct ptx_func *func)
{
	struct kernel_cache_entry entry;
	struct ptx_diag diag = {.line = 0}; /* a miss is not a failure */
	double start = jit_now_ms();
	if (settings_dump_folder() || !kernel_cache_find(&entry, key)) {
		return false;
	}
	*out = (struct jit_kernel){.width = entry.width, .tier = entry.tier,
		.is_straight = entry.is_straight,
		.in_order = entry.in_order, .frame_size = entry.frame_size, .is_cached = true};
	bool ok = jit_load_object(out, jit, entry.object, entry.size, func, &diag);
	out->load_ms = jit_now_ms() - start;
	mem_free(entry.memory);
	return ok;
}

static void jit_write_key(struct str *out, const struct jit *jit, const struct ptx_func *func,
	enum jit_tier tier)
{
	struct str generator = STR_INIT;
	if (kernel_cache_is_on()) {
		jit_describe_generator(&generator);
		if (jit->asks || jit->checks != 0) {
			str_addf(&generator, "checks %x", jit->checks);
		}
		str_addf(&generator, "%s%s %" PRIx64,
			jit->module->is_scheduled ? " scheduled" : "",
			jit->is_debugged ? " debugged" : "",
			settings_get(SETTING_PASSES, 0));
		if (jit->profile) {
			str_addf(&generator, " profile %x", jit->profile);
		}
		kernel_cache_key(out, jit->module, func,
			&(struct kernel_variant){jit->width, jit->class, tier}, &generator);
	}
	str_free(&generator);
}

/* The best of the tiers from `lowest` to `highest`. */
static bool jit_find_tiers(struct jit_kernel *out, struct jit *jit, const struct ptx_func *func,
	enum jit_tier lowest, enum jit_tier highest)
{
	bool found = false;
	for (enum jit_tier tier = highest; tier >= lowest && !found; tier--) {
		found = jit_find_cached(out, jit, &jit->keys[tier], func);
	}
	return found;
}

/* From the cache, and otherwise, if `compiles`, by LLVM. */
static bool jit_get(struct jit_kernel *out, struct jit *jit, struct ptx_func *func, bool compiles,
	struct ptx_diag *diag)
{
	struct str keys[JIT_TIER_BEST + 1] = {STR_INIT, STR_INIT, STR_INIT};
	const enum jit_tier lowest = jit->tier == JIT_TIER_START ? JIT_TIER_FIRST : jit->tier;
	const enum jit_tier highest = jit->tier == JIT_TIER_START ? JIT_TIER_BEST : jit->tier;
	for (enum jit_tier tier = lowest; tier <= highest; tier++) {
		jit_write_key(&keys[tier], jit, func, tier);
	}
	jit->keys = keys;
	/* a profile describes the blocks of a kernel, wherever its code comes from */
	bool ok = (!jit->profile || ssa_prepare(jit->module, func, diag))
		&& jit_find_tiers(out, jit, func, lowest, highest);
	if (!ok && compiles) {
		struct store_lock *lock = kernel_cache_lock(&keys[lowest]);
		ok = (lock && jit_find_tiers(out, jit, func, lowest, highest))
			|| jit_compile_gated(out, jit, func, diag);
		kernel_cache_unlock(lock);
	}
	out->is_checked = jit->asks || jit->checks != 0;
	out->is_scheduled = jit->module->is_scheduled;
	jit->keys = NULL;
	for (size_t i = 0; i < countof(keys); i++) {
		str_free(&keys[i]);
	}
	return ok;
}

/* --- Tiers --- */

enum jit_tier jit_start_tier(bool is_guess)
{
	uint64_t chosen = jit_chosen_tier();
	return chosen == JIT_TIER_FIRST || chosen == JIT_TIER_BEST ? (enum jit_tier)chosen
		: (settings_profile() & PROFILE_COUNTS) && chosen == 0 ? JIT_TIER_BEST
		: is_guess && chosen == 0 ? JIT_TIER_FIRST : JIT_TIER_START;
}

bool jit_may_improve(const struct jit_kernel *kernel)
{
	return kernel->tier == JIT_TIER_FIRST && jit_chosen_tier() == 0;
}

bool jit_may_leave_checks(void)
{
	return settings_asks() && settings_checks() == 0 && settings_profile() == 0
		&& jit_chosen_tier() == 0;
}

void jit_leave_checks(struct jit *jit)
{
	jit->asks = false;
}

bool jit_find_best(struct jit_kernel *out, struct jit *jit, struct ptx_func *func, unsigned class)
{
	jit->class = class;
	jit->tier = JIT_TIER_BEST;
	return jit_get(out, jit, func, false, NULL);
}

bool jit_compile(struct jit_kernel *out, struct jit *jit, struct ptx_func *func, unsigned class,
	enum jit_tier tier, struct ptx_diag *diag)
{
	jit->class = class;
	jit->tier = tier;
	return jit_get(out, jit, func, true, diag);
}

void jit_finish(struct jit *jit)
{
	if (jit->llvm && !jit->is_linked) {
		jit->calls->release(jit->llvm);
		jit->llvm = NULL;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * The kernels of a module.  Each has a place, in the order of the text.  A place holds a function,
 * or NULL for a kernel that is parsed when it is asked for (parse_declarations).
 *
 * A kernel is compiled when it is first asked for, for the class of blocks (block_class.h) that is
 * likely.  It is compiled again for another class when such blocks are first launched.  A long
 * kernel first gets code that serves all classes; when blocks of a class are launched, its best
 * code for them is compiled in the background.  A launch finds compiled code without a lock.
 *
 * Where there are several devices, a kernel asks before each access whether its device may make it
 * (codegen/memory/emit_check.c).  The answer is known before where no other device has memory, or
 * access to all of it is enabled.  So a kernel that is launched again while its device may access
 * everything is compiled once more, in the background and without questions.  Each launch chooses,
 * when it begins, between the two.
 */
#include "base/common.h"

#include "cpu/object/cu_module.h"

#include "base/alloc.h"
#include "cpu/exec/launch.h"
#include "cpu/ir/flatten.h"
#include "cpu/ir/ssa.h"
#include "cpu/ir/team.h"
#include "cpu/object/jit_options.h"
#include "cpu/object/log.h"
#include "cpu/ptx/check.h"
#include "cpu/ptx/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_PAGE 4096

/* --- Kernels at their places --- */

unsigned function_max_threads(const struct ptx_func *func)
{
	const uint32_t *limits[] = {func->req_ntid, func->max_ntid};
	uint64_t max = LAUNCH_MAX_THREADS;
	for (size_t i = 0; i < countof(limits); i++) {
		uint64_t threads = 1;
		for (int axis = 0; axis < 3; axis++) {
			threads *= limits[i][axis] > 0 ? limits[i][axis] : 1;
		}
		if (limits[i][0] > 0 && threads < max) {
			max = threads;
		}
	}
	return (unsigned)max;
}

/* What was set for a library's kernel holds for the functions that it stands for. */
void function_inherit(struct function *function)
{
	struct module *plan = function->module->plan;
	if (!plan) {
		return;
	}
	pthread_mutex_lock(&plan->lock);
	const struct function *kernel = plan->functions[function->place];
	if (kernel) {
		function->max_dynamic = kernel->max_dynamic;
		function->carveout = kernel->carveout;
		function->hints[0] = kernel->hints[0];
		function->hints[1] = kernel->hints[1];
		function->shared_mode = kernel->shared_mode;
	}
	pthread_mutex_unlock(&plan->lock);
}

int function_max_dynamic(const struct function *function, CUsharedMemoryMode mode)
{
	const int own = (int)function->ptx->shared_size;
	mode = mode == CU_SHARED_MEMORY_MODE_DEFAULT ? (CUsharedMemoryMode)function->shared_mode
		: mode;
	if (mode == CU_SHARED_MEMORY_MODE_DEFAULT) {
		return function->max_dynamic;
	}
	const int all = mode == CU_SHARED_MEMORY_MODE_REQUIRE_PORTABLE ? LAUNCH_DEFAULT_SHARED
		: LAUNCH_MAX_SHARED;
	return all > own ? all - own : 0;
}

static bool function_fits(const struct ptx_func *func, struct ptx_diag *diag)
{
	return (func->param_size <= LAUNCH_MAX_PARAMS && func->shared_size <= LAUNCH_MAX_SHARED)
		|| ptx_fail(diag, func->line, 0, "kernel '%s' has %zu bytes of parameters"
			" and %zu of shared memory; at most %d and %d fit", func->name,
			func->param_size, func->shared_size, LAUNCH_MAX_PARAMS,
			LAUNCH_MAX_SHARED);
}

bool function_parse(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag)
{
	return parse_kernel(module, func, diag) && check_function(module, func, diag)
		&& flatten_function(module, func, diag) && function_fits(func, diag);
}

static bool function_create(struct module *module, size_t place, struct ptx_diag *diag)
{
	struct ptx_func *func = module->kernels[place];
	if (!function_fits(func, diag)) {
		return false;
	}
	struct function *function = mem_zalloc(1, sizeof(*function));
	if (!function) {
		return ptx_no_memory(diag);
	}
	/* A kernel that declares more than others may have can have the rest of it, too. */
	const int most = func->shared_size > LAUNCH_DEFAULT_SHARED ? LAUNCH_MAX_SHARED
		: LAUNCH_DEFAULT_SHARED;
	function->module = module;
	function->place = place;
	function->ptx = func;
	function->reg_count = func->reg_count;
	function->max_registers = func->max_registers;
	ptx_write_name(function->name, sizeof(function->name), func->name);
	function->max_threads = function_max_threads(func);
	function->max_dynamic = most - (int)func->shared_size;
	function->carveout = CU_SHAREDMEM_CARVEOUT_DEFAULT;
	function_inherit(function);
	function->handle = handle_create(module->object.context ? API_FUNCTION
		: API_KERNEL, function);
	if (!function->handle) {
		mem_free(function);
		return ptx_no_memory(diag);
	}
	module->functions[place] = function;
	return true;
}

bool function_create_all(struct module *module, struct ptx_diag *diag)
{
	const struct ptx_module *ptx = &module->ptx;
	size_t count = 0;
	module->kernels = mem_zalloc(ptx->func_count + 1, sizeof(*module->kernels));
	for (size_t i = 0; module->kernels && i < ptx->func_count; i++) {
		if (ptx->funcs[i]->is_entry && !ptx->funcs[i]->is_extern) {
			module->kernels[count++] = ptx->funcs[i];
		}
	}
	module->functions = mem_zalloc(count + 1, sizeof(*module->functions));
	if (!module->kernels || !module->functions) {
		return ptx_no_memory(diag);
	}
	module->function_count = count;
	bool ok = true;
	for (size_t i = 0; ok && i < count; i++) {
		ok = module->kernels[i]->late || function_create(module, i, diag);
	}
	return ok;
}

static void function_free_variants(struct variant *variant)
{
	for (struct variant *next; variant; variant = next) {
		next = variant->next;
		jit_release(variant->jit);
		mem_free(variant);
	}
}

void function_free_all(struct module *module)
{
	for (size_t i = 0; i < module->function_count; i++) {
		struct function *function = module->functions[i];
		if (!function) {
			continue;
		}
		handle_release(function->handle);
		background_cancel(function);
		mem_free(function->old.params);
		function_free_variants(atomic_load(&function->variants));
		function_free_variants(atomic_load(&function->unchecked));
		mem_free(function);
	}
	mem_free(module->functions);
	mem_free(module->kernels);
}

CUresult module_function(const char *call, struct module *module, size_t place,
	struct function **out)
{
	struct ptx_diag diag = {0};
	pthread_mutex_lock(&module->lock);
	bool ok = module->functions[place]
		|| (function_parse(&module->ptx, module->kernels[place], &diag)
			&& function_create(module, place, &diag));
	*out = module->functions[place];
	module_note_size(module);
	pthread_mutex_unlock(&module->lock);
	return ok ? CUDA_SUCCESS : jit_options_fail(call, &diag, NULL);
}

struct function *module_known_function(struct module *module, size_t place)
{
	pthread_mutex_lock(&module->lock);
	struct function *function = module->functions[place];
	pthread_mutex_unlock(&module->lock);
	return function;
}

CUresult module_find_function(const char *call, struct module *module, const char *name,
	struct function **out)
{
	size_t place = 0;
	pthread_mutex_lock(&module->lock); // to parse a kernel writes its name, too
	while (place < module->function_count && strcmp(module->kernels[place]->name, name) != 0) {
		place++;
	}
	pthread_mutex_unlock(&module->lock);
	*out = NULL;
	return place < module->function_count ? module_function(call, module, place, out)
		: CUDA_SUCCESS;
}

/* A processor has no registers like a GPU's.  The answer, from which occupancy follows, lets 1024
 * threads run.  As in ptxas, a kernel's .maxnreg overrides the limit of its module. */
int function_register_count(const struct function *function)
{
	const size_t limit = function->max_registers ? function->max_registers
		: function->module->max_registers;
	size_t count = function->reg_count;
	count = count < 16 ? 16 : count > 64 ? 64 : count;
	return (int)(limit > 0 && limit < count ? limit : count);
}

/* --- Code --- */

/* Each kernel's code has pages of its own. */
static void function_note_code(struct module *module, const struct jit_kernel *kernel)
{
	atomic_fetch_add_explicit(&module->code_size,
		round_up(kernel->code_size, CODE_PAGE) + CODE_PAGE, memory_order_relaxed);
}

/* What LLVM holds would stay as long as the module.  While there are kernels left to compile it
 * does: to begin anew takes a quarter of the time of a small one. */
static void function_finish_llvm(struct module *module)
{
	if (module->compiled_count == module->function_count) {
		jit_finish(module->jit);
	}
}

/* A function of its own, so that the launches that find their code do not clear the place for
 * errors. */
static CUresult function_compile_first(const char *call, struct function *function)
{
	struct module *module = function->module;
	struct ptx_func *func = function->ptx;
	struct ptx_diag diag = {0};
	pthread_mutex_lock(&module->lock);
	bool ok = atomic_load_explicit(&function->is_compiled, memory_order_relaxed);
	if (!ok) {
		/* Before the first launch.  Most blocks are whole rows of warps, but a team can
		 * have several sizes. */
		function->may_team = team_is_possible(func);
		function->class = func->req_ntid[0] == 0 ? BLOCK_CLASS_ROWS : function->may_team
			? team_class_of(func->req_ntid) : block_class_of(func->req_ntid);
		ok = (module->jit || jit_create(&module->jit, &module->ptx, &diag))
			&& jit_compile(&function->kernel, module->jit, func, function->class,
				jit_start_tier(function->may_team && func->req_ntid[0] == 0),
				&diag);
		jit_code_set(&function->code, &function->kernel);
		if (ok) {
			function_note_code(module, &function->kernel);
			module->compiled_count++;
			function_finish_llvm(module);
		}
		module_note_size(module);
		atomic_store_explicit(&function->is_compiled, ok, memory_order_release);
	}
	pthread_mutex_unlock(&module->lock);
	return ok ? CUDA_SUCCESS : jit_options_fail(call, &diag, NULL);
}

CUresult function_compile(const char *call, struct function *function)
{
	return likely(atomic_load_explicit(&function->is_compiled, memory_order_acquire))
		? CUDA_SUCCESS : function_compile_first(call, function);
}

static struct variant *function_find_variant(const struct function *function, unsigned class)
{
	struct variant *variant = atomic_load_explicit(&function->variants, memory_order_acquire);
	while (variant && variant->class != class) {
		variant = variant->next;
	}
	return variant;
}

/* --- In the background --- */

/* Other kernels of the module may be parsed meanwhile: only what that changes needs the lock.  If
 * it fails the first code stays.  function_improve tries again, and says why. */
static void function_run_job(struct background_job *job)
{
	struct variant *variant = (struct variant *)((char *)job - offsetof(struct variant, job));
	struct module *module = variant->function->module;
	struct ptx_func *func = variant->function->ptx;
	struct ptx_diag diag = {0};
	pthread_mutex_lock(&module->lock);
	bool ok = ssa_prepare(&module->ptx, func, &diag);
	module_note_size(module);
	pthread_mutex_unlock(&module->lock);
	if (!ok || !jit_create(&variant->jit, &module->ptx, &diag)) {
		return;
	}
	if (variant->checked) {
		jit_leave_checks(variant->jit);
	}
	if (jit_compile(&variant->kernel, variant->jit, func, variant->class, JIT_TIER_BEST,
		&diag)) {
		function_note_code(module, &variant->kernel);
		jit_code_set(&variant->code, &variant->kernel);
	}
	jit_finish(variant->jit);
}

static void function_settle(struct variant *variant)
{
	if (!atomic_exchange(&variant->is_settled, true)) {
		variant->job = (struct background_job){.run = function_run_job,
			.owner = variant->function};
		(void)background_add(&variant->job);
	}
}

void function_ask_better(struct function *function, const struct jit_code *code)
{
	struct variant *variant = atomic_load_explicit(&function->variants, memory_order_acquire);
	while (&variant->code != code) {
		variant = variant->next;
	}
	function_settle(variant);
}

/* --- Without questions --- */

static unsigned function_class_of(const struct function *function, const struct jit_code *code)
{
	const struct variant *variant = atomic_load_explicit(&function->variants,
		memory_order_acquire);
	while (variant && &variant->code != code) {
		variant = variant->next;
	}
	return variant ? variant->class : function->class;
}

static struct variant *function_find_unchecked(const struct function *function,
	const struct jit_code *code)
{
	struct variant *variant = atomic_load_explicit(&function->unchecked, memory_order_acquire);
	while (variant && variant->checked != code) {
		variant = variant->next;
	}
	return variant;
}

static void function_add_unchecked(struct function *function, const struct jit_code *code)
{
	pthread_mutex_lock(&function->module->lock);
	struct variant *variant = function_find_unchecked(function, code) ? NULL
		: mem_zalloc(1, sizeof(*variant));
	if (variant) {
		variant->function = function;
		variant->class = function_class_of(function, code);
		variant->checked = code;
		variant->next = atomic_load_explicit(&function->unchecked, memory_order_relaxed);
		atomic_store_explicit(&function->unchecked, variant, memory_order_release);
		if (jit_may_leave_checks()) {
			function_settle(variant);
		}
	}
	pthread_mutex_unlock(&function->module->lock);
}

const struct jit_code *function_unchecked(struct function *function, const struct jit_code *code,
	bool wanted)
{
	const struct variant *variant = function_find_unchecked(function, code);
	if (!variant && wanted) {
		function_add_unchecked(function, code);
	}
	return variant && jit_code_get(&variant->code) ? &variant->code : NULL;
}

/* --- For a class of blocks --- */

/* Find the variant for a class, or make it; NULL on failure.  The caller has the module's lock. */
static struct variant *function_make_variant(struct function *function, unsigned class,
	struct ptx_diag *diag)
{
	struct module *module = function->module;
	struct variant *variant = function_find_variant(function, class);
	if (variant) {
		return variant;
	}
	variant = mem_zalloc(1, sizeof(*variant));
	if (!variant) {
		ptx_no_memory(diag);
		return NULL;
	}
	variant->function = function;
	variant->class = class;
	const bool has_first = function->kernel.tier == JIT_TIER_FIRST;
	if (!has_first || function->is_wanted) {
		if (!jit_compile(&variant->kernel, module->jit, function->ptx, class,
				JIT_TIER_BEST, diag)) {
			mem_free(variant);
			return NULL;
		}
		function_note_code(module, &variant->kernel);
		function_finish_llvm(module);
		jit_code_set(&variant->code, &variant->kernel);
		atomic_init(&variant->is_settled, true);
	} else {
		/* the first code, until better code is there */
		bool is_settled = !jit_may_improve(&function->kernel);
		jit_code_set(&variant->code, &function->kernel);
		if (!is_settled
		    && jit_find_best(&variant->kernel, module->jit, function->ptx, class)) {
			function_note_code(module, &variant->kernel);
			jit_code_set(&variant->code, &variant->kernel);
			is_settled = true;
		}
		atomic_init(&variant->is_settled, is_settled);
	}
	variant->next = atomic_load_explicit(&function->variants, memory_order_relaxed);
	atomic_store_explicit(&function->variants, variant, memory_order_release);
	return variant;
}

static CUresult function_compile_variant(
	const char *call, struct function *function, unsigned class, const struct jit_code **out)
{
	struct ptx_diag diag = {0};
	pthread_mutex_lock(&function->module->lock);
	struct variant *variant = function_make_variant(function, class, &diag);
	module_note_size(function->module);
	pthread_mutex_unlock(&function->module->lock);
	*out = variant ? &variant->code : NULL;
	return variant ? CUDA_SUCCESS : jit_options_fail(call, &diag, NULL);
}

CUresult function_code(const char *call, struct function *function, const uint32_t block[3],
	const struct jit_code **out)
{
	const bool is_best = function->kernel.tier == JIT_TIER_BEST;
	*out = &function->code;
	if (is_best && function->kernel.width == 1) {
		return CUDA_SUCCESS;
	}
	unsigned class = function->may_team ? team_class_of(block)
		: block_class_of(block);
	if (is_best && class == function->class) {
		return CUDA_SUCCESS;
	}
	struct variant *variant = function_find_variant(function, class);
	if (variant) {
		*out = &variant->code;
		return CUDA_SUCCESS;
	}
	return function_compile_variant(call, function, class, out);
}

const struct jit_kernel *function_best(const struct function *function)
{
	const struct variant *variant = atomic_load_explicit(&function->variants,
		memory_order_acquire);
	const struct jit_kernel *kernel = &function->kernel;
	for (; variant && kernel->tier == JIT_TIER_FIRST; variant = variant->next) {
		kernel = jit_code_get(&variant->code);
	}
	return kernel;
}

CUresult function_improve(const char *call, struct function *function)
{
	struct ptx_diag diag = {0};
	struct module *module = function->module;
	if (!jit_may_improve(&function->kernel)) {
		background_wait(function); // for code without questions
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&module->lock);
	function->is_wanted = true;
	bool ok = atomic_load(&function->variants)
		|| function_make_variant(function, function->class, &diag);
	struct variant *variant = atomic_load(&function->variants);
	for (; variant; variant = variant->next) {
		function_settle(variant);
	}
	pthread_mutex_unlock(&module->lock);
	background_wait(function);

	/* what the background has not managed to compile is compiled here, to know why */
	pthread_mutex_lock(&module->lock);
	variant = atomic_load(&function->variants);
	for (; variant && ok; variant = variant->next) {
		if (jit_code_get(&variant->code)->tier == JIT_TIER_FIRST) {
			ok = jit_compile(&variant->kernel, module->jit, function->ptx,
				variant->class, JIT_TIER_BEST, &diag);
			if (ok) {
				function_note_code(module, &variant->kernel);
			}
			jit_code_set(&variant->code, ok ? &variant->kernel : &function->kernel);
		}
	}
	pthread_mutex_unlock(&module->lock);
	return ok ? CUDA_SUCCESS : jit_options_fail(call, &diag, NULL);
}

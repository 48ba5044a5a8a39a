/* SPDX-License-Identifier: MIT */
/*
 * Modules.  Loading parses and checks the PTX and gives its variables memory.  A kernel is compiled
 * when it is first asked for (function.c).  Mistakes in the PTX are reported as ptxas does, with
 * the line, in the log buffer of the caller and in the driver's log.
 *
 * Of a big text only the declarations stay parsed, and a kernel is parsed when it is asked for,
 * because a parsed kernel takes much more memory than its text.  Mistakes are still reported when
 * the module is loaded: all kernels are parsed and checked one after the other.  A text that the
 * kernel cache knows to be good is not checked again.
 *
 * PTX of any .target is accepted.  NVIDIA's driver refuses targets that are newer than the device;
 * here each instruction decides.
 */
#include "base/common.h"

#include "cpu/object/cu_module.h"

#include "base/alloc.h"
#include "cpu/config/settings.h"
#include "cpu/ir/flatten.h"
#include "cpu/jit/kernel_cache.h"
#include "cpu/object/context.h"
#include "cpu/object/cu_device.h"
#include "cpu/object/jit_options.h"
#include "cpu/object/log.h"
#include "cpu/ptx/check.h"
#include "cpu/ptx/parse.h"

#include <stdio.h>
#include <string.h>

#define VAR_ALIGN 256

/* To parse all of less takes no longer than to ask the kernel cache. */
enum { BIG_TEXT = 64 << 10 };

/* Where the program says that an extern variable is, NULL if it says nothing. */
static void *module_find_symbol(const struct jit_options *options, const char *name)
{
	for (size_t i = 0; i < options->symbol_count; i++) {
		if (options->symbol_names[i]
		    && strcmp(options->symbol_names[i], name) == 0) {
			return options->symbol_addresses[i];
		}
	}
	return NULL;
}

/* Managed variables are memory of their own, which programs may advise about. */
static bool module_is_apart(const struct ptx_var *var)
{
	return var->is_managed && !var->is_extern && var->size > 0;
}

/* Give every other variable its place in one allocation, of the size and alignment in *wish. */
static bool module_place_vars(struct module *module, size_t *offsets, struct memory_range *wish,
	const struct jit_options *options, struct ptx_diag *diag)
{
	size_t *size = &wish->size;
	for (size_t i = 0; i < module->ptx.var_count; i++) {
		const struct ptx_var *var = module->ptx.vars[i];
		size_t align = var->align > VAR_ALIGN ? var->align : VAR_ALIGN;
		if (var->is_extern) {
			module->globals[i] = module_find_symbol(options, var->name);
			if (module->globals[i]) {
				continue;
			}
			return ptx_fail(diag, var->line, 0, "variable '%s' is declared here and"
				" defined nowhere", var->name);
		}
		if (module_is_apart(var)) {
			continue;
		}
		if (*size > SIZE_MAX - align) {
			return ptx_fail(diag, var->line, 0, "variables are too big");
		}
		offsets[i] = round_up(*size, align);
		wish->align = align > wish->align ? align : wish->align;
		if (!size_add(size, offsets[i], var->size)) {
			return ptx_fail(diag, var->line, 0, "variables are too big");
		}
	}
	return true;
}

bool module_has_managed(const struct module *module)
{
	for (size_t i = 0; i < module->ptx.var_count; i++) {
		if (module_is_apart(module->ptx.vars[i])) {
			return true;
		}
	}
	return false;
}

static bool module_create_managed(struct module *module, struct context *context, size_t i)
{
	const struct ptx_var *var = module->ptx.vars[i];
	/* those of a library outlive the context that made them */
	const struct memory_range wish = {.kind = MEMORY_MANAGED, .owner = context,
		.device = context->device->ordinal, .is_var = true, .stays = module->plan,
		.size = var->size, .align = var->align};
	const uint64_t address = memory_alloc(context->device->memory, &wish);
	module->globals[i] = (uint8_t *)(uintptr_t)address;
	return address != 0;
}

/* Give the library the managed variables of its first module, for later ones. */
static bool module_give_managed(struct module *module)
{
	struct module *plan = module->plan;
	if (!plan || plan->globals || !module_has_managed(module)) {
		return true;
	}
	plan->globals = mem_zalloc(module->ptx.var_count, sizeof(*plan->globals));
	for (size_t i = 0; plan->globals && i < module->ptx.var_count; i++) {
		if (module_is_apart(module->ptx.vars[i])) {
			plan->globals[i] = module->globals[i];
		}
	}
	module->shares_managed = plan->globals;
	return module->shares_managed;
}

static void module_init_var(const struct module *module, const struct ptx_var *var)
{
	uint8_t *at = module->globals[var->index];
	if (var->init) {
		memcpy(at, var->init, var->size);
	}
	for (size_t i = 0; i < var->reloc_count; i++) {
		const struct ptx_reloc *reloc = &var->relocs[i];
		uint64_t value = (uint64_t)reloc->addend + (reloc->func
			? reloc->func->address : (uintptr_t)module->globals[reloc->var->index]);
		value >>= reloc->shift;
		memcpy(at + reloc->offset, &value, reloc->size);
	}
}

static bool module_create_vars(struct module *module, struct context *context,
	const struct jit_options *options, struct ptx_diag *diag)
{
	size_t count = module->ptx.var_count;
	struct device_memory *memory = context->device->memory;
	struct memory_range wish = {.kind = MEMORY_MODULE, .owner = context,
		.device = context->device->ordinal};
	module->shares_managed = module->plan && module->plan->globals;
	if (count == 0) {
		return true;
	}
	size_t *offsets = mem_zalloc(count, sizeof(*offsets));
	module->globals = mem_zalloc(count, sizeof(*module->globals));
	bool ok = offsets && module->globals ? true : ptx_no_memory(diag);
	ok = ok && module_place_vars(module, offsets, &wish, options, diag);

	/* memory for each managed variable, and one allocation for all others */
	for (size_t i = 0; ok && i < count; i++) {
		const struct ptx_var *var = module->ptx.vars[i];
		if (module_is_apart(var) && module->shares_managed) {
			module->globals[i] = module->plan->globals[i];
		} else if (module_is_apart(var)) {
			ok = module_create_managed(module, context, i) || ptx_no_memory(diag);
		}
	}
	if (ok && wish.size > 0) {
		module->memory = memory_alloc(memory, &wish);
		ok = module->memory != 0 || ptx_no_memory(diag);
	}

	for (size_t i = 0; ok && i < count; i++) {
		if (!module->globals[i]) {
			module->globals[i] = (uint8_t *)(uintptr_t)module->memory + offsets[i];
		}
	}
	for (size_t i = 0; ok && i < count; i++) {
		const struct ptx_var *var = module->ptx.vars[i];
		if (!var->is_extern && !(module->shares_managed && module_is_apart(var))) {
			module_init_var(module, var);
		}
	}
	mem_free(offsets);
	return ok && (module_give_managed(module) || ptx_no_memory(diag));
}

size_t module_size(const struct module *module)
{
	return sizeof(*module) + atomic_load_explicit(&module->read_size, memory_order_relaxed)
		+ atomic_load_explicit(&module->code_size, memory_order_relaxed);
}

void cu_module_release(struct module *module)
{
	function_free_all(module);
	jit_release(module->jit);
	mem_free(module->globals);
	parse_free(&module->ptx);
	mem_free(module->text);
	pthread_mutex_destroy(&module->lock);
	mem_free(module);
}

void module_free_managed(struct module *module, struct device_memory *memory)
{
	for (size_t i = 0; module->globals && i < module->ptx.var_count; i++) {
		if (module_is_apart(module->ptx.vars[i]) && module->globals[i]) {
			memory_free(memory, (uintptr_t)module->globals[i], MEMORY_MODULE);
		}
	}
}

static void module_free_vars(struct module *module)
{
	if (!module->object.context) {
		return;
	}
	struct device_memory *memory = module->object.context->device->memory;
	if (module->memory != 0) {
		memory_free(memory, module->memory, MEMORY_MODULE);
	}
	// The library, and with it the plan, may have gone by now.
	if (!module->shares_managed) {
		module_free_managed(module, memory);
	}
}

void module_free(struct object *object)
{
	struct module *module = (struct module *)object;
	module_free_vars(module);
	object_remove(object);
	cu_module_release(module);
}

size_t module_const_size(const struct ptx_module *ptx)
{
	size_t size = 0;
	for (size_t i = 0; i < ptx->var_count; i++) {
		const struct ptx_var *var = ptx->vars[i];
		if (var->space == PTX_CONST && !var->is_extern
		    && !size_add(&size, round_up(size, var->align), var->size)) {
			return SIZE_MAX;
		}
	}
	return size;
}

/* The limit of all GPUs.  The words are from ptxas. */
static bool module_is_portable(const struct ptx_module *ptx, struct ptx_diag *diag)
{
	const size_t size = module_const_size(ptx);
	const size_t most = (size_t)device_attribute(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
	return size <= most || !settings_limited()
		|| ptx_fail(diag, 0, 0, "File uses too much global constant data (0x%zx bytes,"
			" 0x%zx max); KUDZU_CPU_LIMITS=off allows more", size, most);
}

/* Whether each kernel is good by itself: each is parsed as if it had been asked for, and forgotten
 * again. */
static bool module_try_kernels(struct ptx_module *ptx, struct ptx_diag *diag)
{
	bool ok = ptx->is_separable;
	for (size_t i = 0; ok && i < ptx->func_count; i++) {
		struct ptx_func *kernel = ptx->funcs[i];
		if (!kernel->late) {
			continue;
		}
		const struct ptx_func empty = *kernel;
		const struct arena_mark mark = arena_mark(&ptx->arena);
		ok = function_parse(ptx, kernel, diag) && ptx->is_separable;
		arena_reset(&ptx->arena, &mark);
		*kernel = empty;
	}
	return ok;
}

static bool module_prepare(struct ptx_module *ptx, struct ptx_diag *diag)
{
	ptx->is_debugged = settings_debugged();
	return check_module(ptx, diag) && flatten_module(ptx, diag);
}

static bool module_read(struct module *module, const char *text, size_t size,
	struct ptx_diag *diag)
{
	struct ptx_module *ptx = &module->ptx;
	bool is_big = size >= BIG_TEXT, ok = false;
	/* messages of kernels that are checked quote the text; kernels that are parsed later need
	 * it */
	if (is_big || settings_asks() || settings_checks() != 0) {
		module->text = mem_strndup(text, size);
		if (!module->text) {
			return ptx_no_memory(diag);
		}
	}
	if (is_big) { /* without its kernels */
		struct hash hash = hash_of(module->text, size);
		bool is_known = kernel_cache_has_text(size, hash);
		ok = parse_declarations(ptx, module->text, size, hash, diag)
			&& module_prepare(ptx, diag) && (is_known || module_try_kernels(ptx, diag));
		if (ok && !is_known && settings_limited()) {
			kernel_cache_put_text(size, hash);
		}
	}
	if (!ok) {
		/* if anything is wrong, parsing the whole text tells which mistake comes first */
		parse_free(ptx);
		*diag = (struct ptx_diag){0};
		ok = parse_module(ptx, text, size, diag) && module_prepare(ptx, diag);
	}
	module_note_size(module);
	return ok && module_is_portable(ptx, diag) && function_create_all(module, diag);
}

/* Tell of each kernel what `ptxas -v` tells, but for spills, of which nothing is known. */
static CUresult module_log_kernels(const char *call, struct module *module,
	struct jit_options *options)
{
	CUresult result = CUDA_SUCCESS;
	for (size_t i = 0; result == CUDA_SUCCESS && i < module->function_count; i++) {
		struct function *function = NULL;
		result = module_function(call, module, i, &function);
		if (result != CUDA_SUCCESS) {
			break;
		}
		const struct ptx_func *func = function->ptx;
		char text[160];
		jit_options_log(&options->info, "ptxas info    : Compiling entry function '");
		jit_options_log(&options->info, func->name);
		snprintf(text, sizeof(text),
			"' for 'sm_89'\nptxas info    : Used %d registers, %zu bytes smem, "
			"%zu bytes cmem[3], %zu bytes lmem\n",
			function_register_count(function), (size_t)func->shared_size,
			module_const_size(&module->ptx), (size_t)func->local_size);
		jit_options_log(&options->info, text);
	}
	return result;
}

CUresult cu_module_create(const char *call, struct context *context, const char *text, size_t size,
	struct jit_options *options, struct module **out)
{
	struct ptx_diag diag = {0};
	struct module *module = mem_zalloc(1, sizeof(*module));
	*out = NULL;
	if (!module) {
		return api_no_memory(call);
	}
	pthread_mutex_init(&module->lock, NULL);
	module->object.context = context;
	module->plan = options->plan; /* for variables, and functions that are parsed later */
	module->max_registers = options->max_registers;
	bool ok = module_read(module, text, size, &diag)
		&& (!context || module_create_vars(module, context, options, &diag));
	if (ok && context && !object_add(&module->object, context, API_MODULE,
			module_free)) {
		ok = ptx_no_memory(&diag);
	}
	if (!ok) {
		module_free_vars(module);
		cu_module_release(module);
		return jit_options_fail(call, &diag, options);
	}
	CUresult result = options->is_verbose ? module_log_kernels(call, module, options)
		: CUDA_SUCCESS;
	if (result == CUDA_SUCCESS) {
		*out = module;
	} else if (context) {
		module_free(&module->object);
	} else {
		cu_module_release(module);
	}
	return result;
}

CUresult module_global(const char *call, struct module *module, const char *name,
	CUdeviceptr *out, size_t *size)
{
	for (size_t i = 0; i < module->ptx.var_count; i++) {
		if (strcmp(module->ptx.vars[i]->name, name) != 0) {
			continue;
		}
		if (out) {
			*out = (uintptr_t)module->globals[i];
		}
		if (size) {
			*size = module->ptx.vars[i]->size;
		}
		return CUDA_SUCCESS;
	}
	return api_fail(CUDA_ERROR_NOT_FOUND, "%s: the module has no variable '%s'", call, name);
}

/* SPDX-License-Identifier: MIT */
/*
 * Modules.  Loading parses and checks the PTX and gives its variables memory; a kernel is compiled
 * when it is first asked for.  What is wrong with the PTX is told as ptxas does, with the line, in
 * the log buffer of the caller and in the driver's log.
 *
 * PTX of any .target is taken, newer ones than the compute capability that the device claims, too,
 * which NVIDIA's driver refuses: what decides is whether each instruction is one that we run.
 */
#include "../base/common.h"

#include "api.h"

#include "../base/alloc.h"
#include "cfg.h"
#include "check.h"
#include "parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How images begin that are not PTX: ELF, what nvcc -fatbin writes, and what points to that in a
 * program. */
#define CUBIN_MAGIC "\x7f" "ELF"
#define FATBIN_MAGIC "\x50\xed\x55\xba"
#define WRAPPER_MAGIC "\xb1\x43\x62\x46"
#define VAR_ALIGN 256

/* The places where cuModuleLoadDataEx wants text. */
struct log_buffer {
	char *text;
	void **size;
};

struct load_options {
	struct log_buffer error;
	struct log_buffer info;
};

static void read_options(struct load_options *out, unsigned count, const CUjit_option *options,
	void **values)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < count; i++) {
		switch ((unsigned)options[i]) {
		case CU_JIT_ERROR_LOG_BUFFER:
			out->error.text = values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			out->error.size = &values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER:
			out->info.text = values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			out->info.size = &values[i];
			break;
		default:
			break;
		}
	}
}

/* The size is the buffer's on the way in, the text's on the way out. */
static void fill_log(const struct log_buffer *log, const char *text)
{
	size_t room = log->size != NULL ? (uintptr_t)*log->size : 0;
	size_t len = 0;
	if (log->text != NULL && room > 0) {
		int full = snprintf(log->text, room, "%s", text);
		len = full < 0 ? 0 : (size_t)full < room ? (size_t)full : room - 1;
	}
	if (log->size != NULL) {
		*log->size = (void *)(uintptr_t)len;
	}
}

static CUresult fail_ptx(const char *call, const struct ptx_diag *diag,
	const struct load_options *options)
{
	char text[512];
	if (diag->no_memory) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: host memory has run out", call);
	}
	snprintf(text, sizeof(text), "ptxas application ptx input, line %d; error   : %s",
		diag->line, diag->message);
	if (options != NULL) {
		char log[600];
		snprintf(log, sizeof(log),
			"%s\nptxas fatal   : Ptx assembly aborted due to errors\n", text);
		fill_log(&options->error, log);
	}
	return api_fail(diag->unsupported ? CUDA_ERROR_NOT_SUPPORTED
		: diag->newer ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : CUDA_ERROR_INVALID_PTX,
		"%s", text);
}

/* What keeps an image from being read as PTX; SUCCESS if nothing does.  The image may end after
 * any zero byte. */
static CUresult check_image(const char *image, const char **why)
{
	unsigned char first = (unsigned char)*image;
	if (strncmp(image, CUBIN_MAGIC, 4) == 0) {
		*why = "the CPU device takes PTX; this is a cubin, code for a GPU";
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	if (strncmp(image, FATBIN_MAGIC, 4) == 0 || strncmp(image, WRAPPER_MAGIC, 4) == 0) {
		*why = "the CPU device takes PTX; this is a fat binary, code for GPUs";
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	if ((first >= ' ' && first < 0x7f) || (first >= '\t' && first <= '\r')) {
		return CUDA_SUCCESS;
	}
	*why = first == '\0' ? "the image is empty" : "the image is not PTX";
	return CUDA_ERROR_INVALID_IMAGE;
}

/* Give every variable its place in one allocation, of the size and alignment in *wish. */
static bool place_vars(struct module *module, size_t *offsets, struct memory_range *wish,
	struct ptx_diag *diag)
{
	size_t *size = &wish->size;
	for (size_t i = 0; i < module->ptx.var_count; i++) {
		const struct ptx_var *var = module->ptx.vars[i];
		size_t align = var->align > VAR_ALIGN ? var->align : VAR_ALIGN;
		if (var->is_extern) {
			return ptx_fail(diag, var->line, 0, "variable '%s' is declared here and"
				" defined nowhere", var->name);
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

static bool init_var(const struct module *module, const struct ptx_var *var, struct ptx_diag *diag)
{
	uint8_t *at = module->globals[var->index];
	if (var->init != NULL) {
		memcpy(at, var->init, var->size);
	}
	for (size_t i = 0; i < var->reloc_count; i++) {
		const struct ptx_reloc *reloc = &var->relocs[i];
		if (reloc->var == NULL) {
			return ptx_unsupported(diag, var->line, 0,
				"address of a function in the initial value of '%s'", var->name);
		}
		uint64_t value = (uintptr_t)module->globals[reloc->var->index]
			+ (uint64_t)reloc->addend;
		memcpy(at + reloc->offset, &value, sizeof(value));
	}
	return true;
}

static bool alloc_vars(struct module *module, const struct memory_range *wish,
	struct context *context, struct ptx_diag *diag)
{
	module->memory = wish->size > 0 ? memory_alloc(context->device->memory, wish) : 0;
	return wish->size == 0 || module->memory != 0 || ptx_no_memory(diag);
}

static bool create_vars(struct module *module, struct context *context, struct ptx_diag *diag)
{
	size_t count = module->ptx.var_count;
	struct memory_range wish = {.kind = MEMORY_MODULE, .owner = context};
	if (count == 0) {
		return true;
	}
	size_t *offsets = mem_zalloc(count, sizeof(*offsets));
	module->globals = mem_zalloc(count, sizeof(*module->globals));
	bool ok = offsets != NULL && module->globals != NULL ? true : ptx_no_memory(diag);
	ok = ok && place_vars(module, offsets, &wish, diag)
		&& alloc_vars(module, &wish, context, diag);
	for (size_t i = 0; ok && i < count; i++) {
		module->globals[i] = (uint8_t *)(uintptr_t)module->memory + offsets[i];
	}
	for (size_t i = 0; ok && i < count; i++) {
		ok = init_var(module, module->ptx.vars[i], diag);
	}
	mem_free(offsets);
	return ok;
}

/* Add the next part of a mangled name, <length><text>; what follows it, NULL if it is none. */
static const char *add_part(char *out, size_t size, const char *part)
{
	const char *digits = part + (*part == 'L'); /* static */
	char *text;
	size_t len = strlen(out);
	unsigned long count = strtoul(digits, &text, 10);
	if (*digits < '1' || *digits > '9' || count > strlen(text) || count + len + 32 > size) {
		return NULL;
	}
	bool unnamed = strncmp(text, "_GLOBAL__N_", 11) == 0;
	snprintf(out + len, size - len, "%s%.*s", len > 0 ? "::" : "",
		unnamed ? 21 : (int)count, unnamed ? "(anonymous namespace)" : text);
	return text + count;
}

/*
 * What a symbol is called in the source: "ns::scale<...>" for "_ZN2ns5scaleIfEEvPT_".  Kernels are
 * functions at namespace scope, so this little of the C++ ABI is enough; where it is not, the
 * symbol itself.
 */
static void write_name(char *out, size_t size, const char *symbol)
{
	const char *next = strncmp(symbol, "_Z", 2) == 0 ? symbol + 2 : NULL;
	bool nested = next != NULL && *next == 'N';
	out[0] = '\0';
	if (next != NULL) {
		next = add_part(out, size, next + nested);
	}
	while (nested && next != NULL && *next != 'E' && *next != 'I') {
		next = add_part(out, size, next);
	}
	if (next == NULL) {
		snprintf(out, size, "%s", symbol);
	} else if (*next == 'I') {
		size_t len = strlen(out);
		snprintf(out + len, size - len, "<...>");
	}
}

static bool create_functions(struct module *module, struct ptx_diag *diag)
{
	const struct ptx_module *ptx = &module->ptx;
	module->functions = mem_zalloc(ptx->func_count + 1, sizeof(*module->functions));
	if (module->functions == NULL) {
		return ptx_no_memory(diag);
	}
	for (size_t i = 0; i < ptx->func_count; i++) {
		struct ptx_func *func = ptx->funcs[i];
		if (!func->is_entry || func->is_extern) {
			continue;
		}
		if (func->param_size > LAUNCH_MAX_PARAMS || func->shared_size > LAUNCH_MAX_SHARED) {
			return ptx_fail(diag, func->line, 0, "kernel '%s' has %zu bytes of parameters"
				" and %zu of shared memory; at most %d and %d fit", func->name,
				func->param_size, func->shared_size, LAUNCH_MAX_PARAMS,
				LAUNCH_MAX_SHARED);
		}
		struct function *function = &module->functions[module->function_count++];
		int left = LAUNCH_DEFAULT_SHARED - (int)func->shared_size;
		function->module = module;
		function->ptx = func;
		write_name(function->name, sizeof(function->name), func->name);
		function->max_dynamic = left > 0 ? left : 0;
		function->carveout = CU_SHAREDMEM_CARVEOUT_DEFAULT;
		function->handle = handle_create(API_FUNCTION, function);
		if (function->handle == NULL) {
			return ptx_no_memory(diag);
		}
	}
	return true;
}

/* All but its place in the context. */
static void destroy(struct module *module, struct context *context)
{
	for (size_t i = 0; i < module->function_count; i++) {
		handle_release(module->functions[i].handle);
	}
	if (module->memory != 0) {
		memory_free(context->device->memory, module->memory, MEMORY_MODULE);
	}
	jit_release(module->jit);
	mem_free(module->functions);
	mem_free(module->globals);
	parse_free(&module->ptx);
	pthread_mutex_destroy(&module->lock);
	mem_free(module);
}

void module_free(struct object *object)
{
	struct module *module = (struct module *)object;
	object_remove(object);
	destroy(module, object->context);
}

static CUresult load(const char *call, struct context *context, const char *text,
	const struct load_options *options, CUmodule *out)
{
	struct ptx_diag diag = {0};
	struct module *module = mem_zalloc(1, sizeof(*module));
	if (module == NULL) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: host memory has run out", call);
	}
	pthread_mutex_init(&module->lock, NULL);
	bool ok = parse_module(&module->ptx, text, strlen(text), &diag)
		&& check_module(&module->ptx, &diag)
		&& create_vars(module, context, &diag)
		&& create_functions(module, &diag);
	if (ok && !object_add(&module->object, context, API_MODULE)) {
		ok = ptx_no_memory(&diag);
	}
	if (!ok) {
		destroy(module, context);
		return fail_ptx(call, &diag, options);
	}
	fill_log(&options->error, "");
	fill_log(&options->info, "");
	*out = module->object.handle;
	return CUDA_SUCCESS;
}

API(cuModuleLoadDataEx, CUmodule *out, const void *image, unsigned int count,
	CUjit_option *options, void **values)
{
	struct context *context;
	struct load_options read;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (image == NULL || (count > 0 && (options == NULL || values == NULL))) {
		return api_null(__func__, image == NULL ? "the image" : "the options");
	}
	*out = NULL;
	read_options(&read, count, options, values);
	const char *why;
	result = check_image(image, &why);
	if (result != CUDA_SUCCESS) {
		fill_log(&read.error, why);
		return api_fail(result, "%s: %s", __func__, why);
	}
	return load(__func__, context, image, &read, out);
}

API(cuModuleLoadData, CUmodule *out, const void *image)
{
	return cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

static CUresult find_module(const char *call, CUmodule handle, struct module **out)
{
	struct context *context;
	CUresult result = api_enter(call, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_MODULE);
	return *out != NULL ? CUDA_SUCCESS : api_bad_handle(call, "module");
}

API(cuModuleUnload, CUmodule handle)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct module *module = handle_get(handle, API_MODULE);
	if (module == NULL) {
		return api_bad_handle(__func__, "module");
	}
	context_wait(module->object.context);
	module_free(&module->object);
	return CUDA_SUCCESS;
}

static bool compile_locked(struct function *function, struct ptx_diag *diag)
{
	struct module *module = function->module;
	if (function->is_compiled) {
		return true;
	}
	function->is_compiled = (module->jit != NULL
			|| jit_create(&module->jit, &module->ptx, diag))
		&& (function->ptx->blocks != NULL
			|| cfg_build(&module->ptx, function->ptx, diag))
		&& jit_compile(&function->kernel, module->jit, function->ptx, diag);
	return function->is_compiled;
}

API(cuModuleGetFunction, CUfunction *out, CUmodule handle, const char *name)
{
	struct module *module;
	CUresult result = api_need(find_module(__func__, handle, &module), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = NULL;
	if (name == NULL || *name == '\0') {
		return api_null(__func__, "the name");
	}
	size_t i = 0;
	while (i < module->function_count && strcmp(module->functions[i].ptx->name, name) != 0) {
		i++;
	}
	if (i == module->function_count) {
		return api_fail(CUDA_ERROR_NOT_FOUND, "%s: the module has no kernel '%s'", __func__,
			name);
	}
	struct ptx_diag diag = {0};
	pthread_mutex_lock(&module->lock);
	bool ok = compile_locked(&module->functions[i], &diag);
	pthread_mutex_unlock(&module->lock);
	if (!ok) {
		return fail_ptx(__func__, &diag, NULL);
	}
	*out = module->functions[i].handle;
	return CUDA_SUCCESS;
}

API(cuModuleGetGlobal_v2, CUdeviceptr *out, size_t *size, CUmodule handle, const char *name)
{
	struct module *module;
	CUresult result = find_module(__func__, handle, &module);
	if (result == CUDA_SUCCESS && name == NULL) {
		return api_null(__func__, "the name");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	for (size_t i = 0; i < module->ptx.var_count; i++) {
		if (strcmp(module->ptx.vars[i]->name, name) != 0) {
			continue;
		}
		if (out != NULL) {
			*out = (uintptr_t)module->globals[i];
		}
		if (size != NULL) {
			*size = module->ptx.vars[i]->size;
		}
		return CUDA_SUCCESS;
	}
	return api_fail(CUDA_ERROR_NOT_FOUND, "%s: the module has no variable '%s'", __func__, name);
}

API(cuModuleGetFunctionCount, unsigned int *out, CUmodule handle)
{
	struct module *module;
	CUresult result = api_need(find_module(__func__, handle, &module), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = (unsigned)module->function_count;
	}
	return result;
}

API(cuModuleEnumerateFunctions, CUfunction *out, unsigned int count, CUmodule handle)
{
	struct module *module;
	CUresult result = api_need(find_module(__func__, handle, &module), __func__, out);
	for (size_t i = 0; result == CUDA_SUCCESS && i < count && i < module->function_count; i++) {
		struct ptx_diag diag = {0};
		pthread_mutex_lock(&module->lock);
		if (!compile_locked(&module->functions[i], &diag)) {
			result = fail_ptx(__func__, &diag, NULL);
		}
		pthread_mutex_unlock(&module->lock);
		out[i] = module->functions[i].handle;
	}
	return result;
}

API(cuModuleGetLoadingMode, CUmoduleLoadingMode *out)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = CU_MODULE_LAZY_LOADING;
	}
	return result;
}

/* SPDX-License-Identifier: MIT */
/*
 * Libraries: code without a context.  Loading parses and checks the code, for the list of its
 * kernels.  The first use in a context loads it there as a module.  The library finds that module
 * again by the number of the context.  If the module has gone with its context, its handle shows
 * that, and it is loaded again.
 *
 * A kernel of a library stands for one function in each of those modules, at the same place.  What
 * is set for the kernel is set in each of them, unless cuFuncSetAttribute sets it there later.
 * Managed variables are the library's: all its modules have them at one address.
 */
#include "base/common.h"

#include "cpu/object/library.h"

#include "base/alloc.h"
#include "cpu/object/context.h"
#include "cpu/object/jit_options.h"
#include "cpu/object/log.h"
#include "cpu/ptx/ptx_image.h"

void library_free(struct library *library)
{
	handle_release(library->handle);
	if (library->plan) {
		cu_module_release(library->plan);
	}
	pthread_mutex_destroy(&library->lock);
	mem_free(library->loaded);
	mem_free(library->text);
	mem_free(library);
}

CUresult library_create(const char *call, const struct image *image,
	struct jit_options *options, struct library **out)
{
	struct library *library = mem_zalloc(1, sizeof(*library));
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	if (!library) {
		return api_fail(result, "%s: host memory has run out", call);
	}
	pthread_mutex_init(&library->lock, NULL);
	library->text = mem_strndup(image->text, image->size);
	library->size = image->size;
	library->handle = library->text ? handle_create(API_LIBRARY, library) : NULL;
	if (!library->handle) {
		api_log("%s: host memory has run out", call);
	} else {
		result = cu_module_create(call, NULL, library->text, library->size, options,
			&library->plan);
	}
	if (result != CUDA_SUCCESS) {
		library_free(library);
		return result;
	}
	library->plan->library = library;
	*out = library;
	return CUDA_SUCCESS;
}

/* The place to keep the module of a context: one whose module is gone, else a new one. */
static struct loaded *library_take_place(struct library *library)
{
	for (size_t i = 0; i < library->loaded_count; i++) {
		if (!handle_get(library->loaded[i].module, API_MODULE)) {
			return &library->loaded[i];
		}
	}
	size_t count = library->loaded_count + 1;
	struct loaded *loaded = mem_realloc(library->loaded, count * sizeof(*loaded));
	if (!loaded) {
		return NULL;
	}
	library->loaded = loaded;
	library->loaded_count = count;
	loaded[count - 1] = (struct loaded){0};
	return &loaded[count - 1];
}

CUresult library_module(const char *call, struct library *library, struct context *context,
	struct module **out)
{
	struct jit_options options = {.plan = library->plan};
	struct module *module = NULL;
	CUresult result = CUDA_SUCCESS;
	pthread_mutex_lock(&library->lock);
	for (size_t i = 0; i < library->loaded_count && !module; i++) {
		const struct loaded *loaded = &library->loaded[i];
		module = loaded->context == context->id ? handle_get(loaded->module, API_MODULE)
			: NULL;
	}
	if (!module) {
		struct loaded *place = library_take_place(library);
		result = place ? cu_module_create(call, context, library->text, library->size,
			&options, &module) : api_no_memory(call);
		if (result == CUDA_SUCCESS) {
			*place = (struct loaded){context->id, module->object.handle};
			module->object.is_part = true;
			module->max_registers = library->plan->max_registers;
			for (size_t i = 0; i < module->function_count; i++) {
				if (module->functions[i]) {
					function_inherit(module->functions[i]);
				}
			}
		}
	}
	pthread_mutex_unlock(&library->lock);
	*out = module;
	return result;
}

/* What a library's kernel is in a context. */
static CUresult library_kernel_function(
	const char *call, struct context *context, struct function *kernel, struct function **out)
{
	struct module *module;
	CUresult result = library_module(call, kernel->module->library, context, &module);
	return result == CUDA_SUCCESS ? module_function(call, module, kernel->place, out) : result;
}

CUresult function_look_up(const char *call, struct context *context, const void *handle,
	struct function **out)
{
	*out = handle_get(handle, API_FUNCTION);
	if (likely(*out)) {
		return CUDA_SUCCESS;
	}
	struct function *kernel = handle_get(handle, API_KERNEL);
	return kernel ? library_kernel_function(call, context, kernel, out)
		: api_bad_handle(call, "kernel");
}

CUresult function_enter(const char *call, const void *handle, struct function **out)
{
	struct context *context;
	CUresult result = api_enter(call, &context);
	return result == CUDA_SUCCESS ? function_look_up(call, context, handle, out) : result;
}

CUresult function_find(const char *call, struct context *context, const void *handle,
	struct function **out)
{
	CUresult result = function_look_up(call, context, handle, out);
	return result == CUDA_SUCCESS ? function_compile(call, *out) : result;
}

/* SPDX-License-Identifier: MIT */
/*
 * Libraries and their kernels.  A library is loaded without a context; object/library.c makes a
 * module of it in each context that uses it.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"
#include "cpu/object/jit_options.h"
#include "cpu/object/library.h"
#include "cpu/ptx/ptx_image.h"

#include <string.h>

static CUresult check_library_options(const char *call, CUlibraryOption *options, void **values,
	unsigned count, bool is_file)
{
	if (count > 0 && (!options || !values)) {
		return api_null(call, "the library options");
	}
	for (unsigned i = 0; i < count; i++) {
		bool ok = options[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE
			|| (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED && !is_file);
		if (!ok) {
			return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: library option %d is not"
				" possible here", call, (int)options[i]);
		}
	}
	return CUDA_SUCCESS;
}

/* Managed variables outlive contexts, so a library that has some holds the memory. */
static CUresult library_hold_memory(const char *call, struct library *library)
{
	if (module_has_managed(library->plan)) {
		library->memory = api_retain_memory();
		if (!library->memory) {
			library_free(library);
			return api_no_memory(call);
		}
	}
	return CUDA_SUCCESS;
}

static CUresult library_load_image(const char *call, CUlibrary *out, const void *data, size_t size,
	struct jit_options *options)
{
	struct library *library = NULL;
	struct image image;
	CUresult result = jit_options_open_image(call, &image, data, size, options);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	result = library_create(call, &image, options, &library);
	image_close(&image);
	jit_options_stop(options);
	if (result == CUDA_SUCCESS) {
		result = library_hold_memory(call, library);
	}
	*out = result == CUDA_SUCCESS ? library->handle : NULL;
	return result;
}

API(cuLibraryLoadData, CUlibrary *out, const void *code, CUjit_option *options, void **values,
	unsigned int count, CUlibraryOption *library_options, void **library_values,
	unsigned int library_count)
{
	struct jit_options read;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS && !code) {
		return api_null(__func__, "the code");
	}
	if (result == CUDA_SUCCESS) {
		*out = NULL;
		result = check_library_options(__func__, library_options, library_values,
			library_count, false);
	}
	if (result == CUDA_SUCCESS) {
		result = jit_options_read(__func__, &read, count, options, values);
	}
	return result == CUDA_SUCCESS ? library_load_image(__func__, out, code, IMAGE_UNKNOWN_SIZE,
		&read) : result;
}

API(cuLibraryLoadFromFile, CUlibrary *out, const char *path, CUjit_option *options, void **values,
	unsigned int count, CUlibraryOption *library_options, void **library_values,
	unsigned int library_count)
{
	struct jit_options read;
	char *data;
	size_t size;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = NULL;
		result = check_library_options(__func__, library_options, library_values,
			library_count, true);
	}
	if (result == CUDA_SUCCESS) {
		result = jit_options_read(__func__, &read, count, options, values);
	}
	if (result == CUDA_SUCCESS) {
		result = jit_options_read_image(__func__, path, &data, &size);
	}
	if (result == CUDA_SUCCESS) {
		result = library_load_image(__func__, out, data, size, &read);
		mem_free(data);
	}
	return result;
}

static CUresult library_find(const char *call, CUlibrary handle, struct library **out)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_LIBRARY);
	return *out ? CUDA_SUCCESS : api_bad_handle(call, "library");
}

static CUresult library_find_kernel(const char *call, CUkernel handle, struct function **out)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_KERNEL);
	return *out ? CUDA_SUCCESS : api_bad_handle(call, "kernel of a library");
}

API(cuLibraryUnload, CUlibrary handle)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct library *library = handle_claim(handle, API_LIBRARY);
	if (!library) {
		return api_bad_handle(__func__, "library");
	}
	for (size_t i = 0; i < library->loaded_count; i++) {
		// There is none if its context is being destroyed.
		struct object *object = handle_claim(library->loaded[i].module, API_MODULE);
		if (object) {
			context_wait(object->context);
			module_free(object);
		}
	}
	if (library->memory) {
		module_free_managed(library->plan, library->memory);
		api_release_memory();
	}
	library_free(library);
	return CUDA_SUCCESS;
}

API(cuLibraryGetKernel, CUkernel *out, CUlibrary handle, const char *name)
{
	struct library *library;
	CUresult result = api_need(library_find(__func__, handle, &library), __func__, out);
	if (result == CUDA_SUCCESS && !name) {
		return api_null(__func__, "the name");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct function *kernel;
	result = module_find_function(__func__, library->plan, name, &kernel);
	*out = kernel ? (CUkernel)(void *)kernel->handle : NULL;
	return result != CUDA_SUCCESS || kernel ? result : api_fail(CUDA_ERROR_NOT_FOUND,
		"%s: the library has no kernel '%s'", __func__, name);
}

API(cuLibraryGetKernelCount, unsigned int *out, CUlibrary handle)
{
	struct library *library;
	CUresult result = api_need(library_find(__func__, handle, &library), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = (unsigned)library->plan->function_count;
	}
	return result;
}

API(cuLibraryEnumerateKernels, CUkernel *out, unsigned int count, CUlibrary handle)
{
	struct library *library;
	CUresult result = api_need(library_find(__func__, handle, &library), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	for (size_t i = 0; i < count && i < library->plan->function_count; i++) {
		struct function *kernel;
		result = module_function(__func__, library->plan, i, &kernel);
		if (result != CUDA_SUCCESS) {
			return result;
		}
		out[i] = (CUkernel)(void *)kernel->handle;
	}
	return CUDA_SUCCESS;
}

/* Get the module that the library has in the current context. */
static CUresult enter_library(const char *call, CUlibrary handle, struct module **out)
{
	struct context *context;
	struct library *library;
	CUresult result = library_find(call, handle, &library);
	if (result == CUDA_SUCCESS) {
		result = api_enter(call, &context);
	}
	return result == CUDA_SUCCESS ? library_module(call, library, context, out) : result;
}

API(cuLibraryGetModule, CUmodule *out, CUlibrary handle)
{
	struct module *module;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = enter_library(__func__, handle, &module);
		*out = result == CUDA_SUCCESS ? module->object.handle : NULL;
	}
	return result;
}

static CUresult library_check_names(const char *call, const void *out, const void *size,
	const char *name)
{
	CUresult result = api_ready(call);
	return result != CUDA_SUCCESS ? result : !name ? api_null(call, "the name")
		: !out && !size ? api_null(call, "a result") : CUDA_SUCCESS;
}

API(cuLibraryGetGlobal, CUdeviceptr *out, size_t *size, CUlibrary handle, const char *name)
{
	struct module *module;
	CUresult result = library_check_names(__func__, out, size, name);
	if (result == CUDA_SUCCESS) {
		result = enter_library(__func__, handle, &module);
	}
	return result == CUDA_SUCCESS ? module_global(__func__, module, name, out, size) : result;
}

API(cuLibraryGetManaged, CUdeviceptr *out, size_t *size, CUlibrary handle, const char *name)
{
	struct module *module;
	CUresult result = library_check_names(__func__, out, size, name);
	if (result == CUDA_SUCCESS) {
		result = enter_library(__func__, handle, &module);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	for (size_t i = 0; i < module->ptx.var_count; i++) {
		if (module->ptx.vars[i]->is_managed
		    && strcmp(module->ptx.vars[i]->name, name) == 0) {
			return module_global(__func__, module, name, out, size);
		}
	}
	return api_fail(CUDA_ERROR_NOT_FOUND, "%s: the library has no managed variable '%s'",
		__func__, name);
}

/* A unified function would need the same code on host and device. */
API(cuLibraryGetUnifiedFunction, void **out, CUlibrary handle, const char *name)
{
	struct library *library;
	CUresult result = api_need(library_find(__func__, handle, &library), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = NULL;
	return !name ? api_null(__func__, "the name") : api_fail(CUDA_ERROR_NOT_FOUND,
		"%s: the library has no unified function '%s'", __func__, name);
}

API(cuKernelGetFunction, CUfunction *out, CUkernel handle)
{
	struct context *context;
	struct function *kernel;
	struct function *function;
	CUresult result = api_need(library_find_kernel(__func__, handle, &kernel), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = NULL;
		result = api_enter(__func__, &context);
	}
	if (result == CUDA_SUCCESS) {
		result = function_find(__func__, context, handle, &function);
	}
	if (result == CUDA_SUCCESS) {
		*out = function->handle;
	}
	return result;
}

API(cuKernelGetLibrary, CUlibrary *out, CUkernel handle)
{
	struct function *kernel;
	CUresult result = api_need(library_find_kernel(__func__, handle, &kernel), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = kernel->module->library->handle;
	}
	return result;
}

API(cuKernelGetName, const char **out, CUkernel handle)
{
	struct function *kernel;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS && !handle) {
		return api_null(__func__, "the kernel");
	}
	if (result == CUDA_SUCCESS) {
		result = library_find_kernel(__func__, handle, &kernel);
	}
	if (result == CUDA_SUCCESS) {
		*out = kernel->ptx->name;
	}
	return result;
}

API(cuKernelGetParamInfo, CUkernel handle, size_t index, size_t *offset, size_t *size)
{
	struct function *kernel;
	CUresult result = api_need(library_find_kernel(__func__, handle, &kernel), __func__,
		offset);
	return result == CUDA_SUCCESS ? function_param_info(__func__, kernel, index, offset, size)
		: result;
}

API(cuKernelGetParamCount, CUkernel handle, size_t *out)
{
	struct function *kernel;
	CUresult result = api_need(library_find_kernel(__func__, handle, &kernel), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = kernel->ptx->param_count;
	}
	return result;
}

static CUresult library_enter_kernel(const char *call, CUkernel handle, CUdevice device,
	struct function **out)
{
	CUresult result = library_find_kernel(call, handle, out);
	return result == CUDA_SUCCESS ? api_check_device(call, device) : result;
}

API(cuKernelGetAttribute, int *out, CUfunction_attribute attribute, CUkernel handle,
	CUdevice device)
{
	struct function *kernel;
	CUresult result = api_need(library_enter_kernel(__func__, handle, device, &kernel),
		__func__, out);
	return result == CUDA_SUCCESS ? function_get_attribute(__func__, kernel, attribute, out)
		: result;
}

API(cuKernelSetAttribute, CUfunction_attribute attribute, int value, CUkernel handle,
	CUdevice device)
{
	struct function *kernel;
	CUresult result = library_enter_kernel(__func__, handle, device, &kernel);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct library *library = kernel->module->library;
	pthread_mutex_lock(&library->lock);
	result = function_set_attribute(__func__, kernel, attribute, value);
	for (size_t i = 0; result == CUDA_SUCCESS && i < library->loaded_count; i++) {
		struct module *module = handle_get(library->loaded[i].module, API_MODULE);
		struct function *function = module
			? module_known_function(module, kernel->place) : NULL;
		if (function && !(function->attributes_set & 1u << attribute)) {
			function_set_attribute(__func__, function, attribute, value);
		}
	}
	pthread_mutex_unlock(&library->lock);
	return result;
}

API(cuKernelSetCacheConfig, CUkernel handle, CUfunc_cache config, CUdevice device)
{
	struct function *kernel;
	CUresult result = library_enter_kernel(__func__, handle, device, &kernel);
	if (result == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown value %d", __func__,
			(int)config);
	}
	return result;
}

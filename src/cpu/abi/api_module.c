/* SPDX-License-Identifier: MIT */
/*
 * Modules: loading images, and finding their kernels and variables by name.  object/cu_module.c and
 * object/function.c do the work.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"
#include "cpu/object/jit_options.h"
#include "cpu/object/library.h"
#include "cpu/ptx/ptx_image.h"

static CUresult module_load_data(const char *call, CUmodule *out, const void *data, size_t size,
	struct jit_options *options)
{
	struct context *context;
	struct image image;
	struct module *module = NULL;
	CUresult result = api_need(api_enter(call, &context), call, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (!data) {
		return api_null(call, "the image");
	}
	*out = NULL;
	result = jit_options_open_image(call, &image, data, size, options);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	result = cu_module_create(call, context, image.text, image.size, options, &module);
	image_close(&image);
	jit_options_stop(options);
	if (result == CUDA_SUCCESS && module) {
		*out = module->object.handle;
	}
	return result;
}

API(cuModuleLoadDataEx, CUmodule *out, const void *image, unsigned int count,
	CUjit_option *options, void **values)
{
	struct context *context;
	struct jit_options read;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS) {
		result = jit_options_read(__func__, &read, count, options, values);
	}
	return result == CUDA_SUCCESS ? module_load_data(__func__, out, image, IMAGE_UNKNOWN_SIZE,
		&read) : result;
}

API(cuModuleLoadData, CUmodule *out, const void *image)
{
	struct jit_options options = {0};
	return module_load_data(__func__, out, image, IMAGE_UNKNOWN_SIZE, &options);
}

/* For images that NVIDIA's tools have made.  PTX is accepted, too. */
API(cuModuleLoadFatBinary, CUmodule *out, const void *image)
{
	struct jit_options options = {0};
	return module_load_data(__func__, out, image, IMAGE_UNKNOWN_SIZE, &options);
}

API(cuModuleLoad, CUmodule *out, const char *path)
{
	struct jit_options options = {0};
	struct context *context;
	char *data;
	size_t size;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = NULL;
		result = jit_options_read_image(__func__, path, &data, &size);
	}
	if (result == CUDA_SUCCESS) {
		result = module_load_data(__func__, out, data, size, &options);
		mem_free(data);
	}
	return result;
}

static CUresult find_module(const char *call, CUmodule handle, struct module **out)
{
	struct context *context;
	CUresult result = api_enter(call, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_MODULE);
	return *out ? CUDA_SUCCESS : api_bad_handle(call, "module");
}

API(cuModuleUnload, CUmodule handle)
{
	struct context *context;
	CUresult result = api_enter_release(__func__, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	bool is_part;
	struct object *object = object_claim(handle, API_MODULE, &is_part);
	if (!object) {
		return is_part ? api_fail(CUDA_ERROR_NOT_PERMITTED,
			"%s: the module belongs to a library, which is unloaded instead", __func__)
			: api_bad_handle(__func__, "module");
	}
	result = context_wait(object->context);
	module_free(object);
	return result;
}

API(cuModuleGetFunction, CUfunction *out, CUmodule handle, const char *name)
{
	struct module *module;
	CUresult result = api_need(find_module(__func__, handle, &module), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = NULL;
	if (!name || *name == '\0') {
		return api_null(__func__, "the name");
	}
	struct function *function;
	result = module_find_function(__func__, module, name, &function);
	if (result == CUDA_SUCCESS && !function) {
		return api_fail(CUDA_ERROR_NOT_FOUND, "%s: the module has no kernel '%s'", __func__,
			name);
	}
	if (result == CUDA_SUCCESS) {
		result = function_compile(__func__, function);
	}
	if (result == CUDA_SUCCESS) {
		*out = function->handle;
	}
	return result;
}

API(cuModuleGetGlobal_v2, CUdeviceptr *out, size_t *size, CUmodule handle, const char *name)
{
	struct module *module;
	CUresult result = find_module(__func__, handle, &module);
	if (result == CUDA_SUCCESS && !name) {
		return api_null(__func__, "the name");
	}
	if (result == CUDA_SUCCESS && !out && !size) {
		return api_null(__func__, "a result");
	}
	return result == CUDA_SUCCESS ? module_global(__func__, module, name, out, size) : result;
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

/* The kernels are not compiled yet; their first launch does that. */
API(cuModuleEnumerateFunctions, CUfunction *out, unsigned int count, CUmodule handle)
{
	struct module *module;
	CUresult result = api_need(find_module(__func__, handle, &module), __func__, out);
	for (size_t i = 0; result == CUDA_SUCCESS && i < count && i < module->function_count; i++) {
		struct function *function;
		result = module_function(__func__, module, i, &function);
		out[i] = result == CUDA_SUCCESS ? function->handle : NULL;
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

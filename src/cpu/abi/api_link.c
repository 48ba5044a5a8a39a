/* SPDX-License-Identifier: MIT */
/*
 * Linking at run time.  The inputs are PTX, fat binaries with PTX in them, and objects and
 * libraries of the host with such fat binaries (ptx/link_host.c).  The result is PTX again
 * (ptx/ptx_link.c).  libcudadevrt.a, for cooperative groups, is known by its name
 * (link_runtime.c).  The result is checked as loading would check it, so that a program gets the
 * errors here.  It ends with a zero, which counts in its size.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "base/alloc.h"
#include "cpu/object/jit_options.h"
#include "cpu/object/library.h"
#include "cpu/ptx/check.h"
#include "cpu/ptx/link_host.h"
#include "cpu/ptx/ptx_image.h"
#include "cpu/ptx/ptx_link.h"
#include "cpu/ptx/parse.h"

#include <stdio.h>
#include <string.h>

struct link {
	CUlinkState handle;
	pthread_mutex_t lock;  /* of the members below */
	struct linker *linker;
	struct jit_options options;
	struct str image;
	bool is_complete;
};

static void link_free(struct link *link)
{
	handle_release(link->handle);
	linker_release(link->linker);
	str_free(&link->image);
	pthread_mutex_destroy(&link->lock);
	mem_free(link);
}

static CUresult link_create(const char *call, const struct jit_options *options, CUlinkState *out)
{
	struct link *link = mem_zalloc(1, sizeof(*link));
	if (link) {
		pthread_mutex_init(&link->lock, NULL);
		link->options = *options;
		link->linker = linker_create();
		link->handle = link->linker ? handle_create(API_LINK, link) : NULL;
	}
	if (!link || !link->handle) {
		if (link) {
			link_free(link);
		}
		return api_no_memory(call);
	}
	*out = link->handle;
	return CUDA_SUCCESS;
}

API(cuLinkCreate_v2, unsigned int count, CUjit_option *options, void **values, CUlinkState *out)
{
	struct context *context;
	struct jit_options read;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = jit_options_read(__func__, &read, count, options, values);
	}
	return result == CUDA_SUCCESS ? link_create(__func__, &read, out) : result;
}
API_ALIAS(cuLinkCreate, cuLinkCreate_v2);

static CUresult find_link(const char *call, CUlinkState handle, struct link **out)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = handle_get(handle, API_LINK);
	return *out ? CUDA_SUCCESS : api_bad_handle(call, "link");
}

/* An input takes options of the compiler only. */
static CUresult link_check_options(const char *call, unsigned count, const CUjit_option *options,
	void *const *values)
{
	if (count > 0 && (!options || !values)) {
		return api_null(call, "the options");
	}
	for (unsigned i = 0; i < count; i++) {
		switch ((unsigned)options[i]) {
		case CU_JIT_WALL_TIME:
		case CU_JIT_INFO_LOG_BUFFER:
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
		case CU_JIT_ERROR_LOG_BUFFER:
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
		case CU_JIT_TARGET_FROM_CUCONTEXT:
		case CU_JIT_TARGET:
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: option %d is one of the whole link", call, (int)options[i]);
		default:
			break;
		}
	}
	return CUDA_SUCCESS;
}

static CUresult link_refuse_input(const char *call, struct link *link, const char *what)
{
	char text[96];
	snprintf(text, sizeof(text), "error   : the CPU device links PTX, not %s\n", what);
	jit_options_log(&link->options.error, text);
	return api_fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "%s: %s", call, text);
}

static CUresult link_check_type(const char *call, struct link *link, CUjitInputType type)
{
	if ((unsigned)type > CU_JIT_INPUT_NVVM) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown type of input %d", call,
			(int)type);
	}
	return type == CU_JIT_INPUT_NVVM ? link_refuse_input(call, link, "LTO code")
		: CUDA_SUCCESS;
}

static CUresult fail_link(const char *call, struct link *link, enum link_status status,
	const struct ptx_diag *diag, const struct str *errors)
{
	if (status == LINK_BAD_PTX) {
		return jit_options_fail(call, diag, &link->options);
	}
	if (status == LINK_NO_MEMORY || errors->failed) {
		return api_no_memory(call);
	}
	jit_options_log(&link->options.error, errors->data);
	return api_fail(CUDA_ERROR_INVALID_SOURCE, "%s: %s", call, errors->data);
}

/* Add PTX; NULL: the device runtime, which is ours. */
static CUresult link_add_text(const char *call, struct link *link, const char *text, size_t size,
	const char *name)
{
	struct ptx_diag diag = {0};
	struct str errors = STR_INIT;
	enum link_status status = text
		? linker_add(link->linker, text, size, name, &diag, &errors)
		: linker_add_runtime(link->linker, &diag, &errors);
	CUresult result = status == LINK_OK ? CUDA_SUCCESS
		: fail_link(call, link, status, &diag, &errors);
	str_free(&errors);
	return result;
}

static CUresult link_add_image(const char *call, struct link *link, const void *data, size_t size,
	const char *name)
{
	struct image image;
	CUresult result = jit_options_open_image(call, &image, data, size, &link->options);
	if (result == CUDA_SUCCESS) {
		const char *text = link_is_runtime_text(image.text, image.size) ? NULL : image.text;
		result = link_add_text(call, link, text, image.size, name);
		image_close(&image);
	}
	return result;
}

/* An object or a library of the host, while its device code is added. */
struct link_host {
	const char *call;
	struct link *link;
	const char *name;
	size_t count;
	CUresult result;
};

static bool link_take_fatbin(void *arg, const void *fatbin, size_t size)
{
	struct link_host *host = arg;
	host->count++;
	host->result = link_add_image(host->call, host->link, fatbin, size, host->name);
	return host->result == CUDA_SUCCESS;
}

/* All members of a library are linked, also those that nothing refers to. */
static CUresult link_add_host(const char *call, struct link *link, const void *data, size_t size,
	const char *name, bool is_library)
{
	struct link_host host = {call, link, name, 0, CUDA_SUCCESS};
	link_walk_host(data, size, link_take_fatbin, &host);
	return host.count > 0 ? host.result : link_refuse_input(call, link, is_library
		? "a library of host objects without device code"
		: "a host object without device code");
}

static CUresult link_add_locked(const char *call, struct link *link, CUjitInputType type,
	const void *data, size_t size, const char *name)
{
	const bool is_library = type == CU_JIT_INPUT_LIBRARY;
	if (is_library && link_is_runtime(data, size)) {
		return link_add_text(call, link, NULL, 0, name);
	}
	return is_library || type == CU_JIT_INPUT_OBJECT
		? link_add_host(call, link, data, size, name, is_library)
		: link_add_image(call, link, data, size, name);
}

/* An input, with all that the program says about it. */
struct addition {
	CUjitInputType type;
	const char *name;
	unsigned count;
	const CUjit_option *options;
	void *const *values;
};

static CUresult link_check_addition(const char *call, struct link *link,
	const struct addition *what)
{
	CUresult result = link_check_options(call, what->count, what->options, what->values);
	if (result == CUDA_SUCCESS && link->is_complete) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the link is complete", call);
	}
	return result == CUDA_SUCCESS ? link_check_type(call, link, what->type) : result;
}

/* Add data, or the file of that name if `data` is NULL. */
static CUresult api_link_add_input(const char *call, CUlinkState handle,
	const struct addition *what, const void *data, size_t size)
{
	struct link *link;
	char *read = NULL;
	CUresult result = find_link(call, handle, &link);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&link->lock);
	result = link_check_addition(call, link, what);
	if (result == CUDA_SUCCESS && !data) {
		result = jit_options_read_image(call, what->name, &read, &size);
	}
	if (result == CUDA_SUCCESS) {
		jit_options_start(&link->options);
		result = link_add_locked(call, link, what->type, data ? data : read, size,
			what->name);
		jit_options_stop(&link->options);
	}
	pthread_mutex_unlock(&link->lock);
	mem_free(read);
	return result;
}

API(cuLinkAddData_v2, CUlinkState handle, CUjitInputType type, void *data, size_t size,
	const char *name, unsigned int count, CUjit_option *options, void **values)
{
	const struct addition what = {type, name, count, options, values};
	CUresult result = api_ready(__func__);
	if (result == CUDA_SUCCESS && !data) {
		return api_null(__func__, "the data");
	}
	return result == CUDA_SUCCESS ? api_link_add_input(__func__, handle, &what, data, size)
		: result;
}
API_ALIAS(cuLinkAddData, cuLinkAddData_v2);

API(cuLinkAddFile_v2, CUlinkState handle, CUjitInputType type, const char *path,
	unsigned int count, CUjit_option *options, void **values)
{
	const struct addition what = {type, path, count, options, values};
	return api_link_add_input(__func__, handle, &what, NULL, 0);
}
API_ALIAS(cuLinkAddFile, cuLinkAddFile_v2);

/* Check that the result can be loaded. */
static bool link_check_result(const struct str *text, struct ptx_diag *diag)
{
	struct ptx_module module;
	bool ok = parse_module(&module, text->data, text->len, diag);
	if (ok) {
		ok = check_module(&module, diag);
		parse_free(&module);
	}
	return ok;
}

static CUresult link_complete(const char *call, struct link *link)
{
	struct ptx_diag diag = {0};
	struct str errors = STR_INIT;
	if (linker_count(link->linker) == 0) {
		return api_fail(CUDA_ERROR_INVALID_IMAGE, "%s: nothing has been added", call);
	}
	jit_options_start(&link->options);
	linker_limit_registers(link->linker, link->options.max_registers);
	enum link_status status = linker_finish(link->linker, &link->image, &errors);
	if (status == LINK_OK && !link_check_result(&link->image, &diag)) {
		status = LINK_BAD_PTX;
	}
	CUresult result = status == LINK_OK ? CUDA_SUCCESS
		: fail_link(call, link, status, &diag, &errors);
	str_free(&errors);
	jit_options_stop(&link->options);
	link->is_complete = status == LINK_OK;
	if (!link->is_complete) {
		str_free(&link->image);
	}
	return result;
}

API(cuLinkComplete, CUlinkState handle, void **out, size_t *size)
{
	struct link *link;
	CUresult result = api_need(find_link(__func__, handle, &link), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	pthread_mutex_lock(&link->lock);
	if (!link->is_complete) {
		result = link_complete(__func__, link);
	}
	if (result == CUDA_SUCCESS) {
		*out = link->image.data;
	}
	if (result == CUDA_SUCCESS && size) {
		*size = link->image.len + 1;
	}
	pthread_mutex_unlock(&link->lock);
	return result;
}

API(cuLinkDestroy, CUlinkState handle)
{
	CUresult result = api_ready(__func__);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct link *link = handle_claim(handle, API_LINK);
	if (!link) {
		return api_bad_handle(__func__, "link");
	}
	// Another thread may still be adding to it.
	pthread_mutex_lock(&link->lock);
	pthread_mutex_unlock(&link->lock);
	link_free(link);
	return CUDA_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
/*
 * The stub's modules.  A kernel exists if the script lists it (functions=), or, without a list, if
 * the image defines it: PTX has ".entry NAME", a cubin has NAME in a string table.
 */
#include "base/common.h"

#include "stub.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUfunc_st {
	struct CUfunc_st *next;
	int dynamic_shared;
	char name[128];
	char sizes[256]; /* "8-8-4" */
	bool listed;
};

struct global {
	struct global *next;
	CUdeviceptr address;
	size_t size;
	char name[128];
};

struct CUmod_st {
	struct CUfunc_st *functions;
	struct global *globals;
	char *image;
	size_t image_size;
};

static size_t elf_size(const Elf64_Ehdr *head)
{
	const char *bytes = (const char *)head;
	size_t size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + head->e_shoff);
	for (int i = 0; i < head->e_shnum; i++) {
		size_t end = sections[i].sh_offset + sections[i].sh_size;
		if (sections[i].sh_type != SHT_NOBITS && end > size) {
			size = end;
		}
	}
	return size;
}

static bool is_elf(const char *image)
{
	return memcmp(image, ELFMAG, SELFMAG) == 0;
}

static bool image_defines(CUmodule module, const char *name)
{
	char needle[160];
	size_t len = (size_t)snprintf(needle, sizeof(needle), "%c%s", '\0', name) + 1;
	if (is_elf(module->image)) {
		return memmem(module->image, module->image_size, needle, len) != NULL;
	}
	len = (size_t)snprintf(needle, sizeof(needle), ".entry %s", name);
	const char *found = module->image;
	while ((found = strstr(found, needle)) != NULL) {
		if (strchr("( \n\t", found[len])) {
			return true;
		}
		found += len;
	}
	return false;
}

/* The next NAME:REST of a list with ',' between; false at its end. */
static bool next_item(const char **list, char *name, size_t name_size, char *rest, size_t rest_size)
{
	if (!**list) {
		return false;
	}
	size_t len = strcspn(*list, ",");
	size_t name_len = strcspn(*list, ":,");
	const char *tail = *list + name_len + (name_len < len);
	snprintf(name, name_size, "%.*s", (int)name_len, *list);
	snprintf(rest, rest_size, "%.*s", (int)(*list + len - tail), tail);
	*list += len + ((*list)[len] == ',');
	return true;
}

static CUfunction function_add(CUmodule module, const char *name, const char *sizes, bool listed)
{
	CUfunction function = calloc(1, sizeof(*function));
	if (function) {
		snprintf(function->name, sizeof(function->name), "%s", name);
		snprintf(function->sizes, sizeof(function->sizes), "%s", sizes);
		function->listed = listed;
		function->next = module->functions;
		module->functions = function;
	}
	return function;
}

static bool global_add(CUmodule module, const char *name, size_t size)
{
	struct global *global = calloc(1, sizeof(*global));
	if (!global || stub_memory_create(&global->address, size)) {
		free(global);
		return false;
	}
	global->size = size;
	snprintf(global->name, sizeof(global->name), "%s", name);
	memset((void *)(uintptr_t)global->address, 0, size);
	global->next = module->globals;
	module->globals = global;
	return true;
}

static void module_free(CUmodule module)
{
	for (CUfunction next, f = module->functions; f; f = next) {
		next = f->next;
		free(f);
	}
	for (struct global *next, *g = module->globals; g; g = next) {
		next = g->next;
		stub_memory_release(g->address);
		free(g);
	}
	free(module->image);
	stub_release(STUB_MODULE, module);
}

static bool module_fill(CUmodule module, const char *image)
{
	char name[128], rest[256];
	module->image_size = is_elf(image) ? elf_size((const void *)image) : strlen(image);
	module->image = malloc(module->image_size + 1);
	if (!module->image) {
		return false;
	}
	memcpy(module->image, image, module->image_size);
	module->image[module->image_size] = '\0';
	const char *list = stub.functions;
	while (next_item(&list, name, sizeof(name), rest, sizeof(rest))) {
		if (!function_add(module, name, rest, true)) {
			return false;
		}
	}
	list = stub.globals;
	while (next_item(&list, name, sizeof(name), rest, sizeof(rest))) {
		if (!global_add(module, name, strtoul(rest, NULL, 10))) {
			return false;
		}
	}
	return true;
}

/* 90 for ".version 9.0"; 0 for what is not PTX. */
static int module_ptx_version(const char *image)
{
	const char *version = is_elf(image) ? NULL : strstr(image, ".version ");
	int major = 0, minor = 0;
	return version && sscanf(version, ".version %d.%d", &major, &minor) == 2
		? 10 * major + minor : 0;
}

static CUresult module_load(CUresult code, CUmodule *out, const void *image)
{
	if (code) {
		return code;
	}
	if (stub.ptx > 0 && module_ptx_version(image) > stub.ptx) {
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	}
	CUmodule module = stub_create(STUB_MODULE, sizeof(*module));
	if (!module) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!module_fill(module, image)) {
		module_free(module);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = module;
	return CUDA_SUCCESS;
}

CUresult do_ModuleLoadData(CUmodule *module, const void *image)
{
	return module_load(stub_enter_context(DRV_cuModuleLoadData), module, image);
}

CUresult do_ModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
	CUjit_option *options, void **values)
{
	char *info = NULL;
	size_t room = 0, used = 0;
	for (unsigned i = 0; i < count; i++) {
		if (options[i] == CU_JIT_INFO_LOG_BUFFER) {
			info = values[i];
		} else if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) {
			room = (uintptr_t)values[i];
		}
	}
	/* The information is what it was asked for: "0=20 7=0 ". */
	for (unsigned i = 0; info && i < count; i++) {
		if (options[i] < CU_JIT_INFO_LOG_BUFFER
		    || options[i] > CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
			used += (size_t)snprintf(info + used, used < room ? room - used : 0,
				"%d=%u ", (int)options[i], (unsigned)(uintptr_t)values[i]);
		}
	}
	return module_load(stub_enter_context(DRV_cuModuleLoadDataEx), module, image);
}

CUresult do_ModuleUnload(CUmodule module)
{
	CUresult code = stub_enter_context(DRV_cuModuleUnload);
	if (!code) {
		module_free(module);
	}
	return code;
}

CUresult do_ModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	CUresult code = stub_enter_context(DRV_cuModuleGetFunction);
	if (code) {
		return code;
	}
	CUfunction f = module->functions;
	while (f && strcmp(f->name, name) != 0) {
		f = f->next;
	}
	if (!f && !stub.functions[0] && image_defines(module, name)) {
		f = function_add(module, name, "", false);
	}
	*function = f;
	return f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult do_ModuleGetGlobal(CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
	CUresult code = stub_enter_context(DRV_cuModuleGetGlobal);
	struct global *g = module->globals;
	while (g && strcmp(g->name, name) != 0) {
		g = g->next;
	}
	if (code || !g) {
		return code ? code : CUDA_ERROR_NOT_FOUND;
	}
	if (address) {
		*address = g->address;
	}
	if (size) {
		*size = g->size;
	}
	return CUDA_SUCCESS;
}

CUresult do_ModuleGetFunctionCount(unsigned int *count, CUmodule module)
{
	*count = 0;
	for (CUfunction f = module->functions; f; f = f->next) {
		*count += 1;
	}
	return stub_enter_context(DRV_cuModuleGetFunctionCount);
}

CUresult do_ModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module)
{
	unsigned int i = 0;
	for (CUfunction f = module->functions; f && i < count; f = f->next) {
		functions[i++] = f;
	}
	return stub_enter_context(DRV_cuModuleEnumerateFunctions);
}

CUresult do_ModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	*mode = CU_MODULE_LAZY_LOADING;
	return stub_enter(DRV_cuModuleGetLoadingMode);
}

CUresult do_FuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	*value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
		: attribute == CU_FUNC_ATTRIBUTE_NUM_REGS             ? 32
		: attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION          ? stub.cc
		: attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION       ? stub.cc
		: attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
		? (function->dynamic_shared ? function->dynamic_shared : 49152)
		: 0;
	return stub_enter_context(DRV_cuFuncGetAttribute);
}

CUresult do_FuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	CUresult code = stub_enter_context(DRV_cuFuncSetAttribute);
	if (!code && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		function->dynamic_shared = value;
	}
	return code;
}

CUresult do_FuncGetName(const char **name, CUfunction function)
{
	*name = function->name;
	return stub_enter(DRV_cuFuncGetName);
}

CUresult do_FuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
	CUresult code = stub_enter(DRV_cuFuncGetParamInfo);
	if (code || !function->listed) {
		return code ? code : CUDA_ERROR_NOT_SUPPORTED;
	}
	size_t at = 0;
	const char *text = function->sizes;
	while (*text) {
		char *end;
		size_t bytes = strtoul(text, &end, 10);
		size_t alignment = bytes < 2 ? 1 : bytes < 4 ? 2 : bytes < 8 ? 4 : 8;
		at = round_up(at, alignment);
		if (index-- == 0) {
			*offset = at;
			if (size) {
				*size = bytes;
			}
			return CUDA_SUCCESS;
		}
		at += bytes;
		text = end + (*end == '-');
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* The stub's linker: what comes out is what was put in last. */
struct CUlinkState_st {
	char *image;
	size_t size;
};

CUresult do_LinkCreate(unsigned int count, CUjit_option *options, void **values,
	CUlinkState *state)
{
	(void)count, (void)options, (void)values;
	CUresult code = stub_enter_context(DRV_cuLinkCreate);
	if (!code) {
		*state = stub_create(STUB_LINK, sizeof(**state));
		code = *state ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	return code;
}

CUresult do_LinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
	const char *name, unsigned int count, CUjit_option *options, void **values)
{
	(void)type, (void)name, (void)count, (void)options, (void)values;
	CUresult code = stub_enter_context(DRV_cuLinkAddData);
	char *copy = code ? NULL : malloc(size);
	if (!copy) {
		return code ? code : CUDA_ERROR_OUT_OF_MEMORY;
	}
	free(state->image);
	state->image = memcpy(copy, data, size);
	state->size = size;
	return CUDA_SUCCESS;
}

CUresult do_LinkComplete(CUlinkState state, void **image, size_t *size)
{
	CUresult code = stub_enter_context(DRV_cuLinkComplete);
	if (!code) {
		*image = state->image;
		*size = state->size;
	}
	return code;
}

CUresult do_LinkDestroy(CUlinkState state)
{
	CUresult code = stub_enter_context(DRV_cuLinkDestroy);
	if (!code) {
		free(state->image);
		stub_release(STUB_LINK, state);
	}
	return code;
}

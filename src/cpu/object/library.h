/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_LIBRARY_H
#define CPU_OBJECT_LIBRARY_H

/* Libraries: code without a context, and the way from any handle of a kernel to its function. */
#include "cpu/object/cu_module.h"

struct image;

struct loaded {
	uint64_t context;
	CUmodule module;
};

struct library {
	CUlibrary handle;
	pthread_mutex_t lock;   /* of the members below */
	char *text;
	size_t size;
	struct module *plan;    /* without a context */
	struct device_memory *memory; /* that has its managed variables, or NULL */
	struct loaded *loaded;
	size_t loaded_count;
};

CUresult library_create(const char *call, const struct image *image,
	struct jit_options *options, struct library **out);
/* Free one whose modules are gone. */
void library_free(struct library *library);
/* The library as a module of a context. */
CUresult library_module(const char *call, struct library *library, struct context *context,
	struct module **out);

/* A kernel by its handle, ready to run.  For the handle of a library's kernel it is the function in
 * the context. */
CUresult function_find(const char *call, struct context *context, const void *handle,
	struct function **out);
/* The same, but it may be that it is not compiled yet. */
CUresult function_look_up(const char *call, struct context *context, const void *handle,
	struct function **out);
/* The same in the current context. */
CUresult function_enter(const char *call, const void *handle, struct function **out);

#endif

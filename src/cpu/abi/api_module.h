/* SPDX-License-Identifier: MIT */
#ifndef CPU_API_MODULE_H
#define CPU_API_MODULE_H

/* What api_module.c, api_library.c, api_link.c and api_function.c share: images, the options that
 * come with them, and the way from a name or handle to a kernel that can run. */
#include "cpu/abi/api.h"
#include "cpu/ptx/image.h"

/* A place for text; the size is the buffer's on the way in, the text's on the way out. */
struct log_buffer {
	char *text;
	void **size;
	size_t room;
	size_t used;
};

/* The CU_JIT_ options of a call, of which we use those that give something back, and symbols. */
struct jit_options {
	struct log_buffer error;
	struct log_buffer info;
	void **wall_time;           /* a float: ms */
	int64_t started_ns;
	float spent_ms;
	const char **symbol_names;  /* extern variables that live at addresses of the caller */
	void **symbol_addresses;
	size_t symbol_count;
	const struct kudzu_text *text; /* what is known of a text that stays; NULL: it may go */
};

/* Read the options, empty their logs and start their clock. */
CUresult jit_options_read(const char *call, struct jit_options *out, unsigned count,
	const CUjit_option *options, void **values);
/* Start the clock again; stop it and tell the sum of times. */
void jit_options_start(struct jit_options *options);
void jit_options_stop(struct jit_options *options);
void log_buffer_add(struct log_buffer *log, const char *text);

/* Fail as ptxas does, with the line, in the log and, unless options is NULL, the error buffer. */
CUresult fail_ptx(const char *call, const struct ptx_diag *diag, struct jit_options *options);
/* Open an image or fail with the reason in the logs. */
CUresult open_image(const char *call, struct image *image, const void *data, size_t size,
	struct jit_options *options);
/* Read a file; *data is freed with mem_free. */
CUresult read_image(const char *call, const char *path, char **data, size_t *size);

/* Load PTX into a context.  Without a context: only to know its kernels, whose handles are then
 * of kind API_KERNEL. */
CUresult module_create(const char *call, struct context *context, const char *text, size_t size,
	struct jit_options *options, struct module **out);
/* Free a module that was created without a context. */
void module_release(struct module *module);
/* api_kernel.c: a kernel of a module by name, NULL if there is none. */
CUresult module_find_function(const char *call, struct module *module, const char *name,
	struct function **out);
/* By its place below module->function_count. */
CUresult module_function(const char *call, struct module *module, size_t place,
	struct function **out);
/* The same, NULL if nobody has asked for it before. */
struct function *module_known_function(struct module *module, size_t place);
/* Whether a kernel's parameters and shared memory are not more than a launch can give. */
bool kernel_fits(const struct ptx_func *func, struct ptx_diag *diag);
/* The module's text has been read: make places for its kernels, and those that are known. */
bool kernels_create(struct module *module, struct ptx_diag *diag);
void kernels_free(struct module *module);
/* Take over what was set for the kernel of a library that this function is. */
void kernel_inherit(struct function *function);
/* Where a variable is and how big; what the caller does not want to know is NULL. */
CUresult module_global(const char *call, struct module *module, const char *name,
	CUdeviceptr *out, size_t *size);

/* A kernel by its handle, which may be that of a library's kernel as well: then the one of the
 * context.  It can run afterwards. */
CUresult function_find(const char *call, struct context *context, const void *handle,
	struct function **out);
/* The same, but it may be that it is not compiled yet. */
CUresult function_look_up(const char *call, struct context *context, const void *handle,
	struct function **out);
/* The same in the current context. */
CUresult function_enter(const char *call, const void *handle, struct function **out);
/* Compile it if that has not been done yet. */
CUresult function_compile(const char *call, struct function *function);
/* What runs blocks of this size, of a function that is compiled. */
CUresult function_code(const char *call, struct function *function, const uint32_t block[3],
	const struct jit_kernel **out);
void function_free_code(struct function *function);
/* What a library's kernel is in a context. */
CUresult kernel_function(const char *call, struct context *context, struct function *kernel,
	struct function **out);

/* Attributes of a function or of a library's kernel. */
CUresult function_get_attribute(const char *call, const struct function *function,
	CUfunction_attribute attribute, int *out);
CUresult function_set_attribute(const char *call, struct function *function,
	CUfunction_attribute attribute, int value);
CUresult function_param_info(const char *call, const struct function *function, size_t index,
	size_t *offset, size_t *size);

#endif

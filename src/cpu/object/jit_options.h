/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_JIT_OPTIONS_H
#define CPU_OBJECT_JIT_OPTIONS_H

/* What every way of loading code shares: the options that come with it, and opening images. */
#include "cpu/ptx/ptx.h"
#include "base/cuda_abi.h"

struct image;
struct module;

/* A place for text; the size is the buffer's on the way in, the text's on the way out. */
struct log_buffer {
	char *text;
	void **size;
	size_t room;
	size_t used;
};

/* The CU_JIT_ options of a call.  The CPU device uses the symbols, the limit of registers, and the
 * options that return something to the program. */
struct jit_options {
	struct log_buffer error;
	struct log_buffer info;
	void **wall_time;           /* a float: ms */
	uint64_t started_ns;
	float spent_ms;
	uint32_t max_registers;     /* per thread; 0: no limit */
	bool is_verbose;            /* the info log tells of each kernel */
	const char **symbol_names;  /* extern variables that live at addresses of the caller */
	void **symbol_addresses;
	size_t symbol_count;
	struct module *plan;        /* of the library that the module is of; its lock is held */
};

/* Read the options, empty their logs and start their clock. */
CUresult jit_options_read(const char *call, struct jit_options *out, unsigned count,
	const CUjit_option *options, void **values);
/* Start the clock again; stop it and tell the sum of times. */
void jit_options_start(struct jit_options *options);
void jit_options_stop(struct jit_options *options);
void jit_options_log(struct log_buffer *log, const char *text);

/* Fail as ptxas does, with the line, in the log and, unless options is NULL, the error buffer. */
CUresult jit_options_fail(const char *call, const struct ptx_diag *diag,
	struct jit_options *options);
/* Open an image or fail with the reason in the logs. */
CUresult jit_options_open_image(const char *call, struct image *image, const void *data,
	size_t size, struct jit_options *options);
/* Read a file; *data is freed with mem_free. */
CUresult jit_options_read_image(const char *call, const char *path, char **data, size_t *size);

#endif

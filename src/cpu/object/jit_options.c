/* SPDX-License-Identifier: MIT */
/*
 * What all ways of loading code share.  Of the options of the just-in-time compiler those are read
 * that give something back to the program, the limit of registers, and symbols.  Images and files
 * are opened here.
 */
#include "base/common.h"

#include "cpu/object/jit_options.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "cpu/object/log.h"
#include "cpu/ptx/ptx_image.h"

#include <stdio.h>
#include <string.h>

void jit_options_start(struct jit_options *options)
{
	options->started_ns = clock_now_ns();
}

void jit_options_stop(struct jit_options *options)
{
	options->spent_ms += (float)(clock_now_ns() - options->started_ns) / 1e6f;
	if (options->wall_time) {
		memcpy(options->wall_time, &options->spent_ms, sizeof(options->spent_ms));
	}
}

void jit_options_log(struct log_buffer *log, const char *text)
{
	size_t left = log->text ? log->room - log->used : 0;
	if (left > 0) {
		int full = snprintf(log->text + log->used, left, "%s", text);
		log->used += full < 0 ? 0 : (size_t)full < left ? (size_t)full : left - 1;
	}
	if (log->size) {
		*log->size = (void *)(uintptr_t)log->used;
	}
}

static void jit_options_start_log(struct log_buffer *log)
{
	log->room = log->size ? (uintptr_t)*log->size : 0;
	jit_options_log(log, "");
}

/* Options whose value the CPU device ignores, but not what no driver takes. */
static CUresult jit_options_check(const char *call, CUjit_option option, uintptr_t value)
{
	static const struct {
		CUjit_option option;
		uint32_t least, most;
	} ranges[] = {
		{CU_JIT_MAX_REGISTERS, 1, UINT32_MAX}, {CU_JIT_TARGET, 30, UINT32_MAX},
		{CU_JIT_CACHE_MODE, 0, 2},
	};
	for (size_t i = 0; i < countof(ranges); i++) {
		if (ranges[i].option == option && ((uint32_t)value < ranges[i].least
				|| (uint32_t)value > ranges[i].most)) {
			return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: option %d cannot be %u",
				call, (int)option, (unsigned)value);
		}
	}
	return (unsigned)option <= CU_JIT_BINARY_LOADER_THREAD_COUNT ? CUDA_SUCCESS : api_fail(
		CUDA_ERROR_INVALID_VALUE, "%s: unknown option %d", call, (int)option);
}

CUresult jit_options_read(const char *call, struct jit_options *out, unsigned count,
	const CUjit_option *options, void **values)
{
	memset(out, 0, sizeof(*out));
	if (count > 0 && (!options || !values)) {
		return api_null(call, "the options");
	}
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
		case CU_JIT_MAX_REGISTERS:
			out->max_registers = (uint32_t)(uintptr_t)values[i];
			break;
		case CU_JIT_LOG_VERBOSE:
			out->is_verbose = (uint32_t)(uintptr_t)values[i] != 0;
			break;
		case CU_JIT_WALL_TIME:
			out->wall_time = &values[i];
			break;
		case CU_JIT_GLOBAL_SYMBOL_NAMES:
			out->symbol_names = values[i];
			break;
		case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
			out->symbol_addresses = values[i];
			break;
		case CU_JIT_GLOBAL_SYMBOL_COUNT:
			out->symbol_count = (uint32_t)(uintptr_t)values[i];
			break;
		default:
			break;
		}
		CUresult result = jit_options_check(call, options[i], (uintptr_t)values[i]);
		if (result != CUDA_SUCCESS) {
			return result;
		}
	}
	if (out->symbol_count > 0 && (!out->symbol_names || !out->symbol_addresses)) {
		return api_null(call, "the symbols");
	}
	jit_options_start_log(&out->error);
	jit_options_start_log(&out->info);
	out->is_verbose = out->is_verbose && out->info.text;
	jit_options_start(out);
	return CUDA_SUCCESS;
}

CUresult jit_options_fail(const char *call, const struct ptx_diag *diag,
	struct jit_options *options)
{
	char text[512];
	if (diag->no_memory) {
		return api_fail(CUDA_ERROR_OUT_OF_MEMORY, "%s: %s", call, diag->message);
	}
	if (diag->no_compiler) {
		return api_fail(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "%s: %s", call, diag->message);
	}
	if (diag->line > 0) {
		snprintf(text, sizeof(text), "ptxas application ptx input, line %d; error   : %s",
			diag->line, diag->message);
	} else {
		snprintf(text, sizeof(text), "ptxas error   : %s", diag->message);
	}
	if (options) {
		jit_options_log(&options->error, text);
		jit_options_log(&options->error,
			"\nptxas fatal   : Ptx assembly aborted due to errors\n");
	}
	return api_fail(diag->unsupported ? CUDA_ERROR_NOT_SUPPORTED
		: diag->newer ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : CUDA_ERROR_INVALID_PTX,
		"%s", text);
}

CUresult jit_options_open_image(const char *call, struct image *image, const void *data,
	size_t size, struct jit_options *options)
{
	CUresult result = image_open(image, data, size);
	if (result == CUDA_SUCCESS) {
		return result;
	}
	image_close(image);
	jit_options_log(&options->error, image->why);
	return api_fail(result, "%s: %s", call, image->why);
}

CUresult jit_options_read_image(const char *call, const char *path, char **data, size_t *size)
{
	kz_error err = KZ_ERROR_INIT;
	*data = NULL;
	if (!path) {
		return api_null(call, "the file's name");
	}
	kz_status st = file_read(data, size, path, &err);
	if (st == KZ_OK) {
		return CUDA_SUCCESS;
	}
	return api_fail(st == KZ_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
		: CUDA_ERROR_FILE_NOT_FOUND, "%s: %s", call, err.message);
}

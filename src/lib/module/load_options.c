/* SPDX-License-Identifier: MIT */
/* kz_load_options: checking them, and the options of the driver's compiler that they become. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/module/module.h"

#include <stdlib.h>
#include <string.h>

enum { LOAD_LOG_SIZE = 8192, LOAD_MOST_LOG = 1 << 24 };

/* Of "sm_90a" and "sm_100f": what is added to the number (CUjit_target). */
enum { LOAD_ACCELERATED = 0x10000, LOAD_FAMILY = 0x20000 };

const kz_load_options load_defaults = KZ_LOAD_OPTIONS_INIT;

/* "sm_90", "compute_90a": the number of the driver; 0 if it is neither. */
static unsigned load_target_number(const char *arch)
{
	const char *digits = strncmp(arch, "sm_", 3) == 0 ? arch + 3
		: strncmp(arch, "compute_", 8) == 0 ? arch + 8 : "";
	const size_t count = strspn(digits, "0123456789");
	const char *end = digits + count;
	if (count < 2 || count > 3 || (*end && (end[1] || !strchr("af", *end)))) {
		return 0;
	}
	return (unsigned)strtoul(digits, NULL, 10)
		+ (*end == 'a' ? LOAD_ACCELERATED : *end == 'f' ? LOAD_FAMILY : 0);
}

kz_status load_check_options(const kz_load_options *options, kz_error *err)
{
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_load_options", options->size, sizeof(*options), err);
	}
	const struct {
		const char *name;
		int value, least, most;
	} ranges[] = {
		{"max_registers", options->max_registers, 0, INT32_MAX},
		{"threads_per_block", options->threads_per_block, 0, INT32_MAX},
		{"optimization", options->optimization, -1, 4},
		{"cache_mode", options->cache_mode, 0, KZ_CACHE_MODE_CA},
		{"log_size", options->log_size, 0, LOAD_MOST_LOG},
	};
	for (size_t i = 0; i < countof(ranges); i++) {
		if (ranges[i].value < ranges[i].least || ranges[i].value > ranges[i].most) {
			return error_set(err, KZ_INVALID, "expected %s from %d to %d, got %d",
				ranges[i].name, ranges[i].least, ranges[i].most, ranges[i].value);
		}
	}
	if (options->arch && !load_target_number(options->arch)) {
		return error_set(err, KZ_INVALID, "expected an arch such as 'sm_90', got '%s'",
			options->arch);
	}
	return !options->arch || options->threads_per_block == 0 ? KZ_OK : error_set(err,
		KZ_INVALID, "expected arch or threads_per_block, got both");
}

static void load_jit_add(struct load_jit *jit, CUjit_option option, uintptr_t value)
{
	jit->options[jit->count] = option;
	jit->values[jit->count++] = (void *)value;
}

kz_status load_jit_init(struct load_jit *jit, const kz_load_options *options, kz_error *err)
{
	const size_t size = options->log_size ? (size_t)options->log_size : LOAD_LOG_SIZE;
	*jit = (struct load_jit){.error_log = mem_zalloc(1, size + 1)};
	jit->info_log = options->verbose ? mem_zalloc(1, size + 1) : NULL;
	if (!jit->error_log || (options->verbose && !jit->info_log)) {
		return error_no_memory(err);
	}
	load_jit_add(jit, CU_JIT_ERROR_LOG_BUFFER, (uintptr_t)jit->error_log);
	load_jit_add(jit, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, size);
	if (options->verbose) {
		load_jit_add(jit, CU_JIT_INFO_LOG_BUFFER, (uintptr_t)jit->info_log);
		load_jit_add(jit, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, size);
		load_jit_add(jit, CU_JIT_LOG_VERBOSE, 1);
	}
	if (options->max_registers) {
		load_jit_add(jit, CU_JIT_MAX_REGISTERS, (unsigned)options->max_registers);
	}
	if (options->threads_per_block) {
		load_jit_add(jit, CU_JIT_THREADS_PER_BLOCK, (unsigned)options->threads_per_block);
	}
	if (options->optimization) {
		load_jit_add(jit, CU_JIT_OPTIMIZATION_LEVEL,
			options->optimization < 0 ? 0 : (unsigned)options->optimization);
	}
	if (options->line_info) {
		load_jit_add(jit, CU_JIT_GENERATE_LINE_INFO, 1);
	}
	if (options->debug) {
		load_jit_add(jit, CU_JIT_GENERATE_DEBUG_INFO, 1);
	}
	if (options->cache_mode) {
		load_jit_add(jit, CU_JIT_CACHE_MODE, (unsigned)options->cache_mode);
	}
	if (options->arch) {
		load_jit_add(jit, CU_JIT_TARGET, load_target_number(options->arch));
	}
	return KZ_OK;
}

void load_jit_finish(struct load_jit *jit)
{
	mem_free(jit->error_log);
	mem_free(jit->info_log);
}

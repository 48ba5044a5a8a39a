/* SPDX-License-Identifier: MIT */
/*
 * What is kept of a tuning: the best configuration and its times, in the store of the cache.
 *
 * The key has all that decides which configuration is the best, as far as it is known without a
 * trial: the device and how the CPU device makes code, the request to the compiler and the headers
 * that it reads, the kernel, the table, and the class of the size.  The versions of the compiler
 * and of Kudzu are not in it: they may make another configuration the best one, but never a kept
 * one wrong.  The value is the places of the best configuration's values in the table, which the
 * key has, so that they mean the same whenever they are found.
 */
#include "base/common.h"

#include "lib/tune/tune_kept.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/store.h"
#include "lib/cache/cache.h"
#include "lib/module/module.h"

#include <string.h>

/* Change it with the meaning of a key or a value. */
#define FORMAT "1"

struct kept_value {
	int64_t repeats;
	kz_spread time;
	uint32_t places[]; /* of each parameter */
};

/* The key */

static void kept_add_text(struct str *out, const char *text)
{
	str_addn(out, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void kept_add_number(struct str *out, int64_t number)
{
	str_addn(out, (const char *)&number, sizeof(number));
}

/* Our own driver makes code by these, and for these cores. */
static void kept_add_device(struct str *out, kz_device *dev)
{
	static const char *const variables[] = {"KUDZU_CPU_FEATURES", "KUDZU_CPU_PASSES",
		"KUDZU_CPU_THREADS", "KUDZU_CPU_TIER", "KUDZU_CPU_WIDTH", "KUDZU_CHECK"};
	int32_t llvm = 0;
	kept_add_text(out, dev->model);
	kept_add_number(out, dev->info.compute_capability);
	kept_add_number(out, dev->info.driver_version);
	kept_add_number(out, dev->info.multiprocessors);
	if (!dev->exports) {
		return;
	}
	if (!kz_device_attribute(&llvm, dev, CU_DEVICE_ATTRIBUTE_KUDZU_LLVM_VERSION, NULL)) {
		kept_add_number(out, llvm);
	}
	for (size_t i = 0; i < countof(variables); i++) {
		kept_add_text(out, env_get(variables[i]));
	}
}

/* The headers that the source reads from the program's folders, by what is in them.  Without a
 * compiler nobody knows; then nothing is compiled, either. */
static kz_status kept_add_headers(struct str *out, const struct rtc_request *request, kz_error *err)
{
	const struct compiler *compiler;
	struct source_facts facts;
	struct deps_result found;
	if (compiler_get(&compiler, NULL)) {
		return KZ_OK;
	}
	if (!source_scan(&facts, request->source)) {
		return error_no_memory(err);
	}
	bool ok = deps_find(&found, request, &facts, compiler);
	source_free(&facts);
	if (!ok) {
		return error_no_memory(err);
	}
	if (found.deps) {
		str_addn(out, deps_files(found.deps), (size_t)found.deps->head.files_size);
	}
	deps_release(found.deps);
	return KZ_OK;
}

static void kept_add_table(struct str *out, const struct tune_space *space)
{
	kept_add_number(out, (int64_t)space->count);
	for (size_t i = 0; i < space->count; i++) {
		const kz_tune_parameter *parameter = &space->parameters[i];
		kept_add_number(out, parameter->kind);
		kept_add_number(out, parameter->axis);
		kept_add_number(out, space->is_compiled[i]);
		kept_add_text(out, parameter->name);
		kept_add_number(out, parameter->count);
		for (int64_t k = 0; k < parameter->count; k++) {
			if (parameter->values) {
				kept_add_number(out, parameter->values[k]);
			} else {
				kept_add_text(out, parameter->words[k]);
			}
		}
	}
	kept_add_number(out, space->block.x);
	kept_add_number(out, space->block.y);
	kept_add_number(out, space->block.z);
	kept_add_number(out, space->shared_size);
}

/* The exponent of the next power of two. */
static int64_t kept_class(int64_t extent)
{
	int64_t exponent = 0;
	while (exponent < 62 && (int64_t)1 << exponent < extent) {
		exponent++;
	}
	return exponent;
}

kz_status tune_kept_key(struct str *out, kz_device *dev, const struct tune_space *space,
	const kz_tunable *tunable, kz_dim3 problem, kz_error *err)
{
	struct rtc_request request = {
		.source = tunable->source,
		.device_cc = dev->info.compute_capability,
		.ptx_only = dev->ptx_only,
	};
	struct str compile = STR_INIT;
	*out = (struct str)STR_INIT;
	kz_status st;
	if ((st = cache_check_variables(err))
	    || (st = image_read_options(&request, tunable->compile, err))) {
		return st;
	}
	str_addn(out, TUNE_KEPT_KIND, sizeof(TUNE_KEPT_KIND));
	kept_add_text(out, FORMAT);
	kept_add_device(out, dev);
	kept_add_text(out, tunable->kernel);
	kept_add_text(out, tunable->label);
	kept_add_table(out, space);
	kept_add_number(out, kept_class(problem.x));
	kept_add_number(out, kept_class(problem.y));
	kept_add_number(out, kept_class(problem.z));
	bool ok = key_of_request(&compile, &request);
	str_addn(out, compile.data, compile.len);
	str_free(&compile);
	st = ok ? kept_add_headers(out, &request, err) : KZ_OK;
	return st || (ok && !out->failed) ? st : error_no_memory(err);
}

/* The value */

static size_t kept_size(const struct tune_space *space)
{
	return sizeof(struct kept_value) + space->count * sizeof(uint32_t);
}

void tune_kept_put(const struct str *key, const struct tune_space *space, int64_t index,
	const kz_tune_result *result)
{
	struct store *store = store_default();
	struct kept_value *value = store ? mem_zalloc(1, kept_size(space)) : NULL;
	if (!value) {
		return;
	}
	value->repeats = result->repeats;
	value->time = result->time;
	for (size_t i = 0; i < space->count; i++) {
		value->places[i] = (uint32_t)tune_space_place(space, index, i);
	}
	(void)store_put(store, key->data, key->len, value, kept_size(space));
	mem_free(value);
}

int64_t tune_kept_get(kz_tune_result *times, const char **why, const struct str *key,
	const struct tune_space *space)
{
	struct store *store = store_default();
	char *bytes = NULL;
	size_t size = 0;
	int64_t index = -1;
	*why = store && store_off(store) ? store_off(store)
		: "no tuning with these parameters on this device, or the cache has forgotten it";
	if (store && store_get(store, key->data, key->len, &bytes, &size) == STORE_HIT
	    && size == kept_size(space)) {
		const struct kept_value *value = (const struct kept_value *)bytes;
		times->repeats = value->repeats;
		times->time = value->time;
		index = tune_space_index(space, value->places);
	}
	mem_free(bytes);
	return index;
}

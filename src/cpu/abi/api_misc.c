/* SPDX-License-Identifier: MIT */
/*
 * The driver itself: starting, versions, error names, finding functions by name.
 */
#include "base/common.h"

#include "cpu/abi/api.h"
#include "cpu/config/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_bool initialized;
static atomic_bool forked; /* from a process that had called cuInit: its threads are not here */
static _Thread_local bool in_callback;

bool api_set_in_callback(bool inside)
{
	bool before = in_callback;
	in_callback = inside;
	return before;
}

/* In a child process. */
static void on_fork(void)
{
	atomic_store(&forked, true);
	api_log_forget_lock();
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, on_fork);
}

static CUresult fail_forked(const char *call)
{
	return api_fail(CUDA_ERROR_NOT_INITIALIZED, "%s: this process was forked from one that had"
		" called cuInit; only that one can use the driver", call);
}

CUresult api_ready(const char *call)
{
	if (unlikely(atomic_load_explicit(&forked, memory_order_relaxed))) {
		return fail_forked(call);
	}
	if (!atomic_load_explicit(&initialized, memory_order_acquire)) {
		return api_fail(CUDA_ERROR_NOT_INITIALIZED, "%s: cuInit has not been called", call);
	}
	if (in_callback) {
		return api_fail(CUDA_ERROR_NOT_PERMITTED,
			"%s: a host function in a stream, or a callback of the log, must not call the"
			" driver", call);
	}
	return CUDA_SUCCESS;
}

API(cuInit, unsigned int flags)
{
	if (flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: flags must be 0", __func__);
	}
	if (atomic_load(&forked)) {
		return fail_forked(__func__);
	}
	char why[160];
	if (!settings_check(why, sizeof(why))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %s", __func__, why);
	}
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, watch_forks);
	atomic_store_explicit(&initialized, true, memory_order_release);
	return CUDA_SUCCESS;
}

API(cuDriverGetVersion, int *out)
{
	CUresult result = api_need(CUDA_SUCCESS, __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = CUDA_VERSION;
	}
	return result;
}

/* What kind of code each domain's row is; only the driver's rows are kept. */
static const struct error_row {
	int code;
	const char *name;
	const char *text;
} error_rows[] = {
#define X(domain, number, symbol, status, flags, text, ...) ROW_##domain(number, symbol, text)
#define ROW_DRIVER(number, symbol, text) {number, #symbol, text},
#define ROW_NVRTC(number, symbol, text)
#define ROW_NVJITLINK(number, symbol, text)
#define ROW_CUBLAS(number, symbol, text)
#define ROW_CUSOLVER(number, symbol, text)
#include "drv/codes.def"
#undef X
};

static const struct error_text {
	int code;
	const char *text;
} error_texts[] = {
#define X(number, text) {number, text},
#include "cpu/abi/error_text.def"
#undef X
};

static const char *error_text(const struct error_row *row)
{
	for (size_t i = 0; i < countof(error_texts); i++) {
		if (error_texts[i].code == row->code) {
			return error_texts[i].text;
		}
	}
	return row->text;
}

static CUresult find_error(CUresult code, const char *call, const char **out, bool want_name)
{
	if (out == NULL) {
		return api_null(call, "the result");
	}
	*out = NULL;
	for (size_t i = 0; i < countof(error_rows); i++) {
		if (error_rows[i].code == (int)code) {
			*out = want_name ? error_rows[i].name : error_text(&error_rows[i]);
			return CUDA_SUCCESS;
		}
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %d is no CUresult", call, (int)code);
}

API(cuGetErrorName, CUresult code, const char **out)
{
	return find_error(code, __func__, out, true);
}

API(cuGetErrorString, CUresult code, const char **out)
{
	return find_error(code, __func__, out, false);
}

/* NVIDIA's private tables.  NVRTC asks for one, and takes an error for an answer. */
API(cuGetExportTable, const void **out, const CUuuid *id)
{
	if (out == NULL || id == NULL) {
		return api_null(__func__, "an argument");
	}
	*out = NULL;
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: there are no private tables", __func__);
}

static int compare_name(const void *key, const void *row)
{
	return strcmp(key, ((const struct api_export *)row)->name);
}

static const struct api_export *find_export(const char *base, int version, const char *suffix)
{
	char name[128];
	char number[8] = "";
	if (version > 1) {
		snprintf(number, sizeof(number), "_v%d", version);
	}
	int len = snprintf(name, sizeof(name), "%s%s%s", base, number, suffix);
	if (len < 0 || (size_t)len >= sizeof(name)) {
		return NULL;
	}
	return bsearch(name, api_exports, api_export_count, sizeof(*api_exports), compare_name);
}

/* The newest version of a function that a program of some CUDA version knows. */
static const struct api_export *find_version(const char *base, int cuda_version,
	const char *suffix, bool *exists)
{
	const struct api_export *best = NULL;
	for (int version = 1; version < 10; version++) {
		const struct api_export *row = find_export(base, version, suffix);
		if (row != NULL) {
			*exists = true;
			best = row->since <= cuda_version ? row : best;
		}
	}
	return best;
}

API(cuGetProcAddress_v2, const char *symbol, void **out, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *status)
{
	static const char *const suffixes[] = {"_ptsz", "_ptds", ""};
	if (symbol == NULL || out == NULL) {
		return api_null(__func__, "an argument");
	}
	if (version > CUDA_VERSION || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: this driver is of CUDA %d; asked for '%s' of %d, flags %llu", __func__,
			CUDA_VERSION, symbol, version, (unsigned long long)flags);
	}
	const struct api_export *row = NULL;
	bool exists = false;
	size_t i = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? 0 : 2;
	for (; !exists && i < countof(suffixes); i++) {
		row = find_version(symbol, version, suffixes[i], &exists);
	}
	*out = NULL;
	if (row != NULL) {
		memcpy(out, &row->address, sizeof(*out));
	}
	if (status != NULL) {
		*status = row != NULL ? CU_GET_PROC_ADDRESS_SUCCESS
			: exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
			: CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	}
	return CUDA_SUCCESS;
}

API(cuGetProcAddress, const char *symbol, void **out, int version, cuuint64_t flags)
{
	CUresult result = cuGetProcAddress_v2(symbol, out, version, flags, NULL);
	if (result == CUDA_SUCCESS && *out == NULL) {
		return api_fail(CUDA_ERROR_NOT_FOUND, "%s: there is no '%s' in CUDA %d", __func__,
			symbol, version);
	}
	return result;
}

/* There is no profiler; programs that mark what to profile still work. */
API(cuProfilerStart, void)
{
	struct context *context;
	return api_enter(__func__, &context);
}

API(cuProfilerStop, void)
{
	struct context *context;
	return api_enter(__func__, &context);
}

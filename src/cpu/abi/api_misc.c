/* SPDX-License-Identifier: MIT */
/* The driver itself: start, versions, error names, a profiler that does nothing, and the log. */
#include "base/common.h"

#include "base/file.h"
#include "cpu/check/report.h"
#include "base/kudzu_abi.h"
#include "cpu/abi/api.h"
#include "cpu/config/settings.h"
#include "cpu/object/cu_module.h"

#include <stdio.h>
#include <string.h>

API(cuInit, unsigned int flags)
{
	return flags == 0 ? api_start(__func__)
		: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: flags must be 0", __func__);
}

API(cuDriverGetVersion, int *out)
{
	CUresult result = api_need(CUDA_SUCCESS, __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = CUDA_VERSION;
	}
	return result;
}

/* codes.def has the codes of several libraries.  Only the rows of the driver are kept. */
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
#define ROW_CUFFT(number, symbol, text)
#define ROW_NCCL(number, symbol, text)
#include "base/codes.def"
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

static const char *misc_error_text(const struct error_row *row)
{
	for (size_t i = 0; i < countof(error_texts); i++) {
		if (error_texts[i].code == row->code) {
			return error_texts[i].text;
		}
	}
	return row->text;
}

static CUresult misc_find_error(CUresult code, const char *call, const char **out, bool want_name)
{
	if (!out) {
		return api_null(call, "the result");
	}
	*out = NULL;
	for (size_t i = 0; i < countof(error_rows); i++) {
		if (error_rows[i].code == (int)code) {
			*out = want_name ? error_rows[i].name : misc_error_text(&error_rows[i]);
			return CUDA_SUCCESS;
		}
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %d is not a CUresult", call, (int)code);
}

API(cuGetErrorName, CUresult code, const char **out)
{
	return misc_find_error(code, __func__, out, true);
}

API(cuGetErrorString, CUresult code, const char **out)
{
	return misc_find_error(code, __func__, out, false);
}

/* The kernel waits for the program's function, which would wait for the kernel: it gets an error if
 * it calls the driver.  The lock of the function is held. */
static void misc_pass_output(void *user, int kind, const char *text, size_t size)
{
	const struct context *context = user;
	bool before = api_set_in_callback(true);
	context->output(context->output_user, kind, text, size);
	api_set_in_callback(before);
}

static CUresult misc_set_output(CUcontext handle, kudzu_output_fn *function, void *user)
{
	struct context *context;
	CUresult result = api_ready(__func__);
	result = result ? result : context_find(__func__, handle, &context);
	if (result == CUDA_SUCCESS) {
		pthread_mutex_lock(&context->host.output_lock);
		context->output = function;
		context->output_user = user;
		context->host.output = function ? misc_pass_output : NULL;
		context->host.output_user = context;
		pthread_mutex_unlock(&context->host.output_lock);
	}
	return result;
}

/* Only text that kernels printed is waited for.  What the program has printed itself may go with
 * it. */
static int misc_flush_output(CUcontext handle)
{
	struct context *context;
	if (context_find(__func__, handle, &context) != CUDA_SUCCESS) {
		return 0;
	}
	struct rt_host *host = &context->host;
	const bool waits = atomic_load_explicit(&host->output_waits, memory_order_relaxed)
		&& atomic_exchange(&host->output_waits, false);
	const int error = waits ? file_flush(stdout) : 0;
	const int earlier = atomic_load_explicit(&context->lost_output, memory_order_relaxed)
		? atomic_exchange(&context->lost_output, 0) : 0;
	return earlier ? earlier : error;
}

static CUresult misc_set_limits(int value)
{
	settings_put(SETTING_LIMITS, value < 0 ? 0 : value > 0 ? LIMITS_ON : LIMITS_OFF);
	return CUDA_SUCCESS;
}

static CUresult misc_set_checks(unsigned checks)
{
	settings_put(SETTING_CHECK, checks);
	return CUDA_SUCCESS;
}

static void misc_name_array(CUcontext handle, CUdeviceptr address, const struct kudzu_array *array)
{
	struct context *context;
	if (context_find(__func__, handle, &context) == CUDA_SUCCESS) {
		memory_name_array(context->device->memory, address, array);
	}
}

static size_t misc_get_module_size(CUmodule handle)
{
	const struct module *module = handle_get(handle, API_MODULE);
	return module ? module_size(module) : 0;
}

/* Private tables: ours, and none of NVIDIA's.  NVRTC asks for one, and accepts an error. */
API(cuGetExportTable, const void **out, const CUuuid *id)
{
	static const struct kudzu_exports exports = {.set_output = misc_set_output,
		.flush_output = misc_flush_output, .has_output = &context_has_output,
		.set_limits = misc_set_limits, .module_size = misc_get_module_size,
		.list_reports = report_list, .set_checks = misc_set_checks,
		.name_array = misc_name_array, .describe_device = device_describe};
	if (!out || !id) {
		return api_null(__func__, "an argument");
	}
	if (memcmp(id->bytes, CU_DEVICE_UUID_KUDZU, sizeof(id->bytes)) == 0) {
		*out = &exports;
		return CUDA_SUCCESS;
	}
	*out = NULL;
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: there are no private tables", __func__);
}

/* The CPU device has no profiler.  Programs that start and stop it still work. */
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

/* --- The log (object/log.c) --- */

/* These calls leave no reason when they fail, as that would be a line of what they read. */
API(cuLogsCurrent, CUlogIterator *out, unsigned int flags)
{
	if (!out || flags != 0) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	*out = log_next();
	return CUDA_SUCCESS;
}

API(cuLogsDumpToMemory, CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
	bool ok = buffer && size && *size > 0 && (flags == 0 || flags == CU_LOGS_KUDZU_OWN);
	ok = ok && (flags == 0 ? log_dump(iterator, buffer, size) : log_dump_own(buffer, size));
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuLogsDumpToFile, CUlogIterator *iterator, const char *path, unsigned int flags)
{
	return path && flags == 0 && log_dump_to_file(iterator, path) ? CUDA_SUCCESS
		: CUDA_ERROR_INVALID_VALUE;
}

API(cuLogsRegisterCallback, CUlogsCallback function, void *data, CUlogsCallbackHandle *out)
{
	return function ? log_add_callback(function, data, out)
		: CUDA_ERROR_INVALID_VALUE;
}

API(cuLogsUnregisterCallback, CUlogsCallbackHandle handle)
{
	return log_remove_callback(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* SPDX-License-Identifier: MIT */
/*
 * From a launch that a program asks for to a struct work.  The parameters are gathered in one block
 * of bytes, as the kernel declares them; the grid and the block are checked against what the device
 * and this kernel can do.
 */
#include "base/common.h"

#include "cpu/stream/work_describe.h"

#include "base/alloc.h"
#include "cpu/config/settings.h"
#include "cpu/mem/device_memory.h"
#include "cpu/object/library.h"
#include "cpu/stream/launch_slot.h"

#include <string.h>

/* The place for a kernel's parameters; NULL if memory runs out. */
static uint8_t *kernel_find_room(const struct function *function, struct parameters *room)
{
	if (function->ptx->param_size <= sizeof(room->few)) {
		return room->few;
	}
	room->many = mem_alloc(function->ptx->param_size + 64);
	return room->many ? (uint8_t *)round_up((uintptr_t)room->many, 64) : NULL;
}

/* Nearly all are of one of two sizes, for which a call is much. */
static void kernel_copy_parameter(uint8_t *to, const void *from, size_t size)
{
	if (size == 8) {
		memcpy(to, from, 8);
	} else if (size == 4) {
		memcpy(to, from, 4);
	} else {
		memcpy(to, from, size);
	}
}

static CUresult kernel_gather(const char *call, const struct function *function, void **values,
	uint8_t *out)
{
	const struct ptx_func *func = function->ptx;
	for (size_t i = 0; i < func->param_count; i++) {
		const struct ptx_var *param = func->params[i];
		if (!values || !values[i]) {
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: kernel '%s' has %zu parameters; that of index %zu is missing",
				call, function->name, func->param_count, i);
		}
		kernel_copy_parameter(out + param->offset, values[i], param->size);
	}
	return CUDA_SUCCESS;
}

/* The other way to pass parameters: as bytes that the caller has laid out. */
static CUresult kernel_gather_extra(const char *call, const struct function *function, void **extra,
	uint8_t *out)
{
	const struct ptx_func *func = function->ptx;
	const void *bytes = NULL;
	size_t size = 0;
	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
			bytes = extra[1];
		} else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1]) {
			size = *(const size_t *)extra[1];
		} else {
			return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown extra option", call);
		}
	}
	if (size > func->param_size && settings_limited()) {
		return api_fail(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
			"%s: %zu bytes of parameters for kernel '%s', which has %zu;"
			" KUDZU_CPU_LIMITS=off allows more", call, size, function->name,
			func->param_size);
	}
	if (size < func->param_size || (!bytes && func->param_size > 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: %zu bytes of parameters for kernel '%s', which has %zu", call,
			bytes ? size : 0, function->name, func->param_size);
	}
	if (func->param_size > 0) {
		memcpy(out, bytes, func->param_size);
	}
	return CUDA_SUCCESS;
}

static const uint32_t max_grid[] = {2147483647, 65535, 65535};
static const uint32_t max_block[] = {1024, 1024, 64};

/* None at all wraps beyond any limit. */
static bool kernel_is_possible(const struct kernel_work *kernel, int axis)
{
	return kernel->grid[axis] - 1 < max_grid[axis] && kernel->block[axis] - 1 < max_block[axis];
}

static CUresult kernel_check_grid(const char *call, const struct kernel_work *kernel)
{
	if (likely(kernel_is_possible(kernel, 0) && kernel_is_possible(kernel, 1)
			&& kernel_is_possible(kernel, 2))) {
		return CUDA_SUCCESS;
	}
	for (int axis = 0; axis < 3; axis++) {
		uint32_t grid = kernel->grid[axis];
		uint32_t block = kernel->block[axis];
		if (!kernel_is_possible(kernel, axis)) {
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: %u blocks of %u threads along %c; 1 to %u blocks and 1 to %u "
				"threads are possible", call, grid, block, 'x' + axis,
				max_grid[axis], max_block[axis]);
		}
	}
	return CUDA_SUCCESS;
}

static CUresult check_kernel(const char *call, const struct function *function,
	const struct kernel_work *kernel)
{
	const struct ptx_func *func = function->ptx;
	unsigned threads = kernel->block[0] * kernel->block[1] * kernel->block[2];
	unsigned max = function->max_threads;
	if (threads > LAUNCH_MAX_THREADS) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %u threads per block; at most %u are"
			" possible", call, threads, LAUNCH_MAX_THREADS);
	}
	if (threads > max) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: %u threads per block; kernel '%s' was compiled for at most %u", call,
			threads, function->name, max);
	}
	if (func->req_ntid[0] > 0 && memcmp(func->req_ntid, kernel->block, sizeof(kernel->block))
			!= 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: kernel '%s' requires blocks of"
			" (%u,%u,%u)", call, function->name, func->req_ntid[0], func->req_ntid[1],
			func->req_ntid[2]);
	}
	if (kernel->dynamic_shared > 0 && kernel->dynamic_shared
			> (unsigned)function_max_dynamic(function, kernel->shared_mode)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %u bytes of dynamic shared memory;"
			" kernel '%s' may have %d", call, kernel->dynamic_shared, function->name,
			function_max_dynamic(function, kernel->shared_mode));
	}
	return CUDA_SUCCESS;
}

/* All blocks of a cooperative launch are resident at once, so the device's memory must hold
 * them. */
static CUresult kernel_check_cooperative(const char *call, struct context *context,
	const struct kernel_work *kernel)
{
	if (!kernel->is_cooperative) {
		return CUDA_SUCCESS;
	}
	const struct memory_use use = memory_usage(context->device->memory,
		context->device->ordinal);
	const size_t size = launch_slot_resident_size(context, kernel);
	if (size <= use.limit - use.used) {
		return CUDA_SUCCESS;
	}
	return api_fail(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
		"%s: %u x %u x %u blocks of kernel '%s' at once need %s%zu bytes of memory, and "
		"%zu are free", call, kernel->grid[0], kernel->grid[1], kernel->grid[2],
		kernel->function->name, size == SIZE_MAX ? "more than " : "", size == SIZE_MAX
		? use.limit : size, use.limit - use.used);
}

CUresult work_describe_kernel(const char *call, struct context *context, CUfunction handle,
	struct parameters *parameters, struct work *work)
{
	struct kernel_work *kernel = &work->kernel;
	struct function *function;
	CUresult result;
	if ((result = function_find(call, context, handle, &function)) != CUDA_SUCCESS) {
		return result;
	}
	if (function->module->object.context != context) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: kernel '%s' is of another context",
			call, function->name);
	}
	if (parameters->values && parameters->extra) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: parameters are given twice", call);
	}
	if ((result = kernel_check_grid(call, kernel)) != CUDA_SUCCESS
	    || (result = check_kernel(call, function, kernel)) != CUDA_SUCCESS) {
		return result;
	}
	uint8_t *bytes = kernel_find_room(function, parameters);
	result = !bytes ? api_no_memory(call) : parameters->extra
		? kernel_gather_extra(call, function, parameters->extra, bytes)
		: kernel_gather(call, function, parameters->values, bytes);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	work->kind = WORK_KERNEL;
	work->is_external = false;
	kernel->function = function;
	kernel->params = bytes;
	kernel->param_size = function->ptx->param_size;
	result = function_code(call, function, kernel->block, &kernel->code);
	return result == CUDA_SUCCESS ? kernel_check_cooperative(call, context, kernel) : result;
}

static CUresult kernel_bad_attribute(const char *call, const CUlaunchAttribute *attribute,
	int value)
{
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: attribute %d cannot be %d", call,
		(int)attribute->id, value);
}

CUresult work_check_attribute(const char *call, const CUlaunchAttribute *attribute)
{
	const CUlaunchAttributeValue *value = &attribute->value;
	bool ok;
	switch ((unsigned)attribute->id) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		ok = true;
		break;
	case CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE:
		return (unsigned)value->portableClusterSizeMode
			<= CU_LAUNCH_PORTABLE_CLUSTER_MODE_ALLOW_NON_PORTABLE ? CUDA_SUCCESS
			: kernel_bad_attribute(call, attribute,
				(int)value->portableClusterSizeMode);
	case CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE:
		return (unsigned)value->sharedMemoryMode
			<= CU_SHARED_MEMORY_MODE_PREFER_OVERSIZED_SHARED_MEMORY ? CUDA_SUCCESS
			: kernel_bad_attribute(call, attribute, (int)value->sharedMemoryMode);
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
		ok = value->clusterDim.x <= 1 && value->clusterDim.y <= 1
			&& value->clusterDim.z <= 1;
		break;
	default:
		ok = false;
		break;
	}
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_NOT_SUPPORTED,
		"%s: the CPU device does not do what attribute %d asks for", call,
		(int)attribute->id);
}

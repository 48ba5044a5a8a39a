/* SPDX-License-Identifier: MIT */
/* Attributes of addresses: the allocation, or the registered memory, that holds one. */
#include "base/common.h"

#include "cpu/abi/api.h"

#include <string.h>

static CUresult pointer_find_range(const char *call, CUdeviceptr address, CUresult not_found,
	struct context **context, struct memory_range *range)
{
	CUresult result = api_enter(call, context);
	if (result != CUDA_SUCCESS || memory_find((*context)->device->memory, address, range)
	    || host_find(address, range)) {
		return result;
	}
	char where[128];
	memory_describe((*context)->device->memory, address, where, sizeof(where));
	return api_fail(not_found, "%s: 0x%llx is %s", call, address, where);
}

/* Any thread finds allocations and registered memory, even without a current context. */
static CUresult pointer_look_up(const char *call, CUdeviceptr address, bool *found,
	struct memory_range *range)
{
	struct context *context = api_current();
	if (context) {
		CUresult result = api_enter(call, &context);
		*found = result == CUDA_SUCCESS && (memory_find(context->device->memory, address,
			range) || host_find(address, range));
		return result;
	}
	CUresult result = api_ready(call);
	struct device_memory *memory = result == CUDA_SUCCESS ? api_retain_memory() : NULL;
	*found = false;
	if (memory) {
		*found = memory_find(memory, address, range) || host_find(address, range);
		api_release_memory();
	}
	return result != CUDA_SUCCESS || memory ? result
		: api_no_memory(call);
}

API(cuMemGetAddressRange_v2, CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
	struct context *context;
	struct memory_range range;
	CUresult result = pointer_find_range(__func__, address, CUDA_ERROR_NOT_FOUND, &context,
		&range);
	if (result == CUDA_SUCCESS && base) {
		*base = range.address;
	}
	if (result == CUDA_SUCCESS && size) {
		*size = range.size;
	}
	return result;
}

API(cuMemHostGetDevicePointer_v2, CUdeviceptr *out, void *host, unsigned int flags)
{
	struct context *context;
	struct memory_range range;
	CUresult result = api_need(
		pointer_find_range(__func__, (uintptr_t)host, CUDA_ERROR_INVALID_VALUE, &context,
			&range),
		__func__, out);
	if (result == CUDA_SUCCESS && (flags != 0 || range.kind != MEMORY_HOST)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not pinned host memory, or flags "
			"that are not 0", __func__);
	}
	if (result == CUDA_SUCCESS) {
		*out = (uintptr_t)host;
	}
	return result;
}

/* The device whose access is asked for: the device of the calling thread's context. */
static unsigned pointer_device(void)
{
	const struct context *context = api_current();
	return context ? context->device->ordinal : 0;
}

static CUresult pointer_get_attribute(const char *call, void *out, CUpointer_attribute attribute,
	CUdeviceptr address, const struct memory_range *range)
{
	const struct context *owner = range->owner;
	bool is_host = range->kind == MEMORY_HOST || range->is_host;
	bool on_host = is_host || range->kind == MEMORY_MANAGED;
	switch ((unsigned)attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)out = owner && !range->stays ? owner->handle : NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)out = is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)out = address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (on_host) {
			*(void **)out = (void *)(uintptr_t)address;
			return CUDA_SUCCESS;
		}
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(int *)out = range->sync_memops;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(int *)out = range->kind == MEMORY_DEVICE && !range->pool;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned *)out = is_host ? 0 : range->flags;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)out = (int)range->device;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		*(int *)out = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL:
		*(int *)out = -1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)out = range->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(int *)out = range->kind == MEMORY_MANAGED;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)out = range->address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)out = range->size;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(int *)out = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(int *)out = range->kind == MEMORY_MAPPED
			? (int)memory_access_of(range->access, pointer_device())
			: CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)out = mempool_of(range);
		return CUDA_SUCCESS;
	default:
		break;
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: this memory has no attribute %d", call,
		(int)attribute);
}

API(cuPointerGetAttribute, void *out, CUpointer_attribute attribute, CUdeviceptr address)
{
	bool found;
	struct memory_range range;
	CUresult result = api_need(pointer_look_up(__func__, address, &found, &range), __func__,
		out);
	if (result == CUDA_SUCCESS && !found) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: 0x%llx is not in memory that CUDA knows", __func__, address);
	}
	return result != CUDA_SUCCESS ? result
		: pointer_get_attribute(__func__, out, attribute, address, &range);
}

/* The size of the value of an attribute. */
static size_t pointer_attribute_size(CUpointer_attribute attribute)
{
	switch ((unsigned)attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return 8;
	default:
		return 4;
	}
}

/* Unlike the singular form, this one answers for any address.  For an unknown address the values
 * are zero, and the device is one that does not exist. */
API(cuPointerGetAttributes, unsigned int count, CUpointer_attribute *list, void **out,
	CUdeviceptr address)
{
	bool found;
	struct memory_range range;
	CUresult result = pointer_look_up(__func__, address, &found, &range);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (count == 0 || !list || !out) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: no attributes are requested",
			__func__);
	}
	for (unsigned i = 0; i < count; i++) {
		if (!out[i]) {
			return api_null(__func__, "a result");
		}
		if ((unsigned)list[i] - CU_POINTER_ATTRIBUTE_CONTEXT
		    > CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL
		    - CU_POINTER_ATTRIBUTE_CONTEXT) {
			return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d",
				__func__, (int)list[i]);
		}
		if (!found || pointer_get_attribute(__func__, out[i], list[i], address, &range)
				!= CUDA_SUCCESS) {
			memset(out[i], 0, pointer_attribute_size(list[i]));
		}
		if (!found && list[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
			*(int *)out[i] = CU_DEVICE_INVALID;
		}
	}
	return CUDA_SUCCESS;
}

/* Synchronous operations on memory always synchronize, so the attribute is only kept. */
API(cuPointerSetAttribute, const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct context *context;
	struct memory_range range;
	CUresult result = pointer_find_range(__func__, address, CUDA_ERROR_INVALID_VALUE, &context,
		&range);
	if (result == CUDA_SUCCESS && !value) {
		return api_null(__func__, "the value");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || range.kind == MEMORY_HOST) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: attribute %d of this memory cannot "
			"be set", __func__, (int)attribute);
	}
	memory_set_sync(context->device->memory, address, *(const unsigned *)value != 0);
	return CUDA_SUCCESS;
}

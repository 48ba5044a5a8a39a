/* SPDX-License-Identifier: MIT */
/*
 * Properties of devices and of pairs of them: the bus, access to peers, affinity and shared
 * memory.  The CPU device is on no bus, so its address there just says its number.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include <stdio.h>
#include <string.h>

/* The domain and the bus are 0, where no device of slot 0 to 15 is a GPU. */
static const char bus_id_form[] = "0000:00:%02x.0";
#define BUS_ID_SIZE sizeof("0000:00:00.0")

API(cuDeviceGetPCIBusId, char *out, int size, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result == CUDA_SUCCESS && size < (int)BUS_ID_SIZE) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: %d bytes are too few; %zu are needed", __func__, size, BUS_ID_SIZE);
	}
	if (result == CUDA_SUCCESS) {
		snprintf(out, (size_t)size, bus_id_form, device_number(device));
	}
	return result;
}

API(cuDeviceGetByPCIBusId, CUdevice *out, const char *id)
{
	unsigned numbers[4] = {0};
	int len = 0;
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS && !id) {
		return api_null(__func__, "the bus id");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	// domain:bus:device.function, and without the first or the last of them
	bool ok = (sscanf(id, "%4x:%2x:%2x.%1x%n", &numbers[0], &numbers[1], &numbers[2],
			&numbers[3], &len) == 4 && id[len] == '\0')
		|| (sscanf(id, "%4x:%2x:%2x%n", &numbers[0], &numbers[1], &numbers[2], &len) == 3
		    && id[len] == '\0')
		|| (sscanf(id, "%2x:%2x.%1x%n", &numbers[0], &numbers[1], &numbers[2], &len) == 3
		    && id[len] == '\0');
	if (!ok) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: '%.32s' is not a bus id", __func__,
			id);
	}
	for (int i = 0; i < device_count() && !(numbers[0] | numbers[1] | numbers[3]); i++) {
		if (device_number(i) == numbers[2]) {
			*out = i;
			return CUDA_SUCCESS;
		}
	}
	return api_fail(CUDA_ERROR_INVALID_DEVICE, "%s: no device is at %s", __func__, id);
}

/* Check that two devices are there, and not the same one. */
static CUresult property_check_pair(const char *call, CUdevice from, CUdevice to)
{
	CUresult result = api_check_device(call, from);
	if (result == CUDA_SUCCESS) {
		result = api_check_device(call, to);
	}
	return result != CUDA_SUCCESS || from != to ? result
		: api_fail(CUDA_ERROR_INVALID_DEVICE, "%s: both are device %d", call, from);
}

API(cuDeviceGetP2PAttribute, int *out, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to)
{
	CUresult result = api_need(api_check_device(__func__, from), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = property_check_pair(__func__, from, to);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	switch ((unsigned)attribute) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
		*out = 0; // the best one
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*out = 1;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
		*out = 0;
		return CUDA_SUCCESS;
	default:
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d", __func__,
			(int)attribute);
	}
}

/* --- Atomic operations --- */

static CUresult property_check_operations(const char *call, const void *out,
	const CUatomicOperation *operations, unsigned count)
{
	if (!out || !operations || count == 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: no attributes are requested", call);
	}
	for (unsigned i = 0; i < count; i++) {
		if ((unsigned)operations[i] >= CU_ATOMIC_OPERATION_MAX) {
			return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown operation %d", call,
				(int)operations[i]);
		}
	}
	return CUDA_SUCCESS;
}

/* The host and all devices share one memory, so all of them see the atomic operations of PTX as
 * atomic.  PTX ISA 9.7.13: atom and red. */
static CUresult property_list_operations(const char *call, unsigned *out,
	const CUatomicOperation *operations, unsigned count)
{
	enum {
		ANY_SIGN = CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED,
		BOTH = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64,
		INTEGER = ANY_SIGN | CU_ATOMIC_CAPABILITY_REDUCTION | BOTH,
		COUNTER = CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_REDUCTION
			| CU_ATOMIC_CAPABILITY_SCALAR_32,
		SWAP = ANY_SIGN | BOTH | CU_ATOMIC_CAPABILITY_SCALAR_128
	};
	static const unsigned char table[] = {
		[CU_ATOMIC_OPERATION_INTEGER_ADD] = INTEGER,
		[CU_ATOMIC_OPERATION_INTEGER_MIN] = INTEGER,
		[CU_ATOMIC_OPERATION_INTEGER_MAX] = INTEGER,
		[CU_ATOMIC_OPERATION_INTEGER_INCREMENT] = COUNTER,
		[CU_ATOMIC_OPERATION_INTEGER_DECREMENT] = COUNTER,
		[CU_ATOMIC_OPERATION_AND] = INTEGER,
		[CU_ATOMIC_OPERATION_OR] = INTEGER,
		[CU_ATOMIC_OPERATION_XOR] = INTEGER,
		[CU_ATOMIC_OPERATION_EXCHANGE] = SWAP,
		[CU_ATOMIC_OPERATION_CAS] = SWAP,
		[CU_ATOMIC_OPERATION_FLOAT_ADD] = CU_ATOMIC_CAPABILITY_SIGNED
			| CU_ATOMIC_CAPABILITY_REDUCTION | BOTH,
		[CU_ATOMIC_OPERATION_FLOAT_MIN] = 0,
		[CU_ATOMIC_OPERATION_FLOAT_MAX] = 0
	};
	CUresult result = property_check_operations(call, out, operations, count);
	for (unsigned i = 0; result == CUDA_SUCCESS && i < count; i++) {
		out[i] = table[operations[i]];
	}
	return result;
}

API(cuDeviceGetHostAtomicCapabilities, unsigned int *out, const CUatomicOperation *operations,
	unsigned int count, CUdevice device)
{
	CUresult result = api_check_device(__func__, device);
	return result == CUDA_SUCCESS ? property_list_operations(__func__, out, operations, count)
		: result;
}

API(cuDeviceGetP2PAtomicCapabilities, unsigned int *out, const CUatomicOperation *operations,
	unsigned int count, CUdevice from, CUdevice to)
{
	CUresult result = api_check_device(__func__, from);
	if (result == CUDA_SUCCESS) {
		result = api_check_device(__func__, to);
	}
	if (result == CUDA_SUCCESS) {
		result = property_check_operations(__func__, out, operations, count);
	}
	if (result == CUDA_SUCCESS) {
		result = property_check_pair(__func__, from, to);
	}
	return result == CUDA_SUCCESS ? property_list_operations(__func__, out, operations, count)
		: result;
}

/* --- Access to peers --- */

/* Contexts of one device can use all of its memory, so between them there is no access to
 * enable. */
static CUresult property_enter_peer(const char *call, CUcontext peer, struct context **out,
	unsigned *bit)
{
	CUresult result = api_enter(call, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const struct context *other = handle_get(peer, API_CONTEXT);
	if (!other || other == *out) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: not another live context", call);
	}
	*bit = other->device != (*out)->device ? 1u << other->device->ordinal : 0;
	return CUDA_SUCCESS;
}

/* Access is given to all memory of the peer's device, for other contexts of it are rare. */
API(cuCtxEnablePeerAccess, CUcontext peer, unsigned int flags)
{
	struct context *context;
	unsigned bit;
	CUresult result = property_enter_peer(__func__, peer, &context, &bit);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: flags must be 0", __func__);
	}
	if (bit == 0) {
		return api_fail(CUDA_ERROR_INVALID_DEVICE, "%s: both contexts are of one device",
			__func__);
	}
	return !(atomic_fetch_or(&context->peers, bit) & bit) ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "%s: access is already enabled",
			__func__);
}

API(cuCtxDisablePeerAccess, CUcontext peer)
{
	struct context *context;
	unsigned bit;
	CUresult result = property_enter_peer(__func__, peer, &context, &bit);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	return atomic_fetch_and(&context->peers, ~bit) & bit ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "%s: access is not enabled",
			__func__);
}

API(cuDeviceGetExecAffinitySupport, int *out, CUexecAffinityType type, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result == CUDA_SUCCESS && (unsigned)type >= CU_EXEC_AFFINITY_TYPE_MAX) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown type %d", __func__,
			(int)type);
	}
	if (result == CUDA_SUCCESS) {
		*out = 0;
	}
	return result;
}

API(cuCtxGetExecAffinity, void *out, CUexecAffinityType type)
{
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS && (unsigned)type >= CU_EXEC_AFFINITY_TYPE_MAX) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown type %d", __func__,
			(int)type);
	}
	return result != CUDA_SUCCESS ? result : api_fail(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
		"%s: the CPU device does not support execution affinity", __func__);
}

/* Shared memory has no banks, and the cache has no persisting lines.  These hints have no
 * effect. */
API(cuCtxGetSharedMemConfig, CUsharedconfig *out)
{
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	}
	return result;
}

API(cuCtxSetSharedMemConfig, CUsharedconfig config)
{
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS
	    && (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown value %d", __func__,
			(int)config);
	}
	return result;
}

API(cuCtxResetPersistingL2Cache, void)
{
	struct context *context;
	return api_enter(__func__, &context);
}

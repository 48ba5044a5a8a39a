/* SPDX-License-Identifier: MIT */
/*
 * Properties of the devices. object/cu_device.c has the properties that are the same on every
 * computer; the others come from the operating system.
 */
#include "base/common.h"

#include "base/kudzu_abi.h"
#include "base/str.h"
#include "cpu/abi/api.h"
#include "cpu/exec/worker_pool.h"
#include "cpu/jit/jit.h"
#include "cpu/config/settings.h"
#include "cpu/mem/capacity.h"
#include "cpu/mem/gap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The value of the first line of /proc/cpuinfo that has this key; "" if there is no such line. */
static void device_read_cpuinfo(const char *key, char *value, size_t size)
{
	char line[256];
	FILE *file = fopen("/proc/cpuinfo", "re");
	*value = '\0';
	while (file && *value == '\0' && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');
		if (colon && strncmp(line, key, strlen(key)) == 0) {
			colon += strspn(colon, ": \t");
			snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
		}
	}
	if (file) {
		fclose(file);
	}
}

static void device_write_name(char *out, size_t size)
{
	char model[96];
	device_read_cpuinfo("model name", model, sizeof(model));
	snprintf(out, size, "Kudzu CPU device: %s",
		*model != '\0' ? model : "unknown processor");
}

static int device_clock_khz(void)
{
	char text[64];
	device_read_cpuinfo("cpu MHz", text, sizeof(text));
	double mhz = str_number(text, NULL);
	return mhz > 0 && mhz < 1e6 ? (int)(mhz * 1000) : 1000000;
}

static int device_cache_size(void)
{
	static const int levels[] = {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE};
	for (size_t i = 0; i < countof(levels); i++) {
		long size = sysconf(levels[i]);
		if (size > 0 && size < INT32_MAX) {
			return (int)size;
		}
	}
	return 0;
}

/* 190107 for 19.1.7 */
static CUresult device_llvm_version(const char *call, int *out)
{
	int major = 0, minor = 0, patch = 0;
	struct ptx_diag diag = {0};
	const char *version = jit_llvm_version(&diag);
	if (!version) {
		return api_fail(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "%s: %s", call, diag.message);
	}
	(void)sscanf(version, "%d.%d.%d", &major, &minor, &patch);
	*out = 10000 * major + 100 * minor + patch;
	return CUDA_SUCCESS;
}

/* The memory of a device that is in use stays what it was, though limits of the process change. */
static struct memory_use device_memory_of(unsigned number, bool *has_context)
{
	struct memory_use use = {.used = 0};
	*has_context = api_device_usage(number, &use);
	use.limit = *has_context ? use.limit : capacity_bytes() / device_count_all();
	return use;
}

int device_describe(unsigned number, struct kudzu_device *out)
{
	const unsigned all = device_count_all();
	if (number >= all) {
		return 0;
	}
	bool has_context;
	const struct memory_use use = device_memory_of(number, &has_context);
	const unsigned cores = pool_cores() / all;
	*out = (struct kudzu_device){
		.uuid = device_uuid(number),
		.memory = use.limit,
		.used = use.used,
		.has_context = has_context,
		.cores = cores > 0 ? cores : 1,
		.major = device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
		.minor = device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
		.clock = device_clock_khz(),
	};
	device_write_name(out->name, sizeof(out->name));
	return 1;
}

API(cuDeviceGetCount, int *out)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = device_count();
	}
	return result;
}

API(cuDeviceGet, CUdevice *out, int ordinal)
{
	CUresult result = api_need(api_check_device(__func__, ordinal), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = ordinal;
	}
	return result;
}

API(cuDeviceGetName, char *out, int size, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result == CUDA_SUCCESS && size <= 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the size is %d", __func__, size);
	}
	if (result == CUDA_SUCCESS) {
		device_write_name(out, (size_t)size);
	}
	return result;
}

API(cuDeviceGetUuid, CUuuid *out, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = device_uuid(device_number(device));
	}
	return result;
}
API_ALIAS(cuDeviceGetUuid_v2, cuDeviceGetUuid);

API(cuDeviceTotalMem_v2, size_t *out, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result == CUDA_SUCCESS) {
		bool has_context;
		*out = device_memory_of(device_number(device), &has_context).limit;
	}
	return result;
}

API(cuDeviceGetAttribute, int *out, CUdevice_attribute attribute, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	switch ((unsigned)attribute) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
	case CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT:
		*out = (int)device_cores();
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: /* as cuDeviceGetPCIBusId has it */
		*out = (int)device_number(device);
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		*out = device_clock_khz();
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		*out = device_cache_size();
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_KUDZU_PTX_ONLY:
		*out = 1;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_KUDZU_GAP:
		*out = (int)(gap_next(GAP_WIDE) >> 10);
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_KUDZU_CHECKS:
		*out = (int)settings_checks();
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_KUDZU_LLVM_VERSION:
		return device_llvm_version(__func__, out);
	default:
		break;
	}
	if ((unsigned)attribute == 0 || (unsigned)attribute >= CU_DEVICE_ATTRIBUTE_MAX) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d", __func__,
			(int)attribute);
	}
	*out = device_attribute(attribute);
	return CUDA_SUCCESS;
}

/* Deprecated since CUDA 5, but still used.  The layout is CUdevprop. */
API(cuDeviceGetProperties, CUdevprop *out, CUdevice device)
{
	static const struct {
		size_t offset;
		CUdevice_attribute attribute;
	} rows[] = {
#define ROW(field, name) {offsetof(CUdevprop, field), CU_DEVICE_ATTRIBUTE_##name}
		ROW(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
		ROW(maxThreadsDim[0], MAX_BLOCK_DIM_X),
		ROW(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
		ROW(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
		ROW(maxGridSize[0], MAX_GRID_DIM_X),
		ROW(maxGridSize[1], MAX_GRID_DIM_Y),
		ROW(maxGridSize[2], MAX_GRID_DIM_Z),
		ROW(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
		ROW(totalConstantMemory, TOTAL_CONSTANT_MEMORY),
		ROW(SIMDWidth, WARP_SIZE),
		ROW(memPitch, MAX_PITCH),
		ROW(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
		ROW(clockRate, CLOCK_RATE),
		ROW(textureAlign, TEXTURE_ALIGNMENT),
#undef ROW
	};
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	for (size_t i = 0; result == CUDA_SUCCESS && i < countof(rows); i++) {
		result = cuDeviceGetAttribute((int *)((char *)out + rows[i].offset),
			rows[i].attribute, device);
	}
	return result;
}

API(cuDeviceComputeCapability, int *major, int *minor, CUdevice device)
{
	CUresult result = api_check_device(__func__, device);
	if (result == CUDA_SUCCESS && (!major || !minor)) {
		return api_null(__func__, "a result");
	}
	if (result == CUDA_SUCCESS) {
		*major = device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
		*minor = device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	}
	return result;
}

API(cuDeviceCanAccessPeer, int *out, CUdevice device, CUdevice peer)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result == CUDA_SUCCESS) {
		result = api_check_device(__func__, peer);
	}
	if (result == CUDA_SUCCESS) {
		*out = device != peer;
	}
	return result;
}

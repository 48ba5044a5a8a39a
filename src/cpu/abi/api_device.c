/* SPDX-License-Identifier: MIT */
/*
 * The device: this computer's processor, with the limits of a GPU of compute capability 8.9, for
 * which NVRTC writes the simplest PTX.  One worker runs one block at a time, so there are as many
 * multiprocessors as workers, and one block per multiprocessor: a grid that is sized by occupancy
 * is then small, which keeps grid-stride loops in the cache.
 */
#include "base/common.h"

#include "base/str.h"
#include "cpu/abi/api.h"
#include "cpu/mem/capacity.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CAPABILITY_MAJOR 8
#define CAPABILITY_MINOR 9

/* Those that are the same everywhere; what is not here is 0. */
static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
#define A(name) [CU_DEVICE_ATTRIBUTE_##name]
	A(MAX_THREADS_PER_BLOCK) = LAUNCH_MAX_THREADS,
	A(MAX_BLOCK_DIM_X) = 1024,
	A(MAX_BLOCK_DIM_Y) = 1024,
	A(MAX_BLOCK_DIM_Z) = 64,
	A(MAX_GRID_DIM_X) = 2147483647,
	A(MAX_GRID_DIM_Y) = 65535,
	A(MAX_GRID_DIM_Z) = 65535,
	A(MAX_SHARED_MEMORY_PER_BLOCK) = LAUNCH_DEFAULT_SHARED,
	A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) = LAUNCH_MAX_SHARED,
	A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) = 100 * 1024,
	A(RESERVED_SHARED_MEMORY_PER_BLOCK) = 1024,
	A(TOTAL_CONSTANT_MEMORY) = 65536,
	A(WARP_SIZE) = 32,
	A(MAX_PITCH) = 2147483647,
	A(MAX_REGISTERS_PER_BLOCK) = 65536,
	A(MAX_REGISTERS_PER_MULTIPROCESSOR) = 65536,
	A(MAX_THREADS_PER_MULTIPROCESSOR) = LAUNCH_MAX_THREADS,
	A(MAX_BLOCKS_PER_MULTIPROCESSOR) = 1,
	A(TEXTURE_ALIGNMENT) = 256, /* what every allocation has */
	A(TEXTURE_PITCH_ALIGNMENT) = 32,
	A(SURFACE_ALIGNMENT) = 512,
	A(MAXIMUM_TEXTURE1D_WIDTH) = 131072,
	A(MAXIMUM_TEXTURE2D_WIDTH) = 131072,
	A(MAXIMUM_TEXTURE2D_HEIGHT) = 65536,
	A(MAXIMUM_TEXTURE3D_WIDTH) = 16384,
	A(MAXIMUM_TEXTURE3D_HEIGHT) = 16384,
	A(MAXIMUM_TEXTURE3D_DEPTH) = 16384,
	A(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE) = 8192,
	A(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE) = 8192,
	A(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE) = 32768,
	A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT) = 32768,
	A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS) = 2048,
	A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS) = 2048,
	A(MAXIMUM_TEXTURE2D_GATHER_WIDTH) = 32768,
	A(MAXIMUM_TEXTURE2D_GATHER_HEIGHT) = 32768,
	A(MAXIMUM_TEXTURECUBEMAP_WIDTH) = 32768,
	A(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS) = 2046,
	A(MAXIMUM_SURFACE1D_WIDTH) = 32768,
	A(MAXIMUM_SURFACE2D_WIDTH) = 131072,
	A(MAXIMUM_SURFACE2D_HEIGHT) = 65536,
	A(MAXIMUM_SURFACE3D_WIDTH) = 16384,
	A(MAXIMUM_SURFACE3D_HEIGHT) = 16384,
	A(MAXIMUM_SURFACE3D_DEPTH) = 16384,
	A(MAXIMUM_SURFACE1D_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_SURFACE1D_LAYERED_LAYERS) = 2048,
	A(MAXIMUM_SURFACE2D_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_SURFACE2D_LAYERED_HEIGHT) = 32768,
	A(MAXIMUM_SURFACE2D_LAYERED_LAYERS) = 2048,
	A(MAXIMUM_SURFACECUBEMAP_WIDTH) = 32768,
	A(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS) = 2046,
	A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH) = 268435456,
	A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH) = 131072,
	A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) = 65000,
	A(MAXIMUM_TEXTURE2D_LINEAR_PITCH) = 2097120,
	A(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH) = 32768,
	A(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT) = 32768,
	A(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH) = 32768,
	A(GPU_OVERLAP) = 1,
	A(ASYNC_ENGINE_COUNT) = 1,
	A(INTEGRATED) = 1,
	A(CAN_MAP_HOST_MEMORY) = 1,
	A(CONCURRENT_KERNELS) = 1,
	A(COOPERATIVE_LAUNCH) = 1,
	A(UNIFIED_ADDRESSING) = 1,
	A(MANAGED_MEMORY) = 1,
	A(CONCURRENT_MANAGED_ACCESS) = 1,
	A(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST) = 1,
	A(HOST_NATIVE_ATOMIC_SUPPORTED) = 1,
	A(MEMORY_POOLS_SUPPORTED) = 1,
	A(HOST_MEMORY_POOLS_SUPPORTED) = 1,
	A(HOST_NUMA_MEMORY_POOLS_SUPPORTED) = 1,
	A(MEMPOOL_SUPPORTED_HANDLE_TYPES) = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	A(IPC_EVENT_SUPPORTED) = 1,
	A(COMPUTE_PREEMPTION_SUPPORTED) = 1,
	A(HOST_REGISTER_SUPPORTED) = 1,
	A(VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED) = 1,
	A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) = 1,
	A(HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) = 1,
	A(HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) = 1,
	A(READ_ONLY_HOST_REGISTER_SUPPORTED) = 1,
	A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) = 1,
	A(CAN_FLUSH_REMOTE_WRITES) = 1,
	A(MEM_SYNC_DOMAIN_COUNT) = 1,
	A(CAN_USE_STREAM_MEM_OPS_V1) = 1,
	A(CAN_USE_64_BIT_STREAM_MEM_OPS_V1) = 1,
	A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1) = 1,
	A(CAN_USE_64_BIT_STREAM_MEM_OPS) = 1,
	A(CAN_USE_STREAM_WAIT_VALUE_NOR) = 1,
	A(GLOBAL_L1_CACHE_SUPPORTED) = 1,
	A(LOCAL_L1_CACHE_SUPPORTED) = 1,
	A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO) = 2,
	A(COMPUTE_CAPABILITY_MAJOR) = CAPABILITY_MAJOR,
	A(COMPUTE_CAPABILITY_MINOR) = CAPABILITY_MINOR,
	A(NUMA_ID) = -1,
	A(HOST_NUMA_ID) = -1,
	A(MEMORY_CLOCK_RATE) = 2400000,
	A(GLOBAL_MEMORY_BUS_WIDTH) = 128,
#undef A
};

int device_attribute(CUdevice_attribute attribute)
{
	return attributes[attribute];
}

CUresult api_check_device(const char *call, CUdevice device)
{
	CUresult result = api_ready(call);
	return result != CUDA_SUCCESS || device == 0 ? result
		: api_fail(CUDA_ERROR_INVALID_DEVICE, "%s: there is device 0 only, not %d", call,
			device);
}

/* The value of the first line of /proc/cpuinfo that has this key; "" if there is none. */
static void read_cpuinfo(const char *key, char *value, size_t size)
{
	char line[256];
	FILE *file = fopen("/proc/cpuinfo", "re");
	*value = '\0';
	while (file != NULL && *value == '\0' && fgets(line, sizeof(line), file) != NULL) {
		char *colon = strchr(line, ':');
		if (colon != NULL && strncmp(line, key, strlen(key)) == 0) {
			colon += strspn(colon, ": \t");
			snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
		}
	}
	if (file != NULL) {
		fclose(file);
	}
}

static int clock_khz(void)
{
	char text[64];
	read_cpuinfo("cpu MHz", text, sizeof(text));
	double mhz = str_number(text, NULL);
	return mhz > 0 && mhz < 1e6 ? (int)(mhz * 1000) : 1000000;
}

static int cache_size(void)
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
static CUresult llvm_version(const char *call, int *out)
{
	int major = 0, minor = 0, patch = 0;
	struct ptx_diag diag = {0};
	const char *version = jit_llvm_version(&diag);
	if (version == NULL) {
		return api_fail(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "%s: %s", call, diag.message);
	}
	(void)sscanf(version, "%d.%d.%d", &major, &minor, &patch);
	*out = 10000 * major + 100 * minor + patch;
	return CUDA_SUCCESS;
}

API(cuDeviceGetCount, int *out)
{
	CUresult result = api_need(api_ready(__func__), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = 1;
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
		char model[128];
		read_cpuinfo("model name", model, sizeof(model));
		snprintf(out, (size_t)size, "Kudzu CPU device: %s",
			*model != '\0' ? model : "unknown processor");
	}
	return result;
}

API(cuDeviceGetUuid, CUuuid *out, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result == CUDA_SUCCESS) {
		memcpy(out->bytes, CU_DEVICE_UUID_KUDZU, sizeof(out->bytes));
	}
	return result;
}
API_ALIAS(cuDeviceGetUuid_v2, cuDeviceGetUuid);

API(cuDeviceTotalMem_v2, size_t *out, CUdevice device)
{
	CUresult result = api_need(api_check_device(__func__, device), __func__, out);
	if (result == CUDA_SUCCESS) {
		*out = capacity_bytes();
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
		*out = (int)pool_cores();
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		*out = clock_khz();
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		*out = cache_size();
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_KUDZU_PTX_ONLY:
		*out = 1;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_KUDZU_LLVM_VERSION:
		return llvm_version(__func__, out);
	default:
		break;
	}
	if ((unsigned)attribute == 0 || (unsigned)attribute >= CU_DEVICE_ATTRIBUTE_MAX) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d", __func__,
			(int)attribute);
	}
	*out = attributes[attribute];
	return CUDA_SUCCESS;
}

/* Deprecated since CUDA 5, and still asked for; the layout is that of CUdevprop. */
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
	if (result == CUDA_SUCCESS && (major == NULL || minor == NULL)) {
		return api_null(__func__, "a result");
	}
	if (result == CUDA_SUCCESS) {
		*major = CAPABILITY_MAJOR;
		*minor = CAPABILITY_MINOR;
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
		*out = 0;
	}
	return result;
}

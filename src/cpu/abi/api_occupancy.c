/* SPDX-License-Identifier: MIT */
/*
 * Occupancy: how many blocks of a kernel fit on a multiprocessor, as NVIDIA's occupancy calculator
 * has it for compute capability 8.9.  Each of four limits counts: warps, blocks, registers and
 * shared memory.  A cluster has one block.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/exec/launch.h"
#include "cpu/exec/worker_pool.h"
#include "cpu/object/library.h"

/* What a multiprocessor hands out at a time. */
#define WARP 32
#define REGISTERS_UNIT 256 /* to a warp, from the registers of one of: */
#define QUARTERS 4
#define SHARED_UNIT ((int)RT_SHARED_UNIT)

static int occupancy_least(int a, int b)
{
	return a < b ? a : b;
}

/* Whether a launch with these threads and this shared memory would be accepted. */
static bool occupancy_block_fits(const struct function *function, int threads,
	size_t dynamic_shared)
{
	return (unsigned)threads <= function->max_threads
		&& dynamic_shared <= (size_t)function_max_dynamic(function,
			CU_SHARED_MEMORY_MODE_DEFAULT);
}

/* Of a kernel with so many registers per thread. */
static int occupancy_by_registers(int count, int warps)
{
	const int of_warp = (int)round_up((size_t)count * WARP, REGISTERS_UNIT);
	const int of_quarter =
		device_attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)
		/ QUARTERS;
	return of_quarter / of_warp * QUARTERS / warps;
}

static int occupancy_by_shared(size_t size)
{
	size = round_up(size + LAUNCH_RESERVED_SHARED, SHARED_UNIT);
	return device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
		/ (int)size;
}

/* 0 if such a block would be refused. */
static int occupancy_blocks(const struct function *function, int threads, size_t dynamic_shared)
{
	const int warps = (threads + WARP - 1) / WARP;
	int registers = 0;
	if (!occupancy_block_fits(function, threads, dynamic_shared)
	    || function_get_attribute(__func__, function, CU_FUNC_ATTRIBUTE_NUM_REGS, &registers)
			!= CUDA_SUCCESS) {
		return 0;
	}
	int count = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
	count = occupancy_least(count, device_attribute(
		CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / WARP / warps);
	count = occupancy_least(count, occupancy_by_registers(registers, warps));
	return occupancy_least(count,
		occupancy_by_shared(function->ptx->shared_size + dynamic_shared));
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *out, CUfunction handle, int threads,
	size_t dynamic_shared, unsigned int flags)
{
	struct function *function;
	CUresult result = api_need(function_enter(__func__, handle, &function), __func__, out);
	if (result == CUDA_SUCCESS
	    && (threads <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %d threads, flags 0x%x", __func__,
			threads, flags);
	}
	if (result == CUDA_SUCCESS) {
		*out = occupancy_blocks(function, threads, dynamic_shared);
	}
	return result;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *out, CUfunction handle, int threads,
	size_t dynamic_shared)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, handle, threads,
		dynamic_shared, CU_OCCUPANCY_DEFAULT);
}

API(cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid, int *block, CUfunction handle,
	CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit, unsigned int flags)
{
	struct function *function;
	CUresult result = function_enter(__func__, handle, &function);
	if (result == CUDA_SUCCESS && (!grid || !block)) {
		return api_null(__func__, "a result");
	}
	if (result == CUDA_SUCCESS
	    && (limit < 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: limit %d, flags 0x%x", __func__,
			limit, flags);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	// Of the sizes with the most threads on a multiprocessor, the biggest one.
	const int max = (int)function->max_threads;
	const int most = limit > 0 && limit < max ? limit : max;
	int best = 0;
	*block = 0;
	*grid = 0;
	for (int size = (int)round_up((size_t)most, WARP); size > 0; size -= WARP) {
		const int threads = occupancy_least(size, most);
		const int blocks = occupancy_blocks(function, threads,
			shared_of ? shared_of(threads) : dynamic_shared);
		if (blocks * threads > best) {
			best = blocks * threads;
			*block = threads;
			*grid = blocks * (int)device_cores();
		}
	}
	return CUDA_SUCCESS;
}

API(cuOccupancyMaxPotentialBlockSize, int *grid, int *block, CUfunction handle,
	CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, shared_of,
		dynamic_shared, limit, CU_OCCUPANCY_DEFAULT);
}

API(cuOccupancyAvailableDynamicSMemPerBlock, size_t *out, CUfunction handle, int blocks,
	int threads)
{
	struct function *function;
	CUresult result = api_need(function_enter(__func__, handle, &function), __func__, out);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (blocks <= 0 || threads <= 0 || blocks > occupancy_blocks(function, threads, 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %d blocks of %d threads do not fit "
			"on a multiprocessor", __func__, blocks, threads);
	}
	const int all = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	const size_t room = (size_t)(all / blocks / SHARED_UNIT * SHARED_UNIT)
		- LAUNCH_RESERVED_SHARED - function->ptx->shared_size;
	const size_t most = (size_t)function_max_dynamic(function, CU_SHARED_MEMORY_MODE_DEFAULT);
	*out = room < most ? room : most;
	return CUDA_SUCCESS;
}

static CUresult occupancy_enter_cluster(const char *call, int *out, CUfunction handle,
	const CUlaunchConfig *config, struct function **function)
{
	CUresult result = api_need(function_enter(call, handle, function), call, out);
	if (result == CUDA_SUCCESS
	    && (!config || (config->numAttrs > 0 && !config->attrs))) {
		return api_null(call, "the configuration");
	}
	return result;
}

/* How many blocks with the threads and the shared memory of a configuration fit. */
static int occupancy_of_config(const struct function *function, const CUlaunchConfig *config)
{
	uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY;
	threads = threads <= LAUNCH_MAX_THREADS ? threads * config->blockDimZ : threads;
	return threads > 0 && threads <= LAUNCH_MAX_THREADS
		? occupancy_blocks(function, (int)threads, config->sharedMemBytes) : 0;
}

API(cuOccupancyMaxActiveClusters, int *out, CUfunction handle, const CUlaunchConfig *config)
{
	struct function *function;
	CUresult result = occupancy_enter_cluster(__func__, out, handle, config, &function);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	bool is_one = false;
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttributeValue *value = &config->attrs[i].value;
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			is_one = value->clusterDim.x == 1 && value->clusterDim.y == 1
				&& value->clusterDim.z == 1;
		}
	}
	if (!is_one) {
		return api_fail(CUDA_ERROR_INVALID_CLUSTER_SIZE,
			"%s: the CPU device has clusters of one block only", __func__);
	}
	*out = occupancy_of_config(function, config) * (int)device_cores();
	return CUDA_SUCCESS;
}

API(cuOccupancyMaxPotentialClusterSize, int *out, CUfunction handle, const CUlaunchConfig *config)
{
	struct function *function;
	CUresult result = occupancy_enter_cluster(__func__, out, handle, config, &function);
	if (result == CUDA_SUCCESS) {
		*out = occupancy_of_config(function, config) > 0;
	}
	return result;
}

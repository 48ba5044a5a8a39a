/* SPDX-License-Identifier: MIT */
/*
 * Occupancy: how many blocks of a kernel fit on a multiprocessor.  That is one or none, for a
 * worker runs one block at a time.  A cluster has one block.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/exec/launch.h"
#include "cpu/exec/pool.h"
#include "cpu/object/library.h"

/* Whether a launch with these threads and this shared memory would be accepted. */
static bool block_fits(const struct function *function, int threads, size_t dynamic_shared)
{
	return (unsigned)threads <= function->max_threads
		&& dynamic_shared <= (size_t)function->max_dynamic;
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
		*out = block_fits(function, threads, dynamic_shared);
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
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: limit %d, flags 0x%x", __func__, limit,
			flags);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	int threads = (int)function->max_threads;
	threads = limit > 0 && limit < threads ? limit : threads;
	while (threads > 0 && !block_fits(function, threads,
			shared_of ? shared_of(threads) : dynamic_shared)) {
		threads = threads > 32 ? (threads - 1) / 32 * 32 : 0;
	}
	*block = threads;
	*grid = threads > 0 ? (int)pool_cores() : 0;
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
	if (blocks != 1 || threads <= 0 || !block_fits(function, threads, 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %d blocks of %d threads do not fit on"
			" a multiprocessor", __func__, blocks, threads);
	}
	size_t room = LAUNCH_MAX_SHARED - function->ptx->shared_size;
	*out = room < (size_t)function->max_dynamic ? room : (size_t)function->max_dynamic;
	return CUDA_SUCCESS;
}

static CUresult enter_cluster(const char *call, int *out, CUfunction handle,
	const CUlaunchConfig *config, struct function **function)
{
	CUresult result = api_need(function_enter(call, handle, function), call, out);
	if (result == CUDA_SUCCESS
	    && (!config || (config->numAttrs > 0 && !config->attrs))) {
		return api_null(call, "the configuration");
	}
	return result;
}

/* Whether a block with the threads and the shared memory of a configuration fits. */
static bool config_fits(const struct function *function, const CUlaunchConfig *config)
{
	uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY;
	threads = threads <= LAUNCH_MAX_THREADS ? threads * config->blockDimZ : threads;
	return threads > 0 && threads <= LAUNCH_MAX_THREADS
		&& block_fits(function, (int)threads, config->sharedMemBytes);
}

API(cuOccupancyMaxActiveClusters, int *out, CUfunction handle, const CUlaunchConfig *config)
{
	struct function *function;
	CUresult result = enter_cluster(__func__, out, handle, config, &function);
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
	*out = config_fits(function, config) ? (int)pool_cores() : 0;
	return CUDA_SUCCESS;
}

API(cuOccupancyMaxPotentialClusterSize, int *out, CUfunction handle, const CUlaunchConfig *config)
{
	struct function *function;
	CUresult result = enter_cluster(__func__, out, handle, config, &function);
	if (result == CUDA_SUCCESS) {
		*out = config_fits(function, config);
	}
	return result;
}

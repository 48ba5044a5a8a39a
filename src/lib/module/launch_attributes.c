/* SPDX-License-Identifier: MIT */
/*
 * Attributes that few launches ask for, and what a program prefers for a kernel.
 *
 * A cooperative launch has a call of its own, which older drivers have, too.  Clusters and
 * programmatic dependent launches are attributes of cuLaunchKernelEx.
 */
#include "base/common.h"

#include "base/kudzu_abi.h"
#include "lib/module/kernel_launch.h"

#include <string.h>

/* Clusters of one block need no device that has clusters. */
static kz_status launch_read_cluster(struct launch *launch, const int32_t cluster[3],
	kz_error *err)
{
	const char *name = launch->kernel->info->name;
	const long long x = cluster[0], y = cluster[1], z = cluster[2];
	int has = 0;
	if (x < 1 || y < 1 || z < 1 || x > UINT8_MAX || y > UINT8_MAX || z > UINT8_MAX) {
		return error_set(err, KZ_LAUNCH, "a cluster of %lld x %lld x %lld blocks for '%s': "
			"expected three extents from 1 to %d, or all 0 for none", x, y, z, name,
			UINT8_MAX);
	}
	if (launch->dev->drv->DeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH,
			launch->dev->handle) != CUDA_SUCCESS || !has) {
		return x * y * z == 1 ? KZ_OK : error_set(err, KZ_UNSUPPORTED, "a cluster of %lld "
			"x %lld x %lld blocks for '%s': %s has clusters of one block only", x, y, z,
			name, launch->dev->name);
	}
	for (int i = 0; i < 3; i++) {
		launch->cluster[i] = (uint8_t)cluster[i];
	}
	return KZ_OK;
}

/* A limit of milliseconds, up to what nanoseconds can count: 292 years. */
static kz_status launch_read_timeout(struct launch *launch, int64_t timeout_ms, kz_error *err)
{
	enum { NS_PER_MS = 1000000 };
	const int64_t most = INT64_MAX / NS_PER_MS;
	if (timeout_ms < 0 || timeout_ms > most) {
		return error_set(err, KZ_INVALID, "a time limit for '%s': expected 0 to %lld ms, "
			"got %lld", launch->kernel->info->name, (long long)most,
			(long long)timeout_ms);
	}
	launch->timeout = (uint64_t)timeout_ms * NS_PER_MS;
	return timeout_ms ? device_check_timeout(launch->dev, err) : KZ_OK;
}

kz_status launch_read_attributes(struct launch *launch, const kz_launch_options *options,
	kz_error *err)
{
	const int32_t *cluster = options->cluster;
	kz_status st = KZ_OK;
	launch->cooperative = options->cooperative != 0;
	launch->programmatic = options->programmatic != 0;
	if (launch->cooperative && !launch->dev->info.cooperative_launch) {
		return error_set(err, KZ_UNSUPPORTED, "%s has no cooperative launch",
			launch->dev->name);
	}
	if (cluster[0] || cluster[1] || cluster[2]) {
		st = launch_read_cluster(launch, cluster, err);
	}
	st = st ? st : launch_read_timeout(launch, options->timeout_ms, err);
	launch->has_attributes = launch->cooperative || launch->programmatic || launch->cluster[0]
		|| launch->timeout;
	return st;
}

static kz_status launch_cooperatively(const struct launch *launch, kz_error *err)
{
	const kz_dim3 *grid = launch->grid;
	const kz_dim3 *block = launch->block;
	CUresult code = launch->dev->drv->LaunchCooperativeKernel(launch->kernel->handle,
		(unsigned)grid->x, (unsigned)grid->y, (unsigned)grid->z, (unsigned)block->x,
		(unsigned)block->y, (unsigned)block->z, (unsigned)launch->shared_size,
		launch->stream->handle, launch->places);
	return device_ok(launch->dev, code, "cuLaunchCooperativeKernel", err);
}

static kz_status launch_check_cluster(const struct launch *launch, kz_error *err)
{
	const kz_dim3 *grid = launch->grid;
	const uint8_t *cluster = launch->cluster;
	return !cluster[0] || (grid->x % cluster[0] == 0 && grid->y % cluster[1] == 0
		&& grid->z % cluster[2] == 0) ? KZ_OK : error_set(err, KZ_LAUNCH, "grid of %lld x "
		"%lld x %lld for '%s': clusters of %d x %d x %d blocks do not divide it",
		(long long)grid->x, (long long)grid->y, (long long)grid->z,
		launch->kernel->info->name, cluster[0], cluster[1], cluster[2]);
}

kz_status launch_with_attributes(const struct launch *launch, kz_error *err)
{
	const kz_dim3 *grid = launch->grid;
	const kz_dim3 *block = launch->block;
	const uint8_t *cluster = launch->cluster;
	CUlaunchAttribute attributes[4] = {0};
	CUlaunchConfig config = {
		.gridDimX = (unsigned)grid->x, .gridDimY = (unsigned)grid->y,
		.gridDimZ = (unsigned)grid->z, .blockDimX = (unsigned)block->x,
		.blockDimY = (unsigned)block->y, .blockDimZ = (unsigned)block->z,
		.sharedMemBytes = (unsigned)launch->shared_size,
		.hStream = launch->stream->handle, .attrs = attributes,
	};
	if (!launch->programmatic && !cluster[0] && !launch->timeout) {
		return launch_cooperatively(launch, err);
	}
	kz_status st = launch_check_cluster(launch, err);
	if (st) {
		return st;
	}
	if (launch->cooperative) {
		CUlaunchAttribute *attribute = &attributes[config.numAttrs++];
		attribute->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
		attribute->value.cooperative = 1;
	}
	if (launch->programmatic) {
		CUlaunchAttribute *attribute = &attributes[config.numAttrs++];
		attribute->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
		attribute->value.programmaticStreamSerializationAllowed = 1;
	}
	if (cluster[0]) {
		CUlaunchAttribute *attribute = &attributes[config.numAttrs++];
		attribute->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
		attribute->value.clusterDim.x = cluster[0];
		attribute->value.clusterDim.y = cluster[1];
		attribute->value.clusterDim.z = cluster[2];
	}
	if (launch->timeout) {
		CUlaunchAttribute *attribute = &attributes[config.numAttrs++];
		attribute->id = CU_LAUNCH_ATTRIBUTE_KUDZU_TIMEOUT;
		memcpy(&attribute->value, &launch->timeout, sizeof(launch->timeout));
	}
	return device_ok(launch->dev, launch->dev->drv->LaunchKernelEx(&config,
		launch->kernel->handle, launch->places, NULL), "cuLaunchKernelEx", err);
}

/* --- Preferences --- */

kz_status kz_kernel_set_option(kz_kernel *kernel, kz_kernel_option option, int64_t value,
	kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st = kernel_check(kernel, err);
	if (st) {
		return st;
	}
	if (option != KZ_KERNEL_CARVEOUT && option != KZ_KERNEL_CACHE) {
		return error_set(err, KZ_INVALID, "expected a kz_kernel_option, got %d",
			(int)option);
	}
	const bool is_carveout = option == KZ_KERNEL_CARVEOUT;
	const int least = is_carveout ? CU_SHAREDMEM_CARVEOUT_DEFAULT : CU_FUNC_CACHE_PREFER_NONE;
	const int most = is_carveout ? CU_SHAREDMEM_CARVEOUT_MAX_SHARED
		: CU_FUNC_CACHE_PREFER_EQUAL;
	if (value < least || value > most) {
		return error_set(err, KZ_INVALID, "expected %d to %d for %s, got %lld", least, most,
			is_carveout ? "KZ_KERNEL_CARVEOUT" : "KZ_KERNEL_CACHE", (long long)value);
	}
	struct kz_device *dev = kernel->module->device;
	if ((st = device_enter(dev, &scope, err))) {
		return st;
	}
	st = is_carveout ? device_ok(dev, dev->drv->FuncSetAttribute(kernel->handle,
			CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, (int)value),
			"cuFuncSetAttribute", err)
		: device_ok(dev, dev->drv->FuncSetCacheConfig(kernel->handle, (CUfunc_cache)value),
			"cuFuncSetCacheConfig", err);
	device_leave(dev, &scope);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * A device while it is open: its count, the loss of its context, and what it says about itself.
 *
 * A kernel that faults takes the context with it.  From then on the driver answers every call with
 * the same error.  The first such answer is kept as the cause, and each later call fails with it,
 * without asking the driver.
 *
 * Streams, pools and memory call this file.  device_open.c is above them: it makes and ends
 * devices. The last device_release calls it by kz_device.end.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/checks.h"
#include "base/kudzu_abi.h"
#include "lib/core/device.h"
#include "lib/core/live.h"
#include "lib/core/reports.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* The loss of a context */

static bool device_code_is_sticky(CUresult code)
{
	const struct native_code *known = codes_find(KZ_DOMAIN_DRIVER, (int)code);
	return known && known->flags & KZ_ERROR_STICKY;
}

/* Keep the first cause, for all later calls; false if another call was first. */
static bool device_latch(struct kz_device *dev, CUresult code, const char *call, kz_error *err)
{
	kz_error first = KZ_ERROR_INIT;
	pthread_mutex_lock(&dev->lock);
	bool mine = !atomic_load(&dev->lost);
	if (mine) {
		drv_fail(dev->drv, code, call, &first);
		live_name_missed(dev, &first);
		error_retell(&dev->cause, &first, "%s was lost by an earlier failure: %s",
			dev->name, first.message);
		error_add_hint(&dev->cause, "close the device and open it again; where the driver "
			"does not recover, start the program again");
		error_take_log(&dev->cause, first.log ? mem_strdup(first.log) : NULL);
		atomic_store_explicit(&dev->lost, true, memory_order_release);
	}
	pthread_mutex_unlock(&dev->lock);
	error_copy(err, &first);
	kz_error_clear(&first);
	return mine;
}

kz_status device_report_loss(struct kz_device *dev, kz_error *err)
{
	return device_is_forked(dev) ? drv_check_fork(dev->drv->provider, err)
		: error_copy(err, &dev->cause);
}

kz_status device_fail(struct kz_device *dev, CUresult code, const char *call, kz_error *err)
{
	if (!device_code_is_sticky(code)) {
		return drv_fail(dev->drv, code, call, err);
	}
	return device_latch(dev, code, call, err) ? dev->cause.status
		: device_report_loss(dev, err);
}

/* A process that ends, or was forked, has nothing to release; nor has a context that is lost. */
void device_count_failure(struct kz_device *dev, CUresult code, const char *call)
{
	if (code == CUDA_ERROR_DEINITIALIZED || code == DRV_FORKED || atomic_load(&dev->lost)) {
		return;
	}
	pthread_mutex_lock(&dev->lock);
	if (dev->release_failures++ == 0) {
		dev->release_code = code;
		dev->release_call = call;
	}
	pthread_mutex_unlock(&dev->lock);
}

bool device_enter_quietly(struct kz_device *dev, struct device_scope *scope)
{
	*scope = (struct device_scope){NULL, false};
	return device_enter(dev, scope, NULL) == KZ_OK;
}

/* The count, and what ends with it */

void device_release(struct kz_device *dev)
{
	if (dev && !device_is_forked(dev) && atomic_fetch_sub(&dev->refs, 1) == 1) {
		dev->end(dev);
	}
}

struct device_table *device_put_table(struct kz_device *dev, enum device_place place,
	struct device_table *made)
{
	struct device_table *there = NULL;
	if (atomic_compare_exchange_strong(&dev->tables[place], &there, made)) {
		return made;
	}
	made->end(made);
	return there;
}

/* What a device says about itself */

const char *kz_device_name(const kz_device *dev)
{
	return object_is(dev, OBJECT_DEVICE) ? dev->name : "";
}

int kz_device_index(const kz_device *dev)
{
	if (!object_is(dev, OBJECT_DEVICE)) {
		return -1;
	}
	const char *colon = strchr(dev->name, ':');
	return colon ? (int)strtol(colon + 1, NULL, 10) : 0;
}

int kz_device_is_cuda(const kz_device *dev)
{
	return object_is(dev, OBJECT_DEVICE) && strncmp(dev->name, "cuda:", 5) == 0;
}

const char *kz_device_model(const kz_device *dev)
{
	return object_is(dev, OBJECT_DEVICE) ? dev->model : "";
}

const char *kz_device_note(const kz_device *dev)
{
	return object_is(dev, OBJECT_DEVICE) ? atomic_load(&dev->note) : NULL;
}

kz_stream *kz_device_stream(kz_device *dev)
{
	return object_is(dev, OBJECT_DEVICE) ? &dev->stream : NULL;
}

/* The sizes that kz_device_info has had, oldest first; fields are only ever added at its end. */
static const size_t info_sizes[] = {sizeof(kz_device_info)};

kz_status kz_device_describe(kz_device *dev, kz_device_info *info, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(info, "a kz_device_info", err))) {
		return st;
	}
	for (size_t i = 0; i < countof(info_sizes); i++) {
		if (info->size == info_sizes[i]) {
			memcpy((char *)info + sizeof(info->size),
				(const char *)&dev->info + sizeof(info->size),
				info->size - sizeof(info->size));
			return KZ_OK;
		}
	}
	return struct_refuse("kz_device_info", info->size, sizeof(*info), err);
}

kz_status kz_device_memory(kz_device *dev, int64_t *free_size, int64_t *total_size, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	size_t free = 0, total = 0;
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err)) || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	st = device_ok(dev, dev->drv->MemGetInfo(&free, &total), "cuMemGetInfo", err);
	device_leave(dev, &scope);
	if (!st && free_size) {
		*free_size = (int64_t)free;
	}
	if (!st && total_size) {
		*total_size = (int64_t)total;
	}
	return st;
}

/* KZ_LIMIT_LAUNCH_MS in the units of our driver, which adds up to one nanosecond. */
enum { LIMIT_NS_PER_MS = 1000000 };
#define LIMIT_MOST_MS (INT64_C(1000000000) * 1000)

/* The limits that kz_limit has; its numbers are the driver's, but for our own. */
static kz_status device_check_limit(const struct kz_device *dev, kz_limit limit, kz_error *err)
{
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	if (st || (unsigned)limit <= KZ_LIMIT_PERSISTING_L2_CACHE_SIZE) {
		return st;
	}
	return limit == KZ_LIMIT_LAUNCH_MS ? device_check_timeout(dev, err)
		: error_set(err, KZ_INVALID, "expected a limit from 0 to %d, or "
			"KZ_LIMIT_LAUNCH_MS, got %d", (int)KZ_LIMIT_PERSISTING_L2_CACHE_SIZE,
			(int)limit);
}

kz_status device_check_timeout(const struct kz_device *dev, kz_error *err)
{
	return dev->exports ? KZ_OK : error_set(err, KZ_UNSUPPORTED, "%s has no time limit for "
		"kernels: its driver cannot end one", dev->name);
}

static CUlimit device_limit_number(kz_limit limit)
{
	return limit == KZ_LIMIT_LAUNCH_MS ? CU_LIMIT_KUDZU_TIMEOUT : (CUlimit)limit;
}

kz_status kz_device_limit(int64_t *out, kz_device *dev, kz_limit limit, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	size_t value = 0;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = device_check_limit(dev, limit, err))
	    || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	st = device_ok(dev, dev->drv->CtxGetLimit(&value, device_limit_number(limit)),
		"cuCtxGetLimit", err);
	device_leave(dev, &scope);
	if (limit == KZ_LIMIT_LAUNCH_MS) { /* less than a millisecond is not none */
		value = (value + LIMIT_NS_PER_MS - 2) / LIMIT_NS_PER_MS;
	}
	*out = st ? 0 : (int64_t)value;
	return st;
}

kz_status kz_device_set_limit(kz_device *dev, kz_limit limit, int64_t value, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st = device_check_limit(dev, limit, err);
	if (!st && value < 0) {
		st = error_set(err, KZ_INVALID, "expected a limit of at least 0, got %lld",
			(long long)value);
	}
	if (!st && limit == KZ_LIMIT_LAUNCH_MS) {
		st = value <= LIMIT_MOST_MS ? KZ_OK : error_set(err, KZ_INVALID, "expected a limit "
			"of at most %lld ms, got %lld", (long long)LIMIT_MOST_MS,
			(long long)value);
		value = st ? value : value * LIMIT_NS_PER_MS;
	}
	if (st || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	st = device_ok(dev, dev->drv->CtxSetLimit(device_limit_number(limit), (size_t)value),
		"cuCtxSetLimit", err);
	device_leave(dev, &scope);
	return st;
}

static kz_status device_set_limits(struct kz_device *dev, int64_t value, kz_error *err)
{
	const struct kudzu_exports *exports = dev->exports;
	if (!exports) {
		return value == 1 ? KZ_OK : error_set(err, KZ_UNSUPPORTED,
			"the driver of %s cannot switch its limits off", dev->name);
	}
	return device_ok(dev, exports->set_limits((int)value), "cuGetExportTable", err);
}

/* The other flags stay.  Since CUDA 11 a context that is active takes them, too. */
static kz_status device_set_schedule(struct kz_device *dev, int64_t value, kz_error *err)
{
	unsigned flags = 0;
	int is_active;
	kz_status st = device_check_loss(dev, err);
	st = st ? st : device_ok(dev, dev->drv->DevicePrimaryCtxGetState(dev->handle, &flags,
		&is_active), "cuDevicePrimaryCtxGetState", err);
	flags = (flags & ~(unsigned)CU_CTX_SCHED_MASK) | (unsigned)value;
	return st ? st : device_ok(dev, dev->drv->DevicePrimaryCtxSetFlags(dev->handle, flags),
		"cuDevicePrimaryCtxSetFlags", err);
}

static kz_status device_set_profiler(struct kz_device *dev, int64_t value, kz_error *err)
{
	struct device_scope scope;
	kz_status st = device_enter(dev, &scope, err);
	if (!st) {
		st = value ? device_ok(dev, dev->drv->ProfilerStart(), "cuProfilerStart", err)
			: device_ok(dev, dev->drv->ProfilerStop(), "cuProfilerStop", err);
		device_leave(dev, &scope);
	}
	return st;
}

/* Pools keep nothing from now on, so that each array is an allocation, whose end is known. */
static kz_status device_set_checks(struct kz_device *dev, int64_t value, kz_error *err)
{
	int now = 0;
	if (!dev->exports) {
		return value == 0 ? KZ_OK : reports_refuse(dev, err);
	}
	kz_status st = device_ok(dev, dev->exports->set_checks((unsigned)value), "cuGetExportTable",
		err);
	st = st ? st : device_ok(dev, dev->drv->DeviceGetAttribute(&now,
		CU_DEVICE_ATTRIBUTE_KUDZU_CHECKS, dev->handle), "cuDeviceGetAttribute", err);
	if (st) {
		return st;
	}
	dev->checks = (unsigned)now;
	reports_note_option(now != 0);
	for (int kind = 0; kind < MEMPOOL_KINDS && now != 0; kind++) {
		atomic_store(&dev->pools[kind].keeps, false);
	}
	return KZ_OK;
}

kz_status kz_device_set_option(kz_device *dev, kz_option option, int64_t value, kz_error *err)
{
	error_scope(err);
	static const struct {
		const char *name, *values;
		unsigned allowed; /* a bit for each value; 0: up to `most` */
		unsigned most;
		kz_status (*set)(struct kz_device *dev, int64_t value, kz_error *err);
	} options[] = {
		[KZ_OPTION_LIMITS] = {"KZ_OPTION_LIMITS", "0 or 1", 0x3, 0, device_set_limits},
		[KZ_OPTION_SCHEDULE] = {"KZ_OPTION_SCHEDULE", "0, 1, 2 or 4", 0x17, 0,
			device_set_schedule},
		[KZ_OPTION_PROFILER] = {"KZ_OPTION_PROFILER", "0 or 1", 0x3, 0,
			device_set_profiler},
		[KZ_OPTION_CHECK] = {"KZ_OPTION_CHECK", "a set of kz_check", 0, CHECK_ANY,
			device_set_checks},
	};
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	if (st) {
		return st;
	}
	if ((unsigned)option >= countof(options)) {
		return error_set(err, KZ_INVALID, "expected a device option, got %d",
			(int)option);
	}
	const unsigned allowed = options[option].allowed;
	if (value < 0 || (allowed == 0 ? value > options[option].most
		: value > 31 || !(allowed >> value & 1))) {
		return error_set(err, KZ_INVALID, "expected %s for %s, got %lld",
			options[option].values, options[option].name, (long long)value);
	}
	return options[option].set(dev, value, err);
}

kz_status device_check_capture(const struct kz_device *dev, const char *call, kz_error *err)
{
	/* Of a device that is lost the caller's device_enter says so. */
	return atomic_load(&dev->captures) == 0 || atomic_load(&dev->lost) ? KZ_OK
		: error_set(err, KZ_STATE, "%s waits for all of %s, where a stream captures a "
		"graph: end the capture first", call, dev->name);
}

/* What releases could not say, since they return nothing: once. */
static kz_status device_report_releases(struct kz_device *dev, kz_error *err)
{
	pthread_mutex_lock(&dev->lock);
	const int count = dev->release_failures;
	const CUresult code = dev->release_code;
	const char *call = dev->release_call;
	dev->release_failures = 0;
	pthread_mutex_unlock(&dev->lock);
	if (count == 0) {
		return KZ_OK;
	}
	char more[64] = "";
	kz_error first = KZ_ERROR_INIT;
	(void)device_fail(dev, code, call, &first); /* it may be the loss of the context */
	if (count > 1) {
		snprintf(more, sizeof(more), ", as did %d more since then", count - 1);
	}
	kz_status st = error_retell(err, &first, "a release on %s failed%s: %s", dev->name, more,
		first.message);
	kz_error_clear(&first);
	return st;
}

kz_status kz_device_check(kz_device *dev, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	st = st ? st : device_check_loss(dev, err);
	return st ? st : device_report_releases(dev, err);
}

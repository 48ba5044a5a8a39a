/* SPDX-License-Identifier: MIT */
/*
 * Devices: which one is meant, opening it, its limits, and its end.
 *
 * There is one object for each device of a provider while anything uses it; a list holds them.  It
 * has two counts: `refs` for everything that needs the object, `opens` for the handles of users.
 *
 * A device whose context was lost stays lost (device.c).  When no user holds it any more, the next
 * opening takes it off the list, resets the context and makes a new object.  Arrays that survived
 * keep the old object, and releasing them does not call the driver.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/kudzu_abi.h"
#include "base/store.h"
#include "base/str.h"
#include "lib/core/capture.h"
#include "lib/core/device_find.h"
#include "lib/core/leaks.h"
#include "lib/core/reports.h"
#include "lib/core/stream.h"
#include "lib/core/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kz_device *devices; /* guarded by list_lock */

/* Limits */

struct limit {
	CUdevice_attribute attribute;
	size_t offset;
	size_t size;
};

#define LIMIT(attribute, field) \
	{CU_DEVICE_ATTRIBUTE_##attribute, offsetof(kz_device_info, field), \
		sizeof(((kz_device_info *)0)->field)}

static const struct limit limits[] = {
	LIMIT(MULTIPROCESSOR_COUNT, multiprocessors),
	LIMIT(WARP_SIZE, warp_size),
	LIMIT(MAX_THREADS_PER_BLOCK, max_threads_per_block),
	LIMIT(MAX_BLOCK_DIM_X, max_block[0]),
	LIMIT(MAX_BLOCK_DIM_Y, max_block[1]),
	LIMIT(MAX_BLOCK_DIM_Z, max_block[2]),
	LIMIT(MAX_GRID_DIM_X, max_grid[0]),
	LIMIT(MAX_GRID_DIM_Y, max_grid[1]),
	LIMIT(MAX_GRID_DIM_Z, max_grid[2]),
	LIMIT(MAX_SHARED_MEMORY_PER_BLOCK, shared_per_block),
	LIMIT(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared_per_block_optin),
	LIMIT(TOTAL_CONSTANT_MEMORY, constant_memory),
	LIMIT(CLOCK_RATE, clock_khz),
	LIMIT(MEMORY_CLOCK_RATE, memory_clock_khz),
	LIMIT(CONCURRENT_KERNELS, concurrent_kernels),
	LIMIT(COOPERATIVE_LAUNCH, cooperative_launch),
	LIMIT(MANAGED_MEMORY, managed_memory),
	LIMIT(MEMORY_POOLS_SUPPORTED, memory_pools),
	LIMIT(COMPUTE_MODE, compute_mode),
};

/* An attribute that is newer than the driver is an invalid value to it: 0. */
static kz_status device_read_attribute(int *out, struct kz_device *dev,
	CUdevice_attribute attribute, kz_error *err)
{
	CUresult code = dev->drv->DeviceGetAttribute(out, attribute, dev->handle);
	if (code == CUDA_ERROR_INVALID_VALUE) {
		*out = 0;
		code = CUDA_SUCCESS;
	}
	return device_ok(dev, code, "cuDeviceGetAttribute", err);
}

static kz_status device_read_limits(struct kz_device *dev, kz_error *err)
{
	for (size_t i = 0; i < countof(limits); i++) {
		int value;
		kz_status st = device_read_attribute(&value, dev, limits[i].attribute, err);
		if (st) {
			return st;
		}
		char *field = (char *)&dev->info + limits[i].offset;
		if (limits[i].size == sizeof(int64_t)) {
			*(int64_t *)field = value;
		} else {
			*(int32_t *)field = value;
		}
	}
	return KZ_OK;
}

/* The private table of our own driver. */
static const struct kudzu_exports *device_find_exports(const struct drv *drv)
{
	CUuuid id;
	const void *table = NULL;
	memcpy(id.bytes, CU_DEVICE_UUID_KUDZU, sizeof(id.bytes));
	return drv->GetExportTable(&table, &id) == CUDA_SUCCESS ? table : NULL;
}

/* What the driver says about the device; needs no context. */
static kz_status device_read_info(struct kz_device *dev, kz_error *err)
{
	const struct drv *drv = dev->drv;
	int major, minor, ptx_only = 0, checks = 0;
	size_t total = 0;
	CUuuid uuid = {{0}};
	kz_status st;
	dev->info.size = sizeof(dev->info);
	if ((st = device_read_limits(dev, err))
	    || (st = device_ok(dev, drv->DeviceGetName(dev->model, sizeof(dev->model) - 1,
			dev->handle), "cuDeviceGetName", err))
	    || (drv_has(drv, DRV_cuDeviceTotalMem)
		&& (st = device_ok(dev, drv->DeviceTotalMem(&total, dev->handle),
			"cuDeviceTotalMem", err)))
	    || (drv_has(drv, DRV_cuDeviceGetUuid)
		&& (st = device_ok(dev, drv->DeviceGetUuid(&uuid, dev->handle),
			"cuDeviceGetUuid", err)))
	    || (drv_has(drv, DRV_cuDeviceGetPCIBusId)
		&& (st = device_ok(dev, drv->DeviceGetPCIBusId(dev->info.pci_bus_id,
			sizeof(dev->info.pci_bus_id), dev->handle), "cuDeviceGetPCIBusId", err)))) {
		return st;
	}
	dev->info.total_memory = (int64_t)total;
	memcpy(dev->info.uuid, uuid.bytes, sizeof(dev->info.uuid));
	/* Other drivers have no attributes of ours, and compute-sanitizer reports a question for
	 * one. */
	const bool is_ours = memcmp(dev->info.uuid, CU_DEVICE_UUID_KUDZU,
		CU_DEVICE_UUID_KUDZU_SAME) == 0;
	if ((st = device_read_attribute(&major, dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
			err))
	    || (st = device_read_attribute(&minor, dev,
			CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, err))
	    || (is_ours && (st = device_read_attribute(&ptx_only, dev,
			CU_DEVICE_ATTRIBUTE_KUDZU_PTX_ONLY, err)))
	    || (is_ours && (st = device_read_attribute(&checks, dev,
			CU_DEVICE_ATTRIBUTE_KUDZU_CHECKS, err)))) {
		return st;
	}
	dev->info.compute_capability = 10 * major + minor;
	dev->info.driver_version = drv->version;
	dev->ptx_only = ptx_only == 1;
	dev->serial = dev->ptx_only;
	dev->has_libraries = !dev->on_host && !dev->ptx_only;
	dev->checks = (unsigned)checks;
	dev->exports = dev->ptx_only ? device_find_exports(drv) : NULL;
	dev->has_pools = dev->info.memory_pools && drv_has(drv, DRV_cuMemAllocAsync)
		&& drv_has(drv, DRV_cuMemFreeAsync);
	dev->info.memory_pools = dev->has_pools;
	return KZ_OK;
}

/* Opening and closing one device */

/* By default a pool gives its memory back whenever the device is idle, which makes the next
 * allocation slow.  Only speed depends on it, so a refusal does not matter. */
static void device_keep_pool_memory(struct kz_device *dev)
{
	CUmemoryPool pool;
	cuuint64_t threshold = UINT64_MAX;
	if (dev->has_pools
	    && dev->drv->DeviceGetDefaultMemPool(&pool, dev->handle) == CUDA_SUCCESS) {
		dev->default_pool = pool;
		(void)dev->drv->MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
			&threshold);
	}
}

static kz_status device_init(struct kz_device *dev, kz_error *err)
{
	const struct drv *drv = dev->drv;
	kz_status st;
	if ((st = device_ok(dev, drv->DeviceGet(&dev->handle, dev->ordinal), "cuDeviceGet", err))
	    || (st = device_read_info(dev, err)) || (st = reports_check_device(dev, err))) {
		return st;
	}
	if (dev->checks) {
		mempool_switch(&dev->pools[MEMPOOL_DEVICE], false);
		mempool_switch(&dev->pools[MEMPOOL_PINNED], false);
	}
	CUresult code = drv->DevicePrimaryCtxRetain(&dev->context, dev->handle);
	if (code) {
		dev->context = NULL;
		return device_fail(dev, code, "cuDevicePrimaryCtxRetain", err);
	}
	struct device_scope scope;
	if ((st = device_enter(dev, &scope, err))) {
		return st;
	}
	static const kz_stream_options defaults = KZ_STREAM_OPTIONS_INIT;
	st = stream_init(&dev->stream, dev, &defaults, err);
	if (!st) {
		dev->stream.is_default = true;
		device_keep_pool_memory(dev);
	}
	device_leave(dev, &scope);
	return st;
}

static void device_end_tables(struct kz_device *dev)
{
	for (int place = 0; place < DEVICE_TABLES; place++) {
		struct device_table *table = atomic_load(&dev->tables[place]);
		if (table) {
			table->end(table);
		}
	}
}

/* Free a device that is on no list, half-built ones too. */
static void device_free(struct kz_device *dev)
{
	if (!dev) {
		return;
	}
	device_end_tables(dev);
	leaks_report_end(dev);
	trace_end_device(dev);
	output_finish(dev);
	stream_finish(&dev->stream);
	pinned_free_slot(dev);
	mempool_finish(&dev->pools[MEMPOOL_DEVICE]);
	mempool_finish(&dev->pools[MEMPOOL_PINNED]);
	allocators_free(dev);
	pinned_finish(&dev->pinned);
	if (dev->context) {
		(void)dev->drv->DevicePrimaryCtxRelease(dev->handle);
	}
	pthread_mutex_destroy(&dev->lock);
	pthread_rwlock_destroy(&dev->gate);
	kz_error_clear(&dev->cause);
	mem_free(atomic_load(&dev->note));
	object_end(&dev->tag);
	object_end(&dev->stream.tag);
	object_free(dev);
}

/* Take a device off the list.  If its context is lost, reset it.  False if the device was not on
 * the list: another object has taken its place.  Under list_lock. */
static bool device_list_remove(struct kz_device *dev)
{
	struct kz_device **link = &devices;
	while (*link && *link != dev) {
		link = &(*link)->next;
	}
	if (!*link) {
		return false;
	}
	*link = dev->next;
	if (atomic_load(&dev->lost)) {
		(void)dev->drv->DevicePrimaryCtxReset(dev->handle);
	}
	return true;
}

/* The last reference has gone. */
static void device_end(struct kz_device *dev)
{
	pthread_mutex_lock(&list_lock);
	device_list_remove(dev);
	pthread_mutex_unlock(&list_lock);
	device_free(dev);
}

/* KUDZU_POOL: whether memory is kept for reuse. */
static kz_status device_choose_pool(bool *pooled, kz_error *err)
{
	const char *text = env_get("KUDZU_POOL");
	*pooled = !text || strcmp(text, "0") != 0;
	return !text || !*text || strcmp(text, "0") == 0 || strcmp(text, "1") == 0 ? KZ_OK
		: error_set(err, KZ_INVALID, "KUDZU_POOL: expected 0 or 1, got '%s'", text);
}

/* One that begins a capture goes before those that come to wait: they could take turns forever. */
static void device_init_gate(pthread_rwlock_t *gate)
{
	pthread_rwlockattr_t attributes;
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(gate, &attributes);
	pthread_rwlockattr_destroy(&attributes);
}

/* What a trace says at its end. */
static void device_trace_losses(void)
{
	leaks_tell_losses(NULL, trace_loss);
}

/* KUDZU_CPU_AS_GPU: whether the CPU devices after the first one take the place of the GPUs. */
static bool device_cpu_is_gpu(void)
{
	const char *text = env_get("KUDZU_CPU_AS_GPU");
	return text && strcmp(text, "1") == 0;
}

void device_write_name(char out[DEVICE_NAME], const struct drv *drv, int ordinal)
{
	const bool on_host = drv->provider == DRV_CPU;
	if (on_host && ordinal == 0) {
		snprintf(out, DEVICE_NAME, "cpu");
	} else if (on_host && !device_cpu_is_gpu()) {
		snprintf(out, DEVICE_NAME, "cpu:%d", ordinal);
	} else {
		snprintf(out, DEVICE_NAME, "cuda:%d", ordinal - on_host);
	}
}

static kz_status device_create(struct kz_device **out, struct drv *drv, int ordinal, kz_error *err)
{
	bool pooled;
	char why[160];
	kz_status st = device_choose_pool(&pooled, err);
	if (!st && !store_check_variables(why, sizeof(why))) {
		st = error_set(err, KZ_INVALID, "%s", why);
	}
	st = st ? st : trace_begin_asked(err);
	st = st ? st : leaks_begin_asked(err);
	trace_before_end(device_trace_losses);
	if (st) {
		return st;
	}
	struct kz_device *dev = mem_zalloc(1, sizeof(*dev));
	if (!dev) {
		return error_no_memory(err);
	}
	dev->tag = OBJECT_DEVICE;
	dev->drv = drv;
	dev->ordinal = ordinal;
	dev->end = device_end;
	atomic_init(&dev->refs, 1);
	pthread_mutex_init(&dev->lock, NULL);
	device_init_gate(&dev->gate);
	mempool_init(&dev->pools[MEMPOOL_DEVICE], dev, MEMPOOL_DEVICE, pooled);
	mempool_init(&dev->pools[MEMPOOL_PINNED], dev, MEMPOOL_PINNED, pooled);
	pinned_init(&dev->pinned);
	dev->on_host = drv->provider == DRV_CPU;
	device_write_name(dev->name, drv, ordinal);

	bool mine = error_is_clean(err);
	st = device_init(dev, err);
	if (!st) {
		*out = dev;
		return KZ_OK;
	}
	if (atomic_load(&dev->lost)) {
		(void)drv->DevicePrimaryCtxReset(dev->handle);
		if (mine) {
			error_add_hint(err, "the driver does not recover from an earlier fault in "
				"this process; start the program again");
		}
	}
	device_free(dev);
	return st;
}

/* The device on the list, with its count raised; NULL if there is none that can be used. */
static struct kz_device *device_list_find(const struct drv *drv, int ordinal)
{
	struct kz_device *dev = devices;
	while (dev && (dev->drv != drv || dev->ordinal != ordinal)) {
		dev = dev->next;
	}
	if (!dev || (!(atomic_load(&dev->lost) && dev->opens == 0) && refs_raise(&dev->refs))) {
		return dev;
	}
	device_list_remove(dev);
	return NULL;
}

/* In a child; drv.c, whose turn is before, has taken the driver away. */
static void device_on_fork(void)
{
	pthread_mutex_init(&list_lock, NULL);
	leaks_on_fork();
	for (struct kz_device *dev = devices; dev; dev = dev->next) {
		atomic_store(&dev->lost, true);
	}
}

static void device_watch_forks(void)
{
	pthread_atfork(NULL, NULL, device_on_fork);
}

/* This thread is in a function of kz_device_on_close. */
static _Thread_local bool device_is_told;

static kz_status open_ordinal(struct kz_device **out, struct drv *drv, int ordinal, kz_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	kz_status st = KZ_OK;
	if (device_is_told) {
		error_set(err, KZ_PERMISSION, "the function of kz_device_on_close must not open a "
			"device: its close would call the function again");
		return KZ_PERMISSION;
	}
	pthread_once(&once, device_watch_forks);
	pthread_mutex_lock(&list_lock);
	struct kz_device *dev = device_list_find(drv, ordinal);
	if (!dev && (st = device_create(&dev, drv, ordinal, err)) == KZ_OK) {
		dev->next = devices;
		devices = dev;
	}
	if (!st) {
		dev->opens++;
		*out = dev;
	}
	pthread_mutex_unlock(&list_lock);
	return st;
}

void kz_device_close(kz_device *dev)
{
	if (!object_is(dev, OBJECT_DEVICE) || device_is_forked(dev)) {
		return;
	}
	pthread_mutex_lock(&list_lock);
	bool is_open = object_is(dev, OBJECT_DEVICE) && dev->opens > 0;
	dev->opens -= is_open;
	bool is_last = is_open && dev->opens == 0;
	kz_close_fn *function = is_last ? dev->on_close : NULL;
	void *user = function ? dev->on_close_user : NULL;
	pthread_mutex_unlock(&list_lock);
	if (function) {
		bool before = device_is_told;
		device_is_told = true;
		function(user, dev);
		device_is_told = before;
	}
	struct capture *capture = is_last ? stream_capture(&dev->stream) : NULL;
	if (capture && capture->origin == &dev->stream) { /* it keeps the device */
		stream_release_captured(capture_abort(capture));
	}
	if (is_last) {
		if (trace_is_on()) {
			leaks_tell_losses(dev, trace_loss);
		}
		leaks_report_close(dev);
	}
	if (is_open) {
		device_release(dev);
	}
}

kz_status kz_device_on_close(kz_device *dev, kz_close_fn *function, void *user, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	if (!st) {
		pthread_mutex_lock(&list_lock);
		dev->on_close = function;
		dev->on_close_user = user;
		pthread_mutex_unlock(&list_lock);
	}
	return st;
}

/* Choosing a device */

static void device_set_note(struct kz_device *dev, const kz_error *why, const char *what)
{
	char *none = NULL;
	struct str text = STR_INIT;
	str_addf(&text, "%s: %s", what, why->message);
	char *note = str_take(&text);
	if (!note || !atomic_compare_exchange_strong(&dev->note, &none, note)) {
		mem_free(note);
	}
}

/* The driver of the GPUs; *first is the ordinal of cuda:0. */
static kz_status gpu_open_driver(struct drv **out, int *first, kz_error *err)
{
	*first = device_cpu_is_gpu();
	return drv_open(out, *first ? DRV_CPU : DRV_CUDA, err);
}

static kz_status device_fail_no_gpu(long ordinal, int count, kz_error *err)
{
	return count == 0 ? error_set(err, KZ_NO_DEVICE, "there is no cuda:%ld: with "
		"KUDZU_CPU_AS_GPU the "
			"CPU devices after the first one are GPUs, and there is one CPU device; "
			"set KUDZU_CPU_DEVICES to more", ordinal)
		: error_set(err, KZ_NO_DEVICE, count == 1
			? "there is no cuda:%ld: the driver has %d device, cuda:0"
			: "there is no cuda:%ld: the driver has %d devices, cuda:0 and up", ordinal,
			count);
}

static kz_status open_gpu(struct kz_device **out, long ordinal, kz_error *err)
{
	struct drv *drv;
	int first;
	kz_status st = gpu_open_driver(&drv, &first, err);
	if (!st && ordinal >= drv->device_count - first) {
		st = device_fail_no_gpu(ordinal, drv->device_count - first, err);
	}
	return st ? st : open_ordinal(out, drv, (int)ordinal + first, err);
}

static kz_status open_cpu(struct kz_device **out, long ordinal, kz_error *err)
{
	struct drv *drv;
	kz_status st = drv_open(&drv, DRV_CPU, err);
	if (!st && ordinal >= drv->device_count) {
		st = error_set(err, KZ_NO_DEVICE, drv->device_count == 1
			? "there is no cpu:%ld: there is %d CPU device; "
			"KUDZU_CPU_DEVICES makes more"
			: "there is no cpu:%ld: there are %d CPU devices, as KUDZU_CPU_DEVICES "
			"says", ordinal, drv->device_count);
	}
	return st ? st : open_ordinal(out, drv, (int)ordinal, err);
}

/* Neither a GPU nor the CPU device: both messages, both logs, and the code of the GPU's failure, or
 * of the CPU device's if that is the value of a variable. */
static kz_status device_fail_both(const kz_error *gpu, const kz_error *cpu, kz_error *err)
{
	bool mine = error_is_clean(err);
	bool by_variable = drv_names_variable(cpu->message) || drv_names_variable(gpu->message);
	const kz_error *why = cpu->status == KZ_INVALID ? cpu : gpu; /* the value of a variable */
	error_retell(err, why, "no device can be used: cuda: %s; cpu: %s", gpu->message,
		cpu->message);
	if (mine) {
		struct str log = STR_INIT;
		str_addf(&log, "cuda: %s\n%scpu: %s\n%s", gpu->message, gpu->log ? gpu->log : "",
			cpu->message, cpu->log ? cpu->log : "");
		error_take_log(err, str_take(&log));
		error_add_hint(err, by_variable ? drv_variable_hint
			: "install the NVIDIA driver, or build Kudzu with LLVM for its CPU device; "
			"`kudzu doctor` says more");
	}
	return why->status;
}

/* Open the CPU in place of a GPU that cannot be used because of `why`. */
static kz_status open_cpu_instead(struct kz_device **out, const kz_error *why, kz_error *err)
{
	kz_error cpu = KZ_ERROR_INIT;
	kz_status st = open_cpu(out, 0, &cpu);
	if (!st) {
		device_set_note(*out, why, "cuda");
	} else if (st == KZ_NO_MEMORY) {
		error_copy(err, &cpu);
	} else {
		st = device_fail_both(why, &cpu, err);
	}
	kz_error_clear(&cpu);
	return st;
}

/* In a forked process neither the CPU nor a GPU is a way out for the other, and the loader is left
 * alone: a thread that is missing here may have had its lock. */
static kz_status device_check_forks(kz_error *err)
{
	kz_status st = drv_check_fork(DRV_CUDA, err);
	return st ? st : drv_check_fork(DRV_CPU, err);
}

/* Open the first of these GPUs that works, else the CPU. */
static kz_status open_gpu_or_cpu(struct kz_device **out, long first, long last, kz_error *err)
{
	kz_error why = KZ_ERROR_INIT;
	kz_status st = device_check_forks(err);
	if (st) {
		return st;
	}
	for (long i = first; i < last && !*out && st != KZ_NO_MEMORY; i++) {
		st = open_gpu(out, i, &why);
	}
	if (!*out && st == KZ_NO_MEMORY) {
		error_copy(err, &why);
	} else if (!*out) {
		st = open_cpu_instead(out, &why, err);
	} else if (why.status) {
		device_set_note(*out, &why, "an earlier GPU");
	}
	kz_error_clear(&why);
	return *out ? KZ_OK : st;
}

/* The N of "cuda:N", 0 for "cuda", where the kind is "cuda"; -1 for what is neither. */
static long device_parse_ordinal(const char *name, const char *kind)
{
	const size_t len = strlen(kind);
	if (strcmp(name, kind) == 0) {
		return 0;
	}
	if (strncmp(name, kind, len) != 0 || name[len] != ':') {
		return -1;
	}
	const char *digits = name + len + 1;
	return strlen(digits) > 9 || digits[0] == '\0'
		|| digits[strspn(digits, "0123456789")] != '\0'
		? -1 : strtol(digits, NULL, 10);
}

static kz_status open_id(struct kz_device **out, const struct device_id *id, kz_error *err)
{
	struct drv *drv;
	int ordinal;
	kz_status st = device_check_forks(err);
	st = st ? st : device_find_id(&drv, &ordinal, id, err);
	return st ? st : open_ordinal(out, drv, ordinal, err);
}

kz_status kz_device_open(kz_device **out, const char *name, kz_error *err)
{
	/* No error_scope: a message begins with the variable that named the device, or the name. */
	const char *from = "";
	struct device_id id;
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	if (st) {
		return st;
	}
	if (!name && (name = env_get("KUDZU_DEVICE"))) {
		from = "KUDZU_DEVICE: ";
	}
	if (!name || (*from && !*name)) {
		int count = kz_cuda_device_count();
		return open_gpu_or_cpu(out, 0, count > 0 ? count : 1, err);
	}
	long ordinal = device_parse_ordinal(name, "cpu");
	if (ordinal >= 0) {
		return open_cpu(out, ordinal, err);
	}
	ordinal = device_parse_ordinal(name, "cuda");
	if (ordinal >= 0) {
		return open_gpu(out, ordinal, err);
	}
	return device_id_parse(&id, name) ? open_id(out, &id, err) : error_set(err, KZ_INVALID,
		"%sunknown device '%s': expected 'cuda', 'cuda:N', 'cpu', 'cpu:N', 'GPU-...' (a "
		"UUID) or a PCI bus id", from, name);
}

int kz_cuda_device_count(void)
{
	struct drv *drv;
	int first;
	return !device_check_forks(NULL) && !gpu_open_driver(&drv, &first, NULL)
		? drv->device_count - first : 0;
}

int kz_cuda_available(void)
{
	return kz_cuda_device_count() > 0;
}

kz_status kz_try_gpu(kz_device **out, int index, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	if (st) {
		return st;
	}
	if (index < 0) {
		return error_set(err, KZ_INVALID, "expected a GPU index of at least 0, got %d",
			index);
	}
	return open_gpu_or_cpu(out, index, (long)index + 1, err);
}

kz_status kz_try_all_gpus(kz_device **out, int room, int *count, kz_error *err)
{
	error_scope(err);
	kz_error why = KZ_ERROR_INIT;
	kz_status st = pointer_check(count, "a count", err);
	if (st) {
		return st;
	}
	*count = 0;
	if (room < 1) {
		return error_set(err, KZ_INVALID, "expected room for at least one device, got %d",
			room);
	}
	if ((st = out_check(out, sizeof(*out), __func__, err))) {
		return st;
	}
	int gpus = kz_cuda_device_count();
	for (int i = 0; i < gpus && *count < room && st != KZ_NO_MEMORY; i++) {
		out[*count] = NULL;
		st = open_gpu(&out[*count], i, &why);
		*count += st == KZ_OK;
	}
	if (st == KZ_NO_MEMORY) {
		while (*count > 0) {
			kz_device_close(out[--*count]);
		}
		out[0] = NULL;
		error_copy(err, &why);
	} else if (*count > 0) {
		st = KZ_OK;
		if (why.status) {
			device_set_note(out[0], &why, "another GPU");
		}
	} else {
		st = open_gpu_or_cpu(out, 0, 1, err);
		*count = st == KZ_OK;
	}
	kz_error_clear(&why);
	return st;
}

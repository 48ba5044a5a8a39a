/* SPDX-License-Identifier: MIT */
/*
 * Modules: image -> loaded code whose kernels can be found by name.
 *
 * src/lib/rtc makes the image and says what it knows of the kernels' parameters; this file loads
 * it.  When a kernel is first asked for, the driver adds the sizes that neither signature nor image
 * gave.  A kernel with unknown parameters is refused, since the driver would read as many arguments
 * as it likes.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/kudzu_abi.h"
#include "base/str.h"
#include "lib/core/capture.h"
#include "lib/core/trace.h"
#include "lib/module/module.h"

#include <stdlib.h>
#include <string.h>

/* More parameters than a kernel can have: 32 KiB of bytes. */
#define MAX_PARAMS 32768

/* A module, or a user of a shared one, keeps the device. */
static struct kz_device *module_take_device(struct kz_device *dev)
{
	device_count(dev, DEVICE_MODULE, 1);
	return device_retain(dev);
}

static void module_give_device(struct kz_device *dev)
{
	device_count(dev, DEVICE_MODULE, -1);
	device_release(dev);
}

struct kz_module *module_retain(struct kz_module *mod)
{
	atomic_fetch_add(&mod->refs, 1);
	if (mod->is_shared) {
		module_take_device(mod->device);
	}
	return mod;
}

kz_module *kz_module_retain(kz_module *mod)
{
	if (!module_is_held(mod)) {
		return NULL;
	}
	atomic_fetch_add(&mod->handles, 1);
	module_retain(mod);
	object_give(mod, mod->device);
	return mod;
}

static void module_keep(void *module)
{
	(void)module_retain(module);
}

static void module_leave(void *module)
{
	module_release(module);
}

const struct use_kind module_kind = {module_keep, module_leave, false};

kz_status module_keep_captured(struct kz_module *mod, struct capture *capture, kz_error *err)
{
	return capture_keep(capture, mod, &module_kind, err);
}

static void module_free_kernel(struct kz_kernel *kernel)
{
	if (kernel) {
		mem_free(kernel->params);
		mem_free(kernel->signature);
		object_end(&kernel->tag);
		object_free(kernel);
	}
}

static void module_free(struct kz_module *mod)
{
	struct device_scope scope;
	if (mod->handle && device_enter_quietly(mod->device, &scope)) {
		/* Launches in flight run code of this module. */
		(void)stream_wait_all(mod->device);
		CUstreamCaptureMode mode = device_relax(mod->device);
		device_released(mod->device, mod->device->drv->ModuleUnload(mod->handle),
			"cuModuleUnload");
		device_restore(mod->device, mode);
		device_leave(mod->device, &scope);
	}
	for (size_t i = 0; mod->kernels && i < mod->image->rtc.kernel_count; i++) {
		module_free_kernel(mod->kernels[i]);
	}
	mem_free(mod->kernels);
	mem_free(mod->log);
	image_release(mod->image);
	pthread_mutex_destroy(&mod->lock);
	object_end(&mod->tag);
	object_free(mod);
}

int64_t module_measure(const struct kz_module *mod)
{
	const struct kudzu_exports *exports = mod->device->exports;
	return exports ? (int64_t)exports->module_size(mod->handle) : (int64_t)mod->image->rtc.size;
}

void module_drop(struct kz_module *mod)
{
	if (mod && atomic_fetch_sub(&mod->refs, 1) == 1) {
		module_free(mod);
	}
}

void module_release(struct kz_module *mod)
{
	struct kz_device *dev = mod->device;
	bool counted = mod->is_shared;
	if (atomic_fetch_sub(&mod->refs, 1) == 1) {
		counted |= !mod->is_the_devices;
		module_free(mod);
	}
	if (counted) {
		module_give_device(dev);
	}
}

kz_status module_refuse(const struct kz_module *mod, kz_error *err)
{
	return !object_is(mod, OBJECT_MODULE) ? object_refuse(mod, OBJECT_MODULE, "mod", err)
		: argument_refuse("mod", "a module", "a module that was released", err);
}

kz_status kernel_refuse(const struct kz_kernel *kernel, kz_error *err)
{
	if (kernel && (!object_is(kernel, OBJECT_KERNEL))
	    && kernel->tag != ~(uint32_t)OBJECT_KERNEL) {
		return object_refuse(kernel, OBJECT_KERNEL, "kernel", err);
	}
	return argument_refuse("kernel", "a kernel", kernel
		? "a kernel of a module that was released" : "NULL", err);
}

void module_share(struct kz_module *mod)
{
	atomic_fetch_add(&mod->refs, 1); /* the table's */
	mod->is_the_devices = mod->is_shared = true;
}

void module_forget_device(struct kz_module *mod)
{
	object_take(mod);
	if (!mod->is_shared) {
		mod->is_the_devices = true;
	}
	module_give_device(mod->device);
}

/* The image's log, and what the driver said. */
static kz_status module_keep_log(struct kz_module *mod, const char *info, kz_error *err)
{
	struct str text = STR_INIT;
	if (!info || !*info) {
		return KZ_OK;
	}
	const char *log = kz_image_log(mod->image);
	const size_t len = strlen(log);
	str_addf(&text, "%s%s%s", log, len > 0 && log[len - 1] != '\n' ? "\n" : "", info);
	mod->log = str_take(&text);
	return mod->log ? KZ_OK : error_no_memory(err);
}

/* Load the image; the context is current. */
static kz_status module_load_image(struct kz_module *mod, const kz_load_options *options,
	kz_error *err)
{
	const struct rtc_image *image = &mod->image->rtc;
	struct load_jit jit;
	bool mine = error_is_clean(err);
	uint64_t start = clock_now_ns();
	kz_status st = load_jit_init(&jit, options, err);
	if (st) {
		load_jit_finish(&jit);
		return st;
	}
	CUstreamCaptureMode mode = device_relax(mod->device);
	CUresult code = mod->device->drv->ModuleLoadDataEx(&mod->handle, image->data, jit.count,
		jit.options, jit.values);
	device_restore(mod->device, mode);
	st = device_ok(mod->device, code, "cuModuleLoadDataEx", err);
	if (unlikely(trace_is_on())) {
		trace_host(start, "load", "load module",
			"\"device\":\"%s\",\"status\":\"%s\",\"bytes\":%zu", mod->device->name,
			kz_status_name(st), image->size);
	}
	if (st && mine) {
		refusal_explain(err, image, jit.error_log);
	}
	st = st ? st : module_keep_log(mod, jit.info_log, err);
	load_jit_finish(&jit);
	return st;
}

kz_status module_create_plain(struct kz_module **out, struct kz_device *dev, struct kz_image *image,
	const kz_load_options *options, kz_error *err)
{
	struct device_scope scope;
	struct kz_module *mod = mem_zalloc(1, sizeof(*mod));
	if (!mod) {
		return error_no_memory(err);
	}
	mod->tag = OBJECT_MODULE;
	atomic_init(&mod->refs, 1);
	atomic_init(&mod->handles, 1);
	pthread_mutex_init(&mod->lock, NULL);
	mod->device = module_take_device(dev);
	mod->image = kz_image_retain(image);
	mod->kernels = mem_zalloc(image->rtc.kernel_count + 1, sizeof(*mod->kernels));
	kz_status st = mod->kernels ? device_enter(dev, &scope, err) : error_no_memory(err);
	if (!st) {
		st = module_load_image(mod, options, err);
		device_leave(dev, &scope);
	}
	if (st) {
		module_release(mod);
		return st;
	}
	*out = mod;
	return KZ_OK;
}

/* The driver's word on one parameter; *found is false past the last one. */
static kz_status module_ask_param(bool *found, int64_t *size, const struct kz_kernel *kernel,
	size_t index, kz_error *err)
{
	struct kz_device *dev = kernel->module->device;
	size_t param_offset = 0;
	size_t param_size = 0;
	CUresult code = dev->drv->FuncGetParamInfo(kernel->handle, index, &param_offset,
		&param_size);
	*found = code == CUDA_SUCCESS;
	*size = (int64_t)param_size;
	return code == CUDA_ERROR_INVALID_VALUE ? KZ_OK
		: device_ok(dev, code, "cuFuncGetParamInfo", err);
}

static kz_status module_count_params(struct kz_kernel *kernel, kz_error *err)
{
	bool found = true;
	int64_t size;
	kernel->param_count = kernel->info->param_count;
	if (kernel->info->params_known) {
		return KZ_OK;
	}
	for (kernel->param_count = 0; found && kernel->param_count < MAX_PARAMS;) {
		kz_status st = module_ask_param(&found, &size, kernel, kernel->param_count, err);
		if (st) {
			return st;
		}
		kernel->param_count += found;
	}
	return KZ_OK;
}

static kz_status module_complete_param(struct kz_kernel *kernel, size_t index, kz_error *err)
{
	struct param *param = &kernel->params[index];
	const struct rtc_param *known = index < kernel->info->param_count
		? &kernel->info->params[index] : NULL;
	bool found = true;
	kz_status st = KZ_OK;
	param->kind = known ? known->kind : PARAM_UNKNOWN;
	param->type = known ? known->type : NULL;
	param->size = known ? known->size : -1;
	if (param->size < 0) {
		st = module_ask_param(&found, &param->size, kernel, index, err);
	}
	param->natural = args_natural(param->kind, param->size);
	param->dtypes = args_dtypes(param);
	if (!st && !found) {
		st = error_set(err, KZ_BAD_IMAGE, "kernel '%s': parameter %zu has no known size",
			kernel->info->name, index + 1);
	}
	return st;
}

static kz_status module_write_signature(struct kz_kernel *kernel, kz_error *err)
{
	struct str text = STR_INIT;
	const char *name = kernel->info->name;
	if (name[0] && name[strlen(name) - 1] == ')') {
		kernel->signature = mem_strdup(name); /* an overload, told by its parameters */
		return kernel->signature ? KZ_OK : error_no_memory(err);
	}
	str_addf(&text, "%s(", name);
	for (size_t i = 0; i < kernel->param_count; i++) {
		const struct param *param = &kernel->params[i];
		str_add(&text, i ? ", " : "");
		if (param->type) {
			str_add(&text, param->type);
		} else {
			str_addf(&text, "? (%lld byte%s)", (long long)param->size,
				plural(param->size));
		}
	}
	str_addc(&text, ')');
	kernel->signature = str_take(&text);
	return kernel->signature ? KZ_OK : error_no_memory(err);
}

/* Make a kernel ready; the module's lock is held and the context current. */
static kz_status module_create_kernel(struct kz_kernel **out, struct kz_module *mod,
	const struct rtc_kernel *info, kz_error *err)
{
	struct kz_kernel *kernel = mem_zalloc(1, sizeof(*kernel));
	struct kz_device *dev = mod->device;
	const struct drv *drv = dev->drv;
	int threads = 0, shared = 0;
	kz_status st;
	if (!kernel) {
		return error_no_memory(err);
	}
	kernel->tag = OBJECT_KERNEL;
	kernel->module = mod;
	kernel->info = info;
	uint64_t start = clock_now_ns();
	st = device_ok(dev, drv->ModuleGetFunction(&kernel->handle, mod->handle, info->lowered),
		"cuModuleGetFunction", err);
	if (unlikely(trace_is_on())) {
		trace_host(start, "load", info->name, "\"device\":\"%s\",\"status\":\"%s\"",
			dev->name, kz_status_name(st));
	}

	/* Its parameters, and what messages say of them. */
	if (st || (st = module_count_params(kernel, err))) {
		goto fail;
	}
	kernel->params = mem_zalloc(kernel->param_count + 1, sizeof(*kernel->params));
	if (!kernel->params) {
		st = error_no_memory(err);
		goto fail;
	}
	for (size_t i = 0; i < kernel->param_count; i++) {
		if ((st = module_complete_param(kernel, i, err))) {
			goto fail;
		}
	}
	if ((st = module_write_signature(kernel, err))) {
		goto fail;
	}

	/* The limits that each launch is compared with. */
	if ((st = device_ok(dev, drv->FuncGetAttribute(&threads,
			CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel->handle),
			"cuFuncGetAttribute", err))
	    || (st = device_ok(dev, drv->FuncGetAttribute(&shared,
			CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel->handle),
			"cuFuncGetAttribute", err))) {
		goto fail;
	}
	kernel->max_threads = threads;
	kernel->static_shared = shared;
	atomic_init(&kernel->dynamic_limit, dev->info.shared_per_block - shared);
	*out = kernel;
	return KZ_OK;
fail:
	module_free_kernel(kernel);
	return st;
}

kz_status kz_module_kernel(kz_kernel **out, kz_module *mod, const char *name, kz_error *err)
{
	error_scope(err);
	struct device_scope scope;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = module_check(mod, err))
	    || (st = pointer_check(name, "the name of a kernel", err))) {
		return st;
	}
	const struct rtc_kernel *info = rtc_image_kernel(&mod->image->rtc, name);
	if (!info) {
		return missing_kernel(mod->image, name, err);
	}
	struct kz_kernel **kernel = &mod->kernels[info - mod->image->rtc.kernels];
	if ((st = device_enter(mod->device, &scope, err))) {
		return st;
	}
	pthread_mutex_lock(&mod->lock);
	if (!*kernel) {
		st = module_create_kernel(kernel, mod, info, err);
	}
	*out = *kernel; /* NULL if that failed */
	pthread_mutex_unlock(&mod->lock);
	device_leave(mod->device, &scope);
	return st;
}

int64_t kz_module_kernel_count(const kz_module *mod)
{
	return object_is(mod, OBJECT_MODULE) ? kz_image_kernel_count(mod->image) : 0;
}

const char *kz_module_kernel_name(const kz_module *mod, int64_t index)
{
	return object_is(mod, OBJECT_MODULE) ? kz_image_kernel_name(mod->image, index) : NULL;
}

const char *kz_module_log(const kz_module *mod)
{
	return !object_is(mod, OBJECT_MODULE) ? "" : mod->log ? mod->log : kz_image_log(mod->image);
}

const void *kz_module_image(const kz_module *mod, int64_t *size)
{
	return kz_image_data(object_is(mod, OBJECT_MODULE) ? mod->image : NULL, size);
}

const char *kz_module_arch(const kz_module *mod)
{
	return object_is(mod, OBJECT_MODULE) ? kz_image_arch(mod->image) : "";
}

kz_device *kz_module_device(const kz_module *mod)
{
	return object_is(mod, OBJECT_MODULE) ? mod->device : NULL;
}

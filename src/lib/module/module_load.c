/* SPDX-License-Identifier: MIT */
/*
 * From bytes, an image or a source to a module that is loaded on a device.
 *
 * If the driver refuses an image for its version, another image is made of it.  All compiles of one
 * source return the same module, if it has no variables (image_cache.c); modules of bytes and of
 * images are the caller's own.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/module/image_cache.h"
#include "lib/module/load.h"

#include <string.h>

kz_status module_create(struct kz_module **out, struct kz_device *dev, struct kz_image *image,
	const kz_load_options *options, kz_error *err)
{
	kz_error refusal = KZ_ERROR_INIT;
	struct kz_image *other = NULL;
	kz_status st = KZ_OK;
	if (image->rtc.is_lto) {
		st = load_linked(&other, dev, "LTO-IR", image->rtc.data, image->rtc.size, err);
		st = st ? st : module_create_plain(out, dev, other, options, err);
		image_release(other);
		return st;
	}
	st = module_create_plain(out, dev, image, options, &refusal);
	if (st && load_repair(&other, dev, image, options, &refusal)) {
		kz_error_clear(&refusal);
		st = module_create_plain(out, dev, other, options, &refusal);
	}
	if (st) {
		st = refusal.status;
		(void)error_copy(err, &refusal);
		kz_error_clear(&refusal);
	}
	image_release(other);
	return st;
}

kz_status module_load_bytes(struct kz_module **out, struct kz_device *dev,
	const struct module_bytes *bytes, const kz_load_options *options, kz_error *err)
{
	struct kz_image *image = NULL;
	kz_status st = load_bytes(&image, dev, bytes->name, bytes->data, bytes->size, err);
	st = st ? st : module_create(out, dev, image, options, err);
	image_release(image);
	return st;
}

kz_status kz_module_load_with(kz_module **out, kz_device *dev, const void *data, int64_t size,
	const kz_load_options *options, kz_error *err)
{
	error_scope(err);
	kz_status st;
	options = options ? options : &load_defaults;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(data, "an image", err))
	    || (st = load_check_options(options, err))) {
		return st;
	}
	if (size <= 0) {
		return error_set(err, KZ_INVALID, "expected the bytes of an image, got a size of "
			"%lld", (long long)size);
	}
	const struct module_bytes bytes = {"image", data, (size_t)size};
	return module_give(out, module_load_bytes(out, dev, &bytes, options, err));
}

kz_status kz_module_load(kz_module **out, kz_device *dev, const void *data, int64_t size,
	kz_error *err)
{
	error_scope(err);
	return kz_module_load_with(out, dev, data, size, NULL, err);
}

kz_status kz_module_load_file_with(kz_module **out, kz_device *dev, const char *path,
	const kz_load_options *options, kz_error *err)
{
	error_scope(err);
	char *data = NULL;
	size_t size = 0;
	kz_status st;
	options = options ? options : &load_defaults;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(path, "the path of a file", err))
	    || (st = load_check_options(options, err))
	    || (st = file_read(&data, &size, path, err))) {
		return st;
	}
	const struct module_bytes bytes = {path, data, size};
	st = size > 0 ? module_load_bytes(out, dev, &bytes, options, err)
		: error_set(err, KZ_BAD_IMAGE, "'%s' is empty, expected an image", path);
	mem_free(data);
	return module_give(out, st);
}

kz_status kz_module_load_file(kz_module **out, kz_device *dev, const char *path, kz_error *err)
{
	error_scope(err);
	return kz_module_load_file_with(out, dev, path, NULL, err);
}

kz_status kz_module_load_image_with(kz_module **out, kz_device *dev, kz_image *image,
	const kz_load_options *options, kz_error *err)
{
	error_scope(err);
	kz_status st;
	options = options ? options : &load_defaults;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = object_check(image, OBJECT_IMAGE, err))
	    || (st = load_check_options(options, err))) {
		return st;
	}
	return module_give(out, module_create(out, dev, image, options, err));
}

kz_status kz_module_load_image(kz_module **out, kz_device *dev, kz_image *image, kz_error *err)
{
	error_scope(err);
	return kz_module_load_image_with(out, dev, image, NULL, err);
}

/* Whether the driver is older than the PTX that the options ask for: a cubin for the device is what
 * the compiler would have made without them. */
static bool module_ptx_is_too_new(const struct kz_device *dev, const kz_compile_options *options,
	const kz_error *refusal)
{
	return refusal->domain == KZ_DOMAIN_DRIVER
	       && refusal->code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION && !dev->ptx_only && options
	       && options->arch && strncmp(options->arch, "compute_", 8) == 0;
}

void kz_module_release(kz_module *mod)
{
	if (object_is(mod, OBJECT_MODULE) && refs_lower(&mod->handles)) {
		object_take(mod);
		image_cache_keep(mod);
		module_release(mod);
	}
}

static kz_status module_compile_and_load(struct kz_module **out, struct kz_device *dev,
	const char *source, const kz_compile_options *options, kz_error *err)
{
	struct kz_image *image = NULL;
	kz_load_options load = KZ_LOAD_OPTIONS_INIT;
	kz_status st = device_check_loss(dev, err);
	st = st ? st : image_compile(&image, source, options, dev->info.compute_capability,
		dev->ptx_only, err);
	bool is_shared = !st && image_cache_module(out, dev, image);
	if (!st && !*out) {
		if (options && image->rtc.is_ptx) { /* else they are in the machine code */
			load.max_registers = options->max_registers;
			load.line_info = options->line_info;
			load.debug = options->debug;
		}
		st = module_create(out, dev, image, &load, err);
		/* not one that was made of it */
		if (!st && is_shared && (*out)->image == image) {
			struct kz_module *made = *out;
			*out = image_cache_share(made);
			if (*out != made) { /* another thread was faster */
				kz_module_release(made);
			}
		}
	}
	image_release(image);
	return st;
}

kz_status kz_module_compile(kz_module **out, kz_device *dev, const char *source,
	const kz_compile_options *options, kz_error *err)
{
	error_scope(err);
	kz_error refusal = KZ_ERROR_INIT;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(source, "source text", err))) {
		return st;
	}
	st = module_compile_and_load(out, dev, source, options, &refusal);
	if (st && module_ptx_is_too_new(dev, options, &refusal)) {
		kz_compile_options others = *options;
		others.arch = NULL;
		st = module_compile_and_load(out, dev, source, &others, NULL);
	}
	if (st) {
		(void)error_copy(err, &refusal);
		st = refusal.status;
	}
	kz_error_clear(&refusal);
	return module_give(out, st);
}

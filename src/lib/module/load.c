/* SPDX-License-Identifier: MIT */
/*
 * From bytes to an image that a device can load, and from a refused image to one that it takes.
 *
 * Where there is a choice, rtc_rank orders: a cubin of the device's own architecture, a cubin of a
 * lower minor number, PTX, LTO-IR.  nvJitLink, which needs no driver, makes a cubin of PTX that is
 * newer than the driver.  If nothing helps, the message has both versions, and the hint says what
 * to install.
 */
#include "base/common.h"

#include "lib/module/load.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/rtc/compat.h"
#include "lib/rtc/ptx_text.h"

#include <kudzu/link.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An image that a public function has made, but not for the program. */
static kz_status load_own(struct kz_image *const *out, kz_status st)
{
	if (!st) {
		object_take(*out);
	}
	return st;
}

kz_status load_linked(struct kz_image **out, struct kz_device *dev, const char *name,
	const void *data, size_t size, kz_error *err)
{
	const kz_link_input input = {.name = name, .data = data, .size = (int64_t)size};
	return load_own(out, kz_link(out, dev, &input, 1, NULL, err));
}

static kz_status load_fatbin(struct kz_image **out, struct kz_device *dev, const char *name,
	const void *data, size_t size, kz_error *err)
{
	const struct rtc_target target = load_target(dev);
	struct parts_entry entry;
	kz_status st = parts_pick(&entry, &target, name, data, size, err);
	if (st) {
		return st;
	}
	st = entry.kind == RTC_FATBIN ? load_linked(out, dev, name, entry.data, entry.size, err)
		: load_own(out, kz_image_create(out, entry.data, (int64_t)entry.size, err));
	mem_free(entry.data);
	return st;
}

/* Perhaps it is source. */
static kz_status load_refuse_unknown(const char *name, kz_error *err)
{
	bool mine = error_is_clean(err);
	kz_status st = error_set(err, KZ_BAD_IMAGE, "'%s' is not an image: expected PTX (text that "
		"begins with .version), a cubin, a fat binary, LTO-IR, an object, a library or a "
		"bundle", name);
	if (mine) {
		error_add_hint(err, "CUDA C is compiled by kz_module_compile");
	}
	return st;
}

kz_status load_bytes(struct kz_image **out, struct kz_device *dev, const char *name,
	const void *data, size_t size, kz_error *err)
{
	const struct rtc_target target = load_target(dev);
	if (bundle_is(data, size)) {
		return bundle_pick(out, &target, name, data, size, err);
	}
	switch (rtc_kind_of(data, size)) {
	case RTC_FATBIN:
		return load_fatbin(out, dev, name, data, size, err);
	case RTC_LTO:
	case RTC_OBJECT:
	case RTC_LIBRARY:
		return load_linked(out, dev, name, data, size, err);
	case RTC_UNKNOWN:
		return load_refuse_unknown(name, err);
	default:
		return load_own(out, kz_image_create(out, data, (int64_t)size, err));
	}
}

/* Whether a refusal may be a matter of versions. */
static bool load_is_about_versions(const kz_error *refusal)
{
	return refusal->domain == KZ_DOMAIN_DRIVER
	       && (refusal->code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION
		   || refusal->code == CUDA_ERROR_INVALID_PTX
		   || refusal->code == CUDA_ERROR_NO_BINARY_FOR_GPU);
}

/* "sm_90", "compute_75": 90, 75; 0 if unknown. */
static int load_image_cc(const struct kz_image *image)
{
	const char *digits = strpbrk(image->rtc.arch, "0123456789");
	return digits ? (int)strtol(digits, NULL, 10) : 0;
}

/* Whether the driver refused the PTX because that is newer.  The driver says so itself (222), or,
 * if it is old, complains of something that it does not know. */
static bool load_is_newer(const struct kz_image *image, const struct kz_device *dev,
	const kz_error *refusal)
{
	int version = image->rtc.is_ptx ? ptx_version(image->rtc.data) : 0;
	int known = compat_newest_ptx(dev->drv->version);
	return image->rtc.is_ptx && (refusal->code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION
		|| (known > 0 && version > known));
}

/* "PTX 9.0 needs CUDA 13.0 (driver 580) or newer" */
static void load_tell_needs(struct str *out, const struct kz_image *image)
{
	int version = ptx_version(image->rtc.data);
	const struct ptx_release *release = compat_release(version);
	str_addf(out, "PTX %d.%d needs ", version / 10, version % 10);
	if (release) {
		str_addf(out, "a driver of CUDA %d.%d", release->cuda / 1000,
			release->cuda % 1000 / 10);
		if (release->driver > 0) {
			str_addf(out, " (%d)", release->driver);
		}
		str_add(out, " or newer");
	} else {
		str_add(out, "a newer driver");
	}
}

static void load_tell_driver(struct str *out, const struct kz_device *dev)
{
	int version = dev->drv->version;
	int ptx = compat_newest_ptx(version);
	str_addf(out, "this one is of CUDA %d.%d", version / 1000, version % 1000 / 10);
	if (ptx > 0) {
		str_addf(out, ", which takes PTX up to %d.%d", ptx / 10, ptx % 10);
	}
}

/* Say what does not fit, instead of the refusal's words. */
static void load_explain(const struct kz_image *image, const struct kz_device *dev,
	kz_error *refusal)
{
	struct str text = STR_INIT;
	const char *hint = refusal->hint, *kind = image->rtc.is_ptx ? "PTX" : "cubin";
	const int cc = load_image_cc(image), device_cc = dev->info.compute_capability;
	const int version = image->rtc.is_ptx ? ptx_version(image->rtc.data) : 0;
	bool fits = cc == 0
		|| (image->rtc.is_ptx ? cc <= device_cc : compat_cubin_runs(cc, device_cc));
	if (load_is_newer(image, dev, refusal)) {
		load_tell_needs(&text, image);
		str_add(&text, ", ");
		load_tell_driver(&text, dev);
		hint = "update the driver, or install nvJitLink, which makes a cubin of such PTX, "
			"or compile for the device, for NVRTC makes cubins too";
	} else if (!fits) {
		str_addf(&text, "the %s is for compute capability %d.%d%s, the device has %d.%d",
			kind, cc / 10, cc % 10, image->rtc.is_ptx ? " and newer" : "",
			device_cc / 10, device_cc % 10);
		hint = "compile for the device, or for an architecture that is not newer";
	} else if (image->rtc.is_ptx) {
		str_addf(&text, "%s; the PTX is of version %d.%d, the driver of CUDA %d.%d",
			refusal->message, version / 10, version % 10, dev->drv->version / 1000,
			dev->drv->version % 1000 / 10);
	} else {
		str_addf(&text, "%s; the cubin is for %s, the driver of CUDA %d.%d",
			refusal->message, image->rtc.arch, dev->drv->version / 1000,
			dev->drv->version % 1000 / 10);
		hint = "a cubin of a newer CUDA may need a newer driver";
	}
	if (!text.failed) {
		snprintf(refusal->message, sizeof(refusal->message), "%s", text.data);
		error_add_hint(refusal, hint);
	}
	str_free(&text);
}

/* Say what was done, for kz_module_log. */
static bool load_note_repair(struct kz_image *made, const struct kz_image *image,
	const struct kz_device *dev)
{
	struct str text = STR_INIT;
	load_tell_needs(&text, image);
	str_add(&text, ", ");
	load_tell_driver(&text, dev);
	str_addf(&text, "; %s made a cubin of it\n%s", made->linker, kz_image_log(made));
	mem_free(made->rtc.log);
	made->rtc.log = str_take(&text);
	return made->rtc.log;
}

bool load_repair(struct kz_image **out, struct kz_device *dev, struct kz_image *image,
	const kz_load_options *load, kz_error *refusal)
{
	if (!load_is_about_versions(refusal)) {
		return false;
	}
	if (dev->ptx_only && !image->rtc.is_ptx) {
		snprintf(refusal->message, sizeof(refusal->message),
			"the cubin is for %s, the device %s takes PTX", image->rtc.arch, dev->name);
		error_add_hint(refusal, "compile to PTX, \"compute_75\", which every device loads");
	}
	if (dev->ptx_only) {
		return false;
	}
	if (load_is_newer(image, dev, refusal)) {
		kz_link_options options = KZ_LINK_OPTIONS_INIT;
		const kz_link_input input = {.name = "ptx", .image = image};
		options.linker = KZ_LINKER_NVJITLINK;
		options.max_registers = load->max_registers;
		options.line_info = load->line_info;
		options.debug = load->debug;
		options.no_optimization = load->optimization < 0;
		if (load_own(out, kz_link(out, dev, &input, 1, &options, NULL)) == KZ_OK) {
			if (load_note_repair(*out, image, dev)) {
				return true;
			}
			image_release(*out);
			*out = NULL;
		}
	}
	load_explain(image, dev, refusal);
	return false;
}

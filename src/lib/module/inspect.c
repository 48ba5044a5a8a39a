/* SPDX-License-Identifier: MIT */
/*
 * Inspection: what src/lib/rtc knows of an image, as data for users.
 */
#include "base/common.h"

#include "base/str.h"
#include "lib/module/module.h"
#include "lib/rtc/resources.h"

#include <kudzu/inspect.h>

#include <string.h>

static const struct rtc_kernel *inspect_kernel_at(const kz_image *image, int64_t index)
{
	return index >= 0 && index < kz_image_kernel_count(image) ? &image->rtc.kernels[index]
								  : NULL;
}

const kz_image *kz_module_get_image(const kz_module *mod)
{
	return object_is(mod, OBJECT_MODULE) ? mod->image : NULL;
}

const char *kz_image_kernel_symbol(const kz_image *image, int64_t index)
{
	const struct rtc_kernel *kernel = inspect_kernel_at(image, index);
	return kernel ? kernel->lowered : NULL;
}

int64_t kz_image_kernel_signature(const kz_image *image, int64_t index, char *out, int64_t size)
{
	const struct rtc_kernel *kernel = inspect_kernel_at(image, index);
	struct str text = STR_INIT;
	const size_t len = kernel ? strlen(kernel->name) : 0;
	/* An overload is told by the parameters in its name. */
	const bool is_overload = len > 0 && kernel->name[len - 1] == ')';
	if (kernel) {
		str_addf(&text, "%s%s", kernel->name, is_overload ? "" : "(");
	}
	for (size_t i = 0; kernel && !is_overload && i < kernel->param_count; i++) {
		const struct rtc_param *param = &kernel->params[i];
		str_add(&text, i ? ", " : "");
		if (param->type) {
			str_add(&text, param->type);
		} else if (param->size >= 0) {
			str_addf(&text, "? (%lld byte%s)", (long long)param->size,
				plural(param->size));
		} else {
			str_addc(&text, '?');
		}
	}
	if (kernel && !is_overload) {
		str_add(&text, kernel->params_known ? ")" : "...)");
	}
	const int64_t whole = !kernel || text.failed ? -1 : (int64_t)text.len;
	str_copy(out, out && size > 0 ? (size_t)size : 0, &text);
	str_free(&text);
	return whole;
}

int64_t kz_image_variable_count(const kz_image *image)
{
	return object_is(image, OBJECT_IMAGE) ? (int64_t)image->rtc.variable_count : 0;
}

kz_status kz_image_variable(const kz_image *image, int64_t index, kz_variable_info *out,
	kz_error *err)
{
	error_scope(err);
	static const kz_variable_space spaces[] = {
		[VARIABLE_GLOBAL] = KZ_VARIABLE_GLOBAL,
		[VARIABLE_CONSTANT] = KZ_VARIABLE_CONSTANT,
		[VARIABLE_MANAGED] = KZ_VARIABLE_MANAGED,
	};
	kz_status st = object_check(image, OBJECT_IMAGE, err);
	if (st) {
		return st;
	}
	if (!out || out->size != sizeof(*out)) {
		return error_set(err, KZ_INVALID,
			"kz_image_variable: initialize the info with KZ_VARIABLE_INFO_INIT");
	}
	if (index < 0 || index >= kz_image_variable_count(image)) {
		return error_set(err, KZ_NOT_FOUND,
			"expected a variable index below %lld, got %lld",
			(long long)kz_image_variable_count(image), (long long)index);
	}
	const struct rtc_variable *variable = &image->rtc.variables[index];
	*out = (kz_variable_info){
		.size = sizeof(*out),
		.name = variable->name,
		.symbol = variable->lowered,
		.type = variable->type,
		.space = spaces[variable->space],
		.align = (int32_t)variable->align,
		.byte_size = variable->size,
	};
	return KZ_OK;
}

/* The kernel of that name in a cubin. */
static kz_status inspect_find_compiled(const struct rtc_kernel **out, const kz_image *image,
	const char *name, kz_error *err)
{
	*out = rtc_image_kernel(&image->rtc, name);
	if (!*out) {
		return missing_kernel(image, name, err);
	}
	if (image->rtc.is_ptx || image->rtc.is_lto) {
		bool mine = error_is_clean(err);
		error_set(err, KZ_UNSUPPORTED, "'%s' has no registers yet: '%s' is %s", name,
			image->rtc.arch, image->rtc.is_ptx ? "PTX" : "LTO-IR");
		if (mine) {
			error_add_hint(err, "compile for an architecture, \"sm_90\", or ask "
				"kz_kernel_describe what the driver made of it");
		}
		return KZ_UNSUPPORTED;
	}
	return KZ_OK;
}

kz_status kz_image_resources(const kz_image *image, const char *kernel, kz_resources *out,
	kz_error *err)
{
	error_scope(err);
	const struct rtc_kernel *found;
	struct rtc_resources r;
	kz_status st;
	if ((st = object_check(image, OBJECT_IMAGE, err))
	    || (st = pointer_check(kernel, "the name of a kernel", err))) {
		return st;
	}
	if (!out || out->size != sizeof(*out)) {
		return error_set(err, KZ_INVALID,
			"kz_image_resources: initialize the result with KZ_RESOURCES_INIT");
	}
	if ((st = inspect_find_compiled(&found, image, kernel, err))
	    || (st = rtc_image_resources(&r, &image->rtc, found, err))) {
		return st;
	}
	*out = (kz_resources){
		.size = sizeof(*out),
		.registers = r.registers,
		.barriers = r.barriers,
		.stack_size = r.stack_size,
		.shared_size = r.shared_size,
		.constant_size = r.constant_size,
		.code_size = r.code_size,
		.spill_stores = r.spill_stores,
		.spill_loads = r.spill_loads,
	};
	return KZ_OK;
}

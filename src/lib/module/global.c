/* SPDX-License-Identifier: MIT */
/*
 * Variables of a module: found by the name that they have in the source, read and written.
 *
 * The driver knows a variable by its symbol, and says where it lies and how big it is.  Its type is
 * known only if the compile told it (lib/rtc/variable.c).  Then it must fit the type of the values
 * that go in or out, by the table that also compares a pointer's type with an array's.
 */
#include "base/common.h"

#include "lib/module/module.h"

#include <string.h>

/* Where a variable lies; *address is 0 if the module has none of that name. */
static kz_status find_global(CUdeviceptr *address, int64_t *size, struct kz_module *mod,
	const char *name, kz_error *err)
{
	const struct rtc_variable *variable = rtc_image_variable(&mod->image->rtc, name);
	struct device_scope scope;
	size_t bytes = 0;
	kz_status st = device_enter(mod->device, &scope, err);
	if (st) {
		return st;
	}
	CUresult code = mod->device->drv->ModuleGetGlobal(address, &bytes, mod->handle,
		variable ? variable->lowered : name);
	device_leave(mod->device, &scope);
	*size = (int64_t)bytes;
	if (code == CUDA_ERROR_NOT_FOUND) {
		bool mine = error_is_clean(err);
		st = missing_variable(mod->image, name, err);
		if (mine && st == KZ_NOT_FOUND) {
			codes_add(KZ_DOMAIN_DRIVER, (int)code, "cuModuleGetGlobal", err);
		}
		return st;
	}
	return device_ok(mod->device, code, "cuModuleGetGlobal", err);
}

/* The memory of a variable keeps its module alive. */
static void global_release_variable(void *mod)
{
	module_release(mod);
}

kz_status kz_module_global(kz_buffer **out, kz_module *mod, const char *name, kz_error *err)
{
	error_scope(err);
	CUdeviceptr address = 0;
	struct memory *memory = NULL;
	int64_t size = 0;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = module_check(mod, err))
	    || (st = pointer_check(name, "the name of a variable", err))
	    || (st = find_global(&address, &size, mod, name, err))
	    || (st = memory_borrow(&memory, mod->device, address, size,
			&(struct memory_owner){global_release_variable, mod}, err))) {
		return st;
	}
	module_retain(mod);
	st = buffer_take(out, memory, 0, size, err);
	if (st) {
		memory_release(memory);
	}
	return buffer_hold(out, st);
}

/* A buffer over the whole variable, if its size is what the caller says.  Kernels use variables
 * unseen, in any stream, so all streams are waited for. */
static kz_status whole_global(kz_buffer **out, kz_module *mod, const char *name, int64_t size,
	kz_error *err)
{
	kz_status st = kz_module_global(out, mod, name, err);
	st = st ? st : kz_device_synchronize(mod->device, err);
	if (!st && kz_buffer_size(*out) != size) {
		st = error_set(err, KZ_RANGE, "variable '%s' has %lld byte%s, the host memory %lld",
			name, (long long)kz_buffer_size(*out), plural(kz_buffer_size(*out)),
			(long long)size);
	}
	if (st) {
		kz_buffer_release(*out);
		*out = NULL;
	}
	return st;
}

kz_status kz_module_set_global(kz_module *mod, const char *name, const void *from, int64_t size,
	kz_error *err)
{
	error_scope(err);
	kz_buffer *buffer = NULL;
	kz_status st = whole_global(&buffer, mod, name, size, err);
	if (!st) {
		st = memory_check_capture(buffer->memory, err);
		st = st ? st : kz_copy_htod(buffer, 0, from, size, err);
		kz_buffer_release(buffer);
	}
	return st;
}

kz_status kz_module_get_global(kz_module *mod, const char *name, void *to, int64_t size,
	kz_error *err)
{
	error_scope(err);
	kz_buffer *buffer = NULL;
	kz_status st = whole_global(&buffer, mod, name, size, err);
	if (!st) {
		st = memory_check_capture(buffer->memory, err);
		st = st ? st : kz_copy_dtoh(to, size, buffer, 0, err);
		kz_buffer_release(buffer);
	}
	return st;
}

/* Whether values of a dtype can be those of a variable, of which "float [2][8]" has floats.  A
 * registered struct must be called as the variable's type is. */
static bool global_fits_type(const struct rtc_variable *variable, kz_dtype dtype)
{
	const char *type = variable->type;
	if (!type) {
		return true;
	}
	const char *bounds = strstr(type, " [");
	const size_t len = bounds ? (size_t)(bounds - type) : strlen(type);
	if (!dtype_is_struct(dtype)) {
		return args_element_dtypes(type, len) & dtype_bit(dtype);
	}
	const char *name = kz_dtype_ctype(dtype);
	type += strncmp(type, "const ", 6) == 0 ? 6 : 0;
	name += strncmp(name, "struct ", 7) == 0 ? 7 : 0;
	return variable->kind == PARAM_STRUCT && strlen(name) == len
		&& memcmp(name, type, len) == 0;
}

/* Values for a variable, or of one. */
struct values {
	const kz_module *mod;
	const char *name;
	kz_dtype dtype;
	int64_t count;
};

/* Their bytes, if they fit the variable.  A variable that is not in the image is left for the
 * driver to find. */
static kz_status global_values_size(int64_t *size, const struct values *values,
	kz_error *err)
{
	const kz_module *mod = values->mod;
	const char *name = values->name;
	const kz_dtype dtype = values->dtype;
	const int64_t count = values->count;
	kz_status st;
	size_t bytes = 0;
	if ((st = module_check(mod, err))
	    || (st = pointer_check(name, "the name of a variable", err))) {
		return st;
	}
	if (kz_dtype_size(dtype) == 0) {
		return error_set(err, KZ_INVALID, "expected a dtype, got %u", (unsigned)dtype);
	}
	if (count < 0 || !size_mul(&bytes, (size_t)count, (size_t)kz_dtype_size(dtype))
	    || bytes > INT64_MAX) {
		return error_set(err, KZ_RANGE, "expected a count of values, got %lld",
			(long long)count);
	}
	const struct rtc_variable *variable = rtc_image_variable(&mod->image->rtc, name);
	if (variable && !global_fits_type(variable, dtype)) {
		return error_set(err, KZ_ARGUMENT, "variable '%s' is %s, got %s", name,
			variable->type, kz_dtype_name(dtype));
	}
	*size = (int64_t)bytes;
	return KZ_OK;
}

kz_status kz_module_set_values(kz_module *mod, const char *name, kz_dtype dtype, const void *from,
	int64_t count, kz_error *err)
{
	error_scope(err);
	int64_t size = 0;
	kz_status st = global_values_size(&size, &(struct values){mod, name, dtype, count}, err);
	return st ? st : kz_module_set_global(mod, name, from, size, err);
}

kz_status kz_module_get_values(kz_module *mod, const char *name, kz_dtype dtype, void *to,
	int64_t count, kz_error *err)
{
	error_scope(err);
	int64_t size = 0;
	kz_status st = global_values_size(&size, &(struct values){mod, name, dtype, count}, err);
	return st ? st : kz_module_get_global(mod, name, to, size, err);
}

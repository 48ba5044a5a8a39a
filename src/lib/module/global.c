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

/* Bytes of a variable, from one on; of all of it, if `is_whole`. */
struct global_part {
	const char *name;
	int64_t offset;
	int64_t size;
	bool is_whole;
};

static kz_status global_check_part(const struct global_part *part, int64_t size, kz_error *err)
{
	if (part->is_whole ? part->size == size
		: part->offset >= 0 && part->size >= 0 && part->offset <= size
			&& part->size <= size - part->offset) {
		return KZ_OK;
	}
	return part->is_whole ? error_set(err, KZ_RANGE, "variable '%s' has %lld byte%s, the host "
			"memory %lld", part->name, (long long)size, plural(size),
			(long long)part->size)
		: error_set(err, KZ_RANGE, "variable '%s' has %lld byte%s, got a part of %lld "
			"byte%s at byte %lld", part->name, (long long)size, plural(size),
			(long long)part->size, plural(part->size), (long long)part->offset);
}

/* A buffer over the variable, if it has such a part.  Kernels use variables unseen, in any stream,
 * so all streams are waited for. */
static kz_status global_open(kz_buffer **out, kz_module *mod, const struct global_part *part,
	kz_error *err)
{
	kz_status st = kz_module_global(out, mod, part->name, err);
	st = st ? st : global_check_part(part, kz_buffer_size(*out), err);
	st = st ? st : kz_device_synchronize(mod->device, err);
	st = st ? st : memory_check_capture((*out)->memory, err);
	if (st) {
		kz_buffer_release(*out);
		*out = NULL;
	}
	return st;
}

static kz_status global_set(kz_module *mod, const struct global_part *part, const void *from,
	kz_error *err)
{
	kz_buffer *buffer = NULL;
	kz_status st = global_open(&buffer, mod, part, err);
	if (!st) {
		st = kz_copy_htod(buffer, part->offset, from, part->size, err);
		kz_buffer_release(buffer);
	}
	return st;
}

static kz_status global_get(kz_module *mod, const struct global_part *part, void *to,
	kz_error *err)
{
	kz_buffer *buffer = NULL;
	kz_status st = global_open(&buffer, mod, part, err);
	if (!st) {
		st = kz_copy_dtoh(to, part->size, buffer, part->offset, err);
		kz_buffer_release(buffer);
	}
	return st;
}

kz_status kz_module_set_global(kz_module *mod, const char *name, const void *from, int64_t size,
	kz_error *err)
{
	error_scope(err);
	return global_set(mod, &(struct global_part){name, 0, size, true}, from, err);
}

kz_status kz_module_get_global(kz_module *mod, const char *name, void *to, int64_t size,
	kz_error *err)
{
	error_scope(err);
	return global_get(mod, &(struct global_part){name, 0, size, true}, to, err);
}

kz_status kz_module_set_global_at(kz_module *mod, const char *name, int64_t offset,
	const void *from, int64_t size, kz_error *err)
{
	error_scope(err);
	return global_set(mod, &(struct global_part){name, offset, size, false}, from, err);
}

kz_status kz_module_get_global_at(kz_module *mod, const char *name, int64_t offset, void *to,
	int64_t size, kz_error *err)
{
	error_scope(err);
	return global_get(mod, &(struct global_part){name, offset, size, false}, to, err);
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
	const char *name;
	kz_dtype dtype;
	int64_t first;
	int64_t count;
	bool is_whole;
};

/* The bytes of values; false if no variable has so many. */
static bool global_bytes(int64_t *out, int64_t count, kz_dtype dtype)
{
	size_t bytes = 0;
	if (count < 0 || !size_mul(&bytes, (size_t)count, (size_t)kz_dtype_size(dtype))
	    || bytes > INT64_MAX) {
		return false;
	}
	*out = (int64_t)bytes;
	return true;
}

/* Where they are, if their type fits the variable.  A variable that is not in the image is left for
 * the driver to find. */
static kz_status global_find_values(struct global_part *out, const kz_module *mod,
	const struct values *values, kz_error *err)
{
	const char *name = values->name;
	const kz_dtype dtype = values->dtype;
	kz_status st;
	*out = (struct global_part){.name = name, .is_whole = values->is_whole};
	if ((st = module_check(mod, err))
	    || (st = pointer_check(name, "the name of a variable", err))) {
		return st;
	}
	if (kz_dtype_size(dtype) == 0) {
		return error_set(err, KZ_INVALID, "expected a dtype, got %u", (unsigned)dtype);
	}
	if (!global_bytes(&out->size, values->count, dtype)) {
		return error_set(err, KZ_RANGE, "expected a count of values, got %lld",
			(long long)values->count);
	}
	if (!global_bytes(&out->offset, values->first, dtype)) {
		return error_set(err, KZ_RANGE, "expected the index of a value, got %lld",
			(long long)values->first);
	}
	const struct rtc_variable *variable = rtc_image_variable(&mod->image->rtc, name);
	return !variable || global_fits_type(variable, dtype) ? KZ_OK
		: error_set(err, KZ_ARGUMENT, "variable '%s' is %s, got %s", name, variable->type,
			kz_dtype_name(dtype));
}

static kz_status global_set_values(kz_module *mod, const struct values *values, const void *from,
	kz_error *err)
{
	struct global_part part;
	kz_status st = global_find_values(&part, mod, values, err);
	return st ? st : global_set(mod, &part, from, err);
}

static kz_status global_get_values(kz_module *mod, const struct values *values, void *to,
	kz_error *err)
{
	struct global_part part;
	kz_status st = global_find_values(&part, mod, values, err);
	return st ? st : global_get(mod, &part, to, err);
}

kz_status kz_module_set_values(kz_module *mod, const char *name, kz_dtype dtype, const void *from,
	int64_t count, kz_error *err)
{
	error_scope(err);
	return global_set_values(mod, &(struct values){name, dtype, 0, count, true}, from, err);
}

kz_status kz_module_get_values(kz_module *mod, const char *name, kz_dtype dtype, void *to,
	int64_t count, kz_error *err)
{
	error_scope(err);
	return global_get_values(mod, &(struct values){name, dtype, 0, count, true}, to, err);
}

kz_status kz_module_set_values_at(kz_module *mod, const char *name, int64_t first, kz_dtype dtype,
	const void *from, int64_t count, kz_error *err)
{
	error_scope(err);
	return global_set_values(mod, &(struct values){name, dtype, first, count, false}, from,
		err);
}

kz_status kz_module_get_values_at(kz_module *mod, const char *name, int64_t first, kz_dtype dtype,
	void *to, int64_t count, kz_error *err)
{
	error_scope(err);
	return global_get_values(mod, &(struct values){name, dtype, first, count, false}, to, err);
}

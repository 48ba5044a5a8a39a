/* SPDX-License-Identifier: MIT */
/*
 * Kernel arguments.
 *
 * Each captured C value is checked against the parameter that the kernel declares, and converted to
 * its bytes.  The rules are those of kernel.h: a value that the conversion would change is refused.
 * Nothing here allocates, locks or calls the driver.
 */
#include "base/common.h"

#include "lib/array/texture.h"
#include "lib/module/module.h"

#include <math.h>
#include <string.h>

/* "unsigned int (4 bytes)": what the caller passed, for messages. */
static const char *args_given_name(char *buffer, size_t size, const kz_arg *arg)
{
	static const char *const signed_names[] = {"signed char", "short", "int", "long"};
	static const char *const kind_names[] = {
		[KZ_ARG_BOOL] = "bool",
		[KZ_ARG_F32] = "float",
		[KZ_ARG_F64] = "double",
		[KZ_ARG_ARRAY] = "an array",
		[KZ_ARG_BUFFER] = "a buffer",
		[KZ_ARG_POINTER] = "a host pointer",
		[KZ_ARG_DEVICE_ADDRESS] = "a device address",
		[KZ_ARG_IN] = "KZ_IN",
		[KZ_ARG_OUT] = "KZ_OUT",
		[KZ_ARG_INOUT] = "KZ_INOUT",
		[KZ_ARG_COMPLEX] = "a complex number",
		[KZ_ARG_ARRAY_OF] = "KZ_ARRAY_OF",
		[KZ_ARG_TEXTURE] = "a texture",
		[KZ_ARG_SURFACE] = "a surface",
		[KZ_ARG_STRIDED] = "KZ_STRIDED",
	};
	if (arg->kind == KZ_ARG_INT || arg->kind == KZ_ARG_UINT) {
		int log2 = arg->width == 1 ? 0 : arg->width == 2 ? 1 : arg->width == 4 ? 2 : 3;
		const char *name = signed_names[log2];
		const char *prefix = "";
		if (arg->kind == KZ_ARG_UINT) {
			prefix = "unsigned ";
			name = log2 == 0 ? "char" : name;
		}
		snprintf(buffer, size, "%s%s (%d byte%s)", prefix, name, 1 << log2,
			plural(1 << log2));
	} else if (arg->kind == KZ_ARG_VALUE) {
		snprintf(buffer, size, "a value of %lld byte%s", (long long)arg->size,
			plural(arg->size));
	} else if (arg->kind > 0 && arg->kind < (int)countof(kind_names) && kind_names[arg->kind]) {
		snprintf(buffer, size, "%s", kind_names[arg->kind]);
	} else {
		snprintf(buffer, size, "an argument of unknown kind %d", (int)arg->kind);
	}
	return buffer;
}

/* "const float *", "float (4 bytes)", "4 bytes": what the kernel declares. */
static const char *args_wanted_name(char *buffer, size_t size, const struct param *param)
{
	if (!param->type) {
		snprintf(buffer, size, "%lld byte%s", (long long)param->size, plural(param->size));
	} else if (param->kind == PARAM_POINTER) {
		snprintf(buffer, size, "%s", param->type);
	} else {
		snprintf(buffer, size, "%s (%lld byte%s)", param->type, (long long)param->size,
			plural(param->size));
	}
	return buffer;
}

/* The command finds the argument's word by "argument %zu of" (src/cli/run.c). */
static kz_status args_refuse(const struct kz_kernel *kernel, size_t index, const kz_arg *arg,
	const char *hint, kz_error *err)
{
	char given[64];
	char wanted[160];
	bool mine = error_is_clean(err);
	error_set(err, KZ_ARGUMENT, "argument %zu of '%s': expected %s, got %s", index + 1,
		kernel->info->name, args_wanted_name(wanted, sizeof(wanted),
		&kernel->params[index]), args_given_name(given, sizeof(given), arg));
	if (mine && hint) {
		error_add_hint(err, hint);
	}
	return KZ_ARGUMENT;
}

/* An integer, whatever its C type: its value is negative ? -(2^64 - bits) : bits. */
struct integer {
	uint64_t bits;
	bool negative;
};

static bool args_is_integer(const kz_arg *arg, struct integer *out)
{
	switch (arg->kind) {
	case KZ_ARG_BOOL:
	case KZ_ARG_UINT:
		*out = (struct integer){arg->value.u, false};
		return true;
	case KZ_ARG_INT:
		*out = (struct integer){(uint64_t)arg->value.i, arg->value.i < 0};
		return true;
	default:
		return false;
	}
}

static bool args_integer_fits(struct integer value, enum param_kind kind, int64_t size)
{
	unsigned bits = (unsigned)size * 8;
	if (kind == PARAM_ENUM) { /* whether it is signed is not in its name */
		return args_integer_fits(value, PARAM_INT, size)
			|| args_integer_fits(value, PARAM_UINT, size);
	}
	if (kind == PARAM_BOOL) {
		return !value.negative && value.bits <= 1;
	}
	if (kind == PARAM_UINT) {
		return !value.negative && (bits >= 64 || value.bits >> bits == 0);
	}
	uint64_t half = (uint64_t)1 << (bits - 1);
	return value.negative ? value.bits >= -half : value.bits < half;
}

static kz_status args_refuse_value(const struct kz_kernel *kernel, size_t index,
	struct integer value, const char *why, kz_error *err)
{
	char wanted[160];
	return error_set(err, KZ_ARGUMENT, "argument %zu of '%s': %s%llu %s %s", index + 1,
		kernel->info->name, value.negative ? "-" : "",
		(unsigned long long)(value.negative ? -value.bits : value.bits), why,
		args_wanted_name(wanted, sizeof(wanted), &kernel->params[index]));
}

static kz_status args_convert_integer(uint64_t *slot, const struct kz_kernel *kernel, size_t index,
	const kz_arg *arg, kz_error *err)
{
	const struct param *param = &kernel->params[index];
	struct integer value;
	if (!args_is_integer(arg, &value)) {
		bool is_handle = arg->kind == KZ_ARG_ARRAY && param->kind == PARAM_UINT
			&& param->size == 8;
		return args_refuse(kernel, index, arg, is_handle
			? "a cudaTextureObject_t is a kz_texture; kz_texture_from makes one of an "
			"array" : NULL, err);
	}
	if (!args_integer_fits(value, param->kind, param->size)) {
		return args_refuse_value(kernel, index, value, "does not fit", err);
	}
	*slot = value.bits; /* little-endian: the low bytes are the value */
	return KZ_OK;
}

static bool args_exact_in_float(struct integer value, int mantissa_bits)
{
	uint64_t magnitude = value.negative ? -value.bits : value.bits;
	return magnitude == 0
		|| 64 - __builtin_clzll(magnitude) - __builtin_ctzll(magnitude) <= mantissa_bits;
}

static kz_status args_convert_float(uint64_t *slot, const struct kz_kernel *kernel, size_t index,
	const kz_arg *arg, kz_error *err)
{
	const struct param *param = &kernel->params[index];
	struct integer value;
	double real;
	if (args_is_integer(arg, &value)) {
		if (!args_exact_in_float(value, param->size == 4 ? 24 : 53)) {
			return args_refuse_value(kernel, index, value, "is not exact in", err);
		}
		real = value.negative ? (double)(int64_t)value.bits : (double)value.bits;
	} else if (arg->kind == KZ_ARG_F32) {
		real = (double)arg->value.f;
	} else if (arg->kind == KZ_ARG_F64 && param->size == 8) {
		real = arg->value.d;
	} else {
		const char *hint = arg->kind == KZ_ARG_F64
			? "write KZ_F(x) to round a double to float, or pass a float: 2.0f" : NULL;
		return args_refuse(kernel, index, arg, hint, err);
	}
	if (param->size == 4) {
		/* A float goes through unchanged, bits of a NaN too. */
		float narrow = arg->kind == KZ_ARG_F32 ? arg->value.f : (float)real;
		memcpy(slot, &narrow, sizeof(narrow));
	} else {
		memcpy(slot, &real, sizeof(real));
	}
	return KZ_OK;
}

static kz_status args_check_home(const struct kz_kernel *kernel, size_t index,
	const struct kz_device *dev, const char *what, kz_error *err)
{
	if (dev == kernel->module->device || device_has_access(kernel->module->device, dev)) {
		return KZ_OK;
	}
	if (dev->drv == kernel->module->device->drv
	    && dev->ordinal == kernel->module->device->ordinal) {
		return error_set(err, KZ_ARGUMENT,
			"argument %zu of '%s': the %s is from before %s was lost and opened again",
			index + 1, kernel->info->name, what, kz_device_name(dev));
	}
	return error_set(err, KZ_ARGUMENT,
		"argument %zu of '%s': the %s is on %s, the kernel on %s",
		index + 1, kernel->info->name, what, kz_device_name(dev),
		kz_device_name(kernel->module->device));
}

static kz_status args_refuse_strides(const struct kz_kernel *kernel, size_t index,
	const struct kz_array *array, kz_error *err)
{
	bool mine = error_is_clean(err);
	int64_t axis = array->shape.ndim;
	int64_t run = dtype_size(array->dtype);
	while (axis-- > 0 && (array->strides[axis] == run || array->shape.dims[axis] == 1)) {
		run *= array->shape.dims[axis];
	}
	error_set(err, KZ_ARGUMENT, "argument %zu of '%s': expected a contiguous array, got one "
		"with a stride of %lld bytes along axis %lld, where row-major order has %lld",
		index + 1, kernel->info->name, (long long)array->strides[axis], (long long)axis,
		(long long)run);
	if (mine) {
		error_add_hint(err, "pass what kz_array_contiguous gives, or KZ_STRIDED(array) if "
			"the kernel knows the strides");
	}
	return KZ_ARGUMENT;
}

static kz_status args_convert_array(uint64_t *slot, const struct kz_kernel *kernel, size_t index,
	const kz_arg *arg, kz_error *err)
{
	const struct param *param = &kernel->params[index];
	const struct kz_array *array = arg->value.p;
	if (dtype_is_builtin(array->dtype) && !(param->dtypes & dtype_bit(array->dtype))) {
		bool mine = error_is_clean(err);
		error_set(err, KZ_ARGUMENT, "argument %zu of '%s': expected %s, got an array of %s",
			index + 1, kernel->info->name, param->type, kz_dtype_name(array->dtype));
		if (mine) {
			error_add_hint(err, "convert it by kz_array_astype, or use the kernel's "
				"instance for its dtype; kz_array_buffer(array) passes its bytes "
				"as they are");
		}
		return KZ_ARGUMENT;
	}
	if (arg->kind == KZ_ARG_ARRAY && !param->has_strides && !array_is_contiguous(array)) {
		return args_refuse_strides(kernel, index, array, err);
	}
	*slot = array_address(array);
	return args_check_home(kernel, index, array->buffer->memory->device, "array", err);
}

static kz_status args_convert_host(uint64_t *slot, const struct kz_kernel *kernel, size_t index,
	const kz_arg *arg, kz_error *err)
{
	char given[64];
	if (arg->size < 0 || (!arg->value.p && arg->size > 0)) {
		return error_set(err, KZ_ARGUMENT, "argument %zu of '%s': %s of %lld byte%s%s",
			index + 1, kernel->info->name, args_given_name(given, sizeof(given), arg),
			(long long)arg->size, plural(arg->size), arg->value.p ? "" : " at NULL");
	}
	*slot = 0;
	return KZ_OK;
}

/* What should be an array or a buffer was released. */
static kz_status args_refuse_object(const struct kz_kernel *kernel, size_t index,
	enum object_kind kind, const void *object, kz_error *err)
{
	char found[80];
	return error_set(err, KZ_INVALID, "argument %zu of '%s': expected %s, got %s", index + 1,
		kernel->info->name, object_kind_name((uint32_t)kind),
		object_describe(found, sizeof(found), object));
}

/* Something else than a pointer to device memory, for a pointer or a reference. */
static kz_status args_refuse_pointer(const struct kz_kernel *kernel, size_t index,
	const kz_arg *arg, kz_error *err)
{
	static const char host_hint[] = "a kernel cannot read host memory: pass a kz_array itself, "
		"not its address, or KZ_IN, KZ_OUT, KZ_INOUT(pointer, bytes); for a device address "
		"KZ_DEVPTR(pointer)";
	static const char integer_hint[] = "pass the kz_array or kz_buffer itself, or an address "
		"from elsewhere as KZ_DEVPTR(x)";
	static const char value_hint[] = "pass a kz_array, or the address of the value with its "
		"size as KZ_IN, KZ_OUT or KZ_INOUT(pointer, bytes)";
	static const char reference_hint[] = "a reference is an address in device memory: let the "
		"kernel take the value itself, without '&', or pass KZ_IN(pointer, bytes)";
	const char *type = kernel->params[index].type;
	const bool is_reference = type && type[0] && type[strlen(type) - 1] == '&';
	const char *hint = NULL;
	switch (arg->kind) {
	case KZ_ARG_POINTER:
		hint = host_hint;
		break;
	case KZ_ARG_BOOL:
	case KZ_ARG_INT:
	case KZ_ARG_UINT:
		hint = is_reference ? reference_hint : integer_hint;
		break;
	case KZ_ARG_F32:
	case KZ_ARG_F64:
	case KZ_ARG_COMPLEX:
	case KZ_ARG_VALUE:
		hint = is_reference ? reference_hint : value_hint;
		break;
	default:
		break;
	}
	return args_refuse(kernel, index, arg, hint, err);
}

static kz_status args_convert_pointer(uint64_t *slot, const struct kz_kernel *kernel, size_t index,
	const kz_arg *arg, kz_error *err)
{
	const void *pointer = arg->value.p;
	enum object_kind kind;
	switch (arg->kind) {
	case KZ_ARG_ARRAY:
	case KZ_ARG_STRIDED:
	case KZ_ARG_BUFFER:
		if (!pointer) {
			return error_set(err, KZ_ARGUMENT, "argument %zu of '%s': the %s is NULL",
				index + 1, kernel->info->name,
				args_is_array(arg) ? "kz_array" : "kz_buffer");
		}
		kind = args_is_array(arg) ? OBJECT_ARRAY : OBJECT_BUFFER;
		if (!object_is(pointer, kind)) {
			return args_refuse_object(kernel, index, kind, pointer, err);
		}
		if (kind == OBJECT_ARRAY) {
			return args_convert_array(slot, kernel, index, arg, err);
		}
		*slot = kz_buffer_address(pointer);
		return args_check_home(kernel, index, kz_buffer_device(pointer), "buffer", err);
	case KZ_ARG_POINTER:
		*slot = 0;
		return pointer ? args_refuse_pointer(kernel, index, arg, err) : KZ_OK;
	case KZ_ARG_DEVICE_ADDRESS:
		*slot = arg->value.u;
		return KZ_OK;
	case KZ_ARG_IN:
	case KZ_ARG_OUT:
	case KZ_ARG_INOUT:
		return args_convert_host(slot, kernel, index, arg, err);
	default:
		return args_refuse_pointer(kernel, index, arg, err);
	}
}

/* CUDA C has the handles as unsigned long long. */
static kz_status args_convert_texture(uint64_t *slot, const struct kz_kernel *kernel, size_t index,
	const kz_arg *arg, kz_error *err)
{
	const struct param *param = &kernel->params[index];
	const struct texture_object *object = arg->value.p;
	const bool is_texture = arg->kind == KZ_ARG_TEXTURE;
	const enum object_kind kind = is_texture ? OBJECT_TEXTURE : OBJECT_SURFACE;
	const char *what = is_texture ? "texture" : "surface";
	if (param->size != 8 || (param->kind != PARAM_UINT && param->kind != PARAM_UNKNOWN)) {
		return args_refuse(kernel, index, arg, NULL, err);
	}
	if (!object) {
		return error_set(err, KZ_ARGUMENT, "argument %zu of '%s': the kz_%s is NULL",
			index + 1, kernel->info->name, what);
	}
	if (!object_is(object, kind)) {
		return args_refuse_object(kernel, index, kind, object, err);
	}
	*slot = object->handle;
	return args_check_home(kernel, index, object->memory->device, what, err);
}

static kz_status args_convert_value(void **place, const struct kz_kernel *kernel, size_t index,
	const kz_arg *arg, kz_error *err)
{
	const struct param *param = &kernel->params[index];
	if (arg->kind != KZ_ARG_VALUE || !arg->value.p || arg->size != param->size) {
		const char *hint = arg->kind != KZ_ARG_VALUE ? "pass its bytes as KZ_VALUE(lvalue)"
			: param->kind == PARAM_STRUCT && arg->value.p
			? "the two structs differ: kz_layout_check compares them field by field"
			: NULL;
		return args_refuse(kernel, index, arg, hint, err);
	}
	*place = (void *)arg->value.p;
	return KZ_OK;
}

/* Only the size of the parameter is known: any value of that size goes in as it is. */
static kz_status args_convert_unknown(uint64_t *slot, void **place, const struct kz_kernel *kernel,
	size_t index, const kz_arg *arg, kz_error *err)
{
	int64_t size = kernel->params[index].size;
	switch (arg->kind) {
	case KZ_ARG_VALUE:
		return args_convert_value(place, kernel, index, arg, err);
	case KZ_ARG_BOOL:
	case KZ_ARG_INT:
	case KZ_ARG_UINT:
	case KZ_ARG_F64:
	case KZ_ARG_F32:
		*slot = arg->value.u;
		return arg->width == size ? KZ_OK : args_refuse(kernel, index, arg, NULL, err);
	default:
		return size == 8 ? args_convert_pointer(slot, kernel, index, arg, err)
			: args_refuse(kernel, index, arg, NULL, err);
	}
}

kz_status args_convert(uint64_t *slot, void **place, const struct kz_kernel *kernel, size_t index,
	const kz_arg *arg, kz_error *err)
{
	const struct param *param = &kernel->params[index];
	*place = slot;
	if (arg->kind == KZ_ARG_TEXTURE || arg->kind == KZ_ARG_SURFACE) {
		return args_convert_texture(slot, kernel, index, arg, err);
	}
	/* The bytes of a value of the right size suit anything but a pointer.  C has no type for
	 * half floats and 128-bit integers, so they come as bytes only. */
	if ((arg->kind == KZ_ARG_VALUE && param->kind != PARAM_POINTER) || param->size > 8
	    || (param->kind == PARAM_FLOAT && param->size < 4)) {
		return args_convert_value(place, kernel, index, arg, err);
	}
	switch (param->kind) {
	case PARAM_BOOL:
	case PARAM_INT:
	case PARAM_UINT:
	case PARAM_ENUM:
		return args_convert_integer(slot, kernel, index, arg, err);
	case PARAM_FLOAT:
		return args_convert_float(slot, kernel, index, arg, err);
	case PARAM_POINTER:
		return args_convert_pointer(slot, kernel, index, arg, err);
	case PARAM_STRUCT:
		return args_convert_value(place, kernel, index, arg, err);
	case PARAM_UNKNOWN:
		break;
	}
	return args_convert_unknown(slot, place, kernel, index, arg, err);
}

uint64_t args_natural(enum param_kind kind, int64_t size)
{
	/* Not bool: a kz_arg made by hand may hold more than 0 and 1. */
	static const kz_arg_kind kinds[] = {
		[PARAM_INT] = KZ_ARG_INT, [PARAM_UINT] = KZ_ARG_UINT,
	};
	kz_arg arg = {.width = (int32_t)size};
	if (kind == PARAM_FLOAT && (size == 4 || size == 8)) {
		arg.kind = size == 4 ? KZ_ARG_F32 : KZ_ARG_F64;
	} else if (kind < countof(kinds) && size <= 8) {
		arg.kind = kinds[kind];
	}
	return arg.kind ? args_tag(&arg) : 0;
}

uint32_t args_element_dtypes(const char *type, size_t len)
{
#define BIT(dtype) ((uint32_t)1 << (dtype))
	/* char is not here: as in C, anything may be looked at as bytes. */
	static const struct {
		const char *name;
		uint32_t dtypes;
	} rows[] = {
		{"float", BIT(KZ_F32) | BIT(KZ_C64)},
		{"double", BIT(KZ_F64) | BIT(KZ_C128)},
		{"short", BIT(KZ_I16) | BIT(KZ_U16) | BIT(KZ_F16) | BIT(KZ_BF16)},
		{"unsigned short", BIT(KZ_I16) | BIT(KZ_U16) | BIT(KZ_F16) | BIT(KZ_BF16)},
		{"int", BIT(KZ_I32) | BIT(KZ_U32)},
		{"unsigned int", BIT(KZ_I32) | BIT(KZ_U32)},
		{"long", BIT(KZ_I64) | BIT(KZ_U64)},
		{"unsigned long", BIT(KZ_I64) | BIT(KZ_U64)},
		{"long long", BIT(KZ_I64) | BIT(KZ_U64)},
		{"unsigned long long", BIT(KZ_I64) | BIT(KZ_U64)},
		{"bool", BIT(KZ_BOOL) | BIT(KZ_I8) | BIT(KZ_U8)},
		{"__nv_fp8_e4m3", BIT(KZ_F8_E4M3) | BIT(KZ_U8)},
		{"__nv_fp8_e5m2", BIT(KZ_F8_E5M2) | BIT(KZ_U8)},
	};
#undef BIT
	static const char *const qualifiers[] = {"const ", "volatile "};
	for (size_t i = 0; type && i < countof(qualifiers); i++) {
		size_t word = strlen(qualifiers[i]);
		if (word <= len && memcmp(type, qualifiers[i], word) == 0) {
			type += word;
			len -= word;
		}
	}
	for (size_t i = 0; type && i < countof(rows); i++) {
		if (len == strlen(rows[i].name) && memcmp(type, rows[i].name, len) == 0) {
			return rows[i].dtypes;
		}
	}
	return UINT32_MAX;
}

uint32_t args_dtypes(const struct param *param)
{
	if (param->kind == PARAM_POINTER) {
		size_t len = param->type ? strlen(param->type) : 0;
		bool plain = len > 2 && strcmp(param->type + len - 2, " *") == 0;
		return plain ? args_element_dtypes(param->type, len - 2) : UINT32_MAX;
	}
	return param->kind == PARAM_UNKNOWN && param->size == 8 ? UINT32_MAX : 0;
}

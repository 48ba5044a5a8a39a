/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a call of a user's kernel.
 *
 * Numbers convert as in any launch.  The arrays are broadcast to one shape.  Neighbouring axes of
 * it are merged where that leaves the row-major order of the elements for all arrays.  If one run
 * of each array is left, the kernel for flat arrays is taken, which needs no axes.  A kernel that
 * uses _ind has all axes as they are, and one where the shape has none.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/ops/custom.h"
#include "lib/ops/generate.h"
#include "lib/array/overlap.h"
#include "lib/array/shape.h"
#include "lib/array/strided.h"

#include <string.h>

/* "argument 2 of 'saxpy'" */
#define ARGUMENT "argument %zu of '%s': "

/* Types for letters */

/* The types that the arrays of a call give for letters.  If another argument gives the type,
 * custom_take_pointer refuses what is not an array. */
static kz_status custom_find_types(kz_dtype *types, const struct custom *custom, kz_args args,
	kz_error *err)
{
	size_t places[DECLARE_LETTERS] = {0};
	for (size_t i = 0; i < args.count; i++) {
		const struct declaration *declared = &custom->args.items[i];
		const struct kz_array *array = args.items[i].value.p;
		int k = declared->letter - 'A';
		if (!declared->letter || !declared->is_pointer || !args_is_array(&args.items[i])
		    || !object_is(array, OBJECT_ARRAY)) {
			continue;
		}
		if (types[k] && types[k] != array->dtype) {
			return error_set(err, KZ_ARGUMENT, ARGUMENT "expected '%s' of %s, as '%s' "
				"is, got an array of %s", i + 1, custom->name, declared->text,
				kz_dtype_name(types[k]), custom->args.items[places[k]].text,
				kz_dtype_name(array->dtype));
		}
		places[k] = types[k] ? places[k] : i;
		types[k] = array->dtype;
	}
	for (size_t i = 0; i < args.count; i++) {
		const struct declaration *declared = &custom->args.items[i];
		const bool is_object = args_is_array(&args.items[i]);
		char found[80] = "";
		if (declared->is_pointer && declared->letter && !types[declared->letter - 'A']) {
			return error_set(err, KZ_ARGUMENT, ARGUMENT "expected an array for '%s', "
				"which gives the type %c%s%s", i + 1, custom->name, declared->text,
				declared->letter, is_object ? ", got " : "", is_object
				? object_describe(found, sizeof(found), args.items[i].value.p)
				: "");
		}
	}
	return KZ_OK;
}

static kz_status custom_check_count(const struct custom *custom, kz_args args, kz_error *err)
{
	if (args.count != custom->args.count || (args.count && !args.items)) {
		return error_set(err, KZ_ARGUMENT, "'%s' takes %zu argument%s, got %zu: '%s'",
			custom->name, custom->args.count, plural((int64_t)custom->args.count),
			args.count, custom->args.list);
	}
	return KZ_OK;
}

/* Take the kernel for the types that the arguments have. */
static kz_status custom_pick_types(struct custom_call *call, struct custom *custom, kz_args args,
	kz_error *err)
{
	call->custom = custom;
	if (!custom->args.letters) {
		return KZ_OK;
	}
	kz_dtype types[DECLARE_LETTERS] = {0};
	kz_status st = custom_find_types(types, custom, args, err);
	return st ? st : custom_instance(&call->custom, custom, types, err);
}

/* Numbers */

static bool custom_is_complex(const struct declaration *declared)
{
	return !declared->is_pointer && declared->dtypes & (dtype_bit(KZ_C64) | dtype_bit(KZ_C128));
}

/* Convert a number for a complex argument; false if it is not a number. */
static bool custom_convert_complex(union custom_slot *slot, const struct declaration *declared,
	const kz_arg *arg)
{
	double real = 0, imaginary = 0;
	switch (arg->kind) {
	case KZ_ARG_BOOL:
	case KZ_ARG_UINT:
		real = (double)arg->value.u;
		break;
	case KZ_ARG_INT:
		real = (double)arg->value.i;
		break;
	case KZ_ARG_F32:
		real = (double)arg->value.f;
		break;
	case KZ_ARG_F64:
		real = arg->value.d;
		break;
	case KZ_ARG_COMPLEX:
		real = arg->value.d;
		imaginary = arg->imaginary;
		break;
	default:
		return false;
	}
	if (declared->size == 8) {
		slot->single[0] = (float)real;
		slot->single[1] = (float)imaginary;
	} else {
		slot->pair[0] = real;
		slot->pair[1] = imaginary;
	}
	return true;
}

/* Arrays */

static bool custom_is_of_type(const struct kz_array *array, const struct declaration *declared)
{
	return dtype_is_struct(array->dtype) ? array->dtype == dtype_struct(declared->type)
		: declared->dtypes & dtype_bit(array->dtype);
}

static kz_status custom_check_array(const struct custom_call *call, size_t index,
	const struct kz_array *array, kz_error *err)
{
	const struct custom *custom = call->custom;
	const struct declaration *declared = &custom->args.items[index];
	if (!custom_is_of_type(array, declared)) {
		return error_set(err, KZ_ARGUMENT, ARGUMENT "expected '%s', got an array of %s",
			index + 1, custom->name, declared->text, kz_dtype_name(array->dtype));
	}
	uint64_t bits = array->count ? array_address(array) : 0;
	for (int64_t i = 0; i < array->shape.ndim; i++) {
		bits |= array->shape.dims[i] > 1 ? (uint64_t)array->strides[i] : 0;
	}
	if (bits & (uint64_t)(generate_alignment(array->dtype) - 1)) {
		return error_set(err, KZ_ARGUMENT, ARGUMENT "the elements of a view of %s do not "
			"lie at multiples of %lld bytes", index + 1, custom->name,
			kz_dtype_name(array->dtype), (long long)generate_alignment(array->dtype));
	}
	return KZ_OK;
}

/* An argument for a pointer: it was converted already, which checked its device. */
static kz_status custom_take_pointer(struct custom_call *call, size_t index, const kz_arg *arg,
	kz_error *err)
{
	static const char hint[] = "declare it raw to pass memory that is not an array";
	const struct declaration *declared = &call->custom->args.items[index];
	bool mine = error_is_clean(err);
	if (args_is_array(arg)) {
		const struct kz_array *array = arg->value.p;
		kz_status st = custom_check_array(call, index, array, err);
		call->used[call->used_count++] = array->buffer->memory;
		if (!declared->is_raw) {
			call->places_of[call->array_count] = index;
			call->arrays[call->array_count++] = array;
		}
		return st;
	}
	if (declared->is_raw && arg->kind == KZ_ARG_BUFFER) {
		call->used[call->used_count++] = ((const struct kz_buffer *)arg->value.p)->memory;
		return KZ_OK;
	}
	if (declared->is_raw && !args_is_host(arg)) {
		return KZ_OK;
	}
	error_set(err, KZ_ARGUMENT, ARGUMENT "expected an array for '%s'", index + 1,
		call->custom->name, declared->text);
	if (mine && !declared->is_raw) {
		error_add_hint(err, hint);
	}
	return KZ_ARGUMENT;
}

static kz_status custom_take_args(struct custom_call *call, kz_args args, kz_error *err)
{
	const struct custom *custom = call->custom;
	for (size_t i = 0; i < args.count; i++) {
		const struct declaration *declared = &custom->args.items[i];
		const kz_arg *arg = &args.items[i];
		void **place = &call->params[i];
		*place = &call->slots[i];
		if (custom_is_complex(declared) && custom_convert_complex(&call->slots[i], declared,
			arg)) {
			continue;
		}
		kz_status st = args_convert(&call->slots[i].bits, place, &custom->face, i, arg,
			err);
		if (st || (declared->is_pointer && (st = custom_take_pointer(call, i, arg, err)))) {
			return st;
		}
	}
	call->param_count = (int)args.count;
	return KZ_OK;
}

/* Shapes */

static kz_status custom_find_shape(struct custom_call *call, kz_error *err)
{
	for (int k = 0; k < call->array_count; k++) {
		const kz_shape *shape = &call->arrays[k]->shape;
		kz_shape both = *shape;
		if (k && !shape_equal(&call->shape, shape)
		    && shape_broadcast(&both, call->shape, *shape, NULL)) {
			return error_set(err, KZ_INVALID, "'%s': the array for '%s' has shape %s, "
				"which does not broadcast with shape %s of the arrays before it",
				call->custom->name,
				call->custom->args.items[call->places_of[k]].text,
				shape_text(shape).text, shape_text(&call->shape).text);
		}
		call->shape = both;
	}
	return shape_count(&call->count, &call->shape, 1, "int8", err);
}

/* Check an array that the kernel may write. */
static kz_status custom_check_target(const struct custom_call *call, int which, kz_error *err)
{
	const struct kz_array *array = call->arrays[which];
	const char *text = call->custom->args.items[call->places_of[which]].text;
	struct strided elements = array_elements(array);
	if (!shape_equal(&array->shape, &call->shape)) {
		return error_set(err, KZ_INVALID, "'%s': the array for '%s' has shape %s, the "
			"others %s; only const ones are broadcast", call->custom->name, text,
			shape_text(&array->shape).text, shape_text(&call->shape).text);
	}
	for (int k = 0; k < call->array_count; k++) {
		const struct kz_array *other = call->arrays[k];
		if (k != which && !overlap_is_same(array, other)
		    && overlap_arrays(array, other)) {
			return error_set(err, KZ_INVALID, "'%s': the arrays for '%s' and '%s' "
				"share memory, but not element by element",
				call->custom->name, text,
				call->custom->args.items[call->places_of[k]].text);
		}
	}
	return kz_array_is_contiguous(array) ? KZ_OK
		: strided_distinct(&elements, "an array that is not const,", err);
}

static kz_status custom_check_targets(const struct custom_call *call, kz_error *err)
{
	static const char hint[] = "an array that is only read is declared const";
	bool mine = error_is_clean(err);
	kz_status st = KZ_OK;
	for (int k = 0; !st && k < call->array_count; k++) {
		if (!call->custom->args.items[call->places_of[k]].is_const) {
			st = custom_check_target(call, k, err);
		}
	}
	if (st == KZ_INVALID && mine) {
		error_add_hint(err, hint);
	}
	return st;
}

/* Layout */

struct axes {
	int ndim;
	int64_t dims[KZ_MAX_DIMS];
	int64_t strides[CUSTOM_ARRAYS][STRIDED_ROOM];
};

static void custom_find_axes(struct axes *axes, const struct custom_call *call)
{
	if (call->shape.ndim == 0) {
		*axes = (struct axes){.ndim = 1, .dims = {1}};
		return;
	}
	axes->ndim = (int)call->shape.ndim;
	for (int i = 0; i < axes->ndim; i++) {
		axes->dims[i] = call->shape.dims[i];
		for (int k = 0; k < call->array_count; k++) {
			const struct kz_array *array = call->arrays[k];
			int64_t own = i - (call->shape.ndim - array->shape.ndim);
			axes->strides[k][i] = own >= 0 && array->shape.dims[own] != 1
				? array->strides[own] : 0;
		}
	}
}

static bool custom_is_flat(const struct axes *axes, const struct custom_call *call)
{
	bool flat = axes->ndim <= 1;
	for (int k = 0; flat && axes->ndim && k < call->array_count; k++) {
		flat = axes->strides[k][0] == kz_dtype_size(call->arrays[k]->dtype);
	}
	return flat;
}

static void custom_find_layout(struct custom_call *call)
{
	struct axes axes;
	int64_t *at = call->layout;
	custom_find_axes(&axes, call);
	if (call->custom->has_index) {
		call->ndim = axes.ndim;
	} else {
		axes.ndim = strided_merge(&(struct strided_axes){axes.dims, axes.strides,
			call->array_count, NULL}, axes.ndim);
		call->ndim = custom_is_flat(&axes, call) ? 0 : axes.ndim;
	}
	if (!call->ndim) {
		return;
	}
	size_t row = (size_t)axes.ndim * sizeof(*at);
	memcpy(at, axes.dims, row);
	for (int k = 0; k < call->array_count; k++) {
		at += axes.ndim;
		memcpy(at, axes.strides[k], row);
	}
}

bool custom_is_apart(const struct custom_call *call)
{
	const struct custom *custom = call->custom;
	bool apart = custom->reads_ahead && call->ndim == 0;
	for (int k = 0; apart && k < call->array_count; k++) {
		for (int j = 0; apart && j < k; j++) {
			CUdeviceptr a = array_address(call->arrays[k]),
				b = array_address(call->arrays[j]);
			apart = (custom->args.items[call->places_of[k]].is_const
					&& custom->args.items[call->places_of[j]].is_const)
				|| a + (CUdeviceptr)kz_array_size(call->arrays[k]) <= b
				|| b + (CUdeviceptr)kz_array_size(call->arrays[j]) <= a;
		}
	}
	return apart;
}

kz_status custom_bind(struct custom_call *call, struct custom *custom, struct kz_stream *stream,
	kz_args args, kz_error *err)
{
	kz_status st;
	call->array_count = 0;
	call->used_count = 0;
	call->ndim = 0;
	call->shape.ndim = 0;
	if ((st = stream_pick(&call->stream, custom->device, stream, err))
	    || (st = custom_check_count(custom, args, err))
	    || (st = custom_pick_types(call, custom, args, err))
	    || (st = custom_take_args(call, args, err)) || (st = custom_find_shape(call, err))) {
		return st;
	}
	if (!custom->dtype && (st = custom_check_targets(call, err))) {
		return st;
	}
	if (call->count) {
		custom_find_layout(call);
	}
	return KZ_OK;
}

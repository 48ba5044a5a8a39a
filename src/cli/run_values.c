/* SPDX-License-Identifier: MIT */
/*
 * kudzu run: makes the arguments of the command line on the device, and launches the kernel with
 * them.
 *
 * Elements are computed here and copied, because a kernel that fills an array would have to be
 * compiled.
 */
#include "cli/run.h"

#include "cli/numeral.h"
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

static kz_arg values_value_of(const void *bytes, size_t size)
{
	return kz_arg_pointer(KZ_ARG_VALUE, bytes, (int64_t)size);
}

/* One element as an argument; `element` is borrowed for what C has no number for. */
static kz_arg values_arg_of(kz_dtype dtype, const char *element)
{
	int32_t width = (int32_t)kz_dtype_size(dtype);
	uint64_t bits = 0;
	float single;
	double value;
	switch (dtype) {
	case KZ_F32:
		memcpy(&single, element, sizeof(single));
		return kz_arg_f32(single);
	case KZ_F64:
		memcpy(&value, element, sizeof(value));
		return kz_arg_f64(value);
	case KZ_F16:
	case KZ_BF16:
	case KZ_F8_E4M3:
	case KZ_F8_E5M2:
	case KZ_C64:
	case KZ_C128:
		return values_value_of(element, (size_t)width);
	default:
		memcpy(&bits, element, (size_t)width);
	}
	if (numeral_is_signed(dtype)) {
		int shift = 64 - 8 * width;
		return kz_arg_int((int64_t)(bits << shift) >> shift, width);
	}
	return kz_arg_uint(dtype == KZ_BOOL ? KZ_ARG_BOOL : KZ_ARG_UINT, bits, width);
}

/* The type of a number that has none, for a parameter of this type. */
static kz_dtype values_dtype_for(const char *text, const char *type)
{
	static const struct {
		const char *type;
		kz_dtype dtype;
	} floats[] = {
		{"float", KZ_F32}, {"double", KZ_F64}, {"__half", KZ_F16}, {"half", KZ_F16},
		{"__nv_bfloat16", KZ_BF16}, {"__nv_fp8_e4m3", KZ_F8_E4M3},
		{"__nv_fp8_e5m2", KZ_F8_E5M2},
	};
	char element[NUMERAL_MAX_SIZE];
	size_t length;
	for (size_t i = 0; i < sizeof(floats) / sizeof(*floats); i++) {
		if (strcmp(type, floats[i].type) == 0) {
			return floats[i].dtype;
		}
	}
	if (strcmp(type, "bool") == 0 && (strcmp(text, "0") == 0 || strcmp(text, "1") == 0)) {
		return KZ_BOOL;
	}
	kz_dtype integer = *text == '-' ? KZ_I64 : KZ_U64;
	return numeral_read(element, integer, text, &length, NULL, 0) && !text[length]
		? integer : KZ_F64;
}

static kz_status values_make_scalar(struct run_values *out, size_t index,
	const struct argument *argument, const char *type, kz_error *err)
{
	struct argument scalar = *argument;
	if (argument->kind == ARGUMENT_NUMBER) {
		scalar.kind = ARGUMENT_SCALAR;
		scalar.dtype = values_dtype_for(argument->values, type);
	}
	size_t size = (size_t)scalar.count * (size_t)kz_dtype_size(scalar.dtype);
	char *bytes = out->bytes[index] = malloc(size);
	if (!bytes) {
		return report_no_memory(err);
	}
	argument_fill(&scalar, bytes);
	out->args[index] = scalar.count == 1 ? values_arg_of(scalar.dtype, bytes)
		: values_value_of(bytes, size);
	return KZ_OK;
}

static kz_status values_make_array(kz_array **out, kz_device *dev, const struct argument *argument,
	kz_error *err)
{
	if (argument->kind == ARGUMENT_FILE) {
		return kz_array_load(out, dev, argument->values, 0, err);
	}
	if (argument->fill == FILL_ZEROS) {
		return kz_array_zeros(out, dev, argument->dtype, argument->shape, err);
	}
	kz_status st = kz_array_create(out, dev, argument->dtype, argument->shape, err);
	if (st || argument->fill == FILL_NONE) {
		return st;
	}
	int64_t size = kz_array_size(*out);
	void *host = NULL;
	if (size == 0) {
		return KZ_OK;
	}
	if (kz_array_host(&host, *out, NULL) == KZ_OK) {
		argument_fill(argument, host);
		return KZ_OK;
	}
	host = malloc((size_t)size);
	if (!host) {
		return report_no_memory(err);
	}
	argument_fill(argument, host);
	st = kz_array_set(*out, host, size, err);
	free(host);
	return st;
}

static kz_status values_make_value(struct run_values *out, size_t index, kz_device *dev,
	const struct run *run, const char *type, kz_error *err)
{
	const struct argument *argument = &run->arguments[index];
	kz_status st;
	switch (argument->kind) {
	case ARGUMENT_NULL:
		out->args[index] = kz_arg_host(NULL);
		return KZ_OK;
	case ARGUMENT_NUMBER:
	case ARGUMENT_SCALAR:
		return values_make_scalar(out, index, argument, type, err);
	default:
		st = values_make_array(&out->arrays[index], dev, argument, err);
		out->args[index] = kz_arg_array(out->arrays[index]);
		return st;
	}
}

kz_status run_values_create(struct run_values *out, kz_device *dev, const struct run *run,
	const struct parameters *parameters, kz_error *err)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < run->count; i++) {
		const char *type = i < parameters->count ? parameters->items[i].type : "";
		kz_status st = values_make_value(out, i, dev, run, type, err);
		if (st) {
			out->failed = i;
			return st;
		}
	}
	return KZ_OK;
}

void run_values_finish(struct run_values *values)
{
	for (size_t i = 0; i < RUN_MAX; i++) {
		kz_array_release(values->arrays[i]);
		free(values->bytes[i]);
	}
}

int64_t run_values_size(const struct run_values *values)
{
	int64_t size = 0;
	for (size_t i = 0; i < RUN_MAX; i++) {
		size += kz_array_size(values->arrays[i]);
	}
	return size;
}

int64_t run_values_count(const struct run_values *values)
{
	int64_t most = 0;
	for (size_t i = 0; i < RUN_MAX; i++) {
		int64_t count = kz_array_count(values->arrays[i]);
		most = count > most ? count : most;
	}
	return most;
}

kz_status run_launch(const struct run *run, kz_kernel *kernel, const struct run_values *values,
	kz_error *err)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.shared_size = run->shared_size;
	options.cooperative = run->is_cooperative;
	return kz_launch_args(kernel, run->grid, run->block, &options, values->args, run->count,
		err);
}

/* SPDX-License-Identifier: MIT */
/*
 * Reductions of users.
 *
 * The elements become one value for each chunk of them, these values one for each chunk of values,
 * and so on until there is one.  custom_text.c has the order within a chunk.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "base/alloc.h"
#include "lib/ops/custom.h"
#include "lib/ops/kernels.h"

#include <string.h>

/* The map expression that is left out: the element of the first array. */
static kz_status reduction_copy_map(struct custom *custom, const char *map, kz_error *err)
{
	if (map) {
		return custom_copy(&custom->map, custom, map, err);
	}
	for (size_t i = 0; i < custom->args.count; i++) {
		const struct declaration *arg = &custom->args.items[i];
		if (arg->is_pointer && !arg->is_raw) {
			custom->map = arena_printf(&custom->arena, "%s[i]", arg->name);
			return custom->map ? KZ_OK : error_no_memory(err);
		}
	}
	return KZ_OK; /* refused for another reason */
}

static kz_status custom_reduction_check_dtype(kz_dtype dtype, kz_error *err)
{
	int64_t size = kz_dtype_size(dtype);
	if (size == 0) {
		return error_set(err, KZ_INVALID, "%u is not a dtype", (unsigned)dtype);
	}
	return size <= CUSTOM_VALUE_MAX ? KZ_OK : error_set(err, KZ_INVALID,
		"expected a dtype of at most %d bytes to reduce, got %s with %lld",
		CUSTOM_VALUE_MAX, kz_dtype_name(dtype), (long long)size);
}

struct texts {
	const char *neutral, *reduce, *map, *arguments;
};

static kz_status custom_reduction_init(struct custom *custom, kz_dtype dtype,
	const struct texts *texts, const kz_custom_options *options, kz_error *err)
{
	const char *arguments = texts->arguments;
	kz_status st;
	custom->dtype = dtype;
	if (!arguments) {
		arguments = arena_printf(&custom->arena, "const %s *in",
			declare_spelling(dtype));
	}
	if (!arguments) {
		return error_no_memory(err);
	}
	if ((st = custom_init(custom, arguments, options, "reduction", err))
	    || (st = custom_copy(&custom->neutral, custom, texts->neutral, err))
	    || (st = custom_copy(&custom->reduce, custom, texts->reduce, err))
	    || (st = reduction_copy_map(custom, texts->map, err))) {
		return st;
	}
	if (!custom->array_count) {
		return error_set(err, KZ_INVALID, "%s: expected an array that is not raw among the "
			"arguments '%.200s'", custom->name, arguments);
	}
	return custom_make_ready(custom, err);
}

kz_status kz_reduction_create(kz_reduction **out, kz_device *dev, kz_dtype dtype,
	const char *neutral, const char *reduce, const char *map, const char *arguments,
	const kz_custom_options *options, kz_error *err)
{
	error_scope(err);
	const struct texts texts = {neutral, reduce, map, arguments};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = custom_reduction_check_dtype(dtype, err))
	    || (st = custom_check_text(neutral, "a neutral element", err))
	    || (st = custom_check_text(reduce, "an expression that reduces", err))
	    || (map && (st = custom_check_text(map, "an expression that maps", err)))
	    || (arguments && (st = custom_check_text(arguments, "a list of arguments",
		err)))) {
		return st;
	}
	struct kz_reduction *made = mem_zalloc(1, sizeof(*made));
	if (!made) {
		return error_no_memory(err);
	}
	made->tag = OBJECT_REDUCTION;
	custom_begin(&made->custom, dev);
	if ((st = custom_reduction_init(&made->custom, dtype, &texts, options, err))) {
		kz_reduction_release(made);
		return st;
	}
	object_give(made, dev);
	*out = made;
	return KZ_OK;
}

void kz_reduction_release(kz_reduction *kernel)
{
	if (object_is(kernel, OBJECT_REDUCTION)) {
		object_end(&kernel->tag);
		custom_finish(&kernel->custom);
		object_free(kernel);
	}
}

/* Running */

static int64_t reduction_chunks(int64_t count)
{
	return count > 0 ? (count - 1) / CUSTOM_CHUNK + 1 : 1;
}

static void custom_reduction_choose_grid(struct kernels_run *launch, const struct custom *custom,
	int64_t chunks)
{
	int64_t most = 16 * (int64_t)custom->device->info.multiprocessors;
	launch->block = kz_dim(custom->threads, 1, 1);
	if (custom->threads == 1) {
		most = chunks <= 2 ? 1 : most / 2; /* one block runs on the calling thread */
	}
	launch->grid = kz_dim(chunks < most ? chunks : most, 1, 1);
}

/* From the elements to a value for each chunk at `to`. */
static kz_status reduction_launch_main(struct custom_call *call,
	const struct custom_kernels *kernels, CUdeviceptr to, kz_error *err)
{
	struct kernels_run launch = {
		.kernel = kernels->main, .stream = call->stream, .params = call->params,
		.used = call->used, .used_count = call->used_count,
	};
	custom_reduction_choose_grid(&launch, call->custom, reduction_chunks(call->count));
	call->to = to;
	call->params[call->param_count++] = &call->count;
	call->params[call->param_count++] = &call->to;
	if (call->ndim) {
		call->params[call->param_count++] = call->layout;
	}
	return kernels_run(&launch, err);
}

static kz_status reduction_launch_next(struct custom_call *call,
	const struct custom_kernels *kernels,
	CUdeviceptr from, int64_t count, CUdeviceptr to, kz_error *err)
{
	void *params[] = {&from, &count, &to};
	struct kernels_run launch = {
		.kernel = kernels->next, .stream = call->stream, .params = params,
		.used = call->used, .used_count = call->used_count,
	};
	custom_reduction_choose_grid(&launch, call->custom, reduction_chunks(count));
	return kernels_run(&launch, err);
}

/* All steps; `values` has room for those of all steps but the last one, which go to `to`. */
static kz_status custom_reduction_launch_all(struct custom_call *call, struct kz_buffer *values,
	CUdeviceptr to, kz_error *err)
{
	const struct custom_class class = {.ndim = call->ndim}, flat = {0};
	const struct custom_kernels *kernels = NULL, *more = NULL;
	int64_t size = kz_dtype_size(call->custom->dtype);
	int64_t count = reduction_chunks(call->count);
	CUdeviceptr at = values ? buffer_address(values) : 0;
	kz_status st;
	if ((st = custom_get(&kernels, call->custom, &class, err))
	    || (st = custom_get(&more, call->custom, &flat, err))
	    || (st = reduction_launch_main(call, kernels, count > 1 ? at : to, err))) {
		return st;
	}
	while (!st && count > 1) {
		CUdeviceptr next = at + (CUdeviceptr)(count * size);
		int64_t left = reduction_chunks(count);
		st = reduction_launch_next(call, more, at, count, left > 1 ? next : to, err);
		at = next;
		count = left;
	}
	return st;
}

static kz_status custom_reduction_run(struct custom_call *call, struct kz_array *into,
	kz_error *err)
{
	int64_t values = 0;
	struct kz_buffer *buffer = NULL;
	for (int64_t count = call->count; (count = reduction_chunks(count)) > 1;) {
		values += count;
	}
	if (values) {
		int64_t size = values * kz_dtype_size(call->custom->dtype);
		const struct memory_wish wish = {.stream = call->stream};
		kz_status st = buffer_create(&buffer, call->custom->device, size, &wish, err);
		if (st) {
			return st;
		}
		call->used[call->used_count++] = buffer->memory;
	}
	call->used[call->used_count++] = into->buffer->memory;
	kz_status st = custom_reduction_launch_all(call, buffer, array_address(into), err);
	buffer_release(buffer);
	return st;
}

static kz_status custom_reduction_check_into(const struct custom *custom,
	const struct kz_array *into, kz_error *err)
{
	if (into->dtype != custom->dtype || into->count != 1) {
		return error_set(err, KZ_INVALID, "'%s': expected an array of one %s for the "
			"result, got one of %lld %s", custom->name, kz_dtype_name(custom->dtype),
			(long long)into->count, kz_dtype_name(into->dtype));
	}
	if (into->buffer->memory->device != custom->device) {
		return error_set(err, KZ_INVALID, "'%s': the array for the result is on %s, the "
			"kernel on %s", custom->name, kz_device_name(kz_array_device(into)),
			kz_device_name(custom->device));
	}
	return KZ_OK;
}

static kz_status custom_reduction_check_call(kz_array **out, const kz_reduction_call *call,
	kz_error *err)
{
	if (call->size != sizeof(*call)) {
		return struct_refuse("kz_reduction_call", call->size, sizeof(*call), err);
	}
	return out || call->into ? KZ_OK : error_set(err, KZ_INVALID,
		"kz_reduction_run: out is NULL, and there is no array to reduce into");
}

kz_status kz_reduction_run(kz_array **out, kz_reduction *kernel, const kz_reduction_call *call,
	kz_error *err, kz_args args)
{
	error_scope(err);
	static const kz_reduction_call defaults = KZ_REDUCTION_CALL_INIT;
	const kz_reduction_call *how = call ? call : &defaults;
	struct kz_array *into = how->into;
	struct custom_call bound;
	kz_status st;
	out_clear(out, sizeof(*out), __func__);
	if ((st = object_check(kernel, OBJECT_REDUCTION, err))
	    || (st = custom_reduction_check_call(out, how, err))
	    || (into && (st = custom_reduction_check_into(&kernel->custom, into, err)))
	    || (st = custom_bind(&bound, &kernel->custom, how->stream, args, err))) {
		return st;
	}
	into = into ? kz_array_retain(into) : NULL;
	if (!into && (st = kz_array_create(&into, kernel->custom.device, kernel->custom.dtype,
			KZ_SHAPE(), err))) {
		return st;
	}
	st = custom_reduction_run(&bound, into, err);
	if (st || !out) {
		kz_array_release(into);
		return st;
	}
	*out = into;
	return KZ_OK;
}

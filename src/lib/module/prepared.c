/* SPDX-License-Identifier: MIT */
/*
 * Prepared launches: a launch (launch.h) whose lists are in memory of its own.
 *
 * Each argument has a place of its parameter's size, which the driver reads at each launch.  To set
 * one is to convert it there.  Beside it is the memory that it keeps alive.  The list of all these,
 * without gaps, is what a launch has to order its stream after.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/module/kernel_launch.h"

#include <kudzu/prepared.h>

#include <string.h>

struct kz_prepared {
	uint32_t tag;              /* OBJECT_PREPARED */
	struct launch launch;
	kz_dim3 grid;
	kz_dim3 block;
	struct kz_stream *stream;  /* of the options, counted */
	struct memory **memories;  /* of each argument, counted; NULL: it is not an array */
	uint64_t lists[];          /* what the pointers here and in the launch point to */
};

/* Bytes of a parameter's place: of a value that was converted, or of a struct. */
static size_t prepared_place_size(const struct param *param)
{
	return round_up(param->size > 8 ? (size_t)param->size : 8, 16);
}

/* Cleared, with the lists laid out; NULL when memory runs out. */
static struct kz_prepared *prepared_alloc(struct kz_kernel *kernel)
{
	const size_t count = kernel->param_count;
	size_t values = 0;
	for (size_t i = 0; i < count; i++) {
		values += prepared_place_size(&kernel->params[i]);
	}
	struct kz_prepared *prepared = mem_zalloc(1,
		sizeof(*prepared) + 3 * count * sizeof(void *) + values + 16);
	if (!prepared) {
		return NULL;
	}
	prepared->tag = OBJECT_PREPARED;
	prepared->memories = (struct memory **)prepared->lists;
	prepared->launch.used = prepared->memories + count;
	prepared->launch.places = (void **)(prepared->launch.used + count);
	char *place = (char *)round_up((size_t)(prepared->launch.places + count), 16);
	for (size_t i = 0; i < count; i++) {
		prepared->launch.places[i] = place;
		place += prepared_place_size(&kernel->params[i]);
	}
	return prepared;
}

static kz_status prepared_bind(struct kz_prepared *prepared, size_t i, const kz_arg *arg,
	kz_error *err)
{
	const struct kz_kernel *kernel = prepared->launch.kernel;
	uint64_t value = 0;
	void *place = &value;
	if (args_is_host(arg)) {
		return error_set(err, KZ_ARGUMENT, "argument %zu of '%s': a prepared launch copies "
			"no host memory, pass an array or a buffer", i + 1, kernel->info->name);
	}
	kz_status st = args_convert(&value, &place, kernel, i, arg, err);
	if (st) {
		return st;
	}
	memcpy(prepared->launch.places[i], place,
		place == &value ? sizeof(value) : (size_t)kernel->params[i].size);
	struct memory *old = prepared->memories[i];
	struct memory *memory = launch_memory(arg);
	prepared->memories[i] = memory ? memory_retain(memory) : NULL;
	struct memory **used = prepared->launch.used;
	for (size_t k = 0; k < prepared->launch.count; k++) {
		if (prepared->memories[k]) {
			*used++ = prepared->memories[k];
		}
	}
	prepared->launch.used_end = used;
	memory_release(old);
	return KZ_OK;
}

kz_status kz_prepared_create(kz_prepared **out, kz_kernel *kernel, kz_dim3 grid, kz_dim3 block,
	const kz_launch_options *options, kz_error *err, kz_args args)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = launch_check_call(kernel, args.items, args.count, err))) {
		return st;
	}
	struct kz_prepared *prepared = prepared_alloc(kernel);
	if (!prepared) {
		return error_no_memory(err);
	}
	prepared->grid = grid;
	prepared->block = block;
	struct launch *launch = &prepared->launch;
	launch->kernel = kernel;
	launch->dev = kernel->module->device;
	launch->stream = &launch->dev->stream;
	launch->grid = &prepared->grid;
	launch->block = &prepared->block;
	launch->count = kernel->param_count;
	launch->used_end = launch->used;
	st = options ? launch_read_options(launch, options, err) : KZ_OK;
	if (!st && !(st = launch_check_sizes(launch, err))) {
		(void)module_retain(kernel->module);
		prepared->stream = stream_retain(launch->stream);
	}
	for (size_t i = 0; !st && i < args.count; i++) {
		st = prepared_bind(prepared, i, &args.items[i], err);
	}
	if (st) {
		kz_prepared_release(prepared);
		return st;
	}
	object_give(prepared, kernel->module->device);
	*out = prepared;
	return KZ_OK;
}

void kz_prepared_release(kz_prepared *prepared)
{
	if (!object_is(prepared, OBJECT_PREPARED)) {
		return;
	}
	object_end(&prepared->tag);
	for (size_t i = 0; i < prepared->launch.count; i++) {
		memory_release(prepared->memories[i]);
	}
	if (prepared->stream) {
		stream_release(prepared->stream);
		module_release(prepared->launch.kernel->module);
	}
	object_free(prepared);
}

kz_status kz_prepared_set(kz_prepared *prepared, int64_t index, kz_arg value, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(prepared, OBJECT_PREPARED, err);
	if (st) {
		return st;
	}
	const struct launch *launch = &prepared->launch;
	if ((uint64_t)index >= launch->count) {
		return error_set(err, KZ_RANGE, "index %lld is out of range for '%s' of %zu "
			"argument%s", (long long)index, launch->kernel->info->name, launch->count,
			plural((int64_t)launch->count));
	}
	return prepared_bind(prepared, (size_t)index, &value, err);
}

kz_status kz_prepared_set_grid(kz_prepared *prepared, kz_dim3 grid, kz_dim3 block, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(prepared, OBJECT_PREPARED, err);
	if (st) {
		return st;
	}
	struct launch changed = prepared->launch;
	changed.grid = &grid;
	changed.block = &block;
	if ((st = launch_check_sizes(&changed, err))) {
		return st;
	}
	prepared->grid = grid;
	prepared->block = block;
	return KZ_OK;
}

static kz_status prepared_refuse(kz_prepared *prepared, kz_error *err)
{
	error_scope_of(err, "kz_prepared_launch");
	return object_check(prepared, OBJECT_PREPARED, err);
}

kz_status kz_prepared_launch(kz_prepared *prepared, kz_stream *stream, kz_error *err)
{
	/* No error_scope, as in kz_launch_args: a message names the kernel. */
	kz_status st;
	if (unlikely(!object_is(prepared, OBJECT_PREPARED))) {
		return prepared_refuse(prepared, err);
	}
	/* A copy, so that threads can launch it in different streams. */
	struct launch launch = prepared->launch;
	if (stream && (st = stream_pick(&launch.stream, launch.dev, stream, err))) {
		return st;
	}
	return launch_again(&launch, err);
}

/* SPDX-License-Identifier: MIT */
/*
 * Users' elementwise kernels: one loop over the elements, or over the indexes of a range.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/ops/custom.h"
#include "lib/ops/kernels.h"
#include "lib/array/shape.h"

#include <string.h>

/* With fewer elements than this, waking the other cores of a CPU does not pay. */
enum { WALK_MIN = 4096 };

/* Whether the operation uses CuPy's index along each axis. */
static bool custom_elementwise_has_index(const char *operation)
{
	const size_t len = strlen("_ind");
	const char *at = strstr(operation, "_ind");
	while (at && (str_is_word(at[len]) || (at > operation && str_is_word(at[-1])))) {
		at = strstr(at + len, "_ind");
	}
	return at;
}

static kz_status custom_elementwise_init(struct custom *custom, const char *arguments,
	const char *operation, const kz_custom_options *options, kz_error *err)
{
	kz_status st = custom_init(custom, arguments, options, "elementwise", err);
	if (st || (st = custom_copy(&custom->operation, custom, operation, err))) {
		return st;
	}
	custom->has_index = custom_elementwise_has_index(operation);
	if (custom->has_index && !custom->array_count) {
		return error_set(err, KZ_INVALID, "%s: _ind needs an array that is not raw among "
			"the arguments '%.200s'", custom->name, arguments);
	}
	return custom_make_ready(custom, err);
}

kz_status kz_elementwise_create(kz_elementwise **out, kz_device *dev, const char *arguments,
	const char *operation, const kz_custom_options *options, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = custom_check_text(arguments, "a list of arguments", err))
	    || (st = custom_check_text(operation, "an operation", err))) {
		return st;
	}
	struct kz_elementwise *made = mem_zalloc(1, sizeof(*made));
	if (!made) {
		return error_no_memory(err);
	}
	made->tag = OBJECT_ELEMENTWISE;
	custom_begin(&made->custom, dev);
	if ((st = custom_elementwise_init(&made->custom, arguments, operation, options, err))) {
		kz_elementwise_release(made);
		return st;
	}
	object_give(made, dev);
	*out = made;
	return KZ_OK;
}

void kz_elementwise_release(kz_elementwise *kernel)
{
	if (object_is(kernel, OBJECT_ELEMENTWISE)) {
		object_end(&kernel->tag);
		custom_finish(&kernel->custom);
		object_free(kernel);
	}
}

/* Running */

/* The values of i: first, first + step, ..., `count` of them. */
struct range {
	int64_t first;
	int64_t step;
	int64_t count;
};

/* Python's range(start, stop, step). */
static int64_t elementwise_range_count(int64_t start, int64_t stop, int64_t step)
{
	if (step > 0 ? start >= stop : start <= stop) {
		return 0;
	}
	uint64_t way = step > 0 ? (uint64_t)stop - (uint64_t)start
		: (uint64_t)start - (uint64_t)stop;
	uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
	uint64_t count = (way - 1) / stride + 1;
	return count <= INT64_MAX ? (int64_t)count : -1;
}

static int64_t custom_elementwise_clip(int64_t bound, int64_t lowest, int64_t highest,
	int64_t count)
{
	bound += bound < 0 ? count : 0;
	return bound < lowest ? lowest : bound > highest ? highest : bound;
}

/* Resolve a slice of `count` elements: bounds may be left out, negative, and too large. */
static void elementwise_resolve_slice(kz_slice *slice, int64_t count)
{
	bool back = slice->step < 0;
	int64_t lowest = back ? -1 : 0, highest = back ? count - 1 : count;
	slice->start = slice->start == KZ_OMIT ? (back ? highest : lowest)
		: custom_elementwise_clip(slice->start, lowest, highest, count);
	slice->stop = slice->stop == KZ_OMIT ? (back ? lowest : highest)
		: custom_elementwise_clip(slice->stop, lowest, highest, count);
}

static kz_status elementwise_find_range(struct range *out, const kz_elementwise_call *how,
	const struct custom_call *call, kz_error *err)
{
	kz_slice range = how->slice ? *how->slice : *how->range;
	range.step = range.step == KZ_OMIT ? 1 : range.step;
	if (range.kind != KZ_SLICE_RANGE || range.step == 0) {
		return error_set(err, KZ_INVALID, range.kind == KZ_SLICE_RANGE
			? "'%s': the step is 0" : "'%s': expected KZ_SLICE(start, stop, step)",
			call->custom->name);
	}
	if (how->slice) {
		elementwise_resolve_slice(&range, call->count);
	} else if (range.start == KZ_OMIT || range.stop == KZ_OMIT) {
		return error_set(err, KZ_INVALID, "'%s': a range has a start and a stop",
			call->custom->name);
	}
	*out = (struct range){range.start, range.step,
		elementwise_range_count(range.start, range.stop, range.step)};
	if (out->count < 0) {
		return error_set(err, KZ_RANGE, "'%s': the range has more than 2^63 values",
			call->custom->name);
	}
	int64_t last = out->count ? out->first + (out->count - 1) * out->step : 0;
	int64_t low = out->step > 0 ? out->first : last, high = out->step > 0 ? last : out->first;
	if (how->range && call->array_count && out->count && (low < 0 || high >= call->count)) {
		return error_set(err, KZ_RANGE, "'%s': the range goes from %lld to %lld, the "
			"arrays have %lld element%s", call->custom->name, (long long)out->first,
			(long long)last, (long long)call->count, plural(call->count));
	}
	return KZ_OK;
}

static void custom_elementwise_choose_grid(struct kernels_run *launch, const struct custom *custom,
	int turns, int64_t count)
{
	int64_t most = 16 * (int64_t)custom->device->info.multiprocessors;
	int64_t blocks = (count - 1) / CUSTOM_BLOCK + 1;
	launch->block = kz_dim(custom->threads, 1, 1);
	if (custom->threads == 1) {
		launch->grid = kz_dim(count < WALK_MIN ? 1 : most / 2, 1, 1);
	} else {
		launch->grid = kz_dim(turns ? (blocks - 1) / turns + 1 : blocks < most ? blocks
			: most, 1, 1);
	}
}

static kz_status custom_elementwise_launch(struct custom_call *call,
	const struct custom_class *class, const struct range *range, kz_error *err)
{
	const struct custom_kernels *kernels = NULL;
	kz_status st = custom_get(&kernels, call->custom, class, err);
	if (st) {
		return st;
	}
	call->numbers[0] = call->array_count ? call->count : range->count;
	call->numbers[1] = range->first;
	call->numbers[2] = range->step;
	call->numbers[3] = range->count;
	for (int i = 0; i < (class->ranged ? 4 : 1); i++) {
		call->params[call->param_count++] = &call->numbers[i];
	}
	if (class->ndim) {
		call->params[call->param_count++] = call->layout;
	}
	struct kernels_run launch = {
		.kernel = kernels->main, .stream = call->stream, .params = call->params,
		.used = call->used, .used_count = call->used_count,
	};
	custom_elementwise_choose_grid(&launch, call->custom, custom_turns(call->custom, class),
		range->count);
	return kernels_run(&launch, err);
}

/* The call's arguments are bound. */
static kz_status custom_elementwise_run(struct custom_call *call, const kz_elementwise_call *how,
	kz_error *err)
{
	const struct custom_class class = {call->ndim, how->range || how->slice,
		custom_is_apart(call)};
	struct range range = {0, 1, call->count};
	kz_status st = class.ranged ? elementwise_find_range(&range, how, call, err) : KZ_OK;
	if (!st && !how->range && !call->array_count) {
		st = error_set(err, KZ_INVALID, "'%s': all arrays are raw, so a range has to give "
			"the number of elements", call->custom->name);
	}
	return st || range.count == 0 ? st : custom_elementwise_launch(call, &class, &range, err);
}

kz_status kz_elementwise_run(kz_elementwise *kernel, const kz_elementwise_call *call, kz_error *err,
	kz_args args)
{
	error_scope(err);
	static const kz_elementwise_call defaults = KZ_ELEMENTWISE_CALL_INIT;
	const kz_elementwise_call *how = call ? call : &defaults;
	struct custom_call bound;
	kz_status st = object_check(kernel, OBJECT_ELEMENTWISE, err);
	if (st) {
		return st;
	}
	if (how->size != sizeof(*how)) {
		return struct_refuse("kz_elementwise_call", how->size, sizeof(*how), err);
	}
	if (how->slice && how->range) {
		return error_set(err, KZ_INVALID, "'%s': expected a slice or a range, got both",
			kernel->custom.name);
	}
	st = custom_bind(&bound, &kernel->custom, how->stream, args, err);
	return st ? st : custom_elementwise_run(&bound, how, err);
}

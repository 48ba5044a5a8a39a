/* SPDX-License-Identifier: MIT */
/* Runs of equal neighbours: marks say where they begin. */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/core/memory.h"
#include "lib/order/runs.h"

#include <kudzu/eval.h>
#include <kudzu/indexing.h>
#include <kudzu/join.h>
#include <kudzu/view.h>

/* For each element whether it begins a run. */
static kz_status runs_mark(struct kz_array **out, struct kz_array *array, const char *differ,
	struct kz_stream *stream, kz_error *err)
{
	kz_op_options options = {.size = sizeof(options), .stream = stream};
	struct kz_array *marks = NULL, *later = NULL, *earlier = NULL, *rest = NULL;
	kz_status st;
	if (!(st = kz_array_ones_on(&marks, array_device(array), KZ_BOOL, KZ_SHAPE(array->count),
		stream, err))
	    && array->count > 1
	    && !(st = kz_array_slice(&later, array, KZ_AT(KZ_SLICE(1, KZ_OMIT)), err))
	    && !(st = kz_array_slice(&earlier, array, KZ_AT(KZ_SLICE(0, -1)), err))
	    && !(st = kz_array_slice(&rest, marks, KZ_AT(KZ_SLICE(1, KZ_OMIT)), err))) {
		options.into = rest;
		st = kz_eval(NULL, differ, &options, err,
			KZ_VARS(KZ_VAR("a", later), KZ_VAR("b", earlier)));
	}
	kz_array_release(later);
	kz_array_release(earlier);
	kz_array_release(rest);
	return array_finish(out, marks, st);
}

kz_status runs_find(struct kz_array **out, struct kz_array **marks, struct kz_array *array,
	const char *differ, struct kz_stream *stream, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = stream};
	struct kz_array *made = NULL, *found = NULL, *line = NULL, *end = NULL;
	int64_t count = array->count;
	kz_status st;
	if (!(st = runs_mark(&made, array, differ, stream, err))
	    && !(st = kz_array_nonzero_on(&found, made, stream, err))
	    && !(st = kz_array_view(&line, found, KZ_SHAPE(found->count), NULL, 0, err))
	    && !(st = kz_array_full_on(&end, array_device(array), KZ_I64, KZ_SHAPE(1), &count,
		sizeof(count), stream, err))
	    && !(st = kz_array_concatenate(out, KZ_ARRAYS(line, end), 0, &options, err)) && marks) {
		*marks = kz_array_retain(made);
	}
	kz_array_release(made);
	kz_array_release(found);
	kz_array_release(line);
	kz_array_release(end);
	return st;
}

kz_status runs_take(struct kz_array **out, struct kz_array *array, struct kz_array *offsets,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *begins = NULL;
	kz_status st = kz_array_slice(&begins, offsets, KZ_AT(KZ_SLICE(0, -1)), err);
	/* Without elements there are no runs, and nothing can be clipped to. */
	if (!st && array->count == 0) {
		st = kz_array_zeros_on(out, array_device(array), array->dtype, KZ_SHAPE(0), stream,
			err);
	} else if (!st) {
		st = kz_array_take_on(out, array, begins, 0, KZ_INDEX_CLIP, stream, err);
	}
	kz_array_release(begins);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * Elements combined with values by their indexes (kernels/scatter.cuh): add, min, max.
 *
 * An element meets its values in the order of the indexes, so the result does not depend on who
 * computes it.  Where a block has one thread it goes through all values, for some columns of the
 * array.  On a GPU, integers are combined by atomic operations, whose order does not matter.  For
 * the others each index gets the list of its values: indexes are counted, a scan of the counts says
 * where lists begin, and a list, which comes in any order, is sorted.  Then a thread for each
 * element goes through its list.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/overlap.h"
#include "lib/array/shape.h"
#include "kernels/scatter.cuh"
#include "lib/ops/device_code.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/indexing.h"
#include "lib/ops/kernels.h"

#include <kudzu/scan.h>
#include <kudzu/view.h>

#include <string.h>

enum { CHUNK = 8192, BLOCK = 256 };

enum scatter_kernel { IN_ORDER, ATOMIC, TALLY, LIST, SORT, WALK };

/* `array` is (outer, extent, inner), `values` (outer, count, inner); all are without gaps. */
struct scatter {
	struct kz_array *array, *indexes, *values;
	int64_t outer, extent, inner, count;
	kz_scatter_op op;
	int mode;
	bool unordered;
	struct kz_stream *stream;
};

/* Kernels */

struct scatter_class {
	enum scatter_kernel kernel;
	kz_scatter_op op;
	kz_dtype dtype;
};

static void scatter_write_types(struct str *source, const struct scatter_class *class)
{
	static const char *const ops[] = {"a + b", "kz_minimum(a, b)", "kz_maximum(a, b)"};
	generate_element(source, class->dtype);
	str_addf(source, "static __device__ inline kz_value kz_op(kz_value a, kz_value b)\n"
		"{\n\treturn (kz_value)(%s);\n}\n", ops[class->op]);
}

static void scatter_write(struct str *source, const void *context)
{
	static const char *const names[] = {"IN_ORDER", "ATOMIC", "TALLY", "LIST", "SORT", "WALK"};
	static const char *const atomics[] = {"Add", "Min", "Max"};
	const struct scatter_class *class = context;
	scatter_write_types(source, class);
	if (class->kernel == ATOMIC && dtype_is_complex(class->dtype)) {
		str_add(source, "static __device__ inline void kz_atomic(kz_stored *to, kz_value "
			"a)\n"
			"{\n\tatomicAdd(&to->re, a.re);\n\tatomicAdd(&to->im, a.im);\n}\n");
	} else if (class->kernel == ATOMIC) {
		/* Of long long there is no atomicAdd; the sum of unsigned ones has the same
		 * bits. */
		bool cast = class->dtype == KZ_I64 && class->op == KZ_SCATTER_ADD;
		const char *type = cast ? "(unsigned long long" : "(kz_value";
		str_addf(source, "static __device__ inline void kz_atomic(kz_stored *to, kz_value "
			"a)\n"
			"{\n\tatomic%s(%s *)to, %s)a);\n}\n", atomics[class->op], type, type);
	}
	str_addf(source, "%s%s#define KZ_%s\n%s", device_chunks, device_indexing,
		names[class->kernel], device_scatter);
}

static const struct kernel_family scatter_family = {
	"scatter", scatter_write, {[SCHEDULE_MANY] = {BLOCK, CHUNK}, [SCHEDULE_ONE] = {1, CHUNK}},
};

static kz_status scatter_launch(const struct scatter *scatter, enum scatter_kernel kernel,
	int64_t blocks, void **params, struct kz_array *const arrays[5], kz_error *err)
{
	const struct scatter_class class = {kernel, scatter->op, scatter->array->dtype};
	const struct kernels_run run = {
		.want = {&scatter_family, &class, sizeof(class)}, .stream = scatter->stream,
		.grid = kz_dim(blocks, 1, 1), .params = params, .arrays = arrays, .array_count = 5,
	};
	return kernels_run(&run, err);
}

/* Ways */

static kz_status scatter_in_order(struct scatter *s, kz_error *err)
{
	CUdeviceptr address[3] = {array_address(s->array), array_address(s->values),
		array_address(s->indexes)};
	void *params[] = {&address[0], &address[1], &address[2], &s->count, &s->extent, &s->inner,
		&s->mode};
	struct kz_array *const arrays[5] = {s->array, s->values, s->indexes};
	return scatter_launch(s, IN_ORDER, s->outer * divide_up(s->inner, KZ_COLUMNS), params,
		arrays, err);
}

static kz_status scatter_atomic(struct scatter *s, kz_error *err)
{
	CUdeviceptr address[3] = {array_address(s->array), array_address(s->values),
		array_address(s->indexes)};
	void *params[] = {&address[0], &address[1], &address[2], &s->values->count, &s->count,
		&s->extent, &s->inner, &s->mode};
	struct kz_array *const arrays[5] = {s->array, s->values, s->indexes};
	return scatter_launch(s, ATOMIC, divide_up(s->values->count, CHUNK), params, arrays, err);
}

/* The lists of all indexes, one after the other; *ends has where each ends, *counts how long it
 * is. */
static kz_status scatter_list(struct kz_array **list, struct kz_array **ends,
	struct kz_array **counts, struct scatter *s, kz_error *err)
{
	kz_scan_options scan = KZ_SCAN_OPTIONS_INIT;
	const kz_shape shape = KZ_SHAPE(s->count);
	kz_status st;
	scan.exclusive = 1;
	scan.stream = s->stream;
	if ((st = kz_array_zeros_on(counts, s->stream->device, KZ_I64, KZ_SHAPE(s->extent),
		s->stream, err))
	    || (st = array_create_on(list, s->stream->device, KZ_I64, &shape, s->stream, err))) {
		return st;
	}
	CUdeviceptr address[4] = {array_address(*counts), array_address(s->indexes),
		array_address(*list), 0};
	void *tally[] = {&address[0], &address[1], &s->count, &s->extent, &s->mode};
	struct kz_array *const tallied[5] = {*counts, s->indexes};
	if ((st = scatter_launch(s, TALLY, divide_up(s->count, CHUNK), tally, tallied, err))
	    || (st = kz_scan(ends, *counts, "a + b", "0", &scan, err))) {
		return st;
	}
	address[3] = array_address(*ends);
	void *place[] = {&address[2], &address[3], &address[1], &s->count, &s->extent, &s->mode};
	void *sort[] = {&address[2], &address[3], &address[0], &s->extent};
	struct kz_array *const placed[5] = {*list, *ends, s->indexes};
	struct kz_array *const sorted[5] = {*list, *ends, *counts};
	st = scatter_launch(s, LIST, divide_up(s->count, CHUNK), place, placed, err);
	return st ? st : scatter_launch(s, SORT, divide_up(s->extent, CHUNK), sort, sorted, err);
}

static kz_status scatter_by_lists(struct scatter *s, kz_error *err)
{
	struct kz_array *list = NULL, *ends = NULL, *counts = NULL;
	kz_status st = scatter_list(&list, &ends, &counts, s, err);
	if (!st) {
		CUdeviceptr address[5] = {array_address(s->array), array_address(s->values),
			array_address(list), array_address(ends), array_address(counts)};
		void *params[] = {&address[0], &address[1], &address[2], &address[3], &address[4],
			&s->array->count, &s->count, &s->extent, &s->inner};
		struct kz_array *const arrays[5] = {s->array, s->values, list, ends, counts};
		st = scatter_launch(s, WALK, divide_up(s->array->count, CHUNK), params, arrays,
			err);
	}
	kz_array_release(list);
	kz_array_release(ends);
	kz_array_release(counts);
	return st;
}

/* Whether a GPU may combine the values in any order, and can. */
static bool scatter_may_mix(const struct scatter *s)
{
	kz_dtype dtype = s->array->dtype;
	bool is_wide = kz_dtype_size(dtype) >= 4;
	return is_wide && (dtype_is_integer(dtype) || (s->unordered && s->op == KZ_SCATTER_ADD));
}

static kz_status scatter_run(struct scatter *s, kz_error *err)
{
	if (s->values->count == 0) {
		return KZ_OK;
	}
	return kernels_walk(&scatter_family, s->stream->device) ? scatter_in_order(s, err)
		: scatter_may_mix(s) ? scatter_atomic(s, err) : scatter_by_lists(s, err);
}

/* Callers */

/* Combine in the array itself, or in a row-major copy of it. */
static kz_status scatter_into(struct kz_array *array, struct scatter *s, kz_error *err)
{
	bool direct = array_is_contiguous(array) && !overlap_memory(array, s->values)
		&& !overlap_memory(array, s->indexes);
	struct kz_array *copy = NULL;
	kz_status st = KZ_OK;
	s->array = array;
	if (direct || s->values->count == 0) {
		return scatter_run(s, err);
	}
	if (!(st = array_create_on(&copy, s->stream->device, array->dtype, &array->shape, s->stream,
		err))
	    && !(st = kz_array_assign_on(copy, array, s->stream, err))) {
		s->array = copy;
		st = scatter_run(s, err);
		st = st ? st : kz_array_assign_on(array, copy, s->stream, err);
	}
	kz_array_release(copy);
	return st;
}

static kz_status scatter_check(const struct kz_array *array, const struct kz_array *indexes,
	const struct kz_array *values, kz_scatter_op op, kz_error *err)
{
	kz_status st;
	if ((st = indexing_check(array, indexes, "scatter", err))
	    || (st = object_check(values, OBJECT_ARRAY, err))
	    || (st = array_same_device("scatter", array, values, err))) {
		return st;
	}
	if ((unsigned)op > KZ_SCATTER_MAX) {
		return error_set(err, KZ_INVALID, "%d is not a kz_scatter_op", (int)op);
	}
	if (op == KZ_SCATTER_ADD ? !dtype_is_number(array->dtype) : !dtype_is_real(array->dtype)) {
		return error_set(err, KZ_INVALID, "scatter: %s has no %s",
			dtype_refused(array->dtype),
			op == KZ_SCATTER_ADD ? "sum" : "order");
	}
	if (!kz_dtype_can_cast(values->dtype, array->dtype)) {
		return error_set(err, KZ_INVALID, "scatter: %s does not fit into %s",
			dtype_refused(values->dtype), dtype_refused(array->dtype));
	}
	const struct strided elements = array_elements(array);
	return strided_distinct(&elements, "an array", err);
}

kz_status kz_array_scatter(kz_array *array, kz_array *indexes, kz_array *values, kz_scatter_op op,
	const kz_scatter_options *options, kz_error *err)
{
	error_scope(err);
	kz_scatter_options how = KZ_SCATTER_OPTIONS_INIT;
	struct scatter s = {.op = op, .outer = 1, .inner = 1};
	kz_shape taken;
	kz_status st;
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_scatter_options", options->size, sizeof(*options), err);
	}
	how = options ? *options : how;
	if ((st = scatter_check(array, indexes, values, op, err))
	    || (st = indexing_check_mode(how.mode, err))
	    || (st = stream_pick(&s.stream, array_device(array), how.stream, err))
	    || (how.mode == KZ_INDEX_CHECK
		&& (st = indexing_check_wait(indexes, s.stream, err)))) {
		return st;
	}
	kz_shape shape = array->shape.ndim ? array->shape : KZ_SHAPE(1);
	if ((st = axis_resolve(&how.axis, &shape, err))
	    || (st = indexing_shape_taken(&taken, &shape, &indexes->shape, how.axis, err))) {
		return st;
	}
	for (int64_t i = 0; i < shape.ndim; i++) {
		if (i != how.axis) {
			*(i < how.axis ? &s.outer : &s.inner) *= shape.dims[i];
		}
	}
	s.extent = shape.dims[how.axis];
	s.count = indexes->count;
	s.mode = (int)how.mode;
	s.unordered = how.unordered != 0;
	const struct index_range range = indexing_range(how.axis, s.extent, how.mode);
	if (!(st = indexing_spread(&s.values, values, array->dtype, &taken, s.stream, err))
	    && !(st = indexing_prepare(&s.indexes, indexes, &range, s.stream, err))) {
		st = scatter_into(array, &s, err);
	}
	kz_array_release(s.values);
	kz_array_release(s.indexes);
	return st;
}

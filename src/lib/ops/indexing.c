/* SPDX-License-Identifier: MIT */
/*
 * Elements by their indexes: take, take_along_axis, put, nonzero, compress.
 *
 * The kernels (kernels/indexing.cuh) take row-major elements of some size, and indexes of int64.
 * Any other array is copied to that first.  Each block has a fixed number of elements, so results
 * do not depend on how many blocks run at once.
 *
 * How many elements are not zero is known only after each block has counted its own.  The host adds
 * the counts up, and the running sums tell each block where to write.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/overlap.h"
#include "base/alloc.h"
#include "lib/ops/device_code.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/indexing.h"
#include "lib/ops/kernels.h"
#include "lib/array/shape.h"

#include <kudzu/view.h>

#include <string.h>

enum { CHUNK = 8192, BLOCK = 256 };

/* Kernels */

enum kernel { CHECK, TAKE, TAKE_ALONG, PUT, COUNT, PLACES, SPLIT };

static const char *const kernel_names[] = {"CHECK", "TAKE", "TAKE_ALONG", "PUT", "COUNT",
	"PLACES", "SPLIT"};

struct wanted {
	int64_t kernel; /* enum kernel */
	int64_t element_size;
};

static void indexing_write_source(struct str *source, const void *context)
{
	const struct wanted *wanted = context;
	int64_t size = wanted->element_size;
	const char *type = size == 1 ? "unsigned char" : size == 2 ? "unsigned short"
		: size == 4 ? "unsigned int" : size == 8 ? "unsigned long long"
		: size == 16 ? "ulonglong2" : NULL;
	str_addf(source, "#define KZ_%s\n", kernel_names[wanted->kernel]);
	if (type) {
		str_addf(source, "typedef %s kz_element;\n", type);
	} else {
		str_addf(source, "struct __align__(%lld) kz_element { char bytes[%lld]; };\n",
			(long long)(size % 16 == 0 ? 16 : size & -size), (long long)size);
	}
	str_add(source, device_chunks);
	str_add(source, device_indexing);
}

/* Run a kernel over `count` elements in chunks; `arrays` are what it uses. */
struct run {
	enum kernel kernel;
	int64_t element_size;
	int64_t count;
	void **params;
	struct kz_array *arrays[3];
};

static const struct kernel_family indexing_family = {
	"index", indexing_write_source, { /* `each`: the most bytes that are moved as one element */
		[SCHEDULE_MANY] = {.threads = BLOCK, .tile = CHUNK, .each = 16},
		[SCHEDULE_ONE] = {.threads = 1, .tile = CHUNK, .each = 8},
	},
};

static kz_status indexing_run_kernel(struct kz_stream *stream, const struct run *run, kz_error *err)
{
	const struct wanted wanted = {run->kernel, run->element_size};
	const struct kernels_run launch = {
		.want = {&indexing_family, &wanted, sizeof(wanted),
			.what = kernel_names[run->kernel]},
		.stream = stream, .grid = kz_dim(divide_up(run->count, CHUNK), 1, 1),
		.params = run->params, .arrays = run->arrays, .array_count = countof(run->arrays),
	};
	return run->count ? kernels_run(&launch, err) : KZ_OK;
}

/* Indexes */

kz_status indexing_check_as(const struct kz_array *array, const struct kz_array *indexes,
	const char *const names[2], const char *what, kz_error *err)
{
	kz_status st;
	if ((st = object_check_as(array, OBJECT_ARRAY, names[0], err))
	    || (st = object_check_as(indexes, OBJECT_ARRAY, names[1], err))
	    || (st = array_same_device(what, array, indexes, err))) {
		return st;
	}
	if (!dtype_is_integer(indexes->dtype)) {
		return error_set(err, KZ_INVALID, "%s: expected integers as indexes, got %s", what,
			dtype_refused(indexes->dtype));
	}
	return KZ_OK;
}

kz_status indexing_check_wait(const struct kz_array *array, struct kz_stream *stream, kz_error *err)
{
	kz_status st = stream_check_free(stream, err);
	return st ? st : array_check_capture(array, err);
}

/* The value of one index, for an error. */
static kz_status indexing_report_bad(struct kz_array *indexes, int64_t place,
	const struct index_range *range, kz_error *err)
{
	int64_t index = 0;
	kz_status st = kz_copy_dtoh(&index, sizeof(index), indexes->buffer,
		indexes->offset + place * (int64_t)sizeof(index), err);
	return st ? st : error_set(err, KZ_RANGE,
		"index %lld, at place %lld of the indexes, is out of range for %s of %lld",
		(long long)index, (long long)place, range->where, (long long)range->extent);
}

/* Check that all indexes, contiguous int64, are in the range. */
static kz_status indexing_check_range(struct kz_array *indexes, const struct index_range *range,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *bad = NULL;
	int64_t low = range->low, extent = range->extent;
	const uint64_t none = UINT64_MAX;
	uint64_t place = none;
	kz_status st = kz_array_full_on(&bad, stream->device, KZ_U64, KZ_SHAPE(), &none,
		sizeof(none), stream, err);
	if (st) {
		return st;
	}
	CUdeviceptr address[2] = {array_address(indexes), array_address(bad)};
	void *params[] = {&address[0], &indexes->count, &low, &extent, &address[1]};
	struct run run = {CHECK, 8, indexes->count, params, {indexes, bad}};
	if (!(st = indexing_run_kernel(stream, &run, err))
	    && !(st = kz_array_get(bad, &place, sizeof(place), err)) && place != none) {
		st = indexing_report_bad(indexes, (int64_t)place, range, err);
	}
	kz_array_release(bad);
	return st;
}

/* Indexes of uint64 beyond int64 become others that are as good, or as bad. */
static kz_status indexing_fit(struct kz_array **out, struct kz_array *indexes,
	const struct index_range *range, struct kz_stream *stream, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = stream};
	if (indexes->dtype != KZ_U64) {
		*out = kz_array_retain(indexes);
		return KZ_OK;
	}
	return range->mode == KZ_INDEX_WRAP
		? kz_apply(out, KZ_OP_REMAINDER, &options, err, KZ_ARGS(indexes, range->extent))
		: kz_apply(out, KZ_OP_MINIMUM, &options, err, KZ_ARGS(indexes, INT64_MAX));
}

struct index_range indexing_range(int64_t axis, int64_t extent, kz_index_mode mode)
{
	struct index_range range = {.low = -extent, .extent = extent, .mode = mode};
	snprintf(range.where, sizeof(range.where), "axis %lld, which has an extent",
		(long long)axis);
	return range;
}

kz_status indexing_prepare(struct kz_array **out, struct kz_array *indexes,
	const struct index_range *range, struct kz_stream *stream, kz_error *err)
{
	struct kz_array *small = NULL;
	kz_status st = indexing_fit(&small, indexes, range, stream, err);
	st = st ? st : elementwise_contiguous(out, small, KZ_I64, stream, err);
	kz_array_release(small);
	if (st) {
		return st;
	}
	if (indexes->count && range->extent == 0) {
		st = error_set(err, KZ_RANGE, "indexes into %s of 0", range->where);
	} else if (range->mode == KZ_INDEX_CHECK && indexes->count) {
		st = indexing_check_range(*out, range, stream, err);
	}
	if (st) {
		kz_array_release(*out);
		*out = NULL;
	}
	return st;
}

kz_status indexing_check_mode(kz_index_mode mode, kz_error *err)
{
	return mode >= KZ_INDEX_CHECK && mode <= KZ_INDEX_CLIP ? KZ_OK
		: error_set(err, KZ_INVALID, "%d is not a kz_index_mode", (int)mode);
}

/* Take */

kz_status indexing_shape_taken(kz_shape *out, const kz_shape *shape, const kz_shape *indexes,
	int64_t axis, kz_error *err)
{
	*out = (kz_shape){.ndim = shape->ndim - 1 + indexes->ndim};
	if (out->ndim > KZ_MAX_DIMS) {
		return error_set(err, KZ_INVALID, "the result would have %lld extents, at most %d "
			"are possible", (long long)out->ndim, KZ_MAX_DIMS);
	}
	for (int64_t i = 0; i < axis; i++) {
		out->dims[i] = shape->dims[i];
	}
	for (int64_t i = 0; i < indexes->ndim; i++) {
		out->dims[axis + i] = indexes->dims[i];
	}
	for (int64_t i = axis + 1; i < shape->ndim; i++) {
		out->dims[i - 1 + indexes->ndim] = shape->dims[i];
	}
	return KZ_OK;
}

/* Rows of a multiple of 2 to 16 bytes are copied in words of that size: *size of an element, and
 * *inner of a row, become others for the same bytes.  `addresses` are those of all arrays,
 * or'ed. */
static void indexing_widen_rows(int64_t *size, int64_t *inner, CUdeviceptr addresses, int64_t most)
{
	const uint64_t bits = (uint64_t)(*size * *inner) | addresses | (uint64_t)most;
	const int64_t word = (int64_t)(bits & -bits);
	if (*inner > 1 && word > *size) {
		*inner = *inner * *size / word;
		*size = word;
	}
}

/* Both arrays are contiguous, the indexes are good; `shape` is the array's, but (1) for a 0-d one.
 * */
static kz_status indexing_take(kz_array **out, const struct indexing *from, const kz_shape *shape,
	kz_error *err)
{
	struct kz_array *const array = from->array, *const indexes = from->indexes, *result = NULL;
	struct kz_stream *stream = from->stream;
	kz_shape wanted;
	int how = (int)from->mode;
	int64_t axis = from->axis, inner = 1;
	kz_status st;
	if ((st = indexing_shape_taken(&wanted, shape, &indexes->shape, axis, err))
	    || (st = array_create_on(&result, stream->device, array->dtype, &wanted, stream,
		err))) {
		return st;
	}
	for (int64_t i = axis + 1; i < shape->ndim; i++) {
		inner *= shape->dims[i];
	}
	int64_t extent = shape->dims[axis];
	CUdeviceptr address[3] = {array_address(result), array_address(array),
		array_address(indexes)};
	int64_t size = kz_dtype_size(array->dtype), total = result->count * size;
	indexing_widen_rows(&size, &inner, address[0] | address[1],
		schedule_of(indexing_family.schedules, stream->device)->each);
	total /= size;
	void *params[] = {&address[0], &address[1], &address[2], &total, &indexes->count, &extent,
		&inner, &how};
	struct run run = {TAKE, size, total, params, {result, array, indexes}};
	return array_finish(out, result, indexing_run_kernel(stream, &run, err));
}

/* Check a call that takes elements, but for its axis. */
static kz_status indexing_check_taking(struct indexing *taking, const char *what, kz_error *err)
{
	kz_status st;
	if ((st = indexing_check_mode(taking->mode, err))
	    || (st = indexing_check_as(taking->array, taking->indexes,
		(const char *const[2]){"array", "indexes"}, what, err))
	    || (st = stream_pick(&taking->stream, array_device(taking->array), taking->stream,
		err))) {
		return st;
	}
	return taking->mode == KZ_INDEX_CHECK
		? indexing_check_wait(taking->indexes, taking->stream, err) : KZ_OK;
}

/* The array's shape, but (1) for a 0-d one. */
static kz_shape indexing_shape(const struct kz_array *array)
{
	return array->shape.ndim ? array->shape : KZ_SHAPE(1);
}

kz_status indexing_check_take(struct indexing *taking, kz_error *err)
{
	kz_status st = indexing_check_taking(taking, "take", err);
	if (st) {
		return st;
	}
	const kz_shape shape = indexing_shape(taking->array);
	kz_shape wanted;
	if ((st = axis_resolve(&taking->axis, &shape, err))
	    || (st = indexing_shape_taken(&wanted, &shape, &taking->indexes->shape, taking->axis,
		err))) {
		return st;
	}
	taking->range = indexing_range(taking->axis, shape.dims[taking->axis], taking->mode);
	return KZ_OK;
}

kz_status indexing_take_checked(kz_array **out, const struct indexing *taking,
	struct kz_array *places, kz_error *err)
{
	const kz_shape shape = indexing_shape(taking->array);
	struct indexing plain = *taking;
	plain.indexes = places;
	kz_status st = elementwise_contiguous(&plain.array, taking->array, taking->array->dtype,
		taking->stream, err);
	if (st) {
		return st;
	}
	st = indexing_take(out, &plain, &shape, err);
	kz_array_release(plain.array);
	return st;
}

static kz_status indexing_do_take(kz_array **out, struct indexing taking, kz_error *err)
{
	struct kz_array *places = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), taking.call, err))
	    || (st = indexing_check_take(&taking, err))
	    || (st = indexing_prepare(&places, taking.indexes, &taking.range, taking.stream,
		err))) {
		return st;
	}
	st = indexing_take_checked(out, &taking, places, err);
	kz_array_release(places);
	return st;
}

kz_status kz_array_take(kz_array **out, kz_array *array, kz_array *indexes, int64_t axis,
	kz_index_mode mode, kz_error *err)
{
	error_scope(err);
	return indexing_do_take(out,
		(struct indexing){__func__, array, indexes, axis, mode, .stream = NULL}, err);
}

kz_status kz_array_take_on(kz_array **out, kz_array *array, kz_array *indexes, int64_t axis,
	kz_index_mode mode, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	return indexing_do_take(out,
		(struct indexing){__func__, array, indexes, axis, mode, .stream = stream}, err);
}

/* Take along an axis */

/* Other extents than the axis' broadcast: *both is that shape for the array, and *wanted the one of
 * the result. */
static kz_status indexing_find_shapes(kz_shape *both, kz_shape *wanted,
	const struct kz_array *array, const struct kz_array *indexes, int64_t axis, kz_error *err)
{
	kz_shape one[2] = {array->shape, indexes->shape};
	if (array->shape.ndim != indexes->shape.ndim) {
		return error_set(err, KZ_INVALID, "take_along_axis: expected indexes of as many "
			"extents as the array, got shapes %s and %s",
			shape_text(&array->shape).text, shape_text(&indexes->shape).text);
	}
	one[0].dims[axis] = 1;
	one[1].dims[axis] = 1;
	if (shape_broadcast(both, one[0], one[1], NULL)) {
		return error_set(err, KZ_INVALID, "take_along_axis: shapes %s and %s do not fit "
			"beside axis %lld", shape_text(&array->shape).text,
			shape_text(&indexes->shape).text, (long long)axis);
	}
	*wanted = *both;
	both->dims[axis] = array->shape.dims[axis];
	wanted->dims[axis] = indexes->shape.dims[axis];
	return KZ_OK;
}

kz_status indexing_spread(struct kz_array **out, struct kz_array *array, kz_dtype dtype,
	const kz_shape *shape, struct kz_stream *stream, kz_error *err)
{
	struct kz_array *view = NULL;
	kz_status st = kz_array_broadcast_to(&view, array, *shape, err);
	st = st ? st : elementwise_contiguous(out, view, dtype, stream, err);
	kz_array_release(view);
	return st;
}

/* All are contiguous and of their shapes, the indexes are good. */
static kz_status indexing_take_along(kz_array **out, const struct indexing *taking, kz_error *err)
{
	struct kz_array *from = taking->array, *places = taking->indexes, *result = NULL;
	struct kz_stream *stream = taking->stream;
	int how = (int)taking->mode;
	int64_t extent = from->shape.dims[taking->axis], count = places->shape.dims[taking->axis];
	int64_t inner = 1;
	kz_status st = array_create_on(&result, stream->device, from->dtype, &places->shape, stream,
		err);
	if (st) {
		return st;
	}
	for (int64_t i = taking->axis + 1; i < from->shape.ndim; i++) {
		inner *= from->shape.dims[i];
	}
	CUdeviceptr address[3] = {array_address(result), array_address(from),
		array_address(places)};
	void *params[] = {&address[0], &address[1], &address[2], &result->count, &count, &extent,
		&inner, &how};
	struct run run = {TAKE_ALONG, kz_dtype_size(from->dtype), result->count, params,
		{result, from, places}};
	return array_finish(out, result, indexing_run_kernel(stream, &run, err));
}

static kz_status indexing_do_take_along(kz_array **out, struct indexing taking, kz_error *err)
{
	struct kz_array *array = taking.array, *good = NULL, *from = NULL, *places = NULL;
	kz_shape both = {.ndim = 0}, wanted = {.ndim = 0};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), taking.call, err))
	    || (st = indexing_check_taking(&taking, "take_along_axis", err))
	    || (st = axis_resolve(&taking.axis, &array->shape, err))
	    || (st = indexing_find_shapes(&both, &wanted, array, taking.indexes, taking.axis,
		err))) {
		return st;
	}
	const struct index_range range = indexing_range(taking.axis, array->shape.dims[taking.axis],
		taking.mode);
	if (!(st = indexing_prepare(&good, taking.indexes, &range, taking.stream, err))
	    && !(st = indexing_spread(&places, good, KZ_I64, &wanted, taking.stream, err))
	    && !(st = indexing_spread(&from, array, array->dtype, &both, taking.stream, err))) {
		taking.array = from;
		taking.indexes = places;
		st = indexing_take_along(out, &taking, err);
	}
	kz_array_release(good);
	kz_array_release(places);
	kz_array_release(from);
	return st;
}

kz_status kz_array_take_along_axis(kz_array **out, kz_array *array, kz_array *indexes, int64_t axis,
	kz_index_mode mode, kz_error *err)
{
	error_scope(err);
	return indexing_do_take_along(out,
		(struct indexing){__func__, array, indexes, axis, mode, .stream = NULL}, err);
}

kz_status kz_array_take_along_axis_on(kz_array **out, kz_array *array, kz_array *indexes,
	int64_t axis, kz_index_mode mode, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	return indexing_do_take_along(out,
		(struct indexing){__func__, array, indexes, axis, mode, .stream = stream}, err);
}

/* Put */

/* `to` and the others are contiguous, the indexes good. */
static kz_status indexing_put(struct kz_array *to, struct kz_array *indexes,
	struct kz_array *values, kz_index_mode mode, struct kz_stream *stream, kz_error *err)
{
	int how = (int)mode;
	CUdeviceptr address[3] = {array_address(to), array_address(values), array_address(indexes)};
	void *params[] = {&address[0], &address[1], &address[2], &indexes->count, &values->count,
		&to->count, &how};
	struct run run = {PUT, kz_dtype_size(to->dtype), indexes->count, params,
		{to, values, indexes}};
	return indexing_run_kernel(stream, &run, err);
}

/* Into an array with gaps, or one that shares memory with what is read: through a row-major copy of
 * it. */
static kz_status indexing_put_by_copy(struct kz_array *to, struct kz_array *indexes,
	struct kz_array *values, kz_index_mode mode, struct kz_stream *stream, kz_error *err)
{
	struct kz_array *copy = NULL;
	kz_status st;
	if (!(st = array_create_on(&copy, stream->device, to->dtype, &to->shape, stream, err))
	    && !(st = kz_array_assign_on(copy, to, stream, err))
	    && !(st = indexing_put(copy, indexes, values, mode, stream, err))) {
		st = kz_array_assign_on(to, copy, stream, err);
	}
	kz_array_release(copy);
	return st;
}

kz_status indexing_check_put(struct indexing *putting, const struct kz_array *values, kz_error *err)
{
	const struct kz_array *array = putting->array, *indexes = putting->indexes;
	const kz_index_mode mode = putting->mode;
	struct strided elements;
	kz_status st;
	if ((st = indexing_check_mode(mode, err))
	    || (st = indexing_check(array, indexes, "put", err))
	    || (st = object_check(values, OBJECT_ARRAY, err))
	    || (st = array_same_device("put", array, values, err))) {
		return st;
	}
	if (!kz_dtype_can_cast(values->dtype, array->dtype)) {
		return error_set(err, KZ_INVALID, "put: %s does not fit into %s",
			dtype_refused(values->dtype), dtype_refused(array->dtype));
	}
	if (indexes->count && !values->count) {
		return error_set(err, KZ_INVALID, "put: %lld indexes, but no values",
			(long long)indexes->count);
	}
	elements = array_elements(array);
	if ((st = strided_distinct(&elements, "an array", err))
	    || (st = stream_pick(&putting->stream, array_device(array), putting->stream, err))) {
		return st;
	}
	putting->range = (struct index_range){-array->count, array->count, "an array", mode};
	return mode == KZ_INDEX_CHECK ? indexing_check_wait(indexes, putting->stream, err) : KZ_OK;
}

kz_status indexing_put_checked(const struct indexing *putting, struct kz_array *places,
	struct kz_array *values, kz_error *err)
{
	struct kz_array *array = putting->array;
	const bool direct = array_is_contiguous(array) && !overlap_memory(array, values)
		&& !overlap_memory(array, places);
	return (direct ? indexing_put : indexing_put_by_copy)(array, places, values, putting->mode,
		putting->stream, err);
}

static kz_status indexing_do_put(struct indexing putting, kz_array *values, kz_error *err)
{
	struct kz_array *places = NULL, *from = NULL;
	kz_status st;
	if ((st = indexing_check_put(&putting, values, err))
	    || (st = indexing_prepare(&places, putting.indexes, &putting.range, putting.stream,
		err))) {
		return st;
	}
	if (!(st = elementwise_contiguous(&from, values, putting.array->dtype, putting.stream,
		err))) {
		st = indexing_put_checked(&putting, places, from, err);
	}
	kz_array_release(places);
	kz_array_release(from);
	return st;
}

kz_status kz_array_put(kz_array *array, kz_array *indexes, kz_array *values, kz_index_mode mode,
	kz_error *err)
{
	error_scope(err);
	const struct indexing putting = {__func__, array, indexes, 0, mode, .stream = NULL};
	return indexing_do_put(putting, values, err);
}

kz_status kz_array_put_on(kz_array *array, kz_array *indexes, kz_array *values, kz_index_mode mode,
	kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct indexing putting = {__func__, array, indexes, 0, mode, .stream = stream};
	return indexing_do_put(putting, values, err);
}

/* Nonzero */

/* Sums of all chunks before, to the device; *total of all. */
static kz_status indexing_sum_counts(struct kz_array *counts, int64_t *total, kz_error *err)
{
	int64_t *host = mem_alloc((size_t)counts->count * sizeof(*host) + 1);
	*total = 0;
	if (!host) {
		return error_no_memory(err);
	}
	int64_t size = counts->count * (int64_t)sizeof(*host);
	kz_status st = kz_array_get(counts, host, size, err);
	for (int64_t i = 0; !st && i < counts->count; i++) {
		int64_t count = host[i];
		host[i] = *total;
		*total += count;
	}
	st = st ? st : kz_array_set(counts, host, size, err);
	mem_free(host);
	return st;
}

/* The places, counted row-major, of the bytes that are not 0; `mask` is contiguous bool. */
static kz_status indexing_find_places(kz_array **out, struct kz_array *mask,
	struct kz_stream *stream, kz_error *err)
{
	const kz_shape chunks = KZ_SHAPE(divide_up(mask->count, CHUNK));
	struct kz_array *counts = NULL;
	struct kz_array *places = NULL;
	int64_t total = 0;
	kz_status st = array_create_on(&counts, stream->device, KZ_I64, &chunks, stream, err);
	if (st) {
		return st;
	}
	CUdeviceptr address[3] = {array_address(counts), array_address(mask), 0};
	void *count_params[] = {&address[0], &address[1], &mask->count};
	struct run count = {COUNT, 1, mask->count, count_params, {counts, mask}};
	if (!(st = indexing_run_kernel(stream, &count, err))
	    && !(st = indexing_sum_counts(counts, &total, err))
	    && !(st = kz_array_create_on(&places, stream->device, KZ_I64, KZ_SHAPE(total), stream,
		err))) {
		address[2] = array_address(places);
		void *place_params[] = {&address[2], &address[1], &address[0], &mask->count};
		struct run find = {PLACES, 1, total ? mask->count : 0, place_params,
			{places, mask, counts}};
		st = indexing_run_kernel(stream, &find, err);
	}
	kz_array_release(counts);
	return array_finish(out, places, st);
}

/* array != 0, contiguous */
static kz_status indexing_mask(kz_array **out, struct kz_array *array, struct kz_stream *stream,
	kz_error *err)
{
	if (!dtype_is_number(array->dtype)) {
		error_set(err, KZ_INVALID, "%s has no zero", dtype_refused(array->dtype));
		return KZ_INVALID;
	}
	return elementwise_contiguous(out, array, KZ_BOOL, stream, err);
}

/* Row `axis` of the result: where the places lie along that axis.  They become those along the axes
 * before it. */
static kz_status indexing_write_axis(struct kz_array *result, struct kz_array *places, int64_t axis,
	int64_t extent, struct kz_stream *stream, kz_error *err)
{
	CUdeviceptr address[2] = {array_address(result)
		+ (CUdeviceptr)(axis * places->count * (int64_t)sizeof(int64_t)),
		array_address(places)};
	void *params[] = {&address[0], &address[1], &places->count, &extent};
	struct run run = {SPLIT, 8, places->count, params, {result, places}};
	return indexing_run_kernel(stream, &run, err);
}

/* The rows of all axes; the places are used up. */
static kz_status indexing_split_places(kz_array **out, struct kz_array *places,
	const kz_shape *shape, struct kz_stream *stream, kz_error *err)
{
	struct kz_array *result = NULL, *row = NULL;
	if (shape->ndim == 1) {
		return kz_array_view(out, places, KZ_SHAPE(1, places->count), NULL, 0, err);
	}
	kz_status st = kz_array_create_on(&result, stream->device, KZ_I64,
		KZ_SHAPE(shape->ndim, places->count), stream, err);
	for (int64_t i = shape->ndim - 1; !st && i > 0; i--) {
		st = indexing_write_axis(result, places, i, shape->dims[i], stream, err);
	}
	if (!st && places->count
	    && !(st = kz_array_view(&row, result, KZ_SHAPE(places->count), NULL, 0,
			err))) {
		st = kz_array_assign_on(row, places, stream, err);
	}
	kz_array_release(row);
	return array_finish(out, result, st);
}

static kz_status indexing_do_nonzero(kz_array **out, kz_array *array, kz_stream *stream,
	const char *call, kz_error *err)
{
	struct kz_array *mask = NULL;
	struct kz_array *places = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), call, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = stream_pick(&stream, array_device(array), stream, err))
	    || (st = indexing_check_wait(array, stream, err))
	    || (st = indexing_mask(&mask, array, stream, err))) {
		return st;
	}
	kz_shape shape = array->shape.ndim ? array->shape : KZ_SHAPE(1);
	if (!(st = indexing_find_places(&places, mask, stream, err))) {
		st = indexing_split_places(out, places, &shape, stream, err);
	}
	kz_array_release(mask);
	kz_array_release(places);
	return st;
}

kz_status kz_array_nonzero(kz_array **out, kz_array *array, kz_error *err)
{
	error_scope(err);
	return indexing_do_nonzero(out, array, NULL, __func__, err);
}

kz_status kz_array_nonzero_on(kz_array **out, kz_array *array, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	return indexing_do_nonzero(out, array, stream, __func__, err);
}

static kz_status indexing_do_compress(kz_array **out, kz_array *array, kz_array *mask,
	kz_stream *stream, const char *call, kz_error *err)
{
	struct kz_array *from = NULL;
	struct kz_array *bytes = NULL;
	struct kz_array *places = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), call, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = pointer_check(mask, "a mask", err))
	    || (st = object_check(mask, OBJECT_ARRAY, err))
	    || (st = array_same_device("compress", array, mask, err))
	    || (st = stream_pick(&stream, array_device(array), stream, err))
	    || (st = indexing_check_wait(mask, stream, err))) {
		return st;
	}
	if (!shape_equal(&array->shape, &mask->shape)) {
		return error_set(err, KZ_INVALID, "expected a mask of shape %s, got %s",
			shape_text(&array->shape).text, shape_text(&mask->shape).text);
	}
	if (!(st = indexing_mask(&bytes, mask, stream, err))
	    && !(st = indexing_find_places(&places, bytes, stream, err))
	    && !(st = elementwise_contiguous(&from, array, array->dtype, stream, err))) {
		const struct indexing taking = {call, from, places, 0, KZ_INDEX_CHECK,
			.stream = stream};
		st = indexing_take(out, &taking, &KZ_SHAPE(array->count), err);
	}
	kz_array_release(bytes);
	kz_array_release(places);
	kz_array_release(from);
	return st;
}

kz_status kz_array_compress(kz_array **out, kz_array *array, kz_array *mask, kz_error *err)
{
	error_scope(err);
	return indexing_do_compress(out, array, mask, NULL, __func__, err);
}

kz_status kz_array_compress_on(kz_array **out, kz_array *array, kz_array *mask, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	return indexing_do_compress(out, array, mask, stream, __func__, err);
}

/* SPDX-License-Identifier: MIT */
/*
 * How often values occur (kernels/histogram.cuh): histogram, bincount.
 *
 * Counting takes elements without gaps that are numbers of bins, or values of which the kernel
 * finds the bin.  Edges at any distance are searched first (src/lib/order/search.c), which leaves
 * numbers of bins.
 *
 * The greatest number, which bincount has to know, comes out of the same pass: it counts as if all
 * were below GUESS, and counts once more if some are not.
 */
#include "base/common.h"

#include "lib/order/search.h"
#include "lib/ops/device_code.h"
#include "kernels/histogram.cuh"
#include "lib/ops/indexing.h"
#include "lib/ops/kernels.h"

#include <kudzu/create.h>
#include <kudzu/histogram.h>
#include <kudzu/reduce.h>
#include <kudzu/view.h>

#include <math.h>
#include <string.h>

enum { BLOCK = 256, GUESS = 1023, SHARED_ROOM = 32768 };

/* What is counted. */
struct histogram {
	struct kz_array *from;     /* 1-d without gaps; numbers of bins, or values */
	struct kz_array *weights;  /* as many float64 without gaps; or NULL */
	struct kz_array *edges;    /* of bins of equal width, without gaps; NULL: `from` has numbers
	                              of bins */
	int64_t bins;
	double low, high;
	struct kz_stream *stream;
};

/* Kernels */

struct histogram_class {
	kz_dtype dtype, edge;
	uint8_t weighted, shared, ways, combine;
};

static void histogram_write(struct str *source, const void *context)
{
	const struct histogram_class *class = context;
	generate_prelude(source, dtype_bit(class->dtype) | dtype_bit(class->edge), false);
	str_add(source, "typedef ");
	generate_storage(source, class->dtype);
	str_add(source, " kz_stored;\n");
	if (class->edge) {
		str_add(source, "#define KZ_UNIFORM\n"
			"static __device__ inline double kz_load(kz_stored a) { return ");
		generate_load(source, class->dtype, "a");
		str_add(source, "; }\ntypedef ");
		generate_storage(source, class->edge);
		str_add(source, " kz_stored_edge;\n"
			"static __device__ inline double kz_edge(kz_stored_edge a) { return ");
		generate_load(source, class->edge, "a");
		str_add(source, "; }\n");
	}
	str_addf(source, "#define KZ_WAYS %d\n%s%s%s%s", class->ways,
		class->weighted ? "#define KZ_WEIGHTED\n" : "",
		class->shared ? "#define KZ_SHARED\n" : "",
		class->combine ? "#define KZ_COMBINE\n" : "", device_histogram);
}

struct histogram_launch {
	struct histogram_class class;
	int64_t blocks, shared_size;
	void **params;
	struct kz_array *arrays[5];
};

static const struct kernel_family histogram_family = {
	"histogram", histogram_write, {[SCHEDULE_MANY] = {BLOCK}, [SCHEDULE_ONE] = {1}},
};
static const struct kernel_family histogram_sums = {
	"histogram", histogram_write, {[SCHEDULE_MANY] = {BLOCK}, [SCHEDULE_ONE] = {BLOCK}},
};

static kz_status histogram_launch(const struct histogram_launch *launch, struct kz_stream *stream,
	kz_error *err)
{
	const struct kernels_run run = {
		.want = {launch->class.combine ? &histogram_sums : &histogram_family,
			&launch->class, sizeof(launch->class)},
		.stream = stream,
		.grid = kz_dim(launch->blocks, 1, 1), .shared_size = launch->shared_size,
		.params = launch->params, .arrays = launch->arrays,
		.array_count = countof(launch->arrays),
	};
	return kernels_run(&run, err);
}

static inline int64_t histogram_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Tiles, and the rows of counters that all of them have.  Sums of weights depend on them, so they
 * follow from the sizes alone; a thread of a tile clears and adds up less than it counts. */
static int64_t histogram_tile(struct kz_plan *plan, struct histogram_class *class,
	const struct schedule *schedule)
{
	const int64_t slots = plan->bins + 1;
	bool shares = !class->weighted && schedule->threads > 1;
	int64_t least = shares ? 64 * BLOCK : histogram_max(8 * slots, 32768);
	plan->tiles = histogram_max(plan->count / least, 1);
	if (shares) {
		class->ways = 1;
		class->shared = slots * 4 <= SHARED_ROOM;
	} else {
		plan->tiles = min64(plan->tiles, 64);
		class->ways = slots <= 2048 ? 4 : 1;
	}
	plan->tile = divide_up(plan->count, plan->tiles);
	plan->tiles = divide_up(plan->count, plan->tile);
	return shares ? 1 : plan->tiles * class->ways;
}

/* Add the rows up to the first elements of `to`. */
static kz_status histogram_combine(const struct histogram *what, struct kz_array *to,
	struct kz_array *tables, int64_t rows, kz_error *err)
{
	int64_t slots = what->bins + 1, bins = min64(what->bins, to->count);
	CUdeviceptr address[2] = {array_address(to), array_address(tables)};
	void *params[] = {&address[0], &address[1], &rows, &slots, &bins};
	struct histogram_launch launch = {
		.class = {.dtype = KZ_U8, .weighted = !!what->weights, .combine = 1, .ways = 1},
		.blocks = min64(divide_up(bins, BLOCK), 1024), .params = params,
		.arrays = {to, tables},
	};
	return bins ? histogram_launch(&launch, what->stream, err) : KZ_OK;
}

/* How far from an edge, in bins, an element's quotient may be off: by the rounding of edges to
 * their type, also where that is to a multiple of the least number, and by that of float64 on the
 * way. */
static double histogram_slack(const struct histogram *what, double scale)
{
	kz_dtype edge = what->edges->dtype;
	double unit = edge == KZ_F16 ? 0x1p-11 : edge == KZ_BF16 ? 0x1p-8 : edge == KZ_F32 ? 0x1p-24
		: 0x1p-53;
	double least = edge == KZ_F16 ? 0x1p-24 : edge == KZ_BF16 ? 0x1p-133
		: edge == KZ_F32 ? 0x1p-149 : 0x1p-1074;
	double largest = fmax(fabs(what->low), fabs(what->high)) * scale;
	return unit * largest + least * scale + 0x1p-49 * (largest + (double)what->bins);
}

/* Tables of the counts, rows * (bins + 1), for at least one element. */
static kz_status histogram_count(struct kz_array **out, int64_t *rows, const struct histogram *what,
	struct kz_array *seen, kz_error *err)
{
	struct kz_array *tables = NULL;
	const struct kz_array *weights = what->weights;
	struct kz_plan plan = {
		.count = what->from->count, .bins = what->bins, .low = what->low,
		.scale = (double)what->bins / (what->high - what->low),
	};
	plan.slack = what->edges ? histogram_slack(what, plan.scale) : 0;
	struct histogram_launch launch = {
		.class = {.dtype = what->from->dtype, .edge = what->edges ? what->edges->dtype : 0,
			.weighted = !!weights},
		.arrays = {NULL, what->from, seen, what->weights, what->edges},
	};
	const struct schedule *schedule = schedule_of(histogram_family.schedules,
		what->stream->device);
	*rows = histogram_tile(&plan, &launch.class, schedule);
	bool parts = launch.class.weighted && schedule->threads > 1;
	launch.blocks = plan.tiles * (parts ? divide_up(plan.bins + 1, BLOCK) : 1);
	launch.shared_size = launch.class.shared ? (plan.bins + 1) * 4 : 0;
	const kz_shape shape = KZ_SHAPE(*rows, plan.bins + 1);
	kz_dtype dtype = weights ? KZ_F64 : KZ_U64;
	kz_status st = schedule->threads == 1 || launch.class.weighted
		? array_create_on(&tables, what->stream->device, dtype, &shape, what->stream, err)
		: kz_array_zeros_on(&tables, what->stream->device, dtype, shape, what->stream, err);
	if (st) {
		return st;
	}
	CUdeviceptr address[5] = {array_address(tables), array_address(what->from),
		weights ? array_address(weights) : 0, array_address(seen),
		what->edges ? array_address(what->edges) : 0};
	void *params[] = {&address[0], &address[1], &address[2], &address[3], &address[4], &plan};
	launch.params = params;
	launch.arrays[0] = tables;
	return array_finish(out, tables, histogram_launch(&launch, what->stream, err));
}

/* Count, and add up to the first elements of `to`, zeros; for values, and numbers of bins that are
 * good. */
static kz_status histogram_run(struct kz_array *to, const struct histogram *what, kz_error *err)
{
	struct kz_array *seen = NULL, *tables = NULL;
	int64_t rows;
	const struct kz_array *from = what->from;
	if (!from || from->count == 0) {
		return KZ_OK;
	}
	kz_status st = kz_array_zeros_on(&seen, what->stream->device, KZ_U64, KZ_SHAPE(2),
		what->stream, err);
	if (!st && !(st = histogram_count(&tables, &rows, what, seen, err))) {
		st = histogram_combine(what, to, tables, rows, err);
	}
	kz_array_release(seen);
	kz_array_release(tables);
	return st;
}

/* Callers */

/* Weights as float64 without gaps; *out is NULL without weights. */
static kz_status histogram_weights(struct kz_array **out, struct kz_array *weights,
	const struct kz_array *array, struct kz_stream *stream, const char *call, kz_error *err)
{
	kz_status st;
	*out = NULL;
	if (!weights) {
		return KZ_OK;
	}
	if ((st = object_check(weights, OBJECT_ARRAY, err))
	    || (st = array_same_device(call, array, weights, err))) {
		return st;
	}
	if (!shape_equal(&array->shape, &weights->shape)) {
		return error_set(err, KZ_INVALID, "%s: expected weights of shape %s, got %s", call,
			shape_text(&array->shape).text, shape_text(&weights->shape).text);
	}
	if (!dtype_is_real(weights->dtype)) {
		return error_set(err, KZ_INVALID, "%s: expected real weights, got %s", call,
			dtype_refused(weights->dtype));
	}
	return elementwise_contiguous(out, weights, KZ_F64, stream, err);
}

/* Why a number is no bin, with the number. */
static kz_status histogram_refuse(struct kz_array *from, uint64_t place, struct kz_stream *stream,
	kz_error *err)
{
	struct kz_array *view = NULL, *wide = NULL;
	int64_t value = 0;
	kz_status st;
	if (!(st = kz_array_view(&view, from, KZ_SHAPE(), NULL,
			(int64_t)place * kz_dtype_size(from->dtype), err))
	    && !(st = kz_array_astype_on(&wide, view, KZ_I64, stream, err))
	    && !(st = kz_array_get(wide, &value, sizeof(value), err))) {
		st = error_set(err, KZ_RANGE,
			"bincount: expected numbers of at least 0, got %lld at index %llu",
			(long long)value, (unsigned long long)place);
	}
	kz_array_release(view);
	kz_array_release(wide);
	return st;
}

/* Tables of as many bins as the greatest number wants: at least those of GUESS. */
static kz_status histogram_count_all(struct kz_array **tables, int64_t *rows, uint64_t *most,
	struct histogram *what, kz_error *err)
{
	struct kz_seen notes = {0, 0};
	struct kz_array *seen = NULL;
	kz_status st;
	what->bins = GUESS;
	if ((st = kz_array_zeros_on(&seen, what->stream->device, KZ_U64, KZ_SHAPE(2), what->stream,
		err))
	    || (st = histogram_count(tables, rows, what, seen, err))
	    || (st = kz_array_get(seen, &notes, sizeof(notes), err))) {
		goto done;
	}
	*most = notes.most;
	if (notes.negative) {
		st = histogram_refuse(what->from, ~notes.negative, what->stream, err);
	} else if (notes.most >= INT64_MAX / 64) {
		st = error_set(err, KZ_RANGE, "bincount: %llu is too large",
			(unsigned long long)notes.most);
	} else if (notes.most >= (uint64_t)what->bins) {
		kz_array_release(*tables);
		*tables = NULL;
		what->bins = (int64_t)notes.most + 1;
		st = histogram_count(tables, rows, what, seen, err);
	}
done:
	kz_array_release(seen);
	return st;
}

static kz_status histogram_bincount(kz_array **out, struct histogram *what, int64_t minlength,
	kz_error *err)
{
	struct kz_array *tables = NULL, *result = NULL;
	uint64_t most = 0;
	int64_t rows = 0;
	kz_status st = what->from->count ? histogram_count_all(&tables, &rows, &most, what, err)
		: KZ_OK;
	int64_t length = what->from->count ? (int64_t)most + 1 : 0;
	if (!st && !(st = kz_array_zeros_on(&result, what->stream->device,
			what->weights ? KZ_F64 : KZ_I64,
			KZ_SHAPE(histogram_max(length, minlength)), what->stream, err))
	    && tables) {
		st = histogram_combine(what, result, tables, rows, err);
	}
	kz_array_release(tables);
	return array_finish(out, result, st);
}

kz_status kz_bincount(kz_array **out, kz_array *array, const kz_bincount_options *options,
	kz_error *err)
{
	error_scope(err);
	kz_bincount_options how = KZ_BINCOUNT_OPTIONS_INIT;
	struct histogram what = {.edges = NULL};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))) {
		return st;
	}
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_bincount_options", options->size, sizeof(*options), err);
	}
	how = options ? *options : how;
	if (how.minlength < 0) {
		return error_set(err, KZ_INVALID,
			"bincount: expected a minlength of at least 0, got %lld",
			(long long)how.minlength);
	}
	if (array->shape.ndim != 1 || !dtype_is_exact(array->dtype)) {
		return error_set(err, KZ_INVALID, "bincount: expected one extent of integers, got "
			"%s of shape %s", dtype_refused(array->dtype),
			shape_text(&array->shape).text);
	}
	if ((st = stream_pick(&what.stream, array_device(array), how.stream, err))
	    || (st = indexing_check_wait(array, what.stream, err))
	    || (st = histogram_weights(&what.weights, how.weights, array, what.stream, "bincount",
			err))) {
		return st;
	}
	if (!(st = elementwise_contiguous(&what.from, array, array->dtype, what.stream, err))) {
		st = histogram_bincount(out, &what, how.minlength, err);
	}
	kz_array_release(what.from);
	kz_array_release(what.weights);
	return st;
}

/* The least or the greatest element, as a double. */
static kz_status histogram_extreme(double *out, kz_reduce_op op, kz_array *array,
	struct kz_stream *stream, kz_error *err)
{
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	struct kz_array *extreme = NULL, *wide = NULL;
	kz_status st;
	options.stream = stream;
	if (!(st = kz_reduce(&extreme, op, array, KZ_ALL_AXES, &options, err))
	    && !(st = kz_array_astype_on(&wide, extreme, KZ_F64, stream, err))) {
		st = kz_array_get(wide, out, sizeof(*out), err);
	}
	kz_array_release(extreme);
	kz_array_release(wide);
	return st;
}

/* The outer edges of bins of equal width. */
static kz_status histogram_range(struct histogram *what, const kz_histogram_options *how,
	kz_array *array, kz_error *err)
{
	bool asked = how->low == 0 && how->high == 0;
	kz_status st;
	what->low = how->low;
	what->high = asked && !array->count ? 1 : how->high;
	if (asked && array->count
	    && ((st = indexing_check_wait(array, what->stream, err))
		|| (st = histogram_extreme(&what->low, KZ_REDUCE_MIN, array, what->stream, err))
		|| (st = histogram_extreme(&what->high, KZ_REDUCE_MAX, array, what->stream,
			err)))) {
		return st;
	}
	if (!isfinite(what->high - what->low)) {
		return error_set(err, KZ_RANGE, "histogram: the range from %g to %g is not finite",
			what->low, what->high);
	}
	if (what->high < what->low) {
		return error_set(err, KZ_INVALID, "histogram: expected a range that ascends, got "
			"%g to %g", what->low, what->high);
	}
	if (what->low == what->high) {
		what->low -= 0.5;
		what->high += 0.5;
	}
	return KZ_OK;
}

/* Bins of equal width: what to count, and the edges. */
static kz_status histogram_uniform(struct histogram *what, kz_array **edges,
	const kz_histogram_options *how, kz_array *array, kz_error *err)
{
	kz_dtype dtype = array->dtype == KZ_BOOL ? KZ_U8 : array->dtype;
	struct kz_array *numbers = NULL;
	kz_status st;
	if (how->bins < 1 || how->bins > INT32_MAX - 1) {
		return error_set(err, KZ_INVALID, "histogram: expected 1 to %d bins, got %lld",
			INT32_MAX - 1, (long long)how->bins);
	}
	what->bins = how->bins;
	if (!(st = elementwise_contiguous(&numbers, array, dtype, what->stream, err))
	    && !(st = histogram_range(what, how, numbers, err))
	    && !(st = kz_array_view(&what->from, numbers, KZ_SHAPE(numbers->count), NULL, 0,
		err))) {
		st = kz_array_linspace_on(edges, what->stream->device,
			dtype_is_float(dtype) ? dtype : KZ_F64, KZ_ARG(what->low),
			KZ_ARG(what->high), what->bins + 1, 1, what->stream, err);
		what->edges = *edges;
	}
	kz_array_release(numbers);
	return st;
}

/* Bins between edges: what to count is the numbers of the elements' bins. */
static kz_status histogram_between(struct histogram *what, kz_array **edges,
	const kz_histogram_options *how, kz_array *array, kz_error *err)
{
	struct search_order order;
	struct kz_array *places = NULL;
	kz_status st;
	if ((st = search_check(how->edges, array, "histogram", err))
	    || (st = indexing_check_wait(how->edges, what->stream, err))) {
		return st;
	}
	if (how->edges->count == 0 || dtype_is_complex(how->edges->dtype)) {
		return error_set(err, KZ_INVALID, "histogram: expected real edges, at least one, "
			"got %lld of %s", (long long)how->edges->count,
			dtype_refused(how->edges->dtype));
	}
	if ((st = search_find_order(&order, how->edges, what->stream, err))) {
		return st;
	}
	if (order.fall != SEARCH_NONE) {
		return error_set(err, KZ_INVALID, "histogram: expected edges that ascend, but edge "
			"%llu is below edge %llu", (unsigned long long)order.fall + 1,
			(unsigned long long)order.fall);
	}
	what->bins = how->edges->count - 1;
	const struct search search = {.sorted = how->edges, .kind = SEARCH_BINS,
		.stream = what->stream};
	if (!(st = search_run(&places, &search, array, err))
	    && !(st = kz_array_view(&what->from, places, KZ_SHAPE(places->count), NULL, 0, err))) {
		*edges = kz_array_retain(how->edges);
	}
	kz_array_release(places);
	return st;
}

/* counts / (their sum) / (widths of the bins) */
static kz_status histogram_density(kz_array **out, kz_array *counts, kz_array *edges,
	struct kz_stream *stream, kz_error *err)
{
	kz_op_options plain = {.size = sizeof(plain), .stream = stream};
	kz_op_options options = {.size = sizeof(options), .stream = stream, .dtype = KZ_F64};
	/* Distances of long integers that ascend are exact modulo 2^64. */
	kz_dtype dtype = kz_array_dtype(edges), exact = dtype == KZ_I64 || dtype == KZ_U64 ? KZ_U64
		: KZ_F64;
	kz_reduce_options reduce = KZ_REDUCE_OPTIONS_INIT;
	struct kz_array *wide = NULL, *upper = NULL, *lower = NULL, *widths = NULL;
	struct kz_array *sum = NULL, *each = NULL;
	kz_status st;
	reduce.stream = stream;
	if (!(st = elementwise_contiguous(&wide, edges, exact, stream, err))
	    && !(st = kz_array_slice(&upper, wide, KZ_AT(KZ_SLICE(1, KZ_OMIT)), err))
	    && !(st = kz_array_slice(&lower, wide, KZ_AT(KZ_SLICE(0, -1)), err))
	    && !(st = kz_apply(&widths, KZ_OP_SUBTRACT, &plain, err, KZ_ARGS(upper, lower)))
	    && !(st = kz_apply(&each, KZ_OP_DIVIDE, &options, err, KZ_ARGS(counts, widths)))
	    && !(st = kz_reduce(&sum, KZ_REDUCE_SUM, counts, KZ_ALL_AXES, &reduce, err))) {
		st = kz_apply(out, KZ_OP_DIVIDE, &options, err, KZ_ARGS(each, sum));
	}
	kz_array_release(wide);
	kz_array_release(upper);
	kz_array_release(lower);
	kz_array_release(widths);
	kz_array_release(sum);
	kz_array_release(each);
	return st;
}

static kz_status histogram_make(kz_array **out, struct histogram *what, struct kz_device *dev,
	kz_array *edges, const kz_histogram_options *how, kz_error *err)
{
	struct kz_array *counts = NULL;
	kz_status st = kz_array_zeros_on(&counts, dev,
		what->weights ? KZ_F64 : KZ_I64, KZ_SHAPE(what->bins), what->stream, err);
	if (!st && !(st = histogram_run(counts, what, err))) {
		st = how->density ? histogram_density(out, counts, edges, what->stream, err)
			: elementwise_contiguous(out, counts,
				how->weights ? how->weights->dtype : KZ_I64, what->stream, err);
	}
	kz_array_release(counts);
	return st;
}

static kz_status histogram_check(struct histogram *what, const kz_histogram_options *how,
	const kz_array *array, kz_error *err)
{
	kz_status st;
	if (how->size != sizeof(*how)) {
		return struct_refuse("kz_histogram_options", how->size, sizeof(*how), err);
	}
	if (!dtype_is_real(array->dtype)) {
		return error_set(err, KZ_INVALID, "histogram: expected real numbers, got %s",
			dtype_refused(array->dtype));
	}
	if ((st = stream_pick(&what->stream, array_device(array), how->stream, err))) {
		return st;
	}
	return histogram_weights(&what->weights, how->weights, array, what->stream, "histogram",
		err);
}

kz_status kz_histogram(kz_array **out, kz_array **edges, kz_array *array,
	const kz_histogram_options *options, kz_error *err)
{
	error_scope(err);
	const kz_histogram_options usual = KZ_HISTOGRAM_OPTIONS_INIT;
	const kz_histogram_options *how = options ? options : &usual;
	struct histogram what = {.edges = NULL};
	struct kz_array *between = NULL;
	kz_status st;
	out_clear(edges, sizeof(*edges), __func__);
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = histogram_check(&what, how, array, err))) {
		return st;
	}
	st = how->edges ? histogram_between(&what, &between, how, array, err)
		: histogram_uniform(&what, &between, how, array, err);
	if (!st && !(st = histogram_make(out, &what, array_device(array), between, how, err))
	    && edges) {
		*edges = kz_array_retain(between);
	}
	kz_array_release(between);
	kz_array_release(what.from);
	kz_array_release(what.weights);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * Sorts along an axis, by a radix sort of rows (kernels/sort.cuh).
 *
 * A sort brings its keys, and values if there are some, to rows without gaps: the axis is moved to
 * the end, and the axis of the result is moved back.  The host never looks at a result: which
 * passes move nothing, and where the keys are, is known on the device.
 *
 * On a GPU rows that fit in a tile are sorted by a block, some of them together, in one launch.
 * Longer rows are swept: one launch counts the digits of all passes, and each pass is one more
 * (kernels/sort_sweep.cuh).
 *
 * On a device that runs a thread at a time short rows, and many rows, are sorted by a thread each.
 * A long row is cut into tiles, and each pass is three steps: the counts of the digits of each
 * tile, their running sums, and the move.  The keys of a very long row are first moved to buckets
 * that a cache holds (kernels/sort_buckets.cuh).
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/core/object.h"
#include "lib/order/key_order.h"
#include "lib/order/sort.h"
#include "lib/module/module.h"
#include "lib/ops/device_code.h"
#include "kernels/sort.cuh"
#include "kernels/sort_buckets.cuh"
#include "kernels/sort_sweep.cuh"
#include "lib/ops/elementwise.h"
#include "lib/ops/generate.h"
#include "lib/ops/kernels.h"

#include <kudzu/indexing.h>
#include <kudzu/scan.h>

enum { ROW_TILES = 2, MANY_ROWS = 64, BLOCK_KEYS = 4096 };
enum { BUCKET_KEYS = 16384, BUCKET_SIZE = 131072, BUCKET_ROW = 262144 }; /* a row that is long */

enum sort_payload { NOTHING, INDEXES, VALUES };

struct sort {
	const char *call;
	struct kz_device *device;
	struct sort_axis along;
	kz_dtype dtype;          /* of the keys */
	enum sort_payload payload;
	int64_t value_size;
	int passes;
	struct kz_rows rows;
	/* keys and values in the buffers of these numbers, indexes, counts, places, states */
	struct kz_array *keys[3], *values[3], *indexes;
	struct kz_array *counts, *places;
	struct kz_array *states;  /* or the tables of distributions, or what sweeps share */
	struct kz_array *numbers; /* of buckets */
};

/* Kernels */

/* Each form is a module, whose first kernel is kz_kernel. */
enum sort_form { SERIAL, BUCKETS, ROWS, SWEEPS };
enum sort_kernel {
	ROW, COUNT, MOVE, FINISH, SAMPLE, COUNT_BUCKETS, MOVE_BUCKETS, SORT_BUCKETS, SORT_ROWS,
	COUNT_DIGITS, PLAN, SWEEP,
};

static const struct {
	const char *function; /* NULL: the first of its form */
	enum sort_form form;
} sort_kernels[] = {
	[ROW] = {NULL, SERIAL}, [COUNT] = {"kz_count_tile", SERIAL},
	[MOVE] = {"kz_move_tile", SERIAL}, [FINISH] = {"kz_finish", SERIAL},
	[SAMPLE] = {NULL, BUCKETS}, [COUNT_BUCKETS] = {"kz_count_buckets", BUCKETS},
	[MOVE_BUCKETS] = {"kz_move_buckets", BUCKETS},
	[SORT_BUCKETS] = {"kz_sort_buckets", BUCKETS}, [SORT_ROWS] = {NULL, ROWS},
	[COUNT_DIGITS] = {NULL, SWEEPS}, [PLAN] = {"kz_plan", SWEEPS},
	[SWEEP] = {"kz_sweep", SWEEPS},
};

/*
 * The keys of a thread in a tile on a GPU, by the bytes of a key or its payload, the wider of the
 * two: without a payload, and with one.  512 threads with 80 bytes each fill 40 KB of shared
 * memory, of the 48 that every GPU gives a block.  A thread holds its keys, their places and their
 * payload in 64 registers with hardly a spill (ptxas, sm_80 and sm_90), so that a multiprocessor of
 * 64 Ki registers runs two blocks, of which one computes while the other waits.  With 10,240 keys
 * of 4 bytes a digit has 40 on average, 160 bytes in a row.  Not tuned on hardware.
 */
static const uint8_t sort_items[][2] = {
	[1] = {20, 16}, [2] = {20, 16}, [4] = {20, 16}, [8] = {10, 10}, [16] = {5, 5},
};

struct sort_class {
	int32_t bits, parts; /* of keys */
	enum sort_payload payload;
	int32_t value_size;
	enum sort_form form;
	int32_t items;   /* ROWS and SWEEPS: keys of a thread in a tile */
	int32_t is_wide; /* SWEEPS: counts of keys have 64 bits */
};

static int sort_passes(kz_dtype dtype)
{
	return (int)kz_dtype_size(dtype) + (dtype_is_complex(dtype) ? 1 : 0);
}

static void sort_write_source(struct str *source, const void *context)
{
	const struct sort_class *class = context;
	key_order_write(source, class->bits, class->parts);
	str_addf(source, "%s%stypedef %s kz_value;\n#define KZ_PAYLOAD %d\n"
		"#define KZ_ITEMS %d\n#line 1 \"sort.cuh\"\n",
		class->form == BUCKETS ? "#define KZ_BUCKETS\n" : "",
		class->form == ROWS ? "#define KZ_ROWS\n" : "", key_order_word(class->value_size),
		class->payload, class->items);
	str_add(source, device_sort);
	if (class->form == BUCKETS) {
		str_addf(source, "#line 1 \"sort_buckets.cuh\"\n%s", device_sort_buckets);
	}
	if (class->form == SWEEPS) {
		str_addf(source, "typedef %s kz_word;\n#line 1 \"look_back.cuh\"\n%s",
			key_order_word(class->is_wide ? 8 : 4), device_look_back);
	}
	if (class->form == ROWS || class->form == SWEEPS) {
		str_addf(source, "#line 1 \"sort_sweep.cuh\"\n%s", device_sort_sweep);
	}
}

static const struct kernel_family sort_family = {
	"sort", sort_write_source, {[SCHEDULE_MANY] = {512}, [SCHEDULE_ONE] = {1, 32768}},
	.is_brief = true,
};

/* What a thread does is unrolled, which takes the CPU device seconds to compile.  It runs such
 * kernels in tests only, with fewer keys. */
static int sort_items_of(const struct sort *sort)
{
	enum { CPU_ITEMS = 5 };
	const int64_t key_size = kz_dtype_size(sort->dtype);
	const int items = sort_items[key_size > sort->value_size ? key_size : sort->value_size]
		[sort->payload != NOTHING];
	return sort->device->ptx_only && items > CPU_ITEMS ? CPU_ITEMS : items;
}

/* Whether counts of keys have 64 bits in a sweep: also where the keys are wide, since counts are a
 * small part of what is read and written there. */
static bool sort_is_wide(const struct sort *sort)
{
	return sort->rows.n >= 1 << 30 || kz_dtype_size(sort->dtype) >= 8;
}

static struct sort_class sort_class_of(const struct sort *sort, enum sort_form form)
{
	const bool is_tiled = form == ROWS || form == SWEEPS;
	return (struct sort_class){key_order_bits(sort->dtype), key_order_parts(sort->dtype),
		sort->payload, (int32_t)sort->value_size, form, is_tiled ? sort_items_of(sort) : 0,
		form == SWEEPS && sort_is_wide(sort)};
}

/* One kernel with its parameters, over `blocks` blocks. */
static kz_status sort_launch(const struct sort *sort, enum sort_kernel kernel, int64_t blocks,
	void **params, kz_error *err)
{
	const struct sort_class class = sort_class_of(sort, sort_kernels[kernel].form);
	struct kz_array *const arrays[] = {sort->keys[0], sort->keys[1], sort->keys[2],
		sort->values[0], sort->values[1], sort->values[2], sort->indexes, sort->counts,
		sort->places, sort->states, sort->numbers};
	const struct kernels_run run = {
		.want = {&sort_family, &class, sizeof(class)},
		.function = sort_kernels[kernel].function,
		.stream = sort->along.stream, .grid = kz_dim(blocks, 1, 1), .params = params,
		.arrays = arrays, .array_count = countof(arrays),
	};
	return kernels_run(&run, err);
}

/* On a GPU */

static int64_t sort_tile(const struct sort *sort)
{
	return schedule_of(sort_family.schedules, sort->device)->threads
		* (int64_t)sort_items_of(sort);
}

/* Rows that fit in a tile: so many together that there are blocks for all multiprocessors. */
static kz_status sort_small_rows(struct sort *sort, kz_error *err)
{
	const struct kz_rows *rows = &sort->rows;
	const int64_t fair = rows->rows / (2 * (int64_t)sort->device->info.multiprocessors);
	int per = fair ? (int)min64(fair, min64(DIGITS, sort_tile(sort) / rows->n)) : 1;
	void *params[] = {&sort->rows, &per};
	return sort_launch(sort, SORT_ROWS, divide_up(rows->rows, per), params, err);
}

static kz_status sort_by_sweeps(struct sort *sort, kz_error *err)
{
	struct kz_rows *rows = &sort->rows;
	const int64_t word_size = sort_is_wide(sort) ? 8 : 4;
	const int64_t row_passes = rows->rows * sort->passes;
	rows->tiles = divide_up(rows->n, sort_tile(sort));
	const int64_t blocks = rows->rows * rows->tiles;
	const int64_t counts = row_passes * DIGITS * word_size, words = blocks * DIGITS * word_size,
		tickets = sort->passes * (int64_t)sizeof(unsigned);
	/* Each block of the first kernel writes as much as some thousand keys have read. */
	int64_t parts = min64(divide_up(rows->n, DIGITS * 64),
		divide_up(4 * (int64_t)sort->device->info.multiprocessors, rows->rows));
	kz_status st = kz_array_zeros_on(&sort->states, sort->device, KZ_U8,
		KZ_SHAPE(counts + words + tickets + row_passes), sort->along.stream, err);
	if (st) {
		return st;
	}
	struct kz_sweeps sweeps = {.counts = array_address(sort->states)};
	sweeps.words = sweeps.counts + (uint64_t)counts;
	sweeps.tickets = sweeps.words + (uint64_t)words;
	sweeps.steps = sweeps.tickets + (uint64_t)tickets;
	int pass = 0;
	void *params[] = {rows, &sweeps, &parts}, *sweep_params[] = {rows, &sweeps, &pass};
	if ((st = sort_launch(sort, COUNT_DIGITS, rows->rows * parts, params, err))
	    || (st = sort_launch(sort, PLAN, rows->rows, params, err))) {
		return st;
	}
	for (; pass < sort->passes && !st; pass++) {
		st = sort_launch(sort, SWEEP, blocks, sweep_params, err);
	}
	return st;
}

/* On a device that runs a thread at a time */

/* A block for each row, or for some short ones. */
static kz_status sort_by_row(struct sort *sort, kz_error *err)
{
	int64_t per = sort->rows.n < BLOCK_KEYS ? BLOCK_KEYS / sort->rows.n : 1;
	void *params[] = {&sort->rows, &per};
	return sort_launch(sort, ROW, divide_up(sort->rows.rows, per), params, err);
}

static kz_status sort_pass(struct sort *sort, int pass, kz_error *err)
{
	kz_scan_options scan = KZ_SCAN_OPTIONS_INIT;
	const int64_t blocks = sort->rows.rows * sort->rows.tiles;
	CUdeviceptr counts = array_address(sort->counts), places = array_address(sort->places);
	CUdeviceptr states = array_address(sort->states);
	void *count_params[] = {&sort->rows, &counts, &states, &pass};
	void *move_params[] = {&sort->rows, &places, &states, &pass};
	scan.exclusive = 1;
	scan.stream = sort->along.stream;
	scan.into = sort->places;
	kz_status st;
	if ((st = sort_launch(sort, COUNT, blocks, count_params, err))
	    || (st = kz_scan(NULL, sort->counts, "a + b", "0", &scan, err))) {
		return st;
	}
	return sort_launch(sort, MOVE, blocks, move_params, err);
}

static kz_status sort_by_tile(struct sort *sort, kz_error *err)
{
	const kz_shape shape = KZ_SHAPE(sort->rows.rows, DIGITS * sort->rows.tiles);
	const kz_shape states = KZ_SHAPE(sort->rows.rows, sort->passes + 1);
	kz_status st;
	if ((st = array_create_on(&sort->counts, sort->device, KZ_I64, &shape, sort->along.stream,
		err))
	    || (st = array_create_on(&sort->places, sort->device, KZ_I64, &shape,
		sort->along.stream, err))
	    || (st = array_create_on(&sort->states, sort->device, KZ_U8, &states,
		sort->along.stream, err))) {
		return st;
	}
	for (int pass = 0; pass < sort->passes; pass++) {
		if ((st = sort_pass(sort, pass, err))) {
			return st;
		}
	}
	CUdeviceptr address = array_address(sort->states);
	void *params[] = {&sort->rows, &address};
	return sort_launch(sort, FINISH, sort->rows.rows * sort->rows.tiles, params, err);
}

/* Whether keys of a row are worth their buckets. */
static bool sort_has_buckets(const struct sort *sort)
{
	return !dtype_is_complex(sort->dtype)
		&& kz_dtype_size(sort->dtype) >= 4 && sort->rows.n >= BUCKET_ROW
		&& sort->rows.n <= UINT32_MAX;
}

static kz_status sort_by_bucket(struct sort *sort, kz_error *err)
{
	struct kz_rows *rows = &sort->rows;
	const int64_t size = kz_dtype_size(sort->dtype);
	const int64_t keys = min64(BUCKET_KEYS,
		BUCKET_SIZE / (size + (sort->payload ? sort->value_size : 0)));
	int buckets = (int)min64(divide_up(rows->n, keys), BUCKETS_MOST);
	const int64_t all = buckets + OWN_BUCKETS;
	rows->tiles = divide_up(rows->n, WIDE_TILE);
	const kz_shape shape = KZ_SHAPE(rows->rows, all * rows->tiles);
	/* struct kz_table */
	const kz_shape tables = KZ_SHAPE(rows->rows, 2 * size + 4 * (CELLS + 2));
	kz_scan_options scan = KZ_SCAN_OPTIONS_INIT;
	kz_status st;
	if ((st = array_create_on(&sort->counts, sort->device, KZ_I64, &shape, sort->along.stream,
		err))
	    || (st = array_create_on(&sort->places, sort->device, KZ_I64, &shape,
		sort->along.stream, err))
	    || (st = array_create_on(&sort->states, sort->device, KZ_U8, &tables,
		sort->along.stream, err))
	    || (st = array_create_on(&sort->numbers, sort->device, KZ_U16, &sort->keys[0]->shape,
		sort->along.stream, err))) {
		return st;
	}
	CUdeviceptr counts = array_address(sort->counts), places = array_address(sort->places);
	CUdeviceptr address = array_address(sort->states), numbers = array_address(sort->numbers);
	void *sample_params[] = {rows, &address, &buckets};
	void *count_params[] = {rows, &address, &counts, &numbers, &buckets};
	void *move_params[] = {rows, &address, &places, &numbers, &buckets};
	void *sort_params[] = {rows, &address, &places, &buckets};
	scan.exclusive = 1;
	scan.stream = sort->along.stream;
	scan.into = sort->places;
	if ((st = sort_launch(sort, SAMPLE, rows->rows, sample_params, err))
	    || (st = sort_launch(sort, COUNT_BUCKETS, rows->rows * rows->tiles, count_params, err))
	    || (st = kz_scan(NULL, sort->counts, "a + b", "0", &scan, err))
	    || (st = sort_launch(sort, MOVE_BUCKETS, rows->rows * rows->tiles, move_params, err))) {
		return st;
	}
	return sort_launch(sort, SORT_BUCKETS, rows->rows * all, sort_params, err);
}

/* Sort keys[0], and values[0], into buffers that it makes: the results are in keys[1], values[1]
 * and indexes. */
static kz_status sort_run_rows(struct sort *sort, int keep_keys, kz_error *err)
{
	const kz_shape *shape = &sort->keys[0]->shape;
	struct kz_rows *rows = &sort->rows;
	kz_dtype value = sort->payload == VALUES ? sort->values[0]->dtype
		: shape->dims[1] <= UINT32_MAX ? KZ_U32 : KZ_U64;
	kz_status st = KZ_OK;
	sort->passes = sort_passes(sort->dtype);
	sort->value_size = sort->payload ? kz_dtype_size(value) : 1;
	for (int i = 1; i < 3 && !st; i++) {
		st = array_create_on(&sort->keys[i], sort->device, sort->dtype, shape,
			sort->along.stream, err);
		if (!st && sort->payload) {
			st = array_create_on(&sort->values[i], sort->device, value, shape,
				sort->along.stream, err);
		}
	}
	if (!st && sort->payload == INDEXES) {
		st = array_create_on(&sort->indexes, sort->device, KZ_I64, shape,
			sort->along.stream, err);
	}
	if (st || !sort->keys[0]->count) {
		return st;
	}
	*rows = (struct kz_rows){.n = shape->dims[1], .rows = shape->dims[0],
		.order = key_order_of(sort->dtype, sort->along.descending != 0),
		.first = sort->passes % 2 ? 1 : 2, .keep_keys = keep_keys};
	for (int i = 0; i < 3; i++) {
		rows->keys[i] = array_address(sort->keys[i]);
		rows->values[i] = sort->values[i] ? array_address(sort->values[i]) : 0;
	}
	rows->indexes = sort->indexes ? array_address(sort->indexes) : 0;
	if (!kernels_walk(&sort_family, sort->device)) {
		return (rows->n <= sort_tile(sort) ? sort_small_rows : sort_by_sweeps)(sort, err);
	}
	if (sort_has_buckets(sort)) {
		return sort_by_bucket(sort, err);
	}
	rows->tiles = divide_up(rows->n, schedule_of(sort_family.schedules, sort->device)->tile);
	return rows->tiles <= ROW_TILES || (rows->rows >= MANY_ROWS && rows->n <= UINT32_MAX)
		? sort_by_row(sort, err) : sort_by_tile(sort, err);
}

static void sort_finish(struct sort *sort)
{
	for (int i = 0; i < 3; i++) {
		kz_array_release(sort->keys[i]);
		kz_array_release(sort->values[i]);
	}
	kz_array_release(sort->indexes);
	kz_array_release(sort->counts);
	kz_array_release(sort->places);
	kz_array_release(sort->states);
	kz_array_release(sort->numbers);
}

/* Axes */

static kz_status sort_check_alignment(const struct kz_array *array, kz_error *err)
{
	const int64_t multiple = generate_alignment(array->dtype);
	return array_address(array) % (uint64_t)multiple == 0 ? KZ_OK : error_set(err, KZ_INVALID,
		"sort: the elements of a view of %s do not lie at multiples of %lld bytes",
		dtype_refused(array->dtype), (long long)multiple);
}

kz_status sort_take_rows(struct kz_array **out, struct sort_axis *along, struct kz_array *array,
	kz_error *err)
{
	struct kz_array *line = NULL, *view = NULL, *copy = NULL;
	const kz_shape shape = array->shape.ndim ? array->shape : KZ_SHAPE(1);
	const int64_t n = shape.dims[along->axis];
	kz_status st = array->shape.ndim ? KZ_OK : kz_array_view(&line, array, shape, NULL, 0, err);
	if (!st && !(st = kz_array_moveaxis(&view, line ? line : array, KZ_AXES(along->axis),
			KZ_AXES(-1), err))
	    && !(st = elementwise_contiguous(&copy, view, array->dtype, along->stream, err))
	    && !(st = sort_check_alignment(copy, err))) {
		along->ndim = array->shape.ndim;
		along->moved = view->shape;
		st = kz_array_view(out, copy, KZ_SHAPE(n ? array->count / n : 0, n), NULL, 0, err);
	}
	kz_array_release(line);
	kz_array_release(view);
	kz_array_release(copy);
	return st;
}

kz_status sort_give_rows(struct kz_array **out, const struct sort_axis *along,
	struct kz_array *rows, kz_error *err)
{
	struct kz_array *view = NULL, *turned = NULL;
	kz_shape shape = along->moved;
	shape.dims[shape.ndim - 1] = rows->shape.dims[1];
	kz_status st = kz_array_view(&view, rows, shape, NULL, 0, err);
	if (!st && !(st = kz_array_moveaxis(&turned, view, KZ_AXES(-1), KZ_AXES(along->axis), err))
	    && !(st = elementwise_contiguous(out, turned, rows->dtype, along->stream, err))) {
		(*out)->shape.ndim = along->ndim;
	}
	kz_array_release(view);
	kz_array_release(turned);
	return st;
}

kz_status sort_slice(kz_array **out, kz_array *array, int64_t axis, kz_slice part,
	kz_error *err)
{
	kz_slice items[KZ_MAX_DIMS];
	for (int64_t i = 0; i < axis; i++) {
		items[i] = KZ_ALL;
	}
	items[axis] = part;
	return kz_array_slice(out, array, (kz_slices){items, axis + 1}, err);
}

/* Public calls */

kz_status sort_options_read(struct kz_stream **stream, int *descending, struct kz_device *dev,
	const kz_sort_options *options, kz_error *err)
{
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_sort_options", options->size, sizeof(*options), err);
	}
	*descending = options && options->descending;
	return stream_pick(stream, dev, options ? options->stream : NULL, err);
}

kz_status sort_axis_read(struct sort_axis *along, const struct kz_array *array,
	const kz_sort_options *options, kz_error *err)
{
	const kz_shape one = KZ_SHAPE(1);
	kz_status st;
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = axis_resolve(&along->axis, array->shape.ndim ? &array->shape : &one, err))) {
		return st;
	}
	return sort_options_read(&along->stream, &along->descending, array_device(array), options,
		err);
}

kz_sort_options sort_axis_options(const struct sort_axis *along)
{
	kz_sort_options options = KZ_SORT_OPTIONS_INIT;
	options.stream = along->stream;
	options.descending = along->descending;
	return options;
}

/* Check an array and its axis, and read the options. */
static kz_status sort_begin(struct sort *sort, struct kz_array *array,
	const kz_sort_options *options, kz_error *err)
{
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	if (st) {
		return st;
	}
	if (!key_order_bits(array->dtype)) {
		return error_set(err, KZ_INVALID, "%s: %s has no order", sort->call,
			dtype_refused(array->dtype));
	}
	sort->device = array_device(array);
	sort->dtype = array->dtype;
	return sort_axis_read(&sort->along, array, options, err);
}

static kz_status sort_run(struct kz_array **keys_out, struct kz_array **payload_out,
	struct sort *sort, struct kz_array *keys, struct kz_array *values, kz_error *err)
{
	struct sort_axis *along = &sort->along;
	struct kz_array *sorted = NULL;
	kz_status st;
	if ((st = sort_take_rows(&sort->keys[0], along, keys, err))
	    || (values && (st = sort_take_rows(&sort->values[0], along, values, err)))
	    || (st = sort_run_rows(sort, keys_out ? 1 : 0, err))
	    || (keys_out && (st = sort_give_rows(&sorted, along, sort->keys[1], err)))
	    || (payload_out && (st = sort_give_rows(payload_out, along,
		values ? sort->values[1] : sort->indexes, err)))) {
		kz_array_release(sorted);
		sorted = NULL;
	}
	if (keys_out) {
		*keys_out = sorted;
	}
	sort_finish(sort);
	return st;
}

kz_status kz_sort(kz_array **out, kz_array *array, int64_t axis, const kz_sort_options *options,
	kz_error *err)
{
	error_scope(err);
	struct sort sort = {.call = __func__, .along.axis = axis, .payload = NOTHING};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = sort_begin(&sort, array, options, err))) {
		return st;
	}
	return sort_run(out, NULL, &sort, array, NULL, err);
}

kz_status kz_argsort(kz_array **out, kz_array *array, int64_t axis, const kz_sort_options *options,
	kz_error *err)
{
	error_scope(err);
	struct sort sort = {.call = __func__, .along.axis = axis, .payload = INDEXES};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = sort_begin(&sort, array, options, err))) {
		return st;
	}
	return sort_run(NULL, out, &sort, array, NULL, err);
}

static kz_status sort_check_values(const struct kz_array *keys, const struct kz_array *values,
	kz_error *err)
{
	kz_status st = object_check(values, OBJECT_ARRAY, err);
	if (st || (st = array_same_device("sort_by_key", keys, values, err))) {
		return st;
	}
	return shape_equal(&keys->shape, &values->shape) ? KZ_OK : error_set(err, KZ_INVALID,
		"sort_by_key: expected values of shape %s, got %s", shape_text(&keys->shape).text,
		shape_text(&values->shape).text);
}

/* Values of other sizes than a word's are taken by the indexes of the sort. */
static kz_status sort_take_values(kz_array **keys_out, kz_array **values_out, struct sort *sort,
	struct kz_array *keys, struct kz_array *values, kz_error *err)
{
	struct kz_array *indexes = NULL;
	struct kz_stream *stream = sort->along.stream;
	kz_status st;
	sort->payload = INDEXES;
	if ((st = sort_run(keys_out, &indexes, sort, keys, NULL, err))) {
		return st;
	}
	st = values->shape.ndim ? kz_array_take_along_axis_on(values_out, values, indexes,
			sort->along.axis, KZ_INDEX_WRAP, stream, err)
		: kz_array_take_on(values_out, values, indexes, 0, KZ_INDEX_WRAP, stream, err);
	if (st && keys_out) {
		kz_array_release(*keys_out);
		*keys_out = NULL;
	}
	kz_array_release(indexes);
	return st;
}

kz_status kz_sort_by_key(kz_array **keys_out, kz_array **values_out, kz_array *keys,
	kz_array *values, int64_t axis, const kz_sort_options *options, kz_error *err)
{
	error_scope(err);
	struct sort sort = {.call = __func__, .along.axis = axis, .payload = VALUES};
	kz_status st;
	out_clear(keys_out, sizeof(*keys_out), __func__);
	if ((st = out_check(values_out, sizeof(*values_out), __func__, err))
	    || (st = object_check(keys, OBJECT_ARRAY, err))
	    || (st = sort_begin(&sort, keys, options, err))
	    || (st = sort_check_values(keys, values, err))) {
		return st;
	}
	const int64_t size = kz_dtype_size(values->dtype);
	const bool is_word = size <= 16 && (size & (size - 1)) == 0;
	return (is_word ? sort_run : sort_take_values)(keys_out, values_out, &sort, keys, values,
		err);
}

/* SPDX-License-Identifier: MIT */
/*
 * The elements at given ranks of rows without gaps, by a radix selection (kernels/select.cuh), and
 * rows split by them.
 *
 * Passes narrow the range of keys in which the element at a rank lies, by 11 bits each.  Each has
 * two launches: the tiles count and keep the keys in the range, and a block for each row picks the
 * next range.  The host never looks at a result.  It launches as many passes as the keys' bits may
 * need; those of a row whose element is found do nothing.
 */
#include "base/common.h"

#include "lib/array/shape.h"
#include "lib/order/key_order.h"
#include "lib/order/select.h"
#include "lib/ops/device_code.h"
#include "kernels/select.cuh"
#include "lib/ops/kernels.h"

#include <kudzu/scan.h>
#include <kudzu/view.h>

#include <math.h>

enum { BLOCK = 256, MOST_SAMPLES = 8192, SAMPLE_STEP = 32 };

/* A row of fewer elements is sorted about as fast as the launches of a selection take.  A row is
 * searched for each rank by itself, and a sort takes as long as some searches. */
enum { SELECT_ROW = 16384 };

bool select_is_worth(kz_dtype dtype, int64_t n, int64_t ranks)
{
	return key_order_bits(dtype) && key_order_parts(dtype) == 1 && n >= SELECT_ROW && ranks > 0
		&& ranks <= SELECT_RANKS;
}

/* Kernels */

enum select_kernel { SAMPLE, NARROW, PICK, GIVE, CLASSES, SPLIT };

struct select_class {
	enum select_kernel kernel;
	int32_t bits;
	int32_t ranks; /* of CLASSES and SPLIT */
};

static void select_write_source(struct str *source, const void *context)
{
	static const char *const kernels[] = {"SAMPLE", "NARROW", "PICK", "GIVE", "CLASSES",
		"SPLIT"};
	const struct select_class *class = context;
	key_order_write(source, class->bits, 1);
	if (class->kernel == SPLIT) {
		str_addf(source, "#ifndef KZ_SERIAL\ntypedef unsigned long long kz_word;\n"
			"#line 1 \"look_back.cuh\"\n%s#endif\n", device_look_back);
	}
	str_addf(source, "#define KZ_%s\n", kernels[class->kernel]);
	if (class->ranks) {
		str_addf(source, "#define KZ_RANKS %d\n", class->ranks);
	}
	str_add(source, "#line 1 \"select.cuh\"\n");
	str_add(source, device_select);
}

static const struct kernel_family select_family = {
	"select", select_write_source,
	{[SCHEDULE_MANY] = {BLOCK, 16384}, [SCHEDULE_ONE] = {1, 131072}},
};

/* One kernel with its parameters; `out` is what it writes besides, or NULL. */
static kz_status select_launch(const struct select *select, enum select_kernel kernel,
	int64_t blocks, void **params, struct kz_array *const out[2], kz_error *err)
{
	const struct select_class class = {kernel, key_order_bits(select->rows->dtype),
		kernel == CLASSES || kernel == SPLIT ? select->ranks : 0};
	struct kz_array *const arrays[] = {select->rows, select->kept, select->sizes,
		select->counts, select->states, out ? out[0] : NULL, out ? out[1] : NULL};
	const struct kernels_run run = {
		.want = {&select_family, &class, sizeof(class)}, .stream = select->stream,
		.grid = kz_dim(blocks, 1, 1), .params = params,
		.arrays = arrays, .array_count = countof(arrays),
	};
	return kernels_run(&run, err);
}

/* Selection */

static int64_t select_tiles(const struct select *select)
{
	return divide_up(select->rows->shape.dims[1],
		schedule_of(select_family.schedules, select->device)->tile);
}

/* The rows with the states from a rank's on. */
static struct kz_rows select_rows_of(const struct select *select, int rank)
{
	const int64_t *dims = select->rows->shape.dims;
	return (struct kz_rows){
		.keys = array_address(select->rows), .kept = array_address(select->kept),
		.sizes = array_address(select->sizes), .counts = array_address(select->counts),
		.states = array_address(select->states)
			+ (uint64_t)rank * (uint64_t)dims[0] * sizeof(struct kz_state),
		.n = dims[1], .tiles = select_tiles(select), .rows = dims[0],
		.order = key_order_of(select->rows->dtype, select->descending != 0),
	};
}

/* Ranks of a sample which the element at a rank of the row lies between, most likely: three
 * standard deviations of its own from it.  -1: from the least key on, or to the greatest. */
static void select_bounds(int64_t *first, int64_t *last, int64_t samples, int64_t rank, int64_t n)
{
	*first = *last = -1;
	if (samples) {
		const double at = ((double)rank + 0.5) / (double)n * (double)samples;
		const double spread = 3 * sqrt(at * (1 - at / (double)samples)) + 2;
		*first = at < spread ? -1 : (int64_t)(at - spread);
		*last = at + spread < (double)samples ? (int64_t)(at + spread) : -1;
	}
}

static kz_status select_rank(struct select *select, int which, int64_t rank, kz_error *err)
{
	struct kz_rows rows = select_rows_of(select, which);
	const int bits = key_order_bits(select->rows->dtype);
	int64_t samples = bits > DIGIT_BITS ? min64(rows.n / SAMPLE_STEP, MOST_SAMPLES) : 0, first,
		last;
	/* one for a bad sample */
	int passes = (int)divide_up(bits, DIGIT_BITS) + (samples ? 1 : 0);
	select_bounds(&first, &last, samples, rank, rows.n);
	void *sample_params[] = {&rows, &samples, &first, &last};
	void *narrow_params[] = {&rows}, *pick_params[] = {&rows, &rank};
	kz_status st = select_launch(select, SAMPLE, rows.rows, sample_params, NULL, err);
	for (int pass = 0; pass < passes && !st; pass++) {
		if (!(st = select_launch(select, NARROW, rows.rows * rows.tiles, narrow_params,
			NULL, err))) {
			st = select_launch(select, PICK, rows.rows, pick_params, NULL, err);
		}
	}
	return st;
}

kz_status select_run(struct select *select, const int64_t *ranks, int count, kz_error *err)
{
	const kz_shape *shape = &select->rows->shape;
	const int64_t rows = shape->dims[0];
	const kz_dtype word = dtype_part(select->rows->dtype);
	const kz_shape sizes = KZ_SHAPE(rows, select_tiles(select)),
		counts = KZ_SHAPE(rows, DIGITS);
	const kz_shape states = KZ_SHAPE(count, rows, (int64_t)sizeof(struct kz_state));
	kz_status st;
	select->ranks = count;
	if (!rows) {
		return KZ_OK;
	}
	if ((st = array_create_on(&select->kept, select->device, word, shape, select->stream, err))
	    || (st = array_create_on(&select->sizes, select->device, KZ_U32, &sizes, select->stream,
		err))
	    || (st = array_create_on(&select->counts, select->device, KZ_U64, &counts,
		select->stream, err))
	    || (st = array_create_on(&select->states, select->device, KZ_U8, &states,
		select->stream, err))) {
		return st;
	}
	for (int which = 0; which < count && !st; which++) {
		st = select_rank(select, which, ranks[which], err);
	}
	return st;
}

void select_finish(struct select *select)
{
	kz_array_release(select->rows);
	kz_array_release(select->kept);
	kz_array_release(select->sizes);
	kz_array_release(select->counts);
	kz_array_release(select->states);
}

/* Results */

kz_status select_give(struct kz_array *out[3], struct select *select, int64_t rank, kz_error *err)
{
	const int64_t rows = select->rows->shape.dims[0], size = kz_dtype_size(select->rows->dtype);
	struct kz_array *all = NULL;
	kz_status st = array_create_on(&all, select->device, select->rows->dtype,
		&KZ_SHAPE(3, rows), select->stream, err);
	if (!st && rows) {
		struct kz_rows params_rows = select_rows_of(select, 0);
		CUdeviceptr to = array_address(all);
		void *params[] = {&params_rows, &rank, &to};
		struct kz_array *const written[2] = {all, NULL};
		st = select_launch(select, GIVE, divide_up(rows, BLOCK), params, written, err);
	}
	for (int i = 0; i < 3 && !st; i++) {
		st = kz_array_view(&out[i], all, KZ_SHAPE(rows), NULL, i * rows * size, err);
	}
	kz_array_release(all);
	return st;
}

/* In one pass. */
static kz_status select_split_once(struct select *select, struct kz_array *const out[2],
	struct kz_rows *rows, struct kz_split *target, kz_error *err)
{
	struct kz_array *words = NULL;
	rows->tiles = divide_up(rows->n, BLOCK * SPLIT_ITEMS);
	const int64_t blocks = rows->rows * rows->tiles;
	kz_status st = kz_array_zeros_on(&words, select->device, KZ_U64,
		KZ_SHAPE(blocks * (2 * select->ranks + 1) + 1), select->stream, err);
	if (!st) {
		CUdeviceptr words_at = array_address(words);
		void *params[] = {rows, &words_at, target};
		st = select_launch(select, SPLIT, blocks, params, out, err);
	}
	kz_array_release(words);
	return st;
}

/* By counts of the classes of each tile, and their running sums. */
static kz_status select_split_counted(struct select *select, struct kz_array *const out[2],
	struct kz_rows *rows, struct kz_split *target, kz_error *err)
{
	const kz_shape shape = KZ_SHAPE(rows->rows, (2 * select->ranks + 1) * rows->tiles);
	struct kz_array *counts = NULL, *places = NULL;
	kz_scan_options scan = KZ_SCAN_OPTIONS_INIT;
	kz_status st;
	if (!(st = array_create_on(&counts, select->device, KZ_I64, &shape, select->stream, err))
	    && !(st = array_create_on(&places, select->device, KZ_I64, &shape, select->stream,
		err))) {
		CUdeviceptr counts_at = array_address(counts), places_at = array_address(places);
		void *count_params[] = {rows, &counts_at},
			*split_params[] = {rows, &places_at, target};
		struct kz_array *const counted[2] = {counts, NULL};
		scan.exclusive = 1;
		scan.stream = select->stream;
		scan.into = places;
		if (!(st = select_launch(select, CLASSES, rows->rows * rows->tiles, count_params,
			counted, err))
		    && !(st = kz_scan(NULL, counts, "a + b", "0", &scan, err))) {
			st = select_launch(select, SPLIT, rows->rows * rows->tiles, split_params,
				out, err);
		}
	}
	kz_array_release(counts);
	kz_array_release(places);
	return st;
}

static kz_status select_split_rows(struct select *select, struct kz_array *const out[2],
	int64_t most, kz_error *err)
{
	struct kz_rows rows = select_rows_of(select, 0);
	struct kz_split target = {out[0] ? array_address(out[0]) : 0,
		out[1] ? array_address(out[1]) : 0, most};
	return (kernels_walk(&select_family, select->device) ? select_split_counted
		: select_split_once)(select, out, &rows, &target, err);
}

kz_status select_split(struct kz_array **values, struct kz_array **indexes, struct select *select,
	int64_t most, kz_error *err)
{
	const int64_t rows = select->rows->shape.dims[0];
	const kz_shape shape = KZ_SHAPE(rows, most);
	struct kz_array *out[2] = {NULL, NULL};
	kz_status st = KZ_OK;
	if (values) {
		st = array_create_on(&out[0], select->device, select->rows->dtype, &shape,
			select->stream, err);
	}
	if (indexes && !st) {
		st = array_create_on(&out[1], select->device, KZ_I64, &shape, select->stream, err);
	}
	if (!st && rows && most) {
		st = select_split_rows(select, out, most, err);
	}
	if (st) {
		kz_array_release(out[0]);
		kz_array_release(out[1]);
		return st;
	}
	if (values) {
		*values = out[0];
	}
	if (indexes) {
		*indexes = out[1];
	}
	return KZ_OK;
}

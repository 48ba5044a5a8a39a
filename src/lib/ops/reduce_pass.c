/* SPDX-License-Identifier: MIT */
/*
 * Reductions as a sequence of passes, each of which reduces one extent.
 *
 * Before a pass the extents are put in the order of memory, and merged where that leaves the same
 * elements.  The pass takes the extent that is worth most, cuts it into chunks, and leaves one
 * value for each.  These partial results are a row-major array with the same extents but this one.
 * When no extent is left, the pass has written the results.  So a whole array takes one pass up to
 * 16640 elements, and two up to 2^28.
 *
 * A pass comes in two kinds: lanes along the extent that is reduced, or (columns) along another
 * one, whose elements lie closer.  Shapes and strides alone decide all this, and with it the order
 * in which elements are combined.  Integers on a CPU are an exception: their order does not matter,
 * so they are cut as suits its cores.
 */
#include "base/common.h"

#include "lib/ops/generate.h"
#include "lib/ops/kernels.h"
#include "lib/ops/reduce.h"
#include "lib/array/shape.h"
#include "lib/array/strided.h"
#include "kernels/reduce.cuh"

#include <stdlib.h>
#include <string.h>

/* Operand 0 is the result, then the arrays, then the index. */
enum { OPERANDS = 2 + EXPR_ARRAYS, SMALL = 1 << 14 };

/* Chunks are of 1 + 8 k rows: kernels/reduce.cuh takes the first one, then eight at a time. */
enum {
	CHUNK_MIN = 9 * REDUCE_LANES,
	CHUNK_MAX = 65 * REDUCE_LANES, /* from how few on nothing is cut */
	LINEAR_MIN = 3 << 13,
	LINEAR_MAX = 1 << 17,
	CHUNKS = 512,                  /* that are made before they get longer than CHUNK_MIN */
	COLUMN_MIN = 65,
	COLUMN_MAX = 513,
	COLUMN_WHOLE = 257,
	COLUMN_LANES_MIN = 64,
	FEW = 8                        /* elements that are no work for lanes */
};

struct reduce_pass {
	const struct reduce *reduce;
	struct kz_device *device;
	struct kz_array *target;
	struct kz_buffer *partials;  /* what the last pass left, or NULL */
	int arrays;                  /* operands 1 to this; after them, maybe, the index */
	int operands;
	int ndim;
	bool reduced[STRIDED_ROOM];
	int64_t dims[STRIDED_ROOM];
	int64_t strides[OPERANDS][STRIDED_ROOM];
	CUdeviceptr address[OPERANDS];
	int64_t first_index;
	int64_t index_count;         /* of positions: so many there are */
	int64_t size[OPERANDS];      /* of an element */
	/* What this pass does */
	int axis;                    /* is reduced */
	int lane_axis;               /* of columns; else -1 */
	int64_t lanes, chunk, chunks;
	bool final;
	struct reduce_class class;
};

/* Extents */

static void pass_set_array(struct reduce_pass *pass, int k, const struct kz_array *array,
	const kz_shape *shape)
{
	int64_t missing = shape->ndim - array->shape.ndim;
	for (int64_t i = 0; i < shape->ndim; i++) {
		bool moves = i >= missing && array->shape.dims[i - missing] != 1;
		pass->strides[k][i] = moves ? array->strides[i - missing] : 0;
	}
	pass->address[k] = array_address(array);
	pass->size[k] = kz_dtype_size(array->dtype);
}

/* The result has all extents but those that are reduced, or these as 1. */
static void pass_set_target(struct reduce_pass *pass, const kz_shape *shape)
{
	const struct kz_array *target = pass->target;
	bool keeps = target->shape.ndim == shape->ndim;
	int64_t at = 0;
	for (int64_t i = 0; i < shape->ndim; i++) {
		pass->strides[0][i] = pass->reduced[i] ? 0 : target->strides[keeps ? i : at];
		at += !pass->reduced[i];
	}
	pass->address[0] = array_address(target);
	pass->size[0] = kz_dtype_size(target->dtype);
}

/* The index among the elements that are reduced, as an operand whose strides are numbers. */
static void pass_set_index(struct reduce_pass *pass, int k, const kz_shape *shape)
{
	int64_t step = 1;
	for (int64_t i = shape->ndim; i-- > 0;) {
		pass->strides[k][i] = pass->reduced[i] ? step : 0;
		step *= pass->reduced[i] ? shape->dims[i] : 1;
	}
	pass->index_count = step;
}

static kz_status pass_check_alignment(const struct reduce_pass *pass, kz_error *err)
{
	const struct expr *expr = pass->reduce->expr;
	for (int k = 0; k <= pass->arrays; k++) {
		kz_dtype dtype = k ? expr->arrays[k - 1]->dtype : pass->target->dtype;
		uint64_t bits = pass->address[k];
		for (int i = 0; i < pass->ndim; i++) {
			bits |= (uint64_t)pass->strides[k][i];
		}
		if (bits & (uint64_t)(generate_alignment(dtype) - 1)) {
			return error_set(err, KZ_INVALID, "%s: the elements of a view of %s do not "
				"lie at multiples of %lld bytes", pass->reduce->name,
				dtype_refused(dtype), (long long)generate_alignment(dtype));
		}
	}
	return KZ_OK;
}

static void pass_start(struct reduce_pass *pass, const kz_shape *shape)
{
	const struct expr *expr = pass->reduce->expr;
	pass->partials = NULL;
	pass->first_index = 0;
	pass->final = false;
	pass->ndim = (int)shape->ndim;
	for (int i = 0; i < pass->ndim; i++) {
		pass->dims[i] = shape->dims[i];
		pass->reduced[i] = pass->reduce->axes >> i & 1;
	}
	pass->arrays = expr->array_count;
	for (int k = 0; k < expr->array_count; k++) {
		pass_set_array(pass, k + 1, expr->arrays[k], shape);
	}
	pass->operands = 1 + expr->array_count;
	if (pass->reduce->rule.position) {
		pass_set_index(pass, pass->operands++, shape);
	}
	pass_set_target(pass, shape);
}

static void pass_move_axis(struct reduce_pass *pass, int to, int from)
{
	pass->dims[to] = pass->dims[from];
	pass->reduced[to] = pass->reduced[from];
	for (int k = 0; k < pass->operands; k++) {
		pass->strides[k][to] = pass->strides[k][from];
	}
}

/* How far apart the elements of an extent are, all arrays together. */
static int64_t pass_distance(const struct reduce_pass *pass, int axis)
{
	int64_t sum = 0;
	for (int k = 1; k <= pass->arrays; k++) {
		sum += llabs(pass->strides[k][axis]);
	}
	return sum;
}

/* Have the first array that moves at all move upwards. */
static void pass_flip_axis(struct reduce_pass *pass, int axis)
{
	int k = 1;
	while (k < pass->arrays && pass->strides[k][axis] == 0) {
		k++;
	}
	if (pass->strides[k][axis] >= 0) {
		return;
	}
	for (k = 0; k < pass->operands; k++) {
		int64_t way = pass->strides[k][axis] * (pass->dims[axis] - 1);
		pass->strides[k][axis] = -pass->strides[k][axis];
		if (k <= pass->arrays) {
			pass->address[k] += (CUdeviceptr)way;
		} else {
			pass->first_index += way;
		}
	}
}

/* Drop extents of 1; let the strides of what is left be positive and fall. */
static void pass_sort_axes(struct reduce_pass *pass)
{
	int ndim = 0;
	for (int i = 0; i < pass->ndim; i++) {
		if (pass->dims[i] != 1) {
			pass_flip_axis(pass, i);
			pass_move_axis(pass, ndim++, i);
		}
	}
	pass->ndim = ndim;
	for (int i = 1; i < ndim; i++) {
		/* The place after the last one is free. */
		int64_t mine = pass_distance(pass, i);
		int j = i;
		pass_move_axis(pass, KZ_MAX_DIMS, i);
		for (; j > 0 && pass_distance(pass, j - 1) < mine; j--) {
			pass_move_axis(pass, j, j - 1);
		}
		pass_move_axis(pass, j, KZ_MAX_DIMS);
	}
}

static void pass_merge_axes(struct reduce_pass *pass)
{
	const struct strided_axes axes = {pass->dims, pass->strides, pass->operands, pass->reduced};
	if (pass->ndim > 1) {
		pass->ndim = strided_merge(&axes, pass->ndim);
	}
}

/* What to reduce, and how */

/* The extent to reduce: the innermost one; or the longest, if the innermost is short or stays.
 * There is always one: if all others stay, it has a single element. */
static void pass_choose_axis(struct reduce_pass *pass)
{
	int longest = -1, count = 0;
	for (int i = 0; i < pass->ndim; i++) {
		count += pass->reduced[i];
		if (pass->reduced[i] && (longest < 0 || pass->dims[i] >= pass->dims[longest])) {
			longest = i;
		}
	}
	if (longest < 0) {
		longest = pass->ndim++;
		pass->dims[longest] = 1;
		pass->reduced[longest] = true;
		for (int k = 0; k < pass->operands; k++) {
			pass->strides[k][longest] = 0;
		}
	}
	int last = pass->ndim - 1;
	pass->axis = pass->reduced[last] && pass->dims[last] > 4 * FEW ? last : longest;
	pass->final = count <= 1;
}

/* Lanes along another extent, if its elements lie closer, or there are few to reduce. */
static void pass_choose_lanes(struct reduce_pass *pass)
{
	int inner = pass->ndim - 1 - (pass->axis == pass->ndim - 1);
	int64_t count = pass->dims[pass->axis];
	pass->lane_axis = -1;
	if (inner >= 0 && (inner > pass->axis ? pass->dims[inner] >= FEW || count == 1
		: count <= FEW && pass->dims[inner] > 4 * FEW)) {
		pass->lane_axis = inner;
	}
}

static int64_t pass_power_from(int64_t count)
{
	return count <= 1 ? 1 : (int64_t)1 << (64 - __builtin_clzll((unsigned long long)count - 1));
}

static int64_t pass_clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Lanes of columns, each of which is a result of its own.  On a CPU as many as are there, but fewer
 * where some cores would get no task. */
static int64_t pass_column_lanes(const struct reduce_pass *pass)
{
	int64_t count = pass->dims[pass->lane_axis];
	int64_t cores = pass->device->info.multiprocessors;
	bool walks = kernels_walk(&reduce_family, pass->device);
	int64_t lanes = pass_clamp(pass_power_from(count), 1, reduce_width(walks, true));
	while (walks && lanes > COLUMN_LANES_MIN
		&& divide_up(count, lanes) * pass->chunks < cores) {
		lanes /= 2;
	}
	return lanes;
}

/* Lanes along what is reduced: a few rows of them, and no fewer than a group.  What is shorter is
 * for one lane; places are compared lane by lane, as that takes longer. */
static int64_t pass_row_lanes(const struct reduce_pass *pass)
{
	const int64_t group = KZ_GROUP;
	int64_t lanes = pass_power_from(divide_up(pass->chunk, FEW));
	if (pass->chunk <= 2 * group && pass->class.position) {
		return lanes;
	}
	return pass->chunk <= group ? 1
		: pass_clamp(lanes, group,
			pass->class.rising ? REDUCE_SERIAL_PLACES : REDUCE_LANES);
}

static int64_t pass_element_count(const struct reduce_pass *pass)
{
	int64_t count = 1;
	for (int i = 0; i < pass->ndim; i++) {
		count *= pass->dims[i];
	}
	return count;
}

/* Where the order does not matter, each core gets a chunk.  Chunks are large enough to pay for
 * launching the second pass, and small enough that cores that come late get some. */
static int64_t pass_linear_chunk(const struct reduce_pass *pass)
{
	int64_t count = pass->dims[pass->axis];
	int64_t each = pass_element_count(pass) / pass->device->info.multiprocessors;
	int64_t chunks = count / pass_clamp(each, LINEAR_MIN, LINEAR_MAX);
	return divide_up(count, chunks > 1 ? chunks : 1);
}

/* Fixed numbers: the order of operations depends on them (but for the lanes of columns, and where
 * that does not matter). */
static void pass_choose_chunks(struct reduce_pass *pass)
{
	int64_t count = pass->dims[pass->axis];
	if (pass->lane_axis >= 0) {
		int64_t root = (int64_t)1
			<< ((64 - __builtin_clzll((unsigned long long)count)) / 2);
		pass->chunk = count <= COLUMN_WHOLE ? count
			: pass_clamp(root + 1, COLUMN_MIN, COLUMN_MAX);
		pass->chunks = divide_up(count, pass->chunk);
		pass->lanes = pass_column_lanes(pass);
	} else {
		int64_t rows = pass_power_from(count / CHUNKS / REDUCE_LANES);
		pass->chunk = pass->class.linear || pass->class.rising ? pass_linear_chunk(pass)
			: count <= CHUNK_MAX ? count
			: pass_clamp((rows + 1) * REDUCE_LANES, CHUNK_MIN, CHUNK_MAX);
		pass->chunks = divide_up(count, pass->chunk);
		pass->lanes = pass_row_lanes(pass);
	}
	pass->final = pass->final && pass->chunks == 1;
}

/* Whether packs of lanes lie at multiples of their size, and columns end with a whole pack. */
static bool pass_can_pack(const struct reduce_pass *pass, int along, int64_t pack)
{
	bool fits = pass->lanes >= pack && (along == pass->axis || pass->dims[along] % pack == 0);
	for (int k = 1; k <= pass->arrays; k++) {
		uint64_t bits = pass->address[k];
		for (int i = 0; i < pass->ndim; i++) {
			bits |= i == along ? 0 : (uint64_t)pass->strides[k][i];
		}
		bool constant = pass->class.constant >> (k - 1) & 1;
		fits = fits && (constant || bits % (uint64_t)(pack * pass->size[k]) == 0);
	}
	return fits;
}

/* Wide reads keep memory busy.  But columns are few, and their bytes need more registers.
 * A small reduction does not deserve a kernel of its own. */
static void pass_choose_pack(struct reduce_pass *pass)
{
	int along = pass->lane_axis >= 0 ? pass->lane_axis : pass->axis;
	int64_t size = 1;
	pass->class.pack = 1;
	if (pass->class.alone || !pass->class.unit || pass_element_count(pass) < SMALL) {
		return;
	}
	for (int k = 1; k <= pass->arrays; k++) {
		size = pass->size[k] > size ? pass->size[k] : size;
	}
	int64_t pack = pass_clamp((pass->class.columns || size == 1 ? 8 : 16) / size, 1, 8);
	if (pass_can_pack(pass, along, pack)) {
		pass->class.pack = (uint8_t)pack;
	}
}

static void pass_classify(struct reduce_pass *pass)
{
	const struct reduce_rule *rule = &pass->reduce->rule;
	int along = pass->lane_axis >= 0 ? pass->lane_axis : pass->axis;
	struct reduce_class *class = &pass->class;
	memset(class, 0, sizeof(*class));
	class->dtype = expr_dtype(pass->reduce->expr);
	class->result = rule->dtype;
	class->combine = (uint8_t)rule->combine;
	class->finish = (uint8_t)rule->finish;
	class->position = rule->position;
	class->narrow = rule->position && kz_dtype_size(class->dtype) <= 4
		&& pass->index_count <= INT32_MAX;
	class->partial = pass->partials ? 1 : 0;
	class->columns = pass->lane_axis >= 0;
	class->alone = kernels_walk(&reduce_family, pass->device);
	class->linear = class->alone && !class->columns && !class->position
		&& (class->dtype == KZ_BOOL || dtype_is_integer(class->dtype));
	class->rising = class->alone && class->position && !class->columns && !class->partial
		&& pass->strides[pass->operands - 1][along] >= 0;
	class->dims = pass->ndim <= 4 ? 4 : KZ_MAX_DIMS;
	class->unit = 1;
	for (int k = 1; k <= pass->arrays; k++) {
		int64_t stride = pass->strides[k][along];
		bool constant = stride == 0 && !class->columns && !class->partial;
		class->constant |= constant ? 1u << (k - 1) : 0;
		class->unit &= constant || stride == pass->size[k];
	}
}

/* Launch */

/* struct kz_extents of kernels/reduce.cuh.  Its length depends on the class: the words are ndim,
 * extents (class.dims of them), the number, and for each operand four, and class.dims strides. */
struct extents {
	struct kz_extents_head head;
	int64_t words[1 + KZ_MAX_DIMS + 1 + OPERANDS * (4 + KZ_MAX_DIMS)];
};

/* Extents that a task has one place of: all but the lanes' and the one that is reduced. */
static int pass_kept_axes(const struct reduce_pass *pass, int axes[STRIDED_ROOM])
{
	int count = 0;
	for (int i = 0; i < pass->ndim; i++) {
		if (i != pass->axis && i != pass->lane_axis) {
			axes[count++] = i;
		}
	}
	return count;
}

/* The result's strides are in row 0 by now, also those of the chunks. */
static void pass_fill_operand(int64_t *at, const struct reduce_pass *pass, int k, const int *axes,
	int count)
{
	int64_t step = pass->strides[k][pass->axis];
	bool columns = pass->lane_axis >= 0;
	at[0] = columns ? pass->strides[k][pass->lane_axis] : step;
	at[1] = columns ? step : step * pass->lanes;
	at[2] = at[0] * pass->lanes;
	at[3] = k ? step * pass->chunk : step;
	for (int i = 0; i < count; i++) {
		at[4 + i] = pass->strides[k][axes[i]];
	}
}

static void pass_fill_extents(struct extents *out, const struct reduce_pass *pass)
{
	int axes[STRIDED_ROOM];
	int count = pass_kept_axes(pass, axes);
	int64_t *at = out->words;
	size_t words = 2 + pass->class.dims + (size_t)pass->operands * (4 + pass->class.dims);
	memset(out->words, 0, words * sizeof(*out->words));
	out->head.chunks = pass->chunks;
	out->head.width = pass->lane_axis >= 0 ? pass->dims[pass->lane_axis] : 1;
	out->head.tiles = pass->lane_axis >= 0 ? divide_up(out->head.width, pass->lanes) : 1;
	out->head.tasks = out->head.chunks * out->head.tiles;
	out->head.count = pass->dims[pass->axis];
	out->head.chunk = pass->chunk;
	out->head.lanes = pass->lanes;
	out->head.first_index = pass->first_index;
	out->head.final = pass->final;
	*at++ = count;
	for (int i = 0; i < count; i++) {
		out->head.tasks *= pass->dims[axes[i]];
		at[i] = pass->dims[axes[i]];
	}
	at += pass->class.dims;
	memcpy(at++, &pass->reduce->number, sizeof(double));
	for (int k = 0; k < pass->operands; k++, at += 4 + pass->class.dims) {
		pass_fill_operand(at, pass, k, axes, count);
	}
}

static kz_status pass_find_kernel(struct kz_kernel **out, const struct reduce_pass *pass,
	kz_error *err)
{
	const struct expr *expr = pass->reduce->expr;
	struct {
		struct reduce_class class;
		struct expr_node nodes[EXPR_NODES];
	} key;
	size_t size = pass->class.partial ? 0 : (size_t)expr->node_count * sizeof(expr->nodes[0]);
	memset(&key, 0, offsetof(__typeof__(key), nodes));
	key.class = pass->class;
	memcpy(key.nodes, expr->nodes, size);
	struct reduce_text text = {pass->class, expr};
	struct kernels_want want = {
		.family = &reduce_family,
		.key = &key, .size = offsetof(__typeof__(key), nodes) + size, .context = &text,
		.what = pass->reduce->name,
	};
	return kernels_get(out, pass->device, &want, err);
}

static void pass_choose_grid(struct kernels_run *run, const struct reduce_pass *pass, int64_t tasks)
{
	int64_t most = 32 * (int64_t)pass->device->info.multiprocessors;
	if (pass->class.alone) {
		run->grid.x = pass_element_count(pass) < SMALL ? 1 : pass_clamp(tasks, 1, most / 4);
		return;
	}
	run->block.x = pass->lanes / pass->class.pack;
	run->block.y = REDUCE_BLOCK / run->block.x;
	run->grid.x = pass_clamp(divide_up(tasks, run->block.y), 1, most);
}

static kz_status pass_launch(const struct reduce_pass *pass, struct kz_buffer *to, kz_error *err)
{
	const struct expr *expr = pass->reduce->expr;
	struct extents extents;
	void *params[OPERANDS + 1 + EXPR_SCALARS];
	struct memory *used[OPERANDS];
	struct kernels_run run = {
		.stream = pass->reduce->stream, .params = params, .used = used,
		.grid = kz_dim(1, 1, 1), .block = kz_dim(1, 1, 1),
	};
	kz_status st = pass_find_kernel(&run.kernel, pass, err);
	if (st) {
		return st;
	}
	used[run.used_count++] = to ? to->memory : pass->target->buffer->memory;
	for (int k = 1; k <= pass->arrays; k++) {
		used[run.used_count++] = pass->partials ? pass->partials->memory
			: expr->arrays[k - 1]->buffer->memory;
	}
	int n = 0;
	for (; n <= pass->arrays; n++) {
		params[n] = (void *)&pass->address[n];
	}
	pass_fill_extents(&extents, pass);
	params[n++] = &extents;
	for (int i = 0; !pass->partials && i < expr->scalar_count; i++) {
		params[n++] = (void *)&expr->scalars[i];
	}
	pass_choose_grid(&run, pass, extents.head.tasks);
	return kernels_run(&run, err);
}

/* Passes */

/* The row-major layout of what this pass leaves: as many as there are chunks where it reduces. */
static int64_t pass_lay_out_partials(struct reduce_pass *pass, int64_t strides[STRIDED_ROOM],
	int64_t size)
{
	for (int i = pass->ndim; i-- > 0;) {
		strides[i] = size;
		size *= i == pass->axis ? pass->chunks : pass->dims[i];
	}
	return size;
}

/* Have the partial results in `buffer` be what the next pass reads. */
static void pass_read_partials(struct reduce_pass *pass, struct kz_buffer *buffer,
	const int64_t *strides, int64_t size)
{
	buffer_release(pass->partials);
	pass->partials = buffer;
	pass->arrays = 1;
	pass->operands = 2;
	pass->address[1] = buffer_address(buffer);
	pass->size[1] = size;
	pass->dims[pass->axis] = pass->chunks;
	memcpy(pass->strides[1], strides, (size_t)pass->ndim * sizeof(*strides));
}

static kz_status pass_run_partial(struct reduce_pass *pass, kz_error *err)
{
	int64_t strides[STRIDED_ROOM], mine[STRIDED_ROOM];
	int64_t size = reduce_partial_size(&pass->class);
	int64_t total = pass_lay_out_partials(pass, strides, size);
	CUdeviceptr address = pass->address[0];
	struct kz_buffer *buffer = NULL;
	const struct memory_wish wish = {.stream = pass->reduce->stream};
	kz_status st = buffer_create(&buffer, pass->device, total, &wish, err);
	if (st) {
		return st;
	}
	size_t bytes = (size_t)pass->ndim * sizeof(*strides);
	memcpy(mine, pass->strides[0], bytes);
	memcpy(pass->strides[0], strides, bytes);
	pass->address[0] = buffer_address(buffer);
	st = pass_launch(pass, buffer, err);
	memcpy(pass->strides[0], mine, bytes);
	pass->address[0] = address;
	if (st) {
		buffer_release(buffer);
		return st;
	}
	pass_read_partials(pass, buffer, strides, size);
	return KZ_OK;
}

kz_status reduce_run(struct kz_array *target, const struct reduce *reduce, const kz_shape *shape,
	kz_error *err)
{
	struct reduce_pass pass; /* 4 kB, of which little is used */
	kz_status st = KZ_OK;
	pass.reduce = reduce;
	pass.target = target;
	pass.device = kz_array_device(target);
	pass_start(&pass, shape);
	if ((st = pass_check_alignment(&pass, err))) {
		return st;
	}
	while (!st && !pass.final) {
		pass_sort_axes(&pass);
		pass_merge_axes(&pass);
		pass_choose_axis(&pass);
		pass_choose_lanes(&pass);
		pass_classify(&pass);
		pass_choose_chunks(&pass);
		pass_choose_pack(&pass);
		st = pass.final ? pass_launch(&pass, NULL, err) : pass_run_partial(&pass, err);
	}
	buffer_release(pass.partials);
	return st;
}

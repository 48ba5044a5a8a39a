/* SPDX-License-Identifier: MIT */
/*
 * Transposing copies, by tiles: a plain loop would read one of the two arrays in steps of rows.
 * Axes other than the two are a list of matrices.
 */
#include "base/common.h"

#include "kernels/transpose.cuh"
#include "lib/ops/device_code.h"
#include "lib/ops/kernels.h"
#include "lib/ops/transpose.h"

#include <string.h>

enum { MIN_EXTENT = 8, MOST_Y = 65535 };

static void transpose_write_source(struct str *source, const void *context)
{
	static const char *const types[17] = {
		[1] = "unsigned char", [2] = "unsigned short", [4] = "unsigned int",
		[8] = "unsigned long long", [16] = "ulonglong2",
	};
	const int64_t *size = context;
	str_addf(source, "typedef %s kz_element;\n", types[*size]);
	str_add(source, device_transpose);
}

/* `tile` is rows and columns of words. */
static const struct kernel_family transpose_family = {
	"transpose", transpose_write_source,
	{[SCHEDULE_MANY] = {256, 32}, [SCHEDULE_ONE] = {1, 64}}, .is_brief = true,
};

bool transpose_suits(struct transpose *copy)
{
	int last = copy->ndim - 1;
	if (copy->ndim < 2 || copy->strides[0][last] != copy->size
	    || copy->strides[1][last] == copy->size || copy->strides[1][last] == 0
	    || copy->size > 16 || (copy->size & (copy->size - 1))
	    || copy->dims[last] < MIN_EXTENT) {
		return false;
	}
	for (copy->turned = 0; copy->turned < last; copy->turned++) {
		if (copy->strides[1][copy->turned] == copy->size) {
			return copy->dims[copy->turned] >= MIN_EXTENT;
		}
	}
	return false;
}

/* The extent of a tile, in elements. */
static int64_t transpose_tile(const struct transpose *copy)
{
	const struct schedule *schedule = schedule_of(transpose_family.schedules, copy->device);
	return copy->size < 4 && schedule->threads > 1 ? schedule->tile * 4 / copy->size
		: schedule->tile;
}

/* Whether everything lies at multiples of a word's size; longer elements are words. */
static bool transpose_lies_in_words(const struct transpose *copy)
{
	const int64_t word = kernels_walk(&transpose_family, copy->device) ? 8 : 4;
	uint64_t bits = copy->address[0] | copy->address[1];
	for (int i = 0; i < copy->ndim; i++) {
		bits |= i == copy->ndim - 1 ? 0 : (uint64_t)copy->strides[0][i];
		bits |= i == copy->turned ? 0 : (uint64_t)copy->strides[1][i];
	}
	return copy->size >= word || bits % (uint64_t)word == 0;
}

static void transpose_fill(struct kz_transposed *out, const struct transpose *copy)
{
	int last = copy->ndim - 1;
	out->rows = copy->dims[copy->turned];
	out->columns = copy->dims[last];
	out->to_row = copy->strides[0][copy->turned];
	out->from_column = copy->strides[1][last];
	out->down = 0;
	out->unused = 0;
	out->words = transpose_lies_in_words(copy);
	out->ndim = 0;
	for (int i = 0; i < last; i++) {
		if (i != copy->turned) {
			out->dims[out->ndim] = copy->dims[i];
			out->to_strides[out->ndim] = copy->strides[0][i];
			out->from_strides[out->ndim++] = copy->strides[1][i];
		}
	}
}

/* Tiles are small, so the kernel divides as little as possible: y counts them in the other
 * direction.  The counts fit: no memory has so many elements that both directions have over MOST_Y,
 * or 2^31 in all. */
static kz_dim3 transpose_choose_grid(struct kz_transposed *shape, const struct transpose *copy)
{
	const int64_t tile = transpose_tile(copy), rows = divide_up(shape->rows, tile);
	const int64_t columns = divide_up(shape->columns, tile);
	const bool walks = kernels_walk(&transpose_family, copy->device);
	shape->down = !walks && rows > MOST_Y;
	shape->tiles = (uint32_t)(shape->down ? rows : columns);
	int64_t count = shape->tiles;
	for (int64_t i = 0; i < shape->ndim; i++) {
		count *= shape->dims[i];
	}
	return kz_dim(count, walks ? 1 : shape->down ? columns : rows, 1);
}

kz_status transpose_run(const struct transpose *copy, kz_error *err)
{
	struct kz_transposed shape;
	CUdeviceptr address[2] = {copy->address[0], copy->address[1]};
	void *params[] = {&address[0], &address[1], &shape};
	struct kernels_run run = {
		.want = {&transpose_family, &copy->size, sizeof(copy->size)},
		.stream = copy->stream, .params = params, .used = copy->memory, .used_count = 2,
	};
	kz_status st = kernels_get(&run.kernel, copy->device, &run.want, err);
	if (st || copy->compile_only) {
		return st;
	}
	transpose_fill(&shape, copy);
	run.grid = transpose_choose_grid(&shape, copy);
	return kernels_run(&run, err);
}

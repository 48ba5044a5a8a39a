/* SPDX-License-Identifier: MIT */
/*
 * Sparse matrices in another form: CSR, COO, transposed, dense.
 *
 * All of them go through one list of entries.  A stable radix sort by columns and then by rows puts
 * entries in their order; entries of one place stay in the order that they had, and are added in
 * it.  A transposed CSR matrix is sorted by one key alone.
 */
#include "base/common.h"

#include "lib/sparse/sparse.h"

#include "kernels/sparse.cuh"

#include <kudzu/indexing.h>
#include <kudzu/scan.h>
#include <kudzu/view.h>

#include <string.h>

enum { WALKING_BLOCKS = 4 }; /* of a sort by blocks of one thread, whose counts are as many times
                                the keys */

/* What there is of each entry; the arrays are counted. */
struct entries {
	int64_t rows, columns;
	struct kz_array *data, *row_of, *column_of;
};

static void sparse_entries_release(struct entries *entries)
{
	kz_array_release(entries->data);
	kz_array_release(entries->row_of);
	kz_array_release(entries->column_of);
}

/* Entries of a matrix */

static kz_status sparse_find_rows(struct kz_array **out, const struct kz_sparse *sparse,
	struct kz_stream *stream, kz_error *err)
{
	if (sparse->format == KZ_SPARSE_COO) {
		*out = kz_array_retain(sparse->places);
		return KZ_OK;
	}
	struct kz_array *rows = NULL;
	kz_status st = array_create_on(&rows, stream->device, sparse->index, &sparse->data->shape,
		stream, err);
	const struct sparse_job job = {
		.kernel = SPARSE_ROWS, .index = sparse->index, .count = sparse->count,
		.per = SPARSE_CHUNK,
		.array_count = 2, .arrays = {rows, sparse->places},
		.number_count = 2, .numbers = {sparse->rows, sparse->count},
	};
	st = st ? st : sparse_run(&job, stream, err);
	return array_finish(out, rows, st);
}

/* The entries of op(sparse). */
static kz_status sparse_entries_read(struct entries *out, const struct kz_sparse *sparse,
	kz_matrix_op op, struct kz_stream *stream, kz_error *err)
{
	bool is_turned = op != KZ_MATRIX_AS_IS;
	*out = (struct entries){
		is_turned ? sparse->columns : sparse->rows, is_turned ? sparse->rows
			: sparse->columns,
		NULL, NULL, NULL,
	};
	kz_status st = sparse_find_rows(is_turned ? &out->column_of : &out->row_of, sparse, stream,
		err);
	*(is_turned ? &out->row_of : &out->column_of) = kz_array_retain(sparse->indices);
	st = st ? st : sparse_read_values(&out->data, sparse, op, stream, err);
	return st;
}

/* Order */

/* How one pass of the sort goes. */
struct sparse_digits {
	int64_t bits;   /* of a digit */
	int64_t blocks;
	int64_t per;    /* entries of a block */
};

/* Blocks of one thread count all keys at once if the counts take no more room than a few times the
 * entries. */
static struct sparse_digits sparse_plan_digits(const struct kz_device *dev, int64_t count,
	int64_t bits)
{
	struct sparse_digits plan = {bits, 1, count};
	bool walks = sparse_walks(dev);
	if (walks) {
		plan.per = divide_up(count, min64(WALKING_BLOCKS, divide_up(count, SPARSE_CHUNK)));
	} else {
		plan.per = SPARSE_CHUNK;
	}
	plan.blocks = divide_up(count, plan.per);
	int64_t most = walks ? 4 * count + 65536 : KZ_DIGITS * plan.blocks;
	while (plan.bits > 8 && (plan.bits > 40 || plan.blocks << plan.bits > most)) {
		plan.bits--;
	}
	return plan;
}

/* The entries in order of one digit of their keys, which are the rows or the columns. */
static kz_status sparse_entries_sort_digit(struct entries *entries, bool by_rows, int64_t shift,
	const struct sparse_digits *plan, struct kz_stream *stream, kz_error *err)
{
	struct entries sorted = {entries->rows, entries->columns, NULL, NULL, NULL};
	struct kz_array *keys = by_rows ? entries->row_of : entries->column_of;
	struct kz_array *others = by_rows ? entries->column_of : entries->row_of;
	struct kz_array *counts = NULL, *offsets = NULL;
	struct kz_device *dev = stream->device;
	kz_scan_options scan = {.size = sizeof(scan), .axis = -1, .exclusive = 1, .stream = stream};
	const int64_t digits = (int64_t)1 << plan->bits;
	kz_status st;
	if (!(st = kz_array_zeros_on(&counts, dev, keys->dtype, KZ_SHAPE(digits * plan->blocks),
		stream, err))
	    && !(st = array_create_on(&sorted.data, dev, entries->data->dtype, &keys->shape, stream,
		err))
	    && !(st = array_create_on(&sorted.row_of, dev, keys->dtype, &keys->shape, stream, err))
	    && !(st = array_create_on(&sorted.column_of, dev, keys->dtype, &keys->shape, stream,
		err))) {
		struct sparse_job job = {
			.kernel = SPARSE_COUNT, .index = keys->dtype, .count = keys->count,
			.per = plan->per, .array_count = 2, .arrays = {counts, keys},
			.number_count = 4, .numbers = {keys->count, shift, digits, plan->per},
		};
		st = sparse_run(&job, stream, err);
		st = st ? st : kz_scan(&offsets, counts, "a + b", "0", &scan, err);
		job.kernel = SPARSE_PLACE;
		job.dtype = entries->data->dtype;
		job.array_count = 7;
		memcpy(job.arrays, (struct kz_array *[]){sorted.data,
			by_rows ? sorted.row_of : sorted.column_of,
			by_rows ? sorted.column_of : sorted.row_of, offsets, entries->data, keys,
			others}, sizeof(job.arrays));
		st = st ? st : sparse_run(&job, stream, err);
	}
	kz_array_release(counts);
	kz_array_release(offsets);
	sparse_entries_release(st ? &sorted : entries);
	*entries = st ? *entries : sorted;
	return st;
}

/* Sort entries by their rows, or columns; those of one stay in their order. */
static kz_status sparse_entries_sort_by(struct entries *entries, bool by_rows,
	struct kz_stream *stream, kz_error *err)
{
	int64_t bits = 0, most = (by_rows ? entries->rows : entries->columns) - 1;
	kz_status st = KZ_OK;
	while (bits < 63 && most >> bits > 0) {
		bits++;
	}
	if (entries->data->count == 0 || bits == 0) {
		return KZ_OK;
	}
	struct sparse_digits plan = sparse_plan_digits(stream->device, entries->data->count, bits);
	for (int64_t shift = 0; !st && shift < bits; shift += plan.bits) {
		st = sparse_entries_sort_digit(entries, by_rows, shift, &plan, stream, err);
	}
	return st;
}

/* Sort entries by their rows, and in these by columns, unless they are.  Waits. */
static kz_status sparse_entries_sort(struct entries *entries, struct kz_stream *stream,
	kz_error *err)
{
	uint64_t place;
	const struct sparse_job job = {
		.kernel = SPARSE_ORDER, .index = entries->row_of->dtype,
		.count = entries->data->count,
		.per = SPARSE_CHUNK, .array_count = 3,
		.arrays = {NULL, entries->row_of, entries->column_of},
		.number_count = 1, .numbers = {entries->data->count},
	};
	kz_status st = sparse_find(&place, &job, stream, err);
	if (st || place == UINT64_MAX) {
		return st;
	}
	st = sparse_entries_sort_by(entries, false, stream, err);
	return st ? st : sparse_entries_sort_by(entries, true, stream, err);
}

/* Sums */

/* Which of the entries that are left each entry goes to, from 1; *total of them.  Waits. */
static kz_status sparse_entries_number(struct kz_array **out, int64_t *total,
	const struct entries *entries, struct kz_stream *stream, kz_error *err)
{
	struct kz_array *heads = NULL, *numbers = NULL, *last = NULL;
	int64_t count = entries->data->count;
	kz_status st = array_create_on(&heads, stream->device, KZ_I64, &entries->data->shape,
		stream, err);
	const struct sparse_job job = {
		.kernel = SPARSE_HEADS, .index = entries->row_of->dtype, .count = count,
		.per = SPARSE_CHUNK, .array_count = 3,
		.arrays = {heads, entries->row_of, entries->column_of}, .number_count = 1,
		.numbers = {count},
	};
	if (!st && !(st = sparse_run(&job, stream, err))
	    && !(st = kz_cumsum_on(&numbers, heads, 0, stream, err))
	    && !(st = kz_array_view(&last, numbers, KZ_SHAPE(), NULL,
		(count - 1) * (int64_t)sizeof(*total), err))) {
		st = kz_array_get(last, total, sizeof(*total), err);
	}
	kz_array_release(heads);
	kz_array_release(last);
	return array_finish(out, numbers, st);
}

/* Add entries of one row and column up; they are in order. */
static kz_status sparse_entries_merge(struct entries *entries, struct kz_stream *stream,
	kz_error *err)
{
	struct entries merged = *entries;
	struct kz_array *numbers = NULL;
	int64_t total = 0, count = entries->data->count;
	kz_status st = count ? sparse_entries_number(&numbers, &total, entries, stream, err)
		: KZ_OK;
	if (st || total == count) {
		kz_array_release(numbers);
		return st;
	}
	const kz_shape shape = KZ_SHAPE(total);
	kz_dtype index = entries->row_of->dtype;
	merged.data = merged.row_of = merged.column_of = NULL;
	if (!(st = array_create_on(&merged.data, stream->device, entries->data->dtype, &shape,
		stream, err))
	    && !(st = array_create_on(&merged.row_of, stream->device, index, &shape, stream, err))
	    && !(st = array_create_on(&merged.column_of, stream->device, index, &shape, stream,
		err))) {
		const struct sparse_job job = {
			.kernel = SPARSE_MERGE, .dtype = entries->data->dtype, .index = index,
			.count = count, .per = SPARSE_CHUNK, .array_count = 7,
			.arrays = {merged.data, merged.row_of, merged.column_of, entries->data,
				entries->row_of, entries->column_of, numbers},
			.number_count = 1, .numbers = {count},
		};
		st = sparse_run(&job, stream, err);
	}
	kz_array_release(numbers);
	sparse_entries_release(st ? &merged : entries);
	*entries = st ? *entries : merged;
	return st;
}

/* Matrices of entries */

/* A CSR matrix of entries whose rows are in order. */
static kz_status sparse_entries_to_csr(struct kz_sparse **out, const struct entries *entries,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *pointers = NULL;
	const kz_shape shape = KZ_SHAPE(entries->rows + 1);
	kz_dtype index = entries->row_of->dtype;
	kz_status st = array_create_on(&pointers, stream->device, index, &shape, stream, err);
	const struct sparse_job job = {
		.kernel = SPARSE_POINTERS, .index = index, .count = entries->rows + 1,
		.per = SPARSE_CHUNK,
		.array_count = 2, .arrays = {pointers, entries->row_of},
		.number_count = 2, .numbers = {entries->rows, entries->data->count},
	};
	const struct sparse_parts parts = {KZ_SPARSE_CSR, entries->rows, entries->columns,
		entries->data, entries->column_of, pointers};
	*out = NULL;
	if (!st && !(st = sparse_run(&job, stream, err))) {
		st = sparse_new(out, &parts, err);
	}
	kz_array_release(pointers);
	return st;
}

static kz_status sparse_entries_to_coo(struct kz_sparse **out, const struct entries *entries,
	kz_error *err)
{
	const struct sparse_parts parts = {KZ_SPARSE_COO, entries->rows, entries->columns,
		entries->data, entries->column_of, entries->row_of};
	return sparse_new(out, &parts, err);
}

kz_status sparse_as_csr(struct kz_sparse **out, struct kz_sparse *sparse, kz_matrix_op op,
	struct kz_stream *stream, kz_error *err)
{
	struct entries entries;
	kz_status st;
	*out = NULL;
	if (op == KZ_MATRIX_AS_IS && sparse->format == KZ_SPARSE_CSR) {
		*out = kz_sparse_retain(sparse);
		return KZ_OK;
	}
	if (!(st = sparse_entries_read(&entries, sparse, op, stream, err))
	    && !(st = sparse_entries_sort_by(&entries, true, stream, err))) {
		st = sparse_entries_to_csr(out, &entries, stream, err);
	}
	sparse_entries_release(&entries);
	return st;
}

/* The matrix of entries, which are in the order of the format, and are released; `st` says whether
 * they are there. */
static kz_status sparse_entries_finish(kz_sparse **out, struct entries *entries,
	kz_sparse_format format, kz_status st, struct kz_stream *stream, kz_error *err)
{
	struct kz_sparse *made = NULL;
	if (!st) {
		st = format == KZ_SPARSE_COO ? sparse_entries_to_coo(&made, entries, err)
			: sparse_entries_to_csr(&made, entries, stream, err);
	}
	sparse_entries_release(entries);
	return sparse_finish(out, made, st);
}

/* Public conversions */

static kz_status sparse_check_format(kz_sparse_format format, kz_error *err)
{
	return format == KZ_SPARSE_CSR || format == KZ_SPARSE_COO ? KZ_OK
		: error_set(err, KZ_INVALID, "%d is not a kz_sparse_format", (int)format);
}

kz_status kz_sparse_convert(kz_sparse **out, kz_sparse *sparse, kz_sparse_format format,
	const kz_sparse_options *options, kz_error *err)
{
	error_scope(err);
	struct entries entries;
	struct kz_stream *stream;
	bool trusted;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(sparse, OBJECT_SPARSE, err))
	    || (st = sparse_check_format(format, err))
	    || (st = sparse_read_options(&stream, &trusted, sparse_device(sparse), options, err))) {
		return st;
	}
	if (format == sparse->format) {
		*out = kz_sparse_retain(sparse);
		return KZ_OK;
	}
	if (format == KZ_SPARSE_CSR && (st = stream_check_free(stream, err))) {
		return st;
	}
	st = sparse_entries_read(&entries, sparse, KZ_MATRIX_AS_IS, stream, err);
	if (!st && format == KZ_SPARSE_CSR && !(st = sparse_entries_sort(&entries, stream, err))) {
		st = sparse_entries_merge(&entries, stream, err);
	}
	return sparse_entries_finish(out, &entries, format, st, stream, err);
}

kz_status kz_sparse_transpose(kz_sparse **out, kz_sparse *sparse, kz_matrix_op op,
	const kz_sparse_options *options, kz_error *err)
{
	error_scope(err);
	struct entries entries;
	struct kz_stream *stream;
	bool trusted;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(sparse, OBJECT_SPARSE, err))
	    || (st = sparse_check_op(op, err))
	    || (st = sparse_read_options(&stream, &trusted, sparse_device(sparse), options, err))) {
		return st;
	}
	if (op == KZ_MATRIX_AS_IS) {
		*out = kz_sparse_retain(sparse);
		return KZ_OK;
	}
	st = sparse_entries_read(&entries, sparse, op, stream, err);
	if (!st && sparse->format == KZ_SPARSE_CSR) {
		st = sparse_entries_sort_by(&entries, true, stream, err);
	}
	return sparse_entries_finish(out, &entries, sparse->format, st, stream, err);
}

/* Dense arrays */

/* Rows or columns, which nonzero gives, as indexes of a type. */
static kz_status sparse_take_places(struct kz_array **out, struct kz_array *both, int64_t which,
	kz_dtype index, struct kz_stream *stream, kz_error *err)
{
	struct kz_array *line = NULL;
	int64_t count = both->shape.dims[1];
	kz_status st = kz_array_view(&line, both, KZ_SHAPE(count), NULL,
		count ? which * both->strides[0] : 0, err);
	st = st ? st : elementwise_contiguous(out, line, index, stream, err);
	kz_array_release(line);
	return st;
}

static kz_status sparse_entries_of_dense(struct entries *out, struct kz_array *array,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *both = NULL;
	kz_status st;
	*out = (struct entries){array->shape.dims[0], array->shape.dims[1], NULL, NULL, NULL};
	if (!(st = kz_array_nonzero_on(&both, array, stream, err))
	    && !(st = kz_array_compress_on(&out->data, array, array, stream, err))) {
		kz_dtype index = sparse_index_type(out->rows, out->columns, out->data->count);
		st = sparse_take_places(&out->row_of, both, 0, index, stream, err);
		st = st ? st : sparse_take_places(&out->column_of, both, 1, index, stream, err);
	}
	kz_array_release(both);
	return st;
}

kz_status kz_sparse_from_dense(kz_sparse **out, kz_array *array, kz_sparse_format format,
	const kz_sparse_options *options, kz_error *err)
{
	error_scope(err);
	struct entries entries;
	struct kz_stream *stream;
	bool trusted;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = sparse_check_format(format, err))
	    || (st = sparse_check_dtype(array->dtype, err))
	    || (st = sparse_read_options(&stream, &trusted, array_device(array), options, err))) {
		return st;
	}
	if (array->shape.ndim != 2) {
		return error_set(err, KZ_INVALID, "expected an array of two extents, got %s",
			shape_text(&array->shape).text);
	}
	st = sparse_entries_of_dense(&entries, array, stream, err);
	return sparse_entries_finish(out, &entries, format, st, stream, err);
}

kz_status kz_sparse_to_dense(kz_array **out, kz_sparse *sparse, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct contract_how how;
	struct kz_sparse *csr = NULL;
	struct kz_array *dense = NULL;
	kz_status st;
	out_clear(out, sizeof(*out), __func__);
	if ((st = object_check(sparse, OBJECT_SPARSE, err))
	    || (st = contract_begin(&how, "to_dense", out, (kz_arrays){&sparse->data, 1}, options,
		err))) {
		return st;
	}
	const kz_shape shape = KZ_SHAPE(sparse->rows, sparse->columns);
	if ((st = contract_check_into(&how, &shape, err))
	    || (st = sparse_as_csr(&csr, sparse, KZ_MATRIX_AS_IS, how.stream, err))) {
		return st;
	}
	if (!(st = kz_array_zeros_on(&dense, how.stream->device, sparse->dtype, shape, how.stream,
		err))) {
		const struct sparse_job job = {
			.kernel = SPARSE_DENSE, .dtype = sparse->dtype, .index = sparse->index,
			.count = sparse->rows, .per = 256, .array_count = 4,
			.arrays = {dense, csr->data, csr->indices, csr->places},
			.number_count = 3, .numbers = {sparse->rows, sparse->columns, 256},
		};
		st = sparse_run(&job, how.stream, err);
	}
	st = st ? st : sparse_hand_out(out, dense, &how, err);
	kz_array_release(dense);
	kz_sparse_release(csr);
	return st;
}

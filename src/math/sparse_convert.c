/* SPDX-License-Identifier: MIT */
/*
 * Sparse matrices in another form: CSR, COO, transposed, dense.
 *
 * All of them go through one list of entries.  A stable radix sort by columns and then by rows puts
 * entries in their order; entries of one place stay in the order that they had, and are added in it.
 * A transposed CSR matrix is sorted by one key alone.
 */
#include "base/common.h"

#include "math/sparse.h"

#include <kudzu/indexing.h>
#include <kudzu/scan.h>
#include <kudzu/view.h>

/* What there is of each entry; the arrays are counted. */
struct entries {
	int64_t rows, columns;
	struct kz_array *data, *row_of, *column_of;
};

static void entries_release(struct entries *entries)
{
	kz_array_release(entries->data);
	kz_array_release(entries->row_of);
	kz_array_release(entries->column_of);
}

/* Put another array in the place of one that is counted. */
static void entries_replace(struct kz_array **place, struct kz_array *array)
{
	kz_array_release(*place);
	*place = array;
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
	kz_status st = array_create_on(&rows, stream->device, sparse->index, &sparse->data->shape, stream,
		err);
	const struct sparse_job job = {
		.kernel = SPARSE_ROWS, .index = sparse->index, .count = sparse->count, .per = SPARSE_CHUNK,
		.array_count = 2, .arrays = {rows, sparse->places},
		.number_count = 2, .numbers = {sparse->rows, sparse->count},
	};
	st = st ? st : sparse_run(&job, stream, err);
	return array_finish(out, rows, st);
}

/* The entries of op(sparse). */
static kz_status entries_read(struct entries *out, const struct kz_sparse *sparse, kz_matrix_op op,
	struct kz_stream *stream, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = stream};
	bool is_turned = op != KZ_MATRIX_AS_IS;
	*out = (struct entries){
		is_turned ? sparse->columns : sparse->rows, is_turned ? sparse->rows : sparse->columns,
		NULL, NULL, NULL,
	};
	kz_status st = sparse_find_rows(is_turned ? &out->column_of : &out->row_of, sparse, stream, err);
	*(is_turned ? &out->row_of : &out->column_of) = kz_array_retain(sparse->indices);
	if (!st && op == KZ_MATRIX_ADJOINT && dtype_is_complex(sparse->dtype)) {
		st = kz_apply(&out->data, KZ_OP_CONJUGATE, &options, err, KZ_ARGS(sparse->data));
	} else {
		out->data = kz_array_retain(sparse->data);
	}
	return st;
}

/* Order */

/* One digit of a radix sort; *order is replaced. */
static kz_status sparse_sort_digit(struct kz_array **order, struct kz_array *keys, int64_t shift,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *counts = NULL, *offsets = NULL, *sorted = NULL;
	const kz_shape shape = KZ_SHAPE(SPARSE_DIGITS * divide_up(keys->count, SPARSE_CHUNK));
	kz_scan_options scan = {.size = sizeof(scan), .axis = -1, .exclusive = 1, .stream = stream};
	struct sparse_job job = {
		.kernel = SPARSE_COUNT, .index = keys->dtype, .count = keys->count, .per = SPARSE_CHUNK,
		.number_count = 2, .numbers = {keys->count, shift},
	};
	kz_status st;
	if ((st = array_create_on(&counts, stream->device, KZ_I64, &shape, stream, err))
	    || (st = array_create_on(&sorted, stream->device, KZ_I64, &keys->shape, stream, err))) {
		goto out;
	}
	job.array_count = 3;
	job.arrays[0] = counts;
	job.arrays[1] = keys;
	job.arrays[2] = *order;
	if ((st = sparse_run(&job, stream, err))
	    || (st = kz_scan(&offsets, counts, "a + b", "0", &scan, err))) {
		goto out;
	}
	job.kernel = SPARSE_PLACE;
	job.block = kz_dim(32, 1, 1);
	job.array_count = 4;
	job.arrays[0] = sorted;
	job.arrays[1] = offsets;
	job.arrays[2] = keys;
	job.arrays[3] = *order;
	if (!(st = sparse_run(&job, stream, err))) {
		entries_replace(order, kz_array_retain(sorted));
	}
out:
	kz_array_release(counts);
	kz_array_release(offsets);
	kz_array_release(sorted);
	return st;
}

/* Sort keys from 0 to before `extent`: *order, NULL for that of the array, becomes the places in order
 * of the keys, and where these are equal as before. */
static kz_status sparse_sort(struct kz_array **order, struct kz_array *keys, int64_t extent,
	struct kz_stream *stream, kz_error *err)
{
	kz_status st = KZ_OK;
	int64_t bits = 0;
	while (bits < 63 && (extent - 1) >> bits > 0) {
		bits++;
	}
	for (int64_t shift = 0; !st && keys->count && shift < bits; shift += 8) {
		st = sparse_sort_digit(order, keys, shift, stream, err);
	}
	return st;
}

/* Bring all of the entries in an order. */
static kz_status entries_gather(struct entries *entries, struct kz_array *order,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array **const places[3] = {&entries->data, &entries->row_of, &entries->column_of};
	kz_status st = KZ_OK;
	for (int i = 0; order && !st && i < 3; i++) {
		struct kz_array *taken = NULL;
		st = kz_array_take_on(&taken, *places[i], order, 0, KZ_INDEX_CLIP, stream, err);
		entries_replace(places[i], taken);
	}
	return st;
}

/* Sort entries by their rows, and in these by columns if that is wanted. */
static kz_status entries_sort(struct entries *entries, bool with_columns, struct kz_stream *stream,
	kz_error *err)
{
	struct kz_array *order = NULL;
	kz_status st = KZ_OK;
	if ((with_columns && (st = sparse_sort(&order, entries->column_of, entries->columns, stream, err)))
	    || (st = sparse_sort(&order, entries->row_of, entries->rows, stream, err))) {
		kz_array_release(order);
		return st;
	}
	st = entries_gather(entries, order, stream, err);
	kz_array_release(order);
	return st;
}

/* Sums */

/* Which of the entries that are left each entry goes to, from 1; *total of them.  Waits. */
static kz_status entries_number(struct kz_array **out, int64_t *total, const struct entries *entries,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *heads = NULL, *numbers = NULL, *last = NULL;
	int64_t count = entries->data->count;
	kz_status st = array_create_on(&heads, stream->device, KZ_I64, &entries->data->shape, stream, err);
	const struct sparse_job job = {
		.kernel = SPARSE_HEADS, .index = entries->row_of->dtype, .count = count,
		.per = SPARSE_CHUNK, .array_count = 3,
		.arrays = {heads, entries->row_of, entries->column_of}, .number_count = 1, .numbers = {count},
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
static kz_status entries_merge(struct entries *entries, struct kz_stream *stream, kz_error *err)
{
	struct entries merged = *entries;
	struct kz_array *numbers = NULL;
	int64_t total = 0, count = entries->data->count;
	kz_status st = count ? entries_number(&numbers, &total, entries, stream, err) : KZ_OK;
	if (st || total == count) {
		kz_array_release(numbers);
		return st;
	}
	const kz_shape shape = KZ_SHAPE(total);
	kz_dtype index = entries->row_of->dtype;
	merged.data = merged.row_of = merged.column_of = NULL;
	if (!(st = array_create_on(&merged.data, stream->device, entries->data->dtype, &shape, stream, err))
	    && !(st = array_create_on(&merged.row_of, stream->device, index, &shape, stream, err))
	    && !(st = array_create_on(&merged.column_of, stream->device, index, &shape, stream, err))) {
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
	entries_release(st ? &merged : entries);
	*entries = st ? *entries : merged;
	return st;
}

/* Matrices of entries */

/* A CSR matrix of entries whose rows are in order. */
static kz_status entries_to_csr(struct kz_sparse **out, const struct entries *entries,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *pointers = NULL;
	const kz_shape shape = KZ_SHAPE(entries->rows + 1);
	kz_dtype index = entries->row_of->dtype;
	kz_status st = array_create_on(&pointers, stream->device, index, &shape, stream, err);
	const struct sparse_job job = {
		.kernel = SPARSE_POINTERS, .index = index, .count = entries->rows + 1, .per = SPARSE_CHUNK,
		.array_count = 2, .arrays = {pointers, entries->row_of},
		.number_count = 2, .numbers = {entries->rows, entries->data->count},
	};
	const struct sparse_parts parts = {KZ_SPARSE_CSR, entries->rows, entries->columns, entries->data,
		entries->column_of, pointers};
	*out = NULL;
	if (!st && !(st = sparse_run(&job, stream, err))) {
		st = sparse_new(out, &parts, err);
	}
	kz_array_release(pointers);
	return st;
}

static kz_status entries_to_coo(struct kz_sparse **out, const struct entries *entries, kz_error *err)
{
	const struct sparse_parts parts = {KZ_SPARSE_COO, entries->rows, entries->columns, entries->data,
		entries->column_of, entries->row_of};
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
	if (!(st = entries_read(&entries, sparse, op, stream, err))
	    && !(st = entries_sort(&entries, false, stream, err))) {
		st = entries_to_csr(out, &entries, stream, err);
	}
	entries_release(&entries);
	return st;
}

/* Public conversions */

static kz_status sparse_check_format(kz_sparse_format format, kz_error *err)
{
	return format == KZ_SPARSE_CSR || format == KZ_SPARSE_COO ? KZ_OK
		: error_set(err, KZ_INVALID, "%d is no kz_sparse_format", (int)format);
}

kz_status kz_sparse_convert(kz_sparse **out, kz_sparse *sparse, kz_sparse_format format,
	const kz_sparse_options *options, kz_error *err)
{
	struct entries entries = {.data = NULL};
	struct kz_sparse *made = NULL;
	struct kz_stream *stream;
	bool trusted;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(sparse, OBJECT_SPARSE, err)) || (st = sparse_check_format(format, err))
	    || (st = sparse_read_options(&stream, &trusted, sparse_device(sparse), options, err))) {
		return st;
	}
	if (format == sparse->format) {
		*out = kz_sparse_retain(sparse);
		return KZ_OK;
	}
	if (format == KZ_SPARSE_CSR && (st = stream_check_free(stream, __func__, err))) {
		return st;
	}
	if (!(st = entries_read(&entries, sparse, KZ_MATRIX_AS_IS, stream, err))) {
		st = format == KZ_SPARSE_COO ? entries_to_coo(&made, &entries, err)
			: (st = entries_sort(&entries, true, stream, err)) ? st
			: (st = entries_merge(&entries, stream, err)) ? st
			: entries_to_csr(&made, &entries, stream, err);
	}
	entries_release(&entries);
	return sparse_finish(out, made, st);
}

kz_status kz_sparse_transpose(kz_sparse **out, kz_sparse *sparse, kz_matrix_op op,
	const kz_sparse_options *options, kz_error *err)
{
	struct entries entries;
	struct kz_sparse *made = NULL;
	struct kz_stream *stream;
	bool trusted;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(sparse, OBJECT_SPARSE, err)) || (st = sparse_check_op(op, err))
	    || (st = sparse_read_options(&stream, &trusted, sparse_device(sparse), options, err))) {
		return st;
	}
	if (op == KZ_MATRIX_AS_IS) {
		*out = kz_sparse_retain(sparse);
		return KZ_OK;
	}
	if (sparse->format == KZ_SPARSE_CSR) {
		st = sparse_as_csr(&made, sparse, op, stream, err);
		return sparse_finish(out, made, st);
	}
	if (!(st = entries_read(&entries, sparse, op, stream, err))) {
		st = entries_to_coo(&made, &entries, err);
	}
	entries_release(&entries);
	return sparse_finish(out, made, st);
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

static kz_status entries_of_dense(struct entries *out, struct kz_array *array, struct kz_stream *stream,
	kz_error *err)
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
	struct entries entries;
	struct kz_sparse *made = NULL;
	struct kz_stream *stream;
	bool trusted;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(array, OBJECT_ARRAY, err)) || (st = sparse_check_format(format, err))
	    || (st = sparse_check_dtype(array->dtype, err))
	    || (st = sparse_read_options(&stream, &trusted, array_device(array), options, err))) {
		return st;
	}
	if (array->shape.ndim != 2) {
		return error_set(err, KZ_INVALID, "expected an array of two extents, got %s",
			shape_text(&array->shape).text);
	}
	if (!(st = entries_of_dense(&entries, array, stream, err))) {
		st = format == KZ_SPARSE_COO ? entries_to_coo(&made, &entries, err)
			: entries_to_csr(&made, &entries, stream, err);
	}
	entries_release(&entries);
	return sparse_finish(out, made, st);
}

kz_status kz_sparse_to_dense(kz_array **out, kz_sparse *sparse, const kz_op_options *options,
	kz_error *err)
{
	struct contract_how how;
	struct kz_sparse *csr = NULL;
	struct kz_array *dense = NULL;
	kz_status st;
	if (out) {
		*out = NULL;
	}
	if ((st = object_check(sparse, OBJECT_SPARSE, err))
	    || (st = contract_begin(&how, "to_dense", out, (kz_arrays){&sparse->data, 1}, options, err))) {
		return st;
	}
	const kz_shape shape = KZ_SHAPE(sparse->rows, sparse->columns);
	if ((st = contract_check_into(&how, &shape, err))
	    || (st = sparse_as_csr(&csr, sparse, KZ_MATRIX_AS_IS, how.stream, err))) {
		return st;
	}
	if (!(st = kz_array_zeros_on(&dense, how.stream->device, sparse->dtype, shape, how.stream, err))) {
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

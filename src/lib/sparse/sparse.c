/* SPDX-License-Identifier: MIT */
/*
 * Sparse matrices: making them of their parts, and what they say of themselves.
 *
 * The numbers of the parts are checked once, here, so that no product has to.
 */
#include "base/common.h"

#include "lib/sparse/sparse.h"

#include "base/alloc.h"
#include "lib/ops/indexing.h"

#include <kudzu/view.h>

/* Objects */

kz_dtype sparse_index_type(int64_t rows, int64_t columns, int64_t count)
{
	return rows <= INT32_MAX && columns <= INT32_MAX && count <= INT32_MAX ? KZ_I32 : KZ_I64;
}

/* A view of the matrix's own, which is not a handle of the program's. */
static kz_status sparse_keep(struct kz_array **out, struct kz_array *array, kz_error *err)
{
	kz_status st = kz_array_view(out, array, array->shape, NULL, 0, err);
	if (!st) {
		object_take(*out);
	}
	return st;
}

kz_status sparse_new(struct kz_sparse **out, const struct sparse_parts *parts, kz_error *err)
{
	struct kz_sparse *sparse = mem_zalloc(1, sizeof(*sparse));
	kz_status st;
	*out = NULL;
	if (!sparse) {
		return error_no_memory(err);
	}
	sparse->tag = OBJECT_SPARSE;
	sparse->refs = 1;
	sparse->format = parts->format;
	sparse->dtype = parts->data->dtype;
	sparse->index = parts->indices->dtype;
	sparse->rows = parts->rows;
	sparse->columns = parts->columns;
	sparse->count = parts->data->count;
	if ((st = sparse_keep(&sparse->data, parts->data, err))
	    || (st = sparse_keep(&sparse->indices, parts->indices, err))
	    || (st = sparse_keep(&sparse->places, parts->places, err))) {
		kz_sparse_release(sparse);
		return st;
	}
	*out = sparse;
	return KZ_OK;
}

kz_status sparse_finish(kz_sparse **out, struct kz_sparse *sparse, kz_status st)
{
	if (st) {
		kz_sparse_release(sparse);
		return st;
	}
	if (sparse->refs == 1) { /* else the program has it already */
		object_give(sparse, sparse_device(sparse));
	}
	*out = sparse;
	return KZ_OK;
}

kz_sparse *kz_sparse_retain(kz_sparse *sparse)
{
	if (object_is(sparse, OBJECT_SPARSE)) {
		atomic_fetch_add_explicit(&sparse->refs, 1, memory_order_relaxed);
	}
	return sparse;
}

void kz_sparse_release(kz_sparse *sparse)
{
	if (object_is(sparse, OBJECT_SPARSE) && refs_drop(&sparse->refs)) {
		object_end(&sparse->tag);
		kz_array_release(sparse->data);
		kz_array_release(sparse->indices);
		kz_array_release(sparse->places);
		object_free(sparse);
	}
}

kz_status kz_sparse_describe(kz_sparse *sparse, kz_sparse_info *info, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = object_check(sparse, OBJECT_SPARSE, err))
	    || (st = pointer_check(info, "a kz_sparse_info", err))) {
		return st;
	}
	if (info->size != sizeof(*info)) {
		return struct_refuse("kz_sparse_info", info->size, sizeof(*info), err);
	}
	bool is_csr = sparse->format == KZ_SPARSE_CSR;
	*info = (kz_sparse_info){
		.size = sizeof(*info), .format = sparse->format, .dtype = sparse->dtype,
		.index_dtype = sparse->index, .rows = sparse->rows, .columns = sparse->columns,
		.count = sparse->count, .data = sparse->data, .column_indices = sparse->indices,
		.row_indices = is_csr ? NULL : sparse->places,
		.row_pointers = is_csr ? sparse->places : NULL, .device = sparse_device(sparse),
	};
	return KZ_OK;
}

/* Arguments */

kz_status sparse_read_options(struct kz_stream **stream, bool *trusted, struct kz_device *dev,
	const kz_sparse_options *options, kz_error *err)
{
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_sparse_options", options->size, sizeof(*options), err);
	}
	*trusted = options && options->trusted;
	return stream_pick(stream, dev, options ? options->stream : NULL, err);
}

kz_status sparse_check_dtype(kz_dtype dtype, kz_error *err)
{
	return dtype_is_float(dtype) || dtype_is_complex(dtype) ? KZ_OK
		: error_set(err, KZ_INVALID, "expected floats or complex numbers in a sparse "
			"matrix, got %s", dtype_refused(dtype));
}

kz_status sparse_check_op(kz_matrix_op op, kz_error *err)
{
	return op >= KZ_MATRIX_AS_IS && op <= KZ_MATRIX_ADJOINT ? KZ_OK
		: error_set(err, KZ_INVALID, "%d is not a kz_matrix_op", (int)op);
}

/* Check what can be without looking at numbers: each part has one extent, of as many elements as
 * the format says, and the indexes are integers. */
static kz_status sparse_check_parts(const struct sparse_parts *parts,
	kz_error *err)
{
	const struct kz_array *data = parts->data;
	const bool is_csr = parts->format == KZ_SPARSE_CSR;
	kz_status st;
	if (parts->rows < 0 || parts->columns < 0 || parts->rows == INT64_MAX) {
		return error_set(err, KZ_INVALID,
			"a matrix cannot have %lld rows and %lld columns",
			(long long)parts->rows, (long long)parts->columns);
	}
	if ((st = object_check(data, OBJECT_ARRAY, err))
	    || (st = sparse_check_dtype(data->dtype, err))) {
		return st;
	}
	const struct {
		const struct kz_array *array;
		const char *argument, *what;
		int64_t count;
	} all[] = {
		{data, "data", "data", data->count},
		{parts->indices, is_csr ? "indices" : "column_indices", "columns", data->count},
		{parts->places, is_csr ? "indptr" : "row_indices", is_csr ? "pointers of rows"
		: "rows",
			is_csr ? parts->rows + 1 : data->count},
	};
	for (size_t i = 0; i < countof(all); i++) {
		const struct kz_array *part = all[i].array;
		if ((st = object_check_as(part, OBJECT_ARRAY, all[i].argument, err))
		    || (st = array_same_device("make a sparse matrix", data, part, err))) {
			return st;
		}
		if (part->shape.ndim != 1 || part->count != all[i].count) {
			return error_set(err, KZ_INVALID,
				"expected %s of shape (%lld,), got %s", all[i].what,
				(long long)all[i].count, shape_text(&part->shape).text);
		}
		if (i > 0 && part->dtype != KZ_I32 && part->dtype != KZ_I64) {
			return error_set(err, KZ_INVALID,
				"expected int32 or int64 as %s, got %s", all[i].what,
				dtype_refused(part->dtype));
		}
	}
	return KZ_OK;
}

/* Numbers of parts */

/* Say what is wrong with the first wrong pointer. */
static kz_status sparse_report_pointer(const struct sparse_parts *parts, int64_t place,
	kz_error *err)
{
	int64_t values[2] = {0, 0};
	int64_t first = place ? place - 1 : 0, size = dtype_size(parts->places->dtype);
	long long count = (long long)parts->data->count;
	for (int64_t i = first; i <= place; i++) {
		int32_t narrow;
		bool is_narrow = size == sizeof(narrow);
		void *to = is_narrow ? (void *)&narrow : (void *)&values[i - first];
		kz_status st = kz_copy_dtoh(to, size, parts->places->buffer,
			parts->places->offset + i * size, err);
		if (st) {
			return st;
		}
		values[i - first] = is_narrow ? narrow : values[i - first];
	}
	if (place == 0) {
		return error_set(err, KZ_RANGE, "the first pointer of a row is %lld, expected 0",
			(long long)values[0]);
	}
	if (place == parts->rows && values[1] >= values[0]) {
		return error_set(err, KZ_RANGE, "the last pointer of a row is %lld, expected %lld, "
			"the number of values", (long long)values[1], count);
	}
	return values[1] < values[0]
		? error_set(err, KZ_RANGE, "pointer %lld of the rows is %lld, below the one "
			"before, %lld",
			(long long)place, (long long)values[1], (long long)values[0])
		: error_set(err, KZ_RANGE, "pointer %lld of the rows is %lld, beyond %lld values",
			(long long)place, (long long)values[1], count);
}

static kz_status sparse_check_pointers(const struct sparse_parts *parts, struct kz_stream *stream,
	kz_error *err)
{
	uint64_t place;
	const struct sparse_job job = {
		.kernel = SPARSE_CHECK, .index = parts->places->dtype,
		.count = parts->rows + 1, .per = SPARSE_CHUNK,
		.array_count = 2, .arrays = {NULL, parts->places},
		.number_count = 2, .numbers = {parts->rows, parts->data->count},
	};
	kz_status st = sparse_find(&place, &job, stream, err);
	return st || place == UINT64_MAX ? st : sparse_report_pointer(parts, (int64_t)place, err);
}

static kz_status sparse_check_indexes(struct kz_array *indexes, const struct index_range *range,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *checked = NULL;
	kz_status st = indexing_prepare(&checked, indexes, range, stream, err);
	kz_array_release(checked);
	return st;
}

static kz_status sparse_check_numbers(const struct sparse_parts *parts, struct kz_stream *stream,
	kz_error *err)
{
	const struct index_range in_column = {0, parts->rows, "a column", KZ_INDEX_CHECK};
	const struct index_range in_row = {0, parts->columns, "a row", KZ_INDEX_CHECK};
	kz_status st;
	if ((st = indexing_check_wait(parts->places, stream, err))
	    || (st = indexing_check_wait(parts->indices, stream, err))
	    || (st = parts->format == KZ_SPARSE_CSR ? sparse_check_pointers(parts, stream, err)
		    : sparse_check_indexes(parts->places, &in_column, stream, err))) {
		return st;
	}
	return sparse_check_indexes(parts->indices, &in_row, stream, err);
}

static kz_status sparse_create(kz_sparse **out, const struct sparse_parts *given,
	const kz_sparse_options *options, const char *call, kz_error *err)
{
	struct sparse_parts parts = *given;
	struct kz_sparse *sparse = NULL;
	struct kz_stream *stream = NULL;
	bool trusted = false;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), call, err))
	    || (st = sparse_check_parts(given, err))
	    || (st = sparse_read_options(&stream, &trusted, array_device(given->data), options,
		err))) {
		return st;
	}
	bool is_wide = given->indices->dtype == KZ_I64 || given->places->dtype == KZ_I64
		|| sparse_index_type(given->rows, given->columns, given->data->count) == KZ_I64;
	kz_dtype index = is_wide ? KZ_I64 : KZ_I32;
	parts.data = parts.indices = parts.places = NULL;
	if (!(st = elementwise_contiguous(&parts.data, given->data, given->data->dtype, stream,
		err))
	    && !(st = elementwise_contiguous(&parts.indices, given->indices, index, stream, err))
	    && !(st = elementwise_contiguous(&parts.places, given->places, index, stream, err))
	    && (trusted || !(st = sparse_check_numbers(&parts, stream, err)))) {
		st = sparse_new(&sparse, &parts, err);
	}
	kz_array_release(parts.data);
	kz_array_release(parts.indices);
	kz_array_release(parts.places);
	return sparse_finish(out, sparse, st);
}

kz_status kz_sparse_create_csr(kz_sparse **out, int64_t rows, int64_t columns, kz_array *data,
	kz_array *indices, kz_array *indptr, const kz_sparse_options *options, kz_error *err)
{
	error_scope(err);
	const struct sparse_parts parts = {KZ_SPARSE_CSR, rows, columns, data, indices, indptr};
	return sparse_create(out, &parts, options, __func__, err);
}

kz_status kz_sparse_create_coo(kz_sparse **out, int64_t rows, int64_t columns, kz_array *data,
	kz_array *row_indices, kz_array *column_indices, const kz_sparse_options *options,
	kz_error *err)
{
	error_scope(err);
	const struct sparse_parts parts = {KZ_SPARSE_COO, rows, columns, data, column_indices,
		row_indices};
	return sparse_create(out, &parts, options, __func__, err);
}

/* What several calls end or begin with */

kz_status sparse_read_values(kz_array **out, const struct kz_sparse *sparse, kz_matrix_op op,
	struct kz_stream *stream, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = stream};
	if (op == KZ_MATRIX_ADJOINT && dtype_is_complex(sparse->dtype)) {
		return kz_apply(out, KZ_OP_CONJUGATE, &options, err, KZ_ARGS(sparse->data));
	}
	*out = kz_array_retain(sparse->data);
	return KZ_OK;
}

kz_status sparse_hand_out(kz_array **out, struct kz_array *made, const struct contract_how *how,
	kz_error *err)
{
	if (how->into == made || (!how->into && how->dtype == made->dtype)) {
		if (out) {
			*out = kz_array_retain(made);
		}
		return KZ_OK;
	}
	return contract_copy(out, made, how, err);
}

kz_status sparse_cast(struct kz_sparse **out, struct kz_sparse *sparse, kz_dtype dtype,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *data = NULL;
	*out = NULL;
	if (sparse->dtype == dtype) {
		*out = kz_sparse_retain(sparse);
		return KZ_OK;
	}
	kz_status st = elementwise_contiguous(&data, sparse->data, dtype, stream, err);
	if (!st) {
		const struct sparse_parts parts = {sparse->format, sparse->rows, sparse->columns,
			data, sparse->indices, sparse->places};
		st = sparse_new(out, &parts, err);
	}
	kz_array_release(data);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * Products of sparse matrices with vectors and dense matrices.
 *
 * A row of a product with a vector has as many sums as suits the mean length of a row.  That
 * number, and not the device, decides about the order of the additions.
 */
#include "base/common.h"

#include "lib/array/overlap.h"
#include "lib/sparse/sparse.h"

enum { LANES_MOST = 32, THREADS = 256, SCATTER_MOST = 7 };
enum { WALK_PRODUCTS = 16384, WALK_ROWS = 4096 }; /* of a block of one thread, about */

/* The kernel */

static int64_t sparse_mean(const struct kz_sparse *csr)
{
	return csr->rows ? csr->count / csr->rows : 0;
}

static int sparse_lanes(const struct kz_sparse *csr)
{
	int lanes = 1;
	while (lanes < LANES_MOST && 2 * lanes <= sparse_mean(csr)) {
		lanes *= 2;
	}
	return lanes;
}

/* Rows of a block of one thread. */
static int64_t sparse_walk_rows(const struct kz_sparse *csr, int64_t width)
{
	int64_t rows = WALK_PRODUCTS / ((sparse_mean(csr) + 1) * min64(width, WALK_PRODUCTS));
	return rows < 1 ? 1 : min64(rows, WALK_ROWS);
}

kz_status sparse_multiply(struct kz_array *y, const struct kz_sparse *csr, struct kz_array *x,
	int64_t width, struct kz_stream *stream, kz_error *err)
{
	struct sparse_job job = {
		.dtype = csr->dtype, .index = csr->index, .count = csr->rows,
		.array_count = 5, .arrays = {y, csr->data, csr->indices, csr->places, x},
	};
	int64_t threads = 1;
	if (width == 1) {
		job.kernel = SPARSE_VECTOR;
		job.lanes = sparse_lanes(csr);
		threads = job.lanes;
	} else {
		job.kernel = SPARSE_MATRIX;
		while (threads < 32 && threads < width) {
			threads *= 2;
		}
	}
	bool walks = sparse_walks(stream->device);
	job.per = walks ? sparse_walk_rows(csr, width) : THREADS / threads;
	job.numbers[job.number_count++] = csr->rows;
	if (width > 1) {
		job.numbers[job.number_count++] = width;
		job.block = kz_dim(threads, THREADS / threads, 1);
		job.grid_y = walks ? 1 : min64(divide_up(width, threads), 65535);
	}
	job.numbers[job.number_count++] = job.per;
	return sparse_run(&job, stream, err);
}

/* Results */

/* A product op(a) x, where x has so many columns and the matrix's type. */
struct sparse_product {
	struct kz_sparse *a;
	kz_matrix_op op;
	struct kz_array *x;
	int64_t width;
	struct kz_stream *stream;
};

/* y = op(a) x by adding to what is in y, by blocks of one thread.  The size of the matrix alone
 * decides how many sums there are for each element. */
static kz_status sparse_scatter(struct kz_array *y, const struct sparse_product *product,
	kz_error *err)
{
	const struct kz_sparse *a = product->a;
	struct kz_stream *stream = product->stream;
	bool is_turned = product->op != KZ_MATRIX_AS_IS, is_csr = a->format == KZ_SPARSE_CSR;
	int64_t rows = is_turned ? a->columns : a->rows;
	int64_t blocks = min64(SCATTER_MOST, a->count / (2 * rows + 1)) + 1;
	int64_t per = divide_up(a->count, blocks);
	struct kz_array *parts = NULL, *data = NULL;
	kz_status st;
	blocks = per ? divide_up(a->count, per) : 1;
	if ((st = kz_array_zeros_on(&parts, stream->device, dtype_wide(a->dtype),
		KZ_SHAPE(blocks, y->count),
		stream, err)) || (st = sparse_read_values(&data, a, product->op, stream, err))) {
		kz_array_release(parts);
		return st;
	}
	struct sparse_job job = {
		.kernel = is_csr ? SPARSE_SCATTER_ROWS : SPARSE_SCATTER, .dtype = a->dtype,
		.index = a->index, .count = a->count, .per = per, .array_count = 5,
		.arrays = {parts, data, is_turned ? a->indices : a->places,
			is_turned ? a->places : a->indices, product->x},
	};
	if (is_csr) {
		job.numbers[job.number_count++] = a->rows;
	}
	job.numbers[job.number_count++] = a->count;
	job.numbers[job.number_count++] = y->count;
	job.numbers[job.number_count++] = product->width;
	job.numbers[job.number_count++] = per;
	const struct sparse_job sum = {
		.kernel = SPARSE_PARTS, .dtype = a->dtype, .index = a->index, .count = y->count,
		.per = SPARSE_CHUNK, .array_count = 2, .arrays = {y, parts},
		.number_count = 2, .numbers = {y->count, blocks},
	};
	st = sparse_run(&job, stream, err);
	st = st ? st : sparse_run(&sum, stream, err);
	kz_array_release(parts);
	kz_array_release(data);
	return st;
}

static kz_status sparse_multiply_any(struct kz_array *y, const struct sparse_product *product,
	kz_error *err)
{
	struct kz_sparse *csr = NULL;
	struct kz_stream *stream = product->stream;
	bool is_csr = product->a->format == KZ_SPARSE_CSR && product->op == KZ_MATRIX_AS_IS;
	if (sparse_walks(stream->device) && !is_csr) {
		return sparse_scatter(y, product, err);
	}
	kz_status st = sparse_as_csr(&csr, product->a, product->op, stream, err);
	st = st ? st : sparse_multiply(y, csr, product->x, product->width, stream, err);
	kz_sparse_release(csr);
	return st;
}

/* Whether the kernel can write to the caller's array: it reads none of its memory. */
static bool sparse_is_direct(const struct contract_how *how, const struct kz_sparse *a,
	const struct kz_array *x)
{
	const struct kz_array *into = how->into;
	const struct kz_array *const read[4] = {a->data, a->indices, a->places, x};
	bool is_direct = into && into->dtype == a->dtype && array_is_contiguous(into)
		&& (int64_t)array_address(into) % dtype_size(into->dtype) == 0;
	for (int i = 0; is_direct && i < 4; i++) {
		is_direct = !overlap_memory(into, read[i]);
	}
	return is_direct;
}

/* The product, of a shape, where the options want it. */
static kz_status sparse_multiply_to(kz_array **out, const struct sparse_product *product,
	const kz_shape *shape, const struct contract_how *how, kz_error *err)
{
	struct kz_array *y = NULL;
	kz_status st = KZ_OK;
	if (sparse_is_direct(how, product->a, product->x)) {
		y = kz_array_retain(how->into);
	} else {
		st = array_create_on(&y, how->stream->device, product->a->dtype, shape, how->stream,
			err);
	}
	st = st || !y->count ? st : sparse_multiply_any(y, product, err);
	st = st ? st : sparse_hand_out(out, y, how, err);
	kz_array_release(y);
	return st;
}

/* The shape of op(sparse) x. */
static kz_status sparse_product_shape(kz_shape *shape, const struct kz_sparse *sparse,
	kz_matrix_op op, const struct kz_array *x, kz_error *err)
{
	bool is_turned = op != KZ_MATRIX_AS_IS;
	int64_t rows = is_turned ? sparse->columns : sparse->rows;
	int64_t columns = is_turned ? sparse->rows : sparse->columns;
	if (x->shape.ndim < 1 || x->shape.ndim > 2 || x->shape.dims[0] != columns) {
		return error_set(err, KZ_INVALID, "sparse matmul: a matrix of shape (%lld, %lld) "
			"does not multiply an array of shape %s", (long long)rows,
			(long long)columns, shape_text(&x->shape).text);
	}
	*shape = x->shape;
	shape->dims[0] = rows;
	return KZ_OK;
}

/* The type in which a product is computed: that of the result, if sums can be of it. */
static kz_dtype sparse_computed(const struct contract_how *how, const struct kz_sparse *sparse,
	const struct kz_array *x)
{
	return dtype_is_float(how->dtype) || dtype_is_complex(how->dtype) ? how->dtype
		: kz_dtype_promote(sparse->dtype, x->dtype);
}

kz_status kz_sparse_matmul(kz_array **out, kz_sparse *sparse, kz_matrix_op op, kz_array *x,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct contract_how how;
	struct kz_sparse *cast = NULL;
	struct kz_array *from = NULL;
	kz_shape shape = {.ndim = 0};
	kz_status st;
	out_clear(out, sizeof(*out), __func__);
	if ((st = object_check(sparse, OBJECT_SPARSE, err)) || (st = sparse_check_op(op,
		err))) {
		return st;
	}
	struct kz_array *operands[2] = {sparse->data, x};
	if ((st = contract_begin(&how, "sparse matmul", out, (kz_arrays){operands, 2}, options,
		err))
	    || (st = sparse_product_shape(&shape, sparse, op, x, err))
	    || (st = contract_check_into(&how, &shape, err))) {
		return st;
	}
	kz_dtype dtype = sparse_computed(&how, sparse, x);
	if (!(st = sparse_cast(&cast, sparse, dtype, how.stream, err))
	    && !(st = elementwise_contiguous(&from, x, dtype, how.stream, err))) {
		const struct sparse_product product = {cast, op, from, shape.ndim == 1 ? 1
			: shape.dims[1], how.stream};
		st = sparse_multiply_to(out, &product, &shape, &how, err);
	}
	kz_array_release(from);
	kz_sparse_release(cast);
	return st;
}

/* The diagonal */

kz_status sparse_read_diagonal(kz_array **out, const struct kz_sparse *csr,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *line = NULL;
	const kz_shape shape = KZ_SHAPE(min64(csr->rows, csr->columns));
	kz_status st = array_create_on(&line, stream->device, csr->dtype, &shape, stream, err);
	const struct sparse_job job = {
		.kernel = SPARSE_DIAGONAL, .dtype = csr->dtype, .index = csr->index,
		.count = shape.dims[0],
		.per = THREADS, .array_count = 4,
		.arrays = {line, csr->data, csr->indices, csr->places},
		.number_count = 3, .numbers = {shape.dims[0], csr->columns, THREADS},
	};
	st = st ? st : sparse_run(&job, stream, err);
	return array_finish(out, line, st);
}

kz_status kz_sparse_diagonal(kz_array **out, kz_sparse *sparse, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	struct contract_how how;
	struct kz_sparse *csr = NULL;
	struct kz_array *line = NULL;
	kz_status st;
	out_clear(out, sizeof(*out), __func__);
	if ((st = object_check(sparse, OBJECT_SPARSE, err))
	    || (st = contract_begin(&how, "sparse diagonal", out, (kz_arrays){&sparse->data, 1},
		options, err))) {
		return st;
	}
	const kz_shape shape = KZ_SHAPE(min64(sparse->rows, sparse->columns));
	if (!(st = contract_check_into(&how, &shape, err))
	    && !(st = sparse_as_csr(&csr, sparse, KZ_MATRIX_AS_IS, how.stream, err))
	    && !(st = sparse_read_diagonal(&line, csr, how.stream, err))) {
		st = sparse_hand_out(out, line, &how, err);
	}
	kz_array_release(line);
	kz_sparse_release(csr);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * The parts that solvers and factorizations share.
 *
 * Each public function reads its operands (lapack_begin), copies them to work arrays, which LAPACK
 * overwrites, runs tasks on these, and hands the result out (lapack_finish).  A task reports in an
 * int32 for each matrix, so lapack_run waits for it.
 */
#include "base/common.h"

#include "lib/linalg/lapack.h"

#include "base/alloc.h"

#include <kudzu/create.h>
#include <kudzu/reduce.h>
#include <kudzu/view.h>

#include <string.h>

/* Operands */

kz_status lapack_clear(kz_array **out, const char *name, const kz_op_options *options,
	kz_error *err)
{
	out_clear(out, sizeof(*out), name);
	bool has_place = out || (options && options->size == sizeof(*options) && options->into);
	return has_place ? KZ_OK : error_set(err, KZ_INVALID, "%s: out is NULL", name);
}

/* The type of the computation, as numpy's: anything but floats and complex numbers is float64. */
static kz_dtype lapack_computed(kz_array *const *operands, int count)
{
	kz_dtype dtype = 0;
	for (int i = 0; i < count; i++) {
		kz_dtype own = operands[i]->dtype;
		own = dtype_is_exact(own) ? KZ_F64 : dtype_wide(own);
		dtype = dtype ? kz_dtype_promote(dtype, own) : own;
	}
	return dtype;
}

static kz_status lapack_check_stream(const struct lapack *call, kz_error *err)
{
	struct device_scope scope;
	kz_status st = device_enter(call->device, &scope, err);
	if (st) {
		return st;
	}
	bool is_capturing;
	st = stream_find_capturing(&is_capturing, call->stream, err);
	device_leave(call->device, &scope);
	return st || !is_capturing ? st
		: error_set(err, KZ_STATE, "%s waits for what LAPACK reports, so it cannot be "
			"captured", call->name);
}

kz_status lapack_begin(struct lapack *call, const char *name, kz_array *const *operands, int count,
	const kz_op_options *options, kz_error *err)
{
	struct elementwise how = {.into = NULL};
	kz_status st = KZ_OK;
	*call = (struct lapack){.name = name};
	for (int i = 0; !st && i < count; i++) {
		st = object_check_as(operands[i], OBJECT_ARRAY, i ? "b" : "array", err);
		st = st ? st : array_same_device(name, operands[0], operands[i], err);
	}
	if (st || (st = elementwise_options(&how, &call->wanted, options, err))) {
		return st;
	}
	call->into = how.into;
	call->device = array_device(operands[0]);
	call->dtype = lapack_computed(operands, count);
	for (int i = 0; i < count; i++) {
		if (!dtype_is_number(operands[i]->dtype)) {
			return error_set(err, KZ_INVALID, "%s does not take %s", name,
				dtype_refused(operands[i]->dtype));
		}
	}
	call->type = call->dtype == KZ_F32 ? LINALG_S : call->dtype == KZ_F64 ? LINALG_D
		: call->dtype == KZ_C64 ? LINALG_C : LINALG_Z;
	call->real = call->type == LINALG_S || call->type == LINALG_C ? KZ_F32 : KZ_F64;
	if (call->into && (st = array_same_device(name, operands[0], call->into, err))) {
		return st;
	}
	st = stream_pick(&call->stream, call->device, how.stream, err);
	return st ? st : lapack_check_stream(call, err);
}

kz_status lapack_begin_several(struct lapack *call, const char *name, kz_array *array,
	const kz_op_options *options, kz_error *err)
{
	if (options && options->size == sizeof(*options) && (options->into || options->dtype)) {
		return error_set(err, KZ_INVALID, "%s: expected options without `into` and `dtype`",
			name);
	}
	return lapack_begin(call, name, &array, 1, options, err);
}

void lapack_set_batch(struct lapack *call, const kz_shape *batch)
{
	call->batch = *batch;
	call->count = 1;
	for (int64_t i = 0; i < batch->ndim; i++) {
		call->count *= batch->dims[i]; /* no more than an array has elements, or a 0 */
	}
}

kz_status lapack_take_batch(struct lapack *call, const kz_array *array, bool is_square,
	kz_error *err)
{
	kz_shape shape = array->shape;
	if (shape.ndim < 2) {
		return error_set(err, KZ_INVALID, "%s: expected a matrix, got shape %s", call->name,
			shape_text(&shape).text);
	}
	if (is_square && shape.dims[shape.ndim - 1] != shape.dims[shape.ndim - 2]) {
		return error_set(err, KZ_INVALID, "%s: expected a square matrix, got shape %s",
			call->name, shape_text(&shape).text);
	}
	shape.ndim -= 2;
	lapack_set_batch(call, &shape);
	return KZ_OK;
}

/* Arrays */

kz_shape lapack_vectors(const struct lapack *call, int64_t last)
{
	kz_shape shape = call->batch;
	shape.dims[shape.ndim++] = last;
	return shape;
}

kz_shape lapack_matrices(const struct lapack *call, int64_t rows, int64_t columns)
{
	kz_shape shape = lapack_vectors(call, rows);
	shape.dims[shape.ndim++] = columns;
	return shape;
}

kz_status lapack_create(kz_array **out, const struct lapack *call, kz_dtype dtype,
	const kz_shape *shape, kz_error *err)
{
	/* zgemv of OpenBLAS 0.3.21 reads a column after its matrix: that has to be memory. */
	kz_shape flat = {1, {1}};
	kz_array *wide = NULL;
	for (int64_t i = 0; i < shape->ndim; i++) {
		if (!size64_mul(&flat.dims[0], flat.dims[0], shape->dims[i])) {
			flat.dims[0] = 0;
		}
	}
	if (!call->device->on_host || shape->ndim < 2 || flat.dims[0] == 0) {
		return array_create_on(out, call->device, dtype, shape, call->stream, err);
	}
	flat.dims[0] += shape->dims[shape->ndim - 1]; /* no more than the matrices have */
	*out = NULL;
	kz_status st = array_create_on(&wide, call->device, dtype, &flat, call->stream, err);
	st = st ? st : kz_array_view(out, wide, *shape, NULL, 0, err);
	kz_array_release(wide);
	return st;
}

kz_status lapack_evaluate(kz_array **out, const struct lapack *call, struct expr *expr,
	kz_dtype dtype, const kz_shape *shape, kz_error *err)
{
	struct elementwise how = {.stream = call->stream, .unsafe = true};
	kz_status st = lapack_create(&how.into, call, dtype, shape, err);
	if (!st && (st = elementwise_run(NULL, expr, &how, err))) {
		kz_array_release(how.into);
		how.into = NULL;
	}
	*out = how.into;
	return st;
}

kz_status lapack_copy(kz_array **out, const struct lapack *call, kz_array *array, bool turned,
	kz_error *err)
{
	struct expr expr;
	kz_array *view = NULL;
	*out = NULL;
	kz_status st = turned ? kz_array_swapaxes(&view, array, -2, -1, err) : KZ_OK;
	if (st) {
		return st;
	}
	view = turned ? view : kz_array_retain(array);
	const int64_t *ends = view->shape.dims + view->shape.ndim - 2;
	kz_shape shape = lapack_matrices(call, ends[0], ends[1]);
	expr_init(&expr);
	st = expr_array(&expr, view, err) < 0 ? KZ_INVALID
		: lapack_evaluate(out, call, &expr, call->dtype, &shape, err);
	kz_array_release(view);
	return st;
}

kz_status lapack_fill_identity(const struct lapack *call, kz_array *matrices, kz_error *err)
{
	struct expr expr;
	struct elementwise how = {.into = matrices, .stream = call->stream, .unsafe = true};
	kz_array *eye = NULL;
	const int64_t *ends = matrices->shape.dims + matrices->shape.ndim - 2;
	kz_status st = kz_array_eye(&eye, call->device, KZ_BOOL, ends[0], ends[1], 0, err);
	if (st) {
		return st;
	}
	expr_init(&expr);
	st = expr_array(&expr, eye, err) < 0 ? KZ_INVALID
		: elementwise_run(NULL, &expr, &how, err);
	kz_array_release(eye);
	return st;
}

/* Triangles */

/* Indexes of rows, as a column, and of columns. */
static kz_status lapack_indexes(kz_array *out[2], const struct lapack *call, const kz_array *of,
	kz_error *err)
{
	const int64_t *ends = of->shape.dims + of->shape.ndim - 2;
	kz_dtype dtype = ends[0] > INT32_MAX || ends[1] > INT32_MAX ? KZ_I64 : KZ_I32;
	kz_array *rows = NULL;
	out[0] = NULL;
	out[1] = NULL;
	kz_status st = kz_arange(&rows, call->device, dtype, 0, ends[0], 1, err);
	if (!st && !(st = kz_array_expand(&out[0], rows, KZ_AXES(1), err))) {
		st = kz_arange(&out[1], call->device, dtype, 0, ends[1], 1, err);
	}
	kz_array_release(rows);
	return st;
}

kz_status lapack_select(kz_array **out, const struct lapack *call, kz_array *matrices,
	enum lapack_part part, kz_error *err)
{
	struct expr expr;
	kz_array *index[2];
	*out = NULL;
	kz_status st = lapack_indexes(index, call, matrices, err);
	if (!st) {
		expr_init(&expr);
		int row = expr_array(&expr, index[0], err),
			column = expr_array(&expr, index[1], err);
		int is_kept = lapack_apply(&expr, part == LAPACK_LOWER ? KZ_OP_GREATER_EQUAL
			: part == LAPACK_UPPER ? KZ_OP_LESS_EQUAL : KZ_OP_GREATER, row, column, 0,
			err);
		int rest = part == LAPACK_UNIT_LOWER
			? lapack_apply(&expr, KZ_OP_EQUAL, row, column, 0, err)
			: expr_int(&expr, 0, err);
		int value = lapack_apply(&expr, KZ_OP_WHERE, is_kept,
			expr_array(&expr, matrices, err), rest, err);
		st = value < 0 ? KZ_INVALID : lapack_evaluate(out, call, &expr, matrices->dtype,
			&matrices->shape, err);
	}
	kz_array_release(index[0]);
	kz_array_release(index[1]);
	return st;
}

kz_status lapack_check_finite(const struct lapack *call, kz_array *matrices, char triangle,
	kz_error *err)
{
	struct expr expr;
	kz_array *index[2] = {NULL, NULL}, *finite = NULL;
	uint8_t all = 1;
	kz_status st = KZ_OK;
	if (matrices->count == 0
	    || (triangle && (st = lapack_indexes(index, call, matrices, err)))) {
		goto out;
	}
	expr_init(&expr);
	int node = lapack_apply(&expr, KZ_OP_ISFINITE, expr_array(&expr, matrices, err), 0, 0, err);
	if (triangle) {
		int row = expr_array(&expr, index[0], err),
			column = expr_array(&expr, index[1], err);
		int is_unused = lapack_apply(&expr, triangle == 'L' ? KZ_OP_LESS : KZ_OP_GREATER,
			row, column, 0, err);
		node = lapack_apply(&expr, KZ_OP_LOGICAL_OR, node, is_unused, 0, err);
	}
	st = node < 0 ? KZ_INVALID
		: lapack_evaluate(&finite, call, &expr, KZ_BOOL, &matrices->shape, err);
	st = st ? st : kz_reduce_get_as(&all, KZ_BOOL, KZ_REDUCE_ALL, finite, NULL, err);
	if (!st && !all) {
		st = error_set(err, KZ_NUMERIC, "%s: the matrix has elements that are infinite or "
			"NaN", call->name);
	}
out:
	kz_array_release(index[0]);
	kz_array_release(index[1]);
	kz_array_release(finite);
	return st;
}

/* Tasks */

struct linalg_matrix lapack_matrix(const kz_array *work)
{
	const int64_t *ends = work->shape.dims + work->shape.ndim - 2;
	return (struct linalg_matrix){work->buffer->memory, array_address(work),
		ends[1] > 0 ? ends[1] : 1, ends[0] * ends[1]};
}

struct linalg_matrix lapack_vector(const kz_array *vectors)
{
	int64_t last = vectors->shape.dims[vectors->shape.ndim - 1];
	return (struct linalg_matrix){vectors->buffer->memory, array_address(vectors), 1, last};
}

/* "the matrix", or "matrix (1, 2)" of a batch */
static struct shape_text lapack_which(const struct lapack *call, int64_t index)
{
	struct shape_text text = {"the matrix"};
	kz_shape at = call->batch;
	if (at.ndim == 0) {
		return text;
	}
	for (int64_t i = at.ndim; i-- > 0; index /= call->batch.dims[i]) {
		at.dims[i] = index % call->batch.dims[i];
	}
	struct shape_text place = shape_text(&at);
	size_t length = strlen(place.text);
	memcpy(text.text, "matrix ", 7);
	length = length < sizeof(text.text) - 8 ? length : sizeof(text.text) - 8;
	memcpy(text.text + 7, place.text, length);
	text.text[7 + length] = 0;
	return text;
}

/* What LAPACK reports about one matrix, which is not 0. */
static kz_status lapack_fail(const struct lapack *call, enum linalg_op op, int64_t index, int info,
	kz_error *err)
{
	static const char *const names[LINALG_OPS] = {
		"gemm", "trsm", "getrf", "getrs", "getri", "potrf", "geqrf", "orgqr", "gesdd",
		"syevd", "geev",
	};
	struct shape_text which = lapack_which(call, index);
	const struct foreign_code foreign = {KZ_DOMAIN_LAPACK, info, .call = names[op]};
	if (info == LINALG_INFO_NO_MEMORY) {
		return error_no_memory(err);
	}
	if (info < 0) {
		return error_foreign(err, KZ_UNKNOWN, &foreign,
			"%s: %s refused its argument %d: this is a bug in Kudzu: please report it",
			call->name, names[op],
			-info);
	}
	switch (op) {
	case LINALG_GETRF:
	case LINALG_GETRS:
	case LINALG_GETRI:
		return error_foreign(err, KZ_NUMERIC, &foreign, "%s: %s is singular: pivot %d is 0",
			call->name, which.text, info);
	case LINALG_POTRF:
		return error_foreign(err, KZ_NUMERIC, &foreign,
			"%s: %s is not positive definite: its leading minor of order %d is not "
			"positive", call->name, which.text, info);
	default:
		return error_foreign(err, KZ_NUMERIC, &foreign,
			"%s: %s: the %s did not converge (%s reports %d)", call->name, which.text,
			op == LINALG_GESDD ? "singular values" : "eigenvalues", names[op], info);
	}
}

/* As lapack_run; *is_refused: whether the library leaves a matrix to our own kernels. */
static kz_status lapack_try(bool *is_refused, const struct lapack *call, struct linalg_task *task,
	kz_array **info, kz_error *err)
{
	int32_t one = 0, *reports = &one;
	kz_array *array = NULL;
	kz_status st;
	task->type = call->type;
	task->count = call->count;
	task->is_own = call->is_own;
	*is_refused = false;
	if (call->count > 1 && !(reports = mem_zalloc((size_t)call->count, sizeof(*reports)))) {
		return error_no_memory(err);
	}
	if (!(st = lapack_create(&array, call, KZ_I32, &call->batch, err))
	    && !(st = buffer_fill(array->buffer, 4 * call->count, PATTERN_ZERO, call->stream,
		err))) {
		task->info = (struct linalg_matrix){array->buffer->memory, array_address(array), 1,
			1};
		st = linalg_run(call->device, task, call->stream, call->name, err);
	}
	st = st ? st : kz_array_get(array, reports, 4 * call->count, err);
	for (int64_t i = 0; !st && i < call->count; i++) {
		*is_refused |= reports[i] == LINALG_INFO_REFUSED;
	}
	for (int64_t i = 0; !st && !*is_refused && i < call->count; i++) {
		if (reports[i] < 0 || (reports[i] && !info)) {
			st = lapack_fail(call, task->op, i, reports[i], err);
		}
	}
	if (!st && info && !*is_refused) {
		*info = kz_array_retain(array);
	}
	kz_array_release(array);
	mem_free(reports != &one ? reports : NULL);
	return st;
}

kz_status lapack_run(const struct lapack *call, struct linalg_task *task, kz_array **info,
	kz_error *err)
{
	bool is_refused; // by no task but GETRF
	return lapack_try(&is_refused, call, task, info, err);
}

kz_status lapack_factor(struct lapack_factors *out, struct lapack *call, kz_array *array,
	unsigned how, kz_error *err)
{
	bool is_refused = false;
	kz_status st;
	*out = (struct lapack_factors){NULL, NULL, NULL};
	do {
		kz_array_release(out->lu);
		if ((st = lapack_copy(&out->lu, call, array, how & LAPACK_TURNED, err))
		    || out->lu->count == 0) {
			break;
		}
		const int64_t *ends = out->lu->shape.dims + out->lu->shape.ndim - 2;
		kz_shape shape = lapack_vectors(call, min64(ends[0], ends[1]));
		struct linalg_task task = {.op = LINALG_GETRF, .m = ends[1], .n = ends[0],
			.a = lapack_matrix(out->lu)};
		st = out->pivots ? KZ_OK : lapack_create(&out->pivots, call, KZ_I32, &shape, err);
		if (!st) {
			task.b = lapack_vector(out->pivots);
			st = lapack_try(&is_refused, call, &task,
				how & LAPACK_SINGULAR ? &out->info : NULL, err);
			call->is_own |= is_refused;
		}
	} while (!st && is_refused);
	return st;
}

void lapack_release_factors(struct lapack_factors *factors)
{
	kz_array_release(factors->lu);
	kz_array_release(factors->pivots);
	kz_array_release(factors->info);
}

/* Results */

kz_status lapack_finish(kz_array **out, const struct lapack *call, kz_array *result, kz_error *err)
{
	struct elementwise how = {.into = call->into, .stream = call->stream};
	kz_dtype wanted = call->wanted ? call->wanted : result->dtype;
	struct expr expr;
	if (!call->into && wanted == result->dtype) {
		*out = result;
		return KZ_OK;
	}
	expr_init(&expr);
	int node = expr_array(&expr, result, err);
	node = node < 0 ? node : expr_cast(&expr, node, wanted, err);
	kz_status st = node < 0 ? KZ_INVALID : elementwise_run(out, &expr, &how, err);
	kz_array_release(result);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices: kz_matmul, kz_matmul_op and kz_gemm.
 *
 * The operands become one type (float32 for halves, int32 for bool).  A library multiplies floats
 * and complex numbers; our own kernel the rest, and everything where there is no library.  The
 * extents before the last two are batches: the last of them is part of a call, the others are a
 * loop of calls.
 *
 * A library's matrices are column-major, so it computes the transposed product: c' = b' a'.  A
 * row-major matrix is its own transpose to the library; a column-major one it takes as transposed;
 * any other is copied first, and for cuBLAS matrices of a batch in descending order, too.
 */
#include "base/common.h"

#include "lib/linalg/matmul.h"

#include "lib/array/overlap.h"

#include <kudzu/linalg.h>
#include <kudzu/view.h>

#include <string.h>

/* Operands */

/* An array as matrices; a 1-d one is a row, or a column. */
static void matmul_read(struct matmul_operand *out, struct kz_array *array, bool is_first)
{
	int64_t size = dtype_size(array->dtype);
	const int64_t *dims = array->shape.dims, *strides = array->strides;
	int64_t ndim = array->shape.ndim;
	*out = (struct matmul_operand){array, 1, 1, 0, 0, {0}};
	if (ndim > 1) {
		out->rows = dims[ndim - 2];
		out->columns = dims[ndim - 1];
		out->row = strides[ndim - 2] / size;
		out->column = strides[ndim - 1] / size;
	} else if (is_first) {
		out->columns = dims[0];
		out->column = strides[0] / size;
	} else {
		out->rows = dims[0];
		out->row = strides[0] / size;
	}
}

/* Strides of the batch: 0 where the operand has no such extent, or one of 1. */
static void matmul_find_batches(struct matmul_operand *of, const kz_shape *batch)
{
	const struct kz_array *array = of->array;
	int64_t own = array->shape.ndim > 2 ? array->shape.ndim - 2 : 0;
	for (int64_t i = 0; i < batch->ndim; i++) {
		int64_t at = i - (batch->ndim - own);
		of->batches[i] = at >= 0 && array->shape.dims[at] != 1 ? array->strides[at] : 0;
	}
}

/* Whether elements lie at multiples of their size, as kernels and libraries want them. */
static bool matmul_is_aligned(const struct kz_array *array)
{
	uint64_t bits = array_address(array);
	for (int64_t i = 0; i < array->shape.ndim; i++) {
		bits |= (uint64_t)array->strides[i];
	}
	return bits % (uint64_t)dtype_size(array->dtype) == 0;
}

/* How a library that is given the transposes takes an operand.  False: not as it is. */
static bool matmul_layout(char *op, int64_t *ld, const struct product *p,
	const struct matmul_operand *of)
{
	int64_t least_row = of->columns > 1 ? of->columns : 1;
	int64_t least_column = of->rows > 1 ? of->rows : 1;
	if (p->is_ascending && p->batch.ndim > 0 && of->batches[p->batch.ndim - 1] < 0) {
		return false;
	}
	if ((of->columns == 1 || of->column == 1) && (of->rows == 1 || of->row >= least_row)) {
		*op = 'N';
		*ld = of->rows == 1 ? least_row : of->row;
		return true;
	}
	if ((of->rows == 1 || of->row == 1) && (of->columns == 1 || of->column >= least_column)) {
		*op = 'T';
		*ld = of->columns == 1 ? least_column : of->column;
		return true;
	}
	return false;
}

static bool matmul_is_usable(const struct product *p, const struct matmul_operand *of)
{
	char op;
	int64_t ld;
	if (of->array->dtype != p->dtype || !matmul_is_aligned(of->array)) {
		return false;
	}
	return p->is_own || matmul_layout(&op, &ld, p, of);
}

/* Have an operand in the product's type, in a layout that will do; counted. */
static kz_status matmul_prepare(struct product *p, struct matmul_operand *of, bool is_first,
	kz_error *err)
{
	if (matmul_is_usable(p, of)) {
		kz_array_retain(of->array);
		return KZ_OK;
	}
	struct kz_array *copy = NULL;
	kz_status st = elementwise_contiguous(&copy, of->array, p->dtype, p->stream, err);
	if (st) {
		of->array = NULL;
		return st;
	}
	matmul_read(of, copy, is_first);
	matmul_find_batches(of, &p->batch);
	return KZ_OK;
}

/* Products */

/* The types of products that libraries have. */
static bool matmul_type_of(enum linalg_type *out, kz_dtype dtype)
{
	if (dtype_is_half(dtype)) {
		*out = dtype == KZ_F16 ? LINALG_H : LINALG_B;
		return true;
	}
	return linalg_type_of(out, dtype);
}

/* The type in which a product is computed.  Halves are rounded once, from float32 sums: by the
 * library if it has them and the result is of their type. */
static kz_status matmul_compute_type(kz_dtype *out, struct kz_device *dev, kz_dtype dtype,
	kz_dtype wanted, kz_error *err)
{
	struct linalg_device *math;
	enum linalg_type type;
	*out = dtype == KZ_BOOL ? KZ_I32 : dtype_wide(dtype);
	if (!dtype_is_half(dtype) || wanted != dtype) {
		return KZ_OK;
	}
	kz_status st = linalg_device_get(&math, dev, err);
	if (!st && matmul_type_of(&type, dtype) && linalg_has(math, LINALG_GEMM, type)) {
		*out = dtype;
	}
	return st;
}

/* `count` products by our own kernel; the first matrices are these bytes after those of c, a,
 * b. */
static kz_status matmul_call_kernel(const struct product *p, int64_t count,
	const int64_t offset[3], kz_error *err)
{
	const struct matmul_operand *operands[3] = {&p->c, &p->a, &p->b};
	struct memory *used[3];
	struct matmul_job job = {
		.device = p->device, .stream = p->stream, .dtype = p->dtype,
		.m = p->c.rows, .n = p->c.columns, .k = p->a.columns, .count = count,
		.alpha = {p->alpha[0], p->alpha[1]}, .beta = {p->beta[0], p->beta[1]},
		.used = used, .used_count = 3,
	};
	struct matmul_view *const views[3] = {&job.c, &job.a, &job.b};
	int64_t last = p->batch.ndim - 1;
	for (int i = 0; i < 3; i++) {
		const struct matmul_operand *of = operands[i];
		used[i] = of->array->buffer->memory;
		*views[i] = (struct matmul_view){array_address(of->array) + (CUdeviceptr)offset[i],
			of->row, of->column, last >= 0 ? of->batches[last] / p->size : 0, false};
	}
	return matmul_kernel_launch(&job, err);
}

/* The same by the device's provider. */
static kz_status matmul_call_library(const struct product *p, int64_t count,
	const int64_t offset[3], kz_error *err)
{
	struct linalg_task task = {
		.op = LINALG_GEMM, .m = p->c.columns, .n = p->c.rows, .k = p->a.columns,
		.count = count, .alpha = {p->alpha[0], p->alpha[1]},
		.beta = {p->beta[0], p->beta[1]},
	};
	const struct matmul_operand *operands[3] = {&p->c, &p->a, &p->b};
	struct linalg_matrix *const matrices[3] = {&task.c, &task.b, &task.a};
	char op_c, *const ops[3] = {&op_c, &task.op_b, &task.op_a};
	int64_t last = p->batch.ndim - 1;
	(void)matmul_type_of(&task.type, p->dtype);
	for (int i = 0; i < 3; i++) {
		const struct matmul_operand *of = operands[i];
		(void)matmul_layout(ops[i], &matrices[i]->ld, p, of);
		matrices[i]->memory = of->array->buffer->memory;
		matrices[i]->address = array_address(of->array) + (CUdeviceptr)offset[i];
		matrices[i]->next = last >= 0 ? of->batches[last] / p->size : 0;
	}
	return linalg_run(p->device, &task, p->stream, "matmul", err);
}

/* The matrices of the last batch extent as rows of one; false if their rows do not go on. */
static bool matmul_join(struct matmul_operand *of, int64_t count, int64_t last, int64_t size)
{
	bool goes_on = of->batches[last] == of->rows * of->row * size;
	return size64_mul(&of->rows, of->rows, count) && goes_on;
}

/* One product for all batches where b is the same for each: then a and c have more rows. */
static void matmul_join_batches(struct product *p)
{
	for (bool joined = true; joined && p->batch.ndim > 0;) {
		int64_t last = p->batch.ndim - 1, count = p->batch.dims[last];
		struct product one = *p;
		one.batch.ndim--;
		joined = p->b.batches[last] == 0 && matmul_join(&one.a, count, last, p->size)
			&& matmul_join(&one.c, count, last, p->size)
			&& matmul_is_usable(&one, &one.a) && matmul_is_usable(&one, &one.b)
			&& matmul_is_usable(&one, &one.c);
		if (joined) {
			*p = one;
		}
	}
}

/* All batches: the last extent in one call, the others one after the other. */
static kz_status matmul_run(struct product *p, kz_error *err)
{
	matmul_join_batches(p);
	int64_t index[KZ_MAX_DIMS] = {0};
	int64_t offset[3] = {0};
	int64_t last = p->batch.ndim - 1, calls = 1;
	const struct matmul_operand *operands[3] = {&p->c, &p->a, &p->b};
	for (int64_t i = 0; i < last; i++) {
		calls *= p->batch.dims[i]; /* no more than c has elements */
	}
	for (int64_t call = 0; call < calls; call++) {
		int64_t count = last >= 0 ? p->batch.dims[last] : 1;
		kz_status st = (p->is_own ? matmul_call_kernel : matmul_call_library)(p, count,
			offset, err);
		if (st) {
			return st;
		}
		int64_t i = last - 1;
		for (; i >= 0 && ++index[i] == p->batch.dims[i]; i--) {
			for (int k = 0; k < 3; k++) {
				offset[k] -= operands[k]->batches[i] * (p->batch.dims[i] - 1);
			}
			index[i] = 0;
		}
		for (int k = 0; i >= 0 && k < 3; k++) {
			offset[k] += operands[k]->batches[i];
		}
	}
	return KZ_OK;
}

/* The transposed product: c' = b' a'. */
static void matmul_transpose(struct product *p)
{
	struct matmul_operand *const all[3] = {&p->a, &p->b, &p->c}, first = p->a;
	p->a = p->b;
	p->b = first;
	for (int i = 0; i < 3; i++) {
		struct matmul_operand was = *all[i];
		all[i]->rows = was.columns;
		all[i]->columns = was.rows;
		all[i]->row = was.column;
		all[i]->column = was.row;
	}
}

/* c = alpha a b + beta c; c is as the product wants it, or its transpose is; a and b need not
 * be. */
static kz_status matmul_multiply(struct product *p, bool is_transposed, kz_error *err)
{
	kz_status st = KZ_OK;
	if (p->c.array->count == 0) {
		return KZ_OK;
	}
	matmul_find_batches(&p->a, &p->batch);
	matmul_find_batches(&p->b, &p->batch);
	if ((st = matmul_prepare(p, &p->a, true, err))) {
		return st;
	}
	if (!(st = matmul_prepare(p, &p->b, false, err))) {
		if (is_transposed) {
			matmul_transpose(p);
		}
		st = matmul_run(p, err);
	}
	kz_array_release(p->a.array);
	kz_array_release(p->b.array);
	return st;
}

/* Choose between a library, and a kernel where no library is there or the product is small. */
static kz_status matmul_choose(struct product *p, kz_error *err)
{
	struct linalg_device *math;
	enum linalg_type type;
	p->is_own = !matmul_type_of(&type, p->dtype);
	if (p->is_own) {
		return KZ_OK;
	}
	kz_status st = linalg_device_get(&math, p->device, err);
	int64_t work;
	p->is_ascending = !st && math->wants_ascending;
	p->is_own = !st && (!linalg_has(math, LINALG_GEMM, type)
		|| (size64_mul(&work, p->a.rows, p->a.columns)
			&& size64_mul(&work, work, p->b.columns)
			&& work < (dtype_is_complex(p->dtype) ? math->least_gemm / 8
				: math->least_gemm)));
	return st;
}

/* Shapes */

static kz_status matmul_find_shape(kz_shape *out, struct product *p, kz_array *a, kz_array *b,
	kz_error *err)
{
	if (a->shape.ndim == 0 || b->shape.ndim == 0) {
		return error_set(err, KZ_INVALID, "matmul: expected operands of one extent or "
			"more, got shapes %s and %s", shape_text(&a->shape).text,
			shape_text(&b->shape).text);
	}
	matmul_read(&p->a, a, true);
	matmul_read(&p->b, b, false);
	if (p->a.columns != p->b.rows) {
		return error_set(err, KZ_INVALID, p->is_turned
			? "matmul: op(a) of shape %s and op(b) of shape %s do not fit: %lld "
			  "columns against %lld rows"
			: "matmul: shapes %s and %s do not fit: %lld columns against %lld rows",
			shape_text(&a->shape).text, shape_text(&b->shape).text,
			(long long)p->a.columns, (long long)p->b.rows);
	}
	kz_shape batches[2] = {a->shape, b->shape};
	for (int i = 0; i < 2; i++) {
		batches[i].ndim = batches[i].ndim > 2 ? batches[i].ndim - 2 : 0;
	}
	kz_status st = shape_broadcast(&p->batch, batches[0], batches[1], err);
	*out = p->batch;
	if (a->shape.ndim > 1) {
		out->dims[out->ndim++] = p->a.rows;
	}
	if (b->shape.ndim > 1) {
		out->dims[out->ndim++] = p->b.columns;
	}
	return st;
}

static kz_status matmul_check_operands(const struct kz_array *a, const struct kz_array *b,
	kz_dtype *dtype, kz_error *err)
{
	kz_status st;
	if ((st = object_check(a, OBJECT_ARRAY, err))
	    || (st = object_check(b, OBJECT_ARRAY, err))
	    || (st = array_same_device("matmul", a, b, err))) {
		return st;
	}
	*dtype = kz_dtype_promote(a->dtype, b->dtype);
	if (!dtype_is_number(*dtype)) {
		error_set(err, KZ_INVALID, "matmul does not take %s and %s",
			dtype_refused(a->dtype), dtype_refused(b->dtype));
		return KZ_INVALID;
	}
	return KZ_OK;
}

/* kz_matmul */

/* The sums as what the caller wants. */
static kz_status matmul_convert(kz_array **out, const struct kz_array *sums, kz_dtype dtype,
	const struct elementwise *how, kz_error *err)
{
	struct expr expr;
	expr_init(&expr);
	int node = expr_array(&expr, sums, err);
	if (node < 0 || expr_cast(&expr, node, dtype, err) < 0) {
		return KZ_INVALID;
	}
	return elementwise_run(out, &expr, how, err);
}

/* Whether the sums can go where the caller wants the result. */
static bool matmul_goes_into(const struct kz_array *into, const kz_shape *shape, kz_dtype dtype,
	const struct kz_array *a, const struct kz_array *b)
{
	return into && into->dtype == dtype && shape_equal(&into->shape, shape)
		&& array_is_contiguous(into) && matmul_is_aligned(into)
		&& array_device(into) == array_device(a) && !overlap_arrays(into, a)
		&& !overlap_arrays(into, b);
}

/* The product of two operands as they are; is_turned: not as the caller gave them. */
static kz_status matmul_new(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, bool is_turned, kz_error *err)
{
	struct product p = {.alpha = {1, 0}, .is_turned = is_turned};
	struct elementwise how = {.into = NULL};
	kz_dtype dtype, wanted = 0;
	kz_shape shape = {0, {0}};
	kz_status st;
	if ((st = elementwise_options(&how, &wanted, options, err))
	    || (st = matmul_check_operands(a, b, &dtype, err))
	    || (st = matmul_find_shape(&shape, &p, a, b, err))) {
		return st;
	}
	if (!out && !how.into) {
		return error_set(err, KZ_INVALID, "out is NULL");
	}
	p.device = kz_array_device(a);
	wanted = wanted ? wanted : dtype;
	if ((st = matmul_compute_type(&p.dtype, p.device, dtype, wanted, err))) {
		return st;
	}
	p.size = dtype_size(p.dtype);
	bool is_direct = wanted == p.dtype && dtype == p.dtype;
	struct kz_array *c = NULL;
	if ((st = stream_pick(&p.stream, p.device, how.stream, err))) {
		return st;
	}
	if (is_direct && matmul_goes_into(how.into, &shape, p.dtype, a, b)) {
		c = kz_array_retain(how.into);
	} else if ((st = array_create_on(&c, p.device, p.dtype, &shape, p.stream, err))) {
		return st;
	}
	p.c = (struct matmul_operand){c, p.a.rows, p.b.columns, p.b.columns, 1, {0}};
	int64_t matrix = p.c.rows * p.c.columns * p.size;
	if (p.a.columns == 0) {
		st = kz_array_fill_on(c, KZ_ARG(0), p.stream, err);
	} else if (!(st = matmul_choose(&p, err))) {
		for (int64_t i = p.batch.ndim; i-- > 0; matrix *= p.batch.dims[i]) {
			p.c.batches[i] = matrix;
		}
		st = matmul_multiply(&p, false, err);
	}
	if (!st && is_direct && (!how.into || c == how.into)) {
		if (out) {
			*out = kz_array_retain(c);
		}
	} else if (!st) {
		st = matmul_convert(out, c, wanted, &how, err);
	}
	kz_array_release(c);
	return st;
}

kz_status kz_matmul(kz_array **out, kz_array *a, kz_array *b, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	out_clear(out, sizeof(*out), __func__);
	return matmul_new(out, a, b, options, false, err);
}

/* Operands that are turned first */

static kz_status matmul_check_op(const char *name, kz_matrix_op op, kz_error *err)
{
	return (unsigned)op <= KZ_MATRIX_ADJOINT ? KZ_OK
		: error_set(err, KZ_INVALID, "%s: unknown kz_matrix_op %d", name, (int)op);
}

/* An operand as the caller wants it: a view, or for conjugates of complex numbers a copy.  Vectors
 * have no other side to turn to. */
static kz_status matmul_turn(kz_array **out, kz_array *array, kz_matrix_op op, kz_stream *stream,
	kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = stream};
	kz_array *view = NULL;
	kz_status st;
	if (op == KZ_MATRIX_AS_IS || array->shape.ndim < 2) {
		view = kz_array_retain(array);
	} else if ((st = kz_array_swapaxes(&view, array, -2, -1, err))) {
		return st;
	}
	if (op == KZ_MATRIX_ADJOINT && dtype_is_complex(array->dtype)) {
		st = kz_apply(out, KZ_OP_CONJUGATE, &options, err, KZ_ARGS(view));
		kz_array_release(view);
		return st;
	}
	*out = view;
	return KZ_OK;
}

kz_status kz_matmul_op(kz_array **out, kz_array *a, kz_matrix_op op_a, kz_array *b,
	kz_matrix_op op_b, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct elementwise how = {.into = NULL};
	kz_dtype dtype = 0;
	kz_array *left = NULL, *right = NULL;
	kz_status st;
	out_clear(out, sizeof(*out), __func__);
	if (!(st = elementwise_options(&how, &dtype, options, err))
	    && !(st = matmul_check_operands(a, b, &dtype, err))
	    && !(st = matmul_check_op("matmul", op_a, err))
	    && !(st = matmul_check_op("matmul", op_b, err))
	    && !(st = matmul_turn(&left, a, op_a, how.stream, err))
	    && !(st = matmul_turn(&right, b, op_b, how.stream, err))) {
		st = matmul_new(out, left, right, options, op_a || op_b, err);
	}
	kz_array_release(left);
	kz_array_release(right);
	return st;
}

/* kz_gemm */

/* Read a factor as a complex number; false if it is not a number, or not real in a real product. */
static bool matmul_factor(double out[2], const kz_arg *arg, kz_dtype dtype)
{
	out[1] = arg->kind == KZ_ARG_COMPLEX ? arg->imaginary : 0;
	switch (arg->kind) {
	case KZ_ARG_INT:
		out[0] = (double)arg->value.i;
		break;
	case KZ_ARG_BOOL:
	case KZ_ARG_UINT:
		out[0] = (double)arg->value.u;
		break;
	case KZ_ARG_F32:
		out[0] = arg->value.f;
		break;
	case KZ_ARG_F64:
	case KZ_ARG_COMPLEX:
		out[0] = arg->value.d;
		break;
	default:
		return false;
	}
	return out[1] == 0 || dtype_is_complex(dtype);
}

/* c = alpha product + beta c, elementwise; if beta is NULL, what c holds does not matter. */
static kz_status matmul_combine(kz_array *c, const kz_array *product, const kz_arg *alpha,
	const kz_arg *beta, kz_stream *stream, kz_error *err)
{
	struct expr expr;
	struct elementwise how = {.into = c, .stream = stream};
	expr_init(&expr);
	int sum[2], term[2];
	if (expr_check_arg(alpha, "argument 'alpha'", err)
	    || (beta && expr_check_arg(beta, "argument 'beta'", err))) {
		return KZ_INVALID;
	}
	if ((term[0] = expr_arg(&expr, alpha, 2, err)) < 0
	    || (term[1] = expr_array(&expr, product, err)) < 0
	    || (sum[0] = expr_apply(&expr, KZ_OP_MULTIPLY, term, err)) < 0) {
		return KZ_INVALID;
	}
	if (beta && ((term[0] = expr_arg(&expr, beta, 7, err)) < 0
		|| (term[1] = expr_array(&expr, c, err)) < 0
		|| (sum[1] = expr_apply(&expr, KZ_OP_MULTIPLY, term, err)) < 0
		|| expr_apply(&expr, KZ_OP_ADD, sum, err) < 0)) {
		return KZ_INVALID;
	}
	return elementwise_run(NULL, &expr, &how, err);
}

/* Have the product written to c where it lies.  Its rows have no gaps; or its columns: then it is
 * the transposed product of the transposed operands.  *done: whether it could. */
static kz_status matmul_into(bool *done, struct product *p, kz_array *c, kz_error *err)
{
	enum linalg_type type;
	char op;
	int64_t ld;
	matmul_read(&p->c, c, true);
	matmul_find_batches(&p->c, &p->batch);
	*done = linalg_type_of(&type, p->dtype) && c->dtype == p->dtype && matmul_is_aligned(c)
		&& matmul_layout(&op, &ld, p, &p->c) && !overlap_arrays(c, p->a.array)
		&& !overlap_arrays(c, p->b.array);
	if (!*done) {
		return KZ_OK;
	}
	return matmul_multiply(p, op == 'T', err);
}

static kz_status matmul_check_gemm(const kz_array *c, const kz_array *a, const kz_array *b,
	kz_matrix_op op_a, kz_matrix_op op_b, kz_error *err)
{
	const kz_array *const arrays[3] = {c, a, b};
	static const char *const names[3] = {"c", "a", "b"};
	kz_status st;
	for (int i = 0; i < 3; i++) {
		if ((st = object_check_as(arrays[i], OBJECT_ARRAY, names[i], err))) {
			return st;
		}
		if (arrays[i]->shape.ndim < 2) {
			return error_set(err, KZ_INVALID, "gemm: expected matrices, got shape %s",
				shape_text(&arrays[i]->shape).text);
		}
	}
	if ((st = matmul_check_op("gemm", op_a, err))
	    || (st = matmul_check_op("gemm", op_b, err))) {
		return st;
	}
	return array_same_device("add a product to", c, a, err);
}

/* Repeat the first operand, so that a product of this shape has all batches of c. */
static kz_status matmul_repeat(kz_array **left, const kz_shape *shape, const kz_array *c,
	kz_error *err)
{
	kz_shape repeated = c->shape, both;
	kz_array *first = *left;
	int64_t ndim = c->shape.ndim, matrix = shape->ndim - 2;
	if (shape_broadcast(&both, *shape, c->shape, NULL) || !shape_equal(&both, &c->shape)
	    || shape->dims[matrix] != c->shape.dims[ndim - 2]
	    || shape->dims[matrix + 1] != c->shape.dims[ndim - 1]) {
		return error_set(err, KZ_INVALID, "gemm: the product has shape %s, the result %s",
			shape_text(shape).text, shape_text(&c->shape).text);
	}
	repeated.dims[ndim - 1] = first->shape.dims[first->shape.ndim - 1];
	kz_status st = kz_array_broadcast_to(left, first, repeated, err);
	kz_array_release(first);
	return st;
}

kz_status kz_gemm(kz_array *c, kz_arg alpha, kz_array *a, kz_matrix_op op_a, kz_array *b,
	kz_matrix_op op_b, kz_arg beta, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct product p = {.is_turned = op_a || op_b};
	kz_array *left = NULL, *right = NULL, *product = NULL;
	kz_shape shape = {0, {0}};
	bool done = false;
	kz_status st;
	if ((st = matmul_check_gemm(c, a, b, op_a, op_b, err))
	    || (st = matmul_turn(&left, a, op_a, stream, err))
	    || (st = matmul_turn(&right, b, op_b, stream, err))
	    || (st = matmul_check_operands(left, right, &p.dtype, err))
	    || (st = matmul_find_shape(&shape, &p, left, right, err))) {
		goto out;
	}
	if (!shape_equal(&shape, &c->shape)
	    && ((st = matmul_repeat(&left, &shape, c, err))
		|| (st = matmul_find_shape(&shape, &p, left, right, err)))) {
		goto out;
	}
	p.device = array_device(c);
	if (!matmul_factor(p.alpha, &alpha, c->dtype) || !matmul_factor(p.beta, &beta, c->dtype)) {
		st = error_set(err, KZ_INVALID, "gemm: alpha and beta must be numbers that %s can "
			"hold", dtype_refused(c->dtype));
		goto out;
	}
	bool is_wide = p.dtype != KZ_BOOL && dtype_wide(p.dtype) == p.dtype;
	bool has_beta = p.beta[0] != 0 || p.beta[1] != 0;
	p.size = dtype_size(p.dtype);
	if ((st = stream_pick(&p.stream, p.device, stream, err))
	    || (is_wide && p.a.columns && (st = matmul_choose(&p, err)))) {
		goto out;
	}
	if (is_wide && p.a.columns && (st = matmul_into(&done, &p, c, err))) {
		goto out;
	}
	if (!done) {
		kz_op_options options = KZ_OP_OPTIONS_INIT;
		options.stream = stream;
		if (!(st = kz_matmul(&product, left, right, &options, err))) {
			st = matmul_combine(c, product, &alpha, has_beta ? &beta : NULL, stream,
				err);
		}
	}
out:
	kz_array_release(left);
	kz_array_release(right);
	kz_array_release(product);
	return st;
}

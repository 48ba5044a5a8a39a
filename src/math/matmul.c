/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices by our own kernel (kernels/matmul.cuh).
 *
 * The operands are converted to the type of the sums (float32 for halves, int32 for bool), and the
 * result to its own type.  The extents before the last two are merged into one if both operands
 * allow it; otherwise the outer ones are a loop of launches.
 */
#include "base/common.h"

#include "array/array.h"
#include "ops/device_code.h"
#include "ops/elementwise.h"
#include "ops/generate.h"
#include "ops/kernels.h"
#include "array/shape.h"

#include <string.h>

enum { ROWS = 16, COLUMNS = 1024, TILE = 64, MOST_Z = 65535 }; /* as in matmul.cuh */

/* As kernels/matmul.cuh has it. */
struct matrices {
	int64_t m, n, k;
	int64_t a_row, a_column, a_next;
	int64_t b_row, b_next, c_next;
};

struct product {
	struct kz_device *device;
	struct kz_stream *stream;
	struct kz_array *a, *b, *c;     /* of one type; rows of b and all of c without gaps */
	kz_shape batch;                 /* all extents but those of a matrix */
	int64_t a_strides[KZ_MAX_DIMS]; /* in bytes, of the batch */
	int64_t b_strides[KZ_MAX_DIMS];
	int64_t size;                   /* of an element */
	struct matrices matrices;
	struct kz_kernel *kernel;
};

/* The kernel */

struct wanted {
	kz_dtype dtype;
	int serial;
};

static void matmul_write_source(struct str *source, const void *context)
{
	const struct wanted *wanted = context;
	bool is_integer = wanted->dtype < KZ_F16;
	generate_prelude(source, 1u << wanted->dtype, is_integer);
	str_addf(source, "typedef %s kz_element;\n%s", generate_value(wanted->dtype),
		wanted->serial ? "#define KZ_SERIAL\n" : "");
	str_add(source, wanted->dtype >= KZ_C64 ? "#define KZ_ZERO kz_element{0, 0}\n"
		: "#define KZ_ZERO 0\n");
	str_add(source, is_integer
		? "#define KZ_ADD(c, a, b) kz_add((kz_element)(c), kz_multiply(a, b))\n"
		: "#define KZ_ADD(c, a, b) ((c) + (a) * (b))\n");
	str_add(source, device_matmul);
}

static kz_status matmul_find_kernel(struct product *p, kz_error *err)
{
	struct {
		char family[8];
		struct wanted wanted;
	} key = {"matmul", {p->c->dtype, p->device->serial}};
	struct kernels_want want = {&key, sizeof(key), matmul_write_source, &key.wanted, "matmul"};
	return kernels_get(&p->kernel, p->device, &want, err);
}

/* Launches */

/* `count` matrices, beginning at these bytes behind the arrays' first elements. */
static kz_status matmul_launch(const struct product *p, int64_t count, const int64_t offset[3],
	kz_error *err)
{
	const struct kz_array *arrays[3] = {p->c, p->a, p->b};
	const int64_t next[3] = {p->matrices.c_next, p->matrices.a_next, p->matrices.b_next};
	bool serial = p->device->serial;
	CUdeviceptr address[3];
	struct memory *used[3];
	void *params[] = {&address[0], &address[1], &address[2], (void *)&p->matrices};
	struct kernels_call call = {
		.kernel = p->kernel, .stream = p->stream, .params = params, .used = used,
		.used_count = 3, .block = kz_dim(serial ? 1 : 256, 1, 1),
		.grid = kz_dim(divide_up(p->matrices.m, serial ? ROWS : TILE),
			divide_up(p->matrices.n, serial ? COLUMNS : TILE), 1),
	};
	kz_status st = KZ_OK;
	for (int64_t first = 0; !st && first < count; first += MOST_Z) {
		for (int i = 0; i < 3; i++) {
			used[i] = arrays[i]->buffer->memory;
			address[i] = array_address(arrays[i])
				+ (CUdeviceptr)(offset[i] + first * next[i] * p->size);
		}
		call.grid.z = count - first < MOST_Z ? count - first : MOST_Z;
		st = kernels_launch(&call, err);
	}
	return st;
}

/* The batch's last extent in one launch, the others one after the other. */
static kz_status matmul_launch_all(struct product *p, kz_error *err)
{
	int64_t index[KZ_MAX_DIMS] = {0};
	int64_t offset[3] = {0};
	int64_t last = p->batch.ndim - 1;
	int64_t count = last >= 0 ? p->batch.dims[last] : 1;
	int64_t matrix = p->matrices.m * p->matrices.n;
	p->matrices.c_next = matrix;
	p->matrices.a_next = last >= 0 ? p->a_strides[last] / p->size : 0;
	p->matrices.b_next = last >= 0 ? p->b_strides[last] / p->size : 0;
	for (int64_t done = 0; done < p->c->count; done += count * matrix) {
		offset[0] = done * p->size;
		kz_status st = matmul_launch(p, count, offset, err);
		if (st) {
			return st;
		}
		int64_t i = last - 1;
		for (; i >= 0 && ++index[i] == p->batch.dims[i]; i--) {
			offset[1] -= p->a_strides[i] * (p->batch.dims[i] - 1);
			offset[2] -= p->b_strides[i] * (p->batch.dims[i] - 1);
			index[i] = 0;
		}
		if (i >= 0) {
			offset[1] += p->a_strides[i];
			offset[2] += p->b_strides[i];
		}
	}
	return KZ_OK;
}

/* Shapes */

/* An operand as matrices: 1-d ones get the extent that they lack. */
struct operand {
	int64_t rows, columns;
	kz_shape batch;
};

static struct operand matmul_as_matrices(const struct kz_array *array, bool is_first)
{
	const kz_shape *shape = &array->shape;
	struct operand out = {1, 1, {0, {0}}};
	if (shape->ndim == 1) {
		*(is_first ? &out.columns : &out.rows) = shape->dims[0];
		return out;
	}
	out.batch = *shape;
	out.batch.ndim -= 2;
	out.rows = shape->dims[shape->ndim - 2];
	out.columns = shape->dims[shape->ndim - 1];
	return out;
}

static kz_status matmul_find_shape(kz_shape *out, struct product *p, kz_error *err)
{
	if (p->a->shape.ndim == 0 || p->b->shape.ndim == 0) {
		return error_set(err, KZ_INVALID, "matmul: expected operands of one extent or more, "
			"got shapes %s and %s", shape_text(&p->a->shape).text,
			shape_text(&p->b->shape).text);
	}
	struct operand a = matmul_as_matrices(p->a, true);
	struct operand b = matmul_as_matrices(p->b, false);
	if (a.columns != b.rows) {
		return error_set(err, KZ_INVALID, "matmul: shapes %s and %s do not fit: %lld columns "
			"against %lld rows", shape_text(&p->a->shape).text,
			shape_text(&p->b->shape).text, (long long)a.columns, (long long)b.rows);
	}
	kz_status st = kz_shape_broadcast(&p->batch, a.batch, b.batch, err);
	p->matrices.m = a.rows;
	p->matrices.k = a.columns;
	p->matrices.n = b.columns;
	*out = p->batch;
	if (p->a->shape.ndim > 1) {
		out->dims[out->ndim++] = a.rows;
	}
	if (p->b->shape.ndim > 1) {
		out->dims[out->ndim++] = b.columns;
	}
	return st;
}

/* Strides of the batch: 0 where the operand has no such extent, or one of 1. */
static void matmul_find_batch_strides(int64_t *strides, const struct kz_array *array,
	const kz_shape *batch)
{
	int64_t own = array->shape.ndim > 2 ? array->shape.ndim - 2 : 0;
	for (int64_t i = 0; i < batch->ndim; i++) {
		int64_t at = i - (batch->ndim - own);
		strides[i] = at >= 0 && array->shape.dims[at] != 1 ? array->strides[at] : 0;
	}
}

static void matmul_find_strides(struct product *p)
{
	int64_t a_ndim = p->a->shape.ndim;
	int64_t b_ndim = p->b->shape.ndim;
	p->matrices.a_column = p->a->strides[a_ndim - 1] / p->size;
	p->matrices.a_row = a_ndim > 1 ? p->a->strides[a_ndim - 2] / p->size : 0;
	p->matrices.b_row = p->b->strides[b_ndim > 1 ? b_ndim - 2 : 0] / p->size;
	matmul_find_batch_strides(p->a_strides, p->a, &p->batch);
	matmul_find_batch_strides(p->b_strides, p->b, &p->batch);
}

/* Operands and the result */

/* Whether the kernel can read an array as it is. */
static bool matmul_is_usable(const struct kz_array *array, kz_dtype dtype, bool needs_rows)
{
	int64_t size = kz_dtype_size(array->dtype);
	int64_t ndim = array->shape.ndim;
	uint64_t bits = array_address(array);
	for (int64_t i = 0; i < ndim; i++) {
		bits |= (uint64_t)array->strides[i];
	}
	return array->dtype == dtype && bits % (uint64_t)size == 0
		&& (!needs_rows || ndim < 2 || array->strides[ndim - 1] == size
			|| array->shape.dims[ndim - 1] == 1);
}

static kz_status matmul_prepare(struct kz_array **out, struct kz_array *array, kz_dtype dtype,
	bool needs_rows, kz_error *err)
{
	if (matmul_is_usable(array, dtype, needs_rows)) {
		*out = kz_array_retain(array);
		return KZ_OK;
	}
	return elementwise_contiguous(out, array, dtype, err);
}

/* The product in the type of p->c, which is there. */
static kz_status matmul_multiply(struct product *p, kz_array *a, kz_array *b, kz_error *err)
{
	kz_status st;
	if (p->c->count == 0) {
		return KZ_OK;
	}
	if (p->matrices.k == 0) {
		return kz_array_fill(p->c, KZ_ARG(0), err);
	}
	p->a = NULL;
	p->b = NULL;
	if (!(st = matmul_prepare(&p->a, a, p->c->dtype, false, err))
	    && !(st = matmul_prepare(&p->b, b, p->c->dtype, true, err))
	    && !(st = matmul_find_kernel(p, err))) {
		matmul_find_strides(p);
		st = matmul_launch_all(p, err);
	}
	kz_array_release(p->a);
	kz_array_release(p->b);
	return st;
}

static kz_status matmul_check_operands(const struct kz_array *a, const struct kz_array *b,
	kz_dtype *dtype, kz_error *err)
{
	kz_status st;
	if ((st = object_check(a, "an array", err)) || (st = object_check(b, "an array", err))
	    || (st = array_same_device("matmul", a, b, err))) {
		return st;
	}
	*dtype = kz_dtype_promote(a->dtype, b->dtype);
	if (!*dtype || *dtype >= KZ_DTYPE_STRUCT) {
		error_set(err, KZ_INVALID, "matmul does not take %s and %s",
			kz_dtype_name(a->dtype), kz_dtype_name(b->dtype));
		return KZ_INVALID;
	}
	return KZ_OK;
}

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

kz_status kz_matmul(kz_array **out, kz_array *a, kz_array *b, const kz_op_options *options,
	kz_error *err)
{
	struct product p = {.a = a, .b = b};
	struct elementwise how = {.into = NULL};
	kz_dtype dtype, wanted = 0;
	kz_shape shape;
	kz_status st;
	if (out) {
		*out = NULL;
	}
	if ((st = elementwise_options(&how, &wanted, options, err))
	    || (st = matmul_check_operands(a, b, &dtype, err))
	    || (st = matmul_find_shape(&shape, &p, err))) {
		return st;
	}
	if (!out && !how.into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", __func__);
	}
	p.device = kz_array_device(a);
	kz_dtype sums = dtype == KZ_BOOL ? KZ_I32 : dtype_wide(dtype);
	if ((st = stream_pick(&p.stream, p.device, how.stream, err))
	    || (st = array_create_on(&p.c, p.device, sums, &shape, p.stream, err))) {
		return st;
	}
	p.size = kz_dtype_size(sums);
	struct kz_array *c = p.c;
	if (!(st = matmul_multiply(&p, a, b, err))) {
		if (sums == dtype && !wanted && !how.into) {
			*out = kz_array_retain(c);
		} else {
			st = matmul_convert(out, c, wanted ? wanted : dtype, &how, err);
		}
	}
	kz_array_release(c);
	return st;
}

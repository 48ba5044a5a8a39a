/* SPDX-License-Identifier: MIT */
/*
 * Products of which a triangle says all: symmetric, Hermitian and triangular matrices.
 *
 * They are products of whole matrices (kz_gemm), so libraries do them where there are some.  A
 * symmetric operand is copied with both its triangles.  Results that are a triangle, and triangular
 * operands, are halved again and again (Gustavson and others, "Recursive blocked data formats and
 * BLAS's for dense linear algebra algorithms", 1998): what is beside the diagonal is one product,
 * and only small blocks on the diagonal are computed whole.  So half of the work is spared.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/overlap.h"
#include "lib/array/shape.h"
#include "lib/linalg/lapack.h"

#include <kudzu/create.h>
#include <kudzu/linalg.h>
#include <kudzu/ops.h>
#include <kudzu/view.h>

enum { TRIANGLE_BLOCK = 256 }; /* the most rows of a block on the diagonal */

/* One call. */
struct triangle {
	const char *name;
	kz_stream *stream;
	kz_triangle triangle;
	kz_matrix_op op;
	bool is_hermitian;
	bool is_unit;
	kz_arg alpha, beta;
};

/* Checks */

static kz_status triangle_check_enum(const char *name, const char *type, int value, int last,
	kz_error *err)
{
	return value >= 0 && value <= last ? KZ_OK
		: error_set(err, KZ_INVALID, "%s: unknown %s %d", name, type, value);
}

static kz_status triangle_check_matrix(const char *name, const char *which, const kz_array *array,
	bool is_square, kz_error *err)
{
	kz_status st = object_check_as(array, OBJECT_ARRAY, which, err);
	if (st) {
		return st;
	}
	const int64_t ndim = array->shape.ndim, *ends = array->shape.dims + ndim - 2;
	if (ndim < 2 || (is_square && ends[0] != ends[1])) {
		return error_set(err, KZ_INVALID, "%s: expected %s as %s, got shape %s", name,
			is_square ? "square matrices" : "matrices", which,
			shape_text(&array->shape).text);
	}
	return dtype_is_number(array->dtype) ? KZ_OK : error_set(err, KZ_INVALID,
		"%s does not take %s", name, dtype_refused(array->dtype));
}

/* An operand that the call does not change while it reads it; counted. */
static kz_status triangle_keep(kz_array **out, kz_array *array, const kz_array *changed,
	kz_stream *stream, kz_error *err)
{
	if (overlap_arrays(array, changed)) {
		return kz_array_copy_on(out, array, stream, err);
	}
	*out = kz_array_retain(array);
	return KZ_OK;
}

/* Triangles as expressions */

/* The numbers of rows and columns, which broadcast to the matrices of an array. */
static kz_status triangle_indexes(kz_array *out[2], const kz_array *of, kz_stream *stream,
	kz_error *err)
{
	const int64_t *ends = of->shape.dims + of->shape.ndim - 2;
	kz_array *rows = NULL;
	out[0] = out[1] = NULL;
	kz_status st = kz_array_arange_on(&rows, kz_array_device(of), KZ_I64, KZ_ARG(0),
		KZ_ARG(ends[0]), KZ_ARG(1), stream, err);
	if (!st && !(st = kz_array_expand(&out[0], rows, KZ_AXES(1), err))) {
		st = kz_array_arange_on(&out[1], kz_array_device(of), KZ_I64, KZ_ARG(0),
			KZ_ARG(ends[1]), KZ_ARG(1), stream, err);
	}
	kz_array_release(rows);
	return st;
}

/* What an element becomes. */
enum triangle_rest {
	TRIANGLE_ZERO,   /* 0 outside of the triangle, and 1 on the diagonal if that is unit */
	TRIANGLE_MIRROR, /* that of the triangle at the mirrored place, conjugated if Hermitian */
	TRIANGLE_OTHER,  /* that of another array */
	TRIANGLE_REAL,   /* itself, but real on the diagonal of a Hermitian matrix */
};

/* into, or a new array, is array in the triangle, and the rest elsewhere.  Only the elements that
 * count are taken: a NaN elsewhere does not show. */
static kz_status triangle_fill(kz_array **out, const struct triangle *call, kz_array *into,
	kz_array *array, enum triangle_rest rest, kz_error *err)
{
	const bool is_complex = dtype_is_complex(array->dtype);
	kz_array *index[2] = {NULL, NULL}, *mirror = NULL, *made = NULL;
	struct kz_stream *stream;
	struct expr expr;
	kz_status st = stream_pick(&stream, array_device(array), call->stream, err);
	if (!st && !into) {
		st = array_create_on(&made, array_device(array), array->dtype, &array->shape,
			stream, err);
	}
	st = st ? st : triangle_indexes(index, array, stream, err);
	if (!st && rest == TRIANGLE_MIRROR) {
		st = kz_array_swapaxes(&mirror, array, -2, -1, err);
	}
	if (!st) {
		expr_init(&expr);
		int row = expr_array(&expr, index[0], err);
		int column = expr_array(&expr, index[1], err);
		int is_in = lapack_apply(&expr, call->triangle == KZ_LOWER ? KZ_OP_GREATER_EQUAL
			: KZ_OP_LESS_EQUAL, row, column, 0, err);
		int on_diagonal = lapack_apply(&expr, KZ_OP_EQUAL, row, column, 0, err);
		int value = expr_array(&expr, array, err), other = -1;
		if (is_complex && call->is_hermitian) {
			value = lapack_apply(&expr, KZ_OP_WHERE, on_diagonal,
				lapack_apply(&expr, KZ_OP_REAL, value, 0, 0, err), value, err);
		}
		if (rest == TRIANGLE_ZERO) {
			value = call->is_unit ? lapack_apply(&expr, KZ_OP_WHERE, on_diagonal,
				expr_int(&expr, 1, err), value, err) : value;
			other = expr_int(&expr, 0, err);
		} else if (rest != TRIANGLE_REAL) {
			other = expr_array(&expr, mirror ? mirror : into, err);
			other = mirror && is_complex && call->is_hermitian
				? lapack_apply(&expr, KZ_OP_CONJUGATE, other, 0, 0, err) : other;
		}
		value = rest == TRIANGLE_REAL ? value
			: lapack_apply(&expr, KZ_OP_WHERE, is_in, value, other, err);
		const struct elementwise how = {.into = into ? into : made, .stream = stream};
		value = value < 0 ? -1 : expr_cast(&expr, value, how.into->dtype, err);
		st = value < 0 ? KZ_INVALID : elementwise_run(NULL, &expr, &how, err);
	}
	kz_array_release(index[0]);
	kz_array_release(index[1]);
	kz_array_release(mirror);
	return into ? st : array_finish(out, made, st);
}

/* Symmetric operands */

static kz_status triangle_symmetric(const struct triangle *call, kz_array *c, kz_array *a,
	kz_side side, kz_array *b, kz_error *err)
{
	kz_array *whole = NULL;
	kz_status st;
	if ((st = triangle_check_matrix(call->name, "c", c, false, err))
	    || (st = triangle_check_matrix(call->name, "a", a, true, err))
	    || (st = triangle_check_matrix(call->name, "b", b, false, err))
	    || (st = triangle_check_enum(call->name, "kz_triangle", (int)call->triangle, 1, err))
	    || (st = triangle_check_enum(call->name, "kz_side", (int)side, 1, err))
	    || (st = array_same_device(call->name, c, a, err))
	    || (st = triangle_fill(&whole, call, NULL, a, TRIANGLE_MIRROR, err))) {
		return st;
	}
	st = kz_gemm(c, call->alpha, side == KZ_LEFT ? whole : b, KZ_MATRIX_AS_IS,
		side == KZ_LEFT ? b : whole, KZ_MATRIX_AS_IS, call->beta, call->stream, err);
	kz_array_release(whole);
	return st;
}

kz_status kz_symm(kz_array *c, kz_arg alpha, kz_array *a, kz_triangle triangle, kz_side side,
	kz_array *b, kz_arg beta, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct triangle call = {.name = "symm", .stream = stream, .triangle = triangle,
		.alpha = alpha, .beta = beta};
	return triangle_symmetric(&call, c, a, side, b, err);
}

kz_status kz_hemm(kz_array *c, kz_arg alpha, kz_array *a, kz_triangle triangle, kz_side side,
	kz_array *b, kz_arg beta, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct triangle call = {.name = "hemm", .stream = stream, .triangle = triangle,
		.alpha = alpha, .beta = beta, .is_hermitian = true};
	return triangle_symmetric(&call, c, a, side, b, err);
}

/* Blocks */

/* Rows and columns of matrices: a view. */
static kz_status triangle_block(kz_array **out, kz_array *array, const int64_t rows[2],
	const int64_t columns[2], kz_error *err)
{
	return kz_array_slice(out, array, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(rows[0], rows[1]),
		KZ_SLICE(columns[0], columns[1])), err);
}

/* Half of a number of rows, in whole blocks. */
static int64_t triangle_half(int64_t n)
{
	return divide_up(divide_up(n, TRIANGLE_BLOCK), 2) * TRIANGLE_BLOCK;
}

/* Products with themselves */

/* The block of c on the diagonal is computed whole, in an array of its own. */
static kz_status triangle_square_block(const struct triangle *call, kz_array *c, kz_array *a,
	kz_matrix_op ops[2], kz_error *err)
{
	kz_array *whole = NULL;
	kz_status st = triangle_fill(&whole, call, NULL, c, TRIANGLE_REAL, err);
	st = st ? st : kz_gemm(whole, call->alpha, a, ops[0], a, ops[1], call->beta, call->stream,
		err);
	st = st ? st : triangle_fill(NULL, call, c, whole, TRIANGLE_OTHER, err);
	kz_array_release(whole);
	return st;
}

/* The triangle of c = alpha op(a) op(a)' + beta c; a has n rows, or columns if it is turned. */
static kz_status triangle_square(const struct triangle *call, kz_array *c, kz_array *a,
	kz_error *err)
{
	const kz_matrix_op turn = call->is_hermitian ? KZ_MATRIX_ADJOINT : KZ_MATRIX_TRANSPOSED;
	const bool is_turned = call->op != KZ_MATRIX_AS_IS;
	kz_matrix_op ops[2] = {is_turned ? turn : KZ_MATRIX_AS_IS,
		is_turned ? KZ_MATRIX_AS_IS : turn};
	const int64_t n = c->shape.dims[c->shape.ndim - 1], half = triangle_half(n);
	const int64_t *ends = a->shape.dims + a->shape.ndim - 2;
	const int64_t parts[2][2] = {{0, half}, {half, n}}, all[2] = {0, ends[!is_turned]};
	kz_array *of_a[2] = {NULL, NULL}, *of_c[3] = {NULL, NULL, NULL};
	kz_status st = KZ_OK;
	if (n <= TRIANGLE_BLOCK) {
		return triangle_square_block(call, c, a, ops, err);
	}
	const int first = call->triangle == KZ_LOWER; // the rows of the part beside the diagonal
	for (int i = 0; !st && i < 2; i++) {
		st = triangle_block(&of_a[i], a, is_turned ? all : parts[i],
			is_turned ? parts[i] : all, err);
		st = st ? st : triangle_block(&of_c[i], c, parts[i], parts[i], err);
	}
	if (!st && !(st = triangle_block(&of_c[2], c, parts[first], parts[!first], err))
	    && !(st = kz_gemm(of_c[2], call->alpha, of_a[first], ops[0], of_a[!first], ops[1],
		call->beta, call->stream, err))
	    && !(st = triangle_square(call, of_c[0], of_a[0], err))) {
		st = triangle_square(call, of_c[1], of_a[1], err);
	}
	for (int i = 0; i < 3; i++) {
		kz_array_release(i < 2 ? of_a[i] : NULL);
		kz_array_release(of_c[i]);
	}
	return st;
}

static bool triangle_is_real(const kz_arg *factor)
{
	return factor->kind != KZ_ARG_COMPLEX || factor->imaginary == 0;
}

static kz_status triangle_update(const struct triangle *call, kz_array *c, kz_array *a,
	kz_error *err)
{
	const kz_matrix_op wrong = call->is_hermitian ? KZ_MATRIX_TRANSPOSED : KZ_MATRIX_ADJOINT;
	kz_array *kept = NULL;
	kz_status st;
	if ((st = triangle_check_matrix(call->name, "c", c, true, err))
	    || (st = triangle_check_matrix(call->name, "a", a, false, err))
	    || (st = triangle_check_enum(call->name, "kz_triangle", (int)call->triangle, 1, err))
	    || (st = triangle_check_enum(call->name, "kz_matrix_op", (int)call->op, 2, err))
	    || (st = array_same_device(call->name, c, a, err))) {
		return st;
	}
	if (call->op == wrong && dtype_is_complex(a->dtype)) {
		return error_set(err, KZ_INVALID, call->is_hermitian ? "herk: expected a complex "
			"matrix as it is, or its adjoint" : "syrk: expected a complex matrix as it "
			"is, or transposed");
	}
	if (call->is_hermitian && (!triangle_is_real(&call->alpha)
		|| !triangle_is_real(&call->beta))) {
		return error_set(err, KZ_INVALID, "herk: expected real factors");
	}
	const bool is_turned = call->op != KZ_MATRIX_AS_IS;
	if (a->shape.dims[a->shape.ndim - 2 + is_turned] != c->shape.dims[c->shape.ndim - 1]) {
		return error_set(err, KZ_INVALID, "%s: shapes %s of c and %s of a do not fit",
			call->name, shape_text(&c->shape).text, shape_text(&a->shape).text);
	}
	if (!(st = triangle_keep(&kept, a, c, call->stream, err))) {
		st = triangle_square(call, c, kept, err);
	}
	kz_array_release(kept);
	return st;
}

kz_status kz_syrk(kz_array *c, kz_triangle triangle, kz_arg alpha, kz_array *a, kz_matrix_op op,
	kz_arg beta, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct triangle call = {.name = "syrk", .stream = stream, .triangle = triangle,
		.op = op, .alpha = alpha, .beta = beta};
	return triangle_update(&call, c, a, err);
}

kz_status kz_herk(kz_array *c, kz_triangle triangle, kz_arg alpha, kz_array *a, kz_matrix_op op,
	kz_arg beta, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct triangle call = {.name = "herk", .stream = stream, .triangle = triangle,
		.op = op, .alpha = alpha, .beta = beta, .is_hermitian = true};
	return triangle_update(&call, c, a, err);
}

/* Triangular operands */

/* b = alpha op(a) b in place.  The part of b that the other one is added to comes first. */
static kz_status triangle_multiply(const struct triangle *call, kz_array *a, kz_array *b,
	kz_error *err)
{
	const bool is_turned = call->op != KZ_MATRIX_AS_IS;
	const int64_t n = a->shape.dims[a->shape.ndim - 1], half = triangle_half(n);
	const int64_t parts[2][2] = {{0, half}, {half, n}};
	const int64_t all[2] = {0, b->shape.dims[b->shape.ndim - 1]};
	const int first = (call->triangle == KZ_LOWER) != is_turned; // the lower part of b, or not
	kz_array *of_a[3] = {NULL, NULL, NULL}, *of_b[2] = {NULL, NULL};
	kz_status st = KZ_OK;
	if (n <= TRIANGLE_BLOCK) {
		st = triangle_fill(&of_a[0], call, NULL, a, TRIANGLE_ZERO, err);
		st = st ? st : kz_gemm(b, call->alpha, of_a[0], call->op, b, KZ_MATRIX_AS_IS,
			KZ_ARG(0), call->stream, err);
		kz_array_release(of_a[0]);
		return st;
	}
	const int row = is_turned ? !first : first;
	for (int i = 0; !st && i < 2; i++) {
		st = triangle_block(&of_a[i], a, parts[i], parts[i], err);
		st = st ? st : triangle_block(&of_b[i], b, parts[i], all, err);
	}
	if (!st && !(st = triangle_block(&of_a[2], a, parts[row], parts[!row], err))
	    && !(st = triangle_multiply(call, of_a[first], of_b[first], err))
	    && !(st = kz_gemm(of_b[first], call->alpha, of_a[2], call->op, of_b[!first],
		KZ_MATRIX_AS_IS, KZ_ARG(1), call->stream, err))) {
		st = triangle_multiply(call, of_a[!first], of_b[!first], err);
	}
	for (int i = 0; i < 3; i++) {
		kz_array_release(of_a[i]);
		kz_array_release(i < 2 ? of_b[i] : NULL);
	}
	return st;
}

kz_status kz_trmm(kz_array *b, kz_arg alpha, kz_array *a, kz_triangle triangle, kz_matrix_op op,
	int is_unit, kz_side side, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct triangle call = {.name = "trmm", .stream = stream, .triangle = triangle, .op = op,
		.is_unit = is_unit != 0, .alpha = alpha};
	kz_array *kept = NULL, *of_a = NULL, *of_b = NULL;
	kz_status st;
	if ((st = triangle_check_matrix("trmm", "b", b, false, err))
	    || (st = triangle_check_matrix("trmm", "a", a, true, err))
	    || (st = triangle_check_enum("trmm", "kz_triangle", (int)triangle, 1, err))
	    || (st = triangle_check_enum("trmm", "kz_matrix_op", (int)op, 2, err))
	    || (st = triangle_check_enum("trmm", "kz_side", (int)side, 1, err))
	    || (st = array_same_device("trmm", b, a, err))) {
		return st;
	}
	if (a->shape.dims[a->shape.ndim - 1] != b->shape.dims[b->shape.ndim - 2 + (int)side]) {
		return error_set(err, KZ_INVALID, "trmm: shapes %s of b and %s of a do not fit",
			shape_text(&b->shape).text, shape_text(&a->shape).text);
	}
	if ((st = triangle_keep(&kept, a, b, stream, err))) {
		return st;
	}
	if (side == KZ_LEFT) {
		st = triangle_multiply(&call, kept, b, err);
	} else if (!(st = kz_array_swapaxes(&of_a, kept, -2, -1, err))
	    && !(st = kz_array_swapaxes(&of_b, b, -2, -1, err))) {
		/* b op(a) is the transpose of op(a') b'. */
		call.triangle = triangle == KZ_LOWER ? KZ_UPPER : KZ_LOWER;
		st = triangle_multiply(&call, of_a, of_b, err);
	}
	kz_array_release(kept);
	kz_array_release(of_a);
	kz_array_release(of_b);
	return st;
}

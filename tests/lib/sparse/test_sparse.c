/* SPDX-License-Identifier: MIT */
/* Sparse matrices on every device, in both forms of the kernels, against loops over dense
 * matrices. */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/sampled.h"

#include <string.h>

enum { MOST = 6000 };

static const kz_dtype tried[] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128, KZ_F16, KZ_BF16};
static const kz_dtype index_types[] = {KZ_I32, KZ_I64};

/* A matrix on the host: its entries, in any order, and the dense matrix that they add up to. */
static struct {
	int64_t rows, columns, count;
	int64_t row_of[MOST], column_of[MOST], pointers[MOST];
	double complex values[MOST], dense[MOST];
} host;

static void add_entry(int64_t row, int64_t column, kz_dtype dtype)
{
	double complex value = sampled_number(dtype);
	host.row_of[host.count] = row;
	host.column_of[host.count] = column;
	host.values[host.count++] = value;
	host.dense[row * host.columns + column] += value;
}

static void start_host(int64_t rows, int64_t columns)
{
	memset(&host, 0, sizeof(host));
	host.rows = rows;
	host.columns = columns;
}

/* Entries anywhere, some of them at one place. */
static void draw_coo(int64_t rows, int64_t columns, int64_t count, kz_dtype dtype)
{
	start_host(rows, columns);
	for (int64_t i = 0; i < count && rows > 0 && columns > 0; i++) {
		add_entry(sampled_below(rows), sampled_below(columns), dtype);
	}
}

/* Rows of 0 to `most` entries, in any order of their columns. */
static void draw_csr(int64_t rows, int64_t columns, int64_t most, kz_dtype dtype)
{
	start_host(rows, columns);
	for (int64_t row = 0; row < rows; row++) {
		for (int64_t i = sampled_below(most + 1); i > 0 && columns > 0; i--) {
			add_entry(row, sampled_below(columns), dtype);
		}
		host.pointers[row + 1] = host.count;
	}
}

static kz_array *indexes(kz_dtype dtype, int64_t count, const int64_t *from)
{
	kz_array *wide, *array;
	ok(kz_array_from(&wide, dev, KZ_I64, KZ_SHAPE(count), from, 8 * count, &err));
	ok(kz_array_astype(&array, wide, dtype, &err));
	kz_array_release(wide);
	return array;
}

static kz_sparse *make(kz_sparse_format format, kz_dtype dtype, kz_dtype index)
{
	bool is_csr = format == KZ_SPARSE_CSR;
	kz_array *data = sampled_from(dtype, KZ_SHAPE(host.count), host.values);
	kz_array *columns = indexes(index, host.count, host.column_of);
	kz_array *places = indexes(index, is_csr ? host.rows + 1 : host.count,
		is_csr ? host.pointers : host.row_of);
	kz_sparse *sparse = NULL;
	ok(is_csr ? kz_sparse_create_csr(&sparse, host.rows, host.columns, data, columns, places,
		NULL,
			&err)
		: kz_sparse_create_coo(&sparse, host.rows, host.columns, data, places, columns,
			NULL, &err));
	release_arrays(data, columns, places);
	return sparse;
}

static kz_sparse_info describe(kz_sparse *sparse)
{
	kz_sparse_info info = KZ_SPARSE_INFO_INIT;
	ok(kz_sparse_describe(sparse, &info, &err));
	return info;
}

/* How far a sum of numbers of a type may be from the exact one: halves are rounded once, or with
 * each entry of one place. */
static double tolerance(kz_dtype dtype)
{
	return dtype == KZ_F16 || dtype == KZ_BF16 ? 256 * sampled_epsilon(dtype) : 0;
}

/* The dense matrix, or op of it. */
static void expect_dense(kz_sparse *sparse, kz_matrix_op op, kz_dtype dtype)
{
	static double complex want[MOST];
	kz_array *dense = NULL;
	bool is_turned = op != KZ_MATRIX_AS_IS;
	int64_t rows = is_turned ? host.columns : host.rows, columns = is_turned ? host.rows
		: host.columns;
	for (int64_t i = 0; i < rows * columns; i++) {
		double complex element = is_turned ? host.dense[i % columns * rows + i / columns]
			: host.dense[i];
		want[i] = op == KZ_MATRIX_ADJOINT ? conj(element) : element;
	}
	ok(kz_sparse_to_dense(&dense, sparse, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(dense), dtype);
	sampled_check(dense, KZ_SHAPE(rows, columns), want, tolerance(dtype));
	kz_array_release(dense);
}

/* Conversions */

/* Rows have ascending columns, and no column twice. */
static void expect_canonical(kz_sparse *csr)
{
	kz_sparse_info info = describe(csr);
	int64_t *pointers = malloc((size_t)(info.rows + 1) * 8),
		*columns = malloc((size_t)info.count * 8 + 1);
	kz_array *wide;
	ok(kz_array_astype(&wide, info.row_pointers, KZ_I64, &err));
	ok(kz_array_get(wide, pointers, 8 * (info.rows + 1), &err));
	kz_array_release(wide);
	ok(kz_array_astype(&wide, info.column_indices, KZ_I64, &err));
	ok(kz_array_get(wide, columns, 8 * info.count, &err));
	kz_array_release(wide);
	ck_assert_int_eq(pointers[0], 0);
	ck_assert_int_eq(pointers[info.rows], info.count);
	for (int64_t row = 0; row < info.rows; row++) {
		for (int64_t i = pointers[row] + 1; i < pointers[row + 1]; i++) {
			ck_assert_int_lt(columns[i - 1], columns[i]);
		}
	}
	free(pointers);
	free(columns);
}

static void convert_one(kz_dtype dtype, kz_dtype index)
{
	kz_sparse *coo = make(KZ_SPARSE_COO, dtype, index), *csr = NULL, *back = NULL;
	ck_assert_int_eq(describe(coo).count, host.count);
	ck_assert_uint_eq(describe(coo).index_dtype, index);
	expect_dense(coo, KZ_MATRIX_AS_IS, dtype);
	ok(kz_sparse_convert(&csr, coo, KZ_SPARSE_CSR, NULL, &err));
	ck_assert_int_eq(describe(csr).format, KZ_SPARSE_CSR);
	ck_assert_uint_eq(describe(csr).index_dtype, index);
	ck_assert_ptr_null(describe(csr).row_indices);
	expect_canonical(csr);
	expect_dense(csr, KZ_MATRIX_AS_IS, dtype);
	ok(kz_sparse_convert(&back, csr, KZ_SPARSE_COO, NULL, &err));
	ck_assert_int_eq(describe(back).count, describe(csr).count);
	ck_assert_ptr_null(describe(back).row_pointers);
	expect_dense(back, KZ_MATRIX_AS_IS, dtype);
	kz_sparse_release(coo);
	kz_sparse_release(csr);
	kz_sparse_release(back);
}

DEVICE_TEST(coo_becomes_csr_and_back_and_places_are_added_up)
{
	sampled_state = 1;
	for (size_t i = 0; i < 2 * countof(tried); i++) {
		if (!both_shapes_try(i, 2 * countof(tried), 2, 1)) {
			continue;
		}
		kz_dtype dtype = tried[i / 2], index = index_types[i % 2];
		draw_coo(1 + sampled_below(30), 1 + sampled_below(30), sampled_below(200), dtype);
		convert_one(dtype, index);
	}
	draw_coo(0, 5, 0, KZ_F32);
	convert_one(KZ_F32, KZ_I32);
	draw_coo(5, 0, 0, KZ_F32);
	convert_one(KZ_F32, KZ_I32);
	draw_coo(1, 1, 300, KZ_F64);
	convert_one(KZ_F64, KZ_I64);
	draw_coo(5, 1000, 5000, KZ_F64); /* two digits of the columns */
	convert_one(KZ_F64, KZ_I32);
}

DEVICE_TEST(a_dense_array_becomes_a_matrix)
{
	static double complex dense[400];
	sampled_state = 2;
	for (size_t i = 0; i < 2 * countof(tried); i++) {
		if (!both_shapes_try(i, 2 * countof(tried), 2, 1)) {
			continue;
		}
		kz_sparse_format format = (kz_sparse_format)(i % 2);
		kz_sparse *sparse = NULL;
		start_host(1 + sampled_below(20), 1 + sampled_below(20));
		int64_t filled = 0;
		for (int64_t k = 0; k < host.rows * host.columns; k++) {
			dense[k] = host.dense[k] = sampled_below(3) ? 0
				: sampled_number(tried[i / 2]);
			filled += dense[k] != 0;
		}
		kz_array *array = sampled_from(tried[i / 2], KZ_SHAPE(host.rows, host.columns),
			dense);
		ok(kz_sparse_from_dense(&sparse, array, format, NULL, &err));
		ck_assert_int_eq(describe(sparse).count, filled);
		ck_assert_int_eq(describe(sparse).format, format);
		ck_assert_uint_eq(describe(sparse).index_dtype, KZ_I32);
		expect_dense(sparse, KZ_MATRIX_AS_IS, tried[i / 2]);
		kz_sparse_release(sparse);
		kz_array_release(array);
	}
}

/* Products */

/* op(matrix) times (n,), or (n, width). */
static void multiply_one(kz_sparse *sparse, kz_matrix_op op, int64_t width, kz_dtype dtype)
{
	static double complex x[MOST], want[MOST];
	bool is_turned = op != KZ_MATRIX_AS_IS;
	int64_t rows = is_turned ? host.columns : host.rows, columns = is_turned ? host.rows
		: host.columns;
	int64_t across = width < 0 ? 1 : width;
	kz_shape from = width < 0 ? KZ_SHAPE(columns) : KZ_SHAPE(columns, width);
	kz_shape to = width < 0 ? KZ_SHAPE(rows) : KZ_SHAPE(rows, width);
	kz_array *array = sampled_array(dtype, from, x), *y = NULL;
	double most = 0;
	for (int64_t i = 0; i < rows * across; i++) {
		int64_t row = i / across;
		want[i] = 0;
		for (int64_t k = 0; k < columns; k++) {
			double complex element = is_turned ? host.dense[k * rows + row]
				: host.dense[row * columns + k];
			want[i] += (op == KZ_MATRIX_ADJOINT ? conj(element) : element)
				* x[k * across + i % across];
		}
		most = fmax(most, cabs(want[i]));
	}
	ok(kz_sparse_matmul(&y, sparse, op, array, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(y), dtype);
	sampled_check(y, to, want, tolerance(dtype) ? most * sampled_epsilon(dtype) : 0);
	release_arrays(array, y);
}

static const kz_matrix_op ops[] = {KZ_MATRIX_AS_IS, KZ_MATRIX_TRANSPOSED, KZ_MATRIX_ADJOINT};
static const int64_t widths[] = {-1, 1, 2, 7, 40, 0};

static void multiply_all(kz_sparse_format format, kz_dtype dtype, kz_dtype index)
{
	kz_sparse *sparse = make(format, dtype, index), *turned = NULL;
	for (size_t i = 0; i < countof(ops); i++) {
		multiply_one(sparse, ops[i], widths[(size_t)sampled_below(countof(widths))], dtype);
		multiply_one(sparse, ops[i], -1, dtype);
		ok(kz_sparse_transpose(&turned, sparse, ops[i], NULL, &err));
		ck_assert_int_eq(describe(turned).format, format);
		expect_dense(turned, ops[i], dtype);
		kz_sparse_release(turned);
	}
	kz_sparse_release(sparse);
}

DEVICE_TEST(products_with_vectors_and_matrices_and_what_is_transposed)
{
	sampled_state = 3;
	for (size_t i = 0; i < 4 * countof(tried); i++) {
		if (!both_shapes_try(i, 4 * countof(tried), 3, 1)) {
			continue;
		}
		kz_dtype dtype = tried[i % countof(tried)];
		if (i % 2) {
			draw_coo(1 + sampled_below(40), 1 + sampled_below(40), sampled_below(300),
				dtype);
			multiply_all(KZ_SPARSE_COO, dtype, index_types[i / 2 % 2]);
		} else {
			draw_csr(1 + sampled_below(40), 1 + sampled_below(40), sampled_below(20),
				dtype);
			multiply_all(KZ_SPARSE_CSR, dtype, index_types[i / 2 % 2]);
		}
	}
}

DEVICE_TEST(products_of_each_width_and_of_each_length_of_rows)
{
	static const int64_t lengths[] = {0, 1, 2, 3, 5, 9, 17, 40, 100};
	sampled_state = 4;
	for (size_t i = 0; i < countof(lengths); i++) {
		if (!both_shapes_try(i, countof(lengths), 4, 1)) {
			continue;
		}
		draw_csr(20, 50, 2 * lengths[i], KZ_F64);
		kz_sparse *sparse = make(KZ_SPARSE_CSR, KZ_F64, KZ_I32);
		for (size_t k = 0; k < countof(widths); k++) {
			multiply_one(sparse, KZ_MATRIX_AS_IS, widths[k], KZ_F64);
		}
		kz_sparse_release(sparse);
	}
	for (int i = 0; i < 2; i++) {
		draw_csr(i ? 5 : 0, i ? 0 : 5, 0, KZ_F32);
		kz_sparse *sparse = make(KZ_SPARSE_CSR, KZ_F32, KZ_I32);
		multiply_one(sparse, KZ_MATRIX_AS_IS, -1, KZ_F32);
		multiply_one(sparse, KZ_MATRIX_TRANSPOSED, 3, KZ_F32);
		kz_sparse_release(sparse);
	}
}

/* One row has half of the entries, and most have none; 70,000 rows and columns are three digits of
 * the sort, or one.  Products of CSR have the same bits in both forms, all products are near the
 * sums. */
DEVICE_TEST(large_matrices_have_the_same_bits_in_both_forms)
{
	enum { SIDE = 70000, COUNT = 30000 };
	static int64_t row_of[COUNT], column_of[COUNT];
	static float values[COUNT], x[SIDE], results[2][3][SIDE];
	static double want[2][SIDE];
	kz_sparse *coo = NULL, *csr = NULL;
	bool serial = dev->serial;
	sampled_state = 5;
	memset(want, 0, sizeof(want)); /* of the test before, in the same process */
	for (int i = 0; i < SIDE; i++) {
		x[i] = 1 / (float)(1 + sampled_below(1000));
	}
	for (int i = 0; i < COUNT; i++) {
		row_of[i] = i % 2 ? 12345 : sampled_below(SIDE);
		column_of[i] = i % 5 ? sampled_below(SIDE) : 7;
		values[i] = 1 / (float)(1 + sampled_below(1000));
	}
	for (int i = 0; i < COUNT; i++) {
		want[0][row_of[i]] += (double)values[i] * x[column_of[i]];
		want[1][column_of[i]] += (double)values[i] * x[row_of[i]];
	}
	kz_array *rows = indexes(KZ_I32, COUNT, row_of),
		*columns = indexes(KZ_I32, COUNT, column_of);
	kz_array *data = NULL, *right = NULL, *y = NULL;
	ok(kz_array_from(&data, dev, KZ_F32, KZ_SHAPE(COUNT), values, sizeof(values), &err));
	ok(kz_array_from(&right, dev, KZ_F32, KZ_SHAPE(SIDE), x, sizeof(x), &err));
	for (int i = 0; i < 2; i++) {
		dev->serial = i == 0;
		ok(kz_sparse_create_coo(&coo, SIDE, SIDE, data, rows, columns, NULL, &err));
		ok(kz_sparse_convert(&csr, coo, KZ_SPARSE_CSR, NULL, &err));
		for (int k = 0; k < 3; k++) {
			ok(kz_sparse_matmul(&y, k ? csr : coo,
				k == 2 ? KZ_MATRIX_TRANSPOSED : KZ_MATRIX_AS_IS,
				right, NULL, &err));
			ok(kz_array_get(y, results[i][k], sizeof(x), &err));
			kz_array_release(y);
			for (int at = 0; at < SIDE; at++) {
				double off = fabs(results[i][k][at] - want[k == 2][at]);
				ck_assert_msg(off <= 1e-5 * (1 + want[k == 2][at]),
					"element %d is %g, not %g",
					at, (double)results[i][k][at], want[k == 2][at]);
			}
		}
		kz_sparse_release(coo);
		kz_sparse_release(csr);
	}
	dev->serial = serial;
	ck_assert_mem_eq(results[0][1], results[1][1], sizeof(results[0][1]));
	release_arrays(rows, columns, data, right);
}

DEVICE_TEST(a_product_goes_into_an_array)
{
	static double complex x[20], want[20];
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	sampled_state = 6;
	draw_csr(20, 20, 6, KZ_F32);
	kz_sparse *sparse = make(KZ_SPARSE_CSR, KZ_F32, KZ_I32);
	kz_array *y = NULL, *from = sampled_array(KZ_F32, KZ_SHAPE(20), x), *plain = NULL;
	for (int i = 0; i < 20; i++) {
		want[i] = 0;
		for (int k = 0; k < 20; k++) {
			want[i] += host.dense[i * 20 + k] * x[k];
		}
	}
	kz_shape shape = KZ_SHAPE(20);
	kz_array *targets[3] = {sampled_room(KZ_F64, &shape), NULL, NULL};
	ok(kz_array_zeros(&targets[1], dev, KZ_F32, KZ_SHAPE(20), &err));
	ok(kz_array_copy(&plain, from, &err));
	targets[2] = plain; /* x itself */
	for (int i = 0; i < 3; i++) {
		options.into = targets[i];
		ok(kz_sparse_matmul(&y, sparse, KZ_MATRIX_AS_IS, i == 2 ? plain : from, &options,
			&err));
		ck_assert_ptr_eq(y, targets[i]);
		sampled_check(targets[i], KZ_SHAPE(20), want, 0);
		kz_array_release(y);
	}
	options.into = NULL;
	options.dtype = KZ_F64;
	ok(kz_sparse_matmul(&y, sparse, KZ_MATRIX_AS_IS, from, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(y), KZ_F64);
	sampled_check(y, KZ_SHAPE(20), want, 0);
	release_arrays(y, from, targets[0], targets[1], targets[2]);
	kz_sparse_release(sparse);
}

DEVICE_TEST(a_diagonal_is_added_up)
{
	static double complex want[40];
	sampled_state = 7;
	for (int i = 0; i < 4; i++) {
		if (!both_shapes_try((size_t)i, 4, 2, 1)) {
			continue;
		}
		kz_array *line = NULL;
		draw_coo(i % 2 ? 40 : 13, i % 2 ? 13 : 40, 600, tried[i]);
		for (int k = 0; k < 13; k++) {
			want[k] = host.dense[k * host.columns + k];
		}
		kz_sparse *sparse = make(KZ_SPARSE_COO, tried[i], KZ_I32);
		ok(kz_sparse_diagonal(&line, sparse, NULL, &err));
		sampled_check(line, KZ_SHAPE(13), want, 0);
		kz_array_release(line);
		kz_sparse_release(sparse);
	}
}

DEVICE_TEST(a_product_is_captured)
{
	static double complex x[20];
	sampled_state = 8;
	draw_csr(20, 20, 6, KZ_F32);
	kz_sparse *sparse = make(KZ_SPARSE_CSR, KZ_F32, KZ_I32), *other = NULL, *coo = NULL;
	kz_array *right = NULL, *y = NULL, *want = NULL,
		*from = sampled_array(KZ_F32, KZ_SHAPE(20), x);
	kz_stream *stream = NULL;
	kz_graph *graph = NULL;
	kz_exec *exec = NULL;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	float got[2][20];
	ok(kz_array_contiguous(&right, from, &err));
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(20), &err));
	ok(kz_sparse_matmul(&want, sparse, KZ_MATRIX_AS_IS, right, NULL, &err));
	ok(kz_sparse_convert(&coo, sparse, KZ_SPARSE_COO, NULL, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_graph_begin(stream, NULL, &err));
	options.into = y;
	options.stream = stream;
	kz_sparse_options how = KZ_SPARSE_OPTIONS_INIT;
	how.stream = stream;
	fails(kz_sparse_convert(&other, coo, KZ_SPARSE_CSR, &how, &err), KZ_STATE, "capture");
	ok(kz_sparse_matmul(NULL, sparse, KZ_MATRIX_AS_IS, right, &options, &err));
	ok(kz_graph_end(&graph, stream, &err));
	ok(kz_graph_instantiate(&exec, graph, &err));
	ok(kz_exec_launch(exec, stream, &err));
	ok(kz_stream_synchronize(stream, &err));
	ok(kz_array_get(y, got[0], sizeof(got[0]), &err));
	ok(kz_array_get(want, got[1], sizeof(got[1]), &err));
	ck_assert_mem_eq(got[0], got[1], sizeof(got[0]));
	kz_exec_release(exec);
	kz_graph_release(graph);
	kz_stream_release(stream);
	kz_sparse_release(sparse);
	kz_sparse_release(coo);
	release_arrays(right, y, want, from);
}

/* Conjugate gradients */

/* The five points of Poisson's equation on a square grid, and, if it is wanted, imaginary parts
 * that leave the matrix Hermitian and positive definite; a diagonal of unequal numbers. */
static kz_sparse *make_poisson(int64_t side, kz_dtype dtype, kz_sparse_format format, bool uneven)
{
	bool is_complex = dtype == KZ_C64 || dtype == KZ_C128;
	start_host(side * side, side * side);
	for (int64_t i = 0; i < host.rows; i++) {
		const int64_t next[4] = {i >= side ? i - side : -1, i % side ? i - 1 : -1,
			i % side < side - 1 ? i + 1 : -1, i + side < host.rows ? i + side : -1};
		for (int k = 0; k < 4; k++) {
			if (next[k] >= 0) {
				host.row_of[host.count] = i;
				host.column_of[host.count] = next[k];
				host.values[host.count++] = CMPLX(-1,
					is_complex ? (k < 2 ? 0.25 : -0.25) : 0);
			}
		}
		host.row_of[host.count] = host.column_of[host.count] = i;
		host.values[host.count++] = uneven ? 5 + i % 50 : 5;
		host.pointers[i + 1] = host.count;
	}
	for (int64_t i = 0; host.rows * host.rows <= MOST && i < host.count; i++) {
		host.dense[host.row_of[i] * host.columns + host.column_of[i]] = host.values[i];
	}
	return make(format, dtype, KZ_I32);
}

/* The norm of b - a x over that of b, on the host. */
static double host_residual(kz_array *x, const double complex *b)
{
	static double complex got[MOST], left[MOST];
	kz_array *wide;
	double sum = 0, norm = 0;
	ok(kz_array_astype(&wide, x, KZ_C128, &err));
	ok(kz_array_get(wide, got, 16 * host.rows, &err));
	kz_array_release(wide);
	memcpy(left, b, 16 * (size_t)host.rows);
	for (int64_t i = 0; i < host.count; i++) {
		left[host.row_of[i]] -= host.values[i] * got[host.column_of[i]];
	}
	for (int64_t i = 0; i < host.rows; i++) {
		sum += creal(left[i] * conj(left[i]));
		norm += creal(b[i] * conj(b[i]));
	}
	return sqrt(sum / norm);
}

DEVICE_TEST(cg_solves_real_and_complex_equations)
{
	static double complex b[MOST];
	sampled_state = 10;
	for (size_t i = 0; i < 8; i++) {
		if (!both_shapes_try(i, 8, 2, 1)) {
			continue;
		}
		kz_dtype dtype = tried[i % 4];
		bool is_fine = dtype == KZ_F64 || dtype == KZ_C128;
		kz_sparse_cg_options how = KZ_SPARSE_CG_OPTIONS_INIT;
		kz_sparse_cg_result result = KZ_SPARSE_CG_RESULT_INIT;
		kz_sparse *a = make_poisson(12, dtype, (kz_sparse_format)(i / 4), i % 3 == 0);
		kz_array *right = sampled_array(dtype, KZ_SHAPE(host.rows), b), *x = NULL;
		how.rtol = is_fine ? 1e-12 : 1e-5;
		how.preconditioner = (kz_preconditioner)(i / 2 % 2);
		ok(kz_sparse_cg(&x, a, right, &how, &result, &err));
		ck_assert_uint_eq(kz_array_dtype(x), dtype);
		ck_assert_int_eq(result.converged, 1);
		ck_assert_int_gt(result.iterations, 3);
		ck_assert_int_lt(result.iterations, 100);
		ck_assert(host_residual(x, b) <= (is_fine ? 2e-12 : 2e-5));
		release_arrays(right, x);
		kz_sparse_release(a);
	}
}

DEVICE_TEST(cg_begins_anywhere_and_jacobi_spares_iterations)
{
	static double complex b[MOST], zeros[MOST];
	kz_sparse_cg_options how = KZ_SPARSE_CG_OPTIONS_INIT;
	kz_sparse_cg_result result[2] = {KZ_SPARSE_CG_RESULT_INIT, KZ_SPARSE_CG_RESULT_INIT};
	kz_sparse *a = make_poisson(20, KZ_F64, KZ_SPARSE_CSR, true);
	kz_array *right, *x = NULL, *again = NULL;
	sampled_state = 11;
	right = sampled_array(KZ_F64, KZ_SHAPE(host.rows), b);
	ok(kz_sparse_cg(&x, a, right, &how, &result[0], &err));
	how.preconditioner = KZ_PRECONDITIONER_JACOBI;
	ok(kz_sparse_cg(&again, a, right, &how, &result[1], &err));
	ck_assert_int_lt(2 * result[1].iterations, result[0].iterations);
	ck_assert(host_residual(again, b) <= 2e-5);
	kz_array_release(again);
	how.initial = x; /* is good enough */
	ok(kz_sparse_cg(&again, a, right, &how, &result[1], &err));
	ck_assert_int_eq(result[1].iterations, 0);
	ck_assert(host_residual(again, b) <= 1e-5);
	kz_array_release(again);
	ok(kz_array_assign(right, x, &err)); /* any numbers but zeros */
	kz_array *none = NULL;
	ok(kz_array_zeros(&none, dev, KZ_F64, KZ_SHAPE(host.rows), &err));
	ok(kz_sparse_cg(&again, a, none, &how, &result[1], &err));
	sampled_check(again, KZ_SHAPE(host.rows), zeros, 0);
	ck_assert_int_eq(result[1].iterations, 0);
	release_arrays(right, x, again, none);
	kz_sparse_release(a);
}

DEVICE_TEST(cg_says_why_there_is_no_solution)
{
	static double complex b[MOST];
	kz_sparse_cg_options how = KZ_SPARSE_CG_OPTIONS_INIT;
	kz_sparse_cg_result result = KZ_SPARSE_CG_RESULT_INIT;
	kz_sparse *a = make_poisson(12, KZ_F64, KZ_SPARSE_CSR, true), *other = NULL;
	sampled_state = 12;
	kz_array *right = sampled_array(KZ_F64, KZ_SHAPE(host.rows), b), *x = NULL;
	how.iterations = 3;
	fails(kz_sparse_cg(&x, a, right, &how, NULL, &err), KZ_NUMERIC,
		"cg: no convergence after 3 iterations: the residual is ");
	ck_assert_ptr_null(x);
	ok(kz_sparse_cg(&x, a, right, &how, &result, &err));
	ck_assert_int_eq(result.converged, 0);
	ck_assert_int_eq(result.iterations, 3);
	ck_assert(result.residual > 0);
	kz_array_release(x);
	how.rtol = -1;
	fails(kz_sparse_cg(&x, a, right, &how, NULL, &err), KZ_INVALID, "expected tolerances");
	how.size = 3;
	fails(kz_sparse_cg(&x, a, right, &how, NULL, &err), KZ_INVALID,
		"KZ_SPARSE_CG_OPTIONS_INIT");
	how = (kz_sparse_cg_options)KZ_SPARSE_CG_OPTIONS_INIT;
	how.preconditioner = (kz_preconditioner)7;
	fails(kz_sparse_cg(&x, a, right, &how, NULL, &err), KZ_INVALID,
		"7 is not a kz_preconditioner");
	kz_sparse_release(a);
	for (int64_t i = 0; i < host.count; i++) { /* negative definite */
		host.values[i] *= -1;
	}
	a = make(KZ_SPARSE_CSR, KZ_F64, KZ_I32);
	fails(kz_sparse_cg(&x, a, right, NULL, NULL, &err), KZ_NUMERIC,
		"the matrix is not positive definite: in iteration 1 a direction p has p^H a p = "
		"-");
	how.preconditioner = KZ_PRECONDITIONER_JACOBI;
	fails(kz_sparse_cg(&x, a, right, &how, NULL, &err), KZ_NUMERIC,
		"element 0 of the diagonal is -5, expected one above 0");
	kz_array_release(right);
	b[3] = NAN;
	ok(kz_array_from(&right, dev, KZ_C128, KZ_SHAPE(host.rows), b, 16 * host.rows, &err));
	fails(kz_sparse_cg(&x, a, right, NULL, NULL, &err), KZ_NUMERIC, "the norm of b is");
	kz_sparse_release(a);
	draw_csr(host.rows, 7, 3, KZ_F64);
	other = make(KZ_SPARSE_CSR, KZ_F64, KZ_I32);
	fails(kz_sparse_cg(&x, other, right, NULL, NULL, &err), KZ_INVALID,
		"expected a square matrix, got shape (144, 7)");
	kz_sparse_release(other);
	draw_csr(7, 7, 3, KZ_F64);
	other = make(KZ_SPARSE_CSR, KZ_F64, KZ_I32);
	fails(kz_sparse_cg(&x, other, right, NULL, NULL, &err), KZ_INVALID,
		"expected b of shape (7,), got (144,)");
	kz_sparse_release(other);
	kz_array_release(right);
}

/* Mistakes */

static const struct {
	kz_sparse_format format;
	int64_t rows, columns;
	int64_t places[4], place_count;
	int64_t column_of[4], count;
	kz_status status;
	const char *message;
} wrong[] = {
	{KZ_SPARSE_CSR, 3, 5, {0, 1, 2, 3}, 4, {0, 5, 9}, 3, KZ_RANGE,
		"index 5, at place 1 of the indexes, is out of range for a row of 5"},
	{KZ_SPARSE_CSR, 3, 5, {0, 1, 2, 3}, 4, {0, 4, -1}, 3, KZ_RANGE,
		"index -1, at place 2 of the indexes, is out of range for a row of 5"},
	{KZ_SPARSE_CSR, 3, 5, {1, 1, 2, 3}, 4, {0, 1, 2}, 3, KZ_RANGE,
		"the first pointer of a row is 1, expected 0"},
	{KZ_SPARSE_CSR, 3, 5, {0, 2, 1, 3}, 4, {0, 1, 2}, 3, KZ_RANGE,
		"pointer 2 of the rows is 1, below the one before, 2"},
	{KZ_SPARSE_CSR, 3, 5, {0, 4, 4, 3}, 4, {0, 1, 2}, 3, KZ_RANGE,
		"pointer 1 of the rows is 4, beyond 3 values"},
	{KZ_SPARSE_CSR, 3, 5, {0, 1, 2, 2}, 4, {0, 1, 2}, 3, KZ_RANGE,
		"the last pointer of a row is 2, expected 3, the number of values"},
	{KZ_SPARSE_CSR, 3, 5, {0, 1, 3}, 3, {0, 1, 2}, 3, KZ_INVALID,
		"expected pointers of rows of shape (4,), got (3,)"},
	{KZ_SPARSE_CSR, -1, 5, {0}, 0, {0}, 0, KZ_INVALID,
		"a matrix cannot have -1 rows and 5 columns"},
	{KZ_SPARSE_COO, 3, 5, {0, 3, 4}, 3, {0, 1, 2}, 3, KZ_RANGE,
		"index 3, at place 1 of the indexes, is out of range for a column of 3"},
	{KZ_SPARSE_COO, 3, 5, {0, 1, 2}, 3, {0, 1, 7}, 3, KZ_RANGE,
		"index 7, at place 2 of the indexes, is out of range for a row of 5"},
	{KZ_SPARSE_COO, 3, 5, {0, 1}, 2, {0, 1, 2}, 3, KZ_INVALID,
		"expected rows of shape (3,), got (2,)"},
	{KZ_SPARSE_COO, 0, 5, {0}, 1, {0}, 1, KZ_RANGE, "indexes into a column of 0"},
};

DEVICE_TEST(parts_that_do_not_fit_are_refused)
{
	for (size_t i = 0; i < 2 * countof(wrong); i++) {
		size_t k = i / 2;
		kz_sparse *sparse = (kz_sparse *)&err;
		kz_array *data = NULL;
		ok(kz_array_ones(&data, dev, KZ_F32, KZ_SHAPE(wrong[k].count), &err));
		kz_array *columns = indexes(index_types[i % 2], wrong[k].count, wrong[k].column_of);
		kz_array *places = indexes(index_types[i % 2], wrong[k].place_count,
			wrong[k].places);
		fails((wrong[k].format == KZ_SPARSE_CSR ? kz_sparse_create_csr
			: kz_sparse_create_coo)( &sparse, wrong[k].rows, wrong[k].columns, data,
			wrong[k].format == KZ_SPARSE_CSR ? columns : places,
			wrong[k].format == KZ_SPARSE_CSR ? places : columns, NULL, &err),
			wrong[k].status, wrong[k].message);
		ck_assert_ptr_null(sparse);
		release_arrays(data, columns, places);
	}
}

DEVICE_TEST(calls_that_do_not_fit_are_refused)
{
	kz_sparse *sparse, *other = NULL;
	kz_array *ints = NULL, *x = NULL, *y = NULL, *floats = NULL;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_sparse_options how = {.size = 1};
	kz_sparse_info info = {.size = 1};
	sampled_state = 9;
	draw_csr(3, 4, 3, KZ_F32);
	sparse = make(KZ_SPARSE_CSR, KZ_F32, KZ_I32);
	ok(kz_array_zeros(&ints, dev, KZ_I32, KZ_SHAPE(3), &err));
	ok(kz_array_zeros(&floats, dev, KZ_F32, KZ_SHAPE(3), &err));
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(4), &err));
	fails(kz_sparse_create_coo(&other, 3, 4, ints, ints, ints, NULL, &err), KZ_INVALID,
		"expected floats or complex numbers in a sparse matrix, got int32");
	fails(kz_sparse_create_coo(&other, 3, 4, floats, floats, ints, NULL, &err), KZ_INVALID,
		"expected int32 or int64 as rows, got float32");
	fails(kz_sparse_create_coo(&other, 3, 4, NULL, ints, ints, NULL, &err), KZ_INVALID,
		"expected an array, got NULL");
	fails(kz_sparse_create_coo(&other, 3, 4, floats, ints, ints, &how, &err), KZ_INVALID,
		"initialize it with KZ_SPARSE_OPTIONS_INIT");
	fails(kz_sparse_create_coo(NULL, 3, 4, floats, ints, ints, NULL, &err), KZ_INVALID,
		"out is NULL");
	fails(kz_sparse_from_dense(&other, floats, KZ_SPARSE_CSR, NULL, &err), KZ_INVALID,
		"expected an array of two extents, got (3,)");
	fails(kz_sparse_matmul(&y, sparse, KZ_MATRIX_AS_IS, floats, NULL, &err), KZ_INVALID,
		"a matrix of shape (3, 4) does not multiply an array of shape (3,)");
	fails(kz_sparse_matmul(&y, sparse, KZ_MATRIX_TRANSPOSED, x, NULL, &err), KZ_INVALID,
		"a matrix of shape (4, 3) does not multiply an array of shape (4,)");
	fails(kz_sparse_matmul(&y, sparse, (kz_matrix_op)3, x, NULL, &err), KZ_INVALID,
		"3 is not a kz_matrix_op");
	options.into = x;
	fails(kz_sparse_matmul(&y, sparse, KZ_MATRIX_AS_IS, x, &options, &err), KZ_INVALID,
		"does not fit into (4,)");
	fails(kz_sparse_matmul(&y, NULL, KZ_MATRIX_AS_IS, x, NULL, &err), KZ_INVALID,
		"expected a sparse matrix, got NULL");
	fails(kz_sparse_matmul(&y, sparse, KZ_MATRIX_AS_IS, NULL, NULL, &err), KZ_INVALID,
		"expected an array, got NULL");
	fails(kz_sparse_convert(&other, sparse, (kz_sparse_format)2, NULL, &err), KZ_INVALID,
		"2 is not a kz_sparse_format");
	fails(kz_sparse_describe(sparse, &info, &err), KZ_INVALID, "KZ_SPARSE_INFO_INIT");
	ck_assert_ptr_null(other);
	kz_sparse_release(NULL);
	release_arrays(ints, floats, x);
	kz_sparse_release(sparse);
}

DEVICE_TEST(parts_that_are_trusted_are_not_looked_at_and_live_on)
{
	static const int64_t columns_of[] = {9};
	kz_sparse_options how = KZ_SPARSE_OPTIONS_INIT;
	kz_sparse *sparse = NULL;
	kz_array *data = NULL, *columns = indexes(KZ_I64, 1, columns_of),
		*rows = indexes(KZ_I32, 1, columns_of);
	ok(kz_array_ones(&data, dev, KZ_F32, KZ_SHAPE(1), &err));
	fails(kz_sparse_create_coo(&sparse, 3, 4, data, rows, columns, NULL, &err), KZ_RANGE,
		"index 9");
	how.trusted = 1;
	ok(kz_sparse_create_coo(&sparse, 3, 4, data, rows, columns, &how, &err));
	release_arrays(data, rows, columns);
	ck_assert_ptr_eq(kz_sparse_retain(sparse), sparse);
	kz_sparse_release(sparse);
	kz_sparse_info info = describe(sparse);
	ck_assert_int_eq(info.count, 1);
	ck_assert_int_eq(info.rows, 3);
	ck_assert_int_eq(info.columns, 4);
	ck_assert_uint_eq(info.index_dtype, KZ_I64);
	ck_assert_ptr_eq(info.device, dev);
	ck_assert_int_eq(kz_array_count(info.data), 1);
	kz_sparse_release(sparse);
}

SUITE(sparse)
{
	Suite *s = suite_create("sparse");
	TCase *tc = suite_add_case(s, "matrices");
	tcase_add_tests(tc, both_shapes_count(), coo_becomes_csr_and_back_and_places_are_added_up,
		a_dense_array_becomes_a_matrix, a_diagonal_is_added_up,
		parts_that_are_trusted_are_not_looked_at_and_live_on);
	tc = suite_add_case(s, "products");
	tcase_add_tests(tc, both_shapes_count(),
		products_with_vectors_and_matrices_and_what_is_transposed,
		products_of_each_width_and_of_each_length_of_rows,
		large_matrices_have_the_same_bits_in_both_forms, a_product_goes_into_an_array,
		a_product_is_captured);
	tc = suite_add_case(s, "cg");
	tcase_add_tests(tc, both_shapes_count(), cg_solves_real_and_complex_equations,
		cg_begins_anywhere_and_jacobi_spares_iterations, cg_says_why_there_is_no_solution);
	tc = suite_add_case(s, "mistakes");
	tcase_add_tests(tc, both_shapes_count(), parts_that_do_not_fit_are_refused,
		calls_that_do_not_fit_are_refused);
	return s;
}

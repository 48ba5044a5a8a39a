/* SPDX-License-Identifier: MIT */
/*
 * What our own kernels do where there is no library: products, triangular solvers, LU, Cholesky and
 * QR.  Factors are multiplied by loops over host memory and compared with what was factored.
 */
#include "base/common.h"

#include "base/dl.h"
#include "lib/array/array.h"
#include "lib/linalg/provider.h"
#include "support/suite.h"
#include "support/support.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double complex number;

static kz_error err;
static kz_device *dev;

/* Each device twice: kernels in their form for CPUs and in that for GPUs. */
static int ways_count(void)
{
	return 2 * support_device_count();
}

/* Whether round `k` of `of` is tried: `usual` or `brief` of the rounds of both ways together
 * are. */
static bool is_tried(int index, size_t k, size_t of, int usual, int brief)
{
	return support_is_tried(index * (int)of + (int)k, ways_count() * (int)of, usual, brief);
}

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	support_no_libraries();
	dev = support_open(index / 2);
	dev->serial = index % 2 == 0;
}

static void teardown(void)
{
	support_close(dev);
}

static const kz_dtype dtypes[LINALG_TYPES] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128};

static uint32_t state;

static double draw(void)
{
	state = state * 1664525u + 1013904223u;
	return (double)(state >> 8) / (1 << 23) - 1;
}

/* Matrices on the device beside a copy on the host: column-major, with gaps after each. */
struct matrices {
	enum linalg_type type;
	int64_t rows, columns, ld, next, count;
	kz_array *array;
	number *host;
};

static struct matrices make(enum linalg_type type, int64_t rows, int64_t columns, int64_t count)
{
	struct matrices of = {type, rows, columns, rows + 3, (rows + 3) * columns + 5, count, NULL,
		NULL};
	int64_t all = of.next * count;
	kz_array *wide;
	of.host = calloc((size_t)all, sizeof(number));
	ck_assert_ptr_nonnull(of.host);
	for (int64_t i = 0; i < all; i++) {
		of.host[i] = draw() + (linalg_is_complex(type) ? I * draw() : 0);
		of.host[i] = (float)creal(of.host[i]) + I * (float)cimag(of.host[i]);
	}
	ok(kz_array_from(&wide, dev, KZ_C128, KZ_SHAPE(all), of.host, all * 16, &err));
	if (linalg_is_complex(type)) {
		ok(kz_array_astype(&of.array, wide, dtypes[type], &err));
	} else {
		kz_array *real;
		ok(kz_real(&real, wide, &err));
		ok(kz_array_astype(&of.array, real, dtypes[type], &err));
		kz_array_release(real);
	}
	kz_array_release(wide);
	return of;
}

static void put(struct matrices *of)
{
	struct matrices fresh = *of;
	kz_array *wide, *narrow, *real = NULL;
	int64_t all = fresh.next * fresh.count;
	ok(kz_array_from(&wide, dev, KZ_C128, KZ_SHAPE(all), of->host, all * 16, &err));
	if (!linalg_is_complex(of->type)) {
		ok(kz_real(&real, wide, &err));
	}
	ok(kz_array_astype(&narrow, real ? real : wide, dtypes[of->type], &err));
	ok(kz_array_assign(of->array, narrow, &err));
	kz_array_release(real);
	kz_array_release(wide);
	kz_array_release(narrow);
}

/* What is on the device now, as a new copy. */
static number *get(const struct matrices *of)
{
	kz_array *wide;
	int64_t all = of->next * of->count;
	number *host = calloc((size_t)all, sizeof(number));
	ck_assert_ptr_nonnull(host);
	ok(kz_array_astype(&wide, of->array, KZ_C128, &err));
	ok(kz_array_get(wide, host, all * 16, &err));
	kz_array_release(wide);
	return host;
}

static void drop(struct matrices *of)
{
	kz_array_release(of->array);
	free(of->host);
}

static struct linalg_matrix operand(const struct matrices *of)
{
	return (struct linalg_matrix){of->array->buffer->memory, array_address(of->array), of->ld,
		of->next};
}

static number *at(const struct matrices *of, number *host, int64_t matrix, int64_t i, int64_t j)
{
	return &host[matrix * of->next + j * of->ld + i];
}

static double epsilon(enum linalg_type type)
{
	return type == LINALG_S || type == LINALG_C ? 1.2e-7 : 2.3e-16;
}

#define near(type, scale, got, want) do { \
	double off_ = cabs((got) - (want)); \
	ck_assert_msg(off_ <= (scale) * epsilon(type), "type %d: off by %g, %g allowed", \
		(int)(type), off_, (scale) * epsilon(type)); \
} while (0)

/* What lies between and after the matrices is as it was. */
static void check_gaps(const struct matrices *of, const number *got)
{
	for (int64_t i = 0; i < of->next * of->count; i++) {
		int64_t inside = i % of->next;
		if (inside >= of->ld * of->columns || inside % of->ld >= of->rows) {
			ck_assert(got[i] == (linalg_is_complex(of->type) ? of->host[i]
				: creal(of->host[i])));
		}
	}
}

static void run(const struct linalg_task *task)
{
	ok(linalg_run(dev, task, kz_device_stream(dev), "own", &err));
	ok(kz_stream_synchronize(kz_device_stream(dev), &err));
}

struct ints {
	kz_array *array;
	int32_t host[512];
};

static struct ints make_ints(int64_t count)
{
	struct ints out = {.array = NULL};
	memset(out.host, 0x55, sizeof(out.host));
	ok(kz_array_from(&out.array, dev, KZ_I32, KZ_SHAPE(count), out.host, count * 4, &err));
	return out;
}

static void get_ints(struct ints *of)
{
	ok(kz_array_get(of->array, of->host, kz_array_size(of->array), &err));
}

static struct linalg_matrix int_operand(const struct ints *of, int64_t next)
{
	return (struct linalg_matrix){of->array->buffer->memory, array_address(of->array), 0, next};
}

/* op(matrix) at (i, j), of real types without the imaginary part. */
static number take(const struct matrices *of, number *host, int64_t matrix, char op, int64_t i,
	int64_t j)
{
	number value = op == 'N' ? *at(of, host, matrix, i, j) : *at(of, host, matrix, j, i);
	value = linalg_is_complex(of->type) ? value : creal(value);
	return op == 'C' ? conj(value) : value;
}

DEVICE_TEST(products_take_ops_alpha_and_beta)
{
	static const char ops[3] = {'N', 'T', 'C'};
	static const struct { int64_t m, n, k; } sizes[4] = {{5, 7, 3}, {70, 40, 33}, {1, 9, 2},
		{100, 1, 300}};
	for (int round = 0; round < 72; round++) {
		if (!is_tried(_i, (size_t)round, 72, 19, 7)) {
			continue;
		}
		enum linalg_type type = round % 4;
		char op_a = ops[round / 4 % 3], op_b = ops[round / 12 % 3];
		int64_t m = sizes[round % 7 % 4].m, n = sizes[round % 7 % 4].n,
			k = sizes[round % 7 % 4].k;
		state = (uint32_t)round;
		struct matrices a = op_a == 'N' ? make(type, m, k, 2) : make(type, k, m, 2);
		struct matrices b = op_b == 'N' ? make(type, k, n, 2) : make(type, n, k, 2);
		struct matrices c = make(type, m, n, 2);
		number alpha = 2 + (linalg_is_complex(type) ? 3 * I : 0);
		number beta = round % 5 ? -1.5 : 0;
		struct linalg_task task = {.op = LINALG_GEMM, .type = type, .op_a = op_a,
			.op_b = op_b,
			.m = m, .n = n, .k = k, .count = 2, .alpha = {2, cimag(alpha)},
			.beta = {creal(beta), 0}, .a = operand(&a), .b = operand(&b),
			.c = operand(&c)};
		run(&task);
		number *got = get(&c);
		check_gaps(&c, got);
		for (int64_t at_c = 0; at_c < 2 * m * n; at_c++) {
			int64_t which = at_c / (m * n), i = at_c % m, j = at_c / m % n;
			number sum = 0;
			for (int64_t l = 0; l < k; l++) {
				sum += take(&a, a.host, which, op_a, i, l) * take(&b, b.host, which,
					op_b, l, j);
			}
			near(type, 20 * (double)k, *at(&c, got, which, i, j),
				alpha * sum + beta * take(&c, c.host, which, 'N', i, j));
		}
		free(got);
		drop(&a);
		drop(&b);
		drop(&c);
	}
}

DEVICE_TEST(triangles_are_solved_from_both_sides)
{
	static const char ops[3] = {'N', 'T', 'C'};
	for (int round = 0; round < 96; round++) {
		if (!is_tried(_i, (size_t)round, 96, 23, 7)) {
			continue;
		}
		enum linalg_type type = round % 4;
		char op = ops[round / 4 % 3];
		bool is_left = round & 1, is_upper = round / 2 & 1, is_unit = round / 12 & 1;
		int64_t m = round % 5 ? 37 : 90, n = round % 3 ? 45 : 70, rows = is_left ? m : n;
		state = (uint32_t)round;
		struct matrices a = make(type, rows, rows, 2), b = make(type, m, n, 2);
		for (int64_t i = 0; i < 2 * rows * rows; i++) { // well conditioned
			number *x = at(&a, a.host, i / rows / rows, i % rows, i / rows % rows);
			*x = i % rows == i / rows % rows ? 2 + *x / 4 : *x / 16;
			*x = (float)creal(*x) + I * (float)cimag(*x);
		}
		put(&a);
		struct linalg_task task = {.op = LINALG_TRSM, .type = type, .op_a = op,
			.side = is_left ? 'L' : 'R', .uplo = is_upper ? 'U' : 'L',
			.diag = is_unit ? 'U' : 'N', .m = m, .n = n, .count = 2, .alpha = {0.5, 0},
			.a = operand(&a), .b = operand(&b)};
		run(&task);
		number *got = get(&b);
		check_gaps(&b, got);
		for (int64_t i = 0; i < 2 * rows * rows; i++) { // only the triangle counts
			int64_t row = i % rows, column = i / rows % rows;
			number *x = at(&a, a.host, i / rows / rows, row, column);
			*x = row == column ? (is_unit ? 1 : *x) : (row < column) == is_upper ? *x
				: 0;
		}
		for (int64_t i = 0; i < 2 * m * n; i++) {
			int64_t which = i / (m * n), row = i % m, column = i / m % n;
			number sum = 0;
			for (int64_t l = 0; l < rows; l++) {
				sum += is_left ? take(&a, a.host, which, op, row, l) * *at(&b, got,
					which, l, column)
					: *at(&b, got, which, row, l) * take(&a, a.host, which, op,
						l, column);
			}
			near(type, 400 * (double)rows, sum,
				0.5 * take(&b, b.host, which, 'N', row, column));
		}
		free(got);
		drop(&a);
		drop(&b);
	}
}

static const struct {
	int64_t m, n;
} shapes[] = {{1, 1}, {5, 5}, {32, 32}, {33, 33}, {100, 100}, {70, 20}, {20, 70}, {130, 40},
	{40, 130}, {7, 1},
	{1, 7}};

/* P L U of all shapes: the pivots are LAPACK's, the factors give the matrix, each l is at most
 * 1. */
DEVICE_TEST(lu_gives_the_matrix)
{
	for (size_t round = 0; round < 4 * countof(shapes); round++) {
		if (!is_tried(_i, round, 4 * countof(shapes), 17, 7)) {
			continue;
		}
		enum linalg_type type = round % 4;
		int64_t m = shapes[round / 4].m, n = shapes[round / 4].n, least = min64(m, n);
		struct matrices a = make(type, m, n, 3);
		struct ints pivots = make_ints(3 * least), info = make_ints(3);
		struct linalg_task task = {.op = LINALG_GETRF, .type = type, .m = m, .n = n,
			.count = 3,
			.a = operand(&a), .b = int_operand(&pivots, least),
			.info = int_operand(&info, 1)};
		run(&task);
		number *got = get(&a);
		check_gaps(&a, got);
		get_ints(&pivots);
		get_ints(&info);
		for (int64_t which = 0; which < 3; which++) {
			ck_assert_int_eq(info.host[which], 0);
			for (int64_t i = 0; i < least; i++) {
				int64_t with = pivots.host[which * least + i] - 1;
				ck_assert(with >= i && with < m);
				for (int64_t j = 0; j < n; j++) {
					number *x = at(&a, a.host, which, i, j),
						*y = at(&a, a.host, which, with, j);
					number was = *x;
					*x = *y;
					*y = was;
				}
			}
			for (int64_t i = 0; i < m * n; i++) {
				int64_t row = i % m, column = i / m;
				number sum = 0;
				for (int64_t l = 0; l <= min64(row, column) && l < least; l++) {
					number left = l == row ? 1 : *at(&a, got, which, row, l);
					ck_assert(cabs(left) <= 1.5);
					sum += left * *at(&a, got, which, l, column);
				}
				near(type, 50 * (double)least, sum,
					take(&a, a.host, which, 'N', row, column));
			}
		}
		free(got);
		kz_array_release(pivots.array);
		kz_array_release(info.array);
		drop(&a);
	}
}

DEVICE_TEST(factors_solve_and_invert)
{
	static const char ops[3] = {'N', 'T', 'C'};
	for (int round = 0; round < 24; round++) {
		if (!is_tried(_i, (size_t)round, 24, 17, 5)) {
			continue;
		}
		enum linalg_type type = round % 4;
		char op = ops[round / 4 % 3];
		int64_t n = round < 12 ? 12 : 75, k = 9;
		struct matrices a = make(type, n, n, 2), c = make(type, n, k, 2),
			inverse = make(type, n, n, 2);
		for (int64_t i = 0; i < 2 * n; i++) {
			*at(&a, a.host, i / n, i % n, (i + 1) % n) += 8 + 0.5 * (double)n;
		}
		put(&a);
		struct ints pivots = make_ints(2 * n), info = make_ints(2);
		struct linalg_task task = {.op = LINALG_GETRF, .type = type, .m = n, .n = n, .k = k,
			.count = 2,
			.op_a = op, .a = operand(&a), .b = int_operand(&pivots, n),
			.info = int_operand(&info, 1)};
		run(&task);
		task.op = LINALG_GETRS;
		task.c = operand(&c);
		run(&task);
		task.op = LINALG_GETRI;
		task.c = operand(&inverse);
		run(&task);
		number *x = get(&c), *inv = get(&inverse);
		get_ints(&info);
		ck_assert(info.host[0] == 0 && info.host[1] == 0);
		for (int64_t i = 0; i < 2 * n * k; i++) {
			int64_t which = i / (n * k), row = i % n, column = i / n % k;
			number sum = 0, one = 0;
			for (int64_t l = 0; l < n; l++) {
				sum += take(&a, a.host, which, op, row, l) * *at(&c, x, which, l,
					column);
				one += take(&a, a.host, which, 'N', row, l) * *at(&inverse, inv,
					which, l, column);
			}
			near(type, 200 * (double)n, sum, take(&c, c.host, which, 'N', row, column));
			near(type, 200 * (double)n, one, row == column);
		}
		free(x);
		free(inv);
		kz_array_release(pivots.array);
		kz_array_release(info.array);
		drop(&a);
		drop(&c);
		drop(&inverse);
	}
}

/* The first pivot that is 0, in a panel and after some; other matrices of the batch are none the
 * worse. */
DEVICE_TEST(a_singular_matrix_names_its_pivot)
{
	static const int64_t zeros[3] = {3, 40, 69};
	enum { N = 70 };
	for (int round = 0; round < 12; round++) {
		if (!is_tried(_i, (size_t)round, 12, 9, 5)) {
			continue;
		}
		enum linalg_type type = round % 4;
		int64_t zero = zeros[round / 4];
		struct matrices a = make(type, N, N, 2);
		for (int64_t i = 0; i < N; i++) { // column `zero` of the first: nothing
			*at(&a, a.host, 0, i, zero) = 0;
		}
		put(&a);
		struct ints pivots = make_ints(2 * N), info = make_ints(2);
		struct linalg_task task = {.op = LINALG_GETRF, .type = type, .m = N, .n = N,
			.count = 2,
			.a = operand(&a), .b = int_operand(&pivots, N),
			.info = int_operand(&info, 1)};
		run(&task);
		get_ints(&info);
		ck_assert_int_eq(info.host[0], zero + 1);
		ck_assert_int_eq(info.host[1], 0);
		kz_array_release(pivots.array);
		kz_array_release(info.array);
		drop(&a);
	}
}

/* A^H A + I of random matrices, and what of it is positive definite if one diagonal element is
 * not. */
DEVICE_TEST(cholesky_gives_the_matrix_or_names_the_minor)
{
	static const int64_t sizes[4] = {1, 20, 33, 100};
	for (int round = 0; round < 32; round++) {
		if (!is_tried(_i, (size_t)round, 32, 19, 7)) {
			continue;
		}
		enum linalg_type type = round % 4;
		int64_t n = sizes[round / 4 % 4], bad = round / 4 % 4 == 0 ? 0 : n * 2 / 3;
		bool is_upper = round >= 16;
		struct matrices r = make(type, n, n, 2), a = make(type, n, n, 2);
		for (int64_t i = 0; i < 2 * n * n; i++) {
			int64_t which = i / (n * n), row = i % n, column = i / n % n;
			number sum = row == column;
			for (int64_t l = 0; l < n; l++) {
				sum += take(&r, r.host, which, 'C', row, l) * take(&r, r.host,
					which, 'N', l, column);
			}
			*at(&a, a.host, which, row, column) = (float)creal(sum)
				+ I * (float)cimag(sum);
		}
		*at(&a, a.host, 1, bad, bad) = round & 1 ? -1 : NAN;
		put(&a);
		struct ints info = make_ints(2);
		struct linalg_task task = {.op = LINALG_POTRF, .type = type, .n = n, .m = n,
			.count = 2,
			.uplo = is_upper ? 'U' : 'L', .a = operand(&a),
			.info = int_operand(&info, 1)};
		run(&task);
		get_ints(&info);
		ck_assert_int_eq(info.host[0], 0);
		ck_assert_int_eq(info.host[1], bad + 1);
		number *got = get(&a);
		for (int64_t i = 0; i < n * n; i++) {
			int64_t row = i % n, column = i / n;
			bool is_inside = is_upper ? row <= column : row >= column;
			number sum = 0, want = take(&a, a.host, 0, 'N', row, column);
			for (int64_t l = 0; l <= min64(row, column); l++) {
				sum += is_upper ? conj(*at(&a, got, 0, l, row)) * *at(&a, got, 0, l,
					column)
					: *at(&a, got, 0, row, l) * conj(*at(&a, got, 0, column,
						l));
			}
			near(type, is_inside ? 40 * (double)(n * n) : 0,
				is_inside ? sum : *at(&a, got, 0, row, column), want);
		}
		free(got);
		kz_array_release(info.array);
		drop(&r);
		drop(&a);
	}
}

/* Q R gives the matrix, and Q^H Q the unit matrix, for the complete Q and the reduced one. */
DEVICE_TEST(qr_gives_the_matrix)
{
	for (size_t round = 0; round < 8 * countof(shapes); round++) {
		if (!is_tried(_i, round, 8 * countof(shapes), 19, 7)) {
			continue;
		}
		enum linalg_type type = round % 4;
		bool is_complete = round / 4 % 2;
		int64_t m = shapes[round / 8].m, n = shapes[round / 8].n, least = min64(m, n);
		int64_t columns = is_complete ? m : least;
		struct matrices a = make(type, m, n, 2), q = make(type, m, columns, 2),
			tau = make(type, least, 1, 2);
		struct linalg_task task = {.op = LINALG_GEQRF, .type = type, .m = m, .n = n,
			.count = 2,
			.a = operand(&a), .b = operand(&tau)};
		run(&task);
		number *r = get(&a), *t = get(&tau);
		check_gaps(&a, r);
		check_gaps(&tau, t);
		free(t);
		for (int64_t i = 0; i < 2 * m * least; i++) {
			*at(&q, q.host, i / (m * least), i % m, i / m % least) =
				*at(&a, r, i / (m * least), i % m, i / m % least);
		}
		put(&q);
		task.op = LINALG_ORGQR;
		task.n = columns;
		task.k = least;
		task.a = operand(&q);
		run(&task);
		number *got = get(&q);
		check_gaps(&q, got);
		for (int64_t which = 0; which < 2; which++) {
			for (int64_t i = 0; i < m * n; i++) {
				number sum = 0;
				for (int64_t l = 0; l <= i / m && l < least; l++) {
					sum += *at(&q, got, which, i % m, l) * *at(&a, r, which, l,
						i / m);
				}
				near(type, 60 * (double)(m + n), sum,
					take(&a, a.host, which, 'N', i % m, i / m));
			}
			for (int64_t i = 0; i < columns * columns; i++) {
				number sum = 0;
				for (int64_t l = 0; l < m; l++) {
					sum += conj(*at(&q, got, which, l, i % columns))
						* *at(&q, got, which, l, i / columns);
				}
				near(type, 60 * (double)m, sum, i % columns == i / columns);
			}
		}
		free(r);
		free(got);
		drop(&a);
		drop(&q);
		drop(&tau);
	}
}

/* A column of NaN, of infinity, of zeros, and numbers whose squares are too large or too small. */
DEVICE_TEST(odd_numbers_end)
{
	static const double odd[5] = {NAN, INFINITY, 0, 1e30, 1e-30};
	enum { N = 40 };
	for (int round = 0; round < 20; round++) {
		if (!is_tried(_i, (size_t)round, 20, 17, 7)) {
			continue;
		}
		enum linalg_type type = round % 4;
		double x = odd[round / 4];
		struct matrices a = make(type, N, N, 1), tau = make(type, N, 1, 1);
		struct ints pivots = make_ints(N), info = make_ints(1);
		for (int64_t i = 0; i < N * N; i++) {
			number *of = at(&a, a.host, 0, i % N, i / N);
			*of = i / N == 2 ? (isfinite(x) && x != 0 ? *of * x : x) : *of;
		}
		put(&a);
		struct linalg_task task = {.op = LINALG_GETRF, .type = type, .m = N, .n = N,
			.count = 1,
			.a = operand(&a), .b = int_operand(&pivots, N),
			.info = int_operand(&info, 1)};
		run(&task);
		get_ints(&info);
		ck_assert_int_eq(info.host[0], x == 0 ? 3 : 0);
		put(&a);
		struct linalg_task qr = {.op = LINALG_GEQRF, .type = type, .m = N, .n = N,
			.count = 1,
			.a = operand(&a), .b = operand(&tau)};
		run(&qr);
		number *got = get(&a);
		number last = *at(&a, got, 0, 2, 2);
		ck_assert(isfinite(x) ? isfinite(creal(last)) : !isfinite(cabs(last)));
		ck_assert(x == 0 ? last == 0 : last != 0);
		free(got);
		kz_array_release(pivots.array);
		kz_array_release(info.array);
		drop(&a);
		drop(&tau);
	}
}

/* What our kernels do not do names the function, the package, and what was tried. */
DEVICE_TEST(what_nobody_does_is_refused)
{
	struct matrices a = make(LINALG_D, 4, 4, 1);
	struct linalg_task task = {.op = LINALG_GESDD, .type = LINALG_D, .m = 4, .n = 4, .count = 1,
		.job = 'N',
		.a = operand(&a)};
	struct linalg_device *math;
	ok(linalg_device_get(&math, dev, &err));
	ck_assert(linalg_has(math, LINALG_GETRF, LINALG_D));
	if (math->host) { // there is none: KUDZU_BLAS says so
		fails(linalg_run(dev, &task, kz_device_stream(dev), "svd", &err), KZ_UNSUPPORTED,
			"svd: a singular value decomposition needs LAPACK, but no library that has "
			"it was found");
		(void)linalg_run(dev, &task, kz_device_stream(dev), "svd", &err);
		ck_assert_msg(strstr(err.hint, "libopenblas0") && strstr(err.hint, "KUDZU_LAPACK"),
			"%s", err.hint);
		ck_assert_msg(err.log && strstr(err.log, "KUDZU_BLAS is set to none"), "%s",
			err.log);
		kz_error_clear(&err);
	}
	drop(&a);
}

static void *driver_symbol(const char *name)
{
	void *found = dl_symbol(dev->drv->object, name);
	ck_assert_msg(found, "%s", name);
	return found;
}

/* An LU factorization in a graph computes anew each time. */
DEVICE_TEST(a_factorization_can_be_captured)
{
	enum { N = 70 };
	struct matrices a = make(LINALG_D, N, N, 1);
	struct ints pivots = make_ints(N), info = make_ints(1);
	struct linalg_task task = {.op = LINALG_GETRF, .type = LINALG_D, .m = N, .n = N, .count = 1,
		.a = operand(&a), .b = int_operand(&pivots, N), .info = int_operand(&info, 1)};
	run(&task); // kernels are compiled
	number *want = get(&a);
	put(&a);
	ok(kz_stream_synchronize(kz_device_stream(dev), &err));
	struct device_scope scope;
	kz_stream *stream;
	CUgraph graph;
	CUgraphExec exec;
	CUresult (*make_exec)(CUgraphExec *, CUgraph, unsigned long long);
	CUresult (*launch)(CUgraphExec, CUstream), (*end)(CUgraphExec);
	void *found[3] = {driver_symbol("cuGraphInstantiateWithFlags"),
		driver_symbol("cuGraphLaunch"), driver_symbol("cuGraphExecDestroy")};
	memcpy(&make_exec, &found[0], sizeof(found[0]));
	memcpy(&launch, &found[1], sizeof(found[1]));
	memcpy(&end, &found[2], sizeof(found[2]));
	ok(device_enter(dev, &scope, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	CUstream handle = kz_stream_handle(stream);
	ok(linalg_run(dev, &task, stream, "own", &err));
	ok(kz_stream_synchronize(stream, &err));
	ck_assert_int_eq(dev->drv->StreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	ok(linalg_run(dev, &task, stream, "own", &err));
	ck_assert_int_eq(dev->drv->StreamEndCapture(handle, &graph), 0);
	ck_assert_int_eq(make_exec(&exec, graph, 0), 0);
	ck_assert_int_eq(dev->drv->GraphDestroy(graph), 0);
	for (int round = 0; round < 2; round++) {
		put(&a);
		ok(kz_stream_synchronize(kz_device_stream(dev), &err));
		ck_assert_int_eq(launch(exec, handle), 0);
		ok(kz_stream_synchronize(stream, &err));
		number *got = get(&a);
		ck_assert_mem_eq(got, want, (size_t)(a.next * 16));
		free(got);
	}
	ck_assert_int_eq(end(exec), 0);
	device_leave(dev, &scope);
	kz_stream_release(stream);
	free(want);
	kz_array_release(pivots.array);
	kz_array_release(info.array);
	drop(&a);
}

SUITE(own)
{
	Suite *suite = suite_create("own");
	TCase *tcase = suite_add_case(suite, "own");
	tcase_set_timeout(tcase, 120);
	tcase_add_tests(tcase, ways_count(), products_take_ops_alpha_and_beta,
		triangles_are_solved_from_both_sides, lu_gives_the_matrix, factors_solve_and_invert,
		a_singular_matrix_names_its_pivot, cholesky_gives_the_matrix_or_names_the_minor,
		qr_gives_the_matrix, odd_numbers_end, what_nobody_does_is_refused,
		a_factorization_can_be_captured);
	return suite;
}

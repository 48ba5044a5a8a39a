/* SPDX-License-Identifier: MIT */
/* What the provider of GPUs computes, compared with loops over host memory, and by the identities
 * that define the factors. */
#include "base/common.h"

#include "lib/linalg/cuda_test.h"

CUDA_TEST(products_of_all_transposes_and_batches)
{
	enum linalg_type type = (enum linalg_type)(which / 9);
	char op_a = "NTC"[which % 3], op_b = "NTC"[which / 3 % 3];
	enum { M = 5, N = 4, K = 6, LD = 7, NEXT = 50, COUNT = 3, ALL = COUNT * NEXT };
	number a[ALL], b[ALL], c[ALL], got[ALL], alpha = draw(type), beta = draw(type);
	draw_all(a, ALL, type);
	draw_all(b, ALL, type);
	draw_all(c, ALL, type);
	for (int count = 1; count <= COUNT; count += 2) {
		struct linalg_task task = {LINALG_GEMM, type, op_a, op_b, .m = M, .n = N, .k = K,
			.count = count, .alpha = {creal(alpha), cimag(alpha)},
			.beta = {creal(beta), cimag(beta)}, .a = put(type, a, ALL, LD, NEXT),
			.b = put(type, b, ALL, LD, count > 1 ? 0 : NEXT),
			.c = put(type, c, ALL, LD, NEXT)};
		run(&task);
		get(got, type, &task.c, ALL);
		for (int i = 0; i < ALL; i++) {
			int row = i % NEXT % LD, column = i % NEXT / LD, of = i / NEXT * NEXT;
			number want = c[i];
			if (row < M && column < N && i < count * NEXT) {
				want *= beta;
				for (int k = 0; k < K; k++) {
					want += alpha * at(a + of, LD, op_a, row, k)
						* at(b, LD, op_b, k, column);
				}
			}
			is_near(got[i], want, type);
		}
		end(&task);
	}
}

CUDA_TEST(triangular_solvers)
{
	enum linalg_type type = (enum linalg_type)which;
	enum { M = 5, N = 4, LD = 6, NEXT = 40, COUNT = 2, ALL = COUNT * NEXT };
	number a[ALL], b[ALL], x[ALL], alpha = 2;
	for (int round = 0; round < 24; round++) {
		bool left = round & 1, upper = round & 2, unit = round & 4;
		char op = "NTC"[round / 8];
		int n = left ? M : N;
		draw_all(a, ALL, type);
		draw_all(b, ALL, type);
		for (int i = 0; i < ALL; i++) {
			a[i] += i % NEXT % LD == i % NEXT / LD ? 3 : 0;
		}
		struct linalg_task task = {LINALG_TRSM, type, op, .side = left ? 'L' : 'R',
			.uplo = upper ? 'U' : 'L', .diag = unit ? 'U' : 'N', .m = M, .n = N,
			.count = COUNT, .alpha = {creal(alpha)}, .a = put(type, a, ALL, LD, NEXT),
			.b = put(type, b, ALL, LD, NEXT)};
		run(&task);
		get(x, type, &task.b, ALL);
		for (int i = 0; i < COUNT; i++) {
			number triangle[LD * LD] = {0}, want[NEXT];
			for (int k = 0; k < n * LD; k++) {
				int row = k % LD, column = k / LD;
				bool is_in = row == column || (row < column) == upper;
				triangle[k] = row < n && is_in ? a[i * NEXT + k] : 0;
				triangle[k] = unit && row == column ? 1 : triangle[k];
			}
			for (int k = 0; k < NEXT; k++) {
				want[k] = alpha * b[i * NEXT + k];
			}
			if (left) {
				check_product(type, M, N, M, triangle, LD, op, x + i * NEXT, LD,
					'N', want, LD);
			} else {
				check_product(type, M, N, N, x + i * NEXT, LD, 'N', triangle, LD,
					op, want, LD);
			}
		}
		end(&task);
	}
}

/* Three matrices, of which the second is singular: its third column is 0. */
CUDA_TEST(lu_solves_and_inverts)
{
	enum linalg_type type = (enum linalg_type)which;
	enum { N = 7, K = 3, LD = 9, NEXT = 70, COUNT = 3, ALL = COUNT * NEXT };
	number a[ALL], b[ALL], x[ALL], identity[NEXT];
	int32_t info[COUNT];
	draw_all(a, ALL, type);
	draw_all(b, ALL, type);
	make_identity(identity, N, LD);
	memset(a + NEXT + 2 * LD, 0, LD * sizeof(*a));
	struct linalg_task factor = {LINALG_GETRF, type, .m = N, .n = N, .count = COUNT,
		.a = put(type, a, ALL, LD, NEXT), .b = put_nothing(LINALG_S, COUNT * N, 0, N),
		.info = put_nothing(LINALG_S, COUNT, 0, 1)};
	run(&factor);
	get_bytes(info, &factor.info, sizeof(info));
	ck_assert_int_eq(info[0], 0);
	ck_assert_int_eq(info[1], 3);
	ck_assert_int_eq(info[2], 0);
	for (int op = 0; op < 3; op++) {
		struct linalg_task solve = {LINALG_GETRS, type, "NTC"[op], .n = N, .k = K,
			.count = COUNT,
			.a = factor.a, .b = factor.b, .c = put(type, b, ALL, LD, NEXT)};
		run(&solve);
		get(x, type, &solve.c, ALL);
		for (int i = 0; i < COUNT; i += 2) {
			check_product(type, N, K, N, a + i * NEXT, LD, "NTC"[op], x + i * NEXT, LD,
				'N', b + i * NEXT, LD);
		}
		memory_release(solve.c.memory);
	}
	struct linalg_task invert = {LINALG_GETRI, type, .n = N, .count = COUNT, .a = factor.a,
		.b = factor.b, .c = put(type, b, ALL, LD, NEXT), .info = factor.info};
	run(&invert);
	get_bytes(info, &factor.info, sizeof(info));
	ck_assert_int_eq(info[0], 0);
	ck_assert_int_eq(info[1], 3);
	get(x, type, &invert.c, ALL);
	for (int i = 0; i < COUNT; i += 2) {
		check_product(type, N, N, N, a + i * NEXT, LD, 'N', x + i * NEXT, LD, 'N', identity,
			LD);
	}
	memory_release(invert.c.memory);
	end(&factor);
}

CUDA_TEST(cholesky_names_the_minor)
{
	enum linalg_type type = (enum linalg_type)which;
	enum { N = 6, LD = 8, NEXT = 50, COUNT = 2, ALL = COUNT * NEXT };
	number a[ALL] = {0}, root[NEXT], got[ALL];
	int32_t info[COUNT];
	for (int upper = 0; upper < 2; upper++) {
		draw_all(root, NEXT, type);
		for (int i = 0; i < N * N; i++) {
			int row = i % N, column = i / N;
			number sum = row == column ? N : 0;
			for (int k = 0; k < N; k++) {
				sum += root[k * LD + row] * conj(root[k * LD + column]);
			}
			a[column * LD + row] = a[NEXT + column * LD + row] = sum;
		}
		a[NEXT + 3 * LD + 3] = -1;
		struct linalg_task task = {LINALG_POTRF, type, .uplo = upper ? 'U' : 'L', .n = N,
			.count = COUNT, .a = put(type, a, ALL, LD, NEXT),
			.info = put_nothing(LINALG_S, COUNT, 0, 1)};
		run(&task);
		get(got, type, &task.a, ALL);
		get_bytes(info, &task.info, sizeof(info));
		ck_assert_int_eq(info[0], 0);
		ck_assert_int_eq(info[1], 4);
		for (int i = 0; i < N * LD; i++) {
			int row = i % LD, column = i / LD;
			got[i] = row < N && (row == column || (row < column) == upper) ? got[i] : 0;
		}
		check_product(type, N, N, N, got, LD, upper ? 'C' : 'N', got, LD, upper ? 'N' : 'C',
			a, LD);
		end(&task);
	}
}

CUDA_TEST(qr_gives_an_orthogonal_factor)
{
	enum linalg_type type = (enum linalg_type)which;
	enum { M = 7, N = 4, LD = 8, NEXT = 60, COUNT = 2, ALL = COUNT * NEXT };
	number a[ALL], r[ALL], q[ALL], identity[NEXT];
	draw_all(a, ALL, type);
	make_identity(identity, N, LD);
	struct linalg_task factor = {LINALG_GEQRF, type, .m = M, .n = N, .count = COUNT,
		.a = put(type, a, ALL, LD, NEXT), .b = put_nothing(type, COUNT * N, 0, N)};
	run(&factor);
	get(r, type, &factor.a, ALL);
	struct linalg_task make = factor;
	make.op = LINALG_ORGQR;
	make.k = N;
	run(&make);
	get(q, type, &make.a, ALL);
	for (int i = 0; i < COUNT; i++) {
		for (int k = 0; k < N * LD; k++) {
			r[i * NEXT + k] = k % LD <= k / LD ? r[i * NEXT + k] : 0;
		}
		check_product(type, N, N, M, q + i * NEXT, LD, 'C', q + i * NEXT, LD, 'N', identity,
			LD);
		check_product(type, M, N, N, q + i * NEXT, LD, 'N', r + i * NEXT, LD, 'N',
			a + i * NEXT, LD);
	}
	end(&factor);
}

/* Tall, square and wide; all vectors, few, none. */
CUDA_TEST(singular_values_of_every_shape)
{
	enum linalg_type type = (enum linalg_type)which;
	enum { LD = 9, NEXT = 90, COUNT = 2, ALL = COUNT * NEXT };
	static const int shapes[3][2] = {{8, 5}, {6, 6}, {5, 8}};
	number a[ALL], s[COUNT * LD], first[COUNT * LD], u[ALL], v[ALL], scaled[NEXT],
		identity[NEXT];
	for (int round = 0; round < 9; round++) {
		int m = shapes[round / 3][0], n = shapes[round / 3][1], least = m < n ? m : n;
		char job = "ASN"[round % 3];
		int columns = job == 'A' ? m : least, rows = job == 'A' ? n : least;
		state = (uint32_t)round / 3 + 5;
		draw_all(a, ALL, type);
		struct linalg_task task = {LINALG_GESDD, type, .job = job, .m = m, .n = n,
			.count = COUNT,
			.a = put(type, a, ALL, LD, NEXT),
			.b = put_nothing(real_of(type), COUNT * LD, 0, LD)};
		if (job != 'N') {
			task.c = put_nothing(type, ALL, LD, NEXT);
			task.d = put_nothing(type, ALL, LD, NEXT);
		}
		run(&task);
		get(s, real_of(type), &task.b, COUNT * LD);
		for (int i = 0; i < COUNT * LD && job == 'A'; i++) {
			first[i] = s[i];
		}
		for (int i = 0; i < COUNT; i++) {
			for (int k = 0; k < least; k++) {
				is_near(s[i * LD + k], first[i * LD + k], type);
				ck_assert(k == 0
					|| creal(s[i * LD + k]) <= creal(s[i * LD + k - 1]));
			}
		}
		if (job != 'N') {
			get(u, type, &task.c, ALL);
			get(v, type, &task.d, ALL);
		}
		for (int i = 0; i < COUNT && job != 'N'; i++) {
			for (int k = 0; k < least * LD; k++) {
				scaled[k] = u[i * NEXT + k] * s[i * LD + k / LD];
			}
			check_product(type, m, n, least, scaled, LD, 'N', v + i * NEXT, LD, 'N',
				a + i * NEXT, LD);
			make_identity(identity, LD, LD);
			check_product(type, columns, columns, m, u + i * NEXT, LD, 'C',
				u + i * NEXT, LD, 'N', identity, LD);
			check_product(type, rows, rows, n, v + i * NEXT, LD, 'N', v + i * NEXT, LD,
				'C', identity, LD);
		}
		end(&task);
	}
}

CUDA_TEST(eigenvalues_of_symmetric_matrices)
{
	enum linalg_type type = (enum linalg_type)which;
	enum { N = 6, LD = 8, NEXT = 50, COUNT = 2, ALL = COUNT * NEXT };
	number a[ALL], v[ALL], w[COUNT * N], first[COUNT * N], scaled[NEXT];
	for (int round = 0; round < 4; round++) {
		state = 9;
		draw_all(a, ALL, type);
		for (int i = 0; i < COUNT * N * N; i++) {
			number *of = a + i / (N * N) * NEXT;
			int row = i % N, column = i / N % N;
			of[column * LD + row] = row == column ? creal(of[column * LD + row])
				: row > column ? conj(of[row * LD + column])
				: of[column * LD + row];
		}
		struct linalg_task task = {LINALG_SYEVD, type, .job = round & 1 ? 'N' : 'V',
			.uplo = round & 2 ? 'U' : 'L', .n = N, .count = COUNT,
			.a = put(type, a, ALL, LD, NEXT),
			.b = put_nothing(real_of(type), COUNT * N, 0, N)};
		run(&task);
		get(w, real_of(type), &task.b, COUNT * N);
		get(v, type, &task.a, ALL);
		for (int i = 0; i < COUNT; i++) {
			for (int k = 0; k < N; k++) {
				first[i * N + k] = round ? first[i * N + k] : w[i * N + k];
				is_near(w[i * N + k], first[i * N + k], type);
			}
			for (int k = 0; k < N * LD; k++) {
				scaled[k] = v[i * NEXT + k] * w[i * N + k / LD];
			}
			if (!(round & 1)) {
				check_product(type, N, N, N, a + i * NEXT, LD, 'N', v + i * NEXT,
					LD, 'N', scaled, LD);
			}
		}
		end(&task);
	}
}

CUDA_TEST(eigenvalues_of_any_matrices)
{
	enum linalg_type type = (enum linalg_type)which;
	enum { N = 6, LD = 8, NEXT = 50, COUNT = 2, ALL = COUNT * NEXT };
	number a[ALL], v[ALL], w[COUNT * N], first[COUNT * N], scaled[NEXT];
	bool has_complex = false;
	draw_all(a, ALL, type);
	for (int round = 0; round < 2; round++) {
		struct linalg_task task = {LINALG_GEEV, type, .job = "VN"[round], .n = N,
			.count = COUNT,
			.a = put(type, a, ALL, LD, NEXT),
			.b = put_nothing(complex_of(type), COUNT * N, 0, N),
			.info = put_nothing(LINALG_S, COUNT, 0, 1)};
		if (round == 0) {
			task.c = put_nothing(complex_of(type), ALL, LD, NEXT);
		}
		run(&task);
		get(w, complex_of(type), &task.b, COUNT * N);
		for (int i = 0; i < COUNT * N; i++) {
			first[i] = round ? first[i] : w[i];
			has_complex |= fabs(cimag(w[i])) > 0.01;
			is_near(w[i], first[i], type);
		}
		if (round == 0) {
			get(v, complex_of(type), &task.c, ALL);
		}
		for (int i = 0; i < COUNT && round == 0; i++) {
			for (int k = 0; k < N * LD; k++) {
				scaled[k] = v[i * NEXT + k] * w[i * N + k / LD];
			}
			check_product(type, N, N, N, a + i * NEXT, LD, 'N', v + i * NEXT, LD, 'N',
				scaled, LD);
			ck_assert_double_gt(cabs(v[i * NEXT]), 0);
		}
		end(&task);
	}
	ck_assert(has_complex); // else the vectors' pairs were not tried
}

/* Products of halves are rounded once: 2048 + 1 + 1 is 2050 in float32, and 2048 in float16. */
CUDA_TEST(halves_are_summed_in_float32)
{
	kz_dtype dtype = which ? KZ_BF16 : KZ_F16;
	double big = which ? 256 : 2048, x[3] = {big, 1, 1}, sum;
	kz_array *doubles, *row, *ones, *product, *back;
	ok(kz_array_from(&doubles, dev, KZ_F64, KZ_SHAPE(1, 3), x, sizeof(x), &err));
	ok(kz_array_astype(&row, doubles, dtype, &err));
	ok(kz_array_zeros(&ones, dev, dtype, KZ_SHAPE(3, 1), &err));
	ok(kz_array_fill(ones, KZ_ARG(1), &err));
	ok(kz_matmul(&product, row, ones, NULL, &err));
	ck_assert_uint_eq(kz_array_dtype(product), dtype);
	ok(kz_array_astype(&back, product, KZ_F64, &err));
	ok(kz_array_get(back, &sum, sizeof(sum), &err));
	ck_assert_double_eq(sum, big + 2);
	/* That it went to the library: */
	setenv("CUBLAS_STUB_FAIL", "cublasGemmEx:15", 1);
	if (handles) {
		kz_array *failed;
		fails(kz_matmul(&failed, row, ones, NULL, &err), KZ_UNSUPPORTED,
			"cuBLAS does not support");
	}
	unsetenv("CUBLAS_STUB_FAIL");
	release_arrays(doubles, row, ones, product, back);
}

/* Batches of halves, of small integers whose products and sums are exact. */
CUDA_TEST(batches_of_halves)
{
	enum { COUNT = 3, M = 4, N = 5, K = 6 };
	kz_dtype dtype = which ? KZ_BF16 : KZ_F16;
	double a[COUNT * M * K], b[COUNT * K * N], c[COUNT * M * N];
	kz_array *doubles[2], *x, *y, *product, *back;
	for (int i = 0; i < COUNT * K * N; i++) {
		b[i] = (int)(5 * creal(draw(LINALG_D)));
	}
	for (int i = 0; i < COUNT * M * K; i++) {
		a[i] = (int)(5 * creal(draw(LINALG_D)));
	}
	ok(kz_array_from(&doubles[0], dev, KZ_F64, KZ_SHAPE(COUNT, M, K), a, sizeof(a), &err));
	ok(kz_array_from(&doubles[1], dev, KZ_F64, KZ_SHAPE(COUNT, K, N), b, sizeof(b), &err));
	ok(kz_array_astype(&x, doubles[0], dtype, &err));
	ok(kz_array_astype(&y, doubles[1], dtype, &err));
	ok(kz_matmul(&product, x, y, NULL, &err));
	ok(kz_array_astype(&back, product, KZ_F64, &err));
	ok(kz_array_get(back, c, sizeof(c), &err));
	for (int i = 0; i < COUNT * M * N; i++) {
		double sum = 0;
		for (int k = 0; k < K; k++) {
			sum += a[i / N * K + k] * b[i / (M * N) * K * N + k * N + i % N];
		}
		ck_assert_double_eq(c[i], sum);
	}
	release_arrays(doubles[0], doubles[1], x, y, product, back);
}

SUITE(cuda_ops)
{
	Suite *suite = suite_create("cuda_ops");
	TCase *tcase = suite_add_case(suite, "cuda_ops");
	int devices = support_device_count();
	tcase_add_tests(tcase, 9 * LINALG_TYPES * devices, products_of_all_transposes_and_batches);
	tcase_add_tests(tcase, LINALG_TYPES * devices, triangular_solvers, lu_solves_and_inverts,
		cholesky_names_the_minor, qr_gives_an_orthogonal_factor,
		singular_values_of_every_shape, eigenvalues_of_symmetric_matrices,
		eigenvalues_of_any_matrices);
	tcase_add_tests(tcase, 2 * devices, halves_are_summed_in_float32, batches_of_halves);
	return suite;
}

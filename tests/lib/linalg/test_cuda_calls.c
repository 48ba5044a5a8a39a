/* SPDX-License-Identifier: MIT */
/* How the provider of GPUs calls its libraries: failures, codes, streams, captures, no library; and
 * the functions above it. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/cuda/codes.h"
#include "lib/linalg/cuda_test.h"

/* The smallest task of an operation. */
static struct linalg_task small_task(enum linalg_op op, bool is_wide)
{
	const number two[4] = {2, 0, 0, 2};
	const int32_t pivots[2] = {1, 2};
	struct linalg_task task = {op, LINALG_D, 'N', 'N', 'L', 'L', 'N',
		op == LINALG_GESDD ? 'S' : 'V',
		.m = is_wide ? 1 : 2, .n = 2, .k = 2, .count = 1, .alpha = {1},
		.a = put(LINALG_D, two, 4, 2, 4), .b = op == LINALG_GETRS || op == LINALG_GETRI
			? put_bytes(pivots, sizeof(pivots), 0, 2) : put(LINALG_D, two, 4, 2, 4),
		.c = put_nothing(LINALG_Z, 4, 2, 4), .d = put_nothing(LINALG_Z, 4, 2, 4),
		.info = put_nothing(LINALG_D, 2, 2, 2)};
	return task;
}

static const struct {
	const char *function;
	enum linalg_op op;
} cuda_failures[] = {
	{"cublasCreate", LINALG_GEMM}, {"cublasSetMathMode", LINALG_GEMM},
	{"cublasSetStream", LINALG_GEMM},
	{"cublasGemmEx", LINALG_GEMM}, {"cublastrsm", LINALG_TRSM}, {"cublasgeam", LINALG_GESDD},
	{"cusolverDnCreate", LINALG_POTRF}, {"cusolverDnSetStream", LINALG_POTRF},
	{"cusolverDnCreateParams", LINALG_GEEV}, {"cusolverDngetrf_bufferSize", LINALG_GETRF},
	{"cusolverDngetrf", LINALG_GETRF}, {"cusolverDngetrs", LINALG_GETRS},
	{"cusolverDngetrs", LINALG_GETRI}, {"cusolverDnpotrf_bufferSize", LINALG_POTRF},
	{"cusolverDnpotrf", LINALG_POTRF}, {"cusolverDngeqrf_bufferSize", LINALG_GEQRF},
	{"cusolverDngeqrf", LINALG_GEQRF}, {"cusolverDnorgqr_bufferSize", LINALG_ORGQR},
	{"cusolverDnorgqr", LINALG_ORGQR}, {"cusolverDngesvd_bufferSize", LINALG_GESDD},
	{"cusolverDngesvd", LINALG_GESDD}, {"cusolverDnsyevd_bufferSize", LINALG_SYEVD},
	{"cusolverDnsyevd", LINALG_SYEVD}, {"cusolverDnXgeev_bufferSize", LINALG_GEEV},
	{"cusolverDnXgeev", LINALG_GEEV},
};

CUBLAS_STUB_TEST(each_call_that_fails_is_an_error_value)
{
	char script[64];
	struct linalg_task task = small_task(cuda_failures[which].op,
		strcmp(cuda_failures[which].function, "cublasgeam") == 0);
	bool is_blas = strncmp(cuda_failures[which].function, "cublas", 6) == 0;
	snprintf(script, sizeof(script), "%s:3", cuda_failures[which].function);
	setenv("CUBLAS_STUB_FAIL", script, 1);
	fails(linalg_run(dev, &task, kz_device_stream(dev), "test", &err),
		is_blas ? KZ_DEVICE_MEMORY : KZ_INVALID,
		is_blas ? "cuBLAS got no memory" : "invalid argument value");
	unsetenv("CUBLAS_STUB_FAIL");
	run(&task);
	end(&task);
}

/* Every code of the tables, by one call of each library. */
CUBLAS_STUB_TEST(each_code_is_translated)
{
	for (int i = 0; i < 2; i++) {
		kz_domain domain = i ? KZ_DOMAIN_CUSOLVER : KZ_DOMAIN_CUBLAS;
		struct linalg_task task = small_task(i ? LINALG_POTRF : LINALG_GEMM, false);
		int tried = 0;
		for (int code = 1; code < 40; code++) {
			const struct native_code *known = codes_find(domain, code);
			char script[64];
			snprintf(script, sizeof(script), "%s:%d",
				i ? "cusolverDnpotrf" : "cublasGemmEx", code);
			setenv("CUBLAS_STUB_FAIL", script, 1);
			kz_status st = linalg_run(dev, &task, kz_device_stream(dev), "test", &err);
			// by our own kernels
			bool is_done = known && known->status == KZ_UNSUPPORTED;
			ck_assert_int_eq(st, is_done ? KZ_OK : known ? known->status : KZ_UNKNOWN);
			ck_assert_int_eq(err.domain, is_done ? 0 : domain);
			ck_assert_int_eq(err.code, is_done ? 0 : code);
			kz_error_clear(&err);
			tried += known != NULL;
		}
		ck_assert_int_eq(tried, codes_count(domain) - 1);
		end(&task);
	}
}

/* The handles, the work space, the host's part of it. */
CUBLAS_STUB_TEST(a_failing_allocation_leaves_nothing_behind)
{
	struct linalg_task task = small_task((enum linalg_op)which, which == LINALG_GESDD);
	bool done = false;
	run(&task); // kernels are compiled
	cuda_ops_end(math);
	for (long n = 0; !done; n++) {
		mem_fail_after(n);
		kz_status st = math->cuda ? KZ_OK : cuda_ops_fill(math, &err);
		st = st ? st : linalg_run(dev, &task, kz_device_stream(dev), "test", &err);
		done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(st == KZ_OK || (!done && st == KZ_NO_MEMORY));
		kz_error_clear(&err);
	}
	end(&task);
}

/* Work of two streams that share a handle, and pieces of the pool: none waits for the other. */
CUDA_TEST(streams_do_not_disturb_each_other)
{
	enum { N = 12, ROUNDS = 40, ALL = N * N };
	number a[2][ALL], got[ALL];
	struct linalg_task tasks[2][ROUNDS];
	kz_stream *streams[2];
	for (int s = 0; s < 2; s++) {
		ok(kz_stream_create(&streams[s], dev, 0, &err));
		draw_all(a[s], ALL, LINALG_D);
		for (int r = 0; r < ROUNDS; r++) {
			tasks[s][r] = (struct linalg_task){LINALG_GEQRF, LINALG_D, .m = N, .n = N,
				.count = 1,
				.a = put(LINALG_D, a[s], ALL, N, ALL),
				.b = put_nothing(LINALG_D, N, 0, N)};
		}
	}
	for (int r = 0; r < 2 * ROUNDS; r++) {
		ok(linalg_run(dev, &tasks[r % 2][r / 2], streams[r % 2], "test", &err));
		tasks[r % 2][r / 2].op = LINALG_ORGQR;
		tasks[r % 2][r / 2].k = N;
		ok(linalg_run(dev, &tasks[r % 2][r / 2], streams[r % 2], "test", &err));
	}
	number identity[ALL];
	make_identity(identity, N, N);
	for (int r = 0; r < 2 * ROUNDS; r++) {
		get(got, LINALG_D, &tasks[r % 2][r / 2].a, ALL);
		check_product(LINALG_D, N, N, N, got, N, 'C', got, N, 'N', identity, N);
		end(&tasks[r % 2][r / 2]);
	}
	kz_stream_release(streams[0]);
	kz_stream_release(streams[1]);
}

/* cuBLAS can be captured once it has its handle; cuSOLVER cannot. */
CUBLAS_STUB_TEST(capturing_works_or_fails_cleanly)
{
	struct linalg_task product = small_task(LINALG_GEMM, false),
		factor = small_task(LINALG_GETRF, false);
	struct memory *const used[] = {product.a.memory, product.b.memory,
		product.c.memory, product.d.memory, product.info.memory, factor.a.memory,
		factor.b.memory, factor.c.memory, factor.d.memory, factor.info.memory};
	struct device_scope scope;
	kz_stream *stream;
	CUgraph graph;
	ok(device_enter(dev, &scope, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	CUstream handle = kz_stream_handle(stream);
	for (size_t i = 0; i < countof(used); i++) {
		ok(memory_use(used[i], stream, &err));
	}
	ok(kz_stream_synchronize(stream, &err));
	ck_assert_int_eq(dev->drv->StreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	fails(linalg_run(dev, &product, stream, "test", &err), KZ_STATE,
		"cuBLAS is first used in a captured stream");
	fails(linalg_run(dev, &factor, stream, "test", &err), KZ_STATE, "cannot be captured");
	ck_assert_int_eq(dev->drv->StreamEndCapture(handle, &graph), 0);
	ck_assert_int_eq(dev->drv->GraphDestroy(graph), 0);
	ok(linalg_run(dev, &product, stream, "test", &err));
	ok(kz_stream_synchronize(stream, &err));
	ck_assert_int_eq(dev->drv->StreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	ok(linalg_run(dev, &product, stream, "test", &err));
	ck_assert_int_eq(dev->drv->StreamEndCapture(handle, &graph), 0);
	ck_assert_int_eq(dev->drv->GraphDestroy(graph), 0);
	device_leave(dev, &scope);
	kz_stream_release(stream);
	end(&product);
	end(&factor);
}

CUDA_TEST(extents_beyond_a_library_are_refused)
{
	struct linalg_task task = small_task(LINALG_POTRF, false);
	task.a.ld = INT64_C(1) << 31;
	fails(linalg_run(dev, &task, kz_device_stream(dev), "test", &err), KZ_RANGE, "below 2^31");
	end(&task);
}

/* kz_solve and kz_inv, whose functions are tested elsewhere, with this provider. */
CUDA_TEST(solvers_above_work_on_it)
{
	const double a[9] = {2, 1, 0, 1, 3, 1, 0, 1, 4}, b[3] = {4, 10, 14}, x[3] = {1, 2, 3};
	const double flat[4] = {1, 2, 2, 4};
	double got[9], back[9];
	kz_array *matrix, *right, *solution, *inverse, *again, *singular, *none = NULL;
	ok(kz_array_from(&matrix, dev, KZ_F64, KZ_SHAPE(3, 3), a, sizeof(a), &err));
	ok(kz_array_from(&right, dev, KZ_F64, KZ_SHAPE(3), b, sizeof(b), &err));
	ok(kz_array_from(&singular, dev, KZ_F64, KZ_SHAPE(2, 2), flat, sizeof(flat), &err));
	ok(kz_solve(&solution, matrix, right, NULL, &err));
	ok(kz_array_get(solution, got, 3 * sizeof(double), &err));
	for (int i = 0; i < 3; i++) {
		ck_assert_double_eq_tol(got[i], x[i], 1e-12);
	}
	ok(kz_inv(&inverse, matrix, NULL, &err));
	ok(kz_inv(&again, inverse, NULL, &err));
	ok(kz_array_get(again, back, sizeof(back), &err));
	for (int i = 0; i < 9; i++) {
		ck_assert_double_eq_tol(back[i], a[i], 1e-12);
	}
	ck_assert_int_eq(kz_inv(&none, singular, NULL, &err), KZ_NUMERIC);
	ck_assert_ptr_null(none);
	kz_error_clear(&err);
	release_arrays(matrix, right, solution, inverse, again, singular);
}

/* Products of stacks whose matrices lie in any order, each (2, 3, 4, 4) with these steps along the
 * first two axes, times 16 elements. */
CUDA_TEST(stacks_in_any_order_are_multiplied)
{
	static const int steps[][2] = {{3, 1}, {3, -1}, {-3, 1}, {-3, -1}, {0, -1}, {-1, 0},
		{-3, 0}, {0, 1}};
	static const kz_dtype dtypes[] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128, KZ_F16};
	enum { N = 4, BASE = 16 * N * N };
	kz_dtype dtype = dtypes[which / 8];
	double host[BASE], numbers[2][6][N * N];
	kz_array *base, *view[2], *out = NULL, *into;
	for (int i = 0; i < BASE; i++) {
		host[i] = (i * 7 + i / 5) % 9 - 4;
	}
	base = support_array_of(dev, dtype, host, BASE);
	for (int other = 0; other < 8; other++) {
		const int *all[2] = {steps[which % 8], steps[other]};
		for (int k = 0; k < 2; k++) {
			int64_t size = kz_dtype_size(dtype), strides[4] = {16 * all[k][0] * size,
				16 * all[k][1] * size, N * size, size}, first = 16 * 5 * size;
			ok(kz_array_view(&view[k], base, KZ_SHAPE(2, 3, N, N), strides, first,
				&err));
			for (int i = 0; i < 6 * N * N; i++) {
				int at = 16 * (5 + i / 48 * all[k][0] + i / 16 % 3 * all[k][1])
					+ i % 16;
				numbers[k][i / 16][i % 16] = host[at];
			}
		}
		ok(kz_matmul(&out, view[0], view[1], NULL, &err));
		double complex *got = support_read(out, KZ_C128);
		for (int i = 0; i < 6 * N * N; i++) {
			double want = 0;
			for (int l = 0; l < N; l++) {
				want += numbers[0][i / 16][i % 16 / N * N + l]
					* numbers[1][i / 16][l * N + i % N];
			}
			ck_assert(got[i] == want);
		}
		/* The same, written to matrices in descending order. */
		ok(kz_array_flip(&into, out, KZ_AXES(0, 1), &err));
		ok(kz_gemm(into, KZ_ARG(1), view[0], KZ_MATRIX_AS_IS, view[1], KZ_MATRIX_AS_IS,
			KZ_ARG(0), NULL, &err));
		double complex *again = support_read(into, KZ_C128);
		ck_assert_mem_eq(again, got, 6 * N * N * sizeof(*got));
		free(got);
		free(again);
		release_arrays(view[0], view[1], out, into);
	}
	kz_array_release(base);
}

/* What cuBLAS does not support is done all the same. */
CUBLAS_STUB_TEST(own_kernels_do_what_a_library_refuses)
{
	const double a[4] = {4, 1, 1, 3};
	kz_array *matrix, *out;
	double got[4];
	setenv("CUBLAS_STUB_FAIL", which ? "cusolverDnpotrf:9" : "cublasGemmEx:15", 1);
	ok(kz_array_from(&matrix, dev, KZ_F64, KZ_SHAPE(2, 2), a, sizeof(a), &err));
	ok(which ? kz_cholesky(&out, matrix, KZ_LOWER, NULL, &err)
		: kz_matmul(&out, matrix, matrix, NULL, &err));
	ok(kz_array_get(out, got, sizeof(got), &err));
	unsetenv("CUBLAS_STUB_FAIL");
	ck_assert_int_eq(err.status, KZ_OK);
	ck_assert(which ? got[0] == 2 && got[2] == 0.5 : got[0] == 17 && got[3] == 10);
	release_arrays(matrix, out);
}

/* Fetch float64 or complex128 and release it. */
static void take(number *out, kz_array *array)
{
	double host[2 * MOST];
	int64_t count = kz_array_count(array), parts = kz_array_dtype(array) == KZ_C128 ? 2 : 1;
	ck_assert_int_le(count, MOST);
	ok(kz_array_get(array, host, count * parts * 8, &err));
	for (int64_t i = 0; i < count; i++) {
		out[i] = host[parts * i] + (parts == 2 ? host[2 * i + 1] * I : 0);
	}
	kz_array_release(array);
}

static const kz_dtype call_dtypes[] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128};

/* Whether an array, which is released, has a NaN. */
static bool take_nan(kz_array *array)
{
	int64_t count = kz_array_count(array);
	double complex *got = support_read(array, KZ_C128);
	bool has = false;
	for (int64_t i = 0; i < count; i++) {
		has |= isnan(creal(got[i])) || isnan(cimag(got[i]));
	}
	free(got);
	kz_array_release(array);
	return has;
}

/* cuSOLVER loses it. */
CUDA_TEST(a_nan_in_a_matrix_reaches_the_results)
{
	enum { N = 5 };
	for (int place = 0; place < N * N; place++) {
		if (!support_is_tried(which * N * N + place, 4 * N * N, 11, 5)) {
			continue;
		}
		double a[2 * N * N];
		kz_array *array, *out, *sign, *p, *l, *u;
		for (int i = 0; i < 2 * N * N; i++) {
			a[i] = (i * 7 + i / 3) % 11 - 5 + (i % (N + 1) == 0 ? 9 : 0);
		}
		a[place] = (double)NAN;
		array = support_array_of(dev, call_dtypes[which], a, N * N);
		ok(kz_array_reshape_view(&p, array, KZ_SHAPE(N, N), &err));
		kz_array_release(array);
		array = p;
		ok(kz_det(&out, array, NULL, &err));
		ck_assert(take_nan(out));
		ok(kz_slogdet(&sign, &out, array, NULL, &err));
		ck_assert(take_nan(sign));
		ck_assert(take_nan(out));
		ok(kz_inv(&out, array, NULL, &err));
		ck_assert(take_nan(out));
		ok(kz_solve(&out, array, array, NULL, &err));
		ck_assert(take_nan(out));
		ok(kz_lu(&p, &l, &u, array, NULL, &err));
		bool has_nan = take_nan(l);
		ck_assert(take_nan(u) || has_nan);
		ok(kz_cond(&out, array, KZ_NORM_P, 1, NULL, &err));
		ck_assert(take_nan(out));
		release_arrays(array, p);
	}
}

CUDA_TEST(pivots_may_have_no_reciprocal)
{
	bool is_single = which % 2 == 0;
	double tiny = is_single ? 0x1p-140 : 1e-309, large = is_single ? 0x1p127 : 1e308;
	const double a[8] = {tiny, 0, 0, large, 2, 1, 1, 3}, b[4] = {tiny, large, 5, 10};
	const double want[4] = {1, 1, 1, 3};
	number got[4];
	kz_array *flat = support_array_of(dev, call_dtypes[which], a, 8), *array, *vectors, *right,
		*out;
	ok(kz_array_reshape_view(&array, flat, KZ_SHAPE(2, 2, 2), &err));
	vectors = support_array_of(dev, call_dtypes[which], b, 4);
	ok(kz_array_reshape_view(&right, vectors, KZ_SHAPE(2, 2, 1), &err));
	ok(kz_det(&out, array, NULL, &err));
	double complex *det = support_read(out, KZ_C128);
	ck_assert(cabs(det[0] / (tiny * large) - 1) < 1e-6 && cabs(det[1] - 5) < 1e-6);
	free(det);
	kz_array_release(out);
	ok(kz_solve(&out, array, right, NULL, &err));
	double complex *solved = support_read(out, KZ_C128);
	memcpy(got, solved, sizeof(got));
	free(solved);
	for (int i = 0; i < 4; i++) {
		ck_assert(cabs(got[i] - want[i]) < 1e-6);
	}
	kz_array_release(out);
	ok(kz_solve_triangular(&out, array, right, KZ_UPPER, KZ_MATRIX_AS_IS, 0, NULL, &err));
	ck_assert(!take_nan(out));
	release_arrays(flat, array, vectors, right);
}

/* numpy.linalg.cond's: a matrix, one whose second pivot is 0, and zeros. */
CUDA_TEST(singular_matrices_have_condition_numbers)
{
	static const double a[27] = {1, 0, -1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	static const struct {
		kz_norm_kind kind;
		double p, want;
	} norms[] = {{KZ_NORM_FROBENIUS, 0, 3.1622776601683795},
		{KZ_NORM_NUCLEAR, 0, 9.242640687119286},
		{KZ_NORM_P, 1, 2}, {KZ_NORM_P, -1, 1}, {KZ_NORM_P, (double)INFINITY, 2}};
	kz_array *flat = support_array_of(dev, call_dtypes[which], a, 27), *array, *out;
	ok(kz_array_reshape_view(&array, flat, KZ_SHAPE(3, 3, 3), &err));
	for (size_t i = 0; i < countof(norms); i++) {
		ok(kz_cond(&out, array, norms[i].kind, norms[i].p, NULL, &err));
		double *got = support_read(out, KZ_F64);
		ck_assert_double_eq_tol(got[0], norms[i].want, 1e-5);
		ck_assert(isinf(got[1]) && isinf(got[2]));
		free(got);
		kz_array_release(out);
	}
	release_arrays(flat, array);
}

/* Row-major: two products of a (m, k), whose columns are scaled by s if there is one, and b (k,
 * n). */
static void check_rows(int m, int n, int k, const number *a, const number *s, const number *b,
	const number *want)
{
	for (int i = 0; i < 2 * m * n; i++) {
		const number *row = a + i / n * k, *column = b + i / (m * n) * k * n + i % n;
		number sum = 0;
		for (int l = 0; l < k; l++) {
			sum += row[l] * column[l * n] * (s ? s[i / (m * n) * k + l] : 1);
		}
		is_near(sum, want[i], LINALG_D);
	}
}

/* The functions that factor, by their identities: two matrices, tall and wide. */
CUDA_TEST(factors_above_work_on_it)
{
	int m = which ? 5 : 8, n = which ? 8 : 5;
	number a[80], u[128], s[10], vh[128];
	double host[80];
	kz_array *array, *first, *second, *third;
	draw_all(a, 80, LINALG_D);
	for (int i = 0; i < 80; i++) {
		host[i] = creal(a[i]);
	}
	ok(kz_array_from(&array, dev, KZ_F64, KZ_SHAPE(2, m, n), host, sizeof(host), &err));
	ok(kz_svd(&first, &second, &third, array, 0, NULL, &err));
	take(u, first);
	take(s, second);
	take(vh, third);
	check_rows(m, n, 5, u, s, vh, a);
	ok(kz_qr(&first, &second, array, KZ_QR_REDUCED, NULL, &err));
	take(u, first);
	take(vh, second);
	check_rows(m, n, 5, u, NULL, vh, a);
	ok(kz_qr(&first, &second, array, KZ_QR_COMPLETE, NULL, &err));
	take(u, first);
	take(vh, second);
	check_rows(m, n, m, u, NULL, vh, a);
	ok(kz_pinv(&first, array, 1e-15, NULL, &err));
	ok(kz_matmul(&second, array, first, NULL, &err));
	ok(kz_matmul(&third, second, array, NULL, &err));
	take(u, third);
	for (int i = 0; i < 80; i++) {
		is_near(u[i], a[i], LINALG_D);
	}
	release_arrays(first, second, array);
}

/* a v = v w, of symmetric matrices and of any; a = l l^T. */
CUDA_TEST(eigenvalues_above_work_on_it)
{
	enum { N = 6, ALL = 2 * N * N };
	number a[ALL], v[ALL], w[2 * N], right[ALL];
	double host[ALL];
	kz_array *array, *values, *vectors, *root, *turned, *product;
	draw_all(a, ALL, LINALG_D);
	for (int i = 0; i < ALL; i++) {
		int row = i / N % N, column = i % N,
			mirror = i - row * N - column + column * N + row;
		a[i] = which == 0 && column > row ? a[i] : which == 0 && column < row ? a[mirror]
			: which == 0 ? 8 : a[i];
		host[i] = creal(a[i]);
	}
	ok(kz_array_from(&array, dev, KZ_F64, KZ_SHAPE(2, N, N), host, sizeof(host), &err));
	if (which == 0) {
		ok(kz_eigh(&values, &vectors, array, KZ_LOWER, NULL, &err));
	} else {
		ok(kz_eig(&values, &vectors, array, NULL, &err));
	}
	take(v, vectors);
	take(w, values);
	for (int i = 0; i < ALL; i++) {
		right[i] = v[i] * w[i / (N * N) * N + i % N];
	}
	check_rows(N, N, N, a, NULL, v, right);
	if (which == 0) {
		ok(kz_cholesky(&root, array, KZ_LOWER, NULL, &err));
		ok(kz_array_swapaxes(&turned, root, -1, -2, &err));
		ok(kz_matmul(&product, root, turned, NULL, &err));
		take(v, product);
		for (int i = 0; i < ALL; i++) {
			is_near(v[i], a[i], LINALG_D);
		}
		release_arrays(root, turned);
	}
	kz_array_release(array);
}

/* What a library lacks is left to others, with the reason in the error's log. */
START_TEST(a_missing_library_leaves_the_table_empty)
{
	setenv("KUDZU_CUBLAS", "/nowhere/libcublas.so", 1);
	setenv("KUDZU_CUSOLVER", KZ_TEST_BUILD "/libcuda-stub.so", 1);
	if (strcmp(support_device_name(_i), "cpu") != 0) {
		return; // there the named file is an error: test_matmul.c
	}
	setup(_i);
	if (!handles) {
		return;
	}
	ck_assert_ptr_null(math->cuda);
	ck_assert(!linalg_has(math, LINALG_GEMM, LINALG_S));
	ck_assert_ptr_nonnull(strstr(cuda_library_log(CUDA_CUSOLVER), "not cuSOLVER, it lacks"));
	struct linalg_task task = small_task(LINALG_GEMM, false);
	ck_assert_int_eq(linalg_run(dev, &task, kz_device_stream(dev), "matmul", &err),
		KZ_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.message, "matmul: a product of matrices needs cuBLAS"));
	ck_assert_ptr_nonnull(strstr(err.log, "/nowhere/libcublas.so: "));
	ck_assert_ptr_nonnull(strstr(err.hint, "nvidia-cublas"));
	kz_error_clear(&err);
	end(&task);
	teardown();
}
END_TEST

/* Where NVIDIA's own libraries are, of CUDA 13, they have each function of the table. */
START_TEST(the_real_libraries_have_all_functions)
{
	unsetenv("KUDZU_CUBLAS");
	unsetenv("KUDZU_CUSOLVER");
	unsetenv("KUDZU_CUFFT");
	static const int versions[CUDA_PARTS] = {13, 12, 12};
	const struct cuda_library *library = NULL;
	for (int part = 0; part < CUDA_PARTS; part++) {
		library = cuda_library_get((enum cuda_part)part);
		const struct cuda_object *found = &library->parts[part];
		if (!found->path || found->version[0] != versions[part]) {
			return;
		}
	}
	for (size_t at = 0; at < offsetof(struct cuda_library, parts); at += sizeof(void *)) {
		void *function;
		memcpy(&function, (const char *)library + at, sizeof(function));
		ck_assert_msg(function, "function %zu of cublas.def and cufft.def is missing",
			at / sizeof(void *));
	}
}
END_TEST

SUITE(cuda_calls)
{
	Suite *suite = suite_create("cuda_calls");
	TCase *tcase = suite_add_case(suite, "cuda_calls");
	int devices = support_device_count();
	tcase_add_tests(tcase, 2 * devices, factors_above_work_on_it, eigenvalues_above_work_on_it);
	tcase_add_tests(tcase, countof(cuda_failures) * devices,
		each_call_that_fails_is_an_error_value);
	tcase_add_tests(tcase, LINALG_OPS * devices, a_failing_allocation_leaves_nothing_behind);
	tcase_add_tests(tcase, 40 * devices, stacks_in_any_order_are_multiplied);
	tcase_add_tests(tcase, 2 * devices, own_kernels_do_what_a_library_refuses);
	tcase_add_tests(tcase, 4 * devices, a_nan_in_a_matrix_reaches_the_results,
		pivots_may_have_no_reciprocal, singular_matrices_have_condition_numbers);
	tcase_add_tests(tcase, devices, each_code_is_translated, streams_do_not_disturb_each_other,
		capturing_works_or_fails_cleanly, extents_beyond_a_library_are_refused,
		solvers_above_work_on_it, a_missing_library_leaves_the_table_empty);
	tcase_add_tests(tcase, 1, the_real_libraries_have_all_functions);
	return suite;
}

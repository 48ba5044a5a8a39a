/* SPDX-License-Identifier: MIT */
/*
 * The provider of GPUs: on a GPU with the libraries there are, and put into the table of the CPU
 * device, with a stub of both that computes on its memory (tests/stub/cublas).  Results are compared
 * with loops over host memory, and by the identities that define the factors.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "core/memory.h"
#include "drv/codes.h"
#include "math/cuda_library.h"
#include "math/host_library.h"
#include "support/suite.h"
#include "support/support.h"

#include <complex.h>
#include <math.h>

#define CUBLAS_STUB KZ_TEST_BUILD "/libcublas-stub.so"

typedef double complex number;
enum { MOST = 600 };

static kz_error err;
static kz_device *dev;
static struct math_device *math;
static int *handles;
static uint32_t state;

static void *stub_symbol(const char *name)
{
	char why[256];
	void *object = dl_open(CUBLAS_STUB, why, sizeof(why));
	ck_assert_msg(object, "%s", why);
	void *found = dl_symbol(object, name);
	ck_assert_ptr_nonnull(found);
	return found;
}

static void use_stub(void)
{
	memcpy(stub_symbol("stub_launch"), &dev->drv->LaunchHostFunc, sizeof(void *));
	handles = stub_symbol("stub_handles");
	memset(math->enqueue, 0, sizeof(math->enqueue));
	math->host = NULL;
	math->least_gemm = 0;
	math->inverts_in_place = false;
	ok(cuda_ops_fill(math, &err));
}

/* Without a BLAS the stub cannot compute, and there is nothing to test: then dev is NULL. */
static void setup(int device)
{
	bool is_cpu = strcmp(support_device_name(device), "cpu") == 0;
	err = (kz_error)KZ_ERROR_INIT;
	dev = NULL;
	handles = NULL;
	state = 1;
	if (is_cpu && host_library_get(1)->parts[HOST_LAPACK].object) {
		setenv("KUDZU_CUBLAS", CUBLAS_STUB, 0);
		setenv("KUDZU_CUSOLVER", CUBLAS_STUB, 0);
		dev = support_open(device);
		ok(math_device_get(&math, dev, &err));
		use_stub();
	} else if (!is_cpu) {
		dev = support_open(device);
		ok(math_device_get(&math, dev, &err));
	}
}

static void teardown(void)
{
	support_close(dev);
	ck_assert(!handles || *handles == 0);
}

/* On every device; `which` counts as _i does. */
#define CUDA_TEST(name)                                                                            \
	static void name##_on(int which);                                                          \
	START_TEST(name)                                                                           \
	{                                                                                          \
		setup(_i % support_device_count());                                                \
		if (dev) {                                                                         \
			name##_on(_i / support_device_count());                                    \
			teardown();                                                                \
		}                                                                                  \
	}                                                                                          \
	END_TEST                                                                                   \
	static void name##_on(int which CK_ATTRIBUTE_UNUSED)
/* That needs the stub. */
#define CUBLAS_STUB_TEST(name)                                                                     \
	static void name##_stub(int which);                                                        \
	CUDA_TEST(name)                                                                            \
	{                                                                                          \
		if (handles) {                                                                     \
			name##_stub(which);                                                        \
		}                                                                                  \
	}                                                                                          \
	static void name##_stub(int which CK_ATTRIBUTE_UNUSED)

/* Numbers on their way to the device and back */

static number draw(enum math_type type)
{
	double part[2];
	for (int i = 0; i < 2; i++) {
		state = state * 1664525u + 1013904223u;
		part[i] = (int32_t)((state >> 8) % 2001) / 1000.0 - 1;
	}
	return part[0] + (type == MATH_C || type == MATH_Z ? part[1] * I : 0);
}

static void draw_all(number *out, int count, enum math_type type)
{
	for (int i = 0; i < count; i++) {
		out[i] = draw(type);
	}
}

static struct math_matrix put_bytes(const void *from, size_t size, int ld, int next)
{
	struct kz_buffer *buffer;
	ok(kz_buffer_create(&buffer, dev, (int64_t)size, &err));
	ok(kz_copy_htod(buffer, 0, from, (int64_t)size, &err));
	struct math_matrix out = {memory_retain(buffer->memory), buffer_address(buffer), ld, next};
	kz_buffer_release(buffer);
	return out;
}

/* A buffer as an operand; its elements are of `type`. */
static struct math_matrix put(enum math_type type, const number *from, int count, int ld, int next)
{
	char bytes[16 * MOST];
	size_t size = math_size(type);
	ck_assert_int_le(count, MOST);
	for (int i = 0; i < count; i++) {
		float f[2] = {(float)creal(from[i]), (float)cimag(from[i])};
		double d[2] = {creal(from[i]), cimag(from[i])};
		bool is_double = type == MATH_D || type == MATH_Z;
		memcpy(bytes + (size_t)i * size, is_double ? (void *)d : (void *)f, size);
	}
	return put_bytes(bytes, (size_t)count * size, ld, next);
}

static struct math_matrix put_nothing(enum math_type type, int count, int ld, int next)
{
	static const number zeros[MOST];
	return put(type, zeros, count, ld, next);
}

static void get_bytes(void *out, const struct math_matrix *of, size_t size)
{
	struct kz_buffer *buffer;
	ok(buffer_take(&buffer, memory_retain(of->memory), 0, (int64_t)size, &err));
	ok(kz_copy_dtoh(out, (int64_t)size, buffer, 0, &err));
	kz_buffer_release(buffer);
}

static void get(number *out, enum math_type type, const struct math_matrix *of, int count)
{
	char bytes[16 * MOST];
	size_t size = math_size(type);
	get_bytes(bytes, of, (size_t)count * size);
	for (int i = 0; i < count; i++) {
		const float *f = (const float *)(void *)(bytes + (size_t)i * size);
		const double *d = (const double *)(void *)(bytes + (size_t)i * size);
		out[i] = type == MATH_S ? f[0] : type == MATH_D ? d[0] : type == MATH_C
			? f[0] + f[1] * I : d[0] + d[1] * I;
	}
}

static void run(const struct math_task *task)
{
	ok(math_run(dev, task, kz_device_stream(dev), "test", &err));
}

static void end(const struct math_task *task)
{
	memory_release(task->a.memory);
	memory_release(task->b.memory);
	memory_release(task->c.memory);
	memory_release(task->d.memory);
	memory_release(task->info.memory);
}

static enum math_type real_of(enum math_type type)
{
	return type == MATH_C ? MATH_S : type == MATH_Z ? MATH_D : type;
}

static enum math_type complex_of(enum math_type type)
{
	return type == MATH_S ? MATH_C : type == MATH_D ? MATH_Z : type;
}

/* Matrices on the host, column-major */

static number at(const number *a, int ld, char op, int i, int j)
{
	return op == 'N' ? a[j * ld + i] : op == 'T' ? a[i * ld + j] : conj(a[i * ld + j]);
}

static void is_near(number got, number want, enum math_type type)
{
	double bound = real_of(type) == MATH_S ? 2e-4 : 1e-11;
	ck_assert_msg(cabs(got - want) <= bound, "%g%+gi, expected %g%+gi", creal(got), cimag(got),
		creal(want), cimag(want));
}

/* (m, n) = op_a(a) op_b(b), k products each, is what `want` has. */
static void check_product(enum math_type type, int m, int n, int k, const number *a, int lda,
	char op_a, const number *b, int ldb, char op_b, const number *want, int ld)
{
	for (int j = 0; j < n; j++) {
		for (int i = 0; i < m; i++) {
			number sum = 0;
			for (int l = 0; l < k; l++) {
				sum += at(a, lda, op_a, i, l) * at(b, ldb, op_b, l, j);
			}
			is_near(sum, want[j * ld + i], type);
		}
	}
}

static void make_identity(number *out, int n, int ld)
{
	for (int i = 0; i < n * ld; i++) {
		out[i] = i % ld == i / ld;
	}
}

/* The tests */

CUDA_TEST(products_of_all_transposes_and_batches)
{
	enum math_type type = (enum math_type)(which / 9);
	char op_a = "NTC"[which % 3], op_b = "NTC"[which / 3 % 3];
	enum { M = 5, N = 4, K = 6, LD = 7, NEXT = 50, COUNT = 3, ALL = COUNT * NEXT };
	number a[ALL], b[ALL], c[ALL], got[ALL], alpha = draw(type), beta = draw(type);
	draw_all(a, ALL, type);
	draw_all(b, ALL, type);
	draw_all(c, ALL, type);
	for (int count = 1; count <= COUNT; count += 2) {
		struct math_task task = {MATH_GEMM, type, op_a, op_b, .m = M, .n = N, .k = K,
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
	enum math_type type = (enum math_type)which;
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
		struct math_task task = {MATH_TRSM, type, op, .side = left ? 'L' : 'R',
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
				check_product(type, M, N, M, triangle, LD, op, x + i * NEXT, LD, 'N',
					want, LD);
			} else {
				check_product(type, M, N, N, x + i * NEXT, LD, 'N', triangle, LD, op,
					want, LD);
			}
		}
		end(&task);
	}
}

/* Three matrices, of which the second is singular: its third column is 0. */
CUDA_TEST(lu_solves_and_inverts)
{
	enum math_type type = (enum math_type)which;
	enum { N = 7, K = 3, LD = 9, NEXT = 70, COUNT = 3, ALL = COUNT * NEXT };
	number a[ALL], b[ALL], x[ALL], identity[NEXT];
	int32_t info[COUNT];
	draw_all(a, ALL, type);
	draw_all(b, ALL, type);
	make_identity(identity, N, LD);
	memset(a + NEXT + 2 * LD, 0, LD * sizeof(*a));
	struct math_task factor = {MATH_GETRF, type, .m = N, .n = N, .count = COUNT,
		.a = put(type, a, ALL, LD, NEXT), .b = put_nothing(MATH_S, COUNT * N, 0, N),
		.info = put_nothing(MATH_S, COUNT, 0, 1)};
	run(&factor);
	get_bytes(info, &factor.info, sizeof(info));
	ck_assert_int_eq(info[0], 0);
	ck_assert_int_eq(info[1], 3);
	ck_assert_int_eq(info[2], 0);
	for (int op = 0; op < 3; op++) {
		struct math_task solve = {MATH_GETRS, type, "NTC"[op], .n = N, .k = K, .count = COUNT,
			.a = factor.a, .b = factor.b, .c = put(type, b, ALL, LD, NEXT)};
		run(&solve);
		get(x, type, &solve.c, ALL);
		for (int i = 0; i < COUNT; i += 2) {
			check_product(type, N, K, N, a + i * NEXT, LD, "NTC"[op], x + i * NEXT, LD, 'N',
				b + i * NEXT, LD);
		}
		memory_release(solve.c.memory);
	}
	struct math_task invert = {MATH_GETRI, type, .n = N, .count = COUNT, .a = factor.a,
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
	enum math_type type = (enum math_type)which;
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
		struct math_task task = {MATH_POTRF, type, .uplo = upper ? 'U' : 'L', .n = N,
			.count = COUNT, .a = put(type, a, ALL, LD, NEXT),
			.info = put_nothing(MATH_S, COUNT, 0, 1)};
		run(&task);
		get(got, type, &task.a, ALL);
		get_bytes(info, &task.info, sizeof(info));
		ck_assert_int_eq(info[0], 0);
		ck_assert_int_eq(info[1], 4);
		for (int i = 0; i < N * LD; i++) {
			int row = i % LD, column = i / LD;
			got[i] = row < N && (row == column || (row < column) == upper) ? got[i] : 0;
		}
		check_product(type, N, N, N, got, LD, upper ? 'C' : 'N', got, LD, upper ? 'N' : 'C', a,
			LD);
		end(&task);
	}
}

CUDA_TEST(qr_gives_an_orthogonal_factor)
{
	enum math_type type = (enum math_type)which;
	enum { M = 7, N = 4, LD = 8, NEXT = 60, COUNT = 2, ALL = COUNT * NEXT };
	number a[ALL], r[ALL], q[ALL], identity[NEXT];
	draw_all(a, ALL, type);
	make_identity(identity, N, LD);
	struct math_task factor = {MATH_GEQRF, type, .m = M, .n = N, .count = COUNT,
		.a = put(type, a, ALL, LD, NEXT), .b = put_nothing(type, COUNT * N, 0, N)};
	run(&factor);
	get(r, type, &factor.a, ALL);
	struct math_task make = factor;
	make.op = MATH_ORGQR;
	make.k = N;
	run(&make);
	get(q, type, &make.a, ALL);
	for (int i = 0; i < COUNT; i++) {
		for (int k = 0; k < N * LD; k++) {
			r[i * NEXT + k] = k % LD <= k / LD ? r[i * NEXT + k] : 0;
		}
		check_product(type, N, N, M, q + i * NEXT, LD, 'C', q + i * NEXT, LD, 'N', identity, LD);
		check_product(type, M, N, N, q + i * NEXT, LD, 'N', r + i * NEXT, LD, 'N',
			a + i * NEXT, LD);
	}
	end(&factor);
}

/* Tall, square and wide; all vectors, few, none. */
CUDA_TEST(singular_values_of_every_shape)
{
	enum math_type type = (enum math_type)which;
	enum { LD = 9, NEXT = 90, COUNT = 2, ALL = COUNT * NEXT };
	static const int shapes[3][2] = {{8, 5}, {6, 6}, {5, 8}};
	number a[ALL], s[COUNT * LD], first[COUNT * LD], u[ALL], v[ALL], scaled[NEXT], identity[NEXT];
	for (int round = 0; round < 9; round++) {
		int m = shapes[round / 3][0], n = shapes[round / 3][1], least = m < n ? m : n;
		char job = "ASN"[round % 3];
		int columns = job == 'A' ? m : least, rows = job == 'A' ? n : least;
		state = (uint32_t)round / 3 + 5;
		draw_all(a, ALL, type);
		struct math_task task = {MATH_GESDD, type, .job = job, .m = m, .n = n, .count = COUNT,
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
				ck_assert(k == 0 || creal(s[i * LD + k]) <= creal(s[i * LD + k - 1]));
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
			check_product(type, columns, columns, m, u + i * NEXT, LD, 'C', u + i * NEXT, LD,
				'N', identity, LD);
			check_product(type, rows, rows, n, v + i * NEXT, LD, 'N', v + i * NEXT, LD, 'C',
				identity, LD);
		}
		end(&task);
	}
}

CUDA_TEST(eigenvalues_of_symmetric_matrices)
{
	enum math_type type = (enum math_type)which;
	enum { N = 6, LD = 8, NEXT = 50, COUNT = 2, ALL = COUNT * NEXT };
	number a[ALL], v[ALL], w[COUNT * N], first[COUNT * N], scaled[NEXT];
	for (int round = 0; round < 4; round++) {
		state = 9;
		draw_all(a, ALL, type);
		for (int i = 0; i < COUNT * N * N; i++) {
			number *of = a + i / (N * N) * NEXT;
			int row = i % N, column = i / N % N;
			of[column * LD + row] = row == column ? creal(of[column * LD + row])
				: row > column ? conj(of[row * LD + column]) : of[column * LD + row];
		}
		struct math_task task = {MATH_SYEVD, type, .job = round & 1 ? 'N' : 'V',
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
				check_product(type, N, N, N, a + i * NEXT, LD, 'N', v + i * NEXT, LD, 'N',
					scaled, LD);
			}
		}
		end(&task);
	}
}

CUDA_TEST(eigenvalues_of_any_matrices)
{
	enum math_type type = (enum math_type)which;
	enum { N = 6, LD = 8, NEXT = 50, COUNT = 2, ALL = COUNT * NEXT };
	number a[ALL], v[ALL], w[COUNT * N], first[COUNT * N], scaled[NEXT];
	bool has_complex = false;
	draw_all(a, ALL, type);
	for (int round = 0; round < 2; round++) {
		struct math_task task = {MATH_GEEV, type, .job = "VN"[round], .n = N, .count = COUNT,
			.a = put(type, a, ALL, LD, NEXT),
			.b = put_nothing(complex_of(type), COUNT * N, 0, N),
			.info = put_nothing(MATH_S, COUNT, 0, 1)};
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
			check_product(type, N, N, N, a + i * NEXT, LD, 'N', v + i * NEXT, LD, 'N', scaled,
				LD);
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
		b[i] = (int)(5 * creal(draw(MATH_D)));
	}
	for (int i = 0; i < COUNT * M * K; i++) {
		a[i] = (int)(5 * creal(draw(MATH_D)));
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

/* The smallest task of an operation. */
static struct math_task small_task(enum math_op op, bool is_wide)
{
	const number two[4] = {2, 0, 0, 2};
	const int32_t pivots[2] = {1, 2};
	struct math_task task = {op, MATH_D, 'N', 'N', 'L', 'L', 'N', op == MATH_GESDD ? 'S' : 'V',
		.m = is_wide ? 1 : 2, .n = 2, .k = 2, .count = 1, .alpha = {1},
		.a = put(MATH_D, two, 4, 2, 4), .b = op == MATH_GETRS || op == MATH_GETRI
			? put_bytes(pivots, sizeof(pivots), 0, 2) : put(MATH_D, two, 4, 2, 4),
		.c = put_nothing(MATH_Z, 4, 2, 4), .d = put_nothing(MATH_Z, 4, 2, 4),
		.info = put_nothing(MATH_D, 2, 2, 2)};
	return task;
}

static const struct {
	const char *function;
	enum math_op op;
} cuda_failures[] = {
	{"cublasCreate", MATH_GEMM}, {"cublasSetMathMode", MATH_GEMM}, {"cublasSetStream", MATH_GEMM},
	{"cublasGemmEx", MATH_GEMM}, {"cublastrsm", MATH_TRSM}, {"cublasgeam", MATH_GESDD},
	{"cusolverDnCreate", MATH_POTRF}, {"cusolverDnSetStream", MATH_POTRF},
	{"cusolverDnCreateParams", MATH_GEEV}, {"cusolverDngetrf_bufferSize", MATH_GETRF},
	{"cusolverDngetrf", MATH_GETRF}, {"cusolverDngetrs", MATH_GETRS},
	{"cusolverDngetrs", MATH_GETRI}, {"cusolverDnpotrf_bufferSize", MATH_POTRF},
	{"cusolverDnpotrf", MATH_POTRF}, {"cusolverDngeqrf_bufferSize", MATH_GEQRF},
	{"cusolverDngeqrf", MATH_GEQRF}, {"cusolverDnorgqr_bufferSize", MATH_ORGQR},
	{"cusolverDnorgqr", MATH_ORGQR}, {"cusolverDngesvd_bufferSize", MATH_GESDD},
	{"cusolverDngesvd", MATH_GESDD}, {"cusolverDnsyevd_bufferSize", MATH_SYEVD},
	{"cusolverDnsyevd", MATH_SYEVD}, {"cusolverDnXgeev_bufferSize", MATH_GEEV},
	{"cusolverDnXgeev", MATH_GEEV},
};

CUBLAS_STUB_TEST(each_call_that_fails_is_an_error_value)
{
	char script[64];
	struct math_task task = small_task(cuda_failures[which].op,
		strcmp(cuda_failures[which].function, "cublasgeam") == 0);
	bool is_blas = strncmp(cuda_failures[which].function, "cublas", 6) == 0;
	snprintf(script, sizeof(script), "%s:3", cuda_failures[which].function);
	setenv("CUBLAS_STUB_FAIL", script, 1);
	fails(math_run(dev, &task, kz_device_stream(dev), "test", &err),
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
		struct math_task task = small_task(i ? MATH_POTRF : MATH_GEMM, false);
		int tried = 0;
		for (int code = 1; code < 40; code++) {
			const struct code *known = codes_find(domain, code);
			char script[64];
			snprintf(script, sizeof(script), "%s:%d", i ? "cusolverDnpotrf" : "cublasGemmEx",
				code);
			setenv("CUBLAS_STUB_FAIL", script, 1);
			kz_status st = math_run(dev, &task, kz_device_stream(dev), "test", &err);
			ck_assert_int_eq(st, known ? known->status : KZ_UNKNOWN);
			ck_assert_int_eq(err.domain, domain);
			ck_assert_int_eq(err.code, code);
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
	struct math_task task = small_task((enum math_op)which, which == MATH_GESDD);
	bool done = false;
	run(&task); // kernels are compiled
	cuda_ops_end(math);
	for (long n = 0; !done; n++) {
		mem_fail_after(n);
		kz_status st = math->cuda ? KZ_OK : cuda_ops_fill(math, &err);
		st = st ? st : math_run(dev, &task, kz_device_stream(dev), "test", &err);
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
	struct math_task tasks[2][ROUNDS];
	kz_stream *streams[2];
	for (int s = 0; s < 2; s++) {
		ok(kz_stream_create(&streams[s], dev, 0, &err));
		draw_all(a[s], ALL, MATH_D);
		for (int r = 0; r < ROUNDS; r++) {
			tasks[s][r] = (struct math_task){MATH_GEQRF, MATH_D, .m = N, .n = N, .count = 1,
				.a = put(MATH_D, a[s], ALL, N, ALL), .b = put_nothing(MATH_D, N, 0, N)};
		}
	}
	for (int r = 0; r < 2 * ROUNDS; r++) {
		ok(math_run(dev, &tasks[r % 2][r / 2], streams[r % 2], "test", &err));
		tasks[r % 2][r / 2].op = MATH_ORGQR;
		tasks[r % 2][r / 2].k = N;
		ok(math_run(dev, &tasks[r % 2][r / 2], streams[r % 2], "test", &err));
	}
	number identity[ALL];
	make_identity(identity, N, N);
	for (int r = 0; r < 2 * ROUNDS; r++) {
		get(got, MATH_D, &tasks[r % 2][r / 2].a, ALL);
		check_product(MATH_D, N, N, N, got, N, 'C', got, N, 'N', identity, N);
		end(&tasks[r % 2][r / 2]);
	}
	kz_stream_release(streams[0]);
	kz_stream_release(streams[1]);
}

/* cuBLAS can be captured once it has its handle; cuSOLVER cannot. */
CUBLAS_STUB_TEST(capturing_works_or_fails_cleanly)
{
	struct math_task product = small_task(MATH_GEMM, false), factor = small_task(MATH_GETRF, false);
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
	fails(math_run(dev, &product, stream, "test", &err), KZ_STATE,
		"cuBLAS is first used in a captured stream");
	fails(math_run(dev, &factor, stream, "test", &err), KZ_STATE, "cannot be captured");
	ck_assert_int_eq(dev->drv->StreamEndCapture(handle, &graph), 0);
	ck_assert_int_eq(dev->drv->GraphDestroy(graph), 0);
	ok(math_run(dev, &product, stream, "test", &err));
	ok(kz_stream_synchronize(stream, &err));
	ck_assert_int_eq(dev->drv->StreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	ok(math_run(dev, &product, stream, "test", &err));
	ck_assert_int_eq(dev->drv->StreamEndCapture(handle, &graph), 0);
	ck_assert_int_eq(dev->drv->GraphDestroy(graph), 0);
	device_leave(dev, &scope);
	kz_stream_release(stream);
	end(&product);
	end(&factor);
}

CUDA_TEST(extents_beyond_a_library_are_refused)
{
	struct math_task task = small_task(MATH_POTRF, false);
	task.a.ld = INT64_C(1) << 31;
	fails(math_run(dev, &task, kz_device_stream(dev), "test", &err), KZ_RANGE, "below 2^31");
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

/* What a library lacks is left to others, with the reason in the error's log. */
START_TEST(a_missing_library_leaves_the_table_empty)
{
	setenv("KUDZU_CUBLAS", "/nowhere/libcublas.so", 1);
	setenv("KUDZU_CUSOLVER", KZ_TEST_BUILD "/libcuda-stub.so", 1);
	setup(_i);
	if (!handles) {
		return;
	}
	ck_assert_ptr_null(math->cuda);
	ck_assert(!math_has(math, MATH_GEMM, MATH_S));
	ck_assert_ptr_nonnull(strstr(cuda_library_log(CUDA_CUSOLVER), "not cuSOLVER, it lacks"));
	struct math_task task = small_task(MATH_GEMM, false);
	ck_assert_int_eq(math_run(dev, &task, kz_device_stream(dev), "matmul", &err), KZ_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.message, "matmul: a product of matrices needs cuBLAS"));
	ck_assert_ptr_nonnull(strstr(err.log, "/nowhere/libcublas.so: "));
	ck_assert_ptr_nonnull(strstr(err.hint, "nvidia-cublas"));
	kz_error_clear(&err);
	end(&task);
	teardown();
}
END_TEST

SUITE(cuda_ops)
{
	Suite *suite = suite_create("cuda_ops");
	TCase *tcase = suite_add_case(suite, "cuda_ops");
	int devices = support_device_count();
	tcase_add_tests(tcase, 9 * MATH_TYPES * devices, products_of_all_transposes_and_batches);
	tcase_add_tests(tcase, MATH_TYPES * devices, triangular_solvers, lu_solves_and_inverts,
		cholesky_names_the_minor, qr_gives_an_orthogonal_factor,
		singular_values_of_every_shape, eigenvalues_of_symmetric_matrices,
		eigenvalues_of_any_matrices);
	tcase_add_tests(tcase, 2 * devices, halves_are_summed_in_float32, batches_of_halves);
	tcase_add_tests(tcase, countof(cuda_failures) * devices,
		each_call_that_fails_is_an_error_value);
	tcase_add_tests(tcase, MATH_OPS * devices, a_failing_allocation_leaves_nothing_behind);
	tcase_add_tests(tcase, devices, each_code_is_translated, streams_do_not_disturb_each_other,
		capturing_works_or_fails_cleanly, extents_beyond_a_library_are_refused,
		solvers_above_work_on_it, a_missing_library_leaves_the_table_empty);
	return suite;
}

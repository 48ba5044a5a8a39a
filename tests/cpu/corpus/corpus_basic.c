/* SPDX-License-Identifier: MIT */
/* Cases of the corpus: elementwise kernels, sums, constants, module variables. */
#include "base/common.h"

#include "corpus.h"

#include <math.h>
#include <string.h>

static void run_vecadd(void)
{
	enum { N = 1000 };
	float a[N], b[N], c[N], want[N];
	int n = N;
	corpus_floats(a, N);
	corpus_floats(b, N);
	a[N - 1] = INFINITY;
	for (int i = 0; i < N; i++) {
		want[i] = a[i] + b[i];
	}
	CUdeviceptr da = corpus_put(a, sizeof(a)), db = corpus_put(b, sizeof(b));
	CUdeviceptr dc = corpus_room(sizeof(c));
	corpus_launch("vecadd", corpus_line(8, 128), (void *[]){&da, &db, &dc, &n});
	corpus_get(dc, c, sizeof(c));
	corpus_same(c, want, N, sizeof(*c));
}

static void run_saxpy(void)
{
	enum { N = 5000 };
	float x[N], y[N], a = 2.5f, got[N], want[N];
	int n = N;
	corpus_floats(x, N);
	corpus_floats(y, N);
	for (int i = 0; i < N; i++) {
		float product = a * x[i];
		want[i] = product + y[i];
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), dy = corpus_put(y, sizeof(y));
	corpus_launch("saxpy", corpus_line(3, 96), (void *[]){&a, &dx, &dy, &n});
	corpus_get(dy, got, sizeof(got));
	corpus_same(got, want, N, sizeof(*got));
}

static void run_double_elems(void)
{
	struct corpus_size size = {{1, 1, 1}, {4, 4, 1}, 0, false};
	float x[16], got[16], want[16];
	for (int i = 0; i < 16; i++) {
		x[i] = (float)i - 7.5f;
		want[i] = 2 * x[i];
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x));
	corpus_launch("double_elems", size, (void *[]){&dx});
	corpus_get(dx, got, sizeof(got));
	corpus_same(got, want, 16, sizeof(*got));
}

static void run_matmul(void)
{
	enum { N = 48, T = 16 };
	struct corpus_size size = {{N / T, N / T, 1}, {T, T, 1}, 0, false};
	float a[N * N], b[N * N], c[N * N], want[N * N];
	int n = N;
	corpus_floats(a, N * N);
	corpus_floats(b, N * N);
	for (int i = 0; i < N * N; i++) {
		float sum = 0;
		for (int k = 0; k < N; k++) {
			float product = a[i / N * N + k] * b[k * N + i % N];
			sum += product;
		}
		want[i] = sum;
	}
	CUdeviceptr da = corpus_put(a, sizeof(a)), db = corpus_put(b, sizeof(b));
	CUdeviceptr dc = corpus_room(sizeof(c));
	corpus_launch("mm", size, (void *[]){&da, &db, &dc, &n});
	corpus_get(dc, c, sizeof(c));
	corpus_same(c, want, N * N, sizeof(*c));
}

enum { SUMS = 5000 };

static void sum_blocks(const float *x, unsigned grid, unsigned block, double tolerance)
{
	float out[8];
	int n = SUMS;
	CUdeviceptr dx = corpus_put(x, SUMS * sizeof(*x)), dout = corpus_room(sizeof(out));
	corpus_launch("reduce", corpus_line(grid, block), (void *[]){&dx, &dout, &n});
	corpus_get(dout, out, grid * sizeof(*out));
	for (unsigned b = 0; b < grid; b++) {
		double sum = 0, scale = 0;
		for (unsigned i = 0; i < SUMS; i++) {
			if (i / block % grid == b) {
				sum += (double)x[i];
				scale += fabs((double)x[i]);
			}
		}
		corpus_near("sum", b, (double)out[b], sum, tolerance * scale);
	}
}

static void run_reduce(void)
{
	float x[SUMS];
	/* Sums of small integers are exact in any order. */
	for (int i = 0; i < SUMS; i++) {
		x[i] = (float)(corpus_u32() % 2001) - 1000;
	}
	sum_blocks(x, 3, 96, 0);
	sum_blocks(x, 1, 1024, 0);
	sum_blocks(x, 8, 32, 0);
	/* Of other numbers: at most half a unit for each of the additions before the result. */
	corpus_floats(x, SUMS);
	sum_blocks(x, 3, 96, 30 * 0x1p-24);
}

static void run_dyn(void)
{
	enum { N = 64 };
	static const float table[4] = {1, 2, 3, 4};
	struct corpus_size size = corpus_line(1, N);
	float coef[64], out[N], want[N];
	int ci = -5, n = N, counter, man;
	char text[6];
	CUdeviceptr msg, dout;
	size.shared = N * sizeof(float);
	corpus_floats(coef, 64);
	for (int t = 0; t < N; t++) {
		int s = N - 1 - t;
		float product = coef[s] * table[s & 3];
		float sum = product + (float)ci;
		want[t] = (float)((double)sum + 2.0 + 1.0);
	}

	CUdeviceptr dcoef = corpus_global("coef", sizeof(coef));
	corpus_set(dcoef, coef, sizeof(coef));
	corpus_set(corpus_global("ci", sizeof(ci)), &ci, sizeof(ci));
	dout = corpus_room(sizeof(out));
	corpus_launch("dyn", size, (void *[]){&dout, &n});
	corpus_get(dout, out, sizeof(out));
	corpus_same(out, want, N, sizeof(*out));
	corpus_get(corpus_global("counter", sizeof(counter)), &counter, sizeof(counter));
	ck_assert_int_eq(counter, 7 + 2);
	corpus_get(corpus_global("man", sizeof(man)), &man, sizeof(man));
	ck_assert_int_eq(man, 3 + 1);
	corpus_peek(corpus_global("msg", sizeof(msg)), &msg, sizeof(msg));
	corpus_get(msg, text, sizeof(text));
	ck_assert_str_eq(text, "hello");
}

static void run_dyn2(void)
{
	enum { N = 96 };
	struct corpus_size size = corpus_line(1, N);
	double in[N], out[N], want[N];
	size.shared = N * (sizeof(double) + sizeof(int));
	for (int i = 0; i < N; i++) {
		in[i] = sqrt(i);
		want[N - 1 - i] = in[i];
	}
	CUdeviceptr d = corpus_put(in, sizeof(in));
	corpus_launch("dyn2", size, (void *[]){&d});
	corpus_get(d, out, sizeof(out));
	corpus_same(out, want, N, sizeof(*out));
}

static void run_bounds(void)
{
	float x[128] = {0}, want[128];
	CUdeviceptr dx = corpus_put(x, sizeof(x));
	corpus_launch("lb", corpus_line(1, 128), (void *[]){&dx});
	corpus_get(dx, x, sizeof(x));
	for (int i = 0; i < 128; i++) {
		want[i] = 1;
	}
	corpus_same(x, want, 128, sizeof(*x));
	/* Its launch bounds are a limit. */
	ck_assert_int_ne(corpus_try("lb", corpus_line(1, 129), (void *[]){&dx}), CUDA_SUCCESS);
}

static void run_grid_constant(void)
{
	int out[40], want[40], n = -77;
	CUdeviceptr dout = corpus_room(sizeof(out));
	corpus_launch("gridc", corpus_line(1, 40), (void *[]){&n, &dout});
	corpus_get(dout, out, sizeof(out));
	for (int i = 0; i < 40; i++) {
		want[i] = n;
	}
	corpus_same(out, want, 40, sizeof(*out));
}

const struct corpus_case corpus_basic[] = {
	{"01_vecadd", "vecadd", run_vecadd, 0, 0},
	{"01_vecadd", "saxpy", run_saxpy, 0, 0},
	{"01_vecadd", "double_elems", run_double_elems, 0, 0},
	{"02_matmul", "mm", run_matmul, 0, 0},
	{"03_reduce_shfl", "reduce", run_reduce, 0, 0},
	{"08_smem_const", "dyn", run_dyn, 0, 0},
	{"08_smem_const", "dyn2", run_dyn2, 0, 0},
	/* For compute_90 and up the source has a kernel with clusters: test_corpus.c. */
	{"24_cluster", "lb", run_bounds, 0, 80},
	{"24_cluster", "gridc", run_grid_constant, 0, 80},
	{0},
};

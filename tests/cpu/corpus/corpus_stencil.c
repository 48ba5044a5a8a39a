/* SPDX-License-Identifier: MIT */
/* Cases of the corpus: tiles, stencils, scans, sorting, graphs; barriers of every kind. */
#include "base/common.h"

#include "corpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void run_nbody(void)
{
	enum { N = 256, BLOCK = 64 };
	struct corpus_size size = corpus_line(N / BLOCK, BLOCK);
	float p[4 * N], out[3 * N];
	int n = N;
	size.shared = BLOCK * 16;
	corpus_floats(p, 4 * N);
	CUdeviceptr dp = corpus_put(p, sizeof(p)), dout = corpus_room(sizeof(out));
	corpus_launch("nbody", size, (void *[]){&dp, &dout, &n});
	corpus_get(dout, out, sizeof(out));
	for (int i = 0; i < N; i++) {
		double sum[3] = {0}, scale = 0;
		for (int j = 0; j < N; j++) {
			double d[3], r2 = 1e-9;
			for (int k = 0; k < 3; k++) {
				d[k] = (double)p[4 * j + k] - (double)p[4 * i + k];
				r2 += d[k] * d[k];
			}
			double weight = (double)p[4 * j + 3] / (r2 * sqrt(r2));
			for (int k = 0; k < 3; k++) {
				sum[k] += d[k] * weight;
				scale += fabs(d[k] * weight);
			}
		}
		for (int k = 0; k < 3; k++) {
			/* A dozen roundings per term, and rsqrt.approx within 2^-22. */
			corpus_near("force", (size_t)(3 * i + k), (double)out[3 * i + k], sum[k],
				1e-5 * scale);
		}
	}
}

static int mandel(float cx, float cy, int most)
{
	float a = 0, b = 0;
	int i = 0;
	while (i < most) {
		float aa = a * a, bb = b * b, ab = 2 * a * b;
		if (!(aa + bb < 4)) {
			break;
		}
		a = aa - bb + cx;
		b = ab + cy;
		i++;
	}
	return i;
}

static void run_mandel(void)
{
	enum { W = 70, H = 50, M = 100 };
	struct corpus_size size = {{5, 7, 1}, {16, 8, 1}, 0, false};
	int got[W * H], want[W * H], w = W, h = H, m = M;
	for (int i = 0; i < W * H; i++) {
		float x = 3.f * (float)(i % W) / W, y = 2.f * (float)(i / W) / H;
		want[i] = mandel(-2 + x, -1 + y, M);
	}
	CUdeviceptr d = corpus_room(sizeof(got));
	corpus_launch("mandel", size, (void *[]){&d, &w, &h, &m});
	corpus_get(d, got, sizeof(got));
	corpus_same(got, want, W * H, sizeof(*got));
}

static void run_transpose(void)
{
	enum { W = 75, H = 40 };
	struct corpus_size size = {{3, 2, 1}, {32, 8, 1}, 0, false};
	float in[W * H], out[W * H], want[W * H];
	int w = W, h = H;
	corpus_floats(in, W * H);
	for (int i = 0; i < W * H; i++) {
		want[i % W * H + i / W] = in[i];
	}
	CUdeviceptr di = corpus_put(in, sizeof(in)), dout = corpus_room(sizeof(in));
	corpus_launch("transpose", size, (void *[]){&di, &dout, &w, &h});
	corpus_get(dout, out, sizeof(out));
	corpus_same(out, want, W * H, sizeof(*out));
}

static void run_scan(void)
{
	enum { N = 100 };
	struct corpus_size size = corpus_line(1, N);
	int in[N], out[N], want[N], n = N, sum = 0;
	size.shared = sizeof(in);
	for (int i = 0; i < N; i++) {
		in[i] = (int)(corpus_u32() % 2000) - 1000;
		sum += in[i];
		want[i] = sum;
	}
	CUdeviceptr d = corpus_put(in, sizeof(in));
	corpus_launch("scan", size, (void *[]){&d, &n});
	corpus_get(d, out, sizeof(out));
	corpus_same(out, want, N, sizeof(*out));
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void run_bitonic(void)
{
	uint32_t x[512], out[512];
	for (int i = 0; i < 512; i++) {
		x[i] = i % 7 ? corpus_u32() : UINT32_MAX;
	}
	CUdeviceptr d = corpus_put(x, sizeof(x));
	corpus_launch("bitonic", corpus_line(1, 512), (void *[]){&d});
	corpus_get(d, out, sizeof(out));
	qsort(x, 512, sizeof(*x), compare_u32);
	corpus_same(out, x, 512, sizeof(*out));
}

static int clamp(int v, int most)
{
	return v < 0 ? 0 : v > most ? most : v;
}

static void run_conv(void)
{
	enum { W = 37, H = 29 };
	struct corpus_size size = {{3, 4, 1}, {16, 8, 1}, 0, false};
	uint8_t in[W * H], out[W * H], want[W * H];
	float k[25];
	int w = W, h = H;
	corpus_floats(k, 25);
	for (int i = 0; i < W * H; i++) {
		in[i] = (uint8_t)corpus_u32();
	}
	for (int p = 0; p < W * H; p++) {
		float s = 0;
		for (int i = 0; i < 25; i++) {
			int x = clamp(p % W + i % 5 - 2, W - 1),
				y = clamp(p / W + i / 5 - 2, H - 1);
			float product = k[i] * (float)in[y * W + x];
			s += product;
		}
		want[p] = (uint8_t)fminf(fmaxf(s, 0.f), 255.f);
	}
	corpus_set(corpus_global("K", sizeof(k)), k, sizeof(k));
	CUdeviceptr di = corpus_put(in, sizeof(in)), dout = corpus_room(sizeof(in));
	corpus_launch("conv", size, (void *[]){&di, &dout, &w, &h});
	corpus_get(dout, out, sizeof(out));
	corpus_same(out, want, W * H, 1);
}

static void run_heat(void)
{
	enum { X = 20, Y = 12, Z = 6, N = X * Y * Z };
	struct corpus_size size = {{3, 2, 1}, {8, 8, 1}, 0, false};
	double a[N], out[N], want[N], c = 0.1;
	int nx = X, ny = Y, nz = Z;
	for (int i = 0; i < N; i++) {
		a[i] = corpus_double(-1, 1);
	}
	for (int p = 0; p < N; p++) {
		int i = p % X, j = p / X % Y, k = p / (X * Y);
		want[p] = a[p];
		if (i >= 1 && j >= 1 && k >= 1 && i < X - 1 && j < Y - 1 && k < Z - 1) {
			double six = 6 * a[p];
			double sum = a[p - 1] + a[p + 1] + a[p - X] + a[p + X] + a[p - X * Y]
				+ a[p + X * Y] - six;
			double change = c * sum;
			want[p] = a[p] + change;
		}
	}
	CUdeviceptr da = corpus_put(a, sizeof(a)), db = corpus_put(a, sizeof(a));
	corpus_launch("heat", size, (void *[]){&da, &db, &nx, &ny, &nz, &c});
	corpus_get(db, out, sizeof(out));
	corpus_same(out, want, N, sizeof(*out));
}

static void run_softmax(void)
{
	enum { ROWS = 3, N = 300 };
	float in[ROWS * N], out[ROWS * N];
	int n = N;
	corpus_floats(in, ROWS * N);
	in[5] = -INFINITY;
	CUdeviceptr di = corpus_put(in, sizeof(in)), dout = corpus_room(sizeof(in));
	corpus_launch("softmax", corpus_line(ROWS, 256), (void *[]){&di, &dout, &n});
	corpus_get(dout, out, sizeof(out));
	for (int row = 0; row < ROWS; row++) {
		double sum = 0;
		for (int i = 0; i < N; i++) {
			sum += exp((double)in[row * N + i]);
		}
		for (int i = 0; i < N; i++) {
			double want = exp((double)in[row * N + i]) / sum;
			/* expf is within 2 ulp, twice, and the sum of few terms per thread. */
			corpus_near("softmax", (size_t)(row * N + i), (double)out[row * N + i],
				want, 1e-6 * want);
		}
	}
}

static void run_bfs(void)
{
	enum { N = 100, EDGES = 400 };
	int rp[N + 1], ci[EDGES], lv[N], want[N], n = N, changed = 1;
	/* Some vertices have no edge, some many. */
	for (int v = 0, e = 0; v <= N; v++) {
		rp[v] = v == N ? EDGES : e;
		e += v % 10 == 0 ? 31 : v % 3;
		e = e < EDGES ? e : EDGES;
	}
	for (int e = 0; e < EDGES; e++) {
		ci[e] = (int)(corpus_u32() % N);
	}
	for (int v = 0; v < N; v++) {
		lv[v] = want[v] = v ? -1 : 0;
	}
	for (int d = 0; d < N; d++) {
		for (int v = 0; v < N; v++) {
			for (int e = rp[v]; want[v] == d && e < rp[v + 1]; e++) {
				want[ci[e]] = want[ci[e]] < 0 ? d + 1 : want[ci[e]];
			}
		}
	}

	CUdeviceptr drp = corpus_put(rp, sizeof(rp)), dci = corpus_put(ci, sizeof(ci));
	CUdeviceptr dlv = corpus_put(lv, sizeof(lv)), dch = corpus_put(&changed, sizeof(changed));
	for (int d = 0; changed; d++) {
		corpus_set(dch, &(int){0}, sizeof(int));
		corpus_launch("bfs", corpus_line(3, 40),
			(void *[]){&drp, &dci, &dlv, &d, &n, &dch});
		corpus_get(dch, &changed, sizeof(changed));
	}
	corpus_get(dlv, lv, sizeof(lv));
	corpus_same(lv, want, N, sizeof(*lv));
}

static void run_spmv(void)
{
	enum { ROWS = 21, N = 900 };
	int rp[ROWS + 1], ci[N], rows = ROWS;
	double va[N], x[N], y[ROWS];
	for (int r = 0; r <= ROWS; r++) {
		rp[r] = r == 0 ? 0 : r == ROWS ? N : rp[r - 1] + r * r % 80;
	}
	ck_assert_int_lt(rp[ROWS - 1], N);
	for (int e = 0; e < N; e++) {
		ci[e] = (int)(corpus_u32() % N);
		va[e] = corpus_double(-1, 1);
		x[e] = corpus_double(-1, 1);
	}
	CUdeviceptr drp = corpus_put(rp, sizeof(rp)), dci = corpus_put(ci, sizeof(ci));
	CUdeviceptr dva = corpus_put(va, sizeof(va)), dx = corpus_put(x, sizeof(x));
	CUdeviceptr dy = corpus_room(sizeof(y));
	corpus_launch("spmv", corpus_line(8, 96), (void *[]){&drp, &dci, &dva, &dx, &dy, &rows});
	corpus_get(dy, y, sizeof(y));
	for (int r = 0; r < ROWS; r++) {
		double sum = 0, scale = 0;
		for (int e = rp[r]; e < rp[r + 1]; e++) {
			sum += va[e] * x[ci[e]];
			scale += fabs(va[e] * x[ci[e]]);
		}
		/* Two orders of at most 400 additions. */
		corpus_near("product", (size_t)r, y[r], sum, 800 * 0x1p-53 * scale);
	}
}

static void run_divergent_barrier(void)
{
	static const int splits[] = {0, 1, 31, 32, 33, 64, 70};
	int x[70], want[70];
	for (size_t k = 0; k < countof(splits); k++) {
		int n = splits[k];
		CUdeviceptr d = corpus_room(sizeof(x));
		corpus_launch("bsdiv", corpus_line(2, 70), (void *[]){&d, &n});
		corpus_get(d, x, sizeof(x));
		for (int i = 0; i < 70; i++) {
			want[i] = i < n ? 1 : 2;
		}
		corpus_same(x, want, 70, sizeof(*x));
	}
}

static void run_named_barrier(void)
{
	int x[64], want[64];
	for (int i = 0; i < 64; i++) {
		x[i] = (int)corpus_u32();
		want[i] = i < 32 ? x[i] : x[i - 32];
	}
	CUdeviceptr d = corpus_put(x, sizeof(x));
	corpus_launch("named", corpus_line(1, 64), (void *[]){&d});
	corpus_get(d, x, sizeof(x));
	corpus_same(x, want, 64, sizeof(*x));
}

const struct corpus_case corpus_stencil[] = {
	{"20_nbody", "nbody", run_nbody, 0, 0},
	{"20_nbody", "mandel", run_mandel, 0, 0},
	{"20_nbody", "transpose", run_transpose, 0, 0},
	{"20_nbody", "scan", run_scan, 0, 0},
	{"20_nbody", "bitonic", run_bitonic, 0, 0},
	{"21_stencil_conv", "conv", run_conv, 0, 0},
	{"21_stencil_conv", "heat", run_heat, 0, 0},
	{"21_stencil_conv", "softmax", run_softmax, 0, 0},
	{"25_bfs_ragged", "bfs", run_bfs, 0, 0},
	{"25_bfs_ragged", "spmv", run_spmv, 0, 0},
	{"25_bfs_ragged", "bsdiv", run_divergent_barrier, 0, 0},
	{"25_bfs_ragged", "named", run_named_barrier, 0, 0},
	{0},
};

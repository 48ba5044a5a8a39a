/* SPDX-License-Identifier: MIT */
/*
 * The work of bench_cpu's kernels as plain C, for the compiler to make the best of.
 *
 * The build compiles this file twice, with -march=native and for AVX2, and gives the names an
 * ending by LOOP.  Each thread takes its share of the rows.  Strict: no -ffast-math.
 */
#include "cpu_jobs.h"

#include <math.h>
#include <string.h>

#define LOOP_NAME(name, ending) loop_##name##_##ending
#define LOOP_EXPAND(name, ending) LOOP_NAME(name, ending)
#define LOOP(name) void LOOP_EXPAND(name, ENDING)(void *const *buffers, const struct cpu_part *part)

/* The first of `count` that is this thread's, or the next one's. */
static int first(const struct cpu_part *part, int count)
{
	return (int)((int64_t)count * part->thread / part->threads);
}

static int last(const struct cpu_part *part, int count)
{
	return (int)((int64_t)count * (part->thread + 1) / part->threads);
}

static void add(float *restrict c, const float *a, const float *b, int from, int to)
{
	for (int i = from; i < to; i++) {
		c[i] = a[i] + b[i];
	}
}

LOOP(vecadd)
{
	add(buffers[2], buffers[0], buffers[1], first(part, BIG), last(part, BIG));
}

LOOP(vecadd_small)
{
	add(buffers[2], buffers[0], buffers[1], first(part, SMALL), last(part, SMALL));
}

LOOP(saxpy)
{
	const float *restrict x = buffers[0];
	float *restrict y = buffers[1];
	for (int i = first(part, BIG); i < last(part, BIG); i++) {
		y[i] = 0.5f * x[i] + y[i];
	}
}

/* By tiles of C that stay in registers; of the forms that were tried the fastest. */
LOOP(matmul)
{
	enum { N = MATMUL, ROWS = 8, COLUMNS = 32 };
	const float *restrict a = buffers[0], *restrict b = buffers[1];
	float *restrict c = buffers[2];
	for (int i0 = first(part, N / ROWS) * ROWS; i0 < last(part, N / ROWS) * ROWS; i0 += ROWS) {
		for (int j0 = 0; j0 < N; j0 += COLUMNS) {
			float tile[ROWS][COLUMNS] = {0};
			for (int k = 0; k < N; k++) {
				for (int i = 0; i < ROWS; i++) {
					for (int j = 0; j < COLUMNS; j++) {
						tile[i][j] += a[(i0 + i) * N + k]
							* b[k * N + j0 + j];
					}
				}
			}
			for (int i = 0; i < ROWS; i++) {
				memcpy(&c[(i0 + i) * N + j0], tile[i], sizeof(tile[i]));
			}
		}
	}
}

LOOP(reduce)
{
	const float *restrict x = buffers[0];
	float *restrict out = buffers[1];
	for (int p = first(part, REDUCE_BLOCKS); p < last(part, REDUCE_BLOCKS); p++) {
		float sum = 0;
		for (int i = 0; i < BIG / REDUCE_BLOCKS; i++) {
			sum += x[p * (BIG / REDUCE_BLOCKS) + i];
		}
		out[p] = sum;
	}
}

LOOP(mandelbrot)
{
	enum { N = MANDELBROT };
	int *restrict out = buffers[0];
	/* Rows in turns: those in the middle take longest. */
	for (int y = part->thread; y < N; y += part->threads) {
		for (int x = 0; x < N; x++) {
			float cx = -2 + 3.f * (float)x / N, cy = -1 + 2.f * (float)y / N;
			float a = 0, b = 0;
			int i = 0;
			while (a * a + b * b < 4 && i < MANDELBROT_LIMIT) {
				float t = a * a - b * b + cx;
				b = 2 * a * b + cy;
				a = t;
				i++;
			}
			out[y * N + x] = i;
		}
	}
}

LOOP(nbody)
{
	const float(*restrict p)[4] = buffers[0];
	float(*restrict out)[3] = buffers[1];
	for (int i = first(part, NBODY); i < last(part, NBODY); i++) {
		float ax = 0, ay = 0, az = 0;
		for (int j = 0; j < NBODY; j++) {
			float x = p[j][0] - p[i][0], y = p[j][1] - p[i][1], z = p[j][2] - p[i][2];
			float r = 1 / sqrtf(x * x + y * y + z * z + 1e-9f);
			float k = p[j][3] * r * r * r;
			ax += x * k;
			ay += y * k;
			az += z * k;
		}
		out[i][0] = ax;
		out[i][1] = ay;
		out[i][2] = az;
	}
}

/* In tiles of 8, the fastest here. */
LOOP(transpose)
{
	enum { N = TRANSPOSE, SIDE = 8 };
	const float *restrict in = buffers[0];
	float *restrict out = buffers[1];
	for (int i0 = first(part, N / SIDE) * SIDE; i0 < last(part, N / SIDE) * SIDE; i0 += SIDE) {
		for (int j0 = 0; j0 < N; j0 += SIDE) {
			for (int i = i0; i < i0 + SIDE; i++) {
				for (int j = j0; j < j0 + SIDE; j++) {
					out[i * N + j] = in[j * N + i];
				}
			}
		}
	}
}

LOOP(stencil)
{
	enum { NX = STENCIL_X, NY = STENCIL_Y, PLANE = NX * NY };
	const double *restrict a = buffers[0];
	double *restrict b = buffers[1];
	for (int k = 1 + first(part, STENCIL_Z - 2); k < 1 + last(part, STENCIL_Z - 2); k++) {
		for (int j = 1; j < NY - 1; j++) {
			for (int i = 1; i < NX - 1; i++) {
				int p = (k * NY + j) * NX + i;
				b[p] = a[p] + 0.1 * (a[p - 1] + a[p + 1] + a[p - NX] + a[p + NX]
					+ a[p - PLANE] + a[p + PLANE] - 6 * a[p]);
			}
		}
	}
}

/* Each thread its part, then what the threads before it have summed up. */
LOOP(scan)
{
	const int *restrict in = buffers[0];
	int *restrict out = buffers[1], from = first(part, SCAN), to = last(part, SCAN), sum = 0;
	if (part->phase == 0) {
		for (int i = from; i < to; i++) {
			out[i] = sum += in[i];
		}
	} else if (part->phase == 1 && part->thread == 0) {
		int *sums = buffers[2];
		for (int t = 0; t < part->threads; t++) {
			struct cpu_part other = {0, t, part->threads};
			sums[t] = sum;
			sum += out[last(&other, SCAN) - 1];
		}
	} else if (part->phase == 2 && part->thread > 0) {
		sum = ((const int *)buffers[2])[part->thread];
		for (int i = from; i < to; i++) {
			out[i] += sum;
		}
	}
}

/* Like the kernel: a pass over all vertices for each level. */
LOOP(bfs)
{
	const int *restrict row = buffers[0], *restrict column = buffers[1];
	int *restrict level = buffers[2], depth = part->phase - 1;
	for (int v = first(part, BFS); v < last(part, BFS); v++) {
		if (depth < 0) {
			level[v] = v == 0 ? 0 : -1;
		} else if (level[v] == depth) {
			for (int e = row[v]; e < row[v + 1]; e++) {
				if (level[column[e]] < 0) {
					level[column[e]] = depth + 1;
				}
			}
		}
	}
}

/* Pairs that are neighbours in both are a loop without a branch. */
static void bitonic_pass(unsigned *restrict x, int k, int j)
{
	for (int base = 0; base < BITONIC; base += 2 * j) {
		unsigned *low = x + base, *high = x + base + j;
		bool up = (base & k) == 0;
		for (int t = 0; t < j; t++) {
			unsigned a = low[t], b = high[t];
			unsigned least = a < b ? a : b, most = a < b ? b : a;
			low[t] = up ? least : most;
			high[t] = up ? most : least;
		}
	}
}

LOOP(bitonic)
{
	for (int block = first(part, BITONIC_BLOCKS); block < last(part, BITONIC_BLOCKS); block++) {
		unsigned *x = (unsigned *)buffers[1] + block * BITONIC;
		memcpy(x, (const unsigned *)buffers[0] + block * BITONIC, BITONIC * sizeof(*x));
		for (int k = 2; k <= BITONIC; k <<= 1) {
			for (int j = k >> 1; j > 0; j >>= 1) {
				bitonic_pass(x, k, j);
			}
		}
	}
}

static const uint32_t sha_k[64] = {
#include "cpu_sha256.h"
};

static uint32_t rotate(uint32_t x, int by)
{
	return x >> by | x << (32 - by);
}

static void sha_block(uint32_t *restrict state, uint32_t *restrict w)
{
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
	for (int i = 0; i < 64; i++) {
		if (i >= 16) {
			uint32_t x = w[(i + 1) & 15], y = w[(i + 14) & 15];
			w[i & 15] += w[(i + 9) & 15] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3)
				+ (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
		}
		uint32_t one = h + sha_k[i] + w[i & 15] + ((e & f) ^ (~e & g))
			+ (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25));
		uint32_t two = ((a & b) ^ (a & c) ^ (b & c))
			+ (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22));
		h = g;
		g = f;
		f = e;
		e = d + one;
		d = c;
		c = b;
		b = a;
		a = one + two;
	}
	const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
	for (int i = 0; i < 8; i++) {
		state[i] += sums[i];
	}
}

LOOP(sha256)
{
	static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	for (int t = first(part, SHA); t < last(part, SHA); t++) {
		uint32_t w[16], padding[16] = {0x80000000};
		uint32_t *state = (uint32_t *)buffers[1] + 8 * t;
		memcpy(w, (const uint32_t *)buffers[0] + 16 * t, sizeof(w));
		memcpy(state, start, sizeof(start));
		sha_block(state, w);
		padding[15] = 512;
		sha_block(state, padding);
	}
}

LOOP(histogram)
{
	const uint8_t *restrict in = buffers[0];
	uint32_t counts[256] = {0}, *out = buffers[1];
	for (int i = first(part, HISTOGRAM); i < last(part, HISTOGRAM); i++) {
		counts[in[i]]++;
	}
	for (int i = 0; i < 256; i++) {
		__atomic_fetch_add(&out[i], counts[i], __ATOMIC_RELAXED);
	}
}

LOOP(spmv)
{
	const int *restrict row = buffers[0], *restrict column = buffers[1];
	const double *restrict value = buffers[2], *restrict x = buffers[3];
	double *restrict y = buffers[4];
	for (int r = first(part, SPMV); r < last(part, SPMV); r++) {
		double sum = 0;
		for (int e = row[r]; e < row[r + 1]; e++) {
			sum += value[e] * x[column[e]];
		}
		y[r] = sum;
	}
}

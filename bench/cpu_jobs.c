/* SPDX-License-Identifier: MIT */
/*
 * The jobs of bench_cpu; see cpu_jobs.h.  Each has a function that makes its data and lists its
 * launches, and one that checks the results against a reference in integers or double precision.
 */
#include "cpu_jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers without a pattern, the same in each process. */
static uint32_t random_bits(uint32_t i)
{
	uint64_t x = (i + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t)(x >> 32);
}

static float random_float(uint32_t i)
{
	return (float)random_bits(i) * 0x1p-32f + 0x1p-20f;
}

/* Results that were never written must not look right. */
static bool add_buffer(struct cpu_job *job, int index, size_t size)
{
	job->sizes[index] = size;
	job->initial[index] = malloc(size);
	if (job->initial[index]) {
		memset(job->initial[index], 0xa5, size);
	}
	return job->initial[index] != NULL;
}

static bool add_floats(struct cpu_job *job, int index, int count)
{
	bool made = add_buffer(job, index, (size_t)count * sizeof(float));
	float *x = job->initial[index];
	for (int i = 0; made && i < count; i++) {
		x[i] = random_float((uint32_t)i * 5 + (uint32_t)index);
	}
	return made;
}

static bool add_words(struct cpu_job *job, int index, int count, uint32_t mask)
{
	bool made = add_buffer(job, index, (size_t)count * sizeof(uint32_t));
	uint32_t *x = job->initial[index];
	for (int i = 0; made && i < count; i++) {
		x[i] = random_bits((uint32_t)i) & mask;
	}
	return made;
}

static struct cpu_launch *add_launch(struct cpu_job *job, const char *kernel, int blocks,
	int threads)
{
	struct cpu_launch *launch = &job->launches[job->launch_count++];
	*launch = (struct cpu_launch){
		.kernel = kernel, .grid = {blocks, 1}, .block = {threads, 1}};
	return launch;
}

#define BUFFER(i) {ARG_BUFFER, i}
#define INT(i) {ARG_INT, i}
#define FLOAT(x) {ARG_FLOAT, x}
#define DOUBLE(x) {ARG_DOUBLE, x}
#define SET_ARGS(launch, ...) \
	memcpy((launch)->args, (struct cpu_arg[JOB_ARGS]){__VA_ARGS__}, sizeof((launch)->args))

static bool is_close(double found, double expected, double tolerance)
{
	return fabs(found - expected) <= tolerance * (1 + fabs(expected));
}

/* Vectors */

static bool check_add(const struct cpu_job *job, void *const *results)
{
	const float *a = job->initial[0], *b = job->initial[1], *c = results[2];
	size_t count = job->sizes[0] / sizeof(float), wrong = 0;
	for (size_t i = 0; i < count; i++) {
		wrong += !is_close(c[i], (double)a[i] + b[i], 1e-7);
	}
	return wrong == 0;
}

static bool make_add(struct cpu_job *job, int count)
{
	struct cpu_launch *launch = add_launch(job, "vecadd", count / 256, 256);
	SET_ARGS(launch, BUFFER(0), BUFFER(1), BUFFER(2), INT(count));
	job->bytes = 16.0 * count;
	job->lanes = count;
	job->memory = count;
	job->alone = count == SMALL;
	job->check = check_add;
	return add_floats(job, 0, count) && add_floats(job, 1, count)
		&& add_buffer(job, 2, (size_t)count * sizeof(float));
}

static bool make_vecadd(struct cpu_job *job)
{
	return make_add(job, BIG);
}

static bool make_vecadd_small(struct cpu_job *job)
{
	return make_add(job, SMALL);
}

static bool check_saxpy(const struct cpu_job *job, void *const *results)
{
	const float *x = job->initial[0], *before = job->initial[1], *y = results[1];
	size_t wrong = 0;
	for (size_t i = 0; i < BIG; i++) {
		wrong += !is_close(y[i], 0.5 * (double)x[i] + before[i], 1e-7);
	}
	return wrong == 0;
}

static bool make_saxpy_by(struct cpu_job *job, const char *kernel, int blocks)
{
	struct cpu_launch *launch = add_launch(job, kernel, blocks, 256);
	SET_ARGS(launch, FLOAT(0.5), BUFFER(0), BUFFER(1), INT(BIG));
	job->bytes = 12.0 * BIG;
	job->lanes = BIG;
	job->memory = BIG;
	job->check = check_saxpy;
	return add_floats(job, 0, BIG) && add_floats(job, 1, BIG);
}

static bool make_saxpy(struct cpu_job *job)
{
	return make_saxpy_by(job, "saxpy", BIG / 256);
}

static bool make_saxpy_stride(struct cpu_job *job)
{
	return make_saxpy_by(job, "saxpy_stride", 64);
}

static bool check_reduce(const struct cpu_job *job, void *const *results)
{
	const float *x = job->initial[0], *out = results[1];
	double sum = 0, found = 0;
	for (int i = 0; i < BIG; i++) {
		sum += x[i];
	}
	for (int i = 0; i < REDUCE_BLOCKS; i++) {
		found += out[i];
	}
	return is_close(found, sum, 1e-4);
}

static bool make_reduce(struct cpu_job *job)
{
	struct cpu_launch *launch = add_launch(job, "reduce", REDUCE_BLOCKS, 256);
	SET_ARGS(launch, BUFFER(0), BUFFER(1), INT(BIG));
	job->bytes = 4.0 * BIG;
	job->lanes = BIG;
	job->memory = BIG;
	job->check = check_reduce;
	return add_floats(job, 0, BIG) && add_buffer(job, 1, REDUCE_BLOCKS * sizeof(float));
}

/* Matrices and grids */

static bool check_matmul(const struct cpu_job *job, void *const *results)
{
	const float *a = job->initial[0], *b = job->initial[1], *c = results[2];
	int wrong = 0;
	for (int i = 0; i < MATMUL; i++) {
		for (int j = i % 8; j < MATMUL; j += 8) {
			double sum = 0;
			for (int k = 0; k < MATMUL; k++) {
				sum += (double)a[i * MATMUL + k] * b[k * MATMUL + j];
			}
			wrong += !is_close(c[i * MATMUL + j], sum, 1e-5);
		}
	}
	return wrong == 0;
}

static bool make_matmul_by(struct cpu_job *job, const char *kernel)
{
	enum { TILE = 16, COUNT = MATMUL * MATMUL };
	struct cpu_launch *launch = add_launch(job, kernel, MATMUL / TILE, TILE);
	launch->grid[1] = MATMUL / TILE;
	launch->block[1] = TILE;
	SET_ARGS(launch, BUFFER(0), BUFFER(1), BUFFER(2), INT(MATMUL));
	job->bytes = 16.0 * COUNT;
	job->lanes = (double)COUNT * MATMUL;
	job->memory = COUNT;
	job->check = check_matmul;
	return add_floats(job, 0, COUNT) && add_floats(job, 1, COUNT)
		&& add_buffer(job, 2, COUNT * sizeof(float));
}

static bool make_matmul(struct cpu_job *job)
{
	return make_matmul_by(job, "matmul");
}

static bool make_matmul_plain(struct cpu_job *job)
{
	return make_matmul_by(job, "matmul_plain");
}

static int mandelbrot_at(int x, int y)
{
	double cx = -2 + 3.0 * x / MANDELBROT, cy = -1 + 2.0 * y / MANDELBROT, a = 0, b = 0;
	int i = 0;
	while (a * a + b * b < 4 && i < MANDELBROT_LIMIT) {
		double t = a * a - b * b + cx;
		b = 2 * a * b + cy;
		a = t;
		i++;
	}
	return i;
}

/* At the edge of the set, rounding decides: a point in 200 may differ, by however much. */
static bool check_mandelbrot(const struct cpu_job *job, void *const *results)
{
	const int *out = results[0];
	int other = 0;
	(void)job;
	for (int i = 0; i < MANDELBROT * MANDELBROT; i++) {
		other += out[i] != mandelbrot_at(i % MANDELBROT, i / MANDELBROT);
	}
	return other <= MANDELBROT * MANDELBROT / 200;
}

static bool make_mandelbrot(struct cpu_job *job)
{
	struct cpu_launch *launch = add_launch(job, "mandelbrot", MANDELBROT / 32, 32);
	launch->grid[1] = MANDELBROT / 8;
	launch->block[1] = 8;
	SET_ARGS(launch, BUFFER(0), INT(MANDELBROT), INT(MANDELBROT), INT(MANDELBROT_LIMIT));
	job->bytes = 8.0 * MANDELBROT * MANDELBROT;
	for (int i = 0; i < MANDELBROT * MANDELBROT; i++) {
		/* a*a, +b*b, compare; -b*b, +cx; a*b, 2*+cy; i++, i < limit */
		job->lanes += 8.0 * mandelbrot_at(i % MANDELBROT, i / MANDELBROT);
	}
	job->memory = MANDELBROT * MANDELBROT;
	job->check = check_mandelbrot;
	return add_buffer(job, 0, MANDELBROT * MANDELBROT * sizeof(int));
}

static bool check_nbody(const struct cpu_job *job, void *const *results)
{
	const float(*p)[4] = job->initial[0], (*out)[3] = results[1];
	int wrong = 0;
	for (int i = 0; i < NBODY; i += 5) {
		double a[3] = {0}, size = 0;
		for (int j = 0; j < NBODY; j++) {
			double d[3], square = 1e-9;
			for (int k = 0; k < 3; k++) {
				d[k] = (double)p[j][k] - p[i][k];
				square += d[k] * d[k];
			}
			double f = p[j][3] / (square * sqrt(square));
			for (int k = 0; k < 3; k++) {
				a[k] += d[k] * f;
			}
			size += sqrt(square) * f;
		}
		for (int k = 0; k < 3; k++) {
			wrong += !(fabs(out[i][k] - a[k]) <= 1e-5 * size);
		}
	}
	return wrong == 0;
}

static bool make_nbody(struct cpu_job *job)
{
	struct cpu_launch *launch = add_launch(job, "nbody", NBODY / 256, 256);
	launch->shared_size = 256 * 4 * sizeof(float);
	SET_ARGS(launch, BUFFER(0), BUFFER(1), INT(NBODY));
	job->bytes = 40.0 * NBODY;
	job->lanes = 13.0 * NBODY * NBODY; /* the reciprocal square root is one */
	job->memory = NBODY;
	job->check = check_nbody;
	return add_floats(job, 0, 4 * NBODY) && add_buffer(job, 1, NBODY * 3 * sizeof(float));
}

static bool check_transpose(const struct cpu_job *job, void *const *results)
{
	const float *in = job->initial[0], *out = results[1];
	int wrong = 0;
	for (int i = 0; i < TRANSPOSE * TRANSPOSE; i++) {
		wrong += out[i] != in[i % TRANSPOSE * TRANSPOSE + i / TRANSPOSE];
	}
	return wrong == 0;
}

static bool make_transpose(struct cpu_job *job)
{
	enum { COUNT = TRANSPOSE * TRANSPOSE };
	struct cpu_launch *launch = add_launch(job, "transpose", TRANSPOSE / 32, 32);
	launch->grid[1] = TRANSPOSE / 32;
	launch->block[1] = 8;
	SET_ARGS(launch, BUFFER(0), BUFFER(1), INT(TRANSPOSE), INT(TRANSPOSE));
	job->bytes = 12.0 * COUNT;
	job->memory = COUNT;
	job->check = check_transpose;
	return add_floats(job, 0, COUNT) && add_buffer(job, 1, COUNT * sizeof(float));
}

static bool check_stencil(const struct cpu_job *job, void *const *results)
{
	const int nx = STENCIL_X, plane = STENCIL_X * STENCIL_Y;
	const double *a = job->initial[0], *b = results[1];
	int wrong = 0;
	for (int p = plane; p < (STENCIL_Z - 1) * plane; p++) {
		int i = p % nx, j = p / nx % STENCIL_Y;
		if (i > 0 && i < nx - 1 && j > 0 && j < STENCIL_Y - 1) {
			double sum = a[p - plane] + a[p + plane] + a[p - nx] + a[p + nx] + a[p - 1]
				+ a[p + 1] - 6 * a[p];
			wrong += !is_close(b[p], a[p] + 0.1 * sum, 1e-12);
		}
	}
	return wrong == 0;
}

static bool make_stencil(struct cpu_job *job)
{
	enum { COUNT = STENCIL_X * STENCIL_Y * STENCIL_Z };
	struct cpu_launch *launch = add_launch(job, "stencil", STENCIL_X / 32, 32);
	launch->grid[1] = STENCIL_Y / 8;
	launch->block[1] = 8;
	SET_ARGS(launch, BUFFER(0), BUFFER(1), INT(STENCIL_X), INT(STENCIL_Y), INT(STENCIL_Z),
		DOUBLE(0.1));
	job->bytes = 24.0 * COUNT;
	job->lanes = 2 * 7.0 * COUNT;
	job->memory = 2 * COUNT;
	job->check = check_stencil;
	bool made = add_buffer(job, 0, COUNT * sizeof(double))
		&& add_buffer(job, 1, COUNT * sizeof(double));
	double *a = job->initial[0];
	for (int i = 0; made && i < COUNT; i++) {
		a[i] = random_float((uint32_t)i);
	}
	return made;
}

/* Integers */

static bool check_scan(const struct cpu_job *job, void *const *results)
{
	const int *in = job->initial[0], *out = results[1];
	int64_t sum = 0, wrong = 0;
	for (int i = 0; i < SCAN; i++) {
		sum += in[i];
		wrong += out[i] != sum;
	}
	return wrong == 0;
}

static bool make_scan(struct cpu_job *job)
{
	enum { BLOCKS = SCAN / SCAN_BLOCK };
	struct cpu_launch *blocks = add_launch(job, "scan_blocks", BLOCKS, SCAN_BLOCK);
	struct cpu_launch *sums = add_launch(job, "scan_blocks", 1, BLOCKS);
	struct cpu_launch *whole = add_launch(job, "scan_add", BLOCKS, SCAN_BLOCK);
	blocks->shared_size = SCAN_BLOCK * sizeof(int);
	sums->shared_size = BLOCKS * sizeof(int);
	SET_ARGS(blocks, BUFFER(0), BUFFER(1), BUFFER(2));
	SET_ARGS(sums, BUFFER(2), BUFFER(3), {ARG_NULL, 0});
	SET_ARGS(whole, BUFFER(1), BUFFER(3));
	job->phases = 3;
	job->bytes = 12.0 * SCAN;
	job->lanes = SCAN;
	job->memory = SCAN;
	job->check = check_scan;
	return add_words(job, 0, SCAN, 0x3ff) && add_buffer(job, 1, SCAN * sizeof(int))
		&& add_buffer(job, 2, BLOCKS * sizeof(int))
		&& add_buffer(job, 3, BLOCKS * sizeof(int));
}

/* Levels by a queue, which neither the kernel nor the loop has; 0 without memory. */
static int find_levels(const int *row, const int *column, int *level)
{
	int *queue = malloc(BFS * sizeof(*queue));
	memset(level, -1, BFS * sizeof(*level));
	level[0] = 0;
	int head = 0, tail = 0, deepest = 0;
	if (!queue) {
		return 0;
	}
	queue[tail++] = 0;
	while (head < tail) {
		int v = queue[head++];
		deepest = level[v];
		for (int e = row[v]; e < row[v + 1]; e++) {
			if (level[column[e]] < 0) {
				level[column[e]] = level[v] + 1;
				queue[tail++] = column[e];
			}
		}
	}
	free(queue);
	return deepest + 1;
}

static bool check_bfs(const struct cpu_job *job, void *const *results)
{
	int *level = malloc(BFS * sizeof(*level));
	bool right = level && find_levels(job->initial[0], job->initial[1], level)
		&& memcmp(level, results[2], BFS * sizeof(*level)) == 0;
	free(level);
	return right;
}

/* Rows of different lengths, from none to twice the average. */
static bool add_rows(struct cpu_job *job, int rows, int average)
{
	bool made = add_buffer(job, 0, (size_t)(rows + 1) * sizeof(int));
	int *row = job->initial[0];
	if (made) {
		row[0] = 0;
		for (int i = 0; i < rows; i++) {
			uint32_t length = random_bits((uint32_t)i) % (uint32_t)(2 * average);
			row[i + 1] = row[i] + (int)length;
		}
	}
	return made && add_words(job, 1, row[rows], (uint32_t)rows - 1);
}

static bool make_bfs(struct cpu_job *job)
{
	if (!add_rows(job, BFS, BFS_DEGREE) || !add_buffer(job, 2, BFS * sizeof(int))) {
		return false;
	}
	int levels = find_levels(job->initial[0], job->initial[1], job->initial[2]);
	if (levels == 0 || levels > BFS_DEPTH) {
		return false;
	}
	struct cpu_launch *launch = add_launch(job, "bfs_start", BFS / 256, 256);
	SET_ARGS(launch, BUFFER(2), INT(BFS));
	for (int depth = 0; depth < levels; depth++) {
		launch = add_launch(job, "bfs", BFS / 256, 256);
		SET_ARGS(launch, BUFFER(0), BUFFER(1), BUFFER(2), INT(depth), INT(BFS));
	}
	memset(job->initial[2], 0xa5, job->sizes[2]);
	job->phases = 1 + levels;
	job->bytes = (double)(job->sizes[0] + job->sizes[1]) + 4.0 * BFS * (levels + 1);
	job->lanes = (double)job->sizes[1] / sizeof(int) + (double)BFS * levels;
	job->memory = BFS;
	job->check = check_bfs;
	return true;
}

static int compare_words(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

static bool check_bitonic(const struct cpu_job *job, void *const *results)
{
	const uint32_t *in = job->initial[0], *out = results[1];
	bool right = true;
	for (int block = 0; block < BITONIC_BLOCKS; block++) {
		uint32_t sorted[BITONIC];
		memcpy(sorted, in + block * BITONIC, sizeof(sorted));
		qsort(sorted, BITONIC, sizeof(*sorted), compare_words);
		right = right && memcmp(sorted, out + block * BITONIC, sizeof(sorted)) == 0;
	}
	return right;
}

static bool make_bitonic(struct cpu_job *job)
{
	enum { COUNT = BITONIC * BITONIC_BLOCKS, PASSES = 45 };
	struct cpu_launch *launch = add_launch(job, "bitonic", BITONIC_BLOCKS, BITONIC);
	SET_ARGS(launch, BUFFER(0), BUFFER(1));
	job->bytes = 12.0 * COUNT;
	job->lanes = (double)PASSES * COUNT; /* a minimum or a maximum for each */
	job->memory = COUNT;
	job->check = check_bitonic;
	return add_words(job, 0, COUNT, ~0u) && add_buffer(job, 1, COUNT * sizeof(uint32_t));
}

/* SHA-256 as FIPS 180-4 writes it down, with all 64 words of the schedule. */
static uint32_t rotate(uint32_t x, int by)
{
	return x >> by | x << (32 - by);
}

static void digest_block(uint32_t h[8], const uint32_t block[16])
{
	static const uint32_t k[64] = {
#include "cpu_sha256.h"
	};
	uint32_t w[64], v[8];
	memcpy(w, block, 16 * sizeof(*w));
	memcpy(v, h, sizeof(v));
	for (int t = 16; t < 64; t++) {
		w[t] = (rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7]
			+ (rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3)
			+ w[t - 16];
	}
	for (int t = 0; t < 64; t++) {
		uint32_t t1 = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25))
			+ ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[t] + w[t];
		uint32_t t2 = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22))
			+ ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++) {
		h[i] += v[i];
	}
}

static void digest_of(uint32_t h[8], const uint32_t *message)
{
	static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, end[16] = {0x80000000, [15] = 512};
	memcpy(h, start, sizeof(start));
	digest_block(h, message);
	digest_block(h, end);
}

/* The first message is 64 times the letter a, whose digest is known from elsewhere. */
static bool check_sha256(const struct cpu_job *job, void *const *results)
{
	static const uint32_t known[8] = {0xffe054fe, 0x7ae0cb6d, 0xc65c3af9, 0xb61d5209,
		0xf439851d, 0xb43d0ba5, 0x997337df, 0x154668eb};
	const uint32_t *messages = job->initial[0], *digests = results[1];
	bool right = memcmp(digests, known, sizeof(known)) == 0;
	for (int t = 0; t < SHA; t++) {
		uint32_t h[8];
		digest_of(h, messages + 16 * t);
		right = right && memcmp(h, digests + 8 * t, sizeof(h)) == 0;
	}
	return right;
}

static bool make_sha256(struct cpu_job *job)
{
	struct cpu_launch *launch = add_launch(job, "sha256", SHA / 128, 128);
	SET_ARGS(launch, BUFFER(0), BUFFER(1), INT(SHA));
	job->bytes = 128.0 * SHA;
	/* For each of two blocks 64 rounds of 14 operations, 7 additions, and 48 words of 12. */
	job->lanes = 2.0 * SHA * (64 * 21 + 48 * 12);
	job->memory = 16 * SHA;
	job->check = check_sha256;
	bool made = add_words(job, 0, 16 * SHA, ~0u)
		&& add_buffer(job, 1, 8 * SHA * sizeof(uint32_t));
	if (made) {
		memset(job->initial[0], 'a', 64);
	}
	return made;
}

/* It adds to what is there. */
static bool check_histogram(const struct cpu_job *job, void *const *results)
{
	const uint8_t *in = job->initial[0];
	uint32_t counts[256] = {0};
	for (int i = 0; i < HISTOGRAM; i++) {
		counts[in[i]]++;
	}
	return memcmp(counts, results[1], sizeof(counts)) == 0;
}

static bool make_histogram(struct cpu_job *job)
{
	struct cpu_launch *launch = add_launch(job, "histogram", 64, 256);
	SET_ARGS(launch, BUFFER(0), BUFFER(1), INT(HISTOGRAM));
	job->bytes = HISTOGRAM;
	job->lanes = HISTOGRAM;
	job->memory = HISTOGRAM / (int)sizeof(float);
	job->check = check_histogram;
	return add_words(job, 0, HISTOGRAM / (int)sizeof(uint32_t), ~0u)
		&& add_words(job, 1, 256, 0);
}

static bool check_spmv(const struct cpu_job *job, void *const *results)
{
	const int *row = job->initial[0], *column = job->initial[1];
	const double *value = job->initial[2], *x = job->initial[3], *y = results[4];
	int wrong = 0;
	for (int r = 0; r < SPMV; r++) {
		long double sum = 0;
		for (int e = row[r]; e < row[r + 1]; e++) {
			sum += (long double)value[e] * x[column[e]];
		}
		wrong += !is_close(y[r], (double)sum, 1e-12);
	}
	return wrong == 0;
}

static bool make_spmv(struct cpu_job *job)
{
	struct cpu_launch *launch = add_launch(job, "spmv", SPMV / 8, 256);
	SET_ARGS(launch, BUFFER(0), BUFFER(1), BUFFER(2), BUFFER(3), BUFFER(4), INT(SPMV));
	if (!add_rows(job, SPMV, SPMV_ROW)) {
		return false;
	}
	const int count = ((const int *)job->initial[0])[SPMV];
	bool made = add_buffer(job, 2, (size_t)count * sizeof(double))
		&& add_buffer(job, 3, SPMV * sizeof(double))
		&& add_buffer(job, 4, SPMV * sizeof(double));
	double *value = job->initial[2], *x = job->initial[3];
	for (int i = 0; made && i < count; i++) {
		value[i] = random_float((uint32_t)i);
	}
	for (int i = 0; made && i < SPMV; i++) {
		x[i] = random_float((uint32_t)i + 7);
	}
	job->bytes = 12.0 * count + 28.0 * SPMV;
	job->lanes = 2.0 * count;
	job->memory = 2 * count;
	job->check = check_spmv;
	return made;
}

static const struct {
	const char *name;
	bool (*make)(struct cpu_job *job);
	cpu_loop *loop, *loop_avx2;
	double floor;
	bool scales;
} jobs[] = {
#define LOOPS(name) loop_##name##_native, loop_##name##_avx2
	{"vecadd 16Mi", make_vecadd, LOOPS(vecadd), 1.25, false},
	{"vecadd 16Ki", make_vecadd_small, LOOPS(vecadd_small), 2, false},
	{"saxpy 16Mi", make_saxpy, LOOPS(saxpy), 1.25, false},
	{"saxpy 16Mi, grid-stride", make_saxpy_stride, LOOPS(saxpy), 3, false},
	{"matmul 512", make_matmul, LOOPS(matmul), 1.5, true},
	{"matmul 512, no tiles", make_matmul_plain, LOOPS(matmul), 0, true},
	{"shuffle reduction 16Mi", make_reduce, LOOPS(reduce), 0.8, false},
	{"mandelbrot 512", make_mandelbrot, LOOPS(mandelbrot), 0.15, true},
	{"n-body 4096", make_nbody, LOOPS(nbody), 0.1, true},
	{"transpose 2048", make_transpose, LOOPS(transpose), 0, false},
	{"3-D stencil 256x256x64", make_stencil, LOOPS(stencil), 0, false},
	{"inclusive scan 1Mi", make_scan, LOOPS(scan), 0, false},
	{"BFS 256Ki vertices", make_bfs, LOOPS(bfs), 0, false},
	{"bitonic sort 512x512", make_bitonic, LOOPS(bitonic), 0, false},
	{"SHA-256 of 16Ki messages", make_sha256, LOOPS(sha256), 0, true},
	{"histogram 4Mi, shared atomics", make_histogram, LOOPS(histogram), 0, false},
	{"sparse matrix-vector 64Ki rows", make_spmv, LOOPS(spmv), 0, false},
};

int cpu_job_count(void)
{
	return (int)(sizeof(jobs) / sizeof(jobs[0]));
}

const char *cpu_job_name(int index)
{
	return jobs[index].name;
}

bool cpu_job_open(struct cpu_job *out, int index)
{
	*out = (struct cpu_job){.name = jobs[index].name, .loop = jobs[index].loop,
		.loop_avx2 = jobs[index].loop_avx2, .floor = jobs[index].floor,
		.scales = jobs[index].scales, .phases = 1};
	if (!jobs[index].make(out)) {
		cpu_job_close(out);
		return false;
	}
	return true;
}

void cpu_job_close(struct cpu_job *job)
{
	for (int i = 0; i < JOB_BUFFERS; i++) {
		free(job->initial[i]);
		job->initial[i] = NULL;
	}
}

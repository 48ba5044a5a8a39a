/* SPDX-License-Identifier: MIT */
/*
 * The kernels of Rodinia as they are, on the CPU device, with host code of our own.
 *
 *	bench_rodinia PROGRAM    by bench/rodinia.sh, in a folder that has what it prepared
 *
 * The folder has PROGRAM.cu, the arrays that the OpenMP program began with, and its results, each a
 * file.  All rounds begin with these arrays.  The program prints the least processor time of a
 * round, in which kernels are compiled already, after it has compared the result with OpenMP's.
 */
#include "bench.h"

#include <string.h>

enum { ROUNDS = 7, MOST_BUFFERS = 8 };

static kz_device *dev;
static kz_module *module;
static kz_error err = KZ_ERROR_INIT;

static void check(kz_status st)
{
	if (st) {
		exit(bench_fail(&err));
	}
}

/* Files and buffers */

struct data {
	void *bytes;
	int64_t size;
};

static struct data load(const char *name)
{
	struct data data = {NULL, 0};
	FILE *file = fopen(name, "rb");
	if (!file || fseek(file, 0, SEEK_END) || (data.size = ftell(file)) <= 0) {
		perror(name);
		exit(EXIT_FAILURE);
	}
	rewind(file);
	data.bytes = malloc((size_t)data.size);
	if (!data.bytes || fread(data.bytes, 1, (size_t)data.size, file) != (size_t)data.size) {
		perror(name);
		exit(EXIT_FAILURE);
	}
	fclose(file);
	return data;
}

static kz_buffer *buffer_of(int64_t size)
{
	kz_buffer *buffer = NULL;
	check(kz_buffer_create(&buffer, dev, size, &err));
	return buffer;
}

static void put(kz_buffer *to, struct data from)
{
	check(kz_copy_htod(to, 0, from.bytes, from.size, &err));
}

static kz_buffer *zeros_of(int64_t size)
{
	kz_buffer *buffer = buffer_of(size);
	void *zeros = calloc(1, (size_t)size);
	put(buffer, (struct data){zeros, size});
	free(zeros);
	return buffer;
}

static kz_buffer *upload(struct data from)
{
	kz_buffer *buffer = buffer_of(from.size);
	put(buffer, from);
	return buffer;
}

static kz_kernel *kernel_of(const char *name)
{
	kz_kernel *found = NULL;
	check(kz_module_kernel(&found, module, name, &err));
	return found;
}

#define LAUNCH(kernel, grid, block, ...) \
	check(kz_launch(kernel, grid, block, NULL, &err, KZ_ARGS(__VA_ARGS__)))

/* The programs.  `begin` uploads, `run` is what is timed, and `result` is compared. */

static kz_dim3 dim(int64_t x, int64_t y)
{
	return kz_dim(x, y, 1);
}

static struct data first, second, third;
static kz_buffer *b[MOST_BUFFERS], *result;
static int64_t result_offset;

enum { NW_EXTENT = 2048, NW_BLOCK = 16, NW_PENALTY = 10 };

static void nw_begin(void)
{
	first = load("reference");
	second = load("items");
	b[0] = upload(first);
	result = b[1] = upload(second);
}

static void nw_run(void)
{
	kz_kernel *upper = kernel_of("needle_cuda_shared_1");
	kz_kernel *lower = kernel_of("needle_cuda_shared_2");
	const int width = NW_EXTENT / NW_BLOCK;
	for (int i = 1; i <= width; i++) {
		LAUNCH(upper, dim(i, 1), dim(NW_BLOCK, 1), b[0], b[1], NW_EXTENT + 1, NW_PENALTY, i,
			width);
	}
	for (int i = width - 1; i >= 1; i--) {
		LAUNCH(lower, dim(i, 1), dim(NW_BLOCK, 1), b[0], b[1], NW_EXTENT + 1, NW_PENALTY, i,
			width);
	}
}

static void nw_again(void)
{
	put(b[1], second);
}

enum { HOTSPOT_EXTENT = 1024, HOTSPOT_ROUNDS = 60, HOTSPOT_HEIGHT = 2 };

static void hotspot_begin(void)
{
	first = load("temp");
	second = load("power");
	b[0] = upload(first);
	b[1] = buffer_of(first.size);
	b[2] = upload(second);
	result = b[HOTSPOT_ROUNDS / HOTSPOT_HEIGHT % 2];
}

static void hotspot_run(void)
{
	kz_kernel *step_kernel = kernel_of("calculate_temp");
	const double chip = 0.016, thick = 0.0005, conductance = 100, heat = 1.75e6;
	const float height = (float)(chip / HOTSPOT_EXTENT), width = height;
	const float cap = (float)(0.5 * heat * thick * width * height);
	const float rx = (float)(width / (2 * conductance * thick * height));
	const float ry = (float)(height / (2 * conductance * thick * width));
	const float rz = (float)(thick / (conductance * height * width));
	const float step = (float)(0.001 / (3.0e6 / (0.5 * thick * heat)) / 1000);
	const int inner = 16 - 2 * HOTSPOT_HEIGHT;
	const int64_t blocks = (HOTSPOT_EXTENT + inner - 1) / inner;
	for (int i = 0; i < HOTSPOT_ROUNDS / HOTSPOT_HEIGHT; i++) {
		LAUNCH(step_kernel, dim(blocks, blocks), dim(16, 16), HOTSPOT_HEIGHT, b[2],
			b[i % 2], b[(i + 1) % 2], HOTSPOT_EXTENT, HOTSPOT_EXTENT, HOTSPOT_HEIGHT,
			HOTSPOT_HEIGHT, cap, rx, ry, rz, step, 0.001f);
	}
}

static void hotspot_again(void)
{
	put(b[0], first);
}

enum { PATH_COLUMNS = 100000, PATH_ROWS = 100, PATH_HEIGHT = 20, PATH_BLOCK = 256 };

static void pathfinder_begin(void)
{
	const int64_t row = PATH_COLUMNS * (int64_t)sizeof(int);
	first = load("wall");
	b[0] = buffer_of(row);
	b[1] = buffer_of(row);
	b[2] = buffer_of(first.size - row);
	check(kz_copy_htod(b[2], 0, (char *)first.bytes + row, first.size - row, &err));
	result = b[(PATH_ROWS - 1 + PATH_HEIGHT - 1) / PATH_HEIGHT % 2];
}

static void pathfinder_again(void)
{
	check(kz_copy_htod(b[0], 0, first.bytes, PATH_COLUMNS * (int64_t)sizeof(int), &err));
}

static void pathfinder_run(void)
{
	kz_kernel *rows_kernel = kernel_of("dynproc_kernel");
	const int inner = PATH_BLOCK - 2 * PATH_HEIGHT;
	for (int t = 0, i = 0; t < PATH_ROWS - 1; t += PATH_HEIGHT, i++) {
		const int left = PATH_ROWS - 1 - t;
		LAUNCH(rows_kernel, dim((PATH_COLUMNS + inner - 1) / inner, 1), dim(PATH_BLOCK, 1),
			left < PATH_HEIGHT ? left : PATH_HEIGHT, b[2], b[i % 2], b[(i + 1) % 2],
			PATH_COLUMNS, PATH_ROWS, t, PATH_HEIGHT);
	}
}

enum { SRAD_EXTENT = 2048, SRAD_ROUNDS = 2, SRAD_PART = 128,
	SRAD_ROW = SRAD_EXTENT * (int)sizeof(float) };

/* The kernels read a row before and after each array, which they do not use. */
static void srad_begin(void)
{
	first = load("image");
	result_offset = SRAD_ROW;
	for (int i = 0; i < 6; i++) {
		b[i] = zeros_of(first.size + 2 * SRAD_ROW);
	}
	result = b[0];
}

static void srad_again(void)
{
	check(kz_copy_htod(b[0], SRAD_ROW, first.bytes, first.size, &err));
}

#define SRAD_ARRAYS KZ_DEVPTR(p[1]), KZ_DEVPTR(p[2]), KZ_DEVPTR(p[3]), KZ_DEVPTR(p[4]), \
	KZ_DEVPTR(p[0]), KZ_DEVPTR(p[5])
/* The host of Rodinia has the image in its own memory for these sums. */
static void srad_run(void)
{
	kz_kernel *one = kernel_of("srad_cuda_1"), *two = kernel_of("srad_cuda_2");
	const kz_dim3 grid = dim(SRAD_EXTENT / 16, SRAD_EXTENT / 16), block = dim(16, 16);
	float *image = malloc((size_t)first.size), *p[6];
	for (int i = 0; i < 6; i++) {
		p[i] = (float *)(uintptr_t)(kz_buffer_address(b[i]) + SRAD_ROW);
	}
	for (int round = 0; image && round < SRAD_ROUNDS; round++) {
		float sum = 0, squares = 0;
		check(kz_copy_dtoh(image, first.size, b[0], SRAD_ROW, &err));
		for (int i = 0; i < SRAD_PART; i++) {
			for (int j = 0; j < SRAD_PART; j++) {
				const float x = image[i * SRAD_EXTENT + j];
				sum += x;
				squares += x * x;
			}
		}
		const float count = SRAD_PART * SRAD_PART, mean = sum / count;
		const float speckle = (squares / count - mean * mean) / (mean * mean);
		LAUNCH(one, grid, block, SRAD_ARRAYS, SRAD_EXTENT,
			SRAD_EXTENT, speckle);
		LAUNCH(two, grid, block, SRAD_ARRAYS, SRAD_EXTENT,
			SRAD_EXTENT, 0.5f, speckle);
	}
	free(image);
}

enum { LAYER_IN = 65536, LAYER_HIDDEN = 16 };

static volatile float backprop_hidden[LAYER_HIDDEN]; /* what Rodinia's host goes on with */

static void backprop_begin(void)
{
	first = load("weights");
	second = load("units");
	third = load("delta");
	b[0] = upload(second);
	b[1] = buffer_of((LAYER_HIDDEN + 1) * (int64_t)sizeof(float));
	b[2] = upload(first);
	b[3] = buffer_of(LAYER_IN * (int64_t)sizeof(float));
	b[4] = upload(third);
	b[5] = zeros_of(first.size);
	b[6] = upload(first);
	result = b[6];
}

static void backprop_again(void)
{
	put(b[2], first);
	put(b[6], first);
	kz_buffer_release(b[5]);
	b[5] = zeros_of(first.size);
}

/* The first kernel spoils the weights, so Rodinia uploads them again for the second one. */
static void backprop_run(void)
{
	const kz_dim3 grid = dim(1, LAYER_IN / 16), block = dim(16, 16);
	static float parts[LAYER_IN];
	LAUNCH(kernel_of("bpnn_layerforward_CUDA"), grid, block, b[0], b[1], b[2], b[3], LAYER_IN,
		LAYER_HIDDEN);
	check(kz_copy_dtoh(parts, sizeof(parts), b[3], 0, &err));
	for (int j = 0; j < LAYER_HIDDEN; j++) {
		float sum = ((float *)first.bytes)[j + 1];
		for (int k = 0; k < LAYER_IN / 16; k++) {
			sum += parts[k * LAYER_HIDDEN + j];
		}
		backprop_hidden[j] = (float)(1 / (1 + exp(-sum)));
	}
	LAUNCH(kernel_of("bpnn_adjust_weights_cuda"), grid, block, b[4], LAYER_HIDDEN, b[0],
		LAYER_IN, b[6], b[5]);
}

enum { LUD_EXTENT = 1024, LUD_BLOCK = 16 };

static void lud_begin(void)
{
	first = load("matrix");
	result = b[0] = upload(first);
}

static void lud_again(void)
{
	put(b[0], first);
}

static void lud_run(void)
{
	kz_kernel *diagonal = kernel_of("lud_diagonal"), *perimeter = kernel_of("lud_perimeter");
	kz_kernel *internal = kernel_of("lud_internal");
	int i = 0;
	for (; i < LUD_EXTENT - LUD_BLOCK; i += LUD_BLOCK) {
		const int left = (LUD_EXTENT - i) / LUD_BLOCK - 1;
		LAUNCH(diagonal, dim(1, 1), dim(LUD_BLOCK, 1), b[0], LUD_EXTENT, i);
		LAUNCH(perimeter, dim(left, 1), dim(2 * LUD_BLOCK, 1), b[0], LUD_EXTENT, i);
		LAUNCH(internal, dim(left, left), dim(LUD_BLOCK, LUD_BLOCK), b[0], LUD_EXTENT, i);
	}
	LAUNCH(diagonal, dim(1, 1), dim(LUD_BLOCK, 1), b[0], LUD_EXTENT, i);
}

static int64_t bfs_count;

static void bfs_begin(void)
{
	first = load("nodes");
	second = load("edges");
	bfs_count = first.size / 8;
	b[0] = upload(first);
	b[1] = upload(second);
	for (int i = 2; i < 5; i++) {
		b[i] = buffer_of(bfs_count);
	}
	result = b[5] = buffer_of(bfs_count * (int64_t)sizeof(int));
	b[6] = buffer_of(1);
}

static void bfs_again(void)
{
	char *masks = calloc(1, (size_t)bfs_count);
	int *costs = malloc((size_t)bfs_count * sizeof(int));
	if (!masks || !costs) {
		exit(EXIT_FAILURE);
	}
	memset(costs, -1, (size_t)bfs_count * sizeof(int));
	costs[0] = 0;
	put(b[3], (struct data){masks, bfs_count});
	masks[0] = 1;
	put(b[2], (struct data){masks, bfs_count});
	put(b[4], (struct data){masks, bfs_count});
	put(b[5], (struct data){costs, bfs_count * (int64_t)sizeof(int)});
	free(masks);
	free(costs);
}

static void bfs_run(void)
{
	kz_kernel *one = kernel_of("Kernel"), *two = kernel_of("Kernel2");
	const kz_dim3 grid = dim((bfs_count + 511) / 512, 1), block = dim(512, 1);
	const int count = (int)bfs_count;
	for (char goes_on = 1; goes_on;) {
		goes_on = 0;
		check(kz_copy_htod(b[6], 0, &goes_on, 1, &err));
		LAUNCH(one, grid, block, b[0], b[1], b[2], b[3], b[4], b[5], count);
		LAUNCH(two, grid, block, b[2], b[3], b[4], b[6], count);
		check(kz_copy_dtoh(&goes_on, 1, b[6], 0, &err));
	}
}

enum { POINTS = 100000, FEATURES = 34, CLUSTERS = 5 };

static int kmeans_rounds;
static float *kmeans_centers;

static void kmeans_begin(void)
{
	struct data rounds = load("rounds");
	first = load("features");
	second = load("clusters");
	kmeans_rounds = *(int *)rounds.bytes;
	kmeans_centers = malloc((size_t)second.size);
	free(rounds.bytes);
	b[0] = upload(first);
	b[1] = buffer_of(first.size);
	result = b[2] = buffer_of(POINTS * (int64_t)sizeof(int));
	const uint64_t address = kz_buffer_address(b[1]);
	check(kz_module_set_global(module, "t_features", &address, sizeof(address), &err));
	LAUNCH(kernel_of("invert_mapping"), dim((POINTS + 255) / 256, 1), dim(256, 1), b[0], b[1],
		POINTS, FEATURES);
}

static void kmeans_again(void)
{
	memcpy(kmeans_centers, second.bytes, (size_t)second.size);
}

static void kmeans_run(void)
{
	static int members[POINTS];
	/* The least whose square, times 256, is not below POINTS. */
	const int64_t extent = 20;
	const float *features = first.bytes;
	for (int round = 0; round < kmeans_rounds; round++) {
		int counts[CLUSTERS] = {0};
		float sums[CLUSTERS][FEATURES] = {{0}};
		check(kz_module_set_global_at(module, "c_clusters", 0, kmeans_centers, second.size,
			&err));
		LAUNCH(kernel_of("kmeansPoint"), dim(extent, extent), dim(256, 1), b[1], FEATURES,
			POINTS, CLUSTERS, b[2], b[1], b[1], b[2]);
		check(kz_copy_dtoh(members, sizeof(members), b[2], 0, &err));
		for (int i = 0; i < POINTS; i++) {
			counts[members[i]]++;
			for (int j = 0; j < FEATURES; j++) {
				sums[members[i]][j] += features[i * FEATURES + j];
			}
		}
		for (int k = 0; k < CLUSTERS; k++) {
			for (int j = 0; j < FEATURES && counts[k]; j++) {
				kmeans_centers[k * FEATURES + j] = sums[k][j] / (float)counts[k];
			}
		}
	}
}

#define PROGRAM(name, is_int, limit, share, ...) {#name, name##_begin, name##_again, name##_run, \
	is_int, limit, share, __VA_ARGS__}
static const struct program {
	const char *name;
	void (*begin)(void), (*again)(void), (*run)(void);
	int is_int;
	double limit; /* floats: of a difference, as a share of the largest element */
	double share; /* integers: of those that may differ */
	int extent, edge; /* of a square, and how much of its edge is not compared */
} programs[] = {
	PROGRAM(nw, 1, 0, 0, .edge = 0),
	PROGRAM(hotspot, 0, 1e-4, 0,
		/* OpenMP's version leaves a value of the cell before in cells near the edge. */
		.extent = HOTSPOT_EXTENT, .edge = 16 + HOTSPOT_ROUNDS),
	PROGRAM(pathfinder, 1, 0, 0, .edge = 0),
	PROGRAM(srad, 0, 1e-3, 0, .edge = 0),
	PROGRAM(backprop, 0, 1e-4, 0, .edge = 0),
	PROGRAM(lud, 0, 1e-3, 0, .edge = 0),
	PROGRAM(bfs, 1, 0, 0, .edge = 0),
	PROGRAM(kmeans, 1, 0, 1e-3, .edge = 0),
};

static int is_near(int64_t i, const struct program *program)
{
	return i < program->edge || i >= program->extent - program->edge;
}

/* Compare the result with OpenMP's. */
static int compare(const struct program *program)
{
	struct data want = load("result");
	const int64_t count = want.size / 4;
	int64_t wrong = 0;
	double most = 0, largest = 0;
	void *got = malloc((size_t)want.size);
	const int *is = got, *ints = want.bytes;
	const float *fs = got, *floats = want.bytes;
	check(kz_copy_dtoh(got, want.size, result, result_offset, &err));
	for (int64_t i = 0; i < count; i++) {
		if (program->edge && (is_near(i % program->extent, program)
			|| is_near(i / program->extent, program))) {
			continue;
		}
		const double x = program->is_int ? is[i] : fs[i];
		const double y = program->is_int ? ints[i] : floats[i];
		largest = fmax(largest, fabs(y));
		most = fmax(most, fabs(x - y));
		wrong += program->is_int && x != y;
	}
	const int fails = program->is_int ? (double)wrong > program->share * (double)count
		: !(most <= program->limit * largest);
	if (fails) {
		fprintf(stderr, "%s: of %lld elements up to %g, %lld differ, by up to %g\n",
			program->name, (long long)count, largest, (long long)wrong, most);
	}
	free(got);
	free(want.bytes);
	return fails ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int measure(const struct program *program)
{
	char path[80];
	double least = INFINITY;
	snprintf(path, sizeof(path), "%s.cu", program->name);
	check(kz_device_open(&dev, "cpu", &err));
	check(kz_module_compile_file(&module, dev, path, NULL, &err));
	program->begin();
	for (int round = -2; round < ROUNDS; round++) {
		program->again();
		check(kz_device_synchronize(dev, &err));
		const double start = bench_cpu();
		program->run();
		check(kz_device_synchronize(dev, &err));
		if (round >= 0) {
			least = fmin(least, bench_cpu() - start);
		}
	}
	const int status = compare(program);
	printf("seconds %.9f\n", least);
	kz_device_close(dev);
	return status;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (argc == 2 && strcmp(argv[1], programs[i].name) == 0) {
			return measure(&programs[i]);
		}
	}
	fprintf(stderr, "usage: bench_rodinia PROGRAM, in the folder that bench/rodinia.sh made\n");
	return EXIT_FAILURE;
}

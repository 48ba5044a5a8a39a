/* SPDX-License-Identifier: MIT */
/*
 * Tuning: let the library try how many threads a block has and how many elements a thread works on,
 * and launch what was the fastest.
 *
 * The kernel sums the 2 * RADIUS + 1 neighbours of each element, from a tile in shared memory.  The
 * size of the tile is a macro, so each configuration is compiled.  The first run of this program
 * tries all of them; a later run finds the best one in the cache and tries nothing.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { COUNT = 100000, RADIUS = 8 };

/* part: kernel */
static const char source[] =
	"#define RADIUS 8\n"
	"#define TILE (BLOCK * ITEMS)\n"
	"__global__ void blur(const int *in, int *out, int n)\n"
	"{\n"
	"	__shared__ int tile[TILE + 2 * RADIUS];\n"
	"	int first = blockIdx.x * TILE;\n"
	"	for (int i = threadIdx.x; i < TILE + 2 * RADIUS; i += BLOCK) {\n"
	"		tile[i] = in[min(max(first + i - RADIUS, 0), n - 1)];\n"
	"	}\n"
	"	__syncthreads();\n"
	"	for (int i = threadIdx.x; i < TILE && first + i < n; i += BLOCK) {\n"
	"		int sum = 0;\n"
	"		for (int k = 0; k <= 2 * RADIUS; k++) {\n"
	"			sum += tile[i + k];\n"
	"		}\n"
	"		out[first + i] = sum;\n"
	"	}\n"
	"}\n";
/* part: end */

/* The arrays, and the same sums by the host. */
struct blur {
	kz_array *in, *out;
	int expected[COUNT];
	int got[COUNT];
};

/* part: accept */
/* Tiles of more than 1024 elements are not worth a trial. */
static int accepts(void *user, kz_tune_config *config)
{
	(void)user;
	return kz_tune_value(config, "BLOCK") * kz_tune_value(config, "ITEMS") <= 1024;
}
/* part: check */
/* A configuration with wrong results is never the best. */
static int is_right(void *user, const kz_tune_config *config)
{
	struct blur *blur = user;
	(void)config;
	CHECK(kz_array_get(blur->out, blur->got, sizeof(blur->got), &err));
	for (int i = 0; i < COUNT; i++) {
		if (blur->got[i] != blur->expected[i]) {
			return 0;
		}
	}
	return 1;
}
/* part: end */

static int element(int i)
{
	return i < 0 ? element(0) : i >= COUNT ? element(COUNT - 1) : i * 7919 % 1001;
}

static void make_arrays(struct blur *blur, kz_device *dev)
{
	static int host[COUNT];
	for (int i = 0; i < COUNT; i++) {
		host[i] = element(i);
		for (int k = -RADIUS; k <= RADIUS; k++) {
			blur->expected[i] += element(i + k);
		}
	}
	CHECK(kz_array_from(&blur->in, dev, KZ_FROM(host), &err));
	CHECK(kz_array_zeros(&blur->out, dev, KZ_I32, KZ_SHAPE(COUNT), &err));
}

/* part: tune */
/* The best configuration of the kernel: kept by an earlier run, or found by trials. */
static kz_tuning *tune(kz_device *dev, struct blur *blur)
{
	const kz_tune_parameter parameters[] = {
		KZ_TUNE_VALUES(KZ_TUNE_BLOCK_X, "BLOCK", 64, 128, 256),
		KZ_TUNE_ITEMS(KZ_TUNE_MACRO, 1, "ITEMS", 1, 2, 4, 8),
	};
	kz_tunable tunable = KZ_TUNABLE_INIT;
	kz_tuning *tuning = NULL;
	tunable.source = source;
	tunable.kernel = "blur";
	tunable.parameters = parameters;
	tunable.parameter_count = 2;
	tunable.accept = accepts;
	CHECK(kz_tune(&tuning, dev, &tunable, KZ_DIM(COUNT),
		KZ_WITH(kz_tune_options, .use_kept = 1, .check = is_right, .user = blur), &err,
		KZ_ARGS(blur->in, blur->out, COUNT)));
	return tuning;
}
/* part: end */

int main(void)
{
	static struct blur blur;
	kz_tuning_info info = KZ_TUNING_INFO_INIT;
	kz_device *dev = NULL;
	long long sum = 0;
	CHECK(kz_device_open(&dev, NULL, &err));
	make_arrays(&blur, dev);
	kz_tuning *tuning = tune(dev, &blur);
	CHECK(kz_tuning_describe(tuning, &info, &err));
	fprintf(stderr, "%lld configurations, %lld skipped, %lld tried%s\n",
		(long long)info.configurations, (long long)info.skipped, (long long)info.tried,
		info.kept ? ": the best one was kept" : "");
	CHECK(kz_tuning_print(tuning, stderr, &err));

	/* The trials have left the arrays as they were. */
	CHECK(kz_tuning_launch(tuning, KZ_DIM(COUNT), NULL, &err,
		KZ_ARGS(blur.in, blur.out, COUNT)));
	CHECK(kz_array_get(blur.out, blur.got, sizeof(blur.got), &err));
	for (int i = 0; i < COUNT; i++) {
		sum += (long long)blur.got[i] * (i % 10);
	}
	printf("first: %d %d %d\n", blur.got[0], blur.got[1], blur.got[2]);
	printf("last: %d\n", blur.got[COUNT - 1]);
	printf("weighted sum: %lld\n", sum);
	kz_release_all(tuning, blur.in, blur.out, dev);
	return 0;
}

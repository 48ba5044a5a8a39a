/* SPDX-License-Identifier: MIT */
/*
 * The host time of a checked launch of six arguments, over the driver call inside it.
 *
 *	bench_launch kudzu|bare COUNT   launch COUNT times; bench/launch.sh counts instructions
 *	bench_launch pairs              time batches of both, taking turns
 *
 * `kudzu` is what a program does: no context is current, so each launch makes its own current.
 * `bare` is cuLaunchKernel itself, with a current context and finished arguments.
 */
#include "driver.h"

#include <string.h>

/* A driver may queue about a thousand launches before it makes the caller wait. */
enum { ROUNDS = 41, BATCH = 500, WARM_UP = 1000 };

static const char source[] =
	"__global__ void six(float a, const float *x, float *y, int n, long long step, "
	"double b) {}\n";

struct bench {
	kz_device *dev;
	kz_module *mod;
	kz_kernel *kernel;
	kz_array *x;
	kz_array *y;
	struct driver driver;
	kz_error err;
};

static int batch_kudzu(struct bench *b, long count)
{
	for (long i = 0; i < count; i++) {
		if (kz_launch(b->kernel, kz_dim(1, 1, 1), kz_dim(32, 1, 1), NULL, &b->err,
			KZ_ARGS(2.0f, b->x, b->y, 16, 1LL, 0.5))) {
			return -1;
		}
	}
	return 0;
}

static int batch_bare(struct bench *b, long count)
{
	void *kernel = kz_kernel_handle(b->kernel);
	void *stream = kz_stream_handle(kz_device_stream(b->dev));
	for (long i = 0; i < count; i++) {
		float a = 2.0f;
		uint64_t x = kz_array_address(b->x), y = kz_array_address(b->y);
		int n = 16;
		long long step = 1;
		double half = 0.5;
		void *params[] = {&a, &x, &y, &n, &step, &half};
		if (b->driver.launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL)) {
			return -1;
		}
	}
	return 0;
}

static kz_status prepare(struct bench *b)
{
	kz_status st = kz_device_open(&b->dev, "cuda", &b->err);
	st = st ? st : kz_module_compile(&b->mod, b->dev, source, NULL, &b->err);
	st = st ? st : kz_module_kernel(&b->kernel, b->mod, "six", &b->err);
	st = st ? st : kz_array_zeros(&b->x, b->dev, KZ_F32, KZ_SHAPE(16), &b->err);
	st = st ? st : kz_array_zeros(&b->y, b->dev, KZ_F32, KZ_SHAPE(16), &b->err);
	return st ? st : kz_device_synchronize(b->dev, &b->err);
}

/* Launch `count` times; *ns is set to the time of each, the driver's own work not counted. */
static int run_batch(struct bench *b, int bare, long count, double *ns)
{
	if (b->driver.set_current(bare ? b->driver.context : NULL)) {
		return -1;
	}
	double start = bench_now();
	int failed = bare ? batch_bare(b, count) : batch_kudzu(b, count);
	*ns = (bench_now() - start) * 1e9 / (double)count;
	return failed || kz_device_synchronize(b->dev, &b->err);
}

static int run_pairs(struct bench *b)
{
	double ns[2][ROUNDS], ratio[ROUNDS], warm;
	if (run_batch(b, 0, WARM_UP, &warm) || run_batch(b, 1, WARM_UP, &warm)) {
		return -1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int turn = 0; turn < 2; turn++) {
			int bare = turn ^ (round & 1);
			if (run_batch(b, bare, BATCH, &ns[bare][round])) {
				return -1;
			}
		}
		ratio[round] = ns[0][round] / ns[1][round];
	}
	bench_report("launch", "kudzu", "ns", ns[0], ROUNDS);
	bench_report("launch", "bare", "ns", ns[1], ROUNDS);
	bench_report("launch", "kudzu/bare", "ratio", ratio, ROUNDS);
	return 0;
}

int main(int argc, char **argv)
{
	int pairs = argc == 2 && strcmp(argv[1], "pairs") == 0;
	int bare = argc == 3 && strcmp(argv[1], "bare") == 0;
	if (!pairs && !bare && !(argc == 3 && strcmp(argv[1], "kudzu") == 0)) {
		fprintf(stderr, "usage: bench_launch kudzu|bare COUNT, or bench_launch pairs\n");
		return 2;
	}

	struct bench b = {.err = KZ_ERROR_INIT};
	double ns;
	if (prepare(&b)) {
		return bench_fail(&b.err);
	}
	int failed = driver_find(&b.driver)
		|| (pairs ? run_pairs(&b) : run_batch(&b, bare, atol(argv[2]), &ns));
	if (failed) {
		fprintf(stderr, "bench_launch: the driver refused\n");
		kz_error_print(&b.err, stderr);
	}
	if (b.driver.context) {
		b.driver.release(0);
	}
	kz_error_clear(&b.err);
	kz_array_release(b.x);
	kz_array_release(b.y);
	kz_module_release(b.mod);
	kz_device_close(b.dev);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

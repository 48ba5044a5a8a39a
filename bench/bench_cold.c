/* SPDX-License-Identifier: MIT */
/*
 * The time of each step from the start of a process to the result of a kernel, cold and warm.
 *
 *	bench_cold [DEVICE]     DEVICE as kz_device_open takes it; "cpu" if left out
 *
 * The program starts itself again for every sample.  The child notes the time after each step, on
 * a clock that both share.  Cold processes have no cache.  Warm ones have a cache folder that an
 * earlier process filled.  The two take turns.  Files are in the page cache.
 */
#include "bench.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 21 };

/* What ends at each time that the child notes. */
enum step { START, OPEN, COMPILE, KERNEL, RUN, LOAD, STEPS };

static const char *const step_names[STEPS] = {
	[START] = "process start to main",
	[OPEN] = "kz_device_open",
	[COMPILE] = "kz_module_compile",
	[KERNEL] = "kz_module_kernel",
	[RUN] = "kz_array_from, kz_launch, kz_array_get",
	[LOAD] = "kz_module_load of the same image, after the result",
};

/* The README's kernel; and one that takes a code generator long: 45 steps of a sort, unrolled. */
static const struct kernel {
	const char *name;
	const char *source;
	int64_t count;
} kernels[] = {
	{"doublify", "extern \"C\" __global__ void doublify(float *a)\n"
		"{\n"
		"	int i = threadIdx.x + threadIdx.y * 4;\n"
		"	a[i] *= 2;\n"
		"}\n", 16},
	{"bitonic", "extern \"C\" __global__ void bitonic(float *a)\n"
		"{\n"
		"	__shared__ float s[512];\n"
		"	int i = threadIdx.x;\n"
		"	s[i] = a[i];\n"
		"	#pragma unroll\n"
		"	for (int k = 2; k <= 512; k *= 2) {\n"
		"		#pragma unroll\n"
		"		for (int j = k / 2; j > 0; j /= 2) {\n"
		"			__syncthreads();\n"
		"			int o = i ^ j;\n"
		"			float x = s[i], y = s[o];\n"
		"			if (o > i && (x > y) == ((i & k) == 0)) {\n"
		"				s[i] = y;\n"
		"				s[o] = x;\n"
		"			}\n"
		"		}\n"
		"	}\n"
		"	__syncthreads();\n"
		"	a[i] = s[i];\n"
		"}\n", 512},
};

enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]), MOST = 512 };

struct hero {
	kz_device *dev;
	kz_module *mod;
	kz_module *again;
	kz_kernel *kernel;
	kz_array *a;
	float host[MOST];
};

static kz_status run_hero(struct hero *h, const struct kernel *k, const char *device,
	double ends[STEPS], kz_error *err)
{
	size_t size = (size_t)k->count * sizeof(*h->host);
	kz_dim3 block = k->count == 16 ? kz_dim(4, 4, 1) : kz_dim(k->count, 1, 1);
	ends[START] = bench_now();
	kz_status st = kz_device_open(&h->dev, device, err);
	ends[OPEN] = bench_now();
	st = st ? st : kz_module_compile(&h->mod, h->dev, k->source, NULL, err);
	ends[COMPILE] = bench_now();
	st = st ? st : kz_module_kernel(&h->kernel, h->mod, k->name, err);
	ends[KERNEL] = bench_now();
	st = st ? st : kz_array_from(&h->a, h->dev, KZ_F32, KZ_SHAPE(k->count), h->host, size, err);
	st = st ? st : kz_launch(h->kernel, kz_dim(1, 1, 1), block, NULL, err, KZ_ARGS(h->a));
	st = st ? st : kz_array_get(h->a, h->host, size, err);
	ends[RUN] = bench_now();
	if (!st) {
		int64_t image_size;
		const void *image = kz_module_image(h->mod, &image_size);
		st = kz_module_load(&h->again, h->dev, image, image_size, err);
		ends[LOAD] = bench_now();
	}
	return st;
}

/* What stood at i is i * 37 modulo the count, which each number is once. */
static int is_right(const struct hero *h, const struct kernel *k)
{
	int right = 1;
	for (int64_t i = 0; i < k->count; i++) {
		float want = k->count == 16 ? (float)(i * 37 % k->count * 2) : (float)i;
		right = right && h->host[i] == want;
	}
	return right;
}

/* The child: writes the times to its standard output. */
static int run_child(const char *device, const struct kernel *k)
{
	double ends[STEPS];
	struct hero h = {0};
	kz_error err = KZ_ERROR_INIT;
	for (int64_t i = 0; i < k->count; i++) {
		h.host[i] = (float)(i * 37 % k->count);
	}
	if (run_hero(&h, k, device, ends, &err)) {
		return bench_fail(&err);
	}
	int right = is_right(&h, k);
	kz_array_release(h.a);
	kz_module_release(h.again);
	kz_module_release(h.mod);
	kz_device_close(h.dev);
	return right && write(STDOUT_FILENO, ends, sizeof(ends)) == sizeof(ends) ? 0 : EXIT_FAILURE;
}

/* Start a child and read its times, in ms: of all until the result, then of each step.  Returns 0
 * if it succeeded. */
static int run_sample(const char *device, const struct kernel *k, double sample[1 + STEPS])
{
	int ends_of_pipe[2], status;
	double ends[STEPS];
	if (pipe(ends_of_pipe)) {
		return -1;
	}
	double begin = bench_now();
	pid_t child = fork();
	if (child == 0) {
		dup2(ends_of_pipe[1], STDOUT_FILENO);
		close(ends_of_pipe[0]);
		close(ends_of_pipe[1]);
		execl("/proc/self/exe", "bench_cold", "--child", device, k->name, (char *)NULL);
		_exit(127);
	}
	close(ends_of_pipe[1]);
	int complete = child > 0 && read(ends_of_pipe[0], ends, sizeof(ends)) == sizeof(ends);
	close(ends_of_pipe[0]);
	for (int step = 0; complete && step < STEPS; step++) {
		sample[1 + step] = 1e3 * (ends[step] - (step ? ends[step - 1] : begin));
	}
	sample[0] = complete ? 1e3 * (ends[RUN] - begin) : 0;
	return child > 0 && waitpid(child, &status, 0) == child && status == 0 && complete ? 0 : -1;
}

static void report(const char *name, double samples[1 + STEPS][ROUNDS])
{
	bench_report(name, "process start to result", "ms", samples[0], ROUNDS);
	for (int step = 0; step < STEPS; step++) {
		bench_report(name, step_names[step], "ms", samples[1 + step], ROUNDS);
	}
}

/* Cold and warm in turns, after a first process that fills the cache. */
static int run_kernel(const char *device, const struct kernel *k)
{
	static double samples[2][1 + STEPS][ROUNDS];
	double sample[1 + STEPS], ratios[ROUNDS];
	for (int round = -1; round < ROUNDS; round++) {
		for (int warm = 0; warm < 2; warm++) {
			setenv("KUDZU_CACHE", warm ? "1" : "0", 1);
			if (run_sample(device, k, sample)) {
				return -1;
			}
			for (int i = 0; i < 1 + STEPS && round >= 0; i++) {
				samples[warm][i][round] = sample[i];
			}
		}
		if (round >= 0) {
			ratios[round] = samples[1][0][round] / samples[0][0][round];
		}
	}
	char name[64];
	for (int warm = 0; warm < 2; warm++) {
		snprintf(name, sizeof(name), "%s %s%s%s", warm ? "warm" : "cold", device,
			k == kernels ? "" : " ", k == kernels ? "" : k->name);
		report(name, samples[warm]);
	}
	bench_report(name, "process start to result, over cold", "", ratios, ROUNDS);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 0; argc == 4 && i < KERNELS; i++) {
		if (strcmp(argv[3], kernels[i].name) == 0) {
			return run_child(argv[2], &kernels[i]);
		}
	}
	char folder[] = "/tmp/kudzu-bench-XXXXXX";
	if (!mkdtemp(folder)) {
		perror(folder);
		return EXIT_FAILURE;
	}
	setenv("KUDZU_CACHE_DIR", folder, 1);
	int failed = 0;
	for (int i = 0; i < KERNELS && !failed; i++) {
		failed = run_kernel(argc > 1 ? argv[1] : "cpu", &kernels[i]);
	}
	bench_remove(folder);
	if (failed) {
		fprintf(stderr, "bench_cold: a child failed\n");
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

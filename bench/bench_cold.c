/* SPDX-License-Identifier: MIT */
/*
 * From the start of a process to the result of doublify, cold: what each step takes.
 *
 *	bench_cold [DEVICE]     DEVICE as kz_device_open takes it; "cpu" if left out
 *
 * It starts itself again for every sample; the child notes the time after each step, on the clock
 * that both share.  Nothing is cached between them but files in the page cache.
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

static const char source[] =
	"extern \"C\" __global__ void doublify(float *a)\n"
	"{\n"
	"	int i = threadIdx.x + threadIdx.y * 4;\n"
	"	a[i] *= 2;\n"
	"}\n";

struct hero {
	kz_device *dev;
	kz_module *mod;
	kz_module *again;
	kz_kernel *kernel;
	kz_array *a;
};

static kz_status run_hero(struct hero *h, const char *device, double ends[STEPS], kz_error *err)
{
	float host[16] = {1, 2, 3};
	ends[START] = bench_now();
	kz_status st = kz_device_open(&h->dev, device, err);
	ends[OPEN] = bench_now();
	st = st ? st : kz_module_compile(&h->mod, h->dev, source, NULL, err);
	ends[COMPILE] = bench_now();
	st = st ? st : kz_module_kernel(&h->kernel, h->mod, "doublify", err);
	ends[KERNEL] = bench_now();
	st = st ? st : kz_array_from(&h->a, h->dev, KZ_F32, KZ_SHAPE(4, 4), host, sizeof(host), err);
	st = st ? st : kz_launch(h->kernel, kz_dim(1, 1, 1), kz_dim(4, 4, 1), NULL, err,
		KZ_ARGS(h->a));
	st = st ? st : kz_array_get(h->a, host, sizeof(host), err);
	ends[RUN] = bench_now();
	if (!st) {
		int64_t size;
		const void *image = kz_module_image(h->mod, &size);
		st = kz_module_load(&h->again, h->dev, image, size, err);
		ends[LOAD] = bench_now();
	}
	return st;
}

/* The child: writes the times to its standard output. */
static int run_child(const char *device)
{
	double ends[STEPS];
	struct hero h = {0};
	kz_error err = KZ_ERROR_INIT;
	if (run_hero(&h, device, ends, &err)) {
		return bench_fail(&err);
	}
	kz_array_release(h.a);
	kz_module_release(h.again);
	kz_module_release(h.mod);
	kz_device_close(h.dev);
	return write(STDOUT_FILENO, ends, sizeof(ends)) == sizeof(ends) ? 0 : EXIT_FAILURE;
}

/* Start a child and read its times; returns 0 if it succeeded. */
static int run_sample(const char *self, const char *device, double *begin, double ends[STEPS])
{
	int ends_of_pipe[2], status;
	if (pipe(ends_of_pipe)) {
		return -1;
	}
	*begin = bench_now();
	pid_t child = fork();
	if (child == 0) {
		dup2(ends_of_pipe[1], STDOUT_FILENO);
		close(ends_of_pipe[0]);
		close(ends_of_pipe[1]);
		execl(self, self, "--child", device, (char *)NULL);
		_exit(127);
	}
	close(ends_of_pipe[1]);
	size_t size = STEPS * sizeof(*ends);
	int complete = child > 0 && read(ends_of_pipe[0], ends, size) == (ssize_t)size;
	close(ends_of_pipe[0]);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0 && complete ? 0 : -1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--child") == 0) {
		return run_child(argv[2]);
	}
	const char *device = argc > 1 ? argv[1] : "cpu";
	double steps[STEPS][ROUNDS], total[ROUNDS];
	char name[64];
	for (int round = 0; round < ROUNDS; round++) {
		double begin, ends[STEPS];
		if (run_sample("/proc/self/exe", device, &begin, ends)) {
			fprintf(stderr, "bench_cold: a child failed\n");
			return EXIT_FAILURE;
		}
		for (int step = 0; step < STEPS; step++) {
			steps[step][round] = 1e3 * (ends[step] - (step ? ends[step - 1] : begin));
		}
		total[round] = 1e3 * (ends[RUN] - begin);
	}
	snprintf(name, sizeof(name), "cold %s", device);
	bench_report(name, "process start to result", "ms", total, ROUNDS);
	for (int step = 0; step < STEPS; step++) {
		bench_report(name, step_names[step], "ms", steps[step], ROUNDS);
	}
	return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
/*
 * What a compile costs that was done before.
 *
 *	bench_hits
 *
 * A process compiles texts of 4 KB, each another one, and the last one again and again: from memory.
 * A second process compiles the same texts: from disk.  With nvcc there, also what PyCUDA does before
 * it looks into its cache when a text has an #include: `nvcc --preprocess`.
 */
#include "bench.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXTS = 31, ROUNDS = 41, MEMORY_LOOPS = 1000, NVCC_ROUNDS = 5, TEXT_SIZE = 4096 };

static const char *const kinds[] = {"no header", "cuda_fp16.h", "cub/block/block_reduce.cuh"};
static const int counts[] = {TEXTS, TEXTS, 5};

/* 4 KB: an include, a number, comments, a kernel. */
static void write_text(char text[TEXT_SIZE + 1], int kind, int number)
{
	static const char kernel[] = "extern \"C\" __global__ void k(int *p) { *p = N; }\n";
	int len = kind ? snprintf(text, TEXT_SIZE, "#include <%s>\n", kinds[kind]) : 0;
	len += snprintf(text + len, (size_t)(TEXT_SIZE - len), "#define N %d\n//", number);
	memset(text + len, 'x', (size_t)(TEXT_SIZE - len));
	text[TEXT_SIZE] = '\0';
	memcpy(text + TEXT_SIZE - sizeof(kernel), "\n", 1);
	memcpy(text + TEXT_SIZE - sizeof(kernel) + 1, kernel, sizeof(kernel) - 1);
}

/* Compile; the time in microseconds, -1 on failure. */
static double compile(const char *text)
{
	kz_error err = KZ_ERROR_INIT;
	kz_image *image = NULL;
	double start = bench_now();
	if (kz_compile(&image, text, NULL, &err)) {
		kz_error_print(&err, stderr);
		kz_error_clear(&err);
		return -1;
	}
	double time = (bench_now() - start) * 1e6;
	kz_image_release(image);
	return time;
}

/* Compile the texts; the median, -1 on failure.  The first one loads what is to be loaded. */
static double compile_all(int kind, const char *what)
{
	char text[TEXT_SIZE + 1], name[80];
	double times[TEXTS];
	for (int i = -1; i < counts[kind]; i++) {
		write_text(text, kind, i + 1);
		double time = compile(text);
		if (time < 0) {
			return -1;
		}
		times[i < 0 ? 0 : i] = time;
	}
	snprintf(name, sizeof(name), "hits: %s", kinds[kind]);
	bench_report(name, what, "us", times, counts[kind]);
	return times[counts[kind] / 2];
}

static void compile_from_memory(int kind)
{
	char text[TEXT_SIZE + 1], name[80];
	double times[ROUNDS];
	write_text(text, kind, counts[kind]);
	for (int i = 0; i < ROUNDS; i++) {
		int loops = kind ? 20 : MEMORY_LOOPS;
		double start = bench_now();
		for (int j = 0; j < loops; j++) {
			compile(text);
		}
		times[i] = (bench_now() - start) * 1e6 / loops;
	}
	snprintf(name, sizeof(name), "hits: %s", kinds[kind]);
	bench_report(name, "memory", "us", times, ROUNDS);
}

static void report_ratio(int kind, const char *what, double ratio)
{
	char name[80];
	snprintf(name, sizeof(name), "hits: %s", kinds[kind]);
	bench_report(name, what, "ratio", &ratio, 1);
}

/* The preprocessor's time in microseconds; -1 if there is none. */
static double preprocess(int kind)
{
	char text[TEXT_SIZE + 1], path[] = "/tmp/bench-hits-XXXXXX.cu", command[120], name[80];
	double times[NVCC_ROUNDS];
	int fd = mkstemps(path, 3);
	write_text(text, kind, 1);
	int failed = fd < 0 || write(fd, text, TEXT_SIZE) != TEXT_SIZE;
	snprintf(command, sizeof(command), "nvcc --preprocess %s >/dev/null 2>&1", path);
	for (int i = 0; i < NVCC_ROUNDS && !failed; i++) {
		double start = bench_now();
		failed = system(command) != 0;
		times[i] = (bench_now() - start) * 1e6;
	}
	close(fd);
	unlink(path);
	if (failed) {
		return -1;
	}
	snprintf(name, sizeof(name), "hits: %s", kinds[kind]);
	bench_report(name, "nvcc --preprocess", "us", times, NVCC_ROUNDS);
	return times[NVCC_ROUNDS / 2];
}

static int run_disk(int kind, double cold)
{
	double disk = compile_all(kind, "disk");
	if (disk < 0) {
		return EXIT_FAILURE;
	}
	report_ratio(kind, "disk/compile", disk / cold);
	double other = kind ? preprocess(kind) : -1;
	if (other > 0) {
		report_ratio(kind, "disk/preprocess", disk / other);
	}
	return EXIT_SUCCESS;
}

/* This program again, in a new process, with the kind and what a compile costs. */
static int run_second(int kind, double cold)
{
	char which[16], cost[32];
	int status = 1;
	snprintf(which, sizeof(which), "%d", kind);
	snprintf(cost, sizeof(cost), "%.1f", cold);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		execl("/proc/self/exe", "bench_hits", which, cost, (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/bench-hits-XXXXXX";
	int status = EXIT_SUCCESS;
	if (argc == 3) {
		return run_disk((int)strtol(argv[1], NULL, 10), strtod(argv[2], NULL));
	}
	if (!mkdtemp(folder)) {
		return EXIT_FAILURE;
	}
	setenv("KUDZU_CACHE_DIR", folder, 1);
	setenv("KUDZU_CACHE", "1", 1);
	for (int kind = 0; kind < 3 && status == EXIT_SUCCESS; kind++) {
		double cold = compile_all(kind, "compile");
		status = EXIT_FAILURE;
		if (cold > 0) {
			compile_from_memory(kind);
			status = run_second(kind, cold);
		}
	}
	bench_remove(folder);
	return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * The time of a new compile in a new process, over that of nvcc, which PyCUDA starts for each
 * compile.
 *
 *	bench_nvcc      says so and does nothing where there is no nvcc
 *
 * Both make a cubin for one architecture of the same text, from the start of a process to its
 * end, taking turns.  A number in each text makes it new, and nothing is kept.
 */
#include "bench.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 15, TEXT_SIZE = 400 };

static const char *const includes[] = {"", "#include <cuda_fp16.h>\n"};
static const char *const names[] = {"over nvcc: saxpy", "over nvcc: saxpy with cuda_fp16.h"};

static void write_text(char text[TEXT_SIZE], int kind, long number)
{
	snprintf(text, TEXT_SIZE, "%s"
		"extern \"C\" __global__ void saxpy(float a, const float *x, float *y, int n)\n"
		"{\n"
		"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
		"	if (i < n) { y[i] += a * x[i] + %ld; }\n"
		"}\n", includes[kind], number);
}

static int compile_here(int kind, long number)
{
	char text[TEXT_SIZE];
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_error err = KZ_ERROR_INIT;
	kz_image *image = NULL;
	write_text(text, kind, number);
	options.arch = "sm_90";
	if (kz_compile(&image, text, &options, &err)) {
		return bench_fail(&err);
	}
	kz_image_release(image);
	return EXIT_SUCCESS;
}

/* Seconds from start to end, and of the processor; 0 if it succeeded. */
static int run_process(char *const *arguments, double *wall, double *processor)
{
	int status = 1;
	struct rusage used = {0};
	double begin = bench_now();
	pid_t child = fork();
	if (child == 0) {
		execvp(arguments[0], arguments);
		_exit(127);
	}
	pid_t ended = child > 0 ? wait4(child, &status, 0, &used) : -1;
	*wall = bench_now() - begin;
	*processor = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec)
		+ 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	return ended == child && status == 0 ? 0 : -1;
}

static int run_nvcc(const char *folder, int kind, long number, double *wall, double *processor)
{
	char text[TEXT_SIZE], path[64], cubin[64];
	snprintf(path, sizeof(path), "%s/kernel.cu", folder);
	snprintf(cubin, sizeof(cubin), "%s/kernel.cubin", folder);
	write_text(text, kind, number);
	FILE *file = fopen(path, "w");
	int failed = !file || fputs(text, file) < 0;
	failed = !file || fclose(file) || failed;
	char *arguments[] = {"nvcc", "--cubin", "-arch=sm_90", "-o", cubin, path, NULL};
	return failed ? -1 : run_process(arguments, wall, processor);
}

static int run_kudzu(int kind, long number, double *wall, double *processor)
{
	char which[16], count[24];
	snprintf(which, sizeof(which), "%d", kind);
	snprintf(count, sizeof(count), "%ld", number);
	char *arguments[] = {"/proc/self/exe", which, count, NULL};
	return run_process(arguments, wall, processor);
}

static int run_kind(const char *folder, int kind)
{
	static long number;
	double wall[2][ROUNDS], processor[2][ROUNDS], ratio[ROUNDS], processor_ratio[ROUNDS];
	for (int round = -1; round < ROUNDS; round++) {
		int slot = round < 0 ? 0 : round;
		if (run_kudzu(kind, number++, &wall[0][slot], &processor[0][slot])
		    || run_nvcc(folder, kind, number++, &wall[1][slot], &processor[1][slot])) {
			return -1;
		}
		ratio[slot] = wall[0][slot] / wall[1][slot];
		processor_ratio[slot] = processor[0][slot] / processor[1][slot];
		wall[0][slot] *= 1e3;
		wall[1][slot] *= 1e3;
	}
	bench_report(names[kind], "kudzu", "ms", wall[0], ROUNDS);
	bench_report(names[kind], "nvcc", "ms", wall[1], ROUNDS);
	bench_report(names[kind], "kudzu/nvcc", "ratio", ratio, ROUNDS);
	bench_report(names[kind], "kudzu/nvcc, processor time", "ratio", processor_ratio, ROUNDS);
	return 0;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/kudzu-bench-XXXXXX";
	int failed = 0;
	if (argc == 3) {
		return compile_here((int)strtol(argv[1], NULL, 10), strtol(argv[2], NULL, 10));
	}
	setenv("KUDZU_CACHE", "0", 1);
	if (system("nvcc --version >/dev/null 2>&1") != 0) {
		fprintf(stderr, "bench_nvcc: no nvcc here\n");
		return EXIT_SUCCESS;
	}
	if (!mkdtemp(folder)) {
		perror(folder);
		return EXIT_FAILURE;
	}
	for (int kind = 0; kind < 2 && !failed; kind++) {
		failed = run_kind(folder, kind);
	}
	bench_remove(folder);
	if (failed) {
		fprintf(stderr, "bench_nvcc: a compile failed\n");
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

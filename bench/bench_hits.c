/* SPDX-License-Identifier: MIT */
/*
 * The time of a compile that was done before.
 *
 *	bench_hits
 *
 * In each round a process compiles new texts of 8 KB, and a second process compiles the same
 * texts: from disk.  A sample is the median of a round, of the processor time of kz_compile until
 * it returns an image.  Processor time, because nothing waits here and other processes may run.
 * The first compile of a process also looks for NVRTC and its headers, so it is reported by
 * itself.
 *
 * The last text is then compiled again and again: from memory.  Where nvcc is installed, `nvcc
 * --preprocess` is measured, too, which PyCUDA runs before it looks into its cache if a text has
 * an #include.
 */
#include "bench.h"

#include <string.h>
#include <unistd.h>

enum { TEXTS = 15, ROUNDS = 9, MEMORY_ROUNDS = 41, MEMORY_LOOPS = 1000, NVCC_ROUNDS = 5,
	TEXT_SIZE = 8192 };

static const char *const kinds[] = {"no header", "cuda_fp16.h", "cub/block/block_reduce.cuh"};
/* Compiles of one round, and how many rounds: one with CUB takes over a second. */
static const int texts[] = {TEXTS, TEXTS, 3}, rounds[] = {ROUNDS, ROUNDS, 3};

/* 8 KB: an include, a number, comments, a kernel. */
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

static kz_image *compile(const char *text)
{
	kz_error err = KZ_ERROR_INIT;
	kz_image *image = NULL;
	if (kz_compile(&image, text, NULL, &err)) {
		bench_fail(&err);
	}
	return image;
}

/* The processor's time in microseconds, -1 on failure. */
static double time_compile(const char *text)
{
	double start = bench_cpu();
	kz_image *image = compile(text);
	double time = (bench_cpu() - start) * 1e6;
	kz_image_release(image);
	return image ? time : -1;
}

/* Compile the texts of a round, and one before them, which is *first; the median, -1 on failure. */
static double compile_all(int kind, int round, double *first)
{
	char text[TEXT_SIZE + 1];
	double times[TEXTS];
	for (int i = -1; i < texts[kind]; i++) {
		write_text(text, kind, round * (TEXTS + 1) + i + 1);
		double time = time_compile(text);
		if (time < 0) {
			return -1;
		}
		*(i < 0 ? first : &times[i]) = time;
	}
	qsort(times, (size_t)texts[kind], sizeof(*times), bench_compare);
	return times[texts[kind] / 2];
}

static void report(int kind, const char *what, const char *unit, double *samples, int count)
{
	char name[80];
	snprintf(name, sizeof(name), "hits: %s", kinds[kind]);
	bench_report(name, what, unit, samples, count);
}

static void compile_from_memory(int kind)
{
	char text[TEXT_SIZE + 1];
	double times[MEMORY_ROUNDS];
	write_text(text, kind, texts[kind]);
	for (int i = 0; i < MEMORY_ROUNDS; i++) {
		int loops = kind ? 20 : MEMORY_LOOPS;
		double start = bench_cpu();
		for (int j = 0; j < loops; j++) {
			kz_image_release(compile(text));
		}
		times[i] = (bench_cpu() - start) * 1e6 / loops;
	}
	report(kind, "memory", "us", times, MEMORY_ROUNDS);
}

/* The preprocessor's time in microseconds; fewer samples than asked for: there is none. */
static int preprocess(int kind, double times[NVCC_ROUNDS])
{
	char text[TEXT_SIZE + 1], path[] = "/tmp/bench-hits-XXXXXX.cu", command[120];
	int count = 0, fd = mkstemps(path, 3);
	write_text(text, kind, 1);
	int failed = fd < 0 || write(fd, text, TEXT_SIZE) != TEXT_SIZE;
	snprintf(command, sizeof(command), "nvcc --preprocess %s >/dev/null 2>&1", path);
	while (!failed && count < NVCC_ROUNDS) {
		double start = bench_now();
		failed = system(command) != 0;
		times[count] = (bench_now() - start) * 1e6;
		count += !failed;
	}
	close(fd);
	unlink(path);
	return count;
}

/* This program again, in a new process, which prints the two numbers of compile_all. */
static int run_second(int kind, int round, double *median, double *first)
{
	char command[80], line[80] = "", *end = line;
	snprintf(command, sizeof(command), "exec /proc/$PPID/exe %d %d", kind, round);
	FILE *out = popen(command, "r");
	char *got = out ? fgets(line, sizeof(line), out) : NULL;
	if (!out || pclose(out) != 0 || !got) {
		return EXIT_FAILURE;
	}
	*median = strtod(line, &end);
	*first = strtod(end, NULL);
	return EXIT_SUCCESS;
}

static int be_second(int kind, int round)
{
	double first, median = compile_all(kind, round, &first);
	printf("%.9g %.9g\n", median, first);
	return median < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run(int kind)
{
	double cold[ROUNDS], disk[ROUNDS], first[ROUNDS], ratio[ROUNDS], other[NVCC_ROUNDS];
	int count = rounds[kind];
	for (int i = 0; i < count; i++) {
		cold[i] = compile_all(kind, i, &first[i]);
		if (cold[i] < 0 || run_second(kind, i, &disk[i], &first[i])) {
			return EXIT_FAILURE;
		}
		ratio[i] = disk[i] / cold[i];
	}
	report(kind, "compile", "us", cold, count);
	compile_from_memory(kind);
	report(kind, "disk", "us", disk, count);
	report(kind, "disk, first of a process", "us", first, count);
	report(kind, "disk/compile", "ratio", ratio, count);
	if (kind && preprocess(kind, other) == NVCC_ROUNDS) {
		report(kind, "nvcc --preprocess", "us", other, NVCC_ROUNDS);
		double to_other = disk[count / 2] / other[NVCC_ROUNDS / 2];
		report(kind, "disk/preprocess", "ratio", &to_other, 1);
	}
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/bench-hits-XXXXXX";
	int status = EXIT_SUCCESS;
	if (argc == 3) {
		return be_second((int)strtol(argv[1], NULL, 10), (int)strtol(argv[2], NULL, 10));
	}
	if (!mkdtemp(folder)) {
		return EXIT_FAILURE;
	}
	setenv("KUDZU_CACHE_DIR", folder, 1);
	setenv("KUDZU_CACHE", "1", 1);
	for (int kind = 0; kind < 3 && status == EXIT_SUCCESS; kind++) {
		status = run(kind);
	}
	bench_remove(folder);
	return status;
}

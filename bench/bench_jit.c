/* SPDX-License-Identifier: MIT */
/*
 * The time of the CPU device to compile a kernel, by the size of the kernel.  There are kernels
 * of three kinds, with 1,000 to 100,000 lines of PTX, each in a process of its own, after a small
 * kernel that has loaded LLVM.
 *
 *	bench_jit [MOST [KIND]]     MOST: lines, 100000 if left out; KIND: straight, branches, loops
 *
 * The output has the processor time for each line (of all threads): to read it, until the kernel is
 * ready, and, not counting that, until it has its best code.  Then the most memory that the process
 * took beyond what it had before.  KUDZU_CPU_WIDTH sets the number of lanes.
 */
#include "bench.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VALUES = 24, MOST_ROUNDS = 5 };

struct text {
	char *data;
	size_t len, cap;
	long lines;
};

static void add(struct text *text, const char *format, ...)
{
	va_list args;
	if (text->cap - text->len < 256) {
		text->cap = 2 * text->cap + 4096;
		text->data = realloc(text->data, text->cap);
		if (!text->data) {
			perror("bench_jit");
			exit(1);
		}
	}
	va_start(args, format);
	text->len += (size_t)vsnprintf(text->data + text->len, 256, format, args);
	va_end(args);
	text->lines++;
}

/* Eight lines: values of float and int that depend on each other and on memory. */
static void add_work(struct text *text, long i)
{
	int a = (int)(i % VALUES), b = (int)(i * 7 % VALUES), c = (int)(i * 5 % VALUES);
	add(text, "ld.global.f32 %%t0, [%%rd1+%ld];\n", i % 64 * 4);
	add(text, "fma.rn.f32 %%f%d, %%f%d, %%t0, %%f%d;\n", a, b, c);
	add(text, "add.s32 %%r%d, %%r%d, %%r%d;\n", c, a, b);
	add(text, "shl.b32 %%s0, %%r%d, 3;\n", b);
	add(text, "xor.b32 %%r%d, %%r%d, %%s0;\n", a, c);
	add(text, "cvt.rn.f32.s32 %%t1, %%r%d;\n", a);
	add(text, "sub.f32 %%f%d, %%f%d, %%t1;\n", b, a);
	add(text, "st.global.f32 [%%rd1+%ld], %%f%d;\n", i % 64 * 4, b);
}

static void add_straight(struct text *text, long i)
{
	add_work(text, i);
}

static void add_branches(struct text *text, long i)
{
	add(text, "setp.gt.s32 %%p0, %%r%d, %ld;\n", (int)(i % VALUES), i % 100);
	add(text, "@%%p0 bra L%ld;\n", i);
	add_work(text, i);
	add(text, "L%ld:\n", i);
}

static void add_loops(struct text *text, long i)
{
	add(text, "mov.u32 %%n0, 0;\n");
	add(text, "L%ld:\n", i);
	add_work(text, i);
	add_work(text, i + 1);
	add(text, "add.u32 %%n0, %%n0, 1;\n");
	add(text, "setp.lt.u32 %%p0, %%n0, %%r%d;\n", (int)(i % VALUES));
	add(text, "@%%p0 bra L%ld;\n", i);
}

static const struct kind {
	const char *name;
	void (*add)(struct text *text, long i);
} kinds[] = {
	{"straight", add_straight},
	{"branches", add_branches},
	{"loops", add_loops},
};

static void write_kernel(struct text *text, const struct kind *kind, long lines)
{
	add(text, ".version 8.0\n.target sm_80\n.address_size 64\n");
	add(text, ".visible .entry k(.param .u64 p)\n{\n");
	add(text, ".reg .pred %%p<2>; .reg .b32 %%r<%d>; .reg .b32 %%s<2>; .reg .b32 %%n<2>;\n"
		".reg .f32 %%f<%d>; .reg .f32 %%t<2>; .reg .b64 %%rd<3>;\n", VALUES, VALUES);
	add(text, "ld.param.u64 %%rd0, [p]; mov.u32 %%s0, %%tid.x;\n"
		"mad.wide.u32 %%rd1, %%s0, 256, %%rd0;\n");
	for (int i = 0; i < VALUES; i++) {
		add(text, "ld.global.u32 %%r%d, [%%rd1+%d]; cvt.rn.f32.u32 %%f%d, %%r%d;\n", i,
			i * 4, i, i);
	}
	text->lines = 0;
	for (long i = 0; text->lines < lines; i++) {
		kind->add(text, i);
	}
	long measured = text->lines;
	add(text, "ret;\n}\n");
	text->lines = measured;
}

static long peak_kib(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

struct result {
	double load, ready, best; /* seconds */
	double memory;        /* MiB */
};

static kz_status compile(struct result *out, kz_device *dev, const struct text *text,
	kz_error *err)
{
	kz_module *module = NULL;
	kz_kernel *kernel = NULL;
	long before = peak_kib();
	double start = bench_cpu();
	kz_status status = kz_module_load(&module, dev, text->data, text->len, err);
	double loaded = bench_cpu();
	if (!status) {
		status = kz_module_kernel(&kernel, module, "k", err);
	}
	double ready = bench_cpu();
	if (!status) {
		status = kz_kernel_optimize(kernel, err);
	}
	out->load = loaded - start;
	out->ready = ready - loaded;
	out->best = bench_cpu() - ready;
	out->memory = (double)(peak_kib() - before) / 1024;
	kz_module_release(module);
	return status;
}

/* In the child: the result goes into the pipe. */
static int run_child(int fd, const struct text *text)
{
	struct text small = {.data = NULL};
	struct result result = {0};
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	write_kernel(&small, &kinds[0], 8);
	if (kz_device_open(&dev, "cpu", &err) || compile(&result, dev, &small, &err)
	    || compile(&result, dev, text, &err)) {
		kz_error_print(&err, stderr);
		return 1;
	}
	return write(fd, &result, sizeof(result)) != sizeof(result);
}

static bool run(struct result *out, const struct text *text)
{
	int fds[2], status = 1;
	if (pipe(fds)) {
		return false;
	}
	pid_t child = fork();
	if (child == 0) {
		_exit(run_child(fds[1], text));
	}
	close(fds[1]);
	bool ok = read(fds[0], out, sizeof(*out)) == sizeof(*out);
	close(fds[0]);
	return waitpid(child, &status, 0) == child && status == 0 && ok;
}

static bool measure(const struct kind *kind, long lines)
{
	char name[64];
	struct text text = {.data = NULL};
	double load[MOST_ROUNDS], ready[MOST_ROUNDS], best[MOST_ROUNDS], memory[MOST_ROUNDS];
	int rounds = lines > 20000 ? 1 : lines > 5000 ? 3 : MOST_ROUNDS;
	bool ok = true;
	write_kernel(&text, kind, lines);
	for (int i = 0; i < rounds && ok; i++) {
		struct result result;
		ok = run(&result, &text);
		load[i] = result.load * 1e6 / (double)text.lines;
		ready[i] = result.ready * 1e6 / (double)text.lines;
		best[i] = result.best * 1e6 / (double)text.lines;
		memory[i] = result.memory;
	}
	free(text.data);
	if (ok) {
		snprintf(name, sizeof(name), "jit %s %ld", kind->name, lines);
		bench_report(name, "read a line", "us", load, rounds);
		bench_report(name, "ready, a line", "us", ready, rounds);
		bench_report(name, "best code, a line", "us", best, rounds);
		bench_report(name, "memory", "MiB", memory, rounds);
		fflush(stdout);
	}
	return ok;
}

int main(int argc, char **argv)
{
	static const long sizes[] = {1000, 3000, 9000, 30000, 100000};
	long most = argc > 1 ? atol(argv[1]) : 100000;
	bool ok = true;
	setenv("KUDZU_CACHE", "0", 1);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (argc > 2 && strcmp(argv[2], kinds[k].name) != 0) {
			continue;
		}
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && ok; i++) {
			ok = sizes[i] > most || measure(&kinds[k], sizes[i]);
		}
	}
	return ok ? 0 : 1;
}

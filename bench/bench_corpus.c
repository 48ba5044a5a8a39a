/* SPDX-License-Identifier: MIT */
/*
 * The time of the CPU device to compile modules of others, beside that of ptxas.
 *
 *	bench_corpus FILE.ptx ...
 *
 * A process for each file loads it and asks for each of its kernels: they are ready.  Then it waits
 * for the best code of each.  ptxas -O3, if it is on the PATH, compiles the same file for the
 * architecture that the file names.  All times are processor time of all threads.  The last lines
 * are of all files together.
 */
#include "bench.h"

#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct times {
	double ready, best, ptxas; /* seconds; 0: not measured */
};

static const char small[] =
	".version 7.0\n.target sm_75\n.address_size 64\n.entry k()\n{\n	ret;\n}\n";

static kz_status compile(struct times *out, kz_device *dev, const char *path, kz_error *err)
{
	kz_module *module = NULL;
	double start = bench_cpu();
	kz_status st = kz_module_load_file(&module, dev, path, err);
	const int64_t count = st ? 0 : kz_module_kernel_count(module);
	for (int64_t i = 0; i < count && !st; i++) {
		kz_kernel *kernel;
		st = kz_module_kernel(&kernel, module, kz_module_kernel_name(module, i), err);
	}
	out->ready = bench_cpu() - start;
	for (int64_t i = 0; i < count && !st; i++) {
		kz_kernel *kernel;
		st = kz_module_kernel(&kernel, module, kz_module_kernel_name(module, i), err);
		st = st ? st : kz_kernel_optimize(kernel, err);
	}
	out->best = bench_cpu() - start;
	kz_module_release(module);
	return st;
}

/* In the child: the result goes into the pipe. */
static int run_child(int fd, const char *path)
{
	struct times times = {0};
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *module = NULL;
	kz_kernel *kernel;
	if (kz_device_open(&dev, "cpu", &err)
	    || kz_module_load(&module, dev, small, sizeof(small), &err)
	    || kz_module_kernel(&kernel, module, "k", &err) || compile(&times, dev, path, &err)) {
		fprintf(stderr, "%s: ", path);
		kz_error_print(&err, stderr);
		return 1;
	}
	return write(fd, &times, sizeof(times)) != sizeof(times);
}

static bool run(struct times *out, const char *path)
{
	int fds[2], status = 1;
	if (pipe(fds)) {
		return false;
	}
	pid_t child = fork();
	if (child == 0) {
		_exit(run_child(fds[1], path));
	}
	close(fds[1]);
	bool ok = read(fds[0], out, sizeof(*out)) == sizeof(*out);
	close(fds[0]);
	return waitpid(child, &status, 0) == child && status == 0 && ok;
}

/* "sm_80" of ".target sm_80", which is within the first lines. */
static void read_target(char *out, size_t size, const char *path)
{
	char line[256];
	FILE *file = fopen(path, "r");
	snprintf(out, size, "sm_80");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " .target %15[a-z_0-9]", out) == 1) {
			break;
		}
	}
	if (file) {
		fclose(file);
	}
}

/* 0: there is no ptxas, or it refuses the file. */
static double run_ptxas(const char *path)
{
	char target[16], arch[32];
	struct rusage usage;
	int status;
	read_target(target, sizeof(target), path);
	snprintf(arch, sizeof(arch), "-arch=%s", target);
	pid_t child = fork();
	if (child == 0) {
		execlp("ptxas", "ptxas", "-O3", arch, path, "-o", "/dev/null", (char *)NULL);
		_exit(127);
	}
	if (wait4(child, &status, 0, &usage) != child || status != 0) {
		return 0;
	}
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
		+ 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void report(const char *name, const struct times *times)
{
	double ready = times->ready * 1e3, best = times->best * 1e3, ptxas = times->ptxas * 1e3;
	bench_report(name, "ready", "ms", &ready, 1);
	bench_report(name, "best code", "ms", &best, 1);
	if (times->ptxas > 0) {
		double over[] = {times->ready / times->ptxas, times->best / times->ptxas};
		bench_report(name, "ptxas -O3", "ms", &ptxas, 1);
		bench_report(name, "ready, over ptxas", "x", &over[0], 1);
		bench_report(name, "best code, over ptxas", "x", &over[1], 1);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct times all = {0};
	bool is_complete = true;
	for (int i = 1; i < argc; i++) {
		struct times times;
		const char *name = strrchr(argv[i], '/');
		if (!run(&times, argv[i])) {
			return 1;
		}
		times.ptxas = run_ptxas(argv[i]);
		is_complete &= times.ptxas > 0;
		report(name ? name + 1 : argv[i], &times);
		all.ready += times.ready;
		all.best += times.best;
		all.ptxas += times.ptxas;
	}
	all.ptxas = is_complete ? all.ptxas : 0;
	report("all files", &all);
	return 0;
}

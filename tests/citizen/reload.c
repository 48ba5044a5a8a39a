/* SPDX-License-Identifier: MIT */
/*
 * usage: reload LIBRARY
 *
 * A program with plugins: it opens the library, runs a kernel on the CPU, closes the library, many
 * times.  After the first rounds nothing of the process may grow: file descriptors, threads,
 * mappings, memory.  In those the library fills its ring of the last 256 objects that ended.
 *
 * The library stays when it is closed, with its drivers (the Makefile says why); a program cannot
 * tell but by the address.
 */
#define _GNU_SOURCE
#include <kudzu/kudzu.h>

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

enum { ROUNDS = 370, WARM = 300 };

struct usage {
	long fds, threads, mappings, heap;
};

static long count_entries(const char *path)
{
	long count = 0;
	DIR *dir = opendir(path);
	while (dir && readdir(dir)) {
		count++;
	}
	if (dir) {
		closedir(dir);
	}
	return count;
}

static long count_lines(const char *path)
{
	long count = 0;
	FILE *file = fopen(path, "r");
	for (int c; file && (c = getc(file)) != EOF;) {
		count += c == '\n';
	}
	if (file) {
		fclose(file);
	}
	return count;
}

static struct usage usage_now(void)
{
	struct usage usage = {.mappings = count_lines("/proc/self/maps")};
	usage.heap = (long)mallinfo2().uordblks;
	usage.fds = count_entries("/proc/self/fd");
	usage.threads = count_entries("/proc/self/task");
	return usage;
}

#define FUNCTIONS(X) \
	X(kz_device_open) X(kz_device_close) X(kz_module_compile) X(kz_module_release) \
	X(kz_module_kernel) X(kz_array_zeros) X(kz_array_get) X(kz_array_release) X( \
		kz_launch_args) \
	X(kz_error_print) X(kz_error_clear)

struct kudzu {
#define X(name) __typeof__(name) *name;
	FUNCTIONS(X)
#undef X
};

static const char source[] = "__global__ void k(int *a) { a[threadIdx.x] = threadIdx.x + 1; }";

static int run(const struct kudzu *kudzu)
{
	int host[4] = {0};
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_array *a = NULL;
	if (kudzu->kz_device_open(&dev, "cpu", &err)
	    || kudzu->kz_module_compile(&mod, dev, source, NULL, &err)
	    || kudzu->kz_module_kernel(&kernel, mod, "k", &err)
	    || kudzu->kz_array_zeros(&a, dev, KZ_I32, KZ_SHAPE(4), &err)
	    || kudzu->kz_launch_args(kernel, kz_dim(1, 1, 1), kz_dim(4, 1, 1), NULL,
		    (kz_arg[]){kz_arg_array(a)}, 1, &err)
	    || kudzu->kz_array_get(a, host, sizeof(host), &err)) {
		kudzu->kz_error_print(&err, stderr);
	}
	kudzu->kz_array_release(a);
	kudzu->kz_module_release(mod);
	kudzu->kz_device_close(dev);
	kudzu->kz_error_clear(&err);
	return host[0] == 1 && host[3] == 4;
}

static int round_trip(const char *library)
{
	struct kudzu kudzu;
	void *object = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		fprintf(stderr, "%s\n", dlerror());
		return 0;
	}
#define X(name) *(void **)&kudzu.name = dlsym(object, #name);
	FUNCTIONS(X)
#undef X
	int ok = run(&kudzu);
	return dlclose(object) == 0 && ok;
}

int main(int argc, char **argv)
{
	struct usage before = {0};
	for (int i = 0; i < ROUNDS; i++) {
		if (argc != 2 || !round_trip(argv[1])) {
			fprintf(stderr, "round %d failed\n", i);
			return 1;
		}
		if (i == WARM) {
			before = usage_now();
		}
	}
	struct usage after = usage_now();
	if (after.fds != before.fds || after.threads != before.threads
	    || after.mappings != before.mappings || after.heap > before.heap + 4096) {
		fprintf(stderr, "%d rounds: file descriptors %+ld, threads %+ld, mappings %+ld, "
			"heap %+ld\n", ROUNDS - WARM, after.fds - before.fds,
			after.threads - before.threads, after.mappings - before.mappings,
			after.heap - before.heap);
		return 1;
	}
	return 0;
}

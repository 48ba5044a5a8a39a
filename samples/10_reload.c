/* SPDX-License-Identifier: MIT */
/*
 * Hot reload: run the kernel in a file, and compile it again whenever the file or a header of it
 * changes.  If it does not compile, the program shows the error and keeps the kernel that it has.
 *
 *	10_reload FILE.cu     until the file is removed; it has a kernel `f` as below
 *	10_reload             with a file of its own, which the program edits itself
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

#define KERNEL "__global__ void f(float *x)\n{\n\tx[threadIdx.x] "

/* What the edits make of the file, one after the other. */
static const char *const edits[] = {
	KERNEL "*= 2;\n}\n",
	KERNEL "*= 2 +;\n}\n",
	KERNEL "+= 10;\n}\n",
};

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	if (file) {
		fputs(text, file);
		fclose(file);
	}
}

/* The kernels of before end with a new version, so the kernel is looked for each time. */
static void run(kz_module *mod)
{
	float x[4] = {1, 2, 3, 4};
	kz_kernel *f = NULL;
	if (kz_module_kernel(&f, mod, "f", &err)
	    || kz_launch(f, KZ_DIM(1), KZ_DIM(4), NULL, &err, KZ_ARGS(KZ_INOUT(x, sizeof(x))))) {
		printf("%s\n", err.message);
		kz_error_clear(&err);
	} else {
		printf("f = %g %g %g %g\n", x[0], x[1], x[2], x[3]);
	}
}

/* Follow the file; 0 when it is gone. */
static int follow(kz_watcher *watcher)
{
	int is_new = 0;
	kz_status st = kz_watcher_poll(&is_new, watcher, &err);
	if (st && st != KZ_NOT_FOUND) {
		printf("line %d: %s; the old kernel stays\n", err.line, err.message);
	}
	kz_error_clear(&err);
	if (is_new || (st && st != KZ_NOT_FOUND)) {
		run(kz_watcher_module(watcher));
		fflush(stdout);
	}
	return st != KZ_NOT_FOUND;
}

int main(int argc, char **argv)
{
	kz_device *dev = NULL;
	kz_watcher *watcher = NULL;
	char own[64];
	const char *path = argc > 1 ? argv[1] : own;
	const struct timespec pause = {.tv_nsec = 20000000};
	size_t edit = 0;
	snprintf(own, sizeof(own), "/tmp/kudzu-%lld-%p.cu", (long long)time(NULL), (void *)own);
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_watcher_create(&watcher, dev, path, NULL, &err));
	do {
		if (argc < 2 && edit < sizeof(edits) / sizeof(*edits)) {
			write_file(path, edits[edit++]);
		} else if (argc < 2) {
			remove(path);
		}
	} while (follow(watcher) && !thrd_sleep(&pause, NULL));
	kz_watcher_release(watcher);
	kz_device_close(dev);
	return 0;
}

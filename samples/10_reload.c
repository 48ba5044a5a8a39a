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
#include <threads.h>
#include <time.h>

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
	kz_error err = KZ_ERROR_INIT;
	if (kz_module_kernel(&f, mod, "f", &err)
	    || kz_launch(f, kz_dim(1, 1, 1), kz_dim(4, 1, 1), NULL, &err,
		       KZ_ARGS(KZ_INOUT(x, sizeof(x))))) {
		printf("%s\n", err.message);
	} else {
		printf("f = %g %g %g %g\n", x[0], x[1], x[2], x[3]);
	}
	kz_error_clear(&err);
}

/* Follow the file; 0 when it is gone. */
static int follow(kz_watcher *watcher)
{
	kz_error err = KZ_ERROR_INIT;
	int is_new = 0;
	kz_status st = kz_watcher_poll(&is_new, watcher, &err);
	if (st && st != KZ_NOT_FOUND) {
		printf("line %d: %s; the old kernel stays\n", err.line, err.message);
	}
	if (is_new || (st && st != KZ_NOT_FOUND)) {
		run(kz_watcher_module(watcher));
		fflush(stdout);
	}
	kz_error_clear(&err);
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
	int failed = kz_device_open(&dev, NULL, NULL)
		|| kz_watcher_create(&watcher, dev, path, NULL, NULL);
	do {
		if (argc < 2 && edit < sizeof(edits) / sizeof(*edits)) {
			write_file(path, edits[edit++]);
		} else if (argc < 2) {
			remove(path);
		}
	} while (!failed && follow(watcher) && !thrd_sleep(&pause, NULL));
	kz_watcher_release(watcher);
	kz_device_close(dev);
	return failed;
}

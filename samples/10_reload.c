/* SPDX-License-Identifier: MIT */
/*
 * Hot reload: run the kernel in a file, and compile it again whenever the file changes.  If it
 * does not compile, the program shows the error and keeps the kernel that it has.
 *
 *	10_reload FILE.cu     until the file is removed; it has a kernel `f` as below
 *	10_reload             with a file of its own, which the program edits itself
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <string.h>
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

/* Returns 0 if there is no such file. */
static int read_file(const char *path, char text[4096])
{
	FILE *file = fopen(path, "r");
	if (file) {
		text[fread(text, 1, 4095, file)] = '\0';
		fclose(file);
	}
	return file != NULL;
}

/* Take a new module if the text makes one; the old one stays if not. */
static void reload(kz_module **mod, kz_device *dev, const char *text)
{
	kz_error err = KZ_ERROR_INIT;
	kz_module *fresh = NULL;
	if (kz_module_compile(&fresh, dev, text, NULL, &err)) {
		printf("line %d: %s; the old kernel stays\n", err.line, err.message);
		kz_error_clear(&err);
	} else {
		kz_module_release(*mod);
		*mod = fresh;
	}
}

static void run(kz_module *mod)
{
	float x[4] = {1, 2, 3, 4};
	kz_kernel *kernel = NULL;
	kz_error err = KZ_ERROR_INIT;
	if (kz_module_kernel(&kernel, mod, "f", &err)
	    || kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(4, 1, 1), NULL, &err,
		       KZ_ARGS(KZ_INOUT(x, sizeof(x))))) {
		printf("%s\n", err.message);
	} else {
		printf("f = %g %g %g %g\n", x[0], x[1], x[2], x[3]);
	}
	kz_error_clear(&err);
}

int main(int argc, char **argv)
{
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	char own[64], text[4096], seen[4096] = "";
	const char *path = argc > 1 ? argv[1] : own;
	snprintf(own, sizeof(own), "/tmp/kudzu-%lld-%p.cu", (long long)time(NULL), (void *)own);
	int failed = kz_device_open(&dev, NULL, NULL);
	for (size_t edit = 0; !failed; thrd_sleep(&(struct timespec){.tv_nsec = 20000000}, NULL)) {
		if (argc < 2 && edit < sizeof(edits) / sizeof(*edits)) {
			write_file(path, edits[edit++]);
		} else if (argc < 2) {
			remove(path);
		}
		if (!read_file(path, text)) {
			break;
		}
		if (strcmp(text, seen) != 0) {
			reload(&mod, dev, strcpy(seen, text));
			run(mod);
			fflush(stdout);
		}
	}
	kz_module_release(mod);
	kz_device_close(dev);
	return failed;
}

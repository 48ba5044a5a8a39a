/* SPDX-License-Identifier: MIT */
/*
 * numpy's files: write an array to a .npy file and read it again, and write several to a .npz
 * file.  In Python:
 *
 *	numpy.load("squares.npy");  numpy.load("curve.npz")["y"]
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

static char npy[256], npz[256];

/* A file of its own in the folder for temporary ones. */
static void choose_path(char path[256], const char *name)
{
	const char *folder = getenv("TMPDIR");
	snprintf(path, 256, "%s/kudzu-%lld-%p-%s", folder ? folder : "/tmp", (long long)time(NULL),
		(void *)path, name);
}

/* However the program ends. */
static void remove_files(void)
{
	remove(npy);
	remove(npz);
}

/* 0, 1, 4, ... to a file; the same from there. */
static void squares(kz_device *dev)
{
	kz_array *numbers = NULL, *squares = NULL, *loaded = NULL;
	CHECK(kz_arange(&numbers, dev, KZ_I32, 0, 10, 1, &err));
	CHECK(kz_square(&squares, numbers, &err));
	CHECK(kz_array_save(squares, npy, &err));
	CHECK(kz_array_load(&loaded, dev, npy, KZ_I32, &err));
	CHECK(kz_array_print(loaded, stdout, &err));
	kz_release_all(numbers, squares, loaded);
}

/* Two arrays to one file. */
static void write_curve(kz_device *dev)
{
	kz_array *x = NULL, *y = NULL;
	CHECK(kz_linspace(&x, dev, KZ_F64, 0, 1, 5, 1, &err));
	CHECK(kz_sqrt(&y, x, &err));
	const kz_npz_item items[] = {{"x", x}, {"y", y}};
	CHECK(kz_npz_save(npz, items, 2, &err));
	kz_release_all(x, y);
}

static void read_curve(kz_device *dev)
{
	kz_npz *file = NULL;
	CHECK(kz_npz_open(&file, npz, &err));
	for (int64_t i = 0; i < kz_npz_count(file); i++) {
		kz_array *array = NULL;
		printf("%s = ", kz_npz_name(file, i));
		CHECK(kz_npz_load(&array, file, dev, kz_npz_name(file, i), 0, &err));
		CHECK(kz_array_print(array, stdout, &err));
		kz_array_release(array);
	}
	kz_npz_close(file);
}

int main(void)
{
	kz_device *dev = NULL;
	choose_path(npy, "squares.npy");
	choose_path(npz, "curve.npz");
	atexit(remove_files);
	CHECK(kz_device_open(&dev, NULL, &err));
	squares(dev);
	write_curve(dev);
	read_curve(dev);
	kz_device_close(dev);
	return 0;
}

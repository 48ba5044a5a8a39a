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

/* A file of its own in the folder for temporary ones. */
static void choose_path(char *path, size_t size, const char *name)
{
	const char *folder = getenv("TMPDIR");
	snprintf(path, size, "%s/kudzu-%lld-%p-%s", folder ? folder : "/tmp", (long long)time(NULL),
		(void *)path, name);
}

/* 0, 1, 4, ... to a file; the same from there. */
static kz_status squares(kz_device *dev, const char *path, kz_error *err)
{
	kz_array *numbers = NULL, *squares = NULL, *loaded = NULL;
	kz_status st;
	(void)((st = kz_arange(&numbers, dev, KZ_I32, 0, 10, 1, err))
		|| (st = kz_square(&squares, numbers, err))
		|| (st = kz_array_save(squares, path, err))
		|| (st = kz_array_load(&loaded, dev, path, KZ_I32, err))
		|| (st = kz_array_print(loaded, stdout, err)));
	kz_array_release(numbers);
	kz_array_release(squares);
	kz_array_release(loaded);
	return st;
}

/* Two arrays to one file. */
static kz_status write_curve(kz_device *dev, const char *path, kz_error *err)
{
	kz_array *x = NULL, *y = NULL;
	kz_status st;
	if (!(st = kz_linspace(&x, dev, KZ_F64, 0, 1, 5, 1, err)) && !(st = kz_sqrt(&y, x, err))) {
		const kz_npz_item items[] = {{"x", x}, {"y", y}};
		st = kz_npz_save(path, items, 2, err);
	}
	kz_array_release(x);
	kz_array_release(y);
	return st;
}

static kz_status read_curve(kz_device *dev, const char *path, kz_error *err)
{
	kz_npz *npz = NULL;
	kz_status st = kz_npz_open(&npz, path, err);
	for (int64_t i = 0; !st && i < kz_npz_count(npz); i++) {
		kz_array *array = NULL;
		printf("%s = ", kz_npz_name(npz, i));
		if (!(st = kz_npz_load(&array, npz, dev, kz_npz_name(npz, i), 0, err))) {
			st = kz_array_print(array, stdout, err);
		}
		kz_array_release(array);
	}
	kz_npz_close(npz);
	return st;
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	char npy[256], npz[256];

	choose_path(npy, sizeof(npy), "squares.npy");
	choose_path(npz, sizeof(npz), "curve.npz");
	int failed = kz_device_open(&dev, NULL, &err) || squares(dev, npy, &err)
		|| write_curve(dev, npz, &err) || read_curve(dev, npz, &err);
	if (failed) {
		kz_error_print(&err, stderr);
	}
	remove(npy);
	remove(npz);
	kz_device_close(dev);
	kz_error_clear(&err);
	return failed;
}

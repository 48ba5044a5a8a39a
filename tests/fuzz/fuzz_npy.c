/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a .npy and as a .npz file, onto the stub driver's device. */
#include "base/common.h"

#include <kudzu/kudzu.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kz_device *dev;

/* What can be loaded can be written, and loaded again. */
static void check_array(kz_array *array, kz_error *err)
{
	int64_t size = kz_npy_size(array);
	void *copy = malloc((size_t)size);
	kz_array *again = NULL;
	kz_status st = kz_npy_write(array, copy, size, err);
	st = st ? st : kz_npy_read(&again, dev, copy, size, kz_array_dtype(array), err);
	if (st || kz_array_count(again) != kz_array_count(array)) {
		abort();
	}
	kz_array_release(again);
	kz_array_release(array);
	free(copy);
}

static void check_archive(kz_npz *npz, kz_error *err)
{
	for (int64_t i = 0; i < kz_npz_count(npz) && i < 10; i++) {
		kz_array *array = NULL;
		if (kz_npz_load(&array, npz, dev, kz_npz_name(npz, i), 0, err) == KZ_OK) {
			check_array(array, err);
		}
		kz_error_clear(err);
	}
	kz_npz_close(npz);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	kz_error err = KZ_ERROR_INIT;
	kz_dtype eight;
	kz_array *array = NULL;
	kz_npz *npz = NULL;
	if (!dev && (kz_device_open(&dev, "cuda:0", &err)
		|| kz_dtype_register(&eight, "eight", 8, &err))) {
		kz_error_print(&err, stderr);
		abort();
	}
	for (kz_dtype dtype = 0; dtype <= KZ_DTYPE_STRUCT; dtype += KZ_DTYPE_STRUCT) {
		if (kz_npy_read(&array, dev, data, (int64_t)size, dtype, &err) == KZ_OK) {
			check_array(array, &err);
		}
		kz_error_clear(&err);
	}
	if (kz_npz_open_memory(&npz, data, (int64_t)size, &err) == KZ_OK) {
		check_archive(npz, &err);
	}
	kz_error_clear(&err);
	return 0;
}

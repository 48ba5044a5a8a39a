/* SPDX-License-Identifier: MIT */
/* Double an array without writing a kernel: (2 * a_gpu).get() of PyCUDA's tutorial. */
#include <kudzu/kudzu.h>
#include <stdio.h>

int main(void)
{
	float a[16], doubled[16];
	for (int i = 0; i < 16; i++) {
		a[i] = (float)i / 8 - 1;
	}

	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_array *a_gpu = NULL;
	kz_array *doubled_gpu = NULL;

	if (kz_device_open(&dev, NULL, &err)
	    || kz_array_from(&a_gpu, dev, KZ_F32, KZ_SHAPE(4, 4), a, sizeof(a), &err)
	    || kz_multiply(&doubled_gpu, 2, a_gpu, &err)
	    || kz_array_get(doubled_gpu, doubled, sizeof(doubled), &err)
	    || kz_array_print(doubled_gpu, stdout, &err)
	    || kz_array_print(a_gpu, stdout, &err)) {
		kz_error_print(&err, stderr);
	}

	int failed = kz_error_status(&err) != KZ_OK;
	for (int i = 0; i < 16 && !failed; i++) {
		failed = doubled[i] != 2 * a[i];
	}
	kz_error_clear(&err);
	kz_array_release(a_gpu);
	kz_array_release(doubled_gpu);
	kz_device_close(dev);
	return failed;
}

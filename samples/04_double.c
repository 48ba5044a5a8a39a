/* SPDX-License-Identifier: MIT */
/* Double an array without writing a kernel: (2 * a_gpu).get() of PyCUDA's tutorial. */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

int main(void)
{
	float a[4][4], doubled[4][4];
	for (int i = 0; i < 16; i++) {
		a[i / 4][i % 4] = (float)i / 8 - 1;
	}

	kz_device *dev = NULL;
	kz_array *a_gpu = NULL, *doubled_gpu = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_array_from(&a_gpu, dev, KZ_FROM(a), &err));
	CHECK(kz_multiply(&doubled_gpu, 2, a_gpu, &err));
	CHECK(kz_array_get(doubled_gpu, doubled, sizeof(doubled), &err));
	CHECK(kz_array_print(doubled_gpu, stdout, &err));
	CHECK(kz_array_print(a_gpu, stdout, &err));

	int wrong = 0;
	for (int i = 0; i < 16; i++) {
		wrong += doubled[i / 4][i % 4] != 2 * a[i / 4][i % 4];
	}
	kz_release_all(a_gpu, doubled_gpu, dev);
	return wrong != 0;
}

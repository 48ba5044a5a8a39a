/* SPDX-License-Identifier: MIT */
/* What a program can do with an error; docs/errors.md shows the parts. */
#include <kudzu/kudzu.h>
#include <stdio.h>

/* part: chain */
static kz_status square(kz_array **out, kz_device *dev, const float *numbers, int64_t count,
	kz_error *err)
{
	kz_array *a = NULL;
	kz_status status = kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(count), numbers, count * 4, err);
	if (!status) {
		status = kz_square(out, a, err);
	}
	kz_array_release(a);
	return status;
}
/* part: end */

/* part: decide */
static kz_status large_or_small(kz_array **out, kz_device *dev, int64_t count, kz_error *err)
{
	kz_status status = kz_array_zeros(out, dev, KZ_F64, KZ_SHAPE(count), err);
	if (status == KZ_DEVICE_MEMORY) {
		printf("%s (%s): half of it then\n", kz_status_name(status), kz_error_name(err));
		kz_error_clear(err);
		status = kz_array_zeros(out, dev, KZ_F32, KZ_SHAPE(16), err);
	}
	return status;
}
/* part: end */

/* part: compile */
static void show_where(kz_device *dev)
{
	kz_error err = KZ_ERROR_INIT;
	kz_module *mod = NULL;
	if (kz_module_compile(&mod, dev, "__global__ void f(int *a)\n{\n\ta[0] = b;\n}\n",
			NULL, &err) == KZ_COMPILE) {
		printf("%s, line %d, column %d: %s\n", kz_error_file(&err), (int)kz_error_line(&err),
			(int)kz_error_column(&err), kz_error_message(&err));
	}
	kz_error_clear(&err);
	kz_module_release(mod);
}
/* part: end */

int main(void)
{
	const float numbers[] = {1, 2, 3};
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_array *squares = NULL, *zeros = NULL;
	if (kz_device_open(&dev, "cpu", &err) || square(&squares, dev, numbers, 3, &err)
	    || kz_array_print(squares, stdout, &err)
	    || large_or_small(&zeros, dev, (int64_t)1 << 45, &err)) {
		kz_error_print(&err, stderr);
	} else {
		show_where(dev);
	}
	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	kz_array_release(squares);
	kz_array_release(zeros);
	kz_device_close(dev);
	return failed;
}

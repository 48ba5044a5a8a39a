/* SPDX-License-Identifier: MIT */
/*
 * The first cells of PyCUDA, PyTorch and scikit-cuda tutorials, in C.  docs/tutorial.md shows the
 * parts beside the Python, and what this prints.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>

/* part: source */
static const char source[] =
	"__global__ void doublify(float *a)\n"
	"{\n"
	"	int i = threadIdx.x + threadIdx.y * 4;\n"
	"	a[i] *= 2;\n"
	"}\n"
	"\n"
	"__global__ void add(const float *a, const float *b, float *c, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) {\n"
	"		c[i] = a[i] + b[i];\n"
	"	}\n"
	"}\n"
	"\n"
	"template <class T>\n"
	"__global__ void fill(T *a, T value)\n"
	"{\n"
	"	a[threadIdx.x] = value;\n"
	"}\n";
/* part: end */

static kz_status arrays(kz_device *dev, kz_error *err)
{
	/* part: arrays */
	float a[4][4], doubled[4][4];
	for (int i = 0; i < 16; i++) {
		a[i / 4][i % 4] = (float)i;
	}
	kz_array *a_gpu = NULL, *twice = NULL;
	if (kz_array_from(&a_gpu, dev, KZ_FROM(a), err)
	    || kz_multiply(&twice, 2, a_gpu, err)
	    || kz_array_get(twice, doubled, sizeof(doubled), err)
	    || kz_array_print(twice, stdout, err)) {
		/* err says what went wrong; the caller prints it */
	}
	kz_release_all(a_gpu, twice);
	/* part: end */
	return kz_error_status(err);
}

static kz_status in_place(kz_device *dev, kz_error *err)
{
	kz_array *a = NULL, *total = NULL;
	kz_status st = kz_array_arange(&a, dev, KZ_F64, KZ_ARG(0), KZ_ARG(4), KZ_ARG(1), err);
	/* part: in_place */
	if (st
	    || kz_add_into(a, a, 1, err)                        /* a += 1 */
	    || kz_eval_into(a, "2*a + 1", err, KZ_VARS(a))      /* a = 2*a + 1 */
	    || kz_sum(&total, a, KZ_ALL_AXES, err)              /* a new array */
	    || kz_array_print(total, stdout, err)) {
		/* ... */
	}
	kz_array_release(total);
	kz_array_release(a);
	/* part: end */
	return kz_error_status(err);
}

static kz_status kernels(kz_device *dev, kz_error *err)
{
	float a[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	float c[16] = {0};
	/* part: kernels */
	kz_module *mod = NULL;
	kz_kernel *doublify = NULL, *add = NULL, *fill = NULL;
	kz_array *a_gpu = NULL;
	if (kz_module_compile(&mod, dev, source, KZ_WITH(kz_compile_options,
			.instances = (const char *const[]){"fill<double>", NULL}), err)
	    || kz_module_kernel(&doublify, mod, "doublify", err)
	    || kz_module_kernel(&add, mod, "add", err)
	    || kz_module_kernel(&fill, mod, "fill<double>", err)
	    || kz_array_from(&a_gpu, dev, KZ_F32, KZ_SHAPE(16), a, sizeof(a), err)
	    || kz_launch(doublify, KZ_DIM(1), KZ_DIM(4, 4), NULL, err, KZ_ARGS(a_gpu))
	    || kz_launch_1d(add, 16, NULL, err,
			KZ_ARGS(KZ_IN(a, sizeof(a)), a_gpu, KZ_OUT(c, sizeof(c)), 16))) {
		/* ... */
	}
	/* part: end */
	if (!kz_error_status(err)) {
		printf("%g %g ... %g\n", c[0], c[1], c[15]);
	}
	kz_array_release(a_gpu);
	kz_module_release(mod);
	return kz_error_status(err);
}

static kz_status devices(kz_error *err)
{
	const int64_t numbers[] = {1, 2, 3};
	/* part: devices */
	kz_device *dev = NULL, *cpu = NULL;
	kz_array *t = NULL, *moved = NULL, *back = NULL;
	if (kz_try_gpu(&dev, 0, err)               /* cuda:0, or else the CPU */
	    || kz_device_open(&cpu, "cpu", err)
	    || kz_array_from(&t, cpu, KZ_FROM(numbers), err)
	    || kz_array_to(&moved, t, dev, err)
	    || kz_array_to(&back, moved, cpu, err)
	    || kz_array_print(back, stdout, err)) {
		/* ... */
	}
	/* part: end */
	kz_release_all(t, moved, back, dev, cpu);
	return kz_error_status(err);
}

static kz_status integrate(kz_device *dev, kz_error *err)
{
	double integral = 0;
	/* part: integrate */
	kz_array *x = NULL, *y = NULL;
	double dx = 0.001;
	if (kz_arange(&x, dev, KZ_F64, 0, 3.14159, dx, err)
	    || kz_eval(&y, "sin(x**2 + cos(x))", NULL, err, KZ_VARS(x))
	    || kz_sum_get(&integral, y, err)) {
		/* ... */
	}
	/* part: end */
	if (!kz_error_status(err)) {
		printf("%.3f\n", integral * dx);
	}
	kz_release_all(x, y);
	return kz_error_status(err);
}

static kz_status custom(kz_device *dev, kz_error *err)
{
	/* part: custom */
	kz_elementwise *axpy = NULL;
	kz_array *x = NULL, *y = NULL;
	if (kz_elementwise_create(&axpy, dev, "float a, float *x, float *y", "y[i] += a * x[i]",
			NULL, err)
	    || kz_array_ones(&x, dev, KZ_F32, KZ_SHAPE(2, 3), err)
	    || kz_array_ones(&y, dev, KZ_F32, KZ_SHAPE(2, 3), err)
	    || kz_elementwise_run(axpy, NULL, err, KZ_ARGS(2.0f, x, y))
	    || kz_array_print(y, stdout, err)) {
		/* ... */
	}
	/* part: end */
	kz_array_release(x);
	kz_array_release(y);
	kz_elementwise_release(axpy);
	return kz_error_status(err);
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	if (kz_device_open(&dev, NULL, &err) || arrays(dev, &err) || in_place(dev, &err)
	    || kernels(dev, &err) || devices(&err) || integrate(dev, &err) || custom(dev, &err)) {
		kz_error_print(&err, stderr);
	}
	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	kz_device_close(dev);
	return failed;
}

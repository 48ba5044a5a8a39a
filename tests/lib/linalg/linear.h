/* SPDX-License-Identifier: MIT */
#ifndef LINEAR_H
#define LINEAR_H

/*
 * What the tests of solvers and factorizations share: random matrices in any layout, host copies as
 * complex numbers, and the libraries to run with.
 *
 * Each test runs with every library of linear_libraries on every device.  A library that is not
 * installed is replaced by the default one, and the test says so.
 */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "lib/array/array.h"
#include "support/suite.h"
#include "support/support.h"

#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

typedef double complex number;

static kz_error err;
static kz_device *dev;

static const struct {
	const char *blas, *lapack; /* NULL: found as for a user */
} linear_libraries[] = {
	{"libopenblas.so.0", NULL},
	{"libopenblas64.so.0", NULL},         /* integers of 64 bits */
	{"libblas.so.3", "liblapack.so.3"},   /* another LAPACK, Netlib's where it is installed */
};

static const kz_dtype linear_dtypes[] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128};

static inline int linear_ways(void)
{
	return (int)countof(linear_libraries) * support_device_count();
}

/* The same, and without any library, for what our own kernels do. */
static inline int linear_all_ways(void)
{
	return linear_ways() + support_device_count();
}

static inline bool linear_has(const char *library)
{
	void *object = dlopen(library, RTLD_LAZY);
	if (!object) {
		fprintf(stderr, "SKIPPED: %s is not installed; the default library runs in its "
			"place (make setup)\n", library);
	}
	return object;
}

static inline void linear_setup(int index)
{
	const int libraries = (int)countof(linear_libraries);
	bool is_own = index >= linear_ways();
	const char *blas = is_own ? "none" : linear_libraries[index % libraries].blas;
	const char *lapack = is_own ? NULL : linear_libraries[index % libraries].lapack;
	err = (kz_error)KZ_ERROR_INIT;
	if (is_own || (linear_has(blas) && (!lapack || linear_has(lapack)))) {
		setenv("KUDZU_BLAS", blas, 1);
		setenv("KUDZU_LAPACK", lapack ? lapack : "", 1);
	}
	dev = support_open(is_own ? index - linear_ways() : index / libraries);
}

static inline void linear_teardown(void)
{
	support_close(dev);
}

/* A loop test on each device with each library. */
#define LINEAR_TEST(name) TEST_BETWEEN(linear_setup(_i), linear_teardown(), name)

static uint32_t linear_state = 1;

static inline int linear_integer(int below)
{
	linear_state = linear_state * 1664525u + 1013904223u;
	return (int)((linear_state >> 8) % (uint32_t)below);
}

static inline bool linear_is_single(kz_dtype dtype)
{
	return dtype == KZ_F32 || dtype == KZ_C64;
}

static inline double linear_eps(kz_dtype dtype)
{
	return linear_is_single(dtype) ? 0x1p-23 : 0x1p-52;
}

/* CMPLX, which not all compilers have. */
static inline number linear_number(double re, double im)
{
	const double parts[2] = {re, im};
	number out;
	memcpy(&out, parts, sizeof(out));
	return out;
}

/* Numbers between -1 and 1 that float32 holds, too. */
static inline void linear_draw(number *host, int64_t count, kz_dtype dtype)
{
	for (int64_t i = 0; i < count; i++) {
		double re = linear_integer(1 << 20) * 0x1p-19 - 1;
		double im = dtype_is_complex(dtype) ? linear_integer(1 << 20) * 0x1p-19 - 1 : 0;
		host[i] = linear_number(re, im);
	}
}

/* Random square matrices that are far from singular. */
static inline void linear_draw_regular(number *host, int64_t batch, int64_t n, kz_dtype dtype)
{
	linear_draw(host, batch * n * n, dtype);
	for (int64_t i = 0; i < batch * n; i++) {
		host[i * n + i % n] += (double)n;
	}
}

enum { LINEAR_PLAIN, LINEAR_TURNED, LINEAR_GAPS, LINEAR_BACKWARDS, LINEAR_LAYOUTS };

/* Host numbers as an array whose last two extents lie in this way. */
static inline kz_array *linear_upload(const number *host, kz_dtype dtype, kz_shape shape,
	int layout)
{
	kz_array *wide, *plain, *room, *view;
	kz_shape large = shape;
	int64_t *ends = large.dims + large.ndim - 2;
	ok(kz_array_from(&wide, dev, KZ_C128, shape, host, 16 * support_count(&shape), &err));
	ok(kz_array_astype(&plain, wide, dtype, &err));
	kz_array_release(wide);
	if (layout == LINEAR_PLAIN || shape.ndim < 2) {
		return plain;
	}
	if (layout == LINEAR_TURNED) {
		ends[0] = shape.dims[shape.ndim - 1];
		ends[1] = shape.dims[shape.ndim - 2];
	} else {
		ends[1] *= layout == LINEAR_GAPS ? 2 : 1;
	}
	ok(kz_array_zeros(&room, dev, dtype, large, &err));
	if (layout == LINEAR_TURNED) {
		ok(kz_array_swapaxes(&view, room, -2, -1, &err));
	} else if (layout == LINEAR_GAPS) {
		ok(kz_array_slice(&view, room, KZ_AT(KZ_ELLIPSIS, KZ_SLICE(KZ_OMIT, KZ_OMIT, 2)),
			&err));
	} else {
		ok(kz_array_flip(&view, room, KZ_AXES(-2), &err));
	}
	ok(kz_array_assign(view, plain, &err));
	release_arrays(room, plain);
	return view;
}

/* The elements of an array of this dtype and this number of elements; it is released. */
static inline void linear_take(number *host, kz_array *array, kz_dtype dtype, int64_t count)
{
	kz_array *wide;
	ck_assert_str_eq(kz_dtype_name(kz_array_dtype(array)), kz_dtype_name(dtype));
	ck_assert_int_eq(kz_array_count(array), count);
	ck_assert(kz_array_is_contiguous(array));
	ok(kz_array_astype(&wide, array, KZ_C128, &err));
	ok(kz_array_get(wide, host, 16 * count, &err));
	release_arrays(wide, array);
}

static inline kz_dtype linear_real(kz_dtype dtype)
{
	return linear_is_single(dtype) ? KZ_F32 : KZ_F64;
}

/* |got - want| <= allowed, everywhere; `what` says which result it is. */
static inline void linear_check(const char *what, const number *got, const number *want,
	int64_t count, double allowed)
{
	for (int64_t i = 0; i < count; i++) {
		double apart = cabs(got[i] - want[i]);
		ck_assert_msg(apart <= allowed, "%s: element %lld is %g%+gi, not %g%+gi: %g apart, "
			"allowed %g", what, (long long)i, creal(got[i]), cimag(got[i]),
			creal(want[i]), cimag(want[i]), apart, allowed);
	}
}

/* c(m, n) = a(m, k) b(k, n); with `adjoint` a is (k, m), transposed and conjugated. */
static inline void linear_multiply(number *c, const number *a, bool adjoint, const number *b,
	int64_t m, int64_t n, int64_t k)
{
	for (int64_t i = 0; i < m; i++) {
		for (int64_t j = 0; j < n; j++) {
			long double re = 0, im = 0;
			for (int64_t l = 0; l < k; l++) {
				number product = (adjoint ? conj(a[l * m + i]) : a[i * k + l])
					* b[l * n + j];
				re += creal(product);
				im += cimag(product);
			}
			c[i * n + j] = linear_number((double)re, (double)im);
		}
	}
}

static inline void linear_identity(number *a, int64_t rows, int64_t columns)
{
	for (int64_t i = 0; i < rows * columns; i++) {
		a[i] = i / columns == i % columns;
	}
}

/* x = a^-1 b by Gauss with the largest pivots; returns the determinant. */
static inline long double complex linear_gauss(number *x, const number *a, const number *b,
	int64_t n, int64_t k)
{
	long double complex *work = malloc(sizeof(*work) * (size_t)(n * (n + k)) + 1);
	long double complex det = 1;
	int64_t width = n + k;
	for (int64_t i = 0; i < n * width; i++) {
		int64_t row = i / width, column = i % width;
		work[i] = column < n ? a[row * n + column] : b[row * k + column - n];
	}
	for (int64_t p = 0; p < n; p++) {
		int64_t best = p;
		for (int64_t i = p + 1; i < n; i++) {
			best = cabsl(work[i * width + p]) > cabsl(work[best * width + p]) ? i
				: best;
		}
		for (int64_t j = 0; best != p && j < width; j++) {
			long double complex swapped = work[p * width + j];
			work[p * width + j] = work[best * width + j];
			work[best * width + j] = swapped;
		}
		long double complex pivot = work[p * width + p];
		det *= best != p ? -pivot : pivot;
		for (int64_t i = 0; i < n && pivot != 0; i++) {
			long double complex factor = i == p ? 0 : work[i * width + p] / pivot;
			for (int64_t j = p; factor != 0 && j < width; j++) {
				work[i * width + j] -= factor * work[p * width + j];
			}
		}
	}
	for (int64_t i = 0; i < n * k; i++) {
		int64_t row = i / k;
		x[i] = (number)(work[row * width + n + i % k] / work[row * width + row]);
	}
	free(work);
	return det;
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CUFFT_TEST_H
#define CUFFT_TEST_H

/*
 * For tests of transforms by cuFFT: on a GPU with the library there is, and on the CPU device with
 * a stub that computes on its memory (tests/stub/cufft).
 */
#include "base/dl.h"
#include "lib/fft/cufft.h"
#include "stub/cufft/stub.h"
#include "support/suite.h"
#include "support/support.h"

#include <kudzu/fft.h>

#include <complex.h>
#include <math.h>

#define CUFFT_STUB KZ_TEST_BUILD "/libcufft-stub.so"

static kz_error err;
static kz_device *dev;
static struct cufft_table *table;
static const struct cuda_library *library; /* NULL: there is none for this device */
static struct cufft_stub *fake;            /* NULL on a GPU */
static uint32_t state;

static inline void *cufft_stub_symbol(const char *name)
{
	char why[256];
	void *object = dl_open(CUFFT_STUB, why, sizeof(why));
	ck_assert_msg(object, "%s", why);
	void *found = dl_symbol(object, name);
	ck_assert_ptr_nonnull(found);
	return found;
}

static inline void setup(int device)
{
	err = (kz_error)KZ_ERROR_INIT;
	state = 1;
	fake = NULL;
	dev = support_open(device);
	if (dev->on_host) {
		setenv("KUDZU_CUFFT", CUFFT_STUB, 1);
		fake = cufft_stub_symbol("cufft_stub");
		*fake = (struct cufft_stub){.plans = 0};
		memcpy(&fake->launch, &dev->drv->LaunchHostFunc, sizeof(void *));
	}
	ok(cufft_table_get(&table, dev, &err));
	if (fake) {
		ck_assert_ptr_null(table->library); // NVIDIA's does not work there
		table->library = cuda_library_get(CUDA_CUFFT);
		ck_assert_ptr_nonnull(table->library->parts[CUDA_CUFFT].path);
	}
	library = table->library;
}

static inline void teardown(void)
{
	support_close(dev);
	if (fake) {
		ck_assert_int_eq(fake->plans, 0);
		ck_assert_int_eq(fake->mistakes, 0);
	}
}

/* That needs the stub: a list of calls, or a failure. */
#define CUFFT_STUB_TEST(name)                                                                      \
	static void name##_stub(int _i);                                                           \
	DEVICE_TEST(name)                                                                          \
	{                                                                                          \
		if (fake) {                                                                        \
			name##_stub(_i);                                                           \
		}                                                                                  \
	}                                                                                          \
	static void name##_stub(int _i CK_ATTRIBUTE_UNUSED)

static inline int cufft_draw(int below)
{
	state = state * 1664525u + 1013904223u;
	return (int)((state >> 8) % (uint32_t)below);
}

/* Random numbers of a type and shape, between -1 and 1. */
static inline kz_array *cufft_random(kz_dtype dtype, kz_shape shape)
{
	int64_t count = support_count(&shape);
	double *host = malloc((size_t)count * 2 * sizeof(*host) + 1);
	kz_array *wide, *array;
	for (int64_t i = 0; i < 2 * count; i++) {
		host[i] = (cufft_draw(2001) - 1000) / 1000.0;
	}
	bool is_real = dtype == KZ_F32 || dtype == KZ_F64;
	ok(kz_array_from(&wide, dev, is_real ? KZ_F64 : KZ_C128, shape, host,
		count * (is_real ? 8 : 16), &err));
	ok(kz_array_astype(&array, wide, dtype, &err));
	kz_array_release(wide);
	free(host);
	return array;
}

enum cufft_function { FFT, IFFT, RFFT, IRFFT };

static inline kz_status cufft_try(kz_array **out, enum cufft_function function, kz_array *array,
	kz_axes axes, const kz_fft_options *options)
{
	static kz_status (*const functions[])(kz_array **out, kz_array *array, kz_axes axes,
		const kz_fft_options *options, kz_error *err) = {kz_fft, kz_ifft, kz_rfft,
		kz_irfft};
	return functions[function](out, array, axes, options, &err);
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CUSTOM_SUPPORT_H
#define CUSTOM_SUPPORT_H

/*
 * What the tests of users' kernels share.  Each runs on every device twice: with the kernels that
 * the library makes for it, and with those for the other kind of device, one thread a block or
 * many.  A usual run tries one of the two.
 */
#include "lib/core/dtype.h"
#include "lib/core/memory.h"
#include "support/suite.h"
#include "support/support.h"

#undef DEVICE_TEST
#define DEVICE_TEST EITHER_WAY_TEST

static kz_error err;
static kz_device *dev;

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(index / 2);
	dev->serial ^= index % 2 != 0;
}

static void teardown(void)
{
	support_close(dev);
}

static inline kz_elementwise *make(const char *arguments, const char *operation)
{
	kz_elementwise *kernel = NULL;
	ok(kz_elementwise_create(&kernel, dev, arguments, operation, NULL, &err));
	return kernel;
}

static inline kz_array *from(kz_dtype dtype, kz_shape shape, const void *host)
{
	kz_array *array = NULL;
	int64_t count = support_count(&shape);
	ok(kz_array_from(&array, dev, dtype, shape, host, count * kz_dtype_size(dtype), &err));
	return array;
}

/* All tests of a list, which NULL ends, on every device, twice. */
static inline void add_tests(Suite *suite, const char *name, const TTest *const *tests)
{
	TCase *tcase = tcase_create(name);
	for (; *tests; tests++) {
		tcase_add_loop_test(tcase, *tests, 0, 2 * support_device_count());
	}
	suite_add_tcase(suite, tcase);
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef DEVICE_TEST_H
#define DEVICE_TEST_H

/*
 * The device of a test, which wants all memory given back.  DEVICE_TEST runs on device _i of
 * support_open_any(), and launches no kernel; KERNEL_TEST runs on one of support_open(), and
 * STUB_TEST on the stub with a script.
 */
#include "suite.h"
#include "support.h"

static kz_error err;
static kz_device *dev;

static inline void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_any(index);
}

static inline void open_kernels(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(index);
}

static inline void teardown(void)
{
	support_close(dev);
}

static inline void open_stub(const char *script)
{
	dev = support_open_stub(script);
}

static inline void close_stub(void)
{
	support_close_stub(dev);
}

#define KERNEL_TEST(name) TEST_BETWEEN(open_kernels(_i), teardown(), name)
#define STUB_TEST(name, script) TEST_BETWEEN(open_stub(script), close_stub(), name)

static inline kz_memory_stats memory_stats(void)
{
	kz_memory_stats stats;
	kz_device_memory_stats(dev, &stats);
	return stats;
}

static inline kz_buffer *create_buffer(int64_t size)
{
	kz_buffer *buffer = NULL;
	ok(kz_buffer_create(&buffer, dev, size, &err));
	return buffer;
}

#endif

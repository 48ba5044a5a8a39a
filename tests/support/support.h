/* SPDX-License-Identifier: MIT */
#ifndef SUPPORT_H
#define SUPPORT_H

/*
 * What the tests share: the devices to run on, and the scripted stub driver.
 *
 * Which devices there are is decided without opening one, since Check forks later: "cpu" if its
 * driver was built, "cuda" if the machine has an NVIDIA device.  KUDZU_TEST_DEVICES=cpu,cuda says
 * otherwise.  A device on the list that does not open fails its tests.
 */
#include "stub/stub.h"
#include "support/count.h"

#include <kudzu/kudzu.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The call succeeds; `err` is the test's error value. */
#define ok(call) do { \
	kz_status ok_status = (call); \
	ck_assert_msg(ok_status == KZ_OK, "%s: status %d: %s", #call, (int)ok_status, \
		err.message); \
} while (0)

/* The call fails with this status and a message that holds `text`, and reports no second failure;
 * clears `err`. */
#define fails(call, want, text) do { \
	const bool fails_first = err.status == KZ_OK; \
	ck_assert_int_eq((call), (want)); \
	ck_assert_int_eq(err.status, (want)); \
	ck_assert_msg(strstr(err.message, (text)) != NULL, "'%s' is not in: %s", (text), \
		err.message); \
	ck_assert_msg(!fails_first || err.reserved[0] == 0, \
		"a second failure is reported after: %s", err.message); \
	kz_error_clear(&err); \
} while (0)

int support_device_count(void);
/* "cpu", "cuda" */
const char *support_device_name(int index);
/* Make it the device that kz_device_open(NULL) opens. */
void support_select(int index);

/* Let the stub no longer be the CUDA driver: an earlier test of this process may have made it
 * that. */
void support_use_real(void);

/* Inline, so that runners without the library can have the rest. */
static inline kz_device *support_open(int index)
{
	kz_device *dev = NULL;
	kz_error err = KZ_ERROR_INIT;
	support_use_real();
	ok(kz_device_open(&dev, support_device_name(index), &err));
	return dev;
}

/* Of linear algebra and transforms only our own kernels; before something is computed. */
static inline void support_no_libraries(void)
{
	setenv("KUDZU_BLAS", "none", 1);
	setenv("KUDZU_CUBLAS", "none", 1);
	setenv("KUDZU_CUSOLVER", "none", 1);
	setenv("KUDZU_CUFFT", "none", 1);
}

/* Numbers as an array of a type that holds them; release it. */
kz_array *support_array_of(kz_device *dev, kz_dtype dtype, const double *values, int64_t size);
/* All elements of an array, as they are or converted; free them. */
void *support_read(kz_array *array, kz_dtype dtype);

/* Release each of a list. */
#define release_arrays(...) support_release_arrays((kz_array *[]){__VA_ARGS__}, \
	sizeof((kz_array *[]){__VA_ARGS__}) / sizeof(kz_array *))
#define release_buffers(...) support_release_buffers((kz_buffer *[]){__VA_ARGS__}, \
	sizeof((kz_buffer *[]){__VA_ARGS__}) / sizeof(kz_buffer *))

static inline void support_release_arrays(kz_array *const *arrays, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		kz_array_release(arrays[i]);
	}
}

static inline void support_release_buffers(kz_buffer *const *buffers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		kz_buffer_release(buffers[i]);
	}
}

/* The number of elements. */
static inline int64_t support_count(const kz_shape *shape)
{
	int64_t count = 1;
	for (int64_t i = 0; i < shape->ndim; i++) {
		count *= shape->dims[i];
	}
	return count;
}

/* 0, 1, 2, ... as int32 */
static inline kz_array *support_counted(kz_device *dev, kz_shape shape)
{
	static int32_t host[1 << 16];
	kz_array *array = NULL;
	kz_error err = KZ_ERROR_INIT;
	int64_t count = support_count(&shape);
	for (int32_t i = 0; i < count; i++) {
		host[i] = i;
	}
	ok(kz_array_from(&array, dev, KZ_I32, shape, host, 4 * count, &err));
	return array;
}

/* What kz_array_print says; static. */
static inline const char *support_printed(kz_array *array)
{
	static char text[8192];
	kz_error err = KZ_ERROR_INIT;
	FILE *to = fmemopen(text, sizeof(text), "w");
	ck_assert_ptr_nonnull(to);
	ok(kz_array_print(array, to, &err));
	fclose(to);
	return text;
}

/* How many kernels the device has compiled. */
static inline int64_t support_compiled(kz_device *dev)
{
	kz_kernel_stats stats;
	kz_device_kernel_stats(dev, &stats);
	return stats.compiled_count;
}

/* Close it; all memory was given back. */
static inline void support_close(kz_device *dev)
{
	kz_memory_stats stats;
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_eq(stats.live_count, 0);
	kz_device_close(dev);
}

/* Make the stub the CUDA driver, with this script from now on; see stub.h. */
void support_stub(const char *script);

/* The same for tests that launch no kernel: the stub is one device more, the last. */
static inline kz_device *support_open_any(int index)
{
	if (index < support_device_count()) {
		return support_open(index);
	}
	kz_device *dev = NULL;
	kz_error err = KZ_ERROR_INIT;
	support_stub("");
	setenv("KUDZU_NVRTC", "/nowhere", 1); /* its kernels do nothing: have none made */
	ok(kz_device_open(&dev, "cuda:0", &err));
	return dev;
}

long support_stub_calls(const char *name);
long support_stub_live(enum stub_kind kind);
/* Calls that put work into a stream; see stub_work in stub.h.  `stream` is a CUstream. */
long support_stub_work(const char *name, void *stream);

static inline kz_device *support_open_stub(const char *script)
{
	kz_device *dev = NULL;
	kz_error err = KZ_ERROR_INIT;
	support_stub(script);
	ok(kz_device_open(&dev, "cuda:0", &err));
	return dev;
}

/* The driver has everything back. */
static inline void support_check_stub(void)
{
	for (int kind = 0; kind < STUB_KIND_COUNT; kind++) {
		ck_assert_int_eq(support_stub_live((enum stub_kind)kind), 0);
	}
}

/* Close it; the driver has everything back. */
static inline void support_close_stub(kz_device *dev)
{
	kz_device_close(dev);
	support_check_stub();
}

#endif

/* SPDX-License-Identifier: MIT */
/* src/lib/core/access.c: windows of the L2 cache. */
#include "base/common.h"

#include "lib/core/memory.h"
#include "support/device_test.h"

#include <dlfcn.h>
#include <math.h>

typedef CUresult get_attribute_fn(CUstream stream, CUstreamAttrID id, CUstreamAttrValue *out);

/* What the driver has of a stream. */
static CUaccessPolicyWindow driver_window(kz_stream *stream)
{
	CUstreamAttrValue value;
	struct device_scope scope;
	get_attribute_fn *get = (get_attribute_fn *)dlsym(dev->drv->object, "cuStreamGetAttribute");
	ok(device_enter(dev, &scope, &err));
	ck_assert_int_eq(get(kz_stream_handle(stream), CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
		&value), 0);
	device_leave(dev, &scope);
	return value.accessPolicyWindow;
}

KERNEL_TEST(the_driver_gets_the_window_of_a_stream)
{
	kz_stream *stream = NULL;
	kz_buffer *buffer = create_buffer(4096);
	kz_access_window window = KZ_ACCESS_WINDOW_INIT;
	ok(kz_stream_create(&stream, dev, 0, &err));
	window.buffer = buffer;
	window.offset = 512;
	window.bytes = 1024;
	window.hit_ratio = 0.5f;
	window.miss = KZ_ACCESS_STREAMING;
	ok(kz_stream_set_access(stream, &window, &err));
	CUaccessPolicyWindow got = driver_window(stream);
	ck_assert_uint_eq((uintptr_t)got.base_ptr, kz_buffer_address(buffer) + 512);
	ck_assert_uint_eq(got.num_bytes, 1024);
	ck_assert(got.hitRatio == 0.5f);
	ck_assert_int_eq(got.hitProp, CU_ACCESS_PROPERTY_PERSISTING);
	ck_assert_int_eq(got.missProp, CU_ACCESS_PROPERTY_STREAMING);
	ck_assert_uint_eq(driver_window(kz_device_stream(dev)).num_bytes, 0);
	ok(kz_stream_set_access(stream, NULL, &err));
	ck_assert_uint_eq(driver_window(stream).num_bytes, 0);
	ok(kz_device_reset_l2(dev, &err));
	kz_buffer_release(buffer);
	kz_stream_release(stream);
}

STUB_TEST(what_is_no_window_is_told, "devices=2")
{
	kz_device *other = NULL;
	kz_buffer *buffer = create_buffer(64);
	kz_stream *stream = kz_device_stream(dev);
	kz_access_window window = KZ_ACCESS_WINDOW_INIT;
	fails(kz_stream_set_access(stream, &window, &err), KZ_INVALID,
		"expected a buffer, got NULL");
	window.buffer = buffer;
	ok(kz_stream_set_access(stream, &window, &err));
	window.bytes = 65;
	fails(kz_stream_set_access(stream, &window, &err), KZ_RANGE, "65 bytes from offset 0");
	window.bytes = 64;
	ok(kz_stream_set_access(stream, &window, &err));
	ok(kz_device_open(&other, "cuda:1", &err));
	fails(kz_stream_set_access(kz_device_stream(other), &window, &err), KZ_INVALID,
		"the buffer is on cuda:0, the stream on cuda:1");
	kz_device_close(other);
	window.hit_ratio = 1.5f;
	fails(kz_stream_set_access(stream, &window, &err), KZ_INVALID,
		"hit_ratio from 0 to 1, got 1.5");
	window.hit_ratio = NAN;
	fails(kz_stream_set_access(stream, &window, &err), KZ_INVALID, "hit_ratio from 0 to 1");
	window.hit_ratio = 0;
	window.hit = 3;
	fails(kz_stream_set_access(stream, &window, &err), KZ_INVALID, "got 3 and 0");
	window.hit = 0;
	window.miss = KZ_ACCESS_PERSISTING;
	fails(kz_stream_set_access(stream, &window, &err), KZ_INVALID,
		"miss from 0 to 1, got 0 and 2");
	window.size = 8;
	fails(kz_stream_set_access(stream, &window, &err), KZ_INVALID, "KZ_ACCESS_WINDOW_INIT");
	fails(kz_stream_set_access(NULL, NULL, &err), KZ_INVALID, "expected a stream");
	fails(kz_device_reset_l2(NULL, &err), KZ_INVALID, "expected a device");
	ck_assert_int_eq(support_stub_calls("cuStreamSetAttribute"), 2);
	kz_buffer_release(buffer);
}

STUB_TEST(an_older_driver_has_no_windows,
	"missing=cuStreamSetAttribute,cuCtxResetPersistingL2Cache")
{
	fails(kz_stream_set_access(kz_device_stream(dev), NULL, &err), KZ_UNSUPPORTED,
		"cuStreamSetAttribute");
	fails(kz_device_reset_l2(dev, &err), KZ_UNSUPPORTED, "cuCtxResetPersistingL2Cache");
}

SUITE(access)
{
	Suite *s = suite_create("access");
	TCase *tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count(), the_driver_gets_the_window_of_a_stream);
	tc = suite_add_case(s, "stub");
	tcase_add_tests(tc, 1, what_is_no_window_is_told, an_older_driver_has_no_windows);
	return s;
}

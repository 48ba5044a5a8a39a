/* SPDX-License-Identifier: MIT */
/* src/lib/core/managed.c: one address for host and device. */
#include "base/common.h"

#include "support/device_test.h"

#include <kudzu/host_memory.h>
#include <kudzu/array.h>
#include <kudzu/kernel.h>

#include <string.h>

enum { COUNT = 1000, SIZE = COUNT * 4 };

static const char source[] =
	"extern \"C\" __global__ void twice(int *a, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) { a[i] *= 2; }\n"
	"}\n";

/* Launch it and wait. */
static void double_buffer(kz_buffer *buffer)
{
	kz_module *mod = NULL;
	kz_kernel *twice = NULL;
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ok(kz_module_kernel(&twice, mod, "twice", &err));
	ok(kz_launch(twice, kz_dim(8, 1, 1), kz_dim(128, 1, 1), NULL, &err,
		KZ_ARGS(buffer, COUNT)));
	ok(kz_device_synchronize(dev, &err));
	kz_module_release(mod);
}

static void expect_doubled(const int *host)
{
	for (int i = 0; i < COUNT; i++) {
		ck_assert_int_eq(host[i], 2 * (i - 500));
	}
}

KERNEL_TEST(host_and_kernels_share_managed_memory)
{
	kz_buffer *buffer = NULL, *view = NULL;
	ok(kz_managed_create(&buffer, dev, SIZE, &err));
	int *host = kz_buffer_host(buffer);
	ck_assert_uint_eq((uintptr_t)host, kz_buffer_address(buffer));
	for (int i = 0; i < COUNT; i++) {
		host[i] = i - 500;
	}
	ok(kz_managed_advise(buffer, KZ_PREFERRED_PLACE, dev, &err));
	ok(kz_managed_advise(buffer, KZ_ACCESSED_BY, NULL, &err));
	ok(kz_managed_prefetch(buffer, dev, NULL, &err));
	ok(kz_managed_attach(buffer, KZ_ATTACH_SINGLE, NULL, &err));
	double_buffer(buffer);
	ok(kz_managed_attach(buffer, KZ_ATTACH_HOST, kz_device_stream(dev), &err));
	ok(kz_managed_prefetch(buffer, NULL, kz_device_stream(dev), &err));
	ok(kz_device_synchronize(dev, &err));
	expect_doubled(host);
	ok(kz_buffer_view(&view, buffer, 8, 4, &err));
	kz_buffer_release(buffer);
	ck_assert_ptr_eq(kz_buffer_host(view), host + 2);
	ck_assert_int_eq(*(int *)kz_buffer_host(view), 2 * (2 - 500));
	kz_buffer_release(view);
}

KERNEL_TEST(kernels_reach_pinned_memory_where_it_is)
{
	kz_pinned *pinned = NULL;
	kz_buffer *buffer = NULL;
	int back[COUNT];
	ok(kz_pinned_create(&pinned, dev, SIZE, &err));
	int *host = kz_pinned_pointer(pinned);
	for (int i = 0; i < COUNT; i++) {
		host[i] = i - 500;
	}
	ok(kz_pinned_buffer(&buffer, pinned, &err));
	ck_assert_ptr_eq(kz_buffer_host(buffer), host);
	ck_assert_int_eq(kz_buffer_size(buffer), SIZE);
	double_buffer(buffer);
	expect_doubled(host);
	kz_pinned_release(pinned);
	ok(kz_copy_dtoh(back, sizeof(back), buffer, 0, &err));
	expect_doubled(back);
	kz_buffer_release(buffer);
}

DEVICE_TEST(other_memory_has_no_address_of_the_host)
{
	kz_buffer *buffer = create_buffer(SIZE);
	ck_assert_ptr_null(kz_buffer_host(buffer));
	ck_assert_ptr_null(kz_buffer_host(NULL));
	ck_assert_int_eq(kz_managed_advise(buffer, KZ_READ_MOSTLY, NULL, &err), KZ_INVALID);
	ck_assert_ptr_nonnull(strstr(err.message, "kz_managed_create"));
	kz_error_clear(&err);
	ck_assert_int_eq(kz_managed_prefetch(buffer, dev, NULL, &err), KZ_INVALID);
	kz_error_clear(&err);
	kz_buffer_release(buffer);
}

DEVICE_TEST(wrong_arguments_are_told)
{
	kz_buffer *buffer = (kz_buffer *)1;
	ck_assert_int_eq(kz_managed_create(&buffer, dev, -1, &err), KZ_INVALID);
	ck_assert_ptr_null(buffer);
	kz_error_clear(&err);
	ck_assert_int_eq(kz_managed_create(&buffer, NULL, 1, &err), KZ_INVALID);
	kz_error_clear(&err);
	ck_assert_int_eq(kz_pinned_buffer(&buffer, NULL, &err), KZ_INVALID);
	kz_error_clear(&err);
	ck_assert_int_eq(kz_managed_prefetch(NULL, dev, NULL, &err), KZ_INVALID);
	kz_error_clear(&err);
	ok(kz_managed_create(&buffer, dev, 4, &err));
	ck_assert_int_eq(kz_managed_advise(buffer, (kz_advice)7, dev, &err), KZ_INVALID);
	ck_assert_ptr_nonnull(strstr(err.message, "got 7"));
	kz_error_clear(&err);
	for (int i = 0; i < 9; i++) {
		kz_status st = kz_managed_attach(buffer, (kz_attach)i, NULL, &err);
		ck_assert_int_eq(st, i == 1 || i == 2 || i == 4 ? KZ_OK : KZ_INVALID);
		ck_assert(!st || strstr(err.message, "expected a kz_attach, 1, 2 or 4, got"));
		kz_error_clear(&err);
	}
	kz_buffer_release(buffer);
	ok(kz_buffer_create(&buffer, dev, 4, &err));
	fails(kz_managed_attach(buffer, KZ_ATTACH_HOST, NULL, &err), KZ_INVALID,
		"expected a buffer from kz_managed_create");
	fails(kz_managed_attach(NULL, KZ_ATTACH_HOST, NULL, &err), KZ_INVALID, "got NULL");
	kz_buffer_release(buffer);
}

DEVICE_TEST(an_address_says_what_memory_it_is_in)
{
	kz_pointer_info info = KZ_POINTER_INFO_INIT;
	kz_buffer *device = NULL, *managed = NULL;
	kz_pinned *pinned = NULL;
	int local = 0;
	ok(kz_buffer_create(&device, dev, 100, &err));
	ok(kz_managed_create(&managed, dev, 100, &err));
	ok(kz_pinned_create(&pinned, dev, 100, &err));
	const struct {
		uint64_t address;
		kz_memory_kind kind;
	} places[] = {
		{kz_buffer_address(device) + 50, KZ_MEMORY_DEVICE},
		{kz_buffer_address(managed) + 50, _i == support_device_count()
			? KZ_MEMORY_DEVICE /* to the stub */ : KZ_MEMORY_MANAGED},
		{(uintptr_t)kz_pinned_pointer(pinned) + 50, KZ_MEMORY_HOST},
		{(uintptr_t)&local, KZ_MEMORY_UNKNOWN}, {0, KZ_MEMORY_UNKNOWN},
		{UINT64_MAX, KZ_MEMORY_UNKNOWN},
	};
	for (size_t i = 0; i < countof(places); i++) {
		ok(kz_pointer_describe(dev, places[i].address, &info, &err));
		ck_assert_int_eq(info.kind, places[i].kind);
		if (info.kind == KZ_MEMORY_UNKNOWN) {
			ck_assert(!info.device[0] && !info.start && !info.bytes && !info.host);
			continue;
		}
		ck_assert_str_eq(info.device, kz_device_name(dev));
		ck_assert(info.start <= places[i].address - 50
			&& places[i].address + 50 <= info.start + (uint64_t)info.bytes);
	}
	ok(kz_pointer_describe(dev, places[2].address, &info, &err));
	ck_assert_uint_eq((uintptr_t)info.host, places[2].address);
	info.size--;
	fails(kz_pointer_describe(dev, 0, &info, &err), KZ_INVALID, "kz_pointer_info");
	fails(kz_pointer_describe(dev, 0, NULL, &err), KZ_INVALID, "a kz_pointer_info");
	fails(kz_pointer_describe(NULL, 0, &info, &err), KZ_INVALID, "a device");
	kz_buffer_release(device);
	kz_buffer_release(managed);
	kz_pinned_release(pinned);
}

DEVICE_TEST(nothing_needs_no_memory)
{
	kz_buffer *buffer = NULL, *mapped = NULL;
	kz_pinned *pinned = NULL;
	ok(kz_managed_create(&buffer, dev, 0, &err));
	ck_assert_ptr_null(kz_buffer_host(buffer));
	ok(kz_managed_advise(buffer, KZ_READ_MOSTLY, NULL, &err));
	ok(kz_managed_prefetch(buffer, dev, NULL, &err));
	ok(kz_pinned_create(&pinned, dev, 0, &err));
	ok(kz_pinned_buffer(&mapped, pinned, &err));
	ck_assert_ptr_null(kz_buffer_host(mapped));
	kz_buffer_release(mapped);
	kz_pinned_release(pinned);
	kz_buffer_release(buffer);
}

STUB_TEST(managed_memory_goes_back_to_the_driver, "")
{
	kz_buffer *buffer = NULL;
	ok(kz_managed_create(&buffer, dev, SIZE, &err));
	ck_assert_int_eq(support_stub_calls("cuMemAllocManaged"), 1);
	int freed = support_stub_calls("cuMemFree");
	ok(kz_managed_prefetch(buffer, dev, NULL, &err));
	kz_buffer_release(buffer);
	ck_assert_int_eq(support_stub_calls("cuMemFree"), freed + 1);
}

static const struct {
	const char *script;
	kz_status status;
} failures[] = {
	{"fail=cuMemAllocManaged:2", KZ_DEVICE_MEMORY},
	{"fail=cuMemAllocManaged:801", KZ_UNSUPPORTED},
	{"missing=cuMemAllocManaged", KZ_UNSUPPORTED},
};

START_TEST(a_driver_that_has_none_is_told)
{
	kz_buffer *buffer = NULL;
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_stub(failures[_i].script);
	ck_assert_int_eq(kz_managed_create(&buffer, dev, SIZE, &err), failures[_i].status);
	ck_assert_ptr_null(buffer);
	ck_assert_str_eq(err.call, "cuMemAllocManaged");
	kz_error_clear(&err);
	support_close_stub(dev);
}
END_TEST

SUITE(managed)
{
	Suite *s = suite_create("managed");
	TCase *tc = suite_add_case(s, "use");
	tcase_add_tests(tc, support_device_count(), host_and_kernels_share_managed_memory,
		kernels_reach_pinned_memory_where_it_is);
	tc = suite_add_case(s, "arguments");
	tcase_add_tests(tc, support_device_count() + 1, other_memory_has_no_address_of_the_host,
		wrong_arguments_are_told, an_address_says_what_memory_it_is_in,
		nothing_needs_no_memory);
	tc = suite_add_case(s, "driver");
	tcase_add_test(tc, managed_memory_goes_back_to_the_driver);
	tcase_add_loop_test(tc, a_driver_that_has_none_is_told, 0, countof(failures));
	return s;
}

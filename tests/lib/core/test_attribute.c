/* SPDX-License-Identifier: MIT */
/* src/lib/core/attribute.c: attributes of devices by number and name; peers. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/cuda_abi.h"
#include "support/device_test.h"

/* The table */

START_TEST(attributes_have_increasing_numbers_and_a_wrong_index_none)
{
	int32_t number = 7, last = 0;
	for (int64_t i = 0; i < kz_device_attribute_count(); i++) {
		ck_assert_ptr_nonnull(kz_device_attribute_name(i, &number));
		ck_assert_int_gt(number, last);
		last = number;
	}
	ck_assert_int_eq(last, 161);
	ck_assert_str_eq(kz_device_attribute_name(9, &number), "WARP_SIZE");
	ck_assert_int_eq(number, 10);
	ck_assert_str_eq(kz_device_attribute_name(0, NULL), "MAX_THREADS_PER_BLOCK");
	ck_assert_ptr_null(kz_device_attribute_name(-1, &number));
	ck_assert_int_eq(number, 0);
	ck_assert_ptr_null(kz_device_attribute_name(kz_device_attribute_count(), &number));
}
END_TEST

#ifdef KZ_TEST_CUDA_INCLUDE
/* Mark the numbers that cuda.h gives to attributes; it names some of them twice. */
static int mark_numbers(char *text, bool *is_number, int room)
{
	int found = 0;
	char *at = strstr(text, "typedef enum CUdevice_attribute_enum");
	ck_assert_ptr_nonnull(at);
	char *end = strchr(at, '}');
	while ((at = strstr(at, "\n    CU_DEVICE_ATTRIBUTE_")) != NULL && at < end) {
		char *value = at + 1 + strcspn(at + 1, "=,\n");
		int number = *value == '=' ? atoi(value + 1) : 0;
		if (number > 0 && number < room && !is_number[number]) {
			is_number[number] = true;
			found++;
		}
		at = value;
	}
	return found;
}

START_TEST(every_number_of_cuda_h_has_a_name)
{
	enum { ROOM = 1000 };
	static bool is_number[ROOM];
	char *text = NULL;
	size_t size;
	if (file_read(&text, &size, KZ_TEST_CUDA_INCLUDE "/cuda.h", NULL)
	    || !strstr(text, "#define CUDA_VERSION 13050")) {
		fprintf(stderr, "skipped: no <cuda.h> of CUDA 13.5 to count attributes in\n");
		mem_free(text);
		return;
	}
	ck_assert_int_eq(mark_numbers(text, is_number, ROOM), kz_device_attribute_count());
	for (int64_t i = 0; i < kz_device_attribute_count(); i++) {
		int32_t number;
		const char *name = kz_device_attribute_name(i, &number);
		ck_assert_msg(is_number[number], "cuda.h has no number %d, %s", number, name);
	}
	mem_free(text);
}
END_TEST
#endif

/* Values */

DEVICE_TEST(each_attribute_is_the_drivers_by_number_and_by_both_names)
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	int32_t number, a, b, c;
	char full[128];
	for (int64_t i = 0; i < kz_device_attribute_count(); i++) {
		const char *name = kz_device_attribute_name(i, &number);
		kz_status st = kz_device_attribute(&a, dev, number, &err);
		kz_error_clear(&err);
		ck_assert(st == KZ_OK || st == KZ_UNSUPPORTED); /* newer than the driver */
		snprintf(full, sizeof(full), "CU_DEVICE_ATTRIBUTE_%s", name);
		ck_assert_int_eq(kz_device_attribute_by_name(&b, dev, name, NULL), st);
		ck_assert_int_eq(kz_device_attribute_by_name(&c, dev, full, NULL), st);
		ck_assert(a == b && b == c);
	}
	ok(kz_device_describe(dev, &info, &err));
	ok(kz_device_attribute_by_name(&a, dev, "MULTIPROCESSOR_COUNT", &err));
	ck_assert_int_eq(a, info.multiprocessors);
	ok(kz_device_attribute(&a, dev, 20, &err));
	ck_assert_int_eq(a, info.compute_mode);
	ck_assert_int_eq(strlen(info.pci_bus_id), strlen("0000:00:00.0"));
}

KERNEL_TEST(a_number_that_is_no_attribute_is_refused)
{
	int32_t value = 7;
	fails(kz_device_attribute(&value, dev, 0x7000, &err), KZ_UNSUPPORTED,
		"does not know attribute number 28672");
	ck_assert_int_eq(value, 0);
	fails(kz_device_attribute(&value, dev, -1, &err), KZ_UNSUPPORTED, "number -1");
}

STUB_TEST(questions_that_cannot_be_answered_say_why, "")
{
	int32_t value = 7;
	fails(kz_device_attribute_by_name(&value, dev, "WARP", &err), KZ_NOT_FOUND,
		"unknown device attribute 'WARP'");
	fails(kz_device_attribute_by_name(&value, dev, "", &err), KZ_NOT_FOUND, "''");
	fails(kz_device_attribute_by_name(&value, dev, NULL, &err), KZ_INVALID,
		"expected the name");
	fails(kz_device_attribute_by_name(&value, NULL, "WARP_SIZE", &err), KZ_INVALID, "a device");
	fails(kz_device_attribute(&value, NULL, 10, &err), KZ_INVALID, "expected a device");
	fails(kz_device_attribute(NULL, dev, 10, &err), KZ_INVALID, "out is NULL");
	support_stub("fail=cuDeviceGetAttribute:1");
	fails(kz_device_attribute(&value, dev, 10, &err), KZ_UNSUPPORTED,
		"does not know attribute CU_DEVICE_ATTRIBUTE_WARP_SIZE");
	ck_assert_int_eq(value, 0);
	support_stub("fail=cuDeviceGetAttribute:101");
	fails(kz_device_attribute(&value, dev, 10, &err), KZ_NOT_FOUND, "cuDeviceGetAttribute");
	support_stub("");
}

/* Identity and peers */

STUB_TEST(devices_have_a_bus_id_a_mode_and_peers, "devices=2")
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	kz_device *peer = NULL;
	int can = 7;
	ok(kz_device_describe(dev, &info, &err));
	ck_assert_str_eq(info.pci_bus_id, "0000:01:00.0");
	ck_assert_int_eq(info.compute_mode, KZ_COMPUTE_DEFAULT);
	ok(kz_device_open(&peer, "cuda:1", &err));
	ok(kz_device_can_access_peer(&can, dev, peer, &err));
	ck_assert_int_eq(can, 1);
	ok(kz_device_can_access_peer(&can, dev, dev, &err));
	ck_assert_int_eq(can, 0);
	fails(kz_device_can_access_peer(&can, dev, NULL, &err), KZ_INVALID,
		"expected a device, got NULL");
	fails(kz_device_can_access_peer(&can, NULL, dev, &err), KZ_INVALID, "expected a device");
	fails(kz_device_can_access_peer(NULL, dev, peer, &err), KZ_INVALID, "out is NULL");
	support_stub("devices=2;fail=cuDeviceCanAccessPeer:101");
	fails(kz_device_can_access_peer(&can, dev, peer, &err), KZ_NOT_FOUND, "");
	ck_assert_int_eq(can, 0);
	kz_device_close(peer);
}

STUB_TEST(a_driver_without_bus_ids_or_peers_opens,
	"missing=cuDeviceGetPCIBusId,cuDeviceCanAccessPeer;devices=2")
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	kz_device *peer = NULL;
	int can = 7;
	ok(kz_device_describe(dev, &info, &err));
	ck_assert_str_eq(info.pci_bus_id, "");
	ok(kz_device_open(&peer, "cuda:1", &err));
	fails(kz_device_can_access_peer(&can, dev, peer, &err), KZ_UNSUPPORTED,
		"does not have cuDeviceCanAccessPeer");
	kz_device_close(peer);
}

SUITE(attribute)
{
	Suite *s = suite_create("attribute");
	TCase *tc = suite_add_case(s, "table");
	tcase_add_test(tc, attributes_have_increasing_numbers_and_a_wrong_index_none);
#ifdef KZ_TEST_CUDA_INCLUDE
	tcase_add_test(tc, every_number_of_cuda_h_has_a_name);
#endif
	tc = suite_add_case(s, "values");
	tcase_add_tests(tc, support_device_count() + 1,
		each_attribute_is_the_drivers_by_number_and_by_both_names);
	tcase_add_tests(tc, support_device_count(), a_number_that_is_no_attribute_is_refused);
	tcase_add_test(tc, questions_that_cannot_be_answered_say_why);
	tcase_add_test(tc, devices_have_a_bus_id_a_mode_and_peers);
	tcase_add_test(tc, a_driver_without_bus_ids_or_peers_opens);
	return s;
}

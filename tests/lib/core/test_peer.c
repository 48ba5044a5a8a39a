/* SPDX-License-Identifier: MIT */
/* src/lib/core/peer.c: devices that use each other's memory. */
#include "base/common.h"

#include "support/device_test.h"

static kz_device *peer;

static void open_two(const char *script)
{
	open_stub(script);
	ok(kz_device_open(&peer, "cuda:1", &err));
}

static void close_two(void)
{
	support_close(peer);
	close_stub();
}

#define TWO_TEST(name, script) TEST_BETWEEN(open_two(script), close_two(), name)

TWO_TEST(access_is_enabled_and_disabled_for_one_direction, "devices=2")
{
	ok(kz_device_enable_peer_access(dev, peer, &err));
	ok(kz_device_enable_peer_access(dev, peer, &err)); /* as another library may have done */
	fails(kz_device_disable_peer_access(peer, dev, &err), KZ_STATE, "cuCtxDisablePeerAccess");
	ok(kz_device_disable_peer_access(dev, peer, &err));
	fails(kz_device_disable_peer_access(dev, peer, &err), KZ_STATE, "cuCtxDisablePeerAccess");
	ok(kz_device_enable_peer_access(peer, dev, &err));
	ok(kz_device_disable_peer_access(peer, dev, &err));
	/* Memory of cuMemAllocAsync has a switch of its own. */
	ck_assert_int_eq(support_stub_calls("cuMemPoolSetAccess"), 5);
	ok(kz_device_check(dev, &err));
}

TWO_TEST(what_cannot_use_each_other_is_told, "devices=2")
{
	fails(kz_device_enable_peer_access(NULL, peer, &err), KZ_INVALID,
		"expected a device, got NULL");
	fails(kz_device_enable_peer_access(dev, NULL, &err), KZ_INVALID,
		"expected a device, got NULL");
	fails(kz_device_enable_peer_access(dev, dev, &err), KZ_INVALID,
		"two devices, got cuda:0 twice");
	fails(kz_device_disable_peer_access(dev, dev, &err), KZ_INVALID,
		"two devices, got cuda:0 twice");
	support_stub("devices=2;fail=cuCtxEnablePeerAccess:217");
	fails(kz_device_enable_peer_access(dev, peer, &err), KZ_UNSUPPORTED,
		"cuCtxEnablePeerAccess");
	ck_assert_int_eq(support_stub_calls("cuMemPoolSetAccess"), 0);
}

TWO_TEST(half_of_an_access_is_taken_back, "devices=2;fail=cuMemPoolSetAccess:999@1")
{
	fails(kz_device_enable_peer_access(dev, peer, &err), KZ_UNKNOWN, "cuMemPoolSetAccess");
	fails(kz_device_disable_peer_access(dev, peer, &err), KZ_STATE, "cuCtxDisablePeerAccess");
	ok(kz_device_enable_peer_access(dev, peer, &err));
}

TWO_TEST(an_older_driver_has_no_peers,
	"devices=2;missing=cuCtxEnablePeerAccess,cuCtxDisablePeerAccess")
{
	fails(kz_device_enable_peer_access(dev, peer, &err), KZ_UNSUPPORTED,
		"cuCtxEnablePeerAccess");
	fails(kz_device_disable_peer_access(dev, peer, &err), KZ_UNSUPPORTED,
		"cuCtxDisablePeerAccess");
}

/* A GPU and the CPU device have two drivers. */
START_TEST(the_cpu_device_has_no_peer_among_gpus)
{
	int can = 1;
	err = (kz_error)KZ_ERROR_INIT;
	kz_device *cpu = support_open(_i), *gpu = NULL;
	if (strcmp(kz_device_name(cpu), "cpu") == 0) {
		support_stub("");
		ok(kz_device_open(&gpu, "cuda:0", &err));
		ok(kz_device_can_access_peer(&can, cpu, gpu, &err));
		ck_assert_int_eq(can, 0);
		fails(kz_device_enable_peer_access(cpu, gpu, &err), KZ_UNSUPPORTED,
			"cpu cannot use the memory of cuda:0, which has another driver");
		fails(kz_device_disable_peer_access(gpu, cpu, &err), KZ_UNSUPPORTED,
			"cuda:0 cannot use the memory of cpu");
		kz_device_close(gpu);
	}
	kz_device_close(cpu);
}
END_TEST

SUITE(peer)
{
	Suite *s = suite_create("peer");
	TCase *tc = suite_add_case(s, "stub");
	tcase_add_tests(tc, 1, access_is_enabled_and_disabled_for_one_direction,
		what_cannot_use_each_other_is_told, half_of_an_access_is_taken_back,
		an_older_driver_has_no_peers);
	tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count(), the_cpu_device_has_no_peer_among_gpus);
	return s;
}

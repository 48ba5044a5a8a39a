/* SPDX-License-Identifier: MIT */
/*
 * Devices: names, the choice of one, the loss of a context, on the scripted stub driver; and the
 * basics on every device found.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/device.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/host_memory.h>
#include <kudzu/stream.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static kz_error err;
static kz_device *dev;

#define STUB KZ_TEST_BUILD "/libcuda-stub.so"

/* The stub as both drivers, or only one of them. */
static void use_stub(const char *script, bool cuda, bool cpu)
{
	support_stub(script);
	setenv("KUDZU_CUDA_DRIVER", cuda ? STUB : "/nowhere/libcuda.so.1", 1);
	setenv("KUDZU_CPU_DRIVER", cpu ? STUB : "/nowhere/libkudzu-cpu.so", 1);
	unsetenv("KUDZU_DEVICE");
}

static kz_device *open_stub(const char *script)
{
	use_stub(script, true, false);
	ok(kz_device_open(&dev, "cuda", &err));
	return dev;
}

/* Names */

START_TEST(a_name_that_is_none_is_refused)
{
	static const char *const names[] = {"", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda:+1",
		"cuda: 1", "cuda:1x", "cuda:0x1", "cuda:4294967296", "cuda1", "cpu:", "cpu:x",
		"cpu1", "cpu ", " cpu", "GPU-", "GPU-x", "gpu-00", "1", "01:00", "01:00.",
		"1:2:3:4", "0:1:0.0x", "01:00.00",
		"GPU-00000000-0000-0000-0000-0000000000000"};
	use_stub("", true, true);
	for (size_t i = 0; i < countof(names); i++) {
		fails(kz_device_open(&dev, names[i], &err), KZ_INVALID,
			"expected 'cuda', 'cuda:N', 'cpu', 'cpu:N', 'GPU-...'");
		ck_assert_ptr_null(dev);
	}
}
END_TEST

START_TEST(a_name_opens_its_device)
{
	static const char *const names[][2] = {{"cuda", "cuda:0"}, {"cuda:0", "cuda:0"},
		{"cuda:1", "cuda:1"}, {"cuda:01", "cuda:1"}, {"cpu", "cpu"}, {"cpu:0", "cpu"},
		{"cpu:1", "cpu:1"}};
	use_stub("devices=2", true, true);
	for (size_t i = 0; i < countof(names); i++) {
		ok(kz_device_open(&dev, names[i][0], &err));
		ck_assert_str_eq(kz_device_name(dev), names[i][1]);
		ck_assert_ptr_null(kz_device_note(dev));
		kz_device_close(dev);
	}
	support_check_stub();
}
END_TEST

START_TEST(a_uuid_or_a_pci_bus_id_opens_its_device)
{
	static const char *const names[][2] = {{"GPU-01010101-0101-0101-0101-010101010101",
		"cuda:1"}, {"GPU-00000000-0000-0000-0000-000000000000", "cuda:0"},
		{"GPU-01", "cuda:1"}, {"GPU-0101010101010101", "cuda:1"},
		{"0000:02:00.0", "cuda:1"}, {"00000000:02:00.0", "cuda:1"},
		{"0000:01:00", "cuda:0"}, {"2:0.0", "cuda:1"}};
	use_stub("devices=2", true, false);
	for (size_t i = 0; i < countof(names); i++) {
		ok(kz_device_open(&dev, names[i][0], &err));
		ck_assert_str_eq(kz_device_name(dev), names[i][1]);
		kz_device_close(dev);
	}
	setenv("KUDZU_DEVICE", "GPU-01", 1);
	ok(kz_device_open(&dev, NULL, &err));
	ck_assert_str_eq(kz_device_name(dev), "cuda:1");
	kz_device_close(dev);
	support_check_stub();
}
END_TEST

START_TEST(an_id_that_no_device_has_is_reported_with_those_that_there_are)
{
	use_stub("devices=2", true, false);
	fails(kz_device_open(&dev, "GPU-02", &err), KZ_NO_DEVICE,
		"there is no device GPU-02; there "
		"are GPU-00000000-0000-0000-0000-000000000000, "
		"GPU-01010101-0101-0101-0101-010101010101");
	fails(kz_device_open(&dev, "GPU-0", &err), KZ_NO_DEVICE,
		"more than one device begins with GPU-0; there are GPU-00");
	fails(kz_device_open(&dev, "0000:03:00.0", &err), KZ_NO_DEVICE,
		"there is no device 0000:03:00.0; there are 0000:01:00.0, 0000:02:00.0");
	fails(kz_device_open(&dev, "0001:01:00.0", &err), KZ_NO_DEVICE, "there is no device");
	fails(kz_device_open(&dev, "0000:01:01.0", &err), KZ_NO_DEVICE, "there is no device");
	fails(kz_device_open(&dev, "0000:01:00.1", &err), KZ_NO_DEVICE, "there is no device");
	use_stub("", false, true);
	ok(kz_device_open(&dev, "0000:01:00.0", &err));
	ck_assert_str_eq(kz_device_name(dev), "cpu");
	kz_device_close(dev);
	use_stub("", false, false);
	fails(kz_device_open(&dev, "GPU-00", &err), KZ_NO_DRIVER, "/nowhere/libcuda.so.1");
}
END_TEST

START_TEST(a_driver_that_knows_no_ids_is_told)
{
	use_stub("missing=cuDeviceGetUuid,cuDeviceGetPCIBusId", false, true);
	fails(kz_device_open(&dev, "GPU-00", &err), KZ_NO_DEVICE,
		"there is no device GPU-00; there is one without such a name");
	fails(kz_device_open(&dev, "0000:01:00.0", &err), KZ_NO_DEVICE, "one without such a name");
}
END_TEST

START_TEST(a_device_opens_by_what_it_says_of_itself)
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	char name[64] = "GPU-";
	kz_device *again;
	dev = support_open_any(_i);
	ok(kz_device_describe(dev, &info, &err));
	for (size_t i = 0; i < sizeof(info.uuid); i++) {
		snprintf(name + strlen(name), sizeof(name) - strlen(name), "%02x", info.uuid[i]);
	}
	ok(kz_device_open(&again, name, &err));
	ck_assert_ptr_eq(again, dev);
	kz_device_close(again);
	ok(kz_device_open(&again, info.pci_bus_id, &err));
	ck_assert_ptr_eq(again, dev);
	kz_device_close(again);
	kz_device_close(dev);
}
END_TEST

START_TEST(a_gpu_that_is_not_there_is_reported_with_those_that_are)
{
	use_stub("devices=2", true, true);
	fails(kz_device_open(&dev, "cpu:2", &err), KZ_NO_DEVICE,
		"there is no cpu:2: there are 2 CPU devices, as KUDZU_CPU_DEVICES says");
	fails(kz_device_open(&dev, "cuda:9", &err), KZ_NO_DEVICE,
		"there is no cuda:9: the driver has 2 devices, cuda:0 and up");
	use_stub("", true, true);
	fails(kz_device_open(&dev, "cuda:999999999", &err), KZ_NO_DEVICE,
		"there is no cuda:999999999");
	use_stub("", false, true);
	fails(kz_device_open(&dev, "cuda", &err), KZ_NO_DRIVER, "/nowhere/libcuda.so.1");
	use_stub("", true, false);
	fails(kz_device_open(&dev, "cpu", &err), KZ_NO_DRIVER, "/nowhere/libkudzu-cpu.so");
}
END_TEST

START_TEST(opening_again_gives_the_same_handle)
{
	kz_device *again;
	open_stub("");
	ok(kz_device_open(&again, "cuda:0", &err));
	ck_assert_ptr_eq(again, dev);
	ck_assert_int_eq(support_stub_live(STUB_CONTEXT), 1);
	kz_device_close(again);
	ok(kz_device_synchronize(dev, &err));
	kz_device_close(dev);
	kz_device_close(NULL);
	support_check_stub();
}
END_TEST

START_TEST(nothing_in_place_of_a_device_or_a_result_is_no_crash)
{
	kz_device *devs[2];
	int count = 7;
	use_stub("", true, true);
	fails(kz_device_open(NULL, "cuda", &err), KZ_INVALID, "kz_device_open: out is NULL");
	fails(kz_try_gpu(NULL, 0, &err), KZ_INVALID, "kz_try_gpu: out is NULL");
	fails(kz_try_all_gpus(NULL, 2, &count, &err), KZ_INVALID, "kz_try_all_gpus: out is NULL");
	ck_assert_int_eq(count, 0);
	fails(kz_try_all_gpus(devs, 2, NULL, &err), KZ_INVALID, "expected a count, got NULL");
	ck_assert_str_eq(kz_device_name(NULL), "");
	ck_assert_str_eq(kz_device_model(NULL), "");
	ck_assert_int_eq(kz_device_index(NULL), -1);
	ck_assert_int_eq(kz_device_is_cuda(NULL), 0);
	ck_assert_ptr_null(kz_device_note(NULL));
	ck_assert_ptr_null(kz_device_stream(NULL));
	support_check_stub();
}
END_TEST

/* The choice */

START_TEST(the_environment_chooses)
{
	use_stub("devices=2", true, true);
	setenv("KUDZU_DEVICE", "cuda:1", 1);
	ok(kz_device_open(&dev, NULL, &err));
	ck_assert_str_eq(kz_device_name(dev), "cuda:1");
	kz_device_close(dev);
	setenv("KUDZU_DEVICE", "cuda:7", 1);
	fails(kz_device_open(&dev, NULL, &err), KZ_NO_DEVICE, "there is no cuda:7");
	setenv("KUDZU_DEVICE", "gpu", 1);
	fails(kz_device_open(&dev, NULL, &err), KZ_INVALID,
		"KUDZU_DEVICE: unknown device 'gpu'");
	setenv("KUDZU_DEVICE", "", 1);
	ok(kz_device_open(&dev, NULL, &err));
	ck_assert_str_eq(kz_device_name(dev), "cuda:0");
	kz_device_close(dev);
}
END_TEST

/* The stub is both drivers: what fails once fails for the GPU. */
static const struct {
	const char *script;
	bool cuda;
	const char *name;
	const char *note;
} choices[] = {
	{"", true, "cuda:0", NULL},
	{"", false, "cpu", "cuda: cannot load the CUDA driver: tried '/nowhere/libcuda.so.1'"},
	{"fail=cuInit:100@1+", true, NULL, NULL},
	{"fail=cuDeviceGetCount:802@1;fail=cuDeviceGetCount:802@2", true, "cpu", "cuda: "},
	{"fail=cuDevicePrimaryCtxRetain:2@1", true, "cpu",
		"cuda: cuDevicePrimaryCtxRetain: "},
	{"fail=cuStreamCreate:700@1", true, "cpu", "cuda: cuStreamCreate: "},
	{"devices=2;fail=cuDevicePrimaryCtxRetain:46@1", true, "cuda:1",
		"an earlier GPU: cuDevicePrimaryCtxRetain: "},
	{"devices=3;fail=cuDevicePrimaryCtxRetain:46@1;fail=cuDevicePrimaryCtxRetain:46@2", true,
		"cuda:2", "an earlier GPU: "},
};

START_TEST(the_best_device_that_works_is_chosen_and_the_reason_kept)
{
	use_stub(choices[_i].script, choices[_i].cuda, true);
	kz_status st = kz_device_open(&dev, NULL, &err);
	if (!choices[_i].name) {
		ck_assert_int_eq(st, KZ_NO_DEVICE);
		kz_error_clear(&err);
		return;
	}
	ok(st);
	ck_assert_str_eq(kz_device_name(dev), choices[_i].name);
	const char *note = kz_device_note(dev), *want = choices[_i].note;
	ck_assert_msg(want ? note && strncmp(note, want, strlen(want)) == 0 : !note, "%s", note);
	kz_device_close(dev);
	support_check_stub();
}
END_TEST

START_TEST(without_any_device_the_error_names_both_reasons)
{
	use_stub("", false, false);
	ck_assert_int_eq(kz_device_open(&dev, NULL, &err), KZ_NO_DRIVER);
	ck_assert_ptr_nonnull(
		strstr(err.message, "cuda: cannot load the CUDA driver: tried '/nowhere"));
	ck_assert_ptr_nonnull(
		strstr(err.message, "; cpu: cannot load the CPU driver: tried '/nowhere"));
	ck_assert_ptr_nonnull(err.hint);
	ck_assert_ptr_nonnull(strstr(err.log, "No such file"));
	ck_assert_ptr_null(dev);
	kz_error_clear(&err);
}
END_TEST

START_TEST(the_failure_of_a_gpu_keeps_its_code_when_there_is_no_cpu)
{
	use_stub("fail=cuDevicePrimaryCtxRetain:46", true, false);
	ck_assert_int_eq(kz_device_open(&dev, NULL, &err), KZ_NO_DEVICE);
	ck_assert_int_eq(err.domain, KZ_DOMAIN_DRIVER);
	ck_assert_int_eq(err.code, 46);
	ck_assert_str_eq(err.call, "cuDevicePrimaryCtxRetain");
	kz_error_clear(&err);
}
END_TEST

START_TEST(torch_and_d2l_helpers_count_and_try)
{
	kz_device *devs[4];
	int count = -1;
	use_stub("devices=3", true, true);
	ck_assert_int_eq(kz_cuda_device_count(), 3);
	ck_assert_int_eq(kz_cuda_available(), 1);
	ok(kz_try_gpu(&dev, 2, &err));
	ck_assert_str_eq(kz_device_name(dev), "cuda:2");
	ck_assert_int_eq(kz_device_index(dev), 2);
	ck_assert_int_eq(kz_device_is_cuda(dev), 1);
	kz_device_close(dev);
	ok(kz_try_gpu(&dev, 3, &err));
	ck_assert_str_eq(kz_device_name(dev), "cpu");
	ck_assert_int_eq(kz_device_index(dev), 0);
	ck_assert_int_eq(kz_device_is_cuda(dev), 0);
	ck_assert_ptr_nonnull(strstr(kz_device_note(dev), "cuda: there is no cuda:3"));
	kz_device_close(dev);
	fails(kz_try_gpu(&dev, -1, &err), KZ_INVALID, "got -1");
	fails(kz_try_all_gpus(devs, 0, &count, &err), KZ_INVALID, "got 0");
	ck_assert_int_eq(count, 0);
	ok(kz_try_all_gpus(devs, 4, &count, &err));
	ck_assert_int_eq(count, 3);
	for (int i = 0; i < count; i++) {
		ck_assert_int_eq(kz_device_name(devs[i])[5], '0' + i);
		kz_device_close(devs[i]);
	}
	ok(kz_try_all_gpus(devs, 2, &count, &err));
	ck_assert_int_eq(count, 2);
	kz_device_close(devs[0]);
	kz_device_close(devs[1]);
	support_check_stub();
}
END_TEST

START_TEST(all_gpus_are_those_that_work_or_the_cpu)
{
	kz_device *devs[4];
	int count;
	use_stub("devices=3;fail=cuDevicePrimaryCtxRetain:46@2", true, true);
	ok(kz_try_all_gpus(devs, 4, &count, &err));
	ck_assert_int_eq(count, 2);
	ck_assert_str_eq(kz_device_name(devs[1]), "cuda:2");
	ck_assert_ptr_nonnull(strstr(kz_device_note(devs[0]), "another GPU: "));
	kz_device_close(devs[0]);
	kz_device_close(devs[1]);
	use_stub("", false, true);
	ck_assert_int_eq(kz_cuda_device_count(), 0);
	ck_assert_int_eq(kz_cuda_available(), 0);
	ok(kz_try_all_gpus(devs, 4, &count, &err));
	ck_assert_int_eq(count, 1);
	ck_assert_str_eq(kz_device_name(devs[0]), "cpu");
	kz_device_close(devs[0]);
	use_stub("", false, false);
	ck_assert_int_eq(kz_try_all_gpus(devs, 4, &count, &err), KZ_NO_DRIVER);
	ck_assert_int_eq(count, 0);
	kz_error_clear(&err);
}
END_TEST

/* What it says about itself */

START_TEST(a_device_describes_itself)
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	open_stub("version=12040;cc=75;memory=123456789");
	ok(kz_device_describe(dev, &info, &err));
	ck_assert_uint_eq(info.size, sizeof(info));
	ck_assert_int_eq(info.compute_capability, 75);
	ck_assert_int_eq(info.driver_version, 12040);
	ck_assert_int_eq(info.multiprocessors, 132);
	ck_assert_int_eq(info.warp_size, 32);
	ck_assert_int_eq(info.max_threads_per_block, 1024);
	ck_assert_int_eq(info.max_block[2], 64);
	ck_assert_int_eq(info.max_grid[0], 0x7fffffff);
	ck_assert_int_eq(info.max_grid[2], 65535);
	ck_assert_int_eq(info.shared_per_block_optin, 232448);
	ck_assert_int_eq(info.total_memory, 123456789);
	ck_assert_int_eq(info.memory_pools, 1);
	ck_assert_str_eq(kz_device_model(dev), "Kudzu stub 0");
	kz_device_close(dev);
}
END_TEST

START_TEST(a_description_of_no_known_size_is_refused)
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	open_stub("");
	info.size = 8;
	fails(kz_device_describe(dev, &info, &err), KZ_INVALID,
		"kz_device_info has size 8, expected");
	info.size = sizeof(info) + 8;
	fails(kz_device_describe(dev, &info, &err), KZ_INVALID, "KZ_DEVICE_INFO_INIT");
	fails(kz_device_describe(dev, NULL, &err), KZ_INVALID, "got NULL");
	fails(kz_device_describe(NULL, &info, &err), KZ_INVALID, "expected a device");
	kz_device_close(dev);
}
END_TEST

START_TEST(what_an_old_driver_cannot_tell_is_zero)
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	open_stub("version=11000;fail=cuDeviceGetAttribute:1;"
		"missing=cuDeviceTotalMem_v2,cuDeviceGetUuid,cuMemGetInfo_v2");
	ok(kz_device_describe(dev, &info, &err));
	ck_assert_int_eq(info.compute_capability, 0);
	ck_assert_int_eq(info.total_memory, 0);
	ck_assert_int_eq(info.memory_pools, 0);
	fails(kz_device_memory(dev, NULL, NULL, &err), KZ_UNSUPPORTED,
		"does not have cuMemGetInfo");
	kz_device_close(dev);
}
END_TEST

START_TEST(pools_need_the_attribute_and_both_functions)
{
	static const char *const scripts[] = {"missing=cuMemAllocAsync", "missing=cuMemFreeAsync",
		"version=11010"};
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	open_stub(scripts[_i]);
	ok(kz_device_describe(dev, &info, &err));
	ck_assert_int_eq(info.memory_pools, 0);
	kz_device_close(dev);
}
END_TEST

START_TEST(free_and_total_memory_are_the_drivers)
{
	int64_t free_size = -1, total_size = -1;
	open_stub("memory=1000000");
	ok(kz_device_memory(dev, &free_size, &total_size, &err));
	ck_assert_int_eq(free_size, 1000000);
	ck_assert_int_eq(total_size, 1000000);
	ok(kz_device_memory(dev, NULL, NULL, &err));
	fails(kz_device_memory(NULL, NULL, NULL, &err), KZ_INVALID, "expected a device");
	fails(kz_device_synchronize(NULL, &err), KZ_INVALID, "expected a device");
	fails(kz_device_check(NULL, &err), KZ_INVALID, "expected a device");
	kz_device_close(dev);
}
END_TEST

/* Failures */

static const char *const opening[] = {"cuDeviceGet", "cuDeviceGetAttribute", "cuDeviceGetName",
	"cuDeviceTotalMem", "cuDeviceGetUuid", "cuDevicePrimaryCtxRetain", "cuCtxGetCurrent",
	"cuCtxSetCurrent", "cuStreamCreate", "cuEventCreate"};

START_TEST(every_failing_call_of_opening_is_reported_and_leaves_nothing)
{
	char script[64];
	snprintf(script, sizeof(script), "fail=%s:999", opening[_i]);
	use_stub(script, true, false);
	ck_assert_int_eq(kz_device_open(&dev, "cuda", &err), KZ_UNKNOWN);
	ck_assert_int_eq(err.code, 999);
	ck_assert_ptr_null(dev);
	kz_error_clear(&err);
	support_check_stub();
	use_stub("", true, false);
	ok(kz_device_open(&dev, "cuda", &err));
	kz_device_close(dev);
}
END_TEST

/* A call fails with `code` and is followed by others. */
static void check_code(int code)
{
	char script[64];
	const struct native_code *known = codes_find(KZ_DOMAIN_DRIVER, code);
	kz_status want = known ? known->status : KZ_UNKNOWN;
	uint32_t flags = known ? known->flags : 0;
	bool sticky = flags & KZ_ERROR_STICKY;
	snprintf(script, sizeof(script), "fail=cuCtxSynchronize:%d@1", code);
	open_stub(script);
	ck_assert_int_eq(kz_device_synchronize(dev, &err), want);
	ck_assert_int_eq(err.status, want);
	ck_assert_int_eq(err.code, code);
	ck_assert_uint_eq(err.flags, flags);
	ck_assert_str_eq(err.call, "cuCtxSynchronize");
	ck_assert(strncmp(err.message, "cuCtxSynchronize: ", strlen("cuCtxSynchronize: ")) == 0);
	kz_error_clear(&err);
	for (int i = 0; i < 2; i++) {
		kz_status st = i ? kz_device_check(dev, &err) : kz_device_synchronize(dev, &err);
		ck_assert_int_eq(st, sticky ? want : KZ_OK);
		ck_assert_int_eq(err.code, sticky ? code : 0);
		ck_assert_uint_eq(err.flags, sticky ? flags : 0);
		ck_assert(!sticky
			|| strstr(err.message, "cuda:0 was lost by an earlier failure: cuCtx"));
		kz_error_clear(&err);
	}
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), sticky ? 1 : 2);
	kz_device_close(dev);
}

START_TEST(every_result_reaches_the_user_and_sticky_ones_stay)
{
	int sticky = 0;
	for (int code = 1; code < 1000; code++) {
		const struct native_code *known = codes_find(KZ_DOMAIN_DRIVER, code);
		sticky += known && known->flags & KZ_ERROR_STICKY;
		check_code(code);
		ck_assert_int_eq(support_stub_live(STUB_CONTEXT), 0);
	}
	ck_assert_int_gt(sticky, 10);
}
END_TEST

static void lose_device(void)
{
	open_stub("fail=cuCtxSynchronize:700@1");
	fails(kz_device_synchronize(dev, &err), KZ_FAULT, "cuCtxSynchronize");
}

START_TEST(a_lost_device_stays_lost_while_it_is_open)
{
	kz_device *again;
	lose_device();
	ok(kz_device_open(&again, "cuda", &err));
	ck_assert_ptr_eq(again, dev);
	fails(kz_device_check(again, &err), KZ_FAULT, "was lost by an earlier failure");
	kz_device_close(again);
	kz_device_close(dev);
	ck_assert_int_eq(support_stub_calls("cuDevicePrimaryCtxReset"), 1);
	ok(kz_device_open(&dev, "cuda", &err));
	ok(kz_device_check(dev, &err));
	ok(kz_device_synchronize(dev, &err));
	kz_device_close(dev);
}
END_TEST

START_TEST(what_outlives_a_lost_device_leaves_the_new_one_alone)
{
	kz_array *array = NULL;
	kz_stream *stream = NULL;
	float host[4] = {0};
	open_stub("fail=cuCtxSynchronize:700@1");
	ok(kz_array_zeros(&array, dev, KZ_F32, KZ_SHAPE(4), &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	fails(kz_device_synchronize(dev, &err), KZ_FAULT, "cuCtxSynchronize");
	kz_device *lost = dev;
	kz_device_close(dev);
	ok(kz_device_open(&dev, "cuda", &err));
	ck_assert_ptr_ne(dev, lost);
	ok(kz_device_synchronize(dev, &err));
	ck_assert_int_eq(support_stub_calls("cuDevicePrimaryCtxReset"), 1);
	fails(kz_array_get(array, host, sizeof(host), &err), KZ_FAULT, "was lost");
	kz_array_release(array);
	kz_stream_release(stream);
	ck_assert_int_eq(support_stub_calls("cuMemFreeAsync"), 0);
	ck_assert_int_eq(support_stub_calls("cuStreamDestroy"), 0);
	ck_assert_int_eq(support_stub_calls("cuDevicePrimaryCtxReset"), 1);
	ok(kz_device_synchronize(dev, &err));
	kz_device_close(dev);
	ck_assert_int_eq(support_stub_live(STUB_CONTEXT), 0);
}
END_TEST

START_TEST(a_driver_that_does_not_recover_says_to_start_again)
{
	use_stub("fail=cuStreamCreate:700", true, false);
	ck_assert_int_eq(kz_device_open(&dev, "cuda", &err), KZ_FAULT);
	ck_assert_ptr_nonnull(strstr(err.hint, "start the program again"));
	kz_error_clear(&err);
	ck_assert_int_eq(support_stub_live(STUB_CONTEXT), 0);
}
END_TEST

START_TEST(opening_without_memory_fails_cleanly_at_every_step)
{
	kz_status st = KZ_NO_MEMORY;
	long n;
	use_stub("", false, true);
	for (n = 0; st == KZ_NO_MEMORY; n++) {
		mem_fail_after(n);
		st = kz_device_open(&dev, NULL, &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(err.status, st);
		ck_assert(st == KZ_OK || failed);
		kz_error_clear(&err);
		kz_device_close(dev);
		support_check_stub();
		/* A note is no reason to fail. */
		st = failed ? KZ_NO_MEMORY : st;
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 3);
}
END_TEST

/* The caller's context, and threads */

START_TEST(the_callers_context_is_current_again_after_each_call)
{
	CUcontext mine = NULL, now = NULL;
	open_stub("devices=2");
	ok(kz_device_synchronize(dev, &err));
	ck_assert_int_eq(dev->drv->CtxGetCurrent(&now), CUDA_SUCCESS);
	ck_assert_ptr_null(now);
	ck_assert_int_eq(dev->drv->DevicePrimaryCtxRetain(&mine, 1), CUDA_SUCCESS);
	ck_assert_int_eq(dev->drv->CtxSetCurrent(mine), CUDA_SUCCESS);
	ok(kz_device_synchronize(dev, &err));
	ck_assert_int_eq(dev->drv->CtxGetCurrent(&now), CUDA_SUCCESS);
	ck_assert_ptr_eq(now, mine);
	ck_assert_int_eq(dev->drv->DevicePrimaryCtxRelease(1), CUDA_SUCCESS);
	kz_device_close(dev);
}
END_TEST

static void *open_and_close(void *unused)
{
	for (int i = 0; i < 100; i++) {
		kz_device *mine;
		if (kz_device_open(&mine, NULL, NULL) || kz_device_synchronize(mine, NULL)) {
			return unused;
		}
		kz_device_close(mine);
	}
	return NULL;
}

START_TEST(threads_open_and_close_the_same_device)
{
	pthread_t threads[4];
	use_stub("", true, false);
	for (size_t i = 0; i < countof(threads); i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, open_and_close, threads), 0);
	}
	for (size_t i = 0; i < countof(threads); i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
	support_check_stub();
}
END_TEST

/* Every device found */

/* A release returns nothing; its failure waits for kz_device_check. */

START_TEST(releases_that_fail_are_counted_and_reported_once)
{
	static const char *const calls[] = {"cuStreamDestroy", "cuEventDestroy", "cuMemFree"};
	static const char *const more[] = {"2", "5", "2"}; /* a stream has an event, too */
	char script[64], message[128];
	snprintf(script, sizeof(script), "fail=%s:1", calls[_i]);
	snprintf(message, sizeof(message), "a release on cuda:0 failed, as did %s more since "
		"then: %s: ", more[_i], calls[_i]);
	open_stub(script);
	setenv("KUDZU_POOL", "0", 1);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++) {
			kz_stream *stream;
			kz_event *event;
			kz_buffer *buffer;
			ok(kz_stream_create(&stream, dev, 0, &err));
			ok(kz_event_create(&event, dev, &err));
			ok(kz_managed_create(&buffer, dev, 64, &err));
			kz_stream_release(stream);
			kz_event_release(event);
			kz_buffer_release(buffer);
		}
		fails(kz_device_check(dev, &err), KZ_INVALID, message);
		ok(kz_device_check(dev, &err));
	}
	support_stub("fail=cuStreamDestroy:700");
	kz_stream *stream;
	ok(kz_stream_create(&stream, dev, 0, &err));
	kz_stream_release(stream);
	fails(kz_device_check(dev, &err), KZ_FAULT, "a release on cuda:0 failed: cuStreamDestroy");
	fails(kz_device_check(dev, &err), KZ_FAULT, "cuda:0 was lost by an earlier failure: ");
	kz_device_close(dev);
}
END_TEST

START_TEST(a_real_device_opens_and_describes_itself)
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	int64_t free_size = 0, total_size = 0;
	dev = support_open(_i);
	ok(kz_device_describe(dev, &info, &err));
	ck_assert_int_ge(info.compute_capability, 50);
	ck_assert_int_eq(info.warp_size, 32);
	ck_assert_int_ge(info.multiprocessors, 1);
	ck_assert_int_ge(info.max_threads_per_block, 1024);
	ck_assert_int_ge(info.shared_per_block, 48 * 1024);
	ok(kz_device_memory(dev, &free_size, &total_size, &err));
	ck_assert(0 < free_size && free_size <= total_size);
	ck_assert_str_ne(kz_device_model(dev), "");
	ok(kz_device_synchronize(dev, &err));
	ok(kz_device_check(dev, &err));
	kz_device *again;
	ok(kz_device_open(&again, kz_device_name(dev), &err));
	ck_assert_ptr_eq(again, dev);
	kz_device_close(again);
	kz_device_close(dev);
}
END_TEST

START_TEST(a_setting_of_the_cpu_device_that_makes_no_sense_is_named)
{
	setenv("KUDZU_CPU_WIDTH", "7", 1);
	if (strcmp(support_device_name(_i), "cpu") == 0) {
		ck_assert_int_eq(kz_device_open(&dev, "cpu", &err), KZ_INVALID);
		ck_assert_str_eq(err.log,
			"cuInit: KUDZU_CPU_WIDTH is '7': expected 1, 8, 16 or 32\n");
		kz_error_clear(&err);
		setenv("KUDZU_CPU_WIDTH", "1", 1);
	}
	kz_device_close(support_open(_i));
}
END_TEST

static TCase *choice_case(void)
{
	TCase *tc = tcase_create("choice");
	tcase_add_tests(tc, 1, a_name_that_is_none_is_refused, a_name_opens_its_device,
		a_gpu_that_is_not_there_is_reported_with_those_that_are,
		a_uuid_or_a_pci_bus_id_opens_its_device,
		an_id_that_no_device_has_is_reported_with_those_that_there_are,
		a_driver_that_knows_no_ids_is_told,
		opening_again_gives_the_same_handle,
		nothing_in_place_of_a_device_or_a_result_is_no_crash, the_environment_chooses);
	tcase_add_loop_test(tc, the_best_device_that_works_is_chosen_and_the_reason_kept, 0,
		countof(choices));
	tcase_add_tests(tc, 1, without_any_device_the_error_names_both_reasons,
		the_failure_of_a_gpu_keeps_its_code_when_there_is_no_cpu,
		torch_and_d2l_helpers_count_and_try, all_gpus_are_those_that_work_or_the_cpu);
	return tc;
}

static TCase *info_case(void)
{
	TCase *tc = tcase_create("description");
	tcase_add_tests(tc, 1, a_device_describes_itself, a_description_of_no_known_size_is_refused,
		what_an_old_driver_cannot_tell_is_zero);
	tcase_add_loop_test(tc, pools_need_the_attribute_and_both_functions, 0, 3);
	tcase_add_tests(tc, 1, free_and_total_memory_are_the_drivers,
		the_callers_context_is_current_again_after_each_call,
		threads_open_and_close_the_same_device);
	return tc;
}

static TCase *failure_case(void)
{
	TCase *tc = tcase_create("failures");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, releases_that_fail_are_counted_and_reported_once, 0, 3);
	tcase_add_loop_test(tc, every_failing_call_of_opening_is_reported_and_leaves_nothing, 0,
		countof(opening));
	tcase_add_tests(tc, 1, every_result_reaches_the_user_and_sticky_ones_stay,
		a_lost_device_stays_lost_while_it_is_open,
		what_outlives_a_lost_device_leaves_the_new_one_alone,
		a_driver_that_does_not_recover_says_to_start_again,
		opening_without_memory_fails_cleanly_at_every_step);
	return tc;
}

/* Without a name, and by it: no hint about NVIDIA's driver. */
START_TEST(a_variable_with_a_bad_value_is_named_on_every_path)
{
	const struct {
		const char *name, *value;
		kz_status st;
		const char *message;
	} rows[] = {
		{"KUDZU_CPU_THREADS", "abc", KZ_INVALID,
			"KUDZU_CPU_THREADS is 'abc': expected a number from 1 to 1024"},
		{"KUDZU_POOL", "7", KZ_INVALID, "KUDZU_POOL: expected 0 or 1, got '7'"},
		{"KUDZU_CPU_DRIVER", "/nowhere", KZ_NO_DRIVER,
			"cannot load the CPU driver: tried '/nowhere' of KUDZU_CPU_DRIVER"},
	};
	const char *const names[] = {NULL, "cpu"};
	err = (kz_error)KZ_ERROR_INIT;
	unsetenv("KUDZU_DEVICE");
	setenv("KUDZU_CUDA_DRIVER", "libnone.so", 1);
	setenv(rows[_i].name, rows[_i].value, 1);
	for (size_t i = 0; i < countof(names); i++) {
		ck_assert_int_eq(kz_device_open(&dev, names[i], &err), rows[_i].st);
		ck_assert_msg(strstr(err.message, rows[_i].message) != NULL, "%s", err.message);
		ck_assert_msg(!err.hint || !strstr(err.hint, "NVIDIA"), "%s", err.hint);
		kz_error_clear(&err);
	}
}
END_TEST

static void setup(int index)
{
	dev = support_open(index);
}

static void teardown(void)
{
	kz_device_close(dev);
}

DEVICE_TEST(a_limit_is_what_it_was_set_to)
{
	static const kz_limit limits[] = {KZ_LIMIT_STACK_SIZE, KZ_LIMIT_PRINTF_FIFO_SIZE,
		KZ_LIMIT_MALLOC_HEAP_SIZE};
	int64_t value = 7;
	for (size_t i = 0; i < countof(limits); i++) {
		int64_t wanted = (16 << 10) << i;
		ok(kz_device_set_limit(dev, limits[i], wanted, &err));
		ok(kz_device_limit(&value, dev, limits[i], &err));
		ck_assert_int_ge(value, wanted);
	}
	fails(kz_device_limit(&value, dev, (kz_limit)7, &err), KZ_INVALID,
		"expected a limit from 0 to 6, or KZ_LIMIT_LAUNCH_MS, got 7");
	ck_assert_int_eq(value, 0);
	fails(kz_device_limit(NULL, dev, KZ_LIMIT_STACK_SIZE, &err), KZ_INVALID, "out is NULL");
	fails(kz_device_set_limit(dev, (kz_limit)-1, 1, &err), KZ_INVALID, "got -1");
	fails(kz_device_set_limit(dev, KZ_LIMIT_STACK_SIZE, -5, &err), KZ_INVALID,
		"expected a limit of at least 0, got -5");
	fails(kz_device_set_limit(dev, KZ_LIMIT_STACK_SIZE, INT64_MAX, &err), KZ_INVALID,
		"cuCtxSetLimit");
	fails(kz_device_set_limit(NULL, KZ_LIMIT_STACK_SIZE, 1, &err), KZ_INVALID,
		"expected a device, got NULL");
}

/* A recursion for which the default stack is too small; the CPU device has more than it says. */
DEVICE_TEST(a_kernel_that_needs_a_larger_stack_runs_after_the_limit_was_set)
{
	static const char deep[] = "__device__ __noinline__ int down(int n)\n"
		"{ volatile int local[16]; local[n & 15] = n;\n"
		"  return n ? down(n - 1) + local[n & 15] : 0; }\n"
		"__global__ void deep(int *out, int n) { *out = down(n); }\n";
	const int levels = strcmp(kz_device_name(dev), "cpu") == 0 ? 4000 : 200;
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	int32_t sum = 0;
	ok(kz_module_compile(&mod, dev, deep, NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "deep", &err));
	ok(kz_device_set_limit(dev, KZ_LIMIT_STACK_SIZE, 128 * levels, &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(&sum, sizeof(sum)), levels)));
	ck_assert_int_eq(sum, levels * (levels + 1) / 2);
	kz_module_release(mod);
}

/* 65,540 bytes of constants are 4 more than every GPU has. */
static const char excessive[] = "__constant__ int table[16385];\n"
	"extern \"C\" __global__ void excess(int *out) { *out = table[16384] + 7; }\n";

static kz_status run_excessive(void)
{
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	int32_t result = 0;
	kz_status st;
	if (!(st = kz_module_compile(&mod, dev, excessive, NULL, &err))
	    && !(st = kz_module_kernel(&kernel, mod, "excess", &err))) {
		ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
			KZ_ARGS(KZ_INOUT(&result, sizeof(result)))));
		ck_assert_int_eq(result, 7);
	}
	kz_module_release(mod);
	return st;
}

DEVICE_TEST(what_no_gpu_has_is_refused_until_the_limits_are_off)
{
	const bool is_cpu = strcmp(kz_device_name(dev), "cpu") == 0;
	ck_assert_int_ne(run_excessive(), KZ_OK);
	kz_error_clear(&err);
	ck_assert_int_eq(kz_device_set_option(dev, KZ_OPTION_LIMITS, 0, &err),
		is_cpu ? KZ_OK : KZ_UNSUPPORTED);
	kz_error_clear(&err);
	if (is_cpu) {
		ok(run_excessive());
	}
	ok(kz_device_set_option(dev, KZ_OPTION_LIMITS, 1, &err));
	ck_assert_int_ne(run_excessive(), KZ_OK);
	kz_error_clear(&err);
	fails(kz_device_set_option(dev, KZ_OPTION_LIMITS, 2, &err), KZ_INVALID,
		"expected 0 or 1 for KZ_OPTION_LIMITS, got 2");
	fails(kz_device_set_option(dev, (kz_option)9, 1, &err), KZ_INVALID, "a device option");
	fails(kz_device_set_option(NULL, KZ_OPTION_LIMITS, 1, &err), KZ_INVALID, "a device");
}

/* The flags of the primary context, besides those that it had. */
DEVICE_TEST(a_program_chooses_how_it_waits)
{
	static const int64_t wrong[] = {-1, 3, 5, 7, 8, INT64_MIN, INT64_MAX};
	static const int64_t values[] = {KZ_SCHEDULE_SPIN, KZ_SCHEDULE_YIELD, KZ_SCHEDULE_BLOCKING,
		KZ_SCHEDULE_AUTO};
	unsigned before = 0, flags = 0;
	int is_active = 0;
	ck_assert(!dev->drv->DevicePrimaryCtxGetState(dev->handle, &before, &is_active));
	ck_assert(!dev->drv->DevicePrimaryCtxSetFlags(dev->handle, before | CU_CTX_MAP_HOST));
	for (size_t i = 0; i < countof(values); i++) {
		ok(kz_device_set_option(dev, KZ_OPTION_SCHEDULE, values[i], &err));
		ok(kz_device_synchronize(dev, &err));
		ck_assert(!dev->drv->DevicePrimaryCtxGetState(dev->handle, &flags, &is_active));
		ck_assert_int_eq(flags, values[i] | CU_CTX_MAP_HOST);
	}
	for (size_t i = 0; i < countof(wrong); i++) {
		fails(kz_device_set_option(dev, KZ_OPTION_SCHEDULE, wrong[i], &err), KZ_INVALID,
			"expected 0, 1, 2 or 4 for KZ_OPTION_SCHEDULE, got ");
	}
	ck_assert(!dev->drv->DevicePrimaryCtxSetFlags(dev->handle, before));
}

DEVICE_TEST(a_profiler_starts_and_stops)
{
	ok(kz_device_set_option(dev, KZ_OPTION_PROFILER, 1, &err));
	ok(kz_device_set_option(dev, KZ_OPTION_PROFILER, 0, &err));
	fails(kz_device_set_option(dev, KZ_OPTION_PROFILER, 2, &err), KZ_INVALID,
		"expected 0 or 1 for KZ_OPTION_PROFILER, got 2");
}

SUITE(device)
{
	Suite *s = suite_create("device");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count(), a_real_device_opens_and_describes_itself,
		a_device_opens_by_what_it_says_of_itself,
		a_setting_of_the_cpu_device_that_makes_no_sense_is_named,
		a_limit_is_what_it_was_set_to,
		a_kernel_that_needs_a_larger_stack_runs_after_the_limit_was_set,
		what_no_gpu_has_is_refused_until_the_limits_are_off, a_program_chooses_how_it_waits,
		a_profiler_starts_and_stops);
	tc = suite_add_case(s, "variables");
	tcase_add_loop_test(tc, a_variable_with_a_bad_value_is_named_on_every_path, 0, 3);
	suite_add_tcase(s, choice_case());
	suite_add_tcase(s, info_case());
	suite_add_tcase(s, failure_case());
	return s;
}

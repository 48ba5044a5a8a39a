/* SPDX-License-Identifier: MIT */
/* src/lib/core/peer.c: devices that use each other's memory. */
#include "base/common.h"

#include "support/device_test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

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

/* --- Several CPU devices --- */

enum { COUNT = 1000 };

static kz_module *modules[2];
static kz_kernel *kernels[2];

/* False where the library was built without the CPU device. */
static bool open_cpus(const char *devices, const char *as_gpu)
{
	err = (kz_error)KZ_ERROR_INIT;
	setenv("KUDZU_CPU_DEVICES", devices, 1);
	setenv("KUDZU_CPU_AS_GPU", as_gpu, 1);
	kz_status st = kz_device_open(&dev, "cpu", &err);
	ck_assert(st == KZ_OK || st == KZ_NO_DRIVER);
	return st == KZ_OK;
}

static bool open_two_cpus(void)
{
	static const char source[] =
		"extern \"C\" __global__ void append(int *x, int n)\n"
		"{ int i = blockIdx.x * blockDim.x + threadIdx.x; "
		"if (i < 1000) x[i] = 10 * x[i] + n; }\n";
	if (!open_cpus("2", "0")) {
		return false;
	}
	ok(kz_device_open(&peer, "cpu:1", &err));
	ck_assert_str_eq(kz_device_name(peer), "cpu:1");
	ck_assert_int_eq(kz_device_index(peer), 1);
	ck_assert_int_eq(kz_device_is_cuda(peer), 0);
	for (int i = 0; i < 2; i++) {
		ok(kz_module_compile(&modules[i], i ? peer : dev, source, NULL, &err));
		ok(kz_module_kernel(&kernels[i], modules[i], "append", &err));
	}
	return true;
}

static void close_two_cpus(void)
{
	for (int i = 0; i < 2; i++) {
		kz_module_release(modules[i]);
	}
	kz_device_close(peer);
	kz_device_close(dev);
}

static kz_status append(int device, kz_array *x, int n, kz_stream *stream)
{
	kz_launch_options on = KZ_LAUNCH_OPTIONS_INIT;
	on.stream = stream;
	return kz_launch(kernels[device], kz_dim(8, 1, 1), kz_dim(128, 1, 1), &on, &err,
		KZ_ARGS(x, n));
}

static void check_elements(kz_array *x, int expected)
{
	int32_t host[COUNT];
	ok(kz_array_get(x, host, sizeof(host), &err));
	for (int i = 0; i < COUNT; i++) {
		ck_assert_int_eq(host[i], expected);
	}
}

START_TEST(kernel_takes_an_array_of_a_peer_once_that_is_enabled)
{
	kz_array *there = NULL;
	int can = 0;
	if (!open_two_cpus()) {
		return;
	}
	ok(kz_device_can_access_peer(&can, dev, peer, &err));
	ck_assert_int_eq(can, 1);
	ok(kz_array_zeros(&there, peer, KZ_I32, KZ_SHAPE(COUNT), &err));
	fails(append(0, there, 1, NULL), KZ_ARGUMENT, "the array is on cpu:1, the kernel on cpu");
	ok(kz_device_enable_peer_access(peer, dev, &err)); /* the other way */
	fails(append(0, there, 1, NULL), KZ_ARGUMENT, "the array is on cpu:1, the kernel on cpu");
	ok(kz_device_enable_peer_access(dev, peer, &err));
	ok(append(0, there, 1, NULL));
	check_elements(there, 1);
	kz_graph *graph = NULL;
	kz_stream *stream = NULL;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_graph_begin(stream, NULL, &err));
	fails(append(0, there, 1, stream), KZ_UNSUPPORTED,
		"a graph of cpu cannot use memory of cpu:1");
	ok(kz_graph_end(&graph, stream, &err));
	kz_graph_release(graph);
	kz_stream_release(stream);
	ok(kz_device_disable_peer_access(dev, peer, &err));
	fails(append(0, there, 1, NULL), KZ_ARGUMENT, "the array is on cpu:1, the kernel on cpu");
	ok(append(1, there, 1, NULL));
	check_elements(there, 11);
	kz_array_release(there);
	close_two_cpus();
}
END_TEST

static void wait_a_while(void *user)
{
	atomic_int *seen = user;
	for (int i = 0; i < 200 && atomic_load(seen) == 0; i++) {
		usleep(1000); /* longer than the others need, so that they had to wait */
	}
	atomic_store(seen, 2);
}

/* A host function holds the first stream back. */
START_TEST(launches_on_two_devices_are_in_order)
{
	kz_array *there = NULL;
	kz_stream *streams[2];
	atomic_int seen = 0;
	if (!open_two_cpus()) {
		return;
	}
	ok(kz_device_enable_peer_access(dev, peer, &err));
	ok(kz_array_zeros(&there, peer, KZ_I32, KZ_SHAPE(COUNT), &err));
	for (int i = 0; i < 2; i++) {
		ok(kz_stream_create(&streams[i], i ? peer : dev, 0, &err));
	}
	ok(kz_stream_host(streams[1], wait_a_while, &seen, &err));
	ok(append(1, there, 1, streams[1]));
	ok(append(0, there, 2, streams[0]));
	ok(append(1, there, 3, NULL));
	ok(append(0, there, 4, NULL));
	ck_assert_int_eq(atomic_exchange(&seen, 1), 0);
	check_elements(there, 1234);
	ck_assert_int_eq(atomic_load(&seen), 2);
	kz_array_release(there); /* its last use was abroad */
	for (int i = 0; i < 2; i++) {
		kz_stream_release(streams[i]);
	}
	close_two_cpus();
}
END_TEST

/* Where the memory of arrays comes from: the library's pool, or the driver. */
static const char *const sources_of_memory[][2] = {{"KUDZU_POOL", "1"}, {"KUDZU_POOL", "0"},
	{"KUDZU_CHECK", "memory"}};

START_TEST(array_goes_from_one_cpu_device_to_another)
{
	kz_array *here = NULL, *there = NULL, *back = NULL;
	setenv(sources_of_memory[_i][0], sources_of_memory[_i][1], 1);
	if (!open_two_cpus()) {
		return;
	}
	ok(kz_array_zeros(&here, dev, KZ_I32, KZ_SHAPE(COUNT), &err));
	ok(append(0, here, 5, NULL));
	ok(kz_array_to(&there, here, peer, &err));
	ck_assert_ptr_eq(kz_array_device(there), peer);
	ok(append(1, there, 6, NULL));
	ok(kz_array_to(&back, there, dev, &err));
	check_elements(here, 5);
	check_elements(there, 56);
	check_elements(back, 56);
	kz_array_release(here);
	kz_array_release(there);
	kz_array_release(back);
	close_two_cpus();
}
END_TEST

START_TEST(cpu_devices_take_the_place_of_gpus)
{
	kz_device *all[4] = {NULL}, *second = NULL;
	int count = 0;
	if (!open_cpus("3", "1")) {
		return;
	}
	ck_assert_str_eq(kz_device_name(dev), "cpu");
	ck_assert_int_eq(kz_cuda_device_count(), 2);
	ok(kz_try_all_gpus(all, 4, &count, &err));
	ck_assert_int_eq(count, 2);
	ck_assert_str_eq(kz_device_name(all[0]), "cuda:0");
	ck_assert_str_eq(kz_device_name(all[1]), "cuda:1");
	ck_assert_int_eq(kz_device_index(all[1]), 1);
	ck_assert_int_eq(kz_device_is_cuda(all[1]), 1);
	ck_assert_int_eq(kz_device_is_cuda(dev), 0);
	ok(kz_device_open(&second, "cpu:2", &err));
	ck_assert_ptr_eq(second, all[1]);
	kz_device_close(second);
	fails(kz_device_open(&second, "cuda:2", &err), KZ_NO_DEVICE,
		"there is no cuda:2: the driver has 2 devices");
	ok(kz_try_gpu(&second, 2, &err));
	ck_assert_ptr_eq(second, dev);
	kz_device_close(second);
	ok(kz_device_open(&second, NULL, &err));
	ck_assert_ptr_eq(second, all[0]);
	kz_device_close(second);
	kz_device_close(all[0]);
	kz_device_close(all[1]);
	kz_device_close(dev);
}
END_TEST

START_TEST(one_cpu_device_is_no_gpu)
{
	kz_device *gpu = NULL;
	if (!open_cpus("1", "1")) {
		return;
	}
	ck_assert_int_eq(kz_cuda_device_count(), 0);
	fails(kz_device_open(&gpu, "cuda", &err), KZ_NO_DEVICE, "set KUDZU_CPU_DEVICES to more");
	fails(kz_device_open(&gpu, "cpu:1", &err), KZ_NO_DEVICE,
		"there is no cpu:1: there is 1 CPU device; KUDZU_CPU_DEVICES makes more");
	ok(kz_try_gpu(&gpu, 0, &err));
	ck_assert_ptr_eq(gpu, dev);
	kz_device_close(gpu);
	kz_device_close(dev);
}
END_TEST

/* The chapter of "Dive into Deep Learning" on GPUs, on its two devices. */
START_TEST(tensors_of_two_devices_are_added_after_a_copy)
{
	static const float three[] = {1, 1, 1, 1, 1, 1};
	kz_device *gpus[2] = {NULL};
	kz_array *x = NULL, *y = NULL, *z = NULL, *same = NULL, *sum = NULL, *first = NULL;
	kz_random *rngs[2] = {NULL};
	float random[2][6], got[6];
	if (!open_cpus("3", "1")) {
		return;
	}
	for (int i = 0; i < 2; i++) {
		ok(kz_try_gpu(&gpus[i], i, &err));
		ok(kz_random_create(&rngs[i], gpus[i], 7, 0, &err));
		kz_array **out = i ? &y : &first;
		ok(kz_random_uniform(out, rngs[i], KZ_F32, KZ_SHAPE(2, 3), 0, 1, &err));
		ok(kz_array_get(*out, random[i], sizeof(random[i]), &err));
	}
	ck_assert_mem_eq(random[0], random[1], sizeof(random[0]));
	ok(kz_array_ones(&x, gpus[0], KZ_F32, KZ_SHAPE(2, 3), &err));
	fails(kz_add(&sum, x, y, &err), KZ_INVALID,
		"Tensor in cuda:0 cannot add with tensor in cuda:1");
	ok(kz_array_to(&z, x, gpus[1], &err));
	ck_assert_ptr_eq(kz_array_device(x), gpus[0]);
	ck_assert_ptr_eq(kz_array_device(z), gpus[1]);
	ok(kz_array_get(z, got, sizeof(got), &err));
	ck_assert_mem_eq(got, three, sizeof(got));
	ok(kz_array_get(x, got, sizeof(got), &err));
	ck_assert_mem_eq(got, three, sizeof(got));
	ok(kz_add(&sum, y, z, &err));
	ck_assert_ptr_eq(kz_array_device(sum), gpus[1]);
	ok(kz_array_get(sum, got, sizeof(got), &err));
	for (int i = 0; i < 6; i++) {
		ck_assert(got[i] == random[1][i] + 1);
	}
	ok(kz_array_to(&same, z, gpus[1], &err));
	ck_assert_ptr_eq(same, z);
	kz_array *const arrays[] = {x, y, z, same, sum, first};
	for (size_t i = 0; i < countof(arrays); i++) {
		kz_array_release(arrays[i]);
	}
	for (int i = 0; i < 2; i++) {
		kz_random_release(rngs[i]);
		kz_device_close(gpus[i]);
	}
	kz_device_close(dev);
}
END_TEST

SUITE(peer)
{
	Suite *s = suite_create("peer");
	TCase *tc = suite_add_case(s, "stub");
	tcase_add_tests(tc, 1, access_is_enabled_and_disabled_for_one_direction,
		what_cannot_use_each_other_is_told, half_of_an_access_is_taken_back,
		an_older_driver_has_no_peers);
	tc = suite_add_case(s, "cpu devices");
	tcase_add_tests(tc, 1, kernel_takes_an_array_of_a_peer_once_that_is_enabled,
		launches_on_two_devices_are_in_order, cpu_devices_take_the_place_of_gpus,
		tensors_of_two_devices_are_added_after_a_copy, one_cpu_device_is_no_gpu);
	tcase_add_loop_test(tc, array_goes_from_one_cpu_device_to_another, 0,
		(int)countof(sources_of_memory));
	tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count(), the_cpu_device_has_no_peer_among_gpus);
	return s;
}

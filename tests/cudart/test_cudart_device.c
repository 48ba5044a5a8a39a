/* SPDX-License-Identifier: MIT */
/* Devices: which one a thread uses, what it is like, and what becomes of it after a reset. */
#include "base/common.h"

#include "program.h"

#include "support/suite.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct program program;
static const dim3 one = {1, 1, 1};

static void setup(void)
{
	setenv("KUDZU_CPU_DEVICES", "2", 1);
}

/* A function of the driver, which the runtime has loaded. */
static void *driver_function(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	ck_assert_ptr_nonnull(library);
	return dlsym(library, name);
}

START_TEST(properties_are_what_the_driver_says)
{
	struct cudaDeviceProp properties;
	char name[256];
	int value;
	size_t total;
	typedef CUresult name_call(char *out, int size, CUdevice device);
	typedef CUresult attribute_call(int *out, int attribute, CUdevice device);
	typedef CUresult total_call(size_t *out, CUdevice device);
	memset(&properties, 0xff, sizeof(properties));
	program_ok(cudaGetDeviceProperties(&properties, 1));
	name_call *get_name = (name_call *)driver_function("cuDeviceGetName");
	attribute_call *get = (attribute_call *)driver_function("cuDeviceGetAttribute");
	total_call *get_total = (total_call *)driver_function("cuDeviceTotalMem_v2");
	ck_assert_int_eq(get_name(name, sizeof(name), 1), 0);
	ck_assert_str_eq(properties.name, name);
	ck_assert_int_eq(get_total(&total, 1), 0);
	ck_assert_uint_eq(properties.totalGlobalMem, total);
#define HAS(member, attribute) \
	do { \
		ck_assert_int_eq(get(&value, attribute, 1), 0); \
		ck_assert_int_eq((int)properties.member, value); \
	} while (0)
	HAS(multiProcessorCount, 16);
	HAS(major, 75);
	HAS(minor, 76);
	HAS(warpSize, 10);
	HAS(sharedMemPerBlock, 8);
	HAS(maxThreadsDim[2], 4);
	HAS(maxGridSize[0], 5);
	HAS(textureAlignment, 14);
	HAS(memoryPoolsSupported, 115);
	HAS(unifiedFunctionPointers, 129);
	program_ok(cudaDeviceGetAttribute(&value, 16, 1));
	ck_assert_int_eq(value, properties.multiProcessorCount);
	for (size_t i = 0; i < countof(properties.reserved); i++) {
		ck_assert_int_eq(properties.reserved[i], 0);
	}
	program_fails(cudaGetDeviceProperties(&properties, 2), cudaErrorInvalidDevice);
	program_fails(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
}
END_TEST

#if KZ_CUDART == 12
START_TEST(programs_of_cuda_11_get_their_shorter_struct)
{
	typedef cudaError_t properties_call(void *out, int device);
	enum { SIZE_11 = 728 };
	char room[1100];
	struct cudaDeviceProp whole;
	properties_call *get = (properties_call *)dlvsym(RTLD_DEFAULT, "cudaGetDeviceProperties",
		"libcudart.so.12");
	memset(room, 0x5a, sizeof(room));
	ck_assert_ptr_nonnull(get);
	program_ok(get(room, 0));
	program_ok(cudaGetDeviceProperties(&whole, 0));
	ck_assert_mem_eq(room, &whole, SIZE_11);
	for (size_t i = SIZE_11; i < sizeof(room); i++) {
		ck_assert_int_eq(room[i], 0x5a);
	}
}
END_TEST
#endif

static void *look_at_device(void *out)
{
	program_ok(cudaGetDevice(out));
	return NULL;
}

START_TEST(each_thread_has_a_device_of_its_own)
{
	int count, device = -1, other = -1;
	pthread_t thread;
	void *memory;
	struct cudaPointerAttributes attributes;
	program_ok(cudaGetDeviceCount(&count));
	ck_assert_int_eq(count, 2);
	program_ok(cudaGetDevice(&device));
	ck_assert_int_eq(device, 0);
	program_ok(cudaSetDevice(1));
	program_ok(cudaGetDevice(&device));
	ck_assert_int_eq(device, 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, look_at_device, &other), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(other, 0);
	program_ok(cudaMalloc(&memory, 100));
	program_ok(cudaPointerGetAttributes(&attributes, memory));
	ck_assert_int_eq(attributes.device, 1);
	program_fails(cudaSetDevice(2), cudaErrorInvalidDevice);
	program_fails(cudaSetDevice(-1), cudaErrorInvalidDevice);
	program_ok(cudaGetDevice(&device));
	ck_assert_int_eq(device, 1);
}
END_TEST

START_TEST(a_context_of_the_driver_comes_first)
{
	typedef CUresult create_call(CUcontext *out, unsigned flags, CUdevice device);
	typedef CUresult current_call(CUcontext *out);
	CUcontext context = NULL, current = NULL;
	void *memory;
	int device = -1;
	program_ok(cudaSetDevice(0));
	create_call *create = (create_call *)driver_function("cuCtxCreate_v2");
	current_call *get_current = (current_call *)driver_function("cuCtxGetCurrent");
	ck_assert_int_eq(create(&context, 0, 1), 0);
	program_ok(cudaMalloc(&memory, 100));
	program_ok(cudaGetDevice(&device));
	ck_assert_int_eq(device, 1);
	ck_assert_int_eq(get_current(&current), 0);
	ck_assert_ptr_eq(current, context);
	program_ok(cudaFree(memory));
}
END_TEST

START_TEST(kernels_and_variables_are_on_each_device)
{
	program_start(&program);
	for (int device = 0; device < 2; device++) {
		unsigned counter = 99;
		program_ok(cudaSetDevice(device));
		program_ok(cudaLaunchKernel(program_count, (dim3){3, 1, 1}, one, NULL, 0, NULL));
		program_ok(cudaMemcpyFromSymbol(&counter, &program_counter, 4, 0,
			cudaMemcpyDeviceToHost));
		ck_assert_uint_eq(counter, 3);
	}
}
END_TEST

static void *use_device(void *out)
{
	void *memory;
	program_ok(cudaMalloc(&memory, 100));
	*(cudaError_t *)out = cudaLaunchKernel(program_count, one, one, NULL, 0, NULL);
	program_ok(cudaDeviceSynchronize());
	return NULL;
}

START_TEST(a_device_works_after_a_reset)
{
	cudaError_t code = cudaErrorUnknown;
	unsigned counter;
	int device = -1;
	pthread_t thread;
	program_start(&program);
	for (int i = 0; i < 3; i++) {
		program_ok(cudaSetDevice(1));
		program_ok(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL));
		program_ok(cudaMemcpyFromSymbol(&counter, &program_counter, 4, 0,
			cudaMemcpyDeviceToHost));
		ck_assert_uint_eq(counter, 1); /* the variable is new, too */
		program_ok(cudaDeviceReset());
		program_ok(cudaGetDevice(&device));
		ck_assert_int_eq(device, 1);
	}
	program_ok(cudaSetDevice(0));
	ck_assert_int_eq(pthread_create(&thread, NULL, use_device, &code), 0);
	pthread_join(thread, NULL);
	program_ok(code);
	program_ok(cudaMemcpyFromSymbol(&counter, &program_counter, 4, 0, cudaMemcpyDeviceToHost));
	ck_assert_uint_eq(counter, 1);
}
END_TEST

static struct {
	pthread_barrier_t barrier;
	cudaError_t codes[2];
} reset;

static void *use_before_and_after(void *unused)
{
	void *memory;
	reset.codes[0] = cudaMalloc(&memory, 100);
	pthread_barrier_wait(&reset.barrier);
	pthread_barrier_wait(&reset.barrier);
	reset.codes[1] = cudaMalloc(&memory, 100);
	return unused;
}

START_TEST(a_managed_variable_belongs_to_all_devices)
{
	void *address;
	program_start(&program);
	ck_assert_int_eq(__cudaInitModule(program.handle), 1);
	unsigned *const place = program_shared;
	for (int i = 0; i < 4; i++) {
		program_ok(cudaSetDevice(i % 2));
		program_ok(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL));
		program_ok(cudaDeviceSynchronize());
		ck_assert_uint_eq(*program_shared, 41 + (unsigned)i);
		program_ok(cudaGetSymbolAddress(&address, program_shared));
		ck_assert_ptr_eq(address, place);
	}
	for (int i = 0; i < 2; i++) { /* of the device that made it, too */
		program_ok(cudaSetDevice(i));
		program_ok(cudaDeviceReset());
		ck_assert_uint_eq(*program_shared, 44);
	}
	program_ok(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL));
	program_ok(cudaDeviceSynchronize());
	ck_assert_uint_eq(*program_shared, 45);
	__cudaUnregisterFatBinary(program.handle);
}
END_TEST

START_TEST(a_device_is_chosen_by_its_properties)
{
	struct cudaDeviceProp wanted[2], none;
	int device = -1;
	memset(&none, 0, sizeof(none));
	for (int i = 0; i < 2; i++) {
		program_ok(cudaGetDeviceProperties(&wanted[i], i));
	}
	for (int i = 0; i < 2; i++) {
		program_ok(cudaChooseDevice(&device, &wanted[i]));
		ck_assert_int_eq(device, i);
	}
	program_ok(cudaChooseDevice(&device, &none));
	ck_assert_int_eq(device, 0);
	none.pciBusID = wanted[1].pciBusID;
	none.pciDeviceID = wanted[1].pciDeviceID;
	none.major = 99; /* what no device has does not count */
	program_ok(cudaChooseDevice(&device, &none));
	ck_assert_int_eq(device, 1);
	program_fails(cudaChooseDevice(NULL, &none), cudaErrorInvalidValue);
	program_fails(cudaChooseDevice(&device, NULL), cudaErrorInvalidValue);
}
END_TEST

START_TEST(other_threads_go_on_after_a_reset)
{
	pthread_t thread;
	pthread_barrier_init(&reset.barrier, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, use_before_and_after, NULL), 0);
	pthread_barrier_wait(&reset.barrier);
	program_ok(cudaDeviceReset());
	pthread_barrier_wait(&reset.barrier);
	pthread_join(thread, NULL);
	program_ok(reset.codes[0]);
	program_ok(reset.codes[1]);
}
END_TEST

START_TEST(flags_limits_and_versions_are_kept)
{
	unsigned flags = 0;
	size_t value = 0;
	int version = 0;
	program_ok(cudaSetDeviceFlags(4)); /* cudaDeviceScheduleBlockingSync */
	program_ok(cudaGetDeviceFlags(&flags));
	ck_assert_uint_eq(flags & 7, 4);
	program_ok(cudaDeviceSetLimit(0, 4096)); /* cudaLimitStackSize */
	program_ok(cudaDeviceGetLimit(&value, 0));
	ck_assert_uint_eq(value, 4096);
	program_ok(cudaRuntimeGetVersion(&version));
	ck_assert_int_eq(version / 1000, KZ_CUDART);
	program_ok(cudaDriverGetVersion(&version));
	ck_assert_int_ge(version, KZ_CUDART * 1000);
	program_fails(cudaRuntimeGetVersion(NULL), cudaErrorInvalidValue);
	program_ok(cudaInitDevice(1, 0, 0));
}
END_TEST

START_TEST(the_driver_is_reached_by_its_names)
{
	void *function = NULL;
	int status = -1;
	program_ok(cudaGetDriverEntryPoint("cuMemAlloc", &function, 0, &status));
	ck_assert_int_eq(status, 0);
	ck_assert_ptr_eq(function, driver_function("cuMemAlloc_v2"));
	program_ok(cudaGetDriverEntryPoint("cuNoSuchThing", &function, 0, &status));
	ck_assert_int_eq(status, 1);
	ck_assert_ptr_null(function);
}
END_TEST

SUITE(cudart_device)
{
	Suite *suite = suite_create("cudart_device");
	TCase *tc = suite_add_case(suite, "devices");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, properties_are_what_the_driver_says);
#if KZ_CUDART == 12
	tcase_add_test(tc, programs_of_cuda_11_get_their_shorter_struct);
#endif
	tcase_add_test(tc, each_thread_has_a_device_of_its_own);
	tcase_add_test(tc, a_context_of_the_driver_comes_first);
	tcase_add_test(tc, kernels_and_variables_are_on_each_device);
	tcase_add_test(tc, a_device_works_after_a_reset);
	tcase_add_test(tc, a_managed_variable_belongs_to_all_devices);
	tcase_add_test(tc, a_device_is_chosen_by_its_properties);
	tcase_add_test(tc, other_threads_go_on_after_a_reset);
	tcase_add_test(tc, flags_limits_and_versions_are_kept);
	tcase_add_test(tc, the_driver_is_reached_by_its_names);
	return suite;
}

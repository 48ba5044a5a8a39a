/* SPDX-License-Identifier: MIT */
/*
 * Properties of the device beyond the common attributes, and questions about two devices or
 * contexts where there is only one device.
 */
#include "cpu/support/api.h"
#include "support/suite.h"

CUresult cuCtxCreate(CUcontext *out, unsigned flags, CUdevice device);
CUresult cuCtxSetFlags(unsigned flags);
CUresult cuCtxGetFlags(unsigned *out);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult cuCtxDisablePeerAccess(CUcontext peer);
CUresult cuCtxCreate_v4(CUcontext *out, const CUctxCreateParams *params, unsigned int flags,
	CUdevice device);
CUresult cuCtxGetExecAffinity(void *out, CUexecAffinityType type);
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *out);
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config);
CUresult cuCtxResetPersistingL2Cache(void);
CUresult cuDeviceGetByPCIBusId(CUdevice *out, const char *id);
CUresult cuDeviceGetProperties(CUdevprop *out, CUdevice device);
CUresult cuDeviceGetP2PAttribute(int *out, CUdevice_P2PAttribute attribute, CUdevice from,
	CUdevice to);
CUresult cuDeviceGetExecAffinitySupport(int *out, CUexecAffinityType type, CUdevice device);

CUresult cuDeviceGetHostAtomicCapabilities(unsigned int *out, const CUatomicOperation *operations,
	unsigned int count, CUdevice device);
CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int *out, const CUatomicOperation *operations,
	unsigned int count, CUdevice from, CUdevice to);
CUresult cuCtxGetId(CUcontext context, unsigned long long *out);

static int get(CUdevice_attribute attribute)
{
	int value = -1;
	OK(cuDeviceGetAttribute(&value, attribute, 0));
	return value;
}

START_TEST(contexts_take_parameters_that_ask_for_nothing)
{
	CUcontext created;
	CUctxCreateParams params = {.numExecAffinityParams = 0};
	OK(cuCtxCreate_v4(&created, NULL, 0, 0));
	OK(cuCtxDestroy_v2(created));
	OK(cuCtxCreate_v4(&created, &params, 0, 0));
	OK(cuCtxDestroy_v2(created));
	params.numExecAffinityParams = 1;
	FAILS(INVALID_VALUE, cuCtxCreate_v4(&created, &params, 0, 0));
	params.execAffinityParams = (void *)&params;
	FAILS(UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate_v4(&created, &params, 0, 0));
	params = (CUctxCreateParams){.cigParams = (void *)&params};
	FAILS(NOT_SUPPORTED, cuCtxCreate_v4(&created, &params, 0, 0));
}
END_TEST

#define GET(name) get(CU_DEVICE_ATTRIBUTE_##name)

/* Of compute capability 8.9, by the CUDA programming guide. */
START_TEST(a_multiprocessor_is_one_of_its_compute_capability)
{
	if (driver_lacks("other devices have another compute capability")) {
		return;
	}
	ck_assert_int_eq(GET(COMPUTE_CAPABILITY_MAJOR), 8);
	ck_assert_int_eq(GET(COMPUTE_CAPABILITY_MINOR), 9);
	ck_assert_int_eq(GET(MAX_THREADS_PER_MULTIPROCESSOR), 1536);
	ck_assert_int_eq(GET(MAX_BLOCKS_PER_MULTIPROCESSOR), 24);
	ck_assert_int_eq(GET(MAX_REGISTERS_PER_MULTIPROCESSOR), 65536);
	ck_assert_int_eq(GET(MAX_REGISTERS_PER_BLOCK), 65536);
	ck_assert_int_eq(GET(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), 102400);
	ck_assert_int_eq(GET(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 101376);
	ck_assert_int_eq(GET(MAX_SHARED_MEMORY_PER_BLOCK), 49152);
}
END_TEST

START_TEST(attributes_fit_each_other)
{
	CUdevprop properties;
	ck_assert_int_le(GET(MAX_SHARED_MEMORY_PER_BLOCK), GET(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
	ck_assert_int_le(GET(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
		+ GET(RESERVED_SHARED_MEMORY_PER_BLOCK),
		GET(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
	ck_assert_int_le(GET(MAX_THREADS_PER_BLOCK), GET(MAX_THREADS_PER_MULTIPROCESSOR));
	ck_assert_int_eq(GET(CAN_USE_64_BIT_STREAM_MEM_OPS),
		GET(CAN_USE_64_BIT_STREAM_MEM_OPS_V1));
	ck_assert_int_eq(GET(HOST_REGISTER_SUPPORTED), 1);
	ck_assert_int_eq(GET(COMPUTE_MODE), CU_COMPUTEMODE_DEFAULT);
	ck_assert_int_eq(GET(CLUSTER_LAUNCH), 0);
	ck_assert_int_ge(GET(MEM_SYNC_DOMAIN_COUNT), 1);
	OK(cuDeviceGetProperties(&properties, 0));
	ck_assert_int_eq(properties.maxThreadsPerBlock, GET(MAX_THREADS_PER_BLOCK));
	ck_assert_int_eq(properties.maxGridSize[2], GET(MAX_GRID_DIM_Z));
	ck_assert_int_eq(properties.textureAlign, GET(TEXTURE_ALIGNMENT));
	ck_assert_int_eq(properties.SIMDWidth, 32);
	FAILS(INVALID_DEVICE, cuDeviceGetProperties(&properties, 1));
	FAILS(INVALID_VALUE, cuDeviceGetProperties(NULL, 0));
}
END_TEST
#undef GET

/* cuda.h: CONTEXT_IS_DESTROYED is "a primary context which has not yet been initialized", too. */
START_TEST(primary_context_has_one_handle_and_is_active_while_it_is_retained)
{
	CUcontext again;
	unsigned long long ids[2];
	unsigned flags;
	int active;
	CUdeviceptr a = alloc(4);
	OK(cuCtxGetId(context, &ids[0]));
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	ck_assert_int_eq(active, 0);
	OK(cuCtxGetCurrent(&again));
	ck_assert_ptr_eq(again, context);
	FAILS(CONTEXT_IS_DESTROYED, cuMemsetD8_v2(a, 0, 4));
	FAILS(CONTEXT_IS_DESTROYED, cuCtxGetId(context, &ids[1]));
	CUcontext other = new_context();
	ck_assert_ptr_ne(other, context);
	OK(cuCtxDestroy_v2(other));

	OK(cuDevicePrimaryCtxRetain(&again, 0));
	ck_assert_ptr_eq(again, context);
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	ck_assert_int_eq(active, 1);
	FAILS(INVALID_VALUE, cuMemsetD8_v2(a, 0, 4));
	OK(cuCtxGetId(context, &ids[1]));
	ck_assert_uint_ne(ids[0], ids[1]);
	OK(cuMemAlloc_v2(&a, 4));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuMemsetD8_v2(a, 0, 4));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	FAILS(CONTEXT_IS_DESTROYED, cuMemsetD8_v2(a, 0, 4));
	FAILS(INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	ck_assert_ptr_eq(again, context);
}
END_TEST

static const struct {
	const char *id;
	CUresult result;
} bus_ids[] = {
	{"0000:00:00.0", CUDA_SUCCESS},
	{"0000:00:00", CUDA_SUCCESS},
	{"00:00.0", CUDA_SUCCESS},
	{"0000:01:00.0", CUDA_ERROR_INVALID_DEVICE},
	{"00:02.0", CUDA_ERROR_INVALID_DEVICE},
	{"", CUDA_ERROR_INVALID_VALUE},
	{"rubbish", CUDA_ERROR_INVALID_VALUE},
	{"0000:00:00.0x", CUDA_ERROR_INVALID_VALUE},
};

START_TEST(bus_ids_are_read_as_they_are_written)
{
	char id[16];
	CUdevice device = 7;
	ck_assert_int_eq(cuDeviceGetByPCIBusId(&device, bus_ids[_i].id), bus_ids[_i].result);
	ck_assert_int_eq(device, bus_ids[_i].result == CUDA_SUCCESS ? 0 : 7);
	OK(cuDeviceGetPCIBusId(id, 13, 0));
	ck_assert_str_eq(id, "0000:00:00.0");
	FAILS(INVALID_VALUE, cuDeviceGetPCIBusId(id, 12, 0));
	FAILS(INVALID_VALUE, cuDeviceGetPCIBusId(NULL, 13, 0));
	FAILS(INVALID_DEVICE, cuDeviceGetPCIBusId(id, 13, 1));
	FAILS(INVALID_VALUE, cuDeviceGetByPCIBusId(NULL, "00:00.0"));
	FAILS(INVALID_VALUE, cuDeviceGetByPCIBusId(&device, NULL));
}
END_TEST

START_TEST(one_device_has_no_peers)
{
	CUcontext other;
	int value;
	OK(cuDeviceCanAccessPeer(&value, 0, 0));
	ck_assert_int_eq(value, 0);
	FAILS(INVALID_DEVICE, cuDeviceCanAccessPeer(&value, 0, 1));
	FAILS(INVALID_DEVICE, cuDeviceGetP2PAttribute(&value,
		CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
	FAILS(INVALID_DEVICE, cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)99, 0, 0));
	FAILS(INVALID_VALUE, cuDeviceGetP2PAttribute(NULL,
		CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
	OK(cuCtxCreate(&other, 0, 0));
	FAILS(INVALID_CONTEXT, cuCtxEnablePeerAccess(other, 0));
	FAILS(INVALID_DEVICE, cuCtxEnablePeerAccess(context, 0));
	FAILS(INVALID_VALUE, cuCtxEnablePeerAccess(context, 1));
	FAILS(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(context));
	FAILS(INVALID_CONTEXT, cuCtxDisablePeerAccess(NULL));
	OK(cuCtxDestroy_v2(other));
	FAILS(INVALID_CONTEXT, cuCtxEnablePeerAccess(other, 0));
}
END_TEST

START_TEST(contexts_keep_flags_and_hints)
{
	CUcontext other;
	unsigned flags;
	CUsharedconfig config;
	OK(cuCtxSetFlags(CU_CTX_SCHED_YIELD | CU_CTX_SYNC_MEMOPS));
	OK(cuCtxGetFlags(&flags));
	ck_assert_uint_eq(flags, CU_CTX_SCHED_YIELD | CU_CTX_MAP_HOST | CU_CTX_SYNC_MEMOPS);
	FAILS(INVALID_VALUE, cuCtxSetFlags(0x100));
	FAILS(INVALID_VALUE, cuCtxSetFlags(CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD));
	FAILS(INVALID_VALUE, cuCtxCreate(&other, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD, 0));
	FAILS(INVALID_VALUE, cuDevicePrimaryCtxSetFlags_v2(0, 3));
	OK(cuCtxGetSharedMemConfig(&config));
	ck_assert_int_eq(config, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
	OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
	FAILS(INVALID_VALUE, cuCtxSetSharedMemConfig((CUsharedconfig)3));
	FAILS(INVALID_VALUE, cuCtxGetSharedMemConfig(NULL));
	OK(cuCtxResetPersistingL2Cache());
}
END_TEST

START_TEST(affinity_is_not_to_be_had)
{
	int value = 7;
	OK(cuDeviceGetExecAffinitySupport(&value, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
	ck_assert_int_eq(value, 0);
	FAILS(INVALID_VALUE, cuDeviceGetExecAffinitySupport(&value, CU_EXEC_AFFINITY_TYPE_MAX, 0));
	FAILS(INVALID_DEVICE, cuDeviceGetExecAffinitySupport(&value,
		CU_EXEC_AFFINITY_TYPE_SM_COUNT, 2));
	FAILS(UNSUPPORTED_EXEC_AFFINITY,
		cuCtxGetExecAffinity(&value, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
	FAILS(INVALID_VALUE, cuCtxGetExecAffinity(&value, CU_EXEC_AFFINITY_TYPE_MAX));
	FAILS(INVALID_VALUE, cuCtxGetExecAffinity(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
}
END_TEST

START_TEST(every_name_of_the_driver_is_found_with_its_version)
{
	static const struct {
		const char *name;
		int since;
	} names[] = {
#define I(name, since) {#name, since},
#define N(name, since) I(name, since)
#define G(name, since) I(name, since)
#include "cpu/abi/exports.def"
#undef I
#undef N
	};
	for (size_t i = 0; i < countof(names); i++) {
		void *at = NULL;
		CUdriverProcAddressQueryResult status;
		// By its full name a function is one without newer versions.
		OK(cuGetProcAddress_v2(names[i].name, &at, names[i].since,
			CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status));
		ck_assert_msg(at != NULL && status == CU_GET_PROC_ADDRESS_SUCCESS, "%s",
			names[i].name);
	}
}
END_TEST

START_TEST(functions_of_opengl_are_found_and_not_supported)
{
	static const char *const names[] = {"cuGraphicsGLRegisterBuffer", "cuGLGetDevices",
		"cuGLInit"};
	for (size_t i = 0; i < countof(names); i++) {
		void *at = NULL;
		CUresult (*call)(void);
		OK(cuGetProcAddress_v2(names[i], &at, 13000, 0, NULL));
		ck_assert_ptr_nonnull(at);
		memcpy(&call, &at, sizeof(call));
		FAILS(NOT_SUPPORTED, call());
	}
}
END_TEST

static const struct {
	const char *name;
	int version;
	cuuint64_t flags;
	const char *found; /* NULL: none */
	CUdriverProcAddressQueryResult status;
} lookups[] = {
	{"cuMemAlloc", 3020, 0, "cuMemAlloc_v2", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuCtxCreate", 11030, 0, "cuCtxCreate_v2", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuCtxCreate", 11040, 0, "cuCtxCreate_v3", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuCtxCreate", 13000, 0, "cuCtxCreate_v4", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuGraphAddNode", 13000, 0, "cuGraphAddNode_v2", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuGraphAddNode", 13040, 0, "cuGraphAddNode_v3", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuGraphNodeSetParams", 13050, 0, "cuGraphNodeSetParams_v2", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuLaunchHostFunc", 13050, 2, "cuLaunchHostFunc_v2_ptsz", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuGraphGetId", 13000, 0, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
	{"cuFabricCpyBatchAsync", 13050, 0, "cuFabricCpyBatchAsync", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuMemcpyHtoD", 12000, 1, "cuMemcpyHtoD_v2", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuMemcpyHtoD", 12000, 2, "cuMemcpyHtoD_v2_ptds", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuMemcpyHtoD", 6000, 2, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
	{"cuLaunchKernel", 12000, 2, "cuLaunchKernel_ptsz", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuInit", 12000, 2, "cuInit", CU_GET_PROC_ADDRESS_SUCCESS},
	{"cuLibraryLoadData", 11080, 0, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
	{"cuLibraryLoadData", 11080, 2, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
	{"cuNoSuchThing", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
	{"", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
};

START_TEST(a_version_gets_what_it_knows)
{
	void *at = (void *)1;
	void *want = NULL;
	CUdriverProcAddressQueryResult status;
	OK(cuGetProcAddress_v2(lookups[_i].name, &at, lookups[_i].version, lookups[_i].flags,
		&status));
	ck_assert_int_eq(status, lookups[_i].status);
	if (lookups[_i].found != NULL) {
		OK(cuGetProcAddress(lookups[_i].found, &want, CUDA_VERSION, 0));
	}
	ck_assert_ptr_eq(at, want);
	OK(cuGetProcAddress_v2("cuGetProcAddress", &at, 11030, 0, NULL));
	ck_assert_ptr_eq(at, (void *)(uintptr_t)cuGetProcAddress);
	FAILS(INVALID_VALUE, cuGetProcAddress_v2("cuInit", &at, 13000, 3, &status));
	FAILS(INVALID_VALUE, cuGetProcAddress_v2("cuInit", &at, CUDA_VERSION + 1, 0, &status));
	FAILS(INVALID_VALUE, cuGetProcAddress_v2("cuInit", NULL, 13000, 0, &status));
	FAILS(INVALID_VALUE, cuGetProcAddress_v2(NULL, &at, 13000, 0, &status));
	OK(cuGetProcAddress_v2("cuInit", &at, 13000, 0, NULL));
}
END_TEST

/* PTX ISA: atom has inc and dec of u32 alone, no float minimum, and b128 only where it swaps. */
START_TEST(atomics_with_the_host_are_those_of_ptx)
{
	CUatomicOperation list[] = {CU_ATOMIC_OPERATION_INTEGER_INCREMENT,
		CU_ATOMIC_OPERATION_FLOAT_MIN, CU_ATOMIC_OPERATION_CAS, CU_ATOMIC_OPERATION_XOR};
	unsigned out[countof(list)];
	OK(cuDeviceGetHostAtomicCapabilities(out, list, countof(list), 0));
	ck_assert_uint_eq(out[0], CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_REDUCTION
		| CU_ATOMIC_CAPABILITY_SCALAR_32);
	ck_assert_uint_eq(out[1], 0);
	ck_assert_uint_ne(out[2] & CU_ATOMIC_CAPABILITY_SCALAR_128, 0);
	ck_assert_uint_eq(out[3] & CU_ATOMIC_CAPABILITY_SCALAR_128, 0);
	ck_assert_uint_ne(out[3] & CU_ATOMIC_CAPABILITY_SCALAR_64, 0);
	FAILS(INVALID_DEVICE, cuDeviceGetHostAtomicCapabilities(out, list, 1, 1));
	FAILS(INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(NULL, list, 1, 0));
	FAILS(INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(out, NULL, 1, 0));
	FAILS(INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(out, list, 0, 0));
	FAILS(INVALID_DEVICE, cuDeviceGetP2PAtomicCapabilities(out, list, 1, 0, 0));
	FAILS(INVALID_DEVICE, cuDeviceGetP2PAtomicCapabilities(out, list, 1, 0, 1));
	FAILS(INVALID_VALUE, cuDeviceGetP2PAtomicCapabilities(out, list, 0, 0, 0));
	list[1] = CU_ATOMIC_OPERATION_MAX;
	FAILS(INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(out, list, 2, 0));
}
END_TEST

SUITE(api_device)
{
	Suite *suite = suite_create("api_device");
	TCase *tc = add_case(suite, "device", setup, teardown);
	tcase_add_tests(tc, 1, contexts_take_parameters_that_ask_for_nothing,
		a_multiprocessor_is_one_of_its_compute_capability, attributes_fit_each_other);
	tcase_add_test(tc,
		primary_context_has_one_handle_and_is_active_while_it_is_retained);
	tcase_add_loop_test(tc, bus_ids_are_read_as_they_are_written, 0, countof(bus_ids));
	tcase_add_tests(tc, 1, one_device_has_no_peers, contexts_keep_flags_and_hints,
		affinity_is_not_to_be_had);
	TCase *names = suite_add_case(suite, "names");
	tcase_add_test(names, every_name_of_the_driver_is_found_with_its_version);
	tcase_add_test(names, functions_of_opengl_are_found_and_not_supported);
	tcase_add_loop_test(names, a_version_gets_what_it_knows, 0, countof(lookups));
	tcase_add_test(tc, atomics_with_the_host_are_those_of_ptx);
	return suite;
}

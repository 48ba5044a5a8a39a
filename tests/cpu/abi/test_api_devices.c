/* SPDX-License-Identifier: MIT */
/* Several devices: what is each one's own, what they share, and what one may do with another's
 * memory. */
#include "base/kudzu_abi.h"

#include "cpu/jit/jit.h"

#include "cpu/support/api_graph.h"
#include "support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUresult cuCtxDisablePeerAccess(CUcontext peer);
CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *options, void **values,
	unsigned count, CUlibraryOption *library_options, void **library_values,
	unsigned library_count);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name);
CUresult cuLibraryGetGlobal(CUdeviceptr *out, size_t *size, CUlibrary library, const char *name);
CUresult cuLibraryGetManaged(CUdeviceptr *out, size_t *size, CUlibrary library, const char *name);
CUresult cuDeviceGetByPCIBusId(CUdevice *out, const char *id);
CUresult cuDeviceGetP2PAttribute(int *out, CUdevice_P2PAttribute attribute, CUdevice from,
	CUdevice to);
CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice device);
CUresult cuMemHostGetFlags(unsigned *out, void *memory);
CUresult cuMemHostRegister_v2(void *memory, size_t size, unsigned flags);
CUresult cuMemHostUnregister(void *memory);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool pool, CUstream stream);
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size);
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy);
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
	CUcontext from_context, size_t size);
CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count);
CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr address);
CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool handle,
	CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *os_handle,
	CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool pool, CUmemPoolPtrExportData *data);
CUresult cuMemPoolGetAccess(CUmemAccess_flags *out, CUmemoryPool handle, CUmemLocation *location);
CUresult cuStreamGetDevice(CUstream stream, CUdevice *out);

enum { COUNT = 3, N = 100 };

static CUcontext contexts[COUNT];
static CUfunction adds[COUNT];

static void devices_setup(void)
{
	ck_assert_int_eq(setenv("KUDZU_CPU_DEVICES", "3", 1), 0);
	init();
	for (int i = 0; i < COUNT; i++) {
		OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
		OK(cuCtxSetCurrent(contexts[i]));
		adds[i] = kernel(load(), "add");
	}
	OK(cuCtxSetCurrent(contexts[0]));
}

static void devices_teardown(void)
{
	for (int i = 0; i < COUNT; i++) {
		OK(cuDevicePrimaryCtxRelease_v2(i));
	}
}

static CUdeviceptr alloc_on(int device, size_t size)
{
	OK(cuCtxSetCurrent(contexts[device]));
	CUdeviceptr address = alloc(size);
	OK(cuMemsetD32_v2(address, 0, size / 4));
	return address;
}

/* A kernel of a device adds 7 to each of N words; its failure, if any. */
static CUresult add_on(int device, CUdeviceptr address)
{
	OK(cuCtxSetCurrent(contexts[device]));
	CUresult result = launch_add(adds[device], address, N, NULL);
	return result != CUDA_SUCCESS ? result : cuCtxSynchronize();
}

static void check_words(CUdeviceptr address, uint32_t expected)
{
	uint32_t values[N];
	OK(cuMemcpyDtoH_v2(values, address, sizeof(values)));
	for (int i = 0; i < N; i++) {
		ck_assert_uint_eq(values[i], expected);
	}
}

/* --- What is each one's own --- */

START_TEST(devices_have_names_of_their_own)
{
	int count;
	CUuuid ids[COUNT];
	char bus[COUNT][16];
	OK(cuDeviceGetCount(&count));
	ck_assert_int_eq(count, COUNT);
	for (int i = 0; i < COUNT; i++) {
		CUdevice device;
		OK(cuDeviceGet(&device, i));
		OK(cuDeviceGetUuid_v2(&ids[i], device));
		OK(cuDeviceGetPCIBusId(bus[i], sizeof(bus[i]), device));
		OK(cuDeviceGetByPCIBusId(&device, bus[i]));
		ck_assert_int_eq(device, i);
		int slot = -1;
		OK(cuDeviceGetAttribute(&slot, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device));
		ck_assert_int_eq(slot, (int)strtol(bus[i] + sizeof("0000:00:") - 1, NULL, 16));
		for (int j = 0; j < i; j++) {
			ck_assert_mem_ne(&ids[i], &ids[j], sizeof(ids[i]));
			ck_assert_str_ne(bus[i], bus[j]);
		}
	}
	CUdevice device;
	FAILS(INVALID_DEVICE, cuDeviceGet(&device, COUNT));
	check_log("devices 0 to 2, not 3");
}
END_TEST

START_TEST(devices_share_cores_and_memory)
{
	size_t memory = 0, one;
	for (int i = 0; i < COUNT; i++) {
		int cores;
		OK(cuDeviceGetAttribute(&cores, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, i));
		ck_assert_int_ge(cores, 1);
		OK(cuDeviceTotalMem_v2(&one, i));
		memory += one;
	}
	size_t free_before, free_behind, free_there, total;
	OK(cuMemGetInfo_v2(&free_before, &total));
	ck_assert_uint_eq(total, memory / COUNT);
	alloc_on(0, 1 << 20);
	OK(cuMemGetInfo_v2(&free_behind, &total));
	ck_assert_uint_eq(free_before - free_behind, 1 << 20);
	OK(cuCtxSetCurrent(contexts[1]));
	OK(cuMemGetInfo_v2(&free_there, &total));
	ck_assert_uint_eq(free_before, free_there);
}
END_TEST

START_TEST(context_stream_and_pointer_know_their_device)
{
	for (int i = 0; i < COUNT; i++) {
		CUdevice device;
		int ordinal;
		CUdeviceptr address = alloc_on(i, 4 * N);
		OK(cuCtxGetDevice(&device));
		ck_assert_int_eq(device, i);
		CUstream stream;
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		OK(cuCtxSetCurrent(contexts[0]));
		OK(cuStreamGetDevice(stream, &device));
		ck_assert_int_eq(device, i);
		OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
		ck_assert_int_eq(ordinal, i);
		OK(cuMemFree_v2(address));
	}
}
END_TEST

/* --- Memory of another device --- */

START_TEST(kernel_cannot_access_the_memory_of_another_device)
{
	CUdeviceptr own = alloc_on(0, 4 * N), other = alloc_on(1, 4 * N);
	OK(add_on(0, own));
	FAILS(ILLEGAL_ADDRESS, add_on(0, other));
	check_log("kernel 'add': read of 4 bytes at address 0x");
	check_log("in the memory of another device, to which access is not enabled; block");
	check_log("block (0,0,0), thread (0,0,0); PTX line ");
	OK(add_on(1, other));
	check_words(other, 7);
}
END_TEST

START_TEST(freed_memory_is_in_no_allocation_whoever_had_it)
{
	CUdeviceptr own = alloc_on(0, 4 * N), other = alloc_on(1, 4 * N);
	OK(cuMemFree_v2(_i == 0 ? own : other));
	FAILS(ILLEGAL_ADDRESS, add_on(0, _i == 0 ? own : other));
	check_log("read of 4 bytes at address 0x");
	check_log(", which was freed");
}
END_TEST

/* Of device 0, on a texture or a surface of device 1. */
static CUresult fetch_on_first(CUfunction fetch, unsigned long long object, CUdeviceptr out)
{
	void *values[] = {&object, &out};
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuLaunchKernel(fetch, 1, 1, 1, 32, 1, 1, 0, NULL, values, NULL));
	return cuCtxSynchronize();
}

START_TEST(textures_and_surfaces_of_another_device_need_access)
{
	static const char *const fetches[] = {"tex.1d.v4.u32.s32 {%r2,%r3,%r4,%r5}, [%rd1, {%r1}];",
		"suld.b.1d.b32.trap %r2, [%rd1, {%r1}];"};
	const CUDA_ARRAY3D_DESCRIPTOR d = {8, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1,
		CUDA_ARRAY3D_SURFACE_LDST};
	const CUDA_TEXTURE_DESC sampling = {.flags = CU_TRSF_READ_AS_INTEGER};
	const bool is_surface = _i == 1;
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
	char text[640];
	unsigned long long object;
	CUmodule module;
	snprintf(text, sizeof(text), ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry fetch(.param .u64 p, .param .u64 q)\n{\n"
		".reg .b32 %%r<6>;\n.reg .b64 %%rd<3>;\n"
		"ld.param.u64 %%rd1, [p];\nld.param.u64 %%rd2, [q];\nmov.u32 %%r1, 0;\n"
		"%s\nst.global.u32 [%%rd2], %%r2;\nret;\n}\n", fetches[_i]);
	CUdeviceptr memory = alloc_on(1, 4 * N);
	if (is_surface) {
		resource.resType = CU_RESOURCE_TYPE_ARRAY;
		OK(cuArray3DCreate_v2(&resource.res.array.hArray, &d));
		OK(cuSurfObjectCreate(&object, &resource));
	} else {
		resource.res.linear.devPtr = memory;
		resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
		resource.res.linear.numChannels = 1;
		resource.res.linear.sizeInBytes = 4 * N;
		OK(cuTexObjectCreate(&object, &resource, &sampling, NULL));
	}
	CUdeviceptr out = alloc_on(0, 4 * N);
	OK(cuModuleLoadData(&module, text));
	CUfunction fetch = kernel(module, "fetch");
	OK(cuCtxEnablePeerAccess(contexts[1], 0));
	OK(fetch_on_first(fetch, object, out));
	OK(cuCtxDisablePeerAccess(contexts[1]));
	FAILS(ILLEGAL_ADDRESS, fetch_on_first(fetch, object, out));
	check_log("access to a texture or a surface at 0x");
	check_log("in the memory of another device, to which access is not enabled");
}
END_TEST

START_TEST(enabled_access_to_a_peer_is_of_one_direction)
{
	int can;
	CUdeviceptr first = alloc_on(0, 4 * N), second = alloc_on(1, 4 * N);
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	ck_assert_int_eq(can, 1);
	OK(cuDeviceCanAccessPeer(&can, 1, 1));
	ck_assert_int_eq(can, 0);
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuCtxEnablePeerAccess(contexts[1], 0));
	FAILS(PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(contexts[1], 0));
	FAILS(INVALID_VALUE, cuCtxEnablePeerAccess(contexts[2], 1));
	FAILS(INVALID_CONTEXT, cuCtxEnablePeerAccess(contexts[0], 0));
	OK(add_on(0, second));
	check_words(second, 7);
	OK(cuCtxDisablePeerAccess(contexts[1]));
	FAILS(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(contexts[1]));
	FAILS(ILLEGAL_ADDRESS, add_on(1, first));
	FAILS(ILLEGAL_ADDRESS, add_on(0, second));
}
END_TEST

START_TEST(memory_of_the_host_and_managed_memory_are_everybodys)
{
	CUdeviceptr managed;
	void *pinned;
	OK(cuMemAllocManaged(&managed, 4 * N, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemHostAlloc(&pinned, 4 * N, 0));
	memset((void *)(uintptr_t)managed, 0, 4 * N);
	memset(pinned, 0, 4 * N);
	for (int i = 0; i < COUNT; i++) {
		OK(add_on(i, managed));
		OK(add_on(i, (uintptr_t)pinned));
	}
	check_words(managed, 7 * COUNT);
	check_words((uintptr_t)pinned, 7 * COUNT);
}
END_TEST

START_TEST(managed_variables_of_a_library_are_everybodys)
{
	static const char text[] =
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".global .attribute(.managed) .align 4 .u32 both = 5;\n"
		".global .align 4 .u32 own = 6;\n"
		".visible .entry count()\n"
		"{\n"
		"	.reg .b32 %v;\n"
		"	atom.global.add.u32 %v, [both], 1;\n"
		"	atom.global.add.u32 %v, [own], 1;\n"
		"	ret;\n"
		"}\n";
	CUlibrary library;
	CUkernel count;
	CUdeviceptr first = 0, own[COUNT];
	OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&count, library, "count"));
	for (int i = 0; i < COUNT; i++) {
		CUdeviceptr both, read = 0;
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuLibraryGetManaged(&both, NULL, library, "both"));
		first = i == 0 ? both : first;
		ck_assert_uint_eq(both, first);
		OK(cuLibraryGetGlobal(&own[i], NULL, library, "own"));
		ck_assert(i == 0 || own[i] != own[0]);
		OK(cuLaunchKernel((CUfunction)(void *)count, 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
			NULL));
		OK(cuMemcpyDtoH_v2(&read, own[i], 4));
		ck_assert_uint_eq(read, 7);
		ck_assert_uint_eq(*(const unsigned *)(uintptr_t)first, 6 + (unsigned)i);
	}
	OK(cuDevicePrimaryCtxReset_v2(0)); /* where it was made */
	ck_assert_uint_eq(*(const unsigned *)(uintptr_t)first, 5 + COUNT);
	OK(cuLibraryUnload(library));
	FAILS(INVALID_VALUE, cuPointerGetAttribute(&(int){0}, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		first));
}
END_TEST

START_TEST(memory_registered_in_one_context_is_registered_in_all)
{
	static uint32_t values[N];
	CUdeviceptr address;
	CUcontext owner;
	int ordinal = -1;
	unsigned flags;
	OK(cuCtxSetCurrent(contexts[2]));
	OK(cuMemHostRegister_v2(values, sizeof(values), 0));
	for (int i = -1; i < COUNT; i++) {
		OK(cuCtxSetCurrent(i < 0 ? NULL : contexts[i]));
		OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
			(uintptr_t)&values[1]));
		ck_assert_int_eq(ordinal, 2);
		OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT,
			(uintptr_t)values));
		ck_assert_ptr_eq(owner, contexts[2]);
	}
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuMemHostGetFlags(&flags, values));
	OK(cuMemHostGetDevicePointer_v2(&address, values, 0));
	OK(add_on(0, address));
	ck_assert_uint_eq(values[N - 1], 7);
	FAILS(HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(&values[1], 4, 0));
	OK(cuMemHostUnregister(values));
	FAILS(HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(values));
	OK(cuMemHostRegister_v2(values, sizeof(values), 0));
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuCtxSetCurrent(contexts[1]));
	FAILS(HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(values));
	OK(cuDevicePrimaryCtxRetain(&contexts[0], 0));
}
END_TEST

START_TEST(pool_gives_access_to_other_devices)
{
	CUmemoryPool pool;
	CUdeviceptr address;
	CUmemAccess_flags flags;
	CUmemAccessDesc desc = {{CU_MEM_LOCATION_TYPE_DEVICE, 1},
		CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemAllocAsync(&address, 4 * N, NULL));
	OK(cuMemsetD32_v2(address, 0, N));
	OK(cuMemPoolSetAccess(pool, &desc, 1));
	OK(cuMemPoolGetAccess(&flags, pool, &desc.location));
	ck_assert_int_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(add_on(0, address));
	OK(add_on(1, address));
	check_words(address, 14);
	FAILS(ILLEGAL_ADDRESS, add_on(2, address));
}
END_TEST

/* Every copy and fill of device 0 that touches memory of device 1, in two directions. */
static void check_copies(CUresult expected, CUdeviceptr theirs)
{
	uint32_t values[N] = {0};
	CUdeviceptr own = alloc_on(0, 4 * N);
	const CUDA_MEMCPY3D copy_3d = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = theirs,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = own, .WidthInBytes = 4 * N,
		.Height = 1, .Depth = 1};
	ck_assert_int_eq(cuMemcpy(own, theirs, 4 * N), expected);
	ck_assert_int_eq(cuMemcpyDtoDAsync_v2(theirs, own, 4 * N, NULL), expected);
	ck_assert_int_eq(cuMemcpyDtoH_v2(values, theirs + 4, 4), expected);
	ck_assert_int_eq(cuMemcpyHtoD_v2(theirs, values, sizeof(values)), expected);
	ck_assert_int_eq(cuMemcpy3D_v2(&copy_3d), expected);
	ck_assert_int_eq(cuMemsetD32_v2(theirs, 5, N), expected);
	OK(cuMemcpy(own, theirs, 0));
	OK(cuMemcpyPeer(own, contexts[0], theirs, contexts[1], 4 * N));
	check_words(own, expected == CUDA_SUCCESS ? 5 : 3);
}

/* Nodes of a graph for them, in the context of device 0. */
static void check_nodes(CUresult expected, CUdeviceptr theirs)
{
	const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = theirs,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = alloc_on(0, 4 * N),
		.WidthInBytes = 4 * N, .Height = 1, .Depth = 1};
	const CUDA_MEMSET_NODE_PARAMS fill = {.dst = theirs, .value = 5, .elementSize = 4,
		.width = N, .height = 1};
	CUgraph graph;
	CUgraphNode node;
	OK(cuGraphCreate(&graph, 0));
	ck_assert_int_eq(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, contexts[0]), expected);
	ck_assert_int_eq(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, contexts[0]), expected);
	OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, contexts[1]));
	OK(cuGraphDestroy(graph));
}

/* Memory that the graph allocates is its device's before it is there. */
START_TEST(nodes_may_copy_what_their_graph_allocates)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {.poolProps = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}, .bytesize = 4 * N};
	const CUdeviceptr out = alloc_on(0, 4 * N);
	CUgraph graph;
	CUgraphExec exec;
	CUgraphNode nodes[4];
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemAllocNode(&nodes[0], graph, NULL, 0, &params));
	const CUDA_MEMSET_NODE_PARAMS fill = {.dst = params.dptr, .value = 5, .elementSize = 4,
		.width = N, .height = 1};
	const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = params.dptr,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = out, .WidthInBytes = 4 * N,
		.Height = 1, .Depth = 1};
	OK(cuGraphAddMemsetNode(&nodes[1], graph, &nodes[0], 1, &fill, contexts[0]));
	OK(cuGraphAddMemcpyNode(&nodes[2], graph, &nodes[1], 1, &copy, contexts[0]));
	OK(cuGraphAddMemFreeNode(&nodes[3], graph, &nodes[2], 1, params.dptr));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
	check_words(out, 5);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}
END_TEST

START_TEST(copies_need_access_to_memory_of_pools)
{
	CUmemoryPool pool;
	CUdeviceptr theirs;
	CUmemAccessDesc desc = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
		CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	OK(cuDeviceGetDefaultMemPool(&pool, 1));
	OK(cuCtxSetCurrent(contexts[1]));
	OK(cuMemAllocFromPoolAsync(&theirs, 4 * N, pool, NULL));
	OK(cuMemsetD32_v2(theirs, 3, N));
	OK(cuCtxSynchronize());
	check_copies(CUDA_ERROR_INVALID_VALUE, theirs);
	check_log("cuMemsetD32_v2: device 0 has no access to the memory at 0x");
	check_nodes(CUDA_ERROR_INVALID_VALUE, theirs);
	OK(cuMemPoolSetAccess(pool, &desc, 1));
	check_nodes(CUDA_SUCCESS, theirs);
	check_copies(CUDA_SUCCESS, theirs);
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	OK(cuMemPoolSetAccess(pool, &desc, 1));
	FAILS(INVALID_VALUE, cuMemcpyDtoD_v2(theirs, theirs, 4));
}
END_TEST

START_TEST(copies_need_access_to_mapped_memory)
{
	enum { SIZE = 2 << 20 };
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1},
		CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle block;
	CUdeviceptr address;
	OK(cuMemCreate(&block, SIZE, &prop, 0));
	OK(cuMemAddressReserve(&address, SIZE, 0, 0, 0));
	OK(cuMemMap(address, SIZE, 0, block, 0));
	OK(cuMemSetAccess(address, SIZE, &access, 1));
	OK(cuCtxSetCurrent(contexts[1]));
	OK(cuMemsetD32_v2(address, 3, N));
	check_copies(CUDA_ERROR_INVALID_VALUE, address);
	access.location.id = 0;
	OK(cuMemSetAccess(address, SIZE, &access, 1));
	check_copies(CUDA_SUCCESS, address);
}
END_TEST

START_TEST(pools_are_the_devices_own)
{
	CUmemoryPool pools[COUNT];
	for (int i = 0; i < COUNT; i++) {
		CUdeviceptr address;
		int ordinal;
		OK(cuDeviceGetDefaultMemPool(&pools[i], i));
		ck_assert_ptr_ne(pools[i], pools[(i + 1) % COUNT]);
		OK(cuCtxSetCurrent(contexts[(i + 1) % COUNT]));
		OK(cuMemAllocFromPoolAsync(&address, 4 * N, pools[i], NULL));
		OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
		ck_assert_int_eq(ordinal, i);
	}
}
END_TEST

static const struct {
	CUmemLocation location;
	int ordinal;
	CUmemorytype type;
} exporters[] = {
	{{CU_MEM_LOCATION_TYPE_DEVICE, 1}, 1, CU_MEMORYTYPE_DEVICE},
	{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, CU_MEMORYTYPE_DEVICE},
	{{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, 0, CU_MEMORYTYPE_HOST},
};

START_TEST(imported_pool_is_where_the_exported_one_is)
{
	const CUmemAllocationHandleType file_type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = file_type, .location = exporters[_i].location};
	CUmemPoolPtrExportData data;
	CUmemoryPool pool, imported;
	CUdeviceptr first, second;
	int file, ordinal;
	unsigned type;
	OK(cuCtxSetCurrent(contexts[exporters[_i].ordinal]));
	OK(cuMemPoolCreate(&pool, &props));
	OK(cuMemAllocFromPoolAsync(&first, 4 * N, pool, NULL));
	OK(cuMemsetD32_v2(first, 3, N));
	OK(cuMemPoolExportToShareableHandle(&file, pool, file_type, 0));
	OK(cuMemPoolExportPointer(&data, first));
	OK(cuCtxSetCurrent(NULL));
	OK(cuMemPoolImportFromShareableHandle(&imported, (void *)(uintptr_t)(unsigned)file,
		file_type, 0));
	OK(cuMemPoolImportPointer(&second, imported, &data));
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, second));
	ck_assert_int_eq(ordinal, exporters[_i].ordinal);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, second));
	ck_assert_uint_eq(type, exporters[_i].type);
	OK(add_on(exporters[_i].ordinal, second));
	check_words(first, 10);
	ck_assert_int_eq(close(file), 0);
}
END_TEST

START_TEST(copies_go_between_devices)
{
	CUdeviceptr first = alloc_on(0, 4 * N), second = alloc_on(1, 4 * N);
	OK(add_on(0, first));
	OK(cuMemcpyPeer(second, contexts[1], first, contexts[0], 4 * N));
	check_words(second, 7);
	OK(add_on(1, second));
	OK(cuMemcpy(first, second, 4 * N));
	check_words(first, 14);
}
END_TEST

START_TEST(streams_wait_for_events_of_other_devices)
{
	CUdeviceptr first = alloc_on(0, 4 * N), second = alloc_on(1, 4 * N);
	CUstream streams[2];
	CUevent event;
	for (int i = 0; i < 2; i++) {
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	}
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(launch_add(adds[0], first, N, streams[0]));
	OK(cuEventRecord(event, streams[0]));
	OK(cuCtxSetCurrent(contexts[1]));
	OK(cuStreamWaitEvent(streams[1], event, 0));
	OK(cuMemcpyPeerAsync(second, contexts[1], first, contexts[0], 4 * N, streams[1]));
	OK(launch_add(adds[1], second, N, streams[1]));
	OK(cuStreamSynchronize(streams[1]));
	check_words(second, 14);
}
END_TEST

START_TEST(graph_has_kernels_of_two_devices)
{
	CUdeviceptr values[2] = {alloc_on(0, 4 * N), alloc_on(1, 4 * N)};
	CUstream streams[2];
	CUevent events[2];
	CUgraph graph;
	CUgraphExec exec;
	for (int i = 0; i < 2; i++) {
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		OK(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
	}
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(launch_add(adds[0], values[0], N, streams[0]));
	OK(cuEventRecord(events[0], streams[0]));
	OK(cuCtxSetCurrent(contexts[1]));
	OK(cuStreamWaitEvent(streams[1], events[0], 0));
	OK(launch_add(adds[1], values[1], N, streams[1]));
	OK(cuEventRecord(events[1], streams[1]));
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuStreamWaitEvent(streams[0], events[1], 0));
	OK(launch_add(adds[0], values[0], N, streams[0]));
	OK(cuStreamEndCapture(streams[0], &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, streams[0]));
	OK(cuStreamSynchronize(streams[0]));
	check_words(values[0], 14);
	check_words(values[1], 7);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}
END_TEST

/* A host function holds the launch back, and the context of one of its kernels is destroyed. */
static void hold(void *user)
{
	while (atomic_load((atomic_int *)user) == 0) {
		sched_yield();
	}
}

static void *release_later(void *user)
{
	usleep(2000); /* so that the context mostly waits by then */
	atomic_store((atomic_int *)user, 1);
	return NULL;
}

START_TEST(context_waits_for_its_kernels_in_graphs_of_others)
{
	CUdeviceptr word;
	CUstream streams[2];
	CUgraph graph;
	CUgraphExec exec;
	CUcontext own;
	pthread_t thread;
	atomic_int go = 0;
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
	OK(cuCtxCreate_v2(&own, 0, 1));
	OK(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocManaged(&word, 4 * N, CU_MEM_ATTACH_GLOBAL));
	memset((void *)(uintptr_t)word, 0, 4 * N);
	CUfunction add = kernel(load(), "add");
	OK(cuStreamBeginCapture_v2(streams[1], CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(launch_add(add, word, N, streams[1]));
	OK(cuStreamEndCapture(streams[1], &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuLaunchHostFunc(streams[0], hold, &go));
	OK(cuGraphLaunch(exec, streams[0]));
	ck_assert_int_eq(pthread_create(&thread, NULL, release_later, &go), 0);
	if (_i == 0) {
		OK(cuCtxSetCurrent(own));
		OK(cuCtxSynchronize());
		ck_assert_uint_eq(*(uint32_t *)(uintptr_t)word, 7);
	}
	OK(cuCtxDestroy_v2(own));
	OK(cuCtxSetCurrent(contexts[0]));
	ck_assert_int_eq(atomic_load(&go), 1);
	OK(cuStreamSynchronize(streams[0]));
	FAILS(NOT_SUPPORTED, cuGraphLaunch(exec, streams[0]));
	pthread_join(thread, NULL);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}
END_TEST

/* The lanes of a warp: some have a word of one's own, the others one of another device. */
static const char mixed_ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry mixed(.param .u64 mixed_a, .param .u64 mixed_b, .param .u32 mixed_from,\n"
	"	.param .u32 mixed_how)\n"
	"{\n"
	"	.reg .b32 %r<8>;\n"
	"	.reg .b64 %rd<8>;\n"
	"	.reg .pred %p<4>;\n"
	"	ld.param.u64 %rd1, [mixed_a];\n"
	"	ld.param.u64 %rd2, [mixed_b];\n"
	"	ld.param.u32 %r1, [mixed_from];\n"
	"	ld.param.u32 %r2, [mixed_how];\n"
	"	mov.u32 %r3, %tid.x;\n"
	"	setp.ge.u32 %p1, %r3, %r1;\n"
	"	selp.b64 %rd3, %rd2, %rd1, %p1;\n"
	"	mul.wide.u32 %rd4, %r3, 4;\n"
	"	add.s64 %rd5, %rd3, %rd4;\n"
	"	setp.eq.u32 %p2, %r2, 1;\n"
	"	@%p2 bra ATOMIC;\n"
	"	setp.eq.u32 %p3, %r2, 2;\n"
	"	@%p3 bra STORE;\n"
	"	ld.u32 %r4, [%rd5];\n"
	"	bra DONE;\n"
	"STORE:\n"
	"	st.u32 [%rd5], %r3;\n"
	"	bra DONE;\n"
	"ATOMIC:\n"
	"	atom.add.u32 %r4, [%rd5], 1;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n";

/* Loads, atomic operations and stores. */
START_TEST(message_names_the_first_thread_that_goes_abroad)
{
	enum { FROM = 21 };
	char message[64];
	CUdeviceptr first = alloc_on(0, 4 * N), second = alloc_on(1, 4 * N);
	uint32_t from = FROM, how = (uint32_t)_i;
	void *values[] = {&first, &second, &from, &how};
	CUmodule module;
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuModuleLoadData(&module, mixed_ptx));
	CUfunction mixed = kernel(module, "mixed");
	OK(cuLaunchKernel(mixed, 1, 1, 1, FROM, 1, 1, 0, NULL, values, NULL));
	OK(cuCtxSynchronize());
	OK(cuLaunchKernel(mixed, 1, 1, 1, 32, 1, 1, 0, NULL, values, NULL));
	FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
	snprintf(message, sizeof(message), "address 0x%llx in the memory of another device",
		second + 4 * FROM);
	check_log(message);
	check_log("(21,0,0)");
}
END_TEST

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size,
	const CUmemAllocationProp *prop, unsigned long long flags);
CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align, CUdeviceptr hint,
	unsigned long long flags);
CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
	CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *list,
	size_t count);
CUresult cuMemGetAccess(unsigned long long *out, const CUmemLocation *location,
	CUdeviceptr address);

START_TEST(mapped_memory_is_for_those_who_were_given_access)
{
	enum { SIZE = 2 << 20 };
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
	const CUmemAccessDesc access[] = {
		{{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
		{{CU_MEM_LOCATION_TYPE_DEVICE, 2}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
	};
	CUmemGenericAllocationHandle block;
	CUdeviceptr address;
	unsigned long long flags;
	int ordinal;
	OK(cuMemCreate(&block, SIZE, &prop, 0));
	OK(cuMemAddressReserve(&address, SIZE, 0, 0, 0));
	OK(cuMemMap(address, SIZE, 0, block, 0));
	OK(cuMemSetAccess(address, SIZE, access, countof(access)));
	for (int i = 0; i < COUNT; i++) {
		const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, i};
		OK(cuMemGetAccess(&flags, &location, address));
		ck_assert_int_eq((int)flags, i == 0 ? 0 : CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	}
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
	ck_assert_int_eq(ordinal, 1);
	OK(add_on(1, address));
	OK(add_on(2, address));
	check_words(address, 14);
	FAILS(ILLEGAL_ADDRESS, add_on(0, address));
}
END_TEST

/* Memory of device 1 that device 0 has no access to, though it has access to its peers' memory. */
static CUdeviceptr alloc_apart(bool in_pool)
{
	enum { SIZE = 2 << 20 };
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
	const CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle block;
	CUdeviceptr address;
	OK(cuCtxSetCurrent(contexts[1]));
	if (in_pool) {
		OK(cuMemAllocAsync(&address, 4 * N, NULL));
		OK(cuCtxSynchronize());
	} else {
		OK(cuMemCreate(&block, SIZE, &prop, 0));
		OK(cuMemAddressReserve(&address, SIZE, 0, 0, 0));
		OK(cuMemMap(address, SIZE, 0, block, 0));
		OK(cuMemSetAccess(address, SIZE, &access, 1));
	}
	return address;
}

/* The second launch of device 0 has the background make code that asks nothing, as access to all
 * other devices is enabled. */
START_TEST(code_that_asks_nothing_runs_only_where_all_memory_is_accessible)
{
	CUdeviceptr other = alloc_on(1, 4 * N);
	const unsigned long before = jit_made_count();
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuCtxEnablePeerAccess(contexts[1], 0));
	for (int i = 0; i < 2; i++) { // device 2, too, has memory
		OK(add_on(0, other));
	}
	OK(cuFuncSetAttribute(adds[0], CU_FUNC_ATTRIBUTE_KUDZU_TIER, JIT_TIER_BEST));
	ck_assert_uint_eq(jit_made_count() - before, 1);
	OK(cuCtxEnablePeerAccess(contexts[2], 0));
	OK(add_on(0, other));
	OK(cuFuncSetAttribute(adds[0], CU_FUNC_ATTRIBUTE_KUDZU_TIER, JIT_TIER_BEST));
	ck_assert_uint_eq(jit_made_count() - before, 2);
	OK(add_on(0, other));
	check_words(other, 4 * 7);
	if (_i == 0) {
		OK(cuCtxDisablePeerAccess(contexts[1]));
	} else {
		other = alloc_apart(_i == 1);
	}
	FAILS(ILLEGAL_ADDRESS, add_on(0, other));
	check_log("in the memory of another device, to which access is not enabled; block");
	OK(add_on(1, other));
}
END_TEST

/* A failure poisons the contexts of one device only. */
START_TEST(failure_stays_on_its_device)
{
	CUdeviceptr first = alloc_on(0, 4 * N), second = alloc_on(1, 4 * N);
	FAILS(ILLEGAL_ADDRESS, add_on(1, 256));
	FAILS(ILLEGAL_ADDRESS, add_on(1, second));
	OK(add_on(0, first));
	check_words(first, 7);
}
END_TEST

/* --- Which devices are seen --- */

struct visible {
	const char *value;
	int numbers[COUNT + 1]; /* then -1 */
};

/* CUDA C++ Programming Guide, "CUDA Environment Variables". */
static const struct visible visible[] = {
	{"0,1,2", {0, 1, 2, -1}},
	{"2", {2, -1}},
	{"2,0", {2, 0, -1}},
	{"1,-1,0", {1, -1}},
	{"1,7,0", {1, -1}},
	{" 1 , 0", {1, 0, -1}},
	{"", {-1}},
	{"-1", {-1}},
	{"x", {-1}},
	{"1,1", {-1}},
	{"GPU-6b75647a-752d-6370-752d-646576696366", {1, -1}},
	{"GPU-6b75647a-752d-6370-752d-646576696367,0", {2, 0, -1}},
	{"GPU-6b75", {-1}}, /* which begins all */
};

START_TEST(visible_devices_are_a_choice)
{
	const struct visible *v = &visible[_i];
	int count = 0, expected = 0;
	setenv("KUDZU_CPU_DEVICES", "3", 1);
	setenv("CUDA_VISIBLE_DEVICES", v->value, 1);
	while (v->numbers[expected] >= 0) {
		expected++;
	}
	if (expected == 0) {
		FAILS(NO_DEVICE, cuInit(0));
		return;
	}
	init();
	OK(cuDeviceGetCount(&count));
	ck_assert_int_eq(count, expected);
	for (int i = 0; i < count; i++) {
		char bus[16], expected_bus[16];
		snprintf(expected_bus, sizeof(expected_bus), "0000:00:%02x.0", v->numbers[i]);
		OK(cuDeviceGetPCIBusId(bus, sizeof(bus), i));
		ck_assert_str_eq(bus, expected_bus);
	}
}
END_TEST

/* Programs hide their GPUs with it, and not the processor. */
START_TEST(one_device_is_seen_whatever_is_visible)
{
	int count = 0;
	unsetenv("KUDZU_CPU_DEVICES");
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	init();
	OK(cuDeviceGetCount(&count));
	ck_assert_int_eq(count, 1);
}
END_TEST

SUITE(api_devices)
{
	Suite *suite = suite_create("api_devices");
	TCase *tc = add_case(suite, "each", devices_setup, devices_teardown);
	tcase_add_tests(tc, 1, devices_have_names_of_their_own, devices_share_cores_and_memory,
		context_stream_and_pointer_know_their_device, pools_are_the_devices_own,
		failure_stays_on_its_device);
	tc = add_case(suite, "between", devices_setup, devices_teardown);
	tcase_add_loop_test(tc, freed_memory_is_in_no_allocation_whoever_had_it, 0, 2);
	tcase_add_tests(tc, 1, kernel_cannot_access_the_memory_of_another_device,
		enabled_access_to_a_peer_is_of_one_direction,
		memory_of_the_host_and_managed_memory_are_everybodys,
		managed_variables_of_a_library_are_everybodys,
		memory_registered_in_one_context_is_registered_in_all,
		pool_gives_access_to_other_devices, copies_go_between_devices,
		copies_need_access_to_memory_of_pools,
		nodes_may_copy_what_their_graph_allocates, copies_need_access_to_mapped_memory,
		streams_wait_for_events_of_other_devices, graph_has_kernels_of_two_devices,
		mapped_memory_is_for_those_who_were_given_access);
	tcase_add_loop_test(tc, code_that_asks_nothing_runs_only_where_all_memory_is_accessible,
		0, 3);
	tcase_add_loop_test(tc, context_waits_for_its_kernels_in_graphs_of_others, 0, 2);
	tcase_add_loop_test(tc, textures_and_surfaces_of_another_device_need_access, 0, 2);
	tcase_add_loop_test(tc, message_names_the_first_thread_that_goes_abroad, 0, 3);
	tcase_add_loop_test(tc, imported_pool_is_where_the_exported_one_is, 0,
		(int)countof(exporters));
	tc = add_case(suite, "visible", NULL, NULL);
	tcase_add_loop_test(tc, visible_devices_are_a_choice, 0, (int)countof(visible));
	tcase_add_test(tc, one_device_is_seen_whatever_is_visible);
	return suite;
}

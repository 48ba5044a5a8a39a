/* SPDX-License-Identifier: MIT */
/*
 * The stub's devices, contexts, streams, events and launches; see stub.h.
 *
 * A stream is empty whenever a call returns, so an event is only the time when it was recorded.
 */
#include "base/common.h"

#include "stub.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES_MAX = 8 };

struct CUctx_st {
	int references;
};

struct CUstream_st {
	CUcontext context;
	unsigned flags;
	int priority;
	bool capturing;
};

struct CUevent_st {
	bool timed;
	bool recorded;
	struct timespec when;
};

/* What a handle points behind; the list makes a handle that is released twice an error. */
struct handle {
	struct handle *next;
	CUcontext context;
	enum stub_kind kind;
	max_align_t body[];
};

static struct CUctx_st contexts[DEVICES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *handles; /* guarded by lock */
_Thread_local CUcontext stub_current;

void *stub_create(enum stub_kind kind, size_t size)
{
	struct handle *handle = calloc(1, sizeof(*handle) + size);
	if (!handle) {
		return NULL;
	}
	handle->kind = kind;
	handle->context = stub_current;
	pthread_mutex_lock(&lock);
	handle->next = handles;
	handles = handle;
	pthread_mutex_unlock(&lock);
	stub_count(kind, 1);
	return handle->body;
}

/* Free the handles of one kind that `body` is, or, where it is NULL, that a context has. */
static int free_handles(enum stub_kind kind, const void *body, CUcontext context)
{
	int count = 0;
	pthread_mutex_lock(&lock);
	for (struct handle **link = &handles; *link;) {
		struct handle *handle = *link;
		bool match = body ? handle->body == body : handle->context == context;
		if (handle->kind == kind && match) {
			*link = handle->next;
			free(handle);
			count++;
		} else {
			link = &handle->next;
		}
	}
	pthread_mutex_unlock(&lock);
	stub_count(kind, -count);
	return count;
}

CUresult stub_release(enum stub_kind kind, void *handle)
{
	return handle && free_handles(kind, handle, NULL)
		? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* The driver */

CUresult do_DriverGetVersion(int *version)
{
	*version = stub.version;
	return stub_enter(DRV_cuDriverGetVersion);
}

CUresult do_LogsCurrent(CUlogIterator *iterator, unsigned int flags)
{
	(void)flags;
	*iterator = 1;
	return stub_enter(DRV_cuLogsCurrent);
}

CUresult do_LogsDumpToMemory(
	CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
	(void)flags;
	CUresult code = stub_enter(DRV_cuLogsDumpToMemory);
	size_t len = strlen(stub.log);
	if (!code && iterator && len < *size) {
		memcpy(buffer, stub.log, len + 1);
		*size = len;
		*iterator += 1;
	}
	return code;
}

/* Devices and contexts */

static const struct {
	CUdevice_attribute attribute;
	int value;
} attributes[] = {
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
	{CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
	{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
	{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
	{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
	{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 52428800},
	{CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
	{CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
	{CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	{CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
	{CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
	{CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
};

static bool is_device(CUdevice device)
{
	return device >= 0 && device < stub.devices && device < DEVICES_MAX;
}

CUresult do_DeviceGetCount(int *count)
{
	*count = stub.devices;
	return stub_enter(DRV_cuDeviceGetCount);
}

CUresult do_DeviceGet(CUdevice *device, int ordinal)
{
	CUresult code = stub_enter(DRV_cuDeviceGet);
	*device = ordinal;
	return code ? code : is_device(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult do_DeviceGetName(char *name, int size, CUdevice device)
{
	snprintf(name, (size_t)size, "Kudzu stub %d", device);
	return stub_enter(DRV_cuDeviceGetName);
}

CUresult do_DeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	*value = 0;
	for (size_t i = 0; i < countof(attributes); i++) {
		if (attributes[i].attribute == attribute) {
			*value = attributes[i].value;
		}
	}
	if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
		*value = stub.cc / 10;
	} else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
		*value = stub.cc % 10;
	}
	CUresult code = stub_enter(DRV_cuDeviceGetAttribute);
	if (!code && attribute >= CU_DEVICE_ATTRIBUTE_MAX) {
		stub_count(STUB_MISTAKE, 1);
		code = CUDA_ERROR_INVALID_VALUE;
	}
	return code ? code : is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult do_DeviceTotalMem(size_t *size, CUdevice device)
{
	(void)device;
	*size = stub.memory;
	return stub_enter(DRV_cuDeviceTotalMem);
}

CUresult do_DeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	memset(uuid, device, sizeof(*uuid));
	return stub_enter(DRV_cuDeviceGetUuid);
}

CUresult do_DeviceGetPCIBusId(char *id, int size, CUdevice device)
{
	snprintf(id, (size_t)size, "0000:%02x:00.0", device + 1);
	return stub_enter(DRV_cuDeviceGetPCIBusId);
}

CUresult do_DeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	*can = device != peer;
	return stub_enter(DRV_cuDeviceCanAccessPeer);
}

/* Which device's context may use the memory of which other. */
static bool peers[DEVICES_MAX][DEVICES_MAX];

static CUresult set_peer(CUresult code, CUcontext peer, bool is_on)
{
	int here, there;
	if (code || stub_context_device(stub_current, &here) || stub_context_device(peer, &there)) {
		return code ? code : CUDA_ERROR_INVALID_CONTEXT;
	}
	if (here == there) {
		return CUDA_ERROR_INVALID_DEVICE;
	}
	bool was_on = __atomic_exchange_n(&peers[here][there], is_on, __ATOMIC_RELAXED);
	return was_on != is_on ? CUDA_SUCCESS
		: is_on ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
			: CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult do_CtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	CUresult code = stub_enter_context(DRV_cuCtxEnablePeerAccess);
	return set_peer(code || flags == 0 ? code : CUDA_ERROR_INVALID_VALUE, peer, true);
}

CUresult do_CtxDisablePeerAccess(CUcontext peer)
{
	return set_peer(stub_enter_context(DRV_cuCtxDisablePeerAccess), peer, false);
}

CUresult do_DevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult code = stub_enter(DRV_cuDevicePrimaryCtxRetain);
	if (!code && !is_device(device)) {
		code = CUDA_ERROR_INVALID_DEVICE;
	}
	if (!code) {
		__atomic_add_fetch(&contexts[device].references, 1, __ATOMIC_RELAXED);
		stub_count(STUB_CONTEXT, 1);
		*context = &contexts[device];
	}
	return code;
}

CUresult do_DevicePrimaryCtxRelease(CUdevice device)
{
	CUresult code = stub_enter(DRV_cuDevicePrimaryCtxRelease);
	if (!code && (!is_device(device)
	    || __atomic_load_n(&contexts[device].references, __ATOMIC_RELAXED) == 0)) {
		code = CUDA_ERROR_INVALID_CONTEXT;
	}
	if (!code) {
		stub_count(STUB_CONTEXT, -1);
	}
	if (!code && __atomic_sub_fetch(&contexts[device].references, 1, __ATOMIC_RELAXED) == 0) {
		for (int i = 0; i < DEVICES_MAX; i++) {
			__atomic_store_n(&peers[device][i], false, __ATOMIC_RELAXED);
			__atomic_store_n(&peers[i][device], false, __ATOMIC_RELAXED);
		}
	}
	return code;
}

/* Streams and events end with what they belong to. */
CUresult do_DevicePrimaryCtxReset(CUdevice device)
{
	CUresult code = stub_enter(DRV_cuDevicePrimaryCtxReset);
	if (!code && is_device(device)) {
		free_handles(STUB_STREAM, NULL, &contexts[device]);
		free_handles(STUB_EVENT, NULL, &contexts[device]);
	}
	return code;
}

CUresult do_DevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
	*flags = 0;
	*active = is_device(device) && contexts[device].references > 0;
	return stub_enter(DRV_cuDevicePrimaryCtxGetState);
}

CUresult do_CtxSetCurrent(CUcontext context)
{
	CUresult code = stub_enter(DRV_cuCtxSetCurrent);
	if (!code) {
		stub_current = context;
	}
	return code;
}

CUresult do_CtxGetCurrent(CUcontext *context)
{
	*context = stub_current;
	return stub_enter(DRV_cuCtxGetCurrent);
}

/* A stack of one: the library pushes only what it pops. */
static _Thread_local CUcontext below;

CUresult do_CtxPushCurrent(CUcontext context)
{
	CUresult code = stub_enter(DRV_cuCtxPushCurrent);
	if (!code) {
		below = stub_current;
		stub_current = context;
	}
	return code;
}

CUresult do_CtxPopCurrent(CUcontext *context)
{
	CUresult code = stub_enter(DRV_cuCtxPopCurrent);
	if (!code) {
		*context = stub_current;
		stub_current = below;
		below = NULL;
	}
	return code;
}

CUresult do_CtxGetDevice(CUdevice *device)
{
	CUresult code = stub_enter_context(DRV_cuCtxGetDevice);
	if (!code) {
		*device = (CUdevice)(stub_current - contexts);
	}
	return code;
}

CUresult stub_context_device(CUcontext context, int *device)
{
	*device = (CUdevice)(context - contexts);
	return CUDA_SUCCESS;
}

/* Any limit has any value. */
static size_t limits[CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED + 1];

CUresult do_CtxGetLimit(size_t *value, CUlimit limit)
{
	CUresult code = stub_enter_context(DRV_cuCtxGetLimit);
	if (!code) {
		*value = limits[limit];
	}
	return code;
}

CUresult do_CtxSetLimit(CUlimit limit, size_t value)
{
	CUresult code = stub_enter_context(DRV_cuCtxSetLimit);
	if (!code) {
		limits[limit] = value;
	}
	return code;
}

CUresult do_CtxSynchronize(void)
{
	return stub_enter_context(DRV_cuCtxSynchronize);
}

/* Streams */

/* A stream of do_StreamCreate; not NULL or CU_STREAM_LEGACY, which are none that we made. */
static bool is_made(CUstream stream)
{
	return stream && stream != CU_STREAM_LEGACY;
}

static CUresult new_stream(CUstream *stream, unsigned int flags, CUresult code)
{
	if (!code) {
		*stream = stub_create(STUB_STREAM, sizeof(**stream));
		code = *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!code) {
		(*stream)->context = stub_current;
		(*stream)->flags = flags;
	}
	return code;
}

CUresult do_StreamCreate(CUstream *stream, unsigned int flags)
{
	return new_stream(stream, flags, stub_enter_context(DRV_cuStreamCreate));
}

CUresult do_StreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	CUresult code = new_stream(stream, flags,
		stub_enter_context(DRV_cuStreamCreateWithPriority));
	if (!code) {
		(*stream)->priority = priority < -5 ? -5 : priority > 0 ? 0 : priority;
	}
	return code;
}

CUresult do_CtxGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return stub_enter_context(DRV_cuCtxGetStreamPriorityRange);
}

CUresult do_StreamGetPriority(CUstream stream, int *priority)
{
	*priority = is_made(stream) ? stream->priority : 0;
	return stub_enter_context(DRV_cuStreamGetPriority);
}

CUresult do_StreamGetFlags(CUstream stream, unsigned int *flags)
{
	*flags = is_made(stream) ? stream->flags : CU_STREAM_DEFAULT;
	return stub_enter_context(DRV_cuStreamGetFlags);
}

CUresult do_StreamDestroy(CUstream stream)
{
	CUresult code = stub_enter_context(DRV_cuStreamDestroy);
	return code ? code : stub_release(STUB_STREAM, stream);
}

/* What a stream that is captured must not be asked. */
static CUresult wait_for(CUstream stream, CUresult code)
{
	return code                           ? code
		: is_made(stream) && stream->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
					      : CUDA_SUCCESS;
}

CUresult do_StreamSynchronize(CUstream stream)
{
	return wait_for(stream, stub_enter_context(DRV_cuStreamSynchronize));
}

CUresult do_StreamQuery(CUstream stream)
{
	return wait_for(stream, stub_enter_context(DRV_cuStreamQuery));
}

CUresult do_StreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	(void)stream;
	(void)flags;
	CUresult code = stub_enter_context(DRV_cuStreamWaitEvent);
	return code ? code : event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult do_StreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	*status = is_made(stream) && stream->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE
					      : CU_STREAM_CAPTURE_STATUS_NONE;
	return stub_enter_context(DRV_cuStreamIsCapturing);
}

CUresult do_StreamGetCtx(CUstream stream, CUcontext *context)
{
	*context = is_made(stream) ? stream->context : stub_current;
	return stub_enter(DRV_cuStreamGetCtx);
}

CUresult do_StreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
	(void)mode;
	CUresult code = stub_enter_context(DRV_cuStreamBeginCapture);
	if (!code && (!stream || stream->capturing)) {
		code = CUDA_ERROR_ILLEGAL_STATE;
	}
	if (!code) {
		stream->capturing = true;
	}
	return code;
}

CUresult do_StreamEndCapture(CUstream stream, CUgraph *graph)
{
	CUresult code = stub_enter_context(DRV_cuStreamEndCapture);
	if (!code && (!stream || !stream->capturing)) {
		code = CUDA_ERROR_ILLEGAL_STATE;
	}
	if (stream) {
		stream->capturing = false; /* whatever fails */
	}
	if (!code) {
		*graph = stub_create(STUB_GRAPH, 1);
		code = *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	return code;
}

/* A graph has one node here, whatever was added: an empty child graph.  An executable one is a
 * handle of the same kind. */
static CUresult new_graph(void **graph, CUresult code)
{
	if (!code) {
		*graph = stub_create(STUB_GRAPH, 1);
		code = *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	return code;
}

CUresult do_GraphCreate(CUgraph *graph, unsigned int flags)
{
	(void)flags;
	return new_graph((void **)graph, stub_enter_context(DRV_cuGraphCreate));
}

CUresult do_GraphClone(CUgraph *clone, CUgraph graph)
{
	(void)graph;
	return new_graph((void **)clone, stub_enter_context(DRV_cuGraphClone));
}

CUresult do_GraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	(void)graph, (void)flags;
	return new_graph((void **)exec, stub_enter_context(DRV_cuGraphInstantiateWithFlags));
}

CUresult do_GraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	static char node;
	*count = graph ? 1 : 0;
	if (graph && nodes) {
		nodes[0] = (CUgraphNode)&node;
	}
	return stub_enter(DRV_cuGraphGetNodes);
}

CUresult do_GraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	(void)node;
	*type = CU_GRAPH_NODE_TYPE_GRAPH;
	return stub_enter(DRV_cuGraphNodeGetType);
}

CUresult do_GraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
	(void)node;
	*graph = NULL;
	return stub_enter(DRV_cuGraphChildGraphNodeGetGraph);
}

/* A conditional node with up to 8 bodies, which are empty. */
CUresult do_GraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *parameters)
{
	static CUgraph bodies[8];
	(void)node, (void)graph, (void)after, (void)data, (void)count;
	parameters->conditional.phGraph_out = bodies;
	return stub_enter_context(DRV_cuGraphAddNode);
}

CUresult do_GraphExecDestroy(CUgraphExec exec)
{
	CUresult code = stub_enter(DRV_cuGraphExecDestroy);
	return code ? code : stub_release(STUB_GRAPH, exec);
}

CUresult do_GraphDestroy(CUgraph graph)
{
	CUresult code = stub_enter(DRV_cuGraphDestroy);
	return code ? code : stub_release(STUB_GRAPH, graph);
}

CUresult do_LaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	CUresult code = stub_enter_stream(DRV_cuLaunchHostFunc, stream);
	if (!code) {
		function(data);
	}
	return code;
}

/* Values in memory: the host may access it.  A wait for a value that is not there yet fails, since
 * work is done when it is queued. */

#define VALUES(bits)                                                                              \
	CUresult do_StreamWriteValue##bits(                                                       \
		CUstream stream, CUdeviceptr address, uint##bits##_t value, unsigned int flags)   \
	{                                                                                         \
		CUresult code = stub_enter_stream(DRV_cuStreamWriteValue##bits, stream);          \
		if (!code && !flags) {                                                            \
			*(uint##bits##_t *)(uintptr_t)address = value;                            \
		}                                                                                 \
		return code || !flags ? code : CUDA_ERROR_INVALID_VALUE;                          \
	}                                                                                         \
	CUresult do_StreamWaitValue##bits(                                                        \
		CUstream stream, CUdeviceptr address, uint##bits##_t value, unsigned int flags)   \
	{                                                                                         \
		CUresult code = stub_enter_stream(DRV_cuStreamWaitValue##bits, stream);           \
		uint##bits##_t there = *(uint##bits##_t *)(uintptr_t)address;                     \
		bool goes_on = flags == CU_STREAM_WAIT_VALUE_GEQ                                  \
			? (int##bits##_t)(there - value) >= 0                                     \
			: flags == CU_STREAM_WAIT_VALUE_EQ  ? there == value                      \
			: flags == CU_STREAM_WAIT_VALUE_AND ? (there & value) != 0                \
							    : (uint##bits##_t)~(there \
							    	| value) != 0; \
		return code || goes_on ? code : CUDA_ERROR_NOT_READY;                             \
	}
VALUES(32)
VALUES(64)

/* Events */

static CUresult new_event(CUevent *event, unsigned int flags, CUresult code)
{
	if (!code) {
		*event = stub_create(STUB_EVENT, sizeof(**event));
		code = *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!code) {
		(*event)->timed = !(flags & CU_EVENT_DISABLE_TIMING);
	}
	return code;
}

CUresult do_EventCreate(CUevent *event, unsigned int flags)
{
	return new_event(event, flags, stub_enter_context(DRV_cuEventCreate));
}

CUresult do_EventRecord(CUevent event, CUstream stream)
{
	(void)stream;
	CUresult code = stub_enter_context(DRV_cuEventRecord);
	if (!code && !event) {
		code = CUDA_ERROR_INVALID_HANDLE;
	}
	if (!code) {
		__atomic_store_n(&event->recorded, true, __ATOMIC_RELAXED);
		if (event->timed) {
			clock_gettime(CLOCK_MONOTONIC, &event->when);
		}
	}
	return code;
}

CUresult do_EventElapsedTime(float *ms, CUevent start, CUevent end)
{
	CUresult code = stub_enter_context(DRV_cuEventElapsedTime);
	if (!code && (!start->timed || !end->timed || !start->recorded || !end->recorded)) {
		code = CUDA_ERROR_INVALID_HANDLE;
	}
	if (!code) {
		double seconds = (double)(end->when.tv_sec - start->when.tv_sec);
		double rest = (double)(end->when.tv_nsec - start->when.tv_nsec);
		*ms = (float)(seconds * 1e3 + rest * 1e-6);
	}
	return code;
}

CUresult do_IpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	CUresult code = stub_enter_context(DRV_cuIpcGetEventHandle);
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &event, sizeof(event));
	return code || !event->timed ? code : CUDA_ERROR_INVALID_HANDLE;
}

/* As if from another process: a new event. */
CUresult do_IpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	static const CUipcEventHandle none;
	CUresult code = stub_enter_context(DRV_cuIpcOpenEventHandle);
	if (!code && memcmp(&handle, &none, sizeof(handle)) == 0) {
		code = CUDA_ERROR_INVALID_HANDLE;
	}
	return new_event(event, CU_EVENT_DISABLE_TIMING, code);
}

CUresult do_EventDestroy(CUevent event)
{
	CUresult code = stub_enter(DRV_cuEventDestroy);
	return code ? code : stub_release(STUB_EVENT, event);
}

/* Launches: nothing runs. */

CUresult do_LaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_size, CUstream stream, void **parameters, void **extra)
{
	(void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y;
	(void)block_z, (void)shared_size, (void)parameters, (void)extra;
	return stub_enter_stream(DRV_cuLaunchKernel, stream);
}

/* Each attribute once, and clusters that divide the grid. */
CUresult do_LaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
	void **extra)
{
	unsigned seen = 0;
	(void)function, (void)parameters, (void)extra;
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttributeValue *value = &config->attrs[i].value;
		const CUlaunchAttributeID id = config->attrs[i].id;
		bool ok = !(seen & 1u << id);
		if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			ok = ok && value->clusterDim.x && value->clusterDim.y && value->clusterDim.z
				&& config->gridDimX % value->clusterDim.x == 0
				&& config->gridDimY % value->clusterDim.y == 0
				&& config->gridDimZ % value->clusterDim.z == 0;
		} else if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
			ok = ok && value->programmaticStreamSerializationAllowed == 1;
		} else {
			ok = ok && id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && value->cooperative == 1;
		}
		seen |= 1u << id;
		stub_count(STUB_MISTAKE, !ok);
	}
	return stub_enter_stream(DRV_cuLaunchKernelEx, config->hStream);
}

CUresult do_OccupancyMaxActiveBlocksPerMultiprocessor(
	int *count, CUfunction function, int block_size, size_t shared_size)
{
	(void)function, (void)shared_size;
	*count = block_size > 0 ? 2048 / block_size : 0;
	return stub_enter_context(DRV_cuOccupancyMaxActiveBlocksPerMultiprocessor);
}

CUresult do_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *count, CUfunction function, int block_size, size_t shared_size, unsigned int flags)
{
	(void)function, (void)shared_size, (void)flags;
	*count = block_size > 0 ? 2048 / block_size : 0;
	return stub_enter_context(DRV_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags);
}

CUresult do_OccupancyMaxPotentialBlockSize(int *min_grid_size, int *block_size, CUfunction function,
	CUoccupancyB2DSize shared_size_of, size_t shared_size, int block_size_limit)
{
	(void)function, (void)shared_size_of, (void)shared_size;
	*block_size = block_size_limit > 0 && block_size_limit < 1024 ? block_size_limit : 1024;
	*min_grid_size = 264;
	return stub_enter_context(DRV_cuOccupancyMaxPotentialBlockSize);
}

/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills.  Every address is a host address, so each copy is the copy of a box, which
 * describe_memory.c checks.  The functions differ in when they return, and in which memory their
 * operands may be.
 */
#include "base/common.h"

#include "cpu/abi/api.h"
#include "cpu/stream/work_describe.h"

/* A call copies pageable sources up to this size before it returns, so the program may reuse
 * them. */
#define STAGE_MAX ((size_t)64 << 20)

/* The kind of a call, as its name says. */
enum call_kind { CALL_SYNC, CALL_ASYNC };

/* The kind of memory that an operand is in. */
enum copy_place { PLACE_DEVICE, PLACE_PINNED, PLACE_PAGEABLE };

static enum copy_place copy_find_place(struct context *context, uint64_t address)
{
	struct device_memory *memory = context->device->memory;
	struct memory_range range;
	if (!memory_covers(memory, address)) {
		return PLACE_PAGEABLE;
	}
	return memory_find(memory, address, &range) && range.kind == MEMORY_HOST ? PLACE_PINNED
		: PLACE_DEVICE;
}

/* Whether a call returns only when the copy is done ("API synchronization behavior" in NVIDIA's
 * documentation of the driver API). */
static bool copy_must_wait(enum call_kind kind, enum copy_place to, enum copy_place from,
	size_t size)
{
	if (kind == CALL_SYNC) {
		return to != PLACE_DEVICE || from != PLACE_DEVICE;
	}
	return to == PLACE_PAGEABLE || (to == PLACE_PINNED && from == PLACE_PINNED)
		|| (from == PLACE_PAGEABLE && size > STAGE_MAX);
}

/* What must be true of a copy: work_check_own_box, or between contexts work_check_box. */
typedef CUresult copy_check_fn(const char *call, struct context *context, const struct box *box);

static CUresult copy_run(const char *call, struct context *context, const struct box *box,
	CUstream stream, enum call_kind kind, copy_check_fn *check)
{
	struct work work = {.kind = WORK_EMPTY};
	enum enqueue how = ENQUEUE_ASYNC;
	bool stage = false;
	if (box->width > 0 && box->height > 0 && box->depth > 0) {
		CUresult result = check(call, context, box);
		if (result != CUDA_SUCCESS) {
			return result;
		}
		work.kind = WORK_COPY;
		work.copy = *box;
		enum copy_place to = copy_find_place(context, box->to.address);
		enum copy_place from = copy_find_place(context, box->from.address);
		stage = from == PLACE_PAGEABLE;
		if (copy_must_wait(kind, to, from, box->width * box->height * box->depth)) {
			how = kind == CALL_SYNC ? ENQUEUE_SYNC : ENQUEUE_WAIT;
		}
	}
	return stream_enqueue(call, context, stream, &work, how, stage);
}

/* The ends of a copy of bytes, in the memory that the name of the call says. */
static struct end copy_any(CUdeviceptr address)
{
	return (struct end){.side = SIDE_ANY, .address = address};
}

static struct end copy_device(CUdeviceptr address)
{
	return (struct end){.side = SIDE_DEVICE, .address = address};
}

static struct end copy_host(const void *address)
{
	return (struct end){.side = SIDE_HOST, .address = (uintptr_t)address};
}

static CUresult copy_linear(const char *call, struct end to, struct end from, size_t size,
	CUstream stream, enum call_kind kind)
{
	const struct box box = {.to = to, .from = from, .width = size, .height = 1, .depth = 1};
	struct context *context;
	CUresult result = api_enter(call, &context);
	return result != CUDA_SUCCESS ? result
		: copy_run(call, context, &box, stream, kind, work_check_own_box);
}

API(cuMemcpy, CUdeviceptr to, CUdeviceptr from, size_t size)
{
	return copy_linear(__func__, copy_any(to), copy_any(from), size, NULL, CALL_SYNC);
}
API_PER_THREAD(cuMemcpy_ptds, cuMemcpy,
	(CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size));

API(cuMemcpyAsync, CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy_linear(__func__, copy_any(to), copy_any(from), size, stream, CALL_ASYNC);
}
API_PER_THREAD(cuMemcpyAsync_ptsz, cuMemcpyAsync,
	(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
	(to, from, size, stream));

API(cuMemcpyHtoD_v2, CUdeviceptr to, const void *from, size_t size)
{
	return copy_linear(__func__, copy_device(to), copy_host(from), size, NULL, CALL_SYNC);
}
API_PER_THREAD(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2,
	(CUdeviceptr to, const void *from, size_t size), (to, from, size));

API(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
	return copy_linear(__func__, copy_device(to), copy_host(from), size, stream, CALL_ASYNC);
}
API_PER_THREAD(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2,
	(CUdeviceptr to, const void *from, size_t size, CUstream stream),
	(to, from, size, stream));

API(cuMemcpyDtoH_v2, void *to, CUdeviceptr from, size_t size)
{
	return copy_linear(__func__, copy_host(to), copy_device(from), size, NULL, CALL_SYNC);
}
API_PER_THREAD(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2,
	(void *to, CUdeviceptr from, size_t size), (to, from, size));

API(cuMemcpyDtoHAsync_v2, void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy_linear(__func__, copy_host(to), copy_device(from), size, stream, CALL_ASYNC);
}
API_PER_THREAD(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2,
	(void *to, CUdeviceptr from, size_t size, CUstream stream), (to, from, size, stream));

API(cuMemcpyDtoD_v2, CUdeviceptr to, CUdeviceptr from, size_t size)
{
	return copy_linear(__func__, copy_device(to), copy_device(from), size, NULL, CALL_SYNC);
}
API_PER_THREAD(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2,
	(CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size));

API(cuMemcpyDtoDAsync_v2, CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy_linear(__func__, copy_device(to), copy_device(from), size, stream, CALL_ASYNC);
}
API_PER_THREAD(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2,
	(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
	(to, from, size, stream));

static CUresult copy_described(const char *call, const CUDA_MEMCPY3D *c, CUstream stream,
	enum call_kind kind, copy_check_fn *check)
{
	struct context *context;
	struct box box;
	CUresult result = api_enter(call, &context);
	if (result == CUDA_SUCCESS && !c) {
		return api_null(call, "the description");
	}
	if (result == CUDA_SUCCESS) {
		result = work_plan_box(call, c, &box);
	}
	return result != CUDA_SUCCESS ? result
		: copy_run(call, context, &box, stream, kind, check);
}

static CUresult copy_2d(const char *call, const CUDA_MEMCPY2D *c, CUstream stream,
	enum call_kind kind)
{
	if (!c) {
		return copy_described(call, NULL, stream, kind, work_check_own_box);
	}
	const CUDA_MEMCPY3D copy_3d = {
		.srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcMemoryType = c->srcMemoryType,
		.srcHost = c->srcHost, .srcDevice = c->srcDevice, .srcArray = c->srcArray,
		.srcPitch = c->srcPitch,
		.dstXInBytes = c->dstXInBytes, .dstY = c->dstY, .dstMemoryType = c->dstMemoryType,
		.dstHost = c->dstHost, .dstDevice = c->dstDevice, .dstArray = c->dstArray,
		.dstPitch = c->dstPitch,
		.WidthInBytes = c->WidthInBytes, .Height = c->Height, .Depth = 1
	};
	return copy_described(call, &copy_3d, stream, kind, work_check_own_box);
}

API(cuMemcpy2D_v2, const CUDA_MEMCPY2D *description)
{
	return copy_2d(__func__, description, NULL, CALL_SYNC);
}
API_PER_THREAD(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2,
	(const CUDA_MEMCPY2D *description), (description));
API_ALIAS(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2);
API_PER_THREAD(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2D_v2,
	(const CUDA_MEMCPY2D *description), (description));

API(cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D *description, CUstream stream)
{
	return copy_2d(__func__, description, stream, CALL_ASYNC);
}
API_PER_THREAD(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2,
	(const CUDA_MEMCPY2D *description, CUstream stream), (description, stream));

API(cuMemcpy3D_v2, const CUDA_MEMCPY3D *description)
{
	return copy_described(__func__, description, NULL, CALL_SYNC, work_check_own_box);
}
API_PER_THREAD(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2,
	(const CUDA_MEMCPY3D *description), (description));

API(cuMemcpy3DAsync_v2, const CUDA_MEMCPY3D *description, CUstream stream)
{
	return copy_described(__func__, description, stream, CALL_ASYNC, work_check_own_box);
}
API_PER_THREAD(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2,
	(const CUDA_MEMCPY3D *description, CUstream stream), (description, stream));

/* --- Between contexts --- */

static CUresult copy_check_contexts(const char *call, CUcontext to, CUcontext from)
{
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	return handle_get(to, API_CONTEXT) && handle_get(from, API_CONTEXT) ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: not the handle of a live context",
			call);
}

static CUresult copy_linear_peer(const char *call, CUdeviceptr to, CUdeviceptr from, size_t size,
	CUstream stream, enum call_kind kind)
{
	const struct box box = {.to = copy_device(to), .from = copy_device(from), .width = size,
		.height = 1, .depth = 1};
	struct context *context;
	CUresult result = api_enter(call, &context);
	return result != CUDA_SUCCESS ? result
		: copy_run(call, context, &box, stream, kind, work_check_box);
}

API(cuMemcpyPeerAsync, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
	CUcontext from_context, size_t size, CUstream stream)
{
	CUresult result = copy_check_contexts(__func__, to_context, from_context);
	return result != CUDA_SUCCESS ? result
		: copy_linear_peer(__func__, to, from, size, stream, CALL_ASYNC);
}
API_PER_THREAD(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync,
	(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
	size_t size, CUstream stream),
	(to, to_context, from, from_context, size, stream));

API(cuMemcpyPeer, CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
	size_t size)
{
	CUresult result = copy_check_contexts(__func__, to_context, from_context);
	return result != CUDA_SUCCESS ? result
		: copy_linear_peer(__func__, to, from, size, NULL, CALL_SYNC);
}
API_PER_THREAD(cuMemcpyPeer_ptds, cuMemcpyPeer,
	(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
	size_t size),
	(to, to_context, from, from_context, size));

static CUresult copy_check_peers(const char *call, const CUDA_MEMCPY3D_PEER *c)
{
	CUresult result = api_ready(call);
	if (result == CUDA_SUCCESS && !c) {
		return api_null(call, "the description");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	bool has_source = c->srcMemoryType == CU_MEMORYTYPE_ARRAY
		|| handle_get(c->srcContext, API_CONTEXT);
	bool has_target = c->dstMemoryType == CU_MEMORYTYPE_ARRAY
		|| handle_get(c->dstContext, API_CONTEXT);
	return has_source && has_target ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_CONTEXT,
		"%s: not the handle of a live context", call);
}

static CUDA_MEMCPY3D copy_without_contexts(const CUDA_MEMCPY3D_PEER *c)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcZ = c->srcZ,
		.srcLOD = c->srcLOD, .srcMemoryType = c->srcMemoryType, .srcHost = c->srcHost,
		.srcDevice = c->srcDevice, .srcArray = c->srcArray, .srcPitch = c->srcPitch,
		.srcHeight = c->srcHeight, .dstXInBytes = c->dstXInBytes, .dstY = c->dstY,
		.dstZ = c->dstZ, .dstLOD = c->dstLOD, .dstMemoryType = c->dstMemoryType,
		.dstHost = c->dstHost, .dstDevice = c->dstDevice, .dstArray = c->dstArray,
		.dstPitch = c->dstPitch, .dstHeight = c->dstHeight,
		.WidthInBytes = c->WidthInBytes, .Height = c->Height, .Depth = c->Depth
	};
}

API(cuMemcpy3DPeer, const CUDA_MEMCPY3D_PEER *description)
{
	CUresult result = copy_check_peers(__func__, description);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const CUDA_MEMCPY3D copy = copy_without_contexts(description);
	return copy_described(__func__, &copy, NULL, CALL_SYNC, work_check_box);
}
API_PER_THREAD(cuMemcpy3DPeer_ptds, cuMemcpy3DPeer,
	(const CUDA_MEMCPY3D_PEER *description), (description));

API(cuMemcpy3DPeerAsync, const CUDA_MEMCPY3D_PEER *description, CUstream stream)
{
	CUresult result = copy_check_peers(__func__, description);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	const CUDA_MEMCPY3D copy = copy_without_contexts(description);
	return copy_described(__func__, &copy, stream, CALL_ASYNC, work_check_box);
}
API_PER_THREAD(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DPeerAsync,
	(const CUDA_MEMCPY3D_PEER *description, CUstream stream), (description, stream));

/* A fill returns before it is done unless the host can see the memory. */
static enum enqueue copy_fill_how(struct context *context, CUdeviceptr to, enum call_kind kind)
{
	struct memory_range range;
	return kind == CALL_SYNC && memory_find(context->device->memory, to, &range)
		&& (range.kind == MEMORY_HOST || range.kind == MEMORY_MANAGED) ? ENQUEUE_SYNC
		: ENQUEUE_ASYNC;
}

static CUresult api_fill_run(const char *call, const struct fill *fill, CUstream stream,
	enum call_kind kind)
{
	struct context *context;
	struct work work = {.kind = WORK_EMPTY};
	enum enqueue how = ENQUEUE_ASYNC;
	CUresult result = api_enter(call, &context);
	if (result == CUDA_SUCCESS && fill->width > 0 && fill->height > 0) {
		work.kind = WORK_FILL;
		work.fill = *fill;
		how = copy_fill_how(context, fill->to, kind);
		result = work_check_own_fill(call, context, fill);
	}
	return result == CUDA_SUCCESS ? stream_enqueue(call, context, stream, &work, how, false)
		: result;
}

/* The four functions of each element size; the little endian value serves all. */
#define FILLS(bits, type) \
	API(cuMemsetD##bits##_v2, CUdeviceptr to, type value, size_t count) \
	{ \
		const struct fill fill = {to, 0, value, bits / 8, count, 1}; \
		return api_fill_run(__func__, &fill, NULL, CALL_SYNC); \
	} \
	API_PER_THREAD(cuMemsetD##bits##_v2_ptds, cuMemsetD##bits##_v2, \
		(CUdeviceptr to, type value, size_t count), \
		(to, value, count)); \
	API(cuMemsetD##bits##Async, CUdeviceptr to, type value, size_t count, CUstream stream) \
	{ \
		const struct fill fill = {to, 0, value, bits / 8, count, 1}; \
		return api_fill_run(__func__, &fill, stream, CALL_ASYNC); \
	} \
	API_PER_THREAD(cuMemsetD##bits##Async_ptsz, cuMemsetD##bits##Async, \
		(CUdeviceptr to, type value, size_t count, CUstream stream), \
		(to, value, count, stream)); \
	API(cuMemsetD2D##bits##_v2, CUdeviceptr to, size_t pitch, type value, size_t width, \
		size_t height) \
	{ \
		const struct fill fill = {to, pitch, value, bits / 8, width, height}; \
		return api_fill_run(__func__, &fill, NULL, CALL_SYNC); \
	} \
	API_PER_THREAD(cuMemsetD2D##bits##_v2_ptds, cuMemsetD2D##bits##_v2, \
		(CUdeviceptr to, size_t pitch, type value, size_t width, \
			size_t height), \
		(to, pitch, value, width, height)); \
	API(cuMemsetD2D##bits##Async, CUdeviceptr to, size_t pitch, type value, size_t width, \
		size_t height, CUstream stream) \
	{ \
		const struct fill fill = {to, pitch, value, bits / 8, width, height}; \
		return api_fill_run(__func__, &fill, stream, CALL_ASYNC); \
	} \
	API_PER_THREAD(cuMemsetD2D##bits##Async_ptsz, cuMemsetD2D##bits##Async, \
		(CUdeviceptr to, size_t pitch, type value, size_t width, \
			size_t height, CUstream stream), \
		(to, pitch, value, width, height, stream))

FILLS(8, unsigned char);
FILLS(16, unsigned short);
FILLS(32, unsigned int);

/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills of two and three dimensions, between pointers and arrays.  Each becomes one of
 * the driver's copies of three dimensions.  The driver finds out by an address which memory it
 * points into, so the kind that a program gives is only checked.
 *
 * In the runtime an offset into an array counts elements where there are three dimensions, and
 * bytes where there are two; in the driver all counts are bytes.
 */
#include "base/common.h"

#include "cudart/copy.h"

#include <string.h>

/* How a copy is made: in a stream, or synchronously in the legacy stream or the thread's. */
struct copy_order {
	bool is_async;
	bool is_per_thread;
	cudaStream_t stream;
};

/* The exported functions of one copy.  `call` uses `order`. */
#define COPY_AS(name, parameters, how, call)                                                       \
	__attribute__((visibility("default"))) cudaError_t name parameters;                        \
	cudaError_t name parameters                                                                \
	{                                                                                          \
		const struct copy_order order = how;                                               \
		return call;                                                                       \
	}
#define COPY_NOW(name, parameters, call)                                                           \
	COPY_AS(name, parameters, {0}, call)                                                       \
	COPY_AS(name##_ptds, parameters, {.is_per_thread = true}, call)
#define IN_STREAM(stream) {true, false, stream}
#define COPY_IN_STREAM(name, parameters, call)                                                     \
	COPY_AS(name, parameters, IN_STREAM(stream), call)                                         \
	COPY_AS(name##_ptsz, parameters, IN_STREAM(state_per_thread(stream)), call)

/* --- Three dimensions --- */

static cudaError_t copy_check_kind(int kind)
{
	return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault ? cudaSuccess
		: cudaErrorInvalidMemcpyDirection;
}

/* One side of a copy: either an array or memory.  unit: the bytes of what `x` counts. */
struct copy_side {
	cudaArray_t array;
	struct cudaPitchedPtr memory;
	struct cudaPos at;
	size_t unit;
};

static void copy_set_sides(CUDA_MEMCPY3D *out, const struct copy_side *from,
	const struct copy_side *to)
{
	memset(out, 0, sizeof(*out));
	out->srcXInBytes = from->at.x * from->unit;
	out->srcY = from->at.y;
	out->srcZ = from->at.z;
	out->srcMemoryType = from->array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
	out->srcArray = from->array;
	out->srcDevice = (CUdeviceptr)(uintptr_t)from->memory.ptr;
	out->srcPitch = from->memory.pitch;
	out->srcHeight = from->memory.ysize;
	out->dstXInBytes = to->at.x * to->unit;
	out->dstY = to->at.y;
	out->dstZ = to->at.z;
	out->dstMemoryType = to->array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
	out->dstArray = to->array;
	out->dstDevice = (CUdeviceptr)(uintptr_t)to->memory.ptr;
	out->dstPitch = to->memory.pitch;
	out->dstHeight = to->memory.ysize;
}

cudaError_t copy_describe(CUDA_MEMCPY3D *out, const struct cudaMemcpy3DParms *p)
{
	struct copy_side from = {p->srcArray, p->srcPtr, p->srcPos, 1};
	struct copy_side to = {p->dstArray, p->dstPtr, p->dstPos, 1};
	if (!p->srcArray == !p->srcPtr.ptr || !p->dstArray == !p->dstPtr.ptr) {
		return cudaErrorInvalidValue;
	}
	cudaError_t code = copy_check_kind(p->kind);
	if (!code && p->srcArray) {
		code = array_element_size(&from.unit, p->srcArray);
	}
	if (!code && p->dstArray) {
		code = array_element_size(&to.unit, p->dstArray);
	}
	if (!code && p->srcArray && p->dstArray && from.unit != to.unit) {
		code = cudaErrorInvalidValue;
	}
	if (!code) {
		copy_set_sides(out, &from, &to);
		out->WidthInBytes = p->extent.width * (p->srcArray ? from.unit : to.unit);
		out->Height = p->extent.height;
		out->Depth = p->extent.depth;
	}
	return code;
}

cudaError_t copy_give(struct cudaMemcpy3DParms *out, const CUDA_MEMCPY3D *copy)
{
	size_t from = 1, to = 1;
	cudaError_t code = copy->srcArray ? array_element_size(&from, copy->srcArray) : cudaSuccess;
	if (!code && copy->dstArray) {
		code = array_element_size(&to, copy->dstArray);
	}
	if (code) {
		return code;
	}
	*out = (struct cudaMemcpy3DParms){
		.srcArray = copy->srcArray,
		.srcPos = {copy->srcXInBytes / from, copy->srcY, copy->srcZ},
		.dstArray = copy->dstArray,
		.dstPos = {copy->dstXInBytes / to, copy->dstY, copy->dstZ},
		.extent = {copy->WidthInBytes / (copy->srcArray ? from : to), copy->Height,
			copy->Depth},
		.kind = cudaMemcpyDefault,
	};
	if (!copy->srcArray) {
		out->srcPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)copy->srcDevice,
			copy->srcPitch, copy->WidthInBytes, copy->srcHeight};
	}
	if (!copy->dstArray) {
		out->dstPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)copy->dstDevice,
			copy->dstPitch, copy->WidthInBytes, copy->dstHeight};
	}
	if (copy->srcMemoryType == CU_MEMORYTYPE_HOST) {
		out->srcPtr.ptr = (void *)(uintptr_t)copy->srcHost;
	}
	if (copy->dstMemoryType == CU_MEMORYTYPE_HOST) {
		out->dstPtr.ptr = copy->dstHost;
	}
	return cudaSuccess;
}

static cudaError_t copy_carry_out(const struct copy_order *order, const CUDA_MEMCPY3D *copy)
{
	if (copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0) {
		return cudaSuccess;
	}
	return driver_error(order->is_async ? driver.cuMemcpy3DAsync_v2(copy, order->stream)
		: order->is_per_thread ? driver.cuMemcpy3D_v2_ptds(copy)
		: driver.cuMemcpy3D_v2(copy));
}

static cudaError_t copy_3d(const struct copy_order *order, const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D copy;
	cudaError_t code = !p ? cudaErrorInvalidValue : state_enter();
	code = code ? code : copy_describe(&copy, p);
	return state_leave(code ? code : copy_carry_out(order, &copy));
}

COPY_NOW(cudaMemcpy3D, (const struct cudaMemcpy3DParms *p), copy_3d(&order, p))
COPY_IN_STREAM(cudaMemcpy3DAsync, (const struct cudaMemcpy3DParms *p, cudaStream_t stream),
	copy_3d(&order, p))

/* --- Two dimensions --- */

/* Memory whose rows are `pitch` bytes apart. */
static struct copy_side copy_memory(const void *memory, size_t pitch, size_t height)
{
	return (struct copy_side){.memory = {(void *)(uintptr_t)memory, pitch, pitch, height},
		.unit = 1};
}

static struct copy_side copy_array(cudaArray_t array, size_t x, size_t y)
{
	return (struct copy_side){.array = array, .at = {x, y, 0}, .unit = 1};
}

static cudaError_t copy_rows(const struct copy_order *order, const struct copy_side *to,
	const struct copy_side *from, size_t width, size_t height)
{
	CUDA_MEMCPY3D copy;
	if ((!from->array && width > from->memory.pitch)
	    || (!to->array && width > to->memory.pitch)) {
		return cudaErrorInvalidPitchValue;
	}
	copy_set_sides(&copy, from, to);
	copy.WidthInBytes = width;
	copy.Height = height;
	copy.Depth = 1;
	return copy_carry_out(order, &copy);
}

static cudaError_t copy_flat(const struct copy_order *order, struct copy_side to,
	struct copy_side from, size_t width, size_t height, int kind)
{
	cudaError_t code = copy_check_kind(kind);
	code = code ? code : state_enter();
	return state_leave(code ? code : copy_rows(order, &to, &from, width, height));
}

COPY_NOW(cudaMemcpy2D, (void *to, size_t to_pitch, const void *from, size_t from_pitch,
	size_t width, size_t height, int kind),
	copy_flat(&order, copy_memory(to, to_pitch, height), copy_memory(from, from_pitch, height),
		width, height, kind))
COPY_IN_STREAM(cudaMemcpy2DAsync, (void *to, size_t to_pitch, const void *from, size_t from_pitch,
	size_t width, size_t height, int kind, cudaStream_t stream),
	copy_flat(&order, copy_memory(to, to_pitch, height), copy_memory(from, from_pitch, height),
		width, height, kind))
COPY_NOW(cudaMemcpy2DToArray, (cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
	size_t width, size_t height, int kind),
	copy_flat(&order, copy_array(to, x, y), copy_memory(from, pitch, height), width, height,
		kind))
COPY_IN_STREAM(cudaMemcpy2DToArrayAsync, (cudaArray_t to, size_t x, size_t y, const void *from,
	size_t pitch, size_t width, size_t height, int kind, cudaStream_t stream),
	copy_flat(&order, copy_array(to, x, y), copy_memory(from, pitch, height), width, height,
		kind))
COPY_NOW(cudaMemcpy2DFromArray, (void *to, size_t pitch, cudaArray_t from, size_t x, size_t y,
	size_t width, size_t height, int kind),
	copy_flat(&order, copy_memory(to, pitch, height), copy_array(from, x, y), width, height,
		kind))
COPY_IN_STREAM(cudaMemcpy2DFromArrayAsync, (void *to, size_t pitch, cudaArray_t from, size_t x,
	size_t y, size_t width, size_t height, int kind, cudaStream_t stream),
	copy_flat(&order, copy_memory(to, pitch, height), copy_array(from, x, y), width, height,
		kind))
COPY_NOW(cudaMemcpy2DArrayToArray, (cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from,
	size_t from_x, size_t from_y, size_t width, size_t height, int kind),
	copy_flat(&order, copy_array(to, to_x, to_y), copy_array(from, from_x, from_y), width,
		height, kind))

/* --- A number of bytes, in rows of an array --- */

static size_t copy_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many of the bytes that are left are in one piece: in an array, up to the end of the row. */
static cudaError_t copy_row_rest(size_t *rest, const struct copy_side *side, size_t left)
{
	CUDA_ARRAY3D_DESCRIPTOR is;
	size_t unit;
	*rest = left;
	if (!side->array) {
		return cudaSuccess;
	}
	cudaError_t code = array_element_size(&unit, side->array);
	code = code ? code : driver_error(driver.cuArray3DGetDescriptor_v2(&is, side->array));
	if (!code && side->at.x >= is.Width * unit) {
		code = cudaErrorInvalidValue;
	}
	if (!code) {
		*rest = copy_least(left, is.Width * unit - side->at.x);
	}
	return code;
}

/* Move past `size` bytes of a row that has `rest` bytes left. */
static void copy_advance(struct copy_side *side, size_t size, size_t rest)
{
	if (!side->array) {
		side->memory.ptr = (char *)side->memory.ptr + size;
	} else if (size < rest) {
		side->at.x += size;
	} else {
		side->at.x = 0;
		side->at.y++;
	}
}

static cudaError_t copy_bytes(const struct copy_order *order, struct copy_side to,
	struct copy_side from, size_t size, int kind)
{
	cudaError_t code = copy_check_kind(kind);
	code = code ? code : state_enter();
	while (!code && size > 0) {
		size_t to_rest, from_rest;
		code = copy_row_rest(&to_rest, &to, size);
		code = code ? code : copy_row_rest(&from_rest, &from, size);
		if (!code) {
			const size_t now = copy_least(to_rest, from_rest);
			to.memory.pitch = from.memory.pitch = now;
			code = copy_rows(order, &to, &from, now, 1);
			copy_advance(&to, now, to_rest);
			copy_advance(&from, now, from_rest);
			size -= now;
		}
	}
	return state_leave(code);
}

COPY_NOW(cudaMemcpyToArray, (cudaArray_t to, size_t x, size_t y, const void *from, size_t size,
	int kind),
	copy_bytes(&order, copy_array(to, x, y), copy_memory(from, 0, 1), size, kind))
COPY_IN_STREAM(cudaMemcpyToArrayAsync, (cudaArray_t to, size_t x, size_t y, const void *from,
	size_t size, int kind, cudaStream_t stream),
	copy_bytes(&order, copy_array(to, x, y), copy_memory(from, 0, 1), size, kind))
COPY_NOW(cudaMemcpyFromArray, (void *to, cudaArray_t from, size_t x, size_t y, size_t size,
	int kind),
	copy_bytes(&order, copy_memory(to, 0, 1), copy_array(from, x, y), size, kind))
COPY_IN_STREAM(cudaMemcpyFromArrayAsync, (void *to, cudaArray_t from, size_t x, size_t y,
	size_t size, int kind, cudaStream_t stream),
	copy_bytes(&order, copy_memory(to, 0, 1), copy_array(from, x, y), size, kind))
COPY_NOW(cudaMemcpyArrayToArray, (cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from,
	size_t from_x, size_t from_y, size_t size, int kind),
	copy_bytes(&order, copy_array(to, to_x, to_y), copy_array(from, from_x, from_y), size,
		kind))

/* --- Between devices --- */

static cudaError_t copy_check_device(int device)
{
	int count;
	const cudaError_t code = driver_error(driver.cuDeviceGetCount(&count));
	return !code && (device < 0 || device >= count) ? cudaErrorInvalidDevice : code;
}

/* An address or an array says on which device it is, so the devices are only checked. */
static cudaError_t copy_peer(const struct copy_order *order, const struct cudaMemcpy3DPeerParms *p)
{
	CUDA_MEMCPY3D copy;
	cudaError_t code = !p ? cudaErrorInvalidValue : state_enter();
	code = code ? code : copy_check_device(p->srcDevice);
	code = code ? code : copy_check_device(p->dstDevice);
	if (!code) {
		const struct cudaMemcpy3DParms same = {p->srcArray, p->srcPos, p->srcPtr,
			p->dstArray, p->dstPos, p->dstPtr, p->extent, cudaMemcpyDefault};
		code = copy_describe(&copy, &same);
	}
	return state_leave(code ? code : copy_carry_out(order, &copy));
}

COPY_NOW(cudaMemcpy3DPeer, (const struct cudaMemcpy3DPeerParms *p), copy_peer(&order, p))
COPY_IN_STREAM(cudaMemcpy3DPeerAsync, (const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream),
	copy_peer(&order, p))

static cudaError_t copy_peer_bytes(void *to, int to_device, const void *from, int from_device,
	size_t size, cudaStream_t stream)
{
	cudaError_t code = state_enter();
	code = code ? code : copy_check_device(from_device);
	code = code ? code : copy_check_device(to_device);
	if (!code && size > 0) {
		code = driver_error(driver.cuMemcpyAsync((CUdeviceptr)(uintptr_t)to,
			(CUdeviceptr)(uintptr_t)from, size, stream));
	}
	return state_leave(code);
}

API(cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device, size_t size)
{
	return copy_peer_bytes(to, to_device, from, from_device, size, NULL);
}

API(cudaMemcpyPeerAsync, void *to, int to_device, const void *from, int from_device, size_t size,
	cudaStream_t stream)
{
	return copy_peer_bytes(to, to_device, from, from_device, size, stream);
}

/* Call the driver with the primary context of another device. */
static cudaError_t copy_with_peer(int peer, cudaError_t (*use)(CUcontext, unsigned), unsigned flags)
{
	CUcontext context;
	cudaError_t code = state_enter();
	code = code ? code : state_prepare(peer);
	code = code ? code : driver_error(driver.cuDevicePrimaryCtxRetain(&context, peer));
	if (!code) {
		code = use(context, flags);
		driver.cuDevicePrimaryCtxRelease_v2(peer);
	}
	return state_leave(code);
}

static cudaError_t copy_enable_peer(CUcontext context, unsigned flags)
{
	return driver_error(driver.cuCtxEnablePeerAccess(context, flags));
}

static cudaError_t copy_disable_peer(CUcontext context, unsigned flags)
{
	(void)flags;
	return driver_error(driver.cuCtxDisablePeerAccess(context));
}

API(cudaDeviceEnablePeerAccess, int peer, unsigned int flags)
{
	return copy_with_peer(peer, copy_enable_peer, flags);
}

API(cudaDeviceDisablePeerAccess, int peer)
{
	return copy_with_peer(peer, copy_disable_peer, 0);
}

/* --- Fills --- */

static cudaError_t copy_fill_2d(const struct copy_order *order, void *memory, size_t pitch,
	int value, struct cudaExtent extent)
{
	const CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory;
	const unsigned char byte = (unsigned char)value;
	if (extent.width == 0 || extent.height == 0) {
		return cudaSuccess;
	}
	if (extent.width > pitch) {
		return cudaErrorInvalidPitchValue;
	}
	return driver_error(order->is_async
		? driver.cuMemsetD2D8Async(at, pitch, byte, extent.width, extent.height,
			order->stream)
		: order->is_per_thread
		? driver.cuMemsetD2D8_v2_ptds(at, pitch, byte, extent.width, extent.height)
		: driver.cuMemsetD2D8_v2(at, pitch, byte, extent.width, extent.height));
}

static cudaError_t copy_fill(const struct copy_order *order, struct cudaPitchedPtr memory,
	int value, struct cudaExtent extent)
{
	cudaError_t code = state_enter();
	if (!code && extent.height > memory.ysize && extent.depth > 1) {
		code = cudaErrorInvalidValue;
	}
	for (size_t i = 0; !code && i < extent.depth; i++) {
		code = copy_fill_2d(order, (char *)memory.ptr + i * memory.pitch * memory.ysize,
			memory.pitch, value, extent);
	}
	return state_leave(code);
}

COPY_NOW(cudaMemset3D, (struct cudaPitchedPtr memory, int value, struct cudaExtent extent),
	copy_fill(&order, memory, value, extent))
COPY_IN_STREAM(cudaMemset3DAsync, (struct cudaPitchedPtr memory, int value,
	struct cudaExtent extent, cudaStream_t stream),
	copy_fill(&order, memory, value, extent))
COPY_NOW(cudaMemset2D, (void *memory, size_t pitch, int value, size_t width, size_t height),
	copy_fill(&order, (struct cudaPitchedPtr){memory, pitch, width, height}, value,
		(struct cudaExtent){width, height, 1}))
COPY_IN_STREAM(cudaMemset2DAsync, (void *memory, size_t pitch, int value, size_t width,
	size_t height, cudaStream_t stream),
	copy_fill(&order, (struct cudaPitchedPtr){memory, pitch, width, height}, value,
		(struct cudaExtent){width, height, 1}))

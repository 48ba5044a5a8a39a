/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills.  Every address is a host address, so all copies are one copy of a box: depth
 * times height rows of width bytes, with a pitch and a slice size on each side.  What differs is
 * what the ends may be: an address in the device's range must lie in one live allocation with all
 * that is copied, a host address must not be NULL.
 */
#include "../base/common.h"

#include "api.h"

#include <string.h>

enum side { SIDE_DEVICE, SIDE_HOST, SIDE_ANY };

struct end {
	enum side side;
	uint64_t address;
	size_t pitch;      /* from row to row */
	size_t slice;      /* from slice to slice */
};

struct box {
	struct end to;
	struct end from;
	size_t width;
	size_t height;
	size_t depth;
};

/* Whether [address, address + size) may be touched. */
static CUresult check_range(const char *call, struct context *context, enum side side,
	uint64_t address, size_t size)
{
	struct memory *memory = context->device->memory;
	struct memory_range range;
	char where[128];
	if (side != SIDE_DEVICE && !memory_covers(memory, address)) {
		return address != 0 ? CUDA_SUCCESS : api_null(call, "a host address");
	}
	uint64_t bad = address;
	if (memory_find(memory, address, &range)) {
		if (size <= range.size - (address - range.address)) {
			return CUDA_SUCCESS;
		}
		bad = address + size - 1;
	}
	memory_describe(memory, bad, where, sizeof(where));
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at 0x%llx, %s %s", call, size,
		(unsigned long long)address, bad != address ? "whose last is" : "which is", where);
}

/* Bytes from the first to behind the last that a box touches at one end; false on overflow. */
static bool box_span(const struct box *box, const struct end *end, size_t *out)
{
	size_t rows;
	size_t slices;
	return size_mul(&rows, end->pitch, box->height - 1)
		&& size_mul(&slices, end->slice, box->depth - 1)
		&& size_add(out, rows, slices) && size_add(out, *out, box->width);
}

static CUresult check_box(const char *call, struct context *context, const struct box *box)
{
	const struct end *ends[] = {&box->from, &box->to};
	for (size_t i = 0; i < countof(ends); i++) {
		size_t span;
		if (!box_span(box, ends[i], &span)) {
			return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the size overflows", call);
		}
		CUresult result = check_range(call, context, ends[i]->side, ends[i]->address, span);
		if (result != CUDA_SUCCESS) {
			return result;
		}
	}
	return CUDA_SUCCESS;
}

static void copy_box(const struct box *box)
{
	for (size_t z = 0; z < box->depth; z++) {
		uint8_t *to = (uint8_t *)(uintptr_t)box->to.address + z * box->to.slice;
		const uint8_t *from = (const uint8_t *)(uintptr_t)box->from.address
			+ z * box->from.slice;
		for (size_t y = 0; y < box->height; y++) {
			/* Both ends were checked.  NOLINTNEXTLINE(clang-analyzer-core.*) */
			memmove(to + y * box->to.pitch, from + y * box->from.pitch, box->width);
		}
	}
}

static CUresult run_copy(const char *call, struct context *context, const struct box *box,
	CUstream stream)
{
	struct turn turn;
	CUresult result = turn_begin(&turn, call, context, stream);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (box->width > 0 && box->height > 0 && box->depth > 0) {
		result = check_box(call, context, box);
		if (result == CUDA_SUCCESS) {
			copy_box(box);
		}
	}
	turn_end(&turn);
	return result;
}

static CUresult copy(const char *call, enum side to_side, uint64_t to, enum side from_side,
	uint64_t from, size_t size, CUstream stream)
{
	const struct box box = {
		.to = {.side = to_side, .address = to}, .from = {.side = from_side, .address = from},
		.width = size, .height = 1, .depth = 1
	};
	struct context *context;
	CUresult result = api_enter(call, &context);
	return result != CUDA_SUCCESS ? result : run_copy(call, context, &box, stream);
}

API(cuMemcpy, CUdeviceptr to, CUdeviceptr from, size_t size)
{
	return copy(__func__, SIDE_ANY, to, SIDE_ANY, from, size, NULL);
}
API_ALIAS(cuMemcpy_ptds, cuMemcpy);

API(cuMemcpyAsync, CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy(__func__, SIDE_ANY, to, SIDE_ANY, from, size, stream);
}
API_ALIAS(cuMemcpyAsync_ptsz, cuMemcpyAsync);

API(cuMemcpyHtoD_v2, CUdeviceptr to, const void *from, size_t size)
{
	return copy(__func__, SIDE_DEVICE, to, SIDE_HOST, (uintptr_t)from, size, NULL);
}
API_ALIAS(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);

API(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
	return copy(__func__, SIDE_DEVICE, to, SIDE_HOST, (uintptr_t)from, size, stream);
}
API_ALIAS(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2);

API(cuMemcpyDtoH_v2, void *to, CUdeviceptr from, size_t size)
{
	return copy(__func__, SIDE_HOST, (uintptr_t)to, SIDE_DEVICE, from, size, NULL);
}
API_ALIAS(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);

API(cuMemcpyDtoHAsync_v2, void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy(__func__, SIDE_HOST, (uintptr_t)to, SIDE_DEVICE, from, size, stream);
}
API_ALIAS(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2);

API(cuMemcpyDtoD_v2, CUdeviceptr to, CUdeviceptr from, size_t size)
{
	return copy(__func__, SIDE_DEVICE, to, SIDE_DEVICE, from, size, NULL);
}
API_ALIAS(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);

API(cuMemcpyDtoDAsync_v2, CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy(__func__, SIDE_DEVICE, to, SIDE_DEVICE, from, size, stream);
}
API_ALIAS(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2);

API(cuMemcpyPeerAsync, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
	CUcontext from_context, size_t size, CUstream stream)
{
	if (handle_get(to_context, API_CONTEXT) == NULL
	    || handle_get(from_context, API_CONTEXT) == NULL) {
		return api_fail(CUDA_ERROR_INVALID_CONTEXT, "%s: not the handle of a live context",
			__func__);
	}
	return copy(__func__, SIDE_DEVICE, to, SIDE_DEVICE, from, size, stream);
}
API_ALIAS(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync);

API(cuMemcpyPeer, CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
	size_t size)
{
	return cuMemcpyPeerAsync(to, to_context, from, from_context, size, NULL);
}
API_ALIAS(cuMemcpyPeer_ptds, cuMemcpyPeer);

/* One end of a 2-D or 3-D copy, as the structures describe both. */
struct described_end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x, y, z;
	size_t pitch;
	size_t height;
};

static CUresult plan_end(const char *call, const struct box *box, const struct described_end *in,
	struct end *out)
{
	size_t offset;
	size_t rows;
	size_t row_end = SIZE_MAX;
	bool is_host = in->type == CU_MEMORYTYPE_HOST;
	if (in->type == CU_MEMORYTYPE_ARRAY) {
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: the CPU device has no arrays", call);
	}
	if (!is_host && in->type != CU_MEMORYTYPE_DEVICE && in->type != CU_MEMORYTYPE_UNIFIED) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown memory type %d", call,
			(int)in->type);
	}
	if (!size_add(&row_end, in->x, box->width)
	    || ((box->height > 1 || box->depth > 1 || in->pitch != 0) && in->pitch < row_end)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: a pitch of %zu bytes for rows that end at %zu", call, in->pitch,
			row_end);
	}
	if (box->depth > 1 && in->height < box->height) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu rows of slices that have %zu",
			call, box->height, in->height);
	}
	out->side = is_host ? SIDE_HOST
		: in->type == CU_MEMORYTYPE_DEVICE ? SIDE_DEVICE : SIDE_ANY;
	out->address = is_host ? (uintptr_t)in->host : in->device;
	out->pitch = in->pitch;
	bool fits = size_mul(&out->slice, in->pitch, in->height)
		&& size_mul(&offset, out->slice, in->z) && size_mul(&rows, in->pitch, in->y)
		&& size_add(&offset, offset, rows) && size_add(&offset, offset, in->x);
	if (!fits) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the size overflows", call);
	}
	// NULL stays NULL, so that it is found out.
	out->address += out->address != 0 ? offset : 0;
	return CUDA_SUCCESS;
}

static CUresult copy_described(const char *call, const CUDA_MEMCPY3D *c, CUstream stream)
{
	struct context *context;
	CUresult result = api_enter(call, &context);
	if (result == CUDA_SUCCESS && c == NULL) {
		return api_null(call, "the description");
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct box box = {.width = c->WidthInBytes, .height = c->Height, .depth = c->Depth};
	const struct described_end from = {
		c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, c->srcZ,
		c->srcPitch, c->srcHeight
	};
	const struct described_end to = {
		c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, c->dstZ,
		c->dstPitch, c->dstHeight
	};
	if (c->srcLOD != 0 || c->dstLOD != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a level of detail is not 0", call);
	}
	result = plan_end(call, &box, &from, &box.from);
	if (result == CUDA_SUCCESS) {
		result = plan_end(call, &box, &to, &box.to);
	}
	return result != CUDA_SUCCESS ? result : run_copy(call, context, &box, stream);
}

static CUresult copy_2d(const char *call, const CUDA_MEMCPY2D *c, CUstream stream)
{
	if (c == NULL) {
		return copy_described(call, NULL, stream);
	}
	const CUDA_MEMCPY3D copy_3d = {
		.srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcMemoryType = c->srcMemoryType,
		.srcHost = c->srcHost, .srcDevice = c->srcDevice, .srcPitch = c->srcPitch,
		.dstXInBytes = c->dstXInBytes, .dstY = c->dstY, .dstMemoryType = c->dstMemoryType,
		.dstHost = c->dstHost, .dstDevice = c->dstDevice, .dstPitch = c->dstPitch,
		.WidthInBytes = c->WidthInBytes, .Height = c->Height, .Depth = 1
	};
	return copy_described(call, &copy_3d, stream);
}

API(cuMemcpy2D_v2, const CUDA_MEMCPY2D *description)
{
	return copy_2d(__func__, description, NULL);
}
API_ALIAS(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2);
API_ALIAS(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2);
API_ALIAS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2D_v2);

API(cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D *description, CUstream stream)
{
	return copy_2d(__func__, description, stream);
}
API_ALIAS(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2);

API(cuMemcpy3D_v2, const CUDA_MEMCPY3D *description)
{
	return copy_described(__func__, description, NULL);
}
API_ALIAS(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2);

API(cuMemcpy3DAsync_v2, const CUDA_MEMCPY3D *description, CUstream stream)
{
	return copy_described(__func__, description, stream);
}
API_ALIAS(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);

/* A fill: `height` rows of `width` elements of `size` bytes each. */
struct fill {
	CUdeviceptr to;
	size_t pitch;
	uint32_t value;
	size_t size;
	size_t width;
	size_t height;
};

static void fill_rows(const struct fill *fill)
{
	for (size_t y = 0; y < fill->height; y++) {
		uint8_t *row = (uint8_t *)(uintptr_t)fill->to + y * fill->pitch;
		if (fill->size == 1) {
			memset(row, (int)fill->value, fill->width);
			continue;
		}
		for (size_t x = 0; x < fill->width; x++) {
			memcpy(row + x * fill->size, &fill->value, fill->size);
		}
	}
}

static CUresult check_fill(const char *call, struct context *context, const struct fill *fill)
{
	const struct end end = {.side = SIDE_DEVICE, .address = fill->to, .pitch = fill->pitch};
	struct box box = {.height = fill->height, .depth = 1};
	size_t span;
	if (fill->to % fill->size != 0 || fill->pitch % fill->size != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: an address or a pitch is not a multiple of %zu", call, fill->size);
	}
	if (!size_mul(&box.width, fill->width, fill->size) || !box_span(&box, &end, &span)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the size overflows", call);
	}
	if (fill->height > 1 && fill->pitch < box.width) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: a pitch of %zu bytes for rows of %zu", call, fill->pitch, box.width);
	}
	return check_range(call, context, SIDE_DEVICE, fill->to, span);
}

static CUresult run_fill(const char *call, const struct fill *fill, CUstream stream)
{
	struct context *context;
	struct turn turn;
	CUresult result = api_enter(call, &context);
	if (result == CUDA_SUCCESS) {
		result = turn_begin(&turn, call, context, stream);
	}
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (fill->width > 0 && fill->height > 0) {
		result = check_fill(call, context, fill);
		if (result == CUDA_SUCCESS) {
			fill_rows(fill);
		}
	}
	turn_end(&turn);
	return result;
}

/* The four functions of each element size; the little endian value serves all. */
#define FILLS(bits, type) \
	API(cuMemsetD##bits##_v2, CUdeviceptr to, type value, size_t count) \
	{ \
		const struct fill fill = {to, 0, value, bits / 8, count, 1}; \
		return run_fill(__func__, &fill, NULL); \
	} \
	API_ALIAS(cuMemsetD##bits##_v2_ptds, cuMemsetD##bits##_v2); \
	API(cuMemsetD##bits##Async, CUdeviceptr to, type value, size_t count, CUstream stream) \
	{ \
		const struct fill fill = {to, 0, value, bits / 8, count, 1}; \
		return run_fill(__func__, &fill, stream); \
	} \
	API_ALIAS(cuMemsetD##bits##Async_ptsz, cuMemsetD##bits##Async); \
	API(cuMemsetD2D##bits##_v2, CUdeviceptr to, size_t pitch, type value, size_t width, \
		size_t height) \
	{ \
		const struct fill fill = {to, pitch, value, bits / 8, width, height}; \
		return run_fill(__func__, &fill, NULL); \
	} \
	API_ALIAS(cuMemsetD2D##bits##_v2_ptds, cuMemsetD2D##bits##_v2); \
	API(cuMemsetD2D##bits##Async, CUdeviceptr to, size_t pitch, type value, size_t width, \
		size_t height, CUstream stream) \
	{ \
		const struct fill fill = {to, pitch, value, bits / 8, width, height}; \
		return run_fill(__func__, &fill, stream); \
	} \
	API_ALIAS(cuMemsetD2D##bits##Async_ptsz, cuMemsetD2D##bits##Async)

FILLS(8, unsigned char);
FILLS(16, unsigned short);
FILLS(32, unsigned int);

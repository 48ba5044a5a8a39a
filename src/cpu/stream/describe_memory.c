/* SPDX-License-Identifier: MIT */
/*
 * From copies, fills and operations on values that a program asks for to a struct work.  Every
 * address is a host address, so all copies are one copy of a box: depth times height rows of width
 * bytes, with a pitch and a slice size on each side.  An address in the device's range must lie in
 * one live allocation with all that is touched; a host address must not be NULL.
 */
#include "base/common.h"

#include "cpu/stream/work_describe.h"

#include "cpu/object/cu_array.h"
#include "cpu/object/device_list.h"

/* --- Boxes and ends --- */

/* Whether [address, address + size) may be touched. */
static CUresult describe_check_range(const char *call, struct context *context, enum side side,
	uint64_t address, size_t size, bool for_writing)
{
	struct device_memory *memory = context->device->memory;
	struct memory_range range;
	char where[128];
	if (side != SIDE_DEVICE && !memory_covers(memory, address)) {
		return address != 0 ? CUDA_SUCCESS : api_null(call, "a host address");
	}
	uint64_t bad = address;
	if (memory_holds(memory, address, size, for_writing, NULL)) {
		return CUDA_SUCCESS;
	}
	if (memory_find(memory, address, &range) && range.kind != MEMORY_MAPPED) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at 0x%llx do not fit into"
			" the %zu-byte allocation at 0x%llx", call, size,
			(unsigned long long)address, range.size,
			(unsigned long long)range.address);
	}
	while (memory_holds(memory, bad, 1, for_writing, &range)
	       && range.kind == MEMORY_MAPPED) {
		bad = range.address + range.size;
	}
	memory_describe(memory, bad, where, sizeof(where));
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at 0x%llx, of which 0x%llx is %s",
		call, size, (unsigned long long)address, (unsigned long long)bad, where);
}

CUresult work_check_box(const char *call, struct context *context, const struct box *box)
{
	const struct end *ends[] = {&box->from, &box->to};
	for (size_t i = 0; i < countof(ends); i++) {
		size_t span;
		if (!work_span(box, ends[i], &span)) {
			return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the size overflows", call);
		}
		CUresult result = describe_check_range(call, context, ends[i]->side,
			ends[i]->address, span, ends[i] == &box->to);
		if (result != CUDA_SUCCESS) {
			return result;
		}
	}
	return CUDA_SUCCESS;
}

/* Memory of cuMemAlloc can be copied and filled by every device; and all memory by the host, by
 * which an address that a copy takes for the host's is read or written. */
static CUresult describe_check_access(const char *call, struct context *context,
	const struct box *box, const struct end *end)
{
	size_t span;
	if (device_count() == 1 || end->side == SIDE_HOST || (work_span(box, end, &span)
	    && memory_allows(context->device->memory, context->device->ordinal, UINT32_MAX,
			end->address, span, NULL))) {
		return CUDA_SUCCESS;
	}
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: device %u has no access to the memory at"
		" 0x%llx", call, context->device->ordinal, (unsigned long long)end->address);
}

CUresult work_check_own_box(const char *call, struct context *context, const struct box *box)
{
	CUresult result = work_check_box(call, context, box);
	if (result == CUDA_SUCCESS) {
		result = describe_check_access(call, context, box, &box->from);
	}
	return result != CUDA_SUCCESS ? result
		: describe_check_access(call, context, box, &box->to);
}

/* A box within an array: x and width in bytes. */
struct array_box {
	size_t x, y, z;
	size_t width, height, depth;
};

/* The address of a box, and the bytes between its rows and its slices. */
static CUresult describe_array_place(const char *call, CUarray handle, const struct array_box *box,
	uint64_t *address, size_t *pitch, size_t *slice)
{
	const struct array *array = handle_get(handle, API_ARRAY);
	if (!array) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not the handle of a live array",
			call);
	}
	const struct image *image = &array->image;
	size_t texel = texel_size(&array->format);
	size_t row = image->width * texel;
	if (box->x % texel != 0 || box->width % texel != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at %zu are not whole "
			"elements of %zu bytes", call, box->width, box->x, texel);
	}
	if (box->width > row || box->x > row - box->width || box->height > image->height
	    || box->y > image->height - box->height || box->depth > image->slices
	    || box->z > image->slices - box->depth) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes by %zu by %zu at (%zu, "
			"%zu, %zu) of an array that has %zu by %u by %u", call, box->width,
			box->height, box->depth, box->x, box->y, box->z, row, image->height,
			image->slices);
	}
	*pitch = image->pitch;
	*slice = image->slice_size;
	*address = (uintptr_t)image->data + box->z * *slice + box->y * *pitch + box->x;
	return CUDA_SUCCESS;
}

/* One end of a 2-D or 3-D copy, as the structures describe both. */
struct described_end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t x, y, z;
	size_t pitch;
	size_t height;
};

static CUresult describe_plan_end(const char *call, const struct box *box,
	const struct described_end *in, struct end *out)
{
	size_t offset;
	size_t rows;
	size_t row_end = SIZE_MAX;
	bool is_host = in->type == CU_MEMORYTYPE_HOST;
	if (in->type == CU_MEMORYTYPE_ARRAY) {
		const struct array_box in_array = {in->x, in->y, in->z, box->width, box->height,
			box->depth};
		out->side = SIDE_DEVICE;
		return describe_array_place(call, in->array, &in_array, &out->address, &out->pitch,
			&out->slice);
	}
	if (!is_host && in->type != CU_MEMORYTYPE_DEVICE && in->type != CU_MEMORYTYPE_UNIFIED) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown memory type %d", call,
			(int)in->type);
	}
	if (in->pitch > (size_t)device_attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a pitch of %zu bytes is more than"
			" CU_DEVICE_ATTRIBUTE_MAX_PITCH", call, in->pitch);
	}
	if (!size_add(&row_end, in->x, box->width)
	    || ((box->height > 1 || box->depth > 1 || in->pitch != 0) && in->pitch < row_end)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: a pitch of %zu bytes for rows that end at %zu", call, in->pitch,
			row_end);
	}
	if (box->depth > 1
	    && (in->height < box->height || in->y > in->height - box->height)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu rows from row %zu on, of slices"
			" that have %zu", call, box->height, in->y, in->height);
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

CUresult work_plan_box(const char *call, const CUDA_MEMCPY3D *c, struct box *box)
{
	*box = (struct box){.width = c->WidthInBytes, .height = c->Height, .depth = c->Depth};
	const struct described_end from = {
		c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY,
		c->srcZ,
		c->srcPitch, c->srcHeight
	};
	const struct described_end to = {
		c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY,
		c->dstZ,
		c->dstPitch, c->dstHeight
	};
	if (c->srcLOD != 0 || c->dstLOD != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a level of detail is not 0", call);
	}
	CUresult result = describe_plan_end(call, box, &from, &box->from);
	return result == CUDA_SUCCESS ? describe_plan_end(call, box, &to, &box->to) : result;
}

CUresult work_describe_copy(const char *call, struct context *context, const CUDA_MEMCPY3D *c,
	struct work *out)
{
	out->kind = WORK_COPY;
	CUresult result = work_plan_box(call, c, &out->copy);
	if (result == CUDA_SUCCESS && (c->WidthInBytes == 0 || c->Height == 0 || c->Depth == 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the box to copy is empty", call);
	}
	return result == CUDA_SUCCESS ? work_check_own_box(call, context, &out->copy) : result;
}

/* --- Fills --- */

CUresult work_check_fill(const char *call, struct context *context, const struct fill *fill)
{
	const struct end end = {.side = SIDE_DEVICE, .address = fill->to, .pitch = fill->pitch};
	struct box box = {.height = fill->height, .depth = 1};
	size_t span;
	if (fill->to % fill->size != 0 || fill->pitch % fill->size != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: an address or a pitch is not a multiple of %zu", call, fill->size);
	}
	if (!size_mul(&box.width, fill->width, fill->size) || !work_span(&box, &end, &span)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the size overflows", call);
	}
	if (fill->height > 1 && fill->pitch < box.width) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: a pitch of %zu bytes for rows of %zu", call, fill->pitch, box.width);
	}
	return describe_check_range(call, context, SIDE_DEVICE, fill->to, span, true);
}

CUresult work_check_own_fill(const char *call, struct context *context, const struct fill *fill)
{
	const struct end end = {.side = SIDE_DEVICE, .address = fill->to, .pitch = fill->pitch};
	const struct box box = {.width = fill->width * fill->size, .height = fill->height,
		.depth = 1};
	CUresult result = work_check_fill(call, context, fill);
	return result != CUDA_SUCCESS ? result : describe_check_access(call, context, &box, &end);
}

CUresult work_describe_fill(const char *call, struct context *context, const struct fill *fill,
	struct work *out)
{
	*out = (struct work){.kind = WORK_FILL, .fill = *fill};
	if (fill->size != 1 && fill->size != 2 && fill->size != 4) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: elements of %zu bytes", call,
			fill->size);
	}
	if (fill->width == 0 || fill->height == 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: the area to fill is empty", call);
	}
	return work_check_own_fill(call, context, &out->fill);
}

/* --- Values --- */

#define MAX_OPERATIONS 255

static CUresult describe_check_place(const char *call, struct context *context, CUdeviceptr address,
	size_t size, bool for_writing)
{
	struct device_memory *memory = context->device->memory;
	struct memory_range range;
	char where[128];
	if (address % size != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: address 0x%llx is not a multiple of"
			" %zu", call, address, size);
	}
	if (memory_holds(memory, address, size, for_writing, &range)) {
		return range.kind != MEMORY_MANAGED ? CUDA_SUCCESS
			: api_fail(CUDA_ERROR_INVALID_VALUE, "%s: 0x%llx is managed memory", call,
				address);
	}
	memory_describe(memory, address, where, sizeof(where));
	return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: 0x%llx is %s", call, address, where);
}

static CUresult describe_check_reduction(const char *call, struct context *context,
	const CUstreamBatchMemOpParams *op)
{
	const bool is_64 = op->atomicReduction.dataType == CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64;
	const CUstreamAtomicReductionOpType how = op->atomicReduction.reductionOp;
	if ((!is_64 && op->atomicReduction.dataType != CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32)
	    || (how != CU_STREAM_ATOMIC_REDUCTION_OP_ADD
		&& how != CU_STREAM_ATOMIC_REDUCTION_OP_AND
		&& how != CU_STREAM_ATOMIC_REDUCTION_OP_OR) || op->atomicReduction.flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: unknown reduction %d of type 0x%x, flags 0x%x", call, (int)how,
			(unsigned)op->atomicReduction.dataType, op->atomicReduction.flags);
	}
	return describe_check_place(call, context, op->atomicReduction.address, is_64 ? 8 : 4,
		true);
}

static CUresult describe_check_operation(const char *call, struct context *context,
	enum values_version version, const CUstreamBatchMemOpParams *op)
{
	const unsigned wait_flags = CU_STREAM_WAIT_VALUE_NOR;
	const unsigned write_flags = version == VALUES_1 ? CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER
		: 0;
	bool is_64 = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64
		|| op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
	unsigned known = 0;
	switch ((unsigned)op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		if (op->waitValue.flags & CU_STREAM_WAIT_VALUE_FLUSH) {
			return api_fail(CUDA_ERROR_NOT_SUPPORTED,
				"%s: the CPU device has no remote writes to flush", call);
		}
		known = wait_flags;
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		known = write_flags;
		break;
	case CU_STREAM_MEM_OP_BARRIER:
		if (version == VALUES_2
		    && op->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU) {
			return CUDA_SUCCESS;
		}
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not a barrier of this version",
			call);
	case CU_STREAM_MEM_OP_ATOMIC_REDUCTION:
		return describe_check_reduction(call, context, op);
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return api_fail(CUDA_ERROR_NOT_SUPPORTED,
			"%s: the CPU device has no remote writes to flush", call);
	default:
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown operation %d", call,
			(int)op->operation);
	}
	if (op->waitValue.flags & ~known) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%x", call,
			op->waitValue.flags);
	}
	return describe_check_place(call, context, op->waitValue.address, is_64 ? 8 : 4,
		op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32
		|| op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64);
}

CUresult work_describe_values(const char *call, struct context *context,
	const struct values_list *list, struct work *out)
{
	CUresult result = CUDA_SUCCESS;
	if (list->flags != 0 || list->count > MAX_OPERATIONS
	    || (!list->operations && list->count > 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %u operations, flags 0x%x", call,
			list->count, list->flags);
	}
	for (unsigned i = 0; result == CUDA_SUCCESS && i < list->count; i++) {
		result = describe_check_operation(call, context, list->version,
			&list->operations[i]);
	}
	*out = (struct work){.kind = list->count > 0 ? WORK_VALUES : WORK_EMPTY,
		.values = {list->operations, list->count}};
	return result;
}

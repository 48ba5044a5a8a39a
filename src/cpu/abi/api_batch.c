/* SPDX-License-Identifier: MIT */
/*
 * Many copies, prefetches or discards in one call, and single copies with the same attributes.
 * Attributes are given once for several operations: there is a list of attributes, and a list with
 * the index of the first operation of each.  Each operation is done by the function for a single
 * one.  If one fails, those before it stay done.
 */
#include "base/common.h"

#include "cpu/abi/api_array.h"

API(cuMemcpyAsync, CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
API(cuMemcpy3DAsync_v2, const CUDA_MEMCPY3D *description, CUstream stream);
API(cuMemPrefetchAsync_v2, CUdeviceptr address, size_t size, CUmemLocation location,
	unsigned int flags, CUstream stream);
API(cuStreamSynchronize, CUstream stream);

/* Find the context.  The default stream is refused, in the per-thread forms, too. */
static CUresult enter_batch(const char *call, CUstream stream, unsigned long long flags,
	struct context **context)
{
	CUresult result = api_enter(call, context);
	if (result == CUDA_SUCCESS && (stream == CU_STREAM_LEGACY || !stream)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: the default stream is not allowed", call);
	}
	if (result == CUDA_SUCCESS && flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: flags must be 0", call);
	}
	return result;
}

/* Check that the operations of each attribute begin after the operations of the one before. */
static CUresult batch_check_starts(const char *call, const size_t *starts, size_t start_count,
	size_t count)
{
	bool ok = starts && start_count > 0 && start_count <= count && starts[0] == 0
		&& starts[start_count - 1] < count;
	for (size_t i = 1; ok && i < start_count; i++) {
		ok = starts[i] > starts[i - 1];
	}
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
		"%s: %zu attributes for %zu operations, which do not start at 0, or go back", call,
		start_count, count);
}

/* --- Copies --- */

static CUresult batch_check_order(const char *call, CUmemcpySrcAccessOrder order, unsigned flags)
{
	return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY
		&& (flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE) == 0
		? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: order %d of access to the source, flags 0x%x", call, (int)order,
			flags);
}

/* CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL: the source is read before the call returns.  That
 * holds for memory of the program already; for memory of the driver the call waits. */
static CUresult batch_end_copy(struct context *context, CUmemcpySrcAccessOrder order,
	CUdeviceptr from, CUstream stream)
{
	return order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL
		&& memory_covers(context->device->memory, from) ? cuStreamSynchronize(stream)
		: CUDA_SUCCESS;
}

API(cuMemcpyBatchAsync, CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
	CUmemcpyAttributes *attributes, size_t *starts, size_t start_count, size_t *failed,
	CUstream stream)
{
	struct context *context;
	CUresult result = enter_batch(__func__, stream, 0, &context);
	if (failed) {
		*failed = SIZE_MAX;
	}
	if (result == CUDA_SUCCESS && (!to || !from || !sizes
			|| !attributes)) {
		return api_null(__func__, "a list");
	}
	if (result == CUDA_SUCCESS) {
		result = batch_check_starts(__func__, starts, start_count, count);
	}
	for (size_t i = 0; result == CUDA_SUCCESS && i < start_count; i++) {
		result = batch_check_order(__func__, attributes[i].srcAccessOrder,
			attributes[i].flags);
	}
	size_t k = 0;
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
		k += k + 1 < start_count && starts[k + 1] == i;
		result = cuMemcpyAsync(to[i], from[i], sizes[i], stream);
		if (result == CUDA_SUCCESS) {
			result = batch_end_copy(context, attributes[k].srcAccessOrder, from[i],
				stream);
		}
		if (result != CUDA_SUCCESS && failed) {
			*failed = i;
		}
	}
	return result;
}
API_PER_THREAD(cuMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync,
	(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
		CUmemcpyAttributes *attributes, size_t *starts, size_t start_count, size_t *failed,
		CUstream stream),
	(to, from, sizes, count, attributes, starts, start_count, failed, stream));

API(cuMemcpyBatchAsync_v2, CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
	CUmemcpyAttributes *attributes, size_t *starts, size_t start_count, CUstream stream)
{
	return cuMemcpyBatchAsync(to, from, sizes, count, attributes, starts, start_count, NULL,
		stream);
}
API_PER_THREAD(cuMemcpyBatchAsync_v2_ptsz, cuMemcpyBatchAsync_v2,
	(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
		CUmemcpyAttributes *attributes, size_t *starts, size_t start_count,
		CUstream stream),
	(to, from, sizes, count, attributes, starts, start_count, stream));

API(cuMemcpyWithAttributesAsync, CUdeviceptr to, CUdeviceptr from, size_t size,
	CUmemcpyAttributes *attributes, CUstream stream)
{
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && !attributes) {
		return api_null(__func__, "the attributes");
	}
	if (result == CUDA_SUCCESS) {
		result = batch_check_order(__func__, attributes->srcAccessOrder,
			attributes->flags);
	}
	if (result == CUDA_SUCCESS) {
		result = cuMemcpyAsync(to, from, size, stream);
	}
	return result == CUDA_SUCCESS
		? batch_end_copy(context, attributes->srcAccessOrder, from, stream) : result;
}
API_PER_THREAD(cuMemcpyWithAttributesAsync_ptsz, cuMemcpyWithAttributesAsync,
	(CUdeviceptr to, CUdeviceptr from, size_t size, CUmemcpyAttributes *attributes,
		CUstream stream),
	(to, from, size, attributes, stream));

/* The size of the elements in which extents and offsets count: elements of an array, else bytes.  0
 * if the operands do not fit together. */
static size_t batch_element_size(const CUDA_MEMCPY3D_BATCH_OP *op)
{
	const CUmemcpy3DOperand *operands[] = {&op->src, &op->dst};
	size_t size = 0;
	for (size_t i = 0; i < countof(operands); i++) {
		if (operands[i]->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
			const struct array *array = handle_get(operands[i]->op.array.array,
				API_ARRAY);
			size_t own = array ? texel_size(&array->format) : 0;
			if (own == 0 || (size != 0 && size != own)) {
				return 0;
			}
			size = own;
		} else if (operands[i]->type != CU_MEMCPY_OPERAND_TYPE_POINTER) {
			return 0;
		}
	}
	return size > 0 ? size : 1;
}

/* A length of 0 stands for the extent of the copy. */
static bool batch_plan_pointer(const CUmemcpy3DOperand *operand, const CUDA_MEMCPY3D_BATCH_OP *op,
	size_t element, size_t *pitch, size_t *height)
{
	size_t row = operand->op.ptr.rowLength;
	size_t layer = operand->op.ptr.layerHeight;
	*height = layer != 0 ? layer : op->extent.height;
	return size_mul(pitch, row != 0 ? row : op->extent.width, element)
		&& (row == 0 || row >= op->extent.width)
		&& (layer == 0 || layer >= op->extent.height);
}

static CUresult batch_plan_copy(const char *call, const CUDA_MEMCPY3D_BATCH_OP *op,
	CUDA_MEMCPY3D *out)
{
	size_t element = batch_element_size(op);
	*out = (CUDA_MEMCPY3D){.Height = op->extent.height, .Depth = op->extent.depth};
	bool ok = element != 0 && op->extent.width > 0 && op->extent.height > 0
		&& op->extent.depth > 0 && size_mul(&out->WidthInBytes, op->extent.width, element);
	if (ok && op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		out->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		out->srcArray = op->src.op.array.array;
		out->srcY = op->src.op.array.offset.y;
		out->srcZ = op->src.op.array.offset.z;
		ok = size_mul(&out->srcXInBytes, op->src.op.array.offset.x, element);
	} else if (ok) {
		out->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
		out->srcDevice = op->src.op.ptr.ptr;
		ok = batch_plan_pointer(&op->src, op, element, &out->srcPitch, &out->srcHeight);
	}
	if (ok && op->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		out->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		out->dstArray = op->dst.op.array.array;
		out->dstY = op->dst.op.array.offset.y;
		out->dstZ = op->dst.op.array.offset.z;
		ok = size_mul(&out->dstXInBytes, op->dst.op.array.offset.x, element);
	} else if (ok) {
		out->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
		out->dstDevice = op->dst.op.ptr.ptr;
		ok = batch_plan_pointer(&op->dst, op, element, &out->dstPitch, &out->dstHeight);
	}
	return ok ? CUDA_SUCCESS : api_fail(CUDA_ERROR_INVALID_VALUE, "%s: a size is 0, an array is"
		" not valid, or the operands do not fit together", call);
}

static CUresult batch_copy_3d(const char *call, struct context *context,
	const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
	CUDA_MEMCPY3D copy;
	CUresult result = batch_check_order(call, op->srcAccessOrder, op->flags);
	if (result == CUDA_SUCCESS) {
		result = batch_plan_copy(call, op, &copy);
	}
	if (result == CUDA_SUCCESS) {
		result = cuMemcpy3DAsync_v2(&copy, stream);
	}
	return result == CUDA_SUCCESS && op->src.type == CU_MEMCPY_OPERAND_TYPE_POINTER
		? batch_end_copy(context, op->srcAccessOrder, copy.srcDevice, stream) : result;
}

API(cuMemcpy3DBatchAsync, size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed,
	unsigned long long flags, CUstream stream)
{
	struct context *context;
	CUresult result = enter_batch(__func__, stream, flags, &context);
	if (failed) {
		*failed = SIZE_MAX;
	}
	if (result == CUDA_SUCCESS && (!list || count == 0)) {
		return api_null(__func__, "the list");
	}
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
		result = batch_copy_3d(__func__, context, &list[i], stream);
		if (result != CUDA_SUCCESS && failed) {
			*failed = i;
		}
	}
	return result;
}
API_PER_THREAD(cuMemcpy3DBatchAsync_ptsz, cuMemcpy3DBatchAsync,
	(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed, unsigned long long flags,
		CUstream stream),
	(count, list, failed, flags, stream));

API(cuMemcpy3DBatchAsync_v2, size_t count, CUDA_MEMCPY3D_BATCH_OP *list,
	unsigned long long flags, CUstream stream)
{
	return cuMemcpy3DBatchAsync(count, list, NULL, flags, stream);
}
API_PER_THREAD(cuMemcpy3DBatchAsync_v2_ptsz, cuMemcpy3DBatchAsync_v2,
	(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags, CUstream stream),
	(count, list, flags, stream));

API(cuMemcpy3DWithAttributesAsync, CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags,
	CUstream stream)
{
	struct context *context;
	CUresult result = api_enter(__func__, &context);
	if (result == CUDA_SUCCESS && (!op || flags != 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: no copy, or flags that are not 0",
			__func__);
	}
	return result == CUDA_SUCCESS ? batch_copy_3d(__func__, context, op, stream) : result;
}
API_PER_THREAD(cuMemcpy3DWithAttributesAsync_ptsz, cuMemcpy3DWithAttributesAsync,
	(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream stream),
	(op, flags, stream));

/* --- Managed memory: host and device share one memory, so nothing moves --- */

static CUresult batch_check_managed(const char *call, const struct context *context,
	const CUdeviceptr *addresses, const size_t *sizes, size_t count)
{
	if (!addresses || !sizes || count == 0) {
		return api_null(call, "a list");
	}
	for (size_t i = 0; i < count; i++) {
		struct memory_range range;
		if (sizes[i] == 0 || !memory_holds(context->device->memory, addresses[i], sizes[i],
				true, &range) || range.kind != MEMORY_MANAGED) {
			return api_fail(CUDA_ERROR_INVALID_VALUE,
				"%s: %zu bytes at 0x%llx are not managed memory", call,
				sizes[i], addresses[i]);
		}
	}
	return CUDA_SUCCESS;
}

API(cuMemPrefetchBatchAsync, CUdeviceptr *addresses, size_t *sizes, size_t count,
	CUmemLocation *places, size_t *starts, size_t start_count, unsigned long long flags,
	CUstream stream)
{
	struct context *context;
	CUresult result = enter_batch(__func__, stream, flags, &context);
	if (result == CUDA_SUCCESS && !places) {
		return api_null(__func__, "the list of locations");
	}
	if (result == CUDA_SUCCESS) {
		result = batch_check_starts(__func__, starts, start_count, count);
	}
	if (result == CUDA_SUCCESS) {
		result = batch_check_managed(__func__, context, addresses, sizes, count);
	}
	size_t k = 0;
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
		k += k + 1 < start_count && starts[k + 1] == i;
		result = cuMemPrefetchAsync_v2(addresses[i], sizes[i], places[k], 0, stream);
	}
	// A list with an unknown device is an invalid value, not an invalid device.
	return result == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_INVALID_VALUE : result;
}
API_PER_THREAD(cuMemPrefetchBatchAsync_ptsz, cuMemPrefetchBatchAsync,
	(CUdeviceptr *addresses, size_t *sizes, size_t count, CUmemLocation *places, size_t *starts,
		size_t start_count, unsigned long long flags, CUstream stream),
	(addresses, sizes, count, places, starts, start_count, flags, stream));

/* Discarded memory may have any value, so it may keep its own.  The prefetch is left. */
API_ALIAS(cuMemDiscardAndPrefetchBatchAsync, cuMemPrefetchBatchAsync);
API_ALIAS(cuMemDiscardAndPrefetchBatchAsync_ptsz, cuMemPrefetchBatchAsync_ptsz);

API(cuMemDiscardBatchAsync, CUdeviceptr *addresses, size_t *sizes, size_t count,
	unsigned long long flags, CUstream stream)
{
	struct context *context;
	CUresult result = enter_batch(__func__, stream, flags, &context);
	return result == CUDA_SUCCESS
		? batch_check_managed(__func__, context, addresses, sizes, count) : result;
}
API_PER_THREAD(cuMemDiscardBatchAsync_ptsz, cuMemDiscardBatchAsync,
	(CUdeviceptr *addresses, size_t *sizes, size_t count, unsigned long long flags,
		CUstream stream),
	(addresses, sizes, count, flags, stream));

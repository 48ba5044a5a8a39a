/* SPDX-License-Identifier: MIT */
/*
 * Values in memory that streams wait for and write.  One call is a list of such operations, which
 * the stream does in order; the single forms are lists of one.  The first version of the functions
 * allows a flag that the second does not, and has no barriers; else they are the same.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/stream/describe.h"

#define MAX_OPERATIONS 255

enum version { VERSION_1, VERSION_2 };

static CUresult check_place(const char *call, struct context *context, CUdeviceptr address,
	size_t size, bool for_writing)
{
	struct memory *memory = context->device->memory;
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

static CUresult check_operation(const char *call, struct context *context, enum version version,
	const CUstreamBatchMemOpParams *op)
{
	const unsigned wait_flags = CU_STREAM_WAIT_VALUE_NOR;
	const unsigned write_flags = version == VERSION_1 ? CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER
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
		if (version == VERSION_2
		    && op->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU) {
			return CUDA_SUCCESS;
		}
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: not a barrier of this version", call);
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
	return check_place(call, context, op->waitValue.address, is_64 ? 8 : 4,
		op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32
		|| op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64);
}

static CUresult describe(const char *call, struct context *context, enum version version,
	unsigned count, const CUstreamBatchMemOpParams *list, unsigned flags, struct work *out)
{
	CUresult result = CUDA_SUCCESS;
	if (flags != 0 || count > MAX_OPERATIONS || (list == NULL && count > 0)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %u operations, flags 0x%x", call,
			count, flags);
	}
	for (unsigned i = 0; result == CUDA_SUCCESS && i < count; i++) {
		result = check_operation(call, context, version, &list[i]);
	}
	*out = (struct work){.kind = count > 0 ? WORK_VALUES : WORK_EMPTY, .values = {list, count}};
	return result;
}

CUresult work_describe_values(const char *call, struct context *context, unsigned count,
	const CUstreamBatchMemOpParams *list, unsigned flags, struct work *out)
{
	return describe(call, context, VERSION_2, count, list, flags, out);
}

static CUresult batch(const char *call, enum version version, CUstream stream, unsigned count,
	const CUstreamBatchMemOpParams *list, unsigned flags)
{
	struct work work;
	struct context *context;
	CUresult result = api_enter(call, &context);
	if (result == CUDA_SUCCESS) {
		result = describe(call, context, version, count, list, flags, &work);
	}
	return result != CUDA_SUCCESS ? result
		: stream_enqueue(call, context, stream, &work, ENQUEUE_ASYNC, false);
}

static CUresult single(const char *call, enum version version, CUstream stream,
	CUstreamBatchMemOpType operation, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	const CUstreamBatchMemOpParams op = {.waitValue = {
		.operation = operation, .address = address, .value64 = value, .flags = flags
	}};
	return batch(call, version, stream, 1, &op, 0);
}

API(cuStreamBatchMemOp, CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags)
{
	return batch(__func__, VERSION_1, stream, count, list, flags);
}
API_PER_THREAD(cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp,
	(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags),
	(stream, count, list, flags));

API(cuStreamBatchMemOp_v2, CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags)
{
	return batch(__func__, VERSION_2, stream, count, list, flags);
}
API_PER_THREAD(cuStreamBatchMemOp_v2_ptsz, cuStreamBatchMemOp_v2,
	(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags),
	(stream, count, list, flags));

API(cuStreamWaitValue32, CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags)
{
	return single(__func__, VERSION_1, stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value,
		flags);
}
API_PER_THREAD(cuStreamWaitValue32_ptsz, cuStreamWaitValue32,
	(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags),
	(stream, address, value, flags));
API_ALIAS(cuStreamWaitValue32_v2, cuStreamWaitValue32);
API_PER_THREAD(cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue32,
	(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags),
	(stream, address, value, flags));

API(cuStreamWaitValue64, CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned int flags)
{
	return single(__func__, VERSION_1, stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value,
		flags);
}
API_PER_THREAD(cuStreamWaitValue64_ptsz, cuStreamWaitValue64,
	(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags),
	(stream, address, value, flags));
API_ALIAS(cuStreamWaitValue64_v2, cuStreamWaitValue64);
API_PER_THREAD(cuStreamWaitValue64_v2_ptsz, cuStreamWaitValue64,
	(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags),
	(stream, address, value, flags));

API(cuStreamWriteValue32, CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags)
{
	return single(__func__, VERSION_1, stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value,
		flags);
}
API_PER_THREAD(cuStreamWriteValue32_ptsz, cuStreamWriteValue32,
	(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags),
	(stream, address, value, flags));

API(cuStreamWriteValue32_v2, CUstream stream, CUdeviceptr address, uint32_t value,
	unsigned int flags)
{
	return single(__func__, VERSION_2, stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value,
		flags);
}
API_PER_THREAD(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2,
	(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags),
	(stream, address, value, flags));

API(cuStreamWriteValue64, CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned int flags)
{
	return single(__func__, VERSION_1, stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value,
		flags);
}
API_PER_THREAD(cuStreamWriteValue64_ptsz, cuStreamWriteValue64,
	(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags),
	(stream, address, value, flags));

API(cuStreamWriteValue64_v2, CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned int flags)
{
	return single(__func__, VERSION_2, stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value,
		flags);
}
API_PER_THREAD(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64_v2,
	(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags),
	(stream, address, value, flags));

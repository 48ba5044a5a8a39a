/* SPDX-License-Identifier: MIT */
/*
 * Values in memory that streams wait for and write.  One call is a list of such operations, which
 * the stream does in order; the single forms are lists of one.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/stream/describe.h"

static CUresult batch(const char *call, enum values_version version, CUstream stream, unsigned count,
	const CUstreamBatchMemOpParams *list, unsigned flags)
{
	struct work work;
	struct context *context;
	CUresult result = api_enter(call, &context);
	if (result == CUDA_SUCCESS) {
		result = work_describe_values(call, context, version, count, list, flags, &work);
	}
	return result != CUDA_SUCCESS ? result
		: stream_enqueue(call, context, stream, &work, ENQUEUE_ASYNC, false);
}

static CUresult single(const char *call, enum values_version version, CUstream stream,
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
	return batch(__func__, VALUES_1, stream, count, list, flags);
}
API_PER_THREAD(cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp,
	(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags),
	(stream, count, list, flags));

API(cuStreamBatchMemOp_v2, CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags)
{
	return batch(__func__, VALUES_2, stream, count, list, flags);
}
API_PER_THREAD(cuStreamBatchMemOp_v2_ptsz, cuStreamBatchMemOp_v2,
	(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags),
	(stream, count, list, flags));

API(cuStreamWaitValue32, CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags)
{
	return single(__func__, VALUES_1, stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value,
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
	return single(__func__, VALUES_1, stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value,
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
	return single(__func__, VALUES_1, stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value,
		flags);
}
API_PER_THREAD(cuStreamWriteValue32_ptsz, cuStreamWriteValue32,
	(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags),
	(stream, address, value, flags));

API(cuStreamWriteValue32_v2, CUstream stream, CUdeviceptr address, uint32_t value,
	unsigned int flags)
{
	return single(__func__, VALUES_2, stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value,
		flags);
}
API_PER_THREAD(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2,
	(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags),
	(stream, address, value, flags));

API(cuStreamWriteValue64, CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned int flags)
{
	return single(__func__, VALUES_1, stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value,
		flags);
}
API_PER_THREAD(cuStreamWriteValue64_ptsz, cuStreamWriteValue64,
	(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags),
	(stream, address, value, flags));

API(cuStreamWriteValue64_v2, CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned int flags)
{
	return single(__func__, VALUES_2, stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value,
		flags);
}
API_PER_THREAD(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64_v2,
	(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags),
	(stream, address, value, flags));

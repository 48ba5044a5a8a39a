/* SPDX-License-Identifier: MIT */
/*
 * Values in memory that streams wait for and write.  A call takes a list of operations, which the
 * stream does in order.  A call for a single operation makes a list of one.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/stream/work_describe.h"

static CUresult value_batch(const char *call, CUstream stream, const struct values_list *list)
{
	struct work work;
	struct context *context;
	CUresult result = api_enter(call, &context);
	if (result == CUDA_SUCCESS) {
		result = work_describe_values(call, context, list, &work);
	}
	return result != CUDA_SUCCESS ? result
		: stream_enqueue(call, context, stream, &work, ENQUEUE_ASYNC, false);
}

API(cuStreamBatchMemOp, CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags)
{
	return value_batch(__func__, stream,
		&(struct values_list){VALUES_1, count, list, flags});
}
API_PER_THREAD(cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp,
	(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags),
	(stream, count, list, flags));

API(cuStreamBatchMemOp_v2, CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags)
{
	return value_batch(__func__, stream,
		&(struct values_list){VALUES_2, count, list, flags});
}
API_PER_THREAD(cuStreamBatchMemOp_v2_ptsz, cuStreamBatchMemOp_v2,
	(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
	unsigned int flags),
	(stream, count, list, flags));

/* A single operation, and its form for the calling thread's own default stream. */
#define SINGLE(name, type, version, kind) \
	API(name, CUstream stream, CUdeviceptr address, type value, unsigned int flags) \
	{ \
		const CUstreamBatchMemOpParams op = {.waitValue = { \
			.operation = kind, .address = address, .value64 = value, \
			.flags = flags \
		}}; \
		return value_batch(__func__, stream, \
			&(struct values_list){version, 1, &op, 0}); \
	} \
	API_PER_THREAD(name##_ptsz, name, \
		(CUstream stream, CUdeviceptr address, type value, unsigned int flags), \
		(stream, address, value, flags))

SINGLE(cuStreamWaitValue32, uint32_t, VALUES_1, CU_STREAM_MEM_OP_WAIT_VALUE_32);
SINGLE(cuStreamWaitValue32_v2, uint32_t, VALUES_2, CU_STREAM_MEM_OP_WAIT_VALUE_32);
SINGLE(cuStreamWaitValue64, cuuint64_t, VALUES_1, CU_STREAM_MEM_OP_WAIT_VALUE_64);
SINGLE(cuStreamWaitValue64_v2, cuuint64_t, VALUES_2, CU_STREAM_MEM_OP_WAIT_VALUE_64);
SINGLE(cuStreamWriteValue32, uint32_t, VALUES_1, CU_STREAM_MEM_OP_WRITE_VALUE_32);
SINGLE(cuStreamWriteValue32_v2, uint32_t, VALUES_2, CU_STREAM_MEM_OP_WRITE_VALUE_32);
SINGLE(cuStreamWriteValue64, cuuint64_t, VALUES_1, CU_STREAM_MEM_OP_WRITE_VALUE_64);
SINGLE(cuStreamWriteValue64_v2, cuuint64_t, VALUES_2, CU_STREAM_MEM_OP_WRITE_VALUE_64);

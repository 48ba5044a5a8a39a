/* SPDX-License-Identifier: MIT */
/*
 * Streams that wait for values in memory, and write them.
 *
 * Such an operation is order itself, so it is not a use of the memory in the sense of memory_use().
 * Otherwise a write would come after the wait that it is to end.  It only comes after the last
 * use.  No stream stands for all of these operations, so the end of the memory waits for the
 * device.
 */
#include "base/common.h"

#include "lib/core/memory.h"

enum value_call { WAIT_32, WAIT_64, WRITE_32, WRITE_64 };

/* A wait or a write. */
struct value_op {
	enum value_call call;
	struct kz_buffer *buffer;
	int64_t offset;
	uint64_t value;
	unsigned flags;
};

static CUresult value_enqueue(const struct value_op *op, const struct kz_stream *stream,
	CUdeviceptr address)
{
	const struct drv *drv = stream->device->drv;
	const uint64_t value = op->value;
	const unsigned flags = op->flags;
	switch (op->call) {
	case WAIT_32:
		return drv->StreamWaitValue32(stream->handle, address, (uint32_t)value, flags);
	case WAIT_64:
		return drv->StreamWaitValue64(stream->handle, address, value, flags);
	case WRITE_32:
		return drv->StreamWriteValue32(stream->handle, address, (uint32_t)value, flags);
	case WRITE_64:
		return drv->StreamWriteValue64(stream->handle, address, value, flags);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Put a stream after the last use of a memory; the context is current. */
static kz_status value_order(struct memory *memory, struct kz_stream *stream, kz_error *err)
{
	kz_status st = KZ_OK;
	pthread_mutex_lock(&memory->lock);
	struct kz_stream *last = atomic_load(&memory->last);
	if (last && last != stream) {
		st = stream_order(stream, last, err);
	}
	pthread_mutex_unlock(&memory->lock);
	return st;
}

static kz_status value_run(const struct value_op *op, struct kz_stream *stream,
	kz_error *err)
{
	static const char *const names[] = {"cuStreamWaitValue32", "cuStreamWaitValue64",
		"cuStreamWriteValue32", "cuStreamWriteValue64"};
	const int64_t size = op->call == WAIT_32 || op->call == WRITE_32 ? 4 : 8;
	struct kz_buffer *buffer = op->buffer;
	struct device_scope scope;
	kz_status st;
	if ((st = object_check(buffer, OBJECT_BUFFER, err))
	    || (st = buffer_check(buffer, op->offset, size, err))
	    || (st = stream_pick(&stream, buffer->memory->device, stream, err))) {
		return st;
	}
	CUdeviceptr address = buffer_address(buffer) + (CUdeviceptr)op->offset;
	if (address % (CUdeviceptr)size != 0) {
		return error_set(err, KZ_INVALID, "expected a value at a multiple of %lld bytes, "
			"got address 0x%llx", (long long)size, (unsigned long long)address);
	}
	if ((st = device_enter(stream->device, &scope, err))) {
		return st;
	}
	if (!(st = value_order(buffer->memory, stream, err))) {
		atomic_store(&buffer->memory->has_values, true);
		st = device_ok(stream->device, value_enqueue(op, stream, address), names[op->call],
			err);
	}
	device_leave(stream->device, &scope);
	return st;
}

/* The flags of a wait are its condition. */
static kz_status value_wait(const struct value_op *op, struct kz_stream *stream,
	kz_error *err)
{
	_Static_assert((int)KZ_WAIT_GEQ == CU_STREAM_WAIT_VALUE_GEQ
		&& (int)KZ_WAIT_EQ == CU_STREAM_WAIT_VALUE_EQ
		&& (int)KZ_WAIT_AND == CU_STREAM_WAIT_VALUE_AND
		&& (int)KZ_WAIT_NOR == CU_STREAM_WAIT_VALUE_NOR, "they are the driver's numbers");
	if (op->flags > KZ_WAIT_NOR) {
		return error_set(err, KZ_INVALID, "%d is not a kz_wait_condition", (int)op->flags);
	}
	return value_run(op, stream, err);
}

kz_status kz_stream_wait_value32(kz_stream *stream, kz_buffer *buffer, int64_t offset,
	uint32_t value, kz_wait_condition condition, kz_error *err)
{
	error_scope(err);
	const struct value_op op = {WAIT_32, buffer, offset, value, (unsigned)condition};
	return value_wait(&op, stream, err);
}

kz_status kz_stream_wait_value64(kz_stream *stream, kz_buffer *buffer, int64_t offset,
	uint64_t value, kz_wait_condition condition, kz_error *err)
{
	error_scope(err);
	const struct value_op op = {WAIT_64, buffer, offset, value, (unsigned)condition};
	return value_wait(&op, stream, err);
}

kz_status kz_stream_write_value32(kz_stream *stream, kz_buffer *buffer, int64_t offset,
	uint32_t value, kz_error *err)
{
	error_scope(err);
	const struct value_op op = {WRITE_32, buffer, offset, value, CU_STREAM_WRITE_VALUE_DEFAULT};
	return value_run(&op, stream, err);
}

kz_status kz_stream_write_value64(kz_stream *stream, kz_buffer *buffer, int64_t offset,
	uint64_t value, kz_error *err)
{
	error_scope(err);
	const struct value_op op = {WRITE_64, buffer, offset, value, CU_STREAM_WRITE_VALUE_DEFAULT};
	return value_run(&op, stream, err);
}

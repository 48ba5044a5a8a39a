/* SPDX-License-Identifier: MIT */
/*
 * Copies between host and device, copies on a device and between two, fills.
 *
 * Each call first checks its range against the ends of the buffers.  Then it runs in a stream:
 * memory_use, the driver's call, memory_used; see memory.h.  Memory is used by streams of its own
 * device only.  So in a copy between two devices a stream of the other device stands for the other
 * memory, and the two streams wait for each other.
 */
#include "base/common.h"

#include "lib/core/memory.h"
#include "lib/core/trace.h"

#include <string.h>

/* Copies between host and device */

enum way { TO_DEVICE, TO_HOST };

struct host_copy {
	enum way way;
	struct kz_buffer *buffer;
	int64_t offset; /* in the buffer */
	void *host;
	int64_t size;
};

/* Start one in a stream; it was checked. */
static kz_status host_copy_start(const struct host_copy *copy, struct kz_stream *stream,
	kz_error *err)
{
	struct memory *memory = copy->buffer->memory;
	struct kz_device *dev = memory->device;
	const char *name = copy->way == TO_DEVICE ? "copy to device" : "copy to host";
	CUdeviceptr address = buffer_address(copy->buffer) + (CUdeviceptr)copy->offset;
	struct device_scope scope;
	struct trace_op op;
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	struct memory *pinned = pinned_find(dev, copy->host);
	if ((pinned && (st = memory_use(pinned, stream, err)))
	    || (st = memory_use(memory, stream, err))) {
		goto out;
	}
	bool is_traced = unlikely(trace_is_on());
	if (is_traced) {
		trace_op_begin(&op, stream, name);
	}
	st = copy->way == TO_DEVICE
		? device_ok(dev, dev->drv->MemcpyHtoDAsync(address, copy->host,
			(size_t)copy->size, stream->handle), "cuMemcpyHtoDAsync", err)
		: device_ok(dev, dev->drv->MemcpyDtoHAsync(copy->host, address,
			(size_t)copy->size, stream->handle), "cuMemcpyDtoHAsync", err);
	if (is_traced) {
		trace_op_end(&op, st, "copy", "\"stream\":%lld,\"bytes\":%lld",
			(long long)stream->number, (long long)copy->size);
	}
	if (!st && !(st = memory_used(memory, stream, err)) && pinned) {
		st = memory_used(pinned, stream, err);
	}
out:
	memory_release(pinned);
	device_leave(dev, &scope);
	return st;
}

static kz_status host_copy_check(const struct host_copy *copy, kz_error *err)
{
	kz_status st = buffer_check(copy->buffer, copy->offset, copy->size, err);
	if (!st && copy->size > 0 && !copy->host) {
		st = error_set(err, KZ_INVALID, "expected %lld byte%s of host memory, got NULL",
			(long long)copy->size, plural(copy->size));
	}
	return st;
}

/* In the stream in which the memory is at rest soonest, waiting for no other stream. */
static kz_status host_copy_now(const struct host_copy *copy, kz_error *err)
{
	struct kz_stream *stream = memory_stream(copy->buffer->memory);
	kz_status st = host_copy_start(copy, stream, err);
	st = st ? st : kz_stream_synchronize(stream, err);
	stream_release(stream);
	return st;
}

static kz_status host_copy_later(const struct host_copy *copy, struct kz_stream *stream,
	kz_error *err)
{
	kz_status st;
	if ((st = host_copy_check(copy, err))
	    || (st = object_check(stream, OBJECT_STREAM, err))
	    || (st = stream_pick(&stream, copy->buffer->memory->device, stream, err))
	    || copy->size == 0) {
		return st;
	}
	return host_copy_start(copy, stream, err);
}

kz_status kz_copy_htod(kz_buffer *to, int64_t offset, const void *from, int64_t size, kz_error *err)
{
	error_scope(err);
	const struct host_copy copy = {TO_DEVICE, to, offset, (void *)from, size};
	kz_status st = host_copy_check(&copy, err);
	if (st || size == 0 || (st = memory_check_capture(to->memory, err))) {
		return st;
	}
	return host_copy_now(&copy, err);
}

kz_status kz_copy_dtoh(void *to, int64_t size, kz_buffer *from, int64_t offset, kz_error *err)
{
	error_scope(err);
	struct host_copy copy = {TO_HOST, from, offset, to, size};
	kz_status st = host_copy_check(&copy, err);
	if (st || size == 0 || (st = memory_check_capture(from->memory, err))) {
		return st;
	}
	struct kz_device *dev = from->memory->device;
	void *slot = pinned_take_slot(dev, to, size);
	copy.host = slot ? slot : to;
	st = host_copy_now(&copy, err);
	if (slot) {
		if (!st) {
			memcpy(to, slot, (size_t)size);
		}
		pinned_put_slot(dev, slot);
	}
	return st;
}

kz_status kz_copy_htod_async(kz_buffer *to, int64_t offset, const void *from, int64_t size,
	kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct host_copy copy = {TO_DEVICE, to, offset, (void *)from, size};
	return host_copy_later(&copy, stream, err);
}

kz_status kz_copy_dtoh_async(void *to, int64_t size, kz_buffer *from, int64_t offset,
	kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct host_copy copy = {TO_HOST, from, offset, to, size};
	return host_copy_later(&copy, stream, err);
}

/* Copies on a device and between two */

kz_status copy_begin(struct copy_pass *pass, struct memory *to, struct memory *from,
	struct kz_stream *stream, kz_error *err)
{
	kz_status st;
	*pass = (struct copy_pass){.stream = stream, .memory = {from, to}};
	for (int i = 0; i < 2; i++) {
		struct memory *memory = pass->memory[i];
		if (!memory || memory->device == stream->device) {
			pass->home[i] = stream_retain(stream);
			continue;
		}
		pass->home[i] = memory_stream(memory);
		if ((st = stream_check_free(stream, err))
		    || (st = memory_check_capture(memory, err))
		    || (st = device_check_loss(memory->device, err))) {
			goto fail;
		}
	}
	if ((st = device_enter(stream->device, &pass->scope, err))) {
		goto fail;
	}
	for (int i = 0; i < 2 && !st; i++) {
		if (pass->memory[i]) {
			st = memory_use(pass->memory[i], pass->home[i], err);
		}
		if (!st && pass->home[i] != stream) {
			st = stream_order(stream, pass->home[i], err);
		}
	}
	if (!st) {
		return KZ_OK;
	}
	device_leave(stream->device, &pass->scope);
fail:
	stream_release(pass->home[0]);
	stream_release(pass->home[1]);
	return st;
}

kz_status copy_end(struct copy_pass *pass, kz_status st, kz_error *err)
{
	for (int i = 0; i < 2; i++) {
		if (!st && pass->home[i] != pass->stream) {
			st = stream_order(pass->home[i], pass->stream, err);
		}
		if (!st && pass->memory[i]) {
			st = memory_used(pass->memory[i], pass->home[i], err);
		}
	}
	device_leave(pass->stream->device, &pass->scope);
	stream_release(pass->home[0]);
	stream_release(pass->home[1]);
	return st;
}

static CUdeviceptr copy_address(struct buffer_place place)
{
	return buffer_address(place.buffer) + (CUdeviceptr)place.offset;
}

kz_status buffer_copy(struct buffer_place to, struct buffer_place from, int64_t size,
	struct kz_stream *stream, kz_error *err)
{
	struct memory *memory = to.buffer->memory, *other = from.buffer->memory;
	struct kz_device *dev = memory->device, *there = other->device;
	const CUdeviceptr target = copy_address(to), source = copy_address(from);
	const char *name = dev == there ? "copy on device" : "copy from peer";
	struct copy_pass pass;
	struct trace_op op;
	kz_status st = copy_begin(&pass, memory, other, stream, err);
	if (st) {
		return st;
	}
	bool is_traced = unlikely(trace_is_on());
	if (is_traced) {
		trace_op_begin(&op, stream, name);
	}
	st = dev == there
		? device_ok(dev, dev->drv->MemcpyDtoDAsync(target, source, (size_t)size,
			stream->handle), "cuMemcpyDtoDAsync", err)
		: device_ok(dev, dev->drv->MemcpyPeerAsync(target, dev->context, source,
			there->context, (size_t)size, stream->handle), "cuMemcpyPeerAsync", err);
	if (is_traced) {
		trace_op_end(&op, st, "copy",
			"\"stream\":%lld,\"bytes\":%lld,\"from\":\"%s\"", (long long)stream->number,
			(long long)size, there->name);
	}
	return copy_end(&pass, st, err);
}

static kz_status copy_check(struct buffer_place to, struct buffer_place from, int64_t size,
	kz_error *err)
{
	kz_status st;
	if ((st = buffer_check(to.buffer, to.offset, size, err))
	    || (st = buffer_check(from.buffer, from.offset, size, err))) {
		return st;
	}
	const struct kz_device *dev = to.buffer->memory->device,
		*there = from.buffer->memory->device;
	if (dev->drv != there->drv) {
		return error_set(err, KZ_INVALID, "cannot copy from a buffer of %s to one of %s: "
			"they have different drivers", there->name, dev->name);
	}
	CUdeviceptr a = copy_address(to);
	CUdeviceptr b = copy_address(from);
	if ((a < b ? b - a : a - b) < (CUdeviceptr)size) {
		return error_set(err, KZ_INVALID, "the %lld bytes to copy overlap their target",
			(long long)size);
	}
	return KZ_OK;
}

kz_status kz_copy_dtod(kz_buffer *to, int64_t to_offset, kz_buffer *from, int64_t from_offset,
	int64_t size, kz_error *err)
{
	error_scope(err);
	const struct buffer_place target = {to, to_offset}, source = {from, from_offset};
	kz_status st = copy_check(target, source, size, err);
	if (st || size == 0) {
		return st;
	}
	bool is_one = to->memory->device == from->memory->device;
	struct kz_stream *stream = memory_stream(is_one ? from->memory : to->memory);
	st = buffer_copy(target, source, size, stream, err);
	stream_release(stream);
	return st;
}

kz_status kz_copy_dtod_on(kz_buffer *to, int64_t to_offset, kz_buffer *from, int64_t from_offset,
	int64_t size, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	const struct buffer_place target = {to, to_offset}, source = {from, from_offset};
	kz_status st;
	if ((st = copy_check(target, source, size, err))
	    || (st = object_check(stream, OBJECT_STREAM, err))
	    || (st = stream_pick(&stream, to->memory->device, stream, err)) || size == 0) {
		return st;
	}
	return buffer_copy(target, source, size, stream, err);
}

/* Fills */

/* Halve a pattern while its halves are equal: zeros of any type become a fill of bytes. */
static int64_t copy_shrink_pattern(const char *pattern, int64_t size)
{
	while (size % 2 == 0 && memcmp(pattern, pattern + size / 2, (size_t)size / 2) == 0) {
		size /= 2;
	}
	return size;
}

/* Rows of equal units in memory. */
struct rows {
	CUdeviceptr to;
	size_t pitch;               /* bytes from row to row */
	size_t width;               /* units in a row */
	size_t height;
};

/* Set all units, of 1, 2 or 4 bytes, to one value. */
static CUresult copy_fill_units(const struct drv *drv, const struct rows *rows, const char *value,
	size_t unit, CUstream stream, const char **call)
{
	const CUdeviceptr to = rows->to;
	const size_t pitch = rows->pitch, width = rows->width, height = rows->height;
	uint8_t one;
	uint16_t two;
	uint32_t four;
	switch (unit) {
	case 1:
		memcpy(&one, value, sizeof(one));
		*call = height == 1 ? "cuMemsetD8Async" : "cuMemsetD2D8Async";
		return height == 1 ? drv->MemsetD8Async(to, one, width, stream)
			: drv->MemsetD2D8Async(to, pitch, one, width, height, stream);
	case 2:
		memcpy(&two, value, sizeof(two));
		*call = height == 1 ? "cuMemsetD16Async" : "cuMemsetD2D16Async";
		return height == 1 ? drv->MemsetD16Async(to, two, width, stream)
			: drv->MemsetD2D16Async(to, pitch, two, width, height, stream);
	default:
		memcpy(&four, value, sizeof(four));
		*call = height == 1 ? "cuMemsetD32Async" : "cuMemsetD2D32Async";
		return height == 1 ? drv->MemsetD32Async(to, four, width, stream)
			: drv->MemsetD2D32Async(to, pitch, four, width, height, stream);
	}
}

/* The driver sets patterns of 1, 2 and 4 bytes at once.  A longer pattern is set unit by unit, each
 * in all elements.  Unlike a copy of the pattern this can be captured in a graph. */
static kz_status copy_fill_row(struct kz_device *dev, CUdeviceptr to, int64_t count,
	struct pattern pattern, CUstream stream, kz_error *err)
{
	int64_t small = copy_shrink_pattern(pattern.bytes, pattern.size);
	count *= pattern.size / small;
	int64_t unit = 4;
	while (small % unit != 0 || to % (CUdeviceptr)unit != 0) {
		unit /= 2;
	}
	bool is_dense = small == unit;
	struct rows rows = {to, (size_t)small, is_dense ? (size_t)count : 1,
		is_dense ? 1 : (size_t)count};
	kz_status st = KZ_OK;
	for (int64_t i = 0; !st && i < small; i += unit, rows.to += (CUdeviceptr)unit) {
		const char *call;
		CUresult code = copy_fill_units(dev->drv, &rows, (const char *)pattern.bytes + i,
			(size_t)unit, stream, &call);
		st = device_ok(dev, code, call, err);
	}
	return st;
}

/* Rows of a pattern: at once where the driver can, else row by row. */
static kz_status copy_fill_rows(struct kz_device *dev, const struct rows *rows,
	struct pattern pattern, CUstream stream, kz_error *err)
{
	int64_t small = copy_shrink_pattern(pattern.bytes, pattern.size);
	const char *call;
	kz_status st = KZ_OK;
	if (small <= 4 && (rows->to | rows->pitch) % (CUdeviceptr)small == 0) {
		struct rows units = *rows;
		units.width *= (size_t)(pattern.size / small);
		CUresult code = copy_fill_units(dev->drv, &units, pattern.bytes, (size_t)small,
			stream, &call);
		return device_ok(dev, code, call, err);
	}
	for (size_t y = 0; !st && y < rows->height; y++) {
		st = copy_fill_row(dev, rows->to + y * rows->pitch, (int64_t)rows->width, pattern,
			stream, err);
	}
	return st;
}

/* Fill rows of a buffer, whose width counts patterns.  All was checked. */
static kz_status copy_fill_run(struct kz_buffer *buffer, const struct rows *rows,
	struct pattern pattern, struct kz_stream *stream, kz_error *err)
{
	struct kz_device *dev = buffer->memory->device;
	struct device_scope scope;
	kz_status st;
	if ((st = stream_pick(&stream, dev, stream, err)) || rows->width == 0 || rows->height == 0
	    || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	if (!(st = memory_use(buffer->memory, stream, err))) {
		struct trace_op op;
		bool is_traced = unlikely(trace_is_on());
		if (is_traced) {
			trace_op_begin(&op, stream, "fill");
		}
		st = rows->height == 1 ? copy_fill_row(dev, rows->to, (int64_t)rows->width, pattern,
			stream->handle, err) : copy_fill_rows(dev, rows, pattern, stream->handle,
			err);
		if (is_traced) {
			trace_op_end(&op, st, "fill",
				"\"stream\":%lld,\"bytes\":%lld", (long long)stream->number,
				(long long)rows->width * (long long)rows->height * pattern.size);
		}
		st = st ? st : memory_used(buffer->memory, stream, err);
	}
	device_leave(dev, &scope);
	return st;
}

kz_status buffer_fill(struct kz_buffer *buffer, int64_t count, struct pattern pattern,
	struct kz_stream *stream, kz_error *err)
{
	const struct rows rows = {buffer_address(buffer), 0, (size_t)count, 1};
	return copy_fill_run(buffer, &rows, pattern, stream, err);
}

static kz_status copy_check_pattern(const void *pattern, int64_t pattern_size, kz_error *err)
{
	kz_status st = pointer_check(pattern, "a pattern", err);
	if (!st && (pattern_size < 1 || pattern_size > 8 || (pattern_size & (pattern_size - 1)))) {
		st = error_set(err, KZ_INVALID,
			"expected a pattern of 1, 2, 4 or 8 bytes, got %lld",
			(long long)pattern_size);
	}
	return st;
}

kz_status kz_fill_2d(kz_buffer *buffer, int64_t offset, int64_t pitch, int64_t width,
	int64_t height, const void *pattern, int64_t pattern_size, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	int64_t size = 0;
	kz_status st;
	if ((st = buffer_check(buffer, 0, 0, err))
	    || (st = copy_check_pattern(pattern, pattern_size, err))) {
		return st;
	}
	if (width < 0 || height < 0 || pitch < width || width % pattern_size) {
		return error_set(err, KZ_INVALID,
			"expected rows of a multiple of the pattern's %lld bytes within their "
			"pitch, got width %lld, height %lld, pitch %lld", (long long)pattern_size,
			(long long)width, (long long)height, (long long)pitch);
	}
	if (width > 0 && height > 0 && (__builtin_mul_overflow(height - 1, pitch, &size)
			|| __builtin_add_overflow(size, width, &size))) {
		return error_set(err, KZ_RANGE,
			"%lld rows with a pitch of %lld bytes overflow 64 bits",
			(long long)height, (long long)pitch);
	}
	if ((st = buffer_check(buffer, offset, size, err))) {
		return st;
	}
	const struct rows rows = {copy_address((struct buffer_place){buffer, offset}),
		(size_t)pitch, (size_t)(width / pattern_size), (size_t)height};
	return copy_fill_run(buffer, &rows, (struct pattern){pattern, pattern_size}, stream, err);
}

kz_status kz_fill(kz_buffer *buffer, int64_t offset, int64_t size, const void *pattern,
	int64_t pattern_size, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = buffer_check(buffer, offset, size, err))
	    || (st = copy_check_pattern(pattern, pattern_size, err))) {
		return st;
	}
	if (offset % pattern_size || size % pattern_size) {
		return error_set(err, KZ_INVALID,
			"expected multiples of the pattern's %lld, got offset %lld, size %lld",
			(long long)pattern_size, (long long)offset, (long long)size);
	}
	const struct rows rows = {copy_address((struct buffer_place){buffer, offset}), 0,
		(size_t)(size / pattern_size), 1};
	return copy_fill_run(buffer, &rows, (struct pattern){pattern, pattern_size}, stream, err);
}

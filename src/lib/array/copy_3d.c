/* SPDX-License-Identifier: MIT */
/*
 * Copies of boxes between host memory, buffers and CUDA arrays.
 *
 * One description of the driver says it all.  Each side is checked first, since the driver does not
 * know where the memory of a block of the pool ends, nor that of the host.  A side then is what the
 * description has of it, and the memory to be ordered by memory_use().
 */
#include "base/common.h"

#include <kudzu/copy.h>

#include "lib/array/cuda_array.h"
#include "lib/array/overlap.h"
#include "lib/core/trace.h"

#include <stdlib.h>
#include <string.h>

/* A checked side. */
struct box_side {
	const char *name;           /* "to" or "from" */
	const kz_copy_side *in;
	struct memory *memory;      /* borrowed; NULL: host memory */
	CUarray texels;             /* of a CUDA array */
	uint64_t address;           /* of the place (0, 0, 0) */
	int64_t pitch;
	int64_t rows;
};

/* Linear memory */

/* Find where a box ends, from the start of the memory; false beyond 64 bits. */
static bool copy_3d_find_end(int64_t *end, const struct box_side *side,
	const kz_copy_3d_options *box)
{
	const kz_copy_side *in = side->in;
	return !__builtin_add_overflow(in->z, box->depth - 1, end)
		&& !__builtin_mul_overflow(*end, side->rows, end)
		&& !__builtin_add_overflow(*end, in->y, end)
		&& !__builtin_add_overflow(*end, box->height - 1, end)
		&& !__builtin_mul_overflow(*end, side->pitch, end)
		&& !__builtin_add_overflow(*end, in->x, end)
		&& !__builtin_add_overflow(*end, box->width, end)
		&& !__builtin_add_overflow(*end, in->offset, end);
}

/* Fill in pitch and rows where they are 0, and check that rows and slices lie within them. */
static kz_status copy_3d_check_pitch(struct box_side *side, const kz_copy_3d_options *box,
	kz_error *err)
{
	const kz_copy_side *in = side->in;
	bool has_slices = box->depth > 1 || in->z > 0;
	bool has_rows = has_slices || box->height > 1 || in->y > 0;
	int64_t row = in->x > INT64_MAX - box->width ? INT64_MAX : in->x + box->width;
	int64_t slice = in->y > INT64_MAX - box->height ? INT64_MAX : in->y + box->height;
	side->pitch = in->pitch ? in->pitch : has_rows ? box->width : row;
	side->rows = in->rows ? in->rows : has_slices ? box->height : slice;
	if (row > side->pitch) {
		return error_set(err, KZ_INVALID, "'%s': expected rows within their pitch of %lld "
			"bytes, got %lld from x = %lld on", side->name, (long long)side->pitch,
			(long long)box->width, (long long)in->x);
	}
	if (slice > side->rows) {
		return error_set(err, KZ_INVALID, "'%s': expected slices of at most %lld rows, got "
			"%lld from y = %lld on", side->name, (long long)side->rows,
			(long long)box->height, (long long)in->y);
	}
	return KZ_OK;
}

static kz_status copy_3d_check_linear(struct box_side *side, const kz_copy_3d_options *box,
	int64_t size, const char *what, kz_error *err)
{
	const kz_copy_side *in = side->in;
	int64_t end;
	if (in->level != 0) {
		return error_set(err, KZ_INVALID, "'%s': %s has no level %lld", side->name, what,
			(long long)in->level);
	}
	kz_status st = copy_3d_check_pitch(side, box, err);
	if (st) {
		return st;
	}
	if (!copy_3d_find_end(&end, side, box)) {
		return error_set(err, KZ_RANGE, "'%s': the end of the box overflows 64 bits",
			side->name);
	}
	return end <= size ? KZ_OK
		: error_set(err, KZ_RANGE, "'%s': the box ends at byte %lld of %s of %lld byte%s",
			side->name, (long long)end, what, (long long)size, plural(size));
}

/* CUDA arrays */

static kz_status copy_3d_check_texels(struct box_side *side, const kz_copy_3d_options *box,
	kz_error *err)
{
	const kz_copy_side *in = side->in;
	const struct kz_cuda_array *texels = in->texels;
	struct cuda_array_extent extent;
	struct device_scope scope;
	kz_status st;
	if (in->pitch || in->rows || in->offset) {
		return error_set(err, KZ_INVALID,
			"'%s': a CUDA array has no pitch, rows and offset", side->name);
	}
	if ((st = device_enter(texels->memory->device, &scope, err))) {
		return st;
	}
	st = cuda_array_level(&side->texels, texels, in->level, err);
	device_leave(texels->memory->device, &scope);
	if (st) {
		return st;
	}
	cuda_array_measure(&extent, texels, in->level);
	if (in->x % extent.texel || box->width % extent.texel) {
		return error_set(err, KZ_INVALID, "'%s': expected whole texels of %lld bytes, got "
			"%lld bytes from x = %lld on", side->name, (long long)extent.texel,
			(long long)box->width, (long long)in->x);
	}
	if (in->x > extent.width - box->width || in->y > extent.height - box->height
	    || in->z > extent.depth - box->depth) {
		return error_set(err, KZ_RANGE, "'%s': %lld bytes by %lld by %lld at (%lld, %lld, "
			"%lld) of a CUDA array that has %lld by %lld by %lld", side->name,
			(long long)box->width, (long long)box->height, (long long)box->depth,
			(long long)in->x, (long long)in->y, (long long)in->z,
			(long long)extent.width, (long long)extent.height, (long long)extent.depth);
	}
	return KZ_OK;
}

/* Both sides */

static kz_status copy_3d_check_side(struct box_side *side, const kz_copy_3d_options *box,
	kz_error *err)
{
	const kz_copy_side *in = side->in;
	int count = !!in->host + !!in->buffer + !!in->texels;
	kz_status st = KZ_OK;
	if (count != 1) {
		(void)error_set(err, KZ_INVALID,
			"'%s': expected exactly one of host, buffer and texels, got %d",
			side->name, count);
		return KZ_INVALID;
	}
	if (in->x < 0 || in->y < 0 || in->z < 0 || in->offset < 0 || in->pitch < 0
	    || in->rows < 0) {
		return error_set(err, KZ_INVALID, "'%s': expected numbers of at least 0, got x "
			"%lld, y %lld, z %lld, offset %lld, pitch %lld, rows %lld",
			side->name, (long long)in->x,
			(long long)in->y, (long long)in->z, (long long)in->offset,
			(long long)in->pitch, (long long)in->rows);
	}
	if (in->host) {
		side->address = (uintptr_t)in->host + (uint64_t)in->offset;
		return copy_3d_check_linear(side, box, in->host_size, "host memory", err);
	}
	if (in->texels) {
		if ((st = object_check_as(in->texels, OBJECT_CUDA_ARRAY, "texels", err))) {
			return st;
		}
		side->memory = in->texels->memory;
		return copy_3d_check_texels(side, box, err);
	}
	if (!(st = object_check_as(in->buffer, OBJECT_BUFFER, "buffer", err))) {
		side->memory = in->buffer->memory;
		side->address = buffer_address(in->buffer) + (uint64_t)in->offset;
		st = copy_3d_check_linear(side, box, in->buffer->size, "a buffer", err);
	}
	return st;
}

/* The rows of a box in linear memory. */
static struct strided copy_3d_rows(const struct box_side *side, const kz_copy_3d_options *box,
	int64_t strides[2], int64_t *address)
{
	const kz_copy_side *in = side->in;
	strides[0] = in->z + box->depth > 1 ? side->rows * side->pitch : 0;
	strides[1] = side->pitch;
	*address = (int64_t)side->address + in->z * strides[0] + in->y * strides[1] + in->x;
	return (struct strided){KZ_SHAPE(box->depth, box->height), strides, box->width};
}

static bool copy_3d_overlaps(const struct box_side *to, const struct box_side *from,
	const kz_copy_3d_options *box)
{
	int64_t strides[2][2], address[2];
	const kz_copy_side *a = to->in, *b = from->in;
	if (a->texels || b->texels) {
		return to->memory == from->memory && a->level == b->level
			&& llabs(a->x - b->x) < box->width && llabs(a->y - b->y) < box->height
			&& llabs(a->z - b->z) < box->depth;
	}
	const struct strided rows[2] = {copy_3d_rows(to, box, strides[0], &address[0]),
		copy_3d_rows(from, box, strides[1], &address[1])};
	return overlap_elements(&rows[0], address[0], &rows[1], address[1]);
}

static kz_status copy_3d_check(struct box_side *to, struct box_side *from,
	const kz_copy_3d_options *box, kz_error *err)
{
	kz_status st = pointer_check(box, "a kz_copy_3d_options", err);
	if (st) {
		return st;
	}
	if (box->size != sizeof(*box)) {
		(void)struct_refuse("kz_copy_3d_options", box->size, sizeof(*box), err);
		return KZ_INVALID;
	}
	*to = (struct box_side){.name = "to", .in = &box->to};
	*from = (struct box_side){.name = "from", .in = &box->from};
	if (box->width < 0 || box->height < 0 || box->depth < 0) {
		(void)error_set(err, KZ_INVALID, "expected a box of 0 bytes or more, got %lld by "
			"%lld by %lld", (long long)box->width, (long long)box->height,
			(long long)box->depth);
		return KZ_INVALID;
	}
	if ((st = copy_3d_check_side(to, box, err))
	    || (st = copy_3d_check_side(from, box, err))) {
		return st;
	}
	if (!to->memory && !from->memory) {
		(void)error_set(err, KZ_INVALID,
			"expected at least one side on a device, got both on the host");
		return KZ_INVALID;
	}
	if (to->memory && from->memory && to->memory->device->drv != from->memory->device->drv) {
		return error_set(err, KZ_INVALID, "cannot copy from %s to %s: they have different "
			"drivers", from->memory->device->name, to->memory->device->name);
	}
	return KZ_OK;
}

/* The copy */

static CUDA_MEMCPY3D copy_3d_describe(const struct box_side *to, const struct box_side *from,
	const kz_copy_3d_options *box)
{
	static const CUmemorytype types[2][2] = {
		{CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
		{CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_ARRAY}};
	return (CUDA_MEMCPY3D){
		/* copy_3d_check has set both. */
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
		.srcXInBytes = (size_t)from->in->x, .srcY = (size_t)from->in->y,
		.srcZ = (size_t)from->in->z,
		.srcMemoryType = types[!!from->in->texels][!!from->memory],
		.srcHost = (const void *)(uintptr_t)from->address, /* NOLINT: an address it is */
		.srcDevice = from->address, .srcArray = from->texels,
		.srcPitch = (size_t)from->pitch, .srcHeight = (size_t)from->rows,
		.dstXInBytes = (size_t)to->in->x, .dstY = (size_t)to->in->y,
		.dstZ = (size_t)to->in->z,
		.dstMemoryType = types[!!to->in->texels][!!to->memory],
		.dstHost = (void *)(uintptr_t)to->address, /* NOLINT */
		.dstDevice = to->address, .dstArray = to->texels,
		.dstPitch = (size_t)to->pitch, .dstHeight = (size_t)to->rows,
		.WidthInBytes = (size_t)box->width, .Height = (size_t)box->height,
		.Depth = (size_t)box->depth,
	};
}

/* The driver's call.  Between devices the description names both contexts, where it has gaps
 * else. */
static kz_status copy_3d_start(const struct box_side *to, const struct box_side *from,
	const kz_copy_3d_options *box, struct kz_stream *stream, kz_error *err)
{
	struct kz_device *dev = stream->device;
	const CUDA_MEMCPY3D copy = copy_3d_describe(to, from, box);
	if (!to->memory || !from->memory || to->memory->device == from->memory->device) {
		return device_ok(dev, dev->drv->Memcpy3DAsync(&copy, stream->handle),
			"cuMemcpy3DAsync", err);
	}
	CUDA_MEMCPY3D_PEER peers;
	static_assert(sizeof(peers) == sizeof(copy)
		&& offsetof(CUDA_MEMCPY3D_PEER, srcContext) == offsetof(CUDA_MEMCPY3D, reserved0)
		&& offsetof(CUDA_MEMCPY3D_PEER, dstContext) == offsetof(CUDA_MEMCPY3D, reserved1),
		"they differ in their contexts only");
	memcpy(&peers, &copy, sizeof(peers));
	peers.srcContext = from->memory->device->context;
	peers.dstContext = to->memory->device->context;
	return device_ok(dev, dev->drv->Memcpy3DPeerAsync(&peers, stream->handle),
		"cuMemcpy3DPeerAsync", err);
}

static kz_status box_copy(const struct box_side *to, const struct box_side *from,
	const kz_copy_3d_options *box, struct kz_stream *stream, kz_error *err)
{
	const kz_copy_side *host = to->memory ? from->memory ? NULL : from->in : to->in;
	struct memory *pinned = host ? pinned_find(stream->device, host->host) : NULL;
	struct copy_pass pass;
	struct trace_op op;
	kz_status st = copy_begin(&pass, to->memory ? to->memory : pinned,
		from->memory ? from->memory : pinned, stream, err);
	if (!st) {
		bool is_traced = unlikely(trace_is_on());
		if (is_traced) {
			trace_op_begin(&op, stream, "copy of a box");
		}
		st = copy_3d_start(to, from, box, stream, err);
		if (is_traced) {
			trace_op_end(&op, st, "copy",
				"\"stream\":%lld,\"width\":%lld,\"height\":%lld,\"depth\":%lld",
				(long long)stream->number, (long long)box->width,
				(long long)box->height, (long long)box->depth);
		}
		st = copy_end(&pass, st, err);
	}
	memory_release(pinned);
	return st;
}

static bool copy_3d_is_empty(const kz_copy_3d_options *box)
{
	return box->width == 0 || box->height == 0 || box->depth == 0;
}

static kz_status copy_3d_check_overlap(const struct box_side *to, const struct box_side *from,
	const kz_copy_3d_options *box, kz_error *err)
{
	return !copy_3d_overlaps(to, from, box) ? KZ_OK
		: error_set(err, KZ_INVALID, "the box to copy overlaps its target");
}

kz_status kz_copy_3d(const kz_copy_3d_options *options, kz_error *err)
{
	error_scope(err);
	struct box_side to, from;
	kz_status st;
	if ((st = copy_3d_check(&to, &from, options, err)) || copy_3d_is_empty(options)
	    || (st = copy_3d_check_overlap(&to, &from, options, err))) {
		return st;
	}
	bool waits = !to.memory || !from.memory;
	struct memory *memory = to.memory ? to.memory : from.memory;
	if (waits && (st = memory_check_capture(memory, err))) {
		return st;
	}
	struct kz_stream *stream = memory_stream(memory);
	st = box_copy(&to, &from, options, stream, err);
	if (!st && waits) {
		st = kz_stream_synchronize(stream, err);
	}
	stream_release(stream);
	return st;
}

kz_status kz_copy_3d_on(const kz_copy_3d_options *options, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct box_side to, from;
	kz_status st;
	if ((st = copy_3d_check(&to, &from, options, err))
	    || (st = object_check(stream, OBJECT_STREAM, err))
	    || (st = stream_pick(&stream, (to.memory ? to.memory : from.memory)->device, stream,
		err))
	    || copy_3d_is_empty(options) || (st = copy_3d_check_overlap(&to, &from, options,
		err))) {
		return st;
	}
	return box_copy(&to, &from, options, stream, err);
}

/* SPDX-License-Identifier: MIT */
/*
 * Array elements to and from the host.
 *
 * Either side may have any strides.  If both are row-major without gaps, one copy does it.
 * Otherwise a kernel packs or unpacks the elements through a row-major array on the device.  It
 * does not touch the bytes between the elements, so another stream may write there at the same
 * time.  Where these bytes are few, or there is no compiler, they travel, too (span.c).
 *
 * The kernel belongs to src/lib/ops, which is above this folder; array_copy_by_kernel leads to it.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/array/array.h"
#include "lib/array/format.h"
#include "lib/array/overlap.h"
#include "lib/array/shape.h"
#include "lib/array/span.h"

#include <kudzu/view.h>

#include <string.h>

/* Elements at two places in host memory that overlap: by way of a third, of so many bytes. */
static kz_status transfer_move_twice(const struct strided *to, char *to_first,
	const struct strided *from, const char *from_first, int64_t size, kz_error *err)
{
	int64_t row_major[KZ_MAX_DIMS];
	const struct strided between = {from->shape, row_major, from->size};
	char *packed = mem_alloc((size_t)size);
	if (!packed) {
		return error_no_memory(err);
	}
	strided_row_major(row_major, &from->shape, from->size);
	strided_copy(from, packed, row_major, from_first);
	strided_copy(&between, to_first, to->strides, packed);
	mem_free(packed);
	return KZ_OK;
}

/* The CPU device's memory is host memory: between two places there, no copy stands between, unless
 * the program gives the address of that memory, which kz_array_host tells. */
static kz_status transfer_move_on_host(const struct kz_array *array, char *host,
	const int64_t *host_strides, bool to_host, kz_error *err)
{
	int64_t row_major[KZ_MAX_DIMS];
	const struct strided elements = array_elements(array);
	char *first = (char *)(uintptr_t)array_address(array); /* NOLINT: an address it is */
	kz_status st = array_wait(array, err);
	if (st) {
		return st;
	}
	if (!host_strides) {
		strided_row_major(row_major, &elements.shape, elements.size);
		host_strides = row_major;
	}
	const struct strided there = {elements.shape, host_strides, elements.size};
	if (overlap_elements(&elements, (int64_t)(uintptr_t)first, &there,
		(int64_t)(uintptr_t)host)) {
		const int64_t size = kz_array_size(array);
		return to_host ? transfer_move_twice(&there, host, &elements, first, size, err)
			: transfer_move_twice(&elements, first, &there, host, size, err);
	}
	if (to_host) {
		strided_copy(&elements, host, host_strides, first);
	} else {
		strided_copy(&there, first, array->strides, host);
	}
	return KZ_OK;
}

/* Views with gaps are packed and unpacked on the device where that is worth a kernel, or needed. */

/* Move through a row-major array on the device. */
static kz_status transfer_move_packed(struct kz_array *array, void *host,
	const int64_t *host_strides, bool to_host, kz_error *err)
{
	struct kz_array *packed = NULL;
	kz_status st = kz_array_like(&packed, array, err);
	if (st) {
		return st;
	}
	if (to_host) {
		st = array_copy_by_kernel(packed, array, NULL, err);
		st = st ? st : array_move(packed, host, host_strides, true, err);
	} else {
		st = array_move(packed, host, host_strides, false, err);
		st = st ? st : array_copy_by_kernel(array, packed, NULL, err);
	}
	kz_array_release(packed);
	return st;
}

static bool transfer_has_gaps(const struct kz_array *array, bool to_host)
{
	int64_t low, high;
	const struct strided elements = array_elements(array);
	int64_t size = kz_array_size(array);
	(void)strided_span(&low, &high, &elements); /* that of an array fits its buffer */
	/* Reading bytes between the elements in vain does not matter if they are few.  Writing them
	 * does: other streams may use them. */
	return high - low > (to_host ? 4 * size + (64 << 10) : size);
}

kz_status array_move(struct kz_array *array, void *host, const int64_t *host_strides,
	bool to_host, kz_error *err)
{
	int64_t row_major[KZ_MAX_DIMS];
	int64_t size = kz_dtype_size(array->dtype);
	if (!host_strides && kz_array_is_contiguous(array)) {
		return to_host
			? kz_copy_dtoh(host, kz_array_size(array), array->buffer, array->offset,
				err)
			: kz_copy_htod(array->buffer, array->offset, host, kz_array_size(array),
				err);
	}
	if (array_is_on_host(array)) {
		return transfer_move_on_host(array, host, host_strides, to_host, err);
	}
	if (transfer_has_gaps(array, to_host)) {
		kz_error packing = KZ_ERROR_INIT; /* without a compiler, say, there is another
		                                     way */
		kz_status st = transfer_move_packed(array, host, host_strides, to_host, &packing);
		kz_error_clear(&packing);
		if (!st) {
			return KZ_OK;
		}
	}
	if (!host_strides) {
		strided_row_major(row_major, &array->shape, size);
		host_strides = row_major;
	}
	const struct span_transfer t = {array->buffer, array->strides, host_strides, size, to_host};
	return span_move(&t, &array->shape, array->offset, host, err);
}

kz_status array_check_host(const void *host, int64_t size, int64_t count, kz_dtype dtype,
	kz_error *err)
{
	int64_t need = count * kz_dtype_size(dtype);
	if (size != need) {
		return error_set(err, KZ_RANGE,
			"expected %lld byte%s of host memory for %lld %s, got %lld",
			(long long)need, plural(need), (long long)count, kz_dtype_name(dtype),
			(long long)size);
	}
	if (!host && size > 0) {
		return error_set(err, KZ_INVALID, "expected %lld byte%s of host memory, got "
			"NULL", (long long)size, plural(size));
	}
	return KZ_OK;
}

static kz_status transfer_check_host(const struct kz_array *array, const void *host, int64_t size,
	kz_error *err)
{
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	return st ? st : array_check_host(host, size, array->count, array->dtype, err);
}

static kz_status transfer_check_set(const struct kz_array *array, kz_error *err)
{
	const struct strided elements = array_elements(array);
	return strided_distinct(&elements, "a view", err);
}

kz_status kz_array_get(kz_array *array, void *host, int64_t size, kz_error *err)
{
	error_scope(err);
	kz_status st = transfer_check_host(array, host, size, err);
	if (st || size == 0 || (st = array_check_capture(array, err))) {
		return st;
	}
	return array_move(array, host, NULL, true, err);
}

kz_status array_take_number(void *out, kz_dtype dtype, const void *raw, kz_dtype found,
	kz_error *err)
{
	bool is_wider = dtype_is_number(found) && dtype_kind(dtype) == dtype_kind(found)
		&& dtype_size(dtype) > dtype_size(found);
	if (dtype != found && !is_wider) {
		const char *wanted = kz_dtype_name(dtype);
		return error_set(err, KZ_INVALID, "the result is %s, and the number for it is %s",
			kz_dtype_name(found), wanted ? wanted : "of no dtype");
	}
	if (is_wider) {
		format_widen(out, dtype, raw, found);
	} else {
		memcpy(out, raw, (size_t)dtype_size(found));
	}
	return KZ_OK;
}

kz_status array_take_only(void *out, kz_dtype dtype, kz_array *array, kz_error *err)
{
	uint64_t raw[2] = {0};
	if (array->count != 1) {
		return error_set(err, KZ_INVALID, "expected one element, got shape %s",
			shape_text(&array->shape).text);
	}
	if (!dtype_is_builtin(array->dtype)) {
		return error_set(err, KZ_INVALID, "the element is a struct: use kz_array_get");
	}
	kz_status st = kz_array_get(array, raw, dtype_size(array->dtype), err);
	return st ? st : array_take_number(out, dtype, raw, array->dtype, err);
}

kz_status kz_array_item_as(void *out, kz_dtype dtype, kz_array *array, kz_slices at, kz_error *err)
{
	error_scope(err);
	struct kz_array *item = NULL;
	kz_status st = pointer_check(out, "host memory", err);
	st = st ? st : kz_array_slice(&item, array, at, err);
	st = st ? st : array_take_only(out, dtype, item, err);
	kz_array_release(item);
	return st;
}

kz_status kz_array_set(kz_array *array, const void *host, int64_t size, kz_error *err)
{
	error_scope(err);
	kz_status st = transfer_check_host(array, host, size, err);
	if (st || size == 0 || (st = transfer_check_set(array, err))
	    || (st = array_check_capture(array, err))) {
		return st;
	}
	return array_move(array, (void *)host, NULL, false, err);
}

/* With strides of the host */

/* Host memory in which elements lie at strides. */
struct host_places {
	const void *host;
	int64_t size;            /* of the memory */
	const int64_t *strides;  /* NULL: row-major */
	int64_t offset;          /* of the first element */
};

/* Check that an array's elements have places there; *first is the first one's. */
static kz_status transfer_check_places(char **first, const struct kz_array *array,
	const struct host_places *there, kz_error *err)
{
	int64_t row_major[KZ_MAX_DIMS];
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	*first = NULL;
	if (st) {
		return st;
	}
	if (there->size < 0 || (!there->host && there->size > 0)) {
		return error_set(err, KZ_INVALID, there->size < 0
			? "expected a size of host memory of at least 0, got %lld"
			: "expected %lld bytes of host memory, got NULL",
			(long long)there->size);
	}
	struct strided places = array_elements(array);
	places.strides = there->strides;
	if (!there->strides) {
		strided_row_major(row_major, &array->shape, places.size);
		places.strides = row_major;
	}
	const struct strided_bounds bounds = {there->size, 0, "elements", "host memory"};
	if (!(st = strided_check(&places, there->offset, &bounds, err)) && there->host) {
		*first = (char *)there->host + there->offset;
	}
	return st;
}

kz_status kz_array_get_strided(kz_array *array, void *host, int64_t size, const int64_t *strides,
	int64_t offset, kz_error *err)
{
	error_scope(err);
	char *first;
	const struct host_places there = {host, size, strides, offset};
	kz_status st = transfer_check_places(&first, array, &there, err);
	if (st || array->count == 0 || (st = array_check_capture(array, err))) {
		return st;
	}
	struct strided places = array_elements(array);
	places.strides = strides;
	st = strides ? strided_distinct(&places, "host memory", err) : KZ_OK;
	return st ? st : array_move(array, first, strides, true, err);
}

kz_status kz_array_set_strided(kz_array *array, const void *host, int64_t size,
	const int64_t *strides, int64_t offset, kz_error *err)
{
	error_scope(err);
	char *first;
	const struct host_places there = {host, size, strides, offset};
	kz_status st = transfer_check_places(&first, array, &there, err);
	if (st || array->count == 0 || (st = transfer_check_set(array, err))
	    || (st = array_check_capture(array, err))) {
		return st;
	}
	return array_move(array, first, strides, false, err);
}

/* New arrays */

kz_status kz_array_from(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	const void *host, int64_t size, kz_error *err)
{
	error_scope(err);
	struct kz_array *array = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = kz_array_create(&array, dev, dtype, shape, err))) {
		return st;
	}
	if (!(st = array_check_host(host, size, array->count, dtype, err))
	    && !(st = array_check_capture(array, err))) {
		st = kz_copy_htod(array->buffer, 0, host, size, err);
	}
	return array_finish(out, array, st);
}

kz_status kz_array_from_strided(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	const void *host, int64_t size, const int64_t *strides, int64_t offset, kz_error *err)
{
	error_scope(err);
	struct kz_array *array = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = kz_array_create(&array, dev, dtype, shape, err))) {
		return st;
	}
	st = array_check_capture(array, err);
	st = st ? st : kz_array_set_strided(array, host, size, strides, offset, err);
	return array_finish(out, array, st);
}

/* In a stream */

static kz_status transfer_check_async(const struct kz_array *array, const void *host, int64_t size,
	struct kz_stream *stream, kz_error *err)
{
	kz_status st;
	if ((st = transfer_check_host(array, host, size, err))
	    || (st = object_check(stream, OBJECT_STREAM, err))) {
		return st;
	}
	return stream_pick(&stream, kz_array_device(array), stream, err);
}

/* An array of the same shape to pack into, or the array itself if it is packed. */
static kz_status transfer_pack_for(struct kz_array **out, struct kz_array *array, kz_error *err)
{
	if (kz_array_is_contiguous(array)) {
		*out = kz_array_retain(array);
		return KZ_OK;
	}
	return kz_array_like(out, array, err);
}

kz_status kz_array_get_async(kz_array *array, void *host, int64_t size, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	struct kz_array *packed;
	kz_status st = transfer_check_async(array, host, size, stream, err);
	if (st || size == 0 || (st = transfer_pack_for(&packed, array, err))) {
		return st;
	}
	st = packed == array ? KZ_OK : array_copy_by_kernel(packed, array, stream, err);
	st = st ? st : kz_copy_dtoh_async(host, size, packed->buffer, packed->offset, stream, err);
	kz_array_release(packed);
	return st;
}

kz_status kz_array_set_async(kz_array *array, const void *host, int64_t size, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	struct kz_array *packed;
	kz_status st = transfer_check_async(array, host, size, stream, err);
	if (st || size == 0 || (st = transfer_check_set(array, err))
	    || (st = transfer_pack_for(&packed, array, err))) {
		return st;
	}
	st = kz_copy_htod_async(packed->buffer, packed->offset, host, size, stream, err);
	st = st || packed == array ? st : array_copy_by_kernel(array, packed, stream, err);
	kz_array_release(packed);
	return st;
}

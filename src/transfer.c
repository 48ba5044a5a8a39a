/* SPDX-License-Identifier: MIT */
/*
 * Array elements to and from the host.
 *
 * Either side may have any strides.  Where both are row-major without gaps one copy does it, else
 * span.c.
 */
#include "base/common.h"

#include "array.h"
#include "span.h"

kz_status array_move(struct kz_array *array, void *host, const int64_t *host_strides,
	bool to_host, kz_error *err)
{
	int64_t row_major[KZ_MAX_DIMS];
	int64_t size = kz_dtype_size(array->dtype);
	if (!host_strides && kz_array_is_contiguous(array)) {
		return to_host
			? kz_copy_dtoh(host, kz_array_size(array), array->buffer, array->offset, err)
			: kz_copy_htod(array->buffer, array->offset, host, kz_array_size(array),
				err);
	}
	if (!host_strides) {
		strided_row_major(row_major, &array->shape, size);
	}
	const struct span_transfer t = {array->buffer, array->strides,
		host_strides ? host_strides : row_major, size, to_host};
	return span_move(&t, &array->shape, array->offset, host, err);
}

static kz_status check_host(const struct kz_array *array, const void *host, int64_t size,
	kz_error *err)
{
	kz_status st = object_check(array, "an array", err);
	return st ? st : array_check_host(host, size, array->count, array->dtype, err);
}

static kz_status check_set(const struct kz_array *array, kz_error *err)
{
	const struct strided elements = array_elements(array);
	return strided_distinct(&elements, "a view", err);
}

kz_status kz_array_get(kz_array *array, void *host, int64_t size, kz_error *err)
{
	kz_status st = check_host(array, host, size, err);
	return st || size == 0 ? st : array_move(array, host, NULL, true, err);
}

kz_status kz_array_set(kz_array *array, const void *host, int64_t size, kz_error *err)
{
	kz_status st = check_host(array, host, size, err);
	if (st || size == 0 || (st = check_set(array, err))) {
		return st;
	}
	return array_move(array, (void *)host, NULL, false, err);
}

/* With strides of the host */

/* `*first` is set to the first element's place. */
static kz_status check_places(char **first, const struct kz_array *array, const void *host,
	int64_t size, const int64_t *strides, int64_t offset, kz_error *err)
{
	int64_t row_major[KZ_MAX_DIMS];
	kz_status st = object_check(array, "an array", err);
	*first = NULL;
	if (st) {
		return st;
	}
	if (size < 0 || (!host && size > 0)) {
		return error_set(err, KZ_INVALID, size < 0
			? "expected a size of host memory from 0, got %lld"
			: "expected %lld bytes of host memory, got NULL", (long long)size);
	}
	struct strided places = array_elements(array);
	places.strides = strides;
	if (!strides) {
		strided_row_major(row_major, &array->shape, places.size);
		places.strides = row_major;
	}
	const struct strided_bounds bounds = {size, 0, "elements", "host memory"};
	if (!(st = strided_check(&places, offset, &bounds, err)) && host) {
		*first = (char *)host + offset;
	}
	return st;
}

kz_status kz_array_get_strided(kz_array *array, void *host, int64_t size, const int64_t *strides,
	int64_t offset, kz_error *err)
{
	char *first;
	kz_status st = check_places(&first, array, host, size, strides, offset, err);
	if (st || array->count == 0) {
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
	char *first;
	kz_status st = check_places(&first, array, host, size, strides, offset, err);
	if (st || array->count == 0 || (st = check_set(array, err))) {
		return st;
	}
	return array_move(array, first, strides, false, err);
}

/* In a stream */

static kz_status check_async(const struct kz_array *array, const void *host, int64_t size,
	struct kz_stream *stream, kz_error *err)
{
	kz_status st;
	if ((st = check_host(array, host, size, err))
	    || (st = object_check(stream, "a stream", err))
	    || (st = stream_pick(&stream, kz_array_device(array), stream, err))) {
		return st;
	}
	return kz_array_is_contiguous(array) ? KZ_OK : error_set(err, KZ_UNSUPPORTED,
		"expected a row-major array without gaps for an asynchronous copy, got a view");
}

kz_status kz_array_get_async(kz_array *array, void *host, int64_t size, kz_stream *stream,
	kz_error *err)
{
	kz_status st = check_async(array, host, size, stream, err);
	return st || size == 0 ? st
		: kz_copy_dtoh_async(host, size, array->buffer, array->offset, stream, err);
}

kz_status kz_array_set_async(kz_array *array, const void *host, int64_t size, kz_stream *stream,
	kz_error *err)
{
	kz_status st = check_async(array, host, size, stream, err);
	return st || size == 0 ? st
		: kz_copy_htod_async(array->buffer, array->offset, host, size, stream, err);
}

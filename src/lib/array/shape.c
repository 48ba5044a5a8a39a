/* SPDX-License-Identifier: MIT */
/*
 * Shapes and lists of axes.
 *
 * Both come from callers as plain values, so every function here checks them first.  Products of
 * extents are taken with overflow checks.  In them an extent of 0 counts as 1: the size that an
 * empty array would have with elements must fit, too.
 */
#include "base/common.h"

#include "lib/array/shape.h"

#include <stdio.h>

kz_shape kz_shape_from(const int64_t *dims, int64_t ndim)
{
	/* Without a list of extents it is not a shape: every function refuses it. */
	kz_shape shape = {.ndim = dims || ndim == 0 ? ndim : -1};
	for (int64_t i = 0; dims && i < ndim && i < KZ_MAX_DIMS; i++) {
		shape.dims[i] = dims[i];
	}
	return shape;
}

kz_axes kz_axes_from(const int64_t *items, int64_t count)
{
	kz_axes axes = {.count = items || count == 0 || count == -1 ? count : -2};
	for (int64_t i = 0; items && i < count && i < KZ_MAX_DIMS; i++) {
		axes.items[i] = items[i];
	}
	return axes;
}

struct shape_text shape_text(const kz_shape *shape)
{
	enum { EXTENT = 23, ENDING = 6 }; /* bytes for ", " and an int64_t; for ", ...)" */
	struct shape_text out = {"("};
	size_t len = 1;
	for (int64_t i = 0; i < shape->ndim && i < KZ_MAX_DIMS; i++) {
		if (len + EXTENT + ENDING > sizeof(out.text)) {
			len += (size_t)snprintf(out.text + len, sizeof(out.text) - len, ", ...");
			break;
		}
		len += (size_t)snprintf(out.text + len, sizeof(out.text) - len, "%s%lld",
			i ? ", " : "", (long long)shape->dims[i]);
	}
	snprintf(out.text + len, sizeof(out.text) - len, shape->ndim == 1 ? ",)" : ")");
	return out;
}

kz_status shape_check(const kz_shape *shape, kz_error *err)
{
	if (shape->ndim < 0 || shape->ndim > KZ_MAX_DIMS) {
		return error_set(err, KZ_INVALID, "expected a shape of 0 to %d extents, got %lld",
			KZ_MAX_DIMS, (long long)shape->ndim);
	}
	for (int64_t i = 0; i < shape->ndim; i++) {
		if (shape->dims[i] < 0) {
			return error_set(err, KZ_INVALID, "extent %lld of the shape is %lld",
				(long long)i, (long long)shape->dims[i]);
		}
	}
	return KZ_OK;
}

kz_status shape_count(int64_t *count, const kz_shape *shape, int64_t element_size,
	const char *dtype, kz_error *err)
{
	int64_t size = element_size;
	*count = 1;
	for (int64_t i = 0; i < shape->ndim; i++) {
		int64_t extent = shape->dims[i];
		if (!size64_mul(&size, size, extent ? extent : 1)) {
			return error_set(err, KZ_RANGE,
				"the size of an array of shape %s and dtype %s overflows",
				shape_text(shape).text, dtype);
		}
		*count *= extent;
	}
	return KZ_OK;
}

/* Axes */

kz_status axis_resolve(int64_t *axis, const kz_shape *shape, kz_error *err)
{
	if (*axis < -shape->ndim || *axis >= shape->ndim) {
		return error_set(err, KZ_RANGE, "axis %lld is out of range for shape %s",
			(long long)*axis, shape_text(shape).text);
	}
	*axis += *axis < 0 ? shape->ndim : 0;
	return KZ_OK;
}

kz_status axes_resolve(kz_axes *axes, uint32_t *set, const kz_shape *shape, kz_error *err)
{
	uint32_t seen = 0;
	bool all = axes->count == KZ_ALL_AXES.count;
	axes->count = all ? shape->ndim : axes->count;
	if (axes->count < 0 || axes->count > KZ_MAX_DIMS) {
		return error_set(err, KZ_INVALID, "expected a list of 0 to %d axes, got %lld",
			KZ_MAX_DIMS, (long long)axes->count);
	}
	for (int64_t i = 0; i < axes->count; i++) {
		int64_t axis = all ? i : axes->items[i];
		kz_status st = axis_resolve(&axis, shape, err);
		if (st) {
			return st;
		}
		static_assert(KZ_MAX_DIMS <= 32, "a set of axes has 32 bits");
		if (seen & UINT32_C(1) << axis) {
			return error_set(err, KZ_INVALID,
				"axis %lld of shape %s is named twice", (long long)axis,
				shape_text(shape).text);
		}
		seen |= UINT32_C(1) << axis;
		axes->items[i] = axis;
	}
	if (set) {
		*set = seen;
	}
	return KZ_OK;
}

/* Broadcasting */

kz_status shape_broadcast(kz_shape *out, kz_shape a, kz_shape b, kz_error *err)
{
	*out = (kz_shape){0, {0}};
	kz_shape both = {.ndim = a.ndim > b.ndim ? a.ndim : b.ndim};
	for (int64_t i = 1; i <= both.ndim; i++) {
		int64_t of_a = i <= a.ndim ? a.dims[a.ndim - i] : 1;
		int64_t of_b = i <= b.ndim ? b.dims[b.ndim - i] : 1;
		if (of_a != of_b && of_a != 1 && of_b != 1) {
			return error_set(err, KZ_INVALID,
				"shapes %s and %s do not broadcast: %lld against %lld in axis "
				"-%lld",
				shape_text(&a).text, shape_text(&b).text, (long long)of_a,
				(long long)of_b, (long long)i);
		}
		both.dims[both.ndim - i] = of_a == 1 ? of_b : of_a;
	}
	*out = both;
	return KZ_OK;
}

kz_status kz_shape_broadcast(kz_shape *out, kz_shape a, kz_shape b, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if (!out) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", __func__);
	}
	*out = (kz_shape){0, {0}};
	if ((st = shape_check(&a, err)) || (st = shape_check(&b, err))) {
		return st;
	}
	return shape_broadcast(out, a, b, err);
}

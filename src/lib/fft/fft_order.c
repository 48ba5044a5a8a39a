/* SPDX-License-Identifier: MIT */
/* The order and the frequencies of the elements of a spectrum. */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/core/object.h"
#include "lib/ops/elementwise.h"

#include <kudzu/create.h>
#include <kudzu/fft.h>
#include <kudzu/join.h>

/* Roll each axis of n by a half of it, rounded down, or the other half to the left. */
static kz_status order_shift(kz_array **out, kz_array *array, kz_axes axes, bool is_inverse,
	const kz_op_options *options, kz_error *err)
{
	struct elementwise how = {.into = NULL};
	kz_op_options each = KZ_OP_OPTIONS_INIT;
	struct kz_array *rolled = NULL, *next = NULL;
	kz_dtype dtype;
	kz_status st;
	out_clear(out, sizeof(*out), is_inverse ? "ifftshift" : "fftshift");
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = elementwise_options(&how, &dtype, options, err))
	    || (st = axes_resolve(&axes, NULL, &array->shape, err))) {
		return st;
	}
	if (!out && !how.into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL",
			is_inverse ? "ifftshift" : "fftshift");
	}
	each.stream = how.stream;
	each.dtype = dtype;
	rolled = kz_array_retain(array);
	for (int64_t i = 0; !st && i < axes.count; i++) {
		int64_t axis = axes.items[i], half = array->shape.dims[axis] / 2;
		each.into = i == axes.count - 1 ? how.into : NULL;
		st = kz_array_roll(&next, rolled, is_inverse ? -half : half, axis, &each, err);
		kz_array_release(rolled);
		rolled = next;
	}
	if (!st && axes.count == 0) {
		each.into = how.into;
		st = kz_apply(out, KZ_OP_POSITIVE, &each, err, KZ_ARGS(array));
	} else if (!st && out) {
		*out = kz_array_retain(rolled);
	}
	kz_array_release(rolled);
	return st;
}

kz_status kz_fftshift(kz_array **out, kz_array *array, kz_axes axes, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	return order_shift(out, array, axes, false, options, err);
}

kz_status kz_ifftshift(kz_array **out, kz_array *array, kz_axes axes, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	return order_shift(out, array, axes, true, options, err);
}

/* `count` whole numbers from `first` on, rolled by it, over length * spacing. */
struct frequencies {
	const char *call;
	int64_t first, count, length;
	double spacing;
};

static kz_status order_frequencies(kz_array **out, kz_device *dev, const struct frequencies *f,
	kz_error *err)
{
	struct kz_array *numbers = NULL, *rolled = NULL;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), f->call, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	if (f->length < 1 || f->spacing == 0) {
		return error_set(err, KZ_INVALID, "%s: expected a length of at least 1 and a "
			"spacing other than 0, got %lld and %g", f->call, (long long)f->length,
			f->spacing);
	}
	if (!(st = kz_arange(&numbers, dev, KZ_F64, f->first, f->first + f->count, 1, err))
	    && !(st = kz_array_roll(&rolled, numbers, f->first, 0, NULL, err))) {
		double step = 1 / ((double)f->length * f->spacing);
		st = kz_apply(out, KZ_OP_MULTIPLY, NULL, err, KZ_ARGS(rolled, step));
	}
	kz_array_release(numbers);
	kz_array_release(rolled);
	return st;
}

kz_status kz_fftfreq(kz_array **out, kz_device *dev, int64_t length, double spacing, kz_error *err)
{
	error_scope(err);
	const struct frequencies all = {__func__, -(length / 2), length, length, spacing};
	return order_frequencies(out, dev, &all, err);
}

kz_status kz_rfftfreq(kz_array **out, kz_device *dev, int64_t length, double spacing, kz_error *err)
{
	error_scope(err);
	const struct frequencies half = {__func__, 0, length / 2 + 1, length, spacing};
	return order_frequencies(out, dev, &half, err);
}

/* SPDX-License-Identifier: MIT */
/*
 * Random chains of views against a model that knows nothing of strides.
 *
 * The model of a view is its shape and a list: at which byte of the base array each element is.  An
 * operation says, for each axis of what it is applied to, which axis of the result it becomes and
 * which of its indexes that has; the new list follows.  KUDZU_TEST_SEED=n begins with that chain.
 */
#include "base/common.h"

#include "lib/array/shape.h"
#include "support/support.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { CHAINS = 2000, STEPS = 6, EXTENT = 7, DIMS = 5, MOST = 1 << 17 };

static kz_error err;
static uint64_t state;

/* A number from 0 to below `count`, which is not 0. */
static int64_t below(int64_t count)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((state >> 33) % (uint64_t)count);
}

static int64_t between(int64_t low, int64_t high)
{
	return low + below(high - low + 1);
}

struct model {
	kz_dtype dtype;
	kz_shape shape;
	int64_t count;
	int32_t *at;
};

/* What an operation does to the axes: index pick[a][i] of axis a is index i of axis place[a] of the
 * result, or the only one if place[a] is negative. */
struct change {
	kz_shape shape;
	int64_t place[KZ_MAX_DIMS];
	int32_t pick[KZ_MAX_DIMS][MOST / 16];
};

static char base[MOST];      /* the bytes of the base array */
static char fetched[MOST * 16];
static struct change change;
static struct model now, next;
static uint64_t chain;       /* its seed, for messages */
static const char *doing;    /* the operation, likewise */

#define agrees(condition) ck_assert_msg(condition, "%s, after %s; KUDZU_TEST_SEED=%llu", \
	#condition, doing, (unsigned long long)chain)

/* The change that changes nothing. */
static void same(void)
{
	change.shape = now.shape;
	for (int64_t a = 0; a < now.shape.ndim; a++) {
		change.place[a] = a;
		for (int32_t i = 0; i < now.shape.dims[a]; i++) {
			change.pick[a][i] = i;
		}
	}
}

/* next = the changed now */
static void apply(void)
{
	next.dtype = now.dtype;
	next.shape = change.shape;
	next.count = support_count(&next.shape);
	for (int64_t k = 0; k < next.count; k++) {
		int64_t index[KZ_MAX_DIMS], rest = k, flat = 0;
		for (int64_t i = next.shape.ndim; i-- > 0; rest /= next.shape.dims[i]) {
			index[i] = rest % next.shape.dims[i];
		}
		for (int64_t a = 0; a < now.shape.ndim; a++) {
			int64_t place = change.place[a];
			flat = flat * now.shape.dims[a]
				+ change.pick[a][place < 0 ? 0 : index[place]];
		}
		next.at[k] = now.at[flat];
	}
}

/* The operations: each draws its arguments, makes the view, and applies the change; it answers
 * false where the draw fits no array of this shape. */

static kz_slice random_range(int64_t extent)
{
	int64_t step = between(-3, 3);
	int64_t start = between(-extent - 2, extent + 2), stop = between(-extent - 2, extent + 2);
	return kz_slice_range(below(2) ? start : KZ_OMIT, below(2) ? stop : KZ_OMIT,
		step ? step : KZ_OMIT);
}

/* The indexes that a range keeps are those between its bounds at whole steps from the first. */
static int64_t keep(int32_t *pick, const kz_slice *slice, int64_t extent)
{
	int64_t step = slice->step == KZ_OMIT ? 1 : slice->step;
	bool up = step > 0;
	int64_t from = slice->start == KZ_OMIT ? (up ? 0 : extent - 1)
		: slice->start < 0 ? slice->start + extent : slice->start;
	int64_t to = slice->stop == KZ_OMIT ? (up ? extent : -1)
		: slice->stop < 0 ? slice->stop + extent : slice->stop;
	from = up && from < 0 ? 0 : !up && from >= extent ? extent - 1 : from;
	int64_t count = 0;
	for (int64_t n = 0; n < extent; n++) {
		int64_t i = up ? n : extent - 1 - n;
		bool inside = up ? i >= from && i < to : i <= from && i > to;
		if (inside && (i - from) % step == 0) {
			pick[count++] = (int32_t)i;
		}
	}
	return count;
}

/* The slices drawn so far, and the axis that the next one is for. */
static struct {
	kz_slice items[4 * DIMS];
	int64_t count;
	int64_t axis;
} drawn;

/* The axis becomes the next one of the result. */
static void put(int64_t extent)
{
	change.place[drawn.axis++] = change.shape.ndim;
	change.shape.dims[change.shape.ndim++] = extent;
}

/* Entries for so many axes, new ones between them. */
static void draw_slices(int64_t count)
{
	for (; count > 0; count--) {
		int64_t extent = now.shape.dims[drawn.axis];
		int32_t *pick = change.pick[drawn.axis];
		kz_slice *item = &drawn.items[drawn.count++];
		if (below(6) == 0) {
			*item++ = KZ_NEWAXIS;
			drawn.count++;
			change.shape.dims[change.shape.ndim++] = 1;
		}
		if (extent > 0 && below(3) == 0) {
			int64_t index = between(-extent, extent - 1);
			*item = KZ_INDEX(index);
			*pick = (int32_t)(index < 0 ? index + extent : index);
			change.place[drawn.axis++] = -1;
		} else {
			*item = random_range(extent);
			put(keep(pick, item, extent));
		}
	}
}

static bool slice(kz_array **out, kz_array *array)
{
	int64_t first = between(0, now.shape.ndim), last = 0;
	same();
	change.shape.ndim = drawn.count = drawn.axis = 0;
	draw_slices(first);
	if (below(2)) {
		drawn.items[drawn.count++] = KZ_ELLIPSIS;
		last = between(0, now.shape.ndim - first);
	}
	while (drawn.axis < now.shape.ndim - last) {
		put(now.shape.dims[drawn.axis]);
	}
	draw_slices(last);
	ok(kz_array_slice(out, array, (kz_slices){drawn.items, drawn.count}, &err));
	apply();
	return true;
}

/* A random order of the axes. */
static void shuffle(kz_axes *axes)
{
	axes->count = now.shape.ndim;
	for (int64_t i = 0; i < axes->count; i++) {
		int64_t other = below(i + 1);
		axes->items[i] = axes->items[other];
		axes->items[other] = i;
	}
}

/* An axis as the caller may name it. */
static int64_t named(int64_t axis)
{
	return below(2) ? axis : axis - now.shape.ndim;
}

static bool transpose(kz_array **out, kz_array *array)
{
	kz_axes order;
	shuffle(&order);
	same();
	for (int64_t i = 0; i < order.count; i++) {
		change.shape.dims[i] = now.shape.dims[order.items[i]];
		change.place[order.items[i]] = i;
		order.items[i] = named(order.items[i]);
	}
	ok(kz_array_transpose(out, array, order, &err));
	apply();
	return true;
}

static bool swap(kz_array **out, kz_array *array)
{
	if (now.shape.ndim == 0) {
		return false;
	}
	int64_t a = below(now.shape.ndim), b = below(now.shape.ndim);
	same();
	change.place[a] = b;
	change.place[b] = a;
	change.shape.dims[a] = now.shape.dims[b];
	change.shape.dims[b] = now.shape.dims[a];
	ok(kz_array_swapaxes(out, array, named(a), named(b), &err));
	apply();
	return true;
}

/* As numpy says it: take the axes out, then insert them at their places in ascending order. */
static bool move(kz_array **out, kz_array *array)
{
	kz_axes from, to;
	int64_t order[KZ_MAX_DIMS], count = 0;
	shuffle(&from);
	shuffle(&to);
	from.count = to.count = between(0, now.shape.ndim);
	for (int64_t axis = 0; axis < now.shape.ndim; axis++) {
		bool taken = false;
		for (int64_t i = 0; i < from.count; i++) {
			taken |= from.items[i] == axis;
		}
		if (!taken) {
			order[count++] = axis;
		}
	}
	for (int64_t place = 0; place < now.shape.ndim; place++) {
		for (int64_t i = 0; i < to.count; i++) {
			if (to.items[i] == place) {
				memmove(order + place + 1, order + place,
					(size_t)(count++ - place) * sizeof(*order));
				order[place] = from.items[i];
			}
		}
	}
	same();
	for (int64_t i = 0; i < count; i++) {
		change.shape.dims[i] = now.shape.dims[order[i]];
		change.place[order[i]] = i;
	}
	ok(kz_array_moveaxis(out, array, from, to, &err));
	apply();
	return true;
}

static bool flip(kz_array **out, kz_array *array)
{
	kz_axes axes;
	shuffle(&axes);
	axes.count = between(0, now.shape.ndim);
	same();
	for (int64_t i = 0; i < axes.count; i++) {
		int64_t axis = axes.items[i], extent = now.shape.dims[axis];
		for (int64_t k = 0; k < extent; k++) {
			change.pick[axis][k] = (int32_t)(extent - 1 - k);
		}
		axes.items[i] = named(axis);
	}
	ok(kz_array_flip(out, array, axes.count < now.shape.ndim ? axes : KZ_ALL_AXES, &err));
	apply();
	return true;
}

static bool squeeze(kz_array **out, kz_array *array)
{
	kz_axes axes = {0, {0}};
	bool all = below(2);
	same();
	change.shape.ndim = 0;
	for (int64_t a = 0; a < now.shape.ndim; a++) {
		change.place[a] = -1;
		if (now.shape.dims[a] == 1 && (all || below(2))) {
			axes.items[axes.count++] = named(a);
		} else {
			change.place[a] = change.shape.ndim;
			change.shape.dims[change.shape.ndim++] = now.shape.dims[a];
		}
	}
	ok(kz_array_squeeze(out, array, all ? KZ_ALL_AXES : axes, &err));
	apply();
	return true;
}

static bool expand(kz_array **out, kz_array *array)
{
	kz_axes axes = {0, {0}};
	same();
	change.shape.ndim = 0;
	for (int64_t a = 0; a <= now.shape.ndim; a++) {
		if (below(3) == 0) {
			axes.items[axes.count++] = change.shape.ndim;
			change.shape.dims[change.shape.ndim++] = 1;
		}
		if (a < now.shape.ndim) {
			change.place[a] = change.shape.ndim;
			change.shape.dims[change.shape.ndim++] = now.shape.dims[a];
		}
	}
	for (int64_t i = 0; i < axes.count; i++) {
		axes.items[i] -= below(2) ? change.shape.ndim : 0;
	}
	ok(kz_array_expand(out, array, axes, &err));
	apply();
	return true;
}

static bool broadcast(kz_array **out, kz_array *array)
{
	int64_t added = below(2);
	same();
	change.shape.ndim = now.shape.ndim + added;
	change.shape.dims[0] = below(20) ? between(1, 3) : 0;
	for (int64_t a = 0; a < now.shape.ndim; a++) {
		bool repeat = now.shape.dims[a] == 1 && below(2);
		change.place[a] = a + added;
		change.shape.dims[a + added] = repeat ? between(1, 3) : now.shape.dims[a];
		if (repeat) {
			memset(change.pick[a], 0, 3 * sizeof(change.pick[a][0]));
		}
	}
	if (support_count(&change.shape) > MOST / 16) {
		return false;
	}
	ok(kz_array_broadcast_to(out, array, change.shape, &err));
	apply();
	return true;
}

static bool diagonal(kz_array **out, kz_array *array)
{
	kz_axes axes;
	shuffle(&axes);
	if (axes.count < 2) {
		return false;
	}
	int64_t a = axes.items[0], b = axes.items[1], offset = between(-4, 4), count = 0;
	same();
	change.shape.ndim = 0;
	for (int64_t axis = 0; axis < now.shape.ndim; axis++) {
		change.place[axis] = axis == a || axis == b ? now.shape.ndim - 2
			: change.shape.ndim;
		if (axis != a && axis != b) {
			change.shape.dims[change.shape.ndim++] = now.shape.dims[axis];
		}
	}
	for (int32_t row = 0; row < now.shape.dims[a]; row++) {
		if (row + offset >= 0 && row + offset < now.shape.dims[b]) {
			change.pick[a][count] = row;
			change.pick[b][count++] = row + (int32_t)offset;
		}
	}
	change.shape.dims[change.shape.ndim++] = count;
	ok(kz_array_diagonal(out, array, offset, named(a), named(b), &err));
	apply();
	return true;
}

/* One of the parts, the others are given back at once. */
static bool split(kz_array **out, kz_array *array)
{
	enum { PARTS = 5 };
	kz_array *parts[PARTS];
	int64_t first = 0, last = 0;
	if (now.shape.ndim == 0) {
		return false;
	}
	int64_t axis = below(now.shape.ndim), count = between(1, PARTS), chosen = below(count);
	int64_t extent = now.shape.dims[axis];
	if (below(2)) {
		const int64_t at[] = {extent / 4, extent / 2, extent / 2 - extent, extent + 3};
		ok(kz_array_split_at(parts, count, array, named(axis), at, count - 1, &err));
		first = chosen ? (at[chosen - 1] + extent) % (extent ? extent : 1) : 0;
		first = chosen == 4 ? extent : first;
		last = chosen == count - 1 ? extent : chosen == 2 ? first
			: chosen == 3 ? extent : at[chosen];
	} else {
		ok(extent % count ? kz_array_split_uneven(parts, count, array, axis, &err)
			: kz_array_split(parts, count, array, named(axis), &err));
		for (int64_t i = 0; i <= chosen; i++) {
			first = last;
			last += (extent - last + count - i - 1) / (count - i);
		}
	}
	same();
	change.shape.dims[axis] = last > first ? last - first : 0;
	for (int64_t i = first; i < last; i++) {
		change.pick[axis][i - first] = (int32_t)i;
	}
	for (int64_t i = 0; i < count; i++) {
		if (i != chosen) {
			kz_array_release(parts[i]);
		}
	}
	*out = parts[chosen];
	apply();
	return true;
}

/* The operations that keep the list of elements, or change the elements themselves. */

/* Whether places are a first one and a stride for each axis, without which there is no view. */
static bool is_affine(const struct model *model)
{
	int64_t unit = 1, steps[KZ_MAX_DIMS];
	for (int64_t i = model->shape.ndim; i-- > 0; unit *= model->shape.dims[i]) {
		steps[i] = model->count && model->shape.dims[i] > 1
			? model->at[unit] - model->at[0] : 0;
	}
	for (int64_t k = 0; k < model->count; k++) {
		int64_t rest = k, place = model->at[0];
		for (int64_t i = model->shape.ndim; i-- > 0; rest /= model->shape.dims[i]) {
			place += rest % model->shape.dims[i] * steps[i];
		}
		if (place != model->at[k]) {
			return false;
		}
	}
	return true;
}

static bool reshape(kz_array **out, kz_array *array)
{
	int64_t rest = now.count, unknown = below(8);
	kz_shape shape;
	same();
	apply();
	next.shape.ndim = 0;
	while (next.shape.ndim < DIMS && (rest > 1 || below(2))) {
		int64_t extent = between(1, EXTENT);
		extent = rest && rest % extent ? 1 : extent;
		next.shape.dims[next.shape.ndim++] = extent;
		rest = rest ? rest / extent : 0;
	}
	if (rest != 1) {
		next.shape.dims[next.shape.ndim++] = rest;
	}
	shape = next.shape;
	if (unknown < shape.ndim && now.count > 0) {
		shape.dims[unknown] = -1;
	}
	kz_status st = kz_array_reshape_view(out, array, shape, &err);
	agrees((st == KZ_OK) == is_affine(&next));
	kz_error_clear(&err);
	return st == KZ_OK;
}

static bool view_as(kz_array **out, kz_array *array)
{
	static const kz_dtype types[] = {KZ_U8, KZ_F16, KZ_I32, KZ_F64, KZ_C64, KZ_C128};
	kz_dtype type = types[below(countof(types))];
	int64_t old = kz_dtype_size(now.dtype), size = kz_dtype_size(type);
	int64_t parts = size < old ? old / size : 1, whole = size > old ? size / old : 1;
	same();
	apply();
	int64_t *extent = &next.shape.dims[next.shape.ndim > 0 ? next.shape.ndim - 1 : 0];
	bool can = size == old || (next.shape.ndim > 0 && *extent % whole == 0);
	if (next.count * parts > MOST) {
		return false;
	}
	if (can && size != old) {
		*extent = *extent / whole * parts;
		next.count = support_count(&next.shape);
	}
	for (int64_t k = 0; can && k < now.count && size != old; k++) {
		/* It must be the next one in its element, or there is no such view; and aligned. */
		can = k % whole ? now.at[k] == now.at[k - 1] + old : now.at[k] % size == 0;
		for (int64_t part = 0; k % whole == 0 && part < parts; part++) {
			next.at[k / whole * parts + part] = now.at[k] + (int32_t)(part * size);
		}
	}
	next.dtype = type;
	kz_status st = kz_array_view_as(out, array, type, &err);
	/* Elements that follow each other by chance, in an axis with gaps, are none of ours. */
	agrees(st == KZ_OK ? can : st == KZ_INVALID);
	kz_error_clear(&err);
	return st == KZ_OK;
}

static bool half(kz_array **out, kz_array *array)
{
	if (now.dtype != KZ_C64 && now.dtype != KZ_C128) {
		return false;
	}
	int32_t imaginary = (int32_t)below(2);
	same();
	apply();
	next.dtype = now.dtype == KZ_C64 ? KZ_F32 : KZ_F64;
	for (int64_t k = 0; k < next.count; k++) {
		next.at[k] += imaginary * (int32_t)kz_dtype_size(next.dtype);
	}
	ok(imaginary ? kz_array_imag(out, array, &err) : kz_array_real(out, array, &err));
	return true;
}

static const struct {
	const char *name;
	bool (*run)(kz_array **out, kz_array *array);
} operations[] = {
	{"slice", slice}, {"slice", slice}, {"transpose", transpose}, {"swapaxes", swap},
	{"moveaxis", move}, {"flip", flip}, {"squeeze", squeeze}, {"expand", expand},
	{"broadcast_to", broadcast}, {"diagonal", diagonal}, {"split", split},
	{"reshape", reshape}, {"reshape", reshape}, {"view_as", view_as}, {"real", half},
};

/* Comparing */

static void compare(kz_array *array)
{
	int64_t size = kz_dtype_size(now.dtype), wrong = 0;
	kz_shape shape = kz_array_shape(array);
	agrees(kz_array_dtype(array) == now.dtype);
	agrees(shape_equal(&shape, &now.shape));
	agrees(kz_array_count(array) == now.count);
	ok(kz_array_get(array, fetched, size * now.count, &err));
	for (int64_t k = 0; k < now.count; k++) {
		wrong += memcmp(fetched + k * size, base + now.at[k], (size_t)size) != 0;
	}
	agrees(wrong == 0);
}

/* Draw new elements for the view; false if some share memory. */
static bool draw_elements(int64_t total)
{
	static char users[MOST];
	int64_t size = kz_dtype_size(now.dtype);
	bool shared = false;
	memset(users, 0, (size_t)total);
	for (int64_t k = 0; k < now.count; k++) {
		for (int64_t byte = 0; byte < size; byte++) {
			shared |= users[now.at[k] + byte]++ > 0;
			fetched[k * size + byte] = (char)below(256);
		}
	}
	return !shared;
}

/* Overwrite the view's elements, from the host or by a kernel, and look at all of the base
 * array. */
static void overwrite(kz_array *array, kz_array *whole, bool by_kernel)
{
	int64_t size = kz_dtype_size(now.dtype) * now.count, total = kz_array_size(whole);
	bool can = draw_elements(total);
	kz_array *source = NULL;
	if (by_kernel) {
		ok(kz_array_from(&source, kz_array_device(array), now.dtype, now.shape, fetched,
			size, &err));
	}
	kz_status st = by_kernel ? kz_array_assign(array, source, &err)
		: kz_array_set(array, fetched, size, &err);
	kz_array_release(source);
	agrees(st == (can ? KZ_OK : KZ_INVALID));
	kz_error_clear(&err);
	for (int64_t k = 0; k < now.count && can; k++) {
		memcpy(base + now.at[k], fetched + k * kz_dtype_size(now.dtype),
			(size_t)kz_dtype_size(now.dtype));
	}
	ok(kz_array_get(whole, fetched, total, &err));
	agrees(memcmp(fetched, base, (size_t)total) == 0);
}

/* The elements, in one axis: by a kernel where there is no view of that shape. */
static void flatten(kz_array *array)
{
	kz_array *flat;
	struct model old = now;
	ok(kz_array_ravel(&flat, array, &err));
	now.shape = KZ_SHAPE(now.count);
	compare(flat);
	now = old;
	kz_array_release(flat);
}

static kz_array *first_array(kz_device *dev)
{
	static const kz_dtype types[] = {KZ_I8, KZ_F16, KZ_I32, KZ_F64, KZ_C64, KZ_C128};
	kz_array *array = NULL;
	now.dtype = types[below(countof(types))];
	now.shape.ndim = between(0, DIMS);
	int64_t size = kz_dtype_size(now.dtype);
	for (int64_t i = 0; i < now.shape.ndim; i++) {
		now.shape.dims[i] = between(below(30) ? 1 : 0, now.shape.ndim > 4 ? 5 : EXTENT);
	}
	now.count = support_count(&now.shape);
	for (int64_t k = 0; k < now.count; k++) {
		now.at[k] = (int32_t)(k * size);
	}
	for (int64_t byte = 0; byte < now.count * size; byte++) {
		base[byte] = (char)below(256);
	}
	ok(kz_array_from(&array, dev, now.dtype, now.shape, base, now.count * size, &err));
	return array;
}

static void run_chain(kz_device *dev, bool with_kernels)
{
	kz_array *whole = first_array(dev), *array = whole;
	int64_t steps = between(1, STEPS);
	for (int64_t i = 0; i < steps;) {
		kz_array *view = NULL;
		int64_t choice = below(countof(operations));
		doing = operations[choice].name;
		if (now.shape.ndim > DIMS + 3 || now.count > MOST / 16) {
			break;
		}
		if (!operations[choice].run(&view, array)) {
			continue;
		}
		if (array != whole) {
			kz_array_release(array);
		}
		array = view;
		struct model old = now;
		now = next;
		next.at = old.at;
		compare(array);
		i++;
	}
	overwrite(array, whole, false);
	if (with_kernels && chain % 16 == 0) {
		/* Some chains are enough: each layout takes a kernel of its own. */
		flatten(array);
		overwrite(array, whole, true);
	}
	if (array != whole) {
		kz_array_release(array);
	}
	kz_array_release(whole);
}

START_TEST(chains_of_views_are_as_the_model)
{
	const char *text = getenv("KUDZU_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
	kz_memory_stats stats;
	kz_device *dev = support_open_any(_i);
	now.at = calloc(MOST, sizeof(*now.at));
	next.at = calloc(MOST, sizeof(*next.at));
	for (chain = seed; chain < seed + CHAINS; chain++) {
		state = chain;
		doing = "nothing";
		run_chain(dev, _i < support_device_count());
	}
	printf("%d chains of views from KUDZU_TEST_SEED=%llu\n", CHAINS, (unsigned long long)seed);
	free(now.at);
	free(next.at);
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_eq(stats.live_count, 0);
	kz_device_close(dev);
}
END_TEST

SUITE(view_random)
{
	Suite *s = suite_create("view_random");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, chains_of_views_are_as_the_model, 0, support_device_count() + 1);
	return s;
}

/* SPDX-License-Identifier: MIT */
/* Joining and repeating arrays on every device: against loops over their elements on the host. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/array/shape.h"
#include "support/device_test.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static uint64_t state;

/* A number from 0 to below `count`, which is not 0. */
static int64_t below(int64_t count)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((state >> 33) % (uint64_t)count);
}

/* Elements on the host: whole numbers that every type of these tests holds. */
struct host {
	kz_dtype dtype;
	kz_shape shape;
	double values[MOST];
};

static double load(const void *from, kz_dtype dtype, int64_t index)
{
	return dtype == KZ_I8 ? ((const int8_t *)from)[index]
		: dtype == KZ_I32 ? ((const int32_t *)from)[index]
		: dtype == KZ_F32 ? ((const float *)from)[index] : ((const double *)from)[index];
}

static void store(void *to, kz_dtype dtype, int64_t index, double value)
{
	switch (dtype) {
	case KZ_I8:
		((int8_t *)to)[index] = (int8_t)value;
		break;
	case KZ_I32:
		((int32_t *)to)[index] = (int32_t)value;
		break;
	case KZ_F32:
		((float *)to)[index] = (float)value;
		break;
	default:
		((double *)to)[index] = value;
	}
}

/* An array of the device whose axes are in a random order in memory, some of them backwards. */
static kz_array *scatter(kz_dtype dtype, const kz_shape *shape)
{
	kz_axes order = {shape->ndim, {0}}, back = {shape->ndim, {0}}, flipped = {0, {0}};
	kz_shape inside = {shape->ndim, {0}};
	kz_array *base, *turned, *out = NULL;
	for (int64_t i = 0; i < shape->ndim; i++) {
		int64_t other = below(i + 1);
		order.items[i] = order.items[other];
		order.items[other] = i;
		if (below(3) == 0) {
			flipped.items[flipped.count++] = i;
		}
	}
	for (int64_t i = 0; i < shape->ndim; i++) {
		inside.dims[i] = shape->dims[order.items[i]];
		back.items[order.items[i]] = i;
	}
	ok(kz_array_create(&base, dev, dtype, inside, &err));
	ok(kz_array_transpose(&turned, base, back, &err));
	ok(kz_array_flip(&out, turned, flipped, &err));
	release_arrays(base, turned);
	return out;
}

static kz_array *send(const struct host *host)
{
	double bytes[MOST];
	kz_array *array = scatter(host->dtype, &host->shape);
	int64_t count = support_count(&host->shape);
	for (int64_t k = 0; k < count; k++) {
		store(bytes, host->dtype, k, host->values[k]);
	}
	ok(kz_array_set(array, bytes, count * kz_dtype_size(host->dtype), &err));
	return array;
}

/* Random elements of this shape, here and there. */
static kz_array *draw(struct host *host, const kz_shape *shape)
{
	static const kz_dtype types[] = {KZ_I8, KZ_I32, KZ_F32, KZ_F64};
	host->dtype = types[below(countof(types))];
	host->shape = *shape;
	for (int64_t k = 0; k < support_count(shape); k++) {
		host->values[k] = (double)(below(200) - 100);
	}
	return send(host);
}

static kz_shape random_shape(int64_t least, int64_t most, int64_t extent)
{
	kz_shape shape = {.ndim = least + below(most - least + 1)};
	for (int64_t i = 0; i < shape.ndim; i++) {
		shape.dims[i] = below(extent) + (below(8) != 0);
	}
	return shape;
}

/* Whether the array has this shape and these elements; it is given back. */
static bool matches(kz_array *array, const struct host *want)
{
	static double bytes[MOST];
	kz_shape shape = kz_array_shape(array);
	int64_t wrong = !shape_equal(&shape, &want->shape) || kz_array_dtype(array) != want->dtype;
	if (!wrong) {
		ok(kz_array_get(array, bytes, kz_array_size(array), &err));
		for (int64_t k = 0; k < kz_array_count(array); k++) {
			wrong += load(bytes, want->dtype, k) != want->values[k];
		}
	}
	kz_array_release(array);
	return wrong == 0;
}

/* Where row-major element k is: its index along each axis. */
static void unravel(int64_t *index, const kz_shape *shape, int64_t k)
{
	for (int64_t i = shape->ndim; i-- > 0; k /= shape->dims[i]) {
		index[i] = k % shape->dims[i];
	}
}

static int64_t ravel(const int64_t *index, const kz_shape *shape)
{
	int64_t k = 0;
	for (int64_t i = 0; i < shape->ndim; i++) {
		k = k * shape->dims[i] + index[i];
	}
	return k;
}

/* Several arrays */

enum { PARTS = 4 };
static struct host parts[PARTS];
static struct host want;

static kz_dtype common(int64_t count)
{
	kz_dtype dtype = parts[0].dtype;
	for (int64_t i = 1; i < count; i++) {
		kz_dtype other = parts[i].dtype;
		kz_dtype most = dtype > other ? dtype : other, least = dtype > other ? other
			: dtype;
		/* Numbers rise with the size; float32 does not hold all of int32. */
		dtype = most == KZ_F32 && least == KZ_I32 ? KZ_F64 : most;
	}
	return dtype;
}

static void release_all(kz_array *const *arrays, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		kz_array_release(arrays[i]);
	}
}

/* Element k of a part is there in `want`, `start` further along an axis. */
static void place(const struct host *part, int64_t axis, int64_t start)
{
	for (int64_t k = 0; k < support_count(&part->shape); k++) {
		int64_t index[KZ_MAX_DIMS];
		unravel(index, &part->shape, k);
		index[axis] += start;
		want.values[ravel(index, &want.shape)] = part->values[k];
	}
}

static bool concatenates(void)
{
	kz_shape shape = random_shape(1, 3, 5);
	kz_array *arrays[PARTS], *out;
	int64_t count = 1 + below(PARTS), axis = below(shape.ndim), start = 0;
	want.shape = shape;
	want.shape.dims[axis] = 0;
	for (int64_t i = 0; i < count; i++) {
		shape.dims[axis] = below(5);
		want.shape.dims[axis] += shape.dims[axis];
		arrays[i] = draw(&parts[i], &shape);
	}
	want.dtype = common(count);
	for (int64_t i = 0; i < count; i++) {
		place(&parts[i], axis, start);
		start += parts[i].shape.dims[axis];
	}
	axis -= below(2) ? shape.ndim : 0;
	ok(kz_array_concatenate(&out, (kz_arrays){arrays, count}, axis, NULL, &err));
	release_all(arrays, count);
	return matches(out, &want);
}

static void insert(int64_t *list, int64_t count, int64_t at, int64_t value)
{
	memmove(list + at + 1, list + at, (size_t)(count - at) * sizeof(*list));
	list[at] = value;
}

static bool stacks(void)
{
	kz_shape shape = random_shape(0, 3, 5);
	kz_array *arrays[PARTS], *out;
	int64_t count = 1 + below(PARTS), axis = below(shape.ndim + 1);
	want.shape = shape;
	insert(want.shape.dims, want.shape.ndim++, axis, count);
	for (int64_t i = 0; i < count; i++) {
		arrays[i] = draw(&parts[i], &shape);
	}
	want.dtype = common(count);
	for (int64_t i = 0; i < count; i++) {
		insert(parts[i].shape.dims, parts[i].shape.ndim++, axis, 1);
		place(&parts[i], axis, i);
	}
	axis -= below(2) ? want.shape.ndim : 0;
	ok(kz_array_stack(&out, (kz_arrays){arrays, count}, axis, NULL, &err));
	release_all(arrays, count);
	return matches(out, &want);
}

/* One array */

/* Element k of `want` is the one of the part whose indexes `find` gives. */
static void gather(const struct host *part, int64_t (*find)(int64_t index, int64_t extent,
	int64_t number), const int64_t *numbers)
{
	int64_t missing = want.shape.ndim - part->shape.ndim;
	for (int64_t k = 0; k < support_count(&want.shape); k++) {
		int64_t index[KZ_MAX_DIMS], from[KZ_MAX_DIMS];
		unravel(index, &want.shape, k);
		for (int64_t i = 0; i < part->shape.ndim; i++) {
			from[i] = find(index[i + missing], part->shape.dims[i], numbers[i]);
		}
		want.values[k] = part->values[ravel(from, &part->shape)];
	}
}

static int64_t in_tile(int64_t index, int64_t extent, int64_t number)
{
	(void)number;
	return index % extent;
}

static int64_t in_group(int64_t index, int64_t extent, int64_t number)
{
	(void)extent;
	return index / number;
}

static int64_t before_shift(int64_t index, int64_t extent, int64_t number)
{
	return ((index - number) % extent + extent) % extent;
}

static bool tiles(void)
{
	kz_shape shape = random_shape(0, 3, 4), counts = random_shape(0, 4, 3);
	kz_array *out, *array = draw(&parts[0], &shape);
	want.shape.ndim = shape.ndim > counts.ndim ? shape.ndim : counts.ndim;
	want.dtype = parts[0].dtype;
	for (int64_t i = 1; i <= want.shape.ndim; i++) {
		want.shape.dims[want.shape.ndim - i] =
			(i <= shape.ndim ? shape.dims[shape.ndim - i] : 1)
			* (i <= counts.ndim ? counts.dims[counts.ndim - i] : 1);
	}
	gather(&parts[0], in_tile, shape.dims);
	ok(kz_array_tile(&out, array, counts, NULL, &err));
	kz_array_release(array);
	return matches(out, &want);
}

/* repeat and roll: one axis, one number. */
static bool changes_an_axis(bool repeats)
{
	kz_shape shape = random_shape(1, 4, 5);
	kz_array *out, *array = draw(&parts[0], &shape);
	int64_t axis = below(shape.ndim), number = repeats ? below(4) : below(30) - 15;
	int64_t numbers[KZ_MAX_DIMS];
	for (int64_t i = 0; i < shape.ndim; i++) {
		numbers[i] = i == axis ? number : repeats;
	}
	want.shape = shape;
	want.dtype = parts[0].dtype;
	want.shape.dims[axis] *= repeats ? number : 1;
	gather(&parts[0], repeats ? in_group : before_shift, numbers);
	axis -= below(2) ? shape.ndim : 0;
	ok(repeats ? kz_array_repeat(&out, array, number, axis, NULL, &err)
		: kz_array_roll(&out, array, number, axis, NULL, &err));
	kz_array_release(array);
	return matches(out, &want);
}

START_TEST(joins_agree_with_loops)
{
	const char *text = getenv("KUDZU_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
	const int rounds = support_how_many(1000, 60, 20);
	open_kernels(_i);
	for (uint64_t round = 0; round < (uint64_t)rounds; round++) {
		state = (seed + round) * 0x9e3779b97f4a7c15u;
		bool good = concatenates() && stacks() && tiles() && changes_an_axis(true)
			&& changes_an_axis(false);
		ck_assert_msg(good, "KUDZU_TEST_SEED=%llu", (unsigned long long)(seed + round));
	}
	printf("%d rounds of joins from KUDZU_TEST_SEED=%llu\n", rounds, (unsigned long long)seed);
	teardown();
}
END_TEST

/* numpy's documented cases */

static kz_array *ints(kz_shape shape, const int32_t *values)
{
	kz_array *array = NULL;
	ok(kz_array_from(&array, dev, KZ_I32, shape, values, 4 * support_count(&shape), &err));
	return array;
}

static void check_ints(kz_array *array, kz_shape shape, const int32_t *values, int line)
{
	struct host *host = &parts[0];
	host->dtype = KZ_I32;
	host->shape = shape;
	for (int64_t k = 0; k < support_count(&shape); k++) {
		host->values[k] = values[k];
	}
	ck_assert_msg(matches(array, host), "line %d", line);
}

#define I(shape, ...) ints(shape, (const int32_t[]){__VA_ARGS__})
#define holds(array, shape, ...) \
	check_ints(array, shape, (const int32_t[]){__VA_ARGS__}, __LINE__)
#define S(...) KZ_SHAPE(__VA_ARGS__)

KERNEL_TEST(joins_are_as_numpy_documents_them)
{
	kz_array *a = I(S(2, 2), 1, 2, 3, 4), *b = I(S(1, 2), 5, 6), *c, *out;
	ok(kz_array_concatenate(&out, KZ_ARRAYS(a, b), 0, NULL, &err));
	holds(out, S(3, 2), 1, 2, 3, 4, 5, 6);
	ok(kz_array_transpose(&c, b, KZ_AXES(), &err));
	ok(kz_array_concatenate(&out, KZ_ARRAYS(a, c), 1, NULL, &err));
	holds(out, S(2, 3), 1, 2, 5, 3, 4, 6);
	ok(kz_array_stack(&out, KZ_ARRAYS(b, b), -1, NULL, &err));
	holds(out, S(1, 2, 2), 5, 5, 6, 6);
	ok(kz_array_tile(&out, b, S(2, 2), NULL, &err));
	holds(out, S(2, 4), 5, 6, 5, 6, 5, 6, 5, 6);
	ok(kz_array_repeat(&out, a, 2, 0, NULL, &err));
	holds(out, S(4, 2), 1, 2, 1, 2, 3, 4, 3, 4);
	ok(kz_array_repeat(&out, a, 2, 1, NULL, &err));
	holds(out, S(2, 4), 1, 1, 2, 2, 3, 3, 4, 4);
	ok(kz_array_roll(&out, a, -3, 1, NULL, &err));
	holds(out, S(2, 2), 2, 1, 4, 3);
	ok(kz_array_roll(&out, a, INT64_MIN, 1, NULL, &err));
	holds(out, S(2, 2), 1, 2, 3, 4);
	kz_array_release(c);
	c = I(S(), 7);
	ok(kz_array_repeat(&out, c, 3, -1, NULL, &err));
	holds(out, S(3), 7, 7, 7);
	ok(kz_array_tile(&out, c, S(1, 2), NULL, &err));
	holds(out, S(1, 2), 7, 7);
	release_all((kz_array *[]){a, b, c}, 3);
}

/* Options */

KERNEL_TEST(a_join_goes_into_an_array_even_one_of_its_own)
{
	kz_array *a = I(S(6), 1, 2, 3, 4, 5, 6), *front, *back, *odd, *out;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	ok(kz_array_slice(&front, a, KZ_AT(KZ_SLICE(0, 3)), &err));
	ok(kz_array_slice(&back, a, KZ_AT(KZ_SLICE(3, 6)), &err));
	options.into = a;
	ok(kz_array_concatenate(&out, KZ_ARRAYS(back, front), 0, &options, &err));
	ck_assert_ptr_eq(out, a);
	holds(out, S(6), 4, 5, 6, 1, 2, 3);
	ok(kz_array_roll(NULL, a, 1, 0, &options, &err));
	ok(kz_array_slice(&odd, a, KZ_AT(KZ_SLICE(KZ_OMIT, KZ_OMIT, -2)), &err));
	options.into = odd;
	ok(kz_array_concatenate(NULL, KZ_ARRAYS(front), 0, &options, &err));
	holds(a, S(6), 3, 5, 5, 4, 1, 3);
	holds(odd, S(3), 3, 4, 5);
	release_arrays(front, back);
}

KERNEL_TEST(a_join_has_the_type_and_stream_that_are_asked_for)
{
	static const double halves[] = {1.5, -2.5, 200};
	float host[5];
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_stream *stream;
	kz_array *a = I(S(2), 1, 2), *b, *out, *wide;
	ok(kz_array_from(&b, dev, KZ_F64, S(3), halves, sizeof(halves), &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	options.stream = stream;
	options.dtype = KZ_F32;
	ok(kz_array_concatenate(&out, KZ_ARRAYS(a, b), 0, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(out), KZ_F32);
	ok(kz_array_get(out, host, sizeof(host), &err));
	ck_assert(host[1] == 2 && host[2] == 1.5f && host[4] == 200);
	options.dtype = KZ_I32;
	options.into = out;
	ok(kz_array_concatenate(NULL, KZ_ARRAYS(b, a), 0, &options, &err));
	ok(kz_array_get(out, host, sizeof(host), &err));
	ck_assert(host[0] == 1 && host[1] == -2 && host[2] == 200 && host[4] == 2);
	kz_array_release(out);
	options = (kz_op_options)KZ_OP_OPTIONS_INIT;
	ok(kz_array_like(&wide, b, &err));
	options.into = wide;
	ok(kz_array_repeat(&out, b, 1, 0, &options, &err));
	ck_assert_ptr_eq(out, wide);
	release_all((kz_array *[]){a, b, out, wide}, 4);
	kz_stream_release(stream);
}

/* Refusals */

KERNEL_TEST(arrays_that_do_not_fit_are_refused)
{
	kz_array *a = I(S(2, 3), 1, 2, 3, 4, 5, 6), *b = I(S(2, 2), 1, 2, 3, 4), *one = I(S(), 1);
	kz_array *flat = I(S(2), 1, 2), *out = a;
	fails(kz_array_concatenate(&out, KZ_ARRAYS(a, b), 0, NULL, &err), KZ_INVALID,
		"cannot concatenate shapes (2, 3) and (2, 2)");
	ck_assert_ptr_null(out);
	fails(kz_array_concatenate(&out, KZ_ARRAYS(a, flat), 0, NULL, &err), KZ_INVALID,
		"cannot concatenate shapes (2, 3) and (2,)");
	fails(kz_array_concatenate(&out, KZ_ARRAYS(a, a), 2, NULL, &err), KZ_RANGE,
		"axis 2 is out of range for shape (2, 3)");
	fails(kz_array_concatenate(&out, KZ_ARRAYS(one), 0, NULL, &err), KZ_RANGE, "axis 0");
	fails(kz_array_stack(&out, KZ_ARRAYS(a, b), 0, NULL, &err), KZ_INVALID,
		"cannot stack shapes (2, 3) and (2, 2)");
	fails(kz_array_stack(&out, KZ_ARRAYS(a, a), 3, NULL, &err), KZ_RANGE,
		"axis 3 is out of range for shape (2, 3, 2)");
	fails(kz_array_tile(&out, a, S(-1), NULL, &err), KZ_INVALID, "extent 0");
	fails(kz_array_tile(&out, a, S(INT64_MAX, 1), NULL, &err), KZ_RANGE,
		"tile: 9223372036854775807 times 2 elements along axis 0 overflow");
	fails(kz_array_tile(&out, a, S(INT64_MAX / 8, 1), NULL, &err), KZ_RANGE, "overflows");
	fails(kz_array_tile(&out, a, S(2, 2, 2, 2, 2, 2, 2, 2, 2), NULL, &err), KZ_INVALID,
		"tile: expected at most 16 axes, each repeated one counted twice, got 18");
	fails(kz_array_repeat(&out, a, -1, 0, NULL, &err), KZ_INVALID,
		"cannot repeat elements -1 times");
	fails(kz_array_repeat(&out, a, 2, 2, NULL, &err), KZ_RANGE, "axis 2");
	fails(kz_array_roll(&out, one, 2, 0, NULL, &err), KZ_RANGE, "axis 0");
	release_all((kz_array *[]){a, b, one, flat}, 4);
}

KERNEL_TEST(a_target_that_does_not_fit_is_refused)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_dtype odd;
	kz_array *a = I(S(2), 1, 2), *f, *strange, *out;
	ok(kz_dtype_register(&odd, "join_odd", 4, &err));
	ok(kz_array_zeros(&f, dev, KZ_F64, S(2), &err));
	ok(kz_array_view_as(&strange, a, odd, &err));
	options.into = a;
	fails(kz_array_concatenate(&out, KZ_ARRAYS(a, f), 0, &options, &err), KZ_INVALID,
		"concatenate gives shape (4,), which does not fit into (2,)");
	fails(kz_array_concatenate(&out, KZ_ARRAYS(f), 0, &options, &err), KZ_INVALID,
		"concatenate gives float64, which does not fit into int32");
	fails(kz_array_stack(&out, KZ_ARRAYS(f, strange), 0, NULL, &err), KZ_INVALID,
		"stack: float64 and join_odd have no type in common");
	fails(kz_array_concatenate(&out, KZ_ARRAYS(f, NULL), 0, NULL, &err), KZ_INVALID,
		"expected an array, got NULL");
	fails(kz_array_concatenate(&out, (kz_arrays){NULL, 3}, 0, NULL, &err), KZ_INVALID,
		"concatenate: expected one array or more, got none");
	fails(kz_array_stack(&out, (kz_arrays){&a, 0}, 0, NULL, &err), KZ_INVALID, "got none");
	fails(kz_array_roll(NULL, a, 1, 0, NULL, &err), KZ_INVALID, "roll: out is NULL");
	options.size = 3;
	fails(kz_array_tile(&out, a, S(2), &options, &err), KZ_INVALID, "has size 3, expected");
	options = (kz_op_options)KZ_OP_OPTIONS_INIT;
	options.dtype = 77;
	fails(kz_array_tile(&out, a, S(2), &options, &err), KZ_INVALID, "77 is not a dtype");
	release_all((kz_array *[]){a, f, strange}, 3);
}

KERNEL_TEST(a_struct_is_joined_to_its_like)
{
	kz_dtype odd;
	char host[14];
	kz_array *a, *out;
	ok(kz_dtype_register(&odd, "join_seven", 7, &err));
	ok(kz_array_from(&a, dev, odd, S(1), "abcdefg", 7, &err));
	ok(kz_array_concatenate(&out, KZ_ARRAYS(a, a), 0, NULL, &err));
	ok(kz_array_get(out, host, sizeof(host), &err));
	ck_assert_mem_eq(host, "abcdefgabcdefg", 14);
	release_arrays(a, out);
}

KERNEL_TEST(a_join_without_memory_leaves_nothing)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_array *a = I(S(2, 1), 1, 2);
	kz_status st = KZ_NO_MEMORY;
	long n;
	for (n = -1; st == KZ_NO_MEMORY && n < 500; n++) {
		kz_array *v[4] = {NULL};
		mem_fail_after(n); /* in the first round not at all: it compiles the kernels */
		if (!(st = kz_array_concatenate(&v[0], KZ_ARRAYS(a, a), 1, NULL, &err))
		    && !(st = kz_array_stack(&v[1], KZ_ARRAYS(a, a), 0, NULL, &err))
		    && !(st = kz_array_tile(&v[2], a, S(2, 2), NULL, &err))) {
			options.into = v[0];
			st = kz_array_roll(&v[3], v[0], 1, 0, &options, &err);
		}
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
		release_all(v, 4);
		st = n < 0 ? KZ_NO_MEMORY : st;
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 12);
	kz_array_release(a);
}

SUITE(join)
{
	Suite *s = suite_create("join");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 120);
	tcase_add_tests(tc, support_device_count(), joins_agree_with_loops,
		joins_are_as_numpy_documents_them, a_join_goes_into_an_array_even_one_of_its_own,
		a_join_has_the_type_and_stream_that_are_asked_for,
		arrays_that_do_not_fit_are_refused, a_target_that_does_not_fit_is_refused,
		a_struct_is_joined_to_its_like, a_join_without_memory_leaves_nothing);
	return s;
}

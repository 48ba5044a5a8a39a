/* SPDX-License-Identifier: MIT */
/*
 * Elementwise operations over views: any shape, any strides, in place, over each other.
 *
 * All views of a trial lie in one buffer.  A model in plain C reads the operands from a copy of its
 * bytes, writes the results into that copy, and in the end the buffer has to be this copy, so that
 * what should not be written is looked at too.  Each trial runs in both shapes of kernels: the CPU
 * device's own, one thread to a block, and that for GPUs.
 */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "lib/ops/elementwise.h"
#include "ops_ref.h"
#include "support/support.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 17, LARGEST = 6000 };

static kz_error err;
static kz_device *dev;
static uint64_t seed;

/* Each device twice: the second time with the other shape of kernels, where it has one.  A usual
 * run tries each test in one of the two. */
#undef DEVICE_TEST
#define DEVICE_TEST EITHER_WAY_TEST
static void setup(int index)
{
	const char *text = getenv("KUDZU_TEST_SEED");
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(index / 2);
	dev->serial = dev->serial && index % 2 == 0;
	seed = text ? strtoull(text, NULL, 0) : 1 + (uint64_t)index;
	fprintf(stderr, "KUDZU_TEST_SEED=%llu\n", (unsigned long long)seed);
}

static void teardown(void)
{
	support_close(dev);
}

static int64_t below(int64_t n)
{
	return (int64_t)(number_random(&seed) % (uint64_t)n);
}

static kz_array *create(kz_dtype dtype, kz_shape shape)
{
	kz_array *array;
	ok(kz_array_zeros(&array, dev, dtype, shape, &err));
	return array;
}

/* Views */

struct view {
	kz_dtype dtype;
	kz_shape shape;
	int64_t strides[KZ_MAX_DIMS];
	int64_t offset;
	kz_array *array;
};

static kz_shape random_shape(void)
{
	static const int64_t extents[] = {1, 1, 2, 2, 3, 4, 5, 7, 16, 33, 300};
	kz_shape shape = {.ndim = below(6)};
	int64_t count = 1;
	for (int64_t i = 0; i < shape.ndim; i++) {
		int64_t extent = below(40) == 0 ? 0 : extents[below(countof(extents))];
		shape.dims[i] = count * extent > LARGEST ? 1 : extent;
		count *= shape.dims[i];
	}
	return shape;
}

/* A shape that broadcasts to another. */
static kz_shape random_part(const kz_shape *result)
{
	kz_shape part = *result;
	int64_t dropped = below(3) ? 0 : below(result->ndim + 1);
	part.ndim -= dropped;
	for (int64_t i = 0; i < part.ndim; i++) {
		part.dims[i] = below(5) ? result->dims[i + dropped] : 1;
	}
	return part;
}

/* Strides in any order of axes, of any sign, with gaps; for operands 0, too.  Tells the bytes that
 * the elements cover, and where in them the first one is. */
static int64_t random_strides(struct view *view, bool is_target, int64_t *first)
{
	int64_t ndim = view->shape.ndim, order[KZ_MAX_DIMS];
	int64_t covered = kz_dtype_size(view->dtype);
	bool plain = below(3) == 0;
	*first = 0;
	for (int64_t i = 0; i < ndim; i++) {
		int64_t j = plain ? 0 : below(i + 1);
		memmove(order + j + 1, order + j, (size_t)(i - j) * sizeof(order[0]));
		order[j] = i;
	}
	for (int64_t n = 0; n < ndim; n++) {
		int64_t axis = order[n], extent = view->shape.dims[axis];
		int64_t stride = covered * (plain || below(2) ? 1 : 1 + below(3));
		bool still = !is_target && !plain && below(6) == 0;
		bool back = !plain && below(4) == 0;
		view->strides[axis] = still ? 0 : back ? -stride : stride;
		int64_t reach = still || extent == 0 ? 0 : stride * (extent - 1);
		*first += back ? reach : 0;
		covered += reach;
	}
	return covered;
}

/* A view somewhere in the buffer; false if it does not fit. */
static bool random_view(struct view *view, kz_dtype dtype, kz_shape shape, bool is_target,
	kz_buffer *buffer)
{
	int64_t first;
	int64_t align = dtype == KZ_BOOL || dtype_is_struct(dtype) ? 4 : kz_dtype_size(dtype);
	view->dtype = dtype;
	view->shape = shape;
	view->array = NULL;
	int64_t covered = random_strides(view, is_target, &first);
	if (covered > SIZE) {
		return false;
	}
	int64_t room = (SIZE - covered) / align + 1;
	view->offset = first + align * below(below(2) ? room : room < 20 ? room : 20);
	ok(kz_array_wrap(&view->array, buffer, dtype, shape, view->strides, view->offset, &err));
	return true;
}

/* Where in the buffer the element of a view is that belongs to an index of the result. */
static int64_t place_of(const struct view *view, const int64_t *index, int64_t ndim)
{
	int64_t at = view->offset;
	for (int64_t i = 0; i < view->shape.ndim; i++) {
		int64_t step = index[ndim - view->shape.ndim + i];
		at += view->shape.dims[i] == 1 ? 0 : step * view->strides[i];
	}
	return at;
}

static bool advance(int64_t *index, const kz_shape *shape)
{
	for (int64_t i = shape->ndim; i-- > 0;) {
		if (++index[i] < shape->dims[i]) {
			return true;
		}
		index[i] = 0;
	}
	return false;
}

/* Trials */

static const struct mode {
	kz_op op; /* none: a copy */
	kz_dtype operands[3];
	kz_dtype target; /* of a target that is given */
} modes[] = {
	{KZ_OP_SUBTRACT, {KZ_I32, KZ_I32, 0}, KZ_I32},
	{KZ_OP_WHERE, {KZ_BOOL, KZ_F64, KZ_I16}, KZ_F32},
	{KZ_OP_NONE, {KZ_U8, 0, 0}, KZ_F16},
	{KZ_OP_MULTIPLY, {KZ_C64, KZ_U8, 0}, KZ_C64},
	{KZ_OP_CLIP, {KZ_I16, KZ_I8, KZ_I16}, KZ_I64},
};

struct trial {
	const struct mode *mode;
	int arity;
	kz_shape shape;
	struct view operands[3];
	struct view target;
	kz_buffer *buffer;
	char before[SIZE];
	char after[SIZE];
};

static struct trial trial;

static void release(struct trial *t)
{
	for (int k = 0; k < 3; k++) {
		kz_array_release(t->operands[k].array);
	}
	kz_array_release(t->target.array);
	memset(t->operands, 0, sizeof(t->operands));
	memset(&t->target, 0, sizeof(t->target));
}

/* Elements of small numbers, so that floats are exact, whatever types overlap. */
static void fill_buffer(struct trial *t)
{
	for (int64_t i = 0; i < SIZE; i++) {
		t->before[i] = (char)number_random(&seed);
	}
	for (int k = 0; k < t->arity; k++) {
		const struct view *view = &t->operands[k];
		int64_t index[KZ_MAX_DIMS] = {0};
		for (bool more = support_count(&t->shape) > 0; more;
			more = advance(index, &t->shape)) {
			struct number value = number_of_whole(below(200) - 100);
			(void)number_convert(&value, KZ_I64, view->dtype);
			number_store(view->dtype, t->before + place_of(view, index, t->shape.ndim),
				value);
		}
	}
	ok(kz_copy_htod(t->buffer, 0, t->before, SIZE, &err));
	memcpy(t->after, t->before, SIZE);
}

static struct number expected(const struct trial *t, const int64_t *index, kz_dtype *result)
{
	struct number x[3] = {{0, 0, 0}};
	kz_dtype computed[3] = {t->mode->operands[0], 0, 0};
	*result = computed[0];
	if (t->mode->op) {
		ck_assert(ref_types(t->mode->op, t->mode->operands, computed, result));
	}
	for (int k = 0; k < t->arity; k++) {
		const struct view *view = &t->operands[k];
		x[k] = number_load(view->dtype, t->before + place_of(view, index, t->shape.ndim));
		(void)number_convert(&x[k], view->dtype, computed[k]);
	}
	struct number value = t->mode->op ? ref_apply(t->mode->op, computed, x) : x[0];
	kz_dtype wide = number_kind(*result) <= NUMBER_INTEGER ? KZ_I64 : KZ_C128;
	(void)number_convert(&value, wide, *result);
	return value;
}

/* Random bytes may be no number, and no number may have any bits. */
static bool is_nan(kz_dtype dtype, const char *element)
{
	struct number value = number_load(dtype, element);
	return value.re != value.re || value.im != value.im;
}

/* Write the results into the model, at the target's places, or one after the other. */
static void model(struct trial *t, kz_dtype target, char *to, const char *got)
{
	int64_t index[KZ_MAX_DIMS] = {0}, n = 0, size = kz_dtype_size(target);
	for (bool more = support_count(&t->shape) > 0; more;
		more = advance(index, &t->shape), n++) {
		kz_dtype result;
		char *element = to + (t->target.array ? place_of(&t->target, index, t->shape.ndim)
			: n * size);
		struct number value = expected(t, index, &result);
		bool defined = number_convert(&value, result, target);
		number_store(target, element, value);
		if (!defined || (is_nan(target, element) && is_nan(target, got + (element - to)))) {
			memcpy(element, got + (element - to), (size_t)size);
		}
	}
}

static void describe_view(char **at, char *end, const char *name, const struct view *view)
{
	*at += snprintf(*at, (size_t)(end - *at), "; %s %s at %lld", name,
		kz_dtype_name(view->dtype), (long long)view->offset);
	for (int64_t i = 0; i < view->shape.ndim && *at < end; i++) {
		*at += snprintf(*at, (size_t)(end - *at), ", %lld by %lld",
			(long long)view->shape.dims[i], (long long)view->strides[i]);
	}
}

static void say_wrong(const struct trial *t, int64_t at, const char *want, const char *got)
{
	char text[2000], *next = text;
	for (int k = 0; k < t->arity; k++) {
		describe_view(&next, text + sizeof(text), "operand", &t->operands[k]);
	}
	if (t->target.array) {
		describe_view(&next, text + sizeof(text), "into", &t->target);
	}
	ck_abort_msg("%s: byte %lld is %02x, expected %02x%s", t->mode->op
		? kz_op_name(t->mode->op) : "copy", (long long)at, (unsigned char)got[at],
		(unsigned char)want[at], text);
}

static void check_same(const struct trial *t, const char *want, const char *got, int64_t size)
{
	for (int64_t i = 0; i < size; i++) {
		if (want[i] != got[i]) {
			say_wrong(t, i, want, got);
		}
	}
}

static void into_a_view(struct trial *t)
{
	static char got[SIZE];
	kz_arg args[3];
	for (int k = 0; k < t->arity; k++) {
		args[k] = kz_arg_array(t->operands[k].array);
	}
	if (t->mode->op) {
		ok(kz_apply_into(t->target.array, t->mode->op, &err,
			(kz_args){args, (size_t)t->arity}));
	} else {
		ok(kz_array_assign(t->target.array, t->operands[0].array, &err));
	}
	ok(kz_copy_dtoh(got, SIZE, t->buffer, 0, &err));
	model(t, t->target.dtype, t->after, got);
	check_same(t, t->after, got, SIZE);
}

static void into_a_new_array(struct trial *t)
{
	static char got[16 * LARGEST], want[16 * LARGEST];
	kz_array *out = NULL;
	kz_arg args[3];
	for (int k = 0; k < t->arity; k++) {
		args[k] = kz_arg_array(t->operands[k].array);
	}
	if (t->mode->op) {
		ok(kz_apply(&out, t->mode->op, NULL, &err, (kz_args){args, (size_t)t->arity}));
	} else {
		ok(kz_array_copy(&out, t->operands[0].array, &err));
	}
	kz_shape shape = kz_array_shape(out);
	ck_assert_int_eq(shape.ndim, t->shape.ndim);
	ck_assert_mem_eq(shape.dims, t->shape.dims, (size_t)shape.ndim * sizeof(shape.dims[0]));
	ok(kz_array_get(out, got, kz_array_size(out), &err));
	model(t, kz_array_dtype(out), want, got);
	check_same(t, want, got, kz_array_size(out));
	kz_array_release(out);
}

/* A random trial; false if it does not fit into the buffer. */
static bool make_trial(struct trial *t, bool with_target)
{
	bool fits = true;
	t->arity = t->mode->op ? kz_op_arity(t->mode->op) : 1;
	t->shape = random_shape();
	for (int k = 0; k < t->arity; k++) {
		bool is_part = t->arity > 1 ? k < t->arity - 1 : with_target;
		fits = random_view(&t->operands[k], t->mode->operands[k], is_part
			? random_part(&t->shape) : t->shape, false, t->buffer) && fits;
	}
	if (fits && with_target) {
		fits = random_view(&t->target, t->mode->target, t->shape, true, t->buffer);
		/* Now and then the target is an operand. */
		if (fits && t->target.dtype == t->operands[0].dtype && below(4) == 0) {
			kz_array_release(t->operands[0].array);
			t->operands[0] = t->target;
			(void)kz_array_retain(t->target.array);
		}
	}
	return fits;
}

START_TEST(random_views_give_what_the_model_gives)
{
	int rounds = support_how_many(4000, 3, 1);
	setup(_i / (int)countof(modes));
	trial.mode = &modes[_i % (int)countof(modes)];
	ok(kz_buffer_create(&trial.buffer, dev, SIZE, &err));
	for (int n = 0; n < rounds; n++) {
		bool with_target = n % 2 == 0;
		if (make_trial(&trial, with_target)) {
			fill_buffer(&trial);
			if (with_target) {
				into_a_view(&trial);
			} else {
				into_a_new_array(&trial);
			}
		}
		release(&trial);
	}
	kz_buffer_release(trial.buffer);
	teardown();
}
END_TEST

/* Overlaps */

enum { LINE = 16 };

/* One line of numbers, a source and a target in it: as if they were apart. */
static void try_overlap(kz_buffer *line, int64_t n, int64_t from, int64_t step, int64_t to,
	int64_t stride)
{
	int32_t before[LINE], want[LINE], got[LINE];
	kz_array *source, *target;
	for (int i = 0; i < LINE; i++) {
		before[i] = want[i] = (int32_t)below(1000);
	}
	for (int64_t i = 0; i < n; i++) {
		want[to + i * stride] = before[to + i * stride] - 2 * before[from + i * step];
	}
	ok(kz_copy_htod(line, 0, before, sizeof(before), &err));
	ok(kz_array_wrap(&source, line, KZ_I32, KZ_SHAPE(n), &(int64_t){4 * step}, 4 * from, &err));
	ok(kz_array_wrap(&target, line, KZ_I32, KZ_SHAPE(n), &(int64_t){4 * stride}, 4 * to, &err));
	ok(kz_apply_into(target, KZ_OP_SUBTRACT, &err, KZ_ARGS(target, source)));
	kz_array_release(target);
	ok(kz_array_wrap(&target, line, KZ_I32, KZ_SHAPE(n), &(int64_t){4 * stride}, 4 * to, &err));
	/* The second time from what the source was. */
	kz_array_release(source);
	ok(kz_array_from(&source, dev, KZ_I32, KZ_SHAPE(LINE), before, sizeof(before), &err));
	kz_array *part;
	ok(kz_array_view(&part, source, KZ_SHAPE(n), &(int64_t){4 * step}, 4 * from, &err));
	ok(kz_apply_into(target, KZ_OP_SUBTRACT, &err, KZ_ARGS(target, part)));
	ok(kz_copy_dtoh(got, sizeof(got), line, 0, &err));
	if (memcmp(got, want, sizeof(got)) != 0) {
		ck_abort_msg("%d elements from %d by %d to %d by %d", (int)n, (int)from, (int)step,
			(int)to, (int)stride);
	}
	release_arrays(part, source, target);
}

static bool lies_within(int64_t first, int64_t step, int64_t n)
{
	int64_t last = first + step * (n - 1);
	return last >= 0 && last < LINE;
}

DEVICE_TEST(an_overlap_gives_what_would_come_without_it)
{
	static const int64_t steps[] = {1, 2, 3, -1, -2, 0};
	kz_buffer *line;
	ok(kz_buffer_create(&line, dev, 4 * LINE, &err));
	for (int i = 0; i < 6 * 5 * 5; i++) {
		int64_t step = steps[i % 6], stride = steps[i / 6 % 5], n = 1 + i / 30;
		for (int64_t from = 0; from < LINE; from++) {
			for (int64_t to = below(3); to < LINE; to += 1 + below(5)) {
				if (lies_within(from, step, n) && lies_within(to, stride, n)) {
					try_overlap(line, n, from, step, to, stride);
				}
			}
		}
	}
	kz_buffer_release(line);
}

DEVICE_TEST(an_operand_of_another_type_may_lie_where_the_target_does)
{
	static const int32_t numbers[4] = {1, -2, 300, 70000};
	float got[4];
	kz_buffer *buffer;
	kz_array *integers, *floats;
	ok(kz_buffer_create(&buffer, dev, sizeof(numbers), &err));
	ok(kz_copy_htod(buffer, 0, numbers, sizeof(numbers), &err));
	ok(kz_array_wrap(&integers, buffer, KZ_I32, KZ_SHAPE(4), NULL, 0, &err));
	ok(kz_array_wrap(&floats, buffer, KZ_F32, KZ_SHAPE(4), NULL, 0, &err));
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.into = floats;
	options.dtype = KZ_F32;
	ok(kz_apply(NULL, KZ_OP_ADD, &options, &err, KZ_ARGS(integers, 1)));
	ok(kz_array_get(floats, got, sizeof(got), &err));
	for (int i = 0; i < 4; i++) {
		ck_assert(got[i] == (float)(numbers[i] + 1));
	}
	release_arrays(integers, floats);
	kz_buffer_release(buffer);
}

DEVICE_TEST(the_index_counts_elements_in_row_major_order)
{
	int64_t got[24];
	kz_array *ten, *turned, *out = NULL;
	struct expr expr;
	ten = create(KZ_I64, KZ_SHAPE(2, 3, 4));
	ok(kz_array_fill(ten, KZ_ARG(10), &err));
	ok(kz_array_view(&turned, ten, KZ_SHAPE(4, 2, 3), (const int64_t[]){8, 96, 32}, 0, &err));
	expr_init(&expr);
	int nodes[2] = {expr_array(&expr, turned, &err), expr_index(&expr, &err)};
	ck_assert_int_ge(expr_apply(&expr, KZ_OP_ADD, nodes, &err), 0);
	ok(elementwise_run(&out, &expr, &(struct elementwise){.into = NULL}, &err));
	ok(kz_array_get(out, got, sizeof(got), &err));
	for (int64_t i = 0; i < 24; i++) {
		ck_assert_int_eq(got[i], 10 + i);
	}
	release_arrays(ten, turned, out);
}

/* Blocks of a serial device begin anywhere within rows. */
DEVICE_TEST(blocks_know_where_in_which_row_they_begin)
{
	enum { A = 7, B = 11, C = 13, D = 37, COUNT = A * B * C * D };
	static int32_t got[COUNT], numbers[A * C + B * D];
	kz_array *all, *a, *b, *out = NULL;
	for (int i = 0; i < (int)countof(numbers); i++) {
		numbers[i] = i * i;
	}
	ok(kz_array_from(&all, dev, KZ_I32, KZ_SHAPE(countof(numbers)), numbers, sizeof(numbers),
		&err));
	ok(kz_array_view(&a, all, KZ_SHAPE(A, 1, C, 1), NULL, 0, &err));
	ok(kz_array_view(&b, all, KZ_SHAPE(B, 1, D), NULL, sizeof(*got) * A * C, &err));
	ok(kz_subtract(&out, a, b, &err));
	ok(kz_array_get(out, got, sizeof(got), &err));
	for (int i = 0; i < COUNT; i++) {
		int row = i / D, x = row / C / B * C + row % C, y = row / C % B * D + i % D;
		ck_assert_int_eq(got[i], numbers[x] - numbers[A * C + y]);
	}
	release_arrays(all, a, b, out);
}

/* The order of axes */

DEVICE_TEST(a_result_has_its_axes_in_the_order_of_the_operand)
{
	kz_array *a, *turned, *out;
	a = create(KZ_F64, KZ_SHAPE(2, 3, 4));
	ok(kz_array_view(&turned, a, KZ_SHAPE(4, 2, 3), (const int64_t[]){8, 96, 32}, 0, &err));
	ok(kz_add(&out, turned, 1, &err));
	ck_assert_mem_eq(kz_array_strides(out), ((const int64_t[]){8, 96, 32}), 24);
	kz_array_release(out);
	ok(kz_less(&out, turned, 1, &err));
	ck_assert_mem_eq(kz_array_strides(out), ((const int64_t[]){1, 12, 4}), 24);
	release_arrays(turned, out);
	ok(kz_array_view(&turned, a, KZ_SHAPE(2, 3, 2), (const int64_t[]){96, -32, 16}, 64, &err));
	ok(kz_add(&out, turned, 1, &err));
	ck_assert_mem_eq(kz_array_strides(out), ((const int64_t[]){48, 16, 8}), 24);
	release_arrays(turned, out, a);
}

/* How many kernels */

/* Add 1 to views of a shape whose last axis steps over elements; the strides of all others vary. */
static void add_to_views(kz_shape shape, int64_t step)
{
	kz_array *all, *view, *out;
	int64_t strides[KZ_MAX_DIMS], stride = 4 * step;
	for (int64_t i = shape.ndim; i-- > 0;) {
		shape.dims[i] += 2;
		strides[i] = stride;
		stride *= shape.dims[i] + step;
	}
	all = create(KZ_F32, KZ_SHAPE(60000));
	ok(kz_array_view(&view, all, shape, strides, 0, &err));
	ok(kz_add(&out, view, 1, &err));
	release_arrays(out, view, all);
}

DEVICE_TEST(all_shapes_share_the_kernels_of_their_class)
{
	for (int n = 0; n < 200; n++) {
		kz_array *a = create(KZ_F32, random_shape()), *out;
		ok(kz_multiply(&out, 2, a, &err));
		release_arrays(out, a);
	}
	ck_assert_int_eq(support_compiled(dev), 1);
	for (int64_t n = 2; n < 60; n++) {
		add_to_views(KZ_SHAPE(n), 2 + n % 5);
		add_to_views(KZ_SHAPE(n, 60 - n), 1);
		add_to_views(KZ_SHAPE(60 - n, n), 2 + n % 3);
		add_to_views(KZ_SHAPE(n % 7, n % 6, n % 5), 1);
	}
	ck_assert_int_le(support_compiled(dev), 5);
}

static void subtract_at(kz_buffer *buffer, const uint8_t bytes[128], int64_t from, int64_t to,
	int64_t n)
{
	uint8_t got[128];
	kz_array *a, *b;
	int wrong = 0;
	ok(kz_copy_htod(buffer, 0, bytes, 128, &err));
	ok(kz_array_wrap(&a, buffer, KZ_U8, KZ_SHAPE(n), NULL, from, &err));
	ok(kz_array_wrap(&b, buffer, KZ_U8, KZ_SHAPE(n), NULL, to, &err));
	ok(kz_apply_into(b, KZ_OP_SUBTRACT, &err, KZ_ARGS(b, a)));
	ok(kz_copy_dtoh(got, 128, buffer, 0, &err));
	for (int64_t i = 0; i < 128; i++) {
		bool changed = i >= to && i < to + n;
		wrong += got[i] != (uint8_t)(bytes[i] - (changed ? bytes[from + i - to] : 0));
	}
	ck_assert_int_eq(wrong, 0);
	release_arrays(a, b);
}

DEVICE_TEST(small_elements_are_right_at_every_place_and_length)
{
	uint8_t bytes[128];
	kz_buffer *buffer;
	for (int i = 0; i < 128; i++) {
		bytes[i] = (uint8_t)(i * i);
	}
	ok(kz_buffer_create(&buffer, dev, 128, &err));
	for (int64_t n = 1; n < 44; n++) {
		for (int64_t from = 0; from < 18; from++) {
			subtract_at(buffer, bytes, from, 64 + (from * n) % 18, n);
			subtract_at(buffer, bytes, from, 64 + from, n);
		}
	}
	/* A GPU moves 16 or 4 at a time where both operands let it, by kernels of their own. */
	ck_assert_int_eq(support_compiled(dev), dev->serial ? 1 : 3);
	kz_buffer_release(buffer);
}

/* Sums of two bytes each as floats, from any place of all three arrays on. */
DEVICE_TEST(elements_of_several_sizes_are_moved_together)
{
	enum { N = 50 };
	int8_t bytes[N];
	int16_t words[N];
	float floats[N];
	for (int i = 0; i < N; i++) {
		bytes[i] = (int8_t)(i * 37);
		words[i] = (int16_t)(i * 2049);
	}
	for (int64_t c = 0; c < 64; c++) {
		const int64_t at[3] = {c % 4, c / 4 % 4, c / 16}, n = N - 4 - c % 5;
		kz_array *a, *b, *to, *parts[3];
		ok(kz_array_from(&a, dev, KZ_I8, KZ_SHAPE(N), bytes, sizeof(bytes), &err));
		ok(kz_array_from(&b, dev, KZ_I16, KZ_SHAPE(N), words, sizeof(words), &err));
		ok(kz_array_zeros(&to, dev, KZ_F32, KZ_SHAPE(N), &err));
		kz_array *const all[3] = {to, a, b};
		for (int k = 0; k < 3; k++) {
			ok(kz_array_slice(&parts[k], all[k],
				KZ_AT(KZ_SLICE(at[k], at[k] + n, 1)), &err));
		}
		ok(kz_apply_into(parts[0], KZ_OP_ADD, &err, KZ_ARGS(parts[1], parts[2])));
		ok(kz_array_get(to, floats, sizeof(floats), &err));
		for (int64_t i = 0; i < N; i++) {
			const int64_t k = i - at[0];
			const int16_t want = k < 0 || k >= n ? 0
				: (int16_t)(bytes[at[1] + k] + words[at[2] + k]);
			ck_assert(floats[i] == (float)want);
		}
		release_arrays(a, b, to, parts[0], parts[1], parts[2]);
	}
}

DEVICE_TEST(structs_of_any_size_are_chosen)
{
	enum { COUNT = 1000 };
	unsigned char pixels[COUNT][3], got[COUNT][3];
	bool chosen[COUNT];
	kz_dtype pixel;
	kz_array *mask, *a, *b, *out;
	for (int i = 0; i < COUNT; i++) {
		chosen[i] = i % 3 == 1;
		memset(pixels[i], 1 + i % 200, sizeof(pixels[i]));
	}
	ok(kz_dtype_register(&pixel, "struct pixel", sizeof(pixels[0]), &err));
	ok(kz_array_from(&mask, dev, KZ_BOOL, KZ_SHAPE(COUNT), chosen, sizeof(chosen), &err));
	ok(kz_array_from(&a, dev, pixel, KZ_SHAPE(COUNT), pixels, sizeof(pixels), &err));
	b = create(pixel, KZ_SHAPE(COUNT));
	ok(kz_where(&out, mask, a, b, &err));
	ok(kz_array_get(out, got, sizeof(got), &err));
	for (int i = 0; i < COUNT; i++) {
		memset(pixels[i], chosen[i] ? pixels[i][0] : 0, sizeof(pixels[i]));
	}
	ck_assert_mem_eq(got, pixels, sizeof(got));
	release_arrays(mask, a, b, out);
}

START_TEST(a_device_that_opens_again_compiles_again)
{
	for (int n = 0; n < 3; n++) {
		setup(_i);
		ck_assert_int_eq(support_compiled(dev), 0);
		kz_array *a = create(KZ_I16, KZ_SHAPE(5)), *out[2];
		ok(kz_invert(&out[0], a, &err));
		ok(kz_invert(&out[1], out[0], &err));
		kz_kernel_stats stats;
		kz_device_kernel_stats(dev, &stats);
		ck_assert_int_eq(stats.compiled_count, 1);
		ck_assert_int_eq(stats.hit_count, 1);
		release_arrays(out[n % 2], a);
		kz_device *held = dev;
		kz_device_close(dev); /* what is left keeps it */
		kz_array_release(out[1 - n % 2]);
		(void)held;
	}
	kz_kernel_stats none = {7, 7};
	kz_device_kernel_stats(NULL, &none);
	ck_assert_int_eq(none.compiled_count, 0);
	ck_assert_int_eq(none.hit_count, 0);
	kz_device_kernel_stats(NULL, NULL);
}
END_TEST

static void *add_once(void *a)
{
	kz_error mine = KZ_ERROR_INIT;
	kz_array *out = NULL;
	kz_status st = kz_logaddexp(&out, (kz_array *)a, (kz_array *)a, &mine);
	kz_array_release(out);
	return st ? a : NULL;
}

DEVICE_TEST(threads_that_want_the_same_kernel_compile_it_once)
{
	enum { THREADS = 8 };
	pthread_t threads[THREADS];
	kz_array *a = create(KZ_F64, KZ_SHAPE(100));
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, add_once, a), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
	ck_assert_int_eq(support_compiled(dev), 1);
	kz_array_release(a);
}

/* Sizes beyond 32 bits: by hand, with KUDZU_TEST_SLOW */

static const int64_t huge_counts[] = {
	(INT64_C(1) << 31) - 1, INT64_C(1) << 31, (INT64_C(1) << 31) + 1, (INT64_C(1) << 32) + 1,
};

/* Every element of `array` is `want`, as far as 10000 of them and both ends tell. */
static void check_some(kz_array *array, int8_t want)
{
	int64_t count = kz_array_count(array);
	static int8_t got[20000];
	for (int64_t n = 0; n < 10002; n++) {
		int64_t at = n < 10000 ? (int64_t)((double)n * (double)count / 10000) : n == 10000
			? 0 : count - 1;
		ok(kz_copy_dtoh(got, 1, kz_array_buffer(array), at, &err));
		ck_assert_msg(got[0] == want, "element %lld of %lld: %d", (long long)at,
			(long long)count, got[0]);
	}
}

START_TEST(more_elements_than_32_bits_count_are_all_computed)
{
	int64_t count = huge_counts[_i % (int)countof(huge_counts)];
	kz_array *a, *back, *pairs;
	setup(_i / (int)countof(huge_counts));
	ok(kz_array_zeros(&a, dev, KZ_I8, kz_shape_from(&count, 1), &err));
	ok(kz_apply_into(a, KZ_OP_ADD, &err, KZ_ARGS(a, 3)));
	check_some(a, 3);
	/* A last axis of 5 elements, of which 4 are written; and from behind. */
	kz_shape shape = KZ_SHAPE(count / 5, 4);
	ok(kz_array_view(&pairs, a, shape, (const int64_t[]){5, 1}, 0, &err));
	ok(kz_apply_into(pairs, KZ_OP_MULTIPLY, &err, KZ_ARGS(pairs, 2)));
	ok(kz_array_view(&back, a, KZ_SHAPE(count / 5), (const int64_t[]){-5}, count / 5 * 5 - 1,
		&err));
	ok(kz_apply_into(back, KZ_OP_MULTIPLY, &err, KZ_ARGS(2, back)));
	kz_array_release(pairs);
	ok(kz_array_view(&pairs, a, KZ_SHAPE(count / 5 * 5), NULL, 0, &err));
	check_some(pairs, 6);
	release_arrays(pairs, back, a);
	teardown();
}
END_TEST

SUITE(elementwise)
{
	Suite *s = suite_create("elementwise");
	TCase *tc = suite_add_case(s, "each device, both shapes of kernels");
	int shapes = 2 * support_device_count();
	tcase_set_timeout(tc, getenv("KUDZU_TEST_SLOW") ? 3600 : 120);
	tcase_add_loop_test(tc, random_views_give_what_the_model_gives, 0,
		shapes * (int)countof(modes));
	tcase_add_tests(tc, shapes, an_overlap_gives_what_would_come_without_it,
		an_operand_of_another_type_may_lie_where_the_target_does,
		the_index_counts_elements_in_row_major_order,
		blocks_know_where_in_which_row_they_begin,
		a_result_has_its_axes_in_the_order_of_the_operand,
		all_shapes_share_the_kernels_of_their_class,
		small_elements_are_right_at_every_place_and_length,
		elements_of_several_sizes_are_moved_together, structs_of_any_size_are_chosen,
		a_device_that_opens_again_compiles_again,
		threads_that_want_the_same_kernel_compile_it_once);
	if (getenv("KUDZU_TEST_SLOW")) {
		TCase *huge = suite_add_case(s, "sizes beyond 32 bits");
		tcase_set_timeout(huge, 3600);
		tcase_add_loop_test(huge, more_elements_than_32_bits_count_are_all_computed, 0,
			shapes * (int)countof(huge_counts));
		}
	return s;
}

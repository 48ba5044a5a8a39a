/* SPDX-License-Identifier: MIT */
/*
 * Operations on arrays that are alike, one after the other: each call has to give what it would
 * give alone, whatever calls before it came to.
 */
#include "base/common.h"

#include "cpu/support/both_shapes.h"
#include "support/number.h"
#include "support/suite.h"

#include <string.h>

enum { SIZE = 256, TRIALS = 600 };

/* An operand: a view of the buffer, or a C number. */
struct operand {
	kz_array *view; /* NULL: a number */
	int64_t from, step, count;
	kz_arg arg;
	float value;
};

static uint64_t seed;
static float model[SIZE];

static int64_t below(int64_t n)
{
	return (int64_t)(number_random(&seed) % (uint64_t)n);
}

static void take_view(struct operand *o, kz_buffer *buffer, int64_t count)
{
	static const int64_t places[] = {0, 0, 4, 8, 16, 17, 64, 100};
	o->from = places[below(countof(places))];
	o->step = below(8) ? 1 : 2;
	o->count = count;
	ok(kz_array_wrap(&o->view, buffer, KZ_F32, KZ_SHAPE(count),
		(const int64_t[]){4 * o->step}, 4 * o->from, &err));
	o->arg = kz_arg_array(o->view);
}

static void take_number(struct operand *o)
{
	int64_t number = below(9) - 4;
	*o = (struct operand){.value = (float)number};
	switch (below(4)) {
	case 0:
		o->arg = KZ_ARG((int)number);
		break;
	case 1:
		o->arg = KZ_ARG(number);
		break;
	case 2:
		o->value += 0.5f;
		o->arg = KZ_ARG(o->value);
		break;
	default:
		o->value += 0.25f;
		o->arg = KZ_ARG((double)o->value);
	}
}

static float operand_at(const struct operand *o, const float *from, int64_t i)
{
	return o->view ? from[o->from + i % o->count * o->step] : o->value;
}

static float compute(kz_op op, float a, float b)
{
	return op == KZ_OP_ADD ? a + b : op == KZ_OP_SUBTRACT ? a - b : a < b ? a : b;
}

/* A new array, or a view of the buffer; the model becomes what the buffer has to be. */
static void run_trial(kz_buffer *buffer)
{
	static const kz_op ops[] = {KZ_OP_ADD, KZ_OP_SUBTRACT, KZ_OP_MINIMUM};
	kz_op op = ops[below(countof(ops))];
	struct operand a, b, to = {.view = NULL};
	float before[SIZE], got[SIZE];
	kz_array *out = NULL;
	int64_t count = below(2) ? 24 : 40;
	take_view(&a, buffer, count);
	if (below(2)) {
		take_number(&b);
	} else {
		take_view(&b, buffer, below(8) ? count : 1);
	}
	memcpy(before, model, sizeof(before));
	bool is_new = below(3) == 0, same = b.view && below(8) == 0;
	kz_args args = KZ_ARGS(a.arg, same ? a.arg : b.arg);
	if (is_new) {
		ok(kz_apply(&out, op, NULL, &err, args));
		ok(kz_array_get(out, got, 4 * count, &err));
	} else {
		take_view(&to, buffer, count);
		ok(kz_apply_into(to.view, op, &err, args));
	}
	for (int64_t i = 0; i < count; i++) {
		float want = compute(op, operand_at(&a, before, i),
			operand_at(same ? &a : &b, before, i));
		if (is_new) {
			ck_assert_float_eq(got[i], want);
		} else {
			model[to.from + i * to.step] = want;
		}
	}
	ok(kz_copy_dtoh(got, sizeof(got), buffer, 0, &err));
	ck_assert_mem_eq(got, model, sizeof(got));
	release_arrays(out, a.view, b.view, to.view);
}

DEVICE_TEST(calls_in_any_order_give_what_each_gives_alone)
{
	kz_buffer *buffer;
	seed = 1 + (uint64_t)_i;
	ok(kz_buffer_create(&buffer, dev, sizeof(model), &err));
	for (int n = 0; n < TRIALS; n++) {
		for (int i = 0; n % 8 == 0 && i < SIZE; i++) {
			model[i] = (float)(i * 7 % 31);
		}
		if (n % 8 == 0) {
			ok(kz_copy_htod(buffer, 0, model, sizeof(model), &err));
		}
		run_trial(buffer);
	}
	kz_buffer_release(buffer);
}

static double first_of(kz_array *array)
{
	kz_array *doubles;
	double values[4];
	ok(kz_array_astype(&doubles, array, KZ_F64, &err));
	ok(kz_array_get(doubles, values, sizeof(values), &err));
	kz_array_release(doubles);
	return values[0];
}

DEVICE_TEST(types_are_told_apart)
{
	static const kz_dtype dtypes[] = {KZ_F32, KZ_F64, KZ_I32, KZ_U8, KZ_F32, KZ_F64};
	for (int n = 0; n < (int)(countof(dtypes) * countof(dtypes)); n++) {
		kz_dtype in = dtypes[n % (int)countof(dtypes)],
			to = dtypes[n / (int)countof(dtypes)];
		kz_array *a, *sum, *into;
		ok(kz_array_ones(&a, dev, in, KZ_SHAPE(4), &err));
		ok(kz_add(&sum, a, 2, &err));
		ck_assert_uint_eq(kz_array_dtype(sum), in);
		ck_assert(first_of(sum) == 3);
		kz_array_release(sum);
		ok(kz_divide(&sum, a, 4, &err));
		ck_assert(first_of(sum) == 0.25);
		ok(kz_array_zeros(&into, dev, to, KZ_SHAPE(4), &err));
		if (kz_dtype_can_cast(in, to)) {
			ok(kz_apply_into(into, KZ_OP_ADD, &err, KZ_ARGS(a, 2)));
			ck_assert(first_of(into) == 3);
		} else {
			fails(kz_apply_into(into, KZ_OP_ADD, &err, KZ_ARGS(a, 2)), KZ_INVALID,
				"does not fit into");
		}
		release_arrays(a, sum, into);
	}
}

DEVICE_TEST(the_same_call_again_finds_its_kernel)
{
	kz_kernel_stats stats;
	kz_array *a, *out;
	ok(kz_array_ones(&a, dev, KZ_F32, KZ_SHAPE(4), &err));
	for (int n = 1; n <= 5; n++) {
		ok(kz_multiply(&out, n, a, &err));
		float values[4];
		ok(kz_array_get(out, values, sizeof(values), &err));
		ck_assert_float_eq(values[3], (float)n);
		kz_device_kernel_stats(dev, &stats);
		ck_assert_int_eq(stats.compiled_count, 1);
		ck_assert_int_eq(stats.hit_count, n - 1);
		kz_array_release(out);
	}
	kz_array_release(a);
}

DEVICE_TEST(shapes_of_one_count_are_told_apart)
{
	kz_array *wide, *high, *line, *column, *sum;
	ok(kz_array_ones(&wide, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	ok(kz_array_ones(&high, dev, KZ_F32, KZ_SHAPE(3, 2), &err));
	ok(kz_array_ones(&line, dev, KZ_F32, KZ_SHAPE(1, 6), &err));
	ok(kz_array_ones(&column, dev, KZ_F32, KZ_SHAPE(6, 1), &err));
	ok(kz_add(&sum, wide, wide, &err));
	kz_array_release(sum);
	ok(kz_apply_into(wide, KZ_OP_ADD, &err, KZ_ARGS(wide, 1)));
	ok(kz_maximum(&sum, line, 0.5, &err));
	fails(kz_apply_into(wide, KZ_OP_ADD, &err, KZ_ARGS(high, 1)), KZ_INVALID, "(2, 3)");
	ok(kz_apply_into(sum, KZ_OP_ADD, &err, KZ_ARGS(line, 1)));
	fails(kz_apply_into(sum, KZ_OP_ADD, &err, KZ_ARGS(column, 1)), KZ_INVALID, "(1, 6)");
	release_arrays(sum, wide, high, line, column);
}

/* More kinds of calls than are kept. */
DEVICE_TEST(calls_of_many_kinds_are_right)
{
	static const kz_dtype dtypes[] = {KZ_I8, KZ_I16, KZ_I32, KZ_F32, KZ_F64};
	enum { COUNT = countof(dtypes) };
	kz_array *ones[COUNT], *into[COUNT];
	for (int i = 0; i < COUNT; i++) {
		ok(kz_array_ones(&ones[i], dev, dtypes[i], KZ_SHAPE(4), &err));
		ok(kz_array_ones(&into[i], dev, dtypes[i], KZ_SHAPE(4), &err));
	}
	for (int n = 0; n < 2 * COUNT * COUNT; n++) {
		kz_array *a = ones[n % COUNT], *b = ones[n / COUNT % COUNT], *sum;
		ok(kz_add(&sum, a, b == a ? into[n % COUNT] : b, &err));
		ck_assert(first_of(sum) == 2);
		kz_array_release(sum);
	}
	for (int i = 0; i < COUNT; i++) {
		release_arrays(ones[i], into[i]);
	}
}

SUITE(shortcut)
{
	Suite *suite = suite_create("shortcut");
	TCase *tcase = suite_add_case(suite, "shortcut");
	int devices = both_shapes_count();
	tcase_set_timeout(tcase, 60);
	tcase_add_tests(tcase, devices, calls_in_any_order_give_what_each_gives_alone,
		types_are_told_apart, the_same_call_again_finds_its_kernel,
		shapes_of_one_count_are_told_apart, calls_of_many_kinds_are_right);
	return suite;
}

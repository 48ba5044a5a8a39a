/* SPDX-License-Identifier: MIT */
/*
 * A fused expression is, bit for bit, the chain of its operations: random trees of all operations,
 * over arrays of all types, once as a text for kz_eval and once as calls of kz_apply.  What one
 * refuses the other refuses, with the same status.  On the CPU device both shapes of kernels are
 * tried, its own and that of GPUs.  KUDZU_TEST_SEED=n begins with that tree.
 */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/str.h"
#include "lib/ops/expr.h"
#include "support/support.h"
#include "support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 40, DEPTH = 3, ARRAYS = 4 };

static uint64_t state;
static kz_device *dev;
static kz_array *arrays[ARRAYS];
static int computed; /* trees that were not refused */

static uint64_t draw(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

/* A value of the chain: an array, counted, or a number. */
struct value {
	kz_status st;
	kz_arg arg;
};

static struct value number(struct str *text)
{
	static const double floats[] = {0.5, 2.5, 1.0, 0.125};
	int64_t whole = (int64_t)draw(5);
	double real = floats[draw(4)];
	switch (draw(3)) {
	case 0:
		str_addf(text, "%ge0", real);
		return (struct value){KZ_OK, KZ_ARG(real)};
	case 1:
		str_addf(text, "-%lld", (long long)whole);
		whole = -whole;
		return (struct value){KZ_OK, KZ_ARG(whole)};
	default:
		str_addf(text, "%lld", (long long)whole);
		return (struct value){KZ_OK, KZ_ARG(whole)};
	}
}

static struct value leaf(struct str *text, bool may_be_number)
{
	if (may_be_number && draw(3) == 0) {
		return number(text);
	}
	size_t k = draw(ARRAYS);
	str_addf(text, "v%zu", k);
	return (struct value){KZ_OK, KZ_ARG(kz_array_retain(arrays[k]))};
}

static void release(struct value *value)
{
	if (value->st == KZ_OK && value->arg.kind == KZ_ARG_ARRAY) {
		kz_array_release((kz_array *)value->arg.value.p);
	}
}

static struct value apply(kz_op op, struct value *operands, int count)
{
	struct value out = {KZ_OK, KZ_ARG(0)};
	kz_arg args[3];
	kz_array *result = NULL;
	for (int k = 0; k < count; k++) {
		args[k] = operands[k].arg;
		out.st = out.st ? out.st : operands[k].st;
	}
	if (!out.st) {
		out.st = kz_apply(&result, op, NULL, NULL, (kz_args){args, (size_t)count});
		out.arg = KZ_ARG(result);
	}
	for (int k = 0; k < count; k++) {
		release(&operands[k]);
	}
	return out;
}

static const char *infix_of(int op)
{
	static const char *const infix[EXPR_OPS] = {
		[KZ_OP_ADD] = "+", [KZ_OP_SUBTRACT] = "-", [KZ_OP_MULTIPLY] = "*",
		[KZ_OP_DIVIDE] = "/", [KZ_OP_FLOOR_DIVIDE] = "//", [KZ_OP_REMAINDER] = "%",
		[KZ_OP_BITWISE_AND] = "&", [KZ_OP_BITWISE_OR] = "|", [KZ_OP_BITWISE_XOR] = "^",
		[KZ_OP_LEFT_SHIFT] = "<<", [KZ_OP_RIGHT_SHIFT] = ">>", [KZ_OP_LESS] = "<",
		[KZ_OP_EQUAL] = "==", [KZ_OP_LOGICAL_OR] = "or",
	};
	return infix[op];
}

static struct value write_tree(struct str *text, int depth, bool may_be_number);

static struct value write_cast(struct str *text, int depth)
{
	kz_dtype dtype = KZ_BOOL + (kz_dtype)draw(15);
	kz_array *result = NULL;
	str_addf(text, "%s(", kz_dtype_name(dtype));
	struct value from = write_tree(text, depth - 1, false);
	str_add(text, ")");
	struct value out = {from.st, KZ_ARG(0)};
	if (!from.st) {
		out.st = kz_array_astype(&result, (kz_array *)from.arg.value.p, dtype, NULL);
		out.arg = KZ_ARG(result);
	}
	release(&from);
	return out;
}

/* A tree has at least one array in each operation: numbers alone are not computed by kz_apply. */
static struct value write_tree(struct str *text, int depth, bool may_be_number)
{
	struct value operands[3];
	int op = 1 + (int)draw(EXPR_OPS - 1);
	int arity = expr_op(op)->arity;
	const char *infix = arity == 2 && draw(2) ? infix_of(op) : NULL;
	if (depth == 0 || draw(6) == 0) {
		return leaf(text, may_be_number);
	}
	if (draw(8) == 0) {
		return write_cast(text, depth);
	}
	str_addf(text, "%s(", infix ? "" : expr_op(op)->name);
	for (int k = 0; k < arity; k++) {
		str_addf(text, k ? " %s " : "", infix ? infix : ",");
		operands[k] = write_tree(text, depth - 1, k > 0);
	}
	str_add(text, ")");
	return apply((kz_op)op, operands, arity);
}

static bool same_number(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

/* Whether two arrays have the same elements; any NaN is as good as another. */
static bool same_elements(kz_array *a, kz_array *b)
{
	kz_error err = KZ_ERROR_INIT;
	static double left[2 * COUNT], right[2 * COUNT];
	kz_array *wide[2];
	char raw[2][16 * COUNT];
	int64_t size = kz_array_size(a);
	ok(kz_array_get(a, raw[0], size, &err));
	ok(kz_array_get(b, raw[1], size, &err));
	if (memcmp(raw[0], raw[1], (size_t)size) == 0) {
		return true;
	}
	ok(kz_array_astype(&wide[0], a, KZ_C128, &err));
	ok(kz_array_astype(&wide[1], b, KZ_C128, &err));
	ok(kz_array_get(wide[0], left, sizeof(left), &err));
	ok(kz_array_get(wide[1], right, sizeof(right), &err));
	release_arrays(wide[0], wide[1]);
	bool same = true;
	for (int n = 0; n < 2 * COUNT; n++) {
		same = same && same_number(left[n], right[n]);
	}
	return same && dtype_is_inexact(kz_array_dtype(a));
}

static void fill_arrays(void)
{
	static const double specials[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN};
	kz_error err = KZ_ERROR_INIT;
	double host[2 * COUNT];
	kz_array *wide;
	for (int k = 0; k < ARRAYS; k++) {
		kz_dtype dtype = KZ_BOOL + (kz_dtype)draw(15);
		bool finite = dtype_is_exact(dtype);
		for (int n = 0; n < 2 * COUNT; n++) {
			host[n] = n < 14 ? specials[(n + 3 * k) % (finite ? 4 : 7)]
				: (double)draw(4000) / 250 - 8;
		}
		ok(kz_array_from(&wide, dev, KZ_C128, KZ_SHAPE(COUNT), host, sizeof(host), &err));
		ok(kz_array_astype(&arrays[k], wide, dtype, &err));
		kz_array_release(wide);
	}
}

static void try_tree(uint64_t seed)
{
	struct str text = STR_INIT;
	kz_error err = KZ_ERROR_INIT;
	kz_array *fused = NULL;
	state = seed * UINT64_C(0x9e3779b97f4a7c15);
	fill_arrays();
	struct value chain = write_tree(&text, DEPTH, false);
	kz_status st = kz_eval(&fused, text.data, NULL, &err, KZ_VARS(KZ_VAR("v0", arrays[0]),
		KZ_VAR("v1", arrays[1]), KZ_VAR("v2", arrays[2]), KZ_VAR("v3", arrays[3])));
	ck_assert_msg(st == chain.st, "KUDZU_TEST_SEED=%llu: %s: status %d, expected %d: %s",
		(unsigned long long)seed, text.data, (int)st, (int)chain.st, err.message);
	computed += st == KZ_OK;
	if (!st) {
		kz_array *one = (kz_array *)chain.arg.value.p;
		ck_assert_msg(kz_array_dtype(one) == kz_array_dtype(fused)
			&& same_elements(one, fused), "KUDZU_TEST_SEED=%llu: %s of %s, %s, %s, "
			"%s: another %s", (unsigned long long)seed, text.data,
			kz_dtype_name(kz_array_dtype(arrays[0])),
			kz_dtype_name(kz_array_dtype(arrays[1])),
			kz_dtype_name(kz_array_dtype(arrays[2])),
			kz_dtype_name(kz_array_dtype(arrays[3])),
			kz_dtype_name(kz_array_dtype(one)));
	}
	release(&chain);
	kz_array_release(fused);
	kz_error_clear(&err);
	str_free(&text);
	for (int k = 0; k < ARRAYS; k++) {
		kz_array_release(arrays[k]);
	}
}

START_TEST(a_fused_expression_is_the_chain_of_its_operations)
{
	const char *begin = getenv("KUDZU_TEST_SEED");
	uint64_t seed = begin ? strtoull(begin, NULL, 0) : 1;
	kz_memory_stats stats;
	dev = support_open(_i / 2);
	dev->serial = dev->serial && _i % 2 == 0;
	const int trees = support_how_many(200, 5, 3);
	for (uint64_t k = 0; k < (uint64_t)trees; k++) {
		try_tree(seed + k);
	}
	printf("%d trees of operations, %d of them computed, from KUDZU_TEST_SEED=%llu\n", trees,
		computed, (unsigned long long)seed);
	ck_assert_int_gt(computed, 0);
	kz_device_memory_stats(dev, &stats);
	ck_assert_int_eq(stats.live_count, 0);
	kz_device_close(dev);
}
END_TEST

SUITE(eval_chain)
{
	Suite *s = suite_create("eval_chain");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 240);
	tcase_add_loop_test(tc, a_fused_expression_is_the_chain_of_its_operations, 0,
		2 * support_device_count());
	return s;
}

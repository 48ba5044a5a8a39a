/* SPDX-License-Identifier: MIT */
/* Elementwise operations that are refused, that run out of memory, and whose driver fails. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/cuda_abi.h"
#include "support/support.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static kz_error err;
static kz_device *dev;

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_any(index);
}

static void check_released(kz_device *of)
{
	kz_memory_stats stats;
	kz_device_memory_stats(of, &stats);
	ck_assert_int_eq(stats.live_count, 0);
}

static void teardown(void)
{
	check_released(dev);
	kz_device_close(dev);
}

static kz_array *zeros(kz_device *on, kz_dtype dtype, kz_shape shape)
{
	kz_array *array = NULL;
	ok(kz_array_zeros(&array, on, dtype, shape, &err));
	return array;
}

/* Refusals */

DEVICE_TEST(what_does_not_fit_together_is_refused)
{
	kz_array *a = zeros(dev, KZ_F32, KZ_SHAPE(2, 3)), *b = zeros(dev, KZ_F32, KZ_SHAPE(4));
	kz_array *bytes = zeros(dev, KZ_U8, KZ_SHAPE(2, 3)), *out = a;
	fails(kz_add(&out, a, b, &err), KZ_INVALID, "(2, 3)");
	ck_assert_ptr_null(out);
	fails(kz_add(&out, b, a, &err), KZ_INVALID, "(4,)");
	fails(kz_add(&out, 1, 2, &err), KZ_INVALID, "add: expected at least one array");
	fails(kz_add(&out, bytes, 256, &err), KZ_RANGE, "256 does not fit in uint8");
	fails(kz_add(&out, -1, bytes, &err), KZ_RANGE, "-1 does not fit in uint8");
	fails(kz_add(&out, bytes, UINT64_MAX, &err), KZ_RANGE,
		"18446744073709551615 does not fit in uint8");
	fails(kz_bitwise_and(&out, a, 1, &err), KZ_INVALID,
		"bitwise_and does not take float32 and int64");
	fails(kz_add(&out, a, "text", &err), KZ_INVALID,
		"operand 2: expected an array or a number");
	fails(kz_apply(&out, KZ_OP_ADD, NULL, &err, KZ_ARGS(a)), KZ_INVALID,
		"add takes 2 operands, got 1");
	fails(kz_apply(&out, KZ_OP_SIN, NULL, &err, KZ_ARGS()), KZ_INVALID,
		"kz_sin takes 1 operand, got 0");
	fails(kz_apply(&out, (kz_op)9999, NULL, &err, KZ_ARGS(a)), KZ_INVALID,
		"9999 is not a kz_op");
	fails(kz_apply(&out, (kz_op)-1, NULL, &err, KZ_ARGS(a)), KZ_INVALID, "-1 is not a kz_op");
	fails(kz_array_astype(&out, a, 77, &err), KZ_INVALID, "77 is not a dtype");
	release_arrays(a, b, bytes);
}

DEVICE_TEST(a_target_that_does_not_fit_is_refused)
{
	kz_array *a = zeros(dev, KZ_F32, KZ_SHAPE(2, 3)),
		*whole = zeros(dev, KZ_I32, KZ_SHAPE(2, 3));
	kz_array *small = zeros(dev, KZ_F32, KZ_SHAPE(3)), *still, *out;
	fails(kz_apply_into(whole, KZ_OP_ADD, &err, KZ_ARGS(whole, a)), KZ_INVALID,
		"add gives float64, which does not fit into int32");
	fails(kz_apply_into(small, KZ_OP_ADD, &err, KZ_ARGS(small, a)), KZ_INVALID,
		"add gives shape (2, 3), which does not fit into (3,)");
	fails(kz_array_assign(small, a, &err), KZ_INVALID,
		"copy gives shape (2, 3), which does not fit into (3,)");
	fails(kz_array_fill(whole, KZ_ARG(INT64_C(1) << 31), &err), KZ_RANGE,
		"2147483648 does not fit in int32");
	ok(kz_array_view(&still, a, KZ_SHAPE(2, 3), (const int64_t[]){0, 4}, 0, &err));
	fails(kz_apply_into(still, KZ_OP_ADD, &err, KZ_ARGS(a, a)), KZ_INVALID,
		"cannot set an array whose elements may share memory");
	kz_op_options options = {.size = 3};
	fails(kz_apply(&out, KZ_OP_ADD, &options, &err, KZ_ARGS(a, a)), KZ_INVALID, "size 3");
	release_arrays(a, whole, small, still);
}

DEVICE_TEST(nothing_is_refused_everywhere)
{
	kz_array *out = NULL, *none = NULL;
	kz_array *a = zeros(dev, KZ_F32, KZ_SHAPE(2));
	fails(kz_add(&out, a, none, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_add(NULL, a, a, &err), KZ_INVALID, "out is NULL");
	fails(kz_apply_into(NULL, KZ_OP_ADD, &err, KZ_ARGS(a, a)), KZ_INVALID,
		"expected an array, got NULL");
	fails(kz_array_astype(&out, NULL, KZ_F32, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_array_astype(NULL, a, KZ_F32, &err), KZ_INVALID, "out is NULL");
	fails(kz_array_copy(&out, NULL, &err), KZ_INVALID, "got NULL");
	fails(kz_array_assign(NULL, a, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_array_assign(a, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_array_fill(NULL, KZ_ARG(1), &err), KZ_INVALID, "expected an array, got NULL");
	ck_assert_int_eq(kz_add(&out, a, none, NULL), KZ_INVALID);
	ck_assert_ptr_null(kz_op_name(KZ_OP_NONE));
	ck_assert_ptr_null(kz_op_name((kz_op)1000));
	ck_assert_int_eq(kz_op_arity((kz_op)-5), 0);
	kz_array_release(a);
}

DEVICE_TEST(a_view_between_elements_is_refused)
{
	kz_buffer *buffer;
	kz_array *odd, *out = NULL;
	ok(kz_buffer_create(&buffer, dev, 64, &err));
	ok(kz_array_wrap(&odd, buffer, KZ_I32, KZ_SHAPE(3), NULL, 2, &err));
	fails(kz_negative(&out, odd, &err), KZ_INVALID, "negative: the elements of a view of int32 "
		"do not lie at multiples of 4 bytes");
	kz_array_release(odd);
	ok(kz_array_wrap(&odd, buffer, KZ_C128, KZ_SHAPE(2), (const int64_t[]){24}, 0, &err));
	fails(kz_apply_into(odd, KZ_OP_NEGATIVE, &err, KZ_ARGS(odd)), KZ_INVALID,
		"multiples of 16 bytes");
	kz_array_release(odd);
	kz_buffer_release(buffer);
}

START_TEST(arrays_of_two_devices_do_not_mix)
{
	kz_device *other;
	kz_array *out = NULL;
	kz_stream *stream;
	err = (kz_error)KZ_ERROR_INIT;
	support_stub("devices=2");
	ok(kz_device_open(&dev, "cuda:0", &err));
	ok(kz_device_open(&other, "cuda:1", &err));
	kz_array *a = zeros(dev, KZ_F32, KZ_SHAPE(2)), *b = zeros(other, KZ_F32, KZ_SHAPE(2));
	fails(kz_add(&out, a, b, &err), KZ_INVALID,
		"Tensor in cuda:0 cannot add with tensor in cuda:1");
	fails(kz_array_assign(b, a, &err), KZ_INVALID,
		"Tensor in cuda:1 cannot copy with tensor in cuda:0");
	ok(kz_stream_create(&stream, other, 0, &err));
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.stream = stream;
	ck_assert_int_eq(kz_apply(&out, KZ_OP_ADD, &options, &err, KZ_ARGS(a, a)), KZ_INVALID);
	kz_error_clear(&err);
	kz_stream_release(stream);
	release_arrays(a, b);
	check_released(other);
	kz_device_close(other);
	teardown();
}
END_TEST

/* Failures */

DEVICE_TEST(every_failing_allocation_is_an_error)
{
	long n = 0;
	kz_status st = KZ_NO_MEMORY;
	kz_array *a = zeros(dev, KZ_F32, KZ_SHAPE(2, 3)), *turned, *out;
	ok(kz_array_view(&turned, a, KZ_SHAPE(3, 2), (const int64_t[]){4, 12}, 0, &err));
	for (bool failed = true; failed || st; n++) {
		mem_fail_after(n);
		st = kz_apply(&out, KZ_OP_ADD, NULL, &err, KZ_ARGS(turned, 1));
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_msg(st == KZ_OK || (st == KZ_NO_MEMORY && !out), "request %ld: %d %s", n,
			(int)st, err.message);
		kz_error_clear(&err);
		kz_array_release(out);
	}
	ck_assert_int_gt(n, 5);
	kz_kernel_stats stats;
	kz_device_kernel_stats(dev, &stats);
	ck_assert_int_eq(stats.compiled_count, 1);
	release_arrays(turned, a);
}

/* A program of operations, as far as it comes. */
static kz_status compute(kz_device **device, kz_error *error)
{
	kz_array *a = NULL, *b = NULL;
	kz_stream *stream = NULL;
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	float got[6];
	kz_status st = kz_device_open(device, "cuda:0", error);
	if (st || (st = kz_array_zeros(&a, *device, KZ_F32, KZ_SHAPE(2, 3), error))
	    || (st = kz_stream_create(&stream, *device, 0, error))) {
		goto out;
	}
	options.stream = stream;
	if ((st = kz_apply(&b, KZ_OP_ADD, &options, error, KZ_ARGS(a, 1)))
	    || (st = kz_apply_into(b, KZ_OP_ADD, error, KZ_ARGS(a, b)))) {
		goto out;
	}
	st = kz_array_get(b, got, sizeof(got), error);
out:
	kz_array_release(a);
	kz_stream_release(stream);
	kz_array_release(b);
	return st;
}

static const char *const calls[] = {
	"cuMemAlloc", "cuMemAllocAsync", "cuModuleLoadDataEx",
	"cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel", "cuEventCreate",
	"cuEventRecord", "cuStreamWaitEvent", "cuCtxSetCurrent", "cuCtxGetCurrent",
	"cuMemsetD8Async", "cuMemsetD32Async", "cuStreamCreate", "cuStreamCreateWithPriority",
	"cuFuncGetAttribute", "cuMemcpyDtoHAsync", "cuStreamSynchronize",
};

/* Errors of the driver's: out of memory, one of the launch, one that loses the device. */
static const int codes[] = {2, 701, 719};

START_TEST(a_failing_driver_is_an_error_and_leaves_nothing)
{
	int code = codes[_i / (int)countof(calls)];
	const char *call = calls[_i % (int)countof(calls)];
	for (int n = 1; n <= 3; n++) {
		char script[100];
		snprintf(script, sizeof(script), "fail=%s:%d@%d", call, code, n);
		err = (kz_error)KZ_ERROR_INIT;
		dev = NULL;
		support_stub(script);
		kz_status st = compute(&dev, &err);
		ck_assert_msg(!st == !err.message[0], "%s: %d %s", script, (int)st, err.message);
		kz_error_clear(&err);
		kz_device_close(dev);
		for (int kind = 0; kind < STUB_KIND_COUNT; kind++) {
			long left = support_stub_live((enum stub_kind)kind);
			ck_assert_msg(left == 0 || code == 719, "%s: %ld left of kind %d", script,
				left, kind);
		}
		if (support_stub_calls(call) < n) {
			break;
		}
	}
}
END_TEST

START_TEST(a_lost_device_says_why_and_everything_can_be_released)
{
	kz_array *b = NULL, *c = NULL;
	err = (kz_error)KZ_ERROR_INIT;
	support_stub("fail=cuLaunchKernel:719@2");
	ok(kz_device_open(&dev, "cuda:0", &err));
	kz_array *a = zeros(dev, KZ_F32, KZ_SHAPE(2, 3));
	ok(kz_add(&b, a, 1, &err));
	ck_assert_int_ne(kz_add(&c, a, 1, &err), KZ_OK);
	ck_assert_ptr_null(c);
	ck_assert(err.flags & KZ_ERROR_STICKY);
	kz_error_clear(&err);
	ck_assert_int_ne(kz_add(&c, a, b, &err), KZ_OK);
	ck_assert_msg(strstr(err.message, "was lost by an earlier failure"), "%s", err.message);
	ck_assert_ptr_null(c);
	kz_error_clear(&err);
	release_arrays(b, a);
	kz_device_close(dev);
}
END_TEST

DEVICE_TEST(an_operation_into_its_operand_changes_it)
{
	const float from[] = {1, -2, 3}, want[] = {5, 2, 8};
	float got[3];
	kz_array *a = NULL;
	ok(kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(3), from, sizeof(from), &err));
	ok(kz_add_into(a, a, 1, &err)); /* 2 -1 4 */
	ok(kz_square_into(a, a, &err)); /* 4 1 16 */
	ok(kz_where_into(a, a, a, 0, &err));
	ok(kz_clip_into(a, a, 2, 8, &err)); /* 4 2 8 */
	ok(kz_eval_into(a, "a + (a == 4)", &err, KZ_VARS(a)));
	fails(kz_eval_into(NULL, "a", &err, KZ_VARS(a)), KZ_INVALID, "expected an array, got NULL");
	ok(kz_array_get(a, got, sizeof(got), &err));
	ck_assert_mem_eq(got, want, sizeof(want));
	kz_array_release(a);
}

/* Each operation's two macros call the operation of their name. */
#undef KZ_APPLY_1
#undef KZ_APPLY_2
#undef KZ_APPLY_3
#undef KZ_APPLY_INTO_1
#undef KZ_APPLY_INTO_2
#undef KZ_APPLY_INTO_3
#define KZ_APPLY_1(op, out, x, err) (op)
#define KZ_APPLY_2(op, out, x, y, err) (op)
#define KZ_APPLY_3(op, out, x, y, z, err) (op)
#define KZ_APPLY_INTO_1 KZ_APPLY_1
#define KZ_APPLY_INTO_2 KZ_APPLY_2
#define KZ_APPLY_INTO_3 KZ_APPLY_3

#define CALL_1(macro) macro(0, 0, 0)
#define CALL_2(macro) macro(0, 0, 0, 0)
#define CALL_3(macro) macro(0, 0, 0, 0, 0)

START_TEST(each_operation_has_a_macro_for_a_new_array_and_one_for_an_array_that_is_there)
{
#define OP(number, NAME, name, arity, ...) \
	ck_assert_int_eq(CALL_##arity(kz_##name), KZ_OP_##NAME); \
	ck_assert_int_eq(CALL_##arity(kz_##name##_into), KZ_OP_##NAME);
#include "lib/ops/ops.def"
#undef OP
}
END_TEST

SUITE(elementwise_errors)
{
	Suite *s = suite_create("elementwise_errors");
	TCase *tc = suite_add_case(s, "each device and the stub");
	int devices = support_device_count();
	tcase_add_tests(tc, devices + 1, what_does_not_fit_together_is_refused,
		a_target_that_does_not_fit_is_refused, nothing_is_refused_everywhere,
		a_view_between_elements_is_refused);
	tcase_add_tests(tc, devices, an_operation_into_its_operand_changes_it);
	tcase_add_test(tc, arrays_of_two_devices_do_not_mix);
	tcase_add_test(tc,
		each_operation_has_a_macro_for_a_new_array_and_one_for_an_array_that_is_there);
	tcase_add_loop_test(tc, every_failing_allocation_is_an_error, 0, devices);
	tcase_add_loop_test(tc, a_failing_driver_is_an_error_and_leaves_nothing, 0,
		(int)(countof(calls) * countof(codes)));
	tcase_add_test(tc, a_lost_device_says_why_and_everything_can_be_released);
	return s;
}

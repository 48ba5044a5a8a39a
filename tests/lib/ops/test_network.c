/* SPDX-License-Identifier: MIT */
/* Softmax, cross entropy and one-hot rows on every device, against loops and scipy's numbers. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/sampled.h"

#include <string.h>

enum { MOST = 2000 };

static const kz_dtype tried[] = {KZ_F32, KZ_F64, KZ_F16, KZ_I16, KZ_BF16, KZ_U8, KZ_BOOL};

static kz_dtype result_of(kz_dtype dtype)
{
	return dtype_is_exact(dtype) ? KZ_F64 : dtype;
}

/* Softmax along an axis, or its logarithm, in long double. */
static void expect_softmax(double complex *x, const kz_shape *shape, int64_t axis, bool logarithm)
{
	int64_t inner = 1, extent = shape->dims[axis], count = support_count(shape);
	for (int64_t i = axis + 1; i < shape->ndim; i++) {
		inner *= shape->dims[i];
	}
	for (int64_t i = 0; i < count; i++) {
		if (i / inner % extent > 0) {
			continue;
		}
		long double sum = 0;
		for (int64_t k = 0; k < extent; k++) {
			sum += expl((long double)creal(x[i + k * inner]));
		}
		for (int64_t k = 0; k < extent; k++) {
			long double value = creal(x[i + k * inner]);
			x[i + k * inner] = (double)(logarithm ? value - logl(sum)
				: expl(value) / sum);
		}
	}
}

DEVICE_TEST(softmax_is_a_loop_for_every_type_axis_and_stride)
{
	static double complex x[MOST];
	for (int i = 0; i < support_how_many(200, 3, 1); i++) {
		sampled_state = (uint64_t)i;
		kz_dtype dtype = tried[(size_t)i / 2 % countof(tried)];
		kz_shape shape = {1 + sampled_below(3), {0}};
		for (int64_t d = 0; d < shape.ndim; d++) {
			shape.dims[d] = 1 + sampled_below(11);
		}
		int64_t axis = sampled_below(shape.ndim);
		kz_array *array = sampled_array(dtype, shape, x), *out;
		ok((i % 2 ? kz_log_softmax : kz_softmax)(&out, array,
			i % 3 ? axis : axis - shape.ndim, NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(out), result_of(dtype));
		expect_softmax(x, &shape, axis, i % 2);
		sampled_check(out, shape, x, (i % 2 ? 16 : 2) * sampled_epsilon(result_of(dtype)));
		release_arrays(array, out);
	}
}

/* scipy.special.softmax and log_softmax of these rows, with numpy 2. */
static const double scores[9] = {1, 2, 3.5, -1, 0, 100, 0.25, 0.25, -3};

DEVICE_TEST(large_numbers_do_not_overflow)
{
	static const double complex odds[9] = {0.0628900132458675, 0.17095278019779026,
		0.7661572065563422,
		1.368539471173853e-44, 3.720075976020836e-44, 1, 0.49049080381663274,
		0.49049080381663274, 0.019018392366734502};
	kz_array *x, *out, *far;
	ok(kz_array_from(&x, dev, KZ_F64, KZ_SHAPE(3, 3), scores, sizeof(scores), &err));
	ok(kz_softmax(&out, x, -1, NULL, &err));
	sampled_check(out, KZ_SHAPE(3, 3), odds, 1e-15);
	kz_array_release(out);
	ok(kz_multiply(&far, x, 1e300, &err));
	ok(kz_log_softmax(&out, far, -1, NULL, &err));
	double got[9];
	ok(kz_array_get(out, got, sizeof(got), &err));
	/* NOLINT */
	ck_assert(fabs(got[0] / -2.5e300 - 1) < 1e-15 && got[2] == 0 && isfinite(got[3]));
	release_arrays(x, out, far);
}

DEVICE_TEST(nan_and_infinity_spread_in_their_line)
{
	const float x[] = {1, NAN, 2, INFINITY, 1, 2, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 0,
		0};
	double complex want[12];
	kz_array *array, *out;
	for (int i = 0; i < 12; i++) {
		want[i] = i < 9 ? NAN : i > 9 ? 0.5 : 0;
	}
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(4, 3), x, sizeof(x), &err));
	ok(kz_softmax(&out, array, 1, NULL, &err));
	sampled_check(out, KZ_SHAPE(4, 3), want, 1e-7);
	release_arrays(array, out);
}

DEVICE_TEST(softmax_replaces_its_array_and_runs_in_a_stream)
{
	static double complex x[40];
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_shape shape = {2, {8, 5}};
	kz_array *array = sampled_array(KZ_F32, shape, x), *out;
	ok(kz_stream_create(&options.stream, dev, 0, &err));
	options.dtype = KZ_F64;
	ok(kz_softmax(&out, array, 0, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(out), KZ_F64);
	expect_softmax(x, &shape, 0, false);
	sampled_check(out, shape, x, 1e-15);
	kz_array_release(out);
	options.dtype = 0;
	options.into = array;
	ok(kz_softmax(&out, array, 0, &options, &err));
	ck_assert_ptr_eq(out, array);
	sampled_check(array, shape, x, 4e-7);
	kz_stream_release(options.stream);
	release_arrays(array, out);
}

/* One-hot rows */

DEVICE_TEST(one_hot_has_a_one_at_each_class)
{
	static const double complex want[12] = {0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1};
	static const double complex classes[4] = {2, 0, 1, 2};
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_INTEGER));) {
		if (!both_shapes_try(dtype - KZ_I8, 8, 2, 1)) {
			continue;
		}
		kz_op_options options = KZ_OP_OPTIONS_INIT;
		kz_array *array = sampled_from(dtype, KZ_SHAPE(2, 2), classes), *out, *into;
		ok(kz_one_hot(&out, array, 3, NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(out), KZ_F32);
		sampled_check(out, KZ_SHAPE(2, 2, 3), want, 0);
		kz_array_release(out);
		options.dtype = KZ_I64;
		ok(kz_one_hot(&out, array, 3, &options, &err));
		ck_assert_uint_eq(kz_array_dtype(out), KZ_I64);
		sampled_check(out, KZ_SHAPE(2, 2, 3), want, 0);
		into = sampled_room(KZ_C64, &(kz_shape){3, {2, 2, 3}});
		options = (kz_op_options)KZ_OP_OPTIONS_INIT;
		options.into = into;
		ok(kz_one_hot(NULL, array, 3, &options, &err));
		sampled_check(into, KZ_SHAPE(2, 2, 3), want, 0);
		release_arrays(array, out, into);
	}
}

/* Cross entropy */

DEVICE_TEST(cross_entropy_is_the_mean_over_the_samples_and_has_a_gradient)
{
	static double complex x[MOST], odds[MOST], classes[MOST];
	for (int i = 0; i < support_how_many(200, 2, 1); i++) {
		sampled_state = (uint64_t)i;
		kz_dtype dtype = tried[(size_t)i % countof(tried)];
		kz_shape shape = {1 + sampled_below(3), {0}}, lines;
		for (int64_t d = 0; d < shape.ndim; d++) {
			shape.dims[d] = 1 + sampled_below(9);
		}
		lines = shape;
		int64_t each = shape.dims[--lines.ndim], count = support_count(&lines);
		kz_array *array = sampled_array(dtype, shape, x), *right, *loss, *gradient;
		for (int64_t k = 0; k < count; k++) {
			classes[k] = (double)sampled_below(each);
		}
		right = sampled_from(i % 2 ? KZ_I64 : KZ_U8, lines, classes);
		memcpy(odds, x, sizeof(odds));
		expect_softmax(x, &shape, lines.ndim, true);
		expect_softmax(odds, &shape, lines.ndim, false);
		double complex mean = 0;
		for (int64_t k = 0; k < count; k++) {
			mean -= x[k * each + (int64_t)creal(classes[k])] / (double)count;
			odds[k * each + (int64_t)creal(classes[k])] -= 1;
		}
		for (int64_t k = 0; k < count * each; k++) {
			odds[k] /= (double)count;
		}
		ok(kz_cross_entropy(&loss, &gradient, array, right, NULL, &err));
		ck_assert_uint_eq(kz_array_dtype(loss), result_of(dtype));
		ck_assert_uint_eq(kz_array_dtype(gradient), result_of(dtype));
		sampled_check(loss, KZ_SHAPE(), &mean, 16 * sampled_epsilon(result_of(dtype)));
		sampled_check(gradient, shape, odds, 4 * sampled_epsilon(result_of(dtype)));
		release_arrays(array, right, loss, gradient);
	}
}

DEVICE_TEST(either_result_may_be_left_out_or_go_into_an_array)
{
	kz_cross_entropy_options options = KZ_CROSS_ENTROPY_OPTIONS_INIT;
	static const int32_t classes[] = {2, 0, 1};
	kz_array *x, *right, *both[2], *loss, *gradient, *into;
	double want[9], got[9], mean = 0, other = 1;
	ok(kz_array_from(&x, dev, KZ_F64, KZ_SHAPE(3, 3), scores, sizeof(scores), &err));
	ok(kz_array_from(&right, dev, KZ_I32, KZ_SHAPE(3), classes, sizeof(classes), &err));
	ok(kz_cross_entropy(&both[0], &both[1], x, right, NULL, &err));
	ok(kz_array_get(both[0], &mean, sizeof(mean), &err));
	ok(kz_array_get(both[1], want, sizeof(want), &err));
	ck_assert_double_eq_tol(mean, 33.992905549516514, 1e-13); /* scipy */
	ok(kz_cross_entropy(&loss, NULL, x, right, NULL, &err));
	ok(kz_array_get(loss, &other, sizeof(other), &err));
	ck_assert_double_eq(mean, other);
	ok(kz_cross_entropy(NULL, &gradient, x, right, NULL, &err));
	ok(kz_array_get(gradient, got, sizeof(got), &err));
	ck_assert_mem_eq(got, want, sizeof(got));
	ok(kz_array_zeros(&into, dev, KZ_F64, KZ_SHAPE(), &err));
	options.loss_into = into;
	options.gradient_into = x;
	options.unchecked = 1;
	ok(kz_stream_create(&options.stream, dev, 0, &err));
	ok(kz_cross_entropy(NULL, NULL, x, right, &options, &err));
	ok(kz_array_get(into, &other, sizeof(other), &err));
	ok(kz_array_get(x, got, sizeof(got), &err));
	ck_assert_double_eq(mean, other);
	ck_assert_mem_eq(got, want, sizeof(got));
	kz_stream_release(options.stream);
	release_arrays(x, right, both[0], both[1], loss, gradient, into);
}

DEVICE_TEST(a_class_out_of_range_is_told_or_gives_nan)
{
	kz_cross_entropy_options options = KZ_CROSS_ENTROPY_OPTIONS_INIT;
	for (int32_t bad = -1; bad <= 3; bad += 4) {
		const int32_t classes[] = {2, bad, 1};
		kz_array *x, *right, *loss, *gradient;
		double got[9];
		ok(kz_array_from(&x, dev, KZ_F64, KZ_SHAPE(3, 3), scores, sizeof(scores), &err));
		ok(kz_array_from(&right, dev, KZ_I32, KZ_SHAPE(3), classes, sizeof(classes), &err));
		fails(kz_cross_entropy(&loss, &gradient, x, right, NULL, &err), KZ_RANGE,
			"at place 1 of the indexes, is out of range for a number of classes of 3");
		ck_assert(!loss && !gradient);
		fails(kz_one_hot(&loss, right, 3, NULL, &err), KZ_RANGE,
			"a number of classes of 3");
		options.unchecked = 1;
		ok(kz_cross_entropy(&loss, &gradient, x, right, &options, &err));
		ok(kz_array_get(loss, got, 8, &err));
		ck_assert_double_nan(got[0]);
		ok(kz_array_get(gradient, got, sizeof(got), &err));
		ck_assert(isfinite(got[0]) && isnan(got[3]) && isnan(got[5]) && isfinite(got[6]));
		release_arrays(x, right, loss, gradient);
	}
}

/* Limits */

DEVICE_TEST(empty_arrays_stay_empty_and_no_samples_have_no_mean)
{
	kz_array *x, *classes, *out, *loss, *gradient;
	double complex nothing = NAN;
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(0, 4), &err));
	ok(kz_array_zeros(&classes, dev, KZ_I32, KZ_SHAPE(0), &err));
	for (int64_t axis = 0; axis < 2; axis++) {
		ok(kz_softmax(&out, x, axis, NULL, &err));
		ck_assert_int_eq(kz_array_count(out), 0);
		kz_array_release(out);
	}
	ok(kz_one_hot(&out, classes, 4, NULL, &err));
	ck_assert_int_eq(kz_array_shape(out).dims[1], 4);
	ok(kz_cross_entropy(&loss, &gradient, x, classes, NULL, &err));
	sampled_check(loss, KZ_SHAPE(), &nothing, 0);
	ck_assert_int_eq(kz_array_ndim(gradient), 2);
	release_arrays(x, classes, out, loss, gradient);
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(2, 0), &err));
	ok(kz_array_zeros(&classes, dev, KZ_I32, KZ_SHAPE(2), &err));
	fails(kz_cross_entropy(&loss, NULL, x, classes, NULL, &err), KZ_RANGE,
		"indexes into a number of classes of 0");
	fails(kz_one_hot(&out, classes, 0, NULL, &err), KZ_RANGE, "a number of classes of 0");
	release_arrays(x, classes);
}

DEVICE_TEST(what_does_not_fit_is_refused)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_cross_entropy_options both = KZ_CROSS_ENTROPY_OPTIONS_INIT;
	kz_array *x, *complexes, *classes, *floats, *out = NULL;
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	ok(kz_array_zeros(&complexes, dev, KZ_C64, KZ_SHAPE(2, 3), &err));
	ok(kz_array_zeros(&classes, dev, KZ_I32, KZ_SHAPE(3), &err));
	ok(kz_array_zeros(&floats, dev, KZ_F32, KZ_SHAPE(2), &err));
	fails(kz_softmax(&out, NULL, 0, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_softmax(&out, complexes, 0, NULL, &err), KZ_INVALID,
		"softmax does not take complex64");
	fails(kz_softmax(NULL, x, 0, NULL, &err), KZ_INVALID, "kz_softmax: out is NULL");
	fails(kz_log_softmax(&out, x, 2, NULL, &err), KZ_RANGE, "axis 2");
	options.dtype = KZ_I32;
	fails(kz_log_softmax(&out, x, 0, &options, &err), KZ_INVALID,
		"log_softmax cannot have dtype int32");
	options.dtype = 0;
	options.into = floats;
	fails(kz_softmax(&out, x, 0, &options, &err), KZ_INVALID, "which does not fit into (2,)");
	fails(kz_one_hot(&out, floats, 3, NULL, &err), KZ_INVALID, "one_hot: expected integers");
	fails(kz_one_hot(&out, classes, -1, NULL, &err), KZ_INVALID,
		"a count of at least 0, got -1");
	fails(kz_one_hot(NULL, classes, 3, NULL, &err), KZ_INVALID, "kz_one_hot: out is NULL");
	fails(kz_cross_entropy(&out, NULL, x, classes, NULL, &err), KZ_INVALID,
		"one extent more than the classes, got shapes (2, 3) and (3,)");
	fails(kz_cross_entropy(&out, NULL, x, floats, NULL, &err), KZ_INVALID,
		"cross_entropy: expected integers");
	fails(kz_cross_entropy(NULL, NULL, x, classes, NULL, &err), KZ_INVALID, "got shapes");
	kz_array_release(classes);
	ok(kz_array_zeros(&classes, dev, KZ_I32, KZ_SHAPE(2), &err));
	fails(kz_cross_entropy(NULL, NULL, x, classes, NULL, &err), KZ_INVALID,
		"kz_cross_entropy: loss and gradient are NULL");
	fails(kz_cross_entropy(&out, NULL, complexes, classes, NULL, &err), KZ_INVALID,
		"cross_entropy does not take complex64");
	both.gradient_into = floats;
	fails(kz_cross_entropy(&out, NULL, x, classes, &both, &err), KZ_INVALID,
		"does not fit into (2,)");
	ck_assert_ptr_null(out);
	both.size = 2;
	fails(kz_cross_entropy(&out, NULL, x, classes, &both, &err), KZ_INVALID,
		"kz_cross_entropy_options has size 2");
	release_arrays(x, complexes, classes, floats);
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	static const int32_t classes[] = {2, 0, 1};
	int failed = 0;
	kz_array *x, *right;
	ok(kz_array_from(&x, dev, KZ_F64, KZ_SHAPE(3, 3), scores, sizeof(scores), &err));
	ok(kz_array_from(&right, dev, KZ_I32, KZ_SHAPE(3), classes, sizeof(classes), &err));
	for (long n = 0;; n++) {
		kz_array *loss = x, *gradient = x;
		mem_fail_after(n);
		kz_status st = kz_cross_entropy(&loss, &gradient, x, right, NULL, &err);
		bool done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(st == KZ_OK ? loss && gradient : !loss && !gradient);
		failed += st != KZ_OK;
		kz_error_clear(&err);
		release_arrays(loss, gradient);
		if (done) {
			break;
		}
	}
	ck_assert_int_gt(failed, 5);
	release_arrays(x, right);
}

SUITE(network)
{
	Suite *suite = suite_create("network");
	int devices = both_shapes_count();
	TCase *softmax = suite_add_case(suite, "softmax");
	tcase_set_timeout(softmax, 200);
	tcase_add_tests(softmax, devices, softmax_is_a_loop_for_every_type_axis_and_stride,
		large_numbers_do_not_overflow, nan_and_infinity_spread_in_their_line,
		softmax_replaces_its_array_and_runs_in_a_stream);
	TCase *classes = suite_add_case(suite, "classes");
	tcase_set_timeout(classes, 200);
	tcase_add_tests(classes, devices, one_hot_has_a_one_at_each_class,
		cross_entropy_is_the_mean_over_the_samples_and_has_a_gradient,
		either_result_may_be_left_out_or_go_into_an_array,
		a_class_out_of_range_is_told_or_gives_nan);
	TCase *limits = suite_add_case(suite, "limits");
	tcase_add_tests(limits, devices, empty_arrays_stay_empty_and_no_samples_have_no_mean,
		what_does_not_fit_is_refused, a_failing_allocation_leaves_nothing_behind);
	return suite;
}

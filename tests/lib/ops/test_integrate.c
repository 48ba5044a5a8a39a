/* SPDX-License-Identifier: MIT */
/* Integrals on every device, against loops over host memory and scipy's numbers. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "cpu/support/both_shapes.h"
#include "support/sampled.h"

#include <string.h>

enum { MOST = 4000 };

typedef kz_status integrate_fn(kz_array **, kz_array *, const kz_integrate_options *, kz_error *);

/* One line of samples, and of their points if x is not NULL: as scipy.integrate has it. */
static double complex trapezoids(const double complex *y, const double complex *x, int64_t count,
	double dx)
{
	double complex sum = 0;
	for (int64_t i = 0; i + 1 < count; i++) {
		sum += (x ? x[i + 1] - x[i] : dx) * (y[i] + y[i + 1]) / 2;
	}
	return sum;
}

static double complex or_zero(double complex a, double complex b)
{
	return b == 0 ? 0 : a / b;
}

static double complex parabolas(const double complex *y, const double complex *x, int64_t count,
	double dx)
{
	double complex sum = 0;
	for (int64_t i = 0; i + 2 < count; i += 2) {
		double complex h0 = x ? x[i + 1] - x[i] : dx, h1 = x ? x[i + 2] - x[i + 1] : dx;
		double complex ratio = or_zero(h0, h1), both = h0 + h1;
		sum += both / 6 * (y[i] * (2 - or_zero(1, ratio))
			+ y[i + 1] * both * or_zero(both, h0 * h1) + y[i + 2] * (2 - ratio));
	}
	return sum;
}

static double complex simpson(const double complex *y, const double complex *x, int64_t count,
	double dx, int even)
{
	const double complex *next = x ? x + 1 : NULL, *end = x ? x + count - 2 : NULL;
	if (count < 3 || count % 2 == 1) {
		return count < 3 ? trapezoids(y, x, count, dx) : parabolas(y, x, count, dx);
	}
	double complex first = parabolas(y, x, count - 1, dx) + trapezoids(y + count - 2, end, 2,
		dx);
	double complex last = parabolas(y + 1, next, count - 1, dx) + trapezoids(y, x, 2, dx);
	return even == KZ_SIMPS_FIRST ? first : even == KZ_SIMPS_LAST ? last : (first + last) / 2;
}

/* Which numbers an integral along an axis has; the shape loses it. */
struct lines {
	const double complex *y, *x; /* row-major; x may be NULL, or of one extent */
	bool one_x;
	bool parabolas;
	double dx;
	int even;
};

static void integrate_lines(double complex *out, kz_shape *shape, int64_t axis,
	const struct lines *in)
{
	double complex y[64], x[64];
	int64_t count = shape->dims[axis], inner = 1, outer = 1, at = 0;
	for (int64_t i = 0; i < shape->ndim; i++) {
		*(i < axis ? &outer : &inner) *= i == axis ? 1 : shape->dims[i];
	}
	for (int64_t i = 0; i < outer * inner; i++) {
		for (int64_t k = 0; k < count; k++) {
			int64_t place = (i / inner * count + k) * inner + i % inner;
			y[k] = in->y[place];
			x[k] = !in->x ? 0 : in->x[in->one_x ? k : place];
		}
		out[at++] = in->parabolas ? simpson(y, in->x ? x : NULL, count, in->dx, in->even)
			: trapezoids(y, in->x ? x : NULL, count, in->dx);
	}
	for (int64_t i = axis; i + 1 < shape->ndim; i++) {
		shape->dims[i] = shape->dims[i + 1];
	}
	shape->ndim--;
}

static kz_dtype result_of(kz_dtype dtype)
{
	return dtype_is_exact(dtype) ? KZ_F64 : dtype;
}

static kz_shape random_shape(int64_t ndim, int64_t most)
{
	kz_shape shape = {ndim, {0}};
	for (int64_t i = 0; i < ndim; i++) {
		shape.dims[i] = 1 + sampled_below(most);
	}
	return shape;
}

/* Kernels of many types take long to compile: three get the most tries. */
static const kz_dtype tried[] = {KZ_F32, KZ_C64, KZ_F64, KZ_F32, KZ_F16, KZ_F64, KZ_F32, KZ_I16,
	KZ_C64, KZ_F64, KZ_BOOL, KZ_C128, KZ_F32, KZ_U64, KZ_BF16};

/* One random integral of a dtype. */
static void try_one(kz_dtype dtype, bool parabolas)
{
	static double complex y[MOST], x[MOST], want[MOST];
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	kz_shape shape = random_shape(1 + sampled_below(3), 15);
	int64_t axis = sampled_below(shape.ndim), points = sampled_below(3);
	kz_array *array = sampled_array(dtype, shape, y), *with = NULL, *out;
	options.axis = sampled_below(2) ? axis : axis - shape.ndim;
	options.dx = points ? 1 : (double)(sampled_below(17) - 8) / 4;
	options.even = (int32_t)sampled_below(3);
	if (points) {
		with = sampled_array(sampled_below(3) ? dtype : KZ_F64,
			points == 1 ? KZ_SHAPE(shape.dims[axis]) : shape, x);
		options.x = with;
	}
	const struct lines lines = {y, points ? x : NULL, points == 1, parabolas, options.dx,
		options.even};
	kz_dtype common = result_of(with ? kz_dtype_promote(dtype, kz_array_dtype(with)) : dtype);
	ok((parabolas ? kz_simps : kz_trapz)(&out, array, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(out), common);
	integrate_lines(want, &shape, axis, &lines);
	double scale = 1;
	for (int64_t i = 0; i < support_count(&shape); i++) {
		scale = fmax(scale, cabs(want[i]));
	}
	/* Parabolas through points that lie close have large weights: h0 / h1 is up to 64. */
	double wide = sampled_epsilon(dtype_wide(common)) * (parabolas ? 2e5 : 400);
	sampled_check(out, shape, want, scale * sampled_epsilon(common) + wide);
	release_arrays(array, with, out);
}

DEVICE_TEST(the_trapezoidal_rule_is_a_loop_for_every_type_axis_and_stride)
{
	const int rounds = support_how_many(1000, countof(tried), countof(tried));
	for (int i = 0; i < rounds; i++) {
		if (!both_shapes_try((size_t)i, (size_t)rounds, 3, 1)) {
			continue;
		}
		sampled_state = (uint64_t)i;
		try_one(tried[(size_t)i % countof(tried)], false);
	}
}

DEVICE_TEST(simpsons_rule_is_a_loop_for_every_type_axis_and_stride)
{
	const int rounds = support_how_many(1000, countof(tried), countof(tried));
	for (int i = 0; i < rounds; i++) {
		if (!both_shapes_try((size_t)i, (size_t)rounds, 2, 1)) {
			continue;
		}
		sampled_state = (uint64_t)i;
		try_one(tried[(size_t)i % countof(tried)], true);
	}
}

/* scikit-cuda's simps and scipy's simpson print these: arange(10), arange(10)**3. */
DEVICE_TEST(simpsons_rule_gives_the_documented_values)
{
	static const double want[] = {1642.5, 1644.5, 1640.5};
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	kz_array *y, *cubes;
	double got;
	ok(kz_arange(&y, dev, KZ_F64, 0, 10, 1, &err));
	ok(kz_power(&cubes, y, 3, &err));
	ok(kz_simps_get(&got, y, NULL, &err));
	ck_assert_double_eq(got, 40.5);
	for (int even = KZ_SIMPS_AVG; even <= KZ_SIMPS_LAST; even++) {
		options.even = even;
		ok(kz_simps_get(&got, cubes, &options, &err));
		ck_assert_double_eq_tol(got, want[even], 1e-12 * want[even]);
	}
	release_arrays(y, cubes);
}

/* scipy.integrate.simpson(y, x=x), numpy.trapezoid(y, x); scipy 1.10 for the six first points. */
DEVICE_TEST(points_may_coincide)
{
	static const double x[] = {0, 0.5, 2, 2, 3.25, 4, 7.5}, y[] = {1, -2, 0.5, 3, 8, -1, 2};
	static const double want[] = {7.736111111111111, 2.5555555555555562, 12.916666666666664};
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	kz_array *some, *points[2];
	double got;
	ok(kz_array_from(&points[1], dev, KZ_F64, KZ_SHAPE(7), x, sizeof(x), &err));
	ok(kz_array_from(&points[0], dev, KZ_F64, KZ_SHAPE(7), y, sizeof(y), &err));
	options.x = points[1];
	ok(kz_simps_get(&got, points[0], &options, &err));
	ck_assert_double_eq_tol(got, -17.524801587301585, 1e-13);
	ok(kz_trapz_get(&got, points[0], &options, &err));
	ck_assert_double_eq(got, 9.875);
	ok(kz_array_slice(&some, points[0], KZ_AT(KZ_SLICE(0, 6)), &err));
	ok(kz_array_slice(&options.x, points[1], KZ_AT(KZ_SLICE(0, 6)), &err));
	for (int even = KZ_SIMPS_AVG; even <= KZ_SIMPS_LAST; even++) {
		options.even = even;
		ok(kz_simps_get(&got, some, &options, &err));
		ck_assert_double_eq_tol(got, want[even], 1e-14 * 16);
	}
	release_arrays(some, options.x, points[0], points[1]);
}

/* Both rules along two axes are those along one, twice. */
DEVICE_TEST(two_axes_are_integrated_with_a_distance_each)
{
	static double complex y[MOST], rows[MOST], want[MOST];
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	options.dx = 0.5;
	options.dy = -3;
	sampled_state = 5;
	const int rounds = support_how_many(200, 30, 30);
	for (int i = 0; i < rounds; i++) {
		if (!both_shapes_try((size_t)i, (size_t)rounds, 3, 1)) {
			continue;
		}
		kz_dtype dtype = tried[(size_t)i / 2 % countof(tried)];
		kz_shape shape = random_shape(2 + sampled_below(2), 12);
		kz_array *z = sampled_array(dtype, shape, y), *out;
		bool parabolas = i % 2;
		options.even = (int32_t)sampled_below(3);
		struct lines lines = {y, NULL, false, parabolas, 0.5, options.even};
		ok((parabolas ? kz_simps2d : kz_trapz2d)(&out, z, &options, &err));
		integrate_lines(rows, &shape, shape.ndim - 1, &lines);
		lines.y = rows;
		lines.dx = -3;
		integrate_lines(want, &shape, shape.ndim - 1, &lines);
		dtype = result_of(dtype);
		sampled_check(out, shape, want, 1e3 * sampled_epsilon(dtype));
		release_arrays(z, out);
	}
}

DEVICE_TEST(corners_have_a_quarter_and_edges_a_half)
{
	double one = 1, got;
	for (int64_t i = 0; i < 12; i++) {
		kz_array *z, *place;
		ok(kz_array_zeros(&z, dev, KZ_F64, KZ_SHAPE(3, 4), &err));
		ok(kz_array_slice(&place, z, KZ_AT(i / 4, i % 4), &err));
		ok(kz_array_set(place, &one, sizeof(one), &err));
		ok(kz_trapz2d_get(&got, z, NULL, &err));
		ck_assert_double_eq(got,
			(i / 4 == 1 ? 1 : 0.5) * (i % 4 == 1 || i % 4 == 2 ? 1 : 0.5));
		ok(kz_simps2d_get(&got, z, NULL, &err));
		/* simps of four: 5/12, 13/12, 13/12, 5/12 */
		ck_assert_double_eq_tol(got, (i / 4 == 1 ? 4 : 1) / 3.0
			* (i % 4 == 1 || i % 4 == 2 ? 13 : 5) / 12.0, 1e-15 * 4);
		release_arrays(z, place);
	}
}

DEVICE_TEST(running_integrals_are_a_loop)
{
	static double complex y[MOST], x[MOST], want[MOST];
	const int rounds = support_how_many(400, 45, 45);
	for (int i = 0; i < rounds; i++) {
		if (!both_shapes_try((size_t)i, (size_t)rounds, 3, 1)) {
			continue;
		}
		sampled_state = (uint64_t)i;
		kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
		kz_dtype dtype = tried[(size_t)i / 3 % countof(tried)];
		kz_shape shape = random_shape(1 + sampled_below(3), 15);
		int64_t axis = sampled_below(shape.ndim), inner = 1, first = i % 3 > 0;
		kz_array *array = sampled_array(dtype, shape, y), *with = NULL, *out;
		options.axis = axis;
		options.dx = 0.25;
		options.with_initial = (int32_t)first;
		options.initial = i % 3 == 2 ? 2.5 : 0;
		if (i % 4 == 0) {
			with = sampled_array(KZ_BOOL, KZ_SHAPE(shape.dims[axis]), x);
			options.x = with;
		}
		ok(kz_cumulative_trapezoid(&out, array, &options, &err));
		kz_shape result = shape;
		result.dims[axis] += first - 1;
		for (int64_t k = axis + 1; k < shape.ndim; k++) {
			inner *= shape.dims[k];
		}
		for (int64_t k = 0; k < support_count(&result); k++) {
			int64_t at = k / inner % result.dims[axis] - first; /* the interval */
			int64_t from = (k / inner / result.dims[axis] * shape.dims[axis]) * inner
				+ k % inner;
			want[k] = at < 0 ? options.initial : 0;
			for (int64_t l = 0; l <= at; l++, from += inner) {
				want[k] += (with ? x[l + 1] - x[l] : 0.25)
					* (y[from] + y[from + inner]) / 2;
			}
		}
		ck_assert_uint_eq(kz_array_dtype(out), result_of(dtype));
		sampled_check(out, result, want, 30 * sampled_epsilon(result_of(dtype)));
		release_arrays(array, with, out);
	}
}

/* Where results go */

DEVICE_TEST(a_number_goes_to_the_host)
{
	static double complex y[30];
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		if (!both_shapes_try(dtype - 1, KZ_C128, 3, 1)) {
			continue;
		}
		double got[2] = {7, 7};
		kz_dtype number = !dtype_is_complex(dtype) ? KZ_F64 : KZ_C128;
		kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
		kz_array *array = sampled_array(dtype, KZ_SHAPE(30), y);
		options.dx = 0.125;
		ok(kz_trapz_get_as(got, number, array, &options, &err));
		double complex want = trapezoids(y, NULL, 30, 0.125);
		ck_assert_double_eq(got[0], creal(want));
		ck_assert(got[1] == (number == KZ_F64 ? 7 : cimag(want))); /* NOLINT: exact */
		ok(kz_simps_get_as(got, number, array, &options, &err));
		want = simpson(y, NULL, 30, 0.125, KZ_SIMPS_AVG);
		ck_assert_double_eq_tol(got[0], creal(want), 30 * sampled_epsilon(KZ_F32));
		fails(kz_trapz_get_as(got, KZ_F32, array, &options, &err), KZ_INVALID,
			"kz_trapz_get_as: the result is ");
		fails(kz_simps_get_as(got, number == KZ_F64 ? KZ_C128 : KZ_F64, array, &options,
			&err), KZ_INVALID, "and the number for it is ");
		options.into = array;
		fails(kz_trapz_get_as(got, number, array, &options, &err), KZ_INVALID,
			"kz_trapz_get_as: the result goes to the host, not into an array");
		kz_array_release(array);
	}
}

DEVICE_TEST(a_result_goes_into_an_array)
{
	static double complex y[40], want[8];
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	kz_array *z = sampled_array(KZ_F32, KZ_SHAPE(5, 8), y), *into, *out, *row, *wide;
	kz_shape shape = {2, {5, 8}};
	ok(kz_array_slice(&row, z, KZ_AT(2), &err)); /* of the samples themselves */
	options.axis = 0;
	for (int even = 0; even < 2; even++) {
		const struct lines lines = {y, NULL, false, even, 1, 0};
		shape = (kz_shape){2, {5, 8}};
		integrate_lines(want, &shape, 0, &lines);
		into = even ? sampled_room(KZ_F64, &shape) : row;
		options.into = into;
		ok((even ? kz_simps : kz_trapz)(&out, z, &options, &err));
		ck_assert_ptr_eq(out, into);
		sampled_check(out, shape, want, 1e-5);
		kz_array_release(out);
		if (even) {
			ok(kz_trapz(NULL, z, &options, &err));
			kz_array_release(into);
		}
		sampled_state = 3;
		kz_array_release(z);
		z = sampled_array(KZ_F32, KZ_SHAPE(5, 8), y);
	}
	options.into = NULL;
	options.dtype = KZ_C128;
	ok(kz_trapz(&wide, z, &options, &err));
	ck_assert_uint_eq(kz_array_dtype(wide), KZ_C128);
	options.into = wide;
	options.dtype = 0;
	ok(kz_cumulative_trapezoid(&out, row, NULL, &err));
	ck_assert_int_eq(kz_array_count(out), 7);
	release_arrays(z, row, wide, out);
}

DEVICE_TEST(a_running_integral_goes_into_an_array)
{
	static double complex y[12], want[12];
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	kz_array *array = sampled_array(KZ_F32, KZ_SHAPE(12), y), *out;
	for (int i = 1; i < 12; i++) {
		want[i] = want[i - 1] + (y[i] + y[i - 1]) / 2;
	}
	options.into = array;
	options.with_initial = 1;
	ok(kz_cumulative_trapezoid(&out, array, &options, &err));
	ck_assert_ptr_eq(out, array);
	sampled_check(array, KZ_SHAPE(12), want, 1e-5);
	fails(kz_cumulative_trapezoid(NULL, array, NULL, &err), KZ_INVALID, "out is NULL");
	release_arrays(array, out);
}

DEVICE_TEST(integrals_run_in_a_stream)
{
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	kz_array *y, *out[3];
	double got;
	ok(kz_array_ones(&y, dev, KZ_F64, KZ_SHAPE(10), &err));
	ok(kz_stream_create(&options.stream, dev, 0, &err));
	ok(kz_trapz(&out[0], y, &options, &err));
	ok(kz_simps(&out[1], y, &options, &err));
	ok(kz_cumulative_trapezoid(&out[2], y, &options, &err));
	ok(kz_array_get(out[0], &got, sizeof(got), &err));
	ck_assert_double_eq(got, 9);
	ok(kz_array_get(out[1], &got, sizeof(got), &err));
	ck_assert_double_eq_tol(got, 9, 1e-14);
	kz_stream_release(options.stream);
	release_arrays(y, out[0], out[1], out[2]);
}

/* Numbers */

/* D18 of scikit-cuda: it compiled for each call and size. */
DEVICE_TEST(nothing_is_compiled_for_a_size_or_a_distance)
{
	int64_t compiled = 0;
	for (int64_t count = 17; count < 16000; count = count * 2 + 1) {
		kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
		kz_array *y;
		double got;
		options.dx = 1 / (double)count;
		ok(kz_array_ones(&y, dev, KZ_F32, KZ_SHAPE(count), &err));
		ok(kz_trapz_get(&got, y, &options, &err));
		ck_assert_double_eq_tol(got, (double)(count - 1) / (double)count, 1e-12);
		ok(kz_simps_get(&got, y, &options, &err));
		if (count > 17) {
			ck_assert_int_eq(support_compiled(dev), compiled);
		}
		compiled = support_compiled(dev);
		kz_array_release(y);
	}
}

/* As exact as kz_sum: in float32, one after the other, the sum would be off by 0.05 %. */
DEVICE_TEST(sums_are_trees)
{
	enum { COUNT = 1000001 };
	float *y = malloc(COUNT * sizeof(*y));
	const kz_dtype types[2] = {KZ_F32, KZ_F16};
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	kz_array *array, *as;
	double got, want;
	options.dx = 1e-6;
	for (int i = 0; i < COUNT; i++) {
		y[i] = 0.1f;
	}
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(COUNT), y, COUNT * 4, &err));
	for (int i = 0; i < 2; i++) {
		ok(kz_array_astype(&as, array, types[i], &err));
		want = i ? 0.0999755859375 : (double)0.1f;
		ok(kz_trapz_get(&got, as, &options, &err));
		ck_assert_double_eq_tol(got, want, 4e-7 * want);
		ok(kz_simps_get(&got, as, &options, &err));
		ck_assert_double_eq_tol(got, want, 4e-7 * want);
		kz_array_release(as);
	}
	kz_array_release(array);
	free(y);
}

/* The notebook's integrals in float32: sin(x^2 + cos x), and sin(x^2 + cos y) on a grid. */
DEVICE_TEST(the_notebooks_integrals_are_right)
{
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	int64_t count = dev->serial ? 3142 : 300;
	kz_array *x = NULL, *column = NULL, *y = NULL, *z = NULL;
	double got;
	options.dx = options.dy = 0.001;
	ok(kz_arange(&x, dev, KZ_F32, 0, 3142, 1, &err));
	ok(kz_apply_into(x, KZ_OP_MULTIPLY, &err, KZ_ARGS(x, 0.001)));
	ok(kz_eval(&y, "sin(x*x + cos(x))", NULL, &err, KZ_VARS(x)));
	ok(kz_trapz_get(&got, y, &options, &err));
	ck_assert_double_eq_tol(got, 1.3175980, 1e-6);
	if (count == 3142) {
		ok(kz_array_view(&column, x, KZ_SHAPE(count, 1), NULL, 0, &err));
		ok(kz_eval(&z, "sin(x*x + cos(y))", NULL, &err,
			KZ_VARS(KZ_VAR("x", column), KZ_VAR("y", x))));
		ok(kz_trapz2d_get(&got, z, &options, &err));
		ck_assert_double_eq_tol(got, 1.8580520, 1e-5);
	}
	release_arrays(x, column, y, z);
}

/* Limits */

DEVICE_TEST(fewer_than_two_samples_have_no_area)
{
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	integrate_fn *const each[] = {kz_trapz, kz_simps};
	const double complex zeros[6] = {0};
	for (size_t i = 0; i < 2; i++) {
		for (int64_t count = 0; count < 2; count++) {
			kz_array *y, *out;
			double got = 1;
			options.axis = 0;
			ok(kz_array_ones(&y, dev, KZ_F16, KZ_SHAPE(count, 3), &err));
			ok(each[i](&out, y, &options, &err));
			sampled_check(out, KZ_SHAPE(3), zeros, 0);
			release_arrays(y, out);
			ok(kz_array_ones(&y, dev, KZ_I32, KZ_SHAPE(count), &err));
			ok((i ? kz_simps_get_as : kz_trapz_get_as)(&got, KZ_F64, y, NULL, &err));
			ck_assert_double_eq(got, 0);
			kz_array_release(y);
			ok(kz_array_ones(&y, dev, KZ_F32, KZ_SHAPE(4, count), &err));
			ok((i ? kz_simps2d : kz_trapz2d)(&out, y, NULL, &err));
			sampled_check(out, KZ_SHAPE(), zeros, 0);
			release_arrays(y, out);
		}
	}
}

DEVICE_TEST(no_lines_have_no_integrals)
{
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	kz_array *y, *out;
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(0, 6), &err));
	ok(kz_trapz(&out, y, NULL, &err));
	ck_assert_int_eq(kz_array_count(out), 0);
	kz_array_release(out);
	ok(kz_simps(&out, y, NULL, &err));
	ck_assert_int_eq(kz_array_count(out), 0);
	kz_array_release(out);
	options.with_initial = 1;
	options.initial = 3;
	ok(kz_cumulative_trapezoid(&out, y, &options, &err));
	ck_assert_int_eq(kz_array_shape(out).dims[1], 6);
	kz_array_release(out);
	options.axis = 0;
	fails(kz_cumulative_trapezoid(&out, y, &options, &err), KZ_INVALID,
		"cumulative_trapezoid needs at least one sample, got shape (0, 6)");
	ck_assert_ptr_null(out);
	kz_array_release(y);
	ok(kz_array_ones(&y, dev, KZ_F32, KZ_SHAPE(1), &err));
	ok(kz_cumulative_trapezoid(&out, y, &options, &err));
	sampled_check(out, KZ_SHAPE(1), (const double complex[]){3}, 0);
	release_arrays(y, out);
}

DEVICE_TEST(nan_and_infinity_are_seen)
{
	const float y[] = {1, NAN, 2, 3, INFINITY};
	kz_array *array, *some;
	double got;
	ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(5), y, sizeof(y), &err));
	ok(kz_trapz_get(&got, array, NULL, &err));
	ck_assert_double_nan(got);
	ok(kz_simps_get(&got, array, NULL, &err));
	ck_assert_double_nan(got);
	ok(kz_array_slice(&some, array, KZ_AT(KZ_SLICE(2, KZ_OMIT)), &err));
	ok(kz_trapz_get(&got, some, NULL, &err));
	ck_assert_double_eq(got, INFINITY);
	release_arrays(array, some);
}

DEVICE_TEST(what_does_not_fit_is_refused)
{
	kz_integrate_options options = KZ_INTEGRATE_OPTIONS_INIT;
	kz_array *y, *x, *out = NULL;
	kz_dtype pair;
	double got;
	ok(kz_dtype_register(&pair, "struct integrated_pair", 8, &err));
	ok(kz_array_zeros(&y, dev, KZ_F32, KZ_SHAPE(4, 5), &err));
	ok(kz_array_zeros(&x, dev, pair, KZ_SHAPE(4), &err));
	fails(kz_trapz(&out, NULL, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_trapz(NULL, y, NULL, &err), KZ_INVALID, "kz_trapz: out is NULL");
	fails(kz_trapz(&out, x, NULL, &err), KZ_INVALID, "trapz does not take struct "
		"integrated_pair");
	fails(kz_trapz2d(&out, x, NULL, &err), KZ_INVALID, "trapz2d");
	fails(kz_trapz_get(&got, y, NULL, &err), KZ_INVALID,
		"trapz: expected samples of one integral, got shape (4, 5)");
	options.axis = 2;
	fails(kz_simps(&out, y, &options, &err), KZ_RANGE, "axis 2");
	options.axis = 1;
	options.x = x;
	fails(kz_simps(&out, y, &options, &err), KZ_INVALID,
		"simps: points of shape (4,) do not fit samples of shape (4, 5) along axis 1");
	options.axis = 0;
	fails(kz_simps(&out, y, &options, &err), KZ_INVALID,
		"simps does not take float32 at points of struct integrated_pair");
	options.x = NULL;
	fails(kz_trapz2d(&out, y, &options, &err), KZ_INVALID, "not an axis");
	options.axis = -1;
	options.dtype = KZ_I32;
	fails(kz_trapz(&out, y, &options, &err), KZ_INVALID, "trapz of float32 cannot have dtype "
		"int32");
	options.dtype = 99;
	fails(kz_trapz(&out, y, &options, &err), KZ_INVALID, "99 is not a dtype");
	options.dtype = 0;
	options.even = 3;
	fails(kz_simps(&out, y, &options, &err), KZ_INVALID, "3 is not a kz_simps_even");
	options.even = 0;
	options.into = y;
	fails(kz_trapz(&out, y, &options, &err), KZ_INVALID,
		"trapz gives shape (4,), which does not fit into (4, 5)");
	fails(kz_cumulative_trapezoid(&out, y, &options, &err), KZ_INVALID, "(4, 4)");
	options.size = 3;
	fails(kz_trapz(&out, y, &options, &err), KZ_INVALID, "kz_integrate_options has size 3");
	ck_assert_ptr_null(out);
	release_arrays(x, y);
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	integrate_fn *const each[] = {kz_trapz, kz_simps, kz_simps2d, kz_cumulative_trapezoid};
	kz_array *y;
	ok(kz_array_ones(&y, dev, KZ_F16, KZ_SHAPE(6, 8), &err));
	for (size_t i = 0; i < countof(each); i++) {
		int failed = 0;
		for (long n = 0;; n++) {
			kz_array *out = NULL;
			mem_fail_after(n);
			kz_status st = each[i](&out, y, NULL, &err);
			bool done = !mem_has_failed();
			mem_fail_after(-1);
			ck_assert(st == KZ_OK ? out != NULL : out == NULL);
			failed += st != KZ_OK;
			kz_error_clear(&err);
			kz_array_release(out);
			if (done) {
				break;
			}
		}
		ck_assert_int_gt(failed, 1);
	}
	kz_array_release(y);
}

SUITE(integrate)
{
	Suite *suite = suite_create("integrate");
	int devices = both_shapes_count();
	TCase *rules = suite_add_case(suite, "rules");
	tcase_set_timeout(rules, 200);
	tcase_add_tests(rules, devices,
		the_trapezoidal_rule_is_a_loop_for_every_type_axis_and_stride,
		simpsons_rule_is_a_loop_for_every_type_axis_and_stride,
		simpsons_rule_gives_the_documented_values, points_may_coincide,
		two_axes_are_integrated_with_a_distance_each,
		corners_have_a_quarter_and_edges_a_half, running_integrals_are_a_loop);
	TCase *results = suite_add_case(suite, "results");
	tcase_add_tests(results, devices, a_number_goes_to_the_host, a_result_goes_into_an_array,
		a_running_integral_goes_into_an_array, integrals_run_in_a_stream);
	TCase *numbers = suite_add_case(suite, "numbers");
	tcase_add_tests(numbers, devices, nothing_is_compiled_for_a_size_or_a_distance,
		sums_are_trees, the_notebooks_integrals_are_right);
	TCase *limits = suite_add_case(suite, "limits");
	tcase_add_tests(limits, devices, fewer_than_two_samples_have_no_area,
		no_lines_have_no_integrals, nan_and_infinity_are_seen, what_does_not_fit_is_refused,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}

/* SPDX-License-Identifier: MIT */
/*
 * Reductions of random views against plain C over their elements in row-major order.
 *
 * Elements are small integers in every type, so that sums are exact in any order; some are NaN.  A
 * seed stands for one case; failures print it.  KUDZU_TEST_SLOW=1 tries many more.
 */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "lib/core/memory.h"
#include "support/support.h"
#include "support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 6, SLOW_CASES = 200, LANES_TRIED = 7, MOST = 20000 };

static kz_error err;
static kz_device *dev;
static uint64_t state;

static uint64_t random_bits(void)
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static int64_t below(int64_t count)
{
	return (int64_t)(random_bits() % (uint64_t)count);
}

/* Elements */

static bool is_float(kz_dtype dtype)
{
	return dtype_is_float(dtype);
}

static bool is_complex(kz_dtype dtype)
{
	return dtype == KZ_C64 || dtype == KZ_C128;
}

/* An element, whatever its type: integers in `i`, floats in the others. */
struct value {
	uint64_t i;
	double re, im;
};

static float half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	int fraction = bits & 1023;
	float size = exponent == 31 ? (fraction ? NAN : INFINITY)
		: exponent ? ldexpf((float)(1024 + fraction), exponent - 25)
		: ldexpf((float)fraction, -24);
	return bits >> 15 ? -size : size;
}

static struct value read_value(const void *at, kz_dtype dtype)
{
	struct value v = {0, 0, 0};
	union {
		int8_t i8; int16_t i16; int32_t i32; int64_t i64;
		uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64;
		float f[2]; double d[2];
	} u = {.u64 = 0};
	memcpy(&u, at, (size_t)kz_dtype_size(dtype));
	uint32_t bfloat = (uint32_t)u.u16 << 16;
	switch (dtype) {
	case KZ_I8: v.i = (uint64_t)u.i8; break;
	case KZ_I16: v.i = (uint64_t)u.i16; break;
	case KZ_I32: v.i = (uint64_t)u.i32; break;
	case KZ_F16: v.re = half_value(u.u16); break;
	case KZ_BF16: memcpy(u.f, &bfloat, 4); v.re = u.f[0]; break;
	case KZ_F32: v.re = u.f[0]; break;
	case KZ_F64: v.re = u.d[0]; break;
	case KZ_C64: v.re = u.f[0]; v.im = u.f[1]; break;
	case KZ_C128: v.re = u.d[0]; v.im = u.d[1]; break;
	default: v.i = u.u64; break; /* the rest of the union is 0 */
	}
	return v;
}

/* A small integer (or NaN) in any type; halves by their few bits. */
static void write_value(char *at, kz_dtype dtype, int number, int imaginary)
{
	static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
	int64_t i = dtype == KZ_BOOL ? number & 1 : number;
	float f[2] = {(float)number, (float)imaginary};
	double d[2] = {number, imaginary};
	uint16_t half = (uint16_t)(halves[abs(number) % 7] | (number < 0 ? 0x8000 : 0));
	uint32_t bits;
	if (number == INT32_MAX) {
		half = 0x7e00;
		f[0] = NAN;
		d[0] = NAN;
	}
	memcpy(&bits, f, 4);
	bits >>= 16;
	const void *from = dtype == KZ_F16 ? (void *)&half : dtype == KZ_BF16 ? (void *)&bits
		: dtype == KZ_F32 || dtype == KZ_C64 ? (void *)f
		: is_float(dtype) || is_complex(dtype) ? (void *)d : (void *)&i;
	memcpy(at, from, (size_t)kz_dtype_size(dtype));
}

/* Random views */

/* Extents with a product of at most MOST; now and then 0 or one long one. */
static kz_shape random_shape(void)
{
	kz_shape shape = {.ndim = below(6)};
	int64_t left = below(4) ? 600 : MOST;
	for (int64_t i = 0; i < shape.ndim; i++) {
		int64_t most = below(3) ? (left < 12 ? left : 12) : left;
		shape.dims[i] = 1 + below(most);
		left /= shape.dims[i];
	}
	if (shape.ndim && below(20) == 0) {
		shape.dims[below(shape.ndim)] = 0;
	}
	return shape;
}

/* Strides in any order of axes, some negative, some with gaps, some 0. */
static int64_t random_strides(int64_t strides[KZ_MAX_DIMS], const kz_shape *shape, int64_t size,
	int64_t *first)
{
	int64_t order[KZ_MAX_DIMS], step = size;
	*first = 0;
	for (int64_t i = 0; i < shape->ndim; i++) {
		int64_t j = below(i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	bool plain = below(2);
	for (int64_t n = shape->ndim; n-- > 0;) {
		int64_t axis = plain ? n : order[n];
		int64_t extent = shape->dims[axis] ? shape->dims[axis] : 1;
		int kind = plain ? 9 : (int)below(10);
		step *= kind == 1 ? 2 : 1;
		strides[axis] = kind == 0 ? 0 : kind == 2 ? -step : step;
		*first += kind == 2 ? step * (extent - 1) : 0;
		step *= kind == 0 ? 1 : extent;
	}
	return step;
}

/* What elements are like: all small numbers, products that stay small, or with NaN. */
enum taste { NUMBERS, UNITS, WITH_NAN };

static kz_array *random_view(kz_dtype dtype, enum taste taste)
{
	int64_t strides[KZ_MAX_DIMS], first, size = kz_dtype_size(dtype);
	kz_shape shape = random_shape();
	int64_t room = random_strides(strides, &shape, size, &first) + size;
	char *host = malloc((size_t)room);
	kz_array *base, *view;
	for (int64_t at = 0; at < room; at += size) {
		bool is_signed = !dtype_is_unsigned(dtype);
		int number = taste == UNITS ? (below(500) == 0 ? 2 : is_signed && below(2) ? -1 : 1)
			: (int)below(is_signed ? 13 : 7) - (is_signed ? 6 : 0);
		int imaginary = taste == UNITS ? 0 : (int)below(5) - 2;
		if (taste == WITH_NAN && below(200) == 0) {
			number = INT32_MAX;
		}
		write_value(host + at, dtype,
			dtype_is_exact(dtype) && number == INT32_MAX ? 1 : number, imaginary);
	}
	ok(kz_array_from(&base, dev, dtype, KZ_SHAPE(room / size), host, room, &err));
	ok(kz_array_view(&view, base, shape, strides, first, &err));
	kz_array_release(base);
	free(host);
	return view;
}

/* The reference: elements one after the other. */

struct sums {
	int64_t count, nonzero, numbers; /* numbers: those that are no NaN */
	struct value sum, product, least, most;
	int64_t least_at, most_at;
	bool with_nan;
	double squares;
};

static bool is_less(struct value a, struct value b, kz_dtype dtype)
{
	return dtype_is_inexact(dtype) ? a.re < b.re
		: !dtype_is_signed(dtype) ? a.i < b.i : (int64_t)a.i < (int64_t)b.i;
}

static void add_extreme(struct sums *s, struct value v, kz_dtype dtype)
{
	bool nan = dtype_is_inexact(dtype) && isnan(v.re);
	if (nan && !s->with_nan) {
		s->with_nan = true;
		s->least_at = s->most_at = s->count;
	}
	if (nan) {
		return;
	}
	if (s->numbers == 0 || is_less(v, s->least, dtype)) {
		s->least = v;
		s->least_at = s->with_nan ? s->least_at : s->count;
	}
	if (s->numbers == 0 || is_less(s->most, v, dtype)) {
		s->most = v;
		s->most_at = s->with_nan ? s->most_at : s->count;
	}
	s->numbers++;
}

static void add_value(struct sums *s, struct value v, kz_dtype dtype)
{
	bool nan = dtype_is_inexact(dtype) && isnan(v.re);
	add_extreme(s, v, dtype);
	s->count++;
	s->nonzero += v.i || v.re != 0 || v.im != 0;
	if (nan) {
		return;
	}
	struct value p = s->product;
	s->product = (struct value){p.i * v.i, p.re * v.re - p.im * v.im,
		p.re * v.im + p.im * v.re};
	s->sum = (struct value){s->sum.i + v.i, s->sum.re + v.re, s->sum.im + v.im};
	double number = dtype == KZ_BOOL || dtype_is_unsigned(dtype) ? (double)v.i
		: (double)(int64_t)v.i;
	s->squares += dtype_is_exact(dtype) ? number * number : v.re * v.re + v.im * v.im;
}

/* The mean of integers, too, as floats. */
static struct value mean_of(const struct sums *s, kz_dtype dtype)
{
	double n = (double)s->count;
	double sum = dtype_is_inexact(dtype) ? s->sum.re : (double)(int64_t)s->sum.i;
	struct value v = {0, sum / n, s->sum.im / n};
	return v;
}

static struct value expected(kz_reduce_op op, const struct sums *s, kz_dtype dtype)
{
	const struct value nan = {0, NAN, 0};
	struct value mean = mean_of(s, dtype), v = {0, 0, 0};
	switch (op) {
	case KZ_REDUCE_SUM: return s->with_nan ? nan : s->sum;
	case KZ_REDUCE_PROD: return s->with_nan ? nan : s->product;
	case KZ_REDUCE_NANSUM: return s->sum;
	case KZ_REDUCE_NANPROD: return s->product;
	case KZ_REDUCE_MIN: return s->with_nan ? nan : s->least;
	case KZ_REDUCE_MAX: return s->with_nan ? nan : s->most;
	case KZ_REDUCE_NANMIN: return s->numbers ? s->least : nan;
	case KZ_REDUCE_NANMAX: return s->numbers ? s->most : nan;
	case KZ_REDUCE_ARGMIN: v.i = (uint64_t)s->least_at; return v;
	case KZ_REDUCE_ARGMAX: v.i = (uint64_t)s->most_at; return v;
	case KZ_REDUCE_ANY: v.i = s->nonzero > 0; return v;
	case KZ_REDUCE_ALL: v.i = s->nonzero == s->count; return v;
	case KZ_REDUCE_COUNT_NONZERO: v.i = (uint64_t)s->nonzero; return v;
	case KZ_REDUCE_MEAN: return s->with_nan ? nan : mean;
	case KZ_REDUCE_NORM: v.re = sqrt(s->squares); return s->with_nan ? nan : v;
	case KZ_REDUCE_VAR:
	case KZ_REDUCE_STD: break;
	}
	v.re = s->squares / (double)s->count - mean.re * mean.re - mean.im * mean.im;
	v.re = op == KZ_REDUCE_STD ? sqrt(fmax(v.re, 0)) : v.re;
	return s->with_nan || s->count == 0 ? nan : v;
}

/* The type of a result, by numpy's rules. */
static kz_dtype result_dtype(kz_reduce_op op, kz_dtype dtype)
{
	switch (op) {
	case KZ_REDUCE_SUM: case KZ_REDUCE_PROD: case KZ_REDUCE_NANSUM: case KZ_REDUCE_NANPROD:
		return dtype_is_inexact(dtype) ? dtype : dtype_is_unsigned(dtype) ? KZ_U64 : KZ_I64;
	case KZ_REDUCE_ARGMIN: case KZ_REDUCE_ARGMAX: case KZ_REDUCE_COUNT_NONZERO:
		return KZ_I64;
	case KZ_REDUCE_ANY: case KZ_REDUCE_ALL:
		return KZ_BOOL;
	case KZ_REDUCE_MEAN:
		return dtype_is_exact(dtype) ? KZ_F64 : dtype;
	case KZ_REDUCE_VAR: case KZ_REDUCE_STD: case KZ_REDUCE_NORM:
		return dtype_is_exact(dtype) ? KZ_F64 : dtype == KZ_C64 ? KZ_F32 : dtype == KZ_C128
			? KZ_F64 : dtype;
	default:
		return dtype;
	}
}

/* How far off a float may be: nothing where all is exact, else some roundings. */
static double tolerance(kz_reduce_op op, kz_dtype result, double size)
{
	double unit = result == KZ_F16 ? 0x1p-11 : result == KZ_BF16 ? 0x1p-8
		: result == KZ_F32 || result == KZ_C64 ? 0x1p-24 : 0x1p-53;
	bool spread = op == KZ_REDUCE_VAR || op == KZ_REDUCE_STD;
	return spread ? 64 * unit * (1 + size) : op == KZ_REDUCE_MEAN || op == KZ_REDUCE_NORM
		|| unit > 0x1p-12 ? 2 * unit * size : 0;
}

static bool is_close(double got, double want, double most)
{
	return isnan(want) ? isnan(got) : fabs(got - want) <= most;
}

/* Compare */

struct check {
	kz_reduce_op op;
	kz_dtype dtype;
	kz_array *view;
	kz_axes axes;
	bool keepdims;
	uint32_t set;
	int64_t kept;  /* results */
	struct sums *sums;
};

/* Which result an element goes into. */
static int64_t place_of(const struct check *c, int64_t element)
{
	kz_shape shape = kz_array_shape(c->view);
	int64_t place = 0, step = 1;
	for (int64_t i = shape.ndim; i-- > 0; element /= shape.dims[i]) {
		if (!(c->set >> i & 1)) {
			place += element % shape.dims[i] * step;
			step *= shape.dims[i];
		}
	}
	return place;
}

static void find_sums(struct check *c)
{
	int64_t size = kz_dtype_size(c->dtype), count = kz_array_count(c->view);
	kz_shape shape = kz_array_shape(c->view);
	char *host = malloc((size_t)(count * size) + 1);
	c->kept = 1;
	for (int64_t i = 0; i < shape.ndim; i++) {
		c->kept *= c->set >> i & 1 ? 1 : shape.dims[i];
	}
	c->sums = calloc((size_t)c->kept + 1, sizeof(*c->sums));
	for (int64_t i = 0; i < c->kept; i++) {
		c->sums[i].product.i = dtype_is_exact(c->dtype);
		c->sums[i].product.re = dtype_is_inexact(c->dtype);
	}
	ok(kz_array_get(c->view, host, count * size, &err));
	for (int64_t i = 0; i < count; i++) {
		add_value(&c->sums[place_of(c, i)], read_value(host + i * size, c->dtype),
			c->dtype);
	}
	free(host);
}

static void compare(const struct check *c, kz_array *result, uint64_t seed)
{
	kz_dtype dtype = result_dtype(c->op, c->dtype);
	int64_t size = kz_dtype_size(dtype), wrong = -1;
	char *host = malloc((size_t)(c->kept * size) + 1);
	ck_assert_uint_eq(kz_array_dtype(result), dtype);
	ck_assert_int_eq(kz_array_count(result), c->kept);
	ck_assert_int_eq(kz_array_ndim(result), c->keepdims ? kz_array_ndim(c->view)
		: kz_array_ndim(c->view) - c->axes.count);
	ok(kz_array_get(result, host, c->kept * size, &err));
	struct value got = {0, 0, 0}, want = {0, 0, 0};
	for (int64_t i = 0; i < c->kept && wrong < 0; i++) {
		got = read_value(host + i * size, dtype);
		want = expected(c->op, &c->sums[i], c->dtype);
		double most = tolerance(c->op, dtype, fabs(want.re) + fabs(want.im));
		bool same = got.i == want.i || dtype_is_inexact(dtype);
		wrong = same && is_close(got.re, want.re, most) && (!is_complex(dtype)
			|| isnan(want.re) || is_close(got.im, want.im, most)) ? -1 : i;
	}
	ck_assert_msg(wrong < 0, "seed %llu: %s of %s, result %lld of %lld is %lld %g %g, not %lld "
		"%g %g", (unsigned long long)seed, kz_reduce_name(c->op), kz_dtype_name(c->dtype),
		(long long)wrong, (long long)c->kept, (long long)got.i, got.re, got.im,
		(long long)want.i, want.re, want.im);
	free(host);
}

static void choose_axes(struct check *c)
{
	int ndim = kz_array_ndim(c->view);
	c->axes.count = 0;
	c->set = 0;
	for (int i = 0; i < ndim; i++) {
		if (below(2)) {
			c->set |= 1u << i;
			c->axes.items[c->axes.count++] = below(2) ? i : i - ndim;
		}
	}
	c->keepdims = below(2);
}

static bool is_extreme(kz_reduce_op op)
{
	switch (op) {
	case KZ_REDUCE_MIN:
	case KZ_REDUCE_MAX:
	case KZ_REDUCE_ARGMIN:
	case KZ_REDUCE_ARGMAX:
	case KZ_REDUCE_NANMIN:
	case KZ_REDUCE_NANMAX:
		return true;
	default:
		return false;
	}
}

static void run_case(kz_reduce_op op, kz_dtype dtype, uint64_t seed)
{
	struct check c = {.op = op, .dtype = dtype};
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	kz_array *result;
	state = seed;
	bool product = op == KZ_REDUCE_PROD || op == KZ_REDUCE_NANPROD;
	c.view = random_view(dtype, product ? UNITS : below(2) ? WITH_NAN : NUMBERS);
	choose_axes(&c);
	find_sums(&c);
	options.keepdims = c.keepdims;
	kz_status st = kz_reduce(&result, op, c.view, c.axes, &options, &err);
	if (is_extreme(op) && c.kept && kz_array_count(c.view) == 0) {
		fails(st, KZ_INVALID, " needs at least one element, got shape (");
	} else if (is_extreme(op) && c.kept == 0 && st) {
		fails(st, KZ_INVALID, " needs at least one element, got shape (");
	} else {
		ok(st);
		compare(&c, result, seed);
	}
	release_arrays(result, c.view);
	free(c.sums);
}

/* What is tried: each operation with types of every kind. */
static const struct {
	kz_reduce_op op;
	kz_dtype dtypes[3];
} tried[] = {
	{KZ_REDUCE_SUM, {KZ_BOOL, KZ_I8, KZ_F16}},
	{KZ_REDUCE_SUM, {KZ_U16, KZ_I32, KZ_F32}},
	{KZ_REDUCE_PROD, {KZ_U8, KZ_I64, KZ_BF16}},
	{KZ_REDUCE_MIN, {KZ_I16, KZ_U64, KZ_F32}},
	{KZ_REDUCE_MAX, {KZ_BOOL, KZ_U32, KZ_F16}},
	{KZ_REDUCE_ARGMIN, {KZ_I8, KZ_F64, KZ_U64}},
	{KZ_REDUCE_ARGMAX, {KZ_F32, KZ_I64, KZ_BF16}},
	{KZ_REDUCE_ANY, {KZ_BOOL, KZ_F32, KZ_C64}},
	{KZ_REDUCE_ALL, {KZ_BOOL, KZ_F16, KZ_C128}},
	{KZ_REDUCE_MEAN, {KZ_I32, KZ_F16, KZ_F32}},
	{KZ_REDUCE_VAR, {KZ_U8, KZ_F32, KZ_C128}},
	{KZ_REDUCE_STD, {KZ_I64, KZ_F16, KZ_F64}},
	{KZ_REDUCE_NORM, {KZ_I16, KZ_BF16, KZ_F32}},
	{KZ_REDUCE_COUNT_NONZERO, {KZ_BOOL, KZ_F64, KZ_U16}},
	{KZ_REDUCE_NANSUM, {KZ_F32, KZ_I8, KZ_F16}},
	{KZ_REDUCE_NANPROD, {KZ_F64, KZ_U8, KZ_BF16}},
	{KZ_REDUCE_NANMIN, {KZ_F32, KZ_I32, KZ_F16}},
	{KZ_REDUCE_NANMAX, {KZ_F64, KZ_I8, KZ_BF16}},
};

/* One thread for each lane, as on a GPU, is another kernel; the CPU device runs that, too. */
static void run_all(int index, int which, bool serial)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(index);
	serial = serial && dev->serial;
	dev->serial = serial;
	const int cases = support_how_many(SLOW_CASES, CASES, CASES);
	for (int i = 0; i < cases; i++) {
		if (!support_is_tried(cases * which + i,
			cases * (serial ? (int)countof(tried) : LANES_TRIED),
				serial ? 23 : 7, serial ? 18 : 4)) {
			continue;
		}
		uint64_t seed = 1000 * (uint64_t)which + (uint64_t)i;
		run_case(tried[which].op, tried[which].dtypes[serial ? i % 3 : 2], seed);
	}
	support_close(dev);
}

START_TEST(reductions_of_random_views_are_those_of_their_elements)
{
	for (int i = 0; i < support_device_count(); i++) {
		run_all(i, _i, true);
	}
}
END_TEST

START_TEST(reductions_with_a_thread_for_each_lane_are_the_same)
{
	for (int i = 0; i < support_device_count(); i++) {
		run_all(i, _i, false);
	}
}
END_TEST

/* Wide reads: rows of which none, some or all lie at multiples of 16 bytes, and end within a
 * pack. */

enum { PACK_ROOM = 40000 };

static const kz_dtype packed[] = {KZ_I8, KZ_F16, KZ_F32, KZ_F64, KZ_C64};
static const struct {
	int64_t rows, count, gap, offset; /* elements between rows, before the first */
} pack_shapes[] = {
	{1, 33001, 0, 0}, {1, 33001, 0, 1}, {1, 33002, 0, 2}, {1, 33003, 0, 4}, {25, 1000, 0, 0},
	{25, 1001, 0, 0}, {25, 1001, 7, 0}, {25, 1002, 0, 0}, {25, 1002, 6, 8}, {25, 1003, 5, 16},
	{25, 1000, 2, 8}, {300, 64, 0, 0}, {300, 63, 1, 0}, {300, 100, 4, 0}, {300, 102, 0, 0},
	{1000, 17, 15, 0}, {900, 20, 4, 0}, {900, 20, 4, 2}, {9, 2305, 7, 0}, {4, 5000, 0, 0},
};

/* The bits of sums of all, along both axes, and places of the largest. */
static int64_t pack_results(char *to, kz_array *array)
{
	static const kz_axes axes[] = {{-1, {0}}, {1, {0}}, {1, {1}}};
	bool ordered = kz_array_dtype(array) != KZ_C64;
	int64_t size = 0;
	for (size_t i = 0; i < 2 * countof(axes); i++) {
		kz_array *result;
		kz_reduce_op op = i % 2 && ordered ? KZ_REDUCE_ARGMAX : KZ_REDUCE_SUM;
		ok(kz_reduce(&result, op, array, axes[i / 2], NULL, &err));
		ok(kz_array_get(result, to + size, kz_array_size(result), &err));
		size += kz_array_size(result);
		kz_array_release(result);
	}
	return size;
}

START_TEST(wide_reads_do_not_change_a_bit)
{
	static float host[PACK_ROOM];
	static char alone[32 * PACK_ROOM], together[32 * PACK_ROOM];
	for (int i = 0; i < PACK_ROOM; i++) {
		host[i] = (float)(i * 7919 % 10007) / 97 - 50;
	}
	for (int index = 0; index < support_device_count(); index++) {
		kz_array *floats, *all, *view;
		err = (kz_error)KZ_ERROR_INIT;
		dev = support_open(index);
		bool serial = dev->serial;
		int64_t size = kz_dtype_size(packed[_i]);
		ok(kz_array_from(&floats, dev, KZ_F32, KZ_SHAPE(PACK_ROOM), host, sizeof(host),
			&err));
		ok(kz_array_astype(&all, floats, packed[_i], &err));
		for (size_t k = 0; k < countof(pack_shapes); k++) {
			if (!support_is_tried(_i + (int)(k * countof(packed)),
				countof(packed) * countof(pack_shapes), 3, 1)) {
				continue;
			}
			int64_t rows = pack_shapes[k].rows, count = pack_shapes[k].count;
			const int64_t strides[] = {(count + pack_shapes[k].gap) * size, size};
			ok(kz_array_view(&view, all, KZ_SHAPE(rows, count), strides,
				pack_shapes[k].offset * size, &err));
			int64_t bytes = pack_results(alone, view);
			dev->serial = false;
			memset(together, 0, sizeof(together));
			ck_assert_int_eq(pack_results(together, view), bytes);
			dev->serial = serial;
			ck_assert_msg(memcmp(alone, together, (size_t)bytes) == 0, "shape %zu", k);
			kz_array_release(view);
		}
		release_arrays(floats, all);
		support_close(dev);
	}
}
END_TEST

SUITE(reduce_random)
{
	Suite *suite = suite_create("reduce_random");
	TCase *tc = suite_add_case(suite, "views");
	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, reductions_of_random_views_are_those_of_their_elements, 0,
		countof(tried));
	tcase_add_loop_test(tc, reductions_with_a_thread_for_each_lane_are_the_same, 0,
		LANES_TRIED);
	tc = suite_add_case(suite, "packs");
	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, wide_reads_do_not_change_a_bit, 0, countof(packed));
	return suite;
}

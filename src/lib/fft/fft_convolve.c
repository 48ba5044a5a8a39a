/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and correlations of sequences.
 *
 * Sequences of n and m elements have n + m - 1 sums.  A kernel (kernels/convolve.cuh) adds the
 * products of integers, and of floats where one sequence is short.  Those of others are found from
 * the product of the spectra, of at least n + m - 1 elements: the next length without primes above
 * 5.  A correlation is a convolution with the reversed conjugate.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/core/object.h"
#include "kernels/convolve.cuh"
#include "lib/ops/device_code.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/generate.h"
#include "lib/ops/kernels.h"

#include <kudzu/fft.h>
#include <kudzu/view.h>

/* A kernel adds the products of floats where the shorter sequence has so many bytes; fft.h says
 * so. */
enum { CONVOLVE_SHORT = 2048 };
enum { CONVOLVE_SUMS = 4 }; /* of each thread */

struct convolution {
	const char *name;
	bool is_correlation;
	struct kz_array *a, *b;
	kz_dtype dtype;        /* of the computation */
	int64_t first, count;  /* what the mode keeps of all sums */
	struct kz_stream *stream;
};

struct convolve_class {
	kz_dtype dtype;
};

/* numpy puts the longer sequence first.  A correlation is reversed then, so that of two halves of
 * an even number the other one is left out. */
static kz_status convolve_choose(struct convolution *job, kz_convolve_mode mode, kz_error *err)
{
	int64_t n = job->a->count, m = job->b->count, small = min64(n, m), all;
	if (!size64_add(&all, n, m - 1)) {
		return error_set(err, KZ_RANGE, "%s: sequences of %lld and %lld elements have more "
			"than 2^63 sums", job->name, (long long)n, (long long)m);
	}
	int64_t large = all - small + 1;
	switch (mode) {
	case KZ_CONVOLVE_FULL:
		job->first = 0;
		job->count = all;
		return KZ_OK;
	case KZ_CONVOLVE_SAME:
		job->first = job->is_correlation && n < m ? small / 2 : (small - 1) / 2;
		job->count = large;
		return KZ_OK;
	case KZ_CONVOLVE_VALID:
		job->first = small - 1;
		job->count = large - small + 1;
		return KZ_OK;
	}
	return error_set(err, KZ_INVALID, "%s: %d is not a kz_convolve_mode", job->name, (int)mode);
}

static kz_status convolve_check(struct convolution *job, const struct kz_array *array,
	const char *name, kz_error *err)
{
	kz_status st = object_check_as(array, OBJECT_ARRAY, name, err);
	if (st) {
		return st;
	}
	if (array->shape.ndim != 1 || array->count == 0) {
		return error_set(err, KZ_INVALID, "%s: expected sequences of at least one element, "
			"got shape %s", job->name, shape_text(&array->shape).text);
	}
	if (!dtype_is_number(array->dtype)) {
		return error_set(err, KZ_INVALID, "%s: expected numbers, got %s", job->name,
			dtype_refused(array->dtype));
	}
	return KZ_OK;
}

static bool convolve_is_exact(kz_dtype dtype)
{
	return dtype == KZ_BOOL || dtype_is_integer(dtype);
}

/* The type that a transform computes the sequence in. */
static kz_dtype convolve_float(kz_dtype dtype)
{
	return convolve_is_exact(dtype) ? KZ_F64 : dtype_wide(dtype);
}

/* Integers stay integers, of the type that the caller wants, or of their common one. */
static void convolve_choose_type(struct convolution *job, kz_dtype wanted)
{
	kz_dtype a = job->a->dtype, b = job->b->dtype;
	if (convolve_is_exact(a) && convolve_is_exact(b)) {
		job->dtype = dtype_wide(wanted ? wanted : kz_dtype_promote(a, b));
	} else {
		job->dtype = kz_dtype_promote(convolve_float(a), convolve_float(b));
	}
}

/* The second sequence of a correlation. */
static kz_status convolve_reverse(struct kz_array **out, const struct convolution *job,
	kz_error *err)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	struct kz_array *turned = NULL;
	options.stream = job->stream;
	kz_status st = kz_array_flip(&turned, job->b, KZ_AXES(0), err);
	if (!st && dtype_is_complex(job->b->dtype)) {
		st = kz_apply(out, KZ_OP_CONJUGATE, &options, err, KZ_ARGS(turned));
	} else if (!st) {
		*out = kz_array_retain(turned);
	}
	kz_array_release(turned);
	return st;
}

/* By spectra */

/* The least number from `least` on without primes above 5; it may be too large for an array. */
static int64_t convolve_length(int64_t least)
{
	int64_t best = INT64_MAX, fives = 1;
	for (bool has_fives = true; has_fives; has_fives = size64_mul(&fives, fives, 5)) {
		int64_t odd = fives;
		for (bool has_odd = true; has_odd; has_odd = size64_mul(&odd, odd, 3)) {
			int64_t length = odd;
			bool fits = true;
			while (fits && length < least) {
				fits = size64_mul(&length, length, 2);
			}
			best = fits && length < best ? length : best;
		}
	}
	return best;
}

static kz_status convolve_by_spectra(struct kz_array **out, const struct convolution *job,
	struct kz_array *a, struct kz_array *b, kz_error *err)
{
	struct kz_array *spectra[2] = {NULL, NULL}, *product = NULL, *all = NULL;
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_op_options multiply = KZ_OP_OPTIONS_INIT;
	bool is_complex = dtype_is_complex(job->dtype);
	kz_status st;
	options.stream = multiply.stream = job->stream;
	options.lengths = KZ_SHAPE(convolve_length(a->count + b->count - 1));
	if (!(st = (is_complex ? kz_fft : kz_rfft)(&spectra[0], a, KZ_AXES(0), &options, err))
	    && !(st = (is_complex ? kz_fft : kz_rfft)(&spectra[1], b, KZ_AXES(0), &options, err))
	    && !(st = kz_apply(&product, KZ_OP_MULTIPLY, &multiply, err,
			KZ_ARGS(spectra[0], spectra[1])))
	    && !(st = (is_complex ? kz_ifft : kz_irfft)(&all, product, KZ_AXES(0), &options,
		err))) {
		st = kz_array_slice(out, all, KZ_AT(KZ_SLICE(job->first, job->first + job->count)),
			err);
	}
	kz_array_release(spectra[0]);
	kz_array_release(spectra[1]);
	kz_array_release(product);
	kz_array_release(all);
	return st;
}

/* Directly */

static void convolve_write(struct str *source, const void *context)
{
	const struct convolve_class *class = context;
	bool is_exact = convolve_is_exact(class->dtype);
	generate_prelude(source, dtype_bit(class->dtype), is_exact);
	str_addf(source, "typedef %s kz_element;\n#define KZ_SUMS %d\n"
		"#define KZ_ZERO %s\n", generate_value(class->dtype), CONVOLVE_SUMS,
		dtype_is_complex(class->dtype) ? "kz_element{0, 0}" : "0");
	str_add(source, is_exact
		? "#define KZ_MADD(c, a, b) kz_add((kz_element)(c), kz_multiply(a, b))\n"
		: !dtype_is_complex(class->dtype) ? "#define KZ_MADD(c, a, b) fma(a, b, c)\n"
		: "#define KZ_MADD(c, a, b) kz_element{ \\\n"
		"\tfma(a.re, b.re, fma(-a.im, b.im, c.re)), \\\n"
		"\tfma(a.re, b.im, fma(a.im, b.re, c.im))}\n");
	str_add(source, device_convolve);
}

static const struct kernel_family convolve_family = {
	"convolve", convolve_write, {[SCHEDULE_MANY] = {128}, [SCHEDULE_ONE] = {32}},
};

static kz_status convolve_launch(struct kz_array *out, const struct convolution *job,
	struct kz_array *a, struct kz_array *b, kz_error *err)
{
	/* Sums that wrap have the same bits without a sign. */
	const struct convolve_class class =
		{dtype_is_signed(job->dtype) ? dtype_unsigned(job->dtype)
		: job->dtype};
	const struct schedule *schedule = schedule_of(convolve_family.schedules,
		job->stream->device);
	struct kz_sequences sequences = {a->count, b->count, job->first, job->count};
	CUdeviceptr address[3] = {array_address(out), array_address(a), array_address(b)};
	void *params[] = {&address[0], &address[1], &address[2], &sequences};
	struct kz_array *const arrays[] = {out, a, b};
	const struct kernels_run run = {
		.want = {&convolve_family, &class, sizeof(class), .what = job->name},
		.stream = job->stream, .params = params,
		.grid = kz_dim(divide_up(job->count, schedule->threads * CONVOLVE_SUMS), 1, 1),
		.arrays = arrays, .array_count = countof(arrays),
	};
	return kernels_run(&run, err);
}

static kz_status convolve_directly(struct kz_array **out, const struct convolution *job,
	struct kz_array *a, struct kz_array *b, kz_error *err)
{
	const kz_shape shape = KZ_SHAPE(job->count);
	struct kz_array *sums = NULL;
	bool is_turned = a->count < b->count;
	kz_status st = array_create_on(&sums, array_device(a), job->dtype, &shape, job->stream,
		err);
	st = st ? st : convolve_launch(sums, job, is_turned ? b : a, is_turned ? a : b, err);
	return array_finish(out, sums, st);
}

/* The sums as what the caller wants, of type `wanted` unless that is 0. */
static kz_status convolve_finish(kz_array **out, struct kz_array *sums, kz_dtype wanted,
	const struct elementwise *how, kz_error *err)
{
	struct expr expr;
	wanted = wanted ? wanted : sums->dtype;
	if (!how->into && wanted == sums->dtype && array_is_contiguous(sums)
	    && sums->buffer->size == kz_array_size(sums)) {
		*out = kz_array_retain(sums);
		return KZ_OK;
	}
	expr_init(&expr);
	int node = expr_array(&expr, sums, err);
	return node < 0 || expr_cast(&expr, node, wanted, err) < 0 ? KZ_INVALID
		: elementwise_run(out, &expr, how, err);
}

static kz_status convolve_run(kz_array **out, struct convolution *job, kz_convolve_mode mode,
	const kz_op_options *options, kz_error *err)
{
	struct elementwise how = {.into = NULL};
	kz_dtype wanted = 0;
	struct kz_array *second = NULL, *a = NULL, *b = NULL, *sums = NULL;
	kz_status st;
	out_clear(out, sizeof(*out), job->name);
	if ((st = convolve_check(job, job->a, "a", err))
	    || (st = convolve_check(job, job->b, "b", err))
	    || (st = array_same_device(job->name, job->a, job->b, err))
	    || (st = elementwise_options(&how, &wanted, options, err))
	    || (st = convolve_choose(job, mode, err))) {
		return st;
	}
	if (!out && !how.into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", job->name);
	}
	convolve_choose_type(job, wanted);
	if ((st = stream_pick(&job->stream, array_device(job->a), how.stream, err))
	    || (job->is_correlation && (st = convolve_reverse(&second, job, err)))) {
		return st;
	}
	bool is_direct = convolve_is_exact(job->dtype)
		|| min64(job->a->count, job->b->count) <= CONVOLVE_SHORT / dtype_size(job->dtype);
	if (!(st = elementwise_contiguous(&a, job->a, job->dtype, job->stream, err))
	    && !(st = elementwise_contiguous(&b, second ? second : job->b, job->dtype, job->stream,
		err))) {
		st = (is_direct ? convolve_directly : convolve_by_spectra)(&sums, job, a, b, err);
	}
	if (!st) {
		how.stream = job->stream;
		st = convolve_finish(out, sums, wanted, &how, err);
	}
	kz_array_release(a);
	kz_array_release(b);
	kz_array_release(second);
	kz_array_release(sums);
	return st;
}

kz_status kz_convolve(kz_array **out, kz_array *a, kz_array *b, kz_convolve_mode mode,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct convolution job = {.name = "convolve", .a = a, .b = b};
	return convolve_run(out, &job, mode, options, err);
}

kz_status kz_correlate(kz_array **out, kz_array *a, kz_array *b, kz_convolve_mode mode,
	const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct convolution job = {.name = "correlate", .is_correlation = true, .a = a, .b = b};
	return convolve_run(out, &job, mode, options, err);
}

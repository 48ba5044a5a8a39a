/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and correlations of sequences, as products of their spectra.
 *
 * Sequences of n and m elements have n + m - 1 sums.  The spectra are those of at least so many, the
 * next length without primes above 5.  A correlation is a convolution with the reversed conjugate.
 */
#include "base/common.h"

#include "array/array.h"
#include "array/shape.h"
#include "core/object.h"
#include "ops/elementwise.h"

#include <kudzu/fft.h>
#include <kudzu/view.h>

struct convolution {
	const char *name;
	bool is_correlation;
	struct kz_array *a, *b;
	bool is_complex;
	int64_t first, count;  /* what the mode keeps of all sums */
	int64_t length;        /* of the spectra */
	struct kz_array *into;
	struct kz_stream *stream;
};

static int64_t convolve_length(int64_t least)
{
	for (int64_t length = least;; length++) {
		int64_t left = length;
		for (int64_t prime = 2; prime <= 5; prime++) {
			while (left % prime == 0) {
				left /= prime;
			}
		}
		if (left == 1) {
			return length;
		}
	}
}

/* numpy puts the longer sequence first.  A correlation is reversed then, so that of two halves of an
 * even number the other one is left out. */
static kz_status convolve_choose(struct convolution *job, kz_convolve_mode mode, kz_error *err)
{
	int64_t n = job->a->count, m = job->b->count, small = min64(n, m), all = n + m - 1;
	int64_t large = n + m - small;
	job->length = convolve_length(all);
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
	return error_set(err, KZ_INVALID, "%s: mode %d is none", job->name, (int)mode);
}

static kz_status convolve_check(struct convolution *job, const struct kz_array *array, kz_error *err)
{
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	if (st) {
		return st;
	}
	if (array->shape.ndim != 1 || array->count == 0) {
		return error_set(err, KZ_INVALID, "%s: expected sequences of at least one element, got "
			"shape %s", job->name, shape_text(&array->shape).text);
	}
	if (array->dtype >= DTYPE_BUILTIN) {
		return error_set(err, KZ_INVALID, "%s: expected numbers, got %s", job->name,
			kz_dtype_name(array->dtype));
	}
	job->is_complex = job->is_complex || dtype_is_complex(array->dtype);
	return KZ_OK;
}

/* The second sequence of a correlation. */
static kz_status convolve_reverse(struct kz_array **out, const struct convolution *job, kz_error *err)
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

/* All sums, and what lies behind them. */
static kz_status convolve_all(struct kz_array **out, const struct convolution *job,
	struct kz_array *second, kz_error *err)
{
	struct kz_array *spectra[2] = {NULL, NULL}, *product = NULL;
	kz_fft_options options = KZ_FFT_OPTIONS_INIT;
	kz_op_options multiply = KZ_OP_OPTIONS_INIT;
	kz_status st;
	options.stream = multiply.stream = job->stream;
	options.lengths = KZ_SHAPE(job->length);
	if (!(st = (job->is_complex ? kz_fft : kz_rfft)(&spectra[0], job->a, KZ_AXES(0), &options, err))
	    && !(st = (job->is_complex ? kz_fft : kz_rfft)(&spectra[1], second, KZ_AXES(0), &options,
			err))
	    && !(st = kz_apply(&product, KZ_OP_MULTIPLY, &multiply, err,
			KZ_ARGS(spectra[0], spectra[1])))) {
		st = (job->is_complex ? kz_ifft : kz_irfft)(out, product, KZ_AXES(0), &options, err);
	}
	kz_array_release(spectra[0]);
	kz_array_release(spectra[1]);
	kz_array_release(product);
	return st;
}

static kz_status convolve_run(kz_array **out, struct convolution *job, kz_convolve_mode mode,
	const kz_op_options *given, kz_error *err)
{
	struct elementwise how = {.into = NULL};
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	struct kz_array *second = NULL, *all = NULL, *part = NULL;
	kz_status st;
	if (out) {
		*out = NULL;
	}
	if ((st = convolve_check(job, job->a, err)) || (st = convolve_check(job, job->b, err))
	    || (st = array_same_device(job->name, job->a, job->b, err))
	    || (st = elementwise_options(&how, &options.dtype, given, err))
	    || (st = convolve_choose(job, mode, err))) {
		return st;
	}
	if (!out && !how.into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", job->name);
	}
	options.into = how.into;
	options.stream = job->stream = how.stream;
	st = job->is_correlation ? convolve_reverse(&second, job, err) : KZ_OK;
	st = st ? st : convolve_all(&all, job, second ? second : job->b, err);
	if (!st && !(st = kz_array_slice(&part, all,
			KZ_AT(KZ_SLICE(job->first, job->first + job->count)), err))) {
		st = kz_apply(out, KZ_OP_POSITIVE, &options, err, KZ_ARGS(part));
	}
	kz_array_release(second);
	kz_array_release(all);
	kz_array_release(part);
	return st;
}

kz_status kz_convolve(kz_array **out, kz_array *a, kz_array *b, kz_convolve_mode mode,
	const kz_op_options *options, kz_error *err)
{
	struct convolution job = {.name = "convolve", .a = a, .b = b};
	return convolve_run(out, &job, mode, options, err);
}

kz_status kz_correlate(kz_array **out, kz_array *a, kz_array *b, kz_convolve_mode mode,
	const kz_op_options *options, kz_error *err)
{
	struct convolution job = {.name = "correlate", .is_correlation = true, .a = a, .b = b};
	return convolve_run(out, &job, mode, options, err);
}

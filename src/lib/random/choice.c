/* SPDX-License-Identifier: MIT */
/*
 * Permutations and samples.
 *
 * A permutation is the order of random keys.  The keys have 63 bits, so that two of n keys are
 * equal with a probability below n^2 / 2^64, and only then the order of these two is not random.  A
 * sample without replacement is the beginning of one.  With weights the keys are exponential
 * numbers over the weights (Efraimidis, Spirakis, "Weighted random sampling with a reservoir",
 * 2006).
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/core/object.h"
#include "lib/order/sort.h"
#include "lib/ops/device_code.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/kernels.h"
#include "lib/random/generator.h"

#include <kudzu/indexing.h>
#include <kudzu/reduce.h>
#include <kudzu/scan.h>

#include <math.h>

/* The indexes that sort an array of keys; the first `count` of them, without the memory of the
 * others. */
static kz_status choice_order(kz_array **out, struct kz_array *keys, int64_t count,
	struct kz_stream *stream, kz_error *err)
{
	kz_sort_options options = KZ_SORT_OPTIONS_INIT;
	struct kz_array *order = NULL, *part = NULL;
	options.stream = stream;
	kz_status st = kz_argsort(&order, keys, 0, &options, err);
	if (!st && count == order->count) {
		*out = order;
		return KZ_OK;
	}
	if (!st && !(st = kz_array_slice(&part, order, KZ_AT(KZ_SLICE(0, count, 1)), err))) {
		st = kz_array_copy_on(out, part, stream, err);
	}
	kz_array_release(part);
	kz_array_release(order);
	return st;
}

/* Check that numbers are random, and not points of a sequence. */
static kz_status choice_check_generator(const struct kz_random *rng, kz_error *err)
{
	kz_status st = object_check(rng, OBJECT_RANDOM, err);
	return st || !generator_is_quasi(rng) ? st : error_set(err, KZ_UNSUPPORTED,
		"the points of a Sobol sequence have no random order");
}

/* `count` of the numbers below n, each once, in random order. */
static kz_status choice_distinct(kz_array **out, kz_random *rng, int64_t n, int64_t count,
	kz_stream *stream, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = stream};
	struct kz_array *keys = NULL;
	kz_status st = kz_random_integers(&keys, rng, KZ_I64, KZ_SHAPE(n), 0, INT64_MAX, &options,
		err);
	st = st ? st : choice_order(out, keys, count, stream, err);
	kz_array_release(keys);
	return st;
}

kz_status kz_random_permutation(kz_array **out, kz_random *rng, int64_t count, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : choice_check_generator(rng, err);
	return st ? st : choice_distinct(out, rng, count, count, stream, err);
}

kz_status kz_random_shuffle(kz_array *array, kz_random *rng, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct kz_array *order = NULL, *shuffled = NULL;
	kz_status st;
	if ((st = object_check(array, OBJECT_ARRAY, err))
	    || (st = choice_check_generator(rng, err))
	    || (st = stream_pick(&stream, array_device(array), stream, err))) {
		return st;
	}
	if (!array->shape.ndim) {
		return error_set(err, KZ_INVALID, "kz_random_shuffle: a 0-d array has no rows");
	}
	if (!(st = choice_distinct(&order, rng, array->shape.dims[0], array->shape.dims[0], stream,
		err))
	    && !(st = kz_array_take_on(&shuffled, array, order, 0, KZ_INDEX_WRAP, stream, err))) {
		st = kz_array_assign_on(array, shuffled, stream, err);
	}
	kz_array_release(order);
	kz_array_release(shuffled);
	return st;
}

/* Choices */

struct choice {
	struct kz_random *rng;
	int64_t n;                /* of what is chosen */
	int64_t count;            /* how often */
	struct kz_array *weights; /* n, float64 without gaps; NULL: all alike */
	struct kz_stream *stream;
};

/* Check weights; it waits for them. */
static kz_status choice_check_weights(const struct choice *choice, int replace, kz_error *err)
{
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	double least = 0, sum = 0;
	int64_t nonzero = 0;
	kz_status st;
	options.stream = choice->stream;
	if (!choice->n) {
		return KZ_OK;
	}
	if ((st = kz_reduce_get_as(&least, KZ_F64, KZ_REDUCE_MIN, choice->weights, &options,
		err))
	    || (st = kz_reduce_get_as(&sum, KZ_F64, KZ_REDUCE_SUM, choice->weights, &options,
		err))
	    || (st = kz_reduce_get_as(&nonzero, KZ_I64, KZ_REDUCE_COUNT_NONZERO,
		choice->weights, &options, err))) {
		return st;
	}
	if (!(least >= 0) || !isfinite(sum)) {
		return error_set(err, KZ_INVALID, "kz_random_choice: expected finite weights of at "
			"least 0 with a finite sum, got %.17g as the least and %.17g as the sum",
			least, sum);
	}
	if (choice->count > (replace ? nonzero > 0 ? INT64_MAX : 0 : nonzero)) {
		return error_set(err, KZ_INVALID, "kz_random_choice: expected at most as many "
			"choices as weights above 0, got %lld choices and %lld weights",
			(long long)choice->count, (long long)nonzero);
	}
	return KZ_OK;
}

/* With weights and replacement: a search in the running sums. */

static void choice_write_source(struct str *source, const void *context)
{
	(void)context;
	str_add(source, "#line 1 \"choice.cuh\"\n");
	str_add(source, device_choice);
}

static const struct kernel_family choice_family = {
	"choice", choice_write_source, {
		[SCHEDULE_MANY] = {.threads = 256, .each = 4},
		[SCHEDULE_ONE] = {.threads = 1, .each = 1024},
	},
};

static kz_status choice_launch(struct kz_array *to, struct kz_array *numbers, struct kz_array *sums,
	struct kz_stream *stream, kz_error *err)
{
	const struct schedule *schedule = schedule_of(choice_family.schedules, stream->device);
	CUdeviceptr address[3] = {array_address(to), array_address(numbers), array_address(sums)};
	void *params[] = {&address[0], &address[1], &to->count, &address[2], &sums->count};
	struct kz_array *const arrays[] = {to, numbers, sums};
	const struct kernels_run run = {
		.want = {&choice_family, "", 0}, .stream = stream, .params = params,
		.grid = kz_dim(divide_up(to->count, schedule->threads * schedule->each), 1, 1),
		.arrays = arrays, .array_count = countof(arrays),
	};
	return to->count ? kernels_run(&run, err) : KZ_OK;
}

static kz_status choice_search(kz_array **out, const struct choice *choice, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = choice->stream};
	const kz_shape shape = KZ_SHAPE(choice->count);
	struct kz_array *numbers = NULL, *sums = NULL, *made = NULL;
	kz_status st;
	if ((st = kz_random_draw(&numbers, choice->rng, KZ_RANDOM_UNIFORM, KZ_F64, shape, 0, 1,
		&options, err))
	    || (st = kz_cumsum_on(&sums, choice->weights, 0, choice->stream, err))
	    || (st = array_create_on(&made, array_device(numbers), KZ_I64, &shape, choice->stream,
		err))) {
		goto done;
	}
	st = array_finish(out, made, choice_launch(made, numbers, sums, choice->stream, err));
done:
	kz_array_release(numbers);
	kz_array_release(sums);
	return st;
}

/* With weights, without replacement: the least of exponential numbers over their weights. */
static kz_status choice_weigh(kz_array **out, const struct choice *choice, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = choice->stream};
	struct kz_array *numbers = NULL, *keys = NULL;
	kz_status st = kz_random_draw(&numbers, choice->rng, KZ_RANDOM_EXPONENTIAL, KZ_F64,
		KZ_SHAPE(choice->n), 1, 0, &options, err);
	if (!st && !(st = kz_apply(&keys, KZ_OP_DIVIDE, &options, err,
			KZ_ARGS(numbers, choice->weights)))) {
		st = choice_order(out, keys, choice->count, choice->stream, err);
	}
	kz_array_release(numbers);
	kz_array_release(keys);
	return st;
}

static kz_status choice_run(kz_array **out, const struct choice *choice, int replace, kz_error *err)
{
	const kz_op_options options = {.size = sizeof(options), .stream = choice->stream};
	if (choice->weights) {
		return replace ? choice_search(out, choice, err) : choice_weigh(out, choice, err);
	}
	if (replace && choice->n) {
		return kz_random_integers(out, choice->rng, KZ_I64, KZ_SHAPE(choice->count), 0,
			choice->n, &options, err);
	}
	return choice_distinct(out, choice->rng, choice->n, choice->count, choice->stream, err);
}

kz_status kz_random_choice(kz_array **out, kz_random *rng, int64_t n, int64_t count, int replace,
	kz_array *weights, kz_stream *stream, kz_error *err)
{
	error_scope(err);
	struct choice choice = {rng, n, count, NULL, stream};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = choice_check_generator(rng, err))
	    || (weights && (st = object_check(weights, OBJECT_ARRAY, err)))) {
		return st;
	}
	if (n < 0 || count < 0 || (!replace && count > n) || (count && !n)) {
		return error_set(err, KZ_INVALID, "kz_random_choice: cannot choose %lld of %lld %s",
			(long long)count, (long long)n, replace ? "with replacement"
			: "without replacement");
	}
	if (weights && (weights->shape.ndim != 1 || weights->count != n
		|| !kz_dtype_can_cast(weights->dtype, KZ_F64))) {
		return error_set(err, KZ_INVALID, "kz_random_choice: expected %lld real numbers as "
			"weights, got %s of shape %s", (long long)n, dtype_refused(weights->dtype),
			shape_text(&weights->shape).text);
	}
	if (weights && ((st = stream_pick(&choice.stream, array_device(weights), stream, err))
		|| (st = elementwise_contiguous(&choice.weights, weights, KZ_F64, choice.stream,
			err))
		|| (st = choice_check_weights(&choice, replace, err)))) {
		goto done;
	}
	st = choice_run(out, &choice, replace, err);
done:
	kz_array_release(choice.weights);
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * The reductions: each is an expression, an operation that combines its values, and a last step.
 *
 * So a count is a sum of bools, and a norm the root of a sum of squares.  A variance is two
 * reductions: the mean, and the mean of squared distances from it.  Nothing is stored in between.
 * reduce_pass.c does the rest.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/reduce.h"
#include "lib/array/overlap.h"
#include "lib/array/shape.h"

#include <kudzu/reduce.h>

#include <math.h>
#include <string.h>

/* What elements become. */
enum kind {
	TOTAL,    /* the options' dtype, or a wide integer */
	MEAN,     /* the options' dtype, or float64 from integers */
	EXTREME,  /* what they are, but for complex numbers */
	TRUTH,    /* bool */
	COUNT,    /* bool as int64 */
	SQUARES,  /* as for MEAN, then |x|^2 */
	VARIANCE  /* the same, from the mean */
};

static const struct known {
	const char *name;
	enum kind kind;
	kz_op combine;
	enum reduce_finish finish;
	bool position;
	bool skips_nan;
	double empty; /* the result for no elements; infinite: there is none */
} known[] = {
	[KZ_REDUCE_SUM] = {"sum", TOTAL, KZ_OP_ADD, REDUCE_AS_IS, false, false, 0},
	[KZ_REDUCE_PROD] = {"prod", TOTAL, KZ_OP_MULTIPLY, REDUCE_AS_IS, false, false, 1},
	[KZ_REDUCE_MIN] = {"min", EXTREME, KZ_OP_MINIMUM, REDUCE_AS_IS, false, false, INFINITY},
	[KZ_REDUCE_MAX] = {"max", EXTREME, KZ_OP_MAXIMUM, REDUCE_AS_IS, false, false, INFINITY},
	[KZ_REDUCE_ARGMIN] = {"argmin", EXTREME, KZ_OP_MINIMUM, REDUCE_AS_IS, true, false,
		INFINITY},
	[KZ_REDUCE_ARGMAX] = {"argmax", EXTREME, KZ_OP_MAXIMUM, REDUCE_AS_IS, true, false,
		INFINITY},
	[KZ_REDUCE_ANY] = {"any", TRUTH, KZ_OP_LOGICAL_OR, REDUCE_AS_IS, false, false, 0},
	[KZ_REDUCE_ALL] = {"all", TRUTH, KZ_OP_LOGICAL_AND, REDUCE_AS_IS, false, false, 1},
	[KZ_REDUCE_MEAN] = {"mean", MEAN, KZ_OP_ADD, REDUCE_QUOTIENT, false, false, NAN},
	[KZ_REDUCE_VAR] = {"var", VARIANCE, KZ_OP_ADD, REDUCE_QUOTIENT, false, false, NAN},
	[KZ_REDUCE_STD] = {"std", VARIANCE, KZ_OP_ADD, REDUCE_ROOT_QUOTIENT, false, false, NAN},
	[KZ_REDUCE_NORM] = {"norm", SQUARES, KZ_OP_ADD, REDUCE_ROOT, false, false, 0},
	[KZ_REDUCE_COUNT_NONZERO] = {"count_nonzero", COUNT, KZ_OP_ADD, REDUCE_AS_IS, false, false,
		0},
	[KZ_REDUCE_NANSUM] = {"nansum", TOTAL, KZ_OP_ADD, REDUCE_AS_IS, false, true, 0},
	[KZ_REDUCE_NANPROD] = {"nanprod", TOTAL, KZ_OP_MULTIPLY, REDUCE_AS_IS, false, true, 1},
	[KZ_REDUCE_NANMIN] = {"nanmin", EXTREME, KZ_OP_FMIN, REDUCE_AS_IS, false, false, INFINITY},
	[KZ_REDUCE_NANMAX] = {"nanmax", EXTREME, KZ_OP_FMAX, REDUCE_AS_IS, false, false, INFINITY},
};

const char *kz_reduce_name(kz_reduce_op op)
{
	return (int)op > 0 && (size_t)op < countof(known) ? known[op].name : NULL;
}

/* One call.  The struct is large, and little of it is used: reduce_init_job clears what comes
 * before the shape; reduce_start() and reduce_prepare() set the rest. */
struct job {
	const struct known *known;
	struct kz_device *device;
	struct kz_stream *stream;
	struct kz_array *into;
	void *slot;          /* pinned memory for the result; NULL: it is an array as others are */
	kz_dtype dtype;      /* the options', or 0 */
	double ddof;
	kz_shape shape;      /* of the elements */
	uint32_t axes;
	kz_shape kept;       /* of the result */
	int64_t count;       /* elements for each result */
	struct expr expr;
	struct reduce reduce;
};

static void reduce_init_job(struct job *job, const struct known *operation)
{
	memset(job, 0, offsetof(struct job, shape));
	job->known = operation;
}

/* Types */

/* The type that elements become, with the options' say. */
static kz_status reduce_find_dtype(kz_dtype *out, const struct job *job, kz_dtype dtype,
	kz_error *err)
{
	enum kind kind = job->known->kind;
	bool may_choose = kind == TOTAL || kind == MEAN || kind == SQUARES || kind == VARIANCE;
	if (kind == EXTREME ? !dtype_is_real(dtype) : !dtype_is_number(dtype)) {
		return error_set(err, KZ_INVALID, "%s does not take %s", job->known->name,
			dtype_refused(dtype));
	}
	bool fits = kind == TOTAL ? dtype_is_number(job->dtype) : dtype_is_inexact(job->dtype);
	if (job->dtype && !(may_choose && fits)) {
		return error_set(err, KZ_INVALID, "%s cannot have dtype %s", job->known->name,
			dtype_refused(job->dtype));
	}
	*out = job->dtype ? job->dtype : kind == TOTAL ? dtype_total(dtype)
		: may_choose && dtype_is_exact(dtype) ? KZ_F64 : dtype;
	return KZ_OK;
}

/* Expressions.  Each step returns a node, or -1 after a failure. */

static int reduce_apply(struct expr *expr, kz_op op, int a, int b, kz_error *err)
{
	const int nodes[2] = {a, b};
	return a < 0 || b < 0 ? -1 : expr_apply(expr, op, nodes, err);
}

static int reduce_cast(struct expr *expr, int node, kz_dtype dtype, kz_error *err)
{
	return node < 0 ? -1 : expr_cast(expr, node, dtype, err);
}

/* |x|^2, in floats if x is a half. */
static int reduce_add_square(struct expr *expr, int node, kz_dtype dtype, kz_error *err)
{
	if (!dtype_is_complex(dtype)) {
		return reduce_apply(expr, KZ_OP_MULTIPLY, node, node, err);
	}
	int conjugate = reduce_apply(expr, KZ_OP_CONJUGATE, node, 0, err);
	return reduce_apply(expr, KZ_OP_REAL,
		reduce_apply(expr, KZ_OP_MULTIPLY, node, conjugate, err), 0, err);
}

/* x, or `instead` where it is NaN. */
static int reduce_replace_nan(struct expr *expr, int node, int64_t instead, kz_error *err)
{
	int test = reduce_apply(expr, KZ_OP_ISNAN, node, 0, err);
	int other = test < 0 ? -1 : expr_int(expr, instead, err);
	const int nodes[3] = {test, other, node};
	return other < 0 ? -1 : expr_apply(expr, KZ_OP_WHERE, nodes, err);
}

/* The elements as `dtype`, halves as floats where something is computed before they are added. */
static int reduce_add_elements(struct job *job, struct kz_array *array, kz_dtype dtype,
	kz_error *err)
{
	struct expr *expr = &job->expr;
	const struct known *k = job->known;
	int node = expr_array(expr, array, err);
	switch (k->kind) {
	case TRUTH:
		return reduce_cast(expr, node, KZ_BOOL, err);
	case COUNT:
		return reduce_cast(expr, reduce_cast(expr, node, KZ_BOOL, err), KZ_I64, err);
	case SQUARES:
		node = reduce_cast(expr, node, dtype_wide(dtype), err);
		return reduce_add_square(expr, node, dtype, err);
	case VARIANCE:
		return reduce_cast(expr, node, dtype_wide(dtype), err);
	case TOTAL:
	case MEAN:
	case EXTREME:
		break;
	}
	node = reduce_cast(expr, node, dtype, err);
	return k->skips_nan && dtype_is_inexact(dtype) && node >= 0
		? reduce_replace_nan(expr, node, (int64_t)k->empty, err) : node;
}

/* The result */

static void reduce_find_kept(struct job *job, bool keepdims)
{
	job->count = 1;
	job->kept.ndim = 0;
	for (int64_t i = 0; i < job->shape.ndim; i++) {
		bool reduced = job->axes >> i & 1;
		job->count *= reduced ? job->shape.dims[i] : 1;
		if (!reduced || keepdims) {
			job->kept.dims[job->kept.ndim++] = reduced ? 1 : job->shape.dims[i];
		}
	}
}

static kz_status reduce_check_into(const struct job *job, kz_dtype dtype, kz_error *err)
{
	const struct kz_array *into = job->into;
	if (!shape_equal(&job->kept, &into->shape)) {
		return error_set(err, KZ_INVALID, "%s gives shape %s, which does not fit into %s",
			job->reduce.name, shape_text(&job->kept).text,
			shape_text(&into->shape).text);
	}
	if (!kz_dtype_can_cast(dtype, into->dtype)) {
		return error_set(err, KZ_INVALID, "%s gives %s, which does not fit into %s",
			job->reduce.name, dtype_refused(dtype), dtype_refused(into->dtype));
	}
	if (kz_array_is_contiguous(into)) {
		return KZ_OK;
	}
	const struct strided elements = array_elements(into);
	return strided_distinct(&elements, "an array", err);
}

static bool reduce_shares_memory(const struct job *job)
{
	const struct expr *expr = job->reduce.expr;
	for (int i = 0; i < expr->array_count; i++) {
		if (overlap_memory(expr->arrays[i], job->into)) {
			return true;
		}
	}
	return false;
}

/* One number everywhere. */
static kz_status reduce_fill(struct kz_array *target, double value, struct kz_stream *stream,
	kz_error *err)
{
	struct expr expr;
	struct elementwise how = {.into = target, .stream = stream};
	expr_init(&expr);
	int node = isnan(value) ? expr_float(&expr, value, err)
		: expr_int(&expr, (int64_t)value, err);
	return node < 0 ? KZ_INVALID : elementwise_run(NULL, &expr, &how, err);
}

static kz_status reduce_assign(struct kz_array *to, struct kz_array *from, struct kz_stream *stream,
	kz_error *err)
{
	struct expr expr;
	struct elementwise how = {.into = to, .stream = stream};
	expr_init(&expr);
	return expr_array(&expr, from, err) < 0 ? KZ_INVALID
		: elementwise_run(NULL, &expr, &how, err);
}

/* Run what was prepared into an array of the rule's dtype. */
static kz_status reduce_run_into(struct kz_array *target, struct job *job, kz_error *err)
{
	if (target->count == 0) {
		return KZ_OK;
	}
	return job->count == 0 ? reduce_fill(target, job->known->empty, job->stream, err)
		: reduce_run(target, &job->reduce, &job->shape, err);
}

static kz_status reduce_create_result(kz_array **out, const struct job *job, kz_dtype dtype,
	kz_error *err)
{
	if (!job->slot) {
		return array_create_on(out, job->device, dtype, &job->kept, job->stream, err);
	}
	struct memory *memory;
	struct kz_buffer *buffer = NULL;
	kz_status st = memory_wrap(&memory, job->device, MEMPOOL_DEVICE, (uintptr_t)job->slot,
		kz_dtype_size(dtype), err);
	if (st) {
		return st;
	}
	if ((st = buffer_take(&buffer, memory, 0, memory->size, err))) {
		memory_release(memory);
		return st;
	}
	st = kz_array_wrap(out, buffer, dtype, job->kept, NULL, 0, err);
	buffer_release(buffer);
	return st;
}

/* The end of every reduction: into a new array, or one of the caller's. */
static kz_status reduce_hand_out(kz_array **out, struct job *job, kz_error *err)
{
	struct kz_array *target = NULL;
	kz_dtype dtype = job->reduce.rule.dtype;
	kz_status st = job->into ? reduce_check_into(job, dtype, err) : KZ_OK;
	if (st) {
		return st;
	}
	if (job->into && job->into->dtype == dtype && !reduce_shares_memory(job)) {
		target = kz_array_retain(job->into);
	} else if ((st = reduce_create_result(&target, job, dtype, err))) {
		return st;
	}
	st = reduce_run_into(target, job, err);
	if (!st && job->into && target != job->into) {
		st = reduce_assign(job->into, target, job->stream, err);
		kz_array_release(target);
		target = st ? NULL : kz_array_retain(job->into);
	}
	if (st || !out) {
		kz_array_release(target);
		return st;
	}
	*out = target;
	return KZ_OK;
}

kz_status reduce_sum_to(kz_array **out, const struct reduce *reduce, const kz_shape *shape,
	const struct reduce_end *end, kz_error *err)
{
	struct job job;
	reduce_init_job(&job, &known[KZ_REDUCE_SUM]);
	job.device = array_device(reduce->expr->arrays[0]);
	job.stream = reduce->stream;
	job.into = end->into;
	job.slot = end->slot;
	job.shape = *shape;
	job.axes = reduce->axes;
	job.reduce = *reduce;
	reduce_find_kept(&job, end->keepdims);
	return reduce_hand_out(out, &job, err);
}

static void reduce_prepare(struct job *job, kz_dtype dtype)
{
	const struct known *k = job->known;
	job->reduce = (struct reduce){
		.name = k->name, .expr = &job->expr, .axes = job->axes, .stream = job->stream,
		.number = (double)job->count,
		.rule = {k->combine, k->finish, k->position, dtype},
	};
}

/* Variances: first the mean, as an array that broadcasts against the elements. */

static kz_status reduce_find_mean(struct kz_array **out, struct job *job, kz_error *err)
{
	kz_shape kept = job->shape;
	kz_dtype dtype = expr_dtype(&job->expr);
	for (int64_t i = 0; i < kept.ndim; i++) {
		kept.dims[i] = job->axes >> i & 1 ? 1 : kept.dims[i];
	}
	reduce_prepare(job, dtype);
	job->reduce.rule.finish = REDUCE_QUOTIENT;
	kz_status st = array_create_on(out, job->device, dtype, &kept, job->stream, err);
	return st ? st : reduce_run_into(*out, job, err);
}

static kz_status reduce_run_variance(kz_array **out, struct job *job, kz_dtype dtype, kz_error *err)
{
	struct kz_array *mean = NULL;
	struct expr *expr = &job->expr;
	int elements = expr->node_count - 1;
	kz_status st = reduce_find_mean(&mean, job, err);
	if (!st) {
		int node = expr_array(expr, mean, err);
		node = reduce_apply(expr, KZ_OP_SUBTRACT, elements, node, err);
		st = reduce_add_square(expr, node, dtype, err) < 0 ? KZ_INVALID : KZ_OK;
	}
	if (!st) {
		reduce_prepare(job, dtype_part(dtype));
		job->reduce.number = fmax((double)job->count - job->ddof, 0);
		st = reduce_hand_out(out, job, err);
	}
	kz_array_release(mean);
	return st;
}

/* Public functions */

static kz_status reduce_read_options(struct job *job, const kz_reduce_options *options,
	kz_error *err)
{
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_reduce_options", options->size, sizeof(*options), err);
	}
	if (options->dtype && !kz_dtype_size(options->dtype)) {
		return error_set(err, KZ_INVALID, "%u is not a dtype", (unsigned)options->dtype);
	}
	job->into = options->into;
	job->stream = options->stream;
	job->dtype = options->dtype;
	job->ddof = options->ddof;
	return KZ_OK;
}

/* Begin a reduction of a shape, on the device of an array: settle its axes and its stream, and the
 * shape of the result. */
static kz_status reduce_start(struct job *job, kz_array *array, kz_axes axes, bool keepdims,
	kz_error *err)
{
	kz_status st;
	job->device = kz_array_device(array);
	if ((st = axes_resolve(&axes, &job->axes, &job->shape, err))
	    || (job->into && (st = array_same_device(job->known->name, array, job->into, err)))
	    || (st = stream_pick(&job->stream, job->device, job->stream, err))) {
		return st;
	}
	reduce_find_kept(job, keepdims);
	expr_init(&job->expr);
	if (job->count == 0 && isinf(job->known->empty)) {
		return error_set(err, KZ_INVALID, "%s needs at least one element, got shape %s",
			job->known->name, shape_text(&job->shape).text);
	}
	return KZ_OK;
}

static kz_status reduce_check_op(kz_reduce_op op, kz_error *err)
{
	return kz_reduce_name(op) ? KZ_OK
		: error_set(err, KZ_INVALID, "%d is not a kz_reduce_op", (int)op);
}

/* The call of a public function; `job` was initialized. */
static kz_status reduce_along(kz_array **out, struct job *job, kz_array *array, kz_axes axes,
	const kz_reduce_options *options, kz_error *err)
{
	kz_dtype dtype = 0;
	kz_status st = KZ_OK;
	if (options && (st = reduce_read_options(job, options, err))) {
		return st;
	}
	if (!out && !job->into) {
		return error_set(err, KZ_INVALID, "kz_reduce: out is NULL");
	}
	if ((st = object_check(array, OBJECT_ARRAY, err))) {
		return st;
	}
	job->shape = array->shape;
	if ((st = reduce_start(job, array, axes, options && options->keepdims, err))
	    || (st = reduce_find_dtype(&dtype, job, array->dtype, err))) {
		return st;
	}
	if (reduce_add_elements(job, array, dtype, err) < 0) {
		return KZ_INVALID;
	}
	const enum kind kind = job->known->kind;
	if (kind == VARIANCE) {
		return reduce_run_variance(out, job, dtype, err);
	}
	reduce_prepare(job, job->known->position ? KZ_I64 : kind == SQUARES ? dtype_part(dtype)
		: kind == TRUTH || kind == COUNT ? expr_dtype(&job->expr) : dtype);
	return reduce_hand_out(out, job, err);
}

kz_status kz_reduce(kz_array **out, kz_reduce_op op, kz_array *array, kz_axes axes,
	const kz_reduce_options *options, kz_error *err)
{
	const char *name = kz_reduce_name(op);
	error_scope_of(err, name ? name : __func__);
	out_clear(out, sizeof(*out), name);
	kz_status st = reduce_check_op(op, err);
	if (st) {
		return st;
	}
	struct job job;
	reduce_init_job(&job, &known[op]);
	return reduce_along(out, &job, array, axes, options, err);
}

/* Wait for a result that is in the slot. */
static kz_status reduce_wait_for(const struct kz_array *result, kz_error *err)
{
	struct kz_stream *stream = memory_stream(result->buffer->memory);
	kz_status st = kz_stream_synchronize(stream, err);
	stream_release(stream);
	return st;
}

/* The result of a reduction goes to the host, from the slot if it is there. */
kz_status reduce_take(void *host, int64_t size, kz_array *result, const void *slot, kz_error *err)
{
	kz_status st = array_check_host(host, size, 1, result->dtype, err);
	if (!slot) {
		return st ? st : kz_array_get(result, host, size, err);
	}
	kz_status waited = reduce_wait_for(result, st ? NULL
		: err); /* the next one is to find the slot at
	                                                         rest */
	st = st ? st : waited;
	if (!st) {
		memcpy(host, slot, (size_t)size);
	}
	return st;
}

enum { REDUCE_MOST = 16 }; /* bytes of a number */

/* Reduce all elements to a number of the dtype *found in host memory. */
static kz_status reduce_to_host(void *host, kz_dtype *found, kz_reduce_op op, kz_array *array,
	const kz_reduce_options *options, kz_error *err)
{
	struct kz_array *result = NULL;
	struct job job;
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	st = st ? st : reduce_check_op(op, err);
	if (st || (options && options->size == sizeof(*options) && options->into)) {
		return st ? st : error_set(err, KZ_INVALID, "the result goes to the host, not "
			"into an array");
	}
	struct kz_device *dev = array_device(array);
	const struct kz_stream *stream = options && options->size == sizeof(*options)
		&& options->stream ? options->stream : &dev->stream;
	if ((st = stream_check_free(stream, err))
	    || (st = array_check_capture(array, err))) {
		return st;
	}
	void *slot = pinned_take_slot(dev, host, REDUCE_MOST);
	reduce_init_job(&job, &known[op]);
	job.slot = slot;
	st = reduce_along(&result, &job, array, KZ_ALL_AXES, options, err);
	if (!st && result) {
		*found = result->dtype;
		st = reduce_take(host, kz_dtype_size(*found), result, slot, err);
	}
	if (slot) {
		pinned_put_slot(dev, slot);
	}
	kz_array_release(result);
	return st;
}

kz_status kz_reduce_get_as(void *out, kz_dtype dtype, kz_reduce_op op, kz_array *array,
	const kz_reduce_options *options, kz_error *err)
{
	error_scope(err);
	uint64_t raw[REDUCE_MOST / 8] = {0};
	kz_dtype found = 0;
	kz_status st = pointer_check(out, "host memory", err);
	st = st ? st : reduce_to_host(raw, &found, op, array, options, err);
	return st ? st : array_take_number(out, dtype, raw, found, err);
}

/* Sums of products */

static kz_status reduce_add_products(struct job *job, const struct reduce_products *products,
	kz_dtype dtype, kz_error *err)
{
	struct expr *expr = &job->expr;
	kz_dtype computed = dtype_wide(dtype);
	int first = reduce_cast(expr, expr_array(expr, products->a, err), computed, err);
	int second = first < 0 ? -1
		: reduce_cast(expr, expr_array(expr, products->b, err), computed, err);
	if (products->conjugate && dtype_is_complex(dtype)) {
		first = reduce_apply(expr, KZ_OP_CONJUGATE, first, 0, err);
	}
	return reduce_apply(expr, KZ_OP_MULTIPLY, first, second, err) < 0 ? KZ_INVALID : KZ_OK;
}

kz_status reduce_products(kz_array **out, const struct reduce_products *products, kz_error *err)
{
	struct job job;
	struct known sum = known[KZ_REDUCE_SUM];
	kz_status st;
	sum.name = products->name;
	reduce_init_job(&job, &sum);
	job.into = products->into;
	job.stream = products->stream;
	job.dtype = products->dtype;
	job.shape = products->a->shape;
	if (!shape_equal(&job.shape, &products->b->shape)
	    && (st = shape_broadcast(&job.shape, job.shape, products->b->shape, err))) {
		return st;
	}
	if ((st = reduce_start(&job, products->a, products->axes, false, err))
	    || (st = reduce_add_products(&job, products, job.dtype, err))) {
		return st;
	}
	reduce_prepare(&job, job.dtype);
	return reduce_hand_out(out, &job, err);
}

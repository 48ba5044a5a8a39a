/* SPDX-License-Identifier: MIT */
/*
 * Random numbers on the device (kernels/philox.cuh).
 *
 * A number is a function of the seed and its position, so the kernel has no state, and any block of
 * any grid can compute it.  The kernel writes row-major elements without gaps of the type that is
 * drawn.  Any other target gets a copy of them.
 */
#include "base/common.h"

#include "array/array.h"
#include "ops/device_code.h"
#include "ops/elementwise.h"
#include "ops/kernels.h"
#include "array/shape.h"

#include <kudzu/random.h>

enum { CHUNK = 1024, BLOCK = 256 }; /* counters of a block, as in philox.cuh; threads */

enum random_rule { UNIFORM, NORMAL, INTEGERS };

static const char *const random_names[] = {"uniform", "normal", "integers"};

struct draw {
	enum random_rule rule;
	kz_dtype dtype;         /* what the kernel draws: float32, float64, int64 */
	kz_dtype wanted;        /* of the result */
	kz_shape shape;
	uint64_t seed;
	uint64_t offset;
	int64_t low;            /* and the numbers from there, for INTEGERS */
	uint64_t range;
	struct kz_device *device;
	struct kz_stream *stream;
};

/* The kernel */

struct wanted {
	enum random_rule rule;
	kz_dtype dtype;
	int serial;
};

/* Numbers of a counter. */
static int random_per(kz_dtype dtype)
{
	return dtype == KZ_F32 ? 4 : 2;
}

static void random_write_source(struct str *source, const void *context)
{
	static const char *const rules[] = {"UNIFORM", "NORMAL", "INTEGERS"};
	const struct wanted *wanted = context;
	str_addf(source, "#define KZ_%s\n#define KZ_PER %d\ntypedef %s kz_element;\n%s",
		rules[wanted->rule], random_per(wanted->dtype), kz_dtype_ctype(wanted->dtype),
		wanted->serial ? "#define KZ_SERIAL\n" : "");
	str_add(source, device_philox);
}

/* Fill an array of the drawn type without gaps. */
static kz_status random_fill(const struct draw *draw, struct kz_array *array, kz_error *err)
{
	struct wanted wanted = {draw->rule, draw->dtype, draw->device->serial};
	struct {
		char family[8];
		struct wanted wanted;
	} key = {"random", wanted};
	struct kernels_want want = {&key, sizeof(key), random_write_source, &wanted,
		random_names[draw->rule]};
	int per = random_per(draw->dtype);
	int skip = (int)(draw->offset % (uint64_t)per);
	uint64_t counter = draw->offset / (uint64_t)per;
	CUdeviceptr address = array_address(array);
	void *params[] = {&address, &array->count, (void *)&draw->seed, &counter, &skip,
		(void *)&draw->low, (void *)&draw->range};
	struct memory *used[1] = {array->buffer->memory};
	struct kernels_call call = {
		.stream = draw->stream, .params = params, .used = used, .used_count = 1,
		.grid = kz_dim(divide_up(array->count + skip, CHUNK * per), 1, 1),
		.block = kz_dim(draw->device->serial ? 1 : BLOCK, 1, 1),
	};
	if (array->count == 0) {
		return KZ_OK;
	}
	kz_status st = kernels_get(&call.kernel, draw->device, &want, err);
	return st ? st : kernels_launch(&call, err);
}

/* Results */

/* Where the numbers go; all is checked but that. */
static kz_status random_target(struct draw *draw, kz_device *dev,
	const struct elementwise *how, kz_error *err)
{
	const struct kz_array *into = how->into;
	draw->device = dev ? dev : into ? kz_array_device(into) : NULL;
	if (!draw->device) {
		return error_set(err, KZ_INVALID, "expected a device, got NULL");
	}
	if (into && kz_array_device(into) != draw->device) {
		return error_set(err, KZ_INVALID, "cannot draw on %s into an array on %s",
			draw->device->name, kz_array_device(into)->name);
	}
	if (into && !shape_equal(&into->shape, &draw->shape)) {
		return error_set(err, KZ_INVALID, "%s: shape %s does not go into %s",
			random_names[draw->rule], shape_text(&draw->shape).text,
			shape_text(&into->shape).text);
	}
	return stream_pick(&draw->stream, draw->device, how->stream, err);
}

static kz_status random_run(kz_array **out, struct draw *draw, const struct elementwise *how,
	kz_error *err)
{
	struct kz_array *drawn = NULL;
	struct expr expr;
	kz_status st;
	bool direct = how->into && how->into->dtype == draw->dtype
		&& draw->wanted == draw->dtype && array_is_contiguous(how->into);
	if (direct) {
		drawn = kz_array_retain(how->into);
	} else if ((st = array_create_on(&drawn, draw->device, draw->dtype, &draw->shape,
		draw->stream, err))) {
		return st;
	}
	st = drawn->count && draw->offset > UINT64_MAX - (uint64_t)drawn->count
		? error_set(err, KZ_RANGE, "%lld numbers from position %llu on go beyond 64 bits",
			(long long)drawn->count, (unsigned long long)draw->offset)
		: random_fill(draw, drawn, err);
	if (!st && !direct && (how->into || draw->wanted != draw->dtype)) {
		expr_init(&expr);
		int node = expr_array(&expr, drawn, err);
		st = node < 0 || expr_cast(&expr, node, draw->wanted, err) < 0 ? KZ_INVALID
			: elementwise_run(out, &expr, how, err);
	} else if (!st && out) {
		*out = kz_array_retain(drawn);
	}
	kz_array_release(drawn);
	return st;
}

/* Check that the type of the result can hold all of the integers. */
static kz_status random_check_fit(const struct draw *draw, kz_dtype dtype, kz_error *err)
{
	int bits = 8 * (int)kz_dtype_size(dtype);
	bool is_signed = dtype <= KZ_I64;
	int64_t last = (int64_t)((uint64_t)draw->low + draw->range - 1);
	int64_t most = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - is_signed)) - 1;
	int64_t least = is_signed ? -most - 1 : 0;
	if (draw->low >= least && last <= most) {
		return KZ_OK;
	}
	return error_set(err, KZ_RANGE, "%s does not hold all integers from %lld to %lld",
		kz_dtype_name(dtype), (long long)draw->low, (long long)last);
}

/* The types that a call names: its own, that of the options, that of the target. */
static kz_status random_draw(kz_array **out, struct draw *draw, kz_device *dev, kz_dtype dtype,
	const kz_op_options *options, kz_error *err)
{
	struct elementwise how = {.into = NULL};
	bool integers = draw->rule == INTEGERS;
	kz_dtype wanted;
	kz_status st;
	if (out) {
		*out = NULL;
	}
	if ((st = elementwise_options(&how, &wanted, options, err))
	    || (st = shape_check(&draw->shape, err))) {
		return st;
	}
	if (!out && !how.into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", random_names[draw->rule]);
	}
	kz_dtype into = how.into ? how.into->dtype : 0;
	bool fits = integers ? into && dtype_is_integer(into) : into == KZ_F32 || into == KZ_F64;
	dtype = dtype ? dtype : fits ? into : integers ? KZ_I64 : KZ_F32;
	if (integers ? !dtype_is_integer(dtype) : dtype != KZ_F32 && dtype != KZ_F64) {
		return error_set(err, KZ_INVALID, "%s: expected %s, got %s",
			random_names[draw->rule], integers ? "a dtype of integers"
			: "float32 or float64", kz_dtype_size(dtype) ? kz_dtype_name(dtype) : "none");
	}
	if (integers && (st = random_check_fit(draw, dtype, err))) {
		return st;
	}
	draw->dtype = integers ? KZ_I64 : dtype;
	draw->wanted = wanted ? wanted : dtype;
	st = random_target(draw, dev, &how, err);
	return st ? st : random_run(out, draw, &how, err);
}

kz_status kz_random_uniform(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	uint64_t seed, uint64_t offset, const kz_op_options *options, kz_error *err)
{
	struct draw draw = {.rule = UNIFORM, .shape = shape, .seed = seed, .offset = offset};
	return random_draw(out, &draw, dev, dtype, options, err);
}

kz_status kz_random_normal(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	uint64_t seed, uint64_t offset, const kz_op_options *options, kz_error *err)
{
	struct draw draw = {.rule = NORMAL, .shape = shape, .seed = seed, .offset = offset};
	return random_draw(out, &draw, dev, dtype, options, err);
}

kz_status kz_random_integers(kz_array **out, kz_device *dev, kz_dtype dtype, kz_shape shape,
	int64_t low, int64_t high, uint64_t seed, uint64_t offset, const kz_op_options *options,
	kz_error *err)
{
	struct draw draw = {.rule = INTEGERS, .shape = shape, .seed = seed, .offset = offset,
		.low = low, .range = (uint64_t)high - (uint64_t)low};
	if (high <= low) {
		if (out) {
			*out = NULL;
		}
		return error_set(err, KZ_INVALID, "expected integers from %lld to below a number "
			"above it, got %lld", (long long)low, (long long)high);
	}
	return random_draw(out, &draw, dev, dtype, options, err);
}

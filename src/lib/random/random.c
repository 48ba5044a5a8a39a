/* SPDX-License-Identifier: MIT */
/*
 * Random numbers on the device (kernels/random.cuh, kernels/draw.cuh).
 *
 * A number is a function of the generator and its offset, so any block of any grid can compute it.
 * A distribution is a row of a table: what numbers of bits
 * it is made of, and an expression of these.  The kernel writes row-major elements without gaps of
 * the type that is drawn.  Any other target gets a copy of them.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "base/alloc.h"
#include "lib/core/object.h"
#include "lib/ops/device_code.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/kernels.h"
#include "lib/random/generator.h"
#include "lib/rtc/headers.h"

#include <float.h>
#include <math.h>

enum {
	CHUNK = 1024, BLOCK = 256, /* offsets of a block; threads */
	RUN = 128, RUNS = 64       /* offsets of a thread, and threads, where offsets are steps */
};

/* The numbers of bits that draw.cuh makes. */
enum random_kind { UNIT, UPPER_UNIT, NORMAL, BELOW, PLACE };

/* The types of results: what is drawn, by default and for others. */
enum random_types { FLOATS, FLOATS_OR_COMPLEX, INTEGERS, COUNTS, TRUTHS };

/* What a parameter has to be. */
enum random_rule { ANY, FINITE, AT_LEAST_0, ABOVE_0, PROBABILITY, MEAN, TRIALS };

static const struct {
	const char *expected;
	double least;
	double most;
} random_rules[] = {
	[ANY] = {NULL, 0, 0},
	[FINITE] = {"a finite number", -DBL_MAX, DBL_MAX},
	[AT_LEAST_0] = {"a finite number of at least 0", 0, DBL_MAX},
	[ABOVE_0] = {"a finite number above 0", DBL_MIN, DBL_MAX},
	[PROBABILITY] = {"a number from 0 to 1", 0, 1},
	[MEAN] = {"a number from 0 to 2^62", 0, 0x1p62},
	[TRIALS] = {"a whole number from 0 to 2^53", 0, 0x1p53},
};

struct random_row {
	const char *name;
	enum random_kind kind;
	enum random_types types;
	const char *value;      /* CUDA C of x, or of `place`; a and b are the parameters */
	const char *names[2];   /* of the parameters */
	enum random_rule rules[2];
};

enum { RANDOM_INTEGERS = KZ_RANDOM_BERNOULLI + 1 };

static const struct random_row random_rows[] = {
	[KZ_RANDOM_UNIFORM] = {"uniform", UNIT, FLOATS_OR_COMPLEX, "kz_between(a, b, x)",
		{"low", "high"}, {FINITE, FINITE}},
	[KZ_RANDOM_NORMAL] = {"normal", NORMAL, FLOATS_OR_COMPLEX, "kz_moved(a, b, x)",
		{"mean", "standard deviation"}, {FINITE, AT_LEAST_0}},
	[KZ_RANDOM_LOG_NORMAL] = {"log_normal", NORMAL, FLOATS, "exp(a + b * x)",
		{"mean", "standard deviation"}, {FINITE, AT_LEAST_0}},
	[KZ_RANDOM_EXPONENTIAL] = {"exponential", UPPER_UNIT, FLOATS, "-a * log(x)",
		{"mean"}, {AT_LEAST_0}},
	[KZ_RANDOM_GAMMA] = {"gamma", PLACE, FLOATS, "b * kz_gamma(place, a)",
		{"shape", "scale"}, {AT_LEAST_0, AT_LEAST_0}},
	[KZ_RANDOM_BETA] = {"beta", PLACE, FLOATS, "kz_beta(place, a, b)",
		{"alpha", "beta"}, {ABOVE_0, ABOVE_0}},
	[KZ_RANDOM_POISSON] = {"poisson", PLACE, COUNTS, "kz_poisson(place, a)", {"mean"}, {MEAN}},
	[KZ_RANDOM_BINOMIAL] = {"binomial", PLACE, COUNTS, "kz_binomial(place, a, b)",
		{"number of trials", "probability"}, {TRIALS, PROBABILITY}},
	[KZ_RANDOM_BERNOULLI] = {"bernoulli", UNIT, TRUTHS, "x < a", {"probability"},
		{PROBABILITY}},
	[RANDOM_INTEGERS] = {"integers", BELOW, INTEGERS, "(kz_u64)a + x", {NULL}, {ANY}},
};

struct draw {
	const struct random_row *row;
	kz_dtype dtype;         /* what the kernel draws */
	kz_dtype wanted;        /* of the result */
	kz_shape shape;
	union {
		double real;
		int64_t whole;
	} a, b;                 /* low and the numbers from there, for integers */
	struct kz_random *rng;
	struct kz_stream *stream;
};

/* The kernel */

struct random_class {
	uint32_t row;
	kz_generator generator;
	kz_dtype dtype;         /* of an element */
	int32_t digits;         /* of a float of [0, 1) */
	int32_t per;            /* numbers of an offset */
};

/* The kernel of a generator. */
static const struct random_source {
	const char *macros;
	const char *text;
} random_sources[] = {
	[KZ_GENERATOR_PHILOX] = {"", device_philox},
	[KZ_GENERATOR_XORWOW] = {"#define KZ_NEXT kz_xorwow_next\n#define KZ_SKIP 5\n"
		"#define KZ_SKIP_ROW kz_xorwow_skip\n", device_sequence},
	[KZ_GENERATOR_MRG32K3A] = {"#define KZ_NEXT kz_mrg_next\n#define KZ_SKIP 18\n"
		"#define KZ_SKIP_ROW(s, row, i) kz_mrg_skip(s, row)\n", device_sequence},
	[KZ_GENERATOR_SOBOL] = {"", device_sobol},
	[KZ_GENERATOR_SCRAMBLED_SOBOL] = {"", device_sobol},
};

/* What is drawn as `dtype` is made of: floats, doubles, 64-bit words. */
static kz_dtype random_work(const struct random_row *row, kz_dtype dtype)
{
	return row->types == INTEGERS ? KZ_U64
		: dtype == KZ_F32 && row->kind != PLACE ? KZ_F32 : KZ_F64;
}

/* Numbers of an offset. */
static int random_per(const struct random_row *row, kz_dtype dtype, const struct kz_random *rng)
{
	return row->kind == PLACE || generator_is_quasi(rng) ? 1
		: random_work(row, dtype) == KZ_F32 ? 4 : 2;
}

static void random_write_source(struct str *source, const void *context)
{
	static const char *const kinds[] = {"UNIT", "UPPER_UNIT", "NORMAL", "BELOW", "PLACE"};
	const struct random_class *class = context;
	const struct random_row *row = &random_rows[class->row];
	const struct random_source *kernel = &random_sources[class->generator];
	kz_dtype work = random_work(row, class->dtype);
	str_add(source, headers_random);
	str_addf(source, "%s#define KZ_%s%s\n#define KZ_VALUE %s\n#define KZ_PER %d\n"
		"#define KZ_DIGITS %d\ntypedef %s kz_element;\ntypedef %s kz_work;\n"
		"typedef %s kz_param;\n", kernel->macros,
		kernel->text == device_sobol && row->kind == NORMAL ? "INVERSE_" : "",
		kinds[row->kind], row->value, class->per, class->digits,
		kz_dtype_ctype(class->dtype), kz_dtype_ctype(work),
		row->types == INTEGERS ? "kz_i64" : "double");
	str_add(source, device_chunks);
	str_add(source, device_draw);
	str_add(source, kernel->text);
}

static int random_digits(kz_dtype dtype)
{
	return dtype == KZ_F16 ? 11 : dtype == KZ_BF16 ? 8 : 24;
}

static const struct kernel_family random_family = {
	"random", random_write_source,
	{[SCHEDULE_MANY] = {BLOCK, CHUNK}, [SCHEDULE_ONE] = {1, CHUNK}},
};

/* XORWOW and MRG32k3a: to go to an offset takes as long as hundreds of steps, so a thread has a run
 * of offsets. */
static const struct kernel_family random_sequences = {
	"random sequence", random_write_source,
	{[SCHEDULE_MANY] = {RUNS, RUN * RUNS}, [SCHEDULE_ONE] = {1, 8 * CHUNK}},
};

/* Check that the numbers of a shape are whole points. */
static kz_status random_check_points(const struct draw *draw, kz_error *err)
{
	const struct kz_random *rng = draw->rng;
	const int64_t ndim = draw->shape.ndim, parts = dtype_is_complex(draw->dtype) ? 2 : 1;
	if (draw->row->kind == PLACE) {
		return error_set(err, KZ_UNSUPPORTED, "%s: a Sobol sequence has one number for "
			"each number of the result, and these are drawn by rejection",
			draw->row->name);
	}
	if (rng->dimensions != parts
	    && (!ndim || draw->shape.dims[ndim - 1] * parts != rng->dimensions)) {
		return error_set(err, KZ_INVALID, "%s: expected a shape whose last extent is a "
			"point of %lld %snumbers, got %s", draw->row->name,
			(long long)rng->dimensions / parts, parts == 2 ? "complex " : "",
			shape_text(&draw->shape).text);
	}
	return KZ_OK;
}

/* Fill an array without gaps. */
static kz_status random_fill(const struct draw *draw, struct kz_array *array, kz_error *err)
{
	struct kz_random *rng = draw->rng;
	kz_dtype part = dtype_part(draw->dtype);
	const int per = random_per(draw->row, part, rng);
	const struct random_class class = {(uint32_t)(draw->row - random_rows), rng->generator,
		part, random_digits(draw->wanted), per};
	const bool is_sequence = random_sources[rng->generator].text == device_sequence;
	const struct kernel_family *family = is_sequence ? &random_sequences : &random_family;
	const int64_t tile = schedule_of(family->schedules, rng->device)->tile;
	int64_t count = array->count * (part == draw->dtype ? 1 : 2);
	uint64_t first;
	CUdeviceptr address = array_address(array), table = 0;
	struct kz_array *const arrays[] = {array, rng->table};
	void *params[] = {&address, &count, &rng->seed, &first, &rng->stream,
		(void *)&draw->a, (void *)&draw->b};
	if (rng->table) {
		table = array_address(rng->table);
		params[2] = is_sequence ? (void *)&rng->state : (void *)&rng->dimensions;
		params[4] = &table;
	}
	struct kernels_run run = {
		.want = {family, &class, sizeof(class), .what = draw->row->name},
		.stream = draw->stream, .grid = kz_dim(divide_up(count, tile * per), 1, 1),
		.params = params, .arrays = arrays, .array_count = countof(arrays),
	};
	kz_status st;
	if (count == 0) {
		return KZ_OK;
	}
	int64_t offsets = generator_is_quasi(rng) ? count / rng->dimensions : divide_up(count, per);
	if ((st = kernels_get(&run.kernel, draw->stream->device, &run.want, err))
	    || (st = generator_take(&first, rng, offsets, err))) {
		return st;
	}
	return kernels_run(&run, err);
}

/* Results */

/* Check where the numbers go. */
static kz_status random_target(struct draw *draw, const struct elementwise *how, kz_error *err)
{
	const struct kz_array *into = how->into;
	struct kz_device *dev = draw->rng->device;
	if (into && kz_array_device(into) != dev) {
		return error_set(err, KZ_INVALID, "cannot draw on %s into an array on %s",
			dev->name, kz_array_device(into)->name);
	}
	if (into && !shape_equal(&into->shape, &draw->shape)) {
		return error_set(err, KZ_INVALID, "%s: shape %s does not fit into %s",
			draw->row->name,
			shape_text(&draw->shape).text, shape_text(&into->shape).text);
	}
	return stream_pick(&draw->stream, dev, how->stream, err);
}

/* Whether the kernel can write to the array itself; it stores all numbers of an offset at once. */
static bool random_is_direct(const struct draw *draw, const struct kz_array *into)
{
	return into && into->dtype == draw->dtype && draw->wanted == draw->dtype
		&& array_is_contiguous(into) && array_address(into) % 16 == 0;
}

static kz_status random_run(kz_array **out, struct draw *draw, const struct elementwise *how,
	kz_error *err)
{
	struct kz_array *drawn = NULL;
	struct expr expr;
	kz_status st;
	bool direct = random_is_direct(draw, how->into);
	if (direct) {
		drawn = kz_array_retain(how->into);
	} else if ((st = array_create_on(&drawn, draw->rng->device, draw->dtype, &draw->shape,
		draw->stream, err))) {
		return st;
	}
	st = random_fill(draw, drawn, err);
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

/* Whether results can be of a type, what they are by default, and what is drawn for them. */
static bool random_has_type(enum random_types types, kz_dtype dtype)
{
	switch (types) {
	case FLOATS:
		return dtype_is_float(dtype);
	case FLOATS_OR_COMPLEX:
		return dtype_is_float(dtype) || dtype_is_complex(dtype);
	case INTEGERS:
		return dtype_is_integer(dtype);
	default:
		return dtype == KZ_BOOL || dtype_is_integer(dtype) || dtype_is_float(dtype);
	}
}

static const struct {
	const char *expected;
	kz_dtype usual;
	bool as_wanted; /* the kernel draws what is wanted, made wide; else the usual type */
} random_types[] = {
	[FLOATS] = {"a dtype of floats", KZ_F32, true},
	[FLOATS_OR_COMPLEX] = {"a dtype of floats or complex numbers", KZ_F32, true},
	[INTEGERS] = {"a dtype of integers", KZ_I64, false},
	[COUNTS] = {"a dtype of integers or floats", KZ_I64, false},
	[TRUTHS] = {"bool, or a dtype of integers or floats", KZ_BOOL, false},
};

static kz_dtype random_drawn(enum random_types types, kz_dtype wanted)
{
	return random_types[types].as_wanted ? dtype_wide(wanted) : random_types[types].usual;
}

/* Check that the type of the result can hold all of the integers. */
static kz_status random_check_fit(const struct draw *draw, kz_dtype dtype, kz_error *err)
{
	int bits = 8 * (int)kz_dtype_size(dtype);
	bool is_signed = dtype_is_signed(dtype);
	int64_t low = draw->a.whole, last = (int64_t)((uint64_t)low + (uint64_t)draw->b.whole - 1);
	int64_t most = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - is_signed)) - 1;
	int64_t least = is_signed ? -most - 1 : 0;
	if (low >= least && last <= most) {
		return KZ_OK;
	}
	return error_set(err, KZ_RANGE, "%s does not hold all integers from %lld to %lld",
		dtype_refused(dtype), (long long)low, (long long)last);
}

/* The types that a call names: its own, that of the options, that of the target. */
static kz_status random_draw(kz_array **out, struct draw *draw, kz_dtype dtype,
	const kz_op_options *options, kz_error *err)
{
	const struct random_row *row = draw->row;
	struct elementwise how = {.into = NULL};
	kz_dtype wanted;
	kz_status st;
	out_clear(out, sizeof(*out), __func__);
	if ((st = object_check_as(draw->rng, OBJECT_RANDOM, "rng", err))
	    || (st = elementwise_options(&how, &wanted, options, err))
	    || (st = shape_check(&draw->shape, err))) {
		return st;
	}
	if (!out && !how.into) {
		return error_set(err, KZ_INVALID, "%s: out is NULL", row->name);
	}
	if (!dtype) {
		dtype = how.into && random_has_type(row->types, how.into->dtype) ? how.into->dtype
			: random_types[row->types].usual;
	}
	if (!random_has_type(row->types, dtype)) {
		return error_set(err, KZ_INVALID, "%s: expected %s, got %s", row->name,
			random_types[row->types].expected,
			kz_dtype_size(dtype) ? dtype_refused(dtype) : "none");
	}
	if (row->types == INTEGERS && (st = random_check_fit(draw, dtype, err))) {
		return st;
	}
	draw->dtype = random_drawn(row->types, dtype);
	draw->wanted = wanted ? wanted : dtype;
	if (generator_is_quasi(draw->rng) && (st = random_check_points(draw, err))) {
		return st;
	}
	st = random_target(draw, &how, err);
	return st ? st : random_run(out, draw, &how, err);
}

static kz_status random_check_parameter(const struct random_row *row, int which, double value,
	kz_error *err)
{
	enum random_rule rule = row->rules[which];
	if (rule == ANY || (value >= random_rules[rule].least && value <= random_rules[rule].most
		&& (rule != TRIALS || value == floor(value)))) {
		return KZ_OK;
	}
	return error_set(err, KZ_INVALID, "%s: expected %s as the %s, got %.17g", row->name,
		random_rules[rule].expected, row->names[which], value);
}

kz_status kz_random_draw(kz_array **out, kz_random *rng, kz_distribution distribution,
	kz_dtype dtype, kz_shape shape, double a, double b, const kz_op_options *options,
	kz_error *err)
{
	error_scope(err);
	kz_status st;
	out_clear(out, sizeof(*out), __func__);
	if ((unsigned)distribution >= RANDOM_INTEGERS) {
		return error_set(err, KZ_INVALID, "%d is not a kz_distribution", (int)distribution);
	}
	const struct random_row *row = &random_rows[distribution];
	struct draw draw = {.row = row, .rng = rng, .shape = shape, .a.real = a, .b.real = b};
	if ((st = random_check_parameter(row, 0, a, err))
	    || (st = random_check_parameter(row, 1, b, err))) {
		return st;
	}
	return random_draw(out, &draw, dtype, options, err);
}

kz_status kz_random_integers(kz_array **out, kz_random *rng, kz_dtype dtype, kz_shape shape,
	int64_t low, int64_t high, const kz_op_options *options, kz_error *err)
{
	error_scope(err);
	struct draw draw = {.row = &random_rows[RANDOM_INTEGERS], .rng = rng, .shape = shape,
		.a.whole = low, .b.whole = (int64_t)((uint64_t)high - (uint64_t)low)};
	if (high <= low) {
		out_clear(out, sizeof(*out), __func__);
		return error_set(err, KZ_INVALID, "expected integers from %lld to below a number "
			"above it, got %lld", (long long)low, (long long)high);
	}
	return random_draw(out, &draw, dtype, options, err);
}

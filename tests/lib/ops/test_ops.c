/* SPDX-License-Identifier: MIT */
/*
 * Every operation on every dtype, against the reference in plain C (ops_ref.h): remarkable numbers
 * in all pairs, random ones, types mixed, C numbers on either side.
 *
 * NVRTC compiles a kernel for each operation and type, so a run tries each operation on some types
 * only, by a seed that it prints; KUDZU_TEST_SLOW=1 tries all of them, in some minutes, and prints
 * the worst errors; KUDZU_TEST_SEED=N is the seed.
 */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "lib/core/memory.h"
#include "lib/ops/generate.h"
#include "ops_ref.h"
#include "support/support.h"
#include "support/suite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3000, GROUP = 8, GROUPS = (REF_OPS + GROUP - 2) / GROUP, OPS = REF_OPS - 1 };

static kz_error err;
static kz_device *dev;
static uint64_t seed;

static bool is_slow(void)
{
	return getenv("KUDZU_TEST_SLOW") != NULL;
}

/* How many rounds, or one in how many: a sanitizer's run has to be brief. */
static int rounds(int slow, int usual)
{
	return support_how_many(slow, usual, usual / 8);
}

static void setup(int index)
{
	const char *text = getenv("KUDZU_TEST_SEED");
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(index);
	seed = text ? strtoull(text, NULL, 0) : 1;
	fprintf(stderr, "KUDZU_TEST_SEED=%llu\n", (unsigned long long)seed);
}

static void teardown(void)
{
	support_close(dev);
}

/* One operation on operands of some types; a C number has the type that it stands for. */
struct trial {
	kz_op op;
	int arity;
	kz_dtype dtypes[3];
	bool is_scalar[3];
	struct number values[3][COUNT];
	kz_arg args[3];
	kz_array *arrays[3];
};

static struct trial trial;

static int remarkable_count(kz_dtype dtype)
{
	struct number ignored;
	int count = 0;
	while (number_remarkable(&ignored, dtype, count)) {
		count++;
	}
	return count;
}

/* Complex functions are for moderate arguments: C says little of what becomes of the others. */
static bool is_fit(kz_op op, kz_dtype dtype, struct number value)
{
	bool exact = op == KZ_OP_ADD || op == KZ_OP_NEGATIVE || op == KZ_OP_CONJUGATE
		|| op == KZ_OP_ISNAN || op == KZ_OP_ISINF || op == KZ_OP_ISFINITE
		|| op == KZ_OP_EQUAL || op == KZ_OP_NOT_EQUAL || op == KZ_OP_REAL
		|| op == KZ_OP_IMAG;
	return number_kind(dtype) != NUMBER_COMPLEX || exact
		|| (fabsl(value.re) < 1e4L && fabsl(value.im) < 1e4L);
}

static struct number pick(kz_op op, kz_dtype dtype, int index)
{
	struct number value;
	do {
		if (index < 0 && number_random(&seed) % 2) {
			index = (int)(number_random(&seed) % 1024);
		}
		if (index < 0 || !number_remarkable(&value, dtype, index)) {
			value = number_any(dtype, &seed);
		}
		index = -1;
	} while (!is_fit(op, dtype, value));
	return value;
}

/* All pairs of remarkable numbers, as far as there is room, and any. */
static void choose_values(struct trial *t)
{
	int first = remarkable_count(t->dtypes[0]);
	int second = t->arity > 1 ? remarkable_count(t->dtypes[1]) : 1;
	memset(t->values, 0, sizeof(t->values));
	for (int i = 0; i < COUNT; i++) {
		bool paired = first * second < COUNT && i < first * second && t->arity < 3;
		for (int k = 0; k < t->arity; k++) {
			int index = !paired ? -1 : k ? i / first : i % first;
			t->values[k][i] = t->is_scalar[k] && i ? t->values[k][0]
				: pick(t->op, t->dtypes[k], t->is_scalar[k] ? -1 : index);
		}
	}
}

static void make_array(struct trial *t, int k)
{
	static char bytes[COUNT * 16];
	int64_t size = kz_dtype_size(t->dtypes[k]);
	for (int i = 0; i < COUNT; i++) {
		number_store(t->dtypes[k], bytes + i * size, t->values[k][i]);
	}
	ok(kz_array_from(&t->arrays[k], dev, t->dtypes[k], KZ_SHAPE(COUNT), bytes, COUNT * size,
		&err));
	t->args[k] = kz_arg_array(t->arrays[k]);
}

static void release(struct trial *t)
{
	for (int k = 0; k < 3; k++) {
		kz_array_release(t->arrays[k]);
		t->arrays[k] = NULL;
	}
}

static char *describe(const struct trial *t, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "%s of", kz_op_name(t->op));
	for (int k = 0; k < t->arity; k++) {
		used += (size_t)snprintf(text + used, size - used, " %s%s", t->is_scalar[k]
			? "the number " : "", kz_dtype_name(t->dtypes[k]));
	}
	return text;
}

/* What is said of element i, where it is wrong. */
static void say_wrong(const struct trial *t, int i, struct number want, struct number got,
	double error)
{
	char text[400];
	size_t used = strlen(describe(t, text, sizeof(text)));
	for (int k = 0; k < t->arity; k++) {
		const struct number *x = &t->values[k][i];
		used += (size_t)snprintf(text + used, sizeof(text) - used, " (%.20Lg %.20Lg)",
			x->re, x->im);
	}
	ck_abort_msg("%s: expected %.20Lg %.20Lg, got %.20Lg %.20Lg: %g times what is allowed",
		text, want.re, want.im, got.re, got.im, error);
}

static bool operands_of(const struct trial *t, const kz_dtype *computed, int i, struct number *x)
{
	bool defined = true;
	memset(x, 0, 3 * sizeof(*x));
	for (int k = 0; k < t->arity; k++) {
		x[k] = t->values[k][i];
		defined = number_convert(&x[k], t->dtypes[k], computed[k]) && defined
			&& is_fit(t->op, computed[k], x[k]);
	}
	return defined;
}

/* The share of what is allowed that the worst element is off; stops at a wrong one. */
static double compare(const struct trial *t, const kz_dtype *computed, kz_dtype result,
	const char *bytes)
{
	double worst = 0;
	for (int i = 0; i < COUNT; i++) {
		struct number x[3];
		if (!operands_of(t, computed, i, x)) {
			continue;
		}
		struct number want = ref_apply(t->op, computed, x);
		struct number got = number_load(result, bytes + i * kz_dtype_size(result));
		if ((t->op == KZ_OP_WHERE || t->op == KZ_OP_IF_POSITIVE)
		    && number_kind(result) == NUMBER_BOOL) {
			want.i = want.i != 0;
		}
		double error = ref_error(t->op, computed[0], result, want, got, x);
		if (!(error <= 1)) {
			say_wrong(t, i, want, got, error);
		}
		worst = error > worst ? error : worst;
	}
	return worst;
}

/* Run the trial whose operands are made: it gives the reference's results, or is refused. */
static double run(struct trial *t)
{
	static char bytes[COUNT * 16];
	kz_dtype computed[3], result;
	kz_array *out = NULL;
	char text[100];
	kz_args args = {t->args, (size_t)t->arity};
	double worst = 0;
	if (!ref_types(t->op, t->dtypes, computed, &result)) {
		kz_status st = kz_apply(&out, t->op, NULL, &err, args);
		ck_assert_msg(st == KZ_INVALID && !out && strstr(err.message, "does not take"),
			"%s: expected a refusal, got %d %s", describe(t, text, sizeof(text)),
			(int)st, err.message);
		kz_error_clear(&err);
	} else {
		kz_status st = kz_apply(&out, t->op, NULL, &err, args);
		ck_assert_msg(st == KZ_OK, "%s: %s", describe(t, text, sizeof(text)), err.message);
		ck_assert_msg(kz_array_dtype(out) == result, "%s: expected %s, got %s",
			describe(t, text, sizeof(text)), kz_dtype_name(result),
			kz_dtype_name(kz_array_dtype(out)));
		ok(kz_array_get(out, bytes, kz_array_size(out), &err));
		worst = compare(t, computed, result, bytes);
	}
	kz_array_release(out);
	release(t);
	return worst;
}

static double run_arrays(kz_op op, const kz_dtype *dtypes)
{
	memset(trial.is_scalar, 0, sizeof(trial.is_scalar));
	trial.op = op;
	trial.arity = kz_op_arity(op);
	memcpy(trial.dtypes, dtypes, sizeof(trial.dtypes));
	choose_values(&trial);
	for (int k = 0; k < trial.arity; k++) {
		make_array(&trial, k);
	}
	return run(&trial);
}

/* Same types */

/* Without KUDZU_TEST_SLOW: the types whose texts differ, and a few others by chance. */
static bool is_tried(kz_op op, kz_dtype dtype)
{
	kz_dtype same[3] = {dtype, dtype, dtype}, computed[3], result;
	bool is_taken = ref_types(op, same, computed, &result);
	bool is_cast = computed[0] != dtype;
	bool is_core = dtype == KZ_I8 || dtype == KZ_U64 || dtype == KZ_F16 || dtype == KZ_F32
		|| dtype == KZ_F64 || dtype == KZ_C64;
	if (getenv("KUDZU_TEST_BRIEF")) {
		return !is_taken || number_random(&seed) % 48 == 0;
	}
	return is_slow() || !is_taken || number_random(&seed) % (is_core && !is_cast ? 9 : 64) == 0;
}

START_TEST(an_operation_gives_what_the_reference_gives)
{
	setup(_i / GROUPS);
	int last = _i % GROUPS * GROUP + GROUP;
	for (int op = last - GROUP + 1; op <= last && op <= OPS; op++) {
		for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
			kz_dtype same[3] = {dtype, dtype, dtype};
			same[1] = op == KZ_OP_LDEXP ? KZ_I32 : dtype;
			double worst = is_tried((kz_op)op, dtype) ? run_arrays((kz_op)op, same) : 0;
			if (is_slow() && worst > 0) {
				fprintf(stderr, "%s of %s: at most %.3f of what is allowed\n",
					kz_op_name((kz_op)op), kz_dtype_name(dtype), worst);
			}
		}
	}
	teardown();
}
END_TEST

/* Mixed types */

DEVICE_TEST(operands_of_two_types_become_their_common_type)
{
	for (int n = 0; n < rounds(1500, 10); n++) {
		kz_op op = (kz_op)(1 + number_random(&seed) % OPS);
		kz_dtype mixed[3];
		for (int k = 0; k < 3; k++) {
			mixed[k] = (kz_dtype)(1 + number_random(&seed) % KZ_C128);
		}
		if (kz_op_arity(op) > 1) {
			(void)run_arrays(op, mixed);
		}
	}
}

DEVICE_TEST(integers_of_all_types_compare_by_value)
{
	static const kz_op ops[] = {KZ_OP_EQUAL, KZ_OP_LESS, KZ_OP_GREATER_EQUAL};
	for (kz_dtype a = 0; (a = dtype_next(a, DTYPE_EXACT));) {
		for (kz_dtype b = 0; (b = dtype_next(b, DTYPE_EXACT));) {
			kz_dtype mixed[3] = {a, b, 0};
			bool is_core = a == KZ_U64 || b == KZ_U64;
			if (is_slow() || (is_core && (a + b) % 4 == 1)) {
				(void)run_arrays(ops[(a + b) / 2 % countof(ops)], mixed);
			}
		}
	}
}

/* C numbers */

/* The type that a C number takes beside arrays of a type, by its kind. */
static kz_dtype stands_for(kz_dtype strong, enum number_kind kind)
{
	switch (kind) {
	case NUMBER_BOOL:
		return KZ_BOOL;
	case NUMBER_INTEGER:
		return strong == KZ_BOOL ? KZ_I64 : strong;
	case NUMBER_REAL:
		return dtype_is_exact(strong) ? KZ_F64 : strong;
	case NUMBER_COMPLEX:
		return dtype_is_complex(strong) ? strong : dtype_is_exact(strong)
			|| strong == KZ_F64 ? KZ_C128 : KZ_C64;
	}
	return 0;
}

/* The C number itself, in one of the C types that can hold it. */
static kz_arg number_arg(enum number_kind kind, kz_dtype dtype, struct number value)
{
	long double part = number_kind(dtype) <= NUMBER_INTEGER ? (long double)value.i : value.re;
	switch (kind) {
	case NUMBER_BOOL:
		return kz_arg_bool(value.i != 0);
	case NUMBER_INTEGER:
		return number_kind(dtype) > NUMBER_INTEGER ? kz_arg_sint((int)part)
			: value.i > INT64_MAX || (value.i >= 0 && number_random(&seed) % 2)
			? kz_arg_ullong((unsigned long long)value.i)
			: kz_arg_llong((long long)value.i);
	case NUMBER_REAL:
		return (long double)(float)part == part && number_random(&seed) % 2
			? kz_arg_f32((float)part) : kz_arg_f64((double)part);
	case NUMBER_COMPLEX:
		return kz_arg_complex((double)value.re, (double)value.im);
	}
	return kz_arg_bool(false);
}

/* A number of the kind that is one of its type, too. */
static struct number number_for(kz_op op, enum number_kind kind, kz_dtype dtype)
{
	struct number value = pick(op, dtype, -1);
	if (kind == NUMBER_INTEGER && number_kind(dtype) > NUMBER_INTEGER) {
		value = number_of_whole((int)(number_random(&seed) % 200) - 100);
		(void)number_convert(&value, KZ_I64, dtype);
	}
	if (kind == NUMBER_REAL && number_kind(dtype) == NUMBER_COMPLEX) {
		value.im = 0;
	}
	return value;
}

/* Of three operands, one has to be an array; what is compared keeps its own type. */
static void run_with_number(kz_op op, int where, kz_dtype strong, enum number_kind kind)
{
	struct trial *t = &trial;
	bool compares = ref_ops[op].form == REF_COMPARE && kind == NUMBER_INTEGER
		&& dtype_is_exact(strong);
	memset(t->is_scalar, 0, sizeof(t->is_scalar));
	t->op = op;
	t->arity = kz_op_arity(op);
	for (int k = 0; k < 3; k++) {
		t->dtypes[k] = strong;
	}
	t->is_scalar[where] = true;
	t->dtypes[where] = compares ? (number_random(&seed) % 2 ? KZ_U64 : KZ_I64)
		: stands_for(strong, kind);
	choose_values(t);
	struct number value = number_for(op, kind, t->dtypes[where]);
	for (int i = 0; i < COUNT; i++) {
		t->values[where][i] = value;
	}
	for (int k = 0; k < t->arity; k++) {
		if (t->is_scalar[k]) {
			t->args[k] = number_arg(kind, t->dtypes[k], value);
		} else {
			make_array(t, k);
		}
	}
	(void)run(t);
}

DEVICE_TEST(a_number_on_either_side_takes_the_type_that_it_meets)
{
	for (int n = 0; n < rounds(2000, 16); n++) {
		kz_op op = (kz_op)(1 + number_random(&seed) % OPS);
		bool chooses = op == KZ_OP_WHERE || op == KZ_OP_IF_POSITIVE || op == KZ_OP_LDEXP;
		if (kz_op_arity(op) > 1 && !chooses) {
			run_with_number(op, (int)(number_random(&seed) % (uint64_t)kz_op_arity(op)),
				(kz_dtype)(1 + number_random(&seed) % KZ_C128),
				(enum number_kind)(number_random(&seed) % 4));
		}
	}
}

/* How far off a float is, in units of the last place that the true value has. */
static double units_off(float got, double want)
{
	int exponent;
	frexp(want, &exponent);
	return fabs((double)got - want) / ldexp(1, exponent < -125 ? -149 : exponent - 24);
}

/* Quotients and rests by one number, which the CPU device takes by its inverse. */

static const int64_t divisors[] = {0, 1, -1, 2, 3, -7, 100, 127, -128, 641, 32767, 65537, 1000003,
	INT32_MAX, INT32_MIN, UINT32_MAX, 6700417LL * 641, INT64_MAX, INT64_MIN};

static int64_t integer_at(const void *from, kz_dtype dtype, int64_t i)
{
	switch (dtype) {
	case KZ_I8:
		return ((const int8_t *)from)[i];
	case KZ_U16:
		return ((const uint16_t *)from)[i];
	case KZ_I32:
		return ((const int32_t *)from)[i];
	case KZ_U32:
		return ((const uint32_t *)from)[i];
	default:
		return ((const int64_t *)from)[i]; /* of uint64 the bits */
	}
}

/* Multiples and their neighbours, the least and the greatest number. */
static void fill_near_multiples(void *to, int64_t size, int64_t by, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		uint64_t any = (uint64_t)i * 11400714819323198485u >> i * 5 % 64;
		uint64_t value = i < 2 ? (UINT64_C(1) << (8 * size - 1)) - (uint64_t)i
			: any * (uint64_t)by + (uint64_t)(i % 3) - 1;
		memcpy((char *)to + i * size, &value, (size_t)size);
	}
}

static void check_quotients(kz_array *results[3], const void *from, int64_t by, int64_t count)
{
	static uint64_t got[3][1000];
	const kz_dtype dtype = kz_array_dtype(results[0]);
	for (int k = 0; k < 3; k++) {
		ok(kz_array_get(results[k], got[k], count * kz_dtype_size(dtype), &err));
	}
	for (int64_t i = 0; i < count; i++) {
		const int64_t bits = integer_at(from, dtype, i);
		const __int128 a = dtype == KZ_U64 ? (__int128)(uint64_t)bits : bits;
		const __int128 b = dtype == KZ_U64 ? (__int128)(uint64_t)by : by;
		const __int128 cut = b ? a % b : 0, rest = cut && (cut < 0) != (b < 0) ? cut + b
			: cut;
		const uint64_t want[3] = {(uint64_t)(b ? (a - rest) / b : 0), (uint64_t)rest,
			(uint64_t)cut};
		for (int k = 0; k < 3; k++) {
			int64_t there;
			memcpy(&there, &want[k], sizeof(there));
			ck_assert_msg(integer_at(got[k], dtype, i) == integer_at(&there, dtype, 0),
				"%s %lld by %lld, operation %d", kz_dtype_name(dtype),
				(long long)bits, (long long)by, k);
		}
	}
}

DEVICE_TEST(a_number_divides_integers_exactly)
{
	static const kz_dtype dtypes[] = {KZ_I8, KZ_U16, KZ_I32, KZ_U32, KZ_I64, KZ_U64};
	static const kz_op ops[3] = {KZ_OP_FLOOR_DIVIDE, KZ_OP_REMAINDER, KZ_OP_FMOD};
	static uint64_t host[1000];
	for (size_t c = 0; c < countof(dtypes) * countof(divisors); c++) {
		const kz_dtype dtype = dtypes[c / countof(divisors)];
		const int64_t by = divisors[c % countof(divisors)];
		kz_array *array, *results[3];
		if (integer_at(&by, dtype, 0) != by) {
			continue; /* not a number of this type */
		}
		fill_near_multiples(host, kz_dtype_size(dtype), by, countof(host));
		ok(kz_array_from(&array, dev, dtype, KZ_SHAPE(countof(host)), host,
			(int64_t)countof(host) * kz_dtype_size(dtype), &err));
		for (int k = 0; k < 3; k++) {
			ok(kz_apply(&results[k], ops[k], NULL, &err, dtype == KZ_U64
				? KZ_ARGS(array, (uint64_t)by) : KZ_ARGS(array, by)));
		}
		check_quotients(results, host, by, countof(host));
		release_arrays(array, results[0], results[1], results[2]);
	}
}

/* From where it underflows to where it overflows. */
DEVICE_TEST(exp_of_floats_is_off_by_less_than_1_25_units)
{
	static float x[1 << 16], y[1 << 16];
	kz_array *in = NULL, *out = NULL;
	double worst = 0;
	for (int i = 0; i < (int)countof(x); i++) {
		x[i] = -104 + (float)i * 0.002942f;
	}
	ok(kz_array_from(&in, dev, KZ_F32, KZ_SHAPE(countof(x)), x, sizeof(x), &err));
	ok(kz_apply(&out, KZ_OP_EXP, NULL, &err, KZ_ARGS(in)));
	ok(kz_array_get(out, y, sizeof(y), &err));
	for (int i = 0; i < (int)countof(x); i++) {
		double want = exp((double)x[i]);
		double off = want > (double)FLT_MAX ? isinf(y[i]) ? 0 : INFINITY
			: units_off(y[i], want);
		worst = off > worst ? off : worst;
	}
	ck_assert_double_lt(worst, 1.25);
	ck_assert_float_infinite(y[countof(x) - 1]);
	release_arrays(in, out);
}

/* Large exponents need the most digits of the logarithm. */
DEVICE_TEST(powers_of_floats_are_off_by_less_than_1_5_units)
{
	static float x[1 << 16], n[1 << 16], y[1 << 16];
	kz_array *in = NULL, *exponents = NULL, *out = NULL;
	double worst = 0;
	for (int i = 0; i < (int)countof(x); i++) {
		x[i] = 0.5f + (float)i * 0x1.8p-16f;
		n[i] = x[i] == 1 ? 1 : (float)(i % 121 - 60) / log2f(x[i]);
	}
	ok(kz_array_from(&in, dev, KZ_F32, KZ_SHAPE(countof(x)), x, sizeof(x), &err));
	ok(kz_array_from(&exponents, dev, KZ_F32, KZ_SHAPE(countof(n)), n, sizeof(n), &err));
	ok(kz_apply(&out, KZ_OP_POWER, NULL, &err, KZ_ARGS(in, exponents)));
	ok(kz_array_get(out, y, sizeof(y), &err));
	for (int i = 0; i < (int)countof(x); i++) {
		worst = fmax(worst, units_off(y[i], pow((double)x[i], (double)n[i])));
	}
	ck_assert_double_lt(worst, 1.5);
	release_arrays(in, exponents, out);
}

/* GPUs for games compute a double in the time of 64 floats. */
START_TEST(a_power_of_floats_takes_no_doubles)
{
	struct str source = STR_INIT;
	kz_image *image = NULL;
	int64_t size = 0;
	err = (kz_error)KZ_ERROR_INIT;
	generate_prelude(&source, dtype_bit(KZ_F32), false);
	str_add(&source, "extern \"C\" __global__ void power(float *a, float b)\n"
		"{\n\ta[threadIdx.x] = kz_power(a[threadIdx.x], b);\n}\n");
	ok(kz_compile(&image, source.data, NULL, &err));
	const char *ptx = kz_image_data(image, &size);
	ck_assert_ptr_nonnull(memmem(ptx, (size_t)size, "fma.rn.f32", 10));
	ck_assert_ptr_null(memmem(ptx, (size_t)size, ".f64", 4));
	kz_image_release(image);
	str_free(&source);
}
END_TEST

/* The two shapes of kernels */

/* The same bits, but for what is no number. */
static bool same_bits(kz_dtype dtype, const char *a, const char *b)
{
	int64_t size = kz_dtype_size(dtype);
	for (int i = 0; i < COUNT; i++, a += size, b += size) {
		struct number x = number_load(dtype, a), y = number_load(dtype, b);
		bool no_number = (isnan(x.re) && isnan(y.re)) || (isnan(x.im) && isnan(y.im));
		if (memcmp(a, b, (size_t)size) != 0 && !no_number) {
			return false;
		}
	}
	return true;
}

DEVICE_TEST(both_shapes_of_kernels_give_the_same_bits)
{
	static char bytes[2][COUNT * 16];
	bool serial = dev->serial;
	for (int n = 0; n < rounds(4 * OPS, 10) && serial; n++) {
		trial.op = (kz_op)(is_slow() ? 1 + n / 4 : 1 + (int)(number_random(&seed) % OPS));
		kz_dtype dtype = (kz_dtype)(is_slow() ? (int)KZ_F32 + n % 4
			: 1 + (int)(number_random(&seed) % KZ_C128));
		trial.dtypes[0] = trial.dtypes[1] = trial.dtypes[2] = dtype;
		trial.arity = kz_op_arity(trial.op);
		choose_values(&trial);
		for (int k = 0; k < trial.arity; k++) {
			make_array(&trial, k);
		}
		kz_dtype result = KZ_U8;
		for (int shape = 0; shape < 2; shape++) {
			kz_array *out;
			dev->serial = shape;
			if (kz_apply(&out, trial.op, NULL, &err,
					(kz_args){trial.args, (size_t)trial.arity}) == KZ_OK) {
				ok(kz_array_get(out, bytes[shape], kz_array_size(out), &err));
				result = kz_array_dtype(out);
			}
			kz_error_clear(&err);
			kz_array_release(out);
		}
		ck_assert_msg(same_bits(result, bytes[0], bytes[1]), "%s of %s",
			kz_op_name(trial.op), kz_dtype_name(dtype));
		release(&trial);
	}
}

/* Architectures */

static const int architectures[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};

/* The stub takes any image: what is tried is whether NVRTC compiles for a GPU of this kind. */
START_TEST(kernels_compile_for_every_architecture)
{
	char script[20];
	err = (kz_error)KZ_ERROR_INIT;
	snprintf(script, sizeof(script), "cc=%d", architectures[_i]);
	support_stub(script);
	ok(kz_device_open(&dev, "cuda:0", &err));
	seed = 1 + (uint64_t)_i;
	for (int n = 0; n < rounds(OPS * KZ_C128, 3); n++) {
		kz_op op = (kz_op)(is_slow() ? 1 + n / (int)KZ_C128
			: 1 + (int)(number_random(&seed) % OPS));
		kz_dtype dtype = is_slow() ? 1 + (kz_dtype)n % KZ_C128
			: 1 + (kz_dtype)(number_random(&seed) % KZ_C128);
		kz_array *a, *out;
		ok(kz_array_create(&a, dev, dtype, KZ_SHAPE(3, 1), &err));
		kz_arg args[3] = {kz_arg_array(a), kz_arg_array(a), kz_arg_array(a)};
		kz_status st = kz_apply(&out, op, NULL, &err,
			(kz_args){args, (size_t)kz_op_arity(op)});
		ck_assert_msg(st == KZ_OK || strstr(err.message, "does not take"), "%s of %s: %s",
			kz_op_name(op), kz_dtype_name(dtype), err.message);
		kz_error_clear(&err);
		release_arrays(out, a);
	}
	teardown();
}
END_TEST

/* Conversions */

/* A number of the type, or one in the middle of two of the type that it becomes, or just beside. */
static struct number pick_to_round(kz_dtype from, kz_dtype to)
{
	struct number value = pick(KZ_OP_ADD, from, -1);
	if (number_kind(to) == NUMBER_REAL && number_random(&seed) % 2) {
		value = number_any(to, &seed);
		long double half = number_ulp(to, value.re) / 2;
		int beside = (int)(number_random(&seed) % 3) - 1;
		value.re += half + beside * ldexpl(half, -(int)(number_random(&seed) % 50));
		value.i = fabsl(value.re) < 0x1p62L ? (whole)value.re : 0;
		bool is_whole = number_kind(from) <= NUMBER_INTEGER;
		(void)number_convert(&value, is_whole ? KZ_I64 : KZ_C128, from);
	}
	return value;
}

static void convert(kz_dtype from, kz_dtype to)
{
	static char bytes[COUNT * 16];
	static struct number values[COUNT];
	kz_array *a, *out;
	for (int i = 0; i < COUNT; i++) {
		values[i] = pick_to_round(from, to);
		number_store(from, bytes + i * kz_dtype_size(from), values[i]);
	}
	ok(kz_array_from(&a, dev, from, KZ_SHAPE(COUNT), bytes, COUNT * kz_dtype_size(from), &err));
	ok(kz_array_astype(&out, a, to, &err));
	ok(kz_array_get(out, bytes, COUNT * kz_dtype_size(to), &err));
	for (int i = 0; i < COUNT; i++) {
		struct number got = number_load(to, bytes + i * kz_dtype_size(to)),
			want = values[i];
		bool defined = number_convert(&want, from, to);
		if (defined && ref_error(KZ_OP_POSITIVE, to, to, want, got, NULL) > 0) {
			ck_abort_msg("%s %.25Lg %.25Lg becomes %s %.25Lg %.25Lg, expected %.25Lg "
				"%.25Lg",
				kz_dtype_name(from), values[i].re, values[i].im, kz_dtype_name(to),
				got.re, got.im, want.re, want.im);
		}
	}
	release_arrays(a, out);
}

DEVICE_TEST(every_type_becomes_every_other)
{
	for (kz_dtype from = 0; (from = dtype_next(from, DTYPE_NUMBER));) {
		for (kz_dtype to = 0; (to = dtype_next(to, DTYPE_NUMBER));) {
			bool is_half = to == KZ_F16 || to == KZ_BF16;
			if (is_slow() || number_random(&seed) % (is_half ? 2 : 12) == 0) {
				convert(from, to);
			}
		}
	}
}

SUITE(ops)
{
	Suite *s = suite_create("ops");
	TCase *tc = suite_add_case(s, "each device");
	int devices = support_device_count();
	tcase_set_timeout(tc, is_slow() ? 3600 : 120);
	tcase_add_loop_test(tc, an_operation_gives_what_the_reference_gives, 0, devices * GROUPS);
	tcase_add_tests(tc, devices, operands_of_two_types_become_their_common_type,
		integers_of_all_types_compare_by_value,
		a_number_on_either_side_takes_the_type_that_it_meets,
		a_number_divides_integers_exactly,
		exp_of_floats_is_off_by_less_than_1_25_units,
		powers_of_floats_are_off_by_less_than_1_5_units,
		both_shapes_of_kernels_give_the_same_bits);
	tcase_add_test(tc, a_power_of_floats_takes_no_doubles);
	tcase_add_loop_test(tc, kernels_compile_for_every_architecture, 0,
		(int)countof(architectures));
	tcase_add_loop_test(tc, every_type_becomes_every_other, 0, devices);
	return s;
}

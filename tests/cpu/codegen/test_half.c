/* SPDX-License-Identifier: MIT */
/*
 * Instructions on floats of 16 bits and fewer.  half_cases.def has their results, in the arithmetic
 * of softfloat.h, which does not use that of the host.  Operands are collected until there are 32
 * of them, for 32 threads: in one warp of 32 lanes, or one after the other.
 */
#include "base/common.h"

#include "base/str.h"
#include "cpu/support/driver.h"
#include "cpu/support/machine.h"
#include "cpu/random/softfloat.h"
#include "support/count.h"
#include "support/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint16_t U16(uint64_t a) { return (uint16_t)a; }
static uint32_t U32(uint64_t a) { return (uint32_t)a; }

/* References on the lowest 16 bits of their operands. */

static uint64_t fused(const struct soft_format *format, uint64_t a, uint64_t b, uint64_t c)
{
	struct soft product = soft_mul(soft_decode(format, U16(a)), soft_decode(format, U16(b)));
	struct soft sum = soft_add(product, soft_decode(format, U16(c)));
	return soft_encode(format, sum, SOFT_NEAREST, false);
}

static uint64_t summed(const struct soft_format *format, uint64_t a, uint64_t b)
{
	struct soft sum = soft_add(soft_decode(format, U16(a)), soft_decode(format, U16(b)));
	return soft_encode(format, sum, SOFT_NEAREST, false);
}

static uint64_t multiplied(const struct soft_format *format, uint64_t a, uint64_t b)
{
	struct soft product = soft_mul(soft_decode(format, U16(a)), soft_decode(format, U16(b)));
	return soft_encode(format, product, SOFT_NEAREST, false);
}

/* f16 subnormals to zeros. */
static uint64_t ftz(uint64_t a)
{
	return a & 0x7c00 ? U16(a) : a & 0x8000;
}

static uint64_t sat(uint64_t a)
{
	return a > 0x7c00 ? 0 : a > 0x3c00 ? 0x3c00 : a;
}

static uint64_t relu(uint64_t a)
{
	return a & 0x8000 ? 0 : a;
}

#define REFERENCE(name, ...) \
	static uint64_t name(uint64_t a, uint64_t b, uint64_t c) \
	{ \
		(void)a, (void)b, (void)c; \
		return __VA_ARGS__; \
	}
REFERENCE(add16, summed(&soft_f16, a, b))
REFERENCE(addbf, summed(&soft_bf16, a, b))
REFERENCE(sub16, summed(&soft_f16, a, b ^ 0x8000))
REFERENCE(subbf, summed(&soft_bf16, a, b ^ 0x8000))
REFERENCE(sub16ftzsat, sat(ftz(sub16(ftz(a), ftz(b), c))))
REFERENCE(mul16, multiplied(&soft_f16, a, b))
REFERENCE(mulbf, multiplied(&soft_bf16, a, b))
REFERENCE(fma16, fused(&soft_f16, a, b, c))
REFERENCE(fmabf, fused(&soft_bf16, a, b, c))

static uint64_t pick(const struct soft_format *format, bool min, bool keep_nan, uint64_t a,
	uint64_t b)
{
	struct soft x = soft_decode(format, U16(a)), y = soft_decode(format, U16(b));
	int a_key = a & 0x8000 ? -1 - (int)(a & 0x7fff) : (int)(a & 0x7fff);
	int b_key = b & 0x8000 ? -1 - (int)(b & 0x7fff) : (int)(b & 0x7fff);
	if (x.nan || y.nan) {
		return keep_nan || (x.nan && y.nan) ? 0x7fff : U16(x.nan ? b : a);
	}
	return U16((a_key < b_key) == min ? a : b);
}

REFERENCE(min16, pick(&soft_f16, true, false, a, b))

static uint64_t signed_by(uint64_t sign, uint64_t value)
{
	return value == 0x7fff ? value : value | (sign & 0x8000);
}

/* -1, 0, 1; 2 if they cannot be compared. */
static int compared(const struct soft_format *format, uint64_t a, uint64_t b)
{
	double x = soft_double(soft_decode(format, U16(a)));
	double y = soft_double(soft_decode(format, U16(b)));
	return isnan(x) || isnan(y) ? 2 : x < y ? -1 : x > y;
}

REFERENCE(ge16ftz, (compared(&soft_f16, ftz(a), ftz(b)) & ~1) == 0 ? 0x3c00 : 0)
REFERENCE(nebf, (compared(&soft_bf16, a, b) & 1) ? 0x3f80 : 0)

/* A reference on each half. */
static uint64_t both(uint64_t (*of)(uint64_t, uint64_t, uint64_t), uint64_t a, uint64_t b,
	uint64_t c)
{
	return of(U16(a), U16(b), U16(c)) | of(U16(a >> 16), U16(b >> 16), U16(c >> 16)) << 16;
}

/* References on f32. */

static uint64_t wide16(uint64_t a)
{
	return soft_encode(&soft_f32, soft_decode(&soft_f16, U16(a)), SOFT_NEAREST, false);
}

static uint64_t add32(uint64_t a, uint64_t b, enum soft_round round)
{
	struct soft x = soft_decode(&soft_f32, U32(a)), y = soft_decode(&soft_f32, U32(b));
	struct soft sum = soft_add(x, y);
	if (!sum.nan && !sum.inf && !sum.digits && x.negative != y.negative) {
		sum.negative = round == SOFT_DOWN;
	}
	return soft_encode(&soft_f32, sum, round, false);
}

static uint64_t fma32(uint64_t a, uint64_t b, uint64_t c, enum soft_round round)
{
	struct soft product = soft_mul(soft_decode(&soft_f32, U32(a)),
		soft_decode(&soft_f32, U32(b)));
	struct soft sum = soft_add(product, soft_decode(&soft_f32, U32(c)));
	return soft_encode(&soft_f32, sum, round, false);
}

static uint64_t ftz32(uint64_t a)
{
	return a & 0x7f800000 ? U32(a) : a & 0x80000000;
}

static uint64_t mul32ftz(uint64_t a, uint64_t b)
{
	struct soft product = soft_mul(soft_decode(&soft_f32, ftz32(a)),
		soft_decode(&soft_f32, ftz32(b)));
	return ftz32(soft_encode(&soft_f32, product, SOFT_NEAREST, false));
}

/* The smallest of three, or the largest magnitude. */
static uint64_t pick32(bool largest, bool keep_nan, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t all[] = {U32(a), U32(b), U32(c)};
	int64_t best = 0;
	bool any = false, nan = false;
	for (size_t i = 0; i < countof(all); i++) {
		uint64_t value = largest ? all[i] & 0x7fffffff : all[i];
		int64_t size = (int64_t)(value & 0x7fffffff);
		int64_t key = value >> 31 ? -1 - size : size;
		if (size > 0x7f800000) {
			nan = true;
		} else if (!any || (largest ? key > best : key < best)) {
			best = key;
			any = true;
		}
	}
	bool none = !any || (nan && keep_nan);
	return none ? 0x7fffffff : best < 0 ? U32(-1 - best) | 1u << 31 : U32((uint64_t)best);
}

/* References for conversions: of an f32, to an f32, of small ones. */

static uint64_t to(const struct soft_format *format, uint64_t a, enum soft_round round, bool finite)
{
	return soft_encode(format, soft_decode(&soft_f32, U32(a)), round, finite);
}

static uint64_t of_int(const struct soft_format *format, int64_t value, enum soft_round round)
{
	struct soft number = {.negative = value < 0,
		.digits = value < 0 ? -(uint64_t)value : (uint64_t)value};
	return soft_encode(format, number, round, false);
}

/* cvt.rs, PTX ISA 9.7.9.22: away from zero if `random` and the 16 bits that go carry. */
static uint64_t rs_bf(uint64_t a, uint64_t random, bool finite)
{
	bool carry = (uint32_t)U16(a) + U16(random) > 0xffff;
	enum soft_round away = a >> 31 & 1 ? SOFT_DOWN : SOFT_UP;
	return to(&soft_bf16, a, carry ? away : SOFT_ZERO, finite);
}

static uint64_t tf32(uint64_t a, enum soft_round round, bool finite)
{
	bool nan = (a & 0x7fffffff) > 0x7f800000;
	return nan ? 0x7fffffff : to(&soft_tf32, a, round, finite) << 13;
}

/* Two codes, of which each has `width` bits, as f16. */
static uint64_t halves_of(const struct soft_format *format, uint64_t a, unsigned width)
{
	struct soft low = soft_decode(format, a), high = soft_decode(format, a >> width);
	return soft_encode(&soft_f16, high, SOFT_NEAREST, false) << 16
		| soft_encode(&soft_f16, low, SOFT_NEAREST, false);
}

/* The same as bf16. */
static uint64_t brains_of(const struct soft_format *format, uint64_t a, unsigned width)
{
	struct soft low = soft_decode(format, a), high = soft_decode(format, a >> width);
	return soft_encode(&soft_bf16, high, SOFT_NEAREST, false) << 16
		| soft_encode(&soft_bf16, low, SOFT_NEAREST, false);
}

/* log2 of an f32, rounded, as ue8m0. */
static uint64_t power_of(uint64_t a, bool up, bool finite)
{
	double size = fabs(soft_double(soft_decode(&soft_f32, U32(a))));
	int exponent;
	if (isnan(size) || isinf(size)) {
		return isnan(size) || !finite ? 0xff : 0xfe;
	}
	bool exact = frexp(size, &exponent) == 0.5;
	exponent += 126 + (up && !exact);
	return size <= 0x1p-127 || exponent < 0 ? 0 : exponent > 0xfe && finite ? 0xfe
		: (uint64_t)exponent;
}

static uint64_t bfloat_of_power(uint64_t a)
{
	struct soft power = {.digits = 1, .exponent = (int)(a & 0xff) - 127,
		.nan = (a & 0xff) == 0xff};
	return soft_encode(&soft_bf16, power, SOFT_NEAREST, false);
}

/* An s32 as one of `bits`. */
static uint64_t clamped(uint64_t a, unsigned bits, bool sign)
{
	int64_t value = (int32_t)U32(a);
	int64_t most = (INT64_C(1) << (bits - sign)) - 1, least = sign ? -most - 1 : 0;
	value = value < least ? least : value > most ? most : value;
	return (uint64_t)value & ((UINT64_C(1) << bits) - 1);
}

/* The cases. */

enum operands { ONE, HALVES, REALS };

#define X(id, text, operands, ...) \
	static uint64_t want_##id(uint64_t a, uint64_t b, uint64_t c) \
	{ \
		(void)a, (void)b, (void)c; \
		return __VA_ARGS__; \
	}
#include "half_cases.def"
#undef X

static const struct half_case {
	const char *name;
	const char *text;
	enum operands operands;
	uint64_t (*want)(uint64_t a, uint64_t b, uint64_t c);
} cases[] = {
#define X(id, text, operands, ...) {#id, text, operands, want_##id},
#include "half_cases.def"
#undef X
};

/* The bank of register 0, which is the first operand, of the last instruction. */
static char result_bank(const struct half_case *c)
{
	const char *last = strrchr(c->text, '.');
	return strchr(last, '%')[1];
}

/* What the threads read and write: the result, then three operands. */
static struct batch {
	uint64_t sets[1024][4];
	unsigned count;
} batch;

/* A warp; or many, where a launch takes long. */
static unsigned threads(void)
{
	return driver_is_ours ? 32 : countof(batch.sets);
}

static const char *store_of(const struct half_case *c)
{
	switch (result_bank(c)) {
	case 'b':
		return "cvt.u64.u8 %d0, %b0;";
	case 'h':
		return "cvt.u64.u16 %d0, %h0;";
	case 'p':
		return "selp.u64 %d0, 1, 0, %p0; selp.u64 %d4, 2, 0, %p5; or.b64 %d0, %d0, %d4;";
	case 'f':
		return "mov.b32 %r0, %f0; cvt.u64.u32 %d0, %r0;";
	case 'r':
		return "cvt.u64.u32 %d0, %r0;";
	default:
		return "";
	}
}

static void open_case(const struct half_case *c, const char *width)
{
	static char text[4096];
	size_t len = (size_t)sprintf(text, HEAD ".entry k(.param .u64 p) {\n"
		".reg .b8 %%b<9>; .reg .b16 %%h<9>; .reg .b32 %%r<9>; .reg .b64 %%d<9>;\n"
		".reg .pred %%p<9>; .reg .f32 %%f<9>; .reg .u64 %%a;\nld.param.u64 %%a, [p];\n"
		"mov.u32 %%r0, %%tid.x; mad.wide.u32 %%a, %%r0, 32, %%a;\n"
		"setp.eq.u64 %%p5, 0, 1;\n");
	for (int r = 1; r <= 3; r++) {
		len += (size_t)sprintf(text + len, "ld.u64 %%d%d, [%%a+%d]; cvt.u32.u64 %%r%d, "
			"%%d%d;cvt.u16.u64 %%h%d, %%d%d; mov.b32 %%f%d, %%r%d;\n"
			"and.b32 %%r0, %%r%d, 1; setp.ne.u32 %%p%d, %%r0, 0;\n",
			r, 8 * r, r, r, r, r, r, r, r, r);
	}
	sprintf(text + len, "%s\n%s\nst.u64 [%%a], %%d0; ret; }\n", c->text, store_of(c));
	setenv("KUDZU_CPU_WIDTH", width, 1);
	machine_open(text);
	machine_compile("k");
	batch.count = 0;
}

static void run_threads(void)
{
	machine_run(threads(), batch.sets, sizeof(batch.sets));
}

/* NaNs of f32 are not told apart: the processor makes them. */
static bool same(char bank, uint64_t got, uint64_t want)
{
	bool nan = (got & 0x7fffffff) > 0x7f800000 && (want & 0x7fffffff) > 0x7f800000;
	if (bank == 'd') {
		return same('f', U32(got), U32(want)) && same('f', got >> 32, want >> 32);
	}
	return got == want || (bank == 'f' && nan);
}

static bool is_nan16(const char *text, uint64_t bits)
{
	return (bits & 0x7fff) > (strstr(text, "bf16") ? 0x7f80 : 0x7c00);
}

/* What PTX leaves open and GPUs do in another way: which NaN neg and abs give; that conversions to
 * tf32 lose a NaN which is one by its last bits; and they flush what is too small before they round
 * it. */
static bool is_allowed(const struct half_case *t, uint64_t got, uint64_t want)
{
	bool flushed = strstr(t->text, ".ftz") && (want & 0x7fff) == 0x400 && (got & 0x7fff) == 0;
	bool nans = strstr(t->text, "tf32") && (want & 0x7fffffff) > 0x7f800000;
	if (strncmp(t->text, "neg", 3) == 0 || strncmp(t->text, "abs", 3) == 0) {
		bool pair = strstr(t->text, "x2");
		nans = (U16(got) == U16(want)
			|| (is_nan16(t->text, got) && is_nan16(t->text, want)))
			&& (!pair || got >> 16 == want >> 16
				|| (is_nan16(t->text, got >> 16) && is_nan16(t->text, want >> 16)));
	}
	return (flushed || nans) && driver_lacks("it has its own way");
}

static void run_batch(const struct half_case *t)
{
	run_threads();
	for (unsigned i = 0; i < batch.count; i++) {
		const uint64_t *set = batch.sets[i];
		uint64_t want = t->want(set[1], set[2], set[3]);
		if (!same(result_bank(t), set[0], want) && !is_allowed(t, set[0], want)) {
			ck_abort_msg("%s of %#llx, %#llx, %#llx: got %#llx, expected %#llx",
				t->text, (unsigned long long)set[1], (unsigned long long)set[2],
				(unsigned long long)set[3], (unsigned long long)set[0],
				(unsigned long long)want);
		}
	}
	batch.count = 0;
}

static void try_case(const struct half_case *t, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t set[] = {~UINT64_C(0), a, b, c};
	memcpy(batch.sets[batch.count++], set, sizeof(set));
	if (batch.count == threads()) {
		run_batch(t);
	}
}

static uint64_t random_bits(void)
{
	static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Zeros, the ends of the ranges of both formats, ones, neighbours of ties, infinities, NaNs. */
static const uint16_t specials[] = {0, 1, 2, 3, 0x3ff, 0x400, 0x401, 0x7f, 0x80, 0x81, 0x3bff,
	0x3c00, 0x3c01, 0x3e00, 0x3f80, 0x3f81, 0x4000, 0x4248, 0x5bff, 0x7bfe, 0x7bff, 0x7c00,
	0x7c01, 0x7e00, 0x7f7f, 0x7f80, 0x7f81, 0x7fff, 0x1400, 0x0c00, 0x6400, 0x2000, 0x5555};

static uint64_t special(size_t i)
{
	uint16_t low = specials[i / 2 % countof(specials)] | (i & 1 ? 0x8000u : 0);
	return low | (uint64_t)specials[(i * 7 + 3) % countof(specials)] << 16;
}

static void try_halves(const struct half_case *t)
{
	size_t count = 2 * countof(specials);
	size_t third = strchr(t->text, '3') ? count : 1;
	for (size_t i = 0; i < count * count * third; i++) {
		try_case(t, special(i % count), special(i / count % count),
			special(i / count / count));
	}
	for (size_t i = 0; i < (size_t)support_how_many(60000, 20000, 5000); i++) {
		try_case(t, random_bits(), random_bits(), random_bits());
	}
}

/* f32 bits beside what a half is, and beside the middle between two. */
static uint64_t real_near(uint32_t i)
{
	static const uint32_t steps[] = {0, 1, ~0u, 0x1000, 0x0fff, 0x1001, 0x8000, 0x7fff, 0x8001};
	uint32_t half = i * 40503u >> 4 & 0xffff;
	uint32_t step = steps[i % countof(steps)];
	return U32((step & 0x8000 ? (uint64_t)half << 16 : wide16(half)) + step);
}

static void try_reals(const struct half_case *t)
{
	static const uint32_t odd[] = {0, 1u << 31, 1, 0x7fffff, 0x800000, 0x3f800000, 0x7f7fffff,
		0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffffffff};
	for (size_t i = 0; i < countof(odd) * countof(odd); i++) {
		uint64_t a = odd[i % countof(odd)], b = odd[i / countof(odd)];
		try_case(t, a | b << 32, b | a << 32, odd[i % 7]);
	}
	for (uint32_t i = 0; i < (uint32_t)support_how_many(100000, 30000, 5000); i++) {
		uint64_t low = real_near(i);
		uint64_t other = i & 64 ? random_bits() : real_near(i + (i >> 9)) << 32;
		try_case(t, low | (other & ~UINT64_C(0xffffffff)),
			real_near(i * 3 + 1) | other << 32,
			i & 128 ? random_bits() : low ^ 1u << 31);
	}
}

static const char *const widths[] = {"1", "32"};

/* PTX 9.1 and 9.2 have these. */
static bool is_newer(const struct half_case *t)
{
	static const char *const forms[] = {"e2m3x2.f16x2 ", "e2m1x2.f16x2 ", "e4m3x2.bf16x2 ",
		"e3m2x2.bf16x2 ", "bf16x2.e4m3x2 ", "bf16x2.e5m2x2 "};
	bool newer = false;
	for (size_t i = 0; i < countof(forms); i++) {
		newer = newer || strstr(t->text, forms[i]);
	}
	return newer;
}

START_TEST(halves_agree_with_integer_arithmetic)
{
	const struct half_case *t = &cases[_i / 2];
	if ((_i % 2 && driver_lacks(DRIVER_WIDTHS))
	    || (is_newer(t) && driver_lacks("it is of PTX 9.0"))
	    || !support_is_tried(_i, 2 * countof(cases), 101, 33)) {
		return;
	}
	open_case(t, widths[_i % 2]);
	if (t->operands == HALVES) {
		try_halves(t);
	} else if (t->operands == REALS) {
		try_reals(t);
	} else {
		for (uint32_t i = 0; i < 0x10000; i++) {
			try_case(t, i | (uint64_t)U16(i * 40503u) << 16, random_bits(), 0);
		}
	}
	run_batch(t);
	machine_close();
}
END_TEST

/* Functions that are not exact: within how much of a unit in the last place. */
static const struct function {
	const char *text;
	const struct soft_format *format;
	double (*exact)(double);
	bool flush;
} functions[] = {
	{"ex2.approx.f16 %h0, %h1;", &soft_f16, exp2, false},
	{"ex2.approx.ftz.bf16 %h0, %h1;", &soft_bf16, exp2, true},
	{"tanh.approx.f16 %h0, %h1;", &soft_f16, tanh, false},
	{"tanh.approx.bf16 %h0, %h1;", &soft_bf16, tanh, false},
};

static double flushed(const struct function *f, double value)
{
	return f->flush && fabs(value) < 0x1p-126 ? copysign(0, value) : value;
}

static void check_function(const struct function *f, uint64_t in, uint64_t out)
{
	double x = soft_double(soft_decode(f->format, in));
	double exact = f->exact(flushed(f, x));
	double got = soft_double(soft_decode(f->format, out));
	int place = 0;
	frexp(exact, &place);
	int lowest = 1 - f->format->bias;
	place = (place - 1 > lowest ? place - 1 : lowest) - (int)f->format->fraction;
	bool too_large = fabs(exact) >= ldexp(1 - 0x1p-13, f->format->bias + 1) && isinf(got);
	bool gone = f->flush && exact < 0x1p-126 && got == 0;
	bool ok = isnan(exact) ? out == 0x7fff : too_large || gone
		|| got == exact || fabs(got - exact) <= ldexp(0.51, place);
	ok = ok || driver_lacks("the bounds are ours");
	if (!ok) { /* Check writes to a file at each assertion */
		ck_abort_msg("%s of %#x: got %a, expected %a", f->text, U32(in), got, exact);
	}
}

START_TEST(functions_of_halves_keep_their_bounds)
{
	const struct function *f = &functions[_i / 2];
	const struct half_case plain = {.text = f->text};
	if (_i % 2 && driver_lacks(DRIVER_WIDTHS)) {
		return;
	}
	open_case(&plain, widths[_i % 2]);
	for (uint32_t i = 0; i < 0x10000; i += threads()) {
		for (uint32_t j = 0; j < threads(); j++) {
			batch.sets[j][1] = i + j;
		}
		run_threads();
		for (uint32_t j = 0; j < threads(); j++) {
			check_function(f, i + j, batch.sets[j][0]);
		}
	}
	machine_close();
}
END_TEST

/* Atomic operations of 32 threads on 16 bytes (at %a, shared at 0) that start as given; what they
 * leave there, and what the last one found. */
static const struct atomic {
	const char *text;
	uint64_t before[2], after[2], last;
} atomics[] = {
	{"atom.global.add.noftz.f16 %h0, [%a], %h1; cvt.u64.u16 %d0, %h0;", {0xaaaa3c00},
		{0xaaaa5020}, 0x5000},
	{"red.global.add.noftz.bf16 [%a+2], %h2;", {0x3f800000}, {0x42040000}, 7},
	{"atom.add.noftz.f16x2 %r0, [%a], %r1; cvt.u64.u32 %d0, %r0;", {0x3c000000},
		{0x50205000}, 0x50004fc0},
	{"atom.relaxed.gpu.global.add.noftz.bf16x2 %r0, [%a], %r2; cvt.u64.u32 %d0, %r0;",
		{0x3f803f80}, {0x42044204}, 0x42004200},
	{"atom.shared.add.noftz.f16x2 %r0, [0], %r1; cvt.u64.u32 %d0, %r0;", {0x3c000000},
		{0x50205000}, 0x50004fc0},
	{"red.shared.add.noftz.f16 [4], %h1;", {0x3c0000000000}, {0x502000000000}, 7},
	{"atom.global.v4.f32.add {%f5, %f6, _, %f7}, [%a], {%f1, %f1, %f1, %f1};\n"
		"mov.b32 %r0, %f6; cvt.u64.u32 %d0, %r0;", {0x3f80000000000000, 0x3f800000},
		{0x4204000042000000, 0x4200000042040000}, 0x42000000},
	{"red.global.add.v2.f32 [%a+8], {%f1, 0f40000000};", {0, 0},
		{0, 0x4280000042000000}, 7},
	{"atom.global.v8.f16.max.noftz {%h5, _, _, _, _, _, _, _}, [%a],\n"
		"{%h1, %h1, %h1, %h1, %h3, %h3, %h3, %h3}; cvt.u64.u16 %d0, %h5;",
		{0x7fff000080004000, 0}, {0x3c003c003c004000, 0x5000500050005000}, 0x4000},
	{"red.global.v4.bf16x2.min.noftz [%a], {%r2, %r2, %r2, %r2};",
		{0x3f80400000008000, 0x7fff7fff7f807f80}, {0x3f803f8000008000, 0x3f803f803f803f80},
		7},
	{"atom.global.exch.b128 %q1, [%a], %q0; mov.b128 {%d0, %d4}, %q1;", {5, 6}, {1, 2}, 1},
	{"atom.global.exch.b128 %q1, [%a], %q0;", {5, 6}, {1, 2}, 7},
	{"atom.acquire.gpu.global.cas.b128 %q1, [%a], %q2, %q0;", {8, 9}, {1, 2}, 7},
	{"atom.acquire.cta.global.cas.b128 %q1, [%a], %q2, %q0; mov.b128 {%d4, %d0}, %q1;", {8, 9},
		{1, 2}, 2},
	{"atom.shared.cas.b128 %q1, [0], %q2, %q0; mov.b128 {%d4, %d0}, %q1;", {8, 7}, {8, 7}, 7},
	{"atom.global.add.L2::cache_hint.u32 %r0, [%a], 2, %d5; cvt.u64.u32 %d0, %r0;", {1}, {65},
		63},
};

START_TEST(atomics_of_all_threads_add_up)
{
	static uint64_t memory[4] __attribute__((aligned(16)));
	static uint64_t shared[4] __attribute__((aligned(16)));
	const struct atomic *t = &atomics[_i / 2];
	char text[2048];
	if ((_i % 2 && driver_lacks(DRIVER_WIDTHS))
	    || (strstr(t->text, "shared") && driver_lacks("nobody sees its shared memory"))) {
		return;
	}
	snprintf(text, sizeof(text), HEAD ".entry k(.param .u64 p) {\n"
		".reg .b16 %%h<9>; .reg .b32 %%r<9>; .reg .b64 %%d<9>; .reg .f32 %%f<9>;\n"
		".reg .b128 %%q<9>; .reg .u64 %%a; ld.param.u64 %%a, [p];\n"
		"mov.u64 %%d0, 7; mov.b16 %%h1, 0x3c00; mov.b32 %%r1, 0x3c003c00;\n"
		"mov.b16 %%h2, 0x3f80; mov.b32 %%r2, 0x3f803f80; mov.b16 %%h3, 0x5000;\n"
		"mov.f32 %%f1, 0f3F800000; mov.b64 %%d1, 1; mov.b64 %%d2, 2; mov.b64 %%d3, 8;\n"
		"mov.b64 %%d6, 9; mov.b128 %%q0, {%%d1, %%d2}; mov.b128 %%q2, {%%d3, %%d6};\n"
		"createpolicy.fractional.L2::evict_last.b64 %%d5, 0.5;\n"
		"%s\nst.u64 [%%a+16], %%d0; ret; }\n", t->text);
	setenv("KUDZU_CPU_WIDTH", widths[_i % 2], 1);
	machine_open(text);
	machine_compile("k");
	uint64_t *place = strstr(t->text, "shared") ? shared : memory;
	memcpy(place, t->before, sizeof(t->before));
	machine.warp.shared = (uint8_t *)shared;
	machine_run(32, memory, sizeof(memory));
	ck_assert_uint_eq(place[0], t->after[0]);
	ck_assert_uint_eq(place[1], t->after[1]);
	ck_assert(memory[2] == t->last || driver_lacks("its threads have no order"));
	machine_close();
}
END_TEST

SUITE(half)
{
	Suite *suite = suite_create("half");
	TCase *tc = tcase_create("instructions");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, halves_agree_with_integer_arithmetic, 0, 2 * countof(cases));
	tcase_add_loop_test(tc, functions_of_halves_keep_their_bounds, 0, 2 * countof(functions));
	tcase_add_loop_test(tc, atomics_of_all_threads_add_up, 0, 2 * countof(atomics));
	suite_add_tcase(suite, tc);
	return suite;
}

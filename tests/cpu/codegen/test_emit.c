/* SPDX-License-Identifier: MIT */
/*
 * The code generator, from PTX text to results, one instruction at a time.  emit_cases.def has the
 * results in C; they are tested on all combinations of difficult operands.  The approximate
 * functions follow, with their error bounds.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "support/bits.h"
#include "cpu/support/driver.h"
#include "cpu/support/machine.h"
#include "cpu/support/ptx_float.h"
#include "support/suite.h"

#include <check.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Views of an operand. */
static uint8_t U8(uint64_t a) { return (uint8_t)a; }
static uint16_t U16(uint64_t a) { return (uint16_t)a; }
static uint32_t U32(uint64_t a) { return (uint32_t)a; }
static int8_t S8(uint64_t a) { return (int8_t)a; }
static int16_t S16(uint64_t a) { return (int16_t)a; }
static int32_t S32(uint64_t a) { return (int32_t)a; }
static int64_t S64(uint64_t a) { return (int64_t)a; }
static int64_t S24(uint64_t a) { return (int32_t)(a << 8) >> 8; }

static float F32(uint64_t a) { return f32_of(a); }
static double F64(uint64_t a) { return f64_of(a); }

/* An expression of x, y, z (the operands a, b, c) under a rounding mode of the processor. */
#define IN(mode, expr) __extension__({ \
	volatile uint64_t x = a, y = b, z = c; \
	(void)x, (void)y, (void)z; \
	fesetround(mode); \
	volatile __typeof__(expr) in_result = (expr); \
	fesetround(FE_TONEAREST); \
	in_result; \
})

/* References that are more than an expression. */

static int32_t clamp32(int64_t value)
{
	return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

static uint32_t dot4(uint64_t a, uint64_t b, bool a_signed, bool b_signed)
{
	int sum = 0;
	for (int i = 0; i < 32; i += 8) {
		sum += (a_signed ? S8(a >> i) : U8(a >> i)) * (b_signed ? S8(b >> i) : U8(b >> i));
	}
	return (uint32_t)sum;
}

static uint32_t bytes_apart(uint64_t a, uint64_t b)
{
	uint32_t all = 0;
	for (int i = 0; i < 32; i += 8) {
		all |= (uint32_t)abs(U8(a >> i) - U8(b >> i)) << i;
	}
	return all;
}

/* vmad of a sum in all its bits, or of one that is clamped: the ends of s32, or of u32. */
static uint32_t scaled(__int128 sum, int shift, int saturate)
{
	__int128 least = saturate == 's' ? INT32_MIN : 0;
	__int128 most = saturate == 's' ? INT32_MAX : UINT32_MAX;
	sum >>= shift;
	if (saturate) {
		sum = sum < least ? least : sum > most ? most : sum;
	}
	return (uint32_t)sum;
}

static int bfind64(int64_t value, int top)
{
	uint64_t bits = value < 0 ? ~(uint64_t)value : (uint64_t)value;
	return bits ? top - __builtin_clzll(bits) : -1;
}

static uint64_t reversed(uint64_t value, unsigned width)
{
	uint64_t out = 0;
	for (unsigned i = 0; i < width; i++) {
		out |= (value >> i & 1) << (width - 1 - i);
	}
	return out;
}

/* bfe, bit by bit as the PTX ISA writes it down. */
static uint64_t field(uint64_t a, uint64_t pos, uint64_t len, unsigned width, bool sign)
{
	uint64_t top = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
	uint64_t fill = sign && len ? a >> top & 1 : 0;
	uint64_t out = 0;
	for (unsigned i = 0; i < width; i++) {
		out |= (i < len && pos + i < width ? a >> (pos + i) & 1 : fill) << i;
	}
	return out;
}

static uint64_t inserted(uint64_t a, uint64_t b, uint64_t pos, uint64_t len, unsigned width)
{
	for (unsigned i = 0; i < len && pos + i < width; i++) {
		uint64_t bit = UINT64_C(1) << (pos + i);
		b = (b & ~bit) | (a >> i & 1 ? bit : 0);
	}
	return b;
}

static uint32_t permuted(uint64_t a, uint64_t b, uint64_t selector)
{
	uint64_t bytes = U32(a) | b << 32;
	uint32_t out = 0;
	for (unsigned i = 0; i < 4; i++) {
		unsigned pick = selector >> (4 * i) & 15;
		uint8_t byte = U8(bytes >> (8 * (pick & 7)));
		out |= (uint32_t)(pick & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << (8 * i);
	}
	return out;
}

static int64_t clamp_to(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static int64_t distance64(int64_t a, int64_t b)
{
	return a < b ? b - a : a - b;
}

/* Rounded away from zero where it is no whole number. */
static int average(int a, int b)
{
	return (a + b + (a + b >= 0 ? 1 : -1)) / 2;
}

/* fns, step by step as the PTX ISA writes it down; with no such base there is nothing to find. */
static uint32_t nth_bit(uint32_t mask, uint32_t base, int32_t offset)
{
	int64_t left = offset < 0 ? -(int64_t)offset : offset;
	if (offset == 0) {
		return base < 32 && mask >> base & 1 ? base : ~0u;
	}
	for (int64_t at = base; at >= 0 && at < 32; at += offset > 0 ? 1 : -1) {
		if (mask >> at & 1 && --left == 0) {
			return (uint32_t)at;
		}
	}
	return ~0u;
}

static float flushed(float value)
{
	return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

static int64_t clamped(double value, int64_t low, int64_t high)
{
	return isnan(value) ? 0 : value < (double)low ? low : value > (double)high ? high
		: (int64_t)value;
}

static uint64_t int64_of(double value)
{
	return (uint64_t)(!(value >= -0x1p63) ? INT64_MIN : value >= 0x1p63 ? INT64_MAX
		: (int64_t)value);
}

static uint64_t uint64_of(double value)
{
	return isnan(value) ? UINT64_C(1) << 63 : value <= 0 ? 0 : value >= 0x1p64 ? UINT64_MAX
		: (uint64_t)value;
}

/* A small float of `digits` binary digits: the value in units of its last place, rounded. */
static uint16_t small_of(long double value, int digits, int bias, int mode)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	uint32_t infinity = (2u * (unsigned)bias + 1) << (digits - 1);
	int lowest = 2 - bias - digits;
	int place;
	if (isnan(value) || isinf(value) || value == 0) {
		return isnan(value) ? 0x7fff : (uint16_t)(value == 0 ? sign : sign | infinity);
	}

	frexpl(value, &place);
	place = place - digits > lowest ? place - digits : lowest;
	fesetround(mode);
	volatile long double units = rintl(ldexpl(value, -place));
	fesetround(FE_TONEAREST);
	uint64_t code = (uint64_t)fabsl(units) + ((uint64_t)(place - lowest) << (digits - 1));
	if (code >= infinity) {
		bool inward = mode == FE_TOWARDZERO || mode == (sign ? FE_UPWARD : FE_DOWNWARD);
		code = infinity - inward;
	}
	return (uint16_t)(sign | code);
}

static uint16_t half_toward(double value, int mode)
{
	return small_of(value, 11, 15, mode);
}

static uint16_t half_of(double value)
{
	return half_toward(value, FE_TONEAREST);
}

static uint16_t bfloat_of(uint64_t value)
{
	return small_of(value, 8, 127, FE_TONEAREST);
}

static uint16_t bfloat_of_f32(uint32_t bits)
{
	return small_of(F32(bits), 8, 127, FE_TONEAREST);
}

static float from_half(uint16_t half)
{
	int exponent = half >> 10 & 31;
	int digits = (half & 0x3ff) + (exponent ? 0x400 : 0);
	float size = ldexpf((float)digits, (exponent ? exponent : 1) - 25);
	if (exponent == 31) {
		size = half & 0x3ff ? NAN : INFINITY;
	}
	return half & 0x8000 ? -size : size;
}

/* The instructions and their references. */

enum result { U1_RESULT, U16_RESULT, U32_RESULT, U64_RESULT, F32_RESULT, F64_RESULT };
enum family { ints, bits, picks, cvts, f32, f64, FAMILY_COUNT };

#define U1_BITS(value) ((uint64_t)(value) & 1)
#define U16_BITS(value) ((uint64_t)(uint16_t)(value))
#define U32_BITS(value) ((uint64_t)(uint32_t)(value))
#define U64_BITS(value) ((uint64_t)(value))
#define F32_BITS(value) bits_of_f32((float)(value))
#define F64_BITS(value) bits_of_f64((double)(value))

#define X(family, id, text, result, ...) \
	static uint64_t want_##family##_##id(uint64_t a, uint64_t b, uint64_t c, uint64_t d) \
	{ \
		(void)a, (void)b, (void)c, (void)d; \
		return result##_BITS((__VA_ARGS__)); \
	}
#include "emit_cases.def"
#undef X

static const struct example {
	enum family family;
	enum result result;
	const char *name;
	const char *text;
	uint64_t (*want)(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
} examples[] = {
#define X(family, id, text, result, ...) \
	{family, result##_RESULT, #family "_" #id, text, want_##family##_##id},
#include "emit_cases.def"
#undef X
};

static const uint64_t int_values[] = {
	0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000,
	0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
	0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffffe, 0x3210765489abcdef,
	0x9e3779b97f4a7c15, 0x00ff00ff00ff1234, 0x1000001000001, 0xffffff7fffffffff, 0x10100000001,
};

static const float f32_values[] = {
	0.0f, -0.0f, 1.0f, -1.0f, 0x1p-149f, -0x1p-149f, 0x0.fffffep-126f, 0x1p-126f, -0x1p-126f,
	0x1.8p-130f, 0x1.fffffep127f, -0x1.fffffep127f, INFINITY, -INFINITY, NAN, 0.5f, 1.5f, 2.5f,
	-0.7f, 0x1.555556p-2f, 0x1.000002p0f, 0x1.fffffep-1f, 0x1.fffffcp-1f, 16777217.0f, 3e9f,
	-3e9f, 2147483648.0f, 1e20f, 65504.0f, 65519.0f, 65520.0f, 6e-8f, 2.9e-8f, 0x1.004p-14f,
	0x1.ffep-15f, -300.3f, 0x1.234566p-60f, -0x1.fedcbap60f, 0x1.8p126f,
};

static const double f64_values[] = {
	0.0, -0.0, 1.0, -1.0, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0x0.fffffffffffffp-1022, 0x1p-1021,
	0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023, INFINITY, -INFINITY, NAN, 0.5, 1.5, 2.5,
	-0.7, 1.0 / 3, 0x1.0000000000001p0, 0x1.fffffffffffffp-1, 2147483647.5, -2147483648.5,
	4294967295.5, 0x1p63, -0x1p63, 0x1p64, 0x1.fffffefp127, 0x1.ffffffp127, 0x1.000001p0,
	0x1.0000010000001p0, 0x1p-150, 0x1.8p-149, 65519.999, 65520.0, 0x1.002p0,
	0x1.0020000000001p0, 1e300, -1e-300, 0x1.0000000000001p-511, 0x1.0000000000001p-489,
	-0x1.fffffffffffffp-452, 0x1.7ffffffffffffp-538, 0x1.fffffffffffffp511, -0x1p970, 0x1.8p969,
};

static uint64_t operand_value(enum family family, size_t i)
{
	switch (family) {
	case f32:
		/* Integers, too, in the upper bits: some rows read %d or %p. */
		return bits_of_f32(f32_values[i]) | (uint64_t)i << 32;
	case f64:
		return bits_of_f64(f64_values[i]);
	default:
		return int_values[i];
	}
}

static size_t operand_values(enum family family)
{
	return family == f32 ? countof(f32_values) : family == f64 ? countof(f64_values)
		: countof(int_values);
}

/* Does the text read register `number` of some bank? */
static bool reads(const char *text, char number)
{
	for (const char *at = strchr(text, '%'); at; at = strchr(at + 1, '%')) {
		if (at[2] == number) {
			return true;
		}
	}
	return false;
}

static char *family_text(enum family family)
{
	static char text[256 * 1024];
	static const char *const stores[] = {
		"selp.u64 %d0, 1, 0, %p0;", "cvt.u64.u16 %d0, %h0;", "cvt.u64.u32 %d0, %r0;", "",
		"mov.b32 %r0, %f0; cvt.u64.u32 %d0, %r0;", "mov.b64 %d0, %g0;",
	};
	size_t len = (size_t)sprintf(text, HEAD);
	for (size_t i = 0; i < countof(examples); i++) {
		if (examples[i].family != family) {
			continue;
		}
		len += (size_t)sprintf(text + len, ".entry %s(.param .u64 p) {\n"
			".reg .b16 %%h<9>; .reg .b32 %%r<9>; .reg .b64 %%d<9>; .reg .pred %%p<9>;\n"
			".reg .f32 %%f<9>; .reg .f64 %%g<9>; .reg .b128 %%q<2>; .reg .u64 %%a;\n"
			"ld.param.u64 %%a, [p];\n%s", examples[i].name, driver_is_ours ? ""
			: "mov.u32 %r0, %tid.x; mad.wide.u32 %a, %r0, 40, %a;\n");
		for (int r = 1; r <= 4; r++) {
			len += (size_t)sprintf(text + len, "ld.u64 %%d%d, [%%a+%d];\n"
				"mov.b64 %%g%d, %%d%d; cvt.u32.u64 %%r%d, %%d%d;\n"
				"cvt.u16.u64 %%h%d, %%d%d; mov.b32 %%f%d, %%r%d;\n"
				"and.b32 %%r0, %%r%d, 1; setp.ne.u32 %%p%d, %%r0, 0;\n",
				r, 8 * r, r, r, r, r, r, r, r, r, r, r);
		}
		len += (size_t)sprintf(text + len, "%s\n%s\nst.u64 [%%a], %%d0; ret; }\n",
			examples[i].text, stores[examples[i].result]);
	}
	return text;
}

static bool same_result(enum result result, uint64_t a, uint64_t b)
{
	/* Which NaN it is PTX leaves open. */
	bool nans = result == U16_RESULT && a == 0x7e00 && b == 0x7fff
		&& driver_lacks("another NaN");
	return a == b || nans || (result == F32_RESULT && isnan(F32(a)) && isnan(F32(b)))
		|| (result == F64_RESULT && isnan(F64(a)) && isnan(F64(b)));
}

/* The results and operands of some threads: of one, so that code for operands that all lanes share
 * is tried here; but of many where a launch takes long. */
static struct batch {
	struct {
		uint64_t result;
		uint64_t in[4];
	} sets[256];
	size_t count;
} batch;

/* What is wrong, a line for each example. */
static struct str wrong = STR_INIT;

static void run_batch(const struct example *example)
{
	machine_run((uint32_t)batch.count, batch.sets, sizeof(batch.sets));
	for (size_t i = 0; i < batch.count; i++) {
		const uint64_t *in = batch.sets[i].in;
		uint64_t want = example->want(in[0], in[1], in[2], in[3]);
		uint64_t got = batch.sets[i].result;
		if (!same_result(example->result, got, want)) {
			str_addf(&wrong, "%s of %#llx, %#llx, %#llx, %#llx: got %#llx, expected "
				"%#llx\n",
				example->text, (unsigned long long)in[0], (unsigned long long)in[1],
				(unsigned long long)in[2], (unsigned long long)in[3],
				(unsigned long long)got, (unsigned long long)want);
			break;
		}
	}
	batch.count = 0;
}

static void try_operands(const struct example *example, const uint64_t in[4], bool is_last)
{
	/* Threads would share what is shared. */
	bool alone = driver_is_ours || strstr(example->text, ".shared");
	memcpy(batch.sets[batch.count++].in, in, 4 * sizeof(*in));
	if (is_last || alone || batch.count == countof(batch.sets)) {
		run_batch(example);
	}
}

/* What ptxas makes something else of than the PTX ISA says, and what need not be exact. */
static bool is_other(const struct example *example)
{
	static const char *const texts[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl",
		"vshr", "vmad", "vset", "st.local.f32 [l], %d1", ".approx", "div.full", "fns."};
	for (size_t i = 0; i < countof(texts); i++) {
		if (strstr(example->text, texts[i]) && driver_lacks("ptxas has its own way")) {
			return true;
		}
	}
	return false;
}

/* All combinations of values in the operands that the instruction reads. */
static void try_example(const struct example *example)
{
	size_t values = operand_values(example->family);
	size_t total = 1;
	size_t counts[4];
	for (size_t i = 0; i < 4; i++) {
		counts[i] = reads(example->text, (char)('1' + i)) ? values : 1;
		total *= counts[i];
	}

	machine_compile(example->name);
	size_t before = wrong.len;
	for (size_t n = 0; n < total && wrong.len == before; n++) {
		uint64_t in[4];
		size_t rest = n;
		for (size_t i = 0; i < 4; i++) {
			in[i] = operand_value(example->family, rest % counts[i]);
			rest /= counts[i];
		}
		try_operands(example, in, n + 1 == total);
	}
}

START_TEST(instructions_agree_with_c)
{
	str_clear(&wrong);
	machine_open(family_text((enum family)_i));
	for (size_t i = 0; i < countof(examples); i++) {
		if (examples[i].family == (enum family)_i && !is_other(&examples[i])) {
			try_example(&examples[i]);
		}
	}
	if (wrong.len > 0) {
		fputs(wrong.data, stderr); /* Check takes no long messages */
		ck_abort_msg("%.500s", wrong.data);
	}
	machine_close();
}
END_TEST

static double inverse_root(double x)
{
	return 1 / sqrt(x);
}

static double third_of_inverse(double x)
{
	return 1 / (3 * x);
}

/* Exact up to the last step: what is left of a turn is exact. */
static double sin_of_turns(double x)
{
	return sin(6.283185307179586 * (x - rint(x)));
}

static double cos_of_turns(double x)
{
	return cos(6.283185307179586 * (x - rint(x)));
}

/* The approximate functions, and the largest error that PTX allows between two arguments. */
static const struct approximation {
	const char *text;
	double (*exact)(double);
	double low, high;
	double absolute;
	double relative;
} approximations[] = {
	{"ex2.approx.f32 %f2, %f1;", exp2, -148, 127.99, 0x1p-149, 0x1p-22},
	{"ex2.approx.ftz.f32 %f2, %f1;", exp2, -125.9, 127.99, 0, 0x1p-22},
	{"lg2.approx.f32 %f2, %f1;", log2, 0x1p-140, 1e-10, 0, 0x1p-22},
	{"lg2.approx.f32 %f2, %f1;", log2, 0.4, 2.2, 0, 0x1p-22},
	{"lg2.approx.ftz.f32 %f2, %f1;", log2, 2, 1e38, 0, 0x1p-22},
	{"sin.approx.f32 %f2, %f1;", sin, -3.1416, 3.1416, 0x1p-21, 0},
	{"sin.approx.f32 %f2, %f1;", sin, -314, 314, 0x1p-21, 0},
	{"cos.approx.ftz.f32 %f2, %f1;", cos, -3.1416, 3.1416, 0x1p-21, 0},
	{"cos.approx.f32 %f2, %f1;", cos, -314, 314, 0x1p-21, 0},
	{"sin.approx.ftz.2pi.f32 %f2, %f1;", sin_of_turns, -1, 1, 0x1p-21, 0},
	{"sin.approx.ftz.2pi.f32 %f2, %f1;", sin_of_turns, -1000, 1000, 0x1p-21, 0},
	{"cos.approx.ftz.2pi.f32 %f2, %f1;", cos_of_turns, -1000, 1000, 0x1p-21, 0},
	{"tanh.approx.f32 %f2, %f1;", tanh, -12, 12, 0, 0x1p-20},
	{"rsqrt.approx.f32 %f2, %f1;", inverse_root, 0.25, 4, 0, 0x1.12p-23},
	{"rsqrt.approx.ftz.f32 %f2, %f1;", inverse_root, 1e-37, 1e38, 0, 0x1.12p-23},
	{"mul.f32 %f1, %f1, 0f40400000; div.approx.f32 %f2, 0f3F800000, %f1;", third_of_inverse,
		0.125, 1, 0, 0x1p-22},
};

static float call_f32(float x)
{
	machine.memory[0] = bits_of_f32(x);
	machine_run(1, machine.memory, sizeof(machine.memory));
	return F32(machine.memory[1]);
}

static void open_f32(const char *text)
{
	char body[256];
	snprintf(body, sizeof(body), "ld.global.f32 %%f1, [%%rd0];\n%s\n"
		"st.global.f32 [%%rd0+8], %%f2;", text);
	machine_body("", body);
}

START_TEST(approximations_keep_their_bounds)
{
	const struct approximation *a = &approximations[_i];
	const int steps = 40000;
	if (strstr(a->text, ".2pi") && driver_lacks("it is of PTX 9.0")) {
		return;
	}
	open_f32(a->text);
	for (int i = 0; i <= steps; i++) {
		float x = (float)(a->low + (a->high - a->low) * i / steps);
		double exact = a->exact(x);
		double error = fabs(call_f32(x) - exact);
		ck_assert_msg(error <= a->absolute + a->relative * fabs(exact)
			|| driver_lacks("the bounds are ours"),
			"%s of %a: error %g, value %a", a->text, x, error, exact);
	}
	machine_close();
}
END_TEST

static const struct special {
	const char *text;
	float in, out;
} specials[] = {
	{"ex2.approx.f32 %f2, %f1;", INFINITY, INFINITY},
	{"ex2.approx.f32 %f2, %f1;", -INFINITY, 0},
	{"ex2.approx.f32 %f2, %f1;", NAN, NAN},
	{"ex2.approx.f32 %f2, %f1;", -149, 0x1p-149f},
	{"ex2.approx.ftz.f32 %f2, %f1;", -149, 0},
	{"ex2.approx.f32 %f2, %f1;", 10, 1024},
	{"lg2.approx.f32 %f2, %f1;", 0, -INFINITY},
	{"lg2.approx.ftz.f32 %f2, %f1;", 0x1p-130f, -INFINITY},
	{"lg2.approx.f32 %f2, %f1;", -1, NAN},
	{"lg2.approx.f32 %f2, %f1;", INFINITY, INFINITY},
	{"lg2.approx.f32 %f2, %f1;", NAN, NAN},
	{"lg2.approx.f32 %f2, %f1;", 1, 0},
	{"sin.approx.f32 %f2, %f1;", -0.0f, -0.0f},
	{"sin.approx.f32 %f2, %f1;", INFINITY, NAN},
	{"sin.approx.ftz.2pi.f32 %f2, %f1;", -0.0f, -0.0f},
	{"sin.approx.ftz.2pi.f32 %f2, %f1;", -INFINITY, NAN},
	{"cos.approx.ftz.2pi.f32 %f2, %f1;", 0.5f, -1},
	{"cos.approx.f32 %f2, %f1;", 0, 1},
	{"cos.approx.f32 %f2, %f1;", NAN, NAN},
	{"tanh.approx.f32 %f2, %f1;", -INFINITY, -1},
	{"tanh.approx.f32 %f2, %f1;", NAN, NAN},
	{"rsqrt.approx.f32 %f2, %f1;", -0.0f, -INFINITY},
	{"rsqrt.approx.f32 %f2, %f1;", 0, INFINITY},
	{"rsqrt.approx.f32 %f2, %f1;", INFINITY, 0},
	{"rsqrt.approx.f32 %f2, %f1;", -1, NAN},
	{"rsqrt.approx.f32 %f2, %f1;", NAN, NAN},
	{"rsqrt.approx.f32 %f2, %f1;", 0x1p-140f, 0x1p70f},
	{"rsqrt.approx.f32 %f2, %f1;", 0x1p126f, 0x1p-63f},
	{"rsqrt.approx.f32 %f2, %f1;", 0.25f, 2},
	{"rsqrt.approx.ftz.f32 %f2, %f1;", 0x1p-140f, INFINITY},
	{"div.approx.f32 %f2, %f1, 0f7F000000;", 8, 0},
	{"div.approx.f32 %f2, %f1, 0f7F000000;", INFINITY, NAN},
	{"div.approx.f32 %f2, 0f40C00000, %f1;", 2, 3},
	{"div.approx.f32 %f2, %f1, %f1;", 0x1p-140f, 1},
	{"div.approx.f32 %f2, %f1, 0f00000040;", -0x3p-142f, -6},
	{"div.approx.f32 %f2, %f1, 0f00000000;", 0x1p-140f, INFINITY},
};

START_TEST(approximations_of_special_values)
{
	const struct special *s = &specials[_i];
	if (strstr(s->text, ".2pi") && driver_lacks("it is of PTX 9.0")) {
		return;
	}
	open_f32(s->text);
	float got = call_f32(s->in);
	ck_assert_msg(isnan(s->out) ? isnan(got) : bits_of_f32(got) == bits_of_f32(s->out),
		"%s of %a: got %a, expected %a", s->text, s->in, got, s->out);
	machine_close();
}
END_TEST

START_TEST(reciprocal_seeds_are_the_upper_half_of_the_result)
{
	machine_once("", "mov.f64 %fd1, 0d4008000000000001; rcp.approx.ftz.f64 %fd2, %fd1;\n"
		"st.f64 [%rd0], %fd2; rsqrt.approx.ftz.f64 %fd2, %fd1; st.f64 [%rd0+8], %fd2;\n"
		"mov.f64 %fd1, 0d0000000000000001; rcp.approx.ftz.f64 %fd2, %fd1;\n"
		"st.f64 [%rd0+16], %fd2;");
	ck_assert_uint_eq(machine.memory[0], 0x3fd5555500000000);
	ck_assert_uint_eq(U32(machine.memory[1]), 0);
	ck_assert(fabs(F64(machine.memory[1]) - 1 / sqrt(3)) < 0x1p-20);
	ck_assert_uint_eq(machine.memory[2], bits_of_f64(INFINITY));
	machine_close();
}
END_TEST

START_TEST(a_store_takes_the_address_of_a_variable_and_a_number)
{
	machine_once(".shared .align 8 .b8 s[16]; .shared .align 1 .u64 t;", "mov.u64 %rd1, s;\n"
		"st.u64 [%rd0], %rd1; st.u64 [%rd0+8], s + 9; st.u32 [%rd0+16], s + 3;\n"
		"mov.u64 %rd1, t; st.u64 [%rd0+24], %rd1; st.shared.u64 [t], 7;\n"
		"ld.shared.u64 %rd1, [t]; st.u64 [%rd0+32], %rd1;");
	ck_assert_uint_eq(machine.memory[1], machine.memory[0] + 9);
	ck_assert_uint_eq(U32(machine.memory[2]), U32(machine.memory[0] + 3));
	ck_assert_uint_eq(machine.memory[3] % 8, 0);
	ck_assert_uint_eq(machine.memory[4], 7);
	machine_close();
}
END_TEST

SUITE(emit)
{
	Suite *suite = suite_create("emit");
	TCase *tc = tcase_create("instructions");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, instructions_agree_with_c, 0, FAMILY_COUNT);
	tcase_add_loop_test(tc, approximations_keep_their_bounds, 0, countof(approximations));
	tcase_add_loop_test(tc, approximations_of_special_values, 0, countof(specials));
	tcase_add_test(tc, reciprocal_seeds_are_the_upper_half_of_the_result);
	tcase_add_test(tc, a_store_takes_the_address_of_a_variable_and_a_number);
	suite_add_tcase(suite, tc);
	return suite;
}

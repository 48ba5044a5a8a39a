/* SPDX-License-Identifier: MIT */

/*
 * The code generator, from PTX text to results.  Every test compiles kernels and calls them as the
 * scheduler does, with a launch and warps made by hand.  What single instructions must compute is
 * in emit_cases.def, in C, tried on all combinations of difficult operands; then come memory,
 * atomics and the approximate functions; then the coroutine: what survives a yield.
 */
#include "../src/base/common.h"

#include "../src/base/alloc.h"
#include "../src/base/str.h"
#include "../src/cpu/cfg.h"
#include "../src/cpu/check.h"
#include "../src/cpu/jit.h"
#include "../src/cpu/parse.h"

#include <check.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *emit_suite(void);

#define HEAD ".version 8.0\n.target sm_89\n.address_size 64\n"

/* One loaded module, and the launch that its kernels are called with. */
struct machine {
	struct ptx_module module;
	struct ptx_diag diag;
	struct jit *jit;
	struct jit_kernel kernel;
	uint64_t params[8];
	uint32_t tid[3][64];
	uint8_t *globals[4];
	uint64_t memory[16]; /* what kernels get as their parameter */
	uint64_t local[16];
	uint64_t frame[64][32];
	struct rt_launch launch;
	struct rt_warp warp;
	uint64_t shared[16]; /* last: what follows it counts as shared memory */
};

static struct machine machine;

static void machine_open(const char *text)
{
	struct machine *m = &machine;
	memset(m, 0, sizeof(*m));
	bool ok = parse_module(&m->module, text, strlen(text), &m->diag)
		&& check_module(&m->module, &m->diag) && jit_create(&m->jit, &m->module, &m->diag);
	ck_assert_msg(ok, "%d:%d: %s", m->diag.line, m->diag.column, m->diag.message);

	for (uint32_t i = 0; i < 64; i++) {
		m->tid[0][i] = i;
	}
	m->params[0] = (uintptr_t)m->memory;
	m->launch = (struct rt_launch){.params = (uint8_t *)m->params, .globals = m->globals,
		.tid = {m->tid[0], m->tid[1], m->tid[2]}, .ntid = {4, 1, 1}, .nctaid = {1, 1, 1},
		.threads = 4, .calls = &rt_calls};
	m->warp = (struct rt_warp){.launch = &m->launch, .shared = (uint8_t *)m->shared,
		.local = (uint8_t *)m->local, .local_stride = sizeof(m->local), .alive = 1};
}

static void machine_close(void)
{
	jit_release(machine.jit);
	parse_free(&machine.module);
}

static void machine_compile(const char *name)
{
	struct machine *m = &machine;
	for (size_t i = 0; i < m->module.func_count; i++) {
		struct ptx_func *func = m->module.funcs[i];
		if (strcmp(func->name, name) != 0) {
			continue;
		}
		bool ok = cfg_build(&m->module, func, &m->diag)
			&& jit_compile(&m->kernel, m->jit, func, &m->diag);
		ck_assert_msg(ok, "%s: %d: %s", name, m->diag.line, m->diag.message);
		ck_assert_uint_le(m->kernel.frame_size, sizeof(m->frame[0]));
		return;
	}
	ck_abort_msg("no kernel %s", name);
}

static uint32_t machine_resume(uint32_t thread, uint32_t point)
{
	machine.warp.first = thread;
	return machine.kernel.run(&machine.warp, machine.frame[thread], point);
}

/* Open a module with one kernel `k` of the given body, whose parameter is a pointer in %rd0. */
static void machine_body(const char *declarations, const char *body)
{
	static char text[4096];
	snprintf(text, sizeof(text), HEAD "%s\n.visible .entry k(.param .u64 p)\n{\n"
		".reg .pred %%p<9>; .reg .b32 %%r<30>; .reg .b64 %%rd<30>; .reg .f32 %%f<30>;\n"
		".reg .b16 %%h<9>; .reg .f64 %%fd<9>;\n"
		"ld.param.u64 %%rd0, [p];\n%s\nret;\n}\n", declarations, body);
	machine_open(text);
	machine_compile("k");
}

/* Run the body once, in one thread that never yields. */
static void machine_once(const char *declarations, const char *body)
{
	machine_body(declarations, body);
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
}

/* Views of an operand. */
static uint8_t U8(uint64_t a) { return (uint8_t)a; }
static uint16_t U16(uint64_t a) { return (uint16_t)a; }
static uint32_t U32(uint64_t a) { return (uint32_t)a; }
static int8_t S8(uint64_t a) { return (int8_t)a; }
static int16_t S16(uint64_t a) { return (int16_t)a; }
static int32_t S32(uint64_t a) { return (int32_t)a; }
static int64_t S64(uint64_t a) { return (int64_t)a; }
static int64_t S24(uint64_t a) { return (int32_t)(a << 8) >> 8; }

static float F32(uint64_t a)
{
	uint32_t bits = (uint32_t)a;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static double F64(uint64_t a)
{
	double value;
	memcpy(&value, &a, sizeof(value));
	return value;
}

static uint64_t f32_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t f64_bits(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

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
static uint64_t field(uint64_t a, unsigned pos, unsigned len, unsigned width, bool sign)
{
	unsigned top = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
	uint64_t fill = sign && len ? a >> top & 1 : 0;
	uint64_t out = 0;
	for (unsigned i = 0; i < width; i++) {
		out |= (i < len && pos + i < width ? a >> (pos + i) & 1 : fill) << i;
	}
	return out;
}

static uint64_t inserted(uint64_t a, uint64_t b, unsigned pos, unsigned len, unsigned width)
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

static float flushed(float value)
{
	return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

static float saturated(float value)
{
	return value > 0 ? value < 1 ? value : 1 : 0;
}

static double lesser(double a, double b)
{
	if (isnan(a) || isnan(b)) {
		return isnan(a) ? b : a;
	}
	return a < b || (a == b && signbit(a)) ? a : b;
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
#define F32_BITS(value) f32_bits((float)(value))
#define F64_BITS(value) f64_bits((double)(value))

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
	0x1.0020000000001p0, 1e300, -1e-300,
};

static uint64_t operand_value(enum family family, size_t i)
{
	switch (family) {
	case f32:
		/* Integers, too, in the upper bits: some rows read %d or %p. */
		return f32_bits(f32_values[i]) | (uint64_t)i << 32;
	case f64:
		return f64_bits(f64_values[i]);
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
			"ld.param.u64 %%a, [p];\n", examples[i].name);
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
	return a == b || (result == F32_RESULT && isnan(F32(a)) && isnan(F32(b)))
		|| (result == F64_RESULT && isnan(F64(a)) && isnan(F64(b)));
}

static void try_operands(const struct example *example, const uint64_t in[4])
{
	memcpy(machine.memory + 1, in, 4 * sizeof(*in));
	uint32_t next = machine_resume(0, 0);
	uint64_t want = example->want(in[0], in[1], in[2], in[3]);
	uint64_t got = machine.memory[0];
	if (next != RT_DONE || !same_result(example->result, got, want)) {
		ck_abort_msg("%s of %#llx, %#llx, %#llx, %#llx: got %#llx, expected %#llx",
			example->text, (unsigned long long)in[0], (unsigned long long)in[1],
			(unsigned long long)in[2], (unsigned long long)in[3],
			(unsigned long long)got, (unsigned long long)want);
	}
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
	for (size_t n = 0; n < total; n++) {
		uint64_t in[4];
		size_t rest = n;
		for (size_t i = 0; i < 4; i++) {
			in[i] = operand_value(example->family, rest % counts[i]);
			rest /= counts[i];
		}
		try_operands(example, in);
	}
}

START_TEST(instructions_agree_with_c)
{
	machine_open(family_text((enum family)_i));
	for (size_t i = 0; i < countof(examples); i++) {
		if (examples[i].family == (enum family)_i) {
			try_example(&examples[i]);
		}
	}
	machine_close();
}
END_TEST

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
	{"tanh.approx.f32 %f2, %f1;", tanh, -12, 12, 0, 0x1p-20},
};

static float call_f32(float x)
{
	machine.memory[0] = f32_bits(x);
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
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
	open_f32(a->text);
	for (int i = 0; i <= steps; i++) {
		float x = (float)(a->low + (a->high - a->low) * i / steps);
		double exact = a->exact(x);
		double error = fabs(call_f32(x) - exact);
		ck_assert_msg(error <= a->absolute + a->relative * fabs(exact),
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
	{"cos.approx.f32 %f2, %f1;", 0, 1},
	{"cos.approx.f32 %f2, %f1;", NAN, NAN},
	{"tanh.approx.f32 %f2, %f1;", -INFINITY, -1},
	{"tanh.approx.f32 %f2, %f1;", NAN, NAN},
	{"rsqrt.approx.f32 %f2, %f1;", -0.0f, -INFINITY},
	{"rsqrt.approx.f32 %f2, %f1;", 0.25f, 2},
	{"rsqrt.approx.ftz.f32 %f2, %f1;", 0x1p-140f, INFINITY},
	{"div.approx.f32 %f2, %f1, 0f7F000000;", 8, 0},
	{"div.approx.f32 %f2, %f1, 0f7F000000;", INFINITY, NAN},
	{"div.approx.f32 %f2, 0f40C00000, %f1;", 2, 3},
};

START_TEST(approximations_of_special_values)
{
	const struct special *s = &specials[_i];
	open_f32(s->text);
	float got = call_f32(s->in);
	ck_assert_msg(isnan(s->out) ? isnan(got) : f32_bits(got) == f32_bits(s->out),
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
	ck_assert_uint_eq(machine.memory[2], f64_bits(INFINITY));
	machine_close();
}
END_TEST

/* Memory: a body, and what it must leave in the first words. */
static const struct access {
	const char *declarations;
	const char *body;
	uint64_t want[3];
} accesses[] = {
	{"", "mov.u32 %r1, 0x80; st.global.u8 [%rd0], %r1; ld.global.s8 %r2, [%rd0];\n"
		"st.u32 [%rd0+8], %r2; ld.u8 %rd1, [%rd0]; st.u64 [%rd0+16], %rd1;",
		{0x80, 0xffffff80, 0x80}},
	{"", "mov.u16 %h1, 0x8001; st.u16 [%rd0+2], %h1; ld.s16 %rd2, [%rd0+2];\n"
		"st.u64 [%rd0+8], %rd2;", {0x80010000, 0xffffffffffff8001, 0}},
	{"", "st.v4.u32 [%rd0], {1, 2, 3, 4}; ld.v2.u64 {%rd1, %rd2}, [%rd0];\n"
		"st.u64 [%rd0+16], %rd2;", {0x200000001, 0x400000003, 0x400000003}},
	{"", "add.u64 %rd3, %rd0, 8; st.u64 [%rd0], %rd3; st.u64 [%rd0+8], 9; mov.u64 %rd1, %rd0;\n"
		"ld.v2.u64 {%rd1, %rd2}, [%rd1]; st.u64 [%rd0], 0; st.u64 [%rd0+16], %rd2;",
		{0, 9, 9}},
	{"", "mov.f32 %f1, 0f3F800000; st.volatile.f32 [%rd0], %f1;\n"
		"ld.relaxed.gpu.f32 %f2, [%rd0]; add.f32 %f2, %f2, %f1;\n"
		"st.release.gpu.f32 [%rd0+8], %f2;\n"
		"ld.acquire.sys.u32 %r1, [%rd0+8]; st.relaxed.cta.u32 [%rd0+16], %r1;",
		{0x3f800000, 0x40000000, 0x40000000}},
	{".shared .align 8 .b8 pad[8]; .shared .align 4 .u32 s[4];",
		"st.shared.u32 [s+4], 77; mov.u32 %r1, s; ld.shared.u32 %r2, [%r1+4];\n"
		"mov.u64 %rd1, s; cvta.shared.u64 %rd2, %rd1; ld.u32 %r3, [%rd2+4];\n"
		"cvta.to.shared.u64 %rd3, %rd2; sub.u64 %rd3, %rd3, %rd1; add.u32 %r2, %r2, %r3;\n"
		"st.u32 [%rd0], %r2; st.u64 [%rd0+8], %rd3;", {154, 0, 0}},
	{"", ".local .align 8 .b8 l[16]; mov.u64 %rd1, l; cvta.local.u64 %rd2, %rd1;\n"
		"st.local.u32 [%rd1+4], 5; ld.u32 %r1, [%rd2+4]; ld.local.u32 %r2, [l+4];\n"
		"add.u32 %r1, %r1, %r2; st.u32 [%rd0], %r1;", {10, 0, 0}},
	{".global .u64 g0; .const .align 4 .b8 c1[8] = {1, 2, 3, 4, 5, 6, 7, 8};",
		"ld.global.u64 %rd1, [g0]; add.u64 %rd1, %rd1, 1; st.global.u64 [g0], %rd1;\n"
		"ld.const.u32 %r1, [c1+4]; st.u32 [%rd0], %r1; ld.global.u64 %rd2, [g0];\n"
		"st.u64 [%rd0+8], %rd2; mov.u64 %rd3, c1; ld.const.u8 %r2, [%rd3+1];\n"
		"st.u32 [%rd0+16], %r2;", {0x08070605, 8, 2}},
	{".shared .u32 s; .const .u32 c0; .global .u32 g;",
		".local .u32 l; mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1;\n"
		"mov.u64 %rd2, l; cvta.local.u64 %rd2, %rd2; mov.u64 %rd3, c0; mov.u64 %rd4, p;\n"
		"isspacep.shared %p0, %rd1; isspacep.shared %p1, %rd2; isspacep.local %p2, %rd2;\n"
		"isspacep.local %p3, %rd0; isspacep.global %p4, %rd0; isspacep.global %p5, %rd1;\n"
		"isspacep.const %p6, %rd3; isspacep.param %p7, %rd4;\n"
		"selp.u32 %r0, 1, 0, %p0; @%p1 add.u32 %r0, %r0, 2; @%p2 add.u32 %r0, %r0, 4;\n"
		"@%p3 add.u32 %r0, %r0, 8; @%p4 add.u32 %r0, %r0, 16; @%p5 add.u32 %r0, %r0, 32;\n"
		"@%p6 add.u32 %r0, %r0, 64; @%p7 add.u32 %r0, %r0, 128; st.u32 [%rd0], %r0;",
		{1 + 4 + 16 + 64 + 128, 0, 0}},
	{".shared .align 8 .b8 s[64];", "mov.u32 %r1, 0xfffffff8; st.shared.u32 [%r1+12], 7;\n"
		"mov.u64 %rd1, 0x700000004; ld.shared.u32 %r2, [%rd1]; st.u32 [%rd0], %r2;\n"
		"add.u32 %r1, %r1, 48; ld.shared.u32 %r2, [%r1+-36]; st.u32 [%rd0+8], %r2;",
		{7, 7, 0}},
	{"", ".reg .b128 %q; st.v2.u64 [%rd0], {0x0807060504030201, 0x100f0e0d0c0b0a09};\n"
		"ld.b128 %q, [%rd0+1]; st.b128 [%rd0+3], %q; ld.u64 %rd1, [%rd0+3];\n"
		"st.u64 [%rd0+16], %rd1; ld.u32 %r1, [%rd0+5]; st.u32 [%rd0+8], %r1;",
		{0x0605040302030201, 0x0e0d0c0b07060504, 0x0908070605040302}},
	{"", "mov.u64 %rd1, p; cvta.param.u64 %rd1, %rd1; ld.u64 %rd2, [%rd1];\n"
		"sub.u64 %rd2, %rd2, %rd0; st.u64 [%rd0], %rd2; mov.u32 %r1, %ntid.x;\n"
		"mov.u32 %r2, %laneid; add.u32 %r1, %r1, %r2;\n"
		"st.u32 [%rd0+8], %r1; mov.u32 %r3, %lanemask_ge; st.u32 [%rd0+16], %r3;",
		{0, 4, 0xffffffff}},
};

START_TEST(memory_holds_what_was_stored)
{
	const struct access *a = &accesses[_i];
	uint64_t first = 7;
	uint8_t second[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	machine_body(a->declarations, a->body);
	machine.globals[0] = (uint8_t *)&first;
	machine.globals[1] = second;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	for (size_t i = 0; i < countof(a->want); i++) {
		ck_assert_msg(machine.memory[i] == a->want[i], "%s: word %zu is %#llx", a->body, i,
			(unsigned long long)machine.memory[i]);
	}
	machine_close();
}
END_TEST

/* Atomics on a word that holds `old`, by `value` (and for cas, new): what memory holds after. */
static const struct atomic {
	const char *op;
	const char *type;
	uint64_t old, value, other, after;
} atomics[] = {
	{"add", "u32", 0xffffffff, 2, 0, 1},
	{"add", "u64", 0xffffffff, 2, 0, 0x100000001},
	{"add", "f32", 0x3f800000, 0x40000000, 0, 0x40400000},
	{"add", "f64", 0x3ff0000000000000, 0x4000000000000000, 0, 0x4008000000000000},
	{"and", "b32", 0xff0f, 0x0ff0, 0, 0x0f00},
	{"or", "b64", 0xff00000000, 0xff, 0, 0xff000000ff},
	{"xor", "b32", 0xff0f, 0x0ff0, 0, 0xf0ff},
	{"min", "s32", 5, 0xffffffff, 0, 0xffffffff},
	{"min", "u32", 5, 0xffffffff, 0, 5},
	{"max", "s64", 5, 0xffffffffffffffff, 0, 5},
	{"max", "u64", 5, 0xffffffffffffffff, 0, 0xffffffffffffffff},
	{"exch", "b32", 5, 9, 0, 9},
	{"inc", "u32", 5, 6, 0, 6},
	{"inc", "u32", 6, 6, 0, 0},
	{"inc", "u32", 9, 6, 0, 0},
	{"dec", "u32", 5, 6, 0, 4},
	{"dec", "u32", 0, 6, 0, 6},
	{"dec", "u32", 7, 6, 0, 6},
	{"cas", "b32", 5, 5, 9, 9},
	{"cas", "b64", 5, 6, 9, 5},
	{"cas", "b16", 5, 5, 9, 9},
};

static void try_atomic(const struct atomic *a, const char *space)
{
	static const struct {
		const char *type, *reg, *move;
	} banks[] = {{"32", "%r", "b32"}, {"64", "%rd", "b64"}, {"16", "%h", "b16"}};
	size_t bank = strstr(a->type, "64") ? 1 : strstr(a->type, "16") ? 2 : 0;
	const char *r = banks[bank].reg;
	const char *order = strcmp(space, ".global") ? "" : ".acq_rel.gpu";
	char third[16] = "";
	char body[512];
	if (!strcmp(a->op, "cas")) {
		snprintf(third, sizeof(third), ", %s7", r);
	}
	bool real = a->type[0] == 'f';
	const char *q = real ? bank ? "%fd" : "%f" : r;

	snprintf(body, sizeof(body), "ld.%s %s5, [%%rd0+8]; ld.%s %s6, [%%rd0+16];\n"
		"ld.%s %s7, [%%rd0+24]; st%s.%s [%%rd%d], %s5;\n"
		"atom%s%s.%s.%s %s1, [%%rd%d], %s6%s; st.%s [%%rd0+32], %s1;\n"
		"ld%s.%s %s2, [%%rd%d]; st.%s [%%rd0], %s2;",
		banks[bank].move, q, banks[bank].move, q, banks[bank].move, q,
		space, banks[bank].move, strcmp(space, ".shared") ? 0 : 9, q,
		order, space, a->op, a->type, q, strcmp(space, ".shared") ? 0 : 9, q, third,
		banks[bank].move, q, space, banks[bank].move, q, strcmp(space, ".shared") ? 0 : 9,
		banks[bank].move, q);
	char all[600];
	snprintf(all, sizeof(all), "mov.u64 %%rd9, s;\n%s", body);
	machine_body(".shared .align 8 .b8 s[8];", all);
	machine.memory[1] = a->old;
	machine.memory[2] = a->value;
	machine.memory[3] = a->other;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_msg(machine.memory[0] == a->after && machine.memory[4] == a->old,
		"atom%s.%s.%s: %#llx, %#llx", space, a->op, a->type,
		(unsigned long long)machine.memory[0], (unsigned long long)machine.memory[4]);
	machine_close();
}

START_TEST(atomics_update_memory_and_give_the_old_value)
{
	try_atomic(&atomics[_i], "");
	try_atomic(&atomics[_i], ".global");
	try_atomic(&atomics[_i], ".shared");
}
END_TEST

START_TEST(red_updates_memory)
{
	machine_once("", "st.u32 [%rd0], 40; red.global.add.u32 [%rd0], 2; fence.acq_rel.gpu;\n"
		"membar.gl; red.shared.add.u32 [0], 1; prefetch.global.L2 [%rd0];");
	ck_assert_uint_eq(machine.memory[0], 42);
	machine_close();
}
END_TEST

START_TEST(atomics_may_ignore_the_old_value)
{
	machine_once("", "st.u32 [%rd0], 40; atom.global.add.u32 _, [%rd0], 2;\n"
		"atom.cas.b32 _, [%rd0], 42, 43;");
	ck_assert_uint_eq(machine.memory[0], 43);
	machine_close();
}
END_TEST

START_TEST(f32_atomics_flush_subnormals_in_global_memory_only)
{
	machine_once(".shared .u32 s;", "st.u32 [%rd0], 1; mov.b32 %f1, 1;\n"
		"atom.global.add.f32 %f2, [%rd0], %f1; st.shared.u32 [s], 1;\n"
		"atom.shared.add.f32 %f2, [s], %f1; ld.shared.u32 %r1, [s]; st.u32 [%rd0+8], %r1;");
	ck_assert_uint_eq(machine.memory[0], 0);
	ck_assert_uint_eq(machine.memory[1], 2);
	machine_close();
}
END_TEST

/* Control. */

START_TEST(loops_and_branches_run)
{
	machine_once("", "mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
		"L: setp.ge.u32 %p1, %r1, 10; @%p1 bra D; and.b32 %r3, %r1, 1;\n"
		"setp.eq.u32 %p2, %r3, 0; @!%p2 bra.uni N; add.u32 %r2, %r2, %r1;\n"
		"N: add.u32 %r1, %r1, 1; bra L;\n"
		"D: st.u32 [%rd0], %r2;");
	ck_assert_uint_eq(machine.memory[0], 20);
	machine_close();
}
END_TEST

START_TEST(indexed_branch_takes_its_target)
{
	machine_body("", "T: .branchtargets A, B, C;\nld.u32 %r1, [%rd0]; brx.idx %r1, T;\n"
		"A: st.u32 [%rd0+8], 10; ret;\nB: st.u32 [%rd0+8], 11; ret;\n"
		"C: st.u32 [%rd0+8], 12;");
	for (uint32_t i = 0; i < 3; i++) {
		machine.memory[0] = i;
		ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
		ck_assert_uint_eq(machine.memory[1], 10 + i);
	}
	machine_close();
}
END_TEST

START_TEST(guarded_exit_ends_the_thread)
{
	machine_body("", "ld.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 1; @%p1 exit;\n"
		"st.u32 [%rd0+8], 5;");
	machine.memory[0] = 1;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[1], 0);
	machine.memory[0] = 0;
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[1], 5);
	machine_close();
}
END_TEST

/* Registers of every size must survive; each thread adds its neighbour's number, round by round. */
START_TEST(registers_survive_barriers_in_loops)
{
	machine_body(".shared .align 4 .u32 s[4];", "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2;\n"
		"mov.u32 %r3, 0; mov.u64 %rd5, 0x100000000; mov.f32 %f1, 0f3F000000;\n"
		"mov.f64 %fd1, 0.25; mov.u16 %h1, 3; setp.eq.u32 %p1, %r1, 2; mov.u32 %r4, 0;\n"
		"add.u32 %r5, %r1, 1; and.b32 %r5, %r5, 3; shl.b32 %r5, %r5, 2;\n"
		"L: add.u32 %r6, %r1, %r4; st.shared.u32 [%r2], %r6; bar.sync 3;\n"
		"ld.shared.u32 %r7, [%r5]; add.u32 %r3, %r3, %r7; barrier.sync 3, 32;\n"
		"add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 3; @%p2 bra L;\n"
		"cvt.rzi.u32.f32 %r8, %f1; cvt.rpi.u32.f64 %r9, %fd1; cvt.u32.u16 %r10, %h1;\n"
		"add.u32 %r3, %r3, %r8; add.u32 %r3, %r3, %r9; add.u32 %r3, %r3, %r10;\n"
		"@%p1 add.u32 %r3, %r3, 100; cvt.u64.u32 %rd1, %r3; add.u64 %rd1, %rd1, %rd5;\n"
		"shl.b32 %r2, %r1, 3; cvt.u64.u32 %rd2, %r2; add.u64 %rd2, %rd2, %rd0;\n"
		"st.u64 [%rd2], %rd1;");
	uint32_t point[4] = {0};
	for (int round = 0; round < 6; round++) {
		for (uint32_t t = 0; t < 4; t++) {
			point[t] = machine_resume(t, point[t]);
			ck_assert_uint_ne(point[t], RT_DONE);
			ck_assert_uint_eq(machine.warp.yield, RT_YIELD_BARRIER);
			ck_assert_uint_eq(machine.warp.bar_id, 3);
			ck_assert_uint_eq(machine.warp.bar_count, round % 2 ? 32 : 0);
		}
	}
	for (uint32_t t = 0; t < 4; t++) {
		ck_assert_uint_eq(machine_resume(t, point[t]), RT_DONE);
		ck_assert_uint_eq(machine.memory[t],
			0x100000000 + 3 * ((t + 1) % 4) + 3 + 1 + 3 + (t == 2 ? 100 : 0));
	}
	machine_close();
}
END_TEST

START_TEST(reducing_barriers_pass_the_result)
{
	machine_body("", "setp.eq.u32 %p1, 1, 1; bar.red.popc.u32 %r1, 1, 64, !%p1;\n"
		"st.u32 [%rd0], %r1; bar.red.or.pred %p2, 2, %p1; selp.u32 %r2, 7, 8, %p2;\n"
		"st.u32 [%rd0+8], %r2;");
	uint32_t point = machine_resume(0, 0);
	ck_assert_uint_eq(machine.warp.bar_red, RT_RED_POPC);
	ck_assert_uint_eq(machine.warp.bar_count, 64);
	ck_assert_uint_eq(machine.warp.bar_value, 0);
	machine.warp.bar_value = 33;
	point = machine_resume(0, point);
	ck_assert_uint_eq(machine.memory[0], 33);
	ck_assert_uint_eq(machine.warp.bar_red, RT_RED_OR);
	ck_assert_uint_eq(machine.warp.bar_id, 2);
	ck_assert_uint_eq(machine.warp.bar_value, 1);
	ck_assert_uint_eq(machine_resume(0, point), RT_DONE);
	ck_assert_uint_eq(machine.memory[1], 7);
	machine_close();
}
END_TEST

START_TEST(other_yields_say_why)
{
	static const struct {
		const char *body;
		enum rt_yield why;
	} yields[] = {
		{"bar.arrive 1, 64;", RT_YIELD_ARRIVE},
		{"bar.warp.sync 0xff;", RT_YIELD_WARP},
		{"nanosleep.u32 20;", RT_YIELD_SPIN},
		{"trap;", RT_YIELD_TRAP},
		{"L: ld.volatile.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
		{"L: atom.cas.b32 %r1, [%rd0+8], 0, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
		{"L: atom.add.u32 %r1, [%rd0], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
		{"L: atom.max.u32 %r1, [%rd0], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
		{"L: ld.global.cv.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
		{"L: ld.u32 %r1, [%rd0]; membar.gl; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
			RT_YIELD_SPIN},
	};
	machine_body("", yields[_i].body);
	uint32_t point = machine_resume(0, 0);
	ck_assert_uint_ne(point, RT_DONE);
	ck_assert_uint_eq(machine.warp.yield, yields[_i].why);
	ck_assert_uint_eq(machine.warp.line, 10);
	if (yields[_i].why != RT_YIELD_TRAP) {
		machine.memory[0] = 1;
		ck_assert_uint_eq(machine_resume(0, point), RT_DONE);
	}
	machine_close();
}
END_TEST

START_TEST(loops_that_wait_for_nobody_do_not_yield)
{
	static const char *const loops[] = {
		"L: atom.add.u32 %r1, [%rd0+8], 1;", "L: atom.add.u32 _, [%rd0+8], 1;",
		"L: ld.u32 %r1, [%rd0+8];"
	};
	char body[200];
	snprintf(body, sizeof(body), "mov.u32 %%r2, 0; %s add.u32 %%r2, %%r2, 1;\n"
		"setp.lt.u32 %%p1, %%r2, 5; @%%p1 bra L;", loops[_i]);
	machine_once("", body);
	ck_assert_uint_eq(machine.memory[1], _i < 2 ? 5 : 0);
	machine_close();
}
END_TEST

START_TEST(carry_survives_a_barrier)
{
	machine_body("", "add.cc.u32 %r1, 0xffffffff, 1; bar.sync 0; addc.u32 %r2, 5, 0;\n"
		"st.u32 [%rd0], %r2;");
	uint32_t point = machine_resume(0, 0);
	machine.frame[1][0] = 0;
	ck_assert_uint_eq(machine_resume(0, point), RT_DONE);
	ck_assert_uint_eq(machine.memory[0], 6);
	machine_close();
}
END_TEST

START_TEST(clocks_go_forward)
{
	machine_once("", "mov.u64 %rd1, %clock64; mov.u64 %rd2, %globaltimer;\n"
		"setp.ge.u64 %p1, %rd2, %rd1; selp.u32 %r1, 1, 0, %p1; st.u32 [%rd0], %r1;");
	ck_assert_uint_eq(machine.memory[0], 1);
	machine_close();
}
END_TEST

START_TEST(a_kernel_may_have_any_name)
{
	machine_open(HEAD ".entry memcpy(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p];\n"
		"st.u32 [%a], 3; ret; }\n.entry $k_0() { ret; }");
	machine_compile("memcpy");
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[0], 3);
	ck_assert_uint_gt(machine.kernel.code_size, 0);
	ck_assert_uint_eq(machine.kernel.frame_size, 0);
	machine_compile("$k_0");
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	machine_close();
}
END_TEST

/* So long that its code is generated in a hurry. */
START_TEST(a_kernel_may_be_huge)
{
	struct str text = STR_INIT;
	str_add(&text, HEAD ".entry k(.param .u64 p) { .reg .b64 %a; .reg .b32 %r;\n"
		"ld.param.u64 %a, [p]; ld.u32 %r, [%a];\n");
	for (int i = 0; i < 12000; i++) {
		str_addf(&text, "mad.lo.u32 %%r, %%r, 3, %d;\n", i);
	}
	str_add(&text, "st.u32 [%a], %r; ret; }");
	machine_open(text.data);
	machine_compile("k");
	str_free(&text);
	machine.memory[0] = 7;
	uint32_t want = 7;
	for (uint32_t i = 0; i < 12000; i++) {
		want = want * 3 + i;
	}
	ck_assert_uint_eq(machine_resume(0, 0), RT_DONE);
	ck_assert_uint_eq(machine.memory[0], want);
	machine_close();
}
END_TEST

START_TEST(running_out_of_memory_is_an_error)
{
	machine_open(HEAD ".entry k(.param .u64 p) { .reg .b64 %a; .reg .b32 %r; .reg .pred %p;\n"
		"ld.param.u64 %a, [p];\nL: ld.volatile.u32 %r, [%a]; setp.eq.u32 %p, %r, 0;\n"
		"@%p bra L; ret; }");
	struct ptx_func *func = machine.module.funcs[0];
	struct jit *jit = NULL;
	ck_assert(cfg_build(&machine.module, func, &machine.diag));
	long n = 0;
	for (bool done = false; !done; n++) {
		struct ptx_diag diag = {0};
		mem_fail_after(n);
		done = jit_create(&jit, &machine.module, &diag)
			&& jit_compile(&machine.kernel, jit, func, &diag);
		mem_fail_after(-1);
		ck_assert(done || diag.no_memory);
		jit_release(jit);
	}
	ck_assert_int_gt(n, 4);
	machine_close();
}
END_TEST

Suite *emit_suite(void)
{
	Suite *suite = suite_create("emit");
	TCase *tc = tcase_create("instructions");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, instructions_agree_with_c, 0, FAMILY_COUNT);
	tcase_add_loop_test(tc, approximations_keep_their_bounds, 0, countof(approximations));
	tcase_add_loop_test(tc, approximations_of_special_values, 0, countof(specials));
	tcase_add_test(tc, reciprocal_seeds_are_the_upper_half_of_the_result);
	suite_add_tcase(suite, tc);

	tc = tcase_create("memory");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, memory_holds_what_was_stored, 0, countof(accesses));
	tcase_add_loop_test(tc, atomics_update_memory_and_give_the_old_value, 0, countof(atomics));
	tcase_add_test(tc, red_updates_memory);
	tcase_add_test(tc, atomics_may_ignore_the_old_value);
	tcase_add_test(tc, f32_atomics_flush_subnormals_in_global_memory_only);
	suite_add_tcase(suite, tc);

	tc = tcase_create("control");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, loops_and_branches_run);
	tcase_add_test(tc, indexed_branch_takes_its_target);
	tcase_add_test(tc, guarded_exit_ends_the_thread);
	tcase_add_test(tc, registers_survive_barriers_in_loops);
	tcase_add_test(tc, reducing_barriers_pass_the_result);
	tcase_add_loop_test(tc, other_yields_say_why, 0, 10);
	tcase_add_loop_test(tc, loops_that_wait_for_nobody_do_not_yield, 0, 3);
	tcase_add_test(tc, carry_survives_a_barrier);
	tcase_add_test(tc, clocks_go_forward);
	tcase_add_test(tc, a_kernel_may_have_any_name);
	tcase_add_test(tc, a_kernel_may_be_huge);
	tcase_add_test(tc, running_out_of_memory_is_an_error);
	suite_add_tcase(suite, tc);
	return suite;
}

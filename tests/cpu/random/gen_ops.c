/* SPDX-License-Identifier: MIT */
/*
 * What the instructions of generated programs compute: gen_ops.def and the functions that it uses,
 * written from the PTX ISA's own words (its pseudocode where there is some).
 */
#include "gen.h"

#include "support/bits.h"
#include "cpu/support/ptx_float.h"
#include "softfloat.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

const unsigned gen_visible[GEN_BANKS] = {5, 4, 10 + GEN_UNIFORM, 8, 6, 5};
const unsigned gen_bits[GEN_BANKS] = {1, 16, 32, 64, 32, 64};

const struct gen_cell gen_cells[GEN_CELLS] = {
	{GEN_ADD, "u32", 5}, {GEN_ADD, "u64", 1ull << 33}, {GEN_MIN, "s32", 1000},
	{GEN_MAX, "u64", 1000}, {GEN_AND, "b32", UINT32_MAX}, {GEN_OR, "b64", 0},
	{GEN_XOR, "b32", 77}, {GEN_INC, "u32", 3},
};

const char *const gen_idle[GEN_IDLES][2] = {
	{"membar.cta;", "__threadfence_block();"}, {"membar.gl;", "__threadfence();"},
	{"fence.acq_rel.sys;", "__threadfence_system();"}, {"fence.sc.gpu;", "__threadfence();"},
	{"nanosleep.u32 20;", "__nanosleep(20);"}, {"pmevent 3;", ";"},
	{"createpolicy.fractional.L2::evict_last.b64 %xd0, 0.5;", ";"},
	{"prefetch.global.L1 [%b0];", ";"}, {"prefetchu.L1 [%q0];", ";"},
	{"griddepcontrol.wait;", ";"},
};

unsigned gen_type_size(enum gen_type type)
{
	static const unsigned char sizes[] = {
		[GEN_U8] = 1, [GEN_S8] = 1, [GEN_U16] = 2, [GEN_S16] = 2, [GEN_B32] = 4,
		[GEN_S32] = 4, [GEN_B64] = 8, [GEN_F32] = 4, [GEN_F64] = 8
	};
	return sizes[type];
}

enum gen_bank gen_bank_of(char letter)
{
	return (enum gen_bank)(strchr("phrdfg", letter) - "phrdfg");
}

uint64_t gen_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Operands, as C sees them. */

static uint32_t u(uint64_t a)
{
	return (uint32_t)a;
}

static int64_t s(uint64_t a)
{
	return (int32_t)a;
}

static int64_t s24(uint64_t a)
{
	return (int32_t)(a << 8) >> 8;
}

static int h(uint64_t a)
{
	return (int16_t)a;
}

static int64_t l(uint64_t a)
{
	return (int64_t)a;
}

static float f(uint64_t a)
{
	return f32_of(a);
}

static double g(uint64_t a)
{
	return f64_of(a);
}

static uint64_t ff(float value)
{
	return bits_of_f32(value);
}

static uint64_t gg(double value)
{
	return bits_of_f64(value);
}

uint64_t gen_canon(enum gen_bank bank, uint64_t bits)
{
	if (bank == GEN_F && isnan(f(bits))) {
		return 0x7fffffff;
	}
	return bank == GEN_G && isnan(g(bits)) ? 0x7ff8000000000000 : bits;
}

/* Integers. */

static uint64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return (uint64_t)(value < low ? low : value > high ? high : value);
}

/* Of count pairs, the first of `bits` bits each, the second of 8. */
static uint64_t dot(uint64_t a, uint64_t b, int count, int bits, bool a_signed, bool b_signed)
{
	int64_t sum = 0;
	for (int i = 0; i < count; i++) {
		int64_t x = (int64_t)(a >> (bits * i) & ((1u << bits) - 1));
		int64_t y = (int64_t)(b >> (8 * i) & 0xff);
		x -= a_signed && x >> (bits - 1) ? 1 << bits : 0;
		y -= b_signed && y >> 7 ? 256 : 0;
		sum += x * y;
	}
	return (uint64_t)sum;
}

static uint64_t ones(uint64_t a)
{
	uint64_t count = 0;
	for (; a; a &= a - 1) {
		count++;
	}
	return count;
}

/* The highest bit that is set, or -1. */
static int top(uint64_t a)
{
	int at = -1;
	for (; a; a >>= 1) {
		at++;
	}
	return at;
}

static uint64_t reversed(uint64_t a, int bits)
{
	uint64_t result = 0;
	for (int i = 0; i < bits; i++) {
		result |= (a >> i & 1) << (bits - 1 - i);
	}
	return result;
}

static uint64_t extracted(uint64_t a, uint64_t pos, uint64_t len, unsigned bits, bool sign)
{
	unsigned msb = bits - 1;
	pos &= bits == 64 ? UINT32_MAX : 0xff;
	len &= bits == 64 ? UINT32_MAX : 0xff;
	uint64_t last = pos + len - 1 < msb ? pos + len - 1 : msb;
	uint64_t fill = sign && len > 0 ? a >> last & 1 : 0;
	uint64_t result = 0;
	for (unsigned i = 0; i <= msb; i++) {
		result |= (i < len && pos + i <= msb ? a >> (pos + i) & 1 : fill) << i;
	}
	return result;
}

static uint64_t inserted(uint64_t a, uint64_t b, uint64_t pos, uint64_t len, unsigned bits)
{
	pos &= bits == 64 ? UINT32_MAX : 0xff;
	len &= bits == 64 ? UINT32_MAX : 0xff;
	for (unsigned i = 0; i < len && pos + i < bits; i++) {
		b = (b & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
	}
	return b;
}

/* szext.clamp.s32 */
static uint64_t sign_extended(uint64_t a, uint64_t b)
{
	if (b > 31) {
		return a;
	}
	uint64_t mask = UINT64_MAX << b;
	return b > 0 && a >> (b - 1) & 1 ? a | mask : a & ~mask;
}

static uint64_t looked_up(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
	uint64_t result = 0;
	for (int i = 0; i < 32; i++) {
		uint64_t row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
		result |= (table >> row & 1) << i;
	}
	return result;
}

static uint64_t permuted(uint64_t a, uint64_t b, uint64_t selector)
{
	uint64_t both = b << 32 | a;
	uint64_t result = 0;
	for (int i = 0; i < 4; i++) {
		uint64_t pick = selector >> (4 * i) & 15;
		uint64_t byte = both >> (8 * (pick & 7)) & 0xff;
		byte = pick & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
		result |= byte << (8 * i);
	}
	return result;
}

/* fns */
static uint64_t nth_one(uint64_t mask, int at, int n)
{
	if (n == 0) {
		return mask >> at & 1 ? (uint64_t)at : UINT32_MAX;
	}
	int left = n < 0 ? -n : n;
	for (; at >= 0 && at < 32; at += n < 0 ? -1 : 1) {
		if (mask >> at & 1 && --left == 0) {
			return (uint64_t)at;
		}
	}
	return UINT32_MAX;
}

static uint64_t lower(int64_t a, int64_t b)
{
	return (uint64_t)(a < b ? a : b);
}

/* `count` parts of 32 bits each by itself; upper case is for signed ones. */
static uint64_t parts(uint64_t a, uint64_t b, int count, char op)
{
	int bits = 32 / count;
	int64_t all = (1 << bits) - 1;
	bool sign = op >= 'A' && op <= 'Z';
	uint64_t result = 0;
	for (int i = 0; i < count; i++) {
		int64_t x = (int64_t)(a >> (bits * i)) & all;
		int64_t y = (int64_t)(b >> (bits * i)) & all;
		x -= sign && x >> (bits - 1) ? all + 1 : 0;
		y -= sign && y >> (bits - 1) ? all + 1 : 0;
		int64_t part = op == '+' ? x + y : op == '-' ? x - y : op == '<' ? x < y
			: op == 'd' ? (x < y ? y - x : x - y)
			: (x < y) == (op == 'm' || op == 'M') ? x : y;
		result |= (uint64_t)(part & all) << (bits * i);
	}
	return result;
}

static uint64_t sum_of_parts(uint64_t a, int count)
{
	uint64_t sum = 0;
	for (int i = 0; i < count; i++) {
		sum += a >> (32 / count * i) & (0xffffffffu >> (32 - 32 / count));
	}
	return sum;
}

/* Floats. */

static uint64_t flushed(uint64_t a)
{
	return fpclassify(f(a)) == FP_SUBNORMAL ? a & 0x80000000 : a;
}

/* A whole number as an integer; `high_nan`: a NaN becomes the number with only the top bit set. */
static uint64_t whole(double value, int bits, bool sign, bool high_nan)
{
	double limit = ldexp(1, sign ? bits - 1 : bits);
	uint64_t most = UINT64_MAX >> (64 - bits + sign);
	if (isnan(value)) {
		return high_nan ? 1ull << (bits - 1) : 0;
	}
	if (value >= limit) {
		return most;
	}
	if (sign) {
		return value < -limit ? ~most : (uint64_t)(int64_t)value;
	}
	return value <= 0 ? 0 : (uint64_t)value;
}

static uint64_t half(double value)
{
	uint64_t sign = signbit(value) ? 0x8000 : 0;
	double size = fabs(value);
	if (isnan(value)) {
		return 0x7fff;
	}
	if (size >= 65520) {
		return sign | 0x7c00;
	}
	int exponent;
	frexp(size, &exponent);
	exponent = size == 0 || exponent < -13 ? -13 : exponent;
	/* In units of the last place of that exponent, which carries over into the next. */
	uint64_t units = (uint64_t)rint(ldexp(size, 11 - exponent));
	return sign | (units + ((uint64_t)(exponent + 13) << 10));
}

static float unhalf(uint64_t a)
{
	int exponent = a >> 10 & 31;
	double units = (double)(a & 0x3ff) + (exponent ? 1024 : 0);
	double size = exponent == 31 ? (a & 0x3ff ? NAN : INFINITY)
		: ldexp(units, (exponent ? exponent : 1) - 25);
	return (float)(a & 0x8000 ? -size : size);
}

/* An operation under a rounding mode of the processor; upper case is for f64. */
static uint64_t rounded(int mode, char op, uint64_t a, uint64_t b, uint64_t c)
{
	volatile float x = f(a), y = f(b), z = f(c), narrow = 0;
	volatile double xx = g(a), yy = g(b), zz = g(c), wide = 0;
	volatile uint64_t n = a;
	fesetround(mode);
	switch (op) {
	case '+': narrow = x + y; break;
	case '-': narrow = x - y; break;
	case '*': narrow = x * y; break;
	case '/': narrow = x / y; break;
	case 'f': narrow = fmaf(x, y, z); break;
	case 'q': narrow = sqrtf(x); break;
	case 'n': narrow = (float)xx; break;
	case 'u': narrow = (float)n; break;
	case 'l': narrow = (float)(int64_t)n; break;
	case 'A': wide = xx + yy; break;
	case 'M': wide = xx * yy; break;
	case 'F': wide = fma(xx, yy, zz); break;
	case 'D': wide = xx / yy; break;
	default: wide = sqrt(xx); break;
	}
	fesetround(FE_TONEAREST);
	return op >= 'A' && op <= 'Z' ? gg(wide) : ff(narrow);
}

static uint64_t two_floats(int mode, char op, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t low = rounded(mode, op, a, b, c);
	uint64_t high = rounded(mode, op, a >> 32, b >> 32, c >> 32);
	return gen_canon(GEN_F, high) << 32 | gen_canon(GEN_F, low);
}

/* min.xorsign.abs */
static uint64_t signed_lesser(uint64_t a, uint64_t b)
{
	float least = (float)lesser(fabsf(f(a)), fabsf(f(b)));
	return isnan(least) ? 0x7fffffff : ff(least) | ((a ^ b) & 0x80000000);
}

static bool is_below(double a, double b)
{
	return a < b || (a == b && signbit(a));
}

/* f16 and bf16, whose NaN is 0x7fff. */
static uint64_t soft(char op, const struct soft_format *format, uint64_t a, uint64_t b, uint64_t c)
{
	struct soft x = soft_decode(format, a & 0xffff);
	struct soft y = soft_decode(format, b & 0xffff);
	double p = soft_double(x);
	double q = soft_double(y);
	switch (op) {
	case '+':
		x = soft_add(x, y);
		break;
	case '-':
		x = soft_add(x, soft_neg(y));
		break;
	case '*':
		x = soft_mul(x, y);
		break;
	case 'f':
		x = soft_add(soft_mul(x, y), soft_decode(format, c & 0xffff));
		break;
	case 'm':
		x = isnan(p) || (!isnan(q) && is_below(q, p)) ? y : x;
		break;
	case 'M':
		x = isnan(p) || (!isnan(q) && is_below(p, q)) ? y : x;
		break;
	case 'N':
		x = isnan(q) || (!isnan(p) && is_below(p, q)) ? y : x;
		break;
	case 'n':
		x = soft_neg(x);
		break;
	default:
		x.negative = false;
		break;
	}
	return soft_encode(format, x, SOFT_NEAREST, false);
}

static uint64_t two_halves(char op, const struct soft_format *format, uint64_t a, uint64_t b,
	uint64_t c)
{
	return soft(op, format, a, b, c) | soft(op, format, a >> 16, b >> 16, c >> 16) << 16;
}

static uint64_t narrow(const struct soft_format *format, uint64_t a, enum soft_round round,
	bool finite)
{
	return soft_encode(format, soft_decode(&soft_f32, a), round, finite);
}

/* How .rs rounds an f32 to a bf16. */
static enum soft_round by_carry(uint64_t a, uint64_t random)
{
	bool carry = (a & 0xffff) + (random & 0xffff) > 0xffff;
	return !carry ? SOFT_ZERO : a >> 31 & 1 ? SOFT_DOWN : SOFT_UP;
}

/* e5m2 to f16 */
static uint64_t widen(uint64_t a)
{
	return soft_encode(&soft_f16, soft_decode(&soft_e5m2, a & 0xff), SOFT_NEAREST, false);
}

/* Functions and rows are matched by the line of gen_ops.def at which they end. */
#define NAME(line) NAME_(line)
#define NAME_(line) run_##line

#define X(ptx, banks, result, cuda) \
	static uint64_t NAME(__LINE__)(uint64_t a, uint64_t b, uint64_t c, uint64_t d) \
	{ \
		(void)a, (void)b, (void)c, (void)d; \
		return (uint64_t)(result); \
	}
#include "gen_ops.def"
#undef X

const struct gen_op gen_ops[] = {
#define X(ptx, banks, result, cuda) {ptx, banks, NAME(__LINE__), cuda},
#include "gen_ops.def"
#undef X
};
const size_t gen_op_count = countof(gen_ops);

unsigned gen_find_op(const char *ptx)
{
	unsigned i = 0;
	while (strcmp(gen_ops[i].ptx, ptx) != 0) {
		i++;
	}
	return i;
}

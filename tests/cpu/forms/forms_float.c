/* SPDX-License-Identifier: MIT */
/* References for floats: the host's operations under its rounding modes; see forms.h. */
#include "base/common.h"

#include "forms.h"
#include "forms_ref.h"

#include <fenv.h>
#include <math.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

static int rounding(const char *opcode)
{
	return form_has(opcode, "rz") || form_has(opcode, "rzi") ? FE_TOWARDZERO
		: form_has(opcode, "rm") || form_has(opcode, "rmi") ? FE_DOWNWARD
		: form_has(opcode, "rp") || form_has(opcode, "rpi") ? FE_UPWARD : FE_TONEAREST;
}

static float flushed(const char *opcode, float x)
{
	return form_has(opcode, "ftz") && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* As a GPU the processor flushes what 24 bits are too small for, however few a subnormal has. */
#ifdef __x86_64__
static void flush_results(bool on)
{
	_MM_SET_FLUSH_ZERO_MODE(on ? _MM_FLUSH_ZERO_ON : _MM_FLUSH_ZERO_OFF);
}
#else
static void flush_results(bool on)
{
	(void)on; /* others' processors flush before they round */
}
#endif

static void set_rounding(const char *opcode)
{
	fesetround(rounding(opcode));
	flush_results(form_has(opcode, "ftz"));
}

static void reset_rounding(void)
{
	fesetround(FE_TONEAREST);
	flush_results(false);
}

static double saturated(const char *opcode, double x)
{
	return !form_has(opcode, "sat") ? x : x > 0 ? fmin(x, 1) : 0;
}

/* Operations are on volatile operands: the compiler must not move them past fesetround. */
static float apply_f32(const char *opcode, float a0, float b0, float c0)
{
	volatile float a = a0, b = b0, c = c0, one = 1, result;
	set_rounding(opcode);
	switch (opcode[0] == 'm' ? opcode[1] : opcode[0]) {
	case 'a': result = opcode[1] == 'd' ? a + b : form_has(opcode, "abs") ? fabsf(a)
		: fmaf(a, b, c); break; /* add, abs, mad */
	case 's': result = form_has(opcode, "sub") ? a - b : sqrtf(a); break;
	case 'u': result = a * b; break;
	case 'f': result = fmaf(a, b, c); break;
	case 'd': result = a / b; break;
	case 'r': result = one / a; break;
	default: result = -a;
	}
	reset_rounding();
	return result;
}

static double apply_f64(const char *opcode, double a0, double b0, double c0)
{
	volatile double a = a0, b = b0, c = c0, one = 1, result;
	fesetround(rounding(opcode));
	switch (opcode[0] == 'm' ? opcode[1] : opcode[0]) {
	case 'a': result = opcode[1] == 'd' ? a + b : form_has(opcode, "abs") ? fabs(a)
		: fma(a, b, c); break;
	case 's': result = form_has(opcode, "sub") ? a - b : sqrt(a); break;
	case 'u': result = a * b; break;
	case 'f': result = fma(a, b, c); break;
	case 'd': result = a / b; break;
	case 'r': result = one / a; break;
	default: result = -a;
	}
	fesetround(FE_TONEAREST);
	return result;
}

uint64_t ref_f32(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	const char *op = form->opcode;
	float x[3];
	for (int i = 0; i < 3; i++) {
		x[i] = flushed(op, f32_of(in->v[i]));
	}
	return bits_of_f32((float)saturated(op, (double)flushed(op,
		apply_f32(op, x[0], x[1], x[2]))));
}

uint64_t ref_f64(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	return bits_of_f64(apply_f64(form->opcode, f64_of(in->v[0]), f64_of(in->v[1]),
		f64_of(in->v[2])));
}

/* -0 is less than 0; of a number and a NaN the number. */
static double lesser(double a, double b)
{
	if (isnan(a) || isnan(b)) {
		return isnan(a) ? b : a;
	}
	return a < b || (a == b && signbit(a)) ? a : b;
}

uint64_t ref_fmin(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	const char *op = form->opcode;
	if (form->last.bits == 64) {
		double x = f64_of(in->v[0]), y = f64_of(in->v[1]);
		return bits_of_f64(form_has(op, "min") ? lesser(x, y) : -lesser(-x, -y));
	}
	float a = flushed(op, f32_of(in->v[0])), b = flushed(op, f32_of(in->v[1]));
	bool negative = !signbit(a) != !signbit(b), nan = isnan(a) || isnan(b);
	if (form_has(op, "xorsign")) {
		a = fabsf(a);
		b = fabsf(b);
	}
	float result = (float)(form_has(op, "min") ? lesser((double)a, (double)b)
		: -lesser(-(double)a, -(double)b));
	if (nan && form_has(op, "NaN")) {
		return bits_of_f32(NAN);
	}
	return bits_of_f32(form_has(op, "xorsign") && negative ? -result : result);
}

uint64_t ref_copysign(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	unsigned top = form->last.bits - 1;
	uint64_t sign = UINT64_C(1) << top;
	return (in->v[1] & ~sign) | (in->v[0] & sign);
}

uint64_t ref_testp(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	const char *op = form->opcode;
	int class = form->last.bits == 32 ? fpclassify(f32_of(in->v[0]))
		: fpclassify(f64_of(in->v[0]));
	bool finite = class != FP_NAN && class != FP_INFINITE;
	/* PTX counts zero among the normal numbers. */
	return form_has(op, "finite") ? finite : form_has(op, "infinite") ? class == FP_INFINITE
		: form_has(op, "number") ? class != FP_NAN : form_has(op, "notanumber")
		? class == FP_NAN : form_has(op, "normal") ? class == FP_NORMAL || class == FP_ZERO
		: class == FP_SUBNORMAL;
}

uint64_t ref_cvt_float(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	const char *op = form->opcode;
	struct form_type from = form->last;
	unsigned unused = 64 - from.bits;
	bool is_signed = from.kind == 's';
	volatile int64_t s = (int64_t)(in->v[0] << unused) >> unused;
	volatile uint64_t u = in->v[0] << unused >> unused;
	volatile float f;
	volatile double d;
	fesetround(rounding(op));
	f = is_signed ? (float)s : (float)u;
	d = is_signed ? (double)s : (double)u;
	fesetround(FE_TONEAREST);
	return form->first.bits == 32 ? bits_of_f32((float)saturated(op, (double)f))
		: bits_of_f64(saturated(op, d));
}

/* A float rounded to a whole number; f32 are exact as f64.  The compiler's own rint knows only
 * rounding to nearest. */
static double (*volatile library_rint)(double) = rint;

static double whole(const char *opcode, double x0)
{
	volatile double x = x0, result;
	fesetround(rounding(opcode));
	result = library_rint(x);
	fesetround(FE_TONEAREST);
	return result;
}

static double source(const struct form *form, const struct operands *in)
{
	return form->last.bits == 64 ? f64_of(in->v[0])
		: (double)flushed(form->opcode, f32_of(in->v[0]));
}

uint64_t ref_cvt_to_int(const struct form *form, const struct operands *in, bool *any)
{
	struct form_type to = form->first;
	double x = whole(form->opcode, source(form, in));
	int digits = (int)to.bits - (to.kind == 's');
	double above = ldexp(1, digits), below = to.kind == 's' ? -above : 0;
	if (isnan(x)) {
		/* PTX ISA: 0 for types up to 32 bits, but only .f32 says so; see test_emit.c. */
		*any = true;
		return 0;
	}
	if (x >= above) {
		return digits == 64 ? UINT64_MAX : (UINT64_C(1) << digits) - 1;
	}
	return x < below ? (uint64_t)(int64_t)below : x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* To a float at least as wide: exact, or to a whole number. */
uint64_t ref_cvt_whole(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	const char *op = form->opcode;
	double x = source(form, in);
	bool is_whole = form_has(op, "rni") || form_has(op, "rzi") || form_has(op, "rmi")
		|| form_has(op, "rpi");
	x = saturated(op, is_whole ? whole(op, x) : x);
	return form->first.bits == 64 ? bits_of_f64(x) : bits_of_f32((float)x);
}

uint64_t ref_cvt_narrow(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	const char *op = form->opcode;
	volatile double x = f64_of(in->v[0]);
	volatile float result;
	set_rounding(op);
	result = (float)x;
	reset_rounding();
	return bits_of_f32((float)saturated(op, (double)flushed(op, result)));
}

/* One f32 to a bf16: the carry out of the bits that go counts the rest up. */
static uint32_t cut_randomly(const char *opcode, uint32_t bits, uint32_t random)
{
	uint32_t sign = bits >> 31 << 15, size = bits >> 16 & 0x7fff;
	if ((bits & 0x7fffffff) > 0x7f800000) {
		return 0x7fff;
	} else if (sign && form_has(opcode, "relu")) {
		return 0;
	}
	size += ((bits & 0xffff) + (random & 0xffff)) >> 16;
	return sign | (size == 0x7f80 && form_has(opcode, "satfinite") ? 0x7f7f : size);
}

/* PTX 8.7, sm_100a and sm_103a.  Operand 1 and the upper random bits make the upper half. */
uint64_t ref_cvt_random(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	const char *op = form->opcode;
	uint32_t random = (uint32_t)in->v[2];
	return cut_randomly(op, (uint32_t)in->v[0], random >> 16) << 16
		| cut_randomly(op, (uint32_t)in->v[1], random);
}

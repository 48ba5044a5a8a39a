/* SPDX-License-Identifier: MIT */
/*
 * The approximate instructions over all exponents.  The worst error against the C library in double
 * is printed beside the bound of the PTX ISA, and must be within the bound of ptx.def.  A few
 * hundred numbers of each exponent are tried.  With KUDZU_TEST_SLOW=N every Nth f32 is tried.
 */
#include "base/common.h"

#include "cpu/support/api.h"
#include "cpu/support/driver.h"
#include "cpu/forms/forms_ref.h"
#include "cpu/support/grid.h"
#include "support/suite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 1 << 17, BLOCK = 128 };

static const char *const widths[] = {"1", "32"};

static double recip(double x)
{
	return 1 / x;
}

static double recip_root(double x)
{
	return 1 / sqrt(x);
}

/* What an error is measured in. */
enum measure { RELATIVE, ABSOLUTE, ULP };

static const struct function {
	const char *opcode;
	double (*exact)(double);   /* NULL: a quotient */
	double low, high;          /* magnitudes of operands */
	enum measure measure;
	double bound;              /* of ours, as ptx.def says */
	const char *isa;           /* what the PTX ISA allows */
} functions[] = {
	{"ex2.approx.f32", exp2, 0, 150, ULP, 1, "2 ulp"},
	{"ex2.approx.ftz.f32", exp2, 0x1p-126, 150, ULP, 1, "2 ulp"},
	{"lg2.approx.f32", log2, 0x1p-149, INFINITY, RELATIVE, 0x1p-22, "2^-22 relative"},
	{"lg2.approx.ftz.f32", log2, 0x1p-126, INFINITY, RELATIVE, 0x1p-22, "2^-22 relative"},
	{"sin.approx.f32", sin, 0, 314, ABSOLUTE, 0x1.6a09e6p-21, "2^-20.5 in [-2 pi, 2 pi]"},
	{"sin.approx.ftz.f32", sin, 0x1p-126, 314, ABSOLUTE, 0x1.6a09e6p-21,
		"2^-20.5 in [-2 pi, 2 pi]"},
	{"cos.approx.f32", cos, 0, 314, ABSOLUTE, 0x1.6a09e6p-21, "2^-20.5 in [-2 pi, 2 pi]"},
	{"cos.approx.ftz.f32", cos, 0x1p-126, 314, ABSOLUTE, 0x1.6a09e6p-21,
		"2^-20.5 in [-2 pi, 2 pi]"},
	{"tanh.approx.f32", tanh, 0, INFINITY, RELATIVE, 0x1p-22, "2^-11 relative"},
	{"rcp.approx.f32", recip, 0x1p-149, INFINITY, ULP, 0.5, "1 ulp"},
	{"rcp.approx.ftz.f32", recip, 0x1p-126, INFINITY, ULP, 0.5, "1 ulp"},
	{"sqrt.approx.f32", sqrt, 0, INFINITY, ULP, 0.5, "2^-23 relative"},
	{"sqrt.approx.ftz.f32", sqrt, 0x1p-126, INFINITY, ULP, 0.5, "2^-23 relative"},
	{"rsqrt.approx.f32", recip_root, 0x1p-149, INFINITY, RELATIVE, 0x1.1258ep-23,
		"2^-22.9 relative"},
	{"rsqrt.approx.ftz.f32", recip_root, 0x1p-126, INFINITY, RELATIVE, 0x1.1258ep-23,
		"2^-22.9 relative"},
	{"div.approx.f32", NULL, 0x1p-149, INFINITY, ULP, 2, "2 ulp, divisors 2^-126 to 2^126"},
	{"div.approx.ftz.f32", NULL, 0x1p-126, INFINITY, ULP, 2, "2 ulp, divisors 2^-126 to 2^126"},
	{"div.full.f32", NULL, 0x1p-149, INFINITY, ULP, 2, "2 ulp"},
	{"div.full.ftz.f32", NULL, 0x1p-126, INFINITY, ULP, 2, "2 ulp"},
	/* 20 bits of the operand's significand, and 20 of the result's. */
	{"rcp.approx.ftz.f64", recip, 0x1p-1022, INFINITY, RELATIVE, 0x1p-19, "gross"},
	{"rsqrt.approx.ftz.f64", recip_root, 0x1p-1022, INFINITY, RELATIVE, 0x1p-19, "gross"},
};

/* One batch, of both operands and of results. */
static double x[BATCH], y[BATCH], got[BATCH];

static bool is_f64(const struct function *f)
{
	return strstr(f->opcode, "f64") != NULL;
}

/* f32 travel as f64, exactly. */
static char *kernel_text(const struct function *f)
{
	static char text[2048];
	const char *in = is_f64(f) ? "mov.f64 %g3, %g1; mov.f64 %g4, %g2;"
		: "cvt.rn.f32.f64 %f1, %g1; cvt.rn.f32.f64 %f2, %g2;";
	char op[96];
	snprintf(op, sizeof(op), is_f64(f) ? "%s %%g5, %%g3;"
		: f->exact ? "%s %%f3, %%f1; cvt.f64.f32 %%g5, %%f3;"
		: "%s %%f3, %%f1, %%f2; cvt.f64.f32 %%g5, %%f3;", f->opcode);
	snprintf(text, sizeof(text), ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 "
		"out) {\n"
		".reg .b32 %%r<3>; .reg .b64 %%d<5>; .reg .f32 %%f<4>; .reg .f64 %%g<6>;\n"
		"ld.param.u64 %%d0, [x]; ld.param.u64 %%d1, [y]; ld.param.u64 %%d2, [out];\n"
		"mov.u32 %%r0, %%ctaid.x; mov.u32 %%r1, %%tid.x; mad.lo.u32 %%r0, %%r0, %d, %%r1;\n"
		"mul.wide.u32 %%d3, %%r0, 8; add.u64 %%d0, %%d0, %%d3; add.u64 %%d1, %%d1, %%d3;\n"
		"add.u64 %%d2, %%d2, %%d3;\n"
		"ld.global.f64 %%g1, [%%d0]; ld.global.f64 %%g2, [%%d1];\n"
		"%s\n%s\nst.global.f64 [%%d2], %%g5; ret;\n}\n", BLOCK, in, op);
	return text;
}

/* The i-th operand of about as many as there are f32, spread over all exponents. */
static double operand(const struct function *f, uint64_t i)
{
	uint32_t bits = (uint32_t)i;
	if (!is_f64(f)) {
		return (double)f32_of(bits);
	}
	/* 20 bits of the significand, and more below. */
	return f64_of((uint64_t)bits << 32 | (bits * 2654435769u));
}

static void fill(const struct function *f, uint64_t first, uint64_t step)
{
	for (uint64_t i = 0; i < BATCH; i++) {
		uint64_t at = first + i * step;
		x[i] = operand(f, at);
		/* Divisors of every exponent beside every dividend. */
		y[i] = operand(f, at * 2654435761u >> 3);
	}
}

static bool is_tried(const struct function *f, double a)
{
	return isfinite(a) && fabs(a) >= f->low && fabs(a) <= f->high;
}

/* The distance of one number to the next, of f32 where `value` is. */
static double unit(double value)
{
	int exponent;
	frexp(value, &exponent);
	return ldexp(1, (exponent > -125 ? exponent : -125) - 24);
}

/* The error of a result in the function's measure; 0 where PTX promises none. */
static double error_of(const struct function *f, size_t i)
{
	bool flushes = strstr(f->opcode, "ftz") != NULL && !is_f64(f);
	double most = is_f64(f) ? DBL_MAX : (double)FLT_MAX;
	/* Nothing is promised for other divisors. */
	bool divides = fabs(y[i]) >= 0x1p-126 && fabs(y[i]) <= 0x1p126;
	if (!is_tried(f, x[i]) || (!f->exact && !divides)) {
		return 0;
	}
	double want = f->exact ? f->exact(x[i]) : x[i] / y[i];
	if (isnan(want)) {
		return isnan(got[i]) ? 0 : INFINITY;
	}
	if (fabs(want) > most) {
		return isinf(got[i]) || fabs(got[i]) == most ? 0 : INFINITY;
	}
	double least = is_f64(f) ? DBL_MIN : (double)FLT_MIN;
	if (flushes || is_f64(f)) {
		if (fabs(want) < least) {
			return fabs(got[i]) <= least ? 0 : INFINITY;
		}
	}
	double error = fabs(got[i] - want);
	if (f->measure == RELATIVE) {
		/* Of subnormal numbers the last bit is all there is. */
		return fabs(want) < least ? error / 0x1p-149 * f->bound : want == 0 ? error
			: error / fabs(want);
	}
	return f->measure == ABSOLUTE ? error : error / unit(want);
}

struct worst {
	double error;
	double x;
};

static void try_batch(const struct function *f, CUfunction k, const CUdeviceptr d[3],
	struct worst *worst)
{
	OK(cuMemcpyHtoD_v2(d[0], x, sizeof(x)));
	OK(cuMemcpyHtoD_v2(d[1], y, sizeof(y)));
	OK(cuLaunchKernel(k, BATCH / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL,
		(void *[]){(void *)&d[0], (void *)&d[1], (void *)&d[2]}, NULL));
	OK(cuMemcpyDtoH_v2(got, d[2], sizeof(got)));
	for (size_t i = 0; i < BATCH; i++) {
		double error = error_of(f, i);
		if (!(error <= worst->error)) {
			*worst = (struct worst){error, x[i]};
		}
	}
}

START_TEST(approximations_are_as_good_as_promised)
{
	static const char *const measures[] = {"relative", "absolute", "ulp"};
	const struct function *f = &functions[(size_t)_i / countof(widths)];
	const char *width = widths[(size_t)_i % countof(widths)];
	struct worst worst = {0, 0};
	if (_i % countof(widths) > 0 && driver_lacks(DRIVER_WIDTHS)) {
		return;
	}
	setenv("KUDZU_CPU_WIDTH", width, 1);
	setup();
	CUdeviceptr d[3] = {alloc(sizeof(x)), alloc(sizeof(x)), alloc(sizeof(x))};
	CUmodule module = driver_load(kernel_text(f));
	CUfunction k = kernel(module, "k");
	/* An odd step meets all residues: the low bits vary from one exponent to the next. */
	const char *slow = getenv("KUDZU_TEST_SLOW");
	uint64_t step = slow ? strtoull(slow, NULL, 0) : (UINT64_C(1) << 32) / BATCH - 1;
	step = step > 0 ? step : 1;
	uint64_t batches = slow ? (UINT64_C(1) << 32) / BATCH / step + 1 : 1;
	for (uint64_t b = 0; b < batches; b++) {
		fill(f, b * BATCH * step, step);
		try_batch(f, k, d, &worst);
	}
	printf("%-21s %2s lanes: worst %.4g %s, at %a; PTX ISA: %s\n", f->opcode, width,
		worst.error, measures[f->measure], worst.x, f->isa);
	fflush(stdout);
	ck_assert_msg(driver_lacks("the bounds are ours") || worst.error <= f->bound * (1 + 1e-6),
		"%s: %g, more than %g, at %a", f->opcode, worst.error, f->bound, worst.x);
	teardown();
}
END_TEST

enum { EACH = GRID_WORDS / 2 };

/* Results of all threads, at a width; of f32, EACH from each. */
static void run_grid(const struct function *f, uint32_t width)
{
	char body[256];
	snprintf(body, sizeof(body), "mov.u32 %%r1, 0;\nAGAIN:\n"
		"ld.global.f32 %%f1, [%%rd9]; ld.global.f32 %%f2, [%%rd9+4];\n%s %%f3, %%f1%s;\n"
		"st.global.f32 [%%rd9+%zu], %%f3; add.u64 %%rd9, %%rd9, 4;\n"
		"add.u32 %%r1, %%r1, 1; setp.lt.u32 %%p1, %%r1, %d; @%%p1 bra AGAIN;", f->opcode,
		f->exact ? "" : ", %f2", EACH * sizeof(float), EACH);
	uint32_t bits = 0;
	for (size_t t = 0; t < BLOCK_MAX_THREADS; t++) {
		for (size_t i = 0; i < EACH; i++, bits += UINT32_MAX / (BLOCK_MAX_THREADS * EACH)) {
			grid.memory[t][i] = bits;
		}
	}
	grid_ok(width, BLOCK_MAX_THREADS, "", body);
}

START_TEST(both_widths_give_the_same_bits)
{
	static uint32_t first[BLOCK_MAX_THREADS][GRID_WORDS];
	const struct function *f = &functions[_i];
	if (is_f64(f)) {
		return;
	}
	run_grid(f, 1);
	memcpy(first, grid.memory, sizeof(first));
	run_grid(f, 32);
	size_t differ = 0;
	for (size_t i = 0; i < BLOCK_MAX_THREADS * EACH; i++) {
		uint32_t a = first[i / EACH][EACH + i % EACH];
		uint32_t b = grid.memory[i / EACH][EACH + i % EACH];
		/* which NaN it is PTX leaves open */
		differ += a != b && !(isnan(f32_of(a)) && isnan(f32_of(b)));
	}
	ck_assert_msg(differ == 0, "%s: %zu", f->opcode, differ);
}
END_TEST

SUITE(ulp)
{
	Suite *s = suite_create("ulp");
	TCase *both = tcase_create("widths");
	tcase_add_checked_fixture(both, grid_setup, grid_teardown);
	tcase_add_loop_test(both, both_widths_give_the_same_bits, 0, (int)countof(functions));
	suite_add_tcase(s, both);
	TCase *tc = tcase_create("approximations");
	tcase_set_timeout(tc, getenv("KUDZU_TEST_SLOW") ? 36000 : 120);
	tcase_add_loop_test(tc, approximations_are_as_good_as_promised, 0,
		(int)(countof(functions) * countof(widths)));
	suite_add_tcase(s, tc);
	return s;
}

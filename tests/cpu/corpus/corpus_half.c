/* SPDX-License-Identifier: MIT */
/*
 * Cases of the corpus: f16, bf16 and fp8.  Each step is computed in double, where it is exact for
 * these operands, and rounded once.
 */
#include "base/common.h"

#include "corpus.h"
#include "cpu/support/driver.h"

#include <math.h>
#include <string.h>

/* A binary format: digits of the significand, exponent of the smallest normal number. */
struct format {
	int digits;
	int lowest;
};

static const struct format f16 = {11, -14}, bf16 = {8, -126}, e4m3 = {4, -6}, e5m2 = {3, -14};

/* To nearest, ties to even; too large numbers stay. */
static double rounded(double value, struct format f)
{
	int exponent;
	if (value == 0 || !isfinite(value)) {
		return value;
	}
	frexp(value, &exponent);
	int place = exponent - f.digits;
	int last = f.lowest - f.digits + 1;
	place = place > last ? place : last;
	return ldexp(nearbyint(ldexp(value, -place)), place);
}

/* The bits of a value that has the format, without the sign. */
static uint32_t encoded(double value, struct format f)
{
	double a = fabs(value);
	int exponent;
	frexp(a, &exponent);
	exponent = a == 0 || exponent - 1 < f.lowest ? f.lowest : exponent - 1;
	uint32_t units = (uint32_t)ldexp(a, f.digits - 1 - exponent);
	return units + ((uint32_t)(exponent - f.lowest) << (f.digits - 1));
}

static double decoded(uint32_t code, struct format f)
{
	uint32_t units = code & ((1u << (f.digits - 1)) - 1);
	int exponent = (int)(code >> (f.digits - 1));
	if (exponent) {
		units |= 1u << (f.digits - 1);
		exponent--;
	}
	return ldexp(units, exponent + f.lowest - f.digits + 1);
}

static uint16_t code16(double value, struct format f)
{
	return (uint16_t)(encoded(rounded(value, f), f) | (signbit(value) ? 0x8000u : 0));
}

static double value16(uint16_t code, struct format f)
{
	double value = decoded(code & 0x7fff, f);
	return code & 0x8000 ? -value : value;
}

enum { N = 3000 };

/* z as far as the steps are exact, then its square root of z e^x / y, within `error`. */
static double half_before_tanh(double x, double y, double *error)
{
	double z = rounded(x + y, f16);
	z = rounded(z * x + y, f16);
	z = sqrt(z * exp(x) / y);
	/* e^x within 1.5 units, a product and a quotient rounded, all halved by the root, which
	 * is rounded, too: less than two units of 2^-10. */
	z = fmin(fmax(z, x), y);
	*error = z * 0x1p-9;
	return z;
}

static void run_half(void)
{
	static uint16_t a[N], b[N], c[N], d[N][2], want_d[N][2];
	static float f[N], got_f[N], want_f[N];
	int n = N;
	for (int i = 0; i < N; i++) {
		a[i] = (uint16_t)(0x3400 + corpus_u32() % 0x1000);  /* 0.25 to 4 */
		b[i] = (uint16_t)(0x3400 + corpus_u32() % 0x1000);
		f[i] = corpus_float(-100, 100);
	}
	CUdeviceptr da = corpus_put(a, sizeof(a)), db = corpus_put(b, sizeof(b));
	CUdeviceptr dc = corpus_room(sizeof(c)), dd = corpus_room(sizeof(d));
	CUdeviceptr df = corpus_put(f, sizeof(f));
	corpus_launch("hk", corpus_line(N / 128 + 1, 128),
		(void *[]){&da, &db, &dc, &dd, &df, &n});
	corpus_get(dc, c, sizeof(c));
	corpus_get(dd, d, sizeof(d));
	corpus_get(df, got_f, sizeof(got_f));

	for (int i = 0; i < N; i++) {
		double x = value16(a[i], f16), y = value16(b[i], f16), error;
		double z = value16(c[i], f16), t = tanh(half_before_tanh(x, y, &error));
		/* tanh.approx.f16 is within 2^-10.98, its slope at most 1 - t^2. */
		corpus_near("tanh", (size_t)i, z, t, error * (1 - t * t) + t * 0x1p-10);
		float sum = (float)z + (float)rounded((double)f[i], f16);
		sum += (float)trunc(x);
		want_f[i] = sum + (float)nearbyint(y);
		want_d[i][0] = want_d[i][1] = code16(i, f16);
	}
	corpus_same(got_f, want_f, N, sizeof(*got_f));
	corpus_same(d, want_d, N, sizeof(*d));
}

/* z before hexp (which compute_75 has not); compute_75 leaves out some steps. */
static double bfloat_before_exp(double x, double y)
{
	double z = rounded(x + y, bf16);
	z = rounded(z * x, bf16);
	z = rounded(z - y, bf16);
	z = x > y ? -z : z;
	if (corpus_arch() >= 80) {
		z = rounded(z * x + y, bf16);
		z = rounded(z / y, bf16);
		z = fmax(z, x);
	}
	return z;
}

static void run_bfloat(void)
{
	static uint16_t a[N], b[N], c[N], d[N][2], want_c[N], want_d[N][2];
	static float f[N], got[N];
	int n = N;
	for (int i = 0; i < N; i++) {
		a[i] = (uint16_t)(0x3f00 + corpus_u32() % 0x80);    /* 0.5 to 1 */
		b[i] = (uint16_t)(0x3f00 + corpus_u32() % 0x80);
		f[i] = corpus_float(-1, 1);
	}
	CUdeviceptr da = corpus_put(a, sizeof(a)), db = corpus_put(b, sizeof(b));
	CUdeviceptr dc = corpus_room(sizeof(c)), dd = corpus_room(sizeof(d));
	CUdeviceptr df = corpus_put(f, sizeof(f));
	corpus_launch("bk", corpus_line(N / 96 + 1, 96), (void *[]){&da, &db, &dc, &dd, &df, &n});
	corpus_get(dc, c, sizeof(c));
	corpus_get(dd, d, sizeof(d));
	corpus_get(df, got, sizeof(got));

	for (int i = 0; i < N; i++) {
		double z = bfloat_before_exp(value16(a[i], bf16), value16(b[i], bf16)), error = 0;
		if (corpus_arch() >= 80) {
			z = exp(z);
			/* A unit and a half of eight digits; GPUs have two and a half of seven. */
			error = z * (driver_lacks("it is less exact") ? 2.5 * 0x1p-7
				: 1.5 * 0x1p-8);
		}
		corpus_near("sum", (size_t)i, (double)got[i], (double)((float)z + f[i]), error);
		want_c[i] = want_d[i][0] = want_d[i][1] = code16((double)got[i], bf16);
	}
	corpus_same(c, want_c, N, sizeof(*c));
	corpus_same(d, want_d, N, sizeof(*d));
}

/* fp8 with saturation to the largest finite number; NaN is 0x7f in both. */
static uint8_t code8(float value, struct format f, double most)
{
	double near = rounded(fabs((double)value), f);
	if (isnan(value)) {
		return 0x7f;
	}
	return (uint8_t)(encoded(near < most ? near : most, f) | (signbit(value) ? 0x80u : 0));
}

static double value8(uint8_t code, struct format f)
{
	double value = decoded(code & 0x7f, f);
	return (code & 0x7f) == 0x7f ? (double)NAN : code & 0x80 ? -value : value;
}

static void run_fp8(void)
{
	enum { X = 512 };
	static const float special[] = {
		0.0f, -0.0f, INFINITY, -INFINITY, NAN, 448, 463, 464, 465, 480, -1e9f, 57344, 61439,
		61440, 65536, 0x1p-9f, 0x1p-10f, 0x1.8p-10f, 0x1.8p-9f, 0x1p-16f, 0x1p-17f,
		0x1.000002p-17f, 0x1p-149f, 1.0625f, 1.1875f, 1.125f, 1.375f,
	};
	float x[X], o[X];
	uint8_t a[X], b[X], want_a[X], want_b[X];
	for (size_t i = 0; i < X; i++) {
		float random = ldexpf(corpus_float(-1, 1), (int)(corpus_u32() % 40) - 20);
		x[i] = i < countof(special) ? special[i] : random;
		want_a[i] = code8(x[i], e4m3, 448);
		want_b[i] = code8(x[i], e5m2, 57344);
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), da = corpus_room(sizeof(a));
	CUdeviceptr db = corpus_room(sizeof(b)), dout = corpus_room(sizeof(o));
	corpus_launch("f8", corpus_line(1, X), (void *[]){&dx, &da, &db, &dout});
	corpus_get(da, a, sizeof(a));
	corpus_get(db, b, sizeof(b));
	corpus_get(dout, o, sizeof(o));
	corpus_same(a, want_a, X, 1);
	corpus_same(b, want_b, X, 1);
	for (size_t i = 0; i < X; i++) {
		double want = value8(a[i], e4m3) + value8(b[i], e5m2);
		ck_assert_msg(isnan(want) ? isnan(o[i]) : (double)o[i] == (double)(float)want,
			"%s: %zu: %a", corpus_where(), i, (double)o[i]);
	}
}

const struct corpus_case corpus_half[] = {
	{"04_half", "hk", run_half, 0, 0},
	{"04_half", "bk", run_bfloat, 0, 0},
	{"23_fp8", "f8", run_fp8, 0, 0},
	{0},
};

/* SPDX-License-Identifier: MIT */
/* Cases of the corpus: integers, conversions, templates, switches. */
#include "base/common.h"

#include "support/bits.h"
#include "corpus.h"
#include "support/ints.h"

#include <complex.h>
#include <math.h>
#include <string.h>

static void run_int(void)
{
	struct corpus_size one = corpus_line(1, 1);
	for (int round = 0; round < 40; round++) {
		struct ints got = ints_random(corpus_u32), want = got;
		int n = 1;
		ints_compute(&want);
		CUdeviceptr d[] = {corpus_put(&got, sizeof(got))};
		CUdeviceptr x = d[0] + offsetof(struct ints, x),
			u = d[0] + offsetof(struct ints, u);
		CUdeviceptr l = d[0] + offsetof(struct ints, l),
			ul = d[0] + offsetof(struct ints, ul);
		CUdeviceptr h = d[0] + offsetof(struct ints, h),
			c = d[0] + offsetof(struct ints, c);
		corpus_launch("im", one, (void *[]){&x, &u, &l, &ul, &h, &c, &n});
		corpus_get(d[0], &got, sizeof(got));
		corpus_same(got.x, want.x, 3, sizeof(*got.x));
		corpus_same(got.u, want.u, 2, sizeof(*got.u));
		corpus_same(got.l, want.l, 3, sizeof(*got.l));
		corpus_same(got.ul, want.ul, 4, sizeof(*got.ul));
		corpus_same(got.h, want.h, 2, sizeof(*got.h));
		corpus_same(got.c, want.c, 3, sizeof(*got.c));
	}
}

enum { AX = 300 };

/* The instances of ax<T> for integers, which are all the same but for their size. */
static void ax_int(const char *kernel, size_t size)
{
	uint64_t x[AX], y[AX], a = corpus_u64(), got[AX] = {0}, want[AX] = {0};
	int n = AX;
	for (size_t i = 0; i < AX; i++) {
		uint64_t xi = corpus_u64(), yi = corpus_u64();
		uint64_t sum = a * xi + yi;
		memcpy((char *)x + i * size, &xi, size);
		memcpy((char *)y + i * size, &yi, size);
		memcpy((char *)want + i * size, &sum, size);
	}
	CUdeviceptr dx = corpus_put(x, AX * size), dy = corpus_put(y, AX * size);
	corpus_launch(kernel, corpus_line(4, 96), (void *[]){&a, &dx, &dy, &n});
	corpus_get(dy, got, AX * size);
	corpus_same(got, want, AX, size);
}

static void run_ax_ints(void)
{
	ax_int("_Z2axIiEvT_PKS0_PS0_i", 4);
	ax_int("_Z2axIsEvT_PKS0_PS0_i", 2);
	ax_int("_Z2axIhEvT_PKS0_PS0_i", 1);
	ax_int("_Z2axIxEvT_PKS0_PS0_i", 8);
	ax_int("_Z2axIyEvT_PKS0_PS0_i", 8);
}

static void run_ax_floats(void)
{
	float x[AX], y[AX], a = -3.1f, got[AX], want[AX];
	double xd[AX], yd[AX], ad = 1.7, gotd[AX], wantd[AX];
	int n = AX;
	corpus_floats(x, AX);
	corpus_floats(y, AX);
	for (int i = 0; i < AX; i++) {
		float product = a * x[i];
		want[i] = product + y[i];
		xd[i] = corpus_double(-2, 2);
		yd[i] = corpus_double(-2, 2);
		double product_d = ad * xd[i];
		wantd[i] = product_d + yd[i];
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), dy = corpus_put(y, sizeof(y));
	corpus_launch("_Z2axIfEvT_PKS0_PS0_i", corpus_line(3, 100), (void *[]){&a, &dx, &dy, &n});
	corpus_get(dy, got, sizeof(got));
	corpus_same(got, want, AX, sizeof(*got));
	dx = corpus_put(xd, sizeof(xd));
	dy = corpus_put(yd, sizeof(yd));
	corpus_launch("_Z2axIdEvT_PKS0_PS0_i", corpus_line(3, 100), (void *[]){&ad, &dx, &dy, &n});
	corpus_get(dy, gotd, sizeof(gotd));
	corpus_same(gotd, wantd, AX, sizeof(*gotd));
}

static void run_ax_complex(void)
{
	float x[2 * AX], y[2 * AX], a[2] = {0.75f, -1.3f}, got[2 * AX], want[2 * AX];
	int n = AX;
	corpus_floats(x, 2 * AX);
	corpus_floats(y, 2 * AX);
	for (int i = 0; i < 2 * AX; i += 2) {
		float rr = a[0] * x[i], ii = a[1] * x[i + 1];
		float ri = a[0] * x[i + 1], ir = a[1] * x[i];
		float re = rr - ii, im = ri + ir;
		want[i] = re + y[i];
		want[i + 1] = im + y[i + 1];
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), dy = corpus_put(y, sizeof(y));
	corpus_launch("_Z2axIN4cuda3std3__47complexIfEEEvT_PKS5_PS5_i", corpus_line(5, 64),
		(void *[]){a, &dx, &dy, &n});
	corpus_get(dy, got, sizeof(got));
	corpus_same(got, want, 2 * AX, sizeof(*got));
}

/* Thread 0 alone: others would read x[1] and x[2] while those change. */
static void run_complex_double(void)
{
	for (int round = 0; round < 6; round++) {
		double x[6], got[6];
		for (int i = 0; i < 6; i++) {
			x[i] = ldexp(corpus_double(-1, 1), 40 * (round - 3));
		}
		double complex a = x[0] + x[1] * I, b = x[2] + x[3] * I, c = x[4] + x[5] * I;
		double complex want = a * (b / c);
		CUdeviceptr d = corpus_put(x, sizeof(x));
		corpus_launch("cz", corpus_line(1, 1), (void *[]){&d});
		corpus_get(d, got, sizeof(got));
		/* About a dozen roundings, each of half a unit of the magnitude. */
		corpus_near("real part", 0, got[0], creal(want), 16 * 0x1p-53 * cabs(want));
		corpus_near("imaginary part", 0, got[1], cimag(want), 16 * 0x1p-53 * cabs(want));
		corpus_same(got + 2, x + 2, 4, sizeof(*got));
	}
}

/* The ten arrays of kernel `cvt`, with the two elements that its thread 0 uses. */
struct conversions {
	double d[2];
	int64_t l[2];
	uint64_t ul[2];
	float f[2];
	int32_t i[2];
	uint32_t u[2];
	int16_t s[2];
	int8_t c[2];
	uint8_t uc[2];
	uint8_t b[2];
	uint8_t unused[6];
};

static float toward_zero(double value)
{
	float near = (float)value;
	return fabs((double)near) > fabs(value) ? nextafterf(near, 0) : near;
}

static void conversions_compute(struct conversions *v)
{
	float f = v->f[0];
	double d = v->d[0];
	v->i[0] = (int)f + (int)rintf(f) + (int)ceilf(f) + (int)floor(d) + (int)v->l[0] + v->b[0];
	v->u[0] = (unsigned)f + (unsigned)d;
	v->l[0] = (int64_t)f + (int64_t)d + v->i[0] + v->s[0] + v->c[0];
	v->ul[0] = (uint64_t)f + (uint64_t)d;
	f = (float)v->i[1] + (float)v->u[1];
	f = f + (float)v->l[1];
	f = f + (float)v->ul[1];
	f = f + (float)d;
	f = f + (float)v->s[0];
	f = f + (float)v->c[0];
	f = f + (float)v->uc[0];
	f = f + toward_zero(d);
	f = f + toward_zero(v->i[0]);
	d = (double)f + v->i[0] + v->u[0] + (double)v->l[0] + (double)v->ul[0];
	d = d + f64_of((uint64_t)v->i[0] << 32 | (uint32_t)v->i[0]);
	d = d + f64_of((uint64_t)v->l[0]);
	v->d[0] = d;
	v->s[0] = (int16_t)f;
	v->c[0] = (int8_t)v->i[0];
	v->uc[0] = (uint8_t)(unsigned)f;
	v->b[0] = f > 0;
	uint64_t bits;
	memcpy(&bits, &d, sizeof(bits));
	v->i[0] = (int32_t)((uint32_t)v->i[0] + (uint32_t)bits_of_f32(f) + (uint32_t)(bits >> 32));
	float last;
	memcpy(&last, &v->i[0], sizeof(last));
	v->f[0] = f + last;
}

/* Thread 0 alone: the next one would read what it writes.  No number is negative, for the kernel
 * reads the results as bits of doubles, and there is no telling which NaN. */
static void run_cvt(void)
{
	for (int round = 0; round < 14; round++) {
		struct conversions v = {
			.d = {corpus_double(0, 1000), 0}, .f = {corpus_float(0, 1000), 0},
			.l = {corpus_u32() & 4095, corpus_u32() & 4095},
			.ul = {0, corpus_u32() & 4095}, .i = {0, (int)(corpus_u32() & 4095)},
			.u = {0, corpus_u32() & 4095}, .s = {(int16_t)(corpus_u32() & 4095), 0},
			.c = {(int8_t)(corpus_u32() & 127), 0}, .uc = {(uint8_t)corpus_u32(), 0},
			.b = {corpus_u32() & 1, 0},
		};
		struct conversions got;
		CUdeviceptr at = corpus_put(&v, sizeof(v)), p[10];
		static const size_t offsets[] = {
			offsetof(struct conversions, f), offsetof(struct conversions, d),
			offsetof(struct conversions, i), offsetof(struct conversions, u),
			offsetof(struct conversions, l), offsetof(struct conversions, ul),
			offsetof(struct conversions, s), offsetof(struct conversions, c),
			offsetof(struct conversions, uc), offsetof(struct conversions, b),
		};
		void *args[10];
		for (size_t k = 0; k < countof(offsets); k++) {
			p[k] = at + offsets[k];
			args[k] = &p[k];
		}
		corpus_launch("cvt", corpus_line(1, 1), args);
		corpus_get(at, &got, sizeof(got));
		conversions_compute(&v);
		corpus_same(got.d, v.d, 2, sizeof(*v.d));
		corpus_same(got.f, v.f, 2, sizeof(*v.f));
		corpus_same(&got, &v, sizeof(v), 1);
	}
}

/* Thread 0 alone: all threads write o[3], and read what the others write. */
static void run_misc(void)
{
	for (int round = 0; round < 4; round++) {
		int o[8], got[8];
		for (int i = 0; i < 8; i++) {
			o[i] = (int)(corpus_u32() % 2001) - 1000;
		}
		o[2] = 2 + (round & 1);
		CUdeviceptr d = corpus_put(o, sizeof(o));
		corpus_launch("misc", corpus_line(1, 1), (void *[]){&d});
		corpus_get(d, got, sizeof(got));
		int a = o[o[1] & 7];
		o[0] = o[1] + 2 + o[1] * a;
		o[3] = o[2] < 3 ? 1 : 2;
		corpus_same(got, o, 8, sizeof(*got));
	}
}

/* The program of 14_switch_call's `sw`, in one thread. */
static uint32_t sw(uint32_t x[], uint32_t i, const int *op, int n)
{
	uint32_t v = x[i];
	for (int k = 0; k < n; k++) {
		switch (op[k]) {
		case 0: v += 3; break;
		case 1: v *= 7; break;
		case 2: v ^= (uint32_t)k; break;
		case 3: v = (uint32_t)((int32_t)v / 3); break;
		case 4: v <<= 2; break;
		case 5: v -= (uint32_t)op[++k]; break;
		case 6: x[i] = v; break;
		case 7: v = x[v & 31]; break;
		case 8: v = ~v; break;
		case 9: return x[i];
		case 10: v = (uint32_t)__builtin_popcount(v); break;
		case 11: k++; v = (int32_t)v < op[k] ? v : (uint32_t)op[k]; break;
		default: v++;
		}
	}
	return v;
}

enum { OPS = 61, XS = 64 };

static void random_xs(uint32_t x[XS])
{
	for (int i = 0; i < XS; i++) {
		x[i] = corpus_u32();
	}
}

static void try_sw(const uint32_t x[XS], const int *op, unsigned threads)
{
	uint32_t got[XS], want[XS];
	int n = OPS - 1;
	memcpy(want, x, sizeof(want));
	for (unsigned i = 0; i < threads; i++) {
		want[i] = sw(want, i, op, n);
	}
	CUdeviceptr dx = corpus_put(x, sizeof(want)), dop = corpus_put(op, OPS * sizeof(*op));
	corpus_launch("sw", corpus_line(1, threads), (void *[]){&dx, &dop, &n});
	corpus_get(dx, got, sizeof(got));
	corpus_same(got, want, XS, sizeof(*got));
}

/* With several threads there is no case 7, which reads what others write. */
static void run_sw(void)
{
	for (int round = 0; round < 6; round++) {
		uint32_t x[XS];
		int op[OPS];
		bool alone = round & 1;
		random_xs(x);
		for (int k = 0; k < OPS; k++) {
			op[k] = (int)(corpus_u32() % 14);
			op[k] = (op[k] == 7 && !alone) || (op[k] == 9 && round < 4) ? 12 : op[k];
		}
		try_sw(x, op, alone ? 1 : 50);
	}
}

/* One step of 27_brx in thread 0; false where it returns. */
static bool brx_step(uint32_t x[], uint32_t *at, const int *op, int *k)
{
	uint32_t v = *at;
	switch (op[*k]) {
	case 0: v += 3; x[1] = v; break;
	case 1: v *= 7; x[2] = v * 3; break;
	case 2: v ^= (uint32_t)*k; x[0] = v; break;
	case 3: v = (uint32_t)((int32_t)v / 3); x[3] = 1; break;
	case 4: v <<= 2; x[0] += v; break;
	case 5: v -= (uint32_t)op[++*k]; break;
	case 6: x[0] = v; break;
	case 7: v = x[v & 31]; break;
	case 8: v = ~v; x[7] = v; break;
	case 9: return false;
	case 10: v = (uint32_t)__builtin_popcount(v); x[*k] = v; break;
	case 11: ++*k; v = (int32_t)v < op[*k] ? v : (uint32_t)op[*k]; break;
	case 12: v = v * v + x[3]; break;
	case 13: x[v] = v; v++; break;
	case 14: break;
	case 15: v = x[5]; break;
	default: v++;
	}
	*at = v;
	return true;
}

static void try_brx(const uint32_t x[XS], const int *op, const uint32_t want[XS], unsigned threads)
{
	uint32_t got[XS];
	int n = OPS - 1;
	CUdeviceptr dx = corpus_put(x, sizeof(got)), dop = corpus_put(op, OPS * sizeof(*op));
	corpus_launch("brx", corpus_line(1, threads), (void *[]){&dx, &dop, &n});
	corpus_get(dx, got, sizeof(got));
	corpus_same(got, want, XS, sizeof(*got));
}

static void run_brx(void)
{
	uint32_t x[XS], want[XS];
	int op[OPS];
	for (int round = 0; round < 5; round++) {
		random_xs(x);
		memcpy(want, x, sizeof(want));
		uint32_t v = want[0];
		bool on = true;
		for (int k = 0; on && k < OPS - 1; k++) {
			/* An index must be one; a return comes late. */
			op[k] = (int)(corpus_u32() % 18);
			op[k] = (op[k] == 13 && v >= XS) || (op[k] == 9 && k < 50) ? 10 : op[k];
			op[k + 1] = (int)(corpus_u32() % 1000);
			on = brx_step(want, &v, op, &k);
		}
		want[0] = on ? v : want[0];
		try_brx(x, op, want, 1);
	}
	/* In several threads only what touches nothing of others. */
	static const int alone[] = {5, 11, 14, 16, 6};
	for (int k = 0; k < OPS; k++) {
		op[k] = k % 3 ? alone[corpus_u32() % countof(alone)] : 14;
	}
	memcpy(want, x, sizeof(want));
	for (int i = 0; i < 60; i++) {
		uint32_t v = x[i], own[XS] = {0};
		for (int k = 0; k < OPS - 1; k++) {
			brx_step(own, &v, op, &k);
		}
		want[i] = v;
	}
	try_brx(x, op, want, 60);
}

/* Thread 0 alone: all cases read and write one array. */
static void run_sw64(void)
{
	for (int round = 0; round < 4; round++) {
		uint32_t x[XS], got[XS], want[XS];
		int op[OPS], n = OPS;
		random_xs(x);
		memcpy(want, x, sizeof(want));
		uint32_t v = x[0];
		for (int k = 0; k < OPS; k++) {
			uint32_t a = corpus_u32() % 66;
			op[k] = (int)a;
			/* The macro's argument has no parentheses: v * 8 + 1 where a is 9. */
			v = a < 64 ? v * (a & ~7u) + (a & 7) + want[(v + a) & 15] : v + 1;
			if (a < 64) {
				want[a] = v ^ a;
			}
		}
		want[0] = v;
		CUdeviceptr dx = corpus_put(x, sizeof(x)), dop = corpus_put(op, sizeof(op));
		corpus_launch("sw64", corpus_line(1, 1), (void *[]){&dx, &dop, &n});
		corpus_get(dx, got, sizeof(got));
		corpus_same(got, want, XS, sizeof(*got));
	}
}

const struct corpus_case corpus_int[] = {
	{"13_int", "im", run_int, 0, 0},
	{"14_switch_call", "sw", run_sw, 0, 0},
	{"22_complex_templ", "ax<integer>", run_ax_ints, 0, 0},
	{"22_complex_templ", "ax<float>", run_ax_floats, 0, 0},
	{"22_complex_templ", "ax<complex>", run_ax_complex, 0, 0},
	{"22_complex_templ", "cz", run_complex_double, 0, 0},
	{"22_complex_templ", "cvt", run_cvt, 0, 0},
	{"26_cdp_misc", "misc", run_misc, 0, 0},
	{"27_brx", "brx", run_brx, 0, 0},
	{"28_switch64", "sw64", run_sw64, 0, 0},
	{0},
};

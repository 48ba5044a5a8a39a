/* SPDX-License-Identifier: MIT */
/*
 * Cases of the corpus: the mathematical functions.  The kernels add up forty of them, so the
 * tolerance is what the worst of them may be wrong by, in units of the sum of all magnitudes.
 */
#include "base/common.h"

#include "corpus.h"

#include <math.h>

enum { N = 300 };

/* A sum, and the sum of the magnitudes of its terms. */
struct sum {
	double value;
	double scale;
};

static void add(struct sum *s, double term)
{
	s->value += term;
	s->scale += fabs(term);
}

static double normal_distribution(double x)
{
	return erfc(-x / M_SQRT2) / 2;
}

/* The first line of kernel `dm`: a becomes the sum of these. */
static struct sum double_sum(double a, double b)
{
	const double terms[] = {
		sin(a), cos(b), tan(a), exp(b), log(a), pow(a, b), sqrt(a), 1 / sqrt(b), cbrt(a),
		erf(a), erfc(b), tgamma(a), lgamma(b), atan2(a, b), fmod(a, b), hypot(a, b),
		asin(a), sinh(b), tanh(a), log2(a), log10(a), log1p(a), expm1(a), exp2(a), floor(a),
		ceil(b), rint(a), round(b), trunc(a), fma(a, b, a), fabs(a), fmin(a, b), fmax(a, b),
		copysign(a, b), a / b, j0(a), normal_distribution(a), ldexp(a, 3), ilogb(a),
		remainder(a, b),
	};
	struct sum s = {0};
	for (size_t i = 0; i < countof(terms); i++) {
		add(&s, terms[i]);
	}
	return s;
}

static void run_double_math(void)
{
	double x[N], y[N], got[N];
	int n = N;
	for (int i = 0; i < N; i++) {
		x[i] = corpus_double(0.01, 0.999);
		y[i] = corpus_double(0.1, 4);
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), dy = corpus_put(y, sizeof(y));
	corpus_launch("dm", corpus_line(3, 128), (void *[]){&dx, &dy, &n});
	corpus_get(dy, got, sizeof(got));
	for (int i = 0; i < N; i++) {
		double b = y[i];
		struct sum s = double_sum(x[i], b);
		double a = s.value;
		int exponent;
		double fraction = frexp(a, &exponent);
		double want = a + fraction + exponent + (a + b) + a * b + a / b + fma(a, b, a)
			+ sqrt(a) + 1 / b + (signbit(a) != 0);
		/* tgamma is within 10 units (CUDA C Programming Guide), the others within a few;
		 * the second sum multiplies the error of a by no more than this. */
		double within = 16 * 0x1p-52 * s.scale * (6 + 2 * b + 2 / b);
		/* frexp jumps at powers of two. */
		if (fabs(fraction - 0.5) > 1e-9 && fabs(fraction - 1) > 1e-9) {
			corpus_near("dm", (size_t)i, got[i], want, within);
		}
	}
}

/* The first line of kernel `fm`. */
static struct sum float_sum(double a, double b)
{
	const double terms[] = {
		sin(a), cos(b), tan(a), exp(b), log(a), pow(a, b), sqrt(a), 1 / sqrt(b), cbrt(a),
		erf(a), tgamma(a), lgamma(b), atan2(a, b), fmod(a, b), hypot(a, b), asin(a),
		sinh(b), tanh(a), log2(a), log10(a), log1p(a), expm1(a), exp2(a), pow(10, a),
		floor(a), ceil(b), rint(a), round(b), trunc(a), fma(a, b, a), fabs(a), fmin(a, b),
		fmax(a, b), copysign(a, b), a / b, nearbyint(a), sin(a), cos(b), exp(a), log(b),
		pow(a, b), a / b, 1 / a, sqrt(b), a + b, a * b, fma(a, b, a), fmin(fmax(a, 0), 1),
		tan(b), log2(a), 1 / sqrt(a),
	};
	struct sum s = {0};
	for (size_t i = 0; i < countof(terms); i++) {
		add(&s, terms[i]);
	}
	return s;
}

static void run_float_math(void)
{
	float x[N], y[N], got[N];
	int n = N;
	for (int i = 0; i < N; i++) {
		x[i] = corpus_float(0.05f, 0.99f);
		y[i] = corpus_float(0.1f, 1.4f);
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), dy = corpus_put(y, sizeof(y));
	corpus_launch("fm", corpus_line(2, 150), (void *[]){&dx, &dy, &n});
	corpus_get(dy, got, sizeof(got));
	for (int i = 0; i < N; i++) {
		double b = (double)y[i];
		struct sum s = float_sum((double)x[i], b);
		double a = s.value, sine = sin(a);
		double want = sine + cos(a) + sin(M_PI * fmod(a, 2))
			+ sqrt(a * a + b * b + sine * sine)
			+ a / b;
		/* The intrinsics are within 2^-21 or so, and the sum rounds fifty times; sinpi and
		 * the quotient multiply the error of a. */
		double within = 40 * 0x1p-24 * s.scale * (1 + 1 + M_PI + 2 + 1 / b);
		corpus_near("fm", (size_t)i, (double)got[i], want, within);
	}
}

const struct corpus_case corpus_math[] = {
	{"12_math", "dm", run_double_math, 0, 0},
	{"12_math", "fm", run_float_math, 0, 0},
	{0},
};

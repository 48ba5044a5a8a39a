/* SPDX-License-Identifier: MIT */
/*
 * Complex functions of arrays and of <complex> in kernels, which are the same
 * (kernels/complex.cuh), beside those of the C library for long double, and beside Annex G of C at
 * the special values.
 *
 * Arguments are of every magnitude, a part of them where functions have their difficulties.  Each
 * part of a result is within 8 units in the last place; products and quotients, whose parts may
 * cancel, are so in units of the magnitude.  KUDZU_TEST_SLOW=1 tries 10^6 arguments of each, and
 * prints the worst.
 */
#include "base/common.h"

#include "support/number.h"
#include "support/device_test.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum { MOST = 50000 };

typedef long double complex wide;

static uint64_t seed;

/* The functions */

static wide both(long double re, long double im)
{
	union { long double parts[2]; wide value; } out = {{re, im}};
	return out.value;
}

static wide ref_multiply(wide a, wide b)
{
	return both(creall(a) * creall(b) - cimagl(a) * cimagl(b),
		creall(a) * cimagl(b) + cimagl(a) * creall(b));
}

static wide ref_log10(wide a, wide b)
{
	const wide log = clogl(a);
	(void)b;
	return both(creall(log) / logl(10), cimagl(log) / logl(10));
}

#define REF(name, ...) static wide ref_##name(wide a, wide b) { (void)b; return __VA_ARGS__; }
REF(divide, a / b)
REF(power, cpowl(a, b))
REF(absolute, cabsl(a))
REF(angle, cargl(a))
REF(sign, both(creall(a) / cabsl(a), cimagl(a) / cabsl(a)))
REF(reciprocal, 1 / a)
REF(norm, creall(a) * creall(a) + cimagl(a) * cimagl(a))
REF(project, cprojl(a))
REF(polar, both(fabsl(creall(a)) * cosl(cimagl(a)), fabsl(creall(a)) * sinl(cimagl(a))))
REF(sqrt, csqrtl(a))
REF(exp, cexpl(a))
REF(log, clogl(a))
REF(sin, csinl(a))
REF(cos, ccosl(a))
REF(tan, ctanl(a))
REF(sinh, csinhl(a))
REF(cosh, ccoshl(a))
REF(tanh, ctanhl(a))
REF(asin, casinl(a))
REF(acos, cacosl(a))
REF(atan, catanl(a))
REF(asinh, casinhl(a))
REF(acosh, cacoshl(a))
REF(atanh, catanhl(a))

enum kind { PARTS, WHOLE, POWER };

/* `text` is what a kernel computes of a and b; `op` 0: arrays have no such operation. */
static const struct function {
	const char *name, *text;
	kz_op op;
	enum kind kind;
	wide (*ref)(wide a, wide b);
} functions[] = {
	{"multiply", "a * b", KZ_OP_MULTIPLY, WHOLE, ref_multiply},
	{"divide", "a / b", KZ_OP_DIVIDE, WHOLE, ref_divide},
	{"pow", "std::pow(a, b)", KZ_OP_POWER, POWER, ref_power},
	{"abs", "std::abs(a)", KZ_OP_ABSOLUTE, PARTS, ref_absolute},
	{"arg", "std::arg(a)", KZ_OP_ANGLE, PARTS, ref_angle},
	{"sign", NULL, KZ_OP_SIGN, PARTS, ref_sign},
	{"reciprocal", "T(1) / a", KZ_OP_RECIPROCAL, WHOLE, ref_reciprocal},
	{"norm", "std::norm(a)", 0, PARTS, ref_norm},
	{"proj", "std::proj(a)", 0, PARTS, ref_project},
	{"polar", "std::polar(fabs(a.real()), a.imag())", 0, PARTS, ref_polar},
	{"sqrt", "std::sqrt(a)", KZ_OP_SQRT, PARTS, ref_sqrt},
	{"exp", "std::exp(a)", KZ_OP_EXP, PARTS, ref_exp},
	{"log", "std::log(a)", KZ_OP_LOG, PARTS, ref_log},
	{"log10", "std::log10(a)", KZ_OP_LOG10, PARTS, ref_log10},
	{"sin", "std::sin(a)", KZ_OP_SIN, PARTS, ref_sin},
	{"cos", "std::cos(a)", KZ_OP_COS, PARTS, ref_cos},
	{"tan", "std::tan(a)", KZ_OP_TAN, PARTS, ref_tan},
	{"sinh", "std::sinh(a)", KZ_OP_SINH, PARTS, ref_sinh},
	{"cosh", "std::cosh(a)", KZ_OP_COSH, PARTS, ref_cosh},
	{"tanh", "std::tanh(a)", KZ_OP_TANH, PARTS, ref_tanh},
	{"asin", "std::asin(a)", KZ_OP_ARCSIN, PARTS, ref_asin},
	{"acos", "std::acos(a)", KZ_OP_ARCCOS, PARTS, ref_acos},
	{"atan", "std::atan(a)", KZ_OP_ARCTAN, PARTS, ref_atan},
	{"asinh", "std::asinh(a)", KZ_OP_ARCSINH, PARTS, ref_asinh},
	{"acosh", "std::acosh(a)", KZ_OP_ARCCOSH, PARTS, ref_acosh},
	{"atanh", "std::atanh(a)", KZ_OP_ARCTANH, PARTS, ref_atanh},
};

static const struct function *find_function(const char *name)
{
	for (size_t i = 0; i < countof(functions); i++) {
		if (strcmp(functions[i].name, name) == 0) {
			return &functions[i];
		}
	}
	ck_abort_msg("%s", name);
	return NULL;
}

/* Arguments */

struct trial {
	kz_dtype dtype;
	int count;
	struct number a[MOST], b[MOST], out[MOST];
};

static struct trial trial;
static char bytes[MOST * 16];

static kz_dtype part_of(const struct trial *t)
{
	return number_part(t->dtype);
}

static double random_unit(void)
{
	return (double)(number_random(&seed) >> 11) * 0x1p-53;
}

/* Of either sign, with an exponent between these. */
static long double random_size(int low, int high)
{
	int exponent = low + (int)(number_random(&seed) % (uint64_t)(high - low + 1));
	long double size = ldexpl(1 + (long double)random_unit(), exponent);
	return number_random(&seed) % 2 ? -size : size;
}

static struct number random_argument(kz_dtype part)
{
	const int least = part == KZ_F32 ? -149 : -1074, most = part == KZ_F32 ? 127 : 1023;
	const int bits = number_digits(part);
	int exponent = least + (int)(number_random(&seed) % (uint64_t)(most - least));
	struct number out = {0, random_size(-12, 5), random_size(-12, 5)};
	switch (number_random(&seed) % 8) {
	case 0:
		out = (struct number){0, random_size(least, most), random_size(least, most)};
		break;
	case 1: /* parts alike */
		out = (struct number){0, random_size(exponent, exponent + 1),
			random_size(exponent, exponent + 1)};
		break;
	case 2: /* at the unit circle */
		out.re = cosl(out.re);
		out.im = sqrtl(1 - out.re * out.re) * (1 + random_size(-bits - 8, -1));
		break;
	case 3: /* at 1, -1, i, -i */
		out = (struct number){0, (random_unit() < 0.5 ? 1 : -1) + random_size(-bits, 0),
			random_size(number_random(&seed) % 2 ? least : -bits, 0)};
		if (number_random(&seed) % 2) {
			out = (struct number){0, out.im, out.re};
		}
		break;
	case 4: /* on an axis, nearly */
		out = (struct number){0, random_size(-40, 12),
			number_random(&seed) % 2 ? 0 : random_size(least, 0)};
		if (number_random(&seed) % 2) {
			out = (struct number){0, out.im, out.re};
		}
		break;
	case 5: /* where exponentials overflow */
		out.re = (part == KZ_F32 ? 88 : 709) + random_size(-12, 6);
		out.im = random_size(-60, 12);
		break;
	default:
		break;
	}
	(void)number_convert(&out, KZ_C128, part == KZ_F32 ? KZ_C64 : KZ_C128);
	return out;
}

static void choose_arguments(struct trial *t, kz_dtype dtype, int count)
{
	t->dtype = dtype;
	t->count = count;
	for (int i = 0; i < count; i++) {
		t->a[i] = random_argument(part_of(t));
		t->b[i] = random_argument(part_of(t));
	}
}

/* Comparing */

/* How far off a part is, in units; 0 where both are as good as infinite. */
static double units_off(kz_dtype part, long double got, long double want, long double unit)
{
	const long double most = number_largest(part), beyond = most + number_ulp(part, most);
	if (isnan(got) || isnan(want)) {
		return isnan(got) && isnan(want) ? 0 : INFINITY;
	}
	got = fabsl(got) > beyond ? copysignl(beyond, got) : got;
	want = fabsl(want) > beyond ? copysignl(beyond, want) : want;
	return (double)(fabsl(got - want) / unit);
}

/* The share of what is allowed. */
static double error_of(const struct function *f, kz_dtype part, struct number got, wide want,
	wide a, wide b)
{
	const long double re = creall(want), im = cimagl(want), size = hypotl(re, im);
	if (f->kind == PARTS) {
		return fmax(units_off(part, got.re, re, number_ulp(part, re)),
			units_off(part, got.im, im, number_ulp(part, im))) / 8;
	}
	/* Far beyond all numbers only the size matters: which parts are infinite depends on their
	 * angle. */
	if (size > number_largest(part) * 0.7L) {
		return isfinite(got.re) && isfinite(got.im)
			&& size > 2 * number_largest(part) ? INFINITY : 0;
	}
	const long double unit = number_ulp(part, size);
	const double allowed = f->kind == POWER ? 16 * (1 + (double)cabsl(b * clogl(a))) : 8;
	return fmax(units_off(part, got.re, re, unit), units_off(part, got.im, im, unit)) / allowed;
}

/* Powers are compared where C's own is good: not of 0. */
static bool is_fit(const struct function *f, struct number a, struct number b, wide want)
{
	if (f->kind == POWER) {
		const long double size = cabsl(both(b.re, b.im) * clogl(both(a.re, a.im)));
		return (a.re != 0 || a.im != 0) && size < 1e4L && !isnan(creall(want));
	}
	return !(f->ref == ref_divide && b.re == 0 && b.im == 0)
		&& !((f->ref == ref_reciprocal || f->ref == ref_sign) && a.re == 0 && a.im == 0);
}

static double compare(const struct trial *t, const struct function *f, const char *where)
{
	double worst = 0;
	for (int i = 0; i < t->count; i++) {
		const struct number x = t->a[i], y = t->b[i], got = t->out[i];
		const wide a = both(x.re, x.im), b = both(y.re, y.im), want = f->ref(a, b);
		if (!is_fit(f, x, y, want)) {
			continue;
		}
		const double error = error_of(f, part_of(t), got, want, a, b);
		ck_assert_msg(error <= 1, "%s in %s, %s: (%.17Lg %.17Lg) (%.17Lg %.17Lg): expected "
			"%.17Lg %.17Lg, got %.17Lg %.17Lg: %g times what is allowed", f->name,
			where, kz_dtype_name(t->dtype), x.re, x.im, y.re, y.im, creall(want),
			cimagl(want), got.re, got.im, error);
		worst = fmax(worst, error);
	}
	return worst;
}

/* Running */

static kz_array *make_operand(const struct trial *t, const struct number *values)
{
	const int64_t size = kz_dtype_size(t->dtype);
	kz_array *array = NULL;
	for (int i = 0; i < t->count; i++) {
		number_store(t->dtype, bytes + i * size, values[i]);
	}
	ok(kz_array_from(&array, dev, t->dtype, KZ_SHAPE(t->count), bytes, t->count * size, &err));
	return array;
}

static void take_results(struct trial *t, kz_array *array)
{
	const kz_dtype dtype = kz_array_dtype(array);
	ok(kz_array_get(array, bytes, kz_array_size(array), &err));
	for (int i = 0; i < t->count; i++) {
		t->out[i] = number_load(dtype, bytes + i * kz_dtype_size(dtype));
	}
	kz_array_release(array);
}

/* A kernel of all functions by <complex>, from our own headers. */
static kz_kernel *compile_functions(kz_module **mod, kz_dtype dtype)
{
	static char source[8192];
	size_t used = (size_t)snprintf(source, sizeof(source), "#include <complex>\ntypedef %s T;\n"
		"extern \"C\" __global__ void k(const std::complex<T> *x, const std::complex<T> *y,"
		" std::complex<T> *out, int which, int n)\n{\n"
		"for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; "
		"i += gridDim.x * blockDim.x) {\n"
		"const std::complex<T> a = x[i], b = y[i];\nswitch (which) {\n",
		dtype == KZ_C64 ? "float" : "double");
	kz_kernel *kernel = NULL;
	setenv("KUDZU_CUDA_INCLUDE", "/nowhere", 1);
	for (size_t i = 0; i < countof(functions); i++) {
		used += (size_t)snprintf(source + used, sizeof(source) - used,
			"case %zu: out[i] = %s; break;\n",
			i, functions[i].text ? functions[i].text : "a");
	}
	snprintf(source + used, sizeof(source) - used, "}\n}\n}\n");
	ck_assert_msg(kz_module_compile(mod, dev, source, NULL, &err) == KZ_OK, "%s", err.log);
	ok(kz_module_kernel(&kernel, *mod, "k", &err));
	return kernel;
}

static void run_kernel(struct trial *t, kz_kernel *kernel, const struct function *f)
{
	kz_array *a = make_operand(t, t->a), *b = make_operand(t, t->b), *out = NULL;
	ok(kz_array_create(&out, dev, t->dtype, KZ_SHAPE(t->count), &err));
	ok(kz_launch(kernel, kz_dim(32, 1, 1), kz_dim(128, 1, 1), NULL, &err,
		KZ_ARGS(a, b, out, (int)(f - functions), t->count)));
	take_results(t, out);
	release_arrays(a, b);
}

static void run_arrays(struct trial *t, const struct function *f)
{
	kz_array *a = make_operand(t, t->a), *b = make_operand(t, t->b), *out = NULL;
	const kz_arg args[2] = {kz_arg_array(a), kz_arg_array(b)};
	ok(kz_apply(&out, f->op, NULL, &err, (kz_args){args, (size_t)kz_op_arity(f->op)}));
	take_results(t, out);
	release_arrays(a, b);
}

/* Tests */

static const kz_dtype dtypes[] = {KZ_C64, KZ_C128};

/* The best code for these long kernels takes longer to compile than they run. */
static void begin(int index)
{
	const char *text = getenv("KUDZU_TEST_SEED");
	if (!getenv("KUDZU_TEST_SLOW") && !getenv("KUDZU_CPU_WIDTH")) {
		setenv("KUDZU_CPU_TIER", "1", 1);
	}
	seed = text ? strtoull(text, NULL, 0) : 1;
	setup(index / (int)countof(dtypes));
}

/* By the kernel, or by operations of arrays. */
static void try_function(const struct function *f, kz_dtype dtype, kz_kernel *kernel)
{
	double worst = 0;
	for (int round = support_how_many(1000000 / MOST, 1, 1); round > 0; round--) {
		choose_arguments(&trial, dtype, support_how_many(MOST, 1500, 300));
		if (kernel) {
			run_kernel(&trial, kernel, f);
		} else {
			run_arrays(&trial, f);
		}
		worst = fmax(worst, compare(&trial, f, kernel ? "a kernel" : "arrays"));
	}
	if (getenv("KUDZU_TEST_SLOW")) {
		fprintf(stderr, "%s of %s: at most %.3f of what is allowed\n", f->name,
			kz_dtype_name(dtype), worst);
	}
}

#define EACH_TYPE(name) TEST_BETWEEN(begin(_i), teardown(), name)

EACH_TYPE(functions_of_kernels_are_within_8_units)
{
	const kz_dtype dtype = dtypes[_i % (int)countof(dtypes)];
	kz_module *mod = NULL;
	kz_kernel *kernel = compile_functions(&mod, dtype);
	for (size_t i = 0; i < countof(functions); i++) {
		if (functions[i].text) {
			try_function(&functions[i], dtype, kernel);
		}
	}
	kz_module_release(mod);
}

/* Each takes a kernel of its own: a few by chance. */
EACH_TYPE(functions_of_arrays_are_within_8_units)
{
	const kz_dtype dtype = dtypes[_i % (int)countof(dtypes)];
	for (size_t i = 0; i < countof(functions); i++) {
		const bool is_tried = number_random(&seed) % (uint64_t)support_how_many(1, 8, 24)
			== 0;
		if (functions[i].op && is_tried) {
			try_function(&functions[i], dtype, NULL);
		}
	}
}

/* Special values */

/* name, argument, result, as Annex G of C has them, with the corrections of C17; "?" stands before
 * a part whose sign is not said. */
static const char *const special[] = {
	"acos 0 0 pi/2 -0", "acos -0 0 pi/2 -0", "acos 0 nan pi/2 nan", "acos 2 inf pi/2 -inf",
	"acos 2 nan nan nan", "acos -inf 2 pi -inf", "acos inf 2 0 -inf",
	"acos -inf inf 3pi/4 -inf", "acos inf inf pi/4 -inf", "acos inf nan nan ?inf",
	"acos -inf nan nan ?inf", "acos nan 2 nan nan", "acos nan inf nan -inf",
	"acos nan nan nan nan", "acosh 0 0 0 pi/2", "acosh -0 0 0 pi/2", "acosh 2 inf inf pi/2",
	"acosh 0 nan nan pi/2", "acosh 2 nan nan nan", "acosh -inf 2 inf pi", "acosh inf 2 inf 0",
	"acosh -inf inf inf 3pi/4", "acosh inf inf inf pi/4", "acosh inf nan inf nan",
	"acosh -inf nan inf nan", "acosh nan 2 nan nan", "acosh nan inf inf nan",
	"acosh nan nan nan nan", "asinh 0 0 0 0", "asinh 2 inf inf pi/2", "asinh 2 nan nan nan",
	"asinh inf 2 inf 0", "asinh inf inf inf pi/4", "asinh inf nan inf nan", "asinh nan 0 nan 0",
	"asinh nan 2 nan nan", "asinh nan inf ?inf nan", "asinh nan nan nan nan",
	"atanh 0 0 0 0", "atanh 0 nan 0 nan", "atanh 1 0 inf 0", "atanh 2 inf 0 pi/2",
	"atanh 2 nan nan nan", "atanh inf 2 0 pi/2", "atanh inf inf 0 pi/2", "atanh inf nan 0 nan",
	"atanh nan 2 nan nan", "atanh nan inf ?0 pi/2", "atanh nan nan nan nan",
	"cosh 0 0 1 0", "cosh 0 inf nan ?0", "cosh 0 nan nan ?0", "cosh 2 inf nan nan",
	"cosh 2 nan nan nan", "cosh inf 0 inf 0", "cosh inf 2 -inf inf", "cosh inf inf ?inf nan",
	"cosh inf nan inf nan", "cosh nan 0 nan ?0", "cosh nan 2 nan nan", "cosh nan nan nan nan",
	"cosh 1000 0 inf 0", "sinh 0 0 0 0", "sinh 0 inf ?0 nan", "sinh 0 nan ?0 nan",
	"sinh 2 inf nan nan", "sinh 2 nan nan nan", "sinh inf 0 inf 0", "sinh inf 2 -inf inf",
	"sinh inf inf ?inf nan", "sinh inf nan ?inf nan", "sinh nan 0 nan 0", "sinh nan 2 nan nan",
	"sinh nan nan nan nan", "sinh 1000 0 inf 0", "tanh 0 0 0 0", "tanh 0 inf 0 nan",
	"tanh 0 nan 0 nan", "tanh 2 inf nan nan", "tanh 2 nan nan nan", "tanh 90 inf nan nan",
	"tanh inf 2 1 -0", "tanh inf inf 1 ?0", "tanh inf nan 1 ?0", "tanh nan 0 nan 0",
	"tanh nan 2 nan nan", "tanh nan nan nan nan", "tanh 1e30 2 1 -0", "exp 0 0 1 0",
	"exp -0 0 1 0", "exp 2 inf nan nan", "exp 2 nan nan nan", "exp inf 0 inf 0",
	"exp -inf 2 -0 0", "exp inf 2 -inf inf", "exp -inf inf ?0 ?0", "exp inf inf ?inf nan",
	"exp -inf nan ?0 ?0", "exp inf nan ?inf nan", "exp nan 0 nan 0", "exp nan 2 nan nan",
	"exp nan nan nan nan", "exp 1000 0 inf 0", "log -0 0 -inf pi", "log 0 0 -inf 0",
	"log 2 inf inf pi/2", "log 2 nan nan nan", "log -inf 2 inf pi", "log inf 2 inf 0",
	"log -inf inf inf 3pi/4", "log inf inf inf pi/4", "log inf nan inf nan",
	"log -inf nan inf nan", "log nan 2 nan nan", "log nan inf inf nan", "log nan nan nan nan",
	"sqrt 0 0 0 0", "sqrt -0 0 0 0", "sqrt 2 inf inf inf", "sqrt nan inf inf inf",
	"sqrt 2 nan nan nan", "sqrt -inf 2 0 inf", "sqrt inf 2 inf 0", "sqrt -inf nan nan ?inf",
	"sqrt inf nan inf nan", "sqrt nan 2 nan nan", "sqrt nan nan nan nan", "abs inf nan inf ?0",
	"abs nan inf inf ?0", "abs nan 2 nan ?0", "norm nan inf inf ?0", "proj inf nan inf ?0",
	"proj nan inf inf 0", "proj 2 3 2 3", "polar inf 0 inf 0", "reciprocal 0 0 inf nan",
	"reciprocal inf nan 0 ?0",
};

/* A function of i z is i times the other of z, sin(i z) = i sinh(z), and its inverse likewise. */
static const char *const turned[][2] = {
	{"sinh", "sin"}, {"tanh", "tan"}, {"asinh", "asin"}, {"atanh", "atan"}, {"cosh", "cos"},
};

static long double read_part(const char *text)
{
	const long double pi = acosl(-1);
	const char *size = text + strspn(text, "?-");
	long double value = strncmp(size, "3pi/4", 5) == 0 ? 0.75L * pi
		: strncmp(size, "pi", 2) == 0
		? pi / (size[2] ? size[3] - '0' : 1) : strtold(size, NULL);
	return *text == '-' ? -value : value;
}

/* Exactly, but for what is rounded; the sign of a zero counts, of NaN not, nor after "?". */
static bool is_part(kz_dtype part, long double got, const char *text, bool negate)
{
	long double want = read_part(text);
	if (isnan(want)) {
		return isnan(got);
	}
	if (*text == '?') {
		got = fabsl(got);
	} else if (negate) {
		want = -want;
	}
	return (want == 0 || isinf(want) ? got == want : fabsl(got - want) <= number_ulp(part,
		want))
		&& !signbit(got) == !signbit(want);
}

struct special {
	char name[16], parts[4][8]; /* of the argument, then of the result */
};

static struct special read_special(size_t row)
{
	struct special out;
	ck_assert_int_eq(sscanf(special[row], "%15s %7s %7s %7s %7s", out.name, out.parts[0],
		out.parts[1], out.parts[2], out.parts[3]), 5);
	return out;
}

/* How often a row is tried: by its argument, and by the conjugate, if that has a sign. */
static int special_times(const struct special *row, const char *name)
{
	return strcmp(row->name, name) != 0 ? 0 : isnan(read_part(row->parts[1])) ? 1 : 2;
}

/* Put the arguments of all rows of a function; turned: of its other. */
static void put_special(struct trial *t, const char *name, bool is_turned)
{
	t->count = 0;
	for (size_t row = 0; row < countof(special); row++) {
		const struct special s = read_special(row);
		for (int k = 0; k < special_times(&s, name); k++) {
			const long double re = read_part(s.parts[0]),
				im = read_part(s.parts[1]) * (k ? -1 : 1);
			/* -i z */
			t->a[t->count] = is_turned ? (struct number){0, im, -re}
				: (struct number){0, re, im};
			t->b[t->count++] = (struct number){0, 0, 0};
		}
	}
}

static void check_special(const struct trial *t, const char *name, const struct function *f,
	bool is_turned)
{
	int i = 0;
	const bool is_even = strcmp(f->name, "cos") == 0;
	for (size_t row = 0; row < countof(special); row++) {
		const struct special s = read_special(row);
		for (int k = 0; k < special_times(&s, name); k++, i++) {
			const struct number got = t->out[i];
			/* i f(-i z) */
			const long double re = is_turned && !is_even ? -got.im : got.re;
			const long double im = is_turned && !is_even ? got.re : got.im;
			ck_assert_msg(is_part(part_of(t), re, s.parts[2], false)
				&& is_part(part_of(t), im, s.parts[3], k),
				"%s: %s of %Lg %Lg is %Lg %Lg%s%s", kz_dtype_name(t->dtype),
				f->name, t->a[i].re, t->a[i].im, got.re, got.im, "; expected by: ",
				special[row]);
		}
	}
}

EACH_TYPE(special_values_are_those_of_annex_g)
{
	struct trial *t = &trial;
	t->dtype = dtypes[_i % (int)countof(dtypes)];
	kz_module *mod = NULL;
	kz_kernel *kernel = compile_functions(&mod, t->dtype);
	for (size_t i = 0; i < countof(functions); i++) {
		put_special(t, functions[i].name, false);
		if (t->count) {
			run_kernel(t, kernel, &functions[i]);
			check_special(t, functions[i].name, &functions[i], false);
		}
	}
	for (size_t i = 0; i < countof(turned); i++) {
		const struct function *f = find_function(turned[i][1]);
		put_special(t, turned[i][0], true);
		run_kernel(t, kernel, f);
		check_special(t, turned[i][0], f, true);
	}
	kz_module_release(mod);
}

/* Operands, and whether the result is infinite ('i'), zero ('0') or not a number ('n'). */
static const struct {
	const char *name;
	double a[2], b[2];
	char result;
} infinite[] = {
	{"multiply", {INFINITY, 0}, {1, 0}, 'i'}, {"multiply", {INFINITY, INFINITY}, {1, 1}, 'i'},
	{"multiply", {NAN, INFINITY}, {2, 0}, 'i'},
	{"multiply", {INFINITY, 1}, {NAN, -INFINITY}, 'i'},
	{"multiply", {3, -4}, {INFINITY, NAN}, 'i'}, {"multiply", {INFINITY, 0}, {0, 0}, 'n'},
	{"multiply", {NAN, NAN}, {2, 0}, 'n'}, {"divide", {1, 0}, {0, 0}, 'i'},
	{"divide", {NAN, INFINITY}, {2, 3}, 'i'}, {"divide", {2, 3}, {INFINITY, NAN}, '0'},
	{"divide", {2, 3}, {INFINITY, INFINITY}, '0'}, {"divide", {0, 0}, {0, 0}, 'n'},
	{"divide", {INFINITY, 1}, {INFINITY, 1}, 'n'}, {"divide", {-1, 0}, {-0.0, 0}, 'i'},
};

static char kind_of(struct number value)
{
	return isinf(value.re) || isinf(value.im) ? 'i' : value.re == 0 && value.im == 0 ? '0'
		: isnan(value.re) && isnan(value.im) ? 'n' : '?';
}

static void put_infinite(struct trial *t)
{
	t->count = (int)countof(infinite);
	for (int i = 0; i < t->count; i++) {
		t->a[i] = (struct number){0, infinite[i].a[0], infinite[i].a[1]};
		t->b[i] = (struct number){0, infinite[i].b[0], infinite[i].b[1]};
	}
}

EACH_TYPE(products_and_quotients_keep_infinities)
{
	struct trial *t = &trial;
	t->dtype = dtypes[_i % (int)countof(dtypes)];
	kz_module *mod = NULL;
	kz_kernel *kernel = compile_functions(&mod, t->dtype);
	for (int k = 0; k < 4; k++) {
		const struct function *f = find_function(k / 2 ? "divide" : "multiply");
		put_infinite(t);
		if (k % 2) {
			run_arrays(t, f);
		} else {
			run_kernel(t, kernel, f);
		}
		for (int i = 0; i < t->count; i++) {
			ck_assert_msg(strcmp(infinite[i].name, f->name) != 0
				|| kind_of(t->out[i]) == infinite[i].result, "%s %d: got %Lg %Lg",
				f->name, i, t->out[i].re, t->out[i].im);
		}
	}
	kz_module_release(mod);
}

/* Of 0: 1, 0, or no number. */
DEVICE_TEST(powers_of_zero_are_zero_by_the_real_part)
{
	static const double exponents[] = {0, 0, 1, -1, 2.5, 0, 1e-300, 700, -1, 0, 0, 1, -0.5, 3};
	struct trial *t = &trial;
	t->dtype = KZ_C128;
	t->count = (int)countof(exponents) / 2;
	for (int i = 0; i < t->count; i++) {
		t->a[i] = (struct number){0, 0, i % 2 ? 0 : -0.0L};
		t->b[i] = (struct number){0, exponents[2 * i], exponents[2 * i + 1]};
	}
	run_arrays(t, find_function("pow"));
	ck_assert(t->out[0].re == 1 && t->out[0].im == 0);
	for (int i = 1; i < 4; i++) {
		ck_assert(t->out[i].re == 0 && t->out[i].im == 0);
	}
	ck_assert(isinf(t->out[4].re) && isnan(t->out[5].re) && isinf(t->out[6].re));
}

SUITE(complex)
{
	Suite *s = suite_create("complex");
	TCase *tc = suite_add_case(s, "accuracy");
	const int times = support_device_count() * (int)countof(dtypes);
	tcase_set_timeout(tc, getenv("KUDZU_TEST_SLOW") ? 3600 : 120);
	tcase_add_tests(tc, times, functions_of_kernels_are_within_8_units,
		functions_of_arrays_are_within_8_units);
	tc = suite_add_case(s, "special values");
	tcase_add_tests(tc, times, special_values_are_those_of_annex_g,
		products_and_quotients_keep_infinities);
	tcase_add_tests(tc, support_device_count(), powers_of_zero_are_zero_by_the_real_part);
	return s;
}

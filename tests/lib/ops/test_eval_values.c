/* SPDX-License-Identifier: MIT */
/*
 * Random expressions, evaluated here in plain C while their text is written, against kz_eval.
 *
 * Floats are double and all operations are exactly rounded ones, integers are int64 that wrap, so
 * every bit must agree.  The text has as few parentheses as Python's precedence allows, with some
 * more now and then; which operator binds how tightly is written down here once more.  On the CPU
 * device both shapes of kernels are tried, its own and that of GPUs.  KUDZU_TEST_SEED=n begins with
 * that expression.
 */
#include "base/common.h"

#include "base/str.h"
#include "lib/core/memory.h"
#include "support/support.h"
#include "support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPRESSIONS = 40, COUNT = 16, DEPTH = 4, NUMBERS = 28, NODES = 110 };

enum type { FLOAT, INT, BOOL, TYPES };

enum level { CHOICE, OR, AND, NOT, COMPARE, PIPE, CARET, AMPERSAND, SHIFT, SUM, PRODUCT, UNARY,
	POWER, PRIMARY };

/* The elements of an operand or a result: f of FLOAT, else i. */
struct values {
	union {
		double f;
		int64_t i;
	} at[COUNT];
};

static uint64_t state;
static struct str text;
static int numbers, nodes;
static struct values x, y, i, j, m; /* what the variables hold */

static uint64_t draw(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

static struct values write_one(enum type type, int depth, enum level lowest);

/* One operation on one element. */

static double float_two(char op, double a, double b)
{
	return op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
}

/* As Python: to minus infinity, the rest has the sign of the divisor; by zero: 0. */
static int64_t floor_divide(int64_t a, int64_t b, bool rest)
{
	if (b == 0) {
		return 0;
	}
	if (b == -1) {
		return rest ? 0 : (int64_t)(0 - (uint64_t)a);
	}
	bool down = a % b != 0 && (a < 0) != (b < 0);
	return rest ? a % b + (down ? b : 0) : a / b - down;
}

static int64_t int_two(const char *op, int64_t a, int64_t b)
{
	uint64_t p = (uint64_t)a, q = (uint64_t)b;
	switch (op[0]) {
	case '+':
		return (int64_t)(p + q);
	case '-':
		return (int64_t)(p - q);
	case '*':
		return (int64_t)(p * q);
	case '/':
	case '%':
		return floor_divide(a, b, op[0] == '%');
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case '<':
		return (int64_t)(p << q);
	default:
		return a >> b;
	}
}

static bool compare_two(const char *op, int order, bool ordered)
{
	switch (op[0]) {
	case '=':
		return ordered && order == 0;
	case '!':
		return !ordered || order != 0;
	case '<':
		return ordered && (op[1] ? order <= 0 : order < 0);
	default:
		return ordered && (op[1] ? order >= 0 : order > 0);
	}
}

/* Writing */

static void space(void)
{
	str_add(&text, draw(3) ? " " : draw(4) ? "" : "\n\t");
}

static void write_operator(const char *op)
{
	bool is_word = *op >= 'a' && *op <= 'z';
	if (is_word) {
		str_addc(&text, ' ');
	}
	space();
	str_add(&text, op);
	if (is_word) {
		str_addc(&text, ' ');
	}
	space();
}

static struct values number(enum type type)
{
	static const double floats[] = {0.5, 2.0, 3.0, 1e-3, 0.1, 1e300, 12345.678};
	static const char *const written[] = {"0.5", "2.", "3.0", "1e-3", ".1", "1E+300",
		"12345.678"};
	static const int64_t ints[] = {0, 1, 2, 7, 31, 255, INT64_MAX};
	static const char *const spelled[] = {"0", "1", "0b10", "7", "0x1F", "0o377",
		"9223372036854775807"};
	struct values out;
	size_t k = draw(7);
	numbers++;
	str_add(&text, type == FLOAT ? written[k] : type == INT ? spelled[k] : k & 1 ? "True"
		: "False");
	for (int n = 0; n < COUNT; n++) {
		if (type == FLOAT) {
			out.at[n].f = floats[k];
		} else {
			out.at[n].i = type == INT ? ints[k] : (int64_t)k & 1;
		}
	}
	return out;
}

static struct values leaf(enum type type)
{
	bool second = draw(2);
	if (numbers < NUMBERS && draw(4) == 0) {
		return number(type);
	}
	str_add(&text, type == BOOL ? "m" : type == INT ? second ? "j" : "i" : second ? "y" : "x");
	return type == BOOL ? m : type == INT ? second ? j : i : second ? y : x;
}

static struct values call(const char *name, enum type type, int depth)
{
	struct values out;
	str_add(&text, name);
	str_addc(&text, '(');
	out = write_one(type, depth, CHOICE);
	str_addc(&text, ')');
	return out;
}

/* where(c, a, b), a if c else b, c ? a : b */
static struct values choice(enum type type, int depth)
{
	struct values a, b, c;
	uint64_t form = draw(3);
	if (form == 1) {
		a = write_one(type, depth, OR);
		write_operator("if");
		c = write_one(BOOL, depth, OR);
	} else {
		str_add(&text, form == 0 ? "where(" : "");
		c = write_one(BOOL, depth, form == 0 ? CHOICE : OR);
		str_add(&text, form == 0 ? "," : "?");
		a = write_one(type, depth, CHOICE);
	}
	write_operator(form == 0 ? "," : form == 1 ? "else" : ":");
	b = write_one(type, depth, CHOICE);
	str_add(&text, form == 0 ? ")" : "");
	for (int n = 0; n < COUNT; n++) {
		a.at[n] = c.at[n].i ? a.at[n] : b.at[n];
	}
	return a;
}

/* Rules: each writes an expression that binds as tightly as its level says. */

static struct values float_sum(int depth, enum level level)
{
	static const char *const ops[] = {"+", "-", "*", "/"};
	const char *op = ops[draw(2) + (level == SUM ? 0 : 2)];
	struct values a = write_one(FLOAT, depth, level);
	write_operator(op);
	struct values b = write_one(FLOAT, depth, level + 1);
	for (int n = 0; n < COUNT; n++) {
		a.at[n].f = float_two(*op, a.at[n].f, b.at[n].f);
	}
	return a;
}

static struct values float_unary(int depth)
{
	str_addc(&text, '-');
	struct values a = write_one(FLOAT, depth, UNARY);
	for (int n = 0; n < COUNT; n++) {
		a.at[n].f = -a.at[n].f;
	}
	return a;
}

static struct values float_square(int depth)
{
	struct values a = write_one(FLOAT, depth, PRIMARY);
	write_operator("**");
	str_add(&text, draw(2) ? "2" : "2.0");
	for (int n = 0; n < COUNT; n++) {
		a.at[n].f *= a.at[n].f;
	}
	return a;
}

static struct values float_call(int depth)
{
	static const char *const names[] = {"sqrt", "floor", "abs", "absolute", "float64"};
	size_t k = draw(countof(names));
	struct values a = call(names[k], k == 4 ? INT : FLOAT, depth);
	for (int n = 0; n < COUNT; n++) {
		double f = a.at[n].f;
		a.at[n].f = k == 0 ? sqrt(f) : k == 1 ? floor(f) : k < 4 ? fabs(f)
			: (double)a.at[n].i;
	}
	return a;
}

static struct values int_two_operands(int depth, enum level level)
{
	static const char *const ops[][2] = {[PIPE] = {"|", "|"}, [CARET] = {"^", "^"},
		[AMPERSAND] = {"&", "&"}, [SUM] = {"+", "-"}, [PRODUCT] = {"*", "//"}};
	const char *op = level == PRODUCT && !draw(3) ? "%" : ops[level][draw(2)];
	struct values a = write_one(INT, depth, level);
	write_operator(op);
	struct values b = write_one(INT, depth, level + 1);
	for (int n = 0; n < COUNT; n++) {
		a.at[n].i = int_two(op, a.at[n].i, b.at[n].i);
	}
	return a;
}

static struct values int_shift(int depth)
{
	const char *op = draw(2) ? "<<" : ">>";
	struct values a = write_one(INT, depth, SHIFT);
	int64_t by = (int64_t)draw(64);
	write_operator(op);
	str_addf(&text, "%lld", (long long)by);
	numbers++;
	for (int n = 0; n < COUNT; n++) {
		a.at[n].i = int_two(op, a.at[n].i, by);
	}
	return a;
}

static struct values int_unary(int depth)
{
	char op = draw(2) ? '-' : '~';
	str_addc(&text, op);
	struct values a = write_one(INT, depth, UNARY);
	for (int n = 0; n < COUNT; n++) {
		a.at[n].i = op == '~' ? ~a.at[n].i : (int64_t)(0 - (uint64_t)a.at[n].i);
	}
	return a;
}

static struct values int_call(int depth)
{
	bool max = draw(2);
	str_add(&text, max ? "max(" : "minimum(");
	struct values a = write_one(INT, depth, CHOICE);
	str_add(&text, ",");
	struct values b = write_one(INT, depth, CHOICE);
	str_add(&text, ")");
	for (int n = 0; n < COUNT; n++) {
		bool first = max ? a.at[n].i > b.at[n].i : a.at[n].i < b.at[n].i;
		a.at[n] = first ? a.at[n] : b.at[n];
	}
	return a;
}

static bool compare_at(enum type type, const char *op, const struct values *a,
	const struct values *b, int n)
{
	if (type == FLOAT) {
		double p = a->at[n].f, q = b->at[n].f;
		return compare_two(op, (p > q) - (p < q), !isnan(p) && !isnan(q));
	}
	int64_t p = a->at[n].i, q = b->at[n].i;
	return compare_two(op, (p > q) - (p < q), true);
}

/* a < b, a < b == c, ... */
static struct values comparison(int depth)
{
	static const char *const ops[] = {"<", "<=", ">", ">=", "==", "!="};
	enum type type = draw(2) ? FLOAT : INT;
	int links = draw(3) ? 1 : 2;
	struct values out, a = write_one(type, depth, PIPE);
	for (int n = 0; n < COUNT; n++) {
		out.at[n].i = 1;
	}
	while (links-- > 0) {
		const char *op = ops[draw(countof(ops))];
		write_operator(op);
		struct values b = write_one(type, depth, PIPE);
		for (int n = 0; n < COUNT; n++) {
			out.at[n].i &= compare_at(type, op, &a, &b, n);
		}
		a = b;
	}
	return out;
}

static struct values logic(int depth, enum level level)
{
	static const char *const ops[][2] = {[OR] = {"or", "||"}, [AND] = {"and", "&&"},
		[PIPE] = {"|", "|"}, [CARET] = {"^", "^"}, [AMPERSAND] = {"&", "&"}};
	struct values a = write_one(BOOL, depth, level);
	write_operator(ops[level][draw(2)]);
	struct values b = write_one(BOOL, depth, level + 1);
	for (int n = 0; n < COUNT; n++) {
		int64_t p = a.at[n].i, q = b.at[n].i;
		a.at[n].i = level == CARET ? p ^ q : level == OR || level == PIPE ? p | q : p & q;
	}
	return a;
}

/* not a, with what counts as true; !a and ~a */
static struct values inversion(int depth, enum level level)
{
	enum type type = level == NOT ? (enum type)draw(TYPES) : BOOL;
	str_add(&text, level == NOT ? "not " : draw(2) ? "!" : "~");
	struct values a = write_one(type, depth, level);
	for (int n = 0; n < COUNT; n++) {
		a.at[n].i = type == FLOAT ? a.at[n].f == 0 : a.at[n].i == 0;
	}
	return a;
}

static struct values write_level(enum type type, int depth, enum level level)
{
	switch (level) {
	case CHOICE:
		return choice(type, depth);
	case OR:
	case AND:
		return logic(depth, level);
	case COMPARE:
		return comparison(depth);
	case PIPE:
	case CARET:
	case AMPERSAND:
		return type == BOOL ? logic(depth, level) : int_two_operands(depth, level);
	case SHIFT:
		return int_shift(depth);
	case SUM:
	case PRODUCT:
		return type == FLOAT ? float_sum(depth, level) : int_two_operands(depth, level);
	case NOT:
		return inversion(depth, level);
	case UNARY:
		return type == FLOAT ? float_unary(depth) : type == INT ? int_unary(depth)
			: inversion(depth, level);
	case POWER:
		return float_square(depth);
	default:
		return type == FLOAT ? float_call(depth) : type == INT ? int_call(depth)
			: leaf(type);
	}
}

/* An expression that can stand where an operator of a level expects its operand. */
static struct values write_one(enum type type, int depth, enum level lowest)
{
	static const uint8_t levels[TYPES][9] = {
		[FLOAT] = {CHOICE, SUM, SUM, PRODUCT, PRODUCT, UNARY, POWER, PRIMARY, PRIMARY},
		[INT] = {CHOICE, PIPE, CARET, AMPERSAND, SHIFT, SUM, PRODUCT, UNARY, PRIMARY},
		[BOOL] = {CHOICE, OR, AND, NOT, COMPARE, PIPE, CARET, AMPERSAND, UNARY},
	};
	if (depth == 0 || nodes > NODES || numbers >= NUMBERS) {
		return leaf(type);
	}
	nodes += 4;
	enum level level = (enum level)levels[type][draw(9)];
	/* `where(...)` is a primary one, but which form a choice takes is drawn later. */
	bool enclosed = level < lowest || draw(10) == 0;
	str_add(&text, enclosed ? "(" : "");
	struct values out = write_level(type, depth - 1, level);
	str_add(&text, enclosed ? ")" : "");
	return out;
}

/* Against the library */

static void fill_variables(void)
{
	static const double floats[] = {0.0, -0.0, 1.0, INFINITY, -INFINITY, NAN, 1e-310, 3.5};
	static const int64_t ints[] = {0, 1, -1, INT64_MIN, INT64_MAX, 7, -7, 64};
	for (int n = 0; n < COUNT; n++) {
		double f = ldexp((double)draw(1 << 30) - (1 << 29), -(int)draw(60));
		x.at[n].f = n < 8 ? floats[n] : f;
		y.at[n].f = draw(2) ? floats[draw(8)] : f * 3;
		i.at[n].i = n < 8 ? ints[n] : (int64_t)draw(100) - 50;
		j.at[n].i = draw(2) ? ints[draw(8)] : (int64_t)(draw(1u << 31) << 20);
		m.at[n].i = (int64_t)draw(2);
	}
}

/* A result of bytes or of words, as values. */
static int64_t element(enum type type, const void *got, int n)
{
	return type == BOOL ? ((const uint8_t *)got)[n] : ((const int64_t *)got)[n];
}

static int first_difference(enum type type, const void *got, const struct values *want)
{
	for (int n = 0; n < COUNT; n++) {
		double f;
		int64_t word = element(type, got, n);
		memcpy(&f, &word, sizeof(f));
		bool both = type == FLOAT && isnan(f) && isnan(want->at[n].f);
		if (!both && word != want->at[n].i) {
			return n;
		}
	}
	return -1;
}

static kz_array *upload(kz_device *dev, kz_dtype dtype, const struct values *values)
{
	kz_error err = KZ_ERROR_INIT;
	kz_array *array;
	uint8_t bytes[COUNT];
	for (int n = 0; n < COUNT; n++) {
		bytes[n] = (uint8_t)values->at[n].i;
	}
	ok(kz_array_from(&array, dev, dtype, KZ_SHAPE(COUNT),
		dtype == KZ_BOOL ? (const void *)bytes : values, dtype == KZ_BOOL ? COUNT
		: 8 * COUNT, &err));
	return array;
}

static void try_expression(kz_device *dev, uint64_t seed)
{
	static const kz_dtype dtypes[] = {KZ_F64, KZ_I64, KZ_BOOL};
	enum type type = (enum type)(seed % TYPES);
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_error err = KZ_ERROR_INIT;
	int64_t got[COUNT];
	state = seed * UINT64_C(0x9e3779b97f4a7c15);
	numbers = nodes = 0;
	fill_variables();
	str_clear(&text);
	struct values want = write_one(type, DEPTH, CHOICE);
	kz_array *arrays[] = {upload(dev, KZ_F64, &x), upload(dev, KZ_F64, &y),
		upload(dev, KZ_I64, &i), upload(dev, KZ_I64, &j), upload(dev, KZ_BOOL, &m)};
	ok(kz_array_zeros(&options.into, dev, dtypes[type], KZ_SHAPE(COUNT), &err));
	kz_status st = kz_eval(NULL, text.data, &options, &err, KZ_VARS(KZ_VAR("x", arrays[0]),
		KZ_VAR("y", arrays[1]), KZ_VAR("i", arrays[2]), KZ_VAR("j", arrays[3]),
		KZ_VAR("m", arrays[4])));
	ck_assert_msg(st == KZ_OK, "KUDZU_TEST_SEED=%llu: %s: %s", (unsigned long long)seed,
		text.data, err.message);
	ok(kz_array_get(options.into, got, kz_array_size(options.into), &err));
	int n = first_difference(type, got, &want);
	ck_assert_msg(n < 0, "KUDZU_TEST_SEED=%llu: %s: element %d is %llx, expected %llx",
		(unsigned long long)seed, text.data, n,
		(unsigned long long)element(type, got, n < 0 ? 0 : n),
		(unsigned long long)want.at[n < 0 ? 0 : n].i);
	for (size_t k = 0; k < countof(arrays); k++) {
		kz_array_release(arrays[k]);
	}
	kz_array_release(options.into);
}

START_TEST(random_expressions_have_the_values_of_plain_c)
{
	const char *begin = getenv("KUDZU_TEST_SEED");
	uint64_t seed = begin ? strtoull(begin, NULL, 0) : 1;
	kz_device *dev = support_open(_i / 2);
	dev->serial = dev->serial && _i % 2 == 0;
	const int expressions = support_how_many(10 * EXPRESSIONS, EXPRESSIONS / 2,
		EXPRESSIONS / 8);
	for (uint64_t k = 0; k < (uint64_t)expressions; k++) {
		try_expression(dev, seed + k);
	}
	printf("%d expressions from KUDZU_TEST_SEED=%llu\n", expressions,
		(unsigned long long)seed);
	support_close(dev);
	str_free(&text);
}
END_TEST

SUITE(eval_values)
{
	Suite *s = suite_create("eval_values");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 240);
	tcase_add_loop_test(tc, random_expressions_have_the_values_of_plain_c, 0,
		2 * support_device_count());
	return s;
}

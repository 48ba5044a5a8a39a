/* SPDX-License-Identifier: MIT */
/*
 * Expressions as strings, without a device: what is read, written again as calls of operations, and
 * the errors with their places.  The arrays have types and shapes, no memory.
 */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/str.h"
#include "lib/ops/eval_parse.h"
#include "support/support.h"
#include "support/suite.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a, b: float32; d: float64; i, j: int32; u: uint8; m: bool; z: complex64; n = 3, x = 0.5 */
static struct kz_array a, b, d, i, j, u, m, z;
static kz_var vars[10];
static struct expr expr;
static struct eval_source source;

static void add_array(int index, const char *name, struct kz_array *array, kz_dtype dtype)
{
	*array = (struct kz_array){.tag = OBJECT_ARRAY, .dtype = dtype, .shape = KZ_SHAPE(4),
		.count = 4};
	vars[index] = KZ_VAR(name, array);
}

static void setup(void)
{
	add_array(0, "a", &a, KZ_F32);
	add_array(1, "b", &b, KZ_F32);
	add_array(2, "d", &d, KZ_F64);
	add_array(3, "i", &i, KZ_I32);
	add_array(4, "j", &j, KZ_I32);
	add_array(5, "u", &u, KZ_U8);
	add_array(6, "m", &m, KZ_BOOL);
	add_array(7, "z", &z, KZ_C64);
	vars[8] = KZ_VAR("n", 3);
	vars[9] = KZ_VAR("x", 0.5);
}

static bool parse(const char *text, kz_error *err)
{
	source = (struct eval_source){.text = text, .vars = vars, .count = countof(vars)};
	return eval_parse(&expr, &source, err) && eval_check_shapes(&expr, &source, err);
}

static void write_number(struct str *out, const struct expr_node *node)
{
	const union expr_value *value = &expr.scalars[node->args[0]];
	if (dtype_is_exact(node->dtype)) {
		str_addf(out, node->dtype == KZ_U64 ? "%llu" : "%lld", (long long)value->i);
	} else if (!dtype_is_complex(node->dtype)) {
		str_addf(out, "%g", value->parts[0]);
	} else {
		str_addf(out, "%g%+gj", value->parts[0], value->parts[1]);
	}
	/* Numbers that took another type than their own show it. */
	str_add(out, node->weak || node->dtype == KZ_BOOL ? "" : ":");
	str_add(out, node->weak || node->dtype == KZ_BOOL ? "" : kz_dtype_name(node->dtype));
}

static void write_node(struct str *out, int index)
{
	static const char *const names[] = {"a", "b", "d", "i", "j", "u", "m", "z"};
	const struct expr_node *node = &expr.nodes[index];
	const struct expr_op *op = expr_op(node->op);
	if (node->op == EXPR_SCALAR) {
		write_number(out, node);
		return;
	}
	if (node->op == EXPR_ARRAY) {
		int k = 0;
		while (vars[k].value.value.p != expr.arrays[node->args[0]]) {
			k++;
		}
		str_add(out, names[k]);
		return;
	}
	str_addf(out, "%s(", op ? op->name : kz_dtype_name(node->dtype));
	for (int k = 0; k < (op ? op->arity : 1); k++) {
		str_add(out, k ? "," : "");
		write_node(out, node->args[k]);
	}
	str_addc(out, ')');
}

static void reads(const char *text, const char *want)
{
	kz_error err = KZ_ERROR_INIT;
	struct str out = STR_INIT;
	setup();
	ck_assert_msg(parse(text, &err), "'%s': %s", text, err.message);
	write_node(&out, expr.node_count - 1);
	ck_assert_msg(strcmp(out.data, want) == 0, "'%s' is '%s', expected '%s'", text, out.data,
		want);
	str_free(&out);
}

static const char *const readings[][2] = {
	{"a", "a"},
	{"(((a)))", "a"},
	{" a\t+\r\n b\v\f ", "add(a,b)"},
	/* Python's precedence, from the loosest on */
	{"a if m else b", "where(m,a,b)"},
	{"m ? a : b", "where(m,a,b)"},
	{"where(m, 10, 20) + u", "add(where(m,10:int64,20:int64),int64(u))"},
	{"a if m else b if i else d", "where(m,float64(a),where(bool(i),float64(b),d))"},
	{"m ? a : i ? b : a", "where(m,a,where(bool(i),b,a))"},
	{"m ? i ? a : b : b", "where(m,where(bool(i),a,b),b)"},
	{"a + b if m or i else -a", "where(logical_or(m,bool(i)),add(a,b),negative(a))"},
	{"m or m and m", "logical_or(m,logical_and(m,m))"},
	{"m || m && m", "logical_or(m,logical_and(m,m))"},
	{"m and m or m", "logical_or(logical_and(m,m),m)"},
	{"not m and m", "logical_and(logical_not(m),m)"},
	{"not m == m", "logical_not(equal(m,m))"},
	{"not not m", "logical_not(logical_not(m))"},
	{"!m == m", "equal(logical_not(m),m)"},
	{"m and not m", "logical_and(m,logical_not(m))"},
	{"a < b", "less(a,b)"},
	{"a <= b", "less_equal(a,b)"},
	{"a > b", "greater(a,b)"},
	{"a >= b", "greater_equal(a,b)"},
	{"a != b", "not_equal(a,b)"},
	{"i | j == i", "equal(bitwise_or(i,j),i)"},
	{"i | j ^ i & j << i + j * i", "bitwise_or(i,bitwise_xor(j,bitwise_and(i,"
		"left_shift(j,add(i,multiply(j,i))))))"},
	{"i * j + i << j & i ^ j | i", "bitwise_or(bitwise_xor(bitwise_and(left_shift("
		"add(multiply(i,j),i),j),i),j),i)"},
	{"i >> j >> i", "right_shift(right_shift(i,j),i)"},
	{"a - b - a + b", "add(subtract(subtract(a,b),a),b)"},
	{"a / b * a", "multiply(divide(a,b),a)"},
	{"a // b % a", "remainder(floor_divide(a,b),a)"},
	{"a - (b - a)", "subtract(a,subtract(b,a))"},
	{"-a * b", "multiply(negative(a),b)"},
	{"a * -b", "multiply(a,negative(b))"},
	{"a--b", "subtract(a,negative(b))"},
	{"+a", "positive(a)"},
	{"~i", "invert(i)"},
	{"-a ** b", "negative(power(a,b))"},
	{"a ** -b", "power(a,negative(b))"},
	{"a ** b ** a", "power(a,power(b,a))"},
	{"(a ** b) ** a", "power(power(a,b),a)"},
	/* Chains of comparisons */
	{"a < b < d", "logical_and(less(a,b),less(float64(b),d))"},
	{"0 < a < 1", "logical_and(less(0:float32,a),less(a,1:float32))"},
	{"a < n < d", "logical_and(less(a,3:float32),less(3:float64,d))"},
	{"a < n * x < d", "logical_and(less(a,float32(multiply(3:float64,0.5:float64))),"
		"less(multiply(3:float64,0.5:float64),d))"},
	{"d < n * x < a", "logical_and(less(d,multiply(3:float64,0.5:float64)),"
		"less(float32(multiply(3:float64,0.5:float64)),a))"},
	{"a < b == a > d", "logical_and(logical_and(less(a,b),equal(b,a)),"
		"greater(float64(a),d))"},
	/* Constant powers, as numpy */
	{"a ** 2", "square(a)"},
	{"a ** 2.0", "square(a)"},
	{"a ** (2)", "square(a)"},
	{"i ** 2", "square(i)"},
	{"i ** 2.0", "power(float64(i),2:float64)"},
	{"a ** 0.5", "sqrt(a)"},
	{"i ** 0.5", "power(float64(i),0.5:float64)"},
	{"a ** -1", "reciprocal(a)"},
	{"i ** -1", "power(i,-1:int32)"},
	{"a ** 3", "power(a,3:float32)"},
	{"a ** 2 * b", "multiply(square(a),b)"},
	{"a ** b ** 2", "power(a,square(b))"},
	{"a ** 2 ** 2", "power(a,float32(square(2:int64)))"},
	{"a ** b ** 2.0 ** 0.5", "power(a,power(b,float32(sqrt(2:float64))))"},
	{"a ** float64(2)", "power(float64(a),2:float64)"},
	{"a ** n", "power(a,3:float32)"},
	{"pow(a, 2)", "power(a,2:float32)"},
	{"z ** 0.5", "sqrt(z)"},
	/* Numbers and names */
	{"2*a", "multiply(2:float32,a)"},
	{"i + 0x1F", "add(i,31:int32)"},
	{"i + 0XfF", "add(i,255:int32)"},
	{"i + 0b101", "add(i,5:int32)"},
	{"i + 0o17", "add(i,15:int32)"},
	{"i + 000", "add(i,0:int32)"},
	{"i + 1", "add(i,1:int32)"},
	{"i + 1.", "add(float64(i),1:float64)"},
	{"a + .5e+1", "add(a,5:float32)"},
	{"a + 1E-3", "add(a,0.001:float32)"},
	{"a + 2j", "add(complex64(a),0+2j:complex64)"},
	{"z + 1.5e1j", "add(z,0+15j:complex64)"},
	{"1e308 + d", "add(1e+308:float64,d)"},
	{"d + 1e-400", "add(d,0:float64)"},
	{"d + 18446744073709551615", "add(d,1.84467e+19:float64)"},
	{"i * n + x", "add(float64(multiply(i,3:int32)),0.5:float64)"},
	{"a * pi", "multiply(a,3.14159:float32)"},
	{"a * e", "multiply(a,2.71828:float32)"},
	{"a < inf", "less(a,inf:float32)"},
	{"a + nan", "add(a,nan:float32)"},
	{"m & True", "bitwise_and(m,1)"},
	{"m & false", "bitwise_and(m,0)"},
	/* Signs belong to numbers */
	{"i + -5", "add(i,-5:int32)"},
	{"i * -n", "multiply(i,-3:int32)"},
	{"i - - -5", "subtract(i,5:int32)"},
	{"d - -9223372036854775808", "subtract(d,-9.22337e+18:float64)"},
	{"d - - -9223372036854775808", "subtract(d,9.22337e+18:float64)"},
	{"a + -0.0", "add(a,-0:float32)"},
	{"-2 ** 2 + i", "add(int32(negative(square(2:int64))),i)"},
	/* Functions */
	{"sin(a)", "sin(a)"},
	{"sin (a)", "sin(a)"},
	{"arctan2(a, b)", "arctan2(a,b)"},
	{"where(m, a, b)", "where(m,a,b)"},
	{"u + where(m, 300, -2)", "add(int64(u),where(m,300:int64,-2:int64))"},
	{"a * (2.5 if u else n)", "multiply(float64(a),where(bool(u),2.5:float64,3:float64))"},
	{"u + where(n < 4, 3, 2)", "add(u,uint8(where(less(3:int64,4:int64),3:int64,2:int64)))"},
	{"clip(i, 0, 9)", "clip(i,0:int32,9:int32)"},
	{"max(a, min(b, 1))", "maximum(a,minimum(b,1:float32))"},
	{"abs(z)", "absolute(z)"},
	{"float64(a) + float16(i)", "add(float64(a),float64(float16(i)))"},
	{"float32(a)", "a"},
	{"int8(2) + u", "add(int16(2:int8),int16(u))"},
	{"bool(a)", "bool(a)"},
	{"sin(a if m else b)", "sin(where(m,a,b))"},
	{"a*a", "multiply(a,a)"},
};

START_TEST(a_text_is_read_as_python_reads_it)
{
	reads(readings[_i][0], readings[_i][1]);
}
END_TEST

START_TEST(every_operation_and_type_has_its_name)
{
	char text[64], want[64];
	for (int op = 1; op < EXPR_OPS; op++) {
		const char *operand = expr_op(op)->text[1] ? "a" : expr_op(op)->text[2] ? "z" : "i";
		const char *second = op == KZ_OP_LDEXP ? "i" : operand;
		const char *rest[] = {"", ", %s", ", %s, %s"};
		char others[16];
		kz_error err = KZ_ERROR_INIT;
		snprintf(others, sizeof(others), rest[expr_op(op)->arity - 1], second, operand);
		snprintf(text, sizeof(text), "%s(%s%s)", expr_op(op)->name, operand, others);
		setup();
		ck_assert_msg(parse(text, &err), "%s: %s", text, err.message);
		if (expr_op_most((kz_op)op) == kz_op_arity((kz_op)op)) {
			ck_assert_int_eq(expr.nodes[expr.node_count - 1].op, op);
		}
	}
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		snprintf(text, sizeof(text), "%s(m)", kz_dtype_name(dtype));
		snprintf(want, sizeof(want), dtype == KZ_BOOL ? "m" : "%s", text);
		reads(text, want);
	}
}
END_TEST

START_TEST(variables_come_before_constants)
{
	reads("x * a", "multiply(0.5:float32,a)");
	kz_error err = KZ_ERROR_INIT;
	vars[8] = KZ_VAR("e", 3);
	ck_assert(parse("e * a", &err));
	ck_assert(expr.scalars[0].parts[0] == 3);
	vars[8] = KZ_VAR("sin", 4);
	ck_assert(parse("sin * sin(a)", &err));
	ck_assert(expr.scalars[0].parts[0] == 4);
}
END_TEST

START_TEST(numbers_are_the_nearest_doubles)
{
	static const struct {
		const char *text;
		double value;
	} numbers[] = {
		{"0.1", 0.1}, {"1e22", 1e22},
		{"123456789012345678901234567890.", 1.2345678901234568e29},
		{"2.2250738585072014e-308", DBL_MIN}, {"5e-324", 4.9406564584124654e-324},
		{"1.7976931348623157e308", DBL_MAX}, {"9007199254740993.0", 9007199254740992.0},
		{"0.000000000000000000000000000000000000001", 1e-39},
	};
	for (size_t k = 0; k < countof(numbers); k++) {
		char text[80];
		kz_error err = KZ_ERROR_INIT;
		snprintf(text, sizeof(text), "d * %s", numbers[k].text);
		setup();
		ck_assert(parse(text, &err));
		ck_assert_msg(expr.scalars[0].parts[0] == numbers[k].value, "%s is %a, not %a",
			text, expr.scalars[0].parts[0], numbers[k].value);
	}
}
END_TEST

START_TEST(the_locale_does_not_matter)
{
	if (setlocale(LC_ALL, "de_DE.UTF-8")) {
		ck_assert_str_eq(localeconv()->decimal_point, ",");
	} else {
		fprintf(stderr, "skipped: no locale de_DE.UTF-8\n");
	}
	kz_error err = KZ_ERROR_INIT;
	setup();
	ck_assert(parse("d * 2.5e1", &err));
	ck_assert(expr.scalars[0].parts[0] == 25);
	setlocale(LC_ALL, "C");
}
END_TEST

static const struct {
	const char *text;
	kz_status status;
	const char *message;
	size_t place;
} errors[] = {
	{"", KZ_COMPILE, "the expression is empty", 0},
	{" \n ", KZ_COMPILE, "the expression is empty", 3},
	{"a +", KZ_COMPILE, "expected a number, a name or '(', found the end", 3},
	{"a b", KZ_COMPILE, "expected an operator, found 'b'", 2},
	{"(a + b", KZ_COMPILE, "expected an operator or ')', found the end", 6},
	{"a + b)", KZ_COMPILE, "expected an operator, found ')'", 5},
	{"()", KZ_COMPILE, "expected a number, a name or '(', found ')'", 1},
	{"* a", KZ_COMPILE, "expected a number, a name or '(', found '*'", 0},
	{"a + * b", KZ_COMPILE, "expected a number, a name or '(', found '*'", 4},
	{"a = b", KZ_COMPILE, "'=' is not an operator; == compares", 2},
	{"a @ b", KZ_COMPILE, "unexpected '@'", 2},
	{"a + $", KZ_COMPILE, "unexpected '$'", 4},
	{"sin(m) & 1.5 $", KZ_COMPILE, "unexpected '$'", 13},
	{"a + \xc3\xa4", KZ_COMPILE, "unexpected byte 0xc3", 4},
	{"a \x01 b", KZ_COMPILE, "unexpected byte 0x01", 2},
	{"a.b", KZ_COMPILE, "unexpected '.'", 1},
	{"a[0]", KZ_COMPILE, "unexpected '['", 1},
	{"2a", KZ_COMPILE, "'2a' is not a number", 0},
	{"a + 1.2.3", KZ_COMPILE, "'1.2.3' is not a number", 4},
	{"a + 1e", KZ_COMPILE, "'1e' is not a number", 4},
	{"a + 2.0f", KZ_COMPILE, "'2.0f' is not a number", 4},
	{"i + 0x", KZ_COMPILE, "'0x' is not a number", 4},
	{"i + 0b12", KZ_COMPILE, "'0b12' is not a number", 4},
	{"i + 1_000", KZ_COMPILE, "'1_000' is not a number", 4},
	{"i + 010", KZ_COMPILE, "'010': expected a number without a leading 0, which means octal "
		"in C", 4},
	{"i + 18446744073709551616", KZ_COMPILE, "18446744073709551616 does not fit in 64 bits",
		4},
	{"i + 0x10000000000000000", KZ_COMPILE, "0x10000000000000000 does not fit in 64 bits", 4},
	{"a + 1e999", KZ_COMPILE, "1e999 does not fit in float64", 4},
	{"a + c", KZ_COMPILE, "no variable 'c'; there are: a, b, d, i, j, u, m, z, n, x", 4},
	{"a + tru", KZ_COMPILE, "(did you mean 'true'?)", 4},
	{"a + sni(a)", KZ_COMPILE, "no function 'sni'", 4},
	{"a / sum(a)", KZ_COMPILE, "'sum' reduces an array: call kz_reduce, its result can be a "
		"variable", 4},
	{"sine(a)", KZ_COMPILE, "no function 'sine' (did you mean 'sin'?)", 0},
	{"floot32(a)", KZ_COMPILE, "(did you mean 'float32'?)", 0},
	{"max2(a, b)", KZ_COMPILE, "(did you mean 'max'?)", 0},
	{"a(b)", KZ_COMPILE, "'a' is a variable: expected an operator between it and '('", 0},
	{"a + sin * 2", KZ_COMPILE, "expected '(' after the name of a function, found '*'", 8},
	{"a + sin", KZ_COMPILE, "expected '(' after the name of a function, found the end", 7},
	{"a * sin(a, b)", KZ_COMPILE, "sin takes 1 operand, got 2", 4},
	{"maximum(a)", KZ_COMPILE, "maximum takes 2 operands, got 1", 0},
	{"where(m, a, b, d)", KZ_COMPILE, "where takes 3 operands, got 4", 0},
	{"isclose(a)", KZ_COMPILE, "isclose takes 2 to 5 operands, got 1", 0},
	{"nan_to_num(a, 1, 2, 3, 4, 5)", KZ_COMPILE, "nan_to_num takes 1 to 4 operands, got 6", 0},
	{"sin()", KZ_COMPILE, "sin takes 1 operand, got 0", 0},
	{"float32(a, b)", KZ_COMPILE, "float32 takes 1 operand, got 2", 0},
	{"sin(a,)", KZ_COMPILE, "expected a number, a name or '(', found ')'", 6},
	{"sin(a; b)", KZ_COMPILE, "unexpected ';'", 5},
	{"sin(a b)", KZ_COMPILE, "expected ',' or ')', found 'b'", 6},
	{"a + not b", KZ_COMPILE, "'not' binds more loosely than the operator before it", 4},
	{"a if m", KZ_COMPILE, "expected an operator or 'else', found the end", 6},
	{"m ? a", KZ_COMPILE, "expected an operator or ':', found the end", 5},
	{"else", KZ_COMPILE, "expected a number, a name or '(', found 'else'", 0},
	{"a and", KZ_COMPILE, "expected a number, a name or '(', found the end", 5},
	{"sin(m) & 1.5", KZ_INVALID, "bitwise_and does not take float16 and float64", 7},
	{"a * ~b", KZ_INVALID, "invert does not take float32", 4},
	{"a + m - m", 0, NULL, 0},
	{"m - m", KZ_INVALID, "subtract does not take bool and bool", 2},
	{"z < a", KZ_INVALID, "less does not take complex64 and float32", 2},
	{"2 * u * 300", KZ_RANGE, "300 does not fit in uint8", 6},
	{"u - -1", KZ_RANGE, "-1 does not fit in uint8", 2},
	{"i + 9223372036854775808", KZ_RANGE, "9223372036854775808 does not fit in int32", 2},
	{"int8(300) + i", KZ_RANGE, "300 does not fit in int8", 0},
};

START_TEST(an_error_points_into_the_text)
{
	kz_error err = KZ_ERROR_INIT;
	setup();
	bool done = parse(errors[_i].text, &err);
	ck_assert_msg(err.status == errors[_i].status, "'%s': status %d: %s", errors[_i].text,
		(int)err.status, err.message);
	ck_assert_int_eq(done, !errors[_i].message);
	if (errors[_i].message) {
		ck_assert_msg(strstr(err.message, errors[_i].message) != NULL, "'%s': '%s'",
			errors[_i].text, err.message);
		ck_assert_msg(source.place == errors[_i].place, "'%s': place %zu: %s",
			errors[_i].text, source.place, err.message);
	}
}
END_TEST

START_TEST(shapes_that_do_not_broadcast_point_at_the_operation)
{
	kz_error err = KZ_ERROR_INIT;
	setup();
	b.shape = KZ_SHAPE(3);
	d.shape = KZ_SHAPE(2, 1);
	ck_assert(!parse("2*a + sin(d) * (b + 1)", &err) && source.place == 4);
	ck_assert_int_eq(err.status, KZ_INVALID);
	ck_assert_str_eq(err.message, "shapes (4,) and (2, 3) do not broadcast: 4 against 3 in "
		"axis -1");
	kz_error_clear(&err);
	ck_assert(!parse("d + where(m, a, b)", &err) && source.place == 4);
	kz_error_clear(&err);
	ck_assert(!parse("d + (a < float32(b + 1) < 3)", &err) && source.place == 7);
	kz_error_clear(&err);
	ck_assert(parse("a + d", &err));
}
END_TEST

START_TEST(nesting_has_a_limit_and_no_text_uses_up_the_stack)
{
	static const char *const openings[] = {"(", "-", "sin(", "!", "a**", "a if m else ",
		"m ? a : ", "m ? ", "not ", "where(m, a, "};
	enum { TIMES = 5000 };
	for (size_t k = 0; k < countof(openings); k++) {
		struct str text = STR_INIT;
		kz_error err = KZ_ERROR_INIT;
		for (int n = 0; n < TIMES; n++) {
			str_add(&text, openings[k]);
		}
		setup();
		ck_assert(!parse(text.data, &err));
		ck_assert_msg(strstr(err.message, "nested deeper than 100 levels") != NULL
			|| strstr(err.message, "an expression has at most 192") != NULL, "%s: %s",
			openings[k], err.message);
		kz_error_clear(&err);
		str_free(&text);
	}
	reads("((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a))))"
		"))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))", "a");
}
END_TEST

/* `first`, then `next` again and again. */
static char *repeat(const char *first, const char *next, int times)
{
	struct str text = STR_INIT;
	str_add(&text, first);
	for (int n = 0; n < times; n++) {
		str_add(&text, next);
	}
	return str_take(&text);
}

START_TEST(a_text_that_is_too_long_is_refused)
{
	static const struct {
		const char *next, *message;
		int fits, refused;
	} limits[] = {
		{"+a", "an expression has at most 192 operations and operands", 190, 200},
		{"+1", "an expression has at most 32 numbers", 32, 33},
		{" ", "an expression has at most 65535 bytes", 65534, 65535},
	};
	for (size_t k = 0; k < countof(limits); k++) {
		kz_error err = KZ_ERROR_INIT;
		char *fits = repeat("a", limits[k].next, limits[k].fits);
		char *refused = repeat("a", limits[k].next, limits[k].refused);
		setup();
		ck_assert_msg(parse(fits, &err), "%s", err.message);
		ck_assert(!parse(refused, &err));
		ck_assert_str_eq(err.message, limits[k].message);
		kz_error_clear(&err);
		free(fits);
		free(refused);
	}
}
END_TEST

START_TEST(bad_variables_are_refused_where_they_are_used)
{
	static int host;
	kz_error err = KZ_ERROR_INIT;
	setup();
	vars[8] = KZ_VAR("p", &host);
	ck_assert(parse("a + b", &err));
	ck_assert(!parse("a + p", &err) && source.place == 4);
	ck_assert(strstr(err.message, "variable 'p': expected an array or a number") != NULL);
	kz_error_clear(&err);
	vars[8] = KZ_VAR("p", (kz_array *)NULL);
	ck_assert(!parse("a + p", &err) && source.place == 4);
	ck_assert(strstr(err.message, "variable 'p': expected an array, got NULL") != NULL);
	kz_error_clear(&err);
	vars[8] = KZ_VAR("p", KZ_ARRAY_OF(KZ_F32));
	ck_assert(!parse("a + p", &err) && source.place == 4);
	kz_error_clear(&err);
	vars[8] = KZ_VAR(NULL, 1);
	ck_assert(!parse("a", &err));
	ck_assert_str_eq(err.message, "variable 9 has no name");
	kz_error_clear(&err);
}
END_TEST

START_TEST(many_names_are_cut_in_a_message)
{
	static char names[64][24];
	static kz_var many[64];
	kz_error err = KZ_ERROR_INIT;
	for (int k = 0; k < 64; k++) {
		snprintf(names[k], sizeof(names[k]), "variable_of_many_%d", k);
		many[k] = KZ_VAR(names[k], k);
	}
	for (size_t count = 0; count <= 64; count++) {
		source = (struct eval_source){.text = "c", .vars = many, .count = count};
		ck_assert(!eval_parse(&expr, &source, &err));
		ck_assert_uint_lt(strlen(err.message), sizeof(err.message) - 1);
		ck_assert(strstr(err.message, count > 10 ? ", ..." : count ? "y_0" : "none")
			!= NULL);
		kz_error_clear(&err);
	}
}
END_TEST

SUITE(eval_parse)
{
	Suite *s = suite_create("eval_parse");
	TCase *tc = suite_add_case(s, "without a device");
	tcase_add_loop_test(tc, a_text_is_read_as_python_reads_it, 0, (int)countof(readings));
	tcase_add_tests(tc, 1, every_operation_and_type_has_its_name,
		variables_come_before_constants, numbers_are_the_nearest_doubles,
		the_locale_does_not_matter);
	tcase_add_loop_test(tc, an_error_points_into_the_text, 0, (int)countof(errors));
	tcase_add_tests(tc, 1, shapes_that_do_not_broadcast_point_at_the_operation,
		nesting_has_a_limit_and_no_text_uses_up_the_stack,
		a_text_that_is_too_long_is_refused, bad_variables_are_refused_where_they_are_used,
		many_names_are_cut_in_a_message);
	return s;
}

/* SPDX-License-Identifier: MIT */
/*
 * Expressions as strings: a parser by operator precedence, which builds nodes as it goes.
 *
 * There is no syntax tree.  Each rule returns the node of what it read, or -1 once an error was
 * set. eval_place() keeps the place in the text for every node.  Whatever nests goes through
 * eval_nested(), so that no text can use up the stack.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/ops/eval_lex.h"
#include "lib/ops/eval_parse.h"
#include "lib/array/shape.h"

#include <kudzu/reduce.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LEVELS = 100, LIST_MAX = 160 }; /* parentheses in each other; bytes of names in a message */

struct eval_parser {
	struct expr *expr;
	struct eval_source *source;
	kz_error *err;
	struct eval_token token; /* the one to look at */
	int placed;              /* nodes that have a place */
	int literal;             /* the last number of the text; -1: none */
	int levels;
};

/* Precedences, from the loosest; a chain of comparisons is one thing. */
enum level { NO_LEVEL, LEVEL_OR, LEVEL_AND, LEVEL_NOT, LEVEL_COMPARE, LEVEL_PIPE, LEVEL_CARET,
	LEVEL_AMPERSAND, LEVEL_SHIFT, LEVEL_SUM, LEVEL_PRODUCT };

static const struct {
	uint8_t level;
	uint8_t op;
} binary[TOKEN_COUNT] = {
	[TOKEN_OR] = {LEVEL_OR, KZ_OP_LOGICAL_OR},
	[TOKEN_AND] = {LEVEL_AND, KZ_OP_LOGICAL_AND},
	[TOKEN_EQUAL] = {LEVEL_COMPARE, KZ_OP_EQUAL},
	[TOKEN_NOT_EQUAL] = {LEVEL_COMPARE, KZ_OP_NOT_EQUAL},
	[TOKEN_LESS] = {LEVEL_COMPARE, KZ_OP_LESS},
	[TOKEN_LESS_EQUAL] = {LEVEL_COMPARE, KZ_OP_LESS_EQUAL},
	[TOKEN_GREATER] = {LEVEL_COMPARE, KZ_OP_GREATER},
	[TOKEN_GREATER_EQUAL] = {LEVEL_COMPARE, KZ_OP_GREATER_EQUAL},
	[TOKEN_PIPE] = {LEVEL_PIPE, KZ_OP_BITWISE_OR},
	[TOKEN_CARET] = {LEVEL_CARET, KZ_OP_BITWISE_XOR},
	[TOKEN_AMPERSAND] = {LEVEL_AMPERSAND, KZ_OP_BITWISE_AND},
	[TOKEN_SHIFT_LEFT] = {LEVEL_SHIFT, KZ_OP_LEFT_SHIFT},
	[TOKEN_SHIFT_RIGHT] = {LEVEL_SHIFT, KZ_OP_RIGHT_SHIFT},
	[TOKEN_PLUS] = {LEVEL_SUM, KZ_OP_ADD},
	[TOKEN_MINUS] = {LEVEL_SUM, KZ_OP_SUBTRACT},
	[TOKEN_STAR] = {LEVEL_PRODUCT, KZ_OP_MULTIPLY},
	[TOKEN_SLASH] = {LEVEL_PRODUCT, KZ_OP_DIVIDE},
	[TOKEN_SLASHES] = {LEVEL_PRODUCT, KZ_OP_FLOOR_DIVIDE},
	[TOKEN_PERCENT] = {LEVEL_PRODUCT, KZ_OP_REMAINDER},
};

static const struct {
	const char *name;
	kz_op op;
} aliases[] = {
	{"abs", KZ_OP_ABSOLUTE}, {"acos", KZ_OP_ARCCOS}, {"acosh", KZ_OP_ARCCOSH},
	{"arg", KZ_OP_ANGLE}, {"asin", KZ_OP_ARCSIN}, {"asinh", KZ_OP_ARCSINH},
	{"atan", KZ_OP_ARCTAN}, {"atan2", KZ_OP_ARCTAN2}, {"atanh", KZ_OP_ARCTANH},
	{"bitwise_not", KZ_OP_INVERT}, {"conj", KZ_OP_CONJUGATE}, {"deg2rad", KZ_OP_RADIANS},
	{"fix", KZ_OP_TRUNC}, {"gamma", KZ_OP_TGAMMA}, {"max", KZ_OP_MAXIMUM},
	{"min", KZ_OP_MINIMUM}, {"mod", KZ_OP_REMAINDER}, {"pow", KZ_OP_POWER},
	{"rad2deg", KZ_OP_DEGREES}, {"round", KZ_OP_RINT},
};

static const struct {
	const char *name;
	double value; /* of bool: 0 or 1 */
	bool is_bool;
} constants[] = {
	{"pi", 3.14159265358979323846, false}, {"e", 2.71828182845904523536, false},
	{"inf", INFINITY, false}, {"nan", NAN, false}, {"True", 1, true}, {"False", 0, true},
	{"true", 1, true}, {"false", 0, true},
};

static int parse_choice(struct eval_parser *p);
static int parse_unary(struct eval_parser *p);

/* Errors and places */

/* Keep the place of the first error: that of a bad token was set when it was read. */
static int parse_fail_at(struct eval_parser *p, size_t at)
{
	p->source->place = p->token.kind == TOKEN_BAD ? p->token.at : at;
	return -1;
}

static int eval_fail(struct eval_parser *p, size_t at, const char *format, ...) printf_like(3, 4);
static int eval_fail(struct eval_parser *p, size_t at, const char *format, ...)
{
	char text[sizeof(p->err->message)];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	error_set(p->err, KZ_COMPILE, "%s", text);
	return parse_fail_at(p, at);
}

/* A node that was made for what stands at a byte, or the failure to make it. */
static int eval_place(struct eval_parser *p, int node, size_t at)
{
	while (p->placed < p->expr->node_count) {
		p->source->places[p->placed++] = (uint16_t)at;
	}
	return node < 0 ? parse_fail_at(p, at) : node;
}

static void eval_advance(struct eval_parser *p)
{
	eval_lex(&p->token, p->source->text, p->token.at + p->token.len, p->err);
}

static const char *parse_token_text(const struct eval_parser *p, const struct eval_token *token)
{
	return p->source->text + token->at;
}

/* How much of a token a message shows. */
static int eval_shown(const struct eval_token *token)
{
	return token->len < 40 ? (int)token->len : 40;
}

/* Say what was expected instead of the token.  A bad token has set its error already. */
static int eval_unexpected(struct eval_parser *p, const char *expected)
{
	const struct eval_token *token = &p->token;
	if (token->kind == TOKEN_BAD) {
		return parse_fail_at(p, token->at);
	}
	if (token->kind == TOKEN_END) {
		return eval_fail(p, token->at, "expected %s, found the end", expected);
	}
	return eval_fail(p, token->at, "expected %s, found '%.*s'", expected, eval_shown(token),
		parse_token_text(p, token));
}

static bool eval_expect(struct eval_parser *p, enum eval_kind kind, const char *what)
{
	if (p->token.kind != kind) {
		eval_unexpected(p, what);
		return false;
	}
	eval_advance(p);
	return true;
}

static int eval_nested(struct eval_parser *p, int (*rule)(struct eval_parser *))
{
	if (p->levels == LEVELS) {
		return eval_fail(p, p->token.at, "nested deeper than %d levels", LEVELS);
	}
	p->levels++;
	int node = rule(p);
	p->levels--;
	return node;
}

/* Operations */

static int eval_apply(struct eval_parser *p, kz_op op, const int *args, size_t at)
{
	return eval_place(p, expr_apply(p->expr, op, args, p->err), at);
}

static int parse_apply_two(struct eval_parser *p, kz_op op, int left, int right, size_t at)
{
	const int args[] = {left, right};
	return eval_apply(p, op, args, at);
}

/* Fold the sign into a number, so that -7 is not 249 in uint8.  False if there is no number yet. */
static bool parse_negate_number(struct eval_parser *p, int index)
{
	struct expr_node *node = &p->expr->nodes[index];
	if (node->op != EXPR_SCALAR || !node->weak) {
		return false;
	}
	union expr_value *value = &p->expr->scalars[node->args[0]];
	if (node->dtype == KZ_I64 && value->i == INT64_MIN) {
		node->dtype = KZ_U64;
	} else if (node->dtype == KZ_I64) {
		value->i = -value->i;
	} else if (node->dtype == KZ_U64 && value->u == UINT64_C(1) << 63) {
		node->dtype = KZ_I64;
	} else if (node->dtype == KZ_U64) {
		return false;
	} else {
		value->parts[0] = -value->parts[0];
		value->parts[1] = -value->parts[1];
	}
	return true;
}

/* The operation that numpy uses for a power with a constant exponent; KZ_OP_POWER if no other. */
static kz_op parse_constant_power(const struct eval_parser *p, kz_dtype base, int exponent)
{
	const struct expr_node *node = &p->expr->nodes[exponent];
	const union expr_value *value = &p->expr->scalars[node->args[0]];
	bool is_integer = node->dtype == KZ_I64;
	double number = is_integer ? (double)value->i : value->parts[0];
	if (!node->weak || (!is_integer && node->dtype != KZ_F64)) {
		return KZ_OP_POWER;
	}
	if (number == 2 && (is_integer || dtype_is_inexact(base))) {
		return KZ_OP_SQUARE;
	}
	return !dtype_is_inexact(base) ? KZ_OP_POWER : number == 0.5 ? KZ_OP_SQRT
		: number == -1 ? KZ_OP_RECIPROCAL : KZ_OP_POWER;
}

/* base ** exponent; an exponent that is not needed as a number is taken out again. */
static int parse_apply_power(struct eval_parser *p, int base, int exponent, size_t at)
{
	kz_op op = exponent == p->literal
		? parse_constant_power(p, p->expr->nodes[base].dtype, exponent) : KZ_OP_POWER;
	if (op != KZ_OP_POWER) {
		p->expr->node_count--;
		p->expr->scalar_count--;
		p->placed--;
		p->literal = -1; /* its number becomes that of another node */
		return eval_apply(p, op, &base, at);
	}
	return parse_apply_two(p, op, base, exponent, at);
}

/* Operands */

static int eval_parse_number(struct eval_parser *p)
{
	const struct eval_token token = p->token;
	kz_arg arg = kz_arg_uint(KZ_ARG_UINT, 0, 8);
	if (token.kind == TOKEN_INTEGER) {
		arg.value.u = token.value.integer;
	} else if (token.kind == TOKEN_REAL) {
		arg = kz_arg_f64(token.value.real);
	} else {
		arg = kz_arg_complex(0, token.value.real);
	}
	eval_advance(p);
	p->literal = eval_place(p, expr_arg(p->expr, &arg, 0, p->err), token.at);
	return p->literal;
}

static bool parse_name_is(const struct eval_parser *p, const struct eval_token *token,
	const char *name)
{
	const char *text = parse_token_text(p, token);
	return text[0] == name[0] && strncmp(text, name, token->len) == 0
		&& name[token->len] == '\0';
}

/* The nearest of some names to a word; of several the shortest. */
struct nearest {
	const char *word;
	size_t len;
	size_t limit;
	const char *name; /* NULL: none is near */
};

static struct nearest parse_nearest_to(const struct eval_parser *p, const struct eval_token *token)
{
	return (struct nearest){parse_token_text(p, token), token->len, token->len / 3 + 1, NULL};
}

static void eval_consider(struct nearest *nearest, const char *name)
{
	size_t distance = str_distance(nearest->word, nearest->len, name, strlen(name));
	bool is_shorter = nearest->name && distance == nearest->limit
		&& strlen(name) < strlen(nearest->name);
	if (distance < nearest->limit || is_shorter) {
		nearest->limit = distance;
		nearest->name = name;
	}
}

static int parse_unknown_name(struct eval_parser *p, const struct eval_token *token)
{
	const struct eval_source *source = p->source;
	struct nearest nearest = parse_nearest_to(p, token);
	char list[LIST_MAX + 8] = "none";
	size_t len = 0;
	for (size_t i = 0; i < source->count; i++) {
		eval_consider(&nearest, source->vars[i].name);
		if (len < LIST_MAX) {
			len += (size_t)snprintf(list + len, LIST_MAX - len, "%s%s", i ? ", " : "",
				source->vars[i].name);
		}
	}
	if (len >= LIST_MAX) {
		memcpy(list + LIST_MAX - 1, ", ...", sizeof(", ..."));
	}
	for (size_t i = 0; i < countof(constants); i++) {
		eval_consider(&nearest, constants[i].name);
	}
	return eval_fail(p, token->at, "no variable '%.*s'; there are: %s%s%s%s", eval_shown(token),
		parse_token_text(p, token), list, nearest.name ? " (did you mean '" : "",
		nearest.name ? nearest.name : "", nearest.name ? "'?)" : "");
}

static int parse_find_variable(const struct eval_parser *p, const struct eval_token *token)
{
	for (size_t i = 0; i < p->source->count; i++) {
		if (parse_name_is(p, token, p->source->vars[i].name)) {
			return (int)i;
		}
	}
	return -1;
}

/* Calls */

/* The callee of a name: an operation, or a conversion. */
struct callee {
	kz_op op; /* KZ_OP_NONE: to dtype */
	kz_dtype dtype;
};

static bool parse_find_callee(struct callee *out, const struct eval_parser *p,
	const struct eval_token *token)
{
	*out = (struct callee){expr_find(parse_token_text(p, token), token->len), 0};
	if (out->op) {
		return true;
	}
	for (size_t i = 0; i < countof(aliases); i++) {
		if (parse_name_is(p, token, aliases[i].name)) {
			out->op = aliases[i].op;
			return true;
		}
	}
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER | DTYPE_STORAGE));) {
		if (parse_name_is(p, token, kz_dtype_name(dtype))) {
			out->dtype = dtype;
			return true;
		}
	}
	return false;
}

static int parse_unknown_function(struct eval_parser *p, const struct eval_token *token)
{
	struct nearest nearest = parse_nearest_to(p, token);
	if (parse_find_variable(p, token) >= 0) {
		return eval_fail(p, token->at,
			"'%.*s' is a variable: expected an operator between it and '('",
			eval_shown(token), parse_token_text(p, token));
	}
	for (int i = KZ_REDUCE_SUM; kz_reduce_name((kz_reduce_op)i); i++) {
		if (parse_name_is(p, token, kz_reduce_name((kz_reduce_op)i))) {
			return eval_fail(p, token->at,
				"'%.*s' reduces an array: call kz_reduce, its result can be "
				"a variable", eval_shown(token), parse_token_text(p, token));
		}
	}
	for (int i = 1; i < EXPR_OPS; i++) {
		const struct expr_op *op = expr_op(i);
		if (op) {
			eval_consider(&nearest, op->name);
		}
	}
	for (size_t i = 0; i < countof(aliases); i++) {
		eval_consider(&nearest, aliases[i].name);
	}
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER | DTYPE_STORAGE));) {
		eval_consider(&nearest, kz_dtype_name(dtype));
	}
	return eval_fail(p, token->at, "no function '%.*s'%s%s%s", eval_shown(token),
		parse_token_text(p, token), nearest.name ? " (did you mean '" : "",
		nearest.name ? nearest.name : "", nearest.name ? "'?)" : "");
}

/* The operands of a call, up to the parenthesis after them; returns how many, -1 on failure. */
static int parse_operands(struct eval_parser *p, int args[EXPR_OPERANDS])
{
	int count = 0;
	eval_advance(p);
	if (p->token.kind == TOKEN_RIGHT) {
		eval_advance(p);
		return 0;
	}
	for (;; eval_advance(p)) {
		int node = eval_nested(p, parse_choice);
		if (node < 0) {
			return -1;
		}
		if (count < EXPR_OPERANDS) {
			args[count] = node;
		}
		count++;
		if (p->token.kind != TOKEN_COMMA) {
			break;
		}
	}
	return eval_expect(p, TOKEN_RIGHT, "',' or ')'") ? count : -1;
}

static int parse_call(struct eval_parser *p, const struct eval_token *name)
{
	struct callee callee;
	int args[EXPR_OPERANDS] = {0};
	if (!parse_find_callee(&callee, p, name)) {
		return parse_unknown_function(p, name);
	}
	int count = parse_operands(p, args);
	if (count < 0) {
		return -1;
	}
	const int want = callee.op ? kz_op_arity(callee.op) : 1;
	const int most = callee.op ? expr_op_most(callee.op) : 1;
	if (most > want && (count < want || count > most)) {
		return eval_fail(p, name->at, "%.*s takes %d to %d operands, got %d",
			(int)name->len, parse_token_text(p, name), want, most, count);
	}
	if (count < want || count > most) {
		return eval_fail(p, name->at, "%.*s takes %d operand%s, got %d", (int)name->len,
			parse_token_text(p, name), want, plural(want), count);
	}
	return callee.op ? eval_place(p, expr_apply_some(p->expr, callee.op, args, count, p->err),
			name->at)
		: eval_place(p, expr_cast(p->expr, args[0], callee.dtype, p->err), name->at);
}

/* A name that no parenthesis follows. */
static int parse_name(struct eval_parser *p, const struct eval_token *token)
{
	struct callee callee;
	int variable = parse_find_variable(p, token);
	if (variable >= 0) {
		const kz_var *var = &p->source->vars[variable];
		char name[64];
		/* error_scope leaves errors with a place alone. */
		snprintf(name, sizeof(name), "kz_eval: variable '%s'", var->name);
		return eval_place(p, expr_check_arg(&var->value, name, p->err) ? -1
			: expr_arg(p->expr, &var->value, variable + 1, p->err), token->at);
	}
	for (size_t i = 0; i < countof(constants); i++) {
		if (parse_name_is(p, token, constants[i].name)) {
			kz_arg arg = constants[i].is_bool
				? kz_arg_uint(KZ_ARG_BOOL, constants[i].value != 0, 1)
				: kz_arg_f64(constants[i].value);
			return eval_place(p, expr_arg(p->expr, &arg, 0, p->err), token->at);
		}
	}
	return parse_find_callee(&callee, p, token)
		? eval_unexpected(p, "'(' after the name of a function") : parse_unknown_name(p,
		token);
}

/* Rules, from what binds most to what binds least */

static int parse_primary(struct eval_parser *p)
{
	const struct eval_token token = p->token;
	switch (token.kind) {
	case TOKEN_INTEGER:
	case TOKEN_REAL:
	case TOKEN_IMAGINARY:
		return eval_parse_number(p);
	case TOKEN_LEFT:
		eval_advance(p);
		int node = eval_nested(p, parse_choice);
		return node >= 0 && eval_expect(p, TOKEN_RIGHT, "an operator or ')'") ? node : -1;
	case TOKEN_NAME:
		eval_advance(p);
		return p->token.kind == TOKEN_LEFT ? parse_call(p, &token) : parse_name(p, &token);
	case TOKEN_NOT:
		return eval_fail(p, token.at, "'not' binds more loosely than the operator before "
			"it: expected parentheses around it");
	default:
		return eval_unexpected(p, "a number, a name or '('");
	}
}

static int parse_power(struct eval_parser *p)
{
	int base = parse_primary(p);
	size_t at = p->token.at;
	if (base < 0 || p->token.kind != TOKEN_POWER) {
		return base;
	}
	eval_advance(p);
	int exponent = eval_nested(p, parse_unary);
	return exponent < 0 ? -1 : parse_apply_power(p, base, exponent, at);
}

static int parse_unary(struct eval_parser *p)
{
	const struct eval_token token = p->token;
	kz_op op = token.kind == TOKEN_MINUS ? KZ_OP_NEGATIVE
		: token.kind == TOKEN_PLUS ? KZ_OP_POSITIVE : token.kind == TOKEN_TILDE
		? KZ_OP_INVERT : token.kind == TOKEN_BANG ? KZ_OP_LOGICAL_NOT : KZ_OP_NONE;
	if (!op) {
		return parse_power(p);
	}
	eval_advance(p);
	int node = eval_nested(p, parse_unary);
	if (node < 0 || (op == KZ_OP_NEGATIVE && parse_negate_number(p, node))) {
		return node;
	}
	return eval_apply(p, op, &node, token.at);
}

static int parse_binary(struct eval_parser *p, enum level lowest);

static int parse_not(struct eval_parser *p)
{
	return parse_binary(p, LEVEL_NOT);
}

/* Both comparisons use the operand between them.  A C number, or an expression of some, takes the
 * type of the first thing that it meets, so the second comparison gets a number of its own. */
static int parse_copy_number(struct eval_parser *p, int index)
{
	const struct expr_node *node = &p->expr->nodes[index];
	kz_arg arg = kz_arg_make(KZ_ARG_INT, 8);
	const union expr_value *value = &p->expr->scalars[node->args[0]];
	if (node->op != EXPR_SCALAR || !node->weak) {
		return index;
	}
	if (node->dtype == KZ_I64 || node->dtype == KZ_U64) {
		arg.kind = node->dtype == KZ_I64 ? KZ_ARG_INT : KZ_ARG_UINT;
		arg.value.u = value->u;
	} else if (node->dtype == KZ_F64) {
		arg = kz_arg_f64(value->parts[0]);
	} else {
		arg = kz_arg_complex(value->parts[0], value->parts[1]);
	}
	return eval_place(p, expr_arg(p->expr, &arg, 0, p->err), p->source->places[index]);
}

/* a < b < c: a comparison and the right side of it, which the next one begins with. */
static int parse_comparisons(struct eval_parser *p, int left)
{
	int result = -1;
	while (binary[p->token.kind].level == LEVEL_COMPARE) {
		const struct eval_token token = p->token;
		eval_advance(p);
		int right = parse_binary(p, LEVEL_COMPARE + 1);
		bool goes_on = binary[p->token.kind].level == LEVEL_COMPARE;
		int next = right >= 0 && goes_on ? parse_copy_number(p, right) : right;
		if (next < 0) {
			return -1;
		}
		bool weak = p->expr->nodes[next].weak;
		int one = parse_apply_two(p, (kz_op)binary[token.kind].op, left, right, token.at);
		p->expr->nodes[next].weak = goes_on ? weak : p->expr->nodes[next].weak;
		if (one >= 0 && result >= 0) {
			one = parse_apply_two(p, KZ_OP_LOGICAL_AND, result, one, token.at);
		}
		if (one < 0) {
			return -1;
		}
		result = one;
		left = next;
	}
	return result;
}

/* Operators that bind as much as `lowest`, or more. */
static int parse_binary(struct eval_parser *p, enum level lowest)
{
	const struct eval_token first = p->token;
	int left;
	if (first.kind == TOKEN_NOT && lowest <= LEVEL_NOT) {
		eval_advance(p);
		left = eval_nested(p, parse_not);
		left = left < 0 ? -1 : eval_apply(p, KZ_OP_LOGICAL_NOT, &left, first.at);
	} else {
		left = parse_unary(p);
	}
	while (left >= 0 && binary[p->token.kind].level >= lowest) {
		const struct eval_token token = p->token;
		if (binary[token.kind].level == LEVEL_COMPARE) {
			left = parse_comparisons(p, left);
			continue;
		}
		eval_advance(p);
		int right = parse_binary(p, binary[token.kind].level + 1);
		left = right < 0 ? -1
			: parse_apply_two(p, (kz_op)binary[token.kind].op, left, right, token.at);
	}
	return left;
}

/* x if c else y, c ? x : y */
static int parse_choice(struct eval_parser *p)
{
	const int first = parse_binary(p, LEVEL_OR);
	const struct eval_token token = p->token;
	bool is_python = token.kind == TOKEN_IF;
	if (first < 0 || (!is_python && token.kind != TOKEN_QUESTION)) {
		return first;
	}
	eval_advance(p);
	const int second = is_python ? parse_binary(p, LEVEL_OR) : eval_nested(p, parse_choice);
	if (second < 0 || !eval_expect(p, is_python ? TOKEN_ELSE : TOKEN_COLON,
			is_python ? "an operator or 'else'" : "an operator or ':'")) {
		return -1;
	}
	const int third = eval_nested(p, parse_choice);
	const int args[] = {is_python ? second : first, is_python ? first : second, third};
	return third < 0 ? -1 : eval_apply(p, KZ_OP_WHERE, args, token.at);
}

static bool parse_check_variables(const struct eval_source *source, kz_error *err)
{
	for (size_t i = 0; i < source->count; i++) {
		if (!source->vars[i].name) {
			error_set(err, KZ_INVALID, "variable %zu has no name", i + 1);
			return false;
		}
	}
	return true;
}

bool eval_parse(struct expr *expr, struct eval_source *source, kz_error *err)
{
	struct eval_parser p = {.expr = expr, .source = source, .err = err, .literal = -1};
	source->place = 0;
	expr_init(expr);
	if (!parse_check_variables(source, err)) {
		return false;
	}
	if (strnlen(source->text, EVAL_TEXT_MAX + 1) > EVAL_TEXT_MAX) {
		error_set(err, KZ_COMPILE, "an expression has at most %d bytes", EVAL_TEXT_MAX);
		return false;
	}
	eval_advance(&p);
	if (p.token.kind == TOKEN_END) {
		return eval_fail(&p, p.token.at, "the expression is empty") >= 0;
	}
	int node = parse_choice(&p);
	if (node >= 0 && p.token.kind != TOKEN_END) {
		node = eval_unexpected(&p, "an operator");
	}
	assert(node < 0 || node == expr->node_count - 1);
	return node >= 0;
}

/* Shapes */

static bool parse_broadcast_all(const struct expr *expr)
{
	kz_shape shape = expr->arrays[0]->shape;
	for (int i = 1; i < expr->array_count; i++) {
		const kz_shape *other = &expr->arrays[i]->shape;
		if (!shape_equal(&shape, other)
		    && shape_broadcast(&shape, shape, *other, NULL)) {
			return false;
		}
	}
	return true;
}

/* The shape of a node from those before it. */
static bool parse_shape_node(kz_shape *shapes, const struct expr *expr, int index, kz_error *err)
{
	const struct expr_node *node = &expr->nodes[index];
	const struct expr_op *op = expr_op(node->op);
	int arity = op ? op->arity : node->op == EXPR_CAST ? 1 : 0;
	kz_shape *shape = &shapes[index];
	shape->ndim = 0;
	if (node->op == EXPR_ARRAY) {
		*shape = expr->arrays[node->args[0]]->shape;
	}
	for (int k = 0; k < arity; k++) {
		const kz_shape before = *shape;
		if (shape_broadcast(shape, before, shapes[node->args[k]], err)) {
			return false;
		}
	}
	return true;
}

static bool parse_find_mismatch(const struct expr *expr, struct eval_source *source, kz_error *err)
{
	kz_shape *shapes = mem_alloc(EXPR_NODES * sizeof(*shapes)); /* much for a stack */
	bool fits = true;
	if (!shapes) {
		error_no_memory(err);
		return false;
	}
	for (int i = 0; i < expr->node_count && fits; i++) {
		fits = parse_shape_node(shapes, expr, i, err);
		source->place = fits ? source->place : source->places[i];
	}
	mem_free(shapes);
	return fits;
}

bool eval_check_shapes(const struct expr *expr, struct eval_source *source, kz_error *err)
{
	return expr->array_count < 2 || parse_broadcast_all(expr) || parse_find_mismatch(expr,
		source, err);
}

/* SPDX-License-Identifier: MIT */
/*
 * Parses constant expressions: C's operators with C's precedence on 64-bit integers and doubles
 * (PTX ISA 4.5.3 to 4.5.6).  An integer is signed unless a literal or a cast says otherwise.  Each
 * operator has its own rule for the sign of the result, in expr_apply.
 *
 * A token of punctuation is one character.  So an operator of two characters is one whose second
 * character follows at once.  A '%' that stands alone is a word to the lexer.
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 64, UNARY = 11 };

/* Binary operators; a higher level binds tighter.  Longer spellings come first. */
enum operation {
	SHL, SHR, LE, GE, EQ, NE, LAND, LOR, MUL, DIV, REM, PLUS, MINUS, LT, GT, AND, XOR, OR
};

static const struct {
	const char *text;
	int level;
} operators[] = {
	[SHL] = {"<<", 8}, [SHR] = {">>", 8}, [LE] = {"<=", 7}, [GE] = {">=", 7}, [EQ] = {"==", 6},
	[NE] = {"!=", 6}, [LAND] = {"&&", 2}, [LOR] = {"||", 1}, [MUL] = {"*", 10},
	[DIV] = {"/", 10}, [REM] = {"%", 10}, [PLUS] = {"+", 9}, [MINUS] = {"-", 9},
	[LT] = {"<", 7},
	[GT] = {">", 7}, [AND] = {"&", 5}, [XOR] = {"^", 4}, [OR] = {"|", 3}
};

static void expr_parse_level(struct parser *p, struct constant *out, int level, int depth);

/* The current operator; the number of operators if the token is not one. */
static size_t expr_operator_at(const struct parser *p)
{
	bool percent = p->token.kind == TOKEN_WORD && token_is(&p->token, "%");
	size_t room = (size_t)(p->lexer.end - p->token.text);
	for (size_t i = 0; (percent || p->token.kind == TOKEN_PUNCT) && i < countof(operators);
		i++) {
		if (operators[i].text[0] != p->token.text[0]) {
			continue;
		}
		size_t len = strlen(operators[i].text);
		if (len <= room && memcmp(p->token.text, operators[i].text, len) == 0) {
			return i;
		}
	}
	return countof(operators);
}

bool at_constant(const struct parser *p)
{
	struct lexer lexer = p->lexer;
	struct lex_token next;
	struct ptx_diag ignored;
	if (p->token.kind != TOKEN_PUNCT) {
		return p->token.kind == TOKEN_INT || p->token.kind == TOKEN_FLOAT
			|| at(p, "WARP_SZ");
	}
	/* a sign may also stand in front of a register */
	bool sign = at(p, "-") || at(p, "+") || at(p, "~") || at(p, "!");
	return at(p, "(") || (sign && lex_next(&lexer, &next, &ignored)
		&& (next.kind == TOKEN_INT || next.kind == TOKEN_FLOAT || next.kind == TOKEN_PUNCT
			|| token_is(&next, "WARP_SZ")));
}

/* What only integers, or only numbers with more bits than 0f gives, can do. */
static void expr_refuse(struct parser *p, const struct constant *value, bool integer)
{
	if (integer && value->is_real) {
		parser_fail(p, "expected an integer in a constant expression, got %g", value->real);
	} else if (value->real_width == 32) {
		parser_fail(p, "a single-precision constant cannot be part of an expression");
	}
}

static bool expr_is_true(const struct constant *value)
{
	return value->is_real ? value->real != 0 : value->value != 0;
}

static struct constant expr_integer(uint64_t value, bool is_unsigned)
{
	return (struct constant){.value = (int64_t)value, .is_unsigned = is_unsigned};
}

static struct constant expr_real(double value)
{
	struct constant out = {.is_real = true, .real = value};
	memcpy(&out.real_bits, &value, sizeof(value));
	return out;
}

static double expr_to_real(const struct constant *value)
{
	return value->is_real ? value->real : value->is_unsigned
		? (double)(uint64_t)value->value : (double)value->value;
}

static struct constant expr_apply_real(enum operation op, double a, double b)
{
	switch (op) {
	case MUL:
		return expr_real(a * b);
	case DIV:
		return expr_real(a / b);
	case PLUS:
		return expr_real(a + b);
	case MINUS:
		return expr_real(a - b);
	case LT:
		return expr_integer(a < b, false);
	case GT:
		return expr_integer(a > b, false);
	case LE:
		return expr_integer(a <= b, false);
	case GE:
		return expr_integer(a >= b, false);
	case EQ:
		return expr_integer(a == b, false);
	default:
		return expr_integer(a != b, false);
	}
}

/* b is not 0; the one quotient that does not fit wraps around. */
static uint64_t expr_divide(uint64_t a, uint64_t b, bool is_unsigned)
{
	if (is_unsigned) {
		return a / b;
	}
	return b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t expr_shift(uint64_t a, uint64_t count, bool left, bool is_unsigned)
{
	bool fill = !left && !is_unsigned && (int64_t)a < 0;
	if (count > 63) {
		return fill ? UINT64_MAX : 0;
	}
	return left ? a << count : fill ? ~(~a >> count) : a >> count;
}

static bool expr_less(uint64_t a, uint64_t b, bool is_unsigned)
{
	return is_unsigned ? a < b : (int64_t)a < (int64_t)b;
}

static struct constant expr_apply_integer(enum operation op, const struct constant *left,
	const struct constant *right)
{
	uint64_t a = (uint64_t)left->value, b = (uint64_t)right->value;
	bool is_unsigned = left->is_unsigned || right->is_unsigned;
	switch (op) {
	case MUL:
		return expr_integer(a * b, is_unsigned);
	case DIV:
		return expr_integer(expr_divide(a, b, is_unsigned), is_unsigned);
	case REM:
		return expr_integer(a % b, false);
	case PLUS:
		return expr_integer(a + b, is_unsigned);
	case MINUS:
		return expr_integer(a - b, is_unsigned);
	case SHL:
	case SHR:
		return expr_integer(
			expr_shift(a, b, op == SHL, left->is_unsigned), left->is_unsigned);
	case LT:
		return expr_integer(expr_less(a, b, is_unsigned), false);
	case GT:
		return expr_integer(expr_less(b, a, is_unsigned), false);
	case LE:
		return expr_integer(!expr_less(b, a, is_unsigned), false);
	case GE:
		return expr_integer(!expr_less(a, b, is_unsigned), false);
	case EQ:
		return expr_integer(a == b, false);
	case NE:
		return expr_integer(a != b, false);
	case AND:
		return expr_integer(a & b, true);
	case XOR:
		return expr_integer(a ^ b, true);
	case OR:
		return expr_integer(a | b, true);
	case LAND:
		return expr_integer(a && b, false);
	default:
		return expr_integer(a || b, false);
	}
}

static void expr_apply(struct parser *p, enum operation op, struct constant *left,
	const struct constant *right)
{
	bool whole = op == SHL || op == SHR || op == REM || op == AND || op == XOR || op == OR
		|| op == LAND || op == LOR;
	expr_refuse(p, left, whole);
	expr_refuse(p, right, whole);
	if (left->is_real || right->is_real) {
		*left = expr_apply_real(op, expr_to_real(left), expr_to_real(right));
		return;
	}
	if (right->value == 0 && (op == DIV || op == REM)) {
		parser_fail(p, "division by zero in a constant expression");
		return;
	}
	*left = expr_apply_integer(op, left, right);
}

/* A number, a parenthesis, or (.s64) in front of one. */
static void expr_parse_primary(struct parser *p, struct constant *out, int depth)
{
	const struct lex_token token = p->token;
	if (accept(p, "WARP_SZ")) {
		*out = expr_integer(32, false);
	} else if (token.kind == TOKEN_FLOAT) {
		*out = (struct constant){.is_real = true, .real = token.real,
			.real_bits = token.real_bits, .real_width = token.real_width};
		advance(p);
	} else if (accept(p, "(")) {
		bool is_unsigned = at(p, ".u64");
		if (accept(p, ".s64") || accept(p, ".u64")) {
			expect(p, ")");
			expr_parse_level(p, out, UNARY, depth + 1);
			expr_refuse(p, out, true);
			out->is_unsigned = is_unsigned;
		} else {
			expr_parse_level(p, out, 0, depth + 1);
			expect(p, ")");
		}
	} else {
		bool is_unsigned = token.value > INT64_MAX
			|| (token.len > 0 && token.text[token.len - 1] == 'U');
		*out = expr_integer(take_int(p), is_unsigned);
	}
}

static void expr_parse_unary(struct parser *p, struct constant *out, int depth)
{
	if (accept(p, "-")) {
		expr_parse_level(p, out, UNARY, depth + 1);
		out->real = -out->real;
		out->real_bits ^= (uint64_t)1 << (out->real_width == 32 ? 31 : 63);
		out->value = (int64_t)(0 - (uint64_t)out->value);
	} else if (accept(p, "+")) {
		expr_parse_level(p, out, UNARY, depth + 1);
	} else if (accept(p, "~")) {
		expr_parse_level(p, out, UNARY, depth + 1);
		expr_refuse(p, out, true);
		*out = expr_integer(~(uint64_t)out->value, true);
	} else if (accept(p, "!")) {
		expr_parse_level(p, out, UNARY, depth + 1);
		expr_refuse(p, out, true);
		*out = expr_integer(!expr_is_true(out), false);
	} else {
		expr_parse_primary(p, out, depth);
	}
}

/* After the '?'. */
static void expr_parse_choice(struct parser *p, struct constant *out, int depth)
{
	struct constant yes, no;
	expr_refuse(p, out, true);
	expr_parse_level(p, &yes, 0, depth + 1);
	expect(p, ":");
	expr_parse_level(p, &no, 0, depth + 1);
	bool is_unsigned = yes.is_unsigned || no.is_unsigned;
	bool is_real = yes.is_real || no.is_real;
	*out = expr_is_true(out) ? yes : no;
	out->is_unsigned = is_unsigned;
	if (is_real && !out->is_real) {
		*out = expr_real(expr_to_real(out));
	}
}

static void expr_parse_level(struct parser *p, struct constant *out, int level, int depth)
{
	*out = expr_integer(0, false);
	if (depth > MAX_DEPTH) {
		parser_fail(p, "a constant expression is nested too deeply");
		return;
	}
	expr_parse_unary(p, out, depth);
	size_t op = expr_operator_at(p);
	while (level < UNARY && op < countof(operators) && operators[op].level >= level
	       && !p->failed) {
		struct constant right;
		for (size_t i = strlen(operators[op].text); i > 0; i--) {
			advance(p);
		}
		expr_parse_level(p, &right, operators[op].level + 1, depth + 1);
		expr_apply(p, (enum operation)op, out, &right);
		op = expr_operator_at(p);
	}
	if (level == 0 && accept(p, "?")) {
		expr_parse_choice(p, out, depth);
	}
}

void parse_constant(struct parser *p, struct constant *out)
{
	expr_parse_level(p, out, 0, 0);
}

int64_t take_offset(struct parser *p)
{
	struct constant value;
	expr_parse_level(p, &value, operators[MUL].level, 0);
	expr_refuse(p, &value, true);
	return value.value;
}

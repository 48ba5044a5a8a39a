/* SPDX-License-Identifier: MIT */
/*
 * Reports values that went wrong: the checks `nan` and `int`.
 *
 * ir/blame.c finds out which instruction made a value wrong, and tells of its operands when that
 * happens.  Whether it matters is known later.  Until then a table has the operands, at the place
 * that the thread and the line of PTX decide.  A later entry may take that place; then the report
 * says only what was made.
 */
#include "base/common.h"

#include "cpu/check/values.h"

#include "cpu/mem/fault.h"
#include "cpu/runtime/rt_half.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { VALUES_KEPT = 1024 };

/* Which instruction of which thread. */
struct values_place {
	const struct check_kernel *kernel;
	uint64_t grid_id;
	uint32_t block[3], thread, line;
};

static struct {
	pthread_mutex_t lock;
	struct {
		struct values_place place;
		struct rt_made made;
	} kept[VALUES_KEPT];
} values = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void values_find_place(struct values_place *out, const struct rt_warp *warp, uint32_t lane,
	uint32_t line)
{
	out->kernel = warp->launch->check;
	out->grid_id = warp->launch->grid_id;
	memcpy(out->block, warp->ctaid, sizeof(out->block));
	out->thread = warp->first + lane;
	out->line = line;
}

static size_t values_slot(const struct values_place *place)
{
	const uint32_t mixed = place->thread * 31 + place->line * 2654435761u
		+ place->block[0] * 40503u + place->block[1] * 97u + place->block[2];
	return mixed % VALUES_KEPT;
}

void values_keep(struct rt_warp *warp, uint32_t lane, const struct rt_made *made)
{
	struct values_place place;
	values_find_place(&place, warp, lane, made->line);
	fault_hold();
	pthread_mutex_lock(&values.lock);
	values.kept[values_slot(&place)].place = place;
	values.kept[values_slot(&place)].made = *made;
	pthread_mutex_unlock(&values.lock);
	fault_release();
}

static bool values_is_same(const struct values_place *a, const struct values_place *b)
{
	return a->kernel == b->kernel && a->grid_id == b->grid_id && a->thread == b->thread
		&& a->line == b->line && memcmp(a->block, b->block, sizeof(a->block)) == 0;
}

static bool values_find(struct rt_made *out, const struct values_place *place)
{
	pthread_mutex_lock(&values.lock);
	const bool is = values_is_same(&values.kept[values_slot(place)].place, place);
	*out = values.kept[values_slot(place)].made;
	pthread_mutex_unlock(&values.lock);
	return is;
}

/* --- Text --- */

static enum ptx_type values_type(const struct rt_made *made, unsigned i)
{
	return (enum ptx_type)(made->types >> 8 * i & 0xff);
}

static void values_write_real(char *text, size_t size, double value)
{
	if (isfinite(value)) {
		snprintf(text, size, "%.9g", value);
	} else {
		snprintf(text, size, "%s", isnan(value) ? "NaN" : value < 0 ? "-infinity"
			: "infinity");
	}
}

static float values_half(enum ptx_type type, uint16_t bits)
{
	return type == PTX_F16 || type == PTX_F16X2 ? rt_bits_float(rt_half_to_float(bits))
		: rt_bits_float((uint32_t)bits << 16);
}

static int64_t values_signed(const struct rt_made *made, unsigned i)
{
	const unsigned unused = 64 - ptx_type_bits(values_type(made, i));
	return (int64_t)(made->values[i] << unused) >> unused;
}

/* The longest text is a pair of numbers with nine digits each. */
struct values_text {
	char chars[52];
};

/* A pair as "(1, 2)". */
static void values_write(struct values_text *out, const struct rt_made *made, unsigned i)
{
	char *text = out->chars;
	const size_t size = sizeof(out->chars);
	const enum ptx_type type = values_type(made, i);
	const uint64_t bits = made->values[i];
	char low[24], high[24];
	double real;
	switch (type) {
	case PTX_F64:
		memcpy(&real, &bits, sizeof(real));
		values_write_real(text, size, real);
		break;
	case PTX_F32:
		values_write_real(text, size, (double)rt_bits_float((uint32_t)bits));
		break;
	case PTX_F16:
	case PTX_BF16:
		values_write_real(text, size, (double)values_half(type, (uint16_t)bits));
		break;
	case PTX_F32X2:
		values_write_real(low, sizeof(low), (double)rt_bits_float((uint32_t)bits));
		values_write_real(high, sizeof(high),
			(double)rt_bits_float((uint32_t)(bits >> 32)));
		snprintf(text, size, "(%s, %s)", low, high);
		break;
	case PTX_F16X2:
	case PTX_BF16X2:
		values_write_real(low, sizeof(low), (double)values_half(type, (uint16_t)bits));
		values_write_real(high, sizeof(high),
			(double)values_half(type, (uint16_t)(bits >> 16)));
		snprintf(text, size, "(%s, %s)", low, high);
		break;
	default:
		if (ptx_type_class(type) == 'u') {
			snprintf(text, size, "%" PRIu64, bits);
		} else {
			snprintf(text, size, "%" PRId64, values_signed(made, i));
		}
		break;
	}
}

/* What instructions do, by their first words. */
static const struct {
	const char *spelling, *words, *sign;
} values_words[] = {
	{"add", "addition", "+"}, {"sub", "subtraction", "-"}, {"mul", "multiplication", "*"},
	{"fma", "multiplication and addition", "*"}, {"mad", "multiplication and addition", "*"},
	{"div", "division", "/"}, {"rem", "remainder", "%"}, {"rcp", "reciprocal", ""},
	{"sqrt", "square root", ""}, {"rsqrt", "reciprocal square root", ""},
	{"ex2", "power of 2", ""}, {"lg2", "logarithm", ""}, {"cvt", "conversion", ""},
	{"shl", "shift", "<<"}, {"shr", "shift", ">>"}, {"neg", "negation", "-"},
	{"abs", "absolute value", ""}, {"", "operation", ""},
};

static size_t values_find_words(uint32_t op)
{
	size_t i = 0;
	while (i + 1 < countof(values_words)
	       && strcmp(values_words[i].spelling, ptx_rows[op].spelling) != 0) {
		i++;
	}
	return i;
}

static bool values_has(const struct rt_made *made, unsigned i)
{
	return i < countof(made->values) && values_type(made, i) != PTX_NONE;
}

static void values_describe_float(char *text, size_t size, const struct rt_made *made)
{
	static_assert(sizeof(((struct report_side *)NULL)->what) > 80
		+ countof(made->values) * sizeof(struct values_text), "all operands fit");
	struct values_text value;
	values_write(&value, made, 0);
	int length = snprintf(text, size, "this %s makes %s%s",
		values_words[values_find_words(made->op)].words, value.chars,
		values_has(made, 1) ? " out of " : "");
	for (unsigned i = 1; values_has(made, i) && length < (int)size; i++) {
		values_write(&value, made, i);
		length += snprintf(text + length, size - (size_t)length, "%s%s",
			i == 1 ? "" : values_has(made, i + 1) ? ", " : " and ", value.chars);
	}
}

/* "a * b + c", with as much as there is. */
static void values_describe_overflow(char *text, size_t size, const struct rt_made *made)
{
	const char *sign = values_words[values_find_words(made->op)].sign;
	const unsigned bits = ptx_type_bits(values_type(made, 0));
	const char *rest = "does not fit in";
	if (!values_has(made, 2)) {
		snprintf(text, size, "this %s of %" PRId64 " %s %u bits with a sign",
			values_words[values_find_words(made->op)].words, values_signed(made, 1),
			rest, bits);
	} else if (!values_has(made, 3)) {
		snprintf(text, size, "%" PRId64 " %s %" PRId64 " %s %u bits with a sign",
			values_signed(made, 1), sign, values_signed(made, 2), rest, bits);
	} else {
		snprintf(text, size, "%" PRId64 " * %" PRId64 " + %" PRId64
			" %s %u bits with a sign", values_signed(made, 1), values_signed(made, 2),
			values_signed(made, 3), rest, bits);
	}
}

static void values_describe_int(char *text, size_t size, const struct rt_made *made)
{
	const char *words = values_words[values_find_words(made->op)].words;
	struct values_text value;
	if (strcmp(words, "shift") == 0
	    && made->values[2] >= ptx_type_bits(values_type(made, 1))) {
		snprintf(text, size, "this shift of a number of %u bits is by %" PRIu64,
			ptx_type_bits(values_type(made, 1)), made->values[2]);
	} else if ((made->op == PTX_OP_DIV || made->op == PTX_OP_REM) && made->values[2] == 0) {
		values_write(&value, made, 1);
		snprintf(text, size, "this %s of %s by 0", words, value.chars);
	} else {
		values_describe_overflow(text, size, made);
	}
}

void values_report(struct rt_warp *warp, uint32_t lane, uint32_t blame)
{
	const bool is_int = blame & CHECK_BLAME_INT;
	struct report report = {.check = is_int ? CHECK_INT : CHECK_NAN,
		.kernel = warp->launch->check, .side_count = 1};
	struct report_side *side = &report.sides[0];
	struct values_place place;
	struct rt_made made;
	values_find_place(&place, warp, lane, blame & ~CHECK_BLAME_INT);
	fault_hold();
	report_set_side(side, warp->launch, place.block, place.thread, place.line);
	if (!values_find(&made, &place)) {
		snprintf(side->what, sizeof(side->what), is_int
			? "the result of this operation does not fit, or is not defined"
			: "this operation makes NaN or infinity out of finite operands");
	} else if (is_int) {
		values_describe_int(side->what, sizeof(side->what), &made);
	} else {
		values_describe_float(side->what, sizeof(side->what), &made);
	}
	report_add(&report);
	fault_release();
}

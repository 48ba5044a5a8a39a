/* SPDX-License-Identifier: MIT */
/*
 * einsum's subscripts: "ij,jk->ik" becomes lists of labels, which are numbers from 0 on.
 *
 * A term is read as it is written: its letters, and the place of its ellipsis.  Then the number of
 * extents of its operand says for how many extents the ellipsis stands.  These get labels of their
 * own, counted from the last one, so that the ellipses of all operands broadcast.
 *
 * As in numpy an extent of 1 fits any other one of the same label, but not within an operand.
 */
#include "base/common.h"

#include "lib/linalg/einsum.h"

#include <string.h>

enum { LETTERS = 128, NONE = -1 };

/* A term as it is written. */
struct written {
	int64_t count;
	int64_t ellipsis; /* the number of letters before it, or NONE */
	char letters[KZ_MAX_DIMS];
};

struct einsum_reader {
	const char *text;
	size_t at;
	struct einsum *e;
	kz_arrays arrays;
	struct written terms[EINSUM_OPERANDS];
	int64_t ellipsis_extents;            /* the most of any operand */
	int8_t numbers[LETTERS + KZ_MAX_DIMS]; /* of the labels of letters, then of the ellipsis
	                                        from its last extent on; NONE: not seen yet */
	int counts[LETTERS];                 /* of the letters, in all operands */
	uint8_t owners[CONTRACT_LABELS];     /* the operands that gave the labels their extents */
	kz_error *err;
};

/* Characters.  Spaces may be anywhere. */

static char einsum_peek(struct einsum_reader *r)
{
	while (r->text[r->at] == ' ') {
		r->at++;
	}
	return r->text[r->at];
}

static bool einsum_accept(struct einsum_reader *r, const char *word)
{
	size_t start = r->at;
	for (; *word; word++) {
		if (einsum_peek(r) != *word) {
			r->at = start;
			return false;
		}
		r->at++;
	}
	return true;
}

static bool einsum_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static kz_status einsum_unexpected(struct einsum_reader *r, const char *expected)
{
	unsigned char c = (unsigned char)einsum_peek(r);
	if (!c) {
		return error_set(r->err, KZ_INVALID, "einsum: column %zu: expected %s, got the end",
			r->at + 1, expected);
	}
	return error_set(r->err, KZ_INVALID, c > ' ' && c < 127
		? "einsum: column %zu: expected %s, got '%c'"
		: "einsum: column %zu: expected %s, got byte %#x", r->at + 1, expected, c);
}

/* Read a term, which ends before whatever is not of it. */
static kz_status einsum_read_term(struct einsum_reader *r, struct written *term)
{
	term->count = 0;
	term->ellipsis = NONE;
	for (;;) {
		char c = einsum_peek(r);
		if (einsum_is_letter(c)) {
			if (term->count == KZ_MAX_DIMS) {
				return error_set(r->err, KZ_INVALID,
					"einsum: column %zu: arrays have at most %d extents",
					r->at + 1, KZ_MAX_DIMS);
			}
			term->letters[term->count++] = c;
			r->at++;
		} else if (c == '.' && term->ellipsis != NONE) {
			return error_set(r->err, KZ_INVALID, "einsum: column %zu: a second "
				"ellipsis in one term", r->at + 1);
		} else if (einsum_accept(r, "...")) {
			term->ellipsis = term->count;
		} else {
			return c == '.' ? einsum_unexpected(r, "an ellipsis of three points")
				: KZ_OK;
		}
	}
}

static kz_status einsum_read_operands(struct einsum_reader *r)
{
	struct written beyond;
	int64_t count = 0;
	kz_status st;
	do {
		if ((st = einsum_read_term(r,
			count < r->arrays.count ? &r->terms[count] : &beyond))) {
			return st;
		}
		count++;
	} while (einsum_accept(r, ","));
	char c = einsum_peek(r);
	if (c && c != '-') {
		return einsum_unexpected(r, "a letter, '...', ',' or '->'");
	}
	if (count != r->arrays.count) {
		return error_set(r->err, KZ_INVALID, "einsum: expected %lld operand%s, one for "
			"each term, got %lld", (long long)count, plural(count),
			(long long)r->arrays.count);
	}
	return KZ_OK;
}

/* Labels */

/* The term for messages, as it was written. */
struct written_text {
	char text[KZ_MAX_DIMS + 4];
};

static struct written_text einsum_text(const struct written *term)
{
	struct written_text out = {""};
	size_t len = 0;
	for (int64_t i = 0; i <= term->count; i++) {
		if (i == term->ellipsis) {
			memcpy(out.text + len, "...", 3);
			len += 3;
		}
		if (i < term->count) {
			out.text[len++] = term->letters[i];
		}
	}
	return out;
}

/* An axis gets the label of a letter, or of an extent of the ellipsis. */
static kz_status einsum_add_axis(struct einsum_reader *r, int64_t operand, int key)
{
	struct einsum *e = r->e;
	struct einsum_term *term = &e->operands[operand];
	const kz_shape *shape = &r->arrays.items[operand]->shape;
	int64_t extent = shape->dims[term->ndim];
	if (r->numbers[key] == NONE) {
		if (e->label_count == CONTRACT_LABELS) {
			return error_set(r->err, KZ_UNSUPPORTED, "einsum: more than %d labels",
				CONTRACT_LABELS);
		}
		r->numbers[key] = (int8_t)e->label_count;
		e->names[e->label_count] = key < LETTERS ? (char)key : '.';
		e->extents[e->label_count] = extent;
		r->owners[e->label_count++] = (uint8_t)operand;
	}
	uint8_t label = (uint8_t)r->numbers[key];
	term->labels[term->ndim++] = label;
	for (int64_t i = 0; i + 1 < term->ndim; i++) {
		if (term->labels[i] == label && shape->dims[i] != extent) {
			return error_set(r->err, KZ_INVALID, "einsum: '%c' is both %lld and %lld "
				"in operand %lld of shape %s", key, (long long)shape->dims[i],
				(long long)extent, (long long)operand, shape_text(shape).text);
		}
	}
	int64_t known = e->extents[label];
	if (extent != 1 && known != 1 && extent != known) {
		const kz_shape *other = &r->arrays.items[r->owners[label]]->shape;
		char name[2] = {e->names[label], '\0'};
		return error_set(r->err, KZ_INVALID, "einsum: '%s' is %lld in operand %d of shape "
			"%s and %lld in operand %lld of shape %s", key < LETTERS ? name : "...",
			(long long)known, r->owners[label], shape_text(other).text,
			(long long)extent, (long long)operand, shape_text(shape).text);
	}
	if (known == 1 && extent != 1) {
		e->extents[label] = extent;
		r->owners[label] = (uint8_t)operand;
	}
	return KZ_OK;
}

/* Give each axis of an operand its label. */
static kz_status einsum_bind(struct einsum_reader *r, int64_t operand)
{
	const struct written *term = &r->terms[operand];
	int64_t ndim = r->arrays.items[operand]->shape.ndim;
	int64_t more = ndim - term->count;
	kz_status st = KZ_OK;
	if (more < 0 || (more > 0 && term->ellipsis == NONE)) {
		return error_set(r->err, KZ_INVALID, "einsum: operand %lld has %lld extent%s, '%s' "
			"names %lld%s", (long long)operand, (long long)ndim, plural(ndim),
			einsum_text(term).text, (long long)term->count,
			term->ellipsis == NONE ? "" : " or more");
	}
	r->ellipsis_extents = more > r->ellipsis_extents ? more : r->ellipsis_extents;
	for (int64_t i = 0; !st && i <= term->count; i++) {
		for (int64_t k = more; !st && i == term->ellipsis && k-- > 0;) {
			st = einsum_add_axis(r, operand, LETTERS + (int)k);
		}
		if (!st && i < term->count) {
			r->counts[(int)term->letters[i]]++;
			st = einsum_add_axis(r, operand, term->letters[i]);
		}
	}
	return st;
}

/* The output */

static kz_status einsum_put(struct einsum_reader *r, int key)
{
	struct einsum_term *output = &r->e->output;
	if (output->ndim == KZ_MAX_DIMS) {
		return error_set(r->err, KZ_INVALID, "einsum: the output has more than %d extents",
			KZ_MAX_DIMS);
	}
	output->labels[output->ndim++] = (uint8_t)r->numbers[key];
	return KZ_OK;
}

static kz_status einsum_put_ellipsis(struct einsum_reader *r)
{
	kz_status st = KZ_OK;
	for (int64_t k = r->ellipsis_extents; !st && k-- > 0;) {
		st = einsum_put(r, LETTERS + (int)k);
	}
	return st;
}

/* Without "->": the ellipsis, then the letters that occur once, sorted. */
static kz_status einsum_imply_output(struct einsum_reader *r)
{
	kz_status st = einsum_put_ellipsis(r);
	for (int c = 0; !st && c < LETTERS; c++) {
		if (r->counts[c] == 1) {
			st = einsum_put(r, c);
		}
	}
	return st;
}

static kz_status einsum_read_output(struct einsum_reader *r)
{
	struct written term;
	bool used[LETTERS] = {false};
	size_t column = r->at + 1;
	kz_status st = einsum_read_term(r, &term);
	if (!st && einsum_peek(r)) {
		st = einsum_unexpected(r, "a letter, '...' or the end");
	}
	if (!st && term.ellipsis == NONE && r->ellipsis_extents) {
		st = error_set(r->err, KZ_INVALID, "einsum: column %zu: the output '%s' has no "
			"ellipsis for the %lld extent%s of the operands' one", column,
			einsum_text(&term).text, (long long)r->ellipsis_extents,
			plural(r->ellipsis_extents));
	}
	for (int64_t i = 0; !st && i <= term.count; i++) {
		if (i == term.ellipsis && (st = einsum_put_ellipsis(r))) {
			break;
		}
		int c = i < term.count ? term.letters[i] : 0;
		if (c && (used[c] || r->counts[c] == 0)) {
			return error_set(r->err, KZ_INVALID, "einsum: column %zu: '%c' %s", column,
				c,
				used[c] ? "is twice in the output"
				: "of the output is in no operand");
		}
		if (c) {
			used[c] = true;
			st = einsum_put(r, c);
		}
	}
	return st;
}

/* Broadcasting: an operand with extent 1 along a label, where others have more, loses that
 * label. */
static void einsum_find_masks(struct einsum *e, kz_arrays arrays)
{
	for (int64_t i = 0; i < e->operand_count; i++) {
		e->masks[i] = 0;
		for (int64_t axis = 0; axis < e->operands[i].ndim; axis++) {
			bool counts = arrays.items[i]->shape.dims[axis] != 1;
			e->masks[i] |= (uint64_t)counts << e->operands[i].labels[axis];
		}
	}
}

kz_status einsum_parse(struct einsum *out, const char *text, kz_arrays arrays, kz_error *err)
{
	struct einsum_reader r = {.text = text, .e = out, .arrays = arrays, .err = err};
	kz_status st;
	memset(r.numbers, NONE, sizeof(r.numbers));
	out->operand_count = arrays.count;
	out->label_count = 0;
	out->output.ndim = 0;
	if ((st = einsum_read_operands(&r))) {
		return st;
	}
	for (int64_t i = 0; i < arrays.count; i++) {
		out->operands[i].ndim = 0;
		if ((st = einsum_bind(&r, i))) {
			return st;
		}
	}
	if (!einsum_peek(&r)) {
		st = einsum_imply_output(&r);
	} else if (einsum_accept(&r, "->")) {
		st = einsum_read_output(&r);
	} else {
		st = einsum_unexpected(&r, "'->'");
	}
	if (!st) {
		einsum_find_masks(out, arrays);
	}
	return st;
}

/* SPDX-License-Identifier: MIT */
/*
 * einsum on every device, against a loop over all labels on the host, and values that numpy gives.
 *
 * Random cases are lists of labels first.  The host computes from the lists, and einsum from the
 * string that is written from them.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/linalg/einsum.h"
#include "operand.h"

/* The last POINTS labels are those of the ellipsis. */
enum { OPERANDS = 12, LABELS = 12, POINTS = 4 };

static kz_op_options options;

/* A case: labels from 0, extents from the last point on. */
struct labels_of {
	int ndim, dotted; /* where the ellipsis begins, -1: none */
	int labels[KZ_MAX_DIMS];
};

struct random_case {
	int count;
	struct labels_of terms[OPERANDS], output;
	int64_t extents[LABELS];
	kz_shape shapes[OPERANDS];
	char names[LABELS];
	struct str text;
};

/* The string */

static void write_term(struct random_case *c, const struct labels_of *term)
{
	for (int i = 0; i <= term->ndim; i++) {
		if (i == term->dotted) {
			str_add(&c->text, draw(8) == 0 ? ". .." : "...");
		}
		if (i < term->ndim && term->labels[i] < LABELS - POINTS) {
			str_addc(&c->text, c->names[term->labels[i]]);
		}
		if (draw(10) == 0) {
			str_addc(&c->text, ' ');
		}
	}
}

static bool has_label(const struct labels_of *term, int label)
{
	for (int i = 0; i < term->ndim; i++) {
		if (term->labels[i] == label) {
			return true;
		}
	}
	return false;
}

/* Put an ellipsis of so many extents before the letters from `at` on. */
static void add_ellipsis(struct labels_of *term, int at, int extents)
{
	memmove(term->labels + at + extents, term->labels + at,
		(size_t)(term->ndim - at) * sizeof(int));
	for (int i = 0; i < extents; i++) {
		term->labels[at + i] = LABELS - extents + i;
	}
	term->ndim += extents;
	term->dotted = at;
}

/* Where the ellipsis is, as a number of letters, must come before its extents are added. */
static void draw_operand(struct random_case *c, int i, int letters, int points)
{
	struct labels_of *term = &c->terms[i];
	kz_shape *shape = &c->shapes[i];
	bool single[LABELS] = {false};
	*term = (struct labels_of){.ndim = draw(5), .dotted = -1};
	for (int k = 0; k < term->ndim; k++) {
		term->labels[k] = draw(letters);
	}
	if (points && draw(3)) {
		add_ellipsis(term, draw(term->ndim + 1), draw(points + 1));
	}
	for (int k = 0; k < LABELS; k++) {
		single[k] = draw(8) == 0;
	}
	shape->ndim = term->ndim;
	for (int k = 0; k < term->ndim; k++) {
		shape->dims[k] = single[term->labels[k]] ? 1 : c->extents[term->labels[k]];
	}
}

/* Labels' extents are those that some operand has; unused ones count as 1. */
static void settle_extents(struct random_case *c)
{
	for (int label = 0; label < LABELS; label++) {
		c->extents[label] = 1;
		for (int i = 0; i < c->count; i++) {
			for (int k = 0; k < c->terms[i].ndim; k++) {
				if (c->terms[i].labels[k] == label && c->shapes[i].dims[k] != 1) {
					c->extents[label] = c->shapes[i].dims[k];
				}
			}
		}
	}
}

static int occurrences(const struct random_case *c, int label)
{
	int count = 0;
	for (int i = 0; i < c->count; i++) {
		for (int k = 0; k < c->terms[i].ndim; k++) {
			count += c->terms[i].labels[k] == label;
		}
	}
	return count;
}

static void draw_output(struct random_case *c, bool implied)
{
	struct labels_of *out = &c->output;
	int points = 0;
	*out = (struct labels_of){.ndim = 0, .dotted = -1};
	while (points < POINTS && occurrences(c, LABELS - 1 - points)) {
		points++;
	}
	for (int name = 0; implied && name < 128; name++) {
		for (int label = 0; label < LABELS - POINTS; label++) {
			if (c->names[label] == name && occurrences(c, label) == 1) {
				out->labels[out->ndim++] = label;
			}
		}
	}
	for (int tries = 0; !implied && tries < 4; tries++) {
		int label = draw(LABELS - POINTS);
		if (occurrences(c, label) && !has_label(out, label)) {
			out->labels[out->ndim++] = label;
		}
	}
	if (points || (!implied && draw(4) == 0)) {
		add_ellipsis(out, implied ? 0 : draw(out->ndim + 1), points);
	}
}

static struct random_case draw_case(int most)
{
	struct random_case c = {.count = 1 + draw(most), .text = STR_INIT};
	int letters = 1 + draw(LABELS - POINTS), points = draw(3);
	const char *alphabet = "aZbYcxJz";
	for (int i = 0; i < LABELS; i++) {
		c.extents[i] = draw(40) == 0 ? 0 : 1 + draw(3);
		c.names[i] = i < LABELS - POINTS ? alphabet[i] : '.';
	}
	for (int i = 0; i < c.count; i++) {
		draw_operand(&c, i, letters, points);
		str_add(&c.text, i ? "," : "");
		write_term(&c, &c.terms[i]);
	}
	settle_extents(&c);
	bool implied = draw(3) == 0;
	draw_output(&c, implied);
	if (!implied) {
		str_add(&c.text, draw(6) == 0 ? "- >" : "->");
		write_term(&c, &c.output);
	}
	return c;
}

/* The reference */

static int64_t place_of(const struct labels_of *term, const kz_shape *shape, const int64_t *index)
{
	int64_t at = 0;
	for (int i = 0; i < term->ndim; i++) {
		at = at * shape->dims[i] + (shape->dims[i] == 1 ? 0 : index[term->labels[i]]);
	}
	return at;
}

static double complex *evaluate(kz_shape *shape, const struct random_case *c,
	const struct operand *operands)
{
	int64_t index[LABELS] = {0};
	bool empty = false;
	shape->ndim = c->output.ndim;
	for (int i = 0; i < c->output.ndim; i++) {
		shape->dims[i] = c->extents[c->output.labels[i]];
	}
	double complex *out = calloc((size_t)support_count(shape) + 1, sizeof(*out));
	for (int i = 0; i < LABELS; i++) {
		empty = empty || c->extents[i] == 0;
	}
	for (int label = 0; !empty && label >= 0;) {
		double complex product = 1;
		for (int i = 0; i < c->count; i++) {
			product *= operands[i].host[place_of(&c->terms[i], &c->shapes[i], index)];
		}
		out[place_of(&c->output, shape, index)] += product;
		for (label = LABELS - 1; label >= 0 && ++index[label] == c->extents[label];
			label--) {
			index[label] = 0;
		}
	}
	return out;
}

/* Mostly one type: each type needs kernels of its own. */
static kz_dtype draw_dtype(void)
{
	static const kz_dtype others[] = {KZ_BOOL, KZ_I8, KZ_U16, KZ_F16, KZ_F32, KZ_C64};
	return draw(3) ? KZ_F64 : others[draw(countof(others))];
}

static void try_case(const struct random_case *c, bool mixed)
{
	struct operand operands[OPERANDS];
	kz_array *arrays[OPERANDS], *got;
	kz_dtype dtype = draw_dtype(), common = 0;
	kz_shape shape;
	char what[200];
	int used = snprintf(what, sizeof(what), "'%s'", c->text.data ? c->text.data : "");
	for (int i = 0; i < c->count; i++) {
		kz_dtype own = mixed ? draw_dtype() : dtype;
		common = i ? kz_dtype_promote(common, own) : own;
		operands[i] = operand_make(own, c->shapes[i], (enum layout_kind)draw(LAYOUTS));
		arrays[i] = operands[i].array;
		used += snprintf(what + used, sizeof(what) - (size_t)used, " %s(",
			kz_dtype_name(own));
		for (int k = 0; k < c->shapes[i].ndim && used < 150; k++) {
			used += snprintf(what + used, sizeof(what) - (size_t)used, "%lld,",
				(long long)c->shapes[i].dims[k]);
		}
		used = used < 150 ? used : 150;
	}
	double complex *want = evaluate(&shape, c, operands);
	kz_status st = kz_einsum(&got, c->text.data ? c->text.data : "",
		(kz_arrays){arrays, c->count}, NULL, &err);
	ck_assert_msg(!st, "%s: %s", what, err.message);
	operand_expect(got, common, &shape, want, what);
	kz_array_release(got);
	free(want);
	for (int i = 0; i < c->count; i++) {
		operand_free(&operands[i]);
	}
}

static double work_of(const struct random_case *c)
{
	double work = 1;
	for (int i = 0; i < LABELS; i++) {
		work *= (double)c->extents[i];
	}
	return work * c->count;
}

DEVICE_TEST(random_subscripts_give_what_a_loop_over_all_labels_gives)
{
	int rounds = support_how_many(3000, 6, 3);
	for (int round = 0; round < rounds; round++) {
		state = (uint32_t)round;
		struct random_case c = draw_case(round % 20 == 0 ? 10 : 4);
		if (work_of(&c) < 1e5) {
			try_case(&c, round % 6 == 0);
		}
		str_free(&c.text);
	}
}

/* Values of numpy 2.4, of arrays that numpy.arange fills. */

static kz_array *counted(kz_dtype dtype, kz_shape shape)
{
	kz_array *all, *array;
	ok(kz_arange(&all, dev, dtype, 0, support_count(&shape), 1, &err));
	ok(kz_array_reshape(&array, all, shape, &err));
	kz_array_release(all);
	return array;
}

static void expect(kz_array *got, kz_dtype dtype, kz_shape shape, const double *want)
{
	double complex numbers[64];
	for (int64_t i = 0; i < support_count(&shape); i++) {
		numbers[i] = want[i];
	}
	operand_expect(got, dtype, &shape, numbers, "values");
	kz_array_release(got);
}

static const struct {
	const char *text;
	kz_shape shape;
	double want[12];
} of_one[] = {
	{"ij", {2, {3, 3}}, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
	{"ba", {2, {3, 3}}, {0, 3, 6, 1, 4, 7, 2, 5, 8}},
	{"ii", {0, {0}}, {12}},
	{"ii->i", {1, {3}}, {0, 4, 8}},
	{"ij->", {0, {0}}, {36}},
	{"ij->j", {1, {3}}, {9, 12, 15}},
	{"...", {2, {3, 3}}, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
	{"i...->...", {1, {3}}, {9, 12, 15}},
	{"i...->...i", {2, {3, 3}}, {0, 3, 6, 1, 4, 7, 2, 5, 8}},
	{"...ij->ji...", {2, {3, 3}}, {0, 3, 6, 1, 4, 7, 2, 5, 8}},
	{"Ab", {2, {3, 3}}, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
	{"bA", {2, {3, 3}}, {0, 3, 6, 1, 4, 7, 2, 5, 8}},
	{" i . . . - > i . . . ", {2, {3, 3}}, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
};

DEVICE_TEST(one_operand_gives_what_numpy_gives)
{
	kz_array *a = counted(KZ_F64, KZ_SHAPE(3, 3)), *got;
	for (size_t i = 0; i < countof(of_one); i++) {
		ok(kz_einsum(&got, of_one[i].text, KZ_ARRAYS(a), NULL, &err));
		ck_assert_ptr_ne(kz_array_buffer(got), kz_array_buffer(a));
		expect(got, KZ_F64, of_one[i].shape, of_one[i].want);
	}
	kz_array_release(a);
}

/* a = numpy.arange(6).reshape(2, 3), b = numpy.arange(12).reshape(3, 4) */
DEVICE_TEST(several_operands_give_what_numpy_gives)
{
	kz_array *a = counted(KZ_I32, KZ_SHAPE(2, 3)), *b = counted(KZ_F64, KZ_SHAPE(3, 4)), *got;
	kz_array *two = counted(KZ_I8, KZ_SHAPE()), *row;
	ok(kz_array_view(&row, a, KZ_SHAPE(3), NULL, 0, &err));
	ok(kz_einsum(&got, "ij,jk", KZ_ARRAYS(a, b), NULL, &err));
	expect(got, KZ_F64, KZ_SHAPE(2, 4), (const double[]){20, 23, 26, 29, 56, 68, 80, 92});
	ok(kz_einsum(&got, "ij,jk->ki", KZ_ARRAYS(a, b), NULL, &err));
	expect(got, KZ_F64, KZ_SHAPE(4, 2), (const double[]){20, 56, 23, 68, 26, 80, 29, 92});
	ck_assert(kz_einsum(&got, "ij,jk->ki", KZ_ARRAYS(a, b), NULL, &err) == KZ_OK
		&& kz_array_is_contiguous(got));
	kz_array_release(got);
	ok(kz_einsum(&got, "ij,ij->i", KZ_ARRAYS(a, a), NULL, &err));
	expect(got, KZ_I32, KZ_SHAPE(2), (const double[]){5, 50});
	ok(kz_einsum(&got, "i,,j", KZ_ARRAYS(row, two, row), NULL, &err));
	expect(got, KZ_I32, KZ_SHAPE(3, 3), (const double[]){0, 0, 0, 0, 0, 0, 0, 0, 0});
	ok(kz_einsum(&got, ",", KZ_ARRAYS(two, two), NULL, &err));
	expect(got, KZ_I8, KZ_SHAPE(), (const double[]){0});
	ok(kz_einsum(&got, "", KZ_ARRAYS(two), NULL, &err));
	expect(got, KZ_I8, KZ_SHAPE(), (const double[]){0});
	ok(kz_einsum(&got, "ij,ij,jk->", KZ_ARRAYS(a, a, b), NULL, &err));
	expect(got, KZ_F64, KZ_SHAPE(), (const double[]){1530});
	release_arrays(a, b, two, row);
}

/* Types and targets */

/* numpy 2.4: np.einsum("i->", np.array([100, 100], np.int8)) is -56. */
DEVICE_TEST(integers_wrap_and_halves_are_rounded_once)
{
	const double hundreds[2] = {100, 100}, halves[3] = {2048, 1, 1};
	kz_array *doubles, *a, *h, *one, *got;
	options = (kz_op_options)KZ_OP_OPTIONS_INIT;
	ok(kz_array_from(&doubles, dev, KZ_F64, KZ_SHAPE(2), hundreds, 16, &err));
	ok(kz_array_astype(&a, doubles, KZ_I8, &err));
	kz_array_release(doubles);
	ok(kz_array_from(&doubles, dev, KZ_F64, KZ_SHAPE(3), halves, 24, &err));
	ok(kz_array_astype(&h, doubles, KZ_F16, &err));
	ok(kz_array_ones(&one, dev, KZ_F16, KZ_SHAPE(), &err));
	ok(kz_einsum(&got, "i->", KZ_ARRAYS(a), NULL, &err));
	expect(got, KZ_I8, KZ_SHAPE(), (const double[]){-56});
	ok(kz_einsum(&got, "i,i->", KZ_ARRAYS(a, a), NULL, &err));
	expect(got, KZ_I8, KZ_SHAPE(), (const double[]){32});
	options.dtype = KZ_I16;
	ok(kz_einsum(&got, "i->", KZ_ARRAYS(a), &options, &err));
	expect(got, KZ_I16, KZ_SHAPE(), (const double[]){200});
	ok(kz_einsum(&got, "i,i->i", KZ_ARRAYS(a, a), &options, &err));
	expect(got, KZ_I16, KZ_SHAPE(2), (const double[]){10000, 10000});
	ok(kz_einsum(&got, "i->", KZ_ARRAYS(h), NULL, &err));
	expect(got, KZ_F16, KZ_SHAPE(), (const double[]){2050});
	ok(kz_einsum(&got, "i,,->", KZ_ARRAYS(h, one, one), NULL, &err));
	expect(got, KZ_F16, KZ_SHAPE(), (const double[]){2050});
	release_arrays(a, h, one, doubles);
}

/* Each kind of contraction into an array, whose memory an operand has: its axes in another order,
 * an extent of 1, another type. */
DEVICE_TEST(results_go_into_arrays)
{
	kz_array *a = counted(KZ_F64, KZ_SHAPE(2, 2)), *turned, *wide, *got;
	options = (kz_op_options)KZ_OP_OPTIONS_INIT;
	ok(kz_array_transpose(&turned, a, KZ_AXES(), &err));
	options.into = turned;
	ok(kz_einsum(NULL, "ij,jk->ik", KZ_ARRAYS(a, a), &options, &err));
	expect(kz_array_retain(a), KZ_F64, KZ_SHAPE(2, 2), (const double[]){2, 6, 3, 11});
	ok(kz_einsum(&got, "ij,ij->ij", KZ_ARRAYS(a, a), &options, &err));
	ck_assert_ptr_eq(got, turned);
	expect(got, KZ_F64, KZ_SHAPE(2, 2), (const double[]){4, 36, 9, 121});
	expect(kz_array_retain(a), KZ_F64, KZ_SHAPE(2, 2), (const double[]){4, 9, 36, 121});
	ok(kz_einsum(NULL, "ij->ji", KZ_ARRAYS(turned), &options, &err));
	expect(kz_array_retain(a), KZ_F64, KZ_SHAPE(2, 2), (const double[]){4, 36, 9, 121});
	ok(kz_array_zeros(&wide, dev, KZ_C128, KZ_SHAPE(2, 1, 2), &err));
	kz_array *middle;
	ok(kz_array_expand(&middle, a, KZ_AXES(1), &err));
	options.into = wide;
	ok(kz_einsum(NULL, "ixj,jxk->kxi", KZ_ARRAYS(middle, middle), &options, &err));
	expect(wide, KZ_C128, KZ_SHAPE(2, 1, 2), (const double[]){340, 36 + 1089, 144 + 36 * 121,
		324 + 121 * 121});
	release_arrays(a, turned, middle);
}

/* Mistakes */

static const struct {
	const char *text, *message;
} malformed[] = {
	{"i1,jk", "einsum: column 2: expected a letter, '...', ',' or '->', got '1'"},
	{"ij,j\tk", "column 5: expected a letter, '...', ',' or '->', got byte 0x9"},
	{"ij,j\xc3\xa9", "column 5: expected a letter, '...', ',' or '->', got byte 0xc3"},
	{"ij,jk-", "column 6: expected '->', got '-'"},
	{"ij,jk->i->k", "column 9: expected a letter, '...' or the end, got '-'"},
	{"ij,jk->i,k", "column 9: expected a letter, '...' or the end, got ','"},
	{"ij,jk>i", "column 6: expected a letter, '...', ',' or '->', got '>'"},
	{"ij,jk->ii", "column 8: 'i' is twice in the output"},
	{"ij,jk->ix", "column 8: 'x' of the output is in no operand"},
	{"ij", "einsum: expected 1 operand, one for each term, got 2"},
	{"ij,jk,kl", "einsum: expected 3 operands, one for each term, got 2"},
	{",,,,,,,,,,,,", "expected 13 operands"},
	{"", "expected 1 operand, one for each term, got 2"},
	{"ij,ijk", "einsum: operand 1 has 2 extents, 'ijk' names 3"},
	{"i,jk", "einsum: operand 0 has 2 extents, 'i' names 1"},
	{"ij,jkl...", "operand 1 has 2 extents, 'jkl...' names 3 or more"},
	{"..ij,jk", "column 1: expected an ellipsis of three points, got '.'"},
	{"ij.,jk", "column 3: expected an ellipsis of three points, got '.'"},
	{"i...j...,jk", "column 6: a second ellipsis in one term"},
	{"....ij,jk", "column 4: a second ellipsis in one term"},
	{"ij,j...->i", "column 10: the output 'i' has no ellipsis for the 1 extent of the "
		"operands' one"},
	{"ij,kj",
		"einsum: 'j' is 3 in operand 0 of shape (2, 3) and 4 in operand 1 of shape (3, 4)"},
	{"i...,...", "einsum: '...' is 3 in operand 0 of shape (2, 3) and 4 in operand 1 of shape "
		"(3, 4)"},
	{"ii,jk", "einsum: 'i' is both 2 and 3 in operand 0 of shape (2, 3)"},
	{"abcdefghijklmnopq,jk", "column 17: arrays have at most 16 extents"},
	{"ij,jk->abcdefghijklmnopq", "column 24: arrays have at most 16 extents"},
};

DEVICE_TEST(malformed_subscripts_are_refused_with_the_column)
{
	kz_array *a = counted(KZ_F32, KZ_SHAPE(2, 3)), *b = counted(KZ_F32, KZ_SHAPE(3, 4));
	for (size_t i = 0; i < countof(malformed); i++) {
		kz_array *got = a;
		fails(kz_einsum(&got, malformed[i].text, KZ_ARRAYS(a, b), NULL, &err), KZ_INVALID,
			malformed[i].message);
		ck_assert_ptr_null(got);
		fails(kz_einsum_path(NULL, 0, NULL, malformed[i].text, KZ_ARRAYS(a, b), &err),
			KZ_INVALID, malformed[i].message);
	}
	release_arrays(a, b);
}

/* Any byte at any place of a good string, and strings of random bytes of the grammar. */
DEVICE_TEST(any_bytes_are_read_without_harm)
{
	static const char grammar[] = "ijkA...,,->-> .";
	kz_array *a = counted(KZ_F32, KZ_SHAPE(2, 2)), *b = counted(KZ_F32, KZ_SHAPE(2, 2));
	for (int round = 0; round < 9 * 255 + 3000; round++) {
		char text[64] = "ij,jk->ik";
		if (round < 9 * 255) {
			text[round / 255] = (char)(round % 255 + 1);
		} else {
			int length = draw(63);
			for (int i = 0; i < length; i++) {
				text[i] = draw(20) ? grammar[draw(sizeof(grammar) - 1)]
					: (char)(draw(255) + 1);
			}
			text[length] = '\0';
		}
		int64_t length;
		kz_status st = kz_einsum_path(NULL, 0, &length, text, KZ_ARRAYS(a, b), &err);
		ck_assert(st == KZ_OK ? length > 0 : st == KZ_INVALID
			&& strncmp(err.message, "kz_einsum_path: ", 16) == 0);
		kz_error_clear(&err);
	}
	release_arrays(a, b);
}

DEVICE_TEST(operands_and_options_that_do_not_fit_are_refused)
{
	kz_array *a = counted(KZ_F32, KZ_SHAPE(2, 3)), *got = NULL, *bools, *structs, *many[65];
	kz_dtype point;
	options = (kz_op_options)KZ_OP_OPTIONS_INIT;
	ok(kz_dtype_register(&point, "struct einsum_point", 8, &err));
	ok(kz_array_zeros(&structs, dev, point, KZ_SHAPE(2), &err));
	ok(kz_array_zeros(&bools, dev, KZ_BOOL, KZ_SHAPE(2), &err));
	for (int i = 0; i < 65; i++) {
		many[i] = a;
	}
	fails(kz_einsum(&got, NULL, KZ_ARRAYS(a), NULL, &err), KZ_INVALID, "expected subscripts");
	fails(kz_einsum(&got, "ij", (kz_arrays){many, 65}, NULL, &err), KZ_INVALID,
		"einsum: expected 1 to 64 operands, got 65");
	fails(kz_einsum(&got, "", (kz_arrays){NULL, 0}, NULL, &err), KZ_INVALID, "got 0");
	fails(kz_einsum(&got, "ij,i", KZ_ARRAYS(a, NULL), NULL, &err), KZ_INVALID,
		"expected an array, got NULL");
	fails(kz_einsum(&got, "ij,i", KZ_ARRAYS(a, structs), NULL, &err), KZ_INVALID,
		"einsum does not take float32 and struct einsum_point");
	fails(kz_einsum(NULL, "ij", KZ_ARRAYS(a), NULL, &err), KZ_INVALID, "out is NULL");
	options.into = bools;
	fails(kz_einsum(&got, "ij->i", KZ_ARRAYS(a), &options, &err), KZ_INVALID,
		"einsum gives float32, which does not fit into bool");
	fails(kz_einsum(&got, "ij", KZ_ARRAYS(a), &options, &err), KZ_INVALID,
		"einsum gives shape (2, 3), which does not fit into (2,)");
	ck_assert_ptr_null(got);
	release_arrays(a, bools, structs);
}

DEVICE_TEST(what_needs_too_many_extents_or_labels_is_refused)
{
	kz_array *one, *ones, *twos, *got = NULL;
	kz_shape shape = {.ndim = 16};
	for (int i = 0; i < 16; i++) {
		shape.dims[i] = 2;
	}
	ok(kz_array_ones(&one, dev, KZ_F32, KZ_SHAPE(), &err));
	ok(kz_array_broadcast_to(&twos, one, shape, &err));
	fails(kz_einsum(&got, "abcdefghijklmnop,...->...ab", KZ_ARRAYS(twos, twos), NULL, &err),
		KZ_INVALID, "einsum: the output has more than 16 extents");
	fails(kz_einsum(&got, "abcdefghijklmnop,qrstuvwxyzABCDEF,GHIJKLMNOPQRSTUV,"
		"WXYZabcdefghijkl,...->", KZ_ARRAYS(twos, twos, twos, twos, twos), NULL, &err),
		KZ_UNSUPPORTED, "einsum: more than 64 labels");
	/* Four operands, each two of which share five labels. */
	shape.ndim = 15;
	ok(kz_array_broadcast_to(&ones, one, shape, &err));
	fails(kz_einsum(&got, "abcdefghijklmno,abcdepqrstuvwxy,fghijpqrstzABCD,klmnouvwxyzABCD->",
		KZ_ARRAYS(ones, ones, ones, ones), NULL, &err), KZ_UNSUPPORTED,
		"needs an array of more than 16 extents");
	ck_assert_ptr_null(got);
	/* Sixteen in both operands are fine. */
	ok(kz_einsum(&got, "abcdefghijklmnop,abcdefghijklmnop->", KZ_ARRAYS(twos, twos), NULL,
		&err));
	expect(got, KZ_F32, KZ_SHAPE(), (const double[]){65536});
	release_arrays(one, ones, twos);
}

/* The order of contractions */

/* The lowest cost of all orders, by trying them. */
static double try_orders(const struct einsum *e, uint64_t *masks, int count, uint64_t output)
{
	double best = count == 1 ? 0 : INFINITY;
	for (int a = 0; a < count; a++) {
		for (int b = a + 1; b < count; b++) {
			uint64_t rest[8], others = output;
			int left = 0;
			for (int i = 0; i < count; i++) {
				if (i != a && i != b) {
					others |= masks[i];
					rest[left++] = masks[i];
				}
			}
			uint64_t both = masks[a] | masks[b], result = both & others;
			double cost = both & ~others ? 2 : 1, size = 1;
			for (int label = 0; label < e->label_count; label++) {
				double extent = (double)e->extents[label];
				cost *= both >> label & 1 ? extent : 1;
				size *= result >> label & 1 ? extent : 1;
			}
			rest[left++] = result;
			best = fmin(best, cost + size + try_orders(e, rest, left, output));
		}
	}
	return best;
}

DEVICE_TEST(the_order_is_the_best_one)
{
	static const char *const texts[] = {"ij,jk,kl,lm->im", "ab,bc,cd,da->", "ab,cd,ef->bdf",
		"abc,bd,dce,ef,fg->ag", "i,j,k,ij,jk->", "abc,abd,acd->bcd"};
	for (int round = 0; round < 60; round++) {
		const char *text = texts[round % 6];
		kz_array *arrays[8];
		kz_arrays list = {arrays, 0};
		int64_t extents[128];
		uint64_t masks[8], output = 0;
		struct einsum e;
		struct einsum_path path;
		double cost = 0;
		state = (uint32_t)round;
		for (int i = 0; i < 128; i++) {
			extents[i] = 2 + draw(30);
		}
		for (const char *at = text; *at != '-'; list.count++) {
			kz_shape shape = {.ndim = 0};
			for (; *at >= 'a'; at++) {
				shape.dims[shape.ndim++] = extents[(int)*at];
			}
			at += *at == ',';
			ok(kz_array_create(&arrays[list.count], dev, KZ_I8, shape, &err));
		}
		ok(einsum_parse(&e, text, list, &err));
		ok(einsum_find_path(&path, &e, &err));
		ck_assert_int_eq(path.count, list.count - 1);
		memcpy(masks, path.masks, sizeof(masks));
		for (int64_t i = 0; i < e.output.ndim; i++) {
			output |= UINT64_C(1) << e.output.labels[i];
		}
		for (int i = 0; i < path.count; i++) {
			cost += path.steps[i].cost;
		}
		ck_assert_double_eq_tol(cost, try_orders(&e, masks, (int)list.count, output),
			1e-9 * cost);
		support_release_arrays(arrays, (size_t)list.count);
	}
}

/* A chain of ten matrices between two vectors costs ten vectors, whatever the extents. */
DEVICE_TEST(many_operands_are_contracted_greedily)
{
	kz_array *arrays[12], *got;
	char text[100] = "a", buffer[2000];
	int64_t length;
	for (int i = 0; i < 12; i++) {
		ok(kz_array_ones(&arrays[i], dev, KZ_F64, i == 0 || i == 11 ? KZ_SHAPE(50)
			: KZ_SHAPE(50, 50), &err));
		if (i && i < 11) {
			snprintf(text + strlen(text), 10, ",%c%c", 'a' + i - 1, 'a' + i);
		}
	}
	strcat(text, ",k->");
	ok(kz_einsum_path(buffer, sizeof(buffer), &length, text, (kz_arrays){arrays, 12}, &err));
	ck_assert_int_eq(length, (int64_t)strlen(buffer));
	ck_assert_msg(strstr(buffer, "the largest result has 50 elements\n") != NULL, "%s", buffer);
	ok(kz_einsum(&got, text, (kz_arrays){arrays, 12}, NULL, &err));
	expect(got, KZ_F64, KZ_SHAPE(), (const double[]){pow(50, 11)});
	support_release_arrays(arrays, 12);
}

DEVICE_TEST(the_path_is_a_text)
{
	kz_array *a = counted(KZ_F32, KZ_SHAPE(10, 20)), *b = counted(KZ_F32, KZ_SHAPE(20, 30));
	kz_array *c = counted(KZ_F32, KZ_SHAPE(30));
	char text[400];
	int64_t length;
	ok(kz_einsum_path(text, sizeof(text), &length, "...j,jk,k->...", KZ_ARRAYS(a, b, c), &err));
	ck_assert_str_eq(text, "1.63e+03 operations in steps, 1.8e+04 in one loop; the largest "
		"result has 20 elements\n"
		"3 = 1, 2: jk,k->j, 1.22e+03 operations\n"
		"4 = 0, 3: ...j,j->..., 410 operations\n");
	ck_assert_int_eq(length, (int64_t)strlen(text));
	ok(kz_einsum_path(text, 5, &length, "...j,jk,k->...", KZ_ARRAYS(a, b, c), &err));
	ck_assert_str_eq(text, "1.63");
	ck_assert_int_gt(length, 100);
	ok(kz_einsum_path(text, sizeof(text), NULL, "ij", KZ_ARRAYS(a), &err));
	ck_assert_str_eq(text, "0 operations in steps, 400 in one loop; the largest result has 0 "
		"elements\n");
	release_arrays(a, b, c);
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	state = 11;
	struct operand a = operand_make(KZ_F16, KZ_SHAPE(3, 4, 2), TURNED);
	struct operand b = operand_make(KZ_F32, KZ_SHAPE(5, 2, 3), GAPS);
	static const char *const texts[] = {"ijk,lki,jk->jl", "ijk,lki,aaa->", "ijk,lki,ijk->ijl"};
	for (size_t which = 0; which < countof(texts); which++) {
		int failed = 0;
		struct operand c = operand_make(KZ_F16, which == 0 ? KZ_SHAPE(4, 2)
			: which == 1 ? KZ_SHAPE(2, 2, 2) : KZ_SHAPE(3, 4, 1), BACKWARDS);
		for (long n = 0;; n++) {
			kz_array *z = NULL;
			mem_fail_after(n);
			kz_status st = kz_einsum(&z, texts[which],
				KZ_ARRAYS(a.array, b.array, c.array), NULL, &err);
			bool done = !mem_has_failed();
			mem_fail_after(-1);
			ck_assert(done ? st == KZ_OK : st != KZ_OK || z);
			ck_assert(!st == !!z);
			failed += st != KZ_OK;
			kz_error_clear(&err);
			kz_array_release(z);
			if (done) {
				break;
			}
		}
		ck_assert_int_gt(failed, 3);
		operand_free(&c);
	}
	operand_free(&a);
	operand_free(&b);
}

SUITE(einsum)
{
	Suite *suite = suite_create("einsum");
	TCase *tcase = suite_add_case(suite, "einsum");
	int devices = both_shapes_count();
	tcase_add_tests(tcase, devices, random_subscripts_give_what_a_loop_over_all_labels_gives,
		one_operand_gives_what_numpy_gives, several_operands_give_what_numpy_gives,
		integers_wrap_and_halves_are_rounded_once, results_go_into_arrays,
		malformed_subscripts_are_refused_with_the_column,
		any_bytes_are_read_without_harm, operands_and_options_that_do_not_fit_are_refused,
		what_needs_too_many_extents_or_labels_is_refused, the_order_is_the_best_one,
		many_operands_are_contracted_greedily, the_path_is_a_text,
		a_failing_allocation_leaves_nothing_behind);
	return suite;
}

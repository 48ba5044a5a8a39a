/* SPDX-License-Identifier: MIT */
/*
 * Every form of the value instructions (forms.def) against its reference in C: all pairs of special
 * operands and some thousands of random ones, with each width of the generator.  A kernel holds
 * many forms; thread i runs them all on the i-th operands.
 *
 * The last test reads ptx.def: an instruction that the tests do not name fails it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strchrnul */
#endif
#include "base/common.h"

#include "cpu/support/api.h"
#include "cpu/support/driver.h"
#include "forms.h"
#include "forms_ref.h"

#include "base/str.h"
#include "cpu/ptx/ptx.h"
#include "support/count.h"
#include "support/suite.h"

#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VECTORS = 4096, BLOCK = 128, CHUNK = 32 };

static const char *const widths[] = {"1", "32"};

const struct form_row form_rows[] = {
#define X(operands, pattern, reference) {operands, pattern, reference},
#include "forms.def"
#undef X
};

const size_t form_row_count = countof(form_rows);

static const uint64_t int_values[] = {
	0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7fff, 0x8000,
	0xffff, 0x7fffff, 0x800000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
	0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffffe,
	0x3210765489abcdef, 0x9e3779b97f4a7c15, 0x00ff00ff00ff1234, 0xffffff7fffffffff,
};

static const float f32_values[] = {
	0.0f, -0.0f, 1.0f, -1.0f, 0x1p-149f, -0x1p-149f, 0x0.fffffep-126f, 0x1p-126f, -0x1p-126f,
	0x1.8p-130f, 0x1.fffffep127f, -0x1.fffffep127f, INFINITY, -INFINITY, NAN, 0.5f, 1.5f, 2.5f,
	-0.5f, -1.5f, -0.7f, 0x1.555556p-2f, 0x1.000002p0f, 0x1.fffffep-1f, 16777217.0f, 3e9f,
	-3e9f, 2147483648.0f, 2147483520.0f, -2147483648.0f, 4294967296.0f, 9223372036854775808.0f,
	1e20f, 127.5f, 128.5f, 255.5f, 32767.5f, 65535.5f, 0x1.234566p-60f, -0x1.fedcbap60f,
};

static const double f64_values[] = {
	0.0, -0.0, 1.0, -1.0, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0x0.fffffffffffffp-1022, 0x1p-1021,
	0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023, INFINITY, -INFINITY, NAN, 0.5, 1.5, 2.5,
	-0.5, -1.5, 1.0 / 3, 0x1.0000000000001p0, 0x1.fffffffffffffp-1, 2147483647.5, -2147483648.5,
	4294967295.5, 0x1p63, -0x1p63, 0x1p64, 0x1.fffffefp127, 0x1.ffffffp127, 0x1.000001p0,
	0x1.0000010000001p0, 0x1p-150, 0x1.8p-149, 0x1p-126, 0x1.fffffep-127, 127.5, 255.5, 32767.5,
	65535.5,
};

static uint64_t random_state;

static uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1d;
}

/* A special operand for a type, by index modulo their number. */
static uint64_t special(struct form_type type, size_t i)
{
	if (type.kind == 'f' && type.bits == 32) {
		return bits_of_f32(f32_values[i % countof(f32_values)]) | random_bits() << 32;
	}
	return type.kind == 'f' ? bits_of_f64(f64_values[i % countof(f64_values)])
		: int_values[i % countof(int_values)];
}

/* Random: special, any bits, or (floats) near 1, so that sums cancel and round. */
static uint64_t random_operand(struct form_type type)
{
	uint64_t bits = random_bits();
	unsigned choice = (unsigned)(bits >> 40) % 8;
	if (choice < 2) {
		return special(type, (size_t)(bits >> 8) % 64);
	}
	if (choice < 5 && type.kind == 'f') {
		return type.bits == 32 ? (bits & 0x87ffffff) | 0x38000000 | bits << 32
			: (bits & 0x80ffffffffffffff) | 0x3f00000000000000;
	}
	return type.kind == 'f' || choice < 6 ? bits : bits >> (bits & 63);
}

static void fill(struct operands in[VECTORS], struct form_type type)
{
	enum { PAIRS = 40 * 40 };
	random_state = 88172645463325252;
	for (size_t i = 0; i < VECTORS; i++) {
		for (size_t k = 0; k < 4; k++) {
			in[i].v[k] = random_operand(type);
		}
		if (i < PAIRS) {
			in[i].v[0] = special(type, i % 40);
			in[i].v[1] = special(type, i / 40);
		}
	}
}

/* The bank of registers for a type: as PTX allows, at least 16 bits. */
static char bank(struct form_type type)
{
	if (type.kind == 'f') {
		return type.bits == 32 ? 'f' : 'g';
	}
	return type.kind == 'p' ? 'p' : type.bits == 16 ? 'h' : type.bits == 64 ? 'd' : 'r';
}

static char letter_bank(const struct form *form, char letter)
{
	struct form_type last = form->last;
	switch (letter) {
	case 'T':
		return bank(last);
	case 'D':
		return bank(form->first);
	case 'W':
		return bank((struct form_type){last.kind, 2 * last.bits});
	case 'q':
		return 'p';
	default:
		return letter;
	}
}

static bool combines(const char *opcode)
{
	return form_has(opcode, "and") || form_has(opcode, "or") || form_has(opcode, "xor");
}

/* "add.s32 %r0, %r1, %r2;" */
static void print_form(char *out, size_t size, const struct form *form)
{
	const char *suffix = strchr(form->opcode, '|');
	int length = (int)strcspn(form->opcode, "|");
	size_t at = (size_t)snprintf(out, size, "%.*s %%%c0", length, form->opcode,
		letter_bank(form, form->operands[0]));
	for (size_t i = 1; form->operands[i]; i++) {
		if (form->operands[i] != 'q' || combines(form->opcode)) {
			at += (size_t)snprintf(out + at, size - at, ", %%%c%zu",
				letter_bank(form, form->operands[i]), i);
		}
	}
	snprintf(out + at, size - at, "%s%s;", suffix ? ", " : "", suffix ? suffix + 1 : "");
}

static const char *store_of(char from)
{
	switch (from) {
	case 'p':
		return "selp.u64 %d0, 1, 0, %p0;";
	case 'h':
		return "cvt.u64.u16 %d0, %h0;";
	case 'r':
		return "cvt.u64.u32 %d0, %r0;";
	case 'f':
		return "mov.b32 %r0, %f0; cvt.u64.u32 %d0, %r0;";
	case 'g':
		return "mov.b64 %d0, %g0;";
	default:
		return "";
	}
}

/* Kernel k: operands at [in] by thread, results at [out] by form and thread. */
static char *kernel_text(const struct form *forms, size_t count)
{
	static char text[64 * 1024];
	char line[200];
	size_t at = (size_t)snprintf(text, sizeof(text),
		".visible .entry k(.param .u64 in, .param .u64 out) {\n"
		".reg .b16 %%h<5>; .reg .b32 %%r<6>; .reg .b64 %%d<5>; .reg .pred %%p<5>;\n"
		".reg .f32 %%f<5>; .reg .f64 %%g<5>; .reg .b64 %%x<4>;\n"
		"ld.param.u64 %%x0, [in]; ld.param.u64 %%x1, [out];\n"
		"mov.u32 %%r0, %%ctaid.x; mov.u32 %%r1, %%tid.x; mad.lo.u32 %%r0, %%r0, %d, %%r1;\n"
		"mul.wide.u32 %%x2, %%r0, 32; add.u64 %%x0, %%x0, %%x2;\n"
		"mul.wide.u32 %%x2, %%r0, 8; add.u64 %%x1, %%x1, %%x2;\n", BLOCK);
	for (int r = 1; r <= 4; r++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at,
			"ld.global.u64 %%d%d, [%%x0+%d];\n"
			"mov.b64 %%g%d, %%d%d; cvt.u32.u64 %%r%d, %%d%d;\n"
			"cvt.u16.u64 %%h%d, %%d%d; mov.b32 %%f%d, %%r%d;\n"
			"and.b32 %%r5, %%r%d, 1; setp.ne.u32 %%p%d, %%r5, 0;\n",
			r, 8 * r - 8, r, r, r, r, r, r, r, r, r, r);
	}
	for (size_t i = 0; i < count; i++) {
		print_form(line, sizeof(line), &forms[i]);
		at += (size_t)snprintf(text + at, sizeof(text) - at,
			"%s\n%s st.global.u64 [%%x1+%zu], %%d0;\n", line,
			store_of(letter_bank(&forms[i], forms[i].operands[0])),
			i * VECTORS * sizeof(uint64_t));
	}
	at += (size_t)snprintf(text + at, sizeof(text) - at, "ret;\n}\n");
	ck_assert_uint_lt(at, sizeof(text));
	return text;
}

/* The result as the kernel stores it. */
static uint64_t stored(const struct form *form, uint64_t result)
{
	switch (letter_bank(form, form->operands[0])) {
	case 'p':
		return result & 1;
	case 'h':
		return result & 0xffff;
	case 'r':
	case 'f':
		return result & 0xffffffff;
	default:
		return result;
	}
}

static bool is_same(const struct form *form, uint64_t a, uint64_t b)
{
	char from = letter_bank(form, form->operands[0]);
	return a == b || (from == 'f' && isnan(f32_of(a)) && isnan(f32_of(b)))
		|| (from == 'g' && isnan(f64_of(a)) && isnan(f64_of(b)));
}

/* What is wrong, a line for each form. */
static struct str wrong = STR_INIT;

static void check_results(const struct form *form, const struct form_row *row,
	const struct operands in[VECTORS], const uint64_t got[VECTORS])
{
	for (size_t i = 0; i < VECTORS; i++) {
		bool any = false;
		uint64_t want = stored(form, row->reference(form, &in[i], &any));
		const uint64_t *v = in[i].v;
		if (any || is_same(form, got[i], want)) {
			continue; /* Check writes to a file at each assertion */
		}
		str_addf(&wrong, "%s of %#llx, %#llx, %#llx, %#llx: got %#llx, expected %#llx\n",
			form->opcode, (unsigned long long)v[0], (unsigned long long)v[1],
			(unsigned long long)v[2], (unsigned long long)v[3],
			(unsigned long long)got[i], (unsigned long long)want);
		return;
	}
}

/* Where all values fit, PTX has no .sat; our parser does not mind. */
static bool is_needless(const struct form *form)
{
	struct form_type to = form->first, from = form->last;
	bool fits = from.kind == to.kind ? to.bits >= from.bits : to.kind == 's'
		&& to.bits > from.bits;
	return strncmp(form->opcode, "cvt.sat.", 8) == 0 && to.kind != 'f' && fits;
}

static void run_chunk(const struct form *forms, size_t count, const struct form_row *row,
	const struct operands in[VECTORS], CUdeviceptr din)
{
	static uint64_t got[CHUNK][VECTORS];
	CUdeviceptr dout = alloc(sizeof(got));
	CUmodule module = driver_load(kernel_text(forms, count));
	OK(cuLaunchKernel(kernel(module, "k"), VECTORS / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL,
		(void *[]){&din, &dout}, NULL));
	OK(cuMemcpyDtoH_v2(got, dout, count * sizeof(got[0])));
	for (size_t i = 0; i < count; i++) {
		check_results(&forms[i], row, in, got[i]);
	}
	OK(cuMemFree_v2(dout));
	OK(cuModuleUnload(module));
}

START_TEST(forms_compute_what_their_references_do)
{
	static struct form forms[FORM_MOST];
	static struct operands in[VECTORS];
	const struct form_row *row = &form_rows[(size_t)_i / countof(widths)];
	const int tests = (int)(countof(form_rows) * countof(widths));
	size_t count = 0;
	if (!support_is_tried(_i, tests, tests / 2 + 1, tests / 5)) {
		return;
	}
	size_t all = forms_expand(forms, row);
	for (size_t i = 0; i < all; i++) {
		if (!is_needless(&forms[i]) || driver_is_ours) {
			forms[count++] = forms[i];
		}
	}
	if (_i % countof(widths) > 0 && driver_lacks(DRIVER_WIDTHS)) {
		return;
	}
	setenv("KUDZU_CPU_WIDTH", widths[(size_t)_i % countof(widths)], 1);
	setup();
	str_clear(&wrong);
	fill(in, forms[0].last);
	CUdeviceptr din = alloc(sizeof(in));
	OK(cuMemcpyHtoD_v2(din, in, sizeof(in)));
	for (size_t i = 0; i < count; i += CHUNK) {
		run_chunk(forms + i, count - i < CHUNK ? count - i : CHUNK, row, in, din);
	}
	if (wrong.len > 0) {
		fputs(wrong.data, stderr); /* Check takes no long messages */
		ck_abort_msg("%.500s", wrong.data);
	}
	teardown();
}
END_TEST

/* Hints, which change nothing, and the barriers' older spelling: warp 0 arrives where warp 1 waits,
 * then both count. */
static const char rest_text[] = ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
	".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<5>; .shared .b32 word;\n"
	"ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out];\n"
	"mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4;\n"
	"add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;\n"
	"prefetchu.L1 [%d0]; applypriority.global.L2::evict_normal [%d0], 128; pmevent 3;\n"
	"createpolicy.fractional.L2::evict_first.b64 %d3;\n"
	"createpolicy.range.global.L2::evict_last.b64 %d3, [%d0], 128, 128;\n"
	"createpolicy.cvt.L2.b64 %d3, %d3;\n"
	"ldu.global.u32 %r1, [%d0];\n"
	"setp.lt.u32 %p0, %r0, 32; @%p0 bra FIRST;\n"
	"barrier.sync 1, 64; ld.shared.u32 %r2, [word]; bra.uni BOTH;\n"
	"FIRST: mov.u32 %r2, 77; st.shared.u32 [word], %r2; barrier.arrive 1, 64;\n"
	"BOTH: setp.gt.u32 %p1, %r1, 20;\n"
	"barrier.red.popc.aligned.u32 %r3, 0, %p1;\n"
	"barrier.red.and.pred %p2, 0, %p1; barrier.red.or.aligned.pred %p3, 0, 64, %p1;\n"
	"selp.u32 %r4, 1000, 0, %p2; selp.u32 %r5, 2000, 0, %p3;\n"
	"add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;\n"
	"add.u32 %r1, %r1, %r5; st.global.u32 [%d1], %r1;\n"
	"discard.global.L2 [%d0], 128; ret;\n}\n";

START_TEST(hints_do_nothing_and_barriers_count)
{
	uint32_t in[64], out[64];
	if (_i > 0 && driver_lacks(DRIVER_WIDTHS)) {
		return;
	}
	setenv("KUDZU_CPU_WIDTH", widths[_i], 1);
	setup();
	CUdeviceptr d[] = {alloc(sizeof(in) + 128), alloc(sizeof(out))};
	for (uint32_t i = 0; i < 64; i++) {
		in[i] = i;
	}
	OK(cuMemcpyHtoD_v2(d[0], in, sizeof(in)));
	CUmodule module = driver_load(rest_text);
	OK(cuLaunchKernel(kernel(module, "k"), 1, 1, 1, 64, 1, 1, 0, NULL,
		(void *[]){&d[0], &d[1]}, NULL));
	OK(cuMemcpyDtoH_v2(out, d[1], sizeof(out)));
	for (uint32_t i = 0; i < 64; i++) {
		ck_assert_uint_eq(out[i], i + 77 + 43 + 2000);
	}
	teardown();
}
END_TEST

/* The rows of ptx.def that the device runs; '#' is what it makes itself. */
static const struct row {
	const char *spelling;
	const char *types;
	bool runs;
} rows[PTX_OP_COUNT] = {
#define X(op, spelling, operands, types, mods, kind, emit, note) \
	{spelling, types, strncmp(note, "unsupported", 11) != 0 && (spelling)[0] != '#'},
#include "cpu/ptx/ptx.def"
#undef X
};

static bool is_named[PTX_OP_COUNT];

static void name(const char *opcode)
{
	struct ptx_diag diag = {0};
	struct ptx_inst inst = {0};
	if (ptx_opcode(&inst, opcode, &diag, 1, 1)) {
		is_named[inst.op] = true;
	}
}

/* Every word of a file that might be an opcode. */
static void name_all_of(const char *path)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789._:";
	char line[4096];
	FILE *file = fopen(path, "r");
	ck_assert_msg(file != NULL, "no %s", path);
	while (fgets(line, sizeof(line), file)) {
		for (char *at = line; *at;) {
			size_t length = strspn(at, letters);
			if (length == 0) {
				at += *at == '\\' && at[1] ? 2 : 1;
				continue;
			}
			char next = at[length];
			at[length] = '\0';
			if (islower((unsigned char)at[0]) && length < 100) {
				name(at);
			}
			at[length] = next;
			at += length;
		}
	}
	fclose(file);
}

static void name_all(const char *pattern)
{
	glob_t found;
	ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		name_all_of(found.gl_pathv[i]);
	}
	globfree(&found);
}

/* Tests that put opcodes together from parts, all of them: test_mma.c, test_api_texture.c. */
static bool is_put_together(const char *spelling)
{
	static const char *const spellings[] = {"mma", "wmma", "stmatrix", "txq"};
	for (size_t i = 0; i < countof(spellings); i++) {
		if (!strcmp(spelling, spellings[i])) {
			return true;
		}
	}
	return false;
}

/* Named in the text of a test that runs it, in a form or in the corpus; which of those fail is seen
 * there.  What the parser's samples in tests/data/ptx name is not run. */
START_TEST(every_instruction_is_in_a_test)
{
	if (driver_lacks("it is about the sources of the tests")) {
		return;
	}
	static struct form forms[FORM_MOST];
	for (size_t i = 0; i < countof(form_rows); i++) {
		size_t count = forms_expand(forms, &form_rows[i]);
		for (size_t k = 0; k < count; k++) {
			*strchrnul(forms[k].opcode, '|') = '\0';
			name(forms[k].opcode);
		}
	}
	name_all(KZ_TEST_DIR "/cpu/*/*.c");
	name_all(KZ_TEST_DIR "/cpu/*/*.def");
	name_all(KZ_TEST_PTX "/*.ptx");
	char missing[1024] = "";
	for (size_t i = 0; i < countof(rows); i++) {
		if (rows[i].runs && !is_named[i] && !is_put_together(rows[i].spelling)) {
			size_t at = strlen(missing);
			snprintf(missing + at, sizeof(missing) - at, " %s (%s)", rows[i].spelling,
				rows[i].types);
		}
	}
	ck_assert_msg(!missing[0], "in no test:%s", missing);
}
END_TEST

SUITE(forms)
{
	Suite *s = suite_create("forms");
	TCase *tc = suite_add_case(s, "values");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, forms_compute_what_their_references_do, 0,
		(int)(countof(form_rows) * countof(widths)));
	tcase_add_loop_test(tc, hints_do_nothing_and_barriers_count, 0, countof(widths));
	tcase_add_test(tc, every_instruction_is_in_a_test);
	return s;
}

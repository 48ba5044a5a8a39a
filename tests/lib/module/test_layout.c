/* SPDX-License-Identifier: MIT */
/* Structs of host and device compared: real ones, wrong ones, and random ones laid out by hand. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/layout.h>

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct inner {
	short a;
	double b;
};

struct particle {
	double mass;
	float position[3];
	int id;
	_Bool alive;
	unsigned char kind;
	struct inner inner;
	const float *table;
	char name[7];
};

#define INNER "struct inner { short a; double b; };\n"

static kz_error err;

static void setup(void)
{
	unsetenv("KUDZU_CHECK"); /* which names a file that keeps the source */
}

static void clear(void)
{
	kz_error_clear(&err);
}

START_TEST(a_struct_that_is_the_same_passes)
{
	static const char source[] = INNER
		"struct particle { double mass; float position[3]; int id; bool alive;\n"
		"unsigned char kind; struct inner inner; const float *table; char name[7]; };\n"
		"__global__ void k(particle *p) { p->id = 1; } // no newline";
	ok(kz_layout_check(source, NULL, KZ_LAYOUT(struct particle, mass, position, id, alive, kind,
		inner, table, name), &err));
	ok(kz_layout_check(source, NULL, KZ_LAYOUT(struct inner, b), &err));
}
END_TEST

/* The device has another struct; what is said of it. */
static const struct {
	const char *body;
	kz_status status;
	const char *message;
} others[] = {
	{"double mass; float position[4]; int id;", KZ_ARGUMENT,
		"member 'position' of 'struct particle': size 12 on the host, 16 on the device"},
	{"double mass; int pad; float position[3]; int id;", KZ_ARGUMENT,
		"member 'position' of 'struct particle': offset 8 on the host, 12 on the device"},
	{"double mass; float position[3]; float id;", KZ_ARGUMENT,
		"member 'id' of 'struct particle': a signed integer on the host, a floating-point "
		"number on the device"},
	{"double mass; float position[3]; unsigned id;", KZ_ARGUMENT,
		"member 'id' of 'struct particle': a signed integer on the host, an unsigned "
		"integer on the device"},
	{"long long mass; float position[3]; int id;", KZ_ARGUMENT,
		"member 'mass' of 'struct particle': a floating-point number on the host, a signed "
		"integer on the device"},
	{"double mass; float position[3]; int id;", KZ_ARGUMENT,
		"'struct particle': size 64 on the host, 24 on the device"},
	{"double mass; float position[3]; int id; int more[10];", KZ_OK, ""},
	{"double mass; float position[3]; int id; alignas(16) int more[10];", KZ_ARGUMENT,
		"'struct particle': size 64 on the host, 80 on the device"},
	{"double mass; float position[3]; int id; int more[6]; alignas(16) int last;", KZ_ARGUMENT,
		"'struct particle': alignment 8 on the host, 16 on the device"},
	{"double mass; float position[3]; int ident;", KZ_NOT_FOUND,
		"member 'id' of 'struct particle' on the device: "},
	{"double mass; float position[3]; int id : 5;", KZ_NOT_FOUND,
		"member 'id' of 'struct particle' on the device: "},
};

START_TEST(a_struct_that_differs_is_named_with_the_member)
{
	char source[256];
	kz_layout layout = KZ_LAYOUT(struct particle, mass, position, id);
	snprintf(source, sizeof(source), "struct particle { %s };", others[_i].body);
	ck_assert_int_eq(kz_layout_check(source, NULL, layout, &err), others[_i].status);
	ck_assert_msg(strncmp(err.message, others[_i].message, strlen(others[_i].message)) == 0,
		"%s", err.message);
}
END_TEST

START_TEST(a_type_that_is_not_there_is_told)
{
	fails(kz_layout_check("", NULL, KZ_LAYOUT(struct particle, mass), &err), KZ_NOT_FOUND,
		"type 'struct particle' on the device");
	kz_layout layout = {"ns::none", 4, 4, NULL, 0};
	fails(kz_layout_check("namespace ns {}", NULL, layout, &err), KZ_NOT_FOUND,
		"type 'ns::none' on the device");
}
END_TEST

START_TEST(an_error_of_the_source_is_told_as_ever)
{
	fails(kz_layout_check("\nint f( {", NULL, KZ_LAYOUT(struct inner, a), &err), KZ_COMPILE,
		"");
	ck_assert_int_eq(kz_layout_check("\nint f( {", NULL, KZ_LAYOUT(struct inner, a), &err),
		KZ_COMPILE);
	ck_assert_str_eq(err.file, "kernel.cu");
	ck_assert_int_eq(err.line, 2);
}
END_TEST

START_TEST(nothing_in_place_of_a_layout_is_refused)
{
	kz_layout layout = {NULL, 0, 0, NULL, 0};
	fails(kz_layout_check("", NULL, layout, &err), KZ_INVALID, "the layout of a struct");
	layout = (kz_layout){"int", 4, 4, NULL, 1};
	fails(kz_layout_check("", NULL, layout, &err), KZ_INVALID, "the layout of a struct");
	layout.members = (kz_layout_member[]){{NULL, 0, 0, KZ_LAYOUT_OTHER}};
	fails(kz_layout_check("", NULL, layout, &err), KZ_INVALID, "member 0 of 'int' has no name");
	fails(kz_layout_check(NULL, NULL, layout, &err), KZ_INVALID, "source text");
}
END_TEST

START_TEST(members_of_a_base_and_names_of_its_own_are_found)
{
	static const char source[] = "namespace ns { struct A { int a; }; struct B { long b; };\n"
		"struct C : A, B { int c; }; } // end \\";
	static const kz_layout_member members[] = {{"a", 0, 4, KZ_LAYOUT_INT},
		{"b", 8, 8, KZ_LAYOUT_INT}, {"c", 16, 4, KZ_LAYOUT_INT}};
	kz_layout layout = {"ns::C", 24, 8, members, 3};
	ok(kz_layout_check(source, NULL, layout, &err));
}
END_TEST

START_TEST(options_reach_the_compiler)
{
	static const char *const names[] = {"particle.h", NULL};
	static const char *const texts[] = {"struct inner { short a; PAD double b; };", NULL};
	static const char *const defines[] = {"PAD=", NULL};
	static const char *const archs[] = {NULL, "sm_90", "compute_80", "lto_90"};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.header_names = names;
	options.header_texts = texts;
	options.defines = defines;
	options.line_info = 1;
	for (size_t i = 0; i < countof(archs); i++) {
		options.arch = archs[i];
		ok(kz_layout_check("#include \"particle.h\"\n", &options,
			KZ_LAYOUT(struct inner, a, b), &err));
	}
	options.size = 3;
	fails(kz_layout_check("", &options, KZ_LAYOUT(struct inner, a), &err), KZ_INVALID,
		"kz_compile_options has size 3");
}
END_TEST

static const struct {
	const char *type;
	size_t size;
	kz_layout_kind kind;
} scalars[] = {
	{"bool", 1, KZ_LAYOUT_BOOL}, {"char", 1, KZ_LAYOUT_OTHER},
	{"unsigned char", 1, KZ_LAYOUT_UINT},
	{"short", 2, KZ_LAYOUT_INT}, {"unsigned short", 2, KZ_LAYOUT_UINT},
	{"int", 4, KZ_LAYOUT_INT},
	{"unsigned", 4, KZ_LAYOUT_UINT}, {"long", 8, KZ_LAYOUT_INT}, {"float", 4, KZ_LAYOUT_FLOAT},
	{"double", 8, KZ_LAYOUT_FLOAT}, {"void *", 8, KZ_LAYOUT_OTHER},
};

#define MEMBERS 9

/* A struct by the rule that each member lies at the next multiple of its size. */
struct plan {
	char names[MEMBERS][8];
	kz_layout_member members[MEMBERS];
	kz_layout layout;
	struct str source;
};

static void make_plan(struct plan *plan, uint32_t *seed)
{
	size_t end = 0, align = 1;
	*plan = (struct plan){.source = STR_INIT};
	str_add(&plan->source, "struct S {");
	for (size_t i = 0; i < MEMBERS; i++) {
		*seed = *seed * 1664525 + 1013904223;
		size_t at = (*seed >> 8) % countof(scalars), size = scalars[at].size;
		size_t count = *seed >> 28 > 10 ? 3 : 1;
		end = (end + size - 1) / size * size;
		align = size > align ? size : align;
		snprintf(plan->names[i], sizeof(plan->names[i]), "m%zu", i);
		plan->members[i] = (kz_layout_member){plan->names[i], end, size * count,
			count > 1 ? KZ_LAYOUT_OTHER : scalars[at].kind};
		str_addf(&plan->source, "%s m%zu%s;", scalars[at].type, i, count > 1 ? "[3]" : "");
		end += size * count;
	}
	str_add(&plan->source, "};");
	plan->layout = (kz_layout){"S", (end + align - 1) / align * align, align, plan->members,
		MEMBERS};
}

START_TEST(random_structs_lie_as_the_rule_says)
{
	uint32_t seed = (uint32_t)time(NULL);
	printf("layout: seed %u\n", seed);
	for (int round = 0; round < 12; round++) {
		struct plan plan;
		char name[24];
		make_plan(&plan, &seed);
		ok(kz_layout_check(plan.source.data, NULL, plan.layout, &err));
		size_t bad = seed % MEMBERS;
		plan.members[bad].offset += 8;
		snprintf(name, sizeof(name), "member 'm%zu' of 'S'", bad);
		fails(kz_layout_check(plan.source.data, NULL, plan.layout, &err), KZ_ARGUMENT,
			name);
		str_free(&plan.source);
	}
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	kz_layout layout = KZ_LAYOUT(struct inner, a, b);
	ok(kz_layout_check(INNER, NULL, layout, &err));
	for (long n = 0;; n++) {
		mem_fail_after(n);
		kz_status status = kz_layout_check(INNER, NULL, layout, &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		if (!failed) {
			ck_assert_int_eq(status, KZ_OK);
			break;
		}
		if (status != KZ_NO_MEMORY && status != KZ_OK) {
			ck_abort_msg("status %d: %s", (int)status, err.message);
		}
		kz_error_clear(&err);
	}
}
END_TEST

SUITE(layout)
{
	Suite *suite = suite_create("layout");
	TCase *tc = suite_add_case(suite, "layout");
	tcase_add_checked_fixture(tc, setup, clear);
	tcase_add_test(tc, a_struct_that_is_the_same_passes);
	tcase_add_loop_test(tc, a_struct_that_differs_is_named_with_the_member, 0,
		(int)countof(others));
	tcase_add_tests(tc, 1, a_type_that_is_not_there_is_told,
		an_error_of_the_source_is_told_as_ever, nothing_in_place_of_a_layout_is_refused,
		members_of_a_base_and_names_of_its_own_are_found, options_reach_the_compiler,
		random_structs_lie_as_the_rule_says, want_of_memory_leaves_nothing);
	return suite;
}

/* SPDX-License-Identifier: MIT */
/* src/cpu/ptx/dwarf.c: what a module says of its source. */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/ptx/dwarf.h"
#include "cpu/ptx/parse.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

/* By the DWARF 2 standard: a unit with `int`, and a function `f` that has `int n` in %r1, and
 * `int i` in a register, then in .local memory. */
static const char sample[] = ".version 9.0\n.target sm_89\n.address_size 64\n"
	".section .debug_abbrev {\n"
	".b8 1,17,1,3,8,0,0\n"                            /* compile unit: name */
	".b8 2,36,0,3,8,62,11,11,11,0,0\n"                /* base type: name, encoding, size */
	".b8 3,46,1,17,1,18,1,135,64,8,3,8,59,11,0,0\n"   /* function: low, high, names, line */
	".b8 4,5,0,2,10,3,8,73,19,0,0\n"                  /* parameter: place, name, type */
	".b8 5,52,0,2,6,3,8,73,19,0,0\n"                  /* variable: list, name, type */
	".b8 0\n}\n"
	".section .debug_info {\n"
	".b32 90\n.b8 2,0\n.b32 .debug_abbrev\n.b8 8\n"
	".b8 1,107,0\n"                                   /* at 11 */
	".b8 2,105,110,116,0,5,4\n"                       /* at 14 */
	".b8 3\n.b64 $begin\n.b64 $end\n.b8 95,90,49,102,118,0,102,0,7\n"
	".b8 4,5,144,177,228,149,1,110,0\n.b32 14\n"
	".b8 5\n.b32 .debug_loc+2\n.b8 105,0\n.b32 14\n"
	".b8 0,0\n}\n"
	".section .debug_loc {\n.b8 9,9\n"
	".b64 $begin\n.b64 $middle\n.b8 7,0,144,178,226,144,163,87,0\n"
	".b64 $middle\n.b64 $end\n.b8 11,0,3\n.b64 depot\n.b8 35,12\n"
	".b64 0\n.b64 0\n}\n";

static struct ptx_module module;

static void teardown(void)
{
	parse_free(&module);
}

static void read_sample(void)
{
	struct ptx_diag diag = {.line = 0};
	ck_assert_msg(parse_module(&module, sample, strlen(sample), &diag), "%d: %s", diag.line,
		diag.message);
}

START_TEST(dwarf_gives_functions_with_their_variables)
{
	read_sample();
	ck_assert(dwarf_read(&module));
	ck_assert_ptr_nonnull(module.dwarf);
	const struct dwarf_die *type = module.dwarf->child, *function = type->next;
	ck_assert_str_eq(type->name, "int");
	ck_assert_uint_eq(dwarf_size(type), 4);
	ck_assert_int_eq(function->tag, DWARF_SUBPROGRAM);
	ck_assert_str_eq(function->name, "f");
	ck_assert_str_eq(function->linkage, "_Z1fv");
	ck_assert_str_eq(function->low, "$begin");
	ck_assert_str_eq(function->high, "$end");
	ck_assert_uint_eq(function->line, 7);
	const struct dwarf_die *n = function->child, *i = n->next;
	ck_assert(dwarf_is_variable(n) && n->place.where == DWARF_REG && n->type == type);
	ck_assert_str_eq(n->place.name, "%r1");
	ck_assert(i->place.where == DWARF_LIST && i->place.addend == 2 && !i->next);
}
END_TEST

START_TEST(dwarf_walks_the_places_of_a_variable)
{
	struct dwarf_range range;
	uint64_t at = 2;
	read_sample();
	ck_assert(dwarf_next_range(&module, &at, &range));
	ck_assert_str_eq(range.low, "$begin");
	ck_assert_str_eq(range.high, "$middle");
	ck_assert_int_eq(range.place.where, DWARF_NOWHERE); // bytes after the register
	ck_assert(dwarf_next_range(&module, &at, &range));
	ck_assert_str_eq(range.low, "$middle");
	ck_assert_int_eq(range.place.where, DWARF_MEMORY);
	ck_assert_str_eq(range.place.name, "depot");
	ck_assert_uint_eq(range.place.addend, 12);
	ck_assert(!dwarf_next_range(&module, &at, &range));
}
END_TEST

/* Each byte of each section in turn becomes another: nothing may be read beyond its end. */
START_TEST(dwarf_survives_damaged_sections)
{
	static const uint8_t others[] = {0, 1, 0x0a, 0x7f, 0x80, 0xff};
	const uint8_t other = others[_i];
	read_sample();
	for (size_t s = 0; s < module.section_count; s++) {
		struct ptx_section *section = &module.sections[s];
		for (size_t i = 0; i < section->size; i++) {
			uint8_t was = section->bytes[i];
			struct dwarf_range range;
			uint64_t at = 2;
			section->bytes[i] = other;
			module.dwarf = NULL;
			ck_assert(dwarf_read(&module));
			while (dwarf_next_range(&module, &at, &range)) {
			}
			section->bytes[i] = was;
		}
	}
}
END_TEST

START_TEST(dwarf_that_ends_anywhere_is_left_out)
{
	read_sample();
	struct ptx_section *info = (struct ptx_section *)ptx_section_find(&module, ".debug_info");
	for (size_t size = info->size - 3; size > 0; size--) {
		info->size = size;
		module.dwarf = NULL;
		ck_assert(dwarf_read(&module));
	}
	ck_assert_ptr_null(module.dwarf);
}
END_TEST

SUITE(dwarf)
{
	Suite *s = suite_create("dwarf");
	TCase *tc = suite_add_case(s, "dwarf");
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, dwarf_gives_functions_with_their_variables);
	tcase_add_test(tc, dwarf_walks_the_places_of_a_variable);
	tcase_add_loop_test(tc, dwarf_survives_damaged_sections, 0, 6);
	tcase_add_test(tc, dwarf_that_ends_anywhere_is_left_out);
	return s;
}

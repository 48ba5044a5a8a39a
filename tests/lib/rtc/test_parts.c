/* SPDX-License-Identifier: MIT */
/*
 * What a linker is given, taken apart: kinds, symbols, libraries, and files made to hurt; and what
 * linkers say, read.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/elf.h"
#include "base/file.h"
#include "base/str.h"
#include "lib/rtc/link_log.h"
#include "lib/rtc/parts.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kz_error err;

static const struct {
	const char *bytes;
	size_t size;
	enum rtc_kind kind;
} kinds[] = {
	{".version 7.0", 12, RTC_PTX},
	{" \n// .version\n/* x */ .version 7.0", 34, RTC_PTX},
	{"/* never closed .version", 24, RTC_UNKNOWN},
	{"// no line ends", 15, RTC_UNKNOWN},
	{".versio", 7, RTC_UNKNOWN},
	{"!<arch>\n", 8, RTC_LIBRARY},
	{"!<thin>\n", 8, RTC_LIBRARY},
	{"!<arch>", 7, RTC_UNKNOWN},
	{"\xed\x43\x4e\x7f\1", 5, RTC_LTO},
	{"\x50\xed\x55\xba\1\0\x10\0", 8, RTC_FATBIN},
	{"\x7f" "ELF", 4, RTC_UNKNOWN},
	{"", 0, RTC_UNKNOWN},
	{"/", 1, RTC_UNKNOWN},
};

START_TEST(kinds_are_told_by_the_first_bytes)
{
	/* A copy of that size, so that a reader beyond its end is caught. */
	char *copy = malloc(kinds[_i].size + 1);
	memcpy(copy, kinds[_i].bytes, kinds[_i].size);
	copy = realloc(copy, kinds[_i].size ? kinds[_i].size : 1);
	ck_assert_int_eq(rtc_kind_of(copy, kinds[_i].size), kinds[_i].kind);
	free(copy);
}
END_TEST

#define TOP ".version 8.0\n.target sm_75, debug\n.address_size 64\n.file 1 \"a.cu\"\n"

static const struct {
	const char *text;
	const char *symbols; /* in order: strong !, weak ?, undefined - */
} symbols[] = {
	{TOP ".visible .entry k(.param .u64 p)\n{\n\tret;\n}\n", "!k"},
	{TOP ".weak .entry k()\n.maxntid 32, 1, 1\n{ ret; }\n.entry local() { ret; }", "?k"},
	{TOP ".extern .func (.param .b32 r) f(.param .b32 a);\n", "-f"},
	{TOP ".visible .func (.param .b32 r) f(.param .b32 a);\n", ""},
	{TOP ".visible .func (.param .b32 r) f(.param .b32 a)\n{ { ret; } }\n", "!f"},
	{TOP ".func f() { ret; }\n.visible .global .align 4 .u32 x = 3;\n", "!x"},
	{TOP ".visible .global .align 4 .b8 t[3] = {1, 2, 3};\n.common .global .u32 c;", "!t?c"},
	{TOP ".visible .const .align 8 .u64 p[1] = {generic(x)};\n.extern .global .u32 x;", "!p-x"},
	{TOP ".visible .global .attribute(.managed) .align 4 .u32 m;\n", "!m"},
	{TOP ".global .u32 y = 4;\n.extern .shared .align 16 .b8 mem[];\n", "-mem"},
	{".version 8.0 .target sm_75 .address_size 64 .visible .entry k() { ret; }", "!k"},
	{TOP ".section .debug_str\n{\n.b8 95, 90\n}\n.visible .entry k() {}", "!k"},
	{TOP "// .visible .entry no() {}\n/* .extern .func no(); */", ""},
	{TOP ".visible .entry cut(", ""},
	{TOP ".visible .entry k() { \"}\" // }\n }", "!k"},
	{"", ""},
};

static bool note_symbol(void *arg, const char *name, size_t len, enum symbol_kind kind)
{
	str_addc(arg, "!?-"[kind]);
	str_addn(arg, name, len);
	return true;
}

START_TEST(ptx_tells_what_it_defines_and_needs)
{
	const struct part part = {
		.kind = RTC_PTX,
		.data = symbols[_i].text,
		.size = strlen(symbols[_i].text),
	};
	struct str found = STR_INIT;
	str_add(&found, "");
	ck_assert(symbols_of(&part, note_symbol, &found));
	ck_assert_str_eq(found.data, symbols[_i].symbols);
	str_free(&found);
}
END_TEST

/* Best first for a GPU of 8.6. */
static const struct {
	enum rtc_kind kind;
	int arch;
} order[] = {
	{RTC_CUBIN, 86}, {RTC_CUBIN, 80}, {RTC_PTX, 86}, {RTC_PTX, 80}, {RTC_PTX, 52},
	{RTC_LTO, 86}, {RTC_LTO, 75},
};

START_TEST(the_rule_is_exact_cubin_lower_minor_ptx_lto)
{
	const struct rtc_target gpu = {86, false};
	const struct rtc_target cpu = {89, true};
	for (size_t i = 0; i < countof(order); i++) {
		int rank = rtc_rank(order[i].kind, order[i].arch, &gpu);
		ck_assert_int_gt(rank, 0);
		ck_assert(i == 0 || rank < rtc_rank(order[i - 1].kind, order[i - 1].arch, &gpu));
	}
	ck_assert_int_eq(rtc_rank(RTC_CUBIN, 89, &gpu), 0);
	ck_assert_int_eq(rtc_rank(RTC_CUBIN, 75, &gpu), 0);
	ck_assert_int_eq(rtc_rank(RTC_PTX, 89, &gpu), 0);
	ck_assert_int_eq(rtc_rank(RTC_CUBIN, 87, &(struct rtc_target){89, false}), 0);
	ck_assert_int_eq(rtc_rank(RTC_CUBIN, 89, &cpu), 0);
	ck_assert_int_gt(rtc_rank(RTC_PTX, 75, &cpu), rtc_rank(RTC_PTX, 90, &cpu));
	ck_assert_int_gt(rtc_rank(RTC_PTX, 90, &cpu), rtc_rank(RTC_PTX, 120, &cpu));
	ck_assert_int_gt(rtc_rank(RTC_PTX, 120, &cpu), 0);
	ck_assert_int_eq(rtc_rank(RTC_PTX, INT32_MAX, &cpu), 0);
	ck_assert_int_eq(rtc_rank(RTC_PTX, -1, &cpu), 0);
}
END_TEST

static const struct rtc_target targets[] = {{89, true}, {80, false}, {86, false}};

START_TEST(an_object_gives_the_code_that_suits)
{
	static const enum rtc_kind want[] = {RTC_PTX, RTC_CUBIN, RTC_CUBIN};
	struct parts parts;
	char *data = NULL;
	size_t size = 0;
	ck_assert_int_eq(file_read(&data, &size, KZ_TEST_DIR "/data/fatbin/add_two.obj", &err),
		KZ_OK);
	parts_init(&parts, &targets[_i]);
	ck_assert_int_eq(parts_add(&parts, "add_two.o", data, size, &err), KZ_OK);
	ck_assert_ptr_nonnull(parts.first);
	ck_assert_int_eq(parts.first->kind, want[_i]);
	struct str found = STR_INIT;
	symbols_of(parts.first, note_symbol, &found);
	ck_assert_msg(strstr(found.data, "!base_value") && strstr(found.data, "!_Z7add_twoi"), "%s",
		found.data);
	str_free(&found);
	parts_free(&parts);
	mem_free(data);
}
END_TEST

/* An archive with the object so many times. */
static void make_archive(struct str *out, int count)
{
	char *data = NULL;
	size_t size = 0;
	ck_assert_int_eq(file_read(&data, &size, KZ_TEST_DIR "/data/fatbin/add_two.obj", &err),
		KZ_OK);
	str_add(out, "!<arch>\n");
	for (int i = 0; i < count; i++) {
		str_addf(out, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", "o.o/", 0, 0, 0, 644, size);
		str_addn(out, data, size);
		str_add(out, size % 2 ? "\n" : "");
	}
	mem_free(data);
}

/* Whatever becomes of it, it is no crash; a failure has words. */
static void take_apart(const char *data, size_t size, const struct rtc_target *target)
{
	struct parts parts;
	char *copy = malloc(size + 1);
	memcpy(copy, data, size);
	copy = realloc(copy, size ? size : 1);
	parts_init(&parts, target);
	kz_status st = parts_add(&parts, "x", copy, size, &err);
	st = st ? st : parts_resolve(&parts, &err);
	if (st != err.status || (st && !err.message[0])) {
		ck_abort_msg("%d but '%s'", (int)st, err.message);
	}
	kz_error_clear(&err);
	parts_free(&parts);
	free(copy);
}

START_TEST(a_library_alone_is_all_of_it)
{
	struct str archive = STR_INIT;
	struct parts parts;
	make_archive(&archive, 1);
	parts_init(&parts, &targets[_i]);
	ck_assert_int_eq(parts_add(&parts, "lib.a", archive.data, archive.len, &err), KZ_OK);
	ck_assert(parts.first->is_optional);
	ck_assert_int_eq(parts_resolve(&parts, &err), KZ_OK);
	ck_assert(parts.first->is_taken);
	parts_free(&parts);
	str_free(&archive);
}
END_TEST

START_TEST(damaged_libraries_are_no_crash)
{
	struct str archive = STR_INIT;
	unsigned seed = 1;
	make_archive(&archive, 2);
	for (size_t cut = 0; cut <= archive.len; cut += cut < 200 ? 1 : 7) {
		take_apart(archive.data, cut, &targets[_i]);
	}
	for (int round = 0; round < 3000; round++) {
		char *copy = malloc(archive.len);
		memcpy(copy, archive.data, archive.len);
		for (int i = 0; i < 1 + round % 4; i++) {
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 8) % (round % 2 ? 300 : archive.len)] = (char)(seed >> 3);
		}
		take_apart(copy, archive.len, &targets[_i]);
		free(copy);
	}
	str_free(&archive);
}
END_TEST

/* nvJitLink crashes at them, or hangs afterwards. */
static const struct {
	unsigned arch;
	int abi;
	uint64_t offset; /* of the sections */
	kz_status status;
	const char *message;
} bad_cubins[] = {
	{90 << 8, 8, 0, KZ_VERSION, "'x' has nothing for compute capability 8.9: it has a cubin "
		"for 9.0"},
	{75, 7, 0, KZ_VERSION,
		"'x' has nothing for compute capability 8.9: it has a cubin for 7.5"},
	{89 << 8, 8, 65, KZ_BAD_IMAGE, "'x' is a damaged cubin: not all of it is there"},
	{89 << 8, 8, 64, KZ_BAD_IMAGE, "'x' is a damaged cubin: not all of it is there"},
	{86, 7, 0, KZ_OK, ""},
};

START_TEST(a_cubin_that_cannot_be_linked_does_not_get_to_the_linker)
{
	struct parts parts;
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr section;
	} cubin = {
		.header = {
			.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
			.e_machine = ELF_MACHINE_CUDA,
			.e_flags = bad_cubins[_i].arch,
			.e_shoff = bad_cubins[_i].offset,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = bad_cubins[_i].offset != 0,
		},
		.section = {.sh_type = SHT_PROGBITS, .sh_offset = 100, .sh_size = 100},
	};
	cubin.header.e_ident[EI_ABIVERSION] = (unsigned char)bad_cubins[_i].abi;
	parts_init(&parts, &(struct rtc_target){.cc = 89});
	ck_assert_int_eq(parts_add(&parts, "x", &cubin, sizeof(cubin), &err),
		bad_cubins[_i].status);
	ck_assert_str_eq(err.message, bad_cubins[_i].message);
	kz_error_clear(&err);
	parts_free(&parts);
}
END_TEST

static const struct {
	const char *log;
	kz_status status;
	const char *message;
} logs[] = {
	{"error   : Undefined reference to '_Z1fi' in 'a.ptx'\nERROR 1: finish\n", KZ_LINK,
	 "undefined symbol 'f(int)', used in 'a.ptx'"},
	{"ptxas fatal   : Unresolved extern function '_Z6helperf'\n", KZ_LINK,
	 "undefined symbol 'helper(float)'"},
	{"x.lto: link error: error: Linking globals named 'g': symbol multiply defined!\n", KZ_LINK,
	 "symbol 'g' is defined more than once, again in 'x.lto'"},
	{"error : Multiple definition of 'a' in 'ltoPtx', first defined in 'b'\n"
	 "error : Undefined reference to 'c' in 'd'\n"
	 "error : Undefined reference to 'e' in 'f'\n", KZ_LINK,
	 "symbol 'a' is defined in 'b' and in 'LTO-IR', and 2 more errors"},
	{"ptxas x, line 1; fatal   : Unsupported .version 9.9; current version is '9.0'\n",
	 KZ_VERSION, "the PTX is of version 9.9, the linker knows versions up to 9.0"},
	{"ERROR 90 in LTOIR arch newer than target arch\n", KZ_VERSION,
	 "the LTO-IR is for lto_90, newer than what is linked for"},
	{"something else went wrong\n", KZ_LINK, "the images do not link"},
	{"Undefined reference to '", KZ_LINK, "the images do not link"},
	{"Linking globals named 'g'", KZ_LINK, "symbol 'g' is defined more than once"},
	{"", KZ_LINK, "the images do not link"},
};

START_TEST(what_linkers_say_is_understood)
{
	ck_assert_int_eq(link_log_fail(logs[_i].log, NULL, &err), logs[_i].status);
	ck_assert_str_eq(err.message, logs[_i].message);
	kz_error_clear(&err);
}
END_TEST

SUITE(parts)
{
	Suite *suite = suite_create("parts");
	TCase *tc = suite_add_case(suite, "parts");
	tcase_add_loop_test(tc, kinds_are_told_by_the_first_bytes, 0, countof(kinds));
	tcase_add_loop_test(tc, ptx_tells_what_it_defines_and_needs, 0, countof(symbols));
	tcase_add_test(tc, the_rule_is_exact_cubin_lower_minor_ptx_lto);
	tcase_add_tests(tc, countof(targets), an_object_gives_the_code_that_suits,
		a_library_alone_is_all_of_it, damaged_libraries_are_no_crash);
	tcase_add_loop_test(tc, a_cubin_that_cannot_be_linked_does_not_get_to_the_linker, 0,
		countof(bad_cubins));
	tcase_add_loop_test(tc, what_linkers_say_is_understood, 0, countof(logs));
	return suite;
}

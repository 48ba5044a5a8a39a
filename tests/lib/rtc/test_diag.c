/* SPDX-License-Identifier: MIT */
/* NVRTC's logs as they are, and as they are shown. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/rtc/diag.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const char *const folders[] = {"/a", "/b"};

static const char ptx[] =
	".visible .entry k()\n{\n\t.loc\t2 9 1\n\tret;\n}\n.visible .entry l()\n{\n\t.loc 1 1 8\n"
	"\tfoo %r1;\n}\n\t.file\t1 \"/a/b/k.cu\"\n\t.file 2 \"/a/other.h\"\n";

static const struct diag_context context = {"k.cu", "struct P{int x;}\n\n", folders, 2, ptx,
	false};

/* The first error is shown as LINE:COLUMN message; "" where there is none. */
static const struct {
	const char *log;
	const char *text;
	const char *error;
	const char *hint; /* a word of it, or NULL for none */
} logs[] = {
	{"", "", "", NULL},
	{"k.cu(4): error: expected a \";\"\n      a = 1\n        ^\n\n"
	 "1 error detected in the compilation of \"k.cu\".\n",
		"k.cu:4:7: error: expected a \";\"\n      a = 1\n        ^\n",
		"4:7 expected a \";\"", NULL},
	{"a (x).cu(12): warning #177-D: variable \"y\" was declared but never referenced\n"
	 "  int y;\n      ^\n\nRemark: The warnings can be suppressed with \"-diag-suppress "
	 "<warning-number>\"\n\n",
		"a (x).cu:12:5: warning: variable \"y\" was declared but never referenced "
		"[#177-D]\n"
		"  int y;\n      ^\n",
		"", NULL},
	/* Lines of message before the source, lines of context and notes after it. */
	{"k.cu(2): error: no instance of function template \"f\" matches the argument list\n"
	 "            argument types are: (int, int)\n  f(1, 2);\n  ^\n"
	 "k.cu(1): note #3322-D: number of parameters\n  T f(T);\n    ^\n"
	 "          detected during instantiation of \"T f(T)\" at line 2\n",
		"k.cu:2:1: error: no instance of function template \"f\" matches the argument "
		"list\n"
		"            argument types are: (int, int)\n  f(1, 2);\n  ^\n"
		"k.cu:1:3: note: number of parameters [#3322-D]\n  T f(T);\n    ^\n"
		"          detected during instantiation of \"T f(T)\" at line 2\n",
		"2:1 no instance of function template \"f\" matches the argument list", NULL},
	/* The caret counts bytes and repeats tabs. */
	{"k.cu(1): error: identifier \"y\" is undefined\n"
	 "  \tint a; /* \xe6\x97\xa5\xe6\x9c\xac \xc3\xa9 */ x\ty;\n"
	 "  \t                        \t^\n",
		"k.cu:1:27: error: identifier \"y\" is undefined\n"
		"  \tint a; /* \xe6\x97\xa5\xe6\x9c\xac \xc3\xa9 */ x\ty;\n"
		"  \t                     \t^\n",
		"1:27 identifier \"y\" is undefined", NULL},
	{"At end of source: error: expected a \";\"\n\n",
		"k.cu:1:17: error: expected a \";\"\n  struct P{int x;}\n                  ^\n",
		"1:17 expected a \";\"", NULL},
	{"k.cu(1): catastrophic error: cannot open source file \"foo.h\"\n  #include \"foo.h\"\n"
	 "                  ^\n\n1 catastrophic error detected in the compilation of \"k.cu\".\n"
	 "Compilation terminated.\n",
		"k.cu:1:17: error: cannot open source file \"foo.h\"\n  #include \"foo.h\"\n"
		"                  ^\nk.cu: note: searched: /a, /b\n",
		"1:17 cannot open source file \"foo.h\"", "include folders"},
	{"/x/cub/y.cuh(9): error: A function explicitly marked as a __host__ function is not "
	 "allowed in JIT mode\n",
		"/x/cub/y.cuh:9: error: A function explicitly marked as a __host__ function is not "
		"allowed in JIT mode\n",
		"9:0 A function explicitly marked as a __host__ function is not allowed in JIT "
		"mode",
		"block_reduce"},
	{"ptxas error   : Entry function 'k' uses too much shared data (0x13880 bytes, 0xc000 "
	 "max)\n",
		"k.cu: error: Entry function 'k' uses too much shared data (0x13880 bytes, 0xc000 "
		"max)\n",
		"0:0 Entry function 'k' uses too much shared data (0x13880 bytes, 0xc000 max)",
		"extern __shared__"},
	{"ptxas application ptx input, line 23; error   : Unknown modifier '.bar'\n"
	 "ptxas fatal   : Ptx assembly aborted due to errors\n",
		"k.cu: error: Unknown modifier '.bar'\n", "0:0 Unknown modifier '.bar'", NULL},
	{"ptxas application ptx input, line 9; error   : Not a name: 'foo'\n",
		"k.cu:1:8: error: Not a name: 'foo'\n  struct P{int x;}\n         ^\n"
		"k.cu: note: line 9 of the PTX: foo %r1;\n", "1:8 Not a name: 'foo'", NULL},
	{"ptxas application ptx input, line 4; error   : m\n",
		"/a/other.h:9: error: m\nk.cu: note: line 4 of the PTX: ret;\n", "9:0 m", NULL},
	{"ptxas application ptx input, line 6; error   : m\n",
		"k.cu: error: m\nk.cu: note: line 6 of the PTX: .visible .entry l()\n", "0:0 m",
		NULL},
	{"ptxas info    : Used 8 registers\n", "ptxas info    : Used 8 registers\n", "", NULL},
	{"nvrtc: error: unrecognized option -O3 found\n",
		"nvrtc: error: unrecognized option -O3 found\n",
		"0:0 unrecognized option -O3 found", NULL},
	/* What we added ourselves is not shown. */
	{"__nv_name_map(2): error: identifier \"kk\" is undefined\n"
	 "  #pragma nv_mangled_name &p<decltype(kk)>\n                                   ^\n\n"
	 "k.cu(3): error: identifier \"q\" is undefined\n  q;\n  ^\n",
		"k.cu:3:1: error: identifier \"q\" is undefined\n  q;\n  ^\n",
		"3:1 identifier \"q\" is undefined", NULL},
	{"k.cu(1): warning #47-D: incompatible redefinition of macro \"M_PI\" (declared at line 9 "
	 "of kudzu/prelude.h)\n  #define M_PI 3\n          ^\n\n"
	 "k.cu(2): warning #47-D: incompatible redefinition of macro \"N\" (declared at line 1)\n"
	 "  #define N 3\n          ^\n",
		"k.cu:2:9: warning: incompatible redefinition of macro \"N\" (declared at line 1) "
		"[#47-D]\n  #define N 3\n          ^\n",
		"", NULL},
	{"t.h(1): warning #161-D: unrecognized #pragma\n  #  pragma push_macro(\"restrict\")\n"
	 "            ^\n\n"
	 "t.h(2): warning #161-D: unrecognized #pragma\n  #  pragma pop_macro(\"theirs\")\n"
	 "            ^\n",
		"t.h:2:11: warning: unrecognized #pragma [#161-D]\n"
		"  #  pragma pop_macro(\"theirs\")\n            ^\n",
		"", NULL},
	/* What is not understood is passed on. */
	{"something new\n\nk.cu(x): error without colon\nError limit reached.",
		"something new\nk.cu(x): error without colon\nError limit reached.\n", "", NULL},
	/* CUDA 12.0 shows neither line nor caret. */
	{"k.cu(1): error: invalid redeclaration of type name \"P\"\nkudzu/prelude.h(10): here\n\n"
	 "k.cu(1): warning #47-D: incompatible redefinition of macro \"M_PI\"\n"
	 "kudzu/prelude.h(106): here\n\n",
		"k.cu:1: error: invalid redeclaration of type name \"P\"\n"
		"kudzu/prelude.h(10): here\n"
		"  struct P{int x;}\n",
		"1:0 invalid redeclaration of type name \"P\"", NULL},
	/* CUDA's C++ headers try to save macros that the prelude defines. */
	{"/a/prologue.h(145): warning #161-D: unrecognized #pragma\n"
	 "  #  pragma push_macro(\"restrict\")\n            ^\n\n", "", "", NULL},
};

START_TEST(logs_are_shown_as_gcc_shows_diagnostics)
{
	struct diag diag;
	struct str error = STR_INIT;
	ck_assert(diag_read(&diag, logs[_i].log, &context));
	if (diag.message) {
		str_addf(&error, "%d:%d %s", diag.line, diag.column, diag.message);
	}
	char *shown = str_take(&error);
	ck_assert_str_eq(diag.text, logs[_i].text);
	ck_assert_str_eq(shown, logs[_i].error);
	ck_assert_int_eq(diag.hint != NULL, logs[_i].hint != NULL);
	ck_assert(!logs[_i].hint || strstr(diag.hint, logs[_i].hint));
	ck_assert_int_eq(diag.file != NULL, diag.line > 0);
	mem_free(shown);
	diag_free(&diag);
}
END_TEST

START_TEST(every_beginning_of_a_log_is_read_without_harm)
{
	for (size_t len = 0; len < strlen(logs[_i].log); len++) {
		char *part = mem_strndup(logs[_i].log, len);
		struct diag diag;
		ck_assert(diag_read(&diag, part, &context));
		diag_free(&diag);
		mem_free(part);
	}
}
END_TEST

/* The source before the log and after it in memory. */
START_TEST(a_log_is_shown_alike_wherever_its_source_lies)
{
	static const char log[] = "At end of source: error: expected a \"}\"\n\n"
		"k.cu(2): error: m\n            more\n  y;\n  ^\n"
		"ptxas application ptx input, line 9; error   : Not a name: 'foo'\n\n"
		"k.cu(7): error: n\n";
	static const char source[] = "void f() {\n";
	static const char shown[] = "k.cu:1:11: error: expected a \"}\"\n  void f() {\n            "
		"^\n"
		"k.cu:2:1: error: m\n            more\n  y;\n  ^\n"
		"k.cu:1:8: error: Not a name: 'foo'\n  void f() {\n         ^\n"
		"k.cu: note: line 9 of the PTX: foo %r1;\nk.cu:7: error: n\n";
	char memory[sizeof(log) + sizeof(source)];
	char *first = memory, *second = memory + (_i ? sizeof(log) : sizeof(source));
	struct diag_context here = context;
	struct diag diag;
	here.source = memcpy(_i ? second : first, source, sizeof(source));
	ck_assert(diag_read(&diag, memcpy(_i ? first : second, log, sizeof(log)), &here));
	ck_assert_str_eq(diag.text, shown);
	ck_assert_int_eq(diag.line, 1);
	diag_free(&diag);
}
END_TEST

START_TEST(long_lines_are_cut_around_the_caret)
{
	char line[400];
	struct str log = STR_INIT;
	struct diag diag;
	memset(line, 'a', sizeof(line));
	line[299] = 'Y';
	line[399] = '\0';
	str_addf(&log, "k.cu(1): error: m\n  %s\n  %*s\n", line, 300, "^");
	ck_assert(diag_read(&diag, log.data, &context));
	ck_assert_int_eq(diag.column, 300);
	char *excerpt = strchr(diag.text, '\n') + 1;
	char *caret = strchr(excerpt, '\n') + 1;
	ck_assert_int_lt((int)(caret - excerpt), 140);
	ck_assert_int_eq(strncmp(excerpt, "  ...a", 6), 0);
	ck_assert_int_eq(excerpt[strchr(caret, '^') - caret], 'Y');
	diag_free(&diag);
	str_free(&log);
}
END_TEST

START_TEST(a_rejected_name_is_told_by_its_whole_expression)
{
	const char *log = logs[15].log;
	ck_assert(diag_rejects_name(log, "&p<decltype(kk)>"));
	ck_assert(!diag_rejects_name(log, "&p<decltype(k)>"));
	ck_assert(!diag_rejects_name(log, "&p<decltype(kk)"));
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	for (long n = 0;; n++) {
		struct diag diag;
		mem_fail_after(n);
		bool read = diag_read(&diag, logs[3].log, &context);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(read != failed);
		if (read) {
			diag_free(&diag);
			break;
		}
	}
}
END_TEST

SUITE(diag)
{
	Suite *suite = suite_create("diag");
	TCase *tc = suite_add_case(suite, "logs");
	tcase_add_tests(tc, (int)countof(logs), logs_are_shown_as_gcc_shows_diagnostics,
		every_beginning_of_a_log_is_read_without_harm);
	tcase_add_loop_test(tc, a_log_is_shown_alike_wherever_its_source_lies, 0, 2);
	tcase_add_tests(tc, 1, long_lines_are_cut_around_the_caret,
		a_rejected_name_is_told_by_its_whole_expression, want_of_memory_leaves_nothing);
	return suite;
}

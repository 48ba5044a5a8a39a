/* SPDX-License-Identifier: MIT */
/*
 * What a source text includes, and the files that a compile may read.  NVRTC's own list of the files
 * that it opened (--fdevice-time-trace) is the measure: each file of the caller's in it must have
 * been found.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "cache/compiler.h"
#include "cache/includes.h"
#include "cache/reach.h"
#include "support/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *text;
	const char *names; /* with a | after each */
	bool has_macro, has_time, has_place;
} texts[] = {
	{"", "", false, false, false},
	{"#include \"a.h\"\n#include <b/c.h>", "\"a.h|<b/c.h|", false, false, false},
	{"  #  include/**/\"a.h\"", "\"a.h|", false, false, false},
	{"%:include <a.h>", "<a.h|", false, false, false},
	{"#inc\\\nlude \"a\\\r\n.h\"", "\"a.h|", false, false, false},
	{"#include_next <a.h>\n#embed \"b.bin\"", "<a.h|\"b.bin|", false, false, false},
	{"#if __has_include(<a.h>) || __has_include( \"b.h\" )", "<a.h|\"b.h|", false, false, false},
	{"#if 0\n#include \"a.h\"\n#endif\n// #include \"b.h\"", "\"a.h|\"b.h|", false, false, false},
	{"#include \"a.h\"\n#include \"a.h\"\n#include <a.h>", "\"a.h|<a.h|", false, false, false},
	{"#include NAME", "", true, false, false},
	{"# /**/ include NAME", "", true, false, false},
	{"#if __has_include(NAME)", "", true, false, false},
	{"int include = 3; int y = include + x; #define includes", "", false, false, false},
	{"#include \"no end\n", "", false, false, false},
	{"#include <>", "", false, false, false},
	{"char t[] = __TIME__;", "", false, true, false},
	{"char t[] = __DATE__;", "", false, true, false},
	{"assert(x);", "", false, false, true},
	{"const char *f = __FILE__;", "", false, false, true},
	{"int __FI\\\nLE__;", "", false, false, true},
};

START_TEST(texts_tell_what_they_include)
{
	struct includes found;
	size_t size = strlen(texts[_i].text);
	char *exact = mem_alloc(size + (size == 0)); /* nothing beyond its end is read */
	memcpy(exact, texts[_i].text, size);
	ck_assert(includes_scan(&found, exact, size));
	for (size_t i = 0; i < found.names.len; i++) {
		found.names.data[i] = found.names.data[i] ? found.names.data[i] : '|';
	}
	ck_assert_str_eq(found.names.len ? found.names.data : "", texts[_i].names);
	ck_assert_int_eq(found.has_macro, texts[_i].has_macro);
	ck_assert_int_eq(found.has_time, texts[_i].has_time);
	ck_assert_int_eq(found.has_place, texts[_i].has_place);
	includes_free(&found);
	mem_free(exact);
}
END_TEST

/* Words are looked for many letters at a time. */
START_TEST(words_are_found_wherever_they_stand)
{
	static const char *const words[] = {"include \"a\"", "embed <a>", "\\\ninclude\"a\"",
		"assert", "__FILE", "FILE__", "a_location", "_NAME__", "DATE__", "TIME__", "TIMESTAMP__"};
	enum { NAMES = 3, PLACES = 8 };
	int missed = 0;
	for (size_t w = 0; w < countof(words); w++) {
		size_t len = strlen(words[w]);
		for (size_t size = len; size < 100; size++) {
			for (size_t at = 0; at + len <= size; at++) {
				struct includes found;
				char *text = mem_alloc(size);
				memset(text, "iesatclmbE_"[at % 11], size);
				memcpy(text + at, words[w], len);
				if (at > 0) {
					text[at - 1] = '#';
				}
				missed += !includes_scan(&found, text, size)
					|| found.names.len != (w < NAMES ? 3 : 0)
					|| found.has_place != (w >= NAMES && w < PLACES)
					|| found.has_time != (w >= PLACES);
				includes_free(&found);
				mem_free(text);
			}
		}
	}
	ck_assert_int_eq(missed, 0);
}
END_TEST

/* The files of the caller's */

static char folder[512];

static void put(const char *name, const char *text)
{
	char path[700];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void make_project(void)
{
	snprintf(folder, sizeof(folder), "%s/reach-XXXXXX", KZ_TEST_BUILD);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	put("one/a.h", "#pragma once\n#include \"deep/b.h\"\n#include <c.h>\n");
	put("one/deep/b.h", "#pragma once\n#include \"../a.h\"\n#include \"d.h\"\n");
	put("one/deep/d.h", "#pragma once\n#if 1\n#include \"deep/../e.h\"\n#endif\n");
	put("one/e.h", "#pragma once\n#if __has_include(\"f.h\")\n#include \"f.h\"\n#endif\n");
	put("two/c.h", "#pragma once\n#include \"f.h\"\n");
	put("two/f.h", "#pragma once\n");
	put("two/vector_types.h", "#include_next <vector_types.h>\n"); /* before CUDA's */
}

static void remove_project(void)
{
	char command[600];
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* Whether one of the labels ends with a name. */
static bool has_label(const struct reach *reach, const char *name)
{
	for (size_t i = 0; i < reach->count; i++) {
		size_t len = strlen(reach->files[i].label);
		if (len >= strlen(name)
		    && strcmp(reach->files[i].label + len - strlen(name), name) == 0) {
			return true;
		}
	}
	return false;
}

/* How many of the caller's files in NVRTC's list were not found; how many there are. */
static int count_missed(const struct reach *reach, const char *trace, int *listed)
{
	int missed = 0;
	size_t len = strlen(folder);
	*listed = 0;
	for (const char *at = trace; (at = strstr(at, folder)); at += len) {
		const char *end = strchr(at, '"');
		char name[256];
		struct stat st;
		char path[900];
		snprintf(path, sizeof(path), "%.*s", (int)(end - at), at);
		const char *base = strrchr(path, '/');
		if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || !base) {
			continue; /* looked for in vain */
		}
		snprintf(name, sizeof(name), "%s", base + 1);
		++*listed;
		if (!has_label(reach, name)) {
			fprintf(stderr, "missed: %s\n", path);
			missed++;
		}
	}
	return missed;
}

/* With that option NVRTC leaks memory, which a sanitizer would report. */
#ifdef __SANITIZE_ADDRESS__
#define CAN_TRACE false
#else
#define CAN_TRACE true
#endif

static const char *const sources[] = {
	"#include <a.h>\n",
	"#include <a.h>\n#include <cuda_fp16.h>\n",
	"#include <cooperative_groups.h>\n#include \"a.h\"\n",
	"#include <curand_kernel.h>\n#include \"deep/d.h\"\n",
	"#include <cub/block/block_reduce.cuh>\n#include <c.h>\n",
};

START_TEST(no_file_that_nvrtc_opens_is_missed)
{
	make_project();
	char one[600], two[600], trace[600], option[700], error[400] = "";
	snprintf(one, sizeof(one), "%s/one", folder);
	snprintf(two, sizeof(two), "%s/two", folder);
	snprintf(trace, sizeof(trace), "%s/trace", folder);
	snprintf(option, sizeof(option), "--fdevice-time-trace=%s", trace);
	const char *const include[] = {one, two};
	struct rtc_request request = {
		.source = sources[_i],
		.include_dirs = include,
		.include_count = 2,
		.arch = "compute_75",
	};
	const struct compiler *compiler;
	struct reach reach;
	ck_assert_int_eq(compiler_get(&compiler, NULL), KZ_OK);
	reach_find(&reach, &request, compiler->include_dirs, compiler->include_count);
	ck_assert_ptr_null(reach.why_not);
	ck_assert(reach.on_disk && !reach.no_memory);

	struct rtc_image image;
	kz_error err = KZ_ERROR_INIT;
	const char *const options[] = {option};
	request.options = options;
	request.option_count = 1;
	kz_status st = rtc_compile(&image, &request, &err);
	snprintf(error, sizeof(error), "%s", err.message);
	kz_error_clear(&err);
	char *text = NULL;
	size_t size;
	int listed = 0;
	strcat(trace, ".json");
	if (st == KZ_OK && file_read(&text, &size, trace, NULL) == KZ_OK) {
		ck_assert_int_eq(count_missed(&reach, text, &listed), 0);
		ck_assert_int_gt(listed, 0);
	} else {
		/* Without CUDA's headers here, or without that option. */
		ck_assert_msg(st == KZ_OK || st == KZ_INVALID || strstr(error, "open source"),
			"%s", error);
	}
	mem_free(text);
	rtc_image_free(&image);
	reach_free(&reach);
	remove_project();
}
END_TEST

START_TEST(files_of_a_circle_are_found_once)
{
	make_project();
	char one[600];
	snprintf(one, sizeof(one), "%s/one", folder);
	const char *const include[] = {one};
	struct rtc_request request = {.source = "#include <a.h>\n", .include_dirs = include,
		.include_count = 1};
	struct reach reach;
	reach_find(&reach, &request, NULL, 0);
	ck_assert_ptr_null(reach.why_not);
	ck_assert_uint_eq(reach.count, 4); /* a, b, d, e */
	ck_assert_str_eq(reach.files[0].label, "0:a.h");
	reach_free(&reach);
	remove_project();
}
END_TEST

static const struct {
	struct rtc_request request;
	const char *why_not;
} opaque[] = {
	{{.source = "", .options = (const char *const[]){"--pch"}, .option_count = 1}, "option"},
	{{.source = "", .options = (const char *const[]){"-I"}, .option_count = 1}, "option"},
	{{.source = "", .options = (const char *const[]){"--time=-"}, .option_count = 1}, "option"},
	{{.source = "#include M\n"}, "macro"},
	{{.source = "__TIME__"}, "date or time"},
	{{.source = "", .defines = (const char *const[]){"X=__DATE__"}, .define_count = 1}, "date"},
	{{.source = "#include </dev/zero>\n"}, "regular"},
};

START_TEST(what_cannot_be_known_is_said)
{
	struct reach reach;
	reach_find(&reach, &opaque[_i].request, NULL, 0);
	ck_assert_ptr_nonnull(reach.why_not);
	ck_assert_msg(strstr(reach.why_not, opaque[_i].why_not), "%s", reach.why_not);
	reach_free(&reach);
}
END_TEST

START_TEST(a_header_in_memory_is_looked_for_nowhere_else)
{
	struct rtc_request request = {
		.source = "#include \"m.h\"\n",
		.header_names = (const char *const[]){"m.h"},
		.header_texts = (const char *const[]){""},
		.header_count = 1,
	};
	struct reach reach;
	reach_find(&reach, &request, NULL, 0);
	ck_assert(!reach.on_disk && !reach.why_not && reach.count == 0);
	reach_free(&reach);
}
END_TEST

SUITE(reach)
{
	Suite *suite = suite_create("reach");
	TCase *tc = tcase_create("reach");
	tcase_add_loop_test(tc, texts_tell_what_they_include, 0, (int)countof(texts));
	tcase_add_test(tc, words_are_found_wherever_they_stand);
	tcase_add_loop_test(tc, no_file_that_nvrtc_opens_is_missed, 0,
		CAN_TRACE ? (int)countof(sources) : 0);
	tcase_add_test(tc, files_of_a_circle_are_found_once);
	tcase_add_loop_test(tc, what_cannot_be_known_is_said, 0, (int)countof(opaque));
	tcase_add_test(tc, a_header_in_memory_is_looked_for_nowhere_else);
	suite_add_tcase(suite, tc);
	return suite;
}

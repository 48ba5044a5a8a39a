/* SPDX-License-Identifier: MIT */
/*
 * What a source text includes, and the files that a compile may read: each file of the caller's in
 * NVRTC's own list of those that it opened (--fdevice-time-trace) must have been found.  And stat
 * validation: a result holds as long as the files stay as they were, and no longer.  Each test has
 * a folder of its own, for files and for the cache.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "lib/cache/compiler.h"
#include "base/store.h"
#include "lib/cache/deps.h"
#include "lib/rtc/includes.h"
#include "support/compile_test.h"
#include "support/put_file.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
	{"#if __has_include(<a.h>) || __has_include( \"b.h\" )", "<a.h|\"b.h|", false, false,
		false},
	{"#if 0\n#include \"a.h\"\n#endif\n// #include \"b.h\"", "\"a.h|\"b.h|", false, false,
		false},
	{"#include \"a.h\"\n#include \"a.h\"\n#include <a.h>", "\"a.h|<a.h|", false, false, false},
	{"\?\?=include NAME", "", true, false, false},
	{"#inc\?\?/\nlude <a.h>", "", true, false, false},
	{"#include NAME", "", true, false, false},
	{"# /**/ include NAME", "", true, false, false},
	{"#if __has_include(NAME)", "", true, false, false},
	{"#define HAS __has_include\n#if HAS(<a.h>)", "", true, false, false},
	{"#ifdef __has_include\n#if defined ( __has_include )", "", false, false, false},
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
	struct includes found = {.names = STR_INIT};
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
		"assert", "__FILE", "FILE__", "a_location", "_NAME__", "DATE__", "TIME__",
		"TIMESTAMP__"};
	enum { NAMES = 3, PLACES = 8 };
	int missed = 0;
	for (size_t w = 0; w < countof(words); w++) {
		size_t len = strlen(words[w]);
		for (size_t size = len; size < 100; size++) {
			for (size_t at = 0; at + len <= size; at++) {
				struct includes found = {.names = STR_INIT};
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

static bool scan_and_find(struct deps_result *out, const struct rtc_request *request,
	const struct compiler *compiler)
{
	struct source_facts facts;
	*out = (struct deps_result){NULL, false, NULL};
	bool ok = source_scan(&facts, request->source);
	ok = ok && deps_find(out, request, &facts, compiler);
	source_free(&facts);
	return ok;
}

static char folder[512];

static void put(const char *name, const char *text)
{
	put_file(folder, name, text);
}

static void setup(void)
{
	snprintf(folder, sizeof(folder), "%s/deps-test-XXXXXX", KZ_TEST_BUILD);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	setenv("KUDZU_CACHE_DIR", folder, 1);
	unsetenv("KUDZU_CACHE");
}

static void teardown(void)
{
	char command[600];
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void make_project(void)
{
	put("one/a.h", "#pragma once\n#include \"deep/b.h\"\n#include <c.h>\n");
	put("one/deep/b.h", "#pragma once\n#include \"../a.h\"\n#include \"d.h\"\n");
	put("one/deep/d.h", "#pragma once\n#if 1\n#include \"deep/../e.h\"\n#endif\n");
	put("one/e.h", "#pragma once\n#if __has_include(\"f.h\")\n#include \"f.h\"\n#endif\n");
	put("two/c.h", "#pragma once\n#include \"f.h\"\n");
	put("two/f.h", "#pragma once\n");
	put("two/vector_types.h", "#include_next <vector_types.h>\n"); /* before CUDA's */
}

/* The label of a header of the caller's, by its number; NULL if there are fewer. */
static const char *label_of(const struct deps *deps, size_t number)
{
	const char *at = deps ? deps_files(deps) : NULL, *end = at ? at + deps->head.files_size
		: NULL;
	for (; at < end && number > 0; number--) {
		at += strlen(at) + 1 + sizeof(int64_t) + sizeof(struct hash);
	}
	return at < end ? at : NULL;
}

/* Whether one of the labels ends with a name. */
static bool has_label(const struct deps *deps, const char *name)
{
	const char *label;
	for (size_t i = 0; (label = label_of(deps, i)); i++) {
		size_t len = strlen(label);
		if (len >= strlen(name) && strcmp(label + len - strlen(name), name) == 0) {
			return true;
		}
	}
	return false;
}

/* How many of the caller's files in NVRTC's list were not found; how many there are. */
static int count_missed(const struct deps *deps, const char *trace, int *listed)
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
		if (!has_label(deps, name)) {
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
	struct deps_result found;
	ck_assert_int_eq(compiler_get(&compiler, NULL), KZ_OK);
	ck_assert(scan_and_find(&found, &request, compiler));
	ck_assert_ptr_null(found.why_not);
	ck_assert_ptr_nonnull(found.deps);

	struct rtc_image image;
	kz_error err = KZ_ERROR_INIT;
	const char *const options[] = {option};
	request.options = options;
	request.option_count = 1;
	kz_status st = support_compile(&image, &request, &err);
	snprintf(error, sizeof(error), "%s", err.message);
	kz_error_clear(&err);
	char *text = NULL;
	size_t size;
	int listed = 0;
	strcat(trace, ".json");
	if (st == KZ_OK && file_read(&text, &size, trace, NULL) == KZ_OK) {
		ck_assert_int_eq(count_missed(found.deps, text, &listed), 0);
		ck_assert_int_gt(listed, 0);
	} else {
		/* Without CUDA's headers here, or without that option. */
		ck_assert_msg(st == KZ_OK || st == KZ_INVALID || strstr(error, "open source"),
			"%s", error);
	}
	mem_free(text);
	rtc_image_free(&image);
	deps_release(found.deps);
}
END_TEST

static const struct compiler no_compiler;

START_TEST(files_of_a_circle_are_found_once)
{
	make_project();
	const char *const include[] = {"one"};
	struct rtc_request request = {.source = "#include <a.h>\n", .include_dirs = include,
		.include_count = 1};
	struct deps_result found;
	ck_assert(scan_and_find(&found, &request, &no_compiler));
	ck_assert_ptr_null(found.why_not);
	ck_assert_str_eq(label_of(found.deps, 0), "0:a.h");
	ck_assert_ptr_nonnull(label_of(found.deps, 3)); /* a, b, d, e */
	ck_assert_ptr_null(label_of(found.deps, 4));
	deps_release(found.deps);
}
END_TEST

static const struct {
	struct rtc_request request;
	const char *why_not;
} opaque[] = {
	{{.source = "", .options = (const char *const[]){"--pch"}, .option_count = 1}, "option"},
	{{.source = "", .options = (const char *const[]){"-I"}, .option_count = 1}, "option"},
	{{.source = "", .options = (const char *const[]){"--time=-"}, .option_count = 1}, "option"},
	{{.source = "", .options = (const char *const[]){" -Ifolder"}, .option_count = 1},
		"option"},
	{{.source = "", .options = (const char *const[]){"-Ifolder\t"}, .option_count = 1},
		"option"},
	{{.source = "", .options = (const char *const[]){"\n--time=-"}, .option_count = 1},
		"option"},
	{{.source = "#include M\n"}, "macro"},
	{{.source = "__TIME__"}, "date or time"},
	{{.source = "#include \"time.h\"\n"}, "date or time"},
	{{.source = "#include \"macro.h\"\n"}, "macro"},
	{{.source = "", .defines = (const char *const[]){"X=__DATE__"}, .define_count = 1}, "date"},
	{{.source = "#include </dev/zero>\n"}, "regular"},
};

START_TEST(what_cannot_be_known_is_said)
{
	struct deps_result found;
	put("time.h", "__TIME__");
	put("macro.h", "#include M\n");
	ck_assert(scan_and_find(&found, &opaque[_i].request, &no_compiler));
	ck_assert_ptr_nonnull(found.why_not);
	ck_assert_msg(strstr(found.why_not, opaque[_i].why_not), "%s", found.why_not);
	ck_assert_ptr_null(found.deps);
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
	struct deps_result found;
	put("m.h", "");
	ck_assert(scan_and_find(&found, &request, &no_compiler));
	ck_assert(!found.why_not && found.deps && !label_of(found.deps, 0));
	ck_assert_uint_eq(found.deps->head.own_size, 0);
	deps_release(found.deps);
}
END_TEST

/* A header of C++ includes that of libcu++, if that is there. */
START_TEST(the_headers_of_libcxx_behind_those_of_cxx_are_found)
{
	struct rtc_request request = {.source = "#include <limits>\n",
		.include_dirs = (const char *const[]){folder}, .include_count = 1};
	struct deps_result found;
	put("cuda/std/limits", "#include <more.h>\n");
	put("more.h", "");
	for (int i = 0; i < 2; i++) {
		request.no_prelude = i;
		ck_assert(scan_and_find(&found, &request, &no_compiler));
		ck_assert(!found.why_not && found.deps);
		ck_assert_int_eq(has_label(found.deps, "cuda/std/limits"), !request.no_prelude);
		ck_assert_int_eq(has_label(found.deps, "more.h"), !request.no_prelude);
		deps_release(found.deps);
	}
}
END_TEST

/* Stat validation */

static void run(const char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
}

static struct deps *find_deps(const char *source)
{
	static const char *const include[] = {"d", "missing", "e"};
	const struct rtc_request request = {.source = source, .include_dirs = include,
		.include_count = countof(include)};
	struct deps_result found;
	ck_assert(scan_and_find(&found, &request, &no_compiler));
	ck_assert_ptr_null(found.why_not);
	ck_assert_ptr_nonnull(found.deps);
	return found.deps;
}

static const struct {
	const char *command;
	bool holds;
} changes[] = {
	{"true", true}, {"cat d/file >/dev/null", true}, {"touch d/other", true},
	{"touch -d 2001-01-01 d/file", false}, {"printf 12 >d/file", false}, {"rm d/file", false},
	{"printf 2 >d/file && touch -r d/file2 d/file", false}, {"touch file", false},
	{"cp -p d/file d/new && mv d/new d/file", false},
	{"mkdir missing && touch missing/file", false},
	{"mkdir missing", true}, {"mv d f", false}, {"mkdir e && touch e/file", false},
	{"mkdir -p e/sub && touch e/sub/x", false}, {"ln -sf file3 d/link", false},
	{"rm d/link", false}, {"chmod 600 d/file", false},
	{"mv d/file2 f && cp -p f d/file2", false},
};

START_TEST(a_result_holds_until_a_file_changes)
{
	run("mkdir d && printf 1 >d/file && printf 1 >d/file2 && printf 1 >d/file3 && ln -s file2 "
		"d/link");
	struct deps *deps = find_deps("#include <file>\n#include <link>\n#include <sub/x>\n");
	ck_assert(deps->is_rested);
	ck_assert(deps_hold(deps, true));
	run(changes[_i].command);
	ck_assert_int_eq(deps_hold(deps, true), changes[_i].holds);
	deps_release(deps);
}
END_TEST

/* The file changes as fast as it can, in fewer ticks of the file system's clock than times. */
START_TEST(a_file_that_changes_within_a_tick_is_told_from_what_it_was)
{
	for (int i = 0; i < 20; i++) {
		put("d/file", "1");
		struct deps *deps = find_deps("#include <file>\n");
		put("d/file", "2");
		put("d/file", "1");
		ck_assert(!deps_hold(deps, true));
		deps_release(deps);
	}
}
END_TEST

START_TEST(paths_may_have_much_or_nothing_in_common)
{
	char source[1000], name[420];
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = name[200] = '\0';
	run("mkdir d");
	ck_assert_int_eq(mkdir(name, 0700), 0);
	name[200] = '/';
	name[400] = '\0';
	ck_assert_int_eq(mkdir(name, 0700), 0);
	snprintf(source, sizeof(source), "#include \"%s/y\"\n#include \"%s/z\"\n#include \"z\"\n",
		name, name);
	run("cd a*/a* && touch z");
	struct deps *deps = find_deps(source);
	ck_assert(deps_hold(deps, true));
	run("cd a*/a* && touch y");
	ck_assert(!deps_hold(deps, true));
	deps_release(deps);
}
END_TEST

/* The one entry that there is. */
static bool copy_key(void *arg, const struct store_entry *entry)
{
	str_addn(arg, entry->key, entry->key_size);
	return true;
}

/* A process finds nothing in its memory. */
static bool fork_finds(const char *source, struct deps_head *out)
{
	struct {
		struct deps_head head;
		int64_t hits;
	} *result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	ck_assert_ptr_ne(result, MAP_FAILED);
	pid_t child = fork();
	if (child == 0) {
		struct store_stats stats;
		struct deps *deps = find_deps(source);
		store_stats(store_default(), &stats);
		result->head = deps->head;
		result->hits = stats.gets[STORE_HIT];
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	bool hit = result->hits > 0;
	*out = result->head;
	munmap(result, sizeof(*result));
	return hit;
}

START_TEST(the_next_process_reads_no_header)
{
	struct deps_head one, other;
	put("d/file", "#include <b>\n");
	put("d/b", "int b;\n");
	ck_assert(!fork_finds("#include <file>\n", &one));
	ck_assert(fork_finds("#include <file>\nint a;\n", &other));
	ck_assert_mem_eq(&one, &other, sizeof(one));
	put("d/b", "int c;\n");
	ck_assert(fork_finds("#include <file>\n", &other)); /* which does not hold */
	ck_assert(!hash_equal(one.own_stats, other.own_stats));
	ck_assert(fork_finds("#include <file>\n", &one));
	ck_assert_mem_eq(&one, &other, sizeof(one));
}
END_TEST

START_TEST(an_entry_that_is_something_else_does_no_harm)
{
	static const char source[] = "#include <file>\n";
	struct deps_head good, other;
	struct str key = STR_INIT;
	char *entry;
	size_t size;
	put("d/file", "1");
	fork_finds(source, &good);
	ck_assert(store_walk(store_default(), copy_key, &key));
	ck_assert_int_eq(store_get(store_default(), key.data, key.len, &entry, &size), STORE_HIT);
	for (size_t i = 0; i < size; i++) {
		ck_assert(store_put(store_default(), key.data, key.len, entry, i));
		fork_finds(source, &other);
		ck_assert_msg(memcmp(&good, &other, sizeof(good)) == 0, "%zu bytes of it", i);
	}
	mem_free(entry);
	str_free(&key);
}
END_TEST

START_TEST(any_allocation_may_fail)
{
	bool failed = true;
	long n;
	make_project();
	const char *const include[] = {"one", "two"};
	struct rtc_request request = {.source = "#include <a.h>\n", .include_dirs = include,
		.include_count = 2};
	(void)store_default();
	for (n = 0; failed; n++) {
		struct deps_result found;
		mem_fail_after(n);
		bool ok = scan_and_find(&found, &request, &no_compiler);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(failed || ok);
		ck_assert(ok == (found.deps != NULL));
		deps_release(found.deps);
	}
	ck_assert_int_gt(n, 5);
}
END_TEST

SUITE(deps)
{
	Suite *suite = suite_create("deps");
	TCase *texts_case = tcase_create("texts");
	tcase_add_loop_test(texts_case, texts_tell_what_they_include, 0, (int)countof(texts));
	tcase_add_test(texts_case, words_are_found_wherever_they_stand);
	suite_add_tcase(suite, texts_case);
	TCase *tc = tcase_create("files");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, no_file_that_nvrtc_opens_is_missed, 0,
		CAN_TRACE ? (int)countof(sources) : 0);
	tcase_add_test(tc, files_of_a_circle_are_found_once);
	tcase_add_loop_test(tc, what_cannot_be_known_is_said, 0, (int)countof(opaque));
	tcase_add_test(tc, a_header_in_memory_is_looked_for_nowhere_else);
	tcase_add_test(tc, the_headers_of_libcxx_behind_those_of_cxx_are_found);
	tcase_add_loop_test(tc, a_result_holds_until_a_file_changes, 0, countof(changes));
	tcase_add_test(tc, a_file_that_changes_within_a_tick_is_told_from_what_it_was);
	tcase_add_test(tc, paths_may_have_much_or_nothing_in_common);
	tcase_add_test(tc, the_next_process_reads_no_header);
	tcase_add_test(tc, an_entry_that_is_something_else_does_no_harm);
	tcase_add_test(tc, any_allocation_may_fail);
	suite_add_tcase(suite, tc);
	return suite;
}

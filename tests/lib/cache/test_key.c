/* SPDX-License-Identifier: MIT */
/*
 * src/lib/cache/key.c, compiler.c: everything that an image depends on, changed in turn.  No
 * compiler runs: what is compared is the keys.  What the caller asks for is a table of requests, of
 * which no two may have one key; what is installed is a folder that looks like a toolkit, seen by a
 * process of its own each time, as a process looks only once.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "lib/cache/key.h"
#include "support/suite.h"

#include <kudzu/version.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[256];
static char one[300], two[300]; /* folders with another v.h each */

static void put(const char *name, const char *text, size_t size)
{
	char path[600];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(text, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}

static void make(const char *name)
{
	char path[600];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void setup(void)
{
	snprintf(folder, sizeof(folder), "%s/key-test-XXXXXX", KZ_TEST_BUILD);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(one, sizeof(one), "%s/one", folder);
	snprintf(two, sizeof(two), "%s/two", folder);
	make("one");
	make("two");
	put_text("one/v.h", "int one;\n");
	put_text("two/v.h", "int two;\n");
}

static void teardown(void)
{
	char command[300];
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* --- What the caller asks for --- */

#define LIST(...) (const char *const[]){__VA_ARGS__}
#define SOURCE .source = "#include <v.h>\nint a;\n"
#define HEADERS(count, name_list, text_list) \
	.header_count = count, .header_names = name_list, .header_texts = text_list

static const struct rtc_request requests[] = {
	{SOURCE},
	{.source = "#include <v.h>\nint b;\n"},
	{.source = "#include <v.h>\nint a;\n\n"},
	{SOURCE, .name = "other.cu"},
	{SOURCE, .defines = LIST("A"), .define_count = 1},
	{SOURCE, .defines = LIST("A=2"), .define_count = 1},
	{SOURCE, .defines = LIST("A", "B"), .define_count = 2},
	{SOURCE, .defines = LIST("B", "A"), .define_count = 2},
	{SOURCE, .defines = LIST("A B"), .define_count = 1},
	{SOURCE, .instances = LIST("A"), .instance_count = 1},
	{SOURCE, .instances = LIST("A", "B"), .instance_count = 2},
	{SOURCE, .options = LIST("A"), .option_count = 1},
	{SOURCE, .options = LIST("A", "B"), .option_count = 2},
	{SOURCE, .options = LIST("B", "A"), .option_count = 2},
	{SOURCE, .arch = "sm_80"},
	{SOURCE, .arch = "compute_80"},
	{SOURCE, .arch = "lto_80"},
	{SOURCE, .device_cc = 80},
	{SOURCE, .device_cc = 80, .ptx_only = true},
	{SOURCE, .line_info = true},
	{SOURCE, .debug = true},
	{SOURCE, .fast_math = true},
	{SOURCE, .no_prelude = true},
	{SOURCE, .relocatable = true},
	{SOURCE, .pch = true},
	{SOURCE, .fast_compile = 1},
	{SOURCE, .fast_compile = 2},
	{SOURCE, .max_registers = 32},
	{SOURCE, .std = "c++14"},
	{SOURCE, .std = "c++20"},
	{SOURCE, HEADERS(1, LIST("m.h"), LIST("1"))},
	{SOURCE, HEADERS(1, LIST("m.h"), LIST("2"))},
	{SOURCE, HEADERS(1, LIST("n.h"), LIST("1"))},
	{SOURCE, HEADERS(2, LIST("m.h", "n.h"), LIST("1", "2"))},
	{SOURCE, HEADERS(2, LIST("m.h", "n.h"), LIST("2", "1"))},
	{SOURCE, HEADERS(1, LIST("v.h"), LIST("1"))},
	{SOURCE, .include_dirs = LIST(one), .include_count = 1},
	{SOURCE, .include_dirs = LIST(two), .include_count = 1},
	{SOURCE, .include_dirs = LIST(one, two), .include_count = 2},
	{SOURCE, .include_dirs = LIST(two, one), .include_count = 2},
};

static void make_key(struct key *out, const struct rtc_request *request,
	const struct compiler *compiler)
{
	struct source_facts facts;
	ck_assert(source_scan(&facts, request->source));
	ck_assert(key_make(out, request, &facts, compiler));
	source_free(&facts);
}

static struct hash hash_of_key(const struct rtc_request *request, const struct compiler *compiler)
{
	struct key key;
	make_key(&key, request, compiler);
	ck_assert_ptr_null(key.why_not);
	struct hash hash = hash_of(key.bytes.data, key.bytes.len);
	key_free(&key);
	return hash;
}

START_TEST(no_two_requests_have_one_key)
{
	static const struct compiler compiler = {.identity = "none", .path = "none"};
	struct hash hashes[countof(requests)];
	for (size_t i = 0; i < countof(requests); i++) {
		hashes[i] = hash_of_key(&requests[i], &compiler);
		ck_assert(hash_equal(hashes[i], hash_of_key(&requests[i], &compiler)));
		for (size_t k = 0; k < i; k++) {
			ck_assert_msg(!hash_equal(hashes[i], hashes[k]), "%zu and %zu", i, k);
		}
	}
}
END_TEST

/* As programs of another kind see it. */
START_TEST(a_key_has_the_build_id)
{
	static const struct compiler compiler = {.identity = "none", .path = "none"};
	char command[64], line[256], id[65] = "";
	struct key key;
	struct key_part part;
	snprintf(command, sizeof(command), "readelf -n /proc/%d/exe", (int)getpid());
	FILE *out = popen(command, "re");
	while (out && fgets(line, sizeof(line), out)) {
		(void)sscanf(line, " Build ID: %64s", id);
	}
	ck_assert_int_eq(pclose(out), 0);
	make_key(&key, &requests[0], &compiler);
	ck_assert(key_find(&part, key.bytes.data, key.bytes.len, "kudzu"));
	ck_assert_uint_eq(part.size, 3 + strlen(id) / 2);
	ck_assert_int_eq(part.data[1], KZ_VERSION_MINOR);
	for (size_t i = 0; i < strlen(id) / 2; i++) {
		unsigned byte;
		ck_assert_int_eq(sscanf(id + 2 * i, "%2x", &byte), 1);
		ck_assert_uint_eq((uint8_t)part.data[3 + i], byte);
	}
	key_free(&key);
}
END_TEST

/* --- What is installed --- */

static const struct rtc_request uses_cuda = {.source = "#include <cuda_fp16.h>\nint a;\n"};

/* The key of uses_cuda in a new process; of all zeros if there is none. */
static struct hash key_of_new_process(void)
{
	struct hash hash = {0, 0};
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		const struct compiler *compiler;
		setenv("KUDZU_NVRTC", folder, 1);
		if (compiler_get(&compiler, NULL) == KZ_OK) {
			hash = hash_of_key(&uses_cuda, compiler);
		}
		_exit(write(ends[1], &hash, sizeof(hash)) != sizeof(hash));
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &hash, sizeof(hash)), sizeof(hash));
	close(ends[0]);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	return hash;
}

enum { LIBRARY_SIZE = 20000 };

/* A file with one byte of its own. */
static void put_library(const char *name, size_t at)
{
	static char bytes[LIBRARY_SIZE];
	memset(bytes, 'x', sizeof(bytes));
	bytes[at] = 'y';
	put(name, bytes, sizeof(bytes));
}

static void put_toolkit(void)
{
	make("lib64");
	make("include");
	put_library("lib64/libnvrtc.so.13", 5000);
	put_library("lib64/libnvrtc-builtins.so.13.0", 5000);
	put_text("include/cuda_fp16.h", "#include \"cuda_fp16.hpp\"\n");
	put_text("include/cuda_fp16.hpp", "#define Y 1\n");
	put_text("include/cuda_z.h", "#define Z 1\n");
}

/* NVRTC to the last byte; what is not used is no part of the key. */
START_TEST(what_is_installed_is_in_the_key)
{
	put_toolkit();
	const struct hash none = {0, 0}, base = key_of_new_process();
	struct hash seen[] = {base, base, base, base, base, base};
	ck_assert(!hash_equal(base, none));
	put_text("include/cuda_z.h", "#define Z 2\n");
	ck_assert(hash_equal(key_of_new_process(), base));
	put_library("lib64/libnvrtc.so.13", 100);
	seen[1] = key_of_new_process();
	put_library("lib64/libnvrtc.so.13", LIBRARY_SIZE / 2);
	seen[2] = key_of_new_process();
	put_library("lib64/libnvrtc-builtins.so.13.0", 100);
	seen[3] = key_of_new_process();
	put_library("lib64/libnvrtc-builtins.so.13.1", 100);
	seen[4] = key_of_new_process();
	put_text("include/cuda_fp16.hpp", "#define Y 2\n");
	seen[5] = key_of_new_process();
	for (size_t i = 0; i < countof(seen); i++) {
		for (size_t k = 0; k < i; k++) {
			ck_assert_msg(!hash_equal(seen[i], seen[k]), "%zu and %zu", i, k);
		}
	}
}
END_TEST

SUITE(key)
{
	Suite *suite = suite_create("key");
	TCase *tc = tcase_create("parts");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, no_two_requests_have_one_key);
	tcase_add_test(tc, a_key_has_the_build_id);
	tcase_add_test(tc, what_is_installed_is_in_the_key);
	suite_add_tcase(suite, tc);
	return suite;
}

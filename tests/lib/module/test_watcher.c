/* SPDX-License-Identifier: MIT */
/* src/lib/module/watcher.c: a file is compiled again when it or a header of it changes. */
#include "base/common.h"

#include "base/alloc.h"
#include "support/kernel_file.h"
#include "support/suite.h"

#include <sys/time.h>

#define F(body) "__global__ void f(int *x) { *x = " body "; }\n"

static kz_watcher *watch(const char *name, const kz_compile_options *options)
{
	kz_watcher *watcher = NULL;
	ok(kz_watcher_create(&watcher, dev, file_path(name), options, &err));
	ck_assert_ptr_null(kz_watcher_module(watcher));
	ck_assert_int_eq(kz_watcher_has_changed(watcher), access(file_path(name), F_OK) == 0);
	return watcher;
}

static int poll(kz_watcher *watcher)
{
	int is_new = -1;
	ok(kz_watcher_poll(&is_new, watcher, &err));
	ck_assert_int_eq(kz_watcher_has_changed(watcher), 0);
	return is_new;
}

/* There is a new module, whose kernel writes this value, and then nothing new. */
static void expect(kz_watcher *watcher, int value)
{
	ck_assert_int_eq(kz_watcher_has_changed(watcher), 1);
	ck_assert_int_eq(poll(watcher), 1);
	ck_assert_int_eq(run_f(kz_watcher_module(watcher)), value);
	ck_assert_int_eq(poll(watcher), 0);
}

/* Editors rename a file, or write it in place. */
static void write_in_place(const char *name, const char *text)
{
	ck_assert(file_put(file_path(name), text, strlen(text)));
}

FILE_TEST(an_edit_gives_new_kernels)
{
	put("f.cu", F("1"));
	kz_watcher *watcher = watch("f.cu", NULL);
	expect(watcher, 1);
	put("f.cu", F("2"));
	expect(watcher, 2);
	write_in_place("f.cu", F("3")); /* of the same size */
	expect(watcher, 3);
	write_in_place("f.cu", F("1 + 3"));
	expect(watcher, 4);
	put("f.cu", F("3")); /* what an earlier state was */
	expect(watcher, 3);
	kz_watcher_release(watcher);
}

FILE_TEST(edits_right_after_each_other_are_all_seen)
{
	char text[100];
	put("f.cu", F("0"));
	kz_watcher *watcher = watch("f.cu", NULL);
	for (int i = 0; i < 3; i++) {
		expect(watcher, i);
		snprintf(text, sizeof(text), F("%d"), i + 1);
		write_in_place("f.cu", text);
	}
	kz_watcher_release(watcher);
}

FILE_TEST(a_file_that_is_only_touched_is_not_compiled)
{
	put("f.cu", F("1"));
	kz_watcher *watcher = watch("f.cu", NULL);
	expect(watcher, 1);
	kz_module *before = kz_watcher_module(watcher);
	ck_assert_int_eq(utimes(file_path("f.cu"), NULL), 0);
	ck_assert_int_eq(poll(watcher), 0);
	put("f.cu", F("1"));
	ck_assert_int_eq(poll(watcher), 0);
	ck_assert_ptr_eq(kz_watcher_module(watcher), before);
	kz_watcher_release(watcher);
}

FILE_TEST(headers_are_followed)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	char dir[600];
	const char *dirs[] = {dir, NULL};
	snprintf(dir, sizeof(dir), "%s", file_path("sub"));
	options.include_dirs = dirs;
	put("f.cu", "#include \"a.h\"\n#if __has_include(<late.h>)\n#include <late.h>\n#endif\n"
		F("A"));
	put("a.h", "#include \"b.h\"\n#define A (B + 1)\n");
	put("sub/b.h", "#define B 1\n");
	kz_watcher *watcher = watch("f.cu", &options);
	memset(dir, '?', 10); /* the options were copied */
	dirs[0] = NULL;
	expect(watcher, 2);
	put("sub/b.h", "#define B 5\n");
	expect(watcher, 6);
	put("a.h", "#include \"b.h\"\n#define A (B + 2)\n");
	expect(watcher, 7);
	put("sub/late.h", "#undef A\n#define A 100\n"); /* was not there */
	expect(watcher, 100);
	ck_assert_int_eq(unlink(file_path("sub/late.h")), 0);
	expect(watcher, 7);
	put("b.h", "#define B 50\n"); /* in the folder of the file, which is searched first */
	expect(watcher, 52);
	kz_watcher_release(watcher);
}

/* The cache cannot keep what such sources become, but their other headers are known. */
FILE_TEST(headers_are_followed_beside_what_no_cache_can_know)
{
	put("f.cu", "#define NAME \"b.h\"\n#include NAME\n#include \"a.h\"\n"
		"__device__ const char when[] = __TIME__;\n" F("A + B"));
	put("a.h", "#define A 1\n");
	put("b.h", "#define B 10\n");
	kz_watcher *watcher = watch("f.cu", NULL);
	expect(watcher, 11);
	put("a.h", "#define A 2\n#ifdef __DATE__\n#endif\n");
	expect(watcher, 12);
	kz_watcher_release(watcher);
}

FILE_TEST(a_broken_edit_is_reported_once_and_the_old_kernels_stay)
{
	put("a.h", "#define A 1\n");
	put("f.cu", "#include \"a.h\"\n" F("A"));
	kz_watcher *watcher = watch("f.cu", NULL);
	expect(watcher, 1);
	kz_module *before = kz_watcher_module(watcher);
	int is_new = -1;
	put("f.cu", "#include \"a.h\"\n\n" F("A +"));
	ck_assert_int_eq(kz_watcher_poll(&is_new, watcher, &err), KZ_COMPILE);
	ck_assert_int_eq(is_new, 0);
	ck_assert_int_eq(err.line, 3);
	ck_assert_str_eq(err.file, file_path("f.cu"));
	kz_error_clear(&err);
	ck_assert_int_eq(poll(watcher), 0);
	ck_assert_ptr_eq(kz_watcher_module(watcher), before);
	ck_assert_int_eq(run_f(before), 1);
	put("a.h", "#define A 2 \\\n\n"); /* mends nothing */
	fails(kz_watcher_poll(&is_new, watcher, &err), KZ_COMPILE, "expected an expression");
	put("a.h", "#define A 3 + A1\n#define A1 1 + A2 +\n");
	put("f.cu", "#include \"a.h\"\n#include \"c.h\"\n" F("A"));
	fails(kz_watcher_poll(NULL, watcher, &err), KZ_COMPILE, "c.h");
	put("a.h", "#define A 3\n");
	fails(kz_watcher_poll(NULL, watcher, &err), KZ_COMPILE, "c.h");
	put("c.h", "\n"); /* the header that was missing */
	expect(watcher, 3);
	kz_watcher_release(watcher);
}

FILE_TEST(a_file_that_is_missing_is_reported_once)
{
	kz_watcher *watcher = watch("f.cu", NULL);
	fails(kz_watcher_poll(NULL, watcher, &err), KZ_NOT_FOUND, file_path("f.cu"));
	ck_assert_int_eq(poll(watcher), 0);
	put("f.cu", F("1"));
	expect(watcher, 1);
	ck_assert_int_eq(unlink(file_path("f.cu")), 0);
	ck_assert_int_eq(kz_watcher_has_changed(watcher), 0);
	fails(kz_watcher_poll(NULL, watcher, &err), KZ_NOT_FOUND, file_path("f.cu"));
	ck_assert_int_eq(poll(watcher), 0);
	ck_assert_int_eq(run_f(kz_watcher_module(watcher)), 1);
	put("f.cu", F("2"));
	expect(watcher, 2);
	put_bytes("f.cu", "x\0", 2);
	fails(kz_watcher_poll(NULL, watcher, &err), KZ_INVALID, "byte 2 is 0");
	ck_assert_int_eq(run_f(kz_watcher_module(watcher)), 2);
	kz_watcher_release(watcher);
}

FILE_TEST(kernels_from_before_stay_while_their_module_is_held)
{
	put("f.cu", "__device__ int state = 5;\n" F("state++"));
	kz_watcher *watcher = watch("f.cu", NULL);
	expect(watcher, 5);
	kz_module *held = kz_module_retain(kz_watcher_module(watcher));
	kz_kernel *f = NULL;
	ok(kz_module_kernel(&f, held, "f", &err));
	put("f.cu", F("1"));
	expect(watcher, 1);
	int value = 0;
	ok(kz_launch(f, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_INOUT(&value, sizeof(value)))));
	ck_assert_int_eq(value, 6);
	kz_watcher_release(watcher);
	ck_assert_int_eq(run_f(held), 7);
	kz_module_release(held);
	fails(kz_launch(f, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_INOUT(&value, sizeof(value)))), KZ_INVALID, "was released");
	ck_assert_ptr_null(kz_module_retain(held));
	ck_assert_ptr_null(kz_module_retain(NULL));
}

FILE_TEST(images_are_watched_too)
{
	const char *ptx[] = {F("1"), F("2")};
	kz_watcher *watcher = NULL;
	for (int i = 0; i < 2; i++) {
		kz_image *image = NULL;
		ok(kz_compile(&image, ptx[i], NULL, &err));
		ok(kz_image_save(image, file_path("f.ptx"), &err));
		kz_image_release(image);
		watcher = watcher ? watcher : watch("f.ptx", NULL);
		expect(watcher, i + 1);
	}
	put("f.ptx", ".version 7.0\n.target sm_75\n.address_size 64\nnonsense\n");
	fails(kz_watcher_poll(NULL, watcher, &err), KZ_BAD_IMAGE, "");
	ck_assert_int_eq(run_f(kz_watcher_module(watcher)), 2);
	put("f.ptx", F("3")); /* a source now */
	expect(watcher, 3);
	kz_watcher_release(watcher);
}

FILE_TEST(what_cannot_be_watched_is_refused)
{
	kz_watcher *watcher = NULL;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	fails(kz_watcher_create(NULL, dev, "f.cu", NULL, &err), KZ_INVALID, "out");
	fails(kz_watcher_create(&watcher, NULL, "f.cu", NULL, &err), KZ_INVALID, "device");
	fails(kz_watcher_create(&watcher, dev, NULL, NULL, &err), KZ_INVALID, "path of a file");
	options.fast_compile = 9;
	fails(kz_watcher_create(&watcher, dev, "f.cu", &options, &err), KZ_INVALID, "");
	options.size = 1;
	fails(kz_watcher_create(&watcher, dev, "f.cu", &options, &err), KZ_INVALID, "has size 1");
	ck_assert_ptr_null(watcher);
	ck_assert_ptr_null(kz_watcher_module(NULL));
	ck_assert_int_eq(kz_watcher_has_changed(NULL), 0);
	kz_watcher_release(NULL);
}

FILE_TEST(every_failing_allocation_of_a_poll_is_reported_and_tried_again)
{
	const char *const defines[] = {"ONE=1", NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.defines = defines;
	put("a.h", "#define A 1\n");
	put("f.cu", "#include \"a.h\"\n" F("A + ONE"));
	kz_watcher *watcher = watch("f.cu", &options);
	expect(watcher, 2); /* now the cache has it, and a poll is quick */
	kz_watcher_release(watcher);
	bool done = false;
	for (long n = 0; !done; n++) {
		kz_status st;
		mem_fail_after(n);
		watcher = NULL;
		st = kz_watcher_create(&watcher, dev, file_path("f.cu"), &options, &err);
		st = st ? st : kz_watcher_poll(NULL, watcher, &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
		done = !failed;
		if (st && watcher) {
			kz_error_clear(&err);
			expect(watcher, 2);
		}
		kz_error_clear(&err);
		kz_watcher_release(watcher);
	}
}

SUITE(watcher)
{
	Suite *s = suite_create("watcher");
	TCase *tc = suite_add_case(s, "changes");
	tcase_add_tests(tc, support_device_count(), an_edit_gives_new_kernels, headers_are_followed,
		edits_right_after_each_other_are_all_seen, images_are_watched_too,
		a_file_that_is_only_touched_is_not_compiled,
		headers_are_followed_beside_what_no_cache_can_know,
		a_broken_edit_is_reported_once_and_the_old_kernels_stay,
		a_file_that_is_missing_is_reported_once,
		kernels_from_before_stay_while_their_module_is_held);
	tc = suite_add_case(s, "refusals");
	tcase_add_tests(tc, 1, what_cannot_be_watched_is_refused,
		every_failing_allocation_of_a_poll_is_reported_and_tried_again);
	return s;
}

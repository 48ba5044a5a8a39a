/* SPDX-License-Identifier: MIT */
/*
 * The linker with PTX made to hurt: cut off anywhere, damaged at random, twice the same, with the
 * damaged beside the good.  It is refused with a reason, or the result is PTX again.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cpu/ptx/ptx_link.h"
#include "support/suite.h"

#include <check.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

static const char good[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
	".extern .func helper();\n.visible .global .u32 shared_word;\n"
	".visible .entry own_kernel()\n{\n\tcall helper, ();\n\tret;\n}\n";

static glob_t samples;

static void find_samples(void)
{
	ck_assert_int_eq(glob(KZ_TEST_DIR "/data/ptx/*/*/input.ptx", 0, NULL, &samples), 0);
	ck_assert_uint_gt(samples.gl_pathc, 10);
}

static void free_samples(void)
{
	globfree(&samples);
}

/* What comes out, if it does, has to be PTX: the linker copies what it does not know. */
static void link_both(const char *text, size_t size, const char *other)
{
	struct linker *linker = linker_create();
	struct ptx_diag diag = {.line = 0};
	struct str errors = STR_INIT;
	struct str out = STR_INIT;
	ck_assert_ptr_nonnull(linker);
	char *copy = malloc(size + 1);
	memcpy(copy, text, size);
	enum link_status first = linker_add(linker, copy, size, "first", &diag, &errors);
	free(copy);
	ck_assert_msg(first != LINK_BAD_PTX || diag.message[0] != '\0', "no reason");
	ck_assert_msg(first != LINK_BAD_SYMBOL || errors.len > 0, "no reason");
	linker_add(linker, other, strlen(other), "second", &diag, &errors);
	size_t reasons = errors.len;
	enum link_status last = linker_finish(linker, &out, &errors);
	ck_assert_msg(last == LINK_OK || errors.len > reasons, "no reason");
	ck_assert_int_ne(last, LINK_NO_MEMORY);
	ck_assert(last != LINK_OK || strncmp(out.data, ".version", 8) == 0);
	str_free(&errors);
	str_free(&out);
	linker_release(linker);
}

static char *read_sample(size_t index, size_t *size)
{
	char *text;
	ck_assert_int_eq(file_read(&text, size, samples.gl_pathv[index], NULL), KZ_OK);
	return text;
}

START_TEST(linker_takes_text_that_is_cut_off)
{
	for (size_t i = 0; i < samples.gl_pathc; i++) {
		size_t size;
		char *text = read_sample(i, &size);
		size_t step = size / 64 + 1;
		for (size_t len = 0; len <= size; len += step) {
			link_both(text, len, good);
		}
		link_both(text, size, text);
		mem_free(text);
	}
}
END_TEST

START_TEST(linker_takes_text_that_is_damaged)
{
	static const char bytes[] = ".{}()[],;:@%$\"\\/*-_ \n\t\r0a\xff";
	uint64_t random = 88172645463325252u + (uint64_t)_i;
	for (size_t i = 0; i < samples.gl_pathc; i++) {
		size_t size;
		char *text = read_sample(i, &size);
		for (int round = 0; size > 0 && round < 16; round++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			char *at = &text[random % size];
			char old = *at;
			*at = bytes[(random >> 40) % sizeof(bytes)];
			link_both(text, size, good);
			*at = round % 2 ? old : *at;
		}
		mem_free(text);
	}
}
END_TEST

START_TEST(linker_tells_when_memory_runs_out)
{
	for (int n = 0, done = 0; !done; n++) {
		struct ptx_diag diag = {.line = 0};
		struct str errors = STR_INIT;
		struct str out = STR_INIT;
		mem_fail_after(n);
		struct linker *linker = linker_create();
		enum link_status status = linker == NULL ? LINK_NO_MEMORY
			: linker_add(linker, good, strlen(good), "good", &diag, &errors);
		if (status == LINK_OK) {
			status = linker_finish(linker, &out, &errors);
		}
		done = !mem_has_failed();
		mem_fail_after(-1);
		ck_assert(done ? status == LINK_BAD_SYMBOL : status != LINK_OK);
		str_free(&errors);
		str_free(&out);
		linker_release(linker);
	}
}
END_TEST

SUITE(link)
{
	Suite *suite = suite_create("link");
	TCase *tc = tcase_create("hostile");
	tcase_add_checked_fixture(tc, find_samples, free_samples);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, linker_takes_text_that_is_cut_off);
	tcase_add_loop_test(tc, linker_takes_text_that_is_damaged, 0, 4);
	tcase_add_test(tc, linker_tells_when_memory_runs_out);
	suite_add_tcase(suite, tc);
	return suite;
}

/* SPDX-License-Identifier: MIT */
/*
 * The runtime of ours beside NVIDIA's: its header, where that is installed, the names that its
 * library has, its texts.
 */
#include "base/common.h"

#include "layout.h"
#include "program.h"

#include "cudart/exports.h"
#include "support/suite.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(every_layout_is_that_of_the_header)
{
	if (layout_real_count == 0) {
		fprintf(stderr, "skipped: no <cuda_runtime_api.h> of CUDA %d\n", KZ_CUDART);
		return;
	}
	ck_assert_uint_eq(layout_real_count, layout_ours_count);
	for (size_t i = 0; i < layout_ours_count; i++) {
		const struct layout_row *ours = &layout_ours[i], *real = &layout_real[i];
		ck_assert_str_eq(ours->name, real->name);
		/* A toolkit may be older or newer. */
		if (strcmp(ours->name, "CUDART_VERSION") != 0) {
			ck_assert_msg(ours->value == real->value, "%s is %lld, of CUDA %lld",
				ours->name, ours->value, real->value);
		}
	}
}
END_TEST

/* Every name that the table gives to this library. */
static const char *const names[] = {
#define CALL(name, in, ...) IN_##in(#name,)
#define BARE(name, in, ...) IN_##in(#name,)
#define STREAM(name, in, ...) IN_##in(#name, #name "_ptsz",)
#define OWN(name, in) IN_##in(#name,)
#define NONE(name, in) IN_##in(#name,)
#include "cudart/exports.def"
};

START_TEST(the_library_has_the_names_of_the_table)
{
	ck_assert_uint_eq(countof(names), KZ_CUDART == 12 ? 435 : 422);
	for (size_t i = 0; i < countof(names); i++) {
		ck_assert_msg(dlvsym(RTLD_DEFAULT, names[i],
			KZ_CUDART == 12 ? "libcudart.so.12" : "libcudart.so.13"),
			"the library has no %s", names[i]);
	}
}
END_TEST

/* NVIDIA's library, from where the toolkit has it; NULL after a note. */
static void *open_real(void)
{
#ifdef KZ_TEST_CUDA_INCLUDE
	static const char *const folders[] = {"lib64", "lib"};
	char path[500];
	for (size_t i = 0; i < countof(folders); i++) {
		snprintf(path, sizeof(path), KZ_TEST_CUDA_INCLUDE "/../%s/libcudart.so.%d",
			folders[i], KZ_CUDART);
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (library) {
			return library;
		}
	}
#endif
	fprintf(stderr, "skipped: NVIDIA's runtime of CUDA %d is not here\n", KZ_CUDART);
	return NULL;
}

START_TEST(nvidias_library_has_the_names_of_the_table)
{
	void *real = open_real();
	for (size_t i = 0; real && i < countof(names); i++) {
		ck_assert_msg(dlsym(real, names[i]), "NVIDIA's library has no %s", names[i]);
	}
}
END_TEST

START_TEST(names_and_texts_of_errors_are_nvidias)
{
	typedef const char *describe(cudaError_t code);
	void *real = open_real();
	if (!real) {
		return;
	}
	describe *name = (describe *)dlsym(real, "cudaGetErrorName");
	describe *text = (describe *)dlsym(real, "cudaGetErrorString");
	for (int code = -1; code < 10010; code++) {
		ck_assert_str_eq(cudaGetErrorName((cudaError_t)code), name((cudaError_t)code));
		ck_assert_str_eq(cudaGetErrorString((cudaError_t)code), text((cudaError_t)code));
	}
}
END_TEST

START_TEST(what_is_not_done_says_so)
{
	typedef cudaError_t call(void);
	call *missing = (call *)dlsym(RTLD_DEFAULT, "cudaGLGetDevices");
	setenv("KUDZU_LOG", "1", 1);
	FILE *file = tmpfile();
	ck_assert_ptr_nonnull(file);
	dup2(fileno(file), STDERR_FILENO);
	program_fails(missing(), cudaErrorNotSupported);
	char said[200] = "";
	rewind(file);
	ck_assert_ptr_nonnull(fgets(said, sizeof(said), file));
	ck_assert_str_eq(said, "kudzu cudart: cudaGLGetDevices is not supported\n");
	program_fails(cudaGetLastError(), cudaErrorNotSupported);
	program_ok(cudaGetLastError());
}
END_TEST

SUITE(cudart_abi)
{
	Suite *suite = suite_create("cudart_abi");
	TCase *tc = suite_add_case(suite, "header");
	tcase_add_test(tc, every_layout_is_that_of_the_header);
	tc = suite_add_case(suite, "names");
	tcase_add_test(tc, the_library_has_the_names_of_the_table);
	tcase_add_test(tc, nvidias_library_has_the_names_of_the_table);
	tcase_add_test(tc, names_and_texts_of_errors_are_nvidias);
	tcase_add_test(tc, what_is_not_done_says_so);
	return suite;
}

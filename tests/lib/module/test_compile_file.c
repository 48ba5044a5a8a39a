/* SPDX-License-Identifier: MIT */
/* src/lib/module/compile_file.c: sources in files, with their headers; and files that are none. */
#include "base/common.h"

#include "support/kernel_file.h"
#include "support/suite.h"

#define BOM "\xef\xbb\xbf"

static int compile_and_run(const char *path, const kz_compile_options *options)
{
	kz_module *mod = NULL;
	ok(kz_module_compile_file(&mod, dev, path, options, &err));
	int value = run_f(mod);
	kz_module_release(mod);
	return value;
}

FILE_TEST(a_file_compiles_with_the_headers_beside_it)
{
	put("sub/two.h", "#include \"../three.h\"\n#define TWO (THREE - 1)\n");
	put("three.h", "#define THREE 3\n");
	put("sub/f.cu", "#include \"two.h\"\n__global__ void f(int *x) { *x = TWO; }\n");
	ck_assert_int_eq(compile_and_run(file_path("sub/f.cu"), NULL), 2);
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(compile_and_run("sub/f.cu", NULL), 2);
	ck_assert_int_eq(chdir("sub"), 0);
	ck_assert_int_eq(compile_and_run("f.cu", NULL), 2);
}

/* With lines for debuggers the name may become another path to the file. */
FILE_TEST(the_folder_stays_under_other_names)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	char dir[600];
	const char *const dirs[] = {dir, NULL};
	kz_module *mod = NULL;
	snprintf(dir, sizeof(dir), "%s", file_path("sub"));
	put("own.h", "#include <far.h>\n#define OWN FAR\n");
	put("sub/own.h", "#error the folder of the file comes first\n");
	put("sub/far.h", "#define FAR 4\n");
	put("f.cu", BOM "#include \"own.h\"\n__global__ void f(int *x) { *x = OWN; }\n");
	options.name = "other/name.cu";
	options.include_dirs = dirs;
	ck_assert_int_eq(compile_and_run(file_path("f.cu"), &options), 4);
	options.name = NULL;
	options.line_info = options.keep_source = 1;
	ck_assert_int_eq(compile_and_run(file_path("f.cu"), &options), 4);
	put("f.cu", "nonsense\n");
	options.name = "other/name.cu";
	options.keep_source = 0;
	ck_assert_int_eq(kz_module_compile_file(&mod, dev, file_path("f.cu"), &options, &err),
		KZ_COMPILE);
	ck_assert_str_eq(err.file, "other/name.cu");
	kz_error_clear(&err);
}

FILE_TEST(texts_of_all_editors_compile_and_errors_have_their_lines)
{
	static const char *const texts[] = {
		"__global__ void f(int *x)\n{\n\t*x = 7;\n}\n",
		"__global__ void f(int *x)\r\n{\r\n\t*x = 7;\r\n}\r\n",
		BOM "__global__ void f(int *x)\n{\n\t*x = 7;\n}",
	};
	char broken[200];
	kz_module *mod = NULL;
	for (size_t i = 0; i < countof(texts); i++) {
		put("f.cu", texts[i]);
		ck_assert_int_eq(compile_and_run(file_path("f.cu"), NULL), 7);
		snprintf(broken, sizeof(broken), "%s", texts[i]);
		*strchr(broken, '7') = ')';
		put("f.cu", broken);
		ck_assert_int_eq(kz_module_compile_file(&mod, dev, file_path("f.cu"), NULL, &err),
			KZ_COMPILE);
		ck_assert_str_eq(err.file, file_path("f.cu"));
		ck_assert_int_eq(err.line, 3);
		ck_assert_ptr_null(mod);
		kz_error_clear(&err);
	}
}

FILE_TEST(an_empty_file_is_a_module_without_kernels)
{
	kz_module *mod = NULL;
	put("f.cu", "");
	ok(kz_module_compile_file(&mod, dev, file_path("f.cu"), NULL, &err));
	ck_assert_int_eq(kz_module_kernel_count(mod), 0);
	kz_module_release(mod);
}

FILE_TEST(what_is_not_a_source_in_a_file_is_refused_by_name)
{
	kz_module *mod = NULL;
	kz_compile_options wrong = {.size = 8};
	const char *path = file_path("f.cu");
	fails(kz_module_compile_file(&mod, dev, path, NULL, &err), KZ_NOT_FOUND, path);
	fails(kz_module_compile_file(&mod, dev, folder, NULL, &err), KZ_IO,
		"expected a regular file");
	put_bytes("f.cu", "_\0_\0g\0", 6);
	fails(kz_module_compile_file(&mod, dev, path, NULL, &err), KZ_INVALID,
		"f.cu' is not a source: byte 2 is 0");
	put("f.cu", "// made by nvcc\n.version 7.0\n.target sm_75\n.address_size 64\n");
	fails(kz_module_compile_file(&mod, dev, path, NULL, &err), KZ_INVALID,
		"f.cu' is an image, expected CUDA C source");
	ck_assert_int_eq(truncate(path, (64 << 20) + 1), 0);
	fails(kz_module_compile_file(&mod, dev, path, NULL, &err), KZ_RANGE,
		"f.cu' has 67108865 bytes, expected 67108864 at most");
	put("f.cu", "");
	fails(kz_module_compile_file(&mod, dev, path, &wrong, &err), KZ_INVALID,
		"kz_compile_options has size 8");
	fails(kz_module_compile_file(&mod, dev, NULL, NULL, &err), KZ_INVALID, "path of a file");
	fails(kz_module_compile_file(&mod, NULL, path, NULL, &err), KZ_INVALID, "device");
	fails(kz_module_compile_file(NULL, dev, path, NULL, &err), KZ_INVALID, "out");
	ck_assert_ptr_null(mod);
}

SUITE(compile_file)
{
	Suite *s = suite_create("compile_file");
	TCase *tc = suite_add_case(s, "sources");
	tcase_add_tests(tc, support_device_count(), a_file_compiles_with_the_headers_beside_it,
		the_folder_stays_under_other_names, an_empty_file_is_a_module_without_kernels,
		texts_of_all_editors_compile_and_errors_have_their_lines);
	tc = suite_add_case(s, "refusals");
	tcase_add_tests(tc, 1, what_is_not_a_source_in_a_file_is_refused_by_name);
	return s;
}

/* SPDX-License-Identifier: MIT */
/*
 * Loading what somebody has compiled before, in every format; and what happens to an image that
 * the driver refuses for its version, told by the scripted stub driver: it is repaired, or the
 * error has both versions.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "lib/rtc/compat.h"
#include "lib/rtc/ptx_text.h"
#include "support/support.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static kz_error err;

static const char source[] =
	"extern \"C\" __global__ void twice(int *a) { a[threadIdx.x] *= 2; }\n";

static kz_image *compile(const char *arch)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_image *image = NULL;
	options.arch = arch;
	ok(kz_compile(&image, source, &options, &err));
	return image;
}

static void check_twice(kz_module *mod)
{
	int values[4] = {1, -2, 3, 1 << 29};
	kz_kernel *twice = NULL;
	ok(kz_module_kernel(&twice, mod, "twice", &err));
	ok(kz_launch(twice, kz_dim(1, 1, 1), kz_dim(4, 1, 1), NULL, &err,
		KZ_ARGS(KZ_INOUT(values, sizeof(values)))));
	ck_assert_int_eq(values[0], 2);
	ck_assert_int_eq(values[1], -4);
	ck_assert_int_eq(values[2], 6);
	ck_assert_int_eq(values[3], 1 << 30);
}

/* Compressed with Zstandard, with LZ4, not at all, beside a cubin. */
static const char *const fatbins[] = {"zstd", "lz4", "plain", "rdc"};

/* One has PTX for 12.0 alone. */
static bool runs_on(const char *fatbin, kz_device *dev)
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	ok(kz_device_describe(dev, &info, &err));
	return info.compute_capability >= 120 || strcmp(fatbin, "plain") != 0;
}

START_TEST(fat_binaries_load_from_files_and_memory)
{
	char path[4096];
	char *data = NULL;
	size_t size = 0;
	snprintf(path, sizeof(path), KZ_TEST_DIR "/data/fatbin/%s.fatbin", fatbins[_i]);
	ok(file_read(&data, &size, path, &err));
	for (int d = 0; d < support_device_count(); d++) {
		kz_device *dev = support_open(d);
		kz_module *mod = NULL;
		if (!runs_on(fatbins[_i], dev)) {
			kz_device_close(dev);
			continue;
		}
		ok(kz_module_load_file(&mod, dev, path, &err));
		check_twice(mod);
		kz_module_release(mod);
		ok(kz_module_load(&mod, dev, data, (int64_t)size, &err));
		check_twice(mod);
		kz_module_release(mod);
		support_close(dev);
	}
	mem_free(data);
}
END_TEST

START_TEST(every_kind_of_image_loads_from_a_file)
{
	static const char *const archs[] = {"compute_75", "lto_75"};
	char path[] = "/tmp/kudzu-load-XXXXXX";
	close(mkstemp(path));
	for (size_t i = 0; i < countof(archs); i++) {
		kz_image *image = compile(archs[i]);
		ok(kz_image_save(image, path, &err));
		for (int d = 0; d < support_device_count(); d++) {
			kz_device *dev = support_open(d);
			kz_module *mod = NULL;
			ok(kz_module_load_file(&mod, dev, path, &err));
			check_twice(mod);
			kz_module_release(mod);
			ok(kz_module_load_image(&mod, dev, image, &err));
			check_twice(mod);
			kz_module_release(mod);
			support_close(dev);
		}
		kz_image_release(image);
	}
	unlink(path);
}
END_TEST

START_TEST(a_fat_binary_without_anything_for_the_device_says_what_it_has)
{
	kz_device *dev = support_open(0);
	kz_module *mod = NULL;
	fails(kz_module_load_file(&mod, dev, KZ_TEST_DIR "/data/fatbin/cubin.fatbin", &err),
		KZ_VERSION, "a cubin for 8.9");
	ck_assert_ptr_null(mod);
	kz_device_close(dev);
}
END_TEST

START_TEST(a_cubin_for_the_cpu_device_is_refused_by_name)
{
	kz_image *image = compile("sm_90");
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	if (kz_device_open(&dev, "cpu", NULL) == KZ_OK) {
		ck_assert_int_eq(kz_module_load_image(&mod, dev, image, &err), KZ_BAD_IMAGE);
		ck_assert_msg(strstr(err.message,
			"the cubin is for sm_90, the device cpu takes PTX")
			&& strstr(err.hint, "PTX"), "%s", err.message);
		kz_error_clear(&err);
	}
	kz_image_release(image);
	kz_device_close(dev);
}
END_TEST

START_TEST(files_that_are_no_images_are_refused)
{
	kz_device *dev = support_open(0);
	kz_module *mod = NULL;
	fails(kz_module_load_file(&mod, dev, "/nowhere/at/all", &err), KZ_NOT_FOUND, "/nowhere");
	ck_assert_int_eq(kz_module_load_file(&mod, dev, KZ_TEST_DIR "/data/fatbin/twice.cu", &err),
		KZ_BAD_IMAGE);
	ck_assert_msg(strstr(err.message, "twice.cu") && strstr(err.message, "expected PTX")
		&& strstr(err.hint, "kz_module_compile"), "%s", err.message);
	kz_error_clear(&err);
	fails(kz_module_load_file(&mod, dev, NULL, &err), KZ_INVALID, "path");
	fails(kz_module_load_file(&mod, dev, "/dev/null", &err), KZ_IO, "/dev/null");
	kz_device_close(dev);
}
END_TEST

/* What the driver says of an image, and what the user must be told of it. */
static const struct {
	const char *driver;  /* script of the stub; it refuses every image */
	const char *arch;    /* of the image */
	kz_status status;
	const char *texts[3];
} refusals[] = {
	{"version=12040;cc=89;fail=cuModuleLoadDataEx:222", "compute_75", KZ_VERSION,
		{"PTX 9.0 needs a driver of CUDA 13.0 (580)", "CUDA 12.4", "up to 8.4"}},
	{"version=11080;cc=80;fail=cuModuleLoadDataEx:218", "compute_75", KZ_BAD_IMAGE,
		{"PTX 9.0 needs a driver of CUDA 13.0 (580)", "CUDA 11.8", "up to 7.8"}},
	{"version=13000;cc=80;fail=cuModuleLoadDataEx:218", "compute_75", KZ_BAD_IMAGE,
		{"the PTX does not compile", "version 9.0", "the driver of CUDA 13.0"}},
	{"version=13000;cc=80;fail=cuModuleLoadDataEx:209", "compute_90", KZ_BAD_IMAGE,
		{"the PTX is for compute capability 9.0 and newer", "has 8.0", ""}},
	{"version=12000;cc=80;fail=cuModuleLoadDataEx:209", "compute_75", KZ_BAD_IMAGE,
		{"PTX 9.0 needs a driver of CUDA 13.0 (580)", "CUDA 12.0", "up to 8.0"}},
	{"version=13000;cc=80;fail=cuModuleLoadDataEx:209", "sm_86", KZ_BAD_IMAGE,
		{"the cubin is for compute capability 8.6,", "the device has 8.0", ""}},
	{"version=12000;cc=86;fail=cuModuleLoadDataEx:209", "sm_80", KZ_BAD_IMAGE,
		{"the cubin is for sm_80", "the driver of CUDA 12.0", ""}},
	{"version=12000;cc=86;fail=cuModuleLoadDataEx:218", "sm_80", KZ_BAD_IMAGE,
		{"the cubin is for sm_80", "the driver of CUDA 12.0", ""}},
	{"version=12000;cc=86;fail=cuModuleLoadDataEx:222", "sm_80", KZ_VERSION,
		{"the cubin is for sm_80", "the driver of CUDA 12.0", ""}},
};

START_TEST(a_refusal_names_both_versions)
{
	kz_module *mod = NULL;
	kz_image *image = compile(refusals[_i].arch);
	setenv("KUDZU_NVJITLINK", "/nowhere", 1);
	kz_device *dev = support_open_stub(refusals[_i].driver);
	ck_assert_int_eq(kz_module_load_image(&mod, dev, image, &err), refusals[_i].status);
	for (size_t i = 0; i < countof(refusals[_i].texts); i++) {
		ck_assert_msg(strstr(err.message, refusals[_i].texts[i]) != NULL,
			"no '%s' in: %s", refusals[_i].texts[i], err.message);
	}
	kz_error_clear(&err);
	kz_image_release(image);
	support_close_stub(dev);
}
END_TEST

/* The driver takes no PTX, whatever it calls that, but a cubin. */
static const char *const repairs[] = {
	"version=12040;cc=89;fail=cuModuleLoadDataEx:222@1",
	"version=12040;cc=89;fail=cuModuleLoadDataEx:218@1",
	"version=12040;cc=89;fail=cuModuleLoadDataEx:209@1",
};

START_TEST(ptx_that_is_newer_than_the_driver_becomes_a_cubin)
{
	kz_module *mod = NULL;
	kz_kernel *twice = NULL;
	kz_image *image = compile("compute_75");
	kz_device *dev = support_open_stub(repairs[_i]);
	ok(kz_module_load_image(&mod, dev, image, &err));
	ck_assert_str_eq(kz_module_arch(mod), "sm_89");
	ck_assert_msg(strstr(kz_module_log(mod), "PTX 9.0 needs a driver of CUDA 13.0 (580)")
		&& strstr(kz_module_log(mod), "nvJitLink"), "%s", kz_module_log(mod));
	ok(kz_module_kernel(&twice, mod, "twice", &err));
	ck_assert_str_eq(kz_kernel_signature(twice), "twice(int *)");
	kz_module_release(mod);
	kz_image_release(image);
	support_close_stub(dev);
}
END_TEST

START_TEST(a_repair_that_is_refused_too_says_why)
{
	kz_module *mod = NULL;
	kz_image *image = compile("compute_75");
	kz_device *dev = support_open_stub("version=12040;cc=89;fail=cuModuleLoadDataEx:222@1+");
	ck_assert_int_eq(kz_module_load_image(&mod, dev, image, &err), KZ_VERSION);
	ck_assert_ptr_null(mod);
	ck_assert_int_eq(support_stub_calls("cuModuleLoadDataEx"), 2);
	kz_error_clear(&err);
	kz_image_release(image);
	support_close_stub(dev);
}
END_TEST

START_TEST(without_nvjitlink_a_source_is_compiled_to_a_cubin)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_module *mod = NULL;
	setenv("KUDZU_NVJITLINK", "/nowhere", 1);
	kz_device *dev = support_open_stub("version=12040;cc=89;fail=cuModuleLoadDataEx:222@1");
	options.arch = "compute_75";
	ok(kz_module_compile(&mod, dev, source, &options, &err));
	ck_assert_str_eq(kz_module_arch(mod), "sm_89");
	kz_module_release(mod);
	support_close_stub(dev);
}
END_TEST

/* Driver 580, of CUDA 13.0, takes PTX up to 9.0; NVRTC may be newer, as in make check-nvrtc. */
static const char *const archs[] = {NULL, "compute_75", "compute_89", "sm_89"};

START_TEST(a_driver_of_cuda_13_0_takes_what_is_compiled_for_it)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_module *mod = NULL;
	kz_kernel *twice = NULL;
	kz_image *image = compile("compute_75");
	const int version = ptx_version(kz_image_data(image, NULL));
	kz_device *dev = support_open_stub("version=13000;cc=89;ptx=90");
	options.arch = archs[_i];
	ok(kz_module_compile(&mod, dev, source, &options, &err));
	bool is_ptx = options.arch && strncmp(options.arch, "compute_", 8) == 0
		&& version <= compat_newest_ptx(13000);
	ck_assert_str_eq(kz_module_arch(mod), is_ptx ? options.arch : "sm_89");
	ok(kz_module_kernel(&twice, mod, "twice", &err));
	kz_module_release(mod);
	kz_image_release(image);
	support_close_stub(dev);
}
END_TEST

START_TEST(versions_of_ptx_are_read)
{
	ck_assert_int_eq(ptx_version("// words\n.version 8.7\n"), 87);
	ck_assert_int_eq(ptx_version(".version 8"), 80);
	ck_assert_int_eq(ptx_version(".version 8.x"), 0);
	ck_assert_int_eq(ptx_version("version 8.0"), 0);
	ck_assert_int_eq(ptx_version(""), 0);
	ck_assert_int_eq(compat_newest_ptx(12060), 85);
	ck_assert_int_eq(compat_newest_ptx(13000), 90);
	ck_assert_int_eq(compat_newest_ptx(99000), 95);
	ck_assert_int_eq(compat_newest_ptx(8000), 0);
	ck_assert_ptr_null(compat_release(89));
}
END_TEST

/* PTX whose constant is at its middle, where the first look at it does not go. */
static void write_constant(char ptx[2048], char digit)
{
	snprintf(ptx, 2048, ".version 7.0\n.target sm_75\n.address_size 64\n// %0500d\n"
		".visible .entry k(.param .u64 p) { .reg .b64 %%d; .reg .b32 %%r;\n"
		"ld.param.u64 %%d, [p]; mov.u32 %%r, %c; st.global.u32 [%%d], %%r; ret; }\n"
		"// %0500d\n", 0, digit, 0);
}

START_TEST(bytes_that_are_nearly_the_same_are_another_image)
{
	static const char digits[] = {'1', '1', '2', '2', '1'};
	kz_device *dev = support_open(0);
	char ptx[2048];
	for (size_t i = 0; i < countof(digits); i++) {
		kz_module *mod = NULL;
		kz_kernel *kernel = NULL;
		int value = 0;
		write_constant(ptx, digits[i]);
		ok(kz_module_load(&mod, dev, ptx, (int64_t)(strlen(ptx) + i % 2), &err));
		ok(kz_module_kernel(&kernel, mod, "k", &err));
		ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
			KZ_ARGS(KZ_OUT(&value, sizeof(value)))));
		ck_assert_int_eq(value, digits[i] - '0');
		kz_module_release(mod);
		memset(ptx, 'x', sizeof(ptx));
	}
	support_close(dev);
}
END_TEST

START_TEST(every_failing_allocation_of_a_load_becomes_an_error)
{
	static const char *const files[] = {"zstd", "plain"};
	char path[4096];
	kz_device *dev = support_open(0);
	bool failed = true;
	long n;
	if (!runs_on(files[_i], dev)) {
		kz_device_close(dev);
		return;
	}
	snprintf(path, sizeof(path), KZ_TEST_DIR "/data/fatbin/%s.fatbin", files[_i]);
	for (n = 0; failed && n < 10000; n++) {
		kz_module *mod = NULL;
		mem_fail_after(n);
		kz_status st = kz_module_load_file(&mod, dev, path, &err);
		failed = mem_has_failed(); /* a list for a message may be lost without harm */
		mem_fail_after(-1);
		ck_assert_msg(st == err.status, "%d but %s", (int)st, err.message);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
		kz_module_release(mod);
		kz_error_clear(&err);
	}
	ck_assert_int_gt(n, 5);
	support_close(dev);
}
END_TEST

static const char *const behind[] = {"zstd.fatbin", "plain.fatbin", "cubin.fatbin", "add_two.obj",
	"twice.cu"};

static void load_all(kz_device *dev, const void *data, size_t size)
{
	const kz_link_input input = {.name = "x", .data = data, .size = (int64_t)size};
	kz_module *mod;
	kz_image *image;
	(void)!kz_module_load(&mod, dev, data, (int64_t)size, NULL);
	kz_module_release(mod);
	(void)!kz_image_create(&image, data, (int64_t)size, NULL);
	kz_image_release(image);
	(void)!kz_link(&image, dev, &input, 1, NULL, NULL);
	kz_image_release(image);
}

/* All of the data, and shorter parts of it, end where memory does. */
START_TEST(nothing_behind_the_size_is_read)
{
	char path[4096], *data;
	size_t size;
	kz_device *dev = support_open(0);
	snprintf(path, sizeof(path), KZ_TEST_DIR "/data/fatbin/%s", behind[_i]);
	ok(file_read(&data, &size, path, &err));
	const size_t room = round_up(size, 4096);
	char *pages = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + room, 4096, PROT_NONE), 0);
	for (size_t length = size; length > 0; length -= 1 + length / 16) {
		memcpy(pages + room - length, data, length);
		load_all(dev, pages + room - length, length);
	}
	munmap(pages, room + 4096);
	mem_free(data);
	support_close(dev);
}
END_TEST

/* The stub's log has the options that it got. */
static const char options_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n";

/* Load those bytes, a file with them, or an image of them. */
static kz_module *load_by(int way, kz_device *dev, const kz_load_options *options)
{
	kz_module *mod = NULL;
	kz_image *image = NULL;
	char path[64];
	const size_t size = sizeof(options_ptx) - 1;
	int fd = way == 1 ? memfd_create("ptx", 0) : -1;
	if (way == 0) {
		ok(kz_module_load_with(&mod, dev, options_ptx, (int64_t)size, options, &err));
	} else if (way == 1) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ck_assert_int_eq(write(fd, options_ptx, size), (ssize_t)size);
		ok(kz_module_load_file_with(&mod, dev, path, options, &err));
		close(fd);
	} else {
		ok(kz_image_create(&image, options_ptx, (int64_t)size, &err));
		ok(kz_module_load_image_with(&mod, dev, image, options, &err));
		kz_image_release(image);
	}
	return mod;
}

START_TEST(options_of_the_drivers_compiler_arrive)
{
	static const struct {
		kz_load_options options;
		const char *log;
	} rows[] = {
		{{0}, ""}, {{.max_registers = 20}, "0=20 "}, {{.threads_per_block = 256}, "1=256 "},
		{{.optimization = 1}, "7=1 "}, {{.optimization = -1}, "7=0 "},
		{{.line_info = 1}, "13=1 "}, {{.debug = 1}, "11=1 "}, {{.cache_mode = 2}, "14=2 "},
		{{.arch = "sm_90"}, "9=90 "}, {{.arch = "compute_75"}, "9=75 "},
		{{.arch = "sm_90a"}, "9=65626 "}, {{.arch = "sm_100f"}, "9=131172 "},
		{{.max_registers = 9, .cache_mode = 1, .line_info = 1}, "0=9 13=1 14=1 "},
	};
	kz_device *dev = support_open_stub("");
	for (size_t i = 0; i < 3 * countof(rows); i++) {
		char log[64];
		kz_load_options options = rows[i / 3].options;
		options.size = sizeof(options);
		kz_module *mod = load_by((int)i % 3, dev, &options);
		ck_assert_str_eq(kz_module_log(mod), "");
		kz_module_release(mod);
		options.verbose = 1;
		mod = load_by((int)i % 3, dev, &options);
		snprintf(log, sizeof(log), "12=1 %s", rows[i / 3].log);
		ck_assert_str_eq(kz_module_log(mod), log);
		kz_module_release(mod);
	}
	support_close_stub(dev);
}
END_TEST

START_TEST(options_that_cannot_be_are_refused)
{
	static const struct {
		kz_load_options options;
		const char *why;
	} rows[] = {
		{{.max_registers = -1}, "expected max_registers from 0 to 2147483647, got -1"},
		{{.threads_per_block = -1}, "expected threads_per_block from 0"},
		{{.optimization = 5}, "expected optimization from -1 to 4, got 5"},
		{{.cache_mode = 3}, "expected cache_mode from 0 to 2, got 3"},
		{{.log_size = -1}, "expected log_size from 0"},
		{{.arch = "90"}, "expected an arch such as 'sm_90', got '90'"},
		{{.arch = "sm_90b"}, "such as 'sm_90'"}, {{.arch = "sm_"}, "such as 'sm_90'"},
		{{.arch = ""}, "such as 'sm_90'"}, {{.arch = "lto_90"}, "such as 'sm_90'"},
		{{.arch = "sm_90", .threads_per_block = 1}, "got both"},
	};
	kz_device *dev = support_open_stub("");
	kz_module *mod = NULL;
	for (size_t i = 0; i < countof(rows); i++) {
		kz_load_options options = rows[i].options;
		options.size = sizeof(options);
		fails(kz_module_load_with(&mod, dev, "x", 1, &options, &err), KZ_INVALID,
			rows[i].why);
		options.size = 1;
		fails(kz_module_load_with(&mod, dev, "x", 1, &options, &err), KZ_INVALID,
			"kz_load_options has size 1");
	}
	support_close_stub(dev);
}
END_TEST

/* A limit of a kernel that has many, whether it comes with PTX or with the source. */
START_TEST(a_limit_of_registers_is_kept)
{
	static const char many[] =
		"extern \"C\" __global__ void many(float *a)\n"
		"{\n"
		"	float x[64];\n"
		"	for (int i = 0; i < 64; i++) { x[i] = a[i * blockDim.x + threadIdx.x]; }\n"
		"	__syncthreads();\n"
		"	for (int i = 0; i < 64; i++) { a[i * i] = x[i] * x[63 - i]; }\n"
		"}\n";
	kz_compile_options compile_options = KZ_COMPILE_OPTIONS_INIT;
	kz_load_options options = KZ_LOAD_OPTIONS_INIT;
	kz_device *dev = support_open(_i);
	for (int limit = 0; limit <= 24; limit += 24) {
		for (int by_source = 0; by_source < 2; by_source++) {
			kz_kernel_info info = KZ_KERNEL_INFO_INIT;
			kz_image *image = NULL;
			kz_module *mod = NULL;
			kz_kernel *kernel = NULL;
			compile_options.arch = "compute_75";
			compile_options.max_registers = by_source ? limit : 0;
			options.max_registers = limit;
			options.verbose = 1;
			ok(kz_compile(&image, many, &compile_options, &err));
			ok(by_source ? kz_module_compile(&mod, dev, many, &compile_options, &err)
				: kz_module_load_with(&mod, dev, kz_image_data(image, NULL),
				kz_image_size(image), &options, &err));
			ok(kz_module_kernel(&kernel, mod, "many", &err));
			ok(kz_kernel_describe(kernel, &info, &err));
			ck_assert(limit ? info.registers == limit : info.registers > 24);
			const char *used = strstr(kz_module_log(mod), "Used ");
			ck_assert_int_eq(used ? atoi(used + 5) : 0, by_source ? 0 : info.registers);
			kz_module_release(mod);
			kz_image_release(image);
		}
	}
	support_close(dev);
}
END_TEST

SUITE(load)
{
	Suite *suite = suite_create("load");
	TCase *tc = suite_add_case(suite, "formats");
	tcase_add_loop_test(tc, fat_binaries_load_from_files_and_memory, 0, countof(fatbins));
	tcase_add_tests(tc, 1, every_kind_of_image_loads_from_a_file,
		a_fat_binary_without_anything_for_the_device_says_what_it_has,
		files_that_are_no_images_are_refused, a_cubin_for_the_cpu_device_is_refused_by_name,
		bytes_that_are_nearly_the_same_are_another_image);
	tcase_add_loop_test(tc, nothing_behind_the_size_is_read, 0, countof(behind));
	tcase_add_loop_test(tc, every_failing_allocation_of_a_load_becomes_an_error, 0, 2);
	tc = suite_add_case(suite, "options");
	tcase_add_tests(tc, 1, options_of_the_drivers_compiler_arrive,
		options_that_cannot_be_are_refused);
	tcase_add_tests(tc, support_device_count(), a_limit_of_registers_is_kept);
	tc = suite_add_case(suite, "versions");
	tcase_add_loop_test(tc, a_refusal_names_both_versions, 0, countof(refusals));
	tcase_add_loop_test(tc, ptx_that_is_newer_than_the_driver_becomes_a_cubin, 0,
		countof(repairs));
	tcase_add_tests(tc, 1, a_repair_that_is_refused_too_says_why,
		without_nvjitlink_a_source_is_compiled_to_a_cubin, versions_of_ptx_are_read);
	tc = suite_add_case(suite, "driver_580");
	tcase_add_loop_test(tc, a_driver_of_cuda_13_0_takes_what_is_compiled_for_it, 0,
		countof(archs));
	return suite;
}

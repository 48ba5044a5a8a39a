/* SPDX-License-Identifier: MIT */
/*
 * Bundles: each device loads the image that suits it best, with all that the compiler knew and
 * without a compiler; and what is damaged, anywhere, is refused.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "lib/module/load.h"
#include "support/support.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static kz_error err;
static char path[] = "/tmp/kudzu-bundle-XXXXXX";

static void setup(void)
{
	close(mkstemp(path));
}

static void teardown(void)
{
	unlink(path);
	kz_error_clear(&err);
}

/* Which image was taken is told by a number in it. */
static const char source[] =
	"template <class T> __global__ void fill(T *out) { *out = T(NUMBER); }\n"
	"extern \"C\" __global__ void plain(unsigned short *out) { *out = NUMBER; }\n";

static kz_image *compile(const char *arch, const char *define)
{
	static const char *const instances[] = {"fill<float>", NULL};
	const char *const defines[] = {define, NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_image *image = NULL;
	options.arch = arch;
	options.defines = defines;
	options.instances = instances;
	ok(kz_compile(&image, source, &options, &err));
	return image;
}

static void save(const char *const *archs, size_t count, const char *with_source)
{
	kz_image *images[8] = {NULL};
	for (size_t i = 0; i < count; i++) {
		char define[32];
		snprintf(define, sizeof(define), "NUMBER=%zu", i + 1);
		images[i] = compile(archs[i], define);
	}
	ok(kz_bundle_save(path, images, (int64_t)count, with_source, &err));
	for (size_t i = 0; i < count; i++) {
		kz_image_release(images[i]);
	}
}

static void check_runs(kz_module *mod)
{
	kz_kernel *fill = NULL;
	kz_kernel *plain = NULL;
	float number = 0;
	unsigned short small = 0;
	ok(kz_module_kernel(&fill, mod, "fill<float>", &err));
	ok(kz_module_kernel(&plain, mod, "plain", &err));
	ck_assert_str_eq(kz_kernel_signature(plain), "plain(unsigned short *)");
	ok(kz_launch(fill, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(&number, sizeof(number)))));
	ok(kz_launch(plain, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(&small, sizeof(small)))));
	ck_assert_int_eq((int)number, small);
	ck_assert_int_gt(small, 0);
}

START_TEST(a_bundle_runs_without_a_compiler)
{
	static const char *const archs[] = {"sm_75", "compute_75", "sm_90"};
	save(archs, countof(archs), NULL);
	setenv("KUDZU_NVRTC", "/nowhere", 1);
	setenv("KUDZU_NVJITLINK", "/nowhere", 1);
	for (int d = 0; d < support_device_count(); d++) {
		kz_device *dev = support_open(d);
		kz_module *mod = NULL;
		ok(kz_module_load_file(&mod, dev, path, &err));
		check_runs(mod);
		kz_module_release(mod);
		support_close(dev);
	}
}
END_TEST

static const char *const archs[] = {
	"sm_80", "sm_86", "sm_90", "compute_80", "compute_75", "compute_90", "lto_75", "sm_90a",
};

/* What a GPU of a compute capability takes of all these, by its index; -1 the CPU device. */
static const struct {
	int cc;
	bool ptx_only;
	size_t first;        /* where the list begins */
	const char *arch;    /* NULL: nothing suits */
} picks[] = {
	{80, false, 0, "sm_80"}, {86, false, 0, "sm_86"}, {89, false, 0, "sm_86"},
	{90, false, 0, "sm_90"}, {100, false, 0, "compute_90"}, {75, false, 0, "compute_75"},
	{87, false, 0, "compute_80"}, {70, false, 0, NULL}, {89, true, 0, "compute_80"},
	{89, true, 5, "compute_90"}, {75, false, 6, "lto_75"}, {90, false, 6, "sm_90a"},
	{100, false, 6, "lto_75"},
};

START_TEST(the_best_image_is_taken)
{
	const struct rtc_target target = {picks[_i].cc, picks[_i].ptx_only};
	char *data = NULL;
	size_t size = 0;
	struct kz_image *image = NULL;
	save(archs + picks[_i].first, countof(archs) - picks[_i].first, NULL);
	ok(file_read(&data, &size, path, &err));
	if (picks[_i].arch) {
		ok(bundle_pick(&image, &target, "b", data, size, &err));
		ck_assert_str_eq(kz_image_arch(image), picks[_i].arch);
	} else {
		fails(bundle_pick(&image, &target, "b", data, size, &err), KZ_VERSION,
			"sm_80, sm_86, sm_90, compute_80");
	}
	kz_image_release(image);
	mem_free(data);
}
END_TEST

START_TEST(the_source_is_compiled_where_no_image_suits)
{
	static const char *const only[] = {"sm_75"};
	save(only, 1, "extern \"C\" __global__ void plain(int *out) { *out = 77; }\n");
	for (int d = 0; d < support_device_count(); d++) {
		kz_device *dev = support_open(d);
		kz_module *mod = NULL;
		kz_kernel *plain = NULL;
		int number = 0;
		ok(kz_module_load_file(&mod, dev, path, &err));
		ok(kz_module_kernel(&plain, mod, "plain", &err));
		if (strcmp(support_device_name(d), "cpu") == 0) {
			ok(kz_launch(plain, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
				KZ_ARGS(KZ_OUT(&number, sizeof(number)))));
			ck_assert_int_eq(number, 77);
		}
		kz_module_release(mod);
		support_close(dev);
	}
}
END_TEST

START_TEST(any_flipped_bit_and_any_cut_is_refused)
{
	static const char *const some[] = {"compute_75", "sm_75"};
	const struct rtc_target target = {89, true};
	char *data = NULL;
	size_t size = 0;
	size_t taken = 0;
	save(some, countof(some), "// words");
	ok(file_read(&data, &size, path, &err));
	for (size_t bit = 0; bit < size * 8; bit++) {
		struct kz_image *image = NULL;
		data[bit / 8] ^= (char)(1 << bit % 8);
		taken += !bundle_is(data, size) ? 0
			: bundle_pick(&image, &target, "b", data, size, NULL) == KZ_OK;
		kz_image_release(image);
		data[bit / 8] ^= (char)(1 << bit % 8);
	}
	ck_assert_uint_eq(taken, 0);
	for (size_t cut = 8; cut < size; cut++) {
		struct kz_image *image = NULL;
		taken += bundle_pick(&image, &target, "b", data, cut, NULL) == KZ_OK;
	}
	ck_assert_uint_eq(taken, 0);
	fails(bundle_pick(&(struct kz_image *){NULL}, &target, "b", data, size - 1, &err),
		KZ_BAD_IMAGE, "cut off");
	mem_free(data);
}
END_TEST

/* Its hash is right, but what an image begins with is not ours. */
START_TEST(a_bundle_of_another_version_is_told_from_a_damaged_one)
{
	const struct rtc_target target = {89, true};
	enum { HASH_AT = 8, HASHED_FROM = HASH_AT + sizeof(struct hash),
		ROW_AT = HASHED_FROM + 24 };
	char *data = NULL;
	size_t size;
	uint64_t image_at;
	save((const char *const[]){"compute_75"}, 1, NULL);
	ok(file_read(&data, &size, path, &err));
	memcpy(&image_at, data + ROW_AT + 32, sizeof(image_at));
	data[image_at] ^= 1;
	struct hash hash = hash_of(data + HASHED_FROM, size - HASHED_FROM);
	memcpy(data + HASH_AT, &hash, sizeof(hash));
	fails(bundle_pick(&(struct kz_image *){NULL}, &target, "b", data, size, &err), KZ_VERSION,
		"another version");
	mem_free(data);
}
END_TEST

START_TEST(what_makes_no_bundle_is_refused)
{
	kz_image *images[2] = {compile("compute_75", "NUMBER=1"), NULL};
	fails(kz_bundle_save(NULL, images, 1, NULL, &err), KZ_INVALID, "path");
	fails(kz_bundle_save(path, NULL, 1, NULL, &err), KZ_INVALID, "images");
	fails(kz_bundle_save(path, images, 0, NULL, &err), KZ_INVALID, "got 0");
	fails(kz_bundle_save(path, images, 2, NULL, &err), KZ_INVALID, "image");
	fails(kz_bundle_save("/nowhere/at/all", images, 1, NULL, &err), KZ_NOT_FOUND, "/nowhere");
	kz_image_release(images[0]);
}
END_TEST

START_TEST(every_failing_allocation_becomes_an_error)
{
	kz_image *image = compile("compute_75", "NUMBER=1");
	kz_device *dev = support_open(0);
	bool failed = true;
	long n;
	for (n = 0; failed && n < 10000; n++) {
		kz_module *mod = NULL;
		mem_fail_after(n);
		kz_status st = kz_bundle_save(path, &image, 1, "// words", &err);
		st = st ? st : kz_module_load_file(&mod, dev, path, &err);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_msg(st == err.status, "%d but %s", (int)st, err.message);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
		kz_module_release(mod);
		kz_error_clear(&err);
	}
	ck_assert_int_gt(n, 10);
	kz_image_release(image);
	support_close(dev);
}
END_TEST

SUITE(bundle)
{
	Suite *suite = suite_create("bundle");
	TCase *tc = suite_add_case(suite, "bundle");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_bundle_runs_without_a_compiler);
	tcase_add_loop_test(tc, the_best_image_is_taken, 0, countof(picks));
	tcase_add_tests(tc, 1, the_source_is_compiled_where_no_image_suits,
		any_flipped_bit_and_any_cut_is_refused,
		a_bundle_of_another_version_is_told_from_a_damaged_one,
		what_makes_no_bundle_is_refused, every_failing_allocation_becomes_an_error);
	return suite;
}

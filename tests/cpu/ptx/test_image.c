/* SPDX-License-Identifier: MIT */
/*
 * Images: LZ4 blocks, and fat binaries as nvcc makes them (tests/data/fatbin) and as it never
 * would.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cpu/ptx/ptx_image.h"
#include "base/lz4.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *block;
	size_t size;
	const char *text;  /* NULL: damaged */
	size_t text_size;  /* if not that of the text */
} blocks[] = {
#define B(bytes) bytes, sizeof(bytes) - 1
	{B("\x50hello"), "hello", 0},
	{B("\x00"), "", 0},
	{B("\x11""a\x01\x00\x10""b"), "aaaaaab", 0},
	{B("\x40""abcd\x04\x00\x50""efghi"), "abcdabcdefghi", 0},
	{B("\x22""xy\x02\x00\x10z"), "xyxyxyxyz", 0},
	{B("\xf0\x01""0123456789abcdef"), "0123456789abcdef", 0},
	{B("\x1f""a\x01\x00\x00\x10""b"), "aaaaaaaaaaaaaaaaaaaab", 0},
	{B(""), NULL, 5},
	{B("\x50hell"), NULL, 5},
	{B("\x50hello"), NULL, 4},
	{B("\x50hello"), NULL, 6},
	{B("\xf0"), NULL, 5},
	{B("\xf0\xff\xff"), NULL, 5},
	{B("\x11""a\x00\x00\x10""b"), NULL, 7},
	{B("\x11""a\x02\x00\x10""b"), NULL, 7},
	{B("\x11""a\x01"), NULL, 7},
	{B("\x11""a\x01\x00"), NULL, 6},
	{B("\x1f""a\x01\x00\xff\xff\xff"), NULL, 20},
#undef B
};

/* In memory of exactly its size, for sanitizers to see what is read. */
static void *copy_of(const void *data, size_t size)
{
	void *copy = malloc(size);
	if (size > 0) {
		memcpy(copy, data, size);
	}
	return copy;
}

START_TEST(lz4_decodes_a_block_or_says_no)
{
	bool good = blocks[_i].text != NULL;
	size_t size = good ? strlen(blocks[_i].text) : blocks[_i].text_size;
	uint8_t *in = copy_of(blocks[_i].block, blocks[_i].size);
	uint8_t *out = malloc(size);
	ck_assert_int_eq(lz4_decode(out, size, in, blocks[_i].size), good);
	if (good) {
		ck_assert_mem_eq(out, blocks[_i].text, size);
	}
	free(in);
	free(out);
}
END_TEST

static char *read_sample(const char *name, size_t *size)
{
	char path[4096];
	char *data;
	snprintf(path, sizeof(path), KZ_TEST_DIR "/data/fatbin/%s", name);
	ck_assert_int_eq(file_read(&data, size, path, NULL), KZ_OK);
	char *copy = copy_of(data, *size);
	mem_free(data);
	return copy;
}

static const struct {
	const char *name;
	CUresult result;
	const char *part; /* of the text, or of the reason */
} samples[] = {
	{"zstd.fatbin", CUDA_SUCCESS, ".target sm_89"},
	{"lz4.fatbin", CUDA_SUCCESS, ".target sm_75"},
	{"plain.fatbin", CUDA_SUCCESS, ".target sm_120"},
	{"rdc.fatbin", CUDA_SUCCESS, ".target sm_89"},
	{"cubin.fatbin", CUDA_ERROR_NO_BINARY_FOR_GPU, "this fat binary has none, only sm_89:"},
};

START_TEST(fat_binaries_give_the_best_ptx)
{
	size_t size;
	struct image image;
	char *data = read_sample(samples[_i].name, &size);
	for (int known = 0; known < 2; known++) {
		CUresult result = image_open(&image, data, known ? size : IMAGE_UNKNOWN_SIZE);
		ck_assert_int_eq(result, samples[_i].result);
		const char *text = result == CUDA_SUCCESS ? image.text : image.why;
		ck_assert_msg(strstr(text, samples[_i].part) != NULL, "%s", text);
		if (result == CUDA_SUCCESS) {
			ck_assert_uint_eq(image.size, strlen(image.text));
			ck_assert_ptr_nonnull(strstr(text, ".visible .entry twice("));
		}
		image_close(&image);
	}
	free(data);
}
END_TEST

static const struct {
	const char *bytes;
	size_t size;
	CUresult result;
	const char *why;
} other_images[] = {
#define B(bytes) bytes, sizeof(bytes) - 1
	{B("\177ELF\2\1\1A"), CUDA_ERROR_NO_BINARY_FOR_GPU, "a cubin, code for a GPU"},
	{B("\177ELF\2\1\1\063"), CUDA_ERROR_NO_BINARY_FOR_GPU, "a cubin, code for a GPU"},
	{B("\177ELF\0"), CUDA_ERROR_NO_BINARY_FOR_GPU, "a cubin, code for a GPU"},
	{B("\177ELF\2\1\1\0"), CUDA_ERROR_NO_BINARY_FOR_GPU, "an object or a program of the host"},
	{B("\177ELF\2\1\1\3"), CUDA_ERROR_NO_BINARY_FOR_GPU, "an object or a program of the host"},
	{B("!<arch>\na.o/"), CUDA_ERROR_NO_BINARY_FOR_GPU, "a library of objects of the host"},
	{B("!<arch>"), CUDA_SUCCESS, NULL},
	{B("\355CN\177abc"), CUDA_ERROR_NO_BINARY_FOR_GPU, "LTO code, of which nvJitLink"},
	{B("\355CN"), CUDA_ERROR_INVALID_IMAGE, "neither PTX nor a fat binary"},
#undef B
};

START_TEST(code_of_other_kinds_is_named)
{
	struct image image;
	for (int known = 0; known < 2; known++) {
		/* With a zero at its end, as it comes if its size is unknown. */
		const size_t size = other_images[_i].size + !known;
		char *data = copy_of(other_images[_i].bytes, size);
		ck_assert_int_eq(image_open(&image, data, known ? size : IMAGE_UNKNOWN_SIZE),
			other_images[_i].result);
		if (other_images[_i].why) {
			ck_assert_msg(strstr(image.why, other_images[_i].why), "%s", image.why);
		}
		image_close(&image);
		free(data);
	}
}
END_TEST

START_TEST(fat_binaries_are_found_behind_a_programs_wrapper)
{
	struct {
		uint32_t magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, NULL, NULL};
	size_t size;
	struct image image;
	char *data = read_sample("lz4.fatbin", &size);
	wrapper.data = data;
	ck_assert_int_eq(image_open(&image, &wrapper, IMAGE_UNKNOWN_SIZE), CUDA_SUCCESS);
	image_close(&image);
	ck_assert_int_eq(image_open(&image, &wrapper, sizeof(wrapper)), CUDA_ERROR_INVALID_IMAGE);
	ck_assert_ptr_nonnull(strstr(image.why, "holds a pointer"));
	ck_assert_int_eq(image_open(&image, &wrapper, 4), CUDA_ERROR_INVALID_IMAGE);
	wrapper.data = ".version";
	ck_assert_int_eq(image_open(&image, &wrapper, IMAGE_UNKNOWN_SIZE),
		CUDA_ERROR_INVALID_IMAGE);
	wrapper.data = NULL;
	ck_assert_int_eq(image_open(&image, &wrapper, IMAGE_UNKNOWN_SIZE),
		CUDA_ERROR_INVALID_IMAGE);
	free(data);
}
END_TEST

START_TEST(truncated_fat_binaries_are_refused)
{
	size_t size;
	struct image image;
	char *data = read_sample(samples[_i].name, &size);
	for (size_t len = 4; len < size; len++) {
		char *part = copy_of(data, len);
		ck_assert_int_ne(image_open(&image, part, len), CUDA_SUCCESS);
		ck_assert_str_ne(image.why, "");
		image_close(&image);
		free(part);
	}
	free(data);
}
END_TEST

/* Any byte of a sample may be anything: whatever comes out, nothing is read that is not there. */
START_TEST(damaged_fat_binaries_do_no_harm)
{
	size_t size;
	struct image image;
	char *data = read_sample(samples[_i].name, &size);
	for (size_t at = 4; at < size; at++) {
		static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
		char old = data[at];
		for (size_t i = 0; i < countof(values); i++) {
			data[at] = (char)values[i];
			CUresult result = image_open(&image, data, size);
			ck_assert(result == CUDA_SUCCESS || image.why[0] != '\0');
			image_close(&image);
		}
		data[at] = old;
	}
	free(data);
}
END_TEST

START_TEST(text_may_end_with_or_without_a_zero)
{
	struct image image;
	ck_assert_int_eq(image_open(&image, "\n.version", IMAGE_UNKNOWN_SIZE), CUDA_SUCCESS);
	ck_assert_uint_eq(image.size, 9);
	ck_assert_int_eq(image_open(&image, ".version\0x", 10), CUDA_SUCCESS);
	ck_assert_uint_eq(image.size, 8);
	char *text = copy_of(".ver", 4);
	ck_assert_int_eq(image_open(&image, text, 4), CUDA_SUCCESS);
	ck_assert_uint_eq(image.size, 4);
	ck_assert_int_eq(image_open(&image, text, 0), CUDA_ERROR_INVALID_IMAGE);
	free(text);
}
END_TEST

START_TEST(memory_may_run_out_while_an_image_is_opened)
{
	size_t size;
	struct image image;
	char *data = read_sample("lz4.fatbin", &size);
	mem_fail_after(0);
	ck_assert_int_eq(image_open(&image, data, size), CUDA_ERROR_OUT_OF_MEMORY);
	mem_fail_after(-1);
	image_close(&image);
	free(data);
}
END_TEST

SUITE(image)
{
	Suite *suite = suite_create("image");
	TCase *tc = tcase_create("image");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, lz4_decodes_a_block_or_says_no, 0, countof(blocks));
	tcase_add_loop_test(tc, fat_binaries_give_the_best_ptx, 0, countof(samples));
	tcase_add_loop_test(tc, code_of_other_kinds_is_named, 0, countof(other_images));
	tcase_add_test(tc, fat_binaries_are_found_behind_a_programs_wrapper);
	tcase_add_loop_test(tc, truncated_fat_binaries_are_refused, 0, countof(samples));
	tcase_add_loop_test(tc, damaged_fat_binaries_do_no_harm, 0, countof(samples));
	tcase_add_test(tc, text_may_end_with_or_without_a_zero);
	tcase_add_test(tc, memory_may_run_out_while_an_image_is_opened);
	suite_add_tcase(suite, tc);
	return suite;
}

/* SPDX-License-Identifier: MIT */
/*
 * src/base/lz4.c, squeeze.c: what is squeezed comes back, the parts that are read and no others, and no
 * bytes do harm.  All is in memory of exactly its size, for sanitizers to see what is touched.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/lz4.h"
#include "base/squeeze.h"
#include "support/suite.h"

#include <check.h>
#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static unsigned next(unsigned below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

/* Kinds of data: noise, one byte, a few bytes again and again, what was there before with changes. */
enum { KINDS = 4 };

static uint8_t *make_data(size_t size, int kind)
{
	uint8_t *data = malloc(size);
	state = size * KINDS + (unsigned)kind;
	unsigned period = 1 + next(300);
	for (size_t i = 0; i < size; i++) {
		bool is_new = kind == 0 || (kind == 3 && next(40) == 0) || i < period;
		data[i] = (uint8_t)(kind == 1 ? 'a' : is_new ? next(256) : data[i - period]);
	}
	return data;
}

/* --- LZ4 blocks --- */

/* The end of a block as the format has it: five literals, and no match in the last twelve bytes.  What
 * literals come last is told by going through it. */
static void check_end(const uint8_t *block, size_t size, size_t text_size)
{
	size_t at = 0, text = 0, literals = 0, last_match = 0;
	bool has_match = false;
	while (at < size) {
		uint8_t token = block[at++];
		literals = token >> 4;
		for (uint8_t more = 255; literals >= 15 && more == 255; literals += more) {
			more = block[at++];
		}
		at += literals;
		text += literals;
		if (at == size) {
			break;
		}
		size_t match = token & 15;
		at += 2;
		for (uint8_t more = 255; match >= 15 && more == 255; match += more) {
			more = block[at++];
		}
		has_match = true;
		last_match = text;
		text += match + 4;
	}
	ck_assert_uint_eq(text, text_size);
	ck_assert(!has_match || (literals >= 5 && last_match + 12 <= text_size));
}

static size_t expect_back(const uint8_t *data, size_t size)
{
	size_t room = size + size / 100 + 20;
	uint8_t *block = malloc(room), *back = malloc(size);
	size_t used = lz4_encode(block, room, data, size);
	ck_assert_uint_gt(used, 0);
	check_end(block, used, size);
	uint8_t *exact = malloc(used);
	memcpy(exact, block, used);
	ck_assert(lz4_decode(back, size, exact, used));
	ck_assert(size == 0 || memcmp(back, data, size) == 0);
	free(exact);
	free(back);
	free(block);
	return used;
}

START_TEST(an_encoded_block_comes_back)
{
	static const size_t sizes[] = {100, 255, 270, 271, 4095, 4096, 32768, 65535, LZ4_ENCODE_MAX};
	for (size_t i = 0; i < 64 + countof(sizes); i++) {
		size_t size = i < 64 ? i : sizes[i - 64];
		uint8_t *data = make_data(size, _i);
		size_t used = expect_back(data, size);
		if (size >= 4096 && _i > 0) {
			ck_assert_uint_lt(used, _i == 3 ? size / 2 : size / 8);
		}
		free(data);
	}
}
END_TEST

/* The others are a piece of memory of their own when it is decoded. */
START_TEST(an_encoded_block_may_refer_to_what_is_before_it)
{
	enum { SIZE = 9000 };
	static const size_t befores[] = {0, 1, 3, 4, 5, 100, 4000, SIZE - 13, SIZE - 1, SIZE};
	uint8_t *data = make_data(SIZE, _i), block[2 * SIZE];
	for (size_t i = 0; i < countof(befores); i++) {
		size_t before = befores[i], size = SIZE - before;
		size_t used = lz4_encode_after(block, sizeof(block), data, SIZE, before);
		ck_assert_uint_gt(used, 0);
		check_end(block, used, size);
		uint8_t *others = malloc(before), *back = malloc(size), *exact = malloc(used);
		memcpy(others, data, before);
		memcpy(exact, block, used);
		ck_assert(lz4_decode_after(back, size, exact, used, others, before));
		ck_assert(size == 0 || memcmp(back, data + before, size) == 0);
		bool may_pay = _i > 0 && before == 4000;
		ck_assert(!may_pay || lz4_encode(block, sizeof(block), data + before, size) > used);
		free(exact);
		free(back);
		free(others);
	}
	free(data);
}
END_TEST

/* Eight bytes from nine back, of which there are so many. */
START_TEST(a_match_begins_where_there_is_something)
{
	static const uint8_t block[] = {0x14, 'x', 9, 0, 0x50, '1', '2', '3', '4', '5'};
	uint8_t out[14];
	for (size_t before = 0; before <= 9; before++) {
		bool good = lz4_decode_after(out, sizeof(out), block, sizeof(block),
			(const uint8_t *)"abcdefghi" + 9 - before, before);
		ck_assert_int_eq(good, before >= 8);
	}
	ck_assert_mem_eq(out, "xbcdefghi12345", sizeof(out));
}
END_TEST

/* Of each size that is too small, too. */
START_TEST(a_block_has_the_room_that_it_was_given)
{
	enum { SIZE = 600 };
	uint8_t *data = make_data(SIZE, _i);
	int fits = 0;
	for (size_t room = 0; room < SIZE + 20; room++) {
		uint8_t *block = malloc(room);
		size_t used = lz4_encode(block, room, data, SIZE);
		ck_assert_uint_le(used, room);
		fits += used > 0;
		free(block);
	}
	ck_assert_int_gt(fits, 0);
	ck_assert_int_lt(fits, SIZE + 20);
	free(data);
}
END_TEST

/* --- Texts --- */

enum { LEAST_PIECES = 8, PIECES = 10, TEXT_SIZE = (PIECES - 1) * SQUEEZE_PIECE + 100 };

/* Its second piece is noise, which is kept as it is. */
static char *make_text(void)
{
	char *text = (char *)make_data(TEXT_SIZE, 3);
	uint8_t *noise = make_data(SQUEEZE_PIECE, 0);
	memcpy(text + SQUEEZE_PIECE, noise, SQUEEZE_PIECE);
	free(noise);
	return text;
}

static struct squeezed *open_text(struct str *bytes, const char *text)
{
	struct squeezed *s;
	*bytes = (struct str)STR_INIT;
	str_add(bytes, "before");
	ck_assert(squeeze(bytes, text, TEXT_SIZE));
	size_t size = bytes->len - 6;
	char *exact = mem_alloc(size);
	memcpy(exact, bytes->data + 6, size);
	str_free(bytes);
	*bytes = (struct str){exact, size, size, false};
	ck_assert_int_eq(squeezed_open(&s, exact, size, TEXT_SIZE), KZ_OK);
	return s;
}

START_TEST(a_text_is_there_where_it_is_read)
{
	struct str bytes;
	char *text = make_text();
	struct squeezed *s = open_text(&bytes, text);
	const char *got = squeezed_text(s);
	ck_assert_uint_eq(squeezed_count(s), 0);
	squeezed_read(s, 2 * SQUEEZE_PIECE + 5, 2 * SQUEEZE_PIECE + 10);
	ck_assert_uint_eq(squeezed_count(s), 2); /* the first one, too */
	ck_assert_mem_eq(got + 2 * SQUEEZE_PIECE, text + 2 * SQUEEZE_PIECE, SQUEEZE_PIECE);
	squeezed_read(s, SQUEEZE_PIECE - 1, SQUEEZE_PIECE);
	squeezed_read(s, 9 * SQUEEZE_PIECE + 7, 9 * SQUEEZE_PIECE + 7);
	squeezed_read(s, TEXT_SIZE, TEXT_SIZE + 9);
	ck_assert_uint_eq(squeezed_count(s), 2);
	squeezed_read(s, SQUEEZE_PIECE - 1, SQUEEZE_PIECE + 1);
	ck_assert_uint_eq(squeezed_count(s), 3);
	squeezed_read(s, 0, SIZE_MAX);
	ck_assert_uint_eq(squeezed_count(s), PIECES);
	ck_assert_mem_eq(got, text, TEXT_SIZE);
	ck_assert_int_eq(got[TEXT_SIZE], 0);
	squeezed_close(s);
	squeezed_close(NULL);
	str_free(&bytes);
	free(text);
}
END_TEST

START_TEST(what_does_not_get_much_smaller_is_left_alone)
{
	struct str bytes = STR_INIT;
	uint8_t *noise = make_data(TEXT_SIZE, 0), *same = make_data(TEXT_SIZE, 1);
	str_add(&bytes, "before");
	ck_assert(!squeeze(&bytes, (const char *)noise, TEXT_SIZE));
	ck_assert(!squeeze(&bytes, (const char *)same, LEAST_PIECES * SQUEEZE_PIECE - 1));
	ck_assert(!squeeze(&bytes, "", 0));
	ck_assert_uint_eq(bytes.len, 6);
	ck_assert(squeeze(&bytes, (const char *)same, LEAST_PIECES * SQUEEZE_PIECE));
	str_free(&bytes);
	free(same);
	free(noise);
}
END_TEST

START_TEST(pieces_of_other_sizes_are_refused)
{
	struct str bytes;
	struct squeezed *s;
	char *text = make_text();
	squeezed_close(open_text(&bytes, text));
	for (size_t size = 0; size < bytes.len; size += size < 40 ? 1 : 997) {
		char *cut = malloc(size);
		memcpy(cut, bytes.data, size);
		ck_assert_int_eq(squeezed_open(&s, cut, size, TEXT_SIZE), KZ_BAD_IMAGE);
		ck_assert_ptr_null(s);
		free(cut);
	}
	static const size_t texts[] = {0, 1, SQUEEZE_PIECE, TEXT_SIZE - 101, SIZE_MAX, SIZE_MAX / 2};
	for (size_t i = 0; i < countof(texts); i++) {
		ck_assert_int_eq(squeezed_open(&s, bytes.data, bytes.len, texts[i]), KZ_BAD_IMAGE);
	}
	for (size_t i = 0; i < PIECES * sizeof(uint32_t); i++) {
		bytes.data[i] ^= 4;
		ck_assert_int_eq(squeezed_open(&s, bytes.data, bytes.len, TEXT_SIZE), KZ_BAD_IMAGE);
		bytes.data[i] ^= 4;
	}
	/* Many pieces of no bytes, which are so many blanks. */
	memset(bytes.data, 0, bytes.len);
	ck_assert_int_eq(squeezed_open(&s, bytes.data, 4 * 100, 100 * SQUEEZE_PIECE), KZ_BAD_IMAGE);
	str_free(&bytes);
	free(text);
}
END_TEST

/* Whoever keeps the bytes knows it by a checksum; what counts is that nothing else is touched. */
START_TEST(a_damaged_piece_is_blank_or_another_one)
{
	struct str bytes;
	struct squeezed *s;
	char *text = make_text();
	int blank = 0;
	squeezed_close(open_text(&bytes, text));
	uint32_t sizes[2];
	memcpy(sizes, bytes.data, sizeof(sizes));
	const size_t third = PIECES * sizeof(uint32_t) + le32toh(sizes[0]) + le32toh(sizes[1]);
	for (size_t i = third; i < third + 300; i++) {
		bytes.data[i] ^= 0x55;
		ck_assert_int_eq(squeezed_open(&s, bytes.data, bytes.len, TEXT_SIZE), KZ_OK);
		squeezed_read(s, 0, TEXT_SIZE);
		const char *got = squeezed_text(s);
		blank += strspn(got + 2 * SQUEEZE_PIECE, " ") >= SQUEEZE_PIECE;
		ck_assert_mem_eq(got, text, 2 * SQUEEZE_PIECE);
		ck_assert_mem_eq(got + 3 * SQUEEZE_PIECE, text + 3 * SQUEEZE_PIECE,
			TEXT_SIZE - 3 * SQUEEZE_PIECE);
		squeezed_close(s);
		bytes.data[i] ^= 0x55;
	}
	ck_assert_int_gt(blank, 0);
	str_free(&bytes);
	free(text);
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	struct str bytes = STR_INIT;
	struct squeezed *s = NULL;
	char *text = make_text();
	bool failed = true;
	for (long n = 0; failed; n++) {
		str_free(&bytes);
		mem_fail_after(n);
		bool squeezed = squeeze(&bytes, text, TEXT_SIZE);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(squeezed, !failed);
	}
	failed = true;
	for (long n = 0; failed; n++) {
		mem_fail_after(n);
		kz_status st = squeezed_open(&s, bytes.data, bytes.len, TEXT_SIZE);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(st, failed ? KZ_NO_MEMORY : KZ_OK);
		ck_assert_int_eq(!s, failed);
	}
	squeezed_close(s);
	str_free(&bytes);
	free(text);
}
END_TEST

static void *read_all(void *squeezed)
{
	for (size_t i = 0; i < TEXT_SIZE; i += 1000) {
		squeezed_read(squeezed, i, i + 2000);
	}
	return memchr(squeezed_text(squeezed), 0x100, TEXT_SIZE); /* for the sanitizer of threads */
}

START_TEST(threads_may_read_at_once)
{
	enum { THREADS = 3 };
	struct str bytes;
	pthread_t threads[THREADS];
	char *text = make_text();
	struct squeezed *s = open_text(&bytes, text);
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_all, s), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	ck_assert_mem_eq(squeezed_text(s), text, TEXT_SIZE);
	squeezed_close(s);
	str_free(&bytes);
	free(text);
}
END_TEST

SUITE(squeeze)
{
	Suite *suite = suite_create("squeeze");
	TCase *blocks = tcase_create("blocks");
	tcase_add_loop_test(blocks, an_encoded_block_comes_back, 0, KINDS);
	tcase_add_loop_test(blocks, an_encoded_block_may_refer_to_what_is_before_it, 0, KINDS);
	tcase_add_test(blocks, a_match_begins_where_there_is_something);
	tcase_add_loop_test(blocks, a_block_has_the_room_that_it_was_given, 0, KINDS);
	suite_add_tcase(suite, blocks);
	TCase *texts = tcase_create("texts");
	tcase_add_test(texts, a_text_is_there_where_it_is_read);
	tcase_add_test(texts, what_does_not_get_much_smaller_is_left_alone);
	tcase_add_test(texts, pieces_of_other_sizes_are_refused);
	tcase_add_test(texts, a_damaged_piece_is_blank_or_another_one);
	tcase_add_test(texts, want_of_memory_leaves_nothing);
	tcase_add_test(texts, threads_may_read_at_once);
	suite_add_tcase(suite, texts);
	return suite;
}

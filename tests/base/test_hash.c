/* SPDX-License-Identifier: MIT */
/* src/base/hash.c: the vectors that xxHash publishes, and that it does not matter how bytes are
 * cut. */
#include "base/common.h"

#include "base/hash.h"
#include "support/suite.h"

#include <check.h>
#include <string.h>

/* Test vectors of XXH3_128bits without a seed, as xxHash publishes them. */
static const struct {
	size_t size;
	const char *text;
} vectors[] = {
	{0, "99aa06d3014798d86001c324468d497f"},
	{1, "a6cd5e9392000f6ac44bdff4074eecdb"},
	{6, "082afe0b8162d12a3e7039bdda43cfc6"},
};

START_TEST(a_hash_is_that_of_xxhash)
{
	char text[HASH_TEXT_SIZE];
	unsigned char bytes[16];
	uint64_t generator = 2654435761u;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (unsigned char)(generator >> 56);
		generator *= UINT64_C(11400714785074694797);
	}
	hash_text(text, hash_of(bytes, vectors[_i].size));
	ck_assert_str_eq(text, vectors[_i].text);
}
END_TEST

START_TEST(a_hash_does_not_depend_on_how_its_bytes_were_cut)
{
	enum { SIZE = 3000 };
	unsigned char bytes[SIZE];
	for (size_t i = 0; i < SIZE; i++) {
		bytes[i] = (unsigned char)(i * 7 + i / 256);
	}
	struct hash whole = hash_of(bytes, SIZE);
	size_t wrong = 0;
	for (size_t cut = 0; cut <= SIZE; cut++) {
		struct hash_state state;
		hash_begin(&state);
		hash_add(&state, bytes, cut);
		hash_add(&state, NULL, 0);
		hash_add(&state, bytes + cut, SIZE - cut);
		wrong += !hash_equal(hash_end(&state), whole);
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(every_bit_changes_the_hash)
{
	unsigned char bytes[100] = {0};
	struct hash before = hash_of(bytes, sizeof(bytes));
	size_t same = 0;
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		same += hash_equal(hash_of(bytes, sizeof(bytes)), before);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	ck_assert_uint_eq(same, 0);
	ck_assert(hash_equal(hash_of(bytes, sizeof(bytes)), before));
	ck_assert(!hash_equal(hash_of(bytes, sizeof(bytes) - 1), before));
}
END_TEST

SUITE(hash)
{
	Suite *suite = suite_create("hash");
	TCase *tc = tcase_create("hash");
	tcase_add_loop_test(tc, a_hash_is_that_of_xxhash, 0, countof(vectors));
	tcase_add_test(tc, a_hash_does_not_depend_on_how_its_bytes_were_cut);
	tcase_add_test(tc, every_bit_changes_the_hash);
	suite_add_tcase(suite, tc);
	return suite;
}

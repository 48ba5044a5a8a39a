/* SPDX-License-Identifier: MIT */
/*
 * src/cpu/runtime/heap.c: random requests against a map of the bytes in use, and corner cases.  The
 * managed range is never accessed, so it can have any address.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/runtime/heap.h"
#include "support/suite.h"

#include <check.h>
#include <pthread.h>
#include <string.h>

#define BASE UINT64_C(0x700000000000)

static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % n;
}

enum { SIZE = 1 << 14, BLOCKS = 200, ROUNDS = 20000 };

static struct block {
	uint64_t address;
	uint32_t size;
} blocks[BLOCKS];
static uint8_t used[SIZE];

/* The longest run of bytes that nobody uses, in whole units. */
static uint32_t longest_gap(void)
{
	uint32_t best = 0, run = 0;
	for (uint32_t i = 0; i < SIZE; i++) {
		run = used[i] ? 0 : run + 1;
		best = run > best ? run : best;
	}
	return best;
}

static void give(struct heap *heap, struct block *block)
{
	ck_assert(heap_free(heap, block->address));
	memset(used + (block->address - BASE), 0, round_up(block->size, HEAP_ALIGN));
	ck_assert(!heap_free(heap, block->address) || block->address == 0);
	*block = (struct block){0, 0};
}

static void take(struct heap *heap, struct block *block)
{
	uint32_t gap = longest_gap();
	uint32_t limit = random_below(4) ? 300 : SIZE;
	block->size = 1 + random_below(limit);
	block->address = heap_alloc(heap, block->size);
	size_t size = round_up(block->size, HEAP_ALIGN), at = block->address - BASE;
	ck_assert_msg((block->address != 0) == (size <= gap), "%u of %u", block->size, gap);
	if (block->address == 0) {
		return;
	}
	ck_assert_uint_eq(block->address % HEAP_ALIGN, 0);
	ck_assert_uint_le(at + size, SIZE);
	ck_assert_ptr_null(memchr(used + at, 1, size));
	memset(used + at, 1, size);
}

START_TEST(heap_gives_what_is_free_whenever_it_fits)
{
	struct heap *heap = heap_create(BASE, SIZE, 0);
	random_state = (uint32_t)_i;
	for (int i = 0; i < ROUNDS; i++) {
		struct block *block = &blocks[random_below(BLOCKS)];
		if (block->address != 0) {
			give(heap, block);
		} else {
			take(heap, block);
		}
	}
	for (int i = 0; i < BLOCKS; i++) {
		if (blocks[i].address != 0) {
			give(heap, &blocks[i]);
		}
	}
	ck_assert_uint_eq(heap_alloc(heap, SIZE), BASE);
	heap_release(heap);
}
END_TEST

/* Against a map of the bytes that were asked for. */
START_TEST(heap_knows_each_byte_that_it_has_given)
{
	enum { RANGE = 1024, MOST = 16 };
	struct heap *heap = heap_create(BASE, RANGE, HEAP_FINDS | (_i == 1 ? HEAP_GAPS : 0));
	uint8_t asked[RANGE] = {0};
	struct block have[MOST] = {{0, 0}};
	random_state = (uint32_t)_i;
	for (int round = 0; round < 300; round++) {
		struct block *block = &have[random_below(MOST)];
		if (block->address != 0) {
			ck_assert(heap_free(heap, block->address));
			memset(asked + (block->address - BASE), 0, block->size);
			block->address = 0;
		} else {
			block->size = 1 + random_below(90);
			block->address = heap_alloc(heap, block->size);
			memset(asked + (block->address ? block->address - BASE : 0), 1,
				block->address ? block->size : 0);
		}
		for (uint32_t at = 0; at < RANGE; at++) {
			ck_assert(heap_holds(heap, BASE + at, 1) == asked[at]);
		}
	}
	for (int i = 0; i < MOST; i++) {
		const struct block *b = &have[i];
		ck_assert(b->address == 0 || (heap_holds(heap, b->address, b->size)
			&& !heap_holds(heap, b->address, b->size + 1)));
	}
	ck_assert(heap_covers(heap, BASE + RANGE - 1) && !heap_covers(heap, BASE + RANGE));
	ck_assert(!heap_covers(heap, BASE - 1));
	heap_release(heap);
}
END_TEST

/* With gaps: allocations do not touch. */
START_TEST(heap_describes_where_an_address_lies)
{
	static const struct {
		int at;
		const char *text;
	} places[] = {
		{0, "inside the 20 bytes that malloc has returned at 0x700000000000"},
		{19, "inside the 20 bytes that malloc has returned at 0x700000000000"},
		{20, "0 bytes past the end of the 20 bytes that malloc has returned at "
			"0x700000000000"},
		{47, "27 bytes past the end of the 20 bytes that malloc has returned at "
			"0x700000000000"},
		{48, "inside the 16 bytes that malloc has returned at 0x700000000030"},
		{80, "in memory of the heap that is not allocated, or that was freed"},
		{112, "inside the 1 byte that malloc has returned at 0x700000000070"},
		{1023, "in memory of the heap that is not allocated, or that was freed"},
	};
	char text[112];
	struct heap *heap = heap_create(BASE, 1024, HEAP_GAPS | HEAP_FINDS);
	ck_assert_uint_eq(heap_alloc(heap, 20), BASE);
	ck_assert_uint_eq(heap_alloc(heap, 16), BASE + 48);
	ck_assert_uint_eq(heap_alloc(heap, 8), BASE + 80);
	ck_assert_uint_eq(heap_alloc(heap, 1), BASE + 112);
	ck_assert(heap_free(heap, BASE + 80));
	for (size_t i = 0; i < countof(places); i++) {
		heap_describe(heap, BASE + (uint64_t)places[i].at, text, sizeof(text));
		ck_assert_str_eq(text, places[i].text);
	}
	heap_release(heap);
}
END_TEST

START_TEST(heap_refuses_addresses_that_it_has_not_given)
{
	struct heap *heap = heap_create(BASE, 1024, 0);
	uint64_t a = heap_alloc(heap, 100);
	const uint64_t bad[] = {0, 1, BASE - 16, BASE + 1024, a + 16, a + 8, a + 112, UINT64_MAX};
	for (size_t i = 0; i < countof(bad); i++) {
		ck_assert(!heap_free(heap, bad[i]));
	}
	ck_assert(heap_free(heap, a));
	ck_assert(!heap_free(heap, a));
	heap_release(heap);
}
END_TEST

START_TEST(heap_has_no_room_for_nothing_and_for_too_much)
{
	struct heap *heap = heap_create(BASE, 1000, 0);
	ck_assert_uint_eq(heap_alloc(heap, 0), 0);
	ck_assert_uint_eq(heap_alloc(heap, 993), 0);
	ck_assert_uint_eq(heap_alloc(heap, UINT64_MAX), 0);
	ck_assert_uint_eq(heap_alloc(heap, 992), BASE);
	ck_assert_uint_eq(heap_alloc(heap, 1), 0);
	heap_release(heap);
	heap = heap_create(BASE, 15, 0);
	ck_assert_uint_eq(heap_alloc(heap, 1), 0);
	heap_release(heap);
	heap_release(NULL);
}
END_TEST

START_TEST(heap_reports_that_host_memory_has_run_out)
{
	for (long n = 0;; n++) {
		mem_fail_after(n);
		struct heap *heap = heap_create(BASE, 1024, 0);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert((heap == NULL) == failed);
		heap_release(heap);
		if (!failed) {
			break;
		}
	}
	ck_assert_ptr_null(heap_create(BASE, SIZE_MAX, 0));
}
END_TEST

static void *churn(void *arg)
{
	struct heap *heap = arg;
	uint64_t mine[8] = {0};
	for (int i = 0; i < 4000; i++) {
		uint64_t *slot = &mine[i % 8];
		if (*slot != 0) {
			ck_assert(heap_free(heap, *slot));
		}
		*slot = heap_alloc(heap, (uint64_t)(i % 5 + 1) * 24);
	}
	for (int i = 0; i < 8; i++) {
		ck_assert(mine[i] == 0 || heap_free(heap, mine[i]));
	}
	return NULL;
}

START_TEST(heap_serves_several_threads)
{
	struct heap *heap = heap_create(BASE, 4096, 0);
	pthread_t threads[4];
	for (size_t i = 0; i < countof(threads); i++) {
		ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, heap), 0);
	}
	for (size_t i = 0; i < countof(threads); i++) {
		pthread_join(threads[i], NULL);
	}
	ck_assert_uint_eq(heap_alloc(heap, 4096), BASE);
	heap_release(heap);
}
END_TEST

SUITE(heap)
{
	Suite *s = suite_create("heap");
	TCase *tc = suite_add_case(s, "heap");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, heap_gives_what_is_free_whenever_it_fits, 0, 4);
	tcase_add_loop_test(tc, heap_knows_each_byte_that_it_has_given, 0, 2);
	tcase_add_tests(tc, 1, heap_refuses_addresses_that_it_has_not_given,
		heap_describes_where_an_address_lies,
		heap_has_no_room_for_nothing_and_for_too_much,
		heap_reports_that_host_memory_has_run_out, heap_serves_several_threads);
	return s;
}

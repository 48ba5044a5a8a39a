/* SPDX-License-Identifier: MIT */
/* The device's memory: addresses, limits, look-up, and which accesses trap. */
#include "base/common.h"

#include "base/alloc.h"
#include "cpu/mem/fault.h"
#include "cpu/mem/device_memory.h"
#include "support/suite.h"

#include <check.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT ((size_t)64 << 20)

static struct device_memory *memory;

static void setup(void)
{
	ck_assert(device_memory_create(&memory, 1, LIMIT));
	ck_assert(fault_install());
}

static void teardown(void)
{
	fault_remove();
	device_memory_release(memory);
}

static uint64_t get(size_t size)
{
	struct memory_range wish = {.size = size};
	return memory_alloc(memory, &wish);
}

/* Whether reading a byte traps. */
static bool traps(uint64_t address)
{
	struct fault_catch fault;
	bool trapped = true;
	fault_init(&fault);
	if (sigsetjmp(fault.env, 0) == 0) {
		fault_arm(&fault);
		(void)*(volatile const char *)(uintptr_t)address;
		fault_disarm(&fault);
		trapped = false;
	} else {
		ck_assert(fault.has_address);
		ck_assert_uint_eq(fault.address, address);
	}
	return trapped;
}

START_TEST(memory_is_aligned_cleared_and_writable)
{
	static const size_t sizes[] = {1, 255, 256, 257, 4096, 5000, 1 << 20};
	size_t size = sizes[_i];
	uint64_t address = get(size);
	ck_assert_uint_ne(address, 0);
	ck_assert_uint_eq(address % 256, 0);
	uint8_t *bytes = (uint8_t *)(uintptr_t)address;
	uint8_t any = 0;
	for (size_t i = 0; i < size; i++) {
		any |= bytes[i];
	}
	ck_assert_uint_eq(any, 0);
	memset(bytes, 0xab, size);
	struct memory_range range;
	ck_assert(memory_find(memory, address + size - 1, &range));
	ck_assert_uint_eq(range.address, address);
	ck_assert_uint_eq(range.size, size);
	ck_assert(!memory_find(memory, address + size, &range));
	ck_assert(!memory_find(memory, address - 1, &range));
}
END_TEST

START_TEST(memory_is_aligned_as_asked)
{
	static const size_t sizes[] = {1, 300, 4096, 4097, 10000};
	for (size_t i = 0; i < countof(sizes); i++) {
		struct memory_range wish = {.size = sizes[i], .align = 4096};
		uint64_t address = memory_alloc(memory, &wish);
		ck_assert_uint_ne(address, 0);
		ck_assert_uint_eq(address % 4096, 0);
		memset((void *)(uintptr_t)address, 1, sizes[i]);
		ck_assert(memory_free(memory, address, MEMORY_DEVICE));
	}
	struct memory_range wish = {.size = 1, .align = LIMIT};
	ck_assert_uint_eq(memory_alloc(memory, &wish), 0);
}
END_TEST

START_TEST(memory_traps_past_the_end_and_after_free)
{
	uint64_t address = get(4096);
	uint64_t other = get(4096);
	ck_assert(!traps(address + 4095));
	ck_assert(traps(address + 4096));
	ck_assert(traps(other - 1));
	ck_assert(traps(get(100) + 256));
	ck_assert(memory_free(memory, address, MEMORY_DEVICE));
	ck_assert(traps(address));
	ck_assert(!traps(other));
}
END_TEST

START_TEST(memory_traps_before_the_first_allocation)
{
	uint64_t address = get(4096);
	ck_assert(!traps(address));
	ck_assert(traps(address - 1));
	ck_assert(traps(address - 4096));
}
END_TEST

START_TEST(memory_refuses_to_free_what_is_not_an_allocation)
{
	uint64_t address = get(1000);
	ck_assert(!memory_free(memory, 0, MEMORY_DEVICE));
	ck_assert(!memory_free(memory, address + 16, MEMORY_DEVICE));
	ck_assert(!memory_free(memory, address, MEMORY_HOST));
	ck_assert(memory_free(memory, address, MEMORY_DEVICE));
	ck_assert(!memory_free(memory, address, MEMORY_DEVICE));
}
END_TEST

START_TEST(memory_ends_at_the_limit)
{
	ck_assert_uint_eq(get(0), 0);
	ck_assert_uint_eq(get(SIZE_MAX), 0);
	ck_assert_uint_eq(get(LIMIT + 1), 0);
	uint64_t all = get(LIMIT);
	ck_assert_uint_ne(all, 0);
	ck_assert_uint_eq(memory_usage(memory, 0).used, LIMIT);
	ck_assert_uint_eq(get(1), 0);
	ck_assert(memory_free(memory, all, MEMORY_DEVICE));
	ck_assert_uint_eq(memory_usage(memory, 0).used, 0);
	ck_assert_uint_ne(get(1), 0);
}
END_TEST

START_TEST(memory_wraps_around_the_range)
{
	uint64_t kept = get(256);
	uint64_t first = get(LIMIT / 2);
	ck_assert(memory_free(memory, first, MEMORY_DEVICE));
	uint64_t address = 0;
	for (int i = 0; i < 100 && address != first; i++) {
		address = get(LIMIT / 2);
		ck_assert_uint_ne(address, 0);
		ck_assert(i == 0 || address != kept);
		ck_assert(memory_free(memory, address, MEMORY_DEVICE));
	}
	ck_assert_uint_eq(address, first);
	ck_assert(memory_free(memory, kept, MEMORY_DEVICE));
}
END_TEST

START_TEST(memory_keeps_gaps_when_it_fills_holes)
{
	struct device_memory *tiny;
	ck_assert(device_memory_create(&tiny, 1, 16 * 4096));
	struct memory_range page = {.size = 4096};
	struct memory_range pair = {.size = 8192};
	uint64_t hole[3];
	for (int i = 0; i < 3; i++) {
		hole[i] = memory_alloc(tiny, &page);
	}
	ck_assert(memory_free(tiny, hole[1], MEMORY_DEVICE));
	for (int i = 0; i < 200; i++) {
		uint64_t address = memory_alloc(tiny, &pair);
		ck_assert_uint_ne(address, 0);
		ck_assert(traps(address - 1));
		ck_assert(traps(address + 8192));
		ck_assert(memory_free(tiny, address, MEMORY_DEVICE));
	}
	device_memory_release(tiny);
}
END_TEST

START_TEST(memory_finds_each_of_many)
{
	enum { N = 500 };
	uint64_t at[N];
	struct memory_range range;
	for (size_t i = 0; i < N; i++) {
		at[i] = get(1 + i * 37 % 9000);
		ck_assert_uint_ne(at[i], 0);
	}
	for (size_t i = 0; i < N; i += 3) {
		ck_assert(memory_free(memory, at[i], MEMORY_DEVICE));
	}
	for (size_t i = 0; i < N; i++) {
		ck_assert_int_eq(memory_find(memory, at[i] + i * 37 % 9000, &range), i % 3 != 0);
	}
}
END_TEST

START_TEST(memory_frees_what_an_owner_has)
{
	struct memory_pool pool = {0};
	struct memory_range wish = {.size = 100, .owner = &wish, .pool = &pool};
	uint64_t other = get(100);
	uint64_t owned = memory_alloc(memory, &wish);
	ck_assert_uint_gt(pool.used, 0);
	memory_free_owner(memory, &wish);
	struct memory_range range;
	ck_assert(!memory_find(memory, owned, &range));
	ck_assert(memory_find(memory, other, &range));
	ck_assert_uint_eq(pool.used, 0);
	ck_assert_uint_gt(pool.peak, 0);
}
END_TEST

START_TEST(memory_says_where_an_address_lies)
{
	char text[128];
	uint64_t address = get(4096);
	memory_describe(memory, address + 4100, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "4 bytes past the end of the 4096-byte allocation"));
	memory_describe(memory, address - 8, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "8 bytes before the 4096-byte allocation"));
	memory_describe(memory, 16, text, sizeof(text));
	ck_assert_str_eq(text, "in no allocation");
	memory_free(memory, address, MEMORY_DEVICE);
	memory_describe(memory, address, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "which was freed"));
}
END_TEST

START_TEST(memory_survives_every_failing_malloc)
{
	bool failed = true;
	for (long n = 0; failed; n++) {
		struct device_memory *other;
		mem_fail_after(n);
		if (device_memory_create(&other, 1, LIMIT)) {
			struct memory_range wish = {.size = 1};
			uint64_t address = memory_alloc(other, &wish);
			ck_assert(address != 0 || mem_has_failed());
			device_memory_release(other);
		}
		failed = mem_has_failed();
		mem_fail_after(-1);
	}
}
END_TEST

SUITE(cpu_memory)
{
	Suite *suite = suite_create("cpu_memory");
	TCase *tc = suite_add_case(suite, "memory");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, memory_is_aligned_cleared_and_writable, 0, 7);
	tcase_add_tests(tc, 1, memory_is_aligned_as_asked, memory_traps_past_the_end_and_after_free,
		memory_traps_before_the_first_allocation,
		memory_refuses_to_free_what_is_not_an_allocation, memory_ends_at_the_limit,
		memory_wraps_around_the_range, memory_keeps_gaps_when_it_fills_holes,
		memory_finds_each_of_many, memory_frees_what_an_owner_has,
		memory_says_where_an_address_lies, memory_survives_every_failing_malloc);
	return suite;
}

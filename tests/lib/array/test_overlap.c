/* SPDX-License-Identifier: MIT */
/* Whether arrays share memory, against a list of all bytes of both. */
#include "base/common.h"

#include "lib/array/overlap.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, ROUNDS = 200000 };

static struct memory memory = {.address = 1 << 20, .size = INT64_C(1) << 40};
static struct kz_buffer buffer = {.memory = &memory};
static uint64_t state;

static int64_t below(int64_t count)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((state >> 33) % (uint64_t)count);
}

/* Mark the bytes of an array, or look for a marked one. */
static bool visit(char *bytes, const struct kz_array *array, bool mark)
{
	bool found = false;
	for (int64_t e = 0; e < array->count; e++) {
		int64_t at = array->offset, rest = e;
		for (int64_t i = array->shape.ndim; i-- > 0;) {
			at += rest % array->shape.dims[i] * array->strides[i];
			rest /= array->shape.dims[i];
		}
		for (int64_t b = 0; b < kz_dtype_size(array->dtype); b++) {
			found |= bytes[at + b] != 0;
			bytes[at + b] |= mark;
		}
	}
	return found;
}

/* A random array whose bytes are all in the buffer. */
static struct kz_array any_array(void)
{
	static const kz_dtype dtypes[] = {KZ_U8, KZ_I16, KZ_F32, KZ_F64};
	for (;;) {
		struct kz_array array = {.buffer = &buffer, .dtype = dtypes[below(4)]};
		int64_t low = 0, high = kz_dtype_size(array.dtype);
		array.shape.ndim = below(4);
		array.count = 1;
		for (int64_t i = 0; i < array.shape.ndim; i++) {
			array.shape.dims[i] = below(20) ? 1 + below(6) : 0;
			array.strides[i] = below(2) ? (below(17) - 8) * 4 : below(241) - 120;
			array.count *= array.shape.dims[i];
			int64_t reach = (array.shape.dims[i] - 1) * array.strides[i];
			*(reach < 0 ? &low : &high) += array.shape.dims[i] ? reach : 0;
		}
		array.offset = BYTES / 2 - 200 + below(400);
		if (array.offset + low >= 0 && array.offset + high <= BYTES) {
			return array;
		}
	}
}

START_TEST(random_arrays_share_what_their_bytes_say)
{
	const char *text = getenv("KUDZU_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
	int shared = 0;
	printf("%d pairs of arrays from KUDZU_TEST_SEED=%llu\n", ROUNDS, (unsigned long long)seed);
	for (uint64_t round = seed; round < seed + ROUNDS; round++) {
		static char bytes[BYTES];
		state = round * 0x9e3779b97f4a7c15u;
		struct kz_array a = any_array(), b = any_array();
		memset(bytes, 0, sizeof(bytes));
		visit(bytes, &a, true);
		bool want = visit(bytes, &b, false);
		shared += want;
		if (overlap_arrays(&a, &b) != want) {
			ck_abort_msg("expected %d; KUDZU_TEST_SEED=%llu", want,
				(unsigned long long)round);
		}
	}
	ck_assert_int_gt(shared, ROUNDS / 20);
	ck_assert_int_lt(shared, ROUNDS - ROUNDS / 20);
}
END_TEST

static struct kz_array array_at(int64_t offset, int64_t rows, int64_t columns, int64_t stride)
{
	return (struct kz_array){.buffer = &buffer, .dtype = KZ_F32, .offset = offset,
		.shape = {2, {rows, columns}}, .strides = {stride, 4}, .count = rows * columns};
}

START_TEST(halves_of_large_arrays_share_nothing)
{
	struct kz_array left = array_at(0, 1 << 20, 500, 4000);
	struct kz_array right = array_at(2000, 1 << 20, 500, 4000);
	struct kz_array wide = array_at(1996, 1 << 20, 501, 4000);
	struct kz_array top = array_at(0, 1 << 19, 1000, 4000);
	struct kz_array bottom = array_at(4000ll << 19, 1 << 19, 1000, 4000);
	struct memory twin = memory, elsewhere = memory;
	elsewhere.address += (CUdeviceptr)memory.size;
	struct kz_buffer other = {.memory = &twin};
	ck_assert(!overlap_arrays(&left, &right) && !overlap_arrays(&right, &left));
	ck_assert(overlap_arrays(&left, &wide) && overlap_arrays(&wide, &left));
	ck_assert(!overlap_arrays(&top, &bottom));
	ck_assert(overlap_arrays(&top, &left) && overlap_arrays(&bottom, &left));
	right.offset = 0;
	ck_assert(overlap_arrays(&left, &right) && overlap_is_same(&left, &right));
	right.strides[0] = 8000;
	ck_assert(!overlap_is_same(&left, &right));
	right.buffer = &other;
	ck_assert(overlap_arrays(&left, &right));
	other.memory = &elsewhere;
	ck_assert(!overlap_arrays(&left, &right));
}
END_TEST

START_TEST(the_same_elements_may_have_other_axes_of_one)
{
	struct kz_array a = array_at(0, 1, 8, 4000), b = array_at(0, 1, 8, 12);
	ck_assert(overlap_is_same(&a, &b));
	b.dtype = KZ_F64;
	ck_assert(!overlap_is_same(&a, &b));
	b = array_at(4, 1, 8, 4000);
	ck_assert(!overlap_is_same(&a, &b));
	b = array_at(0, 1, 7, 4000);
	ck_assert(!overlap_is_same(&a, &b));
	b = array_at(0, 1, 8, 4000);
	b.shape.ndim = 1;
	ck_assert(!overlap_is_same(&a, &b));
}
END_TEST

SUITE(overlap)
{
	Suite *suite = suite_create("overlap");
	TCase *tcase = suite_add_case(suite, "overlap");
	tcase_add_tests(tcase, 1, random_arrays_share_what_their_bytes_say,
		halves_of_large_arrays_share_nothing, the_same_elements_may_have_other_axes_of_one);
	return suite;
}

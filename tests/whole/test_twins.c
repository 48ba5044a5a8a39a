/* SPDX-License-Identifier: MIT */
/*
 * Results that are written over an operand by way of a twin: another array of the same memory, by
 * kz_buffer_wrap, as a program has it that passes memory through another library.  They are what
 * the same call writes to an array of its own.
 */
#include "base/common.h"

#include "support/device_test.h"

#include <kudzu/kudzu.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 96, ROW = ROWS * (int)sizeof(float), ROOM = (ROWS + 1) * ROW };

static kz_array *other;    /* reverses the rows of what it is multiplied by */
static kz_sparse *sparse;  /* the same */

static kz_op_options twin_into(kz_array *into)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.into = into;
	return options;
}

static kz_status twin_matmul(kz_array **out, kz_array *from, kz_array *into)
{
	const kz_op_options options = twin_into(into);
	return kz_matmul(out, other, from, &options, &err);
}

static kz_status twin_gemm(kz_array **out, kz_array *from, kz_array *into)
{
	*out = kz_array_retain(into);
	return kz_gemm(into, KZ_ARG(1.0), other, KZ_MATRIX_AS_IS, from, KZ_MATRIX_AS_IS,
		KZ_ARG(0.0), NULL, &err);
}

static kz_status twin_sparse(kz_array **out, kz_array *from, kz_array *into)
{
	const kz_op_options options = twin_into(into);
	return kz_sparse_matmul(out, sparse, KZ_MATRIX_AS_IS, from, &options, &err);
}

static kz_status twin_join(kz_array **out, kz_array *from, kz_array *into)
{
	const kz_op_options options = twin_into(into);
	kz_array *parts[2] = {NULL, NULL};
	ok(kz_array_split(parts, 2, from, 0, &err));
	kz_status st = kz_array_concatenate(out, KZ_ARRAYS(parts[1], parts[0]), 0, &options, &err);
	kz_release_all(parts[0], parts[1]);
	return st;
}

static kz_status twin_scan(kz_array **out, kz_array *from, kz_array *into)
{
	kz_scan_options options = KZ_SCAN_OPTIONS_INIT;
	options.into = into;
	return kz_scan(out, from, "a + b", "0", &options, &err);
}

/* The sums of the rows become the last row, and all others stay. */
static kz_status twin_reduce(kz_array **out, kz_array *from, kz_array *into)
{
	kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
	kz_array *sums = NULL;
	ok(kz_array_view(&options.into, into, KZ_SHAPE(ROWS), NULL, (ROWS - 2) * ROW, &err));
	kz_status st = kz_reduce(&sums, KZ_REDUCE_SUM, from, KZ_AXES(1), &options, &err);
	kz_release_all(options.into, sums);
	*out = kz_array_retain(into);
	return st;
}

static const struct {
	const char *name;
	kz_status (*run)(kz_array **out, kz_array *from, kz_array *into);
} twin_calls[] = {
	{"kz_matmul", twin_matmul}, {"kz_gemm", twin_gemm}, {"kz_sparse_matmul", twin_sparse},
	{"kz_array_concatenate", twin_join}, {"kz_scan", twin_scan}, {"kz_reduce", twin_reduce},
};

/* Rows 0 to ROWS - 1 of `room`, and rows 1 to ROWS of `target`. */
static void twin_run(float *got, size_t call, kz_buffer *room, kz_buffer *target)
{
	kz_array *from = NULL, *into = NULL, *out = NULL;
	ok(kz_array_wrap(&from, room, KZ_F32, KZ_SHAPE(ROWS, ROWS), NULL, 0, &err));
	ok(kz_array_wrap(&into, target, KZ_F32, KZ_SHAPE(ROWS, ROWS), NULL, ROW, &err));
	ok(twin_calls[call].run(&out, from, into));
	ok(kz_copy_dtoh(got, ROWS * ROW, target, ROW, &err));
	kz_release_all(from, into, out);
}

static void twin_check(size_t call, const float *numbers)
{
	static float got[ROWS * ROWS], want[ROWS * ROWS];
	kz_buffer *room = create_buffer(ROOM), *apart = create_buffer(ROOM), *twin = NULL;
	ok(kz_copy_htod(room, 0, numbers, ROOM, &err));
	ok(kz_copy_htod(apart, 0, numbers, ROOM, &err));
	twin_run(want, call, room, apart);
	ok(kz_buffer_wrap(&twin, dev, kz_buffer_address(room), ROOM, NULL, NULL, &err));
	twin_run(got, call, room, twin);
	ck_assert_msg(memcmp(got, want, sizeof(want)) == 0, "%s", twin_calls[call].name);
	kz_buffer_release(twin);
	kz_buffer_release(apart);
	kz_buffer_release(room);
}

KERNEL_TEST(a_result_over_the_twin_of_an_operand_is_right)
{
	static float numbers[(ROWS + 1) * ROWS], reverse[ROWS * ROWS];
	for (int i = 0; i < (ROWS + 1) * ROWS; i++) {
		numbers[i] = (float)(i % 13 - 6);
	}
	for (int i = 0; i < ROWS; i++) {
		reverse[i * ROWS + ROWS - 1 - i] = 1;
	}
	ok(kz_array_from(&other, dev, KZ_F32, KZ_SHAPE(ROWS, ROWS), reverse, sizeof(reverse),
		&err));
	ok(kz_sparse_from_dense(&sparse, other, KZ_SPARSE_CSR, NULL, &err));
	for (size_t call = 0; call < countof(twin_calls); call++) {
		twin_check(call, numbers);
	}
	kz_sparse_release(sparse);
	kz_array_release(other);
}
END_TEST

KERNEL_TEST(copies_between_twins_that_overlap_are_refused)
{
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	kz_buffer *room = create_buffer(ROOM), *twin = NULL;
	ok(kz_buffer_wrap(&twin, dev, kz_buffer_address(room), ROOM, NULL, NULL, &err));
	box.to.buffer = room;
	box.from.buffer = twin;
	box.from.offset = ROW / 2;
	box.width = ROW;
	ck_assert_int_eq(kz_copy_3d(&box, &err), KZ_INVALID);
	ck_assert_ptr_nonnull(strstr(err.message, "the box to copy overlaps its target"));
	kz_error_clear(&err);
	box.from.offset = ROW;
	ok(kz_copy_3d(&box, &err));
	kz_buffer_release(twin);
	kz_buffer_release(room);
}
END_TEST

SUITE(twins)
{
	Suite *suite = suite_create("twins");
	TCase *tcase = suite_add_case(suite, "twins");
	tcase_add_tests(tcase, support_device_count(),
		a_result_over_the_twin_of_an_operand_is_right,
		copies_between_twins_that_overlap_are_refused);
	return suite;
}

/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_LINALG_H
#define KUDZU_LINALG_H

/*
 * Linear algebra.
 *
 *	if (kz_matmul(&c, a, b, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Multiply matrices, as numpy's matmul: (..., m, k) by (..., k, n) gives (..., m, n).
 *
 * The extents before the last two broadcast.  A 1-d first operand is a row, a 1-d second one a
 * column, and the result lacks that extent.  The operands come to their common type (kz_dtype_promote);
 * products are added one after the other, in the order of k, halves as float32 that are rounded once.
 * bool gives bool: whether any pair is.
 *
 * @param a any strides.
 * @param b any strides; a row-major copy is made unless its rows have no gaps.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for a 0-d operand, extents that do not fit (both shapes are shown), structs, or
 *         another device.
 * Ownership: give the result back with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_matmul(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif

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
 * The extents before the last two broadcast.  A 1-d first operand is a row, and a 1-d second one
 * is a column; the result lacks that extent.  The operands become their common type
 * (kz_dtype_promote). Products are added one after the other in the order of k; halves as float32,
 * rounded once.  For bool the result is true where any pair of elements is true.
 *
 * @param a any strides.
 * @param b any strides; if its rows have gaps, a row-major copy is made.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for a 0-d operand, structs, another device, and extents that do not
 *         fit, with both shapes.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_matmul(kz_array **out, kz_array *a, kz_array *b,
	const kz_op_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif

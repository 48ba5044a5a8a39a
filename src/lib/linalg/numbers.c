/* SPDX-License-Identifier: MIT */
/*
 * Products and properties of matrices as numbers of the program: kz_dot_get_as and its kin.  Each
 * computes a 0-d array as the function without _get_as does, and copies its element.
 */
#include "base/common.h"

#include "lib/array/array.h"

#include <kudzu/linalg.h>
#include <kudzu/solve.h>

/* The result is waited for, so nothing may be captured. */
static kz_status numbers_begin(const void *out, kz_array *array, kz_error *err)
{
	kz_status st;
	if ((st = pointer_check(out, "host memory", err))
	    || (st = object_check(array, OBJECT_ARRAY, err))
	    || (st = stream_check_free(&array_device(array)->stream, err))) {
		return st;
	}
	return array_check_capture(array, err);
}

/* Copy the element of a result, and release it. */
static kz_status numbers_end(void *out, kz_dtype dtype, kz_array *made, kz_status st,
	kz_error *err)
{
	st = st ? st : array_take_only(out, dtype, made, err);
	kz_array_release(made);
	return st;
}

kz_status kz_dot_get_as(void *out, kz_dtype dtype, kz_array *a, kz_array *b, kz_error *err)
{
	error_scope(err);
	kz_array *made = NULL;
	kz_status st = numbers_begin(out, a, err);
	st = st ? st : kz_dot(&made, a, b, NULL, err);
	return numbers_end(out, dtype, made, st, err);
}

kz_status kz_vdot_get_as(void *out, kz_dtype dtype, kz_array *a, kz_array *b, kz_error *err)
{
	error_scope(err);
	kz_array *made = NULL;
	kz_status st = numbers_begin(out, a, err);
	st = st ? st : kz_vdot(&made, a, b, NULL, err);
	return numbers_end(out, dtype, made, st, err);
}

kz_status kz_det_get_as(void *out, kz_dtype dtype, kz_array *array, kz_error *err)
{
	error_scope(err);
	kz_array *made = NULL;
	kz_status st = numbers_begin(out, array, err);
	st = st ? st : kz_det(&made, array, NULL, err);
	return numbers_end(out, dtype, made, st, err);
}

kz_status kz_trace_get_as(void *out, kz_dtype dtype, kz_array *array, int64_t offset,
	kz_error *err)
{
	error_scope(err);
	kz_array *made = NULL;
	kz_status st = numbers_begin(out, array, err);
	st = st ? st : kz_trace(&made, array, offset, NULL, err);
	return numbers_end(out, dtype, made, st, err);
}

kz_status kz_linalg_norm_get_as(void *out, kz_dtype dtype, kz_array *array, kz_norm_kind kind,
	double p, kz_error *err)
{
	error_scope(err);
	kz_array *made = NULL;
	kz_status st = numbers_begin(out, array, err);
	st = st ? st : kz_linalg_norm(&made, array, kind, p, KZ_ALL_AXES, NULL, err);
	return numbers_end(out, dtype, made, st, err);
}

kz_status kz_cond_get_as(void *out, kz_dtype dtype, kz_array *array, kz_norm_kind kind, double p,
	kz_error *err)
{
	error_scope(err);
	kz_array *made = NULL;
	kz_status st = numbers_begin(out, array, err);
	st = st ? st : kz_cond(&made, array, kind, p, NULL, err);
	return numbers_end(out, dtype, made, st, err);
}

kz_status kz_matrix_rank_get_as(void *out, kz_dtype dtype, kz_array *array, double tolerance,
	kz_error *err)
{
	error_scope(err);
	kz_array *made = NULL;
	kz_status st = numbers_begin(out, array, err);
	st = st ? st : kz_matrix_rank(&made, array, tolerance, NULL, err);
	return numbers_end(out, dtype, made, st, err);
}

/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_JOIN_H
#define KUDZU_JOIN_H

/*
 * Make one array of several arrays, or of repetitions of one.
 *
 *	kz_array *both = NULL, *pair = NULL;
 *	if (kz_array_concatenate(&both, KZ_ARRAYS(a, b), 0, NULL, &err)    (2, 3), (4, 3): (6, 3)
 *	    || kz_array_stack(&pair, KZ_ARRAYS(a, a), -1, NULL, &err)) {   (2, 3) twice: (2, 3, 2)
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_array_release(both);
 *	kz_array_release(pair);
 *
 * Each function copies the elements, and converts them to the common dtype of all arrays.  The
 * options are those of kz_apply: a dtype, a stream, and an array to write into, which may overlap
 * the others. NULL means none of them.  After a failure an array to write into may hold some of
 * the elements.
 *
 * Each returns KZ_OK; KZ_RANGE for an axis that does not exist and for a size that overflows;
 * KZ_INVALID for arrays of different devices, for NULL, and for shapes or dtypes that do not fit,
 * with these; KZ_DEVICE_MEMORY; KZ_NO_MEMORY; KZ_NO_COMPILER.
 *
 * Ownership: release the results with kz_array_release.
 * Async: returns before the work is done.  You may release the arrays at once.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A list of arrays, as KZ_ARRAYS makes it. */
typedef struct kz_arrays {
	kz_array *const *items; /**< `count` of them, borrowed */
	int64_t count;          /**< at least 1 */
} kz_arrays;

/**
 * List 1 to 64 arrays: KZ_ARRAYS(a, b).  For a computed list fill in a kz_arrays.
 *
 * The list lives until the end of the enclosing block (in C++: of the full expression).
 */
#ifndef __cplusplus
#define KZ_ARRAYS(...) \
	((kz_arrays){(kz_array *const[]){__VA_ARGS__}, KZ_PP_COUNT(__VA_ARGS__)})
#else
#define KZ_ARRAYS(...) kz_arrays_capture(__VA_ARGS__)
#endif

/**
 * Join arrays along an existing axis.
 *
 * @param arrays one or more, with equal extents except along `axis`.
 */
KZ_API KZ_NODISCARD kz_status kz_array_concatenate(kz_array **out, kz_arrays arrays, int64_t axis,
	const kz_op_options *options, kz_error *err);

/**
 * Join arrays along a new axis.
 *
 * @param arrays one or more, of equal shapes.
 * @param axis the place of the new axis in the result.
 */
KZ_API KZ_NODISCARD kz_status kz_array_stack(kz_array **out, kz_arrays arrays, int64_t axis,
	const kz_op_options *options, kz_error *err);

/**
 * Repeat a whole array along each axis, as tiles on a wall.
 *
 * @param counts how often along each axis, each at least 0.  As in numpy, the shorter one of
 *        counts and shape gets ones in front.  The axes, plus those that are repeated, may be at
 *        most 16.
 */
KZ_API KZ_NODISCARD kz_status kz_array_tile(kz_array **out, kz_array *array, kz_shape counts,
	const kz_op_options *options, kz_error *err);

/**
 * Repeat each element along an axis: 1, 2 becomes 1, 1, 2, 2.  A 0-d array counts as one of shape
 * (1,).
 *
 * @param count how often, at least 0.
 */
KZ_API KZ_NODISCARD kz_status kz_array_repeat(kz_array **out, kz_array *array, int64_t count,
	int64_t axis, const kz_op_options *options, kz_error *err);

/**
 * Shift the elements along an axis.  Elements that leave one end enter at the other.
 *
 * @param shift number of places; positive towards higher indexes.
 */
KZ_API KZ_NODISCARD kz_status kz_array_roll(kz_array **out, kz_array *array, int64_t shift,
	int64_t axis, const kz_op_options *options, kz_error *err);

#ifdef __cplusplus
}

/** The list behind KZ_ARRAYS in C++. */
template <size_t N>
struct kz_array_list {
	kz_array *items[N];
	operator kz_arrays() const { return kz_arrays{items, static_cast<int64_t>(N)}; }
};

template <class... T>
kz_array_list<sizeof...(T)> kz_arrays_capture(const T &...items)
{
	return kz_array_list<sizeof...(T)>{{items...}};
}
#endif

#endif

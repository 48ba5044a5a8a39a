/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_VIEW_H
#define KUDZU_VIEW_H

/*
 * Views: other looks at an array's memory.
 *
 *	kz_array *odd = NULL, *columns = NULL;
 *	if (kz_array_slice(&odd, a, KZ_AT(KZ_SLICE(1, KZ_OMIT, 2), -1), &err)    a[1::2, -1]
 *	    || kz_array_transpose(&columns, a, KZ_AXES(), &err)) {               a.T
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_array_release(odd);
 *	kz_array_release(columns);
 *
 * A view shares its array's memory and keeps it alive; nothing is copied, unless it is said below, and
 * what is written to one is seen in the other.  All work as numpy's functions of the same names.  Each fails with KZ_RANGE
 * for an axis that the array does not have, naming it and the shape; with KZ_INVALID for NULL and
 * for lists that are no shape or name an axis twice; and with KZ_NO_MEMORY.  *out is NULL then.
 *
 * Ownership: give every view back with kz_array_release.
 */
#include <kudzu/array.h>

#ifdef __cplusplus
#include <type_traits>
extern "C" {
#endif

/* Slices */

/** In a slice, for a bound that is left out, as in a[:3] and a[::-1]. */
#define KZ_OMIT INT64_MIN

/** What a kz_slice says of an axis.  The numbers never change. */
typedef enum kz_slice_kind {
	KZ_SLICE_NONE = 0,
	KZ_SLICE_RANGE = 1,    /**< the elements from start to before stop, by step */
	KZ_SLICE_INDEX = 2,    /**< the one at start; the axis goes away */
	KZ_SLICE_NEWAXIS = 3,  /**< no axis of the array: a new one of extent 1 */
	KZ_SLICE_ELLIPSIS = 4  /**< as many whole axes as are not named; once at most */
} kz_slice_kind;

/** What to take of one axis.  Negative bounds count from its end. */
typedef struct kz_slice {
	int32_t kind;     /**< kz_slice_kind */
	int32_t reserved;
	int64_t start;    /**< the first index, or the only one; KZ_OMIT: the end where `step` begins */
	int64_t stop;     /**< the first index behind; KZ_OMIT: the other end */
	int64_t step;     /**< not 0 */
} kz_slice;

/** A list of slices, as KZ_AT makes it. */
typedef struct kz_slices {
	const kz_slice *items; /**< `count` of them, borrowed */
	int64_t count;         /**< of slices, from 0 */
} kz_slices;

/** Make a slice of any kind. */
KZ_INLINE kz_slice kz_slice_make(kz_slice_kind kind, int64_t start, int64_t stop, int64_t step)
{
	kz_slice slice = {kind, 0, start, stop, step};
	return slice;
}

/** Make start:stop:step of Python; KZ_SLICE. */
KZ_INLINE kz_slice kz_slice_range(int64_t start, int64_t stop, int64_t step)
{
	return kz_slice_make(KZ_SLICE_RANGE, start, stop, step);
}

/** Make one index, whose axis goes; KZ_INDEX. */
KZ_INLINE kz_slice kz_slice_index(int64_t index)
{
	return kz_slice_make(KZ_SLICE_INDEX, index, 0, 0);
}

/** Return the slice itself, for KZ_AT. */
KZ_INLINE kz_slice kz_slice_self(kz_slice slice)
{
	return slice;
}

/** KZ_SLICE(start, stop) or KZ_SLICE(start, stop, step): start:stop:step. */
#define KZ_SLICE(...) KZ_PP_CAT(KZ_SLICE_, KZ_PP_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define KZ_SLICE_2(start, stop) kz_slice_range(start, stop, 1)
#define KZ_SLICE_3(start, stop, step) kz_slice_range(start, stop, step)
/** A whole axis, ":". */
#define KZ_ALL kz_slice_range(KZ_OMIT, KZ_OMIT, 1)
/** One index; in KZ_AT an integer alone says the same. */
#define KZ_INDEX(index) kz_slice_index(index)
/** A new axis of extent 1. */
#define KZ_NEWAXIS kz_slice_make(KZ_SLICE_NEWAXIS, 0, 0, 0)
/** All axes that are not named, "...". */
#define KZ_ELLIPSIS kz_slice_make(KZ_SLICE_ELLIPSIS, 0, 0, 0)

/**
 * List slices and indexes, up to 64: KZ_AT(0, KZ_ALL, KZ_SLICE(1, -1)) is [0, :, 1:-1].
 *
 * The list lives until the end of the enclosing block (in C++: of the full expression).
 */
#ifndef __cplusplus
#define KZ_AT_ITEM(x) _Generic((x), kz_slice: kz_slice_self, \
	char: kz_slice_index, signed char: kz_slice_index, unsigned char: kz_slice_index, \
	short: kz_slice_index, unsigned short: kz_slice_index, int: kz_slice_index, \
	unsigned int: kz_slice_index, long: kz_slice_index, long long: kz_slice_index, \
	unsigned long: kz_slice_index, unsigned long long: kz_slice_index)(x)
#define KZ_AT(...) KZ_PP_CAT(KZ_AT_, KZ_PP_IS_EMPTY(__VA_ARGS__))(__VA_ARGS__)
#define KZ_AT_1(...) ((kz_slices){NULL, 0})
#define KZ_AT_0(...) ((kz_slices){(const kz_slice[]){KZ_PP_MAP(KZ_AT_ITEM, __VA_ARGS__)}, \
	KZ_PP_COUNT(__VA_ARGS__)})
#else
#define KZ_AT(...) kz_slices_capture(__VA_ARGS__)
#endif

/**
 * Take part of an array, as a[...] does in Python.
 *
 * @param at KZ_AT(...); axes that it does not name, from the last named one on, stay whole.
 * @return KZ_OK; KZ_RANGE for an index beyond its axis (bounds of ranges are clipped instead);
 *         KZ_INVALID for a step of 0, more entries than axes, or a second ellipsis.
 */
KZ_API KZ_NODISCARD kz_status kz_array_slice(kz_array **out, kz_array *array, kz_slices at,
	kz_error *err);

/* Parts of the array's memory, as they are */

/**
 * Make a view of an array's memory.
 *
 * @param shape of the view.
 * @param strides bytes for each extent; NULL for row-major.
 * @param offset bytes from the first element of `array` to the first of the view; may be negative.
 * @return KZ_OK; KZ_RANGE if any element would lie outside the array's buffer.
 */
KZ_API KZ_NODISCARD kz_status kz_array_view(kz_array **out, kz_array *array, kz_shape shape,
	const int64_t *strides, int64_t offset, kz_error *err);

/**
 * View the bytes as elements of another type.
 *
 * Of another size, they must be in a last axis without gaps, which gets longer or shorter.
 *
 * @return KZ_OK; KZ_INVALID for a bad dtype, where the last axis has gaps or is no multiple of the
 *         new size, and where elements would not be at multiples of their size, as devices need it.
 */
KZ_API KZ_NODISCARD kz_status kz_array_view_as(kz_array **out, kz_array *array, kz_dtype dtype,
	kz_error *err);

/** View the real parts of complex numbers, as floats or doubles; all of any other array. */
KZ_API KZ_NODISCARD kz_status kz_array_real(kz_array **out, kz_array *array, kz_error *err);

/** View the imaginary parts of complex numbers; of any other array, create zeros. */
KZ_API KZ_NODISCARD kz_status kz_array_imag(kz_array **out, kz_array *array, kz_error *err);

/**
 * Repeat an array along axes of extent 1, and along new ones before its own, up to a shape.
 *
 * @return KZ_OK; KZ_INVALID when the shapes do not fit, naming both; KZ_RANGE when the size overflows.
 *         The elements of the view share memory, so kz_array_set refuses it.
 */
KZ_API KZ_NODISCARD kz_status kz_array_broadcast_to(kz_array **out, kz_array *array, kz_shape shape,
	kz_error *err);

/**
 * Split an array into equal parts along an axis.
 *
 * @param out room for `count` views.
 * @return KZ_OK; KZ_INVALID when `count` is below 1 or does not divide the extent.  On failure all
 *         of `out` is NULL.
 */
KZ_API KZ_NODISCARD kz_status kz_array_split(kz_array **out, int64_t count, kz_array *array,
	int64_t axis, kz_error *err);

/** Split as numpy's array_split does: where the parts cannot be equal, the first ones get one more. */
KZ_API KZ_NODISCARD kz_status kz_array_split_uneven(kz_array **out, int64_t count, kz_array *array,
	int64_t axis, kz_error *err);

/**
 * Split an array before indexes of an axis.
 *
 * @param indexes the bounds between the parts, negative ones from the end; clipped as in slices.
 * @param index_count how many; count - 1.
 */
KZ_API KZ_NODISCARD kz_status kz_array_split_at(kz_array **out, int64_t count, kz_array *array,
	int64_t axis, const int64_t *indexes, int64_t index_count, kz_error *err);

/**
 * Give the elements, in their order, another shape: a view where the strides allow one, else a copy.
 *
 * @param shape of as many elements; one extent may be -1 and is what the others leave.
 * @return KZ_OK; KZ_INVALID for another number of elements, naming both shapes; what kz_array_assign
 *         returns, where it copies.
 * Async: a copy is on its way when this returns.
 */
KZ_API KZ_NODISCARD kz_status kz_array_reshape(kz_array **out, kz_array *array, kz_shape shape,
	kz_error *err);

/** Put the elements in one axis; as kz_array_reshape. */
KZ_API KZ_NODISCARD kz_status kz_array_ravel(kz_array **out, kz_array *array, kz_error *err);

/** Do what kz_array_reshape does if it takes no copy; KZ_INVALID if it does. */
KZ_API KZ_NODISCARD kz_status kz_array_reshape_view(kz_array **out, kz_array *array, kz_shape shape,
	kz_error *err);

/**
 * Have the elements row-major without gaps, as kernels like them: the array itself, its count raised,
 * if it is; else a copy.
 */
KZ_API KZ_NODISCARD kz_status kz_array_contiguous(kz_array **out, kz_array *array, kz_error *err);

/* Axes */

/**
 * Put the axes in another order.
 *
 * @param order each of the array's axes once; KZ_AXES() reverses them: the matrix transpose.
 */
KZ_API KZ_NODISCARD kz_status kz_array_transpose(kz_array **out, kz_array *array, kz_axes order,
	kz_error *err);

/** Exchange two axes. */
KZ_API KZ_NODISCARD kz_status kz_array_swapaxes(kz_array **out, kz_array *array, int64_t a,
	int64_t b, kz_error *err);

/** Move axes to other places, as many as there are in `from` and `to`; the others keep their order. */
KZ_API KZ_NODISCARD kz_status kz_array_moveaxis(kz_array **out, kz_array *array, kz_axes from,
	kz_axes to, kz_error *err);

/** Reverse the elements along axes; KZ_ALL_AXES for all. */
KZ_API KZ_NODISCARD kz_status kz_array_flip(kz_array **out, kz_array *array, kz_axes axes,
	kz_error *err);

/**
 * Drop axes of extent 1.
 *
 * @param axes KZ_ALL_AXES drops those that have it; of a list each must: KZ_INVALID if not.
 */
KZ_API KZ_NODISCARD kz_status kz_array_squeeze(kz_array **out, kz_array *array, kz_axes axes,
	kz_error *err);

/** Add axes of extent 1. @param axes where they are in the result. */
KZ_API KZ_NODISCARD kz_status kz_array_expand(kz_array **out, kz_array *array, kz_axes axes,
	kz_error *err);

/**
 * View the elements whose indexes along two axes differ by `offset`.
 *
 * @param offset index along `b` less index along `a`: 0 for the main diagonal.
 * @return KZ_OK; KZ_INVALID if a and b are one axis.  The diagonal is the last axis, in place of both.
 */
KZ_API KZ_NODISCARD kz_status kz_array_diagonal(kz_array **out, kz_array *array, int64_t offset,
	int64_t a, int64_t b, kz_error *err);

#ifdef __cplusplus
}

inline kz_slice kz_slice_of(const kz_slice &slice) { return slice; }

template <class T, typename std::enable_if<std::is_integral<T>::value, int>::type = 0>
kz_slice kz_slice_of(T index)
{
	return kz_slice_index(static_cast<int64_t>(index));
}

/** The list behind KZ_AT in C++. */
template <size_t N>
struct kz_slice_list {
	kz_slice items[N ? N : 1];
	operator kz_slices() const { return kz_slices{N ? items : nullptr, static_cast<int64_t>(N)}; }
};

template <class... T>
kz_slice_list<sizeof...(T)> kz_slices_capture(T... items)
{
	return kz_slice_list<sizeof...(T)>{{kz_slice_of(items)...}};
}
#endif

#endif

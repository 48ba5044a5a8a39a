/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_VIEW_H
#define KUDZU_VIEW_H

/*
 * Views: arrays that share the memory of another array.
 *
 *	kz_array *odd = NULL, *columns = NULL;
 *	if (kz_array_slice(&odd, a, KZ_AT(KZ_SLICE(1, KZ_OMIT, 2), -1), &err)    a[1::2, -1]
 *	    || kz_array_transpose(&columns, a, KZ_AXES(), &err)) {               a.T
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_array_release(odd);
 *	kz_array_release(columns);
 *
 * A view shares its array's memory and keeps it alive.  Only the functions that say so copy.  A
 * write to one array is visible in the other.  Each function works as numpy's of the same name.
 *
 * Each returns KZ_RANGE for an axis that the array does not have, with the axis and the shape;
 * KZ_INVALID for NULL, for a bad shape and for a list that names an axis twice; and KZ_NO_MEMORY.
 * On failure *out is NULL.
 *
 * Ownership: release every view with kz_array_release.
 */
#include <kudzu/array.h>

#ifdef __cplusplus
#include <type_traits>
extern "C" {
#endif

/* Slices */

/** The value of a bound that a slice leaves out, as in a[:3] and a[::-1]. */
#define KZ_OMIT INT64_MIN

/** What a kz_slice does with an axis.  The numbers never change. */
typedef enum kz_slice_kind {
	KZ_SLICE_NONE = 0,
	KZ_SLICE_RANGE = 1,    /**< takes the elements from start to before stop, by step */
	KZ_SLICE_INDEX = 2,    /**< takes the element at start, and drops the axis */
	KZ_SLICE_NEWAXIS = 3,  /**< adds a new axis of extent 1 */
	KZ_SLICE_ELLIPSIS = 4  /**< takes all axes that the list does not name; at most once */
} kz_slice_kind;

/** What to take of one axis.  Negative bounds count from the end of the axis. */
typedef struct kz_slice {
	int32_t kind;     /**< kz_slice_kind */
	int32_t reserved;
	int64_t start;    /**< the first or only index; KZ_OMIT: the end where `step` begins */
	int64_t stop;     /**< the first index that is not taken; KZ_OMIT: to the other end */
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
	kz_slice slice = {(int32_t)kind, 0, start, stop, step};
	return slice;
}

/** Make Python's start:stop:step, as KZ_SLICE does. */
KZ_INLINE kz_slice kz_slice_range(int64_t start, int64_t stop, int64_t step)
{
	return kz_slice_make(KZ_SLICE_RANGE, start, stop, step);
}

/** Make an index, which drops its axis, as KZ_INDEX does. */
KZ_INLINE kz_slice kz_slice_index(int64_t index)
{
	return kz_slice_make(KZ_SLICE_INDEX, index, 0, 0);
}

/** Return the slice itself, for KZ_AT. */
KZ_INLINE kz_slice kz_slice_self(kz_slice slice)
{
	return slice;
}

/**
 * KZ_SLICE(start, stop) or KZ_SLICE(start, stop, step): start:stop:step.  Another number of
 * arguments is an error of the compiler that says so.
 */
#define KZ_SLICE(...) KZ_PP_CAT(KZ_SLICE_, KZ_PP_ITEM_65(__VA_ARGS__, \
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
	0, 0, 0, 0, 0, 3, 2, 0, ))(__VA_ARGS__)
#define KZ_SLICE_0(...) kz_slice_range(0, 0, 1) \
	_Pragma("GCC error \"KZ_SLICE takes (start, stop) or (start, stop, step)\"")
#define KZ_SLICE_2(start, stop) kz_slice_range(start, stop, 1)
#define KZ_SLICE_3(start, stop, step) kz_slice_range(start, stop, step)
/** A whole axis, ":". */
#define KZ_ALL kz_slice_range(KZ_OMIT, KZ_OMIT, 1)
/** One index.  In KZ_AT an integer alone means the same. */
#define KZ_INDEX(index) kz_slice_index(index)
/** A new axis of extent 1. */
#define KZ_NEWAXIS kz_slice_make(KZ_SLICE_NEWAXIS, 0, 0, 0)
/** All axes that the list does not name, "...". */
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
 * @param at KZ_AT(...).  Axes after the last one that it names stay whole.
 * @return KZ_OK; KZ_RANGE for an index beyond its axis (the bounds of ranges are clipped instead);
 *         KZ_INVALID for a step of 0, more entries than axes, or a second ellipsis.
 */
KZ_API KZ_NODISCARD kz_status kz_array_slice(kz_array **out, kz_array *array, kz_slices at,
	kz_error *err);

/**
 * Copy one element to the host.
 *
 * @param out set to the element; unchanged on failure.
 * @param dtype of the number at `out`: that of the array, or a wider one of the same kind (signed,
 *        unsigned, float, complex), as float64 for an array of float32 or float16.
 * @param at KZ_AT(3, 4): it leaves one element, as KZ_AT() does of an array of one.
 * @return as kz_array_slice; KZ_INVALID for another dtype, with both, and if `at` leaves another
 *         number of elements; the driver's failures.
 * Async: waits for the work on the array.
 */
KZ_API KZ_NODISCARD kz_status kz_array_item_as(void *out, kz_dtype dtype, kz_array *array,
	kz_slices at, kz_error *err);

#ifndef __cplusplus
/** Copy one element to a number of the program's, by its C type: kz_array_item_as. */
#define kz_array_item(out, array, at, err) \
	kz_array_item_as((out), KZ_PP_DTYPE_AT(out), (array), (at), (err))
#endif

/* Views of the memory */

/**
 * Make a view with any shape and strides.
 *
 * @param shape of the view.
 * @param strides bytes for each extent; NULL for row-major.
 * @param offset bytes from the first element of `array` to the first of the view; may be negative.
 * @return KZ_OK; KZ_RANGE if an element would be outside the array's buffer.
 */
KZ_API KZ_NODISCARD kz_status kz_array_view(kz_array **out, kz_array *array, kz_shape shape,
	const int64_t *strides, int64_t offset, kz_error *err);

/**
 * View the bytes as elements of another type.
 *
 * If the new type has another size, the last axis must be without gaps.  It becomes longer or
 * shorter.
 *
 * @return KZ_OK; KZ_INVALID for a bad dtype, for a last axis that has gaps or is not a multiple of
 *         the new size, and for elements that would not be at multiples of their size, as devices
 *         need it.
 */
KZ_API KZ_NODISCARD kz_status kz_array_view_as(kz_array **out, kz_array *array, kz_dtype dtype,
	kz_error *err);

/** View the real parts of complex numbers, as floats or doubles.  Other arrays are viewed whole. */
KZ_API KZ_NODISCARD kz_status kz_array_real(kz_array **out, kz_array *array, kz_error *err);

/**
 * View the imaginary parts of complex numbers.  For other arrays this creates an array of zeros.
 */
KZ_API KZ_NODISCARD kz_status kz_array_imag(kz_array **out, kz_array *array, kz_error *err);

/** Do so, with zeros that are made in a stream; as kz_array_imag. */
KZ_API KZ_NODISCARD kz_status kz_array_imag_on(kz_array **out, kz_array *array, kz_stream *stream,
	kz_error *err);

/**
 * Repeat an array along axes of extent 1, and along new axes before its own, up to a shape.
 *
 * The elements of the view share memory, so kz_array_set refuses it.
 *
 * @return KZ_OK; KZ_INVALID if the shapes do not fit, with both; KZ_RANGE if the size overflows.
 */
KZ_API KZ_NODISCARD kz_status kz_array_broadcast_to(kz_array **out, kz_array *array, kz_shape shape,
	kz_error *err);

/**
 * Split an array into equal parts along an axis.
 *
 * @param out an array of `count` views; all NULL on failure.
 * @return KZ_OK; KZ_INVALID if `count` is below 1 or does not divide the extent.
 */
KZ_API KZ_NODISCARD kz_status kz_array_split(kz_array **out, int64_t count, kz_array *array,
	int64_t axis, kz_error *err);

/** Split as numpy's array_split does: if the parts cannot be equal, the first ones get one more. */
KZ_API KZ_NODISCARD kz_status kz_array_split_uneven(kz_array **out, int64_t count, kz_array *array,
	int64_t axis, kz_error *err);

/**
 * Split an array before indexes of an axis.
 *
 * @param indexes the bounds between the parts; negative ones count from the end; clipped as in
 *        slices.
 * @param index_count number of indexes; count - 1.
 */
KZ_API KZ_NODISCARD kz_status kz_array_split_at(kz_array **out, int64_t count, kz_array *array,
	int64_t axis, const int64_t *indexes, int64_t index_count, kz_error *err);

/**
 * Give the elements another shape, in their order: a view where the strides allow one, else a copy.
 *
 * @param shape with the same number of elements.  One extent may be -1: it follows from the others.
 * @return KZ_OK; KZ_INVALID for another number of elements, with both shapes; where it copies, as
 *         kz_array_assign.
 * Async: returns before a copy is done.
 */
KZ_API KZ_NODISCARD kz_status kz_array_reshape(kz_array **out, kz_array *array, kz_shape shape,
	kz_error *err);

/** Give the elements another shape, with the copy in a stream; as kz_array_reshape. */
KZ_API KZ_NODISCARD kz_status kz_array_reshape_on(kz_array **out, kz_array *array, kz_shape shape,
	kz_stream *stream, kz_error *err);

/** Give the elements a shape of one axis; as kz_array_reshape. */
KZ_API KZ_NODISCARD kz_status kz_array_ravel(kz_array **out, kz_array *array, kz_error *err);

/** Give the elements a shape of one axis, with the copy in a stream; as kz_array_reshape. */
KZ_API KZ_NODISCARD kz_status kz_array_ravel_on(kz_array **out, kz_array *array, kz_stream *stream,
	kz_error *err);

/** Do what kz_array_reshape does without a copy; KZ_INVALID if it would need one. */
KZ_API KZ_NODISCARD kz_status kz_array_reshape_view(kz_array **out, kz_array *array, kz_shape shape,
	kz_error *err);

/**
 * Get the elements in row-major order without gaps, as kernels expect them: the array itself with
 * one more reference if they lie like that already, else a copy.
 */
KZ_API KZ_NODISCARD kz_status kz_array_contiguous(kz_array **out, kz_array *array, kz_error *err);

/** Do so, with the copy in a stream; as kz_array_contiguous. */
KZ_API KZ_NODISCARD kz_status kz_array_contiguous_on(kz_array **out, kz_array *array,
	kz_stream *stream, kz_error *err);

/* Axes */

/**
 * Put the axes in another order.
 *
 * @param order each of the array's axes once.  KZ_AXES() reverses them, which transposes a matrix.
 */
KZ_API KZ_NODISCARD kz_status kz_array_transpose(kz_array **out, kz_array *array, kz_axes order,
	kz_error *err);

/** Exchange two axes. */
KZ_API KZ_NODISCARD kz_status kz_array_swapaxes(kz_array **out, kz_array *array, int64_t a,
	int64_t b, kz_error *err);

/** Move the axes `from` to the places `to`.  The other axes keep their order. */
KZ_API KZ_NODISCARD kz_status kz_array_moveaxis(kz_array **out, kz_array *array, kz_axes from,
	kz_axes to, kz_error *err);

/** Reverse the elements along axes. */
KZ_API KZ_NODISCARD kz_status kz_array_flip(kz_array **out, kz_array *array, kz_axes axes,
	kz_error *err);

/**
 * Drop axes of extent 1.
 *
 * @param axes KZ_ALL_AXES drops all axes of extent 1.  In a list each axis must have it, else
 *        KZ_INVALID.
 */
KZ_API KZ_NODISCARD kz_status kz_array_squeeze(kz_array **out, kz_array *array, kz_axes axes,
	kz_error *err);

/**
 * Add axes of extent 1.
 *
 * @param axes their places in the result.
 */
KZ_API KZ_NODISCARD kz_status kz_array_expand(kz_array **out, kz_array *array, kz_axes axes,
	kz_error *err);

/**
 * View the elements whose indexes along two axes differ by `offset`.
 *
 * The diagonal becomes the last axis of the view, in place of both.
 *
 * @param offset index along `b` less index along `a`: 0 for the main diagonal.
 * @return KZ_OK; KZ_INVALID if a and b are the same axis.
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
	operator kz_slices() const { return kz_slices{N ? items : nullptr, static_cast<int64_t>(N)};
		}
};

template <class... T>
kz_slice_list<sizeof...(T)> kz_slices_capture(T... items)
{
	return kz_slice_list<sizeof...(T)>{{kz_slice_of(items)...}};
}
#endif

#endif

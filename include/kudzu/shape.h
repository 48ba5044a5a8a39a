/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SHAPE_H
#define KUDZU_SHAPE_H

/*
 * The extents of arrays, and lists of axes.  Both are plain values; functions that use them check
 * them.
 *
 *	kz_shape both;
 *	kz_shape_broadcast(&both, KZ_SHAPE(4, 1), KZ_SHAPE(3), &err);    (4, 3)
 */
#include <kudzu/error.h>
#include <kudzu/preprocessor.h>

/** The most extents that an array can have. */
#define KZ_MAX_DIMS 16

/** The extents of an array, outermost first. */
typedef struct kz_shape {
	int64_t ndim;              /**< number of extents; 0 for a single element */
	int64_t dims[KZ_MAX_DIMS]; /**< the extents; those from ndim on are ignored */
} kz_shape;

/**
 * Make a shape: KZ_SHAPE(4, 4), KZ_SHAPE(n), KZ_SHAPE() for a 0-d array.
 *
 * Extents convert to int64_t.  More than KZ_MAX_DIMS of them do not compile.
 */
#ifdef __cplusplus
#define KZ_SHAPE(...) kz_shape_capture(__VA_ARGS__)
template <class... T>
constexpr kz_shape kz_shape_capture(T... dims)
{
	static_assert(sizeof...(T) <= KZ_MAX_DIMS, "a kz_shape has at most KZ_MAX_DIMS extents");
	return kz_shape{static_cast<int64_t>(sizeof...(T)), {static_cast<int64_t>(dims)...}};
}
#else
#define KZ_SHAPE(...) KZ_PP_CAT(KZ_SHAPE_, KZ_PP_IS_EMPTY(__VA_ARGS__))(__VA_ARGS__)
#define KZ_SHAPE_1(...) ((kz_shape){0, {0}})
#define KZ_SHAPE_0(...) \
	((kz_shape){KZ_SHAPE_NDIM(KZ_PP_COUNT(__VA_ARGS__)), {__VA_ARGS__}})
/* The count itself; more than there is room for make an array of negative size. */
#define KZ_SHAPE_NDIM(count) \
	((count) + 0 * (int64_t)sizeof(char[(count) <= KZ_MAX_DIMS ? 1 : -1]))
#endif

/** A list of axes.  Negative ones count from the end: -1 is the last, innermost one. */
typedef struct kz_axes {
	int64_t count;              /**< number of axes; -1 stands for all axes, in order */
	int64_t items[KZ_MAX_DIMS]; /**< the axes; those from count on are ignored */
} kz_axes;

/**
 * Make a list of axes: KZ_AXES(0, -1).  KZ_AXES() has none, and KZ_ALL_AXES has all.
 *
 * More than KZ_MAX_DIMS of them do not compile.
 */
#ifdef __cplusplus
#define KZ_AXES(...) kz_axes_capture(__VA_ARGS__)
/** All axes, in order. */
#define KZ_ALL_AXES (kz_axes{-1, {0}})
template <class... T>
constexpr kz_axes kz_axes_capture(T... items)
{
	static_assert(sizeof...(T) <= KZ_MAX_DIMS, "a kz_axes has at most KZ_MAX_DIMS axes");
	return kz_axes{static_cast<int64_t>(sizeof...(T)), {static_cast<int64_t>(items)...}};
}
#else
#define KZ_AXES(...) KZ_PP_CAT(KZ_AXES_, KZ_PP_IS_EMPTY(__VA_ARGS__))(__VA_ARGS__)
#define KZ_AXES_1(...) ((kz_axes){0, {0}})
#define KZ_AXES_0(...) \
	((kz_axes){KZ_SHAPE_NDIM(KZ_PP_COUNT(__VA_ARGS__)), {__VA_ARGS__}})
/** All axes, in order. */
#define KZ_ALL_AXES ((kz_axes){-1, {0}})
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make a shape from a list, for callers without the macro.
 *
 * A function that uses a bad shape (ndim out of range, or above 0 with dims NULL) refuses it.
 */
KZ_API kz_shape kz_shape_from(const int64_t *dims, int64_t ndim);

/** Make a list of axes, as kz_shape_from makes a shape; (NULL, -1) is KZ_ALL_AXES. */
KZ_API kz_axes kz_axes_from(const int64_t *items, int64_t count);

/**
 * Find the shape to which two shapes broadcast.
 *
 * Extents are compared from the last one on.  If one is 1 or missing, the result has the other one.
 *
 * @param out set to the shape; on failure to a shape without extents.
 * @return KZ_OK; KZ_INVALID if two extents differ and neither is 1, and for a bad shape.
 */
KZ_API KZ_NODISCARD kz_status kz_shape_broadcast(kz_shape *out, kz_shape a, kz_shape b,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif

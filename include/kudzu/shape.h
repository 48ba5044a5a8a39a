/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SHAPE_H
#define KUDZU_SHAPE_H

#include <stdint.h>

#include <kudzu/preprocessor.h>
#include <kudzu/version.h>

/** The most extents that an array can have. */
#define KZ_MAX_DIMS 16

/** The extents of an array, outermost first. */
typedef struct kz_shape {
	int64_t ndim;              /**< how many extents; 0 for a single element */
	int64_t dims[KZ_MAX_DIMS]; /**< the extents; those from ndim on are not looked at */
} kz_shape;

/**
 * Make a shape: KZ_SHAPE(4, 4), KZ_SHAPE(n), KZ_SHAPE() for a 0-d array.
 *
 * Extents convert to int64_t.  More than KZ_MAX_DIMS do not compile.
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

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make a shape from a list, for callers without the macro.  A bad one (ndim out of range, or above 0
 * with dims NULL) is refused where it is used.
 */
KZ_API kz_shape kz_shape_from(const int64_t *dims, int64_t ndim);

#ifdef __cplusplus
}
#endif

#endif

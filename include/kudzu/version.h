/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_VERSION_H
#define KUDZU_VERSION_H

/*
 * Which version this is, and what the declarations of all headers have in front.
 */
#include <stddef.h>

/** The version of these headers, which the Makefile reads from here: other numbers, other ABI. */
#define KZ_VERSION_MAJOR 0
/** What is new since the major one; while that is 0, another ABI, too. */
#define KZ_VERSION_MINOR 1
/** What was repaired since the minor one. */
#define KZ_VERSION_PATCH 0

/** Marks what the shared library exports. */
#if defined(__GNUC__)
#define KZ_API __attribute__((visibility("default")))
/** Warns of calls whose status nobody looks at. */
#define KZ_NODISCARD __attribute__((warn_unused_result))
#else
#define KZ_API
#define KZ_NODISCARD
#endif

/**
 * Marks functions that are written in the headers.  Programs compile them as part of their own; the
 * library has each under its name too, for callers that have no compiler (ffi.h).
 */
#if defined(__cplusplus)
#define KZ_INLINE inline
#elif defined(KZ_DEFINE_INLINE)
#define KZ_INLINE KZ_API extern inline
#elif defined(__GNUC__) && !defined(__GNUC_GNU_INLINE__)
#define KZ_INLINE __attribute__((__always_inline__)) inline
#else
#define KZ_INLINE static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Return the version of the library that is loaded, as 10000 * major + 100 * minor + patch.
 */
KZ_API int kz_version(void);

/**
 * Return the version of the library that is loaded, as text: "0.1.0".
 *
 * Ownership: static; never free it.
 */
KZ_API const char *kz_version_string(void);

#ifdef __cplusplus
}

/* The value behind the KZ_..._INIT macros of structs that begin with their size. */
template <class T>
constexpr T kz_sized_init()
{
	T value = T();
	value.size = sizeof(T);
	return value;
}
#endif

#endif

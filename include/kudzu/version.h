/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_VERSION_H
#define KUDZU_VERSION_H

/*
 * The version of the library, and the macros that stand in front of all declarations.
 */
#include <stddef.h>

/**
 * The major version of these headers.  Another one has another ABI.  The Makefile reads it here.
 */
#define KZ_VERSION_MAJOR 0
/** The minor version: new features.  While the major one is 0, another one has another ABI, too. */
#define KZ_VERSION_MINOR 2
/** The patch version: repairs only. */
#define KZ_VERSION_PATCH 0

/** Marks a function that the shared library exports. */
#if defined(__GNUC__)
#define KZ_API __attribute__((visibility("default")))
/** Makes the compiler warn of calls whose status nobody reads. */
#define KZ_NODISCARD __attribute__((warn_unused_result))
#else
#define KZ_API
#define KZ_NODISCARD
#endif

/**
 * Marks a function that a header defines.  A program compiles it as its own code.  The library
 * exports it, too, for callers that have no C compiler (ffi.h).
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
 * Return the version of the library that is loaded, as text: "0.2.0".
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

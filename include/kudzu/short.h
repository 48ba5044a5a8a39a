/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SHORT_H
#define KUDZU_SHORT_H

/*
 * The same in fewer lines: options in place.
 *
 *	if (kz_launch_2d(blur, width, height, KZ_WITH(kz_launch_options, .stream = s), &err,
 *		    KZ_ARGS(out, in, width, height))
 *	    || kz_scan(&sums, a, "a + b", "0", KZ_WITH(kz_scan_options, .axis = 0), &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * The macros are for C.  They hide no error: none of them prints, returns or jumps.
 */
#include <kudzu/preprocessor.h>

#ifndef __cplusplus

/**
 * Make options in place, a pointer to a struct that begins with its size: the members that are
 * named have these values, the others what the struct's KZ_..._INIT gives them.
 *
 * The struct lives until the end of the enclosing block, and so does an array that is written among
 * the members, as `.instances` of kz_compile_options may be.  For the side of a kz_copy_3d_options
 * name memory that lives longer.  Not for C++ and not for static variables.
 */
#define KZ_WITH(type, ...) \
	KZ_PP_CAT(KZ_PP_WITH_, KZ_PP_HAS_COMMA(KZ_PP_DEFAULTS_##type))(type, __VA_ARGS__)
#define KZ_PP_WITH_0(type, ...) (&(type){.size = sizeof(type), __VA_ARGS__})

/*
 * The headers define KZ_PP_DEFAULTS_kz_foo_options where another member than the size has a
 * default.  A member that the program names comes after its default and overrides it, of
 * which gcc and clang would warn.  Both take pragmas only in a block, and what is written there
 * lives only in it.
 */
#ifdef __GNUC__
#define KZ_PP_WITH_1(type, ...) \
	((type[1]){__extension__({ \
		_Pragma("GCC diagnostic push") \
		_Pragma("GCC diagnostic ignored \"-Woverride-init\"") \
		_Pragma("GCC diagnostic ignored \"-Wshadow\"") \
		type kz_pp_options_ = {KZ_PP_DEFAULTS_##type, __VA_ARGS__}; \
		_Pragma("GCC diagnostic pop") \
		kz_pp_options_; \
	})})
#else
#define KZ_PP_WITH_1(type, ...) (&(type){KZ_PP_DEFAULTS_##type, __VA_ARGS__})
#endif

#endif

#endif

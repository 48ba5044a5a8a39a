/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_SHORT_H
#define KUDZU_SHORT_H

/*
 * The same in fewer lines: options in place, arrays from arrays of C, releases in one call.
 *
 *	if (kz_launch_2d(blur, width, height, KZ_WITH(kz_launch_options, .stream = s), &err,
 *		    KZ_ARGS(out, in, width, height))
 *	    || kz_scan(&sums, a, "a + b", "0", KZ_WITH(kz_scan_options, .axis = 0), &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_release_all(sums, a, blur_module, s, dev);    (or KZ_AUTO(kz_array, sums) to begin with)
 *
 * The macros are for C; C++ has kudzu.hpp.  They hide no error: none of them prints, returns or
 * jumps.
 */
#include <kudzu/array.h>
#include <kudzu/comm.h>
#include <kudzu/custom.h>
#include <kudzu/diagnose.h>
#include <kudzu/graph.h>
#include <kudzu/host_memory.h>
#include <kudzu/image.h>
#include <kudzu/module.h>
#include <kudzu/npy.h>
#include <kudzu/preprocessor.h>
#include <kudzu/prepared.h>
#include <kudzu/random.h>
#include <kudzu/sparse.h>
#include <kudzu/stream.h>
#include <kudzu/texture.h>
#include <kudzu/tune.h>

/* Handles and their releases, without kz_array. */
#define KZ_PP_HANDLES(X) \
	X(kz_buffer, kz_buffer_release) X(kz_comm, kz_comm_release) \
	X(kz_cuda_array, kz_cuda_array_release) \
	X(kz_device, kz_device_close) X(kz_diagnosis, kz_diagnosis_release) \
	X(kz_diagnostics, kz_diagnostics_release) X(kz_elementwise, kz_elementwise_release) \
	X(kz_event, kz_event_release) X(kz_exec, kz_exec_release) X(kz_graph, kz_graph_release) \
	X(kz_image, kz_image_release) X(kz_module, kz_module_release) X(kz_npz, kz_npz_close) \
	X(kz_pinned, kz_pinned_release) X(kz_prepared, kz_prepared_release) \
	X(kz_random, kz_random_release) X(kz_reduction, kz_reduction_release) \
	X(kz_sparse, kz_sparse_release) X(kz_stream, kz_stream_release) \
	X(kz_surface, kz_surface_release) X(kz_texture, kz_texture_release) \
	X(kz_tuning, kz_tuning_release) X(kz_watcher, kz_watcher_release)

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

/**
 * Four arguments of kz_array_from: the dtype, the shape, the address and the size of an array of C
 * with one or two extents.
 *
 *	float rows[3][4];
 *	kz_array_from(&a, dev, KZ_FROM(rows), &err)    (of shape (3, 4), float32)
 *
 * A pointer does not compile: the compiler does not know how much memory it points to.
 */
#define KZ_FROM(host) KZ_PP_FROM_DTYPE(host), \
	kz_shape_from((const int64_t[]){sizeof(host) / sizeof((host)[0]), \
		(int64_t)sizeof((host)[0]) / kz_dtype_size(KZ_PP_FROM_DTYPE(host))}, \
		KZ_PP_FROM_NDIM(host)), (host), sizeof(host)

/* T (*)[] is compatible with the address of an array of any extent, and with no address of a
 * pointer.  A pointer to rows is told from an array of rows by its own address. */
#define KZ_PP_FROM_TYPES(X) X(_Bool, KZ_BOOL), \
	X(signed char, KZ_I8), X(short, KZ_I16), X(int, KZ_I32), \
	X(long, (sizeof(long) == 8 ? KZ_I64 : KZ_I32)), X(long long, KZ_I64), \
	X(unsigned char, KZ_U8), X(unsigned short, KZ_U16), X(unsigned int, KZ_U32), \
	X(unsigned long, (sizeof(long) == 8 ? KZ_U64 : KZ_U32)), X(unsigned long long, KZ_U64), \
	X(float, KZ_F32), X(double, KZ_F64), \
	X(float _Complex, KZ_C64), X(double _Complex, KZ_C128)
#define KZ_PP_FROM_ARRAY(type, dtype) type (*)[]: dtype, const type (*)[]: dtype
#define KZ_PP_FROM_ONE(type, dtype) type (*)[]: 1, const type (*)[]: 1
#define KZ_PP_FROM_TWO(type, dtype) type (*)[]: 2, const type (*)[]: 2
#define KZ_PP_FROM_POINTER(type, dtype) KZ_PP_FROM_POINTERS(type), KZ_PP_FROM_POINTERS(const type)
#define KZ_PP_FROM_POINTERS(type) type (**)[]: 0, type (*const *)[]: 0, \
	type (*restrict *)[]: 0, type (*const restrict *)[]: 0
/* The array, or its first row; no other type is among them. */
#define KZ_PP_FROM_DTYPE(host) _Generic(_Generic(&(host), \
	KZ_PP_FROM_TYPES(KZ_PP_FROM_ONE_AS), default: &(host)[0]), \
	KZ_PP_FROM_TYPES(KZ_PP_FROM_ARRAY))
#define KZ_PP_FROM_ONE_AS(type, dtype) \
	type (*)[]: (type (*)[1])0, const type (*)[]: (type (*)[1])0
#define KZ_PP_FROM_NDIM(host) KZ_PP_FROM_CHECK(_Generic(&(host), \
	KZ_PP_FROM_TYPES(KZ_PP_FROM_ONE), KZ_PP_FROM_TYPES(KZ_PP_FROM_POINTER), \
	default: _Generic(&(host)[0], KZ_PP_FROM_TYPES(KZ_PP_FROM_TWO), default: 0)))
#define KZ_PP_FROM_CHECK(ndim) ((ndim) + 0 * (int64_t)sizeof(char[(ndim) > 0 ? 1 : -1]))

/**
 * Release up to 64 handles of any kinds: kz_release_all(a, mod, dev).
 *
 * Each is released once, as by its own function, from the first to the last.  NULL is fine; what is
 * not a handle, or is borrowed, as a kz_kernel is, does not compile.  Void.
 */
#define kz_release_all(...) ((void)0, KZ_PP_MAP(KZ_PP_RELEASE, __VA_ARGS__))
#define KZ_PP_RELEASE(x) _Generic((x), \
	kz_array *: kz_array_release KZ_PP_HANDLES(KZ_PP_RELEASE_KIND))(x)
#define KZ_PP_RELEASE_KIND(type, release) , type *: release

/**
 * Declare a handle that is released when its block ends: KZ_AUTO(kz_array, a);
 *
 * It begins as NULL.  However the block ends, by return, break, goto or at its brace, what the
 * handle is then is released, and the handles of a block in reverse order; longjmp and exit release
 * nothing.  To keep the object, copy the handle and set it to NULL.  For gcc and clang.
 */
#ifdef __GNUC__
#define KZ_AUTO(type, name) __attribute__((cleanup(kz_pp_auto_##type))) type *name = NULL
#else
#define KZ_AUTO(type, name) _Static_assert(0, "KZ_AUTO needs the attribute cleanup of gcc or clang")
#endif
#define KZ_PP_AUTO(type, release) \
	static inline void kz_pp_auto_##type(type **handle) \
	{ \
		release(*handle); \
	}
KZ_PP_AUTO(kz_array, kz_array_release)
KZ_PP_HANDLES(KZ_PP_AUTO)

#endif

#endif

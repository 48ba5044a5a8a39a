/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_CUSTOM_H
#define KUDZU_CUSTOM_H

/*
 * Kernels from a line of C: your own elementwise operations and reductions, in PyCUDA's form.
 *
 *	kz_elementwise *saxpy = NULL;
 *	kz_reduction *dot = NULL;
 *	kz_array *sum = NULL;
 *	if (kz_elementwise_create(&saxpy, dev, "float a, const float *x, float *y",
 *			"y[i] = a * x[i] + y[i]", NULL, &err)
 *	    || kz_elementwise_run(saxpy, NULL, &err, KZ_ARGS(2.0f, x, y))
 *	    || kz_reduction_create(&dot, dev, KZ_F32, "0", "a + b", "x[i] * y[i]",
 *			"const float *x, const float *y", NULL, &err)
 *	    || kz_reduction_run(&sum, dot, NULL, &err, KZ_ARGS(x, y))) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * Arguments are C declarations.  A pointer stands for an array, anything else for a number or,
 * with KZ_VALUE, a struct.  The types are C's numbers, those of stdint.h, __half, __nv_bfloat16,
 * __nv_fp8_e4m3, __nv_fp8_e5m2, kz_complex<float> and kz_complex<double> (with operators and the
 * functions of C++'s header complex: real, imag, conj, abs, arg, exp, log, sqrt, pow, sin, asin,
 * tanh, ...), CUDA's vectors, and structs.
 * kz_dtype_register gives a struct its dtype, and the preamble declares it.  An array of float4 is
 * an array of a struct registered as "float4".
 *
 * A capital letter is a type that the arrays of each call give, as in CuPy: "T a, const T *x, T *y"
 * runs for arrays of float, and then for arrays of double.  All arrays of one letter have the same
 * type.  Numbers do not give a type: they convert to that of the arrays.  The code sees a typedef
 * of that name, and so does the preamble, except of a struct, which the preamble declares itself.
 *
 * The code sees the arguments; `i`, the row-major index of the element, and `n`, the number of
 * elements, both long long; and PyCUDA's tid and total_threads.  The arrays broadcast to one
 * shape.  x[i] is the element of x at index i, whatever strides x has, and x[k] is any other
 * element.  An array that has gaps, or is broadcast, is an object with operator [] only.  `raw
 * const float *table` is a contiguous array of any shape that does not broadcast (KZ_STRIDED(a):
 * an array of any strides, which the code knows); the code sees it as a plain pointer.
 *
 * Elementwise code also sees CuPy's `_ind`: _ind.get()[k] is the index of the element along axis k
 * of the common shape, _ind.shape()[k] the extent of that axis, _ind.ndim the number of axes, 1 for
 * 0-d arrays, and _ind.size() is n.  In an operation that uses it, all arrays that are not raw are
 * objects with operator [] only.
 *
 * The code may write to an array that is not const.  Such an array must have the full shape and no
 * element twice, and share no memory with another argument except element by element.
 *
 * Elementwise code is compiled as by nvcc: a product and a sum may become one operation, unless an
 * option says --fmad=false.  In reductions they stay two, unless an option says --fmad=true.
 *
 * All code is compiled once; with letters, once for each set of types, at the first such call.  The
 * variant for arrays with gaps, on a GPU the one for arrays that share memory, and with _ind those
 * for other numbers of axes than two are compiled when they are first needed.  An error in the code
 * is KZ_COMPILE with its place in the text: "saxpy: operation", line, column.
 *
 * Threads: several threads may run one kernel at the same time.
 */
#include <kudzu/kernel.h>
#include <kudzu/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An elementwise kernel; opaque. */
typedef struct kz_elementwise kz_elementwise;
/** A reduction kernel; opaque. */
typedef struct kz_reduction kz_reduction;

/**
 * How to make a kernel.  Initialize with KZ_CUSTOM_OPTIONS_INIT.  Everything is copied.
 */
typedef struct kz_custom_options {
	size_t size;            /**< sizeof(kz_custom_options) */
	const char *name;       /**< in errors and profilers; NULL: "elementwise", "reduction" */
	const char *preamble;   /**< before the kernel: includes, functions, structs */
	const char *loop_prep;  /**< in each thread before its elements; not for reductions */
	const char *after_loop; /**< in each thread after its elements; not for reductions */
	const kz_compile_options *compile; /**< NULL for the defaults; its name and instances are
	                                        ignored */
	void *reserved[4];
} kz_custom_options;

/** How to run an elementwise kernel.  Initialize with KZ_ELEMENTWISE_CALL_INIT. */
typedef struct kz_elementwise_call {
	size_t size;           /**< sizeof(kz_elementwise_call) */
	kz_stream *stream;     /**< NULL: the device's default stream */
	const kz_slice *slice; /**< the elements for which it runs: KZ_SLICE(start, stop, step) of
	                            the list of all elements in row-major order.  NULL: all */
	const kz_slice *range; /**< in place of slice: the values of `i`, as of Python's range().
	                            It needs no array for the number of elements.  With an array
	                            that is not raw, each value must be an index of it: KZ_RANGE */
	void *reserved[4];
} kz_elementwise_call;

/** How to run a reduction.  Initialize with KZ_REDUCTION_CALL_INIT. */
typedef struct kz_reduction_call {
	size_t size;       /**< sizeof(kz_reduction_call) */
	kz_stream *stream; /**< NULL: the device's default stream */
	kz_array *into;    /**< an array of one element for the result; NULL: a new one */
	void *reserved[4];
} kz_reduction_call;

#ifdef __cplusplus
#define KZ_CUSTOM_OPTIONS_INIT kz_sized_init<kz_custom_options>()
#define KZ_ELEMENTWISE_CALL_INIT kz_sized_init<kz_elementwise_call>()
#define KZ_REDUCTION_CALL_INIT kz_sized_init<kz_reduction_call>()
#else
#define KZ_CUSTOM_OPTIONS_INIT {.size = sizeof(kz_custom_options)}
#define KZ_ELEMENTWISE_CALL_INIT {.size = sizeof(kz_elementwise_call)}
#define KZ_REDUCTION_CALL_INIT {.size = sizeof(kz_reduction_call)}
#endif

/**
 * Make a kernel that runs an operation for each element.
 *
 * @param out set to the kernel, NULL on failure.
 * @param arguments "float a, const float *x, float *y", with at least one pointer.  A letter for a
 *        type must be that of an array.
 * @param operation C statements; the last semicolon is optional.  `continue` ends one element.  Do
 *        not use `break` and `return`.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for an argument list that cannot be read, with the place in it, or
 *         without a pointer, for an operation without text, and for _ind if all arrays are raw;
 *         KZ_COMPILE with the place in the text, which is a call's error if letters stand for
 *         types; KZ_NO_COMPILER; KZ_NO_MEMORY.
 * Ownership: release it with kz_elementwise_release.
 */
KZ_API KZ_NODISCARD kz_status kz_elementwise_create(kz_elementwise **out, kz_device *dev,
	const char *arguments, const char *operation, const kz_custom_options *options,
	kz_error *err);

/**
 * Run the kernel for each element of the shape to which its arrays broadcast.
 *
 * @param call NULL for the defaults.
 * @param args KZ_ARGS(...), in the order of the argument list.  Arrays must have the declared type.
 *        Numbers convert as in kz_launch, and to complex numbers.
 * @return KZ_OK, also for no elements; KZ_ARGUMENT for arguments that do not match the list, with
 *         the declaration, and for arrays of one letter whose types differ; KZ_INVALID for shapes
 *         that do not broadcast, an array that is not const and shares memory, and a slice of step
 *         0; KZ_RANGE, see kz_elementwise_call; KZ_COMPILE.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_elementwise_run(kz_elementwise *kernel,
	const kz_elementwise_call *call, kz_error *err, kz_args args);

/** Release a kernel.  NULL is fine. */
KZ_API void kz_elementwise_release(kz_elementwise *kernel);

/**
 * Make a kernel that computes an expression for each element and reduces the values to one.
 *
 * The values are combined in an order that depends only on their number, so the result has the same
 * bits every time and on every device.
 *
 * @param dtype of the values and the result; at most 128 bytes.
 * @param neutral an expression for the neutral element: "0" for sums.
 * @param reduce an expression that combines two values `a` and `b`, "a + b".  Their order must not
 *        matter.  It sees the preamble, not the arguments.
 * @param map an expression for element i, "x[i] * y[i]"; NULL: the element of the first array.
 * @param arguments as for kz_elementwise_create; NULL: one array "in" of the dtype.
 * @return as kz_elementwise_create.
 * Ownership: release it with kz_reduction_release.
 */
KZ_API KZ_NODISCARD kz_status kz_reduction_create(kz_reduction **out, kz_device *dev,
	kz_dtype dtype, const char *neutral, const char *reduce, const char *map,
	const char *arguments, const kz_custom_options *options, kz_error *err);

/**
 * Reduce all elements of the shape to which the arrays broadcast.
 *
 * Without elements the result is the neutral element.
 *
 * @param out set to a 0-d array, or to call->into with one more reference; NULL on failure.  May be
 *        NULL with call->into.
 * @param call NULL for the defaults.
 * @return as kz_elementwise_run.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_reduction_run(kz_array **out, kz_reduction *kernel,
	const kz_reduction_call *call, kz_error *err, kz_args args);

/** Release a kernel.  NULL is fine. */
KZ_API void kz_reduction_release(kz_reduction *kernel);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_CUSTOM_H
#define KUDZU_CUSTOM_H

/*
 * Kernels from a line of C: elementwise operations and reductions of one's own, in PyCUDA's form.
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
 * Arguments are C declarations: a pointer stands for an array, anything else for a number or, by
 * KZ_VALUE, a struct.  Types are C's numbers, those of stdint.h, __half, __nv_bfloat16,
 * kz_complex<float> and kz_complex<double> (operators, and real, imag, conj, abs, arg, exp, log,
 * sqrt, pow, sin, cos ... of them), CUDA's vectors, and structs: kz_dtype_register gives them their
 * dtype, the preamble their declaration.  An array of float4 is one of a struct registered as
 * "float4".
 *
 * The code sees the arguments; `i`, the row-major index of the element, and `n`, the number of
 * elements, both long long; and tid and total_threads as PyCUDA has them.  The arrays broadcast to
 * one shape, and x[i] is the element of x that belongs to i whatever strides x has; other elements
 * are x[k], too.  Arrays that are not without gaps, or are broadcast, come as an object that has
 * only operator [].  `raw const float *table` is an array of any shape, contiguous, that takes no
 * part in this and is a plain pointer.
 *
 * An array that is not const may be written: it must have the full shape, no element twice, and
 * share no memory with another argument except element by element.
 *
 * Elementwise code is compiled as nvcc does it: a product and a sum may become one operation,
 * unless an option says --fmad=false; in reductions they stay two, unless one says --fmad=true.
 *
 * All code is compiled once, the part for arrays with gaps when they first come, and on a GPU that for
 * arrays that share memory.  What is wrong in it is KZ_COMPILE with the place in the text: "saxpy:
 * operation", line, column.
 *
 * Threads: one kernel may be run by several threads at the same time.
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
	                                        not looked at */
	void *reserved[4];
} kz_custom_options;

/** How to run an elementwise kernel.  Initialize with KZ_ELEMENTWISE_CALL_INIT. */
typedef struct kz_elementwise_call {
	size_t size;           /**< sizeof(kz_elementwise_call) */
	kz_stream *stream;     /**< NULL: the device's default stream */
	const kz_slice *slice; /**< the elements for which it runs, KZ_SLICE(start, stop, step) of
	                            all in row-major order, as Python slices a list of them; NULL:
	                            all */
	const kz_slice *range; /**< the values that `i` has, as of Python's range(); instead of
	                            slice.  Needs no array to tell how many.  With arrays that are
	                            not raw each must be the index of an element: KZ_RANGE if not */
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
 * @param arguments "float a, const float *x, float *y"; at least one pointer.
 * @param operation C statements, the last semicolon may be left out.  `continue` ends one element;
 *        `break` and `return` have no place in it.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for an argument list that cannot be read, with the place in it, or
 *         without a pointer, and for an operation without text; KZ_COMPILE with the place in the
 *         text; KZ_NO_COMPILER; KZ_NO_MEMORY.
 * Ownership: give it back with kz_elementwise_release.
 */
KZ_API KZ_NODISCARD kz_status kz_elementwise_create(kz_elementwise **out, kz_device *dev,
	const char *arguments, const char *operation, const kz_custom_options *options,
	kz_error *err);

/**
 * Run the kernel for each element of what its arrays broadcast to.
 *
 * @param call NULL for the defaults.
 * @param args KZ_ARGS(...), in the order of the argument list.  Arrays have the declared type;
 *        numbers convert as in kz_launch, and to complex ones.
 * @return KZ_OK, also for no elements; KZ_ARGUMENT for arguments that do not match the list, with
 *         the declaration; KZ_INVALID for shapes that do not broadcast, memory that an array that
 *         is not const shares, a slice of step 0; KZ_RANGE, see kz_elementwise_call; KZ_COMPILE.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_elementwise_run(kz_elementwise *kernel,
	const kz_elementwise_call *call, kz_error *err, kz_args args);

/** Give a kernel back.  NULL is fine. */
KZ_API void kz_elementwise_release(kz_elementwise *kernel);

/**
 * Make a kernel that reduces what an expression gives for each element to one value.
 *
 * The elements are combined in an order that depends on their number alone: the result has the same
 * bits every time and on every device.
 *
 * @param dtype of the result, and of what is combined; at most 128 bytes.
 * @param neutral an expression that changes nothing when it is combined: "0" for sums.
 * @param reduce an expression that combines two values `a` and `b`, "a + b"; it must not matter in
 *        which order.  It sees the preamble, not the arguments.
 * @param map an expression for element i, "x[i] * y[i]"; NULL: the element of the first array.
 * @param arguments NULL: one array "in" of the dtype.
 * @return as kz_elementwise_create.
 * Ownership: give it back with kz_reduction_release.
 */
KZ_API KZ_NODISCARD kz_status kz_reduction_create(kz_reduction **out, kz_device *dev,
	kz_dtype dtype, const char *neutral, const char *reduce, const char *map,
	const char *arguments, const kz_custom_options *options, kz_error *err);

/**
 * Reduce what the arrays broadcast to.
 *
 * @param out set to a 0-d array, or to call->into with its count raised; NULL on failure.  May be
 *        NULL with call->into.
 * @param call NULL for the defaults.
 * @return as kz_elementwise_run; of no elements the result is the neutral element.
 * Ownership: give the result back with kz_array_release.
 * Async: returns before the work is done.
 */
KZ_API KZ_NODISCARD kz_status kz_reduction_run(kz_array **out, kz_reduction *kernel,
	const kz_reduction_call *call, kz_error *err, kz_args args);

/** Give a kernel back.  NULL is fine. */
KZ_API void kz_reduction_release(kz_reduction *kernel);

#ifdef __cplusplus
}
#endif

#endif

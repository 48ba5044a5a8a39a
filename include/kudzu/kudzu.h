/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_KUDZU_H
#define KUDZU_KUDZU_H

/*
 * Kudzu: CUDA kernels at run time, from C, with or without a GPU.  Includes everything.
 * Each header, by what you want to do:
 *
 * Open a device, and handle errors
 *	device.h       GPUs and the CPU: open, describe, limit, synchronize
 *	error.h        error values: what failed, where, and what helps
 *	diagnose.h     what works on this machine, a compiler's log as data
 *	version.h      the version
 *	short.h        the same in fewer lines: KZ_WITH, KZ_FROM, kz_release_all, KZ_AUTO
 *
 * Run CUDA C
 *	module.h       compile and load, variables of a module, files that change
 *	kernel.h       kz_launch, KZ_ARGS, occupancy, kernels in graphs
 *	prepared.h     arguments that are bound once
 *	tune.h         the fastest block, macros and template arguments of a kernel
 *	texture.h      CUDA arrays, textures, surfaces
 *	layout.h       a struct on host and device
 *	output.h       what kernels print
 *	check.h        bugs of kernels that the CPU device finds
 *
 * Compile ahead of the run
 *	image.h        compile without a device
 *	inspect.h      what is in an image
 *	link.h         several images to one
 *	bundle.h       images for several devices
 *	warm.h         compile many sources, in several processes
 *	cache.h        the cache, and why it misses
 *
 * Manage memory
 *	memory.h       device memory: buffers, copies, fills
 *	host_memory.h  pinned and managed memory
 *	copy.h         copies of rectangles and boxes
 *	pool.h         pools, statistics, limits, allocators
 *	leaks.h        what was never released
 *
 * Order work
 *	stream.h       streams and events
 *	timing.h       how long a call takes
 *	graph.h        work that is recorded once and launched many times
 *	trace.h        a trace of the calls
 *
 * Make arrays
 *	dtype.h        element types
 *	shape.h        KZ_SHAPE, KZ_AXES
 *	array.h        arrays on the device, from and to the host
 *	create.h       numbers in a row, identity
 *	random.h       random numbers
 *	view.h         slices, single elements, other views
 *	join.h         concatenate, stack, tile
 *	indexing.h     take, put, scatter, nonzero
 *	npy.h          files of numpy
 *	csv.h          CSV files
 *	dlpack.h       arrays of other libraries
 *
 * Compute with arrays
 *	ops.h          operations on elements
 *	eval.h         expressions as strings
 *	custom.h       kernels from a line of C
 *	reduce.h       sums, extremes, means, to arrays or to a number of C
 *	scan.h         running sums, differences
 *	segment.h      segments and runs
 *	sort.h         sorting, partitions, quantiles
 *	search.h       places among sorted elements
 *	histogram.h    how often values occur
 *	sets.h         unique elements, sets
 *	linalg.h       products of matrices and arrays, covariances, triangles, diagonals
 *	solve.h        equations, factorizations, eigenvalues, norms
 *	sparse.h       sparse matrices
 *	fft.h          Fourier transforms, convolutions
 *	integrate.h    integrals of samples
 *	network.h      softmax, cross entropy
 *
 * Use several devices
 *	comm.h         collectives: all-reduce, broadcast, messages
 *
 * Call from other languages
 *	kudzu.hpp      C++17: handles that release themselves, exceptions; includes kudzu.h
 *	ffi.h          functions behind the macros
 *	preprocessor.h what the macros are made of; included by others
 *
 * Names are kz_<object>_<verb>.  Functions that make or change arrays as numpy's do keep numpy's
 * names instead: kz_add, kz_sum, kz_sort, kz_solve, kz_fft and the like, in the headers from
 * create.h on.  The other verbs without an object are
 *
 *   kz_launch, kz_launch_args, kz_launch_1d (and _2d, _3d), kz_dim,
 *   kz_copy_htod, kz_copy_dtoh, kz_copy_dtod, kz_copy_3d (and their _async and _on forms),
 *   kz_fill, kz_fill_2d, kz_compile, kz_link, kz_warm_up, kz_warm_up_serve, kz_tune,
 *   kz_apply, kz_apply_into, kz_eval, kz_eval_into, kz_eval_vars, kz_eval_prepare,
 *   kz_diagnose, kz_try_gpu, kz_try_all_gpus, kz_release_all, kz_time.
 *
 * Work runs in the default stream of its device (kz_device_stream), unless the call names another
 * stream.  Each function has one way to name it:
 *
 *   its options     where options say how to compute, the stream is a member of them:
 *   kz_op_options,
 *                   kz_sort_options, kz_launch_options and so on;
 *   a form _on      where no options have a stream, a second form has the same parameters and the
 *                   stream before `err`: kz_array_copy and kz_array_copy_on;
 *   a form _async   likewise for copies between host and device, where the plain form waits until
 *                   the program may use the host memory again: kz_copy_htod_async;
 *   a parameter     where there is no form without it: kz_fill, kz_gemm, kz_exec_launch,
 *                   kz_prepared_launch, kz_managed_prefetch, kz_random_shuffle.
 *
 * NULL is the default stream, and a stream of another device is KZ_INVALID.  Functions that name no
 * stream make views, which need none, or return when their work is done, or are short for a
 * function that takes one: kz_apply_into for kz_apply, kz_eval_into for kz_eval, kz_add_dot for
 * kz_gemm.
 *
 * Release what you create with ..._release (a device with kz_device_close).  These functions take
 * NULL, never fail, and may come in any order.  A function that only reads an object takes NULL
 * and returns 0, NULL or "".  Any thread may call.  Two threads must not use one object at the
 * same time, unless its header says so.
 */
#include <kudzu/array.h>
#include <kudzu/bundle.h>
#include <kudzu/cache.h>
#include <kudzu/comm.h>
#include <kudzu/copy.h>
#include <kudzu/create.h>
#include <kudzu/csv.h>
#include <kudzu/custom.h>
#include <kudzu/device.h>
#include <kudzu/diagnose.h>
#include <kudzu/dlpack.h>
#include <kudzu/dtype.h>
#include <kudzu/error.h>
#include <kudzu/eval.h>
#include <kudzu/ffi.h>
#include <kudzu/fft.h>
#include <kudzu/graph.h>
#include <kudzu/histogram.h>
#include <kudzu/host_memory.h>
#include <kudzu/image.h>
#include <kudzu/indexing.h>
#include <kudzu/inspect.h>
#include <kudzu/integrate.h>
#include <kudzu/join.h>
#include <kudzu/kernel.h>
#include <kudzu/layout.h>
#include <kudzu/leaks.h>
#include <kudzu/linalg.h>
#include <kudzu/link.h>
#include <kudzu/memory.h>
#include <kudzu/module.h>
#include <kudzu/network.h>
#include <kudzu/npy.h>
#include <kudzu/ops.h>
#include <kudzu/output.h>
#include <kudzu/check.h>
#include <kudzu/pool.h>
#include <kudzu/prepared.h>
#include <kudzu/random.h>
#include <kudzu/reduce.h>
#include <kudzu/scan.h>
#include <kudzu/search.h>
#include <kudzu/segment.h>
#include <kudzu/sets.h>
#include <kudzu/shape.h>
#include <kudzu/short.h>
#include <kudzu/solve.h>
#include <kudzu/sort.h>
#include <kudzu/sparse.h>
#include <kudzu/stream.h>
#include <kudzu/texture.h>
#include <kudzu/timing.h>
#include <kudzu/trace.h>
#include <kudzu/tune.h>
#include <kudzu/version.h>
#include <kudzu/view.h>
#include <kudzu/warm.h>

#endif

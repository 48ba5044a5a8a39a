/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_KUDZU_H
#define KUDZU_KUDZU_H

/*
 * Kudzu: CUDA kernels at run time, from C, with or without a GPU.  Includes everything.
 *
 *   error.h      error values                diagnose.h   what works on this machine
 *   dtype.h      element types               ffi.h        without a C compiler
 *   shape.h      KZ_SHAPE, KZ_AXES           texture.h    CUDA arrays, textures, surfaces
 *   device.h     open a GPU or the CPU       array.h      arrays on the device
 *   stream.h     streams and events          view.h       slices and other views of arrays
 *   graph.h      work launched again         join.h       concatenate, stack, tile
 *   pool.h       memory pools, statistics    ops.h        operations on arrays
 *   pinned.h     pinned host memory          eval.h       expressions as strings
 *   managed.h    memory of host, device      custom.h     kernels from a line of C
 *   growable.h   memory that grows in place  segment.h    segments and runs
 *   copy.h       copies of boxes: 2-D, 3-D   search.h     searches and histograms
 *   leaks.h      what was never released     sort.h       sorting
 *   memory.h     device memory, copies, fills random.h     random numbers
 *   module.h     compile and load CUDA C     fft.h        Fourier transforms, convolutions
 *   kernel.h     kz_launch, KZ_ARGS          sparse.h     sparse matrices
 *   prepared.h   arguments bound once        integrate.h  integrals of samples
 *   image.h      compile without a device    matrix.h     triangles, diagonals, scaling
 *   inspect.h    what is in an image         products.h   dot, tensordot, einsum
 *   layout.h     a struct on host and device solve.h      equations, factors, norms
 *   cache.h      the cache, why it misses    network.h    softmax, cross entropy
 *   diagnostic.h compiler errors as data     sets.h       unique elements, sets
 *   bundle.h     images for several devices  create.h     numbers in a row, identity
 *   link.h       several images to one       indexing.h   take, put, scatter, nonzero
 *   warm.h       compile sources ahead       reduce.h     sums, extremes, means
 *   output.h     what kernels print          scan.h       running sums
 *   trace.h      a trace of the calls        linalg.h     products of matrices
 *   dlpack.h     arrays of other libraries   npy.h        files of numpy
 *   version.h    the version
 *
 * Names are kz_<object>_<verb>.  Functions that make or change arrays as numpy's do keep numpy's
 * names instead: kz_add, kz_sum, kz_sort, kz_solve, kz_fft and the like, in headers of the right
 * column.  The other verbs without an object are
 *
 *   kz_launch, kz_launch_args, kz_launch_1d, kz_dim,
 *   kz_copy_htod, kz_copy_dtoh, kz_copy_dtod, kz_copy_3d (and their _async and _on forms),
 *   kz_fill, kz_fill_2d, kz_compile, kz_link, kz_warm_up, kz_warm_up_serve,
 *   kz_apply, kz_apply_into, kz_eval, kz_eval_into, kz_eval_vars, kz_eval_prepare,
 *   kz_diagnose, kz_try_gpu, kz_try_all_gpus.
 *
 * Release what you create with ..._release (a device with kz_device_close).  These functions take
 * NULL, never fail, and may come in any order.  A function that only reads an object takes NULL
 * and returns 0, NULL or "".  Any thread may call.  Two threads must not use one object at the
 * same time, unless its header says so.
 */
#include <kudzu/array.h>
#include <kudzu/bundle.h>
#include <kudzu/cache.h>
#include <kudzu/copy.h>
#include <kudzu/create.h>
#include <kudzu/custom.h>
#include <kudzu/device.h>
#include <kudzu/diagnose.h>
#include <kudzu/diagnostic.h>
#include <kudzu/dlpack.h>
#include <kudzu/dtype.h>
#include <kudzu/error.h>
#include <kudzu/eval.h>
#include <kudzu/ffi.h>
#include <kudzu/fft.h>
#include <kudzu/graph.h>
#include <kudzu/growable.h>
#include <kudzu/image.h>
#include <kudzu/indexing.h>
#include <kudzu/inspect.h>
#include <kudzu/integrate.h>
#include <kudzu/join.h>
#include <kudzu/kernel.h>
#include <kudzu/layout.h>
#include <kudzu/linalg.h>
#include <kudzu/link.h>
#include <kudzu/managed.h>
#include <kudzu/matrix.h>
#include <kudzu/memory.h>
#include <kudzu/module.h>
#include <kudzu/network.h>
#include <kudzu/npy.h>
#include <kudzu/ops.h>
#include <kudzu/output.h>
#include <kudzu/pinned.h>
#include <kudzu/pool.h>
#include <kudzu/prepared.h>
#include <kudzu/products.h>
#include <kudzu/random.h>
#include <kudzu/reduce.h>
#include <kudzu/scan.h>
#include <kudzu/search.h>
#include <kudzu/segment.h>
#include <kudzu/sets.h>
#include <kudzu/shape.h>
#include <kudzu/solve.h>
#include <kudzu/sort.h>
#include <kudzu/sparse.h>
#include <kudzu/stream.h>
#include <kudzu/texture.h>
#include <kudzu/trace.h>
#include <kudzu/version.h>
#include <kudzu/view.h>
#include <kudzu/warm.h>

#include <kudzu/leaks.h> /* the last one: it may make macros of functions */

#endif

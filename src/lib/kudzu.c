/* SPDX-License-Identifier: MIT */
/*
 * The version, what lower layers call of upper ones, and the map of the sources.  A folder is a
 * layer: it uses only those named before it, and the folders below src/cpu use only each other
 * and src/base.  make/lib.mk has the same table for the build;
 * docs/dev/architecture.md says more.  Each file's head says how it works.
 *
 * include/kudzu/     what programs see
 *
 * src/base/          libc only: errors, memory, strings, files, hashes, the cache on disk; the
 *                    driver's ABI
 * src/lib/           the library: libkudzu
 *     cuda/          the table of driver functions, filled from a provider; native error codes
 *     rtc/           one call of NVRTC or nvJitLink: CUDA C -> image; what an image says of itself
 *     cache/         compile once: the key of a compile, the files that it may read, images as
 *     bytes core/          devices, streams, events, memory, pools, copies, element types, error
 *     values array/         arrays: shapes, views, transfer, printing, .npy files, DLPack
 *     module/        images, modules, bundles, linking; kernels, their arguments, launches
 *     ops/           expressions -> kernels: elementwise, reductions, scans, indexing, users'
 *     kernels linalg/        products of matrices, solvers, factors; the libraries that do them
 *     fft/           transforms, convolution
 *     order/         sorting, searching, selecting, histograms, sets, segments
 *     sparse/        sparse matrices
 *     random/        random numbers, samples, permutations
 * src/cli/           the command kudzu
 *
 * src/cpu/           a CUDA driver that runs on the processor: libkudzu-cpu.so
 *     config/        environment variables, processor features
 *     ptx/           PTX as data: lexer, parser, checker, linker, images, the table of instructions
 *     mem/           the device's address space, mappings, sharing, faults
 *     runtime/       what compiled code calls: atomics, warps, barriers, textures, printf, malloc
 *     ir/            a kernel as one list: calls, basic blocks, uniformity, yield points
 *     codegen/       that list -> LLVM IR -> an object file; in libkudzu-cpu-llvm.so
 *     jit/           kernels that can run: compiled, or from the cache
 *     exec/          worker threads, blocks, launches
 *     object/        handles, contexts, what a context has, the log
 *     stream/        streams, events, work items, capture, graphs
 *     abi/           the exported cu* functions
 *
 * kernels/           device code of the library, as strings in it
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/core/leaks.h"
#include "lib/linalg/describe.h"
#include "lib/module/diagnose.h"
#include "lib/ops/elementwise.h"

#include <kudzu/version.h>

/* Lower layers call these functions of upper ones through pointers.  Only this file knows both. */
array_copy_fn *const array_copy_by_kernel = ops_copy;
leaks_size_fn *const leaks_array_size = kz_array_size;
diagnose_fn *const diagnose_libraries = describe_libraries;

#define STRING(x) STRING_(x)
#define STRING_(x) #x

int kz_version(void)
{
	return 10000 * KZ_VERSION_MAJOR + 100 * KZ_VERSION_MINOR + KZ_VERSION_PATCH;
}

const char *kz_version_string(void)
{
	return STRING(KZ_VERSION_MAJOR) "." STRING(KZ_VERSION_MINOR) "." STRING(KZ_VERSION_PATCH);
}

/* SPDX-License-Identifier: MIT */
/*
 * The version, and the map of the sources.  A folder is a layer: it uses only those named before it
 * (src/cpu only src/base and the driver's ABI).  Each file's head says how it works.
 *
 * include/kudzu/ - what programs see; one header per object
 *
 * src/base/ - knows nothing of CUDA
 *     common.h      attributes, countof, overflow-checked sizes
 *     alloc.[ch]    the heap, with a hook that makes the n-th request fail
 *     arena.[ch]    memory that is freed all at once
 *     dl.[ch]       shared objects found at run time
 *     error.[ch]    fill in a kz_error
 *     file.[ch]     read files, take paths apart, find the cache folder
 *     map.[ch]      string -> pointer
 *     str.[ch]      a growing string
 *
 * src/drv/ - the CUDA Driver API, from whichever object provides it
 *     cuda_abi.h    its types and constants; attributes.def: device attributes
 *     cuda.def      the functions that we call, and since when they exist
 *     codes.[ch]    native error codes -> error values; codes.def: all of them
 *     drv.[ch]      load a provider and fill the table of functions
 *
 * src/rtc/ - CUDA C text -> image
 *     nvrtc.[ch]    find and load NVRTC
 *     headers.[ch]  headers that a compile gets in memory: the prelude, the C library's
 *     arch.c        which architecture to compile for
 *     scan.[ch]     find the kernels in a source text
 *     job.[ch]      one call of NVRTC, on a thread with a big stack
 *     diag.[ch]     NVRTC's log -> diagnostics as gcc writes them
 *     demangle.[ch] type.[ch] signature.[ch]
 *                   a mangled name -> the parameters of a kernel
 *     image.[ch]    an image and its kernels; image_ptx.c image_cubin.c: what it says itself
 *     compile.[ch]  all of it together
 *
 * src/ - one file per public header, and what they share
 *     objects.h     the structs behind the handles, and who keeps whom alive
 *     error.c       print error values, look up codes
 *     dtype.c       element types
 *     device.c      choose, open and describe devices; the loss of a context
 *     stream.c      streams and events
 *     memory.c      device memory: buffers, copies, fills, order between streams
 *     module.[ch]   load images, find kernels and variables; missing.c: what there is instead
 *     kernel.c      launch; args.c: check and convert the arguments
 *     array.c       arrays; format.[ch]: their elements as text
 *     diagnose.c    what works on this machine
 *     kudzu.c       this file
 *
 * src/cpu/ - libkudzu-cpu.so: a CUDA driver whose device is the processor
 *     ptx.[ch]      a PTX module as data; ptx.def: the instructions
 *     lex.[ch]      text -> tokens
 *     parser.[ch] parse.[ch] parse_var.c parse_body.c
 *                   tokens -> module
 *     check.[ch]    types of operands, and what is not supported
 *     cfg.[ch]      basic blocks, post-dominators, live registers
 *     rt.[ch]       what compiled kernels and the C code around them agree on
 *     emit.[ch]     kernel -> LLVM IR; a file for each family of instructions:
 *                   emit_alu.c emit_bits.c emit_cmp.c emit_cvt.c emit_float.c emit_math.c
 *                   emit_mem.c emit_atom.c emit_flow.c
 *     jit.[ch]      LLVM IR -> machine code
 *     memory.[ch]   device memory, in a range of addresses of its own
 *     fault.[ch]    faults of compiled code come back as a jump
 *     pool.[ch]     worker threads
 *     block.[ch]    run one block: its warps are coroutines
 *     launch.[ch]   run a grid: blocks on workers
 *     api.h         what the exported functions share; api_handle.c: handles
 *     api_*.c       the exported functions, by family
 *     exports.c     exports.def: every name that the driver library of CUDA 13.0 exports
 *
 * src/cli/ - the command `kudzu`
 *     main.c        finds the command; cli.h
 *     doctor.c      kudzu doctor
 */
#include "base/common.h"

#include <kudzu/version.h>

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

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
 *     cores.h       how many cores there are
 *     dl.[ch]       shared objects found at run time
 *     error.[ch]    fill in a kz_error
 *     file.[ch]     read files, take paths apart, find the cache folder
 *     hash.[ch]     128 bits that stand for many; hash_wide.[ch]: of long texts
 *     map.[ch]      string -> pointer
 *     store.[ch]    values in files, by key, for many processes: the cache on disk;
 *                   store_io.c: its system calls; store_folder.c: where it is, and may it be used;
 *                   store_size.c: its limit, locks; store_walk.c: all of it;
 *                   store_key.c: keys, names; store_inner.h
 *     str.[ch]      a growing string
 *     squeeze.[ch]  big texts of which little is read
 *     fatbin.[ch]   fat binaries; lz4.[ch]: how some of them, and squeezed texts, are compressed
 *
 * src/drv/ - the CUDA Driver API, from whichever object provides it
 *     cuda_abi.h    its types and constants; attributes.def: device attributes
 *     cuda.def      the functions that we call, and since when they exist
 *     codes.[ch]    native error codes -> error values; codes.def: all of them
 *     drv.[ch]      load a provider and fill the table of functions
 *
 * src/rtc/ - CUDA C text -> image
 *     find.[ch]     find NVIDIA's libraries; nvrtc.[ch]: NVRTC and the headers that go with it
 *     thread.[ch]   call a compiler with a big stack
 *     headers.[ch]  headers that a compile gets in memory: the prelude, the C library's
 *     arch.c        which architecture to compile for
 *     scan.[ch]     find the kernels in a source text
 *     job.[ch]      one call of NVRTC, on a thread with a big stack
 *     diag.[ch]     NVRTC's log -> diagnostics as gcc writes them
 *     blame.[ch]    which line of source a line of PTX comes from
 *     pch.[ch]      precompiled headers
 *     keep.[ch]     sources in files, for debuggers
 *     hints.[ch]    what to do about errors; hints.def: the rules
 *     demangle.[ch] type.[ch] signature.[ch]
 *                   a mangled name -> the parameters of a kernel
 *     elf.[ch] ptx_text.[ch]
 *                   sections of ELF files, tokens of PTX
 *     nvjitlink.[ch]
 *                   find and load nvJitLink; link.[ch]: one call of it; link_log.[ch]: what
 *                   linkers say
 *     parts.[ch]    what a linker is given, taken apart; symbols.c: what it defines and needs
 *     image.[ch]    an image and its kernels; image_ptx.c image_cubin.c: what it says itself;
 *                   variable.c: its variables
 *     cubin.[ch]    sections of a cubin by name; resources.[ch]: what ptxas gave each kernel
 *     ptx_version.[ch]
 *                   versions of PTX, and the drivers that know them
 *     compile.[ch]  all of it together
 *     pack.[ch]     an image as bytes
 *     includes.[ch] what a source text includes
 *     looked.[ch]   what was found out by looking at files, as long as these stay
 *     reach.[ch]    the files that a compile may read; reach_search.c: the walk from one to the next;
 *                   reach_closure.c: CUDA's own headers; reach_inner.h
 *     compiler.[ch] which NVRTC it is, exactly
 *     key.[ch]      everything that an image depends on
 *     cache.[ch]    compile, unless it was compiled before
 *     listed.[ch]   what big images say, unless it was read before
 *
 * src/ - one file per public header, and what they share
 *     objects.h     the structs behind the handles, and who keeps whom alive
 *     error.c       print error values, look up codes
 *     dtype.c       element types
 *     device.c      choose, open and describe devices; the loss of a context
 *     stream.c      streams and events
 *     memory.c      device memory: buffers, order between streams; copy.c: copies, fills
 *     pool.c        figures and settings of the memory pools; mempool.[ch]: the pools;
 *                   shelf.[ch] bins.[ch]: what is free in them; source.[ch]: where they have it from
 *     pinned.c      pinned host memory
 *     image.c       images: compiled, not loaded; link.c: several become one
 *     inspect.c     what is in an image; layout.c: a struct on the host against the device's
 *     diagnostic.c  a log -> a list of diagnostics
 *     compiled.[ch] images in memory; loaded.[ch]: modules that callers share
 *     module.[ch]   load images, find kernels; global.c: variables; missing.c: what there is
 *                   instead; refusal.c: what drivers say of images that they refuse
 *     load.[ch]     bytes of any format -> an image that a device takes; bundle.c: files with
 *                   images for several devices
 *     warm.[ch]     many sources compiled ahead by processes; warm_request.c: what they are told
 *     kernel.c      launch; args.c: check and convert the arguments
 *     shape.[ch]    shapes, lists of axes, broadcasting
 *     strided.[ch]  elements at strides: where they lie, moving those of the host
 *     array.[ch]    arrays; format.[ch]: their elements as text
 *     transfer.c    their elements to and from the host; span.[ch]: strided ones
 *     across.c      copies on other devices, the memory of the CPU device
 *     npy.[ch]      .npy files; npy_parse.c: their header
 *     npz.c         .npz files; zip.[ch]: archives; inflate.[ch]: compressed ones
 *     dlpack.c      arrays of other libraries
 *     view.[ch]     views of arrays: axes, types; slice.c: parts; reshape.c: other shapes
 *     promote.c     the common type of two types
 *     expr.[ch]     elementwise computations as data; ops.def: all operations
 *     device_code.[ch]
 *                   the files of kernels/ as strings
 *     generate.[ch] an expression -> the CUDA C of its kernel
 *     kernels.[ch]  the kernels that were generated for a device
 *     plan.[ch]     how the arrays of an expression lie, and its launch
 *     elementwise.[ch]
 *                   run an expression over arrays
 *     shortcut.[ch] calls of operations like one before
 *     ops.c         operations by number, copies, fills
 *     create.c      numbers in a row, the identity matrix
 *     transpose.[ch]
 *                   copies that turn matrices around
 *     indexing.c    take, put, nonzero
 *     linalg.c      products of matrices
 *     scan.c        running sums and other scans
 *     join.c        several arrays become one
 *     eval_lex.[ch] eval_parse.[ch]
 *                   expressions as strings -> expressions; eval.c: run them, prepare them
 *     reduce.[ch]   sums, extremes, means along axes; reduce_pass.c: one extent after the other;
 *                   reduce_text.c: their kernels
 *     overlap.[ch]  whether two arrays share memory
 *     declare.[ch]  the argument list of a user's kernel
 *     custom.[ch]   users' kernels: custom_text.c: their text; custom_bind.c: their arguments;
 *                   custom_elementwise.c custom_reduction.c: the two kinds
 *     diagnose.c    what works on this machine
 *     cache.c       figures of the cache, and why it misses
 *     ffi.c         what callers need that have no C compiler
 *     kudzu.c       this file
 *
 * src/cpu/ - libkudzu-cpu.so: a CUDA driver whose device is the processor, and what it loads when
 * there is something to compile, libkudzu-cpu-llvm.so
 *     ptx.[ch]      a PTX module as data; ptx.def: the instructions
 *     ptx_mma.[ch]  which thread of a warp has which elements of a matrix
 *     lex.[ch]      text -> tokens
 *     parser.[ch] parse.[ch] parse_expr.c parse_reg.c parse_var.c parse_body.c parse_operand.c
 *     parse_call.c  tokens -> module; parse_part.c parse_outline.c: kernels that are read late
 *     check.[ch]    what is not supported, and rules; checker.h check_operand.c: operands and
 *                   their types; check_call.c: calls; check_text.c: what is wrong, in words
 *     flatten.[ch]  a kernel and the functions that it calls become one list of instructions;
 *                   flat.h flat_kind.c flat_args.c flat_graph.c flat_frame.c flat_body.c
 *                   flat_call.c flat_stack.c flat_inst.c: its steps
 *     lower.[ch]    waits and exits become simple ends of blocks
 *     cfg.[ch]      basic blocks, post-dominators, live registers
 *     spin.[ch]     loops in which threads may wait
 *     split.[ch]    whether the .local memory of a warp can lie word by word
 *     team.[ch]     whether the warps of a block can run in step
 *     shape.[ch]    what the lanes of a warp have in common; shape_ops.c: what instructions make
 *                   of that; shape_class.c: how blocks lie in warps; shape_pool.c: how far lanes are
 *                   apart
 *     heap.[ch]     malloc and free of kernels; print.[ch]: their printf
 *     rt.[ch]       what compiled kernels and the C code around them agree on;
 *                   rt_atom.[ch]: atomic operations of a warp;
 *                   rt_collect.[ch] rt_warp.c: what the threads of a warp do together;
 *                   rt_mbarrier.[ch]: barriers in shared memory; rt_mma.[ch] rt_matrix.c:
 *                   matrices of a warp
 *     features.[ch] which instructions of the processor code may use
 *     settings.[ch] what the user may set, by environment variables
 *     texture.[ch] surface.c
 *                   the texture unit as plain C
 *     emit.[ch]     kernel -> LLVM IR; a file for each family of instructions:
 *                   emit_alu.c emit_bits.c emit_cmp.c emit_cvt.c emit_float.c emit_half.c
 *                   emit_fp8.c emit_video.c emit_math.c emit_mem.c emit_local.c emit_strong.c
 *                   emit_wide.c emit_shaped.c emit_fetch.c emit_atom.c emit_flow.c emit_lanes.c emit_warp.c
 *                   emit_warps.c emit_team.c emit_guard.c emit_meet.c emit_alone.c emit_async.c
 *                   emit_matrix.c emit_tex.c emit_call.c emit_trace.c; emit_slots.c: where
 *                   registers are;
 *                   emit_base.c: addresses that LLVM makes vectors of;
 *                   emit_wrap.c: addresses in a row unless an index wraps around
 *                   emit_drift.c: vectors to which loops add the same in all lanes;
 *                   emit_bunch.c: sums of a team that are more than the registers;
 *                   emit_bypass.c emit_bypass_loop.c: stores past the cache
 *     kept.[ch]     compiled kernels in the cache on disk
 *     outline.[ch]  texts that were found good, so that they need not be read whole again
 *     code.[ch]     object files -> code that can run
 *     jit.[ch]      kernels -> machine code, from the cache or by LLVM; jit_open.[ch]: load what needs
 *                   LLVM, libkudzu-cpu-llvm.so: emit.[ch]; jit_llvm.[ch]: LLVM IR -> object files;
 *                   jit_link.[ch]: LLVM's own linker; jit_dump.[ch]: what
 *                   becomes of a kernel, as text
 *     image.[ch]
 *                   the PTX in what programs load: text, fat binaries
 *     link.[ch] link_scan.[ch]
 *                   several PTX modules into one
 *     capacity.[ch] how much memory the device has
 *     share.[ch]    memory that other processes can map, too
 *     memory.[ch]   device memory, in a range of addresses of its own;
 *                   memory_map.[ch]: what is mapped at addresses that a program has reserved;
 *                   advice.[ch]: what it says of managed memory
 *     fault.[ch]    faults of compiled code come back as a jump
 *     pool.[ch]     worker threads
 *     block.[ch]    run one block: its warps are coroutines
 *     room.[ch]     memory for one block
 *     bypass.[ch]   how much may be written before that is too much for the cache; copies past it
 *     launch.[ch]   run a grid: blocks on workers; launch_float.h: in the state that they expect
 *     api.h         what the exported functions share; api_handle.c: handles; api_object.c:
 *                   what belongs to a context
 *     graph.[ch]    graphs as data; graph_memory.[ch]: memory that they allocate
 *     graph_run.[ch]
 *                   executable graphs, and their launches
 *     work.[ch]     what a stream can be asked to do
 *     line.[ch]     what a line of PTX does, and where it comes from, for messages
 *     runner.[ch]   kernels of streams, and ending them
 *     queue.[ch]    streams inside: order, threads, waiting
 *     stream.[ch]   streams and events; event.c; event_share.[ch]: events of several processes
 *     capture.[ch]  what streams are asked to do becomes nodes of graphs; tail.[ch]: the nodes
 *                   that the next one depends on
 *     api_*.c       the exported functions, by family; api_module.h: loading code,
 *                   api_kernel.c api_variant.c: kernels of modules; api_survey.[ch]: whether those
 *                   of a new big text are good, without holding them;
 *                   api_array.h: arrays, textures; api_pool.h: memory pools;
 *                   api_fetch.c: what kernels ask for; api_ipc.c api_pool_ipc.c: what
 *                   processes have together
 *     graph_node.[ch]
 *                   what nodes of graphs do; api_graph*.c: all functions for graphs,
 *                   api_work.h: checks that streams and graphs share
 *     error_text.def what cuGetErrorString says
 *     exports.c     exports.def: every name that the driver library of CUDA 13.0 exports
 *
 * src/cli/ - the command `kudzu`
 *     main.c        finds the command; cli.h
 *     report.[ch]   what commands say of errors, in colours
 *     source.[ch]   files with kernels, options to compile them with
 *     run.[ch]      kudzu run: its words; numeral.[ch] argument.[ch]: the kernel's arguments;
 *                   parameters.[ch]: what it takes; run_values.c: arrays; run_guard.c: --check;
 *                   run_show.c: what it prints
 *     new.c         kudzu new: the files of template/
 *     cache.c compile.c cpu.c doctor.c dump.c worker.c
 *                   kudzu cache, compile, cpu, doctor, dump, and what kz_warm_up starts
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

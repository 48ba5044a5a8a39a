/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_MODULE_H
#define KUDZU_MODULE_H

/*
 * Modules: CUDA C source that is compiled while the program runs, and loaded into a device.
 *
 *	kz_module *mod = NULL;
 *	kz_kernel *saxpy = NULL;
 *	if (kz_module_compile(&mod, dev, source, NULL, &err)
 *	    || kz_module_kernel(&saxpy, mod, "saxpy", &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_module_release(mod);
 *
 * Any thread may compile; a module may be used from any thread.
 */
#include <kudzu/dtype.h>
#include <kudzu/image.h>
#include <kudzu/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A loaded module; opaque and counted. */
typedef struct kz_module kz_module;
/** A kernel of a module; borrowed from it. */
typedef struct kz_kernel kz_kernel;

/**
 * Compile CUDA C source and load it.
 *
 * The compiler gets the source unchanged.  You find a kernel by its plain name, without `extern
 * "C"`. A built-in prelude declares what C programs expect: stdint types, limits, `restrict`,
 * M_PI, INFINITY.  The headers that C++ programs expect are there, too: `<cmath>`, `<cstdint>`,
 * `<cstdio>`, `<cassert>`, `<cstddef>`, `<limits>`, `<type_traits>`, `<utility>`, `<tuple>`,
 * `<array>`, `<complex>`.  They are libcu++'s under the names of std where that is installed, else
 * Kudzu's own.
 *
 * @param out set to the module, NULL on failure.
 * @param source zero-terminated CUDA C++.  NULL is KZ_INVALID, and "" gives a module without
 *        kernels.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_COMPILE with file, line, column and the compiler's log; KZ_NO_COMPILER;
 *         KZ_VERSION; KZ_UNSUPPORTED for what the CPU device cannot do; KZ_BAD_IMAGE; KZ_INVALID;
 *         KZ_NO_MEMORY.
 * Ownership: release it with kz_module_release.
 */
KZ_API KZ_NODISCARD kz_status kz_module_compile(kz_module **out, kz_device *dev,
	const char *source, const kz_compile_options *options, kz_error *err);

/**
 * Load an image that is already compiled.
 *
 * It may be PTX text or a cubin.  Of a fat binary (compressed or not) or a bundle the library
 * takes the entry that suits the device best.  nvJitLink first links LTO-IR, objects and
 * libraries.  Where it is installed it also makes a cubin of PTX that is newer than the driver;
 * kz_module_log says so.
 *
 * @param image host memory, copied.
 * @param size bytes; PTX needs no terminating zero.
 * @return KZ_OK; KZ_BAD_IMAGE, with the line, for PTX that the device refuses; KZ_UNSUPPORTED, with
 *         the line, for valid PTX that needs what the CPU device cannot do; KZ_VERSION for PTX that
 *         is newer than the driver, and for an image that has nothing for the device; KZ_LINK and
 *         KZ_NO_COMPILER for an image that has to be linked; KZ_INVALID; KZ_NO_MEMORY.
 * Ownership: release it with kz_module_release.
 */
KZ_API KZ_NODISCARD kz_status kz_module_load(kz_module **out, kz_device *dev, const void *image,
	int64_t size, kz_error *err);

/**
 * Compile a file of CUDA C source and load it; see kz_module_compile.
 *
 * Messages name the file by its path, and its folder is searched for headers as nvcc does it:
 * first, for names in quotes.  With a `name` in the options messages have that name.
 *
 * @param path of a text in UTF-8, up to 64 MiB; a byte order mark in front of it is skipped.
 * @return as kz_module_compile; KZ_NOT_FOUND, KZ_PERMISSION, KZ_IO as the system says; KZ_INVALID
 *         for a file that is an image, which kz_module_load_file loads, and for one with a zero
 *         byte; KZ_RANGE for one that is too long.
 * Ownership: release it with kz_module_release.
 */
KZ_API KZ_NODISCARD kz_status kz_module_compile_file(kz_module **out, kz_device *dev,
	const char *path, const kz_compile_options *options, kz_error *err);

/** Which loads of global memory use the L1 cache.  The numbers are the driver's. */
typedef enum kz_cache_mode {
	KZ_CACHE_MODE_DEFAULT = 0,
	KZ_CACHE_MODE_CG = 1, /**< none (`-dlcm=cg`) */
	KZ_CACHE_MODE_CA = 2  /**< all (`-dlcm=ca`) */
} kz_cache_mode;

/**
 * How the driver makes machine code of PTX.  Initialize with KZ_LOAD_OPTIONS_INIT.
 *
 * The driver ignores them for a cubin.  On the CPU device max_registers limits what
 * kz_kernel_describe says, and with that the occupancy; the others but verbose change nothing.
 */
typedef struct kz_load_options {
	size_t size;           /**< sizeof(kz_load_options) */
	int max_registers;     /**< per thread; 0: only the device's limit */
	int threads_per_block; /**< blocks have at least so many threads, which limits the
	                            registers; 0: unknown.  Not together with arch */
	int optimization;      /**< 1 to 4, the most; 0: the default, which is 4; -1: none */
	int line_info;         /**< nonzero: keep source lines for profilers */
	int debug;             /**< nonzero: device debugging */
	int cache_mode;        /**< a kz_cache_mode */
	int verbose;           /**< nonzero: kz_module_log has the registers, the spills and the
	                            memory of each kernel, as `ptxas -v` prints them.  The CPU
	                            device knows no spills, and its registers are an estimate */
	int log_size;          /**< bytes of the driver's messages to keep; 0: 8192 */
	const char *arch;      /**< "sm_90"; NULL: the device's */
	void *reserved[4];
} kz_load_options;

#ifdef __cplusplus
#define KZ_LOAD_OPTIONS_INIT kz_sized_init<kz_load_options>()
#else
#define KZ_LOAD_OPTIONS_INIT {.size = sizeof(kz_load_options)}
#endif

/**
 * Load an image, and say how the driver compiles it if it is PTX; see kz_module_load.
 *
 * kz_module_compile does this by itself with max_registers, line_info and debug of its options
 * where the source becomes PTX.
 *
 * @param options NULL for the defaults.
 * @return as kz_module_load; KZ_INVALID for options that cannot be.
 * Ownership: release it with kz_module_release.
 */
KZ_API KZ_NODISCARD kz_status kz_module_load_with(kz_module **out, kz_device *dev,
	const void *image, int64_t size, const kz_load_options *options, kz_error *err);

/**
 * Load the image in a file; see kz_module_load.
 *
 * @return as kz_module_load; KZ_NOT_FOUND, KZ_PERMISSION, KZ_IO as the system says.
 * Ownership: release it with kz_module_release.
 */
KZ_API KZ_NODISCARD kz_status kz_module_load_file(kz_module **out, kz_device *dev,
	const char *path, kz_error *err);

/** Load the image in a file, and say how the driver compiles it; see kz_module_load_with. */
KZ_API KZ_NODISCARD kz_status kz_module_load_file_with(kz_module **out, kz_device *dev,
	const char *path, const kz_load_options *options, kz_error *err);

/**
 * Load a kz_image.
 *
 * This does what kz_module_load does with its bytes.  But the module shares the image, and knows
 * what the compiler knew of its kernels.
 *
 * @return as kz_module_load.
 * Ownership: release it with kz_module_release.  You may release the image first.
 */
KZ_API KZ_NODISCARD kz_status kz_module_load_image(kz_module **out, kz_device *dev, kz_image *image,
	kz_error *err);

/** Load a kz_image, and say how the driver compiles it; see kz_module_load_with. */
KZ_API KZ_NODISCARD kz_status kz_module_load_image_with(kz_module **out, kz_device *dev,
	kz_image *image, const kz_load_options *options, kz_error *err);

/**
 * Add a handle to a module, which needs one more kz_module_release.  Return the module; NULL for
 * one that was released.
 */
KZ_API kz_module *kz_module_retain(kz_module *mod);

/**
 * Release a module with its kernels.  The driver waits for launches in flight.  NULL is fine.
 *
 * After that its kernels are refused.  docs/errors.md says which released handles are noticed.
 */
KZ_API void kz_module_release(kz_module *mod);

/**
 * Find a kernel.
 *
 * @param out set to the kernel, NULL on failure.
 * @param name as in the source ("saxpy"), as in the options ("ns::scale<uint32_t, 2 * 2>"), as the
 *        compiler spells it ("ns::scale<unsigned int, 4>"; white space does not matter), or the
 *        symbol in the image.  Namespaces may be left out, such as inline ones, if one kernel alone
 *        fits.  An instance has each of the names by which the options ask for it.
 * @return KZ_OK; KZ_NOT_FOUND, whose message lists the module's kernels and the nearest name.  A
 *         template has only the instances that kz_compile_options names.
 * Ownership: borrowed from the module.
 */
KZ_API KZ_NODISCARD kz_status kz_module_kernel(kz_kernel **out, kz_module *mod, const char *name,
	kz_error *err);

/** Return the number of kernels that the library knows of. */
KZ_API int64_t kz_module_kernel_count(const kz_module *mod);

/** Return the name of kernel `index`, NULL beyond the last.  Borrowed from the module. */
KZ_API const char *kz_module_kernel_name(const kz_module *mod, int64_t index);

/**
 * Return the compiler's warnings and what the driver said when it loaded the image, "" if there was
 * nothing.  Borrowed from the module.
 */
KZ_API const char *kz_module_log(const kz_module *mod);

/** Return the image that was loaded (PTX text or cubin) and its size.  Borrowed. */
KZ_API const void *kz_module_image(const kz_module *mod, int64_t *size);

/** Return what the image was built for: "sm_90", "compute_89"; "" if unknown.  Borrowed. */
KZ_API const char *kz_module_arch(const kz_module *mod);

/** Return the device of a module.  Borrowed. */
KZ_API kz_device *kz_module_device(const kz_module *mod);

/**
 * Find a __device__, __constant__ or __managed__ variable.
 *
 * The library does not order copies of the buffer in other streams with kernels that use the
 * variable by its name.  kz_module_set_global and kz_module_get_global wait for all work on the
 * device.
 *
 * @param out set to a buffer with the variable's memory, which keeps the module alive; NULL on
 *        failure.
 * @param name as in the source ("gain", "ns::table"), or the symbol of the image.
 * @return KZ_OK; KZ_NOT_FOUND.
 * Ownership: release it with kz_buffer_release.
 */
KZ_API KZ_NODISCARD kz_status kz_module_global(kz_buffer **out, kz_module *mod, const char *name,
	kz_error *err);

/**
 * Write a variable of a module from the host, after all work on the device so far.
 *
 * @param name as for kz_module_global.
 * @param size bytes; must be the variable's size: KZ_RANGE if not.
 */
KZ_API KZ_NODISCARD kz_status kz_module_set_global(kz_module *mod, const char *name,
	const void *from, int64_t size, kz_error *err);

/** Read a variable of a module into host memory; as kz_module_set_global. */
KZ_API KZ_NODISCARD kz_status kz_module_get_global(kz_module *mod, const char *name, void *to,
	int64_t size, kz_error *err);

/**
 * Write a part of a variable from the host, as kz_module_set_global.
 *
 * @param offset of the first byte in the variable.
 * @param size bytes; KZ_RANGE if the variable ends before them.
 */
KZ_API KZ_NODISCARD kz_status kz_module_set_global_at(kz_module *mod, const char *name,
	int64_t offset, const void *from, int64_t size, kz_error *err);

/** Read a part of a variable into host memory; as kz_module_set_global_at. */
KZ_API KZ_NODISCARD kz_status kz_module_get_global_at(kz_module *mod, const char *name,
	int64_t offset, void *to, int64_t size, kz_error *err);

/**
 * Write a variable of a module, and check its type as well as its size.
 *
 * A dtype fits if an array of it could be passed to a kernel as a pointer to the variable's type:
 * KZ_I32 and KZ_U32 for int, KZ_F32 and KZ_C64 for float, a registered struct for a struct of that
 * name.  A type that the library does not know (see kz_variable_info) is not checked.
 *
 * @param from `count` values.
 * @param count elements; must be all of the variable.
 * @return KZ_OK; KZ_ARGUMENT for values of another type; KZ_RANGE for another number of them;
 *         KZ_NOT_FOUND; KZ_INVALID.
 */
KZ_API KZ_NODISCARD kz_status kz_module_set_values(kz_module *mod, const char *name, kz_dtype dtype,
	const void *from, int64_t count, kz_error *err);

/** Read a variable of a module, and check its type; as kz_module_set_values. */
KZ_API KZ_NODISCARD kz_status kz_module_get_values(kz_module *mod, const char *name, kz_dtype dtype,
	void *to, int64_t count, kz_error *err);

/**
 * Write some values of a variable that is an array, and check their type, as kz_module_set_values.
 *
 * @param first the index of the first value, in values of the dtype; of an array with several axes
 *        all values count, the last axis innermost.
 * @param count values; KZ_RANGE if the variable ends before them.
 */
KZ_API KZ_NODISCARD kz_status kz_module_set_values_at(kz_module *mod, const char *name,
	int64_t first, kz_dtype dtype, const void *from, int64_t count, kz_error *err);

/** Read some values of a variable, and check their type; as kz_module_set_values_at. */
KZ_API KZ_NODISCARD kz_status kz_module_get_values_at(kz_module *mod, const char *name,
	int64_t first, kz_dtype dtype, void *to, int64_t count, kz_error *err);

/* Files that change while the program runs */

/** A file that is compiled again after each change; opaque. */
typedef struct kz_watcher kz_watcher;

/**
 * Watch a file of CUDA C source.
 *
 *	while (running) {
 *		if (kz_watcher_poll(&is_new, watcher, &err)) {
 *			kz_error_print(&err, stderr); // the old kernels stay
 *			kz_error_clear(&err);
 *		} else if (is_new && kz_module_kernel(&step, kz_watcher_module(watcher), ...)) {
 *			...
 *
 * This call does not look at the file; the first kz_watcher_poll compiles it.
 *
 * @param path of the file, which kz_module_compile_file compiles; or of an image, which
 *        kz_module_load_file loads.  A relative path begins at the current folder of each call.
 * @param options NULL for the defaults; copied.
 * @return KZ_OK; KZ_INVALID; KZ_NO_MEMORY.
 * Ownership: release it with kz_watcher_release.
 * Threads: one thread at a time may use a watcher.
 */
KZ_API KZ_NODISCARD kz_status kz_watcher_create(kz_watcher **out, kz_device *dev, const char *path,
	const kz_compile_options *options, kz_error *err);

/**
 * Compile the file again if it, or a header that it includes, has changed since the last call.
 *
 * Without a change this asks the system for the times of a few files.  CUDA's own headers are not
 * among them, nor headers whose names the source makes by macros.  If a file has changed just now,
 * or is gone, the call gives its editor up to 50 ms to complete it.
 *
 * A change that cannot be compiled is reported once, and the module of the last version that could
 * be compiled stays, as it does if the file goes away.
 *
 * @param is_new set to 1 if there is a new module, else to 0; may be NULL.
 * @return KZ_OK; as kz_module_compile_file and, for an image, kz_module_load_file, once for each
 *         change; KZ_NO_MEMORY at each call until there is enough.
 */
KZ_API KZ_NODISCARD kz_status kz_watcher_poll(int *is_new, kz_watcher *watcher, kz_error *err);

/**
 * Return nonzero if the file or a header of it looks changed since the last kz_watcher_poll, which
 * compares the contents.  0 if the file is gone.
 */
KZ_API int kz_watcher_has_changed(const kz_watcher *watcher);

/**
 * Return the module of the last version that could be compiled; NULL before the first one.
 *
 * Ownership: borrowed, with its kernels, until kz_watcher_poll sets is_new or the watcher is
 * released.  kz_module_retain holds it, and so its kernels, longer.
 */
KZ_API kz_module *kz_watcher_module(const kz_watcher *watcher);

/** Release a watcher with its module.  NULL is fine. */
KZ_API void kz_watcher_release(kz_watcher *watcher);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_MODULE_H
#define KUDZU_MODULE_H

/*
 * Modules: CUDA C source, compiled while the program runs, and loaded.
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
 * The source is compiled as it is: no `extern "C"` is needed, kernels are found by their plain
 * name.  A built-in prelude makes C habits work (stdint types, limits, `restrict`, M_PI, INFINITY).
 *
 * @param out set to the module, NULL on failure.
 * @param source zero-terminated CUDA C++; NULL is KZ_INVALID, "" is a module without kernels.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_COMPILE with file, line, column and the compiler's log; KZ_NO_COMPILER;
 *         KZ_VERSION; KZ_UNSUPPORTED for what the CPU device cannot do; KZ_BAD_IMAGE; KZ_INVALID;
 *         KZ_NO_MEMORY.
 * Ownership: give it back with kz_module_release.
 */
KZ_API KZ_NODISCARD kz_status kz_module_compile(kz_module **out, kz_device *dev,
	const char *source, const kz_compile_options *options, kz_error *err);

/**
 * Load an image that is already compiled.
 *
 * It may be PTX text, a cubin, a fat binary (compressed or not) or a bundle, of which the entry is
 * taken that suits the device best, or LTO-IR, an object or a library, which nvJitLink links first.
 * PTX that is newer than the driver is made a cubin by nvJitLink, where that is installed;
 * kz_module_log says so.
 *
 * @param image host memory, copied.
 * @param size bytes; PTX needs no terminating zero.
 * @return KZ_OK; KZ_BAD_IMAGE with the line for PTX that the device refuses; KZ_UNSUPPORTED, with
 *         the line, for PTX that is valid, but asks for what the CPU device cannot do; KZ_VERSION
 *         for PTX that is newer than the driver, and for what has nothing for the device;
 *         KZ_LINK, KZ_NO_COMPILER for what has to be linked; KZ_INVALID; KZ_NO_MEMORY.
 * Ownership: give it back with kz_module_release.
 */
KZ_API KZ_NODISCARD kz_status kz_module_load(kz_module **out, kz_device *dev, const void *image,
	int64_t size, kz_error *err);

/**
 * Load what a file holds; see kz_module_load.
 *
 * @return as kz_module_load; KZ_NOT_FOUND, KZ_PERMISSION, KZ_IO as the system says.
 * Ownership: give it back with kz_module_release.
 */
KZ_API KZ_NODISCARD kz_status kz_module_load_file(kz_module **out, kz_device *dev,
	const char *path, kz_error *err);

/**
 * Load a compiled image: what kz_module_load does with the bytes of one, but the module shares the
 * image, and knows of its kernels what the compiler knew.
 *
 * @return as kz_module_load.
 * Ownership: give it back with kz_module_release; the image may be released before.
 */
KZ_API KZ_NODISCARD kz_status kz_module_load_image(kz_module **out, kz_device *dev, kz_image *image,
	kz_error *err);

/**
 * Give a module back.  Its kernels are gone with it; launches in flight are waited for by the
 * driver.  NULL is fine.
 */
KZ_API void kz_module_release(kz_module *mod);

/**
 * Find a kernel.
 *
 * @param out set to the kernel, NULL on failure.
 * @param name as in the source ("saxpy"), as in the options ("ns::scale<uint32_t, 2 * 2>") or as the
 *        compiler has it ("ns::scale<unsigned int, 4>"), where white space does not matter; or the
 *        symbol of the image.
 * @return KZ_OK; KZ_NOT_FOUND with the kernels that there are and the nearest name.  A template has
 *         only the instances that kz_compile_options names.
 * Ownership: borrowed from the module.
 */
KZ_API KZ_NODISCARD kz_status kz_module_kernel(kz_kernel **out, kz_module *mod, const char *name,
	kz_error *err);

/** Return how many kernels the module is known to have. */
KZ_API int64_t kz_module_kernel_count(const kz_module *mod);

/** Return the name of kernel `index`, NULL beyond the last.  Borrowed from the module. */
KZ_API const char *kz_module_kernel_name(const kz_module *mod, int64_t index);

/** Return the compiler's warnings, "" if there were none.  Borrowed from the module. */
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
 * A kernel that uses the variable by its name is not ordered with copies of the buffer in other
 * streams; kz_module_set_global and kz_module_get_global wait for all work on the device.
 *
 * @param out set to a buffer over it, which keeps the module alive; NULL on failure.
 * @param name as in the source ("gain", "ns::table"), or the symbol of the image.
 * @return KZ_OK; KZ_NOT_FOUND.
 * Ownership: give it back with kz_buffer_release.
 */
KZ_API KZ_NODISCARD kz_status kz_module_global(kz_buffer **out, kz_module *mod, const char *name,
	kz_error *err);

/**
 * Write a variable of a module from the host, after all work on the device so far.
 *
 * @param size bytes; must be the variable's size: KZ_RANGE if not.
 */
KZ_API KZ_NODISCARD kz_status kz_module_set_global(kz_module *mod, const char *name,
	const void *from, int64_t size, kz_error *err);

/** Read a variable of a module; as kz_module_set_global. */
KZ_API KZ_NODISCARD kz_status kz_module_get_global(kz_module *mod, const char *name, void *to,
	int64_t size, kz_error *err);

/**
 * Write a variable of a module, with its type checked as well as its size.
 *
 * The dtypes that fit are those that an array could have whose address goes to a kernel as a
 * pointer to that type: KZ_I32 and KZ_U32 for int, KZ_F32 and KZ_C64 for float; a registered struct for a
 * struct of that name.  A type that is not known (see kz_variable_info) is not checked.
 *
 * @param from `count` values.
 * @param count elements: all of the variable.
 * @return KZ_OK; KZ_ARGUMENT for values of another type; KZ_RANGE for more or fewer of them;
 *         KZ_NOT_FOUND; KZ_INVALID.
 */
KZ_API KZ_NODISCARD kz_status kz_module_set_values(kz_module *mod, const char *name, kz_dtype dtype,
	const void *from, int64_t count, kz_error *err);

/** Read a variable of a module; as kz_module_set_values. */
KZ_API KZ_NODISCARD kz_status kz_module_get_values(kz_module *mod, const char *name, kz_dtype dtype,
	void *to, int64_t count, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif

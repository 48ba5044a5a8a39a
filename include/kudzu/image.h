/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_IMAGE_H
#define KUDZU_IMAGE_H

/*
 * Images: compiled CUDA C source that is not loaded.  Compiling needs NVRTC, but neither a device
 * nor a driver.
 *
 *	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
 *	kz_image *image = NULL;
 *	options.arch = "sm_90";
 *	if (kz_compile(&image, source, &options, &err)
 *	    || kz_image_save(image, "saxpy.cubin", &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_image_release(image);
 *
 * An image never changes; any thread may use it.
 */
#include <kudzu/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A compiled image; opaque and counted. */
typedef struct kz_image kz_image;

/** The kind of code in an image.  The numbers never change. */
typedef enum kz_image_kind {
	KZ_IMAGE_NONE = 0,  /**< no image */
	KZ_IMAGE_PTX = 1,   /**< text, for every device of its architecture or a newer one */
	KZ_IMAGE_CUBIN = 2, /**< machine code of one architecture */
	KZ_IMAGE_LTOIR = 3  /**< the compiler's intermediate code, which the linker optimizes */
} kz_image_kind;

/** How much speed of the code to give up for a faster compile.  The numbers never change. */
typedef enum kz_fast_compile {
	KZ_FAST_COMPILE_OFF = 0, /**< the fastest code */
	KZ_FAST_COMPILE_MIN = 1, /**< slightly slower code */
	KZ_FAST_COMPILE_MID = 2,
	KZ_FAST_COMPILE_MAX = 3  /**< the fastest compile */
} kz_fast_compile;

/**
 * How to compile.  Initialize with KZ_COMPILE_OPTIONS_INIT.  All pointers are borrowed for the
 * call. Lists end with NULL, and a NULL list is empty.
 */
typedef struct kz_compile_options {
	size_t size;                      /**< sizeof(kz_compile_options) */
	const char *name;                 /**< file name in diagnostics; NULL: "kernel.cu" */
	const char *const *include_dirs;  /**< searched first, in this order */
	const char *const *header_names;  /**< headers in memory: their names in `#include` ... */
	const char *const *header_texts;  /**< ... and their texts, in the same order */
	const char *const *defines;       /**< "N=4" or "DEBUG" */
	const char *const *instances;     /**< template instances to make: "scale<float, 4>" */
	const char *const *nvrtc_options; /**< passed to NVRTC unchanged, last; if NULL or empty:
	                                       those of KUDZU_NVRTC_OPTIONS, if that is set */
	const char *arch;                 /**< "sm_90" makes a cubin, "compute_75" PTX, "lto_90"
	                                       LTO-IR for the linker.  NULL: what suits the device;
	                                       without a device, PTX that every device can load.
	                                       The CPU device takes PTX: "sm_90" is "compute_90" */
	int line_info;                    /**< nonzero: keep source lines for profilers.
	                                       KUDZU_CHECK keeps them in any case, with the
	                                       file of keep_source where there can be one */
	int debug;                        /**< nonzero: device debugging, no optimization */
	int fast_math;                    /**< nonzero: --use_fast_math */
	int no_prelude;                   /**< nonzero: without the built-in declarations */
	int fast_compile;                 /**< a kz_fast_compile; KZ_VERSION if NVRTC is too old */
	const char *std;                  /**< "c++11" to "c++20"; NULL: the compiler's default */
	int max_registers;                /**< per thread; 0: only the device's limit */
	int relocatable;                  /**< nonzero: may use functions and variables of other
	                                       images, which the linker adds; always for "lto_90" */
	int keep_source;                  /**< nonzero: line_info and debug refer to a file with the
	                                       source.  That is the file called `name`, if it has
	                                       this text, else one in the folder "sources" of the
	                                       cache, which keeps the last 64 MiB that were used */
	int pch;                          /**< nonzero: precompile the headers at the start of the
	                                       source, for the next source of this process that
	                                       begins with the same ones.  Their warnings appear
	                                       once.  0: do so where this process compiles a third
	                                       source of the same name and options with the same
	                                       headers, if these are many, as CUB's are, and give no
	                                       warnings */
	void *reserved[4];
} kz_compile_options;

#ifdef __cplusplus
#define KZ_COMPILE_OPTIONS_INIT kz_sized_init<kz_compile_options>()
#else
#define KZ_COMPILE_OPTIONS_INIT {.size = sizeof(kz_compile_options)}
#endif

/**
 * Compile CUDA C source.
 *
 * This compiles as kz_module_compile does.  Without an architecture in the options the source
 * becomes PTX of the oldest one that the compiler knows ("compute_75" with CUDA 13), which all
 * newer devices load.
 *
 * @param out set to the image, NULL on failure.
 * @param source zero-terminated CUDA C++.  NULL is KZ_INVALID, and "" gives an image without
 *        kernels.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_COMPILE with file, line, column and the compiler's log; KZ_NO_COMPILER;
 *         KZ_VERSION for an architecture that the compiler does not know; KZ_NOT_FOUND for a
 *         template instance; KZ_UNSUPPORTED; KZ_INVALID; KZ_NO_MEMORY.
 * Ownership: release it with kz_image_release.
 */
KZ_API KZ_NODISCARD kz_status kz_compile(kz_image **out, const char *source,
	const kz_compile_options *options, kz_error *err);

/**
 * Make an image of compiled bytes: PTX text or a cubin.
 *
 * @param data host memory, copied.
 * @param size bytes; PTX needs no terminating zero.
 * @return KZ_OK; KZ_BAD_IMAGE for anything else; KZ_INVALID; KZ_NO_MEMORY.
 * Ownership: release it with kz_image_release.
 */
KZ_API KZ_NODISCARD kz_status kz_image_create(kz_image **out, const void *data, int64_t size,
	kz_error *err);

/** Add a reference, which needs one more kz_image_release.  Return the image. */
KZ_API kz_image *kz_image_retain(kz_image *image);

/** Release an image.  NULL is fine. */
KZ_API void kz_image_release(kz_image *image);

/**
 * Write the bytes of an image to a file.  The file appears whole or not at all.
 *
 * @return KZ_OK; KZ_IO, KZ_NOT_FOUND, KZ_PERMISSION as the system says; KZ_INVALID.
 */
KZ_API KZ_NODISCARD kz_status kz_image_save(const kz_image *image, const char *path, kz_error *err);

/** Return the bytes of an image and their number; PTX has a zero after them.  Borrowed. */
KZ_API const void *kz_image_data(const kz_image *image, int64_t *size);

/** Return the number of bytes. */
KZ_API int64_t kz_image_size(const kz_image *image);

/** Return the kind of code. */
KZ_API kz_image_kind kz_image_get_kind(const kz_image *image);

/** Return what the image was built for: "sm_90", "compute_89"; "" if unknown.  Borrowed. */
KZ_API const char *kz_image_arch(const kz_image *image);

/** Return the compiler's warnings, "" if there were none.  Borrowed. */
KZ_API const char *kz_image_log(const kz_image *image);

/** Return the number of kernels that the library knows of. */
KZ_API int64_t kz_image_kernel_count(const kz_image *image);

/** Return the name of kernel `index`, NULL beyond the last.  Borrowed. */
KZ_API const char *kz_image_kernel_name(const kz_image *image, int64_t index);

#ifdef __cplusplus
}
#endif

#endif

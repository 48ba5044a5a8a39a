/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_LINK_H
#define KUDZU_LINK_H

/*
 * Linking: several images, and libraries of device code, become one.
 *
 *	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
 *	kz_link_input inputs[3] = {{.name = "main.cu"}, {.name = "math.cu"}, {.name = "libfast.a"}};
 *	options.relocatable = 1;
 *	if (kz_compile((kz_image **)&inputs[0].image, main_source, &options, &err)
 *	    || kz_compile((kz_image **)&inputs[1].image, math_source, &options, &err)
 *	    || kz_link(&linked, dev, inputs, 3, NULL, &err)
 *	    || kz_module_load_image(&mod, dev, linked, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * What inputs share must be __device__ or __constant__ at file scope, declared extern where it is
 * used, and compiled with `relocatable` in the options.
 *
 * NVIDIA's nvJitLink links where it is installed, and needs no device.  Otherwise the linker in
 * the device's driver does, which cannot read LTO-IR.  The CPU device takes PTX: its driver links
 * PTX to PTX, after nvJitLink has turned LTO-IR into PTX.  Such PTX has only what the LTO-IR
 * itself uses, so other PTX cannot call into it.
 */
#include <kudzu/device.h>
#include <kudzu/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which linker.  The numbers never change. */
typedef enum kz_linker {
	KZ_LINKER_ANY = 0,       /**< nvJitLink where it is installed, else the driver's */
	KZ_LINKER_NVJITLINK = 1,
	KZ_LINKER_DRIVER = 2
} kz_linker;

/**
 * One input of the linker: an image, bytes in memory, or a file.  Bytes and files may be PTX, a
 * cubin, LTO-IR, a fat binary, a host object with device code, or a library of these (.a).  Of a
 * library the linker takes only the members that something needs, or all if the library is the
 * only input.
 */
typedef struct kz_link_input {
	const char *name;       /**< in messages; without image and data, the path of a file */
	const kz_image *image;  /**< or NULL */
	const void *data;       /**< host memory, or NULL */
	int64_t size;           /**< bytes of data */
} kz_link_input;

/** How to link.  Initialize with KZ_LINK_OPTIONS_INIT. */
typedef struct kz_link_options {
	size_t size;              /**< sizeof(kz_link_options) */
	const char *arch;         /**< "sm_90"; NULL: the device's */
	int linker;               /**< a kz_linker */
	int max_registers;        /**< per thread; 0: only the device's limit */
	int line_info;            /**< nonzero: keep source lines for profilers */
	int debug;                /**< nonzero: device debugging */
	int no_optimization;      /**< nonzero: do not optimize code that the linker generates */
	int reserved_int;
	const char *const *nvjitlink_options; /**< passed to nvJitLink unchanged, last; the list
	                                           ends with NULL */
	void *reserved[4];
} kz_link_options;

#ifdef __cplusplus
#define KZ_LINK_OPTIONS_INIT kz_sized_init<kz_link_options>()
#else
#define KZ_LINK_OPTIONS_INIT {.size = sizeof(kz_link_options)}
#endif

/**
 * Link images into one: a cubin, or PTX for the CPU device.
 *
 * @param out set to the image, NULL on failure.
 * @param dev the device to link for.  NULL if the options have an architecture; then nvJitLink
 *        links.
 * @param inputs borrowed.  Their order matters for weak symbols only.
 * @param count at least 1.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_LINK for a symbol that is undefined, or defined twice; KZ_VERSION for an input
 *         that has nothing for the architecture, or is newer than the linker; KZ_BAD_IMAGE;
 *         KZ_NO_COMPILER without a suitable linker; KZ_UNSUPPORTED; KZ_NOT_FOUND and KZ_IO for
 *         files; KZ_INVALID; KZ_NO_MEMORY.
 * Ownership: release it with kz_image_release.
 */
KZ_API KZ_NODISCARD kz_status kz_link(kz_image **out, kz_device *dev, const kz_link_input *inputs,
	int64_t count, const kz_link_options *options, kz_error *err);

/**
 * Return the linker that made an image, "nvJitLink 13.0", "the driver's linker"; "" if none.
 * Borrowed.
 */
KZ_API const char *kz_image_linker(const kz_image *image);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_BUNDLE_H
#define KUDZU_BUNDLE_H

/*
 * Bundles: one file with the images of one source for several architectures, to ship with a program
 * that then needs no compiler.
 *
 *	kz_image *images[2] = {NULL, NULL};
 *	options.arch = "sm_90";
 *	if (kz_compile(&images[0], source, &options, &err)
 *	    || kz_compile(&images[1], source, NULL, &err)
 *	    || kz_bundle_save("saxpy.kzb", images, 2, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * and where the program runs: kz_module_load_file(&mod, dev, "saxpy.kzb", &err), or kz_module_load
 * with the bytes, if they are part of the program.  Kernels are found there as after a compile: by
 * the names in the source, with their arguments checked.  While Kudzu's major number is 0, a bundle
 * is for the version that wrote it; for another one to load is KZ_VERSION.
 */
#include <kudzu/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Write a bundle to a file, which appears whole or not at all.
 *
 * A device loads of it the cubin that was made for it, else one of a lower minor number, else PTX,
 * else LTO-IR by nvJitLink; PTX of an old architecture is what every newer device loads.
 *
 * @param images at least one.
 * @param source is compiled, with the default options, where no image suits the device and NVRTC is
 *        there; NULL for none.
 * @return KZ_OK; KZ_INVALID; KZ_IO, KZ_NOT_FOUND, KZ_PERMISSION as the system says; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_bundle_save(const char *path, kz_image *const *images,
	int64_t count, const char *source, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif

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
 * Where the program runs, load it with kz_module_load_file(&mod, dev, "saxpy.kzb", &err), or with
 * kz_module_load if the bytes are part of the program.  Kernels have their names in the source,
 * and launches check arguments, as after a compile.  While Kudzu's major number is 0, only the
 * version that wrote a bundle can load it; another one returns KZ_VERSION.
 */
#include <kudzu/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Write a bundle to a file.  The file appears whole or not at all.
 *
 * A device takes from a bundle the cubin that was made for it, else a cubin of a lower minor
 * number, else PTX, else LTO-IR by way of nvJitLink.  Every newer device can load PTX of an old
 * architecture.
 *
 * @param images at least one.
 * @param source CUDA C++ that is compiled with the default options if no image suits the device
 *        and NVRTC is installed; NULL for none.
 * @return KZ_OK; KZ_INVALID; KZ_IO, KZ_NOT_FOUND, KZ_PERMISSION as the system says; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_bundle_save(const char *path, kz_image *const *images,
	int64_t count, const char *source, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif

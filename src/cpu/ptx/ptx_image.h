/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_PTX_IMAGE_H
#define CPU_PTX_PTX_IMAGE_H

/* What programs hand over as code: PTX, or a fat binary that has PTX inside. */
#include "base/common.h"
#include "base/cuda_abi.h"

#define IMAGE_UNKNOWN_SIZE SIZE_MAX

struct image {
	const char *text;   /* PTX; the caller's memory, or: */
	size_t size;        /* without a terminating zero */
	char *owned;
	char why[256];      /* when it could not be opened: the reason */
};

/*
 * Find the PTX in an image of `size` bytes, or of a size that only the image itself tells; the
 * wrapper of a fat binary is followed only in the latter case.  Fails with INVALID_IMAGE (it is
 * neither, or damaged), NO_BINARY_FOR_GPU (another kind of code), JIT_COMPILER_NOT_FOUND
 * (compressed, and the library for that is not installed) or OUT_OF_MEMORY.  Close it in any case.
 */
CUresult image_open(struct image *out, const void *data, size_t size);
void image_close(struct image *image);

#endif

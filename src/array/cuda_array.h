/* SPDX-License-Identifier: MIT */
#ifndef ARRAY_CUDA_ARRAY_H
#define ARRAY_CUDA_ARRAY_H

/* CUDA arrays. */
#include "core/memory.h"

/* Its last reference is that of `memory`, which stands for the texels. */
struct kz_cuda_array {
	uint32_t tag;            /* OBJECT_CUDA_ARRAY */
	struct memory *memory;
	CUarray plain;           /* NULL: it is a mipmap */
	CUmipmappedArray mipmap; /* NULL: it is none */
	kz_dtype dtype;
	kz_shape shape;
	struct kz_cuda_array_options how; /* with 1 for what was 0 */
};

/* Check that texels can have so many channels of a type, and give its format. */
kz_status cuda_array_format(CUarray_format *out, kz_dtype dtype, int64_t channels, kz_error *err);
/* One level of a mipmap, or the array itself as level 0; the context is current. */
kz_status cuda_array_level(CUarray *out, const struct kz_cuda_array *array, int64_t level,
	kz_error *err);

#endif

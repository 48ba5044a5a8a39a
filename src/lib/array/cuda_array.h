/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_CUDA_ARRAY_H
#define LIB_ARRAY_CUDA_ARRAY_H

/* CUDA arrays. */
#include "lib/core/memory.h"

#include <kudzu/texture.h>

/* Its last reference is that of `memory`, which stands for the texels. */
struct kz_cuda_array {
	uint32_t tag;            /* OBJECT_CUDA_ARRAY */
	struct memory *memory;
	CUarray plain;           /* NULL: it is a mipmap */
	CUmipmappedArray mipmap; /* NULL: it is a plain array */
	kz_dtype dtype;
	kz_shape shape;
	struct kz_cuda_array_options how; /* with 1 for what was 0 */
};

static inline bool cuda_array_is_cube(kz_cuda_array_kind kind)
{
	return kind == KZ_CUDA_ARRAY_CUBE || kind == KZ_CUDA_ARRAY_CUBE_LAYERED;
}

/* Check that texels can have so many channels of a type, and give its format. */
kz_status cuda_array_format(CUarray_format *out, kz_dtype dtype, int64_t channels, kz_error *err);
/* Check options, NULL for the defaults, and copy them with 1 for what is 0. */
kz_status cuda_array_check_options(struct kz_cuda_array_options *out,
	const struct kz_cuda_array_options *in, kz_error *err);
kz_status cuda_array_check_level(const struct kz_cuda_array *array, int64_t level, kz_error *err);
/* The shape of a level, with an axis for channels if there are more than one. */
kz_shape cuda_array_shape(const struct kz_cuda_array *array, int64_t level);
/* What the driver was asked for. */
CUDA_ARRAY3D_DESCRIPTOR cuda_array_describe(const struct kz_cuda_array *array,
	CUarray_format format);
/* One level of a mipmap, or the array itself as level 0; the context is current. */
kz_status cuda_array_level(CUarray *out, const struct kz_cuda_array *array, int64_t level,
	kz_error *err);

/* What a level has, which is there: bytes of a texel and of a row, rows, slices or layers. */
struct cuda_array_extent {
	int64_t texel;
	int64_t width;
	int64_t height;
	int64_t depth;
};
void cuda_array_measure(struct cuda_array_extent *out, const struct kz_cuda_array *array,
	int64_t level);

#endif

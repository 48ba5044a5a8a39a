/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_TEXTURE_H
#define KUDZU_TEXTURE_H

/*
 * CUDA arrays, textures and surfaces.  A kernel takes a texture as a cudaTextureObject_t and reads
 * it by tex2D<float>(texture, x, y).
 *
 *	kz_texture_options how = KZ_TEXTURE_OPTIONS_INIT;
 *	how.filter = KZ_TEXTURE_LINEAR;
 *	if (kz_cuda_array_from(&texels, image, NULL, &err)
 *	    || kz_texture_create(&texture, texels, &how, &err)
 *	    || kz_launch(rotate, grid, block, NULL, &err, KZ_ARGS(texture, result, angle))) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_texture_release(texture);
 *	kz_cuda_array_release(texels);
 *
 * A launch in flight may use a texture or surface that is released.  A prepared launch and a graph
 * do not keep theirs: release it after them.
 *
 * To the compiler cudaTextureObject_t and cudaSurfaceObject_t are both unsigned long long.  So a
 * launch checks that such an argument is a texture or a surface that was not released, of the
 * kernel's device, for a parameter of that size.  Which of the two the kernel expects, and which
 * texels, it cannot check: on the CPU device a surface for a texture, or the reverse, is a
 * KZ_FAULT.
 *
 * A CUDA array holds texels in an order of the device's choice, so that neighbours in two
 * dimensions are near each other.  A texel has 1, 2 or 4 channels.  Their types are KZ_I8, KZ_I16,
 * KZ_I32, KZ_U8, KZ_U16, KZ_U32, KZ_F16 and KZ_F32.  There are no compressed, video or sparse CUDA
 * arrays, and CUDA has surfaces of CUDA arrays only.
 */
#include <kudzu/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A CUDA array; opaque and counted. */
typedef struct kz_cuda_array kz_cuda_array;
/** A texture: how kernels read texels; opaque. */
typedef struct kz_texture kz_texture;
/** A surface: a CUDA array that kernels read and write; opaque. */
typedef struct kz_surface kz_surface;

/** What the axes of a CUDA array are.  The numbers never change. */
typedef enum kz_cuda_array_kind {
	KZ_CUDA_ARRAY_PLAIN = 0,       /**< (width), (height, width) or (depth, height, width) */
	KZ_CUDA_ARRAY_LAYERED = 1,     /**< (layers, width) or (layers, height, width) */
	KZ_CUDA_ARRAY_CUBE = 2,        /**< (6, width, width) */
	KZ_CUDA_ARRAY_CUBE_LAYERED = 3 /**< (6 * layers, width, width) */
} kz_cuda_array_kind;

/** How to make a CUDA array.  Initialize with KZ_CUDA_ARRAY_OPTIONS_INIT. */
typedef struct kz_cuda_array_options {
	size_t size;       /**< sizeof(kz_cuda_array_options) */
	int32_t kind;      /**< kz_cuda_array_kind */
	int32_t channels;  /**< of a texel: 1, 2 or 4; 0 is 1.  If more than 1, arrays that are
	                        copied have an innermost axis of so many. */
	int32_t levels;    /**< of a mipmap; 0 and 1: it is not a mipmap */
	int32_t surface;   /**< nonzero: kernels may write it */
	int32_t gather;    /**< nonzero: kernels may use tex2Dgather; a plain array of two axes */
	int32_t reserved_int;
	void *reserved[3];
} kz_cuda_array_options;

/** What a texture gives outside of the texels.  The numbers never change. */
typedef enum kz_texture_address {
	KZ_TEXTURE_CLAMP = 0,  /**< the nearest texel */
	KZ_TEXTURE_BORDER = 1, /**< the border's color */
	KZ_TEXTURE_WRAP = 2,   /**< the texels again; needs normalized coordinates */
	KZ_TEXTURE_MIRROR = 3  /**< the same, every second time in reverse; likewise */
} kz_texture_address;

/** What a texture gives between texels.  The numbers never change. */
typedef enum kz_texture_filter {
	KZ_TEXTURE_POINT = 0, /**< the nearest texel */
	KZ_TEXTURE_LINEAR = 1 /**< the weighted mean of two texels in each dimension; of floats
	                           only */
} kz_texture_filter;

/** How kernels read a texture.  Initialize with KZ_TEXTURE_OPTIONS_INIT. */
typedef struct kz_texture_options {
	size_t size;           /**< sizeof(kz_texture_options) */
	int32_t address[3];    /**< kz_texture_address along x, y and z */
	int32_t filter;        /**< kz_texture_filter */
	int32_t mipmap_filter; /**< the same, between levels of a mipmap */
	int32_t as_float;      /**< nonzero: integers of 8 and 16 bits are read as floats, from 0 to
	                            1 or from -1 to 1 */
	int32_t normalized;    /**< nonzero: coordinates go from 0 to 1; mipmaps need that */
	int32_t srgb;          /**< nonzero: 8-bit texels are sRGB, and are read as linear floats */
	int32_t seamless;      /**< nonzero: a cube is filtered across its edges */
	int32_t channels;      /**< of kz_texture_from: 1, 2 or 4, an innermost axis; 0 is 1.  See
	                            dtype */
	float border[4];       /**< the color for KZ_TEXTURE_BORDER; integers if texels are read as
	                            integers */
	float level_bias;      /**< added to the level of a mipmap */
	float min_level;       /**< the levels to choose from; */
	float max_level;       /**< 0 with min_level 0: all */
	int32_t anisotropy;    /**< a GPU takes up to so many samples along the longer side of what
	                            a pixel covers in a mipmap, 2 to 16; 0 and 1: one.  The CPU
	                            device takes one */
	int32_t first_level;   /**< Of a CUDA array: the levels of its mipmap, ... */
	int32_t level_count;   /**< 0: all from the first */
	int32_t first_layer;   /**< ... and the layers of KZ_CUDA_ARRAY_LAYERED that kernels see */
	int32_t layer_count;   /**< 0: all from the first */
	kz_dtype dtype;        /**< Of a CUDA array: nonzero: the texels are read as `channels`
	                            numbers of this type, which take as many bytes */
	int32_t reserved_int;
	void *reserved[1];
} kz_texture_options;

#ifdef __cplusplus
#define KZ_CUDA_ARRAY_OPTIONS_INIT kz_sized_init<kz_cuda_array_options>()
#define KZ_TEXTURE_OPTIONS_INIT kz_sized_init<kz_texture_options>()
#else
#define KZ_CUDA_ARRAY_OPTIONS_INIT {.size = sizeof(kz_cuda_array_options)}
#define KZ_TEXTURE_OPTIONS_INIT {.size = sizeof(kz_texture_options)}
#endif

/**
 * Create a CUDA array.  Its texels are undefined.
 *
 * @param shape as the kind says, without an axis for channels; each extent at least 1.
 * @param options NULL for a plain array of one channel.
 * @return KZ_OK; KZ_INVALID for a dtype, shape, kind or number of channels or levels that is not
 *         possible; KZ_UNSUPPORTED by a driver without CUDA arrays; KZ_NO_MEMORY; the driver's
 *         failures, as for extents beyond the device's limits.
 * Ownership: release it with kz_cuda_array_release.
 */
KZ_API KZ_NODISCARD kz_status kz_cuda_array_create(kz_cuda_array **out, kz_device *dev,
	kz_dtype dtype, kz_shape shape, const kz_cuda_array_options *options, kz_error *err);

/**
 * Create a CUDA array with the elements of an array: kz_cuda_array_create, then kz_cuda_array_set.
 *
 * @param from with an innermost axis of channels if `options` has more than one.
 * @return as kz_cuda_array_create and kz_cuda_array_set.
 */
KZ_API KZ_NODISCARD kz_status kz_cuda_array_from(kz_cuda_array **out, const kz_array *from,
	const kz_cuda_array_options *options, kz_error *err);

/**
 * Copy an array to a CUDA array, or to a level of a mipmap.
 *
 * @param level from 0.  Each has half the width, height and depth of the one before, rounded down,
 *        and at least 1.
 * @param from contiguous, of the same device, dtype and shape.
 * @return KZ_OK; KZ_INVALID for another dtype, shape or device, and an array with gaps; KZ_RANGE
 *         for a level that is not there; the driver's failures.
 * Async: returns at once; later work on either comes after it.
 */
KZ_API KZ_NODISCARD kz_status kz_cuda_array_set(kz_cuda_array *to, int64_t level,
	const kz_array *from, kz_error *err);

/** Copy a CUDA array, or a level of a mipmap, to an array; as kz_cuda_array_set. */
KZ_API KZ_NODISCARD kz_status kz_cuda_array_get(kz_array *to, const kz_cuda_array *from,
	int64_t level, kz_error *err);

/** Copy an array to a CUDA array in a stream of their device; as kz_cuda_array_set. */
KZ_API KZ_NODISCARD kz_status kz_cuda_array_set_on(kz_cuda_array *to, int64_t level,
	const kz_array *from, kz_stream *stream, kz_error *err);

/** Copy a CUDA array to an array in a stream of their device; as kz_cuda_array_set. */
KZ_API KZ_NODISCARD kz_status kz_cuda_array_get_on(kz_array *to, const kz_cuda_array *from,
	int64_t level, kz_stream *stream, kz_error *err);

/** Release a CUDA array.  Textures and surfaces keep it alive.  Waits for its last use.  NULL is
 * fine. */
KZ_API void kz_cuda_array_release(kz_cuda_array *array);

/**
 * Create a texture of a CUDA array.
 *
 * @param options NULL for the nearest texel, coordinates that count texels, and clamping.
 * @return KZ_OK; KZ_INVALID for options that do not go together; KZ_RANGE for levels and layers
 *         that are not there; KZ_NO_MEMORY; the driver's failures.
 * Ownership: release it with kz_texture_release.  It keeps the CUDA array alive.
 */
KZ_API KZ_NODISCARD kz_status kz_texture_create(kz_texture **out, kz_cuda_array *array,
	const kz_texture_options *options, kz_error *err);

/**
 * Create a texture of an array's memory, without a copy.
 *
 * @param array with one axis, for tex1Dfetch: no filter and no normalized coordinates; or with two,
 *        for tex2D: its rows may have gaps between them.  Both besides an innermost axis for
 *        channels.
 * @return as kz_texture_create; also KZ_INVALID for an array of another form, and one whose address
 *         or rows are not aligned as the device needs it: then use kz_cuda_array_from.
 * Ownership: as kz_texture_create; it keeps the array's memory alive.
 */
KZ_API KZ_NODISCARD kz_status kz_texture_from(kz_texture **out, const kz_array *array,
	const kz_texture_options *options, kz_error *err);

/** Release a texture.  Waits for the last use of its texels.  NULL is fine. */
KZ_API void kz_texture_release(kz_texture *texture);

/**
 * Create a surface of a CUDA array, or of a level of a mipmap, for surf2Dread and surf2Dwrite.
 *
 * @param array made with `surface`.
 * @param level as in kz_cuda_array_set; 0 if it is not a mipmap.
 * @return KZ_OK; KZ_INVALID for another array; KZ_RANGE for a level that is not there;
 *         KZ_NO_MEMORY; the driver's failures.
 * Ownership: release it with kz_surface_release.  It keeps the CUDA array alive.
 */
KZ_API KZ_NODISCARD kz_status kz_surface_create(kz_surface **out, kz_cuda_array *array,
	int64_t level, kz_error *err);

/** Release a surface.  Waits for the last use of its texels.  NULL is fine. */
KZ_API void kz_surface_release(kz_surface *surface);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_COPY_H
#define KUDZU_COPY_H

/*
 * Copies of rectangles and boxes, between host memory, buffers and CUDA arrays.
 *
 *	kz_copy_3d_options how = KZ_COPY_3D_OPTIONS_INIT;
 *	how.to.buffer = image;                  // rows of `pitch` bytes, as of
 *	how.to.pitch = pitch;                   // kz_buffer_create_pitched
 *	how.to.x = 16;                          // bytes
 *	how.to.y = 2;                           // rows
 *	how.from.host = tile;
 *	how.from.host_size = sizeof(tile);      // rows without gaps
 *	how.width = 64;                         // bytes
 *	how.height = 8;                         // rows
 *	st = kz_copy_3d(&how, &err);
 *
 * The box has `depth` slices of `height` rows of `width` bytes.  In linear memory, that is host
 * memory or a buffer, its first byte is at
 *
 *	offset + (z * rows + y) * pitch + x
 *
 * Both sides are checked before the driver is called: no byte outside of them is read or written.
 */
#include <kudzu/texture.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One side of a copy.  Exactly one of `host`, `buffer` and `texels` is set. */
typedef struct kz_copy_side {
	void *host;            /**< host memory; the side `from` is only read */
	int64_t host_size;     /**< bytes at `host` */
	kz_buffer *buffer;     /**< device memory */
	kz_cuda_array *texels; /**< a CUDA array, or a level of a mipmap */
	int64_t level;         /**< of the mipmap, from 0 */
	int64_t offset;        /**< bytes from the start of linear memory to the place (0, 0, 0) */
	int64_t pitch;         /**< bytes from row to row of linear memory; 0: rows of `width` bytes
	                            without gaps, from x = 0 on */
	int64_t rows;          /**< rows from slice to slice of linear memory; 0: slices of `height`
	                            rows without gaps, from y = 0 on */
	int64_t x;             /**< bytes from the start of a row; in a CUDA array whole texels */
	int64_t y;             /**< rows from the start of a slice */
	int64_t z;             /**< slices; in a CUDA array of layers: the layer */
	void *reserved[2];
} kz_copy_side;

/** What to copy.  Initialize with KZ_COPY_3D_OPTIONS_INIT. */
typedef struct kz_copy_3d_options {
	size_t size;       /**< sizeof(kz_copy_3d_options) */
	kz_copy_side to;   /**< where to */
	kz_copy_side from; /**< where from */
	int64_t width;     /**< bytes of a row; in a CUDA array whole texels */
	int64_t height;    /**< rows of a slice; the macro sets 1 */
	int64_t depth;     /**< slices, or layers; the macro sets 1 */
	void *reserved[4];
} kz_copy_3d_options;

/** What a kz_copy_3d_options is initialized with: one slice of one row. */
#ifdef __cplusplus
#define KZ_COPY_3D_OPTIONS_INIT \
	kz_copy_3d_options{sizeof(kz_copy_3d_options), {}, {}, 0, 1, 1, {}}
#else
#define KZ_PP_DEFAULTS_kz_copy_3d_options \
	.size = sizeof(kz_copy_3d_options), .height = 1, .depth = 1
#define KZ_COPY_3D_OPTIONS_INIT {KZ_PP_DEFAULTS_kz_copy_3d_options}
#endif

/**
 * Copy a box of bytes.
 *
 * At least one side is on a device.  Two may be on two devices of one driver: as for kz_copy_dtod.
 * A box without bytes is checked and not copied.
 *
 * @return KZ_OK; KZ_RANGE for bytes, rows or slices outside of a side, and a level that is not
 *         there; KZ_INVALID for a side that is not one of host memory, buffer and CUDA array, for
 *         two sides on the host, negative numbers, a row that does not lie within its pitch or a
 *         slice within its rows, a pitch of a CUDA array, parts of a texel, sides that overlap, and
 *         devices of two drivers; KZ_STATE in a capture, for a side on the host; KZ_UNSUPPORTED;
 *         the driver's failures.
 * Async: with host memory it returns when the program may use that again.  On devices it returns at
 *        once; later work on either side comes after it.
 */
KZ_API KZ_NODISCARD kz_status kz_copy_3d(const kz_copy_3d_options *options, kz_error *err);

/**
 * Copy a box of bytes in a stream; as kz_copy_3d.
 *
 * @param stream of the device of `to`; of that of `from` if `to` is host memory.  In a capture the
 *        copy becomes a part of the graph, and the host memory must exist as long as the graph;
 *        KZ_STATE for a copy between two devices.
 * Async: returns at once.  Host memory must stay unchanged until the stream has passed the copy, or
 *        is complete then.
 */
KZ_API KZ_NODISCARD kz_status kz_copy_3d_on(const kz_copy_3d_options *options, kz_stream *stream,
	kz_error *err);

#ifdef __cplusplus
}
#endif

#endif

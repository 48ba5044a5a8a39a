/* SPDX-License-Identifier: MIT */
#ifndef BASE_LZ4_H
#define BASE_LZ4_H

/* LZ4 blocks: fat binaries of CUDA before 12.4 hold their PTX in one, and we keep texts in them. */
#include "base/common.h"

#define LZ4_ENCODE_MAX 65536

/* Decode a block to exactly out_size bytes.  Never reads or writes outside the two buffers; false
 * if the block is damaged or of another size. */
bool lz4_decode(uint8_t *out, size_t out_size, const uint8_t *in, size_t in_size);

/* Encode up to LZ4_ENCODE_MAX bytes; the size of the block, 0 where that may be more than `room`. */
size_t lz4_encode(uint8_t *out, size_t room, const uint8_t *in, size_t in_size);

/* The same of bytes that come after others, which whoever decodes them has: what is there need not
 * be said again.  Of `in` the first `before` bytes are these, and count for LZ4_ENCODE_MAX. */
bool lz4_decode_after(uint8_t *out, size_t out_size, const uint8_t *in, size_t in_size,
	const uint8_t *others, size_t before);
size_t lz4_encode_after(uint8_t *out, size_t room, const uint8_t *in, size_t in_size,
	size_t before);

#endif

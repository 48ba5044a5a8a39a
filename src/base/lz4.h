/* SPDX-License-Identifier: MIT */
#ifndef BASE_LZ4_H
#define BASE_LZ4_H

/* LZ4 blocks: fat binaries of CUDA before 12.4 hold their PTX in one. */
#include "base/common.h"

/* Decode a block to exactly out_size bytes.  Never reads or writes outside the two buffers; false
 * if the block is damaged or of another size. */
bool lz4_decode(uint8_t *out, size_t out_size, const uint8_t *in, size_t in_size);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_CU_ARRAY_H
#define CPU_OBJECT_CU_ARRAY_H

/* CUDA arrays as objects: the image of one, in device memory. */
#include "cpu/object/cu_object.h"
#include "cpu/runtime/texture_fetch.h"
#include "base/cuda_abi.h"

/* An array of its own, or a level of a mipmapped one. */
struct array {
	struct object object;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	struct texel_format format;
	struct image image;
	uint64_t memory;        /* 0 for a level */
};

#endif

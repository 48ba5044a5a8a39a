/* SPDX-License-Identifier: MIT */
#ifndef CUDART_COPY_H
#define CUDART_COPY_H

/* Copies of three dimensions, in the runtime's words and in the driver's. */
#include "cudart/array.h"

/* The thread has a context. */
cudaError_t copy_describe(CUDA_MEMCPY3D *out, const struct cudaMemcpy3DParms *p);
cudaError_t copy_give(struct cudaMemcpy3DParms *out, const CUDA_MEMCPY3D *copy);

#endif

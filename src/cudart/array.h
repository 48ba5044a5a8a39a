/* SPDX-License-Identifier: MIT */
#ifndef CUDART_ARRAY_H
#define CUDART_ARRAY_H

/* Formats of array elements, in the runtime's words and in the driver's. */
#include "cudart/api_array.h"
#include "cudart/state.h"

/* The format of elements and the number of their channels. */
cudaError_t array_format(CUarray_format *format, unsigned *channel_count,
	const struct cudaChannelFormatDesc *desc);
struct cudaChannelFormatDesc array_describe(CUarray_format format, unsigned channel_count);
/* The bytes of an element. */
cudaError_t array_element_size(size_t *size, cudaArray_t array);

#endif
